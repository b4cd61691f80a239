//! People in many groups: each stays in at most that many, which a hash of their own chooses, whatever the plan and the
//! order of rows; and nothing of it is reported by an error.

use std::collections::{BTreeMap, BTreeSet};

use dp_core::encoding::grid::STEPS;
use dp_mean_tests::auditing::bound;
use dp_mean_tests::mix::Mix;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::{
    Build, GROUPINGS, PARALLEL, Refusal, Role, assert_plan, explain, refused, rows, run, session,
    value,
};
use postgres::Client;

/// Whether the server was built with ICU, which nondeterministic collations need. Debian's is; the one from PyPI is not.
pub fn has_icu(client: &mut Client) -> bool {
    let probe = "CREATE COLLATION probe (provider = icu, locale = 'und', deterministic = false)";
    client.batch_execute(probe).is_ok()
}

/// What people contribute: `{parts}` are the arguments behind the person, `{columns}` what the query declares.
fn kept(groups: u32, parts: &str, table: &str, columns: &str) -> String {
    format!(
        "(SELECT person, dp_groups({groups}, person, {parts}) AS kept FROM {table} GROUP BY person) AS people, \
         dp_unnest(kept) AS g({columns})"
    )
}

/// The groups of each person, as text.
pub fn choice(
    client: &mut Client,
    groups: u32,
    parts: &str,
    table: &str,
    columns: &str,
) -> Vec<String> {
    let from = kept(groups, parts, table, columns);
    let sql = format!("SELECT person::text || ' ' || g::text FROM {from} ORDER BY 1");
    rows(client, &sql).iter().map(|row| row.get(0)).collect()
}

pub const TABLE: &str = "CREATE TABLE t AS SELECT i % 500 AS person, i * 7919 % 5003 % 12 AS k, \
     ('g' || i % 7)::varchar(10) AS name, nullif(i % 5, 0) AS maybe, i % 9 / 8.0::float8 AS x \
     FROM generate_series(1, 20000) i";

/// The same groups as by the words of the rule, and at most that many.
#[test]
fn those_of_smallest_hash_stay() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    let mut had: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
    for row in rows(&mut client, "SELECT DISTINCT person, k FROM t") {
        had.entry(row.get(0)).or_default().insert(row.get(1));
    }
    let mut smaller: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
    for groups in 1..=13 {
        let from = kept(groups, "k", "t", "k int");
        let mut stay: BTreeMap<i32, BTreeSet<i32>> = BTreeMap::new();
        for row in rows(&mut client, &format!("SELECT person, k FROM {from}")) {
            let new = stay.entry(row.get(0)).or_default().insert(row.get(1));
            assert!(new, "a group of a person twice");
        }
        assert_eq!(stay.len(), had.len());
        for (person, groups_of) in &stay {
            let all = &had[person];
            assert!(groups_of.is_subset(all));
            assert_eq!(groups_of.len(), all.len().min(groups as usize));
            // One group more does not change which the others are.
            assert!(
                smaller
                    .get(person)
                    .is_none_or(|before| before.is_subset(groups_of))
            );
        }
        smaller = stay;
    }
    // By chance: each group of the first 12 is chosen about as often.
    let from = kept(3, "k", "t", "k int");
    let sql = format!(
        "SELECT min(n), max(n), count(*) FROM (SELECT count(*) AS n FROM {from} GROUP BY k) q"
    );
    let row = client.query_one(&sql, &[]).expect("counts");
    let (least, most, count): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    assert!(
        count == 12 && least > 80 && most < 175,
        "{least} {most} {count}"
    );
}

/// What a person contributes to a group that stays is what `dp_contribution` makes of all of its rows.
#[test]
fn contributions_are_those_of_all_rows_of_the_group() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    run(
        &mut client,
        "CREATE TYPE raw; \
         CREATE FUNCTION raw_in(cstring) RETURNS raw AS 'byteain' LANGUAGE internal IMMUTABLE STRICT; \
         CREATE FUNCTION raw_out(raw) RETURNS cstring AS 'byteaout' LANGUAGE internal IMMUTABLE STRICT; \
         CREATE TYPE raw (INPUT = raw_in, OUTPUT = raw_out, ALIGNMENT = double, STORAGE = plain); \
         CREATE CAST (dp_mean.dp_contribution AS raw) WITHOUT FUNCTION; \
         INSERT INTO t VALUES (1000, 1, 'nothing', NULL, NULL), (1001, 1, 'one', NULL, 0.5), (1001, 1, 'one', NULL, 'NaN')",
    );
    let parts =
        "name, dp_part(x, 0, 1, 3), dp_part_sum(x, -1, 5), dp_part_rows(2), dp_part(x, 0, 0.5)";
    let columns = "name text, rows dp_contribution, total dp_contribution, all_rows dp_contribution, first \
     dp_contribution";
    // All but the bytes that say how many groups there are.
    let bytes = |column: &str| {
        format!(
            "overlay({column}::dp_mean.dp_contribution::raw::text placing '00000000' from 2 + 2 * 24 + 1 for 8)"
        )
    };
    let ours = ["rows", "total", "all_rows", "first"].map(bytes).join(", ");
    let theirs = [
        "dp_contribution(x, 0, 1, 3)",
        "dp_contribution_sum(x, -1, 5)",
        "dp_contribution(1, 0, 1, 2)",
        "dp_contribution(x, 0, 0.5)",
    ];
    let theirs = theirs.map(bytes).join(", ");
    let from = kept(1000, parts, "t", columns);
    let sql = format!(
        "SELECT count(*), count(*) FILTER (WHERE ours IS DISTINCT FROM theirs) FROM \
         (SELECT person, name, ROW({ours}) AS ours FROM {from}) o FULL JOIN \
         (SELECT person, name, ROW({theirs}) AS theirs FROM t GROUP BY person, name) t USING (person, name)"
    );
    let row = client.query_one(&sql, &[]).expect("counts");
    let (count, differ): (i64, i64) = (row.get(0), row.get(1));
    assert!(count > 3000 && differ == 0, "{count} {differ}");
}

