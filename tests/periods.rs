//! Budgets by period: what the unit of a table by period is, which periods a question pays, and that each has a limit of
//! its own.

use std::thread;

use dp_mean_tests::{
    Build, Database, Role, drop_roles, refusal, refused, rows, run, session, value,
};
use postgres::Client;

use crate::upkeep::{findings, logged};

/// Visits of 50 patients, two of each in each month of 2025 from January to June, at two sites; and rows of no period.
/// An answer of epsilon 20 is exact in all cases that matter.
const VISITS: &str = "
CREATE TABLE visit (patient int NOT NULL, day date, at timestamp, moment timestamptz, cost float8 NOT NULL, site text);
INSERT INTO visit SELECT p, d, d, d::timestamp AT TIME ZONE 'UTC', p, 's' || p % 2
    FROM generate_series(1, 50) p, generate_series(1, 6) m, (VALUES (5), (20)) days(n), make_date(2025, m, n) d;
INSERT INTO visit SELECT p, d, d, d::timestamp AT TIME ZONE 'UTC', 0, 's0' FROM generate_series(1, 50) p,
    unnest(ARRAY['2024-12-31', '2999-01-01', '-infinity', 'infinity', NULL]::date[]) d;
SELECT dp_set_budget('patients', 100, 0);
SELECT dp_protect('visit', 'patient', 'patients', query_eps => 20, reuse => '0',
    period => '{column}', every => '{every}', since => '2025-01-01');
SELECT dp_declare('visit', 'cost', 0, 100);
SELECT dp_declare('visit', 'site', ARRAY['s0', 's1']);
SELECT dp_allow('visit', '{role}');
ALTER ROLE {role} SET session_preload_libraries = 'dp_mean'";

/// A database with these, by this column and length of a period.
fn by(database: &Database, column: &str, every: &str, role: &Role) -> Client {
    let mut owner = database.connect();
    let sql = VISITS.replace("{column}", column).replace("{every}", every);
    run(&mut owner, &sql.replace("{role}", role.name()));
    owner
}

/// The periods that a query pays, and from which day on; and those that it has paid, once it was asked.
fn paid(analyst: &mut Client, condition: &str) -> (i64, Option<String>) {
    let query = format!("SELECT count(*) FROM visit {condition}");
    let sql = format!("SELECT periods FROM dp_cost($q${query}$q$)");
    let periods: i64 = value(analyst, &sql);
    let charged = "SELECT first_day::text FROM dp_ledger ORDER BY at DESC LIMIT 1";
    run(analyst, &query);
    let first: Option<String> = value(analyst, charged);
    let count: i64 = value(
        analyst,
        "SELECT coalesce(periods, 0) FROM dp_ledger ORDER BY at DESC LIMIT 1",
    );
    assert_eq!(count, periods, "{condition}");
    (periods, first)
}

/// That a query is refused, for this reason.
fn refuses(analyst: &mut Client, sql: &str, why: &str) {
    let refusal = refused(analyst, sql);
    assert_eq!(refusal.code, "42501", "{sql}");
    assert!(refusal.message.contains(why), "{sql}: {refusal:?}");
}

/// How many months there are from January 2025 to now, in UTC.
const ALL: &str = "SELECT (12 * (extract(year FROM now() AT TIME ZONE 'UTC') - 2025)
    + extract(month FROM now() AT TIME ZONE 'UTC'))::bigint";

#[test]
fn a_person_counts_in_each_period() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    let mut analyst = role.connect();
    // Each person with one row in each month, though they have two.
    for (sql, expected) in [
        ("SELECT count(*) FROM visit", 300),
        ("SELECT count(*) FROM visit WHERE day < '2025-03-01'", 100),
        (
            "SELECT count(*) FROM visit WHERE day BETWEEN '2025-02-20' AND '2025-02-28'",
            50,
        ),
        (
            "SELECT count(DISTINCT patient) FROM visit WHERE day >= '2025-06-01' AND day < '2025-07-01'",
            50,
        ),
    ] {
        assert_eq!(value::<i64>(&mut analyst, sql), expected, "{sql}");
    }
    let sql = "SELECT string_agg(month::date || ' ' || n, ', ' ORDER BY month) FROM (SELECT date_trunc('month', day) AS month, \
               count(*) AS n FROM visit WHERE day BETWEEN '2025-04-01' AND '2025-05-31' GROUP BY 1) s";
    let months: String = value(&mut analyst, sql);
    assert_eq!(months, "2025-04-01 50, 2025-05-01 50");
    let sql = "SELECT string_agg(site || ' ' || n, ', ' ORDER BY site) FROM (SELECT site, count(*) AS n FROM visit \
               WHERE day < '2025-03-01' GROUP BY site) s";
    let sites: String = value(&mut analyst, sql);
    assert_eq!(sites, "s0 50, s1 50");
    // By weeks, each row is of a period of its own.
    run(&mut owner, "SELECT dp_set_budget('weeks', 100, 0)");
    run(
        &mut owner,
        "SELECT dp_protect('visit', 'patient', 'weeks', query_eps => 20, period => 'day', every => '7 days', \
         since => '2025-01-01')",
    );
    assert_eq!(
        value::<i64>(
            &mut analyst,
            "SELECT count(*) FROM visit WHERE day < '2025-03-01'"
        ),
        200
    );
    let units = "SELECT string_agg(unit || ' ' || periods, ', ') FROM dp_cost('SELECT count(*) FROM visit \
                 WHERE day < ''2025-01-09''')";
    assert_eq!(value::<String>(&mut analyst, units), "person-week 2");
}

