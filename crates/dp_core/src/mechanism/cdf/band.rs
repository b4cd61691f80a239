//! Bands around a distribution function, from the noisy counts of a release: post-processing.
//!
//! The guesses of the tree are linear in its noisy counts and unbiased. So what they are off by follows from the noise
//! alone, whatever the rows are: `S[i]`, the guess of the rows up to point `i`, is off by `Z[i]`, and `N = S[last]`, that
//! of all rows, by `Z[last]`. At the true parts `F` of the rows `S[i] - F[i] N` is `Z[i] - F[i] Z[last]` (Fieller 1954,
//! for one ratio). The band has all `F` with no `|S[i] - F[i] N|` above some `q`.
//!
//! **Of the rows.** `q` comes of simulated releases without rows, whose noise has the very law of the real one. Only `F`
//! is not known, on which the law of the largest `|Z[i] - F[i] Z[last]|` depends. That is convex in `F[i]`, so it is at
//! most what it is at one of two ends of a range that holds `F[i]`. First a wide band, for all `F` from 0 to 1, which
//! misses with a share of the probability; then that band's ends in each simulated release, whose largest numbers are
//! then no smaller than those of the true `F` (Berger, Boos 1994, for any parameter that is not known). The real
//! release is one of `draws + 1` alike, so the largest but `k - 1` of the simulated ones is exceeded with a probability
//! of at most `k / (draws + 1)`: few draws make `q` uncertain, and no band less sure.
//!
//! **Of the population.** Rows that are drawn from a law one by one add `n (F[i] - G[i])` to `S[i] - G[i] N`, with `G`
//! the parts of the law. The largest is above `sqrt(n) s` with a probability of at most `2 exp(-2 s^2)` (Dvoretzky,
//! Kiefer, Wolfowitz 1956, with the constant of Massart 1990). A number of just that law is drawn for each simulated
//! release and added, times the root of what `n` is at most: chance and noise have nothing to do with each other, so
//! nothing is lost by a split of the probability between them.
//!
//! **Persons.** With up to `k` rows of one person it is persons who are drawn. Of many persons the sums are nearly
//! normal, with variances and covariances for which `k` times those of single rows leave room: what is left is the
//! covariance of another normal process. Beside that, by Anderson's inequality, the largest is larger still.
//!
//! **Where few draws cannot say it**: for a probability of missing below that of one draw in all, the tail of each sum is
//! bounded by its moments (Chernoff), and they are added up over the points. The guesses have the least variance of all
//! that are linear and unbiased, and no node's weight is beyond 1: weights summed from the top are harmonic on the tree,
//! between 0 at the root and 0 or 1 at the leaves. So the logarithm of the moments of a sum is at most that of one node
//! times the squares of the weights of any other way to add it up: whole nodes, at most half of the children of each
//! below the top.

use std::cell::OnceCell;

use crate::encoding::buckets::Buckets;
use crate::encoding::grid::Grid;
use crate::encoding::sums::Totals;
use crate::mechanism::cdf::tree::Cdf;
use crate::mechanism::definition::Mechanism;
use crate::memory;
use crate::pause;
use crate::random::{Bits, Generator, mixed};

/// For each point an interval; they hold all parts together.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// The lower ends, which never fall.
    pub lower: Vec<f64>,
    /// The upper ends, which never fall.
    pub upper: Vec<f64>,
}

/// A distribution function with its bands.
#[derive(Clone, Debug, PartialEq)]
pub struct CdfEstimate {
    /// The parts of the rows up to each point.
    pub parts: Vec<f64>,
    /// Of the parts of these rows.
    pub of_rows: Band,
    /// Of those of the population that they were drawn from.
    pub of_population: Band,
    /// The noisy number of rows.
    pub count: f64,
}

/// A mechanism of distribution functions, with bands that miss with this probability.
#[derive(Clone, Debug)]
pub struct CdfEstimator {
    cdf: Cdf,
    miss: f64,
    /// The most rows of one person.
    alike: f64,
    /// Drawn once for all groups of a query: each band is as sure as by itself.
    simulated: OnceCell<Simulated>,
}

