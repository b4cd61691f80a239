//! Answers with their intervals: what they hold through SQL, at what price, and that a call of them is
//! one release; and the errors that are planned for before anything is spent.

use dp_mean_tests::releases::Releases;
use dp_mean_tests::{Build, PARALLEL, assert_plan, explain, refused, rows, run, session, value};
use postgres::Client;

/// How many standard errors more than its share an interval may miss: for the settings here, beyond it
/// with probability below 1e-6.
const STANDARD_ERRORS: f64 = 5.5;

/// x from 0 to 9.9, 1000 rows with a value.
const TABLE: &str = "CREATE TABLE t AS \
     SELECT id, id % 3 AS k, (id % 100) / 10.0 :: float8 AS x, NULL::float8 AS nothing \
     FROM generate_series(0, 999) id; ANALYZE t";

/// Of x: that of the first hundred whole numbers, 9999 / 12, in tenths.
const VARIANCE: f64 = 8.3325;

#[test]
fn a_call_is_one_release() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    for group in ["", " GROUP BY k"] {
        let sql = format!(
            "SELECT (dp_mean_estimate(x, 0, 10, 0.1)).*, (dp_mean_estimate(x, 0, 10, 0.1)).*, \
             dp_mean_estimate(x, 0, 10, 0.1, 'laplace'), \
             (dp_mean_estimate(x, 0, 10, 0.1, 'laplace', 0.9)).value FROM t{group}"
        );
        for row in rows(&mut client, &sql) {
            let number = |i: usize| row.get::<_, f64>(i);
            for i in [0, 1, 2, 3, 5, 7, 8] {
                assert_eq!(number(i), number(i + 10), "{sql}");
            }
            let [value, lower, upper] = [0, 1, 2].map(number);
            assert!(0.0 <= lower && lower <= value && value <= upper && upper <= 10.0);
            assert_eq!(row.get::<_, &str>(4), "row");
            assert_eq!([number(7), number(8)], [0.1, 0.0]);
            // The loss of the hourglass is always eps or -eps.
            assert!(
                (number(5) / (0.1 * 0.05f64.tanh()) - 1.0).abs() < 1e-9,
                "{sql}"
            );
            assert_eq!(row.get::<_, Option<f64>>(6), None);
            assert_ne!(value, number(21));
        }
    }
    // One node, with one aggregate in it.
    let plan = explain(
        &mut client,
        "SELECT (dp_mean_estimate(x, 0, 10, 0.1)).* FROM t",
    );
    assert_plan(&plan, &["Aggregate", "!SubPlan"], &plan);
}

/// The columns of a call's answer, as text.
fn columns(client: &mut Client, call: &str) -> Vec<(String, String)> {
    let sql = format!(
        "SELECT key, value FROM (SELECT {call} AS answer FROM t) s, jsonb_each_text(to_jsonb(answer))"
    );
    let mut columns: Vec<(String, String)> = rows(client, &sql)
        .iter()
        .map(|row| {
            (
                row.get(0),
                row.get::<_, Option<_>>(1)
                    .unwrap_or_else(|| "NULL".to_owned()),
            )
        })
        .collect();
    columns.sort();
    columns
}

