//! Tables that say by a foreign key whose their rows are: each is read with the table that it refers to, which names the
//! person, or refers to another one.

use std::collections::BTreeSet;
use std::rc::Rc;

use pgrx::pg_sys::{
    self, FromExpr, JoinExpr, JoinType, Oid, Query, RTEKind, RangeTblEntry, RangeTblRef,
};

use crate::gate::access;
use crate::gate::inputs::columns;
use crate::gate::policy::{Policy, Reference, full_name, quoted};
use crate::gate::private_relation::person::{self, Column};
use crate::pg::execution::AsRole;
use crate::pg::tree::{self, List, Ref};

/// Does the same for all of these tables, but for those that the query itself joins with what they refer to.
pub fn follow_all<'t>(query: Ref<'t, Query>, tables: &[i32]) {
    let joined = Joined::of(query);
    let open = tables.iter().filter(|index| !joined.has(query, **index));
    for index in open.collect::<Vec<_>>() {
        follow(query, *index);
    }
}

/// The entries of FROM that inner joins alone put together, and the columns that are equal in all of its rows.
#[derive(Default)]
struct Joined {
    entries: Vec<i32>,
    equalities: Vec<[Column; 2]>,
}

impl Joined {
    fn of(query: Ref<Query>) -> Self {
        let mut found = Self::default();
        let mut open: Vec<_> = query.jointree().map(Ref::node).into_iter().collect();
        while let Some(node) = open.pop() {
            let condition = if let Some(entry) = node.cast::<RangeTblRef>() {
                found.entries.push(entry.rtindex());
                None
            } else if let Some(from) = node.cast::<FromExpr>() {
                open.extend(from.fromlist());
                from.quals()
            } else if let Some(join) = node.cast::<JoinExpr>()
                && join.jointype() == JoinType::JOIN_INNER
            {
                open.extend([join.larg(), join.rarg()].into_iter().flatten());
                join.quals()
            } else {
                None
            };
            let flat = condition.map(|condition| tree::flatten_joins(query, condition));
            let all = tree::conjuncts(flat).into_iter();
            found.equalities.extend(all.filter_map(person::equality));
        }
        found
    }

    /// Whether a table is joined with the row that it refers to, which says then whose its rows are.
    fn has(&self, query: Ref<Query>, index: i32) -> bool {
        let policy = Policy::of(tree::entry(query, index).relid());
        let Some((policy, reference)) = policy.and_then(|policy| {
            let reference = policy.reference?;
            Some((policy, reference))
        }) else {
            return false;
        };
        let own = (index, policy.unit);
        let is_other = |(entry, column): Column| {
            let other = tree::entry(query, entry);
            (self.entries.contains(&entry) && entry != index)
                && column == reference.key
                && other.rtekind() == RTEKind::RTE_RELATION
                && other.relid() == reference.relation
                && access::is_denied(query, other)
        };
        let mut equalities = self.equalities.iter();
        self.entries.contains(&index)
            && equalities.any(|[a, b]| (*a == own && is_other(*b)) || (*b == own && is_other(*a)))
    }
}

/// Puts a sub-query in the place of such a table in FROM: its rows, each with the person that the table which it refers
/// to names. Nothing is done with any other table, nor with one whose own column has the person's name.
fn follow<'t>(query: Ref<'t, Query>, index: i32) {
    let entry = tree::entry(query, index);
    let Some(policy) = Policy::of(entry.relid()) else {
        return;
    };
    let Some(reference) = policy.reference.filter(|_| !policy.names_person()) else {
        return;
    };
    let Some(other) = Policy::of(reference.relation) else {
        return;
    };
    let view_owner = access::view_owner(query, entry);
    let sql = sql(entry, &policy, reference, &other);
    let below = {
        // What row-level security shows is what that role sees.
        let _role = view_owner.map(AsRole::become_role);
        let sql = std::ffi::CString::new(sql).unwrap_or_default();
        tree::analyse(query.memory(), &sql)
    };
    let [below] = below[..] else {
        return;
    };
    if let Some(owner) = view_owner {
        for entry in below.rtable() {
            access::ask_as(below, entry, owner);
        }
    }
    access::forget(entry);
    entry.set_rtekind(RTEKind::RTE_SUBQUERY);
    entry.set_relid(Oid::INVALID);
    entry.set_relkind(0);
    entry.set_rellockmode(0);
    entry.set_inh(false);
    entry.set_securityQuals(List::EMPTY);
    entry.set_subquery(Some(below));
    // The other table, which may refer to a third one, is the second there.
    follow(below, 2);
}

/// The policy of the table that such a sub-query is in the place of, whose columns it has in their places.
pub fn followed(query: Ref<Query>) -> Option<Rc<Policy>> {
    let entry = query.rtable().into_iter().next()?;
    let policy = access::denied_policy(query, entry)?;
    // The last one is the person.
    let targets = query.targetList().nodes();
    let (_, columns) = targets.split_last()?;
    let is_in_place = columns.iter().all(|target| {
        let value = target.expr();
        let is_dropped = value.and_then(tree::constant).is_some();
        is_dropped || value.and_then(person::own_column) == Some((1, target.resno()))
    });
    let is_it = policy.reference.is_some()
        && query.groupClause().is_empty()
        && query.setOperations().is_none()
        && is_in_place;
    is_it.then_some(policy)
}

/// All columns of a table, each in its place, behind them the column of the other one that says whose they are.
fn sql(entry: Ref<RangeTblEntry>, policy: &Policy, reference: Reference, other: &Policy) -> String {
    let name = |relation: Oid, column: i16| {
        // SAFETY: a lookup in the catalog, of a column that is there.
        let name = unsafe { tree::text_of(pg_sys::get_attname(relation, column, false)) };
        quoted(&name)
    };
    let columns = columns::of_table(entry, &BTreeSet::new());
    let columns = columns
        .iter()
        .zip(1..)
        .map(|(column, number)| match policy.has_column(number) {
            true => format!("a.{}", quoted(&column.name)),
            // One that was dropped has its place still.
            false => "NULL::pg_catalog.int4".to_owned(),
        });
    let columns: Vec<_> = columns.collect();
    format!(
        "SELECT {}, b.{} FROM {} a JOIN {} b ON a.{} OPERATOR(pg_catalog.=) b.{}",
        columns.join(", "),
        name(other.relation, other.unit),
        full_name(policy.relation),
        full_name(other.relation),
        name(policy.relation, policy.unit),
        name(other.relation, reference.key),
    )
}
