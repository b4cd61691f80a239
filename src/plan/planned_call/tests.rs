//! Calls of aggregates in plans that PostgreSQL makes, and their arguments.

use pgrx::pg_test;
use std::ptr::null_mut;

use pgrx::pg_sys::{self, Datum, NodeTag, Oid, QueryDesc};

use crate::pg::fmgr::float8;
use crate::pg::nodes::children;
use crate::pg::test_helpers::{aggregate, all_of, call_in, end, only, plan, ready, sql, top};
use crate::plan::planned_call::{
    Argument, Computation, Computations, PlannedCall, SupportFunction, is_ours, partial, target,
};

fn tables() {
    sql("CREATE TABLE checked (k int, x float8); CREATE TABLE other (x float8)");
}

const PARALLEL: &str = "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
     SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL max_parallel_workers_per_gather = 2";

/// The call in the uppermost aggregate of a query that is ready, as a serial plan has it.
fn planned(query: std::ptr::NonNull<QueryDesc>) -> PlannedCall {
    let aggregate = aggregate(query).as_ptr();
    // SAFETY: all of it belongs to the plan of the query, which is ready.
    unsafe {
        let plan = (*aggregate).ss.ps.plan;
        PlannedCall::of(aggregate, plan, call_in(plan))
    }
}

/// An argument that is constant: its value.
fn constant(call: &PlannedCall, i: usize) -> Option<f64> {
    // SAFETY: the memory of the call from SQL.
    match call.argument(i, unsafe { pg_sys::CurrentMemoryContext }) {
        Some(Argument::Constant(value)) => value.map(float8),
        Some(Argument::Computed(_)) => panic!("argument {i} is computed"),
        None => panic!("argument {i} depends on rows"),
    }
}

/// An argument that is computed.
fn computed(call: &PlannedCall, i: usize) -> Computation {
    // SAFETY: as above.
    match call.argument(i, unsafe { pg_sys::CurrentMemoryContext }) {
        Some(Argument::Computed(computation)) => computation,
        Some(Argument::Constant(_)) => panic!("argument {i} is constant"),
        None => panic!("argument {i} depends on rows"),
    }
}

/// Whether an argument could differ from row to row.
fn depends(call: &PlannedCall, i: usize) -> bool {
    // SAFETY: as above.
    let memory = unsafe { pg_sys::CurrentMemoryContext };
    call.argument(i, memory).is_none()
}

/// Computes arguments, as the aggregate does it before a release.
fn compute(call: &PlannedCall, computations: &mut [Computation]) {
    let mut fcinfo = pg_sys::FunctionCallInfoBaseData {
        context: call.aggregate.cast(),
        ..Default::default()
    };
    // SAFETY: they were found for this aggregate; none of them raises an ERROR.
    unsafe { Computations::of(computations).compute(&mut fcinfo) };
}

fn oid_of(name: &str) -> Oid {
    let text =
        std::ffi::CString::new(format!("SELECT '{name}'::regprocedure::oid")).expect("no NUL");
    let oid = pgrx::Spi::get_one::<Oid>(text.to_str().expect("a text"));
    oid.expect("a function").expect("a function")
}

#[pg_test]
fn constants_are_read_and_columns_are_not() {
    tables();
    let query = ready("SELECT dp_mean(x, -3, 100.5, 1) FROM checked", &[]);
    let call = planned(query);
    assert_eq!(call.len(), 4);
    assert!(call.types().eq([pg_sys::FLOAT8OID; 4]));
    assert!(!call.is_variadic());
    assert!(depends(&call, 0));
    assert_eq!(
        [1, 2, 3].map(|i| constant(&call, i)),
        [Some(-3.0), Some(100.5), Some(1.0)]
    );
    // Beyond the last there is none.
    assert!(depends(&call, 4));
    end(query);
}

#[pg_test]
fn null_is_a_constant_too() {
    tables();
    let query = ready(
        "SELECT dp_sum(x, 0, 10, NULL, 'gaussian(mu=1)') FROM checked",
        &[],
    );
    let call = planned(query);
    assert_eq!(call.len(), 5);
    assert_eq!(constant(&call, 3), None);
    end(query);
}

