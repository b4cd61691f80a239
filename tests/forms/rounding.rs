//! Answers are shown without digits that are noise alone: what was released is kept as it is.

use dp_mean_tests::{run, value};

use super::asking::Asking;
use super::table;

const PEOPLE: f64 = 8000.0;

/// Bounds of `share` that have more digits than are shown: all people are at the upper one.
fn asking(budget: &str) -> Asking {
    let made = format!(
        "CREATE TABLE people (id int PRIMARY KEY, dept int NOT NULL, pay float8 NOT NULL, age int NOT NULL, share float8);
         INSERT INTO people SELECT g, g % 4, g * 7919 % 100000, g % 90, 0.777777 FROM generate_series(1, 8000) g;
         CREATE TABLE visits (id int NOT NULL, cost float8 NOT NULL);
         INSERT INTO visits SELECT g, m * 1000 FROM generate_series(1, 8000) g, generate_series(1, 3) m;
         SELECT dp_set_budget('all', {budget});
         SELECT dp_protect('people', 'id', 'all', query_eps => 0.1),
             dp_protect('visits', 'id', 'all', query_eps => 0.1, rows => 3);
         SELECT dp_declare('people', 'dept', ARRAY['0', '1', '2', '3']), dp_declare('people', 'pay', 0, 100000),
             dp_declare('people', 'age', 0, 100), dp_declare('people', 'share', 0, 0.777777),
             dp_declare('visits', 'cost', 0, 5000);
         SELECT dp_allow('people', '{{analyst}}'), dp_allow('visits', '{{analyst}}')"
    );
    let mut asking = Asking::new(&made, 7);
    run(&mut asking.analyst, "SET dp_mean.reuse = on");
    asking
}

/// The numbers of an answer, as they are shown and as they were released. The second costs nothing.
fn both(asking: &mut Asking, sql: &str) -> [Vec<f64>; 2] {
    ["on", "off"].map(|setting| {
        run(
            &mut asking.analyst,
            &format!("SET dp_mean.round = {setting}"),
        );
        let free = format!("SELECT free FROM dp_cost($${sql}$$)");
        assert_eq!(
            value::<bool>(&mut asking.analyst, &free),
            setting == "off",
            "{sql}"
        );
        let rows = table(&mut asking.analyst, sql);
        let cells = rows
            .into_iter()
            .flatten()
            .map(|cell| cell.expect("no NULL"));
        cells.map(|cell| cell.parse().expect("a number")).collect()
    })
}

/// The unit of what is shown of noise with this standard deviation.
fn unit(sd: f64) -> f64 {
    10f64.powi(sd.log10().floor() as i32 - 1)
}

/// That numbers are shown in this unit: a multiple of it, the nearest one.
fn assert_rounded([shown, released]: &[Vec<f64>; 2], unit: f64, what: &str) {
    assert!(!shown.is_empty() && shown.len() == released.len(), "{what}");
    for (shown, released) in shown.iter().zip(released) {
        let off = (shown - released).abs();
        let multiples = shown / unit;
        assert!(
            (multiples - multiples.round()).abs() < 1e-6,
            "{what}: {shown}, {unit}"
        );
        assert!(
            off <= unit * 0.500_001,
            "{what}: {shown} {released}, {unit}"
        );
    }
    // Released numbers are between the multiples.
    assert_ne!(shown, released, "{what}");
}

/// Two digits beyond the standard deviation, as it follows from what dp_cost says.
fn assert_two_digits(budget: &str) {
    let mut asking = asking(budget);
    for (sql, number) in [
        ("SELECT sum(pay) FROM people", 1),
        ("SELECT sum(age) FROM people", 1),
        ("SELECT avg(pay) FROM people", 1),
        ("SELECT avg(age) FROM people WHERE dept = 1", 1),
        ("SELECT avg(age) AS a FROM people GROUP BY dept", 1),
        ("SELECT dp_sum(pay, 0, 50000, 0.1) FROM people", 1),
        ("SELECT dp_mean(pay, 0, 50000, 0.1) FROM people", 1),
        ("SELECT sum(cost) FROM visits", 1),
        ("SELECT avg(cost) FROM visits", 1),
        ("SELECT avg(cost) FROM visits WHERE cost > 1500", 1),
    ] {
        let groups = if sql.contains("GROUP") { 4.0 } else { 1.0 };
        let people = PEOPLE / groups;
        let noise: f64 = asking.cost_for(&format!("noise[{number}]"), sql, people);
        let answers = both(&mut asking, sql);
        let mut sd = noise / 1.96;
        if sql.contains("avg") || sql.contains("mean") {
            // By the noisy number of rows, which is near to this.
            let rows = match sql {
                sql if sql.contains("cost > 1500") => 2.0 * PEOPLE,
                sql if sql.contains("visits") => 3.0 * PEOPLE,
                sql if sql.contains("WHERE") => PEOPLE / 4.0,
                _ => people,
            };
            sd *= people / rows;
        }
        assert_rounded(&answers, unit(sd), sql);
    }
}

