//! Which column names the person of a row, and when two rows are known to be of the same one.

use pgrx::pg_sys::{
    self, JoinExpr, JoinType, Node, NodeTag, Oid, OpExpr, Query, RTEKind, RangeTblRef,
    SortGroupClause, Var,
};

use crate::gate::defence::Defence;
use crate::gate::{access, canonical_keys, expression, policy};
use crate::pg::procedure;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// The name of the column that is added where a sub-query does not show its person.
pub const PERSON: &str = "person of the row";

/// A column: the number of its entry in FROM, and its own.
pub type Column = (i32, i16);

/// Equality of integers of different widths, which keeps all of them apart.
const INTEGERS: [u32; 6] = [
    pg_sys::F_INT24EQ,
    pg_sys::F_INT42EQ,
    pg_sys::F_INT28EQ,
    pg_sys::F_INT82EQ,
    pg_sys::F_INT48EQ,
    pg_sys::F_INT84EQ,
];

/// The column that an expression is: as it is, or a `varchar` as the text that it is. Any other cast could make two
/// persons equal, and so could a collation by which texts are equal that are not the same.
pub fn column_of<'t>(node: Ref<'t, Node>) -> Option<Ref<'t, Var>> {
    if let Some(column) = node.cast::<Var>() {
        return Some(column);
    }
    let same = node.cast::<pg_sys::RelabelType>()?;
    let column = same.arg()?.cast::<Var>()?;
    let kinds = (tree::type_of(column.node()), tree::type_of(node));
    let is_text = kinds == (pg_sys::VARCHAROID, pg_sys::TEXTOID);
    let is_same = canonical_keys::is_bytewise(tree::collation_of(node)) || !Defence::Form.stands();
    (is_text && is_same).then_some(column)
}

/// The two columns that a condition says are equal, as their types compare them; `None` of any other condition.
pub fn equality(condition: Ref<Node>) -> Option<[Column; 2]> {
    let (operator, [one, other]) = comparison(condition)?;
    let columns = [own_column(one)?, own_column(other)?];
    is_equality(operator, tree::type_of(one), tree::type_of(other)).then_some(columns)
}

/// An operator with two sides.
pub fn comparison<'t>(node: Ref<'t, Node>) -> Option<(Ref<'t, OpExpr>, [Ref<'t, Node>; 2])> {
    let operator = node
        .operator()
        .filter(|_| node.tag() == NodeTag::T_OpExpr)?;
    let [one, other] = operator.args().nodes()[..] else {
        return None;
    };
    Some((operator, [one, other]))
}

/// The column of this query that an expression is.
pub fn own_column(node: Ref<Node>) -> Option<Column> {
    let column = column_of(node).filter(|column| column.varlevelsup() == 0)?;
    Some((column.varno(), column.varattno()))
}

/// Whether an operator says that two values of these types are the same one.
pub fn is_equality(operator: Ref<OpExpr>, one: Oid, other: Oid) -> bool {
    if !expression::is_comparison(operator) {
        return false;
    }
    let function = operator.opfuncid().to_u32();
    if one != other {
        return INTEGERS.contains(&function);
    }
    let (kind, _) = tree::base_type(one, -1);
    let collation = operator.inputcollid();
    // SAFETY: a lookup in the catalog; the entry stays for good.
    let equal = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_EQ_OPR as i32);
        pg_sys::get_opcode((*entry).eq_opr)
    };
    equal.to_u32() == function
        && (collation == Oid::INVALID || procedure::is_deterministic(collation))
}

