//! Rows of several people that would meet: in a join, a window, a sub-query, or an error of an aggregate.

use dp_mean_tests::run;

use super::{Stage, down};

/// What a question answers with the special person in the tables and without, each once without a defence.
fn answers(stage: &mut Stage, defence: &str, sql: &str) -> [i64; 2] {
    [true, false].map(|person| {
        stage.set_person(person);
        let mut client = stage.analyst();
        let off = down(defence);
        run(&mut client, &format!("{off} SET dp_mean.reuse = off"));
        stage.number(&mut client, sql)
    })
}

/// One person would change the rows of all others, by far more than the noise for one hides.
#[test]
fn no_person_is_in_the_rows_of_others() {
    let mut stage = Stage::new();
    for (defence, sql) in [
        (
            "persons",
            "SELECT count(*) FROM people p JOIN visits v ON v.patient = 666",
        ),
        (
            "persons",
            "SELECT count(*) FROM people p, visits v WHERE v.patient = 666 AND v.patient <> p.person",
        ),
        (
            "persons",
            "SELECT count(*) FROM (SELECT person, 1 AS one FROM people) p FULL JOIN (SELECT patient, 1 AS one FROM visits \
             WHERE patient = 666) v ON v.one = p.one WHERE v.patient = 666",
        ),
        (
            "windows",
            "SELECT count(*) FROM (SELECT count(*) FILTER (WHERE person = 666) OVER () AS n FROM people) s WHERE n > 0",
        ),
        (
            "windows",
            "SELECT count(*) FROM (SELECT max(person) OVER (PARTITION BY dept <> 'x') AS m FROM people) s WHERE m = 666",
        ),
        (
            "links",
            "SELECT count(*) FROM people WHERE EXISTS (SELECT FROM visits WHERE patient = 666)",
        ),
        (
            "links",
            "SELECT count(*) FROM people p WHERE (SELECT max(patient) FROM visits v WHERE v.patient >= p.person) = 666",
        ),
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert_eq!(end.error.expect("refused").0, "42501", "{sql}");
        let [with, without] = answers(&mut stage, defence, sql);
        assert!(with - without > 80, "{with}, {without}: {sql}");
    }
}

/// Who has the most rows changes nothing but numbers with noise, whichever way they are asked.
#[test]
fn nobody_is_seen_by_how_many_rows_they_have() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT * FROM dp_beyond('visits')",
        "SELECT (dp_beyond('visits', 2)).*",
        "SELECT (dp_beyond('visits', 1024)).rows",
        "SELECT rows FROM dp_beyond('visits', 8) WHERE people_beyond > -1e9 ORDER BY 1",
        "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT rows FROM dp_beyond('visits', 8)",
        "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT (dp_beyond('visits', 8)).rows",
    ] {
        for before in ["", "SET client_min_messages = debug1"] {
            let end = stage.assert_tells_nothing(before, sql);
            assert_eq!(end.error, None, "{sql}");
        }
    }
    let end = stage.assert_tells_nothing("", "SELECT * FROM dp_beyond('people')");
    assert_eq!(end.error.expect("refused").0, "22023");
}

