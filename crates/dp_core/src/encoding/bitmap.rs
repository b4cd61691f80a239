//! Ids as places in a bitmap: a fixed public hash, and what is left of the ids.
//!
//! Nothing here is secret, and nothing of privacy hangs on it: whatever places ids have, and however many fall on one,
//! an id more sets one bit more at most. Ids that were chosen to fall on one another make the answer too small.

use crate::random::mixed;

/// How many bits of a bitmap are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupied {
    /// Bits.
    pub bits: u64,
}

/// The hash of an id that is a word.
#[inline(always)]
pub fn of_word(word: u64) -> u64 {
    mixed(word)
}

/// The hash of an id that is some bytes. Cannot panic.
#[inline(always)]
pub fn of_bytes(bytes: &[u8]) -> u64 {
    let whole = bytes.chunks_exact(8);
    let mut last = 0;
    for byte in whole.remainder() {
        last = last << 8 | u64::from(*byte);
    }
    let mut hash = mixed(bytes.len() as u64);
    for chunk in whole {
        let mut word = 0;
        for byte in chunk {
            word = word << 8 | u64::from(*byte);
        }
        hash = mixed(hash ^ word);
    }
    mixed(mixed(hash ^ last))
}

/// The place of an id with this hash among 2 to this power, 1 to 32, of bits.
#[inline(always)]
pub fn place(hash: u64, power: u32) -> u32 {
    // At most 32 bits are left.
    (hash >> (64 - power.clamp(1, 32))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length_have_places_of_their_own() {
        let bytes: Vec<u8> = (0..40).collect();
        let mut hashes: Vec<u64> = (0..=40).map(|length| of_bytes(&bytes[..length])).collect();
        hashes.extend((0..=40).map(|length| of_bytes(&vec![0; length])));
        for i in 0..40 {
            let mut other = bytes.clone();
            other[i] ^= 1;
            hashes.push(of_bytes(&other));
        }
        hashes.sort_unstable();
        hashes.dedup();
        // Nothing, and 0 once, are there twice.
        assert_eq!(hashes.len(), 41 + 41 + 40 - 2);
        assert_eq!(of_bytes(b"as it is"), of_bytes(b"as it is"));
    }

    #[test]
    fn places_are_below_the_number_of_bits() {
        for power in 1..=32 {
            assert_eq!(place(0, power), 0);
            assert_eq!(u64::from(place(u64::MAX, power)), (1 << power) - 1);
        }
    }
}
