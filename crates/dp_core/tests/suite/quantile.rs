//! Quantiles: the law of a choice, written down again, is the one that the code follows, and no neighbour changes it by more
//! than epsilon; where a row is counted; what an answer is; how far answers are.

use std::collections::BTreeMap;

use dp_core::encoding::grid::Bounds;
use dp_core::encoding::ranks::{Bins, MOST, OCTAVES};
use dp_core::encoding::sums::Totals;
use dp_core::error::ParameterError;
use dp_core::mechanism::quantile::exponential::{Budget, Em, RankMechanism};
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::Bits;
use dp_core::registry::{MEDIAN, QUANTILE, QUANTILES};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::ranks::Ranks;
use dp_core::sampler::weighted::{Run, Weighted};

use crate::stats::assert_law;
use crate::tapes::explore;
use crate::words::{Narrow, Seeded};

/// Places in a bin.
pub const PLACES: usize = 16;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).unwrap()
}

pub fn totals(counts: &[i128]) -> Totals {
    Totals {
        n: counts.iter().sum::<i128>() as i64,
        s: counts.to_vec(),
    }
}

/// All histograms of that many bins with that many rows in each at most.
pub fn histograms(bins: u32, most: i128) -> Vec<Vec<i128>> {
    let choices = most as usize + 1;
    let digit = |number: usize, bin: u32| (number / choices.pow(bin) % choices) as i128;
    let all = 0..choices.pow(bins);
    all.map(|number| (0..bins).map(|bin| digit(number, bin)).collect())
        .collect()
}

/// The rows below each place and below its end, bin by bin.
pub fn places(counts: &[i128]) -> Vec<[i128; 2]> {
    let (mut below, mut places) = (0, Vec::new());
    for c in counts {
        let ends = (0..PLACES as i128).map(|f| [f, f + 1].map(|f| below + c * f / PLACES as i128));
        places.extend(ends);
        below += c;
    }
    places
}

/// The probability of each place of the exponential mechanism at epsilon `e` for the quantile `a / d`.
pub fn law(counts: &[i128], (a, d): (i128, i128), e: f64) -> Vec<f64> {
    let n: i128 = counts.iter().sum();
    let weight = |[least, most]: [i128; 2]| {
        let score = 0.max(d * least - a * n).max(a * n - d * most);
        (-e * score as f64 / (2 * a.max(d - a)) as f64).exp()
    };
    let weights: Vec<f64> = places(counts).into_iter().map(weight).collect();
    let all: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / all).collect()
}

/// The rows on the two sides of a place.
pub fn cut(counts: &[i128], place: usize) -> [Vec<i128>; 2] {
    let (bin, f) = (place / PLACES, place % PLACES);
    let below = counts[bin] * (2 * f as i128 + 1) / (2 * PLACES as i128);
    let [mut left, mut right] = [counts[..=bin].to_vec(), counts[bin..].to_vec()];
    left[bin] = below;
    right[0] -= below;
    [left, right]
}

/// A source that writes down what is noted.
pub struct Noting<B> {
    words: B,
    pub notes: Vec<(Vec<i128>, i128)>,
    pub drawn: u64,
}

impl<B: Bits> Noting<B> {
    pub fn new(words: B) -> Self {
        Self {
            words,
            notes: Vec::new(),
            drawn: 0,
        }
    }
}

impl<B: Bits> Bits for Noting<B> {
    const WIDTH: u32 = B::WIDTH;

    fn word(&mut self) -> u64 {
        self.drawn += 1;
        self.words.word()
    }

    #[cfg(feature = "testing")]
    fn note(&mut self, exact: &[i128], noisy: i128) -> i128 {
        self.notes.push((exact.to_vec(), noisy));
        noisy
    }
}

const QUANTILES_TRIED: [(i128, i128); 6] =
    [(1, 2), (1, 4), (1, 3), (9, 10), (99, 100), (1, 100_000)];

/// The largest logarithm of a ratio of two laws, and by how much the logarithms range.
fn losses(one: &[f64], other: &[f64]) -> [f64; 2] {
    let losses = one.iter().zip(other).map(|(p, q)| (p / q).ln());
    let (least, most) = losses.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), loss| {
        (f64::min(least, loss), f64::max(most, loss))
    });
    [most.max(-least), most - least]
}

