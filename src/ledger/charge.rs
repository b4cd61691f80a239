//! A charge: it is added to what was spent, for good, or refused.

use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNBOUNDED, UNIT, float_up};
use pgrx::pg_sys::Oid;

use crate::ledger::balance::{Balance, BalanceKey};
use crate::ledger::balances;
use crate::ledger::budgets::{self, Budget, Name, Promise};
use crate::ledger::changes;
use crate::ledger::defence::Defence;
use crate::ledger::division::Charged;
use crate::ledger::errors::{self, Refusal};
use crate::ledger::marks::Mark;
use crate::ledger::pages::{self, Change, Locked, RowPlace, Tuple};
use crate::ledger::period_lines::{self, Lines, Places};
use crate::ledger::periods;
use crate::ledger::rows::{Text, Value};
use crate::ledger::tables::{CHARGE, Lock, SPENT, Table};
use crate::ledger::{flush, replication, session};
use crate::pg::attempt::attempt;
use crate::pg::counters::{Event, count};
use crate::pg::settings;

#[cfg(feature = "pg_test")]
pub mod tests;

/// How often lines that moved are looked for again.
const TRIES: u32 = 10;

/// The most bytes that are kept of the mechanisms' texts, and of the query's.
pub const TEXT_BYTES: usize = 1000;

/// The most charges that are made together: their rows of the audit lie on one page.
const MOST_TOGETHER: usize = 32;

/// How long, in microseconds, charges of a role that are refused are counted before one has a row of the audit again.
const NOTE_EVERY: u64 = 60_000_000;

/// By which right a budget pays.
#[derive(Clone)]
pub enum Payer {
    /// The current role owns it.
    Owner,
    /// The current role owns it, and says what was charged elsewhere: it pays past its limits.
    Elsewhere,
    /// It pays for answers about a protected table, whose owner owns it too.
    Table {
        owner: Oid,
        relation: Oid,
        /// What answers, for the audit.
        mechanisms: String,
    },
}

/// What is to be spent, on whose account.
#[derive(Clone)]
pub struct Request {
    /// The function to blame in messages.
    pub function: &'static str,
    pub budget: Name,
    pub payer: Payer,
    pub role: Oid,
    /// What is asked for, for messages.
    pub asked: (f64, f64),
    pub amount: Spent,
    /// The periods that pay it, each all of it; `None` of a budget that has none.
    pub charged: Option<Charged>,
}

impl Request {
    /// The same with what others before it take from the same accounts.
    fn after(&self, others: &[Self]) -> Self {
        let is_same = |other: &&Self| {
            other.budget.text() == self.budget.text()
                && other.role == self.role
                && other.charged == self.charged
        };
        let mut sum = self.clone();
        for other in others.iter().filter(is_same) {
            sum.amount = sum.amount.plus(&other.amount);
            sum.asked.0 += other.asked.0;
            sum.asked.1 += other.asked.1;
        }
        sum
    }
}

/// A limit that the charge must fit into: of all together, or of the role.
struct Account {
    key: BalanceKey,
    promise: Option<Promise>,
}

/// The two accounts of a charge, of all together and of the role.
///
/// # Errors
/// There is no such budget, it may not pay, or nothing can be spent now.
fn accounts(request: &Request) -> Result<[Account; 2], Refusal> {
    let Request {
        function,
        budget: name,
        payer,
        ..
    } = request;
    let budget = match payer {
        Payer::Owner | Payer::Elsewhere => Budget::owned(function, name)?,
        Payer::Table { owner, .. } => Budget::of_table(name, *owner)?,
    };
    let keys = [Oid::INVALID, request.role].map(|role| BalanceKey {
        budget: budget.id,
        role,
    });
    let [all, own] = Promise::current(keys)?;
    let all = all.ok_or_else(|| errors::limit_unknown(&name.text()))?;
    if all.uncommitted || own.is_some_and(|own| own.uncommitted) {
        return Err(errors::limit_not_committed(function, &name.text()));
    }
    let [of_all, of_role] = keys;
    Ok([
        Account {
            key: of_all,
            promise: Some(all),
        },
        Account {
            key: of_role,
            promise: own,
        },
    ])
}

