//! The data of figures of the literature. Tab-separated, each table after a line that says what it
//! is: `cargo run -p dp_core --example figures`.
//!
//! Figures 2 and 3 of Lebeda 2024 (Better Gaussian mechanism using correlated noise), as the
//! mechanisms themselves say how uncertain they are. All is for `mu = 1`: for another `mu`, or the
//! `mu` of another budget, divide by its square.
//!
//! Figure 1 of Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023 (A bias-accuracy-privacy
//! trilemma for statistical estimation), from closed forms, and
//! its lowest points.

use std::fmt::Display;
use std::io::{self, Write};

use dp_core::accounting::normal_cdf;
use dp_core::mechanism::vector::Spread;
use dp_core::mechanism::{Arguments, COUNTS, MechanismArgument};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    weights(&mut out)?;
    writeln!(out)?;
    bounded(&mut out)?;
    writeln!(out)?;
    clamped(&mut out)?;
    writeln!(out)?;
    least(&mut out)
}

/// Figure 2: what the weight of the number of rows does to it and to the counts.
pub fn weights(out: &mut impl Write) -> io::Result<()> {
    let d = 10_000;
    writeln!(out, "# Figure 2: {d} counts, the weight c from 1 to 1000")?;
    writeln!(out, "# A: variance of the noisy number of rows")?;
    writeln!(out, "# B: variance of twice a count less the rows")?;
    row(out, ["c", "A", "B", "per_count", "standard"])?;
    let standard = per_count(&spread(&format!("gaussian(d={d}, mu=1)")));
    for twentieths in 0..=60 {
        let c = 10f64.powf(f64::from(twentieths) / 20.0);
        let spread = spread(&format!("correlated(c={c:?}, d={d}, mu=1)"));
        let a = spread.total_sd.expect("has a total").powi(2);
        // A count is half of (what B is the variance of, plus what A is).
        let b = 4.0 * per_count(&spread) - a;
        row(out, [c, a, b, per_count(&spread), standard])?;
    }
    Ok(())
}

/// Figure 3: rows that say yes to at most `k` questions.
pub fn bounded(out: &mut impl Write) -> io::Result<()> {
    let d = 1000;
    writeln!(
        out,
        "# Figure 3: {d} counts of rows that say yes to at most k questions; variance of a count,"
    )?;
    writeln!(
        out,
        "# and over that of the standard. The ellipse takes k <= d/2: NaN above"
    )?;
    row(
        out,
        [
            "k",
            "standard",
            "ellipse",
            "correlated",
            "ellipse_ratio",
            "correlated_ratio",
        ],
    )?;
    let correlated = per_count(&spread(&format!("correlated(d={d}, mu=1)")));
    for k in 1..=d {
        // Such a row moves all counts together as far as a row of k questions moves its k.
        let standard = per_count(&spread(&format!("gaussian(d={k}, mu=1)")));
        let ellipse = if k <= d / 2 {
            per_count(&spread(&format!("ellipse(d={d}, k={k}, mu=1)")))
        } else {
            f64::NAN
        };
        let (of_ellipse, of_correlated) = (ellipse / standard, correlated / standard);
        row(
            out,
            [
                f64::from(k),
                standard,
                ellipse,
                correlated,
                of_ellipse,
                of_correlated,
            ],
        )?;
    }
    Ok(())
}

/// The rows of Figure 1: so many incomes, log-normal with this median and log-variance 1.
pub const ROWS: f64 = 500.0;
pub const MEDIAN: f64 = 60_000.0;
const INCOMES: &str = "incomes (log-normal, median 60000, log-variance 1) clamped to [0, T]";
const EPSILONS: [f64; 6] = [0.01, 0.05, 0.1, 1.0, 2.0, 4.0];

/// Errors of the mean of the rows of Figure 1, clamped, with Laplace noise.
#[derive(Clone, Copy, Debug)]
pub struct Errors {
    pub bias: f64,
    /// Of rows and noise together.
    pub standard_error: f64,
    pub rmse: f64,
}

/// With rows clamped to `[0, bound]` and noise of scale `bound / (epsilon n)`.
pub fn errors(bound: f64, epsilon: f64) -> Errors {
    // x = MEDIAN exp(z) with z normal is clamped where z is above k.
    let k = (bound / MEDIAN).ln();
    let above = normal_cdf(-k);
    let mean = MEDIAN * 0.5f64.exp();
    let clamped_mean = mean * normal_cdf(k - 1.0) + bound * above;
    let square = MEDIAN * MEDIAN * 2f64.exp() * normal_cdf(k - 2.0) + bound * bound * above;
    // E max(0, x - bound), which is what clamping takes away.
    let bias = bound * above - mean * normal_cdf(1.0 - k);
    let noise = bound / (epsilon * ROWS);
    let variance = (square - clamped_mean * clamped_mean) / ROWS + 2.0 * noise * noise;
    Errors {
        bias,
        standard_error: variance.sqrt(),
        rmse: (bias * bias + variance).sqrt(),
    }
}

/// The bound with the least root mean squared error: by golden section, in its logarithm.
pub fn best_bound(epsilon: f64) -> f64 {
    let rmse = |log: f64| errors(log.exp(), epsilon).rmse;
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = ((MEDIAN / 1e3).ln(), (MEDIAN * 1e3).ln());
    for _ in 0..60 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if rmse(left) < rmse(right) {
            high = right;
        } else {
            low = left;
        }
    }
    low.midpoint(high).exp()
}

/// Figure 1: what the bound does to bias and standard error.
pub fn clamped(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# Figure 1: the mean of {ROWS} {INCOMES},")?;
    writeln!(out, "# with Laplace noise of scale T / (eps n)")?;
    row(out, ["eps", "T", "bias", "standard_error", "rmse"])?;
    for epsilon in EPSILONS {
        for tenths in 0..=20 {
            let bound = 1e4 * 10f64.powf(f64::from(tenths) / 10.0);
            error_row(out, epsilon, bound)?;
        }
    }
    Ok(())
}

/// The lowest points of Figure 1.
pub fn least(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# Figure 1: the T with the least error")?;
    row(out, ["eps", "T", "bias", "standard_error", "rmse"])?;
    for epsilon in EPSILONS {
        error_row(out, epsilon, best_bound(epsilon))?;
    }
    Ok(())
}

fn error_row(out: &mut impl Write, epsilon: f64, bound: f64) -> io::Result<()> {
    let Errors {
        bias,
        standard_error,
        rmse,
    } = errors(bound, epsilon);
    row(out, [epsilon, bound, bias, standard_error, rmse])
}

fn spread(mechanism: &str) -> Spread {
    let built = COUNTS.build(&Arguments {
        bounds: None,
        epsilon: None,
        delta: None,
        questions: None,
        mechanism: MechanismArgument::Given(Some(mechanism)),
        pathological: false,
    });
    built.unwrap_or_else(|error| panic!("{error}")).spread()
}

fn per_count(spread: &Spread) -> f64 {
    spread.sd.powi(2)
}

fn row<const N: usize>(out: &mut impl Write, cells: [impl Display; N]) -> io::Result<()> {
    writeln!(out, "{}", cells.map(|cell| cell.to_string()).join("\t"))
}
