//! Squared error of every mechanism of `dp_mean` over the lower bound: `cargo bench --bench accuracy`.
//!
//! The table of `n` rows in [0, 1] is known to the mechanism by its integers alone, so it is not
//! made. The lower bound is `sigma^2(eps) / n^2`, the least worst-case squared error (Kulesza,
//! Suresh and Wang 2024, theorem 4); the worst case is at the ends of the bounds, so an error
//! below it elsewhere is no contradiction.

use dp_core::grid::STEPS;
use dp_core::mechanism::{Arguments, MEAN, MeanAnswer, MechanismArgument, Scalar};
use dp_core::random::Generator;
use dp_core::sums::Sums;

const ROWS: i64 = 10_000;
const RELEASES: u32 = 100_000;
const EPSILONS: [f64; 4] = [0.1, 1.0, 4.0, 8.0];

fn main() {
    let mut generator = Generator::from_os().expect("the operating system gives randomness");
    for mean in [0.1, 0.5] {
        println!(
            "\nn = {ROWS}, mean {mean}: mean squared error over the lower bound ({RELEASES} releases)\n"
        );
        println!("| mechanism | eps 0.1 | eps 1 | eps 4 | eps 8 |");
        println!("| --- | --- | --- | --- | --- |");
        // Those without bounds, and those that show rows, have no place beside this bound.
        let names = MEAN.entries.iter().map(|entry| entry.info.example);
        for name in names.filter(|name| build(name, 1.0).is_some()) {
            let ratios = EPSILONS.map(|epsilon| ratio(name, epsilon, mean, &mut generator));
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
        delta: None,
        questions: None,
        mechanism: MechanismArgument::Given(Some(mechanism)),
        pathological: false,
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

/// `sigma^2(eps)`: the variance of the best noise for one unit of sensitivity (Geng, Viswanath 2014).
fn least_variance(epsilon: f64) -> f64 {
    let b = (-epsilon).exp();
    let ends = 0.5f64.powf(2.0 / 3.0) * (-2.0 * epsilon / 3.0).exp() * (1.0 + b).powf(2.0 / 3.0);
    (ends + b) / (1.0 - b).powi(2)
}
