//! States on their way from server to server: sealed on workers, put together on the coordinator of Citus. Its own
//! functions are stood in for by those of `tests/sql/citus.sql`, which call ours as Citus does; `citus.rs` has the same
//! on real servers. Who calls them by hand has what they could have had from the rows, and nothing that was
//! changed, made up, taken twice or from elsewhere is taken in.

use std::collections::BTreeSet;

use dp_core::random::{Bits, Generator};
use dp_mean_tests::calls::{Call, calls};
use dp_mean_tests::{Build, Database, Refusal, refused, rows, run, session, value, variable};
use postgres::Client;

/// The first argument of the aggregates of Citus, for a mean.
const MEAN: &str = "'dp_mean(float8, float8, float8, float8)'::regprocedure::oid";
const SEALED: &str =
    "dp_state: partial state is from another call, or was not sealed with the same keys";

/// 32 bytes as a line of a file of keys.
fn key(id: &str, byte: u8) -> String {
    format!("{id} {byte:02x}{}", "5a".repeat(31))
}

/// Writes a file on the server, as the user that runs it.
fn write(client: &mut Client, path: &str, mode: &str, text: &str) {
    let lines = text.split('\n').map(|line| format!("('{line}')"));
    let lines = lines.collect::<Vec<_>>().join(", ");
    let write = format!("rm -f {path}; cat > {path}; chmod {mode} {path}");
    run(
        client,
        &format!("COPY (SELECT line FROM (VALUES {lines}) v (line)) TO PROGRAM '{write}'"),
    );
}

/// The place of a file of keys for this database: a name in the server's directory, which is where a backend works. It goes
/// with the server.
fn path(database: &Database) -> String {
    format!("{}.keys", database.name())
}

/// From now on the session has these keys.
fn give_keys(client: &mut Client, path: &str, text: &str) {
    write(client, path, "600", text);
    run(client, &format!("SELECT dp_test_key_file('{path}')"));
}

/// A database with the stand-ins for Citus, some rows of several shards, and a key.
fn world() -> (Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, include_str!("sql/citus.sql"));
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 4 AS shard, (i % 100)::float8 AS x, i % 3 AS y FROM generate_series(1, 1000) i;
         CREATE FUNCTION attempt(part text) RETURNS text LANGUAGE plpgsql AS $$
         BEGIN
             PERFORM coord_combine_agg('dp_mean(float8, float8, float8, float8)'::regprocedure::oid,
                 part::cstring, NULL::float8);
             RETURN 'accepted';
         EXCEPTION WHEN OTHERS THEN
             RETURN SQLSTATE || ' ' || SQLERRM;
         END $$",
    );
    give_keys(&mut client, &path(&database), &key("one", 1));
    (database, client)
}

/// The parts of a mean, a text for each shard.
fn parts(client: &mut Client, from: &str, eps: &str) -> Vec<String> {
    let row = format!("ROW(x, 0::float8, 100::float8, {eps}::float8)");
    let sql = format!("SELECT worker_partial_agg({MEAN}, {row})::text FROM {from}");
    rows(client, &sql).iter().map(|row| row.get(0)).collect()
}

/// What becomes of parts of a mean.
fn combined(parts: &[&str]) -> String {
    let parts = parts.iter().map(|part| format!("('{part}')"));
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!(
        "SELECT coord_combine_agg({MEAN}, part::cstring, NULL::float8) FROM (VALUES {parts}) v (part)"
    )
}

fn assert_not_sealed(refusal: &Refusal) {
    assert_eq!((&*refusal.code, &*refusal.message), ("22000", SEALED));
}

/// A call as Citus makes it.
struct Pushed {
    /// What a worker computes, of rows with an `x`.
    worker: String,
    /// What the coordinator computes, of rows with a `part`.
    coordinator: String,
}

/// The arguments of a call, at its outer commas.
fn arguments(call: &str) -> Vec<String> {
    let inside = &call[call.find('(').expect("a call") + 1..call.len() - 1];
    let (mut all, mut depth) = (vec![String::new()], 0);
    for c in inside.chars() {
        depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
        match c {
            ',' if depth == 0 => all.push(String::new()),
            _ => all.last_mut().expect("one").push(c),
        }
    }
    all.into_iter().map(|one| one.trim().to_owned()).collect()
}

