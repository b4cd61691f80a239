//! A sum that finds its bound: the law of that choice loses no more than its share on all small tables, and the code follows it; a row
//! moves what is released by no more than the noise is for; shares add up; how good it is; what odd rows do.

use dp_core::encoding::grid::{Bounds, STEPS};
use dp_core::encoding::log_bins::{Content, LOWEST, Limits, OctaveCounts};
use dp_core::encoding::ranges::{Range, magnitudes};
use dp_core::mechanism::bounds_search::answer::AutoAnswer;
use dp_core::mechanism::bounds_search::ends::{Ends, Outside, Prior};
use dp_core::mechanism::sum::bounded_by_search::{Auto, OfSum};
use dp_core::mechanism::sum::inputs::SumMechanism;
use dp_core::registry::SUM;
use dp_core::sampler::staircase::least_variance;

use crate::auto::{
    Draws, LAWS, Law, REFUSED, arguments, assert_intervals, assert_ratios, counted, epsilon, loss,
    worst,
};
use crate::stats::assert_law;
use crate::words::{Narrow, Seeded};

const PRIOR: Prior = Prior {
    wide: 4.0,
    narrow: 4.0,
};

fn limits(lo: f64, hi: f64) -> Limits {
    Limits::around_zero(&Bounds::new(Some(lo), Some(hi)).unwrap())
}

fn auto(limits: Limits, e: f64) -> Auto {
    Auto::new(limits, epsilon(e), 0.0)
}

fn released(limits: Limits, e: f64, rows: &[f64], seed: u64) -> AutoAnswer<f64> {
    let rows = counted(&limits, rows.iter().copied());
    auto(limits, e).release_from(&rows, &mut Seeded::new(seed))
}

// The bound -----------------------------------------------------------------------------------------------

/// Where edges are, in 64ths: one more than there are bins of magnitudes.
fn places(edges: usize) -> Vec<i64> {
    (0..edges as i64)
        .map(|edge| 30 + 40 * edge * edge)
        .collect()
}

/// Bins of magnitudes, side by side and of both signs, from the most negative to the largest; an edge before each and behind them. A row is
/// outside of an edge if its magnitude's bin begins there or later.
fn outside(counts: &[i128]) -> Vec<i128> {
    let half = counts.len() / 2;
    let of_magnitude = |bin: usize| counts[half + bin] + counts[half - 1 - bin];
    (0..=half)
        .map(|edge| (edge..half).map(of_magnitude).sum())
        .collect()
}

