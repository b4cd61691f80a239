//! Sub-queries in expressions over private rows: about the same person, or about what is public.

use std::rc::Rc;

use pgrx::pg_sys::{
    self, Aggref, Node, OpExpr, Param, ParamKind, Query, SubLink, SubLinkType, WindowFunc,
};

use crate::gate::defence::Defence;
use crate::gate::expression::{Checker, Surroundings};
use crate::gate::inputs::queries;
use crate::gate::private_relation::columns::OneRow;
use crate::gate::private_relation::from::From;
use crate::gate::private_relation::shared::Shared;
use crate::gate::private_relation::{calls, person, windows};
use crate::gate::rejection::{Checked, Reason};
use crate::gate::{access, conditions, expression, inputs, policy, released};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// The private rows around an expression, and whether it is in a sub-query of an expression itself.
pub struct Around<'t> {
    from: Rc<From<'t>>,
    /// The rows of the query around, whose columns may be named.
    outer: Option<Rc<From<'t>>>,
    /// Whether aggregates and window functions may be in it.
    has_calls: bool,
}

impl<'t> Around<'t> {
    /// Of a sub-query in FROM.
    pub fn of(from: &Rc<From<'t>>) -> Rc<Self> {
        Rc::new(Self {
            from: from.clone(),
            outer: None,
            has_calls: true,
        })
    }

    /// Of the block itself, whose aggregates are no part of its rows.
    pub fn of_block(from: &Rc<From<'t>>) -> Rc<Self> {
        Rc::new(Self {
            from: from.clone(),
            outer: None,
            has_calls: false,
        })
    }
}

impl<'t> Surroundings<'t> for Around<'t> {
    fn sees(&self, column: Ref<'t, pg_sys::Var>) -> Option<Ref<'t, Query>> {
        let outer = self.outer.as_ref().filter(|_| column.varlevelsup() == 1);
        outer.map(|outer| outer.query)
    }

    fn call(&self, checker: &Checker<'t>, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        if self.has_calls {
            if let Some(call) = node.cast::<Aggref>() {
                return calls::aggregate(checker, call);
            }
            if let Some(call) = node.cast::<WindowFunc>() {
                return windows::call(checker, call);
            }
        }
        Err("an aggregate cannot be used on its rows".into())
    }

    fn sublink(&self, checker: &Checker<'t>, link: Ref<'t, SubLink>) -> Checked<Ref<'t, Node>> {
        stack::check();
        let query = link.subselect().and_then(|query| query.cast::<Query>());
        let query = query.ok_or_else(refused)?;
        let shared = self.from.shared().below();
        let test = Test::of(checker, link)?;
        if !access::is_concerned(query) && !tree::names_outer(query) {
            public(query, link, checker, &shared)?;
            return Ok(link.node());
        }
        let compared = self.private(query, link, &test, &shared)?;
        Ok(match compared.filter(|_| Defence::Links.stands()) {
            Some(value) => tree::if_not_null(value, link.node(), pg_sys::BOOLOID),
            None => link.node(),
        })
    }
}

/// What IN compares: the expressions of the query around, each with the column of the sub-query that it is compared
/// with.
struct Test<'t>(Vec<(Ref<'t, OpExpr>, Ref<'t, Node>, i32)>);

impl<'t> Test<'t> {
    /// The test of IN and ANY, whose operators must be total.
    fn of(checker: &Checker<'t>, link: Ref<'t, SubLink>) -> Checked<Self> {
        let mut found = Vec::new();
        let Some(test) = link.testexpr() else {
            return Ok(Self(found));
        };
        let all = tree::conjuncts(Some(test));
        for one in &all {
            let (operator, [value, parameter]) = person::comparison(*one).ok_or_else(refused)?;
            let is_of_sublink = |node: Ref<'t, Node>| {
                let inner = node
                    .cast::<pg_sys::RelabelType>()
                    .and_then(|same| same.arg())
                    .unwrap_or(node);
                let parameter = inner.cast::<Param>()?;
                (parameter.paramkind() == ParamKind::PARAM_SUBLINK).then(|| parameter.paramid())
            };
            let place = is_of_sublink(parameter).ok_or_else(refused)?;
            let value = checker.safe(value)?;
            if !expression::is_total_call(operator) {
                return Err(refused());
            }
            operator.set_args(tree::list_of([value, parameter]));
            found.push((operator, value, place));
        }
        Ok(Self(found))
    }
}

