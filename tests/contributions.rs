//! What a person with many rows contributes: exact, the same in every plan, and never more than the call's rows.

use dp_core::encoding::contribution::PersonRows;
use dp_core::encoding::grid::{Bounds, Grid, STEPS};
use dp_mean_tests::auditing::bound;
use dp_mean_tests::mix::Mix;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::{
    Build, GROUPINGS, PARALLEL, Refusal, Role, assert_plan, explain, refused, rows, run, session,
    value,
};
use postgres::Client;

const G: i128 = STEPS as i128;

/// The integers that noise went on in the release of a call, before it did.
fn exact(client: &mut Client, sql: &str) -> Vec<i128> {
    run(client, "SELECT dp_test_record(7)");
    rows(client, sql);
    let recorded: String = value(client, "SELECT dp_test_recorded()");
    let integers = recorded.split_whitespace();
    let exact = integers.filter_map(|word| word.split_once(':').map(|(exact, _)| exact));
    exact
        .flat_map(|exact| exact.split(','))
        .map(|number| number.parse().unwrap_or_else(|_| panic!("{recorded}")))
        .collect()
}

/// Persons with up to that many rows.
fn people(mix: &mut Mix, count: usize, most: usize) -> Vec<Vec<f64>> {
    let row = |mix: &mut Mix| match mix.below(8) {
        0 => 0.0,
        1 => 1.0,
        2 => f64::INFINITY,
        3 => -3.0,
        _ => mix.unit(),
    };
    let person = |mix: &mut Mix| (0..1 + mix.below(most)).map(|_| row(mix)).collect();
    (0..count).map(|_| person(mix)).collect()
}

fn fill(client: &mut Client, table: &str, people: &[Vec<f64>]) {
    run(client, &format!("DROP TABLE IF EXISTS {table}"));
    run(
        client,
        &format!("CREATE TABLE {table} (person int, x float8)"),
    );
    let all = people.iter().enumerate();
    let values =
        all.flat_map(|(person, rows)| rows.iter().map(move |x| format!("({person}, '{x:?}')")));
    let values: Vec<String> = values.map(|row| row.replace("inf", "Infinity")).collect();
    if !values.is_empty() {
        run(
            client,
            &format!("INSERT INTO {table} VALUES {}", values.join(", ")),
        );
    }
}

/// Of the call, over what the persons of a table contribute.
fn over(call: &str, table: &str, k: u32) -> String {
    format!(
        "SELECT {call} FROM (SELECT dp_contribution(x, 0, 1, {k}) AS c FROM {table} GROUP BY person) p"
    )
}

/// The number of rows and the sum that persons contribute, by the mathematics.
fn expected(people: &[Vec<f64>], k: u32) -> (i128, i128) {
    let grid = Grid::unit(&Bounds::new(Some(0.0), Some(1.0)).unwrap());
    let given = people.iter().filter_map(|rows| {
        let mut person = PersonRows::default();
        rows.iter().for_each(|x| person.add(grid.steps(*x) as u64));
        person.contribution(k)
    });
    given.fold((0, 0), |(n, s), given| {
        (n + i128::from(given.rows()), s + i128::from(given.sum()))
    })
}

#[test]
fn the_integers_are_those_of_the_mathematics() {
    let (_database, mut client) = session(Build::Testing);
    let mut mix = Mix(14);
    for k in [1, 2, 5, 1000] {
        let people = people(&mut mix, 40, 12);
        fill(&mut client, "t", &people);
        let (n, s) = expected(&people, k);
        let calls = [
            (format!("dp_count(c, 1, 'geometric(rows={k})')"), vec![n]),
            (format!("dp_sum(c, 0, 1, 1, 'laplace(rows={k})')"), vec![s]),
            (
                format!("dp_mean(c, 0, 1, 1, 'laplace(rows={k})')"),
                vec![s, G * n - s],
            ),
        ];
        for (call, integers) in calls {
            assert_eq!(exact(&mut client, &over(&call, "t", k)), integers, "{call}");
        }
        // Each row is in the bucket of the person's mean.
        let call = format!("dp_histogram(c, 0, 1, 4, 1, 'geometric(rows={k})')");
        let buckets = exact(&mut client, &over(&call, "t", k));
        assert_eq!((buckets.len(), buckets.iter().sum::<i128>()), (4, n));
    }
}

