//! Finds the arguments of an aggregate's call in the query plan.
//!
//! With no rows the transition function never runs, and the final function sees no state; the
//! arguments still stand in the plan. It also shows whether an argument depends on the rows, so
//! both the transition and the final function look here, once per call site.

use pgrx::pg_sys::{self, AggState, Aggref, Datum, Expr, NodeTag, Plan, TargetEntry};

use crate::citus::partial_state::{self, Carried};
use crate::citus::wrapper::{self, Side, Wrapped};
use crate::pg::fmgr::Call;
use crate::pg::nodes::{children, elements};
use crate::pg::{sql_type, stack};
use crate::plan::subselect;

#[cfg(feature = "pg_test")]
pub mod tests;

/// Attributes of `pg_aggregate`, whose struct is not among the bindings.
const AGGTRANSFN: i16 = 4;
const AGGFINALFN: i16 = 5;

/// Which support function asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SupportFunction {
    Transition,
    Final,
}

/// Why there are no arguments.
pub enum Missing {
    /// The caller is no aggregate of this extension.
    NotOurs,
    /// A plan node that is not known here stands between the call and its arguments.
    Hidden,
}

/// An aggregate's call in the plan, with its arguments.
pub struct PlannedCall {
    pub(super) aggregate: *mut AggState,
    /// The node that has the expressions: the aggregate's own, or a partial one below it.
    pub(super) plan: *mut Plan,
    /// The expressions, in the order of the SQL declaration.
    pub(super) arguments: Vec<*mut Expr>,
    /// Whether the last one was given as VARIADIC.
    variadic: bool,
    /// The type of its state.
    pub(super) state: pg_sys::Oid,
}

/// One argument's expression.
#[derive(Clone, Copy)]
pub enum Argument {
    /// A constant: its value, `None` for NULL.
    Constant(Option<Datum>),
    /// To be computed again for each release: it may change when the plan is run again with other
    /// parameters.
    Computed(Computation),
}

/// An argument that is computed, and what came of it last.
#[derive(Clone, Copy)]
pub struct Computation {
    state: *mut pg_sys::ExprState,
    value: pg_sys::NullableDatum,
}

impl Computation {
    /// What was computed last, `None` for NULL. What is stored by reference lives until the aggregate goes on
    /// to the next group.
    pub fn value(&self) -> Option<Datum> {
        (!self.value.isnull).then_some(self.value.value)
    }
}

/// The arguments to compute before a release.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Computations {
    first: *mut Computation,
    count: usize,
}

impl Computations {
    /// All of these. They must stay where they are until they are computed.
    pub fn of(computations: &mut [Computation]) -> Self {
        Self {
            first: computations.as_mut_ptr(),
            count: computations.len(),
        }
    }

    /// Computes each one.
    ///
    /// **Unguarded**: an ERROR that is raised in an expression leaves by PostgreSQL's own way, with all that
    /// is in it. (pgrx would make another of it, without its CONTEXT, and without an SQLSTATE that
    /// it does not know.) So neither this function nor its callers up to PostgreSQL may own anything that
    /// needs dropping.
    ///
    /// # Safety
    /// They were found for the call site that `fcinfo` belongs to, in this query, and nothing else refers to
    /// them. The caller is the C function that PostgreSQL calls.
    #[inline(always)]
    pub unsafe fn compute(self, fcinfo: pg_sys::FunctionCallInfo) {
        let mut i = 0;
        // SAFETY: the caller is the aggregate that the expressions were prepared for; its expression context
        // carries the parameters. Results by reference go to the context's per-tuple memory.
        unsafe {
            while i < self.count {
                let computation = self.first.add(i);
                let aggregate = (*fcinfo).context.cast::<AggState>();
                let econtext = (*aggregate).ss.ps.ps_ExprContext;
                let before = pg_sys::CurrentMemoryContext;
                pg_sys::CurrentMemoryContext = (*econtext).ecxt_per_tuple_memory;
                if let Some(evaluate) = (*(*computation).state).evalfunc {
                    let null = &raw mut (*computation).value.isnull;
                    (*computation).value.value = evaluate((*computation).state, econtext, null);
                }
                pg_sys::CurrentMemoryContext = before;
                i += 1;
            }
        }
    }
}

