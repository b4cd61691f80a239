//! Means, sums and counts of one block that are drawn together: less than the sum of their prices, no more noise.

use dp_core::privacy::spending::{Accounting, HALF, Limit};
use dp_core::together::price_of_cube;
use dp_mean_tests::{Database, run, value};
use postgres::Client;

use super::asking::Asking;
use super::table;

/// The promise of the budget that pays Gaussian noise, and the usual price.
const BUDGET: (f64, f64) = (3.0, 1e-6);
const PRICE: f64 = 0.1;

/// Groups that are listed, the last ten of them without rows, and the people of each other one.
const LISTED: usize = 1010;
const PEOPLE: usize = 200;

/// The groups in which people have many rows.
const VISITED: usize = 200;

/// Of what is normal or nearly so, all of some dozens are closer to the mean, with a probability of 1 - 1e-6.
const REACH: f64 = 5.6;

/// Budgets with the tables that they pay for: rows that are people, and people with rows.
const TABLES: [(&str, &str, &str); 2] = [
    ("gaussian", "people", "visits"),
    ("pure", "others", "calls"),
];

/// What that many numbers cost without a delta, in the price of one answer, at the usual price.
fn cube(numbers: usize) -> f64 {
    price_of_cube(numbers, PRICE)
}

struct World {
    root: Client,
    analyst: Client,
    _database: Database,
}

/// The variance of a count alone at the usual price.
fn of_count(budget: &str) -> f64 {
    let limit = Limit::new(BUDGET.0, BUDGET.1, Accounting::Gaussian, HALF).expect("a limit");
    match budget {
        "gaussian" => limit.mu_at(PRICE).expect("a mu").powi(-2),
        _ => 2.0 / (PRICE * PRICE),
    }
}

impl World {
    /// `a` is in the middle of its bounds and `b` above it; `x` and `y` are NULL in half of the rows each; the sums of
    /// `s` have both signs. A person has 4 visits in each of 2 groups; 3 of them count.
    fn new() -> Self {
        let mut made = format!(
            "GRANT CREATE ON SCHEMA public TO {{analyst}};
             SELECT dp_set_budget('gaussian', {}, {}), dp_set_budget('pure', 300, 0);",
            BUDGET.0, BUDGET.1
        );
        let people = (LISTED - 10) * PEOPLE;
        for (budget, rows, visits) in TABLES {
            // Pure noise for 3 rows in 2 groups is more than means can do with.
            let price = match budget {
                "pure" => ", query_eps => 1",
                _ => "",
            };
            made += &format!(
                "CREATE TABLE {rows} (id int PRIMARY KEY, listed int NOT NULL, k int NOT NULL, a float8 NOT NULL,
                     b float8 NOT NULL, x float8, y float8, s float8 NOT NULL);
                 INSERT INTO {rows} SELECT g, l, g % 10, CASE g % 2 WHEN 0 THEN 20 ELSE 80 END, 75,
                         CASE WHEN g % 2 = 0 THEN 50 END,
                         CASE g % 4 WHEN 0 THEN 25 WHEN 1 THEN 'infinity'::float8 WHEN 2 THEN 'nan' END,
                         CASE g % 2 WHEN 0 THEN -10 ELSE 30 END
                     FROM (SELECT g, g / {PEOPLE} AS l FROM generate_series(0, {people} - 1) g) g;
                 CREATE TABLE {visits} (id int NOT NULL, listed int NOT NULL, k int NOT NULL, a float8 NOT NULL,
                     b float8 NOT NULL, x float8);
                 INSERT INTO {visits} SELECT p, (p + g) % {VISITED}, r, 25 * r - 25, 75, CASE WHEN p % 2 = 0 THEN 50 END
                     FROM generate_series(1, {VISITED} * {PEOPLE} / 2) p, generate_series(0, 1) g, generate_series(1, 4) r;
                 SELECT dp_protect('{rows}', 'id', '{budget}'),
                     dp_protect('{visits}', 'id', '{budget}', groups => 2, rows => 3{price});"
            );
            for (table, columns) in [(rows, "abxy"), (visits, "abx")] {
                made += &format!(
                    "SELECT dp_declare('{table}', 'listed', ARRAY(SELECT generate_series(0, {})::text)),
                         dp_allow('{table}', '{{analyst}}');",
                    LISTED - 1
                );
                for column in columns.chars() {
                    made += &format!("SELECT dp_declare('{table}', '{column}', 0, 100);");
                }
            }
            made += &format!(
                "SELECT dp_declare('{rows}', 's', -10, 30), \
                 dp_declare('{rows}', 'k', 0, 9);"
            );
        }
        let Asking {
            root,
            analyst,
            database,
            ..
        } = Asking::new(&made, 17);
        Self {
            root,
            analyst,
            _database: database,
        }
    }

    /// How many times the price of one answer a query costs, and by which mechanisms.
    fn cost(&mut self, sql: &str) -> (f64, String) {
        let of = |column: &str| format!("SELECT {column} FROM dp_cost($${sql}$$)");
        let price: f64 = value(&mut self.analyst, &of("price"));
        (price / PRICE, value(&mut self.analyst, &of("mechanisms")))
    }

    /// Numbers of one row.
    fn numbers(&mut self, sql: &str) -> Vec<f64> {
        let row = table(&mut self.root, sql).remove(0);
        let numbers = row.into_iter().map(|cell| {
            let cell = cell.expect("a number");
            cell.parse().expect("a number")
        });
        numbers.collect()
    }

    /// What was told of groups in a table `told`, by the answers of the others: the mean error of each, and the mean
    /// square.
    fn errors(&mut self, table: &str, list: &[Told], groups: usize) -> Vec<[f64; 2]> {
        let answers = (1..).zip(list);
        let answers = answers.map(|(i, told)| format!("{} AS r{i}", told.answer));
        let answers = answers.collect::<Vec<_>>().join(", ");
        run(
            &mut self.analyst,
            &format!(
                "DROP TABLE IF EXISTS told;
                 CREATE TABLE told AS SELECT listed, {answers} FROM {table} GROUP BY listed"
            ),
        );
        let spread = (1..).zip(list).map(|(i, told)| {
            let off = format!("r{i}::float8 - {:?}", told.truth);
            format!("avg({off}), avg(({off}) ^ 2)")
        });
        let spread = spread.collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT {spread} FROM told WHERE listed < {groups}");
        let found = self.numbers(&sql);
        found
            .chunks_exact(2)
            .map(|pair| [pair[0], pair[1]])
            .collect()
    }
}