/// With noise half as large, or a sensitivity one too small, a loss would be above epsilon.
#[test]
fn no_row_changes_a_choice_by_more_than_epsilon() {
    for (a, d) in QUANTILES_TRIED {
        for e in [0.5, 3.0] {
            let mut worst = [0.0; 2];
            for bins in 1..=3 {
                for counts in histograms(bins, 5) {
                    let one = law(&counts, (a, d), e);
                    for bin in 0..counts.len() {
                        let mut more = counts.clone();
                        more[bin] += 1;
                        let found = losses(&one, &law(&more, (a, d), e));
                        worst = [0, 1].map(|i| f64::max(worst[i], found[i]));
                    }
                }
            }
            let [loss, range] = worst.map(|worst| worst / e);
            assert!(
                loss <= 1.0 + 1e-9 && range <= 1.0 + 1e-9,
                "{a}/{d} {e}: {loss} {range}"
            );
            // And little is left of it, where the bins are few.
            assert!(range > 0.5, "{a}/{d} {e}: {range}");
        }
    }
}

/// Three quartiles: all that is reported of them together.
#[test]
fn no_row_changes_three_answers_by_more_than_epsilon() {
    // The one in the middle, then the middle of each side; every row takes part in two choices.
    let e = 2.0;
    let joint = |counts: &[i128]| {
        let middle = law(counts, (1, 2), e / 2.0);
        let sides = (0..middle.len())
            .map(|place| cut(counts, place).map(|side| law(&side, (1, 2), e / 2.0)));
        middle.into_iter().zip(sides).collect::<Vec<_>>()
    };
    let mut worst = 0.0f64;
    for bins in 1..=3 {
        for counts in histograms(bins, 4) {
            let one = joint(&counts);
            for bin in 0..counts.len() {
                let mut more = counts.clone();
                more[bin] += 1;
                for ((p, sides), (q, others)) in one.iter().zip(joint(&more)) {
                    let [below, above] = [0, 1].map(|side| {
                        let ratios = sides[side]
                            .iter()
                            .zip(&others[side])
                            .map(|(p, q)| (p / q).ln());
                        ratios.fold([0.0f64, 0.0f64], |[least, most], loss| {
                            [least.min(loss), most.max(loss)]
                        })
                    });
                    let first = (p / q).ln();
                    worst = worst.max(first + below[1] + above[1]);
                    worst = worst.max(-(first + below[0] + above[0]));
                }
            }
        }
    }
    assert!(worst <= e + 1e-9 && worst > 0.6 * e, "{worst}");
}

/// Runs of scores that meet at many borders, on all tapes of words.
#[test]
fn the_sampler_follows_the_law_exactly() {
    for (unit, runs) in [
        (0.7, vec![(1, 0)]),
        (0.7, vec![(3, 0)]),
        (0.7, vec![(1, 0), (1, 1)]),
        (1.0, vec![(2, 3), (3, 0), (1, 1), (1, 1), (5, 40)]),
        (0.001, vec![(1, 700), (1, 0), (2, 5000)]),
        (25.0, vec![(1, 1), (7, 0), (1, 1)]),
    ] {
        let runs: Vec<Run> = runs
            .iter()
            .map(|(width, score)| Run {
                width: *width,
                score: *score,
            })
            .collect();
        let sampler = Weighted::new(epsilon(unit));
        let weight = |run: &Run| (-epsilon(unit).value() * run.score as f64).exp();
        let all: f64 = runs.iter().map(|run| run.width as f64 * weight(run)).sum();
        let places = runs
            .iter()
            .flat_map(|run| (0..run.width).map(|_| weight(run) / all));
        let places: Vec<f64> = places.collect();
        let what = format!("{unit} {runs:?}");
        let choose = |_: u128| runs.iter().copied();
        explore::<1, _>(26, |tape| sampler.choose(choose, tape))
            .assert_law(&what, 1e-6, |place| places[*place as usize]);
        explore::<3, _>(27, |tape| sampler.choose(choose, tape))
            .assert_law(&what, 1e-6, |place| places[*place as usize]);
        // And words of 64 bits, which decide at once.
        let mut words = Noting::new(Seeded::new(1));
        let mut seen = vec![0; places.len()];
        const DRAWS: u64 = 100_000;
        for _ in 0..DRAWS {
            seen[sampler.choose(choose, &mut words) as usize] += 1;
        }
        assert_law(&what, DRAWS, seen.into_iter().zip(places.iter().copied()));
        assert_eq!(words.drawn, DRAWS);
    }
}