#[test]
fn estimates_show_their_cost() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    for (call, epsilon, delta, mechanism) in [
        ("dp_mean_estimate(x, 0, 10, 0.5)", "0.5", "0", "hourglass"),
        (
            "dp_mean_estimate(x, 0, 10, 0.5, 'laplace(rows=2)')",
            "0.5",
            "0",
            "laplace(rows=2)",
        ),
        (
            "dp_mean_estimate(x, 0, 10, 0.5, 'gaussian(delta=1e-3)', 0.5)",
            "0.5",
            "0.001",
            "gaussian(delta=0.001)",
        ),
        (
            "dp_mean_estimate(x, 0, 10, NULL, 'gaussian(mu=0.5)')",
            "NULL",
            "NULL",
            "gaussian(mu=0.5)",
        ),
        (
            "dp_mean_estimate(x, 0, 10, 3, 'clipped(n=1000)')",
            "3",
            "0",
            "clipped(n=1000)",
        ),
        ("dp_sum_estimate(x, 0, 10, 2)", "2", "0", "staircase"),
        ("dp_var_pop_estimate(x, 0, 10, 0.5)", "0.5", "0", "laplace"),
        (
            "dp_var_pop_estimate(x, 0, 10, (SELECT 0.5), (SELECT 'laplace( sample=yes )'::varchar))",
            "0.5",
            "0",
            "laplace(sample=yes)",
        ),
        (
            "dp_var_pop_estimate(x, 0, 10, 2, 'gaussian(delta=0.125)', 0.5)",
            "2",
            "0.125",
            "gaussian(delta=0.125)",
        ),
        (
            "dp_sum_estimate(x, 0, 10, 2, 'laplace', 0.99)",
            "2",
            "0",
            "laplace",
        ),
        ("dp_count_estimate(2)", "2", "0", "geometric"),
        ("dp_count_estimate(x, 2)", "2", "0", "geometric"),
        (
            "dp_count_estimate(x, 2, 'undercount(delta=0.125)', 0.9)",
            "2",
            "0.125",
            "undercount(delta=0.125)",
        ),
    ] {
        let columns = columns(&mut client, call);
        let column = |name: &str| {
            let found = columns.iter().find(|(key, _)| key == name);
            found
                .unwrap_or_else(|| panic!("{call}: {columns:?}"))
                .1
                .as_str()
        };
        let spent = [column("epsilon"), column("delta"), column("mechanism")];
        assert_eq!(spent, [epsilon, delta, mechanism], "{call}");
        let number = |name| column(name).parse::<f64>().expect("a number");
        assert!(number("lower") <= number("upper"), "{call}");
        let with_count = call.starts_with("dp_mean") || call.starts_with("dp_var_pop");
        assert_eq!(
            columns.iter().any(|(key, _)| key == "count"),
            with_count,
            "{call}"
        );
    }
    let kept: String = value(
        &mut client,
        "SELECT pg_typeof((dp_count_estimate(1.0)).lower) || ' ' || pg_typeof((dp_sum_estimate(x, 0, 1, 1)).lower) \
         || ' ' || pg_typeof((dp_mean_estimate(x, 0, 1, 1)).mechanism) FROM t",
    );
    assert_eq!(kept, "bigint double precision text");
}

#[test]
fn estimates_without_an_interval_show_their_cost() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    for (call, expected) in [
        (
            "dp_counts_estimate(NULL, 'correlated(mu=2)', x > 5, k = 1)",
            ["NULL", "NULL", "correlated(mu=2.0)"],
        ),
        (
            "dp_counts_estimate((SELECT 1), 'correlated(delta=0.125, d=1)', VARIADIC ARRAY[x > 5])",
            ["1", "0.125", "correlated(d=1, delta=0.125)"],
        ),
        (
            "dp_sums_estimate(ARRAY[x], 0, 10, 2, 'laplace(d=1)')",
            ["2", "0", "laplace(d=1)"],
        ),
    ] {
        for group in ["", " WHERE false"] {
            let sql = format!(
                "SELECT concat_ws(' ', coalesce(epsilon::text, 'NULL'), coalesce(delta::text, 'NULL'), mechanism) \
                 FROM (SELECT ({call}).* FROM t{group}) s"
            );
            assert_eq!(
                value::<String>(&mut client, &sql),
                expected.join(" "),
                "{sql}"
            );
        }
    }
}

