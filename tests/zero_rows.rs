//! No rows is an answer like any other: noise, drawn as for n = 0, in every plan. A NULL there
//! would tell with certainty that no row matched. (A mean without bounds is NULL for few rows too,
//! and its count is not.)

use dp_core::encoding::bitmap::Occupied;
use dp_core::encoding::cells::CellCounts;
use dp_core::encoding::log_bins::OctaveCounts;
use dp_core::encoding::pairs::PairMoments;
use dp_core::encoding::sums::{Moments, Sums, Totals};
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::mean::inputs::Mean;
use dp_core::mechanism::mean::pathological::cells::CoinedCounts;
use dp_core::mechanism::mean::pathological::device::Pathological;
use dp_core::mechanism::sum::inputs::SumMechanism;
use dp_core::mechanism::variance::inputs::SomeVariance;
use dp_core::random::Generator;
use dp_core::registry::{
    CLAMPED, CORRELATION, COUNT, COUNTS, COVARIANCE, DISTINCT, HISTOGRAM, MEAN, MEANS, MEDIAN,
    QUANTILES, SLOPE, SUM, SUMS, VARIANCE,
};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::ranks::Ranks;
use dp_mean_tests::calls::{Empty, State, calls};
use dp_mean_tests::{Build, PARALLEL, assert_plan, explain, rows, run, session, value};
use postgres::Client;

/// A table, the same partitioned, and their plans' costs.
const TABLES: &str = "
    CREATE TABLE t AS SELECT i % 4 AS k, i::float8 AS x, NULL::float8 AS nothing
        FROM generate_series(1, 1000) i;
    CREATE TABLE parts (k int, x float8, nothing float8) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
    CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2, 3);
    INSERT INTO parts SELECT k, x FROM t;
    CREATE TABLE settings AS SELECT 0::float8 AS lo, 1000::float8 AS hi, 1::float8 AS eps;
    ANALYZE t; ANALYZE parts";

/// All calls as an array of text, of the rows that `filter` leaves. What cells rows are in depends on an offset that a
/// plan may draw once or more often, and so does the noise that is drawn after it.
fn columns(filter: &str) -> String {
    let calls = calls().filter(|call| call.state != State::Cells);
    let columns = calls.map(|call| format!("({}{filter})::text", call.with("1000", "1.0", "")));
    format!("ARRAY[{}]", Vec::from_iter(columns).join(", "))
}

/// That all calls for `{}` in `sql` answer as those of an empty table do with the same noise, in `groups` rows. That those
/// are the mechanisms' answers to no rows is the first test.
fn answers_like_no_rows(client: &mut Client, sql: &str, filter: &str, groups: usize) {
    let mut answers = |sql: &str| {
        run(client, "SELECT dp_test_record(7)");
        let answers = rows(client, sql);
        let answers = answers.iter().map(|row| row.get(0));
        answers.collect::<Vec<Vec<Option<String>>>>()
    };
    let expected = answers(&format!("SELECT {} FROM t WHERE false", columns("")));
    let nothing = calls().filter(|call| call.state != State::Cells);
    for (call, answer) in nothing.zip(&expected[0]) {
        assert!(
            answer.is_some() || call.empty == Empty::Nothing,
            "NULL: {call:?}"
        );
    }
    let seen = answers(&sql.replace("{}", &columns(filter)));
    assert_eq!(seen.len(), groups, "{sql}");
    for answers in seen {
        let differing = answers.iter().zip(&expected[0]).enumerate();
        let differing: Vec<_> = differing.filter(|(_, (one, other))| one != other).collect();
        assert!(differing.is_empty(), "{differing:?}: {sql}");
    }
}

/// The arguments of a call with bounds.
fn arguments(mechanism: &str) -> Arguments<'_> {
    Arguments {
        bounds: Some((Some(-3.0), Some(7.0))),
        epsilon: Some(0.7),
        mechanism: MechanismArgument::Given(Some(mechanism)),
        ..Arguments::default()
    }
}

