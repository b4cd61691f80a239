//! The defences of the ledger that a test can take away, to see that what they stop then succeeds. In a release all
//! stand.

/// A defence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defence {
    /// A ledger that was copied from elsewhere is not charged.
    Home,
    /// Few of the charges that are refused have a row of their own.
    Noted,
    /// A role that owns a budget is not dropped.
    Owner,
    /// A budget has one line for all together, and a role at most one.
    Lines,
    /// The lines of roles come to at least the line of all together.
    Sums,
    /// Nothing is charged to a line that this transaction made.
    Committed,
    /// Each line is that of a budget which is there.
    Orphans,
    /// Nobody else's triggers are on a table that is written.
    Triggers,
    /// Nobody else's indexes are on a table that is written.
    Indexes,
    /// Nothing is charged into a table that a ROLLBACK would take back.
    Rewrites,
}

#[cfg(feature = "testing")]
mod testing {
    use std::cell::Cell;

    use super::Defence;

    /// All of them, by the names that tests call them.
    const NAMES: &[(Defence, &str)] = &[
        (Defence::Home, "ledger_home"),
        (Defence::Noted, "ledger_noted"),
        (Defence::Owner, "ledger_owner"),
        (Defence::Lines, "ledger_lines"),
        (Defence::Sums, "ledger_sums"),
        (Defence::Committed, "ledger_committed"),
        (Defence::Orphans, "ledger_orphans"),
        (Defence::Triggers, "ledger_triggers"),
        (Defence::Indexes, "ledger_indexes"),
        (Defence::Rewrites, "ledger_rewrites"),
    ];

    thread_local! {
        static DOWN: Cell<u32> = const { Cell::new(0) };
    }

    impl Defence {
        pub fn stands(self) -> bool {
            DOWN.get() & (1 << self as u32) == 0
        }
    }

    /// Takes the defence of this name away, or puts it back. Whether there is one.
    pub fn set(name: &str, stands: bool) -> bool {
        let Some((defence, _)) = NAMES.iter().find(|(_, known)| *known == name) else {
            return false;
        };
        let bit = 1 << *defence as u32;
        DOWN.set(match stands {
            true => DOWN.get() & !bit,
            false => DOWN.get() | bit,
        });
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