impl<'t> Around<'t> {
    /// Semi-join and scalar: a sub-query whose rows are of the person of the row around it, or public ones that are
    /// compared with it. Where IN compares rows of all people with a value that may be NULL, that value: of NULL it
    /// would say whether there are any.
    fn private(
        &self,
        query: Ref<'t, Query>,
        link: Ref<'t, SubLink>,
        test: &Test<'t>,
        shared: &Shared<'t>,
    ) -> Checked<Option<Ref<'t, Node>>> {
        let kind = link.subLinkType();
        let is_known = [
            SubLinkType::EXISTS_SUBLINK,
            SubLinkType::ANY_SUBLINK,
            SubLinkType::EXPR_SUBLINK,
        ];
        if !is_known.contains(&kind)
            || query.setOperations().is_some()
            || !query.groupingSets().is_empty()
            || query.hasTargetSRFs()
            || query.hasWindowFuncs()
            || !query.rowMarks().is_empty()
            || !query.cteList().is_empty()
            || self.outer.is_some()
        {
            return Err(refused());
        }
        tree::flatten_groups(query);
        let from = Rc::new(From::of(query, shared)?);
        let around = Rc::new(Self {
            from: from.clone(),
            outer: Some(self.from.clone()),
            has_calls: true,
        });
        let same = match from.persons.is_empty() || !Defence::Links.stands() {
            // Of public rows all may be looked at.
            true => Same::AllRows,
            false => self.same_person(query, &from, test),
        };
        check_same(query, &from, &same)?;
        let checker = from.checker(Some(around));
        from.check_conditions(&checker)?;
        // Rows of nobody are in no answer about a person: in a list, a NULL would make NOT IN one for all.
        let person = from.persons.first().copied();
        let person = match &same {
            Same::ComparedRows { own, .. } => Some(*own),
            _ => person.and_then(|(entry, column)| tree::column(query, entry, column)),
        };
        if let Some(person) = person {
            let from = query.jointree().expect("a query has FROM");
            from.set_quals(tree::both(from.quals(), Some(tree::is_not_null(person))));
        }
        let flat = |node: Ref<'t, Node>| tree::flatten_joins(query, node);
        query.set_targetList(List::of_tree(query.targetList().node().map(flat)));
        query.set_havingQual(query.havingQual().map(flat));
        let keys = query.groupClause().into_iter();
        let keys = keys.chain(query.distinctClause());
        calls::check_grouping(query, &Vec::from_iter(keys))?;
        from.check_form_of_persons()?;
        let is_one = query.hasAggs() && query.groupClause().is_empty();
        let is_asked = kind == SubLinkType::EXPR_SUBLINK && query.limitCount().is_none();
        if is_asked && !is_one && has_one_row(query, &from, &same) {
            // Rows that are older than the index may be several, which would be an error.
            let one = pg_sys::Datum::from(1_i64);
            query.set_limitCount(Some(tree::number(query.memory(), pg_sys::INT8OID, 8, one)));
        }
        self.check_number(query, kind, is_one, &checker)?;
        for target in query.targetList() {
            let expr = target.expr().expect("a target has an expression");
            target.set_expr(Some(checker.safe(expr)?));
        }
        query.set_havingQual(checker.safe_if(query.havingQual())?);
        from.put_in_one_form();
        if query.limitCount().is_some() {
            query.set_sortClause(tree::list_of(windows::order_of_limit(query)?));
        } else if !query.hasDistinctOn() {
            query.set_sortClause(List::EMPTY);
        }
        from.lift_inputs();
        Ok(match same {
            Same::ComparedRows { may_be_null, .. } => may_be_null,
            _ => None,
        })
    }

    /// That a sub-query of one value has one row at most: another number is an error.
    fn check_number(
        &self,
        query: Ref<'t, Query>,
        kind: SubLinkType::Type,
        is_one: bool,
        checker: &Checker<'t>,
    ) -> Checked<()> {
        let value = |node: Option<Ref<'t, Node>>| {
            let node = node.map(|node| checker.folded(node.copy()));
            node.and_then(tree::constant)
                .flatten()
                .map(|value| value.value() as i64)
        };
        let (limit, offset) = (query.limitCount(), query.limitOffset());
        if offset.is_some() || query.hasDistinctOn() {
            return Err(refused());
        }
        if let Some(limit) = limit {
            let count = value(Some(limit))
                .filter(|count| *count >= 0)
                .ok_or_else(refused)?;
            // Rows that are alike in their order come together, however many these are.
            let has_ties = query.limitOption() == pg_sys::LimitOption::LIMIT_OPTION_WITH_TIES;
            let is_one = count <= 1 && !(has_ties && Defence::Links.stands());
            let is_fixed = is_one || kind != SubLinkType::EXPR_SUBLINK;
            return is_fixed.then_some(()).ok_or_else(refused);
        }
        match kind != SubLinkType::EXPR_SUBLINK || is_one || !Defence::Links.stands() {
            true => Ok(()),
            false => Err(Reason::with_hint(
                "a sub-query of one value may have several rows",
                "Take an aggregate, as in (SELECT max(day) FROM ...); or end it with ORDER BY ... LIMIT 1.",
            )),
        }
    }

    /// Which rows of the sub-query are of the person of the row around it.
    fn same_person(&self, query: Ref<'t, Query>, from: &From<'t>, test: &Test<'t>) -> Same<'t> {
        let conditions = query.jointree().and_then(|from| from.quals());
        let conditions = conditions.map(|all| tree::flatten_joins(query, all));
        let is_by_condition = tree::conjuncts(conditions).into_iter().any(|condition| {
            let Some((operator, [one, other])) = person::comparison(condition) else {
                return false;
            };
            person::is_equality(operator, tree::type_of(one), tree::type_of(other))
                && (self.are_persons(from, one, other) || self.are_persons(from, other, one))
        });
        if is_by_condition {
            return Same::AllRows;
        }
        let by_test = test.0.iter().find_map(|(operator, value, place)| {
            let mut targets = query.targetList().into_iter();
            let target = targets.find(|target| i32::from(target.resno()) == *place)?;
            let inner = tree::flatten_joins(query, target.expr()?);
            let (own, outer) = (person::own_column(inner)?, person::own_column(*value)?);
            let kinds = [*value, inner].map(tree::type_of);
            let is_one = from.are_of_one_person(own, &self.from, outer)
                && person::is_equality(*operator, kinds[0], kinds[1]);
            // A row without a person is nobody's, and one that a reference leaves open may be somebody's.
            let is_somebody = from.is_person(own)
                && self.from.is_person(outer)
                && !self.from.is_nullable(outer.0);
            let is_known = is_somebody || self.from.is_not_null(outer);
            is_one.then_some(Same::ComparedRows {
                own: inner,
                may_be_null: (!is_known).then(|| value.copy()),
            })
        });
        by_test.unwrap_or(Same::No)
    }

    /// Whether one is the person of the sub-query's rows, and the other that of the row around it.
    fn are_persons(&self, from: &From<'t>, inner: Ref<'t, Node>, outer: Ref<'t, Node>) -> bool {
        let outer = person::column_of(outer).filter(|column| column.varlevelsup() == 1);
        let outer = outer.map(|column| (column.varno(), column.varattno()));
        let columns = person::own_column(inner).zip(outer);
        columns.is_some_and(|(inner, outer)| from.are_of_one_person(inner, &self.from, outer))
    }
}