/// A whole person more or less, of up to 50 rows: at most `k` rows, and sums that these could have.
#[test]
fn a_person_moves_the_integers_by_no_more_than_k_rows() {
    let (_database, mut client) = session(Build::Testing);
    let mut mix = Mix(15);
    let mut most = 0;
    for _ in 0..60 {
        let others = people(&mut mix, 5, 6);
        let mut with = others.clone();
        with.extend(people(&mut mix, 1, 50));
        fill(&mut client, "without", &others);
        fill(&mut client, "with_person", &with);
        let k = 1 + mix.below(4) as u32;
        let mut moved = |call: &str| -> Vec<i128> {
            let call = call.replace("{k}", &k.to_string());
            let [one, other] =
                ["without", "with_person"].map(|table| exact(&mut client, &over(&call, table, k)));
            assert_eq!(one.len(), other.len());
            other
                .iter()
                .zip(&one)
                .map(|(with, without)| with - without)
                .collect()
        };
        let n = moved("dp_count(c, 1, 'geometric(rows={k})')")[0];
        assert!(n >= 1 && n <= i128::from(k), "{n} {k}");
        most = most.max(n);
        for call in [
            "dp_sum(c, 0, 1, 1, 'staircase(rows={k})')",
            "dp_sum(c, 0, 1, 1, 'laplace(rows={k})')",
        ] {
            let s = moved(call)[0];
            assert!((0..=G * n).contains(&s), "{s} {n}");
        }
        let pair = moved("dp_mean(c, 0, 1, 1, 'laplace(rows={k})')");
        assert_eq!(pair.iter().sum::<i128>(), G * n);
        let buckets = moved("dp_histogram(c, 0, 1, 3, 1, 'geometric(rows={k})')");
        assert_eq!(buckets.iter().map(|b| b.abs()).sum::<i128>(), n);
        let sums = moved("dp_var_pop(c, 0, 1, 1, 'laplace(rows={k})')");
        let norm: i128 = sums.iter().map(|sum| sum.abs()).sum();
        assert!(norm <= (2 << 48) * n, "{sums:?}");
    }
    assert!(most > 2, "{most}");
}

/// However the rows are read, sorted, spilled and combined.
#[test]
fn every_plan_gives_the_same_integers() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT (i * 7919) % 5003 AS person, sin(i)::float8 * 2 AS x \
             FROM generate_series(1, 60000) i; \
         CREATE TABLE parts (person int, x float8) PARTITION BY HASH (person); \
         CREATE TABLE p0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
         CREATE TABLE p1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         INSERT INTO parts SELECT * FROM t; ANALYZE t; ANALYZE parts",
    );
    let sql = over("dp_mean(c, 0, 1, 1, 'laplace(rows=3)')", "t", 3);
    run(&mut client, "SET max_parallel_workers_per_gather = 0");
    let expected = exact(&mut client, &sql);
    assert_eq!(expected.iter().sum::<i128>() % G, 0);
    for (settings, words) in GROUPINGS {
        run(&mut client, settings);
        let plan = explain(&mut client, &sql);
        assert_plan(&plan, words, settings);
        assert_eq!(exact(&mut client, &sql), expected, "{settings}\n{plan}");
        let parts = sql.replace("FROM t ", "FROM parts ");
        assert_eq!(exact(&mut client, &parts), expected, "{settings}");
    }
}

