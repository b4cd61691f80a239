//! Tables that name no person, and refer to one that does.

use dp_mean_tests::refused;

use super::World;

/// Items of visits, and parts of items, beside the tables of the world.
const TABLES: &str = "
CREATE TABLE items (item int PRIMARY KEY, gone int, visit int REFERENCES visits, price float8 NOT NULL, kind text NOT NULL);
INSERT INTO items SELECT i, 1, CASE WHEN i < 79900 THEN i / 2 END, i * 7919 % 100 + 0.5, 'k' || i % 3
FROM generate_series(0, 79999) i;
ALTER TABLE items DROP COLUMN gone;
CREATE TABLE parts (part int PRIMARY KEY, item int NOT NULL REFERENCES items, weight float8 NOT NULL);
INSERT INTO parts SELECT i, i, i % 10 FROM generate_series(0, 79999) i;
CREATE INDEX ON items (visit); CREATE INDEX ON parts (item); CREATE INDEX ON visits (patient); ANALYZE;
SELECT dp_protect('items', via => 'visit', groups => 3, rows => 4, query_eps => 20, query_delta => 1e-6);
SELECT dp_protect('parts', via => 'item', groups => 3, rows => 4, query_eps => 20, query_delta => 1e-6);
SELECT dp_declare('items', 'price', 0, 100), dp_declare('items', 'kind', ARRAY['k0', 'k1', 'k2']),
    dp_declare('parts', 'weight', 0, 10);
SELECT dp_allow('items', '{analyst}'), dp_allow('parts', '{analyst}')";

/// What is about nobody is in no answer.
const OF_SOMEBODY: &str = "(SELECT * FROM items WHERE visit IS NOT NULL)";

#[test]
fn rows_are_those_of_whom_they_refer_to() {
    let mut world = World::new();
    world.own(TABLES);
    for (releases, sql) in [
        (1, "SELECT count(*) FROM items i"),
        (1, "SELECT avg(price) FROM items i WHERE kind = 'k1'"),
        (
            1,
            "SELECT kind, count(*) FROM items i GROUP BY kind ORDER BY kind",
        ),
        (
            1,
            "SELECT avg(weight) FROM parts p JOIN items i USING (item)",
        ),
        // Joined with what it refers to, or with anything else of the person.
        (
            1,
            "SELECT avg(price) FROM items i JOIN visits v ON i.visit = v.id WHERE v.age > 40",
        ),
        (
            1,
            "SELECT kind, count(*) FROM items i, visits v WHERE i.visit = v.id AND v.cost > 50 GROUP BY kind ORDER BY kind",
        ),
        (
            1,
            "SELECT avg(price) FROM items i JOIN visits v ON i.visit = v.id JOIN people p ON v.patient = p.person \
             WHERE p.born > 1960",
        ),
        (
            1,
            "SELECT avg(price) FROM parts r JOIN items i ON r.item = i.item JOIN visits v ON i.visit = v.id WHERE weight > 3",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE EXISTS (SELECT FROM items i WHERE i.visit = v.id AND price > 90)",
        ),
        (
            1,
            "SELECT count(*) FROM visits v WHERE v.id IN (SELECT visit FROM items i WHERE price > 90)",
        ),
        (
            1,
            "SELECT count(*) FROM (SELECT v.patient, count(*) AS n FROM items i JOIN visits v ON i.visit = v.id \
             GROUP BY v.patient HAVING count(*) > 3) s",
        ),
        // An outer join that keeps what it refers to.
        (
            1,
            "SELECT count(i.price) FROM visits v LEFT JOIN items i ON i.visit = v.id AND price > 50",
        ),
        // A chain, in another order than that of FROM.
        (
            1,
            "SELECT avg(weight) FROM parts r, visits v, items i WHERE v.id = i.visit AND i.item = r.item AND v.cost > 50",
        ),
        // Two rows that refer to the same one.
        (
            1,
            "SELECT count(*) FROM items i JOIN items j ON i.visit = j.visit WHERE i.item < j.item",
        ),
    ] {
        let plain = sql
            .replace("FROM items i", &format!("FROM {OF_SOMEBODY} i"))
            .replace("JOIN items j", &format!("JOIN {OF_SOMEBODY} j"))
            .replace("JOIN items i", &format!("JOIN {OF_SOMEBODY} i"));
        world.same_as(sql, &plain, releases);
    }
    // A NULL in the list would make NOT IN one for all.
    let list =
        "SELECT v.id FROM people p LEFT JOIN visits v ON v.patient = p.person AND v.cost > 50";
    let sql = format!("SELECT count(*) FROM items i WHERE i.visit NOT IN ({list})");
    let plain = format!(
        "SELECT count(*) FROM {OF_SOMEBODY} i WHERE i.visit NOT IN ({list} WHERE v.id IS NOT NULL)"
    );
    world.same_as(&sql, &plain, 1);
    let plain = format!("SELECT count(*) FROM parts r JOIN {OF_SOMEBODY} i USING (item)");
    world.same_as("SELECT count(*) FROM parts", &plain, 1);
}

