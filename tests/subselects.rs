//! A WARNING where an argument is read from a table that the call aggregates: with rows and without, in serial
//! and in parallel plans.

use dp_mean_tests::{Build, Database, PARALLEL, run};

const TABLES: &str = "
    CREATE TABLE person AS SELECT i % 5 AS k, i::float8 AS income, i AS years, 'laplace'::text AS m
        FROM generate_series(1, 3000) i;
    CREATE INDEX ON person (income);
    CREATE TABLE parts (LIKE person) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0, 1, 2);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (3, 4);
    INSERT INTO parts SELECT * FROM person;
    CREATE TABLE settings AS SELECT 5000::float8 AS hi, 1.0::float8 AS eps;
    CREATE VIEW rich AS SELECT * FROM person WHERE income > 10;
    ANALYZE person; ANALYZE parts; ANALYZE settings";

/// Queries that look an argument up in the table of the call, and the argument.
const LOOKED_UP: [(&str, &str); 10] = [
    ("SELECT dp_mean(income, 0, (SELECT max(income) FROM person), 1.0) FROM person", "hi"),
    ("SELECT dp_mean(income, 0, (SELECT max(years) FROM person) + 1, 1.0) FROM person", "hi"),
    ("SELECT dp_mean(income, (SELECT avg(income) FROM person), 1e9, 1.0) FROM person WHERE income < 0", "lo"),
    ("SELECT dp_count((SELECT income / 3000 FROM person WHERE years = 3000)) FROM person", "eps"),
    ("SELECT dp_mean(income, 0, 1e9, 1.0, (SELECT m FROM person LIMIT 1)::dp_mechanism) FROM person", "mech"),
    ("SELECT dp_mean(income, 0, (SELECT max(income) FROM parts), 1.0) FROM parts", "hi"),
    ("SELECT dp_mean(income, 0, (SELECT max(income) FROM rich), 1.0) FROM person", "hi"),
    ("SELECT dp_mean(income, 0, (SELECT max(income) FROM person), 1.0) FROM settings, person", "hi"),
    ("WITH top AS MATERIALIZED (SELECT max(income) AS hi FROM person)
      SELECT dp_mean(income, 0, (SELECT hi FROM top), 1.0) FROM person", "hi"),
    ("SELECT dp_histogram(income, 0, 3000, (SELECT count(*)::int FROM person WHERE k = 0), 1.0) FROM person
      WHERE income < 0", "buckets"),
];

/// Queries that do not.
const OTHERS: [&str; 7] = [
    "SELECT dp_mean(income, 0, 5000, 1.0) FROM person",
    "SELECT dp_mean(income, 0, (SELECT hi FROM settings), (SELECT eps FROM settings)) FROM person",
    "SELECT dp_mean(income, 0, (SELECT max(income) + 1 FROM parts), 1.0) FROM person",
    "SELECT dp_mean(income, 0, (SELECT greatest(1, (dp_bounds(income, 1.0)).upper) FROM person), 1.0) FROM person",
    "WITH found AS MATERIALIZED (SELECT dp_bounds(income, 1.0) AS bounds FROM person)
     SELECT dp_mean(income, 0, (SELECT coalesce((bounds).upper, 5000) FROM found), 1.0) FROM person",
    "SELECT dp_mean(income, 0, 5000, 1.0) FROM person WHERE income < (SELECT max(income) FROM person)",
    "SELECT dp_mean(income, 0, 5000, 1.0), (SELECT max(income) FROM person) FROM person",
];

#[test]
fn a_look_at_the_table_for_an_argument_is_warned_of() {
    let database = Database::new(Build::Release);
    run(&mut database.connect(), TABLES);
    let (mut client, warnings) = database.connect_with_warnings();
    for settings in [
        "SET max_parallel_workers_per_gather = 0",
        PARALLEL,
        "SET enable_partitionwise_aggregate = on",
    ] {
        run(&mut client, settings);
        for (sql, argument) in LOOKED_UP {
            warnings.lock().expect("one session").clear();
            run(&mut client, sql);
            let seen = warnings.lock().expect("one session").clone();
            let [warning] = &seen[..] else {
                panic!("{seen:?}: {sql}");
            };
            let words =
                format!("argument \"{argument}\" is read from a table that the call aggregates");
            assert!(warning.ends_with(&words), "{warning}: {sql}");
        }
        for sql in OTHERS {
            warnings.lock().expect("one session").clear();
            run(&mut client, sql);
            let seen = warnings.lock().expect("one session").clone();
            assert!(seen.is_empty(), "{seen:?}: {sql}");
        }
    }
}