/// Calls with a mistake, over persons `{}`. The sub-select has `person` and `c`.
const REFUSED: [(&str, &str, &str); 15] = [
    (
        "dp_mean(c, 0, 1, 1)",
        "dp_contribution(x, 1, 0)",
        "dp_contribution: argument \"hi\"",
    ),
    (
        "dp_mean(c, 0, 1, 1)",
        "dp_contribution(x, NULL, 1)",
        "dp_contribution: argument \"lo\"",
    ),
    (
        "dp_mean(c, 0, 1, 1)",
        "dp_contribution(x, 0, 'inf')",
        "dp_contribution: argument \"hi\"",
    ),
    (
        "dp_mean(c, 0, 1, 1)",
        "dp_contribution(x, y, 1)",
        "dp_contribution: argument \"lo\"",
    ),
    (
        "dp_count(c, 1)",
        "dp_contribution(x, 0, 1, 0)",
        "dp_contribution: argument \"k\"",
    ),
    (
        "dp_count(c, 1)",
        "dp_contribution(x, 0, 1, NULL)",
        "dp_contribution: argument \"k\"",
    ),
    (
        "dp_count(c, 1)",
        "dp_contribution(x, 0, 1, 1::bigint << 40)",
        "dp_contribution: argument \"k\"",
    ),
    (
        "dp_mean(c, 0, 2, 1)",
        "dp_contribution(x, 0, 1)",
        "dp_mean: argument \"hi\" differs from that",
    ),
    (
        "dp_sum(c, -1, 1, 1)",
        "dp_contribution_sum(x, 0, 1)",
        "dp_sum: argument \"lo\" differs from that",
    ),
    (
        "dp_count(c, 1)",
        "dp_contribution(x, 0, 1, 3)",
        "dp_count: argument \"mech\" has rows=1",
    ),
    (
        "dp_mean(c, 0, 1, 1, 'laplace(rows=4)')",
        "dp_contribution(x, 0, 1, 3)",
        "dp_mean: argument \"mech\" has rows=4",
    ),
    (
        "dp_histogram(c, 0, 1, 3, 1, 'geometric(rows=2)')",
        "dp_contribution(x, 0, 1)",
        "dp_histogram: argument \"mech\"",
    ),
    (
        "dp_mean(c, NULL, NULL, 1, 'symmetric(delta=1e-6, scale=1)')",
        "dp_contribution(x, 0, 1)",
        "takes no contributions",
    ),
    // Of two mistakes the one of the call itself.
    (
        "dp_mean(c, 0, 1, 99)",
        "dp_contribution(x, 1, 0)",
        "dp_mean: argument \"eps\"",
    ),
    (
        "dp_mean(c, 0, 1, 99)",
        "dp_contribution(x, y, 0)",
        "dp_mean: argument \"eps\"",
    ),
];

/// Plans that show where a contribution comes from. `{call}` and `{made}` are the two calls, `{who}` the rows.
const SHAPES: [&str; 5] = [
    "SELECT {call} FROM (SELECT {made} AS c, 1.0::float8 AS y FROM t WHERE {who} GROUP BY person) p",
    "SELECT person % 2, {call} FROM (SELECT person, {made} AS c, 1.0::float8 AS y FROM t WHERE {who} GROUP BY \
     person) p \
     GROUP BY GROUPING SETS ((person % 2), ()) HAVING person % 2 IS NULL",
    "WITH p AS MATERIALIZED (SELECT {made} AS c, person + 0.0::float8 AS y FROM t WHERE {who} GROUP BY person) \
     SELECT {call} FROM p",
    "SELECT {call} FROM (SELECT person, {made} AS c FROM t WHERE {who} GROUP BY person) p JOIN names USING (person)",
    "SELECT {call} FROM (SELECT {made} AS c, person + 0.0::float8 AS y FROM t WHERE {who} GROUP BY person \
     ORDER BY person LIMIT 100) p",
];

