//! An audit of plain SQL: how private are the answers at most that a role gets which may ask and may not read?
//!
//! The tables differ by a whole person, with more rows and in more groups than the policy lets them count for. The
//! analyst asks the same question of both, many times, and the bounds of `auditing` say how much any event tells. All
//! answers to a question count together: of `GROUP BY`, all groups. The charge is taken away meanwhile, as no budget
//! pays for that many questions; that it is not forgotten is a test of its own.
//!
//! A budget that adds up rhos answers with pure noise, and events tell an epsilon; one in Gaussian terms answers with
//! Gaussian noise, and events tell a `mu`.
//!
//! What tells most of a person in `GROUPS` groups, with `ROWS` rows in each: noisy counts of the groups that they are
//! kept in, each cut off at 0 and `ROWS`, and added up. For noise with two-sided geometric tails that sum is the
//! likelihood ratio but for its scale.

use dp_core::privacy::spending::{Accounting, HALF, Limit};
use dp_core::registry;
use dp_mean_tests::auditing::{bound, bound_beside, event_bound};
use dp_mean_tests::statistics::mu_of_event;
use dp_mean_tests::{Build, Database, run, value};
use postgres::Client;

/// The price of an aggregate, and of a choice of groups.
const EPSILON: f64 = 1.0;

/// The delta of a choice of groups: a large one, of which something is seen.
const DELTA: f64 = 0.05;

/// What a person counts for at most.
const GROUPS: usize = 2;
const ROWS: usize = 3;

/// In how many groups the special person is, with `10 * ROWS` rows in each.
const THEIRS: usize = 6;

/// Answers of each table, half of them to find an event, half to bound its likelihood ratio.
const ANSWERS: usize = 8000;

/// Pairs of tables: that many others in each of the groups, a row each, and the same with the special person. A group of
/// 7 is shown about as often as not.
const OTHERS: [usize; 2] = [0, 7];

/// The answers of a question as an array, with a table for `{t}`, and what of them is looked at.
struct Question {
    sql: &'static str,
    look: Look,
}

#[derive(Clone, Copy)]
enum Look {
    /// At all numbers together.
    Together,
    /// At those of the groups that the person is kept in together.
    Theirs,
    /// At these, each cut off at 0 and this, and added up.
    Sum(f64),
    /// At which of the groups that the person is kept in are shown, beside the delta.
    Shown,
}

const BY: &str = "SELECT array_agg(a::float8 ORDER BY listed) FROM (SELECT listed, {call} AS a FROM {t} GROUP BY listed) q";

const COUNT: Question = Question {
    sql: "SELECT ARRAY[count(*)]::float8[] FROM {t}",
    look: Look::Together,
};
const COUNT_BY: Question = Question {
    sql: "count(*)",
    look: Look::Sum(ROWS as f64),
};
const SHOWN: Question = Question {
    sql: "SELECT array_agg((q.k IS NOT NULL)::int::float8 ORDER BY g) FROM generate_series(0, 5) g \
          LEFT JOIN (SELECT k FROM {t} GROUP BY k) q ON q.k = g",
    look: Look::Shown,
};

/// The questions; by groups, the call alone.
const QUESTIONS: [Question; 8] = [
    COUNT,
    Question {
        sql: "SELECT ARRAY[avg(x)] FROM {t}",
        look: Look::Together,
    },
    // One release, at the price of one.
    Question {
        sql: "SELECT ARRAY[avg(x), count(*)] FROM {t}",
        look: Look::Together,
    },
    Question {
        sql: "SELECT ARRAY[count(DISTINCT person)]::float8[] FROM {t}",
        look: Look::Together,
    },
    COUNT_BY,
    Question {
        sql: "sum(x)",
        look: Look::Sum(ROWS as f64),
    },
    Question {
        sql: "avg(x)",
        look: Look::Theirs,
    },
    SHOWN,
];

impl Question {
    fn is_by_groups(&self) -> bool {
        matches!(self.look, Look::Sum(_) | Look::Theirs)
    }

    /// With a table in it.
    fn sql(&self, table: &str) -> String {
        let sql = match self.is_by_groups() {
            true => BY.replace("{call}", self.sql),
            false => self.sql.to_owned(),
        };
        sql.replace("{t}", table)
    }
}

/// The budget.
const ALL: (f64, f64) = (4096.0, 0.5);

/// The most that an answer at the price may tell: its epsilon, or its `mu`.
fn most(accounting: Accounting) -> f64 {
    let limit = Limit::new(ALL.0, ALL.1, accounting, HALF).expect("a limit");
    limit.mu_at(EPSILON).unwrap_or(EPSILON)
}

/// The tables, and a session of the analyst.
struct Audit {
    accounting: Accounting,
    database: Database,
    root: Client,
    analyst: Client,
    analyst_name: String,
}

