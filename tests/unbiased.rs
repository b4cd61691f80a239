//! The mechanisms that promise an average without bias, through SQL: `smooth` and `clipped`; the
//! means without bounds, and their states of cells; and the count that is never too large. `audit::unbiased` asks how private they are.

use std::collections::BTreeSet;

use dp_core::encoding::cells::{CellCounts, Line, MOST};
use dp_core::mechanism::mean::inputs::{CellsMean, Mean};
use dp_core::random::{Bits, Generator};
use dp_core::registry::MEAN;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, STANDARD_ERRORS, mean, mean_square, normal_deviations};
use dp_mean_tests::{
    Build, Database, PARALLEL, assert_plan, explain, memory, refused, rows, run, session, value,
};
use postgres::Client;

use crate::accuracy::least_variance;
use crate::arguments::{PLACES, refused_alike, tables};
use crate::values::{BOUNDS, SPECIALS};

// Bias ------------------------------------------------------------------------------------------

/// Groups of a table of rows, and rows of each.
const GROUPS: usize = 4_000;
const SIZE: usize = 60;

/// Laws of rows, of variance 1; all are symmetric but the last.
const LAWS: [&str; 5] = ["normal", "laplace", "uniform", "t5", "exponential"];

/// The mean of the symmetric ones. That of the exponential is 1.
const CENTRE: f64 = 0.3;

fn unit(words: &mut Generator) -> f64 {
    ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(words: &mut Generator) -> f64 {
    let (u, v) = (unit(words), unit(words));
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn row_of(distribution: &str, words: &mut Generator) -> f64 {
    let centred = match distribution {
        "normal" => normal(words),
        "laplace" => (unit(words).ln() - unit(words).ln()) / 2f64.sqrt(),
        "uniform" => (unit(words) - 0.5) * 12f64.sqrt(),
        "t5" => {
            let chi: f64 = (0..5).map(|_| normal(words).powi(2)).sum();
            normal(words) / (chi / 5.0).sqrt() * 0.6f64.sqrt()
        }
        _ => return -unit(words).ln(),
    };
    CENTRE + centred
}

/// Table `population (g, normal, laplace, ...)` in a session whose noise is the same at every run.
fn population() -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET jit = off; SELECT dp_test_seed(70);
         CREATE TABLE population (g int, normal float8, laplace float8, uniform float8, t5 float8,
             exponential float8)",
    );
    let mut words = Generator::from_seed(71);
    let columns = LAWS.map(|distribution| -> Vec<f64> {
        (0..GROUPS * SIZE)
            .map(|_| row_of(distribution, &mut words))
            .collect()
    });
    let insert = format!(
        "INSERT INTO population SELECT i % {GROUPS}, a, b, c, d, e FROM unnest($1::float8[], \
         $2::float8[], $3::float8[], $4::float8[], $5::float8[]) WITH ORDINALITY r(a, b, c, d, e, i)"
    );
    let [a, b, c, d, e] = &columns;
    client
        .execute(&insert, &[a, b, c, d, e])
        .expect("a population");
    (database, client)
}

/// The clipping cuts off a good part of each distribution, so that a place that leaned to one side would be
/// seen; how much the exponential is biased is what the test can see.
#[test]
fn means_without_bounds_are_unbiased_where_the_law_is_symmetric() {
    let (_database, mut client) = population();
    for mechanism in [
        "symmetric(delta=1e-3, scale=1, share=0.4, bin=1, clip=1)",
        "symmetric_known_n(n=60, delta=1e-3, scale=1, share=0.4, bin=1, clip=1)",
    ] {
        for distribution in LAWS {
            let sql = format!(
                "SELECT (dp_mean_and_count({distribution}, NULL, NULL, 8, '{mechanism}')).* \
                 FROM population GROUP BY g"
            );
            let answers = rows(&mut client, &sql);
            assert_eq!(answers.len(), GROUPS);
            let truth = if distribution == "exponential" {
                1.0
            } else {
                CENTRE
            };
            let errors: Vec<f64> = answers
                .iter()
                .filter_map(|row| row.get::<_, Option<f64>>(0))
                .map(|mean| mean - truth)
                .collect();
            // No place must be rare, or what is measured is something else.
            assert!(errors.len() * 100 > GROUPS * 99, "{}", errors.len());
            let (bias, error) = (
                mean(&errors),
                (mean_square(&errors, 0.0) / errors.len() as f64).sqrt(),
            );
            println!("{mechanism}, {distribution}: {bias:.5} +- {error:.5}");
            if distribution == "exponential" {
                assert!(bias < -10.0 * error, "{mechanism}: {bias} +- {error}");
            } else {
                let far = STANDARD_ERRORS * error;
                assert!(
                    bias.abs() < far,
                    "{mechanism}, {distribution}: {bias} +- {error}"
                );
            }
            let counts: Vec<f64> = answers.iter().map(|row| row.get(1)).collect();
            let count_error = (mean_square(&counts, 60.0) / GROUPS as f64).sqrt();
            assert!((mean(&counts) - 60.0).abs() <= STANDARD_ERRORS * count_error);
        }
    }
}