#[test]
fn every_plan_and_every_order_keeps_the_same() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    run(
        &mut client,
        "CREATE TABLE shuffled AS SELECT * FROM t ORDER BY sin(x * 977 + k * 31 + person); \
         CREATE TABLE parts (LIKE t) PARTITION BY HASH (k); \
         CREATE TABLE p0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
         CREATE TABLE p1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         INSERT INTO parts SELECT * FROM t; ANALYZE t; ANALYZE shuffled; ANALYZE parts; \
         SET max_parallel_workers_per_gather = 0",
    );
    let (parts, columns) = (
        "k, name, maybe, dp_part(x, 0, 1, 2)",
        "k int, name varchar, maybe int, c dp_contribution",
    );
    let count = |from: &str| {
        format!(
            "SELECT sum(n)::bigint FROM (SELECT dp_count(c, 50, 'geometric(rows=2, groups=4)') AS n FROM {from} \
             GROUP BY g.k, g.name, g.maybe) q"
        )
    };
    let expected = choice(&mut client, 4, parts, "t", columns);
    assert!(
        expected.iter().any(|row| row.contains(",,")),
        "no group with NULL: {expected:?}"
    );
    for (set, words) in GROUPINGS {
        run(&mut client, set);
        let plan = explain(&mut client, &count(&kept(4, parts, "t", columns)));
        assert_plan(&plan, words, set);
        for table in ["t", "shuffled", "parts"] {
            assert!(
                choice(&mut client, 4, parts, table, columns) == expected,
                "{set} {table}\n{plan}"
            );
            let sql = count(&kept(4, parts, table, columns));
            let n: i64 = value(&mut client, &sql);
            // At most two rows each.
            assert!(n > 3000 && n <= 2 * expected.len() as i64 + 20, "{n}");
        }
    }
}

/// Equal values are one group, whatever they look like, and different ones are several.
#[test]
fn keys_are_grouped_as_by_group_by() {
    let (_database, mut client) = session(Build::Release);
    if !has_icu(&mut client) {
        return;
    }
    run(
        &mut client,
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
         CREATE TYPE colour AS ENUM ('red', 'green'); CREATE DOMAIN small AS int; \
         CREATE TYPE pair AS (a int, b text); \
         CREATE TABLE t AS SELECT i % 3 AS person, n.*, l.*, o.*, (i % 4)::float8 AS x \
         FROM generate_series(1, 600) i, \
         LATERAL (SELECT (ARRAY[1.0, 1.00, 2.5, NULL]::numeric[])[1 + i % 4] AS number, \
             (ARRAY['-0', '0', 'NaN', 'Infinity']::float8[])[1 + i / 4 % 4] AS f) n, \
         LATERAL (SELECT (ARRAY['a', 'A', 'b', 'B'])[1 + i / 3 % 4] COLLATE loose AS letter, \
             (ARRAY['x', 'x ', NULL])[1 + i % 3]::char(3) AS padded, \
             repeat('long ', 3000) || i % 2 AS long, ARRAY[i % 2, NULL] AS list) l, \
         LATERAL (SELECT (i % 2)::boolean AS yes, (ARRAY['red', 'green'])[1 + i % 2]::colour AS colour, \
             (i % 3)::small AS small, ROW(i % 2, 'p')::pair AS pair, \
             md5((i % 5)::text)::uuid AS id, make_interval(hours => 24 * (i % 2), days => 1 - i % 2) AS day, \
             '2026-01-01'::date + i % 3 AS date, int4range(i % 2, 5) AS range, ('n' || i % 2)::name AS name) o",
    );
    let columns = "number f letter padded long list yes colour small pair id day date range name";
    for column in columns.split(' ') {
        let sql = format!(
            "SELECT format_type(atttypid, NULL) FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = \
             '{column}'"
        );
        let kind: String = value(&mut client, &sql);
        let collate = if column == "letter" {
            " COLLATE loose"
        } else {
            ""
        };
        let from = kept(
            1000,
            &format!("{column}, dp_part_rows(1000000)"),
            "t",
            &format!("key {kind}{collate}, c dp_contribution"),
        );
        // Each of the groups by GROUP BY, once, and with its own rows.
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE o.n IS DISTINCT FROM b.n OR b.n IS NULL) FROM \
             (SELECT person, key, count(*) AS n FROM {from} GROUP BY person, key) o LEFT JOIN \
             (SELECT person, {column} AS key, 1 AS n FROM t GROUP BY person, {column}) b \
             ON o.person = b.person AND ROW(o.key) IS NOT DISTINCT FROM ROW(b.key)"
        );

        let row = client
            .query_one(&sql, &[])
            .unwrap_or_else(|error| panic!("{column}: {error}"));
        let (count, differ): (i64, i64) = (row.get(0), row.get(1));
        let sql = format!(
            "SELECT count(*) FROM (SELECT person, {column} FROM t GROUP BY person, {column}) q"
        );
        let expected: i64 = value(&mut client, &sql);
        assert!(
            count == expected && differ == 0,
            "{column}: {count} of {expected}, {differ} differ"
        );
        let sql =
            format!("SELECT dp_count(c, 50, 'geometric(rows=1000000, groups=1000)') FROM {from}");
        let refusal = refused(&mut client, &sql);
        assert!(refusal.message.contains("\"eps\""), "{refusal:?}");
    }
    // All keys at once.
    let keys = columns.replace(' ', ", ");
    let sql = format!("SELECT count(*) FROM (SELECT person FROM t GROUP BY person, {keys}) q");
    let expected: i64 = value(&mut client, &sql);
    let declared = "a numeric, b float8, c text COLLATE loose, d char(3), e text, f int[], g boolean, h colour, \
     i small, \
         j pair, k uuid, l interval, m date, n int4range, o name";
    let sql = format!("SELECT count(*) FROM {}", kept(1000, &keys, "t", declared));
    assert_eq!(value::<i64>(&mut client, &sql), expected);
}

