//! Which groups a person stays in, where they may be in no more than `l`: those of smallest rank. The rank of a group
//! is a hash of the person, the group's keys and a salt, so it looks at nobody else's rows.
//!
//! Groups of one rank stay or go together. So what stays is the same for every order of the person's rows and every
//! split of them into parts, even where a type's hash function tells few values apart.
//!
//! The proof: docs/proofs/groups.md.

/// What hashes are mixed with: of one database the same in every query. It need not be secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt {
    /// For the hash of the person.
    pub person: u64,
    /// For the hashes of keys.
    pub keys: u64,
}

impl Salt {
    /// From random bytes.
    pub fn of(bytes: [u8; 16]) -> Self {
        let number = u128::from_le_bytes(bytes);
        Self {
            person: number as u64,
            keys: (number >> 64) as u64,
        }
    }
}

/// The rank of no group: all are below.
pub const LAST: u64 = u64::MAX;

/// The rank of a group among those of a person, from the hashes of the person and of the group's keys.
#[inline]
pub fn rank(person: u64, keys: impl Iterator<Item = u64>) -> u64 {
    let mixed = keys.fold(mixed(person), |rank, key| mixed(rank.wrapping_add(key)));
    mixed.min(LAST - 1)
}

/// Spreads a number over all 64 bits, one to one: the finalizer of MurmurHash3, by Austin Appleby.
#[inline]
fn mixed(mut h: u64) -> u64 {
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

/// The groups that are kept of a person, by rank.
pub trait KeptGroup {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank of one of them.
    fn rank(&self, i: usize) -> u64;

    /// Groups of this rank, and of larger ones, are out for good: there are too many below.
    fn end(&self) -> u64;

    /// Keeps those below a rank alone, the first `length`, now and later.
    fn cut(&mut self, length: usize, end: u64);
}

/// Where a group is among those that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotPlace {
    /// There already.
    Known(usize),
    /// It belongs there, before the one that is there now.
    New(usize),
    /// It is out.
    Out,
}

/// Finds the place of a group with this rank among the at most `most` that are kept. `is_it` says whether the one at
/// a place, of the same rank, is this group.
///
/// Where one more would be too many, the last go: all of the last rank.
pub fn place<K: KeptGroup>(
    kept: &mut K,
    most: usize,
    rank: u64,
    mut is_it: impl FnMut(&K, usize) -> bool,
) -> SlotPlace {
    if rank >= kept.end() {
        return SlotPlace::Out;
    }
    let mut at = first(kept, rank);
    while at < kept.len() && kept.rank(at) == rank {
        if is_it(kept, at) {
            return SlotPlace::Known(at);
        }
        at += 1;
    }
    if kept.len() >= most {
        let largest = kept.rank(kept.len() - 1).max(rank);
        kept.cut(first(kept, largest), largest);
        if rank == largest {
            return SlotPlace::Out;
        }
    }
    SlotPlace::New(at)
}

/// Keeps no group at or beyond the end of another part of the same person's groups.
pub fn end_with<K: KeptGroup>(kept: &mut K, end: u64) {
    if end < kept.end() {
        kept.cut(first(kept, end), end);
    }
}

