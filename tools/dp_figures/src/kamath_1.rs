//! Figure 1 of Kamath, Mouzakis, Regehr, Singhal, Steinke and Ullman 2023: what the bound that
//! incomes are clamped to does to the bias and to the error of their mean.
//!
//! The lines are closed forms; the marks are releases of the mechanism `clipped`. Its noise is that of
//! the least variance, where the paper has Laplace noise: of 4% more variance at epsilon 1, and of as
//! much at 0.1 and below. The paper gives neither the epsilons, which are those of its Table 1 here, nor
//! how many runs there are.

use std::f64::consts::TAU;

use dp_core::encoding::grid::{Bounds, Grid, STEPS};
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::mean::clipped::Clipped;
use dp_core::privacy::accounting::normal_cdf;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::sampler::staircase::least_variance;

use crate::drawing::{
    Axis, BLACK, BLUE, Dash, GREEN, Mark, ORANGE, Panel, Picture, Series, Style, VERMILION,
};
use crate::estimate::{Estimate, Tally};
use crate::figure::{Figure, Table, cells, factors};
use crate::words::Words;

/// That many incomes, log-normal with this median and log-variance 1.
pub const ROWS: u32 = 500;
pub const MEDIAN: f64 = 60_000.0;
pub const EPSILONS: [f64; 6] = [0.01, 0.05, 0.1, 1.0, 2.0, 4.0];
/// As many as for the paper's Figure 2.
pub const RUNS: u32 = 5000;

/// Those that are drawn: from 1 upwards they lie on each other.
const DRAWN: [(f64, &str, Style); 4] = [
    (
        0.01,
        "RMSE, ε = 0.01",
        Style::new(VERMILION, Dash::Solid, Mark::Square),
    ),
    (
        0.05,
        "RMSE, ε = 0.05",
        Style::new(ORANGE, Dash::Solid, Mark::Triangle),
    ),
    (
        0.1,
        "RMSE, ε = 0.1",
        Style::new(BLUE, Dash::Solid, Mark::Circle),
    ),
    (
        1.0,
        "RMSE, ε = 1",
        Style::new(GREEN, Dash::Solid, Mark::Diamond),
    ),
];

/// Errors of the mean of the rows, clamped, with noise.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    pub bias: f64,
    /// Of rows and noise together.
    pub standard_error: f64,
    pub rmse: f64,
}

/// The mean of the distribution.
pub fn mean() -> f64 {
    MEDIAN * 0.5f64.exp()
}

/// With rows clamped to `[0, bound]` and the noise of the least variance for them.
pub fn errors(bound: f64, epsilon: f64) -> Errors {
    // x = MEDIAN exp(z) with z normal is clamped where z is above k.
    let k = (bound / MEDIAN).ln();
    let above = normal_cdf(-k);
    let clamped_mean = mean() * normal_cdf(k - 1.0) + bound * above;
    let square = MEDIAN * MEDIAN * 2f64.exp() * normal_cdf(k - 2.0) + bound * bound * above;
    // E max(0, x - bound), which is what clamping takes away.
    let bias = bound * above - mean() * normal_cdf(1.0 - k);
    let rows = f64::from(ROWS);
    let noise = least_variance(epsilon) * (bound / rows).powi(2);
    let variance = (square - clamped_mean * clamped_mean) / rows + noise;
    Errors {
        bias,
        standard_error: variance.sqrt(),
        rmse: (bias * bias + variance).sqrt(),
    }
}

/// The bound with the least root mean squared error: by golden section, in its logarithm.
pub fn best_bound(epsilon: f64) -> f64 {
    let rmse = |log: f64| errors(log.exp(), epsilon).rmse;
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = ((MEDIAN / 1e3).ln(), (MEDIAN * 1e3).ln());
    for _ in 0..60 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if rmse(left) < rmse(right) {
            high = right;
        } else {
            low = left;
        }
    }
    low.midpoint(high).exp()
}

/// What releases show at a bound and an epsilon.
pub struct Point {
    pub epsilon: f64,
    pub bound: f64,
    pub bias: Estimate,
    pub standard_error: Estimate,
    pub rmse: Estimate,
}