#[test]
fn a_question_pays_the_periods_that_its_rows_can_be_in() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    run(&mut owner, "SELECT dp_set_budget('patients', 4000, 0)");
    let mut analyst = role.connect();
    let all: i64 = value(&mut analyst, ALL);
    for (condition, periods, first) in [
        ("", all, "2025-01-01"),
        (
            "WHERE day >= '2025-03-05' AND day < '2025-06-01'",
            3,
            "2025-03-01",
        ),
        (
            "WHERE day BETWEEN '2025-03-01' AND '2025-06-01'",
            4,
            "2025-03-01",
        ),
        ("WHERE day = '2025-03-31'", 1, "2025-03-01"),
        ("WHERE '2025-03-31' = day AND site = 's0'", 1, "2025-03-01"),
        (
            "WHERE day > '2025-02-28' AND '2025-04-01' > day",
            1,
            "2025-03-01",
        ),
        ("WHERE day < '2025-02-01'::timestamp", 1, "2025-01-01"),
        (
            "WHERE day < '2025-02-01 00:00:01'::timestamp",
            2,
            "2025-01-01",
        ),
        (
            "WHERE date_trunc('month', day) = '2025-02-01'",
            1,
            "2025-02-01",
        ),
        (
            "WHERE date_trunc('quarter', day) = '2025-04-01'",
            3,
            "2025-04-01",
        ),
        (
            "WHERE date_trunc('year', day) <= '2025-01-01'",
            12,
            "2025-01-01",
        ),
        (
            "WHERE date_trunc('month', day) > '2025-02-03' AND day < '2025-05-01'",
            2,
            "2025-03-01",
        ),
        (
            "WHERE day < '2025-02-01' AND day >= '1990-01-01'",
            1,
            "2025-01-01",
        ),
        // Conditions that do not hold for all rows, or that are none on the column itself.
        ("WHERE day < '2025-02-01' OR site = 's0'", all, "2025-01-01"),
        ("WHERE NOT day >= '2025-02-01'", 1, "2025-01-01"),
        ("WHERE day + 1 < '2025-02-01'", all, "2025-01-01"),
        ("WHERE day::text < '2025-02-01'", all, "2025-01-01"),
        ("WHERE extract(month FROM day) = 1", all, "2025-01-01"),
        ("WHERE day IN ('2025-02-01')", 1, "2025-02-01"),
    ] {
        let found = paid(&mut analyst, condition);
        assert_eq!(found, (periods, Some(first.to_owned())), "{condition}");
    }
    for condition in [
        "WHERE day < '2025-01-01'",
        "WHERE day >= '2999-01-01'",
        "WHERE day > '2025-03-01' AND day < '2025-02-01'",
    ] {
        assert_eq!(paid(&mut analyst, condition), (0, None), "{condition}");
    }
    // What is stable is what it is now.
    let (periods, _) = paid(
        &mut analyst,
        "WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC') - interval '2 months'",
    );
    assert_eq!(periods, 3);
    let (periods, _) = paid(&mut analyst, "WHERE day >= current_date - 0");
    assert!(periods <= 2, "{periods}");
    // Parameters have their values, in a plan for any of them too.
    run(&mut analyst, "SET plan_cache_mode = force_generic_plan");
    run(
        &mut analyst,
        "PREPARE asked (date, date) AS SELECT count(*) FROM visit WHERE day >= $1 AND day < $2",
    );
    for (to, periods) in [("2025-02-01", 1), ("2025-04-01", 3)] {
        let sql = format!("EXECUTE asked ('2025-01-01', '{to}')");
        assert_eq!(value::<i64>(&mut analyst, &sql), 50 * periods);
        let last =
            "SELECT concat_ws(' ', first_day, periods) FROM dp_ledger ORDER BY at DESC LIMIT 1";
        let last: String = value(&mut analyst, last);
        assert_eq!(last, format!("2025-01-01 {periods}"));
    }
}

#[test]
fn periods_begin_in_utc() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    for column in ["moment", "at"] {
        let mut owner = by(&database, column, "1 month", &role);
        run(&mut owner, "SELECT dp_set_budget('patients', 4000, 0)");
        // The last hour of January in UTC, which is in February in Tokyo.
        run(
            &mut owner,
            "INSERT INTO visit SELECT p, NULL, '2025-01-31 23:00', '2025-01-31 23:00+00', 0, 's0' \
             FROM generate_series(101, 110) p",
        );
        let mut analyst = role.connect();
        for zone in ["UTC", "Asia/Tokyo", "America/New_York"] {
            run(&mut analyst, &format!("SET TimeZone = '{zone}'"));
            let sql =
                format!("SELECT count(*) FROM visit WHERE {column} < '2025-02-01 00:00:00+00'");
            assert_eq!(value::<i64>(&mut analyst, &sql), 60, "{zone} {column}");
            let sql = format!(
                "SELECT periods FROM dp_cost('SELECT count(*) FROM visit WHERE {column} < ''2025-02-01 00:00:00+00''')"
            );
            assert_eq!(value::<i64>(&mut analyst, &sql), 1, "{zone} {column}");
            // All of what the session calls February, of both months.
            let sql = format!(
                "SELECT count(*) FROM visit WHERE {column} >= '2025-02-01' AND {column} < '2025-03-01'"
            );
            let expected = match (zone, column) {
                ("Asia/Tokyo", "moment") => 60,
                _ => 50,
            };
            assert_eq!(
                value::<i64>(&mut analyst, &sql),
                expected,
                "{zone} {column}"
            );
        }
        run(&mut owner, "DROP TABLE visit");
        let fresh = "SELECT dp_set_budget('patients', 4000, 0)";
        run(&mut client, fresh);
    }
}

