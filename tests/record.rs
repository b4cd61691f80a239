//! Record and compare: what a row can do to the integers that noise meets, and to nothing else.
//!
//! The testing build records of each release how many random words it drew, from the group's first
//! row on, and for each noisy integer what it was before the noise. Every release starts from the
//! same seed. For thousands of pairs of neighbouring tables, with values at the clamp edges, one
//! ulp beside them, denormals, NULL, NaN, infinities, duplicates and no rows at all, four things
//! must hold of each mechanism, exactly:
//!
//! 1. *Control flow*: as many words are drawn, and as many integers made noisy.
//! 2. *Noise*: it is the same for both, integer by integer; and it is what the sampler that the
//!    documentation names draws from that seed at the scale that the documentation gives.
//! 3. *Sensitivity*: the integers before the noise differ by what the mechanism's sensitivity space
//!    allows. A row that is ignored moves nothing.
//! 4. *Post-processing*: the second release is made to go on with the noisy integers of the first.
//!    Its answer is then that of the first, bit for bit.
//!
//! Together: the answer is a function of integers whose move is covered by noise that was drawn
//! without a look at the rows.
//!
//! Where a control flow depends on data, and may:
//!
//! * `smooth` rounds the noisy number, not the noise: how many words decide the rounding depends on
//!   where the number lies. It has no noise of its own to compare. The mean and the scale of the noise
//!   are recorded: the scale is the one that is documented, and both moved as the proof allows.
//! * `em` has no noise to compare: it draws a place, with one word, by scores that depend on the rows. The counts that the
//!   scores follow from are recorded.
//! * `auto` has no noise to compare where it chooses an octave and a pair of ends: the numbers of rows that it chooses by are
//!   recorded. The noise before and behind is compared.
//! * `dp_keep` tosses a coin whose probability depends on the number of rows.
//! * `symmetric` and `symmetric_known_n` draw noise for each occupied bin, so that a row in a new bin
//!   draws more: that is what delta is spent on. Then the votes alone are compared. (A group without
//!   rows draws no offset either.)
//! * `hybrid` and `name_and_shame` toss a coin for each row. The coin is that of the row's place in
//!   the table: a replaced row is shown where its coin came up, and nowhere else.

mod cases;
mod noise;
mod notes;
mod spaces;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use dp_core::encoding::grid::{COARSE_STEPS, PAIR_STEPS, STEPS};
use dp_core::random::Generator;
use dp_core::sampler::uniform::below;
use dp_mean_tests::{Build, assert_covers_the_catalog, rows, run, session, value};
use postgres::Client;

use cases::{Case, cases};
use noise::{around_a_place, epsilon};
use notes::{Note, Record, fill, parse, releases};
use spaces::Space;
use tables::{Pair, Relation, pairs};

/// Pairs of tables between each of the bounds.
const PAIRS: usize = 600;
/// The seed of every release.
const SEED: u64 = 2024;
/// The eps of the calls.
const EPS: f64 = 1.5;
/// `G`, and that of variances and of counts in vectors.
const G: i128 = STEPS as i128;
const COARSE: i128 = COARSE_STEPS as i128;
/// The square of that of two columns.
const PAIR: i128 = (PAIR_STEPS * PAIR_STEPS) as i128;
const UNIT: i128 = 1 << 20;
/// Numbers in a vector.
const D: usize = 4;

const BOUNDS: [(f64, f64); 4] = [(0.0, 1.0), (-2.0, 1.0), (-1e-300, 3e-300), (-8e307, 8e307)];

/// A mean over a number of rows, both of which are noted: `centred / (2 G n)` of the width from the
/// midpoint, and the scale of the noise, `100 S / (43 eps)`, as a numerator and a denominator. `S` is
/// `m / 2^k`. Nothing is rounded here but the logarithm.
fn check_smooth(records: [&Record; 2], eps: f64, what: &str) {
    let (numerator, places) = (epsilon(eps).numerator(), epsilon(eps).places());
    let [(mean, scale), (other_mean, other_scale)] = records.map(|record| {
        let [note] = record.notes.as_slice() else {
            panic!("{what}: {record:?}");
        };
        let [centred, whole, scale, divisor] = note.exact[..] else {
            panic!("{what}: {note:?}");
        };
        let (mantissa, power) = (scale / 100, divisor / (43 * i128::from(numerator)));
        let documented = (100 * mantissa, 43 * i128::from(numerator) * power);
        assert_eq!((scale, divisor), documented, "{what}");
        assert_eq!(power.count_ones(), 1, "{what}");
        let down = power.ilog2() + places;
        assert_eq!(whole % (2 * G), 0, "{what}");
        // Without rows the mean is the midpoint.
        let rows = (whole / (2 * G)).max(1);
        ((centred, rows), (mantissa, down))
    });
    let apart = (mean.0 * other_mean.1 - other_mean.0 * mean.1).abs();
    for (mantissa, down) in [scale, other_scale] {
        // |mean - mean'| <= S
        let allowed = mantissa * 2 * G * mean.1 * other_mean.1;
        assert!(apart << down <= allowed, "{what}: {records:?}");
    }
    let logarithm = |(mantissa, down): (i128, u32)| {
        (mantissa as f64).ln() - f64::from(down) * std::f64::consts::LN_2
    };
    let change = (logarithm(scale) - logarithm(other_scale)).abs();
    assert!(change <= eps / 9.0, "{what}: {change}: {records:?}");
}

