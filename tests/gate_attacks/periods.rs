//! Tables by period: what may be tried to have rows read of a period that nobody paid, or to have a person's rows of one
//! period change an answer by more than their part in it. Prices are so high that an answer is exact.

use dp_mean_tests::{refused, run, value};
use postgres::Client;

use super::{Stage, down};

/// Stays by month: of each of 60 patients two in each month of 2025 from January to June. The special person's are set by
/// each attack.
const STAYS: &str = "
CREATE TABLE stays (patient integer NOT NULL, day date, at timestamptz, cost float8 NOT NULL, ward text);
INSERT INTO stays SELECT p, d, d::timestamp AT TIME ZONE 'UTC', 1, 'w' || p % 2
    FROM generate_series(1, 60) p, generate_series(1, 6) m, (VALUES (3), (17)) days(n), make_date(2025, m, n) d;
SELECT dp_set_budget('stays', 4096, 1e-3);
SELECT dp_protect('stays', 'patient', 'stays', query_eps => 50, query_delta => 1e-5, reuse => '0',
    period => '{column}', every => '1 month', since => '2025-01-01');
SELECT dp_declare('stays', 'cost', 0, 10);
SELECT dp_allow('stays', '{a}')";

fn stage(column: &str) -> Stage {
    let mut stage = Stage::new();
    stage.as_owner(&STAYS.replace("{column}", column));
    stage
}

/// What the analyst gets with these rows of the special person and without them, in a session without some defences; and
/// how many periods the last question has paid.
fn told(stage: &mut Stage, defences: &[&str], before: &str, rows: &str, sql: &str) -> [String; 2] {
    let down: String = defences.iter().map(|defence| down(defence)).collect();
    [true, false].map(|person| {
        stage.as_root("DELETE FROM stays WHERE patient = 666");
        if person {
            stage.as_root(&format!("INSERT INTO stays {rows}"));
        }
        let mut client = stage.analyst();
        run(&mut client, "SELECT dp_version()");
        // There are many questions.
        run(
            &mut client,
            &format!("{}{down}{before}", super::down("charge")),
        );
        let end = stage.attack(&mut client, sql);
        format!("{:?} {}", end.error, end.shown)
    })
}

/// That an attack shows nothing of the rows, and that it does without a defence.
#[track_caller]
fn assert_told_without(stage: &mut Stage, defence: &str, before: &str, rows: &str, sql: &str) {
    let [with, without] = told(stage, &[], before, rows, sql);
    assert_eq!(with, without, "the person is seen by: {sql}");
    let [with, without] = told(stage, &[defence], before, rows, sql);
    assert_ne!(with, without, "without {defence} nothing leaks: {sql}");
}

/// Rows of no period are paid by none: they are in no answer, whatever the conditions say.
#[test]
fn rows_of_no_period_are_in_no_answer() {
    let mut stage = stage("day");
    for day in [
        "NULL",
        "'2024-12-31'",
        "'2999-06-01'",
        "'-infinity'",
        "'infinity'",
    ] {
        let rows = format!("SELECT 666, {day}::date, NULL, 1, 'canary' FROM generate_series(1, 3)");
        for condition in [
            "",
            "WHERE day < '2025-02-01' OR day IS NULL OR true",
            "WHERE day IS DISTINCT FROM '2025-02-01'",
            "WHERE coalesce(day, '2025-01-05') < '2025-02-01' OR day > '2025-01-01'",
            "WHERE day + 0 <> '2025-03-01' OR day IS NULL",
            "WHERE greatest(day, '2025-01-05') >= '2025-01-05'",
            "WHERE cost > 0",
        ] {
            let sql = format!("SELECT count(*) FROM stays {condition}");
            assert_told_without(&mut stage, "period_rows", "", &rows, &sql);
        }
    }
    // With a join to a public table, on either side of an outer one.
    let rows = "SELECT 666, NULL, NULL, 1, 'canary'";
    for sql in [
        "SELECT count(*) FROM stays LEFT JOIN own ON cost = x",
        "SELECT count(*) FROM own RIGHT JOIN stays ON cost = x",
        "SELECT count(*) FROM stays, own WHERE x = 1",
    ] {
        assert_told_without(&mut stage, "period_rows", "", rows, sql);
    }
}