/// A call of the table as Citus makes it; `None` where it has no arguments that Citus hands on.
fn pushed(client: &mut Client, call: &Call) -> Option<Pushed> {
    let given = arguments(&call.sql());
    let sql = format!(
        "SELECT oid::regprocedure::text, proargtypes::regtype[]::text[], prorettype::regtype::text FROM pg_proc \
         WHERE proname = '{}' AND pronargs = {} AND prokind = 'a' \
         AND 'dp_mean.dp_contribution'::regtype <> ALL (proargtypes) AND '\"any\"'::regtype <> ALL (proargtypes) \
         AND 'anyelement'::regtype <> ALL (proargtypes)",
        call.aggregate,
        given.len()
    );
    let found = rows(client, &sql);
    let [found] = &found[..] else { return None };
    let (of, types, answer): (String, Vec<String>, String) =
        (found.get(0), found.get(1), found.get(2));
    let typed = given.iter().zip(&types);
    let typed = typed.map(|(argument, of)| format!("({argument})::{of}"));
    let typed = typed.collect::<Vec<_>>().join(", ");
    let row = if types.len() == 1 {
        typed
    } else {
        format!("ROW({typed})")
    };
    Some(Pushed {
        worker: format!("worker_partial_agg('{of}'::regprocedure::oid, {row})::text"),
        coordinator: format!(
            "coord_combine_agg('{of}'::regprocedure::oid, part::cstring, NULL::{answer})"
        ),
    })
}

/// All calls of the table that Citus can hand on.
fn all_pushed(client: &mut Client) -> Vec<(Call, Pushed)> {
    run(client, "SET dp_mean.allow_pathological = on");
    let mut all = Vec::new();
    for call in calls() {
        if let Some(pushed) = pushed(client, &call) {
            all.push((call, pushed));
        }
    }
    assert!(all.len() > 50, "{}", all.len());
    all
}

/// The answer with the noise of a seed, as a text.
fn answer(client: &mut Client, sql: &str) -> Option<String> {
    run(client, "SELECT dp_test_seed(7)");
    value(client, sql)
}

#[test]
fn answers_are_those_of_one_server() {
    let (_database, mut client) = world();
    let mut compared = 0;
    for (call, pushed) in all_pushed(&mut client) {
        let (
            sql,
            Pushed {
                worker,
                coordinator,
                ..
            },
        ) = (call.sql(), &pushed);
        // Coins for rows, and the offset of cells, are not those of one server.
        let is_drawn = call.is_drawn();
        for (from, shards) in [
            ("t", "GROUP BY shard"),
            ("t", "GROUP BY shard, y"),
            ("t", ""),
            (
                "(SELECT NULL::float8 AS x, 1 AS shard FROM t) n",
                "GROUP BY shard",
            ),
            ("(SELECT * FROM t WHERE false) n", ""),
            ("(SELECT * FROM t WHERE false) n", "GROUP BY shard"),
        ] {
            let alone = answer(&mut client, &format!("SELECT ({sql})::text FROM {from}"));
            let parts = format!("(SELECT {worker} AS part FROM {from} {shards}) parts");
            // No shard at all tells nothing of the call.
            if from.contains("false") && !shards.is_empty() {
                let refusal = refused(&mut client, &format!("SELECT {coordinator} FROM {parts}"));
                assert_eq!(refusal.code, "0A000", "{refusal:?}");
                continue;
            }
            let together = format!("SELECT ({coordinator})::text FROM {parts}");
            let together = answer(&mut client, &together);
            if !is_drawn {
                assert_eq!(together, alone, "{sql} FROM {from} {shards}");
                compared += 1;
            }
        }
    }
    assert!(compared > 200, "{compared}");
}

/// One worker has rows, another none, a third only some that are left out.
#[test]
fn parts_without_rows_change_nothing() {
    let (_database, mut client) = world();
    for (call, pushed) in all_pushed(&mut client) {
        let (
            sql,
            Pushed {
                worker,
                coordinator,
                ..
            },
        ) = (call.sql(), &pushed);
        if sql.contains("sample") || sql.contains("symmetric") {
            continue;
        }
        let none = format!("SELECT {worker} AS part FROM t WHERE false");
        let few = format!("SELECT {worker} FROM t");
        let worker_filtered = worker.replace("::text", " FILTER (WHERE x > 1000)::text");
        let filtered = format!("SELECT {worker_filtered} FROM t");
        let alone = answer(&mut client, &format!("SELECT ({sql})::text FROM t"));
        for parts in [
            format!("{none} UNION ALL {few}"),
            format!("{few} UNION ALL {none}"),
            format!("{none} UNION ALL {filtered} UNION ALL {few} UNION ALL {none}"),
        ] {
            let sql = format!("SELECT ({coordinator})::text FROM ({parts}) v (part)");
            assert_eq!(answer(&mut client, &sql), alone, "{sql}");
        }
    }
}

#[test]
fn the_length_does_not_tell_rows_from_none() {
    let (_database, mut client) = world();
    run(
        &mut client,
        "CREATE TABLE nulls AS SELECT NULL::float8 AS x FROM t",
    );
    for (call, Pushed { worker, .. }) in all_pushed(&mut client) {
        // The table of cells has no end, and grows as rows lie further apart.
        let has_cells = call.sql().contains("symmetric");
        let mut lengths = BTreeSet::new();
        let tables = [
            "t",
            "t WHERE x = 7",
            "t WHERE false",
            "nulls",
            "(SELECT 1e300 * (i % 2) AS x FROM generate_series(1, 3) i) w",
        ];
        for from in &tables[usize::from(has_cells)..] {
            let text: String = value(&mut client, &format!("SELECT {worker} FROM {from}"));
            lengths.insert(text.len());
        }
        assert_eq!(lengths.len(), 1, "{lengths:?}: {}", call.sql());
    }
}

