//! `dp_clamped`: exact but for the noise, in every plan; its arguments; an audit.
//!
//! At eps 50 the noise of a count is 0 but for a chance of 4e-22, so that answers show the state.

use std::fs;

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, clopper_pearson};
use dp_mean_tests::{
    Build, PARALLEL, Role, assert_plan, explain, refused, rows, run, session, value,
};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike, tables};
use crate::documentation::repository;

/// Values on all sides and at the bounds, [0, 10]; all that floats can be.
const TABLES: &str = "
    CREATE TABLE t AS
        SELECT i % 3 AS k, ((i * 37 % 1201) / 64.0 - 4)::float8 AS x FROM generate_series(1, 9000) i
        UNION ALL SELECT 3, (i / 10.0)::float8 FROM generate_series(-20, 120) i
        UNION ALL SELECT 0, NULL FROM generate_series(1, 50) UNION ALL SELECT 1, 'NaN';
    CREATE TABLE odd AS SELECT x::float8 FROM unnest('{NULL,NaN,Infinity,-Infinity,1e308,-1e308,5e-324,
        -5e-324,0,-0,10,9.999999999999998,10.000000000000002,2.5}'::float8[]) x;
    CREATE TABLE none (k int, x float8);
    CREATE TABLE parts (k int, x float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0, 3);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2);
    INSERT INTO parts SELECT k, x FROM t;
    CREATE TABLE settings AS SELECT 0::float8 AS lo, 10::float8 AS hi, 50::float8 AS eps;
    ANALYZE t; ANALYZE parts";

type Sides = [i64; 3];

/// The three numbers in the last columns of each row.
fn sides(client: &mut Client, sql: &str) -> Vec<Sides> {
    let all = rows(client, sql);
    let numbers = |row: &postgres::Row| [3, 2, 1].map(|back| row.get(row.len() - back));
    all.iter().map(numbers).collect()
}

/// What PostgreSQL's own comparisons count. (It takes NaN to be above all numbers.)
fn expected(client: &mut Client, from: &str, [lo, hi]: [&str; 2]) -> Sides {
    let sql = format!(
        "SELECT count(*) FILTER (WHERE x < '{lo}'::float8), \
         count(*) FILTER (WHERE x BETWEEN '{lo}'::float8 AND '{hi}'::float8), \
         count(*) FILTER (WHERE x > '{hi}'::float8 AND x <> 'NaN') FROM {from}"
    );
    sides(client, &sql)[0]
}

#[test]
fn it_counts_as_comparing_does() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    let mut seen = Vec::new();
    for bounds in [
        ["0", "10"],
        ["-1e308", "0"],
        ["5e-324", "1e-323"],
        ["-5e-324", "5e-324"],
        ["0", "1.7976931348623157e308"],
        ["-8.9e307", "8.9e307"],
        ["10", "10.000000000000002"],
        ["100", "101"],
        ["-101", "-100"],
    ] {
        for from in ["t", "odd", "none"] {
            let right = expected(&mut client, from, bounds);
            for mechanism in ["", ", 'geometric'", ", 'geometric(rows=1, groups=1)'"] {
                let [lo, hi] = bounds;
                let call = format!("dp_clamped(x, '{lo}', '{hi}', 50{mechanism})");
                let sql = format!("SELECT ({call}).* FROM {from}");
                assert_eq!(sides(&mut client, &sql), [right], "{sql}");
            }
            seen.push(right);
        }
    }
    // Each side was seen empty and not.
    for side in 0..3 {
        assert!(seen.iter().any(|sides| sides[side] == 0));
        assert!(seen.iter().any(|sides| sides[side] > 0));
    }
    // lo and hi themselves, and -0, are inside; infinities are not.
    let sql = "SELECT (dp_clamped(x, 0, 10, 50)).* FROM odd";
    assert_eq!(sides(&mut client, sql), [[3, 6, 3]]);
    // A column of integers is cast, and the answer is a row of three bigint.
    let sql = "SELECT (dp_clamped(i, 3, 5, 50)).* FROM generate_series(1, 10) i";
    assert_eq!(sides(&mut client, sql), [[2, 3, 5]]);
    let sql = "SELECT dp_clamped(i, 3, 5, 50)::text FROM generate_series(1, 10) i";
    assert_eq!(value::<String>(&mut client, sql), "(2,3,5)");
}

