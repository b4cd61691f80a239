//! Vectors: the integers that reach the states of dp_counts and dp_sums, and the answers that come
//! of them, whatever an array looks like in memory.
//!
//! `dp_test_counts_state` and `dp_test_sums_state` of `tests/sql/testing.sql` show the integers, as
//! `n s1 s2 ...`. What they must be comes by other roads: for questions from plain SQL, for values
//! from the grid steps that dp_mean and dp_sum take of single values.

use dp_mean_tests::statistics::{ALPHA, normal_deviations};
use dp_mean_tests::{
    Build, Database, PARALLEL, assert_plan, explain, memory, refused, rows, run, session, value,
};
use postgres::{Client, SimpleQueryMessage};

/// `PARALLEL`, until the transaction ends.
fn parallel() -> String {
    PARALLEL.replace("SET ", "SET LOCAL ")
}

/// `f(1), f(2), ... f(count)`, with commas between.
fn list(count: usize, f: impl Fn(usize) -> String) -> String {
    (1..=count).map(f).collect::<Vec<_>>().join(", ")
}

type Texts = Vec<Vec<Option<String>>>;

/// The rows of a query as text, sorted.
fn texts(client: &mut Client, sql: &str) -> Texts {
    let messages = client.simple_query(sql);
    let messages = messages.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    let mut texts = Texts::new();
    for message in messages {
        if let SimpleQueryMessage::Row(row) = message {
            texts.push(
                (0..row.len())
                    .map(|i| row.get(i).map(str::to_owned))
                    .collect(),
            );
        }
    }
    texts.sort();
    texts
}

/// That two queries have the same rows, and some.
fn assert_same(client: &mut Client, private: &str, truth: &str) {
    let expected = texts(client, truth);
    assert!(!expected.is_empty(), "no rows: {truth}");
    assert_rows(&texts(client, private), &expected, private);
}

/// That rows are as expected. Rows may be megabytes long: it shows the beginning of one.
fn assert_rows(seen: &Texts, expected: &Texts, what: &str) {
    let what: String = what.chars().take(2000).collect();
    assert_eq!(seen.len(), expected.len(), "rows of {what}");
    for (seen, expected) in seen.iter().zip(expected) {
        let show =
            |row: &[Option<String>]| format!("{row:?}").chars().take(400).collect::<String>();
        assert!(
            seen == expected,
            "{}\n{}\n{what}",
            show(seen),
            show(expected)
        );
    }
}

// What reaches the state: questions -------------------------------------------------------------

/// By plain SQL, what the state of dp_counts must be for each id of `source (id, a)`: the rows, and
/// for each position those that say yes there; of each row only the first `most` that do.
fn counted(source: &str, length: usize, most: Option<usize>) -> String {
    let (nth, most) = match most {
        None => ("0", 0),
        Some(most) => (
            "count(*) FILTER (WHERE yes) OVER (PARTITION BY r ORDER BY position)",
            most,
        ),
    };
    format!(
        "WITH source AS (SELECT id, row_number() OVER () AS r, a FROM {source}), \
         answers AS (SELECT id, position, yes, {nth} AS nth \
             FROM source, unnest(a) WITH ORDINALITY u(yes, position)), \
         sums AS (SELECT id, position, count(*) FILTER (WHERE yes AND nth <= {most}) AS s \
             FROM answers GROUP BY id, position), \
         counts AS (SELECT id, count(*) AS n FROM source GROUP BY id) \
         SELECT id, n || ' ' || string_agg(coalesce(s, 0)::text, ' ' ORDER BY position) \
         FROM counts CROSS JOIN generate_series(1, {length}) position \
         LEFT JOIN sums USING (id, position) GROUP BY id, n"
    )
}

/// That dp_counts takes the arrays of `source (id, a)` for what they are, as vectors of `length`.
fn check_arrays(client: &mut Client, source: &str, length: usize) {
    let mut cases = vec![(format!("correlated(mu=1, d={length})"), None)];
    if length > 1 {
        cases.extend([1, length / 2].map(|most| {
            let mechanism = format!("ellipse(mu=1, k={most}, d={length})");
            (mechanism, Some(most))
        }));
    }
    for (mechanism, most) in cases {
        let private = format!(
            "SELECT id, dp_test_counts_state(NULL, '{mechanism}', VARIADIC a) FROM {source} \
             GROUP BY id"
        );
        assert_same(client, &private, &counted(source, length, most));
    }
}

/// The `j`-th yes/no question of row `i`: NULL for some rows, all of them for row 7.
fn question(j: usize) -> String {
    format!("CASE WHEN i = 7 OR i * {j} % 11 = 1 THEN NULL ELSE (i + {j}) * (i + 3) % 13 < 6 END")
}

#[test]
fn questions_are_counted_as_sql_counts_them() {
    let (_database, mut client) = session(Build::Testing);
    let columns = list(97, |j| format!("{} AS q{j}", question(j)));
    // Row 7 is all NULL.
    run(
        &mut client,
        &format!(
            "CREATE TABLE t AS SELECT 0 AS id, {columns} FROM generate_series(1, 200) i; \
             CREATE DOMAIN answer AS boolean"
        ),
    );
    for length in [1, 2, 64, 97] {
        let questions = list(length, |j| format!("q{j}"));
        let truth = format!(
            "SELECT array_to_string(ARRAY[count(*), {}], ' ') FROM t",
            list(length, |j| format!("count(*) FILTER (WHERE q{j})"))
        );
        for (eps, mechanism) in [
            ("NULL", "correlated(mu=1)"),
            ("NULL", &format!("correlated(mu=1, d={length})")),
            ("1", "gaussian(delta=1e-6)"),
            ("NULL", "known_n(rho=1, n=7)"),
            ("1", "laplace"),
        ] {
            let call = format!("dp_test_counts_state({eps}, '{mechanism}', {questions})");
            assert_same(&mut client, &format!("SELECT {call} FROM t"), &truth);
        }
        let domains = list(length, |j| format!("q{j}::answer"));
        let call = format!("dp_test_counts_state(1, 'laplace', {domains})");
        assert_same(&mut client, &format!("SELECT {call} FROM t"), &truth);
        for most in [1, 3, length / 2] {
            if (1..=length / 2).contains(&most) {
                let mechanism = format!("ellipse(mu=1, k={most})");
                let array = format!("(SELECT id, ARRAY[{questions}] AS a FROM t) s");
                assert_same(
                    &mut client,
                    &format!(
                        "SELECT id, dp_test_counts_state(NULL, '{mechanism}', {questions}) \
                         FROM t GROUP BY id"
                    ),
                    &counted(&array, length, Some(most)),
                );
            }
        }
    }
    // Rows of NULLs are rows.
    let sql = "SELECT dp_test_counts_state(1, 'laplace', NULL::boolean, i < NULL) \
               FROM generate_series(1, 9) i";
    assert_eq!(value::<String>(&mut client, sql), "9 0 0");
}

