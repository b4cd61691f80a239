//! `count(DISTINCT x)` of values: each person is kept in a few of them.

use dp_mean_tests::{refused, run};

use super::asking::Asking;

/// 3,000 people with three of 100 shops each, and one with 5,000 shops of their own; at a price of 4.
fn world() -> Asking {
    Asking::new(
        "CREATE TABLE sales (person int NOT NULL, shop text, price numeric, at date NOT NULL);
                 INSERT INTO sales SELECT p, 's' || (p * 7 + g * 31) % 100, (p % 5) / 10.0 + 1.00, date '2025-01-01' + p % 50
                     FROM generate_series(1, 3000) p, generate_series(1, 3) g;
                 INSERT INTO sales SELECT 0, 'own' || g, g, '2025-01-01' FROM generate_series(1, 5000) g;
                 INSERT INTO sales SELECT p, NULL, NULL, '2025-01-01' FROM generate_series(1, 3000) p;
                 CREATE TABLE people (person int PRIMARY KEY, site int, dept text);
                 INSERT INTO people SELECT p, CASE WHEN p % 3 > 0 THEN p % 40 END, 'd' || p % 7 FROM generate_series(1, 2000) p;
                 CREATE TABLE shops (shop text PRIMARY KEY, town text NOT NULL);
                 INSERT INTO shops SELECT 's' || g, 't' || g % 20 FROM generate_series(0, 99) g;
                 GRANT SELECT ON shops TO {analyst};
                 SELECT dp_set_budget('all', 4096, 0), dp_protect('sales', 'person', 'all', query_eps => 4, groups => 2),
                     dp_protect('people', 'person', 'all', query_eps => 4),
                     dp_allow('sales', '{analyst}'), dp_allow('people', '{analyst}');",
        9,
    )
}

/// That the columns of a query are these numbers.
fn assert_close(world: &mut Asking, sql: &str, expected: &[f64], slack: f64) {
    let sql = sql
        .replacen("SELECT ", "SELECT ARRAY[", 1)
        .replacen(" FROM", "]::float8[] FROM", 1);
    world.assert_close(&sql, expected, slack);
}

/// The noise is that of 2 values of a person, so a few beside them; the 5,000 of one person are 2.
#[test]
fn values_are_counted_once() {
    let mut world = world();
    assert_close(
        &mut world,
        "SELECT count(DISTINCT shop) FROM sales",
        &[102.0],
        12.0,
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT shop), count(DISTINCT person), count(DISTINCT price) FROM sales",
        &[102.0, 3001.0, 7.0],
        12.0,
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT shop) FILTER (WHERE price < 1.05), count(DISTINCT CASE WHEN person > 0 THEN shop END) FROM sales",
        &[60.0, 100.0],
        12.0,
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT at) FROM sales WHERE person > 0",
        &[50.0],
        12.0,
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT town) FROM sales JOIN shops USING (shop)",
        &[20.0],
        12.0,
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT shop) FROM sales WHERE price < 0",
        &[0.0],
        12.0,
    );
    // Numbers that are equal are one value, whatever they look like.
    assert_close(
        &mut world,
        "SELECT count(DISTINCT price * 1.000) FROM sales WHERE person > 0",
        &[5.0],
        12.0,
    );
    // A row is a person: one value of each.
    assert_close(
        &mut world,
        "SELECT count(DISTINCT site), count(DISTINCT dept) FROM people",
        &[40.0, 7.0],
        6.0,
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT n) FROM (SELECT person, count(*) AS n FROM sales GROUP BY person) AS s",
        &[2.0],
        6.0,
    );
    // Beside counts of one release, in whose query it is one of its own.
    assert_close(
        &mut world,
        "SELECT count(*), count(*) FILTER (WHERE site < 20), count(DISTINCT dept) FROM people \
         WHERE dept IN (SELECT 'd' || g FROM generate_series(0, 6) g)",
        &[2000.0, 668.0, 7.0],
        12.0,
    );
}

/// What it costs is one answer, with the noise of as many values as a person is kept in.
#[test]
fn a_person_moves_a_number_of_values_by_so_many() {
    let mut world = world();
    let sql = "SELECT count(DISTINCT shop) FROM sales";
    assert_eq!(
        world.mechanisms(sql),
        "dp_count: geometric(groups=1, rows=2)"
    );
    let of_people = "SELECT count(DISTINCT site) FROM people";
    assert_eq!(
        world.mechanisms(of_people),
        "dp_count: geometric(groups=1, rows=1)"
    );
    run(&mut world.analyst, "SET dp_mean.groups = 1");
    assert_eq!(
        world.mechanisms(sql),
        "dp_count: geometric(groups=1, rows=1)"
    );
    assert_close(
        &mut world,
        "SELECT count(DISTINCT shop) FROM sales",
        &[101.0],
        6.0,
    );
}

#[test]
fn what_has_no_number_of_values_says_why() {
    let mut world = world();
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
