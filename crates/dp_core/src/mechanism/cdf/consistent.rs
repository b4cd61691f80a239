//! What is made of the noisy counts of a tree: post-processing, in floats.

use crate::memory;

/// How many children the nodes of a tree have over that many leaves, so that the parts of the rows up to a leaf have the
/// least noise on average.
///
/// Of a node with `b` children whose counts have variance `v` from what is below them, the sum of the first `a`
/// children, and of the part `p` of the next one, is what that part of the node is, and noise of variance `v (a + p^2 -
/// (a + p)^2 / b)`: on average `v (b - 1) / 6`. The levels add up, and with `h` levels all noise is `h^2` times as
/// large. `v` is 1 for leaves and `b v / (1 + b v)` for those above nodes of variance `v`. For a number of levels the
/// fewest children are best.
pub fn best_branches(leaves: usize) -> usize {
    let error = |branches: usize| {
        let (mut nodes, mut levels, mut variance, mut sum) = (leaves, 1.0f64, 1.0, 0.0);
        while nodes > branches {
            sum += variance * (branches as f64 - 1.0);
            variance *= branches as f64 / (1.0 + branches as f64 * variance);
            nodes = nodes.div_ceil(branches);
            levels += 1.0;
        }
        levels * levels * (sum + variance * (nodes as f64 - 1.0))
    };
    let fewest = |levels: u32| {
        let reaches = |branches: &usize| branches.saturating_pow(levels) >= leaves;
        let root = (leaves as f64).powf(1.0 / f64::from(levels)) as usize;
        (root.max(3) - 1..).find(reaches).unwrap_or(leaves)
    };
    let all = (1..=20).map(fewest);
    all.min_by(|one, other| error(*one).total_cmp(&error(*other)))
        .unwrap_or(leaves)
}

/// The best guess of each leaf, from the noisy counts of all nodes, whose noise has one variance: by least squares, so
/// that every node is the sum of its children. `levels` begins with the leaves; the nodes of the next level are the
/// sums of that many `branches` each.
///
/// Bottom up, a node is guessed from what is below it: its own count and the sum of its children's guesses, weighted by
/// the inverses of their variances. Top down, what a node is guessed to be by all is shared out to its children, in
/// proportion to their variances (Hay, Rastogi, Miklau, Suciu 2010; of nodes with fewer children, too).
pub fn leaves(levels: &[Vec<i64>], branches: usize) -> Vec<f64> {
    let Some((first, others)) = levels.split_first() else {
        return Vec::new();
    };
    // From below: guesses and variances, in units of the noise's.
    let plain = memory::vector(first.len(), first.iter().map(|count| (*count as f64, 1.0)));
    let mut guesses = vec![plain];
    for counts in others {
        let below = guesses.last().map_or(&[][..], Vec::as_slice);
        let nodes = counts.iter().zip(below.chunks(branches));
        let guess = nodes.map(|(count, children)| {
            let (sum, variance) = add(children);
            let weight = variance / (1.0 + variance);
            (weight * *count as f64 + (1.0 - weight) * sum, weight)
        });
        let guess = memory::vector(counts.len(), guess);
        guesses.push(guess);
    }
    // From above.
    let mut known: Vec<f64> = Vec::new();
    for level in guesses.iter().rev() {
        let parents = known.iter().copied().map(Some);
        let parents = parents.chain(std::iter::repeat(None));
        let shared = level.chunks(branches).zip(parents);
        let values = shared.flat_map(|(children, parent)| {
            let (sum, variance) = add(children);
            // At the top there is no parent.
            let rest = parent.map_or(0.0, |parent| (parent - sum) / variance);
            children.iter().map(move |(guess, own)| guess + own * rest)
        });
        known = memory::vector(level.len(), values);
    }
    known
}

/// The sum of some guesses, and its variance.
fn add(guesses: &[(f64, f64)]) -> (f64, f64) {
    let sums = guesses.iter();
    sums.fold((0.0, 0.0), |(sum, variance), (guess, own)| {
        (sum + guess, variance + own)
    })
}

/// The numbers that never fall, from 0 on, which are nearest to these: by least squares, as neighbours that fall are
/// replaced by their mean (Ayer, Brunk, Ewing, Reid, Silverman 1955).
pub fn rising(numbers: &[f64]) -> Vec<f64> {
    // Means of neighbours, and of how many.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for number in numbers {
        let (mut mean, mut many) = (*number, 1);
        while let Some((before, length)) = blocks.last().copied()
            && before >= mean
        {
            let all = many + length;
            mean += (before - mean) * (length as f64 / all as f64);
            many = all;
            blocks.pop();
        }
        blocks.push((mean, many));
    }
    let blocks = blocks.iter();
    let values = blocks.flat_map(|(mean, many)| std::iter::repeat_n(mean.max(0.0), *many));
    memory::vector(numbers.len(), values)
}