/// The number of occupied bins moves by at most 1, the votes of one bin by 1 for a row more, or of
/// two for one replaced. Where no bin is new, returns what is released of the rows around the place.
fn check_cells(
    records: [&Record; 2],
    replaced: bool,
    rows: i128,
    what: &str,
) -> Option<[usize; 2]> {
    let votes = records.map(|record| {
        let votes = record.notes.iter().filter(|note| note.exact.len() == 2);
        let votes: BTreeMap<i128, i128> =
            votes.map(|note| (note.exact[1], note.exact[0])).collect();
        let cells = &record.notes[0].exact;
        assert_eq!(cells[..], [votes.len() as i128], "{what}: {record:?}");
        votes
    });
    let bins: BTreeSet<_> = votes.iter().flat_map(BTreeMap::keys).collect();
    let held = |side: usize, bin: &i128| votes[side].get(bin).copied().unwrap_or(0);
    let moved: Vec<i128> = bins.iter().map(|bin| held(1, bin) - held(0, bin)).collect();
    let (sum, size) = (
        moved.iter().sum::<i128>(),
        moved.iter().map(|m| m.abs()).sum::<i128>(),
    );
    if replaced {
        assert!(sum == 0 && size <= 2 * rows, "{what}: {records:?}");
    } else {
        assert!(sum.abs() == rows && size == rows, "{what}: {records:?}");
    }
    let cells = votes.each_ref().map(BTreeMap::len);
    assert!(cells[0].abs_diff(cells[1]) <= 1, "{what}: {records:?}");
    let alike = votes[0].keys().eq(votes[1].keys());
    alike.then(|| cells.map(|cells| 1 + cells))
}

/// The number of rows that are not zero moves by at most that of the rows; the numbers of rows from an octave on, which
/// the walk looks at, by 0 and from some octave on by 1 for each of the rows; those below each end and above it, one of
/// the two at most for a pair of ends; or of a sum, the numbers beyond each bound, by at most one for each of the rows.
/// Returns where the sums between the ends that were found begin: the second release goes on by what the first one
/// found.
fn check_auto(
    space: Space,
    records: [&Record; 2],
    sign: i128,
    rows: i128,
    what: &str,
) -> [usize; 2] {
    // What is released between the ends.
    let last = match space {
        Space::AutoSum => 1,
        Space::AutoVariance => 3,
        _ => 2,
    };
    let notes = records.map(|record| record.notes.as_slice());
    let moved = |i: usize| -> Vec<i128> {
        assert_eq!(notes[0][i].exact.len(), notes[1][i].exact.len(), "{what}");
        let pairs = notes[0][i].exact.iter().zip(&notes[1][i].exact);
        pairs.map(|(one, other)| sign * (other - one)).collect()
    };
    let [nonzero] = moved(0)[..] else {
        panic!("{what}: {records:?}");
    };
    assert!((0..=rows).contains(&nonzero), "{what}: {records:?}");
    assert_eq!(
        notes[0][0].noise(),
        notes[1][0].noise(),
        "{what}: {records:?}"
    );
    let outside = moved(1);
    let grows = outside.windows(2).all(|pair| pair[0] <= pair[1]);
    assert!(grows && outside[0] >= 0, "{what}: {records:?}");
    assert!(
        outside.iter().all(|moved| *moved <= nonzero),
        "{what}: {records:?}"
    );
    assert_eq!(notes[0].len(), notes[1].len(), "{what}: {records:?}");
    // The ends, where an octave was found.
    let found = notes[0].len() == 3 + last;
    if found && last == 1 {
        let beyond = moved(2);
        assert!(
            beyond.iter().all(|moved| (0..=rows).contains(moved)),
            "{what}: {records:?}"
        );
        let falls = beyond.windows(2).all(|pair| pair[0] >= pair[1]);
        assert!(falls, "{what}: {records:?}");
    } else if found {
        let ends = moved(2);
        let (below, above) = ends.split_at(ends.len() / 2);
        for (i, below) in below.iter().enumerate() {
            for above in &above[i + 1..] {
                let moved = below + above;
                assert!((0..=rows).contains(&moved), "{what}: {records:?}");
            }
        }
    }
    let sums = notes.map(|notes| &notes[notes.len() - last..]);
    let noises = sums.map(|notes| notes.iter().map(Note::noise).collect::<Vec<_>>());
    assert_eq!(noises[0], noises[1], "{what}: {records:?}");
    assert_eq!(records[0].words, records[1].words, "{what}: {records:?}");
    notes.map(|notes| notes.len() - last)
}

