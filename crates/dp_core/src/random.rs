//! Where randomness comes from: uniform words.

use std::fmt;

use rand::rngs::{SysError, SysRng};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

#[cfg(feature = "testing")]
use crate::recorder::{Record, Recorder};

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

    /// Takes note of a noisy integer: see [`noted`]. What it returns is what the mechanism goes on
    /// with, so that a recorder can play back another.
    #[cfg(feature = "testing")]
    fn note(&mut self, exact: &[i128], noisy: i128) -> i128 {
        let _ = exact;
        noisy
    }
}

/// An integer that comes of the rows with its noise on it, which was drawn without a look at them.
/// All noise meets data here or in [`noted`].
#[inline(always)]
pub(crate) fn add_noise<B: Bits>(exact: i128, noise: i128, bits: &mut B) -> i128 {
    noted(&[exact], exact.saturating_add(noise), bits)
}

/// A noisy integer that a guarantee is about, and all that it depends on of the rows, noise apart.
/// Everything that follows from it is post-processing. Here an audit listens; in a release build
/// this is `noisy` and nothing else.
#[inline(always)]
pub(crate) fn noted<B: Bits>(exact: &[i128], noisy: i128, bits: &mut B) -> i128 {
    #[cfg(feature = "testing")]
    return bits.note(exact, noisy);
    #[cfg(not(feature = "testing"))]
    {
        let _ = (exact, bits);
        noisy
    }
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
    #[cfg(feature = "testing")]
    recorder: Option<Recorder>,
}

impl Generator {
    /// A generator with a fresh 256-bit key from the operating system.
    ///
    /// # Errors
    /// The operating system's source failed; there is no generator then, and must be no answer.
    pub fn from_os() -> Result<Self, OsError> {
        match ChaCha20Rng::try_from_rng(&mut SysRng) {
            Ok(stream) => Ok(Self {
                stream,
                #[cfg(feature = "testing")]
                recorder: None,
            }),
            Err(error) => Err(OsError(error)),
        }
    }

    /// A generator whose words are public, for simulations of what is no data. It gives no privacy.
    pub(crate) fn simulated() -> Self {
        Self {
            stream: ChaCha20Rng::seed_from_u64(0),
            #[cfg(feature = "testing")]
            recorder: None,
        }
    }

    /// A generator with a chosen seed, so that tests repeat. It gives no privacy.
    #[cfg(any(test, feature = "testing"))]
    pub fn from_seed(seed: u64) -> Self {
        Self {
            stream: ChaCha20Rng::seed_from_u64(seed),
            #[cfg(feature = "testing")]
            recorder: None,
        }
    }

    /// A generator that gives every release the noise of this seed, and records it. Where there are
    /// records to play back, the releases go on with the noisy integers in them, in order.
    #[cfg(feature = "testing")]
    pub fn recording(seed: u64, played: Vec<Record>) -> Self {
        Self {
            recorder: Some(Recorder::new(seed, played)),
            ..Self::from_seed(seed)
        }
    }

    /// Ends the record of a release, if there is one: the next has the same words.
    #[cfg(feature = "testing")]
    pub fn end_of_release(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.end_of_release();
            self.stream = ChaCha20Rng::seed_from_u64(recorder.seed());
        }
    }

    /// What was recorded so far.
    #[cfg(feature = "testing")]
    pub fn records(&self) -> &[Record] {
        self.recorder.as_ref().map_or(&[], Recorder::records)
    }
}

impl Bits for Generator {
    const WIDTH: u32 = 64;

    #[inline]
    fn word(&mut self) -> u64 {
        #[cfg(feature = "testing")]
        if let Some(recorder) = &mut self.recorder {
            recorder.count_word();
        }
        self.stream.next_u64()
    }

    #[cfg(feature = "testing")]
    fn note(&mut self, exact: &[i128], noisy: i128) -> i128 {
        match &mut self.recorder {
            Some(recorder) => recorder.note(exact, noisy),
            None => noisy,
        }
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

/// Words that a test chooses, 64 bits each.
#[cfg(test)]
pub(crate) struct Script<'a>(pub &'a [u64]);

#[cfg(test)]
impl<'a> Script<'a> {
    /// What is drawn from these words, and how many of them it takes.
    pub fn play<T>(words: &'a [u64], draw: impl FnOnce(&mut Self) -> T) -> (T, usize) {
        let mut script = Self(words);
        let drawn = draw(&mut script);
        (drawn, words.len() - script.0.len())
    }
}

#[cfg(test)]
impl Bits for Script<'_> {
    const WIDTH: u32 = 64;

    fn word(&mut self) -> u64 {
        let (word, rest) = self.0.split_first().expect("the script is long enough");
        self.0 = rest;
        *word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bits of a word are random, and none of them is there twice.
    #[test]
    fn words_are_the_bytes_of_the_stream_one_after_the_other() {
        let mut bytes = [0; 800];
        ChaCha20Rng::seed_from_u64(7).fill_bytes(&mut bytes);
        let mut generator = Generator::from_seed(7);
        for bytes in bytes.chunks_exact(8) {
            assert_eq!(generator.word().to_le_bytes(), bytes);
        }
        let mut generator = Generator::from_os().unwrap();
        let words: Vec<u64> = (0..100).map(|_| generator.word()).collect();
        assert_eq!(words.iter().fold(0, |all, word| all | word), u64::MAX);
        assert_eq!(words.iter().fold(u64::MAX, |all, word| all & word), 0);
        let halves = words.iter().map(|word| (word >> 32, word & 0xFFFF_FFFF));
        assert!(halves.filter(|(high, low)| high == low).count() < 2);
    }

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

    /// The first words of SplitMix64 from seed 0, as published.
    #[test]
    fn public_words_are_mixed_as_by_splitmix64() {
        const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;
        assert_eq!(mixed(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mixed(GAMMA), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(mixed(GAMMA.wrapping_mul(2)), 0x06C4_5D18_8009_454F);
    }

    #[cfg(feature = "testing")]
    #[test]
    fn every_recorded_release_has_the_same_words() {
        let mut generator = Generator::recording(7, Vec::new());
        let first = [generator.word(), generator.word()];
        generator.end_of_release();
        assert_eq!(first, [generator.word(), generator.word()]);
        generator.word();
        generator.end_of_release();
        let words: Vec<u64> = generator.records().iter().map(|one| one.words).collect();
        assert_eq!(words, [2, 3]);
        assert!(Generator::from_seed(7).records().is_empty());
    }

    #[test]
    fn debug_shows_no_key() {
        assert_eq!(format!("{:?}", Generator::from_seed(1)), "Generator { .. }");
    }
}
