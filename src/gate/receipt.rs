//! A receipt: what a block costs, and whose budget pays, as constants in the plan. It travels with the plan wherever
//! PostgreSQL keeps it. ExecutorStart reads it and charges; its own final function releases nothing that was not
//! charged.

use dp_core::privacy::spending::Spent;
use pgrx::pg_sys::{self, Aggref, Datum, Oid};

use crate::ledger::rows;
use crate::pg::tree::{self, Ref};

/// What a block costs.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub relation: Oid,
    /// The owner of the view that names the table, who is charged; invalid: the current role.
    pub view_owner: Oid,
    pub spent: Spent,
    pub mechanisms: String,
}

impl Receipt {
    /// The same for what is charged elsewhere.
    pub fn free(&self) -> Self {
        Self {
            spent: Spent::default(),
            mechanisms: String::new(),
            ..*self
        }
    }

    /// The condition of a HAVING. No row comes into the aggregate, so it costs none of them anything.
    pub fn sql(&self) -> String {
        let Spent {
            epsilon,
            rho,
            delta,
        } = self.spent;
        format!(
            "dp_mean.receipt({}::pg_catalog.oid, {}::pg_catalog.oid, {epsilon}::pg_catalog.int8, \
             {rho}::pg_catalog.int8, {delta}::pg_catalog.int8, '{}'::pg_catalog.text) FILTER (WHERE false)",
            self.relation.to_u32(),
            self.view_owner.to_u32(),
            self.mechanisms.replace('\'', "''")
        )
    }

    /// The receipt of its arguments; `None` if there are others.
    pub fn read(arguments: &[Datum]) -> Option<Self> {
        let [relation, view_owner, epsilon, rho, delta, mechanisms] = *arguments else {
            return None;
        };
        let oid = |datum: Datum| Oid::from_u32(datum.value() as u32);
        Some(Self {
            relation: oid(relation),
            view_owner: oid(view_owner),
            spent: Spent {
                epsilon: epsilon.value() as i64,
                rho: rho.value() as i64,
                delta: delta.value() as i64,
            },
            // SAFETY: the SQL declaration makes it a text.
            mechanisms: String::from_utf8_lossy(&unsafe { rows::bytes_of(mechanisms) })
                .into_owned(),
        })
    }
}

/// Whether an aggregate is `dp_mean.receipt`.
fn is_receipt(function: Oid) -> bool {
    // SAFETY: lookups in the catalog.
    unsafe {
        let schema = pg_sys::get_namespace_oid(c"dp_mean".as_ptr(), true);
        schema != Oid::INVALID
            && pg_sys::get_func_namespace(function) == schema
            && tree::text_of(pg_sys::get_func_name(function)) == "receipt"
    }
}

/// Whether a call is a receipt that is answered where it stands, and not in a node above.
pub fn is_answered_receipt(call: Ref<Aggref>) -> bool {
    call.aggsplit() & pg_sys::AGGSPLITOP_SKIPFINAL == 0 && is_receipt(call.aggfnoid())
}
