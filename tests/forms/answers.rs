//! The result: the values, their types, and their price.

use dp_mean_tests::{refused, rows, run, value};

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
            "SELECT sum(n)::bigint FROM (SELECT id % 3, patient % 7, dp_count(1, 1.0, 'geometric(rows=1)') AS n \
             FROM visits GROUP BY 1, 2) s",
            "dp_count: geometric(groups=2, rows=1), dp_keep: keep(groups=2, rows=1)",
            40000,
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

/// What is the same in all rows is its own least and greatest: tools count NULLs so, in columns that have none.
#[test]
fn a_constant_is_its_own_end() {
    let mut world = World::new();
    for (sql, releases) in [
        (
            "SELECT count(DISTINCT patient) + max(CASE WHEN patient IS NULL THEN 1 ELSE 0 END) FROM visits",
            1,
        ),
        (
            "SELECT max(1), min(0.1), max(2.5::real), min(-3::bigint) FROM visits",
            0,
        ),
        (
            "SELECT dept, min(2) FROM people WHERE dept = 'd1' GROUP BY dept",
            0,
        ),
        (
            "SELECT region, count(*), max(CASE WHEN cost IS NOT NULL THEN 1 ELSE 0 END) FROM visits GROUP BY 1 ORDER BY 1",
            2,
        ),
    ] {
        world.same(sql, releases);
    }
    // Where there may be NULLs, and where a filter may leave no row, rows decide.
    for sql in [
        "SELECT max(CASE WHEN paid IS NULL THEN 1 ELSE 0 END) FROM visits",
        "SELECT max(1) FILTER (WHERE cost > 99) FROM visits",
        "SELECT max(CASE WHEN v.patient IS NULL THEN 1 ELSE 0 END) FROM people p LEFT JOIN visits v ON v.patient = p.person",
        "SELECT max(9007199254740993) FROM visits",
    ] {
        let refusal = world.refused(sql);
        assert!(refusal.message.contains("one person"), "{sql}: {refusal:?}");
    }
}

/// The least and the greatest day of a column are those that its owner has declared, whatever the rows are.
#[test]
fn the_ends_of_a_column_of_days_are_those_that_are_declared() {
    let mut world = World::new();
    let refusal = world.refused("SELECT max(day) FROM visits");
    assert!(refusal.hint.contains("dp_declare"), "{refusal:?}");
    world.own(
        "SET TimeZone = 'Asia/Tokyo'; ALTER TABLE visits ADD COLUMN seen timestamp; \
         SELECT dp_declare('visits', 'day', '2024-01-01', '2026-12-31'); \
         SELECT dp_declare('visits', 'at', timestamptz '2024-01-01 00:00+00', '2026-12-31 12:30:00.5+00'); \
         SELECT dp_declare('visits', 'seen', date '2024-01-01', date '2026-12-31')",
    );
    let all = "SELECT min(day), max(day), min(at), max(at), min(seen), max(seen) FROM visits";
    let declared = "SELECT date '2024-01-01', date '2026-12-31', timestamptz '2024-01-01 00:00+00', \
                    timestamptz '2026-12-31 12:30:00.5+00', timestamp '2024-01-01', timestamp '2026-12-31'";
    let answers = [
        (all, declared),
        (
            "SELECT min(v.day) AS first, max(day) FILTER (WHERE 1 / (age - 20) > 0) FROM visits v WHERE region = 'nowhere'",
            "SELECT date '2024-01-01', date '2026-12-31'",
        ),
        (
            "SELECT dept, max(v.day) + 1 FROM people JOIN visits v ON person = patient GROUP BY dept ORDER BY 1",
            "SELECT 'd' || i, date '2027-01-01' FROM generate_series(0, 4) i",
        ),
        (
            "SELECT min(day) FROM (SELECT * FROM visits) AS v",
            "SELECT date '2024-01-01'",
        ),
    ];
    for style in ["ISO, DMY", "SQL, DMY", "German"] {
        let style = format!("SET DateStyle = '{style}'; SET TimeZone = 'America/New_York'");
        world.ask(&style);
        world.own(&style);
        for (sql, plain) in answers {
            let expected = table(&mut world.owner, plain);
            let mut found = Vec::new();
            let price = world.price(|world| found = table(&mut world.analyst, sql));
            assert_eq!((found, price.0), (expected, 0.0), "{sql}");
        }
    }
    for sql in [
        "SELECT min(day + 1) FROM visits",
        "SELECT max(day::timestamp) FROM visits",
        "SELECT mode() WITHIN GROUP (ORDER BY day) FROM visits",
        "SELECT max(day - date '2024-01-01') FROM visits",
    ] {
        world.refused(sql);
    }
    let expected = table(&mut world.owner, declared);
    world.own("ALTER TABLE visits RENAME COLUMN day TO day_of_visit; TRUNCATE visits");
    let renamed = all.replace("(day)", "(day_of_visit)");
    assert_eq!(table(&mut world.analyst, &renamed), expected);
    // Of another type it has no days, or those of the same moments.
    world.own("ALTER TABLE visits ALTER COLUMN day_of_visit TYPE bigint USING 0");
    world.refused("SELECT min(day_of_visit) FROM visits");
    world.own("ALTER TABLE visits ALTER COLUMN at TYPE date");
    let expected = table(
        &mut world.owner,
        "SELECT date '2024-01-01', date '2026-12-31'",
    );
    let found = table(&mut world.analyst, "SELECT min(at), max(at) FROM visits");
    assert_eq!(found, expected);
    world.own("SELECT dp_declare('visits', 'at', NULL, NULL)");
    world.refused("SELECT min(at) FROM visits");
}