/// The smallest change of a form that is answered.
#[test]
fn what_is_not_of_one_person_is_refused() {
    let mut stage = Stage::new();
    for sql in [
        // Joins.
        "SELECT count(*) FROM people p JOIN visits v ON v.patient >= p.person",
        "SELECT count(*) FROM people p JOIN visits v ON v.patient = p.person + 1",
        "SELECT count(*) FROM people p JOIN visits v ON v.patient::float4 = p.person::float4",
        "SELECT count(*) FROM people p JOIN visits v ON v.patient = p.person OR v.patient = 666",
        "SELECT count(*) FROM people p JOIN visits v ON NOT v.patient = p.person",
        "SELECT count(*) FROM people p LEFT JOIN visits v ON true WHERE v.patient = p.person",
        "SELECT count(*) FROM own LEFT JOIN (visits v JOIN people p ON v.patient = p.person) ON x = v.patient",
        "SELECT count(*) FROM people p LEFT JOIN visits v ON v.patient = p.person LEFT JOIN visits w ON w.patient = v.tall",
        "SELECT count(*) FROM people p LEFT JOIN visits v ON v.patient = p.person JOIN visits w \
         ON w.patient IS NOT DISTINCT FROM v.patient",
        "SELECT count(*) FROM people p LEFT JOIN visits v ON v.patient = p.person LEFT JOIN visits w \
         ON w.patient = coalesce(v.patient, 666)",
        "SELECT count(*) FROM people p LEFT JOIN visits v ON v.tall = p.person LEFT JOIN visits w ON w.patient = v.patient",
        "SELECT count(*) FROM visits a JOIN visits b ON a.patient = b.tall",
        "SELECT count(*) FROM visits a, visits b, own o WHERE a.patient = o.x AND b.patient = o.x",
        // Aggregates and DISTINCT.
        "SELECT count(*) FROM (SELECT v.patient, count(*) FROM people p LEFT JOIN visits v ON v.patient = p.person \
         GROUP BY v.patient) s",
        "SELECT count(*) FROM (SELECT DISTINCT ON (region) patient, region FROM visits) s",
        "SELECT count(*) FROM (SELECT patient, count(*) FROM visits GROUP BY ROLLUP (patient)) s",
        "SELECT count(*) FROM (SELECT patient, string_agg(region, ',') AS r FROM visits GROUP BY patient) s WHERE r > 'a'",
        "SELECT count(*) FROM (SELECT patient, array_agg(cost) AS r FROM visits GROUP BY patient) s WHERE r IS NULL",
        "SELECT count(*) FROM (SELECT patient, sum(m) AS r FROM visits GROUP BY patient) s WHERE r IS NULL",
        "SELECT count(*) FROM (SELECT patient FROM visits GROUP BY patient LIMIT 10) s",
        // Windows.
        "SELECT count(*) FROM (SELECT lag(cost) OVER (ORDER BY patient) AS c FROM visits) s WHERE c > 4000",
        "SELECT count(*) FROM (SELECT lag(cost) OVER (PARTITION BY region ORDER BY day) AS c FROM visits) s WHERE c > 4000",
        "SELECT count(*) FROM (SELECT sum(cost) OVER (PARTITION BY patient ORDER BY day RANGE '1 day' PRECEDING) AS c \
         FROM visits) s WHERE c > 4000",
        "SELECT count(*) FROM (SELECT ntile(tall) OVER (PARTITION BY patient ORDER BY day) AS c FROM visits) s WHERE c > 4",
        "SELECT count(*) FROM (SELECT last_value(cost) OVER (PARTITION BY patient ORDER BY tall) AS c FROM visits) s \
         WHERE c > 4",
        // Set operations.
        "SELECT count(*) FROM (SELECT patient, tall FROM visits UNION ALL SELECT tall, patient FROM visits) s",
        "SELECT count(*) FROM (SELECT patient FROM visits UNION ALL SELECT x FROM own) s",
        "SELECT count(*) FROM (SELECT region FROM visits UNION SELECT dept FROM people) s",
        "SELECT count(*) FROM (SELECT patient::bigint AS p FROM visits EXCEPT SELECT person::bigint FROM people) s",
        // Sub-queries.
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM visits v WHERE v.patient = 666)",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM visits v WHERE v.patient <> p.person)",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM visits v WHERE v.patient = p.person OR true)",
        "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM visits v, visits w WHERE v.patient = p.person)",
        "SELECT count(*) FROM people WHERE person IN (SELECT tall FROM visits)",
        "SELECT count(*) FROM people WHERE person IN (SELECT max(patient) FROM visits)",
        "SELECT count(*) FROM people WHERE person IN (SELECT patient FROM visits ORDER BY cost DESC LIMIT 1)",
        "SELECT count(*) FROM people WHERE person IN (SELECT patient FROM visits UNION SELECT x FROM own)",
        "SELECT count(*) FROM people WHERE salary > ALL (SELECT cost FROM visits v WHERE v.patient = person)",
        "SELECT count(*) FROM people p WHERE ARRAY(SELECT cost FROM visits v WHERE v.patient = p.person) = '{}'",
        "SELECT count(*) FROM people p WHERE (SELECT cost FROM visits v WHERE v.patient = p.person) > 1",
        "SELECT count(*) FROM people p WHERE (SELECT cost FROM visits v WHERE v.patient = p.person LIMIT 2) > 1",
        "SELECT count(*) FROM people p WHERE (SELECT count(*) FROM visits v) > 210 AND salary > (SELECT y::int FROM own)",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        let (code, _) = end.error.unwrap_or_else(|| panic!("not refused: {sql}"));
        assert!(["42501", "22P02"].contains(&code.as_str()), "{code}: {sql}");
    }
}

