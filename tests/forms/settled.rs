//! What is known when a question is asked, in its sub-queries too: parameters, roles, patterns of LIKE. And keys that are
//! named twice, or are of single rows.

use dp_mean_tests::{drop_roles, refused, run};

use super::asking::Asking;
use super::{World, table};

/// Few people, as a sub-query is run for each of them.
fn few() -> Asking {
    Asking::new(
        "CREATE TABLE people (person int PRIMARY KEY, born int NOT NULL);
         INSERT INTO people SELECT i, 1940 + i % 60 FROM generate_series(1, 400) i;
         CREATE TABLE visits (patient int NOT NULL, age int NOT NULL, cost float8 NOT NULL);
         INSERT INTO visits SELECT 1 + i % 400, 20 + i % 60, i % 100 FROM generate_series(1, 800) i;
         CREATE INDEX ON visits (patient);
         CREATE TABLE regions (region text PRIMARY KEY, factor float8 NOT NULL);
         INSERT INTO regions SELECT 'r' || i, 1 + i / 10.0 FROM generate_series(0, 4) i;
         ANALYZE;
         SELECT dp_set_budget('all', 4000, 1e-6);
         SELECT dp_protect('people', 'person', 'all', query_eps => 16),
                dp_protect('visits', 'patient', 'all', rows => 2, query_eps => 16);
         SELECT dp_allow('people', '{analyst}'), dp_allow('visits', '{analyst}');
         GRANT SELECT ON regions TO {analyst}",
        5,
    )
}

/// That both are nearly the same number: the noise has a standard deviation below 1.
fn assert_near(world: &mut Asking, told: &str, truth: &str) {
    let [told_of, truth_of] = [(true, told), (false, truth)].map(|(is_told, sql)| -> i64 {
        let client = match is_told {
            true => &mut world.analyst,
            false => &mut world.root,
        };
        dp_mean_tests::value(client, sql)
    });
    assert!(
        (told_of - truth_of).abs() <= 8,
        "{told_of}, {truth_of}: {told}: {truth}"
    );
}

/// Conditions on people with a sub-query about their visits, which have `$1`.
const CONDITIONS: [&str; 7] = [
    "EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND v.age > $1)",
    "NOT EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND v.age > $1)",
    "p.person IN (SELECT v.patient FROM visits v WHERE v.age > $1 + 1)",
    "p.person NOT IN (SELECT v.patient FROM visits v WHERE v.age > $1)",
    "(SELECT max(v.age) FROM visits v WHERE v.patient = p.person AND v.age < $1) > 30",
    "CASE WHEN EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND v.age > $1) THEN p.born > 1950 ELSE false END",
    "'r' || ($1 % 5) IN (SELECT r.region FROM regions r WHERE r.factor > $1 / 100.0)",
];

#[test]
fn sub_queries_know_parameters_in_every_kind_of_plan() {
    let mut world = few();
    for mode in ["auto", "force_generic_plan"] {
        for condition in CONDITIONS {
            let sql = format!("SELECT count(*) FROM people p WHERE {condition}");
            let prepare = format!("SET plan_cache_mode = {mode}; PREPARE asked (int) AS {sql}");
            run(&mut world.analyst, &prepare);
            for age in [30, 40, 50, 60, 35, 45, 55] {
                let plain = sql.replace("$1", &age.to_string());
                assert_near(&mut world, &format!("EXECUTE asked ({age})"), &plain);
            }
            run(&mut world.analyst, "DEALLOCATE asked");
        }
    }
}