/// Ends of days that are none, and those of a table of somebody else.
#[test]
fn ends_of_days_that_are_none_are_refused() {
    let mut world = World::new();
    for (sql, code) in [
        (
            "dp_declare('visits', 'day', '2026-01-02', '2026-01-01')",
            "22023",
        ),
        (
            "dp_declare('visits', 'day', '-infinity', '2026-01-01')",
            "22023",
        ),
        (
            "dp_declare('visits', 'day', '2026-01-01', date 'infinity')",
            "22023",
        ),
        (
            "dp_declare('visits', 'at', '2026-01-01', '10000-01-02')",
            "22023",
        ),
        ("dp_declare('visits', 'day', '2026-01-01', NULL)", "22023"),
        (
            "dp_declare('visits', 'age', date '2026-01-01', date '2026-01-02')",
            "22023",
        ),
        ("dp_declare('visits', 'day', 'a', 'b')", "22007"),
    ] {
        let refusal = refused(&mut world.owner, &format!("SELECT {sql}"));
        assert_eq!(refusal.code, code, "{sql}: {refusal:?}");
    }
    for label in [
        r#"{"moments": ["2026-01-01", "yesterday"]}"#,
        r#"{"moments": ["2026-01-01", "2026-01-01 25:00:00.000000"]}"#,
        r#"{"moments": ["2026-02-30", "2026-03-01"]}"#,
    ] {
        let sql = format!("SECURITY LABEL FOR dp_mean ON COLUMN visits.day IS '{label}'");
        refused(&mut world.owner, &sql);
    }
    let sql = "SELECT dp_declare('visits', 'day', '2026-01-01', '2026-01-02')";
    let refusal = refused(&mut world.analyst, sql);
    assert_eq!(refusal.code, "42501", "{refusal:?}");
    // Texts of a column of numbers are its bounds, and those of NULL are taken away.
    world.own("SELECT dp_declare('visits', 'age', '0', '100')");
    world.same("SELECT avg(age) FROM visits", 1);
    world.own("SELECT dp_declare('visits', 'age', NULL, NULL)");
    world.refused("SELECT avg(age) FROM visits");
}

