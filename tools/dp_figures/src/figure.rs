//! A figure: what is drawn, and its numbers.

use std::error::Error;
use std::fs;
use std::path::Path;

use crate::drawing::{Panel, Picture};
use crate::estimate::Estimate;

/// A picture with the tables that it is drawn from, if they are its own.
pub struct Figure {
    pub picture: Picture,
    pub tables: Vec<Table>,
}

/// Numbers in rows.
pub struct Table {
    /// What they are: a line or more.
    pub about: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<f64>>,
}

impl Table {
    pub fn new(about: impl Into<String>, head: &[&str]) -> Self {
        Self {
            about: about.into(),
            head: head.iter().map(ToString::to_string).collect(),
            rows: Vec::new(),
        }
    }

    /// Tab-separated, after lines that say what it is.
    fn text(&self) -> String {
        let about = self.about.lines().map(|line| format!("# {line}\n"));
        let row = |row: &Vec<f64>| {
            let cells: Vec<String> = row.iter().map(|x| short(*x)).collect();
            cells.join("\t") + "\n"
        };
        let rows = self.rows.iter().map(row);
        let head = self.head.join("\t") + "\n";
        about.chain([head]).chain(rows).collect()
    }
}

/// Seven digits: more than any simulation here has, and than another machine's logarithm may
/// change.
fn short(x: f64) -> String {
    let rounded = format!("{x:.6e}").parse().unwrap_or(x);
    if rounded != 0.0 && f64::abs(rounded) < 1e-4 {
        format!("{rounded:e}")
    } else {
        rounded.to_string()
    }
}

/// A simulated number and its error, as cells.
pub fn cells(estimate: Estimate) -> [f64; 2] {
    [estimate.value, estimate.error]
}

impl Figure {
    /// Of one panel, as large as those alone are.
    pub fn of_panel(panel: Panel, table: Table) -> Self {
        Self {
            picture: Picture {
                panels: vec![panel],
                columns: 1,
                width: 640,
                height: 440,
            },
            tables: vec![table],
        }
    }

    /// Writes the picture and its numbers into a folder, in files of this name.
    pub fn write(&self, folder: &Path, name: &str) -> Result<(), Box<dyn Error>> {
        if !self.tables.is_empty() {
            let tables: Vec<String> = self.tables.iter().map(Table::text).collect();
            fs::write(folder.join(name).with_extension("tsv"), tables.join("\n"))?;
        }
        fs::write(folder.join(name).with_extension("svg"), self.picture.svg()?)?;
        Ok(())
    }
}

/// That many numbers from one to the other, evenly spaced.
pub fn evenly(from: f64, to: f64, count: u32) -> Vec<f64> {
    let step = (to - from) / f64::from(count - 1);
    (0..count).map(|i| from + step * f64::from(i)).collect()
}

/// That many numbers from one to the other, each the same factor above the one before.
pub fn factors(from: f64, to: f64, count: u32) -> Vec<f64> {
    let logs = evenly(from.ln(), to.ln(), count);
    logs.into_iter().map(f64::exp).collect()
}
