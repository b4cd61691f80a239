//! Expressions that are errors, or otherwise seen, for one row and not for another.

use dp_mean_tests::run;

use super::{Stage, down};

/// Conditions that are errors for a row of the special person alone. Without the defence that functions are total,
/// they are seen.
const ERRORS: [&str; 33] = [
    "1 / (cost - 4242.4242) > 0",
    "1 / (patient - 666) > 0",
    "patient % (patient - 666) = 0",
    "patient * patient * patient * patient > 0",
    "big * big * big * big * big > 1",
    "big::float8 > 1",
    "big::integer > 1",
    "exp(cost) > 1",
    "power(cost, 90) > 1",
    "sqrt(4000 - cost) > 1",
    "ln(4242.4242 - cost) > 1",
    "(patient * 100)::smallint > 1",
    "(cost * 1e6)::integer > 1",
    "day + 1 > '2025-01-01'",
    "day::timestamp > '2025-01-01'",
    "day + interval '1 day' > '2025-01-01'",
    "make_date(2025, 1 + patient / 600 * 12, 1) > '2025-01-01'",
    "'canary' || chr(92) LIKE note",
    "'x' ~ note",
    "substr(region, 1, 5 - length(region)) = 'x'",
    "chr(666 - patient) = 'x'",
    "repeat(CASE WHEN patient = 666 THEN region END, 300000000) = 'x'",
    "timezone(CASE WHEN patient = 666 THEN 'no where' ELSE 'UTC' END, now()) IS NULL",
    "width_bucket(cost, 0, 4242.4242 - cost, 5) = 1",
    "CASE WHEN patient = 666 THEN patient / (patient - 666) ELSE 1 END = 1",
    "coalesce(nullif(1 / (patient - 666), 1), 0) = 0",
    "greatest(1 / (patient - 666), 0) > 0",
    "1 / (patient - 666) = ANY (ARRAY[1, 2])",
    "1 / (patient - 666) IS DISTINCT FROM 1",
    "(1 / (patient - 666) > 0) IS TRUE",
    "ARRAY[CASE WHEN patient = 666 THEN ARRAY[1] ELSE ARRAY[1, 2] END, ARRAY[1, 2]] IS NOT NULL",
    "(SELECT 1 / (patient - 666)) > 0",
    "show(region)",
];

#[test]
fn no_error_depends_on_a_row() {
    let mut stage = Stage::new();
    for condition in ERRORS {
        let sql = format!("SELECT count(*) FROM visits WHERE {condition}");
        stage.assert_tells_nothing("", &sql);
    }
}

/// What aggregates are about is computed as floats.
#[test]
fn no_error_depends_on_an_argument() {
    let mut stage = Stage::new();
    for argument in ["big * big", "big * 2 - big", "(big + 1) * cost::numeric"] {
        let sql = format!("SELECT dp_sum({argument}, 0, 1, 0.1) FROM visits");
        stage.assert_tells_nothing("", &sql);
        stage.assert_tells_without(&["total", "warnings"], "", &sql);
    }
}

#[test]
fn without_total_functions_each_of_them_is_an_error() {
    let mut stage = Stage::new();
    for condition in ERRORS {
        let sql = format!("SELECT count(*) FROM visits WHERE {condition}");
        stage.assert_tells_without(&["total", "warnings"], "", &sql);
    }
}

/// The same where else an expression may stand: each time the division is seen without the defence.
#[test]
fn no_place_of_an_expression_tells_of_a_row() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT count(*) FILTER (WHERE 1 / (patient - 666) > 0) FROM visits",
        "SELECT count(1 / (patient - 666)) FROM visits",
        "SELECT dp_mean(1 / (patient - 666), 0, 1, 0.1) FROM visits",
        "SELECT dp_histogram(1 / (cost - 4242.4242), 0, 1, 4, 0.1) FROM visits",
        "SELECT count(*) FROM visits GROUP BY 1 / (patient - 666)",
        "SELECT count(*) FROM visits GROUP BY ROLLUP (1 / (patient - 666))",
        "SELECT DISTINCT 1 / (patient - 666) FROM visits",
        "SELECT count(*) FROM own JOIN visits ON 1 / (patient - 666) = x",
        "SELECT count(*) FROM visits LEFT JOIN own ON x = 1 / (patient - 666)",
        "SELECT count(*) FROM (SELECT 1 / (patient - 666) AS q FROM visits) s WHERE q > 0",
        "WITH w AS (SELECT 1 / (patient - 666) AS q FROM visits) SELECT count(*) FROM w WHERE q > 0",
    ] {
        stage.assert_tells_nothing("", sql);
        stage.assert_tells_without(&["total"], "", sql);
    }
}

