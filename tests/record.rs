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

use std::collections::{BTreeMap, BTreeSet};

use dp_core::encoding::grid::{COARSE_STEPS, PAIR_STEPS, STEPS};
use dp_core::encoding::power_of_two_bins::BINS;
use dp_core::encoding::sides::SIDES;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::random::{Bits, Generator};
use dp_core::sampler::discrete_laplace::DiscreteLaplace;
use dp_core::sampler::geometric::Geometric;
use dp_core::sampler::hourglass::Hourglass;
use dp_core::sampler::max_norm::MaxNorm;
use dp_core::sampler::normal::{RoundedNormal, RoundedSums};
use dp_core::sampler::staircase::{Staircase, best_gamma, core_of};
use dp_core::sampler::staircase2::{self, Staircase2};
use dp_core::sampler::uniform::below;
use dp_mean_tests::mix::Mix;
use dp_mean_tests::{Build, assert_covers_the_catalog, rows, run, session, value};
use postgres::Client;

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

// Tables ----------------------------------------------------------------------------------------

/// A row; `None` is NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    x: Option<f64>,
    y: Option<f64>,
}

/// What the second table of a pair differs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// That many rows more or less.
    AddRemove(usize),
    /// One row replaced by another.
    Replace,
}

/// Two tables, and the rows that only one of them has.
#[derive(Clone, Debug)]
struct Pair {
    tables: [Vec<Row>; 2],
    own: [Vec<Row>; 2],
    position: usize,
}

/// A value of a kind that mechanisms might go wrong at.
fn any_value(mix: &mut Mix, (lo, hi): (f64, f64)) -> Option<f64> {
    let edge = if mix.below(2) == 0 { lo } else { hi };
    let sign = if mix.below(2) == 0 { 1.0 } else { -1.0 };
    let inside = lo + (hi - lo) * mix.unit();
    Some(match mix.below(16) {
        0 => return None,
        1 => f64::NAN,
        2 => sign * f64::INFINITY,
        3 | 4 => edge,
        5 => edge.next_up(),
        6 => edge.next_down(),
        7 => sign * f64::from_bits(mix.word() >> 13),
        8 => sign * 5e-324,
        9 => sign * 0.0,
        10 => sign * f64::MAX,
        11 => f64::from_bits(mix.word()),
        // On the border of two grid steps, and of two buckets.
        12 => lo + (hi - lo) * ((mix.below(8) as f64 + 0.5) / STEPS as f64),
        13 => lo + (hi - lo) * (mix.below(9) as f64 / 8.0),
        // Near the scale of the means without bounds, whatever these bounds are.
        14 => sign * 12.0 * mix.unit(),
        _ => inside,
    })
}

fn any_row(mix: &mut Mix, bounds: (f64, f64), others: &[Row]) -> Row {
    if !others.is_empty() && mix.below(4) == 0 {
        return others[mix.below(others.len())];
    }
    Row {
        x: any_value(mix, bounds),
        y: any_value(mix, bounds),
    }
}

/// The first two pairs are of an empty table.
fn pairs(relation: Relation, bounds: (f64, f64)) -> Vec<Pair> {
    let mut mix = Mix(bounds.1.to_bits());
    let pair = |number: usize| {
        let length = if number < 2 { 0 } else { mix.below(13) };
        let mut table = Vec::new();
        for _ in 0..length {
            let row = any_row(&mut mix, bounds, &table);
            table.push(row);
        }
        let position = mix.below(length + 1);
        let mut draw =
            |n: usize| -> Vec<Row> { (0..n).map(|_| any_row(&mut mix, bounds, &table)).collect() };
        let mut own = match relation {
            Relation::AddRemove(rows) => [Vec::new(), draw(rows)],
            Relation::Replace => [draw(1), draw(1)],
        };
        // A row is removed as often as added.
        if number % 2 == 1 {
            own.reverse();
        }
        let tables = own.each_ref().map(|own| {
            let mut table = table.clone();
            table.splice(position..position, own.iter().copied());
            table
        });
        Pair {
            tables,
            own,
            position,
        }
    };
    (0..PAIRS).map(pair).collect()
}

// What is recorded ------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    exact: Vec<i128>,
    noisy: i128,
}

impl Note {
    fn noise(&self) -> i128 {
        self.noisy - self.exact[0]
    }
}

/// A release.
#[derive(Clone, Debug)]
struct Record {
    answer: Option<String>,
    words: u64,
    notes: Vec<Note>,
}

fn parse(line: &str, answer: Option<String>) -> Record {
    let mut parts = line.split(' ');
    let number = |text: &str| -> i128 { text.parse().expect("an integer") };
    let words = parts.next().expect("words").parse().expect("words");
    let note = |text: &str| {
        let (exact, noisy) = text.split_once(':').expect("a note");
        Note {
            exact: exact.split(',').map(number).collect(),
            noisy: number(noisy),
        }
    };
    Record {
        answer,
        words,
        notes: parts.map(note).collect(),
    }
}

