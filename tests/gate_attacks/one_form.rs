//! Values that are equal and look different, as 1.0 and 1.00: which of them a sort or a group of all people's rows leaves
//! would depend on the rows of others. And lists, which say of a NULL whether they are empty.

use dp_mean_tests::run;

use super::{Stage, down};

/// What the analyst is answered without these defences.
fn told(stage: &Stage, defences: &[&str], sql: &str) -> Result<i64, String> {
    let mut client = stage.analyst();
    let off: String = defences.iter().map(|defence| down(defence)).collect();
    run(&mut client, &format!("{off} SET dp_mean.reuse = off"));
    let sql = stage.fill(sql);
    let end = client.query_one(&sql, &[]);
    end.map(|row| row.get(0))
        .map_err(|error| error.code().expect("an answer").code().to_owned())
}

/// A price at which noise is next to nothing.
const EXACT: &str =
    "SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 2, query_eps => 8)";

/// One for some rows, and the same for others, with more zeros.
const ONE: &str = "(CASE WHEN tall > 2 THEN 1.0 ELSE 1.00 END)";
/// Zero, and zero below it.
const ZERO: &str = "(CASE WHEN tall > 2 THEN 0.0::float8 ELSE '-0'::float8 END)";
/// With blanks behind it, and without.
const BLANK: &str = "(CASE WHEN tall > 2 THEN 'a '::bpchar ELSE 'a'::bpchar END)";

/// All are in one form, so that no row of `people` has another one.
#[test]
fn what_is_left_of_equal_values_is_in_one_form() {
    let mut stage = Stage::new();
    stage.as_owner(EXACT);
    let mut missed = Vec::new();
    for (value, looks, form) in [
        (ONE, "s.m::text", "'1'"),
        (ZERO, "s.m::text", "'0'"),
        (BLANK, "octet_length(s.m)::text", "'1'"),
    ] {
        let of_rows = [
            "SELECT patient, max({v}) OVER (PARTITION BY patient) AS m FROM visits",
            "SELECT patient, max({v}) AS m FROM visits GROUP BY patient",
            "SELECT patient, min({v}) FILTER (WHERE tall >= 0) AS m FROM visits GROUP BY patient",
            "SELECT patient, mode() WITHIN GROUP (ORDER BY {v}) AS m FROM visits GROUP BY patient",
            "SELECT patient, percentile_disc(0.5) WITHIN GROUP (ORDER BY {v}) AS m FROM visits GROUP BY patient",
            "SELECT patient, {v} AS m FROM visits GROUP BY patient, 2",
            "SELECT patient, {v} AS m, count(*) FROM visits GROUP BY 1, 2 HAVING {v} IS NOT NULL",
            "SELECT DISTINCT patient, {v} AS m FROM visits",
            "SELECT DISTINCT ON (patient, {v}) patient, {v} AS m FROM visits",
            "SELECT patient, {v} AS m FROM visits UNION SELECT patient, {v} FROM visits",
            "SELECT patient, {v} AS m FROM visits INTERSECT SELECT patient, {v} FROM visits",
            "SELECT patient, {v} AS m FROM visits EXCEPT ALL SELECT patient, {v} FROM visits WHERE region = 'none'",
            "SELECT patient, max({v}) AS m FROM visits GROUP BY patient UNION SELECT patient, {v} FROM visits",
            "SELECT patient, {v} AS m FROM visits GROUP BY 1, 2 INTERSECT SELECT DISTINCT patient, {v} FROM visits",
        ];
        for rows in of_rows {
            let rows = rows.replace("{v}", value);
            let sql =
                |is: &str| format!("SELECT count(*) FROM ({rows}) s WHERE {looks} {is} {form}");
            let [same, other] = ["=", "<>"].map(|is| told(&stage, &[], &sql(is)));
            let (same, other) = (same.expect("an answer"), other.expect("an answer"));
            assert!(same > 45 && other < 5, "{same}, {other}: {rows}");
            // What is in no such form is seen without the defence, but where none is left of it.
            let seen = told(&stage, &["form"], &sql("<>")).expect("an answer");
            if seen < 5 {
                missed.push(rows);
            }
        }
    }
    // Which is left of a few is a matter of the sort.
    assert!(missed.is_empty(), "{missed:#?}");
}

