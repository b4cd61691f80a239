//! Rows that Citus keeps on other servers. Those of protected tables are fetched in the name of their owner, those of
//! joined tables in the name of the role that asks, each by a query of its own; what is private is computed of them on
//! this server. So Citus plans nothing but a SELECT of columns. Where all of a query is an aggregation that its servers
//! can begin, and they have a key to seal what they send, they do.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;

use pgrx::pg_sys::{
    self, Aggref, CommonTableExpr, FromExpr, JoinExpr, JoinType, Node, Oid, Query, RTEKind,
    RangeTblEntry, RangeTblRef, Snapshot, TargetEntry,
};

use crate::citus::key_file;
use crate::gate::access;
use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::inputs::columns::{self, Column};
use crate::gate::inputs::{self, pushdown, queries};
use crate::gate::policy::{Policy, quoted_name};
use crate::ledger::session;
use crate::pg::distributed;
use crate::pg::execution::{self, AsRole, Aside, Memory, Settings, Started};
use crate::pg::extension;
use crate::pg::procedure::{self, Signature};
use crate::pg::sql_type;
use crate::pg::stack;
use crate::pg::tree::{self, Ref, Step};
use crate::types::mechanism;

/// How many rows the planner expects of a protected table: not how many there are, which is private.
const EXPECTED: f64 = 1e6;

/// What the name begins with that rows of a protected table are put aside under. No WITH of an input has such a name.
const ROWS: &str = "rows";

/// What the name begins with that an answer is put aside under.
const ANSWER: &str = "answer";

/// The mechanism of a count where each person has a row, in one group.
const ROW_EACH: &str = "geometric(groups=1, rows=1)";

/// How many groups the planner expects of an answer.
const GROUPS: f64 = 100.0;

thread_local! {
    /// Whether Citus may have a SET of this transaction to send to other servers.
    static HAS_SET: Cell<bool> = const { Cell::new(false) };
}

/// A SET LOCAL, or a RESET, before it is run. Citus sends it on all connections of the transaction, also on those in the
/// name of others, as the client wrote it, with all else of the same text. Only superusers have that done.
pub fn before_set() -> Result<(), Refusal> {
    let sends = execution::setting(c"citus.propagate_set_commands");
    if sends.is_empty() || sends == b"none" || extension::oid().is_none() {
        return Ok(());
    }
    HAS_SET.set(true);
    match session::is_superuser() || !Defence::Sent.stands() {
        true => Ok(()),
        false => Err(errors::sent_settings()),
    }
}

/// What the transaction did before this library was loaded is not known.
pub fn begin_within() {
    HAS_SET.set(true);
}

/// The transaction has ended.
pub fn end() {
    HAS_SET.set(false);
}

/// What is read elsewhere for a private query.
pub struct Remote<'t> {
    aside: Aside,
    owner: Oid,
    /// What reads the private rows, once it may.
    private: Vec<Started<'t>>,
}

/// A table that is read elsewhere: the query that names it, and its number there.
type Place<'t> = (Ref<'t, Query>, i32);