/// A release of `call` for each table of one side, in order.
fn releases(client: &mut Client, call: &str, side: i32, playing: bool) -> Vec<Record> {
    let start = if playing { "replay" } else { "record" };
    run(client, &format!("SELECT dp_test_{start}({SEED})"));
    let sql = format!(
        "SELECT (SELECT {call}::text FROM unnest(p.xs, p.ys) AS r(x, y)) FROM \
         (SELECT xs, ys FROM pairs WHERE side = {side} ORDER BY id OFFSET 0) p"
    );
    let answers: Vec<Option<String>> = rows(client, &sql).iter().map(|row| row.get(0)).collect();
    let recorded: String = value(client, "SELECT dp_test_recorded()");
    let records: Vec<Record> = recorded
        .lines()
        .zip(answers.iter().cloned())
        .map(|(line, answer)| parse(line, answer))
        .collect();
    assert_eq!(
        records.len(),
        answers.len(),
        "{call}: not a release a table"
    );
    records
}

fn fill(client: &mut Client, pairs: &[Pair]) {
    run(
        client,
        "DROP TABLE IF EXISTS pairs; \
         CREATE TABLE pairs (id int, side int, xs float8[], ys float8[])",
    );
    let insert = client.prepare("INSERT INTO pairs VALUES ($1, $2, $3, $4)");
    let insert = insert.expect("an INSERT");
    let mut transaction = client.transaction().expect("a transaction");
    for (id, pair) in pairs.iter().enumerate() {
        for (side, table) in pair.tables.iter().enumerate() {
            let xs: Vec<_> = table.iter().map(|row| row.x).collect();
            let ys: Vec<_> = table.iter().map(|row| row.y).collect();
            let values: [&(dyn postgres::types::ToSql + Sync); 4] =
                [&(id as i32), &(side as i32), &xs, &ys];
            transaction.execute(&insert, &values).expect("a table");
        }
    }
    transaction.commit().expect("the tables");
}

// What is declared ------------------------------------------------------------------------------