/// Within the rows of one person nothing raises an error, whatever these are.
#[test]
fn no_aggregate_of_a_person_is_an_error() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT count(*) FROM (SELECT patient, regr_sxx(tall, tall * power(10, patient / 2.2)) AS c \
         FROM visits GROUP BY patient) s WHERE c > 0",
        "SELECT count(*) FROM (SELECT patient, percentile_cont(patient / 665.0) WITHIN GROUP (ORDER BY cost) AS c \
         FROM visits GROUP BY patient) s WHERE c > 0",
    ] {
        stage.assert_tells_nothing("", sql);
        stage.assert_tells_without(&["calls"], "", sql);
    }
    // A sub-query of one value, with as many rows as the person has.
    let sql = "SELECT count(*) FROM people p WHERE (SELECT cost FROM visits v WHERE v.patient = p.person AND cost > 4000) > 1";
    stage.assert_tells_nothing("", sql);
    stage.assert_tells_without(&["links"], "", sql);
    // What is public is an error for all rows, or for none.
    for sql in [
        "SELECT count(*) FROM people WHERE person = 666 AND salary > (SELECT x FROM own)",
        "SELECT count(*) FROM people WHERE person = 666 AND salary > (SELECT 1 / (x - 1) FROM own LIMIT 1)",
        "SELECT count(*) FROM people WHERE person = 666 AND person IN (SELECT 1 / (x - 1) FROM own)",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        let (code, _) = end.error.expect("an error");
        assert!(["21000", "22012"].contains(&code.as_str()), "{code}: {sql}");
        stage.assert_tells_without(&["inputs"], "", sql);
    }
    for sql in [
        "SELECT count(*) FROM (SELECT patient, sum(power(10, patient / 2.165)) AS c FROM visits GROUP BY patient) s WHERE c > 0",
        "SELECT count(*) FROM (SELECT patient, avg(big) AS c, sum(big), stddev(big) FROM visits GROUP BY patient) s WHERE c > 0",
        "SELECT count(*) FROM (SELECT sum(power(10, patient / 2.165)) OVER (PARTITION BY patient) AS c FROM visits) s \
         WHERE c > 0",
        "SELECT count(*) FROM (SELECT patient, stddev(power(10::float4, tall * 3.8)) AS c FROM visits GROUP BY patient) s \
         WHERE c > 0",
    ] {
        let end = stage.assert_tells_nothing("", sql);
        assert_eq!(end.error, None, "{sql}");
    }
}

