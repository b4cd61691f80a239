//! `dp_mechanisms()`: the mechanisms of every aggregate.

use dp_core::registry;
use pgrx::prelude::*;

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
        let parameters: Vec<String> = info
            .all_parameters()
            .map(|parameter| {
                let (name, domain) = (parameter.name, parameter.domain);
                format!("{name} ({domain}): {}", parameter.description)
            })
            .collect();
        (
            aggregate,
            info.name,
            is_default,
            info.guarantee,
            info.neighbours,
            parameters.join("; "),
            info.example,
            info.source,
        )
    }))
}
