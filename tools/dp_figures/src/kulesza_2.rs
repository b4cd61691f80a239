//! Figure 2 of Kulesza, Suresh and Wang 2024: the error of Algorithms 1 to 3 over epsilon and over
//! the mean, and that of the hourglass and of the two-dimensional staircase where epsilon is large.
//!
//! The paper gives 10,000 rows and 100,000 runs. It does not give the mean of the panels over
//! epsilon, which is 0.01 here as in its Appendix H, nor the epsilon of the panel over the mean,
//! here 0.1.

use crate::drawing::{Axis, Panel, Picture, Series};
use crate::figure::{Figure, Table, evenly, factors};
use crate::kulesza::{
    ALL_LAPLACE, BOTH_STAIRCASES, BOUND, Curve, Point, ROWS, UNIT, lower_bound, table,
};
use crate::words::Words;

pub const MEAN: f64 = 0.01;
pub const EPSILON: f64 = 0.1;

/// Ten to a decade, rounded.
const EPSILONS: [f64; 17] = [
    0.05, 0.063, 0.08, 0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.63, 0.8, 1.0, 1.25, 1.6, 2.0,
];

const ERROR: &str = "mean squared error × n² ε² / 2";

/// Curves over epsilon.
pub struct OverEpsilon {
    pub curves: Vec<Curve>,
    runs: u32,
}

/// The first panel: Laplace noise, small epsilons.
pub fn over_epsilon(runs: u32) -> OverEpsilon {
    let mut words = Words::new(21);
    let curves = ALL_LAPLACE.map(|algorithm| {
        let settings = EPSILONS.into_iter().map(|epsilon| (epsilon, MEAN));
        Curve::new(algorithm, settings, runs, &mut words)
    });
    OverEpsilon {
        curves: curves.into(),
        runs,
    }
}

/// The third panel: staircases, large epsilons.
pub fn low_privacy(runs: u32) -> OverEpsilon {
    let mut words = Words::new(23);
    let curves = BOTH_STAIRCASES.map(|algorithm| {
        let settings = evenly(1.0, 10.0, 19).into_iter();
        let settings = settings.map(|epsilon| (epsilon, MEAN));
        Curve::new(algorithm, settings, runs, &mut words)
    });
    OverEpsilon {
        curves: curves.into(),
        runs,
    }
}

impl OverEpsilon {
    fn series(&self, line: &[f64]) -> Vec<Series> {
        let curves = self.curves.iter().map(|curve| {
            let expected = |epsilon| curve.algorithm.expected(epsilon, MEAN, ROWS as f64);
            curve.series(|point| point.epsilon, line.iter().copied(), expected)
        });
        let bound = line.iter().map(|epsilon| [*epsilon, lower_bound(*epsilon)]);
        let bound = Series::line("lower bound", BOUND, bound.collect());
        curves.chain([bound]).collect()
    }

    fn table(&self) -> Table {
        let about = format!(
            "Error over eps: {ROWS} rows of mean {MEAN}, {} runs of each point.\n{UNIT}",
            self.runs
        );
        let x = ("eps", (|point| point.epsilon) as fn(&Point) -> f64);
        table(about, &self.curves, x, |point| lower_bound(point.epsilon))
    }

