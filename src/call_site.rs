//! A call site: one aggregate call in one running query. What is looked up and computed for it
//! is kept with PostgreSQL's record of the function (`fn_extra`), so it costs once, not per group.
//!
//! Nothing here trusts that the record lives: a caller may bring a fresh one for every row.

use dp_core::error::ParameterError;
use dp_core::registry::{Asked, Registry};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{Datum, FunctionCallInfo};

use crate::aggregate::{Aggregate, Positions, Shape};
use crate::errors::{self, Refusal};
use crate::fmgr::{Call, float8};
use crate::plan::{self, Argument, Computation, Computations, Missing, PlannedCall, Role};
use crate::{mechanism_type, settings};

/// The public arguments of a call, with `T` for each: an expression, or a value.
#[derive(Clone, Copy)]
struct Public<T> {
    bounds: Option<[T; 2]>,
    buckets: Option<T>,
    epsilon: T,
    delta: Option<T>,
    mechanism: Option<T>,
    confidence: Option<T>,
}

impl<T: Copy> Public<T> {
    fn map<U>(self, mut f: impl FnMut(T) -> U) -> Public<U> {
        Public {
            bounds: self.bounds.map(|[lo, hi]| [f(lo), f(hi)]),
            buckets: self.buckets.map(&mut f),
            epsilon: f(self.epsilon),
            delta: self.delta.map(&mut f),
            mechanism: self.mechanism.map(&mut f),
            confidence: self.confidence.map(f),
        }
    }
}

/// Where the value of an argument comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A constant: its value, `None` for NULL.
    Constant(Option<Datum>),
    /// An expression, by its place among those of the call site.
    Computed(usize),
}

/// Argument values as PostgreSQL passes them; `None` is NULL.
type Values = Public<Option<Datum>>;

/// The same, bit for bit, in memory of our own.
struct Known {
    numbers: [Option<u64>; 6],
    mechanism: Option<String>,
}

impl Known {
    fn of(values: &Values, mechanism: Option<&str>) -> Self {
        Self {
            numbers: Self::numbers(values),
            mechanism: mechanism.map(str::to_owned),
        }
    }

    fn is(&self, values: &Values, mechanism: Option<&str>) -> bool {
        self.numbers == Self::numbers(values) && self.mechanism.as_deref() == mechanism
    }

    fn numbers(values: &Values) -> [Option<u64>; 6] {
        let [lo, hi] = values.bounds.unwrap_or([None; 2]);
        let (buckets, delta) = (values.buckets.flatten(), values.delta.flatten());
        let confidence = values.confidence.flatten();
        let numbers = [lo, hi, buckets, values.epsilon, delta, confidence];
        numbers.map(|value| value.map(|datum| datum.value() as u64))
    }

    fn epsilon(&self) -> Option<f64> {
        let [_, _, _, epsilon, ..] = self.numbers;
        epsilon.map(f64::from_bits)
    }
}

/// How the data come into a call.
#[derive(Clone, Copy)]
pub enum Input {
    /// As the argument `x`, or not at all.
    Value,
    /// As so many yes/no questions, all boolean.
    Questions(usize),
    /// As one `boolean[]`.
    Booleans,
}

impl Input {
    /// Checks the types of the questions. The types are the same with and without rows.
    fn of_questions(planned: &PlannedCall, name: &str) -> Result<Self, Refusal> {
        let mut questions = planned.types().skip(QUESTIONS);
        if planned.is_variadic() {
            if !questions.all(plan::is_boolean_array) {
                return Err(errors::not_boolean_array(name));
            }
            return Ok(Self::Booleans);
        }
        let mut count = 0;
        for question in questions {
            count += 1;
            if !plan::is_boolean(question) {
                return Err(errors::not_boolean(name, count));
            }
        }
        Ok(Self::Questions(count))
    }
}

