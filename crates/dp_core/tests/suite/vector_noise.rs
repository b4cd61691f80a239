//! Mechanisms of vectors: the noise of what they release against what they say of it, and their variances against the
//! literature.

use dp_core::encoding::sums::Totals;
use dp_core::mechanism::vector::items::{Relation, Spread, Vector, VectorAnswer};
use dp_core::random::Generator;

use crate::stats::{Moments, Z_ALPHA};
use crate::vectors::{KINDS, KNOWN, Kind, MUS, RELATIONS, built, mechanisms, weights, word};

/// Any answer of a mechanism, with these numbers.
fn answer(mechanism: &Vector, total: Option<f64>, parts: Vec<f64>) -> VectorAnswer {
    let empty = Totals::new(mechanism.rows().length);
    let mut answer = mechanism.release(&empty, &mut Generator::from_seed(0));
    (answer.total, answer.parts) = (total, parts);
    answer
}

fn near(found: f64, expected: f64, what: &str) {
    let close = (found - expected).abs() <= 1e-12 * expected.abs();
    assert!(close, "{what}: {found}, expected {expected}");
}

/// An independent noise of an answer: its variance, and what a unit of it does to the parts and
/// to the total.
struct Source {
    variance: f64,
    parts: Vec<f64>,
    total: f64,
}

/// The spread that a mechanism reports is that of these independent noises, taken through its own
/// `values`.
fn assert_spread(mechanism: &Vector, sources: &[Source], what: &str) {
    let spread = mechanism.spread();
    // Of the first value with itself, the second and the total, and of the total with itself.
    let mut found = [0.0; 4];
    for source in sources {
        let total = spread.total_sd.map(|_| source.total);
        let effect = answer(mechanism, total, source.parts.clone()).values();
        let products = [
            effect[0] * effect[0],
            effect[0] * effect[1],
            effect[0] * source.total,
            source.total * source.total,
        ];
        for (sum, product) in found.iter_mut().zip(products) {
            *sum += source.variance * product;
        }
    }
    near(spread.sd.powi(2), found[0], what);
    let covariance = (spread.covariance - found[1]).abs() <= 1e-12 * found[0];
    assert!(covariance, "{what}: {spread:?} {found:?}");
    if let (Some(sd), Some(covariance)) = (spread.total_sd, spread.total_covariance) {
        near(sd.powi(2), found[3], what);
        let scale = (found[0] * found[3]).sqrt();
        assert!((covariance - found[2]).abs() <= 1e-12 * scale, "{what}");
    } else {
        assert_eq!((spread.total_sd, spread.total_covariance), (None, None));
    }
}

