//! People with several rows: `rows` and `groups` protect a person, and the recipes keep to them.

use dp_mean_tests::auditing::bound;
use dp_mean_tests::releases::Releases;
use dp_mean_tests::{Build, Refusal, refused, run, session, value};

const RELEASES: usize = 40_000;

/// Tables that differ by all rows of one person: three rows, at the bound where they count most.
const TABLES: &str = "CREATE TABLE without (person int, g int, x float8); \
     CREATE TABLE with_person (person int, g int, x float8); \
     INSERT INTO without VALUES (1, 1, 0); \
     INSERT INTO with_person VALUES (1, 1, 0), (2, 1, 1), (2, 1, 1), (2, 1, 1)";

/// A bound from below on the epsilon by which a call tells the tables apart.
fn told_apart(releases: &mut Releases, call: &str) -> f64 {
    let [without, with] =
        ["without", "with_person"].map(|table| releases.draw(call, &[], table, RELEASES));
    bound([&without, &with], 1)
}

#[test]
fn a_person_of_three_rows_is_as_private_as_the_call_says() {
    let mut releases = Releases::seeded(81);
    releases.client().batch_execute(TABLES).expect("tables");
    for eps in [0.5, 2.0] {
        for call in [
            "dp_mean(x, 0, 1, {eps}, 'hourglass{rows}')",
            "dp_mean(x, 0, 1, {eps}, 'laplace{rows}')",
            "dp_mean(x, 0, 1, {eps}, 'smooth{rows}')",
            "dp_sum(x, 0, 1, {eps}, 'staircase{rows}')",
            "dp_count(x, {eps}, 'geometric{rows}')",
        ] {
            let call = |rows: &str| {
                let call = call.replace("{eps}", &eps.to_string());
                call.replace("{rows}", rows)
            };
            let found = told_apart(&mut releases, &call("(rows=3)"));
            println!("{}: epsilon is at least {found:.3}", call("(rows=3)"));
            assert!(found <= eps, "{}: {found}", call("(rows=3)"));
        }
        // Without the factor, and with too small a one, the audit sees it.
        for call in [
            "dp_count(x, {eps}, 'geometric')",
            "dp_sum(x, 0, 1, {eps}, 'staircase(rows=2)')",
        ] {
            let call = call.replace("{eps}", &eps.to_string());
            let found = told_apart(&mut releases, &call);
            println!("{call}: epsilon is at least {found:.3}");
            assert!(found > eps, "{call}: {found}");
        }
    }
}

/// A person with a row in each of two groups: both counts together.
#[test]
fn a_person_in_two_groups_is_as_private_as_the_call_says() {
    let mut releases = Releases::seeded(82);
    let tables = "CREATE TABLE without (g int, x float8); \
         CREATE TABLE with_person AS SELECT g, 1::float8 AS x FROM generate_series(1, 2) g";
    releases.client().batch_execute(tables).expect("tables");
    let mut told = |options: &str| {
        let count = |g| format!("dp_count(x, 1.0, 'geometric{options}') FILTER (WHERE g = {g})");
        let both = format!("ARRAY[{}, {}]::float8[]", count(1), count(2));
        let [without, with] = ["without", "with_person"]
            .map(|table| releases.draw_arrays(&both, table, None, RELEASES));
        bound([&without, &with], 2)
    };
    let shared = told("(groups=2)");
    let careless = told("");
    println!("two groups: epsilon is at least {shared:.3}; without groups=2: {careless:.3}");
    assert!(shared <= 1.0 && careless > 1.0, "{shared} {careless}");
}

/// The recipes, on people who have far more rows than they keep to.
#[test]
fn recipes_keep_what_they_promise() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE pay AS SELECT i % 200 AS person, 1 + i % 7 AS region, (i % 1000)::float8 AS salary \
         FROM generate_series(1, 10000) i",
    );
    // At most three rows a person, chosen by chance: 600 of 10,000.
    let sql = "SELECT dp_count(salary, 50, 'geometric(rows=3)') FROM (SELECT salary, \
         row_number() OVER (PARTITION BY person ORDER BY random()) AS nth FROM pay) p WHERE nth <= 3";
    let kept: i64 = value(&mut client, sql);
    assert!((kept - 600).abs() <= 2, "{kept}");
    // One value a person.
    let sql = "SELECT dp_count(m, 50, 'geometric') FROM (SELECT avg(salary) AS m FROM pay \
         GROUP BY person) p";
    assert!((value::<i64>(&mut client, sql) - 200).abs() <= 1);
    let sql = "SELECT dp_count(DISTINCT person, 50, 'geometric') FROM pay";
    assert!((value::<i64>(&mut client, sql) - 200).abs() <= 1);
    // At most two regions a person: 200 people, two rows of one each.
    let sql = "SELECT sum(n)::bigint FROM (SELECT region, dp_count(salary, 50, 'geometric(groups=2)') AS n \
         FROM (SELECT region, avg(salary) AS salary, row_number() OVER (PARTITION BY person ORDER BY random()) AS nth \
         FROM pay GROUP BY person, region) p WHERE nth <= 2 GROUP BY region) q";
    assert!((value::<i64>(&mut client, sql) - 400).abs() <= 7);
    // A person's rows do not choose which of others' rows are kept: each keeps three whatever others do.
    let sql = "SELECT count(*) FROM (SELECT person, count(*) AS kept FROM (SELECT person, \
         row_number() OVER (PARTITION BY person ORDER BY random()) AS nth FROM pay) p WHERE nth <= 3 \
         GROUP BY person) q WHERE kept <> 3";
    assert_eq!(value::<i64>(&mut client, sql), 0);
}

#[test]
fn bad_values_are_refused_with_and_without_rows() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT 1::float8 AS x FROM generate_series(1, 3)",
    );
    for (eps, mechanism, argument) in [
        ("1", "hourglass(rows=0)", "mech"),
        ("1", "hourglass(groups=0)", "mech"),
        ("1", "hourglass(rows=1000001)", "mech"),
        ("1", "hourglass(rows=1000000, groups=1000000)", "eps"),
        ("NULL", "gaussian(mu=1e-9, rows=1000000)", "mech"),
    ] {
        let mut seen: Option<Refusal> = None;
        for condition in ["true", "false"] {
            let sql =
                format!("SELECT dp_mean(x, 0, 1, {eps}, '{mechanism}') FROM t WHERE {condition}");
            let refusal = refused(&mut client, &sql);
            assert_eq!(refusal.code, "22023", "{refusal:?}");
            assert!(
                refusal.message.contains(&format!("\"{argument}\"")),
                "{refusal:?}"
            );
            assert!(!refusal.hint.is_empty());
            assert!(
                seen.as_ref().is_none_or(|seen| *seen == refusal),
                "{refusal:?}"
            );
            seen = Some(refusal);
        }
    }
}
