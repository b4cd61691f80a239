//! `dp_groups`: the groups that are kept of a person, as the state of the aggregate has them. And `dp_part`: a value
//! of a row with the rule by which it becomes part of a contribution, as it goes from `dp_part` and its like into
//! `dp_groups`.
//!
//! As with `dp_contribution`, nobody can write one down, and the output tells nothing.

use pgrx::pg_sys::{self, Datum, FunctionCallInfo};

use crate::pg::errors;
use crate::pg::fmgr::{Call, argument, float8, plain_function, sql_function};
use crate::pg::memory::unguarded_place;
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

    #[inline(always)]
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

    /// # Safety
    /// As [`unguarded_place`].
    #[inline(always)]
    unsafe fn into_datum(self) -> Datum {
        // SAFETY: the caller guarantees it.
        unsafe {
            let place = unguarded_place::<Self>();
            place.write(self);
            Datum::from(place)
        }
    }
}

/// Argument `i`, a float8.
///
/// # Safety
/// As [`argument`].
#[inline(always)]
unsafe fn number(fcinfo: FunctionCallInfo, i: usize) -> Option<f64> {
    // SAFETY: the caller guarantees it.
    let argument = unsafe { argument(fcinfo, i) };
    (!argument.isnull).then(|| float8(argument.value))
}

/// Argument `i`, a bigint, as a number of rows: 0 for what cannot be one.
///
/// # Safety
/// As [`argument`].
#[inline(always)]
unsafe fn rows(fcinfo: FunctionCallInfo, i: usize) -> u32 {
    // SAFETY: the caller guarantees it.
    let argument = unsafe { argument(fcinfo, i) };
    let rows = if argument.isnull {
        0
    } else {
        argument.value.value() as i64
    };
    u32::try_from(rows).unwrap_or(0)
}

/// `dp_part(x, lo, hi, k)`
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function with these arguments.
#[inline(always)]
unsafe fn part(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: four arguments; nothing here is owned.
    unsafe {
        let [x, lo, hi] = [number(fcinfo, 0), number(fcinfo, 1), number(fcinfo, 2)];
        Part::new(x, lo, hi, rows(fcinfo, 3), false).into_datum()
    }
}

/// `dp_part_sum(x, lo, hi)`
///
/// # Safety
/// As [`part`].
#[inline(always)]
unsafe fn part_sum(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: three arguments; nothing here is owned.
    unsafe {
        let [x, lo, hi] = [number(fcinfo, 0), number(fcinfo, 1), number(fcinfo, 2)];
        Part::new(x, lo, hi, 1, true).into_datum()
    }
}

/// `dp_part_rows(k)`: the row itself.
///
/// # Safety
/// As [`part`].
#[inline(always)]
unsafe fn part_rows(fcinfo: FunctionCallInfo) -> Datum {
    // SAFETY: one argument; nothing here is owned.
    unsafe { Part::new(Some(1.0), Some(0.0), Some(1.0), rows(fcinfo, 0), false).into_datum() }
}

plain_function!(dp_part, part);
plain_function!(dp_part_sum, part_sum);
plain_function!(dp_part_rows, part_rows);

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

sql_function!(dp_groups_in, refuse);
sql_function!(dp_groups_out, output);
sql_function!(dp_groups_recv, refuse);
sql_function!(dp_groups_send, send);