#[test]
fn each_period_has_the_whole_limit() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    let mut analyst = role.connect();
    let ask = |from: &str, to: &str| {
        format!("SELECT count(*) FROM visit WHERE day >= '{from}' AND day < '{to}'")
    };
    let february = ask("2025-02-01", "2025-03-01");
    for _ in 0..5 {
        assert_eq!(value::<i64>(&mut analyst, &february), 50);
    }
    let full = refused(&mut analyst, &february);
    assert_eq!(full.code, "53400");
    assert!(
        full.message
            .contains("the period from 2025-02-01 of budget"),
        "{full:?}"
    );
    // All or none: what has room for January alone is not charged.
    let lines = "SELECT string_agg(concat_ws(' ', role, first_day, last_day, spent_epsilon, charges, left_epsilon, \
                 round(spent_share::numeric, 2), limit_epsilon), E'\\n' ORDER BY role, first_day) \
                 FROM dp_budget_periods";
    let before: String = value(&mut owner, lines);
    assert_eq!(
        refused(&mut analyst, &ask("2025-01-01", "2025-04-01")).code,
        "53400"
    );
    let fits = "SELECT fits FROM dp_cost('SELECT count(*) FROM visit WHERE day < ''2025-03-01''')";
    assert!(!value::<bool>(&mut analyst, fits));
    let after: String = value(&mut owner, lines);
    let of_february = |lines: &str| {
        let found = lines.lines().filter(|line| line.contains("2025-02-01"));
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of_february(&before), of_february(&after));
    let expected = [
        format!("{} 2025-02-01 2025-02-28 100 5 0 1.00 100", role.name()),
        "2025-02-01 2025-02-28 100 5 0 1.00 100".to_owned(),
    ];
    assert_eq!(of_february(&after), expected);
    let spent = "SELECT coalesce(sum(spent_epsilon), 0)::float8 FROM dp_budget_periods WHERE first_day <> '2025-02-01'";
    assert!(value::<f64>(&mut owner, spent) < 1e-9);
    // Other months are as they were.
    assert_eq!(
        value::<i64>(&mut analyst, &ask("2025-03-01", "2025-07-01")),
        200
    );
    assert_eq!(
        value::<i64>(&mut analyst, &ask("2025-01-01", "2025-02-01")),
        50
    );
    // The sum over all periods is what a life may lose.
    let all: i64 = value(&mut owner, ALL);
    let lifetime = "SELECT DISTINCT lifetime_epsilon FROM dp_budget_periods";
    assert!((value::<f64>(&mut owner, lifetime) - 100.0 * all as f64).abs() < 1e-6);
    assert_eq!(
        value::<i64>(&mut owner, "SELECT DISTINCT periods FROM dp_budget_periods"),
        all
    );
    // A role of its own limit.
    run(
        &mut owner,
        &format!("SELECT dp_set_budget('patients', 40, 0, '{}')", role.name()),
    );
    assert_eq!(
        value::<i64>(&mut analyst, &ask("2025-03-01", "2025-04-01")),
        50
    );
    let full = refused(&mut analyst, &ask("2025-03-01", "2025-04-01"));
    assert!(full.message.contains("of role"), "{full:?}");
    assert_eq!(full.code, "53400");
}

/// The server's log says of each period once that most of its limit is spent, and that all is: of all together, and of
/// a role.
#[test]
fn the_log_has_a_line_once_most_of_a_period_is_spent_and_once_all_is() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let name = role.name();
    let mut owner = by(&database, "day", "1 month", &role);
    let limit = |epsilon: u32| format!("SELECT dp_set_budget('patients', {epsilon}, 0, '{name}')");
    run(&mut owner, &limit(50));
    let mut analyst = role.connect();
    let of_role = |month: u32, spent: &str| {
        format!(
            "the period from 2025-{month:02}-01 of role \"{name}\" in budget \"patients\" of database \"{}\" \
             has spent {spent} of its limit",
            database.name()
        )
    };
    let of_all = |month, spent| of_role(month, spent).replace(&format!("role \"{name}\" in "), "");
    let mut expected: Vec<String> = Vec::new();
    for (epsilon, first, last, passed) in [
        (50, 2, 3, vec![]),
        (50, 2, 2, vec![of_role(2, "80%")]),
        (50, 3, 4, vec![of_role(3, "80%")]),
        // A higher limit has its own marks; that of all together is 100.
        (1000, 2, 2, vec![]),
        (1000, 2, 3, vec![of_all(2, "80%")]),
        (1000, 2, 4, vec![of_all(2, "all"), of_all(3, "80%")]),
        // Both marks at once.
        (60, 4, 4, vec![of_role(4, "80%"), of_role(4, "all")]),
    ] {
        run(&mut owner, &limit(epsilon));
        let next = last + 1;
        let sql = format!(
            "SELECT count(*) FROM visit WHERE day >= '2025-{first:02}-01' AND day < '2025-{next:02}-01'"
        );
        run(&mut analyst, &sql);
        expected.extend(passed);
        let lines = logged(&mut owner, &database, "has spent");
        assert_eq!(lines.len(), expected.len(), "{sql}: {lines:#?}");
        for (line, words) in lines.iter().zip(&expected) {
            assert!(
                line.contains(&format!("LOG:  dp_mean: {words}")),
                "{sql}: {line} instead of {words}"
            );
        }
    }
    // A question that is refused passes nothing.
    let february = "SELECT count(*) FROM visit WHERE day >= '2025-02-01' AND day < '2025-03-01'";
    assert_eq!(refused(&mut analyst, february).code, "53400");
    let lines = logged(&mut owner, &database, "has spent");
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
}

