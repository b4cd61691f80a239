//! Queries as BI tools send them.

use dp_mean_tests::rows;

use super::{World, table};

#[test]
fn time_series_with_a_relative_filter() {
    let mut world = World::new();
    // Metabase: by month, the previous 3650 days. Each of these months is a group, and none is chosen.
    let sql = r#"SELECT CAST(DATE_TRUNC('month', "public"."visits"."at") AS date) AS "at", COUNT(*) AS "count"
           FROM "public"."visits"
           WHERE ("public"."visits"."at" >= DATE_TRUNC('day', (NOW() + (INTERVAL '-3650 day'))))
               AND ("public"."visits"."at" < DATE_TRUNC('day', NOW()))
           GROUP BY CAST(DATE_TRUNC('month', "public"."visits"."at") AS date)
           ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."at") AS date) ASC"#;
    let truth = table(&mut world.owner, sql);
    let mut answer = Vec::new();
    let (paid, _) = world.price(|world| answer = table(&mut world.analyst, sql));
    assert_eq!(paid, 1.0);
    assert!((119..=121).contains(&answer.len()), "{answer:?}");
    answer.retain(|row| truth.iter().any(|known| known[0] == row[0]));
    super::assert_alike(&answer, &truth, sql);
    world.same(
        "SELECT date_trunc('quarter', day) AS t, avg(cost) FROM visits WHERE day > now() - interval '20 years' \
         GROUP BY 1 ORDER BY 1",
        2,
    );
}

#[test]
fn an_aggregate_over_a_plain_sub_select() {
    let mut world = World::new();
    // Metabase, with a column of its own.
    world.same(
        r#"SELECT "source"."region" AS "region", SUM("source"."double") AS "sum", COUNT(*) AS "count"
           FROM (SELECT "public"."visits"."id" AS "id", "public"."visits"."region" AS "region",
               "public"."visits"."cost" AS "cost", "public"."visits"."note" AS "note",
               "public"."visits"."cost" * 2 AS "double" FROM "public"."visits"
               WHERE "public"."visits"."age" > 30) AS "source"
           WHERE ("source"."note" <> 'n9' OR "source"."note" IS NULL)
           GROUP BY "source"."region" ORDER BY "source"."region" ASC"#,
        // Of a product nothing says that it is never NULL.
        3,
    );
}

#[test]
fn a_virtual_dataset() {
    let mut world = World::new();
    // Superset, over custom SQL with a join.
    world.same(
        r#"SELECT country AS country, AVG(cost) AS "AVG(cost)"
           FROM (SELECT v.region, v.cost, r.country FROM visits v JOIN regions r ON v.region = r.region WHERE v.age > 25
           ) AS virtual_table GROUP BY country ORDER BY "AVG(cost)" DESC LIMIT 1000"#,
        1,
    );
    // Tableau.
    world.same(
        r#"SELECT "Custom SQL Query"."region" AS "region", AVG("Custom SQL Query"."cost") AS "avg:cost:ok"
           FROM ( select * from visits where age > 25 ) "Custom SQL Query" GROUP BY 1 ORDER BY 1"#,
        2,
    );
}