/// Large scores and units near the smallest: words of 64 bits and of 8 give the same law, which is that of floats.
#[test]
fn small_units_and_large_scores_are_drawn_as_well() {
    for (unit, scale) in [
        (epsilon(Epsilon::MIN).half(), 1e6),
        (epsilon(1e-5), 1e5),
        (epsilon(0.37), 3.0),
    ] {
        let scores: Vec<u128> = (0..40u32)
            .map(|i| (f64::from(i * i) * scale / 100.0) as u128)
            .collect();
        let runs: Vec<Run> = scores
            .iter()
            .map(|score| Run {
                width: 1,
                score: *score,
            })
            .collect();
        let sampler = Weighted::new(unit);
        let weights: Vec<f64> = scores
            .iter()
            .map(|score| (-unit.value() * *score as f64).exp())
            .collect();
        let all: f64 = weights.iter().sum();
        let choose = |_: u128| runs.iter().copied();
        let mut wide = Seeded::new(5);
        let mut narrow = Narrow::<8>(Seeded::new(6));
        let mut seen = [vec![0; 40], vec![0; 40]];
        for _ in 0..20_000 {
            seen[0][sampler.choose(choose, &mut wide) as usize] += 1;
        }
        for _ in 0..2_000 {
            seen[1][sampler.choose(choose, &mut narrow) as usize] += 1;
        }
        for (seen, draws) in seen.into_iter().zip([20_000, 2_000]) {
            let cells = seen
                .into_iter()
                .zip(weights.iter().map(|weight| weight / all));
            assert_law(&format!("{unit:?}"), draws, cells);
        }
    }
}

/// The code on every histogram of a few rows, on tapes of words.
#[test]
fn a_choice_follows_the_law_that_the_proof_is_about() {
    let cases = [
        vec![0, 0],
        vec![1, 0],
        vec![0, 3],
        vec![5, 2],
        vec![1, 40],
        vec![17, 1, 16],
    ];
    for counts in cases {
        for (a, d) in [(1, 100), (1, 10), (1, 2), (9, 10)] {
            let bins = Bins::linear(&bounds(0.0, 1.0), counts.len());
            let quantile = a as f64 / d as f64;
            let em = Em::new(bins, &[quantile], Budget::Sum(epsilon(1.5))).unwrap();
            let (expected, totals) = (law(&counts, (a, d), 1.5), totals(&counts));
            let places = expected.len() as f64;
            let place = |answer: &[f64]| (answer[0] * places).floor() as usize;
            explore::<2, _>(20, |tape| place(&em.release_from(&totals, tape))).assert_law(
                &format!("{counts:?} {a}/{d}"),
                1e-3,
                |place| expected[*place],
            );
        }
    }
}