/// That the budget is not closed, which [`accounts`] does not ask.
fn open(request: &Request, accounts: &[Account; 2]) -> Result<(), Refusal> {
    match accounts[0].promise {
        Some(Promise { closed: true, .. }) => {
            let name = request.budget.text();
            Err(errors::budget_closed(request.function, &name))
        }
        _ => Ok(()),
    }
}

/// Spends, for good: it is on disk when this returns. What is refused is noted, and spends nothing.
pub fn charge(request: &Request) -> Result<(), Refusal> {
    charge_all(std::slice::from_ref(request))
}

/// Spends all of these, or none.
pub fn charge_all(requests: &[Request]) -> Result<(), Refusal> {
    if requests.len() > MOST_TOGETHER {
        return Err(errors::too_large(
            &format!("the query reads more than {MOST_TOGETHER} protected tables"),
            "Nothing was spent. Ask about fewer of them at a time.",
        ));
    }
    let accounts = requests.iter().map(|request| {
        if session::on_standby() {
            return Err(errors::on_standby(request.function));
        }
        if session::in_parallel() {
            return Err(errors::in_parallel(request.function));
        }
        accounts(request)
    });
    let accounts = accounts.collect::<Result<Vec<_>, _>>()?;
    let spent = Table::open(&SPENT, Lock::Change)?;
    for (request, accounts) in requests.iter().zip(&accounts) {
        check_periods(request, accounts)?;
    }
    let audit = Table::open(&CHARGE, Lock::Change)?;
    for (request, accounts) in requests.iter().zip(&accounts) {
        if let Err(refusal) = open(request, accounts) {
            // Nothing is noted where lines are lost.
            if places(request, accounts, &spent).is_ok() {
                note(request, accounts[1].key, &spent, &audit);
            }
            return Err(refusal);
        }
    }
    let accounts = requests.iter().zip(accounts).map(|(request, accounts)| {
        // What was charged elsewhere was within a limit there, or not.
        let is_limited = !matches!(request.payer, Payer::Elsewhere);
        accounts.map(|account| Account {
            promise: account.promise.filter(|_| is_limited),
            ..account
        })
    });
    let accounts = Vec::from_iter(accounts);
    spend(requests, &accounts, &spent, &audit)
}

/// Whether the charge would fit now, as an error if not. It spends nothing, and holds nothing for later.
pub fn check(request: &Request) -> Result<(), Refusal> {
    let accounts = accounts(request)?;
    open(request, &accounts)?;
    let spent = Table::open(&SPENT, Lock::Change)?;
    check_periods(request, &accounts)?;
    let keys = accounts.each_ref().map(|account| account.key);
    balances::check_known(&spent, &request.budget.text(), keys)?;
    if !session::on_standby() {
        check_home(request, &accounts)?;
    }
    if let Some(charged) = &request.charged {
        let now = |account: &Account| beside(&used(&spent, account.key));
        let all = [&accounts[0], &accounts[1]];
        let all = all.map(|account| (account.key.role, now(account), account.promise.as_ref()));
        let (name, budget) = (request.budget.text(), accounts[0].key.budget);
        let none = periods::without_room(&name, budget, charged, &request.amount, all)?;
        return match none {
            None => Ok(()),
            Some(none) => Err(without_room(request, &accounts, &spent, none.into())),
        };
    }
    for (i, account) in accounts.iter().enumerate() {
        let sum = used(&spent, account.key).plus(&request.amount);
        let fits = |promise: &Promise| promise.limit.allows(&sum);
        if !account.promise.as_ref().is_none_or(fits) {
            return Err(without_room(request, &accounts, &spent, i.into()));
        }
    }
    Ok(())
}

/// That the periods which pay are those of the budget. While the lines are open to be changed, nobody cuts it.
fn check_periods(request: &Request, accounts: &[Account; 2]) -> Result<(), Refusal> {
    let (name, budget) = (&request.budget, accounts[0].key.budget);
    match request.payer {
        Payer::Elsewhere => Ok(()),
        _ => periods::check(request.function, name, budget, request.charged.as_ref()),
    }
}