/// Where few rows say nothing of where they are, there is a count and no mean.
#[test]
fn few_rows_have_a_count_and_no_mean() {
    let (_database, mut client) = session(Build::Release);
    for (from, n) in [
        ("generate_series(1, 9) x", 9.0),
        ("generate_series(1, 9) x WHERE x > 9", 0.0),
        (
            "(SELECT NULL::float8 AS x FROM generate_series(1, 500)) s",
            0.0,
        ),
        (
            "(SELECT 'NaN'::float8 AS x FROM generate_series(1, 500)) s",
            0.0,
        ),
    ] {
        for (mechanism, known) in [
            ("symmetric(delta=1e-9, scale=10)", None),
            (
                "symmetric_known_n(delta=1e-9, scale=10, n=500)",
                Some(500.0),
            ),
        ] {
            let call = format!("(x, NULL, NULL, 4, '{mechanism}')");
            let sql = format!("SELECT dp_mean{call}, (dp_mean_and_count{call}).* FROM {from}");
            let row = client.query_one(&sql, &[]).expect("a row");
            let [one, two, count] = [0, 1, 2].map(|i| row.get::<_, Option<f64>>(i));
            assert_eq!((one, two), (None, None), "{sql}");
            let count = count.unwrap_or_else(|| panic!("no count: {sql}"));
            match known {
                Some(known) => assert_eq!(count, known, "{sql}"),
                // Off by 20 with probability e^-(3.5 * 20).
                None => assert!((count - n).abs() < 20.0, "{count}: {sql}"),
            }
            let sql = format!("SELECT dp_mean_and_count{call} IS NULL FROM {from}");
            assert!(!value::<bool>(&mut client, &sql), "{sql}");
        }
    }
}

// States of cells -------------------------------------------------------------------------------

/// Mechanisms whose cells are a bin, half of one, and a tenth; far narrower and far wider than the
/// rows lie, too.
const SHAPES: [&str; 6] = [
    "symmetric(delta=1e-6, scale=1)",
    "symmetric(delta=1e-6, scale=0.03, bin=0.03, clip=0.03)",
    "symmetric(delta=1e-6, scale=2, bin=7, clip=5)",
    "symmetric_known_n(delta=1e-6, scale=3, n=10)",
    "symmetric(delta=1e-6, scale=1e-280)",
    "symmetric(delta=1e-6, scale=1e280)",
];

fn mechanism(text: &str) -> Box<dyn CellsMean> {
    let arguments = Arguments {
        bounds: Some((None, None)),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    match *MEAN.build(&arguments).expect("a mechanism") {
        Mean::Cells(mechanism) => mechanism,
        _ => panic!("{text} sees no cells"),
    }
}

/// The columns that show the states.
fn states() -> String {
    let columns = SHAPES.map(|shape| format!("dp_test_mean_state(x, NULL, NULL, 1, '{shape}')"));
    format!("ARRAY[{}]", columns.join(", "))
}

/// The offset that a shown state has.
fn offset(state: &str) -> f64 {
    let offset = state.split(' ').nth(2).expect("an offset");
    offset.parse().expect("a number")
}

/// The state of these rows on the offset of `state`, as it is shown, by this process.
fn expected(shape: &str, rows: &[Option<f64>], state: &str) -> String {
    let line = Line::new(mechanism(shape).location().bins().width, offset(state));
    let mut histogram = CellCounts::new(line);
    for x in rows.iter().flatten().filter(|x| !x.is_nan()) {
        histogram.add(line.cell_of(*x));
    }
    let cells = histogram.cells.iter();
    let cells = cells.map(|(cell, held)| format!(" {cell}:{}:{}", held.count, held.steps));
    let (n, full) = (histogram.n, histogram.full);
    format!("{n} {full} {:?}", line.offset()) + &cells.collect::<String>()
}

fn assert_states(states: &[String], rows: &[Option<f64>], what: &str) {
    assert_eq!(states.len(), SHAPES.len());
    for (state, shape) in states.iter().zip(SHAPES) {
        // Not by assert_eq: a state is long.
        assert!(*state == expected(shape, rows, state), "{shape}: {what}");
    }
}

/// Numbers of every kind, three quarters of them plain.
fn numbers(count: usize) -> Vec<Option<f64>> {
    let mut words = Generator::from_seed(72);
    let row = |i: usize| match i % 32 {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(f64::INFINITY),
        3 => Some(f64::NEG_INFINITY),
        4 => Some(-0.0),
        5 => Some(f64::from_bits(words.word() >> 13)),
        6 => Some(-f64::from_bits(words.word() >> 13)),
        // Any bits at all.
        7 | 8 => Some(f64::from_bits(words.word())),
        9 => Some(1e308 * unit(&mut words)),
        10 => Some(-1e-300 * unit(&mut words)),
        // The edges of cells, off the offset.
        11 | 12 => Some((words.word() % 100) as f64 - 50.0),
        _ => Some(7.0 + 3.0 * normal(&mut words)),
    };
    (0..count).map(row).collect()
}

/// Table `data (id, key, x)`, and the same in three partitions, `parts`.
fn data() -> (Database, Client, Vec<Option<f64>>) {
    let (database, mut client) = session(Build::Testing);
    let rows = numbers(8_000);
    run(
        &mut client,
        "CREATE TABLE data (id int, key int, x float8);
         CREATE TABLE parts (LIKE data) PARTITION BY HASH (id);
         CREATE TABLE part_0 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 0);
         CREATE TABLE part_1 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 1);
         CREATE TABLE part_2 PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER 2)",
    );
    let insert = "INSERT INTO data SELECT id, id % 5, x \
                  FROM unnest($1::float8[]) WITH ORDINALITY r(x, id)";
    client.execute(insert, &[&rows]).expect("rows");
    run(
        &mut client,
        "INSERT INTO parts SELECT * FROM data; ANALYZE data; ANALYZE parts;
         SET jit = off; SET max_parallel_workers_per_gather = 0",
    );
    (database, client, rows)
}

