//! Plans: bounds against distributions that nearly meet them, the trilemma against its numbers, forecasts
//! against releases.

use dp_core::error::ParameterError;
use dp_core::mechanism::mean::hourglass::Hourglass;
use dp_core::mechanism::mean::pair::PairNoise;
use dp_core::planning::{PlanRow, clip_bias, clip_radius, plan, trilemma};
use dp_core::privacy::accounting::normal_cdf;
use dp_core::privacy::epsilon::Epsilon;

pub fn near(found: f64, expected: f64, relative: f64) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "{found}, expected {expected}"
    );
}

#[test]
fn bias_and_radius_are_those_of_the_lemma() {
    for (moment, kappa) in [
        (2.0, 0.25),
        (3.0, 4.0 / 27.0),
        (4.0, 27.0 / 256.0),
        (6.0, 3125.0 / 46_656.0),
        (8.0, 823_543.0 / 16_777_216.0),
    ] {
        near(clip_bias(moment, 1.0, 1.0).unwrap(), kappa, 1e-14);
        for (psi, c) in [(1.0, 5.0), (3e5, 1e6), (2.0, 0.5), (1e-8, 1e-6)] {
            let bias = clip_bias(moment, psi, c).unwrap();
            near(bias, kappa * psi * (psi / c).powf(moment - 1.0), 1e-13);
            near(clip_radius(moment, psi, bias).unwrap(), c, 1e-12);
        }
    }
    // A ratio that no float holds is a difference of logarithms.
    let kappa = |moment: f64| (1.0 - 1.0 / moment).powf(moment - 1.0) / moment;
    for (psi, c, bias) in [(1e-200, 1e200, 1e-240), (1e200, 1e-200, 1e240)] {
        near(clip_bias(1.1, psi, c).unwrap(), kappa(1.1) * bias, 1e-11);
        near(clip_radius(1.1, psi, kappa(1.1) * bias).unwrap(), c, 1e-9);
    }
    // Near moment 1, kappa is 1 and the bounds hardly matter.
    near(clip_bias(1.0 + 1e-9, 3.0, 7.0).unwrap(), 3.0, 1e-7);
}

#[test]
fn the_bound_on_bias_is_nearly_met() {
    for (moment, c, ratio) in [
        (2.0, 2.0, 0.941),
        (2.0, 5.0, 0.990),
        (2.0, 20.0, 0.999),
        (3.0, 5.0, 0.999),
        (4.0, 5.0, 0.999),
    ] {
        // Mean 0, E |x|^moment = 1: mass p at t, the rest at -p t / (1 - p).
        let t: f64 = c * moment / (moment - 1.0);
        let size = |p: f64| p * t.powf(moment) + (1.0 - p) * (p * t / (1.0 - p)).powf(moment);
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..200 {
            let p = 0.5 * (low + high);
            if size(p) < 1.0 { low = p } else { high = p }
        }
        let p = low;
        assert!(p * t / (1.0 - p) < c, "only one point is clamped");
        let met = p * (t - c) / clip_bias(moment, 1.0, c).unwrap();
        assert!(met <= 1.0 && met >= ratio - 5e-4, "{moment} {c}: {met}");
    }
}

#[test]
fn bounds_at_the_ends_of_floats_are_positive_or_refused() {
    let ends = [5e-324, 1e-310, 2.3e-308, 1e-160, 1.0, 1e160, f64::MAX];
    let moments = [1.0f64.next_up(), 1.5, 2.0, 100.0, 1e16, f64::MAX];
    for moment in moments {
        for psi in ends {
            for third in ends {
                for (answer, blamed) in [
                    (clip_bias(moment, psi, third), "c"),
                    (clip_radius(moment, psi, third), "beta"),
                ] {
                    match answer {
                        Ok(value) => assert!(value > 0.0 && value.is_finite(), "{value}"),
                        Err(error) => {
                            assert_eq!(error.argument, blamed);
                            assert!(error.message.contains("too small"), "{error}");
                        }
                    }
                }
            }
        }
    }
}