#[test]
fn the_answer_is_that_of_no_rows() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    run(&mut client, "SET dp_mean.allow_pathological = on");
    // What works for each mechanism of that name. Of vectors d is 2, and none of the aggregates
    // takes it as a first row may have it.
    let text = |example: &'static str| example.replace("d=64", "d=2").replace("k=3", "k=1");
    let (nobody, no_vectors) = (Sums::default(), Totals::new(2));
    for seed in 0..50 {
        let mut seeded = |call: &str| {
            run(&mut client, &format!("SELECT dp_test_seed({seed})"));
            rows(&mut client, &format!("SELECT {call} FROM t WHERE x < 0")).remove(0)
        };
        let generator = || Generator::from_seed(seed);
        for entry in MEAN.entries {
            let name = entry.info.example;
            let has_scale = entry
                .info
                .parameters
                .iter()
                .any(|known| known.name == "scale");
            let (bounds, of_sql) = if has_scale {
                ((None, None), "NULL, NULL")
            } else {
                ((Some(-3.0), Some(7.0)), "-3, 7")
            };
            let of_mean = Arguments {
                bounds: Some(bounds),
                ranks: None,
                pathological: true,
                ..arguments(name)
            };
            let expected = match *MEAN.build(&of_mean).expect("a mean") {
                Mean::Sums(mechanism) => mechanism.release(&nobody, &mut generator()),
                Mean::Pathological(Pathological::Sums(mechanism)) => {
                    mechanism.release(&nobody, &mut generator())
                }
                Mean::Pathological(Pathological::Cells(mechanism)) => {
                    let no_cells = CoinedCounts::new(mechanism.line(0));
                    mechanism.release(&no_cells, &mut generator())
                }
                Mean::Cells(mechanism) => {
                    let no_cells = CellCounts::new(mechanism.line(0));
                    let expected = mechanism.release(&no_cells, &mut generator());
                    // Where too few rows are seen to say where they are, no rows are no other case.
                    assert_eq!(expected.mean, None, "{name}");
                    expected
                }
                Mean::Auto(mechanism) => {
                    let nobody = OctaveCounts::new();
                    mechanism.release(&nobody, &mut generator()).answer
                }
            };
            let mean: Option<f64> = seeded(&format!("dp_mean(x, {of_sql}, 0.7, '{name}')")).get(0);
            assert_eq!(mean, expected.mean, "{name}");
            let both = seeded(&format!(
                "(dp_mean_and_count(x, {of_sql}, 0.7, '{name}')).*"
            ));
            assert_eq!(
                (both.get(0), both.get(1)),
                (expected.mean, expected.count),
                "{name}"
            );
        }
        for entry in SUM.entries {
            let name = entry.info.example;
            let mechanism = SUM.build(&arguments(name)).expect("a sum");
            let expected = match *mechanism {
                SumMechanism::Sums(mechanism) => mechanism.release(&nobody, &mut generator()),
                SumMechanism::Auto(mechanism) => {
                    let nobody = OctaveCounts::new();
                    mechanism.release(&nobody, &mut generator()).answer
                }
            };
            let sum: f64 = seeded(&format!("dp_sum(x, -3, 7, 0.7, '{name}')")).get(0);
            assert_eq!(sum.to_bits(), expected.to_bits(), "{name}");
        }
        for entry in COUNT.entries {
            let name = entry.info.example;
            let of_counts = Arguments {
                bounds: None,
                ..arguments(name)
            };
            let mechanism = COUNT.build(&of_counts).expect("a count");
            let expected = mechanism.release(&nobody, &mut generator());
            let count: i64 = seeded(&format!("dp_count(x, 0.7, '{name}')")).get(0);
            assert_eq!(count, expected, "{name}");
        }
        for text in ["geometric", "geometric(outside=drop)"] {
            let of_buckets = Arguments {
                length: Some(9),
                ..arguments(text)
            };
            let mechanism = HISTOGRAM.build(&of_buckets).expect("a histogram");
            let expected = mechanism.release(&Totals::new(9), &mut generator());
            let counts = seeded(&format!("dp_histogram(x, -3, 7, 9, 0.7, '{text}')"));
            assert_eq!(counts.get::<_, Vec<i64>>(0), expected, "{text}");
        }
        for text in ["bitmap", "bitmap(values=2)"] {
            let of_ids = Arguments {
                bounds: None,
                ..arguments(text)
            };
            let mechanism = DISTINCT.build(&of_ids).expect("a mechanism");
            let expected = mechanism.release(&Occupied::default(), &mut generator());
            let count: i64 = seeded(&format!("dp_count_distinct(x, 0.7, '{text}')")).get(0);
            assert_eq!(count, expected.count, "{text}");
        }
        for entry in CLAMPED.entries {
            let name = entry.info.example;
            let mechanism = CLAMPED.build(&arguments(name)).expect("a mechanism");
            let expected = mechanism.release(&Totals::new(3), &mut generator());
            let row = seeded(&format!("(dp_clamped(x, -3, 7, 0.7, '{name}')).*"));
            assert_eq!([0, 1, 2].map(|i| row.get::<_, i64>(i)), expected, "{name}");
        }
        for text in ["em", "em(grid=log)", "em(step=0.5)"] {
            let three = [0.1, 0.5, 0.9].map(Some);
            let of_ranks = Arguments {
                ranks: Some(Ranks::Many(&three)),
                ..arguments(text)
            };
            let mechanism = QUANTILES.build(&of_ranks).expect("a mechanism");
            let nobody = Totals::new(mechanism.bins().count());
            let expected = mechanism.release(&nobody, &mut generator());
            let call = format!("dp_quantiles(x, -3, 7, '{{0.1, 0.5, 0.9}}', 0.7, '{text}')");
            assert_eq!(seeded(&call).get::<_, Vec<f64>>(0), expected, "{text}");
            let mechanism = MEDIAN.build(&arguments(text)).expect("a mechanism");
            let expected = mechanism.release(&nobody, &mut generator());
            for call in ["dp_median(x, -3, 7, ", "dp_quantile(x, -3, 7, 0.5, "] {
                let found: f64 = seeded(&format!("{call}0.7, '{text}')")).get(0);
                assert_eq!([found][..], expected, "{call} {text}");
            }
        }
        for entry in VARIANCE.entries {
            let name = entry.info.example;
            let mechanism = VARIANCE.build(&arguments(name)).expect("a variance");
            let expected = match *mechanism {
                SomeVariance::Moments(mechanism) => {
                    mechanism.release(&Moments::default(), &mut generator())
                }
                SomeVariance::Auto(mechanism) => {
                    let nobody = OctaveCounts::default();
                    mechanism.release(&nobody, &mut generator()).answer
                }
            };
            for (call, expected) in [
                ("dp_var_pop", expected.variance),
                ("dp_stddev_pop", expected.stddev),
            ] {
                let found: f64 = seeded(&format!("{call}(x, -3, 7, 0.7, '{name}')")).get(0);
                assert_eq!(found.to_bits(), expected.to_bits(), "{call} {name}");
            }
            let row = seeded(&format!("(dp_var_pop_estimate(x, -3, 7, 0.7, '{name}')).*"));
            let columns = ["value", "stddev", "mean", "count"];
            let found = columns.map(|column| row.get::<_, f64>(column));
            let whole = [
                expected.variance,
                expected.stddev,
                expected.mean,
                expected.count,
            ];
            assert_eq!(found, whole, "{name}");
        }
        for (registry, call) in [
            (&COVARIANCE, "dp_covar_pop(x, k, -3, 7, 0, 5, 0.7, '{}')"),
            (&SLOPE, "dp_regr_slope(x, k, -3, 7, 0, 5, 0.7, '{}')"),
            (&SLOPE, "dp_regr_intercept(x, k, -3, 7, 0, 5, 0.7, '{}')"),
            (&CORRELATION, "dp_corr(x, k, -3, 7, 0, 5, 0.7, '{}')"),
            (
                &CORRELATION,
                "(dp_regr(x, k, -3, 7, 0, 5, 0.7, '{}')).count",
            ),
        ] {
            for entry in registry.entries {
                let of_two = Arguments {
                    x_bounds: Some((Some(0.0), Some(5.0))),
                    ..arguments(entry.info.example)
                };
                let mechanism = registry.build(&of_two).expect("two columns");
                let expected = mechanism.release(&PairMoments::default(), &mut generator());
                let (line, strength) = (expected.line, expected.strength);
                let expected = match call.split('(').find(|part| !part.is_empty()) {
                    Some("dp_covar_pop") => Some(expected.covariance),
                    Some("dp_regr_slope") => line.map(|line| line.slope),
                    Some("dp_regr_intercept") => line.map(|line| line.intercept),
                    Some("dp_corr") => strength.map(|strength| strength.correlation),
                    _ => Some(expected.count),
                };
                let found: f64 = seeded(&call.replace("{}", entry.info.example)).get(0);
                assert_eq!(Some(found), expected, "{call}");
            }
        }
        for (registry, call) in [
            (&COUNTS, "dp_counts(0.7, '{}', VARIADIC ARRAY[x > 3])"),
            (&SUMS, "dp_sums(ARRAY[x, x, x], -3, 7, 0.7, '{}')"),
            (&SUMS, "dp_sums(ARRAY[x], 0, 7, 0.7, '{}')"),
            (&MEANS, "dp_means(ARRAY[x], -3, 7, 0.7, '{}')"),
        ] {
            for entry in registry.entries {
                let name = text(entry.info.example);
                let bounds = match (registry.aggregate, call.contains("-3")) {
                    ("dp_counts", _) => None,
                    (_, true) => Some((Some(-3.0), Some(7.0))),
                    _ => Some((Some(0.0), Some(7.0))),
                };
                if bounds.is_some_and(|(lo, _)| lo != Some(0.0)) && entry.info.name == "ellipse" {
                    continue; // It takes no values of both signs.
                }
                let of_vectors = Arguments {
                    bounds,
                    ..arguments(&name)
                };
                let mechanism = registry.build(&of_vectors).expect("of vectors");
                let expected = mechanism.release(&no_vectors, &mut generator());
                let expected = match registry.aggregate {
                    "dp_means" => expected.means(),
                    _ => expected.values(),
                };
                let call = call.replace("{}", &name);
                assert_eq!(seeded(&call).get::<_, Vec<f64>>(0), expected, "{call}");
            }
        }
    }
}

