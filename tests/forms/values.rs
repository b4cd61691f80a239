//! `count(DISTINCT x)` of values: each person is kept in a few of them.

use dp_mean_tests::{Build, Database, refused, run, value};
use postgres::Client;

struct World {
    analyst: Client,
    _database: Database,
}

impl World {
    /// 3,000 people with three of 100 shops each, and one with 5,000 shops of their own; at a price of 4.
    fn new() -> Self {
        let database = Database::new(Build::Testing);
        let mut root = database.connect();
        let name = format!("{}_analyst", database.name());
        run(
            &mut root,
            &format!(
                "CREATE ROLE {name} LOGIN;
                 CREATE TABLE sales (person int NOT NULL, shop text, price numeric, at date NOT NULL);
                 INSERT INTO sales SELECT p, 's' || (p * 7 + g * 31) % 100, (p % 5) / 10.0 + 1.00, date '2025-01-01' + p % 50
                     FROM generate_series(1, 3000) p, generate_series(1, 3) g;
                 INSERT INTO sales SELECT 0, 'own' || g, g, '2025-01-01' FROM generate_series(1, 5000) g;
                 INSERT INTO sales SELECT p, NULL, NULL, '2025-01-01' FROM generate_series(1, 3000) p;
                 CREATE TABLE people (person int PRIMARY KEY, site int, dept text);
                 INSERT INTO people SELECT p, CASE WHEN p % 3 > 0 THEN p % 40 END, 'd' || p % 7 FROM generate_series(1, 2000) p;
                 CREATE TABLE shops (shop text PRIMARY KEY, town text NOT NULL);
                 INSERT INTO shops SELECT 's' || g, 't' || g % 20 FROM generate_series(0, 99) g;
                 GRANT SELECT ON shops TO {name};
                 SELECT dp_set_budget('all', 4096, 0), dp_protect('sales', 'person', 'all', query_eps => 4, groups => 2),
                     dp_protect('people', 'person', 'all', query_eps => 4),
                     dp_allow('sales', '{name}'), dp_allow('people', '{name}');"
            ),
        );
        let mut analyst = database.connect_as(&name);
        run(
            &mut analyst,
            "SET dp_mean.reuse = off; SELECT dp_test_seed(9)",
        );
        Self {
            analyst,
            _database: database,
        }
    }

    fn assert_close(&mut self, sql: &str, expected: &[i64], slack: i64) {
        let sql =
            sql.replacen("SELECT ", "SELECT ARRAY[", 1)
                .replacen(" FROM", "]::bigint[] FROM", 1);
        let numbers: Vec<i64> = value(&mut self.analyst, &sql);
        assert_eq!(numbers.len(), expected.len(), "{sql}");
        for (number, expected) in numbers.iter().zip(expected) {
            assert!((number - expected).abs() <= slack, "{sql}: {numbers:?}");
        }
    }
}

/// The noise is that of 2 values of a person, so a few beside them; the 5,000 of one person are 2.
#[test]
fn values_are_counted_once() {
    let mut world = World::new();
    world.assert_close("SELECT count(DISTINCT shop) FROM sales", &[102], 12);
    world.assert_close(
        "SELECT count(DISTINCT shop), count(DISTINCT person), count(DISTINCT price) FROM sales",
        &[102, 3001, 7],
        12,
    );
    world.assert_close(
        "SELECT count(DISTINCT shop) FILTER (WHERE price < 1.05), count(DISTINCT CASE WHEN person > 0 THEN shop END) FROM sales",
        &[60, 100],
        12,
    );
    world.assert_close(
        "SELECT count(DISTINCT at) FROM sales WHERE person > 0",
        &[50],
        12,
    );
    world.assert_close(
        "SELECT count(DISTINCT town) FROM sales JOIN shops USING (shop)",
        &[20],
        12,
    );
    world.assert_close(
        "SELECT count(DISTINCT shop) FROM sales WHERE price < 0",
        &[0],
        12,
    );
    // Numbers that are equal are one value, whatever they look like.
    world.assert_close(
        "SELECT count(DISTINCT price * 1.000) FROM sales WHERE person > 0",
        &[5],
        12,
    );
    // A row is a person: one value of each.
    world.assert_close(
        "SELECT count(DISTINCT site), count(DISTINCT dept) FROM people",
        &[40, 7],
        6,
    );
    world.assert_close(
        "SELECT count(DISTINCT n) FROM (SELECT person, count(*) AS n FROM sales GROUP BY person) AS s",
        &[2],
        6,
    );
}

/// What it costs is one answer, with the noise of as many values as a person is kept in.
#[test]
fn a_person_moves_a_number_of_values_by_so_many() {
    let mut world = World::new();
    let mechanisms = |client: &mut Client, sql: &str| -> String {
        value(
            client,
            &format!("SELECT mechanisms FROM dp_cost($${sql}$$)"),
        )
    };
    let sql = "SELECT count(DISTINCT shop) FROM sales";
    assert_eq!(
        mechanisms(&mut world.analyst, sql),
        "dp_count: geometric(groups=1, rows=2)"
    );
    let of_people = "SELECT count(DISTINCT site) FROM people";
    assert_eq!(
        mechanisms(&mut world.analyst, of_people),
        "dp_count: geometric(groups=1, rows=1)"
    );
    run(&mut world.analyst, "SET dp_mean.groups = 1");
    assert_eq!(
        mechanisms(&mut world.analyst, sql),
        "dp_count: geometric(groups=1, rows=1)"
    );
    world.assert_close("SELECT count(DISTINCT shop) FROM sales", &[101], 6);
}

#[test]
fn what_has_no_number_of_values_says_why() {
    let mut world = World::new();
    for (sql, reason) in [
        (
            "SELECT at, count(DISTINCT shop) FROM sales GROUP BY at",
            "in a query with GROUP BY",
        ),
        (
            "SELECT sum(DISTINCT price) FROM sales",
            "sum with DISTINCT cannot be used",
        ),
        (
            "SELECT count(DISTINCT random()) FROM sales",
            "function random() is volatile",
        ),
        (
            "SELECT count(DISTINCT ARRAY[person]) FROM sales",
            "cannot group by values of type integer[]",
        ),
        (
            "SELECT dp_count_distinct(shop, 0.1) FROM sales",
            "of another column than that of the person",
        ),
    ] {
        let refusal = refused(&mut world.analyst, sql);
        assert_eq!(refusal.code, "42501", "{sql}: {refusal:?}");
        assert!(refusal.message.contains(reason), "{sql}: {refusal:?}");
        assert!(!refusal.hint.is_empty(), "{sql}: {refusal:?}");
    }
}
