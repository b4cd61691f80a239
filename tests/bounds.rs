//! `dp_bounds`: what it finds in every plan, its arguments.
//!
//! At eps 50 a bin is kept if it holds one row: its threshold is 1, and noise is 0 but for a chance
//! of 4e-22.

use dp_mean_tests::{Build, PARALLEL, assert_plan, explain, refused, rows, run, session, value};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike, tables};

type Bounds = (Option<f64>, Option<f64>);

fn bounds(client: &mut Client, sql: &str) -> Vec<Bounds> {
    let all = rows(client, sql);
    all.iter().map(|row| (row.get(0), row.get(1))).collect()
}

const fn some(lower: f64, upper: f64) -> Bounds {
    (Some(lower), Some(upper))
}

#[test]
fn bounds_are_powers_of_two_around_all_rows() {
    let (_database, mut client) = session(Build::Release);
    let (smallest, largest) = (2f64.powi(-64), 2f64.powi(64));
    for (values, expected) in [
        ("{}", (None, None)),
        ("{NULL,NaN}", (None, None)),
        ("{0}", some(0.0, 0.0)),
        ("{-0,1e-300,-5e-324}", some(0.0, 0.0)),
        ("{1}", some(1.0, 2.0)),
        ("{64,NaN,3}", some(2.0, 128.0)),
        ("{63.99,0}", some(0.0, 64.0)),
        ("{-5,0.3}", some(-8.0, 0.5)),
        ("{-5,-0.3}", some(-8.0, -0.25)),
        ("{Infinity}", some(largest / 2.0, largest)),
        ("{-1e308,Infinity}", some(-largest, largest)),
        ("{6e-20}", some(smallest, 2.0 * smallest)),
    ] {
        for mechanism in ["", ", 'geometric'", ", 'geometric(beta=1e-12)'"] {
            let sql = format!(
                "SELECT (dp_bounds(x, 50{mechanism})).* FROM unnest('{values}'::float8[]) x"
            );
            assert_eq!(bounds(&mut client, &sql), [expected], "{sql}");
        }
    }
}

/// Groups of 2,000 rows: from 0, of both signs, far from 0; and one of 10 rows, too few to be seen. No bin
/// that an answer hangs on has 10 to 49 rows: at eps 1 noise would have to be 16 or more.
const TABLES: &str = "
    CREATE TABLE t AS SELECT i % 3 AS k,
        CASE i % 3 WHEN 0 THEN i / 3 % 40 WHEN 1 THEN i % 101 - 50 ELSE 1000 + i % 10 END::float8 AS x
        FROM generate_series(1, 6000) i;
    INSERT INTO t SELECT 3, 5 FROM generate_series(1, 10);
    CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0, 3);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2);
    INSERT INTO parts SELECT k, x FROM t;
    CREATE TABLE settings AS SELECT 1::float8 AS eps;
    ANALYZE t; ANALYZE parts";

#[test]
fn every_plan_finds_the_same() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    let groups = [
        some(0.0, 64.0),
        some(-64.0, 64.0),
        some(512.0, 1024.0),
        (None, None),
    ];
    let all = some(-64.0, 1024.0);
    for (settings, word) in [
        ("SET max_parallel_workers_per_gather = 0", "!Partial"),
        (PARALLEL, "Partial"),
        ("SET enable_partitionwise_aggregate = on", "Partial"),
        ("SET enable_hashagg = off", "Partial"),
    ] {
        run(&mut client, settings);
        for table in ["t", "parts"] {
            let sql = format!("SELECT (dp_bounds(x, 1)).* FROM {table}");
            assert_plan(&explain(&mut client, &sql), &[word], settings);
            assert_eq!(bounds(&mut client, &sql), [all], "{settings}");
            let sql = format!("SELECT (dp_bounds(x, 1)).* FROM {table} GROUP BY k ORDER BY k");
            assert_eq!(bounds(&mut client, &sql), groups, "{settings}");
        }
        let sql = "SELECT (dp_bounds(x, $1, $2::text)).* FROM t WHERE k = 1";
        let prepared = client.prepare(sql).expect("a statement");
        let row = client.query_one(&prepared, &[&1.0f64, &"geometric(beta=1e-6)"]);
        let row = row.expect("a row");
        assert_eq!((row.get(0), row.get(1)), groups[1]);
        let sql = "SELECT (dp_bounds(x, (SELECT eps FROM settings))).* FROM t WHERE k = 0";
        assert_eq!(bounds(&mut client, sql), groups[..1]);
        for nobody in ["WHERE false", "WHERE x < -1000"] {
            let sql = format!("SELECT (dp_bounds(x, 1)).* FROM t {nobody}");
            assert_eq!(bounds(&mut client, &sql), [(None, None)]);
        }
    }
    // A private histogram between bounds that are private themselves, in one query.
    let sql = "SELECT dp_mean(x, lower, upper, 0.5) BETWEEN lower AND upper \
               FROM t, (SELECT (dp_bounds(x, 0.5)).* FROM t WHERE k = 0) b \
               WHERE k = 0 GROUP BY lower, upper";
    assert_eq!(refused(&mut client, sql).code, "22023");
    let sql = "SELECT dp_mean(x, (SELECT lower FROM b), (SELECT upper FROM b), 0.5) BETWEEN 0 AND 128 \
               FROM t WHERE k = 0";
    let with = "WITH b AS MATERIALIZED (SELECT (dp_bounds(x, 0.5)).* FROM t WHERE k = 0)";
    assert!(value::<bool>(&mut client, &format!("{with} {sql}")));
}

#[test]
fn errors_are_the_same_with_and_without_rows() {
    let (_database, mut client) = tables();
    for (arguments, argument, rule) in [
        ("x, NULL", "eps", "must not be NULL"),
        ("x, 0", "eps", "must be at least"),
        ("x, 'NaN'", "eps", "must be a finite number"),
        ("x, a", "eps", "must not depend on the rows"),
        ("x, 1, NULL", "mech", "must not be NULL"),
        ("x, 1, 'laplace'", "mech", "is not a mechanism of dp_bounds"),
        ("x, 1, 'geometric(beta=0)'", "mech", "outside its range"),
        ("x, 1, 'geometric(beta=1)'", "mech", "outside its range"),
        ("x, 1, 'geometric(outside=drop)'", "mech", "does not take"),
    ] {
        let call = format!("dp_bounds({arguments})");
        let refusal = refused_alike(&mut client, &call, &PLACES);
        assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
        let start = format!("dp_bounds: argument \"{argument}\" ");
        assert!(refusal.message.starts_with(&start), "{call}: {refusal:?}");
        assert!(refusal.message.contains(rule), "{call}: {refusal:?}");
    }
    let refusal = refused(
        &mut client,
        "SELECT dp_bounds(x, 1) OVER () FROM full_table",
    );
    assert_eq!(refusal.code, "0A000", "{refusal:?}");
    let sql = "SELECT dp_bounds(x, 0.1) IS NOT DISTINCT FROM dp_bounds(x, 0.1) FROM full_table";
    assert!(value::<bool>(&mut client, sql));
}
