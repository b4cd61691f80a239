//! The noise that mechanisms are documented to draw, by the samplers that their pages name.

use dp_core::encoding::grid::STEPS;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::sampler::discrete_laplace::DiscreteLaplace;
use dp_core::sampler::geometric::Geometric;
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::max_norm::MaxNorm;
use dp_core::sampler::normal::{RoundedNormal, RoundedSums};
use dp_core::sampler::staircase::{Staircase, best_gamma, core_of};

use super::spaces::AROUND_A_PLACE;
use super::{D, EPS, G, SEED};

/// The noise of one release of one row, as documented.
pub type Noise = fn(&mut Generator) -> Vec<i128>;

pub fn epsilon(eps: f64) -> Epsilon {
    Epsilon::new(Some(eps)).expect("an epsilon")
}

/// Independent discrete Laplace noise of scale `distance / eps`.
pub fn laplace(numbers: usize, distance: u64, eps: f64, words: &mut Generator) -> Vec<i128> {
    let distribution = DiscreteLaplace::new(distance, epsilon(eps));
    (0..numbers).map(|_| distribution.draw(words)).collect()
}

/// At half of eps each.
pub fn halves(words: &mut Generator) -> Vec<i128> {
    let distribution = DiscreteLaplace::new(STEPS, epsilon(EPS).half());
    vec![distribution.draw(words), distribution.draw(words)]
}

/// Staircase noise of the least variance for a sensitivity of `G`.
pub fn staircase(eps: f64, words: &mut Generator) -> i128 {
    staircase_for(STEPS, eps, words)
}

pub fn staircase_for(distance: u64, eps: f64, words: &mut Generator) -> i128 {
    let core = core_of(best_gamma(eps), distance);
    Staircase::new(distance, core, epsilon(eps))
        .draw(words)
        .value
}

/// That of a mean without bounds, of a public number of rows, whose place has nine tenths of eps: it is
/// drawn after the offset.
pub fn around_a_place() -> i128 {
    let mut words = Generator::from_seed(SEED);
    words.word();
    let unit = 1.0 / (1u64 << 40) as f64;
    let place = (0.9 * EPS / unit).ceil() * unit;
    staircase_for(AROUND_A_PLACE as u64, EPS - place, &mut words)
}

/// Two-sided geometric noise.
pub fn geometric(numbers: usize, words: &mut Generator) -> Vec<i128> {
    let distribution = Staircase::two_sided_geometric(epsilon(EPS));
    (0..numbers)
        .map(|_| distribution.draw(words).value)
        .collect()
}

/// One-sided geometric noise at the ends of 8 bins but the last, after that of the threshold, for a part `a / d`.
pub fn walked(eps: f64, [a, d]: [u32; 2], words: &mut Generator) -> Vec<i128> {
    let [threshold, end] = [a, d].map(|most| Geometric::new(epsilon(eps / f64::from(2 * most))));
    threshold.draw(words);
    (0..7).map(|_| end.draw(words) as i128).collect()
}

/// Rounded normal noise of the standard deviation `distance`, as `mu` is 1; with what is added for
/// the roundings of floats.
pub fn normal(numbers: usize, distance: f64, words: &mut Generator) -> Vec<i128> {
    let distribution = RoundedNormal::new(no_less(distance));
    (0..numbers).map(|_| distribution.draw(words)).collect()
}

pub fn no_less(sigma: f64) -> f64 {
    sigma * (1.0 + 2f64.powi(-48))
}

pub fn hourglass(eps: f64, words: &mut Generator) -> Vec<i128> {
    let core = core_of(best_gamma(eps), STEPS);
    let (x, k) = Hourglass::new(STEPS, core, epsilon(eps)).draw(words);
    vec![x, k * G - x]
}

pub fn cube(numbers: usize, steps: u64, words: &mut Generator) -> Vec<i128> {
    MaxNorm::new(numbers, steps, epsilon(EPS)).draw(words)
}

pub fn correlated(unit: f64, words: &mut Generator) -> Vec<i128> {
    // c is 2, whose square is the root of d times 2.
    let sigma = no_less((D as f64 + 4.0).sqrt() * unit);
    let mut noise: Vec<_> = {
        let distribution = RoundedNormal::new(sigma);
        (0..D).map(|_| distribution.draw(words)).collect()
    };
    noise.extend(normal(1, sigma / 2.0, words));
    noise
}

/// The Count ellipse of Joseph and Yu (2024) for `k = 2`, in steps of 1 over `unit`.
pub fn ellipse(unit: f64, words: &mut Generator) -> Vec<i128> {
    let (d, k) = (D as f64, 2.0f64);
    let (p, q) = (k * k / d, k * (d - k) / d);
    let whole = p.sqrt() + (q * (d - 1.0)).sqrt();
    let across = (q / (d - 1.0)).sqrt() * whole;
    let longer = (k * (k - 1.0) / (d - 1.0)) / (p.sqrt() + (q / (d - 1.0)).sqrt());
    let own = no_less(across.sqrt() * unit);
    let shared = no_less((longer * whole / d).sqrt() * unit);
    RoundedSums::new(own, shared).draw(D, words)
}
