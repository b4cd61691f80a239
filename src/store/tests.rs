//! Answers of all lengths, what goes for them, and what is damaged. The store is emptied by each check, until it ends.

use std::time::Duration;

use pgrx::pg_sys::BlockNumber;
use pgrx::pg_test;

use crate::pg::test_helpers::sql;
use crate::store::cache::{self, MOST_PAGES, PART_BYTES};
use crate::store::format::{self, Part};
use crate::store::pages::{CONTENT, Pages};
use crate::store::{Key, LONGEST, MOST_BYTES, find, keep};

const HOUR: Duration = Duration::from_hours(1);

fn key(number: u64) -> Key {
    let mut key = [7; 32];
    key[..8].copy_from_slice(&number.to_ne_bytes());
    Key(key)
}

/// That many bytes, which hang on the number.
fn answer(number: u64, length: usize) -> Vec<u8> {
    let bytes = (0..length as u64).map(|i| (number.wrapping_mul(31) ^ i ^ (i >> 8)) as u8);
    bytes.collect()
}

/// The store, empty until the transaction ends, and then as before.
fn emptied() -> Pages {
    sql("TRUNCATE dp_mean.answer");
    Pages::open_to_write().expect("the store")
}

#[pg_test]
fn an_answer_of_any_length_is_found() {
    let kept = emptied();
    assert_eq!(find(&key(0)), None);
    assert_eq!(kept.pages(), 0);
    let lengths = [
        0,
        1,
        100,
        PART_BYTES - 1,
        PART_BYTES,
        PART_BYTES + 1,
        100_000,
        MOST_BYTES,
    ];
    for (number, length) in (0..).zip(lengths) {
        keep(&key(number), &answer(number, length), HOUR);
        assert_eq!(find(&key(number)), Some(answer(number, length)), "{length}");
    }
    for (number, length) in (0..).zip(lengths) {
        assert_eq!(find(&key(number)), Some(answer(number, length)), "{length}");
    }
    assert_eq!(find(&key(99)), None);
    let pages = kept.pages();
    keep(&key(99), &answer(99, MOST_BYTES + 1), HOUR);
    keep(&key(99), b"at once too old", Duration::ZERO);
    assert_eq!((find(&key(99)), kept.pages()), (None, pages));
}

#[pg_test]
fn an_answer_is_followed_by_another() {
    let kept = emptied();
    for length in [10, 50_000, 20_000, 3, PART_BYTES] {
        keep(&key(1), &answer(length as u64, length), HOUR);
        assert_eq!(find(&key(1)), Some(answer(length as u64, length)));
    }
    assert!(kept.pages() <= 32, "{}", kept.pages());
}

#[pg_test]
fn an_answer_expires() {
    let kept = emptied();
    let (now, hour) = (1_000_000_000_000, 3_600_000_000);
    for length in [5, 30_000] {
        let (key, answer) = (key(length as u64), answer(1, length));
        cache::keep(&kept, &key, &answer, now, now + hour).expect("room");
        for ahead in [-1_000_000, 0, 1, hour - 1] {
            let found = cache::find(&kept, &key, now + ahead);
            assert_eq!(found.as_ref(), Some(&answer), "{ahead}");
        }
        for ahead in [hour, hour + 1, 100 * hour, i64::MAX - now] {
            assert_eq!(cache::find(&kept, &key, now + ahead), None, "{ahead}");
        }
        // A clock that was wrong when it was kept.
        let year = i64::try_from(LONGEST.as_micros()).expect("a year");
        assert_eq!(cache::find(&kept, &key, now + hour - year - 1), None);
        assert_eq!(cache::find(&kept, &key, i64::MIN), None);
    }
    // What has expired makes room.
    for i in 0..50 {
        let now = now + 2 * i * hour;
        cache::keep(&kept, &key(100), &answer(1, 30_000), now, now + hour).expect("room");
    }
    assert!(kept.pages() <= 16, "{}", kept.pages());
}

#[pg_test]
fn two_answers_share_a_page() {
    let kept = emptied();
    for i in 0..40 {
        keep(&key(i), &answer(i, 100), HOUR);
    }
    assert_eq!(kept.pages(), 1);
    for i in 0..40 {
        assert_eq!(find(&key(i)), Some(answer(i, 100)));
    }
}

