//! The parts that came: for each run of numbers of a stream a table of bits, found in one step, so that many parts take
//! time in proportion to their number, and parts that were sealed one after the other two to four bits each: a table of
//! 512 has 64 bytes in a list that is at least half full, and 49 in a hash table that is between seven sixteenths and
//! seven eighths full.

use std::collections::HashMap;

use crate::sealed::Nonce;

/// The numbers of a table: a power of two.
const NUMBERS: u64 = 512;

type Bits = [u64; (NUMBERS / 64) as usize];

/// Which table it is: its stream, and its numbers.
type Table = (u128, u64);

/// The parts that came. What hashes them is secret, so that nobody can choose parts that take long.
#[derive(Default)]
pub struct Seen {
    /// Where each table is in the list.
    places: HashMap<Table, usize>,
    tables: Vec<Bits>,
    /// That of the part that came last: mostly that of the next one too.
    last: Option<(Table, usize)>,
}

/// Memory has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct NoMemory;

impl Seen {
    /// Takes in the nonce of a part: whether it came for the first time.
    ///
    /// # Errors
    /// There is no memory for more.
    pub fn insert(&mut self, nonce: &Nonce) -> Result<bool, NoMemory> {
        let number = nonce.number();
        let (table, bit) = ((nonce.stream(), number / NUMBERS), number % NUMBERS);
        let place = match self.last {
            Some((last, place)) if last == table => place,
            _ => self.place_of(table)?,
        };
        self.last = Some((table, place));
        let bits = &mut self.tables[place];
        let (word, bit) = (&mut bits[(bit / 64) as usize], 1 << (bit % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        Ok(is_new)
    }

    /// Where a table is, which is made if there is none.
    fn place_of(&mut self, table: Table) -> Result<usize, NoMemory> {
        if let Some(place) = self.places.get(&table) {
            return Ok(*place);
        }
        self.places.try_reserve(1).map_err(|_| NoMemory)?;
        self.tables.try_reserve(1).map_err(|_| NoMemory)?;
        let place = self.tables.len();
        self.tables.push(Bits::default());
        self.places.insert(table, place);
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce(stream: u128, number: u64) -> Nonce {
        Nonce::new(stream, number)
    }

    #[test]
    fn a_part_comes_once() {
        // Numbers one after the other, over the end of them, and far apart; streams that differ in a bit.
        for (start, step) in [
            (7_u64, 1_u64),
            (u64::MAX - 700, 1),
            (3, 512),
            (5, 0x9e37_79b9_7f4a_7c15),
        ] {
            let mut seen = Seen::default();
            let numbers = (0..2000_u64).map(|i| step.wrapping_mul(i).wrapping_add(start));
            let all =
                numbers.flat_map(|number| [0, 1, 1 << 127].map(|stream| nonce(stream, number)));
            let all = Vec::from_iter(all);
            for is_new in [true, false] {
                for one in &all {
                    assert_eq!(seen.insert(one), Ok(is_new));
                }
            }
        }
    }

    /// Each bit of a nonce counts.
    #[test]
    fn others_are_others() {
        let mut seen = Seen::default();
        let (stream, number) = (
            0x0123_4567_89ab_cdef_0011_2233_4455_6677,
            0x8899_aabb_ccdd_eeff,
        );
        let streams = (0..128).map(|i| nonce(stream ^ 1 << i, number));
        let numbers = (0..64).map(|i| nonce(stream, number ^ 1 << i));
        for one in [nonce(stream, number)]
            .into_iter()
            .chain(streams)
            .chain(numbers)
        {
            assert_eq!(seen.insert(&one), Ok(true));
        }
    }

    #[test]
    fn parts_in_a_row_share_a_table() {
        let mut seen = Seen::default();
        for number in 0..10 * NUMBERS {
            assert_eq!(seen.insert(&nonce(1, number)), Ok(true));
        }
        assert_eq!((seen.places.len(), seen.tables.len()), (10, 10));
    }
}