/// Three quartiles of the code, against the law of the three places together.
#[cfg(feature = "testing")]
#[test]
fn several_choices_follow_the_law_that_the_proof_is_about() {
    let quartiles = [0.25, 0.5, 0.75];
    for counts in [vec![3, 1, 2], vec![0, 0], vec![40, 3]] {
        let bins = Bins::linear(&bounds(0.0, 1.0), counts.len());
        let em = Em::new(bins, &quartiles, Budget::Sum(epsilon(4.0))).unwrap();
        let totals = totals(&counts);
        const DRAWS: u64 = 50_000;
        let mut words = Noting::new(Seeded::new(11));
        let mut seen: BTreeMap<[usize; 3], u64> = BTreeMap::new();
        for _ in 0..DRAWS {
            words.notes.clear();
            let answers = em.release_from(&totals, &mut words);
            assert!(answers.is_sorted() && answers.len() == 3);
            let places: Vec<usize> = words
                .notes
                .iter()
                .map(|(_, place)| *place as usize)
                .collect();
            assert_eq!(words.notes[0].0, counts);
            let sides = cut(&counts, places[0]);
            assert_eq!(
                (&words.notes[1].0, &words.notes[2].0),
                (&sides[0], &sides[1])
            );
            *seen.entry([places[0], places[1], places[2]]).or_default() += 1;
        }
        let mut cells = Vec::new();
        for (middle, p) in law(&counts, (1, 2), 2.0).into_iter().enumerate() {
            let [below, above] = cut(&counts, middle).map(|side| law(&side, (1, 2), 2.0));
            for (i, b) in below.iter().enumerate() {
                for (j, a) in above.iter().enumerate() {
                    let observed = seen.get(&[middle, i, j]).copied().unwrap_or(0);
                    cells.push((observed, p * a * b));
                }
            }
        }
        assert_law(&format!("{counts:?}"), DRAWS, cells);
    }
}

/// Numbers that are one fraction, and numbers beside 0 and 1, are still quantiles in order.
#[test]
fn quantiles_that_are_nearly_the_same_are_answered() {
    for qs in [
        vec![0.3, 0.3f64.next_up(), 0.3f64.next_up().next_up()],
        vec![1e-5, 1e-5f64.next_up(), 0.5, 0.999_989_999, 0.99999],
        (0..1000).map(|i| 0.5 + f64::from(i) * 1e-12).collect(),
    ] {
        let bins = Bins::linear(&bounds(0.0, 1.0), 100);
        let em = Em::new(bins, &qs, Budget::Sum(epsilon(1.0))).unwrap();
        let answers = em.release_from(&totals(&[7; 100]), &mut Seeded::new(3));
        assert!(answers.len() == qs.len() && answers.is_sorted());
    }
}

/// One word each, whatever the rows are.
#[test]
fn a_choice_draws_one_word() {
    let qs: Vec<f64> = (1..10).map(|i| f64::from(i) / 10.0).collect();
    for (quantiles, words) in [(&qs[..1], 1), (&qs[..], 9)] {
        let bins = Bins::linear(&bounds(0.0, 1.0), 1000);
        let em = Em::new(bins, quantiles, Budget::Sum(epsilon(0.1))).unwrap();
        for rows in [0, 1, 7, 100_000] {
            let counts: Vec<i128> = (0..1000)
                .map(|i| if i % 7 == 3 { rows } else { 0 })
                .collect();
            let mut bits = Noting::new(Seeded::new(rows as u64));
            em.release_from(&totals(&counts), &mut bits);
            assert_eq!(bits.drawn, words, "{rows}");
        }
    }
}

