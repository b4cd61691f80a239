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

/// 3,000 people with two orders each, in regions `a`, `b` and none; and person 0, with regions and shops of their own.
fn orders(accounting: &str) -> Asking {
    let budget = format!("SELECT dp_set_budget('all', 4096, 1e-2, accounting => '{accounting}');");
    let tables = "CREATE TABLE orders (id int PRIMARY KEY, person int NOT NULL, region text, shop text, day date NOT NULL);
                 INSERT INTO orders SELECT p * 2 + g, p, CASE p % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END,
                         's' || (p * 7 + g * 31) % CASE p % 3 WHEN 1 THEN 50 ELSE 100 END, date '2025-01-01' + p % 100
                     FROM generate_series(1, 3000) p, generate_series(0, 1) g;
                 INSERT INTO orders SELECT -g, 0, CASE g % 20 WHEN 0 THEN 'a' ELSE 'own' || g END, 'own' || g, '2025-01-01'
                     FROM generate_series(1, 2000) g;
                 CREATE TABLE regions (region text PRIMARY KEY, name text NOT NULL);
                 INSERT INTO regions VALUES ('a', 'first'), ('b', 'second'), ('c', 'third');
                 GRANT SELECT ON regions TO {analyst};
                 SELECT dp_protect('orders', 'person', 'all', query_eps => 20, query_delta => 1e-6, rows => 2, groups => 3),
                     dp_allow('orders', '{analyst}');";
    Asking::new(&(budget + tables), 9)
}

/// The numbers that a query has for its groups, in their order.
fn of_groups(world: &mut Asking, key: &str, number: &str, rest: &str) -> Vec<f64> {
    world.numbers(&format!(
        "SELECT array_agg(n::float8 ORDER BY k) FROM (SELECT {key} AS k, {number} AS n FROM {rest}) AS s"
    ))
}

/// That these are the numbers of the groups, but for the few that a person is kept in, and the noise.
fn assert_groups(world: &mut Asking, key: &str, number: &str, rest: &str, expected: &[f64]) {
    let numbers = of_groups(world, key, number, rest);
    assert_eq!(
        numbers.len(),
        expected.len(),
        "{number} {rest}: {numbers:?}"
    );
    for (number, expected) in numbers.iter().zip(expected) {
        assert!((number - expected).abs() <= 8.0, "{rest}: {numbers:?}");
    }
}

/// In chosen groups, in listed ones with rows and without, and in grouping sets. The groups and shops of person 0 alone
/// are not there, but for three pairs of both.
#[test]
fn values_are_counted_in_each_group() {
    let shops = "count(DISTINCT shop)";
    let chosen = "orders GROUP BY region";
    let mut by_their_own_choice = orders("zcdp");
    assert_groups(
        &mut by_their_own_choice,
        "region",
        shops,
        chosen,
        &[100.0, 50.0, 100.0],
    );
    let mut world = orders("gaussian");
    assert_groups(&mut world, "region", shops, chosen, &[100.0, 50.0, 100.0]);
    let beside = "count(*) - count(*) + count(DISTINCT shop) + 0 * count(DISTINCT day)";
    assert_groups(&mut world, "region", beside, chosen, &[100.0, 50.0, 100.0]);
    let of_orders = "count(DISTINCT id)";
    assert_groups(
        &mut world,
        "region",
        of_orders,
        chosen,
        &[2000.0, 2000.0, 2000.0],
    );
    let filtered = "count(DISTINCT shop) FILTER (WHERE shop < 's3')";
    assert_groups(&mut world, "region", filtered, chosen, &[23.0, 23.0, 23.0]);
    let listed = "regions AS r LEFT JOIN orders AS o USING (region) GROUP BY r.name";
    assert_groups(
        &mut world,
        "name",
        "count(DISTINCT o.shop)",
        listed,
        &[100.0, 50.0, 0.0],
    );
    let by_month =
        "orders WHERE day < '2025-03-01' AND region = 'b' AND day >= '2025-01-01' GROUP BY 1";
    let month = "date_trunc('month', day)";
    assert_groups(&mut world, month, shops, by_month, &[50.0, 50.0]);
    let in_sets = "orders GROUP BY GROUPING SETS ((region), ())";
    let is_total = "grouping(region) * 10 + CASE region WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 3 END";
    assert_groups(
        &mut world,
        is_total,
        shops,
        in_sets,
        &[100.0, 50.0, 100.0, 100.0],
    );
}

/// A person moves the numbers of all groups together by as many as they are kept in: the price is that of one number.
#[test]
fn a_person_is_in_a_few_values_of_all_groups_together() {
    let mut world = orders("gaussian");
    let sql = "SELECT region, count(DISTINCT shop) FROM orders WHERE region IN ('a', 'b') GROUP BY region";
    assert_eq!(
        world.mechanisms(&sql.replace("shop", "day")),
        world.mechanisms(sql)
    );
    let mechanisms = world.mechanisms(sql);
    assert!(
        mechanisms.starts_with("dp_count: gaussian(groups=1, "),
        "{mechanisms}"
    );
    assert!(mechanisms.contains(" rows=3)"), "{mechanisms}");
    let listed = "regions AS r LEFT JOIN orders AS o USING (region) GROUP BY r.name";
    let total = |world: &mut Asking| {
        let numbers = of_groups(world, "name", "count(DISTINCT o.shop)", listed);
        numbers.iter().sum::<f64>()
    };
    let with_all = total(&mut world);
    run(&mut world.root, "DELETE FROM orders WHERE person = 0");
    let without = total(&mut world);
    assert!(
        (with_all - without).abs() <= 3.0 + 6.0,
        "{with_all} {without}"
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
