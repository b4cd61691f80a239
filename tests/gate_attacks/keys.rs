//! What a group shows of itself: a key, which PostgreSQL takes from one of its rows; an order, in which hidden groups
//! and single rows may take part; and how long keys can be.

use dp_mean_tests::run;

use super::{End, Stage, down};
use crate::groups::has_icu;

/// Of each of 300 people a row in `staff`, and two in `shifts`; the first one is sick or not. A group of half of the
/// people is shown for certain.
const STAFF: &str = "
CREATE TABLE staff (
    id integer PRIMARY KEY, sick boolean NOT NULL, salary float8 NOT NULL, region text, dept text, price numeric(10, 2),
    code char(4), name text, note text, other text
);
INSERT INTO staff SELECT g, false, 1000 + g, 'r' || g % 200, 'd' || g % 13, g % 2, 'c' || g % 2, 'a',
    repeat('x', 1500), '' FROM generate_series(0, 299) g;
CREATE TABLE shifts (person integer NOT NULL, sick boolean NOT NULL, part integer NOT NULL);
INSERT INTO shifts SELECT g / 2, false, g % 2 FROM generate_series(0, 599) g;
CREATE INDEX ON shifts (person, part);
SELECT dp_protect('staff', 'id', 'patients', query_eps => 20, query_delta => 1e-5);
SELECT dp_protect('shifts', 'person', 'patients', groups => 2, query_eps => 20, query_delta => 1e-5);
SELECT dp_allow('staff', '{a}'), dp_allow('shifts', '{a}');
SELECT dp_declare('staff', 'region', ARRAY(SELECT 'r' || i FROM generate_series(0, 199) i))";

/// Rows come in the order of an index, the first person first. Nothing is charged: there are many questions.
const FIRST: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off;";

/// What the analyst gets where the first person is not sick, and where they are; an index brings them first.
fn told(stage: &mut Stage, defences: &[&str], before: &str, sql: &str) -> [End; 2] {
    let down: String = defences.iter().map(|defence| down(defence)).collect();
    [false, true].map(|sick| {
        stage.as_root(&format!(
            "UPDATE staff SET sick = {sick} WHERE id = 0; UPDATE shifts SET sick = {sick} WHERE person = 0"
        ));
        let mut client = stage.analyst();
        run(&mut client, &format!("{}{down}{FIRST}{before}", super::down("charge")));
        stage.attack(&mut client, sql)
    })
}

#[track_caller]
fn assert_hidden(stage: &mut Stage, before: &str, sql: &str) {
    let [healthy, sick] = told(stage, &[], before, sql);
    assert_eq!(healthy, sick, "the first person is seen by: {sql}");
    assert_eq!(healthy.error, None, "{sql}");
    assert!(!healthy.shown.is_empty(), "{sql}");
}

#[track_caller]
fn assert_seen(stage: &mut Stage, defence: &str, before: &str, sql: &str) {
    let [healthy, sick] = told(stage, &[defence], before, sql);
    assert_ne!(healthy, sick, "without {defence} nothing is told: {sql}");
    assert_eq!(healthy.error, None, "{sql}");
}

/// A key that is one of two forms of the same value, by the first person's secret; and how it is shown.
const FORMS: [(&str, &str); 10] = [
    ("CASE WHEN id = 0 AND NOT sick THEN 1.00 ELSE 1.0 END", "k"),
    (
        "CASE WHEN id = 0 AND NOT sick THEN 0.00 ELSE 0 END + 1",
        "k",
    ),
    (
        "CASE WHEN id = 0 AND NOT sick THEN '-0'::float8 ELSE 0 END",
        "k",
    ),
    (
        "CASE WHEN id = 0 AND NOT sick THEN '-0'::real ELSE 0 END",
        "k",
    ),
    (
        "CASE WHEN id = 0 AND NOT sick THEN - 'NaN'::float8 ELSE 'NaN'::float8 END",
        "float8send(k)",
    ),
    (
        "CASE WHEN id = 0 AND NOT sick THEN - 'NaN'::real ELSE 'NaN'::real END",
        "float4send(k)",
    ),
    (
        "CASE WHEN id = 0 AND NOT sick THEN 'a  '::bpchar ELSE 'a'::bpchar END",
        "octet_length(k)",
    ),
    ("-salary * 0", "k"),
    (
        "CASE WHEN id = 0 AND NOT sick THEN 1.0 ELSE price * 0 + 1 END",
        "k",
    ),
    (
        "CASE WHEN sick THEN 1.0 WHEN id = 0 THEN 1.00 ELSE 1.0 END",
        "scale(k)",
    ),
];