/// An answer, its truth in each group, and its variance alone.
struct Told {
    answer: &'static str,
    truth: f64,
    variance: f64,
    /// How much more the noise of a number of rows below it may make of that.
    bent: f64,
}

/// What to expect of a count or a sum.
fn told(answer: &'static str, truth: f64, variance: f64) -> Told {
    Told {
        answer,
        truth,
        variance,
        bent: 0.0,
    }
}

/// How a mean from 0 to 100 of so many rows is told, where a count has this variance: from the middle of its bounds and
/// from its number of rows, each with twice the variance.
fn mean(answer: &'static str, truth: f64, rows: f64, count: f64) -> Told {
    let from_middle = truth / 50.0 - 1.0;
    Told {
        answer,
        truth,
        variance: count * (1.0 + from_middle * from_middle) / 2.0 * (100.0 / rows).powi(2),
        bent: 12.0 * count / (rows * rows),
    }
}

fn assert_no_more_noise(table: &str, list: &[Told], found: &[[f64; 2]], groups: usize) {
    let groups = groups as f64;
    for (told, [off, square]) in list.iter().zip(found) {
        let times = square / told.variance;
        let what = format!("{table}, {}: off by {off}, {times} times", told.answer);
        println!("{what}");
        let off = off.abs() / (told.variance / groups).sqrt();
        assert!(off < REACH + told.bent * groups.sqrt() / 2.0, "{what}");
        // Noise in the shape of a cube is not normal.
        let reach = 1.25 * REACH * (2.0 / groups).sqrt();
        assert!(times < 1.0 + reach + told.bent, "{what}");
        assert!(times > 0.9 - reach.min(0.6), "{what}");
    }
}

