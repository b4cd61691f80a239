//! Means over many runs, and how far to trust them.

/// A number that a simulation found, with its standard error.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    pub value: f64,
    pub error: f64,
}

impl Estimate {
    /// In another unit.
    pub fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            error: self.error * factor.abs(),
        }
    }

    /// The ratio of two independent estimates, to leading order in their errors.
    pub fn over(self, other: Self) -> Self {
        let value = self.value / other.value;
        let relative = (self.error / self.value).hypot(other.error / other.value);
        Self {
            value,
            error: value.abs() * relative,
        }
    }

    /// The root, to leading order in the error.
    pub fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        Self {
            value,
            error: self.error / (2.0 * value),
        }
    }

    /// How many standard errors it is from what was expected.
    #[cfg(test)]
    pub fn distance(self, expected: f64) -> f64 {
        (self.value - expected).abs() / self.error
    }
}

/// Numbers so far: Welford's running mean and sum of squares around it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Tally {
    pub fn add(&mut self, x: f64) {
        self.count += 1.0;
        let from_old = x - self.mean;
        self.mean += from_old / self.count;
        self.squares += from_old * (x - self.mean);
    }

    /// The mean of the numbers.
    pub fn mean(&self) -> Estimate {
        Estimate {
            value: self.mean,
            error: (self.squares / (self.count - 1.0) / self.count).sqrt(),
        }
    }

    /// How many there were.
    pub fn count(&self) -> f64 {
        self.count
    }
}

impl Extend<f64> for Tally {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, numbers: I) {
        for x in numbers {
            self.add(x);
        }
    }
}

/// How many standard errors chance alone does not exceed, at a level of one in a million.
#[cfg(test)]
pub const Z: f64 = 4.89;
