//! Keys that are the same in all rows of a person: they are in one group by them, whatever the policy says.

use dp_mean_tests::{run, value};

use super::asking::Asking;
use super::table;

/// People, and visits of three kinds that each of them makes.
fn world() -> Asking {
    Asking::new(
        "CREATE TABLE clinics (id int PRIMARY KEY, name text NOT NULL, code int NOT NULL, town int NOT NULL);
         INSERT INTO clinics SELECT i, 'c' || i, i % 2, i % 3 FROM generate_series(1, 6) i;
         CREATE TABLE towns (id int PRIMARY KEY, name text NOT NULL);
         INSERT INTO towns SELECT i, 't' || i FROM generate_series(0, 2) i;
         CREATE TABLE people (id int PRIMARY KEY, sex boolean NOT NULL, born int NOT NULL, clinic int NOT NULL);
         INSERT INTO people SELECT i, i % 2 = 0, 1940 + i % 60, 1 + i % 6 FROM generate_series(1, 3000) i;
         CREATE TABLE visits (patient int NOT NULL, kind int NOT NULL, cost float8 NOT NULL);
         INSERT INTO visits SELECT i, k, i % 10 FROM generate_series(1, 3000) i, generate_series(0, 2) k;
         ANALYZE;
         SELECT dp_set_budget('all', 4000, 1e-6);
         SELECT dp_protect('people', 'id', 'all', query_eps => 50),
                dp_protect('visits', 'patient', 'all', groups => 3, rows => 3, query_eps => 50);
         SELECT dp_declare('visits', 'cost', 0, 10), dp_declare('visits', 'kind', ARRAY['0', '1', '2']);
         SELECT dp_allow('people', '{analyst}'), dp_allow('visits', '{analyst}');
         GRANT SELECT ON clinics, towns TO {analyst}",
        7,
    )
}

const JOINED: &str = "visits v JOIN people p ON v.patient = p.id";

/// In how many groups of a question a person is kept.
fn groups(world: &mut Asking, sql: &str) -> u32 {
    let mechanisms = world.mechanisms(sql);
    let said = mechanisms.split("groups=").nth(1);
    let said = said.and_then(|rest| rest.split([',', ')']).next());
    let said = said.unwrap_or_else(|| panic!("{sql}: {mechanisms}"));
    said.parse().expect("a number of groups")
}

#[test]
fn a_person_is_in_one_group_by_what_they_have_once() {
    let mut world = world();
    for (most, sql) in [
        (1, format!("SELECT p.sex AS k, avg(v.cost), count(DISTINCT p.id) FROM {JOINED} GROUP BY 1")),
        (1, format!("SELECT p.born / 10 AS k, p.sex, sum(v.cost) FROM {JOINED} GROUP BY 1, 2")),
        (1, format!("SELECT CASE WHEN p.born < 1960 AND p.sex THEN 'a' ELSE 'b' END AS k, avg(v.cost) FROM {JOINED} GROUP BY 1")),
        (1, "SELECT patient % 4 AS k, avg(cost) FROM visits GROUP BY 1".to_owned()),
        // Of the side that is kept.
        (1, "SELECT p.sex AS k, avg(v.cost) FROM people p LEFT JOIN visits v ON v.patient = p.id AND v.kind = 1 GROUP BY 1".to_owned()),
        // A sub-query that has one row of each person, and one that hands the value on.
        (1, "SELECT s.most > 5 AS k, avg(v.cost) FROM visits v JOIN (SELECT patient, max(cost) AS most FROM visits \
             GROUP BY patient) s USING (patient) GROUP BY 1".to_owned()),
        (1, format!("SELECT s.k, avg(s.cost) FROM (SELECT v.patient, p.sex AS k, v.cost FROM {JOINED}) s GROUP BY 1")),
        // The row of a public table that it says, and the one that this says.
        (1, format!("SELECT c.name AS k, avg(v.cost) FROM {JOINED} JOIN clinics c ON c.id = p.clinic GROUP BY 1")),
        // The kind of a visit is none of the person; nor is what may be missing.
        (3, "SELECT kind AS k, avg(cost) FROM visits GROUP BY 1".to_owned()),
        (3, format!("SELECT p.sex AS k, v.kind, avg(v.cost) FROM {JOINED} GROUP BY 1, 2")),
        (3, "SELECT p.sex AS k, avg(v.cost) FROM visits v LEFT JOIN people p ON v.patient = p.id AND v.kind = 1 \
             WHERE p.sex IS NOT NULL OR v.cost >= 0 GROUP BY 1".to_owned()),
        (3, format!("SELECT s.k, avg(s.cost) FROM (SELECT v.patient, v.kind AS k, v.cost FROM {JOINED}) s GROUP BY 1")),
        (3, "SELECT s.k, avg(s.cost) FROM (SELECT patient, kind % 2 AS k, cost FROM visits UNION ALL \
             SELECT patient, patient % 2 AS k, cost FROM visits WHERE kind = 0) s GROUP BY 1".to_owned()),
        (3, "SELECT s.n % 4 AS k, avg(s.cost) FROM (SELECT patient, cost, row_number() OVER (PARTITION BY patient \
             ORDER BY kind) AS n FROM visits) s GROUP BY 1".to_owned()),
        // A row of a public table that several people's values may say is no row of one of them.
        (3, format!("SELECT c.name AS k, avg(v.cost) FROM {JOINED} JOIN clinics c ON c.code = p.born % 2 GROUP BY 1")),
        (3, "SELECT c.name AS k, avg(v.cost) FROM visits v JOIN clinics c ON c.id = v.kind + 1 GROUP BY 1".to_owned()),
    ] {
        assert_eq!(groups(&mut world, &sql), most, "{sql}");
        let ordered = format!("{sql} ORDER BY 1, 2");
        let answer = table(&mut world.analyst, &ordered);
        let truth = table(&mut world.root, &ordered);
        // Public groups are there with nobody in them too.
        let is_known = |row: &Vec<_>| truth.iter().any(|known| known[0] == row[0]);
        let answer: Vec<_> = answer.into_iter().filter(is_known).collect();
        super::assert_alike(&answer, &truth, &sql);
    }
}

