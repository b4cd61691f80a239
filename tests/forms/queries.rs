//! Blocks within larger queries: the result of one is used as any table is.

use dp_mean_tests::rows;

use super::World;

#[test]
fn sub_selects_and_views_are_looked_through() {
    let mut world = World::new();
    world.ask(
        "CREATE VIEW seen AS SELECT * FROM visits WHERE age > 30;
         CREATE VIEW further AS SELECT region AS r, cost AS c FROM seen;
         CREATE VIEW answers AS SELECT region, avg(cost) AS mean FROM visits GROUP BY region;
         CREATE VIEW as_invoker WITH (security_invoker) AS SELECT region, cost FROM visits",
    );
    world.own("SELECT dp_create_view('visits', 'listed')");
    for (releases, sql) in [
        (1, "SELECT count(*) FROM (SELECT * FROM visits) s"),
        (
            1,
            "SELECT avg(y) FROM (SELECT x + 1 AS y FROM (SELECT cost * 2 AS x, age FROM visits) a WHERE age > 30) b",
        ),
        (
            2,
            "SELECT r, n FROM (SELECT region AS r, count(*) AS n FROM visits GROUP BY region) s ORDER BY r",
        ),
        (
            2,
            "SELECT avg(n) FROM (SELECT count(*) AS n FROM visits GROUP BY region) s",
        ),
        (
            2,
            "SELECT avg(n), max(n) FROM (SELECT count(*) AS n FROM visits GROUP BY region HAVING count(*) > 9) s",
        ),
        (
            2,
            "SELECT region, avg(cost) FROM seen GROUP BY region ORDER BY region",
        ),
        (2, "SELECT r, sum(c) FROM further GROUP BY r ORDER BY r"),
        (2, "SELECT * FROM answers ORDER BY region"),
        (
            2,
            "SELECT region, avg(cost), count(*) FROM as_invoker GROUP BY region ORDER BY region",
        ),
        (
            2,
            "SELECT region, avg(cost), count(*) FROM listed GROUP BY region ORDER BY region",
        ),
        (
            1,
            "SELECT count(*) FROM visits AS v (a, b, c) WHERE c = 'r1'",
        ),
    ] {
        // The owner's own rights do not read the analyst's views.
        let plain = sql
            .replace("FROM seen", "FROM (SELECT * FROM visits WHERE age > 30) v")
            .replace(
                "FROM further",
                "FROM (SELECT region r, cost c FROM visits WHERE age > 30) v",
            )
            .replace(
                "FROM answers",
                "FROM (SELECT region, avg(cost) FROM visits GROUP BY region) v",
            )
            .replace("FROM as_invoker", "FROM visits");
        world.same_as(sql, &plain, releases);
    }
}

#[test]
fn a_with_that_is_used_twice_is_one_noise_and_one_charge() {
    let mut world = World::new();
    let twice =
        "WITH v AS (SELECT region, count(*) AS n, avg(cost) AS m FROM visits GROUP BY region)
         SELECT a.n = b.n AND a.m = b.m FROM v a JOIN v b USING (region)";
    world.ask("SET dp_mean.epsilon = 0.1");
    let price = world.price(|world| {
        let same = rows(&mut world.analyst, twice);
        assert_eq!(same.len(), 5);
        assert!(same.iter().all(|row| row.get(0)));
    });
    assert_eq!(price, (2.0 * 0.1 / super::EPSILON, 1));
    world.ask("RESET dp_mean.epsilon");
    for (releases, sql) in [
        (
            2,
            "WITH v AS MATERIALIZED (SELECT region, count(*) AS n FROM visits GROUP BY 1) SELECT * FROM v ORDER BY 1",
        ),
        (
            2,
            "WITH v AS NOT MATERIALIZED (SELECT region, count(*) AS n FROM visits GROUP BY 1) SELECT * FROM v ORDER BY 1",
        ),
        (
            1,
            "WITH v AS MATERIALIZED (SELECT * FROM visits) SELECT count(*) FROM v",
        ),
        (
            1,
            "WITH t AS (SELECT avg(cost) AS m FROM visits) SELECT region FROM regions, t WHERE m > factor ORDER BY 1",
        ),
    ] {
        world.same(sql, releases);
    }
}