/// Whom an answer protects: by the plan, with rows or without, in workers too.
#[test]
fn estimates_show_the_privacy_unit() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    let person = "(SELECT id % 50 AS person, dp_contribution(x, 0, 10, 2) AS c, dp_contribution_sum(x, 0, 10) AS s \
                  FROM t{where} GROUP BY person) p";
    let kept = "(SELECT id % 50 AS person, dp_groups(2, id % 50, k, dp_part(x, 0, 10, 2)) AS kept \
                FROM t{where} GROUP BY id % 50) p, dp_unnest(kept) AS g(k int, c dp_contribution)";
    let rows_of = "t{where}";
    for (call, from, unit) in [
        ("dp_mean_estimate(x, 0, 10, 1)", rows_of, "row"),
        (
            "dp_sum_estimate(x, 0, 10, 1, 'laplace(rows=3)')",
            rows_of,
            "row (at most 3 of a person in 1 group)",
        ),
        (
            "dp_count_estimate(x, 1, 'geometric(rows=3, groups=2)')",
            rows_of,
            "row (at most 3 of a person in each of 2 groups)",
        ),
        ("dp_count_estimate(1.0)", rows_of, "row"),
        (
            "dp_var_pop_estimate(x, 0, 10, 1, 'laplace(groups=4)')",
            rows_of,
            "row (at most 1 of a person in each of 4 groups)",
        ),
        (
            "dp_counts_estimate(1, 'laplace', x > 5, k = 1)",
            rows_of,
            "row",
        ),
        (
            "dp_sums_estimate(ARRAY[x], 0, 10, 2, 'laplace(d=1, rows=2)')",
            rows_of,
            "row (at most 2 of a person in 1 group)",
        ),
        // An argument that is computed for each execution.
        (
            "dp_mean_estimate(c, 0, 10, 1, (SELECT 'laplace(rows=2)'))",
            person,
            "person (at most 2 rows in 1 group)",
        ),
        (
            "dp_sum_estimate(s, 0, 10, 1)",
            person,
            "person (at most 1 row in 1 group)",
        ),
        (
            "dp_count_estimate(c, 1, 'geometric(rows=2)')",
            person,
            "person (at most 2 rows in 1 group)",
        ),
        (
            "dp_var_pop_estimate(c, 0, 10, 1, 'laplace(rows=2)')",
            person,
            "person (at most 2 rows in 1 group)",
        ),
        (
            "dp_mean_estimate(c, 0, 10, 1, 'laplace(rows=2, groups=3)')",
            kept,
            "person (at most 2 rows in each of 3 groups)",
        ),
        (
            "dp_counts_estimate(1, 'laplace(d=1, groups=2)', g.k = 1)",
            kept,
            "person (at most 1 row in each of 2 groups)",
        ),
    ] {
        for parallel in ["", PARALLEL] {
            run(&mut client, &format!("RESET ALL; {parallel}"));
            for filter in ["", " WHERE false"] {
                let from = from.replace("{where}", filter);
                // The query is grouped by all keys, whether there are groups or none.
                let by = if from.contains("kept") {
                    " GROUP BY g.k"
                } else {
                    ""
                };
                let sql =
                    format!("SELECT DISTINCT unit FROM (SELECT ({call}).* FROM {from}{by}) s");
                let found = rows(&mut client, &sql);
                let found = Vec::from_iter(found.iter().map(|row| row.get::<_, String>(0)));
                let expected = if by.is_empty() || filter.is_empty() {
                    vec![unit]
                } else {
                    vec![]
                };
                assert_eq!(found, expected, "{sql}");
            }
        }
    }
}

/// One order for all of them: what the aggregate without `_estimate` answers, as `value`, comes first, and what it cost
/// last.
#[test]
fn every_estimate_has_its_columns_in_one_order() {
    let (_database, mut client) = session(Build::Release);
    let sql = "SELECT DISTINCT p.proname::text, array_agg(attname::text) OVER (PARTITION BY p.oid ORDER BY attnum \
             ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), \
             (SELECT bool_and(o.prorettype = (SELECT atttypid FROM pg_attribute v \
                 WHERE v.attrelid = t.typrelid AND v.attname = 'value')) \
              FROM pg_proc o WHERE o.proname = replace(p.proname, '_estimate', '')) \
         FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype JOIN pg_attribute a ON attrelid = typrelid \
         WHERE p.prokind = 'a' AND p.proname LIKE 'dp\\_%\\_estimate'";
    let estimates = rows(&mut client, sql);
    assert_eq!(estimates.len(), 11);
    for row in estimates {
        let (name, columns): (&str, Vec<&str>) = (row.get(0), row.get(1));
        assert_eq!(columns[0], "value", "{name}");
        assert!(row.get::<_, bool>(2), "{name}");
        assert!(
            columns.ends_with(&["unit", "rho", "mu", "epsilon", "delta", "mechanism"]),
            "{name}: {columns:?}"
        );
        if columns.contains(&"lower") {
            assert_eq!(columns[1..3], ["lower", "upper"], "{name}");
        }
    }
}