impl<'t> Remote<'t> {
    /// Reads joined tables that are elsewhere, and gets ready to fetch the rows of protected tables; `None` if all
    /// tables are here. From then on the query is about what was put aside.
    ///
    /// # Safety
    /// A snapshot that lives.
    pub unsafe fn prepare(
        query: Ref<'t, Query>,
        policy: &Policy,
        snapshot: Snapshot,
        memory: &'t Memory,
        settings: &Settings,
    ) -> Result<Option<Self>, Refusal> {
        if places(query).is_empty() {
            return Ok(None);
        }
        access::check_all(query);
        // What these show, or refuse, is nothing that the role which asks should choose.
        for name in [
            c"citus.log_remote_commands",
            c"citus.multi_task_query_log_level",
        ] {
            settings.set(name, c"off");
        }
        // The text of a value may depend on settings of both servers; its binary form does not.
        settings.set(c"citus.enable_binary_protocol", c"on");
        let mut remote = Self {
            aside: Aside::new(),
            owner: policy.owner,
            private: Vec::new(),
        };
        for with in query.cteList() {
            // SAFETY: the caller guarantees it.
            unsafe { remote.read_input(with, snapshot, memory) };
        }
        let mut tables: BTreeMap<u32, Vec<Place<'t>>> = BTreeMap::new();
        for (query, index) in places(query) {
            let relation = tree::entry(query, index).relid();
            tables
                .entry(relation.to_u32())
                .or_default()
                .push((query, index));
        }
        let relations = Vec::from_iter(tables.keys().map(|table| Oid::from_u32(*table)));
        if relations
            .iter()
            .any(|table| policy.of_table(*table).is_none())
        {
            return Err(errors::distributed(
                &quoted_name(policy.relation),
                "it is joined with another distributed table in a way that cannot be read first",
                "Join the result of the query.",
            ));
        }
        for table in &relations {
            check(*table, policy.owner)?;
        }
        if !relations.is_empty() && HAS_SET.get() && Defence::Sent.stands() {
            return Err(errors::sent_settings());
        }
        for (query, index) in tables.values().flatten() {
            let table = tree::entry(*query, *index).relid();
            if !spell_out_policies(*query, *index) {
                return Err(errors::distributed(
                    &quoted_name(table),
                    "it has row-level security, and is in a FULL JOIN",
                    "Write a LEFT JOIN of a table that has a row for each person.",
                ));
            }
        }
        // Tables that are asked together have one owner.
        let _owner = AsRole::restricted(policy.owner);
        for places in tables.into_values() {
            let (begun, fetched) = places
                .into_iter()
                .partition::<Vec<_>, _>(|(query, _)| may_push_down(*query));
            for (query, _) in begun {
                // SAFETY: the caller guarantees it.
                unsafe { remote.push_down(query, snapshot, memory) };
            }
            if !fetched.is_empty() {
                let name = remote.name(ROWS);
                let fetch = fetch_of(&fetched, &name);
                // SAFETY: the caller guarantees it.
                unsafe { remote.start(fetch, &name, snapshot, memory) };
            }
        }
        Ok(Some(remote))
    }

    /// A name that nothing is put aside under yet.
    fn name(&self, kind: &str) -> String {
        format!("{kind} {}", self.private.len())
    }

    /// Starts a query in the name of the owner, whose rows are put aside.
    ///
    /// # Safety
    /// As for [`prepare`](Self::prepare).
    unsafe fn start(
        &mut self,
        query: Ref<'t, Query>,
        name: &str,
        snapshot: Snapshot,
        memory: &'t Memory,
    ) {
        let name = CString::new(name).expect("no zero in it");
        let store = self.aside.add(&name, query.targetList());
        let plan = execution::plan(query);
        // SAFETY: the caller guarantees it; the store lives as long as what is put aside.
        let started = unsafe { Started::start(plan, None, snapshot, store, memory.context()) };
        self.private.push(started);
    }

    /// Has Citus compute a query, which becomes one of its answer.
    ///
    /// # Safety
    /// As for [`prepare`](Self::prepare).
    unsafe fn push_down(&mut self, query: Ref<'t, Query>, snapshot: Snapshot, memory: &'t Memory) {
        let name = self.name(ANSWER);
        let columns = columns::shown(query);
        let whole = query.copy();
        count_by_filter(whole);
        whole.set_rtable(tree::list_of(without_empty_places(whole)));
        columns::forget_names(whole.node());
        query.overwrite(make_scan(&name, &columns, GROUPS, query.memory()));
        // SAFETY: the caller guarantees it.
        unsafe { self.start(whole, &name, snapshot, memory) };
    }

    /// What was put aside.
    pub fn aside(&self) -> &Aside {
        &self.aside
    }

    /// Reads the private rows.
    pub fn read(&mut self) {
        let _owner = AsRole::restricted(self.owner);
        for started in self.private.drain(..) {
            started.run();
        }
    }

    /// Reads a joined table that is elsewhere.
    ///
    /// # Safety
    /// As for [`prepare`](Self::prepare).
    unsafe fn read_input(
        &mut self,
        with: Ref<'t, CommonTableExpr>,
        snapshot: Snapshot,
        memory: &'t Memory,
    ) {
        let body = with.ctequery().and_then(|body| body.cast::<Query>());
        let Some(body) = body.filter(|body| inputs::is_input(with) && !places(*body).is_empty())
        else {
            return;
        };
        let columns = columns::shown(body);
        let name = with.ctename();
        let c_name = CString::new(name.as_str()).expect("a name has no zero in it");
        let store = self.aside.add(&c_name, body.targetList());
        let plan = execution::plan(body);
        // SAFETY: the caller guarantees it; the store lives as long as what is put aside.
        unsafe { Started::start(plan, None, snapshot, store, memory.context()) }.run();
        let from = make_scan(&name, &columns, self.aside.count(store), with.memory());
        with.set_ctequery(Some(from.node()));
    }
}

