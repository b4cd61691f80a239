//! Budgets in Gaussian terms: what answers, what it costs, and which groups are shown.

use std::fmt::Write;

use dp_core::privacy::spending::{Accounting, HALF, Limit};
use dp_mean_tests::{Database, refused, run, value};
use postgres::Client;

use super::asking::Asking;
use super::{Table, table};

/// The promise.
const BUDGET: (f64, f64) = (3.0, 1e-6);

/// The variance of a count at the usual price of 0.1, of that promise.
const VARIANCE: f64 = 75.6;

struct World {
    root: Client,
    analyst: Client,
    _database: Database,
}

impl World {
    /// A table of people, and one of their visits: up to 3 in each of 2 months.
    fn new(policy: &str) -> Self {
        let made = format!(
                "CREATE TABLE people (id int PRIMARY KEY, listed int NOT NULL, size int NOT NULL, pay float8 NOT NULL);
                 INSERT INTO people SELECT g, g % 4000, 10 * (g % 40), g % 100 FROM generate_series(1, 8000) g;
                 CREATE TABLE visits (id int NOT NULL, month int NOT NULL, cost float8 NOT NULL);
                 INSERT INTO visits SELECT g, m, g % 100 FROM generate_series(1, 2000) g, generate_series(1, 2) m,
                     generate_series(1, 3);
                 SELECT dp_set_budget('all', {}, {});
                 SELECT dp_protect('people', 'id', 'all'{policy}),
                     dp_protect('visits', 'id', 'all', groups => 2, rows => 3{policy});
                 SELECT dp_declare('people', 'listed', ARRAY(SELECT generate_series(0, 3999)::text)),
                     dp_declare('people', 'pay', 0, 100), dp_declare('visits', 'cost', 0, 100);
                 SELECT dp_allow('people', '{{analyst}}'), dp_allow('visits', '{{analyst}}')",
                BUDGET.0, BUDGET.1
            );
        let Asking {
            root,
            analyst,
            database,
            ..
        } = Asking::new(&made, 7);
        Self {
            root,
            analyst,
            _database: database,
        }
    }

    /// What a query would cost: in shares of epsilon, its delta, and by which mechanisms.
    fn cost(&mut self, sql: &str) -> (f64, f64, String) {
        let sql = format!("SELECT price, delta, mechanisms FROM dp_cost($${sql}$$)");
        let row = self.analyst.query_one(&sql, &[]).expect("a cost");
        let price: f64 = row.get(0);
        ((price * 1e6).round() / 1e6, row.get(1), row.get(2))
    }

    fn ask(&mut self, sql: &str) -> Table {
        table(&mut self.analyst, sql)
    }
}

#[test]
fn prices_are_shares_and_add_up() {
    let mut world = World::new("");
    for (sql, answers, mechanism) in [
        (
            "SELECT count(*) FROM people",
            1,
            "dp_count: gaussian(groups=1, mu=0.11",
        ),
        (
            "SELECT avg(pay), count(*), sum(pay) FROM people",
            1,
            "dp_mean_and_count: gaussian(",
        ),
        ("SELECT sum(pay) FROM people", 1, "dp_sum: gaussian("),
        (
            "SELECT stddev(pay) FROM people",
            1,
            "dp_stddev_pop: gaussian(",
        ),
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY pay) FROM people",
            1,
            "dp_quantile: em(groups=1, rho=0.00",
        ),
        (
            "SELECT corr(pay, size) FROM (SELECT pay, least(greatest(size, 0), 400) AS size FROM people) s",
            1,
            "dp_corr: gaussian(",
        ),
        (
            "SELECT listed, count(*) FROM people GROUP BY listed",
            1,
            "dp_count: gaussian(",
        ),
        // Groups that are listed are not chosen, so their people need not be counted.
        (
            "SELECT listed, avg(pay) FILTER (WHERE size > 99), count(*) FILTER (WHERE size > 99) FROM people GROUP BY listed",
            1,
            "dp_mean_and_count: gaussian(",
        ),
        (
            "SELECT month, count(*), avg(cost) FROM visits GROUP BY month",
            2,
            "dp_mean_and_count: gaussian(groups=2",
        ),
        (
            "SELECT count(DISTINCT id), variance(cost) FROM visits",
            2,
            "dp_count: gaussian(groups=1, mu=0.11",
        ),
    ] {
        let (price, _, mechanisms) = world.cost(sql);
        assert!(
            (price - 0.1 * f64::from(answers)).abs() < 1e-6,
            "{sql}: {price} {mechanisms}"
        );
        assert!(mechanisms.contains(mechanism), "{sql}: {mechanisms}");
    }
    let chosen = "SELECT size, avg(pay) FILTER (WHERE id > 99), count(*) FILTER (WHERE id > 99) FROM people GROUP BY size";
    assert!(world.cost(chosen).0 > 0.15);
    // All of the budget is 30 answers, and no more.
    for _ in 0..30 {
        world.ask("SELECT count(*) FROM people");
    }
    let refusal = refused(&mut world.analyst, "SELECT count(*) FROM people");
    assert_eq!(refusal.code, "53400", "{refusal:?}");
    assert!(
        refusal
            .message
            .contains("has a price of 0 left of 3, and this takes 0.1"),
        "{refusal:?}"
    );
    let row = "SELECT accounting || ' ' || round(spent_share::numeric, 6) || ' ' || questions_left FROM dp_budgets \
               WHERE role IS NULL";
    assert_eq!(value::<String>(&mut world.root, row), "gaussian 1.000000 0");
    let total: f64 = value(
        &mut world.root,
        "SELECT total_epsilon FROM dp_budgets WHERE role IS NULL",
    );
    assert!(total <= 3.0 && total > 2.999_999, "{total}");
}