/// The counts that choices are made from: of all rows first, then on each side of the place that was chosen. A row more is
/// one more in one bin, and on one of the sides alone.
fn check_choices(records: [&Record; 2], sign: i128, rows: i128, what: &str) -> bool {
    let moved: Vec<Vec<i128>> = records[0]
        .notes
        .iter()
        .zip(&records[1].notes)
        .map(|(one, other)| {
            assert_eq!(one.exact.len(), other.exact.len(), "{what}: {records:?}");
            let pairs = one.exact.iter().zip(&other.exact);
            pairs.map(|(one, other)| sign * (other - one)).collect()
        })
        .collect();
    let sums: Vec<i128> = moved.iter().map(|counts| counts.iter().sum()).collect();
    for counts in &moved {
        assert!(
            counts.iter().all(|count| *count >= 0),
            "{what}: {records:?}"
        );
    }
    // Of three, the one in the middle comes first.
    let spread = match sums[..] {
        [all] => all == rows,
        [all, below, above] => all == rows && below + above == rows,
        _ => false,
    };
    assert!(spread, "{what}: {sums:?}: {records:?}");
    sums[0] != 0
}

/// Whether the coin of the row in this place comes up, once in five times.
fn shows(place: usize) -> bool {
    let mut words = Generator::from_seed(SEED);
    let tosses = (0..=place).map(|_| below(5, &mut words));
    tosses.last() == Some(0)
}

/// How many pairs were compared in full, how many of them moved an integer, and how many showed a
/// row.
#[derive(Default)]
struct Seen {
    compared: usize,
    moved: usize,
    shown: usize,
}

fn check(case: &Case, pair: &Pair, bounds: (f64, f64), records: [&Record; 2], seen: &mut Seen) {
    let what = format!("{} {} {pair:?}", case.aggregate, case.mechanism);
    let counts = pair.own.each_ref().map(|rows| {
        rows.iter()
            .filter(|row| case.counted.counts(row, bounds))
            .count()
    });
    let replaced = case.relation == Relation::Replace;
    // The number of rows is public where rows are replaced.
    if replaced && counts[0] != counts[1] {
        return;
    }
    let rows = counts[0].max(counts[1]) as i128;
    // From the smaller table to the larger one.
    let sign = if counts[0] > counts[1] { -1 } else { 1 };
    let mut from = [0, 0];
    let mut own_control_flow = false;
    match case.space {
        Space::Smooth => {
            check_smooth(records, EPS, &what);
            own_control_flow = true;
        }
        Space::Cells | Space::CellsReplace => match check_cells(records, replaced, rows, &what) {
            Some(start) => from = start,
            None => return,
        },
        Space::People => own_control_flow = true,
        Space::Auto | Space::AutoSum | Space::AutoVariance => {
            from = check_auto(case.space, records, sign, rows, &what);
            own_control_flow = true;
        }
        _ => (),
    }
    let lengths = records.map(|record| record.notes.len());
    assert_eq!(lengths[0], lengths[1], "{what}: {records:?}");
    if let Space::Choices = case.space {
        assert_eq!(records[0].words, records[1].words, "{what}: {records:?}");
        assert_eq!(records[0].answer, records[1].answer, "{what}: {records:?}");
        seen.compared += 1;
        seen.moved += usize::from(check_choices(records, sign, rows, &what));
        return;
    }
    if !own_control_flow {
        assert_eq!(records[0].words, records[1].words, "{what}: {records:?}");
        let noises = records.map(|record| record.notes.iter().map(Note::noise).collect::<Vec<_>>());
        assert_eq!(noises[0], noises[1], "{what}: {records:?}");
    }
    let notes = [0, 1].map(|side| &records[side].notes[from[side]..]);
    let moved: Vec<i128> = notes[0]
        .iter()
        .zip(notes[1])
        .map(|(one, other)| sign * (other.exact[0] - one.exact[0]))
        .collect();
    if let Space::CellsReplace = case.space {
        let mut noises = notes.into_iter().flatten().map(Note::noise);
        let expected = around_a_place();
        assert!(noises.all(|noise| noise == expected), "{what}: {records:?}");
    }
    match case.space {
        Space::Smooth => (),
        Space::Coins(most) => {
            let before = &pair.tables[0][..pair.position];
            let place = before.iter().filter(|row| case.counted.counts(row, bounds));
            let is_shown = rows == 1 && shows(place.count());
            let most = if is_shown { i128::MAX } else { most * rows };
            assert!(moved[0].abs() <= most, "{what}: {records:?}");
            seen.shown += usize::from(is_shown && moved[0] != 0);
        }
        space => assert!(
            space.has(&moved, rows),
            "{what}: moved by {moved:?}: {records:?}"
        ),
    }
    assert_eq!(records[0].answer, records[1].answer, "{what}: {records:?}");
    seen.compared += 1;
    seen.moved += usize::from(moved.iter().any(|number| *number != 0));
}

