//! Budgets and their limits: who promised what to whom. All of it is a part of the transaction that says it.

use dp_core::error::ParameterError;
use dp_core::privacy::spending::{Accounting, HALF, Limit, Spent};
use pgrx::pg_sys::Oid;

use crate::ledger::balance::BalanceKey;
use crate::ledger::balances;
use crate::ledger::defence::Defence;
use crate::ledger::errors::{self, Refusal};
use crate::ledger::history::Record;
use crate::ledger::home::Home;
use crate::ledger::rows::{self, Row, Text, Value};
use crate::ledger::session;
use crate::ledger::tables::{BUDGET, HISTORY, Lock, PROMISE, Table};

/// The most bytes of a name, as everywhere in PostgreSQL.
const NAME_BYTES: usize = 63;

/// The name of a budget, checked.
#[derive(Clone)]
pub struct Name(Vec<u8>);

impl Name {
    /// # Errors
    /// NULL, empty, longer than 63 bytes, or with control characters.
    pub fn new(bytes: Option<Vec<u8>>) -> Result<Self, ParameterError> {
        const HINT: &str = "It says whose data it is, as in 'patients'.";
        let Some(bytes) = bytes else {
            return Err(ParameterError::new("budget", "must not be NULL", HINT));
        };
        if bytes.is_empty() || bytes.len() > NAME_BYTES || bytes.iter().any(u8::is_ascii_control) {
            return Err(ParameterError::new(
                "budget",
                "must have 1 to 63 bytes, and no control characters",
                HINT,
            ));
        }
        Ok(Self(bytes))
    }

    /// For messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// The column of names.
const NAME: usize = 1;

/// A budget that is there.
pub struct Budget {
    pub id: i64,
    record: Record,
}

impl Budget {
    /// The number of the budget of this name.
    fn find(table: &Table, name: &Name) -> Option<i64> {
        let mut found = None;
        let visit = |row: &Row| {
            if row.text(1) == name.0 {
                found = Some(row.integer(0));
            }
        };
        let text = Value::Text(Text::new(&name.0));
        rows::each_of(table, &BUDGET, [(NAME, text)], visit);
        // Where the order of texts has changed, as with another C library, an index of them misses rows.
        if found.is_none() {
            rows::each(table, &BUDGET, |row| {
                if row.text(1) == name.0 {
                    found = Some(row.integer(0));
                }
            });
        }
        found
    }

    /// The budget of this name.
    ///
    /// # Errors
    /// There is none.
    fn named(budgets: &Table, function: &str, name: &Name) -> Result<Self, Refusal> {
        let id = Self::find(budgets, name);
        let id = id.ok_or_else(|| errors::no_budget(function, &name.text()))?;
        let record = Record::of(id)?;
        Ok(Self { id, record })
    }

    /// The budget of this name, which the current role owns.
    ///
    /// # Errors
    /// There is none, or it is another's.
    pub fn owned(function: &str, name: &Name) -> Result<Self, Refusal> {
        let budgets = Table::open(&BUDGET, Lock::Read)?;
        let budget = Self::named(&budgets, function, name)?;
        budget.check_owner(function, name)?;
        Ok(budget)
    }

    /// The budgets that the current role owns, with their names.
    ///
    /// # Errors
    /// The ledger is damaged or locked.
    pub fn all_owned() -> Result<Vec<(i64, String)>, Refusal> {
        let mut all = Vec::new();
        let table = Table::open(&BUDGET, Lock::Read)?;
        rows::each(&table, &BUDGET, |row| {
            let name = String::from_utf8_lossy(&row.text(NAME)).into_owned();
            all.push((row.integer(0), name));
        });
        let mut owned = Vec::new();
        for (id, name) in all {
            if session::has_rights_of(Record::of(id)?.owner) {
                owned.push((id, name));
            }
        }
        Ok(owned)
    }

    /// The budget of this name, which the owner of a protected table owns too.
    ///
    /// # Errors
    /// There is none, or it is another's.
    pub fn of_table(name: &Name, owner: Oid) -> Result<Self, Refusal> {
        let budgets = Table::open(&BUDGET, Lock::Read)?;
        let budget = Self::named(&budgets, "dp_mean", name)?;
        match session::has_rights(owner, budget.record.owner) {
            true => Ok(budget),
            false => Err(errors::not_budget_owner("dp_mean", &name.text())),
        }
    }