impl Audit {
    fn new(seed: i64, accounting: Accounting) -> Self {
        let database = Database::new(Build::Testing);
        let mut root = database.connect();
        let analyst_name = format!("{}_analyst", database.name());
        run(
            &mut root,
            &format!(
                "CREATE ROLE {analyst_name} LOGIN; GRANT CREATE ON SCHEMA public TO {analyst_name};
                 SELECT dp_set_budget('all', {}, {}, accounting => '{}')",
                ALL.0,
                ALL.1,
                accounting.name()
            ),
        );
        for others in OTHERS {
            for special in [false, true] {
                let table = name(others, special);
                run(
                    &mut root,
                    &format!(
                        "CREATE TABLE {table} (person int NOT NULL, k int NOT NULL, listed int NOT NULL, x float8 NOT NULL);
                         INSERT INTO {table} SELECT 1000 * k + i, k, k, 0
                             FROM generate_series(0, {THEIRS} - 1) k, generate_series(1, {others}) i;
                         INSERT INTO {table} SELECT -1, i % {THEIRS}, i % {THEIRS}, 1
                             FROM generate_series(1, 10 * {ROWS} * {THEIRS}) i WHERE {special};
                         SELECT dp_protect('{table}', 'person', 'all', groups => {GROUPS}, rows => {ROWS},
                                           query_eps => {EPSILON}, query_delta => {DELTA}),
                                dp_declare('{table}', 'x', 0, 1), dp_declare('{table}', 'k', 0, {THEIRS}),
                                dp_declare('{table}', 'listed', ARRAY(SELECT generate_series(0, {THEIRS} - 1)::text)),
                                dp_allow('{table}', '{analyst_name}');
                         ANALYZE {table}"
                    ),
                );
            }
        }
        let mut analyst = database.connect_as(&analyst_name);
        run(
            &mut analyst,
            &format!(
                "SET max_parallel_workers_per_gather = 0; SET jit = off; SELECT dp_test_seed({seed})"
            ),
        );
        Self {
            accounting,
            database,
            root,
            analyst,
            analyst_name,
        }
    }

    /// Takes a defence away.
    fn without(mut self, defence: &str) -> Self {
        run(
            &mut self.analyst,
            &format!("SELECT dp_test_defence('{defence}', false)"),
        );
        self
    }

    /// Answers to a question, each of that many numbers.
    fn draw(&mut self, question: &Question, table: &str, times: usize) -> (Vec<f64>, usize) {
        self.draw_sql(&question.sql(table), times)
    }

    /// Answers to a query of arrays. It is planned once, which takes far longer than an answer does.
    fn draw_sql(&mut self, sql: &str, times: usize) -> (Vec<f64>, usize) {
        run(
            &mut self.analyst,
            &format!(
                "CREATE OR REPLACE FUNCTION draw(times int) RETURNS SETOF float8[] LANGUAGE plpgsql AS $$
                 BEGIN
                     FOR i IN 1 .. times LOOP
                         RETURN QUERY {sql};
                     END LOOP;
                 END $$"
            ),
        );
        let drawn = format!("SELECT draw FROM draw({times})");
        let rows = self.analyst.query(&drawn, &[]);
        let rows = rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
        let answers: Vec<f64> = rows
            .iter()
            .flat_map(|row| row.get::<_, Vec<f64>>(0))
            .collect();
        (answers, rows[0].get::<_, Vec<f64>>(0).len())
    }

    /// In which groups the special person is seen to count, by half of the answers.
    fn seen(&mut self) -> Vec<usize> {
        let [without, with] = [false, true].map(|special| {
            let (answers, columns) = self.draw(&COUNT_BY, &name(0, special), ANSWERS / 2);
            let sum = |column: usize| answers.iter().skip(column).step_by(columns).sum::<f64>();
            (0..columns).map(sum).collect::<Vec<_>>()
        });
        let half = (ROWS * ANSWERS / 2) as f64 / 2.0;
        let groups = without.iter().zip(&with).enumerate();
        let seen = groups.filter(|(_, (without, with))| *with - *without > half);
        seen.map(|(group, _)| group).collect()
    }

