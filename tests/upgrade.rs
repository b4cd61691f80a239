//! ALTER EXTENSION dp_mean UPDATE: what it makes is what CREATE EXTENSION makes, and what users made lives on. The new
//! library serves the SQL of the old version until then.

use std::collections::BTreeSet;

use dp_mean_tests::{Build, Database, Role, refused, rows, run, session, value};
use postgres::Client;

use crate::dumps::dump;

/// The version before.
const OLD: &str = "0.1.0";

/// The extension in its old version, in the place of the new one.
fn make_old(client: &mut Client, schema: &str) {
    let sql = format!(
        "DROP EXTENSION dp_mean; CREATE SCHEMA IF NOT EXISTS {schema}; \
         CREATE EXTENSION dp_mean SCHEMA {schema} VERSION '{OLD}'; \
         UPDATE pg_extension SET extrelocatable = true WHERE extname = 'dp_mean'" // as its control file said
    );
    run(client, &sql);
    assert_eq!(version(client), OLD);
}

fn old(build: Build) -> (Database, Client) {
    let (database, mut client) = session(build);
    make_old(&mut client, "public");
    (database, client)
}

fn version(client: &mut Client) -> String {
    value(
        client,
        "SELECT extversion FROM pg_extension WHERE extname = 'dp_mean'",
    )
}

/// All that the catalogs say of the extension, but for what differs from one CREATE to the next: numbers, and the
/// options of columns, where some builds of PostgreSQL keep a number too.
fn catalog(client: &mut Client) -> BTreeSet<String> {
    let sql = "
        WITH extension AS (SELECT oid FROM pg_extension WHERE extname = 'dp_mean'),
        member AS (
            SELECT classid, objid, pg_describe_object(classid, objid, 0) AS name FROM pg_depend
            WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM extension)
        ),
        what (name, fact) AS (
            SELECT 'member ' || name, to_jsonb(obj_description(objid, classid::regclass::name)) FROM member
            UNION ALL
            SELECT 'privileges ' || name, to_jsonb(initprivs) || to_jsonb(privtype)
            FROM member JOIN pg_init_privs i ON (i.classoid, i.objoid) = (classid, objid)
            UNION ALL
            SELECT 'dependence ' || name, to_jsonb(deptype) || to_jsonb(pg_describe_object(refclassid, refobjid, refobjsubid))
            FROM member JOIN pg_depend USING (classid, objid)
            UNION ALL
            SELECT 'dependent ' || name, to_jsonb(d.deptype) || to_jsonb(pg_describe_object(d.classid, d.objid, d.objsubid))
            FROM member JOIN pg_depend d ON (refclassid, refobjid) = (member.classid, member.objid)
            UNION ALL
            SELECT 'extension', to_jsonb(e) - '{oid,extconfig,extcondition}'::text[]
                || jsonb_build_object('extnamespace', extnamespace::regnamespace)
            FROM pg_extension e WHERE oid = (SELECT oid FROM extension)
            UNION ALL
            SELECT name, to_jsonb(p) - '{oid,prosqlbody}'::text[] || jsonb_build_object(
                'body', pg_get_function_sqlbody(p.oid),
                'pronamespace', pronamespace::regnamespace, 'proowner', proowner::regrole,
                'prorettype', prorettype::regtype, 'provariadic', provariadic::regtype,
                'proargtypes', proargtypes::regtype[], 'proallargtypes', proallargtypes::regtype[],
                'proargdefaults', pg_get_expr(proargdefaults, 0), 'says', pg_get_function_arguments(objid))
            FROM member JOIN pg_proc p ON p.oid = objid AND classid = 'pg_proc'::regclass
            UNION ALL
            SELECT name, to_jsonb(a) || jsonb_build_object('aggfnoid', '',
                'aggtransfn', aggtransfn::regprocedure, 'aggfinalfn', aggfinalfn::regprocedure,
                'aggtranstype', aggtranstype::regtype)
            FROM member JOIN pg_aggregate a ON aggfnoid = objid AND classid = 'pg_proc'::regclass
            UNION ALL
            SELECT name, to_jsonb(t) - '{oid,typrelid}'::text[] || jsonb_build_object(
                'typnamespace', typnamespace::regnamespace, 'typowner', typowner::regrole,
                'typarray', typarray::regtype, 'typelem', typelem::regtype, 'typbasetype', typbasetype::regtype)
            FROM member JOIN pg_type t ON t.oid = objid AND classid = 'pg_type'::regclass
            UNION ALL
            SELECT name || ' has ' || attname, to_jsonb(a) - '{attrelid,attoptions}'::text[] || jsonb_build_object(
                'atttypid', atttypid::regtype, 'says', col_description(attrelid, attnum))
            FROM member JOIN pg_type t ON t.oid = objid AND classid = 'pg_type'::regclass
                JOIN pg_attribute a ON attrelid = typrelid AND typrelid <> 0
            UNION ALL
            SELECT name, to_jsonb(o) - '{oid}'::text[] || jsonb_build_object(
                'oprnamespace', oprnamespace::regnamespace, 'oprowner', oprowner::regrole,
                'oprleft', oprleft::regtype, 'oprright', oprright::regtype, 'oprresult', oprresult::regtype,
                'oprcom', oprcom::regoperator, 'oprnegate', oprnegate::regoperator)
            FROM member JOIN pg_operator o ON o.oid = objid AND classid = 'pg_operator'::regclass
            UNION ALL
            SELECT name, to_jsonb(c) - '{oid}'::text[] || jsonb_build_object(
                'castsource', castsource::regtype, 'casttarget', casttarget::regtype)
            FROM member JOIN pg_cast c ON c.oid = objid AND classid = 'pg_cast'::regclass
            UNION ALL
            SELECT name, to_jsonb(c) - '{oid,opcfamily}'::text[] || jsonb_build_object(
                'opcnamespace', opcnamespace::regnamespace, 'opcowner', opcowner::regrole,
                'opcintype', opcintype::regtype)
            FROM member JOIN pg_opclass c ON c.oid = objid AND classid = 'pg_opclass'::regclass
            UNION ALL
            SELECT name, to_jsonb(n) - '{oid}'::text[] || jsonb_build_object('nspowner', nspowner::regrole)
            FROM member JOIN pg_namespace n ON n.oid = objid AND classid = 'pg_namespace'::regclass
        )
        SELECT name || ': ' || regexp_replace(coalesce(fact::text, 'NULL'), 'pg_toast_\\d+', 'pg_toast_N') FROM what";
    let all: Vec<String> = rows(client, sql).iter().map(|row| row.get(0)).collect();
    assert!(all.len() > 1000, "{}", all.len());
    BTreeSet::from_iter(all)
}