fn refusal<T: std::fmt::Debug>(answer: Result<T, ParameterError>) -> &'static str {
    let error = answer.unwrap_err();
    assert!(!error.message.is_empty() && !error.hint.is_empty());
    error.argument
}

#[test]
fn bad_arguments_are_named() {
    let not_positive = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0, -1.0];
    for bad in not_positive.into_iter().chain([1.0]) {
        assert_eq!(refusal(clip_bias(bad, 1.0, 1.0)), "moment");
        assert_eq!(refusal(clip_radius(bad, 1.0, 1.0)), "moment");
    }
    for bad in not_positive {
        assert_eq!(refusal(clip_bias(2.0, bad, 1.0)), "psi");
        assert_eq!(refusal(clip_radius(2.0, bad, 1.0)), "psi");
        assert_eq!(refusal(clip_bias(2.0, 1.0, bad)), "c");
        assert_eq!(refusal(clip_radius(2.0, 1.0, bad)), "beta");
        assert_eq!(refusal(trilemma(bad, 1.0, 0.1, 0.1)), "n");
        assert_eq!(refusal(trilemma(9.0, bad, 0.1, 0.1)), "eps");
    }
    assert_eq!(refusal(trilemma(0.99, 1.0, 0.1, 0.1)), "n");
    for bad in [f64::NAN, f64::INFINITY, -1e-300, 1.0] {
        assert_eq!(refusal(trilemma(9.0, 1.0, bad, 0.1)), "delta");
    }
    for bad in [f64::NAN, f64::INFINITY, -1e-300] {
        assert_eq!(refusal(trilemma(9.0, 1.0, 0.1, bad)), "beta");
    }
}

#[test]
fn the_trilemma_has_its_numbers() {
    for (n, eps, delta, beta, least, relative) in [
        (100.0, 1.0, 0.0, 1e-5, 0.831, 1e-3),
        (1e4, 1.0, 0.0, 1e-5, 0.0083, 5e-3),
        (1e4, 1.0, 1e-6, 1e-3, 0.0041, 5e-3),
        (1e4, 1.0, 0.0, 0.02, 0.0041, 5e-3),
    ] {
        let found = trilemma(n, eps, delta, beta).unwrap();
        near(found.least_rmse, least, relative);
        near(found.sampling, 1.0 / (6.0 * (n + 2.0)).sqrt(), 1e-14);
        assert_eq!(found.least_rmse, found.sampling.max(found.privacy));
        assert!(found.possible);
    }
    near(
        trilemma(1e4, 1.0, 1e-6, 1e-3).unwrap().privacy,
        6.5e-5,
        0.02,
    );
    // Where the theorem ends.
    let privacy = |eps: f64, delta, beta| trilemma(100.0, eps, delta, beta).unwrap().privacy;
    assert!(privacy(1.0, 0.0, 1.0 / 80.0) > 0.0);
    assert_eq!(privacy(1.0, 0.0, (1.0f64 / 80.0).next_up()), 0.0);
    for eps in [1e-3f64, 0.1, 1.0] {
        let end = (2.0 / 25.0 * eps.sinh()).powi(2);
        // Continuous there, and beyond it what it is at the epsilon that fits.
        near(
            privacy(eps, end * (1.0 + 1e-12), 1e-4),
            privacy(eps, end * (1.0 - 1e-12), 1e-4),
            1e-9,
        );
        let delta = (4.0 * end).min(0.5);
        let fits = (12.5 * delta.sqrt()).asinh();
        near(privacy(eps, delta, 1e-4), privacy(fits, delta, 1e-4), 1e-12);
        near(
            privacy(eps, delta, 0.0),
            1.0 / (160.0 * 100.0 * delta.sqrt()),
            1e-12,
        );
    }
    // More of anything asks for no more.
    let grid = [0.0, 1e-12, 1e-6, 1e-3, 0.012, 0.1];
    for (i, &one) in grid.iter().enumerate() {
        for &other in &grid[i..] {
            for fixed in grid {
                for eps in [1e-6, 0.1, 3.0, 50.0, 1e9] {
                    assert!(privacy(eps, one, fixed) >= privacy(eps, other, fixed));
                    assert!(privacy(eps, fixed, one) >= privacy(eps, fixed, other));
                    assert!(privacy(eps, fixed, one) >= privacy(2.0 * eps, fixed, one));
                }
            }
        }
    }
    // Without delta and without bias there is nothing; with ever so little of one there is.
    for n in [1.0, 1e4, f64::MAX] {
        let none = trilemma(n, 1.0, 0.0, 0.0).unwrap();
        assert!(!none.possible && none.least_rmse == f64::INFINITY);
        for (delta, beta) in [(5e-324, 0.0), (0.0, 5e-324)] {
            for eps in [5e-324, 1.0, f64::MAX] {
                let some = trilemma(n, eps, delta, beta).unwrap();
                assert!(some.possible && some.least_rmse.is_finite(), "{some:?}");
            }
        }
    }
}