#[test]
fn a_refused_call_ends_alike_with_rows_and_without() {
    let (_database, mut client) = world();
    run(
        &mut client,
        "CREATE TABLE nulls AS SELECT NULL::float8 AS x, 1 AS shard FROM t",
    );
    for (row, code) in [
        ("x, 100::float8, 0::float8, 1::float8", "22023"),
        ("x, 0::float8, 100::float8, x", "22023"),
        ("x, x, 100::float8, 1::float8", "22023"),
        ("x, 0::float8, 100::float8, NULL::float8", "22023"),
        ("x, 0::float8, 100::float8, -1::float8", "22023"),
        ("x, 0::float8, 100::float8, random()", "22023"),
        ("x, 0::float8, 100::float8, (shard + 1)::float8", "22023"),
    ] {
        let mut all = BTreeSet::new();
        for (from, group) in [
            ("t", "GROUP BY shard"),
            ("t WHERE x = 7", ""),
            ("t WHERE false", ""),
            ("nulls", ""),
        ] {
            let sql = format!(
                "SELECT coord_combine_agg({MEAN}, part, NULL::float8) FROM \
                 (SELECT worker_partial_agg({MEAN}, ROW({row})) AS part FROM {from} {group}) parts"
            );
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, code, "{refusal:?}: {sql}");
            all.insert(format!("{refusal:?}"));
        }
        assert_eq!(all.len(), 1, "{all:?}");
    }
}

/// Arguments may be parameters, and functions that are stable: the worker computes them, rows or none.
#[test]
fn arguments_are_computed_where_the_rows_are() {
    let (_database, mut client) = world();
    run(
        &mut client,
        "CREATE FUNCTION eps() RETURNS float8 LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN 2; END $$;
         CREATE FUNCTION fails() RETURNS float8 LANGUAGE plpgsql STABLE
             AS $$ BEGIN RAISE 'it fails' USING ERRCODE = '22012'; END $$",
    );
    let worker = |eps: &str, from: &str| {
        format!(
            "SELECT worker_partial_agg({MEAN}, ROW(x, 0::float8, 100::float8, {eps}))::text AS part FROM {from}"
        )
    };
    for from in ["t", "t WHERE false", "t WHERE x = 7"] {
        let parts = format!(
            "{} UNION ALL {}",
            worker("eps()", from),
            worker("2::float8", "t")
        );
        let sql = format!(
            "SELECT coord_combine_agg({MEAN}, part::cstring, NULL::float8) FROM ({parts}) v (part)"
        );
        let _: f64 = value(&mut client, &sql);
        let refusal = refused(&mut client, &worker("fails()", from));
        assert_eq!((&*refusal.code, &*refusal.message), ("22012", "it fails"));
    }
    run(
        &mut client,
        &format!("PREPARE p(float8) AS {}", worker("$1", "t")),
    );
    run(&mut client, "SET plan_cache_mode = force_generic_plan");
    let part = |client: &mut Client, eps: &str| -> String {
        match &client
            .simple_query(&format!("EXECUTE p({eps})"))
            .expect("a part")[..]
        {
            [.., postgres::SimpleQueryMessage::Row(row), _] => {
                row.get(0).expect("a part").to_owned()
            }
            other => panic!("{other:?}"),
        }
    };
    let [one, other] = ["2", "3"].map(|eps| part(&mut client, eps));
    let two = parts(&mut client, "t", "2").remove(0);
    let _: f64 = value(&mut client, &combined(&[&one, &two]));
    assert_not_sealed(&refused(&mut client, &combined(&[&other, &two])));
}

/// A bound that a function gives which calls itself stable and is not: the state's is not that of the call.
#[test]
fn sums_between_other_bounds_are_refused() {
    let (_database, mut client) = world();
    run(
        &mut client,
        "CREATE SEQUENCE s;
         CREATE FUNCTION drifts() RETURNS float8 LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN 100.1 + nextval('s'); END $$",
    );
    for (of, row, argument) in [
        (MEAN, "x, 0::float8, drifts(), 1::float8", "hi"),
        (MEAN, "x, -drifts(), 0::float8, 1::float8", "lo"),
        (
            "'dp_var_pop(float8, float8, float8, float8)'::regprocedure::oid",
            "x, 0::float8, drifts(), 1::float8",
            "hi",
        ),
    ] {
        let worker = |from| {
            format!(
                "SELECT worker_partial_agg({of}, ROW({row}))::text FROM (SELECT x FROM t {from}) v"
            )
        };
        let one: String = value(&mut client, &worker("LIMIT 1"));
        let none: String = value(&mut client, &worker("WHERE false"));
        assert_eq!(one.len(), none.len());
        let sql = format!("SELECT coord_combine_agg({of}, '{one}'::cstring, NULL::float8)");
        let refusal = refused(&mut client, &sql);
        let blamed = format!("argument \"{argument}\"");
        assert_eq!(refusal.code, "22023", "{refusal:?}");
        assert!(refusal.message.contains(&blamed), "{refusal:?}");
    }
}

