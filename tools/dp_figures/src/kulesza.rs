//! What the figures of Kulesza, Suresh and Wang 2024 share: the algorithms, and their error.

use dp_core::encoding::grid::{Bounds, STEPS};
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::mechanism::mean::hourglass::Hourglass;
use dp_core::mechanism::mean::independent::Independent;
use dp_core::mechanism::mean::laplace::Laplace;
use dp_core::mechanism::mean::pair::{Complement, PairNoise};
use dp_core::mechanism::mean::shifted::Shifted;
use dp_core::mechanism::mean::staircase::Staircase;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::sampler::staircase::{self, least_variance};
use dp_core::sampler::staircase2;

use crate::distributions::{self, Ratio};
use crate::drawing::{BLACK, BLUE, Dash, GREEN, Mark, ORANGE, PURPLE, Series, Style, VERMILION};
use crate::estimate::{Estimate, Tally};
use crate::figure::{Table, cells};
use crate::words::Words;

/// Rows and runs of section 6.
pub const ROWS: i64 = 10_000;
pub const RUNS: u32 = 100_000;

/// An algorithm of the paper, or what it compares with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Algorithm {
    Independent,
    Shifted,
    Transformed,
    Hourglass,
    Staircase2,
}

/// The algorithm at an epsilon, as `dp_core` has it.
enum Built {
    Independent(Independent),
    Shifted(Shifted),
    Transformed(Complement<Laplace>),
    Hourglass(Complement<Hourglass>),
    Staircase2(Complement<Staircase>),
}

pub const ALL_LAPLACE: [Algorithm; 3] = [
    Algorithm::Independent,
    Algorithm::Shifted,
    Algorithm::Transformed,
];
pub const BOTH_STAIRCASES: [Algorithm; 2] = [Algorithm::Staircase2, Algorithm::Hourglass];

pub const BOUND: Style = Style::new(BLACK, Dash::Dashed, Mark::None);

impl Algorithm {
    /// For a column of the table.
    pub fn key(self) -> &'static str {
        match self {
            Self::Independent => "algorithm1",
            Self::Shifted => "algorithm2",
            Self::Transformed => "algorithm3_laplace",
            Self::Hourglass => "hourglass",
            Self::Staircase2 => "staircase2d",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Independent => "Algorithm 1 (independent)",
            Self::Shifted => "Algorithm 2 (shifted)",
            Self::Transformed => "Algorithm 3 (transformed)",
            Self::Hourglass => "Algorithm 3, hourglass",
            Self::Staircase2 => "Algorithm 3, 2D staircase",
        }
    }

    pub fn style(self) -> Style {
        match self {
            Self::Independent => Style::new(VERMILION, Dash::Solid, Mark::Square),
            Self::Shifted => Style::new(ORANGE, Dash::Solid, Mark::Triangle),
            Self::Transformed => Style::new(BLUE, Dash::Solid, Mark::Circle),
            Self::Hourglass => Style::new(GREEN, Dash::Solid, Mark::Diamond),
            Self::Staircase2 => Style::new(PURPLE, Dash::Solid, Mark::Square),
        }
    }

    fn build(self, epsilon: f64) -> Built {
        let epsilon = Epsilon::new(Some(epsilon)).expect("an epsilon of a figure");
        let bounds = Bounds::new(Some(0.0), Some(1.0)).expect("bounds of 0 and 1");
        let core = |gamma: fn(f64) -> f64| staircase::core_of(gamma(epsilon.value()), STEPS);
        match self {
            Self::Independent => Built::Independent(Independent::new(bounds, STEPS, epsilon)),
            Self::Shifted => Built::Shifted(Shifted::new(bounds, STEPS, epsilon)),
            Self::Transformed => {
                Built::Transformed(Complement::new(bounds, Laplace::new(STEPS, epsilon)))
            }
            Self::Hourglass => {
                let noise = Hourglass::new(STEPS, core(staircase::best_gamma), epsilon);
                Built::Hourglass(Complement::new(bounds, noise))
            }
            Self::Staircase2 => {
                let noise = Staircase::new(STEPS, core(staircase2::best_gamma), epsilon);
                Built::Staircase2(Complement::new(bounds, noise))
            }
        }
    }

    /// The closed form of its error.
    fn distribution(self, epsilon: f64) -> Box<dyn Ratio> {
        match self {
            Self::Independent => Box::new(distributions::Laplace::Independent(epsilon)),
            Self::Shifted => Box::new(distributions::Laplace::Shifted(epsilon)),
            Self::Transformed => Box::new(distributions::Laplace::Transformed(epsilon)),
            Self::Hourglass => Box::new(distributions::Hourglass {
                epsilon,
                gamma: staircase::best_gamma(epsilon),
            }),
            Self::Staircase2 => {
                let gamma = staircase2::best_gamma(epsilon);
                let rounded = Epsilon::new(Some(epsilon)).expect("an epsilon of a figure");
                let core = staircase::core_of(gamma, STEPS);
                Box::new(distributions::Staircase2 {
                    epsilon,
                    gamma,
                    variance: Staircase::new(STEPS, core, rounded).variance(),
                })
            }
        }
    }

    /// What its error should be, in the figures' unit: the mean squared error of `n` rows of mean
    /// `m` times `n^2 eps^2 / 2`, to leading order in `1 / n`.
    pub fn expected(self, epsilon: f64, m: f64, n: f64) -> f64 {
        self.distribution(epsilon).error(m, n) * epsilon * epsilon / 2.0
    }
}