#[test]
fn the_normal_distribution_function_is_that_of_the_tables() {
    for (x, p) in [
        (0.0, 0.5),
        (-1.0, 0.158_655_253_931_457_05),
        (1.0, 0.841_344_746_068_542_9),
        (-1.959_963_984_540_054, 0.025),
        (3.0, 0.998_650_101_968_369_9),
        (-6.0, 9.865_876_450_376_98e-10),
        (-20.0, 2.753_624_118_606_234e-89),
    ] {
        near(normal_cdf(x), p, 1e-13);
    }
    assert_eq!([-50.0, f64::NEG_INFINITY].map(normal_cdf), [0.0; 2]);
    assert_eq!([50.0, f64::INFINITY].map(normal_cdf), [1.0; 2]);
}

pub fn planned(delta: Option<f64>, moment: Option<f64>, psi: Option<f64>) -> Vec<PlanRow> {
    let [n, eps, lo, hi] = [10_000.0, 1.0, -50.0, 150.0].map(Some);
    plan(n, eps, lo, hi, delta, moment, psi).unwrap()
}

pub fn row<'a>(rows: &'a [PlanRow], name: &str) -> &'a PlanRow {
    let found = rows.iter().find(|row| {
        let rest = row.mechanism.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
    });
    found.unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_plan_has_a_row_for_each_mechanism() {
    let rows = planned(None, None, None);
    let planned_for = dp_core::registry::MEAN.entries.iter();
    let planned_for = planned_for.filter(|entry| entry.plan.is_some());
    assert_eq!(rows.len(), planned_for.count());
    let gaussian = row(&rows, "gaussian");
    assert_eq!(gaussian.mechanism, "gaussian(delta={delta})");
    assert_eq!(gaussian.forecast, None);
    assert!(gaussian.needs.starts_with("not given: delta; lo and hi"));
    // A number of rows is a whole number, whether the others are given or not.
    let clipped = "clipped(n=10000)";
    assert_eq!(row(&rows, "clipped").mechanism, clipped);

    let rows = planned(Some(1e-6), None, None);
    // 200 sigma / n, with sigma^2 = 1.91810.
    for (name, noise_sd) in [
        ("hourglass", 0.02 * 1.918_10f64.sqrt()),
        ("laplace", 0.02 * 2f64.sqrt()),
        ("staircase", 0.02 * 1.985_41f64.sqrt()),
        ("gaussian", 0.02 / 0.236_704_381),
        ("shifted", 0.04),
        ("independent", 0.06),
    ] {
        let forecast = row(&rows, name).forecast.unwrap();
        near(forecast.noise_sd, noise_sd, 1e-5);
        assert_eq!(forecast.bias, forecast.noise_sd / 2.0);
        // Popoviciu: half the width, over the root of n.
        near(forecast.rmse, noise_sd.hypot(1.0), 1e-6);
    }
    // The same noise as the first where the number of rows is public, and what is not clamped.
    for (name, noise_sd) in [
        ("clipped", 0.02 * 1.918_10f64.sqrt()),
        ("smooth", 0.02 * 100.0 / 43.0),
    ] {
        let forecast = row(&rows, name).forecast.unwrap();
        near(forecast.noise_sd, noise_sd, 1e-5);
        assert_eq!(forecast.bias, 0.0);
    }
    assert_eq!(row(&rows, "gaussian").mechanism, "gaussian(delta=1e-6)");
    assert!(row(&rows, "hourglass").needs.contains("rows lie"));

    let rows = planned(Some(1e-6), Some(4.0), Some(30.0));
    let clamping = clip_bias(4.0, 30.0, 100.0).unwrap();
    for name in ["hourglass", "shifted", "gaussian"] {
        let forecast = row(&rows, name).forecast.unwrap();
        near(forecast.bias, clamping, 1e-14);
        let expected = 0.3f64.hypot(forecast.noise_sd).hypot(clamping);
        near(forecast.rmse, expected, 1e-12);
        assert!(row(&rows, name).needs.contains("psi^moment"));
    }
    // Rows are clipped 450 from a place that is within a bin of 300 of the mean.
    let forecast = row(&rows, "symmetric").forecast.unwrap();
    let clipping = clip_bias(4.0, 30.0, 150.0).unwrap();
    let expected = 0.3f64.hypot(forecast.noise_sd).hypot(clipping);
    near(forecast.rmse, expected, 1e-12);
    // Each has a number to choose by; only the means without bounds may have no answer.
    for row in &rows {
        let forecast = row.forecast.expect("all numbers were given");
        assert!(forecast.rmse.is_finite() && forecast.rmse >= forecast.noise_sd);
        let boundless = row.mechanism.contains("scale");
        assert_eq!(forecast.null > 0.0, boundless, "{}", row.mechanism);
        assert!(forecast.null < 1e-6);
    }
}

