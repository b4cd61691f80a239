//! Answers that are drawn together: what they cost, and that none has more noise than alone.

use dp_core::registry::{SUMS, of_many};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::staircase::least_variance;
use dp_core::together::{Room, best_shared, price_of_cube, price_of_gaussian};

use crate::planning::near;

/// At the best variance of the number of all rows.
fn price(rooms: &[Room], most: f64) -> f64 {
    price_of_gaussian(rooms, Some(best_shared(rooms, most)))
}

#[test]
fn one_answer_costs_what_it_costs_alone() {
    near(price(&[Room::MEAN], 2.0), 1.0, 1e-12);
    near(price(&[Room::COUNT], 4.0), 1.0, 1e-12);
    near(price(&[Room::sum(3.0, 9.0)], 4.0), 1.0, 1e-12);
    near(
        price_of_gaussian(&[Room::MEAN, Room::ROWS], None),
        1.0,
        1e-12,
    );
    near(price_of_gaussian(&[Room::sum(-7.0, 7.0)], None), 1.0, 1e-12);
    near(price_of_cube(2, 1e-3), 1.0, 1e-6);
}

#[test]
fn prices_are_those_of_the_page() {
    for count in [1.0, 2.0, 4.0, 9.0, 64.0] {
        let rooms = vec![Room::COUNT; count as usize];
        near(price(&rooms, f64::INFINITY), of_many(count, true), 1e-12);
        near(best_shared(&rooms, 9.0), 4.0 / (1.0 + count.sqrt()), 1e-9);
        // Means of all rows share their number; others have numbers of their own.
        let means = vec![Room::MEAN; count as usize];
        near(price(&means, 2.0), (count + 1.0) / 2.0, 1e-12);
        let rows = vec![Room::ROWS_OF_ALL; count as usize];
        let all = [means, rows].concat();
        let expected = count / 2.0 + (1.0 + count.sqrt()).powi(2) / 8.0;
        near(price(&all, f64::INFINITY), expected, 1e-12);
    }
    near(price_of_cube(9, 1e-3), (110.0f64 / 12.0).sqrt(), 1e-6);
}

/// By sums with bounds of both signs too: a count, and sums from 0, are the case in which the middle is half.
#[test]
fn no_answer_has_more_noise_than_alone() {
    let sums = [
        (-1.0, 1.0),
        (-3.0, 9.0),
        (-8.0, 2.0),
        (0.0, 5.0),
        (4.0, 5.0),
        (-5.0, -1.0),
    ];
    for many in [0, 1, 3, 20] {
        for (lo, hi) in sums {
            let mut rooms = vec![Room::COUNT; many];
            let sum = Room::sum(lo, hi);
            rooms.extend([sum, Room::MEAN, Room::ROWS_OF_ALL]);
            for most in [1.0, 2.0, f64::INFINITY] {
                let u = best_shared(&rooms, most);
                assert!(u > 0.0 && u <= most);
                near((Room::COUNT.at(u) + u) / 4.0, 1.0, 1e-12);
                near((Room::ROWS_OF_ALL.at(u) + u) / 4.0, 2.0, 1e-12);
                let (from, to) = (f64::min(lo, 0.0), f64::max(hi, 0.0));
                let (half, middle) = ((to - from) / 2.0, (to + from) / 2.0);
                let variance = half * half * sum.at(u) + middle * middle * u;
                near(variance, lo.abs().max(hi.abs()).powi(2), 1e-12);
                // No other variance of the number of all rows is cheaper.
                let least = price_of_gaussian(&rooms, Some(u));
                for other in (1..400).map(|i| f64::from(i) / 100.0) {
                    let fits = other <= most && rooms.iter().all(|room| room.at(other) > 0.0);
                    let price = price_of_gaussian(&rooms, Some(other));
                    assert!(!fits || price >= least - 1e-9, "{lo} {hi} {most} {other}");
                }
            }
        }
    }
}

/// By the mechanism itself, beside the noise of a count, of a sum and of a mean alone.
#[test]
fn a_cube_has_no_more_noise_than_answers_alone() {
    for epsilon in [0.01, 0.1, 0.5, 1.0, 3.0] {
        let tail = f64::exp(-epsilon);
        let count = 2.0 * tail / (1.0 - tail).powi(2);
        let sum = least_variance(epsilon);
        for numbers in [2, 3, 9, 40] {
            let spent = epsilon * price_of_cube(numbers, epsilon);
            // Above what a call may spend.
            if spent > 50.0 {
                continue;
            }
            let text = format!("knorm(d={numbers})");
            let arguments = Arguments {
                bounds: Some((Some(-1.0), Some(1.0))),
                epsilon: Some(spent),
                mechanism: MechanismArgument::Given(Some(&text)),
                ..Arguments::default()
            };
            let mechanism = SUMS.build(&arguments).expect("a mechanism");
            let variance = mechanism.spread().sd.powi(2);
            // Epsilon is kept to 2^-32 of its value.
            let alone = (2.0 * count).min(2.0 * sum).min(4.0 * sum - 2.0 * count);
            near(variance, alone, 1e-6);
            assert!(variance / 2.0 <= count * (1.0 + 1e-6));
            assert!(variance / 2.0 <= sum * (1.0 + 1e-6));
        }
    }
}
