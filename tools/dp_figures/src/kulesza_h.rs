//! The figures of Appendix H of Kulesza, Suresh and Wang 2024: 1 to 64 rows of mean 0.01, the
//! Laplace mechanisms at epsilon 1 and the staircases at 4.
//!
//! The errors are times `eps^2 / 2`, without the `n^2` of Figure 2, as the paper says. It does not
//! say how many runs there are, nor the distribution of the rows. Here the rows' mean is just 0.01, and
//! beside it, in the table, rows are 1 with probability 0.01 and else 0, drawn again for each run.

use dp_core::encoding::sums::Sums;

use crate::distributions::clipped_staircase;
use crate::drawing::{Axis, BLACK, Dash, Mark, Panel, Picture, Series, Style};
use crate::estimate::{Estimate, Tally};
use crate::figure::{Figure, Table, cells};
use crate::kulesza::{
    ALL_LAPLACE, Algorithm, BOTH_STAIRCASES, BOUND, lower_bound, rows, squared_error,
};
use crate::words::Words;

/// Not given by the paper.
pub const RUNS: u32 = 1_000_000;

pub const MEAN: f64 = 0.01;
pub const HIGH_PRIVACY: f64 = 1.0;
pub const LOW_PRIVACY: f64 = 4.0;

/// One algorithm over the number of rows.
pub struct Curve {
    pub algorithm: Algorithm,
    /// Number of rows, error of rows of mean 0.01, and of rows that are 0 or 1.
    pub points: Vec<(i64, Estimate, Estimate)>,
}

pub struct Data {
    pub laplace: Vec<Curve>,
    pub staircases: Vec<Curve>,
    runs: u32,
}

pub fn sizes() -> impl Iterator<Item = i64> {
    (0..=6).map(|power| 1 << power)
}

pub fn data(runs: u32) -> Data {
    let mut words = Words::new(32);
    let mut curves = |algorithms: &[Algorithm], epsilon: f64| -> Vec<Curve> {
        let mut curve = |algorithm: &Algorithm| {
            let points = sizes().map(|n| {
                let unit = epsilon * epsilon / 2.0;
                let fixed = squared_error(*algorithm, epsilon, &rows(n, MEAN), runs, &mut words);
                let drawn = of_drawn_rows(*algorithm, epsilon, n, runs, &mut words);
                (n, fixed.times(unit), drawn.times(unit))
            });
            Curve {
                algorithm: *algorithm,
                points: points.collect(),
            }
        };
        algorithms.iter().map(&mut curve).collect()
    };
    Data {
        laplace: curves(&ALL_LAPLACE, HIGH_PRIVACY),
        staircases: curves(&BOTH_STAIRCASES, LOW_PRIVACY),
        runs,
    }
}

/// The error about the rows' own mean where each is 1 with probability 0.01, and else 0. As many
/// tables as runs are drawn; those that are alike are released together.
fn of_drawn_rows(
    algorithm: Algorithm,
    epsilon: f64,
    n: i64,
    runs: u32,
    words: &mut Words,
) -> Estimate {
    let mut tables = vec![0u32; n as usize + 1];
    for _ in 0..runs {
        let ones = (0..n).filter(|_| words.chance(MEAN)).count();
        tables[ones] += 1;
    }
    let mut whole = Tally::default();
    let mut square_error = 0.0;
    for (ones, count) in tables
        .into_iter()
        .enumerate()
        .filter(|(_, count)| *count > 1)
    {
        let rows: Sums = rows(n, ones as f64 / n as f64);
        let found = squared_error(algorithm, epsilon, &rows, count, words);
        let share = f64::from(count) / f64::from(runs);
        square_error += (share * found.error).powi(2);
        whole.extend(std::iter::repeat_n(found.value, count as usize));
    }
    let between = whole.mean();
    Estimate {
        value: between.value,
        error: square_error.sqrt().hypot(between.error),
    }
}

impl Curve {
    fn over(&self, other: &Self) -> Vec<(f64, Estimate)> {
        let pairs = self.points.iter().zip(&other.points);
        let ratios = pairs.map(|((n, one, _), (_, two, _))| (*n as f64, one.over(*two)));
        ratios.collect()
    }
}