/// Whether a query only is a private relation: its rows are those of people, and not an answer. Nothing of it is
/// checked yet.
pub fn is_relation<'t>(query: Ref<'t, Query>) -> bool {
    stack::check();
    if query.commandType() != pg_sys::CmdType::CMD_SELECT {
        return false;
    }
    if query.setOperations().is_some() {
        let mut arms = query
            .rtable()
            .into_iter()
            .filter_map(|entry| entry.subquery());
        return arms.any(is_relation);
    }
    if !has_private(query) {
        return false;
    }
    let are_of_one = |clauses: List<'t, SortGroupClause>| {
        clauses.into_iter().any(|clause| {
            let target = tree::sort_group_target(clause, query.targetList());
            let is_one = |expr| names_person(query, expr) || row_of_person(query, expr).is_some();
            target.expr().is_some_and(is_one)
        })
    };
    if query.hasAggs() || !query.groupClause().is_empty() || !query.groupingSets().is_empty() {
        return are_of_one(query.groupClause());
    }
    let is_distinct = !query.distinctClause().is_empty() && !query.hasDistinctOn();
    !is_distinct || are_of_one(query.distinctClause())
}

/// Whether FROM has private rows: a protected table that the role may not read, or a sub-query that is a private
/// relation.
pub fn has_private(query: Ref<Query>) -> bool {
    let from = query.jointree();
    from.is_some_and(|from| !private_entries(query, from.node()).is_empty())
}

/// The entries below a part of FROM that have private rows.
pub fn private_entries<'t>(query: Ref<'t, Query>, node: Ref<'t, Node>) -> Vec<i32> {
    stack::check();
    if let Some(reference) = node.cast::<RangeTblRef>() {
        let index = reference.rtindex();
        return match is_private(query, index) {
            true => vec![index],
            false => Vec::new(),
        };
    }
    let parts = if let Some(join) = node.cast::<JoinExpr>() {
        [join.larg(), join.rarg()].into_iter().flatten().collect()
    } else if let Some(from) = node.cast::<pg_sys::FromExpr>() {
        from.fromlist().nodes()
    } else {
        Vec::new()
    };
    let parts = parts.into_iter();
    parts
        .flat_map(|part| private_entries(query, part))
        .collect()
}

fn is_private(query: Ref<Query>, index: i32) -> bool {
    let entry = tree::entry(query, index);
    match entry.rtekind() {
        RTEKind::RTE_RELATION => access::denied_policy(query, entry).is_some(),
        RTEKind::RTE_SUBQUERY => entry.subquery().is_some_and(is_relation),
        _ => false,
    }
}

/// The entry of FROM that an expression is a column of, if its values are rows of people: a foreign key that says whose
/// the row is, or a key of a protected table. Rows with the same value are of one person then, as long as the entry is
/// there in all rows: an outer join has NULL for those of many. Nothing private may hang on it: the person is compared,
/// too.
pub fn row_of_person<'t>(query: Ref<'t, Query>, node: Ref<'t, Node>) -> Option<i32> {
    let node = tree::flatten_joins(query, tree::ungrouped(query, node));
    let (index, number) = own_column(node)?;
    let from = query.jointree()?;
    let is_row = is_kept(from.node(), index) && shows_row(query, index, number);
    is_row.then_some(index)
}

fn shows_row<'t>(query: Ref<'t, Query>, index: i32, number: i16) -> bool {
    stack::check();
    let entry = tree::entry(query, index);
    match entry.rtekind() {
        RTEKind::RTE_RELATION => access::denied_policy(query, entry).is_some_and(|policy| {
            let is_reference = policy.reference.is_some() && policy.unit == number;
            // Groups of a declared list are an answer.
            let is_listed = policy.values(number).is_some();
            let is_key = || policy.is_not_null(number) && policy::is_unique(entry.relid(), number);
            !is_listed && (is_reference || is_key())
        }),
        RTEKind::RTE_SUBQUERY => entry.subquery().is_some_and(|below| {
            let mut targets = below.targetList().into_iter();
            let target = targets.find(|target| target.resno() == number && !target.resjunk());
            let expr = target.and_then(|target| target.expr());
            below.setOperations().is_none()
                && expr.is_some_and(|expr| row_of_person(below, expr).is_some())
        }),
        _ => false,
    }
}