pub struct Data {
    pub points: Vec<Point>,
    runs: u32,
}

fn bounds() -> Vec<f64> {
    factors(1e4, 3e6, 12)
}

pub fn data(runs: u32) -> Data {
    let mut words = Words::new(51);
    let bounds = bounds();
    let mechanisms: Vec<(Grid, Vec<Clipped>)> = bounds
        .iter()
        .map(|bound| {
            let bounds = Bounds::new(Some(0.0), Some(*bound)).expect("bounds of a figure");
            let at = |epsilon| {
                let epsilon = Epsilon::new(Some(epsilon)).expect("an epsilon of a figure");
                Clipped::new(bounds, STEPS, f64::from(ROWS), epsilon)
            };
            (Grid::unit(&bounds), EPSILONS.map(at).into())
        })
        .collect();
    let mut tallies = vec![[[Tally::default(); 3]; EPSILONS.len()]; bounds.len()];
    for _ in 0..runs {
        let rows: Vec<f64> = (0..ROWS / 2)
            .flat_map(|_| words.normals())
            .map(|z| MEDIAN * z.exp())
            .collect();
        for (((grid, mechanisms), tallies), bound) in
            mechanisms.iter().zip(&mut tallies).zip(&bounds)
        {
            // For the spread: around where the answers should be on average.
            let middle = errors(*bound, 1.0).bias;
            let mut sums = Sums::default();
            for x in &rows {
                sums.add(grid.steps(*x));
            }
            for (mechanism, [errors, spread, squares]) in mechanisms.iter().zip(tallies) {
                let answer = mechanism.release_from(&sums, &mut words).mean;
                let error = answer.expect("it always has a mean") - mean();
                errors.add(error);
                spread.add((error - middle).powi(2));
                squares.add(error * error);
            }
        }
    }
    let mut points = Vec::new();
    for (bound, tallies) in bounds.into_iter().zip(tallies) {
        for (epsilon, [errors, spread, squares]) in EPSILONS.into_iter().zip(tallies) {
            points.push(Point {
                epsilon,
                bound,
                bias: errors.mean(),
                standard_error: spread.mean().sqrt(),
                rmse: squares.mean().sqrt(),
            });
        }
    }
    Data { points, runs }
}

impl Data {
    fn series(&self) -> Vec<Series> {
        let line = || factors(1e4, 3e6, 200).into_iter();
        let at = |epsilon: f64| {
            self.points
                .iter()
                .filter(move |point| point.epsilon == epsilon)
        };
        let bias = line()
            .map(|bound| [bound, errors(bound, 1.0).bias.abs()])
            .collect();
        let black = Style::new(BLACK, Dash::Dotted, Mark::Cross);
        let marks = at(1.0).map(|point| {
            let size = Estimate {
                value: point.bias.value.abs(),
                ..point.bias
            };
            (point.bound, size)
        });
        let bias = Series::points("|bias|, any ε", black, marks.collect()).expected(bias);
        let mut all = vec![bias];
        for (epsilon, name, style) in DRAWN {
            let rmse = line()
                .map(|bound| [bound, errors(bound, epsilon).rmse])
                .collect();
            let marks = at(epsilon).map(|point| (point.bound, point.rmse)).collect();
            let spread = line().map(|bound| [bound, errors(bound, epsilon).standard_error]);
            let dashed = Style {
                dash: Dash::Dashed,
                mark: Mark::None,
                ..style
            };
            all.push(Series::points(name, style, marks).expected(rmse));
            all.push(Series::line("", dashed, spread.collect()));
        }
        let black = Style::new(BLACK, Dash::Dashed, Mark::None);
        all.push(Series::line(
            "standard error, in the colour of its ε",
            black,
            vec![[1.0, 1.0]],
        ));
        all
    }

