//! A call site: one aggregate call in one running query. What is looked up and computed for it
//! is kept with PostgreSQL's record of the function (`fn_extra`), so it costs once, not per group.
//!
//! Nothing here trusts that the record lives: a caller may bring a fresh one for every row.

use std::ffi::c_void;
use std::rc::Rc;

use dp_core::registry::{Made, Spent};
use dp_core::request::contribution::ContributionRule;
use dp_core::request::unit::Unit;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{Datum, FunctionCallInfo, MemoryContext};

use crate::call::aggregate::Aggregate;
use crate::call::parts::{self, Layout};
use crate::call::query_local::QueryPlace;
use crate::call::signature::{
    Input, OF_CONTRIBUTION, OF_GROUPS, Parameter, Role, Signature, Values,
};
use crate::call::testing::overspent;
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::Call;
use crate::pg::hash::Hashing;
use crate::plan::lineage::{CallOrigin, origins, unnested};
use crate::plan::planned_call::{
    Argument, Computation, Computations, Missing, PlannedCall, SupportFunction,
};

/// Where the value of an argument comes from.
#[derive(Clone, Copy)]
enum Source {
    /// A constant: its value, `None` for NULL.
    Constant(Option<Datum>),
    /// An expression: which of those that the call site computes.
    Computed(usize),
}

/// The aggregates that make contributions, in errors.
const CONTRIBUTION: &str = "dp_contribution";

/// The aggregate that keeps groups of persons.
const GROUPS: &str = "dp_groups";

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
    /// Why there is no mechanism, whatever the arguments' values are. It is raised after they were computed: with
    /// rows, PostgreSQL computes them before it calls us.
    refused: Option<Refusal>,
    input: Input,
    /// Of a call that has ids, how they become hashes.
    hashing: Option<Hashing>,
    takes_contributions: bool,
    /// The calls that make the contributions which this one takes in.
    origins: Vec<MadeBy>,
    /// The public arguments of the calls that keep the groups of persons: those of one place in the plan together.
    kept: Vec<Vec<Sources>>,
    /// Whether a group of this call is one of the groups that are kept, and not several.
    apart: bool,
    /// Why one of these is refused. With rows, what is wrong with this call itself is raised before.
    refused_origin: Option<Refusal>,
    built: Option<Built<M>>,
}

/// A call that makes contributions.
struct MadeBy {
    name: &'static str,
    /// The public arguments.
    sources: Sources,
    /// The bounds that the contributions have where they are taken in.
    bounds: [Role; 2],
}