/// One question has a number for each of 4000 groups: the noise is seen in it.
#[test]
fn noise_has_the_variance_of_its_price() {
    let mut world = World::new("");
    let spread =
        "SELECT var_samp(n) FROM (SELECT listed, count(*) AS n FROM people GROUP BY listed) s";
    let variance: f64 = world.ask(spread)[0][0]
        .as_deref()
        .expect("a number")
        .parse()
        .expect("a number");
    // The variance of 4000 normal numbers is within this of the truth, but for once in a million.
    let reach = 4.9 * (2.0 / 4000.0f64).sqrt();
    assert!((variance / VARIANCE - 1.0).abs() < reach, "{variance}");
    let limit = Limit::new(BUDGET.0, BUDGET.1, Accounting::Gaussian, HALF).expect("a limit");
    let mu = limit.mu_at(0.1).expect("a mu");
    assert!((1.0 / mu / mu / VARIANCE - 1.0).abs() < 1e-3);
    // Half of the price is twice the variance.
    run(&mut world.analyst, "SET dp_mean.epsilon = 0.05");
    let variance: f64 = world.ask(spread)[0][0]
        .as_deref()
        .expect("a number")
        .parse()
        .expect("a number");
    assert!(
        (variance / 2.0 / VARIANCE - 1.0).abs() < reach,
        "{variance}"
    );
}

#[test]
fn groups_are_chosen_by_the_number_that_is_shown() {
    let mut world = World::new("");
    // Of a person in one group: 1 + 1/2 + the noise that is exceeded once in 1e9.
    let above = 1.5 + 5.998 * VARIANCE.sqrt();
    let sql = "SELECT size, count(*) FROM people GROUP BY size";
    let (price, delta, mechanisms) = world.cost(sql);
    assert!(
        price == 0.1 && (delta / 1e-9 - 1.0).abs() < 1e-6,
        "{delta} {mechanisms}"
    );
    assert!(
        mechanisms.contains(&format!("groups: above {above:.1}")),
        "{mechanisms} {above}"
    );
    // 40 groups of 200 people: all are shown. One of a person alone is not.
    run(
        &mut world.root,
        "INSERT INTO people VALUES (8001, 0, 17, 0)",
    );
    let shown = world.ask(sql);
    assert_eq!(shown.len(), 40, "{shown:?}");
    // The number that decides is that of the answer: nothing below the threshold is shown.
    let sql = "SELECT pay, count(*) FROM people WHERE id <= 5300 GROUP BY pay";
    let shown = world.ask(sql);
    assert!(!shown.is_empty() && shown.len() < 100, "{}", shown.len());
    for row in &shown {
        let number: f64 = row[1]
            .as_deref()
            .expect("a number")
            .parse()
            .expect("a number");
        assert!(number > above - 1.0, "{row:?}");
    }
    // A mean, or a number of visits, chooses by a number of people beside it; that of visits pays for it.
    assert_eq!(
        world
            .cost("SELECT size, avg(pay) FROM people GROUP BY size")
            .0,
        0.1
    );
    assert_eq!(
        world
            .cost("SELECT month, count(*) FROM visits GROUP BY month")
            .0,
        0.2
    );
    assert_eq!(
        world
            .cost("SELECT month, count(DISTINCT id) FROM visits GROUP BY month")
            .0,
        0.1
    );
    assert_eq!(world.cost("SELECT DISTINCT month FROM visits").0, 0.1);
    let months = world.ask("SELECT month, count(*) FROM visits GROUP BY month ORDER BY month");
    assert_eq!(months.len(), 2);
    let sets = world
        .ask("SELECT size, pay, count(*) FROM people GROUP BY GROUPING SETS ((size), (pay), ())");
    assert!(sets.len() > 100, "{}", sets.len());
}

