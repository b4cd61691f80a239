//! Finds the aggregate's call that a column of contributions comes from, as far as the plan shows it: through
//! sub-selects, WITH, joins, sorts, parallel parts, and the function that makes rows of the groups that are kept of a
//! person. What it does not find has no name here: a table, another function, a node that is not known.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use pgrx::pg_sys::{
    self, Agg, Aggref, CteScan, Expr, FuncExpr, FunctionScan, NestLoop, NestLoopParam, NodeTag,
    Oid, Param, Plan, PlannedStmt, RangeTblFunction, RelabelType, SubqueryScan, Var,
};

use crate::pg::nodes::{children, elements, integers};
use crate::pg::{sql_type, stack};
use crate::plan::planned_call::{PlannedCall, partial, target};

/// A call in the plan that contributions come from.
pub enum CallOrigin {
    /// The one that made them.
    Call(PlannedCall),
    /// The one that kept groups of each person: they are its column `column`, counted from 0.
    Column { groups: PlannedCall, column: usize },
}

/// A place in the plan where rows are made of the groups that are kept.
pub struct Unnested {
    /// The types of the columns with their collations, as the query declares them.
    pub columns: Vec<(Oid, Oid)>,
    /// Of each column whether the call is made for each value of it.
    pub grouped: Vec<bool>,
    /// The calls that kept them; none where the plan does not show it.
    pub calls: Vec<PlannedCall>,
}

/// What is looked for in a plan.
struct Search {
    statement: *mut PlannedStmt,
    /// The type of the aggregates' states.
    state: Oid,
    /// The type of groups that are kept.
    groups: Oid,
    /// The calls whose groups a function makes rows of, once they were looked for.
    kept: RefCell<BTreeMap<*mut RangeTblFunction, Vec<Found>>>,
}

#[cfg(feature = "pg_test")]
pub mod tests;

/// A call in the plan, and the node that has its arguments' expressions.
type Found = (*mut Aggref, *mut Plan);

/// Where a value comes from: a call, or a column of the rows that are made of what calls have kept.
enum Source {
    Call(Found),
    Column(Found, usize),
}

/// What was found on the way down from one expression.
#[derive(Default)]
struct Sources {
    all: Vec<Source>,
    /// The nodes and expressions that the way has led to: a WITH that is named twice is followed once.
    seen: BTreeSet<(*mut Plan, *mut Expr)>,
}

impl Search {
    /// For the calls below `planned`.
    ///
    /// # Safety
    /// The plan of the call runs.
    unsafe fn of(planned: &PlannedCall) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe {
            let query = (*planned.aggregate).ss.ps.state;
            Self {
                statement: (*query).es_plannedstmt,
                state: planned.state,
                groups: sql_type::own_type(c"dp_groups"),
                kept: RefCell::default(),
            }
        }
    }
}

/// The calls of aggregates of this extension that argument `i` of a call comes from, as far as the plan shows.
/// Their arguments are computed as those of the call itself.
pub fn origins(planned: &PlannedCall, i: usize) -> Vec<CallOrigin> {
    let Some(expr) = planned.arguments.get(i) else {
        return Vec::new();
    };
    let mut found = Sources::default();
    // SAFETY: all of it belongs to the plan of the call, which runs.
    unsafe {
        let search = Search::of(planned);
        search.follow(&mut vec![planned.plan], *expr, &mut found);
        let call = |(call, plan)| PlannedCall::of(planned.aggregate, plan, call);
        let origin = |source| match source {
            Source::Call(found) => CallOrigin::Call(call(found)),
            Source::Column(found, column) => CallOrigin::Column {
                groups: call(found),
                column,
            },
        };
        found.all.into_iter().map(origin).collect()
    }
}

/// Where the rows of a call are made of groups that are kept of persons, as far as the plan shows.
pub fn unnested(planned: &PlannedCall) -> Vec<Unnested> {
    let mut found = Vec::new();
    // SAFETY: all of it belongs to the plan of the call, which runs.
    unsafe {
        let search = Search::of(planned);
        let keys = search.grouped_by(planned.plan);
        let seen = &mut BTreeSet::new();
        search.walk(&mut vec![planned.plan], seen, &mut |path, function| {
            let calls = search.kept(path, function);
            let call = |(call, plan)| PlannedCall::of(planned.aggregate, plan, call);
            let (types, collations) = ((*function).funccoltypes, (*function).funccolcollations);
            let columns = Vec::from_iter(oids(types).into_iter().zip(oids(collations)));
            let grouped = (0..columns.len()).map(|i| keys.contains(&(function, i)));
            found.push(Unnested {
                grouped: grouped.collect(),
                columns,
                calls: calls.into_iter().map(call).collect(),
            });
        });
    }
    found
}

/// The elements of a list of oids.
///
/// # Safety
/// A list of oids, of a plan that lives.
unsafe fn oids(list: *mut pg_sys::List) -> Vec<Oid> {
    // SAFETY: the caller guarantees it; a cell has an oid where it has an integer.
    let numbers = unsafe { integers(list) };
    numbers
        .into_iter()
        .map(|number| Oid::from_u32(number as u32))
        .collect()
}

