//! Which periods a question about a table by period pays: those that its rows can be in, as the settled query says, with
//! the values of its parameters and of now. Its rows are those of these periods alone.

use std::ops::Range;

use dp_core::privacy::periods::text_of;
use pgrx::pg_sys::{self, Query, RTEKind, RangeTblEntry};

use crate::gate::conditions;
use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::period_ends::{self, DAY};
use crate::gate::policy::{Period, Policy, quoted_name};
use crate::ledger::division::Charged;
use crate::pg::tree::{self, Ref, Step};

/// The periods that pay a question; `None` of a table that has none.
///
/// # Errors
/// It is about people of one period, and has several.
pub fn charged<'t>(
    settled: Ref<'t, Query>,
    policy: &Policy,
    is_of_one: bool,
) -> Result<Option<Charged>, Refusal> {
    let Some(period) = &policy.period else {
        return Ok(None);
    };
    let mut numbers = None::<Range<i64>>;
    each_entry(settled, policy, &mut |query, _, index| {
        let own = numbers_of(query, index, period);
        numbers = Some(match numbers.take() {
            Some(known) if own.is_empty() => known,
            Some(known) if !known.is_empty() => known.start.min(own.start)..known.end.max(own.end),
            _ => own,
        });
    });
    let charged = Charged {
        periods: period.periods,
        numbers: numbers.unwrap_or(0..0),
    };
    match is_of_one && charged.count() > 1 && Defence::PeriodOne.stands() {
        true => Err(errors::of_one_period(&quoted_name(policy.relation))),
        false => Ok(Some(charged)),
    }
}

/// The periods of the time that an entry's rows can be in.
fn numbers_of(query: Ref<Query>, index: i32, period: &Period) -> Range<i64> {
    let from = query.jointree().expect("a query has FROM");
    let is_column = |column: Ref<pg_sys::Var>| {
        let place = (column.varno(), column.varattno(), column.varlevelsup());
        place == (index, period.column, 0)
    };
    let ends = period_ends::of(&conditions::of_part(from.node()), period, &is_column);
    let day = |time: i128| i64::try_from(time.div_euclid(DAY)).unwrap_or(0);
    let periods = &period.periods;
    // SAFETY: it reads when the transaction began, as now() does.
    let now = i128::from(unsafe { pg_sys::GetCurrentTransactionStartTimestamp() });
    let current = periods.number_of(day(now));
    let last = periods.first_day(current + 1) - 1;
    // A date is the beginning of its day.
    let first_day = |least: i128| match period.kind {
        pg_sys::DATEOID => day(least + DAY - 1),
        _ => day(least),
    };
    let first = ends.least.map_or(periods.since(), first_day);
    let first = first.max(periods.since());
    let last = ends.below.map_or(last, |below| day(below - 1)).min(last);
    periods.between(first, last)
}

/// Leaves out all rows of other periods, and of none, before anything else looks at them.
pub fn limit_rows(settled: Ref<Query>, policy: &Policy, charged: &Charged) {
    let (Some(period), true) = (&policy.period, Defence::PeriodRows.stands()) else {
        return;
    };
    let [first, behind] = [charged.numbers.start, charged.numbers.end]
        .map(|number| literal(period, charged.periods.first_day(number)));
    let sql =
        format!("SELECT $1 OPERATOR(pg_catalog.>=) {first} AND $1 OPERATOR(pg_catalog.<) {behind}");
    each_entry(settled, policy, &mut |query, entry, index| {
        let parsed = tree::parse(query.memory(), &sql, &[period.kind]);
        let target = parsed.targetList().into_iter().next();
        let condition = target.and_then(|target| target.expr());
        let condition = tree::change(condition.expect("a condition"), &mut |node| {
            node.cast::<pg_sys::Param>().map(|node| {
                let none = pg_sys::Oid::INVALID;
                tree::var(node.memory(), index, period.column, period.kind, -1, none)
            })
        });
        let own = tree::list_of([condition]);
        entry.set_securityQuals(own.concat(entry.securityQuals()));
    });
}

/// The beginning of a day in UTC, as a constant of the type of the column.
fn literal(period: &Period, day: i64) -> String {
    let day = text_of(day);
    match period.kind {
        pg_sys::DATEOID => format!("'{day}'::pg_catalog.date"),
        pg_sys::TIMESTAMPOID => format!("'{day} 00:00:00'::pg_catalog.timestamp"),
        // Without its defence it is a day of the session's zone.
        _ if !Defence::PeriodZone.stands() => format!("'{day} 00:00:00'::pg_catalog.timestamptz"),
        _ => format!("'{day} 00:00:00+00'::pg_catalog.timestamptz"),
    }
}

/// Calls `visit` for each place where a question reads the rows of its table: the query, the entry, and its number.
fn each_entry<'t>(
    settled: Ref<'t, Query>,
    policy: &Policy,
    visit: &mut dyn FnMut(Ref<'t, Query>, Ref<'t, RangeTblEntry>, i32),
) {
    tree::search(settled.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            for (entry, index) in query.rtable().into_iter().zip(1..) {
                let is_it =
                    entry.rtekind() == RTEKind::RTE_RELATION && entry.relid() == policy.relation;
                if is_it {
                    visit(query, entry, index);
                }
            }
        }
        Step::Below
    });
}