/// A period that a condition does not leave out for certain is paid; and rows of one that is not paid are not read.
#[test]
fn no_condition_reads_a_period_that_is_not_paid() {
    let mut stage = stage("day");
    let mut analyst = stage.analyst();
    run(&mut analyst, "SELECT dp_version()");
    let paid = |analyst: &mut Client, condition: &str| -> i64 {
        let sql = format!(
            "SELECT periods FROM dp_cost($q$SELECT count(*) FROM stays WHERE {condition}$q$)"
        );
        value(analyst, &sql)
    };
    let all = paid(&mut analyst, "true");
    assert!(all > 6);
    for condition in [
        "day < '2025-02-01' OR ward = 'w1'",
        "(day < '2025-02-01') IS NOT FALSE",
        "(day < '2025-02-01') IS DISTINCT FROM (cost > 5)",
        "CASE WHEN cost > 5 THEN true ELSE day < '2025-02-01' END",
        "coalesce(day < '2025-02-01', true)",
        "coalesce(day, '2025-01-01') < '2025-02-01'",
        "nullif(day, '2025-06-01') < '2025-02-01'",
        "day + cost::integer < '2025-02-01'",
        "day::text < '2025-02-01'",
        "day < (SELECT max('2025-02-01'::date) FROM own)",
        "date_trunc('century', day) < '2025-02-01'",
        "extract(year FROM day) < 2025",
        "day < date '2025-02-01' + x FROM own",
    ] {
        let condition = condition.replace(" + x FROM own", " + 0 * cost::integer");
        assert_eq!(paid(&mut analyst, &condition), all, "{condition}");
    }
    for condition in [
        "day < now() + random() * interval '1 day'",
        "day < clock_timestamp()",
    ] {
        let sql = format!("SELECT count(*) FROM stays WHERE {condition}");
        match analyst.batch_execute(&sql) {
            Err(_) => {}
            Ok(()) => assert_eq!(paid(&mut analyst, condition), all, "{condition}"),
        }
    }
    // What is paid is what is read, however the query goes on: a month that is left out tells nothing of its rows.
    let rows = "SELECT 666, '2025-02-05', NULL, 1, 'canary' FROM generate_series(1, 3)";
    for condition in [
        "day < '2025-02-01'",
        "day < '2025-02-01' AND (day >= '2025-02-01' OR cost > 0)",
        "day BETWEEN '2025-03-01' AND '2025-04-01' OR day = '2025-03-01' AND cost > 0",
    ] {
        let sql = format!("SELECT count(*) FROM stays WHERE {condition}");
        let [with, without] = told(&mut stage, &[], "", rows, &sql);
        // The last one pays February, whose rows are in no answer of it.
        assert_eq!(with, without, "{sql}");
    }
}

/// A period begins in UTC: the zone of a session moves no row into a period that is paid.
#[test]
fn no_session_moves_a_row_into_another_period() {
    let mut stage = stage("at");
    let rows = "SELECT 666, NULL, '2024-12-31 23:00:00+00', 1, 'canary' FROM generate_series(1, 3)";
    for sql in [
        "SELECT count(*) FROM stays",
        "SELECT count(*) FROM stays WHERE at < '2025-02-01'",
    ] {
        let zone = "SET TimeZone = 'Asia/Tokyo';";
        assert_told_without(&mut stage, "period_zone", zone, rows, sql);
    }
}

