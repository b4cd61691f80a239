//! The result: the values, their types, and their price.

use dp_mean_tests::{rows, value};

use super::{World, table};

#[test]
fn aggregates_have_the_values_of_plain_sql() {
    let mut world = World::new();
    // Each with the number of releases that it pays for.
    for (releases, sql) in [
        (1, "SELECT count(*) FROM visits"),
        (1, "SELECT count(1), count(id), count('x') FROM visits"),
        (1, "SELECT count(note) FROM visits"),
        (1, "SELECT count(DISTINCT patient) FROM visits"),
        (
            1,
            "SELECT count(DISTINCT CASE WHEN region = 'r1' AND age > 30 THEN patient END) FROM visits WHERE cost > 5",
        ),
        (1, "SELECT avg(cost) FROM visits"),
        (1, "SELECT sum(cost) FROM visits"),
        (1, "SELECT avg(age), sum(age) FROM visits"),
        (1, "SELECT avg(paid) FROM visits"),
        (2, "SELECT sum(points), sum(rate) FROM visits"),
        (1, "SELECT stddev(cost) FROM visits"),
        (2, "SELECT variance(age), var_pop(age) FROM visits"),
        (
            1,
            "SELECT avg(salary), sum(salary), count(*), count(salary) FROM people",
        ),
        (1, "SELECT stddev_samp(salary) FROM people"),
        (1, "SELECT sum(1), avg(1), count(*) FROM visits"),
        (1, "SELECT avg(cost * 2 + age / 2) FROM visits"),
        (
            1,
            "SELECT avg(CASE WHEN age > 40 THEN cost END) FROM visits",
        ),
        (1, "SELECT sum((region = 'r1')::int) FROM visits"),
        (1, "SELECT avg(extract(month FROM day)) FROM visits"),
        (1, "SELECT avg(greatest(cost, 50)) FROM visits"),
        (1, "SELECT avg(2020 - born) FROM people"),
        // Numerics below an aggregate are computed as floats.
        (
            1,
            "SELECT avg(paid * (1.5 - paid / 100) + points) FROM visits",
        ),
        (1, "SELECT sum(paid * age - round(paid, 1) * 2) FROM visits"),
        (1, "SELECT avg(paid * 3), count(paid * 3) FROM visits"),
    ] {
        world.same(sql, releases);
    }
}

/// A count of what is never NULL, a mean and a sum of one column are one release, and agree.
#[test]
fn mean_sum_and_count_of_a_column_are_one_release() {
    let mut world = World::new();
    for (releases, sql) in [
        (
            1,
            "SELECT avg(cost), sum(cost), count(cost), count(*), sum(cost) / count(*) FROM visits",
        ),
        // A NULL is no visit that was paid, so all of them are another number.
        (
            2,
            "SELECT avg(paid), sum(paid), count(paid), count(*) FROM visits",
        ),
        (
            2,
            "SELECT avg(cost), avg(cost) FILTER (WHERE age > 50), count(*) FILTER (WHERE age > 50) FROM visits",
        ),
        // Nor is what a filter chooses.
        (
            2,
            "SELECT count(*), sum(cost) FILTER (WHERE age > 50) FROM visits",
        ),
        (
            2,
            "SELECT sum(cost) FILTER (WHERE age > 50), count(*) FROM visits",
        ),
        (
            2,
            "SELECT count(*) FILTER (WHERE age > 50), sum(cost) FROM visits",
        ),
        (
            2,
            "SELECT count(*) FILTER (WHERE age > 60), sum(cost) FILTER (WHERE age > 50) FROM visits",
        ),
        (2, "SELECT avg(cost), avg(age) FROM visits"),
        (
            3,
            "SELECT region, avg(cost), count(*), avg(age) FROM visits GROUP BY region ORDER BY region",
        ),
        // A count that stands first is that of the first of two columns.
        (
            3,
            "SELECT count(*), sum(age), avg(cost), sum(rate), avg(age), count(age) FROM visits",
        ),
        (2, "SELECT avg(cost), avg(age), count(*) FROM visits"),
    ] {
        world.same(sql, releases);
    }
    let sql = "SELECT avg(cost), sum(cost), count(*) FROM visits";
    for _ in 0..20 {
        let row = &rows(&mut world.analyst, sql)[0];
        let (mean, sum, count): (f64, f64, i64) = (row.get(0), row.get(1), row.get(2));
        // The count is rounded to a whole one; the sum was made from what it was rounded from.
        let gap = (sum / mean - count as f64).abs();
        assert!(gap <= 0.51, "{mean} {sum} {count}");
    }
}