/// A part of an answer on a page of its own.
fn part<'a>(key: &'a Key, number: u64, until: i64, bytes: &'a [u8]) -> Part<'a> {
    Part {
        key: &key.0,
        answer: number,
        until,
        number: 0,
        of: 1,
        bytes,
    }
}

#[pg_test]
fn the_oldest_go_from_a_full_page() {
    let keys: Vec<Key> = (0..9).map(key).collect();
    let bytes = answer(1, 2000);
    let mut page = vec![0; CONTENT];
    let found = |page: &[u8]| {
        let there = |key: &&Key| format::find(page, |part| part.is(key, 0)).is_some();
        let there = keys.iter().enumerate().filter(|(_, key)| there(key));
        there.map(|(i, _)| i).collect::<Vec<_>>()
    };
    // Three of them fit.
    for i in [0, 1, 2] {
        assert!(format::add(
            &mut page,
            &part(&keys[i], i as u64, 50, &bytes),
            10,
            false
        ));
    }
    assert_eq!(found(&page), [0, 1, 2]);
    let before = page.clone();
    assert!(!format::add(
        &mut page,
        &part(&keys[3], 3, 99, &bytes),
        10,
        false
    ));
    assert_eq!(page, before);
    assert!(format::add(
        &mut page,
        &part(&keys[3], 3, 99, &bytes),
        10,
        true
    ));
    assert_eq!(found(&page), [1, 2, 3]);
    // Those of the same answer stay.
    assert!(format::add(
        &mut page,
        &part(&keys[4], 1, 99, &bytes),
        10,
        true
    ));
    assert_eq!(found(&page), [1, 3, 4]);
    assert!(!format::add(
        &mut page,
        &part(&keys[5], 1, 99, &answer(1, 5000)),
        10,
        true
    ));
    assert_eq!(found(&page), [1, 3, 4]);
    // The one that has expired goes, and no other.
    assert!(format::add(
        &mut page,
        &part(&keys[6], 6, 99, &bytes),
        60,
        true
    ));
    assert_eq!(found(&page), [3, 4, 6]);
    assert!(format::remove(&mut page, &keys[4]));
    assert_eq!(found(&page), [3, 6]);
    // No page has room for more than it has.
    let most = format::most_bytes(CONTENT);
    let (all, more) = (answer(2, most), answer(2, most + 1));
    assert!(!format::add(
        &mut page,
        &part(&keys[7], 8, 99, &more),
        60,
        true
    ));
    assert!(format::add(
        &mut page,
        &part(&keys[7], 8, 99, &all),
        60,
        true
    ));
    assert_eq!(found(&page), [7]);
}

#[pg_test]
fn what_is_damaged_is_not_there() {
    let keys = [key(1), key(2)];
    let bytes = [answer(1, 300), answer(2, 200)];
    let mut page = vec![0; CONTENT];
    for i in [0, 1] {
        assert!(format::add(
            &mut page,
            &part(&keys[i], i as u64, 99, &bytes[i]),
            10,
            false
        ));
    }
    let used = 8 + (64 + 300) + (64 + 200);
    assert!(page[used..].iter().all(|byte| *byte == 0));
    for (at, bit) in (0..used).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut damaged = page.clone();
        damaged[at] ^= 1 << bit;
        let found = [0, 1].map(|i| {
            let found = format::find(&damaged, |part| part.is(&keys[i], 0) && part.is_fresh(10));
            found.map(|part| part.bytes.to_vec())
        });
        // The one that was hit is not there, and the other is, or is not found behind it.
        let hit = usize::from(at >= 8 + 64 + 300);
        if at >= 8 {
            assert_eq!(found[hit], None, "{at} {bit}");
        }
        for i in [0, 1] {
            assert!(
                found[i].as_ref().is_none_or(|found| *found == bytes[i]),
                "{at} {bit}"
            );
        }
        // It can be written to.
        let again = part(&keys[0], 9, 99, &bytes[1]);
        assert!(format::add(&mut damaged, &again, 10, true), "{at} {bit}");
        let found = format::find(&damaged, |part| part.is(&keys[0], 0));
        assert_eq!(found, Some(again), "{at} {bit}");
    }
    // Nor is what was never a page of the store.
    for noise in 0..2000 {
        let mut noisy = answer(noise, CONTENT);
        noisy[..6].copy_from_slice(&page[..6]);
        assert_eq!(format::find(&noisy, |_| true), None);
        assert!(format::room(&noisy, 10) <= CONTENT);
        assert!(format::add(
            &mut noisy,
            &part(&keys[0], 9, 99, &bytes[0]),
            10,
            true
        ));
    }
}

