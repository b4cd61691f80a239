//! The right answer under every plan that PostgreSQL makes for an aggregate, and in every statement
//! that runs one. Each case says what must stand in its plan, so none passes under another.
//!
//! At eps 50 the noise is far below what a lost, doubled or misplaced row would change: see
//! [`TOLERANCE`].

use std::collections::BTreeSet;
use std::io::Read;
use std::process::Command;

use dp_mean_tests::calls::calls;
use dp_mean_tests::{
    Build, Database, PARALLEL, assert_plan, explain, rows, run, session, value, variable,
};
use postgres::{Client, SimpleQueryMessage};

/// How far an answer at eps 50 may lie from the truth. The values are quarters and the bounds 0 and
/// 128, so each stands on the grid and the noise is all there is. A staircase noise leaves its
/// first step, at most `128 e^(-50/3)` wide for a sum and far less for a mean of the groups here,
/// with a chance below `e^-24`, and a count is wrong with a chance of `2 e^-50`. A row lost, doubled
/// or misplaced changes counts by 1.
const TOLERANCE: f64 = 3e-5;

/// Values inside and outside the bounds, NULLs too; `c` is the value clamped. `parts` is the same
/// in partitions by `k`.
const TABLES: &str = "
    CREATE TABLE items AS
        SELECT i % 10 AS k, i % 3 AS g, x, CASE WHEN x < 0 THEN 0 WHEN x > 128 THEN 128 ELSE x END c
        FROM generate_series(1, 20000) i,
            LATERAL (SELECT (CASE WHEN i % 49 <> 0 THEN i * 7919 % 640 / 4.0 - 16 END)::float8 x) v;
    CREATE TABLE parts (LIKE items) PARTITION BY LIST (k);
    CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN (0, 1, 2, 3, 4);
    CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN (5, 6, 7, 8, 9);
    INSERT INTO parts SELECT * FROM items;
    ANALYZE items; ANALYZE parts;";

/// Aggregates that the planner costs alike. The plans of others may be others.
const COSTED_ALIKE: [&str; 4] = ["dp_mean", "dp_mean_and_count", "dp_sum", "dp_count"];

