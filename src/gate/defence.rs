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
    /// Messages below NOTICE are kept from the client.
    Quiet,
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
}

#[cfg(feature = "testing")]
mod testing {
    use std::cell::Cell;

    use super::Defence;

    /// All of them, by the names that tests call them.
    const NAMES: [(Defence, &str); 10] = [
        (Defence::Total, "total"),
        (Defence::Fence, "fence"),
        (Defence::Once, "once"),
        (Defence::Explain, "explain"),
        (Defence::Quiet, "quiet"),
        (Defence::Charge, "charge"),
        (Defence::Keep, "keep"),
        (Defence::Groups, "groups"),
        (Defence::Rows, "rows"),
        (Defence::Again, "again"),
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
        DOWN.set(if stands {
            DOWN.get() & !bit
        } else {
            DOWN.get() | bit
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