/// Rows between 0 and 1 whose mean is `m`, as the mechanisms see them: their number, and the sum of
/// their grid steps.
pub fn rows(n: i64, m: f64) -> Sums {
    Sums {
        n,
        s: (m * STEPS as f64 * n as f64).round() as i128,
    }
}

/// The mean squared error about the mean of these rows.
pub fn squared_error(
    algorithm: Algorithm,
    epsilon: f64,
    rows: &Sums,
    runs: u32,
    words: &mut Words,
) -> Estimate {
    let truth = rows.s as f64 / (STEPS as f64 * rows.n as f64);
    let mut tally = Tally::default();
    let mut errors = |release: &mut dyn FnMut() -> MeanAnswer| {
        for _ in 0..runs {
            let mean = release().mean.expect("these always have a mean");
            tally.add((mean - truth).powi(2));
        }
    };
    match algorithm.build(epsilon) {
        Built::Independent(it) => errors(&mut || it.release_from(rows, words)),
        Built::Shifted(it) => errors(&mut || it.release_from(rows, words)),
        Built::Transformed(it) => errors(&mut || it.release_from(rows, words)),
        Built::Hourglass(it) => errors(&mut || it.release_from(rows, words)),
        Built::Staircase2(it) => errors(&mut || it.release_from(rows, words)),
    }
    tally.mean()
}

/// The error at one setting, in the figures' unit.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub epsilon: f64,
    pub mean: f64,
    pub simulated: Estimate,
    pub expected: f64,
}

/// One algorithm's errors.
pub struct Curve {
    pub algorithm: Algorithm,
    pub points: Vec<Point>,
}

impl Curve {
    /// At each pair of an epsilon and a mean, of as many rows as section 6 has.
    pub fn new(
        algorithm: Algorithm,
        settings: impl IntoIterator<Item = (f64, f64)>,
        runs: u32,
        words: &mut Words,
    ) -> Self {
        let n = ROWS as f64;
        let points = settings.into_iter().map(|(epsilon, mean)| {
            let error = squared_error(algorithm, epsilon, &rows(ROWS, mean), runs, words);
            Point {
                epsilon,
                mean,
                simulated: error.times(n * n * epsilon * epsilon / 2.0),
                expected: algorithm.expected(epsilon, mean, n),
            }
        });
        Self {
            algorithm,
            points: points.collect(),
        }
    }

    /// Marks for what was simulated, a line for what is expected.
    pub fn series(
        &self,
        x: fn(&Point) -> f64,
        line: impl IntoIterator<Item = f64>,
        expected: impl Fn(f64) -> f64,
    ) -> Series {
        let points = self.points.iter().map(|point| (x(point), point.simulated));
        let line = line.into_iter().map(|x| [x, expected(x)]);
        Series::points(
            self.algorithm.name(),
            self.algorithm.style(),
            points.collect(),
        )
        .expected(line.collect())
    }
}

