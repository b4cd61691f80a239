//! UNION, INTERSECT and EXCEPT of private relations: rows that are compared with each other name the same person, as
//! all arms have the person in the same place. UNION ALL compares none: where no arm shows the person, a column for
//! them is added to all.

use pgrx::pg_sys::{self, Node, Oid, Query, RangeTblRef, SetOperationStmt};

use crate::gate::inputs;
use crate::gate::private_relation::columns::{Facts, OneRow, Relation};
use crate::gate::private_relation::person::PERSON;
use crate::gate::private_relation::shared::Shared;
use crate::gate::private_relation::{calls, person};
use crate::gate::rejection::{Checked, Reason};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// A part of a set operation.
struct Arm<'t> {
    relation: Relation,
    index: i32,
    /// What it selects.
    values: Vec<Ref<'t, Node>>,
    /// Whether the last of these was added to show the person.
    is_added: bool,
}

impl Arm<'_> {
    fn kinds(&self) -> Vec<Oid> {
        self.values.iter().copied().map(tree::type_of).collect()
    }
}

pub fn check<'t>(query: Ref<'t, Query>, shared: &Shared<'t>) -> Checked<Relation> {
    let mut arms = Vec::new();
    let operations = query.setOperations().expect("it has some");
    collect(query, operations, shared, &mut arms)?;
    if arms.iter().any(|arm| arm.is_added) {
        show_person(query, operations, &arms)?;
    }
    let mut arms = arms.into_iter();
    let first = arms.next().ok_or("a set operation has no arm")?;
    let kinds = first.kinds();
    let mut all = first.relation;
    for arm in arms {
        let others = arm.kinds();
        all.persons.retain(|place| {
            let i = usize::try_from(*place - 1).expect("a column");
            arm.relation.persons.contains(place)
                && kinds.get(i) == others.get(i)
                && kinds.get(i).is_some()
        });
        let facts = std::mem::take(&mut all.facts)
            .into_iter()
            .zip(arm.relation.facts);
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
    arms: &mut Vec<Arm<'t>>,
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
    let values = |query: Ref<'t, Query>| {
        let shown = query.targetList().into_iter();
        let shown = shown.filter(|target| !target.resjunk());
        Vec::from_iter(shown.filter_map(|target| target.expr()))
    };
    let before = values(below).len();
    let relation = (shared.check_sub_query)(below, &shared.below())?;
    let values = values(below);
    arms.push(Arm {
        relation,
        index: reference.rtindex(),
        is_added: values.len() > before,
        values,
    });
    Ok(())
}

/// Makes the column that was added to each arm one of the whole.
fn show_person<'t>(
    query: Ref<'t, Query>,
    operations: Ref<'t, Node>,
    arms: &[Arm<'t>],
) -> Checked<()> {
    if !is_union_all(operations) {
        return Err(no_place());
    }
    let form = |arm: &Arm<'t>| {
        let value = arm.values.last().filter(|_| arm.is_added).copied()?;
        Some((tree::type_of(value), tree::collation_of(value)))
    };
    let forms: Option<Vec<_>> = arms.iter().map(form).collect();
    let forms = forms.ok_or_else(no_place)?;
    let (Some(first), Some((kind, collation))) = (arms.first(), forms.first().copied()) else {
        return Err(no_place());
    };
    if forms.iter().any(|form| *form != (kind, collation)) {
        return Err(no_place());
    }
    for arm in arms {
        let entry = tree::entry(query, arm.index);
        let below = entry.subquery().ok_or("unsupported set operation")?;
        inputs::add_column_names(entry, below);
    }
    add_column(operations, kind, collation);
    let number = i16::try_from(first.values.len()).map_err(|_| "too many columns")?;
    let value = tree::var(query.memory(), first.index, number, kind, -1, collation);
    let target = tree::target(value, number, PERSON);
    query.set_targetList(query.targetList().append(target));
    Ok(())
}

/// Whether it takes the rows of all arms as they are.
fn is_union_all(operations: Ref<Node>) -> bool {
    stack::check();
    let Some(operation) = operations.cast::<SetOperationStmt>() else {
        return true;
    };
    let is_it = operation.op() == pg_sys::SetOperation::SETOP_UNION && operation.all();
    let sides = [operation.larg(), operation.rarg()];
    is_it && sides.into_iter().flatten().all(is_union_all)
}

/// Says that the operations have a column more.
fn add_column(operations: Ref<Node>, kind: Oid, collation: Oid) {
    stack::check();
    let Some(operation) = operations.cast::<SetOperationStmt>() else {
        return;
    };
    let memory = operation.memory();
    operation.set_colTypes(operation.colTypes().concat(memory.oids(&[kind])));
    operation.set_colTypmods(operation.colTypmods().concat(memory.integers(&[-1])));
    operation.set_colCollations(operation.colCollations().concat(memory.oids(&[collation])));
    for side in [operation.larg(), operation.rarg()].into_iter().flatten() {
        add_column(side, kind, collation);
    }
}

fn no_place() -> Reason {
    Reason::with_hint(
        "the parts of a set operation do not name the person in the same column",
        "Select the column that names the person in each of them, at the same place and of the same type.",
    )
}