#[test]
fn what_is_of_no_period_counts_in_each() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    let mut analyst = role.connect();
    let february = "SELECT count(*) FROM visit WHERE day >= '2025-02-01' AND day < '2025-03-01'";
    run(&mut analyst, february);
    // A charge of no period, and a table of none, are refused.
    let refusal = refused(&mut owner, "SELECT dp_charge('patients', 1, 0)");
    assert_eq!(refusal.code, "55000");
    assert!(
        refusal
            .message
            .contains("a limit for each period, every 1 month since 2025-01-01"),
        "{refusal:?}"
    );
    run(&mut owner, "CREATE TABLE people (id int PRIMARY KEY)");
    for (sql, code) in [
        ("SELECT dp_protect('people', 'id', 'patients')", "55000"),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 day', since => '2025-01-01')",
            "55000",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 month', since => '2025-02-01')",
            "55000",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', since => '2025-02-01')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 month')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', every => '1 month')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', since => '2025-01-01')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'site', every => '1 month', since => '2025-01-01')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 month 1 day', since => '2025-01-01')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '-1 month', since => '2025-01-01')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 hour', since => '2025-01-01')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 month', since => '2025-01-02')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', period => 'day', every => '1 month', since => 'infinity')",
            "22023",
        ),
        (
            "SELECT dp_protect('visit', 'patient', 'patients', min_people => 5, period => 'day', every => '1 month', \
             since => '2025-01-01')",
            "22023",
        ),
    ] {
        assert_eq!(refused(&mut owner, sql).code, code, "{sql}");
    }
    // Charges that are missing are past all limits, in all periods.
    run(&mut owner, "SELECT dp_continue_budget('patients', 70, 0)");
    let spent = "SELECT spent_epsilon FROM dp_budget_periods WHERE role IS NULL AND first_day = '2025-02-01'";
    assert!((value::<f64>(&mut owner, spent) - 90.0).abs() < 1e-6);
    assert_eq!(refused(&mut analyst, february).code, "53400");
    let march = "SELECT count(*) FROM visit WHERE day >= '2025-03-01' AND day < '2025-04-01'";
    run(&mut analyst, march);
    assert_eq!(refused(&mut analyst, march).code, "53400");
}

#[test]
fn what_puts_periods_together_is_refused() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    run(
        &mut owner,
        &format!(
            "CREATE TABLE person (id int PRIMARY KEY, born int); INSERT INTO person SELECT g, g FROM generate_series(1, 50) g; \
             SELECT dp_set_budget('other', 100, 0); SELECT dp_protect('person', 'id', 'other'); \
             SELECT dp_allow('person', '{0}'); \
             CREATE TABLE site (name text PRIMARY KEY, town text); INSERT INTO site VALUES ('s0', 'a'), ('s1', 'b'); \
             GRANT SELECT ON site TO {0}",
            role.name()
        ),
    );
    let mut analyst = role.connect();
    for sql in [
        "SELECT count(*) FROM visit a JOIN visit b USING (patient)",
        "SELECT count(*) FROM visit a JOIN visit b ON a.patient = b.patient AND a.day = b.day",
        "SELECT count(*) FROM visit v JOIN person p ON v.patient = p.id",
        "SELECT avg(n) FROM (SELECT patient, count(*) AS n FROM visit GROUP BY patient) s",
        "SELECT avg(n) FROM (SELECT patient, date_trunc('month', day), count(*) AS n FROM visit GROUP BY 1, 2) s",
        "SELECT count(*) FROM (SELECT patient, row_number() OVER (PARTITION BY patient ORDER BY day) AS i FROM visit) s WHERE i = 1",
        "SELECT count(*) FROM visit v WHERE EXISTS (SELECT FROM visit w WHERE w.patient = v.patient AND w.day > v.day)",
        "SELECT count(*) FROM visit v WHERE cost > (SELECT avg(cost) FROM visit w WHERE w.patient = v.patient)",
        "SELECT count(*) FROM visit v WHERE patient IN (SELECT id FROM person)",
        "SELECT count(*) FROM (SELECT patient FROM visit UNION SELECT patient FROM visit) s",
        "SELECT count(*) FROM (SELECT DISTINCT patient FROM visit) s",
    ] {
        refuses(&mut analyst, sql, "a table by period is asked alone");
    }
    // People, and groups that are chosen by their number, are of one period.
    for sql in [
        "SELECT count(DISTINCT patient) FROM visit",
        "SELECT dp_count_distinct(patient, 0.1) FROM visit",
        "SELECT dp_counts(0.1, 'knorm(d=1, rows=1)', site = 's0') FROM visit",
        "SELECT count(DISTINCT patient) FROM visit WHERE day < '2025-03-01'",
        "SELECT site, count(DISTINCT patient) FROM visit WHERE day < '2025-03-01' GROUP BY site",
        "SELECT date_trunc('year', day), count(DISTINCT patient) FROM visit WHERE day BETWEEN '2025-01-01' AND '2025-02-28' GROUP BY 1",
    ] {
        refuses(&mut analyst, sql, "is about several periods");
        let cost = format!("SELECT * FROM dp_cost($q${sql}$q$)");
        assert_eq!(refused(&mut analyst, &cost).code, "42501", "{sql}");
    }
    let values = "SELECT count(DISTINCT site) FROM visit WHERE day < '2025-02-01'";
    refuses(&mut analyst, values, "of values in a table by period");
    let sql = "SELECT string_agg(n::text, ' ') FROM (SELECT date_trunc('month', day), count(DISTINCT patient) AS n \
               FROM visit WHERE day BETWEEN '2025-01-01' AND '2025-02-28' GROUP BY 1) s";
    assert_eq!(value::<String>(&mut analyst, sql), "50 50");
    // Public tables are joined, and an outer query does what it wants.
    let sql = "SELECT count(*) FROM visit JOIN site ON site = name WHERE town = 'a' AND day < '2025-02-01'";
    assert_eq!(value::<i64>(&mut analyst, sql), 25);
    assert!(!rows(&mut analyst, "SELECT * FROM dp_budget_periods").is_empty());
}

