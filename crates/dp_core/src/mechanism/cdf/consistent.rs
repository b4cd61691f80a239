//! What is made of the noisy counts of a tree: post-processing, in floats.

use crate::memory;

/// Children of a node.
pub const BRANCHES: usize = 16;

/// The best guess of each leaf, from the noisy counts of all nodes, whose noise has one variance: by least squares, so
/// that every node is the sum of its children. `levels` begins with the leaves; the nodes of the next level are the
/// sums of 16 each.
///
/// Bottom up, a node is guessed from what is below it: its own count and the sum of its children's guesses, weighted by
/// the inverses of their variances. Top down, what a node is guessed to be by all is shared out to its children, in
/// proportion to their variances (Hay, Rastogi, Miklau, Suciu 2010; of nodes with fewer children, too).
pub fn leaves(levels: &[Vec<i64>]) -> Vec<f64> {
    let Some((first, others)) = levels.split_first() else {
        return Vec::new();
    };
    // From below: guesses and variances, in units of the noise's.
    let plain = memory::vector(first.len(), first.iter().map(|count| (*count as f64, 1.0)));
    let mut guesses = vec![plain];
    for counts in others {
        let below = guesses.last().map_or(&[][..], Vec::as_slice);
        let nodes = counts.iter().zip(below.chunks(BRANCHES));
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
        let shared = level.chunks(BRANCHES).zip(parents);
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