#[test]
fn groups_are_those_of_plain_sql() {
    let mut world = World::new();
    for (releases, sql) in [
        (
            2,
            "SELECT region, count(*) FROM visits GROUP BY region ORDER BY region",
        ),
        (
            2,
            "SELECT region, note, count(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2",
        ),
        (
            1,
            "SELECT CASE WHEN age < 40 THEN 'young' ELSE 'old' END AS ages, avg(cost) FROM visits GROUP BY ages \
             ORDER BY 1",
        ),
        (
            2,
            "SELECT age / 20 * 20, count(*) FROM visits GROUP BY 1 ORDER BY 1",
        ),
        (
            2,
            "SELECT upper(region), coalesce(note, 'none'), count(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2",
        ),
        (
            2,
            "SELECT date_trunc('quarter', day), to_char(day, 'YYYY'), count(*) FROM visits GROUP BY 1, 2 ORDER BY 1",
        ),
        (
            1,
            "SELECT 'all' AS what, count(*) FROM visits GROUP BY what",
        ),
        (
            2,
            "SELECT region || '!', avg(cost) + 1, round(avg(cost)::numeric, 0) FROM visits GROUP BY region ORDER BY 1",
        ),
        (
            2,
            "SELECT born / 20, avg(salary), count(*) FROM people GROUP BY 1 ORDER BY 1",
        ),
        (1, "SELECT DISTINCT region FROM visits ORDER BY 1"),
        (
            1,
            "SELECT region FROM visits GROUP BY region ORDER BY 1 DESC LIMIT 2 OFFSET 1",
        ),
        (
            2,
            "SELECT region FROM visits GROUP BY region HAVING avg(cost) > 50.5 ORDER BY region",
        ),
        (
            2,
            "SELECT region, avg(cost) FROM visits GROUP BY region ORDER BY avg(cost) DESC LIMIT 3",
        ),
        (
            3,
            "SELECT region FROM visits GROUP BY region HAVING count(note) > 100 ORDER BY avg(cost)",
        ),
        (
            2,
            "SELECT DISTINCT count(*) > 9 FROM visits GROUP BY region",
        ),
        (
            2,
            "SELECT region, count(*) FILTER (WHERE age > 50 AND note IS NOT NULL) FROM visits GROUP BY region \
             ORDER BY 1",
        ),
        (
            1,
            "SELECT count(*) FROM visits WHERE region LIKE 'r%' AND note ILIKE '%1' AND region ~ '^r[0-2]' \
             AND region IN ('r1', 'r2') AND cost BETWEEN 1 AND 90 AND NOT age = 21",
        ),
        (
            2,
            "SELECT region, count(*), sum(count(*)) OVER (), rank() OVER (ORDER BY avg(cost)) \
             FROM visits GROUP BY region ORDER BY region",
        ),
    ] {
        world.same(sql, releases);
    }
}

/// Each set of keys is a query of its own: it has its price, and persons are bounded in it.
#[test]
fn grouping_sets_cost_a_charge_for_each_set() {
    let mut world = World::new();
    for (releases, sql) in [
        (
            3,
            "SELECT region, count(*), GROUPING(region) FROM visits GROUP BY ROLLUP (region) ORDER BY 1",
        ),
        (
            5,
            "SELECT region, note, count(*), GROUPING(region, note), GROUPING(note) FROM visits \
             GROUP BY ROLLUP (region, note) ORDER BY 4, 1, 2",
        ),
        (
            7,
            "SELECT region, age / 40, avg(cost), GROUPING(age / 40, region) FROM visits \
             GROUP BY CUBE (region, age / 40) ORDER BY 4, 1, 2",
        ),
        (
            4,
            "SELECT region, note, count(*) FROM visits GROUP BY GROUPING SETS ((region), (note)) ORDER BY 1, 2",
        ),
        (
            4,
            "SELECT region, note, count(*), GROUPING(note) FROM visits GROUP BY region, ROLLUP (note) ORDER BY 1, 4, 2",
        ),
        (
            3,
            "SELECT CASE WHEN GROUPING(region) = 1 THEN 'all' ELSE region END AS r, avg(cost) FROM visits \
             GROUP BY ROLLUP (region) HAVING count(*) > 10 ORDER BY r",
        ),
        (1, "SELECT sum(cost) FROM visits GROUP BY ()"),
    ] {
        world.same(sql, releases);
    }
}

/// Sets whose keys are all public need no choice of groups, as in a plain GROUP BY.
#[test]
fn public_lists_are_used_in_grouping_sets() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE staff AS SELECT person, dept, salary, born / 20 AS age FROM people; \
               ALTER TABLE staff ADD PRIMARY KEY (person); ANALYZE staff;
               SELECT dp_protect('staff', 'person', 'all', query_eps => 20, query_delta => 1e-6), \
                   dp_allow('staff', '{analyst}'), \
                   dp_declare('staff', 'dept', ARRAY['d0', 'd1', 'd2', 'd3', 'd9']), \
                   dp_declare('staff', 'salary', 0, 100000)",
    );
    let lists =
        |dept: &str| format!("(SELECT unnest(ARRAY['d0', 'd1', 'd2', 'd3', 'd9']) AS {dept}) l");
    let plain = format!(
        "SELECT dept, count(person) FROM {} LEFT JOIN staff USING (dept) GROUP BY ROLLUP (dept) ORDER BY 1",
        lists("dept")
    );
    // A release for each of two sets, and none for a choice.
    world.same_as(
        "SELECT dept, count(*) FROM staff GROUP BY ROLLUP (dept) ORDER BY 1",
        &plain,
        2,
    );
    world.same_as(
        "SELECT dept, count(*) FROM staff GROUP BY GROUPING SETS ((dept), ()) ORDER BY 1",
        &plain,
        2,
    );
    // (dept, age) has a choice, and age.
    let plain = "SELECT dept, age, count(*), GROUPING(dept, age) FROM staff GROUP BY CUBE (dept, age) \
         UNION ALL SELECT 'd9', NULL, 0, 1 ORDER BY 4, 1, 2";
    world.same_as(
        "SELECT dept, age, count(*), GROUPING(dept, age) FROM staff GROUP BY CUBE (dept, age) ORDER BY 4, 1, 2",
        plain,
        6,
    );
    // Public values alone cost nothing, in a set as anywhere.
    let price = world.price(|world| {
        let sql = "SELECT dept, count(*) OVER () FROM (SELECT dept FROM staff GROUP BY GROUPING SETS ((dept))) \
         s ORDER BY 1";
        assert_eq!(table(&mut world.analyst, sql).len(), 5);
    });
    assert_eq!(price, (0.0, 0));
    // Of a person with several rows the same.
    world.own("SELECT dp_declare('visits', 'region', ARRAY['r0', 'r1', 'r2', 'r3', 'r4', 'r9'])");
    world.same_as(
        "SELECT region, count(*) FROM visits GROUP BY ROLLUP (region) ORDER BY 1",
        "SELECT region, count(*) FROM visits GROUP BY ROLLUP (region) UNION ALL SELECT 'r9', 0 ORDER BY 1",
        2,
    );
}

