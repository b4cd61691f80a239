//! Keys that WHERE compares with a list of constants: these are the groups.

use super::key_ranges::mechanisms;
use super::{World, table};
use crate::groups::has_icu;

/// Each query, with its keys.
const LISTED: [(&[&str], &str); 14] = [
    (
        &["r1"],
        "SELECT region, count(*) FROM visits WHERE region = 'r1' GROUP BY region",
    ),
    (
        &["r1", "r3"],
        "SELECT region, count(*) FROM visits WHERE region IN ('r1', 'r3') GROUP BY region ORDER BY region",
    ),
    // One that nobody has, and one that is written twice.
    (
        &["r1", "r9"],
        "SELECT region, count(*) FROM visits WHERE region IN ('r9', 'r1', 'r1', NULL) GROUP BY region ORDER BY region",
    ),
    (
        &["r1", "r2", "r4"],
        "SELECT region, count(*) FROM visits WHERE 'r1' = region OR region IN ('r4') OR region = 'r2' \
         GROUP BY region ORDER BY region",
    ),
    (
        &["r2"],
        "SELECT region, count(*) FROM visits WHERE region IN ('r1', 'r2') AND region IN ('r2', 'r3') GROUP BY region",
    ),
    // Other conditions on the key leave out groups, those on other columns do not.
    (
        &["r2"],
        "SELECT region, count(*) FROM visits WHERE region IN ('r1', 'r2') AND region > 'r1' AND age < 30 GROUP BY region",
    ),
    (
        &["r1", "r2"],
        "SELECT region, count(*) FROM visits WHERE region = ANY ('{r2,r1}'::text[]) GROUP BY region ORDER BY region",
    ),
    (
        &["n0"],
        "SELECT note, count(*) FROM visits WHERE note = 'n0' GROUP BY note",
    ),
    (
        &["n0", "n1"],
        "SELECT note, count(*) FROM visits WHERE note IN ('n1', 'n0') GROUP BY note ORDER BY note",
    ),
    (
        &["21", "77"],
        "SELECT age, count(*) FROM visits WHERE age IN (77, 21) GROUP BY age ORDER BY age",
    ),
    (
        &["2025-02-03", "2031-01-01"],
        "SELECT day, count(*) FROM visits WHERE day IN ('2025-02-03', '2031-01-01') GROUP BY day ORDER BY day",
    ),
    (
        &["R1"],
        "SELECT upper(region), count(*) FROM visits WHERE upper(region) IN ('R1') GROUP BY 1",
    ),
    (
        &["r1", "r2"],
        "SELECT v.region, count(*) FROM visits v JOIN regions r ON r.region = v.region AND v.region IN ('r1', 'r2') \
         GROUP BY 1 ORDER BY 1",
    ),
    (
        &["r1", "r1"],
        "SELECT region, age > 40, count(*) FROM visits WHERE region = 'r1' GROUP BY 1, 2 ORDER BY 1, 2",
    ),
];

#[test]
fn constants_that_a_key_is_compared_with_are_its_groups() {
    let mut world = World::new();
    for (keys, sql) in LISTED {
        let answer = table(&mut world.analyst, sql);
        let found: Vec<_> = answer.iter().map(|row| row[0].as_deref()).collect();
        let expected: Vec<_> = keys.iter().copied().map(Some).collect();
        assert_eq!(found, expected, "{sql}: {answer:?}");
        // Those with rows are as the owner sees them, but for noise.
        let truth = table(&mut world.owner, sql);
        for row in &truth {
            assert!(found.contains(&row[0].as_deref()), "{sql}: {answer:?}");
        }
        if truth.len() == answer.len() {
            super::assert_alike(&answer, &truth, sql);
        }
        let mechanisms = mechanisms(&mut world, sql);
        assert!(!mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
}

/// What does not say every value is no list.
#[test]
fn other_conditions_are_no_list() {
    let mut world = World::new();
    // Where texts may be the same for another eye.
    if has_icu(&mut world.owner) {
        world.own("CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
        let sql = "SELECT region, count(*) FROM visits WHERE region = 'R1' COLLATE anycase GROUP BY region";
        let refusal = world.refused(sql);
        assert!(refusal.message.contains("collation"), "{refusal:?}");
    }
    for sql in [
        "SELECT region, count(*) FROM visits WHERE region = 'r1' OR age = 20 GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE region <> 'r1' GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE region NOT IN ('r1', 'r2') GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE NOT region = 'r1' GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE region <> ALL ('{r1,r2}') GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE region >= 'r1' AND region <= 'r1' GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE region = note GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE region IN ('r1', note) GROUP BY region",
        "SELECT region, count(*) FROM visits WHERE lower(region) = 'r1' GROUP BY region",
        // Many forms of one number.
        "SELECT paid, count(*) FROM visits WHERE paid IN (1.5, 2) GROUP BY paid",
        "SELECT region, count(*) FROM visits WHERE region = NULL GROUP BY region",
    ] {
        let mechanisms = mechanisms(&mut world, sql);
        assert!(mechanisms.contains("dp_keep"), "{mechanisms}: {sql}");
    }
    let refusal = world
        .refused("SELECT patient, count(*) FROM visits WHERE patient IN (1, 2) GROUP BY patient");
    assert!(refusal.message.contains("single persons"), "{refusal:?}");
}

/// A list of a parameter is known where the plan is made for it.
#[test]
fn a_parameter_may_be_the_list() {
    let mut world = World::new();
    world.ask(
        "PREPARE of_regions(text[]) AS SELECT region, count(*) FROM visits WHERE region = ANY ($1) GROUP BY region",
    );
    world.ask("SET plan_cache_mode = 'force_custom_plan'");
    for (sql, groups) in [
        ("EXECUTE of_regions('{r1,r8}')", 2),
        ("EXECUTE of_regions('{r1,NULL,r2,r3}')", 3),
    ] {
        assert_eq!(table(&mut world.analyst, sql).len(), groups, "{sql}");
    }
    world.ask("SET plan_cache_mode = 'force_generic_plan'");
    assert!(table(&mut world.analyst, "EXECUTE of_regions('{r7,r8}')").is_empty());
}

/// `IST` is a time zone of India to some, and of Israel to others: where times are written so, no text says which.
#[test]
fn times_are_listed_where_their_texts_are_read_as_written() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE calls (id int PRIMARY KEY, at timestamptz NOT NULL); \
         INSERT INTO calls SELECT g, timestamptz '2025-01-05 12:00+00' + g % 3 * interval '1 hour' \
         FROM generate_series(1, 3000) g; \
         SELECT dp_protect('calls', 'id', 'all', query_eps => 20), dp_allow('calls', '{analyst}')",
    );
    let sql = "SELECT at AT TIME ZONE 'UTC', n FROM (SELECT at, count(*) AS n FROM calls \
               WHERE at IN ('2025-01-05 12:00+00', '2025-01-05 14:00+00') GROUP BY at) s ORDER BY 1";
    world.ask("SET TimeZone = 'Asia/Kolkata'");
    for style in ["ISO", "SQL", "Postgres, DMY"] {
        world.ask(&format!("SET DateStyle = '{style}'"));
        let listed = !mechanisms(&mut world, sql).contains("dp_keep");
        assert_eq!(listed, style == "ISO", "{style}");
        let answer = table(&mut world.analyst, sql);
        assert_eq!(answer.len(), 2, "{style}: {answer:?}");
        assert!(
            answer.iter().all(|row| row[1].as_deref() == Some("1000")),
            "{style}: {answer:?}"
        );
    }
}