/// An expression has the bounds that its owner declares, wherever it is, and none that is another one has.
#[test]
fn expressions_have_the_bounds_that_are_declared() {
    let mut world = World::new();
    let gain = "SELECT avg(id - patient) FROM visits";
    world.refused(gain);
    world.own("SELECT dp_declare('visits', 'id-patient', 0, 20000), dp_declare('visits', '-id', -40000, 0)");
    for sql in [
        gain,
        "SELECT sum(v.id - v.patient), count(*) FROM visits AS v",
        "SELECT avg(abs((id - patient)::float8) / 2 + 1) FROM visits",
        "SELECT avg(CASE WHEN age > 30 THEN id - patient ELSE 0 END) FROM visits",
        "SELECT avg(gain) FROM (SELECT id - patient AS gain, region FROM visits) AS v",
        "SELECT avg(most) FROM (SELECT patient, max(id - patient) AS most FROM visits GROUP BY patient) AS v",
        "SELECT avg(v.id - v.patient) FROM people AS p JOIN visits AS v ON p.person = v.patient",
        "SELECT avg(-id) FROM visits",
    ] {
        world.same(sql, if sql.contains("count(*)") { 2 } else { 1 });
    }
    for sql in [
        "SELECT avg(patient - id) FROM visits",
        "SELECT avg(id - patient - id) FROM visits",
        "SELECT avg(p.person - v.patient) FROM people AS p JOIN visits AS v ON p.person = v.patient",
    ] {
        world.refused(sql);
    }
    // What follows from columns holds too, where both can.
    world.own(
        "SELECT dp_declare('visits', 'cost * 2', 50, 1000), dp_declare('visits', 'cost * 3', 900, 1000); \
         SELECT dp_declare('visits', 'cost + 0.5::float8', -50, 50)",
    );
    world.ask("SET dp_mean.previews = 'empty'");
    let ends = |world: &mut World, x: &str| {
        table(
            &mut world.analyst,
            &format!("SELECT min({x}), max({x}) FROM visits"),
        )
    };
    for (x, lo, hi) in [
        ("cost * 2", 50, 200),
        ("cost * 3", 900, 1000),
        ("cost * 2 - 1", 49, 199),
        ("id - patient", 0, 20000),
    ] {
        let found = ends(&mut world, x);
        let kind = if x.contains("id") {
            "integer"
        } else {
            "float8"
        };
        let plain = format!("SELECT {lo}::{kind}, {hi}::{kind}");
        assert_eq!(found, table(&mut world.owner, &plain), "{x}");
    }
    // Renames and another policy change nothing; a column that has gone, or has another type, has no such expression.
    world.own(
        "ALTER TABLE visits RENAME COLUMN id TO patient_id; ALTER TABLE visits RENAME COLUMN patient TO id; \
         SELECT dp_protect('visits', 'id', 'all', groups => 2, rows => 2, query_eps => 20, query_delta => 1e-6)",
    );
    world.same("SELECT avg(patient_id - id) FROM visits", 1);
    world.refused("SELECT avg(id - patient_id) FROM visits");
    world.own("ALTER TABLE visits ALTER COLUMN patient_id TYPE bigint");
    world.same("SELECT avg(patient_id - id) FROM visits", 1);
    world.own("ALTER TABLE visits ALTER COLUMN patient_id TYPE text");
    refused(
        &mut world.analyst,
        "SELECT avg(patient_id - id) FROM visits",
    );
    world.same("SELECT count(*) FROM visits", 1);
    world.own("ALTER TABLE visits DROP COLUMN patient_id; SELECT dp_declare('visits', 'cost * 2', NULL, NULL)");
    world.same("SELECT avg(cost) FROM visits", 1);
    assert_eq!(
        ends(&mut world, "cost * 2"),
        table(&mut world.owner, "SELECT 0::float8, 200::float8")
    );
}