impl Search {
    /// Adds what `expr`, of the last node of `path`, comes from. The path leads down to it.
    ///
    /// # Safety
    /// All of it belongs to one plan, which lives.
    unsafe fn follow(&self, path: &mut Vec<*mut Plan>, expr: *mut Expr, found: &mut Sources) {
        stack::check();
        let Some(plan) = path.last().copied() else {
            return;
        };
        if !found.seen.insert((plan, expr)) {
            return;
        }
        // SAFETY: the caller guarantees it; each cast follows a check of the node's tag.
        unsafe {
            match (*expr).type_ {
                NodeTag::T_RelabelType => {
                    self.follow(path, (*expr.cast::<RelabelType>()).arg, found);
                }
                NodeTag::T_Aggref => {
                    let call = expr.cast::<Aggref>();
                    let origin = if (*call).aggsplit & pg_sys::AGGSPLITOP_COMBINE != 0 {
                        partial(call, plan)
                    } else {
                        Some((call, plan))
                    };
                    let origin = origin.filter(|(call, _)| (**call).aggtranstype == self.state);
                    found.all.extend(origin.map(Source::Call));
                }
                NodeTag::T_Var => {
                    let Var {
                        varno, varattno, ..
                    } = *expr.cast::<Var>();
                    if (*plan).type_ == NodeTag::T_FunctionScan {
                        let scan = plan.cast::<FunctionScan>();
                        if varno == (*scan).scan.scanrelid as i32
                            && let Some((function, column)) = column_of(scan, varattno)
                        {
                            let calls = self.kept(path, function).into_iter();
                            found
                                .all
                                .extend(calls.map(|call| Source::Column(call, column)));
                        }
                        return;
                    }
                    for below in self.sources(plan, varno) {
                        if let Some(expr) = target(below, varattno) {
                            path.push(below);
                            self.follow(path, expr, found);
                            path.pop();
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The columns of functions that an aggregate's node groups by: those themselves, not what is made of them.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn grouped_by(&self, plan: *mut Plan) -> Vec<(*mut RangeTblFunction, usize)> {
        let mut found = Vec::new();
        let seen = &mut BTreeSet::new();
        // SAFETY: the caller guarantees it; the cast follows a check of the node's tag, and an Agg has as many columns
        // as it says.
        unsafe {
            if (*plan).type_ != NodeTag::T_Agg {
                return found;
            }
            let node = plan.cast::<Agg>();
            if !(*node).groupingSets.is_null() || !(*node).chain.is_null() {
                return found;
            }
            for i in 0..usize::try_from((*node).numCols).unwrap_or(0) {
                let column = *(*node).grpColIdx.add(i);
                self.columns(plan, pg_sys::OUTER_VAR, column, seen, &mut found);
            }
        }
        found
    }

    /// Adds the columns of functions that a Var, in the target list or the arguments of a node, represents.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn columns(
        &self,
        plan: *mut Plan,
        number: i32,
        column: i16,
        seen: &mut BTreeSet<(*mut Plan, i32, i16)>,
        found: &mut Vec<(*mut RangeTblFunction, usize)>,
    ) {
        stack::check();
        if !seen.insert((plan, number, column)) {
            return;
        }
        // SAFETY: the caller guarantees it; each cast follows a check of the node's tag.
        unsafe {
            if (*plan).type_ == NodeTag::T_FunctionScan {
                let scan = plan.cast::<FunctionScan>();
                if number == (*scan).scan.scanrelid as i32 {
                    found.extend(column_of(scan, column));
                }
                return;
            }
            for below in self.sources(plan, number) {
                if let Some(expr) = target(below, column)
                    && (*expr).type_ == NodeTag::T_Var
                {
                    let var = *expr.cast::<Var>();
                    self.columns(below, var.varno, var.varattno, seen, found);
                }
            }
        }
    }

    /// The calls whose groups `function`, of the last node of `path`, makes rows of.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn kept(&self, path: &[*mut Plan], function: *mut RangeTblFunction) -> Vec<Found> {
        if let Some(known) = self.kept.borrow().get(&function) {
            return known.clone();
        }
        // SAFETY: the caller guarantees it.
        let calls = unsafe { self.calls(path, function) };
        self.kept.borrow_mut().insert(function, calls.clone());
        calls
    }

    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn calls(&self, path: &[*mut Plan], function: *mut RangeTblFunction) -> Vec<Found> {
        // SAFETY: the caller guarantees it.
        unsafe {
            let Some(argument) = self.argument(function) else {
                return Vec::new();
            };
            if (*argument).type_ != NodeTag::T_Param {
                return Vec::new();
            }
            let Param {
                paramkind, paramid, ..
            } = *argument.cast::<Param>();
            if paramkind != pg_sys::ParamKind::PARAM_EXEC {
                return Vec::new();
            }
            // A join above hands the value down.
            for i in (0..path.len()).rev() {
                if (*path[i]).type_ != NodeTag::T_NestLoop {
                    continue;
                }
                let parameters = (*path[i].cast::<NestLoop>()).nestParams;
                let given = elements::<NestLoopParam>(parameters)
                    .find(|parameter| (**parameter).paramno == paramid);
                if let Some(given) = given {
                    let (mut above, mut found) = (path[..=i].to_vec(), Sources::default());
                    self.follow(&mut above, (*given).paramval.cast(), &mut found);
                    let calls = found.all.into_iter().filter_map(|source| match source {
                        Source::Call(call) => Some(call),
                        Source::Column(..) => None,
                    });
                    return calls.collect();
                }
            }
            Vec::new()
        }
    }

    /// The argument of a function that makes rows of groups; `None` of another function.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn argument(&self, function: *mut RangeTblFunction) -> Option<*mut Expr> {
        // SAFETY: the caller guarantees it; the cast follows a check of the tag.
        unsafe {
            let call = (*function).funcexpr.cast::<FuncExpr>();
            if call.is_null() || (*call).xpr.type_ != NodeTag::T_FuncExpr {
                return None;
            }
            let argument = elements::<Expr>((*call).args).next()?;
            let kind = pg_sys::exprType(argument.cast());
            (kind == self.groups && kind != Oid::INVALID).then_some(argument)
        }
    }

    /// Calls `visit` for each function that makes rows of groups, with the way down to its node: below the last node
    /// of `path`, but not below another aggregate's.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn walk(
        &self,
        path: &mut Vec<*mut Plan>,
        seen: &mut BTreeSet<*mut Plan>,
        visit: &mut impl FnMut(&[*mut Plan], *mut RangeTblFunction),
    ) {
        stack::check();
        let Some(plan) = path.last().copied() else {
            return;
        };
        if !seen.insert(plan) {
            return;
        }
        // SAFETY: the caller guarantees it; each cast follows a check of the node's tag.
        unsafe {
            if (*plan).type_ == NodeTag::T_FunctionScan {
                for function in elements((*plan.cast::<FunctionScan>()).functions) {
                    if self.argument(function).is_some() {
                        visit(path, function);
                    }
                }
            }
            for below in self.inputs(plan) {
                if (*below).type_ != NodeTag::T_Agg {
                    path.push(below);
                    self.walk(path, seen, visit);
                    path.pop();
                }
            }
        }
    }

    /// The nodes whose rows a node reads.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn inputs(&self, plan: *mut Plan) -> Vec<*mut Plan> {
        // SAFETY: the caller guarantees it; every plan node starts with a Plan.
        unsafe {
            match (*plan).type_ {
                NodeTag::T_Append | NodeTag::T_MergeAppend | NodeTag::T_SubqueryScan => {
                    children(plan).collect()
                }
                NodeTag::T_CteScan => self.sources(plan, 0),
                _ => [(*plan).lefttree, (*plan).righttree]
                    .into_iter()
                    .filter(|below| !below.is_null())
                    .collect(),
            }
        }
    }

