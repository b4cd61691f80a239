//! Totals of people with several rows that find how much of a person counts: `auto_rows`.

use dp_mean_tests::{run, value};

use super::asking::Asking;
use super::table;

/// 6,000 people with 1 to 20 rows each, and one with 50,000 in a region of their own; `pays` is what the budget has.
fn world(pays: &str) -> Asking {
    let made = format!(
        "CREATE TABLE trips (id int NOT NULL, zone int NOT NULL, region text NOT NULL, fare float8);
                 INSERT INTO trips SELECT p, p % 2, 'r' || p % 3, CASE WHEN g % 5 > 0 THEN (p + g) % 40 END
                     FROM generate_series(1, 6000) p, generate_series(1, 1 + p % 20) g;
                 INSERT INTO trips SELECT 0, 3, 'alone', 40 FROM generate_series(1, 50000);
                 SELECT dp_set_budget('all', {pays}),
                     dp_protect('trips', 'id', 'all', query_eps => 1, query_delta => 1e-9, auto_rows => true),
                     dp_declare('trips', 'fare', 0, 50), dp_declare('trips', 'zone', ARRAY['0', '1', '2']),
                     dp_allow('trips', '{{analyst}}');"
    );
    Asking::new(&made, 5)
}

/// That the analyst's numbers are those of all but the person with 50,000 rows, but for `slack` of each.
fn assert_near(world: &mut Asking, calls: &str, rest: &str, slack: f64) {
    let sql = format!("SELECT ARRAY[{calls}]::float8[] FROM trips {rest}");
    let word = if rest.contains("WHERE") {
        "AND"
    } else {
        "WHERE"
    };
    let true_rest = match rest.split_once("GROUP BY") {
        Some((before, by)) => format!("{before} {word} id > 0 GROUP BY {by}"),
        None => format!("{rest} {word} id > 0"),
    };
    let truth: Vec<f64> = value(
        &mut world.root,
        &format!("SELECT ARRAY[{calls}]::float8[] FROM trips {true_rest}"),
    );
    let numbers = world.numbers(&sql);
    for (number, truth) in numbers.iter().zip(&truth) {
        assert!(
            (number / truth - 1.0).abs() < slack,
            "{sql}: {numbers:?}, not {truth:?}"
        );
    }
}

/// With Gaussian prices and with pure ones, of a sum, of counts of rows with and without a condition, whole and by group.
#[test]
fn totals_are_right_without_a_guess() {
    for pays in ["300, 1e-6", "300, 0"] {
        let mut world = world(pays);
        assert_near(&mut world, "count(*), sum(fare), count(fare)", "", 0.04);
        assert_near(
            &mut world,
            "count(*), count(*) FILTER (WHERE fare < 20)",
            "",
            0.04,
        );
        assert_near(&mut world, "sum(fare), count(*)", "WHERE fare > 10", 0.04);
        assert_near(
            &mut world,
            "count(*), sum(fare)",
            "WHERE zone = 1 GROUP BY zone",
            0.06,
        );
        // What is no total is as ever: of people.
        let sql = "SELECT ARRAY[count(DISTINCT id), avg(fare)] FROM trips";
        let numbers = world.numbers(sql);
        assert!((numbers[0] - 6001.0).abs() < 40.0, "{numbers:?}");
        assert!((numbers[1] - 19.5).abs() < 1.0, "{numbers:?}");
    }
}

/// A total is one release at the usual price, and no number of people: groups are chosen by one of these.
#[test]
fn a_total_is_no_number_of_people() {
    let mut world = world("300, 1e-6");
    let total = "dp_sum: auto(groups=1, rows=1)";
    assert_eq!(world.mechanisms("SELECT count(*) FROM trips"), total);
    let price = world.price("SELECT count(*), sum(fare) FROM trips");
    assert!((price - 2.0).abs() < 1e-6, "{price}");
    let sql = "SELECT region, count(*) FROM trips GROUP BY region";
    let mechanisms = world.mechanisms(sql);
    assert!(mechanisms.contains(total), "{mechanisms}");
    assert!(mechanisms.contains("dp_count: gaussian"), "{mechanisms}");
    let shown: Vec<_> = table(&mut world.analyst, sql);
    let keys: Vec<_> = shown.iter().filter_map(|row| row[0].clone()).collect();
    assert_eq!(keys, ["r0", "r1", "r2"]);
}

/// A session that says how many rows count gets fewer of them, and less noise.
#[test]
fn a_session_may_say_how_many_rows_count() {
    let mut world = world("300, 1e-6");
    run(&mut world.analyst, "SET dp_mean.rows = 1");
    let mechanisms = world.mechanisms("SELECT count(*) FROM trips");
    assert!(mechanisms.contains("dp_count: gaussian"), "{mechanisms}");
    let numbers = world.numbers("SELECT ARRAY[count(*)]::float8[] FROM trips");
    assert!((numbers[0] - 6001.0).abs() < 60.0, "{numbers:?}");
    run(&mut world.analyst, "RESET dp_mean.rows");
    let policy = "SELECT auto_rows FROM dp_policies WHERE relation = 'trips'::regclass";
    assert!(value::<bool>(&mut world.analyst, policy));
    run(
        &mut world.root,
        "SELECT dp_protect('trips', 'id', 'all', query_eps => 1)",
    );
    assert!(!value::<bool>(&mut world.analyst, policy));
    let mechanisms = world.mechanisms("SELECT count(*) FROM trips");
    assert!(mechanisms.contains("dp_count: gaussian"), "{mechanisms}");
}

/// Of a row for each person there is nothing to find.
#[test]
fn a_row_for_each_person_counts_as_one() {
    let mut world = world("300, 1e-6");
    let sql = "SELECT count(*), sum(n) FROM (SELECT id, least(count(*), 20) AS n FROM trips GROUP BY id) AS s";
    let mechanisms = world.mechanisms(sql);
    assert!(!mechanisms.contains("auto"), "{mechanisms}");
}

/// Noise beyond what a bigint can be is the nearest bigint, and no error.
#[test]
fn a_total_is_within_its_type() {
    let mut world = world("300, 0");
    run(
        &mut world.root,
        "SELECT dp_declare('trips', 'id', -1e99, 1e99), dp_protect('trips', 'id', 'all', query_eps => 0.001)",
    );
    let sql =
        "SELECT ARRAY[abs(sum(id)), abs(sum(id) FILTER (WHERE fare > 3))]::float8[] FROM trips";
    assert_eq!(world.numbers(sql), [9_223_372_036_854_774_784.0; 2]);
}