/// What is published is numbers and text: it can be read, dumped and restored where the extension is not.
#[test]
fn stored_estimates_do_not_need_the_extension() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    run(
        &mut client,
        "CREATE TABLE means AS SELECT (dp_mean_estimate(x, 0, 10, 1)).* FROM t; \
         CREATE TABLE sums AS SELECT (dp_sum_estimate(x, 0, 10, 1)).* FROM t; \
         CREATE TABLE counts AS SELECT (dp_count_estimate(1)).* FROM t; \
         CREATE TABLE variances AS SELECT (dp_var_pop_estimate(x, 0, 10, 1)).* FROM t; \
         CREATE TABLE many AS SELECT (dp_counts_estimate(1, 'laplace', x > 1)).* FROM t; \
         CREATE TABLE planned AS SELECT * FROM dp_mean_plan(1000, 0, 10, 1); \
         CREATE TABLE mechanisms AS SELECT * FROM dp_mechanisms(); \
         DROP EXTENSION dp_mean",
    );
    let sql = "SELECT string_agg(mechanism, ' ') FROM (SELECT mechanism FROM means UNION ALL SELECT mechanism FROM sums \
         UNION ALL SELECT mechanism FROM counts UNION ALL SELECT mechanism FROM variances \
         UNION ALL SELECT mechanism FROM many) s";
    let kept: String = value(&mut client, sql);
    assert_eq!(kept, "hourglass staircase geometric laplace laplace");
}

#[test]
fn intervals_hold_what_they_estimate() {
    let mut releases = Releases::seeded(2701);
    run(releases.client(), TABLE);
    let draws = 3000;
    let fields = ["lower", "upper"];
    for (call, truth, miss) in [
        ("dp_mean_estimate(x, 0, 10, 0.05)", 4.95, 0.05),
        ("dp_mean_estimate(x, 0, 10, 1, 'hourglass', 0.5)", 4.95, 0.5),
        (
            "dp_mean_estimate(x, 0, 5, 1, 'staircase', 0.99)",
            3.725,
            0.01,
        ),
        ("dp_mean_estimate(x, 0, 10, 1, 'laplace')", 4.95, 0.05),
        (
            "dp_mean_estimate(x, 0, 10, 1, 'gaussian(delta=1e-6)')",
            4.95,
            0.05,
        ),
        ("dp_mean_estimate(x, 0, 10, 1, 'shifted')", 4.95, 0.05),
        ("dp_mean_estimate(x, -2, 10, 1, 'independent')", 4.95, 0.05),
        (
            "dp_mean_estimate(x, 0, 10, 1, 'clipped(n=1000)')",
            4.95,
            0.05,
        ),
        (
            "dp_mean_estimate(x, 0, 10, 1, 'hourglass(rows=3)')",
            4.95,
            0.05,
        ),
        ("dp_sum_estimate(x, 0, 10, 1)", 4950.0, 0.05),
        (
            "dp_sum_estimate(x, -10, 10, 1, 'laplace', 0.5)",
            4950.0,
            0.5,
        ),
        (
            "dp_sum_estimate(x, 0, 10, 1, 'gaussian(delta=1e-6)')",
            4950.0,
            0.05,
        ),
        ("dp_var_pop_estimate(x, 0, 10, 1)", VARIANCE, 0.05),
        (
            "dp_var_pop_estimate(x, 0, 10, 0.1, 'laplace', 0.5)",
            VARIANCE,
            0.5,
        ),
        (
            "dp_var_pop_estimate(x, 0, 10, 1, 'gaussian(delta=1e-6, sample=yes)', 0.99)",
            VARIANCE * 1000.0 / 999.0,
            0.01,
        ),
        ("dp_count_estimate(1)", 1000.0, 0.05),
        ("dp_count_estimate(x, 0.1)", 1000.0, 0.05),
        (
            "dp_count_estimate(x, 0.1, 'gaussian(delta=1e-6)', 0.5)",
            1000.0,
            0.5,
        ),
        ("dp_count_estimate(nothing, 1)", 0.0, 0.05),
        (
            "dp_count_estimate(x, 1, 'undercount(delta=1e-3)')",
            1000.0,
            0.05,
        ),
    ] {
        let ends = releases.draw(call, &fields, "t", draws);
        let missed = ends
            .chunks(2)
            .filter(|ends| !(ends[0] <= truth && truth <= ends[1]))
            .count() as f64;
        let expected = draws as f64 * miss;
        let off = STANDARD_ERRORS * (expected * (1.0 - miss)).sqrt();
        assert!(
            missed <= expected + off,
            "{call}: {missed} of {draws} missed"
        );
        // Nor is it wide for nothing, but where whole numbers make it so or no rows are at the end.
        let tight = call.starts_with("dp_mean") || call.starts_with("dp_sum");
        assert!(
            !tight || missed >= 0.9 * expected - off,
            "{call}: {missed} of {draws} missed"
        );
        // Each release has its own.
        assert!(ends.chunks(2).any(|other| other != &ends[..2]), "{call}");
    }
}

