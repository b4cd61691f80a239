//! The lines of a budget that is cut into periods: what was spent of each period, by one role or by all together. They
//! are made at the first charge of a period, changed in place, and locked behind those of the budget itself.

use std::collections::{BTreeMap, BTreeSet};

use dp_core::privacy::periods::Periods;
use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::Oid;

use crate::ledger::balance;
use crate::ledger::budgets::Promise;
use crate::ledger::defence::Defence;
use crate::ledger::division::{self, Charged, Division, FoundDivision};
use crate::ledger::errors::{self, Refusal};
use crate::ledger::fields;
use crate::ledger::marks::Mark;
use crate::ledger::pages::{self, Change, Extending, Locked, RowPlace, Tuple};
use crate::ledger::period_known::{self, Cut, Look};
use crate::ledger::rows::Value;
use crate::ledger::tables::{DIVISION, Lock, PERIOD_SPENT, Table};

#[cfg(feature = "pg_test")]
pub mod tests;

/// How many bytes a line has in its row.
const BYTES: usize = 48;

/// The most pages of lines that one charge changes: a record of the WAL has some more.
const MOST_PAGES: usize = 24;

/// Whose line it is, and for what period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineKey {
    pub budget: i64,
    pub first_day: i32,
    /// 0 for all together.
    pub role: u32,
}

impl LineKey {
    /// Beside its budget.
    fn known(&self) -> period_known::Key {
        (self.first_day, self.role)
    }
}

/// What the row of `dp_mean.period_spent` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub key: LineKey,
    pub spent: Spent,
    pub charges: i64,
}

impl Line {
    pub fn new(key: LineKey) -> Self {
        Self {
            key,
            spent: Spent::default(),
            charges: 0,
        }
    }

    /// From the data of its row, which has no NULLs and no padding; `None` for another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let number = |i| fields::long(bytes, i);
        Some(Self {
            key: LineKey {
                budget: number(0),
                first_day: i32::from_ne_bytes(fields::short(bytes, 44)),
                role: u32::from_ne_bytes(fields::short(bytes, 40)),
            },
            spent: Spent {
                epsilon: number(1),
                rho: number(2),
                delta: number(3),
            },
            charges: number(4),
        })
    }

    /// What [`read`](Self::read) reads.
    fn bytes(&self) -> [u8; BYTES] {
        let Spent {
            epsilon,
            rho,
            delta,
        } = self.spent;
        let numbers = [self.key.budget, epsilon, rho, delta, self.charges];
        let (role, first_day) = (self.key.role, self.key.first_day);
        fields::data(&numbers, &[role.to_ne_bytes(), first_day.to_ne_bytes()])
    }

    pub fn values(&self) -> [Value; 7] {
        [
            Value::Integer(self.key.budget),
            Value::Integer(self.spent.epsilon),
            Value::Integer(self.spent.rho),
            Value::Integer(self.spent.delta),
            Value::Integer(self.charges),
            Value::Role(Oid::from_u32(self.key.role)),
            Value::Day(self.key.first_day),
        ]
    }

    pub fn plus(&self, spent: &Spent, charges: i64) -> Self {
        Self {
            key: self.key,
            spent: self.spent.plus(spent),
            charges: self.charges.saturating_add(charges),
        }
    }

    /// Whether no number of another line is above this one's.
    pub fn covers(&self, other: &Self) -> bool {
        balance::covers((&self.spent, self.charges), (&other.spent, other.charges))
    }
}

/// Whether a budget has lines of periods.
pub fn has_lines(table: &Table, budget: i64) -> bool {
    pages::find(table, |row| {
        Line::read(row).is_some_and(|line| line.key.budget == budget)
    })
    .is_some()
}

/// The two tables of a charge by period.
pub struct Tables {
    divisions: Table,
    lines: Table,
}

impl Tables {
    pub fn open() -> Result<Self, Refusal> {
        Ok(Self {
            divisions: Table::open(&DIVISION, Lock::Change)?,
            lines: Table::open(&PERIOD_SPENT, Lock::Change)?,
        })
    }

    fn both(&self) -> [&Table; 2] {
        [&self.divisions, &self.lines]
    }
}

/// What one look at all lines of a budget finds.
struct Found {
    /// Its division, which is looked at first.
    division: Option<FoundDivision>,
    lines: BTreeMap<LineKey, (RowPlace, Line)>,
    /// A line is there twice.
    is_twice: bool,
    uncommitted: bool,
    look: Look,
}

impl Found {
    fn look(tables: &Tables, budget: i64) -> Self {
        let look = Look::begin(tables.both());
        let mut found = Self {
            division: division::find(&tables.divisions, budget),
            lines: BTreeMap::new(),
            is_twice: false,
            uncommitted: false,
            look,
        };
        pages::each(&tables.lines, |seen| {
            let line = Line::read(seen.data).filter(|line| line.key.budget == budget);
            let Some(line) = line else {
                return;
            };
            found.uncommitted |= seen.uncommitted;
            let before = found.lines.insert(line.key, (seen.place, line));
            found.is_twice |= before.is_some();
        });
        found
    }

