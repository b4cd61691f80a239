//! The data of Figures 2 and 3 of Lebeda 2024 (Better Gaussian mechanism using correlated noise),
//! as the mechanisms themselves say how uncertain they are. Tab-separated, each table after a line
//! that says what it is: `cargo run -p dp_core --example figures`.
//!
//! All is for `mu = 1`. For another `mu`, or the `mu` of another budget, divide by its square.

use std::fmt::Display;
use std::io::{self, Write};

use dp_core::mechanism::vector::Spread;
use dp_core::mechanism::{Arguments, COUNTS, MechanismArgument};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    weights(&mut out)?;
    writeln!(out)?;
    bounded(&mut out)
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

fn spread(mechanism: &str) -> Spread {
    let built = COUNTS.build(&Arguments {
        bounds: None,
        epsilon: None,
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