/// As dbt writes models: sources renamed, then filtered, then aggregated, then joined.
#[test]
fn chains_of_withs_are_looked_through() {
    let mut world = World::new();
    let chain = "WITH source AS (SELECT * FROM visits),
         renamed AS (SELECT patient AS patient_id, region AS region_name, cost AS amount, day AS visited_on FROM source),
         filtered AS (SELECT * FROM renamed WHERE visited_on >= '2025-02-01'),";
    for (releases, rest) in [
        (
            2,
            "final AS (SELECT region_name, avg(amount) AS mean, count(*) AS n FROM filtered GROUP BY 1)
             SELECT * FROM final ORDER BY 1",
        ),
        // Rows that are used in several places are several blocks.
        (
            3,
            "total AS (SELECT sum(amount) AS total FROM renamed),
             each AS (SELECT region_name, sum(amount) AS part FROM filtered GROUP BY 1),
             final AS (SELECT region_name, part / total AS share FROM each CROSS JOIN total)
             SELECT * FROM final ORDER BY 1",
        ),
        (
            2,
            "final AS (SELECT (SELECT count(*) FROM filtered) AS few, (SELECT count(*) FROM renamed) AS many)
             SELECT * FROM final",
        ),
        (
            3,
            "total AS (SELECT count(*) AS n FROM renamed)
             SELECT region_name, count(*) FROM filtered, total WHERE n > 10 GROUP BY region_name ORDER BY 1",
        ),
        (
            1,
            "named AS (SELECT country, amount FROM filtered JOIN regions ON region = region_name)
             SELECT country, avg(amount) FROM named GROUP BY country ORDER BY country",
        ),
    ] {
        world.same(&format!("{chain} {rest}"), releases);
    }
}

#[test]
fn blocks_stand_beside_others() {
    let mut world = World::new();
    for (releases, sql) in [
        (2, "SELECT 'visits', count(*) FROM visits UNION ALL SELECT 'people', count(*) FROM people ORDER BY 1"),
        (2, "SELECT region, count(*) FROM visits GROUP BY 1 UNION SELECT country, 3 FROM regions ORDER BY 1"),
        (1, "SELECT region FROM regions INTERSECT SELECT region FROM visits GROUP BY 1 ORDER BY 1"),
        (
            3,
            "SELECT v.region, v.n, p.n FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) v,
             (SELECT count(*) AS n FROM people) p ORDER BY 1",
        ),
        (
            4,
            "SELECT * FROM (SELECT region, avg(cost) FROM visits WHERE age < 50 GROUP BY region) a
             FULL JOIN (SELECT region, avg(cost) FROM visits WHERE age >= 50 GROUP BY region) b USING (region) ORDER BY 1",
        ),
        (2, "SELECT country, n FROM regions JOIN (SELECT region, count(*) AS n FROM visits GROUP BY 1) v USING (region) \
             ORDER BY region"),
        (2, "SELECT i, n FROM generate_series(1, 3) i LEFT JOIN (SELECT avg(cost) AS n, count(note) FROM visits) v ON true"),
        (2, "SELECT region FROM regions WHERE region IN (SELECT region FROM visits GROUP BY 1 HAVING avg(cost) > 50.5) \
             ORDER BY 1"),
        (1, "SELECT region FROM regions WHERE factor * 30 < (SELECT avg(cost) FROM visits) ORDER BY region"),
        (1, "SELECT EXISTS (SELECT count(*) FROM visits HAVING count(*) > 10)"),
        (2, "SELECT ARRAY(SELECT count(*) / 100 > 14 FROM visits GROUP BY region)"),
        (2, "SELECT string_agg(region, ',' ORDER BY region), percentile_cont(0.5) WITHIN GROUP (ORDER BY n) \
             FROM (SELECT region, count(*) AS n FROM visits GROUP BY region) s"),
        (2, "SELECT count(*), (SELECT count(*) FROM people) FROM visits"),
        (3, "SELECT region, avg(cost) - (SELECT avg(cost) FROM visits WHERE age > 50) > 0 FROM visits GROUP BY region ORDER BY 1"),
        (3, "SELECT region, count(*) FROM visits GROUP BY region \
             HAVING count(*) > (SELECT count(*) / 10 FROM visits) ORDER BY 1 LIMIT (SELECT 3)"),
        (2, "SELECT region, count(*) FROM visits GROUP BY region \
             HAVING region IN (SELECT region FROM regions WHERE factor > 1.1) ORDER BY 1"),
        (2, "WITH RECURSIVE r AS (SELECT count(*) / 1000 AS n FROM visits UNION ALL SELECT n - 1 FROM r WHERE n > 1), \
             p AS (SELECT count(*) AS n FROM people) SELECT count(*) > 4, (SELECT n FROM p) FROM r"),
    ] {
        world.same(sql, releases);
    }
}