#[pg_test]
fn an_order_of_its_own_adds_no_argument() {
    tables();
    let query = ready("SELECT dp_sum(x, 0, 10, 1 ORDER BY k, x) FROM checked", &[]);
    assert_eq!(planned(query).len(), 4);
    end(query);
}

#[pg_test]
fn variadic_is_seen() {
    tables();
    for (call, variadic) in [("VARIADIC ARRAY[x > 1]", true), ("x > 1, x > 2", false)] {
        let query = ready(
            &format!("SELECT dp_counts(1, 'laplace(d=1)', {call}) FROM checked"),
            &[],
        );
        assert_eq!(planned(query).is_variadic(), variadic);
        end(query);
    }
}

#[pg_test]
fn what_could_differ_from_row_to_row_is_no_argument() {
    tables();
    for (sql, i) in [
        ("SELECT dp_mean(x, 0, k, 1) FROM checked", 2),
        ("SELECT dp_mean(x, 0, 1 + random(), 1) FROM checked", 2),
        ("SELECT k, dp_mean(x, 0, 1, k) FROM checked GROUP BY k", 3),
        (
            "SELECT dp_mean(x, 0, (SELECT o.x FROM other o WHERE o.x = c.x), 1) FROM checked c",
            2,
        ),
        (
            "SELECT dp_mean(x, 0, n, 1) FROM (SELECT x, count(*) OVER () AS n FROM checked) s",
            2,
        ),
        (
            "SELECT dp_mean(y, 0, n, 1) FROM (SELECT sum(x) AS y, count(*) AS n FROM checked) s",
            2,
        ),
        (
            "SELECT dp_mean(x, 0, n, 1) FROM (SELECT x, generate_series(1, 2) AS n FROM checked) s",
            2,
        ),
    ] {
        let query = ready(sql, &[]);
        assert!(depends(&planned(query), i), "{sql}");
        end(query);
    }
}

#[pg_test]
fn parameters_are_computed_anew() {
    tables();
    let query = ready(
        "SELECT dp_mean(x, $1, $1 + $2, 1) FROM checked",
        &[3.0, 0.25],
    );
    let call = planned(query);
    let mut both = [computed(&call, 1), computed(&call, 2)];
    for value in &both {
        assert!(value.value().is_none(), "nothing is computed yet");
    }
    compute(&call, &mut both);
    assert_eq!(
        both.map(|one| one.value().map(float8)),
        [Some(3.0), Some(3.25)]
    );
    // With another parameter.
    // SAFETY: the list of a query that is ready, of two.
    unsafe {
        let parameter = (*(*query.as_ptr()).params).params.as_mut_ptr();
        (*parameter).value = Datum::from(7.0f64.to_bits());
        (*parameter.add(1)).isnull = true;
    }
    compute(&call, &mut both);
    assert_eq!(both.map(|one| one.value().map(float8)), [Some(7.0), None]);
    end(query);
}

#[pg_test]
fn a_sub_select_without_rows_of_the_call_is_computed() {
    tables();
    let query = ready(
        "SELECT dp_mean(x, 0, (SELECT max(x) FROM other), 1) FROM checked",
        &[],
    );
    let call = planned(query);
    computed(&call, 2);
    assert!(!call.is_looked_up(2) && !call.is_looked_up(1) && !call.is_looked_up(9));
    end(query);
}

#[pg_test]
fn what_is_looked_up_in_the_rows_is_seen() {
    tables();
    for sub in [
        "SELECT max(x) FROM checked",
        "SELECT x FROM checked LIMIT 1",
    ] {
        let query = ready(
            &format!("SELECT dp_mean(x, 0, ({sub}), 1) FROM checked"),
            &[],
        );
        let call = planned(query);
        assert!(call.is_looked_up(2) && !call.is_looked_up(1), "{sub}");
        end(query);
    }
    let private = "SELECT dp_mean(x, 0, (SELECT dp_mean(x, 0, 9, 1) FROM checked), 1) FROM checked";
    let query = ready(private, &[]);
    assert!(!planned(query).is_looked_up(2));
    end(query);
}

