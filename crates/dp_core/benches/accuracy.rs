//! Squared error of every mechanism of `dp_mean` over the lower bound: `cargo bench --bench accuracy`.
//!
//! The table of `n` rows in [0, 1] is known to the mechanism by its integers alone, so it is not
//! made. The lower bound is `sigma^2(eps) / n^2`, the least worst-case squared error (Kulesza,
//! Suresh and Wang 2024, theorem 4); the worst case is at the ends of the bounds, so an error
//! below it elsewhere is no contradiction.

use dp_core::encoding::grid::STEPS;
use dp_core::encoding::power_of_two_bins::{BINS, bin};
use dp_core::encoding::sums::{Sums, Totals};
use dp_core::mechanism::bounds::geometric::BoundsFinder;
use dp_core::mechanism::definition::Scalar;
use dp_core::mechanism::mean::answer::MeanAnswer;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::registry::MEAN;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::staircase::least_variance;

const ROWS: i64 = 10_000;
const RELEASES: u32 = 100_000;
const EPSILONS: [f64; 4] = [0.1, 1.0, 4.0, 8.0];

fn main() {
    let mut generator = Generator::from_os().expect("the operating system gives randomness");
    against_the_bound(&mut generator);
    with_found_bounds(&mut generator);
}

fn against_the_bound(generator: &mut Generator) {
    for mean in [0.1, 0.5] {
        println!(
            "\nn = {ROWS}, mean {mean}: mean squared error over the lower bound ({RELEASES} releases)\n"
        );
        println!("| mechanism | eps 0.1 | eps 1 | eps 4 | eps 8 |");
        println!("| --- | --- | --- | --- | --- |");
        // Those without bounds, and those that show rows, have no place beside this bound.
        let names = MEAN.entries.iter().map(|entry| entry.info.example);
        for name in names.filter(|name| build(name, 1.0).is_some()) {
            let ratios = EPSILONS.map(|epsilon| ratio(name, epsilon, mean, generator));
            let cells: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
            println!("| `{name}` | {} |", cells.join(" | "));
        }
    }
}

/// The mechanism, if it looks at the rows' number and sum alone.
fn build(mechanism: &str, epsilon: f64) -> Option<Box<Scalar<MeanAnswer>>> {
    let arguments = Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        epsilon: Some(epsilon),
        mechanism: MechanismArgument::Given(Some(mechanism)),
        ..Arguments::default()
    };
    MEAN.build(&arguments).ok()?.sums()
}

fn ratio(mechanism: &str, epsilon: f64, mean: f64, generator: &mut Generator) -> f64 {
    let mechanism = build(mechanism, epsilon).expect("it was built before");
    // Both means are whole multiples of a row's steps or are spread over the rows evenly.
    let s = (mean * STEPS as f64 * ROWS as f64) as i128;
    let truth = s as f64 / (STEPS as f64 * ROWS as f64);
    let squares: f64 = (0..RELEASES)
        .map(|_| {
            let answer = mechanism.release(&Sums { n: ROWS, s }, generator);
            (answer.mean.expect("it always has a mean") - truth).powi(2)
        })
        .sum();
    let n = ROWS as f64;
    squares / f64::from(RELEASES) * n * n / least_variance(epsilon)
}

/// A row, from two uniform numbers.
type Law<'a> = &'a dyn Fn(f64, f64) -> f64;

/// Tables of rows, and releases of each table.
const TABLES: u32 = 200;
const OF_A_TABLE: u32 = 10;

/// The mean between bounds that `dp_bounds` finds for half of epsilon, at the other half, against the
/// mean at all of epsilon between the best bounds there are: quantiles of the distribution, the pair with the
/// least error, which nobody knows. Errors are about the mean of the distribution, of 10,000 rows, and of what
/// the rows themselves leave open.
fn with_found_bounds(generator: &mut Generator) {
    println!("\nn = {ROWS}, eps 1: root mean squared error over that of the rows themselves\n");
    println!("| rows | best fixed bounds | bounds found at 0.5, mean at 0.5 |");
    println!("| --- | --- | --- |");
    let normal = |u: f64, v: f64| (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
    let distributions: [(&str, f64, Law); 3] = [
        ("normal, mean 50, sd 10", 50.0, &|u, v| {
            50.0 + 10.0 * normal(u, v)
        }),
        (
            "log-normal, median 60,000, log-sd 1",
            60_000.0 * 0.5f64.exp(),
            &|u, v| 60_000.0 * normal(u, v).exp(),
        ),
        ("uniform, 0 to 100", 50.0, &|u, _| 100.0 * u),
    ];
    for (name, mean, distribution) in distributions {
        let mut unit = || ((generator.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let tables: Vec<Vec<f64>> = (0..TABLES)
            .map(|_| (0..ROWS).map(|_| distribution(unit(), unit())).collect())
            .collect();
        let rmse = |errors: &[f64]| {
            (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt()
        };
        let of_rows: Vec<f64> = tables
            .iter()
            .map(|rows| rows.iter().sum::<f64>() / ROWS as f64 - mean)
            .collect();
        let mut all: Vec<f64> = tables.concat();
        all.sort_by(f64::total_cmp);
        let tails = [0.0, 1e-5, 1e-4, 1e-3, 0.003, 0.01, 0.03];
        let quantile = |p: f64| all[((all.len() - 1) as f64 * p) as usize];
        let pairs = tails.iter().flat_map(|low| {
            tails
                .iter()
                .map(|high| (quantile(*low), quantile(1.0 - *high)))
        });
        let fixed = pairs.map(|(lo, hi)| {
            let errors = tables.iter().flat_map(|rows| {
                let answers = means(rows, lo, hi, 1.0, 2, generator);
                answers.into_iter().map(|answer| answer - mean)
            });
            rmse(&errors.collect::<Vec<_>>())
        });
        let best = fixed.fold(f64::INFINITY, f64::min);
        let mut errors = Vec::new();
        let finder = BoundsFinder::new(Epsilon::new(Some(0.5)).expect("an epsilon"), 1e-9);
        for rows in &tables {
            let mut totals = Totals::new(BINS);
            for x in rows {
                totals.s[bin(*x)] += 1;
            }
            for _ in 0..OF_A_TABLE {
                let [lo, hi] = finder
                    .release_from(&totals, generator)
                    .expect("rows are seen");
                errors.extend(
                    means(rows, lo, hi, 0.5, 1, generator)
                        .iter()
                        .map(|m| m - mean),
                );
            }
        }
        let rows = rmse(&of_rows);
        println!(
            "| {name} | {:.2} | {:.2} |",
            best / rows,
            rmse(&errors) / rows
        );
    }
}

/// Releases of the mean of rows between bounds.
fn means(
    rows: &[f64],
    lo: f64,
    hi: f64,
    epsilon: f64,
    count: u32,
    generator: &mut Generator,
) -> Vec<f64> {
    let arguments = Arguments {
        bounds: Some((Some(lo), Some(hi))),
        epsilon: Some(epsilon),
        ..Arguments::default()
    };
    let mechanism = MEAN
        .build(&arguments)
        .expect("bounds")
        .sums()
        .expect("sums");
    let grid = mechanism.grid().expect("a grid");
    let mut sums = Sums::default();
    for x in rows {
        sums.add(grid.steps(*x));
    }
    let mut release = || mechanism.release(&sums, generator).mean.expect("a mean");
    (0..count).map(|_| release()).collect()
}
