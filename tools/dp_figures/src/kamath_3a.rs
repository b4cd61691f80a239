//! Figure 3a of Kamath, Mouzakis, Regehr, Singhal, Steinke and Ullman 2023: the bias of means of
//! 400 normal rows without bounds, over where the rows' mean lies.
//!
//! Three estimators see the same rows: the one with fixed bins (Karwa and Vadhan 2018, as the paper
//! has it), which is no mechanism of `dp_core` and is put together here from its parts for
//! comparison; the paper's Algorithm 2, put together in the same way but with the random offset;
//! and `symmetric`, which is what `dp_mean` offers. The paper gives neither epsilon nor delta, nor
//! the bins, the clipping and the runs.

use std::thread;

use dp_core::encoding::cells::CellCounts;
use dp_core::mechanism::mean::location::{Bins, Location};
use dp_core::mechanism::mean::symmetric::Symmetric;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::sampler::discrete_laplace::DiscreteLaplace;

use crate::drawing::{
    Axis, BLACK, BLUE, Dash, GREEN, Mark, Panel, Picture, Series, Style, VERMILION,
};
use crate::estimate::{Estimate, Tally};
use crate::figure::{Figure, Table, cells};
use crate::words::Words;

pub const ROWS: usize = 400;
pub const RUNS: u32 = 20_000;
pub const EPSILON: f64 = 1.0;
pub const DELTA: f64 = 1e-6;
/// Of a bin, in standard deviations of the rows: the paper's text has the fixed ones at integers.
pub const BIN: f64 = 1.0;
/// How far from the place rows are clipped, in standard deviations.
pub const CLIPS: [f64; 2] = [1.0, 2.0];
/// Of epsilon, what `symmetric` finds the place with.
const SHARE: f64 = 0.4;
/// The random word that puts the middles of the bins at the multiples of their width.
const AT_INTEGERS: u64 = 1 << 63;

/// The bias of all three at a mean, and the part of the runs that had no answer.
pub struct Point {
    pub mean: f64,
    pub bias: [Estimate; 3],
    pub none: [f64; 3],
}

/// One way to clip.
pub struct Curves {
    pub clip: f64,
    pub points: Vec<Point>,
}

pub struct Data {
    pub curves: [Curves; 2],
    runs: u32,
}

pub fn data(runs: u32) -> Data {
    // By far the longest of the figures: one thread each.
    let curves = thread::scope(|scope| {
        let work = [(61, CLIPS[0]), (62, CLIPS[1])].map(|(seed, clip)| {
            scope.spawn(move || curves(clip, means(), runs, &mut Words::new(seed)))
        });
        work.map(|work| work.join().expect("no thread panics"))
    });
    Data { curves, runs }
}

/// Twentieths of a bin, over two bins.
fn means() -> impl Iterator<Item = f64> {
    (-20..=20).map(|i| f64::from(i) * BIN / 20.0)
}

fn curves(clip: f64, means: impl Iterator<Item = f64>, runs: u32, words: &mut Words) -> Curves {
    let estimators = Estimators::new(clip);
    let points = means.map(|mean| estimators.biases(mean, runs, words));
    Curves {
        clip,
        points: points.collect(),
    }
}

struct Estimators {
    bins: Bins,
    location: Location,
    noise: DiscreteLaplace,
    symmetric: Symmetric,
}

impl Estimators {
    fn new(clip: f64) -> Self {
        let epsilon = |value| Epsilon::new(Some(value)).expect("an epsilon of a figure");
        let bins = Bins::new(BIN, clip);
        let (coarse, fine) = (epsilon(SHARE * EPSILON), epsilon((1.0 - SHARE) * EPSILON));
        Self {
            bins,
            // Neighbours replace a row: two bins change.
            location: Location::new(bins, epsilon(EPSILON), DELTA, 2).expect("enough for a place"),
            noise: DiscreteLaplace::new(bins.steps(), epsilon(EPSILON)),
            symmetric: Symmetric::new(bins, coarse, fine, DELTA).expect("enough for a place"),
        }
    }

    fn biases(&self, mean: f64, runs: u32, words: &mut Words) -> Point {
        let mut tallies = [Tally::default(); 3];
        let mut rows = vec![0.0; ROWS];
        for _ in 0..runs {
            for pair in rows.chunks_exact_mut(2) {
                pair.copy_from_slice(&words.normals().map(|z| mean + z));
            }
            let offset = words.word();
            let answers = [
                self.in_two_parts(&rows, AT_INTEGERS, words),
                self.in_two_parts(&rows, offset, words),
                self.symmetric(&rows, offset, words),
            ];
            for (tally, answer) in tallies.iter_mut().zip(answers) {
                tally.extend(answer.map(|answer| answer - mean));
            }
        }
        Point {
            mean,
            bias: tallies.map(|tally| tally.mean()),
            none: tallies.map(|tally| 1.0 - tally.count() / f64::from(runs)),
        }
    }

    fn histogram(&self, rows: &[f64], offset: u64) -> CellCounts {
        let line = self.bins.line(offset);
        let mut histogram = CellCounts::new(line);
        for x in rows {
            histogram.add(line.cell_of(*x));
        }
        histogram
    }