/// Calls with a mistake: the sub-select's call, the columns, the call over them, and words of the error.
const REFUSED: [(&str, &str, &str, &str); 24] = [
    (
        "dp_groups(2, person, k)",
        "k int",
        "dp_keep(1, 1e-6, 'keep(groups=2)')",
        "the query is not grouped by all keys",
    ),
    (
        "dp_groups(2, person, k, dp_part(x, 0, 1))",
        "k int, c dp_contribution",
        "dp_mean(c, 0, 1, NULL, 'gaussian(mu=1, groups=2)')",
        "the query is not grouped by all keys",
    ),
    (
        "dp_groups(1, person, name)",
        "name char(10)",
        "dp_keep(1, 1e-6)",
        "dp_unnest: the columns are not",
    ),
    (
        "dp_groups(1, person, name)",
        "name text COLLATE loose",
        "dp_keep(1, 1e-6)",
        "dp_unnest: the columns are not",
    ),
    (
        "dp_groups(0, person, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "dp_groups: argument \"groups\"",
    ),
    (
        "dp_groups(1001, person, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "dp_groups: argument \"groups\"",
    ),
    (
        "dp_groups(NULL, person, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "dp_groups: argument \"groups\"",
    ),
    (
        "dp_groups(k, person, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "dp_groups: argument \"groups\" must not depend",
    ),
    (
        "dp_groups(1, k, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "must be the GROUP BY key of the sub-select",
    ),
    (
        "dp_groups(1, person + 0, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "must be the GROUP BY key of the sub-select",
    ),
    (
        "dp_groups(1, person, k::text::json)",
        "k json",
        "dp_keep(1, 1e-6)",
        "argument 3 is of type json",
    ),
    (
        "dp_groups(1, person, VARIADIC ARRAY[k])",
        "k int",
        "dp_keep(1, 1e-6)",
        "\"parts\" must be at most 64",
    ),
    (
        "dp_groups(1, person, k)",
        "k bigint",
        "dp_keep(1, 1e-6)",
        "dp_unnest: the columns are not",
    ),
    (
        "dp_groups(1, person, k)",
        "k int, l int",
        "dp_keep(1, 1e-6)",
        "dp_unnest: the columns are not",
    ),
    (
        "dp_groups(1, person, k, dp_part(x, 0, 1))",
        "k int, c float8",
        "dp_keep(1, 1e-6)",
        "dp_unnest: the columns are not",
    ),
    (
        "dp_groups(2, person, k)",
        "k int",
        "dp_keep(1, 1e-6)",
        "dp_keep: argument \"mech\" has groups=1, but dp_groups keeps 2",
    ),
    (
        "dp_groups(3, person, k)",
        "k int",
        "dp_keep(1, 1e-6, 'keep(groups=2)')",
        "has groups=2, but dp_groups keeps 3",
    ),
    (
        "dp_groups(2, person, k)",
        "k int",
        "dp_count(1.0)",
        "dp_count: argument \"mech\" has groups=1",
    ),
    (
        "dp_groups(1, person, k, dp_part(x, 1, 0))",
        "k int, c dp_contribution",
        "dp_mean(c, 0, 1, 1)",
        "dp_part: argument \"hi\"",
    ),
    (
        "dp_groups(1, person, k, dp_part(x, k, 1))",
        "k int, c dp_contribution",
        "dp_mean(c, 0, 1, 1)",
        "dp_part: argument \"lo\" must not depend",
    ),
    (
        "dp_groups(1, person, k, dp_part(x, 0, 1, 2))",
        "k int, c dp_contribution",
        "dp_mean(c, 0, 1, 1)",
        "has rows=1, but dp_part has k = 2",
    ),
    (
        "dp_groups(1, person, k, dp_part_rows(2))",
        "k int, c dp_contribution",
        "dp_count(c, 1)",
        "has rows=1, but dp_part_rows has k = 2",
    ),
    (
        "dp_groups(1, person, k, dp_part_sum(x, 0, 2))",
        "k int, c dp_contribution",
        "dp_sum(c, 0, 1, 1)",
        "\"hi\" differs from that of dp_part_sum",
    ),
    (
        "dp_groups(1, person, k, CASE WHEN k > 0 THEN dp_part(x, 0, 1) END)",
        "k int, c dp_contribution",
        "dp_mean(c, 0, 1, 1)",
        "dp_unnest: the columns are not",
    ),
];

