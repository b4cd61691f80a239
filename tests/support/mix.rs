//! Numbers that look random and are the same at every run.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Mix(pub u64);

impl Mix {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below `n`, nearly uniform.
    pub fn below(&mut self, n: usize) -> usize {
        (self.word() % n as u64) as usize
    }
}
