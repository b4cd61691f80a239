//! What the aggregates of vectors share. As in `scalars.rs`, the per-row functions run unguarded
//! and leave everything but the plain case to a guarded one.

use dp_core::encoding::sums::Totals;
use dp_core::mechanism::vector::items::{Spread, Vector, VectorAnswer};
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregates::shared::estimate::row;
use crate::call::aggregate::Aggregate;
use crate::call::group::state as state_of;
use crate::call::release::release;
use crate::call::signature::{Input, at};
use crate::call::site::{self, CallSite, Price};
use crate::pg::array::Array;
use crate::pg::composite::composite;
use crate::pg::errors::Refusal;
use crate::pg::fmgr::{self, Call, argument};
use crate::plan::planned_call::SupportFunction;
use crate::state::vector::{Kind, Layout, VectorState, add_steps};
use crate::state::wire_format::Form;

/// The probability with which an interval misses.
const MISS: f64 = 0.05;

/// What a release of vectors hands back: the noisy numbers, and how uncertain they are.
pub struct Estimate {
    pub answer: VectorAnswer,
    pub spread: Spread,
}

impl Estimate {
    /// What a `dp_vector_answer` begins with: value, total, sd, covariance, total_sd, total_covariance, half_width,
    /// difference_half_width, total_half_width.
    fn columns(self) -> [Option<Datum>; 9] {
        let widths = self.spread.half_widths(MISS, self.answer.parts.len());
        let [value, total, sd, covariance, total_sd, total_covariance] = self.columns_0_1();
        [
            value,
            total,
            sd,
            covariance,
            total_sd,
            total_covariance,
            widths.value.into_datum(),
            widths.difference.into_datum(),
            widths.total.into_datum(),
        ]
    }

    /// The first of them.
    fn columns_0_1(self) -> [Option<Datum>; 6] {
        let Self { answer, spread } = self;
        [
            answer.values().into_datum(),
            answer.total.into_datum(),
            spread.sd.into_datum(),
            spread.covariance.into_datum(),
            spread.total_sd.into_datum(),
            spread.total_covariance.into_datum(),
        ]
    }

    /// A `dp_vector_answer` of 0.1.0: these alone.
    ///
    /// # Safety
    /// The function that `call` calls is declared to return one.
    pub unsafe fn into_row_0_1(self, call: Call) -> Datum {
        // SAFETY: the caller guarantees it.
        unsafe { composite(call, self.columns_0_1()) }
    }
}

impl Aggregate<Vector> {
    /// What a transition function does beyond the plain case: the first row of a group, arrays
    /// that are compressed or stored elsewhere, and everything that must not be.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's transition function.
    pub unsafe fn other_row(&'static self, call: Call) -> Result<Datum, Refusal> {
        let layout = CallSite::with(call, SupportFunction::Transition, self, |site| {
            let input = site.input();
            Ok(layout(input, site.mechanism_of_row(call)?))
        })?;
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let mut state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(datum) => unsafe { self.vector_state(datum, &layout) }?,
            // The executor copies it into the aggregate's own memory.
            None => VectorState::new(layout),
        };
        // SAFETY: the arguments are what the layout says, which comes from the call; an array was
        // given type boolean[] by the check of the call or float8[] by the SQL declaration.
        unsafe {
            match layout.kind() {
                Kind::Predicates => add_predicates(&mut state, call.fcinfo()),
                Kind::Booleans => match call.datum(at::PREDICATES) {
                    Some(array) => add_booleans(&mut state, Array::detoasted(array)),
                    None => state.count_row(),
                },
                // The plain case ignores NULL. (A row of one number has no layout here.)
                _ => {
                    if let Some(array) = call.datum(at::X) {
                        add_values(&mut state, Array::detoasted(array));
                    }
                }
            }
        }
        Ok(state.into_datum())
    }

    /// A release of the group, or of no rows where there is no state.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function.
    pub unsafe fn release(&'static self, call: Call) -> Estimate {
        // SAFETY: the caller guarantees it.
        unsafe { self.release_and_cost(call) }.0
    }

    /// The same, as the row of an estimate: a `dp_vector_answer`.
    ///
    /// # Safety
    /// `call` is a call of this aggregate's final function, which is declared to return one.
    pub unsafe fn estimate(&'static self, call: Call) -> Datum {
        // SAFETY: the caller guarantees it.
        unsafe {
            let (released, price) = self.release_and_cost(call);
            row(call, released.columns(), &price)
        }
    }

    unsafe fn release_and_cost(&'static self, call: Call) -> (Estimate, Price) {
        CallSite::with(call, SupportFunction::Final, self, |site| {
            let input = site.input();
            let mechanism = site.mechanism_of_plan()?;
            let layout = layout(input, mechanism);
            // SAFETY: the SQL declaration makes argument 0 a dp_state.
            let totals = match unsafe { state_of(call) } {
                // SAFETY: the same.
                Some(datum) => unsafe { self.vector_state(datum, &layout) }?.totals(),
                None => Totals::new(layout.length()),
            };
            let released = Estimate {
                answer: release(mechanism, &totals),
                spread: mechanism.spread(),
            };
            Ok((released, site.price()))
        })
        .unwrap_or_else(|refusal| refusal.raise())
    }
}

fn layout(input: Input, mechanism: &Vector) -> Layout {
    let kind = match input {
        Input::Predicates(_) => Kind::Predicates,
        Input::BooleanArray => Kind::Booleans,
        Input::Value => Kind::Values,
    };
    Layout::new(kind, mechanism.rows(), mechanism.grid())
}