/// A mistake is reported in the same words whether there is a row or not, in workers or without.
#[test]
fn mistakes_are_told_with_and_without_rows() {
    let (_database, mut client) = session(Build::Release);
    if !has_icu(&mut client) {
        return;
    }
    run(&mut client, TABLE);
    run(
        &mut client,
        "ANALYZE t; CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    );
    // Newer planners drop a column that is one value from GROUP BY, and show no more by whom a query is grouped: then
    // rows are looked at.
    let version: i32 = value(
        &mut client,
        "SELECT current_setting('server_version_num')::int",
    );
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for (made, columns, call, words) in REFUSED {
            let mut seen: Option<Refusal> = None;
            for who in ["true", "person = 3", "person = 1000", "false"] {
                if version >= 160_000 && words.ends_with("grouped by") && who.contains('=') {
                    continue;
                }
                for shape in [
                    "SELECT {call} FROM (SELECT {made} AS kept FROM t WHERE {who} GROUP BY person) p, \
                     dp_unnest(kept) AS g({columns})",
                    "WITH p AS MATERIALIZED (SELECT {made} AS kept FROM t WHERE {who} GROUP BY person) \
                     SELECT {call} FROM p CROSS JOIN LATERAL dp_unnest(kept) AS g({columns})",
                    "SELECT {call} FROM (SELECT g.* FROM (SELECT {made} AS kept FROM t WHERE {who} GROUP BY \
                     person ORDER BY person \
                     LIMIT 1000) p LEFT JOIN LATERAL dp_unnest(kept) AS g({columns}) ON true OFFSET 0) g",
                ] {
                    let sql = shape.replace("{call}", call).replace("{made}", made);
                    let sql = sql.replace("{who}", who).replace("{columns}", columns);
                    let refusal = refused(&mut client, &sql);
                    assert!(
                        ["22023", "42804"].contains(&refusal.code.as_str()),
                        "{sql}: {refusal:?}"
                    );
                    assert!(refusal.message.contains(words), "{sql}: {refusal:?}");
                    assert!(!refusal.hint.is_empty());
                    let same = seen.as_ref().is_none_or(|seen| *seen == refusal);
                    assert!(same, "{sql}: {refusal:?} and {seen:?}");
                    seen = Some(refusal);
                }
            }
        }
    }
    // A part that was computed below is none.
    let sql = "SELECT dp_mean(c, 0, 1, 1) FROM (SELECT dp_groups(1, person, k, part) AS kept FROM \
         (SELECT person, k, dp_part(x, 0, 1) AS part FROM t OFFSET 0) t GROUP BY person) p, \
         dp_unnest(kept) AS g(k int, c dp_contribution)";
    let refusal = refused(&mut client, sql);
    assert!(
        refusal
            .message
            .contains("argument 4 is not a call of dp_part"),
        "{refusal:?}"
    );
    // A group of NULLs says so where there would be none.
    let sql = "SELECT k, dp_count(1.0) FROM (SELECT dp_groups(1, person, k) AS kept FROM t GROUP BY person) p, \
         dp_unnest(kept) AS g(k text) GROUP BY k";
    assert_eq!(refused(&mut client, sql).code, "42804");
}

