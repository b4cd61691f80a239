//! `dp_corr_estimate`: its intervals hold what PostgreSQL's own functions say of the rows, and say where they are blind.

use dp_mean_tests::{Build, run, session, value};
use postgres::Client;

/// 4,000 rows, of 2,000 people.
const ROWS: &str = "CREATE TABLE t AS SELECT g AS id, g / 2 AS person, g % 10 AS x, 3 * (g % 10) + g % 7 AS y \
     FROM generate_series(0, 3999) g";

fn prepared() -> (dp_mean_tests::Database, Client) {
    let (database, mut client) = session(Build::Testing);
    run(&mut client, ROWS);
    run(&mut client, "SELECT dp_test_seed(11)");
    (database, client)
}

#[test]
fn intervals_hold_the_correlation_and_the_slope_of_the_rows() {
    let (_database, mut client) = prepared();
    for call in [
        "dp_corr_estimate(y, x, 0, 40, 0, 10, 2, 'laplace', 0.999999)",
        "dp_corr_estimate(y, x, 0, 40, 0, 10, NULL, 'gaussian(mu=1)', 0.999999)",
    ] {
        for _ in 0..20 {
            let sql = format!(
                "SELECT (e).lower <= c AND c <= (e).upper AND (e).slope_lower <= s AND s <= (e).slope_upper \
                 AND (e).value BETWEEN (e).lower AND (e).upper AND (e).slope BETWEEN (e).slope_lower AND (e).slope_upper \
                 AND (e).population_lower <= (e).lower AND (e).upper <= (e).population_upper \
                 AND (e).upper - (e).lower < 0.2 AND abs((e).count - 4000) < 400 \
                 FROM (SELECT {call} AS e, corr(y, x) AS c, regr_slope(y, x) AS s FROM t) r"
            );
            let holds: bool = value(&mut client, &sql);
            assert!(holds, "{call}");
        }
    }
}

#[test]
fn a_larger_confidence_is_a_wider_interval() {
    let (_database, mut client) = prepared();
    let width = |client: &mut Client, more: &str| -> f64 {
        run(client, "SELECT dp_test_seed(12)");
        let call = format!("dp_corr_estimate(y, x, 0, 40, 0, 10, 1{more})");
        value(
            client,
            &format!("SELECT (e).upper - (e).lower FROM (SELECT {call} AS e FROM t) r"),
        )
    };
    let usual = width(&mut client, "");
    assert_eq!(usual, width(&mut client, ", 'laplace', 0.95"));
    assert!(width(&mut client, ", 'laplace', 0.99") > usual);
    assert!(width(&mut client, ", 'laplace', 0.5") < usual);
}

#[test]
fn without_rows_or_a_spread_all_is_possible() {
    let (_database, mut client) = prepared();
    for from in ["t WHERE false", "(SELECT 5 AS y, 3 AS x FROM t) c"] {
        let mut blind = 0;
        for _ in 0..20 {
            let sql = format!(
                "SELECT (e).lower = -1 AND (e).upper = 1 AND (e).slope_lower = '-Infinity' AND (e).slope_upper = 'Infinity' \
                 FROM (SELECT dp_corr_estimate(y, x, 0, 40, 0, 10, 1) AS e FROM {from}) r"
            );
            let is_blind: bool = value(&mut client, &sql);
            blind += usize::from(is_blind);
        }
        assert!(blind >= 15, "{from}: {blind}");
    }
}

#[test]
fn people_count_once() {
    let (_database, mut client) = prepared();
    let sql = "SELECT (e).unit LIKE 'person %', (e).lower <= c AND c <= (e).upper, abs((e).count - 2000) < 200, e::text \
               FROM (SELECT dp_corr_estimate(py, px, 0, 40, 0, 10, 4, 'laplace', 0.999999) AS e, corr(my, mx) AS c \
               FROM (SELECT dp_contribution(y, 0, 40) AS py, dp_contribution(x, 0, 10) AS px, avg(y)::float8 AS my, \
               avg(x)::float8 AS mx FROM t GROUP BY person) p) r";
    for _ in 0..10 {
        let row = client.query_one(sql, &[]).expect("an estimate");
        let holds = [0, 1, 2].map(|i| row.get::<_, bool>(i));
        assert_eq!(holds, [true; 3], "{}", row.get::<_, String>(3));
    }
}