/// What of the line of a budget itself counts in each period: all of it.
fn beside(spent: &Spent) -> Spent {
    match Defence::Beside.stands() {
        true => *spent,
        false => Spent::default(),
    }
}

/// An account that has no room, or little: the first of all together or that of the role; and its period, by the first
/// day.
struct Full {
    account: usize,
    first_day: Option<i32>,
}

impl From<usize> for Full {
    fn from(account: usize) -> Self {
        Self {
            account,
            first_day: None,
        }
    }
}

impl From<(usize, i32)> for Full {
    fn from((account, first_day): (usize, i32)) -> Self {
        Self {
            account,
            first_day: Some(first_day),
        }
    }
}

impl Full {
    /// For messages: its period, its role and its budget.
    fn text(&self, request: &Request) -> String {
        let period = self.first_day.map(periods::named).unwrap_or_default();
        let role = match self.account {
            0 => String::new(),
            _ => format!("role \"{}\" in ", name_of(request.role)),
        };
        format!("{period}{role}budget \"{}\"", request.budget.text())
    }
}

/// Where the lines of the accounts are.
fn places(
    request: &Request,
    accounts: &[Account; 2],
    spent: &Table,
) -> Result<[RowPlace; 2], Refusal> {
    let [all, own] = accounts;
    balances::places(spent, &request.budget.text(), [all.key, own.key])
}

/// That the ledger has all charges of the budget, whose lines are all there.
fn check_home(request: &Request, accounts: &[Account; 2]) -> Result<(), Refusal> {
    match request.payer {
        Payer::Elsewhere => Ok(()),
        _ => budgets::check_home(accounts[0].key.budget, request.function, &request.budget),
    }
}

/// What a line says now; nothing if it is not there.
fn used(spent: &Table, key: BalanceKey) -> Spent {
    let [line] = balances::look(spent, [key]);
    line.map_or(Spent::default(), |(_, line)| line.spent)
}

/// Looks for the lines, and adds the charges to them if all fit.
fn spend(
    requests: &[Request],
    accounts: &[[Account; 2]],
    spent: &Table,
    audit: &Table,
) -> Result<(), Refusal> {
    let charges = requests.iter().zip(accounts);
    // All that may take memory, before anything is locked.
    let entries = charges.clone().map(|(request, accounts)| {
        let budget = accounts[0].key.budget;
        let text = room_for_text(requests.len());
        entry(request, budget, audit, Kind::Charged, text)
    });
    let entries = Vec::from_iter(entries);
    let is_by_period = requests.iter().any(|request| request.charged.is_some());
    let tables = is_by_period.then(period_lines::Tables::open).transpose()?;
    for _ in 0..TRIES {
        let mut parts = Vec::with_capacity(requests.len());
        for (request, accounts) in charges.clone() {
            let of_periods = request.charged.as_ref().zip(tables.as_ref());
            let of_periods = of_periods.map(|(charged, tables)| {
                let (name, budget) = (request.budget.text(), accounts[0].key.budget);
                period_lines::places(tables, &name, budget, request.role, charged)
            });
            parts.push(Part {
                request,
                accounts,
                places: places(request, accounts, spent)?,
                of_periods: of_periods.transpose()?,
            });
            check_home(request, accounts)?;
        }
        let of_periods = parts.iter().filter_map(|part| part.of_periods.as_ref());
        let mut lines = Lines::of(tables.as_ref(), of_periods)?;
        let Some(result) = try_at(&parts, spent, audit, &entries, &mut lines) else {
            changes::forget();
            continue;
        };
        drop(lines);
        return match result {
            Ok((written, passed)) => {
                requests.iter().for_each(|_| count(Event::Charge));
                flush::flush(written);
                for (request, accounts) in charges {
                    log(request, spent, accounts[0].key);
                }
                passed.iter().for_each(|passed| log_mark(requests, passed));
                replication::wait(written)
            }
            Err((i, full)) => {
                let refused = requests[i].after(&requests[..i]);
                Err(refuse(&refused, &accounts[i], spent, audit, full))
            }
        };
    }
    Err(errors::ledger_locked())
}