#[test]
fn how_often_there_is_no_location() {
    // 10,000 rows are many, 100 are not enough; the bound holds of what is found.
    let null = |n: f64, eps: f64, psi: f64| {
        let moment = Some(4.0);
        let rows = plan(
            Some(n),
            Some(eps),
            Some(0.0),
            Some(1.0),
            Some(1e-6),
            moment,
            Some(psi),
        );
        row(&rows.unwrap(), "symmetric").forecast.unwrap().null
    };
    // What is left is that few cells are taken for a crowd: about delta / 8.
    assert!(null(1e4, 1.0, 2.0) < 2e-7);
    assert!(null(1e6, 0.1, 2.0) < 4e-7);
    assert_eq!(null(100.0, 1.0, 2.0), 1.0);
    assert!(null(400.0, 1.0, 2.0) < 0.1);
    assert!(null(500.0, 1.0, 2.0) < null(450.0, 1.0, 2.0));
}

#[test]
fn bad_plans_name_the_argument() {
    let good = [
        Some(100.0),
        Some(1.0),
        Some(0.0),
        Some(1.0),
        Some(1e-6),
        Some(2.0),
        Some(1.0),
    ];
    let nan = Some(f64::NAN);
    let infinite = Some(f64::INFINITY);
    for (position, name, bad) in [
        (
            0,
            "n",
            vec![
                None,
                nan,
                infinite,
                Some(0.0),
                Some(1.5),
                Some(-1.0),
                Some(1e16),
            ],
        ),
        (1, "eps", vec![None, nan, infinite, Some(0.0), Some(51.0)]),
        (2, "lo", vec![None, nan, infinite]),
        (3, "hi", vec![None, nan, infinite, Some(0.0)]),
        (
            4,
            "delta",
            vec![nan, infinite, Some(0.0), Some(1.0), Some(-1.0)],
        ),
        (
            5,
            "moment",
            vec![None, nan, infinite, Some(1.99), Some(-1.0)],
        ),
        (6, "psi", vec![None, nan, infinite, Some(0.0), Some(-1.0)]),
    ] {
        for value in bad {
            let mut arguments = good;
            arguments[position] = value;
            let [n, eps, lo, hi, delta, moment, psi] = arguments;
            let answer = plan(n, eps, lo, hi, delta, moment, psi);
            assert_eq!(refusal(answer), name, "{value:?}");
        }
    }
}

