//! The charge, where a plan starts: receipts are read, the policy is looked at again, the budget pays. What was not
//! charged is not released.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNIT, float_up};
use pgrx::pg_sys::{self, AggState, Aggref, EState, Node, Oid, PlanState, QueryDesc, TargetEntry};

use crate::gate::defence::Defence;
use crate::gate::policy::{Policy, quoted_name};
use crate::gate::receipt::{Receipt, is_answered_receipt};
use crate::gate::{allowance, once, quiet};
use crate::ledger::budgets::Name;
use crate::ledger::charge::{self as ledger, Payer, Request};
use crate::ledger::session;
use crate::pg::counters::{Event, count};
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::plan;
use crate::pg::tree::{self, Ref};

thread_local! {
    /// The executions that were charged, by their addresses: each is taken out where its memory ends.
    static CHARGED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The receipts of a plan that has started, each with its node; `None` if the arguments of one were not found.
fn receipts(execution: Ref<EState>, top: Ref<PlanState>) -> Option<Vec<(Ref<AggState>, Receipt)>> {
    // Not all of them hang on the tree yet: what a WITH RECURSIVE computes is made at its first row.
    let others = tree::list::<PlanState>(execution.es_subplanstates);
    let mut receipts = Vec::new();
    for state in tree::states(std::iter::once(top).chain(others)) {
        let Some(aggregate) = state.cast::<AggState>() else {
            continue;
        };
        for call in tree::list::<Aggref>(aggregate.aggs) {
            if is_answered_receipt(call) {
                receipts.push((aggregate, read(aggregate, call)?));
            }
        }
    }
    Some(receipts)
}

/// The receipt of a call: its arguments, which are constants.
fn read(aggregate: Ref<AggState>, call: Ref<Aggref>) -> Option<Receipt> {
    let plan = aggregate.ss.ps.plan;
    let call = match call.aggsplit & pg_sys::AGGSPLITOP_COMBINE != 0 {
        // SAFETY: a call of this node, which combines what nodes below it made.
        true => Ref::of(unsafe { plan::partial(call.pointer(), plan) }?.0)?,
        false => call,
    };
    let arguments: Option<Vec<_>> = tree::list::<TargetEntry>(call.args)
        .into_iter()
        .map(|entry| {
            Ref::of(entry.expr.cast::<Node>())
                .and_then(tree::constant)
                .flatten()
        })
        .collect();
    Receipt::read(&arguments?)
}

/// A plan has started: it pays for what it will release.
pub fn started(query: Ref<QueryDesc>, explained: bool) -> Result<(), Refusal> {
    let (Some(execution), Some(top)) = (Ref::of(query.estate), Ref::of(query.planstate)) else {
        return Ok(());
    };
    let found = receipts(execution, top).ok_or_else(errors::receipt_damaged)?;
    if found.is_empty() {
        return Ok(());
    }
    quiet::set_asked(true);
    if Defence::Isolation.stands() && session::shows_reads() {
        return Err(errors::serializable());
    }
    if !quiet::can_keep() {
        return Err(errors::talkative());
    }
    if explained && Defence::Explain.stands() {
        return Err(errors::explain());
    }
    // SAFETY: the plan that has started.
    if Defence::Once.stands() && !unsafe { once::answers_once(query.plannedstmt) } {
        return Err(errors::again());
    }
    let mut bills: BTreeMap<(u32, u32), Receipt> = BTreeMap::new();
    for (_, receipt) in &found {
        let key = (receipt.relation.to_u32(), receipt.view_owner.to_u32());
        match bills.get_mut(&key) {
            None => drop(bills.insert(key, receipt.clone())),
            Some(bill) => {
                bill.spent = bill.spent.plus(&receipt.spent);
                if !receipt.mechanisms.is_empty() {
                    bill.mechanisms = format!("{}, {}", bill.mechanisms, receipt.mechanisms);
                }
            }
        }
    }
    let mut payments = Vec::new();
    for bill in bills.values() {
        payments.push(payment(bill)?);
    }
    if Defence::Charge.stands() {
        match Defence::Together.stands() {
            true => ledger::charge_all(&payments)?,
            false => payments.iter().try_for_each(ledger::charge)?,
        }
    }
    remember(execution);
    count(Event::Query);
    for (node, _) in found {
        quiet::silence(node.pointer().cast());
    }
    Ok(())
}

/// Who pays a bill, and from which budget. Who may ask is looked at again: the plan may be old.
pub fn payment(bill: &Receipt) -> Result<Request, Refusal> {
    let role = match bill.view_owner {
        Oid::INVALID => session::role(),
        owner => owner,
    };
    let name = || quoted_name(bill.relation);
    let policy = Policy::of(bill.relation).ok_or_else(|| errors::not_allowed(&name()))?;
    if Defence::Again.stands() && !allowance::is_allowed(bill.relation, role)? {
        return Err(errors::not_allowed(&name()));
    }
    let budget = Name::new(Some(policy.label.budget.clone().into_bytes()));
    let Spent {
        epsilon,
        rho: _,
        delta,
    } = bill.spent;
    Ok(Request {
        function: "dp_mean",
        budget: budget.map_err(|error| errors::parameter("dp_mean", &error))?,
        payer: Payer::Table {
            owner: match Defence::Budget.stands() {
                true => policy.owner,
                false => Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID),
            },
            relation: bill.relation,
            mechanisms: bill.mechanisms.clone(),
        },
        role,
        asked: (float_up(epsilon, UNIT), float_up(delta, DELTA_UNIT)),
        amount: bill.spent,
    })
}

/// Says that an execution was charged, for as long as its memory lives.
fn remember(execution: Ref<EState>) {
    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn forget(execution: *mut c_void) {
        CHARGED.with_borrow_mut(|all| all.retain(|known| *known != execution as usize));
    }
    let memory = execution.es_query_cxt;
    // SAFETY: a callback in the memory that it is called for.
    unsafe {
        let size = size_of::<pg_sys::MemoryContextCallback>();
        let callback =
            pg_sys::MemoryContextAllocZero(memory, size).cast::<pg_sys::MemoryContextCallback>();
        (*callback).func = Some(forget);
        (*callback).arg = execution.pointer().cast();
        pg_sys::MemoryContextRegisterResetCallback(memory, callback);
    }
    CHARGED.with_borrow_mut(|all| all.push(execution.pointer() as usize));
}

/// The final function of `dp_mean.receipt`: true, in an execution that was charged.
fn receipt_final(call: Call) -> Option<pg_sys::Datum> {
    let is_charged = call.in_aggregate() && {
        // SAFETY: an aggregate is the caller, so the context is an AggState of an execution.
        let execution = unsafe { (*(*call.fcinfo()).context.cast::<AggState>()).ss.ps.state };
        CHARGED.with_borrow(|all| all.contains(&(execution as usize)))
    };
    match is_charged || !Defence::Receipt.stands() {
        true => Some(pg_sys::Datum::from(true)),
        false => errors::not_charged().raise(),
    }
}

sql_function!(dp_receipt_final, pg_finfo_dp_receipt_final, receipt_final);

/// The transition function of `dp_mean.receipt`, which no row reaches.
fn receipt_row(_: Call) -> Option<pg_sys::Datum> {
    Some(pg_sys::Datum::from(true))
}

sql_function!(dp_receipt_row, pg_finfo_dp_receipt_row, receipt_row);