    /// Whether charges are missing: the division counts more of them than the lines have, or the lines of the roles come
    /// to less than that of all together.
    fn is_short(&self) -> bool {
        let mut roles: BTreeMap<i32, Line> = BTreeMap::new();
        let mut charges = 0_i64;
        for (key, (_, line)) in &self.lines {
            let sum = roles.entry(key.first_day).or_insert(Line::new(*key));
            match key.role {
                0 => charges = charges.saturating_add(line.charges),
                _ => *sum = sum.plus(&line.spent, line.charges),
            }
        }
        let mut all = self.lines.values().filter(|(_, line)| line.key.role == 0);
        let counted = self.division.map_or(0, |found| found.division.charges);
        charges < counted || !all.all(|(_, line)| roles[&line.key.first_day].covers(line))
    }

    fn line(&self, key: LineKey) -> Line {
        self.lines
            .get(&key)
            .map_or(Line::new(key), |(_, line)| *line)
    }

    /// Whether each line is of one of these periods.
    fn is_of(&self, periods: &Periods) -> bool {
        let is_first = |key: &LineKey| {
            let day = i64::from(key.first_day);
            periods.first_day(periods.number_of(day)) == day
        };
        self.lines.keys().all(is_first)
    }

    /// Keeps where the lines are, if all are there, once each, and this transaction cannot take one back.
    fn keep(self, budget: i64, periods: &Periods, keys: &[LineKey]) {
        let is_right = |found: &FoundDivision| {
            !found.is_twice && !found.uncommitted && found.division.periods() == Some(*periods)
        };
        let Some(division) = self.division.filter(is_right) else {
            return;
        };
        if self.is_twice || self.uncommitted || self.is_short() || !self.is_of(periods) {
            return;
        }
        let lines = self.lines.iter();
        let lines: Vec<_> = lines
            .map(|(key, (place, _))| (key.known(), *place))
            .collect();
        let charged: BTreeSet<_> = keys.iter().map(LineKey::known).collect();
        let cut = Cut::Into(division.place, *periods);
        let is_charged = |key| charged.contains(&key);
        self.look.keep(budget, cut, &lines, is_charged);
    }
}

/// Where the lines of a charge are.
pub struct Places {
    budget: i64,
    role: u32,
    division: RowPlace,
    lines: Vec<(RowPlace, LineKey)>,
}

impl Places {
    /// How many lines the charge has.
    pub fn len(&self) -> usize {
        self.lines.len()
    }
}

/// The lines of a charge: of all together, and of the role, of each period.
pub fn keys(budget: i64, role: Oid, charged: &Charged) -> Vec<LineKey> {
    let days = charged.first_days();
    let keys = days.flat_map(|first_day| {
        [0, role.to_u32()].map(|role| LineKey {
            budget,
            first_day,
            role,
        })
    });
    keys.collect()
}

/// A look at all lines of a budget, which are all there.
///
/// # Errors
/// The ledger does not know what was spent.
fn looked_at(
    tables: &Tables,
    name: &str,
    budget: i64,
    charged: &Charged,
) -> Result<Found, Refusal> {
    let found = Found::look(tables, budget);
    if Defence::Lines.stands() && (found.is_twice || !found.is_of(&charged.periods)) {
        return Err(errors::spent_unknown(name));
    }
    // Others charge while the lines are looked at.
    if Defence::Sums.stands() && found.is_short() && Found::look(tables, budget).is_short() {
        return Err(errors::spent_unknown(name));
    }
    if Defence::Committed.stands() && found.uncommitted {
        return Err(errors::spent_not_committed(name));
    }
    Ok(found)
}

/// Where the division of a budget is, and these lines of it, if all of that is known.
fn known(tables: &Tables, budget: i64, keys: &[LineKey]) -> Option<(RowPlace, Vec<RowPlace>)> {
    let keys = keys.iter().map(LineKey::known);
    period_known::places(tables.both(), budget, keys)
}

/// These lines of a budget as they are, if they are where they are known to be.
fn known_lines(tables: &Tables, budget: i64, keys: &[LineKey]) -> Option<BTreeMap<LineKey, Line>> {
    let (_, places) = known(tables, budget, keys)?;
    let mut places: Vec<_> = places.into_iter().zip(keys).collect();
    places.sort_unstable_by_key(|(place, _)| place.block);
    let mut lines = BTreeMap::new();
    for of_page in places.chunk_by(|(a, _), (b, _)| a.block == b.block) {
        let page = Locked::lock(&tables.lines, of_page[0].0);
        for (place, key) in of_page {
            let line = page.row(&tables.lines, *place).and_then(Line::read);
            lines.insert(**key, line.filter(|line| line.key == **key)?);
        }
    }
    Some(lines)
}

