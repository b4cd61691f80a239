//! Defences that a test can take away, to see that the attack which they stop then succeeds. In a release all stand.

/// The defences of a folder, each with the name that tests call it: an enum `Defence`, whether one stands, and `set`.
macro_rules! defences {
    ($($(#[$doc:meta])* $defence:ident = $name:literal,)*) => {
        /// A defence.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Defence {
            $($(#[$doc])* $defence,)*
        }

        #[cfg(not(feature = "testing"))]
        impl Defence {
            pub const fn stands(self) -> bool {
                true
            }
        }

        #[cfg(feature = "testing")]
        thread_local! {
            /// A bit for each defence that was taken away.
            static DOWN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
        }

        #[cfg(feature = "testing")]
        impl Defence {
            pub fn stands(self) -> bool {
                DOWN.get() & (1 << self as u64) == 0
            }
        }

        /// Takes the defence of this name away, or puts it back. Whether there is one.
        #[cfg(feature = "testing")]
        pub fn set(name: &str, stands: bool) -> bool {
            const ALL: &[(Defence, &str)] = &[$((Defence::$defence, $name)),*];
            let found = ALL.iter().find(|(_, known)| *known == name);
            if let Some((defence, _)) = found {
                let bit = 1 << *defence as u64;
                DOWN.set(match stands {
                    true => DOWN.get() & !bit,
                    false => DOWN.get() | bit,
                });
            }
            found.is_some()
        }
    };
}

pub(crate) use defences;