/// Every cut of a line has its bins in order, each row in one, and the value of a bin within it.
#[test]
fn a_row_is_in_the_bin_that_its_value_says() {
    let ends = [
        (0.0, 1.0),
        (-3.0, 7.0),
        (-7.0, -0.5),
        (1e-3, 1e6),
        (0.0, 1e6),
        (-0.0, 5e-324),
        (-1e-310, 1e-310),
        (-8e307, 8e307),
        (1e300, 1.7e308),
        (1e6, 1e6 + 1e-9),
    ];
    for (lo, hi) in ends {
        let range = bounds(lo, hi);
        let mut cuts = vec![
            Bins::linear(&range, 1),
            Bins::linear(&range, 1000),
            Bins::linear(&range, MOST),
        ];
        cuts.extend([64, 1000, MOST].map(|most| Bins::log(&range, most)));
        cuts.extend(
            [1.0, 0.1, (hi - lo) / 777.0, hi / 3.0]
                .iter()
                .filter_map(|step| Bins::steps(&range, *step).ok()),
        );
        assert!(cuts.len() >= 6);
        for bins in cuts {
            let last = bins.count() - 1;
            assert!(bins.count() <= MOST + 1);
            for x in [f64::NEG_INFINITY, f64::MIN, lo] {
                assert_eq!(bins.bin(x), 0, "{bins:?} {x}");
            }
            for x in [f64::INFINITY, f64::MAX, hi] {
                assert_eq!(bins.bin(x), last, "{bins:?} {x}");
            }
            let mut words = Seeded::new(3);
            let mut values: Vec<f64> = (0..2000)
                .map(|i| {
                    let part = (words.word() >> 11) as f64 / (1u64 << 53) as f64;
                    let part = if i % 2 == 0 { part } else { part.powi(20) };
                    if i % 3 == 0 {
                        hi - (hi - lo) * part
                    } else {
                        lo + (hi - lo) * part
                    }
                })
                .collect();
            values.extend([0.0, -0.0, 5e-324, -5e-324, lo.next_up(), hi.next_down()]);
            values.sort_by(f64::total_cmp);
            let found: Vec<usize> = values.iter().map(|x| bins.bin(*x)).collect();
            assert!(
                found.is_sorted() && found.iter().all(|bin| *bin <= last),
                "{bins:?}"
            );
            // What a bin represents.
            let mut before = f64::NEG_INFINITY;
            for bin in (0..=last).step_by(1 + last / 300) {
                for part in [0.0, 0.03, 0.5, 0.97, 1.0] {
                    let value = bins.value(bin, part);
                    assert!(
                        value >= before && (lo..=hi).contains(&value),
                        "{bins:?} {bin} {part}"
                    );
                    before = value;
                }
                // Where floats can tell the bins apart.
                let middle = bins.value(bin, 0.5);
                let width = bins.value(bin, 1.0) - bins.value(bin, 0.0);
                if width > 1e-6 * middle.abs() && width > 1e-300 || width == 0.0 && hi - lo > 1e-3 {
                    assert_eq!(bins.bin(middle), bin, "{bins:?} {bin} {middle}");
                }
            }
        }
    }
}

#[test]
fn bins_of_a_log_grid_have_equal_relative_width() {
    let bins = Bins::log(&bounds(0.0, 1e6), 1 << 14);
    assert!(bins.count() <= (1 << 14) + 1);
    for x in [0.01, 1.0, 3.0, 1000.0, 999_999.0] {
        let bin = bins.bin(x);
        let [from, to] = [0.0, 1.0].map(|part| bins.value(bin, part));
        assert!(
            from <= x && x <= to && to / from <= 1.0 + 1.0 / 512.0,
            "{x} {from} {to}"
        );
    }
    // Down to 2^-32 of the bound, in round numbers.
    let least = bins.value(1, 0.0);
    assert!(least <= 1e6 / 2f64.powi(OCTAVES as i32 - 1) && least > 0.0);
    let both = Bins::log(&bounds(-1e6, 1e6), 1 << 14);
    assert!(both.count() <= (1 << 14) + 1);
    assert_eq!(both.bin(0.0), both.count() / 2);
    assert_eq!(both.bin(-5.0) + both.bin(5.0), both.count() - 1);
}

#[test]
fn steps_are_bins_and_answers() {
    let bins = Bins::steps(&bounds(-0.5, 10.4), 1.0).unwrap();
    assert_eq!(bins.count(), 11);
    for (x, bin) in [(-7.0, 0), (0.49, 0), (0.51, 1), (9.6, 10), (99.0, 10)] {
        assert_eq!(bins.bin(x), bin, "{x}");
    }
    for bin in 0..11 {
        assert_eq!(bins.value(bin, 0.9), bin as f64);
    }
    for (lo, hi, step) in [
        (0.0, 10.0, 0.0),
        (0.0, 10.0, -1.0),
        (0.0, 10.0, f64::INFINITY),
        (0.0, 65_536.0, 1.0),
        (0.1, 0.9, 1.0),
        (1e20, 1e20 + 1e5, 1e4),
    ] {
        let error = Bins::steps(&bounds(lo, hi), step).unwrap_err();
        assert_eq!(error.argument, "mech", "{lo} {hi} {step}");
    }
    assert_eq!(
        Bins::steps(&bounds(0.0, 65_535.0), 1.0).unwrap().count(),
        MOST
    );
}

fn arguments<'a>(ranks: Option<Ranks<'a>>, epsilon: Option<f64>, text: &'a str) -> Arguments<'a> {
    Arguments {
        bounds: Some((Some(0.0), Some(100.0))),
        ranks,
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    }
}