/// A line from mark to mark: there is no closed form of so few rows.
fn joined(name: &'static str, style: Style, points: Vec<(f64, Estimate)>) -> Series {
    let line = points.iter().map(|(x, y)| [*x, y.value]).collect();
    Series::points(name, style, points).expected(line)
}

fn errors(curves: &[Curve], epsilon: f64) -> Vec<Series> {
    let series = curves.iter().map(|curve| {
        let points = curve.points.iter().map(|(n, error, _)| (*n as f64, *error));
        joined(
            curve.algorithm.name(),
            curve.algorithm.style(),
            points.collect(),
        )
    });
    let bound = sizes().map(|n| [n as f64, lower_bound(epsilon) / (n * n) as f64]);
    let bound = Series::line("lower bound, σ²(ε)/n²", BOUND, bound.collect());
    let swap = sizes().map(|n| [n as f64, swap_error(epsilon, n)]);
    let dotted = Style::new(BLACK, Dash::Dotted, Mark::None);
    let swap = Series::line("n public: staircase, clipped", dotted, swap.collect());
    series.chain([bound, swap]).collect()
}

/// The error, in the figures' unit, of the best mean of a public number of rows: staircase noise,
/// clipped to the bounds as the others are. A closed form, for any number of rows.
pub fn swap_error(epsilon: f64, n: i64) -> f64 {
    let square = (n * n) as f64;
    clipped_staircase(epsilon, MEAN, n as f64) / square * epsilon * epsilon / 2.0
}

fn table(curves: &[Curve], epsilon: f64, runs: u32) -> Table {
    let about = format!(
        "Few rows: eps {epsilon}, {runs} runs of each point.\n\
         Mean squared error times eps^2 / 2 and its standard error (_se): of rows whose mean is {MEAN}, and\n\
         (_drawn) of rows drawn for each run, 1 with probability {MEAN} and else 0, about their own mean.\n\
         bound: sigma^2(eps) / n^2 times eps^2 / 2. swap: the error of the best mean of a public number of rows,\n\
         staircase noise that is clipped to the bounds."
    );
    let mut table = Table::new(about, &["n", "bound", "swap"]);
    for curve in curves {
        let key = curve.algorithm.key();
        for end in ["", "_se", "_drawn", "_drawn_se"] {
            table.head.push(format!("{key}{end}"));
        }
    }
    for (row, n) in sizes().enumerate() {
        let bound = lower_bound(epsilon) / (n * n) as f64;
        let mut line = vec![n as f64, bound, swap_error(epsilon, n)];
        for curve in curves {
            let (_, fixed, drawn) = curve.points[row];
            line.extend(cells(fixed));
            line.extend(cells(drawn));
        }
        table.rows.push(line);
    }
    table
}

