//! What a person's state says of its columns: keys, and what the person contributes by which rule.

use dp_core::request::unit::MOST_OF_A_PERSON;
use pgrx::pg_sys::Oid;

use crate::pg::grouping_keys::Lies;
use crate::state::groups::sums::SumsForm;

/// What a column is: a key, or what the person contributes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Column {
    /// The type of a key; 0 for a contribution.
    kind: Oid,
    collation: Oid,
    /// Of a key how it lies: 0 inside, its length, or `u32::MAX` for a varlena.
    pub(super) lies: u32,
    /// Of a contribution whether the total counts, the most rows, and the bounds; 0 rows before there is a value.
    total: u32,
    k: u64,
    lo: u64,
    hi: u64,
}

/// How a varlena lies.
pub(super) const VARLENA: u32 = u32::MAX;

impl Column {
    /// A column of contributions, before there is a value.
    pub const CONTRIBUTION: Self = Self {
        kind: Oid::INVALID,
        collation: Oid::INVALID,
        lies: 0,
        total: 0,
        k: 0,
        lo: 0,
        hi: 0,
    };

    /// A column of keys.
    pub fn of_key(kind: Oid, collation: Oid, lies: Lies) -> Self {
        let lies = match lies {
            Lies::Inside => 0,
            Lies::Fixed(length) => length,
            Lies::Varlena => VARLENA,
        };
        Self {
            kind,
            collation,
            lies,
            ..Self::CONTRIBUTION
        }
    }

    /// Whether it is the same but for the rule, which is not known at first.
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.collation == other.collation && self.lies == other.lies
    }

    /// Whether it is as the columns of keys of a type are.
    pub fn is_of_type(&self, kind: Oid) -> bool {
        Lies::of(kind).is_some_and(|lies| self.lies == Self::of_key(kind, Oid::INVALID, lies).lies)
    }

    /// The type of a key with its collation; `None` for a contribution.
    pub fn key(&self) -> Option<(Oid, Oid)> {
        self.key_type().map(|kind| (kind, self.collation))
    }

    /// The type of a key; `None` for a contribution.
    pub fn key_type(&self) -> Option<Oid> {
        (self.kind != Oid::INVALID).then_some(self.kind)
    }

    /// Words in a slot.
    fn width(&self, form: SumsForm) -> usize {
        if self.key_type().is_some() {
            1
        } else {
            form.words()
        }
    }

    /// Whether the total of the rows counts.
    pub(super) fn is_total(&self) -> bool {
        self.total != 0
    }

    /// How its values become contributions; `None` of a key, and before there is a value.
    pub(super) fn rule(&self) -> Option<Rule> {
        let k = u32::try_from(self.k).ok()?;
        let is_possible = self.key_type().is_none() && (1..=MOST_OF_A_PERSON).contains(&k);
        is_possible.then_some(Rule {
            total: self.is_total(),
            k,
            bounds: [self.lo, self.hi],
        })
    }

    /// Whether its values come by this rule, as they do from the first one on.
    pub(super) fn comes_by(&mut self, rule: &Rule) -> bool {
        if self.k == 0 {
            let [lo, hi] = rule.bounds;
            (self.total, self.k) = (u32::from(rule.total), u64::from(rule.k));
            (self.lo, self.hi) = (lo, hi);
        }
        self.rule() == Some(*rule)
    }
}

/// How a person's rows become a contribution.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Whether the total of the rows counts.
    pub total: bool,
    /// The most rows, from 1.
    pub k: u32,
    /// The bits of the bounds.
    pub bounds: [u64; 2],
}

const _: () = assert!(size_of::<Column>() == 40 && align_of::<Column>() == 8);

/// Words of a slot with these columns: the rank, a bit for each key that is NULL, and what the columns have.
pub(super) fn width(columns: &[Column], form: SumsForm) -> usize {
    2 + columns
        .iter()
        .map(|column| column.width(form))
        .sum::<usize>()
}