#[test]
fn any_order_of_rows_gives_the_same_cells() {
    let (_database, mut client, rows) = data();
    let mut seen: Option<Vec<String>> = None;
    let shuffled = ["random()"; 4];
    for order in ["id", "x", "x DESC NULLS FIRST", "id DESC"]
        .into_iter()
        .chain(shuffled)
    {
        // The same offsets each time.
        run(&mut client, "SELECT dp_test_seed(73)");
        let sql = format!(
            "SELECT {} FROM (SELECT x FROM data ORDER BY {order}) s",
            states()
        );
        let states: Vec<String> = value(&mut client, &sql);
        assert_states(&states, &rows, order);
        assert!(
            *seen.get_or_insert_with(|| states.clone()) == states,
            "{order}"
        );
    }
}

/// Settings, and what must stand in the plan of an aggregate over a table.
const PARTIAL: [(&str, &str, &[&str]); 4] = [
    (
        "SET max_parallel_workers_per_gather = 1",
        "data",
        &["Finalize", "Gather", "Workers Planned: 1"],
    ),
    (
        "SET max_parallel_workers_per_gather = 4; ALTER TABLE data SET (parallel_workers = 4)",
        "data",
        &["Finalize", "Gather", "Workers Planned: 4"],
    ),
    (
        "SET max_parallel_workers_per_gather = 3; SET enable_partitionwise_aggregate = on;
         SET cpu_tuple_cost = 1",
        "parts",
        &["Finalize", "Gather", "Append", "Partial"],
    ),
    (
        "SET max_parallel_workers_per_gather = 0",
        "parts",
        &["Finalize", "!Gather", "Append", "Partial"],
    ),
];

#[test]
fn any_partial_plan_gives_the_cells_that_the_line_gives() {
    let (_database, mut client, all) = data();
    run(&mut client, PARALLEL);
    for (settings, table, words) in PARTIAL {
        run(&mut client, settings);
        let sql = format!("SELECT {} FROM {table}", states());
        assert_plan(&explain(&mut client, &sql), words, settings);
        assert_states(&value::<Vec<String>>(&mut client, &sql), &all, settings);

        for hashed in ["on", "off"] {
            run(&mut client, &format!("SET enable_hashagg = {hashed}"));
            // Where a state costs more to send than a row the plan would not be partial.
            run(&mut client, "SET parallel_tuple_cost = 1");
            let sql = format!("SELECT key, {} FROM {table} GROUP BY key", states());
            assert_plan(&explain(&mut client, &sql), words, settings);
            let groups = rows(&mut client, &sql);
            assert_eq!(groups.len(), 5);
            for group in groups {
                let key: i32 = group.get(0);
                let of_group = |i: &usize| (i + 1) % 5 == key as usize;
                let mine: Vec<_> = (0..all.len()).filter(of_group).map(|i| all[i]).collect();
                assert_states(&group.get::<_, Vec<String>>(1), &mine, settings);
            }
        }
        run(&mut client, PARALLEL);
    }
}

/// The offsets of the groups of a query, as often as they come.
fn offsets(client: &mut Client, table: &str) -> Vec<u64> {
    let shape = SHAPES[0];
    let sql =
        format!("SELECT dp_test_mean_state(x, NULL, NULL, 1, '{shape}') FROM {table} GROUP BY key");
    let groups = rows(client, &sql);
    assert_eq!(groups.len(), 5);
    groups
        .iter()
        .map(|row| offset(row.get(0)).to_bits())
        .collect()
}

