//! Queries with their groups before the join: that they are in the form they should be in, and have the same rows.

use std::ffi::{CStr, CString};

use pgrx::{Spi, pg_sys, pg_test};

use super::regrouped;
use crate::gate::policy::Policy;
use crate::pg::execution::Memory;
use crate::pg::relation;
use crate::pg::test_helpers::sql;
use crate::pg::tree;

/// Patients, and one without a visit; visits, some of nobody, some of who is no patient; what is done in a visit; a
/// public table; and a table with several rows of a patient.
fn tables() {
    sql(
        "CREATE TABLE patients (id int PRIMARY KEY, sex boolean, weight int NOT NULL);
         INSERT INTO patients SELECT i, nullif(i % 5, 0) > 2, i % 11 FROM generate_series(1, 40) i;
         CREATE TABLE visits (id int PRIMARY KEY, patient int, cost int, kind int);
         INSERT INTO visits SELECT i, nullif(i % 43, 0), i % 7, i % 4 FROM generate_series(1, 400) i WHERE i % 43 <> 9;
         CREATE TABLE items (visit int NOT NULL, price int NOT NULL);
         INSERT INTO items SELECT i / 3 + 1, i % 5 FROM generate_series(1, 1100) i;
         CREATE TABLE stays (patient int NOT NULL, days int NOT NULL);
         INSERT INTO stays SELECT 1 + i % 40, i % 3 FROM generate_series(1, 80) i;
         CREATE TABLE kinds (id int PRIMARY KEY, name text NOT NULL);
         INSERT INTO kinds SELECT i, 'k' || i FROM generate_series(0, 3) i;
         SELECT dp_set_budget('b', 1, 0), dp_protect('patients', 'id', 'b'),
                dp_protect('visits', 'patient', 'b'), dp_protect('stays', 'patient', 'b')",
    );
}

/// A query with its groups before the join, as SQL, if that can be.
fn early(query: &str) -> Option<String> {
    let memory = Memory::enter();
    let [first, others @ ..] = ["patients", "visits", "stays"].map(|name| {
        let query = format!("SELECT '{name}'::regclass::oid");
        Spi::get_one::<pg_sys::Oid>(&query)
            .expect("a query")
            .expect("a table")
    });
    assert!(relation::lock(first, pg_sys::AccessShareLock));
    let policy = Policy::of_all(first, &others).expect("a policy");
    let policy = policy.map_err(|reason| reason.why).expect("one policy");
    let text = CString::new(query).expect("no NUL");
    let query = tree::analyse(memory.nodes(), &text)[0];
    let early = regrouped(query, &policy)?;
    // SAFETY: a query, which is written as a string.
    let text = unsafe { CStr::from_ptr(pg_sys::pg_get_querydef(early.pointer(), false)) };
    Some(text.to_str().expect("a text").to_owned())
}

/// All rows of a query, in the order of what they are as a text.
fn rows(query: &str) -> Vec<String> {
    let query = format!("SELECT q::text FROM ({query}) q ORDER BY 1");
    Spi::connect(|client| {
        let rows = client.select(&query, None, &[]).expect("a query");
        let row = |row: pgrx::spi::SpiHeapTupleData| row.get::<String>(1).expect("a text");
        rows.map(|found| row(found).expect("a row")).collect()
    })
}

/// That a query is grouped first, before it is joined with this table, and has the same rows.
fn is_early(query: &str) {
    let early = early(query).unwrap_or_else(|| panic!("not grouped first: {query}"));
    let (outer, below) = early.split_once("GROUP BY").expect("groups");
    assert!(outer.contains("FROM patients p"), "{early}");
    assert!(
        !outer
            .rsplit("SELECT")
            .next()
            .expect("a part")
            .contains("patients"),
        "{early}"
    );
    assert!(below.contains("people"), "{early}");
    let expected = rows(query);
    assert!(expected.len() > 1, "{query}");
    assert_eq!(rows(&early), expected, "{query}: {early}");
}