/// A person's rows of one month change an answer by one person's part, and not by one for each of their other months.
#[test]
fn rows_of_several_periods_do_not_meet() {
    let mut stage = stage("day");
    // The person is there all year; what differs is one row of one month.
    stage.as_root(
        "INSERT INTO stays SELECT 665, make_date(2025, m, 9), NULL, 1, 'w0' FROM generate_series(1, 6) m",
    );
    let row = "SELECT 665, '2025-03-11', NULL, 7, 'canary'";
    let told = |stage: &mut Stage, defences: &[&str], sql: &str| -> [String; 2] {
        let down: String = defences.iter().map(|defence| down(defence)).collect();
        [true, false].map(|there| {
            stage.as_root("DELETE FROM stays WHERE ward = 'canary'");
            if there {
                stage.as_root(&format!("INSERT INTO stays {row}"));
            }
            let mut client = stage.analyst();
            run(&mut client, "SELECT dp_version()");
            run(&mut client, &down);
            let end = stage.attack(&mut client, sql);
            assert!(defences.is_empty() == end.error.is_some(), "{end:?}: {sql}");
            end.shown
        })
    };
    for sql in [
        "SELECT count(*) FROM stays a JOIN stays b USING (patient) WHERE b.cost = 7",
        "SELECT count(*) FROM stays a JOIN stays b ON a.patient = b.patient AND b.cost = 7 AND b.day > a.day - 900",
        "SELECT count(*) FROM stays a WHERE EXISTS (SELECT FROM stays b WHERE b.patient = a.patient AND b.cost = 7)",
    ] {
        let [with, without] = told(&mut stage, &[], sql);
        assert_eq!(with, without, "{sql}");
        assert!(
            with.contains("a table by period is asked alone")
                || with.is_empty()
                || !with.contains("canary")
        );
        let [with, without] = told(&mut stage, &["period_alone"], sql).map(|shown| {
            shown
                .parse::<i64>()
                .unwrap_or_else(|_| panic!("{shown}: {sql}"))
        });
        // One row of March is seen in each of six months, or in several.
        assert!(with - without > 1, "{with} {without}: {sql}");
    }
}

/// A person who is there in many months is not enough people for a group, nor several people.
#[test]
fn a_person_is_not_a_group_because_they_stay() {
    let mut stage = stage("day");
    let rows = "SELECT 666, make_date(2025, m, 9), NULL, 1, 'canary' FROM generate_series(1, 12) m";
    for sql in [
        "SELECT ward, count(*) FROM stays GROUP BY ward",
        "SELECT DISTINCT ward FROM stays",
        "SELECT ward, count(*) FROM stays WHERE day < '2025-11-01' GROUP BY ROLLUP (ward)",
    ] {
        let [with, without] = told(&mut stage, &[], "", rows, sql);
        assert_eq!(with, without, "{sql}");
        assert!(with.contains("is about several periods"), "{with}");
        let [with, _] = told(&mut stage, &["period_one"], "", rows, sql);
        assert!(with.contains("canary"), "{sql}: {with}");
    }
    // In one month they are one, and below the threshold.
    let sql = "SELECT ward, count(*) FROM stays WHERE day >= '2025-03-01' AND day < '2025-04-01' GROUP BY ward";
    let [with, _] = told(&mut stage, &[], "", rows, sql);
    assert!(with.contains("w0") && !with.contains("canary"), "{with}");
    let sql = "SELECT count(DISTINCT patient) FROM stays WHERE ward = 'canary'";
    let [with, _] = told(&mut stage, &["period_one"], "", rows, sql);
    assert!(with.contains("12") || with.contains("11"), "{with}");
    let [with, _] = told(&mut stage, &[], "", rows, sql);
    assert!(with.contains("42501"), "{with}");
}

/// A plan that was made before the policy changed is not answered, and the price of a new month is not that of an old
/// one.
#[test]
fn a_plan_pays_what_holds_when_it_runs() {
    let mut stage = stage("day");
    let mut analyst = stage.analyst();
    run(&mut analyst, "SELECT dp_version()");
    run(&mut analyst, "SET plan_cache_mode = force_generic_plan");
    run(
        &mut analyst,
        "PREPARE q AS SELECT count(*) FROM stays WHERE day < '2025-03-01'",
    );
    run(&mut analyst, "EXECUTE q");
    let last =
        "SELECT periods FROM dp_ledger WHERE relation = 'stays'::regclass ORDER BY at DESC LIMIT 1";
    assert_eq!(value::<i64>(&mut analyst, last), 2);
    // A cursor that is open is older than the policy.
    run(&mut analyst, "BEGIN");
    run(
        &mut analyst,
        "DECLARE c CURSOR FOR SELECT count(*) FROM stays WHERE day < '2025-03-01'",
    );
    stage.as_owner(
        "SELECT dp_set_budget('weeks', 4096, 1e-3), dp_protect('stays', 'patient', 'weeks', query_eps => 50, \
         query_delta => 1e-5, reuse => '0', period => 'day', every => '7 days', since => '2025-01-01')",
    );
    assert_eq!(refused(&mut analyst, "FETCH c").code, "55000");
    run(&mut analyst, "ROLLBACK");
    run(&mut analyst, "EXECUTE q");
    assert_eq!(value::<i64>(&mut analyst, last), 9);
}

