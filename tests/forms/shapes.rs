//! Joins, sub-queries and conditions as analysts and tools write them: how many are answered, and each as its owner sees
//! it but for noise.

use super::{World, table};
use dp_mean_tests::{refused, run};

/// What is answered: how many columns are keys, and the query.
const ANSWERED: [(usize, &str); 47] = [
    // Tables and lists beside the rows.
    (
        1,
        "SELECT m.kind, count(*) FROM trips t JOIN (VALUES ('AA', 'old'), ('UA', 'old'), ('B6', 'low')) AS m(carrier, kind) \
         USING (carrier) GROUP BY 1 ORDER BY 1",
    ),
    (
        0,
        "WITH west AS (SELECT faa FROM airports WHERE zone = 'Los Angeles') \
         SELECT count(*) FROM trips t JOIN west ON west.faa = t.dest",
    ),
    (
        0,
        "SELECT count(*) FROM trips t JOIN (SELECT DISTINCT faa FROM airports WHERE zone = 'Los Angeles') w ON w.faa = t.dest",
    ),
    (
        0,
        "SELECT count(*) FROM trips t JOIN (SELECT zone, max(faa) f FROM airports GROUP BY 1) w ON w.f = t.dest",
    ),
    (
        1,
        "SELECT w.rain > 0 AS wet, avg(delay) FROM trips t \
         JOIN (SELECT origin, hour::date AS d, sum(rain) AS rain FROM weather GROUP BY 1, 2) w \
         ON w.origin = t.origin AND w.d = t.day GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT g::date, count(*) FROM trips t JOIN generate_series('2013-01-01'::timestamptz, '2013-01-10', '1 day') g \
         ON t.day = g::date GROUP BY 1 ORDER BY 1",
    ),
    (
        2,
        "SELECT g, CASE WHEN g = 0 THEN cabin END, count(*) FROM trips CROSS JOIN generate_series(0, 1) g GROUP BY 1, 2",
    ),
    (
        1,
        "SELECT v.k, avg(CASE v.k WHEN 'a' THEN fare ELSE bags END) FROM trips CROSS JOIN (VALUES ('a'), ('b')) v(k) \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT a.zone, count(*) FROM trips t LEFT JOIN airports a ON a.faa = t.dest \
         LEFT JOIN airlines l ON l.carrier = t.carrier GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT l.name, count(t.trip) FROM trips t RIGHT JOIN airlines l ON l.carrier = t.carrier GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT l.name, count(t.trip) FROM airlines l LEFT JOIN trips t ON l.carrier = t.carrier GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT l.name, count(t.trip) FROM airlines l JOIN trips t ON l.carrier = t.carrier GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT l.name, count(*) FROM airlines l, trips t WHERE l.carrier = t.carrier GROUP BY 1 ORDER BY 1",
    ),
    (
        0,
        "SELECT count(*) FROM trips WHERE day > (SELECT max(hour)::date - 60 FROM weather)",
    ),
    (
        0,
        "WITH p AS (SELECT date '2013-06-01' AS first) SELECT count(*) FROM trips, p WHERE day >= p.first",
    ),
    (
        0,
        "SELECT count(*) FROM trips CROSS JOIN (SELECT date '2013-06-01' AS first) p WHERE day >= p.first",
    ),
    (
        1,
        "SELECT w.wind > 15 AS windy, count(*) FROM trips t JOIN weather w ON w.origin = t.origin \
         AND t.departs >= w.hour AND t.departs < w.hour + interval '1 hour' GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT p.tier, count(*) FROM trips t JOIN passengers p USING (passenger) GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT u, count(*) FROM trips, unnest(ARRAY['a', 'b']) u GROUP BY 1 ORDER BY 1",
    ),
    (
        0,
        "SELECT count(*) FROM trips t WHERE EXISTS (SELECT 1 FROM airports a WHERE a.faa = t.dest AND a.zone = 'New York')",
    ),
    (
        0,
        "SELECT count(*) FROM trips t WHERE NOT EXISTS \
         (SELECT 1 FROM airports a WHERE a.faa = t.dest AND a.zone = 'New York')",
    ),
    // Conditions and keys.
    (
        0,
        "SELECT count(*) FROM trips WHERE flight IN (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 7, 9, 11, 15, 17, 19)",
    ),
    (
        0,
        "SELECT count(*) FROM trips WHERE day::text >= '2013-06-01'",
    ),
    (
        1,
        "SELECT extract(year FROM day) || '-' || lpad(extract(month FROM day)::text, 2, '0'), count(*) FROM trips \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT date_trunc('month', departs AT TIME ZONE 'America/New_York'), count(*) FROM trips \
         WHERE departs >= '2013-02-01 05:00+00' GROUP BY 1 ORDER BY 1",
    ),
    (
        1,
        "SELECT carrier, avg(delay) FROM trips WHERE carrier = 'AA' GROUP BY 1",
    ),
    (
        2,
        "SELECT carrier, cabin, count(*) FROM trips WHERE carrier = 'AA' AND cabin = 'economy' GROUP BY carrier, cabin",
    ),
    (
        1,
        "SELECT dest, count(*) FROM trips WHERE dest IN ('P3', 'P4') GROUP BY dest ORDER BY 1",
    ),
    // What is counted, and of what.
    (
        1,
        "SELECT m, sum(n) FROM (SELECT date_trunc('month', d) m, n FROM (SELECT day d, count(*) n FROM trips \
         WHERE day BETWEEN '2013-01-01' AND '2013-12-26' GROUP BY 1) a) b GROUP BY 1 ORDER BY 1",
    ),
    (0, "SELECT count(DISTINCT carrier) FROM trips"),
    (
        0,
        "SELECT count(*) FROM (SELECT DISTINCT dest FROM trips) q",
    ),
    (
        0,
        "SELECT count(DISTINCT CASE WHEN cabin = 'business' THEN passenger END) FROM trips",
    ),
    (
        0,
        "SELECT count(DISTINCT passenger) FILTER (WHERE cabin = 'business') FROM trips",
    ),
    (
        1,
        "SELECT cabin, count(*)::float8 / count(DISTINCT passenger) FROM trips GROUP BY 1 ORDER BY 1",
    ),
    (
        0,
        "SELECT sum(fare * bags) / nullif(sum(bags), 0) FROM trips",
    ),
    (0, "SELECT avg(coalesce(delay, 0)) FROM trips"),
    (
        1,
        "SELECT origin, sum(CASE WHEN refunded THEN 1 END) FROM trips GROUP BY 1 ORDER BY 1",
    ),
    (0, "SELECT min(day), max(day) FROM trips"),
    (
        0,
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY fare) FROM trips",
    ),
    // The cap of a tool, and the rows of each person.
    (
        1,
        "SELECT cabin, count(*) FROM (SELECT * FROM trips WHERE bags > 0 LIMIT 1000001) q GROUP BY cabin",
    ),
    (
        0,
        "SELECT avg(fare) FROM (SELECT * FROM trips ORDER BY departs) q",
    ),
    (
        0,
        "SELECT count(*) FROM (SELECT passenger FROM trips WHERE cabin = 'business' \
         INTERSECT SELECT passenger FROM trips WHERE cabin = 'economy') q",
    ),
    (
        1,
        "SELECT cabin, count(*) FROM (SELECT cabin, row_number() OVER (PARTITION BY passenger ORDER BY departs) n \
         FROM trips) q WHERE n = 1 GROUP BY cabin",
    ),
    (
        0,
        "SELECT count(*) FROM (SELECT passenger FROM trips GROUP BY 1 HAVING count(*) >= 4) q",
    ),
    (
        0,
        "SELECT avg(s) FROM (SELECT passenger, sum(fare) s FROM trips GROUP BY 1) q",
    ),
    (
        0,
        "SELECT count(*) FROM (SELECT carrier FROM trips WHERE cabin = 'first' \
         UNION ALL SELECT carrier FROM trips WHERE cabin = 'business') q",
    ),
    (
        0,
        "SELECT count(*) FILTER (WHERE a), count(*) FILTER (WHERE a AND b) \
         FROM (SELECT passenger, bool_or(channel = 'web') a, bool_or(refunded) b FROM trips GROUP BY 1) q",
    ),
];

