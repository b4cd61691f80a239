//! `LEFT JOIN` from a public table to private rows, as reports write it to have all groups: its rows that no private
//! row is joined with are kept. It is asked as an inner join whose groups are all rows of the public table, so only
//! such queries are taken in which rows without a match are in no aggregate, in PostgreSQL as here.

use pgrx::pg_sys::{
    self, BoolExprType, FromExpr, JoinExpr, JoinType, Node, NodeTag, Query, SubLinkType,
};

use crate::gate::conditions;
use crate::gate::private_relation::private_entries;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::constant;
use crate::pg::procedure;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref, Step};

/// PostgreSQL's sums, to which a 0 adds nothing.
const SUMS: [u32; 6] = [
    pg_sys::F_SUM_INT2,
    pg_sys::F_SUM_INT4,
    pg_sys::F_SUM_INT8,
    pg_sys::F_SUM_FLOAT4,
    pg_sys::F_SUM_FLOAT8,
    pg_sys::F_SUM_NUMERIC,
];

/// The numbers of private items in FROM that were joined so, as an expression that many queries below names them.
pub struct Matched(Vec<i32>, u32);

/// Makes inner joins of such joins in FROM. `conditions` are those that all rows meet. Where one of them is about the
/// private items and may hold for rows without a match, the query asks for these, and the join stays.
pub fn turn<'t>(query: Ref<'t, Query>, conditions: &[Ref<'t, Node>]) -> Matched {
    let mut found = Matched(Vec::new(), 0);
    if let Some(from) = query.jointree() {
        found.turn(query, from.node(), conditions);
    }
    found
}