/// Whether a call is made for each value of one of its arguments, as far as the plan shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    Same,
    Other,
    /// PostgreSQL 16 and later drop what is one value from GROUP BY, and then the plan has no columns of it.
    Hidden,
}

impl PlannedCall {
    /// The call that `call`, a support function, runs for.
    pub fn find(call: Call, caller: SupportFunction) -> Result<Self, Missing> {
        if !call.in_aggregate() {
            return Err(Missing::NotOurs);
        }
        // SAFETY: an aggregate is the caller, so its context is an AggState with a plan, and all
        // nodes reached from it are the executor's, valid while the query runs. Each cast follows
        // a check of the node's tag.
        unsafe {
            let aggref = pg_sys::AggGetAggref(call.fcinfo()).cast::<Aggref>();
            if aggref.is_null() {
                return Err(Missing::NotOurs);
            }
            let function = (*call.flinfo()).fn_oid;
            if let Some(wrapped) = wrapper::wrapped(call) {
                let Wrapped {
                    side, aggregate, ..
                } = *wrapped;
                if !is_ours(aggregate, caller, function) {
                    return Err(Missing::NotOurs);
                }
                let found = match (caller, side) {
                    (SupportFunction::Transition, Side::Worker) => Self::on_worker(call),
                    (SupportFunction::Final, Side::Coordinator) => Self::of_parts(call, aggregate),
                    _ => return Err(Missing::NotOurs),
                };
                return found.ok_or(Missing::Hidden);
            }
            if !is_ours((*aggref).aggfnoid, caller, function) {
                return Err(Missing::NotOurs);
            }
            let aggregate = (*call.fcinfo()).context.cast::<AggState>();
            let plan = (*aggregate).ss.ps.plan;
            let (aggref, plan) = if (*aggref).aggsplit & pg_sys::AGGSPLITOP_COMBINE != 0 {
                partial(aggref, plan).ok_or(Missing::Hidden)?
            } else {
                (aggref, plan)
            };
            Ok(Self::of(aggregate, plan, aggref))
        }
    }

    /// The call of ours that `worker_partial_agg` of Citus makes, if it is what `call` runs for.
    pub fn on_worker(call: Call) -> Option<Self> {
        if !matches!(wrapper::wrapped(call), Some(wrapped) if wrapped.side == Side::Worker) {
            return None;
        }
        // SAFETY: see `find`; the second argument is the row of ours.
        unsafe {
            let aggref = pg_sys::AggGetAggref(call.fcinfo()).cast::<Aggref>();
            let aggregate = (*call.fcinfo()).context.cast::<AggState>();
            let plan = (*aggregate).ss.ps.plan;
            let row = (*elements::<TargetEntry>((*aggref).args).nth(1)?).expr;
            let row = match outer_column(row) {
                Some(column) if pg_sys::exprType(row.cast()) == pg_sys::RECORDOID => {
                    computed_below(plan, column)?
                }
                _ => row,
            };
            Some(Self {
                aggregate,
                plan,
                arguments: wrapper::arguments(row)?,
                variadic: (*aggref).aggvariadic,
                state: sql_type::own_type(c"dp_state"),
            })
        }
    }

