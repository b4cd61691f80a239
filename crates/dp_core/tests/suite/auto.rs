//! A mean that finds its bounds: the laws of its two searches, written down again, lose no more than their shares on all small
//! tables, and the code follows them; shares add up; how good it is; what odd rows do.

use dp_core::encoding::grid::Bounds;
use dp_core::encoding::log_bins::{BinSums, Limits, OctaveCounts};
use dp_core::mechanism::bounds_search::answer::AutoAnswer;
use dp_core::mechanism::bounds_search::ends::{Ends, Outside, Prior, Walk};
use dp_core::mechanism::bounds_search::release::Statistic;
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::mechanism::mean::bounded_by_search::{Auto, OfMean};
use dp_core::mechanism::mean::inputs::Mean;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::MEAN;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::staircase::least_variance;

use crate::stats::assert_law;
use crate::words::{Narrow, Seeded};

pub(crate) fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

/// All histograms of that many bins with at most that many rows in each.
fn histograms(bins: u32, most: i128) -> Vec<Vec<i128>> {
    let choices = most as usize + 1;
    let digit = |number: usize, bin: u32| (number / choices.pow(bin) % choices) as i128;
    let all = 0..choices.pow(bins);
    all.map(|number| (0..bins).map(|bin| digit(number, bin)).collect())
        .collect()
}

/// The largest logarithm of a ratio of two laws.
pub(crate) fn loss(one: &[f64], other: &[f64]) -> f64 {
    let losses = one.iter().zip(other).map(|(p, q)| (p / q).ln().abs());
    losses.fold(0.0, f64::max)
}

/// The largest loss of a law of histograms between all pairs of neighbours.
pub(crate) fn worst(bins: u32, most: i128, law: impl Fn(&[i128]) -> Vec<f64>) -> f64 {
    let mut worst = 0.0f64;
    for counts in histograms(bins, most) {
        let one = law(&counts);
        for bin in 0..counts.len() {
            let mut more = counts.clone();
            more[bin] += 1;
            worst = worst.max(loss(&one, &law(&more)));
        }
    }
    worst
}

// The walk ------------------------------------------------------------------------------------------------

/// The probability that a walk stops at each of these numbers, and at none: `P(noise >= k) = b^k`, for each noise of the threshold.
fn walk_law(numbers: &[i128], threshold: i128, e: f64) -> Vec<f64> {
    let b = (-e).exp();
    let mut law = vec![0.0; numbers.len() + 1];
    for r in 0..(60.0 / e) as i128 {
        let mut alive = (1.0 - b) * b.powf(r as f64);
        for (p, number) in law.iter_mut().zip(numbers) {
            let stops = b.powf((threshold + r - number).max(0) as f64);
            *p += alive * stops;
            alive *= 1.0 - stops;
        }
        law[numbers.len()] += alive;
    }
    law
}

fn outside_in(counts: &[i128]) -> Vec<i128> {
    let from_the_end = counts.iter().rev();
    let sums = from_the_end.scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    sums.collect()
}

#[test]
fn a_walk_loses_no_more_than_its_epsilon() {
    for e in [0.3, 1.0, 2.0] {
        let mut most = 0.0f64;
        for threshold in [1, 2, 3, 5] {
            for bins in 1..=4 {
                let law = |counts: &[i128]| walk_law(&outside_in(counts), threshold, e);
                most = most.max(worst(bins, 3, law));
            }
        }
        assert!(
            most / e <= 1.0 + 1e-9 && most / e > 0.999,
            "{e}: {}",
            most / e
        );
    }
}

/// What must not be built: one epsilon for a walk from each end, over the same rows.
#[test]
fn walks_from_both_ends_lose_twice_their_epsilon() {
    let (e, threshold) = (1.0, 2);
    let both = |counts: &[i128]| {
        let reversed: Vec<i128> = counts.iter().rev().copied().collect();
        let [down, up] =
            [counts, &reversed].map(|counts| walk_law(&outside_in(counts), threshold, e));
        let pairs = down.iter().flat_map(|p| up.iter().map(move |q| p * q));
        pairs.collect::<Vec<f64>>()
    };
    let most = worst(3, 3, both);
    assert!(most > 1.99 * e, "{most}");
}

