//! `dp_beyond`: how many rows each number of rows in a policy leaves out.

use dp_mean_tests::{refused, run, value};

use super::{World, table};

/// People with 1 to 40 rows, 50 each, in a table whose names need quotes, with rows of nobody; and a table that refers to
/// it.
const TABLES: &str = r#"
CREATE TABLE "it's ""odd"" a.b" (id int PRIMARY KEY, "who is" int, x int);
INSERT INTO "it's ""odd"" a.b"
SELECT row_number() OVER (), i, 1 FROM generate_series(1, 2000) i, generate_series(0, i % 40);
INSERT INTO "it's ""odd"" a.b" SELECT -i, NULL, 1 FROM generate_series(1, 500) i;
CREATE TABLE parts (part int PRIMARY KEY, "row" int REFERENCES "it's ""odd"" a.b");
INSERT INTO parts SELECT id, id FROM "it's ""odd"" a.b" WHERE id % 2 = 0;
INSERT INTO parts VALUES (0, NULL);
SELECT dp_protect('"it''s ""odd"" a.b"', 'who is', 'all', rows => 3, query_eps => 20);
SELECT dp_protect('parts', via => 'row', rows => 3, query_eps => 20);
SELECT dp_allow('"it''s ""odd"" a.b"', '{analyst}'), dp_allow('parts', '{analyst}')"#;

/// The numbers of an answer; of the last one there are no rows.
fn numbers(rows: &[Vec<Option<String>>]) -> Vec<Vec<f64>> {
    let number = |cell: &Option<String>| cell.as_ref().map(|cell| cell.parse().expect("a number"));
    rows.iter()
        .map(|row| row.iter().filter_map(number).collect())
        .collect()
}

/// What the owner counts for each number of rows: people, and rows beyond it up to `most`.
fn truth(world: &mut World, from: &str, person: &str, most: i32) -> Vec<Vec<f64>> {
    let lines = "SELECT 0 AS k UNION ALL SELECT (2 ^ i)::int FROM generate_series(0, 10) i";
    let sql = format!(
        "SELECT k, count(*) FILTER (WHERE n > k), \
         CASE WHEN k < {most} THEN coalesce(sum(least(n, {most}) - k) FILTER (WHERE n > k), 0) END \
         FROM ({lines}) l, (SELECT count(*) AS n FROM {from} WHERE {person} IS NOT NULL GROUP BY {person}) p \
         WHERE k <= {most} GROUP BY k ORDER BY k"
    );
    numbers(&table(&mut world.owner, &sql))
}