/// The public arguments of a call.
type Sources = Vec<(&'static Parameter, Source)>;

/// What a release protects, and what it costs.
pub struct Price {
    /// The privacy unit, in words.
    pub unit: String,
    pub spent: Rc<Spent>,
}

/// A mechanism, and what it was built from.
struct Built<M: ?Sized> {
    values: Values,
    made: Made<M>,
    /// The privacy unit by which it shares its budget.
    unit: Unit,
}

/// What is found out of the arguments of a call and of those that its contributions come from.
struct Finding {
    /// Where what is prepared lives.
    memory: MemoryContext,
    /// Whether to warn of arguments that are looked up: once a query, in the leader, and where an answer leaves.
    warns: bool,
    computed: Vec<Computation>,
    refused: Option<Refusal>,
}

impl Finding {
    fn sources(&mut self, planned: &PlannedCall, name: &str, signature: &Signature) -> Sources {
        let public = signature.public_of_call(planned.len()).into_iter();
        let sources = public.flatten().map(|(i, parameter)| {
            let argument = parameter.role.name();
            let source = match planned.argument(i, self.memory) {
                Some(Argument::Constant(value)) => Source::Constant(value),
                Some(Argument::Computed(computation)) => {
                    if self.warns && planned.is_looked_up(i) {
                        errors::looked_up(name, argument);
                    }
                    self.computed.push(computation);
                    Source::Computed(self.computed.len() - 1)
                }
                None => {
                    let refusal = || errors::depends_on_rows(name, argument);
                    self.refused.get_or_insert_with(refusal);
                    Source::Constant(None)
                }
            };
            (parameter, source)
        });
        sources.collect()
    }
}

impl Finding {
    /// The calls that make the contributions which argument `i` of a call takes in.
    fn origins(&mut self, planned: &PlannedCall, i: usize, bounds: [Role; 2]) -> Vec<MadeBy> {
        let found = origins(planned, i).into_iter();
        let calls = found.filter_map(|origin| match origin {
            CallOrigin::Call(call) => Some((CONTRIBUTION, OF_CONTRIBUTION, call))
                .filter(|(_, signature, call)| signature.fits(call)),
            CallOrigin::Column { groups, column } => parts::part(&groups, parts::FIRST + column),
        });
        let calls = Vec::from_iter(calls);
        let made_by = |(name, signature, call)| MadeBy {
            name,
            sources: self.sources(&call, name, &signature),
            bounds,
        };
        calls.into_iter().map(made_by).collect()
    }

    /// The calls that keep the groups of persons which a call is about, with their public arguments. What is wrong
    /// with them, whatever the rows are, refuses the call.
    fn kept(&mut self, planned: &PlannedCall, name: &str) -> (Vec<Vec<Sources>>, bool) {
        let mut apart = true;
        let places = unnested(planned).into_iter().map(|place| {
            if place.calls.is_empty() {
                self.refused
                    .get_or_insert_with(|| errors::hidden_groups(name));
            }
            let sources = place.calls.iter().map(|call| {
                match Layout::of(call) {
                    Ok(layout) if layout.fits(&place.columns) => {
                        apart &= layout.has_keys_among(&place.grouped);
                    }
                    Ok(_) => {
                        self.refused.get_or_insert_with(errors::other_columns);
                    }
                    Err(refusal) => {
                        self.refused.get_or_insert(refusal);
                    }
                }
                self.sources(call, GROUPS, &OF_GROUPS)
            });
            sources.collect()
        });
        (places.collect(), apart)
    }
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
        // long as the FmgrInfo, or as the query. No other reference to it exists: what an argument's expression
        // calls while `work` runs has an FmgrInfo of its own, and what is kept for a query is that of one call in it.
        let site = unsafe {
            if (*flinfo).fn_extra.is_null() {
                (*flinfo).fn_extra = match QueryPlace::of(call) {
                    None => Self::made(call, caller, aggregate, (*flinfo).fn_mcxt)?,
                    Some(place) => match place.kept() {
                        Some(kept) => kept,
                        None => {
                            let memory = place.memory;
                            let made = |_: &mut _| Self::made(call, caller, aggregate, memory);
                            let site = PgMemoryContexts::For(memory).switch_to(made)?;
                            place.keep(site);
                            site
                        }
                    },
                };
            }
            &mut *(*flinfo).fn_extra.cast::<Self>()
        };
        work(site)
    }

    /// A new record, in `memory`.
    fn made(
        call: Call,
        caller: SupportFunction,
        aggregate: &'static Aggregate<M>,
        memory: MemoryContext,
    ) -> Result<*mut c_void, Refusal> {
        let site = Self::new(call, caller, aggregate, memory)?;
        let site = PgMemoryContexts::For(memory).leak_and_drop_on_delete(site);
        Ok(site.cast())
    }

    fn new(
        call: Call,
        caller: SupportFunction,
        aggregate: &'static Aggregate<M>,
        memory: MemoryContext,
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
        let is_final = caller == SupportFunction::Final;
        let mut finding = Finding {
            memory,
            warns: is_final && signature.has(Role::Epsilon),
            computed: Vec::new(),
            refused: None,
        };
        let arguments = finding.sources(&planned, name, signature);
        let input = signature.input(&planned, name).unwrap_or_else(|refusal| {
            finding.refused.get_or_insert(refusal);
            Input::Value
        });
        // SAFETY: fcinfo is PostgreSQL's own.
        let collation = unsafe { (*call.fcinfo()).fncollation };
        let of_ids = signature.id_type(&planned);
        let hashing = of_ids.and_then(|of| Hashing::of(of, collation));
        if of_ids.is_some() && hashing.is_none() {
            finding.refused.get_or_insert(errors::no_hash_of_ids(name));
        }
        let refused = finding.refused.take();
        let contributions = signature.contributions(&planned);
        let takes_contributions = !contributions.is_empty();
        // A call that spends nothing is about no groups.
        let (kept, apart) = if is_final && signature.has(Role::Epsilon) {
            finding.kept(&planned, name)
        } else {
            (Vec::new(), true)
        };
        let taken = contributions.into_iter().filter(|_| is_final);
        let origins = taken.flat_map(|(i, bounds)| finding.origins(&planned, i, bounds));
        let origins = Vec::from_iter(origins);
        let (computed, refused_origin) = (finding.computed, finding.refused);
        Ok(Self {
            aggregate,
            arguments,
            computed,
            refused,
            input,
            hashing,
            takes_contributions,
            origins,
            kept,
            apart,
            refused_origin,
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

    /// How ids become hashes.
    ///
    /// # Errors
    /// There are none, or they cannot.
    pub fn hashing(&self) -> Result<Hashing, Refusal> {
        self.check()?;
        self.hashing
            .ok_or_else(|| errors::no_hash_of_ids(self.aggregate.name))
    }

    /// The hash of an id, where the call site is known and nothing of PostgreSQL's must be called. Cannot panic.
    ///
    /// # Safety
    /// PostgreSQL's own fcinfo, of a function of ours that calls with this type `M`; `id` is its id.
    #[inline(always)]
    pub unsafe fn plain_hash(fcinfo: FunctionCallInfo, id: Datum) -> Option<u64> {
        // SAFETY: fn_extra is NULL or what `with` put there; see there. No other reference to it exists while
        // PostgreSQL calls us.
        unsafe {
            let site = (*(*fcinfo).flinfo).fn_extra.cast::<Self>();
            let site = site.as_ref()?;
            site.hashing.as_ref()?.of_plain(id)
        }
    }

    /// The privacy unit of the call, where the call site is known and no argument is computed. Cannot panic.
    ///
    /// # Safety
    /// PostgreSQL's own fcinfo, of a function of ours that calls with this type `M`.
    #[inline(always)]
    pub unsafe fn plain_unit(fcinfo: FunctionCallInfo) -> Option<Unit> {
        // SAFETY: as for `plain_hash`.
        unsafe {
            let site = (*(*fcinfo).flinfo).fn_extra.cast::<Self>();
            let site = site.as_ref()?;
            let is_plain = site.refused.is_none() && site.built_from_constants();
            site.built
                .as_ref()
                .filter(|_| is_plain)
                .map(|built| built.unit)
        }
    }

    /// How the data come.
    pub fn input(&self) -> Input {
        self.input
    }

    /// The mechanism for the arguments as the plan gives them and as they were computed last.
    pub fn mechanism_of_plan(&mut self) -> Result<&M, Refusal> {
        self.check()?;
        if !self.built_from_constants() {
            self.build(self.values(&self.arguments))?;
        }
        self.check_origins()?;
        Ok(self.mechanism())
    }

    /// The values of arguments, as the plan gives them and as they were computed last.
    fn values(&self, sources: &Sources) -> Values {
        let value = |source: Source| match source {
            Source::Constant(value) => value,
            Source::Computed(i) => self.computed[i].value(),
        };
        let arguments = sources.iter();
        let arguments = arguments.map(|(parameter, source)| (*parameter, value(*source)));
        // SAFETY: the types are those of the SQL declaration, by the check of the signature.
        unsafe { Values::read(arguments) }
    }

    /// Checks the calls that make the contributions: their own arguments, which they do not refuse themselves, as
    /// an ERROR of theirs would tell that there is a row; and that this call has the same.
    fn check_origins(&self) -> Result<(), Refusal> {
        let (Some(built), name) = (&self.built, self.aggregate.name) else {
            return Ok(());
        };
        self.refused_origin.clone().map_or(Ok(()), Err)?;
        let mut kept = 0;
        for place in &self.kept {
            let mut most = 0;
            for groups in place {
                let groups = self.values(groups).groups();
                most = most.max(groups.map_err(|error| errors::parameter(GROUPS, &error))?);
            }
            kept += u64::from(most);
        }
        if kept > u64::from(built.unit.groups) {
            return Err(errors::other_groups(name, built.unit.groups, kept));
        }
        // Several contributions of a person in one group would be more than its share of the budget.
        if kept > 1 && !self.apart {
            return Err(errors::not_by_keys(name));
        }
        for MadeBy {
            name: made_by,
            sources,
            bounds,
        } in &self.origins
        {
            let values = self.values(sources);
            let mut arguments = values.arguments(Input::Value);
            // Rows themselves have none, and are counted.
            arguments.bounds.get_or_insert((Some(0.0), Some(1.0)));
            let rule = ContributionRule::new(&arguments)
                .map_err(|error| errors::parameter(made_by, &error))?;
            if let Some(bound) = built.values.changed_bound(*bounds, &values) {
                return Err(errors::other_bound(name, bound, made_by));
            }
            if rule.k != built.unit.rows {
                return Err(errors::other_rows(name, built.unit.rows, rule.k, made_by));
            }
        }
        Ok(())
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
        &self.built().made.mechanism
    }

    /// What a release by the mechanism that was built last protects, and costs.
    pub fn price(&self) -> Price {
        let Built { made, unit, .. } = self.built();
        let of_people = self.takes_contributions || !self.kept.is_empty();
        Price {
            unit: match self.aggregate.signature.has(Role::Id) {
                true => "id (all of its rows)".to_owned(),
                false => unit.description(of_people),
            },
            spent: Rc::clone(&made.spent),
        }
    }

    fn built(&self) -> &Built<M> {
        self.built.as_ref().expect("built before it is asked for")
    }

    /// Whether the rows of the call are contributions of persons.
    pub fn takes_contributions(&self) -> bool {
        self.takes_contributions
    }

    /// The privacy unit by which the mechanism, which was asked for, shares its budget. No contribution may be more.
    pub fn unit(&self) -> Unit {
        self.built().unit
    }

    /// Whether what was built is for good.
    #[inline(always)]
    fn built_from_constants(&self) -> bool {
        self.built.is_some() && self.computed.is_empty()
    }

    /// Builds the mechanism, unless it was built from the same values.
    fn build(&mut self, values: Values) -> Result<(), Refusal> {
        if self.built.as_ref().is_some_and(|of| of.values == values) {
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
        self.built = Some(Built {
            unit: values.unit(),
            values,
            made,
        });
        Ok(())
    }
}