#[test]
fn prepared_statements_take_all_arguments() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    let sql = "SELECT (e).lower, (e).upper, (e).mechanism::text FROM (SELECT \
               dp_mean_estimate(x, $1, $2, $3, $4::text::dp_mechanism, $5) AS e FROM t WHERE k = $6) s";
    for mode in ["force_generic_plan", "force_custom_plan"] {
        run(&mut client, &format!("SET plan_cache_mode = {mode}"));
        let statement = client.prepare(sql).expect("a statement");
        let mut width = |confidence: f64, key: i32| {
            let arguments: [&(dyn postgres::types::ToSql + Sync); 6] =
                [&0.0, &10.0, &50.0, &"laplace", &confidence, &key];
            let row = client.query_one(&statement, &arguments).expect("an answer");
            assert_eq!(row.get::<_, &str>(2), "laplace");
            let [lower, upper] = [row.get::<_, f64>(0), row.get::<_, f64>(1)];
            if key < 3 {
                assert!(lower < 5.2 && upper > 4.7, "{lower} {upper}");
            }
            upper - lower
        };
        assert!(width(0.5, 1) < width(0.99, 1));
        assert!(width(0.99, 7) <= 10.0);
        assert!(width(0.5, 2) < width(0.99, 0));
    }
}

#[test]
fn planned_errors_are_those_of_estimates() {
    let mut releases = Releases::seeded(2702);
    run(
        releases.client(),
        "CREATE TABLE t AS SELECT 0.02::float8 AS x FROM generate_series(1, 2000)",
    );
    for (eps, mech) in [
        ("0.5", "hourglass"),
        ("1", "laplace"),
        ("1", "gaussian(delta=1e-5)"),
    ] {
        let planned: Vec<f64> = {
            let row = &rows(
                releases.client(),
                &format!("SELECT * FROM dp_mean_error(2000, 0, 1, {eps}, '{mech}')"),
            )[0];
            vec![row.get(0), row.get(1)]
        };
        let call = format!("dp_mean_estimate(x, 0, 1, {eps}, '{mech}')");
        let draws = 40_000;
        let drawn = releases.draw(&call, &["value", "lower", "upper"], "t", draws);
        let square: f64 = drawn.chunks(3).map(|row| (row[0] - 0.02).powi(2)).sum();
        let width: f64 = drawn.chunks(3).map(|row| row[2] - row[1]).sum();
        let found = [(square / draws as f64).sqrt(), width / draws as f64 / 2.0];
        for (planned, found) in planned.iter().zip(found) {
            // The mean is not at the end, so a little below; and four standard errors of noise.
            let ratio = planned / found;
            assert!(
                (0.97..=1.05).contains(&ratio),
                "{call}: {planned} planned, {found}"
            );
        }
        let epsilon: f64 = value(
            releases.client(),
            &format!(
                "SELECT dp_epsilon_for(2000, 0, 1, {:?}, '{mech}')",
                planned[0]
            ),
        );
        let given: f64 = eps.parse().expect("a number");
        assert!((epsilon / given - 1.0).abs() < 1e-5, "{mech}: {epsilon}");
    }
}