#[test]
fn each_number_of_rows_has_a_line() {
    let mut world = World::new();
    world.own(TABLES);
    world.ask("SET dp_mean.reuse = on");
    let odd = r#""it's ""odd"" a.b""#;
    let via = format!(r#"parts p JOIN {odd} o ON o.id = p."row""#);
    for (call, from, person, most) in [
        (r#"dp_beyond('"it''s ""odd"" a.b"')"#, odd, "\"who is\"", 64),
        ("dp_beyond('parts', 16)", &via, "\"who is\"", 16),
        (
            "dp_beyond(most => 1024, relation => 'parts')",
            &via,
            "\"who is\"",
            1024,
        ),
        ("dp_beyond('visits', 2)", "visits", "patient", 2),
        ("dp_beyond('visits', most => 1)", "visits", "patient", 1),
    ] {
        let truth = truth(&mut world, from, person, most);
        assert_eq!(truth.len(), most.ilog2() as usize + 2, "{call}");
        let sql = format!("SELECT rows, people_beyond, rows_beyond FROM {call}");
        assert_eq!(numbers(&table(&mut world.owner, &sql)), truth, "{call}");
        let cost = format!("SELECT price / 20, budget FROM dp_cost($q${sql}$q$)");
        let cost = table(&mut world.analyst, &cost);
        assert_eq!(
            cost,
            [[Some("1".to_owned()), Some("all".to_owned())]],
            "{call}"
        );
        let mut answer = Vec::new();
        let price = world.price(|world| answer = table(&mut world.analyst, &sql));
        assert_eq!(price, (1.0, 1), "{call}");
        let answer = numbers(&answer);
        assert_eq!(answer.len(), truth.len(), "{call}");
        for (told, truth) in answer.iter().zip(&truth) {
            assert_eq!((told.len(), told[0]), (truth.len(), truth[0]), "{call}");
            assert!(
                (told[1] - truth[1]).abs() <= 4.0,
                "{call}: {told:?}, {truth:?}"
            );
            if let (Some(told), Some(truth)) = (told.get(2), truth.get(2)) {
                assert!(
                    (told - truth).abs() <= 2.0 * f64::from(most),
                    "{call}: {told}, {truth}"
                );
            }
        }
        // The same question is the same, and so is one whose arguments are not known when it is planned.
        let price = world.price(|world| {
            assert_eq!(numbers(&table(&mut world.analyst, &sql)), answer, "{call}");
            let asked = format!("SELECT * FROM (SELECT ({call}).*) s ORDER BY 1");
            assert_eq!(
                numbers(&table(&mut world.analyst, &asked)),
                answer,
                "{call}"
            );
        });
        assert_eq!(price, (0.0, 0), "{call}");
    }
    // As SQL has it elsewhere.
    let price = world.price(|world| {
        world.ask("PREPARE p AS SELECT people_beyond FROM dp_beyond($1, $2) WHERE rows = 0");
        let told = table(&mut world.analyst, "EXECUTE p('visits', 8)");
        assert!((numbers(&told)[0][0] - 20000.0).abs() < 4.0, "{told:?}");
        let sql = "SELECT t, b.rows FROM (VALUES ('visits'::regclass), ('parts')) v(t), dp_beyond(t, 4) b ORDER BY 1, 2";
        assert_eq!(table(&mut world.analyst, sql).len(), 8);
        let sql = "SELECT v.n - b.people_beyond FROM (SELECT count(*) AS n FROM visits) v, dp_beyond('visits', 4) b WHERE rows = 1";
        let told: i64 = world.asked(sql);
        assert!((told - 20000).abs() < 20, "{told}");
    });
    assert_eq!(price, (4.0, 4));
}

#[test]
fn what_cannot_be_asked_is_said() {
    let mut world = World::new();
    world.own(TABLES);
    let calls = |call: &str| {
        [
            format!("SELECT * FROM {call}"),
            format!("SELECT ({call}).*"),
        ]
    };
    for (call, code, message, hint) in [
        (
            "dp_beyond(NULL)",
            "22023",
            "dp_beyond: argument \"relation\" must not be NULL",
            "Give a protected table",
        ),
        (
            "dp_beyond(99999)",
            "22023",
            "dp_beyond: argument \"relation\" is no table",
            "Give a protected table",
        ),
        (
            "dp_beyond('regions')",
            "22023",
            "dp_beyond: argument \"relation\" is not protected",
            "dp_policies",
        ),
        (
            "dp_beyond('people')",
            "22023",
            "dp_beyond: argument \"relation\" has one row of each person",
            "unique index",
        ),
        (
            "dp_beyond('visits', NULL)",
            "22023",
            "dp_beyond: argument \"most\" must be a power of 2",
            "1024",
        ),
        (
            "dp_beyond('visits', 0)",
            "22023",
            "dp_beyond: argument \"most\" must be a power of 2",
            "1024",
        ),
        (
            "dp_beyond('visits', -2147483648)",
            "22023",
            "dp_beyond: argument \"most\" must be a power of 2",
            "1024",
        ),
        (
            "dp_beyond('visits', 63)",
            "22023",
            "dp_beyond: argument \"most\" must be a power of 2",
            "1024",
        ),
        (
            "dp_beyond('visits', 2048)",
            "22023",
            "dp_beyond: argument \"most\" must be a power of 2",
            "1024",
        ),
        (
            "dp_beyond('nowhere')",
            "42P01",
            "relation \"nowhere\" does not exist",
            "",
        ),
    ] {
        for sql in calls(call) {
            let refusal = refused(&mut world.analyst, &sql);
            assert_eq!(refusal.code, code, "{sql}: {refusal:?}");
            assert!(refusal.message.contains(message), "{sql}: {refusal:?}");
            assert!(refusal.hint.contains(hint), "{sql}: {refusal:?}");
        }
    }
    // Nobody hears of a table that they may not ask about, nor about whom its rows are.
    let mut other = world
        .database
        .connect_as(&format!("{}_other", world.database.name()));
    for sql in ["visits", "people"]
        .map(|name| calls(&format!("dp_beyond('{name}')")))
        .concat()
    {
        let refusal = refused(&mut other, &sql);
        assert_eq!(refusal.code, "42501", "{sql}");
        assert!(
            refusal.message.starts_with("permission denied for table"),
            "{sql}: {refusal:?}"
        );
    }
    run(&mut other, "CREATE TABLE hidden (x int)");
    let refusal = world.refused("SELECT * FROM dp_beyond('hidden')");
    assert!(
        refusal
            .message
            .starts_with("permission denied for table hidden"),
        "{refusal:?}"
    );
    // The other table is asked about, too.
    let sql = r#"SELECT dp_disallow('"it''s ""odd"" a.b"', '{analyst}')"#;
    world.own(sql);
    for sql in calls("dp_beyond('parts')") {
        world.refused(&sql);
    }
}

/// What each number has for noise, as the manual says: in Gaussian terms and in others.
#[test]
fn noise_is_that_of_the_manual() {
    const TIMES: usize = 400;
    let mut world = World::new();
    world.own(
        "CREATE TABLE rows (u int, r int); INSERT INTO rows SELECT 9 * i + n, 1 FROM generate_series(1, 500) i, \
         generate_series(1, 9) n, generate_series(1, n)",
    );
    for (budget, terms) in [("gaussian", "1000, 1e-6"), ("pure", "1000, 0")] {
        world.own(&format!(
            "SELECT dp_set_budget('{budget}', {terms}), dp_protect('rows', 'u', '{budget}', query_eps => 0.5), \
             dp_allow('rows', '{{analyst}}')"
        ));
        world.ask("SET dp_mean.reuse = off; SET dp_mean.round = off");
        let mechanisms: String = value(
            &mut world.analyst,
            "SELECT mechanisms FROM dp_cost('SELECT * FROM dp_beyond(''rows'', 8)')",
        );
        // Of both numbers of a mean; see docs/proofs/together.md.
        let own = match mechanisms.split_once("mu=") {
            Some((_, mu)) => {
                let mu = mu.split_once(',').expect("more arguments").0;
                let mu: f64 = mu.parse().expect("a number");
                2.0 / (mu * mu)
            }
            None => 4.0 / (0.5 * 0.5),
        };
        assert_eq!(
            mechanisms.contains("mu="),
            budget == "gaussian",
            "{mechanisms}"
        );
        // The bins, as (the most rows, the least, and how many above it), and the numbers of rows.
        let bins = [
            (1, 1.0, 0.0),
            (2, 2.0, 0.0),
            (4, 2.0, 2.0),
            (8, 4.0, 4.0),
            (16, 8.0, 0.0),
        ];
        let lines = [0, 1, 2, 4];
        let mut squares = [[0.0; 2]; 4];
        let truth = numbers(&table(
            &mut world.owner,
            "SELECT * FROM dp_beyond('rows', 8)",
        ));
        for _ in 0..TIMES {
            let told = numbers(&table(
                &mut world.analyst,
                "SELECT * FROM dp_beyond('rows', 8)",
            ));
            for (line, squares) in squares.iter_mut().enumerate() {
                for column in 0..2 {
                    let off = told[line][column + 1] - truth[line][column + 1];
                    squares[column] += off * off / TIMES as f64;
                }
            }
        }
        for (line, squares) in lines.iter().zip(squares) {
            let above = bins.iter().filter(|(last, _, _)| last > line);
            let people = above.clone().count() as f64 * own;
            let of_bin = |(_, base, width): &(i32, f64, f64)| {
                let middle = base - f64::from(*line) + width / 2.0;
                middle * middle * own + width * width / 4.0 * own
            };
            let expected = [people, above.map(of_bin).sum()];
            println!("{budget} {line}: {squares:?} {expected:?}");
            for (told, expected) in squares.iter().zip(expected) {
                assert!(
                    (0.7..1.4).contains(&(told / expected)),
                    "{budget} {line}: {told} {expected}"
                );
            }
        }
        world.own("SELECT dp_unprotect('rows')");
    }
}

/// A table by period, and one with groups that are hidden.
#[test]
fn other_policies_hold() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE seen (who int, day date NOT NULL); SELECT dp_set_budget('months', 10, 1e-6); \
         SELECT dp_protect('seen', 'who', 'months', period => 'day', every => '1 month', since => '2025-01-01'), \
         dp_allow('seen', '{analyst}')",
    );
    let refusal = refused(&mut world.analyst, "SELECT * FROM dp_beyond('seen')");
    assert_eq!(refusal.code, "22023", "{refusal:?}");
    assert!(
        refusal.message.contains("is protected by period"),
        "{refusal:?}"
    );
    // Fifty people with four rows, and one with two.
    world.own(
        "CREATE TABLE few (who int); INSERT INTO few SELECT i / 4 FROM generate_series(0, 199) i; \
         INSERT INTO few VALUES (-1), (-1); \
         SELECT dp_protect('few', 'who', 'all', query_eps => 20, min_people => 20), dp_allow('few', '{analyst}')",
    );
    let told = table(
        &mut world.analyst,
        "SELECT people_beyond, rows_beyond FROM dp_beyond('few', 4)",
    );
    let told = numbers(&told);
    assert!(
        (told[0][0] - 50.0).abs() <= 2.0 && (told[0][1] - 200.0).abs() <= 8.0,
        "{told:?}"
    );
    assert_eq!(told[3], [0.0], "{told:?}");
}

