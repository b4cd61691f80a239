//! What has no private answer is refused, for nothing, with a reason and a hint that works.

use dp_mean_tests::{Refusal, refusal, refused, rows, run};

use super::{World, assert_alike, table};

/// That a refusal has this reason, some advice, and nothing of a row: its words are the same whatever the rows are.
fn check(world: &mut World, sql: &str, reason: &str) -> Refusal {
    let refused = world.refused(sql);
    // PostgreSQL's own refusal has no reason behind the table.
    let is_ours = refused.message.starts_with("permission denied for table ")
        && refused.message.contains(": ");
    assert!(is_ours, "{sql}: {refused:?}");
    assert!(refused.message.contains(reason), "{sql}: {refused:?}");
    assert!(
        !refused.hint.is_empty() && refused.detail.is_empty(),
        "{sql}: {refused:?}"
    );
    refused
}

/// Statements, each with the reason why it is refused.
type Case = (&'static str, &'static str);

/// Nothing of a message depends on a row: where the table is empty, all are refused in the same words.
fn check_all(cases: &[Case]) {
    let mut world = World::new();
    let said: Vec<_> = cases
        .iter()
        .map(|(sql, reason)| check(&mut world, sql, reason))
        .collect();
    world.own("DELETE FROM visits; DELETE FROM people");
    for ((sql, _), said) in cases.iter().zip(said) {
        assert_eq!(world.refused(sql), said, "{sql}");
    }
}

const NO_AGGREGATE: &str = "the query has no aggregate";
const ONLY_READ: &str = "protected tables can only be read, without row locks";
const SYSTEM: &str = "system columns and whole rows";

#[test]
fn rows_are_not_shown() {
    check_all(&[
        ("SELECT * FROM visits", NO_AGGREGATE),
        ("SELECT cost FROM visits WHERE id = 3", NO_AGGREGATE),
        ("TABLE visits", NO_AGGREGATE),
        ("SELECT FROM visits", NO_AGGREGATE),
        ("SELECT 1 FROM visits", NO_AGGREGATE),
        (
            "SELECT DISTINCT ON (region) region, cost FROM visits",
            NO_AGGREGATE,
        ),
        ("SELECT region, count(*) OVER () FROM visits", NO_AGGREGATE),
        (
            "SELECT row_number() OVER (ORDER BY cost) FROM visits",
            NO_AGGREGATE,
        ),
        ("SELECT generate_series(1, age) FROM visits", NO_AGGREGATE),
        ("VALUES ((SELECT cost FROM visits LIMIT 1))", NO_AGGREGATE),
        ("COPY (SELECT * FROM visits) TO STDOUT", NO_AGGREGATE),
        ("CREATE TABLE mine AS SELECT * FROM visits", NO_AGGREGATE),
        (
            "CREATE MATERIALIZED VIEW mine AS SELECT * FROM visits",
            NO_AGGREGATE,
        ),
        (
            "DECLARE c CURSOR WITH HOLD FOR SELECT * FROM visits",
            NO_AGGREGATE,
        ),
        ("SELECT row_to_json(v) FROM visits v", NO_AGGREGATE),
        (
            "SELECT region, age FROM visits WHERE age > 30 UNION SELECT region, 3 FROM regions",
            NO_AGGREGATE,
        ),
        (
            "DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM visits LOOP RAISE NOTICE '%', r; END LOOP; END $$",
            NO_AGGREGATE,
        ),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r, visits WHERE i < 3) SELECT * FROM r",
            NO_AGGREGATE,
        ),
        (
            "SELECT count(*) FROM (SELECT * FROM visits LIMIT 10) s",
            "LIMIT or OFFSET",
        ),
        (
            "SELECT count(*) FROM (SELECT * FROM visits ORDER BY cost OFFSET 1) s",
            "LIMIT or OFFSET",
        ),
        (
            "SELECT avg(cost), age FROM visits GROUP BY cost, age HAVING count(*) = 1 AND (SELECT cost > 3)",
            "sub-query",
        ),
    ]);
}

/// Tools that drop the HINT show it with the message, if they are asked to.
#[test]
fn a_hint_may_stand_in_the_message() {
    let mut world = World::new();
    let sql = "SELECT cost FROM visits WHERE id = 3";
    let plain = world.refused(sql);
    world.ask("SET dp_mean.hints_in_messages = on");
    let both = world.refused(sql);
    assert_eq!(
        both.message,
        format!("{} (hint: {})", plain.message, plain.hint)
    );
    assert_eq!(both.hint, plain.hint);
    // Errors of arguments, too, and none of others.
    let refusal = refused(&mut world.analyst, "SELECT dp_count(-1) FROM regions");
    assert!(refusal.message.contains(" (hint: "), "{refusal:?}");
    let refusal = refused(&mut world.analyst, "SELECT * FROM nowhere");
    assert!(!refusal.message.contains(" (hint: "), "{refusal:?}");
}