/// One of the charges that are made together, and where its lines are.
struct Part<'a> {
    request: &'a Request,
    accounts: &'a [Account; 2],
    places: [RowPlace; 2],
    /// The lines of the periods, where these pay.
    of_periods: Option<Places>,
}

/// A charge, by its place among those that are made together, that passed a mark of a limit; and in which account.
struct Passed {
    charge: usize,
    full: Full,
    mark: Mark,
}

/// What came of charges: what was written, and the marks that they passed; or which one has no room, in which account.
type Made = Result<(pages::Written, Vec<Passed>), (usize, Full)>;

/// Makes the charges with all of their lines locked, and adds the rows of the audit: `None` if a line has moved; which
/// charge has no room otherwise, and in which of its accounts.
fn try_at(
    parts: &[Part],
    spent: &Table,
    audit: &Table,
    entries: &[Tuple],
    of_periods: &mut Lines,
) -> Option<Made> {
    // Each line once, in the order of the pages' numbers.
    let mut lines: Vec<(RowPlace, Balance)> = Vec::with_capacity(2 * parts.len());
    for part in parts {
        for (account, place) in part.accounts.iter().zip(part.places) {
            if !lines.iter().any(|(_, line)| line.key == account.key) {
                lines.push((place, Balance::new(account.key)));
            }
        }
    }
    lines.sort_unstable_by_key(|(place, _)| place.block);
    let mut pages: Vec<Locked> = Vec::with_capacity(lines.len());
    let mut data = Vec::with_capacity(lines.len());
    let mut changes = Vec::with_capacity(entries.len() + lines.len() + of_periods.len());
    let accounts = parts
        .iter()
        .map(|part| 2 + part.of_periods.as_ref().map_or(0, Places::len));
    let mut passed = Vec::with_capacity(Mark::ALL.len() * accounts.sum::<usize>());
    // From here on nothing takes memory.
    let last = Locked::lock_to_append_all(audit, entries);
    for (place, line) in &mut lines {
        if pages.last().is_none_or(|page| page.block != place.block) {
            pages.push(Locked::lock(spent, *place));
        }
        let found = pages.last()?.row(spent, *place).and_then(Balance::read);
        *line = found.filter(|found| found.key == line.key)?;
    }
    of_periods.lock()?;
    for (i, part) in parts.iter().enumerate() {
        for (j, account) in part.accounts.iter().enumerate() {
            let line = lines.iter_mut().map(|(_, line)| line);
            let line = { line }.find(|line| line.key == account.key)?;
            if let Some(places) = &part.of_periods {
                let (beside, amount) = (beside(&line.spent), &part.request.amount);
                let promise = account.promise.as_ref();
                let added =
                    of_periods.add(places, j == 1, [&beside, amount], promise, |day, mark| {
                        passed.push(Passed {
                            charge: i,
                            full: (j, day).into(),
                            mark,
                        });
                    });
                if let Err(first_day) = added {
                    return Some(Err((i, (j, first_day).into())));
                }
                line.charges = line.charges.saturating_add(1);
                continue;
            }
            let sum = line.spent.plus(&part.request.amount);
            let fits = |promise: &Promise| promise.limit.allows(&sum);
            if !account.promise.as_ref().is_none_or(fits) {
                return Some(Err((i, j.into())));
            }
            let marks = Mark::passed(account.promise.as_ref(), &line.spent, &sum);
            passed.extend(marks.map(|mark| Passed {
                charge: i,
                full: j.into(),
                mark,
            }));
            line.spent = sum;
            line.charges = line.charges.saturating_add(1);
        }
    }
    data.extend(lines.iter().map(|(place, line)| (*place, line.bytes())));
    changes.extend(entries.iter().map(|entry| Change::Append(&last, entry)));
    for (place, bytes) in &data {
        let page = pages.iter().find(|page| page.block == place.block)?;
        changes.push(Change::Overwrite(page, *place, bytes));
    }
    of_periods.finish();
    changes.extend(of_periods.changes());
    Some(Ok((pages::write(spent, &changes), passed)))
}

