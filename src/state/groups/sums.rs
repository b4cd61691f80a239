//! What a person's rows in a group add up to, as a slot has it: one word while each group has a row at most, as is
//! usual of people in many groups, and the sums from the second row of a group on. What fits in half the memory is
//! found in half the time: of a million people little is in the processor's caches.

use dp_core::encoding::contribution::{PersonRows, PersonTotal};

use crate::state::scalar::RowSums;

/// How the slots of a state have the sums.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SumsForm {
    /// What the only row comes to; 0 without a row.
    OneRow,
    Sums,
}

impl SumsForm {
    /// Words for each contribution.
    pub const fn words(self) -> usize {
        match self {
            Self::OneRow => 1,
            Self::Sums => 5,
        }
    }
}

/// Sums that can be told from the word of an only row.
pub trait PersonSums<const N: usize>: RowSums<Words = [u64; N]> {
    /// The word of a row, which is not 0.
    fn word(steps: Self::Steps) -> u64;

    /// What the row of a word comes to. Any word has one.
    fn steps_of(word: u64) -> Self::Steps;

    /// The sums in a slot of this form. Any words are some.
    #[inline(always)]
    fn read(form: SumsForm, words: &[u64]) -> Self {
        match form {
            SumsForm::OneRow => {
                let mut sums = Self::default();
                if words[0] != 0 {
                    sums.add(Self::steps_of(words[0]));
                }
                sums
            }
            SumsForm::Sums => {
                let mut own = [0; N];
                own.copy_from_slice(&words[..N]);
                Self::unpack(own)
            }
        }
    }

    /// Puts them into a slot of sums.
    #[inline(always)]
    fn write(self, words: &mut [u64]) {
        words[..N].copy_from_slice(&self.pack());
    }
}

impl PersonSums<5> for PersonRows {
    /// Of at most 2^32 steps.
    #[inline(always)]
    fn word(steps: u64) -> u64 {
        steps.wrapping_add(1)
    }

    #[inline(always)]
    fn steps_of(word: u64) -> u64 {
        word.wrapping_sub(1)
    }
}

impl PersonSums<3> for PersonTotal {
    /// Of at most 2^62 steps in magnitude.
    #[inline(always)]
    fn word(steps: i64) -> u64 {
        steps.wrapping_sub(i64::MIN) as u64
    }

    #[inline(always)]
    fn steps_of(word: u64) -> i64 {
        (word as i64).wrapping_add(i64::MIN)
    }
}