/// So is what the query itself looks at: in HAVING, and in sub-queries about the same person.
#[test]
fn what_conditions_see_is_in_one_form() {
    let mut stage = Stage::new();
    stage.as_owner(EXACT);
    for sql in [
        "SELECT count(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING max({v})::text LIKE '1.0%') s",
        "SELECT count(*) FROM (SELECT patient FROM visits GROUP BY patient HAVING sum(DISTINCT {v})::text LIKE '1.0%') s",
        "SELECT count(*) FROM visits o WHERE patient IN \
         (SELECT v.patient FROM visits v GROUP BY v.patient HAVING max({v})::text LIKE '1.0%')",
        "SELECT count(*) FROM visits o WHERE (SELECT max({v}) FROM visits v WHERE v.patient = o.patient)::text LIKE '1.0%'",
        "SELECT count(*) FROM visits o WHERE EXISTS \
         (SELECT {v} FROM visits v WHERE v.patient = o.patient GROUP BY {v} HAVING {v}::text LIKE '1.0%')",
    ] {
        let sql = sql.replace("{v}", ONE);
        let seen = told(&stage, &[], &sql).expect("an answer");
        assert!(seen < 5, "{seen}: {sql}");
        let seen = told(&stage, &["form"], &sql).expect("an answer");
        assert!(seen > 15, "{seen}: {sql}");
    }
}

/// Types whose equal values cannot be made to look alike are compared by no set operation.
#[test]
fn values_of_several_forms_are_not_compared() {
    let stage = Stage::new();
    for sql in [
        "SELECT count(*) FROM (SELECT patient, CASE WHEN tall > 2 THEN interval '1 day' ELSE interval '24 hours' END AS t \
         FROM visits UNION SELECT patient, interval '1 day' FROM visits) s WHERE extract(day FROM t) = 1",
        "SELECT count(*) FROM (SELECT patient, ARRAY[1.0] AS t FROM visits INTERSECT SELECT patient, ARRAY[1.00] FROM visits) s",
        "SELECT count(*) FROM visits o WHERE EXISTS (SELECT FROM visits v WHERE v.patient = o.patient \
         GROUP BY CASE WHEN tall > 2 THEN interval '1 day' ELSE interval '24 hours' END)",
    ] {
        let end = told(&stage, &[], sql);
        assert!(
            end.as_ref().is_err_and(|code| code == "42501"),
            "{end:?}: {sql}"
        );
    }
    let sql = "SELECT count(*) FROM (SELECT patient, interval '1 day' AS t FROM visits \
               UNION SELECT patient, interval '24 hours' FROM visits) s";
    told(&stage, &["form"], sql).expect("an answer without the defence");
    let all = "SELECT count(*) FROM (SELECT patient, interval '1 day' AS t FROM visits \
               UNION ALL SELECT patient, interval '24 hours' FROM visits) s";
    told(&stage, &[], all).expect("an answer, as nothing is compared");
}

