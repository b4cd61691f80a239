//! A budget under the best analyst there is: an exact dynamic program over answers that are randomised
//! responses, which are the worst there are of their epsilon.

use std::collections::HashMap;

use dp_core::privacy::spending::{Limit, Spent};

/// The epsilons of the releases are multiples of this.
const STEP: f64 = 0.1;

/// A release: randomised response at that many steps of epsilon, which shows everything with probability `delta`.
#[derive(Clone, Copy)]
struct Release {
    steps: i32,
    delta: f64,
}

/// What has been released so far, and the loss, in steps.
type State = ([u16; 3], i32);

/// An analyst who may ask for one of three releases at a time, as long as the rule allows what was spent.
struct Analyst<'a> {
    releases: [Release; 3],
    charges: [Spent; 3],
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
                (0..next[j]).fold(spent, |spent, _| spent.plus(&self.charges[j]))
            });
            if !(self.allows)(&spent) {
                continue;
            }
            let Release { steps, delta } = self.releases[i];
            let truth = 1.0 / (1.0 + (-f64::from(steps) * STEP).exp());
            let (up, down) = (
                self.best((next, loss + steps)),
                self.best((next, loss - steps)),
            );
            let value = truth * up + (1.0 - truth) * down;
            best = f64::max(best, delta + (1.0 - delta) * value);
        }
        self.best.insert((counts, loss), best);
        best
    }
}

/// The delta that the best analyst makes necessary at `epsilon`.
fn best_delta(releases: [Release; 3], epsilon: f64, allows: &dyn Fn(&Spent) -> bool) -> f64 {
    let charges = releases.map(|release| {
        Spent::of_epsilon(f64::from(release.steps) * STEP, release.delta).expect("a charge")
    });
    let best = HashMap::new();
    Analyst {
        releases,
        charges,
        epsilon,
        allows,
        best,
    }
    .best(([0; 3], 0))
}

fn pure(steps: [i32; 3]) -> [Release; 3] {
    steps.map(|steps| Release { steps, delta: 0.0 })
}

#[test]
fn the_best_analyst_stays_within_the_limit() {
    for (steps, epsilon, delta) in [
        ([1, 5, 10], 3.0, 2e-6),
        ([1, 5, 10], 3.0, 2e-3),
        ([1, 3, 15], 1.5, 2e-3),
        ([1, 2, 15], 1.5, 2e-2),
        ([2, 7, 11], 2.0, 0.2),
    ] {
        let limit = Limit::new(epsilon, delta).unwrap();
        let within = |spent: &Spent| limit.allows(spent);
        let both = best_delta(pure(steps), epsilon, &within);
        // Of pure releases none fails, so half of delta must be enough.
        assert!(both <= delta / 2.0, "{epsilon} {delta}: {both}");
        // The sum of epsilons needs no delta; the way by rho does, and the sum beside it little more.
        let sum = best_delta(pure(steps), epsilon, &|spent: &Spent| {
            spent.epsilon <= limit.epsilon
        });
        assert!(sum <= 1e-12, "{epsilon}: {sum}");
        let rho = best_delta(pure(steps), epsilon, &|spent: &Spent| {
            spent.rho <= limit.rho
        });
        assert!(both >= rho && rho > 0.0, "{epsilon} {delta}: {both} {rho}");
    }
}

#[test]
fn the_best_analyst_stays_within_the_limit_with_releases_that_may_fail() {
    let (epsilon, delta) = (1.5, 2e-2);
    let limit = Limit::new(epsilon, delta).unwrap();
    let releases = [
        Release {
            steps: 1,
            delta: 9e-4,
        },
        Release {
            steps: 3,
            delta: 0.0,
        },
        Release {
            steps: 15,
            delta: 4e-3,
        },
    ];
    let best = best_delta(releases, epsilon, &|spent: &Spent| limit.allows(spent));
    assert!(best <= delta, "{best}");
    // The failures alone are nearly half of it.
    assert!(best > 0.4 * delta, "{best}");
}

/// The program notices a rule that allows too much.
#[test]
fn a_rule_that_allows_too_much_is_noticed() {
    let (epsilon, delta) = (1.5, 2e-2);
    let limit = Limit::new(epsilon, delta).unwrap();
    // Twice the rho; and both ways at once, each for a part of the releases.
    for (sums, rhos) in [(1, 2), (2, 1)] {
        let allows =
            |spent: &Spent| spent.epsilon <= sums * limit.epsilon || spent.rho <= rhos * limit.rho;
        let best = best_delta(pure([1, 2, 15]), epsilon, &allows);
        assert!(best > delta / 2.0, "{best}");
    }
}
