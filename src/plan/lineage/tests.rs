//! Where contributions come from, in plans that PostgreSQL makes.

use pgrx::pg_sys::NodeTag;
use pgrx::pg_test;

use crate::pg::test_helpers::{aggregate, all_of, call_in, end, plan, ready, sql, top};
use crate::plan::lineage::{CallOrigin, origins};
use crate::plan::planned_call::{Argument, PlannedCall, partial};

const CALL: &str = "dp_contribution(x, 0, 52)";

fn tables() {
    sql(
        "CREATE TABLE visits (person int, doctor int, x float8); CREATE TABLE doctors (doctor int);
         CREATE TABLE kept (c dp_mean.dp_contribution)",
    );
}

/// The numbers of arguments of the calls that the first argument of the uppermost call comes from, and the upper bound
/// of each.
fn found(query: &str) -> Vec<(usize, f64)> {
    let query = ready(query, &[]);
    let aggregate = aggregate(query).as_ptr();
    // SAFETY: all of it belongs to the plan of the query, which is ready.
    let call = unsafe {
        let plan = (*aggregate).ss.ps.plan;
        let call = call_in(plan);
        let finalizes = (*call).aggsplit & pgrx::pg_sys::AGGSPLITOP_COMBINE != 0;
        let (call, plan) = match finalizes {
            true => partial(call, plan).expect("the partial call"),
            false => (call, plan),
        };
        PlannedCall::of(aggregate, plan, call)
    };
    let upper = |call: &PlannedCall| {
        // SAFETY: the memory of the call from SQL.
        match call.argument(2, unsafe { pgrx::pg_sys::CurrentMemoryContext }) {
            Some(Argument::Constant(Some(value))) => crate::pg::fmgr::float8(value),
            _ => panic!("the upper bound is constant"),
        }
    };
    let all = origins(&call, 0);
    let made = |origin: &CallOrigin| match origin {
        CallOrigin::Call(call) => (call.len(), upper(call)),
        CallOrigin::Column { .. } => panic!("a call that makes contributions"),
    };
    let all = all.iter().map(made).collect();
    assert!(origins(&call, 99).is_empty());
    end(query);
    all
}

#[pg_test]
fn a_sub_select_is_followed() {
    tables();
    let sub = format!("SELECT {CALL} AS c FROM visits GROUP BY person");
    assert_eq!(
        found(&format!("SELECT dp_mean(c, 0, 52, 1) FROM ({sub}) s")),
        [(3, 52.0)]
    );
    let more = "SELECT person, dp_contribution(x, 0, 52, 3) AS c FROM visits GROUP BY person";
    for query in [
        format!("SELECT dp_mean(c, 0, 52, 1) FROM ({more} ORDER BY person) s"),
        format!("SELECT dp_mean(c, 0, 52, 1) FROM ({more} OFFSET 0) s WHERE person > 5"),
    ] {
        assert_eq!(found(&query), [(4, 52.0)], "{query}");
    }
}

#[pg_test]
fn with_is_followed() {
    tables();
    for kind in ["MATERIALIZED", "NOT MATERIALIZED"] {
        let with = format!("WITH s AS {kind} (SELECT {CALL} AS c FROM visits GROUP BY person)");
        assert_eq!(
            found(&format!("{with} SELECT dp_mean(c, 0, 52, 1) FROM s")),
            [(3, 52.0)]
        );
    }
}

#[pg_test]
fn joins_are_followed_on_both_sides() {
    tables();
    let sub = format!("(SELECT doctor, {CALL} AS c FROM visits GROUP BY person, doctor) s");
    for (off, node) in [
        (
            "enable_hashjoin = off; SET LOCAL enable_nestloop = off",
            NodeTag::T_MergeJoin,
        ),
        (
            "enable_hashjoin = off; SET LOCAL enable_mergejoin = off",
            NodeTag::T_NestLoop,
        ),
        (
            "enable_mergejoin = off; SET LOCAL enable_nestloop = off",
            NodeTag::T_HashJoin,
        ),
    ] {
        sql(
            "SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on; SET LOCAL enable_nestloop = on",
        );
        sql(&format!("SET LOCAL {off}"));
        for join in [
            format!("{sub} LEFT JOIN doctors d"),
            format!("doctors d LEFT JOIN {sub}"),
        ] {
            let query = format!("SELECT dp_mean(c, 0, 52, 1) FROM {join} USING (doctor)");
            assert!(!all_of(top(plan(&query, &[])), node).is_empty(), "{query}");
            assert_eq!(found(&query), [(3, 52.0)], "{query}");
        }
    }
}

#[pg_test]
fn all_parts_of_an_append_are_followed() {
    tables();
    let part =
        |hi: i32| format!("SELECT dp_contribution(x, 0, {hi}) AS c FROM visits GROUP BY person");
    let query = format!(
        "SELECT dp_mean(c, 0, 52, 1) FROM ({} UNION ALL {}) u",
        part(52),
        part(9)
    );
    assert_eq!(found(&query), [(3, 52.0), (3, 9.0)]);
    // One part of it is nobody's.
    let query = format!(
        "SELECT dp_mean(c, 0, 52, 1) FROM ({} UNION ALL SELECT c FROM kept) u",
        part(9)
    );
    assert_eq!(found(&query), [(3, 9.0)]);
}

#[pg_test]
fn parallel_parts_are_followed() {
    tables();
    sql(
        "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
         SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL max_parallel_workers_per_gather = 2",
    );
    let query = format!(
        "SELECT dp_mean(c, 0, 52, 1) FROM (SELECT {CALL} AS c FROM visits GROUP BY person) s"
    );
    let tree = top(plan(&query, &[]));
    assert_eq!(
        all_of(tree, NodeTag::T_Agg).len(),
        3,
        "of contributions in two parts"
    );
    assert_eq!(found(&query), [(3, 52.0)]);
}

#[pg_test]
fn tables_functions_and_casts_have_no_origin() {
    tables();
    sql(
        "CREATE FUNCTION made() RETURNS SETOF dp_mean.dp_contribution LANGUAGE sql
         AS 'SELECT c FROM kept' VOLATILE STRICT",
    );
    for query in [
        "SELECT dp_mean(c, 0, 52, 1) FROM kept",
        "SELECT dp_mean(c, 0, 52, 1) FROM made() AS c",
        "SELECT dp_mean(CASE WHEN random() < 2 THEN c END, 0, 52, 1) FROM kept",
        "SELECT dp_mean(x, 0, 52, 1) FROM visits",
    ] {
        assert!(found(query).is_empty(), "{query}");
    }
}

#[pg_test]
fn calls_of_other_aggregates_are_no_origin() {
    tables();
    let query =
        "SELECT dp_mean(s, 0, 52, 1) FROM (SELECT sum(x) AS s FROM visits GROUP BY person) s";
    assert!(found(query).is_empty());
}
