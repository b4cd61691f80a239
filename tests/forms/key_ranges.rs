//! Keys whose values follow from the ends that WHERE has for their column.

use super::{World, table};

/// Each query, with its groups; `true` where rows are in all of them.
const BETWEEN: [(usize, bool, &str); 16] = [
    (
        31,
        true,
        "SELECT day, count(*) FROM visits WHERE day BETWEEN '2025-01-01' AND '2025-01-31' GROUP BY day ORDER BY day",
    ),
    // The year ends on day 360 of the table.
    (
        10,
        false,
        "SELECT day, count(*) FROM visits WHERE day > '2025-12-24' AND day <= '2026-01-03' GROUP BY day ORDER BY day",
    ),
    (
        14,
        false,
        "SELECT date_trunc('month', day), count(*) FROM visits WHERE day >= '2025-01-01' AND day < '2026-03-01' \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        6,
        true,
        "SELECT date_trunc('week', day), count(*) FROM visits WHERE '2025-03-03' <= day AND '2025-04-10' >= day \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        2,
        false,
        "SELECT extract(year FROM day), count(*) FROM visits WHERE day >= '2025-06-01' AND day < '2026-06-01' \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        30,
        true,
        "SELECT day, count(*) FROM visits WHERE day >= '2025-06-01' \
         AND day < '2025-06-01'::date + interval '1 month' GROUP BY day ORDER BY day",
    ),
    (
        1,
        true,
        "SELECT day, count(*) FROM visits WHERE day = '2025-02-03' GROUP BY day",
    ),
    (
        48,
        true,
        "SELECT age, count(*) FROM visits WHERE age BETWEEN 20 AND 67 GROUP BY age ORDER BY age",
    ),
    (
        5,
        false,
        "SELECT age, count(*) FROM visits WHERE age BETWEEN 78 AND 82 GROUP BY age ORDER BY age",
    ),
    (
        10,
        false,
        "SELECT age / 10, count(*) FROM visits WHERE age >= 0 AND age < 100 GROUP BY 1 ORDER BY 1",
    ),
    (
        10,
        false,
        "SELECT floor(age / 10.0) * 10, avg(cost) > 0, count(*) FROM visits WHERE age >= 0 AND age < 100 \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        7,
        true,
        "SELECT ceil((age - 20) / 10.0), count(*) FROM visits WHERE age BETWEEN 20 AND 79 GROUP BY 1 ORDER BY 1",
    ),
    // A value of no number is a group, too: that of an age of 25.
    (
        3,
        true,
        "SELECT 4 / nullif(age - 25, 0), count(*) FROM visits WHERE age BETWEEN 24 AND 26 AND age > 23::bigint \
         GROUP BY 1 ORDER BY 1",
    ),
    // Other conditions on the column leave out values.
    (
        2,
        true,
        "SELECT age, count(*) FROM visits WHERE age BETWEEN 20 AND 30 AND age % 10 = 0 AND region <> 'r9' \
         GROUP BY age HAVING age < 40 ORDER BY age",
    ),
    // The ends are the wrong way round, or no value of the type.
    (
        0,
        false,
        "SELECT age, count(*) FROM visits WHERE age BETWEEN 30 AND 20 GROUP BY age",
    ),
    (
        0,
        false,
        "SELECT age, count(*) FROM visits WHERE age = 3000000000 GROUP BY age",
    ),
];

/// A person here has two rows, in two groups: people are bounded as ever, and no groups are chosen.
#[test]
fn ends_of_a_column_are_ends_of_its_groups() {
    let mut world = World::new();
    for (groups, is_full, sql) in BETWEEN {
        let truth = table(&mut world.owner, sql);
        let mut answer = Vec::new();
        let charge = world.price(|world| answer = table(&mut world.analyst, sql));
        assert_eq!(answer.len(), groups, "{sql}: {answer:?}");
        assert!(charge.1 >= 1, "{sql}");
        if is_full {
            super::assert_alike(&answer, &truth, sql);
        } else {
            let keys: Vec<_> = answer.iter().map(|row| row[0].clone()).collect();
            assert!(
                truth.iter().all(|row| keys.contains(&row[0])),
                "{sql}: {answer:?}"
            );
        }
        assert!(!mechanisms(&mut world, sql).contains("dp_keep"), "{sql}");
    }
}