/// By how much a pair moves the integers, in the order in which they are noted. Of neighbours by
/// adding, `rows` of the added ones count; all that is said of one row holds of their sum.
#[derive(Clone, Copy, Debug)]
enum Space {
    /// `(S1, S2)` by `(t, G - t)`, `0 <= t <= G`.
    Complement,
    /// The sum from the midpoint by `2 t - G`, and `G n` by `G`.
    Centred,
    /// The sum from 0 by `-G` to `G`, and `G n` by `G`.
    Signed,
    /// A sum from 0 by `-G` to `G`.
    Sum,
    /// The number of rows by 1.
    Rows,
    /// `ceil(n / k)`, of up to `k` rows, by 0 or 1.
    People,
    /// `(f0, f1, f2)`: absolute values of at most `2 G^2` together.
    LaplaceMoments,
    /// `(l0, l1, l2)`: of length at most `G^2`.
    GaussianMoments,
    /// That many sums of two columns: absolute values of at most this times `G^2` together.
    LaplacePairs(usize, i128),
    /// Two sums of weights, between a quarter and all of `G^2` together, each rounded down.
    Weights,
    /// Squares of at most the second times `G^4` together, each counted that many times.
    GaussianPairs(&'static [i128], i128),
    /// Sums of two predictors and `y`, each by at most its weight times `G^2`; the first, of the rows, by just that.
    Columns([i128; 10]),
    /// Each `2 S_j - G n` by `-G` to `G`, with this `G`, and `G n` by `G` where it is released.
    Vector { unit: i128, whole: bool },
    /// Each `S_j` by `-G` to `G`.
    Values(i128),
    /// Each `S_j` by 0 to `G`, at most that many by more than 0.
    Few(i128, usize),
    /// The number of bits that are set by 0 or 1 for each row.
    Occupied,
    /// One of that many counts by 1.
    Bins(usize),
    /// See [`check_choices`]: counts of which one moves by 1, each level's on one side of a cut.
    Choices,
    /// How far the rows passed are from the part `a / d` of all, at the end of each bin on the way: by `d - a` behind the row, and by `-a`
    /// before it.
    Walk(i128, i128),
    /// See [`check_auto`]: what the searches look at, and then the sums of the rows between what they found.
    Auto,
    /// As above, for a sum from 0.
    AutoSum,
    /// As above, for a variance, whose three sums are rounded down.
    AutoVariance,
    /// `2 S - G N` by at most `2 G`, as `N` stays.
    ClippedReplace,
    /// Each `2 S_j - G n` by at most `2 G`, and `G n` stays.
    VectorReplace(i128),
    /// Each `S_j` by at most `2 G`.
    ValuesReplace(i128),
    /// See [`check_smooth`].
    Smooth,
    /// See [`check_cells`]: the sum of the rows around the place, and of their distances from the
    /// upper end.
    Cells,
    /// The sum alone, where a row is replaced.
    CellsReplace,
    /// The sum by at most that many steps, unless the coin of the replaced row's place came up.
    Coins(i128),
}

/// Cells, of 2^24 steps and as many halves, between the ends that rows are clipped to around a
/// place: with the default `clip`.
const AROUND_A_PLACE: i128 = 3 << 25;

impl Space {
    /// Whether integers can be moved so by `rows` rows more.
    fn has(self, moved: &[i128], rows: i128) -> bool {
        let within = |number: i128, most: i128| number.abs() <= most * rows;
        let from_middle =
            |number: i128, unit: i128| within(number, unit) && (number - rows * unit) % 2 == 0;
        match (self, moved) {
            (Self::Complement, [s1, s2]) => *s1 >= 0 && *s2 >= 0 && s1 + s2 == rows * G,
            (Self::Centred, [sum, whole]) => from_middle(*sum, G) && *whole == rows * G,
            (Self::Walk(a, d), ends) => {
                let fits = |end: &i128| (end + rows * a) % d == 0 && within(*end, a.max(d - a));
                !ends.is_empty() && ends.is_sorted() && ends.iter().all(fits)
            }
            (Self::AutoSum, [sum]) => from_middle(*sum, G),
            (Self::Auto, moved) => Self::Complement.has(moved, rows),
            (Self::Signed, [sum, whole]) => within(*sum, G) && *whole == rows * G,
            (Self::Sum, [sum]) => within(*sum, G),
            (Self::Rows, [n]) => *n == rows,
            (Self::People, [steps]) => (0..=rows.min(1)).contains(steps),
            (Self::LaplaceMoments, [f0, f1, f2]) => {
                let all = f0.abs() + f1.abs() + f2.abs();
                // Eight times the Bernstein sums of a row add up to 8 G^2.
                let bernstein = 4 * f0 + 6 * f1 + 4 * f2;
                all <= 2 * COARSE * COARSE * rows && bernstein == 8 * COARSE * COARSE * rows
            }
            (Self::AutoVariance, [f0, f1, f2]) => {
                let all = f0.abs() + f1.abs() + f2.abs();
                let bernstein = 4 * f0 + 6 * f1 + 4 * f2;
                // Each sum is less than one step off.
                all <= 2 * COARSE * COARSE * rows + 2
                    && (bernstein - 8 * COARSE * COARSE * rows).abs() < 14
            }
            (Self::GaussianMoments, [l0, l1, l2]) => {
                let square = l0 * l0 + l1 * l1 + l2 * l2;
                let unit = COARSE * COARSE * rows;
                square <= unit * unit && l0 + l1 + l2 == unit
            }
            (Self::LaplacePairs(length, most), sums) => {
                let all: i128 = sums.iter().map(|sum| sum.abs()).sum();
                sums.len() == length && all <= most * PAIR * rows && (rows == 0 || all > 0)
            }
            (Self::Weights, sums) => {
                let all: i128 = sums.iter().map(|sum| sum.abs()).sum();
                sums.len() == 2 && all <= PAIR * rows + 2 && 4 * (all + 2) >= PAIR * rows
            }
            (Self::GaussianPairs(times, most), sums) => {
                let squares = sums.iter().zip(times).map(|(sum, times)| times * sum * sum);
                let all: i128 = squares.sum();
                sums.len() == times.len() && all <= most * (PAIR * rows) * (PAIR * rows)
            }
            (Self::Columns(weights), sums) => {
                let mut each = sums.iter().zip(weights);
                sums.len() == weights.len()
                    && sums[0] == weights[0] * PAIR * rows
                    && each.all(|(sum, weight)| within(*sum, weight * PAIR))
            }
            (Self::Vector { unit, whole }, numbers) => {
                let (sums, rest) = numbers.split_at(D);
                sums.iter().all(|sum| from_middle(*sum, unit))
                    && rest == if whole { vec![rows * unit] } else { vec![] }
            }
            (Self::Values(unit), sums) => {
                sums.len() == D && sums.iter().all(|sum| within(*sum, unit))
            }
            (Self::Few(unit, most), sums) => {
                let all = sums.len() == D && sums.iter().all(|sum| *sum >= 0 && within(*sum, unit));
                all && sums.iter().filter(|sum| **sum > 0).count() <= most * rows as usize
            }
            (Self::Occupied, [bits]) => (0..=rows).contains(bits),
            (Self::Bins(length), counts) => {
                let sum: i128 = counts.iter().sum();
                counts.len() == length && counts.iter().all(|count| *count >= 0) && sum == rows
            }
            (Self::ClippedReplace, [sum]) => sum.abs() <= 2 * G * rows && sum % 2 == 0,
            (Self::VectorReplace(unit), numbers) => {
                let (sums, whole) = numbers.split_at(D);
                sums.iter()
                    .all(|sum| within(*sum, 2 * unit) && sum % 2 == 0)
                    && whole == [0]
            }
            (Self::ValuesReplace(unit), sums) => {
                sums.len() == D && sums.iter().all(|sum| within(*sum, 2 * unit))
            }
            (Self::Cells, [s1, s2]) => *s1 >= 0 && *s2 >= 0 && s1 + s2 == AROUND_A_PLACE * rows,
            // Without a place nothing is released of the sum.
            (Self::CellsReplace, []) => true,
            (Self::CellsReplace, [sum]) => within(*sum, AROUND_A_PLACE),
            _ => false,
        }
    }
}

/// Which rows count.
#[derive(Clone, Copy, Debug)]
enum Counted {
    All,
    /// `x` is not NULL.
    NotNull,
    /// `x` is neither NULL nor NaN.
    Values,
    /// And it is between the bounds.
    Inside,
    /// Neither `x` nor `y` is NULL or NaN.
    Pairs,
}

impl Counted {
    fn counts(self, row: &Row, (lo, hi): (f64, f64)) -> bool {
        match self {
            Self::All => true,
            Self::NotNull => row.x.is_some(),
            Self::Values => row.x.is_some_and(|x| !x.is_nan()),
            Self::Pairs => [row.x, row.y]
                .iter()
                .all(|value| value.is_some_and(|value| !value.is_nan())),
            Self::Inside => row.x.is_some_and(|x| lo <= x && x <= hi),
        }
    }
}

/// The noise of one release of one row, as documented.
type Noise = fn(&mut Generator) -> Vec<i128>;

/// A mechanism as a call gives it, and what is declared of it.
struct Case {
    aggregate: &'static str,
    mechanism: &'static str,
    /// With `{lo}`, `{hi}`, `{eps}` and `{mech}`.
    call: &'static str,
    counted: Counted,
    relation: Relation,
    space: Space,
    /// `None` where it is not drawn apart from the rows, or not by itself.
    noise: Option<Noise>,
    /// The lower bound is 0.
    from_0: bool,
}

fn epsilon(eps: f64) -> Epsilon {
    Epsilon::new(Some(eps)).expect("an epsilon")
}

/// Independent discrete Laplace noise of scale `distance / eps`.
fn laplace(numbers: usize, distance: u64, eps: f64, words: &mut Generator) -> Vec<i128> {
    let distribution = DiscreteLaplace::new(distance, epsilon(eps));
    (0..numbers).map(|_| distribution.draw(words)).collect()
}

/// At half of eps each.
fn halves(words: &mut Generator) -> Vec<i128> {
    let distribution = DiscreteLaplace::new(STEPS, epsilon(EPS).half());
    vec![distribution.draw(words), distribution.draw(words)]
}

/// Staircase noise of the least variance for a sensitivity of `G`.
fn staircase(eps: f64, words: &mut Generator) -> i128 {
    staircase_for(STEPS, eps, words)
}

fn staircase_for(distance: u64, eps: f64, words: &mut Generator) -> i128 {
    let core = core_of(best_gamma(eps), distance);
    Staircase::new(distance, core, epsilon(eps))
        .draw(words)
        .value
}

/// That of a mean without bounds, of a public number of rows, whose place has nine tenths of eps: it is
/// drawn after the offset.
fn around_a_place() -> i128 {
    let mut words = Generator::from_seed(SEED);
    words.word();
    let unit = 1.0 / (1u64 << 40) as f64;
    let place = (0.9 * EPS / unit).ceil() * unit;
    staircase_for(AROUND_A_PLACE as u64, EPS - place, &mut words)
}

/// Two-sided geometric noise.
fn geometric(numbers: usize, words: &mut Generator) -> Vec<i128> {
    let distribution = Staircase::two_sided_geometric(epsilon(EPS));
    (0..numbers)
        .map(|_| distribution.draw(words).value)
        .collect()
}

/// One-sided geometric noise at the ends of 8 bins but the last, after that of the threshold, for a part `a / d`.
fn walked(eps: f64, [a, d]: [u32; 2], words: &mut Generator) -> Vec<i128> {
    let [threshold, end] = [a, d].map(|most| Geometric::new(epsilon(eps / f64::from(2 * most))));
    threshold.draw(words);
    (0..7).map(|_| end.draw(words) as i128).collect()
}

/// Rounded normal noise of the standard deviation `distance`, as `mu` is 1; with what is added for
/// the roundings of floats.
fn normal(numbers: usize, distance: f64, words: &mut Generator) -> Vec<i128> {
    let distribution = RoundedNormal::new(no_less(distance));
    (0..numbers).map(|_| distribution.draw(words)).collect()
}

fn no_less(sigma: f64) -> f64 {
    sigma * (1.0 + 2f64.powi(-48))
}

fn hourglass(eps: f64, words: &mut Generator) -> Vec<i128> {
    let core = core_of(best_gamma(eps), STEPS);
    let (x, k) = Hourglass::new(STEPS, core, epsilon(eps)).draw(words);
    vec![x, k * G - x]
}

fn cube(numbers: usize, steps: u64, words: &mut Generator) -> Vec<i128> {
    MaxNorm::new(numbers, steps, epsilon(EPS)).draw(words)
}

fn correlated(unit: f64, words: &mut Generator) -> Vec<i128> {
    // c is 2, whose square is the root of d times 2.
    let sigma = no_less((D as f64 + 4.0).sqrt() * unit);
    let mut noise: Vec<_> = {
        let distribution = RoundedNormal::new(sigma);
        (0..D).map(|_| distribution.draw(words)).collect()
    };
    noise.extend(normal(1, sigma / 2.0, words));
    noise
}

/// The Count ellipse of Joseph and Yu (2024) for `k = 2`, in steps of 1 over `unit`.
fn ellipse(unit: f64, words: &mut Generator) -> Vec<i128> {
    let (d, k) = (D as f64, 2.0f64);
    let (p, q) = (k * k / d, k * (d - k) / d);
    let whole = p.sqrt() + (q * (d - 1.0)).sqrt();
    let across = (q / (d - 1.0)).sqrt() * whole;
    let longer = (k * (k - 1.0) / (d - 1.0)) / (p.sqrt() + (q / (d - 1.0)).sqrt());
    let own = no_less(across.sqrt() * unit);
    let shared = no_less((longer * whole / d).sqrt() * unit);
    RoundedSums::new(own, shared).draw(D, words)
}

fn cases() -> Vec<Case> {
    use Counted::{All, Inside, NotNull, Pairs, Values};
    use Relation::{AddRemove, Replace};
    const MEAN: &str = "dp_mean_and_count(x, {lo}, {hi}, {eps}, '{mech}')";
    const SUM: &str = "dp_sum(x, {lo}, {hi}, {eps}, '{mech}')";
    const COUNT: &str = "dp_count(x, {eps}, '{mech}')";
    const KEEP: &str = "dp_keep({eps}, 0.05, '{mech}')";
    const VARIANCE: &str = "dp_var_pop_estimate(x, {lo}, {hi}, {eps}, '{mech}')";
    const COVARIANCE: &str = "dp_covar_pop(y, x, {lo}, {hi}, -3, 0.5, {eps}, '{mech}')";
    const WEIGHTED: &str = "dp_weighted_mean(y, x, {lo}, {hi}, 0.125, 0.5, {eps}, '{mech}')";
    const SLOPE: &str = "dp_regr_slope(y, x, -3, 0.5, {lo}, {hi}, {eps}, '{mech}')";
    const CORRELATION: &str = "dp_regr(y, x, {lo}, {hi}, -3, 0.5, {eps}, '{mech}')";
    const LINEAR: &str = "dp_linear_regression(y, ARRAY[x, -x], {lo}, {hi}, ARRAY[-3, {lo}]::float8[], \
                          ARRAY[0.5, {hi}]::float8[], {eps}, '{mech}')";
    const COUNTS: &str = "dp_counts_estimate({eps}, '{mech}', x > 0, y > 0, x < y, x = y)";
    // A NULL row, a short one, and one with all numbers.
    const SUMS: &str = "dp_sums_estimate(CASE WHEN x IS NULL THEN NULL WHEN y IS NULL THEN \
                        ARRAY[x] ELSE ARRAY[x, y, NULL, -x] END, {lo}, {hi}, {eps}, '{mech}')";
    const SUMS_AROUND_0: &str = "dp_sums(CASE WHEN x IS NULL THEN NULL WHEN y IS NULL THEN ARRAY[x] \
                                 ELSE ARRAY[x, y, NULL, -x] END, -2, 2, {eps}, '{mech}')";
    const MEANS: &str = "dp_means(CASE WHEN x IS NULL THEN NULL WHEN y IS NULL THEN ARRAY[x] \
                         ELSE ARRAY[x, y, NULL, -x] END, {lo}, {hi}, {eps}, '{mech}')";
    const HISTOGRAM: &str = "dp_histogram(x, {lo}, {hi}, 7, {eps}, '{mech}')";
    const BOUNDS: &str = "dp_bounds(x, {eps}, '{mech}')";
    const CLAMPED: &str = "dp_clamped(x, {lo}, {hi}, {eps}, '{mech}')";
    // So that a few rows are enough to be seen.
    const AUTO: &str = "dp_mean_and_count(x, NULL, NULL, 40, '{mech}')";
    const AUTO_BETWEEN: &str = "dp_mean_and_count(x, -3, 8, 40, '{mech}')";
    const AUTO_SUM: &str = "dp_sum(x, NULL, NULL, 40, '{mech}')";
    const AUTO_SUM_BETWEEN: &str = "dp_sum(x, -3, 8, 40, '{mech}')";
    const AUTO_VARIANCE: &str = "dp_var_pop_estimate(x, NULL, NULL, 40, '{mech}')";
    const AUTO_VARIANCE_BETWEEN: &str = "dp_var_pop_estimate(x, -3, 8, 40, '{mech}')";
    const CELLS: &str = "dp_mean_and_count(x, NULL, NULL, {eps}, '{mech}')";
    let case = |aggregate, call, mechanism, counted, relation, space, noise| Case {
        aggregate,
        mechanism,
        call,
        counted,
        relation,
        space,
        noise,
        from_0: false,
    };
    let value = |aggregate, call, mechanism, space, noise: Noise| {
        case(
            aggregate,
            call,
            mechanism,
            Values,
            AddRemove(1),
            space,
            Some(noise),
        )
    };
    let mean = |mechanism, space, noise: Noise| value("dp_mean", MEAN, mechanism, space, noise);
    let sum = |mechanism, noise: Noise| value("dp_sum", SUM, mechanism, Space::Sum, noise);
    let vector = |aggregate, call, mechanism, space, noise: Noise| {
        let counted = if aggregate == "dp_counts" {
            All
        } else {
            NotNull
        };
        case(
            aggregate,
            call,
            mechanism,
            counted,
            AddRemove(1),
            space,
            Some(noise),
        )
    };
    let pair = |aggregate, call, mechanism, space, noise: Noise| {
        let noise = Some(noise);
        case(
            aggregate,
            call,
            mechanism,
            Pairs,
            AddRemove(1),
            space,
            noise,
        )
    };
    let whole = |unit| Space::Vector { unit, whole: true };
    let alone = |unit| Space::Vector { unit, whole: false };
    let mut cases = vec![
        mean("hourglass", Space::Complement, |words| {
            hourglass(EPS, words)
        }),
        mean("hourglass(gamma=1e-12)", Space::Complement, |words| {
            let (x, k) = Hourglass::new(STEPS, 1, epsilon(EPS)).draw(words);
            vec![x, k * G - x]
        }),
        mean("laplace", Space::Complement, |words| {
            laplace(2, STEPS, EPS, words)
        }),
        mean("staircase", Space::Complement, |words| {
            let core = core_of(staircase2::best_gamma(EPS), STEPS);
            let (x, y) = Staircase2::new(STEPS, core, epsilon(EPS)).draw(words);
            vec![x, y]
        }),
        mean("staircase(gamma=1e-12)", Space::Complement, |words| {
            let (x, y) = Staircase2::new(STEPS, 1, epsilon(EPS)).draw(words);
            vec![x, y]
        }),
        mean("gaussian(mu=1)", Space::Centred, |words| {
            normal(2, 2f64.sqrt() * STEPS as f64, words)
        }),
        mean("gaussian(delta=1e-6)", Space::Centred, |words| {
            let mu = dp_core::privacy::accounting::mu(EPS, 1e-6).expect("a mu");
            normal(2, 2f64.sqrt() * STEPS as f64 / mu, words)
        }),
        mean("shifted", Space::Centred, halves),
        mean("independent", Space::Signed, halves),
        case(
            "dp_mean",
            MEAN,
            "smooth",
            Values,
            AddRemove(1),
            Space::Smooth,
            None,
        ),
        case(
            "dp_mean",
            MEAN,
            "smooth",
            Values,
            Replace,
            Space::Smooth,
            None,
        ),
        case(
            "dp_mean",
            MEAN,
            "clipped(n=5)",
            Values,
            Replace,
            Space::ClippedReplace,
            Some(|words| vec![2 * staircase(EPS, words)]),
        ),
        case(
            "dp_mean",
            CELLS,
            "symmetric(delta=0.05, scale=1, share=0.9)",
            Values,
            AddRemove(1),
            Space::Cells,
            None,
        ),
        case(
            "dp_mean",
            CELLS,
            "symmetric_known_n(delta=0.05, scale=1, n=5, share=0.9)",
            Values,
            Replace,
            Space::CellsReplace,
            None,
        ),
        case(
            "dp_mean",
            AUTO,
            "auto",
            Values,
            AddRemove(1),
            Space::Auto,
            None,
        ),
        case(
            "dp_mean",
            AUTO_BETWEEN,
            "auto(rows=3)",
            Values,
            AddRemove(3),
            Space::Auto,
            None,
        ),
        case(
            "dp_sum",
            AUTO_SUM,
            "auto",
            Values,
            AddRemove(1),
            Space::AutoSum,
            None,
        ),
        case(
            "dp_sum",
            AUTO_SUM_BETWEEN,
            "auto(rows=3)",
            Values,
            AddRemove(3),
            Space::AutoSum,
            None,
        ),
        case(
            "dp_var_pop",
            AUTO_VARIANCE,
            "auto",
            Values,
            AddRemove(1),
            Space::AutoVariance,
            None,
        ),
        case(
            "dp_var_pop",
            AUTO_VARIANCE_BETWEEN,
            "auto(sample=yes, rows=3)",
            Values,
            AddRemove(3),
            Space::AutoVariance,
            None,
        ),
        case(
            "dp_mean",
            "dp_mean_and_count(x, 0, 1, {eps}, '{mech}')",
            "hybrid(delta=0.2, n=5, moment=4, psi=1)",
            Values,
            Replace,
            Space::Coins(G),
            Some(|words| {
                below(5, words);
                vec![staircase(EPS, words)]
            }),
        ),
        case(
            "dp_mean",
            MEAN,
            "name_and_shame(delta=0.2, n=5)",
            Values,
            Replace,
            Space::Coins(0),
            Some(|_| vec![0]),
        ),
        sum("staircase", |words| vec![staircase(EPS, words)]),
        sum("staircase(gamma=1e-12)", |words| {
            vec![Staircase::new(STEPS, 1, epsilon(EPS)).draw(words).value]
        }),
        sum("laplace", |words| laplace(1, STEPS, EPS, words)),
        sum("gaussian(mu=1)", |words| normal(1, STEPS as f64, words)),
        value(
            "dp_var_pop",
            VARIANCE,
            "laplace",
            Space::LaplaceMoments,
            |words| laplace(3, 2 * COARSE_STEPS * COARSE_STEPS, EPS, words),
        ),
        value(
            "dp_var_pop",
            VARIANCE,
            "gaussian(mu=1, sample=yes)",
            Space::GaussianMoments,
            |words| normal(3, (COARSE * COARSE) as f64, words),
        ),
        pair(
            "dp_covar_pop",
            COVARIANCE,
            "laplace",
            Space::LaplacePairs(4, 1),
            |words| laplace(4, PAIR_STEPS * PAIR_STEPS, EPS, words),
        ),
        pair(
            "dp_covar_pop",
            COVARIANCE,
            "gaussian(mu=1)",
            Space::GaussianPairs(&[1, 2, 2, 4], 9),
            |words| {
                let unit = 3.0 * PAIR as f64;
                let sizes = [unit, unit / 2f64.sqrt(), unit / 2f64.sqrt(), unit / 2.0];
                let each = sizes.map(|size| normal(1, size, words)[0]);
                each.to_vec()
            },
        ),
        pair(
            "dp_weighted_mean",
            WEIGHTED,
            "laplace",
            Space::Weights,
            |words| laplace(2, PAIR_STEPS * PAIR_STEPS + 2, EPS, words),
        ),
        pair(
            "dp_regr_slope",
            SLOPE,
            "laplace",
            Space::LaplacePairs(5, 9),
            |words| laplace(5, 9 * PAIR_STEPS * PAIR_STEPS, EPS, words),
        ),
        pair(
            "dp_regr_slope",
            SLOPE,
            "gaussian(mu=1)",
            Space::GaussianPairs(&[1; 6], 243),
            |words| normal(6, 243f64.sqrt() * PAIR as f64, words),
        ),
        pair(
            "dp_corr",
            CORRELATION,
            "laplace",
            Space::LaplacePairs(6, 8),
            |words| laplace(6, 8 * PAIR_STEPS * PAIR_STEPS, EPS, words),
        ),
        pair(
            "dp_corr",
            CORRELATION,
            "gaussian(mu=1)",
            Space::GaussianPairs(&[1; 6], 243),
            |words| normal(6, 243f64.sqrt() * PAIR as f64, words),
        ),
        pair(
            "dp_linear_regression",
            LINEAR,
            "knorm",
            Space::Columns([1; 10]),
            |words| cube(10, PAIR_STEPS * PAIR_STEPS, words),
        ),
        pair(
            "dp_linear_regression",
            LINEAR,
            "gaussian(mu=1)",
            Space::Columns([4, 3, 3, 4, 2, 2, 2, 3, 4, 4]),
            |words| normal(10, 103f64.sqrt() * PAIR as f64, words),
        ),
        value(
            "dp_histogram",
            HISTOGRAM,
            "geometric",
            Space::Bins(7),
            |words| geometric(7, words),
        ),
        case(
            "dp_histogram",
            HISTOGRAM,
            "geometric(outside=drop)",
            Inside,
            AddRemove(1),
            Space::Bins(7),
            Some(|words| geometric(7, words)),
        ),
        value(
            "dp_cdf",
            "dp_cdf(x, {lo}, {hi}, 7, {eps}, '{mech}')",
            "tree",
            Space::Bins(7),
            |words| geometric(7, words),
        ),
        value(
            "dp_bounds",
            BOUNDS,
            "geometric(beta=0.9)",
            Space::Bins(BINS),
            |words| geometric(BINS, words),
        ),
        value(
            "dp_clamped",
            CLAMPED,
            "geometric",
            Space::Bins(SIDES),
            |words| geometric(SIDES, words),
        ),
        vector("dp_counts", COUNTS, "knorm", whole(UNIT), |words| {
            cube(D + 1, UNIT as u64, words)
        }),
        vector(
            "dp_counts",
            COUNTS,
            "correlated(mu=1, c=2)",
            whole(UNIT),
            |words| correlated(UNIT as f64, words),
        ),
        vector(
            "dp_counts",
            COUNTS,
            "gaussian(mu=1)",
            Space::Few(UNIT, D),
            |words| normal(D, (D as f64).sqrt() * UNIT as f64, words),
        ),
        vector(
            "dp_counts",
            COUNTS,
            "known_n(mu=1, n=5)",
            alone(UNIT),
            |words| normal(D, (D as f64).sqrt() * UNIT as f64, words),
        ),
        vector("dp_counts", COUNTS, "laplace", Space::Few(1, D), |words| {
            laplace(D, D as u64, EPS, words)
        }),
        vector(
            "dp_counts",
            COUNTS,
            "ellipse(mu=1, k=2)",
            Space::Few(UNIT, 2),
            |words| ellipse(UNIT as f64, words),
        ),
        Case {
            from_0: true,
            ..vector("dp_sums", SUMS, "knorm(d=4)", whole(G), |words| {
                cube(D + 1, STEPS, words)
            })
        },
        // Values that count from 0.
        vector(
            "dp_sums",
            SUMS_AROUND_0,
            "knorm(d=4)",
            Space::Values(G),
            |words| cube(D, STEPS, words),
        ),
        vector(
            "dp_sums",
            SUMS,
            "correlated(mu=1, c=2, d=4)",
            whole(G),
            |words| correlated(STEPS as f64, words),
        ),
        vector(
            "dp_sums",
            SUMS,
            "gaussian(mu=1, d=4)",
            Space::Values(G),
            |words| normal(D, (D as f64).sqrt() * STEPS as f64, words),
        ),
        vector(
            "dp_sums",
            SUMS,
            "known_n(mu=1, n=5, d=4)",
            alone(G),
            |words| normal(D, (D as f64).sqrt() * STEPS as f64, words),
        ),
        vector("dp_sums", SUMS, "laplace(d=4)", Space::Values(G), |words| {
            laplace(D, D as u64 * STEPS, EPS, words)
        }),
        vector("dp_means", MEANS, "knorm(d=4)", whole(G), |words| {
            cube(D + 1, STEPS, words)
        }),
        vector(
            "dp_means",
            MEANS,
            "correlated(mu=1, c=2, d=4)",
            whole(G),
            |words| correlated(STEPS as f64, words),
        ),
        vector(
            "dp_means",
            MEANS,
            "known_n(mu=1, n=5, d=4)",
            alone(G),
            |words| normal(D, (D as f64).sqrt() * STEPS as f64, words),
        ),
        Case {
            from_0: true,
            ..vector(
                "dp_sums",
                SUMS,
                "ellipse(mu=1, k=2, d=4)",
                Space::Few(G, 2),
                |words| ellipse(STEPS as f64, words),
            )
        },
        case(
            "dp_counts",
            COUNTS,
            "correlated(mu=1, c=2, relation=replace)",
            All,
            Replace,
            Space::VectorReplace(UNIT),
            Some(|words| {
                let sigma = no_less(16f64.sqrt() * UNIT as f64);
                let distribution = RoundedNormal::new(sigma);
                let mut noise: Vec<_> = (0..D).map(|_| distribution.draw(words)).collect();
                noise.extend(normal(1, sigma / 2.0, words));
                noise
            }),
        ),
        case(
            "dp_counts",
            COUNTS,
            "laplace(relation=replace)",
            All,
            Replace,
            Space::ValuesReplace(1),
            Some(|words| laplace(D, 2 * D as u64, EPS, words)),
        ),
        case(
            "dp_counts",
            COUNTS,
            "knorm(relation=replace)",
            All,
            Replace,
            Space::VectorReplace(UNIT),
            Some(|words| cube(D + 1, 2 * UNIT as u64, words)),
        ),
        case(
            "dp_sums",
            SUMS,
            "gaussian(mu=1, relation=replace, d=4)",
            NotNull,
            Replace,
            Space::ValuesReplace(G),
            None,
        ),
    ];
    let quantiles = |aggregate, call, mechanism, relation| {
        case(
            aggregate,
            call,
            mechanism,
            Values,
            relation,
            Space::Choices,
            None,
        )
    };
    let walk = |aggregate, call, mechanism, relation, space, noise: Noise| {
        case(
            aggregate,
            call,
            mechanism,
            Values,
            relation,
            space,
            Some(noise),
        )
    };
    const QUANTILE: &str = "dp_quantile(x, {lo}, {hi}, 0.9, {eps}, '{mech}')";
    const UPPER_QUARTILE: &str = "dp_quantile(x, {lo}, {hi}, 0.75, {eps}, '{mech}')";
    const MEDIAN: &str = "dp_median(x, {lo}, {hi}, {eps}, '{mech}')";
    const QUARTILES: &str = "dp_quantiles(x, {lo}, {hi}, '{0.25,0.5,0.75}', {eps}, '{mech}')";
    cases.extend([
        quantiles("dp_quantile", QUANTILE, "em(bins=8)", AddRemove(1)),
        quantiles(
            "dp_median",
            MEDIAN,
            "em(bins=64, grid=log, rho=0.3)",
            AddRemove(1),
        ),
        walk(
            "dp_quantile",
            UPPER_QUARTILE,
            "rising(grid=linear, bins=8)",
            AddRemove(1),
            Space::Walk(3, 4),
            |words| walked(EPS, [3, 4], words),
        ),
        walk(
            "dp_median",
            MEDIAN,
            "rising(grid=linear, bins=8, rows=3)",
            AddRemove(3),
            Space::Walk(1, 2),
            |words| walked(EPS / 3.0, [1, 2], words),
        ),
        quantiles("dp_quantiles", QUARTILES, "em(bins=8)", AddRemove(1)),
        quantiles(
            "dp_quantiles",
            QUARTILES,
            "em(bins=8, rows=3)",
            AddRemove(3),
        ),
    ]);
    let count = |mechanism, relation, noise: Noise| {
        let space = Space::Rows;
        case(
            "dp_count",
            COUNT,
            mechanism,
            NotNull,
            relation,
            space,
            Some(noise),
        )
    };
    let keep = |mechanism, relation| {
        case(
            "dp_keep",
            KEEP,
            mechanism,
            All,
            relation,
            Space::People,
            None,
        )
    };
    cases.extend([
        case(
            "dp_count_distinct",
            "dp_count_distinct(x, {eps}, '{mech}')",
            "bitmap(bits=1024)",
            NotNull,
            AddRemove(1),
            Space::Occupied,
            Some(|words| geometric(1, words)),
        ),
        case(
            "dp_count_distinct",
            "dp_count_distinct(x::text, {eps}, '{mech}')",
            "bitmap(values=3)",
            NotNull,
            AddRemove(3),
            Space::Occupied,
            Some(|words| {
                let distribution = Staircase::two_sided_geometric(epsilon(EPS / 3.0));
                vec![distribution.draw(words).value]
            }),
        ),
        count("geometric", AddRemove(1), |words| geometric(1, words)),
        count("gaussian(mu=1)", AddRemove(1), |words| {
            normal(1, 1.0, words)
        }),
        // The least v with e^(-eps v) / (1 + e^-eps) <= 0.05 at this eps is 2.
        count("undercount(delta=0.05)", AddRemove(1), |words| {
            vec![geometric(1, words)[0].clamp(-2, 2) - 2]
        }),
        keep("keep", AddRemove(1)),
        keep("keep(rows=3)", AddRemove(3)),
        // Three rows of a person, at a third of eps and of mu each.
        count("gaussian(mu=1, rows=3)", AddRemove(3), |words| {
            let mu = 1.0 / 3.0 * (1.0 - 1e-15);
            normal(1, 1.0 / mu, words)
        }),
        case(
            "dp_mean",
            MEAN,
            "hourglass(rows=3)",
            Values,
            AddRemove(3),
            Space::Complement,
            Some(|words| hourglass(EPS / 3.0, words)),
        ),
        case(
            "dp_sum",
            SUM,
            "laplace(rows=3)",
            Values,
            AddRemove(3),
            Space::Sum,
            Some(|words| laplace(1, STEPS, EPS / 3.0, words)),
        ),
        case(
            "dp_counts",
            COUNTS,
            "laplace(rows=3)",
            All,
            AddRemove(3),
            Space::Few(1, D),
            Some(|words| laplace(D, D as u64, EPS / 3.0, words)),
        ),
        case(
            "dp_clamped",
            CLAMPED,
            "geometric(rows=3)",
            Values,
            AddRemove(3),
            Space::Bins(SIDES),
            None,
        ),
        case(
            "dp_histogram",
            HISTOGRAM,
            "geometric(rows=3)",
            Values,
            AddRemove(3),
            Space::Bins(7),
            None,
        ),
        case(
            "dp_count",
            "dp_count({eps})",
            "geometric",
            All,
            AddRemove(1),
            Space::Rows,
            Some(|words| geometric(1, words)),
        ),
    ]);
    cases
}

// The comparison --------------------------------------------------------------------------------

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