/// How many bytes of each text a row of the audit has, of that many that are added to one page.
fn room_for_text(rows: usize) -> usize {
    (8000 / rows.max(1)).saturating_sub(120).min(2 * TEXT_BYTES) / 2
}

/// What a row of the audit tells of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Charged,
    Refused,
    /// An answer was given again.
    Reused,
}

/// A row of the audit, with that many bytes of each text.
fn entry(request: &Request, budget: i64, audit: &Table, kind: Kind, text: usize) -> Tuple {
    let Spent {
        epsilon,
        rho,
        delta,
    } = match kind {
        Kind::Charged | Kind::Refused => request.amount,
        Kind::Reused => Spent::default(),
    };
    let (relation, mechanisms) = match &request.payer {
        Payer::Owner | Payer::Elsewhere => (Oid::INVALID, &b""[..]),
        Payer::Table {
            relation,
            mechanisms,
            ..
        } => (*relation, shortened(mechanisms, text)),
    };
    let values = [
        Value::Time(session::now()),
        Value::Integer(budget),
        Value::Integer(epsilon),
        Value::Integer(rho),
        Value::Integer(delta),
        Value::Role(request.role),
        Value::Role(session::session_role()),
        Value::Relation(relation),
        Value::Boolean(kind == Kind::Refused),
        Value::Boolean(kind == Kind::Reused),
        Value::Text(Text::new(mechanisms)),
        Value::Text(session::query(text)),
        Value::Integer(request.charged.as_ref().map_or(0, Charged::count)),
        Value::Day(request.charged.as_ref().map_or(0, Charged::first_day)),
    ];
    Tuple::new(audit, &CHARGE, &values)
}

/// Notes that a charge was refused, and says why.
fn refuse(
    request: &Request,
    accounts: &[Account; 2],
    spent: &Table,
    audit: &Table,
    full: Full,
) -> Refusal {
    note(request, accounts[1].key, spent, audit);
    without_room(request, accounts, spent, full)
}

/// Counts a charge that was refused in the line of its role. Few have a row of the audit, so that a role that goes on
/// asking does not fill the disk. Nothing waits for it to be on disk.
fn note(request: &Request, key: BalanceKey, spent: &Table, audit: &Table) {
    let entry = entry(request, key.budget, audit, Kind::Refused, TEXT_BYTES);
    let (place, now) = (balances::place_of(spent, key), session::now());
    let last = Locked::lock_to_append(audit, &entry);
    let page = Locked::lock(spent, place);
    let line = page.row(spent, place).and_then(Balance::read);
    // A line that has moved is not looked for again.
    let Some(mut line) = line.filter(|line| line.key == key) else {
        return;
    };
    line.refused = line.refused.saturating_add(1);
    if is_noted(line.noted, now) {
        pages::write(spent, &[Change::Overwrite(&page, place, &line.bytes())]);
        return;
    }
    line.noted = now;
    let changes = [
        Change::Append(&last, &entry),
        Change::Overwrite(&page, place, &line.bytes()),
    ];
    pages::write(spent, &changes);
}

/// Whether the audit had a row a short time ago.
fn is_noted(noted: i64, now: i64) -> bool {
    now.saturating_sub(noted).unsigned_abs() < NOTE_EVERY && Defence::Noted.stands()
}

/// Counts an answer that was given again, for nothing, in the line of all together and in that of the role. One a minute
/// has a row of the audit. Nothing waits for it to be on disk, and what cannot be counted is not.
pub fn reused(request: &Request) {
    if !session::on_standby() {
        attempt(|| count_reused(request));
    }
}