#[pg_test]
fn a_parameter_that_groups_are_made_by_is_followed_down() {
    tables();
    sql("SET LOCAL enable_hashagg = off");
    for from in [
        "checked",
        "(SELECT x FROM checked UNION ALL SELECT x FROM other) u",
    ] {
        let sql = format!("SELECT dp_mean(x, 0, $1, 1) FROM {from} GROUP BY $1, x");
        let query = ready(&sql, &[5.0]);
        let call = planned(query);
        let mut value = [computed(&call, 2)];
        compute(&call, &mut value);
        assert_eq!(value[0].value().map(float8), Some(5.0), "{from}");
        end(query);
    }
}

#[pg_test]
fn a_finalize_node_leads_to_its_partial_call() {
    tables();
    sql(PARALLEL);
    for query in [
        "SELECT dp_mean(x, 0, 100, 1) FROM checked",
        "SELECT k, dp_mean(x, 0, 100, 1) FROM checked GROUP BY k",
    ] {
        let tree = top(plan(query, &[]));
        let nodes = all_of(tree, NodeTag::T_Agg);
        let [upper, lower] = nodes[..] else {
            panic!("{} aggregates: {query}", nodes.len());
        };
        // SAFETY: a plan that lives.
        unsafe {
            let call = call_in(upper);
            assert!((*call).aggsplit & pg_sys::AGGSPLITOP_COMBINE != 0);
            let (found, node) = partial(call, upper).expect("the partial call");
            assert_eq!(node, lower);
            assert!((*found).aggsplit & pg_sys::AGGSPLITOP_SKIPFINAL != 0);
            assert_eq!((*found).aggfnoid, (*call).aggfnoid);
            let planned = PlannedCall::of(null_mut(), node, found);
            assert_eq!(planned.len(), 4);
            assert_eq!(constant(&planned, 2), Some(100.0));
        }
    }
}

#[pg_test]
fn over_partitions_the_first_partial_call_is_found() {
    sql("CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
         CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
         CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
         SET LOCAL enable_partitionwise_aggregate = on; SET LOCAL max_parallel_workers_per_gather = 0;
         SET LOCAL cpu_tuple_cost = 1");
    let tree = top(plan("SELECT dp_mean(x, 0, 100, 1) FROM parts", &[]));
    let append = only(tree, NodeTag::T_Append);
    // SAFETY: a plan that lives.
    unsafe {
        let (found, node) = partial(call_in(tree), tree).expect("the partial call");
        assert_eq!(Some(node), children(append).next());
        assert_eq!(
            constant(&PlannedCall::of(null_mut(), node, found), 2),
            Some(100.0)
        );
    }
}

#[pg_test]
fn a_serial_call_has_no_partial_one() {
    tables();
    let tree = top(plan("SELECT dp_mean(x, 0, 100, 1) FROM checked", &[]));
    // SAFETY: a plan that lives.
    unsafe { assert!(partial(call_in(tree), tree).is_none()) };
}

#[pg_test]
fn a_target_outside_of_the_list_is_none() {
    tables();
    let tree = top(plan("SELECT k, x FROM checked", &[]));
    // SAFETY: a plan that lives.
    unsafe {
        for (column, there) in [
            (i16::MIN, false),
            (-1, false),
            (0, false),
            (1, true),
            (2, true),
            (3, false),
        ] {
            assert_eq!(target(tree, column).is_some(), there, "{column}");
        }
    }
}

#[pg_test]
fn an_aggregate_is_known_by_its_support_functions() {
    let aggregate = oid_of("dp_mean(float8, float8, float8, float8)");
    let transition =
        oid_of("dp_mean.dp_mean_trans(dp_mean.dp_state, float8, float8, float8, float8)");
    let last = oid_of("dp_mean.dp_mean_final(dp_mean.dp_state)");
    let other = oid_of("dp_mean.dp_sum_final(dp_mean.dp_state)");
    // SAFETY: look-ups in the catalog.
    unsafe {
        assert!(is_ours(aggregate, SupportFunction::Transition, transition));
        assert!(is_ours(aggregate, SupportFunction::Final, last));
        assert!(!is_ours(aggregate, SupportFunction::Final, transition));
        assert!(!is_ours(aggregate, SupportFunction::Transition, last));
        assert!(!is_ours(aggregate, SupportFunction::Final, other));
        // A function that is no aggregate, and a number that is nobody's.
        assert!(!is_ours(last, SupportFunction::Final, last));
        assert!(!is_ours(Oid::INVALID, SupportFunction::Final, last));
    }
}