/// What may have been spent elsewhere may have been spent of any period.
#[test]
fn what_is_missing_counts_in_each_period() {
    let mut stage = stage("day");
    let sql = "SELECT count(*) FROM stays WHERE day < '2025-02-01'";
    let mut analyst = stage.analyst();
    run(&mut analyst, "SELECT dp_version()");
    run(&mut analyst, sql);
    stage.as_root("GRANT EXECUTE ON FUNCTION dp_continue_budget TO {o}");
    stage.as_owner("SELECT dp_continue_budget('stays', 4090, 0)");
    assert_eq!(refused(&mut analyst, sql).code, "53400");
    run(&mut analyst, &down("ledger_beside"));
    run(&mut analyst, sql);
}

/// Tables with other periods, or with none, do not meet: not with one budget, and not with two.
#[test]
fn tables_of_other_periods_do_not_meet() {
    let mut stage = stage("day");
    stage.as_owner(
        "CREATE TABLE tests (patient integer NOT NULL, day date, result float8); \
         INSERT INTO tests SELECT p, '2025-02-03', 1 FROM generate_series(1, 60) p; \
         SELECT dp_set_budget('tests', 4096, 1e-3); \
         SELECT dp_protect('tests', 'patient', 'tests', query_eps => 50, period => 'day', every => '7 days', \
             since => '2025-01-01'); SELECT dp_allow('tests', '{a}')",
    );
    let of_budget = "SELECT dp_protect('tests', 'patient', 'stays', period => 'day', every => '7 days', since => '2025-01-01')";
    let owner = stage.fill("SET ROLE {o}");
    run(&mut stage.root, &owner);
    assert_eq!(refused(&mut stage.root, of_budget).code, "55000");
    run(&mut stage.root, "RESET ROLE");
    let mut analyst = stage.analyst();
    run(&mut analyst, "SELECT dp_version()");
    for sql in [
        "SELECT count(*) FROM stays JOIN tests USING (patient)",
        "SELECT count(*) FROM stays FULL JOIN tests USING (patient)",
        "SELECT count(*) FROM stays FULL JOIN visits USING (patient)",
        "SELECT count(*) FROM stays a FULL JOIN stays b USING (patient)",
        "SELECT count(*) FROM stays JOIN tests USING (patient, day)",
        "SELECT count(*) FROM tests LEFT JOIN stays USING (patient)",
        "SELECT count(*) FROM stays JOIN visits USING (patient)",
        "SELECT count(*) FROM visits WHERE patient IN (SELECT patient FROM stays)",
        "SELECT count(*) FROM visits JOIN (SELECT DISTINCT patient FROM stays) s USING (patient)",
        "SELECT count(*) FROM (SELECT patient FROM stays UNION ALL SELECT patient FROM visits) s",
        "SELECT count(*) FROM (SELECT day FROM stays UNION ALL SELECT day FROM visits) s",
        "SELECT count(*) FROM (SELECT day FROM stays UNION ALL SELECT day FROM stays) s",
    ] {
        let refusal = refused(&mut analyst, sql);
        assert_eq!(refusal.code, "42501", "{sql}");
        assert!(
            refusal.message.contains("a table by period is asked alone"),
            "{sql}: {refusal:?}"
        );
    }
}

/// A budget that is cut into periods pays for no table without them, whatever the label of the table says.
#[test]
fn a_table_of_no_period_has_no_line() {
    let mut stage = stage("day");
    stage.as_owner("SELECT dp_protect('people', 'person', 'patients', query_eps => 50)");
    let label: String = value(
        &mut stage.root,
        "SELECT label FROM pg_seclabel WHERE objoid = 'people'::regclass AND objsubid = 0",
    );
    let label = label.replace("\"patients\"", "\"stays\"");
    stage.as_owner(&format!(
        "SECURITY LABEL FOR dp_mean ON TABLE people IS '{label}'"
    ));
    let sql = "SELECT count(*) FROM people";
    let mut analyst = stage.analyst();
    run(&mut analyst, "SELECT dp_version()");
    let refusal = refused(&mut analyst, sql);
    assert_eq!(refusal.code, "55000", "{refusal:?}");
    assert!(
        refusal.message.contains("has a limit for each period"),
        "{refusal:?}"
    );
    run(&mut analyst, &down("ledger_periods"));
    run(&mut analyst, sql);
}