/// Least noise is rare and large at a large epsilon, so what is beyond releases is counted: on a
/// small grid, and by the variance that cannot be beaten.
#[test]
fn the_variance_of_the_hourglass_is_that_of_its_law() {
    let steps = 8i64;
    for (eps, core) in (1..=8).flat_map(|core| [0.5, 2.0, 6.0].map(|eps| (eps, core))) {
        let noise = Hourglass::new(steps as u64, core, Epsilon::new(Some(eps)).unwrap());
        let reach = (40.0 / eps) as i64;
        let core = core as i64;
        let (mut weight, mut first, mut second) = (0.0, 0.0, 0.0);
        for x in -steps * reach..=steps * reach {
            let level = if x.abs() < core {
                0
            } else {
                ((x.abs() - core) / steps + 1) * x.signum()
            };
            for k in level - reach..=level + reach {
                let p = (-eps * (level.abs() + (k - level).abs()) as f64).exp();
                weight += p;
                first += p * (x * x) as f64;
                second += p * (steps * k - x).pow(2) as f64;
            }
        }
        for sum in [first, second] {
            let exact = sum / weight / (steps * steps) as f64;
            near(noise.variance(), exact, 1e-11);
        }
    }
    for eps in [0.01, 0.1, 1.0, 4.0, 8.0, 20.0] {
        let plan = plan(Some(1.0), Some(eps), Some(0.0), Some(1.0), None, None, None).unwrap();
        let b = (-eps).exp();
        let ends = (-2.0 * eps / 3.0).exp() * ((1.0 + b) / 2.0).powf(2.0 / 3.0);
        let least = (ends + b) / (1.0 - b).powi(2);
        let noise_sd = row(&plan, "hourglass").forecast.unwrap().noise_sd;
        near(noise_sd, least.sqrt(), 1e-6);
    }
}

/// Forecasts against what releases through the registry do.
#[cfg(feature = "testing")]
mod releases {
    use std::panic::catch_unwind;

    use dp_core::accuracy::forecast::{Forecast, Planned};
    use dp_core::encoding::sums::Sums;
    use dp_core::mechanism::mean::inputs::Mean;
    use dp_core::random::Generator;
    use dp_core::registry::MEAN;
    use dp_core::request::arguments::{Arguments, MechanismArgument};

    use crate::stats::{Moments, Z_ALPHA};

    const RELEASES: usize = 100_000;

    /// That many that no answer here meets an end.
    const ROWS: i64 = 1 << 30;

    /// How far from an end the mean lies, of the width: so near that the variance, a quadratic of
    /// the place with coefficients of its own size, is that at the end within four times this.
    const NEAR_END: f64 = 1.0 / 1024.0;