#[test]
fn every_plan_gives_the_same() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    let call = "(dp_clamped(x, 0, 10, 50)).*";
    let all = expected(&mut client, "t", ["0", "10"]);
    let in_groups: Vec<Sides> = (0..4)
        .map(|k| {
            let from = format!("(SELECT * FROM t WHERE k = {k}) t");
            expected(&mut client, &from, ["0", "10"])
        })
        .collect();
    for (settings, words) in [
        ("SET max_parallel_workers_per_gather = 0", &["!Partial"][..]),
        (PARALLEL, &["Partial", "Gather"]),
        ("SET enable_partitionwise_aggregate = on", &["Partial"]),
        ("SET enable_hashagg = off", &["Partial"]),
        ("SET jit_above_cost = 0", &["Partial"]),
    ] {
        run(&mut client, settings);
        for table in ["t", "parts"] {
            let sql = format!("SELECT {call} FROM {table}");
            let plan = explain(&mut client, &sql);
            assert_plan(&plan, words, settings);
            assert_eq!(sides(&mut client, &sql), [all], "{settings}");
            let sql = format!("SELECT k, {call} FROM {table} GROUP BY k ORDER BY k");
            assert_eq!(sides(&mut client, &sql), in_groups, "{settings}");
            let sql = format!("SELECT {call} FROM {table} GROUP BY ROLLUP (k) ORDER BY k");
            let groups = sides(&mut client, &sql);
            assert_eq!(
                (&groups[..4], groups[4]),
                (&in_groups[..], all),
                "{settings}"
            );
        }
    }
    let sql = "SELECT (dp_clamped(x, 0, 10, 50) FILTER (WHERE k = 2)).* FROM t";
    assert_eq!(sides(&mut client, sql), in_groups[2..3]);
    let sql = "SELECT (dp_clamped(DISTINCT x, 0, 10, 50, 'geometric')).* FROM \
               (VALUES (1), (1), (2), (11), (11), (-3)) v(x)";
    assert_eq!(sides(&mut client, sql), [[1, 2, 1]]);
}

#[test]
fn no_rows_are_noise_on_every_side() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for from in [
            "none",
            "t WHERE false",
            "t WHERE x > 100",
            "(SELECT NULL::float8 AS x FROM t) t",
            "(SELECT 'NaN'::float8 AS x FROM t) t",
        ] {
            let sql = format!("SELECT (dp_clamped(x, 0, 10, 0.1)).* FROM {from}");
            // A count has no noise with a chance of 0.05; 30 of 100 times 8e-16.
            let noise: Vec<Sides> = (0..100).map(|_| sides(&mut client, &sql)[0]).collect();
            for side in 0..3 {
                let zeros = noise.iter().filter(|sides| sides[side] == 0).count();
                assert!(zeros < 30, "{from}: {noise:?}");
                // Counts of nothing are negative as often as not: never in 100 is 1e-28.
                assert!(noise.iter().any(|sides| sides[side] < 0), "{from}");
            }
        }
    }
}

#[test]
fn arguments_come_from_anywhere_but_the_rows() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(
        &mut client,
        "SET plan_cache_mode = force_generic_plan;
         CREATE FUNCTION in_plpgsql(top float8) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE answer bigint;
         BEGIN SELECT (dp_clamped(x, 0, top, 50)).above INTO answer FROM t; RETURN answer; END $$",
    );
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        let sql = "SELECT (dp_clamped(x, $1, $2, $3, $4::text)).* FROM t";
        let prepared = client.prepare(sql).expect("a statement");
        for hi in [10.0f64, 3.5, 200.0] {
            let right = expected(&mut client, "t", ["0", &hi.to_string()]);
            let parameters: [&(dyn postgres::types::ToSql + Sync); 4] =
                [&0.0f64, &hi, &50.0f64, &"geometric"];
            let row = client.query_one(&prepared, &parameters).expect("a row");
            assert_eq!([0, 1, 2].map(|i| row.get::<_, i64>(i)), right);
            let sql = format!("SELECT in_plpgsql({hi})");
            assert_eq!(value::<i64>(&mut client, &sql), right[2]);
        }
        let all = expected(&mut client, "t", ["0", "10"]);
        for sql in [
            "SELECT (dp_clamped(x, (SELECT lo FROM settings), (SELECT hi FROM settings), \
             (SELECT eps FROM settings))).* FROM t",
            "SELECT (s.a).* FROM settings o, LATERAL \
             (SELECT dp_clamped(x, o.lo, o.hi, o.eps) AS a FROM t OFFSET 0) s",
        ] {
            assert_eq!(sides(&mut client, sql), [all], "{sql}");
        }
    }
}