#[test]
fn a_block_is_about_nothing_from_outside() {
    check_all(&[
        (
            "SELECT * FROM regions r, LATERAL (SELECT count(*) FROM visits v WHERE v.region = r.region) s",
            "a column of an outer query",
        ),
        (
            "SELECT (SELECT count(*) FROM visits v WHERE v.region = r.region) FROM regions r",
            "a column of an outer query",
        ),
        (
            "SELECT (SELECT avg(v.cost * r.factor) FROM visits v) FROM regions r",
            "a column of an outer query",
        ),
        (
            "SELECT region FROM regions r WHERE EXISTS (SELECT FROM visits v WHERE v.region = r.region)",
            NO_AGGREGATE,
        ),
        (
            "SELECT region FROM regions WHERE region IN (SELECT region FROM visits)",
            NO_AGGREGATE,
        ),
        (
            "SELECT region FROM regions WHERE region = ANY (SELECT region FROM visits WHERE id = 3)",
            NO_AGGREGATE,
        ),
        (
            "SELECT EXISTS (SELECT FROM visits WHERE cost > 99)",
            NO_AGGREGATE,
        ),
        ("SELECT ARRAY(SELECT cost FROM visits)", NO_AGGREGATE),
        (
            "SELECT count(*) FROM visits WHERE region = ALL (SELECT region FROM people p WHERE p.person = patient)",
            "sub-queries",
        ),
        (
            "SELECT avg((SELECT factor FROM regions LIMIT 1)) FROM visits",
            "no public bounds",
        ),
        (
            "SELECT region, (SELECT factor FROM regions r WHERE r.region = v.region), count(*) FROM visits v \
             GROUP BY region",
            "a sub-query in the select list",
        ),
        (
            "SELECT count(*) FROM visits v JOIN people p ON v.age = p.born",
            "by something else than the person",
        ),
        (
            "SELECT count(*) FROM visits a JOIN visits b USING (region)",
            "by something else than the person",
        ),
        (
            "SELECT count(*) FROM visits FULL JOIN regions USING (region)",
            "the table is on the nullable side of an outer join",
        ),
        (
            "SELECT count(*) FROM regions LEFT JOIN visits USING (region)",
            "the table is on the nullable side of an outer join, and an aggregate takes rows without a match",
        ),
        (
            "SELECT count(*) FROM visits, generate_series(1, age)",
            "a joined item is not a plain table",
        ),
    ]);
}

#[test]
fn the_table_is_not_written_or_locked() {
    check_all(&[
        ("DELETE FROM visits", ONLY_READ),
        ("UPDATE visits SET cost = 1 WHERE region = 'r1'", ONLY_READ),
        ("INSERT INTO visits (id) VALUES (1)", ONLY_READ),
        (
            "DELETE FROM visits WHERE id IN (SELECT count(*) FROM visits)",
            ONLY_READ,
        ),
        (
            "UPDATE regions SET factor = 1 FROM visits WHERE visits.cost > 3",
            ONLY_READ,
        ),
        (
            "MERGE INTO visits v USING regions r ON v.region = r.region WHEN MATCHED THEN DELETE",
            ONLY_READ,
        ),
        (
            "MERGE INTO regions r USING visits v ON v.region = r.region WHEN MATCHED THEN DELETE",
            ONLY_READ,
        ),
        ("SELECT * FROM visits FOR UPDATE", ONLY_READ),
        ("SELECT * FROM visits FOR KEY SHARE", ONLY_READ),
        (
            "SELECT count(*) FROM (SELECT * FROM visits FOR UPDATE) s",
            ONLY_READ,
        ),
        ("INSERT INTO visits SELECT * FROM visits", ONLY_READ),
    ]);
    let mut world = World::new();
    for sql in [
        "LOCK visits IN ACCESS SHARE MODE",
        "LOCK visits",
        "TRUNCATE visits",
        "COPY visits (region) FROM STDIN",
        "CREATE TRIGGER t AFTER INSERT ON visits EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE INDEX ON visits (cost)",
        "COMMENT ON TABLE visits IS 'mine'",
        "SECURITY LABEL FOR dp_mean ON TABLE visits IS NULL",
        "ALTER TABLE visits DISABLE ROW LEVEL SECURITY",
        "SELECT dp_unprotect('visits')",
        "SELECT dp_allow('visits', '{other}')",
        "SELECT dp_declare('visits', 'cost', 0, 1)",
    ] {
        world.ask("BEGIN");
        let sql = world.with_roles(sql);
        world.refused(&sql);
        world.ask("ROLLBACK");
    }
}

