//! Tables that say by a foreign key whose their rows are: each is read with the table that it refers to, which names the
//! person, or refers to another one.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Oid, Query, RTEKind, RangeTblEntry};

use crate::gate::policy::{Policy, Reference, full_name, quoted};
use crate::gate::{access, inputs};
use crate::pg::execution::AsRole;
use crate::pg::tree::{self, List, Ref};

/// Puts a sub-query in the place of such a table in FROM: its rows, each with the person that the table which it refers
/// to names. Nothing is done with any other table.
pub fn follow<'t>(query: Ref<'t, Query>, index: i32) {
    let entry = tree::entry(query, index);
    let Some(policy) = Policy::of(entry.relid()) else {
        return;
    };
    let Some(reference) = policy.reference else {
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

/// All columns of a table, each in its place, behind them the column of the other one that says whose they are.
fn sql(entry: Ref<RangeTblEntry>, policy: &Policy, reference: Reference, other: &Policy) -> String {
    let name = |relation: Oid, column: i16| {
        // SAFETY: a lookup in the catalog, of a column that is there.
        let name = unsafe { tree::text_of(pg_sys::get_attname(relation, column, false)) };
        quoted(&name)
    };
    let columns = inputs::columns(entry, &BTreeSet::new());
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
