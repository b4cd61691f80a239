//! Where lines are, as this process has seen them: a charge finds its lines by a hash. One look at all lines fills it,
//! and finds what a load has lost or brought twice; charges keep what it has found true. So it holds until the process
//! [hears](super::changes) of a change.
//!
//! A line may still have moved: who changes one compares it under the lock of its page, and looks again.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use pgrx::pg_sys::Oid;

use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::changes::{self, Telling};
use crate::ledger::defence::Defence;
use crate::ledger::pages::{Locked, RowPlace, Seen};
use crate::ledger::tables::Table;

/// The most lines that are kept; of more of them, those that the process has charged.
const MOST: usize = 100_000;

type Key = (i64, u32);

fn number(key: BalanceKey) -> Key {
    (key.budget, key.role.to_u32())
}

struct Known {
    /// How many changes of the table this process had heard of.
    changes: u64,
    lines: HashMap<Key, RowPlace>,
}

thread_local! {
    static KNOWN: RefCell<Option<Known>> = const { RefCell::new(None) };
}

/// Where a line is, if that is known.
pub fn place(spent: &Table, key: BalanceKey) -> Option<RowPlace> {
    if !changes::hears(Telling::Spent, spent) {
        return None;
    }
    KNOWN.with_borrow(|known| {
        let known = known.as_ref();
        let known = known.filter(|known| known.changes == changes::count())?;
        known.lines.get(&number(key)).copied()
    })
}

/// A line, if it is where it is known to be.
pub fn line(spent: &Table, key: BalanceKey) -> Option<(RowPlace, Balance)> {
    let place = place(spent, key)?;
    let page = Locked::lock(spent, place);
    let line = page.row(spent, place).and_then(Balance::read);
    line.filter(|line| line.key == key)
        .map(|line| (place, line))
}

/// What one look sees of the lines of a budget.
struct OfBudget {
    /// The line of all together, and the sum of the others.
    all: Balance,
    roles: Balance,
    /// How many lines of all together there are.
    of_all: u32,
    /// Two lines of one role, or a line that a transaction may take back.
    is_odd: bool,
}

/// One look at all lines.
pub struct Survey {
    changes: u64,
    lines: HashMap<Key, RowPlace>,
    budgets: BTreeMap<i64, OfBudget>,
    /// There are more lines than are kept.
    is_cut: bool,
}

impl Survey {
    pub fn begin(spent: &Table) -> Self {
        changes::listen(Telling::Spent, spent);
        Self {
            changes: changes::count(),
            lines: HashMap::new(),
            budgets: BTreeMap::new(),
            is_cut: false,
        }
    }

    /// A line is seen.
    pub fn see(&mut self, seen: &Seen, line: &Balance) {
        let (key, of_all) = (line.key, line.key.role == Oid::INVALID);
        if self.lines.len() >= MOST {
            self.is_cut = true;
            return;
        }
        let is_twin = self.lines.insert(number(key), seen.place).is_some();
        let nothing = || {
            Balance::new(BalanceKey {
                role: Oid::INVALID,
                ..key
            })
        };
        let budget = self.budgets.entry(key.budget).or_insert_with(|| OfBudget {
            all: nothing(),
            roles: nothing(),
            of_all: 0,
            is_odd: false,
        });
        budget.is_odd |= is_twin || seen.uncommitted;
        match of_all {
            true => {
                budget.of_all += 1;
                budget.all = *line;
            }
            false => budget.roles = budget.roles.plus(line),
        }
    }

    /// Keeps the places of budgets whose lines are all there, each once. Every line is that of a budget which is there.
    /// Whether there are too many lines to keep all: then those of earlier looks stay.
    pub fn keep(mut self) -> bool {
        if !Defence::Orphans.stands() {
            return false;
        }
        let has_some = || {
            KNOWN.with_borrow(|known| {
                let known = known.as_ref();
                known.is_some_and(|known| known.changes == self.changes)
            })
        };
        if self.is_cut && has_some() {
            return true;
        }
        let is_whole = |budget: &OfBudget| {
            budget.of_all == 1 && !budget.is_odd && budget.roles.covers(&budget.all)
        };
        if self.is_cut {
            self.lines.clear();
        }
        self.lines
            .retain(|(id, _), _| self.budgets.get(id).is_some_and(is_whole));
        KNOWN.set(Some(Known {
            changes: self.changes,
            lines: self.lines,
        }));
        self.is_cut
    }
}

/// Keeps the places of lines that were looked for, and found whole, where there are too many lines to keep all.
pub fn add(keys: [BalanceKey; 2], places: [RowPlace; 2]) {
    KNOWN.with_borrow_mut(|known| {
        let known = known.as_mut();
        if let Some(known) = known.filter(|known| known.changes == changes::count()) {
            if known.lines.len() >= MOST {
                known.lines.clear();
            }
            known.lines.extend(keys.map(number).into_iter().zip(places));
        }
    });
}