#[test]
fn leader_counts_a_part_once() {
    let (_database, mut client) = world();
    let all = parts(&mut client, "t GROUP BY shard", "1");
    let [a, b, c, d] = &all[..] else {
        panic!("{all:?}")
    };
    let _: f64 = value(&mut client, &combined(&[a, b, c, d]));
    for again in [&[a, a][..], &[a, b, a], &[a, b, b], &[a, b, c, d, c]] {
        let again: Vec<&str> = again.iter().map(|part| part.as_str()).collect();
        assert_not_sealed(&refused(&mut client, &combined(&again)));
    }
    // Of no rows too: that is not told.
    let none = parts(&mut client, "t WHERE false", "1").remove(0);
    assert_not_sealed(&refused(&mut client, &combined(&[&none, a, &none])));
    // Among many, wherever it stands.
    let many = "t CROSS JOIN generate_series(1, 500) g GROUP BY g";
    let many = parts(&mut client, many, "1");
    let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
    let _: f64 = value(&mut client, &combined(&many));
    for (from, to) in [(0, 1), (0, 499), (250, 499), (498, 499)] {
        let kept = many[to];
        many[to] = many[from];
        assert_not_sealed(&refused(&mut client, &combined(&many)));
        many[to] = kept;
    }
}

/// What counts rows without noise that could be seen, of each part once.
const COUNT: &str = "'dp_count(float8)'::regprocedure::oid";

/// Parts of 3000 groups, of four shards each, in a table.
fn many_groups(client: &mut Client) {
    run(
        client,
        &format!(
            "CREATE TABLE many AS SELECT g, shard, worker_partial_agg({COUNT}, 50::float8)::text AS part
                 FROM (SELECT i % 3000 AS g, i / 3000 % 4 AS shard FROM generate_series(0, 23999) i) v GROUP BY g, shard;
             ANALYZE many"
        ),
    );
}

/// Groups that do not fit into memory are put aside and taken up later: each part comes once, whenever that is.
#[test]
fn parts_of_groups_that_spill_count_once() {
    let (_database, mut client) = world();
    many_groups(&mut client);
    let sql = format!(
        "SELECT g, coord_combine_agg({COUNT}, part::cstring, NULL::bigint) AS n FROM many GROUP BY g"
    );
    for (settings, sign) in [
        ("SET work_mem = '64kB'; SET enable_sort = off", "Disk Usage"),
        (
            "SET work_mem = '1GB'; SET enable_sort = off",
            "HashAggregate",
        ),
        (
            "SET enable_sort = on; SET enable_hashagg = off",
            "GroupAggregate",
        ),
    ] {
        run(&mut client, settings);
        let analyzed = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {sql}");
        let plan = rows(&mut client, &analyzed);
        let plan = plan.iter().map(|row| row.get::<_, String>(0));
        let plan = plan.collect::<Vec<_>>().join("\n");
        assert!(plan.contains(sign), "{plan}");
        let all = format!("SELECT count(*) FILTER (WHERE n = 8) FROM ({sql}) v");
        assert_eq!(value::<i64>(&mut client, &all), 3000, "{settings}");
    }
}

/// A part may be in a group of each grouping set, and in a release of each time that a query is run again for a row.
#[test]
fn other_releases_may_have_the_same_parts() {
    let (_database, mut client) = world();
    many_groups(&mut client);
    let combined = format!("coord_combine_agg({COUNT}, part::cstring, NULL::bigint)");
    for settings in [
        "SET enable_sort = off; SET work_mem = '1GB'",
        "SET enable_sort = on; SET enable_hashagg = off",
    ] {
        run(&mut client, settings);
        let sets = format!(
            "SELECT sum(n)::text FROM (SELECT {combined} AS n FROM many GROUP BY GROUPING SETS ((g), (shard))) v"
        );
        assert_eq!(value::<String>(&mut client, &sets), "48000");
        let anew = format!(
            "SELECT sum((SELECT {combined} FROM many WHERE g < limit_of))::text FROM generate_series(1, 5) limit_of"
        );
        assert_eq!(value::<String>(&mut client, &anew), "120");
    }
    // Two calls of one query, too.
    let two = format!(
        "SELECT {combined} + coord_combine_agg({COUNT}, (part || '')::cstring, NULL::bigint) FROM many"
    );
    assert_eq!(value::<i64>(&mut client, &two), 48_000);
}