    /// Algorithm 2 of the paper, or that of fixed bins: one half of the rows finds the place, the
    /// other makes the mean, each at the whole epsilon.
    fn in_two_parts(&self, rows: &[f64], offset: u64, words: &mut Words) -> Option<f64> {
        let (first, second) = rows.split_at(ROWS / 2);
        let from = self.location.find(&self.histogram(first, offset), words)?;
        let second_part = self.histogram(second, offset);
        let sum = second_part.sum_between(from, from + i64::from(self.bins.span));
        let noisy = sum + self.noise.draw(words);
        let steps_of_a_cell = self.bins.steps() / u64::from(self.bins.span);
        let cells = noisy as f64 / steps_of_a_cell as f64 / second.len() as f64;
        Some(second_part.line.value(from as f64 + cells))
    }

    fn symmetric(&self, rows: &[f64], offset: u64, words: &mut Words) -> Option<f64> {
        let histogram = self.histogram(rows, offset);
        self.symmetric.release_from(&histogram, words).mean
    }
}

const NAMES: [(&str, &str, Style); 3] = [
    (
        "kv",
        "fixed bins (Karwa and Vadhan)",
        Style::new(VERMILION, Dash::Solid, Mark::Triangle),
    ),
    (
        "algorithm2",
        "Algorithm 2 (random offset)",
        Style::new(BLUE, Dash::Solid, Mark::Circle),
    ),
    (
        "symmetric",
        "symmetric, of dp_mean",
        Style::new(GREEN, Dash::Dashed, Mark::Diamond),
    ),
];

impl Data {
    pub fn figure(&self) -> Figure {
        let panel = |title, curves: &Curves, most: f64, ticks: &[f64]| {
            let mut series: Vec<Series> = NAMES
                .into_iter()
                .enumerate()
                .map(|(which, (_, name, style))| {
                    let points = curves.points.iter();
                    let points = points.map(|point| (point.mean, point.bias[which]));
                    let points: Vec<_> = points.collect();
                    let line = points.iter().map(|(x, y)| [*x, y.value]).collect();
                    Series {
                        band: true,
                        ..Series::points(name, style, points).expected(line)
                    }
                })
                .collect();
            let zero = Style::new(BLACK, Dash::Solid, Mark::None);
            series.push(Series::line("", zero, vec![[-1.0, 0.0], [1.0, 0.0]]));
            Panel {
                title,
                x: Axis::linear(
                    "mean μ of the rows, in bins",
                    -1.05,
                    1.05,
                    &[-1.0, -0.5, 0.0, 0.5, 1.0],
                ),
                y: Axis::linear("bias, in standard deviations of a row", -most, most, ticks),
                series,
                notes: Vec::new(),
                silhouette: Vec::new(),
            }
        };
        let [one, two] = &self.curves;
        Figure {
            picture: Picture {
                panels: vec![
                    panel(
                        "n = 400, ε = 1, clipped 1 sd from the place",
                        one,
                        0.06,
                        &[-0.06, -0.04, -0.02, 0.0, 0.02, 0.04, 0.06],
                    ),
                    panel(
                        "The same, clipped 2 sd from the place",
                        two,
                        0.01,
                        &[-0.01, -0.005, 0.0, 0.005, 0.01],
                    ),
                ],
                columns: 2,
                width: 480,
                height: 440,
            },
            tables: self
                .curves
                .iter()
                .map(|curves| self.table(curves))
                .collect(),
        }
    }

    fn table(&self, curves: &Curves) -> Table {
        let about = format!(
            "Bias of the mean of {ROWS} normal rows of variance 1, eps {EPSILON}, delta {DELTA}, bins of {BIN}, clipped {} from the place;\n\
             {} runs of each point, standard errors (_se), part of the runs without an answer (_none).\n\
             kv: fixed bins; algorithm2: the paper's, half of the rows for each step; symmetric: that of dp_mean, share {SHARE}.",
            curves.clip, self.runs
        );
        let mut table = Table::new(about, &["mean"]);
        for (key, ..) in NAMES {
            for end in ["", "_se", "_none"] {
                table.head.push(format!("{key}{end}"));
            }
        }
        for point in &curves.points {
            let mut row = vec![point.mean];
            for (bias, none) in point.bias.into_iter().zip(point.none) {
                row.extend(cells(bias));
                row.push(none);
            }
            table.rows.push(row);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Z;

    #[test]
    fn fixed_bins_are_biased_and_random_ones_are_not() {
        for (mean, sign) in [(-0.3, 1.0), (0.0, 0.0), (0.3, -1.0), (0.7, 1.0)] {
            let curves = curves(1.0, [mean].into_iter(), 3000, &mut Words::new(63));
            let [fixed, algorithm2, symmetric] = curves.points[0].bias;
            // The reference is another simulation, with continuous noise.
            assert!(fixed.distance(0.043_9 * sign) < Z, "{mean}: {fixed:?}");
            for found in [algorithm2, symmetric] {
                assert!(found.distance(0.0) < Z, "{mean}: {found:?}");
            }
            assert!(curves.points[0].none.iter().all(|none| *none < 0.01));
        }
    }
}
