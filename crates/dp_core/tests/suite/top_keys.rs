//! What the largest groups of undeclared keys cost: by the noisy counts of all groups, and by a selection of keys.
//!
//! The figures of docs/private-groups.md: `cargo core -- top_keys --nocapture`.

use dp_core::random::Bits;

use crate::words::Seeded;

const KEYS: usize = 2000;
const PEOPLE: usize = 2000;
const TOP: usize = 10;

fn uniform(words: &mut Seeded) -> f64 {
    ((words.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

fn gumbel(words: &mut Seeded) -> f64 {
    -(-uniform(words).ln()).ln()
}

fn laplace(words: &mut Seeded) -> f64 {
    uniform(words).ln() - uniform(words).ln()
}

/// The keys of the largest numbers.
fn largest(numbers: impl Iterator<Item = f64>) -> Vec<usize> {
    let mut keys: Vec<(f64, usize)> = numbers.zip(0..).collect();
    keys.sort_by(|one, other| other.0.total_cmp(&one.0));
    keys.into_iter().take(TOP).map(|(_, key)| key).collect()
}

/// How many of the largest keys are found: by the counts of all keys, each person in `groups` of theirs, with Laplace noise of
/// scale `groups / eps`; and by the exact counts with Gumbel noise of scale `TOP / eps`, which is `TOP` choices by the
/// exponential mechanism at `eps / TOP` each (Durfee, Rogers 2019), without the share for keys that nobody knows.
fn found(each: usize, eps: f64, words: &mut Seeded) -> [f64; 2] {
    const TRIES: usize = 10;
    // Weights fall as 1 over the rank; a person has keys without repetition.
    let people: Vec<Vec<usize>> = (0..PEOPLE)
        .map(|_| {
            let mut places: Vec<(f64, usize)> = (0..KEYS)
                .map(|key| (gumbel(words) - ((key + 1) as f64).ln(), key))
                .collect();
            places.select_nth_unstable_by(each, |one, other| other.0.total_cmp(&one.0));
            places.into_iter().take(each).map(|(_, key)| key).collect()
        })
        .collect();
    let mut exact = vec![0.0; KEYS];
    people.iter().flatten().for_each(|key| exact[*key] += 1.0);
    let top = largest(exact.iter().copied());
    let right = |keys: &[usize]| keys.iter().filter(|key| top.contains(key)).count() as f64;
    let tries = TRIES as f64;
    let mut found = [0.0; 2];
    for groups in [1, 3, 10, 30, 100]
        .into_iter()
        .filter(|groups| *groups <= each)
    {
        let mut own = 0.0;
        for _ in 0..TRIES {
            let mut counts = vec![0.0; KEYS];
            for keys in &people {
                let mut keys = keys.clone();
                for place in 0..groups {
                    let other = place + (words.word() % (each - place) as u64) as usize;
                    keys.swap(place, other);
                    counts[keys[place]] += 1.0;
                }
            }
            let scale = groups as f64 / eps;
            own += right(&largest(counts.iter().map(|n| n + scale * laplace(words)))) / tries;
        }
        found[0] = f64::max(found[0], own);
    }
    for _ in 0..TRIES {
        let scale = TOP as f64 / eps;
        found[1] += right(&largest(exact.iter().map(|n| n + scale * gumbel(words)))) / tries;
    }
    found
}

#[test]
fn a_selection_of_keys_is_worth_it_where_people_are_in_many_groups() {
    let words = &mut Seeded::new(8101);
    for (each, eps, least_gain, most_gain) in [
        (3, 1.0, -3.0, -0.3),
        (30, 1.0, -0.5, 1.0),
        (100, 1.0, 0.3, 3.0),
        (3, 0.1, -6.0, -1.0),
        (30, 0.1, 3.0, 8.0),
        (100, 0.1, 6.0, 10.0),
    ] {
        let [counts, selection] = found(each, eps, words);
        println!(
            "{each} keys each, eps {eps}: {counts:.1} by their counts, {selection:.1} by a selection"
        );
        let gain = selection - counts;
        assert!(
            (least_gain..=most_gain).contains(&gain),
            "{each} {eps}: {counts} {selection}"
        );
    }
}