/// What one query has taken in is nothing to the next, and what ended with an error neither.
#[test]
fn parts_are_forgotten_with_the_query() {
    let (_database, mut client) = world();
    let all = parts(&mut client, "t GROUP BY shard", "1");
    let [a, b, ..] = &all[..] else {
        panic!("{all:?}")
    };
    for _ in 0..3 {
        let _: f64 = value(&mut client, &combined(&[a, b]));
        assert_not_sealed(&refused(&mut client, &combined(&[a, b, a])));
    }
    run(&mut client, "BEGIN");
    for _ in 0..2 {
        let _: f64 = value(&mut client, &combined(&[b, a]));
    }
    run(&mut client, "COMMIT");
    // Two queries that are open at once.
    let cursor = |name| format!("DECLARE {name} CURSOR FOR {}", combined(&[a, b]));
    run(
        &mut client,
        &format!(
            "BEGIN; {}; {}; FETCH 1 FROM one; FETCH 1 FROM two; COMMIT",
            cursor("one"),
            cursor("two")
        ),
    );
}

#[test]
fn leader_rejects_states_of_another_call() {
    let (_database, mut client) = world();
    let part = parts(&mut client, "t", "1").remove(0);
    let five = "'dp_mean(float8, float8, float8, float8, dp_mechanism)'::regprocedure::oid";
    let sum = "'dp_sum(float8, float8, float8, float8)'::regprocedure::oid";
    let both = "'dp_mean_and_count(float8, float8, float8, float8)'::regprocedure::oid";
    for (of, row) in [
        (MEAN, "x, 0::float8, 100::float8, 2::float8"),
        (MEAN, "x, 0::float8, 101::float8, 1::float8"),
        (MEAN, "x, 1::float8, 100::float8, 1::float8"),
        (MEAN, "x, 0::float8, 100::float8, NULL::float8"),
        (MEAN, "x, 0::float8, 100::float8, x"),
        (MEAN, "x, -0::float8 * 1, 100::float8, 1::float8"),
        (MEAN, "7::float8, 0::float8, 100::float8, 1::float8"),
        (
            five,
            "x, 0::float8, 100::float8, 1::float8, 'hourglass'::dp_mechanism",
        ),
        (sum, "x, 0::float8, 100::float8, 1::float8"),
        (both, "x, 0::float8, 100::float8, 1::float8"),
    ] {
        for from in ["t", "t WHERE false"] {
            let sql = format!("SELECT worker_partial_agg({of}, ROW({row}))::text FROM {from}");
            let other: String = value(&mut client, &sql);
            for pair in [[&*part, &*other], [&*other, &*part]] {
                assert_not_sealed(&refused(&mut client, &combined(&pair)));
            }
            // Nor alone, where the coordinator asks for another aggregate.
            let alone = value::<String>(&mut client, &format!("SELECT attempt('{other}')"));
            if of != MEAN {
                assert_eq!(alone, format!("22000 {SEALED}"), "{row}");
            }
            let sql = format!("SELECT coord_combine_agg({five}, '{part}'::cstring, NULL::float8)");
            assert_not_sealed(&refused(&mut client, &sql));
        }
    }
}

/// Tries texts in place of parts, all in one go.
fn attempts(client: &mut Client, texts: &[String]) -> Vec<String> {
    let sql = "SELECT attempt(text) FROM unnest($1::text[]) WITH ORDINALITY u (text, i) ORDER BY i";
    let rows = client.query(sql, &[&texts]).expect("attempts");
    rows.iter().map(|row| row.get(0)).collect()
}

#[test]
fn nothing_that_was_changed_is_taken_in() {
    let (_database, mut client) = world();
    let text = parts(&mut client, "t", "1").remove(0);
    assert_eq!(
        attempts(&mut client, std::slice::from_ref(&text)),
        ["accepted"]
    );
    let mut texts = Vec::new();
    for i in 0..text.len() {
        let (before, after) = (&text[..i], &text[i + 1..]);
        texts.extend(["A", "B", "_", "+", " ", ""].map(|other| format!("{before}{other}{after}")));
        texts.push(before.to_owned());
        texts.push(after.to_owned());
        texts.push(format!("{before}A{}", &text[i..]));
    }
    texts.extend([
        format!("{text}A"),
        format!("{text}{text}"),
        format!("{text}="),
        text.to_lowercase(),
        "\u{e4}".to_owned(),
        "x".repeat(1 << 20),
    ]);
    texts.retain(|changed| *changed != text && !changed.is_empty());
    assert!(texts.len() > 900, "{}", texts.len());
    for (attempt, changed) in attempts(&mut client, &texts).iter().zip(&texts) {
        assert_eq!(*attempt, format!("22000 {SEALED}"), "{changed}");
    }
}