/// The answer of one role is no answer of another one, where the question names the role.
#[test]
fn what_is_kept_is_of_the_role_that_it_names() {
    let mut world = few();
    let other = world.name.replace("analyst", "other");
    let allowed = format!("SELECT dp_allow('visits', '{other}'), dp_allow('people', '{other}')");
    run(
        &mut world.root,
        &format!("CREATE ROLE {other} LOGIN; {allowed}"),
    );
    let mut second = world.database.connect_as(&other);
    for condition in [
        "EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND v.age > {limit})",
        "p.person IN (SELECT v.patient FROM visits v WHERE v.age > {limit})",
        "(SELECT max(v.age) FROM visits v WHERE v.patient = p.person) > {limit}",
    ] {
        let limit = format!("CASE current_user WHEN '{other}' THEN 70 ELSE 40 END");
        let sql = |limit: &str| {
            let condition = condition.replace("{limit}", limit);
            format!("SELECT count(*) FROM people p WHERE {condition}")
        };
        for limit_of in ["40", "70"] {
            run(&mut world.analyst, "SET dp_mean.reuse = on");
            assert_near(&mut world, &sql(&limit), &sql(limit_of));
            std::mem::swap(&mut world.analyst, &mut second);
        }
    }
    drop(second);
    drop_roles(&mut world.root, &other).expect("the role can go");
}

#[test]
fn patterns_may_be_known_late() {
    let mut world = World::new();
    world.ask(
        "SET plan_cache_mode = force_generic_plan; SET dp_mean.reuse = off;
         PREPARE asked (text) AS SELECT count(*) FROM visits WHERE note LIKE $1;
         PREPARE around (text) AS SELECT count(*) FROM visits WHERE region NOT LIKE '%' || lower($1) || '%';
         PREPARE cut (int) AS SELECT count(*) FROM visits WHERE lpad(region, $1) = 'r'",
    );
    for (call, plain) in [
        ("asked ('n1%')", "note LIKE 'n1%'"),
        ("asked ('%0')", "note LIKE '%0'"),
        ("around ('R1')", "region NOT LIKE '%r1%'"),
        ("cut (1)", "lpad(region, 1) = 'r'"),
    ] {
        let told = table(&mut world.analyst, &format!("EXECUTE {call}"));
        let truth = table(
            &mut world.owner,
            &format!("SELECT count(*) FROM visits WHERE {plain}"),
        );
        super::assert_alike(&told, &truth, call);
    }
    // A pattern that ends in an escape raises an error of PostgreSQL's, and holds for no row here.
    let none: i64 = world.asked(r"EXECUTE asked (E'n\\')");
    assert!(none < 20, "{none}");
    world.same_as(
        "SELECT count(*) FROM visits WHERE region NOT LIKE current_user || '%'",
        "SELECT count(*) FROM visits",
        1,
    );
}

#[test]
fn a_key_may_be_shown_twice() {
    let mut world = World::new();
    for sql in [
        "SELECT dept AS a, dept AS b, count(*) FROM people GROUP BY 1, 2 ORDER BY 1",
        "SELECT dept AS a, dept AS b, count(*) FROM people GROUP BY b, a, dept ORDER BY b",
        "SELECT cost > 50 AS a, cost > 50 AS b, count(*) FROM visits GROUP BY 1, 2 ORDER BY 1",
    ] {
        let answer = table(&mut world.analyst, sql);
        let truth = table(&mut world.owner, sql);
        let known = |row: &&Vec<_>| truth.iter().any(|known| known[0] == row[0]);
        let shown: Vec<_> = answer.iter().filter(known).cloned().collect();
        super::assert_alike(&shown, &truth, sql);
        let alike = answer.iter().all(|row| row[0] == row[1]);
        assert!(alike, "{answer:?}: {sql}");
    }
    let twice = "SELECT DISTINCT dept, dept FROM people";
    assert_eq!(table(&mut world.analyst, twice).len(), 5);
    let sets = "SELECT dept AS a, dept AS b, count(*) FROM people GROUP BY ROLLUP (1, 2)";
    let refusal = refused(&mut world.analyst, sets);
    assert!(
        refusal.message.contains("the same key under two names"),
        "{}",
        refusal.message
    );
}