#[test]
fn offsets_are_fresh_for_each_group_or_else_for_each_statement() {
    let (_database, mut client, _) = data();
    let mut seen = BTreeSet::new();
    let mut statements = 0;
    for hashed in ["on", "off"] {
        run(&mut client, &format!("SET enable_hashagg = {hashed}"));
        for _ in 0..3 {
            seen.extend(offsets(&mut client, "data"));
            statements += 1;
        }
    }
    assert_eq!(seen.len(), 5 * statements);
    // A run of a sub-select is a group of its own.
    let sql = format!(
        "SELECT s.a FROM generate_series(1, 9) i, LATERAL (SELECT \
         dp_test_mean_state(x, NULL, NULL, 1, '{}') AS a FROM data WHERE id <> i) s",
        SHAPES[0]
    );
    let runs = rows(&mut client, &sql);
    seen.extend(runs.iter().map(|row| offset(row.get(0)).to_bits()));
    assert_eq!(seen.len(), 5 * statements + 9);

    run(&mut client, PARALLEL);
    run(
        &mut client,
        "SET parallel_tuple_cost = 1; SET cpu_tuple_cost = 1",
    );
    for (settings, table, _) in PARTIAL {
        run(&mut client, settings);
        let mut last = None;
        for _ in 0..3 {
            let of_statement: BTreeSet<u64> = offsets(&mut client, table).into_iter().collect();
            assert_eq!(of_statement.len(), 1, "{settings}");
            let now = of_statement.first().copied();
            assert!(seen.insert(now.expect("an offset")), "{settings}");
            assert_ne!(last, now, "{settings}");
            last = now;
        }
        // In one transaction too.
        run(&mut client, "BEGIN");
        let [one, two] = [0; 2].map(|_| offsets(&mut client, table)[0]);
        run(&mut client, "COMMIT");
        assert_ne!(one, two, "{settings}");
    }
}

/// The parts of a group may be made in different statements: each FETCH is one.
#[test]
fn a_cursor_may_stop_between_the_parts_of_a_group() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE parts (id int, key int, x float8) PARTITION BY LIST (id);
         CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
         CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
         INSERT INTO parts SELECT 1, key, i FROM generate_series(1, 6) key, generate_series(1, 50) i;
         INSERT INTO parts SELECT 2, key, i FROM generate_series(1, 6, 2) key,
             generate_series(51, 100) i;
         ANALYZE parts; SET enable_partitionwise_aggregate = on; SET enable_hashagg = off;
         SET max_parallel_workers_per_gather = 0; SET cpu_tuple_cost = 1",
    );
    let sql = format!(
        "SELECT key, dp_test_mean_state(x, NULL, NULL, 1, '{}') FROM parts GROUP BY key",
        SHAPES[0]
    );
    let words = [
        "Finalize GroupAggregate",
        "Merge Append",
        "Partial GroupAggregate",
    ];
    assert_plan(&explain(&mut client, &sql), &words, "a cursor");
    let mut last = None;
    for _ in 0..2 {
        run(&mut client, &format!("BEGIN; DECLARE c CURSOR FOR {sql}"));
        let mut offsets = BTreeSet::new();
        for key in 1..=6 {
            // Another cursor has its own.
            run(
                &mut client,
                &format!("DECLARE d CURSOR FOR {sql}; FETCH 3 FROM d; CLOSE d"),
            );
            let row = rows(&mut client, "FETCH 1 FROM c").remove(0);
            assert_eq!(row.get::<_, i32>(0), key);
            let state: String = row.get(1);
            let most = if key % 2 == 0 { 50 } else { 100 };
            let all: Vec<_> = (1..=most).map(|i| Some(f64::from(i))).collect();
            assert!(state == expected(SHAPES[0], &all, &state), "{key}");
            offsets.insert(offset(&state).to_bits());
        }
        run(&mut client, "COMMIT");
        assert_eq!(offsets.len(), 1);
        assert_ne!(last, Some(offsets.clone()));
        last = Some(offsets);
    }
}

/// The bytes that a session holds while a query stands at its answer.
fn held(client: &mut Client, sql: &str) -> i64 {
    run(
        client,
        &format!("BEGIN; DECLARE c CURSOR FOR {sql}; FETCH NEXT FROM c"),
    );
    let held = memory(client);
    run(client, "COMMIT");
    held
}