/// That two catalogs say the same.
fn assert_same(one: &BTreeSet<String>, other: &BTreeSet<String>) {
    let more: Vec<_> = one.difference(other).collect();
    let less: Vec<_> = other.difference(one).collect();
    assert!(
        more.is_empty() && less.is_empty(),
        "{more:#?}\nand not\n{less:#?}"
    );
}

#[test]
fn an_update_makes_what_create_makes() {
    for schema in ["public", "\"An odd schema\""] {
        let (_database, mut client) = session(Build::Release);
        let fresh = format!(
            "DROP EXTENSION dp_mean; CREATE SCHEMA IF NOT EXISTS {schema}; CREATE EXTENSION dp_mean SCHEMA {schema}"
        );
        run(&mut client, &fresh);
        let new = version(&mut client);
        let expected = catalog(&mut client);
        make_old(&mut client, schema);
        assert_ne!(catalog(&mut client), expected);
        run(&mut client, "ALTER EXTENSION dp_mean UPDATE");
        assert_eq!(version(&mut client), new);
        assert_same(&catalog(&mut client), &expected);
        // And nothing is left of it.
        run(&mut client, "DROP EXTENSION dp_mean");
        let sql = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'dp\\_%'";
        assert_eq!(value::<i64>(&mut client, sql), 0);
    }
}

