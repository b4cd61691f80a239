//! `dp_state` as a text: sealed, for the way from a worker of Citus to its coordinator. Everybody else is refused.
//!
//! With a state travels its call, the aggregate and the values of its arguments, which the coordinator's plan does not
//! have. So the text is made of a group without rows too, and is as long as that of one with rows.

use std::cell::RefCell;
use std::rc::Rc;

use dp_core::encoding::grid::Grid;
use dp_sealing::{Opener, Sealer, Unsealed, room as room_of};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, MemoryContext, Oid};

use crate::aggregates::shared::{bins, log_bins, vectors};
use crate::aggregates::{
    bounds, cdf, clamped, histogram, linear_regression, mean, means, quantile, sum, sums, variance,
};
use crate::call::query_local::QueryPlace;
use crate::call::signature::Role;
use crate::citus::errors;
use crate::citus::key_file;
use crate::citus::partial_state::{self, Carried, Given};
use crate::citus::replay_guard::comes_once;
use crate::citus::wrapper::{self, Side, Wrapped};
use crate::pg::errors::bad_state;
use crate::pg::fmgr::{self, Call, finfo, sql_function};
use crate::pg::sql_type;
use crate::plan::lineage::unnested;
use crate::plan::planned_call::{Argument, Computation, Computations, PlannedCall};
use crate::state::wire_format::Form;

/// The call that a state is sealed with: what is known of its arguments.
struct Sealing {
    wrapped: Rc<Wrapped>,
    types: Vec<Oid>,
    sources: Vec<Source>,
    computed: Vec<Computation>,
    prepared: Option<Prepared>,
}

/// What seals the parts of a call, made for the values of its arguments.
struct Prepared {
    beginning: u8,
    call: Vec<u8>,
    form: Form,
    /// Room for a state as it travels.
    short: Vec<u8>,
    sealer: Sealer,
}

/// Where the value of an argument comes from.
enum Source {
    OfRows,
    Constant(Option<Datum>),
    /// Which of those that are computed.
    Computed(usize),
}

impl Sealing {
    /// The call whose state `call`, of the output function, should write. What is prepared lives in `memory`.
    fn find(call: Call, memory: MemoryContext) -> Self {
        let (Some(wrapped), Some(planned)) = (wrapper::wrapped(call), PlannedCall::on_worker(call))
        else {
            errors::no_external_state()
        };
        let aggregate = wrapped.aggregate;
        let types = wrapper::types_of(aggregate);
        if types.iter().copied().any(sql_type::is_any) {
            errors::citus_hands_on_no_any();
        }
        if planned.len() != types.len() {
            errors::no_external_state();
        }
        // SAFETY: a catalog look-up by oid.
        let answer = unsafe { pg_sys::get_func_rettype(aggregate) };
        let of_people = types
            .iter()
            .chain([&answer])
            .any(|of| sql_type::is_of_person(*of));
        if of_people || !unnested(&planned).is_empty() {
            errors::people_do_not_travel();
        }
        let mut computed = Vec::new();
        let sources = (0..planned.len()).map(|i| match planned.argument(i, memory) {
            None => Source::OfRows,
            Some(Argument::Constant(value)) => Source::Constant(value),
            Some(Argument::Computed(computation)) => {
                computed.push(computation);
                Source::Computed(computed.len() - 1)
            }
        });
        Self {
            sources: sources.collect(),
            wrapped,
            types,
            computed,
            prepared: None,
        }
    }

    /// The value of each argument, after they were computed: `None` for one that differs from row to row.
    fn values(&self) -> Vec<Option<Option<Datum>>> {
        let value = |source: &Source| match source {
            Source::OfRows => None,
            Source::Constant(value) => Some(*value),
            Source::Computed(i) => Some(self.computed[*i].value()),
        };
        self.sources.iter().map(value).collect()
    }

    /// The call as it is sealed.
    fn call(&self, values: &[Option<Option<Datum>>]) -> Option<Vec<u8>> {
        let given = self
            .types
            .iter()
            .zip(values)
            .map(|(kind, value)| match value {
                None => Given::OfRows,
                Some(None) => Given::Null,
                // SAFETY: the expression is of this type, which a look-up in the catalog tells of.
                Some(Some(datum)) => unsafe {
                    if pg_sys::get_typbyval(*kind) {
                        Given::Word(datum.value() as u64)
                    } else if sql_type::is_varlena(*kind) {
                        let plain = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
                        let bytes = pgrx::varlena::varlena_to_byte_slice(plain);
                        Given::Bytes(bytes.to_vec())
                    } else {
                        Given::OfRows
                    }
                },
            });
        partial_state::call(&Vec::from_iter(given))
    }