    /// How much the answers tell at least, of which pair of tables.
    fn told(&mut self, question: &Question, seen: &[usize], others: usize) -> f64 {
        let drawn =
            [false, true].map(|special| self.draw(question, &name(others, special), ANSWERS));
        let columns = drawn[0].1;
        let looked = drawn.map(|(answers, _)| match question.look {
            Look::Together => answers,
            Look::Theirs | Look::Shown => {
                let theirs =
                    |answer: &[f64]| seen.iter().map(|group| answer[*group]).collect::<Vec<_>>();
                answers.chunks_exact(columns).flat_map(theirs).collect()
            }
            Look::Sum(most) => {
                let of = |answer: &[f64]| {
                    let cut = |group: &usize| answer[*group].clamp(0.0, most);
                    seen.iter().map(cut).sum::<f64>()
                };
                answers.chunks_exact(columns).map(of).collect()
            }
        });
        let answers = [looked[0].as_slice(), looked[1].as_slice()];
        let (columns, delta) = match question.look {
            Look::Shown => (seen.len(), DELTA),
            Look::Sum(_) => (1, 0.0),
            Look::Theirs => (seen.len(), 0.0),
            Look::Together => (columns, 0.0),
        };
        match (self.accounting, delta) {
            (Accounting::Gaussian, _) => event_bound(answers, columns, |chance, other| {
                mu_of_event((chance - delta).max(0.0), other.max(f64::MIN_POSITIVE))
            }),
            (Accounting::Zcdp, 0.0) => bound(answers, columns),
            (Accounting::Zcdp, _) => bound_beside(DELTA, answers, columns),
        }
    }

    /// Which part of the budget was spent by now.
    fn spent(&mut self) -> f64 {
        value(
            &mut self.root,
            match self.accounting {
                Accounting::Zcdp => {
                    "SELECT spent_epsilon / limit_epsilon FROM dp_budgets WHERE role IS NULL"
                }
                Accounting::Gaussian => "SELECT spent_share FROM dp_budgets WHERE role IS NULL",
            },
        )
    }

    /// The end: roles are of the server.
    fn close(mut self) {
        drop(self.analyst);
        let name = &self.analyst_name;
        run(
            &mut self.root,
            &format!("DROP OWNED BY {name} CASCADE; DROP ROLE {name}"),
        );
        drop(self.database);
    }
}

fn name(others: usize, special: bool) -> String {
    format!("t{others}_{special}")
}

#[test]
fn no_event_of_plain_sql_tells_more_than_its_price() {
    for (seed, accounting) in [(41, Accounting::Zcdp), (51, Accounting::Gaussian)] {
        tells_at_most_its_price(Audit::new(seed, accounting).without("charge"));
    }
}

fn tells_at_most_its_price(mut audit: Audit) {
    let most = most(audit.accounting);
    let seen = audit.seen();
    assert_eq!(seen.len(), GROUPS, "{seen:?}");
    for question in &QUESTIONS {
        // Only the choice of groups depends on others much.
        let others: &[usize] = match question.look {
            Look::Shown => &OTHERS,
            _ => &OTHERS[..1],
        };
        for others in others {
            let told = audit.told(question, &seen, *others);
            println!(
                "{}, {others} others, {}: at least {told:.3} of {most:.3}",
                question.sql,
                audit.accounting.name()
            );
            assert!(told <= most, "{}, {others} others: {told}", question.sql);
        }
    }
    audit.close();
}

/// That the audit finds more than the price in the answers to a question.
#[track_caller]
fn assert_noticed(mut audit: Audit, question: &Question, what: &str) {
    let seen = audit.seen();
    let told = audit.told(question, &seen, 0);
    println!("{}, {what}: at least {told:.3}", question.sql);
    assert!(
        told > most(audit.accounting),
        "{}, {what}: {told}",
        question.sql
    );
    audit.close();
}

#[test]
fn the_audit_of_plain_sql_notices_noise_that_is_too_small_by_half() {
    for (seed, question, accounting) in [
        (42, COUNT, Accounting::Zcdp),
        (43, COUNT_BY, Accounting::Zcdp),
        (52, COUNT, Accounting::Gaussian),
        (53, COUNT_BY, Accounting::Gaussian),
    ] {
        let mut audit = Audit::new(seed, accounting).without("charge");
        run(&mut audit.analyst, "SELECT dp_test_budget_factor(2)");
        assert_noticed(audit, &question, "noise halved");
    }
}

#[test]
fn the_audit_of_plain_sql_notices_a_person_in_all_of_their_groups() {
    for (seed, accounting) in [(44, Accounting::Zcdp), (54, Accounting::Gaussian)] {
        let audit = Audit::new(seed, accounting)
            .without("charge")
            .without("groups");
        assert_noticed(audit, &COUNT_BY, "groups ignored");
    }
}

#[test]
fn the_audit_of_plain_sql_notices_all_rows_of_a_person() {
    for (seed, accounting) in [(45, Accounting::Zcdp), (55, Accounting::Gaussian)] {
        let audit = Audit::new(seed, accounting)
            .without("charge")
            .without("rows");
        assert_noticed(audit, &COUNT, "rows ignored");
    }
}

#[test]
fn the_audit_of_plain_sql_notices_groups_that_are_all_shown() {
    for (seed, accounting) in [(46, Accounting::Zcdp), (56, Accounting::Gaussian)] {
        let audit = Audit::new(seed, accounting)
            .without("charge")
            .without("keep");
        assert_noticed(audit, &SHOWN, "all groups shown");
    }
}