    /// The nodes whose columns a Var with this number, in a node's target list or arguments, represents.
    ///
    /// # Safety
    /// As for [`follow`](Self::follow).
    unsafe fn sources(&self, plan: *mut Plan, number: i32) -> Vec<*mut Plan> {
        // SAFETY: the caller guarantees it; every plan node starts with a Plan.
        unsafe {
            let side = |node: *mut Plan| Vec::from_iter((!node.is_null()).then_some(node));
            match (number, (*plan).type_) {
                (pg_sys::INNER_VAR, _) => side((*plan).righttree),
                (pg_sys::OUTER_VAR, NodeTag::T_Append | NodeTag::T_MergeAppend) => {
                    children(plan).collect()
                }
                (pg_sys::OUTER_VAR, _) => side((*plan).lefttree),
                (_, NodeTag::T_SubqueryScan) => side((*plan.cast::<SubqueryScan>()).subplan),
                (_, NodeTag::T_CteScan) => {
                    let id = usize::try_from((*plan.cast::<CteScan>()).ctePlanId).unwrap_or(0);
                    let subplan = id
                        .checked_sub(1)
                        .and_then(|id| elements::<Plan>((*self.statement).subplans).nth(id));
                    side(subplan.unwrap_or(std::ptr::null_mut()))
                }
                _ => Vec::new(),
            }
        }
    }
}

/// The function of a scan that column `column` is of, and which of its columns that is, counted from 0.
///
/// # Safety
/// A node of a plan that lives.
unsafe fn column_of(
    scan: *mut FunctionScan,
    column: i16,
) -> Option<(*mut RangeTblFunction, usize)> {
    let mut column = usize::try_from(column).ok()?.checked_sub(1)?;
    // SAFETY: the caller guarantees it.
    unsafe {
        for function in elements::<RangeTblFunction>((*scan).functions) {
            let count = usize::try_from((*function).funccolcount).unwrap_or(0);
            if column < count {
                return Some((function, column));
            }
            column -= count;
        }
        None
    }
}