#[test]
fn plain_queries_answer_as_for_no_rows() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    for sql in [
        "SELECT {} FROM t WHERE false",
        "SELECT {} FROM t WHERE x < 0",
        "SELECT {} FROM (SELECT * FROM t LIMIT 0) t",
        "SELECT {} FROM t, settings WHERE t.x = -settings.hi",
        "SELECT {} FROM (SELECT k, x FROM t WHERE x < 0 UNION ALL SELECT k, x FROM parts WHERE x < 0) u",
        "WITH c AS MATERIALIZED (SELECT * FROM t WHERE x < 0) SELECT {} FROM c",
        "SELECT a FROM (SELECT {} AS a FROM t WHERE x < 0) s",
        "SELECT (SELECT {} FROM t WHERE x < -o.hi) FROM settings o",
        "SELECT s.a FROM settings o, LATERAL (SELECT {} AS a FROM t WHERE x < -o.hi) s",
    ] {
        answers_like_no_rows(&mut client, sql, "", 1);
    }
}

#[test]
fn groups_answer_as_for_no_rows() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    for hashed in ["on", "off"] {
        run(&mut client, &format!("SET enable_hashagg = {hashed}"));
        // In groups that have other rows.
        for (sql, groups) in [
            ("SELECT {} FROM t", 1),
            ("SELECT {} FROM t GROUP BY k", 4),
            ("SELECT {} FROM t GROUP BY ROLLUP (k)", 5),
            ("SELECT {} FROM parts GROUP BY k", 4),
        ] {
            answers_like_no_rows(&mut client, sql, " FILTER (WHERE x < 0)", groups);
        }
        let sql = "SELECT {} FROM t WHERE x < 0 GROUP BY GROUPING SETS ((k), ())";
        answers_like_no_rows(&mut client, sql, "", 1);
    }
}

