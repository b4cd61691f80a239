//! Where the lines of periods are, and how budgets are cut, as this process has seen them: a charge finds its lines by a
//! hash, however many others there are. A look at all lines of a budget fills it, and finds what a load has lost or
//! brought twice; charges keep what it has found true. So it holds until the process [hears](super::changes) of a change.
//!
//! A line may still have moved, and others make new ones: who changes a line compares it under the lock of its page, and
//! one that is not known is looked for.

use std::cell::RefCell;
use std::collections::HashMap;

use dp_core::privacy::periods::Periods;

use crate::ledger::changes::{self, Telling};
use crate::ledger::pages::RowPlace;
use crate::ledger::tables::Table;

/// The most lines that are kept, of all budgets.
const MOST: usize = 100_000;

/// The first day of a period, and the role; 0 for all together.
pub type Key = (i32, u32);

/// What is known of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// It is not cut into periods, and has no line of one.
    Not,
    /// It is cut so, as the row there says.
    Into(RowPlace, Periods),
}

struct OfBudget {
    cut: Cut,
    lines: HashMap<Key, RowPlace>,
}

#[derive(Default)]
struct Known {
    /// How many changes this process had heard of.
    changes: u64,
    budgets: HashMap<i64, OfBudget>,
}

impl Known {
    /// How many lines and budgets there are in it.
    fn count(&self) -> usize {
        let counts = self.budgets.values().map(|of| 1 + of.lines.len());
        counts.sum()
    }
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// Reads what is known of a budget.
fn read<R>(
    [divisions, lines]: [&Table; 2],
    budget: i64,
    read: impl FnOnce(&OfBudget) -> Option<R>,
) -> Option<R> {
    let hears = changes::hears(Telling::Divisions, divisions)
        && changes::hears(Telling::PeriodLines, lines);
    if !hears {
        return None;
    }
    KNOWN.with_borrow(|known| {
        let is_true = known.changes == changes::count();
        let of_budget = known.budgets.get(&budget).filter(|_| is_true);
        of_budget.and_then(read)
    })
}

/// How a budget is cut, if that is known.
pub fn cut(tables: [&Table; 2], budget: i64) -> Option<Cut> {
    read(tables, budget, |known| Some(known.cut))
}

/// Where the row is that says how a budget is cut, and where lines of it are, if all of that is known.
pub fn places(
    tables: [&Table; 2],
    budget: i64,
    keys: impl Iterator<Item = Key>,
) -> Option<(RowPlace, Vec<RowPlace>)> {
    read(tables, budget, |known| match known.cut {
        Cut::Not => None,
        Cut::Into(division, _) => {
            let places = { keys }.map(|key| known.lines.get(&key).copied());
            Some((division, places.collect::<Option<_>>()?))
        }
    })
}

/// One look at a budget, from before it until what it has found is kept.
pub struct Look {
    changes: u64,
}

impl Look {
    pub fn begin([divisions, lines]: [&Table; 2]) -> Self {
        changes::listen(Telling::Divisions, divisions);
        changes::listen(Telling::PeriodLines, lines);
        Self {
            changes: changes::count(),
        }
    }

    /// Keeps what was found of a budget: how it is cut, and its lines, which are all there, once each. Of more than are
    /// kept, those that are charged.
    pub fn keep(
        self,
        budget: i64,
        cut: Cut,
        lines: &[(Key, RowPlace)],
        is_charged: impl Fn(Key) -> bool,
    ) {
        let is_kept = |line: &&(Key, RowPlace)| lines.len() <= MOST || is_charged(line.0);
        let lines: Vec<_> = lines.iter().filter(is_kept).copied().collect();
        KNOWN.with_borrow_mut(|known| {
            if known.changes != self.changes || known.count() + lines.len() > MOST {
                known.budgets.clear();
                known.changes = self.changes;
            }
            let of_budget = known.budgets.entry(budget).or_insert_with(|| OfBudget {
                cut,
                lines: HashMap::new(),
            });
            of_budget.cut = cut;
            of_budget.lines.extend(lines);
        });
    }
}