/// The same question has the same answer, and costs nothing; one about other periods is another question. A view asks the
/// same, on the account of who reads it.
#[test]
fn an_answer_is_given_again_for_the_same_periods() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    run(
        &mut owner,
        "SELECT dp_protect('visit', 'patient', 'patients', query_eps => 0.5, period => 'day', every => '1 month', \
         since => '2025-01-01'); SELECT dp_create_view('visit', 'shown')",
    );
    let mut analyst = role.connect();
    let charges = "SELECT coalesce(sum(charges), 0)::bigint FROM dp_budgets WHERE role IS NULL";
    let asks = [
        "SELECT count(*) FROM visit WHERE day >= '2025-02-01' AND day < '2025-03-01'",
        "SELECT count(*) AS n FROM shown v WHERE v.day >= '2025-02-01' AND v.day < '2025-03-01'",
        "SELECT count(*) FROM visit WHERE day BETWEEN '2025-02-01' AND '2025-03-01'",
    ];
    let first: i64 = value(&mut analyst, asks[0]);
    assert_eq!(value::<i64>(&mut owner, charges), 1);
    for _ in 0..3 {
        assert_eq!(value::<i64>(&mut analyst, asks[0]), first);
    }
    let free =
        |sql: &str| format!("SELECT concat_ws(' ', free, periods, unit) FROM dp_cost($q${sql}$q$)");
    assert_eq!(
        value::<String>(&mut analyst, &free(asks[0])),
        "t 1 person-month"
    );
    assert_eq!(
        value::<String>(&mut analyst, &free(asks[2])),
        "f 2 person-month"
    );
    assert_eq!(value::<i64>(&mut analyst, asks[1]), first);
    assert_eq!(
        value::<String>(&mut analyst, &free(asks[1])),
        "t 1 person-month"
    );
    run(&mut analyst, asks[2]);
    // One of the table and of the view, and one of another interval.
    assert_eq!(value::<i64>(&mut owner, charges), 2);
    let policy = "SELECT concat_ws(' ', unit, period, every, since) FROM dp_policies";
    assert_eq!(
        value::<String>(&mut analyst, policy),
        "patient day 1 mon 2025-01-01"
    );
}

/// Tables that grow are partitioned, and may have rows that a role does not see: both as without periods.
#[test]
fn partitions_and_policies_of_rows_are_as_ever() {
    let (database, _client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    run(
        &mut owner,
        &format!(
            "CREATE TABLE stay (patient text NOT NULL, day date, moment timestamptz, site text) PARTITION BY RANGE (day); \
             CREATE TABLE stay_first PARTITION OF stay FOR VALUES FROM ('2025-01-01') TO ('2025-03-01'); \
             CREATE TABLE stay_rest PARTITION OF stay DEFAULT; \
             INSERT INTO stay SELECT 'p' || patient, day, moment, site FROM visit; \
             CREATE INDEX ON stay (day); ANALYZE stay; \
             ALTER TABLE stay ENABLE ROW LEVEL SECURITY; \
             CREATE POLICY half ON stay USING (site = 's0'); \
             SELECT dp_protect('stay', 'patient', 'patients', query_eps => 5, reuse => '0', \
                 period => 'day', every => '1 month', since => '2025-01-01'); \
             SELECT dp_declare('stay', 'site', ARRAY['s0', 's1']); SELECT dp_allow('stay', '{}')",
            role.name()
        ),
    );
    let mut analyst = role.connect();
    let near = |sql: &str, expected: i64, analyst: &mut Client| {
        let answer: i64 = value(analyst, sql);
        assert!(
            (answer - expected).abs() <= 5,
            "{sql}: {answer} instead of {expected}"
        );
    };
    near("SELECT count(*) FROM stay", 150, &mut analyst);
    near(
        "SELECT count(*) FROM stay WHERE day < '2025-03-01'",
        50,
        &mut analyst,
    );
    let sql = "SELECT n FROM (SELECT site, count(*) AS n FROM stay WHERE day < '2025-04-01' GROUP BY site) s \
               WHERE site = 's0'";
    near(sql, 75, &mut analyst);
    near(
        "SELECT count(*) FROM stay WHERE site = 's1' AND day < '2025-04-01'",
        0,
        &mut analyst,
    );
    // A partition is no protected table, and a month of another one is read through the whole alone.
    assert_eq!(
        refused(&mut analyst, "SELECT count(*) FROM stay_first").code,
        "42501"
    );
}

#[test]
fn periods_that_may_be_rolled_back_are_not_charged() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    let sql = VISITS
        .replace("{column}", "day")
        .replace("{every}", "1 month");
    run(&mut client, "BEGIN");
    run(&mut client, &sql.replace("{role}", role.name()));
    run(&mut client, "SAVEPOINT s");
    let question = format!("SET ROLE {}; SELECT count(*) FROM visit", role.name());
    let refusal = refused(&mut client, &question);
    assert_eq!(refusal.code, "55000", "{refusal:?}");
    run(&mut client, "ROLLBACK");
    assert_eq!(
        value::<i64>(&mut client, "SELECT count(*) FROM dp_mean.budget_period"),
        0
    );
}