/// The release of one row has the noise that is documented.
fn check_noise(client: &mut Client, case: &Case, call: &str) {
    let Some(noise) = case.noise else { return };
    run(client, &format!("SELECT dp_test_record({SEED})"));
    let sql = format!("SELECT {call}::text FROM (VALUES (0.5::float8, 0.25::float8)) AS r(x, y)");
    rows(client, &sql);
    let recorded: String = value(client, "SELECT dp_test_recorded()");
    let found: Vec<i128> = parse(&recorded, None)
        .notes
        .iter()
        .map(Note::noise)
        .collect();
    let expected = noise(&mut Generator::from_seed(SEED));
    assert_eq!(found, expected, "{call}: not the noise that is documented");
}

#[test]
fn neighbours_differ_by_what_is_declared_and_by_nothing_else() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "SET max_parallel_workers_per_gather = 0; SET jit = off; SET dp_mean.allow_pathological = on",
    );
    let cases = cases();
    let covered: Vec<_> = cases
        .iter()
        .map(|case| (case.aggregate, case.mechanism))
        .collect();
    assert_covers_the_catalog(&mut client, &covered);
    let mut filled = None;
    let relations = [
        Relation::AddRemove(1),
        Relation::AddRemove(3),
        Relation::Replace,
    ];
    let mut seen: Vec<Seen> = cases.iter().map(|_| Seen::default()).collect();
    for relation in relations {
        for bounds in BOUNDS {
            let pairs = pairs(relation, bounds);
            for (case, seen) in cases.iter().zip(&mut seen) {
                if case.relation != relation {
                    continue;
                }
                if filled != Some((relation, bounds)) {
                    fill(&mut client, &pairs);
                    filled = Some((relation, bounds));
                }
                let bounds = (if case.from_0 { 0.0 } else { bounds.0 }, bounds.1);
                let own_budget = ["mu=", "rho="]
                    .iter()
                    .any(|own| case.mechanism.contains(own));
                let eps = if own_budget {
                    "NULL".to_owned()
                } else {
                    EPS.to_string()
                };
                let call = case
                    .call
                    .replace("{lo}", &format!("'{:e}'", bounds.0))
                    .replace("{hi}", &format!("'{:e}'", bounds.1))
                    .replace("{eps}", &eps)
                    .replace("{mech}", case.mechanism);
                check_noise(&mut client, case, &call);
                let first = releases(&mut client, &call, 0, false);
                let second = releases(&mut client, &call, 1, true);
                for ((pair, one), other) in pairs.iter().zip(&first).zip(&second) {
                    check(case, pair, bounds, [one, other], seen);
                }
            }
        }
    }
    for (case, seen) in cases.iter().zip(&seen) {
        let what = format!("{} {}", case.aggregate, case.mechanism);
        println!(
            "{what}: {} pairs, of which {} moved",
            seen.compared, seen.moved
        );
        let [compared, moved] = match case.space {
            // A row is often the first of its bin.
            Space::Cells | Space::CellsReplace => [300, 100],
            Space::Smooth | Space::Coins(_) => [1000, 100],
            _ => [1000, 300],
        };
        assert!(
            seen.compared >= compared && seen.moved >= moved,
            "{what}: too few pairs"
        );
        let coined = matches!(case.space, Space::Coins(_));
        assert_eq!(
            seen.shown > 100,
            coined,
            "{what}: {} rows shown",
            seen.shown
        );
    }
}