/// Where WHERE makes what GROUP BY names one value, newer planners drop it. Of several people in one group nothing is kept,
/// in any plan, so that nobody moves more than what one person contributes.
#[test]
fn several_people_in_one_group_are_nobody() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE named AS SELECT i % 1000 AS person, i % 3 AS k, 'x'::text AS name, 0.5::float8 AS x \
         FROM generate_series(1, 30000) i; ANALYZE named",
    );
    let version: i32 = value(
        &mut client,
        "SELECT current_setting('server_version_num')::int",
    );
    let from = |who: &str, by: &str| {
        format!(
            "FROM (SELECT dp_groups(3, person, k, dp_part(x, 0, 1)) AS kept FROM named WHERE {who} GROUP BY {by}) p, \
             dp_unnest(kept) AS g(k int, c dp_contribution)"
        )
    };
    for settings in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut client, settings);
        for who in ["person = 7", "person = 7 AND name = 'x'"] {
            let sql = format!("SELECT count(*) {}", from(who, "person"));
            assert_eq!(value::<i64>(&mut client, &sql), 3, "{sql}");
        }
        let several = from("name = 'x'", "name");
        if version < 160_000 {
            let sql =
                format!("SELECT k, dp_count(c, 1, 'geometric(groups=3)') {several} GROUP BY k");
            assert_eq!(refused(&mut client, &sql).code, "22023");
            continue;
        }
        let sql = format!("SELECT count(*) {several}");
        assert_eq!(value::<i64>(&mut client, &sql), 0, "{sql}");
        let one = from("name = 'x' AND person = 7", "name");
        let sql = format!("SELECT count(*) {one}");
        assert_eq!(value::<i64>(&mut client, &sql), 3, "{sql}");
    }
}

/// A person has one contribution in a group of the query: it groups by all keys, and by what tells them apart.
#[test]
fn groups_of_the_query_are_those_that_are_kept() {
    let (_database, mut client) = session(Build::Release);
    if !has_icu(&mut client) {
        return;
    }
    run(&mut client, TABLE);
    run(
        &mut client,
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
         CREATE TABLE list AS SELECT i AS k FROM generate_series(0, 11) i",
    );
    let from = kept(2, "k, name", "t", "k int, name text");
    for settings in ["SET enable_hashagg = off", "RESET enable_hashagg", PARALLEL] {
        run(&mut client, settings);
        for rest in [
            "GROUP BY g.k, g.name",
            "GROUP BY 2 * g.k, g.name, g.k",
            "JOIN list ON list.k = g.k + 0 GROUP BY g.name, g.k",
        ] {
            let sql = format!("SELECT dp_keep(1, 1e-6, 'keep(groups=2)') FROM {from} {rest}");
            assert!(rows(&mut client, &sql).len() > 50, "{rest}");
        }
        let sql = format!(
            "SELECT dp_keep(1, 1e-6, 'keep(groups=2)') FROM (SELECT * FROM {from} OFFSET 0) q GROUP BY k, name"
        );
        assert!(rows(&mut client, &sql).len() > 50);
        for rest in [
            "",
            "GROUP BY g.k",
            "GROUP BY g.k, upper(g.name)",
            "GROUP BY g.k, g.name COLLATE loose",
            "GROUP BY g.k / 2, g.name",
            "GROUP BY GROUPING SETS ((g.k, g.name), (g.k))",
            "GROUP BY CUBE (g.k, g.name)",
        ] {
            let sql = format!("SELECT dp_keep(1, 1e-6, 'keep(groups=2)') FROM {from} {rest}");
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "22023", "{rest}");
            assert!(
                refusal.message.contains("not grouped by all keys"),
                "{rest}: {refusal:?}"
            );
        }
    }
    // Who is in one group only is in one, whatever it is made of.
    let from = kept(1, "k, name", "t", "k int, name text");
    run(&mut client, &format!("SELECT dp_keep(1, 1e-6) FROM {from}"));
}

/// Where no plan shows how many groups are kept, a contribution says it, and counts for nothing where the call has
/// fewer.
#[test]
fn groups_are_enforced_where_the_plan_hides_them() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    run(
        &mut client,
        &format!(
            "CREATE TABLE stored AS SELECT k, c FROM {}; \
             CREATE TABLE kept AS SELECT dp_groups(3, person, k) AS kept FROM t GROUP BY person",
            kept(3, "k, dp_part(x, 0, 1)", "t", "k int, c dp_contribution")
        ),
    );
    let mut count = |groups: u32| {
        let sql = format!("SELECT dp_count(c, 50, 'geometric(groups={groups})') FROM stored");
        value::<i64>(&mut client, &sql)
    };
    assert!(count(3) > 1480 && count(4) > 1480);
    assert!(count(2).abs() < 10 && count(1).abs() < 10);
    for call in ["dp_count(1.0)", "dp_keep(1, 1e-6, 'keep(groups=3)')"] {
        let sql = format!("SELECT {call} FROM kept, dp_unnest(kept) AS g(k int)");
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "0A000", "{refusal:?}");
        assert!(
            refusal.message.contains("hides the call of dp_groups"),
            "{refusal:?}"
        );
    }
    // Two places in a plan count together.
    let one = kept(2, "k", "t", "k int");
    let both = format!("(SELECT k FROM {one} UNION ALL SELECT k FROM {one}) q");
    let refusal = refused(
        &mut client,
        &format!("SELECT dp_keep(1, 1e-6, 'keep(groups=3)') FROM {both}"),
    );
    assert!(refusal.message.contains("keeps 4"), "{refusal:?}");
    run(
        &mut client,
        &format!("SELECT k, dp_keep(1, 1e-6, 'keep(groups=4)') FROM {both} GROUP BY k"),
    );
}

