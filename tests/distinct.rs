//! `dp_count_distinct` and `dp_count_distinct_estimate` against `count(DISTINCT id)`, for ids of all types.

use dp_mean_tests::{Build, rows, run, session, value};
use postgres::Client;

use crate::arguments::{PLACES, refused_alike, tables};
use crate::groups::has_icu;

/// Few ids and many, each with several rows, NULLs too.
const TABLES: &str = "
    CREATE TABLE t AS
        SELECT i % 4 AS k, CASE WHEN i % 11 <> 0 THEN i * 7919 % 20011 END AS id
        FROM generate_series(1, 60000) i;
    CREATE TABLE parts (k int, id int) PARTITION BY LIST (k);
    CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1, 2, 3);
    INSERT INTO parts SELECT * FROM t;
    ANALYZE t; ANALYZE parts";

/// The bits that are set, without noise.
const STATE: &str = "CREATE AGGREGATE id_state(anyelement, float8, dp_mechanism) \
     (SFUNC = dp_mean.dp_count_distinct_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state, \
      COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE)";

/// 0 where there is no state.
fn bits(client: &mut Client, sql: &str) -> i64 {
    let state: Option<String> = value(client, sql);
    state.map_or(0, |state| state.parse().expect("a number"))
}

#[test]
fn at_a_large_eps_it_is_what_postgresql_says() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLES);
    for condition in ["true", "k = 2", "id < 5", "id IS NULL", "false"] {
        for id in ["id", "id::int8", "id::text", "id::numeric", "ARRAY[id, 1]"] {
            let id = match id {
                "ARRAY[id, 1]" => format!("CASE WHEN id IS NOT NULL THEN {id} END"),
                _ => id.to_owned(),
            };
            let sql = format!(
                "SELECT dp_count_distinct({id}, 50), count(DISTINCT {id}), \
                 dp_count_distinct({id}, 50, 'bitmap(bits=4194304)'), (dp_count_distinct_estimate({id}, 50)).* \
                 FROM t WHERE {condition}"
            );
            let row = &rows(&mut client, &sql)[0];
            let number = |i| row.get::<_, i64>(i) as f64;
            let truth = number(1);
            // 1% of 20,000 ids fall on another in 128 KB, in expectation; the answer knows.
            for i in [0, 2, 3] {
                assert!(
                    (number(i) - truth).abs() <= 1.0 + truth * 0.004,
                    "{row:?}: {sql}"
                );
            }
            assert!(number(4) <= truth && truth <= number(5), "{row:?}: {sql}");
            assert_eq!(row.get::<_, &str>("mechanism"), "bitmap");
        }
    }
}

/// Each type has values that are equal and written otherwise, and others.
#[test]
fn equal_ids_are_one_and_others_are_not() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, STATE);
    run(
        &mut client,
        "CREATE DOMAIN code AS text; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
    );
    let has_icu = has_icu(&mut client);
    if has_icu {
        run(
            &mut client,
            "CREATE COLLATION nobody_cares (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        );
    }
    let long = "repeat('x', 100000)";
    for (ids, expected) in [
        ("1, 2, 2, 1, -1, NULL", 3),
        ("1::int2, 2::int2, 1::int2, -1::int2", 3),
        ("1::int8, 4294967297::int8, 1::int8", 2),
        ("true, false, true", 2),
        ("1::numeric, 1.00, 2, 1e0", 2),
        ("0::float8, '-0', 'NaN', 'NaN', 1e-300", 3),
        ("'a'::text, 'b', 'a', '', NULL, 'A'", 4),
        ("'a'::text COLLATE nobody_cares, 'A', 'b'", 2),
        ("'a'::code, 'b', 'a'", 2),
        ("'a'::char(3), 'a  ', 'b'", 2),
        ("'\\x00'::bytea, '\\x0000', '\\x', '\\x00'", 3),
        ("'sad'::mood, 'ok', 'sad'", 2),
        ("'2020-01-01'::date, '2020-01-02', '2020-01-01'", 2),
        (
            "'2020-01-01 00:00+00'::timestamptz, '2020-01-01 01:00+01', '2020-01-01 00:00+01'",
            2,
        ),
        (
            "'00000000-0000-0000-0000-000000000001'::uuid, '00000000-0000-0000-0000-000000000002', \
             '00000000000000000000000000000001'",
            2,
        ),
        ("'{\"a\": 1}'::jsonb, '{\"a\":1.0}', '{}'", 2),
        ("'1.2.3.4'::inet, '1.2.3.4/32', '1.2.3.5'", 2),
    ] {
        if ids.contains("nobody_cares") && !has_icu {
            continue;
        }
        let rows_of = ids.split(", ").collect::<Vec<_>>();
        // Of few ids in 16 MB, none fall on one another.
        let sql = format!(
            "SELECT id_state(id, 1, 'bitmap(bits=134217728)') FROM (VALUES ({})) v(id)",
            rows_of.join("), (")
        );
        assert_eq!(bits(&mut client, &sql), expected, "{sql}");
    }
    // Compressed, and stored elsewhere, and as they are.
    run(
        &mut client,
        &format!(
            "CREATE TABLE long (id text); INSERT INTO long SELECT {long} FROM generate_series(1, 3); \
             INSERT INTO long SELECT {long} || i FROM generate_series(1, 3) i; \
             ALTER TABLE long ALTER id SET STORAGE external; \
             INSERT INTO long SELECT {long} || i FROM generate_series(1, 3) i"
        ),
    );
    let sql = "SELECT id_state(id, 1, 'bitmap') FROM long";
    assert_eq!(bits(&mut client, sql), 4);
    let sql = "SELECT id_state(id || '', 1, 'bitmap') FROM long";
    assert_eq!(bits(&mut client, sql), 4);
    let sql = "SELECT id_state(left(id, i) , 1, 'bitmap') FROM long, generate_series(1, 300) i";
    assert_eq!(bits(&mut client, sql), 300);
}