impl Matched {
    fn turn<'t>(
        &mut self,
        query: Ref<'t, Query>,
        node: Ref<'t, Node>,
        conditions: &[Ref<'t, Node>],
    ) {
        stack::check();
        if let Some(from) = node.cast::<FromExpr>() {
            for part in from.fromlist() {
                self.turn(query, part, conditions);
            }
        }
        let Some(join) = node.cast::<JoinExpr>() else {
            return;
        };
        for side in [join.larg(), join.rarg()].into_iter().flatten() {
            self.turn(query, side, conditions);
        }
        let (kept, other) = match join.jointype() {
            JoinType::JOIN_LEFT => (join.larg(), join.rarg()),
            JoinType::JOIN_RIGHT => (join.rarg(), join.larg()),
            _ => return,
        };
        let private = |side: Option<Ref<'t, Node>>| {
            side.map_or(Vec::new(), |side| private_entries(query, side))
        };
        let matched = private(other);
        if matched.is_empty() || !private(kept).is_empty() {
            return;
        }
        // A condition on the kept side alone leaves out matches, and no row.
        let on = join.quals().map(|on| tree::flatten_joins(query, on));
        let on = tree::conjuncts(on);
        let of_matched = Self(matched, 0);
        let asks_for_others = |condition: &Ref<'t, Node>| {
            of_matched.asks_for_others(tree::flatten_joins(query, *condition))
        };
        if !on.is_empty()
            && on.into_iter().all(|one| of_matched.names(one))
            && !conditions.iter().any(asks_for_others)
        {
            tree::make_inner(query, join);
            self.0.extend(of_matched.0);
        }
    }

    /// Whether a condition holds for some rows because they have no match. What is about the other side alone, and what
    /// holds for no row without a match, does not; nor does one of several such conditions.
    fn asks_for_others(&self, node: Ref<Node>) -> bool {
        stack::check();
        if !self.names(node) || self.is_not_true(node) {
            return false;
        }
        let all = node.cast::<pg_sys::BoolExpr>();
        let all = all.filter(|all| all.boolop() != BoolExprType::NOT_EXPR);
        all.is_none_or(|all| all.args().into_iter().any(|one| self.asks_for_others(one)))
    }

    /// Whether an expression has a column of one of them.
    fn names(&self, node: Ref<Node>) -> bool {
        tree::search(node, &mut |node, level| {
            let column = node.cast::<pg_sys::Var>();
            let is_it = |column: Ref<pg_sys::Var>| {
                column.varlevelsup() == level + self.1 && self.0.contains(&column.varno())
            };
            match column.is_some_and(is_it) {
                true => Step::Stop,
                false => Step::Below,
            }
        })
    }

    /// Checks that rows without a match make no difference but that their groups are there. Of each key, as it is
    /// written: whether its values are public.
    pub fn check<'t>(
        &self,
        query: Ref<'t, Query>,
        mut keys: impl Iterator<Item = (Ref<'t, Node>, bool)>,
    ) -> Checked<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        if !keys.all(|(key, is_public)| is_public && !self.names(key)) {
            return Err(Reason::with_hint(
                "the table is on the nullable side of an outer join, whose groups are not all known",
                "Group by columns of the other table alone, if that has 1,000 rows at most; or use JOIN.",
            ));
        }
        let parts = [query.targetList().node(), query.havingQual()];
        let counts_others = parts.into_iter().flatten().any(|part| {
            tree::any(part, |node| {
                let call = node.cast::<pg_sys::Aggref>();
                call.is_some_and(|call| call.agglevelsup() == 0 && !self.leaves_out(call))
            })
        });
        match counts_others {
            true => Err(Reason::with_hint(
                "the table is on the nullable side of an outer join, and an aggregate takes rows without a match, too",
                "Use aggregates of its columns, as count(visits.id) in the place of count(*); or use JOIN.",
            )),
            false => Ok(()),
        }
    }

    /// Whether an aggregate takes no row without a match.
    fn leaves_out(&self, call: Ref<pg_sys::Aggref>) -> bool {
        let is_filtered = call
            .aggfilter()
            .is_some_and(|filter| self.is_not_true(filter));
        // Constants say how the aggregate works.
        let args = call.args().into_iter().filter_map(|arg| arg.expr());
        let mut args = args.filter(|arg| has_column(*arg)).peekable();
        let is_sum = SUMS.contains(&call.aggfnoid().to_u32());
        // PostgreSQL's leave out rows in which one of the arguments is NULL, ours those in which all are.
        is_filtered
            || args.peek().is_some()
                && match procedure::is_pinned(call.aggfnoid()) {
                    true if is_sum => args.any(|arg| self.adds_nothing(arg)),
                    true => args.any(|arg| self.is_null(arg)),
                    false => args.all(|arg| self.is_null(arg)),
                }
    }

    /// Whether a number is NULL or 0 in all rows without a match.
    fn adds_nothing(&self, node: Ref<Node>) -> bool {
        stack::check();
        let node = conditions::uncast(node);
        if let Some(case) = node.cast::<pg_sys::CaseExpr>() {
            let adds_nothing = |when: Ref<Node>| {
                let when = when.cast::<pg_sys::CaseWhen>();
                let when = when.and_then(|when| when.expr().zip(when.result()));
                when.is_some_and(|(condition, result)| {
                    self.is_no_case(case, condition) || self.adds_nothing(result)
                })
            };
            return case.args().into_iter().all(adds_nothing)
                && case
                    .defresult()
                    .is_none_or(|other| self.adds_nothing(other));
        }
        if let Some(first) = node.cast::<pg_sys::CoalesceExpr>() {
            return first.args().into_iter().all(|arg| self.adds_nothing(arg));
        }
        let is_zero = || conditions::value_of(node) == (0.0, 0.0);
        tree::constant(node).is_some() && is_zero() || self.is_null(node)
    }

    /// Whether an expression is NULL in all rows without a match.
    fn is_null(&self, node: Ref<Node>) -> bool {
        stack::check();
        if let Some(column) = node.cast::<pg_sys::Var>() {
            return column.varlevelsup() == self.1 && self.0.contains(&column.varno());
        }
        if let Some(constant) = tree::constant(node) {
            return constant.is_none();
        }
        let any = |args: List<Node>| args.into_iter().any(|arg| self.is_null(arg));
        if let Some(same) = node.cast::<pg_sys::RelabelType>() {
            return same.arg().is_some_and(|arg| self.is_null(arg));
        }
        if let Some(cast) = node.cast::<pg_sys::CoerceViaIO>() {
            return cast.arg().is_some_and(|arg| self.is_null(arg));
        }
        if let Some(call) = node.cast::<pg_sys::FuncExpr>() {
            return procedure::is_strict(call.funcid()) && any(call.args());
        }
        if let Some(call) = node.operator().filter(|_| node.tag() == NodeTag::T_OpExpr) {
            return procedure::is_strict_operator(call.opno()) && any(call.args());
        }
        if let Some(call) = node.cast::<pg_sys::ScalarArrayOpExpr>() {
            let [first, list] = call.args().nodes()[..] else {
                return false;
            };
            // Of no element at all ALL is true, and ANY false.
            let list = list.cast::<pg_sys::Const>().and_then(constant::elements);
            let has_elements = list.is_some_and(|elements| !elements.is_empty());
            return has_elements
                && self.is_null(first)
                && procedure::is_strict_operator(call.opno());
        }
        if let Some(first) = node.cast::<pg_sys::CoalesceExpr>() {
            return first.args().into_iter().all(|arg| self.is_null(arg));
        }
        if let Some(case) = node.cast::<pg_sys::CaseExpr>() {
            let mut whens = case.args().into_iter();
            let none_holds = whens.all(|when| {
                let when = when.cast::<pg_sys::CaseWhen>();
                let condition = when.and_then(|when| when.expr());
                condition.is_some_and(|condition| self.is_no_case(case, condition))
            });
            let other = case.defresult();
            return none_holds && other.is_none_or(|other| self.is_null(other));
        }
        // NULLIF is NULL or its first argument.
        if let Some(differs) = node.operator()
            && node.tag() == NodeTag::T_NullIfExpr
        {
            return differs
                .args()
                .nodes()
                .first()
                .is_some_and(|first| self.is_null(*first));
        }
        false
    }

    /// Whether the condition of a WHEN holds in no row without a match. `CASE x WHEN y` compares `x`, which stands
    /// there as a CaseTestExpr, by an operator.
    fn is_no_case(&self, case: Ref<pg_sys::CaseExpr>, condition: Ref<Node>) -> bool {
        let is_tested = |arg: Ref<Node>| {
            let relabelled = arg.cast::<pg_sys::RelabelType>();
            let arg = relabelled.and_then(|same| same.arg()).unwrap_or(arg);
            conditions::uncast(arg).tag() == NodeTag::T_CaseTestExpr
        };
        let Some(tested) = case.arg() else {
            return self.is_not_true(condition);
        };
        let equal = condition
            .operator()
            .filter(|_| condition.tag() == NodeTag::T_OpExpr);
        self.is_null(tested)
            && equal.is_some_and(|equal| {
                procedure::is_strict_operator(equal.opno())
                    && equal.args().into_iter().any(is_tested)
            })
    }

    /// Whether a condition holds in no row without a match.
    fn is_not_true(&self, node: Ref<Node>) -> bool {
        stack::check();
        if let Some(all) = node.cast::<pg_sys::BoolExpr>() {
            let mut args = all.args().into_iter();
            return match all.boolop() {
                BoolExprType::AND_EXPR => args.any(|arg| self.is_not_true(arg)),
                BoolExprType::OR_EXPR => args.all(|arg| self.is_not_true(arg)),
                _ => args.any(|arg| self.is_null(arg)),
            };
        }
        if let Some(link) = node.cast::<pg_sys::SubLink>() {
            return match link.subLinkType() {
                SubLinkType::EXISTS_SUBLINK => self.finds_nothing(link),
                // True for no row that it is compared with.
                SubLinkType::ANY_SUBLINK => {
                    link.testexpr().is_some_and(|test| self.is_not_true(test))
                }
                _ => false,
            };
        }
        self.is_null(node)
    }
}

impl Matched {
    /// Whether a sub-query has no row for rows without a match: a condition on all of its rows does not hold.
    fn finds_nothing(&self, link: Ref<pg_sys::SubLink>) -> bool {
        let below = Self(self.0.clone(), self.1 + 1);
        let query = link.subselect().and_then(|query| query.cast::<Query>());
        let plain = query.filter(|query| {
            query.setOperations().is_none()
                && !query.hasAggs()
                && query.groupClause().is_empty()
                && query.groupingSets().is_empty()
        });
        let conditions = plain
            .and_then(|query| query.jointree())
            .map(|from| from.quals());
        let mut conditions = tree::conjuncts(conditions.flatten()).into_iter();
        conditions.any(|condition| below.is_not_true(condition))
    }
}

fn has_column(node: Ref<Node>) -> bool {
    tree::any(node, |node| node.cast::<pg_sys::Var>().is_some())
}
