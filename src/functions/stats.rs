//! `dp_mean.dp_stats_lines()`: what was counted of each database, for the view `dp_stats`.

use pgrx::pg_sys::Oid;
use pgrx::prelude::*;

use crate::pg::counters::{Counted, EVENTS, counted};
use crate::pg::errors;

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn dp_stats_lines() -> TableIterator<
    'static,
    (
        name!(database, Option<Oid>),
        name!(queries, i64),
        name!(charges, i64),
        name!(releases, i64),
        name!(refused_queries, i64),
        name!(refused_charges, i64),
        name!(refused_arguments, i64),
        name!(unavailable, i64),
        name!(internal_errors, i64),
        name!(since, TimestampWithTimeZone),
    ),
> {
    let (since, lines) = counted().unwrap_or_else(|| errors::not_counted().raise());
    let since = TimestampWithTimeZone::try_from(since).expect("the server's clock");
    TableIterator::new(lines.into_iter().map(move |Counted { database, events }| {
        let [a, b, c, d, e, f, g, h]: [i64; EVENTS] = events.map(|event| event as i64);
        (database, a, b, c, d, e, f, g, h, since)
    }))
}