#[pg_test]
fn a_byte_that_changes_on_a_page_is_noticed() {
    let kept = emptied();
    keep(&key(1), &answer(1, 60_000), HOUR);
    assert_eq!(find(&key(1)), Some(answer(1, 60_000)));
    for page in 0..kept.pages() {
        let flip = |at: usize| {
            kept.change(page, |content| {
                content[at] ^= 1;
                true
            })
        };
        // A page that was never written to has nothing to change.
        let holds = kept.look(page, |content| content[8..].iter().any(|byte| *byte != 0));
        for at in [0, 8, 40, 45, 50, 63, 64, 100, 1000] {
            if holds == Some(true) {
                assert!(flip(at));
                assert_eq!(find(&key(1)), None, "{page} {at}");
                assert!(flip(at));
                assert_eq!(find(&key(1)), Some(answer(1, 60_000)));
            }
        }
    }
}

#[pg_test]
fn a_change_that_is_none_leaves_the_page() {
    let kept = emptied();
    kept.lengthen(2);
    assert_eq!(kept.pages(), 2);
    assert_eq!(kept.look(0, |_| ()), None);
    assert!(!kept.change(0, |content| {
        content.fill(1);
        false
    }));
    assert_eq!(kept.look(0, |_| ()), None);
    kept.lengthen(1);
    assert_eq!(kept.pages(), 2);
}

#[pg_test]
fn rows_of_others_are_left_alone() {
    let kept = emptied();
    let lengths = "generate_series(1, 8100, 100) n";
    sql(&format!(
        "INSERT INTO dp_mean.answer SELECT repeat('x', n)::bytea FROM {lengths}"
    ));
    let foreign = kept.pages();
    for i in 0..200 {
        keep(&key(i), &answer(i, 5000), HOUR);
        assert_eq!(find(&key(i)), Some(answer(i, 5000)), "{i}");
    }
    let there = "SELECT count(*) FROM dp_mean.answer WHERE length(page) <= 8100";
    assert_eq!(pgrx::Spi::get_one::<i64>(there), Ok(Some(81)));
    assert!(kept.pages() > foreign);
}

/// Long answers, whose parts fill a page each, while most of the table is empty.
#[pg_test]
fn a_part_finds_room_while_there_is_much() {
    let kept = emptied();
    for i in 0..150 {
        keep(&key(i), &answer(i, 100_000), HOUR);
    }
    let lost = (0..150).filter(|i| find(&key(*i)) != Some(answer(*i, 100_000)));
    assert_eq!(lost.count(), 0);
    assert!(kept.pages() < MOST_PAGES);
}

#[pg_test]
fn the_store_is_bounded() {
    let kept = emptied();
    let length = |i: u64| (i % 700) as usize;
    for i in 0..200_000 {
        keep(&key(i), &answer(i, length(i)), HOUR);
        assert_eq!(find(&key(i)), Some(answer(i, length(i))), "{i}");
        // Now and then a long one, whose parts must not push one another out.
        if i % 5000 == 0 {
            let long = key(u64::MAX - i);
            keep(&long, &answer(i, MOST_BYTES), HOUR);
            assert_eq!(find(&long), Some(answer(i, MOST_BYTES)), "{i}");
        }
    }
    assert_eq!(kept.pages(), MOST_PAGES);
    // It is used well: most of what fits is there, and nearly all that is new.
    let there = |range: std::ops::Range<u64>| range.filter(|i| find(&key(*i)).is_some()).count();
    let (all, new) = (there(0..200_000), there(199_000..200_000));
    assert!(all > 100_000 && new > 980, "{all}, {new}");
    let used = (0..kept.pages()).map(|page: BlockNumber| {
        let free = kept.look(page, |content| format::room(content, super::now()));
        CONTENT - free.unwrap_or(CONTENT)
    });
    let used = used.sum::<usize>() as f64 / (CONTENT * MOST_PAGES as usize) as f64;
    assert!(used > 0.8, "{used}");
}