#[test]
fn a_state_is_no_longer_than_its_bitmap() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE FUNCTION size_of(dp_mean.dp_state) RETURNS int LANGUAGE internal IMMUTABLE AS 'byteaoctetlen';
         CREATE AGGREGATE id_size(anyelement, float8, dp_mechanism) \
             (SFUNC = dp_mean.dp_count_distinct_trans, STYPE = dp_mean.dp_state, FINALFUNC = size_of)",
    );
    for (ids, bitmap, least, most) in [
        (1, "bitmap", 80, 90),
        (12, "bitmap", 80, 90),
        (1000, "bitmap", 4000, 10_000),
        (10_000, "bitmap", 40_000, 66_000),
        (100_000, "bitmap", 131_000, 131_100),
        (2_000_000, "bitmap", 131_000, 131_100),
        (100_000, "bitmap(bits=1024)", 140, 160),
    ] {
        let sql = format!("SELECT id_size(i, 1, '{bitmap}') FROM generate_series(1, {ids}) i");
        let size: i32 = value(&mut client, &sql);
        assert!((least..=most).contains(&size), "{sql}: {size}");
    }
}

#[test]
fn rows_of_an_id_count_once() {
    let (_database, mut client) = session(Build::Testing);
    run(&mut client, TABLES);
    let mut seeded = |from: &str| -> i64 {
        run(&mut client, "SELECT dp_test_seed(5)");
        value(
            &mut client,
            &format!("SELECT dp_count_distinct(id, 0.5) FROM {from}"),
        )
    };
    let once = seeded("(SELECT DISTINCT id FROM t) s");
    assert_eq!(seeded("t"), once);
    assert_eq!(
        seeded("(SELECT id FROM t UNION ALL SELECT id FROM t) s"),
        once
    );
    let sql = "SELECT (dp_count_distinct_estimate(id, 0.01)).* FROM t";
    let row = &rows(&mut client, sql)[0];
    let number = |i| row.get::<_, i64>(i);
    assert!(number(1) <= number(0) && number(0) <= number(2), "{row:?}");
    assert_eq!(row.get::<_, f64>("epsilon"), 0.01);
}

#[test]
fn ids_that_cannot_be_grouped_are_refused_alike() {
    let (_database, mut client) = tables();
    for aggregate in ["dp_count_distinct", "dp_count_distinct_estimate"] {
        // Of an anonymous row, what its columns are is not known.
        for id in [
            "x::text::json",
            "point(x, x)",
            "ARRAY[point(x, x)]",
            "(x, x)",
        ] {
            let call = format!("{aggregate}({id}, 1)");
            let refusal = refused_alike(&mut client, &call, &PLACES);
            assert_eq!(refusal.code, "42883", "{call}: {refusal:?}");
            assert!(refusal.message.contains("argument \"id\" "), "{refusal:?}");
        }
    }
}
