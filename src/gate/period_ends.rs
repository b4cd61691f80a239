//! The time that the rows of a query can be in, as constant conditions of WHERE on the column of the period say. It says
//! what has to be paid, and no more: rows outside of what is paid are left out, whatever the conditions are.

use dp_core::privacy::periods::{Every, Periods};
use pgrx::pg_sys::{self, Datum, Node, NodeTag, Oid, Var};

use crate::gate::periods::{call_of, unit_of};
use crate::gate::policy::Period;
use crate::pg::execution;
use crate::pg::tree::{self, Ref};

/// The family of operators that compare dates with times.
const TIMES: Oid = Oid::from_u32(434);

/// Microseconds of a day, and of what clocks are put forward by at most.
pub const DAY: i128 = 86_400_000_000;
const FORWARD: i128 = 3 * 3_600_000_000;

/// Days beyond which no period is, and whose times fit into an `i64`.
const FAR: i128 = 4_000_000;

/// Days that years and weeks begin with: 2000-01-01 and 2000-01-03.
const FIRST_OF_YEAR: i64 = 0;
const MONDAY: i64 = 2;

/// From when on, and before when, in microseconds since 2000-01-01, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub least: Option<i128>,
    pub below: Option<i128>,
}

impl Ends {
    fn and(self, other: Self) -> Self {
        Self {
            least: self.least.into_iter().chain(other.least).max(),
            below: self.below.into_iter().chain(other.below).min(),
        }
    }
}