/// The curves' points side by side; `x` names and reads what they are over, and `bound` is the
/// lower bound there.
pub fn table(
    about: String,
    curves: &[Curve],
    (name, x): (&str, fn(&Point) -> f64),
    bound: impl Fn(&Point) -> f64,
) -> Table {
    let mut table = Table::new(about, &[name, "lower_bound"]);
    for curve in curves {
        let key = curve.algorithm.key();
        for end in ["", "_se", "_expected"] {
            table.head.push(format!("{key}{end}"));
        }
    }
    for (row, first) in curves[0].points.iter().enumerate() {
        let mut line = vec![x(first), bound(first)];
        for curve in curves {
            let point = &curve.points[row];
            line.extend(cells(point.simulated));
            line.push(point.expected);
        }
        table.rows.push(line);
    }
    table
}

/// What the tables say of all of them.
pub const UNIT: &str = "Mean squared error times n^2 eps^2 / 2, its standard error (_se), and what it is expected to be to\n\
     leading order in 1/n (_expected); rows between 0 and 1. lower_bound: sigma^2(eps) eps^2 / 2.";

/// The lower bound in the figures' unit.
pub fn lower_bound(epsilon: f64) -> f64 {
    least_variance(epsilon) * epsilon * epsilon / 2.0
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::estimate::Z;

    /// Every point that chance may have moved by no more than it does, and by what the closed forms
    /// leave out: terms of order `1 / (eps n)^2`, below a thousandth here.
    pub fn assert_expected<'a>(points: impl IntoIterator<Item = &'a Point>) {
        for point in points {
            let slack = Z * point.simulated.error + 1e-3 * point.expected;
            let distance = (point.simulated.value - point.expected).abs();
            assert!(distance < slack, "{point:?}");
        }
    }

    /// Lemma 2 and theorem 1, without clipping; Algorithm 2 has twice the error of 3 at every mean.
    #[test]
    fn the_closed_forms_are_those_of_the_paper() {
        for m in [0.0, 0.01, 0.1, 0.3, 0.5, 0.77, 1.0] {
            let unclipped = |distribution: &dyn Ratio, epsilon: f64| {
                distribution.variance(m) * epsilon * epsilon / 2.0
            };
            let near = |found: f64, expected: f64| {
                assert!(
                    (found / expected - 1.0).abs() < 1e-9,
                    "{m}: {found} {expected}"
                );
            };
            let bow = 4.0 * (m - 0.5).powi(2);
            near(
                unclipped(&distributions::Laplace::Independent(0.3), 0.3),
                4.0 + 4.0 * m * m,
            );
            near(
                unclipped(&distributions::Laplace::Shifted(0.3), 0.3),
                1.0 + bow,
            );
            near(
                unclipped(&distributions::Laplace::Transformed(0.3), 0.3),
                0.5 + bow / 2.0,
            );
        }
        // At the ends clipping takes half of the error, in the middle nothing.
        for algorithm in ALL_LAPLACE.into_iter().chain(BOTH_STAIRCASES) {
            for (m, part) in [(0.0, 0.5), (0.5, 1.0), (1.0, 0.5)] {
                let whole = algorithm.distribution(1.0).variance(m);
                let ratio = algorithm.distribution(1.0).error(m, 1e4) / whole;
                assert!((ratio - part).abs() < 1e-9, "{algorithm:?} {m}: {ratio}");
            }
        }
    }

    /// The best noise has the variance that its levels make, and at an end the hourglass has no
    /// other.
    #[test]
    fn the_hourglass_meets_the_bound_at_an_end() {
        for epsilon in [0.05, 0.5, 1.0, 4.0, 10.0] {
            let at_end = Algorithm::Hourglass.distribution(epsilon).variance(0.0);
            assert!((at_end / least_variance(epsilon) - 1.0).abs() < 1e-12);
            for algorithm in BOTH_STAIRCASES {
                let distribution = algorithm.distribution(epsilon);
                // Half of the variance lies beyond 0, counted from the levels.
                let ratio = 2.0 * distribution.clipped(0.0, 0.0) / distribution.variance(0.0);
                assert!(
                    (ratio - 1.0).abs() < 1e-6,
                    "{algorithm:?} {epsilon}: {ratio}"
                );
            }
        }
    }
}
