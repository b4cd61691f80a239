//! Figure 2 of Lebeda 2024: what the weight of the number of rows does to it and to the counts.
//!
//! All is for `mu = 1`: for another `mu`, or the `mu` of another budget, divide by its square. The
//! lines are how uncertain the mechanisms themselves say that they are; the marks are what releases
//! show.

use dp_core::encoding::sums::Totals;
use dp_core::mechanism::vector::additive::VectorNoise;
use dp_core::mechanism::vector::correlated::Correlated;
use dp_core::mechanism::vector::gaussian::Gaussian;
use dp_core::mechanism::vector::items::{Items, Relation, VectorMechanism};

use crate::drawing::{Axis, BLACK, BLUE, Dash, GREEN, Mark, Note, Panel, Series, Style};
use crate::estimate::{Estimate, Tally};
use crate::figure::{Figure, Table, cells};
use crate::words::Words;

pub const COUNTS: usize = 10_000;
/// Releases of all counts for each weight that is tried. The paper has formulas alone.
pub const RUNS: u32 = 400;

/// Variances at a weight.
pub struct Point {
    pub weight: f64,
    /// Of the noisy number of rows.
    pub a: f64,
    /// Of a count; and of twice a count less the rows, which is `B`.
    pub count: f64,
    pub b: f64,
    /// Of the number and of a count, in releases; where the weight was tried.
    pub released: Option<[Estimate; 2]>,
}

pub struct Data {
    pub points: Vec<Point>,
    /// Of the standard Gaussian mechanism.
    pub standard: f64,
    runs: u32,
}

pub fn data(runs: u32) -> Data {
    let mut words = Words::new(41);
    let items = Items::questions(COUNTS);
    let points = (0..=60).map(|twentieths| {
        let weight = 10f64.powf(f64::from(twentieths) / 20.0);
        let mechanism = Correlated::new(items, Relation::AddRemove, weight, 1.0);
        let spread = mechanism.spread();
        let a = spread.total_sd.expect("it has a total").powi(2);
        let count = spread.sd.powi(2);
        let tried = twentieths % 6 == 2;
        Point {
            weight,
            a,
            count,
            // A count is half of what B is the variance of, plus what A is.
            b: 4.0 * count - a,
            released: tried.then(|| releases(&mechanism, runs, &mut words)),
        }
    });
    let points = points.collect();
    let (sd, _) = Gaussian::new(&items, Relation::AddRemove, 1.0).spread();
    Data {
        points,
        standard: (sd / items.steps() as f64).powi(2),
        runs,
    }
}

/// Squared errors of a table where half of the rows say yes to each question.
fn releases(mechanism: &Correlated, runs: u32, words: &mut Words) -> [Estimate; 2] {
    let totals = Totals {
        n: 1000,
        s: vec![500; COUNTS],
    };
    let [mut rows, mut counts] = [Tally::default(); 2];
    for _ in 0..runs {
        let answer = mechanism.release_from(&totals, words);
        rows.add((answer.total.expect("it has a total") - 1000.0).powi(2));
        // Counts of one release have noise in common: a release is one number here.
        let squares = answer.parts.iter().map(|count| (count - 500.0).powi(2));
        counts.add(squares.sum::<f64>() / COUNTS as f64);
    }
    [rows.mean(), counts.mean()]
}

impl Data {
    pub fn figure(&self) -> Figure {
        let line = |name, style, y: fn(&Point) -> f64, released: usize| {
            let marks = self.points.iter().filter_map(|point| {
                let released_here = point.released?;
                Some((point.weight, released_here[released]))
            });
            let line = self.points.iter().map(|point| [point.weight, y(point)]);
            Series::points(name, style, marks.collect()).expected(line.collect())
        };
        let counts = Style::new(BLUE, Dash::Solid, Mark::Circle);
        let rows = Style::new(GREEN, Dash::Solid, Mark::Diamond);
        let flat = vec![[1.0, self.standard], [1000.0, self.standard]];
        let panel = Panel {
            title: "10,000 counts of one release, μ = 1",
            x: Axis::log(
                "weight C of the number of rows",
                0.9,
                1100.0,
                &[1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0],
            ),
            y: Axis::decades("variance × μ²", 0.7, 4e5),
            series: vec![
                line("a count, (A + B) / 4", counts, |point| point.count, 1),
                line("the number of rows, A", rows, |point| point.a, 0),
                Series::line(
                    "a count, standard Gaussian noise",
                    Style::new(BLACK, Dash::Dashed, Mark::None),
                    flat,
                ),
            ],
            notes: vec![Note {
                at: [6.3, 1300.0],
                text: "least at C = 10: 2550.25".to_owned(),
                colour: BLUE,
            }],
            silhouette: Vec::new(),
        };
        Figure::of_panel(panel, self.table())
    }

    fn table(&self) -> Table {
        let about = format!(
            "{COUNTS} counts, mu = 1, the weight c from 1 to 1000.\n\
             A: variance of the noisy number of rows. B: variance of twice a count less the rows.\n\
             per_count: variance of a count, (A + B) / 4; standard: that of the standard Gaussian mechanism.\n\
             A_released, per_count_released: mean squared error of {} releases, with standard errors (_se).",
            self.runs
        );
        let head = [
            "c",
            "A",
            "B",
            "per_count",
            "standard",
            "A_released",
            "A_released_se",
            "per_count_released",
            "per_count_released_se",
        ];
        let mut table = Table::new(about, &head);
        for point in &self.points {
            let mut row = vec![point.weight, point.a, point.b, point.count, self.standard];
            match point.released {
                Some(found) => row.extend(found.into_iter().flat_map(cells)),
                None => row.extend([f64::NAN; 4]),
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
    fn it_holds_the_points_that_the_paper_names() {
        let data = data(60);
        assert_eq!(data.standard.round(), 10_000.0);
        for (c, a, b, count) in [
            (1.0, 10_001.0, 10_001.0, 5000.5),
            (10.0, 101.0, 10_100.0, 2550.25),
            (100.0, 2.0, 20_000.0, 5000.5),
            (1000.0, 1.01, 1_010_000.0, 252_500.252_5),
        ] {
            let point = data.points.iter().find(|point| point.weight == c);
            let point = point.expect("the paper's weights are among them");
            for (found, expected) in [(point.a, a), (point.b, b), (point.count, count)] {
                assert!(
                    (found / expected - 1.0).abs() < 1e-9,
                    "{c}: {found} {expected}"
                );
            }
        }
        let least = data
            .points
            .iter()
            .min_by(|x, y| x.count.total_cmp(&y.count));
        assert_eq!(least.map(|point| point.weight), Some(10.0));
        for point in &data.points {
            let Some([rows, count]) = point.released else {
                continue;
            };
            assert!(rows.distance(point.a) < Z, "{}: {rows:?}", point.weight);
            assert!(
                count.distance(point.count) < Z,
                "{}: {count:?}",
                point.weight
            );
        }
    }
}
