//! Where randomness comes from: uniform words.

use std::fmt;

use rand::rngs::{SysError, SysRng};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A source of independent, uniformly distributed words.
///
/// The samplers are generic over it. What runs for users is [`Generator`], with words of 64
/// bits; tests run the same code on words of 1 to 4 bits, where the paths that 64-bit words take
/// once in 2^54 draws are taken all the time.
pub trait Bits {
    /// Random bits in a word: 1 to 64.
    const WIDTH: u32;

    /// The next word: uniform on the integers in [0, 2^WIDTH).
    fn word(&mut self) -> u64;
}

/// A public word, mixed so that every bit of it counts: the finalizer of SplitMix64 (Steele, Lea
/// and Flood 2014). For what need not be secret.
pub fn mixed(word: u64) -> u64 {
    let z = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// The cryptographic generator that noise comes from: ChaCha20, keyed by the operating system.
///
/// It cannot be cloned (two copies would give the same noise twice). A process that forks must
/// make a new one on each side.
pub struct Generator {
    stream: ChaCha20Rng,
}

impl Generator {
    /// A generator with a fresh 256-bit key from the operating system.
    ///
    /// # Errors
    /// The operating system's source failed; there is no generator then, and must be no answer.
    pub fn from_os() -> Result<Self, OsError> {
        match ChaCha20Rng::try_from_rng(&mut SysRng) {
            Ok(stream) => Ok(Self { stream }),
            Err(error) => Err(OsError(error)),
        }
    }

    /// A generator with a chosen seed, so that tests repeat. It gives no privacy.
    #[cfg(any(test, feature = "testing"))]
    pub fn from_seed(seed: u64) -> Self {
        Self {
            stream: ChaCha20Rng::seed_from_u64(seed),
        }
    }
}

impl Bits for Generator {
    const WIDTH: u32 = 64;

    #[inline]
    fn word(&mut self) -> u64 {
        self.stream.next_u64()
    }
}

/// Shows nothing of the key.
impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

/// The operating system's random source failed.
#[derive(Clone, Copy, Debug)]
pub struct OsError(SysError);

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the operating system's random source failed: {}", self.0)
    }
}

impl std::error::Error for OsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_from_the_system_differ() {
        let mut first = Generator::from_os().unwrap();
        let mut second = Generator::from_os().unwrap();
        assert_ne!([first.word(), first.word()], [second.word(), second.word()]);
    }

    #[test]
    fn seeds_repeat() {
        let words = |seed| {
            let mut generator = Generator::from_seed(seed);
            [generator.word(), generator.word()]
        };
        assert_eq!(words(1), words(1));
        assert_ne!(words(1), words(2));
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", Generator::from_seed(1)), "Generator { .. }");
    }
}
