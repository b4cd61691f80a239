//! The nodes of plans as PostgreSQL makes them, and what lies below them.

use pgrx::pg_sys::{self, NodeTag, Plan, TargetEntry};
use pgrx::pg_test;

use crate::pg::nodes::{children, elements, integers};
use crate::pg::test_helpers::{all_of, only, plan, sql, top};

/// The nodes below one of this kind in the plan of a query.
fn below(query: &str, tag: NodeTag) -> (*mut Plan, Vec<*mut Plan>) {
    let node = only(top(plan(query, &[])), tag);
    // SAFETY: a node of a plan that lives.
    (node, unsafe { children(node).collect() })
}

/// That the node of this kind has one below it, as every node has it.
fn passes_on(query: &str, tag: NodeTag) {
    let (node, below) = below(query, tag);
    // SAFETY: the same.
    let left = unsafe { (*node).lefttree };
    assert!(!left.is_null(), "{tag:?}");
    assert_eq!(below, [left], "{tag:?}");
}

fn table() {
    sql("CREATE TABLE checked (k int, x float8)");
}

#[pg_test]
fn null_is_the_empty_list() {
    // SAFETY: NULL is a list.
    unsafe {
        assert_eq!(elements::<TargetEntry>(std::ptr::null_mut()).count(), 0);
        assert!(integers(std::ptr::null_mut()).is_empty());
    }
}

#[pg_test]
fn lists_have_their_elements_in_order() {
    table();
    let plan = top(plan("SELECT 7, x, k FROM checked", &[]));
    // SAFETY: the target list of a plan that lives, and a list that is made here.
    unsafe {
        let entries = elements::<TargetEntry>((*plan).targetlist);
        let numbers: Vec<_> = entries.map(|entry| (*entry).resno).collect();
        assert_eq!(numbers, [1, 2, 3]);
        let mut list = std::ptr::null_mut();
        for number in [i32::MIN, -1, 0, 5, i32::MAX] {
            list = pg_sys::lappend_int(list, number);
        }
        assert_eq!(integers(list), [i32::MIN, -1, 0, 5, i32::MAX]);
    }
}

#[pg_test]
fn nodes_that_pass_rows_on_have_one_below() {
    table();
    passes_on("SELECT dp_count(1) FROM checked", NodeTag::T_Agg);
    passes_on("SELECT x FROM checked ORDER BY x", NodeTag::T_Sort);
    passes_on(
        "SELECT x FROM checked WHERE (SELECT true)",
        NodeTag::T_Result,
    );
    passes_on(
        "SELECT a.k FROM checked a, checked b WHERE a.x < b.x",
        NodeTag::T_Material,
    );
}

#[pg_test]
fn what_gathers_rows_has_the_parallel_part_below() {
    table();
    sql(
        "SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
         SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL max_parallel_workers_per_gather = 2;
         SET LOCAL enable_hashagg = off",
    );
    passes_on("SELECT dp_count(1) FROM checked", NodeTag::T_Gather);
    passes_on(
        "SELECT k, dp_count(1) FROM checked GROUP BY k",
        NodeTag::T_GatherMerge,
    );
}

#[pg_test]
fn a_sort_of_what_is_half_sorted_has_one_below() {
    table();
    sql("CREATE INDEX ON checked (k); INSERT INTO checked SELECT i, i FROM generate_series(1, 5000) i;
         ANALYZE checked; SET LOCAL enable_seqscan = off");
    passes_on(
        "SELECT k, x FROM checked ORDER BY k, x LIMIT 5",
        NodeTag::T_IncrementalSort,
    );
}

#[pg_test]
fn appends_have_all_their_parts() {
    table();
    let union =
        "SELECT x FROM checked UNION ALL SELECT x FROM checked UNION ALL SELECT x + 1 FROM checked";
    let (_, parts) = below(union, NodeTag::T_Append);
    assert_eq!(parts.len(), 3);
    sql(
        "CREATE INDEX ON checked (x); SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off;
         SET LOCAL enable_bitmapscan = off",
    );
    let both = "SELECT x FROM (SELECT x FROM checked UNION ALL SELECT x FROM checked) u ORDER BY x";
    let (_, parts) = below(both, NodeTag::T_MergeAppend);
    assert_eq!(parts.len(), 2);
}

#[pg_test]
fn a_sub_query_has_its_plan_below() {
    table();
    let query = "SELECT y + 1 FROM (SELECT x AS y FROM checked OFFSET 0) s";
    let (node, parts) = below(query, NodeTag::T_SubqueryScan);
    // SAFETY: the tag says that it is one.
    let inner = unsafe { (*node.cast::<pg_sys::SubqueryScan>()).subplan };
    assert_eq!(parts, [inner]);
}

#[pg_test]
fn other_nodes_hide_what_is_below() {
    table();
    for (query, tag) in [
        ("SELECT x FROM checked", NodeTag::T_SeqScan),
        ("SELECT 1", NodeTag::T_Result),
        ("SELECT x FROM checked LIMIT 1", NodeTag::T_Limit),
        (
            "SELECT a.k FROM checked a, checked b WHERE a.x < b.x",
            NodeTag::T_NestLoop,
        ),
        (
            "SELECT x, rank() OVER (ORDER BY x) FROM checked",
            NodeTag::T_WindowAgg,
        ),
    ] {
        let (_, parts) = below(query, tag);
        assert!(parts.is_empty(), "{tag:?}");
    }
    assert!(all_of(std::ptr::null_mut(), NodeTag::T_Sort).is_empty());
}