#[test]
fn small_groups_are_left_out_where_the_owner_says_so() {
    let mut world = World::new(", min_people => 100");
    let least = |shown: &Table| {
        let numbers = shown.iter().map(|row| {
            row[1]
                .as_deref()
                .expect("a number")
                .parse::<f64>()
                .expect("a number")
        });
        numbers.fold(f64::INFINITY, f64::min)
    };
    let sql = "SELECT pay, count(*) FROM people GROUP BY pay";
    let shown = world.ask(sql);
    assert!(
        shown.len() < 50 && (shown.is_empty() || least(&shown) >= 100.0),
        "{shown:?}"
    );
    // Of declared values, too, and of those that follow from the query.
    let shown = world.ask("SELECT listed, count(*) FROM people GROUP BY listed");
    assert_eq!(shown.len(), 0);
    let shown = world.ask("SELECT id <= 150, count(*), avg(pay) FROM people GROUP BY 1");
    assert!(!shown.is_empty() && least(&shown) >= 100.0, "{shown:?}");
    // The total is no group.
    assert_eq!(
        world.ask("SELECT count(*) FROM people WHERE id = 3").len(),
        1
    );
    let policy = "SELECT min_people FROM dp_policies WHERE relation = 'people'::regclass";
    assert_eq!(value::<i32>(&mut world.root, policy), 100);
    for bad in ["0", "-1", "1000001"] {
        let sql = format!("SELECT dp_protect('people', 'id', 'all', min_people => {bad})");
        let refusal = refused(&mut world.root, &sql);
        assert!(refusal.message.contains("min_people"), "{refusal:?}");
    }
}