/// A mistake is reported in the same words whether there is a row or not, in workers or without.
#[test]
fn mistakes_are_told_with_and_without_rows() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 100 AS person, i % 9 / 8.0::float8 AS x, 0.0::float8 AS y \
             FROM generate_series(1, 5000) i; \
         CREATE TABLE names AS SELECT i AS person, i::float8 AS y FROM generate_series(0, 99) i; \
         ANALYZE t; ANALYZE names",
    );
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for shape in SHAPES {
            for (call, made, words) in REFUSED {
                let made = if shape.contains("names") {
                    made.replace('y', "t.y")
                } else {
                    made.to_owned()
                };
                let mut seen: Option<Refusal> = None;
                for who in ["true", "person = 3", "person = 1000", "false"] {
                    let sql = shape.replace("{call}", call).replace("{made}", &made);
                    let sql = sql.replace("{who}", who);
                    let refusal = refused(&mut client, &sql);
                    assert_eq!(refusal.code, "22023", "{sql}: {refusal:?}");
                    assert!(refusal.message.contains(words), "{sql}: {refusal:?}");
                    assert!(!refusal.hint.is_empty());
                    let same = seen.as_ref().is_none_or(|seen| *seen == refusal);
                    assert!(same, "{sql}: {refusal:?} and {seen:?}");
                    seen = Some(refusal);
                }
            }
        }
    }
}

/// The bounds and k of both calls may be parameters.
#[test]
fn arguments_may_be_parameters() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 100 AS person, i % 9 / 8.0::float8 AS x FROM generate_series(1, 5000) i; \
         SET plan_cache_mode = force_generic_plan; \
         PREPARE q(float8, float8, bigint) AS SELECT dp_mean(c, 0, $1, 50, 'hourglass(rows=3)') \
             FROM (SELECT dp_contribution(x, 0, $2, $3) AS c FROM t GROUP BY person) p",
    );
    let mean: f64 = value(&mut client, "EXECUTE q(1, 1, 3)");
    assert!((mean - 0.5).abs() < 0.01, "{mean}");
    let refusal = refused(&mut client, "EXECUTE q(1, 2, 3)");
    assert!(
        refusal
            .message
            .contains("\"hi\" differs from that of dp_contribution"),
        "{refusal:?}"
    );
    let refusal = refused(&mut client, "EXECUTE q(1, 1, 4)");
    assert!(refusal.message.contains("k = 4"), "{refusal:?}");
    let mean: f64 = value(&mut client, "EXECUTE q(1, 1, 3)");
    assert!((mean - 0.5).abs() < 0.01, "{mean}");
}

/// Where no plan shows who made them, the call's own rows and bounds hold, whatever the bytes are.
#[test]
fn foreign_and_forged_contributions_count_as_no_more_than_the_rows_of_the_call() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 10 AS person, i / 500.0::float8 AS x FROM generate_series(1, 500) i; \
         CREATE TABLE kept AS SELECT dp_contribution(x, -7, 2, 50) AS c FROM t GROUP BY person; \
         CREATE TYPE raw; \
         CREATE FUNCTION raw_in(cstring) RETURNS raw AS 'byteain' LANGUAGE internal IMMUTABLE STRICT; \
         CREATE FUNCTION raw_out(raw) RETURNS cstring AS 'byteaout' LANGUAGE internal IMMUTABLE STRICT; \
         CREATE TYPE raw (INPUT = raw_in, OUTPUT = raw_out, ALIGNMENT = double, STORAGE = plain); \
         CREATE CAST (raw AS dp_mean.dp_contribution) WITHOUT FUNCTION; \
         CREATE CAST (dp_mean.dp_contribution AS raw) WITHOUT FUNCTION; \
         CREATE TABLE bytes (b raw)",
    );
    for k in [1, 2, 7] {
        let count = format!("SELECT dp_count(c, 1, 'geometric(rows={k})') FROM kept");
        assert_eq!(exact(&mut client, &count), [10 * k]);
        let sum = format!("SELECT dp_sum(c, 0, 1, 1, 'laplace(rows={k})') FROM kept");
        let s = exact(&mut client, &sum)[0];
        // The mean of all is 0.501; on other bounds each counts at their mean.
        assert!((s - 10 * k * G * 501 / 1000).abs() < 100 * k, "{s}");
    }
    // Of many rows, and of one, which is added without a guard where the group has others.
    for k in [50, 1] {
        let honest: String = value(
            &mut client,
            &format!("SELECT dp_contribution(x, -7, 2, {k})::raw::text FROM t WHERE person = 3"),
        );
        let digits = &honest[2..];
        let mut forged: Vec<String> =
            vec![String::new(), "00".into(), "ff".repeat(52), "00".repeat(52)];
        for length in [2, 50, 102] {
            forged.push(digits[..length].to_owned());
        }
        forged.push(format!("{digits}00"));
        // From byte 4 on: the mark, lo, hi, rows, spare, sum, squares.
        for start in (0..digits.len()).step_by(8) {
            for bits in ["ffffffff", "00000000", "0000f07f", "ffffff7f"] {
                let (before, after) = (&digits[..start], &digits[start + 8..]);
                forged.push(format!("{before}{bits}{after}"));
            }
        }
        for bytes in forged {
            let told = format!("TRUNCATE bytes; INSERT INTO bytes VALUES ('\\x{bytes}')");
            run(&mut client, &told);
            assert_moves_at_most_the_rows(&mut client, &bytes, &honest);
        }
    }
}

