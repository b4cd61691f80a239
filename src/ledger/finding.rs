//! What is wrong with the ledger, for a reader.

use std::collections::BTreeMap;

use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNBOUNDED, UNIT};
use pgrx::pg_sys::Oid;

/// The budgets, with their names.
pub type Names = BTreeMap<i64, String>;

/// What is wrong.
pub struct Finding {
    /// Its kind.
    pub kind: &'static str,
    /// The budget, by its name, or its number if it has none.
    pub budget: Option<String>,
    pub role: Option<Oid>,
    pub detail: String,
}

impl Finding {
    /// A damage of the tables, which no budget is to blame for.
    pub fn of_table(kind: &'static str, detail: String) -> Self {
        Self {
            kind,
            budget: None,
            role: None,
            detail,
        }
    }

    /// Of a budget, and of a role; 0 for all together.
    pub fn of_budget(
        kind: &'static str,
        names: &Names,
        budget: i64,
        role: u32,
        detail: String,
    ) -> Self {
        let name = names.get(&budget).cloned();
        Self {
            kind,
            budget: Some(name.unwrap_or_else(|| budget.to_string())),
            role: (role != 0).then(|| Oid::from_u32(role)),
            detail,
        }
    }
}

/// Two sums that are not the same, each of some charges.
pub fn differ(one: &str, a: (&Spent, i64), other: &str, b: (&Spent, i64)) -> String {
    let text = |(spent, charges): (&Spent, i64)| {
        let epsilon = match spent.epsilon {
            UNBOUNDED => "unbounded".to_owned(),
            units => (units as f64 / UNIT).to_string(),
        };
        format!(
            "{charges} charges, epsilon {epsilon}, rho {}, delta {}",
            spent.rho as f64 / UNIT,
            spent.delta as f64 / DELTA_UNIT
        )
    };
    format!("{one}: {}; {other}: {}", text(a), text(b))
}