impl Data {
    pub fn figure(&self) -> Figure {
        let ticks: Vec<f64> = sizes().map(|n| n as f64).collect();
        let number = || Axis::log("number of rows n", 0.9, 71.0, &ticks);
        let error = |from, to| Axis::decades("mean squared error × ε² / 2", from, to);
        let panel = |title, y, series| Panel {
            title,
            x: number(),
            y,
            series,
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        let [one, two, three] = &self.laplace[..] else {
            unreachable!("there are three of them")
        };
        let [staircase2, hourglass] = &self.staircases[..] else {
            unreachable!("there are two of them")
        };
        let level = Series::line(
            "equal",
            Style::new(BLACK, Dash::Dotted, Mark::None),
            vec![[1.0, 1.0], [64.0, 1.0]],
        );
        let ratio =
            |name, curve: &Curve, to: &Curve| joined(name, curve.algorithm.style(), curve.over(to));
        let panels = vec![
            panel(
                "Laplace noise, ε = 1, mean 0.01",
                error(8e-5, 2.0),
                errors(&self.laplace, HIGH_PRIVACY),
            ),
            panel(
                "Error over that of Algorithm 3, ε = 1",
                Axis::linear(
                    "ratio of mean squared errors",
                    0.0,
                    8.0,
                    &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
                ),
                vec![
                    ratio("Algorithm 1 over 3", one, three),
                    ratio("Algorithm 2 over 3", two, three),
                    level.clone(),
                ],
            ),
            panel(
                "Staircases, ε = 4, mean 0.01",
                error(8e-5, 2.0),
                errors(&self.staircases, LOW_PRIVACY),
            ),
            panel(
                "2D staircase over hourglass, ε = 4",
                Axis::linear(
                    "ratio of mean squared errors",
                    0.9,
                    1.6,
                    &[0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6],
                ),
                vec![
                    ratio("2D staircase over hourglass", staircase2, hourglass),
                    level,
                ],
            ),
        ];
        Figure {
            picture: Picture {
                panels,
                columns: 2,
                width: 480,
                height: 400,
            },
            tables: vec![
                table(&self.laplace, HIGH_PRIVACY, self.runs),
                table(&self.staircases, LOW_PRIVACY, self.runs),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Z;

    /// What the page says of few rows, by more than chance makes.
    #[test]
    fn few_rows_are_as_the_page_says() {
        let data = data(20_000);
        let [_, shifted, transformed] = &data.laplace[..] else {
            panic!("three algorithms")
        };
        for (n, ratio) in shifted.over(transformed) {
            let slack = Z * ratio.error;
            let (low, high) = if n < 16.0 { (1.2, 2.3) } else { (1.85, 2.0) };
            assert!(
                ratio.value + slack > low && ratio.value - slack < high,
                "{n}: {ratio:?}"
            );
        }
        // The error of a public number of rows, which is far below the bound for many rows, is met
        // by Algorithm 3 alone, from below.
        let over_swap = |curve: &Curve| -> Vec<(i64, Estimate)> {
            let ratio = |n| 1.0 / swap_error(HIGH_PRIVACY, n);
            let points = curve.points.iter();
            points
                .map(|(n, error, _)| (*n, error.times(ratio(*n))))
                .collect()
        };
        for (n, ratio) in over_swap(transformed) {
            let least = if n == 64 { 0.9 } else { 0.6 };
            let slack = Z * ratio.error;
            assert!(
                ratio.value - slack < 1.0 && ratio.value + slack > least,
                "{n}: {ratio:?}"
            );
            let bound = lower_bound(HIGH_PRIVACY) / (n * n) as f64;
            assert!(swap_error(HIGH_PRIVACY, n) < 0.6 * bound, "{n}");
        }
        for (n, ratio) in over_swap(shifted) {
            assert!(
                n < 8 || ratio.value - Z * ratio.error > 1.3,
                "{n}: {ratio:?}"
            );
        }
        for (n, ratio) in data.staircases[0].over(&data.staircases[1]) {
            assert!(ratio.value - Z * ratio.error > 1.0, "{n}: {ratio:?}");
        }
    }

    /// The closed form of a public number of rows, by its own noise.
    #[test]
    fn a_public_number_of_rows_is_as_its_closed_form() {
        use dp_core::encoding::grid::STEPS;
        use dp_core::privacy::epsilon::Epsilon;
        use dp_core::sampler::staircase::{Staircase, best_gamma, core_of};

        let mut words = Words::new(33);
        for (epsilon, n) in [(1.0, 1), (1.0, 16), (4.0, 1), (4.0, 64)] {
            let core = core_of(best_gamma(epsilon), STEPS);
            let noise = Staircase::new(STEPS, core, Epsilon::new(Some(epsilon)).unwrap());
            let mut tally = Tally::default();
            for _ in 0..40_000 {
                let x = noise.draw(&mut words).value as f64 / STEPS as f64;
                let answer = (MEAN + x / n as f64).clamp(0.0, 1.0);
                tally.add((answer - MEAN).powi(2) * epsilon * epsilon / 2.0);
            }
            let expected = swap_error(epsilon, n);
            assert!(
                tally.mean().distance(expected) < Z,
                "{epsilon} {n}: {:?} {expected}",
                tally.mean()
            );
        }
    }
}