#[test]
fn persons_and_keys_may_be_null_and_tables_empty() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t (person int, k int, x float8); \
         INSERT INTO t VALUES (NULL, 1, 1), (NULL, 2, 1), (1, NULL, 0.5), (1, NULL, 0.5), (2, 7, NULL), (2, 7, 'NaN'), (3, NULL, NULL)",
    );
    let columns = "k int, c dp_contribution, r dp_contribution";
    let from = kept(5, "k, dp_part(x, 0, 1), dp_part_rows(9)", "t", columns);
    let sql = format!(
        "SELECT person::text || ' ' || coalesce(k::text, '-') || ' ' || (c IS NULL)::text || (r IS NULL)::text \
         FROM {from} ORDER BY 1"
    );
    let found: Vec<String> = rows(&mut client, &sql)
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert_eq!(found, ["1 - falsefalse", "2 7 truefalse", "3 - truefalse"]);
    run(&mut client, "TRUNCATE t");
    let from = kept(1, "k, dp_part(x, 0, 1), dp_part_rows(9)", "t", columns);
    let sql = format!(
        "SELECT dp_mean(c, 0, 1, 1, 'hourglass(groups=5)') IS NULL, dp_count(r, 1.0, 'geometric(rows=9, \
         groups=5)') IS NULL FROM {from}"
    );
    let row = client.query_one(&sql, &[]).expect("an answer");
    assert!(!row.get::<_, bool>(0) && !row.get::<_, bool>(1));
}

#[test]
fn arguments_may_be_parameters() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    run(
        &mut client,
        "SET plan_cache_mode = force_generic_plan; \
         PREPARE q(bigint, float8, bigint, dp_mechanism) AS SELECT avg(a) FROM (SELECT dp_mean(c, 0, 1, 50, $4) AS a \
             FROM (SELECT dp_groups($1, person, k, dp_part(x, 0, $2, $3)) AS kept FROM t GROUP BY person) p, \
             dp_unnest(kept) AS g(k int, c dp_contribution) GROUP BY k) q",
    );
    let mean: f64 = value(
        &mut client,
        "EXECUTE q(3, 1, 2, 'hourglass(rows=2, groups=3)')",
    );
    assert!((mean - 0.5).abs() < 0.2, "{mean}");
    for (arguments, words) in [
        ("4, 1, 2, 'hourglass(rows=2, groups=3)'", "keeps 4"),
        (
            "3, 2, 2, 'hourglass(rows=2, groups=3)'",
            "\"hi\" differs from that of dp_part",
        ),
        ("3, 1, 3, 'hourglass(rows=2, groups=3)'", "k = 3"),
        (
            "3, 1, NULL, 'hourglass(rows=2, groups=3)'",
            "dp_part: argument \"k\"",
        ),
        (
            "NULL, 1, 2, 'hourglass(rows=2, groups=3)'",
            "dp_groups: argument \"groups\"",
        ),
    ] {
        let refusal = refused(&mut client, &format!("EXECUTE q({arguments})"));
        assert!(refusal.message.contains(words), "{refusal:?}");
    }
}

#[test]
fn an_analyst_asks_and_makes_nothing_by_hand() {
    let (database, mut client) = session(Build::Release);
    run(&mut client, TABLE);
    run(
        &mut client,
        "GRANT SELECT ON t TO PUBLIC; GRANT CREATE ON SCHEMA public TO PUBLIC",
    );
    let role = Role::new(&database);
    let mut analyst = role.connect();
    let from = kept(2, "k, dp_part(x, 0, 1)", "t", "k int, c dp_contribution");
    let call = "dp_mean(c, 0, 1, 50, 'hourglass(groups=2)')";
    let sql = format!("SELECT avg(a) FROM (SELECT {call} AS a FROM {from} GROUP BY k) q");
    let mean: f64 = value(&mut analyst, &sql);
    assert!((mean - 0.5).abs() < 0.2, "{mean}");
    let made = "dp_groups(2, person, k, dp_part(x, 0, 1))";
    for sql in [
        format!("CREATE TABLE mine AS SELECT {made} FROM t GROUP BY person"),
        format!("CREATE TABLE mine AS SELECT c FROM {from}"),
        "CREATE TABLE mine (c dp_contribution)".into(),
        "CREATE TABLE mine AS SELECT dp_part(x, 0, 1) FROM t".into(),
        "SELECT dp_mean.dp_groups_trans(NULL, 1, 1, 1)".into(),
        "SELECT dp_mean.dp_groups_final(NULL)".into(),
        "SELECT 'sealed'::dp_mean.dp_groups".into(),
        "SELECT * FROM dp_mean.salt".into(),
        "CREATE FUNCTION f(dp_contribution) RETURNS int LANGUAGE sql AS 'SELECT 1'".into(),
    ] {
        assert_eq!(refused(&mut analyst, &sql).code, "42501", "{sql}");
    }
    for sql in [
        "SELECT 'sealed'::dp_contribution",
        "SELECT dp_unnest('sealed')",
        "SELECT x::text::dp_contribution FROM t",
    ] {
        assert_eq!(refused(&mut analyst, sql).code, "0A000", "{sql}");
    }
    // No window, which would answer for each row.
    let sql = "SELECT dp_groups(2, person, k) OVER (PARTITION BY person) FROM t";
    assert_eq!(refused(&mut analyst, sql).code, "0A000");
    // All look the same.
    let sql = format!(
        "SELECT count(DISTINCT kept::text) FROM (SELECT {made} AS kept FROM t GROUP BY person) p"
    );
    assert_eq!(value::<i64>(&mut analyst, &sql), 1);
    // In the list of columns there is no place for rows.
    let sql = format!(
        "SELECT count(*) FROM (SELECT dp_unnest(kept) FROM (SELECT {made} AS kept FROM t GROUP BY person) p) q"
    );
    assert_eq!(value::<i64>(&mut analyst, &sql), 0);
}

