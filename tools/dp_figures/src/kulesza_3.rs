//! Figure 3 of Kulesza, Suresh and Wang 2024: the hourglass and the two-dimensional staircase over
//! the mean, where epsilon is large. The paper does not give the epsilon, which is 4 here as in the
//! rest of its Appendix H.

use crate::drawing::{Axis, Panel, Picture};
use crate::figure::Figure;
use crate::kulesza::{BOTH_STAIRCASES, Curve};
use crate::kulesza_2::{mean_axes, means, over_mean_series, over_mean_table};
use crate::words::Words;

pub const EPSILON: f64 = 4.0;

/// Curves over the mean.
pub struct Data {
    pub curves: Vec<Curve>,
    runs: u32,
}

pub fn data(runs: u32) -> Data {
    let mut words = Words::new(31);
    let curves = BOTH_STAIRCASES.map(|algorithm| {
        let settings = means().into_iter().map(|mean| (EPSILON, mean));
        Curve::new(algorithm, settings, runs, &mut words)
    });
    Data {
        curves: curves.into(),
        runs,
    }
}

impl Data {
    pub fn figure(&self) -> Figure {
        let [all, end] = mean_axes();
        let ticks = [0.0, 0.2, 0.4, 0.6, 0.8];
        let panel = |title, x| Panel {
            title,
            x,
            y: Axis::linear("mean squared error × n² ε² / 2", 0.0, 0.85, &ticks),
            series: over_mean_series(&self.curves, EPSILON),
            notes: Vec::new(),
            silhouette: Vec::new(),
        };
        Figure {
            picture: Picture {
                panels: vec![
                    panel("Large ε: n = 10,000, ε = 4", all),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kulesza::tests::assert_expected;

    #[test]
    fn releases_lie_on_the_closed_forms() {
        for curve in data(10_000).curves {
            assert_expected(&curve.points);
        }
    }
}