/// Arrays of every shape, each in a group of its own, three times: a first row of a group goes
/// another way than those after it. Group 0 has all of them. The column in front makes them lie at
/// any address.
const SHAPES: &str = "
    CREATE TABLE shapes AS SELECT repeat('x', i) AS before, id, a
    FROM (VALUES
        (1, '{}'::boolean[]), (2, NULL), (3, '{t}'), (4, '{f}'), (5, '{NULL}'), (6, '{t,f,t}'),
        (7, '{t,NULL,t}'), (8, '{NULL,NULL,NULL,NULL}'), (9, '{f,t,t,t,t}'), (10, '[5:7]={t,f,t}'),
        (11, '[-2:1]={t,NULL,t,t}'), (12, '{{t,f},{t,t}}'), (13, '{{t,NULL,f},{NULL,t,t}}'),
        (14, '{{{t},{f}},{{t},{t}}}'), (15, '[0:1][3:4]={{f,t},{NULL,t}}'),
        (16, (SELECT array_agg(j % 3 = 1) FROM generate_series(1, 64) j)),
        (17, (SELECT array_agg(nullif(j % 5, 4) < 2) FROM generate_series(1, 65) j)),
        (18, (SELECT array_agg(j % 7 > 2) FROM generate_series(1, 500) j)),
        (19, (SELECT array_agg(nullif(j % 7, 3) > 2) FROM generate_series(1, 500) j))
    ) v(id, a), generate_series(1, 3) i;
    INSERT INTO shapes SELECT before, 0, a FROM shapes";

#[test]
fn arrays_of_every_shape_are_read_in_storage_order() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, SHAPES);
    run(
        &mut client,
        "CREATE DOMAIN answer AS boolean; CREATE DOMAIN answers AS boolean[]; \
         CREATE DOMAIN domains AS answer[]",
    );
    // A short header in a table, a plain one if just computed: 22 + 3 bytes.
    for (array, bytes) in [("a", 22), ("a::text::boolean[]", 25)] {
        let sql = format!("SELECT pg_column_size({array}) FROM shapes WHERE id = 3 LIMIT 1");
        assert_eq!(value::<i32>(&mut client, &sql), bytes);
    }
    for array in [
        // As it lies in the table.
        "a",
        // Made by a type's input function: plain.
        "a::text::boolean[]",
        // Made by a function that leaves it expanded in memory. It takes one dimension only.
        "CASE WHEN array_ndims(a) > 1 THEN a ELSE array_append(a, true) END",
        "CASE WHEN array_ndims(a) > 1 THEN a ELSE array_append(array_append(a, NULL), true) END",
        "a::answer[]",
        "a::answers",
        "a::text::answer[]::domains",
    ] {
        let source = format!("(SELECT id, {array} AS a FROM shapes) s");
        for length in [1, 3, 5, 64, 66, 600] {
            check_arrays(&mut client, &source, length);
        }
    }
}

#[test]
fn all_columns_of_the_widest_table_are_an_array() {
    let (_database, mut client) = session(Build::Testing);
    let columns = list(1600, |j| format!("c{j}"));
    run(
        &mut client,
        &format!(
            "CREATE TABLE wide ({}); INSERT INTO wide SELECT {} FROM generate_series(1, 20) i",
            list(1600, |j| format!("c{j} boolean")),
            list(1600, question)
        ),
    );
    let private = format!(
        "SELECT dp_test_counts_state(1, 'laplace(d=1600)', VARIADIC ARRAY[{columns}]) FROM wide"
    );
    let truth = format!(
        "SELECT array_to_string(ARRAY[count(*), {}], ' ') FROM wide",
        list(1600, |j| format!("count(*) FILTER (WHERE c{j})"))
    );
    assert_same(&mut client, &private, &truth);
}

/// Arrays of 10,000, with NULLs and without: kept compressed, kept elsewhere, and both.
const TOASTED: &str = "
    CREATE TABLE long AS SELECT r % 2 AS id,
        (SELECT array_agg(CASE WHEN r < 4 OR j % (r + 90) > 0 THEN j % (r + 1) = 0 END)
            FROM generate_series(1, 10000) j) AS a
        FROM generate_series(1, 6) r;
    CREATE TABLE compressed (id int, a boolean[]);
    CREATE TABLE elsewhere (id int, a boolean[]);
    CREATE TABLE packed (id int, a boolean[]);
    ALTER TABLE elsewhere ALTER a SET STORAGE EXTERNAL;
    INSERT INTO compressed SELECT id, a FROM long;
    INSERT INTO elsewhere SELECT id, a::text::boolean[] FROM long;
    INSERT INTO packed SELECT r % 2, (SELECT array_agg(hashint4(j + r) % 2 = 0)
        FROM generate_series(1, 10000) j) FROM generate_series(1, 6) r";

#[test]
fn toasted_arrays_are_read() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TOASTED);
    for (table, compressed, elsewhere) in [
        ("compressed", true, false),
        ("elsewhere", false, true),
        ("packed", true, true),
    ] {
        let sql = format!(
            "SELECT bool_and(pg_column_compression(a) IS NOT NULL) = {compressed} \
                 AND bool_or(pg_column_compression(a) IS NOT NULL) = {compressed} \
                 AND (SELECT pg_relation_size(reltoastrelid) > 0 FROM pg_class \
                     WHERE relname = '{table}') = {elsewhere} FROM {table}"
        );
        assert!(value::<bool>(&mut client, &sql), "{table}");
        for length in [3, 10_001] {
            check_arrays(&mut client, table, length);
        }
    }
}

