//! A call site: one aggregate call in one running query. What is looked up and computed for it
//! is kept with PostgreSQL's record of the function (`fn_extra`), so it costs once, not per group.
//!
//! Nothing here trusts that the record lives: a caller may bring a fresh one for every row.

use std::rc::Rc;

use dp_core::registry::{Made, Spent};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::call::aggregate::Aggregate;
use crate::call::overspent::overspent;
use crate::call::signature::{Input, Parameter, Values};
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::pg::plan::{Argument, Computation, Computations, Missing, PlannedCall, SupportFunction};

/// Where the value of an argument comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A constant: its value, `None` for NULL.
    Constant(Option<Datum>),
    /// An expression: which of those that the call site computes.
    Computed(usize),
}

/// Whether there is a record of the call site, without a call.
///
/// # Safety
/// `fcinfo` is valid.
#[inline(always)]
pub unsafe fn is_known(fcinfo: FunctionCallInfo) -> bool {
    // SAFETY: PostgreSQL always passes a valid fcinfo with its flinfo.
    unsafe { !(*(*fcinfo).flinfo).fn_extra.is_null() }
}

/// What is kept for a call site.
pub struct CallSite<M: ?Sized + 'static> {
    aggregate: &'static Aggregate<M>,
    /// The public arguments of the call.
    arguments: Vec<(&'static Parameter, Source)>,
    /// Those of the arguments that are computed for each release.
    computed: Vec<Computation>,
    /// Why there is no mechanism, whatever the arguments' values are. It is told after they were computed: with
    /// rows, PostgreSQL computes them before it calls us.
    refused: Option<Refusal>,
    input: Input,
    /// The mechanism, and the argument values it was built from.
    built: Option<(Values, Made<M>)>,
}

impl<M: ?Sized> CallSite<M> {
    /// Gives `work` the record of the call site that `call` runs for, made at the first call.
    ///
    /// # Errors
    /// The same with and without rows: if the caller is no aggregate of ours.
    pub fn with<R>(
        call: Call,
        caller: SupportFunction,
        aggregate: &'static Aggregate<M>,
        work: impl FnOnce(&mut Self) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        let flinfo = call.flinfo();
        // SAFETY: fn_extra is NULL or what this function put there: each of our SQL functions
        // calls with one type `M`, and nobody else writes to its fn_extra. The record lives as
        // long as the FmgrInfo. No other reference to it exists: what an argument's expression
        // calls while `work` runs has an FmgrInfo of its own.
        let site = unsafe {
            if (*flinfo).fn_extra.is_null() {
                let site = Self::new(call, caller, aggregate)?;
                (*flinfo).fn_extra = PgMemoryContexts::For((*flinfo).fn_mcxt)
                    .leak_and_drop_on_delete(site)
                    .cast();
            }
            &mut *(*flinfo).fn_extra.cast::<Self>()
        };
        work(site)
    }

    fn new(
        call: Call,
        caller: SupportFunction,
        aggregate: &'static Aggregate<M>,
    ) -> Result<Self, Refusal> {
        let Aggregate {
            name, signature, ..
        } = aggregate;
        let planned = PlannedCall::find(call, caller).map_err(|missing| match missing {
            Missing::NotOurs => errors::not_our_aggregate(name),
            Missing::Hidden => errors::hidden_arguments(name),
        })?;
        if !signature.fits(&planned) {
            return Err(errors::not_our_aggregate(name));
        }
        // SAFETY: flinfo is PostgreSQL's own.
        let memory = unsafe { (*call.flinfo()).fn_mcxt };
        let (mut computed, mut refused) = (Vec::new(), None);
        let public = signature.public_of_call(planned.len()).into_iter();
        let arguments = public.flatten().map(|(i, parameter)| {
            let argument = parameter.role.name();
            let source = match planned.argument(i, memory) {
                Some(Argument::Constant(value)) => Source::Constant(value),
                Some(Argument::Computed(computation)) => {
                    // Once a query, and in the leader.
                    if caller == SupportFunction::Final && planned.is_looked_up(i) {
                        errors::looked_up(name, argument);
                    }
                    computed.push(computation);
                    Source::Computed(computed.len() - 1)
                }
                None => {
                    refused.get_or_insert_with(|| errors::depends_on_rows(name, argument));
                    Source::Constant(None)
                }
            };
            (parameter, source)
        });
        let arguments = arguments.collect();
        let input = signature.input(&planned, name).unwrap_or_else(|refusal| {
            refused.get_or_insert(refusal);
            Input::Value
        });
        Ok(Self {
            aggregate,
            arguments,
            computed,
            refused,
            input,
            built: None,
        })
    }

    /// The arguments to compute before [`mechanism_of_plan`](Self::mechanism_of_plan) is asked.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn computations(
        call: Call,
        aggregate: &'static Aggregate<M>,
    ) -> Result<Computations, Refusal> {
        Self::with(call, SupportFunction::Final, aggregate, |site| {
            Ok(Computations::of(&mut site.computed))
        })
    }

    /// How the data come.
    pub fn input(&self) -> Input {
        self.input
    }

    /// The mechanism for the arguments as the plan gives them and as they were computed last.
    pub fn mechanism_of_plan(&mut self) -> Result<&M, Refusal> {
        self.check()?;
        if !self.built_from_constants() {
            let value = |source: Source| match source {
                Source::Constant(value) => value,
                Source::Computed(i) => self.computed[i].value(),
            };
            let arguments = self.arguments.iter();
            let arguments = arguments.map(|(parameter, source)| (*parameter, value(*source)));
            // SAFETY: the types are those of the SQL declaration, by the check of the signature.
            let values = unsafe { Values::read(arguments) };
            self.build(values)?;
        }
        Ok(self.mechanism())
    }

    /// The mechanism for the arguments as a transition function's call passes them.
    pub fn mechanism_of_row(&mut self, call: Call) -> Result<&M, Refusal> {
        self.check()?;
        if !self.built_from_constants() {
            // Before them is the state.
            let Some(public) = self.aggregate.signature.public_of_call(call.len() - 1) else {
                return Err(errors::not_our_aggregate(self.aggregate.name));
            };
            let arguments = public.map(|(i, parameter)| (parameter, call.datum(i + 1)));
            // SAFETY: as above.
            let values = unsafe { Values::read(arguments) };
            self.build(values)?;
        }
        Ok(self.mechanism())
    }

    fn check(&self) -> Result<(), Refusal> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    fn mechanism(&self) -> &M {
        &self.made().mechanism
    }

    /// What a release by the mechanism that was built last costs.
    pub fn spent(&self) -> Rc<Spent> {
        Rc::clone(&self.made().spent)
    }

    fn made(&self) -> &Made<M> {
        let (_, made) = self.built.as_ref().expect("built before it is asked for");
        made
    }

    /// Whether what was built stands for good.
    fn built_from_constants(&self) -> bool {
        self.built.is_some() && self.computed.is_empty()
    }

    /// Builds the mechanism, unless it was built from the same values.
    fn build(&mut self, values: Values) -> Result<(), Refusal> {
        if self.built.as_ref().is_some_and(|(of, _)| *of == values) {
            return Ok(());
        }
        let Aggregate {
            name, mechanisms, ..
        } = self.aggregate;
        let made = mechanisms
            .make(
                &values.arguments(self.input),
                values.confidence(),
                overspent(),
            )
            .map_err(|error| errors::parameter(name, &error))?;
        self.built = Some((values, made));
        Ok(())
    }
}
