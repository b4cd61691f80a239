//! What audits share: how private a release can be at most, judged by its answers for two
//! neighbouring tables.
//!
//! One half of the answers says which event tells the tables apart best; the other half bounds its
//! chances, so that no bound is too large but with the chance [`ALPHA`].

use std::collections::HashMap;

use crate::statistics::{ALPHA, clopper_pearson, wilson};

/// Cuts the range of one number into cells: a cell for each value that comes often, such as a
/// bound, and the rest into equal parts.
struct Cells {
    often: Vec<f64>,
    cuts: Vec<f64>,
}

impl Cells {
    fn new(mut numbers: Vec<f64>, cells: usize) -> Self {
        numbers.sort_by(f64::total_cmp);
        let share = numbers.len().div_ceil(cells);
        let same = numbers
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len() * 2 > share);
        let often = same.map(|same| same[0]).collect();
        let cuts = numbers.chunks(share).map(|chunk| chunk[0]).collect();
        Self { often, cuts }
    }

    fn of(&self, number: f64) -> (bool, usize) {
        match self.often.iter().position(|often| *often == number) {
            Some(cell) => (true, cell),
            None => (false, self.cuts.partition_point(|cut| *cut <= number)),
        }
    }
}

/// How many answers of each table fall into each cell of all columns.
type Counts = HashMap<Vec<(bool, usize)>, [u64; 2]>;

/// The answers of two tables, cut into cells by one half of them: the counts of that half, those of
/// the other, and how many answers of each table each half has.
fn counted(answers: [&[f64]; 2], columns: usize) -> ([Counts; 2], [u64; 2]) {
    let middle = |answers: &[f64]| answers.len() / columns / 2 * columns;
    let halves = answers.map(|answers| answers.split_at(middle(answers)));
    let (training, test) = (halves.map(|halves| halves.0), halves.map(|halves| halves.1));
    let per_column = if columns == 1 { 64 } else { 20 };
    let cells: Vec<Cells> = (0..columns)
        .map(|column| {
            let numbers = training
                .iter()
                .flat_map(|part| part.iter().skip(column).step_by(columns));
            Cells::new(numbers.copied().collect(), per_column)
        })
        .collect();
    let cell = |answer: &[f64]| -> Vec<_> {
        cells
            .iter()
            .zip(answer)
            .map(|(cells, number)| cells.of(*number))
            .collect()
    };
    let count = |answers: [&[f64]; 2]| {
        let mut counts = Counts::new();
        for (side, answers) in answers.iter().enumerate() {
            for answer in answers.chunks_exact(columns) {
                counts.entry(cell(answer)).or_default()[side] += 1;
            }
        }
        counts
    };
    let tries = [training, test].map(|half| (half[0].len() / columns) as u64);
    ([training, test].map(count), tries)
}

/// What an event says at least, `told` of its chance on one table and on the other: the event of the
/// cells that are likeliest for the one, as many as tell most. The larger of both directions.
pub fn event_bound(answers: [&[f64]; 2], columns: usize, told: impl Fn(f64, f64) -> f64) -> f64 {
    let ([trained, tested], tries) = counted(answers, columns);
    let at = |hits: [u64; 2], tries, bounds: fn(u64, u64, f64) -> (f64, f64)| {
        let [(lower, _), (_, upper)] = hits.map(|hits| bounds(hits, tries, ALPHA / 2.0));
        told(lower, upper)
    };
    let direction = |[one, other]: [usize; 2]| {
        let mut order: Vec<_> = trained.iter().collect();
        let ratio = |counts: &[u64; 2]| (counts[one] as f64 + 0.5) / (counts[other] as f64 + 0.5);
        order.sort_by(|a, b| ratio(b.1).total_cmp(&ratio(a.1)).then(a.0.cmp(b.0)));
        let (mut event, mut hits, mut most) = (0, [0, 0], f64::NEG_INFINITY);
        for (i, (_, counts)) in order.iter().enumerate() {
            hits = [hits[0] + counts[one], hits[1] + counts[other]];
            let told = at(hits, tries[0], wilson);
            if told > most {
                (event, most) = (i + 1, told);
            }
        }
        let seen = |side: usize| {
            let cells = order[..event].iter();
            let counts = cells.filter_map(|(cell, _)| tested.get(*cell));
            counts.map(|counts| counts[side]).sum()
        };
        at([seen(one), seen(other)], tries[1], clopper_pearson)
    };
    f64::max(direction([0, 1]), direction([1, 0]))
}

/// A bound from below on the epsilon that tells the answers of one table from those of its
/// neighbour. No event of a pure mechanism has one above its epsilon.
pub fn bound(answers: [&[f64]; 2], columns: usize) -> f64 {
    event_bound(answers, columns, |chance, other| (chance / other).ln())
}

/// The same for a mechanism that may besides fail with probability `delta`.
pub fn bound_beside(delta: f64, answers: [&[f64]; 2], columns: usize) -> f64 {
    event_bound(answers, columns, |chance, other| {
        ((chance - delta).max(0.0) / other).ln()
    })
}

/// A bound from below on the delta that the answers allow at `eps`.
pub fn delta_bound(answers: [&[f64]; 2], columns: usize, eps: f64) -> f64 {
    event_bound(answers, columns, |chance, other| chance - eps.exp() * other)
}

/// What the event that a number is beyond a threshold tells at least, as [`event_bound`] has it, of
/// numbers that are larger for the second table: at the threshold that is best in the first half of
/// them.
pub fn threshold_bound(numbers: [&[f64]; 2], told: impl Fn(f64, f64) -> f64) -> f64 {
    let tries = numbers[0].len() / 2;
    let direction = |one: usize, sign: f64| {
        let half = |half: usize| {
            [one, 1 - one].map(|side| {
                let numbers = &numbers[side][half * tries..(half + 1) * tries];
                let mut sorted: Vec<_> = numbers.iter().map(|number| sign * number).collect();
                sorted.sort_by(f64::total_cmp);
                sorted
            })
        };
        let at = |half: &[Vec<f64>; 2], threshold: f64, bounds: fn(u64, u64, f64) -> (f64, f64)| {
            let [(lower, _), (_, upper)] = half.each_ref().map(|numbers| {
                let hits = tries - numbers.partition_point(|number| *number < threshold);
                bounds(hits as u64, tries as u64, ALPHA / 2.0)
            });
            told(lower, upper)
        };
        let (training, test) = (half(0), half(1));
        let (_, best) = training
            .iter()
            .flat_map(|numbers| numbers.iter().step_by(tries / 50))
            .map(|threshold| (at(&training, *threshold, wilson), *threshold))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .expect("a threshold");
        at(&test, best, clopper_pearson)
    };
    f64::max(direction(1, 1.0), direction(0, -1.0))
}