#[test]
fn arrays_of_a_hundred_thousand_are_read_in_groups_and_in_parallel() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE long AS SELECT r % 2 AS id, \
             (SELECT array_agg(j * r % 10 < 4) FROM generate_series(1, 100000) j) AS a, \
             (SELECT array_agg((j * r % 10)::float8) FROM generate_series(1, 100000) j) AS x \
         FROM generate_series(1, 5) r; \
         CREATE TABLE longer AS SELECT long.* FROM long, generate_series(1, 10); ANALYZE longer",
    );
    let expected = |client: &mut Client, value: &str, key: &str| {
        let sql = format!(
            "SELECT key, max(n) || ' ' || string_agg(s, ' ' ORDER BY j) FROM \
                 (SELECT {key} AS key, j, 10 * count(*) AS n, (10 * sum({value}))::text AS s FROM \
                     (SELECT r % 2 AS id, j, j * r % 10 AS v FROM generate_series(1, 5) r, \
                      generate_series(1, 100000) j) elements GROUP BY 1, 2) sums GROUP BY key"
        );
        texts(client, &sql)
    };
    // Of the values 0 to 9 with bounds 0 and 8, those below 8 are as many steps of 2^29.
    let cases = [
        (
            "dp_test_counts_state(NULL, 'correlated(mu=1, d=100000)', VARIADIC a)",
            "CASE WHEN v < 4 THEN 1 ELSE 0 END",
        ),
        (
            "dp_test_sums_state(x, 0, 8, NULL, 'correlated(mu=1, d=100000)')",
            "least(v, 8) * 536870912::bigint",
        ),
    ];
    for (call, value) in cases {
        for (key, group, clause) in [("0 * id", "0", ""), ("id", "id", "GROUP BY id")] {
            let expected = expected(&mut client, value, key);
            let sql = format!("SELECT {group}, {call} FROM longer {clause}");
            for workers in [0, 2] {
                run(&mut client, &format!("BEGIN; {}", parallel()));
                let settings = format!(
                    "ALTER TABLE longer SET (parallel_workers = {workers}); \
                     SET LOCAL max_parallel_workers_per_gather = {workers}; \
                     SET LOCAL parallel_tuple_cost = 0.01"
                );
                run(&mut client, &settings);
                let plan = explain(&mut client, &sql);
                assert_eq!(plan.contains("Partial"), workers > 0, "{plan}");
                assert_rows(&texts(&mut client, &sql), &expected, &sql);
                run(&mut client, "ROLLBACK");
            }
        }
    }
}

/// A variable that a loop appends to is expanded in memory; the call must neither change it nor
/// keep it.
#[test]
fn variables_of_plpgsql_are_read_while_they_grow() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE FUNCTION grown() RETURNS TABLE (length int, counts text, sums text)
         LANGUAGE plpgsql AS $$
         DECLARE a boolean[] := '{}'; x float8[] := '{}';
         BEGIN
             FOR i IN 1..20 LOOP
                 a := array_append(a, CASE WHEN i % 4 > 0 THEN i % 3 = 1 END);
                 x := x || CASE WHEN i % 4 > 0 THEN i::float8 END;
                 SELECT dp_test_counts_state(1, 'laplace(d=10)', VARIADIC a),
                     dp_test_sums_state(x, 0, 16, 1, 'laplace(d=10)')
                     INTO counts, sums FROM generate_series(1, i);
                 length := cardinality(a) + cardinality(x);
                 RETURN NEXT;
             END LOOP;
         END $$",
    );
    let truth = "SELECT 2 * i, \
             string_agg(CASE WHEN j = 0 THEN i WHEN j <= i AND j % 4 > 0 AND j % 3 = 1 THEN i \
                 ELSE 0 END::text, ' ' ORDER BY j), \
             string_agg(CASE WHEN j = 0 THEN i WHEN j <= i AND j % 4 > 0 THEN i * j * (1::bigint << 28) \
                 ELSE 0 END::text, ' ' ORDER BY j) \
         FROM generate_series(1, 20) i, generate_series(0, 10) j GROUP BY i";
    assert_same(&mut client, "SELECT * FROM grown()", truth);
}

// What reaches the state: values ----------------------------------------------------------------

type Bounds = (f64, f64);

/// What the state of dp_sums must be for each id of `source (id, x)`: the rows whose array is not
/// NULL, and the steps that dp_mean (counting from lo) or dp_sum (from 0) takes of the elements,
/// one by one; of each row only the first `most` that are other than 0 on the grid.
fn summed(
    source: &str,
    from_lo: bool,
    length: usize,
    (lo, hi): Bounds,
    most: Option<usize>,
) -> String {
    let (aggregate, mechanism) = if from_lo {
        ("dp_test_mean_state", "hourglass")
    } else {
        ("dp_test_sum_state", "staircase")
    };
    let (nth, most) = match most {
        None => ("0".to_owned(), 0),
        Some(most) => {
            let half_a_step = lo.abs().max(hi.abs()) * 0.5f64.powi(33);
            let nth = format!(
                "count(*) FILTER (WHERE abs(least(greatest(v, '{lo:e}'), '{hi:e}')) > {half_a_step:e}) \
                 OVER (PARTITION BY r ORDER BY position)"
            );
            (nth, most)
        }
    };
    format!(
        "WITH source AS (SELECT id, row_number() OVER () AS r, x FROM {source} \
             WHERE x IS NOT NULL), \
         given AS (SELECT r, position, v FROM source, unnest(x) WITH ORDINALITY u(v, position)), \
         elements AS (SELECT id, r, position, coalesce(nullif(v, 'NaN'), 0) AS v \
             FROM source CROSS JOIN generate_series(1, {length}) position \
             LEFT JOIN given USING (r, position)), \
         numbered AS (SELECT *, {nth} AS nth FROM elements), \
         states AS (SELECT id, position, {aggregate}(CASE WHEN nth <= {most} THEN v ELSE 0 END, \
                 '{lo:e}', '{hi:e}', 1, '{mechanism}') AS state FROM numbered GROUP BY id, position) \
         SELECT id, split_part(min(state), ' ', 1) || ' ' || \
             string_agg(split_part(state, ' ', 2), ' ' ORDER BY position) \
         FROM states GROUP BY id"
    )
}

