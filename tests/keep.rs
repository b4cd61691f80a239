//! `dp_keep`: which groups are shown, in every kind of query.

use dp_core::mechanism::keep::optimal::Optimal;
use dp_core::privacy::delta::Delta;
use dp_core::privacy::epsilon::Epsilon;
use dp_mean_tests::statistics::{ALPHA, clopper_pearson};
use dp_mean_tests::{Build, Database, PARALLEL, assert_plan, explain, rows, run, session, value};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike, tables};

/// That many groups of each size are that many tosses.
const GROUPS: u64 = 20_000;

/// Table `t` with [`GROUPS`] groups `(n, g)` of `n` rows each, for these `n`.
fn groups(sizes: &[i32]) -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET jit = off; SET work_mem = '256MB'; \
         SELECT dp_test_seed(77); CREATE TABLE t (n int, g int)",
    );
    for n in sizes {
        let insert = format!(
            "INSERT INTO t SELECT {n}, g FROM generate_series(1, {GROUPS}) g, generate_series(1, {n})"
        );
        run(&mut client, &insert);
    }
    run(&mut client, "ANALYZE t");
    (database, client)
}

/// How many of the groups of each size are kept, by size.
fn kept(client: &mut Client, call: &str) -> Vec<(i32, u64)> {
    let sql = format!(
        "SELECT n, count(*) FILTER (WHERE kept) FROM \
         (SELECT n, {call} AS kept FROM t GROUP BY n, g) s GROUP BY n ORDER BY n"
    );
    rows(client, &sql)
        .iter()
        .map(|row| (row.get(0), row.get::<_, i64>(1) as u64))
        .collect()
}

fn distribution(epsilon: f64, delta: f64, rows: u32, groups: u32) -> Optimal {
    let epsilon = Epsilon::new(Some(epsilon)).expect("an epsilon");
    Optimal::new(
        epsilon,
        Delta::new(Some(delta)).expect("a delta"),
        rows,
        groups,
    )
}

#[test]
fn groups_are_kept_as_often_as_the_law_says() {
    let (_database, mut client) = groups(&[1, 3, 5, 14, 20]);
    for (call, distribution) in [
        ("dp_keep(1, 1e-6)", distribution(1.0, 1e-6, 1, 1)),
        ("dp_keep(1, 0.01)", distribution(1.0, 0.01, 1, 1)),
        ("dp_keep(0.2, 0.05, 'keep')", distribution(0.2, 0.05, 1, 1)),
        (
            "dp_keep(1, 0.01, 'keep(rows=3)')",
            distribution(1.0, 0.01, 3, 1),
        ),
        (
            "dp_keep(1, 0.1, 'keep(groups=2)')",
            distribution(1.0, 0.1, 1, 2),
        ),
        (
            "dp_keep(2, 0.05, 'keep(groups=2, rows=4)')",
            distribution(2.0, 0.05, 4, 2),
        ),
    ] {
        for (n, hits) in kept(&mut client, call) {
            let p = distribution.probability(i64::from(n));
            let (low, high) = clopper_pearson(hits, GROUPS, ALPHA / 2.0);
            assert!(low <= p && p <= high, "{call}, {n}: {hits}, {p}");
        }
    }
}

