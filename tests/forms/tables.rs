//! Tables of all sorts: partitions, children, rows that a policy hides, names that change.

use dp_mean_tests::refused;

use super::World;

/// What protects a table in these tests, with persons of two rows.
const PROTECT: &str = "groups => 2, rows => 2, query_eps => 20, query_delta => 1e-6";

impl World {
    /// Protects a table of the owner's with columns `person` and `cost`, and allows the analyst to ask.
    fn protect(&mut self, table: &str) {
        self.own(&format!(
            "SELECT dp_protect('{table}', 'person', 'all', {PROTECT}), dp_declare('{table}', 'cost', 0, 100), \
                 dp_allow('{table}', '{{analyst}}')"
        ));
    }
}

#[test]
fn partitioned_tables_are_asked_as_a_whole() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE parts (person int NOT NULL, region text, cost float8 NOT NULL, day date NOT NULL)
             PARTITION BY RANGE (day);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2025-01-01') TO ('2025-07-01');
         CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM ('2025-07-01') TO ('2026-01-01')
             PARTITION BY LIST (region);
         CREATE TABLE parts_2_a PARTITION OF parts_2 FOR VALUES IN ('r0', 'r1');
         CREATE TABLE parts_2_b PARTITION OF parts_2 DEFAULT;
         INSERT INTO parts SELECT patient, region, cost, day FROM visits",
    );
    world.protect("parts");
    for partitionwise in ["off", "on"] {
        world.ask(&format!(
            "SET enable_partitionwise_aggregate = {partitionwise}; SET enable_partitionwise_join = {partitionwise}"
        ));
        for (releases, sql) in [
            (1, "SELECT count(*) FROM parts"),
            (
                2,
                "SELECT region, count(*), avg(cost) FROM parts GROUP BY region ORDER BY region",
            ),
            (
                2,
                "SELECT date_trunc('quarter', day), sum(cost) FROM parts GROUP BY 1 ORDER BY 1",
            ),
            (1, "SELECT count(*) FROM parts WHERE day < '2025-03-01'"),
            (
                1,
                "SELECT count(*) FROM parts WHERE day >= '2025-07-01' AND region = 'r1'",
            ),
            (
                1,
                "SELECT country, avg(cost) FROM parts JOIN regions USING (region) GROUP BY country ORDER BY 1",
            ),
        ] {
            world.same(sql, releases);
        }
    }
    for part in ["parts_1", "parts_2", "parts_2_a"] {
        let refusal = world.refused(&format!("SELECT count(*) FROM {part}"));
        assert_eq!(
            refusal.message,
            format!("permission denied for table {part}")
        );
    }
    // A part can come and go.
    world.own("ALTER TABLE parts DETACH PARTITION parts_1");
    world.same(
        "SELECT region, count(*) FROM parts GROUP BY region ORDER BY region",
        2,
    );
    world.refused("SELECT count(*) FROM parts_1");
    world.own("ALTER TABLE parts ATTACH PARTITION parts_1 FOR VALUES FROM ('2025-01-01') TO ('2025-07-01')");
    world.same(
        "SELECT region, count(*) FROM parts GROUP BY region ORDER BY region",
        2,
    );
}

/// A key of the whole partitioned table makes a row a person.
#[test]
fn a_key_of_partitions_is_a_person_each() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE keyed (person int PRIMARY KEY, cost float8 NOT NULL) PARTITION BY HASH (person);
         CREATE TABLE keyed_0 PARTITION OF keyed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE keyed_1 PARTITION OF keyed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         INSERT INTO keyed SELECT person, born % 100 FROM people",
    );
    world.protect("keyed");
    world.same("SELECT avg(cost), count(*), sum(cost) FROM keyed", 1);
    let rewritten: String =
        world.asked("SELECT rewritten FROM dp_cost('SELECT avg(cost) FROM keyed')");
    assert!(!rewritten.contains("dp_contribution"), "{rewritten}");
}