#[test]
fn windows_and_arithmetic_over_answers_are_free() {
    let mut world = World::new();
    for (releases, sql) in [
        (
            2,
            "SELECT region, count(*) * 100.0 / sum(count(*)) OVER () FROM visits GROUP BY region ORDER BY 1",
        ),
        (
            2,
            "SELECT region, lag(avg(cost)) OVER (ORDER BY region) FROM visits GROUP BY region ORDER BY 1",
        ),
        (
            2,
            "SELECT region, n, sum(n) OVER (ORDER BY region) FROM (SELECT region, count(*) AS n FROM visits GROUP BY 1) s \
             ORDER BY 1",
        ),
        (
            2,
            "SELECT DISTINCT ON (c) c, region FROM (SELECT region, avg(cost) > 50.5 AS c FROM visits GROUP BY region) s \
             ORDER BY c, region",
        ),
        (
            1,
            "SELECT avg(cost) / nullif(count(*), 0), to_char(avg(cost), '90'), count(*) > 3 AND avg(cost) > 2 FROM visits",
        ),
    ] {
        world.same(sql, releases);
    }
}

#[test]
fn tables_that_the_role_may_read_are_joined() {
    let mut world = World::new();
    world.own(
        "CREATE VIEW places AS SELECT region, country FROM regions;
         CREATE MATERIALIZED VIEW kept AS SELECT region, country FROM regions;
         GRANT SELECT ON places, kept TO {analyst}",
    );
    world.ask("CREATE TABLE own AS SELECT 'r' || i AS region, i FROM generate_series(1, 3) i");
    let price = world.price(|world| {
        let sql = "SELECT i, avg(cost) FROM visits JOIN own USING (region) WHERE i < 3 GROUP BY i ORDER BY i";
        assert_eq!(rows(&mut world.analyst, sql).len(), 2);
    });
    assert_eq!(price, (1.0, 1));
    // All visits have a region, which the answer does not say.
    let kept = "SELECT country, count(*) FROM regions RIGHT JOIN visits USING (region) GROUP BY 1";
    let with_none = format!("{kept} UNION ALL SELECT NULL, 0 ORDER BY 1");
    world.same_as(&format!("{kept} ORDER BY 1"), &with_none, 1);
    for (releases, sql) in [
        (
            2,
            "SELECT country, avg(cost), count(note) FROM visits JOIN regions USING (region) GROUP BY country ORDER BY 1",
        ),
        (
            1,
            "SELECT r.country, count(*) FROM visits v LEFT JOIN regions r ON r.region = v.region AND r.factor > 1.05 \
             GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT country, count(*) FROM visits NATURAL JOIN regions GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT country, count(*) FROM visits v, regions r WHERE v.region = r.region AND factor < 1.2 GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT country, count(*) FROM visits JOIN places USING (region) GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT country, count(*) FROM visits JOIN kept USING (region) GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT country, count(*) FROM visits JOIN (SELECT * FROM regions WHERE factor > 1) r USING (region) \
             GROUP BY 1 ORDER BY 1",
        ),
        (
            2,
            "SELECT a.country, b.country, count(*) FROM visits v JOIN regions a ON a.region = v.region \
             JOIN regions b ON b.factor = a.factor GROUP BY 1, 2 ORDER BY 1",
        ),
    ] {
        world.same(sql, releases);
    }
}
