//! What the library thinks of the arguments of its aggregates (`src/call/signature.rs`) is what SQL declares.

use std::collections::BTreeSet;

use dp_mean_tests::{Build, rows, session, value};
use postgres::Client;

/// The public aggregates of the extension, with names and types of their arguments.
const DECLARED: &str = "SELECT proname || '(' || pg_get_function_arguments(p.oid) || ')' FROM pg_proc p \
     JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' \
     JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid \
     WHERE extname = 'dp_mean' AND prokind = 'a' AND pronamespace <> 'dp_mean'::regnamespace";

fn declared(client: &mut Client) -> BTreeSet<String> {
    rows(client, DECLARED)
        .iter()
        .map(|row| row.get(0))
        .collect()
}

fn described(client: &mut Client) -> BTreeSet<String> {
    let lines: String = value(client, "SELECT dp_test_signatures()");
    let count = lines.lines().count();
    let described: BTreeSet<String> = lines.lines().map(str::to_owned).collect();
    assert_eq!(described.len(), count, "described twice: {lines}");
    described
}

#[test]
fn the_library_and_the_catalog_agree_on_every_argument() {
    let (_database, mut client) = session(Build::Testing);
    let (declared, described) = (declared(&mut client), described(&mut client));
    let only = |these: &BTreeSet<String>, not: &BTreeSet<String>| {
        Vec::from_iter(these.difference(not).cloned()).join("\n  ")
    };
    assert!(
        declared == described,
        "only in SQL:\n  {}\nonly in the library:\n  {}",
        only(&declared, &described),
        only(&described, &declared)
    );
    assert!(declared.len() > 30, "{declared:?}");
}

/// The lists of calls that hold all aggregates to the same rules leave none out.
#[test]
fn every_aggregate_is_attacked_and_answers_without_rows() {
    let (_database, mut client) = session(Build::Testing);
    for aggregate in declared(&mut client) {
        let (name, _) = aggregate.split_once('(').expect("arguments");
        let call = format!("{name}(");
        // What makes contributions answers nothing.
        if name.starts_with("dp_contribution") {
            assert!(include_str!("contributions.rs").contains(&call), "{name}");
            continue;
        }
        if name == "dp_groups" {
            assert!(include_str!("groups.rs").contains(&call), "{name}");
            continue;
        }
        assert!(
            include_str!("attacks.rs").contains(&call),
            "tests/attacks.rs has no call of {name}"
        );
        // Without rows dp_keep always says no.
        assert!(
            include_str!("zero_rows.rs").contains(&call) || name == "dp_keep",
            "tests/zero_rows.rs has no call of {name}"
        );
    }
}

/// The comparison sees names, types, their order, and calls with more arguments or fewer.
#[test]
fn another_declaration_is_seen() {
    let (_database, mut client) = session(Build::Testing);
    let described = described(&mut client);
    let known = "dp_mean_estimate(x double precision, lo double precision, hi double precision, \
         eps double precision, mech dp_mechanism, confidence double precision)";
    assert!(described.contains(known), "{described:?}");
    for sql in [
        "CREATE AGGREGATE dp_bounds(value float8, eps float8) (SFUNC = dp_mean.dp_bounds_trans, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE dp_bounds(x int, eps float8) (SFUNC = other, STYPE = int)",
        "CREATE AGGREGATE dp_bounds(eps float8, x float8) (SFUNC = dp_mean.dp_bounds_trans, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE dp_bounds(x float8, eps float8, mech dp_mechanism, delta float8) \
         (SFUNC = more, STYPE = int)",
    ] {
        let sql = format!(
            "BEGIN; CREATE FUNCTION other(int, int, float8) RETURNS int LANGUAGE sql AS 'SELECT 1'; \
             CREATE FUNCTION more(int, float8, float8, dp_mechanism, float8) RETURNS int \
             LANGUAGE sql AS 'SELECT 1'; \
             ALTER EXTENSION dp_mean DROP AGGREGATE dp_bounds(float8, float8); \
             DROP AGGREGATE dp_bounds(float8, float8); {sql}"
        );
        client.batch_execute(&sql).expect("another declaration");
        let added = "ALTER EXTENSION dp_mean ADD AGGREGATE dp_bounds";
        let arguments: String = value(
            &mut client,
            "SELECT oidvectortypes(proargtypes) FROM pg_proc WHERE proname = 'dp_bounds' \
             AND pg_get_function_arguments(oid) <> \
                 'x double precision, eps double precision, mech dp_mechanism'",
        );
        client
            .batch_execute(&format!("{added}({arguments})"))
            .expect("a member of the extension");
        assert!(declared(&mut client) != described, "{sql}");
        client.batch_execute("ROLLBACK").expect("the end");
    }
}
