//! Where the parts of an answer lie, and which of them go.
//!
//! The pages are levels: page 0, page 1, pages 2 and 3, pages 4 to 7, each level as long as all before it. On each
//! level a part has two pages that it may lie on, by hashes of its key. It goes where there is room; where there is
//! none, the table gets a level more, and at its full length the oldest parts of one of those pages go. With one page
//! for each part, all of them are full now and then while most of the table is empty.

use dp_core::encoding::bitmap;
use dp_core::memory;
use pgrx::pg_sys::{self, BlockNumber};

use crate::store::format::{self, Part};
use crate::store::key::{Key, MOST_BYTES};
use crate::store::pages::{CONTENT, Pages};

/// The most pages: 64 MB.
pub const MOST_PAGES: BlockNumber = 8192;

/// How many levels these are.
const LEVELS: u32 = MOST_PAGES.ilog2() + 1;

/// The most bytes of a part.
pub const PART_BYTES: usize = format::most_bytes(CONTENT);

/// On how many pages of a level a part may lie.
const CHOICES: u32 = 2;

/// One of the pages of a level that a part may lie on.
fn home(key: &Key, part: u16, level: u32, choice: u32) -> BlockNumber {
    let salt = u64::from(part) << 16 | u64::from(level << 8 | choice);
    let hash = bitmap::of_word(bitmap::of_bytes(&key.0) ^ bitmap::of_word(salt));
    match level {
        0 => 0,
        // The first page of the level, and as many bits of the hash as tell its pages apart.
        _ => 1 << (level - 1) | (hash >> 32) as BlockNumber & ((1 << (level - 1)) - 1),
    }
}

/// The pages that a part may lie on in a table of full length, those of short levels first.
fn all_homes(key: &Key, part: u16) -> impl DoubleEndedIterator<Item = BlockNumber> {
    (0..LEVELS)
        .flat_map(move |level| (0..CHOICES).map(move |choice| home(key, part, level, choice)))
}

/// Those of a table of this length, those of long levels first: most parts are there.
fn homes(key: &Key, part: u16, pages: BlockNumber) -> impl Iterator<Item = BlockNumber> {
    all_homes(key, part).rev().filter(move |page| *page < pages)
}

/// The answer to a question.
pub fn find(kept: &Pages, key: &Key, now: i64) -> Option<Vec<u8>> {
    let pages = kept.pages();
    let mut answer = memory::vector(PART_BYTES, []);
    homes(key, 0, pages).find_map(|page| {
        answer.clear();
        let (number, parts) = kept.look(page, |content| {
            let first = format::find(content, |part| part.is(key, 0) && part.is_fresh(now))?;
            answer.extend_from_slice(first.bytes);
            Some((first.answer, first.of))
        })??;
        if parts > 1 {
            let first = std::mem::take(&mut answer);
            let length = (usize::from(parts) * PART_BYTES).min(MOST_BYTES);
            answer = memory::vector(length, first);
        }
        let is_there = (1..parts).all(|i| {
            homes(key, i, pages).any(|page| {
                let found = kept.look(page, |content| {
                    let is_next =
                        |part: &Part| part.is(key, i) && part.answer == number && part.of == parts;
                    let next = format::find(content, is_next)?;
                    // Nothing is longer that was kept.
                    let fits = answer.len() + next.bytes.len() <= answer.capacity();
                    fits.then(|| answer.extend_from_slice(next.bytes))
                });
                found.flatten().is_some()
            })
        });
        is_there.then(|| std::mem::take(&mut answer))
    })
}

/// Keeps an answer in the place of the one before, the first part last: nobody finds one that lacks a part.
/// `None` if there is no room.
pub fn keep(kept: &Pages, key: &Key, answer: &[u8], now: i64, until: i64) -> Option<()> {
    let number = random()?;
    for page in homes(key, 0, kept.pages()) {
        let is_there = |content: &[u8]| format::find(content, |part| part.is(key, 0)).is_some();
        if kept.look(page, is_there) == Some(true) {
            kept.change(page, |content| format::remove(content, key));
        }
    }
    let chunks = || answer.chunks(PART_BYTES);
    let of = u16::try_from(chunks().len().max(1)).ok()?;
    for i in (0..of).rev() {
        let part = Part {
            key: &key.0,
            answer: number,
            until,
            number: i,
            of,
            bytes: chunks().nth(i.into()).unwrap_or_default(),
        };
        put(kept, key, &part, now)?;
    }
    Some(())
}

fn put(kept: &Pages, key: &Key, part: &Part, now: i64) -> Option<()> {
    let pages = kept.pages();
    let homes = || homes(key, part.number, pages);
    let add =
        |page, evicting| kept.change(page, |content| format::add(content, part, now, evicting));
    let has_room = |page: &BlockNumber| {
        let room = kept.look(*page, |content| format::room(content, now));
        room.is_none_or(|room| room >= part.size())
    };
    if homes().filter(has_room).any(|page| add(page, false)) {
        return Some(());
    }
    let longer = all_homes(key, part.number).filter(|page| *page >= pages);
    for page in longer {
        kept.lengthen(page + 1);
        if add(page, false) {
            return Some(());
        }
    }
    // Each page of the table as often as the others.
    let any = bitmap::of_word(part.answer.wrapping_add(part.number.into()));
    let level = (any % u64::from(MOST_PAGES)).checked_ilog2();
    let level = level.map_or(0, |log| log + 1);
    let first = home(key, part.number, level, 0);
    let mut all = std::iter::once(first).chain(homes());
    all.any(|page| add(page, true)).then_some(())
}

/// The number of a new answer.
fn random() -> Option<u64> {
    let mut bytes = [0; 8];
    // SAFETY: it fills that many bytes.
    let is_random = unsafe { pg_sys::pg_strong_random(bytes.as_mut_ptr().cast(), bytes.len()) };
    is_random.then(|| u64::from_ne_bytes(bytes))
}