/// What is no expression over the columns, or may not be used on rows, has no bounds; nor has that of somebody else's table.
#[test]
fn bounds_are_declared_of_safe_expressions_alone() {
    let mut world = World::new();
    let schema = world.with_roles("CREATE SCHEMA evil AUTHORIZATION {owner}");
    run(&mut world.database.connect(), &schema);
    world.own(
        "CREATE TABLE other AS SELECT 1 AS x; \
         CREATE FUNCTION evil.tell() RETURNS int IMMUTABLE LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM set_config('told.it', 'yes', false); RETURN 1; END $$; \
         CREATE FUNCTION evil.minus(int, int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN evil.tell(); END'; \
         CREATE OPERATOR evil.- (FUNCTION = evil.minus, LEFTARG = int, RIGHTARG = int); \
         GRANT USAGE ON SCHEMA evil TO PUBLIC",
    );
    world.own("CREATE TYPE pair AS (a int, b int); ALTER TABLE visits ADD pair pair");
    for text in [
        "id - (SELECT max(x) FROM other)",
        "id FROM visits",
        "id, patient",
        "id AS x",
        "id WHERE true",
        "id LIMIT 1",
        "id ORDER BY 1",
        "id UNION SELECT 1",
        "id; DROP TABLE other",
        "DISTINCT id",
        "id - nosuch",
        "id -",
        "",
        "1 + 1",
        "$1 - $2",
        "note || note",
        "visits",
        "ctid",
        "sum(id)",
        "row_number() OVER ()",
        "generate_series(1, id)",
        "id * random()",
        "id + extract(year FROM now())",
        "id + note::int",
        "id + evil.tell()",
        "id OPERATOR(evil.-) patient",
        "(pair).a + id",
    ] {
        let sql = format!("SELECT dp_declare('visits', '{text}', 0, 1)");
        let refusal = refused(&mut world.owner, &sql);
        assert_eq!(refusal.code, "22023", "{text}: {refusal:?}");
    }
    let told = "SELECT coalesce(current_setting('told.it', true), '')";
    assert_eq!(value::<String>(&mut world.owner, told), "");
    let sql = "SELECT dp_declare('visits', 'id - patient', 0, 1)";
    let refusal = refused(&mut world.analyst, sql);
    assert_eq!(refusal.code, "42501", "{refusal:?}");
    refused(
        &mut world.owner,
        "SELECT dp_declare('other', 'x + 1', 0, 1)",
    );
    refused(
        &mut world.owner,
        "SELECT dp_declare('visits', 'id - patient', 1, 0)",
    );
    // Operators are PostgreSQL's, whatever is found first.
    world.own("SET search_path = evil, pg_catalog, public; SELECT dp_declare('visits', 'id - patient', 0, 20000)");
    world.own("RESET search_path");
    world.same("SELECT avg(id - patient) FROM visits", 1);
    world.ask("SET search_path = evil, pg_catalog, public");
    world.refused("SELECT avg(id - patient) FROM visits");
    world.ask("RESET search_path");
    // A label that somebody writes by hand is read with the same care, and runs nothing of an owner.
    world.own(
        "DO $$ DECLARE label jsonb; BEGIN \
         SELECT s.label::jsonb INTO label FROM pg_seclabel s WHERE objoid = 'visits'::regclass AND objsubid = 0; \
         label := jsonb_set(label, '{expressions}', \
         '[{\"sql\": \"$1 - $2 * evil.tell()\", \"bounds\": [0, 1]}, {\"sql\": \"(\", \"bounds\": [0, 1]}]'); \
         EXECUTE format('SECURITY LABEL FOR dp_mean ON TABLE visits IS %L', label); END $$",
    );
    world.same("SELECT count(*) FROM visits", 1);
    assert_eq!(value::<String>(&mut world.analyst, told), "");
    world.refused("SELECT avg(id - patient) FROM visits");
    // The same without the defence, in a session that has not read it.
    let analyst = world.with_roles("{analyst}");
    let mut open = world.database.connect_as(&analyst);
    run(&mut open, "SELECT dp_test_defence('declared', false)");
    run(&mut open, "SELECT count(*) FROM visits");
    assert_eq!(value::<String>(&mut open, told), "yes");
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
