//! A sub-query that is a private relation: rows of people, filtered, projected, put together for each person, numbered
//! within their windows, or made distinct.

use std::rc::Rc;

use pgrx::pg_sys::{self, JoinExpr, Node, Query, SortGroupClause, TargetEntry};

use crate::gate::expression::Checker;
use crate::gate::private_relation::columns::{Facts, OneRow, Relation};
use crate::gate::private_relation::from::From;
use crate::gate::private_relation::links::Around;
use crate::gate::private_relation::person::PERSON;
use crate::gate::private_relation::shared::Shared;
use crate::gate::private_relation::{calls, facts, full_join, person, set_operation, windows};
use crate::gate::rejection::{Checked, Reason};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// Checks a sub-query in FROM.
pub fn check<'t>(query: Ref<'t, Query>, shared: &Shared<'t>) -> Checked<Relation> {
    stack::check();
    check_shape(query)?;
    if query.setOperations().is_some() {
        return set_operation::check(query, shared);
    }
    if let Some(join) = full_join::only_item(query) {
        return of_full_join(query, join, shared);
    }
    tree::flatten_groups(query);
    let from = Rc::new(From::of(query, shared)?);
    let checker = from.checker(Some(Around::of(&from)));
    from.check_conditions(&checker)?;
    show_person(query, &from)?;
    let is_person = |node: Ref<'t, Node>| is_person(&from, query, node);
    let one_row = match is_grouped(query) {
        true => per_person(query, &is_person)?,
        false => from.one_row(),
    };
    let one_row = one_row.max(distinct(query, &is_person)?);
    if is_grouped(query) || !query.distinctClause().is_empty() || query.hasWindowFuncs() {
        from.check_form_of_persons()?;
    }
    // Of what was written: in their safe form, calls have arguments that hide their bounds.
    let facts = facts::of(query, &from, &checker);
    check_targets(query, &checker)?;
    from.put_in_one_form();
    if query.hasWindowFuncs() {
        windows::check(query, &from, &checker, &is_person)?;
    }
    if query.hasDistinctOn() {
        query.set_sortClause(tree::list_of(distinct_order(query)?));
    }
    let shown = query
        .targetList()
        .into_iter()
        .filter(|target| !target.resjunk());
    let persons = shown
        .filter(|target| target.expr().is_some_and(is_person))
        .map(|target| target.resno());
    let persons = persons.collect();
    from.lift_inputs();
    Ok(Relation {
        facts,
        persons,
        one_row,
    })
}

/// FULL JOIN of two private relations: rows of both sides that meet are of one person, as ON says, and a row of one side
/// alone has the person of that side.
fn of_full_join<'t>(
    query: Ref<'t, Query>,
    join: Ref<'t, JoinExpr>,
    shared: &Shared<'t>,
) -> Checked<Relation> {
    let (from, pairs) = From::of_full_join(query, join, shared)?;
    let from = Rc::new(from);
    let checker = from.checker(Some(Around::of(&from)));
    from.check_conditions(&checker)?;
    let is_person = |target: &Ref<'t, TargetEntry>| {
        let columns = target.expr().and_then(full_join::coalesced);
        columns.is_some_and(|[a, b]| pairs.contains(&[a, b]) || pairs.contains(&[b, a]))
    };
    if !query
        .targetList()
        .into_iter()
        .any(|target| is_person(&target))
    {
        let number = query.targetList().nodes().len() + 1;
        let number = i16::try_from(number).map_err(|_| "too many columns")?;
        let target = tree::target(full_join::coalesce(query, join, pairs[0])?, number, PERSON);
        query.set_targetList(query.targetList().append(target));
    }
    let persons = query.targetList().into_iter().filter(is_person);
    let persons = persons.map(|target| target.resno()).collect();
    // A column of one side says nothing of the rows that it has no value in.
    let facts = facts::of(query, &from, &checker).into_iter();
    let facts = facts.map(|facts| Facts {
        is_never_null: false,
        row: None,
        refers: false,
        is_of_person: false,
        ..facts
    });
    let facts = facts.collect();
    check_targets(query, &checker)?;
    from.lift_inputs();
    Ok(Relation {
        facts,
        persons,
        one_row: OneRow::No,
    })
}

/// What no private relation can have, as it chooses among the rows of several people, or makes more of them.
fn check_shape(query: Ref<Query>) -> Checked<()> {
    if is_cap_of_tools(query) {
        query.set_limitCount(None);
    }
    if query.limitCount().is_some() || query.limitOffset().is_some() {
        return Err(Reason::with_hint(
            "LIMIT or OFFSET in a sub-query chooses among the rows of all people",
            "Choose among each person's rows: number them by row_number() OVER (PARTITION BY the person ORDER BY ...), \
             and put a condition on that number around it.",
        ));
    }
    if !query.groupingSets().is_empty() {
        return Err(Reason::with_hint(
            "GROUPING SETS in a sub-query of one row for each person",
            "Use GROUP BY there, and GROUPING SETS in the query around it.",
        ));
    }
    if !query.rowMarks().is_empty() {
        return Err("protected tables can only be read, without row locks".into());
    }
    if query.hasTargetSRFs() || !query.cteList().is_empty() {
        return Err(Reason::with_hint(
            "a sub-query over protected rows has set-returning functions, or a WITH that is no plain query",
            "Leave them out, or put them around the query.",
        ));
    }
    Ok(())
}

/// From how many rows on a LIMIT is the cap that tools put on all they read.
const CAP: i64 = 1_000_000;