/// What these lines of a budget say now; nothing was spent of one that is not there. They are all there.
///
/// # Errors
/// The ledger does not know what was spent.
pub fn lines(
    tables: &Tables,
    name: &str,
    budget: i64,
    keys: &[LineKey],
    charged: &Charged,
) -> Result<BTreeMap<LineKey, Line>, Refusal> {
    if let Some(lines) = known_lines(tables, budget, keys) {
        return Ok(lines);
    }
    let found = looked_at(tables, name, budget, charged)?;
    let lines = keys.iter().map(|key| (*key, found.line(*key))).collect();
    found.keep(budget, &charged.periods, keys);
    Ok(lines)
}

/// What a line says now.
pub fn line(tables: &Tables, key: LineKey) -> Line {
    let known = known_lines(tables, key.budget, &[key]);
    let line = known.and_then(|lines| lines.get(&key).copied());
    line.unwrap_or_else(|| Found::look(tables, key.budget).line(key))
}

/// Where the lines of a charge are; those that are not there are made.
///
/// # Errors
/// The ledger does not know what was spent.
pub fn places(
    tables: &Tables,
    name: &str,
    budget: i64,
    role: Oid,
    charged: &Charged,
) -> Result<Places, Refusal> {
    let keys = keys(budget, role, charged);
    let placed = |division: RowPlace, lines: Vec<RowPlace>| Places {
        budget,
        role: role.to_u32(),
        division,
        lines: lines.into_iter().zip(keys.iter().copied()).collect(),
    };
    if let Some((division, lines)) = known(tables, budget, &keys) {
        return Ok(placed(division, lines));
    }
    let mut found = looked_at(tables, name, budget, charged)?;
    let is_missing = |key: &&LineKey| !found.lines.contains_key(key);
    let missing: Vec<LineKey> = keys.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        make(tables, budget, &missing);
        found = Found::look(tables, budget);
    }
    let division = found.division.map(|found| found.place);
    let division = division.ok_or_else(|| errors::periods_unknown(name))?;
    let lines = keys.iter().map(|key| found.lines.get(key));
    let lines = lines.map(|found| found.map(|(place, _)| *place));
    let lines = lines.collect::<Option<Vec<_>>>();
    let lines = lines.ok_or_else(errors::ledger_locked)?;
    found.keep(budget, &charged.periods, &keys);
    Ok(placed(division, lines))
}

/// Adds lines, those that nobody else has added meanwhile.
fn make(tables: &Tables, budget: i64, missing: &[LineKey]) {
    let lines = &tables.lines;
    let tuples = missing.iter().map(|key| {
        let tuple = Tuple::new(lines, &PERIOD_SPENT, &Line::new(*key).values());
        (*key, tuple)
    });
    let tuples: Vec<_> = tuples.collect();
    // One at a time adds lines, so that there is one of each.
    let extending = Extending::of(lines);
    let found = Found::look(tables, budget);
    for (key, tuple) in &tuples {
        if !found.lines.contains_key(key) {
            let page = extending.lock_to_append(tuple);
            pages::write(lines, &[Change::Append(&page, tuple)]);
        }
    }
}

/// The lines of several charges, each once, from before they are locked until they are written.
pub struct Lines<'a> {
    tables: Option<&'a Tables>,
    divisions: Vec<(RowPlace, Division)>,
    lines: Vec<(RowPlace, Line)>,
    /// Where they are among these.
    index: BTreeMap<LineKey, usize>,
    pages: Vec<Locked>,
    /// How many of the pages are of divisions.
    first_pages: usize,
    /// What the rows become.
    data: Vec<(usize, RowPlace, [u8; BYTES])>,
    division_data: Vec<(usize, RowPlace, [u8; division::BYTES])>,
}