/// Random texts, and those of parts with random changes.
fn random_texts(generator: &mut Generator, parts: &[String], count: usize) -> Vec<String> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut below = |n: usize| (generator.word() % n as u64) as usize;
    let one = |_| {
        let pick = below(parts.len());
        let mut text = parts[pick].clone().into_bytes();
        match below(6) {
            0 => {
                let length = 1 + below(600);
                text = (0..length).map(|_| alphabet[below(64)]).collect();
            }
            1 => text.truncate(1 + below(text.len() - 1)),
            2 => {
                let other = parts[below(parts.len())].as_bytes();
                let at = 1 + below(text.len().min(other.len()) - 2);
                text.truncate(at);
                text.extend(&other[at..]);
            }
            3 => {
                let (from, to) = (below(text.len()), below(text.len()));
                text.swap(from, to);
            }
            4 => {
                // What is public says lengths: small numbers in its first bytes.
                for _ in 0..1 + below(4) {
                    text[below(16)] = alphabet[below(64)];
                }
            }
            _ => {
                for _ in 0..1 + below(8) {
                    let at = below(text.len());
                    text[at] = alphabet[below(64)];
                }
            }
        }
        String::from_utf8(text).expect("letters and digits")
    };
    (0..count).map(one).collect()
}

/// Tries that many random texts.
fn try_random_texts(seed: u64, count: usize) {
    let (_database, mut client) = world();
    let mut whole = parts(&mut client, "t GROUP BY shard", "1");
    whole.extend(parts(&mut client, "t WHERE false", "2"));
    let sum = "SELECT worker_partial_agg('dp_histogram(float8, float8, float8, integer, float8)'::regprocedure::oid, \
               ROW(x, 0::float8, 100::float8, 20, 1::float8))::text FROM t";
    whole.push(value(&mut client, sum));
    let backend: i32 = value(&mut client, "SELECT pg_backend_pid()");
    let mut generator = Generator::from_seed(seed);
    let mut left = count;
    while left > 0 {
        let mut texts = random_texts(&mut generator, &whole, left.min(5000));
        left -= texts.len();
        texts.retain(|text| !whole.contains(text));
        let outcomes = BTreeSet::from_iter(attempts(&mut client, &texts));
        let expected = BTreeSet::from([format!("22000 {SEALED}")]);
        assert_eq!(outcomes, expected, "seed {seed}, {left} left");
    }
    assert_eq!(
        value::<i32>(&mut client, "SELECT pg_backend_pid()"),
        backend
    );
    // And the texts as they were are parts still.
    let whole: Vec<&str> = whole[..4].iter().map(String::as_str).collect();
    let _: f64 = value(&mut client, &combined(&whole));
}

#[test]
fn random_texts_are_refused() {
    try_random_texts(1, 5000);
}

#[test]
#[ignore = "minutes: make fuzz-states"]
fn many_random_texts_are_refused() {
    let number = |name| variable(name).parse().expect("a number");
    try_random_texts(number("DP_MEAN_SEED"), number("DP_MEAN_STATES") as usize);
}

/// Servers that allow other mechanisms would refuse where there are rows, and answer where there are none.
#[test]
fn leader_rejects_parts_with_other_permissions() {
    let (_database, mut client) = world();
    for from in ["t", "t WHERE false"] {
        let part = parts(&mut client, from, "1").remove(0);
        run(&mut client, "SET dp_mean.allow_pathological = on");
        assert_not_sealed(&refused(&mut client, &combined(&[&part])));
        run(&mut client, "SET dp_mean.allow_pathological = off");
        let _: f64 = value(&mut client, &combined(&[&part]));
    }
}

#[test]
fn keys_are_turned_over() {
    let (database, mut client) = world();
    let path = path(&database);
    let [old, new] = [key("old", 1), key("new", 2)];
    give_keys(&mut client, &path, &old);
    let by_old = parts(&mut client, "t", "1").remove(0);
    give_keys(&mut client, &path, &format!("# turned over\n{new}\n{old}"));
    let by_new = parts(&mut client, "t", "1").remove(0);
    let _: f64 = value(&mut client, &combined(&[&by_old, &by_new]));
    give_keys(&mut client, &path, &new);
    let _: f64 = value(&mut client, &combined(&[&by_new]));
    assert_not_sealed(&refused(&mut client, &combined(&[&by_old])));
    assert_not_sealed(&refused(&mut client, &combined(&[&by_new, &by_old])));
    // Another key of the same name.
    give_keys(&mut client, &path, &key("new", 9));
    assert_not_sealed(&refused(&mut client, &combined(&[&by_new])));
    // The file is looked at by each query: here it changes without a word to the session.
    write(&mut client, &path, "400", &new);
    let _: f64 = value(&mut client, &combined(&[&by_new]));
}