/// That dp_sums takes the arrays of `source (id, x)` for what they are, as vectors of `length`.
fn check_values(client: &mut Client, source: &str, length: usize, bounds: Bounds) {
    let (lo, hi) = bounds;
    let mechanism = |text: &str| format!("{text}, d={length})'").replace("(, ", "(");
    let mut cases = vec![
        (
            vec![
                mechanism("NULL, 'correlated(mu=1"),
                mechanism("1, 'known_n(delta=1e-6, n=2"),
            ],
            true,
            None,
        ),
        (
            vec![
                mechanism("1, 'gaussian(delta=1e-6"),
                mechanism("1, 'laplace("),
            ],
            false,
            None,
        ),
    ];
    if length > 1 && (lo == 0.0 || hi == 0.0) {
        cases.extend([1, length / 2].map(|most| {
            let ellipse = format!("NULL, 'ellipse(mu=1, k={most}");
            (vec![mechanism(&ellipse)], false, Some(most))
        }));
    }
    for (mechanisms, from_lo, most) in cases {
        let truth = texts(client, &summed(source, from_lo, length, bounds, most));
        assert!(!truth.is_empty(), "no rows: {source}");
        for mechanism in mechanisms {
            let private = format!(
                "SELECT id, dp_test_sums_state(x, '{lo:e}', '{hi:e}', {mechanism}) \
                 FROM {source} GROUP BY id HAVING count(x) > 0"
            );
            assert_rows(&texts(client, &private), &truth, &private);
        }
    }
}

/// As [`SHAPES`], of numbers.
const NUMBERS: &str = "
    CREATE TABLE numbers AS SELECT repeat('x', i) AS before, id, x
    FROM (VALUES
        (1, '{}'::float8[]), (2, NULL), (3, '{0.3}'), (4, '{NULL}'), (5, '{NaN,0.25,NaN}'),
        (6, '{Infinity,-Infinity,NULL,5}'), (7, '{1e308,-1e308,1e-308,-0,0}'),
        (8, '{NULL,NULL,NULL,0.7}'), (9, '[7:9]={-4,2.5,7.5}'), (10, '{{0.1,6},{-0.2,NULL}}'),
        (11, '[0:1][3:5]={{1,2,3},{4,NULL,-6}}'), (12, '{5e-324,-5e-324,2.5e-310,1e-11,1.1e-10}'),
        (13, (SELECT array_agg(sin(j) * 9) FROM generate_series(1, 64) j)),
        (14, (SELECT array_agg(nullif(j % 5, 4) * cos(j)) FROM generate_series(1, 65) j))
    ) v(id, x), generate_series(1, 3) i;
    INSERT INTO numbers SELECT before, 0, x FROM numbers";

#[test]
fn values_are_the_steps_that_single_values_are() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, NUMBERS);
    for bounds in [
        (0.0, 1.0),
        (-5.0, 0.0),
        (-3.0, 7.0),
        (2.0, 5.0),
        (-6.5, -0.5),
        (1e300, 1.7e308),
        (-1e-310, 1e-310),
    ] {
        for length in [1, 4, 7, 65] {
            check_values(&mut client, "numbers", length, bounds);
        }
    }
}

#[test]
fn values_are_read_from_arrays_of_every_kind() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, NUMBERS);
    run(
        &mut client,
        "CREATE DOMAIN number AS float8; CREATE DOMAIN series AS float8[]; \
         CREATE TABLE compressed (id int, x float8[]); CREATE TABLE elsewhere (id int, x float8[]); \
         ALTER TABLE elsewhere ALTER x SET STORAGE EXTERNAL; \
         INSERT INTO compressed SELECT r % 2, (SELECT array_agg(nullif(j % 8, r)::float8) \
             FROM generate_series(1, 600) j) FROM generate_series(1, 6) r; \
         INSERT INTO elsewhere SELECT id, x::text::float8[] FROM compressed",
    );
    let bounds = (0.0, 5.0);
    for array in [
        "x::text::float8[]",
        "CASE WHEN array_ndims(x) > 1 THEN x ELSE array_append(x, 3) END",
        "CASE WHEN array_ndims(x) > 1 THEN x ELSE array_append(array_append(x, NULL), 3) END",
        "x::series::float8[]",
        "x::number[]::float8[]",
        "x::real[]::float8[]",
    ] {
        // What a value is as another type must not be more than it can hold.
        let source = format!("(SELECT id, {array} AS x FROM numbers WHERE id NOT IN (0, 7, 12)) s");
        check_values(&mut client, &source, 6, bounds);
    }
    for (table, compressed) in [("compressed", true), ("elsewhere", false)] {
        let sql = format!(
            "SELECT bool_and((pg_column_compression(x) IS NOT NULL) = {compressed}) FROM {table}"
        );
        assert!(value::<bool>(&mut client, &sql), "{table}");
        for length in [3, 600, 601] {
            check_values(&mut client, table, length, bounds);
        }
    }
}

/// What is 0 on the grid is 0: below half a step, or outside the bounds on the side of 0.
#[test]
fn the_first_numbers_other_than_0_are_kept() {
    let (_database, mut client) = session(Build::Testing);
    let one = 1i64 << 32;
    for (x, bounds, kept) in [
        ("{0,1,0,1,1,1}", "0, 1", [0, one, 0, one, 0, 0]),
        ("{1e-11,NaN,-7,1,NULL,1}", "0, 1", [0, 0, 0, one, 0, one]),
        ("{2e-10,1,1,1,1,1}", "0, 1", [1, one, 0, 0, 0, 0]),
        ("{4,2,1,1,1,1}", "-2, 0", [0; 6]),
        (
            "{4,-1,NULL,-9,-2,-2}",
            "-2, 0",
            [0, -one / 2, 0, -one, 0, 0],
        ),
    ] {
        let sql = format!(
            "SELECT dp_test_sums_state('{x}', {bounds}, NULL, 'ellipse(mu=1, k=2, d=6)') \
             FROM generate_series(1, 3)"
        );
        let kept = kept.map(|steps| format!(" {}", 3 * steps)).concat();
        assert_eq!(
            value::<String>(&mut client, &sql),
            format!("3{kept}"),
            "{x}"
        );
    }
}

