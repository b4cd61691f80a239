//! `dp_groups`: the groups that are kept of a person, as the state of the aggregate has them. And `dp_part`: a value
//! of a row with the rule by which it becomes part of a contribution, as it goes from `dp_part` and its like into
//! `dp_groups`.
//!
//! As with `dp_contribution`, nobody can write one down, and the output tells nothing.

use pgrx::pg_sys::{self, Datum};

use crate::pg::errors;
use crate::pg::fmgr::{Call, float8, sql_function};
use crate::pg::varlena::length_word;

/// Marks the part of a contribution, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_61;

/// A value of a row, and the rule by which values become a contribution.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Part {
    header: u32,
    magic: u32,
    /// NaN where there is no value.
    pub x: f64,
    pub lo: f64,
    pub hi: f64,
    /// The most rows; 0 where it is NULL, or no number of rows.
    pub k: u32,
    /// Whether the total of the rows counts: 0 or 1.
    total: u32,
}

const _: () = assert!(size_of::<Part>() == 40 && align_of::<Part>() == 8);

impl Part {
    const HEADER: u32 = length_word(size_of::<Self>());

    fn new(x: Option<f64>, lo: Option<f64>, hi: Option<f64>, k: u32, total: bool) -> Self {
        Self {
            header: Self::HEADER,
            magic: MAGIC,
            x: x.unwrap_or(f64::NAN),
            lo: lo.unwrap_or(f64::NAN),
            hi: hi.unwrap_or(f64::NAN),
            k,
            total: u32::from(total),
        }
    }

    /// Whether the total of the rows counts.
    pub fn is_total(&self) -> bool {
        self.total != 0
    }

    /// The part behind a datum, or `None` where the bytes are something else.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    pub unsafe fn read(datum: Datum) -> Option<Self> {
        let found = datum.cast_mut_ptr::<Self>();
        // SAFETY: as in `Sealed::read`.
        unsafe {
            let is_one =
                found.is_aligned() && (*found).header == Self::HEADER && (*found).magic == MAGIC;
            is_one.then(|| *found)
        }
    }

    fn into_datum(self) -> Datum {
        // SAFETY: palloc gives so many bytes aligned to 8, or raises.
        unsafe {
            let copy = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            copy.write(self);
            Datum::from(copy)
        }
    }
}

/// Argument `i`, a bigint, as a number of rows: 0 for what cannot be one.
fn rows(call: Call, i: usize) -> u32 {
    let rows = call.datum(i).map_or(0, |datum| datum.value() as i64);
    u32::try_from(rows).unwrap_or(0)
}

/// `dp_part(x, lo, hi, k)`
fn part(call: Call) -> Option<Datum> {
    let [x, lo, hi] = [0, 1, 2].map(|i| call.datum(i).map(float8));
    Some(Part::new(x, lo, hi, rows(call, 3), false).into_datum())
}

/// `dp_part_sum(x, lo, hi)`
fn part_sum(call: Call) -> Option<Datum> {
    let [x, lo, hi] = [0, 1, 2].map(|i| call.datum(i).map(float8));
    Some(Part::new(x, lo, hi, 1, true).into_datum())
}

/// `dp_part_rows(k)`: the row itself.
fn part_rows(call: Call) -> Option<Datum> {
    let [one, lo, hi] = [1.0, 0.0, 1.0].map(Some);
    Some(Part::new(one, lo, hi, rows(call, 0), false).into_datum())
}

sql_function!(dp_part, pg_finfo_dp_part, part);
sql_function!(dp_part_sum, pg_finfo_dp_part_sum, part_sum);
sql_function!(dp_part_rows, pg_finfo_dp_part_rows, part_rows);

/// Refuses: see [`errors::no_external_groups`].
fn refuse(_: Call) -> Option<Datum> {
    errors::no_external_groups()
}

/// The same text for all.
fn output(_: Call) -> Option<Datum> {
    // SAFETY: pstrdup copies the string into PostgreSQL's memory.
    Some(Datum::from(unsafe { pg_sys::pstrdup(c"sealed".as_ptr()) }))
}

fn send(_: Call) -> Option<Datum> {
    pgrx::IntoDatum::into_datum(b"sealed".as_slice())
}

sql_function!(dp_groups_in, pg_finfo_dp_groups_in, refuse);
sql_function!(dp_groups_out, pg_finfo_dp_groups_out, output);
sql_function!(dp_groups_recv, pg_finfo_dp_groups_recv, refuse);
sql_function!(dp_groups_send, pg_finfo_dp_groups_send, send);