/// What simulated noise is made of: it hides nothing.
struct Words(u64);

impl Bits for Words {
    const WIDTH: u32 = 64;

    fn word(&mut self) -> u64 {
        let word = mixed(self.0);
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        word
    }
}

/// Releases without rows.
#[derive(Clone, Debug)]
struct Simulated {
    /// The guesses of each, point by point.
    sums: Vec<f32>,
    /// How far off a sample is in each, over the root of its rows.
    chance: Vec<f64>,
}

/// The share of the probability of missing that goes to what holds for all `F`, of the noise and of chance each.
const WIDE: f64 = 0.05;

/// What numbers of 24 bits may be off by, in parts of the largest noise; and sums of 53 bits, in parts of all rows.
const ROUNDED: [f64; 2] = [1e-6, 1e-10];

impl CdfEstimator {
    /// For rows with up to that many of one person.
    pub fn new(cdf: Cdf, miss: f64, alike: u32) -> Self {
        Self {
            cdf,
            miss,
            alike: f64::from(alike),
            simulated: OnceCell::new(),
        }
    }

    /// The cells.
    pub fn cells(&self) -> &Buckets {
        self.cdf.cells()
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, totals: &Totals, bits: &mut B) -> CdfEstimate {
        let sums = self.cdf.sums_from(totals, bits);
        // Drawn for each group, so that all draw as many words; one of them is enough.
        let seed = bits.word();
        let simulated = self.simulated.get_or_init(|| self.simulate(Words(seed)));
        let parts = Cdf::parts(&sums);
        let [of_rows, of_population] = self.reaches(&sums, simulated);
        CdfEstimate {
            of_rows: band(&sums, of_rows, &parts),
            of_population: band(&sums, of_population, &parts),
            count: sums.last().copied().unwrap_or(0.0),
            parts,
        }
    }

    fn simulate(&self, mut words: Words) -> Simulated {
        let points = self.cells().count();
        let draws = draws(points);
        let mut sums = memory::vector(draws * points, std::iter::empty());
        let mut chance = Vec::new();
        for _ in 0..draws {
            // Of many points each draw takes milliseconds, and all of them seconds.
            pause::look();
            let noise = self.cdf.noise_from(&mut words);
            sums.extend(noise.into_iter().map(|sum| sum as f32));
            let uniform = (words.word() as f64 + 0.5) / 2f64.powi(Words::WIDTH as i32);
            chance.push(((2.0 / uniform).ln() / 2.0).sqrt());
        }
        Simulated { sums, chance }
    }

    /// `q`, of the rows and of their population.
    fn reaches(&self, sums: &[f64], simulated: &Simulated) -> [f64; 2] {
        let points = sums.len();
        let count = sums.last().copied().unwrap_or(0.0);
        let whole = [0.0, 1.0].map(|end| memory::vector(points, std::iter::repeat(end)));
        let off = |ends: &[Vec<f64>; 2]| simulated.largest(points, ends);
        let share = WIDE * self.miss;
        let wide = ranked(off(&whole), share).unwrap_or_else(|| self.bound(share));
        // Chance, in the root of rows; there are no more of them.
        let spread = (self.alike * (count + wide).max(0.0)).sqrt();
        let far = |probability: f64| ((2.0 / probability).ln() / 2.0).sqrt() * spread;
        let held = |reach: f64| {
            let Band { lower, upper } = band(sums, reach, &[]);
            [lower, upper]
        };
        let of_rows = ranked(off(&held(wide)), self.miss - share);
        let of_rows = of_rows.unwrap_or_else(|| self.bound(self.miss));
        let noise = off(&held(wide + far(share)));
        let both = noise.into_iter().zip(&simulated.chance);
        let both = both
            .map(|(noise, chance)| noise + spread * chance)
            .collect();
        let of_population = ranked(both, self.miss - 2.0 * share).unwrap_or_else(|| {
            let half = (self.miss - share) / 2.0;
            self.bound(half) + far(half)
        });
        let slack = ROUNDED[0] * wide + ROUNDED[1] * count.abs();
        [of_rows + slack, of_population.max(of_rows) + slack]
    }