#[test]
fn planning_names_what_is_wrong() {
    let (_database, mut client) = session(Build::Release);
    for (call, argument) in [
        ("dp_mean_error(NULL, 0, 1, 1)", "n"),
        ("dp_mean_error(1.5, 0, 1, 1)", "n"),
        ("dp_mean_error(10, 1, 0, 1)", "hi"),
        ("dp_mean_error(10, 0, 1, NULL)", "eps"),
        ("dp_mean_error(10, 0, 1, 1, NULL)", "mech"),
        ("dp_mean_error(10, 0, 1, 1, 'laplace', 1)", "confidence"),
        ("dp_mean_error(10, 0, 1, 1, 'laplace', NULL)", "confidence"),
        ("dp_epsilon_for(10, 0, 1, NULL)", "rmse"),
        ("dp_epsilon_for(10, 0, 1, 0)", "rmse"),
        ("dp_epsilon_for(10, 0, 1, 1e-12)", "rmse"),
        ("dp_epsilon_for(10, 0, 1, 0.1, 'gaussian(mu=1)')", "mech"),
        ("dp_epsilon_for(10, NULL, 1, 0.1)", "lo"),
    ] {
        let refusal = refused(&mut client, &format!("SELECT {call}"));
        assert_eq!(refusal.code, "22023", "{call}: {refusal:?}");
        assert!(
            refusal.message.contains(&format!("\"{argument}\"")),
            "{call}: {refusal:?}"
        );
        assert!(!refusal.hint.is_empty(), "{call}");
    }
    let without: Option<f64> = value(
        &mut client,
        "SELECT half_width FROM dp_mean_error(1000, 0, 1, 1, 'smooth')",
    );
    assert_eq!(without, None);
    let open: f64 = value(
        &mut client,
        "SELECT rmse FROM dp_mean_error(1000, NULL, NULL, 1, 'symmetric(delta=1e-6, scale=2)')",
    );
    assert!(open > 0.0);
    // The default mechanism is that of dp_mean.
    let same = "SELECT e.rmse = f.rmse AND e.half_width = f.half_width FROM dp_mechanisms() m, \
                dp_mean_error(100, 0, 1, 1) e, dp_mean_error(100, 0, 1, 1, m.mechanism, 0.95) f \
                WHERE m.aggregate = 'dp_mean' AND m.is_default";
    assert!(value::<bool>(&mut client, same));
}

/// A sum of two intervals in quadrature; the p value says whether it holds 0.
#[test]
fn differences_have_intervals() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT g % 2 = 0 AS even, (g % 2) * 2.0 + g % 7 AS x FROM generate_series(1, 4000) g",
    );
    let numbers = "SELECT value || ' ' || round(lower::numeric, 6) || ' ' || round(upper::numeric, 6) || ' ' \
                   || (p_value < 0.05) FROM dp_difference(3, 2, 5, 1, 0, 4)";
    assert_eq!(
        value::<String>(&mut client, numbers),
        "2 -1.162278 4.236068 false"
    );
    let of_groups = |call: &str, checks: &str| {
        format!(
            "WITH e AS (SELECT even, {call} AS e FROM t GROUP BY even), \
                  d AS (SELECT (dp_difference(a.e, b.e)).* FROM e a, e b WHERE NOT a.even AND b.even) \
             SELECT bool_and({checks}) FROM d"
        )
    };
    let population = "population_lower < value AND value < population_upper AND p_value < 1e-6 \
                      AND population_lower > 1";
    let rows = "lower < value AND value < upper AND abs(value - 2) < 0.5";
    let neither = "(population_lower, population_upper, p_value) IS NULL";
    for (call, checks) in [
        (
            "dp_var_pop_estimate(x, 0, 9, 1)",
            format!(
                "{rows} AND {population} AND population_lower < lower AND upper < population_upper"
            ),
        ),
        (
            "dp_var_pop_estimate(x, 0, 9, 1, 'gaussian(delta=1e-6)')",
            format!("{rows} AND {population}"),
        ),
        // The bounds that were found are another matter.
        (
            "dp_var_pop_estimate(x, 0, 9, 1, 'auto')",
            format!("lower IS NULL AND upper IS NULL AND {neither}"),
        ),
        (
            "dp_mean_estimate(x, 0, 9, 1)",
            format!("{rows} AND {neither}"),
        ),
        (
            "dp_quantile_estimate(x, 0, 9, 0.5, 1)",
            "population_lower <= value AND value <= population_upper AND lower IS NULL".to_owned(),
        ),
    ] {
        assert!(
            value::<bool>(&mut client, &of_groups(call, &checks)),
            "{call}: {checks}"
        );
    }
    for (arguments, name) in [
        ("3, 2, 5, 1, 0, 4, 0", "confidence"),
        ("3, 2, 5, 1, 0, 4, 1", "confidence"),
        ("3, 2, 'Infinity', 1, 0, 4", "first"),
        ("3, 2, 5, 'NaN', 0, 4", "second"),
    ] {
        let error = refused(&mut client, &format!("SELECT dp_difference({arguments})"));
        assert_eq!(error.code, "22023", "{arguments}: {error:?}");
        assert!(
            error.message.contains(&format!("\"{name}\"")),
            "{arguments}: {error:?}"
        );
    }
    let of_null =
        "SELECT d.value IS NULL AND d.p_value IS NULL FROM dp_difference(3, 2, NULL, 1, 0, 4) AS d";
    assert!(value::<bool>(&mut client, of_null));
}
