//! `dp_state` as a text: sealed, for the way from a worker of Citus to its coordinator. Everybody else is refused.
//!
//! With a state travels its call, the aggregate and the values of its arguments, which the coordinator's plan does not
//! have. So the text is made of a group without rows too, and is as long as that of one with rows.

use std::rc::Rc;

use dp_core::encoding::sums::{Moments, Sums};
use dp_sealing::{Opener, Sealer, Unsealed, room as room_of};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{self, Datum, FunctionCallInfo, MemoryContext, Oid};

use crate::aggregates::shared::{bins, octaves, vectors};
use crate::aggregates::{bounds, cdf, clamped, histogram, mean, means, quantile, sum, sums};
use crate::call::kept::Place;
use crate::pg::carried::{self, Carried, Given};
use crate::pg::citus::{self, Side, Wrapped};
use crate::pg::errors;
use crate::pg::fmgr::{self, Call, finfo, sql_function};
use crate::pg::key_file;
use crate::pg::once::comes_once;
use crate::pg::origin::unnested;
use crate::pg::plan::{Argument, Computation, Computations, PlannedCall};
use crate::pg::sql_type;
use crate::state::scalar::State;

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
    /// The bytes that any state of the call may take, so far as the call says it.
    room: usize,
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
        let (Some(wrapped), Some(planned)) = (citus::wrapped(call), PlannedCall::on_worker(call))
        else {
            errors::no_external_state()
        };
        let aggregate = wrapped.aggregate;
        let types = citus::types_of(aggregate);
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
        carried::call(&Vec::from_iter(given))
    }

    /// The bytes that any state of the call may take, so far as the call says it; else those of few numbers.
    fn room(&self, values: &[Option<Option<Datum>>]) -> usize {
        let transition = citus::transition_of(self.wrapped.aggregate).unwrap_or_default();
        // SAFETY: the values are those of a call of the aggregate with this transition function.
        let room = unsafe {
            match transition.as_str() {
                "dp_bounds_trans" => bins::room(&bounds::BOUNDS, values),
                "dp_cdf_trans" => bins::room(&cdf::CDF, values),
                "dp_clamped_trans" => bins::room(&clamped::CLAMPED, values),
                "dp_histogram_trans" => bins::room(&histogram::HISTOGRAM, values),
                "dp_median_trans" => bins::room(&quantile::MEDIAN, values),
                "dp_quantile_estimate_trans" => bins::room(&quantile::ESTIMATE, values),
                "dp_quantile_trans" => bins::room(&quantile::QUANTILE, values),
                "dp_quantiles_trans" => bins::room(&quantile::QUANTILES, values),
                "dp_means_trans" => vectors::room(&means::MEANS, values),
                "dp_sums_trans" => vectors::room(&sums::SUMS, values),
                "dp_mean_trans" => mean::room(values),
                "dp_mean_estimate_trans" => octaves::room(&mean::ESTIMATE, values),
                "dp_sum_trans" => sum::room(values),
                "dp_sum_estimate_trans" => octaves::room(&sum::ESTIMATE, values),
                "dp_count_rows_trans" | "dp_count_estimate_rows_trans" | "dp_keep_trans" => {
                    Some(State::<Sums>::BYTES)
                }
                "dp_variance_trans" | "dp_variance_estimate_trans" => Some(State::<Moments>::BYTES),
                _ => None,
            }
        };
        room.unwrap_or_else(|| room_of(0))
    }

    /// What seals the parts of the call with the values that its arguments have now. It stays the same while they do.
    fn prepared(&mut self) -> &mut Prepared {
        let is_same = |prepared: &Prepared| {
            prepared.beginning == carried::beginning() && self.computed.is_empty()
        };
        if !self.prepared.as_ref().is_some_and(is_same) {
            let values = self.values();
            let too_long = || errors::unsealed(Unsealed::TooLong);
            let call = self.call(&values).unwrap_or_else(too_long);
            if self.prepared.as_ref().is_none_or(|of| of.call != call) {
                let keys = key_file::keys().unwrap_or_else(|why| errors::no_keys(&why));
                let sealer = Sealer::new(keys, &self.wrapped.name, &call);
                self.prepared = Some(Prepared {
                    beginning: carried::beginning(),
                    call,
                    room: self.room(&values),
                    sealer: sealer.unwrap_or_else(|why| errors::unsealed(why)),
                });
            }
        }
        self.prepared.as_mut().expect("prepared just now")
    }

    /// The text of a state of this call, as a C string.
    fn seal(&mut self, state: &[u8]) -> Datum {
        let Prepared {
            room: full, sealer, ..
        } = self.prepared();
        let room = if state.len() <= *full {
            *full
        } else {
            room_of(state.len())
        };
        let text = sealer.seal(state, room);
        let text = text.unwrap_or_else(|why| errors::unsealed(why));
        // SAFETY: palloc gives so many bytes, or raises.
        unsafe {
            let copy = pg_sys::palloc(text.len() + 1).cast::<u8>();
            std::ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            copy.add(text.len()).write(0);
            Datum::from(copy)
        }
    }
}

/// The C function that writes a state. What its call's arguments are computed by is not ours, and runs unguarded.
mod output {
    use super::*;

    finfo!(pg_finfo_dp_state_out);

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
        let place = Place::of(call).unwrap_or_else(|| errors::no_external_state());
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
            let state = match Carried::of(datum) {
                Some(_) => None,
                None => carried::bytes(datum),
            };
            let state = state.unwrap_or_else(|| errors::bad_state().raise());
            Some(sealing.seal(state))
        }
    }
}

/// `dp_state_in`: the empty text is the state of no rows, with which each group begins. Any other is opened for the
/// coordinator of Citus alone, and becomes what its combine function takes in.
fn input(call: Call) -> Option<Datum> {
    // SAFETY: declared with a cstring.
    let text = unsafe { call.cstr(0) }.to_bytes();
    if text.is_empty() {
        return Some(carried::nothing());
    }
    let wrapped = citus::wrapped(call).filter(|wrapped| wrapped.side == Side::Coordinator);
    let wrapped = wrapped.unwrap_or_else(|| errors::no_external_state());
    let opener = opener(call, &wrapped);
    let part = opener
        .open(text)
        .filter(|part| part.call.first() == Some(&carried::beginning()))
        .filter(|part| comes_once(call, &wrapped, &part.nonce))
        .and_then(|part| Carried::opened(wrapped.aggregate, part.call, part.state));
    let part = part.unwrap_or_else(|| errors::not_sealed());
    Some(part.datum())
}

/// What opens the parts of a call of Citus, kept for the query.
fn opener<'a>(call: Call, wrapped: &Wrapped) -> &'a mut Opener {
    let place = Place::of_any(call, wrapped);
    let kept = place.kept().unwrap_or_else(|| {
        let keys = key_file::keys().unwrap_or_else(|why| errors::no_keys(&why));
        let opener = Opener::new(keys, &wrapped.name);
        let memory = &mut PgMemoryContexts::For(place.memory);
        let kept = memory.leak_and_drop_on_delete(opener).cast();
        place.keep(kept);
        kept
    });
    // SAFETY: it is that of this function, lives as long as the query, of which this is a call, and nobody else refers to it.
    unsafe { &mut *kept.cast() }
}

sql_function!(dp_state_in, pg_finfo_dp_state_in, input);