/// What the answers of neighbours say: by how much the largest of both inequalities is broken for
/// certain, over all sizes.
fn broken(kept: &[(i32, u64)], epsilon: f64, delta: f64) -> f64 {
    let bounds: Vec<(f64, f64)> = std::iter::once((0.0, 0.0))
        .chain(
            kept.iter()
                .map(|(_, hits)| clopper_pearson(*hits, GROUPS, ALPHA / 2.0)),
        )
        .collect();
    let pairs = bounds.windows(2).flat_map(|pair| {
        let [(low, high), (low_more, high_more)] = [pair[0], pair[1]];
        [
            low_more - epsilon.exp() * high - delta,
            low - epsilon.exp() * high_more - delta,
            (1.0 - high) - epsilon.exp() * (1.0 - low_more) - delta,
            (1.0 - high_more) - epsilon.exp() * (1.0 - low) - delta,
        ]
    });
    pairs.fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn no_answer_tells_more_than_epsilon_and_delta() {
    let (_database, mut client) = groups(&[1, 2, 3, 4, 5, 6, 7]);
    for (epsilon, delta) in [(0.5, 0.05), (1.0, 0.01), (2.0, 0.1)] {
        let call = format!("dp_keep({epsilon}, {delta})");
        let found = broken(&kept(&mut client, &call), epsilon, delta);
        assert!(found <= 0.0, "{call}: {found}");
        run(&mut client, "SELECT dp_test_budget_factor(2)");
        let found = broken(&kept(&mut client, &call), epsilon, delta);
        assert!(found > 0.0, "{call}, twice the budget: {found}");
        run(&mut client, "SELECT dp_test_budget_factor(1)");
    }
    // Two rows of one person, as if they were of two.
    let two_apart = |kept: Vec<(i32, u64)>| -> Vec<_> {
        kept.into_iter().filter(|(n, _)| n % 2 == 0).collect()
    };
    let with = two_apart(kept(&mut client, "dp_keep(1, 0.01, 'keep(rows=2)')"));
    assert!(broken(&with, 1.0, 0.01) <= 0.0);
    let without = two_apart(kept(&mut client, "dp_keep(1, 0.01)"));
    assert!(broken(&without, 1.0, 0.01) > 0.0);
}

/// Groups of 1, 10, 100 and 1000 rows, of which only the last two have enough.
const SIZES: &str = "CREATE TABLE t AS SELECT k, i::float8 AS x \
    FROM generate_series(0, 3) k, LATERAL generate_series(1, power(10, k)::int) i; \
    CREATE TABLE settings AS SELECT 1.0::float8 AS eps, 1e-9::float8 AS delta; ANALYZE t";

fn keys(client: &mut Client, sql: &str) -> Vec<i32> {
    rows(client, sql).iter().map(|row| row.get(0)).collect()
}

#[test]
fn in_having() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, SIZES);
    for settings in [
        "SET max_parallel_workers_per_gather = 0",
        "SET enable_hashagg = off",
        PARALLEL,
    ] {
        run(&mut client, settings);
        for call in [
            "dp_keep(1, 1e-9)",
            "dp_keep(1, 1e-9, 'keep')",
            "dp_keep(1, 1e-9, 'keep(rows=2)')",
            "dp_keep((SELECT eps FROM settings), (SELECT delta FROM settings))",
            "dp_keep(1, 1e-9) AND dp_mean(x, 0, 1000, 1) >= 0 AND dp_count(1) > -1000",
        ] {
            let sql = format!("SELECT k FROM t GROUP BY k HAVING {call} ORDER BY k");
            assert_eq!(keys(&mut client, &sql), [2, 3], "{sql}");
        }
    }
    let sql = "SELECT k FROM t GROUP BY k HAVING dp_keep(1, 1e-9)";
    assert_plan(
        &explain(&mut client, sql),
        &["Gather", "Partial", "Finalize"],
        sql,
    );
    // Over partitions, each aggregated by itself.
    run(
        &mut client,
        "CREATE TABLE parts (k int, x float8) PARTITION BY RANGE (x);
         CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (50);
         CREATE TABLE high PARTITION OF parts FOR VALUES FROM (50) TO (2000);
         INSERT INTO parts SELECT * FROM t; ANALYZE parts;
         SET enable_partitionwise_aggregate = on; SET cpu_tuple_cost = 1",
    );
    let sql = "SELECT k FROM parts GROUP BY k HAVING dp_keep(1, 1e-9) ORDER BY k";
    assert_eq!(keys(&mut client, sql), [2, 3]);
}

#[test]
fn with_parameters() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, SIZES);
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        let sql =
            "SELECT k FROM t GROUP BY k HAVING dp_keep($1, $2, $3::text::dp_mechanism) ORDER BY k";
        let prepared = client.prepare(sql).expect("a prepared statement");
        for (eps, delta, mech, expected) in [
            (1.0, 1e-9, "keep", &[2, 3][..]),
            (1.0, 1e-9, "keep(rows=20)", &[3]),
            (50.0, 1e-9, "keep", &[1, 2, 3]),
            (0.001, 1e-9, "keep", &[]),
            (50.0, 0.999999999, "keep", &[0, 1, 2, 3]),
        ] {
            let answers = client
                .query(&prepared, &[&eps, &delta, &mech])
                .expect("answers");
            let answers: Vec<i32> = answers.iter().map(|row| row.get(0)).collect();
            assert_eq!(answers, expected, "{eps} {delta} {mech}");
        }
        let refusal = client.query(&prepared, &[&1.0, &1.5, &"keep"]);
        let refusal = dp_mean_tests::refusal(&refusal.expect_err("refused"), sql);
        assert_eq!(
            refusal.message,
            "dp_keep: argument \"delta\" must be above 0 and below 1"
        );
    }
}