/// An aggregate of ours may ask for fewer rows and groups of a person, with less noise.
#[test]
fn fewer_rows_and_groups_are_what_is_asked_for() {
    let mut world = World::new();
    for (sql, mechanism, rows) in [
        (
            "SELECT dp_count(1, 1.0, 'geometric(rows=1)') FROM visits",
            "dp_count: geometric(groups=1, rows=1)",
            20000,
        ),
        (
            "SELECT dp_count(1.0) FROM visits",
            "dp_count: geometric(groups=1, rows=2)",
            40000,
        ),
        (
            "SELECT sum(n)::bigint FROM (SELECT region, dp_count(1, 1.0, 'geometric(rows=2, groups=1)') AS n \
             FROM visits \
             GROUP BY region) s",
            "dp_count: geometric(groups=1, rows=2), dp_keep: keep(groups=1, rows=1)",
            40000,
        ),
        (
            "SELECT sum(n)::bigint FROM (SELECT patient % 3, patient % 7, dp_count(1, 1.0, 'geometric(rows=1)') AS n \
             FROM visits GROUP BY 1, 2) s",
            "dp_count: geometric(groups=2, rows=1), dp_keep: keep(groups=2, rows=1)",
            20000,
        ),
    ] {
        let query = "SELECT mechanisms FROM dp_cost($1)";
        let said: String = world
            .analyst
            .query_one(query, &[&sql])
            .expect("a price")
            .get(0);
        assert_eq!(said, mechanism, "{sql}");
        let counted: i64 = world.asked(sql);
        assert!((counted - rows).abs() <= 300, "{counted}: {sql}");
    }
    // A person in two groups is in one of them, where one is asked for.
    let both = "SELECT sum(n)::bigint FROM (SELECT id / 20000 AS half, dp_count(1, 20, 'geometric(groups={g})') AS n \
                FROM visits GROUP BY 1) s";
    for (groups, rows) in [(1, 20000), (2, 40000)] {
        let counted: i64 = world.asked(&both.replace("{g}", &groups.to_string()));
        assert!((counted - rows).abs() <= 20, "{counted} of {rows}");
    }
    // A mean of one row of each: less noise for the same epsilon.
    let mean: f64 = world.asked("SELECT dp_mean(cost, 0, 100, 1, 'hourglass(rows=1)') FROM visits");
    assert!((mean - 50.0).abs() < 2.0, "{mean}");
}

/// A public list has its groups whatever the rows are, and needs no choice of them.
#[test]
fn groups_of_a_public_list_answer_without_rows() {
    let mut world = World::new();
    let lists = "(VALUES ('d0'), ('d1'), ('d2'), ('d3'), ('d4')) AS list (dept)";
    for (releases, sql, plain) in [
        (
            1,
            "SELECT dept, count(*) FROM people GROUP BY dept ORDER BY dept",
            format!(
                "SELECT dept, count(person) FROM {lists} LEFT JOIN people USING (dept) GROUP BY dept ORDER BY 1"
            ),
        ),
        (
            1,
            "SELECT dept, sum(salary), avg(salary) > 0 FROM people GROUP BY dept ORDER BY dept",
            format!(
                "SELECT dept, coalesce(sum(salary), 0), true FROM {lists} LEFT JOIN people USING (dept) \
                 GROUP BY dept ORDER BY 1"
            ),
        ),
        (
            0,
            "SELECT DISTINCT dept FROM people ORDER BY dept",
            format!("SELECT dept FROM {lists} ORDER BY dept"),
        ),
    ] {
        let truth = super::table(&mut world.owner, &plain);
        let mut answer = Vec::new();
        let price = world.price(|world| answer = super::table(&mut world.analyst, sql));
        assert_eq!(price.0, f64::from(releases), "{sql}");
        assert_eq!(answer.len(), 5, "{answer:?}");
        for (answer, truth) in answer.iter().zip(&truth) {
            assert_eq!(answer[0], truth[0], "{sql}");
            // The sum of no rows is noise of the size of one salary.
            let cells = answer[1..].iter().zip(&truth[1..]);
            for (answer, truth) in cells.filter(|_| truth[1].as_deref() != Some("0")) {
                super::assert_alike(&vec![vec![answer.clone()]], &vec![vec![truth.clone()]], sql);
            }
        }
    }
    let empty: i64 =
        world.asked("SELECT count(*) FROM people GROUP BY dept ORDER BY dept DESC LIMIT 1");
    assert!(empty.abs() <= 3, "{empty}");
    // Two keys, one of them listed: all groups are chosen.
    world.same(
        "SELECT dept, born / 50, count(*) FROM people GROUP BY 1, 2 ORDER BY 1, 2",
        2,
    );
}