/// A key of the parent alone does not: a child may have the person again.
#[test]
fn children_are_asked_with_their_parent() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE mother (person int PRIMARY KEY, region text, cost float8);
         CREATE TABLE child (extra int) INHERITS (mother);
         CREATE TABLE second (more int) INHERITS (mother);
         INSERT INTO mother SELECT DISTINCT ON (patient) patient, region, cost FROM visits WHERE age < 40 ORDER BY patient;
         INSERT INTO child SELECT DISTINCT ON (patient) patient, region, cost, 1 FROM visits WHERE age > 50 ORDER BY patient",
    );
    world.protect("mother");
    world.same("SELECT count(*) FROM mother", 1);
    world.same("SELECT region, count(*), avg(cost) FROM mother WHERE cost IS NOT NULL GROUP BY region ORDER BY 1", 3);
    world.same("SELECT count(*) FROM ONLY mother", 1);
    let rewritten: String =
        world.asked("SELECT rewritten FROM dp_cost('SELECT count(*) FROM mother')");
    assert!(rewritten.contains("dp_contribution"), "{rewritten}");
    for child in ["child", "second"] {
        let refusal = world.refused(&format!("SELECT count(*) FROM {child}"));
        assert_eq!(
            refusal.message,
            format!("permission denied for table {child}")
        );
    }
}

/// The policies of row-level security that are the analyst's, not the owner's.
#[test]
fn row_level_security_is_that_of_who_asks() {
    let mut world = World::new();
    let make = |name: &str| {
        format!(
            "CREATE TABLE {name} (person int NOT NULL, region text NOT NULL, cost float8 NOT NULL, seen name);
             INSERT INTO {name} SELECT patient, region, cost,
                 CASE WHEN age < 40 THEN '{{analyst}}' ELSE '{{other}}' END FROM visits;
             ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;"
        )
    };
    for name in ["hidden", "listed", "mine"] {
        world.own(&make(name));
        world.protect(name);
    }
    world.own(
        "CREATE POLICY p ON listed FOR SELECT TO {analyst} USING (region IN ('r1', 'r2') AND cost > 10);
         CREATE POLICY p ON mine FOR SELECT USING (seen = current_user);
         SELECT dp_allow('mine', '{other}')",
    );
    world.same_as(
        "SELECT region, count(*), avg(cost) FROM listed GROUP BY region ORDER BY region",
        "SELECT region, count(*), avg(cost) FROM listed WHERE region IN ('r1', 'r2') AND cost > 10 GROUP BY 1 ORDER BY 1",
        2,
    );
    let counted: i64 = world.asked("SELECT count(*) FROM hidden");
    assert!(counted.abs() <= 5, "{counted}");
    let of_analyst = world.with_roles("SELECT count(*) FROM mine WHERE seen = '{analyst}'");
    world.same_as("SELECT count(*) FROM mine", &of_analyst, 1);
    let of_other = world.with_roles("SELECT count(*) FROM mine WHERE seen = '{other}'");
    let truth = super::table(&mut world.owner, &of_other);
    let mut other = world.database.connect_as(&world.with_roles("{other}"));
    super::assert_alike(
        &super::table(&mut other, "SELECT count(*) FROM mine"),
        &truth,
        "other",
    );
    // A plan that was made for one is not the other's.
    let mut server = world.database.connect();
    let both = world.with_roles("GRANT {other} TO {analyst}");
    dp_mean_tests::run(&mut server, &both);
    world.ask("PREPARE p AS SELECT count(*) FROM mine; SET plan_cache_mode = force_generic_plan");
    for _ in 0..2 {
        world.same_as("EXECUTE p", &of_analyst, 1);
        world.ask("SET ROLE {other}");
        world.same_as("EXECUTE p", &of_other, 1);
        world.ask("RESET ROLE");
    }
    // Policies whose functions could tell of a row are no use here.
    world.own(
        "CREATE FUNCTION odd(x float8) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN 1 / x > 0; END $$;
         ALTER POLICY p ON listed USING (odd(cost))",
    );
    let refusal = world.refused("SELECT count(*) FROM listed");
    assert!(refusal.message.contains("function odd"), "{refusal:?}");
}

