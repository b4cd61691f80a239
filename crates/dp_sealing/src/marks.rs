//! The marks of the parts that a state was put together from: a table in which each is found in one step, so that many
//! parts take time in proportion to their number.

/// What tells a part from all others: 128 random bits.
pub type Mark = [u8; 16];

/// What an empty place holds. No mark is drawn as this one, but once in 2^128.
const EMPTY: Mark = [0; 16];

/// The places that a table for so many marks has: a power of two, at least half of it empty.
pub fn places(marks: usize) -> usize {
    (2 * marks.max(1)).next_power_of_two()
}

/// A mark was there already, or there is no place for it.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused;

/// Takes a mark into a table of empty places and marks.
///
/// # Errors
/// It is in it already; it is no mark; no place is empty.
pub fn insert(table: &mut [Mark], mark: &Mark) -> Result<(), Refused> {
    if *mark == EMPTY || table.is_empty() {
        return Err(Refused);
    }
    // The bits are random: they are their own hash.
    let word = u64::from_ne_bytes(*mark.first_chunk().expect("16 bytes"));
    let start = (word % table.len() as u64) as usize;
    let (before, after) = table.split_at_mut(start);
    for place in after.iter_mut().chain(before) {
        if *place == EMPTY {
            *place = *mark;
            return Ok(());
        }
        if place == mark {
            return Err(Refused);
        }
    }
    Err(Refused)
}

/// The marks in a table.
pub fn all(table: &[Mark]) -> impl Iterator<Item = &Mark> {
    table.iter().filter(|place| **place != EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(word: u64) -> Mark {
        let mut mark = [0; 16];
        mark[..8].copy_from_slice(&word.to_ne_bytes());
        mark[15] = 1;
        mark
    }

    #[test]
    fn a_mark_comes_once() {
        for count in [1, 2, 3, 7, 64, 1000] {
            // Marks that all want the same place too.
            for step in [1, places(count) as u64] {
                let mut table = vec![EMPTY; places(count)];
                let marks = Vec::from_iter((0..count as u64).map(|i| mark(i * step)));
                for one in &marks {
                    assert_eq!(insert(&mut table, one), Ok(()));
                }
                for one in &marks {
                    assert_eq!(insert(&mut table, one), Err(Refused));
                }
                let mut found = Vec::from_iter(all(&table).copied());
                found.sort_by_key(|mark| u64::from_ne_bytes(*mark.first_chunk().unwrap()));
                assert_eq!(found, marks);
            }
        }
    }

    #[test]
    fn a_full_table_and_no_mark_are_refused() {
        let mut table = [EMPTY; 2];
        assert_eq!(insert(&mut table, &EMPTY), Err(Refused));
        assert_eq!(insert(&mut [], &mark(1)), Err(Refused));
        assert_eq!(insert(&mut table, &mark(1)), Ok(()));
        assert_eq!(insert(&mut table, &mark(2)), Ok(()));
        assert_eq!(insert(&mut table, &mark(3)), Err(Refused));
    }
}