    fn check_owner(&self, function: &str, name: &Name) -> Result<(), Refusal> {
        if session::has_rights_of(self.record.owner) {
            return Ok(());
        }
        Err(errors::not_budget_owner(function, &name.text()))
    }
}

/// What the indexes do not find that is there: a name, a limit, a home.
///
/// # Errors
/// The ledger is damaged or locked.
pub fn unfound() -> Result<Vec<String>, Refusal> {
    let mut unfound = Vec::new();
    let budgets = Table::open(&BUDGET, Lock::Read)?;
    let mut names = Vec::new();
    rows::each(&budgets, &BUDGET, |row| names.push(row.text(NAME)));
    for name in names {
        let mut found = false;
        let text = Value::Text(Text::new(&name));
        rows::each_of(&budgets, &BUDGET, [(NAME, text)], |row| {
            found |= row.text(NAME) == name;
        });
        if !found {
            let name = String::from_utf8_lossy(&name);
            unfound.push(format!(
                "the index of names does not find budget \"{name}\""
            ));
        }
    }
    for (shape, width) in [(&PROMISE, 2), (&HISTORY, 1)] {
        let table = Table::open(shape, Lock::Read)?;
        let key = |row: &Row| {
            (
                row.integer(0),
                if width == 2 { row.oid(1) } else { Oid::INVALID },
            )
        };
        let mut all = std::collections::BTreeMap::<(i64, u32), i64>::new();
        rows::each(&table, shape, |row| {
            let (budget, role) = key(row);
            *all.entry((budget, role.to_u32())).or_default() += 1;
        });
        for ((budget, role), count) in all {
            let mut found = 0;
            let mut visit = |_: &Row| found += 1;
            let budget_key = (0, Value::Integer(budget));
            match width {
                2 => {
                    let role_key = (1, Value::Role(Oid::from_u32(role)));
                    rows::each_of(&table, shape, [budget_key, role_key], &mut visit);
                }
                _ => rows::each_of(&table, shape, [budget_key], &mut visit),
            }
            if found != count {
                unfound.push(format!(
                    "the index of dp_mean.{} finds {found} of {count} rows of a budget",
                    shape.title()
                ));
            }
        }
    }
    Ok(unfound)
}

/// The number of the budget of this name, if it is there and nobody's lock is in the way.
pub fn id(name: &Name) -> Option<i64> {
    Budget::find(&Table::open_at_once(&BUDGET, Lock::Read)?, name)
}

/// That the ledger of a budget has all charges: it was made or continued here.
///
/// # Errors
/// It comes from elsewhere, or this transaction may still take back that it does not.
pub fn check_home(budget: i64, function: &str, name: &Name) -> Result<(), Refusal> {
    let record = Record::of(budget)?;
    if record.uncommitted && Defence::Committed.stands() {
        return Err(errors::history_not_committed(function, &name.text()));
    }
    let here = Home::here()?;
    match record.home.differs(&here) {
        Some(difference) if Defence::Home.stands() => {
            Err(errors::other_home(function, &name.text(), difference))
        }
        _ => Ok(()),
    }
}

/// The limit that holds now.
#[derive(Clone, Copy)]
pub struct Promise {
    pub limit: Limit,
    /// Nothing may be spent any more.
    pub closed: bool,
    /// This transaction made it, and may still take it back.
    pub uncommitted: bool,
    /// Which one it is of its line, from 1.
    number: i64,
}

impl Promise {
    fn read(row: &Row) -> Self {
        let accounting = String::from_utf8_lossy(&row.text(11)).into_owned();
        Self {
            number: row.integer(2),
            limit: Limit {
                asked: (row.float(3), row.float(4)),
                // Of a name that is not known, what allows less.
                accounting: Accounting::named(&accounting).unwrap_or(Accounting::Gaussian),
                failures: row.float(12),
                epsilon: row.integer(5),
                rho: row.integer(6),
                delta: row.integer(7),
            },
            closed: row.boolean(8),
            uncommitted: row.uncommitted,
        }
    }

    /// The last one of each key.
    fn last<const N: usize>(table: &Table, keys: [BalanceKey; N]) -> [Option<Self>; N] {
        keys.map(|key| {
            let mut last = None::<Self>;
            let of_key = [(0, Value::Integer(key.budget)), (1, Value::Role(key.role))];
            rows::each_of(table, &PROMISE, of_key, |row| {
                let promise = Self::read(row);
                if last.is_none_or(|last| last.number < promise.number) {
                    last = Some(promise);
                }
            });
            last
        })
    }