/// A budget that adds up rhos, or has no delta, or keeps all of it for failures, answers with pure noise.
#[test]
fn other_budgets_answer_with_pure_noise() {
    let mut world = World::new("");
    let name: String = value(&mut world.analyst, "SELECT current_user::text");
    let mut made = String::new();
    for (i, terms) in [
        "3, 1e-6, accounting => 'zcdp'",
        "3, 0",
        "3, 1e-6, failures => 1",
    ]
    .iter()
    .enumerate()
    {
        write!(
            made,
            "SELECT dp_set_budget('b{i}', {terms}); CREATE TABLE t{i} (id int PRIMARY KEY, x float8 NOT NULL, k int);
             SELECT dp_protect('t{i}', 'id', 'b{i}'), dp_declare('t{i}', 'x', 0, 1), dp_allow('t{i}', '{name}');"
        )
        .expect("a text");
    }
    run(&mut world.root, &made);
    for i in 0..3 {
        let (price, _, mechanisms) = world.cost(&format!("SELECT count(*) FROM t{i}"));
        assert!(
            mechanisms.starts_with("dp_count: geometric("),
            "{i}: {mechanisms}"
        );
        assert!((price - 0.1).abs() < 1e-6, "{i}: {price}");
    }
    let (.., mechanisms) = world.cost("SELECT k, count(*) FROM t0 GROUP BY k");
    assert!(mechanisms.contains("dp_keep"), "{mechanisms}");
    // A role whose own limit has no delta: the budget has one, and it is not for them.
    let own = format!("SELECT dp_set_budget('all', 1, 0, '{name}')");
    run(&mut world.root, &own);
    let (.., mechanisms) = world.cost("SELECT count(*) FROM people");
    assert!(
        mechanisms.starts_with("dp_count: geometric("),
        "{mechanisms}"
    );
    for _ in 0..10 {
        world.ask("SELECT count(*) FROM people");
    }
    let refusal = refused(&mut world.analyst, "SELECT count(*) FROM people");
    assert_eq!(refusal.code, "53400", "{refusal:?}");
    // With a delta it is a share of their own limit, where that is less: 10 answers at 0.1 are all of 1.
    run(&mut world.root, "CREATE TABLE u (id int PRIMARY KEY)");
    let own = format!(
        "SELECT dp_set_budget('shared', 3, 1e-6), dp_set_budget('shared', 1, 1e-6, '{name}');
         SELECT dp_protect('u', 'id', 'shared'), dp_allow('u', '{name}')"
    );
    run(&mut world.root, &own);
    let (price, _, mechanisms) = world.cost("SELECT count(*) FROM u");
    assert!(mechanisms.contains("mu=0.0724"), "{mechanisms}");
    assert_eq!(price, 0.1);
    let left = "SELECT questions_left FROM dp_budgets WHERE budget = 'shared' AND role = current_user::regrole";
    for asked in 0..10 {
        world.ask("SELECT count(*) FROM u");
        assert_eq!(value::<i64>(&mut world.analyst, left), 9 - asked);
    }
    let refusal = refused(&mut world.analyst, "SELECT count(*) FROM u");
    assert!(
        refusal.message.contains("role ") && refusal.message.contains("left of 1,"),
        "{refusal:?}"
    );
    // A rest of delta is for the noise: with all of it there is less, and no choice of groups.
    run(
        &mut world.root,
        "SELECT dp_set_budget('b3', 3, 1e-6, failures => 0); CREATE TABLE t3 (id int PRIMARY KEY, k int)",
    );
    let allow = format!("SELECT dp_protect('t3', 'id', 'b3'), dp_allow('t3', '{name}')");
    run(&mut world.root, &allow);
    let (.., mechanisms) = world.cost("SELECT count(*) FROM t3");
    assert!(mechanisms.contains("mu=0.118"), "{mechanisms}");
    let refusal = refused(&mut world.analyst, "SELECT k, count(*) FROM t3 GROUP BY k");
    assert!(
        refusal.message.contains("needs a budget with delta > 0"),
        "{refusal:?}"
    );
}

#[test]
fn a_budget_keeps_the_terms_of_its_first_limit() {
    let mut world = World::new("");
    for (sql, code, message) in [
        (
            "dp_set_budget('all', 4, 1e-6, accounting => 'zcdp')",
            "55000",
            "cannot be changed",
        ),
        (
            "dp_set_budget('all', 4, 1e-6, failures => 0.25)",
            "55000",
            "cannot be changed",
        ),
        (
            "dp_set_budget('all', 1, 1e-6, 'postgres', 'zcdp')",
            "55000",
            "cannot be changed",
        ),
        (
            "dp_set_budget('new', 4, 1e-6, accounting => 'gdp')",
            "22023",
            "argument \"accounting\" must be gaussian or zcdp",
        ),
        (
            "dp_set_budget('new', 4, 1e-6, failures => 2)",
            "22023",
            "argument \"failures\" must be a number from 0 to 1",
        ),
        (
            "dp_set_budget('new', 4, 1e-6, failures => 'NaN')",
            "22023",
            "argument \"failures\" must be a number from 0 to 1",
        ),
        ("dp_set_budget('new', 4, 1e-6, NULL)", "42704", "role"),
    ] {
        let refusal = refused(&mut world.root, &format!("SELECT {sql}"));
        assert_eq!(refusal.code, code, "{sql}: {refusal:?}");
        assert!(refusal.message.contains(message), "{sql}: {refusal:?}");
    }
    run(
        &mut world.root,
        "SELECT dp_set_budget('all', 4, 1e-6), dp_set_budget('all', 4, 1e-6, accounting => 'gaussian', failures => 0.5)",
    );
    // The attack: pure charges are cheap by their rhos, and the limit is high in Gaussian terms.
    let charges = |client: &mut Client| -> i64 {
        let mut charged = 0;
        while client
            .simple_query("SELECT dp_charge('mixed', 0.1, 0)")
            .is_ok()
        {
            charged += 1;
        }
        charged
    };
    run(
        &mut world.root,
        "SELECT dp_set_budget('mixed', 3, 1e-6, accounting => 'zcdp')",
    );
    assert_eq!(charges(&mut world.root), 35);
    let change = "SELECT dp_set_budget('mixed', 3, 1e-6, accounting => 'gaussian')";
    assert_eq!(refused(&mut world.root, change).code, "55000");
    run(
        &mut world.root,
        "SELECT dp_test_defence('ledger_terms', false)",
    );
    run(&mut world.root, change);
    assert!(
        charges(&mut world.root) > 0,
        "no more is paid without the defence"
    );
}