/// Bytes of any kind behind the type: rows that they say, or none, but no crash and no more than the call's rows.
#[test]
fn forged_groups_are_read_or_not() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TYPE raw; \
         CREATE FUNCTION raw_in(cstring) RETURNS raw AS 'byteain' LANGUAGE internal IMMUTABLE STRICT; \
         CREATE FUNCTION raw_out(raw) RETURNS cstring AS 'byteaout' LANGUAGE internal IMMUTABLE STRICT; \
         CREATE TYPE raw (INPUT = raw_in, OUTPUT = raw_out, ALIGNMENT = double, STORAGE = plain); \
         CREATE CAST (raw AS dp_mean.dp_groups) WITHOUT FUNCTION; \
         CREATE CAST (dp_mean.dp_groups AS raw) WITHOUT FUNCTION; \
         CREATE TABLE bytes (b raw); \
         CREATE TABLE t AS SELECT 1 AS person, i AS k, 'name ' || i AS name, i / 4.0::float8 AS x FROM generate_series(1, 4) i",
    );
    let sql = "SELECT dp_groups(5, person, k, name, dp_part(x, 0, 1, 2))::raw::text FROM t GROUP BY person";
    let whole: String = value(&mut client, sql);
    let digits = &whole[2..];
    let mut forged: Vec<String> = vec![
        String::new(),
        "00".into(),
        "ff".repeat(500),
        digits.to_owned(),
    ];
    for start in (0..digits.len()).step_by(8) {
        for bits in ["ffffffff", "00000000", "01000000", "ffffff7f"] {
            let (before, after) = (&digits[..start], digits.get(start + 8..).unwrap_or(""));
            forged.push(format!("{before}{bits}{after}"));
        }
        forged.push(digits[..start].to_owned());
    }
    let mut read = 0;
    for bytes in forged {
        run(
            &mut client,
            &format!("TRUNCATE bytes; INSERT INTO bytes VALUES ('\\x{bytes}')"),
        );
        let from =
            "FROM bytes, dp_unnest(b::dp_mean.dp_groups) AS g(k int, name text, c dp_contribution)";
        let sql = format!("SELECT count(*), coalesce(max(octet_length(name)), 0), count(c) {from}");
        let row = client.query_one(&sql, &[]).expect("counts");
        let (count, length): (i64, i32) = (row.get(0), row.get(1));
        assert!((0..=5).contains(&count) && length <= 6, "{bytes}");
        read += i64::from(length == 6);
    }
    assert!(read > 20, "{read}");
}

/// Many groups and long keys: what is kept of a person has an end.
#[test]
fn the_state_of_a_person_is_bounded() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT 1 AS person, i % 5000 AS k, md5((i % 5000)::text) AS name, 1::float8 AS x \
         FROM generate_series(1, 20000) i",
    );
    let from = kept(
        1000,
        "k, name, dp_part_rows(9)",
        "t",
        "k int, name text, c dp_contribution",
    );
    let sql = format!(
        "SELECT count(*), count(DISTINCT k), bool_and(name = md5(k::text)), count(c) FROM {from}"
    );
    let row = client.query_one(&sql, &[]).expect("counts");
    let counts: [i64; 3] = [row.get(0), row.get(1), row.get(3)];
    assert_eq!(counts, [1000; 3]);
    assert!(row.get::<_, bool>(2));
    // A key that is too long is left out, as if its rows were not there.
    run(
        &mut client,
        "CREATE TABLE long AS SELECT 1 AS person, repeat('x', 65500 + i) AS name FROM generate_series(1, 100) i",
    );
    let sql = format!(
        "SELECT count(*) FROM {}",
        kept(1000, "name", "long", "name text")
    );
    assert_eq!(value::<i64>(&mut client, &sql), 32);
}

/// Rows of others, however many, move nobody's groups.
#[test]
fn groups_of_a_person_do_not_depend_on_other_people() {
    let (_database, mut client) = session(Build::Release);
    let mut mix = Mix(77);
    let of = |client: &mut Client, person: usize| {
        let all = choice(client, 2, "k, name", "t", "k int, name text");
        Vec::from_iter(
            all.into_iter()
                .filter(|row| row.starts_with(&format!("{person} "))),
        )
    };
    for _ in 0..5 {
        run(&mut client, "DROP TABLE IF EXISTS t");
        run(&mut client, TABLE);
        let person = mix.below(500);
        let before = of(&mut client, person);
        assert_eq!(before.len(), 2);
        run(
            &mut client,
            &format!(
                "DELETE FROM t WHERE person <> {person} AND random() < 0.5; \
                 INSERT INTO t SELECT 5000 + i, i % 3, 'g1', NULL, 0 FROM generate_series(1, 1000) i WHERE i <> {person}"
            ),
        );
        assert_eq!(of(&mut client, person), before);
    }
}