    /// What seals the parts of the call with the values that its arguments have now. It stays the same while they do.
    fn prepared(&mut self) -> &mut Prepared {
        let is_same = |prepared: &Prepared| {
            prepared.beginning == partial_state::beginning() && self.computed.is_empty()
        };
        if !self.prepared.as_ref().is_some_and(is_same) {
            let values = self.values();
            let too_long = || errors::unsealed(Unsealed::TooLong);
            let call = self.call(&values).unwrap_or_else(too_long);
            if self.prepared.as_ref().is_none_or(|of| of.call != call) {
                let keys = key_file::keys().unwrap_or_else(|why| errors::no_keys(&why));
                let sealer = Sealer::new(&keys, &self.wrapped.name, &call);
                self.prepared = Some(Prepared {
                    beginning: partial_state::beginning(),
                    call,
                    // SAFETY: the values are those of a call of it.
                    form: unsafe { form(self.wrapped.aggregate, &values) },
                    short: Vec::new(),
                    sealer: sealer.unwrap_or_else(|why| errors::unsealed(why)),
                });
            }
        }
        self.prepared.as_mut().expect("prepared just now")
    }

    /// The text of a state of this call, as a C string; `None` where it is no state.
    ///
    /// # Safety
    /// `datum` is a dp_state.
    unsafe fn seal(&mut self, datum: Datum) -> Option<Datum> {
        let Prepared {
            form,
            short,
            sealer,
            ..
        } = self.prepared();
        let blame = |bound: Option<&str>| Role::number_of(bound.unwrap_or(Role::Mechanism.name()));
        // SAFETY: the caller guarantees it.
        unsafe { form.shorten(datum, blame, short) }?;
        let room = if short.len() <= form.room() {
            form.room()
        } else {
            room_of(short.len())
        };
        let text = sealer.seal(short, room);
        let text = text.unwrap_or_else(|why| errors::unsealed(why));
        // SAFETY: palloc gives that many bytes, or raises.
        unsafe {
            let copy = pg_sys::palloc(text.len() + 1).cast::<u8>();
            std::ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
            Some(Datum::from(copy))
        }
    }
}

/// What a call of an aggregate with these values says of its states; of a call that is refused, and of other states of
/// a few numbers, that these are few. Of an argument that differs from row to row there is no value.
///
/// # Safety
/// They are of the types that the SQL declaration has.
unsafe fn form(aggregate: Oid, values: &[Option<Option<Datum>>]) -> Form {
    let transition = wrapper::transition_of(aggregate).unwrap_or_default();
    // SAFETY: the values are those of a call of the aggregate with this transition function.
    let form = unsafe {
        match transition.as_str() {
            "dp_bounds_trans" => bins::form(&bounds::BOUNDS, values),
            "dp_cdf_trans" => bins::form(&cdf::CDF, values),
            "dp_cdf_estimate_trans" => bins::form(&cdf::ESTIMATE, values),
            "dp_clamped_trans" => bins::form(&clamped::CLAMPED, values),
            "dp_count_rows_trans" | "dp_count_estimate_rows_trans" | "dp_keep_trans" => {
                Some(Form::Sums(Grid::NONE))
            }
            "dp_histogram_trans" => bins::form(&histogram::HISTOGRAM, values),
            "dp_linear_regression_trans" => linear_regression::form(values),
            "dp_median_trans" => bins::form(&quantile::MEDIAN, values),
            "dp_quantile_estimate_trans" => bins::form(&quantile::ESTIMATE, values),
            "dp_quantile_trans" => bins::form(&quantile::QUANTILE, values),
            "dp_quantiles_trans" => bins::form(&quantile::QUANTILES, values),
            "dp_means_trans" => vectors::form(&means::MEANS, values),
            "dp_sums_trans" => vectors::form(&sums::SUMS, values),
            "dp_mean_trans" => mean::form(values),
            "dp_mean_estimate_trans" => log_bins::form(&mean::ESTIMATE, Form::Sums, values),
            "dp_sum_trans" => sum::form(values),
            "dp_sum_estimate_trans" => log_bins::form(&sum::ESTIMATE, Form::Sums, values),
            "dp_variance_trans" => variance::form(values),
            "dp_variance_estimate_trans" => {
                log_bins::form(&variance::ESTIMATE, Form::Moments, values)
            }
            _ => None,
        }
    };
    form.unwrap_or_else(|| Form::Any(room_of(0)))
}

/// The C function that writes a state. What its call's arguments are computed by is not ours, and runs unguarded.
mod output {
    use super::*;

    finfo!(dp_state_out);