#[test]
fn quantiles_and_parameters_are_checked() {
    let one = |q| {
        QUANTILE
            .build(&arguments(Some(Ranks::One(q)), Some(1.0), "em"))
            .err()
    };
    for q in [
        None,
        Some(0.0),
        Some(1.0),
        Some(-0.1),
        Some(1.1),
        Some(f64::NAN),
        Some(9e-6),
        Some(f64::INFINITY),
    ] {
        let ParameterError { argument, hint, .. } = one(q).unwrap();
        assert_eq!(argument, "q", "{q:?}");
        assert!(hint.contains("10 / (eps n)"));
    }
    for q in [1e-5, 0.5, 0.99999] {
        assert_eq!(one(Some(q)), None, "{q}");
    }
    let many = |qs: &[Option<f64>]| {
        let ranks = Some(Ranks::Many(qs));
        QUANTILES
            .build(&arguments(ranks, Some(1.0), "em"))
            .err()
            .map(|error| error.argument)
    };
    let long = |length: i32| {
        (1..=length)
            .map(|i| Some(f64::from(i) / 1100.0))
            .collect::<Vec<_>>()
    };
    for bad in [
        vec![],
        vec![None],
        vec![Some(0.5), None],
        vec![Some(0.5), Some(0.5)],
        vec![Some(0.5), Some(0.4)],
        vec![Some(0.0), Some(0.4)],
        vec![Some(0.4), Some(f64::NAN)],
        long(1001),
    ] {
        assert_eq!(many(&bad), Some("qs"), "{bad:?}");
    }
    for good in [vec![Some(0.3)], vec![Some(0.1), Some(0.9)], long(1000)] {
        assert_eq!(many(&good), None);
    }
    let mech = |text: &str, eps| {
        MEDIAN
            .build(&arguments(None, eps, text))
            .err()
            .map(|error| error.argument)
    };
    for (text, eps, argument) in [
        ("em", Some(1.0), None),
        ("em(grid=linear, bins=64)", Some(1.0), None),
        ("em(grid=log, bins=65536)", Some(1.0), None),
        ("em(step=0.5)", Some(1.0), None),
        ("em(rho=0.5)", None, None),
        ("em(rho=300)", None, None),
        ("em(rho=0.5, rows=3, groups=2, step=1)", None, None),
        ("em(rho=0.5)", Some(1.0), Some("eps")),
        ("em", None, Some("eps")),
        ("em(rho=301)", None, Some("mech")),
        ("em(rho=1e-13)", None, Some("mech")),
        ("em(rho=1e-12, rows=1000000)", None, Some("mech")),
        ("em(bins=1)", Some(1.0), Some("mech")),
        ("em(bins=2)", Some(1.0), None),
        ("em(bins=63, grid=log)", Some(1.0), Some("mech")),
        ("em(bins=65537)", Some(1.0), Some("mech")),
        ("em(step=0)", Some(1.0), Some("mech")),
        ("em(step=1, bins=100)", Some(1.0), Some("mech")),
        ("em(step=1, grid=log)", Some(1.0), Some("mech")),
        ("geometric", Some(1.0), Some("mech")),
    ] {
        assert_eq!(mech(text, eps), argument, "{text} {eps:?}");
    }
}

#[test]
fn the_cost_in_rho_is_that_of_a_bounded_range() {
    let rho =
        |ranks: Ranks, eps, text: &str| QUANTILES.cost(&arguments(Some(ranks), eps, text)).unwrap();
    let near = |a: f64, b: f64| a >= b && a < b * (1.0 + 1e-9);
    let one = rho(Ranks::One(Some(0.3)), Some(1.0), "em");
    assert!(near(one.rho, 0.125), "{one:?}");
    assert_eq!(
        (one.epsilon, one.delta, one.mu, one.failure),
        (Some(1.0), Some(0.0), None, 0.0)
    );
    let three = [0.25, 0.5, 0.75].map(Some);
    assert!(near(rho(Ranks::Many(&three), Some(1.0), "em").rho, 0.0625));
    assert!(near(
        rho(Ranks::Many(&three), Some(2.0), "em(groups=4, rows=3)").rho,
        0.0625
    ));
    let own = rho(Ranks::Many(&three), None, "em(rho=0.5, rows=3)");
    assert_eq!(
        (own.epsilon, own.delta, own.rho, own.mu),
        (None, None, 0.5, None)
    );
}

