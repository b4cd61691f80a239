//! How far answers of `dp_quantile` and `dp_quantiles` are from the ranks that were asked for, and how long a release takes:
//! `cargo bench --bench quantiles`.
//!
//! The error of an answer is the number of rows between it and the quantile: 0 where no more than `q n` rows are below it
//! and no fewer than `q n` at it or below.

use std::time::Instant;

use dp_core::encoding::sums::Totals;
use dp_core::mechanism::quantile::exponential::RankMechanism;
use dp_core::random::{Bits, Generator};
use dp_core::registry::{QUANTILE, QUANTILES};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::ranks::Ranks;

const ROWS: usize = 10_000;
const TABLES: usize = 20;
const RELEASES: usize = 50;

type Draw = fn(&mut Generator) -> f64;

/// A column: its name, its bounds, and a row of it.
const COLUMNS: [(&str, f64, f64, Draw); 5] = [
    ("uniform", 0.0, 100.0, |bits| 100.0 * unit(bits)),
    ("log-normal", 0.0, 1e6, |bits| {
        (10.6 + 0.7 * normal(bits)).exp()
    }),
    ("two humps", 0.0, 100.0, |bits| {
        let middle = if unit(bits) < 0.5 { 20.0 } else { 80.0 };
        middle + 3.0 * normal(bits)
    }),
    ("heavy tail", 0.0, 1e6, |bits| {
        unit(bits).powf(-1.0 / 1.2) - 1.0
    }),
    ("integers", 0.0, 100.0, |bits| {
        (35.0 + 9.0 * normal(bits)).round()
    }),
];

fn unit(bits: &mut Generator) -> f64 {
    ((bits.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn normal(bits: &mut Generator) -> f64 {
    (-2.0 * unit(bits).ln()).sqrt() * (std::f64::consts::TAU * unit(bits)).cos()
}

fn main() {
    let mut bits = Generator::from_os().expect("the operating system gives randomness");
    one(&mut bits);
    many(&mut bits);
    time(&mut bits);
}

fn build(bounds: (f64, f64), ranks: Ranks, epsilon: f64, text: &str) -> Box<dyn RankMechanism> {
    let registry = match ranks {
        Ranks::One(_) => &QUANTILE,
        Ranks::Many(_) => &QUANTILES,
    };
    let arguments = Arguments {
        bounds: Some((Some(bounds.0), Some(bounds.1))),
        ranks: Some(ranks),
        epsilon: Some(epsilon),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    };
    registry.build(&arguments).expect("arguments in order")
}

fn counted(mechanism: &dyn RankMechanism, rows: &[f64]) -> Totals {
    let mut totals = Totals::new(mechanism.bins().count());
    for x in rows {
        totals.s[mechanism.bins().bin(*x)] += 1;
    }
    totals
}

/// Rows between an answer and the quantile.
fn off(sorted: &[f64], q: f64, answer: f64) -> f64 {
    let wanted = q * sorted.len() as f64;
    let below = sorted.partition_point(|x| *x < answer) as f64;
    let at = sorted.partition_point(|x| *x <= answer) as f64;
    (below - wanted).max(wanted - at).max(0.0)
}

/// The mean of the errors of all answers, and the mean of the largest of each release.
fn errors(column: usize, qs: &[f64], epsilon: f64, text: &str, bits: &mut Generator) -> [f64; 2] {
    let (_, lo, hi, draw) = COLUMNS[column];
    let asked: Vec<_> = qs.iter().map(|q| Some(*q)).collect();
    let ranks = match qs {
        [q] => Ranks::One(Some(*q)),
        _ => Ranks::Many(&asked),
    };
    let mechanism = build((lo, hi), ranks, epsilon, text);
    let (mut sum, mut largest) = (0.0, 0.0);
    for _ in 0..TABLES {
        let mut rows: Vec<f64> = (0..ROWS).map(|_| draw(bits).clamp(lo, hi)).collect();
        let totals = counted(&*mechanism, &rows);
        rows.sort_by(f64::total_cmp);
        for _ in 0..RELEASES {
            let answers = mechanism.release(&totals, bits);
            let errors = answers.iter().zip(qs).map(|(a, q)| off(&rows, *q, *a));
            largest += errors.clone().fold(0.0, f64::max);
            sum += errors.sum::<f64>() / qs.len() as f64;
        }
    }
    [sum, largest].map(|sum| sum / (TABLES * RELEASES) as f64)
}

fn one(bits: &mut Generator) {
    println!("\nMean error in rows, n = {ROWS}, {TABLES} tables with {RELEASES} releases each\n");
    println!(
        "| column | mechanism | q = 0.5, eps 1 | q = 0.5, eps 0.1 | q = 0.9, eps 1 | q = 0.99, eps 1 |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for (column, (name, ..)) in COLUMNS.iter().enumerate() {
        let exact = if *name == "integers" {
            "em(step=1)"
        } else {
            "em(bins=4096)"
        };
        for text in ["em", exact, "em(bins=65536)", "em(grid=log)", "rising"] {
            let cells = [(0.5, 1.0), (0.5, 0.1), (0.9, 1.0), (0.99, 1.0)].map(|(q, epsilon)| {
                let [mean, _] = errors(column, &[q], epsilon, text, bits);
                format!("{mean:.1}")
            });
            println!("| {name} | `{text}` | {} |", cells.join(" | "));
        }
    }
}

fn many(bits: &mut Generator) {
    println!("\nSeveral quantiles at eps 1: mean error of all, and mean of the largest\n");
    println!("| column | mechanism | 3 | 9 | 99 |");
    println!("| --- | --- | --- | --- | --- |");
    for (column, text) in [
        (0, "em"),
        (1, "em"),
        (1, "em(grid=log)"),
        (3, "em(grid=log)"),
        (4, "em(step=1)"),
    ] {
        let cells = [3, 9, 99].map(|many| {
            let qs: Vec<_> = (1..=many)
                .map(|i| f64::from(i) / f64::from(many + 1))
                .collect();
            let [mean, largest] = errors(column, &qs, 1.0, text, bits);
            format!("{mean:.1} ({largest:.0})")
        });
        println!(
            "| {} | `{text}` | {} |",
            COLUMNS[column].0,
            cells.join(" | ")
        );
    }
}

fn time(bits: &mut Generator) {
    println!("\nMicroseconds for a release of a median; for making the mechanism\n");
    println!("| mechanism | rows | eps 1 | eps 0.01 | making it |");
    println!("| --- | --- | --- | --- | --- |");
    for text in ["em(bins=4096)", "em", "em(bins=65536)", "rising"] {
        for rows in [0, 1000, 1_000_000] {
            let rows: Vec<_> = (0..rows).map(|_| 100.0 * unit(bits)).collect();
            let mut cells = Vec::new();
            for epsilon in [1.0, 0.01] {
                let mechanism = build((0.0, 100.0), Ranks::One(Some(0.5)), epsilon, text);
                let totals = counted(&*mechanism, &rows);
                let start = Instant::now();
                for _ in 0..200 {
                    std::hint::black_box(mechanism.release(&totals, bits));
                }
                cells.push(format!(
                    "{:.0}",
                    start.elapsed().as_secs_f64() / 200.0 * 1e6
                ));
            }
            let start = Instant::now();
            for _ in 0..200 {
                std::hint::black_box(build((0.0, 100.0), Ranks::One(Some(0.5)), 1.0, text));
            }
            cells.push(format!(
                "{:.0}",
                start.elapsed().as_secs_f64() / 200.0 * 1e6
            ));
            println!("| `{text}` | {} | {} |", rows.len(), cells.join(" | "));
        }
    }
}