    /// The call of the parts that `coord_combine_agg` of Citus has put together: its arguments came with them.
    ///
    /// # Safety
    /// `call` is one of the final function of `of`, an aggregate of ours.
    unsafe fn of_parts(call: Call, of: pg_sys::Oid) -> Option<Self> {
        // SAFETY: see `find`; the SQL declaration makes argument 0 a dp_state.
        unsafe {
            let aggregate = (*call.fcinfo()).context.cast::<AggState>();
            let parts = Carried::of(call.datum(0)?).filter(|parts| parts.aggregate() == of)?;
            let types = wrapper::types_of(of);
            let values = partial_state::values(&types, parts.call())?;
            let arguments = types.into_iter().zip(values);
            let arguments = arguments.map(|(kind, value)| match value {
                None => wrapper::of_rows(kind),
                Some(value) => wrapper::constant(kind, value),
            });
            Some(Self {
                aggregate,
                plan: (*aggregate).ss.ps.plan,
                arguments: arguments.collect(),
                variadic: false,
                state: sql_type::own_type(c"dp_state"),
            })
        }
    }

    /// The call `aggref` of the node `plan`, with arguments to be computed by `aggregate`.
    ///
    /// # Safety
    /// All of it belongs to one plan, which runs.
    pub(super) unsafe fn of(
        aggregate: *mut AggState,
        plan: *mut Plan,
        aggref: *mut Aggref,
    ) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe {
            let arguments = elements::<TargetEntry>((*aggref).args)
                .filter(|entry| !(**entry).resjunk)
                .map(|entry| (*entry).expr)
                .collect();
            Self {
                aggregate,
                plan,
                arguments,
                variadic: (*aggref).aggvariadic,
                state: (*aggref).aggtranstype,
            }
        }
    }

    /// Whether the last argument is an array that was given as VARIADIC.
    pub fn is_variadic(&self) -> bool {
        self.variadic
    }

    /// The type of each argument.
    pub fn types(&self) -> impl Iterator<Item = pg_sys::Oid> {
        let arguments = self.arguments.iter();
        // SAFETY: the expressions are the plan's; see `find`.
        arguments.map(|expr| unsafe { pg_sys::exprType(expr.cast()) })
    }

    /// How many arguments the call has.
    pub fn len(&self) -> usize {
        self.arguments.len()
    }

    /// The call of a function that argument `i` is: its name, and its own arguments; `None` for another expression.
    /// They are computed as those of this call.
    pub fn function(&self, i: usize) -> Option<(String, Self)> {
        let expr = *self.arguments.get(i)?;
        // SAFETY: the expressions are the plan's; see `find`. The cast follows a check of the tag; the name is a C
        // string in PostgreSQL's memory.
        unsafe {
            if (*expr).type_ != NodeTag::T_FuncExpr {
                return None;
            }
            let function = expr.cast::<pg_sys::FuncExpr>();
            let name = pg_sys::get_func_name((*function).funcid);
            if name.is_null() {
                return None;
            }
            let call = Self {
                arguments: elements((*function).args).collect(),
                variadic: false,
                ..*self
            };
            let name = std::ffi::CStr::from_ptr(name);
            Some((name.to_string_lossy().into_owned(), call))
        }
    }

    /// The collation of argument `i`.
    pub fn collation(&self, i: usize) -> pg_sys::Oid {
        match self.arguments.get(i) {
            // SAFETY: the expressions are the plan's; see `find`.
            Some(expr) => unsafe { pg_sys::exprCollation(expr.cast()) },
            None => pg_sys::Oid::INVALID,
        }
    }

    /// Whether the call is made for each value of argument `i`: it has GROUP BY, and by nothing else.
    pub fn grouping_by(&self, i: usize) -> Grouping {
        // SAFETY: the node and the expressions are the plan's; see `find`. The tag says which struct it is, and an
        // Agg has as many columns as it says.
        unsafe {
            let Some(expr) = self.arguments.get(i) else {
                return Grouping::Other;
            };
            if (*self.plan).type_ != NodeTag::T_Agg {
                return Grouping::Other;
            }
            let node = self.plan.cast::<pg_sys::Agg>();
            let by = usize::try_from((*node).numCols).unwrap_or(0);
            let is_grouped = (*node).aggstrategy != pg_sys::AggStrategy::AGG_PLAIN
                && (*node).groupingSets.is_null()
                && (*node).chain.is_null()
                && (0..by).all(|i| outer_column(*expr) == Some(*(*node).grpColIdx.add(i)));
            match (is_grouped, by) {
                (false, _) => Grouping::Other,
                (true, 0) => Grouping::Hidden,
                (true, _) => Grouping::Same,
            }
        }
    }

    /// The argument at `i`, ready to be computed, or `None` if it could differ from row to row.
    /// What is made lives in `memory`.
    pub fn argument(&self, i: usize, memory: pg_sys::MemoryContext) -> Option<Argument> {
        // SAFETY: the expressions are the plan's; see `find`.
        unsafe {
            let expr = self.without_rows(*self.arguments.get(i)?)?;
            if (*expr).type_ == NodeTag::T_Const {
                let constant = expr.cast::<pg_sys::Const>();
                let value = (!(*constant).constisnull).then_some((*constant).constvalue);
                return Some(Argument::Constant(value));
            }
            let econtext = (*self.aggregate).ss.ps.ps_ExprContext;
            let before = pg_sys::MemoryContextSwitchTo(memory);
            // Without a parent node: sub-plans were refused, so nothing in it needs one.
            let state = pg_sys::ExecInitExprWithParams(expr, (*econtext).ecxt_param_list_info);
            pg_sys::MemoryContextSwitchTo(before);
            Some(Argument::Computed(Computation {
                state,
                value: pg_sys::NullableDatum {
                    value: Datum::null(),
                    isnull: true,
                },
            }))
        }
    }

    /// Whether the argument at `i` is looked up in a table that the rows come from.
    pub fn is_looked_up(&self, i: usize) -> bool {
        // SAFETY: the expressions are the plan's; see `find`.
        unsafe {
            let query = (*self.aggregate).ss.ps.state;
            let expr = self
                .arguments
                .get(i)
                .and_then(|expr| self.without_rows(*expr));
            expr.is_some_and(|expr| {
                subselect::looks_at_the_rows((*query).es_plannedstmt, self.plan, expr, self.state)
            })
        }
    }

    /// The expression itself if it does not look at rows; the expression it represents where a
    /// plan node below has computed it (`GROUP BY $1` with the same `$1` as the argument) and
    /// that one does not; else `None`.
    unsafe fn without_rows(&self, expr: *mut Expr) -> Option<*mut Expr> {
        // SAFETY: see `find`.
        unsafe {
            let expr = match outer_column(expr) {
                Some(column) => computed_below(self.plan, column)?,
                None => expr,
            };
            (!depends_on_rows(expr)).then_some(expr)
        }
    }
}