#[test]
fn parallel_and_partitioned_plans_answer_as_for_no_rows() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    let filter = " FILTER (WHERE x < 0)";
    // What makes PostgreSQL aggregate each partition by itself although it is small.
    let partitions = "SET enable_partitionwise_aggregate = on; SET cpu_tuple_cost = 1";
    let both = format!("{PARALLEL}; {partitions}");
    // Conditions whose rows PostgreSQL takes to be many. Gather Merge below grouping sets has nothing to merge.
    for (settings, sql, filter, groups, words) in [
        (
            PARALLEL,
            "SELECT {} FROM t WHERE x + k < 0",
            "",
            1,
            &["Finalize Aggregate", "Gather"][..],
        ),
        (
            PARALLEL,
            "SELECT {} FROM t GROUP BY k",
            filter,
            4,
            &["Gather", "Partial"],
        ),
        (
            &format!("{PARALLEL}; SET enable_hashagg = off"),
            "SELECT {} FROM t GROUP BY k",
            filter,
            4,
            &["Gather Merge", "Partial GroupAggregate"],
        ),
        (
            partitions,
            "SELECT {} FROM parts WHERE x + k < 0",
            "",
            1,
            &["Finalize Aggregate", "Append", "!Gather"],
        ),
        (
            partitions,
            "SELECT {} FROM parts GROUP BY k",
            filter,
            4,
            &["Append"],
        ),
        (
            &both,
            "SELECT {} FROM parts WHERE x + k < 0",
            "",
            1,
            &["Finalize Aggregate", "Append", "Gather"],
        ),
        // No partition is left.
        (&both, "SELECT {} FROM parts WHERE k = 9", "", 1, &[]),
    ] {
        run(
            &mut client,
            &format!("BEGIN; SET LOCAL max_parallel_workers_per_gather = 0; {settings}"),
        );
        let plan = explain(&mut client, &sql.replace("{}", &columns(filter)));
        assert_plan(&plan, words, sql);
        answers_like_no_rows(&mut client, sql, filter, groups);
        run(&mut client, "ROLLBACK");
    }
}