#[test]
fn errors_are_the_same_with_and_without_rows() {
    let (_database, mut client) = tables();
    for (arguments, argument, rule) in [
        ("x, NULL, 10, 1", "lo", "must not be NULL"),
        ("x, 0, NULL, 1", "hi", "must not be NULL"),
        ("x, 'NaN', 10, 1", "lo", "must be a finite number"),
        ("x, 0, 'Infinity', 1", "hi", "must be a finite number"),
        ("x, 10, 0, 1", "hi", "must be greater"),
        ("x, 10, 10, 1", "hi", "must be greater"),
        ("x, -1e308, 1e308, 1", "hi", "is too far"),
        ("x, a, 10, 1", "lo", "must not depend on the rows"),
        ("x, 0, x + 10, 1", "hi", "must not depend on the rows"),
        (
            "x, 0, 10 + random(), 1",
            "hi",
            "must not depend on the rows",
        ),
        ("x, 0, 10, 0", "eps", "must be at least"),
        ("x, 0, 10, 51", "eps", "at most 50"),
        ("x, 0, 10, 'NaN'", "eps", "must be a finite number"),
        ("x, 0, 10, NULL", "eps", "must not be NULL"),
        ("x, 0, 10, a", "eps", "must not depend on the rows"),
        (
            "x, 0, 10, a, 'geometric'",
            "eps",
            "must not depend on the rows",
        ),
        ("x, 0, 10, 1, NULL", "mech", "must not be NULL"),
        ("x, 0, 10, 1, m", "mech", "must not depend on the rows"),
        (
            "x, 0, 10, 1, 'laplace'",
            "mech",
            "is not a mechanism of dp_clamped",
        ),
        (
            "x, 0, 10, 1, 'geometric(outside=drop)'",
            "mech",
            "does not take",
        ),
        (
            "x, 0, 10, 1, 'geometric(rows=0)'",
            "mech",
            "outside its range",
        ),
        (
            "x, 0, 10, 1e-5, 'geometric(rows=100)'",
            "eps",
            "is too small",
        ),
    ] {
        let call = format!("dp_clamped({arguments})");
        let refusal = refused_alike(&mut client, &call, &PLACES);
        assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
        let start = format!("dp_clamped: argument \"{argument}\" ");
        assert!(refusal.message.starts_with(&start), "{call}: {refusal:?}");
        assert!(refusal.message.contains(rule), "{call}: {refusal:?}");
    }
    // A bound that changes on the way is found out.
    let call = "dp_clamped(x, 0, 5 + liar(), 1)";
    let refusal = refused(&mut client, &format!("SELECT {call} FROM full_table"));
    assert!(
        refusal.message.contains("\"hi\" must not depend"),
        "{refusal:?}"
    );
    for window in ["()", "(PARTITION BY k)", "(ORDER BY x)"] {
        let sql = format!("SELECT dp_clamped(x, 0, 10, 1) OVER {window} FROM full_table");
        assert_eq!(refused(&mut client, &sql).code, "0A000", "{sql}");
    }
    // Identical calls are one release, in every plan; with another bound they are two.
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        let call = "dp_clamped(x, 0, 10, 0.001)";
        let sql = format!("SELECT {call} = {call}, {call}, ({call}).* FROM full_table");
        let row = &rows(&mut client, &sql)[0];
        assert!(row.get::<_, bool>(0));
        let other = "dp_clamped(x, 0, 11, 0.001)";
        // All three alike has a chance of 2e-11.
        let sql = format!("SELECT {call} = {other} FROM full_table");
        assert!(!value::<bool>(&mut client, &sql));
    }
}