#[test]
fn a_group_without_rows_is_not_shown() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, SIZES);
    for (settings, scan) in [
        ("SET max_parallel_workers_per_gather = 0", "!Gather"),
        (PARALLEL, "Gather"),
    ] {
        run(&mut client, settings);
        for call in [
            "dp_keep(1, 0.999)",
            "dp_keep(50, 0.999, 'keep')",
            "dp_keep(50, (SELECT 0.999::float8))",
        ] {
            let sql = format!("SELECT {call} FROM t WHERE x + k < 0");
            assert_plan(&explain(&mut client, &sql), &[scan], &sql);
            for sql in [
                sql,
                format!("SELECT {call} FROM t WHERE false"),
                format!(
                    "SELECT bool_or(a) FROM (SELECT {call} FILTER (WHERE x < 0) AS a FROM t GROUP BY k) s"
                ),
            ] {
                for _ in 0..10 {
                    assert!(!value::<bool>(&mut client, &sql), "{sql}");
                }
            }
        }
    }
}

#[test]
fn a_repeated_call_is_one_toss() {
    let (_database, mut client) = groups(&[5]);
    let differ = |client: &mut Client, other: &str| -> i64 {
        let sql = format!(
            "SELECT count(*) FROM (SELECT dp_keep(1, 0.01) <> {other} AS b FROM t GROUP BY g) s WHERE b"
        );
        value(client, &sql)
    };
    assert_eq!(differ(&mut client, "dp_keep(1, 0.01)"), 0);
    assert!(differ(&mut client, "dp_keep(1, 0.01, 'keep')") > 1000);
    assert!(differ(&mut client, "dp_keep(1, 0.0100001)") > 1000);
    let sql = "SELECT bool_and(kept) FROM \
               (SELECT dp_keep(1, 0.01) AS kept FROM t GROUP BY g HAVING dp_keep(1, 0.01)) s";
    assert!(value::<bool>(&mut client, sql));
}

#[test]
fn errors_name_the_argument_with_and_without_rows() {
    let (_database, mut client) = tables();
    let domain = "must be above 0 and below 1";
    let outside = |key: &str| format!("gives the parameter {key} a value outside its range");
    let stays = "must not depend on the rows";
    for (call, argument, rule) in [
        ("dp_keep(1, NULL)", "delta", "must not be NULL".to_owned()),
        (
            "dp_keep(1, (SELECT NULL::float8), 'keep')",
            "delta",
            "must not be NULL".to_owned(),
        ),
        (
            "dp_keep(1, 'NaN')",
            "delta",
            "must be a finite number".to_owned(),
        ),
        (
            "dp_keep(1, 'Infinity')",
            "delta",
            "must be a finite number".to_owned(),
        ),
        ("dp_keep(1, 0)", "delta", domain.to_owned()),
        ("dp_keep(1, '-0.0')", "delta", domain.to_owned()),
        ("dp_keep(1, 1)", "delta", domain.to_owned()),
        (
            "dp_keep(1, -0.25, 'keep(rows=0)')",
            "delta",
            domain.to_owned(),
        ),
        ("dp_keep(1, (SELECT 7))", "delta", domain.to_owned()),
        (
            "dp_keep(NULL, NULL, NULL)",
            "eps",
            "must not be NULL".to_owned(),
        ),
        (
            "dp_keep(1, 1e-6, NULL)",
            "mech",
            "must not be NULL".to_owned(),
        ),
        ("dp_keep(1, 1e-6, 'keep(rows=0)')", "mech", outside("rows")),
        (
            "dp_keep(1, 1e-6, 'keep(rows=1000001)')",
            "mech",
            outside("rows"),
        ),
        (
            "dp_keep(1, 1e-6, 'keep(groups=0)')",
            "mech",
            outside("groups"),
        ),
        (
            "dp_keep(1, 1e-6, 'keep(groups=1e9)')",
            "mech",
            outside("groups"),
        ),
        ("dp_keep(1, a)", "delta", stays.to_owned()),
        ("dp_keep(1, random())", "delta", stays.to_owned()),
        ("dp_keep(1, (SELECT t.a))", "delta", stays.to_owned()),
        ("dp_keep(a, a)", "eps", stays.to_owned()),
        ("dp_keep(1, 1e-6, m)", "mech", stays.to_owned()),
    ] {
        let refusal = refused_alike(&mut client, call, &PLACES);
        assert_eq!(refusal.code, "22023", "{refusal:?}");
        let message = format!("dp_keep: argument \"{argument}\" {rule}");
        assert_eq!(refusal.message, message, "{call}");
    }
    for text in ["keep(rows=1.5)", "keep(groups=-1)"] {
        let call = format!("dp_keep(1, 1e-6, (SELECT '{text}'::text))");
        let refusal = refused_alike(&mut client, &call, &PLACES);
        assert!(refusal.message.ends_with("no whole number"), "{refusal:?}");
    }
}