#[test]
fn no_rows_are_answered_with_arguments_from_elsewhere() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    run(
        &mut client,
        "CREATE FUNCTION in_plpgsql(lo float8, hi float8, e float8, m dp_mechanism) RETURNS float8
         LANGUAGE plpgsql AS $$
         DECLARE answer float8; width float8 := hi - lo;
         BEGIN
             SELECT dp_mean(x, lo, lo + width, e, m) INTO answer FROM t WHERE x < 0;
             RETURN answer;
         END $$",
    );
    for parallel in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, parallel);
        let prepared = client
            .prepare("SELECT dp_mean(x, $1, $2, $3, $4::text::dp_mechanism) FROM t WHERE x < 0")
            .expect("a prepared statement");
        let mut answers = std::collections::BTreeSet::new();
        for (lo, hi) in [(0.0, 1.0), (10.0, 20.0), (-5.0, -4.0)] {
            for _ in 0..40 {
                let row = client
                    .query_one(&prepared, &[&lo, &hi, &1.0f64, &"laplace"])
                    .expect("an answer");
                let mean: f64 = row.get(0);
                assert!((lo..=hi).contains(&mean), "{mean} {lo} {hi}");
                answers.insert(mean.to_bits());
                let sql = format!("SELECT in_plpgsql({lo}, {hi}, 1.0, 'laplace')");
                let mean: f64 = value(&mut client, &sql);
                assert!((lo..=hi).contains(&mean), "{mean} {lo} {hi}");
            }
        }
        assert!(answers.len() > 3);
        for sql in [
            "SELECT dp_mean(x, (SELECT lo FROM settings), (SELECT hi FROM settings), \
             (SELECT eps FROM settings))::text FROM t WHERE x < 0",
            "SELECT dp_count((SELECT eps FROM settings))::text FROM t WHERE x < 0",
            "SELECT dp_counts((SELECT eps FROM settings), 'laplace', x > 1, k = 1)::text \
             FROM t WHERE x < 0",
            "SELECT (SELECT dp_sums(ARRAY[x], o.lo, o.hi, o.eps, 'laplace(d=1)') \
             FROM t WHERE x < 0)::text FROM settings o",
            "SELECT s.a FROM settings o, LATERAL (SELECT dp_counts(o.eps, \
             ('laplace(d=' || o.eps + 1 || ')')::text, VARIADIC ARRAY[x > 1])::text AS a \
             FROM t WHERE x < 0) s",
            "SELECT (SELECT dp_sum(x, o.lo, o.hi, o.eps) FROM t WHERE x < 0)::text FROM settings o",
            "SELECT s.a FROM settings o, LATERAL \
             (SELECT dp_mean(x, o.lo, o.hi, o.eps, 'shifted')::text AS a FROM t WHERE x < 0) s",
        ] {
            assert!(value::<Option<String>>(&mut client, sql).is_some(), "{sql}");
        }
    }
}

#[test]
fn no_rows_are_answered_in_a_cursor_and_a_table() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    run(
        &mut client,
        "CREATE TABLE kept AS SELECT dp_mean(x, 0, 1, 1.0) AS a FROM t WHERE x < 0",
    );
    assert!(value::<Option<f64>>(&mut client, "SELECT a FROM kept").is_some());
    let mut transaction = client.transaction().expect("a transaction");
    let declare = "DECLARE c SCROLL CURSOR FOR SELECT dp_mean(x, 0, 1, 1.0) FROM t WHERE x < 0";
    transaction.batch_execute(declare).expect("a cursor");
    let first: Option<f64> = transaction
        .query_one("FETCH NEXT FROM c", &[])
        .expect("a row")
        .get(0);
    assert!(first.is_some());
    // Looked at again, it is the same release.
    transaction
        .batch_execute("MOVE BACKWARD ALL FROM c")
        .expect("back");
    let again: Option<f64> = transaction
        .query_one("FETCH NEXT FROM c", &[])
        .expect("a row")
        .get(0);
    assert_eq!(first, again);
}