    /// What no `|Z[i]|` and no `|Z[i] - Z[last]|` is above, but with this probability.
    fn bound(&self, probability: f64) -> f64 {
        let (squares, share) = (self.cdf.squares_of_weights(), self.cdf.share().value());
        let many = (4.0 * self.cells().count() as f64 / probability).ln();
        // The logarithm of the moments of the noise of a node.
        let moments = |at: f64| {
            let less = |t: f64| (-(-t).exp_m1()).ln();
            2.0 * less(share) - less(share - at) - less(share + at)
        };
        let places = (1..STEPS).map(|i| share * f64::from(i) / f64::from(STEPS));
        let reaches = places.map(|at| (squares * moments(at) + many) / at);
        reaches.fold(f64::INFINITY, f64::min)
    }
}

/// How many places a bound by moments is tried at: any is one.
const STEPS: i32 = 200;

/// How many releases are simulated.
fn draws(points: usize) -> usize {
    if points <= 2048 { 999 } else { 199 }
}

impl Simulated {
    /// Of each release the largest `|Z[i] - F[i] Z[last]|` for parts between these ends.
    fn largest(&self, points: usize, [lower, upper]: &[Vec<f64>; 2]) -> Vec<f64> {
        let of_one = |sums: &[f32]| {
            let all = sums.last().map_or(0.0, |all| f64::from(*all));
            let ends = sums.iter().zip(lower.iter().zip(upper));
            ends.fold(0.0, |most: f64, (sum, (lower, upper))| {
                let off = |part: f64| (f64::from(*sum) - part * all).abs();
                most.max(off(*lower)).max(off(*upper))
            })
        };
        let releases = self.sums.chunks(points).map(of_one);
        memory::vector(self.chance.len(), releases)
    }
}

/// What one more number like these is above with at most this probability; `None` where they are too few to say.
fn ranked(mut numbers: Vec<f64>, probability: f64) -> Option<f64> {
    let above = (probability * (numbers.len() + 1) as f64) as usize;
    let place = above.checked_sub(1)?;
    let (_, number, _) = numbers.select_nth_unstable_by(place, |one, other| other.total_cmp(one));
    Some(*number)
}

/// All rising parts from 0 to 1, the last of them 1, with no `|S[i] - F[i] N|` above `reach`; and these parts.
fn band(sums: &[f64], reach: f64, parts: &[f64]) -> Band {
    let count = sums.last().copied().unwrap_or(0.0);
    let points = sums.len();
    let end = |side: f64| {
        let ends = sums.iter().map(move |sum| match count > 0.0 {
            true => ((sum + side * reach) / count).clamp(0.0, 1.0),
            false => f64::from(u8::from(side > 0.0)),
        });
        memory::vector(points, ends)
    };
    let [mut lower, mut upper] = [end(-1.0), end(1.0)];
    if let Some(last) = lower.last_mut() {
        *last = 1.0;
    }
    if let Some(last) = upper.last_mut() {
        *last = 1.0;
    }
    for i in 1..points {
        lower[i] = lower[i].max(lower[i - 1]);
    }
    for i in (1..points).rev() {
        upper[i - 1] = upper[i - 1].min(upper[i]);
    }
    // Where noise is so unusual that nothing is left, what is answered is still in it.
    for (i, part) in parts.iter().enumerate() {
        lower[i] = lower[i].min(*part);
        upper[i] = upper[i].max(*part);
    }
    Band { lower, upper }
}

impl Mechanism<Totals> for CdfEstimator {
    type Answer = CdfEstimate;

    fn grid(&self) -> Option<Grid> {
        Some(self.cells().grid())
    }

    fn release(&self, totals: &Totals, generator: &mut Generator) -> CdfEstimate {
        self.release_from(totals, generator)
    }
}