/// Groups of single rows are never shown: that is said, and costs nothing.
#[test]
fn keys_of_single_rows_are_refused() {
    let mut world = World::new();
    let price = world.price(|world| {
        for sql in [
            "SELECT * FROM (SELECT id, sum(cost) AS t FROM visits GROUP BY id) s",
            "SELECT DISTINCT id FROM visits",
            "SELECT v.id, count(*) FROM visits v JOIN people p ON v.patient = p.person GROUP BY v.id",
        ] {
            let refusal = refused(&mut world.analyst, sql);
            assert!(
                refusal.message.contains("a key of single rows"),
                "{}: {sql}",
                refusal.message
            );
            assert!(
                refusal.hint.contains("add the column that names the person"),
                "{}",
                refusal.hint
            );
        }
    });
    assert_eq!(price, (0.0, 0));
    for keys in ["patient, id", "id"] {
        let within = format!(
            "SELECT avg(least(t, 50)) FROM (SELECT {keys}, sum(cost) AS t FROM visits GROUP BY {keys}) s"
        );
        world.same(&within, 1);
    }
}

/// Answers in the conditions of another question, as the series limit of tools has them.
#[test]
fn sums_that_are_answers_may_be_joined() {
    let mut world = World::new();
    for sql in [
        "SELECT v.region, count(*) FROM visits v JOIN (SELECT region AS k, sum(age) AS m FROM visits GROUP BY region \
         ORDER BY m DESC LIMIT 5) a ON v.region = a.k GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM visits WHERE age > (SELECT sum(age) / count(*) FROM visits)",
        "SELECT count(*) FROM visits WHERE age > (SELECT avg(age) FROM visits) AND cost < (SELECT avg(cost) + 10 FROM visits)",
        // Public rows of several types.
        "SELECT count(*) FROM visits v JOIN (SELECT 30 AS x UNION SELECT 38 + factor * 10 FROM regions) u ON v.age = u.x",
        "SELECT count(*) FROM visits WHERE age IN (SELECT 30 UNION ALL SELECT 40.0)",
    ] {
        let told = table(&mut world.analyst, sql);
        let truth = table(&mut world.owner, sql);
        super::assert_alike(&told, &truth, sql);
    }
}