/// The key that says whose a row is must be there, and unique.
#[test]
fn without_its_key_a_table_is_not_asked() {
    let mut world = World::new();
    world.own(TABLES);
    for sql in [
        "SELECT dp_protect('items', via => 'price')",
        "SELECT dp_protect('items', via => 'nothing')",
        "SELECT dp_protect('items', 'visit', via => 'visit')",
        "SELECT dp_protect('items', via => 'visit', budget => 'other')",
        "SELECT dp_protect('items', via => NULL)",
        "SELECT dp_protect('items')",
        "SELECT dp_protect('regions', via => 'region')",
    ] {
        assert_eq!(refused(&mut world.owner, sql).code, "22023", "{sql}");
    }
    for sql in [
        "SELECT count(*) FROM items i JOIN visits v ON i.item = v.id",
        "SELECT count(*) FROM items i JOIN visits v ON i.visit <> v.id",
        "SELECT count(*) FROM items i JOIN visits v ON i.visit = v.age",
        "SELECT count(*) FROM items i JOIN visits v ON i.visit = v.id + 1",
        "SELECT count(*) FROM visits a JOIN visits b ON a.id = b.id",
    ] {
        assert_eq!(refused(&mut world.analyst, sql).code, "42501", "{sql}");
    }
    world.ask("PREPARE q AS SELECT count(*) FROM items; EXECUTE q; SET dp_mean.reuse = off");
    world.own("ALTER TABLE items DROP CONSTRAINT items_visit_fkey");
    for sql in [
        "EXECUTE q",
        "SELECT count(*) FROM items",
        "SELECT count(*) FROM parts",
    ] {
        assert_eq!(refused(&mut world.analyst, sql).code, "42501", "{sql}");
    }
    world.own("ALTER TABLE items ADD FOREIGN KEY (visit) REFERENCES visits NOT VALID");
    world.ask("EXECUTE q");
    // Who may not ask about the table that says whose rows these are, may not ask about them.
    world.own("SELECT dp_disallow('visits', '{analyst}')");
    let refusal = refused(&mut world.analyst, "SELECT count(*) FROM items");
    assert!(refusal.message.contains("visits"), "{refusal:?}");
    assert_eq!(refused(&mut world.analyst, "EXECUTE q").code, "42501");
}

/// A foreign key to the column that names the person names them itself: the other table is not read, and counts still.
#[test]
fn a_reference_to_the_person_names_them() {
    const COUNT: &str = "SELECT count(*) FROM notes n";
    const JOINED: &str =
        "SELECT avg(length) FROM notes n JOIN people p ON n.about = p.person WHERE born > 1960";
    let mut world = World::new();
    world.own(
        "CREATE TABLE notes (note int PRIMARY KEY, about int REFERENCES people, length int NOT NULL, wide bigint);
         INSERT INTO notes SELECT i, CASE WHEN i < 39900 THEN i % 20000 END, i % 80, i % 20000
         FROM generate_series(0, 39999) i;
         SELECT dp_protect('notes', via => 'about', rows => 2, query_eps => 20, query_delta => 1e-6),
             dp_declare('notes', 'length', 0, 80), dp_allow('notes', '{analyst}')",
    );
    let somebody = "SELECT count(*) FROM notes n WHERE about IS NOT NULL";
    world.same_as(COUNT, somebody, 1);
    world.same(JOINED, 1);
    world.same(
        "SELECT count(*) FROM (SELECT about, count(*) AS n FROM notes GROUP BY about HAVING about IS NOT NULL) s WHERE n > 1",
        1,
    );
    world.same(
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM notes n WHERE n.about = p.person AND length > 70)",
        1,
    );
    let refusal = world.refused("SELECT about, count(*) FROM notes GROUP BY about");
    assert!(refusal.message.contains("single persons"), "{refusal:?}");
    for sql in [
        "SELECT count(*) FROM notes n JOIN people p ON n.note = p.person",
        "SELECT count(*) FROM notes a JOIN notes b ON a.length = b.length",
    ] {
        world.refused(sql);
    }
    // What row-level security hides of the other table, is hidden of this one.
    world.ask(&format!(
        "SET dp_mean.reuse = off; PREPARE q AS {COUNT}; EXECUTE q"
    ));
    world.own(
        "ALTER TABLE people ENABLE ROW LEVEL SECURITY; CREATE POLICY old ON people USING (born < 1970)",
    );
    let old = "SELECT count(*) FROM notes n JOIN people p ON n.about = p.person WHERE born < 1970";
    world.same_as(COUNT, old, 1);
    world.same_as("EXECUTE q", old, 1);
    world.own("ALTER TABLE people DISABLE ROW LEVEL SECURITY");
    world.same_as("EXECUTE q", somebody, 1);
    // Who may not ask about the people, may not ask about this.
    for (end, again) in [
        (
            "SELECT dp_disallow('people', '{analyst}')",
            "SELECT dp_allow('people', '{analyst}')",
        ),
        (
            "SELECT dp_unprotect('people')",
            "SELECT dp_protect('people', 'person', 'all', query_eps => 20), dp_allow('people', '{analyst}')",
        ),
    ] {
        world.own(end);
        let refusal = world.refused(COUNT);
        let reasons = ["which you may not read", "refers to another one"];
        let is_it = reasons
            .iter()
            .any(|reason| refusal.message.contains(reason));
        assert!(is_it, "{refusal:?}");
        world.refused("EXECUTE q");
        world.own(again);
        world.same_as(COUNT, somebody, 1);
    }
    // One of another type is compared with the other table's.
    world.own(
        "ALTER TABLE notes ADD FOREIGN KEY (wide) REFERENCES people;
         SELECT dp_unprotect('notes'), dp_protect('notes', via => 'wide', rows => 2, query_eps => 20),
             dp_allow('notes', '{analyst}')",
    );
    world.same(COUNT, 1);
}
