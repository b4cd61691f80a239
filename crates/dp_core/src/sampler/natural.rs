//! Natural numbers of any size: just enough for the rare exact decisions of
//! [`branch`](super::branch) and [`normal`](super::normal), and for those of
//! [`student`](super::student) and [`selection`](super::selection), which are few; and for exact sums of
//! [squares](crate::encoding::squares).

use std::cmp::Ordering;

/// Limbs of 64 bits, lowest first, the last one not 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Natural(Vec<u64>);

impl Natural {
    pub fn new(value: u128) -> Self {
        Self(vec![value as u64, (value >> 64) as u64]).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    pub fn plus(&self, other: &Self) -> Self {
        let (long, short) = if self.0.len() >= other.0.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut limbs = Vec::with_capacity(long.0.len() + 1);
        let mut carry = 0;
        for (position, limb) in long.0.iter().enumerate() {
            let addend = short.0.get(position).copied().unwrap_or(0);
            let sum = u128::from(*limb) + u128::from(addend) + carry;
            limbs.push(sum as u64);
            carry = sum >> 64;
        }
        limbs.push(carry as u64);
        Self(limbs).trimmed()
    }

    /// This less `other`, or 0 where that would be negative.
    pub fn minus(&self, other: &Self) -> Self {
        if *self <= *other {
            return Self(Vec::new());
        }
        let mut limbs = Vec::with_capacity(self.0.len());
        let mut borrow = false;
        for (position, limb) in self.0.iter().enumerate() {
            let (difference, first) =
                limb.overflowing_sub(other.0.get(position).copied().unwrap_or(0));
            let (difference, second) = difference.overflowing_sub(u64::from(borrow));
            limbs.push(difference);
            borrow = first || second;
        }
        Self(limbs).trimmed()
    }

    pub fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0; self.0.len() + other.0.len()];
        for (low, a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (position, b) in other.0.iter().enumerate() {
                let limb = &mut limbs[low + position];
                let sum = u128::from(*limb) + u128::from(*a) * u128::from(*b) + carry;
                *limb = sum as u64;
                carry = sum >> 64;
            }
            limbs[low + other.0.len()] = carry as u64;
        }
        Self(limbs).trimmed()
    }

    /// Rounded down; `divisor` is not 0.
    pub fn over(&self, divisor: u64) -> Self {
        let mut limbs = self.0.clone();
        let mut remainder = 0;
        for limb in limbs.iter_mut().rev() {
            let value = remainder << 64 | u128::from(*limb);
            *limb = (value / u128::from(divisor)) as u64;
            remainder = value % u128::from(divisor);
        }
        Self(limbs).trimmed()
    }

    /// Times `2^places`.
    pub fn up(&self, places: u32) -> Self {
        let (whole, part) = ((places / 64) as usize, places % 64);
        let mut limbs = vec![0; whole];
        let mut carry = 0;
        for limb in &self.0 {
            let value = u128::from(*limb) << part;
            limbs.push(value as u64 | carry);
            carry = (value >> 64) as u64;
        }
        limbs.push(carry);
        Self(limbs).trimmed()
    }

    /// Over `2^places`, rounded down.
    pub fn down(&self, places: u32) -> Self {
        let (whole, part) = ((places / 64) as usize, places % 64);
        let rest = self.0.get(whole..).unwrap_or(&[]);
        let limb = |position: usize| u128::from(rest.get(position).copied().unwrap_or(0));
        let limbs = (0..rest.len()).map(|i| ((limb(i) | limb(i + 1) << 64) >> part) as u64);
        Self(limbs.collect()).trimmed()
    }

    /// The number of binary digits.
    pub fn length(&self) -> u32 {
        let top = self.0.last().map_or(0, |limb| 64 - limb.leading_zeros());
        self.0.len().saturating_sub(1) as u32 * 64 + top
    }

    /// The lowest 128 binary digits.
    pub fn low_128(&self) -> u128 {
        let limb = |position: usize| u128::from(self.0.get(position).copied().unwrap_or(0));
        limb(0) | limb(1) << 64
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        let lengths = self.0.len().cmp(&other.0.len());
        lengths.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers() -> Vec<u128> {
        let mut state = 1u128;
        let mut numbers = vec![0, 1, 2, u128::from(u64::MAX), 1 << 64, u128::MAX];
        for i in 0..40 {
            state = state
                .wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645)
                .wrapping_add(99);
            numbers.push(state >> (3 * i));
        }
        numbers
    }

    #[test]
    fn agrees_with_128_bit_arithmetic() {
        for a in numbers() {
            let natural = Natural::new(a);
            assert_eq!(natural.low_128(), a);
            assert_eq!(natural.length(), 128 - a.leading_zeros());
            for shift in [0, 1, 63, 64, 65, 127] {
                assert_eq!(natural.down(shift), Natural::new(a >> shift));
                assert_eq!(natural.up(shift).down(shift), natural);
                let power = Natural::new(1).up(shift);
                assert_eq!(natural.up(shift), natural.times(&power));
            }
            for b in numbers() {
                let other = Natural::new(b);
                assert_eq!(natural.cmp(&other), a.cmp(&b));
                assert_eq!(natural.minus(&other), Natural::new(a.saturating_sub(b)));
                assert_eq!(natural.plus(&other).minus(&other), natural);
                let small = b as u64;
                if small != 0 {
                    assert_eq!(natural.over(small), Natural::new(a / u128::from(small)));
                    let product = natural.times(&Natural::new(u128::from(small)));
                    assert_eq!(product.over(small), natural);
                }
                let (low, high) = (
                    Natural::new(a & u128::from(u64::MAX)),
                    Natural::new(a >> 64),
                );
                let split = low.times(&other).plus(&high.times(&other).up(64));
                assert_eq!(natural.times(&other), split);
            }
        }
    }
}
