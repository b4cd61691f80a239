//! A budget under the best analyst there is: an exact dynamic program over answers that are randomised
//! responses, which are the worst there are of their epsilon, and over answers with Gaussian noise.

use std::collections::HashMap;

use dp_core::privacy::accounting::{normal_cdf, rho_of_mu};
use dp_core::privacy::spending::{Accounting, HALF, Limit, Spent, UNBOUNDED, UNIT};

/// Losses are multiples of this.
const STEP: f64 = 0.1;

/// A release: what it costs, and its losses, in steps, with their probabilities.
#[derive(Clone)]
struct Release {
    charge: Spent,
    losses: Vec<(i32, f64)>,
    /// The probability that it shows everything.
    delta: f64,
}

impl Release {
    /// Randomised response at that many steps of epsilon, which shows everything with probability `delta`.
    fn pure(accounting: Accounting, steps: i32, delta: f64) -> Self {
        let epsilon = f64::from(steps) * STEP;
        let truth = 1.0 / (1.0 + (-epsilon).exp());
        Self {
            charge: Spent::of_epsilon(epsilon, delta, accounting).expect("a charge"),
            losses: vec![(steps, truth), (-steps, 1.0 - truth)],
            delta,
        }
    }

    /// Gaussian noise, cut into cells. The analyst sees only which cell it falls in; cells are chosen so that their
    /// losses are whole steps. So the analyst sees a little less than the noise shows; and beyond the last cells the loss counts for less
    /// than it is.
    fn gaussian(mu: f64) -> Self {
        let between = |low: f64, high: f64, shift: f64| {
            let upper = |x: f64| normal_cdf(shift - x);
            upper(low) - upper(high)
        };
        let middle = mu / 2.0;
        let mut low = middle + STEP / 2.0 / mu;
        let centre = between(middle - (low - middle), low, mu);
        let mut losses = vec![(0, centre)];
        for steps in 1.. {
            let wanted = f64::from(steps) * STEP;
            let loss = |high: f64| (between(low, high, mu) / between(low, high, 0.0)).ln();
            let (mut near, mut far) = (low, low + 2.0 * STEP / mu);
            let is_last = normal_cdf(mu - low) < 1e-12;
            for _ in 0..60 {
                let high = 0.5 * (near + far);
                if loss(high) < wanted {
                    near = high;
                } else {
                    far = high;
                }
            }
            let high = if is_last { f64::INFINITY } else { near };
            losses.push((steps, between(low, high, mu)));
            losses.push((-steps, between(low, high, 0.0)));
            if is_last {
                break;
            }
            low = high;
        }
        let sum: f64 = losses.iter().map(|(_, p)| p).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let rho = (rho_of_mu(mu).expect("a cost") * UNIT).ceil() as i64;
        Self {
            charge: Spent {
                epsilon: UNBOUNDED,
                rho,
                delta: 0,
            },
            losses,
            delta: 0.0,
        }
    }
}

/// What has been released so far, and the loss, in steps.
type State = ([u16; 3], i32);

/// An analyst who may ask for one of three releases at a time, as long as the rule allows what was spent.
struct Analyst<'a> {
    releases: [Release; 3],
    epsilon: f64,
    allows: &'a dyn Fn(&Spent) -> bool,
    best: HashMap<State, f64>,
}

impl Analyst<'_> {
    /// The delta that is needed at `epsilon`, if from this state on each release is chosen for the most of it.
    fn best(&mut self, (counts, loss): State) -> f64 {
        if let Some(best) = self.best.get(&(counts, loss)) {
            return *best;
        }
        // To stop is always possible.
        let mut best = (-(self.epsilon - f64::from(loss) * STEP).exp_m1()).max(0.0);
        for i in 0..3 {
            let mut next = counts;
            next[i] += 1;
            let spent = (0..3).fold(Spent::default(), |spent, j| {
                (0..next[j]).fold(spent, |spent, _| spent.plus(&self.releases[j].charge))
            });
            if !(self.allows)(&spent) {
                continue;
            }
            let Release { losses, delta, .. } = self.releases[i].clone();
            let value: f64 = losses
                .iter()
                .map(|(steps, probability)| probability * self.best((next, loss + steps)))
                .sum();
            best = f64::max(best, delta + (1.0 - delta) * value);
        }
        self.best.insert((counts, loss), best);
        best
    }
}

/// The delta that the best analyst makes necessary at `epsilon`.
fn best_delta(releases: [Release; 3], epsilon: f64, allows: &dyn Fn(&Spent) -> bool) -> f64 {
    let best = HashMap::new();
    Analyst {
        releases,
        epsilon,
        allows,
        best,
    }
    .best(([0; 3], 0))
}

