//! Means that can show a row: what they take to be allowed, and that they are right on average.

use dp_core::accuracy::forecast::Planned;
use dp_core::encoding::sums::Sums;
use dp_core::error::{Kind, ParameterError};
use dp_core::mechanism::mean::inputs::Mean;
use dp_core::mechanism::mean::pathological::cells::{Chosen, CoinedCounts};
use dp_core::mechanism::mean::pathological::device::{CoinedMean, Pathological};
use dp_core::mechanism::mean::pathological::sampled::SampledMean;
use dp_core::privacy::delta::Delta;
use dp_core::random::Bits;
use dp_core::registry::{self, MEAN};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::staircase;

use crate::planning::{near, planned, row};
use crate::stats::{Moments, assert_law};
use crate::symmetric::{MEAN_OF_ROWS, Rows, generator};
use crate::words::Seeded;

/// A mechanism of dp_mean at epsilon 1, with NULL for bounds that are not given.
fn arguments(text: &str, bounds: Option<(f64, f64)>) -> Arguments<'_> {
    let (lo, hi) = bounds.unzip();
    Arguments {
        bounds: Some((lo, hi)),
        epsilon: Some(1.0),
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    }
}

/// Such a mechanism, where it is allowed.
fn build(text: &str, bounds: Option<(f64, f64)>) -> Result<Mean, ParameterError> {
    let allowed = Arguments {
        pathological: true,
        ..arguments(text, bounds)
    };
    MEAN.build(&allowed).map(|mechanism| *mechanism)
}

fn device(mean: Mean) -> Pathological {
    match mean {
        Mean::Pathological(device) => device,
        _ => panic!("it shows no rows"),
    }
}

fn cells(text: &str) -> Box<dyn CoinedMean> {
    match device(build(text, None).unwrap()) {
        Pathological::Cells(mechanism) => mechanism,
        Pathological::Sums(_) => panic!("{text} sees no cells"),
    }
}

#[test]
fn they_are_refused_unless_they_are_allowed() {
    for (_, _, info) in registry::catalog() {
        let is_device = ["hybrid", "name_and_shame"].contains(&info.name);
        assert_eq!(registry::needs_permission(info.example), Ok(is_device));
    }
    for (text, bounds) in [
        ("hybrid(delta=1e-6, n=9, moment=4, psi=1)", Some((0.0, 1.0))),
        ("name_and_shame(delta=1e-6, n=9)", Some((0.0, 1.0))),
        (
            "symmetric_known_n(delta=1e-6, scale=1, n=9, fallback=raw)",
            None,
        ),
    ] {
        assert_eq!(registry::needs_permission(text), Ok(true), "{text}");
        let error = MEAN.build(&arguments(text, bounds)).err().unwrap();
        assert_eq!(
            (error.kind, error.argument),
            (Kind::Permission, "mech"),
            "{text}"
        );
        assert!(build(text, bounds).is_ok(), "{text}");
    }
    let none = "symmetric_known_n(delta=1e-6, scale=1, n=9, fallback=none)";
    assert_eq!(registry::needs_permission(none), Ok(false));
    assert!(MEAN.build(&arguments(none, None)).is_ok());
}

#[test]
fn impossible_hybrids_are_refused() {
    for (moment, psi, word) in [
        ("4", "1e-291", "psi"),
        ("4", "1e291", "psi"),
        ("2", "1", "moment"),
        ("1000.5", "1", "moment"),
    ] {
        let text = format!("hybrid(delta=1e-6, n=9, moment={moment}, psi={psi})");
        let refused = build(&text, Some((0.0, 1.0))).err().unwrap();
        assert!(refused.message.contains(word), "{text}: {refused}");
    }
}