/// Refused for all rows alike, whatever defence of functions is there: what is no plain expression.
#[test]
fn what_is_no_plain_expression_is_refused() {
    let mut stage = Stage::new();
    for condition in [
        "region::short = 'x'",
        "region::integer = 1",
        "note::regclass IS NULL",
        "note::json IS NULL",
        "ROW(patient, region) < ROW(666, 'x')",
        "words[patient] = 1",
        "visits IS NULL",
        "visits::text LIKE '%4242%'",
        "ctid = '(0,1)'",
        "xmin::text = '1'",
        "tableoid = 'visits'::regclass",
        "patient = ALL (SELECT v.tall FROM visits v WHERE v.patient = visits.patient)",
        "EXISTS (SELECT FROM own WHERE x = 1 / (patient - 666) AND sees(y, y))",
        "tall IN (SELECT person FROM people)",
        "has_table_privilege(region, 'select')",
        "current_setting(region) IS NULL",
        "pg_sleep(patient / 600) IS NULL",
        "set_config('application_name', region, false) IS NULL",
        "nextval(region::regclass) > 0",
        "pg_notify('saw', region) IS NULL",
        "query_to_xml(region, true, true, '') IS NULL",
        "lo_import(region) > 0",
        "random() < cost",
        "region OPERATOR(public.<<<) 'x'",
        "xmlserialize(CONTENT xmlparse(CONTENT region) AS text) = 'x'",
    ] {
        let sql = format!("SELECT count(*) FROM visits WHERE {condition}");
        let before = "CREATE OR REPLACE FUNCTION sees(text, text) RETURNS boolean LANGUAGE plpgsql AS \
                      $$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$; \
                      DO $$ BEGIN CREATE OPERATOR <<< (FUNCTION = sees, LEFTARG = text, RIGHTARG = text); \
                      EXCEPTION WHEN duplicate_function THEN NULL; END $$;";
        let end = stage.assert_tells_nothing(before, &sql);
        let (code, _) = end.error.unwrap_or_else(|| panic!("not refused: {sql}"));
        assert!(
            ["42501", "0A000", "42883"].contains(&code.as_str()),
            "{code}: {sql}"
        );
    }
}

/// A type without a hash is an error where a person's groups are chosen, once a row is reached.
#[test]
fn no_key_is_an_error_when_a_row_is_reached() {
    let mut stage = Stage::new();
    for key in ["m", "b", "b || b", "m + m", "-tall", "words", "day"] {
        let sql = format!("SELECT {key}, count(*) FROM visits WHERE patient = 666 GROUP BY 1");
        stage.assert_tells_nothing("", &sql);
    }
    for key in ["m", "b"] {
        let sql = format!("SELECT {key}, count(*) FROM visits WHERE patient = 666 GROUP BY 1");
        stage.assert_tells_without(&["hash"], "", &sql);
    }
}

/// Two collations that disagree are an error where a row is reached; so are patterns of a nondeterministic one.
#[test]
fn no_collation_is_an_error_when_a_row_is_reached() {
    let mut stage = Stage::new();
    stage.as_owner("ALTER TABLE visits ALTER region TYPE text COLLATE \"POSIX\"");
    for condition in ["note || '' < region", "upper(note || region) = 'X'"] {
        let sql = format!("SELECT count(*) FROM visits WHERE patient = 666 AND {condition}");
        stage.assert_tells_nothing("", &sql);
        stage.assert_tells_without(&["collation"], "", &sql);
    }
    stage.assert_tells_nothing(
        "",
        "SELECT note || region, count(*) FROM visits WHERE patient = 666 GROUP BY 1",
    );
    let icu = "CREATE COLLATION nd (provider = icu, locale = 'und', deterministic = false)";
    let has_icu = stage.root.batch_execute(icu).is_ok();
    if has_icu {
        let sql = "SELECT count(*) FROM visits WHERE patient = 666 AND region COLLATE nd LIKE 'x%'";
        stage.assert_tells_nothing("", sql);
    }
}