/// A WHERE on public values alone leaves no group of a value that it excludes.
#[test]
fn a_where_on_public_values_applies_to_their_list() {
    let mut world = World::new();
    world.own(
        "SELECT dp_declare('visits', 'region', ARRAY['r0', 'r1', 'r2', 'r3', 'r4', 'r9']), \
         dp_declare('visits', 'note', ARRAY['n0', 'n1'])",
    );
    for (releases, sql) in [
        (
            1,
            "SELECT dept, count(*) FROM people WHERE dept = 'd1' GROUP BY dept",
        ),
        (
            1,
            "SELECT dept, count(*) FROM people WHERE dept BETWEEN 'd1' AND 'd3' AND salary > 1 GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT dept, count(*) FROM people WHERE NOT dept = ANY ('{d0,d4}') GROUP BY dept ORDER BY dept",
        ),
        (
            2,
            "SELECT dept, count(*) FROM people WHERE upper(dept) = 'D2' GROUP BY ROLLUP (dept) ORDER BY dept",
        ),
        (0, "SELECT DISTINCT dept FROM people WHERE dept LIKE '%3'"),
        (
            1,
            "SELECT region, note, count(*) FROM visits WHERE region IN ('r1', 'r3') AND note = 'n1' GROUP BY 1, 2 ORDER BY 1",
        ),
        (
            1,
            "SELECT region, count(*) FROM visits WHERE region < 'r2' AND note = 'n1' GROUP BY region ORDER BY region",
        ),
        (
            1,
            "SELECT region, count(*) FROM visits JOIN regions USING (region) WHERE region > 'r3' AND region < 'r9' GROUP BY 1",
        ),
        (
            1,
            "SELECT v.region, count(*) FROM visits v JOIN regions r ON r.region = v.region AND v.region = 'r0' GROUP BY 1",
        ),
    ] {
        world.same(sql, releases);
    }
    // Where a condition is about something else, too, or keeps rows that it does not hold for.
    for (groups, sql) in [
        (
            5,
            "SELECT dept, count(*) FROM people WHERE dept = 'd1' OR salary > 1 GROUP BY dept",
        ),
        (
            5,
            "SELECT dept, count(*) FROM people WHERE dept < born::text GROUP BY dept",
        ),
        (
            6,
            "SELECT v.region, count(*) FROM visits v JOIN regions r USING (region) WHERE r.country = 'c1' GROUP BY 1",
        ),
        (
            6,
            "SELECT v.region, count(*) FROM visits v LEFT JOIN regions r ON r.region = v.region AND v.region = 'r0' GROUP BY 1",
        ),
        (
            2,
            "SELECT note, count(*) FROM visits WHERE region = 'r1' GROUP BY note",
        ),
        // A public value without rows stays one.
        (
            1,
            "SELECT region, count(*) FROM visits WHERE region = 'r9' GROUP BY region",
        ),
        (
            0,
            "SELECT region, count(*) FROM visits WHERE region = 'r10' GROUP BY region",
        ),
        (
            0,
            "SELECT region, count(*) FROM visits WHERE region IS NULL GROUP BY region",
        ),
        // What would raise an error is NULL.
        (
            0,
            "SELECT region, count(*) FROM visits WHERE 1 / (ascii(region) - 114) > 0 GROUP BY region",
        ),
    ] {
        assert_eq!(table(&mut world.analyst, sql).len(), groups, "{sql}");
    }
    let sql = "SELECT dept, count(*) FROM people WHERE dept = $1 GROUP BY dept";
    for _ in 0..7 {
        let rows = world.analyst.query(sql, &[&"d2"]).expect("an answer");
        assert_eq!(rows.len(), 1);
    }
}