    /// What holds for each key now.
    pub fn current<const N: usize>(keys: [BalanceKey; N]) -> Result<[Option<Self>; N], Refusal> {
        let promises = Table::open(&PROMISE, Lock::Read)?;
        Ok(Self::last(&promises, keys))
    }

    /// Adds a promise behind those before.
    fn add(table: &Table, key: BalanceKey, before: Option<Self>, limit: &Limit, closed: bool) {
        let number = before.map_or(0, |before| before.number) + 1;
        let values = [
            Value::Integer(key.budget),
            Value::Role(key.role),
            Value::Integer(number),
            Value::Float(limit.asked.0),
            Value::Float(limit.asked.1),
            Value::Integer(limit.epsilon),
            Value::Integer(limit.rho),
            Value::Integer(limit.delta),
            Value::Boolean(closed),
            Value::Time(session::now()),
            Value::Text(session::role_name()),
            Value::Text(Text::new(limit.accounting.name().as_bytes())),
            Value::Float(limit.failures),
        ];
        rows::insert(table, &PROMISE, &values);
    }
}

/// Calls `visit` with each limit that was ever promised: to whom, which one it is of these, and what it allows.
///
/// # Errors
/// The ledger is damaged or locked.
pub fn each_limit(mut visit: impl FnMut(BalanceKey, i64, &Limit)) -> Result<(), Refusal> {
    let promises = Table::open(&PROMISE, Lock::Read)?;
    rows::each(&promises, &PROMISE, |row| {
        let key = BalanceKey {
            budget: row.integer(0),
            role: row.oid(1),
        };
        let promise = Promise::read(row);
        visit(key, promise.number, &promise.limit);
    });
    Ok(())
}

/// The two tables, for one who adds to them. Nobody else does until this transaction ends.
fn open_to_add() -> Result<(Table, Table), Refusal> {
    Ok((
        Table::open(&BUDGET, Lock::Alone)?,
        Table::open(&PROMISE, Lock::Alone)?,
    ))
}

/// What a promise asks for.
pub struct Asked {
    pub epsilon: f64,
    pub delta: f64,
    /// Of all promises of a budget: that of the first one. `None` where it is not said.
    pub accounting: Option<Accounting>,
    /// As above.
    pub failures: Option<f64>,
}

impl Asked {
    /// The limit, in the terms of the budget's first promise, if it has one; else in those that are asked for. Where
    /// promises were lost, what was spent may be a sum of either kind: that of rhos is at most the other one, so it
    /// counts as one of rhos, unless the owner knows better.
    fn limit(
        &self,
        function: &str,
        name: &Name,
        first: Option<Limit>,
        usual: Accounting,
    ) -> Result<Limit, Refusal> {
        let (accounting, failures) = match first {
            Some(first) if Defence::Terms.stands() => {
                let is_other = self
                    .accounting
                    .is_some_and(|asked| asked != first.accounting)
                    || self.failures.is_some_and(|asked| asked != first.failures);
                if is_other {
                    return Err(errors::other_terms(function, &name.text(), &first));
                }
                (first.accounting, first.failures)
            }
            _ => (
                self.accounting.unwrap_or(usual),
                self.failures.unwrap_or(HALF),
            ),
        };
        Limit::new(self.epsilon, self.delta, accounting, failures)
            .map_err(|error| errors::parameter(function, &error))
    }
}

/// Promises a limit: of a budget, which is made if it is not there, or of a role in a budget that is.
pub fn promise(
    function: &str,
    name: &Name,
    asked: &Asked,
    role: Option<Oid>,
) -> Result<(), Refusal> {
    // What breaks its rule is refused before anything is made.
    asked.limit(function, name, None, Accounting::Gaussian)?;
    let (budgets, promises) = open_to_add()?;
    let found = Budget::find(&budgets, name);
    let id = match (found, role) {
        (Some(id), _) => {
            let record = Record::of(id)?;
            Budget { id, record }.check_owner(function, name)?;
            id
        }
        (None, Some(_)) => return Err(errors::no_budget(function, &name.text())),
        (None, None) => {
            let id = balances::new_budget()?;
            make(&budgets, id, name)?;
            id
        }
    };
    let budget = |role| BalanceKey { budget: id, role };
    let (all, key) = (budget(Oid::INVALID), budget(role.unwrap_or(Oid::INVALID)));
    let [of_all, before] = Promise::last(&promises, [all, key]);
    if of_all.is_some_and(|promise| promise.closed) {
        return Err(errors::budget_closed(function, &name.text()));
    }
    let usual = match found {
        Some(_) => Accounting::Zcdp,
        None => Accounting::Gaussian,
    };
    let first = of_all.map(|promise| promise.limit);
    let limit = asked.limit(function, name, first, usual)?;
    Promise::add(&promises, key, before, &limit, false);
    Ok(())
}

/// In which terms the charges of a budget are added up; where its promises were lost, those in which a charge is more.
///
/// # Errors
/// There is no such budget.
pub fn accounting(function: &str, name: &Name) -> Result<Accounting, Refusal> {
    let id = Budget::find(&Table::open(&BUDGET, Lock::Read)?, name);
    let budget = id.ok_or_else(|| errors::no_budget(function, &name.text()))?;
    let role = Oid::INVALID;
    let [promise] = Promise::current([BalanceKey { budget, role }])?;
    Ok(promise.map_or(Accounting::Gaussian, |promise| promise.limit.accounting))
}

/// The limit of a budget that holds now, and that of a role in it, if it has one; `None` if there is no such budget, or
/// it is closed.
pub fn limits(name: &Name, role: Oid) -> Result<Option<(Limit, Option<Limit>)>, Refusal> {
    let budgets = Table::open(&BUDGET, Lock::Read)?;
    let Some(id) = Budget::find(&budgets, name) else {
        return Ok(None);
    };
    let keys = [Oid::INVALID, role].map(|role| BalanceKey { budget: id, role });
    let [all, own] = Promise::current(keys)?;
    let all = all.filter(|promise| !promise.closed);
    Ok(all.map(|all| (all.limit, own.map(|own| own.limit))))
}

fn make(budgets: &Table, id: i64, name: &Name) -> Result<(), Refusal> {
    let values = [
        Value::Integer(id),
        Value::Text(Text::new(&name.0)),
        Value::Role(session::role()),
        Value::Time(session::now()),
    ];
    rows::insert(budgets, &BUDGET, &values);
    Record::of(id)?.follow(id, session::role(), &Home::here()?, &Spent::default())
}

/// Ends a budget: nothing is spent from it any more.
pub fn close(function: &str, name: &Name) -> Result<(), Refusal> {
    let (budgets, promises) = open_to_add()?;
    let budget = Budget::named(&budgets, function, name)?;
    budget.check_owner(function, name)?;
    let key = BalanceKey {
        budget: budget.id,
        role: Oid::INVALID,
    };
    let [before] = Promise::last(&promises, [key]);
    let before = before.ok_or_else(|| errors::limit_unknown(&name.text()))?;
    if before.closed {
        return Err(errors::budget_closed(function, &name.text()));
    }
    Promise::add(&promises, key, Some(before), &before.limit, true);
    Ok(())
}

/// Gives a budget to a role, as `ALTER TABLE ... OWNER TO` gives a table.
pub fn give(function: &str, name: &Name, role: Oid) -> Result<(), Refusal> {
    let budgets = Table::open(&BUDGET, Lock::Alone)?;
    let budget = Budget::named(&budgets, function, name)?;
    budget.check_owner(function, name)?;
    if !session::can_set_role(role) {
        return Err(errors::cannot_give(function, session::name_of(role)));
    }
    let record = &budget.record;
    record.follow(budget.id, role, &record.home, &Spent::default())
}

/// Says that the ledger of a budget has all charges here, after `charge` has charged so much for those that may be
/// missing: for good, and so when nobody's lock can end this any more.
pub fn go_on(
    function: &str,
    name: &Name,
    charged: &Spent,
    charge: impl FnOnce() -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let budgets = Table::open(&BUDGET, Lock::Alone)?;
    drop(Table::open(&HISTORY, Lock::Alone)?);
    let Budget { id, record } = Budget::named(&budgets, function, name)?;
    charge()?;
    // What has lost its owner with its history goes to the role that continues it: only a superuser passed the check.
    let owner = match record.owner {
        Oid::INVALID => session::role(),
        owner => owner,
    };
    record.follow(id, owner, &Home::here()?, charged)
}