#[test]
fn a_schema_of_its_name_stands_in_the_way() {
    let (_database, mut client) = old(Build::Release);
    run(&mut client, "CREATE SCHEMA dp_mean");
    let before = catalog(&mut client);
    let refusal = refused(&mut client, "ALTER EXTENSION dp_mean UPDATE");
    assert_eq!(refusal.code, "42P06", "{refusal:?}");
    assert_same(&catalog(&mut client), &before);
    run(
        &mut client,
        "DROP SCHEMA dp_mean; ALTER EXTENSION dp_mean UPDATE",
    );
}

/// What users make of 0.1.0, of all that an update does not change.
const MADE: &str = "
    CREATE TABLE t AS SELECT i % 2 AS k, i / 1000.0 :: float8 AS x FROM generate_series(1, 1000) i;
    CREATE TABLE settings (id int PRIMARY KEY, mech dp_mechanism NOT NULL DEFAULT 'laplace');
    INSERT INTO settings VALUES (1, DEFAULT), (2, 'hourglass(gamma=0.25)');
    CREATE INDEX ON settings (mech);
    CREATE TABLE kept (bounds dp_bounds_answer);
    INSERT INTO kept SELECT dp_bounds(x, 50) FROM t;
    CREATE VIEW v AS SELECT dp_mean(x, 0, 1, 50) AS mean, dp_mean(x, 0, 1, 50, 'laplace') AS other,
        dp_sum(x, 0, 1, 50) AS sum, dp_count(50) AS n, dp_count(DISTINCT x, 50) FILTER (WHERE x > 0.5) AS half,
        (dp_mean_and_count(x, 0, 1, 50)).count AS rows, dp_stddev(x, 0, 1, 50) AS stddev, dp_keep(50, 0.1) AS shown,
        dp_counts(50, 'laplace', k = 0, x > 0.75) AS counts, dp_histogram(x, 0, 1, 2, 50) AS histogram,
        dp_sums(ARRAY[x], 0, 1, 50, 'laplace(d=1)') AS sums,
        (dp_clamped(x, 0, 0.5, 50)).above AS above, (dp_bounds(x, 50)).upper AS upper
        FROM t;
    CREATE VIEW planned AS SELECT dp_mu(1, 1e-6) AS mu, e.* FROM dp_mean_error(1000, 0, 1, 1) AS e;
    CREATE MATERIALIZED VIEW m AS SELECT k, dp_mean(x, 0, 1, 50) AS mean FROM t GROUP BY k;
    CREATE FUNCTION ask() RETURNS float8 BEGIN ATOMIC SELECT dp_mean(x, 0, 1, 50) FROM t; END;
    PREPARE q AS SELECT dp_mean(x, 0, 1, $1) FROM t";

/// That all of it answers.
fn assert_answers(client: &mut Client) {
    for sql in [
        "SELECT abs(mean - 0.5005) < 1e-3 AND abs(other - 0.5005) < 1e-3 AND abs(sum - 500.5) < 1 AND n = 1000 \
         AND half = 500 AND abs(rows - 1000) < 2 AND abs(stddev - 0.288675) < 1e-3 AND shown \
         AND counts = '{500,250}' AND histogram = '{499,501}' AND abs(sums[1] - 500.5) < 1 AND above = 500 \
         AND upper = 2 FROM v",
        "SELECT mu < 1 AND rmse < 1 FROM planned",
        "SELECT count(*) = 2 AND max(abs(mean - 0.5)) < 1e-2 FROM m",
        "SELECT abs(ask() - 0.5005) < 1e-3",
        "SELECT array_agg(mech ORDER BY mech)::text = '{hourglass(gamma=0.25),laplace}' FROM settings",
        "SELECT (bounds).upper = 2 FROM kept",
    ] {
        assert!(value::<bool>(client, sql), "{sql}");
    }
    let mean: f64 = value(client, "EXECUTE q(50)");
    assert!((mean - 0.5005).abs() < 1e-3);
    run(client, "REFRESH MATERIALIZED VIEW m");
}

