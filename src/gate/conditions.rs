//! What holds for all rows of a query: its conditions, and the bounds that those on numbers have. In a row that meets
//! `x BETWEEN 0 AND 100` x lies there. The ends are constants of the query, as public as the query is.

use pgrx::pg_sys::{self, FromExpr, JoinExpr, JoinType, Node, NodeTag, Oid, Query};

use crate::gate::expression;
use crate::pg::constant;
use crate::pg::stack;
use crate::pg::tree::{self, Ref};

/// The families of operators that compare integers, floats and numerics.
const FAMILIES: [u32; 3] = [1976, 1970, 1988];

/// Comparisons of dates with each other, in the order of their strategies.
const OF_DATES: [u32; 5] = [
    pg_sys::F_DATE_LT,
    pg_sys::F_DATE_LE,
    pg_sys::F_DATE_EQ,
    pg_sys::F_DATE_GE,
    pg_sys::F_DATE_GT,
];

/// Below this all integers are floats.
pub const EXACT: f64 = 9e15;

/// The conditions that all rows meet which come of a part of FROM.
pub fn of_part(node: Ref<Node>) -> Vec<Ref<Node>> {
    stack::check();
    let (own, below) = if let Some(join) = node.cast::<JoinExpr>() {
        match join.jointype() {
            JoinType::JOIN_INNER => (join.quals(), vec![join.larg(), join.rarg()]),
            JoinType::JOIN_LEFT => (None, vec![join.larg()]),
            JoinType::JOIN_RIGHT => (None, vec![join.rarg()]),
            _ => (None, Vec::new()),
        }
    } else if let Some(from) = node.cast::<FromExpr>() {
        let parts = from.fromlist().into_iter().map(Some);
        (from.quals(), parts.collect())
    } else {
        return Vec::new();
    };
    let below = below.into_iter().flatten().flat_map(of_part);
    tree::conjuncts(own).into_iter().chain(below).collect()
}

/// The conditions that all rows of a query meet.
pub fn of_query<'t>(query: Ref<'t, Query>) -> Vec<Ref<'t, Node>> {
    let from = query.jointree().expect("a query has FROM");
    of_part(from.node())
}

/// Expressions, each with the bounds that a condition says of it, or that are declared; one end may be infinite.
#[derive(Default)]
pub struct Bounded<'t>(Vec<(Ref<'t, Node>, (f64, f64))>);

impl<'t> Bounded<'t> {
    /// By conditions that all hold; `folded` computes their constants.
    pub fn by(
        conditions: impl IntoIterator<Item = Ref<'t, Node>>,
        folded: impl Fn(Ref<'t, Node>) -> Ref<'t, Node>,
    ) -> Self {
        let conditions = conditions.into_iter().filter(|one| may_compare(*one));
        let folded = conditions.flat_map(|one| tree::conjuncts(Some(folded(one.copy()))));
        let compared = folded.filter_map(compared);
        Self(
            compared
                .map(|(number, bounds)| (without_outer_joins(number), bounds))
                .collect(),
        )
    }

    /// Adds what is declared of an expression.
    pub fn declare(&mut self, expression: Ref<'t, Node>, bounds: (f64, f64)) {
        self.0.push((expression, bounds));
    }

    /// Where an expression lies by all that is known of it itself; `None` if that is nothing, or no number can be
    /// there.
    pub fn find(&self, node: *mut Node) -> Option<(f64, f64)> {
        if self.0.is_empty() {
            return None;
        }
        // SAFETY: a node of an expression that lives.
        let node: Ref<'t, Node> = unsafe { Ref::of(node) }?;
        let mut known = self
            .0
            .iter()
            .filter(|(tree, _)| tree.tag() == node.tag())
            .peekable();
        known.peek()?;
        let node = without_outer_joins(node);
        let known = known.filter(|(tree, _)| tree.same(node));
        let known = known.map(|(_, bounds)| *bounds);
        known
            .reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))
            .filter(|(lo, hi)| lo <= hi)
    }
}

/// Whether a condition may be a comparison, as it is written.
fn may_compare(condition: Ref<Node>) -> bool {
    let kinds = [
        NodeTag::T_OpExpr,
        NodeTag::T_ScalarArrayOpExpr,
        NodeTag::T_BoolExpr,
    ];
    kinds.contains(&condition.tag())
}

