//! Sources of words for tests.

use dp_core::random::Bits;

/// SplitMix64 (Steele, Lea and Flood 2014): seeded, fast, and good enough for chi-square tests.
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }
}

impl Bits for Seeded {
    const WIDTH: u32 = 64;

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

/// The same, cut to words of `W` bits.
pub struct Narrow<const W: u32>(pub Seeded);

impl<const W: u32> Bits for Narrow<W> {
    const WIDTH: u32 = W;

    fn word(&mut self) -> u64 {
        self.0.word() >> (64 - W)
    }
}

/// Words that were written down. After the last of them, seeded ones, so that a sampler ends;
/// `over` then says that the tape was too short.
pub struct Tape<'a, const W: u32> {
    written: &'a [u64],
    read: usize,
    rest: Seeded,
}

impl<'a, const W: u32> Tape<'a, W> {
    pub fn new(written: &'a [u64]) -> Self {
        Self {
            written,
            read: 0,
            rest: Seeded::new(7),
        }
    }

    pub fn read(&self) -> usize {
        self.read
    }

    pub fn over(&self) -> bool {
        self.read > self.written.len()
    }
}

impl<const W: u32> Bits for Tape<'_, W> {
    const WIDTH: u32 = W;

    fn word(&mut self) -> u64 {
        let word = self.written.get(self.read).copied();
        self.read += 1;
        word.unwrap_or_else(|| self.rest.word() >> (64 - W))
    }
}

#[test]
fn narrow_words_are_narrow() {
    let mut narrow = Narrow::<3>(Seeded::new(1));
    let mut seen = [0; 8];
    for _ in 0..1000 {
        seen[narrow.word() as usize] += 1;
    }
    assert!(seen.iter().all(|n| *n > 80));
}