/// The integers that noise went on in each release of a query, in order.
fn exact(client: &mut Client, sql: &str) -> Vec<Vec<i128>> {
    run(client, "SELECT dp_test_record(7)");
    rows(client, sql);
    let recorded: String = value(client, "SELECT dp_test_recorded()");
    let integers = |line: &str| -> Vec<i128> {
        let notes = line
            .split_whitespace()
            .filter_map(|word| word.split_once(':'));
        let numbers = notes.flat_map(|(exact, _)| exact.split(','));
        numbers
            .map(|number| number.parse().expect("an integer"))
            .collect()
    };
    recorded.lines().map(integers).collect()
}

/// A whole person more or less, of up to 60 rows in up to ten groups: what is released with them and without.
#[test]
fn a_person_moves_at_most_l_groups_by_at_most_k_rows_each() {
    const G: i128 = STEPS as i128;
    let (_database, mut client) = session(Build::Testing);
    // Somebody is in each group, so that it is there; and groups are released in their order.
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET enable_hashagg = off; \
         CREATE TABLE t AS SELECT i AS person, i AS k, 0.5::float8 AS x FROM generate_series(0, 9) i",
    );
    let mut mix = Mix(91);
    let (mut most_groups, mut most_rows) = (0, 0);
    for person in 100..160 {
        let (l, k) = (1 + mix.below(4), 1 + mix.below(3));
        let from = kept(
            l as u32,
            &format!("k, dp_part(x, 0, 1, {k})"),
            "t",
            "k int, c dp_contribution",
        );
        let call = format!("dp_mean(c, 0, 1, 1, 'laplace(rows={k}, groups={l})')");
        let sql = format!("SELECT g.k, {call} FROM {from} GROUP BY g.k ORDER BY g.k");
        let before = exact(&mut client, &sql);
        let values: Vec<_> = (0..1 + mix.below(60))
            .map(|_| format!("({person}, {}, {})", mix.below(10), mix.unit()))
            .collect();
        run(
            &mut client,
            &format!("INSERT INTO t VALUES {}", values.join(", ")),
        );
        let after = exact(&mut client, &sql);
        assert_eq!((before.len(), after.len()), (10, 10));
        let mut moved = 0;
        for (without, with) in before.iter().zip(&after) {
            let by = [with[0] - without[0], with[1] - without[1]];
            let n = (by[0] + by[1]) / G;
            assert!(
                by[0] >= 0 && by[1] >= 0 && by[0] + by[1] == G * n && n <= k as i128,
                "{by:?} {k}"
            );
            moved += usize::from(n > 0);
            most_rows = most_rows.max(n);
        }
        assert!(moved >= 1 && moved <= l, "{moved} {l}");
        most_groups = most_groups.max(moved);
    }
    assert!(
        most_groups == 4 && most_rows == 3,
        "{most_groups} {most_rows}"
    );
}

/// A person in five groups with ten rows in each, against the same table without them: the two groups that they stay in,
/// together.
#[test]
fn a_person_in_many_groups_is_as_private_as_the_call_says() {
    let mut releases = Releases::seeded(84);
    // Somebody else is in each group, so that it is there.
    let tables = "CREATE TABLE without AS SELECT 100 + i AS person, i AS k FROM generate_series(1, 5) i; \
         CREATE TABLE with_person AS TABLE without; \
         INSERT INTO with_person SELECT 2, 1 + i % 5 FROM generate_series(1, 50) i";
    releases.client().batch_execute(tables).expect("tables");
    let from = |table: &str| kept(2, "k, dp_part_rows(3)", table, "k int, c dp_contribution");
    for table in ["without", "with_person"] {
        let view = format!("CREATE VIEW of_{table} AS SELECT k, c FROM {}", from(table));
        releases.client().batch_execute(&view).expect("a view");
    }
    let sql = format!("SELECT k FROM {} WHERE person = 2", from("with_person"));
    let stay = releases.client().query(&sql, &[]).expect("groups");
    let stay: Vec<i32> = stay.iter().map(|row| row.get(0)).collect();
    assert_eq!(stay.len(), 2);
    let count = "ARRAY[dp_count(c, 1.0, 'geometric(rows=3, groups=2)')]::float8[]";
    let [without, with] = ["of_without", "of_with_person"].map(|view| -> Vec<f64> {
        let answers = releases.draw_arrays(count, view, Some("k"), 40_000);
        assert_eq!(answers.len(), 5 * 40_000);
        let of_person = |all: &[f64]| [stay[0], stay[1]].map(|k| all[k as usize - 1]);
        answers.chunks(5).flat_map(of_person).collect()
    });
    let found = bound([&without, &with], 2);
    println!("two groups: epsilon is at least {found:.3}");
    // The audit sees most of what there is.
    assert!(found <= 1.0 && found > 0.6, "{found}");
}