/// Whether `call`, of a transition function, makes a part of a group's state, which a Finalize node combines
/// with others, or another server does.
pub fn is_partial(call: Call) -> bool {
    // SAFETY: where an aggregate is the caller, PostgreSQL knows its call; an Aggref lives in the plan.
    unsafe {
        if !call.in_aggregate() {
            return false;
        }
        let aggref = pg_sys::AggGetAggref(call.fcinfo()).cast::<Aggref>();
        !aggref.is_null()
            && ((*aggref).aggsplit & pg_sys::AGGSPLITOP_SKIPFINAL != 0
                || wrapper::wrapped(call).is_some())
    }
}

/// Whether aggregate `aggregate` has `function` as this support function: an aggregate that somebody built
/// otherwise, and merely reaches our code, is reported apart.
unsafe fn is_ours(aggregate: pg_sys::Oid, which: SupportFunction, function: pg_sys::Oid) -> bool {
    let attribute = match which {
        SupportFunction::Transition => AGGTRANSFN,
        SupportFunction::Final => AGGFINALFN,
    };
    let cache = pg_sys::SysCacheIdentifier::AGGFNOID as i32;
    // SAFETY: a catalog look-up by oid; the tuple is released before its copy of an oid is used.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(aggregate));
        if tuple.is_null() {
            return false;
        }
        let mut null = false;
        let datum = pg_sys::SysCacheGetAttr(cache, tuple, attribute, &mut null);
        pg_sys::ReleaseSysCache(tuple);
        !null && datum.value() as u32 == function.to_u32()
    }
}