#[test]
fn memory_grows_with_cells_and_not_with_rows() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET jit = off; SET enable_sort = off",
    );
    let sql = |x: &str, count: usize| {
        format!(
            "SELECT dp_mean(x, NULL, NULL, 1, 'symmetric(delta=1e-6, scale=1)') \
             FROM (SELECT {x} AS x FROM (SELECT generate_series(1, {count}) AS i OFFSET 0) r) s"
        )
    };
    // A hundred cells, at both ends of float8 too.
    for x in [
        "(i % 1000)::float8",
        "CASE i % 3 WHEN 0 THEN 1e308 WHEN 1 THEN -1e-300 ELSE i % 9 END",
    ] {
        let held = [1_000, 1_000, 5_000_000].map(|count| held(&mut client, &sql(x, count)));
        // The first run fills caches, and what others do in the server can empty some, but fills none.
        assert!(held[2] - held[1] < 50_000, "{held:?}: {x}");
    }
    // A cell for each row: places for at most MOST cells, a table at most three quarters full and
    // at least three eighths, of 24 bytes each; and what PostgreSQL adds, which rounds pieces up to
    // twice their size at most.
    let none = held(&mut client, &sql("0::float8", 1_000));
    for (count, cells) in [(10_000, 10_000), (300_000, MOST), (1_000_000, MOST)] {
        let bytes = (held(&mut client, &sql("i * 10.0", count)) - none) as f64;
        let (least, most) = (24.0 / 0.75 * cells as f64, 24.0 / 0.375 * cells as f64);
        assert!(bytes > least && bytes < 2.0 * most, "{count} rows: {bytes}");
    }
}

/// Every row in a cell of its own: there is no place, which is no error, and the count is right.
#[test]
fn a_crowd_of_cells_is_no_error() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE crowd AS SELECT i::float8 AS x FROM generate_series(1, 300000) i;
         ANALYZE crowd; SET jit = off",
    );
    let shape = "symmetric(delta=1e-6, scale=1e-3)";
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for (cells, full) in [
            (200_000, false),
            (MOST, false),
            (MOST + 1, true),
            (300_000, true),
        ] {
            let state = format!(
                "SELECT left(dp_test_mean_state(x, NULL, NULL, 1, '{shape}'), 12) \
                 FROM crowd WHERE x <= {cells}"
            );
            let partial = if settings == PARALLEL {
                "Partial"
            } else {
                "!Partial"
            };
            assert_plan(&explain(&mut client, &state), &[partial], settings);
            let start = format!("{cells} {full}");
            assert!(
                value::<String>(&mut client, &state).starts_with(&start),
                "{start}"
            );
            let row = client
                .query_one(
                    &format!(
                        "SELECT (dp_mean_and_count(x, NULL, NULL, 1, '{shape}')).* \
                         FROM crowd WHERE x <= {cells}"
                    ),
                    &[],
                )
                .expect("an answer");
            assert_eq!(row.get::<_, Option<f64>>(0), None);
            assert!((row.get::<_, f64>(1) - cells as f64).abs() < 100.0);
        }
    }
}

// Values and arguments --------------------------------------------------------------------------

#[test]
fn no_value_raises_an_error() {
    let (_database, mut client) = session(Build::Release);
    let mixed = SPECIALS.map(|x| format!("({x}::float8)")).join(", ");
    let sources = SPECIALS
        .iter()
        .flat_map(|x| {
            [0, 1, 2, 400].map(|count| {
                let from = format!("(SELECT {x}::float8 AS x FROM generate_series(1, {count})) s");
                (from, count == 400 && !x.contains('N'))
            })
        })
        .chain([(format!("(VALUES {mixed}) s(x)"), false)]);
    for (from, has_place) in sources {
        for scale in ["1e-290", "1", "1e290"] {
            let call = |text: &str| {
                let text = text.replace("{s}", scale);
                format!("(dp_mean_and_count(x, NULL, NULL, 5, '{text}'))")
            };
            let [one, two] = [
                "symmetric(delta=1e-9, scale={s}, bin={s}, clip={s})",
                "symmetric_known_n(delta=1e-9, scale={s}, n=9007199254740991)",
            ]
            .map(call);
            let sql = format!("SELECT {one}.*, {two}.* FROM {from}");
            let row = client
                .query_one(&sql, &[])
                .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
            for (mean, count) in [(0, 1), (2, 3)] {
                let mean: Option<f64> = row.get(mean);
                assert!(mean.is_none_or(f64::is_finite), "{mean:?}: {sql}");
                assert_eq!(mean.is_some(), has_place, "{sql}");
                assert!(row.get::<_, f64>(count).is_finite(), "{sql}");
            }
        }
    }
    for (lo, hi) in BOUNDS {
        for mechanism in ["smooth", "clipped(n=1)", "clipped(n=9007199254740991)"] {
            for from in [
                format!("(VALUES {mixed}) s(x)"),
                "(SELECT 0 AS x WHERE false) s".into(),
            ] {
                let call = format!("dp_mean(x, '{lo:e}', '{hi:e}', 1, '{mechanism}')");
                // Not clamped: beyond the largest floats it is infinite.
                let mean: f64 = value(&mut client, &format!("SELECT {call} FROM {from}"));
                assert!(!mean.is_nan(), "{call}");
            }
        }
    }
}