/// A column that is computed where it is read is its owner's expression, and might be an error.
#[test]
fn no_virtual_column_tells_of_a_row() {
    let mut stage = Stage::new();
    if super::version(&mut stage.root) < 180_000 {
        return;
    }
    stage.as_owner(
        "ALTER TABLE visits ADD virtual integer GENERATED ALWAYS AS (1 / (patient - 666)) VIRTUAL",
    );
    for sql in [
        "SELECT count(*) FROM visits WHERE virtual > 0",
        "SELECT virtual, count(*) FROM visits GROUP BY 1",
        "SELECT count(*) FROM (SELECT virtual AS q FROM visits) s WHERE q > 0",
        "SELECT dp_mean(virtual, 0, 1, 0.1) FROM visits",
    ] {
        stage.assert_tells_nothing("", sql);
    }
}

/// Bounds as large as they can be are no error, nor are they without rows.
///
/// The LIMIT is a released count, which noise may make negative. PostgreSQL refuses a negative LIMIT, by chance, with the
/// person and without; so the query takes 0 then.
#[test]
fn extreme_bounds_tell_nothing() {
    let mut stage = Stage::new();
    for sql in [
        "SELECT dp_mean(cost, -1e100, 1e100, 0.1) FROM visits",
        "SELECT dp_mean(cost, -1e101, 1e101, 0.1) FROM visits",
        "SELECT dp_sum(cost, 0, 1e-300, 0.1) FROM visits",
        "SELECT dp_sum(cost, 'NaN', 1, 0.1) FROM visits",
        "SELECT dp_sum(cost, 1, 'infinity', 0.1) FROM visits",
        "SELECT dp_mean(cost, 1, 0, 0.1) FROM visits",
        "SELECT dp_mean(cost, 0, 1, cost) FROM visits",
        "SELECT dp_mean(cost, 0, cost, 0.1) FROM visits",
        "SELECT dp_mean(cost, 0, 1, 'NaN') FROM visits",
        "SELECT avg(cost * cost * cost) FROM visits",
        "SELECT variance(cost * cost) FROM visits",
        "SELECT sum(1e99 * cost) FROM visits",
        "SELECT dp_histogram(cost, 0, 1, 100000, 0.1) IS NULL FROM visits",
        "SELECT dp_histogram(cost, 0, 1, 2147483647, 0.1) FROM visits",
        "SELECT dp_mean(cost, 0, 1, 0.1, 'name_and_shame(delta=0.5, n=1)') FROM visits",
        "SELECT dp_mean(cost, 0, 1, 0.1, note::dp_mechanism) FROM visits",
        "SELECT count(*) FROM visits LIMIT greatest((SELECT count(*) FROM visits), 0)",
    ] {
        stage.assert_tells_nothing("", sql);
    }
}

/// With the schema of temporary tables as the first of the path, CURRENT_SCHEMA makes it, or has no right to.
#[test]
fn no_schema_is_made_when_a_row_is_reached() {
    let mut stage = Stage::new();
    stage.as_root("REVOKE TEMPORARY ON DATABASE {d} FROM PUBLIC");
    let before = "SET search_path = pg_temp, public;";
    let sql =
        "SELECT count(*) FROM visits WHERE CASE WHEN patient = 666 THEN current_schema = 'x' END";
    let end = stage.assert_tells_nothing(before, sql);
    assert_eq!(end.error.expect("refused").0, "42501");
    // Where it is no plain expression, it is computed before the first row.
    let down = format!("{}{before}", down("nodes"));
    let end = stage.assert_tells_nothing(&down, sql);
    assert_eq!(end.error.expect("refused").0, "42501");
}

