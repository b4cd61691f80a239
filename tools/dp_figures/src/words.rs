//! Randomness with a chosen seed, so that figures can be made again.

use std::f64::consts::TAU;

use dp_core::random::Bits;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The stream cipher that noise for users comes from, with a public seed: it gives no privacy.
pub struct Words {
    stream: ChaCha20Rng,
}

impl Words {
    /// A stream of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self {
            stream: ChaCha20Rng::seed_from_u64(seed),
        }
    }

    /// Uniform between 0 and 1, without the ends.
    fn unit(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Two independent standard normal numbers (Box and Muller 1958). For rows, never for noise.
    pub fn normals(&mut self) -> [f64; 2] {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        let (sin, cos) = (TAU * self.unit()).sin_cos();
        [radius * cos, radius * sin]
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

impl Bits for Words {
    const WIDTH: u32 = 64;

    #[inline]
    fn word(&mut self) -> u64 {
        self.stream.next_u64()
    }
}
