//! Groups: their keys, lists of public values, grouping sets.

use super::{World, table};

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

/// What a sub-query computes may be a key of GROUPING SETS.
#[test]
fn keys_of_sub_queries_are_in_grouping_sets() {
    let mut world = World::new();
    for sql in [
        "SELECT c, avg(cost) FROM (SELECT cost > 50 AS c, cost FROM visits) v GROUP BY ROLLUP (c) ORDER BY 1",
        "SELECT c, d, count(*), sum(cost) FROM (SELECT age > 50 AS c, cost < 20 AS d, cost FROM visits) v GROUP BY CUBE (c, d) \
         ORDER BY 1, 2",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.owner, sql));
        super::assert_alike(&answer, &truth, sql);
    }
}

/// Counts of listed groups are one release in one set and a release of their own in another: numbers of several types.
#[test]
fn counts_have_one_type_in_all_grouping_sets() {
    let mut world = World::new();
    for sql in [
        "SELECT cost > 50, count(*) FROM visits GROUP BY ROLLUP (1) ORDER BY 1",
        "SELECT extract(quarter FROM day), cost > 50, count(*) FROM visits GROUP BY CUBE (1, 2) ORDER BY 1, 2",
        "SELECT date_trunc('month', day), points > 500, count(*) FROM visits WHERE day BETWEEN '2025-01-01' AND '2025-02-28' \
         GROUP BY CUBE (1, 2) ORDER BY 1, 2",
        "SELECT r.country, extract(quarter FROM day), count(*) FROM visits JOIN regions r USING (region) GROUP BY CUBE (1, 2) \
         ORDER BY 1, 2",
        "SELECT cost > 50, age > 50, count(*) FROM visits GROUP BY GROUPING SETS ((1), (2), ()) ORDER BY 1, 2",
        "SELECT cost > 50, count(note) FROM visits GROUP BY ROLLUP (1) ORDER BY 1",
        "SELECT cost > 50, count(*) FILTER (WHERE age > 40), count(*) FROM visits GROUP BY ROLLUP (1) ORDER BY 1",
        "SELECT cost > 50, count(DISTINCT patient) FROM visits GROUP BY ROLLUP (1) ORDER BY 1",
        "SELECT cost > 50, count(*) FROM visits GROUP BY ROLLUP (1) HAVING count(*) > 19000 ORDER BY 1",
        "WITH w AS (SELECT * FROM visits) SELECT cost > 50, count(*) FROM w GROUP BY ROLLUP (1) ORDER BY 1",
    ] {
        let told = table(&mut world.analyst, sql);
        let truth = table(&mut world.owner, sql);
        super::assert_alike(&told, &truth, sql);
    }
}