#[test]
fn a_limit_of_series() {
    let mut world = World::new();
    // Superset: the series with the highest totals, then those by month. The regions have as many visits, so a mean
    // orders them.
    world.same(
        "SELECT DATE_TRUNC('month', at) AS __timestamp, region AS region, COUNT(*) AS count
         FROM public.visits JOIN (
             SELECT region AS region__, AVG(cost) AS mme_inner__ FROM public.visits
             WHERE at >= TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
                 AND at < TO_TIMESTAMP('2025-12-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
             GROUP BY region ORDER BY mme_inner__ DESC LIMIT 2
         ) AS series_limit ON region = region__
         WHERE at >= TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
         GROUP BY DATE_TRUNC('month', at), region ORDER BY region, __timestamp LIMIT 1000",
        4,
    );
}

#[test]
fn a_case_as_dimension() {
    let mut world = World::new();
    world.same(
        r#"SELECT CASE WHEN "public"."visits"."age" < 30 THEN 'young'
               WHEN ("public"."visits"."age" >= 30) AND ("public"."visits"."age" < 60) THEN 'middle' ELSE 'old' END AS "ages",
               COUNT(*) AS "count" FROM "public"."visits"
           GROUP BY CASE WHEN "public"."visits"."age" < 30 THEN 'young'
               WHEN ("public"."visits"."age" >= 30) AND ("public"."visits"."age" < 60) THEN 'middle' ELSE 'old' END
           ORDER BY "ages" ASC"#,
        1,
    );
}

#[test]
fn numbers_in_bins() {
    let mut world = World::new();
    // Metabase.
    world.same(
        r#"SELECT FLOOR((("public"."visits"."cost" - 0.0) / 12.5)) * 12.5 + 0.0 AS "cost", COUNT(*) AS "count"
           FROM "public"."visits" GROUP BY FLOOR((("public"."visits"."cost" - 0.0) / 12.5)) * 12.5 + 0.0
           ORDER BY FLOOR((("public"."visits"."cost" - 0.0) / 12.5)) * 12.5 + 0.0 ASC"#,
        2,
    );
    world.same_as(
        "SELECT width_bucket(cost, 0, 100, 5), count(*) FROM visits GROUP BY 1 ORDER BY 1",
        "SELECT width_bucket(cost, 0, 100, 5), count(*) FROM visits GROUP BY 1 \
         UNION ALL SELECT 0, 0 UNION ALL SELECT 6, 0 ORDER BY 1",
        1,
    );
    world.same(
        "SELECT FLOOR(age / 10) * 10 AS age, AVG(cost) FROM visits GROUP BY 1 ORDER BY 1",
        2,
    );
}

#[test]
fn the_values_of_a_filter() {
    let mut world = World::new();
    // Metabase.
    world.same(
        r#"SELECT "public"."visits"."region" AS "region" FROM "public"."visits" GROUP BY "public"."visits"."region"
           ORDER BY "public"."visits"."region" ASC LIMIT 1001"#,
        1,
    );
    // Superset.
    world.same(
        "SELECT DISTINCT region AS region FROM public.visits ORDER BY region ASC LIMIT 10000",
        1,
    );
    // Tableau.
    world.same(r#"SELECT "visits"."region" AS "region" FROM "public"."visits" "visits" GROUP BY 1 ORDER BY 1 ASC"#, 1);
}

#[test]
fn conditions_inside_of_aggregates() {
    let mut world = World::new();
    world.same(
        r#"SELECT COUNT(CASE WHEN "public"."visits"."age" > 30 THEN 1 END) AS "CountIf",
               SUM(CASE WHEN "public"."visits"."paid" > 10 THEN "public"."visits"."cost" ELSE 0.0 END) AS "SumIf",
               SUM(CASE WHEN "public"."visits"."region" = 'r1' THEN 1 ELSE 0 END) AS "hits"
           FROM "public"."visits""#,
        3,
    );
    world.same(
        r#"SELECT COUNT(*) FILTER (WHERE "public"."visits"."age" < 30) AS "filtered" FROM "public"."visits""#,
        1,
    );
}

#[test]
fn a_ratio_of_aggregates() {
    let mut world = World::new();
    world.same(
        r#"SELECT "public"."visits"."region",
               CAST(SUM(CASE WHEN "public"."visits"."age" > 40 THEN 1 ELSE 0.0 END) AS DOUBLE PRECISION)
                   / NULLIF(CAST(COUNT(*) AS DOUBLE PRECISION), 0.0) AS "share"
           FROM "public"."visits" GROUP BY "public"."visits"."region" ORDER BY "public"."visits"."region" ASC"#,
        3,
    );
    world.same(
        r#"SELECT SUM(cost) / COUNT(*) AS "SUM(cost) / COUNT(*)" FROM public.visits LIMIT 50000"#,
        1,
    );
}

#[test]
fn having_casts_and_places() {
    let mut world = World::new();
    // Tableau.
    world.same(
        r#"SELECT CAST("visits"."region" AS TEXT) AS "region",
               DATE_TRUNC('QUARTER', CAST("visits"."day" AS TIMESTAMP)) AS "tqr:day:ok",
               SUM("visits"."cost") AS "sum:cost:ok", AVG(CAST("visits"."age" AS FLOAT)) AS "avg:age:ok"
           FROM "public"."visits" "visits" GROUP BY 1, 2 HAVING (COUNT(1) > 0) ORDER BY 1, 2"#,
        3,
    );
    world.same(
        r#"SELECT SUM("visits"."cost") AS "sum:cost:ok" FROM "public"."visits" "visits" HAVING (COUNT(1) > 0)"#,
        1,
    );
}

#[test]
fn people_are_counted() {
    let mut world = World::new();
    world.same(
        r#"SELECT "public"."visits"."region" AS "region", COUNT(DISTINCT "public"."visits"."patient") AS "count"
           FROM "public"."visits" GROUP BY "public"."visits"."region" ORDER BY 1 ASC"#,
        2,
    );
    world.same(
        "SELECT COUNT(DISTINCT patient), COUNT(*), AVG(cost) FROM visits",
        2,
    );
}

#[test]
fn months_as_text_in_a_time_zone() {
    let mut world = World::new();
    // Looker: 120 months until now, in New York.
    world.same(
        "SELECT (TO_CHAR(DATE_TRUNC('month', visits.at AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York'), 'YYYY-MM'))
                 AS \"visits.month\",
             COUNT(*) AS \"visits.count\", COALESCE(SUM(visits.cost), 0) AS \"visits.total\"
         FROM public.visits AS visits
         WHERE ((( visits.at ) >= ((SELECT (DATE_TRUNC('month', DATE_TRUNC('day', CURRENT_TIMESTAMP
                 AT TIME ZONE 'America/New_York')) + (-119 || ' month')::INTERVAL) AT TIME ZONE 'America/New_York'))
             AND ( visits.at ) < ((SELECT ((DATE_TRUNC('month', DATE_TRUNC('day', CURRENT_TIMESTAMP
                 AT TIME ZONE 'America/New_York')) + (-119 || ' month')::INTERVAL) + (120 || ' month')::INTERVAL)
                 AT TIME ZONE 'America/New_York'))))
         GROUP BY (DATE_TRUNC('month', visits.at AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York'))
         ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY",
        2,
    );
    world.same(
        "SELECT (DATE(visits.at AT TIME ZONE 'America/New_York')) AS d, COUNT(*) FROM visits \
         WHERE visits.day < '2025-01-05' GROUP BY 1 ORDER BY 1",
        2,
    );
}

#[test]
fn seconds_since_1970_in_buckets() {
    let mut world = World::new();
    // Grafana: macros as they are expanded.
    for bucket in [
        "floor(extract(epoch from at)/17280000)*17280000",
        "to_timestamp(floor(extract('epoch' from at)/17280000)*17280000)",
        "(floor(extract(epoch from at)/17280000)*17280000)::int",
        "date_bin('200 days', at, timestamptz '2024-10-04')",
    ] {
        world.same(
            &format!(
                "SELECT {bucket} AS \"time\", avg(cost) AS \"cost\" FROM visits \
                 WHERE at BETWEEN '2025-01-01T00:00:00Z' AND '2025-12-31T23:59:59.999Z' GROUP BY 1 ORDER BY 1"
            ),
            2,
        );
    }
}

#[test]
fn a_join_to_a_dimension() {
    let mut world = World::new();
    // Metabase.
    world.same(
        r#"SELECT "Regions"."country" AS "Regions__country", COUNT(*) AS "count", AVG("public"."visits"."cost") AS "avg"
           FROM "public"."visits" LEFT JOIN "public"."regions" AS "Regions"
               ON "public"."visits"."region" = "Regions"."region"
           WHERE "Regions"."country" <> 'c7' GROUP BY "Regions"."country" ORDER BY "Regions"."country" ASC"#,
        1,
    );
}

#[test]
fn nested_rows_temporary_tables_and_cursors() {
    let mut world = World::new();
    // Power BI, DirectQuery.
    world.same(
        r#"select "_"."region", "_"."a0" from ( select "rows"."region" as "region", sum("rows"."cost") as "a0"
               from ( select "_"."region", "_"."cost" from "public"."visits" "_" where "_"."age" > 30 ) "rows"
               group by "region" ) "_" where not "_"."a0" is null order by 1 limit 1000001"#,
        2,
    );
    let sql = r#"select "$Table"."region" as "region", "$Table"."cost" as "cost" from "public"."visits" "$Table" limit 0"#;
    assert!(rows(&mut world.analyst, sql).is_empty());
    // Tableau: the regions with the highest means are kept, and joined.
    let price = world.price(|world| {
        world.ask(
            r##"CREATE LOCAL TEMPORARY TABLE "#Tableau_4_1_Filter" ON COMMIT PRESERVE ROWS AS
                SELECT "visits"."region" AS "region", AVG("visits"."cost") AS "$__alias__0"
                FROM "public"."visits" "visits" GROUP BY 1 ORDER BY 2 DESC LIMIT 2"##,
        );
    });
    assert_eq!(price, (2.0, 1));
    world.same_as(
        r##"SELECT "visits"."region" AS "region", AVG("visits"."cost") AS "avg:cost:ok" FROM "public"."visits" "visits"
            INNER JOIN "#Tableau_4_1_Filter" "t0" ON ("visits"."region" = "t0"."region") GROUP BY 1 ORDER BY 1"##,
        "SELECT region, avg(cost) FROM visits WHERE region IN ('r1', 'r2') GROUP BY 1 ORDER BY 1",
        1,
    );
    let sql = r#"SELECT "visits"."region" AS "region", COUNT(1) AS "cnt" FROM "public"."visits" "visits" GROUP BY 1 ORDER BY 1"#;
    let truth = table(&mut world.owner, sql);
    let price = world.price(|world| {
        world.ask(&format!(
            r#"BEGIN; declare "SQL_CUR0x7f8b" cursor with hold for {sql}"#
        ));
        let mut seen = table(&mut world.analyst, r#"fetch 3 in "SQL_CUR0x7f8b""#);
        world.ask("COMMIT");
        seen.extend(table(
            &mut world.analyst,
            r#"fetch 10000 in "SQL_CUR0x7f8b""#,
        ));
        world.ask(r#"close "SQL_CUR0x7f8b""#);
        super::assert_alike(&seen, &truth, sql);
    });
    assert_eq!(price, (2.0, 1));
}