#[test]
fn a_vector_costs_less_than_its_answers() {
    let mut world = World::new();
    // With the number of answers that are charged for themselves, and how many numbers have the shape of a cube.
    for (list, gaussian, pure) in [
        ("avg(a), avg(b)", 1.5, cube(3)),
        ("avg(a), avg(b), count(*)", 1.5, cube(3)),
        ("avg(a), avg(b), avg(k)", 2.0, cube(4)),
        // Their numbers of rows are two more.
        ("avg(x), avg(y)", 1.728553, cube(4)),
        ("avg(x), count(x), sum(x), avg(y)", 1.728553, cube(4)),
        // It is the same for all that have a condition in common.
        (
            "avg(a) FILTER (WHERE k > 3), avg(b) FILTER (WHERE k > 3)",
            1.5,
            cube(3),
        ),
        // Counts and sums of one sign.
        ("sum(a), count(*) FILTER (WHERE k > 3)", 1.457107, cube(3)),
        ("avg(a), count(*) FILTER (WHERE k > 3)", 1.5, cube(3)),
        (
            "avg(a), avg(b), avg(k), sum(x), count(*) FILTER (WHERE k > 3)",
            2.957107,
            cube(6),
        ),
        (
            "avg(a), avg(b), avg(x), avg(y), sum(a) FILTER (WHERE k > 3), count(*), count(*) FILTER (WHERE k > 5), sum(b)",
            3.770815,
            cube(9),
        ),
        // A sum of both signs has less in common with others, and nothing in a cube.
        ("sum(s), avg(a)", 1.571429, 2.0),
        ("sum(s), avg(a), avg(b)", 2.071429, 1.0 + cube(3)),
        // Other answers are for themselves.
        ("avg(a), avg(b), stddev(b)", 2.5, 1.0 + cube(3)),
        // One price for counts that no row is in together.
        (
            "avg(a), avg(b), count(*) FILTER (WHERE k = 1), count(*) FILTER (WHERE k = 2), count(*) FILTER (WHERE k = 3), \
             count(*) FILTER (WHERE k = 4), count(*) FILTER (WHERE k = 5)",
            2.5,
            1.0 + cube(3),
        ),
    ] {
        for ((_, table, _), expected) in TABLES.into_iter().zip([gaussian, pure]) {
            let (price, mechanisms) = world.cost(&format!("SELECT {list} FROM {table}"));
            assert!(
                (price - expected).abs() < 2e-5,
                "{table}, {list}: {price}, expected {expected}: {mechanisms}"
            );
        }
    }
}

/// Each answer has no more noise than it has alone, and is right but for that, in groups that are drawn one by one.
#[test]
fn no_answer_has_more_noise_than_alone() {
    let mut world = World::new();
    let rows = PEOPLE as f64;
    for (budget, table, _) in TABLES {
        let count = of_count(budget);
        let lists = [
            vec![
                mean("avg(a)", 50.0, rows, count),
                mean("avg(b)", 75.0, rows, count),
                mean("avg(x)", 50.0, rows / 2.0, count),
                // A quarter is 25, a quarter infinite, and what is not a number is left out.
                mean("avg(y)", 62.5, rows / 2.0, count),
                told("count(y) FILTER (WHERE listed >= 0)", rows * 0.75, count),
                told(
                    "sum(b + 100) FILTER (WHERE k < 5)",
                    87.5 * rows,
                    4e4 * count,
                ),
                told("sum(s)", 10.0 * rows, 900.0 * count),
                told("count(*) FILTER (WHERE k < 0)", 0.0, count),
            ],
            vec![
                mean("avg(x)", 50.0, rows / 2.0, count),
                told("count(*)", rows, count),
                // With its mean it has the noise of both.
                told("sum(x)", 25.0 * rows, 1e4 * count),
            ],
            vec![
                mean("avg(b) FILTER (WHERE k < 5)", 75.0, rows / 2.0, count),
                told("count(*) FILTER (WHERE k < 5)", rows / 2.0, 2.0 * count),
                told("sum(x)", 25.0 * rows, 1e4 * count),
            ],
        ];
        for list in &lists {
            let found = world.errors(table, list, LISTED - 10);
            assert_no_more_noise(table, list, &found, LISTED - 10);
        }
        // Of groups without rows there is noise, and means are between their bounds.
        let sql =
            "SELECT min(\"avg\"), max(\"avg\"), max(abs(sum)) FROM empty WHERE listed >= 1000";
        run(
            &mut world.analyst,
            &format!(
                "DROP TABLE IF EXISTS empty; CREATE TABLE empty AS SELECT listed, avg(a), sum(x) FROM {table} GROUP BY listed"
            ),
        );
        let found = world.numbers(sql);
        assert!(
            found[0] >= 0.0 && found[1] <= 100.0 && found[0] < found[1],
            "{found:?}"
        );
        assert!((1.0..700.0 * count.sqrt()).contains(&found[2]), "{found:?}");
    }
}