/// Operators and functions of others are not called, wherever the search path finds them.
#[test]
fn names_are_those_of_the_server() {
    let mut world = World::new();
    let schema = world.with_roles("CREATE SCHEMA evil AUTHORIZATION {other}");
    run(&mut world.database.connect(), &schema);
    let mut other = world
        .database
        .connect_as(&format!("{}_other", world.database.name()));
    for (name, left, right, answer) in [
        (">", "bigint", "int", "boolean"),
        ("=", "int", "int", "boolean"),
        ("*", "float8", "float8", "float8"),
        ("-", "float8", "float8", "float8"),
        ("+", "float8", "float8", "float8"),
    ] {
        let sql = format!(
            "CREATE FUNCTION evil.f({left}, {right}) RETURNS {answer} LANGUAGE plpgsql \
             AS 'BEGIN RAISE EXCEPTION ''called''; END'; \
             CREATE OPERATOR evil.{name} (FUNCTION = evil.f, LEFTARG = {left}, RIGHTARG = {right}); \
             ALTER FUNCTION evil.f RENAME TO f{}",
            name.as_bytes()[0]
        );
        run(&mut other, &sql);
    }
    run(
        &mut other,
        "CREATE FUNCTION evil.sum(float8) RETURNS float8 LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''called''; END'; \
         CREATE TABLE evil.visits (patient int); GRANT USAGE ON SCHEMA evil TO PUBLIC",
    );
    let sql = "SELECT * FROM dp_beyond('public.visits', 4)";
    for client in [&mut world.analyst, &mut world.owner] {
        run(client, "SET search_path = evil, public, pg_catalog");
        let told = numbers(&table(client, sql));
        assert!((told[1][1] - 20000.0).abs() < 4.0, "{told:?}");
        let refusal = refused(client, "SELECT 1.0::float8 * 2.0::float8");
        assert_eq!(refusal.message, "called");
    }
}