/// That the rows of a protected table can be fetched in the name of its owner.
fn check(table: Oid, owner: Oid) -> Result<(), Refusal> {
    let refused = |why, hint| Err(errors::distributed(&quoted_name(table), why, hint));
    if distributed::forces_row_security(table) {
        return refused(
            "row-level security is forced on its owner, in whose name its rows are fetched",
            "ALTER TABLE ... NO FORCE ROW LEVEL SECURITY; policies still hold for the roles that ask.",
        );
    }
    if !distributed::may_log_in(owner) {
        return refused(
            "its owner cannot log in on the servers that have its rows",
            "ALTER ROLE ... LOGIN, or give the table to a role that can.",
        );
    }
    Ok(())
}

/// The query that fetches the rows of a protected table, which the places then take from what is put aside.
fn fetch_of<'t>(places: &[Place<'t>], name: &str) -> Ref<'t, Query> {
    // Several places have conditions of their own.
    let conditions = match places {
        [(query, index)] => take_conditions(*query, *index),
        _ => Vec::new(),
    };
    let used = places
        .iter()
        .flat_map(|(query, index)| columns::used(*query, *index));
    let used: BTreeSet<i16> = used.collect();
    let (first, index) = places[0];
    let entry = tree::entry(first, index);
    let columns = columns::of_table(entry, &used);
    let fetch = queries::make_query(first, entry, index, &columns, conditions);
    for (query, index) in places {
        scan(tree::entry(*query, *index), name, &columns, EXPECTED);
    }
    fetch
}

/// Whether a query has tables beside its answers that Citus knows of, so that Citus could send it to another server,
/// which knows no question of this one. What Citus sends then, it would not plan here.
pub fn is_beside_distributed(query: Ref<Query>) -> bool {
    let is_set_operation = |query: Ref<Query>| query.setOperations().is_some();
    !places(query).is_empty()
        && !tree::any(query.node(), |node| {
            node.cast::<Query>().is_some_and(is_set_operation)
        })
}

/// Has Citus compute answers on this server first, until the level of settings that is returned ends.
pub fn keep_here() -> i32 {
    let settings = Settings::begin();
    settings.set(c"citus.enable_router_execution", c"off");
    settings.leave()
}

/// The tables that Citus knows of, in a query and those below it.
fn places(query: Ref<Query>) -> Vec<Place> {
    let mut found = Vec::new();
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            let entries = query.rtable().into_iter().zip(1..);
            let elsewhere = entries.filter(|(entry, _)| {
                entry.rtekind() == RTEKind::RTE_RELATION
                    && distributed::is_distributed(entry.relid())
            });
            found.extend(elsewhere.map(|(_, index)| (query, index)));
        }
        Step::Below
    });
    found
}

/// Makes plain conditions of what row-level security shows of a table: where its rows are fetched, its owner sees all.
/// False if there is no place for them: a FULL JOIN has rows without it, and is not decided by them.
fn spell_out_policies<'t>(query: Ref<'t, Query>, index: i32) -> bool {
    let entry = tree::entry(query, index);
    let from = query.jointree().expect("a query has FROM");
    let policies = entry.securityQuals().into_iter().map(Some);
    let both = |quals| policies.fold(quals, |all, one| tree::both(one, all));
    match filler(from.node(), index).flatten() {
        None => from.set_quals(both(from.quals())),
        Some(join) if matches!(join.jointype(), JoinType::JOIN_LEFT | JoinType::JOIN_RIGHT) => {
            join.set_quals(both(join.quals()))
        }
        Some(_) if entry.securityQuals().is_empty() => {}
        Some(_) => return false,
    }
    entry.set_securityQuals(tree::List::EMPTY);
    query.set_hasRowSecurity(false);
    true
}