/// Fewer groups are less noise: at the same price, by the square root of their number with Gaussian noise.
#[test]
fn noise_is_for_one_group() {
    let mut world = world();
    let ofs = ["p.sex", "v.kind = 1"].map(|key| {
        let sql = format!("SELECT {key}, sum(v.cost) FROM {JOINED} GROUP BY 1");
        assert!((world.price(&sql) - 50.0).abs() < 1e-9, "{sql}");
        world.numbers(&format!("SELECT noise FROM dp_cost($${sql}$$)"))
    });
    let ratio = ofs[1][0] / ofs[0][0];
    assert!((ratio - 2_f64.sqrt()).abs() < 0.02, "{ofs:?}");
}

/// What says so may go: then the policy's number holds again, also in a plan that is kept.
#[test]
fn without_its_index_nothing_says_so() {
    let mut world = world();
    let sql = format!("SELECT p.sex, avg(v.cost) FROM {JOINED} GROUP BY 1");
    run(
        &mut world.root,
        "ALTER TABLE people ADD CONSTRAINT same UNIQUE (id)",
    );
    run(
        &mut world.analyst,
        &format!("SET plan_cache_mode = force_generic_plan; PREPARE asked AS {sql}; EXECUTE asked"),
    );
    assert_eq!(groups(&mut world, &sql), 1);
    run(
        &mut world.root,
        "ALTER TABLE people DROP CONSTRAINT people_pkey, DROP CONSTRAINT same;
         INSERT INTO people SELECT id, NOT sex, born, clinic FROM people;
         SELECT dp_protect('people', 'id', 'all', query_eps => 50, groups => 2, rows => 2)",
    );
    // Booleans are two groups.
    assert_eq!(groups(&mut world, &sql), 2);
    let charged = "SELECT mechanisms FROM dp_ledger ORDER BY at DESC LIMIT 1";
    run(&mut world.analyst, "EXECUTE asked");
    let charged: String = dp_mean_tests::value(&mut world.root, charged);
    assert!(charged.contains("groups=2"), "{charged}");
}

/// A look-up by a unique key has one row at most, of the person or of a public table.
#[test]
fn a_look_up_by_a_unique_key_is_of_one_value() {
    let mut world = world();
    for sql in [
        "SELECT (SELECT p.born / 10 FROM people p WHERE p.id = v.patient) AS s, count(*) FROM visits v GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM visits v WHERE (SELECT born FROM people p WHERE p.id = v.patient AND p.sex) > 1980",
        "SELECT avg(cost) FROM visits v WHERE (SELECT p.born / 10 FROM people p WHERE v.patient = p.id) IN (195, 196)",
        "SELECT count(*) FROM people p WHERE (SELECT name FROM clinics c WHERE c.id = p.clinic) <> 'c1'",
        "SELECT (SELECT name FROM clinics c WHERE p.clinic = c.id) AS n, count(*) FROM people p GROUP BY 1 ORDER BY 1",
    ] {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.root, sql));
        super::assert_alike(&answer, &truth, sql);
    }
    for sql in [
        "SELECT count(*) FROM people p WHERE (SELECT cost FROM visits v WHERE v.patient = p.id) > 5",
        "SELECT count(*) FROM people p WHERE (SELECT name FROM clinics c WHERE c.code = p.clinic) <> 'c1'",
        "SELECT count(*) FROM people p WHERE (SELECT c.name FROM clinics c, towns t WHERE c.id = p.clinic) <> 'c1'",
        "SELECT count(*) FROM people p WHERE (SELECT name FROM clinics c WHERE c.id = c.town + p.clinic) <> 'c1'",
        "SELECT count(*) FROM people p WHERE (SELECT name FROM clinics c WHERE c.id > p.clinic) <> 'c1'",
    ] {
        let error = world.analyst.batch_execute(sql).expect_err(sql);
        let message = error.as_db_error().expect("of the server").message();
        assert!(
            message.contains("may have several rows"),
            "{sql}: {message}"
        );
    }
}

/// A snapshot that is older than the index may see several rows, which would be an error by one person.
#[test]
fn a_look_up_in_older_rows_is_of_one_value_too() {
    let mut world = world();
    run(
        &mut world.root,
        "ALTER TABLE people DROP CONSTRAINT people_pkey; INSERT INTO people VALUES (7, true, 1950, 1)",
    );
    run(
        &mut world.analyst,
        "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM clinics",
    );
    run(
        &mut world.root,
        "DELETE FROM people WHERE id = 7 AND born = 1950; ALTER TABLE people ADD PRIMARY KEY (id)",
    );
    let sql = "SELECT count(*) FROM visits v WHERE (SELECT born FROM people p WHERE p.id = v.patient) > 1900";
    let counted: i64 = value(&mut world.analyst, sql);
    assert!((counted - 9000).abs() < 20, "{counted}");
}