#[test]
fn names_may_change() {
    let mut world = World::new();
    world.ask(
        "CREATE VIEW seen AS SELECT dept, salary FROM people;
         PREPARE p AS SELECT dept, avg(salary) FROM people GROUP BY dept ORDER BY 1",
    );
    world.ask("EXECUTE p");
    world.own(
        "ALTER TABLE people RENAME TO persons; ALTER TABLE persons RENAME person TO who;
         ALTER TABLE persons RENAME salary TO pay; ALTER TABLE persons DROP COLUMN born;
         ALTER TABLE persons ADD COLUMN level int NOT NULL DEFAULT 3; ALTER TABLE visits RENAME patient TO person;
         SELECT dp_declare('persons', 'level', 0, 10)",
    );
    world.same("SELECT avg(pay), sum(level) FROM persons", 2);
    world.same(
        "SELECT region, count(DISTINCT person) FROM visits GROUP BY region ORDER BY region",
        2,
    );
    let price = world.price(|world| world.ask("SELECT count(DISTINCT who), count(*) FROM persons"));
    assert_eq!(price, (2.0, 1));
    let sql = "SELECT dept, avg(salary) > 0 FROM seen GROUP BY dept ORDER BY dept";
    assert_eq!(super::table(&mut world.analyst, sql).len(), 5);
    // The statement names a table that is gone.
    let error = world
        .analyst
        .simple_query("EXECUTE p")
        .expect_err("no table");
    assert_eq!(dp_mean_tests::refusal(&error, "p").code, "42P01");
}

/// What the owner changes holds for the next execution, of plans that are kept too.
#[test]
fn a_new_policy_holds_at_once() {
    let mut world = World::new();
    world.ask("PREPARE p AS SELECT count(*) FROM people; SET plan_cache_mode = force_generic_plan; EXECUTE p");
    for epsilon in [10.0, 5.0, 2.5] {
        world.own(&format!(
            "SELECT dp_protect('people', 'person', 'all', query_eps => {epsilon:?})"
        ));
        let price = world.price(|world| world.ask("EXECUTE p"));
        assert_eq!(price, (epsilon / super::EPSILON, 1));
    }
    world.own("SELECT dp_disallow('people', '{analyst}')");
    let refusal = world.refused("EXECUTE p");
    assert!(
        refusal
            .message
            .contains("permission denied for table people"),
        "{refusal:?}"
    );
    world.own("SELECT dp_allow('people', '{analyst}')");
    world.ask("EXECUTE p");
    world.own("SELECT dp_unprotect('people')");
    world.refused("EXECUTE p");
    world.own("GRANT SELECT ON people TO {analyst}");
    world.same_as("EXECUTE p", "SELECT count(*) FROM people", 0);
}

/// What an owner says wrong is named, with what to write instead.
#[test]
fn what_an_owner_says_wrong_is_named() {
    let mut world = World::new();
    for (sql, message, hint) in [
        (
            "dp_protect('people', 'person', 'all', rows => 0)",
            "dp_protect: argument \"rows\" must be from 1 to 1000000",
            "dp_protect(table, unit, budget)",
        ),
        (
            "dp_protect('people', 'person', 'all', query_eps => 0)",
            "dp_protect: argument \"query_eps\" must be from 2^-20 to 50",
            "dp_protect(table, unit, budget)",
        ),
        (
            "dp_declare('people', 'salary', 5, 5)",
            "dp_declare: arguments \"lo\" and \"hi\" must be lo < hi, from -1e100 to 1e100",
            "lower bound first",
        ),
        (
            "dp_declare('people', 'salary', 0, NULL)",
            "dp_declare: argument \"hi\" must not be NULL alone",
            "Give both bounds",
        ),
        (
            "dp_declare('people', 'dept', '{}')",
            "dp_declare: argument \"allowed_values\" must have 1 to 10000 values",
            "ARRAY['a', 'b']",
        ),
    ] {
        let refusal = refused(&mut world.owner, &format!("SELECT {sql}"));
        assert_eq!(refusal.code, "22023", "{sql}: {refusal:?}");
        assert_eq!(refusal.message, message, "{sql}");
        assert!(refusal.hint.contains(hint), "{sql}: {refusal:?}");
    }
}