/// The join nearest to a table that has rows without one of it, if there is one: a condition in its ON is as one on the
/// table before. `None` if the table is not below the node.
fn filler<'t>(node: Ref<'t, Node>, index: i32) -> Option<Option<Ref<'t, JoinExpr>>> {
    stack::check();
    if let Some(table) = node.cast::<RangeTblRef>() {
        return (table.rtindex() == index).then_some(None);
    }
    if let Some(from) = node.cast::<FromExpr>() {
        let mut parts = from.fromlist().into_iter();
        return parts.find_map(|part| filler(part, index));
    }
    let join = node.cast::<JoinExpr>()?;
    let below = |side: Option<Ref<'t, Node>>, filled_by: JoinType::Type| {
        let found = filler(side?, index)?;
        let fills = [filled_by, JoinType::JOIN_FULL].contains(&join.jointype());
        Some(found.or(fills.then_some(join)))
    };
    below(join.larg(), JoinType::JOIN_RIGHT).or_else(|| below(join.rarg(), JoinType::JOIN_LEFT))
}

/// Takes out of FROM and WHERE the conditions on a table that other servers decide as this one does.
fn take_conditions<'t>(query: Ref<'t, Query>, index: i32) -> Vec<Ref<'t, Node>> {
    let from = query.jointree().expect("a query has FROM");
    let taken = pushdown::take(query, &[index]).remove(&index);
    let taken = taken.unwrap_or_default();
    let (taken, left) = taken
        .into_iter()
        .partition::<Vec<_>, _>(|one| is_same_elsewhere(*one));
    let left = tree::all_of(left);
    from.set_quals(tree::both(from.quals(), left));
    taken
}

/// Whether a condition can be sent as a text, and depends on no setting of the session.
fn is_same_elsewhere(condition: Ref<Node>) -> bool {
    let is_query = |node: Ref<Node>| node.cast::<Query>().is_some();
    !tree::is_mutable(condition) && !tree::any(condition, |node| is_query(node) || !is_plain(node))
}

/// Whether a node is one that can be sent as a text, or an aggregate.
fn is_plain(node: Ref<Node>) -> bool {
    let function = match node.cast::<pg_sys::FuncExpr>() {
        Some(call) => Some(call.funcid()),
        None => node.operator().map(|call| call.opfuncid()),
    };
    function.is_none_or(procedure::is_pinned) && node.cast::<pg_sys::Param>().is_none()
}

/// The range table of a query, but for what stands behind all tables and is none: the keys of GROUP BY, which
/// PostgreSQL 18 keeps there, leave an empty place.
fn without_empty_places(query: Ref<Query>) -> Vec<Ref<RangeTblEntry>> {
    let mut entries = query.rtable().nodes();
    while entries.len() > 1
        && entries
            .last()
            .is_some_and(|entry| entry.rtekind() == RTEKind::RTE_RESULT)
    {
        entries.pop();
    }
    entries
}

/// Whether Citus can have a query begun where its rows are: it is an aggregation of ours over one table. Whether it may,
/// too: it asks for a right of the current role, and the servers for a key.
fn may_push_down(query: Ref<Query>) -> bool {
    let from = query.jointree().expect("a query has FROM");
    let is_other = |node: Ref<Node>| {
        node.cast::<pg_sys::RangeTblRef>()
            .is_some_and(|place| place.rtindex() != 1)
    };
    let is_whole = query.hasAggs()
        && without_empty_places(query).len() == 1
        && !tree::any(from.node(), is_other)
        && query.cteList().is_empty()
        && query.groupingSets().is_empty()
        && query.setOperations().is_none()
        && !query.hasSubLinks()
        && !query.hasWindowFuncs()
        && !query.hasTargetSRFs();
    let is_carried = |call: Ref<Aggref>| {
        let Signature { arguments, answer } = procedure::signature(call.aggfnoid());
        let mut types = arguments.into_iter().chain([answer]);
        let function = count_of_rows(call).unwrap_or(call.aggfnoid());
        let mut support = distributed::support_functions(function).into_iter();
        extension::has_function(function)
            && call.aggorder().is_empty()
            && call.aggdistinct().is_empty()
            && (function != call.aggfnoid()
                || !types.any(|kind| sql_type::is_any(kind) || sql_type::is_of_person(kind)))
            && support.all(procedure::may_execute)
    };
    is_whole
        && key_file::keys().is_ok()
        && !tree::is_mutable(query.node())
        && !tree::any(query.node(), |node| {
            !is_plain(node) || node.cast::<Aggref>().is_some_and(|call| !is_carried(call))
        })
}