/// The number, or the date, that a comparison with constants is about, and its bounds.
fn compared(condition: Ref<Node>) -> Option<(Ref<Node>, (f64, f64))> {
    if let Some(any) = condition.cast::<pg_sys::ScalarArrayOpExpr>() {
        let [number, list] = any.args().nodes()[..] else {
            return None;
        };
        let is_equality = strategy(any.opno()) == Some(pg_sys::BTEqualStrategyNumber);
        let list = list
            .cast::<pg_sys::Const>()
            .filter(|_| any.useOr() && is_equality)?;
        let values = constant::each(list)?.into_iter();
        let values = values.filter(|value| tree::constant(*value) != Some(None));
        let hull = values
            .map(value_of)
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        return Some((uncast(number), hull));
    }
    let comparison = condition
        .operator()
        .filter(|_| condition.tag() == NodeTag::T_OpExpr)?;
    let [one, other] = comparison.args().nodes()[..] else {
        return None;
    };
    let strategy = strategy(comparison.opno())?;
    let is_constant = |node| tree::constant(node).flatten().is_some();
    let (number, (lo, hi), strategy) = match (is_constant(one), is_constant(other)) {
        (false, true) => (one, value_of(other), strategy),
        (true, false) => (
            other,
            value_of(one),
            pg_sys::BTMaxStrategyNumber + 1 - strategy,
        ),
        _ => return None,
    };
    let number = uncast(number);
    let whole = [
        pg_sys::INT2OID,
        pg_sys::INT4OID,
        pg_sys::INT8OID,
        pg_sys::DATEOID,
    ];
    let is_whole = whole.contains(&tree::type_of(number)) && lo.abs().max(hi.abs()) < EXACT;
    let (lo, hi) = match (strategy, is_whole) {
        (pg_sys::BTLessStrategyNumber, true) => (None, Some(hi.ceil() - 1.0)),
        (pg_sys::BTLessEqualStrategyNumber, true) => (None, Some(hi.floor())),
        (pg_sys::BTLessStrategyNumber | pg_sys::BTLessEqualStrategyNumber, false) => {
            (None, Some(hi))
        }
        (pg_sys::BTEqualStrategyNumber, _) => (Some(lo), Some(hi)),
        (pg_sys::BTGreaterEqualStrategyNumber, true) => (Some(lo.ceil()), None),
        (_, true) => (Some(lo.floor() + 1.0), None),
        (_, false) => (Some(lo), None),
    };
    let bounds = (lo.unwrap_or(f64::NEG_INFINITY), hi.unwrap_or(f64::INFINITY));
    Some((number, bounds))
}

/// Where a constant lies.
pub fn value_of(constant: Ref<Node>) -> (f64, f64) {
    expression::limits(constant, &|_, _| None, &|_| None, &|_| None)
}

/// A number as it is before it becomes a `float8` or a `numeric` to be compared.
pub fn uncast(number: Ref<Node>) -> Ref<Node> {
    let call = number.cast::<pg_sys::FuncExpr>();
    let call = call.filter(|call| expression::is_total_cast(call.funcid()));
    match call.map(|call| call.args().nodes()).as_deref() {
        Some([only]) => *only,
        _ => number,
    }
}

/// Which comparison of numbers or of dates an operator is.
fn strategy(operator: Oid) -> Option<u32> {
    // SAFETY: a lookup in the catalog, which answers for any number.
    let function = unsafe { pg_sys::get_opcode(operator) }.to_u32();
    if let Some(place) = OF_DATES.into_iter().position(|known| known == function) {
        return Some(place as u32 + 1);
    }
    // SAFETY: a lookup in the catalog, which answers for any numbers.
    let of = |family: u32| unsafe { pg_sys::get_op_opfamily_strategy(operator, family.into()) };
    let strategies = FAMILIES.into_iter().map(|family| of(family) as u32);
    let mut strategies = strategies.filter(|one| (1..=pg_sys::BTMaxStrategyNumber).contains(one));
    strategies.next()
}

/// An expression whose columns do not say which outer joins may make them NULL.
#[cfg(not(feature = "pg15"))]
fn without_outer_joins(node: Ref<Node>) -> Ref<Node> {
    let copy = node.copy();
    tree::any(copy, |node| {
        if let Some(column) = node.cast::<pg_sys::Var>() {
            column.set_varnullingrels(std::ptr::null_mut());
        }
        false
    });
    copy
}

/// Older servers do not say it there.
#[cfg(feature = "pg15")]
fn without_outer_joins(node: Ref<Node>) -> Ref<Node> {
    node
}