#[test]
fn a_null_array_is_no_row_of_sums() {
    let (_database, mut client) = session(Build::Testing);
    for (x, state) in [
        ("NULL", None),
        (
            "CASE WHEN i > 1 THEN ARRAY[1.0] END",
            Some("2 8589934592 0"),
        ),
        (
            "CASE WHEN i < 3 THEN ARRAY[1.0] END",
            Some("2 8589934592 0"),
        ),
    ] {
        let sql = format!(
            "SELECT dp_test_sums_state(({x})::float8[], 0, 1, 1, 'laplace(d=2)') \
             FROM generate_series(1, 3) i"
        );
        let seen: Option<String> = value(&mut client, &sql);
        assert_eq!(seen.as_deref(), state, "{x}");
    }
}

// The same integers in every plan ----------------------------------------------------------------

/// Rows with questions as columns, the same as an array of any length, and an array of values.
/// `f1` ... `f5` are the first two yes of a row; `u1` ... `u3` the steps of the values from -2 on,
/// and `s1` ... `s3` those from 0, for the bounds -2 and 2, computed here: all of them are quarters.
/// `parts` is the same in partitions.
const ITEMS: &str = "
    CREATE TABLE items AS
    SELECT id, id % 10 AS k, id % 3 AS g, a, q1, q2, q3, q4, q5, q1 AS f1, q2 AS f2,
        q3 AND y1 + y2 < 2 AS f3, q4 AND y1 + y2 + y3 < 2 AS f4, q5 AND y1 + y2 + y3 + y4 < 2 AS f5,
        x, (c1 + 2) * 2 ^ 30 AS u1, (c2 + 2) * 2 ^ 30 AS u2, (c3 + 2) * 2 ^ 30 AS u3,
        c1 * 2 ^ 31 AS s1, c2 * 2 ^ 31 AS s2, c3 * 2 ^ 31 AS s3
    FROM (SELECT id, a, x, a[1] q1, a[2] q2, a[3] q3, a[4] q4, a[5] q5,
            coalesce(a[1]::int, 0) y1, coalesce(a[2]::int, 0) y2, coalesce(a[3]::int, 0) y3,
            coalesce(a[4]::int, 0) y4,
            least(greatest(coalesce(nullif(x[1], 'NaN'), 0), -2), 2)::numeric c1,
            least(greatest(coalesce(nullif(x[2], 'NaN'), 0), -2), 2)::numeric c2,
            least(greatest(coalesce(nullif(x[3], 'NaN'), 0), -2), 2)::numeric c3
        FROM (SELECT i AS id,
                CASE i % 11 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN ARRAY[NULL, i % 3 = 0]
                    WHEN 3 THEN ARRAY[i % 2 = 0, true, i % 7 < 3, NULL, i % 5 < 3, true, true]
                    ELSE ARRAY[i % 2 = 0, i % 3 = 0, i % 7 < 3, i % 13 < 9, i % 5 < 3] END AS a,
                CASE i % 13 WHEN 0 THEN '{}' WHEN 1 THEN '{NaN,Infinity,-Infinity}'
                    WHEN 2 THEN ARRAY[NULL, i % 17 / 4.0]
                    ELSE ARRAY[i % 37 / 4.0 - 4, i % 23 / 4.0 - 3, -1, i] END::float8[] AS x
            FROM generate_series(1, 6000) i OFFSET 0) rows OFFSET 0) clamped;
    UPDATE items SET x = NULL, u1 = NULL, u2 = NULL, u3 = NULL, s1 = NULL, s2 = NULL, s3 = NULL
        WHERE id % 19 = 0;
    CREATE TABLE parts (LIKE items) PARTITION BY LIST (k);
    CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN (0, 1, 2, 3, 4);
    CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN (5, 6, 7, 8, 9);
    INSERT INTO parts SELECT * FROM items;
    ANALYZE items; ANALYZE parts";

/// The states, with `{in}` for what may end the list of arguments and `{after}` for what may
/// follow it, and the columns that they sum.
const STATES: [(&str, &str, [&str; 2]); 6] = [
    (
        "dp_test_counts_state(NULL, 'correlated(mu=1)', q1, q2, q3, q4, q5{in}){after}",
        "q",
        ["count(*)", "count(nullif({}, false))"],
    ),
    (
        "dp_test_counts_state(1, 'laplace(d=5)', VARIADIC a{in}){after}",
        "q",
        ["count(*)", "count(nullif({}, false))"],
    ),
    (
        "dp_test_counts_state(NULL, 'ellipse(rho=1, k=2)', q1, q2, q3, q4, q5{in}){after}",
        "f",
        ["count(*)", "count(nullif({}, false))"],
    ),
    (
        "dp_test_counts_state(1, 'ellipse(delta=1e-6, k=2, d=5)', VARIADIC a{in}){after}",
        "f",
        ["count(*)", "count(nullif({}, false))"],
    ),
    (
        "dp_test_sums_state(x, -2, 2, NULL, 'correlated(mu=1, d=3)'{in}){after}",
        "u",
        ["count(x)", "sum({}::bigint)"],
    ),
    (
        "dp_test_sums_state(x, -2, 2, 1, 'gaussian(delta=1e-6, d=3)'{in}){after}",
        "s",
        ["count(x)", "sum({}::bigint)"],
    ),
];

fn items() -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, ITEMS);
    // No plan but those that the cases ask for.
    let settings = "SET jit = off; SET max_parallel_workers_per_gather = 0; \
         ALTER FUNCTION dp_mean.dp_counts_trans(dp_mean.dp_state, float8, dp_mechanism, \"any\") COST 1; \
         ALTER FUNCTION dp_mean.dp_sums_trans(dp_mean.dp_state, float8[], float8, float8, float8, dp_mechanism) COST 1";
    run(&mut client, settings);
    (database, client)
}

