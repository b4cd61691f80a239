//! Bounds by conditions: in rows that meet `x BETWEEN 0 AND 100`, x lies there, whatever is declared.

use dp_mean_tests::rows;

use super::World;

impl World {
    /// The bounds of the first call in what a query is rewritten as.
    fn bounds(&mut self, sql: &str) -> (f64, f64) {
        let sql = format!(
            "SELECT m[1]::float8, m[2]::float8 FROM dp_cost($cost${sql}$cost$),
                 regexp_match(rewritten, 'dp_contribution\\([^,]*, ''([^'']*)''[^,]*, ''([^'']*)''') m"
        );
        let row = &rows(&mut self.analyst, &sql)[0];
        (row.get(0), row.get(1))
    }
}

/// Nobody declared the bounds of `visits.id`, `people.person` and the date parts.
#[test]
fn numbers_between_constants_need_no_declared_bounds() {
    let mut world = World::new();
    for (sql, releases) in [
        (
            "SELECT avg(id) FROM visits WHERE id BETWEEN 100 AND 20100",
            1,
        ),
        (
            "SELECT avg(id), sum(id), count(*) FROM visits WHERE id >= 100 AND 20100 > id",
            1,
        ),
        (
            "SELECT avg(id) FILTER (WHERE id BETWEEN 0 AND 9999), sum(id) FILTER (WHERE id BETWEEN 30000 AND 40000) FROM visits",
            2,
        ),
        (
            "SELECT avg(id::float8 / 100) FROM visits WHERE id::numeric BETWEEN 0 AND 30000.5",
            1,
        ),
        (
            "SELECT avg(id - patient) FROM visits WHERE id - patient BETWEEN 0 AND 20000",
            1,
        ),
        (
            "SELECT avg(id) FROM visits WHERE NOT (id < 5000 OR id > 25000)",
            1,
        ),
        (
            "SELECT avg(d) FROM (SELECT 2 * id AS d FROM visits WHERE id BETWEEN 0 AND 30000) v",
            1,
        ),
        (
            "SELECT avg(d) FROM (SELECT 2 * id AS d FROM visits) v WHERE d BETWEEN 0 AND 30000",
            1,
        ),
        (
            "SELECT avg(n) FROM (SELECT patient, max(id) AS n FROM visits GROUP BY patient HAVING max(id) BETWEEN 0 AND 30000) v",
            1,
        ),
        (
            "SELECT avg(v.id) FROM visits v JOIN people p ON p.person = v.patient AND v.id BETWEEN 10 AND 30000",
            1,
        ),
        (
            "SELECT region, avg(id) FROM visits WHERE id BETWEEN 0 AND 40000 GROUP BY region ORDER BY region",
            2,
        ),
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY person) FROM people WHERE person BETWEEN 0 AND 10000",
            1,
        ),
    ] {
        world.same(sql, releases);
    }
    world.ask("PREPARE between(int, int) AS SELECT avg(id) FROM visits WHERE id BETWEEN $1 AND $2");
    world.same_as(
        "EXECUTE between(100, 20100)",
        "SELECT avg(id) FROM visits WHERE id BETWEEN 100 AND 20100",
        1,
    );
}

#[test]
fn the_narrower_bounds_hold() {
    let mut world = World::new();
    for (condition, bounds) in [
        ("true", (0.0, 100.0)),
        ("age >= 65", (65.0, 100.0)),
        ("age > 65", (66.0, 100.0)),
        ("age > 65.5 AND age < 70.5", (66.0, 70.0)),
        ("age >= 65.5 AND age <= 70.5", (66.0, 70.0)),
        ("age < 70", (0.0, 69.0)),
        ("30 <= age AND age BETWEEN 20 AND 40", (30.0, 40.0)),
        ("age = ANY (ARRAY[30, 40])", (30.0, 40.0)),
        ("age IN (40, 30, NULL)", (30.0, 40.0)),
        // What holds for some rows alone, or is about something else.
        ("age > 65 OR cost < 5", (0.0, 100.0)),
        ("age <> 65", (0.0, 100.0)),
        ("age <> ALL (ARRAY[30, 40])", (0.0, 100.0)),
        ("age + 1 < 50", (0.0, 100.0)),
        ("age < cost", (0.0, 100.0)),
        ("patient < 50", (0.0, 100.0)),
        // Beyond what the owner declared: two ends are the query's word, one is not enough.
        ("age BETWEEN 200 AND 300", (200.0, 300.0)),
        ("age > 200", (0.0, 100.0)),
        // No number is there.
        ("age > 50 AND age < 40", (0.0, 100.0)),
    ] {
        let asked = world.bounds(&format!("SELECT avg(age) FROM visits WHERE {condition}"));
        assert_eq!(asked, bounds, "{condition}");
        let asked = world.bounds(&format!(
            "SELECT avg(age) FILTER (WHERE {condition}) FROM visits"
        ));
        assert_eq!(asked, bounds, "FILTER: {condition}");
        let asked = world.bounds(&format!(
            "SELECT avg(a) FROM (SELECT age AS a FROM visits WHERE {condition}) v"
        ));
        assert_eq!(asked, bounds, "within: {condition}");
    }
}

