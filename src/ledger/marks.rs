//! How much of a limit is spent, which the server's log says once.

use dp_core::privacy::spending::Spent;

use crate::ledger::budgets::Promise;

/// A share of a limit that is worth a line.
#[derive(Clone, Copy)]
pub enum Mark {
    MostOfIt,
    Whole,
}

impl Mark {
    pub const ALL: [Self; 2] = [Self::MostOfIt, Self::Whole];

    /// From which share on. What rounding leaves over, as the view `dp_budgets` rounds it, is nothing.
    fn share(self) -> f64 {
        match self {
            Self::MostOfIt => 0.8 - 1e-9,
            Self::Whole => 1.0 - 1e-9,
        }
    }

    /// Those that a charge passes, from one sum to another, if there is a limit.
    pub fn passed(
        promise: Option<&Promise>,
        before: &Spent,
        after: &Spent,
    ) -> impl Iterator<Item = Self> {
        let share = |spent| promise.map_or(0.0, |promise| promise.limit.share(spent));
        let (before, after) = (share(before), share(after));
        let passes = move |mark: &Self| after >= mark.share() && before < mark.share();
        Self::ALL.into_iter().filter(passes)
    }

    /// For a message.
    pub fn text(self) -> &'static str {
        match self {
            Self::MostOfIt => "has spent 80% of its limit",
            Self::Whole => "has spent all of its limit",
        }
    }
}