const BOTH: [Accounting; 2] = [Accounting::Zcdp, Accounting::Gaussian];

#[test]
fn the_best_analyst_stays_within_the_limit() {
    for accounting in BOTH {
        for (steps, epsilon, delta) in [
            ([1, 5, 10], 3.0, 2e-6),
            ([1, 5, 10], 3.0, 2e-3),
            ([1, 3, 15], 1.5, 2e-3),
            ([1, 2, 15], 1.5, 2e-2),
            ([2, 7, 11], 2.0, 0.2),
        ] {
            let limit = Limit::new(epsilon, delta, accounting, HALF).unwrap();
            let pure = steps.map(|steps| Release::pure(accounting, steps, 0.0));
            let within = |spent: &Spent| limit.allows(spent);
            let both = best_delta(pure.clone(), epsilon, &within);
            // Of pure releases none fails, so half of delta must be enough.
            assert!(both <= delta / 2.0, "{epsilon} {delta}: {both}");
            // The sum of epsilons needs no delta; the way by rho does, and the sum beside it little more.
            let sum = best_delta(pure.clone(), epsilon, &|spent: &Spent| {
                spent.epsilon <= limit.epsilon
            });
            assert!(sum <= 1e-12, "{epsilon}: {sum}");
            let rho = best_delta(pure, epsilon, &|spent: &Spent| spent.rho <= limit.rho);
            // Pure releases cost so much beside Gaussian ones that none of these few may be above the limit at all.
            let is_above = rho > 0.0 || accounting == Accounting::Gaussian;
            assert!(both >= rho && is_above, "{epsilon} {delta}: {both} {rho}");
        }
    }
}

/// Gaussian noise and randomised responses, by turns, as the analyst likes: the rest of delta is enough, whatever the
/// share of failures; and little less of it would not be.
#[test]
fn the_best_analyst_with_gaussian_noise_stays_within_the_limit() {
    for (parts, steps, epsilon, delta, failures) in [
        ([4.0, 2.0], 3, 1.0, 1e-2, HALF),
        ([6.0, 2.0], 5, 2.0, 1e-3, HALF),
        ([4.0, 1.0], 10, 3.0, 1e-4, 0.0),
        ([5.0, 3.0], 4, 1.5, 1e-2, 0.9),
    ] {
        let limit = Limit::new(epsilon, delta, Accounting::Gaussian, failures).unwrap();
        let part = |parts: f64| Release::gaussian(limit.mu_at(epsilon / parts).unwrap());
        let releases = [
            part(parts[0]),
            part(parts[1]),
            Release::pure(Accounting::Gaussian, steps, 0.0),
        ];
        let rest = delta * (1.0 - failures);
        let within = |spent: &Spent| limit.allows(spent);
        let best = best_delta(releases.clone(), epsilon, &within);
        assert!(best <= rest, "{epsilon} {delta}: {best} {rest}");
        assert!(best >= 0.8 * rest, "{epsilon} {delta}: {best} {rest}");
        // Half as much again is too much.
        let more = |spent: &Spent| spent.epsilon <= limit.epsilon || 2 * spent.rho <= 3 * limit.rho;
        let best = best_delta(releases, epsilon, &more);
        assert!(best > rest, "{epsilon} {delta}: {best} {rest}");
    }
}

#[test]
fn the_best_analyst_stays_within_the_limit_with_releases_that_may_fail() {
    let (epsilon, delta) = (1.5, 2e-2);
    for accounting in BOTH {
        let limit = Limit::new(epsilon, delta, accounting, HALF).unwrap();
        let releases = [
            Release::pure(accounting, 1, 9e-4),
            Release::pure(accounting, 3, 0.0),
            Release::pure(accounting, 15, 4e-3),
        ];
        let best = best_delta(releases, epsilon, &|spent: &Spent| limit.allows(spent));
        assert!(best <= delta, "{best}");
        // The failures alone are nearly half of it.
        assert!(best > 0.4 * delta, "{best}");
    }
}

/// The program notices a rule that allows too much.
#[test]
fn a_rule_that_allows_too_much_is_noticed() {
    let (epsilon, delta) = (1.5, 2e-2);
    for accounting in BOTH {
        let limit = Limit::new(epsilon, delta, accounting, HALF).unwrap();
        // Twice the rho; and both ways at once, each for a part of the releases.
        for (sums, rhos) in [(1, 2), (2, 1)] {
            let allows = |spent: &Spent| {
                spent.epsilon <= sums * limit.epsilon || spent.rho <= rhos * limit.rho
            };
            let pure = [1, 2, 15].map(|steps| Release::pure(accounting, steps, 0.0));
            let best = best_delta(pure, epsilon, &allows);
            assert!(best > delta / 2.0, "{best}");
        }
    }
}