/// Whether a query has no other LIMIT than such a cap. All rows are taken then: which of more were left out would be
/// chance.
fn is_cap_of_tools(query: Ref<Query>) -> bool {
    let most = query.limitCount().map(|most| tree::fold(None, most.copy()));
    let most = most.and_then(tree::constant).flatten();
    most.is_some_and(|most| most.value() as i64 >= CAP)
        && query.limitOffset().is_none()
        && query.limitOption() != pg_sys::LimitOption::LIMIT_OPTION_WITH_TIES
}

fn is_grouped(query: Ref<Query>) -> bool {
    query.hasAggs() || !query.groupClause().is_empty()
}

/// Whether an expression is a column that names the person of a row.
fn is_person<'t>(from: &From<'t>, query: Ref<'t, Query>, node: Ref<'t, Node>) -> bool {
    let node = tree::flatten_joins(query, node);
    person::own_column(node).is_some_and(|column| from.is_person(column))
}

/// Shows a column that names the person, if none is.
fn show_person<'t>(query: Ref<'t, Query>, from: &From<'t>) -> Checked<()> {
    let flat = |node: Ref<'t, Node>| tree::flatten_joins(query, node);
    query.set_targetList(List::of_tree(query.targetList().node().map(flat)));
    query.set_havingQual(query.havingQual().map(flat));
    let mut targets = query.targetList().into_iter();
    // As it is: another type could have fewer values.
    let is_shown = targets.any(|target| {
        let column = target.expr().and_then(|expr| expr.cast::<pg_sys::Var>());
        let column = column.filter(|column| column.varlevelsup() == 0 && !target.resjunk());
        column.is_some_and(|column| from.is_person((column.varno(), column.varattno())))
    });
    if is_shown {
        return Ok(());
    }
    // A column of GROUP BY or DISTINCT ON is there, and hidden.
    let mut hidden = query.targetList().into_iter();
    let hidden = hidden.find(|target| {
        target.resjunk()
            && target
                .expr()
                .is_some_and(|expr| is_person(from, query, expr))
    });
    let target = match hidden {
        Some(target) => target,
        None => {
            let (entry, column) = *from
                .persons
                .first()
                .ok_or("a sub-query has no private rows")?;
            let value = tree::column(query, entry, column).ok_or("a person has no column")?;
            tree::target(value, 0, PERSON)
        }
    };
    target.set_resjunk(false);
    target.set_resname(Some(PERSON));
    let all = query.targetList().nodes();
    let (junk, shown): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(|known| *known != target)
        .partition(|target| target.resjunk());
    let all = shown.into_iter().chain([target]).chain(junk);
    let all: Vec<Ref<TargetEntry>> = all.collect();
    for (target, number) in all.iter().zip(1..) {
        target.set_resno(number);
    }
    query.set_targetList(tree::list_of(all));
    Ok(())
}

/// Per person: GROUP BY names the person, so a group is of one person's rows.
fn per_person<'t>(
    query: Ref<'t, Query>,
    is_person: &dyn Fn(Ref<'t, Node>) -> bool,
) -> Checked<OneRow> {
    let clauses = query.groupClause().nodes();
    calls::check_grouping(query, &clauses)?;
    if !has_person(query, &clauses, is_person) {
        return Err(Reason::with_hint(
            "an aggregate in a sub-query takes the rows of several people together",
            "Add the column that names the person to its GROUP BY.",
        ));
    }
    Ok(match clauses.len() {
        1 => OneRow::Always,
        _ => OneRow::No,
    })
}

/// DISTINCT: rows of one person are compared with each other, as the person is among what is compared.
fn distinct<'t>(
    query: Ref<'t, Query>,
    is_person: &dyn Fn(Ref<'t, Node>) -> bool,
) -> Checked<OneRow> {
    let clauses = query.distinctClause().nodes();
    if clauses.is_empty() {
        return Ok(OneRow::No);
    }
    calls::check_grouping(query, &clauses)?;
    if !has_person(query, &clauses, is_person) {
        return Err(Reason::with_hint(
            "DISTINCT in a sub-query compares the rows of several people",
            "Add the column that names the person, as in DISTINCT ON (patient).",
        ));
    }
    Ok(match clauses.len() {
        1 => OneRow::Always,
        _ => OneRow::No,
    })
}

fn has_person<'t>(
    query: Ref<'t, Query>,
    clauses: &[Ref<'t, SortGroupClause>],
    is_person: &dyn Fn(Ref<'t, Node>) -> bool,
) -> bool {
    let mut targets = clauses
        .iter()
        .map(|clause| tree::sort_group_target(*clause, query.targetList()));
    targets.any(|target| target.expr().is_some_and(is_person))
}

/// The order of DISTINCT ON: behind what is asked for all else, so that the row that stays is one and the same.
fn distinct_order<'t>(query: Ref<'t, Query>) -> Checked<Vec<Ref<'t, SortGroupClause>>> {
    let mut clauses = query.sortClause().nodes();
    // PostgreSQL sorts by the expressions of ON first.
    for clause in query.distinctClause() {
        windows::add(&mut clauses, clause);
    }
    windows::in_order_with_numbers(query, clauses)
}

/// Puts all that the query computes into its safe form. What it is ordered by alone is left out.
fn check_targets<'t>(query: Ref<'t, Query>, checker: &Checker<'t>) -> Checked<()> {
    if !query.hasDistinctOn() {
        query.set_sortClause(List::EMPTY);
    }
    for target in query.targetList() {
        let expr = target.expr().expect("a target has an expression");
        target.set_expr(Some(checker.safe(expr)?));
    }
    query.set_havingQual(checker.safe_if(query.havingQual())?);
    Ok(())
}
