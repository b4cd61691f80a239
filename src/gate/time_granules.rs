//! Keys of times that are the same for all times of a day, an hour or a minute, as `date_trunc('day', at)`.

use pgrx::pg_sys::{self, Node, Oid};

use crate::gate::periods::{call_of, unit_of};
use crate::pg::tree::{self, Ref, Step};

/// Microseconds of a minute.
const MINUTE: i128 = 60_000_000;

/// For how long an expression of a time is the same: `Day` is longer than `Hour`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Granule {
    /// For no time but one.
    Value,
    Minute,
    Hour,
    /// A day and more.
    Day,
}

impl Granule {
    /// How far apart times are, in microseconds, so that one is in each granule. Days of a time zone can be some hours
    /// shorter, and hours half an hour, where clocks are put forward.
    pub fn step(self, kind: Oid) -> i128 {
        let has_zone = kind == pg_sys::TIMESTAMPTZOID;
        match (self, has_zone) {
            (Self::Value, _) => 1,
            (Self::Minute, _) => MINUTE,
            (Self::Hour, false) => 60 * MINUTE,
            (Self::Hour, true) => 30 * MINUTE,
            (Self::Day, false) => 24 * 60 * MINUTE,
            (Self::Day, true) => 12 * 60 * MINUTE,
        }
    }
}

/// Whether a type is of times.
pub fn is_time(kind: Oid) -> bool {
    [pg_sys::TIMESTAMPOID, pg_sys::TIMESTAMPTZOID].contains(&kind)
}

/// The granule of an expression of one column of times: the shortest of all that is made of the column. `None` where
/// something else is made of it, or nothing is.
pub fn of<'t>(node: Ref<'t, Node>, is_column: &dyn Fn(Ref<'t, Node>) -> bool) -> Option<Granule> {
    let mut least: Option<Granule> = None;
    let has_other = tree::search(node, &mut |node, _| {
        if is_column(node) {
            return Step::Stop;
        }
        match granule(node, is_column) {
            Some(found) => {
                least = Some(least.map_or(found, |known| known.min(found)));
                Step::Past
            }
            None => Step::Below,
        }
    });
    least.filter(|_| !has_other)
}

/// That of a call on the column itself.
fn granule<'t>(node: Ref<'t, Node>, is_column: &dyn Fn(Ref<'t, Node>) -> bool) -> Option<Granule> {
    const DATES: [u32; 2] = [pg_sys::F_DATE_TIMESTAMP, pg_sys::F_DATE_TIMESTAMPTZ];
    const PARTS: [u32; 7] = [
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMP,
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT,
        pg_sys::F_EXTRACT_TEXT_TIMESTAMP,
        pg_sys::F_EXTRACT_TEXT_TIMESTAMPTZ,
        pg_sys::F_DATE_PART_TEXT_TIMESTAMP,
        pg_sys::F_DATE_PART_TEXT_TIMESTAMPTZ,
    ];
    let (function, arguments) = call_of(node)?;
    if DATES.contains(&function) {
        return is_column(*arguments.first()?).then_some(Granule::Day);
    }
    let [unit, column, zone @ ..] = arguments.as_slice() else {
        return None;
    };
    let has_constant_zone = zone.iter().all(|zone| tree::constant(*zone).is_some());
    if !(PARTS.contains(&function) && is_column(*column) && has_constant_zone) {
        return None;
    }
    match unit_of(*unit)?.as_str() {
        "minute" => Some(Granule::Minute),
        "hour" => Some(Granule::Hour),
        "day" | "dow" | "isodow" | "doy" | "week" | "month" | "quarter" | "year" | "isoyear" => {
            Some(Granule::Day)
        }
        _ => None,
    }
}

/// Times in FROM, from microseconds since 2000-01-01: the first, each a step behind the one before, and the last.
pub fn series(kind: Oid, least: &str, greatest: &str, step: i128) -> String {
    let since = match kind {
        pg_sys::TIMESTAMPTZOID => "'2000-01-01 00:00:00+00'::pg_catalog.timestamptz",
        _ => "'2000-01-01 00:00:00'::pg_catalog.timestamp",
    };
    // An interval is multiplied by a float8: minutes and what is left of one are small enough for that, far from 2000 too.
    let part = |operator: &str, unit: &str| {
        format!(
            "((n OPERATOR(pg_catalog.{operator}) ({MINUTE})::pg_catalog.int8)::pg_catalog.float8 \
             OPERATOR(pg_catalog.*) '{unit}'::pg_catalog.interval)"
        )
    };
    let (minutes, rest) = (part("/", "1 minute"), part("%", "1 microsecond"));
    format!(
        "(SELECT (({since} OPERATOR(pg_catalog.+) {minutes}) OPERATOR(pg_catalog.+) {rest}) AS x \
         FROM (SELECT pg_catalog.generate_series(({least})::pg_catalog.int8, ({greatest})::pg_catalog.int8, \
         ({step})::pg_catalog.int8) AS n UNION ALL SELECT n FROM (VALUES (({greatest})::pg_catalog.int8)) AS last(n) \
         WHERE n OPERATOR(pg_catalog.>=) ({least})::pg_catalog.int8) n) s"
    )
}