    fn build(text: &str, bounds: (f64, f64), eps: f64, factor: f64) -> Box<Mean> {
        let own_budget = text.contains("mu=");
        let arguments = Arguments {
            bounds: Some((Some(bounds.0), Some(bounds.1))),
            epsilon: (!own_budget).then_some(eps),
            mechanism: MechanismArgument::Given(Some(text)),
            pathological: true,
            ..Arguments::default()
        };
        let built = MEAN.build_with_budget_times(factor, &arguments);
        built.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn forecast(mechanism: &Mean) -> Forecast {
        mechanism.forecast(&Planned {
            rows: ROWS as f64,
            moment: None,
        })
    }

    /// Errors of releases, in units of `unit`, of rows that all have a value that stands on the
    /// grid.
    fn errors(mechanism: Mean, value: f64, unit: f64, seed: u64) -> Moments {
        let mechanism = mechanism.sums().expect("it sees sums alone");
        let grid = mechanism.grid().expect("a mean has a grid");
        let sums = Sums {
            n: ROWS,
            s: i128::from(ROWS) * i128::from(grid.steps(value)),
        };
        let mut generator = Generator::from_seed(seed);
        Moments::of((0..RELEASES).map(|_| {
            let answer = mechanism.release(&sums, &mut generator).mean;
            (answer.expect("it always has a mean") - value) / unit
        }))
    }

    /// That the largest noise, over places of the mean, is what is forecast; of mechanisms that
    /// spend `factor` times what the forecast is made for.
    fn assert_forecast(text: &str, (lo, hi): (f64, f64), eps: f64, factor: f64) {
        let forecast = forecast(&build(text, (lo, hi), eps, 1.0));
        let (mut largest, mut slack_there) = (0.0, 0.0);
        for (seed, place) in [(31, NEAR_END), (32, 0.5), (33, 1.0 - NEAR_END)] {
            let value = lo + place * (hi - lo);
            let mechanism = build(text, (lo, hi), eps, factor);
            let errors = errors(*mechanism, value, forecast.noise_sd, seed);
            let slack = Z_ALPHA * errors.mean_square_error();
            let what = format!("{text} at {eps}, {value} between {lo} and {hi}");
            let found = errors.mean_square();
            assert!(found <= 1.0 + slack, "{what}: {found} of the forecast");
            let unbiased = Z_ALPHA * (found / RELEASES as f64).sqrt();
            assert!(errors.mean().abs() < unbiased, "{what}: {}", errors.mean());
            if found > largest {
                (largest, slack_there) = (found, slack);
            }
        }
        let slack = slack_there + 4.0 * NEAR_END;
        assert!(
            largest >= 1.0 - slack,
            "{text} at {eps}: {largest} +- {slack} of the forecast"
        );
        assert!(slack < 0.1, "{text} at {eps}: no test with {slack}");
    }

    const TEXTS: [&str; 9] = [
        "hourglass",
        "hourglass(gamma=0.1)",
        "hourglass(gamma=0.9)",
        "laplace",
        "staircase",
        "staircase(gamma=0.3)",
        "shifted",
        "independent",
        "gaussian(mu=0.7)",
    ];

    /// Their ends, and what the places above make of them, stand on the grids.
    const BOUNDS: [(f64, f64); 3] = [(0.0, 1.0), (-2.0, 8.0), (-8.0, -6.0)];

    #[test]
    fn forecasts_are_the_noise_of_releases() {
        for text in TEXTS {
            for (bounds, eps) in BOUNDS.into_iter().zip([0.1, 1.0, 4.0]) {
                assert_forecast(text, bounds, eps, 1.0);
            }
        }
        // The largest bound in magnitude is on either side.
        assert_forecast("independent", (-8.0, 2.0), 1.0, 1.0);
        assert_forecast("independent", (-2.0, 8.0), 0.1, 1.0);
        assert_forecast("gaussian(delta=1e-6)", (-2.0, 8.0), 1.0, 1.0);
        for (bounds, eps) in BOUNDS.into_iter().zip([0.1, 1.0, 4.0]) {
            assert_forecast(&format!("clipped(n={ROWS})"), bounds, eps, 1.0);
        }
    }

    #[test]
    fn a_wrong_forecast_is_caught() {
        for text in ["hourglass", "laplace", "independent", "gaussian(mu=0.7)"] {
            for factor in [0.95, 1.05] {
                let wrong = || assert_forecast(text, (0.0, 1.0), 1.0, factor);
                assert!(catch_unwind(wrong).is_err(), "{text} {factor}");
            }
        }
    }

    #[test]
    fn an_answer_kept_inside_is_biased_at_an_end_as_forecast() {
        for text in TEXTS {
            for (bounds, eps) in BOUNDS.into_iter().zip([0.1, 1.0, 4.0]) {
                for end in [bounds.0, bounds.1] {
                    let mechanism = build(text, bounds, eps, 1.0);
                    let bound = forecast(&mechanism).bias;
                    let errors = errors(*mechanism, end, bound, 34);
                    let slack = Z_ALPHA * (errors.mean_square() / RELEASES as f64).sqrt();
                    let bias = errors.mean().abs();
                    let what = format!("{text} at {eps}, {end}: {bias} of the bound");
                    assert!(bias <= 1.0 + slack, "{what}");
                    // A bound that says something, but for rare and large noise.
                    assert!(bias > 0.4 || eps > 1.0, "{what}");
                }
            }
        }
    }
}