#[test]
fn without_a_key_nothing_is_sealed_or_opened() {
    let (database, mut client) = world();
    let part = parts(&mut client, "t", "1").remove(0);
    let path = path(&database);
    let good = key("one", 1);
    let cases = [
        ("600", String::new(), "in its file, there is no key in it"),
        (
            "600",
            good[..60].to_owned(),
            "in its file, line 1 is not a name and a key",
        ),
        (
            "600",
            format!("{good}\n{good}"),
            "in its file, line 2 has the name of another key",
        ),
        (
            "640",
            good.clone(),
            "its file may be read by others: its mode must be 0600 or 0400",
        ),
        (
            "604",
            good.clone(),
            "its file may be read by others: its mode must be 0600 or 0400",
        ),
        (
            "700",
            good.clone(),
            "its file may be read by others: its mode must be 0600 or 0400",
        ),
    ];
    let mut paths = Vec::new();
    for (i, (mode, text, why)) in cases.into_iter().enumerate() {
        let path = format!("{path}.{i}");
        write(&mut client, &path, mode, &text);
        paths.push((path, why));
    }
    paths.push((
        format!("{path}.none"),
        "its file cannot be read (entity not found)",
    ));
    paths.push(("/".to_owned(), "it is not a file"));
    paths.push(("/dev/null".to_owned(), "it is not a file"));
    paths.push((
        "/etc/passwd".to_owned(),
        "its file belongs to another user than the one that runs the server",
    ));
    for (path, why) in paths {
        run(&mut client, &format!("SELECT dp_test_key_file('{path}')"));
        let seal = |from| {
            format!(
                "SELECT worker_partial_agg({MEAN}, ROW(x, 0::float8, 1::float8, 1::float8)) FROM {from}"
            )
        };
        for sql in [
            seal("t"),
            seal("t WHERE false"),
            combined(&[&part]),
            combined(&["x"]),
        ] {
            let refusal = refused(&mut client, &sql);
            let message =
                format!("dp_state: no key configured for states exchanged between nodes: {why}");
            assert_eq!((&*refusal.code, refusal.message), ("55000", message));
            assert!(
                refusal.hint.contains("head -c 32 /dev/urandom"),
                "{}",
                refusal.hint
            );
        }
        // All else goes on.
        let _: f64 = value(&mut client, "SELECT dp_mean(x, 0, 100, 1.0) FROM t");
    }
}

/// What the hint says makes a key.
#[test]
fn the_hint_makes_a_key() {
    let (database, mut client) = world();
    let path = format!("{}.made", path(&database));
    run(&mut client, &format!("SELECT dp_test_key_file('{path}')"));
    let sql = format!(
        "SELECT worker_partial_agg({MEAN}, ROW(x, 0::float8, 1::float8, 1::float8)) FROM t"
    );
    let hint = refused(&mut client, &sql).hint;
    let (_, command) = hint
        .split_once("in the data directory: ")
        .expect("a command");
    let (command, _) = command.split_once("; and copy").expect("its end");
    let command = command.replace("dp_mean.keys", &path).replace('\'', "''");
    run(
        &mut client,
        &format!("COPY (SELECT 1 WHERE false) TO PROGRAM '{command}'"),
    );
    let part = parts(&mut client, "t", "1").remove(0);
    let _: f64 = value(&mut client, &combined(&[&part]));
}