/// The spread of each mechanism follows from the variances in units of sensitivity that its
/// paper gives: Corollary 3.1 and Lemma 3.6 of Lebeda 2024, and section 4.1 on the ellipse.
#[test]
fn spreads_follow_from_the_noise() {
    let mu = 1.5f64;
    let kinds = [Some((0.0, 7.0)), Some((-3.0, 0.0)), Some((-2.0, 2.0))];
    for kind in KINDS.into_iter().chain(kinds) {
        for d in [2, 4, 9] {
            let length = d as f64;
            let alone = |variance: f64, size: f64| {
                let position = move |j| {
                    let mut parts = vec![0.0; d];
                    parts[j] = size;
                    Source {
                        variance,
                        parts,
                        total: 0.0,
                    }
                };
                (0..d).map(position)
            };
            for (relation, weight) in RELATIONS
                .into_iter()
                .flat_map(|r| weights(d).map(|c| (r, c)))
            {
                let text = format!(
                    "correlated(c={weight:?}, d={d}, mu={mu}, relation={})",
                    word(relation)
                );
                let square = weight * weight;
                let b = match relation {
                    Relation::AddRemove => length + square,
                    Relation::Replace => (4.0 * length).max(2.0 * (length + square)),
                } / (mu * mu);
                let common = Source {
                    variance: b / square,
                    parts: vec![0.5; d],
                    total: 1.0,
                };
                let sources: Vec<_> = alone(b, 0.5).chain([common]).collect();
                assert_spread(&*built(kind, None, &text), &sources, &text);
            }
            let text = format!("known_n(d={d}, mu={mu}, n=5)");
            let sources: Vec<_> = alone(length / (mu * mu), 0.5).collect();
            assert_spread(&*built(kind, None, &text), &sources, &text);

            let apart = kind.map_or(1.0, |(lo, hi)| (hi - lo) / hi.max(-lo));
            let replaced = f64::max(2.0, apart * apart);
            for (relation, factor) in RELATIONS.into_iter().zip([1.0, replaced]) {
                let word = word(relation);
                let text = format!("gaussian(d={d}, mu={mu}, relation={word})");
                let sources: Vec<_> = alone(factor * length / (mu * mu), 1.0).collect();
                assert_spread(&*built(kind, None, &text), &sources, &text);
            }
            for (relation, factor) in RELATIONS.into_iter().zip([1.0, 2.0]) {
                let text = format!("laplace(d={d}, relation={})", word(relation));
                let steps = if kind.is_none() { 1.0 } else { 2f64.powi(32) };
                let b = (-1.25 / (factor * length * steps)).exp();
                // The variance of the discrete distribution; 1 - b is exact where b is near 1.
                let variance = 2.0 * b / (-1.25 / (factor * length * steps)).exp_m1().powi(2);
                let sources: Vec<_> = alone(variance / (steps * steps), 1.0).collect();
                assert_spread(&*built(kind, Some(1.25), &text), &sources, &text);
            }
            for (relation, factor) in RELATIONS.into_iter().zip([1.0, 2.0]) {
                let text = format!("knorm(d={d}, relation={})", word(relation));
                let mechanism = built(kind, Some(1.25), &text);
                let variance = |numbers: f64| {
                    (factor / 1.25f64).powi(2) * (numbers + 1.0) * (numbers + 2.0) / 3.0
                };
                let sources: Vec<_> = match mechanism.spread().total_sd {
                    Some(_) => {
                        let common = Source {
                            variance: variance(length + 1.0),
                            parts: vec![0.5; d],
                            total: 1.0,
                        };
                        alone(variance(length + 1.0), 0.5).chain([common]).collect()
                    }
                    None => alone(variance(length), 1.0).collect(),
                };
                assert_spread(&*mechanism, &sources, &text);
            }
            if kind.is_none_or(|(lo, hi)| lo == 0.0 || hi == 0.0) {
                for k in 1..=d / 2 {
                    let (along, across) = ellipse_axes(length, k as f64);
                    let common = Source {
                        variance: (along - across) / length / (mu * mu),
                        parts: vec![1.0; d],
                        total: 0.0,
                    };
                    let text = format!("ellipse(d={d}, k={k}, mu={mu})");
                    let own = alone(across / (mu * mu), 1.0);
                    let sources: Vec<_> = own.chain([common]).collect();
                    assert_spread(&*built(kind, None, &text), &sources, &text);
                }
            }
        }
    }
}

/// The variances of the Count ellipse along (1, ..., 1) and across it, for `mu` of 1.
fn ellipse_axes(d: f64, k: f64) -> (f64, f64) {
    let (p, q) = (k * k / d, k - k * k / d);
    let t = p.sqrt() + (q * (d - 1.0)).sqrt();
    (p.sqrt() * t, (q / (d - 1.0)).sqrt() * t)
}

