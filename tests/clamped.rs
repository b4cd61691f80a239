//! `dp_clamped`: exact but for the noise; what a person spends; intervals of clamped values.
//!
//! At eps 50 the noise of a count is 0 but for a chance of 4e-22, so that answers show the state.

use std::fs;

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, clopper_pearson};
use dp_mean_tests::{Build, rows, run, session, value};
use postgres::Client;

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
fn sides_are_counted_as_comparisons_do() {
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

/// Releases for each table: half to find an event, half to bound its likelihood ratio.
const RELEASES: usize = 20_000;

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