/// The probability of each bound, from the weights that the source promises: `U^-4 e^(-e rows)`.
fn bound_law(counts: &[i128], e: f64) -> Vec<f64> {
    let rows = outside(counts);
    let at = places(rows.len());
    let weights: Vec<f64> = rows
        .iter()
        .zip(&at)
        .map(|(rows, at)| (*at as f64 / 64.0).powi(-4) * (-e * *rows as f64).exp())
        .collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// The same from the scores, as the code has them.
fn law_of_scores(counts: &[i128], e: f64) -> Vec<f64> {
    let rows = outside(counts);
    let scores = Ends::new(epsilon(e)).scores_of_one(&rows, &places(rows.len()), PRIOR);
    let weights: Vec<f64> = scores
        .iter()
        .map(|score| (-epsilon(e).value() / 64.0 * *score as f64).exp())
        .collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

#[test]
fn a_bound_loses_no_more_than_its_epsilon() {
    for e in [0.3, 1.0, 2.0] {
        let mut most = 0.0f64;
        for bins in [2, 4, 6] {
            let rows = if bins == 6 { 2 } else { 3 };
            most = most.max(worst(bins, rows, |counts| law_of_scores(counts, e)));
        }
        assert!(
            most / e <= 1.0 + 1e-9 && most / e > 0.9,
            "{e}: {}",
            most / e
        );
    }
}

/// What must not be built: an end for each side, both at this epsilon.
#[test]
fn two_bounds_by_two_choices_lose_more() {
    let e = 1.0;
    let two = |counts: &[i128]| {
        // The same rows, asked about twice.
        let law = law_of_scores(counts, e);
        let pairs = law.iter().flat_map(|p| law.iter().map(move |q| p * q));
        pairs.collect::<Vec<f64>>()
    };
    assert!(worst(4, 3, two) > 1.8 * e);
}

#[test]
fn a_bound_follows_the_law_that_the_proof_is_about() {
    for (e, counts) in [
        (0.3, vec![1, 4, 0, 2]),
        (1.0, vec![0, 2, 1, 0, 0, 1]),
        (2.0, vec![1, 0, 3, 0]),
    ] {
        let (ends, rows) = (Ends::new(epsilon(e)), outside(&counts));
        let (at, law) = (places(rows.len()), law_of_scores(&counts, e));
        // Weights are powers, but for half a step of a score.
        assert!(loss(&law, &bound_law(&counts, e)) <= e / 64.0 * (1.0 + 1e-9));
        let draws = 20_000;
        let mut wide = Seeded::new(5);
        let mut narrow = Narrow::<3>(Seeded::new(6));
        let mut seen = [vec![0; law.len()], vec![0; law.len()]];
        for _ in 0..draws {
            seen[0][ends.choose_one(&rows, &at, PRIOR, &mut wide)] += 1;
            seen[1][ends.choose_one(&rows, &at, PRIOR, &mut narrow)] += 1;
        }
        for seen in seen {
            assert_law(&format!("{e}"), draws, seen.into_iter().zip(law.clone()));
        }
    }
}

const VALUES: [f64; 13] = [
    0.0, 1e-12, 0.3, -0.3, 1.0, -1.0, 1.25, -1.3, 7.99, 8.0, -8.0, 100.0, -1e19,
];

/// The numbers that a bound is chosen by are of rows of its magnitude and of larger ones, so that each row moves them by 0 or 1.
#[test]
fn a_row_is_outside_of_a_bound_up_to_its_magnitude() {
    for (limits, x) in [Limits::NONE, limits(-3.0, 1e9), limits(2.0, 5.0)]
        .into_iter()
        .flat_map(|limits| VALUES.map(|x| (limits, x)))
    {
        let clamped = x.clamp(limits.lo(), limits.hi());
        for quarters in [false, true] {
            let edges = magnitudes(&limits, 0, [-4, 6], quarters);
            assert!(!edges.is_empty());
            let rows = Outside::on_both_sides(&counted::<Content>(&limits, [x]).counts(), &edges);
            for (edge, rows) in edges.iter().zip(rows) {
                let bound = edge.at as f64 / 64.0;
                // Beyond the limits there is none.
                let farthest = limits.lo().abs().max(limits.hi().abs());
                let is_beyond = clamped.abs() >= bound && bound < farthest;
                assert_eq!(rows, i128::from(is_beyond), "{x} {bound}");
            }
        }
    }
}

#[test]
fn a_row_moves_a_sum_by_no_more_than_the_noise_is_for() {
    let most = i128::from(STEPS);
    for limits in [Limits::NONE, limits(-3.0, 1e9), limits(0.0, 5.0)] {
        let edges = magnitudes(&limits, 0, [-4, 6], true);
        let ranges = edges.iter().map(|edge| Range::around(&limits, 0, edge));
        for range in ranges {
            let mut reached = 0;
            let mut rows = OctaveCounts::new();
            for (i, x) in VALUES.iter().cycle().take(60).enumerate() {
                let before = rows.steps_from_zero(&range);
                rows.add_row(limits.place_of(x * (1.0 + i as f64 / 300.0)));
                let moved = rows.steps_from_zero(&range) - before;
                assert!(moved.abs() <= most, "{x}: {moved}");
                reached = reached.max(moved.abs());
            }
            assert!(reached == most, "{reached}");
            // As it is without bins, give or take their rounding.
            let bound = range.upper();
            let exact: f64 = VALUES
                .iter()
                .map(|x| x.clamp(limits.lo(), limits.hi()).clamp(-bound, bound))
                .sum();
            let all: OctaveCounts = counted(&limits, VALUES);
            let found = all.steps_from_zero(&range) as f64 / STEPS as f64 * bound;
            assert!((found - exact).abs() <= bound * 1e-8, "{found} {exact}");
        }
    }
}

// The chain -----------------------------------------------------------------------------------------------

#[test]
fn shares_add_up_whatever_is_found() {
    let (none, some) = (Limits::NONE, limits(0.0, 1000.0));
    let octave = |rows| auto(none, 1.0).search().of_octave(rows);
    let mut without = [0; 2];
    for rows in [0, 3, 30, 100, 1000, 20_000] {
        let rows: Vec<f64> = (0..rows).map(|i| f64::from(i % 100)).collect();
        for seed in 0..30 {
            for (i, limits) in [none, some].into_iter().enumerate() {
                let found = released(limits, 1.0, &rows, seed);
                let spent = 3 + octave(found.nonzero) + found.parts;
                let all = found.bounds == [0.0, [0.0, 1000.0][i]];
                assert!(spent + 16 == 64 || i == 1 && all && spent == 64);
                without[i] += u32::from(all && found.few);
            }
        }
    }
    assert!(without.iter().all(|times| *times > 30), "{without:?}");
}

#[test]
fn bounds_and_sums_are_near_what_rows_say() {
    let rows: Vec<f64> = (0..10_000).map(|i| f64::from(i) / 100.0).collect();
    let signed: Vec<f64> = rows.iter().map(|x| x - 30.0).collect();
    let below: Vec<f64> = rows.iter().map(|x| -x).collect();
    for seed in 0..20 {
        for (rows, sum) in [
            (&rows, 499_950.0),
            (&signed, 199_950.0),
            (&below, -499_950.0),
        ] {
            let found = released(Limits::NONE, 1.0, rows, seed);
            let [lo, hi] = found.bounds;
            assert!(lo == -hi && (50.0..=512.0).contains(&hi), "{lo} {hi}");
            assert!((found.answer - sum).abs() < 20_000.0, "{}", found.answer);
            assert!((found.nonzero - 10_000).abs() < 1000 && !found.few);
        }
        // The bounds are those of the limits, where these are nearer.
        let found = released(limits(-5.0, 1e6), 1.0, &signed, seed);
        assert!(found.bounds[0] == -5.0 && found.bounds[1] < 512.0);
        let found = released(limits(0.0, 70.0), 1.0, &rows, seed);
        assert!(found.bounds[0] == 0.0 && found.bounds[1] <= 70.0);
        // Rows that are all far from 0 are as large as they are.
        let found = released(limits(1e6, 2e6), 1.0, &[1.5e6; 5000], seed);
        assert!((found.answer / 7.5e9 - 1.0).abs() < 0.2, "{found:?}");
    }
}

#[test]
fn odd_rows_are_rows() {
    let none = Limits::NONE;
    for seed in 0..20 {
        for rows in [vec![], vec![0.0; 5000], vec![-0.0, 5e-324, -1e-300, 1e-13]] {
            let found = released(none, 1.0, &rows, seed);
            assert!(found.answer.abs() < 1e-6 || seed > 0, "{found:?}");
            assert!(!found.answer.is_nan() && found.answer.to_bits() != (-0.0f64).to_bits());
        }
        for x in [f64::INFINITY, f64::MAX, 1e18] {
            for sign in [1.0, -1.0] {
                let found = released(none, 1.0, &vec![sign * x; 5000], seed).answer;
                assert!(
                    (found * sign / 5000.0 / 1.15e18 - 1.0).abs() < 0.3,
                    "{found}"
                );
            }
        }
        let rows = [vec![1e-11; 5000], vec![f64::NEG_INFINITY]].concat();
        assert!(released(none, 1.0, &rows, seed).answer.abs() < 1e-6);
        let both = [vec![f64::INFINITY; 3000], vec![f64::NEG_INFINITY; 2000]].concat();
        let found = released(limits(-10.0, 30.0), 1.0, &both, seed).answer;
        assert!((found - 70_000.0).abs() < 3000.0, "{found}");
        let found = released(limits(-1e308, 5e307), 1.0, &both, seed).answer;
        assert!((found / 1000.0 / 1.15e18 - 1.0).abs() < 0.5, "{found}");
    }
}

// Accuracy ------------------------------------------------------------------------------------------------

/// The squared error of the sum with the bound, a row's magnitude, that is the best one for these rows: of noise, and of clamping,
/// whose biases on both sides add up.
fn oracle(sorted: &[f64], e: f64) -> f64 {
    let mut magnitudes: Vec<f64> = sorted.iter().map(|x| x.abs()).collect();
    magnitudes.sort_by(f64::total_cmp);
    let (mut best, mut beyond) = (f64::INFINITY, 0.0);
    for (rows, pair) in magnitudes.windows(2).rev().enumerate() {
        let bound = pair[1];
        best = f64::min(
            best,
            least_variance(e) * bound * bound + f64::powi(beyond, 2),
        );
        beyond += (rows + 1) as f64 * (pair[1] - pair[0]);
        if rows > sorted.len() / 2 {
            break;
        }
    }
    best
}

/// The laws of means, and one that is as far below zero as above it.
pub(crate) fn of_both_signs() -> Vec<Law> {
    let centred: Law = ("centred", |d| 15.0 * d.normal());
    LAWS.into_iter().chain([centred]).collect()
}

/// The figures of docs/proofs/sum-auto.md are from here, by
/// `cargo test -p dp_core --profile testing --features testing -- auto_sum:: --nocapture`.
#[test]
fn errors_are_less_than_twice_those_of_the_best_bound() {
    let expected = [
        (1000, 0.5, 2.0, 3.0),
        (1000, 1.0, 2.0, 3.0),
        (10_000, 0.1, 2.0, 3.0),
        (10_000, 1.0, 2.0, 3.0),
    ];
    assert_ratios(&of_both_signs(), 50, expected, |measured, e| {
        let auto = auto(Limits::NONE, e);
        measured.ratio(
            |sorted| oracle(sorted, e),
            |sorted| sorted.iter().sum(),
            |counts, words| auto.release_from(counts, words).answer,
        )
    });
}

/// Of the sum of the rows clamped to the bounds that were found, whatever these are.
#[cfg(feature = "testing")]
#[test]
fn intervals_hold_the_sum_of_the_clamped_rows() {
    use dp_core::mechanism::definition::Mechanism;
    let sum = |rows: &[f64]| rows.iter().sum();
    let law = |d: &mut Draws| 60.0 + 40.0 * d.normal();
    assert_intervals::<OfSum>(law, sum, false, 100, |release| {
        let ([lower, upper], [least, most]) = (release.plain, release.wider);
        assert!((lower..=upper).contains(&release.found.answer));
        let [_, hi] = release.found.bounds;
        if hi > 0.0 {
            let more = 20.0 / release.epsilon * hi;
            assert!((lower - least) / more > 0.99 && (most - upper) / more > 0.99);
        } else {
            assert_eq!([lower, upper], [f64::NEG_INFINITY, f64::INFINITY]);
        }
    });
    let of_positive = auto(limits(0.0, 1e4), 0.1).intervals(0.05).unwrap();
    let nobody = released(limits(0.0, 1e4), 0.1, &[], 3);
    assert_eq!(of_positive(&nobody)[0], 0.0);
}

// A call --------------------------------------------------------------------------------------------------

fn called(bounds: [Option<f64>; 2], text: &str) -> Result<Limits, &'static str> {
    match SUM.build(&arguments(bounds, text)) {
        Ok(sum) => match *sum {
            SumMechanism::Auto(auto) => Ok(*auto.limits()),
            SumMechanism::Sums(_) => Err("another mechanism"),
        },
        Err(error) => Err(error.argument),
    }
}

#[test]
fn limits_are_two_or_none() {
    assert_eq!(called([None, None], "auto"), Ok(Limits::NONE));
    assert_eq!(called([Some(1.0), Some(2.0)], "auto"), Ok(limits(1.0, 2.0)));
    assert_eq!(
        called([Some(1.0), Some(1.0 + 1e-15)], "auto(beyond=3)"),
        Ok(limits(1.0, 1.0 + 1e-15))
    );
    let tiny = 2f64.powi(LOWEST - 1);
    let of_sum = [
        ([Some(-tiny), Some(tiny)], "auto", "hi"),
        ([None, None], "staircase", "lo"),
    ];
    for (bounds, text, argument) in REFUSED.into_iter().chain(of_sum) {
        assert_eq!(called(bounds, text), Err(argument), "{bounds:?} {text}");
    }
}