#[test]
fn arguments_that_break_a_rule_are_refused_with_and_without_rows() {
    let (_database, mut client) = tables();
    let range = |name: &str| format!("gives the parameter {name} a value outside its range");
    let cannot = "which cannot exist";
    let mut refuse = |call: &str, code: &str, message: &str| {
        let refusal = refused_alike(&mut client, call, &PLACES);
        assert_eq!(refusal.code, code, "{refusal:?}: {call}");
        assert!(refusal.message.ends_with(message), "{refusal:?}: {call}");
        refusal
    };
    // Parameters.
    for (text, message) in [
        ("symmetric(delta=1e-6, scale=0)", range("scale")),
        ("symmetric(delta=1e-6, scale=-1)", range("scale")),
        ("symmetric(delta=1e-6, scale=1e-291)", range("scale")),
        ("symmetric(delta=1e-6, scale=1e291)", range("scale")),
        ("symmetric(delta=1, scale=1)", range("delta")),
        ("symmetric(delta=-1e-6, scale=1)", range("delta")),
        ("symmetric(delta=1e-6, scale=1, bin=0.09)", range("bin")),
        ("symmetric(delta=1e-6, scale=1, bin=1001)", range("bin")),
        ("symmetric(delta=1e-6, scale=1, clip=4.9)", range("clip")),
        ("symmetric(delta=1e-6, scale=1, clip=61)", range("clip")),
        ("symmetric(delta=1e-6, scale=1, share=0)", range("share")),
        ("symmetric(delta=1e-6, scale=1, share=0.91)", range("share")),
        ("symmetric_known_n(delta=1e-6, scale=1, n=0)", range("n")),
    ] {
        for mechanism in [format!("'{text}'"), format!("(SELECT '{text}'::text)")] {
            for aggregate in ["dp_mean", "dp_mean_and_count"] {
                let call = format!("{aggregate}(x, NULL, NULL, 1, {mechanism})");
                refuse(&call, "22023", &format!("argument \"mech\" {message}"));
            }
        }
    }
    for (text, message) in [
        (
            "symmetric(delta=1e-6)",
            "does not say how far the rows spread",
        ),
        (
            "symmetric_known_n(delta=1e-6, scale=1)",
            "does not say how many rows there are",
        ),
    ] {
        refuse(
            &format!("dp_mean(x, NULL, NULL, 1, '{text}')"),
            "22023",
            message,
        );
    }
    for number in ["NaN", "inf", "-inf", "1e999", "", "x"] {
        for key in ["scale", "delta", "bin", "clip", "share"] {
            let call =
                format!("dp_mean(x, NULL, NULL, 1, (SELECT 'symmetric({key}={number})'::text))");
            refuse(
                &call,
                "22023",
                &format!("gives the parameter {key} no finite number"),
            );
        }
    }
    // Bounds beside a scale, and neither.
    for (bounds, argument, rule) in [
        (
            "0, NULL",
            "lo",
            "must be NULL where the mechanism has a scale",
        ),
        ("0, 1", "lo", "must be NULL where the mechanism has a scale"),
        (
            "NULL, 1",
            "hi",
            "must be NULL where the mechanism has a scale",
        ),
        (
            "NULL, (SELECT 1)",
            "hi",
            "must be NULL where the mechanism has a scale",
        ),
        (
            "'NaN', NULL",
            "lo",
            "must be NULL where the mechanism has a scale",
        ),
        ("x, NULL", "lo", "must not depend on the rows"),
    ] {
        let call = format!("dp_mean(x, {bounds}, 1, 'symmetric(delta=1e-6, scale=9)')");
        refuse(
            &call,
            "22023",
            &format!("dp_mean: argument \"{argument}\" {rule}"),
        );
    }
    for mechanism in ["hourglass", "smooth", "clipped(n=9)"] {
        let call = format!("dp_mean(x, NULL, NULL, 1, '{mechanism}')");
        refuse(&call, "22023", "argument \"lo\" must not be NULL");
    }
    // What cannot be.
    for text in [
        "symmetric(scale=9)",
        "symmetric(scale=9, delta=0)",
        "symmetric(scale=9, delta=-0.0)",
        "symmetric(scale=9, delta=1e-6, rho=0.1)",
        "symmetric(scale=9, rho=0.1)",
        "symmetric_known_n(scale=9, mu=1, n=10)",
        "symmetric_known_n(scale=9, n=10)",
    ] {
        let call = format!("dp_mean(x, NULL, NULL, 1, '{text}')");
        let refusal = refuse(&call, "22023", cannot);
        for word in ["delta above 0", "smooth", "hourglass"] {
            assert!(refusal.hint.contains(word), "{refusal:?}");
        }
    }
    // An eps that has too little for the place.
    for (eps, delta) in [("1e-6", "1e-6"), ("0.01", "1e-300")] {
        let call = format!("dp_mean(x, NULL, NULL, {eps}, 'symmetric(delta={delta}, scale=9)')");
        refuse(
            &call,
            "22023",
            "is too small to find the location of the mean with this delta",
        );
    }
    // The bounded ones.
    for (text, message) in [
        ("clipped", "does not say how many rows there are".to_owned()),
        ("clipped(n=0)", range("n")),
        (
            "clipped(n=0.5)",
            "gives the parameter n no whole number".to_owned(),
        ),
        (
            "clipped(n=-5)",
            "gives the parameter n no whole number".to_owned(),
        ),
        (
            "clipped(n=1e16)",
            "gives the parameter n no whole number".to_owned(),
        ),
        (
            "smooth(n=5)",
            "gives a parameter that smooth does not take".to_owned(),
        ),
    ] {
        let call = format!("dp_mean(x, 0, 1, 1, (SELECT '{text}'::text))");
        refuse(&call, "22023", &message);
    }
    for (text, message) in [
        ("undercount", "does not give delta".to_owned()),
        ("undercount(delta=0)", range("delta")),
        ("undercount(delta=1)", range("delta")),
    ] {
        refuse(&format!("dp_count(x, 1, '{text}')"), "22023", &message);
    }
}

