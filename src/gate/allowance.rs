//! Who may ask about a protected table. Each permission and each end of one is a row; the last one of a table and
//! a role holds. All of it is a part of the transaction that says it.

use std::collections::BTreeMap;

use pgrx::pg_sys::{self, Oid};

use crate::gate::defence::Defence;
use crate::ledger::rows::{self, Value};
use crate::ledger::session;
use crate::ledger::tables::{ALLOWANCE, Lock, Table};
use crate::pg::errors::Refusal;

/// The last word on each role: its number, and whether it may ask.
fn last(table: &Table, relation: Oid) -> BTreeMap<u32, (i64, bool)> {
    let mut last: BTreeMap<u32, (i64, bool)> = BTreeMap::new();
    let of_relation = [(0, Value::Relation(relation))];
    rows::each_of(table, &ALLOWANCE, of_relation, |row| {
        let entry = (row.integer(2), row.boolean(3));
        let held = last.entry(row.oid(1).to_u32()).or_insert(entry);
        if held.0 < entry.0 {
            *held = entry;
        }
    });
    last
}

/// Whether a role may ask about a table: it or a role that it has the rights of was allowed.
pub fn is_allowed(relation: Oid, asker: Oid) -> Result<bool, Refusal> {
    // A session goes on when its role is dropped, and a row of the table may name it still.
    if Defence::Role.stands() && session::name_of(asker).is_none() {
        return Ok(false);
    }
    let table = Table::open(&ALLOWANCE, Lock::Read)?;
    let allowed = last(&table, relation)
        .into_iter()
        .filter(|(_, (_, allowed))| *allowed);
    let mut allowed = allowed.map(|(role, _)| Oid::from_u32(role));
    // SAFETY: a lookup in the catalog, which knows no role that is gone.
    Ok(allowed.any(|role| unsafe { pg_sys::has_privs_of_role(asker, role) }))
}

/// Allows a role to ask, or ends it. Whether that changes anything.
pub fn set(relation: Oid, role: Oid, allowed: bool) -> Result<bool, Refusal> {
    let table = Table::open(&ALLOWANCE, Lock::Alone)?;
    let before = last(&table, relation).get(&role.to_u32()).copied();
    if before.is_some_and(|(_, before)| before) == allowed {
        return Ok(false);
    }
    let number = before.map_or(0, |(number, _)| number) + 1;
    let values = [
        Value::Relation(relation),
        Value::Role(role),
        Value::Integer(number),
        Value::Boolean(allowed),
        Value::Time(session::now()),
        Value::Text(session::role_name()),
    ];
    rows::insert(&table, &ALLOWANCE, &values);
    // SAFETY: plans about the table are made again.
    unsafe { pg_sys::CacheInvalidateRelcacheByRelid(relation) };
    Ok(true)
}

/// Ends all permissions to ask about a table.
pub fn end_all(relation: Oid) -> Result<(), Refusal> {
    let roles: Vec<u32> = {
        let table = Table::open(&ALLOWANCE, Lock::Read)?;
        let allowed = last(&table, relation)
            .into_iter()
            .filter(|(_, (_, allowed))| *allowed);
        allowed.map(|(role, _)| role).collect()
    };
    for role in roles {
        set(relation, Oid::from_u32(role), false)?;
    }
    Ok(())
}
