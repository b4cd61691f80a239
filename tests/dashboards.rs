//! A month of a dashboard: the figures of docs/dashboards.md. The clock by which answers expire is moved.

use dp_mean_tests::{Build, Database, drop_roles, run, value};

/// What a dashboard of the tools' kind asks at each refresh: eight charts, and two lists of values for filters.
const CHARTS: [&str; 10] = [
    "SELECT count(*) FROM visits",
    "SELECT region, count(*) FROM visits GROUP BY region ORDER BY 2 DESC LIMIT 10",
    "SELECT date_trunc('month', day) AS month, avg(cost) FROM visits GROUP BY 1 ORDER BY 1",
    "SELECT sum(cost) FROM visits WHERE day >= DATE '2025-06-01'",
    "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS who, count(*) FROM visits GROUP BY 1",
    "SELECT region, avg(cost) AS cost FROM (SELECT * FROM visits WHERE age > 30) AS virtual_table GROUP BY region",
    "SELECT stddev(cost) FROM visits",
    "SELECT count(DISTINCT patient) FROM visits WHERE age > 65",
    "SELECT DISTINCT region FROM visits",
    "SELECT age / 10 * 10 AS decade FROM visits GROUP BY 1 ORDER BY 1",
];

/// The charges of some days on which the dashboard is refreshed each hour, by two roles in turns.
fn charges(reuse: &str, days: i64) -> i64 {
    let database = Database::new(Build::Testing);
    let mut root = database.connect();
    let roles = ["one", "two"].map(|role| format!("{}_{role}", database.name()));
    let [one, two] = &roles;
    run(
        &mut root,
        &format!(
            "CREATE ROLE {one} LOGIN; CREATE ROLE {two} LOGIN;
             ALTER ROLE {one} SET dp_mean.reuse = on; ALTER ROLE {two} SET dp_mean.reuse = on;
             CREATE TABLE visits (patient int NOT NULL, region text, cost float8 NOT NULL, age int NOT NULL, day date);
             INSERT INTO visits SELECT g % 300, 'r' || g % 4, g % 100, g % 90, date '2025-01-01' + g % 300
                 FROM generate_series(1, 600) g;
             SELECT dp_set_budget('patients', 4096, 1e-3);
             SELECT dp_protect('visits', 'patient', 'patients', reuse => '{reuse}');
             SELECT dp_declare('visits', 'cost', 0, 100);
             SELECT dp_allow('visits', '{one}'), dp_allow('visits', '{two}');
             GRANT SET ON PARAMETER dp_mean.test_clock_ahead TO {one}, {two}"
        ),
    );
    let mut sessions = roles.each_ref().map(|role| database.connect_as(role));
    for hour in 0..24 * days {
        let session = &mut sessions[usize::try_from(hour % 2).expect("0 or 1")];
        let clock = format!("SET dp_mean.test_clock_ahead = {}", hour * 3600);
        run(session, &clock);
        for chart in CHARTS {
            let answered = session.simple_query(chart);
            assert!(answered.is_ok(), "{answered:?}: {chart}");
        }
    }
    let charges = value(
        &mut root,
        "SELECT charges FROM dp_budgets WHERE role IS NULL",
    );
    drop(sessions);
    let revoke = format!("REVOKE SET ON PARAMETER dp_mean.test_clock_ahead FROM {one}, {two}");
    run(&mut root, &revoke);
    drop_roles(&mut root, &roles.join(", ")).expect("the roles can go");
    charges
}

#[test]
fn a_dashboard_is_charged_once_a_day() {
    let questions = CHARTS.len() as i64;
    assert_eq!(charges("1 day", 30), 30 * questions);
    assert_eq!(charges("7 days", 30), 5 * questions);
    assert_eq!(charges("0", 1), 24 * questions);
}