#[test]
fn copy_shows_no_rows() {
    let mut world = World::new();
    for sql in ["COPY visits TO STDOUT", "COPY visits (region) TO STDOUT"] {
        let refusal = check(&mut world, sql, "COPY would return its rows");
        assert!(
            refusal
                .hint
                .starts_with("COPY (SELECT region, avg(cost), count(*)"),
            "{refusal:?}"
        );
    }
    let mut other = world.database.connect_as(&world.with_roles("{other}"));
    let error = other
        .simple_query("COPY visits TO STDOUT")
        .expect_err("no rights");
    assert_eq!(
        refusal(&error, "COPY").message,
        "permission denied for table visits"
    );
    world.own("GRANT SELECT (region) ON visits TO {analyst}");
    assert!(
        world
            .analyst
            .copy_out("COPY visits (region) TO STDOUT")
            .is_ok()
    );
}

#[test]
fn rows_have_no_places_and_no_wholes() {
    check_all(&[
        (
            "SELECT count(*) FROM visits TABLESAMPLE SYSTEM (10)",
            "TABLESAMPLE",
        ),
        (
            "SELECT count(*) FROM visits TABLESAMPLE BERNOULLI (10) REPEATABLE (1)",
            "TABLESAMPLE",
        ),
        ("SELECT count(ctid) FROM visits", SYSTEM),
        ("SELECT ctid, count(*) FROM visits GROUP BY ctid", SYSTEM),
        ("SELECT count(*) FROM visits WHERE ctid = '(0,1)'", SYSTEM),
        ("SELECT xmin, count(*) FROM visits GROUP BY 1", SYSTEM),
        ("SELECT count(*) FROM visits WHERE tableoid > 0", SYSTEM),
        ("SELECT count(v) FROM visits v", SYSTEM),
        ("SELECT count(v.*) FROM visits v", SYSTEM),
        (
            "SELECT count(*) FROM visits v WHERE v IS NOT NULL",
            "IS NULL of a row cannot be used on its rows",
        ),
        (
            "SELECT count(*) FROM visits v WHERE v::text LIKE '%r1%'",
            SYSTEM,
        ),
        ("SELECT v, count(*) FROM visits v GROUP BY v", SYSTEM),
    ]);
}

