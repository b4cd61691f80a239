//! A variance that finds its bounds: rows move what is released by no more than the noise is for, rounding included, on
//! all small tables; shares add up; how good it is; what odd rows do.

use dp_core::encoding::grid::COARSE_STEPS;
use dp_core::encoding::log_bins::Limits;
use dp_core::mechanism::bounds_search::answer::AutoAnswer;
use dp_core::mechanism::variance::bounded_by_search::{Auto, OfVariance};
use dp_core::mechanism::variance::inputs::SomeVariance;
use dp_core::mechanism::variance::laplace::Laplace;
use dp_core::mechanism::variance::moments::{MomentNoise, VarianceAnswer};
use dp_core::registry::VARIANCE;

use crate::auto::{
    Draws, REFUSED, arguments, assert_intervals, assert_ratios, counted, epsilon, limits,
};
use crate::auto_sum::of_both_signs;
use crate::variance::{Point, total, worst};
use crate::words::Seeded;

type Found = AutoAnswer<VarianceAnswer>;

fn auto(limits: Limits, e: f64) -> Auto {
    Auto::new(limits, epsilon(e), 0.0)
}

fn released(limits: Limits, e: f64, rows: impl IntoIterator<Item = f64>, seed: u64) -> Found {
    let rows = counted(&limits, rows);
    auto(limits, e).release_from(&rows, &mut Seeded::new(seed))
}

// Rounded sums --------------------------------------------------------------------------------------------

/// How rows at `i / parts` of the way between the ends add up, each of the three sums rounded down to a whole number of
/// which `unit` are 1.
fn floors(rows: &[i128], parts: i128, unit: i128) -> Point {
    let f = |i: i128| {
        [
            (parts - i) * (2 * parts - 3 * i),
            4 * i * (parts - i),
            i * (3 * i - parts),
        ]
    };
    let sum = |j: usize| rows.iter().map(|i| f(*i)[j]).sum::<i128>();
    std::array::from_fn(|j| (unit * sum(j)).div_euclid(parts * parts))
}

/// All that a row more moves them by, of all tables of up to two rows.
fn moves(parts: i128, unit: i128) -> Vec<Point> {
    let places = || 0..=parts;
    let pairs = places().flat_map(|i| places().map(move |j| vec![i, j]));
    let tables = places().map(|i| vec![i]).chain(pairs).chain([vec![]]);
    let mut moves: Vec<Point> = tables
        .flat_map(|table| {
            let without = floors(&table, parts, unit);
            places().map(move |i| {
                let with = floors(&[&table[..], &[i]].concat(), parts, unit);
                std::array::from_fn(|j| with[j] - without[j])
            })
        })
        .collect();
    moves.sort();
    moves.dedup();
    moves
}

#[test]
fn rounded_sums_are_as_private_as_they_say() {
    let (mut beyond, mut worst_ratio) = (0, 0.0f64);
    for steps in 1..=3i128 {
        let unit = steps * steps;
        // What the code has noise for: at most as much per unit as the noise of sums that are not rounded.
        let noise = Laplace::of_floors(steps as u64, epsilon(1.0));
        let scale = 2 * unit + 2;
        assert_eq!(noise.scale(), scale as f64 / unit as f64);
        for parts in [1, 2, 3, 5, 8] {
            let moves = moves(parts, unit);
            let most = moves.iter().map(|point| total(*point)).max().unwrap();
            assert!(most <= scale, "{steps} {parts}: {most}");
            beyond = beyond.max(most - 2 * unit);
            if steps < 3 {
                let ratio = worst(1.0, scale, &moves);
                assert!(
                    ratio <= 1f64.exp() * (1.0 + 1e-12),
                    "{steps} {parts}: {ratio}"
                );
                worst_ratio = worst_ratio.max(worst(1.0, 2 * unit, &moves));
            }
        }
    }
    // Without room for rounding it is too little.
    assert!(
        beyond > 0 && worst_ratio > 1f64.exp() * 1.01,
        "{beyond} {worst_ratio}"
    );
    // For users that room is next to nothing.
    let noise = Laplace::of_floors(COARSE_STEPS, epsilon(1.0));
    assert!((noise.scale() / 2.0 - 1.0).abs() < 1e-14 && noise.scale() > 2.0);
}

// The chain -----------------------------------------------------------------------------------------------