/// What the tails that are shown add to the noise, at the radius of the least bound.
#[test]
fn the_noise_of_hybrid_is_that_of_its_radius() {
    let (n, delta, psi) = (10_000.0, 1e-6, 30.0);
    let variance = staircase::least_variance(1.0);
    for moment in [2.5f64, 4.0, 6.0] {
        let spread = n * (moment - 2.0) / (2.0 * moment * moment * delta * variance);
        let radius = psi * spread.powf(1.0 / moment);
        let heads = variance * ((200.0 + 2.0 * radius) / n).powi(2);
        let tails = radius * (psi / radius).powf(moment / 2.0) / moment;
        let expected = (heads + 8.0 * tails * tails / (delta * n)).sqrt();
        let rows = planned(Some(delta), Some(moment), Some(psi));
        let forecast = row(&rows, "hybrid").forecast.unwrap();
        // A coin has delta rounded down to 1 over a whole number.
        near(forecast.noise_sd, expected, 2e-6);
        near(forecast.rmse, (2.0f64.sqrt() * 0.3).hypot(expected), 2e-6);
    }
}

/// The place and the coin spend one half of delta each.
#[test]
fn the_fallback_spends_no_more_than_delta() {
    let with = |delta: f64, rest: &str| {
        let text = format!("symmetric_known_n(delta={delta:?}, scale=1, n=30{rest})");
        build(&text, None).unwrap()
    };
    for delta in [0.5, 0.02, 1e-6] {
        let raw = with(delta, ", fallback=raw");
        // How often there is no place follows from its delta.
        let mut differ = 0;
        for rows in [10.0, 30.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0] {
            let planned = Planned { rows, moment: None };
            let [half, all] = [delta / 2.0, delta].map(|delta| with(delta, "").forecast(&planned));
            assert_eq!(raw.forecast(&planned), half);
            differ += usize::from(half.null > all.null);
        }
        assert!(differ > 0, "{delta}");
        let one_in = device(raw).coin().one_in() as f64;
        assert!(one_in * delta > 2.0 - 1e-9 && (one_in - 1.0) * delta < 2.0 + 1e-9);
    }
}

/// Few rows, so that there often is no place, and rows come out as they are.
#[test]
fn the_fallback_is_unbiased() {
    let text =
        "symmetric_known_n(delta=0.2, scale=1, n=30, bin=1, clip=2, share=0.3, fallback=raw)";
    let mechanism = cells(text);
    let coin = mechanism.coin();
    assert_eq!(coin.one_in(), 10);
    let (mut words, mut generator) = (Seeded::new(16), generator(16));
    let (mut errors, mut fallbacks) = (Vec::new(), 0);
    for _ in 0..100_000 {
        let line = mechanism.line(words.word());
        let mut counts = CoinedCounts::new(line);
        for _ in 0..30 {
            let place = line.cell_of(Rows::Normal.draw(&mut words));
            counts.cells.add(place);
            if coin.toss(&mut words) {
                counts.chosen.add(place);
            }
        }
        // Without what was chosen the answer is 0 where there is no place.
        let bare = CoinedCounts {
            chosen: Chosen::default(),
            ..counts.clone()
        };
        let answer = mechanism.release(&counts, &mut generator);
        let probe = mechanism.release(&bare, &mut generator);
        fallbacks += usize::from(probe.mean == Some(0.0));
        errors.push(answer.mean.unwrap() - MEAN_OF_ROWS);
    }
    println!("without a place: {fallbacks}");
    assert!(fallbacks > 20_000 && fallbacks < 80_000);
    let moments = Moments::of(errors.iter().copied());
    let error = (moments.mean_square() / errors.len() as f64).sqrt();
    assert!(
        moments.mean().abs() < 4.0 * error,
        "{} +- {error}",
        moments.mean()
    );
}

/// Fixed rows, skewed.
const SKEWED: [f64; 8] = [0.0, 0.1, 0.1, 0.2, 0.4, 0.9, 3.0, 12.0];

fn coined(text: &str) -> SampledMean {
    match device(build(text, Some((0.0, 1.0))).unwrap()) {
        Pathological::Sums(mechanism) => mechanism,
        Pathological::Cells(_) => panic!("{text} sees cells"),
    }
}

/// Its answers for these rows.
fn answers(text: &str, seed: u64) -> impl FnMut() -> f64 + use<> {
    let (mechanism, mut words) = (coined(text), Seeded::new(seed));
    move || {
        let mut sums = Sums::default();
        for x in SKEWED {
            sums.n += 1;
            sums.s += mechanism.steps(x, &mut words);
        }
        mechanism.release_from(&sums, &mut words).mean.unwrap()
    }
}

