//! The defences of the gate.

use crate::pg::defence::defences;

defences! {
    /// Only total functions see private rows.
    Total = "total",
    /// Only operators of PostgreSQL's own see private rows, and plans are made with them alone.
    Operators = "operators",
    /// Types and collations are there until the last row was read.
    Objects = "objects",
    /// Releases are a call of their own.
    Fence = "fence",
    /// Messages are kept from the client.
    Quiet = "quiet",
    /// Those from INFO to WARNING too.
    Warnings = "warnings",
    /// What is looked up once is looked up before the first row.
    Lookup = "lookup",
    /// Only expressions that are known to raise nothing see private rows.
    Nodes = "nodes",
    /// A release is charged.
    Charge = "charge",
    /// Groups are shown by partition selection.
    Keep = "keep",
    /// The number of groups of a person is bounded.
    Groups = "groups",
    /// The number of rows of a person is bounded.
    Rows = "rows",
    /// Who may ask is looked at again when the plan runs.
    Again = "again",
    /// What is not proven private is refused.
    Refuse = "refuse",
    /// Only what the gate has written is run.
    Token = "token",
    /// Rights on joined tables are looked at where an answer is kept, too.
    Rights = "rights",
    /// Reads of private rows are in no statistics.
    Counters = "counters",
    /// No plan is compiled where it seems to cost enough.
    Compiled = "compiled",
    /// Nothing resets the settings of a run while it is planned.
    Reset = "reset",
    /// The functions of a template are ours or PostgreSQL's.
    Names = "names",
    /// No transaction shows which rows it has read.
    Isolation = "isolation",
    /// Texts have a collation that they can be compared by, whatever they are.
    Collation = "collation",
    /// Keys are of types that all have a hash.
    Hash = "hash",
    /// A budget pays for tables of its owner alone.
    Budget = "budget",
    /// A role that is gone asks no more.
    Role = "role",
    /// Each value of a public list is there once, however it is written.
    Listed = "listed",
    /// Code of an owner does not run with the rights in which templates are read.
    Domain = "domain",
    /// An index is no promise about rows that are older than it.
    Snapshot = "snapshot",
    /// Equal keys look alike.
    Form = "form",
    /// Groups come in the order of their keys.
    Order = "order",
    /// Keys are so few and so short that they fit into a row, and columns so few.
    Size = "size",
    /// Constants and values of joined tables are so short that some of them fit into a row.
    Length = "length",
    /// Only rows that the client gets are left out of a preview.
    Preview = "preview",
    /// Joined tables are read whole, before the first private row.
    Inputs = "inputs",
    /// Rights are looked up without the hooks of other extensions.
    Hooks = "hooks",
    /// No SET is sent to other servers in the name of an owner.
    Sent = "sent",
    /// What is copied into a query is bounded.
    Copies = "copies",
    /// Private rows are joined by the person.
    Persons = "persons",
    /// Windows below a block are of one person's rows.
    Windows = "windows",
    /// Nothing depends on which of several rows that are alike comes first.
    Ties = "ties",
    /// A query within another one has windows of its own.
    Levels = "levels",
    /// Sub-queries in expressions are about the person of the row, and of one row where one is taken.
    Links = "links",
    /// Aggregates of one person's rows raise nothing.
    Calls = "calls",
    /// Only rows of periods that are paid are read.
    PeriodRows = "period_rows",
    /// A table by period is asked alone.
    PeriodAlone = "period_alone",
    /// People are counted, and chosen groups shown, of one period.
    PeriodOne = "period_one",
    /// Of declared expressions nothing is computed that is not total.
    Declared = "declared",
    /// Periods begin in UTC, whatever the zone of the session.
    PeriodZone = "period_zone",
}