#[test]
fn only_functions_of_postgresql_see_rows() {
    let mut world = World::new();
    world.ask(
        "CREATE FUNCTION mine(x float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
             BEGIN RAISE NOTICE '%', x; RETURN x; END $$;
         CREATE FUNCTION mine(x float8, y float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$
             BEGIN RAISE NOTICE '%', x; RETURN x; END $$;
         CREATE FUNCTION leaky(x float8, y float8) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT mine(x) + y $$;
         CREATE OPERATOR ### (LEFTARG = float8, RIGHTARG = float8, FUNCTION = mine);
         CREATE TYPE choice AS ENUM ('r1', 'r2');
         CREATE FUNCTION to_choice(text) RETURNS choice LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 'r1'; END $$;
         CREATE DOMAIN small AS float8 CHECK (value < 3);
         CREATE DOMAIN loud AS float8 CHECK (mine(value) < 3);
         CREATE FUNCTION add(float8, float8) RETURNS float8 LANGUAGE plpgsql AS $$
             BEGIN RAISE NOTICE '%', $2; RETURN 0; END $$;
         CREATE AGGREGATE my_avg (float8) (SFUNC = add, STYPE = float8, INITCOND = '0')",
    );
    let own = "is not one of PostgreSQL's own";
    for (sql, reason) in [
        ("SELECT avg(mine(cost)) FROM visits", own),
        ("SELECT avg(leaky(cost, 1)) FROM visits", own),
        ("SELECT count(*) FROM visits WHERE mine(cost) > 3", own),
        (
            "SELECT count(*) FILTER (WHERE mine(cost) > 3) FROM visits",
            own,
        ),
        ("SELECT mine(cost), count(*) FROM visits GROUP BY 1", own),
        (
            "SELECT count(*) FROM visits v JOIN regions r ON mine(v.cost) > factor",
            own,
        ),
        ("SELECT avg(cost ### 1) FROM visits", own),
        (
            "SELECT count(*) FROM visits WHERE region::choice = 'r1'",
            "a cast through text",
        ),
        (
            "SELECT count(*) FROM visits WHERE to_choice(region) = 'r1'",
            own,
        ),
        ("SELECT avg(cost::small) FROM visits", "COERCETODOMAIN"),
        (
            "SELECT count(*) FROM visits WHERE cost::loud > 3",
            "COERCETODOMAIN",
        ),
        ("SELECT my_avg(cost) FROM visits", "aggregate my_avg"),
        ("SELECT avg(note::int) FROM visits", "a cast through text"),
        (
            "SELECT avg(region::float8) FROM visits",
            "a cast through text",
        ),
        (
            "SELECT extra ->> 'a', count(*) FROM visits GROUP BY 1",
            "function jsonb_object_field_text",
        ),
        (
            "SELECT count(*) FROM visits WHERE extra @> '{\"a\": 1}'",
            "function jsonb_contains",
        ),
        (
            "SELECT count(*) FROM visits WHERE extra ? 'a'",
            "function jsonb_exists",
        ),
        (
            "SELECT extra, count(*) FROM visits GROUP BY extra",
            "cannot group by values",
        ),
        (
            "SELECT count(*) FROM visits WHERE random() < 0.5",
            "is volatile",
        ),
        (
            "SELECT count(*) FROM visits WHERE pg_sleep(cost) IS NULL",
            "is volatile",
        ),
        (
            "SELECT count(*) FROM visits WHERE cost > nextval('s')",
            "is volatile",
        ),
        (
            "SELECT count(*) FROM visits WHERE region ~ note",
            "needs a pattern that is constant",
        ),
        (
            "SELECT count(*) FROM visits WHERE now() AT TIME ZONE region IS NULL",
            "needs a time zone that is constant",
        ),
        (
            "SELECT count(*) FROM visits WHERE current_setting('a.' || region, true) = 'x'",
            "current_setting",
        ),
    ] {
        if sql.contains("nextval") {
            world.ask("CREATE SEQUENCE s");
        }
        check(&mut world, sql, reason);
    }
    // Around a block, they see answers.
    world.same(
        "SELECT mine(avg(cost)), avg(cost) ### 1, mine(count(*)) FROM visits",
        1,
    );
}

#[test]
fn bounds_and_prices_are_public_constants() {
    let bounds = "lo < hi, from -1e100 to 1e100";
    check_all(&[
        (
            "SELECT dp_mean(cost, -1e101, 1e101, 0.1) FROM visits",
            bounds,
        ),
        ("SELECT dp_mean(cost, 0, 1e308, 0.1) FROM visits", bounds),
        (
            "SELECT dp_sum(cost, 0, 'infinity', 0.1) FROM visits",
            bounds,
        ),
        ("SELECT dp_mean(cost, 5, 5, 0.1) FROM visits", bounds),
        ("SELECT avg(cost * 1e99) FROM visits", "may exceed 1e100"),
        (
            "SELECT avg(length(note)) FROM visits",
            "no public bounds are declared for the argument of avg",
        ),
        (
            "SELECT avg(cost), avg(cost + id) FROM visits",
            "no public bounds are declared for the argument of avg: column id has none",
        ),
        (
            "SELECT sum(1 / cost) FROM visits",
            "no public bounds are declared for the argument of sum",
        ),
        (
            "SELECT dp_mean(cost, 0, 100, rate) FROM visits",
            "argument \"eps\" of dp_mean is not a constant",
        ),
        (
            "SELECT dp_count(cost) FROM visits",
            "argument \"eps\" of dp_count is not a constant",
        ),
        (
            "SELECT dp_mean(cost, 0, age, 0.1) FROM visits",
            "argument \"hi\" of dp_mean is not a constant",
        ),
        (
            "SELECT dp_mean(cost, 0, 100, NULL) FROM visits",
            "argument \"eps\" must not be NULL",
        ),
        ("SELECT dp_mean(cost, 0, 100, -1) FROM visits", "eps"),
    ]);
}

#[test]
fn other_aggregates_have_a_hint() {
    let no_answer = "has no private answer";
    let cases = [
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY at - at) FROM visits",
            no_answer,
        ),
        (
            "SELECT percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY region) FROM visits",
            no_answer,
        ),
        (
            "SELECT min(cost) FROM visits",
            "would be the value of one person",
        ),
        (
            "SELECT max(cost), count(*) FROM visits",
            "would be the value of one person",
        ),
        ("SELECT regr_sxy(cost, age) FROM visits", no_answer),
        ("SELECT jsonb_object_agg(id, cost) FROM visits", no_answer),
    ];
    check_all(&cases);
    let mut world = World::new();
    for (sql, _) in cases {
        let refusal = world.refused(sql);
        let shown = match refusal.message.contains("one person") {
            true => "dp_quantile",
            false => "dp_mean_estimate",
        };
        assert!(refusal.hint.contains(shown), "{sql}: {refusal:?}");
    }
    for (sql, reason) in [
        ("SELECT sum(DISTINCT cost) FROM visits", "sum with DISTINCT"),
        ("SELECT avg(cost ORDER BY age) FROM visits", "with ORDER BY"),
        (
            "SELECT count(*) FROM visits GROUP BY CUBE (id, patient, region, cost, age, day, at)",
            "more than 64 grouping sets",
        ),
    ] {
        check(&mut world, sql, reason);
    }
}

/// The hints show what works: the query of an example is answered.
#[test]
fn the_example_of_a_hint_works() {
    let mut world = World::new();
    for (table, cost) in [("visits", 2.0), ("people", 1.0)] {
        let refusal = world.refused(&format!("SELECT * FROM {table}"));
        let example = refusal
            .hint
            .strip_prefix("Ask as in: ")
            .expect("an example");
        let example = example.split(". You can").next().expect("a sentence");
        let price = world.price(|world| world.ask(example));
        assert_eq!(price, (cost, 1), "{example}");
    }
}