fn tables() -> (Database, Client) {
    let (database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    // No plan but those that the cases ask for.
    run(
        &mut client,
        "SET jit = off; SET max_parallel_workers_per_gather = 0",
    );
    (database, client)
}

/// The columns of all calls whose truth is known, of aggregates that are costed alike or of the others, and those of
/// the truth.
fn all(alike: bool, inside: &str, after: &str) -> [String; 2] {
    let chosen = calls().filter(|call| COSTED_ALIKE.contains(&call.aggregate) == alike);
    let pairs = chosen.flat_map(|call| {
        let sql = format!("{}{after}", call.with("128", "50", inside));
        let truth = call.truth.iter();
        truth.map(move |(number, truth)| [number.replace("{}", &sql), (*truth).to_owned()])
    });
    let mut columns = [Vec::new(), Vec::new()];
    for (i, [number, truth]) in pairs.enumerate() {
        let truth = truth.replace("{hi}", "128").replace("{after}", after);
        columns[0].push(format!("{number} AS a{i}"));
        columns[1].push(format!("{truth} AS a{i}"));
    }
    columns.map(|columns| columns.join(", "))
}

/// `{}` in `template` filled with all calls that are costed alike, and with the truth.
fn filled(template: &str) -> [String; 2] {
    all(true, "", "").map(|columns| template.replace("{}", &columns))
}

type Answers = Vec<Vec<Option<f64>>>;

/// The rows of a query whose columns are all numbers.
fn numbers(client: &mut Client, sql: &str) -> Answers {
    let messages = client.simple_query(sql);
    let messages = messages.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    let mut answers = Vec::new();
    for message in messages {
        if let SimpleQueryMessage::Row(row) = message {
            let number = |i| row.get(i).map(|text| text.parse().expect("a number"));
            answers.push((0..row.len()).map(number).collect());
        }
    }
    answers
}

/// That `answers` are `truth` in any order, up to the noise. (It does not disturb the order: the
/// rows have distinct keys in front.)
fn assert_right(mut answers: Answers, mut truth: Answers, what: &str) {
    let order = |rows: &mut Answers| rows.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    order(&mut answers);
    order(&mut truth);
    assert!(!truth.is_empty(), "no rows: {what}");
    assert_eq!(answers.len(), truth.len(), "{what}");
    for (answer, truth) in answers.iter().zip(&truth) {
        assert_eq!(answer.len(), truth.len(), "{what}");
        let near = answer.iter().zip(truth).all(|pair| match pair {
            (Some(answer), Some(truth)) => (answer - truth).abs() < TOLERANCE,
            (answer, truth) => answer.is_none() && truth.is_none(),
        });
        assert!(near, "{answer:?}\n{truth:?}\n{what}");
    }
}

/// The lines of a query that gives text.
fn lines(client: &mut Client, sql: &str) -> String {
    let lines: Vec<String> = rows(client, sql).iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

/// Runs `private` and tells its plan and the answers of that very run.
fn executed(client: &mut Client, private: &str) -> (String, Answers) {
    let sql =
        format!("EXPLAIN (ANALYZE, VERBOSE, TIMING OFF) CREATE TEMP TABLE answer AS {private}");
    let plan = lines(client, &sql);
    let answers = numbers(client, "SELECT * FROM answer");
    run(client, "DROP TABLE answer");
    (plan, answers)
}

/// That the query answers right under a plan with these words, both as the query of a CREATE TABLE
/// AS and on its own.
fn check_pair(client: &mut Client, settings: &str, [private, truth]: [&str; 2], words: &[&str]) {
    let truth = numbers(client, truth);
    let what = format!("{settings}: {private}");
    run(client, &format!("BEGIN; {settings}"));
    let (plan, answers) = executed(client, private);
    assert_plan(&plan, words, &what);
    assert_right(answers, truth.clone(), &what);
    let answers = numbers(client, private);
    run(client, "ROLLBACK");
    assert_right(answers, truth, &what);
}

/// The same for all calls at `{}` in `template`.
fn check(client: &mut Client, settings: &str, template: &str, words: &[&str]) {
    let [private, truth] = filled(template);
    check_pair(client, settings, [&private, &truth], words);
    let more = all(false, "", "").map(|columns| template.replace("{}", &columns));
    check_pair(client, settings, [&more[0], &more[1]], &[]);
}

const BY_K: &str = "SELECT k, {} FROM items GROUP BY k";
const SORT: &str = "SET LOCAL enable_hashagg = off";
const HASH: &str = "SET LOCAL enable_sort = off";

#[test]
fn every_way_to_group() {
    let (_database, mut client) = tables();
    let sets = "SELECT k, g, {} FROM items GROUP BY GROUPING SETS ((k), (g), ())";
    let hashed_sets = "SELECT k, g, {} FROM items GROUP BY GROUPING SETS ((k), (g))";
    let cube = "SELECT k, g, {} FROM items GROUP BY CUBE (k, g)";
    let rollup = "SELECT k, g, {} FROM items GROUP BY ROLLUP (k, g)";
    let cases: [(&str, &str, &[&str]); 9] = [
        ("", "SELECT {} FROM items", &["Aggregate", "!Group"]),
        ("", BY_K, &["HashAggregate", "!Sort"]),
        (SORT, BY_K, &["GroupAggregate", "Sort Key: items.k"]),
        ("", sets, &["MixedAggregate", "Hash Key: items.g"]),
        ("", hashed_sets, &["HashAggregate", "Hash Key: items.g"]),
        (SORT, sets, &["GroupAggregate", "Sort Key: items.g"]),
        ("", cube, &["MixedAggregate", "Hash Key: items.k, items.g"]),
        (SORT, cube, &["GroupAggregate", "Sort Key: items.g"]),
        (
            SORT,
            rollup,
            &["GroupAggregate", "Group Key: items.k, items.g"],
        ),
    ];
    for (settings, template, words) in cases {
        check(&mut client, settings, template, words);
    }
}

#[test]
fn filter_order_and_distinct_inside_the_call() {
    let (_database, mut client) = tables();
    for place in ["SELECT {} FROM items", BY_K] {
        let fill = |columns: [String; 2]| columns.map(|columns| place.replace("{}", &columns));
        for alike in [true, false] {
            let [private, truth] = fill(all(alike, "", " FILTER (WHERE g = 1 AND x < 100)"));
            let words = ["FILTER (WHERE ((g = 1)"];
            check_pair(&mut client, "", [&private, &truth], &words);
            let [private, truth] = fill(all(alike, " ORDER BY x DESC, g", ""));
            let words = ["ORDER BY x DESC, g)"];
            check_pair(&mut client, "", [&private, &truth], &words);
        }
    }
    let private = "SELECT k, dp_mean(DISTINCT x, 0, 128, 50) AS a, \
         dp_sum(DISTINCT x, 0, 128, 50) AS b, \
         (dp_mean_and_count(DISTINCT x, 0, 128, 50, 'hourglass')).count AS c, \
         dp_mean(DISTINCT x, 0, 128, 50 ORDER BY x DESC, 0, 128, 50) AS d, \
         dp_count(DISTINCT x, 50) AS e, dp_count(DISTINCT g, 50, 'geometric') AS f, \
         dp_count(DISTINCT x, 50) FILTER (WHERE g = 1) AS h FROM items GROUP BY k";
    // Distinct values, of which those outside the bounds are then clamped.
    let truth = "SELECT k, avg(c), sum(c), count(c), avg(c), count(c), \
             (SELECT count(DISTINCT g) FROM items i WHERE i.k = d.k), \
             (SELECT count(DISTINCT x) FROM items i WHERE i.k = d.k AND g = 1) \
         FROM (SELECT DISTINCT k, x, c FROM items) d GROUP BY k";
    check_pair(&mut client, "", [private, truth], &["dp_mean(DISTINCT"]);
}

#[test]
fn parallel_plans() {
    let (_database, mut client) = tables();
    let union =
        "SELECT k, {} FROM (SELECT * FROM items UNION ALL SELECT * FROM items) u GROUP BY k";
    let nested =
        "SELECT k, {} FROM (SELECT k, g, x, c FROM items WHERE g > 0 OFFSET 0) s GROUP BY k";
    let cases: [(&str, &str, &[&str]); 7] = [
        (
            "",
            "SELECT {} FROM items",
            &["Finalize Aggregate", "->  Gather", "Partial Aggregate"],
        ),
        (
            HASH,
            BY_K,
            &[
                "Finalize HashAggregate",
                "->  Gather  ",
                "Partial HashAggregate",
            ],
        ),
        (
            "",
            "SELECT k, {} FROM items GROUP BY k ORDER BY k",
            &[
                "Finalize GroupAggregate",
                "Gather Merge",
                "Partial HashAggregate",
            ],
        ),
        (
            SORT,
            BY_K,
            &[
                "Finalize GroupAggregate",
                "Gather Merge",
                "Partial GroupAggregate",
            ],
        ),
        (
            HASH,
            union,
            &[
                "Finalize HashAggregate",
                "Parallel Append",
                "Partial HashAggregate",
            ],
        ),
        // A sub-select above which PostgreSQL aggregates in the leader.
        (HASH, nested, &["Gather", "!Partial"]),
        // Grouping sets are not split.
        (
            "",
            "SELECT k, g, {} FROM items GROUP BY GROUPING SETS ((k), (g))",
            &["Gather", "!Partial"],
        ),
    ];
    for (settings, template, words) in cases {
        let settings = format!("{}; {settings}", PARALLEL.replace("SET ", "SET LOCAL "));
        check(&mut client, &settings, template, words);
    }
}

#[test]
fn partition_wise_plans() {
    let (_database, mut client) = tables();
    run(&mut client, "SET enable_partitionwise_aggregate = on");
    let by_k = "SELECT k, {} FROM parts GROUP BY k";
    let by_g = "SELECT g, {} FROM parts GROUP BY g";
    let parallel = PARALLEL.replace("SET ", "SET LOCAL ");
    let parallel_hash = format!("{parallel}; {HASH}");
    let cases: [(&str, &str, &[&str]); 7] = [
        (
            "",
            by_k,
            &["Append", "HashAggregate", "!Partial", "!Gather"],
        ),
        (
            &parallel_hash,
            by_k,
            &["Parallel Append", "HashAggregate", "!Partial"],
        ),
        (
            "",
            by_g,
            &["Finalize", "Append", "Partial HashAggregate", "!Gather"],
        ),
        (
            SORT,
            by_g,
            &[
                "Finalize GroupAggregate",
                "Merge Append",
                "Partial GroupAggregate",
            ],
        ),
        (
            &parallel_hash,
            by_g,
            &[
                "Finalize HashAggregate",
                "Parallel Append",
                "Partial HashAggregate",
            ],
        ),
        (
            "",
            "SELECT {} FROM parts",
            &["Finalize Aggregate", "Append", "Partial Aggregate"],
        ),
        (
            &parallel,
            "SELECT {} FROM parts",
            &["Finalize Aggregate", "Parallel Append", "Partial Aggregate"],
        ),
    ];
    for (settings, template, words) in cases {
        check(&mut client, settings, template, words);
    }
}

#[test]
fn a_hash_table_that_spills() {
    let (_database, mut client) = tables();
    run(
        &mut client,
        "CREATE TABLE many AS SELECT i % 100000 AS k, (i % 512 * 79 % 512 / 4.0)::float8 AS x \
         FROM generate_series(1, 300000) i; ANALYZE many; SET enable_sort = off; \
         SET work_mem = '64kB'; SET hash_mem_multiplier = 1",
    );
    let plan = lines(
        &mut client,
        "EXPLAIN (ANALYZE, TIMING OFF) CREATE TABLE answers AS SELECT k, \
         dp_mean(x, 0, 128, 50) AS mean, dp_sum(x, 0, 128, 50) AS sum, dp_count(50) AS n \
         FROM many GROUP BY k",
    );
    assert_plan(&plan, &["HashAggregate", "Disk Usage"], "");
    assert!(!plan.contains("Batches: 1 "), "{plan}");
    run(&mut client, "RESET work_mem; RESET enable_sort");
    let wrong = format!(
        "SELECT count(*) FROM answers FULL JOIN \
         (SELECT k, avg(x) AS mean, sum(x) AS sum, count(*) AS n FROM many GROUP BY k) t USING (k) \
         WHERE (abs(answers.mean - t.mean) < {TOLERANCE} AND abs(answers.sum - t.sum) < {TOLERANCE} \
             AND answers.n = t.n) IS NOT TRUE"
    );
    assert_eq!(value::<i64>(&mut client, &wrong), 0);
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM answers"),
        100_000
    );
}

#[test]
fn compiled_expressions() {
    let (_database, mut client) = tables();
    if !value::<bool>(&mut client, "SELECT pg_jit_available()") {
        println!("skipped: this server has no JIT");
        return;
    }
    let jit = "SET LOCAL jit = on; SET LOCAL jit_above_cost = 0; SET LOCAL jit_inline_above_cost = 0; \
         SET LOCAL jit_optimize_above_cost = 0";
    check(&mut client, jit, BY_K, &["JIT:", "Inlining true"]);
    let jit = "SET LOCAL jit = on; SET LOCAL jit_above_cost = 0";
    let parallel = format!("{jit}; {}", PARALLEL.replace("SET ", "SET LOCAL "));
    check(&mut client, &parallel, BY_K, &["JIT:", "Partial", "Gather"]);
}

#[test]
fn queries_inside_queries() {
    let (_database, mut client) = tables();
    let cases: [(&str, &[&str]); 8] = [
        (
            "WITH t AS MATERIALIZED (SELECT * FROM items) SELECT k, {} FROM t GROUP BY k",
            &["CTE Scan on t"],
        ),
        (
            "WITH t AS NOT MATERIALIZED (SELECT * FROM items) SELECT k, {} FROM t GROUP BY k",
            &["Seq Scan on public.items", "!CTE"],
        ),
        (
            "WITH a AS MATERIALIZED (SELECT k, {} FROM items GROUP BY k) SELECT * FROM a WHERE k > 3",
            &["CTE a", "CTE Scan on a"],
        ),
        (
            "SELECT * FROM (SELECT k, {} FROM items GROUP BY k OFFSET 0) s WHERE k > 3",
            &["Subquery Scan on s"],
        ),
        (
            "SELECT k, {} FROM (SELECT k, x, c, g FROM items ORDER BY x LIMIT 5000) s GROUP BY k",
            &["Limit"],
        ),
        (
            "SELECT o.k, s.* FROM (SELECT DISTINCT k FROM items) o, \
             LATERAL (SELECT {} FROM items i WHERE i.k = o.k) s",
            &["Nested Loop", "Filter: (i.k = "],
        ),
        (
            "SELECT k, {} FROM items JOIN (VALUES (1), (2), (5)) v(w) ON w = k GROUP BY k",
            &["Join", "Values Scan"],
        ),
        (
            "SELECT k, {} FROM items GROUP BY k UNION ALL SELECT -k - 1, {} FROM items GROUP BY k",
            &["Append"],
        ),
    ];
    for (template, words) in cases {
        check(&mut client, "", template, words);
    }

    let pairs: [([&str; 2], &[&str]); 4] = [
        // An answer for each outer row.
        (
            [
                "SELECT k, (SELECT dp_mean(x, 0, 128, 50) FROM items i WHERE i.k = o.k) AS mean, \
                 (SELECT dp_count(x, 50) FROM items i WHERE i.k = o.k) AS n \
                 FROM (SELECT DISTINCT k FROM items) o",
                "SELECT k, avg(c), count(c) FROM items GROUP BY k",
            ],
            &["SubPlan 1", "SubPlan 2"],
        ),
        (
            [
                "SELECT k, (SELECT dp_sum(x, 0, 128, 50) FROM items) AS sum FROM items GROUP BY k",
                "SELECT DISTINCT k, (SELECT sum(c) FROM items) FROM items",
            ],
            &["InitPlan 1"],
        ),
        // Arguments that the outer row gives: the same call under new ones, one release each.
        (
            [
                "SELECT hi, s.* FROM (VALUES (32::float8), (128), (64)) v(hi), LATERAL (SELECT \
                 dp_mean(x, hi - 32, hi, 50) AS mean, dp_sum(x, 0, hi, 50) AS sum FROM items) s",
                "SELECT hi, s.* FROM (VALUES (32::float8), (128), (64)) v(hi), LATERAL (SELECT \
                 avg(least(greatest(c, hi - 32), hi)), sum(least(c, hi)) FROM items \
                 WHERE c IS NOT NULL) s",
            ],
            &["Nested Loop", "Values Scan"],
        ),
        (
            [
                "SELECT hi, s.* FROM (VALUES (32::float8), (128), (64)) v(hi), LATERAL (SELECT \
                 k, dp_mean(x, 0, hi, 50) AS mean FROM items GROUP BY k) s WHERE k < 2",
                "SELECT hi, s.* FROM (VALUES (32::float8), (128), (64)) v(hi), LATERAL (SELECT \
                 k, avg(least(c, hi)) FROM items WHERE c IS NOT NULL GROUP BY k) s WHERE k < 2",
            ],
            &["Nested Loop", "Values Scan", "Group"],
        ),
    ];
    for (pair, words) in pairs {
        check_pair(&mut client, "", pair, words);
    }
}

#[test]
fn statements_that_keep_answers() {
    let (_database, mut client) = tables();
    let [private, truth] = filled(BY_K);
    let truth = numbers(&mut client, &truth);

    let into = private.replace(" FROM items", " INTO kept FROM items");
    for (statement, name) in [
        (format!("CREATE TABLE made AS {private}"), "made"),
        (into, "kept"),
        (
            format!("CREATE MATERIALIZED VIEW seen AS {private}"),
            "seen",
        ),
    ] {
        let plan = explain(&mut client, &statement);
        assert_plan(&plan, &["HashAggregate", "dp_mean(x, "], &statement);
        run(&mut client, &statement);
        let answers = numbers(&mut client, &format!("SELECT * FROM {name}"));
        assert_right(answers, truth.clone(), &statement);
    }

    // A view keeps no answer, a materialized one its own until it is refreshed.
    run(
        &mut client,
        "CREATE VIEW anew AS SELECT dp_mean(x, 0, 128, 1) AS mean FROM items; \
         CREATE MATERIALIZED VIEW rough AS SELECT * FROM anew",
    );
    let rough = "SELECT mean FROM rough";
    let first: f64 = value(&mut client, rough);
    assert_eq!(first.to_bits(), value::<f64>(&mut client, rough).to_bits());
    run(
        &mut client,
        "REFRESH MATERIALIZED VIEW rough; REFRESH MATERIALIZED VIEW seen",
    );
    assert_ne!(first, value::<f64>(&mut client, rough));
    let anew = "SELECT mean FROM anew";
    assert_ne!(
        value::<f64>(&mut client, anew),
        value::<f64>(&mut client, anew)
    );
    let answers = numbers(&mut client, "SELECT * FROM seen");
    assert_right(answers, truth.clone(), "REFRESH MATERIALIZED VIEW");

    assert_plan(&explain(&mut client, &private), &["HashAggregate"], "COPY");
    let mut text = String::new();
    let copy = format!("COPY ({private}) TO STDOUT");
    let mut reader = client.copy_out(&copy).expect("COPY runs");
    reader.read_to_string(&mut text).expect("COPY sends text");
    drop(reader);
    let answers = text
        .lines()
        .map(|line| {
            let number = |cell: &str| Some(cell.parse().expect("a number"));
            line.split('\t').map(number).collect()
        })
        .collect();
    assert_right(answers, truth, &copy);
}

#[test]
fn a_cursor_scrolls_back_over_the_same_release() {
    let (_database, mut client) = tables();
    let [private, truth] = filled("SELECT k, {} FROM items GROUP BY k");
    let truth = numbers(&mut client, &truth);
    let rough = "SELECT k, dp_mean(x, 0, 128, 1), dp_sum(x, 0, 128, 1), dp_count(1) \
         FROM items GROUP BY k";
    for (settings, words) in [
        ("", ["Materialize", "HashAggregate"]),
        (SORT, ["Materialize", "GroupAggregate"]),
    ] {
        run(&mut client, &format!("BEGIN; {settings}"));
        let good = format!("DECLARE good NO SCROLL CURSOR FOR {private}");
        let plan = explain(&mut client, &good);
        assert_plan(&plan, &[words[1]], &good);
        run(&mut client, &good);
        let mut answers = numbers(&mut client, "FETCH 3 FROM good");
        assert_eq!(answers.len(), 3);
        answers.extend(numbers(&mut client, "FETCH ALL FROM good"));
        assert_right(answers, truth.clone(), &good);

        let declare = format!("DECLARE c SCROLL CURSOR FOR {rough}");
        assert_plan(&explain(&mut client, &declare), &words, &declare);
        run(&mut client, &declare);
        let forward = numbers(&mut client, "FETCH ALL FROM c");
        let mut backward = numbers(&mut client, "FETCH BACKWARD ALL FROM c");
        backward.reverse();
        assert_eq!(forward.len(), 10);
        assert_eq!(forward, backward);
        let fourth = numbers(&mut client, "FETCH ABSOLUTE 4 FROM c");
        assert_eq!(fourth, [forward[3].clone()]);
        run(&mut client, "MOVE ABSOLUTE 0 FROM c");
        assert_eq!(numbers(&mut client, "FETCH ALL FROM c"), forward);
        run(&mut client, "ROLLBACK");
    }
    run(
        &mut client,
        &format!("DECLARE h SCROLL CURSOR WITH HOLD FOR {rough}"),
    );
    let forward = numbers(&mut client, "FETCH ALL FROM h");
    run(&mut client, "MOVE ABSOLUTE 0 FROM h");
    assert_eq!(numbers(&mut client, "FETCH ALL FROM h"), forward);
}

#[test]
fn prepared_statements_and_binds() {
    let (_database, mut client) = tables();
    let truth = |client: &mut Client, hi: f64| {
        let sql = format!(
            "SELECT k, avg(least(c, {hi})), sum(least(c, {hi})), count(c) FROM items \
             WHERE c IS NOT NULL GROUP BY k"
        );
        numbers(client, &sql)
    };
    let query = "SELECT k, dp_mean(x, $1, $2, $3, $4) AS mean, dp_sum(x, $1, $2, $3) AS sum, \
         dp_count(x, $3) AS n FROM items GROUP BY k";
    for (settings, mode, word) in [
        ("", "force_generic_plan", "$2"),
        ("", "force_custom_plan", "!$2"),
        (PARALLEL, "force_generic_plan", "Finalize"),
        (PARALLEL, "force_custom_plan", "Finalize"),
    ] {
        run(
            &mut client,
            &format!("SET plan_cache_mode = {mode}; {settings}"),
        );
        let prepare = format!("PREPARE p (float8, float8, float8, dp_mechanism) AS {query}");
        run(&mut client, &prepare);
        let plan = explain(&mut client, "EXECUTE p(0, 128, 50, 'hourglass')");
        assert_plan(&plan, &[word], mode);
        for (hi, mechanism) in [
            (128.0, "hourglass"),
            (64.0, "staircase"),
            (32.0, "hourglass"),
        ] {
            let execute = format!("EXECUTE p(0, {hi}, 50, '{mechanism}')");
            let answers = numbers(&mut client, &execute);
            let truth = truth(&mut client, hi);
            assert_right(answers, truth, &format!("{mode}, {settings}: {execute}"));
        }
        run(&mut client, "DEALLOCATE p; RESET plan_cache_mode");
    }
    run(&mut client, "SET max_parallel_workers_per_gather = 0");
    // A driver's binds, with the mechanism as text; under constants first, then without.
    let statement = client
        .prepare(&query.replace("$4", "$4::text"))
        .expect("the query can be prepared");
    for (run_of, hi) in [128.0, 64.0, 32.0, 16.0, 32.0, 64.0]
        .into_iter()
        .enumerate()
    {
        if run_of == 3 {
            run(&mut client, "SET plan_cache_mode = force_generic_plan");
        }
        let rows = client
            .query(&statement, &[&0.0, &hi, &50.0, &"hourglass"])
            .expect("the query answers");
        let answers = rows.iter().map(|row| {
            let n: i64 = row.get(3);
            vec![
                Some(f64::from(row.get::<_, i32>(0))),
                row.get(1),
                row.get(2),
                Some(n as f64),
            ]
        });
        let truth = truth(&mut client, hi);
        assert_right(answers.collect(), truth, "binds");
    }
    let plans = rows(
        &mut client,
        "SELECT custom_plans, generic_plans FROM pg_prepared_statements \
         WHERE statement LIKE 'SELECT k, dp_mean%'",
    );
    assert_eq!((plans[0].get(0), plans[0].get(1)), (3i64, 3i64));
}

#[test]
fn variables_of_plpgsql() {
    let (_database, mut client) = tables();
    run(
        &mut client,
        "CREATE FUNCTION means(lo float8, eps float8, mech text) \
             RETURNS TABLE (step float8, mean float8, total float8, n bigint) LANGUAGE plpgsql AS $$ \
         DECLARE hi float8; \
         BEGIN \
             FOR i IN 1..8 LOOP \
                 hi := 16 * i; step := hi; \
                 SELECT dp_mean(x, lo, hi, eps, mech), dp_sum(x, lo, hi, eps), dp_count(x, eps) \
                     INTO mean, total, n FROM items; \
                 RETURN NEXT; \
             END LOOP; \
         END $$; \
         CREATE FUNCTION planned(lo float8, hi float8, eps float8) RETURNS SETOF text \
             LANGUAGE plpgsql AS $$ \
         DECLARE line text; \
         BEGIN \
             FOR line IN EXPLAIN VERBOSE SELECT dp_mean(x, lo, hi, eps) FROM items LOOP \
                 RETURN NEXT line; \
             END LOOP; \
         END $$",
    );
    let plan = lines(&mut client, "SELECT planned(0, 128, 50)");
    assert_plan(
        &plan,
        &["Aggregate", "dp_mean(x, '0'"],
        "EXPLAIN in PL/pgSQL",
    );
    for mode in ["auto", "force_custom_plan", "force_generic_plan"] {
        run(&mut client, &format!("SET plan_cache_mode = {mode}"));
        let answers = numbers(&mut client, "SELECT * FROM means(0, 50, 'hourglass')");
        let truth = numbers(
            &mut client,
            "SELECT hi, avg(least(c, hi)), sum(least(c, hi)), count(c) FROM items, \
             generate_series(16::numeric, 128, 16) s(hi) WHERE c IS NOT NULL GROUP BY hi",
        );
        assert_right(answers, truth, mode);
    }
}

#[test]
fn select_having_and_order_by_speak_of_one_release() {
    let (_database, mut client) = tables();
    // 600 groups of 33 rows.
    run(
        &mut client,
        "CREATE TABLE groups AS SELECT row_number() OVER () % 600 AS k, x FROM items; ANALYZE groups",
    );
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for call in [
            "dp_mean(x, 0, 128, 0.1)",
            "dp_sum(x, 0, 128, 0.1, 'laplace')",
            "dp_count(0.1)",
        ] {
            let middle = format!(
                "SELECT (percentile_cont(0.5) WITHIN GROUP (ORDER BY a))::float8 \
                 FROM (SELECT {call} AS a FROM groups GROUP BY k) s"
            );
            let middle: f64 = value(&mut client, &middle);
            let sql = format!(
                "SELECT {call} FROM groups GROUP BY k HAVING {call} > {middle} ORDER BY {call}"
            );
            let answers: Vec<f64> = numbers(&mut client, &sql)
                .iter()
                .map(|row| row[0].expect("never NULL"))
                .collect();
            assert!(
                (100..500).contains(&answers.len()),
                "{}: {sql}",
                answers.len()
            );
            assert!(answers.iter().all(|answer| *answer > middle), "{sql}");
            assert!(answers.is_sorted(), "{sql}");
        }
    }
}