    pub fn figure(&self) -> Figure {
        // The density of the incomes over the logarithm of the axis, at a height of its own.
        let silhouette = factors(1e4, 3e6, 150).into_iter().map(|x| {
            let z = (x / MEDIAN).ln();
            let density = (-z * z / 2.0).exp() / TAU.sqrt();
            [x, 300.0 * 10f64.powf(2.6 * density)]
        });
        let panel = Panel {
            title: "Mean of 500 incomes clamped to [0, T], with noise",
            x: Axis::log(
                "clamping threshold T",
                9e3,
                3.3e6,
                &[1e4, 3e4, 1e5, 3e5, 1e6, 3e6],
            ),
            y: Axis::log(
                "error of the mean, in the incomes' unit",
                300.0,
                2e6,
                &[300.0, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6],
            ),
            series: self.series(),
            notes: Vec::new(),
            silhouette: silhouette.collect(),
        };
        Figure {
            picture: Picture {
                panels: vec![panel],
                columns: 1,
                width: 720,
                height: 520,
            },
            tables: vec![self.table(), best()],
        }
    }

    fn table(&self) -> Table {
        let about = format!(
            "The mean of {ROWS} incomes (log-normal, median {MEDIAN}, log-variance 1) clamped to [0, T], with\n\
             noise of standard deviation sigma(eps) T / n: closed forms, then {} runs of the mechanism clipped with\n\
             standard errors (_se).",
            self.runs
        );
        let head = [
            "eps",
            "T",
            "bias",
            "standard_error",
            "rmse",
            "bias_released",
            "bias_released_se",
            "standard_error_released",
            "standard_error_released_se",
            "rmse_released",
            "rmse_released_se",
        ];
        let mut table = Table::new(about, &head);
        for epsilon in EPSILONS {
            for point in self.points.iter().filter(|point| point.epsilon == epsilon) {
                let expected = errors(point.bound, epsilon);
                let mut row = vec![epsilon, point.bound];
                row.extend([expected.bias, expected.standard_error, expected.rmse]);
                let found = [point.bias, point.standard_error, point.rmse];
                row.extend(found.into_iter().flat_map(cells));
                table.rows.push(row);
            }
        }
        table
    }
}

/// The lowest points.
fn best() -> Table {
    let head = ["eps", "T", "bias", "standard_error", "rmse"];
    let mut table = Table::new("The T with the least error, from the closed forms.", &head);
    for epsilon in EPSILONS {
        let bound = best_bound(epsilon);
        let Errors {
            bias,
            standard_error,
            rmse,
        } = errors(bound, epsilon);
        table
            .rows
            .push(vec![epsilon, bound, bias, standard_error, rmse]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Z;

    /// Against an integration by other means.
    #[test]
    fn the_lowest_points_are_where_they_should_be() {
        for (epsilon, bound, bias, standard_error, rmse) in [
            (0.01, 112_396.0, -34_026.0, 31_834.0, 46_596.0),
            (0.05, 265_561.0, -12_783.0, 15_383.0, 20_001.0),
            (0.1, 356_398.0, -8_157.0, 10_798.0, 13_533.0),
            (1.0, 723_159.0, -2_119.0, 5_343.0, 5_748.0),
            (2.0, 800_595.0, -1_690.0, 5_173.0, 5_442.0),
            (4.0, 836_273.0, -1_529.0, 5_130.0, 5_353.0),
        ] {
            let near = |found: f64, expected: f64| {
                assert!(
                    (found / expected - 1.0).abs() < 0.005,
                    "{epsilon}: {found} {expected}"
                );
            };
            let best = best_bound(epsilon);
            let found = errors(best, epsilon);
            near(best, bound);
            near(found.bias, bias);
            near(found.standard_error, standard_error);
            near(found.rmse, rmse);
            for factor in [0.5, 0.9, 1.1, 2.0] {
                assert!(errors(factor * best, epsilon).rmse > found.rmse);
            }
        }
    }

    #[test]
    fn releases_lie_on_the_closed_forms() {
        for point in data(2000).points {
            let expected = errors(point.bound, point.epsilon);
            for (found, expected) in [
                (point.bias, expected.bias),
                (point.standard_error, expected.standard_error),
                (point.rmse, expected.rmse),
            ] {
                let (bound, epsilon) = (point.bound, point.epsilon);
                assert!(
                    found.distance(expected) < Z,
                    "T {bound} eps {epsilon}: {found:?}"
                );
            }
        }
    }
}