/// What a hint shows in the place of something is answered.
#[test]
fn what_a_hint_shows_is_answered() {
    let mut world = World::new();
    let joined = "FROM visits v JOIN regions r USING (region)";
    let version: i32 = world.asked("SELECT current_setting('server_version_num')::int");
    for (sql, hint, shown) in [
        (
            format!("SELECT max(r.factor) {joined}"),
            "GROUP BY x",
            format!("SELECT r.factor, count(*) {joined} GROUP BY 1 ORDER BY 1"),
        ),
        (
            format!("SELECT min(r.country) {joined}"),
            "min(x) of regions alone",
            format!("SELECT r.country, count(*) {joined} GROUP BY 1 ORDER BY 1"),
        ),
        (
            "SELECT concat(region, note), count(*) FROM visits GROUP BY 1".to_owned(),
            "coalesce(a, '') || b",
            "SELECT coalesce(note, '') || region, count(*) FROM visits GROUP BY 1 ORDER BY 1".to_owned(),
        ),
        (
            "SELECT concat_ws('-', region, age), count(*) FROM visits GROUP BY 1".to_owned(),
            "a || b",
            "SELECT region || '-' || age / 20, count(*) FROM visits GROUP BY 1 ORDER BY 1".to_owned(),
        ),
        (
            "SELECT md5(region), count(*) FROM visits GROUP BY 1".to_owned(),
            "SELECT md5(x), n FROM (SELECT x, count(*) AS n",
            "SELECT md5(x), n FROM (SELECT region AS x, count(*) AS n FROM visits GROUP BY region) s ORDER BY 1".to_owned(),
        ),
        (
            "SELECT format('%s!', region), count(*) FROM visits GROUP BY 1".to_owned(),
            "Use it on the result",
            "SELECT format('%s!', x), n FROM (SELECT region AS x, count(*) AS n FROM visits GROUP BY region) s ORDER BY 1"
                .to_owned(),
        ),
        (
            "SELECT count(*) FROM visits WHERE (day, day + 9) OVERLAPS (date '2025-03-01', date '2025-04-01')".to_owned(),
            "begins < date '2025-04-01' AND ends > date '2025-03-01'",
            "SELECT count(*) FROM visits WHERE day < date '2025-04-01' AND day + 9 > date '2025-03-01'".to_owned(),
        ),
        (
            "SELECT avg(substring(region, 2)::int) FROM visits".to_owned(),
            "to_number(x, '999')",
            "SELECT to_number(substring(region, 2), '999'), count(*) FROM visits GROUP BY 1 ORDER BY 1".to_owned(),
        ),
        (
            "SELECT avg(length(region)) FROM visits".to_owned(),
            "WHERE length(x) BETWEEN 0 AND 50",
            "SELECT avg(length(region)) FROM visits WHERE length(region) BETWEEN 0 AND 50".to_owned(),
        ),
        (
            "SELECT count(DISTINCT (region, note)) FROM visits".to_owned(),
            "count(DISTINCT a || ' ' || b)",
            "SELECT count(DISTINCT region || ' ' || note) FROM visits".to_owned(),
        ),
        (
            "SELECT (region, note), count(*) FROM visits GROUP BY 1".to_owned(),
            "(SELECT DISTINCT person, a, b FROM ...) s",
            "SELECT count(*) FROM (SELECT DISTINCT patient, region, note FROM visits) s".to_owned(),
        ),
        (
            "SELECT mode() WITHIN GROUP (ORDER BY region) FROM visits".to_owned(),
            "SELECT x FROM visits GROUP BY x ORDER BY count(*) DESC LIMIT 1",
            "SELECT region FROM visits WHERE region = 'r1' OR age < 40 GROUP BY region ORDER BY count(*) DESC LIMIT 1".to_owned(),
        ),
        (
            "SELECT bool_or(cost > 3) FROM visits".to_owned(),
            "avg(CASE WHEN x > 0 THEN 1 ELSE 0 END)",
            "SELECT avg(CASE WHEN cost > 3 THEN 1 ELSE 0 END), count(*) FILTER (WHERE cost > 3) FROM visits".to_owned(),
        ),
        (
            "SELECT string_agg(DISTINCT region, ', ') FROM visits".to_owned(),
            "SELECT string_agg(x, ', ') FROM (SELECT x FROM visits GROUP BY x) s",
            "SELECT string_agg(region, ', ' ORDER BY region) FROM (SELECT region FROM visits GROUP BY region) s".to_owned(),
        ),
        (
            "SELECT jsonb_agg(region) FROM visits".to_owned(),
            "GROUP BY the values",
            "SELECT jsonb_agg(region ORDER BY region) FROM (SELECT region FROM visits GROUP BY region) s".to_owned(),
        ),
        (
            "SELECT array_agg(region) FROM visits".to_owned(),
            "GROUP BY the values",
            "SELECT array_agg(region ORDER BY region)::text FROM (SELECT region FROM visits GROUP BY region) s".to_owned(),
        ),
        (
            "SELECT sum(DISTINCT length(region)) FROM visits".to_owned(),
            "SELECT sum(x) FROM (SELECT x FROM visits GROUP BY x) s",
            "SELECT sum(x) FROM (SELECT length(region) AS x FROM visits GROUP BY 1) s".to_owned(),
        ),
        (
            "SELECT avg(at - timestamptz '2025-01-01') FROM visits".to_owned(),
            "avg(extract(epoch FROM x))",
            "SELECT count(*) FROM visits WHERE extract(epoch FROM at - timestamptz '2025-01-01') BETWEEN 0 AND 86400".to_owned(),
        ),
        (
            "SELECT count(*) FROM visits WHERE daterange('2025-03-01', '2025-04-01') @> day".to_owned(),
            "day >= date '2025-03-01' AND day < date '2025-04-01'",
            "SELECT count(*) FROM visits WHERE day >= date '2025-03-01' AND day < date '2025-04-01'".to_owned(),
        ),
    ] {
        // Newer servers compare with the ends themselves.
        if version < 170_000 || !sql.contains("@>") {
            let refusal = world.refused(&sql);
            assert!(refusal.hint.contains(hint), "{sql}: {refusal:?}");
        }
        let (answer, truth) = (
            table(&mut world.analyst, &shown),
            table(&mut world.owner, &shown),
        );
        assert_alike(&answer, &truth, &shown);
    }
}