/// `(SELECT column)` is the column of the query around it, however many queries are around that.
#[test]
fn a_column_in_a_sub_query_of_its_own_is_that_column() {
    let mut stage = Stage::new();
    stage.as_owner(
        "SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 4, query_eps => 8);
         SELECT dp_protect('people', 'person', 'patients', query_eps => 8)",
    );
    let mut analyst = stage.analyst();
    run(&mut analyst, "SET dp_mean.reuse = off");
    for [with, without] in [
        // Of an integer, in the place of a text.
        [
            "SELECT count(*) FROM (SELECT person, a, row_number() OVER (PARTITION BY person) rn FROM (SELECT person, \
             dept AS c2, dept AS c3, dept AS c4, dept AS c5, person::bigint * 0 + 4096 AS a FROM people) p \
             WHERE (SELECT count(*) FROM visits v WHERE v.patient = p.person AND (SELECT v.note) = 'n1') > 0) s WHERE a > 0",
            "SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM visits v WHERE v.patient = p.person AND v.note = 'n1')",
        ],
        [
            "SELECT count(*) FROM visits v WHERE CASE WHEN v.cost >= 50 THEN (SELECT count(*) FROM people p \
             WHERE p.person = v.patient AND (SELECT p.dept) = 'd1') > 0 ELSE false END",
            "SELECT count(*) FROM visits v JOIN people p ON p.person = v.patient WHERE v.cost >= 50 AND p.dept = 'd1'",
        ],
        [
            "SELECT count(*) FROM people a JOIN visits v ON a.person = v.patient AND (SELECT v.note) = 'n2' \
             WHERE (SELECT (SELECT a.dept)) = 'd2'",
            "SELECT count(*) FROM people a JOIN visits v ON a.person = v.patient WHERE v.note = 'n2' AND a.dept = 'd2'",
        ],
        [
            "SELECT count(*) FROM visits v WHERE (SELECT v.note) = 'n1'",
            "SELECT count(*) FROM visits v WHERE v.note = 'n1'",
        ],
    ] {
        let [one, other] = [with, without].map(|sql| stage.number(&mut analyst, sql));
        assert!((one - other).abs() < 10, "{one}, {other}: {with}");
        assert!(other > 10, "{other}: {without}");
    }
}

/// A window in a sub-query of its own is over the one row there, and none of the query around it.
#[test]
fn a_window_in_a_sub_query_of_its_own_is_of_one_row() {
    let mut stage = Stage::new();
    stage.as_owner(
        "SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 4, query_eps => 8)",
    );
    let mut analyst = stage.analyst();
    let ranked = "rank() OVER (PARTITION BY v.patient ORDER BY v.cost) AS r";
    for rows in [
        "visits v WHERE (SELECT {w}) > 1".to_owned(),
        "(SELECT v.patient, (SELECT {w}) AS n FROM visits v) s WHERE n > 1".to_owned(),
        format!("(SELECT v.patient, (SELECT {{w}}) AS n, {ranked} FROM visits v) s WHERE n > 1"),
    ] {
        let sql = |window: &str| format!("SELECT count(*) FROM {}", rows.replace("{w}", window));
        let count = stage.number(&mut analyst, &sql("row_number() OVER ()"));
        assert!(count < 20, "{count}: {rows}");
        let of_rows = sql("max(v.cost) OVER ()");
        let error = analyst.query_one(&of_rows, &[]).expect_err(&of_rows);
        let code = error.code().expect("an error of the server").code();
        assert_eq!(code, "42501", "{of_rows}");
    }
}

/// Rows that are alike in their order come together: a sub-query of one value would have several.
#[test]
fn a_sub_query_of_one_value_has_no_ties() {
    let mut stage = Stage::new();
    stage.as_owner("CREATE TABLE shop (x integer, y integer); GRANT SELECT ON shop TO {a}; INSERT INTO shop VALUES (1, 1), (1, 1)");
    for value in [
        "SELECT v.cost FROM visits v WHERE v.patient = p.person ORDER BY v.tall * 0 FETCH FIRST 1 ROW WITH TIES",
        "SELECT y FROM shop WHERE shop.x < p.person ORDER BY x FETCH FIRST 1 ROWS WITH TIES",
    ] {
        let sql = format!(
            "SELECT count(*) FROM people p WHERE CASE WHEN p.salary = 1007 THEN ({value}) > 0 ELSE true END"
        );
        let refused = |off: &str| {
            let mut client = stage.analyst();
            run(&mut client, &format!("{off} SET dp_mean.reuse = off"));
            let error = client.query_one(&stage.fill(&sql), &[]).expect_err(&sql);
            error
                .code()
                .expect("an error of the server")
                .code()
                .to_owned()
        };
        assert_eq!(refused(""), "42501", "{sql}");
        // What only rows can tell.
        assert_eq!(refused(&down("links")), "21000", "{sql}");
        let all = sql
            .replace("ROWS WITH TIES", "ROWS ONLY")
            .replace("ROW WITH TIES", "ROW ONLY");
        stage.number(&mut stage.analyst(), &all);
    }
}