    #[unsafe(no_mangle)]
    /// # Safety
    /// PostgreSQL calls it, with the argument that the SQL declaration names.
    pub unsafe extern "C-unwind" fn dp_state_out(fcinfo: FunctionCallInfo) -> Datum {
        #[pgrx::pg_guard]
        unsafe extern "C-unwind" fn guarded_computations(fcinfo: FunctionCallInfo) -> Computations {
            fmgr::guarded(|| {
                // SAFETY: PostgreSQL's own fcinfo, for the length of this call. What is kept lives as long as the
                // query, and nobody else refers to it: what arguments are computed by belongs to another one. Nobody
                // else writes to the record of the function.
                unsafe {
                    let call = Call::new(fcinfo);
                    let kept = kept(call);
                    (*call.flinfo()).fn_extra = kept.cast();
                    Computations::of(&mut (*kept).computed)
                }
            })
        }
        // SAFETY: the computations are those of this call, and this function, which PostgreSQL calls, owns nothing.
        unsafe {
            guarded_computations(fcinfo).compute(fcinfo);
            guarded_text(fcinfo)
        }
    }

    /// What is kept for the query.
    fn kept(call: Call) -> *mut Sealing {
        let place = QueryPlace::of(call).unwrap_or_else(|| errors::no_external_state());
        if let Some(kept) = place.kept() {
            return kept.cast();
        }
        let memory = place.memory;
        let mut found = PgMemoryContexts::For(memory);
        // SAFETY: the memory of the query lives for the length of this call.
        let sealing = unsafe { found.switch_to(|_| Sealing::find(call, memory)) };
        let kept = found.leak_and_drop_on_delete(sealing);
        place.keep(kept.cast());
        kept
    }

    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn guarded_text(fcinfo: FunctionCallInfo) -> Datum {
        // SAFETY: the same fcinfo.
        unsafe { fmgr::answer(fcinfo, text) }
    }

    fn text(call: Call) -> Option<Datum> {
        // SAFETY: the record was made just before. The SQL declaration makes argument 0 a dp_state.
        unsafe {
            let sealing = &mut *(*call.flinfo()).fn_extra.cast::<Sealing>();
            let datum = call.datum(0)?;
            let text = match Carried::of(datum) {
                Some(_) => None,
                None => sealing.seal(datum),
            };
            Some(text.unwrap_or_else(|| bad_state().raise()))
        }
    }
}

/// `dp_state_in`: the empty text is the state of no rows, with which each group begins. Any other is opened for the
/// coordinator of Citus alone, and becomes what its combine function takes in.
fn input(call: Call) -> Option<Datum> {
    // SAFETY: declared with a cstring.
    let text = unsafe { call.cstr(0) }.to_bytes();
    if text.is_empty() {
        return Some(partial_state::nothing());
    }
    let wrapped = wrapper::wrapped(call).filter(|wrapped| wrapped.side == Side::Coordinator);
    let wrapped = wrapped.unwrap_or_else(|| errors::no_external_state());
    let part = with_opening(call, &wrapped, |opening| opening.open(call, &wrapped, text));
    Some(part.unwrap_or_else(|| errors::not_sealed()))
}

/// What opens the parts of a call of Citus.
struct Opening {
    opener: Opener,
    types: Vec<Oid>,
    /// The call of ours that came last, and what it says of the states.
    known: Option<(Vec<u8>, Form)>,
}

impl Opening {
    /// The part that a text is, as a datum; `None` if it is none, or came already.
    fn open(&mut self, call: Call, wrapped: &Wrapped, text: &[u8]) -> Option<Datum> {
        let Self {
            opener,
            types,
            known,
        } = self;
        let part = opener
            .open(text)
            .filter(|part| part.call.first() == Some(&partial_state::beginning()))
            .filter(|part| comes_once(call, wrapped, &part.nonce))?;
        if known.as_ref().is_none_or(|(of, _)| of != part.call) {
            let values = partial_state::values(types, part.call)?;
            // SAFETY: the values are those of a call of it: only servers with the key say so.
            let form = unsafe { form(wrapped.aggregate, &values) };
            *known = Some((part.call.to_vec(), form));
        }
        let (_, form) = known.as_ref()?;
        // SAFETY: a state that was just made.
        let state = unsafe { partial_state::bytes(form.lengthen(part.state)?) }?;
        Carried::opened(wrapped.aggregate, part.call, state).map(|part| part.datum())
    }
}

/// Works with what is kept for the query, of the input function.
fn with_opening<R>(call: Call, wrapped: &Wrapped, work: impl FnOnce(&mut Opening) -> R) -> R {
    let place = QueryPlace::of_any(call, wrapped);
    let kept = place.kept().unwrap_or_else(|| {
        let keys = key_file::keys().unwrap_or_else(|why| errors::no_keys(&why));
        let opening = Opening {
            opener: Opener::new(keys, &wrapped.name),
            types: wrapper::types_of(wrapped.aggregate),
            known: None,
        };
        let memory = &mut PgMemoryContexts::For(place.memory);
        let kept = memory.leak_and_drop_on_delete(RefCell::new(opening)).cast();
        place.keep(kept);
        kept
    });
    // SAFETY: it is that of this function, and lives as long as the query that makes this call.
    let opening = unsafe { &*kept.cast::<RefCell<Opening>>() };
    work(&mut opening.borrow_mut())
}

sql_function!(dp_state_in, input);