/// That bytes in the table move the exact sums, of a group without others or with an honest contribution before
/// them, by no more than what the rows of the call can.
fn assert_moves_at_most_the_rows(client: &mut Client, bytes: &str, honest: &str) {
    for k in [1, 3] {
        let mut moved = |call: &str, before: &str| {
            let query = |bytes: &str| {
                let rows = format!("SELECT {before} UNION ALL SELECT b FROM {bytes}");
                format!(
                    "SELECT {call} FROM (SELECT b::dp_mean.dp_contribution AS c FROM ({rows}) AS r (b)) AS b"
                )
            };
            let with = exact(client, &query("bytes"));
            let without = exact(client, &query("bytes WHERE false"));
            let pairs = with.into_iter().zip(without);
            pairs
                .map(|(with, without)| with - without)
                .collect::<Vec<_>>()
        };
        for before in ["NULL::raw", &format!("'{honest}'::raw")] {
            let n = moved(&format!("dp_count(c, 1, 'geometric(rows={k})')"), before)[0];
            assert!((0..=k).contains(&n), "{bytes}: {n}");
            let mean = format!("dp_mean(c, -7, 2, 1, 'laplace(rows={k})')");
            let [s, rest] = moved(&mean, before)[..] else {
                panic!("{mean}")
            };
            assert!(
                s >= 0 && rest >= 0 && s + rest == G * n,
                "{bytes}: {s} {rest}"
            );
            let variance = format!("dp_var_pop(c, -7, 2, 1, 'laplace(rows={k})')");
            let all: i128 = moved(&variance, before).iter().map(|f| f.abs()).sum();
            assert!(all <= (2 << 48) * n, "{bytes}: {all}");
        }
    }
}

#[test]
fn contributions_are_neither_made_nor_kept_by_hand() {
    let (database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 3 AS person, i::float8 AS x FROM generate_series(1, 9) i; \
         GRANT SELECT ON t TO PUBLIC; GRANT CREATE ON SCHEMA public TO PUBLIC",
    );
    let role = Role::new(&database);
    let mut analyst = role.connect();
    for sql in [
        "SELECT 'sealed'::dp_mean.dp_contribution",
        "SELECT dp_mean('(1, 2)'::dp_mean.dp_contribution, 0, 1, 1)",
        "SELECT x::text::dp_mean.dp_contribution FROM t",
    ] {
        assert_eq!(refused(&mut client, sql).code, "0A000", "{sql}");
        // Others do not even see the type.
        assert_eq!(refused(&mut analyst, sql).code, "42501", "{sql}");
    }
    for sql in [
        "CREATE TABLE mine AS SELECT dp_contribution(x, 0, 1) AS c FROM t GROUP BY person",
        "CREATE TABLE mine (c dp_mean.dp_contribution)",
        "SELECT dp_mean.dp_contribution_final(NULL)",
    ] {
        assert_eq!(refused(&mut analyst, sql).code, "42501", "{sql}");
    }
    // What it shows is the same for all, and so is what two of them have in common.
    let texts: i64 = value(
        &mut analyst,
        "SELECT count(DISTINCT c::text) FROM (SELECT dp_contribution(x, 0, 9) AS c FROM t GROUP BY person) p",
    );
    assert_eq!(texts, 1);
    let sql = "SELECT dp_mean(c, 0, 9, 50) FROM (SELECT dp_contribution(x, 0, 9) AS c FROM t GROUP BY person) p";
    let mean: f64 = value(&mut analyst, sql);
    assert!((mean - 5.0).abs() < 0.2, "{mean}");
}