/// Only the aggregates of Citus read a sealed state, and they read what the aggregates of the extension have sealed.
#[test]
fn there_is_no_other_way_in_or_out() {
    let (_database, mut client) = world();
    let part = parts(&mut client, "t", "1").remove(0);
    run(
        &mut client,
        "CREATE AGGREGATE bare(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state,
             COMBINEFUNC = dp_mean.dp_state_combine, INITCOND = '');
         CREATE AGGREGATE mine(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state,
             FINALFUNC = dp_mean.dp_mean_final, COMBINEFUNC = dp_mean.dp_state_combine, INITCOND = '');
         CREATE AGGREGATE shown(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans,
             STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_state_out);
         CREATE FUNCTION opened(s dp_mean.dp_state, part text) RETURNS dp_mean.dp_state LANGUAGE plpgsql
             AS $$ BEGIN RETURN part::dp_mean.dp_state; END $$",
    );
    // A text is no state, for nobody.
    for sql in [
        format!("SELECT '{part}'::dp_mean.dp_state"),
        format!("SELECT '{part}'::text::dp_mean.dp_state"),
        format!("SELECT dp_mean.dp_state_in('{part}')"),
        format!("SELECT opened(NULL, '{part}')"),
        format!(
            "CREATE AGGREGATE evil(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans, \
             STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_mean_final, INITCOND = '{part}')"
        ),
    ] {
        assert_eq!(refused(&mut client, &sql).code, "0A000", "{sql}");
    }
    // A state is no text, but of the aggregates of the extension for those of Citus.
    for sql in [
        "SELECT bare(x, 0, 100, 1)::text FROM t".to_owned(),
        "SELECT shown(x, 0, 100, 1) FROM t".to_owned(),
        "SELECT shown(x, 0, 100, 1) FROM t GROUP BY shard".to_owned(),
        "SELECT dp_mean.dp_state_out(bare(x, 0, 100, 1)) FROM t".to_owned(),
        "SELECT dp_mean.dp_state_out('')".to_owned(),
    ] {
        assert_eq!(refused(&mut client, &sql).code, "0A000", "{sql}");
    }
    // An own aggregate around the functions of one is not that one.
    for of in ["bare", "mine"] {
        let of = format!("'{of}(float8, float8, float8, float8)'::regprocedure::oid");
        for from in ["t", "t WHERE false"] {
            let row = "ROW(x, 0::float8, 100::float8, 1::float8)";
            let sql = format!("SELECT worker_partial_agg({of}, {row}) FROM {from}");
            assert_eq!(refused(&mut client, &sql).code, "0A000", "{sql}");
        }
        let sql = format!("SELECT coord_combine_agg({of}, '{part}'::cstring, NULL::float8)");
        assert_eq!(refused(&mut client, &sql).code, "0A000", "{sql}");
    }
    // Citus's own as window functions would draw noise for each row.
    for sql in [
        format!("SELECT coord_combine_agg({MEAN}, '{part}'::cstring, NULL::float8) OVER () FROM t"),
        format!(
            "SELECT worker_partial_agg({MEAN}, ROW(x, 0::float8, 1::float8, 1::float8)) OVER (ORDER BY x) FROM t"
        ),
    ] {
        assert_eq!(refused(&mut client, &sql).code, "0A000", "{sql}");
    }
    // There is no binary form, which Citus 14 would carry in the place of the text.
    let sql = "SELECT (typsend::oid, typreceive::oid) = (0, 0) FROM pg_type WHERE oid = 'dp_mean.dp_state'::regtype";
    assert!(value::<bool>(&mut client, sql));
}

/// What bounds a person is in the query of the server that has the rows; the coordinator could not see whether its own
/// bound is that.
#[test]
fn contributions_are_not_sent_to_another_server() {
    let (_database, mut client) = world();
    run(
        &mut client,
        "CREATE TABLE visits AS SELECT i % 50 AS person, i % 3 AS region, i::float8 AS x
             FROM generate_series(1, 300) i",
    );
    let contributions = "(SELECT dp_contribution(x, 0, 100) AS c, person % 2 AS shard FROM visits GROUP BY person) s";
    let groups = "(SELECT region, cost FROM (SELECT dp_groups(2, person, region, dp_part(x, 0, 100)) AS g FROM visits \
                  GROUP BY person) s, dp_unnest(g) u (region integer, cost dp_contribution)) g";
    let mean = "'dp_mean(dp_mean.dp_contribution, float8, float8, float8)'::regprocedure::oid";
    let count = "'dp_count(float8)'::regprocedure::oid";
    let made = "'dp_contribution(float8, float8, float8)'::regprocedure::oid";
    for filter in ["", "1000"] {
        let [of_shard, of_region, of_x] = ["shard", "region", "x"].map(|column| match filter {
            "" => String::new(),
            _ => format!(" WHERE {column} > {filter}"),
        });
        for sql in [
            format!(
                "SELECT worker_partial_agg({mean}, ROW(c, 0::float8, 100::float8, 1::float8)) \
                 FROM {contributions}{of_shard}"
            ),
            format!("SELECT worker_partial_agg({count}, 1::float8) FROM {groups}{of_region}"),
            format!(
                "SELECT worker_partial_agg({made}, ROW(x, 0::float8, 100::float8)) FROM visits{of_x}"
            ),
        ] {
            let refusal = refused(&mut client, &sql);
            let message = "dp_state: contributions of persons cannot be combined across nodes";
            assert_eq!(
                (&*refusal.code, &*refusal.message),
                ("0A000", message),
                "{sql}"
            );
        }
    }
}

/// Arguments of any type Citus does not hand on, and says so where there is a row: so does the extension where there is
/// none.
#[test]
fn arguments_of_any_type_are_refused_without_rows_too() {
    let (_database, mut client) = world();
    for (of, row) in [
        ("dp_count(\"any\", float8)", "x, 1::float8"),
        (
            "dp_counts(float8, dp_mechanism, \"any\")",
            "1::float8, 'laplace'::dp_mechanism, x > 1",
        ),
        ("dp_count_distinct(anyelement, float8)", "y, 1::float8"),
    ] {
        let sql = format!(
            "SELECT worker_partial_agg('{of}'::regprocedure::oid, ROW({row})) FROM t WHERE false"
        );
        let refusal = refused(&mut client, &sql);
        let message = "worker_partial_agg_sfunc could not confirm type correctness";
        assert_eq!(
            (&*refusal.code, &*refusal.message, &*refusal.hint),
            ("XX000", message, ""),
            "{sql}"
        );
    }
}