/// The partial call whose states `finalize`, a call that combines states, takes in: PostgreSQL
/// leaves in it only a reference to a column of the node below, so follow that down, to the call
/// and its node. `None` where a node in between is not known.
pub unsafe fn partial(
    finalize: *mut Aggref,
    mut plan: *mut Plan,
) -> Option<(*mut Aggref, *mut Plan)> {
    // SAFETY: see `find`; every plan node starts with a Plan.
    unsafe {
        let only = elements::<TargetEntry>((*finalize).args).next()?;
        let mut expr = (*only).expr;
        loop {
            if (*expr).type_ == NodeTag::T_Aggref {
                return Some((expr.cast(), plan));
            }
            let (below, column) = source(plan, expr)?;
            plan = below;
            expr = target(plan, column)?;
        }
    }
}

/// What column `column` of the node below `plan` computes, followed down to the node that
/// computes it. Through an Append every child must compute the same.
unsafe fn computed_below(plan: *mut Plan, column: i16) -> Option<*mut Expr> {
    stack::check();
    // SAFETY: see `find`.
    unsafe {
        let mut common: Option<*mut Expr> = None;
        for child in children(plan) {
            let expr = target(child, column)?;
            let expr = match outer_column(expr) {
                Some(column) => computed_below(child, column)?,
                None => expr,
            };
            if common.is_some_and(|common| !pg_sys::equal(common.cast(), expr.cast())) {
                return None;
            }
            common = Some(expr);
        }
        common
    }
}

/// Where `expr`, in the target list of `plan`'s node, comes from: the first node below, and the
/// column there.
unsafe fn source(plan: *mut Plan, expr: *mut Expr) -> Option<(*mut Plan, i16)> {
    // SAFETY: see `find`.
    unsafe {
        let column = if (*plan).type_ == NodeTag::T_SubqueryScan {
            let scan = plan.cast::<pg_sys::SubqueryScan>();
            column_of(expr, (*scan).scan.scanrelid as i32)?
        } else {
            outer_column(expr)?
        };
        Some((children(plan).next()?, column))
    }
}

/// Entry `column`, counted from 1, of a node's target list.
pub(super) unsafe fn target(plan: *mut Plan, column: i16) -> Option<*mut Expr> {
    let i = usize::try_from(column).ok()?.checked_sub(1)?;
    // SAFETY: see `find`.
    unsafe {
        elements::<TargetEntry>((*plan).targetlist)
            .nth(i)
            .map(|entry| (*entry).expr)
    }
}

/// The column number of a plain reference to the node below.
unsafe fn outer_column(expr: *mut Expr) -> Option<i16> {
    // SAFETY: see `find`.
    unsafe { column_of(expr, pg_sys::OUTER_VAR) }
}

/// The column number of a plain reference to relation `relation`.
unsafe fn column_of(expr: *mut Expr, relation: i32) -> Option<i16> {
    // SAFETY: the tag is checked before the cast.
    unsafe {
        let var = expr.cast::<pg_sys::Var>();
        ((*expr).type_ == NodeTag::T_Var && (*var).varno == relation).then(|| (*var).varattno)
    }
}

/// Whether an expression could differ from row to row. One that was followed down may be what a
/// node below computes from its rows without naming a column: `count(*)`, a window function, a set.
unsafe fn depends_on_rows(expr: *mut Expr) -> bool {
    let node = expr.cast::<pg_sys::Node>();
    // SAFETY: the expression is a valid node tree.
    unsafe {
        pg_sys::contain_var_clause(node)
            || pg_sys::contain_volatile_functions(node)
            || pg_sys::contain_subplans(node)
            || pg_sys::contain_agg_clause(node)
            || pg_sys::contain_window_function(node)
            || pg_sys::expression_returns_set(node)
    }
}