/// The pairs of `aggno` and `aggtransno` in the plan that the server prints for its debugging.
fn numbers_of_calls(database: &Database, sql: &str) -> BTreeSet<(u32, u32)> {
    let url = variable("DP_MEAN_RELEASE_URL").replace("dbname=postgres", "");
    let output = Command::new(format!("{}/psql", variable("DP_MEAN_BIN")))
        .args(["-X", "-d", &format!("{url} dbname={}", database.name())])
        .args([
            "-c",
            "SET debug_print_plan = on; SET client_min_messages = log",
        ])
        .args(["-c", sql])
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stderr);
    let mut words = printed.split_ascii_whitespace();
    let mut pairs = BTreeSet::new();
    while let Some(word) = words.next() {
        if word == ":aggno" {
            let aggno = words.next().expect("a number");
            assert_eq!(words.next(), Some(":aggtransno"));
            let aggtransno = words.next().expect("a number");
            pairs.insert((
                aggno.parse().expect("a number"),
                aggtransno.parse().expect("a number"),
            ));
        }
    }
    pairs
}

#[test]
fn calls_share_states_and_releases_as_planned() {
    let (database, _client) = tables();
    let cases: [(&str, &[(u32, u32)]); 7] = [
        (
            "dp_mean(x, 0, 128, 1), dp_mean(x, 0, 128, 1) + 1, dp_mean(x, 0, 128, 1.0)",
            &[(0, 0)],
        ),
        ("(dp_mean_and_count(x, 0, 128, 1)).*", &[(0, 0)]),
        // Two releases over one state.
        (
            "dp_mean(x, 0, 128, 1), dp_mean_and_count(x, 0, 128, 1)",
            &[(0, 0), (1, 0)],
        ),
        (
            "dp_mean(x, 0, 128, 1, 'laplace'), dp_mean_and_count(x, 0, 128, 1, 'laplace')",
            &[(0, 0), (1, 0)],
        ),
        (
            "dp_mean(x, 0, 128, 1), dp_mean(x, 0, 128, 2)",
            &[(0, 0), (1, 1)],
        ),
        (
            "dp_mean(x, 0, 128, 1), dp_mean(x, 0, 128, 1, 'hourglass')",
            &[(0, 0), (1, 1)],
        ),
        (
            "dp_mean(x, 0, 128, 1), dp_sum(x, 0, 128, 1)",
            &[(0, 0), (1, 1)],
        ),
    ];
    for (calls, expected) in cases {
        let sql = format!("SELECT {calls} FROM items");
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        assert_eq!(numbers_of_calls(&database, &sql), expected, "{sql}");
    }
}

