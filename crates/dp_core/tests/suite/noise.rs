//! How far off quantiles are, as it is said before: of releases of rows that are spread evenly.

use dp_core::encoding::ranks::Cut;
use dp_core::encoding::sums::Totals;
use dp_core::mechanism::quantile::exponential::RankMechanism;
use dp_core::noise::half_width;
use dp_core::random::Generator;
use dp_core::registry::{QUANTILE, QUANTILES};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::ranks::Ranks;

const RELEASES: usize = 1000;

/// Rows spread evenly over a column of 0 to 65, in the bins of a mechanism: `part` gives the place of a row.
fn evenly(mechanism: &dyn RankMechanism, people: i64) -> Totals {
    let bins = mechanism.bins();
    let mut totals = Totals::new(bins.count());
    totals.n = people;
    for i in 0..people {
        let at = 65.0 * ((i as f64 + 0.5) / people as f64);
        // Whole numbers from 0 to 64, as a column of integers has them.
        let at = if bins.cut() == Cut::Steps {
            at.floor()
        } else {
            at
        };
        totals.s[bins.bin(at)] += 1;
    }
    totals
}

/// A share of 95% of the releases, in which what was said and what comes are both of that many draws.
#[test]
fn a_quantile_of_even_rows_is_as_far_off_as_it_is_said() {
    let slack = 4.0 * (0.05f64 * 0.95 * (1.0 / 4000.0 + 1.0 / RELEASES as f64)).sqrt();
    for (people, epsilon) in [(40, 0.1), (500, 0.3), (20_000, 1.0)] {
        for (text, hi) in [("em", 65.0), ("em(bins=64)", 65.0), ("em(step=1)", 64.0)] {
            for quantiles in [&[0.5][..], &[0.9], &[0.1, 0.4, 0.5, 0.8]] {
                let many: Vec<_> = quantiles.iter().copied().map(Some).collect();
                let (aggregate, ranks, registry) = match quantiles {
                    [one] => ("dp_quantile", Ranks::One(Some(*one)), &QUANTILE),
                    _ => ("dp_quantiles", Ranks::Many(&many), &QUANTILES),
                };
                let arguments = Arguments {
                    bounds: Some((Some(0.0), Some(hi))),
                    ranks: Some(ranks),
                    epsilon: Some(epsilon),
                    mechanism: MechanismArgument::Given(Some(text)),
                    ..Arguments::default()
                };
                let said = half_width(aggregate, &arguments, Some(people as f64));
                let said = said.unwrap().expect("a number");
                assert_eq!(half_width(aggregate, &arguments, None), Ok(None));
                let mechanism = registry.build(&arguments).unwrap();
                let totals = evenly(&*mechanism, people);
                let mut generator = Generator::from_seed(5);
                let mut within = vec![0; quantiles.len()];
                for _ in 0..RELEASES {
                    let answers = mechanism.release(&totals, &mut generator);
                    for ((within, answer), q) in within.iter_mut().zip(answers).zip(quantiles) {
                        let hidden = 65.0 * q;
                        let hidden = if hi == 64.0 { hidden.floor() } else { hidden };
                        *within += usize::from((answer - hidden).abs() <= said + 1e-9);
                    }
                }
                let least = *within.iter().min().unwrap() as f64 / RELEASES as f64;
                let what = format!("{text} {quantiles:?} {people} {epsilon}: {said} {least}");
                assert!(least > 0.95 - slack, "{what}");
                // Steps and wide bins hold more than they must.
                assert!(least < 0.95 + slack || text != "em", "{what}");
            }
        }
    }
}

#[test]
fn what_depends_on_the_rows_in_another_way_is_not_said() {
    let of = |aggregate: &str, bounds, text: &str| {
        let arguments = Arguments {
            bounds: Some(bounds),
            ranks: Some(Ranks::One(Some(0.5))),
            epsilon: Some(1.0),
            mechanism: MechanismArgument::Given(Some(text)),
            ..Arguments::default()
        };
        half_width(aggregate, &arguments, Some(1000.0)).unwrap()
    };
    assert_eq!(of("dp_var_pop", (None, None), "auto"), None);
    assert_eq!(of("dp_quantile", (Some(0.0), Some(1.0)), "rising"), None);
    assert_eq!(
        of("dp_quantile", (Some(0.0), Some(1.0)), "em(grid=log)"),
        None
    );
    assert_eq!(of("dp_cdf", (Some(0.0), Some(1.0)), "tree"), None);
    assert!(of("dp_var_pop", (Some(0.0), Some(1.0)), "laplace").is_some());
}