/// Whose right counts is the role's that asks, not that of the session.
#[test]
fn a_role_without_allowance_gets_nothing() {
    let mut world = World::new();
    let mut server = world.database.connect();
    let grant = world.with_roles("GRANT {other} TO {analyst}");
    run(&mut server, &grant);
    world.ask("PREPARE p AS SELECT count(*) FROM visits; EXECUTE p; EXECUTE p");
    for mode in ["auto", "force_generic_plan"] {
        world.ask(&format!(
            "SET plan_cache_mode = {mode}; EXECUTE p; SET ROLE {{other}}"
        ));
        for sql in [
            "SELECT count(*) FROM visits",
            "EXECUTE p",
            "SELECT * FROM visits",
            "EXPLAIN SELECT count(*) FROM visits",
        ] {
            let refusal = world.refused(sql);
            assert_eq!(
                refusal.message, "permission denied for table visits",
                "{sql}"
            );
        }
        world.ask("RESET ROLE; EXECUTE p");
    }
    // A member of a role that is allowed, is; one that no longer is, is not.
    let join = world.with_roles("REVOKE {other} FROM {analyst}; GRANT {analyst} TO {other}");
    run(&mut server, &join);
    let mut other = world.database.connect_as(&world.with_roles("{other}"));
    run(
        &mut other,
        "PREPARE p AS SELECT count(*) FROM visits; SET plan_cache_mode = force_generic_plan; EXECUTE p",
    );
    let leave = world.with_roles("REVOKE {analyst} FROM {other}");
    run(&mut server, &leave);
    for sql in ["EXECUTE p", "SELECT count(*) FROM visits"] {
        let error = other.simple_query(sql).expect_err("no rights");
        assert_eq!(refusal(&error, sql).code, "42501", "{sql}");
    }
}

/// A mechanism that hides what a row says, and not that it is there, is none for a budget of people.
#[test]
fn the_number_of_rows_is_not_public() {
    check_all(&[
        (
            "SELECT dp_mean(cost, 0, 100, 1, 'clipped(n=100)') FROM visits",
            "needs a public number of rows",
        ),
        (
            "SELECT dept, dp_mean(salary, 0, 100000, 1, 'clipped(n=5000)') FROM people GROUP BY dept",
            "needs a public number of rows",
        ),
    ]);
}

/// Groups that are private are chosen for a delta, and where there is none not at all.
#[test]
fn private_groups_need_a_delta() {
    let mut world = World::new();
    world.own(
        "SELECT dp_protect('visits', 'patient', 'all', groups => 2, rows => 2, query_eps => 20);
         SELECT dp_set_budget('all', 4000, 0)",
    );
    let asked = "SELECT region, count(*) FROM visits GROUP BY region ORDER BY region";
    check(&mut world, asked, "needs a budget with delta > 0");
    world.own("SELECT dp_declare('visits', 'region', ARRAY['r0', 'r1', 'r2', 'r3', 'r4'])");
    world.same(asked, 1);
}