/// A function that calls itself stable and is not changes the cells under way.
#[test]
fn a_scale_that_changes_on_the_way_is_found_out() {
    let (_database, mut client) = tables();
    // An odd number of rows: what the final function gets differs from what the first row got.
    for text in [
        "CASE liar()::int % 2 WHEN 0 THEN 'symmetric(delta=1e-6, scale=1)' \
         ELSE 'symmetric(delta=1e-6, scale=2)' END",
        "CASE liar()::int % 2 WHEN 0 THEN 'symmetric(delta=1e-6, scale=1)' \
         ELSE 'symmetric(delta=1e-6, scale=1, bin=11)' END",
    ] {
        let sql = format!("SELECT dp_mean(x, NULL, NULL, 1, ({text})::text) FROM full_table");
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "22023", "{refusal:?}");
        let message = "argument \"mech\" must not depend on the rows";
        assert!(refusal.message.ends_with(message), "{refusal:?}");
    }
}

// Smooth, clipped, undercount -------------------------------------------------------------------

/// A skewed table: its mean is 2.0875.
pub const SKEWED: [f64; 8] = [0.0, 0.1, 0.1, 0.2, 0.4, 0.9, 3.0, 12.0];

/// A seeded session with [`SKEWED`] in a table, `skewed`, and no rows in another, `nothing`.
pub fn skewed(seed: i64) -> Releases {
    let mut releases = Releases::seeded(seed);
    let client = releases.client();
    run(
        client,
        "CREATE TABLE skewed (x float8); CREATE TABLE nothing (x float8)",
    );
    client
        .execute(
            "INSERT INTO skewed SELECT unnest($1::float8[])",
            &[&SKEWED.as_slice()],
        )
        .expect("rows");
    releases
}

/// That the average of `answers` is `truth`, and their variance `variance`, within standard errors.
pub fn assert_moments(what: &str, answers: &[f64], truth: f64, variance: f64) {
    let count = answers.len() as f64;
    let errors: Vec<f64> = answers.iter().map(|answer| answer - truth).collect();
    let square = mean_square(&errors, 0.0);
    let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
    let error_of_square = (mean_square(&squares, square) / count).sqrt();
    let error = (square / count).sqrt();
    println!(
        "{what}: {} +- {error}, {square} of {variance}",
        mean(&errors)
    );
    assert!(
        mean(&errors).abs() < STANDARD_ERRORS * error,
        "{what}: {}",
        mean(&errors)
    );
    assert!(
        (square - variance).abs() < STANDARD_ERRORS * error_of_square,
        "{what}: a variance of {square} +- {error_of_square}, not of {variance}"
    );
}

