//! What a block costs, and who pays.

use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNBOUNDED, UNIT, float_up};
use pgrx::pg_sys::{self, Oid};

use crate::gate::allowance;
use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::policy::{Policy, quoted_name};
use crate::ledger::budgets::Name;
use crate::ledger::charge::{Payer, Request};

/// What a block costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    pub relation: Oid,
    /// Other tables that are read with it, from the same budget.
    pub others: Vec<Oid>,
    /// The role that is charged: the one that asks, or the owner of the view that names the table.
    pub payer: Oid,
    pub spent: Spent,
    pub mechanisms: String,
    /// Whether it is about people, or groups that are chosen by their number, which are of one period.
    pub is_of_one_period: bool,
}

impl Bill {
    /// Whether nothing is released, but public values.
    pub fn is_free(&self) -> bool {
        self.spent == Spent::default()
    }

    /// The protected tables that are read.
    pub fn relations(&self) -> impl Iterator<Item = Oid> {
        std::iter::once(self.relation).chain(self.others.iter().copied())
    }

    /// The charge, from the budget of the table's policy. Who may ask is looked at again: the plan may be old.
    pub fn request(&self, policy: &Policy) -> Result<Request, Refusal> {
        if Defence::Again.stands() {
            for relation in self.relations() {
                if !allowance::is_allowed(relation, self.payer)? {
                    return Err(errors::not_allowed(&quoted_name(relation)));
                }
            }
        }
        let budget = Name::new(Some(policy.label.budget.clone().into_bytes()));
        let Spent {
            epsilon,
            rho: _,
            delta,
        } = self.spent;
        Ok(Request {
            function: "dp_mean",
            budget: budget.map_err(|error| errors::parameter("dp_mean", &error))?,
            payer: Payer::Table {
                owner: match Defence::Budget.stands() {
                    true => policy.owner,
                    false => Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID),
                },
                relation: self.relation,
                mechanisms: self.mechanisms.clone(),
            },
            role: self.payer,
            asked: (
                match epsilon {
                    UNBOUNDED => f64::INFINITY,
                    epsilon => float_up(epsilon, UNIT),
                },
                float_up(delta, DELTA_UNIT),
            ),
            amount: self.spent,
            charged: None,
        })
    }
}
