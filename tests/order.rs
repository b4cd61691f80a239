//! Order does not matter: the integers before the noise are the same for any order of the rows
//! and any number of workers; and they are those that the grid
//! gives in this process, row by row.

use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::sums::Sums;
use dp_mean_tests::mix::Mix;
use dp_mean_tests::{Build, Database, explain, value};
use postgres::Client;

/// Rows of every kind, three quarters of them plain.
const ROWS: usize = 20_000;

const GROUPS: usize = 7;

/// Bounds at which the grid takes each of its paths.
const BOUNDS: [(f64, f64); 7] = [
    (0.0, 1.0),
    (-3.0, 7.0),
    (1e6, 1e6 + 1.0),
    (1e300, 1.7e308),
    (-1e-310, 1e-310),
    (-0.0, 1e-300),
    (-1e308, 2.0),
];

/// The aggregates of `tests/sql/testing.sql` that show the integers, each with a mechanism of its
/// kind of grid.
const SHOWN: [(&str, &str); 3] = [
    ("dp_test_mean_state", "hourglass"),
    ("dp_test_mean_state", "independent"),
    ("dp_test_sum_state", "staircase"),
];

/// The columns that show every state.
fn states() -> String {
    let mut columns = Vec::new();
    for (lo, hi) in BOUNDS {
        for (aggregate, mechanism) in SHOWN {
            columns.push(format!("{aggregate}(x, '{lo}', '{hi}', 1, '{mechanism}')"));
        }
    }
    format!("ARRAY[{}]", columns.join(", "))
}

/// The same from this process.
fn expected(rows: &[Option<f64>]) -> Vec<String> {
    let mut all = Vec::new();
    for (lo, hi) in BOUNDS {
        let bounds = Bounds::new(Some(lo), Some(hi)).expect("good bounds");
        for grid in [
            Grid::unit(&bounds),
            Grid::signed(&bounds),
            Grid::signed(&bounds),
        ] {
            let mut sums = Sums::default();
            rows.iter()
                .flatten()
                .filter(|x| !x.is_nan())
                .for_each(|x| sums.add(grid.steps(*x)));
            all.push(format!("{} {}", sums.n, sums.s));
        }
    }
    all
}

fn rows() -> Vec<Option<f64>> {
    let mut mix = Mix(1);
    let row = |i: usize| match i % 32 {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(f64::INFINITY),
        3 => Some(f64::NEG_INFINITY),
        4 => Some(-0.0),
        // Denormals of either sign.
        5 => Some(f64::from_bits(mix.word() >> 13)),
        6 => Some(-f64::from_bits(mix.word() >> 13)),
        // Any bits at all: huge, tiny, and a few that are not numbers.
        7 | 8 => Some(f64::from_bits(mix.word())),
        9 => Some(1e308 * mix.unit()),
        10..=13 => Some(1e6 + mix.unit()),
        14..=17 => Some(-1e-310 + 2e-310 * mix.unit()),
        _ => Some(-4.0 + 12.0 * mix.unit()),
    };
    (0..ROWS).map(row).collect()
}

/// A database with the rows in table `data (id, key, x)`: numbered from 1, in seven groups.
fn database() -> (Database, Client, Vec<Option<f64>>) {
    let database = Database::new(Build::Testing);
    let mut client = database.connect();
    let rows = rows();
    client
        .batch_execute("CREATE TABLE data (id integer, key integer, x float8); SET jit = off")
        .expect("a table");
    let insert = format!(
        "INSERT INTO data SELECT id, id % {GROUPS}, x \
         FROM unnest($1::float8[]) WITH ORDINALITY r(x, id)"
    );
    client.execute(&insert, &[&rows]).expect("rows");
    client.batch_execute("ANALYZE data").expect("statistics");
    (database, client, rows)
}

fn shown(client: &mut Client, from: &str) -> Vec<String> {
    value(client, &format!("SELECT {} FROM {from}", states()))
}

#[test]
fn the_server_counts_the_grid_steps_that_the_grid_gives() {
    let (_database, mut client, rows) = database();
    assert_eq!(shown(&mut client, "data"), expected(&rows));
}

#[test]
fn shuffles_give_the_same_integers_and_the_same_answer() {
    let (_database, mut client, rows) = database();
    let expected = expected(&rows);
    let mut orders = vec!["data".to_owned()];
    orders.extend(
        ["x", "x DESC NULLS FIRST", "id DESC"]
            .map(|order| format!("(SELECT x FROM data ORDER BY {order}) ordered")),
    );
    // Each statement shuffles again.
    orders.extend((0..8).map(|_| "(SELECT x FROM data ORDER BY random()) shuffled".to_owned()));
    let mut answers = Vec::new();
    for order in orders {
        assert_eq!(shown(&mut client, &order), expected, "{order}");
        client
            .batch_execute("SELECT dp_test_seed(5)")
            .expect("a seed");
        let answer: f64 = value(
            &mut client,
            &format!("SELECT dp_mean(x, -3, 7, 1) FROM {order}"),
        );
        answers.push(answer.to_bits());
    }
    answers.dedup();
    assert_eq!(
        answers.len(),
        1,
        "one noise and one set of rows, but several answers"
    );
}

/// What makes the planner choose workers for tables as small as these.
const EAGER: &str = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; \
                     SET min_parallel_table_scan_size = 0; SET enable_parallel_append = on";

#[test]
fn any_number_of_workers_gives_the_same_integers() {
    let (_database, mut client, rows) = database();
    let expected = expected(&rows);
    client.batch_execute(EAGER).expect("settings");
    for workers in 0..=4 {
        let sql = format!(
            "ALTER TABLE data SET (parallel_workers = {workers}); \
             SET max_parallel_workers_per_gather = {workers}"
        );
        client.batch_execute(&sql).expect("settings");
        let plan = explain(&mut client, &format!("SELECT {} FROM data", states()));
        if workers == 0 {
            assert!(!plan.contains("Partial"), "{plan}");
        } else {
            assert!(plan.contains("Partial Aggregate"), "{plan}");
            assert!(
                plan.contains(&format!("Workers Planned: {workers}\n")),
                "{plan}"
            );
        }
        assert_eq!(shown(&mut client, "data"), expected, "{workers} workers");
    }
    // The leader takes no rows here if it gets workers, so they do all of it. Workers are the
    // server's to give; other tests use some.
    client
        .batch_execute("SET parallel_leader_participation = off")
        .expect("a setting");
    let plan = format!("EXPLAIN (ANALYZE, COSTS OFF) SELECT {} FROM data", states());
    let launched = (0..20).any(|_| {
        assert_eq!(shown(&mut client, "data"), expected, "workers alone");
        let lines = client.query(&plan, &[]).expect("a plan");
        lines.iter().any(|line| {
            let line: String = line.get(0);
            let workers = line.trim().strip_prefix("Workers Launched: ");
            workers.is_some_and(|workers| workers != "0")
        })
    });
    assert!(launched, "no worker was launched");
}