/// What is refused: a part of the message.
const REFUSED: [(&str, &str); 4] = [
    // One person's row decides which rows of others count.
    (
        "not of the rows of one person",
        "SELECT cabin, count(*) FROM (SELECT *, max(departs) OVER () last FROM trips) q \
         WHERE departs > last - interval '7 day' GROUP BY 1",
    ),
    (
        "chooses among the rows of all people",
        "SELECT count(*) FROM (SELECT * FROM trips LIMIT 1000) q",
    ),
    (
        "would be the value of one person",
        "SELECT cabin, max(delay) FROM trips GROUP BY 1",
    ),
    (
        "rows without a match",
        "SELECT l.name, count(*) FROM airlines l LEFT JOIN trips t ON l.carrier = t.carrier GROUP BY 1",
    ),
];

#[test]
fn nine_of_ten_are_answered_as_the_owner_sees_them() {
    let mut world = World::new();
    world.own(include_str!("shapes.sql"));
    world.own("ANALYZE airlines, airports, weather, trips, passengers");
    run(&mut world.analyst, "SET TimeZone = 'UTC'");
    run(&mut world.owner, "SET TimeZone = 'UTC'");
    for (keys, sql) in ANSWERED {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        assert!(!truth.is_empty(), "{sql}");
        for row in &truth {
            let own = answer.iter().find(|one| one[..keys] == row[..keys]);
            let own = own.unwrap_or_else(|| panic!("{sql}: {row:?} is not in {answer:?}"));
            for (told, true_value) in own.iter().zip(row).skip(keys) {
                assert!(
                    is_near(told.as_deref(), true_value.as_deref()),
                    "{sql}: {own:?}, {row:?}"
                );
            }
        }
    }
    for (why, sql) in REFUSED {
        let refusal = refused(&mut world.analyst, sql);
        assert_eq!(refusal.code, "42501", "{sql}");
        assert!(refusal.message.contains(why), "{sql}: {refusal:?}");
        assert!(!refusal.hint.is_empty(), "{sql}: {refusal:?}");
    }
}

/// Whether noise can lie between two cells. Counts are of hundreds of rows or more, and have noise of a few rows for each
/// of a person's four.
fn is_near(told: Option<&str>, truth: Option<&str>) -> bool {
    match (told, truth) {
        (Some(told), Some(truth)) => match (told.parse::<f64>(), truth.parse::<f64>()) {
            (Ok(told), Ok(truth)) => (told - truth).abs() <= 0.05 * truth.abs() + 40.0,
            _ => told == truth,
        },
        (told, truth) => told == truth,
    }
}