/// Who a row is about may look different in their rows, too.
#[test]
fn a_person_has_one_form() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE TABLE loose (who numeric NOT NULL, x int NOT NULL);
         INSERT INTO loose SELECT g, 1 FROM generate_series(1, 100) g;
         INSERT INTO loose SELECT (g || '.00')::numeric, 2 FROM generate_series(1, 100) g;
         CREATE TABLE scaled (who numeric(9, 2) NOT NULL, x int NOT NULL);
         INSERT INTO scaled SELECT * FROM loose;
         CREATE TABLE finer (who numeric(9, 4) NOT NULL, x int NOT NULL);
         INSERT INTO finer SELECT * FROM loose;
         SELECT dp_protect(t::regclass, 'who', 'patients', rows => 2, query_eps => 8), dp_allow(t::regclass, '{a}')
         FROM unnest(ARRAY['loose', 'scaled', 'finer']) t",
    );
    let looks = "SELECT count(*) FROM ({rows}) s WHERE who::text NOT LIKE '%.00'";
    for rows in [
        "SELECT DISTINCT ON (who) who FROM {t}",
        "SELECT DISTINCT who FROM {t}",
        "SELECT who, count(*) FROM {t} GROUP BY who",
        "SELECT who, row_number() OVER (PARTITION BY who ORDER BY x) FROM {t}",
        "SELECT who FROM (SELECT who FROM {t}) q GROUP BY who",
        "SELECT who FROM {t} UNION SELECT who FROM {t}",
    ] {
        let of = |table: &str| looks.replace("{rows}", &rows.replace("{t}", table));
        let end = told(&stage, &[], &of("loose"));
        assert!(
            end.as_ref().is_err_and(|code| code == "42501"),
            "{end:?}: {rows}"
        );
        let without = told(&stage, &["form"], &of("loose"));
        assert!(without.is_ok(), "{without:?}: {rows}");
        let seen = told(&stage, &[], &of("scaled")).expect("an answer");
        assert!(seen < 5, "{seen}: {rows}");
    }
    // Columns of two scales are no one form.
    for rows in [
        "SELECT who FROM scaled UNION SELECT who FROM finer",
        "SELECT who FROM (SELECT who FROM scaled UNION ALL SELECT who FROM finer) q GROUP BY who",
        "SELECT who FROM (SELECT coalesce(a.who, b.who) AS who FROM scaled a FULL JOIN finer b ON a.who = b.who) q GROUP BY who",
    ] {
        let end = told(&stage, &[], &looks.replace("{rows}", rows));
        assert!(
            end.as_ref().is_err_and(|code| code == "42501"),
            "{end:?}: {rows}"
        );
    }
    // Rows alone are what they are.
    for table in ["loose", "finer"] {
        let sql = format!("SELECT count(*) FROM (SELECT who, x FROM {table}) s WHERE x > 0");
        told(&stage, &[], &sql).expect("an answer");
    }
}

/// A collation by which several people have the same name puts their rows into one window.
#[test]
fn no_collation_makes_two_people_one() {
    let mut stage = Stage::new();
    let collation = "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false)";
    if stage.root.batch_execute(collation).is_err() {
        return; // The server was built without ICU.
    }
    stage.as_owner(
        "CREATE TABLE named (who varchar(20) NOT NULL, x int NOT NULL);
         INSERT INTO named SELECT chr(CASE WHEN g % 2 = 0 THEN 65 ELSE 97 END) || g / 2, g % 2 FROM generate_series(0, 199) g;
         SELECT dp_protect('named', 'who', 'patients', rows => 2, query_eps => 8), dp_allow('named', '{a}')",
    );
    let sql = "SELECT count(*) FROM (SELECT who, max(x) OVER (PARTITION BY who::text COLLATE alike) AS m FROM named) s \
               WHERE m = 1";
    let end = told(&stage, &[], sql);
    assert!(end.as_ref().is_err_and(|code| code == "42501"), "{end:?}");
    let all = told(&stage, &["form"], sql).expect("an answer without the defence");
    assert!(all > 190, "{all}");
    let own = sql.replace(" COLLATE alike", "");
    let own = told(&stage, &[], &own).expect("an answer");
    assert!((90..110).contains(&own), "{own}");
}

/// A sub-query in the select list sees the row around it, and with it one of several that are equal, where rows are sorted
/// or grouped.
#[test]
fn what_sub_queries_see_of_the_row_around_them_is_in_one_form() {
    let mut stage = Stage::new();
    stage.as_owner(EXACT);
    stage.as_owner(
        "CREATE TABLE twice (who integer NOT NULL, n numeric, f float8, b character(3), v bpchar);
         INSERT INTO twice SELECT g, '1.0', '0', 'a', 'a' FROM generate_series(1, 100) g;
         INSERT INTO twice SELECT g, '1.00', '-0', 'a', 'a ' FROM generate_series(1, 100) g;
         SELECT dp_protect('twice', 'who', 'patients', rows => 2, query_eps => 8), dp_allow('twice', '{a}')",
    );
    for (column, looks, form) in [
        ("n", "a.n::text", "'1'"),
        ("f", "a.f::text", "'0'"),
        ("v", "octet_length(a.v)::text", "'1'"),
    ] {
        for rows in [
            "SELECT who, row_number() OVER (PARTITION BY who ORDER BY {v}) AS rn, {below} AS c FROM twice a",
            "SELECT who, {v}, 1 AS rn, {below} AS c FROM twice a GROUP BY who, {v}",
            "SELECT DISTINCT ON (who) who, {v}, 1 AS rn, {below} AS c FROM twice a ORDER BY who, {v}",
            "SELECT who, {v}, 1 AS rn, 1 AS c FROM twice a GROUP BY who, {v} HAVING {below} > 0",
        ] {
            let below =
                format!("(SELECT count(*) FROM twice e WHERE e.who = a.who AND {looks} = {form})");
            let rows = rows.replace("{below}", &below).replace("{v}", column);
            let sql = format!("SELECT count(*) FROM ({rows}) s WHERE rn = 1 AND c > 0");
            let all = told(&stage, &[], &sql).expect("an answer");
            assert!((90..110).contains(&all), "{all}: {sql}");
            let some = told(&stage, &["form"], &sql).expect("an answer");
            assert!(some < 90, "{some} without the defence: {sql}");
        }
    }
}