/// The columns of all states, and what they must be.
fn columns(inside: &str, after: &str) -> [String; 2] {
    let (mut states, mut truths) = (Vec::new(), Vec::new());
    for (i, (state, column, [count, sum])) in STATES.into_iter().enumerate() {
        let state = state.replace("{in}", inside).replace("{after}", after);
        states.push(format!("{state} AS a{i}"));
        let length = if "qf".contains(column) { 5 } else { 3 };
        let sums = list(length, |j| {
            format!("{}{after}", sum.replace("{}", &format!("{column}{j}")))
        });
        truths.push(format!(
            "array_to_string(ARRAY[{count}{after}, {sums}], ' ') AS a{i}"
        ));
    }
    [states, truths].map(|columns| columns.join(", "))
}

/// `{}` in `template` filled with all states, and with what they must be.
fn filled(template: &str) -> [String; 2] {
    columns("", "").map(|columns| template.replace("{}", &columns))
}

/// That the states are right under a plan with these words.
fn check_pair(client: &mut Client, settings: &str, [private, truth]: [&str; 2], words: &[&str]) {
    let truth = texts(client, truth);
    assert!(!truth.is_empty(), "no rows: {private}");
    run(client, &format!("BEGIN; {settings}"));
    assert_plan(&explain(client, private), words, private);
    let seen = texts(client, private);
    run(client, "ROLLBACK");
    assert_rows(&seen, &truth, &format!("{settings}: {private}"));
}

/// The same for all states at `{}` in `template`.
fn check(client: &mut Client, settings: &str, template: &str, words: &[&str]) {
    let [private, truth] = filled(template);
    check_pair(client, settings, [&private, &truth], words);
}

const TOTAL: &str = "SELECT {} FROM items";
const BY_K: &str = "SELECT k, {} FROM items GROUP BY k";
const SORT: &str = "SET LOCAL enable_hashagg = off";
#[test]
fn states_are_the_sums_that_sql_has() {
    let (_database, mut client) = items();
    let cube = "SELECT k, g, {} FROM items GROUP BY CUBE (k, g)";
    let cases: [(&str, &str, &[&str]); 5] = [
        ("", TOTAL, &["Aggregate", "!Group"]),
        ("", BY_K, &["HashAggregate", "!Sort"]),
        (SORT, cube, &["GroupAggregate", "Sort Key: items.g"]),
        (
            &parallel(),
            TOTAL,
            &["Finalize Aggregate", "Partial Aggregate"],
        ),
        (&parallel(), BY_K, &["Partial"]),
    ];
    for (settings, template, words) in cases {
        check(&mut client, settings, template, words);
    }
}

#[test]
fn filter_and_distinct_inside_the_call() {
    let (_database, mut client) = items();
    let after = columns("", " FILTER (WHERE g = 1 AND q1 IS NOT NULL)");
    for place in [TOTAL, BY_K] {
        let [private, truth] = after.clone().map(|columns| place.replace("{}", &columns));
        let words = ["FILTER (WHERE ((g = 1)"];
        check_pair(&mut client, "", [&private, &truth], &words);
        let in_parallel = ["FILTER (WHERE ((g = 1)", "Partial"];
        check_pair(&mut client, &parallel(), [&private, &truth], &in_parallel);
    }
    let sums = |columns: &str| {
        let sum = |column: &str| format!("count(*) FILTER (WHERE {column})");
        let sums: Vec<_> = columns.split(' ').map(sum).collect();
        format!("array_to_string(ARRAY[count(*), {}], ' ')", sums.join(", "))
    };
    // Of rows that answer alike, one.
    let private = "SELECT k, dp_test_counts_state(DISTINCT 1, 'laplace', q1, q2, q3) FROM items \
                   GROUP BY k";
    let truth = format!(
        "SELECT k, {} FROM (SELECT DISTINCT k, q1, q2, q3 FROM items) s GROUP BY k",
        sums("q1 q2 q3")
    );
    check_pair(&mut client, "", [private, &truth], &["DISTINCT"]);
    let private = "SELECT k, dp_test_sums_state(DISTINCT x, -2, 2, 1, 'laplace(d=3)') FROM items \
                   GROUP BY k";
    let truth = "SELECT k, array_to_string(ARRAY[count(*), sum(s1::bigint), sum(s2::bigint), \
                     sum(s3::bigint)], ' ') FROM (SELECT DISTINCT k, x, s1, s2, s3 FROM items \
                     WHERE x IS NOT NULL) s GROUP BY k";
    check_pair(&mut client, "", [private, truth], &["DISTINCT"]);
}

#[test]
fn each_outer_row_makes_a_call_of_its_own_length() {
    let (_database, mut client) = items();
    // A row without a partner is a row of NULLs.
    let alone = "SELECT dp_test_counts_state(1, 'laplace', q1, q2) \
                 FROM (VALUES (77)) v(w) LEFT JOIN items ON w = k GROUP BY w";
    assert_eq!(value::<String>(&mut client, alone), "1 0 0");

    // Each outer row makes another call of it, of another length.
    let mechanisms = [
        "correlated(mu=1, d=2)",
        "ellipse(mu=1, k=2, d=5)",
        "correlated(mu=1, d=9)",
        "correlated(mu=1, d=2)",
    ];
    for (group, clause) in [("-1", ""), ("k", "GROUP BY k")] {
        let state = |mechanism: &str| {
            format!(
                "SELECT {group} AS key, dp_test_counts_state(NULL, {mechanism}, VARIADIC a) \
                 FROM items {clause}"
            )
        };
        let values: Vec<_> = mechanisms
            .iter()
            .map(|name| format!("('{name}')"))
            .collect();
        let private = format!(
            "SELECT s.* FROM (VALUES {}) v(m), LATERAL ({}) s",
            values.join(", "),
            state("m::dp_mechanism")
        );
        let truth = mechanisms
            .map(|name| state(&format!("'{name}'")))
            .join(" UNION ALL ");
        check_pair(&mut client, "", [&private, &truth], &["Nested Loop"]);
    }
}

// Memory ----------------------------------------------------------------------------------------