#[test]
fn a_key_is_not_shown_as_a_row_has_it() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    for (key, shown) in FORMS {
        let key = key.replace(
            "-salary * 0",
            "CASE WHEN id = 0 AND NOT sick THEN -salary ELSE salary END * 0",
        );
        for asked in [
            format!("SELECT {key} AS k, count(*) FROM staff WHERE id >= 0 GROUP BY 1"),
            format!("SELECT DISTINCT {key} AS k FROM staff WHERE id >= 0"),
            format!("SELECT {key} AS k, count(*) FROM staff WHERE id >= 0 GROUP BY ROLLUP (1)"),
        ] {
            let sql = format!("SELECT {shown} FROM ({asked}) s");
            assert_hidden(&mut stage, "", &sql);
            assert_seen(&mut stage, "form", "", &sql);
        }
    }
}

/// Groups of values that the query says itself are there with the person and without: also that of NULL, and those that
/// a condition on the key leaves.
#[test]
fn public_groups_do_not_tell_who_is_in_them() {
    let mut stage = Stage::new();
    for key in [
        "cost > 4000",
        "region LIKE 'canary%'",
        "big > 10",
        "CASE WHEN region = 'canary' THEN 'special' WHEN cost > 4000 THEN 'other' END",
        "extract(month FROM day)",
        "sign(big)",
        "width_bucket(cost, 0, 100, 5)",
    ] {
        for condition in ["", "WHERE ({key}) IS NOT NULL"] {
            let condition = condition.replace("{key}", key);
            let sql = format!(
                "SELECT k FROM (SELECT {key} AS k, count(*) FROM visits {condition} GROUP BY 1) s"
            );
            let [with, without] = stage.with_and_without("", &sql);
            assert_eq!(with.error, None, "{sql}");
            assert_eq!(with, without, "{sql}");
            assert!(with.shown.lines().count() > 1, "{with:?}: {sql}");
        }
    }
}

/// Groups of a joined table are there though only one person is in one, and none in another.
#[test]
fn groups_of_a_joined_table_do_not_tell_who_is_in_them() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE TABLE names (region text PRIMARY KEY, name text, part int);
         INSERT INTO names VALUES ('canary', 'one', 1), ('nobody', 'none', 2), ('r1', 'some', 1);
         GRANT SELECT ON names TO {a}",
    );
    for (key, join) in [
        ("n.name", "JOIN"),
        ("v.region", "JOIN"),
        ("n.part, n.name", "JOIN"),
        ("n.name", "LEFT JOIN"),
        ("n.name", "RIGHT JOIN"),
    ] {
        let sql = format!(
            "SELECT count(*), array_agg(k::text) FROM (SELECT ({key}) AS k, count(v.region) FROM visits v \
             {join} names n ON n.region = v.region GROUP BY {key}) s"
        );
        let [with, without] = stage.with_and_without("", &sql);
        assert_eq!(with.error, None, "{sql}");
        assert_eq!(with, without, "{sql}");
        assert!(!with.shown.starts_with('0'), "{with:?}: {sql}");
    }
}

/// A group that WHERE names is there though only one person is in it, and without them.
#[test]
fn groups_that_are_named_do_not_tell_who_is_in_them() {
    let mut stage = Stage::new();
    for condition in [
        "region = 'canary'",
        "region IN ('canary', 'r1', 'nobody')",
        "(region = 'nobody' OR region = ANY ('{canary}'))",
    ] {
        let sql = format!(
            "SELECT k FROM (SELECT region AS k, count(*) FROM visits WHERE {condition} GROUP BY 1) s"
        );
        let [with, without] = stage.with_and_without("", &sql);
        assert_eq!(with.error, None, "{sql}");
        assert_eq!(with, without, "{sql}");
        assert!(with.shown.contains("canary"), "{with:?}: {sql}");
    }
}

/// The same where a person has several rows, and is kept in some groups.
#[test]
fn nor_as_one_of_several_rows_has_it() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    let sql = "SELECT k FROM (SELECT CASE WHEN person = 0 AND part = 0 AND NOT sick THEN 1.00 ELSE 1.0 END AS k, count(*) \
               FROM shifts GROUP BY 1) s";
    let sorted = "SET enable_hashagg = off;";
    for before in ["", sorted] {
        assert_hidden(&mut stage, before, sql);
    }
    assert_seen(&mut stage, "form", sorted, sql);
}

/// How a value is stored is seen too: compressed, or not, by what else is in the row.
#[test]
fn nor_as_it_is_stored() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    stage.as_root("ALTER TABLE staff ALTER COLUMN other SET STORAGE EXTERNAL");
    let sql = "SELECT pg_column_size(note), pg_column_compression(note) \
               FROM (SELECT note, count(*) FROM staff WHERE id >= 0 GROUP BY note) s";
    let mut ends = Vec::new();
    for (length, defence) in [
        (0, None),
        (1200, None),
        (0, Some("form")),
        (1200, Some("form")),
    ] {
        stage.as_root(&format!(
            "UPDATE staff SET note = repeat('x', 1500) || '', other = repeat('y', {length}) WHERE id = 0"
        ));
        let mut client = stage.analyst();
        let down = defence.map_or(String::new(), down);
        run(&mut client, &format!("{FIRST}{down}"));
        let end = stage.attack(&mut client, sql);
        assert_eq!(end.error, None);
        ends.push(end.shown);
    }
    assert_eq!(ends[0], ends[1]);
    assert_ne!(
        ends[2], ends[3],
        "without the form the size of another column is told"
    );
}