#[test]
fn means_that_show_rows_are_right_on_average_for_any_rows() {
    let n = SKEWED.len() as f64;
    let mean = SKEWED.iter().sum::<f64>() / n;
    let squares = SKEWED.iter().map(|x| x * x).sum::<f64>() / n;
    // The variance over the coins of a fixed table: (1 - delta) / (delta n) times the mean square.
    let mut run = answers("name_and_shame(delta=0.1, n=8)", 18);
    let moments = Moments::of((0..200_000).map(|_| run() - mean));
    moments.assert_mean_square("name_and_shame", 0.9 / (0.1 * n) * squares, 1e-6);
    let error = (moments.mean_square() / 200_000.0).sqrt();
    assert!(
        moments.mean().abs() < 4.0 * error,
        "{} +- {error}",
        moments.mean()
    );

    // The clip radius is (8 * 2 / (32 * 0.1 * sigma^2))^(1/4) / 4 = 0.318, so that the tails matter.
    let text = "hybrid(delta=0.1, n=8, moment=4, psi=0.25)";
    let mut run = answers(text, 18);
    let moments = Moments::of((0..200_000).map(|_| run() - mean));
    let least = staircase::least_variance(1.0);
    let radius = 0.25 * (5.0 / least).powf(0.25);
    let tails = SKEWED.map(|x| x - x.clamp(-radius, 1.0 + radius));
    let tail = tails.iter().map(|x| x * x).sum::<f64>() / n;
    let variance = 0.9 / (0.1 * n) * tail + least * ((1.0 + 2.0 * radius) / n).powi(2);
    moments.assert_mean_square(text, variance, 1e-6);
    let error = (moments.mean_square() / 200_000.0).sqrt();
    assert!(
        moments.mean().abs() < 4.0 * error,
        "{} +- {error}",
        moments.mean()
    );
}

#[test]
fn coins_are_fair_and_never_above_delta() {
    let mut words = Seeded::new(19);
    // The float 1e-6 is a little below a millionth, 0.1 a little above a tenth, and 1/3 below a third.
    for (delta, one_in) in [
        (0.5, 2),
        (0.3, 4),
        (0.1, 10),
        (1e-6, 1_000_001),
        (1.0 / 3.0, 4),
    ] {
        let coin = coined(&format!("name_and_shame(delta={delta}, n=8)")).coin();
        assert_eq!(coin.one_in(), one_in);
        // Delta is a fraction over a power of two: so in integers, without a rounding.
        let exact = Delta::new(Some(delta)).unwrap();
        assert!(exact.numerator() * u128::from(one_in) >= 1 << exact.places());
        let tosses = 100_000;
        let shown = (0..tosses).filter(|_| coin.toss(&mut words)).count() as u64;
        assert_law("coin", tosses, [(shown, 1.0 / one_in as f64)]);
    }
}

// The ends.

#[test]
fn the_fallback_answers_whatever_the_rows_are() {
    let mut generator = generator(20);
    for scale in ["1e-290", "1", "1e290"] {
        let text = format!(
            "symmetric_known_n(delta=1e-9, scale={scale}, bin={scale}, clip={scale}, n=7, fallback=raw)"
        );
        let mechanism = cells(&text);
        for count in [0, 1, 2, 1000] {
            for x in [
                0.0,
                -1.0,
                1e308,
                -5e-324,
                1e16,
                f64::MAX,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ] {
                let mut counts = CoinedCounts::new(mechanism.line(u64::MAX));
                for _ in 0..count {
                    let place = counts.cells.line.cell_of(x);
                    counts.cells.add(place);
                    counts.chosen.add(place);
                }
                let answer = mechanism.release(&counts, &mut generator);
                assert!(
                    answer.mean.is_some_and(f64::is_finite),
                    "{text} {x} {count}"
                );
                assert_eq!(answer.count, Some(7.0));
            }
        }
    }
}