/// What is not surely public is chosen as before.
#[test]
fn without_ends_groups_are_chosen() {
    let mut world = World::new();
    for sql in [
        "SELECT day, count(*) FROM visits GROUP BY day",
        "SELECT day, count(*) FROM visits WHERE day >= '2025-01-01' GROUP BY day",
        "SELECT day, count(*) FROM visits WHERE day BETWEEN '2025-01-01' AND 'infinity' GROUP BY day",
        "SELECT day, count(*) FROM visits WHERE day BETWEEN '1900-01-01' AND '2025-01-01' GROUP BY day",
        "SELECT age, count(*) FROM visits WHERE age BETWEEN 20 AND 30 OR age > 70 GROUP BY age",
        "SELECT age, count(*) FROM visits WHERE NOT age BETWEEN 20 AND 30 GROUP BY age",
        "SELECT age, count(*) FROM visits WHERE points BETWEEN 20 AND 30 GROUP BY age",
        "SELECT age, count(*) FROM visits WHERE age BETWEEN points AND 30 GROUP BY age",
        "SELECT age + points, count(*) FROM visits WHERE age BETWEEN 20 AND 30 GROUP BY 1",
        // Declared bounds leave out no row.
        "SELECT age, count(*) FROM visits GROUP BY age",
        // 101 times 101 of them.
        "SELECT age, points, count(*) FROM visits WHERE age BETWEEN 0 AND 100 AND points BETWEEN 0 AND 100 \
         GROUP BY 1, 2",
    ] {
        let mechanisms = mechanisms(&mut world, sql);
        assert!(mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
    let refusal = world.refused(
        "SELECT patient, count(*) FROM visits WHERE patient BETWEEN 1 AND 9 GROUP BY patient",
    );
    assert!(refusal.message.contains("single persons"), "{refusal:?}");
}

/// Parameters are ends where the plan is made for them; in a plan for any parameters groups are chosen.
#[test]
fn parameters_are_ends_in_plans_of_their_own() {
    let mut world = World::new();
    world.ask(
        "PREPARE ages(int, int) AS SELECT age, count(*) FROM visits WHERE age BETWEEN $1 AND $2 GROUP BY age",
    );
    world.ask("SET plan_cache_mode = 'force_custom_plan'");
    for (sql, groups) in [("EXECUTE ages(78, 83)", 6), ("EXECUTE ages(90, 92)", 3)] {
        assert_eq!(table(&mut world.analyst, sql).len(), groups, "{sql}");
    }
    world.ask("SET plan_cache_mode = 'force_generic_plan'");
    assert!(table(&mut world.analyst, "EXECUTE ages(93, 99)").is_empty());
}

/// Groups without rows answer in each time zone as groups with rows do.
#[test]
fn days_are_cut_in_the_time_zone_of_the_session() {
    let mut world = World::new();
    for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
        let set = format!("SET TimeZone = '{zone}'");
        world.own(&set);
        world.ask(&set);
        world.same(
            "SELECT date_trunc('day', day), count(*) FROM visits WHERE day BETWEEN '2025-03-20' AND '2025-04-10' \
             GROUP BY 1 ORDER BY 1",
            1,
        );
    }
}

/// Times with and without a time zone, of one person each; the last hour of each day has none.
const CLICKS: &str = "CREATE TABLE clicks (id int PRIMARY KEY, at timestamp NOT NULL, zoned timestamptz NOT NULL);
    INSERT INTO clicks SELECT g, t, t AT TIME ZONE 'UTC' FROM generate_series(0, 19999) g,
        LATERAL (SELECT timestamp '2025-03-20 00:10' + g % 20 * interval '1 day' + g % 23 * interval '1 hour') x(t);
    SELECT dp_protect('clicks', 'id', 'all', query_eps => 20), dp_allow('clicks', '{analyst}')";

/// Times are cut into days, hours and minutes between the ends, which may be within one of them.
#[test]
fn times_between_ends_are_cut_into_days_and_hours() {
    let mut world = World::new();
    world.own(CLICKS);
    for zone in [
        "UTC",
        "Asia/Kolkata",
        "America/New_York",
        "Australia/Lord_Howe",
    ] {
        let set = format!("SET TimeZone = '{zone}'");
        world.own(&set);
        world.ask(&set);
        for column in ["at", "zoned"] {
            for (cut, groups) in [
                ("date_trunc('day', {c})", 12),
                ("{c}::date", 12),
                ("date_trunc('week', {c})", 3),
                ("date_trunc('month', {c})", 2),
                ("date_part('hour', {c}) + extract(day FROM {c}) * 24", 265),
                ("date_trunc('hour', {c})", 265),
            ] {
                // The ends are within an hour of a day.
                let sql = format!(
                    "SELECT {cut}, count(*) FROM clicks WHERE {{c}} > '2025-03-27 20:05' AND {{c}} <= '2025-04-07 20:55' \
                     GROUP BY 1 ORDER BY 1"
                )
                .replace("{c}", column);
                let truth = table(&mut world.owner, &sql);
                let answer = table(&mut world.analyst, &sql);
                assert!(!mechanisms(&mut world, &sql).contains("dp_keep"), "{sql}");
                let keys: Vec<_> = answer.iter().map(|row| row[0].clone()).collect();
                assert!(
                    truth.iter().all(|row| keys.contains(&row[0])),
                    "{zone} {sql}: {answer:?}"
                );
                // Beside them there may be one at each end, of a whole step, and hours that a clock has twice.
                assert!(
                    answer.len().abs_diff(groups) <= 2,
                    "{zone} {sql}: {}",
                    answer.len()
                );
            }
        }
    }
}

/// Far from the year 2000, where a float8 has no microseconds any more, each day is a group.
#[test]
fn times_of_another_age_are_cut_into_days() {
    let mut world = World::new();
    world.own(CLICKS);
    for year in [2900, 9000, 29000] {
        for column in ["at", "zoned"] {
            let sql = format!(
                "SELECT date_trunc('day', {column}), count(*) FROM clicks WHERE {column} >= '{year}-01-01' \
                 AND {column} < '{year}-12-31' GROUP BY 1"
            );
            assert_eq!(table(&mut world.analyst, &sql).len(), 364, "{sql}");
        }
    }
}

/// A condition that is finer than the key leaves out rows, and no group; one that is not leaves out both.
#[test]
fn other_conditions_on_times_leave_out_no_group_by_mistake() {
    let mut world = World::new();
    world.own(CLICKS);
    let between = "at >= '2025-03-21' AND at < '2025-03-28'";
    for (key, condition, groups) in [
        ("date_trunc('day', at)", "extract(hour FROM at) = 9", 7),
        ("date_trunc('day', at)", "at <> '2025-03-21 00:00'", 7),
        ("date_trunc('day', at)", "extract(isodow FROM at) < 6", 5),
        ("date_trunc('hour', at)", "extract(isodow FROM at) = 1", 24),
        ("date_trunc('minute', at)", "at > '2025-03-27 23:00'", 60),
    ] {
        let sql = format!(
            "SELECT {key}, count(*) FROM clicks WHERE {between} AND {condition} GROUP BY 1"
        );
        let answer = table(&mut world.analyst, &sql);
        // And the last time, whose minute, hour or day it is.
        assert_eq!(answer.len(), groups, "{sql}: {answer:?}");
    }
    for sql in [
        "SELECT at, count(*) FROM clicks WHERE at >= '2025-03-21' AND at < '2025-03-22' GROUP BY 1",
        "SELECT date_trunc('second', at), count(*) FROM clicks WHERE at >= '2025-03-21' AND at < '2025-03-22' GROUP BY 1",
        "SELECT date_trunc('day', at + interval '1 hour'), count(*) FROM clicks WHERE at >= '2025-03-21' \
         AND at < '2025-03-22' GROUP BY 1",
        "SELECT CASE WHEN at > '2025-03-21 12:00' THEN date_trunc('day', at) END, count(*) FROM clicks \
         WHERE at >= '2025-03-21' AND at < '2025-03-22' GROUP BY 1",
        "SELECT date_trunc('day', at), count(*) FROM clicks WHERE at >= '2025-03-21' GROUP BY 1",
        "SELECT date_trunc('day', at), count(*) FROM clicks WHERE at >= '2025-03-21' AND at < 'infinity' GROUP BY 1",
        "SELECT date_trunc('minute', at), count(*) FROM clicks WHERE at >= '2025-03-21' AND at < '2025-04-21' GROUP BY 1",
        // A clock that is put back has an hour twice.
        "SELECT date_trunc('hour', at), count(*) FROM clicks WHERE at >= '2025-03-21' AND at < '2025-03-22'::timestamptz \
         GROUP BY 1",
    ] {
        let mechanisms = mechanisms(&mut world, sql);
        assert!(mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
}

/// Ends that follow from the time, as tools write the last 30 days. These here are the same at any time.
#[test]
fn ends_may_be_known_when_the_query_runs() {
    let mut world = World::new();
    world.own(CLICKS);
    world.own("CREATE VIEW dates AS SELECT id, at::date AS day FROM clicks");
    world.own("CREATE TABLE days AS SELECT * FROM dates; ALTER TABLE days ADD PRIMARY KEY (id), ALTER day SET NOT NULL");
    world.own(
        "SELECT dp_protect('days', 'id', 'all', query_eps => 20), dp_allow('days', '{analyst}')",
    );
    for zone in ["UTC", "America/New_York", "Australia/Lord_Howe"] {
        let set = format!("SET TimeZone = '{zone}'");
        world.own(&set);
        world.ask(&set);
        for (table_name, column, keys) in [
            (
                "clicks",
                "zoned",
                &["date_trunc('day', zoned)", "date_trunc('hour', zoned)"][..],
            ),
            ("clicks", "at", &["at::date", "date_trunc('week', at)"]),
            ("days", "day", &["day", "date_trunc('month', day)"]),
        ] {
            for now in ["now()", "LOCALTIMESTAMP", "CURRENT_DATE"] {
                for (least, below) in [(">=", "<"), (">", "<=")] {
                    let end = |day: &str| match now {
                        "CURRENT_DATE" => format!("{now} - ({now} - '{day}')"),
                        _ => format!("{now} - ({now} - '{day} 20:05')"),
                    };
                    let (from, to) = (end("2025-03-27"), end("2025-04-04"));
                    for key in keys {
                        let sql = format!(
                            "SELECT {key}, count(*) FROM {table_name} WHERE {column} {least} {from} AND {column} {below} {to} \
                             GROUP BY 1 ORDER BY 1"
                        );
                        let truth = table(&mut world.owner, &sql);
                        let answer = table(&mut world.analyst, &sql);
                        assert!(!mechanisms(&mut world, &sql).contains("dp_keep"), "{sql}");
                        let told: Vec<_> = answer.iter().map(|row| row[0].clone()).collect();
                        assert!(
                            truth.iter().all(|row| told.contains(&row[0])),
                            "{zone} {sql}: {answer:?}, {truth:?}"
                        );
                        // A last moment without rows; the last hour of each day has none either, and a clock that is
                        // put back has one twice.
                        let more = if key.contains("hour") { 10 } else { 1 };
                        let most = truth.len() + more;
                        assert!(answer.len() <= most, "{zone} {sql}: {answer:?}, {truth:?}");
                    }
                }
            }
        }
    }
}

/// In a plan that is kept, too.
#[test]
fn ends_are_computed_each_time() {
    let mut world = World::new();
    world.own(CLICKS);
    world.ask(
        "SET plan_cache_mode = 'force_generic_plan'; PREPARE days AS SELECT zoned::date, count(*) FROM clicks \
         WHERE zoned >= date '2025-03-27' AND zoned < date '2025-03-30' GROUP BY 1 ORDER BY 1",
    );
    for zone in ["Asia/Tokyo", "UTC", "Pacific/Honolulu"] {
        world.ask(&format!("SET TimeZone = '{zone}'"));
        let days = table(&mut world.analyst, "EXECUTE days");
        let days: Vec<_> = days.iter().filter_map(|row| row[0].as_deref()).collect();
        assert_eq!(days, ["2025-03-27", "2025-03-28", "2025-03-29"], "{zone}");
    }
}

/// What a query is to be charged for.
pub fn mechanisms(world: &mut World, sql: &str) -> String {
    let row = world
        .analyst
        .query_one("SELECT mechanisms FROM dp_cost($1)", &[&sql]);
    row.expect("a price").get(0)
}

/// Several keys of one column are in the groups that one of its values has, and no others.
#[test]
fn keys_of_one_column_are_combined_as_its_values_are() {
    let mut world = World::new();
    for sql in [
        "SELECT extract(year FROM day), extract(month FROM day), count(*) FROM visits \
         WHERE day >= '2025-01-01' AND day < '2025-12-01' GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT extract(quarter FROM day), extract(month FROM day), sum(cost) FROM visits \
         WHERE day BETWEEN '2025-02-01' AND '2025-08-31' GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT date_part('year', day), date_part('month', day), date_part('day', day), count(*) FROM visits \
         WHERE day BETWEEN '2025-01-30' AND '2025-02-02' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        "SELECT age / 10, age % 2 = 0, region, count(*) FROM visits WHERE age BETWEEN 30 AND 49 AND region IN ('r0', 'r1') \
         GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        "SELECT age > 39, age / 20, count(*) FROM visits WHERE age BETWEEN 20 AND 59 GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT age / 20, CASE WHEN age < 40 THEN 'young' ELSE 'old' END, count(*) FROM visits WHERE age BETWEEN 20 AND 59 \
         GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT extract(month FROM day), extract(day FROM day), count(*) FROM visits WHERE day BETWEEN '2025-02-26' AND \
         '2025-03-03' GROUP BY GROUPING SETS ((1), (1, 2)) ORDER BY 1, 2",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        super::assert_alike(&answer, &truth, sql);
    }
}

/// A key that is made of other keys alone is computed of theirs, and no group is combined with another's.
#[test]
fn keys_that_are_made_of_others_make_no_groups() {
    let mut world = World::new();
    for sql in [
        "SELECT day, extract(isodow FROM day), count(*) FROM visits WHERE day BETWEEN '2025-02-01' AND '2025-02-03' \
         GROUP BY 1, 2 ORDER BY 1",
        "SELECT day, extract(isodow FROM day) AS d, count(*) FROM visits WHERE day BETWEEN '2025-02-01' AND '2025-02-16' \
         AND extract(isodow FROM day) IN (6, 7) GROUP BY 1, 2 ORDER BY 1",
        "SELECT age > 40 AS a, CASE WHEN age > 40 THEN 'yes' ELSE 'no' END, avg(cost) FROM visits GROUP BY 1, 2 ORDER BY 1",
        "SELECT to_char(date_trunc('month', day), 'Mon'), date_trunc('month', day), count(*) FROM visits \
         WHERE day >= '2025-01-01' AND day < '2025-04-01' GROUP BY 1, 2 ORDER BY 2",
        "SELECT upper(dept), dept, count(*) FROM people WHERE dept < 'd4' GROUP BY 2, 1 HAVING upper(dept) <> 'D1' \
         ORDER BY upper(dept) DESC",
        "SELECT upper(dept), count(*) FROM people WHERE dept < 'd4' GROUP BY dept, upper(dept), dept || '!' ORDER BY 1",
        "SELECT DISTINCT dept, upper(dept) AS u FROM people WHERE dept < 'd4' ORDER BY 2 DESC",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        super::assert_alike(&answer, &truth, sql);
    }
}

/// Of what a sub-query computes, the values between two ends are listed only where each may be there.
#[test]
fn computed_columns_have_no_groups_that_they_cannot_have() {
    let mut world = World::new();
    for sql in [
        "SELECT m, count(*) FROM (SELECT patient, date_trunc('month', min(day))::date AS m FROM visits GROUP BY patient) s \
         WHERE m >= '2025-01-01' AND m < '2025-07-01' GROUP BY m ORDER BY m",
        "SELECT b, count(*) FROM (SELECT patient, min(points) / 100 * 100 AS b FROM visits GROUP BY patient) s \
         WHERE b BETWEEN 0 AND 400 GROUP BY b ORDER BY b",
        "SELECT b, count(*) FROM (SELECT DISTINCT patient, CASE WHEN age < 40 THEN 0 ELSE 40 END AS b FROM visits) s \
         WHERE b BETWEEN 0 AND 50 GROUP BY b ORDER BY b",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        super::assert_alike(&answer, &truth, sql);
    }
    for (sql, groups) in [
        (
            "SELECT n, count(*) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) s WHERE n BETWEEN 1 AND 4 GROUP BY n",
            4,
        ),
        (
            "SELECT n, count(*) FROM (SELECT patient, count(*) + 1 AS n FROM visits GROUP BY patient) s WHERE n BETWEEN 1 AND 4 GROUP BY n",
            4,
        ),
        (
            "SELECT n, count(*) FROM (SELECT patient, max(age) AS n FROM visits GROUP BY patient) s WHERE n BETWEEN 90 AND 93 GROUP BY n",
            4,
        ),
        (
            "SELECT n, count(*) FROM (SELECT patient, max(day) - min(day) AS n FROM visits GROUP BY patient) s \
          WHERE n BETWEEN 1 AND 4 GROUP BY n",
            4,
        ),
    ] {
        assert_eq!(table(&mut world.analyst, sql).len(), groups, "{sql}");
    }
}
