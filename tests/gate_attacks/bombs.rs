//! Queries that would take all time or all memory of the server: each ends soon, with an answer or an error, and can be
//! cancelled.

use std::time::{Duration, Instant};

use dp_mean_tests::{refusal, refused, run, value};
use postgres::Client;

use super::{Stage, down};

/// Far more than any of these takes, on a machine that has much else to do.
const SOON: Duration = Duration::from_secs(30);

/// A session whose memory ends before that of the machine does.
fn analyst(stage: &Stage) -> Client {
    let mut client = stage.analyst();
    limit(&mut client);
    client
}

fn limit(client: &mut Client) {
    run(client, "SELECT dp_test_memory_left(2::bigint << 30)");
}

/// How a query ends that must end soon: the SQLSTATE of its error, or nothing.
#[track_caller]
fn ends_soon(client: &mut Client, sql: &str) -> Option<String> {
    let begun = Instant::now();
    let ended = client.simple_query(sql);
    let (took, start) = (begun.elapsed(), &sql[..sql.len().min(100)]);
    assert!(took < SOON, "{took:?}: {start}");
    ended.err().map(|error| refusal(&error, start).code)
}

/// That many levels around something.
fn nested(depth: usize, within: &str, around: impl Fn(usize, String) -> String) -> String {
    (0..depth).fold(within.to_owned(), |sql, level| around(level, sql))
}

/// Queries of that many levels about a table that has numbers in `x`.
fn deep(table: &str, x: &str, depth: usize) -> Vec<String> {
    let compared = format!("{x} > 5");
    let not = format!("{}{compared}{}", "NOT (".repeat(depth), ")".repeat(depth));
    let and_or = nested(depth, &compared, |i, sql| match i % 2 {
        0 => format!("({sql} AND {x} < {i})"),
        _ => format!("({sql} OR {x} > {i})"),
    });
    let case = nested(depth, "1", |i, sql| {
        format!("CASE WHEN {x} > {i} THEN {sql} ELSE 0 END")
    });
    let sum = format!("{x}{} > 5", " + 1".repeat(depth));
    let least = nested(depth, x, |i, sql| format!("least({sql}, {i})"));
    let conditions = [
        not,
        and_or,
        format!("{case} = 1"),
        sum,
        format!("{least} > 0"),
    ];
    let mut queries = Vec::from(
        conditions.map(|condition| format!("SELECT count(*) FROM {table} WHERE {condition}")),
    );
    let fewer = depth / 8;
    let table = format!("SELECT {x} FROM {table}");
    let passed = nested(fewer, &table, |i, sql| {
        format!("SELECT {x} FROM ({sql}) s{i}")
    });
    queries.push(format!("SELECT count(*) FROM ({passed}) s"));
    let counted = format!("SELECT count(*) AS c FROM ({table}) s");
    queries.push(nested(fewer, &counted, |i, sql| {
        format!("SELECT c FROM ({sql} OFFSET 0) s{i}")
    }));
    queries
}

/// What is nested deeply ends as without the gate: with an answer or 54001, and at once.
#[test]
fn deep_queries_end_soon() {
    let stage = Stage::new();
    let mut client = analyst(&stage);
    // An ERROR that passes many guards takes long where each keeps a backtrace.
    run(&mut client, "SELECT dp_test_backtraces()");
    let (mut answered, mut refused) = (0, 0);
    for depth in [300, 900, 1100, 1300, 2000, 20_000] {
        for (table, x) in [("own", "x"), ("people", "person")] {
            for sql in deep(table, x, depth) {
                match ends_soon(&mut client, &sql).as_deref() {
                    None => answered += 1,
                    // 42601: what the parser itself has no memory for.
                    Some("54001" | "42601") => refused += 1,
                    Some(code) => panic!("{code}: {} of {depth}", &sql[..100]),
                }
            }
        }
    }
    assert!(answered > 20 && refused > 10, "{answered}, {refused}");
    // What stands around a deep query is refused as deeply.
    for sql in deep("people", "person", 3000) {
        let quoted = sql.replace('\'', "''");
        let code = ends_soon(&mut client, &format!("SELECT * FROM dp_cost('{quoted}')"));
        assert!(
            code.is_none_or(|code| ["54001", "42601"].contains(&code.as_str())),
            "{}",
            &sql[..100]
        );
    }
}

