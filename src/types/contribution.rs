//! `dp_contribution`: what a person contributes to a group, as it lies in memory. A varlena of 56 bytes.
//!
//! Nobody can write one down: its input functions refuse, and nothing casts to it. Its output tells nothing, not
//! even by an ERROR, which a row could then raise. And nothing rests on who made one: who reads it brings
//! what it says to where contributions are, see [`Contribution::read`].

use dp_core::encoding::contribution::Contribution;
use dp_core::encoding::grid::{Bounds, STEPS};
use pgrx::pg_sys::{self, Datum};

use crate::pg::errors;
use crate::pg::execution::Running;
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::varlena::length_word;

/// Marks a contribution, and the version of its layout.
const MAGIC: u32 = 0xd9_3a_5e_41;

/// A person's contribution, and the bounds that it was made with.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Sealed {
    header: u32,
    magic: u32,
    lo: f64,
    hi: f64,
    rows: u32,
    /// The most groups that the person is kept in; 0 where nothing bounds that number.
    groups: u32,
    sum: u64,
    /// The sum of squares in two halves: `palloc` aligns to 8 bytes and no more.
    squares: [u64; 2],
}

const _: () = assert!(size_of::<Sealed>() == 56 && align_of::<Sealed>() == 8);

impl Sealed {
    const HEADER: u32 = length_word(size_of::<Self>());

    pub fn new(bounds: &Bounds, contribution: &Contribution) -> Self {
        let squares = contribution.sum_of_squares();
        Self {
            header: Self::HEADER,
            magic: MAGIC,
            lo: bounds.lo(),
            hi: bounds.hi(),
            rows: contribution.rows(),
            groups: 0,
            sum: contribution.sum(),
            squares: [squares as u64, (squares >> 64) as u64],
        }
    }

    /// Likewise, for a person who is kept in at most that many groups.
    #[must_use]
    pub fn in_groups(self, groups: u32) -> Self {
        Self { groups, ..self }
    }

    /// What lies behind a datum, for a call that shares its budget among that many groups; `None` where the bytes are
    /// something else, or of a person who is kept in more. Cannot panic.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    unsafe fn found(datum: Datum, groups: u32) -> Option<Self> {
        let found = datum.cast_mut_ptr::<Self>();
        // SAFETY: a varlena has at least one byte, and an aligned one with this four-byte length word has as
        // many as it says; the check of the address comes first, then of the word, then of what follows it.
        // Any bytes are valid numbers.
        let found = unsafe {
            if !found.is_aligned() || (*found).header != Self::HEADER || (*found).magic != MAGIC {
                return None;
            }
            *found
        };
        (found.groups <= groups).then_some(found)
    }

    /// The contribution behind a datum with its bounds; `None` as for [`found`](Self::found).
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    pub unsafe fn read(datum: Datum, groups: u32) -> Option<(Bounds, Contribution)> {
        // SAFETY: the caller guarantees it.
        let found = unsafe { Self::found(datum, groups) }?;
        let [low, high] = found.squares.map(u128::from);
        let contribution = Contribution::read(found.rows, found.sum, high << 64 | low)?;
        let bounds = Bounds::new(Some(found.lo), Some(found.hi)).ok()?;
        Some((bounds, contribution))
    }

    /// The same where it is one row: the bits of the bounds, and the row's grid steps. Cannot panic.
    ///
    /// # Safety
    /// `datum` is a non-NULL varlena.
    #[inline(always)]
    pub unsafe fn only_row(datum: Datum, groups: u32) -> Option<([u64; 2], i64)> {
        // SAFETY: the caller guarantees it.
        let found = unsafe { Self::found(datum, groups) }?;
        let steps = Contribution::only_row(found.rows, found.sum)?;
        Some(([found.lo, found.hi].map(f64::to_bits), steps))
    }

    /// A copy in the current memory context, as a datum.
    pub fn into_datum(self) -> Datum {
        // SAFETY: palloc gives that many bytes aligned to 8, or raises.
        unsafe {
            let copy = pg_sys::palloc(size_of::<Self>()).cast::<Self>();
            copy.write(self);
            Datum::from(copy)
        }
    }
}

/// `dp_mean.dp_counted(contribution, k, groups)`: which part of `k` rows it represents, from 0 to 1, for a call that
/// shares its budget among that many groups. Of what is no such contribution 0, whatever the bytes are.
fn counted(call: Call) -> Option<Datum> {
    let (most, contribution) = looked_into(call);
    let rows = contribution.map_or(0, |contribution| contribution.rows().min(most));
    pgrx::IntoDatum::into_datum(f64::from(rows) / f64::from(most))
}

sql_function!(dp_counted, counted);

/// `dp_mean.dp_centred(contribution, k, groups)`: the sum of its rows over `k`, each from -1 at the lower bound to 1 at
/// the upper one. Of what is no such contribution 0, whatever the bytes are.
fn centred(call: Call) -> Option<Datum> {
    let (most, contribution) = looked_into(call);
    let sum = contribution.map_or(0, |contribution| {
        2 * i128::from(contribution.sum()) - i128::from(STEPS) * i128::from(contribution.rows())
    });
    let sum = sum as f64 / STEPS as f64 / f64::from(most);
    pgrx::IntoDatum::into_datum(sum.clamp(-1.0, 1.0))
}

sql_function!(dp_centred, centred);

/// The most rows that a call says, and the contribution. These tell nobody what is in them: it refuses all callers but
/// the run of a private query, which only the gate writes.
fn looked_into(call: Call) -> (u32, Option<Contribution>) {
    if !Running::is_under_way() {
        errors::contribution_is_shut();
    }
    let whole = |i: usize| {
        let number = call.datum(i).map(|datum| datum.value() as i64);
        number.and_then(|number| u32::try_from(number).ok())
    };
    let (most, groups) = (whole(1).unwrap_or(0).max(1), whole(2).unwrap_or(0));
    let read = call.datum(0).and_then(|datum| {
        // SAFETY: the SQL declaration makes it a dp_contribution, which is a varlena.
        unsafe { Sealed::read(datum, groups) }
    });
    (most, read.map(|(_, contribution)| contribution))
}

/// Refuses: see [`errors::no_external_contribution`].
fn refuse(_: Call) -> Option<Datum> {
    errors::no_external_contribution()
}

/// The same text for every contribution.
fn output(_: Call) -> Option<Datum> {
    // SAFETY: pstrdup copies the string into PostgreSQL's memory.
    Some(Datum::from(unsafe { pg_sys::pstrdup(c"sealed".as_ptr()) }))
}

fn send(_: Call) -> Option<Datum> {
    pgrx::IntoDatum::into_datum(b"sealed".as_slice())
}

sql_function!(dp_contribution_in, refuse);
sql_function!(dp_contribution_out, output);
sql_function!(dp_contribution_recv, refuse);
sql_function!(dp_contribution_send, send);