#[test]
fn a_walk_follows_the_law_that_the_proof_is_about() {
    let draws = 40_000;
    for (e, threshold, numbers) in [
        (0.3, 5, vec![0, 0, 2, 3, 9]),
        (1.0, 3, vec![0, 1, 1, 4]),
        (2.0, 1, vec![0, 0, 0, 1]),
    ] {
        let walk = Walk::with_threshold(epsilon(e), threshold);
        let law = walk_law(&numbers, threshold, epsilon(e).value());
        let mut seen = vec![0; law.len()];
        let mut words = Seeded::new(17);
        for _ in 0..draws {
            let place = walk.stop(&numbers, &mut words);
            seen[place.unwrap_or(numbers.len())] += 1;
        }
        assert_law(&format!("{e}"), draws, seen.into_iter().zip(law));
    }
}

#[test]
fn noise_alone_stops_a_walk_as_seldom_as_said() {
    for e in [0.01, 0.2, 1.0] {
        for places in [1, 20, 100] {
            let walk = Walk::new(epsilon(e), places);
            let law = walk_law(&vec![0; places], walk.threshold(), e);
            let stops: f64 = 1.0 - law[places];
            assert!(stops <= 3.1e-4, "{e} {places}: {stops}");
        }
    }
    assert_eq!(Walk::new(epsilon(0.1), 100).threshold(), 121);
}

// The pair ------------------------------------------------------------------------------------------------

const PRIOR: Prior = Prior {
    wide: 5.0,
    narrow: 2.0,
};

/// Bins side by side, with an edge before, between and behind them.
fn outside(counts: &[i128]) -> Outside {
    let below = |edge: usize| counts[..edge].iter().sum();
    let above = |edge: usize| counts[edge..].iter().sum();
    let edges = 0..=counts.len();
    Outside::of(
        edges.clone().map(below).collect(),
        edges.map(above).collect(),
    )
}

/// Where these edges are, in 64ths.
fn places(edges: usize) -> Vec<i64> {
    (0..edges as i64).map(|edge| 40 * edge * edge).collect()
}