/// An array whose elements are too long together is an error.
#[test]
fn no_array_is_too_large_when_a_row_is_reached() {
    let mut stage = Stage::new();
    for (elements, is_refused) in [
        ("note, note", true),
        ("region", true),
        ("upper(note)", true),
        ("note::varchar", true),
        ("CASE WHEN cost > 1 THEN note ELSE 'x' END", true),
        ("ARRAY[patient, tall], ARRAY[1, 2]", true),
        ("left(note, tall)", true),
        ("left(note, -1)", true),
        ("note::varchar(100), region::varchar(9)", false),
        ("left(note, 100), right(region, 3), 'x'", false),
        (
            "CASE WHEN cost > 1 THEN left(note, 3) ELSE 'x' END, NULL",
            false,
        ),
        ("patient::text, cost::text", false),
        ("patient, tall, 1", false),
        ("cost, 1.5", false),
        ("big, 1", false),
        ("day, NULL", false),
    ] {
        let sql = format!("SELECT count(*) FROM visits WHERE ARRAY[{elements}] IS NOT NULL");
        let end = stage.assert_tells_nothing("", &sql);
        let code = end.error.map(|(code, _)| code);
        assert_eq!(code.as_deref(), is_refused.then_some("42501"), "{elements}");
    }
    let element =
        "rpad(region, CASE WHEN patient = 666 AND region = 'canary' THEN 65536 ELSE 1 END, 'x')";
    let elements = vec![element; 16_400].join(", ");
    let sql = format!("SELECT count(*) FROM visits WHERE ARRAY[{elements}] IS NOT NULL");
    stage.assert_tells_nothing("", &sql);
    stage.assert_tells_without(&["nodes"], "", &sql);
}

/// What a function is, and whether it may be executed, is looked up before any row.
#[test]
fn no_function_is_missing_when_a_row_is_reached() {
    let mut stage = Stage::new();
    for cast in [
        "region::char(5)::varchar",
        "region::char(5)::text",
        "big::numeric(5, 2)",
        "region::name::varchar(3)",
    ] {
        let sql = format!("SELECT count(*) FROM visits WHERE patient = 666 AND {cast} IS NOT NULL");
        let end = stage.assert_tells_nothing("", &sql);
        assert_eq!(end.error, None, "{cast}");
    }
    let sql =
        "SELECT count(*) FROM visits WHERE CASE WHEN patient = 666 THEN lower(region) END = 'x'";
    let mut kept = [true, false].map(|_| stage.analyst());
    for client in &mut kept {
        run(
            client,
            &format!("PREPARE q AS {sql}; SET plan_cache_mode = force_generic_plan; EXECUTE q"),
        );
        run(client, &format!("BEGIN; DECLARE c CURSOR FOR {sql}"));
    }
    stage.as_root("REVOKE EXECUTE ON FUNCTION lower(text) FROM PUBLIC");
    for (client, person) in kept.iter_mut().zip([true, false]) {
        stage.set_person(person);
        // A cursor that was open before goes on, as one of PostgreSQL's would.
        assert_eq!(stage.attack(client, "FETCH c").error, None, "{person}");
        run(client, "COMMIT");
        let (code, message) = stage.attack(client, "EXECUTE q").error.expect("refused");
        assert_eq!(code, "42501", "{person}: {message}");
        assert!(
            message.contains("no EXECUTE privilege on function lower(text)"),
            "{message}"
        );
    }
    let end = stage.assert_tells_nothing("", sql);
    assert_eq!(end.error.expect("refused").0, "42501");
}

/// Short arguments of one row that would keep the server busy for a second or more.
const SLOW: [&str; 7] = [
    "repeat(CASE WHEN patient = 666 THEN '' ELSE 'a' END, 2147483647) = 'x'",
    "strpos(repeat('a', CASE WHEN patient = 666 THEN 60000 END), 'b' || repeat('a', 30000)) > 0",
    "ltrim(repeat('ab', CASE WHEN patient = 666 THEN 20000 END), repeat('c', 30000) || 'ab') = 'x'",
    "repeat('a', CASE WHEN patient = 666 THEN 50000 END) LIKE '%' || repeat('a', 20000) || 'b'",
    "repeat('a', CASE WHEN patient = 666 THEN 2001 END) ~ '^(a+)(a+)(a+)\\1\\2\\3$'",
    "regexp_replace(repeat('x', CASE WHEN patient = 666 THEN 50000 END) || 'z', 'x.*y|z', '') = 'x'",
    "gcd(power(CASE WHEN patient = 666 THEN 9.99 ELSE 1 END, 60000), \
         power(CASE WHEN patient = 666 THEN 7.77 ELSE 1 END, 60000)) > 1",
];

#[test]
fn no_row_takes_a_second() {
    let mut stage = Stage::new();
    for condition in SLOW {
        let sql = format!("SELECT count(*) FROM visits WHERE {condition}");
        stage.assert_tells_nothing("SET statement_timeout = '1s';", &sql);
        stage.assert_tells_without(&["work"], "SET statement_timeout = '1s';", &sql);
    }
}