/// The version that the library says is that of its control file; where the SQL is of another one, it says both.
#[test]
fn the_version_is_told() {
    let (_database, mut client) = session(Build::Release);
    let installed = "SELECT default_version FROM pg_available_extensions WHERE name = 'dp_mean'";
    let library: String = value(&mut client, installed);
    assert_eq!(version(&mut client), library);
    let told = "SELECT dp_version()";
    assert_eq!(value::<String>(&mut client, told), library);
    // The next version's library, with the SQL of this one, would say the like.
    run(
        &mut client,
        "UPDATE pg_extension SET extversion = '0.1.9' WHERE extname = 'dp_mean'",
    );
    let expected = format!("{library}, with the SQL of 0.1.9");
    assert_eq!(value::<String>(&mut client, told), expected);
    // Where the extension is gone, there is no SQL to tell of.
    run(
        &mut client,
        "ALTER EXTENSION dp_mean DROP FUNCTION dp_version(); DROP EXTENSION dp_mean",
    );
    assert_eq!(value::<String>(&mut client, told), library);
}

#[test]
fn what_users_made_lives_on() {
    let (database, mut client) = old(Build::Release);
    let role = Role::new(&database);
    run(&mut client, MADE);
    let name = role.name();
    let grants = format!(
        "GRANT SELECT ON t TO {name};
         REVOKE EXECUTE ON FUNCTION dp_sum(float8, float8, float8, float8) FROM PUBLIC;
         REVOKE EXECUTE ON FUNCTION dp_mean(float8, float8, float8, float8) FROM PUBLIC;
         GRANT EXECUTE ON FUNCTION dp_mean(float8, float8, float8, float8) TO {name};
         GRANT EXECUTE ON FUNCTION dp_mu(float8, float8) TO {name} WITH GRANT OPTION;
         REVOKE USAGE ON TYPE dp_mean_answer FROM PUBLIC"
    );
    run(&mut client, &grants);
    let privileges = "SELECT string_agg(o || ' ' || acl::text, e'\n' ORDER BY o) FROM (
             SELECT oid::regprocedure::text AS o, proacl AS acl FROM pg_proc
             UNION ALL SELECT oid::regtype::text, typacl FROM pg_type) s WHERE acl IS NOT NULL AND o LIKE 'dp\\_%(%'";
    let before: String = value(&mut client, privileges);
    let before: Vec<&str> = before.lines().filter(|line| line.contains(name)).collect();
    assert_eq!(before.len(), 2);
    let dumped = dump(database.name());
    assert!(dumped.contains("REVOKE") && dumped.contains("CREATE VIEW"));
    assert_answers(&mut client);

    run(&mut client, "ALTER EXTENSION dp_mean UPDATE");
    assert_answers(&mut client);
    let after: String = value(&mut client, privileges);
    for line in &before {
        assert!(after.contains(line), "{line}: {after}");
    }
    // Views, defaults, privileges: all that a dump holds, but for the ledger, which is new and empty.
    let part = "\n--\n-- ";
    let dump = dump(database.name());
    let of_ledger = |text: &&str| text.contains("Type: TABLE DATA; Schema: dp_mean;");
    let rest: Vec<&str> = dump.split(part).filter(|text| !of_ledger(text)).collect();
    assert_eq!(dump.split(part).count(), rest.len() + 10);
    // These have PostgreSQL's name for a population's standard deviation now.
    let dumped = dumped.replace("dp_stddev(", "dp_stddev_pop(");
    assert_eq!(rest.join(part), dumped);
    let mut nobody = role.connect();
    value::<f64>(&mut nobody, "SELECT dp_mean(x, 0, 1, 50) FROM t");
    let refusal = refused(&mut nobody, "SELECT dp_sum(x, 0, 1, 50) FROM t");
    assert_eq!(refusal.code, "42501", "{refusal:?}");
}

/// What an update changes, as views and columns of users hold it: each stops the update with PostgreSQL's own error.
const STOPS: [(&str, &str); 8] = [
    (
        "CREATE VIEW kept AS SELECT (dp_variance_estimate(x, 0, 1, 1)).variance FROM t",
        "2BP01",
    ),
    (
        "CREATE MATERIALIZED VIEW kept AS SELECT (dp_counts_estimate(1, 'laplace', x > 0)).estimates FROM t",
        "2BP01",
    ),
    (
        "CREATE VIEW kept AS SELECT dp_sums_estimate(ARRAY[x], 0, 1, 1, 'laplace(d=1)') FROM t",
        "2BP01",
    ),
    ("CREATE TABLE kept (answer dp_vector_answer)", "2BP01"),
    (
        "CREATE VIEW kept AS SELECT noise_sd FROM dp_mean_plan(100, 1, 0, 1)",
        "2BP01",
    ),
    (
        "CREATE VIEW kept AS SELECT (dp_mean_estimate(x, 0, 1, 1)).* FROM t",
        "2BP01",
    ),
    (
        "CREATE VIEW kept AS SELECT mechanism FROM dp_mechanisms()",
        "2BP01",
    ),
    ("CREATE TABLE kept (answer dp_sum_estimate_answer)", "2BP01"),
];