impl<'a> Lines<'a> {
    /// All that takes memory.
    ///
    /// # Errors
    /// The lines lie on too many pages.
    pub fn of<'p>(
        tables: Option<&'a Tables>,
        places: impl Iterator<Item = &'p Places>,
    ) -> Result<Self, Refusal> {
        let mut divisions: Vec<(RowPlace, i64)> = Vec::new();
        let mut lines = BTreeMap::new();
        for place in places {
            if !divisions.iter().any(|(_, budget)| *budget == place.budget) {
                divisions.push((place.division, place.budget));
            }
            lines.extend(place.lines.iter().map(|(place, key)| (*key, *place)));
        }
        divisions.sort_unstable_by_key(|(place, _)| place.block);
        let mut lines: Vec<_> = lines
            .into_iter()
            .map(|(key, place)| (place, Line::new(key)))
            .collect();
        lines.sort_by_key(|(place, _)| place.block);
        let mut pages: Vec<_> = lines.iter().map(|(place, _)| place.block).collect();
        pages.dedup();
        if pages.len() > MOST_PAGES {
            return Err(errors::too_large(
                &format!("the lines of these periods lie on {} pages", pages.len()),
                "Nothing was spent. Ask about a shorter time.",
            ));
        }
        let index = lines.iter().zip(0..);
        let index = index.map(|((_, line), i)| (line.key, i)).collect();
        let divisions = divisions.into_iter().map(|(place, budget)| {
            let none = Division::none(budget);
            (place, none)
        });
        let divisions: Vec<_> = divisions.collect();
        Ok(Self {
            pages: Vec::with_capacity(lines.len() + divisions.len()),
            first_pages: 0,
            data: Vec::with_capacity(lines.len()),
            division_data: Vec::with_capacity(divisions.len()),
            tables,
            divisions,
            lines,
            index,
        })
    }

    /// How many rows are changed.
    pub fn len(&self) -> usize {
        self.lines.len() + self.divisions.len()
    }

    /// Locks the pages, in the order of their numbers, and reads the lines; `None` if one has moved.
    pub fn lock(&mut self) -> Option<()> {
        let Some(tables) = self.tables else {
            return Some(());
        };
        for (place, division) in &mut self.divisions {
            if self
                .pages
                .last()
                .is_none_or(|page| page.block != place.block)
            {
                self.pages.push(Locked::lock(&tables.divisions, *place));
            }
            let row = self.pages.last()?.row(&tables.divisions, *place);
            let found = row.and_then(Division::read);
            *division = found.filter(|found| found.budget == division.budget)?;
        }
        self.first_pages = self.pages.len();
        for (place, line) in &mut self.lines {
            let pages = &self.pages[self.first_pages..];
            if pages.last().is_none_or(|page| page.block != place.block) {
                self.pages.push(Locked::lock(&tables.lines, *place));
            }
            let found = self.pages.last()?.row(&tables.lines, *place);
            let found = found.and_then(Line::read);
            *line = found.filter(|found| found.key == line.key)?;
        }
        Some(())
    }

    /// Adds a charge to the lines of one account, of all together or of the role, if it fits into each of them beside
    /// what was spent of the budget itself; else the period that has no room, by its first day. `passed` hears of each
    /// mark of the limit that a period passes.
    pub fn add(
        &mut self,
        places: &Places,
        is_of_role: bool,
        [beside, amount]: [&Spent; 2],
        promise: Option<&Promise>,
        mut passed: impl FnMut(i32, Mark),
    ) -> Result<(), i32> {
        let role = if is_of_role { places.role } else { 0 };
        for (_, key) in places.lines.iter().filter(|(_, key)| key.role == role) {
            let (_, line) = &mut self.lines[self.index[key]];
            let sum = line.plus(amount, 1);
            let all = sum.spent.plus(beside);
            if promise.is_some_and(|promise| !promise.limit.allows(&all)) {
                return Err(key.first_day);
            }
            let before = line.spent.plus(beside);
            let marks = Mark::passed(promise, &before, &all);
            marks.for_each(|mark| passed(key.first_day, mark));
            *line = sum;
            if !is_of_role {
                let mut divisions = self.divisions.iter_mut();
                let division = divisions.find(|(_, division)| division.budget == key.budget);
                let (_, division) = division.expect("the division of each line was locked");
                division.charges = division.charges.saturating_add(1);
            }
        }
        Ok(())
    }

    /// Makes the data of the rows that changed. It takes no memory that was not set aside.
    pub fn finish(&mut self) {
        let (first, second) = self.pages.split_at(self.first_pages);
        let page_of = |pages: &[Locked], place: &RowPlace| {
            let page = pages.iter().position(|page| page.block == place.block);
            page.expect("each page is locked")
        };
        for (place, division) in &self.divisions {
            let page = page_of(first, place);
            self.division_data.push((page, *place, division.bytes()));
        }
        for (place, line) in &self.lines {
            let page = self.first_pages + page_of(second, place);
            self.data.push((page, *place, line.bytes()));
        }
    }

    /// What happens on the pages.
    pub fn changes<'s>(&'s self) -> impl Iterator<Item = Change<'s>> {
        let change = |page: usize, place, bytes: &'s [u8]| {
            Change::Overwrite(&self.pages[page], place, bytes)
        };
        let divisions = self.division_data.iter();
        let divisions = divisions.map(move |(page, place, bytes)| change(*page, *place, bytes));
        let lines = self.data.iter();
        let lines = lines.map(move |(page, place, bytes)| change(*page, *place, bytes));
        divisions.chain(lines)
    }
}