/// The whole way: the errors of releases scatter as the spread says.
#[test]
fn releases_have_the_covariance_they_report() {
    let n = KNOWN;
    for kind in [None, Some((0.0, 7.0)), Some((10.0, 20.0))] {
        // Of two numbers the law is furthest from a normal one.
        for (d, (mechanism, text)) in [2, 4]
            .into_iter()
            .flat_map(|d| mechanisms(kind, d).into_iter().map(move |one| (d, one)))
        {
            let (lowest, unit) = match (kind, mechanism.grid()) {
                (Some(_), Some(grid)) => {
                    let unit = grid.value_of_steps();
                    (grid.hi() - unit, unit / 2f64.powi(32))
                }
                _ => (0.0, 1.0),
            };
            let largest = if kind.is_none() { 1 } else { 1i128 << 32 };
            let s: Vec<i128> = (1..=d as i128)
                .map(|j| largest * i128::from(n) * j / 8)
                .collect();
            let truth: Vec<f64> = s
                .iter()
                .map(|sum| lowest * n as f64 + unit * *sum as f64)
                .collect();
            let totals = Totals { n, s };
            let mut generator = Generator::from_seed(3);
            let errors: Vec<_> = (0..DRAWS)
                .map(|_| {
                    let answer = mechanism.release(&totals, &mut generator);
                    let values = answer.values();
                    let off = |j: usize| values[j] - truth[j];
                    (off(0), off(1), answer.total.unwrap_or(0.0) - n as f64)
                })
                .collect();
            let spread = mechanism.spread();
            let (variance, covariance) = (spread.sd.powi(2), spread.covariance);
            let check = |what: &str, expected: f64, error: &dyn Fn(&(f64, f64, f64)) -> f64| {
                let what = format!("{kind:?} {text}: {what}");
                Moments::of(errors.iter().map(error)).assert_mean_square(&what, expected, 1e-9);
            };
            check("a value", variance, &|e| e.0);
            check("the sum of two", 2.0 * (variance + covariance), &|e| {
                e.0 + e.1
            });
            check("the difference", 2.0 * (variance - covariance), &|e| {
                e.0 - e.1
            });
            if let (Some(sd), Some(covariance)) = (spread.total_sd, spread.total_covariance)
                && sd > 0.0
            {
                check("the total", sd.powi(2), &|e| e.2);
                // In one unit, that of the spread of a value.
                let scale = spread.sd / sd;
                let expected = 2.0 * (variance + covariance * scale);
                check("with the total", expected, &|e| e.0 + e.2 * scale);
            }
            let widths = spread.half_widths(MISS, d);
            let misses = |what: &str, width: f64, error: &dyn Fn(&(f64, f64, f64)) -> f64| {
                let beyond = errors.iter().filter(|e| error(e).abs() > width).count() as f64;
                let share = beyond / DRAWS as f64;
                let slack = Z_ALPHA * (MISS * (1.0 - MISS) / DRAWS as f64).sqrt();
                // Counts with `laplace` have noise in whole rows, and the interval allows for a row more.
                let least = if text.starts_with("laplace") {
                    0.0
                } else {
                    MISS - slack
                };
                let is_right = (least..=MISS + slack).contains(&share);
                assert!(is_right, "{kind:?} {text}: {what} is missed by {share}");
            };
            misses("a value", widths.value, &|e| e.0);
            let difference = widths.difference.expect("there are several");
            misses("the difference", difference, &|e| e.0 - e.1);
            match widths.total {
                // A number that is given is not missed.
                Some(0.0) | None => {}
                Some(total) => misses("the total", total, &|e| e.2),
            }
        }
    }
}

const DRAWS: usize = 40_000;

/// How often an interval may miss.
const MISS: f64 = 0.05;

fn counts(text: &str) -> Spread {
    built(None, None, text).spread()
}

/// The variance of a count.
fn variance(text: &str) -> f64 {
    counts(text).sd.powi(2)
}

/// d, and what section 3 of Lebeda 2024 comes to there: the variance per count of correlated noise
/// and how many times less that is than the standard.
const TABLE: [(u32, f64, f64); 6] = [
    (2, 1.457, 1.37),
    (4, 2.25, 1.78),
    (16, 6.25, 2.56),
    (64, 20.25, 3.16),
    (1000, 266.06, 3.76),
    (10_000, 2550.25, 3.92),
];

