//! Keys that refer to a public table which the query does not join.

use dp_mean_tests::{run, value};

use super::asking::Asking;
use super::table;

/// Visits to clinics; two clinics have none. `more` is SQL that is run last.
fn world(more: &str) -> Asking {
    let made = format!(
        "CREATE TABLE clinics (id int PRIMARY KEY, name text NOT NULL UNIQUE);
         INSERT INTO clinics SELECT i, 'c' || i FROM generate_series(1, 6) i;
         CREATE TABLE visits (id int PRIMARY KEY, clinic int NOT NULL REFERENCES clinics, other text REFERENCES clinics (name));
         INSERT INTO visits SELECT i, 1 + i % 4, CASE WHEN i % 3 > 0 THEN 'c' || 1 + i % 2 END FROM generate_series(1, 1200) i;
         ANALYZE clinics, visits;
         SELECT dp_set_budget('all', 4000, 1e-6);
         SELECT dp_protect('visits', 'id', 'all', query_eps => 50), dp_allow('visits', '{{analyst}}');
         GRANT SELECT ON clinics TO {{analyst}}; {more}"
    );
    Asking::new(&made, 3)
}

/// Whether groups are chosen, which takes a delta.
fn chooses(world: &mut Asking, sql: &str) -> bool {
    world.cost::<f64>("delta", sql) > 0.0
}

/// Prepares a question about the number of groups, with a plan that is kept.
fn prepare(world: &mut Asking) {
    run(
        &mut world.analyst,
        "SET plan_cache_mode = force_generic_plan;
         PREPARE asked AS SELECT count(*) FROM (SELECT clinic, count(*) FROM visits GROUP BY clinic) s",
    );
}

#[test]
fn the_keys_of_a_table_are_groups() {
    let mut world = world("");
    for (sql, truth) in [
        (
            "SELECT clinic, count(*) FROM visits GROUP BY clinic ORDER BY 1",
            "SELECT c.id, count(v.id) FROM clinics c LEFT JOIN visits v ON v.clinic = c.id GROUP BY 1 ORDER BY 1",
        ),
        // It may be NULL.
        (
            "SELECT other, count(*) FROM visits GROUP BY other ORDER BY 1",
            "SELECT c.name, count(v.id) FROM (SELECT name FROM clinics UNION SELECT NULL) c LEFT JOIN visits v \
             ON v.other IS NOT DISTINCT FROM c.name GROUP BY 1 ORDER BY 1",
        ),
        // Conditions on the key leave out its groups, others do not.
        (
            "SELECT clinic, count(*) FROM visits WHERE clinic > 2 AND id < 0 GROUP BY clinic ORDER BY 1",
            "SELECT id, 0 FROM clinics WHERE id > 2 ORDER BY 1",
        ),
        (
            "SELECT clinic, other, count(*) FROM visits WHERE other IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
            "SELECT c.id, o.name, count(v.id) FROM clinics c CROSS JOIN clinics o LEFT JOIN visits v \
             ON v.clinic = c.id AND v.other = o.name GROUP BY 1, 2 ORDER BY 1, 2",
        ),
    ] {
        assert!(!chooses(&mut world, sql), "{sql}");
        let answer = table(&mut world.analyst, sql);
        let truth = table(&mut world.root, truth);
        super::assert_alike(&answer, &truth, sql);
    }
}

/// A table with more rows has more groups, also in a plan that is kept.
#[test]
fn the_table_is_read_each_time() {
    let mut world = world("");
    prepare(&mut world);
    for groups in 6..9 {
        let found: i64 = value(&mut world.analyst, "EXECUTE asked");
        assert_eq!(found, groups);
        let more = format!("INSERT INTO clinics VALUES ({0}, 'c{0}')", groups + 1);
        run(&mut world.root, &more);
    }
}

#[test]
fn what_the_role_may_not_read_is_no_list() {
    let sql = "SELECT clinic, count(*) FROM visits GROUP BY clinic";
    for (more, is_chosen) in [
        ("REVOKE SELECT ON clinics FROM {analyst}", true),
        (
            "REVOKE SELECT ON clinics FROM {analyst}; GRANT SELECT (name) ON clinics TO {analyst}",
            true,
        ),
        (
            "REVOKE SELECT ON clinics FROM {analyst}; GRANT SELECT (id) ON clinics TO {analyst}",
            false,
        ),
        // Its rows are of those who see them.
        (
            "ALTER TABLE clinics ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON clinics USING (id < 3)",
            true,
        ),
        (
            "ALTER TABLE visits DROP CONSTRAINT visits_clinic_fkey",
            true,
        ),
        // So large that most groups would be noise.
        (
            "INSERT INTO clinics SELECT i, 'c' || i FROM generate_series(10, 3000) i; ANALYZE clinics",
            true,
        ),
        // It has people of its own.
        (
            "SELECT dp_set_budget('clinics', 1, 1e-6), dp_protect('clinics', 'id', 'clinics')",
            true,
        ),
    ] {
        let mut world = world(more);
        assert_eq!(chooses(&mut world, sql), is_chosen, "{more}");
    }
}

/// Rights that are gone, and rows that are hidden, after a plan was made.
#[test]
fn a_plan_does_not_keep_what_was_allowed() {
    let mut world = world("");
    prepare(&mut world);
    let asked = |world: &mut Asking| value::<i64>(&mut world.analyst, "EXECUTE asked");
    assert_eq!(asked(&mut world), 6);
    let name = world.name.clone();
    // Groups with people alone are shown.
    run(
        &mut world.root,
        &format!("REVOKE SELECT ON clinics FROM {name}"),
    );
    assert_eq!(asked(&mut world), 4);
    run(
        &mut world.root,
        &format!("GRANT SELECT ON clinics TO {name}"),
    );
    // A plan that does not read it hangs on nothing of it.
    run(&mut world.analyst, "DISCARD PLANS");
    assert_eq!(asked(&mut world), 6);
    run(
        &mut world.root,
        "ALTER TABLE clinics ENABLE ROW LEVEL SECURITY",
    );
    assert_eq!(asked(&mut world), 4);
}