/// What a role without rights may do: aggregate, and no more.
#[test]
fn a_role_without_rights_can_ask_and_nothing_else() {
    let (database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    let role = Role::new(&database);
    let grants = "GRANT SELECT ON t TO {}; GRANT CREATE ON SCHEMA public TO {}";
    run(&mut client, &grants.replace("{}", role.name()));
    let all = expected(&mut client, "t", ["0", "10"]);
    let mut nobody = role.connect();
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut nobody, settings);
        for mechanism in ["", ", 'geometric'"] {
            let sql = format!("SELECT (dp_clamped(x, 0, 10, 50{mechanism})).* FROM t");
            assert_eq!(sides(&mut nobody, &sql), [all]);
        }
    }
    // The answer may be kept, for what is in it is noisy.
    let sql = "CREATE TABLE kept AS SELECT dp_clamped(x, 0, 10, 50) AS answer FROM t";
    run(&mut nobody, sql);
    assert_eq!(sides(&mut nobody, "SELECT (answer).* FROM kept"), [all]);
    for sql in [
        "SELECT dp_mean.dp_clamped_trans(NULL, 1, 0, 10, 50)",
        "SELECT dp_mean.dp_clamped_trans(NULL, 1, 0, 10, 50, 'geometric')",
        "SELECT dp_mean.dp_clamped_final(NULL)",
        "CREATE AGGREGATE mine(float8, float8, float8, float8) (SFUNC = dp_mean.dp_clamped_trans, \
         STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8, float8, float8, float8) (SFUNC = dp_mean.dp_clamped_trans, \
         STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_clamped_final)",
    ] {
        assert_eq!(refused(&mut nobody, sql).code, "42501", "{sql}");
    }
    // And who may call them finds no aggregate around them, or another's.
    for sql in [
        "SELECT dp_mean.dp_clamped_trans(NULL, 1, 0, 10, 50)",
        "SELECT dp_mean.dp_clamped_trans(NULL, NULL, 0, 10, 50, 'geometric')",
        "SELECT dp_mean.dp_clamped_final(NULL)",
    ] {
        assert_eq!(refused(&mut client, sql).code, "0A000", "{sql}");
    }
    run(
        &mut client,
        "CREATE AGGREGATE bare(float8, float8, float8, float8) (SFUNC = dp_mean.dp_clamped_trans, STYPE = dp_mean.dp_state);
         CREATE AGGREGATE crossed(float8, float8, float8, float8) (SFUNC = dp_mean.dp_clamped_trans,
             STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_mean_final)",
    );
    for (call, code) in [("bare", "0A000"), ("crossed", "XX001")] {
        let refusal = refused(&mut client, &format!("SELECT {call}(x, 0, 10, 50) FROM t"));
        assert_eq!(refusal.code, code, "{call}: {refusal:?}");
    }
}

/// Releases for each table: half to find an event, half to bound its likelihood ratio.
const RELEASES: usize = 20_000;