/// What a person spends under rho: the law of a choice, its Rényi divergence at some orders.
#[test]
fn no_row_costs_more_than_its_rho() {
    let rho = 0.3;
    let e = (8.0f64 * rho).sqrt();
    let mut worst = 0.0f64;
    for counts in histograms(3, 5) {
        let one = law(&counts, (1, 2), e);
        for bin in 0..3 {
            let mut more = counts.clone();
            more[bin] += 1;
            let other = law(&more, (1, 2), e);
            for (p, q) in [(&one, &other), (&other, &one)] {
                for order in [1.001, 1.5, 2.0, 8.0] {
                    let sum: f64 = p
                        .iter()
                        .zip(q)
                        .map(|(p, q)| p.powf(order) * q.powf(1.0 - order))
                        .sum();
                    worst = worst.max(sum.ln() / (order - 1.0) / order);
                }
            }
        }
    }
    assert!(worst <= rho * (1.0 + 1e-6) && worst > 0.3 * rho, "{worst}");
    // And it is the epsilon that the code takes.
    let mechanism = MEDIAN
        .build(&arguments(None, None, "em(rho=0.3, bins=64)"))
        .unwrap();
    let counts: Vec<i128> = (0..64)
        .map(|bin| if bin == 20 || bin == 40 { 3 } else { 0 })
        .collect();
    let expected = law(&counts, (1, 2), e);
    assert_law_of(&*mechanism, &counts, &expected);
}

/// Of rho, a group of a person has a part, and a row of it a part of the root.
#[test]
fn rows_of_a_person_share_the_root_of_rho() {
    let counts: Vec<i128> = (0..64).map(|bin| i128::from(bin % 9 == 1)).collect();
    let rho = 2.0;
    for (a, d) in [(1, 100), (1, 10), (1, 2), (9, 10)] {
        for (rows, groups) in [(1, 1), (3, 1), (3, 2)] {
            let text = format!("em(rho={rho}, bins=64, rows={rows}, groups={groups})");
            let rank = Ranks::One(Some(a as f64 / d as f64));
            let mechanism = QUANTILE.build(&arguments(Some(rank), None, &text)).unwrap();
            let e = (8.0 * rho / f64::from(groups)).sqrt() / f64::from(rows);
            assert_law_of(&*mechanism, &counts, &law(&counts, (a, d), e));
        }
    }
}

/// Rows of a person share epsilon, and the shares of several quantiles are those that add up.
#[test]
fn rows_of_a_person_and_quantiles_share_epsilon() {
    let counts: Vec<i128> = (0..64).map(|bin| i128::from(bin % 9 == 1)).collect();
    let build = |ranks, text: &str| {
        QUANTILES
            .build(&arguments(Some(ranks), Some(6.0), text))
            .unwrap()
    };
    let mechanism = build(Ranks::One(Some(0.9)), "em(bins=64, rows=3, groups=2)");
    assert_law_of(&*mechanism, &counts, &law(&counts, (9, 10), 1.0));
    let three = [0.25, 0.5, 0.75].map(Some);
    let mechanism = build(Ranks::Many(&three), "em(bins=64)");
    assert_law_of(&*mechanism, &counts, &law(&counts, (1, 2), 3.0));
}

/// The answer in the middle follows this law of its place.
fn assert_law_of(mechanism: &dyn RankMechanism, counts: &[i128], expected: &[f64]) {
    use dp_core::random::Generator;
    const DRAWS: u64 = 50_000;
    let places = expected.len();
    let mut generator = Generator::from_seed(77);
    let mut seen = vec![0; places];
    for _ in 0..DRAWS {
        let answers = mechanism.release(&totals(counts), &mut generator);
        let answer = answers[answers.len() / 2];
        seen[(answer / 100.0 * places as f64).floor() as usize] += 1;
    }
    assert_law(
        "a release",
        DRAWS,
        seen.into_iter().zip(expected.iter().copied()),
    );
}
