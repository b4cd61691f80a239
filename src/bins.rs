//! What the aggregates that count each row in one bin share. As in `aggregate.rs`, the per-row
//! functions run unguarded and leave everything but the plain case to a guarded one.

use dp_core::encoding::buckets::Buckets;
use dp_core::encoding::magnitudes::{self, BINS};
use dp_core::encoding::sides::{SIDES, side};
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::bounds::geometric::BoundsFinder;
use dp_core::mechanism::clamped::geometric::Clamped;
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::histogram::geometric::Histogram;
use dp_core::mechanism::vector::items::Rows;
use pgrx::pg_sys::{Datum, FunctionCallInfo, NullableDatum};

use crate::aggregate::{Aggregate, value};
use crate::call_site::CallSite;
use crate::errors::Refusal;
use crate::fmgr::{self, Call, argument, float8};
use crate::plan::Role;
use crate::release::release;
use crate::vector_state::{Kind, Layout, VectorState};

/// A mechanism of counts, of which each row is in one.
pub trait Binned: Mechanism<Totals> {
    /// What the state holds.
    fn layout(&self) -> Layout;

    /// The bin of a row in a state with such a layout; `None` where it is in none. Of its own, and not
    /// chosen by the layout's kind alone, so that each per-row function has no more than it needs.
    /// Cannot panic: the hot path calls it for each row.
    fn bin(layout: &Layout, x: f64) -> Option<usize>;
}

impl Binned for Histogram {
    fn layout(&self) -> Layout {
        let kind = if self.drops() {
            Kind::BucketsWithin
        } else {
            Kind::Buckets
        };
        let count = self.buckets().count();
        Layout::new(kind, one_of(count), Some(self.buckets().grid()))
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        let buckets = Buckets::of(*layout.grid(), layout.length());
        if layout.kind() == Kind::BucketsWithin {
            buckets.bucket_within(x)
        } else {
            Some(buckets.bucket(x))
        }
    }
}

impl Binned for BoundsFinder {
    fn layout(&self) -> Layout {
        Layout::new(Kind::Magnitudes, one_of(BINS), None)
    }

    #[inline(always)]
    fn bin(_layout: &Layout, x: f64) -> Option<usize> {
        Some(magnitudes::bin(x))
    }
}

impl Binned for Clamped {
    fn layout(&self) -> Layout {
        Layout::new(Kind::Sides, one_of(SIDES), self.grid())
    }

    #[inline(always)]
    fn bin(layout: &Layout, x: f64) -> Option<usize> {
        Some(side(layout.grid(), x))
    }
}

/// Rows that are in one of so many bins.
fn one_of(length: usize) -> Rows {
    Rows { length, most: 1 }
}

impl<M: Binned> Aggregate<M> {
    /// What a transition function does beyond the plain case: the first row of a group, and
    /// everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let layout = CallSite::with(call, Role::Transition, self, |site| {
            Ok(site.mechanism_of_row(call)?.layout())
        })?;
        let mut state = match call.datum(0) {
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            Some(datum) => unsafe { self.vector_state(datum, &layout) }?,
            // The executor copies it into the aggregate's own memory.
            None => VectorState::new(layout),
        };
        count::<M>(&mut state, value(call));
        Ok(state.into_datum())
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn release(&'static self, call: Call) -> M::Answer {
        CallSite::with(call, Role::Final, self, |site| {
            let mechanism = site.mechanism_of_plan()?;
            let layout = mechanism.layout();
            let totals = match call.datum(0) {
                // SAFETY: the SQL declaration makes argument 0 a dp_state.
                Some(datum) => unsafe { self.vector_state(datum, &layout) }?.totals(),
                None => Totals::new(layout.length()),
            };
            Ok(release(mechanism, &totals))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

/// The transition function of histograms, `(state, x, lo, hi, buckets, ...)`: NULL and NaN are
/// ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8,
/// int4, ...)`.
#[inline(always)]
pub unsafe fn add_to_bucket(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi, buckets] = [2, 3, 4].map(|i| argument(fcinfo, i).value.value());
            matches!(layout.kind(), Kind::Buckets | Kind::BucketsWithin)
                && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
                && layout.length() == buckets as u32 as usize
        };
        let [state, x] = [argument(fcinfo, 0), argument(fcinfo, 1)];
        add_to_bin::<Histogram>(fcinfo, [state, x], as_called, rest)
    }
}

/// The transition function of bounds, `(state, x, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, ...)`.
#[inline(always)]
pub unsafe fn add_to_magnitude(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration.
    unsafe {
        let [state, x] = [argument(fcinfo, 0), argument(fcinfo, 1)];
        let as_called = |layout: &Layout| layout.kind() == Kind::Magnitudes;
        add_to_bin::<BoundsFinder>(fcinfo, [state, x], as_called, rest)
    }
}

/// The transition function of what clamping does, `(state, x, lo, hi, ...)`: NULL and NaN are ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, float8, float8, ...)`.
#[inline(always)]
pub unsafe fn add_to_side(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let as_called = |layout: &Layout| {
            let [lo, hi] = [2, 3].map(|i| argument(fcinfo, i).value.value());
            layout.kind() == Kind::Sides
                && layout.grid().lo().to_bits() == lo as u64
                && layout.grid().hi().to_bits() == hi as u64
        };
        let [state, x] = [argument(fcinfo, 0), argument(fcinfo, 1)];
        add_to_bin::<Clamped>(fcinfo, [state, x], as_called, rest)
    }
}

/// The transition function of `(state, x, ...)`, where the state is one of a group that was called
/// with the same arguments.
///
/// # Safety
/// The first two arguments of `fcinfo`, declared `dp_state` and `float8`.
#[inline(always)]
unsafe fn add_to_bin<M: Binned>(
    fcinfo: FunctionCallInfo,
    [state, x]: [NullableDatum; 2],
    as_called: impl Fn(&Layout) -> bool,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        if x.isnull || float8(x.value).is_nan() {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        if state.isnull {
            return rest(fcinfo);
        }
        match VectorState::of(state.value) {
            Some(mut group) if as_called(group.layout()) => {
                count::<M>(&mut group, float8(x.value));
                state.value
            }
            _ => rest(fcinfo),
        }
    }
}

/// Counts a row in its bin, or in none.
#[inline(always)]
fn count<M: Binned>(state: &mut VectorState, x: f64) {
    if let Some(bin) = M::bin(state.layout(), x) {
        state.count_row();
        state.count_in(bin);
    }
}