/// What a query costs that has a count and a sum for each number of rows, and how far off these are.
#[test]
fn numbers_one_by_one_cost_more() {
    let mut world = World::new();
    for (budget, terms, price, noise) in [
        ("gaussian", "400, 1e-6", 5.62, [1.0, 64.0]),
        ("pure", "400, 0", 5.05, [0.94, 59.0]),
    ] {
        world.own(&format!(
            "CREATE TABLE {budget} (u int); SELECT dp_set_budget('{budget}', {terms}), \
             dp_protect('{budget}', 'u', '{budget}', query_eps => 0.1), dp_allow('{budget}', '{{analyst}}')"
        ));
        let ends = [0, 1, 2, 4, 8, 16, 32, 64];
        let people = ends.map(|end| match end {
            0 => "count(*)".to_owned(),
            _ => format!("count(*) FILTER (WHERE n > {end})"),
        });
        let rows = ends[..7].iter();
        let rows = rows.map(|end| format!("sum(least(greatest(n - {end}, 0), {}))", 64 - end));
        let columns = people
            .into_iter()
            .chain(rows)
            .collect::<Vec<_>>()
            .join(", ");
        let of_people = format!("(SELECT count(*) AS n FROM {budget} GROUP BY u) p");
        let mut cost = |sql: &str| -> (f64, Vec<f64>) {
            let sql = format!("SELECT price, noise FROM dp_cost($q${sql}$q$)");
            let row = world.analyst.query_one(&sql, &[]).expect(&sql);
            let noise: Vec<Option<f64>> = row.get(1);
            (row.get(0), noise.into_iter().flatten().collect())
        };
        let (one, count) = cost(&format!("SELECT count(*) FROM {of_people}"));
        let (all, widths) = cost(&format!("SELECT {columns} FROM {of_people}"));
        let (beyond, _) = cost(&format!("SELECT * FROM dp_beyond('{budget}')"));
        assert!((beyond / one - 1.0).abs() < 1e-6, "{beyond} {one}");
        assert!((all / one - price).abs() < 0.01, "{all} {one}");
        for (told, expected) in [widths[1], widths[8]].into_iter().zip(noise) {
            // Half widths of counts are whole numbers.
            assert!(
                (told / count[0] / expected - 1.0).abs() < 0.1,
                "{widths:?} {count:?}"
            );
        }
    }
}