/// What the backend holds: bytes in PostgreSQL's memory contexts, and bytes of its own that it got
/// from the system.
fn held(client: &mut Client) -> [i64; 2] {
    let of_its_own = "SELECT substring(pg_read_file('/proc/self/status') \
                      FROM 'RssAnon:\\s*(\\d+) kB')::bigint * 1024";
    [memory(client), value(client, of_its_own)]
}

/// Tables for queries of many rows: few rows, each taken many times.
const FEW: &str = "
    CREATE TABLE long AS SELECT r,
        (SELECT array_agg(j % (r + 1) = 0) FROM generate_series(1, 10000) j) AS a,
        (SELECT array_agg(j % (r + 1) = 0) FROM generate_series(1, 64) j) AS b,
        (SELECT array_agg((j % r)::float8) FROM generate_series(1, 64) j) AS x
        FROM generate_series(1, 50) r;
    CREATE TABLE elsewhere (LIKE long);
    ALTER TABLE elsewhere ALTER a SET STORAGE EXTERNAL;
    INSERT INTO elsewhere SELECT r, a::text::boolean[], b, x FROM long;
    SET max_parallel_workers_per_gather = 0; SET jit = off; SET enable_sort = off;
    SET work_mem = '64MB'";

/// Queries over `{}` times some rows.
fn queries_of_many_rows() -> [(String, [usize; 2]); 5] {
    let questions = list(64, |_| "b".to_owned());
    [
        (
            format!(
                "SELECT dp_counts(NULL, 'correlated(mu=1)', {questions}) \
                 FROM (SELECT generate_series(1, {{}}) % 3 = 0 AS b OFFSET 0) s"
            ),
            [1000, 1_000_000],
        ),
        // Toasted.
        (
            "SELECT dp_counts(NULL, 'correlated(mu=1, d=10000)', VARIADIC a) FROM \
                 (SELECT a, generate_series(1, {}) FROM long UNION ALL \
                  SELECT a, generate_series(1, {}) FROM elsewhere OFFSET 0) s"
                .to_owned(),
            [10, 1000],
        ),
        // Expanded, and a state of 800,064 bytes in each of five groups.
        (
            "SELECT dp_counts(NULL, 'ellipse(mu=1, k=5, d=100000)', VARIADIC array_append(b, i > 5)) \
             FROM (SELECT b, r, generate_series(1, {}) AS i FROM long OFFSET 0) s GROUP BY r % 5"
                .to_owned(),
            [2, 1000],
        ),
        (
            "SELECT dp_sums(x, 0, 30, NULL, 'correlated(mu=1, d=64)'), \
                 dp_means(x, 0, 30, NULL, 'correlated(mu=1, d=64)') \
             FROM (SELECT x, r, generate_series(1, {}) FROM long OFFSET 0) s GROUP BY r % 5"
                .to_owned(),
            [20, 4000],
        ),
        // A release for each of that many runs of a sub-select.
        (
            "SELECT s.* FROM (SELECT generate_series(1, {}) AS i OFFSET 0) i, LATERAL (SELECT \
                 dp_counts_estimate(NULL, 'correlated(mu=1, d=64)', VARIADIC b), \
                 dp_means(x, 0, i, NULL, 'correlated(mu=1, d=64)') FROM long WHERE r <> i) s"
                .to_owned(),
            [20, 2000],
        ),
    ]
}

#[test]
fn memory_does_not_grow_with_rows() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, FEW);
    for (query, [few, many]) in queries_of_many_rows() {
        let mut seen = Vec::new();
        for times in [few, few, many] {
            let sql = query.replace("{}", &times.to_string());
            // While the cursor is open, so are the aggregate's states.
            run(
                &mut client,
                &format!("BEGIN; DECLARE c CURSOR FOR {sql}; MOVE 1 FROM c"),
            );
            let first = held(&mut client);
            run(&mut client, "MOVE ALL FROM c");
            seen.push([first, held(&mut client)]);
            run(&mut client, "COMMIT");
        }
        // The first run fills caches. A tenth of a byte a row would show, and one array or state
        // a row, or a release, also where a backend gets memory from the system.
        for (few, many) in seen[1].iter().zip(&seen[2]) {
            let grown = [many[0] - few[0], many[1] - few[1]];
            assert!(grown[0] < 100_000, "{grown:?} bytes more: {query}");
            assert!(grown[1] < 2_000_000, "{grown:?} bytes more: {query}");
        }
    }
}

#[test]
fn a_cancelled_query_leaves_nothing() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, FEW);
    let mut settled = None;
    for round in 0..3 {
        for (query, _) in queries_of_many_rows() {
            run(&mut client, "SET statement_timeout = '100ms'");
            let refusal = refused(&mut client, &query.replace("{}", "100000000"));
            assert_eq!(refusal.code, "57014", "{refusal:?}: {query}");
            run(&mut client, "RESET statement_timeout");
        }
        let call = "SELECT dp_counts(NULL, 'correlated(mu=1000)', r > 5, r > 25) FROM long";
        let answer: Vec<f64> = value(&mut client, call);
        assert_eq!(
            answer.iter().map(|n| n.round()).collect::<Vec<_>>(),
            [45.0, 25.0]
        );
        let now = held(&mut client);
        // From the second round on, everything that the session caches is there.
        if round == 1 {
            settled = Some(now);
        }
        if let Some(settled) = settled {
            assert!(
                now[0] < settled[0] + 100_000,
                "{settled:?} bytes grew to {now:?}"
            );
            assert!(
                now[1] < settled[1] + 4_000_000,
                "{settled:?} bytes grew to {now:?}"
            );
        }
    }
}

// Answers ---------------------------------------------------------------------------------------

