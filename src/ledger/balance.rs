//! A line of the ledger: what was spent of one budget, by one role or by all together.

use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::Oid;

use crate::ledger::fields;

/// How many bytes a line has in its row.
pub const BYTES: usize = 76;

/// Whose line it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceKey {
    pub budget: i64,
    /// [`Oid::INVALID`] for all together.
    pub role: Oid,
}

/// What the row of `dp_mean.spent` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    pub key: BalanceKey,
    pub spent: Spent,
    pub charges: i64,
    /// How many charges were refused.
    pub refused: i64,
    /// When the audit had a row of one that was refused, as PostgreSQL counts time; `i64::MIN` if it never had.
    pub noted: i64,
    /// How many answers were given again.
    pub reused: i64,
    /// When the audit had a row of one of these; `i64::MIN` if it never had.
    pub reuse_noted: i64,
}

impl Balance {
    /// Nothing was spent yet.
    pub fn new(key: BalanceKey) -> Self {
        Self {
            key,
            spent: Spent::default(),
            charges: 0,
            refused: 0,
            noted: i64::MIN,
            reused: 0,
            reuse_noted: i64::MIN,
        }
    }

    /// The sums of both, for the first one's account.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            key: self.key,
            spent: self.spent.plus(&other.spent),
            charges: self.charges.saturating_add(other.charges),
            reused: self.reused.saturating_add(other.reused),
            ..*self
        }
    }

    /// Whether no number of another line is above this one's.
    pub fn covers(&self, other: &Self) -> bool {
        covers((&self.spent, self.charges), (&other.spent, other.charges))
    }

    /// Whether charges can have made its numbers.
    pub fn is_plausible(&self) -> bool {
        let counted = [self.refused, self.reused];
        let numbers = numbers(&self.spent, self.charges);
        numbers.iter().chain(&counted).all(|n| *n >= 0)
    }

    /// From the data of its row, which has no NULLs and no padding; `None` for another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let number = |i| fields::long(bytes, i);
        Some(Self {
            key: BalanceKey {
                budget: number(0),
                role: Oid::from_u32(u32::from_ne_bytes(fields::short(bytes, 72))),
            },
            spent: Spent {
                epsilon: number(1),
                rho: number(2),
                delta: number(3),
            },
            charges: number(4),
            refused: number(5),
            noted: number(6),
            reused: number(7),
            reuse_noted: number(8),
        })
    }

    /// What [`read`](Self::read) reads.
    pub fn bytes(&self) -> [u8; BYTES] {
        let Spent {
            epsilon,
            rho,
            delta,
        } = self.spent;
        let numbers = [
            self.key.budget,
            epsilon,
            rho,
            delta,
            self.charges,
            self.refused,
            self.noted,
            self.reused,
            self.reuse_noted,
        ];
        fields::data(&numbers, &[self.key.role.to_u32().to_ne_bytes()])
    }
}

/// What was spent by some charges, as numbers.
fn numbers(spent: &Spent, charges: i64) -> [i64; 4] {
    [spent.epsilon, spent.rho, spent.delta, charges]
}

/// Whether no number of another sum, of so much and of some charges, is above that of the first.
pub fn covers(own: (&Spent, i64), other: (&Spent, i64)) -> bool {
    let mut both = numbers(own.0, own.1)
        .into_iter()
        .zip(numbers(other.0, other.1));
    both.all(|(own, other)| own >= other)
}
