//! The figure of docs/against-others.md, from the numbers that `make bench-peers` wrote.

use std::error::Error;

use crate::drawing::{
    Axis, BLACK, BLUE, Dash, GREEN, Mark, Note, ORANGE, PURPLE, Panel, Picture, Series, Style,
    VERMILION,
};
use crate::estimate::Estimate;
use crate::figure::Figure;

const NUMBERS: &str = include_str!("../../../docs/figures/peers.tsv");

/// A line of the numbers.
struct Measured<'a> {
    panel: &'a str,
    name: &'a str,
    /// `NaN` of a time.
    epsilon: f64,
    /// Its error is that of 0 of a time.
    value: Estimate,
}

fn measured(numbers: &str) -> Result<Vec<Measured<'_>>, Box<dyn Error>> {
    let lines = numbers.lines().filter(|line| !line.starts_with('#'));
    lines
        .skip(1)
        .map(|line| {
            let [panel, name, epsilon, value, part] = line.split('\t').collect::<Vec<_>>()[..]
            else {
                return Err(format!("not five cells: {line}").into());
            };
            let number = |text: &str| match text {
                "" => Ok(f64::NAN),
                text => text.parse::<f64>(),
            };
            let (value, part) = (number(value)?, number(part)?);
            let error = if part.is_nan() { 0.0 } else { value * part };
            Ok(Measured {
                panel,
                name,
                epsilon: number(epsilon)?,
                value: Estimate { value, error },
            })
        })
        .collect()
}

/// The contenders of the first panel: by their names there, and how they look.
const LINES: [(&str, &str, Style); 7] = [
    (
        "Qrlew AVG",
        "Qrlew, with a delta",
        style(GREEN, Dash::Dotted, Mark::Triangle),
    ),
    (
        "SmartNoise AVG",
        "SmartNoise",
        style(PURPLE, Dash::Solid, Mark::Diamond),
    ),
    (
        "OpenDP Polars dp.mean",
        "OpenDP, Polars",
        style(GREEN, Dash::Solid, Mark::Triangle),
    ),
    (
        "Google BoundedMean",
        "Google",
        style(VERMILION, Dash::Solid, Mark::Square),
    ),
    (
        "diffprivlib tools.mean",
        "diffprivlib, n public",
        style(ORANGE, Dash::Dashed, Mark::Cross),
    ),
    (
        "OpenDP make_mean",
        "OpenDP, n public",
        style(BLACK, Dash::Dashed, Mark::Cross),
    ),
    ("dp_mean", "dp_mean", style(BLUE, Dash::Solid, Mark::Circle)),
];

const fn style(colour: plotters::style::RGBColor, dash: Dash, mark: Mark) -> Style {
    Style::new(colour, dash, mark)
}

fn means(all: &[Measured]) -> Panel {
    let series = LINES.map(|(name, legend, style)| {
        let of = all
            .iter()
            .filter(|it| it.panel == "mean" && it.name == name);
        let points: Vec<_> = of.map(|it| (it.epsilon, it.value)).collect();
        let line = points.iter().map(|(x, y)| [*x, y.value]).collect();
        Series::points(legend, style, points).expected(line)
    });
    Panel {
        title: "Squared error of a mean, over the lower bound",
        x: Axis::log("epsilon", 0.08, 10.0, &[0.1, 1.0, 4.0, 8.0]),
        y: Axis::decades("times the lower bound", 0.5, 1000.0),
        series: series.to_vec(),
        notes: Vec::new(),
        silhouette: Vec::new(),
    }
}

/// A mark for each contender, the best at the bottom, with its name.
fn ranking(
    all: &[Measured],
    panel: &str,
    title: &'static str,
    x: Axis,
    shown: fn(&str) -> bool,
) -> Panel {
    let mut rows: Vec<_> = all
        .iter()
        .filter(|it| it.panel == panel && shown(it.name))
        .collect();
    rows.sort_by(|one, other| one.value.value.total_cmp(&other.value.value));
    let colour = |name: &str| if name.starts_with("dp_") { BLUE } else { BLACK };
    let mut series = Vec::new();
    let mut notes = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let (y, x) = (place as f64 + 1.0, row.value.value);
        let colour = colour(row.name);
        let mark = Style::new(colour, Dash::Solid, Mark::Square);
        let at = Estimate {
            value: y,
            error: 0.0,
        };
        series.push(Series::points("", mark, vec![(x, at)]));
        notes.push(Note {
            at: [1.4 * x, y],
            text: format!("{x}  {}", row.name),
            colour,
        });
    }
    Panel {
        title,
        y: Axis::linear("", 0.0, rows.len() as f64 + 1.0, &[]),
        x,
        series,
        notes,
        silhouette: Vec::new(),
    }
}

fn picture(numbers: &str) -> Result<Picture, Box<dyn Error>> {
    let all = measured(numbers)?;
    let panels = vec![
        means(&all),
        ranking(
            &all,
            "counts",
            "Variance of each of 64 counts at (1, 1e-6)",
            Axis::decades("variance", 200.0, 1e8),
            |_| true,
        ),
        ranking(
            &all,
            "time",
            "A mean of a million rows in PostgreSQL",
            Axis::decades("milliseconds to the answer", 30.0, 1e6),
            |name| name != "PostgreSQL avg, no privacy" && !name.starts_with("dp_mean,"),
        ),
    ];
    Ok(Picture {
        panels,
        columns: 3,
        width: 480,
        height: 420,
    })
}

/// The numbers are another program's, and stay as they are.
pub fn figure() -> Figure {
    Figure {
        picture: picture(NUMBERS).expect("the numbers of docs/figures/peers.tsv"),
        tables: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_is_in_it() {
        let all = measured(NUMBERS).unwrap();
        let svg = picture(NUMBERS).unwrap().svg().unwrap();
        for (name, legend, _) in LINES {
            let of = all
                .iter()
                .filter(|it| it.panel == "mean" && it.name == name);
            assert_eq!(of.count(), 4, "{name}");
            assert!(svg.contains(legend), "{legend}");
        }
        for it in all.iter().filter(|it| it.panel == "counts") {
            let words = format!("{}  {}", it.value.value, it.name);
            assert!(svg.contains(&words), "{words}");
        }
        assert!(svg.contains("55  dp_mean\n") && !svg.contains("no privacy"));
    }

    #[test]
    fn other_lines_are_refused() {
        assert!(measured("head\nmean\tdp_mean\t1\t2").is_err());
        assert!(measured("head\nmean\tdp_mean\tone\t2\t3").is_err());
    }
}