/// The noise is symmetric: half of the answers are above the mean, wherever it is, and on average
/// they are it. What is averaged is winsorised: the noise has no third moment.
#[test]
fn smooth_means_are_unbiased_and_not_clamped() {
    let mut releases = skewed(75);
    let draws = 20_000;
    for (eps, table, truth) in [
        (1.0, "skewed", mean(&SKEWED)),
        (8.0, "skewed", mean(&SKEWED)),
        // The mean is the lower bound: a clamped answer would be biased.
        (1.0, "(SELECT 0::float8 AS x FROM skewed) s", 0.0),
        (1.0, "(SELECT 99::float8 AS x FROM skewed) s", 12.0),
        // Without rows, the midpoint.
        (1.0, "nothing", 6.0),
    ] {
        let call = format!("dp_mean(x, 0, 12, {eps}, 'smooth')");
        let answers = releases.draw(&call, &[], table, draws);
        let n = if table == "nothing" { 1.0 } else { 8.0 };
        // 100 S / (43 eps), with S = max(1 / n, e^(-eps / 9 (n - 1))) of the width.
        let sd = 1200.0 / (43.0 * eps) * f64::max(1.0 / n, (-eps / 9.0 * (n - 1.0)).exp());
        let errors: Vec<f64> = answers.iter().map(|answer| (answer - truth) / sd).collect();
        let above = errors.iter().filter(|error| **error > 0.0).count() as f64;
        let far = normal_deviations(ALPHA) * 0.5 / f64::from(draws as u32).sqrt();
        assert!(
            (above / draws as f64 - 0.5).abs() < far,
            "{call} of {table}: {above}"
        );
        let winsorised: Vec<f64> = errors.iter().map(|error| error.clamp(-2.0, 2.0)).collect();
        let error = (mean_square(&winsorised, 0.0) / draws as f64).sqrt();
        let bias = mean(&winsorised);
        assert!(
            bias.abs() < STANDARD_ERRORS * error,
            "{call} of {table}: {bias}"
        );
        // Student's t with three degrees of freedom, of variance 1: half of it is within 0.4416.
        let near = errors.iter().filter(|error| error.abs() < 0.441_6).count() as f64;
        assert!(
            (near / draws as f64 - 0.5).abs() < far,
            "{call} of {table}: {near}"
        );
        let outside = answers.iter().filter(|mean| !(0.0..=12.0).contains(*mean));
        assert!(outside.count() > 10, "{call} of {table}");
    }
    let sql = "SELECT (dp_mean_and_count(x, 0, 12, 1, 'smooth')).* FROM ";
    for table in ["skewed", "nothing"] {
        let row = rows(releases.client(), &format!("{sql}{table}")).remove(0);
        assert!(row.get::<_, Option<f64>>(0).is_some(), "{table}");
        assert_eq!(row.get::<_, Option<f64>>(1), None, "{table}");
    }
}

#[test]
fn clipped_means_have_the_noise_of_the_number_that_is_given() {
    let mut releases = skewed(76);
    // Rows are clipped to 2, and so counted from the midpoint, 0.
    let clipped = SKEWED.map(|x| x.clamp(-2.0, 2.0));
    for (eps, n, table, sum) in [
        (1.0, 8.0, "skewed", clipped.iter().sum::<f64>()),
        (0.5, 8.0, "skewed", clipped.iter().sum()),
        // Another number of rows is no error: it counts as if there were that many.
        (1.0, 20.0, "skewed", clipped.iter().sum()),
        (1.0, 2.0, "skewed", clipped.iter().sum()),
        (1.0, 2.0, "nothing", 0.0),
    ] {
        let call = format!("dp_mean(x, -2, 2, {eps}, 'clipped(n={n})')");
        let answers = releases.draw(&call, &[], table, 20_000);
        let variance = least_variance(eps) * f64::powi(4.0 / n, 2);
        assert_moments(&call, &answers, sum / n, variance);
        let call = call.replace("dp_mean(", "dp_mean_and_count(");
        let sql = format!("SELECT ({call}).count FROM {table}");
        assert_eq!(value::<f64>(releases.client(), &sql), n);
    }
}

#[test]
fn an_undercount_is_never_above_the_number_of_rows() {
    let mut releases = skewed(77);
    for (eps, delta) in [(1.0, 0.05), (0.1, 0.2), (4.0, 1e-6)] {
        for (table, n) in [("skewed", 8.0), ("nothing", 0.0)] {
            let call = format!("dp_count(x, {eps}, 'undercount(delta={delta})')");
            let counts = releases.draw(&call, &[], table, 20_000);
            // The smallest v with e^(-eps v) C <= delta, as its mechanism says.
            let b = f64::exp(-eps);
            let c = f64::max(1.0 / (1.0 + b), (2.0 * b - 1.0) / (b * b));
            let reach = ((c / delta).ln() / eps).ceil().max(1.0);
            assert!(counts.iter().all(|count| *count <= n), "{call}");
            assert!(
                counts.iter().all(|count| *count >= n - 2.0 * reach),
                "{call}"
            );
            let average = mean(&counts);
            let error = (mean_square(&counts, average) / counts.len() as f64).sqrt();
            let off = (average - (n - reach)).abs();
            assert!(off < STANDARD_ERRORS * error.max(1e-3), "{call}: {average}");
            // Both ends are seen where that is not rare.
            if b.powf(reach) > 0.01 {
                assert!(
                    counts.contains(&n) && counts.contains(&(n - 2.0 * reach)),
                    "{call}"
                );
            }
        }
    }
}