#[test]
fn shares_add_up_whatever_is_found() {
    let (none, some) = (Limits::NONE, limits(0.0, 1000.0));
    let octave = |rows| auto(none, 1.0).search().of_octave(rows);
    let mut without = [0; 2];
    for rows in [0, 3, 30, 100, 1000, 20_000] {
        for seed in 0..30 {
            for (i, limits) in [none, some].into_iter().enumerate() {
                let rows = (0..rows).map(|i| f64::from(i % 100));
                let found = released(limits, 1.0, rows, seed);
                let spent = 3 + octave(found.nonzero) + found.parts;
                let all = found.bounds == [0.0, [0.0, 1000.0][i]];
                assert!(spent + 16 == 64 || i == 1 && all && spent == 64);
                without[i] += u32::from(all && found.few);
            }
        }
    }
    assert!(without.iter().all(|times| *times > 30), "{without:?}");
}

fn stddev(rows: &[f64]) -> f64 {
    let n = rows.len() as f64;
    let mean = rows.iter().sum::<f64>() / n;
    (rows.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

#[test]
fn bounds_and_deviations_are_near_what_rows_say() {
    let rows: Vec<f64> = (0..10_000).map(|i| f64::from(i) / 100.0).collect();
    let signed: Vec<f64> = rows.iter().map(|x| x - 50.0).collect();
    let far: Vec<f64> = rows.iter().map(|x| x + 1e6).collect();
    // A hundredth of a row's place, and one of rows that are all alike.
    let truth = stddev(&rows);
    for seed in 0..20 {
        for (limits, rows, mean) in [
            (Limits::NONE, &rows, 49.995),
            (Limits::NONE, &signed, -0.005),
            (limits(-1e9, 1e9), &signed, -0.005),
            (limits(1e6, 2e6), &far, 1_000_049.995),
        ] {
            let found = released(limits, 1.0, rows.iter().copied(), seed);
            let (answer, [lo, hi]) = (found.answer, found.bounds);
            assert!(hi - lo >= 70.0 && hi - lo <= 600.0, "{lo} {hi}");
            assert!((answer.stddev / truth - 1.0).abs() < 0.1, "{answer:?}");
            assert!((answer.mean - mean).abs() < 2.0, "{answer:?}");
            assert!((answer.count - 10_000.0).abs() < 150.0, "{answer:?}");
            assert!((answer.stddev.powi(2) / answer.variance - 1.0).abs() < 1e-12);
            assert!((found.nonzero - 10_000).abs() < 1000 && !found.few);
        }
        // Between limits that are nearer.
        let found = released(limits(20.0, 60.0), 1.0, rows.iter().copied(), seed);
        assert!(found.bounds[0] >= 20.0 && found.bounds[1] <= 60.0);
    }
}

/// Values at a limit are not beyond it, where an edge is there, too.
#[test]
fn a_column_of_zeros_and_ones_is_between_its_limits() {
    let mut narrow = 0;
    for seed in 0..50 {
        let rows = (0..5000).map(|i| f64::from(u8::from(i % 5 == 0)));
        let found = released(limits(0.0, 1.0), 1.0, rows, seed);
        narrow += u32::from(found.bounds != [0.0, 1.0]);
        assert!(
            narrow > 0 || (found.answer.stddev - 0.4).abs() < 0.01,
            "{found:?}"
        );
    }
    assert!(narrow < 3, "{narrow}");
}

#[test]
fn of_a_sample_it_is_larger() {
    let rows: Vec<f64> = (1..=50).map(f64::from).collect();
    let counts = counted(&Limits::NONE, rows.iter().copied());
    let mut larger = 0;
    for seed in 0..200 {
        let [plain, sample] = [false, true].map(|is_sample| {
            let question = OfVariance::new(is_sample);
            let auto = Auto::asking(question, Limits::NONE, epsilon(4.0), 0.0);
            auto.release_from(&counts, &mut Seeded::new(seed))
        });
        assert_eq!(
            (plain.bounds, plain.nonzero),
            (sample.bounds, sample.nonzero)
        );
        let count = plain.answer.count;
        let factor = if count > 2.0 {
            count / (count - 1.0)
        } else {
            1.0
        };
        let (one, other) = (plain.answer.variance, sample.answer.variance);
        assert!((one * factor - other).abs() <= 1e-12 * one, "{one} {other}");
        larger += u32::from(other > one);
    }
    assert!(larger > 150, "{larger}");
}

#[test]
fn odd_rows_are_rows() {
    let none = Limits::NONE;
    for seed in 0..20 {
        // Nothing, nothing but zeros, and what counts as zero.
        for rows in [vec![], vec![0.0; 5000], vec![-0.0, 5e-324, -1e-300, 1e-13]] {
            let found = released(none, 1.0, rows, seed);
            assert!(found.few && found.answer.stddev < 1e-9 || seed > 0);
            assert!(found.answer.stddev >= 0.0 && found.answer.mean.is_finite());
        }
        // Rows that are all alike have a deviation far below them.
        for x in [1e-11, 3.0, -77.0, 1e18] {
            let found = released(none, 1.0, vec![x; 20_000], seed);
            assert!(found.answer.stddev < 0.2 * x.abs(), "{x} {found:?}");
            assert!((found.answer.mean / x - 1.0).abs() < 0.2, "{x} {found:?}");
        }
        for x in [f64::INFINITY, f64::MAX, f64::NEG_INFINITY] {
            let found = released(none, 1.0, vec![x; 5000], seed).answer;
            assert!((found.mean.abs() / 1.15e18 - 1.0).abs() < 0.2, "{found:?}");
            assert!(found.variance.is_finite() && found.variance >= 0.0);
        }
        let both = [vec![f64::INFINITY; 3000], vec![f64::NEG_INFINITY; 3000]].concat();
        let found = released(none, 1.0, both.clone(), seed).answer;
        assert!((found.stddev / 1.15e18 - 1.0).abs() < 0.1, "{found:?}");
        let found = released(limits(-11.0, 29.0), 1.0, both.clone(), seed).answer;
        assert!((found.stddev - 20.0).abs() < 1.0, "{found:?}");
        let found = released(limits(-1e308, 5e307), 1.0, both, seed).answer;
        assert!((found.stddev / 1.15e18 - 1.0).abs() < 0.1, "{found:?}");
        let nans = released(limits(-1e308, 5e307), 1.0, vec![f64::NAN; 5000], seed);
        assert!(nans.answer.stddev < 0.3e18, "{nans:?}");
        let tiny = limits(5.0, 5.0 + 1e-9);
        let rows = (0..20_000).map(|i| 5.0 + 1e-9 * f64::from(i % 2));
        let found = released(tiny, 1.0, rows, seed).answer;
        assert!((found.stddev - 5e-10).abs() < 5e-11, "{found:?}");
    }
}

/// Numbers at random of all magnitudes, bit patterns and limits: answers are finite, and where they may be.
#[test]
fn rows_at_random_make_answers() {
    use dp_core::random::Bits;
    let mut words = Seeded::new(31);
    for round in 0..3000u64 {
        let rows: Vec<f64> = (0..words.word() % 60)
            .map(|_| f64::from_bits(words.word()))
            .collect();
        let ends = [words.word(), words.word()].map(f64::from_bits);
        let [lo, hi] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let has_limits = round % 2 == 0 && lo < hi && (hi - lo).is_finite() && hi - lo > 1e-11;
        let limits = if has_limits {
            limits(lo, hi)
        } else {
            Limits::NONE
        };
        let rows = counted(&limits, rows);
        let auto = auto(limits, [0.3, 1.0, 8.0, 50.0][(round / 2 % 4) as usize]);
        let AutoAnswer { answer, bounds, .. } = auto.release_from(&rows, &mut words);
        let [lo, hi] = bounds;
        assert!(
            limits.lo() <= lo && lo <= hi && hi <= limits.hi(),
            "{bounds:?}"
        );
        assert!((lo..=hi).contains(&answer.mean), "{bounds:?} {answer:?}");
        let most = (hi - lo) / 2.0 * (1.0 + 1e-12);
        assert!(
            (0.0..=most).contains(&answer.stddev),
            "{bounds:?} {answer:?}"
        );
        assert!(answer.count.is_finite());
    }
}

// Accuracy ------------------------------------------------------------------------------------------------

/// The squared error of the variance between the two bounds that are the best ones for these rows: of noise, and of
/// clamping, which only ever makes a variance smaller.
fn oracle(sorted: &[f64], e: f64) -> f64 {
    let n = sorted.len();
    let middle = sorted[n / 2];
    // Counted from the middle, for digits.
    let sums = |of: fn(f64) -> f64| -> Vec<f64> {
        let rows = sorted.iter().scan(0.0, |sum, x| {
            *sum += of(x - middle);
            Some(*sum)
        });
        std::iter::once(0.0).chain(rows).collect()
    };
    let (firsts, squares) = (sums(|x| x), sums(|x| x * x));
    let mut ranks: Vec<usize> = (0..45)
        .map(|i| 1.3f64.powi(i).round() as usize - 1)
        .collect();
    ranks.dedup();
    ranks.retain(|rank| *rank < n / 2);
    let rows = n as f64;
    let variance_of = |first: f64, square: f64| square / rows - (first / rows).powi(2);
    let whole = variance_of(firsts[n], squares[n]);
    let mut best = f64::INFINITY;
    let zero = (0, sorted[0].min(0.0) - middle);
    let lowers = ranks
        .iter()
        .map(|r| (*r, sorted[*r] - middle))
        .chain([zero]);
    for (below, lower) in lowers {
        for above in &ranks {
            let upper = sorted[n - 1 - above] - middle;
            let width = upper - lower;
            if width <= 0.0 {
                continue;
            }
            let inside = n - above;
            let (b, a) = (below as f64, *above as f64);
            let first = firsts[inside] - firsts[below] + b * lower + a * upper;
            let square = squares[inside] - squares[below] + b * lower * lower + a * upper * upper;
            let variance = variance_of(first, square);
            let (m, v) = ((first / rows - lower) / width, variance / width.powi(2));
            let (c0, c2) = (m * m - v, (1.0 - m).powi(2) - v);
            let c1 = 0.75 * (c0 + c2) - 0.5;
            // As docs/variance.md has it.
            let noise = width.powi(4) * 2.0 * (c0 * c0 + c1 * c1 + c2 * c2) / (e * rows).powi(2);
            best = best.min(noise + (whole - variance).powi(2));
        }
    }
    best
}

/// The figures of docs/proofs/variance-auto.md are from here, by
/// `cargo test -p dp_core --profile testing --features testing -- auto_variance:: --nocapture`.
#[test]
fn errors_are_about_twice_those_of_the_best_bounds() {
    let expected = [
        (1000, 0.5, 2.4, 4.0),
        (1000, 1.0, 2.4, 4.0),
        (10_000, 0.1, 2.4, 4.0),
        (10_000, 1.0, 2.4, 4.0),
    ];
    assert_ratios(&of_both_signs(), 90, expected, |measured, e| {
        let auto = auto(Limits::NONE, e);
        measured.ratio(
            |sorted| oracle(sorted, e),
            |sorted| stddev(sorted).powi(2),
            |counts, words| auto.release_from(counts, words).answer.variance,
        )
    });
}

/// Of the rows clamped to the bounds that were found, whatever these are; with some room, of all rows.
#[cfg(feature = "testing")]
#[test]
fn intervals_hold_the_deviation_of_the_clamped_rows() {
    use dp_core::mechanism::definition::Mechanism;
    let law = |d: &mut Draws| 60.0 * d.exponential() - 20.0;
    assert_intervals::<OfVariance>(law, stddev, true, 0, |release| {
        let ([lower, upper], [least, most]) = (release.plain, release.wider);
        assert!(least == lower && upper <= most);
        assert!((lower..=upper).contains(&release.found.answer.stddev));
        let [lo, hi] = release.found.bounds;
        assert!(lower >= 0.0 && (upper <= hi - lo || hi == lo));
    });
    // Of nothing that was found, nothing is known.
    let nobody = released(Limits::NONE, 0.1, [], 3);
    assert_eq!(nobody.bounds, [0.0, 0.0]);
    let ends = auto(Limits::NONE, 0.1).intervals(0.05).unwrap();
    assert_eq!(ends(&nobody), [0.0, f64::INFINITY]);
}

// A call --------------------------------------------------------------------------------------------------

fn called(bounds: [Option<f64>; 2], text: &str) -> Result<Limits, &'static str> {
    match VARIANCE.build(&arguments(bounds, text)) {
        Ok(variance) => match *variance {
            SomeVariance::Auto(auto) => Ok(*auto.limits()),
            SomeVariance::Moments(_) => Err("another mechanism"),
        },
        Err(error) => Err(error.argument),
    }
}

#[test]
fn limits_are_two_or_none() {
    assert_eq!(called([None, None], "auto"), Ok(Limits::NONE));
    let text = "auto(sample=yes, beyond=3)";
    assert_eq!(called([Some(1.0), Some(2.0)], text), Ok(limits(1.0, 2.0)));
    let of_variance = [
        ([Some(0.0), Some(1e-12)], "auto", "hi"),
        ([Some(0.0), Some(1.0)], "auto(sample=maybe)", "mech"),
        ([None, None], "laplace", "lo"),
    ];
    for (bounds, text, argument) in REFUSED.into_iter().chain(of_variance) {
        assert_eq!(called(bounds, text), Err(argument), "{bounds:?} {text}");
    }
}