/// What a call with these arguments says of its states; `None` where it is refused.
///
/// # Safety
/// The values are those of the call's arguments: see [`Aggregate::made_of`].
pub unsafe fn form(
    aggregate: &Aggregate<Vector>,
    values: &[Option<Option<Datum>>],
) -> Option<Form> {
    // SAFETY: the caller guarantees it.
    let made = unsafe { aggregate.made_of(values) }?;
    Some(Form::Any(layout(Input::Value, &*made.mechanism).bytes()))
}

/// The transition function of counts, `(state, eps, mech, predicates ...)` or `(state, eps, mech,
/// array)`: NULL is "no".
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8, dp_mechanism,
/// VARIADIC "any")`.
#[inline(always)]
pub unsafe fn count_predicates(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena. Where this call site has a record,
    // its arguments were checked to be predicates, or one boolean[], and so was the first state.
    unsafe {
        let datum = argument(fcinfo, at::STATE);
        if !fmgr::in_aggregate(fcinfo) || datum.isnull || !site::is_known(fcinfo) {
            return rest(fcinfo);
        }
        let Some(mut state) = VectorState::of(datum.value) else {
            return rest(fcinfo);
        };
        let arguments = usize::try_from((*fcinfo).nargs).unwrap_or(0);
        match state.layout().kind() {
            Kind::Predicates if arguments == at::PREDICATES + state.layout().length() => {
                add_predicates(&mut state, fcinfo);
            }
            Kind::Booleans if arguments == at::PREDICATES + 1 => {
                let array = argument(fcinfo, at::PREDICATES);
                if array.isnull {
                    state.count_row();
                } else if let Some(array) = Array::of(array.value) {
                    add_booleans(&mut state, array);
                } else {
                    return rest(fcinfo);
                }
            }
            _ => return rest(fcinfo),
        }
        datum.value
    }
}

/// The transition function of sums, `(state, x, lo, hi, ...)`: a NULL array is ignored; an element
/// that is missing, NULL or NaN counts as 0, clamped to the bounds.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function that is declared `(dp_state, float8[], float8, float8,
/// ...)`.
#[inline(always)]
pub unsafe fn add_vector(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: by the declaration; a non-NULL state is a varlena.
    unsafe {
        let [datum, array] = [argument(fcinfo, at::STATE), argument(fcinfo, at::X)];
        if !fmgr::in_aggregate(fcinfo) {
            return rest(fcinfo);
        }
        if array.isnull {
            (*fcinfo).isnull = datum.isnull;
            return datum.value;
        }
        if datum.isnull {
            return rest(fcinfo);
        }
        let [lo, hi] = [argument(fcinfo, at::LO), argument(fcinfo, at::HI)];
        match (VectorState::of(datum.value), Array::of(array.value)) {
            (Some(mut state), Some(array))
                if state.layout().kind() == Kind::Values
                    && state.layout().grid().lo().to_bits() == lo.value.value() as u64
                    && state.layout().grid().hi().to_bits() == hi.value.value() as u64 =>
            {
                add_values(&mut state, array);
                datum.value
            }
            _ => rest(fcinfo),
        }
    }
}

/// Of the positions of a row that are other than 0, lets the first `left` through.
#[inline(always)]
fn among_the_first(left: &mut u32, other_than_0: bool) -> bool {
    let through = other_than_0 & (*left > 0);
    *left -= u32::from(through);
    through
}

/// # Safety
/// The call has as many predicates as the state, all boolean.
#[inline(always)]
unsafe fn add_predicates(state: &mut VectorState, fcinfo: FunctionCallInfo) {
    state.count_row();
    // SAFETY: the caller guarantees that there is an argument for each count.
    let yes = |i: usize| unsafe {
        let answer = argument(fcinfo, at::PREDICATES + i);
        !answer.isnull & (answer.value.value() != 0)
    };
    match state.layout().most() {
        None => {
            for (i, count) in state.counts().enumerate() {
                *count = count.wrapping_add(u64::from(yes(i)));
            }
        }
        Some(mut left) => {
            for (i, count) in state.counts().enumerate() {
                *count = count.wrapping_add(u64::from(among_the_first(&mut left, yes(i))));
            }
        }
    }
}

/// # Safety
/// The array is of booleans.
#[inline(always)]
unsafe fn add_booleans(state: &mut VectorState, array: Array) {
    state.count_row();
    let (length, most) = (state.layout().length(), state.layout().most());
    // SAFETY: booleans are stored in a byte each.
    unsafe {
        match (array.bytes(length), most) {
            (Some(bytes), None) => {
                for (count, byte) in state.counts().zip(bytes) {
                    *count = count.wrapping_add(u64::from(*byte != 0));
                }
            }
            (_, None) => {
                for (count, byte) in state.counts().zip(array.bytes_or_zeros(length)) {
                    *count = count.wrapping_add(u64::from(byte != 0));
                }
            }
            (_, Some(mut left)) => {
                for (count, byte) in state.counts().zip(array.bytes_or_zeros(length)) {
                    let yes = among_the_first(&mut left, byte != 0);
                    *count = count.wrapping_add(u64::from(yes));
                }
            }
        }
    }
}

/// # Safety
/// The array is of float8.
#[inline(always)]
unsafe fn add_values(state: &mut VectorState, array: Array) {
    state.count_row();
    let (length, grid) = (state.layout().length(), *state.layout().grid());
    let mut left = state.layout().most().unwrap_or(u32::MAX);
    let missing = grid.steps(0.0);
    // SAFETY: the caller guarantees it.
    let values = unsafe { array.numbers(length) };
    let values = values.chain(std::iter::repeat(None));
    for (sum, value) in state.sums().zip(values) {
        let steps = match value {
            Some(value) if !value.is_nan() => grid.steps(value),
            _ => missing,
        };
        // Where only some may be other than 0, `missing` is 0.
        let through = among_the_first(&mut left, steps != missing);
        add_steps(sum, if through { steps } else { missing });
    }
}
