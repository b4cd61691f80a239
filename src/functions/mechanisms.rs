//! `dp_mechanisms()`: the mechanisms of every aggregate.

use dp_core::mechanism::definition::Info;
use dp_core::registry;
use pgrx::prelude::*;

/// The parameters of a mechanism, each with its domain and what it does.
fn parameters(info: &Info) -> String {
    let parameters = info.all_parameters().map(|parameter| {
        let (name, domain) = (parameter.name, parameter.domain);
        format!("{name} ({domain}): {}", parameter.description)
    });
    parameters.collect::<Vec<_>>().join("; ")
}

#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn dp_mechanisms_0_2() -> TableIterator<
    'static,
    (
        name!(aggregate, &'static str),
        name!(mechanism, &'static str),
        name!(is_default, bool),
        name!(guarantee, &'static str),
        name!(neighbours, &'static str),
        name!(cost, &'static str),
        name!(parameters, String),
        name!(example, &'static str),
        name!(source, &'static str),
    ),
> {
    TableIterator::new(registry::catalog().map(|(aggregate, is_default, info)| {
        (
            aggregate,
            info.name,
            is_default,
            info.guarantee,
            info.neighbours,
            info.loss.description(),
            parameters(info),
            info.example,
            info.source,
        )
    }))
}

/// That of the SQL of 0.1.0, which has no column `cost`.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn dp_mechanisms() -> TableIterator<
    'static,
    (
        name!(aggregate, &'static str),
        name!(mechanism, &'static str),
        name!(is_default, bool),
        name!(guarantee, &'static str),
        name!(neighbours, &'static str),
        name!(parameters, String),
        name!(example, &'static str),
        name!(source, &'static str),
    ),
> {
    TableIterator::new(registry::catalog().map(|(aggregate, is_default, info)| {
        (
            aggregate,
            info.name,
            is_default,
            info.guarantee,
            info.neighbours,
            parameters(info),
            info.example,
            info.source,
        )
    }))
}