#[test]
fn variances_are_those_of_the_literature() {
    for (d, printed, ratio) in TABLE {
        let length = f64::from(d);
        let root = length.sqrt();
        let correlated = variance(&format!("correlated(d={d}, mu=1)"));
        let standard = variance(&format!("gaussian(d={d}, mu=1)"));
        near(correlated, (root + 1.0).powi(2) / 4.0, "correlated");
        near(standard, length, "gaussian");
        near(
            variance(&format!("known_n(d={d}, mu=1, n=1)")),
            length / 4.0,
            "known_n",
        );
        assert!((correlated - printed).abs() < if d == 2 { 5.1e-4 } else { 5.1e-3 });
        assert!((standard / correlated - ratio).abs() < 5.1e-3, "{d}");
        // Free with it: a number of rows of variance sqrt(d) + 1.
        let total = counts(&format!("correlated(d={d}, mu=1)"))
            .total_sd
            .unwrap();
        near(total.powi(2), root + 1.0, "number of rows");
        // Replacing: the standard is d for one group and 2 d for more.
        let text = format!("gaussian(d={d}, mu=1, relation=replace)");
        near(variance(&text), 2.0 * length, "gaussian, replacing");
        // Joseph and Yu 2024; at k = d/2 Lemma 4.3 of Lebeda 2024.
        for k in [1, d / 4, d / 2] {
            if k > 0 {
                let (along, across) = ellipse_axes(length, f64::from(k));
                let found = variance(&format!("ellipse(d={d}, k={k}, mu=1)"));
                near(found, across + (along - across) / length, "ellipse");
            }
        }
        let half = variance(&format!("ellipse(d={d}, k={}, mu=1)", d / 2));
        near(half, (length + 2.0 * (length - 1.0).sqrt()) / 4.0, "half");
        assert!(half <= correlated);
        // A budget of mu divides variances by its square.
        let other = variance(&format!("correlated(d={d}, mu=0.25)"));
        near(other, 16.0 * correlated, "mu");
        // rho is mu^2 / 2, and rounded to the private side.
        let other = variance(&format!("correlated(d={d}, rho=2)"));
        near(other, correlated / 4.0, "rho");
        assert!(other >= correlated / 4.0 * (1.0 - 1e-15));
    }
    // With a weight of sqrt(d): section 3.1 of the paper.
    let spread = counts("correlated(c=100, d=10000, mu=1)");
    near(spread.total_sd.unwrap().powi(2), 2.0, "number of rows");
    near(spread.sd.powi(2), 5000.5, "a count");
}

/// Algorithm 2 of Lebeda 2024: replacing, with a weight of `sqrt(d)`. The noise that the counts of a
/// group share has variance `1 / mu^2`, as its proof has it, and not the `4 / mu^2` that it prints;
/// that is the variance of the size of the group.
#[test]
fn replacing_shares_the_noise_of_the_proof() {
    for (d, mu) in [1, 2, 4, 64, 1000]
        .into_iter()
        .flat_map(|d| MUS.map(|mu| (d, mu)))
    {
        let spread = counts(&format!("correlated(d={d}, mu={mu:?}, relation=replace)"));
        let square = mu * mu;
        near(spread.covariance, 1.0 / square, "shared by the counts");
        near(spread.sd.powi(2), (f64::from(d) + 1.0) / square, "a count");
        near(spread.total_sd.unwrap().powi(2), 4.0 / square, "the size");
        near(
            spread.total_covariance.unwrap(),
            2.0 / square,
            "size and count",
        );
    }
}

/// Counts by `knorm`: `(d + 2) (d + 3) / 6`, for `2 d^2` by `laplace`, and twice that for the number of rows.
#[test]
fn the_cube_is_smaller_than_its_sides() {
    for (d, of_a_count) in [
        (1, 2.0),
        (2, 20.0 / 6.0),
        (6, 12.0),
        (12, 35.0),
        (64, 737.0),
    ] {
        let spread = |name: &str| built(None, Some(1.0), &format!("{name}(d={d})")).spread();
        let close = |found: f64, expected: f64| {
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{d}: {found}, expected {expected}"
            );
        };
        let found = spread("knorm");
        close(found.sd.powi(2), of_a_count);
        close(found.total_sd.unwrap().powi(2), 2.0 * of_a_count);
        close(2.0 * (found.sd.powi(2) - found.covariance), of_a_count);
        let laplace = spread("laplace").sd.powi(2);
        assert!(
            (laplace / (2.0 * f64::from(d * d)) - 1.0).abs() < 0.1,
            "{laplace}"
        );
    }
    // Values count from where their noise is least.
    for (lo, hi) in [(0.0, 1.0), (-1.0, 3.0), (10.0, 20.0), (-2.0, 2.0)] {
        for d in [1, 5, 40] {
            let spread = built(Some((lo, hi)), Some(1.0), &format!("knorm(d={d})")).spread();
            let (d, largest) = (f64::from(d), f64::max(-lo, hi));
            let squares = ((hi - lo) / 2.0).powi(2) + ((hi + lo) / 2.0).powi(2);
            let lifted = squares * (d + 2.0) * (d + 3.0);
            let plain = largest * largest * (d + 1.0) * (d + 2.0);
            let least = lifted.min(plain) / 3.0;
            assert!(
                (spread.sd.powi(2) / least - 1.0).abs() < 1e-9,
                "{lo} {hi} {d}"
            );
            assert_eq!(spread.total_sd.is_none(), plain < lifted, "{lo} {hi} {d}");
        }
    }
}