    pub fn figure_of_laplace(&self) -> Figure {
        let panel = Panel {
            title: "Laplace noise: n = 10,000, mean 0.01",
            x: Axis::log(
                "privacy budget ε",
                0.045,
                2.2,
                &[0.05, 0.1, 0.2, 0.5, 1.0, 2.0],
            ),
            y: Axis::linear(ERROR, 0.0, 5.0, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
            series: self.series(&factors(0.05, 2.0, 200)),
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        Figure::of_panel(panel, self.table())
    }

    pub fn figure_of_low_privacy(&self) -> Figure {
        let ticks: Vec<f64> = (1..=10).map(f64::from).collect();
        let panel = Panel {
            title: "Large ε: n = 10,000, mean 0.01",
            x: Axis::linear("privacy budget ε", 0.7, 10.3, &ticks),
            y: Axis::log(ERROR, 0.03, 1.3, &[0.03, 0.1, 0.3, 1.0]),
            series: self.series(&evenly(1.0, 10.0, 200)),
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        Figure::of_panel(panel, self.table())
    }
}

/// Means from one end to the other, closer to each other at the ends, where clipping matters.
pub fn means() -> Vec<f64> {
    let mut near: Vec<f64> = vec![0.0];
    near.extend(factors(1e-5, 1e-2, 13));
    near.extend([0.02, 0.03]);
    near.extend((1..=10).map(|i| f64::from(i) / 20.0));
    let far: Vec<f64> = near.iter().rev().skip(1).map(|m| 1.0 - m).collect();
    near.extend(far);
    near
}

/// For a line from one end to the other.
pub fn dense() -> Vec<f64> {
    let mut near = vec![0.0];
    near.extend(factors(1e-6, 0.02, 120));
    near.extend(evenly(0.021, 0.5, 60));
    let far: Vec<f64> = near.iter().rev().skip(1).map(|m| 1.0 - m).collect();
    near.extend(far);
    near
}

/// The whole range of means, and the end at 0 magnified.
pub fn mean_axes() -> [Axis; 2] {
    let ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
    [
        Axis::linear("mean of the rows μ", -0.02, 1.02, &ticks),
        Axis::decades("mean of the rows μ, logarithmic", 8e-6, 0.52),
    ]
}

/// Curves over the mean.
pub struct OverMean {
    pub curves: Vec<Curve>,
    runs: u32,
}

/// The second panel.
pub fn over_mean(runs: u32) -> OverMean {
    let mut words = Words::new(22);
    let curves = ALL_LAPLACE.map(|algorithm| {
        let settings = means().into_iter().map(|mean| (EPSILON, mean));
        Curve::new(algorithm, settings, runs, &mut words)
    });
    OverMean {
        curves: curves.into(),
        runs,
    }
}

impl OverMean {
    /// The whole range as the paper has it, and the end at 0 magnified.
    pub fn figure(&self) -> Figure {
        let [all, end] = mean_axes();
        let panel = |title, x| Panel {
            title,
            x,
            y: Axis::linear(
                ERROR,
                0.0,
                9.0,
                &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            ),
            series: over_mean_series(&self.curves, EPSILON),
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        Figure {
            picture: Picture {
                panels: vec![
                    panel("Laplace noise: n = 10,000, ε = 0.1", all),
                    panel("The same near 0", end),
                ],
                columns: 2,
                width: 480,
                height: 440,
            },
            tables: vec![over_mean_table(&self.curves, EPSILON, self.runs)],
        }
    }
}

/// Curves over the mean at an epsilon, with the bound.
pub fn over_mean_series(curves: &[Curve], epsilon: f64) -> Vec<Series> {
    let curves = curves.iter().map(|curve| {
        let expected = |mean| curve.algorithm.expected(epsilon, mean, ROWS as f64);
        curve.series(|point| point.mean, dense(), expected)
    });
    let bound = dense().into_iter().map(|mean| [mean, lower_bound(epsilon)]);
    let bound = Series::line("lower bound", BOUND, bound.collect());
    curves.chain([bound]).collect()
}

/// Their numbers.
pub fn over_mean_table(curves: &[Curve], epsilon: f64, runs: u32) -> Table {
    let about = format!(
        "Error over the mean: {ROWS} rows, eps {epsilon}, {runs} runs of each point.\n{UNIT}"
    );
    let x = ("mean", (|point| point.mean) as fn(&Point) -> f64);
    table(about, curves, x, |point| lower_bound(point.epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kulesza::Algorithm;
    use crate::kulesza::tests::assert_expected;

    const RUNS: u32 = 10_000;

    #[test]
    fn releases_lie_on_the_closed_forms() {
        for curve in over_epsilon(RUNS)
            .curves
            .iter()
            .chain(&over_mean(RUNS).curves)
        {
            assert_expected(&curve.points);
        }
        for curve in low_privacy(RUNS).curves {
            // Beyond, what matters is too rare for so few runs.
            assert_expected(curve.points.iter().filter(|point| point.epsilon <= 6.0));
        }
    }

    /// What the page says of the curves.
    #[test]
    fn the_curves_are_as_the_page_says() {
        let n = ROWS as f64;
        let at = |algorithm: Algorithm, m| algorithm.expected(EPSILON, m, n);
        for m in [0.02, 0.1, 0.5, 0.9] {
            let ratio = at(Algorithm::Shifted, m) / at(Algorithm::Transformed, m);
            assert!((ratio - 2.0).abs() < 1e-4, "{m}: {ratio}");
        }
        // The top of an M is at 7.5 / (n eps), not at the ends; Algorithm 1 has no M.
        let tops = dense().into_iter().filter(|m| *m < 0.5);
        let top = tops.max_by(|x, y| {
            at(Algorithm::Transformed, *x).total_cmp(&at(Algorithm::Transformed, *y))
        });
        assert!((top.unwrap() * n * EPSILON - 7.5).abs() < 0.5, "{top:?}");
        assert!(at(Algorithm::Independent, 0.02) < 0.52 * at(Algorithm::Independent, 0.98));
        for epsilon in [1.0, 4.0, 10.0] {
            let ratio = Algorithm::Hourglass.expected(epsilon, MEAN, n) / lower_bound(epsilon);
            assert!((ratio - 0.980_2).abs() < 1e-4, "{epsilon}: {ratio}");
        }
    }
}