/// Of people with several rows in several groups, each counts for at most `rows` rows in a group.
#[test]
fn people_with_many_rows_are_in_a_vector() {
    let mut world = World::new();
    let rows = 3.0 * PEOPLE as f64;
    for (budget, _, table) in TABLES {
        // For 3 rows in 2 groups.
        let count = match budget {
            "gaussian" => of_count(budget) * 9.0 * 2.0,
            _ => 2.0 * 9.0 * 4.0,
        };
        let list = [
            mean("avg(a)", 37.5, rows, count),
            mean("avg(b)", 75.0, rows, count),
            mean("avg(x)", 50.0, rows / 2.0, count),
            told("sum(b) FILTER (WHERE k < 3)", 50.0 * rows, 1e4 * count),
            told("sum(a) FILTER (WHERE k = 4)", 25.0 * rows, 1e4 * count),
            told("count(*) FILTER (WHERE k = 1)", rows / 3.0, count),
            told("count(x) FILTER (WHERE k < 9)", rows / 2.0, count),
        ];
        let found = world.errors(table, &list, VISITED);
        assert_no_more_noise(table, &list, &found, VISITED);
        let answers = list.map(|told| told.answer).join(", ");
        let sql = format!("SELECT listed, {answers} FROM {table} GROUP BY listed");
        let (price, mechanisms) = world.cost(&sql);
        let expected = match budget {
            "gaussian" => 3.899802,
            _ => price_of_cube(9, 1.0 / 3.0) / PRICE,
        };
        assert!((price - expected).abs() < 1e-4, "{price}: {mechanisms}");
        // How far off each is, as it would be alone.
        let noise = format!("SELECT (noise)[6] FROM dp_cost($${sql}$$)");
        let noise: f64 = value(&mut world.analyst, &noise);
        assert!((noise / 1.96 / count.sqrt() - 1.0).abs() < 0.05, "{noise}");
        let sql = format!("SELECT max(abs(r4)) FROM told WHERE listed >= {VISITED}");
        let empty = world.numbers(&sql)[0];
        assert!((1.0..700.0 * count.sqrt()).contains(&empty), "{empty}");
    }
}

/// What is charged is what `dp_cost` says.
#[test]
fn a_vector_is_charged_once() {
    let mut world = World::new();
    for (table, list) in [
        (
            "people",
            "avg(a), avg(b), avg(x), sum(x) FILTER (WHERE k = 3), count(*)",
        ),
        ("visits", "avg(a), sum(b), avg(x)"),
    ] {
        let spent =
            "SELECT spent_share::float8 FROM dp_budgets WHERE budget = 'gaussian' AND role IS NULL";
        let before: f64 = value(&mut world.root, spent);
        let sql = format!("SELECT {list} FROM {table}");
        let (price, _) = world.cost(&sql);
        run(&mut world.analyst, &sql);
        let after: f64 = value(&mut world.root, spent);
        let paid = (after - before) * BUDGET.0 / PRICE;
        assert!((paid - price).abs() < 1e-6, "{table}: {paid} for {price}");
    }
}

/// The number of all rows, where a row is a person, chooses the groups.
#[test]
fn groups_are_chosen_by_a_number_of_a_vector() {
    let mut world = World::new();
    for (list, price, above) in [
        // With the noise of a mean's number of rows.
        ("avg(a), avg(b)", 1.5, 75.3),
        ("sum(a), count(*) FILTER (WHERE k > 3)", 1.666667, 53.7),
        // As no mean is of all rows, they are one number more.
        ("avg(x), avg(y)", 2.285714, 53.7),
        ("avg(x), sum(x)", 1.642857, 53.7),
        ("sum(a)", 1.333333, 53.7),
        ("count(*) FILTER (WHERE k > 3)", 1.333333, 53.7),
        ("count(x), count(*) FILTER (WHERE k > 3)", 1.666667, 53.7),
        ("avg(x), count(*)", 1.642857, 53.7),
    ] {
        let sql = format!("SELECT k, {list} FROM people GROUP BY k");
        let (found, mechanisms) = world.cost(&sql);
        assert!(
            (found - price).abs() < 2e-5,
            "{list}: {found}: {mechanisms}"
        );
        let chosen = format!(", groups: above {above} people, delta=1.00e-9");
        assert!(mechanisms.ends_with(&chosen), "{list}: {mechanisms}");
        assert_eq!(table(&mut world.analyst, &sql).len(), 10);
    }
    for list in ["avg(a), avg(b)", "count(*) FILTER (WHERE k > 3)"] {
        let sql = format!(
            "SELECT k, listed, {list} FROM people WHERE id < 200 GROUP BY GROUPING SETS ((k), (listed), ())"
        );
        // Groups of 20 people are not shown; listed ones are, with rows and without.
        let shown = table(&mut world.analyst, &sql).len();
        assert!((LISTED + 1..LISTED + 4).contains(&shown), "{shown}");
    }
    let sql = "SELECT k % 2, avg(b), count(*), avg(a) FROM people GROUP BY GROUPING SETS ((1), ()) ORDER BY 1";
    let told = table(&mut world.analyst, sql);
    for (row, people) in told.iter().zip([100_000.0, 100_000.0, 200_000.0]) {
        let number = |i: usize| {
            row[i]
                .as_deref()
                .expect("a number")
                .parse::<f64>()
                .expect("a number")
        };
        assert!((number(1) - 75.0).abs() < 0.1, "{told:?}");
        assert!((number(2) - people).abs() < 100.0, "{told:?}");
        assert!(number(3) < 81.0, "{told:?}");
    }
    assert_eq!(told.len(), 3);
}