/// The probability of each pair: its weight in the powers that the source promises, and not as scores.
fn pair_law(counts: &[i128], e: f64) -> Vec<f64> {
    let at = places(counts.len() + 1);
    let mut weights = Vec::new();
    for i in 0..at.len() {
        for j in i + 1..at.len() {
            let rows: i128 = counts[..i].iter().chain(&counts[j..]).sum();
            let width = (at[j] - at[i]) as f64 / 64.0;
            let power = if width < 1.0 {
                PRIOR.narrow
            } else {
                PRIOR.wide
            };
            weights.push(width.powf(-power) * (-e * rows as f64).exp());
        }
    }
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// The same from the scores, as the code has them.
fn law_of_scores(counts: &[i128], e: f64) -> Vec<f64> {
    let ends = Ends::new(epsilon(e));
    let scores = ends.scores(&outside(counts), &places(counts.len() + 1), PRIOR);
    let weights: Vec<f64> = scores
        .iter()
        .map(|score| (-epsilon(e).value() / 64.0 * *score as f64).exp())
        .collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

#[test]
fn a_pair_loses_no_more_than_its_epsilon() {
    for e in [0.3, 1.0, 2.0] {
        let mut most = 0.0f64;
        for bins in 2..=4 {
            most = most.max(worst(bins, 3, |counts| law_of_scores(counts, e)));
        }
        assert!(
            most / e <= 1.0 + 1e-9 && most / e > 0.9,
            "{e}: {}",
            most / e
        );
    }
}

#[test]
fn a_pair_follows_the_law_that_the_proof_is_about() {
    for (e, counts) in [
        (0.3, vec![1, 4, 0, 2]),
        (1.0, vec![0, 2, 1]),
        (2.0, vec![1, 0, 3, 0]),
    ] {
        let (ends, at) = (Ends::new(epsilon(e)), places(counts.len() + 1));
        let law = law_of_scores(&counts, e);
        // Weights are powers, but for half a step of a score.
        assert!(loss(&law, &pair_law(&counts, e)) <= e / 64.0 * (1.0 + 1e-9));
        let draws = 20_000;
        let seen = |bits: &mut dyn FnMut() -> (usize, usize)| {
            let mut seen = vec![0; law.len()];
            for _ in 0..draws {
                let (from, to) = bits();
                let place = (0..from).map(|i| at.len() - 1 - i).sum::<usize>() + to - from - 1;
                seen[place] += 1;
            }
            seen
        };
        let rows = outside(&counts);
        let mut wide = Seeded::new(5);
        let mut narrow = Narrow::<3>(Seeded::new(6));
        for seen in [
            seen(&mut || ends.choose(&rows, &at, PRIOR, &mut wide)),
            seen(&mut || ends.choose(&rows, &at, PRIOR, &mut narrow)),
        ] {
            assert_law(&format!("{e}"), draws, seen.into_iter().zip(law.clone()));
        }
    }
}

// The chain -----------------------------------------------------------------------------------------------

pub(crate) fn limits(lo: f64, hi: f64) -> Limits {
    Limits::between(&Bounds::new(Some(lo), Some(hi)).unwrap())
}

fn auto(limits: Limits, e: f64) -> Auto {
    Auto::new(limits, epsilon(e), 0.0)
}

pub(crate) fn counted<S: BinSums>(
    limits: &Limits,
    rows: impl IntoIterator<Item = f64>,
) -> OctaveCounts<S> {
    let mut counts = OctaveCounts::default();
    rows.into_iter()
        .for_each(|x| counts.add_row(limits.place_of(x)));
    counts
}

fn released(
    limits: Limits,
    e: f64,
    rows: impl IntoIterator<Item = f64>,
    seed: u64,
) -> AutoAnswer<MeanAnswer> {
    let rows = counted(&limits, rows);
    auto(limits, e).release_from(&rows, &mut Seeded::new(seed))
}

#[test]
fn shares_add_up_whatever_is_found() {
    let (none, some) = (Limits::NONE, limits(0.0, 1000.0));
    let octave = |e: f64, rows| auto(none, e).search().of_octave(rows);
    assert_eq!([octave(1.0, -5), octave(1.0, 0), octave(1.0, 104)], [22; 3]);
    assert_eq!([octave(1.0, 200), octave(1.0, 768)], [12, 3]);
    assert_eq!([octave(1.0, i128::MAX), octave(0.1, 2000)], [3, 12]);
    // With ends, and without: of few rows, and of many.
    let mut without = [0; 2];
    for rows in [0, 3, 30, 100, 1000, 20_000] {
        for seed in 0..30 {
            for (i, limits) in [none, some].into_iter().enumerate() {
                let rows = (0..rows).map(|i| f64::from(i % 100));
                let found = released(limits, 1.0, rows, seed);
                let spent = 3 + octave(1.0, found.nonzero) + found.parts;
                let all = found.bounds == [0.0, [0.0, 1000.0][i]];
                assert!(spent + 16 == 64 || i == 1 && all && spent == 64);
                without[i] += u32::from(all && found.few);
            }
        }
    }
    assert!(without.iter().all(|times| *times > 30), "{without:?}");
}

/// How many words a release draws says nothing of where it stopped.
#[test]
fn all_noise_is_drawn() {
    struct Counting(Seeded, u64);
    impl Bits for Counting {
        const WIDTH: u32 = 64;
        fn word(&mut self) -> u64 {
            self.1 += 1;
            self.0.word()
        }
    }
    let drawn = |numbers: &[i128]| {
        let mut words = Counting(Seeded::new(8), 0);
        Walk::new(epsilon(1.0), numbers.len()).stop(numbers, &mut words);
        words.1
    };
    let few = drawn(&[0; 100]);
    assert!(few >= 101);
    assert_eq!(few, drawn(&[1000; 100]));
}

#[test]
fn ends_and_means_are_near_what_rows_say() {
    let rows = || (0..10_000).map(|i| f64::from(i) / 100.0);
    for seed in 0..20 {
        let found = released(Limits::NONE, 1.0, rows(), seed);
        let AutoAnswer {
            answer,
            bounds: [lo, hi],
            nonzero,
            few,
            ..
        } = found;
        assert!(lo <= 20.0 && (80.0..=256.0).contains(&hi), "{lo} {hi}");
        assert!((answer.mean.unwrap() - 49.995).abs() < 1.0);
        assert!((answer.count.unwrap() - 10_000.0).abs() < 100.0);
        assert!((nonzero - 9999).abs() < 1000 && !few);
        // Far from zero, with loose limits and without.
        let far = || rows().map(|x| 1e6 + x);
        let with = released(limits(1e6, 2e6), 1.0, far(), seed);
        assert!((with.answer.mean.unwrap() - 1_000_049.995).abs() < 1.0);
        assert!(with.bounds[0] >= 1e6 && with.bounds[1] <= 1e6 + 256.0);
        let without = released(Limits::NONE, 1.0, far(), seed);
        assert!(without.bounds[1] - without.bounds[0] > 1e5);
    }
}

#[test]
fn odd_rows_are_rows() {
    let none = Limits::NONE;
    let mean =
        |limits, rows: Vec<f64>, seed| released(limits, 1.0, rows, seed).answer.mean.unwrap();
    for seed in 0..20 {
        // Nothing, and nothing but zeros, and what counts as zero.
        for rows in [vec![], vec![0.0; 5000], vec![-0.0, 5e-324, -1e-300, 1e-13]] {
            let found = released(none, 1.0, rows, seed);
            assert!(found.few && found.bounds[1] - found.bounds[0] < 1e-9 || seed > 0);
            assert!(found.answer.mean.unwrap().is_finite());
        }
        for x in [f64::INFINITY, f64::MAX, 1e18] {
            for sign in [1.0, -1.0] {
                let found = mean(none, vec![sign * x; 5000], seed);
                assert!((found * sign / 1.15e18 - 1.0).abs() < 0.2, "{found}");
            }
        }
        let found = mean(
            none,
            [vec![1e-11; 5000], vec![f64::NEG_INFINITY]].concat(),
            seed,
        );
        assert!((0.0..1e-10).contains(&found), "{found}");
        let both = [vec![f64::INFINITY; 3000], vec![f64::NEG_INFINITY; 3000]].concat();
        assert!(mean(none, both.clone(), seed).abs() < 1e17);
        // Between limits.
        assert!(mean(limits(-10.0, 30.0), both, seed) > 5.0);
        let found = mean(limits(-1e308, 5e307), vec![f64::NAN; 5000], seed);
        assert!((found / -1.15e18 - 1.0).abs() < 0.2, "{found}");
        let none_there = released(limits(-5.0, 7.0), 1.0, [], seed);
        assert!((-5.0..=7.0).contains(&none_there.answer.mean.unwrap()));
        let tiny = mean(limits(5.0, 5.0 + 1e-9), vec![5.0 + 5e-10; 5000], seed);
        assert!((tiny - 5.0 - 5e-10).abs() < 2e-10, "{tiny}");
    }
}

// Accuracy ------------------------------------------------------------------------------------------------

/// Uniform numbers above 0 and below 1, and what is made of them.
pub(crate) struct Draws(pub(crate) Seeded);

impl Draws {
    fn unit(&mut self) -> f64 {
        ((self.0.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// Poisson, of a gamma with shape 0.3 and scale 10 (Johnk 1964, with 0.7 for the complement).
    fn visits(&mut self) -> f64 {
        let part = loop {
            let (x, y) = (self.unit().powf(1.0 / 0.3), self.unit().powf(1.0 / 0.7));
            if x + y <= 1.0 {
                break x / (x + y);
            }
        };
        let rate = 10.0 * part * self.exponential();
        let (mut visits, mut time) = (0.0, self.exponential());
        while time < rate {
            visits += 1.0;
            time += self.exponential();
        }
        visits
    }
}

pub(crate) type Law = (&'static str, fn(&mut Draws) -> f64);

pub(crate) const LAWS: [Law; 10] = [
    ("uniform", |d| d.unit()),
    ("normal", |d| 100.0 + 15.0 * d.normal()),
    ("lognormal 0.5", |d| 3e4 * (0.5 * d.normal()).exp()),
    ("lognormal 1", |d| 3e4 * d.normal().exp()),
    ("lognormal 1.5", |d| 3e4 * (1.5 * d.normal()).exp()),
    ("exponential", |d| 60.0 * d.exponential()),
    ("delays", |d| {
        let late = if d.unit() < 0.3 {
            60.0 * d.exponential()
        } else {
            0.0
        };
        late - 10.0 + 12.0 * d.normal()
    }),
    ("pareto 2.5", |d| d.unit().powf(-1.0 / 2.5)),
    ("pareto 1.5", |d| d.unit().powf(-1.0 / 1.5)),
    ("visits", Draws::visits),
];

/// The squared error of the mean between the two bounds that are the best ones for these rows: of noise, and of clamping; the
/// biases of the two bounds add up.
fn oracle(sorted: &[f64], e: f64) -> f64 {
    let n = sorted.len();
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(sorted.iter().scan(0.0, |sum, x| {
            *sum += x;
            Some(*sum)
        }))
        .collect();
    let mut ranks: Vec<usize> = (0..45)
        .map(|i| 1.3f64.powi(i).round() as usize - 1)
        .collect();
    ranks.dedup();
    ranks.retain(|rank| *rank < n / 2);
    let lowers = ranks.iter().map(|r| {
        let lower = sorted[*r];
        (lower, *r as f64 * lower - sums[*r])
    });
    let least = sorted[0].min(0.0);
    let lowers: Vec<(f64, f64)> = lowers.chain([(least, 0.0)]).collect();
    let uppers: Vec<(f64, f64)> = ranks
        .iter()
        .map(|r| {
            let upper = sorted[n - 1 - r];
            (upper, sums[n] - sums[n - r] - *r as f64 * upper)
        })
        .collect();
    let rows = n as f64;
    let mut best = f64::INFINITY;
    for (lower, from_below) in &lowers {
        for (upper, from_above) in &uppers {
            let width = upper - lower;
            if width <= 0.0 {
                continue;
            }
            let mean = (sums[n] + from_below - from_above) / rows;
            let p = (mean - lower) / width;
            let noise = least_variance(e) * (width / rows).powi(2) * (p * p + (1.0 - p).powi(2));
            let bias = (from_below + from_above) / rows;
            best = best.min(noise + bias * bias);
        }
    }
    best
}

/// Rows from a law, in ascending order, and the squared errors of that many releases about what `truth` says of the rows.
pub(crate) struct Measured<'a> {
    pub(crate) law: &'a Law,
    pub(crate) rows: usize,
    pub(crate) seed: u64,
}

impl Measured<'_> {
    /// The root mean squared error over that of the oracle: of all but the worst hundredth of the draws.
    pub(crate) fn ratio<S: BinSums>(
        &self,
        oracle: impl Fn(&[f64]) -> f64,
        truth: impl Fn(&[f64]) -> f64,
        mut release: impl FnMut(&OctaveCounts<S>, &mut Seeded) -> f64,
    ) -> f64 {
        let (mut draws, mut words) = (Draws(Seeded::new(self.seed)), Seeded::new(self.seed + 1));
        let (mut errors, mut best) = (Vec::new(), 0.0);
        let (columns, releases) = (5, 40);
        for _ in 0..columns {
            let mut rows: Vec<f64> = (0..self.rows).map(|_| self.law.1(&mut draws)).collect();
            rows.sort_by(f64::total_cmp);
            let truth = truth(&rows);
            best += oracle(&rows) / f64::from(columns);
            let counts = counted(&Limits::NONE, rows);
            errors.extend((0..releases).map(|_| (release(&counts, &mut words) - truth).powi(2)));
        }
        errors.sort_by(f64::total_cmp);
        errors.truncate(errors.len() * 99 / 100);
        (errors.iter().sum::<f64>() / errors.len() as f64 / best).sqrt()
    }
}

/// The geometric mean of these ratios, and the largest.
fn summed_up(ratios: &[f64]) -> [f64; 2] {
    let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    let most = ratios.iter().copied().fold(0.0, f64::max);
    [(logarithms / ratios.len() as f64).exp(), most]
}

/// That the ratios of these laws stay below what is expected: of that many rows at an epsilon, their geometric mean and
/// the largest. The first law has the rows of this seed, the next those of the following one.
pub(crate) fn assert_ratios(
    laws: &[Law],
    seed: u64,
    expected: [(usize, f64, f64, f64); 4],
    ratio: impl Fn(Measured, f64) -> f64,
) {
    for (rows, e, of_all, of_one) in expected {
        let of_law = |(law, seed)| ratio(Measured { law, rows, seed }, e);
        let ratios: Vec<f64> = laws.iter().zip(seed..).map(of_law).collect();
        let [mean, most] = summed_up(&ratios);
        println!("n {rows}, eps {e}: {ratios:.2?}: {mean:.2}, at most {most:.2}");
        assert!(
            mean <= of_all && most <= of_one,
            "{rows} {e}: {mean} {most}"
        );
    }
}

/// The figures of docs/proofs/mean-auto.md are from here, by `cargo test -p dp_core --profile testing --features testing -- auto:: --nocapture`.
#[test]
fn errors_are_about_twice_those_of_the_best_bounds() {
    let expected = [
        (1000, 0.5, 2.2, 4.0),
        (1000, 1.0, 2.2, 4.0),
        (10_000, 0.1, 2.2, 4.0),
        (10_000, 1.0, 2.2, 3.0),
    ];
    assert_ratios(&LAWS, 0, expected, |measured, e| {
        let auto = auto(Limits::NONE, e);
        measured.ratio(
            |sorted| oracle(sorted, e),
            |sorted| sorted.iter().sum::<f64>() / sorted.len() as f64,
            |counts, words| auto.release_from(counts, words).answer.mean.unwrap(),
        )
    });
}

/// A release, and its interval, without room for rows beyond the bounds and with room for 20 / epsilon of them.
#[cfg(feature = "testing")]
pub(crate) struct WithIntervals<Q: Statistic> {
    pub(crate) epsilon: f64,
    pub(crate) found: AutoAnswer<Q::Answer>,
    pub(crate) plain: [f64; 2],
    pub(crate) wider: [f64; 2],
}

/// That intervals of 80% hold `truth` of the rows clamped to the bounds that were found, whatever these are, and that
/// the wider ones hold it of all rows, if they should; neither may miss more than a fifth, and the first must miss more
/// than `least` of 2,000. `check` looks at each release.
#[cfg(feature = "testing")]
pub(crate) fn assert_intervals<Q: Statistic + Default>(
    law: fn(&mut Draws) -> f64,
    truth: impl Fn(&[f64]) -> f64,
    of_all_rows: bool,
    least: u32,
    check: impl Fn(&WithIntervals<Q>),
) {
    use dp_core::mechanism::bounds_search::release;
    use dp_core::mechanism::definition::Mechanism;
    let mut draws = Draws(Seeded::new(4));
    let mut words = Seeded::new(5);
    for (n, e) in [(60, 1.0), (300, 1.0), (5000, 0.2)] {
        let rows: Vec<f64> = (0..n).map(|_| law(&mut draws)).collect();
        let all = truth(&rows);
        for limits in [Limits::NONE, limits(-50.0, 1e4)] {
            let counts = counted(&limits, rows.iter().copied());
            let auto = |beyond| release::Auto::<Q>::new(limits, epsilon(e), beyond);
            let plain = auto(0.0);
            let [plain_ends, wider_ends] =
                [0.0, 20.0].map(|beyond| auto(beyond).intervals(0.2).unwrap());
            let (mut misses, mut all_missed, releases) = (0, 0, 2000);
            for _ in 0..releases {
                let found = plain.release_from(&counts, &mut words);
                let [lo, hi] = found.bounds;
                let clamped: Vec<f64> = rows.iter().map(|x| x.clamp(lo, hi)).collect();
                let release = WithIntervals {
                    epsilon: e,
                    plain: plain_ends(&found),
                    wider: wider_ends(&found),
                    found,
                };
                let holds = |[lower, upper]: [f64; 2], x| (lower..=upper).contains(&x);
                misses += u32::from(!holds(release.plain, truth(&clamped)));
                all_missed += u32::from(of_all_rows && !holds(release.wider, all));
                check(&release);
            }
            // A fifth, and 4.9 standard deviations.
            let most = 0.2 * f64::from(releases) + 4.9 * (0.16 * f64::from(releases)).sqrt();
            for misses in [misses, all_missed] {
                assert!(f64::from(misses) <= most, "{n} {e}: {misses}");
            }
            assert!(misses > least, "{n} {e}: {misses}");
        }
    }
}

/// Of the mean of the rows clamped to the bounds that were found, whatever these are.
#[cfg(feature = "testing")]
#[test]
fn intervals_hold_the_mean_of_the_clamped_rows() {
    let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len() as f64;
    let law = |d: &mut Draws| 60.0 * d.exponential() - 20.0;
    assert_intervals::<OfMean>(law, mean, false, 100, |release| {
        let ([lower, upper], [least, most]) = (release.plain, release.wider);
        assert!(least <= lower && upper <= most);
        let ([lo, hi], mean) = (release.found.bounds, release.found.answer.mean.unwrap());
        assert!((lower..=upper).contains(&mean) && (lo..=hi).contains(&mean));
    });
}

// A call --------------------------------------------------------------------------------------------------

/// The arguments of a call at epsilon 1.
pub(crate) fn arguments(bounds: [Option<f64>; 2], text: &str) -> Arguments<'_> {
    Arguments {
        bounds: Some((bounds[0], bounds[1])),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    }
}

/// Calls that every mechanism refuses which finds its bounds, with the argument to blame.
pub(crate) const REFUSED: [([Option<f64>; 2], &str, &str); 6] = [
    ([None, Some(2.0)], "auto", "lo"),
    ([Some(1.0), None], "auto", "hi"),
    ([Some(2.0), Some(1.0)], "auto", "hi"),
    ([Some(f64::NAN), Some(1.0)], "auto", "lo"),
    ([None, None], "auto(beyond=-1)", "mech"),
    ([Some(0.0), Some(1.0)], "auto(scale=3)", "mech"),
];

fn called(bounds: [Option<f64>; 2], text: &str) -> Result<Limits, &'static str> {
    match MEAN.build(&arguments(bounds, text)) {
        Ok(mean) => match *mean {
            Mean::Auto(auto) => Ok(*auto.limits()),
            _ => Err("another mechanism"),
        },
        Err(error) => Err(error.argument),
    }
}

#[test]
fn limits_are_two_or_none() {
    assert_eq!(called([None, None], "auto"), Ok(Limits::NONE));
    assert_eq!(called([Some(1.0), Some(2.0)], "auto"), Ok(limits(1.0, 2.0)));
    let of_mean = [
        ([Some(0.0), Some(1e-12)], "auto", "hi"),
        ([None, None], "hourglass", "lo"),
    ];
    for (bounds, text, argument) in REFUSED.into_iter().chain(of_mean) {
        assert_eq!(called(bounds, text), Err(argument), "{bounds:?} {text}");
    }
}