/// The first place with this rank or a larger one.
fn first<K: KeptGroup>(kept: &K, rank: u64) -> usize {
    let (mut low, mut high) = (0, kept.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if kept.rank(middle) < rank {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups as ranks and names, with the rows of each.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Person {
        most: usize,
        kept: Vec<(u64, char, u32)>,
        end: u64,
    }

    impl KeptGroup for Person {
        fn len(&self) -> usize {
            self.kept.len()
        }

        fn rank(&self, i: usize) -> u64 {
            self.kept[i].0
        }

        fn end(&self) -> u64 {
            self.end
        }

        fn cut(&mut self, length: usize, end: u64) {
            self.kept.truncate(length);
            self.end = end;
        }
    }

    impl Person {
        fn new(most: usize) -> Self {
            let (kept, end) = (Vec::new(), LAST);
            Self { most, kept, end }
        }

        fn take(&mut self, rank: u64, name: char, rows: u32) {
            match place(self, self.most, rank, |person, i| person.kept[i].1 == name) {
                SlotPlace::Known(i) => self.kept[i].2 += rows,
                SlotPlace::New(i) => self.kept.insert(i, (rank, name, rows)),
                SlotPlace::Out => {}
            }
            assert!(self.kept.len() <= self.most);
            assert!(self.kept.is_sorted_by_key(|kept| kept.0));
        }

        fn merge(mut self, other: &Self) -> Self {
            end_with(&mut self, other.end);
            for (rank, name, rows) in &other.kept {
                self.take(*rank, *name, *rows);
            }
            self
        }

        /// What is kept, without the order of groups of one rank.
        fn set(&self) -> (Vec<(u64, char, u32)>, u64) {
            let mut kept = self.kept.clone();
            kept.sort_unstable();
            (kept, self.end)
        }
    }

    fn person(most: usize, rows: &[(u64, char)]) -> Person {
        let mut person = Person::new(most);
        rows.iter()
            .for_each(|(rank, name)| person.take(*rank, *name, 1));
        person
    }

    /// By the words of the rule: whole ranks from the smallest on, as long as all fit.
    fn by_the_rule(most: usize, rows: &[(u64, char)]) -> Vec<(u64, char, u32)> {
        let mut groups: Vec<(u64, char)> = rows.to_vec();
        groups.sort_unstable();
        groups.dedup();
        let fits = |rank: u64| groups.iter().filter(|group| group.0 <= rank).count() <= most;
        let of = |group: &(u64, char)| rows.iter().filter(|row| *row == group).count() as u32;
        let kept = groups.iter().filter(|group| fits(group.0));
        kept.map(|group| (group.0, group.1, of(group))).collect()
    }

    fn each_sequence(of: &[(u64, char)], length: usize, visit: &mut impl FnMut(&[(u64, char)])) {
        let mut at = vec![0; length];
        loop {
            let rows: Vec<_> = at.iter().map(|i| of[*i]).collect();
            visit(&rows);
            let Some(i) = (0..length).find(|i| at[*i] + 1 < of.len()) else {
                return;
            };
            at[i] += 1;
            at[..i].fill(0);
        }
    }

    /// All sequences of up to 6 rows over 5 groups, with two of the same rank, and all splits into two parts: no more
    /// than `most` groups, and those of the rule, which looks at neither order nor parts.
    #[test]
    fn what_is_kept_is_a_function_of_the_rows() {
        const GROUPS: [(u64, char); 5] = [(7, 'a'), (3, 'b'), (9, 'c'), (3, 'd'), (5, 'e')];
        for most in 1..=4 {
            for length in 0..=6 {
                each_sequence(&GROUPS, length, &mut |rows| {
                    let all = person(most, rows);
                    let kept = by_the_rule(most, rows);
                    assert_eq!(all.set().0, kept, "{most} {rows:?}");
                    for split in 0..=length {
                        let (one, other) = rows.split_at(split);
                        let merged = person(most, one).merge(&person(most, other));
                        assert_eq!(merged.set(), all.set(), "{most} {rows:?} {split}");
                    }
                });
            }
        }
    }

    #[test]
    fn groups_of_one_rank_stay_or_go_together() {
        let all_alike: Vec<_> = ('a'..='e').map(|name| (4, name)).collect();
        assert_eq!(person(5, &all_alike).kept.len(), 5);
        assert_eq!(person(4, &all_alike).kept.len(), 0);
        let last_alike = [(4, 'a'), (1, 'b'), (4, 'c')];
        assert_eq!(person(2, &last_alike).kept, [(1, 'b', 1)]);
    }

    #[test]
    fn ranks_differ_by_person_and_by_key() {
        let of = |person: u64, keys: &[u64]| rank(person, keys.iter().copied());
        assert_ne!(of(1, &[1, 2]), of(1, &[2, 1]));
        assert_ne!(of(1, &[1]), of(2, &[1]));
        assert_ne!(of(1, &[1]), of(1, &[1, 0]));
        // Each of 10 groups is among the 3 of about 3 in 10 persons.
        let mut counts = [0; 10];
        for someone in 0..20_000 {
            let mut groups: Vec<_> = (0..10).collect();
            groups.sort_by_key(|group| of(someone, &[*group]));
            groups[..3]
                .iter()
                .for_each(|group| counts[*group as usize] += 1);
        }
        let (least, most) = (counts.iter().min(), counts.iter().max());
        assert!(least > Some(&5700) && most < Some(&6300), "{counts:?}");
        assert!(of(1, &[]) < LAST);
    }
}