#[test]
fn two_digits_beyond_gaussian_noise_are_shown() {
    assert_two_digits("30, 1e-6");
}

#[test]
fn two_digits_beyond_pure_noise_are_shown() {
    assert_two_digits("30, 0");
}

/// Of several answers of a block, each has its own; what is about them outside sees what is shown.
#[test]
fn each_answer_of_a_block_is_rounded_for_itself() {
    let mut asking = asking("30, 1e-6");
    let sql = "SELECT avg(pay), avg(age), sum(pay), count(*) FROM people";
    let [shown, released] = both(&mut asking, sql);
    // Of noise of 69 times the square root of 2 or less in 100,000 of 8,000 rows, and so on.
    for (i, units) in [
        (0, [1.0, 10.0]),
        (1, [0.001, 0.01]),
        (2, [1e4, 1e5]),
        (3, [1.0; 2]),
    ] {
        let off = (shown[i] - released[i]).abs();
        assert!(
            off <= units[1] / 2.0 * 1.000_001,
            "{i}: {shown:?} {released:?}"
        );
        let multiples = shown[i] / units[0];
        assert!(
            (multiples - multiples.round()).abs() < 1e-6,
            "{i}: {shown:?}"
        );
    }
    run(&mut asking.analyst, "SET dp_mean.round = on");
    let twice = asking.numbers("SELECT ARRAY[avg(pay), 2 * avg(pay)] FROM people");
    assert_eq!(twice[0] * 2.0, twice[1]);
    let kept: f64 = value(
        &mut asking.analyst,
        "SELECT avg(pay) FROM people HAVING avg(pay) > 1",
    );
    assert_eq!(kept, twice[0]);
}

/// A bound with more digits than are shown is not left.
#[test]
fn what_is_shown_stays_between_the_bounds() {
    let mut asking = asking("30, 1e-6");
    let mut at_the_bound = 0;
    for i in 0..20 {
        let sql = format!("SELECT avg(share) FROM people WHERE id > {i}");
        let shown = both(&mut asking, &sql)[0][0];
        assert!((0.0..=0.777_777).contains(&shown), "{shown}");
        at_the_bound += usize::from(shown == 0.777_777);
    }
    // Half of the noise is above the bound.
    assert!((3..=17).contains(&at_the_bound), "{at_the_bound}");
}

/// What hangs on more than public numbers and a number of rows is shown as it was released; so is all with the setting off.
#[test]
fn other_answers_are_as_they_were_released() {
    let mut asking = asking("30, 1e-6");
    for sql in [
        "SELECT stddev(pay), variance(age) FROM people",
        "SELECT corr(pay, age), regr_slope(pay, age) FROM people",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY pay) FROM people",
        "SELECT count(*) FROM people",
        "SELECT (dp_mean_estimate(pay, 0, 100000, 0.1)).value FROM people",
        "SELECT dp_mean(pay, 0, 100000, 0.1, 'smooth') FROM people",
    ] {
        let [shown, released] = both(&mut asking, sql);
        assert_eq!(shown, released, "{sql}");
    }
}

/// An aggregate that a role calls on rows that it may read is no answer of the gate.
#[test]
fn who_reads_the_rows_gets_all_digits() {
    let mut asking = asking("30, 1e-6");
    let sql = "SELECT dp_sum(pay, 0, 100000, 0.1) FROM people";
    let sum: f64 = value(&mut asking.root, sql);
    let unit = unit(2f64.sqrt() * 1e5 / 0.1);
    let multiples = sum / unit;
    assert!((multiples - multiples.round()).abs() > 1e-9, "{sum}");
}

/// A count with noise of more than a hundred is rounded too, to whole tens.
#[test]
fn counts_are_rounded_where_their_noise_is_large() {
    let mut asking = asking("30, 1e-6");
    run(&mut asking.analyst, "SET dp_mean.epsilon = 0.00001");
    for sql in [
        "SELECT count(*) FROM people",
        "SELECT dept, count(*) FROM people GROUP BY dept",
        "SELECT count(*) FILTER (WHERE age > 3), count(*) FILTER (WHERE age > 9) FROM people",
    ] {
        let counts = format!("SELECT count FROM ({sql}) AS s");
        let sql = match sql.contains("FILTER") {
            true => sql,
            false => &counts,
        };
        let noise: f64 = asking.cost("noise[1]", sql);
        let unit = unit(noise / 1.96);
        assert!(unit >= 10.0, "{sql}: {unit}");
        let answers = both(&mut asking, sql);
        assert_rounded(&answers, unit, sql);
    }
}

/// A released answer that is joined with private rows is rounded there as well.
#[test]
fn an_answer_beside_private_rows_is_rounded() {
    let mut asking = asking("30, 1e-6");
    run(&mut asking.analyst, "SET dp_mean.round = on");
    let sql = "SELECT count(*) FROM people JOIN (SELECT dept, avg(pay) AS mean FROM people GROUP BY dept) AS s \
               USING (dept) WHERE pay > mean";
    let above: i64 = value(&mut asking.analyst, sql);
    assert!((above - 4000).abs() < 300, "{above}");
}