/// Whether each row of a part of FROM has a row of an entry.
pub fn is_kept(node: Ref<Node>, index: i32) -> bool {
    stack::check();
    if let Some(reference) = node.cast::<RangeTblRef>() {
        return reference.rtindex() == index;
    }
    if let Some(from) = node.cast::<pg_sys::FromExpr>() {
        return from.fromlist().into_iter().any(|part| is_kept(part, index));
    }
    let Some(join) = node.cast::<JoinExpr>() else {
        return false;
    };
    let sides = match join.jointype() {
        JoinType::JOIN_INNER => [join.larg(), join.rarg()],
        JoinType::JOIN_LEFT => [join.larg(), None],
        JoinType::JOIN_RIGHT => [None, join.rarg()],
        _ => [None, None],
    };
    sides.into_iter().flatten().any(|side| is_kept(side, index))
}

/// A column that names the person of the rows of FROM: of that entry, if it has one.
pub fn person_beside(query: Ref<Query>, index: i32) -> Option<Column> {
    let from = query.jointree()?.node();
    let kept = private_entries(query, from).into_iter();
    let kept = kept.filter(|other| *other != index && is_kept(from, *other));
    [index]
        .into_iter()
        .chain(kept)
        .find_map(|index| Some((index, own_person(query, index)?)))
}

/// The column of an entry of FROM that names its person.
fn own_person(query: Ref<Query>, index: i32) -> Option<i16> {
    let entry = tree::entry(query, index);
    match entry.rtekind() {
        RTEKind::RTE_RELATION => {
            let policy = access::denied_policy(query, entry);
            let policy = policy.filter(|policy| policy.names_person());
            policy.map(|policy| policy.unit)
        }
        RTEKind::RTE_SUBQUERY => {
            let below = entry.subquery()?;
            let mut shown = below
                .targetList()
                .into_iter()
                .filter(|target| !target.resjunk());
            let person = shown.find(|target| shows_person(below, target.resno()));
            person.map(|target| target.resno())
        }
        _ => None,
    }
}

/// Whether an expression is a column that names the person of a row, wherever it comes from.
pub fn names_person<'t>(query: Ref<'t, Query>, node: Ref<'t, Node>) -> bool {
    stack::check();
    let node = tree::ungrouped(query, node);
    let node = tree::flatten_joins(query, node);
    if let Some(first) = node.cast::<pg_sys::CoalesceExpr>() {
        // Of the sides of a FULL JOIN.
        let mut args = first.args().into_iter();
        return has_full_join(query) && args.all(|arg| names_person(query, arg));
    }
    let Some(column) = column_of(node).filter(|column| column.varlevelsup() == 0) else {
        return false;
    };
    let entry = tree::entry(query, column.varno());
    match entry.rtekind() {
        RTEKind::RTE_RELATION => {
            let policy = access::denied_policy(query, entry);
            policy.is_some_and(|policy| policy.unit == column.varattno() && policy.names_person())
        }
        RTEKind::RTE_SUBQUERY => entry
            .subquery()
            .is_some_and(|below| shows_person(below, column.varattno())),
        _ => false,
    }
}

fn has_full_join(query: Ref<Query>) -> bool {
    let mut entries = query.rtable().into_iter();
    entries.any(|entry| {
        entry.rtekind() == RTEKind::RTE_JOIN && entry.jointype() == pg_sys::JoinType::JOIN_FULL
    })
}

/// Whether a column of a private relation names the person of a row.
fn shows_person(query: Ref<Query>, column: i16) -> bool {
    if query.setOperations().is_some() {
        let arms = query
            .rtable()
            .into_iter()
            .filter_map(|entry| entry.subquery());
        let mut arms = arms.peekable();
        return arms.peek().is_some() && arms.all(|arm| shows_person(arm, column));
    }
    let mut targets = query.targetList().into_iter();
    let target = targets.find(|target| target.resno() == column && !target.resjunk());
    let expr = target.and_then(|target| target.expr());
    expr.is_some_and(|expr| names_person(query, expr))
}
