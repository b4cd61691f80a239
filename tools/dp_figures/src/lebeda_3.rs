//! Figure 3 of Lebeda 2024: counts of rows that say yes to at most `k` questions of 1,000. Its left
//! panel, the error over that of the standard, is one of Joseph and Yu 2024, carried on to all `k`.
//!
//! All is for `mu = 1`, as in Figure 2.

use dp_core::encoding::sums::Totals;
use dp_core::mechanism::vector::additive::VectorNoise;
use dp_core::mechanism::vector::correlated::Correlated;
use dp_core::mechanism::vector::ellipse::Ellipse;
use dp_core::mechanism::vector::gaussian::Gaussian;
use dp_core::mechanism::vector::items::{Items, Relation, VectorMechanism};

use crate::drawing::{Axis, BLACK, BLUE, Dash, Mark, Panel, Picture, Series, Style, VERMILION};
use crate::estimate::{Estimate, Tally};
use crate::figure::{Figure, Table, cells};
use crate::words::Words;

pub const COUNTS: usize = 1000;
/// Releases of all counts for each `k` that is tried. The paper has formulas alone.
pub const RUNS: u32 = 1000;

/// What of `k` is tried.
const TRIED: [usize; 7] = [1, 100, 200, 350, 500, 750, 1000];

/// The variance of a count, where a row says yes to at most `k` questions.
pub struct Point {
    pub k: usize,
    pub standard: f64,
    /// For `k` up to half of the questions.
    pub ellipse: Option<f64>,
    /// Of the first two and of the correlated noise, in releases.
    pub released: Option<[Option<Estimate>; 3]>,
}

pub struct Data {
    pub points: Vec<Point>,
    /// The same for all `k`.
    pub correlated: f64,
    runs: u32,
}

pub fn data(runs: u32) -> Data {
    let mut words = Words::new(42);
    let items = Items::questions(COUNTS);
    let weight = (COUNTS as f64).powf(0.25);
    let correlated = Correlated::new(items, Relation::AddRemove, weight, 1.0);
    let points = (1..=COUNTS).map(|k| {
        // Such a row moves all counts together as far as a row of k questions moves its k.
        let standard = Gaussian::new(&Items::questions(k), Relation::AddRemove, 1.0);
        let ellipse = (k <= COUNTS / 2).then(|| Ellipse::new(&items, k, 1.0));
        let released = TRIED.contains(&k).then(|| {
            let standard = released_noise(&standard, runs, &mut words);
            let ellipse = ellipse
                .as_ref()
                .map(|it| released_noise(it, runs, &mut words));
            let correlated = released_counts(&correlated, runs, &mut words);
            [Some(standard), ellipse, Some(correlated)]
        });
        Point {
            k,
            standard: variance(&standard),
            ellipse: ellipse.as_ref().map(variance),
            released,
        }
    });
    Data {
        points: points.collect(),
        correlated: correlated.spread().sd.powi(2),
        runs,
    }
}

fn steps() -> f64 {
    Items::questions(COUNTS).steps() as f64
}

fn variance(noise: &impl VectorNoise) -> f64 {
    (noise.spread().0 / steps()).powi(2)
}

/// Mean squares of noise as it goes on the counts.
fn released_noise(noise: &impl VectorNoise, runs: u32, words: &mut Words) -> Estimate {
    let mut tally = Tally::default();
    for _ in 0..runs {
        let drawn = noise.draw(COUNTS, words);
        let squares = drawn.iter().map(|x| (*x as f64 / steps()).powi(2));
        tally.add(squares.sum::<f64>() / COUNTS as f64);
    }
    tally.mean()
}

fn released_counts(mechanism: &Correlated, runs: u32, words: &mut Words) -> Estimate {
    let totals = Totals::new(COUNTS);
    let mut tally = Tally::default();
    for _ in 0..runs {
        let squares = mechanism.release_from(&totals, words).parts.into_iter();
        tally.add(squares.map(|count| count * count).sum::<f64>() / COUNTS as f64);
    }
    tally.mean()
}

const STANDARD: Style = Style::new(BLACK, Dash::Dashed, Mark::Cross);
const ELLIPSE: Style = Style::new(VERMILION, Dash::Solid, Mark::Triangle);
const CORRELATED: Style = Style::new(BLUE, Dash::Solid, Mark::Circle);

