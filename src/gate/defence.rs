//! The defences of the gate that a test can take away, to see that its attack then succeeds. In a release all stand.

/// A defence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defence {
    /// Only total functions see private rows.
    Total,
    /// Releases stand in a WITH that is materialized.
    Fence,
    /// A plan that could release twice is refused.
    Once,
    /// EXPLAIN is refused.
    Explain,
    /// Messages are kept from the client.
    Quiet,
    /// Those from INFO to WARNING too.
    Warnings,
    /// What is looked up once is looked up before the first row.
    Lookup,
    /// Only expressions that are known to raise nothing see private rows.
    Nodes,
    /// The work that a row can cause is bounded.
    Work,
    /// A release is charged.
    Charge,
    /// Groups are shown by partition selection.
    Keep,
    /// A person counts in so many groups.
    Groups,
    /// A person counts for so many rows.
    Rows,
    /// Who may ask is looked at again when the plan runs.
    Again,
    /// What is not proven private is refused.
    Refuse,
    /// What is charged is what is released.
    Receipt,
    /// The functions of a template are ours or PostgreSQL's.
    Names,
    /// No transaction shows which rows it has read.
    Isolation,
    /// Texts have a collation that they can be compared by, whatever they are.
    Collation,
    /// Keys are of types that all have a hash.
    Hash,
    /// A budget pays for tables of its owner alone.
    Budget,
    /// A role that is gone asks no more.
    Role,
    /// Each value of a public list is there once, however it is written.
    Listed,
    /// Code of an owner does not run with the rights in which templates are read.
    Domain,
    /// An index is no promise about rows that are older than it.
    Snapshot,
    /// Equal keys look alike.
    Form,
    /// Groups come in the order of their keys.
    Order,
    /// Keys are so few and so short that they fit into a row.
    Size,
    /// Only rows that the client gets are left out of a preview.
    Preview,
    /// Joined tables are read whole, before the first private row.
    Inputs,
    /// Rights are looked up without the hooks of other extensions.
    Hooks,
    /// What is copied into a query is bounded.
    Copies,
    /// Budgets that pay for one query are charged together or not at all.
    Together,
}

#[cfg(feature = "testing")]
mod testing {
    use std::cell::Cell;

    use super::Defence;

    /// All of them, by the names that tests call them.
    const NAMES: &[(Defence, &str)] = &[
        (Defence::Total, "total"),
        (Defence::Fence, "fence"),
        (Defence::Once, "once"),
        (Defence::Explain, "explain"),
        (Defence::Quiet, "quiet"),
        (Defence::Warnings, "warnings"),
        (Defence::Lookup, "lookup"),
        (Defence::Nodes, "nodes"),
        (Defence::Work, "work"),
        (Defence::Charge, "charge"),
        (Defence::Keep, "keep"),
        (Defence::Groups, "groups"),
        (Defence::Rows, "rows"),
        (Defence::Again, "again"),
        (Defence::Refuse, "refuse"),
        (Defence::Receipt, "receipt"),
        (Defence::Names, "names"),
        (Defence::Isolation, "isolation"),
        (Defence::Collation, "collation"),
        (Defence::Hash, "hash"),
        (Defence::Budget, "budget"),
        (Defence::Role, "role"),
        (Defence::Listed, "listed"),
        (Defence::Domain, "domain"),
        (Defence::Snapshot, "snapshot"),
        (Defence::Form, "form"),
        (Defence::Order, "order"),
        (Defence::Size, "size"),
        (Defence::Preview, "preview"),
        (Defence::Inputs, "inputs"),
        (Defence::Hooks, "hooks"),
        (Defence::Copies, "copies"),
        (Defence::Together, "together"),
    ];

    thread_local! {
        static DOWN: Cell<u64> = const { Cell::new(0) };
    }

    impl Defence {
        pub fn stands(self) -> bool {
            DOWN.get() & (1 << self as u64) == 0
        }
    }

    /// Takes the defence of this name away, or puts it back. Whether there is one.
    pub fn set(name: &str, stands: bool) -> bool {
        let Some((defence, _)) = NAMES.iter().find(|(_, known)| *known == name) else {
            return false;
        };
        let bit = 1 << *defence as u64;
        DOWN.set(if stands {
            DOWN.get() & !bit
        } else {
            DOWN.get() | bit
        });
        if *defence == Defence::Work {
            crate::total::work::set_bounded(stands);
        }
        true
    }
}

#[cfg(feature = "testing")]
pub use testing::set;

#[cfg(not(feature = "testing"))]
impl Defence {
    pub const fn stands(self) -> bool {
        true
    }
}