/// A bound from below on epsilon, over all neighbours: a row on each side, first or not.
fn audited(releases: &mut Releases, call: &str) -> f64 {
    let answer = format!("ARRAY[({call}).below, ({call}).inside, ({call}).above]::float8[]");
    let neighbours = [
        ("nothing", "beneath"),
        ("nothing", "within"),
        ("nothing", "beyond"),
        ("within", "within_and_beyond"),
    ];
    let bounds = neighbours.map(|(one, other)| {
        let mut draw = |table: &str| releases.draw_arrays(&answer, table, None, RELEASES);
        bound([&draw(one), &draw(other)], 3)
    });
    bounds.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn the_audit_finds_no_more_than_epsilon_and_notices_half_the_noise() {
    for (factor, seed) in [(1, 51), (2, 52)] {
        let mut releases = Releases::seeded(seed);
        let setup = format!(
            "SELECT dp_test_budget_factor({factor});
             CREATE TABLE nothing (x float8);
             CREATE TABLE beneath AS SELECT '-Infinity'::float8 AS x;
             CREATE TABLE within AS SELECT 1::float8 AS x;
             CREATE TABLE beyond AS SELECT 1e9::float8 AS x;
             CREATE TABLE within_and_beyond AS SELECT unnest(ARRAY[1, 1e9]) AS x"
        );
        run(releases.client(), &setup);
        for eps in [0.5, 2.0] {
            for mechanism in ["", ", 'geometric'"] {
                let call = format!("dp_clamped(x, 0, 1, {eps}{mechanism})");
                let bound = audited(&mut releases, &call);
                println!("{call}, noise / {factor}: epsilon is at least {bound:.3}");
                assert_eq!(bound > eps, factor == 2, "{call}: {bound}");
            }
        }
    }
}

/// Of a person with three rows on one side eps is what all of them spend, and rows= is needed for it.
#[test]
fn a_person_of_three_rows_is_as_private_as_the_call_says() {
    let mut releases = Releases::seeded(53);
    run(
        releases.client(),
        "CREATE TABLE without (x float8);
         CREATE TABLE with_person AS SELECT 7::float8 AS x FROM generate_series(1, 3)",
    );
    let mut told = |mechanism: &str| {
        let call = format!("dp_clamped(x, 0, 1, 1, '{mechanism}')");
        // The rows are above; the other two are noise alone in both tables.
        let [without, with] = ["without", "with_person"]
            .map(|table| releases.draw(&call, &["above"], table, RELEASES));
        bound([&without, &with], 1)
    };
    let [whole, less, none] =
        ["geometric(rows=3)", "geometric(rows=2)", "geometric"].map(&mut told);
    println!("rows=3: {whole:.3}, rows=2: {less:.3}, without: {none:.3}");
    assert!(whole <= 1.0 && less > 1.0 && none > less);
}

/// The spending of the people in the demo's data, one number each.
fn spending() -> Vec<f64> {
    let path = repository().join("demo/data/rand_hie.csv");
    let text = fs::read_to_string(path).expect("the demo's data");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("the names of columns");
    let column = |name| names.iter().position(|known| *known == name);
    let [year, spending] = ["year", "medical_spending"].map(|name| column(name).expect(name));
    let first = lines.filter(|line| line[year] == "1");
    first
        .map(|line| line[spending].parse().expect("a number"))
        .collect()
}

/// The numbers of docs/choosing-bounds.md: intervals hold the mean of the clamped rows as often as they
/// say, whatever the bounds cut off; and wide bounds have less error where they cut off less.
#[test]
fn an_interval_says_nothing_of_clamping() {
    const TRIES: usize = 20_000;
    let rows = spending();
    let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len() as f64;
    let truth = mean(&rows);
    let mut releases = Releases::seeded(54);
    run(releases.client(), "CREATE TABLE spending (x float8)");
    let insert = "INSERT INTO spending SELECT unnest($1::float8[])";
    releases.client().execute(insert, &[&rows]).expect("rows");
    let found = [1000.0, 10_000.0, 20_000.0].map(|hi| {
        let call = format!("dp_mean_estimate(x, 0, {hi}, 0.9)");
        let fields = ["value", "lower", "upper"];
        let answers = releases.draw(&call, &fields, "spending", TRIES);
        let clamped = mean(&rows.iter().map(|x| x.min(hi)).collect::<Vec<_>>());
        let holding = |mean: f64| {
            let holds = |answer: &&[f64]| answer[1] <= mean && mean <= answer[2];
            answers.chunks_exact(3).filter(holds).count()
        };
        let held = [clamped, truth].map(holding);
        let square = |answer: &[f64]| (answer[0] - truth).powi(2);
        let rmse = (answers.chunks_exact(3).map(square).sum::<f64>() / TRIES as f64).sqrt();
        let width = answers.chunks_exact(3).map(|a| a[2] - a[1]).sum::<f64>() / TRIES as f64;
        println!(
            "0 to {hi}: clamped mean {clamped:.2} of {truth:.2}, held {held:?} of {TRIES}, rmse \
             {rmse:.2}, half-width {:.2}",
            width / 2.0
        );
        // As often as they say.
        let (_, most) = clopper_pearson(held[0] as u64, TRIES as u64, ALPHA);
        assert!(most >= 0.95, "{held:?}");
        (held[1], rmse)
    });
    let [(narrow, narrow_rmse), _, (wide, wide_rmse)] = found;
    assert_eq!(narrow, 0);
    assert!(wide > TRIES * 9 / 10, "{wide}");
    assert!(narrow_rmse > 6.5 * wide_rmse, "{narrow_rmse} {wide_rmse}");
}
