//! Numbers of distinct ids: privacy by enumeration, the error, the intervals, and the far ends.

use dp_core::encoding::bitmap::{Occupied, of_bytes, of_word, place};
use dp_core::mechanism::definition::Mechanism;
use dp_core::mechanism::distinct::bitmap::{Bitmap, DistinctAnswer, POWERS};
use dp_core::privacy::epsilon::Epsilon;
#[cfg(feature = "testing")]
use dp_core::random::Generator;
use dp_core::registry::DISTINCT;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::sampler::staircase::Staircase;

use crate::stats::{self, assert_law};
use crate::words::Seeded;

fn epsilon(value: f64) -> Epsilon {
    Epsilon::new(Some(value)).unwrap()
}

fn arguments(epsilon: Option<f64>, mechanism: &str) -> Arguments<'_> {
    Arguments {
        epsilon,
        mechanism: MechanismArgument::Given(Some(mechanism)),
        ..Arguments::default()
    }
}

/// How many bits are set by ids with these places.
fn occupied(places: impl IntoIterator<Item = u32>, power: u32) -> Occupied {
    let mut set = vec![false; 1 << power];
    places
        .into_iter()
        .for_each(|place| set[place as usize] = true);
    Occupied {
        bits: set.iter().filter(|bit| **bit).count() as u64,
    }
}

/// For every map of six ids to four places, all tables of them, and all ways to add one: the bits that are set are 0 or
/// 1 more, in whatever order and how often the rows come.
#[test]
fn an_id_more_sets_a_bit_more_at_most() {
    const IDS: usize = 6;
    for hash in 0..4u32.pow(IDS as u32) {
        let place = |id: usize| hash / 4u32.pow(id as u32) % 4;
        let of = |table: usize| {
            let ids = (0..IDS).filter(|id| table >> id & 1 == 1);
            // Each id has two rows.
            occupied(ids.flat_map(|id| [place(id); 2]), 2).bits
        };
        for table in 0..1 << IDS {
            for id in 0..IDS {
                let more = of(table | 1 << id) - of(table & !(1 << id));
                assert!(more <= 1, "{hash} {table} {id}");
            }
        }
    }
}

/// And noise on that number: the ratio of probabilities at every point of a window is at most `e^eps`, and that for a
/// move of 1.
#[test]
fn the_noise_is_private_and_tight_for_a_bit() {
    for value in [0.1, 1.0, 2.5] {
        let b = f64::exp(-value);
        let law = |x: i64| (1.0 - b) / (1.0 + b) * b.powi(x.unsigned_abs() as i32);
        let worst = (-50..=50)
            .map(|x| (law(x) / law(x + 1)).max(law(x + 1) / law(x)))
            .fold(0.0, f64::max);
        assert!((worst / value.exp() - 1.0).abs() < 1e-12);
        let bitmap = Bitmap::new(POWERS[0], epsilon(value));
        let mut words = Seeded::new(4);
        let draws = 200_000;
        let mut counts = [0u64; 9];
        for _ in 0..draws {
            let noise = bitmap.noisy(&Occupied { bits: 100 }, &mut words) - 100;
            if (-4..=4).contains(&noise) {
                counts[(noise + 4) as usize] += 1;
            }
        }
        let law = (-4..=4).map(law);
        assert_law(&format!("eps {value}"), draws, counts.into_iter().zip(law));
    }
}

#[test]
fn noise_does_not_depend_on_the_data() {
    for value in [0.01, 1.0, 8.0] {
        let bitmap = Bitmap::new(20, epsilon(value));
        let noise = Staircase::two_sided_geometric(epsilon(value));
        for seed in 0..50 {
            let drawn = noise.draw(&mut Seeded::new(seed)).value;
            for bits in [0, 1, 1000, 1 << 20] {
                let noisy = bitmap.noisy(&Occupied { bits }, &mut Seeded::new(seed));
                assert_eq!(noisy - i128::from(bits), drawn);
            }
        }
    }
}

#[cfg(feature = "testing")]
#[test]
fn a_budget_is_spent_as_it_was_given() {
    // Of many seeds, as most noise is small.
    let release = |epsilon: f64, text: &str, factor: f64| -> Vec<DistinctAnswer> {
        let arguments = arguments(Some(epsilon), text);
        let mechanism = DISTINCT
            .build_with_budget_times(factor, &arguments)
            .unwrap();
        let of_seed = |seed| {
            let mut generator = Generator::from_seed(seed);
            mechanism.release(&Occupied { bits: 500 }, &mut generator)
        };
        (0..100).map(of_seed).collect()
    };
    let plain = release(0.25, "bitmap", 1.0);
    assert_eq!(release(1.0, "bitmap(values=4)", 1.0), plain);
    assert_eq!(release(1.0, "bitmap(groups=2, values=2)", 1.0), plain);
    assert_eq!(release(1.0, "bitmap(rows=4, bits=1048576)", 1.0), plain);
    assert_eq!(release(0.125, "bitmap", 2.0), plain);
    assert_ne!(release(1.0, "bitmap(values=3)", 1.0), plain);
}

