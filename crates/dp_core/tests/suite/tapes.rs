//! Proofs of exactness, up to a known rest: the code runs on every sequence of narrow words up to
//! a length. Each run that ends gives its value a known, exact probability; the sequences that are
//! too short bound what any value may still gain.

use std::collections::BTreeMap;

use dp_core::privacy::epsilon::Epsilon;
use dp_core::sampler::branch::Branch;
use dp_core::sampler::discrete_laplace::DiscreteLaplace;
use dp_core::sampler::geometric::Geometric;
use dp_core::sampler::max_norm::MaxNorm;
use dp_core::sampler::staircase::Staircase;
use dp_core::sampler::uniform::{below, below_wide};

use crate::distribution;
use crate::words::Tape;

/// The longest tapes: with these the tests take seconds.
const BITS: usize = 19;

/// What those may leave open: less than a third of all sequences.
const MOST_OPEN: f64 = 0.3;

/// The probability of each value as far as it was found, and what is still open.
pub struct Explored<T> {
    found: BTreeMap<T, f64>,
    open: f64,
}

/// Runs the sampler on all tapes of up to `longest` bits.
pub fn explore<const W: u32, T: Ord>(
    longest: usize,
    draw: impl Fn(&mut Tape<'_, W>) -> T,
) -> Explored<T> {
    let mut explored = Explored {
        found: BTreeMap::new(),
        open: 1.0,
    };
    extend(&mut explored, &mut Vec::new(), longest / W as usize, &draw);
    explored
}

fn extend<const W: u32, T: Ord>(
    explored: &mut Explored<T>,
    tape: &mut Vec<u64>,
    longest: usize,
    draw: &impl Fn(&mut Tape<'_, W>) -> T,
) {
    let mut words = Tape::new(tape);
    let value = draw(&mut words);
    if !words.over() {
        // The sampler never looks back: all words written were read.
        assert_eq!(words.read(), tape.len());
        let p = 0.5f64.powi((tape.len() * W as usize) as i32);
        *explored.found.entry(value).or_default() += p;
        explored.open -= p;
    } else if tape.len() < longest {
        for word in 0..1 << W {
            tape.push(word);
            extend(explored, tape, longest, draw);
            tape.pop();
        }
    }
}

impl<T: std::fmt::Debug> Explored<T> {
    /// Each probability found is a lower bound of the distribution's, and no further from it than what is
    /// open.
    pub fn assert_law(&self, what: &str, most_open: f64, distribution: impl Fn(&T) -> f64) {
        assert!(self.open <= most_open, "{what}: {} is open", self.open);
        let mut missing = 1.0;
        for (value, found) in &self.found {
            let p = distribution(value);
            assert!(
                *found <= p * (1.0 + 1e-12),
                "{what}: {value:?} {found} > {p}"
            );
            assert!(
                p <= found + self.open + 1e-12,
                "{what}: {value:?} {p} > {found} + open"
            );
            missing -= p;
        }
        assert!(missing <= self.open + 1e-12, "{what}: {missing} not found");
    }
}

#[test]
fn uniforms() {
    for n in 1..=17 {
        let p = |_: &u64| 1.0 / n as f64;
        explore::<1, _>(16, |tape| below(n, tape)).assert_law("below, 1", MOST_OPEN, p);
        explore::<4, _>(16, |tape| below(n, tape)).assert_law("below, 4", MOST_OPEN, p);
        let wide = explore::<3, _>(18, |tape| below_wide(u128::from(n), tape));
        wide.assert_law("below_wide, 3", MOST_OPEN, |_| 1.0 / n as f64);
    }
}

#[test]
fn branches() {
    for value in [Epsilon::MIN, 0.01, 0.7, 1.0, 3.0, 16.0, 50.0] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let z = epsilon.value().exp_m1();
        for (yes, no) in [
            ([2, 0, 0], [0, 1, 0]),
            ([7, 3, 0], [0, 0, 5]),
            ([1 << 33, 0, 0], [0, 1, 0]),
        ] {
            let branch = Branch::new(epsilon, yes, no);
            let at = |w: [u128; 3]| w[0] as f64 + z * (w[1] as f64 + z * w[2] as f64);
            let all = at(yes) + at(no);
            let distribution = |heads: &bool| if *heads { at(yes) / all } else { at(no) / all };
            let what = format!("branch {value} {yes:?}");
            explore::<1, _>(60, |tape| branch.toss(tape)).assert_law(&what, 1e-15, distribution);
            explore::<4, _>(60, |tape| branch.toss(tape)).assert_law(&what, 1e-15, distribution);
        }
    }
}

#[test]
fn geometrics() {
    for value in [0.1, 0.9, 2.0, 7.0] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let geometric = Geometric::new(epsilon);
        let distribution = |k: &u128| distribution::geometric(*k as i64, epsilon.value());
        let narrow = explore::<1, _>(BITS, |tape| geometric.draw(tape));
        narrow.assert_law(&format!("geometric {value}, 1"), MOST_OPEN, distribution);
        let wider = explore::<2, _>(BITS, |tape| geometric.draw(tape));
        wider.assert_law(&format!("geometric {value}, 2"), MOST_OPEN, distribution);
    }
}

#[test]
fn discrete_laplaces() {
    for (value, steps) in [(0.5, 3), (2.0, 5), (1.0, 2)] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let sampler = DiscreteLaplace::new(steps, epsilon);
        let explored = explore::<1, _>(BITS, |tape| sampler.draw(tape));
        let per_step = epsilon.value() / steps as f64;
        let distribution = |x: &i128| distribution::two_sided_geometric(*x as i64, per_step);
        explored.assert_law(
            &format!("discrete Laplace {value} {steps}"),
            MOST_OPEN,
            distribution,
        );
    }
}

#[test]
fn cubes() {
    for (length, value) in [(1, 16.0), (1, 6.0)] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let sampler = MaxNorm::new(length, 1, epsilon);
        let explored = explore::<1, _>(BITS + 2, |tape| sampler.draw(tape));
        // Two geometric variables, a coin and a point: most tapes end before all of them are drawn.
        explored.assert_law(&format!("cube of {length}, {value}"), 0.7, |point| {
            let point: Vec<i64> = point.iter().map(|x| *x as i64).collect();
            distribution::max_norm(&point, epsilon.value())
        });
    }
}

#[test]
fn staircases() {
    for (value, steps, core) in [(1.0, 1, 1), (1.0, 3, 2), (4.0, 2, 1), (4.0, 2, 2)] {
        let epsilon = Epsilon::new(Some(value)).unwrap();
        let sampler = Staircase::new(steps, core, epsilon);
        let explored = explore::<1, _>(BITS, |tape| {
            let stair = sampler.draw(tape);
            (stair.value as i64, stair.level as i64)
        });
        let (steps, core) = (steps as i64, core as i64);
        explored.assert_law(
            &format!("staircase {value} {steps} {core}"),
            MOST_OPEN,
            |(x, level)| {
                assert_eq!(*level, distribution::signed_level(*x, steps, core));
                distribution::staircase(*x, steps, core, epsilon.value())
            },
        );
    }
}