/// A sum of `real` overflows after so many rows that a cross join has them, if they are large enough.
#[test]
fn sums_of_real_do_not_overflow() {
    let mut stage = Stage::new();
    stage.as_owner(EXACT);
    let sql = "SELECT count(*) FROM (SELECT patient, sum(CASE WHEN tall >= 0 THEN 1e30::real END) AS s FROM visits \
               GROUP BY patient) q WHERE s > 1e22";
    let large = told(&stage, &[], sql).expect("an answer");
    assert!(large < 5, "{large}");
    let large = told(&stage, &["calls"], sql).expect("an answer");
    assert!(large > 45, "{large}");
}

/// `NULL NOT IN (...)` holds where the list is empty, and not else. Whether a list of all people's rows is empty must
/// not be said.
#[test]
fn a_list_does_not_say_whether_it_is_empty() {
    let mut stage = Stage::new();
    stage.as_owner(
        "CREATE TABLE letters (letter integer PRIMARY KEY, writer integer NOT NULL REFERENCES people ON DELETE CASCADE,
             again integer UNIQUE);
         CREATE TABLE lines (line integer PRIMARY KEY, letter integer REFERENCES letters ON DELETE CASCADE, size integer);
         INSERT INTO letters SELECT g, g, NULL FROM generate_series(1, 100) g;
         INSERT INTO letters VALUES (666, 666, NULL);
         INSERT INTO lines VALUES (1, 666, 17);
         SELECT dp_protect('people', 'person', 'patients', query_eps => 8),
             dp_protect('letters', via => 'writer', query_eps => 8), dp_protect('lines', via => 'letter', query_eps => 8);
         SELECT dp_allow('letters', '{a}'), dp_allow('lines', '{a}')",
    );
    let list = "(SELECT n.letter FROM lines n WHERE n.size = 17)";
    let pairs = "(SELECT n.letter, n.size FROM lines n WHERE n.size = 17)";
    let nobody = "people p LEFT JOIN letters l ON l.writer = p.person AND l.letter < 0";
    for sql in [
        format!("SELECT count(*) FROM {nobody} WHERE l.letter NOT IN {list}"),
        format!("SELECT count(*) FROM {nobody} WHERE (l.letter IN {list}) IS NULL"),
        format!("SELECT count(*) FILTER (WHERE l.letter NOT IN {list}) FROM {nobody}"),
        format!("SELECT count(*) FROM {nobody} WHERE (l.letter, 17) NOT IN {pairs}"),
        format!(
            "SELECT count(*) FROM (SELECT p.person, l.letter FROM {nobody}) s WHERE s.letter NOT IN {list}"
        ),
    ] {
        let mut answers = |defences: &[&str]| {
            ["DELETE FROM lines", "INSERT INTO lines VALUES (1, 666, 17)"].map(|change| {
                stage.as_root(change);
                told(&stage, defences, &sql).expect("an answer")
            })
        };
        let [without, with] = answers(&[]);
        assert!((without - with).abs() < 10, "{without}, {with}: {sql}");
        let [without, with] = answers(&["links"]);
        assert!((without - with).abs() > 90, "{without}, {with}: {sql}");
        stage.as_root("DELETE FROM lines; INSERT INTO lines VALUES (1, 666, 17)");
    }
}