/// The arguments before the length: eps, mech.
pub const QUESTIONS: usize = 2;

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
    arguments: Public<Source>,
    /// Those of the arguments that are computed for each release.
    computed: Vec<Computation>,
    /// Why there is no mechanism, whatever the arguments' values are. It is told after they were computed: with
    /// rows, PostgreSQL computes them before it calls us.
    refused: Option<Refusal>,
    input: Input,
    /// The mechanism, and the argument values it was built from.
    built: Option<(Known, Box<M>)>,
}

impl<M: ?Sized> CallSite<M> {
    /// Gives `work` the record of the call site that `call` runs for, made at the first call.
    ///
    /// # Errors
    /// The same with and without rows: if the caller is no aggregate of ours.
    pub fn with<R>(
        call: Call,
        role: Role,
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
                let site = Self::new(call, role, aggregate)?;
                (*flinfo).fn_extra = PgMemoryContexts::For((*flinfo).fn_mcxt)
                    .leak_and_drop_on_delete(site)
                    .cast();
            }
            &mut *(*flinfo).fn_extra.cast::<Self>()
        };
        work(site)
    }

    fn new(call: Call, role: Role, aggregate: &'static Aggregate<M>) -> Result<Self, Refusal> {
        let planned = PlannedCall::find(call, role).map_err(|missing| match missing {
            Missing::NotOurs => errors::not_our_aggregate(aggregate.name),
            Missing::Hidden => errors::hidden_arguments(aggregate.name),
        })?;
        let Some(Positions {
            bounds,
            buckets,
            epsilon,
            delta,
            mechanism,
            confidence,
        }) = aggregate.shape.positions(planned.len())
        else {
            return Err(errors::not_our_aggregate(aggregate.name));
        };
        // An aggregate that a superuser made of our functions may have a number there.
        if mechanism.is_some_and(|i| !planned.types().nth(i).is_some_and(plan::is_varlena)) {
            return Err(errors::not_our_aggregate(aggregate.name));
        }
        // SAFETY: flinfo is PostgreSQL's own.
        let memory = unsafe { (*call.flinfo()).fn_mcxt };
        let (mut computed, mut refused) = (Vec::new(), None);
        let argument = |(name, i): (&'static str, usize)| match planned.argument(i, memory) {
            Some(Argument::Constant(value)) => Source::Constant(value),
            Some(Argument::Computed(computation)) => {
                // Once a query, and in the leader.
                if role == Role::Final && planned.is_looked_up(i) {
                    errors::looked_up(aggregate.name, name);
                }
                computed.push(computation);
                Source::Computed(computed.len() - 1)
            }
            None => {
                refused.get_or_insert_with(|| errors::depends_on_rows(aggregate.name, name));
                Source::Constant(None)
            }
        };
        let arguments = Public {
            bounds: bounds.map(|lo| [("lo", lo), ("hi", lo + 1)]),
            buckets: buckets.map(|i| ("buckets", i)),
            epsilon: ("eps", epsilon),
            delta: delta.map(|i| ("delta", i)),
            mechanism: mechanism.map(|i| ("mech", i)),
            confidence: confidence.map(|i| ("confidence", i)),
        }
        .map(argument);
        let input = match aggregate.shape {
            Shape::Bounded | Shape::Buckets | Shape::Counted | Shape::Kept => Input::Value,
            Shape::Questions => {
                Input::of_questions(&planned, aggregate.name).unwrap_or_else(|refusal| {
                    refused.get_or_insert(refusal);
                    Input::Value
                })
            }
        };
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
        Self::with(call, Role::Final, aggregate, |site| {
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
            let values = self.arguments.map(|argument| match argument {
                Source::Constant(value) => value,
                Source::Computed(i) => self.computed[i].value(),
            });
            self.build(&values)?;
        }
        Ok(self.mechanism())
    }

    /// The mechanism for the arguments as a transition function's call passes them.
    pub fn mechanism_of_row(&mut self, call: Call) -> Result<&M, Refusal> {
        self.check()?;
        if !self.built_from_constants() {
            let positions = self.aggregate.shape.positions(call.len() - 1);
            let Some(Positions {
                bounds,
                buckets,
                epsilon,
                delta,
                mechanism,
                confidence,
            }) = positions
            else {
                return Err(errors::not_our_aggregate(self.aggregate.name));
            };
            let values = Public {
                bounds: bounds.map(|lo| [lo, lo + 1]),
                buckets,
                epsilon,
                delta,
                mechanism,
                confidence,
            }
            .map(|i| call.datum(i + 1));
            self.build(&values)?;
        }
        Ok(self.mechanism())
    }

    /// What the call whose mechanism was built last asks to spend; `mechanisms` are those of the aggregate.
    ///
    /// # Errors
    /// None, once a mechanism was built.
    pub fn asked(&self, mechanisms: &Registry<M>) -> Result<Asked, Refusal> {
        let (known, _) = self.built.as_ref().expect("built before it is asked for");
        let mechanism = match &known.mechanism {
            Some(text) => MechanismArgument::Given(Some(text)),
            None => MechanismArgument::Omitted,
        };
        let asked = mechanisms.asked(known.epsilon(), mechanism);
        asked.map_err(|error| errors::parameter(self.aggregate.name, &error))
    }

    fn check(&self) -> Result<(), Refusal> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    fn mechanism(&self) -> &M {
        &self.built.as_ref().expect("built before it is asked for").1
    }

    /// Whether what was built stands for good.
    fn built_from_constants(&self) -> bool {
        let constant = |argument: &Source| matches!(argument, Source::Constant(_));
        let Public {
            bounds,
            buckets,
            epsilon,
            delta,
            mechanism,
            confidence,
        } = &self.arguments;
        self.built.is_some()
            && bounds.iter().flatten().chain(buckets).all(constant)
            && constant(epsilon)
            && delta.iter().all(constant)
            && mechanism.iter().chain(confidence).all(constant)
    }

    /// Builds the mechanism, unless it was built from the same values.
    fn build(&mut self, values: &Values) -> Result<(), Refusal> {
        // SAFETY: the SQL declarations make it a dp_mechanism.
        let text = values
            .mechanism
            .flatten()
            .map(|datum| unsafe { mechanism_type::text_of(datum) });
        if self
            .built
            .as_ref()
            .is_some_and(|(known, _)| known.is(values, text.as_deref()))
        {
            return Ok(());
        }
        let mechanism = self
            .construct(values, text.as_deref())
            .map_err(|error| errors::parameter(self.aggregate.name, &error))?;
        self.built = Some((Known::of(values, text.as_deref()), mechanism));
        Ok(())
    }

    fn construct(
        &self,
        values: &Values,
        mechanism: Option<&str>,
    ) -> Result<Box<M>, ParameterError> {
        let number = |value: Option<Datum>| value.map(float8);
        let arguments = Arguments {
            bounds: values.bounds.map(|[lo, hi]| (number(lo), number(hi))),
            epsilon: number(values.epsilon),
            delta: values.delta.map(number),
            length: match self.input {
                Input::Questions(count) => Some(count),
                // An integer, where the aggregate has buckets.
                Input::Value => {
                    let buckets = values.buckets.flatten();
                    buckets.and_then(|count| usize::try_from(count.value() as i32).ok())
                }
                Input::Booleans => None,
            },
            mechanism: match values.mechanism {
                Some(_) => MechanismArgument::Given(mechanism),
                None => MechanismArgument::Omitted,
            },
            pathological: settings::allow_pathological(),
        };
        #[cfg(not(feature = "testing"))]
        let overspent = dp_core::request::checked::Overspent::NOT;
        #[cfg(feature = "testing")]
        let overspent = crate::testing::overspent();
        let confidence = values.confidence.map(number);
        let mechanisms = self.aggregate.mechanisms;
        mechanisms.make(&arguments, confidence, overspent)
    }
}