/// A key whose values the query says itself has its groups with rows and without, and needs no choice of them.
#[test]
fn keys_whose_values_the_query_says_need_no_choice() {
    let mut world = World::new();
    world.own(
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); CREATE TABLE moods AS \
             SELECT person, (enum_range(NULL::mood))[1 + person % 2] AS mood, person % 3 = 0 AS sure, \
             CASE WHEN person % 5 > 0 THEN salary END AS salary, date '2025-01-01' + person % 365 AS day FROM people; \
         ALTER TABLE moods ADD PRIMARY KEY (person), ALTER sure SET NOT NULL, ALTER day SET NOT NULL; ANALYZE moods;
         SELECT dp_protect('moods', 'person', 'all', query_eps => 20), dp_allow('moods', '{analyst}')",
    );
    for (groups, sql) in [
        (
            2,
            "SELECT sure, count(*) FROM moods GROUP BY sure ORDER BY sure",
        ),
        (
            2,
            "SELECT day > '2025-06-01', count(*) FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            2,
            "SELECT salary IS NULL, count(*) FROM moods GROUP BY 1 ORDER BY 1",
        ),
        // People without a salary are a group of their own.
        (
            3,
            "SELECT salary > 50000, count(*) FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            3,
            "SELECT CASE WHEN salary < 40000 THEN 'low' WHEN salary < 60000 THEN 'more' ELSE 'high' END, count(*) \
             FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            3,
            "SELECT CASE WHEN salary < 40000 THEN 'low' WHEN salary > 60000 THEN 'high' END, count(*) \
             FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            3,
            "SELECT coalesce(CASE WHEN salary < 40000 THEN 1 WHEN salary < 60000 THEN 2 END, 0), count(*) \
             FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            12,
            "SELECT extract(month FROM day), count(*) FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            7,
            "SELECT date_part('dow', day), count(*) FROM moods GROUP BY 1 ORDER BY 1",
        ),
        (
            4,
            "SELECT extract(quarter FROM day)::int, count(*) FROM moods WHERE extract(quarter FROM day) > 0 GROUP BY 1 ORDER BY 1",
        ),
        (
            2,
            "SELECT extract(month FROM day), count(*) FROM moods WHERE extract(month FROM day) <= 2 GROUP BY 1 ORDER BY 1",
        ),
        (
            1,
            "SELECT sure, count(*) FROM moods WHERE sure GROUP BY sure",
        ),
        (
            2,
            "SELECT mood, count(*) FROM moods WHERE mood IS NOT NULL AND mood < 'happy' GROUP BY mood ORDER BY mood",
        ),
    ] {
        world.same(sql, 1);
        assert_eq!(table(&mut world.analyst, sql).len(), groups, "{sql}");
    }
    for (groups, sql) in [
        (4, "SELECT mood, count(*) FROM moods GROUP BY mood"),
        (
            9,
            "SELECT width_bucket(day - date '2025-01-01', 60, 360, 6), count(*) FROM moods GROUP BY 1",
        ),
        (
            4,
            "SELECT sure, NOT sure AND day < '2025-03-01', count(*) FROM moods GROUP BY 1, 2",
        ),
        (
            3,
            "SELECT CASE WHEN sure THEN 1 WHEN NOT sure THEN 2 ELSE 3 END, count(*) FROM moods GROUP BY 1",
        ),
        (3, "SELECT DISTINCT salary > 1e9 FROM moods"),
        // Bins, what is below and above, and NULL.
        (
            202,
            "SELECT sure, width_bucket(salary, 0, 1e5, 98), count(*) FROM moods GROUP BY 1, 2",
        ),
    ] {
        assert_eq!(table(&mut world.analyst, sql).len(), groups, "{sql}");
    }
    // A number of groups that is too large is chosen from, and a text that is computed.
    for sql in [
        "SELECT width_bucket(salary, 0, 1e5, 20000), count(*) FROM moods GROUP BY 1",
        "SELECT extract(year FROM day), count(*) FROM moods GROUP BY 1",
        "SELECT CASE WHEN sure THEN NULL::text END, count(*) FROM moods GROUP BY 1",
        "SELECT extract(doy FROM day), extract(week FROM day), count(*) FROM moods GROUP BY 1, 2",
    ] {
        let mechanisms = world
            .analyst
            .query_one("SELECT mechanisms FROM dp_cost($1)", &[&sql]);
        let mechanisms: String = mechanisms.expect("a price").get(0);
        assert!(mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
}

#[test]
fn answers_have_the_types_of_plain_sql() {
    let mut world = World::new();
    let columns = "count(*) AS c1, count(paid) AS c2, count(DISTINCT patient) AS c3, avg(age) AS c4, avg(cost) AS c5, \
        avg(paid) AS c6, avg(points) AS c7, avg(rate) AS c8, sum(age) AS c9, sum(cost) AS c10, sum(paid) AS c11, \
        sum(points) AS c12, sum(rate) AS c13, stddev(age) AS c14, stddev(cost) AS c15, variance(paid) AS c16, \
        var_pop(rate) AS c17, sum(1) AS c18, avg(1.5) AS c19, count(*) * 1.5 AS c20";
    let keys =
        "region, note, day, at, age, age / 2 AS half, note || 'x' AS text, patient % 2 = 0 AS even";
    let groups = "region, note, day, at, age, age / 2, note || 'x', patient % 2 = 0";
    world.ask(&format!(
        "CREATE TABLE answers AS SELECT {columns} FROM visits"
    ));
    world.ask(&format!(
        "CREATE TABLE keys AS SELECT {keys}, count(*) FROM visits GROUP BY {groups}"
    ));
    world.own(&format!(
        "CREATE TABLE true_answers AS SELECT {columns} FROM visits"
    ));
    world.own(&format!(
        "CREATE TABLE true_keys AS SELECT {keys}, count(*) FROM visits GROUP BY {groups}"
    ));
    for (answers, truth) in [("answers", "true_answers"), ("keys", "true_keys")] {
        let types = |world: &mut World, table: &str| -> Vec<(String, String)> {
            let sql = format!(
                "SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute \
                 WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
            );
            let rows = rows(&mut world.owner, &sql);
            rows.iter().map(|row| (row.get(0), row.get(1))).collect()
        };
        let of_answers = types(&mut world, answers);
        assert!(of_answers.len() > 8);
        assert_eq!(of_answers, types(&mut world, truth));
    }
    // A driver reads them in their binary formats.
    let row = &rows(
        &mut world.analyst,
        "SELECT count(*), sum(age), avg(cost), sum(rate), avg(age)::float8, avg(rate) FROM visits",
    )[0];
    let (count, ages, mean): (i64, i64, f64) = (row.get(0), row.get(1), row.get(2));
    let (rates, age, rate): (f32, f64, f64) = (row.get(3), row.get(4), row.get(5));
    assert!(
        (39_900..40_100).contains(&count) && (1_900_000..2_050_000).contains(&ages),
        "{count} {ages}"
    );
    assert!(
        (mean - 50.0).abs() < 1.0 && (age - 49.3).abs() < 1.0,
        "{mean} {age}"
    );
    assert!(
        (rates - 70_000.0).abs() < 700.0 && (rate - 1.75).abs() < 0.1,
        "{rates} {rate}"
    );
}

#[test]
fn our_own_aggregates_have_their_own_price_and_bounds() {
    let mut world = World::new();
    let price = world.price(|world| {
        let row = &rows(
            &mut world.analyst,
            "SELECT (dp_mean_estimate(cost, 0, 100, 5)).* FROM visits",
        )[0];
        let (value, lower, upper): (f64, f64, f64) =
            (row.get("value"), row.get("lower"), row.get("upper"));
        assert!(
            lower < value && value < upper && upper - lower < 1.0,
            "{lower} {value} {upper}"
        );
        assert!((value - 50.0).abs() < 1.0, "{value}");
    });
    assert_eq!(price, (0.25, 1));
    // Narrower bounds clamp; a wider choice of them than the owner's is the analyst's loss.
    world.same_as(
        "SELECT dp_mean(cost, 20, 60, 10), dp_mean(cost, -1000, 1000, 10) FROM visits",
        "SELECT avg(least(greatest(cost, 20), 60)), avg(cost) FROM visits",
        1,
    );
    world.same_as(
        "SELECT dp_sum(cost, 0, 100, 10), dp_count(5), dp_count(note, 5) FROM visits",
        "SELECT sum(cost), count(*), count(note) FROM visits",
        1,
    );
    world.same_as(
        "SELECT region, dp_mean(cost, 0, 100, 10, 'laplace'), dp_stddev_pop(cost, 0, 100, 10) FROM visits \
         GROUP BY region ORDER BY region",
        "SELECT region, avg(cost), stddev(cost) FROM visits GROUP BY region ORDER BY region",
        2,
    );
    world.same_as(
        "SELECT unnest(dp_histogram(cost, 0, 100, 4, 20)) FROM visits",
        "SELECT count(*) FROM visits GROUP BY width_bucket(cost, 0, 100, 4)",
        1,
    );
}

/// PostgreSQL's quantiles, and ours, in either order.
#[test]
fn quantiles_have_private_answers() {
    let mut world = World::new();
    for (releases, sql) in [
        (
            1,
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary) FROM people",
        ),
        (
            2,
            "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY born DESC) FILTER (WHERE dept <> 'd1'), count(*) \
             FROM people WHERE salary > 30000",
        ),
        // Persons of several rows, in groups that are not public.
        (
            2,
            "SELECT region, percentile_cont(0.33) WITHIN GROUP (ORDER BY cost) FROM visits \
             GROUP BY region ORDER BY region",
        ),
        // Several are one release, and answers of integers are integers.
        (
            1,
            "SELECT unnest(percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY salary)) FROM people",
        ),
        (
            1,
            "SELECT unnest(percentile_cont('{0.3}'::float8[]) WITHIN GROUP (ORDER BY born)) FROM people",
        ),
        (
            3,
            "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY born), percentile_disc(0.2) WITHIN GROUP (ORDER BY \
             salary DESC), pg_typeof(percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY born)) FROM people",
        ),
        (
            3,
            "SELECT region, (percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY points))[2], \
             percentile_disc(0.4) WITHIN GROUP (ORDER BY paid) FROM visits GROUP BY region ORDER BY region",
        ),
    ] {
        world.same(sql, releases);
    }
    world.same_as(
        "SELECT unnest(dp_quantiles(salary, 0, 100000, ARRAY[0.2, 0.5], 20, 'em(grid=log)')) FROM people",
        "SELECT unnest(percentile_cont(ARRAY[0.2, 0.5]) WITHIN GROUP (ORDER BY salary)) FROM people",
        1,
    );
    world.same_as(
        "SELECT dp_quantile(salary, 0, 100000, 0.2, 20), dp_median(salary, 0, 100000, 20, 'em(grid=log)') FROM people",
        "SELECT percentile_cont(0.2) WITHIN GROUP (ORDER BY salary), percentile_cont(0.5) WITHIN GROUP (ORDER \
         BY salary) \
         FROM people",
        2,
    );
    for (sql, reason) in [
        (
            "percentile_cont(0) WITHIN GROUP (ORDER BY salary)",
            "dp_quantile: ",
        ),
        (
            "percentile_cont(NULL) WITHIN GROUP (ORDER BY salary)",
            "the argument of percentile_cont is NULL",
        ),
        (
            "percentile_cont(random()) WITHIN GROUP (ORDER BY salary)",
            "the argument of percentile_cont is not a constant",
        ),
        (
            "percentile_cont((SELECT 0.5)) WITHIN GROUP (ORDER BY salary)",
            "the argument of percentile_cont is not a constant",
        ),
        (
            "percentile_disc(1) WITHIN GROUP (ORDER BY born)",
            "dp_quantile: ",
        ),
        (
            "percentile_disc(ARRAY[0.5, random()]) WITHIN GROUP (ORDER BY born)",
            "the argument of percentile_disc is not a constant",
        ),
        (
            "percentile_cont(NULL::float8[]) WITHIN GROUP (ORDER BY salary)",
            "the argument of percentile_cont is NULL",
        ),
        (
            "percentile_cont('{{0.1, 0.5}}'::float8[]) WITHIN GROUP (ORDER BY salary)",
            "the argument of percentile_cont is an array of several dimensions",
        ),
        (
            "percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY salary DESC)",
            "in descending order",
        ),
        (
            "percentile_cont('{}'::float8[]) WITHIN GROUP (ORDER BY salary)",
            "dp_quantiles: argument \"qs\" must be an array of 1 to 1000",
        ),
        (
            "percentile_cont(ARRAY[0.5, NULL]) WITHIN GROUP (ORDER BY salary)",
            "dp_quantiles: argument \"qs\" must be an array of 1 to 1000",
        ),
        (
            "percentile_cont(ARRAY[0, 0.5]) WITHIN GROUP (ORDER BY salary)",
            "dp_quantiles: argument \"qs\" must be an array of 1 to 1000",
        ),
        (
            "percentile_disc(ARRAY[0.5, 1]) WITHIN GROUP (ORDER BY salary)",
            "dp_quantiles: argument \"qs\" must be an array of 1 to 1000",
        ),
        (
            "percentile_cont(array_fill(0.5::float8, '{1001}')) WITHIN GROUP (ORDER BY salary)",
            "dp_quantiles: argument \"qs\" must be an array of 1 to 1000",
        ),
        (
            "percentile_cont(ARRAY[0.5, 0.25]) WITHIN GROUP (ORDER BY salary)",
            "dp_quantiles: argument \"qs\" must be in ascending order",
        ),
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY (salary || ' days')::interval)",
            "has no private answer",
        ),
        (
            "percentile_disc(0.5) WITHIN GROUP (ORDER BY dept)",
            "has no private answer",
        ),
        (
            "dp_quantile(salary, 0, 100000, NULL, 20)",
            "argument \"q\" of dp_quantile is NULL",
        ),
        (
            "dp_quantiles(salary, 0, 100000, '{{0.1},{0.5}}', 20)",
            "argument \"qs\" of dp_quantiles has several dimensions",
        ),
        (
            "dp_quantiles(salary, 0, 100000, ARRAY[salary], 20)",
            "argument \"qs\" of dp_quantiles is not a constant",
        ),
    ] {
        let refusal = world.refused(&format!("SELECT {sql} FROM people"));
        assert!(refusal.message.contains(reason), "{sql}: {refusal:?}");
        assert!(!refusal.hint.is_empty(), "{sql}: {refusal:?}");
    }
}