/// A right to read one column is none to read another, of the protected table or of one that is joined.
#[test]
fn a_right_to_a_column_is_no_right_to_another() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE places (region text, secret float8); INSERT INTO places SELECT region, factor FROM regions;
         GRANT SELECT (region) ON visits, places TO {analyst}",
    );
    world.same("SELECT avg(cost) FROM visits", 1);
    world.same(
        "SELECT region, sum(cost) FROM visits GROUP BY region ORDER BY region",
        2,
    );
    for sql in [
        "SELECT cost FROM visits",
        "SELECT region FROM visits ORDER BY cost",
    ] {
        check(&mut world, sql, "the query has no aggregate");
    }
    for sql in [
        "COPY visits TO STDOUT",
        "COPY visits (region, cost) TO STDOUT",
    ] {
        world.refused(sql);
    }
    // What they may read is read as it is.
    let before = world.spent();
    assert_eq!(
        world.asked::<i64>("SELECT count(region) FROM visits"),
        40_000
    );
    assert_eq!(world.spent(), before);
    world.same("SELECT avg(cost) FROM visits JOIN places USING (region)", 1);
    for sql in [
        "SELECT avg(cost) FROM visits JOIN places USING (region) WHERE secret > 1",
        "SELECT secret, avg(cost) FROM visits JOIN places USING (region) GROUP BY secret",
    ] {
        check(
            &mut world,
            sql,
            "it is joined with places, which you may not read",
        );
    }
}

/// A group of one person is never shown: who asks for such groups would pay for nothing.
#[test]
fn people_are_no_groups() {
    const UNIT: &str = "GROUP BY the unit column";
    check_all(&[
        (
            "SELECT patient, count(*) FROM visits GROUP BY patient",
            UNIT,
        ),
        ("SELECT patient FROM visits GROUP BY 1", UNIT),
        ("SELECT DISTINCT patient FROM visits", UNIT),
        ("SELECT DISTINCT region, patient FROM visits", UNIT),
        (
            "SELECT avg(cost) FROM visits GROUP BY region, patient",
            UNIT,
        ),
        (
            "SELECT p, count(*) FROM (SELECT patient AS p FROM visits) s GROUP BY p",
            UNIT,
        ),
        (
            "WITH w AS (SELECT patient AS p FROM visits) SELECT p, count(*) FROM w GROUP BY p",
            UNIT,
        ),
        (
            "SELECT patient, count(*) FROM visits JOIN regions USING (region) GROUP BY patient",
            UNIT,
        ),
        (
            "SELECT count(*) FROM visits GROUP BY ROLLUP (patient)",
            UNIT,
        ),
        (
            "SELECT count(*) FROM visits GROUP BY CUBE (region, patient)",
            UNIT,
        ),
        (
            "SELECT count(*) FROM visits GROUP BY GROUPING SETS ((region), (patient), ())",
            UNIT,
        ),
        (
            "SELECT patient::bigint, count(*) FROM visits GROUP BY 1",
            UNIT,
        ),
        (
            "SELECT patient::text, count(*) FROM visits GROUP BY 1",
            UNIT,
        ),
        (
            "SELECT patient::numeric, count(*) FROM visits GROUP BY 1",
            UNIT,
        ),
        (
            "SELECT avg(n) FROM (SELECT patient::bigint, count(*) AS n FROM visits GROUP BY 1) s",
            UNIT,
        ),
        (
            "SELECT person, dept, count(*) FROM people GROUP BY person, dept",
            UNIT,
        ),
    ]);
    let mut world = World::new();
    // What many people share is another thing; and a public list of people is shown.
    let several: i64 = world
        .asked("SELECT count(*) FROM (SELECT patient / 10000, count(*) FROM visits GROUP BY 1) s");
    assert_eq!(several, 2);
    world.own("SELECT dp_declare('people', 'person', ARRAY['1', '2', '30000'])");
    let listed = rows(
        &mut world.analyst,
        "SELECT person, count(*) FROM people GROUP BY person",
    );
    assert_eq!(listed.len(), 3);
}