impl Data {
    /// The three, each variance over `unit`, where `k` is at least `from` for the correlated noise.
    fn series(&self, unit: fn(&Point) -> f64, from: usize) -> Vec<Series> {
        let series = |name, style, which: usize, y: &dyn Fn(&Point) -> Option<f64>| {
            let shown = || {
                self.points
                    .iter()
                    .filter(|point| which != 2 || point.k >= from)
            };
            let line = shown().filter_map(|point| Some([point.k as f64, y(point)? / unit(point)]));
            let marks = shown().filter_map(|point| {
                let found = point.released?[which]?;
                Some((point.k as f64, found.times(1.0 / unit(point))))
            });
            Series::points(name, style, marks.collect()).expected(line.collect())
        };
        vec![
            series("standard (ℓ₂ ball)", STANDARD, 0, &|point| {
                Some(point.standard)
            }),
            series("ellipse", ELLIPSE, 1, &|point| point.ellipse),
            series("correlated (Algorithm 1)", CORRELATED, 2, &|_| {
                Some(self.correlated)
            }),
        ]
    }

    pub fn figure(&self) -> Figure {
        let most = || {
            Axis::linear(
                "most questions k that a row says yes to",
                0.0,
                1030.0,
                &[0.0, 200.0, 400.0, 600.0, 800.0, 1000.0],
            )
        };
        let panel = |title, y, series| Panel {
            title,
            x: most(),
            y,
            series,
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        let panels = vec![
            panel(
                "Error over the standard's, 1,000 counts",
                Axis::linear(
                    "variance over the standard's",
                    0.0,
                    1.1,
                    &[0.0, 0.25, 0.5, 0.75, 1.0],
                ),
                self.series(|point| point.standard, COUNTS / 2),
            ),
            panel(
                "The same, not normalised, μ = 1",
                Axis::linear(
                    "variance of a count × μ²",
                    0.0,
                    1080.0,
                    &[0.0, 200.0, 400.0, 600.0, 800.0, 1000.0],
                ),
                self.series(|_| 1.0, 1),
            ),
        ];
        Figure {
            picture: Picture {
                panels,
                columns: 2,
                width: 480,
                height: 420,
            },
            tables: vec![self.table()],
        }
    }

    fn table(&self) -> Table {
        let about = format!(
            "{COUNTS} counts of rows that say yes to at most k questions, mu = 1: variance of a count, and over\n\
             that of the standard (_ratio). The ellipse takes k <= d/2: NaN above.\n\
             _released: mean squared error of {} releases, with standard errors (_se).",
            self.runs
        );
        let head = [
            "k",
            "standard",
            "ellipse",
            "correlated",
            "ellipse_ratio",
            "correlated_ratio",
            "standard_released",
            "standard_released_se",
            "ellipse_released",
            "ellipse_released_se",
            "correlated_released",
            "correlated_released_se",
        ];
        let mut table = Table::new(about, &head);
        for point in &self.points {
            let ellipse = point.ellipse.unwrap_or(f64::NAN);
            let mut row = vec![
                point.k as f64,
                point.standard,
                ellipse,
                self.correlated,
                ellipse / point.standard,
                self.correlated / point.standard,
            ];
            for found in point.released.unwrap_or_default() {
                row.extend(found.map_or([f64::NAN; 2], cells));
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
    fn it_holds_the_formulas_of_the_paper_and_of_joseph_and_yu() {
        let data = data(60);
        let near = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        };
        near(data.correlated, (1000f64.sqrt() + 1.0).powi(2) / 4.0);
        assert_eq!(data.points.len(), COUNTS);
        for point in &data.points {
            let k = point.k as f64;
            near(point.standard, k);
            assert_eq!(point.ellipse.is_some(), point.k <= 500);
            if let Some(ellipse) = point.ellipse {
                let (p, q) = (k * k / 1000.0, k - k * k / 1000.0);
                near(ellipse, (p.sqrt() + (q * 999.0).sqrt()).powi(2) / 1000.0);
                // It is the better one wherever it can be used.
                assert!(ellipse < data.correlated && ellipse <= k * (1.0 + 1e-12));
            }
            let Some(found) = point.released else {
                continue;
            };
            let expected = [Some(point.standard), point.ellipse, Some(data.correlated)];
            for (found, expected) in found.into_iter().zip(expected) {
                let far = found
                    .zip(expected)
                    .map_or(0.0, |(found, it)| found.distance(it));
                assert!(far < Z, "{k}: {found:?} {expected:?}");
            }
        }
        // Lemma 4.3.
        near(
            data.points[499].ellipse.unwrap(),
            (1000.0 + 2.0 * 999f64.sqrt()) / 4.0,
        );
    }
}
