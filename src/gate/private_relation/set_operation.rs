//! UNION, INTERSECT and EXCEPT of private relations: rows that are compared with each other name the same person, as
//! all arms have the person in the same place. UNION ALL compares none: where no arm shows the person, a column for
//! them is added to all.

use pgrx::pg_sys::{self, Node, Oid, Query, RangeTblRef, SetOperationStmt};

use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::inputs::columns;
use crate::gate::private_relation::columns::{Facts, OneRow, Relation};
use crate::gate::private_relation::person::PERSON;
use crate::gate::private_relation::shared::Shared;
use crate::gate::private_relation::{calls, person};
use crate::gate::rejection::{Checked, Reason};
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref, Step};

/// A part of a set operation.
struct Arm<'t> {
    relation: Relation,
    index: i32,
    /// What it selects.
    values: Vec<Ref<'t, Node>>,
    /// Whether the last of these was added to show the person.
    is_added: bool,
    /// Whether its rows are compared with others.
    is_compared: bool,
}

impl Arm<'_> {
    fn kinds(&self) -> Vec<Oid> {
        self.values.iter().copied().map(tree::type_of).collect()
    }

    /// The lengths or scales of what it selects, where these say how equal values look.
    fn modifiers(&self) -> Vec<i32> {
        let modifier = |value: &Ref<Node>| {
            let (kind, modifier) =
                tree::base_type(tree::type_of(*value), tree::modifier_of(*value));
            match canonical_keys::has_one_form(kind, tree::collation_of(*value)) {
                true => -1,
                false => modifier,
            }
        };
        self.values.iter().map(modifier).collect()
    }
}

/// Writes in the arms of a set operation what PostgreSQL would cast by the row, where their columns have other types:
/// the cast is looked at as any other then.
pub fn cast_arms(query: Ref<Query>) -> Checked<()> {
    let Some(operations) = query.setOperations() else {
        return Ok(());
    };
    let mut all = Vec::new();
    tree::search(operations, &mut |node, _| {
        all.extend(node.cast::<SetOperationStmt>());
        Step::Below
    });
    let Some(whole) = all.first().copied() else {
        return Ok(());
    };
    let kinds = whole.colTypes().oids();
    for part in all {
        if part.colTypes().oids() == kinds {
            continue;
        }
        // Rows are compared by the types that they have there.
        if !part.all() {
            return Err(several_types());
        }
        part.set_colTypes(whole.colTypes());
        part.set_colTypmods(whole.colTypmods());
        part.set_colCollations(whole.colCollations());
    }
    for arm in query
        .rtable()
        .into_iter()
        .filter_map(|entry| entry.subquery())
    {
        let shown = arm.targetList().into_iter();
        let shown = shown.filter(|target| !target.resjunk());
        for (target, kind) in shown.zip(&kinds) {
            let value = target.expr().expect("a target has an expression");
            if tree::type_of(value) == *kind {
                continue;
            }
            // What an arm sorts or compares by, or takes of its own arms, has the type that it has.
            let is_free = target.ressortgroupref() == 0 && arm.setOperations().is_none();
            let cast = tree::cast(value, *kind).filter(|_| is_free);
            target.set_expr(Some(cast.ok_or_else(several_types)?));
        }
    }
    Ok(())
}

pub fn check<'t>(query: Ref<'t, Query>, shared: &Shared<'t>) -> Checked<Relation> {
    cast_arms(query)?;
    let mut arms = Vec::new();
    let operations = query.setOperations().expect("it has some");
    collect(query, operations, shared, false, &mut arms)?;
    if arms.iter().any(|arm| arm.is_added) {
        show_person(query, operations, &arms)?;
    }
    let is_compared = arms.iter().any(|arm| arm.is_compared);
    let mut arms = arms.into_iter();
    let first = arms.next().ok_or("a set operation has no arm")?;
    let (kinds, modifiers) = (first.kinds(), first.modifiers());
    let mut all = first.relation;
    for arm in arms {
        let (others, of_others) = (arm.kinds(), arm.modifiers());
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
        for (facts, pair) in all.facts.iter_mut().zip(modifiers.iter().zip(&of_others)) {
            facts.has_one_form &= pair.0 == pair.1;
        }
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
    let has_one_form = |place: &i16| {
        let facts = all.facts.get((*place - 1) as usize);
        facts.is_some_and(|facts| facts.has_one_form)
    };
    if is_compared && !all.persons.iter().all(has_one_form) && Defence::Form.stands() {
        return Err(several_forms());
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
    is_compared: bool,
    arms: &mut Vec<Arm<'t>>,
) -> Checked<()> {
    stack::check();
    if let Some(operation) = node.cast::<SetOperationStmt>() {
        calls::check_clauses(operation.groupClauses())?;
        let is_compared = is_compared || !takes_all(operation);
        for side in [operation.larg(), operation.rarg()].into_iter().flatten() {
            collect(query, side, shared, is_compared, arms)?;
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
    if is_compared && Defence::Form.stands() {
        put_in_one_form(below, &relation)?;
    }
    let values = values(below);
    arms.push(Arm {
        relation,
        index: reference.rtindex(),
        is_added: values.len() > before,
        is_compared,
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
        columns::add_column_names(entry, below);
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
    let sides = [operation.larg(), operation.rarg()];
    takes_all(operation) && sides.into_iter().flatten().all(is_union_all)
}

/// Whether an operation compares no rows.
fn takes_all(operation: Ref<SetOperationStmt>) -> bool {
    operation.op() == pg_sys::SetOperation::SETOP_UNION && operation.all()
}

/// Puts what an arm selects into one form: of rows that are equal and look different, which one is left would depend on
/// the rows of others.
fn put_in_one_form<'t>(arm: Ref<'t, Query>, relation: &Relation) -> Checked<()> {
    for (target, facts) in arm.targetList().into_iter().zip(&relation.facts) {
        let value = target.expr().expect("a target has an expression");
        if target.resjunk() || facts.has_one_form && relation.persons.contains(&target.resno()) {
            continue;
        }
        let trimmed = canonical_keys::trimmed(value);
        let is_plain = trimmed == value;
        if !canonical_keys::can_have_one_form(value)
            || !is_plain
                && (arm.setOperations().is_some() || relation.persons.contains(&target.resno()))
        {
            return Err(several_forms());
        }
        match target.ressortgroupref() {
            0 => target.set_expr(Some(trimmed)),
            // What it is grouped by is the same everywhere.
            _ => canonical_keys::replace(arm, value, trimmed),
        }
    }
    Ok(())
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

fn several_forms() -> Reason {
    Reason::with_hint(
        "UNION, INTERSECT or EXCEPT compares values of a type whose equal values may look different",
        "Use UNION ALL; or select numbers, dates or texts that are made of them, as extract(epoch FROM x) of an \
         interval.",
    )
}

fn several_types() -> Reason {
    Reason::with_hint(
        "the parts of a set operation have columns of several types",
        "Cast the columns of each part to the same types.",
    )
}

fn no_place() -> Reason {
    Reason::with_hint(
        "the parts of a set operation do not name the person in the same column",
        "Select the column that names the person in each of them, at the same place and of the same type.",
    )
}