/// What a tool or a view puts around a table is no difference, nor is what stands beside a block.
#[test]
fn what_passes_rows_on_is_the_same_question() {
    let mut world = World::new();
    world.ask(
        "SET dp_mean.reuse = on; CREATE TEMP VIEW all_visits AS SELECT * FROM visits;
         CREATE TEMP VIEW totals AS SELECT region, sum(cost) AS c FROM visits GROUP BY region",
    );
    for same in [
        &[
            "SELECT sum(cost) FROM visits WHERE age > 40",
            "SELECT sum(cost) FROM (SELECT * FROM visits) v WHERE age > 40",
            "SELECT sum(cost) FROM (SELECT age, cost FROM visits) v WHERE age > 40",
            "SELECT sum(a) FROM (SELECT cost AS a FROM visits WHERE age > 40) v",
            "SELECT sum(cost) FROM all_visits WHERE age > 40",
            "SELECT sum(cost) FROM (SELECT * FROM (SELECT * FROM all_visits) x WHERE age > 40) v",
            "WITH w AS (SELECT * FROM visits) SELECT sum(cost) FROM w WHERE age > 40",
        ][..],
        &[
            "SELECT sum(cost) FROM visits WHERE age > 30 AND note = 'n1'",
            "SELECT sum(cost) FROM visits WHERE note = 'n1' AND age > 30",
            "SELECT sum(cost) FROM (SELECT * FROM visits WHERE note = 'n1') v WHERE age > 30",
        ],
        &[
            "SELECT sum(cost) FROM visits v JOIN regions r ON v.region = r.region WHERE r.country = 'c1'",
            "SELECT sum(cost) FROM (SELECT * FROM visits) v JOIN regions r USING (region) WHERE country = 'c1'",
            "SELECT sum(v.cost) FROM all_visits v, regions r WHERE r.country = 'c1' AND v.region = r.region",
        ],
        &[
            "SELECT avg(cost) FROM visits v JOIN people p ON v.patient = p.person WHERE born > 1960",
            "SELECT avg(cost) FROM all_visits v JOIN (SELECT person, born AS b FROM people) p ON v.patient = p.person \
             WHERE b > 1960",
        ],
        &[
            "SELECT sum(t) FROM (SELECT patient, sum(cost) AS t FROM visits GROUP BY patient) s WHERE t BETWEEN 0 AND 100",
            "SELECT sum(u) FROM (SELECT patient, sum(cost) AS u FROM all_visits GROUP BY patient) s WHERE u BETWEEN 0 AND 100",
        ],
        &[
            "SELECT sum(cost) FROM visits",
            "SELECT sum(cost), (SELECT sum(cost) FROM visits) FROM visits",
            "SELECT sum(cost) FROM visits HAVING sum(cost) = (SELECT sum(cost) FROM visits)",
            "SELECT sum(cost) FROM visits HAVING sum(cost) > (SELECT count(*) FROM regions)",
            "SELECT sum(cost) FROM visits ORDER BY (SELECT count(*) FROM regions)",
        ],
    ] {
        let mut first = None;
        for sql in same {
            let mut told = Vec::new();
            let (_, charges) = world.price(|world| told = table(&mut world.analyst, sql));
            let told = told[0][0].clone();
            let known = first.get_or_insert_with(|| told.clone());
            assert_eq!(*known, told, "{sql}");
            assert_eq!(charges, i64::from(*sql == same[0]), "{sql}");
        }
    }
    // A group is found by an answer to the same question, also of a view that is used twice.
    for sql in [
        "SELECT region, sum(cost) FROM visits GROUP BY region HAVING sum(cost) = (SELECT max(c) FROM \
         (SELECT region, sum(cost) AS c FROM visits GROUP BY region) t)",
        "SELECT * FROM totals WHERE c = (SELECT max(c) FROM totals)",
    ] {
        assert_eq!(table(&mut world.analyst, sql).len(), 1, "{sql}");
    }
}

/// What reads other rows, or other values of them, is another question, however alike it looks.
#[test]
fn other_rows_are_another_question() {
    let mut world = World::new();
    world.ask("SET dp_mean.reuse = on");
    for sql in [
        "SELECT sum(cost) FROM visits WHERE age > 40",
        "SELECT sum(cost) FROM visits WHERE age > 41",
        "SELECT sum(cost) FROM visits WHERE age < 40",
        "SELECT sum(age) FROM visits WHERE age > 40",
        "SELECT sum(cost) FROM (SELECT age AS cost, cost AS age FROM visits) v WHERE age > 40",
        "SELECT sum(cost) FROM visits WHERE age > 40 OR note = 'n1'",
        "SELECT sum(cost) FROM visits WHERE age > 40 AND note = 'n1'",
        "SELECT sum(v.cost) FROM visits v JOIN people p ON v.patient = p.person WHERE p.born > 1960",
        "SELECT sum(v.cost) FROM visits v JOIN people p ON v.patient = p.person WHERE p.born > 1960 AND v.age > 40",
        "SELECT sum(v.cost) FROM visits v LEFT JOIN people p ON v.patient = p.person AND p.born > 1960",
        "SELECT sum(v.cost) FROM visits v JOIN regions r ON v.region = r.region AND r.country = 'c1'",
        "SELECT sum(v.cost) FROM visits v JOIN regions r ON v.region = r.region AND r.region = 'c1'",
        "SELECT sum(v.cost) FROM visits v LEFT JOIN regions r ON v.region = r.region AND r.country = 'c1'",
        "SELECT sum(a.cost) FROM visits a JOIN visits b ON a.patient = b.patient AND a.age < b.age",
        "SELECT sum(b.cost) FROM visits a JOIN visits b ON a.patient = b.patient AND a.age < b.age",
    ] {
        let (_, charges) = world.price(|world| world.ask(sql));
        assert_eq!(charges, 1, "{sql}");
    }
}