/// Aggregates by name have a price of their own, or a mechanism with its own budget.
#[test]
fn mechanisms_may_have_their_own_budget() {
    let mut world = World::new("");
    for (sql, price) in [
        (
            "SELECT dp_count(1, NULL, 'gaussian(mu=0.1)') FROM people",
            0.075_6,
        ),
        (
            "SELECT dp_mean(pay, 0, 100, NULL, 'gaussian(rho=0.005)') FROM people",
            0.075_6,
        ),
        (
            "SELECT dp_quantile(pay, 0, 100, 0.5, NULL, 'em(rho=0.005)') FROM people",
            0.118_8,
        ),
        ("SELECT dp_count(1, 0.1) FROM people", 0.1),
        ("SELECT dp_count(1, 0.1, 'geometric') FROM people", 0.118_6),
        (
            "SELECT dp_mean_estimate(pay, 0, 100, 0.25) FROM people",
            0.25,
        ),
        ("SELECT dp_histogram(pay, 0, 100, 4, 0.1) FROM people", 0.1),
    ] {
        let (found, ..) = world.cost(sql);
        assert!((found / price - 1.0).abs() < 2e-3, "{sql}: {found}");
        world.ask(sql);
    }
    for sql in [
        "SELECT dp_count(1, NULL) FROM people",
        "SELECT dp_count(1, 0.1, 'gaussian(mu=1)') FROM people",
        "SELECT dp_mean(pay, 0, 100, NULL, 'hourglass') FROM people",
    ] {
        let refusal = refused(&mut world.analyst, sql);
        assert_eq!(refusal.code, "42501", "{sql}: {refusal:?}");
        assert!(refusal.message.contains("\"eps\""), "{sql}: {refusal:?}");
    }
}

/// How far off answers will be is said before, and so it is.
#[test]
fn the_noise_is_said_before_it_is_drawn() {
    let mut world = World::new("");
    let noise = |world: &mut World, sql: &str| -> Vec<Option<f64>> {
        let sql = format!("SELECT noise FROM dp_cost($${sql}$$, people => 8000)");
        value(&mut world.analyst, &sql)
    };
    // In 95% of releases: 1.96 standard deviations.
    let sd = VARIANCE.sqrt();
    for (sql, expected) in [
        ("SELECT count(*) FROM people", 1.96 * sd),
        (
            "SELECT listed, count(*) FROM people GROUP BY listed",
            1.96 * sd,
        ),
        (
            "SELECT count(*) FILTER (WHERE size > 0), count(*) FILTER (WHERE size > 10) FROM people",
            1.96 * sd,
        ),
        ("SELECT sum(pay) FROM people", 1.96 * 100.0 * sd),
        // By a noisy sum from the middle, and a noisy number of rows.
        ("SELECT avg(pay) FROM people", 1.96 * 100.0 * sd / 8000.0),
        // Three rows in each of two groups.
        (
            "SELECT month, count(DISTINCT id) FROM visits GROUP BY month",
            1.96 * sd * 2f64.sqrt(),
        ),
    ] {
        let found = noise(&mut world, sql);
        let found = found[0].expect("a number");
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{sql}: {found} {expected}"
        );
    }
    let many = noise(
        &mut world,
        "SELECT count(*), stddev(pay), sum(pay) FROM people",
    );
    assert!(
        many.len() == 2 && many.iter().all(Option::is_some),
        "{many:?}"
    );
    let counted = "SELECT 1.0 - avg((abs(n - 2) > 17)::int)::float8 FROM \
                   (SELECT listed, count(*) AS n FROM people GROUP BY listed) s";
    let covered: f64 = world.ask(counted)[0][0]
        .as_deref()
        .expect("a share")
        .parse()
        .expect("a share");
    assert!(covered > 0.95 && covered < 0.97, "{covered}");
    let from = "SELECT shown_from FROM dp_cost('SELECT size, count(*) FROM people GROUP BY size')";
    assert_eq!(value::<f64>(&mut world.analyst, from), 54.0);
    let none =
        "SELECT shown_from IS NULL AND (noise)[1] > 0 FROM dp_cost('SELECT count(*) FROM people')";
    assert!(value::<bool>(&mut world.analyst, none));
}