/// The count of rows for a count of the values of an expression, which can be of any type: Citus carries no such ones.
/// It takes no mechanism: its own is that of a row for each person.
fn count_of_rows(call: Ref<Aggref>) -> Option<Oid> {
    let types = procedure::signature(call.aggfnoid()).arguments;
    let price = types.get(1..2).filter(|_| sql_type::is_any(types[0]))?;
    let schema = procedure::schema(call.aggfnoid());
    let is_count = procedure::of_schema(schema, c"dp_count", &types) == Some(call.aggfnoid());
    let is_usual = |target: Ref<TargetEntry>| {
        let value = target.expr().and_then(tree::constant).flatten();
        // SAFETY: the third argument of a count is a dp_mechanism.
        value.is_some_and(|value| unsafe { mechanism::text_of(value) } == ROW_EACH)
    };
    let is_usual = is_count && call.args().into_iter().skip(2).all(is_usual);
    is_usual.then(|| procedure::of_schema(schema, c"dp_count", price))?
}

/// Puts counts of rows in the place of counts of values.
fn count_by_filter(query: Ref<Query>) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(call) = node.cast::<Aggref>()
            && let Some(function) = count_of_rows(call)
        {
            let mut arguments = call.args().into_iter();
            let counted = arguments.next().and_then(|target| target.expr());
            let counted = counted.expect("a count of something");
            let price = arguments.next().and_then(|target| target.expr());
            let price = tree::target(price.expect("a price"), 1, "");
            call.set_args(tree::list_of([price]));
            call.set_aggargtypes(call.memory().oids(&[pg_sys::FLOAT8OID]));
            call.set_aggfnoid(function);
            if tree::constant(counted).is_none_or(|value| value.is_none()) {
                let test = call.memory().make::<pg_sys::NullTest>();
                test.set_arg(Some(counted));
                test.set_nulltesttype(pg_sys::NullTestType::IS_NOT_NULL);
                test.set_location(-1);
                call.set_aggfilter(tree::both(call.aggfilter(), Some(test.node())));
            }
        }
        Step::Below
    });
}

/// `SELECT` of all columns of what was put aside.
fn make_scan<'t>(
    name: &str,
    columns: &[Column],
    count: f64,
    memory: tree::Memory<'t>,
) -> Ref<'t, Query> {
    let entry = memory.make::<RangeTblEntry>();
    let names = memory.strings(columns.iter().map(|column| column.name.as_str()));
    entry.set_eref(Some(tree::alias("input", names)));
    entry.set_inFromCl(true);
    scan(entry, name, columns, count);
    let query = memory.make::<Query>();
    query.set_commandType(pg_sys::CmdType::CMD_SELECT);
    query.set_canSetTag(true);
    query.set_rtable(tree::list_of([entry]));
    let targets = columns.iter().zip(1..);
    let targets = targets.map(|(column, number)| {
        let (kind, modifier) = (column.kind, column.modifier);
        let value = tree::var(memory, 1, number, kind, modifier, column.collation);
        tree::target(value, number, &column.name)
    });
    query.set_targetList(tree::list_of(targets));
    query.set_jointree(Some(queries::from_first(memory, None)));
    query
}

/// Makes an entry one that scans what was put aside under a name.
fn scan<'t>(entry: Ref<'t, RangeTblEntry>, name: &str, columns: &[Column], count: f64) {
    let memory = entry.memory();
    let of = |of: fn(&Column) -> Oid| columns.iter().map(of).collect::<Vec<_>>();
    let modifiers: Vec<_> = columns.iter().map(|column| column.modifier).collect();
    access::forget(entry);
    entry.set_rtekind(RTEKind::RTE_NAMEDTUPLESTORE);
    entry.set_relid(Oid::INVALID);
    entry.set_relkind(0);
    entry.set_rellockmode(0);
    entry.set_inh(false);
    entry.set_enrname(Some(name));
    entry.set_enrtuples(count);
    entry.set_coltypes(memory.oids(&of(|column| column.kind)));
    entry.set_coltypmods(memory.integers(&modifiers));
    entry.set_colcollations(memory.oids(&of(|column| column.collation)));
}