/// A plan for all values of parameters would have the bounds that are declared.
#[test]
fn bounds_follow_the_values_of_parameters_each_time() {
    let mut world = World::new();
    world.ask("PREPARE between(int, int) AS SELECT avg(points)::float8 FROM visits WHERE points BETWEEN $1 AND $2");
    for (lo, hi) in [(10, 20), (200, 210)].repeat(5) {
        let mean: f64 = world.asked(&format!("EXECUTE between({lo}, {hi})"));
        assert!((mean - f64::from(lo + 5)).abs() < 0.05, "{lo}: {mean}");
    }
}

/// Days between dates lie where the declared ends of a column, and conditions on it, say.
#[test]
fn dates_say_how_many_days_are_between_them() {
    let mut world = World::new();
    let first = "day - date '2025-01-01'";
    let refusal = world.refused(&format!("SELECT avg({first}) FROM visits"));
    assert!(
        refusal.message.contains("column day has none"),
        "{refusal:?}"
    );
    world.own("SELECT dp_declare('visits', 'day', date '2025-01-01', date '2025-12-31')");
    for (number, condition, bounds) in [
        (first, "true", (0.0, 364.0)),
        (first, "day < '2025-02-01'", (0.0, 30.0)),
        (first, "date '2025-02-01' <= day", (31.0, 364.0)),
        (
            first,
            "day BETWEEN '2025-02-01' AND '2025-02-28'",
            (31.0, 58.0),
        ),
        (first, "day IN ('2025-01-03', '2025-01-02')", (1.0, 2.0)),
        (
            first,
            "day > '2025-12-01' AND day < 'infinity'",
            (335.0, 364.0),
        ),
        // Times are compared otherwise.
        (first, "day < timestamp '2025-02-01'", (0.0, 364.0)),
        ("date '2025-12-31' - day", "true", (0.0, 364.0)),
        ("(day + 7) - date '2025-01-01'", "true", (7.0, 371.0)),
        ("(7 + day) - date '2025-01-01'", "true", (7.0, 371.0)),
        ("(day - age) - date '2025-01-01'", "true", (-100.0, 364.0)),
        (
            "greatest(day, '2025-12-01') - date '2025-12-01'",
            "true",
            (0.0, 30.0),
        ),
        (
            "coalesce(nullif(day, '2025-05-05'), '2026-01-01') - date '2025-01-01'",
            "true",
            (0.0, 365.0),
        ),
        (
            "extract(epoch FROM day)",
            "true",
            (1_735_689_600.0, 1_767_139_200.0),
        ),
        // No other number of a date is one of days.
        ("extract(day FROM day)", "true", (1.0, 31.0)),
    ] {
        let asked = world.bounds(&format!(
            "SELECT avg({number}) FROM visits WHERE {condition}"
        ));
        assert_eq!(asked, bounds, "{number} WHERE {condition}");
    }
    for sql in [
        "SELECT avg(day - date '2025-01-01') FROM visits",
        "SELECT avg(l - f) FROM (SELECT patient, max(day) AS l, min(day) AS f FROM visits GROUP BY patient) v",
    ] {
        world.same(sql, 1);
    }
    for number in [
        "day - date 'infinity'",
        "extract(epoch FROM day::timestamp)",
        "extract(epoch FROM at)",
        "extract(year FROM day)",
        "extract(epoch FROM day - timestamp '2025-01-01')",
        "to_char(day, 'J')::int",
    ] {
        let sql = format!("SELECT avg({number}) FROM visits");
        world.refused(&sql);
    }
}

/// Conditions that an outer join has in ON keep no row out.
#[test]
fn conditions_of_an_outer_join_say_nothing_of_the_rows_that_it_keeps() {
    let mut world = World::new();
    let all =
        "SELECT avg(v.age) FROM visits v LEFT JOIN people p ON p.person = v.patient AND v.age < 30";
    assert_eq!(world.bounds(all), (0.0, 100.0));
    world.same(all, 1);
}

#[test]
fn one_end_is_not_enough() {
    let mut world = World::new();
    let refusal = world.refused("SELECT avg(id) FROM visits WHERE id < 100");
    assert!(
        refusal.message.contains("no public bounds") && refusal.message.contains("column id"),
        "{refusal:?}"
    );
    assert!(
        refusal.hint.contains("WHERE x BETWEEN 0 AND 100"),
        "{refusal:?}"
    );
}