/// The ends that conditions which all rows meet leave.
pub fn of<'t>(
    conditions: &[Ref<'t, Node>],
    period: &Period,
    is_column: &dyn Fn(Ref<'t, Var>) -> bool,
) -> Ends {
    let ends = conditions
        .iter()
        .filter_map(|condition| ends(*condition, period, is_column));
    ends.fold(Ends::default(), Ends::and)
}

/// What a side of a comparison makes of the column.
struct Side {
    /// Its type.
    kind: Oid,
    /// The beginning of what it is, if not the value itself.
    truncated: Option<Periods>,
}

fn side<'t>(
    node: Ref<'t, Node>,
    period: &Period,
    is_column: &dyn Fn(Ref<'t, Var>) -> bool,
) -> Option<Side> {
    if let Some(column) = node.cast::<Var>() {
        return is_column(column).then_some(Side {
            kind: period.kind,
            truncated: None,
        });
    }
    let (function, arguments) = call_of(node)?;
    let below = |i: usize| side(*arguments.get(i)?, period, is_column);
    let kind = tree::type_of(node);
    match function {
        pg_sys::F_TIMESTAMP_DATE | pg_sys::F_TIMESTAMPTZ_DATE => Some(Side { kind, ..below(0)? }),
        pg_sys::F_DATE_TIMESTAMP => {
            let below = below(0)?;
            let day = Periods::new(Every::Days(1), FIRST_OF_YEAR).ok();
            let truncated = below.truncated.or(day);
            Some(Side { kind, truncated })
        }
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMP | pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ => {
            let below = below(1).filter(|below| below.truncated.is_none())?;
            let (every, since) = match unit_of(*arguments.first()?)?.as_str() {
                "day" => (Every::Days(1), FIRST_OF_YEAR),
                "week" => (Every::Days(7), MONDAY),
                "month" => (Every::Months(1), FIRST_OF_YEAR),
                "quarter" => (Every::Months(3), FIRST_OF_YEAR),
                "year" => (Every::Months(12), FIRST_OF_YEAR),
                _ => return None,
            };
            let truncated = Periods::new(every, since).ok();
            truncated.is_some().then_some(Side { truncated, ..below })
        }
        _ => None,
    }
}

/// The ends that a comparison with a constant leaves.
fn ends<'t>(
    condition: Ref<'t, Node>,
    period: &Period,
    is_column: &dyn Fn(Ref<'t, Var>) -> bool,
) -> Option<Ends> {
    let comparison = condition.operator();
    let comparison = comparison.filter(|_| condition.tag() == NodeTag::T_OpExpr)?;
    let [one, other] = comparison.args().nodes()[..] else {
        return None;
    };
    let (constant, side, is_left) =
        match (side(one, period, is_column), side(other, period, is_column)) {
            (Some(side), None) => (other, side, true),
            (None, Some(side)) => (one, side, false),
            _ => return None,
        };
    // SAFETY: a lookup in the catalog, which answers for any numbers.
    let strategy = unsafe { pg_sys::get_op_opfamily_strategy(comparison.opno(), TIMES) } as u32;
    let strategy = match is_left {
        true => strategy,
        false => pg_sys::BTMaxStrategyNumber + 1 - strategy,
    };
    let kind = tree::type_of(constant);
    let value = time_of(constant, kind)?;
    let is_zoned = [side.kind, kind].contains(&pg_sys::TIMESTAMPTZOID);
    let is_zoned_column = period.kind == pg_sys::TIMESTAMPTZOID;
    // How far the time of the session is from that of the column, at most, before and behind.
    let (value, before, behind) = match (is_zoned, is_zoned_column) {
        (false, false) => (value, 0, 0),
        (_, true) if kind == side.kind && is_zoned && side.truncated.is_none() => (value, 0, 0),
        _ if is_utc() => (value, 0, 0),
        (_, true) => (value, DAY, DAY),
        // A day begins in the session's zone at midnight, or later where clocks are put forward.
        (true, false) => {
            let behind = match period.kind {
                pg_sys::DATEOID => 0,
                _ => FORWARD,
            };
            (local(value, kind)?, FORWARD, behind)
        }
    };
    // The value from which on a truncated value is at least this one, and that behind all that are truncated to it.
    let (from, behind_it) = match side.truncated {
        None => (value, value + 1),
        Some(parts) => {
            let day = i64::try_from(value.div_euclid(DAY)).ok()?;
            let number = parts.number_of(day);
            let [first, next] = [number, number + 1].map(|i| i128::from(parts.first_day(i)) * DAY);
            (if first == value { first } else { next }, next)
        }
    };
    let (least, below) = match strategy {
        pg_sys::BTLessStrategyNumber => (None, Some(from)),
        pg_sys::BTLessEqualStrategyNumber => (None, Some(behind_it)),
        pg_sys::BTEqualStrategyNumber => (Some(from), Some(behind_it)),
        pg_sys::BTGreaterEqualStrategyNumber => (Some(from), None),
        pg_sys::BTGreaterStrategyNumber => (Some(behind_it), None),
        _ => return None,
    };
    Some(Ends {
        least: least.map(|least| least - before),
        below: below.map(|below| below + behind),
    })
}

/// A constant as microseconds, which has an end.
fn time_of(node: Ref<Node>, kind: Oid) -> Option<i128> {
    let value = tree::constant(node).flatten()?.value();
    let time = match kind {
        pg_sys::DATEOID => i128::from(value as i32) * DAY,
        pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => i128::from(value as i64),
        _ => return None,
    };
    (time.abs() < FAR * DAY).then_some(time)
}

/// A time as the clocks of the session's zone show it.
fn local(value: i128, kind: Oid) -> Option<i128> {
    if kind != pg_sys::TIMESTAMPTZOID {
        return Some(value);
    }
    let value = Datum::from(i64::try_from(value).ok()?);
    // SAFETY: PostgreSQL's own cast of a time that is not far away.
    let local = unsafe {
        pgrx::direct_function_call_as_datum(pg_sys::timestamptz_timestamp, &[Some(value)])
    };
    local.map(|local| i128::from(local.value() as i64))
}

/// Whether the zone of the session is that of periods.
fn is_utc() -> bool {
    let zone = execution::setting(c"TimeZone");
    [&b"UTC"[..], b"Etc/UTC", b"GMT", b"Etc/GMT"].contains(&&zone[..])
}