/// Sessions of two roles ask about months that overlap, in any order: nothing waits for ever, nothing is lost, and nothing
/// passes a limit.
#[test]
fn sessions_charge_the_same_periods_at_once() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    let second = format!("{}_second", database.name());
    run(
        &mut owner,
        &format!(
            "CREATE ROLE {second} LOGIN; SELECT dp_allow('visit', '{second}'); \
             ALTER ROLE {second} SET session_preload_libraries = 'dp_mean'; \
             SELECT dp_set_budget('patients', 200, 0)"
        ),
    );
    let asked: usize = thread::scope(|scope| {
        let sessions: Vec<_> = (0..6)
            .map(|session| {
                let name = if session % 2 == 0 {
                    role.name()
                } else {
                    &second
                };
                let mut client = database.connect_as(name);
                scope.spawn(move || {
                    let mut answered = 0;
                    for i in 0..12 {
                        let first = 1 + (i * (session + 1)) % 6;
                        let last = (first + 1 + (i + session) % 7).min(12);
                        let sql = format!(
                            "SELECT count(*) FROM visit \
                             WHERE day >= '2025-{first:02}-01' AND day < '2025-{last:02}-01'"
                        );
                        match client.batch_execute(&sql) {
                            Ok(()) => answered += 1,
                            Err(error) => {
                                let full = refusal(&error, &sql);
                                assert_eq!(full.code, "53400", "{full:?}");
                            }
                        }
                    }
                    answered
                })
            })
            .collect();
        let answers = sessions
            .into_iter()
            .map(|session| session.join().expect("a session"));
        answers.sum()
    });
    let charges: i64 = value(
        &mut owner,
        "SELECT count(*) FROM dp_ledger WHERE NOT refused",
    );
    assert_eq!(charges, asked as i64);
    // The lines have what the audit has, in each month: 10 charges of 20 fit.
    let differs = "WITH audit AS (
            SELECT l.role, (l.first_day + make_interval(months => i::int))::date AS first_day, count(*) AS n
            FROM dp_ledger l, generate_series(0, l.periods - 1) i WHERE NOT l.refused GROUP BY 1, 2),
        sums AS (SELECT * FROM audit UNION ALL SELECT NULL, first_day, sum(n)::bigint FROM audit GROUP BY first_day)
        SELECT count(*) FROM sums FULL JOIN dp_budget_periods p
            ON p.first_day = sums.first_day AND coalesce(p.role, 0) = coalesce(sums.role, 0)
        WHERE sums.n IS DISTINCT FROM nullif(p.charges, 0) OR p.spent_epsilon > 200
            OR abs(p.spent_epsilon - 20 * coalesce(sums.n, 0)) > 1e-6";
    assert_eq!(value::<i64>(&mut owner, differs), 0);
    let full = "SELECT count(*) FROM dp_budget_periods WHERE role IS NULL AND charges = 10";
    assert!(
        value::<i64>(&mut owner, full) > 0,
        "no month was spent to its end"
    );
    let tally = "SELECT charges = (SELECT sum(charges) FROM dp_mean.period_spent WHERE role::oid = 0) \
                 FROM dp_mean.budget_period";
    assert!(value::<bool>(&mut owner, tally));
    drop_roles(&mut client, &second).expect("the role can go");
}

/// Rows of the ledger that a restore has lost, or brought twice, are noticed; the owner says what was spent.
#[test]
fn lines_that_are_lost_are_noticed() {
    const FEBRUARY: &str = "first_day = '2025-02-01'";
    let lost = |what: &str| format!("DELETE FROM dp_mean.period_spent WHERE {FEBRUARY} AND {what}");
    let twice = |table: &str| format!("INSERT INTO dp_mean.{table} SELECT * FROM dp_mean.{table}");
    // Each with what the owner says was spent of what is unknown.
    for (damage, message, said) in [
        (lost("role::oid = 0"), "spending of budget", 0),
        (lost("role::oid <> 0"), "spending of budget", 0),
        (lost("true"), "spending of budget", 20),
        (twice("period_spent"), "spending of budget", 0),
        (twice("budget_period"), "periods of budget", 0),
        (
            "DELETE FROM dp_mean.budget_period".to_owned(),
            "periods of budget",
            0,
        ),
    ] {
        let (database, _client) = session(Build::Release);
        let role = Role::new(&database);
        let mut owner = by(&database, "day", "1 month", &role);
        let mut analyst = role.connect();
        let ask = "SELECT count(*) FROM visit WHERE day >= '2025-02-01' AND day < '2025-04-01'";
        run(&mut analyst, ask);
        run(&mut owner, "SET session_replication_role = replica");
        run(&mut owner, &damage);
        run(&mut owner, "RESET session_replication_role");
        let refusal = refused(&mut analyst, ask);
        assert_eq!(refusal.code, "55000", "{damage}");
        assert!(refusal.message.contains(message), "{damage}: {refusal:?}");
        run(
            &mut owner,
            &format!("SELECT dp_restore_budget('patients', {said}, 0)"),
        );
        if damage.contains("DELETE FROM dp_mean.budget_period") {
            // What was spent of any period counts in all of them now.
            assert_eq!(refused(&mut analyst, ask).code, "55000");
            run(
                &mut owner,
                "SELECT dp_protect('visit', 'patient', 'patients', query_eps => 20, reuse => '0', \
                 period => 'day', every => '1 month', since => '2025-01-01')",
            );
        }
        run(&mut analyst, ask);
        let spent = "SELECT spent_epsilon FROM dp_budget_periods WHERE role IS NULL AND first_day = '2025-02-01'";
        let spent: f64 = value(&mut owner, spent);
        assert!((spent - 40.0).abs() < 1e-6, "{damage}: {spent}");
    }
}

