//! UNION, INTERSECT and EXCEPT of private relations: rows that are compared with each other name the same person, as
//! all arms have the person in the same place.

use pgrx::pg_sys::{self, Node, Query, RangeTblRef, SetOperationStmt};

use crate::gate::private_relation::columns::{Facts, OneRow, Relation};
use crate::gate::private_relation::shared::Shared;
use crate::gate::private_relation::{calls, person};
use crate::gate::rejection::{Checked, Reason};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// An arm, with the number of its columns.
type Arm = (Relation, Vec<pg_sys::Oid>);

pub fn check<'t>(query: Ref<'t, Query>, shared: &Shared<'t>) -> Checked<Relation> {
    let mut arms = Vec::new();
    let operations = query.setOperations().expect("it has some");
    collect(query, operations, shared, &mut arms)?;
    let mut arms = arms.into_iter();
    let (mut all, kinds) = arms.next().ok_or("a set operation has no arm")?;
    for (arm, other) in arms {
        all.persons.retain(|place| {
            let i = usize::try_from(*place - 1).expect("a column");
            arm.persons.contains(place) && kinds.get(i) == other.get(i) && kinds.get(i).is_some()
        });
        let facts = std::mem::take(&mut all.facts).into_iter().zip(arm.facts);
        all.facts = facts
            .map(|(one, other)| one.or(other))
            .collect::<Vec<Facts>>();
    }
    let shown = query
        .targetList()
        .into_iter()
        .filter(|target| !target.resjunk())
        .count();
    all.facts.truncate(shown);
    all.persons
        .retain(|place| usize::try_from(*place).is_ok_and(|place| place <= shown));
    if all.persons.is_empty() {
        return Err(no_place());
    }
    all.one_row = OneRow::No;
    query.set_sortClause(List::EMPTY);
    Ok(all)
}

/// Checks the arms below a set operation, from the left to the right.
fn collect<'t>(
    query: Ref<'t, Query>,
    node: Ref<'t, Node>,
    shared: &Shared<'t>,
    arms: &mut Vec<Arm>,
) -> Checked<()> {
    stack::check();
    if let Some(operation) = node.cast::<SetOperationStmt>() {
        calls::check_clauses(operation.groupClauses())?;
        for side in [operation.larg(), operation.rarg()].into_iter().flatten() {
            collect(query, side, shared, arms)?;
        }
        return Ok(());
    }
    let reference = node
        .cast::<RangeTblRef>()
        .ok_or("unsupported set operation")?;
    let entry = tree::entry(query, reference.rtindex());
    let below = entry.subquery().ok_or("unsupported set operation")?;
    if !person::is_relation(below) {
        return Err(Reason::with_hint(
            "a set operation takes private rows and others together",
            "Take together the results of queries, or protected tables alone.",
        ));
    }
    let kinds = |query: Ref<'t, Query>| {
        let shown = query
            .targetList()
            .into_iter()
            .filter(|target| !target.resjunk());
        let kinds = shown.map(|target| target.expr().map_or(pg_sys::InvalidOid, tree::type_of));
        kinds.collect::<Vec<_>>()
    };
    let before = kinds(below).len();
    let relation = (shared.check_sub_query)(below, &shared.below())?;
    // A column that was added is none of the operation's.
    if kinds(below).len() > before {
        return Err(no_place());
    }
    arms.push((relation, kinds(below)));
    Ok(())
}

fn no_place() -> Reason {
    Reason::with_hint(
        "the parts of a set operation do not name the person in the same column",
        "Select the column that names the person in each of them, at the same place and of the same type.",
    )
}
