//! Arrays as PostgreSQL stores them.

use pgrx::pg_sys::{self, Datum, varlena};
use pgrx::pg_test;
use pgrx::varlena::{varatt_is_1b, varatt_is_4b_u};

use crate::pg::array::Array;
use crate::pg::test_helpers::{sql, stored};

/// The numbers of an array of `float8`, the first `most`.
fn numbers(datum: Datum, most: usize) -> Option<Vec<Option<f64>>> {
    // SAFETY: an array of float8 that lives.
    unsafe { Some(Array::of(datum)?.numbers(most).collect()) }
}

/// The only value of a query, with a header of 4 bytes: what a function gets.
fn plain(query: &str) -> Datum {
    // SAFETY: a varlena that lives; what is made of it lives as long as the call from SQL.
    unsafe { Datum::from(pg_sys::pg_detoast_datum(stored(query).cast_mut_ptr())) }
}

/// The array, as a table stores it.
fn in_a_row(kind: &str, value: &str) -> Datum {
    sql(&format!(
        "DROP TABLE IF EXISTS arrays; CREATE TABLE arrays (a {kind}); INSERT INTO arrays SELECT {value}"
    ));
    stored("SELECT a FROM arrays")
}

fn is_short(datum: Datum) -> bool {
    // SAFETY: a varlena that lives.
    unsafe { varatt_is_1b(datum.cast_mut_ptr::<varlena>()) }
}

fn is_plain(datum: Datum) -> bool {
    // SAFETY: the same.
    unsafe { varatt_is_4b_u(datum.cast_mut_ptr::<varlena>()) }
}

#[pg_test]
fn a_plain_array_is_read() {
    let datum = plain("SELECT ARRAY[1.5, '-0', 'Infinity', 5e-324]::float8[]");
    assert!(is_plain(datum));
    let all = [1.5, -0.0, f64::INFINITY, 5e-324].map(Some);
    let found = numbers(datum, 9).expect("a plain array");
    let bits = |all: &[Option<f64>]| Vec::from_iter(all.iter().map(|x| x.map(f64::to_bits)));
    assert_eq!(bits(&found), bits(&all));
    for most in 0..=4 {
        assert_eq!(numbers(datum, most).map(|found| found.len()), Some(most));
    }
}

#[pg_test]
fn a_short_header_is_read_at_any_address() {
    let datum = in_a_row("float8[]", "ARRAY[1, NULL, 3]");
    assert!(is_short(datum));
    let all = [Some(1.0), None, Some(3.0)];
    assert_eq!(numbers(datum, 9).as_deref(), Some(&all[..]));
    // SAFETY: a short varlena of that many bytes, copied to addresses that are not aligned.
    unsafe {
        let size = pgrx::varlena::varsize_any(datum.cast_mut_ptr());
        for offset in 0..8 {
            let mut room = vec![0u64; size / 8 + 3];
            let place = room.as_mut_ptr().cast::<u8>().add(offset);
            place.copy_from_nonoverlapping(datum.cast_mut_ptr(), size);
            let found = numbers(Datum::from(place), 9);
            assert_eq!(found.as_deref(), Some(&all[..]), "{offset}");
        }
    }
}

#[pg_test]
fn nulls_take_no_room_among_the_elements() {
    for count in [1, 7, 8, 9, 16, 17, 100] {
        for every in [1, 2, 3, 8] {
            let value = format!(
                "SELECT array_agg(CASE WHEN i % {every} <> 0 THEN i::float8 END ORDER BY i)
                 FROM generate_series(1, {count}) i"
            );
            let expected: Vec<_> = (1..=count)
                .map(|i| (i % every != 0).then_some(f64::from(i)))
                .collect();
            assert_eq!(
                numbers(plain(&value), 1000).as_ref(),
                Some(&expected),
                "{count} {every}"
            );
            assert_eq!(
                numbers(stored(&value), 1000),
                Some(expected),
                "{count} {every}"
            );
        }
    }
}

#[pg_test]
fn several_dimensions_are_read_in_their_order() {
    let datum = stored("SELECT '{{{1,2},{3,4}},{{5,6},{7,8}}}'::float8[]");
    let all: Vec<_> = (1..=8).map(|i| Some(f64::from(i))).collect();
    assert_eq!(numbers(datum, 99), Some(all));
    let datum = stored("SELECT '[5:6][-1:1]={{1,2,NULL},{4,5,6}}'::float8[]");
    let all = [1.0, 2.0, 0.0, 4.0, 5.0, 6.0].map(|x| (x != 0.0).then_some(x));
    assert_eq!(numbers(datum, 99).as_deref(), Some(&all[..]));
}

#[pg_test]
fn no_elements_are_no_elements() {
    for datum in [plain("SELECT '{}'::float8[]"), in_a_row("float8[]", "'{}'")] {
        assert_eq!(numbers(datum, 9), Some(Vec::new()));
    }
}

#[pg_test]
fn compressed_ones_are_made_plain_first() {
    let datum = in_a_row("float8[]", "array_fill(7::float8, ARRAY[2000])");
    assert!(!is_plain(datum) && !is_short(datum));
    assert!(numbers(datum, 9).is_none());
    // SAFETY: an array of float8 that lives.
    let all: Vec<_> = unsafe { Array::detoasted(datum).numbers(9999).collect() };
    assert_eq!(all, vec![Some(7.0); 2000]);
}

#[pg_test]
fn those_stored_elsewhere_are_fetched_first() {
    sql(
        "CREATE TABLE outside (a float8[]); ALTER TABLE outside ALTER a SET STORAGE EXTERNAL;
         INSERT INTO outside SELECT array_agg(i ORDER BY i) FROM generate_series(1, 3000) i",
    );
    let datum = stored("SELECT a FROM outside");
    assert!(numbers(datum, 9).is_none());
    // SAFETY: the same.
    let all: Vec<_> = unsafe { Array::detoasted(datum).numbers(9999).collect() };
    assert_eq!(all, Vec::from_iter((1..=3000).map(|i| Some(f64::from(i)))));
}

#[pg_test]
fn booleans_are_bytes() {
    // SAFETY: arrays of booleans that live.
    unsafe {
        let array = |value: &str| Array::of(plain(value)).expect("a plain array");
        let all = array("SELECT ARRAY[true, false, true]");
        assert_eq!(all.bytes(9), Some(&[1, 0, 1][..]));
        assert_eq!(all.bytes(2), Some(&[1, 0][..]));
        assert!(all.bytes_or_zeros(9).eq([1, 0, 1]));
        let some =
            array("SELECT ARRAY[true, NULL, false, NULL, NULL, true, true, true, NULL, true]");
        assert_eq!(some.bytes(9), None);
        assert!(some.bytes_or_zeros(99).eq([1, 0, 0, 0, 0, 1, 1, 1, 0, 1]));
        assert!(some.bytes_or_zeros(6).eq([1, 0, 0, 0, 0, 1]));
        assert!(
            array("SELECT '{}'::boolean[]")
                .bytes_or_zeros(9)
                .next()
                .is_none()
        );
    }
}

#[pg_test]
fn expanded_ones_are_made_plain_first() {
    // SAFETY: an array of float8 that lives, and the same expanded in memory.
    unsafe {
        let flat = plain("SELECT ARRAY[1, 2]::float8[]");
        let expanded =
            pg_sys::expand_array(flat, pg_sys::CurrentMemoryContext, std::ptr::null_mut());
        assert!(Array::of(expanded).is_none());
        assert!(
            Array::detoasted(expanded)
                .numbers(9)
                .eq([Some(1.0), Some(2.0)])
        );
    }
}