/// A session that knows where its lines are, and how a budget is cut, hears of what others load, change and move.
#[test]
fn what_others_load_of_periods_is_seen_by_the_next_charge() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    run(&mut owner, "SELECT dp_set_budget('patients', 4000, 0)");
    let mut analyst = role.connect();
    let ask = "SELECT count(*) FROM visit WHERE day >= '2025-02-01' AND day < '2025-04-01'";
    let damages = [
        "INSERT INTO dp_mean.period_spent SELECT * FROM dp_mean.period_spent WHERE role::oid = 0",
        "INSERT INTO dp_mean.budget_period SELECT * FROM dp_mean.budget_period",
        "DELETE FROM dp_mean.period_spent WHERE role::oid <> 0",
        "UPDATE dp_mean.period_spent SET first_day = first_day + 1",
        "UPDATE dp_mean.budget_period SET since = '2024-01-01'",
        "DELETE FROM dp_mean.budget_period",
    ];
    run(&mut analyst, ask);
    for damage in damages {
        run(&mut analyst, ask);
        for table in ["period_spent", "budget_period"] {
            run(
                &mut client,
                &format!("CREATE TABLE kept_{table} AS SELECT * FROM dp_mean.{table}"),
            );
        }
        run(&mut client, "SET session_replication_role = replica");
        run(&mut client, damage);
        assert_eq!(refused(&mut analyst, ask).code, "55000", "{damage}");
        // As it was.
        for table in ["period_spent", "budget_period"] {
            run(
                &mut client,
                &format!(
                    "DELETE FROM dp_mean.{table}; INSERT INTO dp_mean.{table} SELECT * FROM kept_{table}; \
                     DROP TABLE kept_{table}"
                ),
            );
        }
        run(&mut client, "RESET session_replication_role");
        run(&mut analyst, ask);
        assert_eq!(findings(&mut client), Vec::<String>::new(), "{damage}");
    }
    // Tables that are put into other files have the same lines.
    run(&mut client, "VACUUM FULL dp_mean.period_spent");
    run(&mut analyst, ask);
    run(&mut client, "VACUUM FULL dp_mean.budget_period");
    run(&mut analyst, ask);
    // Where a trigger does not fire whatever a session sets, every charge looks, and it is said.
    for table in ["period_spent", "budget_period"] {
        let off = format!("ALTER TABLE dp_mean.{table} ENABLE TRIGGER tell");
        run(&mut client, &off);
        run(&mut analyst, ask);
        let found = findings(&mut client);
        let expected = format!("table - -: trigger tell of dp_mean.{table} does not fire always");
        assert!(
            found.iter().any(|found| found.starts_with(&expected)),
            "{found:#?}"
        );
        run(
            &mut client,
            &format!(
                "SET session_replication_role = replica; \
                 INSERT INTO dp_mean.{table} SELECT * FROM dp_mean.{table}"
            ),
        );
        assert_eq!(refused(&mut analyst, ask).code, "55000", "{table}");
        run(
            &mut client,
            &format!(
                "DELETE FROM dp_mean.{table} a USING dp_mean.{table} b WHERE a.ctid > b.ctid AND a = b; \
                 RESET session_replication_role; ALTER TABLE dp_mean.{table} ENABLE ALWAYS TRIGGER tell"
            ),
        );
        run(&mut analyst, ask);
    }
    assert_eq!(findings(&mut client), Vec::<String>::new());
}

/// A session that has charged a budget which was not cut hears that it is, and of lines that a restore brings.
#[test]
fn a_session_hears_that_a_budget_was_cut() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    let mut owner = by(&database, "day", "1 month", &role);
    run(
        &mut role.connect(),
        "SELECT count(*) FROM visit WHERE day < '2025-02-01'",
    );
    run(&mut owner, "SELECT dp_set_budget('others', 100, 0)");
    let charge = "SELECT dp_charge('others', 1, 0)";
    let load = "INSERT INTO dp_mean.period_spent SELECT (SELECT id FROM dp_mean.budget WHERE name = 'others'), \
                epsilon, rho, delta, charges, role, first_day FROM dp_mean.period_spent";
    run(&mut owner, charge);
    run(&mut owner, charge);
    run(&mut client, load);
    assert_eq!(refused(&mut owner, charge).code, "55000");
    run(
        &mut client,
        "SET session_replication_role = replica; \
         DELETE FROM dp_mean.period_spent USING dp_mean.budget WHERE name = 'others' AND id = budget; \
         RESET session_replication_role",
    );
    run(&mut owner, charge);
    run(&mut owner, charge);
    // Not by what is rolled back, in a session that hears of its own changes too.
    let protect = "SELECT dp_protect('visit', 'patient', 'others', period => 'day', every => '1 month', \
                   since => '2025-01-01')";
    run(&mut owner, "BEGIN");
    run(&mut owner, protect);
    run(&mut owner, "ROLLBACK");
    run(&mut owner, charge);
    run(&mut client, protect);
    let refusal = refused(&mut owner, charge);
    assert_eq!(refusal.code, "55000");
    assert!(
        refusal.message.contains("a limit for each period"),
        "{refusal:?}"
    );
}

/// A budget with two charges of a role, each of January and February 2025.
fn charged_twice(database: &Database) -> Role<'_> {
    let role = Role::new(database);
    by(database, "day", "1 month", &role);
    let mut analyst = role.connect();
    for _ in 0..2 {
        run(
            &mut analyst,
            "SELECT count(*) FROM visit WHERE day < '2025-03-01'",
        );
    }
    role
}

/// That `dp_ledger_check` has one finding for each damage, with these words, or several where `is_only` is false; and
/// none once it is rolled back.
fn finds(client: &mut Client, damage: &str, expected: &str, is_only: bool) {
    run(
        client,
        &format!("BEGIN; SET LOCAL session_replication_role = replica; {damage}"),
    );
    let found = findings(client);
    assert!(
        found.iter().any(|found| found.contains(expected)),
        "{damage}: {found:#?}"
    );
    assert!(!is_only || found.len() == 1, "{damage}: {found:#?}");
    run(client, "ROLLBACK");
    assert_eq!(findings(client), Vec::<String>::new(), "{damage}");
}