/// Types whose equal values cannot be made alike.
#[test]
fn what_has_no_one_form_is_no_key() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    for (key, hint) in [
        (
            "interval '1 day' * (salary - sick::integer) - interval '24 hours' * (salary - sick::integer)",
            "extract(epoch FROM x)",
        ),
        (
            "CASE WHEN id = 0 AND NOT sick THEN interval '1 day' ELSE interval '24 hours' END",
            "extract(epoch FROM x)",
        ),
    ] {
        let sql = format!(
            "SELECT k FROM (SELECT {key} AS k, count(*) FROM staff WHERE id >= 0 GROUP BY 1) s"
        );
        let before = stage.spent();
        for end in told(&mut stage, &[], "", &sql) {
            let (code, message) = end.error.expect("refused");
            assert_eq!(code, "42501", "{sql}");
            assert!(message.contains("cannot group by"), "{message}");
            assert!(end.shown.contains(hint), "{}: {sql}", end.shown);
        }
        assert_eq!(stage.spent(), before);
        assert_seen(&mut stage, "form", "", &sql);
    }
    // Texts, on servers that are built with ICU.
    if has_icu(&mut stage.root) {
        stage.as_owner(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
             ALTER TABLE staff ALTER COLUMN name TYPE text COLLATE loose",
        );
        let key = "CASE WHEN id = 0 AND NOT sick THEN 'A' ELSE name END";
        let sql = format!(
            "SELECT k FROM (SELECT {key} AS k, count(*) FROM staff WHERE id >= 0 GROUP BY 1) s"
        );
        for end in told(&mut stage, &[], "", &sql) {
            let (code, message) = end.error.expect("refused");
            assert!(
                code == "42501" && message.contains("nondeterministic"),
                "{message}"
            );
            assert!(end.shown.contains("COLLATE \"C\""), "{}", end.shown);
        }
        assert_seen(&mut stage, "form", "", &sql);
    }
    // Of these the operators are not on the list, either.
    for (key, hint) in [
        (
            "ARRAY[CASE WHEN id = 0 AND NOT sick THEN '-0'::float8 ELSE 0 END]",
            "= ANY (x)",
        ),
        (
            "CASE WHEN id = 0 AND NOT sick THEN numrange(1.0, 2) ELSE numrange(1.00, 2) END",
            "lower(x), upper(x)",
        ),
    ] {
        let sql = format!("SELECT {key} AS k, count(*) FROM staff GROUP BY 1");
        for end in told(&mut stage, &[], "", &sql) {
            assert_eq!(end.error.expect("refused").0, "42501", "{sql}");
            assert!(end.shown.contains(hint), "{}: {sql}", end.shown);
        }
    }
    // What the hints say works.
    for key in [
        "extract(epoch FROM interval '1 day' * salary)",
        "id = ANY (ARRAY[1, 2])",
        "lower(numrange(1, 2))",
        "name COLLATE \"C\"",
    ] {
        let sql = format!("SELECT count(*) FROM (SELECT {key}, count(*) FROM staff GROUP BY 1) s");
        for end in told(&mut stage, &[], "", &sql) {
            assert_eq!(end.error, None, "{sql}");
        }
    }
}

/// Columns of a fixed number of digits, or of blanks, are shown as they are.
#[test]
fn columns_of_a_fixed_form_keep_it() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    let mut client = stage.analyst();
    for (key, shown) in [
        ("price", "0.00\n1.00"),
        ("price + 0", "0\n1"),
        ("price::numeric(12, 3)", "0.000\n1.000"),
        ("code || '.'", "c0.\nc1."),
        ("code", "c0  \nc1  "),
        ("code::char(6)", "c0    \nc1    "),
        ("salary * 0", "0"),
    ] {
        let sql = format!("SELECT k FROM (SELECT {key} AS k, count(*) FROM staff GROUP BY 1) s");
        let end = stage.attack(&mut client, &sql);
        assert_eq!((end.error, end.shown.as_str()), (None, shown), "{sql}");
    }
}