/// Which rows of a sub-query are of the person of the row around it.
enum Same<'t> {
    /// All that its conditions leave.
    AllRows,
    /// Those that IN compares with that row.
    ComparedRows {
        /// By this column of theirs.
        own: Ref<'t, Node>,
        /// What it is compared with, if that may be NULL.
        may_be_null: Option<Ref<'t, Node>>,
    },
    No,
}

/// Whether a unique index says that a sub-query has one row at most: of a person who has one row, or of a public table
/// with one value of its key.
fn has_one_row<'t>(query: Ref<'t, Query>, from: &From<'t>, same: &Same<'t>) -> bool {
    if !query.groupClause().is_empty() || query.limitOffset().is_some() {
        return false;
    }
    if !from.persons.is_empty() {
        return matches!(same, Same::AllRows) && from.one_row() != OneRow::No;
    }
    let ([table], [_]) = (&from.inputs[..], &query.rtable().nodes()[..]) else {
        return false;
    };
    let relation = tree::entry(query, *table).relid();
    let mut conditions = conditions::of_query(query).into_iter();
    conditions.any(|condition| {
        let Some((operator, [one, other])) = person::comparison(condition) else {
            return false;
        };
        let is_key = |key: Ref<'t, Node>, value: Ref<'t, Node>| {
            let key = person::own_column(key);
            key.is_some_and(|(_, column)| policy::is_unique(relation, column))
                && !tree::any(value, |node| person::own_column(node).is_some())
        };
        person::is_equality(operator, tree::type_of(one), tree::type_of(other))
            && (is_key(one, other) || is_key(other, one))
    })
}