#[pg_test]
fn groups_of_persons_come_before_the_join() {
    tables();
    for query in [
        "SELECT p.id, sum(v.cost) FROM patients p JOIN visits v ON v.patient = p.id WHERE p.weight > 3 GROUP BY p.id",
        "SELECT v.patient, max(v.cost) + count(*) FROM visits v, patients p WHERE p.id = v.patient AND v.kind > 1 GROUP BY 1",
        "SELECT p.sex, v.patient, count(v.cost) FILTER (WHERE v.kind = 2), min(v.cost) FROM visits v JOIN patients p \
         ON p.id = v.patient AND v.cost > 0 WHERE p.sex IS NOT NULL GROUP BY v.patient, p.sex",
        "SELECT p.weight * 2, p.id, sum(i.price), count(*) FROM patients p JOIN visits v ON p.id = v.patient \
         JOIN items i ON i.visit = v.id GROUP BY p.id, p.weight * 2",
        "SELECT p.id, max(k.name) FROM visits v LEFT JOIN kinds k ON k.id = v.kind AND k.id > 1 \
         JOIN patients p ON p.id = v.patient WHERE p.weight + v.patient > 9 GROUP BY p.id",
        "SELECT v.patient, sum(n) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient, kind) v \
         JOIN patients p ON p.id = v.patient GROUP BY v.patient",
        // In a sub-query, and with a column of the query around it.
        "SELECT count(*), sex FROM (SELECT p.sex, sum(v.cost) AS cost FROM visits v JOIN patients p ON p.id = v.patient \
         GROUP BY p.sex, p.id) s GROUP BY sex",
    ] {
        is_early(query);
    }
}

#[pg_test]
fn other_groups_stay_after_the_join() {
    tables();
    let joined = "patients p JOIN visits v ON v.patient = p.id";
    for query in [
        // Nobody is joined, or nothing is grouped by the person, or by something else too.
        "SELECT patient, sum(cost) FROM visits GROUP BY patient".to_owned(),
        format!("SELECT p.sex, sum(v.cost) FROM {joined} GROUP BY p.sex"),
        format!("SELECT p.id, v.kind, sum(v.cost) FROM {joined} GROUP BY p.id, v.kind"),
        // An aggregate, or a condition, needs both sides.
        format!("SELECT p.id, sum(v.cost * p.weight) FROM {joined} GROUP BY p.id"),
        format!("SELECT p.id, count(*) FILTER (WHERE p.sex) FROM {joined} GROUP BY p.id"),
        format!("SELECT p.id, sum(v.cost) FROM {joined} WHERE v.cost > p.weight GROUP BY p.id"),
        format!("SELECT p.id, sum(v.cost) FROM {joined} JOIN kinds k ON k.id = p.weight GROUP BY p.id"),
        // The other table may have several rows of a person, or none.
        "SELECT v.patient, sum(v.cost) FROM visits v JOIN stays s ON s.patient = v.patient GROUP BY v.patient".to_owned(),
        "SELECT v.patient, sum(v.cost) FROM visits v LEFT JOIN patients p ON p.id = v.patient GROUP BY v.patient".to_owned(),
        // Joined by something else than the person.
        "SELECT p.id, sum(v.cost) FROM visits v JOIN patients p ON p.weight = v.patient GROUP BY p.id".to_owned(),
        "SELECT p.id, sum(v.cost) FROM visits v JOIN patients p ON p.id = v.patient + 1 GROUP BY p.id".to_owned(),
        format!("SELECT p.id, sum(v.cost) FROM {joined} GROUP BY p.id HAVING sum(v.cost) > 3"),
        format!("SELECT p.id, sum(v.cost) FROM {joined} GROUP BY p.id ORDER BY 2 LIMIT 3"),
        format!("SELECT p.id, sum(v.cost) FROM {joined} GROUP BY ROLLUP (p.id)"),
        format!("SELECT p.id, GROUPING(p.id), sum(v.cost) FROM {joined} GROUP BY p.id"),
        format!("SELECT p.id, sum(v.cost) FROM {joined} WHERE EXISTS (SELECT FROM kinds) GROUP BY p.id"),
    ] {
        assert_eq!(early(&query), None, "{query}");
    }
    // Without the index that says that each person has one row.
    let query = format!("SELECT p.id, sum(v.cost) FROM {joined} GROUP BY p.id");
    assert!(early(&query).is_some());
    sql(
        "ALTER TABLE patients DROP CONSTRAINT patients_pkey; CREATE UNIQUE INDEX ON patients (id) WHERE id > 3",
    );
    assert_eq!(early(&query), None);
}