/// What is asked of two columns: of the same two it is one release. Both visits of a patient have the same cost and
/// points, so that what is taken of a person is what their rows have.
#[test]
fn two_columns_have_private_answers() {
    let mut world = World::new();
    for (releases, sql) in [
        (
            1,
            "SELECT regr_slope(born + salary / 1000, born), \
             corr(born + salary / 1000, born), regr_r2(born + salary / 1000, born), regr_avgx(born + salary / 1000, born), \
             regr_avgy(born + salary / 1000, born), regr_count(born + salary / 1000, born), \
             covar_pop(born + salary / 1000, born), covar_samp(born + salary / 1000, born) FROM people",
        ),
        (
            2,
            "SELECT covar_pop(salary, salary + born), regr_intercept(born + salary / 1000, salary / 1000) FROM people",
        ),
        (1, "SELECT corr(salary, salary + born * 100) FROM people"),
        (
            2,
            "SELECT regr_slope(cost + points, cost), corr(cost + points, points) FILTER (WHERE region = 'r1') \
             FROM visits",
        ),
        (
            2,
            "SELECT region, regr_slope(cost + points, points) FROM visits GROUP BY region ORDER BY region",
        ),
        (
            1,
            "SELECT corr(paid, paid + rate) FROM visits WHERE day < '2030-01-01'",
        ),
    ] {
        world.same(sql, releases);
    }
    let own = "SELECT (r).slope, (r).correlation FROM (SELECT dp_regr(born + salary / 1000, born, 1900, 2120, \
     1900, 2020, 20) AS r \
               FROM people) s";
    let truth = "SELECT regr_slope(born + salary / 1000, born), corr(born + salary / 1000, born) FROM people";
    world.same_as(own, truth, 1);
    let refusal = world.refused("SELECT regr_sxx(salary, born) FROM people");
    assert!(refusal.message.contains("no private answer"), "{refusal:?}");
    let refusal = world.refused("SELECT corr(salary, person) FROM people");
    assert!(refusal.message.contains("no public bounds"), "{refusal:?}");
}

