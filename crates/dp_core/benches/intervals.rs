//! How often intervals hold what they estimate, and how wide they are:
//! `cargo bench -p dp_core --bench intervals` prints the tables of docs/intervals.md.

use dp_core::accuracy::tail::quantile;
use dp_core::encoding::grid::STEPS;
use dp_core::encoding::sums::Sums;
use dp_core::mechanism::mean::inputs::{Mean, SumsMean};
use dp_core::random::Generator;
use dp_core::registry::MEAN;
use dp_core::request::arguments::{Arguments, MechanismArgument};

const RELEASES: u32 = 40_000;
const EPSILONS: [f64; 6] = [0.01, 0.1, 0.5, 1.0, 4.0, 8.0];
const MEANS: [f64; 5] = [0.0, 0.01, 0.1, 0.5, 1.0];

fn main() {
    let mut generator = Generator::from_os().expect("the operating system gives randomness");
    coverage(&mut generator);
    widths(&mut generator);
}

/// A mechanism for a column between 0 and 1.
fn build(mechanism: &str, epsilon: f64) -> Box<dyn SumsMean> {
    let arguments = Arguments {
        bounds: Some((Some(0.0), Some(1.0))),
        epsilon: Some(epsilon),
        mechanism: MechanismArgument::Given(Some(mechanism)),
        ..Arguments::default()
    };
    match *MEAN.build(&arguments).expect("a mechanism") {
        Mean::Sums(mechanism) => mechanism,
        _ => unreachable!("these see sums alone"),
    }
}

/// Hits and the average width of the intervals of releases, for rows at `mean`.
fn release(
    mechanism: &dyn SumsMean,
    rows: i64,
    mean: f64,
    miss: f64,
    generator: &mut Generator,
) -> (f64, f64) {
    let steps = (mean * STEPS as f64).round();
    let sums = Sums {
        n: rows,
        s: steps as i128 * i128::from(rows),
    };
    let truth = steps / STEPS as f64;
    let intervals = mechanism.intervals(miss).expect("intervals");
    let (mut hits, mut width) = (0u32, 0.0);
    for _ in 0..RELEASES {
        let [lower, upper] = intervals(&mechanism.release(&sums, generator));
        hits += u32::from(lower <= truth && truth <= upper);
        width += upper - lower;
    }
    let releases = f64::from(RELEASES);
    (f64::from(hits) / releases, width / releases)
}

/// The smallest share of hits of all settings, and that of all releases together.
fn coverage(generator: &mut Generator) {
    println!(
        "\nShare of intervals that hold the mean, in percent: the smallest of all settings ({RELEASES} \
         releases each), and of all together\n"
    );
    println!("| mechanism | 50% | | 95% | | 99% | |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for name in [
        "hourglass",
        "laplace",
        "staircase",
        "gaussian(delta=1e-6)",
        "shifted",
        "independent",
        "clipped",
    ] {
        let cells = [0.5, 0.95, 0.99].map(|confidence| {
            let (mut least, mut sum, mut settings) = (1.0f64, 0.0, 0.0);
            for epsilon in EPSILONS {
                for rows in [1, 10, 100, 10_000, 1_000_000] {
                    let text = match name {
                        "clipped" => format!("clipped(n={rows})"),
                        _ => name.to_owned(),
                    };
                    let mechanism = build(&text, epsilon);
                    for mean in MEANS {
                        let (hits, _) =
                            release(&*mechanism, rows, mean, 1.0 - confidence, generator);
                        least = least.min(hits);
                        sum += hits;
                        settings += 1.0;
                    }
                }
            }
            format!("{:.2} | {:.2}", 100.0 * least, 100.0 * sum / settings)
        });
        println!("| `{name}` | {} |", cells.join(" | "));
    }
}

/// Width over that of an interval for a known number of rows: twice the noise of the sum over it.
fn widths(generator: &mut Generator) {
    println!(
        "\nWidth of the 95% interval over that of a known number of rows, n = 1000 / eps; last column: \
         the time of one interval\n"
    );
    let header = |epsilon: &f64| format!("eps {epsilon}");
    let headers = EPSILONS.each_ref().map(header).join(" | ");
    println!("| mechanism, mean | {headers} | ns |");
    println!("| --- | {}--- |", "--- | ".repeat(EPSILONS.len()));
    for name in ["hourglass", "laplace", "staircase"] {
        for mean in [0.01, 0.1, 0.5] {
            let cells = EPSILONS.map(|epsilon| {
                let rows = (1000.0 / epsilon).round();
                let mechanism = build(name, epsilon);
                let (_, width) = release(&*mechanism, rows as i64, mean, 0.05, generator);
                let ratio = mechanism.ratio().expect("a ratio");
                let known = 2.0 * quantile(0.05, |t| (ratio.tail)(0.0, t)) / rows;
                format!("{:.2}", width / known)
            });
            let time = nanoseconds(name, mean, generator);
            println!("| `{name}`, {mean} | {} | {time:.0} |", cells.join(" | "));
        }
    }
}

/// Of one interval, the answer being there.
fn nanoseconds(name: &str, mean: f64, generator: &mut Generator) -> f64 {
    let mechanism = build(name, 1.0);
    let intervals = mechanism.intervals(0.05).expect("intervals");
    let sums = Sums {
        n: 1000,
        s: (mean * 1000.0 * STEPS as f64) as i128,
    };
    let answer = mechanism.release(&sums, generator);
    let start = std::time::Instant::now();
    for _ in 0..RELEASES {
        std::hint::black_box(intervals(std::hint::black_box(&answer)));
    }
    start.elapsed().as_nanos() as f64 / f64::from(RELEASES)
}