#[test]
fn parameters_have_their_domains() {
    let blamed = |eps: f64, text: &str| {
        let built = DISTINCT.build(&arguments(Some(eps), text));
        built.err().map(|error| error.argument)
    };
    for text in [
        "bitmap(bits=1024)",
        "bitmap(bits=134217728)",
        "bitmap(values=1000000)",
    ] {
        assert_eq!(blamed(50.0, text), None, "{text}");
    }
    for text in [
        "bitmap(bits=1023)",
        "bitmap(bits=512)",
        "bitmap(bits=268435456)",
        "bitmap(bits=1000000)",
        "bitmap(values=0)",
        "bitmap(values=1000001)",
        "geometric",
    ] {
        assert_eq!(blamed(1.0, text), Some("mech"), "{text}");
    }
    assert_eq!(blamed(0.5, "bitmap(values=1000000)"), Some("eps"));
}

/// Ids in a row, and as texts, fall on places as random ones do: of a chi-square test over 64 places.
#[test]
fn places_are_even() {
    for (name, hash) in [
        ("numbers", &of_word as &dyn Fn(u64) -> u64),
        ("hundreds", &|id| of_word(id * 100)),
        ("texts", &|id| of_bytes(format!("user-{id}").as_bytes())),
        ("zeros", &|id| of_bytes(&vec![0; id as usize % 5000])),
    ] {
        let ids = if name == "zeros" { 5000 } else { 100_000 };
        let mut counts = [0u64; 64];
        for id in 0..ids {
            counts[place(hash(id), 6) as usize] += 1;
        }
        assert_law(name, ids, counts.map(|count| (count, 1.0 / 64.0)));
    }
}

/// Relative, at eps 1 and 128 KB: at most 0.2% from 1,000 to 1,000,000 ids, which are numbers in a row.
#[test]
fn the_error_is_small() {
    let bitmap = Bitmap::new(20, epsilon(1.0));
    let mut words = Seeded::new(12);
    for (ids, tables) in [
        (1_000u64, 200u64),
        (10_000, 100),
        (100_000, 40),
        (1_000_000, 10),
    ] {
        let errors = (0..tables).flat_map(|table| {
            let places = (0..ids).map(|id| place(of_word(table << 32 | id), 20));
            let occupied = occupied(places, 20);
            // Several releases of each table: what is left is that of the hash.
            let releases: Vec<f64> = (0..20)
                .map(|_| bitmap.release_from(&occupied, &mut words).count as f64)
                .collect();
            releases
                .into_iter()
                .map(move |count| count / ids as f64 - 1.0)
        });
        let errors = stats::Moments::of(errors);
        let rmse = errors.mean_square().sqrt();
        println!(
            "{ids} ids: {:.3}%, on average {:.4}%",
            rmse * 100.0,
            errors.mean() * 100.0
        );
        assert!(rmse < 0.002, "{ids}: {rmse}");
        assert!(rmse > 1e-5, "{ids}: {rmse}");
    }
}

/// Over tables of other ids, and noise.
#[test]
fn intervals_cover() {
    for (power, value, ids, tables) in [
        (20u32, 1.0, 1_000u64, 300u64),
        (20, 0.1, 50, 300),
        (10, 1.0, 3, 400),
        (10, 5.0, 3_000, 400),
        (14, 1.0, 60_000, 100),
    ] {
        for miss in [0.05, 0.5] {
            let bitmap = Bitmap::new(power, epsilon(value));
            let intervals = bitmap.intervals(miss).unwrap();
            let mut words = Seeded::new(7);
            let (mut held, mut width) = (0, 0.0);
            for table in 0..tables {
                let places = (0..ids).map(|id| place(of_word(table << 40 | id), power));
                let answer = bitmap.release_from(&occupied(places, power), &mut words);
                let [lower, upper] = intervals(&answer);
                assert!(lower <= (answer.count as f64).max(0.0), "{answer:?}");
                assert!(upper >= answer.count as f64, "{answer:?}");
                held += u32::from((lower..=upper).contains(&(ids as f64)));
                width += (upper - lower) / tables as f64;
            }
            let part = f64::from(held) / tables as f64;
            println!(
                "2^{power} bits, eps {value}, {ids} ids, miss {miss}: {part}, {width:.0} wide"
            );
            assert!(part >= 1.0 - miss, "{power} {value} {ids}: {part}");
            // And not beyond measure: the noise and the chance of places, a few times each.
            let load = ids as f64 / f64::from(1u32 << power);
            let chance = (f64::from(1u32 << power) * (load.exp() - load - 1.0)).sqrt();
            let noise = load.exp() * 1.5 / value;
            let most = 14.0 * (chance + noise) + 16.0 * load.exp();
            assert!(width < most, "{width} {most}");
        }
    }
}

#[test]
fn nothing_panics_and_nothing_is_nan() {
    for power in [POWERS[0], 20, POWERS[1]] {
        for value in [Epsilon::MIN, 1.0, 50.0] {
            let bitmap = Bitmap::new(power, epsilon(value));
            let intervals = bitmap.intervals(0.05).unwrap();
            let full = 1u64 << power;
            for bits in [0, 1, full / 2, full - 1, full, u64::MAX] {
                let mut words = Seeded::new(bits);
                for _ in 0..20 {
                    let answer = bitmap.release_from(&Occupied { bits }, &mut words);
                    let DistinctAnswer { count, set } = answer;
                    assert!(set.is_finite());
                    // A full bitmap has about `B ln B` ids.
                    assert!((count as f64) < full as f64 * 19.0, "{answer:?}");
                    let [lower, upper] = intervals(&answer);
                    assert!(
                        lower >= 0.0 && lower <= upper && !upper.is_nan(),
                        "{answer:?}"
                    );
                }
            }
        }
    }
}