/// Persons without a valid row are not there; empty groups answer with noise.
#[test]
fn persons_without_rows_contribute_nothing() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t (person int, x float8); \
         INSERT INTO t VALUES (1, NULL), (2, 'NaN'), (3, 'NaN'), (3, 0.5), (NULL, 0.25), (NULL, 0.75)",
    );
    let n = exact(&mut client, &over("dp_count(c, 1, 'geometric')", "t", 1));
    assert_eq!(n, [2]);
    let sql = "SELECT dp_mean(c, 0, 1, 1) IS NULL FROM \
               (SELECT dp_contribution(x, 0, 1) AS c FROM t WHERE false GROUP BY person) p";
    assert!(!value::<bool>(&mut client, sql));
    let sql = "SELECT count(*) FROM (SELECT dp_contribution(x, 0, 1) AS c FROM t GROUP BY person) p WHERE c IS NULL";
    assert_eq!(value::<i64>(&mut client, sql), 2);
    // The total is clamped when it is whole.
    run(
        &mut client,
        "TRUNCATE t; INSERT INTO t VALUES (1, 0.75), (1, 0.75), (2, 5), (2, -4.75), (3, 0.5)",
    );
    let sql = "SELECT dp_sum(c, 0, 1, 1) FROM (SELECT dp_contribution_sum(x, 0, 1) AS c FROM t GROUP BY person) p";
    assert_eq!(exact(&mut client, sql), [G + G / 4 + G / 2]);
    // An untyped NULL is a float8, as before.
    let sql = "SELECT dp_mean(NULL, 0, 1, 1) IS NULL, dp_count(NULL, 1.0) IS NULL";
    assert!(!value::<bool>(&mut client, sql));
}

/// A person of 50 rows, against the same table without them.
#[test]
fn a_person_of_fifty_rows_is_as_private_as_the_call_says() {
    let mut releases = Releases::seeded(83);
    let tables = "CREATE TABLE without (person int, x float8); \
         CREATE TABLE with_person (person int, x float8); \
         INSERT INTO without VALUES (1, 0); \
         INSERT INTO with_person VALUES (1, 0); \
         INSERT INTO with_person SELECT 2, 1 FROM generate_series(1, 50)";
    releases.client().batch_execute(tables).expect("tables");
    for table in ["without", "with_person"] {
        for k in [1, 3] {
            let view = format!(
                "CREATE VIEW {table}_{k} AS SELECT dp_contribution(x, 0, 1, {k}) AS x FROM {table} GROUP BY person"
            );
            releases.client().batch_execute(&view).expect("a view");
        }
    }
    let mut told = |call: &str, k: u32| {
        let [without, with] = ["without", "with_person"]
            .map(|table| releases.draw(call, &[], &format!("{table}_{k}"), 40_000));
        bound([&without, &with], 1)
    };
    for k in [1, 3] {
        for call in [
            "dp_mean(x, 0, 1, 1.0, 'hourglass(rows={k})')",
            "dp_sum(x, 0, 1, 1.0, 'staircase(rows={k})')",
            "dp_count(x, 1.0, 'geometric(rows={k})')",
            "dp_var_pop(x, 0, 1, 1.0, 'laplace(rows={k})')",
        ] {
            let call = call.replace("{k}", &k.to_string());
            let found = told(&call, k);
            println!("{call}: epsilon is at least {found:.3}");
            assert!(found <= 1.0, "{call}: {found}");
        }
    }
    // The audit sees most of what there is.
    assert!(told("dp_count(x, 1.0, 'geometric(rows=3)')", 3) > 0.8);
}