/// What a budget buys at the price of 0.1: with Gaussian accounting as many questions as the sum of epsilons allows, each
/// with less noise.
#[test]
fn prices_are_shares_that_add_up() {
    for (epsilon, questions, variance) in [(1.0, 10, 190.5), (3.0, 30, 75.6), (10.0, 100, 30.6)] {
        let limit = Limit::new(epsilon, 1e-6, Accounting::Gaussian, HALF).unwrap();
        let mu = limit.mu_at(0.1).unwrap();
        assert!(
            (1.0 / mu / mu / variance - 1.0).abs() < 2e-3,
            "{epsilon}: {}",
            1.0 / mu / mu
        );
        let charge = Release::gaussian(mu).charge;
        assert_eq!(limit.how_many(&Spent::default(), &charge), questions);
        // Half of the price is twice the variance.
        let half = limit.mu_at(0.05).unwrap();
        assert!((mu / half - 2f64.sqrt()).abs() < 1e-9);
        let all = (0..questions).fold(Spent::default(), |sum, _| sum.plus(&charge));
        assert!((limit.share(&all) - 1.0).abs() < 1e-9);
        let (total, delta) = limit.total(&all).unwrap();
        assert!(
            total <= epsilon && total > epsilon * (1.0 - 1e-9),
            "{total}"
        );
        assert!(delta <= 1e-6);
    }
    for (delta, accounting) in [(0.0, Accounting::Gaussian), (1e-6, Accounting::Zcdp)] {
        let limit = Limit::new(3.0, delta, accounting, HALF).unwrap();
        assert_eq!(limit.mu_at(0.1), None);
    }
    // All of delta is for failures: nothing is left for noise.
    let limit = Limit::new(3.0, 1e-6, Accounting::Gaussian, 1.0).unwrap();
    assert_eq!((limit.mu_at(0.1), limit.rho), (None, 0));
}

/// How many releases of variance 199.8 (that of the geometric noise at 0.1) fit: pure ones by their sums of epsilons and
/// rho, Gaussian ones by rho, by `mu^2`, and by `mu^2` with all of delta.
#[test]
fn gaussian_accounting_allows_more_of_the_same_noise() {
    for (epsilon, expected) in [
        (1.0, [10, 9, 10, 11]),
        (3.0, [35, 70, 79, 83]),
        (10.0, [295, 590, 653, 682]),
    ] {
        let gaussian = Release::gaussian(1.0 / 199.8f64.sqrt()).charge;
        let pure = Spent::of_epsilon(0.1, 0.0, Accounting::Zcdp).unwrap();
        let fit = |accounting, failures, charge| {
            let limit = Limit::new(epsilon, 1e-6, accounting, failures).unwrap();
            limit.how_many(&Spent::default(), charge)
        };
        let found = [
            fit(Accounting::Zcdp, HALF, &pure),
            fit(Accounting::Zcdp, HALF, &gaussian),
            fit(Accounting::Gaussian, HALF, &gaussian),
            fit(Accounting::Gaussian, 0.0, &gaussian),
        ];
        assert_eq!(found, expected, "{epsilon}");
    }
}

#[test]
fn names_and_shares_are_checked() {
    for accounting in BOTH {
        assert_eq!(Accounting::named(accounting.name()), Ok(accounting));
    }
    for bad in ["", "Gaussian", "rho", "gdp"] {
        assert_eq!(Accounting::named(bad).unwrap_err().argument, "accounting");
    }
    for bad in [-0.1, 1.1, f64::NAN] {
        let error = Limit::new(1.0, 1e-6, Accounting::Gaussian, bad).unwrap_err();
        assert_eq!(error.argument, "failures");
    }
    // However delta is shared out, both parts together are not above it.
    for failures in [0.0, 0.1, 0.3, 0.5, 0.7, 0.99, 1.0] {
        let limit = Limit::new(2.0, 1e-6, Accounting::Gaussian, failures).unwrap();
        let charge = Spent {
            epsilon: UNBOUNDED,
            rho: limit.rho,
            delta: limit.delta,
        };
        assert!(limit.allows(&charge));
        if let Some((epsilon, delta)) = limit.total(&charge) {
            assert!(
                epsilon <= 2.0 && delta <= 1e-6,
                "{failures}: {epsilon} {delta}"
            );
        }
    }
}