#[test]
fn two_aggregates_over_one_state_answer_right() {
    let (_database, mut client) = tables();
    let pair = [
        "SELECT k, dp_mean(x, 0, 128, 50) AS a, (dp_mean_and_count(x, 0, 128, 50)).mean AS b, \
         (dp_mean_and_count(x, 0, 128, 50)).count AS c FROM items GROUP BY k",
        "SELECT k, avg(c), avg(c), count(c) FROM items GROUP BY k",
    ];
    check_pair(&mut client, "", pair, &["HashAggregate"]);
    let parallel = PARALLEL.replace("SET ", "SET LOCAL ");
    check_pair(&mut client, &parallel, pair, &["Partial", "Finalize"]);
    // They are two releases of one state.
    let sql = "SELECT dp_mean(x, 0, 128, 1) = (dp_mean_and_count(x, 0, 128, 1)).mean FROM items";
    assert!(!value::<bool>(&mut client, sql));
}

#[test]
fn a_foreign_server_answers_what_it_is_sent() {
    let (database, mut client) = tables();
    let available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'";
    if value::<i64>(&mut client, available) == 0 {
        println!("skipped: this server has no postgres_fdw");
        return;
    }
    let url: postgres::Config = variable("DP_MEAN_RELEASE_URL").parse().expect("a URL");
    let [postgres::config::Host::Unix(socket)] = url.get_hosts() else {
        panic!("the test server listens on one socket");
    };
    run(
        &mut client,
        &format!(
            "CREATE EXTENSION postgres_fdw; \
             CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw OPTIONS \
                 (host '{}', dbname '{}', extensions 'dp_mean'); \
             CREATE USER MAPPING FOR CURRENT_USER SERVER there OPTIONS (user 'postgres'); \
             CREATE FOREIGN TABLE far (k int, g int, x float8, c float8) \
                 SERVER there OPTIONS (table_name 'items'); ANALYZE far",
            socket.display(),
            database.name()
        ),
    );
    for template in [
        "SELECT {} FROM far",
        "SELECT k, {} FROM far GROUP BY k",
        "SELECT k, {} FROM far GROUP BY k HAVING dp_count(50) > 0",
    ] {
        let [private, _] = filled(template);
        let plan = explain(&mut client, &private);
        let remote = plan.lines().find(|line| line.contains("Remote SQL"));
        let remote = remote.unwrap_or_else(|| panic!("{plan}"));
        for word in [
            "public.dp_mean(x, ",
            "public.dp_sum(x, ",
            "public.dp_count(x, ",
            "'hourglass'::public.dp_mechanism",
        ] {
            assert!(remote.contains(word), "no {word}: {plan}");
        }
        check(&mut client, "", template, &["Foreign Scan"]);
    }
    // Questions, an array of them, and a budget without eps travel too.
    let many = "SELECT k, dp_counts(1.0, 'correlated(delta=1e-6)', x > 0, c > 0), \
                dp_counts(NULL, 'correlated(rho=1, d=2)', VARIADIC ARRAY[x > 0, c > 0]), \
                dp_means(ARRAY[x, c], 0, 1, 1.0, 'correlated(delta=1e-6, d=2)') \
                FROM far GROUP BY k";
    let plan = explain(&mut client, many);
    let remote = plan.lines().find(|line| line.contains("Remote SQL"));
    let remote = remote.unwrap_or_else(|| panic!("{plan}"));
    assert_eq!(remote.matches("public.dp_counts(").count(), 2, "{plan}");
    assert!(remote.contains("VARIADIC ARRAY["), "{plan}");
    assert!(remote.contains("public.dp_means(ARRAY["), "{plan}");
    for row in rows(&mut client, many) {
        for column in 1..4 {
            assert_eq!(row.get::<_, Vec<f64>>(column).len(), 2);
        }
    }
    // What the other server cannot be asked, this one computes.
    let shipped = "SELECT k, {} FROM far GROUP BY k";
    run(&mut client, "ALTER SERVER there OPTIONS (DROP extensions)");
    check(
        &mut client,
        "",
        shipped,
        &[
            "Aggregate",
            "Foreign Scan on public.far",
            "!public.dp_mean(",
        ],
    );
}