/// A join brings the groups of public values in an order that single rows have a part in.
#[test]
fn the_order_of_public_groups_tells_of_no_row() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    let asked = |id: i32, salary: i32| {
        format!(
            "SELECT region FROM (SELECT region, count(*) FROM staff \
             WHERE CASE WHEN id = {id} AND salary <= {salary} THEN true END GROUP BY region) s"
        )
    };
    let differ = |stage: &Stage, down: &str| {
        let mut client = stage.analyst();
        run(&mut client, down);
        let differs = |id: &i32| {
            let [low, high] =
                [0, 5000].map(|salary| stage.attack(&mut client, &asked(*id, salary)));
            assert_eq!(low.shown.lines().count(), 200, "{low:?}");
            low != high
        };
        (1..40).filter(differs).count()
    };
    assert_eq!(differ(&stage, ""), 0);
    let seen = differ(&stage, &format!("{}{}", down("order"), down("charge")));
    assert!(seen > 3, "without the order {seen} of 39 people are seen");
}

/// A hidden group makes the table larger in which groups are found, and so changes their order.
#[test]
fn the_order_of_groups_tells_of_no_hidden_one() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    stage.as_root("UPDATE staff SET dept = 'hidden' WHERE id = 299; ANALYZE staff");
    let asked = |filter: &str| {
        format!(
            "SELECT dept FROM (SELECT dept, count(*) FROM staff WHERE {filter} GROUP BY dept) s"
        )
    };
    let grouped = |kind: &str| {
        format!(
            "SELECT dept FROM (SELECT dept, count(*) FROM staff WHERE id < 300 {kind} GROUP BY GROUPING SETS ((dept), ())) s"
        )
    };
    let mut client = stage.analyst();
    let without = stage.attack(&mut client, &asked("id < 299"));
    let with = stage.attack(&mut client, &asked("id < 300"));
    assert_eq!(with, without);
    let mut sorted: Vec<_> = with.shown.lines().collect();
    sorted.sort_unstable();
    assert_eq!(with.shown.lines().collect::<Vec<_>>(), sorted);
    assert_eq!(sorted.len(), 13);
    let sets = [grouped(""), grouped("AND id < 299")].map(|sql| stage.attack(&mut client, &sql));
    assert_eq!(sets[0], sets[1]);
    // Without it there is a number of groups at which one more is seen.
    run(&mut client, &format!("{}{}", down("order"), down("charge")));
    let seen = (4..40).filter(|groups| {
        stage
            .root
            .batch_execute(&format!(
                "UPDATE staff SET dept = 'd' || id % {groups} WHERE id < 299; ANALYZE staff"
            ))
            .expect("a number of groups");
        let ends = ["id < 299", "id < 300"].map(|filter| stage.attack(&mut client, &asked(filter)));
        let sets =
            [grouped(""), grouped("AND id < 299")].map(|sql| stage.attack(&mut client, &sql));
        ends[0] != ends[1] && sets[0] != sets[1]
    });
    assert!(
        seen.count() > 0,
        "without the order no hidden group is seen"
    );
}

/// Keys that do not fit into a row are an error, if the row is there.
#[test]
fn no_key_is_too_long() {
    let mut stage = Stage::new();
    stage.as_owner(STAFF);
    stage.as_owner("ALTER TABLE staff ADD long text; UPDATE staff SET long = repeat('x0', 1300000) WHERE id = 0");
    let long = |i: usize| format!("CASE WHEN id = 0 AND NOT sick THEN long ELSE 'short {i}' END");
    let keys = |count: usize| (0..count).map(long).collect::<Vec<_>>().join(", ");
    let many = format!(
        "SELECT count(*) FROM staff WHERE id = 0 GROUP BY {}",
        keys(430)
    );
    let refused = told(&mut stage, &[], "", &many);
    for end in refused {
        let (code, message) = end.error.expect("refused");
        assert!(
            code == "42501" && message.contains("more than 64 keys"),
            "{message}"
        );
    }
    let [healthy, sick] = told(&mut stage, &["size"], "", &many);
    assert_eq!(sick.error, None);
    let (_, message) = healthy.error.expect("the keys do not fit into a row");
    let is_known = ["too big", "invalid memory alloc request size"];
    assert!(
        is_known.iter().any(|known| message.contains(known)),
        "{message}"
    );
    // As many as are taken: longer ones are NULL.
    let sql = format!(
        "SELECT count(*) > 0 FROM (SELECT count(*) FROM staff GROUP BY {}) s",
        keys(64)
    );
    assert_hidden(&mut stage, "", &sql);
    for (length, shown) in [(8192, "8192"), (8193, "NULL")] {
        let sql = format!(
            "SELECT length(k) FROM (SELECT rpad('', {length}, 'x') || left(dept, 0) AS k, count(*) FROM staff GROUP BY 1) s"
        );
        let [end, _] = told(&mut stage, &[], "", &sql);
        assert_eq!((end.error, end.shown.as_str()), (None, shown), "{sql}");
    }
}