/// WITHs that each name the one before twice: n of them are 2^n copies.
fn withs(n: usize, table: &str) -> String {
    let named = (1..=n).map(|i| format!(", w{i} AS (SELECT a.* FROM w{0} a, w{0} b)", i - 1));
    let named = named.collect::<String>();
    format!("WITH w0 AS (SELECT * FROM {table}){named} SELECT count(*) FROM w{n}")
}

/// The most memory that the session's process had, in kB.
fn most_memory(client: &mut Client) -> i64 {
    run(client, "RESET ROLE");
    let sql = "SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s*(\\d+)')::bigint";
    value(client, sql)
}

#[test]
fn what_is_copied_is_bounded() {
    let stage = Stage::new();
    let mut client = stage.database.connect();
    limit(&mut client);
    let before = most_memory(&mut client);
    run(&mut client, &stage.fill("SET ROLE {a}"));
    for n in [16, 24, 60] {
        let begun = Instant::now();
        let refusal = refused(&mut client, &withs(n, "people"));
        assert_eq!(refusal.code, "54001", "{refusal:?}");
        assert!(refusal.hint.contains("WITH"), "{refusal:?}");
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
    let taken = most_memory(&mut client) - before;
    assert!(taken < 400_000, "{taken} kB");

    // A table that is no secret is none of the gate's business.
    let mut client = analyst(&stage);
    let own = withs(12, "(SELECT 1 AS x) t");
    assert_eq!(stage.number(&mut client, &own), 1);
    // As many copies as somebody needs.
    let parts = (0..200).map(|i| format!("SELECT count(*) FROM w WHERE person = {i}"));
    let parts = Vec::from_iter(parts).join(" UNION ALL ");
    let many = format!("WITH w AS (SELECT * FROM people) SELECT count(*) FROM ({parts}) s");
    assert_eq!(stage.number(&mut client, &many), 200);

    // A large one, often.
    let columns = (0..600).map(|i| format!("person + {i} AS c{i}"));
    let columns = Vec::from_iter(columns).join(", ");
    let large =
        format!("WITH w AS (SELECT *, {columns} FROM people) SELECT count(*) FROM ({parts}) s");
    let code = ends_soon(&mut client, &large);
    assert_eq!(code.as_deref(), Some("54001"));
    run(&mut client, &down("copies"));
    assert_eq!(ends_soon(&mut client, &large), None);
}

/// A WITH that is used once is moved, and one that is used often is the same everywhere.
#[test]
fn a_with_is_moved_where_it_is_used() {
    let mut stage = Stage::new();
    stage.as_owner("SELECT dp_protect('people', 'person', 'patients', query_eps => 20)");
    let mut client = analyst(&stage);
    for (sql, expected) in [
        (
            "WITH w AS (SELECT * FROM people WHERE person <= 50) SELECT count(*) FROM w",
            50,
        ),
        (
            "WITH w AS (SELECT * FROM people WHERE person <= 50) SELECT (SELECT count(*) FROM w) \
             + (SELECT count(*) FROM w WHERE person > 10) + (SELECT count(*) FROM (SELECT * FROM w) s)",
            140,
        ),
        (
            "WITH v AS (SELECT * FROM people WHERE person <= 50), w AS (SELECT * FROM v WHERE person > 10) \
             SELECT (SELECT count(*) FROM v) + (SELECT sum(c) FROM (SELECT count(*) AS c FROM w) s)::bigint",
            90,
        ),
    ] {
        let found = stage.number(&mut client, sql);
        assert!(
            (expected - 3..=expected + 3).contains(&found),
            "{found}: {sql}"
        );
    }
}

/// Functions that each call the one before twice.
fn functions() -> String {
    let body = |i: usize, from: &str| {
        format!(
            "CREATE FUNCTION f{i}() RETURNS SETOF people LANGUAGE sql STABLE AS $$ SELECT a.* FROM {from} $$;"
        )
    };
    let more = (1..=24).map(|i| body(i, &format!("people s, f{0}() a, f{0}() b", i - 1)));
    std::iter::once(body(0, "people a")).chain(more).collect()
}

#[test]
fn functions_that_call_each_other_twice_end_soon() {
    let mut stage = Stage::new();
    stage.as_root(&functions());
    // One that calls itself.
    stage.as_root("CREATE OR REPLACE FUNCTION f24() RETURNS SETOF people LANGUAGE sql STABLE AS \
                   $$ SELECT a.* FROM people s, f23() a, f23() b $$; \
                   CREATE FUNCTION again() RETURNS SETOF people LANGUAGE sql STABLE AS $$ SELECT * FROM people $$; \
                   CREATE OR REPLACE FUNCTION again() RETURNS SETOF people LANGUAGE sql STABLE AS \
                   $$ SELECT a.* FROM people a, again() b $$");
    let mut client = analyst(&stage);
    for function in ["f24", "again"] {
        for sql in [
            format!("SELECT count(*) FROM {function}()"),
            format!("SELECT * FROM dp_cost('SELECT count(*) FROM {function}()')"),
        ] {
            let code = ends_soon(&mut client, &sql);
            assert_eq!(code.as_deref(), Some("54001"), "{sql}");
        }
    }
    let sql = "SELECT count(*) FROM f0()";
    stage.number(&mut client, sql);
}

/// What each grouping set repeats: aggregates, expressions, and FROM.
#[test]
fn grouping_sets_of_many_aggregates_are_refused() {
    let stage = Stage::new();
    let mut client = analyst(&stage);
    let asked = |sets: usize, aggregates: usize, what: &str| {
        let all = (0..aggregates).map(|i| format!("count(*) FILTER (WHERE {what} > {i})"));
        let keys = (1..sets).map(|i| format!("(person + {i})"));
        format!(
            "SELECT {} FROM people GROUP BY GROUPING SETS ((), {})",
            Vec::from_iter(all).join(", "),
            Vec::from_iter(keys).join(", ")
        )
    };
    let code = ends_soon(&mut client, &asked(64, 1000, "person"));
    assert_eq!(code.as_deref(), Some("42501"));
    let long = format!("person{}", " + 1".repeat(100));
    let code = ends_soon(&mut client, &asked(64, 60, &long));
    assert_eq!(code.as_deref(), Some("42501"));
    assert_eq!(ends_soon(&mut client, &asked(8, 10, "person")), None);
    run(&mut client, &down("copies"));
    let cost = |sql: &str| format!("SELECT * FROM dp_cost('{sql}')");
    assert_eq!(ends_soon(&mut client, &cost(&asked(64, 60, &long))), None);
}

/// What once took twice as long for each level, or for each sub-query as long as for all of them.
#[test]
fn repeated_work_is_done_once() {
    let stage = Stage::new();
    let mut client = analyst(&stage);
    let greatest = nested(60, "salary", |i, sql| format!("greatest({sql}, {i})"));
    let sum = format!("SELECT sum({greatest}) FROM people");
    assert_eq!(ends_soon(&mut client, &sum), None);

    // Plans in which aggregates look for where their arguments come from.
    let unions = |first: &str, types: &str| {
        let more = (1..=40).map(|i| {
            format!(
                ", w{i} AS MATERIALIZED (SELECT * FROM w{0} UNION ALL SELECT * FROM w{0})",
                i - 1
            )
        });
        let more = more.collect::<String>();
        format!("WITH w0 AS MATERIALIZED ({first}){more} SELECT {types} FROM w40")
    };
    let rows = "SELECT x::float8 AS x FROM own WHERE false";
    for sql in [
        unions(rows, "dp_mean(x, 0, 10, (SELECT 1.0 FROM own LIMIT 1))"),
        unions(
            "SELECT dp_contribution(x, 0, 10) AS c FROM own GROUP BY y",
            "count(c)",
        )
        .replace("count(c)", "dp_sum(c, 0, 10, 1.0)")
        .replace("GROUP BY y", "WHERE false GROUP BY y"),
        unions(
            "SELECT b.c FROM (SELECT dp_groups(2, y, x, dp_part(x, 0, 10)) AS g FROM own WHERE false GROUP BY y) p, \
             dp_unnest(p.g) AS b(k int, c dp_contribution)",
            "dp_sum(c, 0, 10, 1.0, 'laplace(groups=2)')",
        ),
    ] {
        ends_soon(&mut client, &sql);
    }

    let asked = (0..1000).map(|i| format!("EXISTS (SELECT FROM people WHERE person = {i})"));
    let asked = Vec::from_iter(asked).join(" OR ");
    let unseen = format!("SELECT * FROM (SELECT 1 FROM own WHERE {asked}) s LIMIT 0");
    assert_eq!(ends_soon(&mut client, &unseen), None);
}

#[test]
fn large_queries_are_answered() {
    let stage = Stage::new();
    let mut client = analyst(&stage);
    let numbers = Vec::from_iter((0..100_000).map(|i| i.to_string())).join(", ");
    let columns = Vec::from_iter((0..1600).map(|i| format!("count(*) + {i}"))).join(", ");
    let keys = Vec::from_iter((0..500).map(|i| format!("(person + {i})"))).join(", ");
    for table in ["people", "(SELECT x AS person FROM own) o"] {
        let parts = Vec::from_iter((0..30).map(|_| format!("SELECT count(*) FROM {table}")));
        for sql in [
            format!("SELECT count(*) FROM {table} WHERE person IN ({numbers})"),
            format!("SELECT {columns} FROM {table}"),
            format!("SELECT count(*) FROM {table} GROUP BY {keys}"),
            parts.join(" UNION ALL "),
        ] {
            let code = ends_soon(&mut client, &sql);
            assert!(code.is_none_or(|code| code == "42501"), "{}", &sql[..60]);
        }
    }
}

/// What the gate works at for long ends when somebody cancels it, or when its time is over.
#[test]
fn work_of_the_gate_can_be_cancelled() {
    let mut stage = Stage::new();
    stage.as_root(&functions());
    let mut client = analyst(&stage);
    run(&mut client, &down("copies"));
    run(&mut client, "SET statement_timeout = 300");
    for sql in [
        "SELECT count(*) FROM f24()",
        "SELECT * FROM dp_cost('SELECT count(*) FROM f24()')",
    ] {
        let code = ends_soon(&mut client, sql);
        assert_eq!(code.as_deref(), Some("57014"));
    }
}

/// Hooks of other extensions are asked once, where the plan starts, and not before.
#[test]
fn rights_are_looked_up_without_the_hooks_of_others() {
    let mut stage = Stage::new();
    // PostgreSQL asks the hooks about tables that it lets read.
    stage.as_owner("GRANT SELECT ON visits, people TO {a}");
    let mut client = analyst(&stage);
    let count = "SELECT dp_test_permission_checks()";
    value::<i64>(&mut client, count);
    let asked = |client: &mut Client, sql: &str| -> i64 {
        value::<i64>(client, count);
        run(client, sql);
        // The count itself is one.
        value::<i64>(client, count) - 1
    };
    let queries = [
        "SELECT count(*) FROM (SELECT * FROM visits) v",
        "SELECT count(*) FROM (SELECT * FROM people) p",
    ];
    let before = queries.map(|sql| asked(&mut client, sql));
    run(&mut client, &down("hooks"));
    let with_hooks = queries.map(|sql| asked(&mut client, sql));
    for ((before, with_hooks), sql) in before.into_iter().zip(with_hooks).zip(&queries) {
        assert!(
            before >= 1 && before < with_hooks,
            "{before}, {with_hooks}: {sql}"
        );
    }
}