/// No other weight gives counts, or sums of values of one sign, of less variance.
#[test]
fn the_default_weight_is_the_best_one() {
    let scan = |kind: Kind, d: u32, relation: Relation| {
        let word = word(relation);
        let sd = |weight: &str| {
            let text = format!("correlated({weight}d={d}, mu=1, relation={word})");
            built(kind, None, &text).spread().sd
        };
        let best = sd("");
        let others = (-400..=400).map(|i| sd(&format!("c={:?}, ", 1.03f64.powi(i))));
        let least = others.fold(f64::INFINITY, f64::min);
        assert!(best <= least * (1.0 + 1e-12), "{kind:?} {d} {relation:?}");
        // It is among them, but for a step of 3 %.
        assert!(best >= least * 0.97, "{kind:?} {d} {relation:?}");
    };
    for d in [1, 2, 4, 100, 10_000] {
        for relation in RELATIONS {
            scan(None, d, relation);
            scan(Some((0.0, 7.0)), d, relation);
        }
        for bounds in [(10.0, 20.0), (-20.0, -10.0), (1000.0, 1001.0)] {
            for relation in RELATIONS {
                scan(Some(bounds), d, relation);
            }
        }
        // Where 0 is between the bounds, the number of rows stays as good as that of counts.
        for kind in [Some((-1.0, 3.0)), Some((-2.0, 2.0))] {
            let found = built(kind, None, &format!("correlated(d={d}, mu=1)")).spread();
            let expected = f64::from(d).sqrt() + 1.0;
            near(found.total_sd.unwrap().powi(2), expected, "number of rows");
        }
    }
}

/// Values are `lowest * total + unit * part`, and means the same over the total, inside the bounds.
#[test]
fn values_and_means_are_read_off_the_parts() {
    let total = 10.0;
    let parts = [-3.0, 0.0, 2.5, 10.0, 11.0];
    for (kind, text, lowest, unit) in [
        (None, "correlated", 0.0, 1.0),
        (None, "gaussian", 0.0, 1.0),
        (Some((10.0, 20.0)), "correlated", 10.0, 10.0),
        (Some((-1.0, 3.0)), "correlated", -1.0, 4.0),
        (Some((-1.0, 3.0)), "gaussian", 0.0, 3.0),
        (Some((-5.0, 3.0)), "gaussian", 0.0, 5.0),
        (Some((-1e308, 5e307)), "correlated", -1e308, 1.5e308),
        (Some((1e308, 1.5e308)), "correlated", 1e308, 5e307),
        (Some((-1e308, 5e307)), "gaussian", 0.0, 1e308),
        (Some((0.0, 1e-300)), "correlated", 0.0, 1e-300),
    ] {
        let mechanism = built(kind, None, &format!("{text}(d=5, mu=1)"));
        let values = answer(&*mechanism, Some(total), parts.to_vec()).values();
        for (value, part) in values.iter().zip(parts) {
            // A hundredth of each, so that nothing here is infinite.
            let expected =
                lowest / 100.0 * total * f64::from(u8::from(lowest != 0.0)) + unit / 100.0 * part;
            if (expected * 100.0).is_finite() {
                near(value / 100.0, expected, text);
            } else {
                assert_eq!(*value, expected.signum() * f64::INFINITY, "{kind:?} {text}");
            }
        }
        let (lo, hi) = kind.unwrap_or((0.0, 1.0));
        let means = answer(&*mechanism, Some(total), parts.to_vec()).means();
        let shares = [0.0, 0.0, 0.25, 1.0, 1.0];
        for (mean, share) in means.iter().zip(shares) {
            assert!((lo..=hi).contains(mean), "{kind:?} {mean}");
            near(*mean, lo + (hi - lo) * share, text);
        }
        for total in [
            None,
            Some(0.0),
            Some(-0.0),
            Some(-1e300),
            Some(f64::NEG_INFINITY),
        ] {
            let means = answer(&*mechanism, total, parts.to_vec()).means();
            assert_eq!(means, [lo.midpoint(hi); 5], "{kind:?} {total:?}");
        }
    }
}