/// A plan says what answers of such a budget are like.
#[test]
fn a_plan_is_what_comes_out() {
    let mut world = World::new("");
    let planned: Vec<(String, f64)> = world
        .root
        .query("SELECT answer, noise FROM dp_plan(8000, 30, 3, 1e-6)", &[])
        .expect("a plan")
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    let of = |name: &str| {
        let found = planned.iter().find(|(answer, _)| answer == name);
        found.expect("a line").1
    };
    assert_eq!(of("count"), 17.0);
    assert!((of("group that is shown in half of all cases") - 53.65).abs() < 0.1);
    // 200 releases of each, where the truth is known, are within it in 95% of them.
    run(
        &mut world.root,
        "CREATE TABLE even (id int PRIMARY KEY, x float8 NOT NULL, y float8 NOT NULL);
         INSERT INTO even SELECT i, i % 100 / 99.0, i / 100 / 79.0 FROM generate_series(0, 7999) i;
         SELECT dp_protect('even', 'id', 'all'), dp_declare('even', 'x', 0, 1), dp_declare('even', 'y', 0, 1)",
    );
    let name: String = value(&mut world.analyst, "SELECT current_user::text");
    run(
        &mut world.root,
        &format!("SELECT dp_allow('even', '{name}')"),
    );
    run(
        &mut world.analyst,
        "SELECT dp_test_defence('charge', false);
         CREATE FUNCTION pg_temp.within(call text, truth float8, noise float8) RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE found float8; inside bigint := 0;
         BEGIN
             FOR i IN 1 .. 400 LOOP
                 EXECUTE format('SELECT %s FROM even', call) INTO found;
                 inside := inside + (abs(found - truth) <= noise)::int;
             END LOOP;
             RETURN inside;
         END $$",
    );
    for (answer, call, truth, unit) in [
        ("mean", "avg(x)", 0.5, 1.0),
        ("sum", "sum(x)", 4000.0, 1.0),
        ("correlation", "corr(y, x)", 0.0, 1.0),
        ("slope", "regr_slope(y, x)", 0.0, 1.0),
        // Each value of x has 80 people.
        (
            "median",
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY y)",
            0.5,
            1.0 / 8000.0,
        ),
    ] {
        let sql = format!(
            "SELECT pg_temp.within('{call}', {truth}, {})",
            of(answer) * unit + 0.007 * f64::from(answer == "median")
        );
        let inside: i64 = value(&mut world.analyst, &sql);
        // 380 of 400 are expected: fewer than 359 or all of them come about once in a million.
        assert!((359..=400).contains(&inside), "{answer}: {inside}");
    }
    for (arguments, message) in [
        ("0, 30, 3", "\"people\""),
        ("8000, 0.5, 3", "\"questions\""),
        ("8000, 30, 0", "\"eps\""),
        ("8000, 30, 3, 1", "\"delta\""),
        ("'NaN', 30, 3", "\"people\""),
        ("8000, 'Infinity', 3", "\"questions\""),
    ] {
        let refusal = refused(
            &mut world.root,
            &format!("SELECT * FROM dp_plan({arguments})"),
        );
        assert_eq!(refusal.code, "22023", "{refusal:?}");
        assert!(refusal.message.contains(message), "{refusal:?}");
    }
    let none = "SELECT count(*) FROM dp_plan(NULL, 30, 3)";
    assert_eq!(value::<i64>(&mut world.root, none), 0);
}