fn count_reused(request: &Request) -> Option<()> {
    let budget = budgets::id(&request.budget)?;
    let spent = Table::open_at_once(&SPENT, Lock::Change)?;
    let keys = [Oid::INVALID, request.role].map(|role| BalanceKey { budget, role });
    let [all, own] = balances::look(&spent, keys);
    let all = all?;
    let own = match own {
        Some(own) => own,
        None => (balances::place_of(&spent, keys[1]), Balance::new(keys[1])),
    };
    let now = session::now();
    let is_to_be_noted = |line: &Balance| !is_noted(line.reuse_noted, now);
    let audit = match is_to_be_noted(&own.1) {
        true => Table::open_at_once(&CHARGE, Lock::Change),
        false => None,
    };
    let entry = audit.as_ref().map(|audit| {
        let entry = entry(request, budget, audit, Kind::Reused, TEXT_BYTES);
        (audit, entry)
    });
    let mut lines = [all, own];
    lines.sort_unstable_by_key(|(place, _)| place.block);
    // From here on nothing takes memory.
    let last = entry
        .as_ref()
        .map(|(audit, entry)| (Locked::lock_to_append(audit, entry), entry));
    let first = Locked::lock(&spent, lines[0].0);
    let second = match lines[1].0.block == first.block {
        true => None,
        false => Some(Locked::lock(&spent, lines[1].0)),
    };
    let pages = [&first, second.as_ref().unwrap_or(&first)];
    let mut row = None;
    for ((place, line), page) in lines.iter_mut().zip(pages) {
        // A line that has moved is not looked for again.
        let found = page.row(&spent, *place).and_then(Balance::read);
        *line = found.filter(|found| found.key == line.key)?;
        line.reused = line.reused.saturating_add(1);
        if line.key == keys[1] && is_to_be_noted(line) {
            row = last.as_ref();
            if row.is_some() {
                line.reuse_noted = now;
            }
        }
    }
    let bytes = lines.map(|(_, line)| line.bytes());
    let change = |i: usize| Change::Overwrite(pages[i], lines[i].0, &bytes[i]);
    match row {
        Some((last, entry)) => {
            let row = Change::Append(last, entry);
            pages::write(&spent, &[row, change(0), change(1)])
        }
        None => pages::write(&spent, &[change(0), change(1)]),
    };
    Some(())
}

/// Tells the server's log of a charge, for those who have to know what a lost disk or an old backup has forgotten.
fn log(request: &Request, spent: &Table, all: BalanceKey) {
    if !settings::log_charges() {
        return;
    }
    let numbers = |spent: &Spent| {
        let epsilon = match spent.epsilon {
            UNBOUNDED => "unbounded".to_owned(),
            epsilon => float_up(epsilon, UNIT).to_string(),
        };
        let (rho, delta) = (float_up(spent.rho, UNIT), float_up(spent.delta, DELTA_UNIT));
        format!("epsilon {epsilon}, rho {rho}, delta {delta}")
    };
    let whole = match &request.charged {
        None => format!("in all {}", numbers(&used(spent, all))),
        Some(charged) => format!("in each of {}", charged.text()),
    };
    errors::log(format!(
        "dp_mean: charged budget \"{}\" of database \"{}\" for role \"{}\": {}; {whole}",
        request.budget.text(),
        session::database(),
        name_of(request.role),
        numbers(&request.amount),
    ));
}

/// Tells the server's log, once, that most of a limit is spent, or all.
fn log_mark(requests: &[Request], passed: &Passed) {
    errors::log(format!(
        "dp_mean: {} of database \"{}\" {}",
        passed.full.text(&requests[passed.charge]),
        session::database(),
        passed.mark.text(),
    ));
}

/// The name of a role; its number if it is gone.
fn name_of(role: Oid) -> String {
    session::name_of(role).unwrap_or_else(|| role.to_u32().to_string())
}

/// The message for a charge that an account has no room for.
fn without_room(request: &Request, accounts: &[Account; 2], spent: &Table, full: Full) -> Refusal {
    let account = &accounts[full.account];
    let mut used = used(spent, account.key);
    let Some(promise) = account.promise else {
        return errors::ledger_damaged();
    };
    if let Some(first_day) = full.first_day {
        match periods::spent(account.key.budget, first_day, account.key.role) {
            Ok(spent) => used = used.plus(&spent),
            Err(refusal) => return refusal,
        }
    }
    errors::over_limit(
        request.function,
        &full.text(request),
        &promise.limit,
        &used,
        request.asked,
        &request.amount,
    )
}

/// So much of a text as a row of the audit has room for.
fn shortened(text: &str, most: usize) -> &[u8] {
    let end = (0..=text.len().min(most))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text.as_bytes()[..end.unwrap_or(0)]
}