/// That nothing of a sub-query is of other people than the one of the row around it.
fn check_same<'t>(query: Ref<'t, Query>, from: &From<'t>, same: &Same<'t>) -> Checked<()> {
    let is_of_person = match same {
        Same::AllRows => true,
        Same::ComparedRows { .. } => {
            // What is grouped or chosen before it is compared, is of all people.
            let is_grouped = query.hasAggs() || !query.groupClause().is_empty();
            let mut keys = query.groupClause().into_iter();
            let has_person = keys.any(|key| {
                let target = tree::sort_group_target(key, query.targetList());
                let key = target.expr().map(|expr| tree::flatten_joins(query, expr));
                let column = key.and_then(person::own_column);
                column.is_some_and(|column| from.says_person(column))
            });
            query.limitCount().is_none() && (!is_grouped || has_person)
        }
        Same::No => false,
    };
    match is_of_person {
        true => Ok(()),
        false => Err(Reason::with_hint(
            "a sub-query is about the rows of other people than the one of the row",
            "Compare the columns that name the person in it, as in WHERE v.patient = p.id; or join its result.",
        )),
    }
}

/// A sub-query about public tables alone that names nothing of the query around it: it is read before the first private
/// row.
fn public<'t>(
    query: Ref<'t, Query>,
    link: Ref<'t, SubLink>,
    checker: &Checker<'t>,
    shared: &Shared<'t>,
) -> Checked<()> {
    released::check(query, checker)?;
    if !Defence::Inputs.stands() {
        return Ok(());
    }
    let read = match link.subLinkType() {
        SubLinkType::EXISTS_SUBLINK | SubLinkType::ANY_SUBLINK | SubLinkType::ALL_SUBLINK => query,
        // One value, or an error, as it is read: a private row that needs it would raise the error else.
        SubLinkType::EXPR_SUBLINK | SubLinkType::ARRAY_SUBLINK => {
            queries::select_value(link.copy())
        }
        _ => return Err(refused()),
    };
    if link.subLinkType() == SubLinkType::ARRAY_SUBLINK {
        link.set_subLinkType(SubLinkType::EXPR_SUBLINK);
    }
    let mut lifted = shared.lifted.borrow_mut();
    let all = inputs::lift_query(read, shared.level, &mut lifted);
    link.set_subselect(Some(all.node()));
    Ok(())
}

fn refused() -> Reason {
    Reason::with_hint(
        "sub-queries cannot be used on its rows",
        "Use EXISTS, IN or an aggregate of rows of the same person, or of tables that you may read; or join the result of \
         a query.",
    )
}