/// Stored generated columns are columns; those that are computed when they are read are refused.
#[test]
fn generated_columns() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE made (person int NOT NULL, cost float8 NOT NULL, twice float8 GENERATED ALWAYS AS (cost * 2) STORED);
         INSERT INTO made SELECT patient, cost FROM visits; SELECT dp_declare('made', 'twice', 0, 200)",
    );
    world.protect("made");
    world.same("SELECT avg(twice) FROM made", 1);
    let version: String = world.asked("SHOW server_version_num");
    if version.parse::<i32>().expect("a number") >= 180_000 {
        world.own(
            "ALTER TABLE made ADD COLUMN odd float8 GENERATED ALWAYS AS (1 / (cost - 0.25)) VIRTUAL;
             SELECT dp_declare('made', 'odd', 0, 200)",
        );
        for sql in [
            "SELECT avg(odd) FROM made",
            "SELECT count(*) FROM made WHERE odd > 0",
            "SELECT odd, count(*) FROM made GROUP BY odd",
        ] {
            let refusal = world.refused(sql);
            assert!(
                refusal.message.contains("virtual generated columns"),
                "{refusal:?}"
            );
        }
    }
}

#[test]
fn keys_may_be_of_domains() {
    let mut world = World::new();
    world.own(
        "CREATE DOMAIN place AS varchar(9) NOT NULL CHECK (value <> 'nowhere');
         CREATE TABLE homes (person int PRIMARY KEY, at place, cost float8 NOT NULL);
         INSERT INTO homes SELECT person, 'p' || person % 3, person % 100 FROM people",
    );
    world.protect("homes");
    world.same("SELECT at, count(*) FROM homes GROUP BY at ORDER BY at", 2);
    // What is in none of the groups has a NULL, which the domain would not.
    let sql =
        "SELECT at, count(*), grouping(at) FROM homes GROUP BY ROLLUP (at) ORDER BY at NULLS LAST";
    world.same(sql, 3);
}

/// Where texts that differ are the same person, no index says that a row is a person.
#[test]
fn people_have_a_collation_that_tells_them_apart() {
    let mut world = World::new();
    let loose = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)";
    if world.owner.batch_execute(loose).is_err() {
        // The server was built without ICU.
        return;
    }
    world.own(
        "CREATE TABLE names (person text COLLATE loose, cost float8 NOT NULL);
         CREATE UNIQUE INDEX ON names (person COLLATE \"C\");
         INSERT INTO names VALUES ('ann', 1), ('Ann', 1), ('ANN', 1)",
    );
    world.protect("names");
    let refusal = world.refused("SELECT count(*) FROM names");
    assert!(
        refusal.message.contains("nondeterministic collation"),
        "{refusal:?}"
    );
}

/// The owner of a public table says of its columns what a query may say itself, and need not say what is true.
#[test]
fn columns_of_joined_tables_have_public_bounds_and_values() {
    const SUM: &str = "SELECT sum(factor) FROM visits JOIN regions USING (region)";
    const PRODUCT: &str = "SELECT sum(cost * factor) FROM visits JOIN regions USING (region)";
    const GROUPS: &str = "SELECT country, count(*) FROM visits JOIN regions USING (region) GROUP BY country ORDER BY country";
    let mut world = World::new();
    let refusal = world.refused(SUM);
    assert!(refusal.message.contains("no public bounds"), "{refusal:?}");
    world.own("SELECT dp_declare('regions', 'factor', 0, 2)");
    world.same(SUM, 1);
    world.same(PRODUCT, 1);
    world.same(
        "SELECT avg(most) FROM (SELECT patient, max(factor) AS most FROM visits v JOIN regions USING (region) \
         GROUP BY patient) s",
        1,
    );
    world.own("SELECT dp_declare('regions', 'country', ARRAY['c1', 'c7'])");
    world.same_as(
        GROUPS,
        "SELECT k, count(country) FROM (VALUES ('c1'), ('c7')) AS v (k) LEFT JOIN (visits JOIN regions USING (region)) \
         ON country = k GROUP BY k ORDER BY k",
        1,
    );
    // As it was, once that is taken back.
    world.own("SELECT dp_declare('regions', 'factor', NULL::float8, NULL), dp_declare('regions', 'country', NULL)");
    assert_eq!(world.refused(PRODUCT).code, "42501");
    world.same(GROUPS, 1);
    // An analyst may say it of a table of their own: what is beyond the bounds is clamped.
    world.ask(
        "CREATE TABLE mine (region text, factor float8); INSERT INTO mine SELECT 'r' || g, 1e9 FROM generate_series(0, 4) g;
         SELECT dp_declare('mine', 'factor', 0, 1)",
    );
    world.same_as(
        "SELECT sum(factor) FROM visits JOIN mine USING (region)",
        "SELECT 1.0 * count(*) FROM visits",
        1,
    );
}