/// No rows are no answer: a preview is one only where the client gets the rows.
#[test]
fn what_is_computed_of_rows_is_no_preview() {
    let mut world = World::new();
    world.ask("SET dp_mean.previews = 'empty'; CREATE TABLE own AS SELECT 1 AS x");
    for (sql, reason) in [
        (
            "SELECT count(*) FROM (SELECT * FROM visits LIMIT 100) s",
            "LIMIT",
        ),
        (
            "SELECT count(*) FROM (SELECT region, row_number() OVER (ORDER BY cost) AS n FROM visits) s WHERE n = 1",
            "a window is not of the rows of one person",
        ),
        (
            "SELECT count(*) FROM (SELECT region FROM visits INTERSECT SELECT region FROM regions) s",
            "private rows and others together",
        ),
        (
            "SELECT count(*) FROM (SELECT region FROM visits UNION SELECT region FROM visits) s",
            "do not name the person",
        ),
        (
            "SELECT max(cost) FROM (SELECT cost FROM visits ORDER BY cost LIMIT 10) s",
            "LIMIT",
        ),
        (
            "SELECT DISTINCT region FROM (SELECT region FROM visits LIMIT 10) s",
            "LIMIT",
        ),
        (
            "WITH w AS (SELECT * FROM visits LIMIT 5) SELECT count(*) FROM w",
            "LIMIT",
        ),
    ] {
        check(&mut world, sql, reason);
    }
    for sql in [
        "SELECT region FROM regions EXCEPT SELECT region FROM visits",
        "SELECT region FROM visits UNION ALL SELECT region FROM visits",
        "SELECT x, (SELECT cost FROM visits WHERE id = 3) FROM own",
        "SELECT x FROM own WHERE NOT EXISTS (SELECT FROM visits WHERE cost > 99)",
        "SELECT x FROM own WHERE x NOT IN (SELECT patient FROM visits)",
        "SELECT x, s.cost FROM own LEFT JOIN (SELECT * FROM visits LIMIT 5) s ON true",
        "SELECT ARRAY(SELECT cost FROM visits)",
        "SELECT rank() OVER (ORDER BY cost) FROM (SELECT cost FROM visits LIMIT 10) s",
        "INSERT INTO own SELECT patient FROM visits",
    ] {
        check(&mut world, sql, NO_AGGREGATE);
    }
    for sql in [
        "SELECT * FROM visits",
        "SELECT * FROM (SELECT * FROM (SELECT region, cost FROM visits) a WHERE cost > 1) b ORDER BY 1 LIMIT 100",
        "WITH w AS (SELECT * FROM visits) SELECT * FROM w LIMIT 100",
        "SELECT cost, rank() OVER (ORDER BY cost) FROM visits",
        "SELECT v.cost, country FROM visits v LEFT JOIN regions USING (region)",
        "SELECT country, cost FROM regions LEFT JOIN visits USING (region)",
        "SELECT s.*, country FROM (SELECT region, cost FROM visits LIMIT 10) s JOIN regions USING (region)",
    ] {
        let price = world.price(|world| {
            let rows = world.analyst.query(sql, &[]).expect("a preview");
            assert!(rows.is_empty(), "{sql}");
        });
        assert_eq!(price, (0.0, 0), "{sql}");
    }
    assert!(
        world
            .analyst
            .copy_out("COPY (SELECT * FROM visits) TO STDOUT")
            .is_ok()
    );
}

/// Gaussian noise has no epsilon of its own: what it takes of a budget is said in what it is counted by.
#[test]
fn a_budget_says_what_it_lacks() {
    let mut world = World::new();
    world.own(
        "SELECT dp_set_budget('small', 1, 1e-6), dp_set_budget('pure', 1, 0); CREATE TABLE few (id int PRIMARY \
         KEY, x float8);
         CREATE TABLE none (id int PRIMARY KEY, x float8);
         SELECT dp_protect('few', 'id', 'small'), dp_protect('none', 'id', 'pure'),
             dp_allow('few', '{analyst}'), dp_allow('none', '{analyst}')",
    );
    let many = (1..=200).map(|hi| format!("dp_mean(x, 0, {hi}, 50)"));
    let many: Vec<_> = many.collect();
    for (sql, message) in [
        (
            "SELECT dp_mean(x, 0, 1, 5, 'gaussian(delta=1e-7)') FROM few".to_owned(),
            "dp_mean: budget \"small\" has a price of 1 left of 1, and this takes 16.89",
        ),
        (
            "SELECT dp_mean(x, 0, 1, 0.5, 'gaussian(delta=1e-7)') FROM none".to_owned(),
            "dp_mean: budget \"pure\" has no delta, which Gaussian noise needs",
        ),
        (
            format!("SELECT {} FROM few", many.join(", ")),
            "dp_mean: budget \"small\" has a price of 1 left of 1, and this takes 10000",
        ),
    ] {
        let refusal = dp_mean_tests::refused(&mut world.analyst, &sql);
        assert_eq!(refusal.code, "53400", "{refusal:?}");
        assert!(refusal.message.starts_with(message), "{refusal:?}");
        assert!(!refusal.message.ends_with("takes 8192"), "{refusal:?}");
        assert!(
            refusal.hint.starts_with("Nothing was spent."),
            "{refusal:?}"
        );
    }
}

/// An aggregate of ours asks for no more rows and groups than the policy allows, and is not given others than it asks for.
#[test]
fn what_is_above_the_policy_is_refused() {
    check_all(&[
        (
            "SELECT dp_mean(cost, 0, 100, 1, 'hourglass(rows=3)') FROM visits",
            "dp_mean asks for rows=3, above the 2 of its policy",
        ),
        (
            "SELECT region, dp_count(1, 1, 'geometric(groups=3)') FROM visits GROUP BY region",
            "dp_count asks for groups=3, above the 2 of its policy",
        ),
        (
            "SELECT region, dp_count(1, 1, 'geometric(groups=1)'), dp_sum(cost, 0, 100, 1, 'staircase(groups=2)') \
             FROM visits GROUP BY region",
            "two aggregates of the query ask for groups=",
        ),
        (
            "SELECT dp_mean(salary, 0, 100000, 1, 'hourglass(rows=2)') FROM people",
            "dp_mean asks for rows=2, above the 1 of its policy",
        ),
    ]);
}