/// Where the owner allows it, means, sums and variances of what nothing bounds find bounds, of tables where a row is a
/// person.
#[test]
fn means_sums_and_variances_find_bounds_where_the_policy_says_so() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE incomes (person int PRIMARY KEY, income float8 NOT NULL, dept text);
         INSERT INTO incomes SELECT i, 20000 + i % 1000, 'd' || i % 2 FROM generate_series(1, 20000) i;
         CREATE TABLE payments (person int NOT NULL, amount float8 NOT NULL);
         INSERT INTO payments SELECT i % 20000, 50 FROM generate_series(1, 20000) i",
    );
    let protect = |world: &mut World, more: &str| {
        world.own(&format!(
            "SELECT dp_protect('incomes', 'person', 'all', query_eps => 20 {more}),
                 dp_protect('payments', 'person', 'all', query_eps => 20 {more}),
                 dp_allow('incomes', '{{analyst}}'), dp_allow('payments', '{{analyst}}')"
        ));
    };
    protect(&mut world, "");
    world.refused("SELECT avg(income) FROM incomes");
    protect(&mut world, ", auto_bounds => true");
    for (releases, sql) in [
        (1, "SELECT avg(income) FROM incomes"),
        (
            1,
            "SELECT avg(income * 2) FILTER (WHERE dept = 'd1') FROM incomes",
        ),
        (1, "SELECT sum(income) FROM incomes"),
        (1, "SELECT sum(20000 - income) FROM incomes"),
        // Of the same numbers one release, and of others another one.
        (1, "SELECT avg(income), count(income) FROM incomes"),
        (
            1,
            "SELECT sum(income), avg(income), count(*), avg(income) + 1 FROM incomes",
        ),
        (2, "SELECT avg(income), sum(income * 2) FROM incomes"),
        (
            2,
            "SELECT sum(income), sum(income) FILTER (WHERE dept = 'd1') FROM incomes",
        ),
        (
            2,
            "SELECT dept, avg(income) FROM incomes GROUP BY dept ORDER BY dept",
        ),
        (1, "SELECT stddev(income - 20500) FROM incomes"),
        (
            1,
            "SELECT var_samp(income - 20500) FROM incomes WHERE dept = 'd0'",
        ),
        // A variance is a release of its own.
        (
            2,
            "SELECT avg(income), var_pop(income - 20500) FROM incomes",
        ),
    ] {
        world.same(sql, releases);
    }
    for sql in [
        "SELECT stddev(amount) FROM payments",
        "SELECT avg(amount) FROM payments",
        "SELECT sum(amount) FROM payments",
        "SELECT avg(income) FROM incomes JOIN regions ON true",
    ] {
        let refusal = world.refused(sql);
        assert!(refusal.message.contains("no public bounds"), "{refusal:?}");
    }
    assert!(value::<bool>(
        &mut world.owner,
        "SELECT bool_and(auto_bounds = (unit = 'person' AND relation::text <> 'people')) \
         FROM dp_policies"
    ));
}