#[test]
fn a_view_over_what_changes_stops_the_update() {
    for (create, code) in STOPS {
        let (_database, mut client) = old(Build::Release);
        run(&mut client, "CREATE TABLE t AS SELECT 0.5::float8 AS x");
        run(&mut client, create);
        let before = catalog(&mut client);
        let refusal = refused(&mut client, "ALTER EXTENSION dp_mean UPDATE");
        assert_eq!(refusal.code, code, "{refusal:?}: {create}");
        assert!(
            format!("{refusal:?}").contains("kept"),
            "{refusal:?}: {create}"
        );
        assert_same(&catalog(&mut client), &before);
        assert_eq!(version(&mut client), OLD);
        rows(&mut client, "SELECT * FROM kept");
        let kind = create.split(" kept").next().expect("a kind");
        let drop = kind.replace("CREATE", "DROP");
        run(
            &mut client,
            &format!("{drop} kept; ALTER EXTENSION dp_mean UPDATE"),
        );
    }
    // Answers that stay what they are do not.
    let (_database, mut client) = old(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i / 1000.0 :: float8 AS x FROM generate_series(1, 1000) i;
         CREATE VIEW v AS SELECT s.e, (s.e).mean, (s.e).count FROM
             (SELECT dp_mean_and_count(x, 0, 1, 50) AS e FROM t) s;
         ALTER EXTENSION dp_mean UPDATE",
    );
    let sql = "SELECT abs(mean - 0.5) < 0.1 AND (e).count = count FROM v";
    assert!(value::<bool>(&mut client, sql));
}

/// The new files are installed first, and each database is updated when somebody does it: until then, and for sessions
/// that are there already, the new library serves the SQL of the old version.
#[test]
fn the_new_library_serves_the_old_sql() {
    let (_database, mut client) = old(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i / 1000.0 :: float8 AS x FROM generate_series(1, 1000) i",
    );
    for sql in [
        // eps stood before lo and hi.
        "SELECT noise_sd BETWEEN 0.02 AND 0.03 FROM dp_mean_plan(1000, 0.5, 0, 10) WHERE mechanism = 'hourglass'",
        "SELECT abs(variance - 1 / 12.0) < 1e-3 AND abs(count - 1000) < 1 AND stddev > 0 AND mean > 0.4 \
         FROM (SELECT (dp_variance_estimate(x, 0, 1, 50)).* FROM t) s",
        "SELECT estimates = '{500}' AND total IS NULL AND sd > 0 AND covariance = 0 \
         FROM (SELECT (dp_counts_estimate(50, 'laplace', x > 0.5)).* FROM t) s",
        "SELECT abs(estimates[1] - 500.5) < 1 FROM \
         (SELECT (dp_sums_estimate(ARRAY[x], 0, 1, 50, 'laplace(d=1)')).* FROM t) s",
        "SELECT mechanism = 'hourglass'::dp_mechanism AND lower < upper FROM \
         (SELECT (dp_mean_estimate(x, 0, 1, 1)).* FROM t) s",
        "SELECT mechanism::text = 'geometric' FROM (SELECT (dp_count_estimate(1)).* FROM t) s",
        "SELECT mechanism = 'laplace' FROM (SELECT (dp_sum_estimate(x, 0, 1, 1, 'laplace')).* FROM t) s",
    ] {
        assert!(value::<bool>(&mut client, sql), "{sql}");
    }
    // Every C function that it names is there.
    let sql = "SELECT count(*) FROM pg_proc WHERE probin = '$libdir/dp_mean'";
    assert_eq!(value::<i64>(&mut client, sql), 79);
}