/// What periods paid is looked after with the rest of the ledger, and its rows go as others do.
#[test]
fn the_lines_of_periods_are_checked() {
    let (database, mut client) = session(Build::Testing);
    let _role = charged_twice(&database);
    assert_eq!(findings(&mut client), Vec::<String>::new());
    let sql =
        "SELECT string_agg(periods || ' ' || first_day, ', ') FROM dp_ledger_archive('infinity')";
    assert_eq!(
        value::<String>(&mut client, sql),
        "2 2025-01-01, 2 2025-01-01"
    );
    assert_eq!(findings(&mut client), Vec::<String>::new());
    // A budget that is cut has no end of its own.
    let ends = "SELECT count(ends_on) FROM dp_budgets";
    assert_eq!(value::<i64>(&mut client, ends), 0);
    for damage in [
        "DELETE FROM dp_mean.period_spent WHERE role::oid <> 0 AND first_day = '2025-01-01'",
        "DELETE FROM dp_mean.period_spent WHERE first_day = '2025-01-01'",
        "INSERT INTO dp_mean.period_spent SELECT * FROM dp_mean.period_spent",
        "INSERT INTO dp_mean.budget_period SELECT * FROM dp_mean.budget_period",
        "DELETE FROM dp_mean.budget_period",
    ] {
        let expected = "periods patients -: the lines of its periods are not all there, once each";
        finds(&mut client, damage, expected, true);
    }
}

#[test]
fn lines_that_begin_no_period_are_found() {
    let (database, mut client) = session(Build::Testing);
    let _role = charged_twice(&database);
    for (day, is_first) in [
        ("2025-01-02", false),
        ("2025-02-28", false),
        // A month, but none of the budget's.
        ("2024-12-01", false),
        ("infinity", false),
        ("-infinity", false),
        ("2025-07-01", true),
    ] {
        let damage = format!(
            "UPDATE dp_mean.period_spent SET first_day = '{day}' WHERE first_day = '2025-01-01'"
        );
        if is_first {
            run(
                &mut client,
                &format!("BEGIN; SET LOCAL session_replication_role = replica; {damage}"),
            );
            assert_eq!(findings(&mut client), Vec::<String>::new(), "{day}");
            run(&mut client, "ROLLBACK");
            continue;
        }
        let expected = format!(
            "periods patients -: 2 lines begin none of its periods, every 1 month since 2025-01-01, such as that from {day}"
        );
        finds(&mut client, &damage, &expected, true);
    }
    for change in [
        "months = -1",
        "days = 1",
        "months = 0",
        "since = 'infinity'",
    ] {
        finds(
            &mut client,
            &format!("UPDATE dp_mean.budget_period SET {change}"),
            "periods patients -: its row of dp_mean.budget_period is none that cuts it",
            true,
        );
    }
}

#[test]
fn roles_that_have_spent_more_of_a_period_than_all_together_are_found() {
    let (database, mut client) = session(Build::Testing);
    let _role = charged_twice(&database);
    for more in ["epsilon", "rho", "delta", "charges"] {
        let damage = format!(
            "UPDATE dp_mean.period_spent SET {more} = {more} + 1 \
             WHERE role::oid <> 0 AND first_day = '2025-02-01'"
        );
        let expected = "periods patients -: in the period from 2025-02-01, the lines of roles: ";
        finds(&mut client, &damage, expected, true);
    }
    let damage = "INSERT INTO dp_mean.period_spent SELECT budget, epsilon, rho, delta, charges, 10, first_day \
                  FROM dp_mean.period_spent WHERE role::oid = 0";
    let expected = "periods patients -: in the period from 2025-01-01, the lines of roles: 4 charges, epsilon 80,";
    finds(&mut client, damage, expected, true);
}

#[test]
fn numbers_that_cannot_be_are_found() {
    let (database, mut client) = session(Build::Testing);
    let role = charged_twice(&database);
    run(
        &mut client,
        "CREATE TABLE old AS SELECT * FROM dp_ledger_archive('infinity')",
    );
    run(
        &mut client,
        &format!("SELECT dp_set_budget('patients', 60, 0, '{}')", role.name()),
    );
    run(
        &mut role.connect(),
        "SELECT count(*) FROM visit WHERE day < '2025-03-01'",
    );
    for (table, columns) in [
        ("period_spent", "epsilon rho delta charges"),
        ("budget_period", "charges"),
        ("charge", "epsilon rho delta periods"),
        ("archived", "number epsilon rho delta charges rows"),
        ("history", "number epsilon rho delta"),
        ("budget_limit", "number epsilon_units rho_units delta_units"),
    ] {
        for column in columns.split(' ') {
            let damage = format!("UPDATE dp_mean.{table} SET {column} = -1");
            let expected = format!("dp_mean.{table} has ");
            finds(&mut client, &damage, &expected, false);
        }
    }
    for change in [
        "epsilon = 'NaN'",
        "epsilon = 'infinity'",
        "epsilon = 4097",
        "epsilon = 0",
        "epsilon = -1",
        "delta = 'NaN'",
        "delta = 'infinity'",
        "delta = 1",
        "delta = -1",
        "failures = 'NaN'",
        "failures = 2",
        "epsilon_units = epsilon_units + 1",
        "delta_units = 1",
        "rho_units = 1",
    ] {
        for (of, who) in [("role::oid = 0", "-"), ("role::oid <> 0", role.name())] {
            finds(
                &mut client,
                &format!("UPDATE dp_mean.budget_limit SET {change} WHERE {of}"),
                &format!(
                    "number patients {who}: dp_mean.budget_limit has 1 rows with a number that no call writes"
                ),
                true,
            );
        }
    }
    // More than any limit ever was: that of all together is 100.
    for epsilon in ["(101 * 2::numeric ^ 50)::bigint", "9223372036854775807"] {
        finds(
            &mut client,
            &format!("UPDATE dp_mean.period_spent SET epsilon = {epsilon}, rho = 1"),
            "number patients -: 2 periods have spent more than any limit of the budget allowed, such as that from 2025-01-01",
            true,
        );
    }
    finds(
        &mut client,
        "UPDATE dp_mean.period_spent SET delta = 1 WHERE first_day = '2025-02-01'",
        "number patients -: 1 periods have spent more than any limit of the budget allowed, such as that from 2025-02-01",
        true,
    );
    // A limit that was higher once has let it through.
    run(&mut client, "SELECT dp_set_budget('patients', 10, 0)");
    assert_eq!(findings(&mut client), Vec::<String>::new());
}