/// Tools fill sliders with the least and the greatest value: these are public bounds where the session asks for that.
#[test]
fn the_ends_of_a_column_are_its_public_bounds() {
    let mut world = World::new();
    let refusal = world.refused("SELECT min(cost) FROM visits");
    assert!(
        refusal.hint.contains("dp_quantile(x, lo, hi, 0.01, 0.1)"),
        "{refusal:?}"
    );
    world.ask("SET dp_mean.previews = 'empty'");
    for (releases, sql, answers) in [
        (
            0.0,
            "SELECT min(cost), max(cost) FROM visits",
            "SELECT 0::float8, 100::float8",
        ),
        (
            0.0,
            "SELECT max(age), min(paid), max(points), max(rate) FROM visits WHERE region = 'nowhere'",
            "SELECT 100, 0::numeric, 1000::bigint, 4::real",
        ),
        (
            1.0,
            "SELECT count(*) > 0, min(cost) FROM visits",
            "SELECT true, 0::float8",
        ),
        (
            0.0,
            "SELECT dept, max(salary) FROM people GROUP BY dept ORDER BY 1",
            "SELECT 'd' || i, 100000::float8 FROM generate_series(0, 4) i",
        ),
        (
            1.0,
            "SELECT region, max(cost) FROM visits GROUP BY region ORDER BY 1",
            "SELECT 'r' || i, 100::float8 FROM generate_series(0, 4) i",
        ),
    ] {
        let expected = table(&mut world.owner, answers);
        let mut found = Vec::new();
        let price = world.price(|world| found = table(&mut world.analyst, sql));
        assert_eq!((found, price.0), (expected, releases), "{sql}");
    }
    for sql in [
        "SELECT min(region) FROM visits",
        "SELECT max(day) FROM visits",
    ] {
        world.refused(sql);
    }
}

#[test]
fn a_session_chooses_a_lower_price() {
    let mut world = World::new();
    world.ask("SET dp_mean.epsilon = 5");
    let price =
        world.price(|world| world.ask("SELECT region, count(*) FROM visits GROUP BY region"));
    assert_eq!(price, (0.5, 1));
    world.ask("SET dp_mean.epsilon = 21");
    let refusal = world.refused("SELECT count(*) FROM visits");
    assert!(
        refusal
            .message
            .contains("dp_mean.epsilon is 21, above the 20"),
        "{refusal:?}"
    );
    assert!(
        refusal.hint.contains("SET dp_mean.epsilon = 20"),
        "{refusal:?}"
    );
    world.ask("RESET dp_mean.epsilon");
    world.same("SELECT count(*) FROM visits", 1);
}

/// What dp_cost says is what is charged, and one row a person has no inner level.
#[test]
fn the_cost_is_said_before_it_is_spent() {
    let mut world = World::new();
    for sql in [
        "SELECT count(*) FROM visits",
        "SELECT region, avg(cost), count(*), avg(age) FROM visits GROUP BY region",
        "SELECT region, note, count(*) FROM visits GROUP BY CUBE (region, note)",
        "SELECT dp_mean(cost, 0, 100, 0.25), dp_count(0.5) FROM visits",
        "SELECT dept, avg(salary) FROM people GROUP BY dept",
    ] {
        let said: f64 = world
            .analyst
            .query_one("SELECT sum(epsilon) FROM dp_cost($1)", &[&sql])
            .expect("a price")
            .get(0);
        assert!(world.spent().1 == 0 || said > 0.0);
        let price = world.price(|world| world.ask(sql));
        assert!(
            (price.0 * super::EPSILON - said).abs() < 1e-4,
            "{sql}: {price:?} {said}"
        );
    }
    for (sql, has_inner) in [
        ("SELECT avg(salary), count(*) FROM people", false),
        ("SELECT born, avg(salary) FROM people GROUP BY born", false),
        ("SELECT avg(cost) FROM visits", true),
        (
            "SELECT dept, avg(salary) FROM people JOIN regions ON region <> dept GROUP BY dept",
            true,
        ),
    ] {
        let rewritten: String = world
            .analyst
            .query_one("SELECT rewritten FROM dp_cost($1)", &[&sql])
            .expect("a price")
            .get(0);
        assert_eq!(
            rewritten.contains("dp_contribution"),
            has_inner,
            "{rewritten}"
        );
    }
}

#[test]
fn previews_are_empty_and_cost_nothing() {
    let mut world = World::new();
    world.ask("CREATE VIEW seen AS SELECT region, cost FROM visits WHERE age > 30");
    world.own("SELECT dp_create_view('visits', 'listed')");
    let previews = [
        "SELECT * FROM visits LIMIT 0",
        "SELECT id, region FROM visits WHERE age > 30 ORDER BY id LIMIT 0",
        "SELECT * FROM (SELECT region, cost FROM visits) AS custom LIMIT 0",
        "SELECT * FROM seen LIMIT 0",
        "SELECT * FROM listed LIMIT 0",
        "SELECT * FROM visits WHERE 1 = 0",
        "SELECT * FROM (SELECT * FROM visits) AS s WHERE false LIMIT 0",
        "WITH s AS (SELECT * FROM visits) SELECT * FROM s WHERE false",
    ];
    for sql in previews {
        let price = world.price(|world| {
            assert!(rows(&mut world.analyst, sql).is_empty(), "{sql}");
        });
        assert_eq!(price, (0.0, 0), "{sql}");
    }
    let sql = "SELECT * FROM visits LIMIT 100";
    let refusal = world.refused(sql);
    assert!(
        refusal.message.contains("the query has no aggregate"),
        "{refusal:?}"
    );
    world.ask("SET dp_mean.previews = 'empty'");
    for sql in [
        sql,
        "SELECT * FROM listed",
        "SELECT a.region FROM visits a, visits b",
    ] {
        assert!(rows(&mut world.analyst, sql).is_empty(), "{sql}");
    }
    world.same("SELECT count(*) FROM visits", 1);
}
