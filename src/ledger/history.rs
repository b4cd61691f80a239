//! Who owns a budget, and where its ledger is kept: a row for each time that one of them changed, and the last one
//! holds. All of it is a part of the transaction that says it.

use std::collections::BTreeSet;

use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::{self, Oid};

use crate::ledger::defence::Defence;
use crate::ledger::errors::{self, Refusal};
use crate::ledger::home::Home;
use crate::ledger::rows::{self, Row, Value};
use crate::ledger::session;
use crate::ledger::tables::{HISTORY, Lock, Table};

/// What holds for a budget. Without a row nobody owns it, and it is kept nowhere.
#[derive(Clone, Copy)]
pub struct Record {
    number: i64,
    pub owner: Oid,
    pub home: Home,
    /// This transaction made it, and may still take it back.
    pub uncommitted: bool,
}

impl Record {
    const NONE: Self = Self {
        number: 0,
        owner: Oid::INVALID,
        home: Home {
            system: 0,
            timeline: 0,
            database: 0,
            ledger: 0,
            backup: 0,
        },
        uncommitted: false,
    };

    fn read(row: &Row) -> Self {
        Self {
            number: row.integer(1),
            owner: row.oid(2),
            home: Home {
                system: row.integer(3),
                timeline: row.integer(4),
                database: row.integer(5),
                ledger: row.integer(6),
                backup: row.integer(7),
            },
            uncommitted: row.uncommitted,
        }
    }

    /// What holds for a budget now.
    ///
    /// # Errors
    /// The ledger is damaged or locked.
    pub fn of(budget: i64) -> Result<Self, Refusal> {
        let table = Table::open(&HISTORY, Lock::Read)?;
        let mut last = Self::NONE;
        rows::each_of(&table, &HISTORY, [(0, Value::Integer(budget))], |row| {
            if row.integer(1) > last.number {
                last = Self::read(row);
            }
        });
        Ok(last)
    }

    /// Adds what holds from now on, with what was charged for it. A role that owns a budget then is not dropped.
    ///
    /// # Errors
    /// The ledger is damaged or locked.
    pub fn follow(
        &self,
        budget: i64,
        owner: Oid,
        home: &Home,
        charged: &Spent,
    ) -> Result<(), Refusal> {
        let table = Table::open(&HISTORY, Lock::Alone)?;
        let before = owners(&table);
        let values = [
            Value::Integer(budget),
            Value::Integer(self.number + 1),
            Value::Role(owner),
            Value::Integer(home.system),
            Value::Integer(home.timeline),
            Value::Integer(home.database),
            Value::Integer(home.ledger),
            Value::Integer(home.backup),
            Value::Integer(charged.epsilon),
            Value::Integer(charged.rho),
            Value::Integer(charged.delta),
            Value::Time(session::now()),
            Value::Text(session::role_name()),
        ];
        rows::insert(&table, &HISTORY, &values);
        if Defence::Owner.stands() {
            depend(&before, &owners(&table))?;
        }
        Ok(())
    }
}

/// The roles that own a budget.
fn owners(table: &Table) -> BTreeSet<u32> {
    let mut last = std::collections::BTreeMap::<i64, (i64, u32)>::new();
    rows::each(table, &HISTORY, |row| {
        let entry = (row.integer(1), row.oid(2).to_u32());
        let held = last.entry(row.integer(0)).or_insert(entry);
        *held = entry.max(*held);
    });
    last.into_values().map(|(_, owner)| owner).collect()
}

/// Makes DROP ROLE refuse these roles, and no longer those of before. PostgreSQL has no dependencies of rows. So the
/// roles get a right on the view that names the owners, whose name is in the message.
fn depend(before: &BTreeSet<u32>, after: &BTreeSet<u32>) -> Result<(), Refusal> {
    // SAFETY: plain lookups by name.
    let view = unsafe {
        let schema = pg_sys::get_namespace_oid(c"dp_mean".as_ptr(), true);
        pg_sys::get_relname_relid(c"budget_owner".as_ptr(), schema)
    };
    if view == Oid::INVALID {
        return Err(errors::ledger_damaged());
    }
    let is_there = |role: &&u32| session::name_of(Oid::from_u32(**role)).is_some();
    let all: Vec<u32> = before.union(after).copied().collect();
    let new: Vec<u32> = after.iter().filter(is_there).copied().collect();
    // All are taken away first: what was restored from a dump has none.
    for (old, new) in [(&all, &Vec::new()), (&Vec::new(), &new)] {
        let [(was, old), (is, new)] = [members(old), members(new)];
        // SAFETY: two sorted lists in memory of the call, which the callee frees.
        unsafe {
            pg_sys::updateAclDependencies(
                pg_sys::RelationRelationId,
                view,
                0,
                Oid::INVALID,
                was,
                old,
                is,
                new,
            );
            pg_sys::CommandCounterIncrement();
        }
    }
    Ok(())
}

/// Roles as PostgreSQL takes a list of them: how many, and an array that it frees.
fn members(roles: &[u32]) -> (i32, *mut Oid) {
    let count = i32::try_from(roles.len()).expect("not so many roles");
    // SAFETY: as many elements as are written.
    let array = unsafe {
        let array = pg_sys::palloc(size_of::<Oid>() * roles.len().max(1)).cast::<Oid>();
        for (i, role) in roles.iter().enumerate() {
            array.add(i).write(Oid::from_u32(*role));
        }
        array
    };
    (count, array)
}