/// Calls with so little noise that the answers tell the truth; the true values, and the true
/// number of rows.
const PRECISE: [(&str, &str, &str, &str); 10] = [
    (
        "dp_counts",
        "NULL, 'correlated(mu=1000)', q1, q2, q3, q4, q5",
        "q",
        "count(*)",
    ),
    (
        "dp_counts",
        "NULL, 'correlated(mu=1000, c=1, relation=replace, d=5)', VARIADIC a",
        "q",
        "count(*)",
    ),
    (
        "dp_counts",
        "NULL, 'gaussian(rho=500000)', q1, q2, q3, q4, q5",
        "q",
        "count(*)",
    ),
    (
        "dp_counts",
        "NULL, 'known_n(mu=1000, n=600, d=5)', VARIADIC a",
        "q",
        "count(*)",
    ),
    (
        "dp_counts",
        "NULL, 'ellipse(mu=1000, k=2)', q1, q2, q3, q4, q5",
        "f",
        "count(*)",
    ),
    (
        "dp_counts",
        "NULL, 'ellipse(mu=1000, k=2, d=5)', VARIADIC a",
        "f",
        "count(*)",
    ),
    (
        "dp_sums",
        "x, -2, 2, NULL, 'correlated(mu=1000, d=3)'",
        "s",
        "count(x)",
    ),
    (
        "dp_sums",
        "x, -2, 2, NULL, 'correlated(rho=500000, d=3, relation=replace)'",
        "s",
        "count(x)",
    ),
    (
        "dp_sums",
        "x, -2, 2, NULL, 'gaussian(mu=1000, d=3)'",
        "s",
        "count(x)",
    ),
    (
        "dp_sums",
        "x, -2, 2, NULL, 'gaussian(mu=1000, d=3, relation=replace)'",
        "s",
        "count(x)",
    ),
];

#[test]
fn answers_with_little_noise_are_the_truth() {
    let (_database, mut client) = items();
    run(&mut client, "SELECT dp_test_seed(4)");
    // Ten groups of every call, with a total and up to five values, twice.
    let deviations = normal_deviations(ALPHA / (10 * PRECISE.len() * 12) as f64);
    for (aggregate, arguments, column, number) in PRECISE {
        let truth = match column {
            "s" => list(3, |j| format!("sum(s{j}) / 2 ^ 31")),
            _ => list(5, |j| format!("count(*) FILTER (WHERE {column}{j})")),
        };
        // Counts are whole, and sums of quarters are quarters.
        let unit = if column == "s" { 0.25 } else { 1.0 };
        let estimate = format!("({aggregate}_estimate({arguments}))");
        let sql = format!(
            "SELECT ARRAY[{truth}]::float8[], {aggregate}({arguments}), {estimate}.value, \
                 {estimate}.sd, {number}::float8, {estimate}.total, {estimate}.total_sd \
             FROM items GROUP BY k"
        );
        let groups = rows(&mut client, &sql);
        assert_eq!(groups.len(), 10);
        for group in groups {
            let truth: Vec<f64> = group.get(0);
            let off = deviations * group.get::<_, f64>(3);
            assert!(off < unit / 2.0, "{off}: {sql}");
            for answer in [group.get::<_, Vec<f64>>(1), group.get(2)] {
                assert_eq!(answer.len(), truth.len());
                let near = |pair: (&f64, &f64)| (pair.0 - pair.1).abs() <= off;
                assert!(
                    answer.iter().zip(&truth).all(near),
                    "{answer:?} {truth:?} {sql}"
                );
            }
            let number: f64 = group.get(4);
            if let Some(total) = group.get::<_, Option<f64>>(5) {
                let off = deviations * group.get::<_, f64>(6);
                assert!(
                    (total - number).abs() <= off && off < 0.5,
                    "{total} {number} {sql}"
                );
            }
        }
    }
    // Noise of a discrete distribution, of scale 2/50: it is 0 but with a chance of 2 e^-25 for each count.
    let sql = "SELECT dp_counts(50, 'laplace', q1, q2) = \
                   ARRAY[count(*) FILTER (WHERE q1), count(*) FILTER (WHERE q2)]::float8[] \
               FROM items";
    assert!(value::<bool>(&mut client, sql));
}

#[test]
fn means_with_little_noise_are_the_truth() {
    let (_database, mut client) = items();
    run(&mut client, "SELECT dp_test_seed(5)");
    let arguments = "x, -2, 2, NULL, 'correlated(mu=1000, d=3)'";
    let estimate = format!("(dp_sums_estimate({arguments}))");
    let sql = format!(
        "SELECT dp_means({arguments}), ARRAY[{}]::float8[], {estimate}.sd, {estimate}.total_sd, \
             count(x)::float8 FROM items GROUP BY k",
        list(3, |j| format!("avg(s{j}) / 2 ^ 31"))
    );
    let deviations = normal_deviations(ALPHA / (10.0 * 4.0));
    for row in rows(&mut client, &sql) {
        let (means, truth): (Vec<f64>, Vec<f64>) = (row.get(0), row.get(1));
        let [sd, total_sd, number] = [2, 3, 4].map(|i| row.get::<_, f64>(i));
        // A quotient of noisy numbers; a mean is 2 at most, and the noisy total above half the
        // number.
        let off = deviations * (sd + 2.0 * total_sd) / (number / 2.0);
        // A value misplaced would move a sum by a quarter at least.
        assert!(2.0 * off < 0.25 / number, "{off} {number}");
        let near = |pair: (&f64, &f64)| (pair.0 - pair.1).abs() <= off;
        assert!(
            means.len() == 3 && means.iter().zip(&truth).all(near),
            "{means:?} {truth:?}"
        );
    }
}

#[test]
fn means_are_inside_the_bounds() {
    let (_database, mut client) = items();
    run(&mut client, "SELECT dp_test_seed(7)");
    for (lo, hi) in [
        (-2.0, 2.0),
        (0.1, 0.3),
        (-8e307, 8e307),
        (1e300, 1.7e308),
        (0.0, 5e-324),
        (-1.7e308, -1e308),
    ] {
        for mechanism in ["correlated(mu=0.5, d=4)", "known_n(mu=0.5, n=5, d=4)"] {
            // Groups of five rows.
            let sql = format!(
                "SELECT min(mean), max(mean), count(DISTINCT mean) > 2 OR '{hi:e}' < 1e-300::float8 \
                 FROM (SELECT unnest(dp_means(x, '{lo:e}', '{hi:e}', NULL, '{mechanism}')) AS mean \
                     FROM items GROUP BY id % 1200) s"
            );
            let row = client.query_one(&sql, &[]).expect("means");
            // The noise is as large as the group: some means are at each end, some between.
            assert_eq!((row.get(0), row.get(1)), (lo, hi), "{sql}");
            assert!(row.get::<_, bool>(2), "{sql}");
        }
    }
}