/// How many conditions the one person meets below.
const CONDITIONS: usize = 8;

/// Answers of each table to a query of that many counts, which takes some milliseconds.
const ANSWERS_OF_MANY: usize = 3000;

/// What many counts of one release tell of a person who is alone in two listed groups, and meets all conditions: their
/// sum. The person is a row of one of the groups, or has many rows in both.
fn told_by_many(audit: &mut Audit, many_rows: bool) -> f64 {
    let name = audit.analyst_name.clone();
    let counts = (0..CONDITIONS).map(|i| format!("count(*) FILTER (WHERE x > -{i})"));
    let counts = counts.collect::<Vec<_>>().join(" + ");
    let drawn = [false, true].map(|special| {
        let table = format!("alone_{many_rows}_{special}");
        let (key, times, policy) = match many_rows {
            true => ("NOT NULL", 20, format!(", groups => {GROUPS}, rows => {ROWS}")),
            false => ("PRIMARY KEY", 1, String::new()),
        };
        run(
            &mut audit.root,
            &format!(
                "CREATE TABLE {table} (person int {key}, listed int NOT NULL, x int NOT NULL);
                 INSERT INTO {table} SELECT -1, i % 2, 1 FROM generate_series(1, {times}) i WHERE {special};
                 SELECT dp_protect('{table}', 'person', 'all', query_eps => {EPSILON}{policy}),
                     dp_declare('{table}', 'listed', ARRAY['0', '1']), dp_allow('{table}', '{name}')"
            ),
        );
        let sql = format!(
            "SELECT ARRAY[sum(c)] FROM (SELECT listed, ({counts})::float8 AS c FROM {table} GROUP BY listed) q"
        );
        audit.draw_sql(&sql, ANSWERS_OF_MANY).0
    });
    let answers = [drawn[0].as_slice(), drawn[1].as_slice()];
    match audit.accounting {
        Accounting::Gaussian => event_bound(answers, 1, |chance, other| {
            mu_of_event(chance, other.max(f64::MIN_POSITIVE))
        }),
        Accounting::Zcdp => bound(answers, 1),
    }
}

#[test]
fn a_release_of_many_counts_tells_no_more_than_its_price() {
    for (seed, accounting) in [(48, Accounting::Zcdp), (58, Accounting::Gaussian)] {
        let mut audit = Audit::new(seed, accounting).without("charge");
        let limit = Limit::new(ALL.0, ALL.1, accounting, HALF).expect("a limit");
        let is_gaussian = accounting == Accounting::Gaussian;
        let price = EPSILON * registry::of_many(CONDITIONS as f64, is_gaussian);
        let most = limit.mu_at(price).unwrap_or(price);
        for many_rows in [false, true] {
            let told = told_by_many(&mut audit, many_rows);
            let what = format!("{}, many rows: {many_rows}", accounting.name());
            println!("{what}: at least {told:.3} of {most:.3}");
            assert!(told <= most, "{what}: {told} of {most}");
        }
        audit.close();
    }
    // Halved noise is noticed.
    let limit = Limit::new(ALL.0, ALL.1, Accounting::Gaussian, HALF).expect("a limit");
    let most = limit.mu_at(EPSILON * registry::of_many(CONDITIONS as f64, true));
    for (seed, many_rows) in [(59, false), (60, true)] {
        let mut audit = Audit::new(seed, Accounting::Gaussian).without("charge");
        run(&mut audit.analyst, "SELECT dp_test_budget_factor(2)");
        let told = told_by_many(&mut audit, many_rows);
        println!("halved, many rows: {many_rows}: at least {told:.3} of {most:?}");
        assert!(told > most.expect("a mu"), "{told} of {most:?}");
        audit.close();
    }
}

/// Whether that many answers were paid: the sum of their prices, by the ledger, in shares of the budget.
fn is_paid(audit: &mut Audit) -> bool {
    let before = audit.spent();
    let mut asked = 0.0;
    for question in &QUESTIONS {
        // The budget's delta is for a few choices of groups.
        let times = match question.look {
            Look::Shown => 2,
            _ => 40,
        };
        audit.draw(question, &name(0, true), times);
        asked += times as f64 * EPSILON;
    }
    // Epsilons and shares are rounded down a little.
    audit.spent() - before >= asked / ALL.0 * (1.0 - 1e-9)
}

#[test]
fn all_answers_are_paid_and_a_forgotten_charge_is_noticed() {
    for (seed, accounting) in [(47, Accounting::Zcdp), (57, Accounting::Gaussian)] {
        let mut audit = Audit::new(seed, accounting);
        assert!(is_paid(&mut audit));
        let mut audit = audit.without("charge");
        assert!(!is_paid(&mut audit));
        audit.close();
    }
}
