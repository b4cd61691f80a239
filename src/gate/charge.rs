//! The charge, where a plan starts: receipts are read, the policy is looked at again, the budget pays. What was not
//! charged is not released.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNBOUNDED, UNIT, float_up};
use pgrx::pg_sys::{self, AggState, Aggref, CteScanState, EState, Oid, PlanState, QueryDesc};

use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::policy::{Policy, quoted_name};
use crate::gate::receipt::{Receipt, is_answered_receipt};
use crate::gate::{allowance, inputs, message_filter, single_execution};
use crate::ledger::budgets::Name;
use crate::ledger::charge::{self as ledger, Payer, Request};
use crate::ledger::session;
use crate::pg::counters::{Event, count};
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::reset;
use crate::pg::tree::{self, Ref};
use crate::plan::planned_call;

thread_local! {
    /// The executions that were charged, by their addresses: each is taken out where its memory ends.
    static CHARGED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// What of a plan that has started is of interest: its receipts, each with its node, and its scans of WITHs.
#[derive(Default)]
struct Found<'t> {
    receipts: Vec<(Ref<'t, AggState>, Receipt)>,
    scans: Vec<Ref<'t, CteScanState>>,
}

/// Looks through a plan that has started; `None` if the arguments of a receipt were not found.
fn receipts<'t>(execution: Ref<'t, EState>, top: Ref<'t, PlanState>) -> Option<Found<'t>> {
    // Not all of them hang on the tree yet: what a WITH RECURSIVE computes is made at its first row.
    let others = execution.es_subplanstates();
    let mut found = Found::default();
    for state in tree::states(std::iter::once(top).chain(others)) {
        if let Some(scan) = state.cast::<CteScanState>() {
            found.scans.push(scan);
        }
        let Some(aggregate) = state.cast::<AggState>() else {
            continue;
        };
        for call in aggregate.aggs() {
            if is_answered_receipt(call) {
                found.receipts.push((aggregate, read(aggregate, call)?));
            }
        }
    }
    Some(found)
}

/// The receipt of a call: its arguments, which are constants.
fn read<'t>(aggregate: Ref<'t, AggState>, call: Ref<'t, Aggref>) -> Option<Receipt> {
    let plan = aggregate
        .state()
        .plan()
        .map_or(std::ptr::null_mut(), Ref::pointer);
    let call = match call.aggsplit() & pg_sys::AGGSPLITOP_COMBINE != 0 {
        // SAFETY: a call of this node, which combines what nodes below it made.
        true => unsafe { Ref::of(planned_call::partial(call.pointer(), plan)?.0) }?,
        false => call,
    };
    let arguments: Option<Vec<_>> = call
        .args()
        .into_iter()
        .map(|entry| entry.expr().and_then(tree::constant).flatten())
        .collect();
    Receipt::read(&arguments?)
}

/// A plan has started: what is public is read, and then it pays for what it will release.
pub fn started(query: Ref<QueryDesc>, explained: bool) -> Result<(), Refusal> {
    let (Some(execution), Some(top)) = (query.estate(), query.planstate()) else {
        return Ok(());
    };
    let Found {
        receipts: found,
        scans,
    } = receipts(execution, top).ok_or_else(errors::receipt_damaged)?;
    if found.is_empty() {
        return Ok(());
    }
    if session::is_worker() {
        // It would end so after the rows were read, and may have left traces by then.
        return match Defence::Receipt.stands() {
            true => Err(errors::not_charged()),
            false => Ok(()),
        };
    }
    message_filter::set_asked(true);
    if Defence::Isolation.stands() && session::shows_reads() {
        return Err(errors::serializable());
    }
    if explained && Defence::Explain.stands() {
        return Err(errors::explain());
    }
    let is_once = || {
        let plan = query.plannedstmt();
        // SAFETY: the plan that has started.
        plan.is_some_and(|plan| unsafe { single_execution::answers_once(plan.pointer()) })
    };
    if Defence::Once.stands() && !is_once() {
        return Err(errors::again());
    }
    // Before the charge, so that what cannot be read costs nothing.
    for scan in scans {
        inputs::fill(execution, scan);
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
    if Defence::Snapshot.stands() {
        let newer = bills
            .values()
            .find(|bill| is_older_than_its_index(bill.relation, query));
        if let Some(bill) = newer {
            return Err(errors::older_than_index(&quoted_name(bill.relation)));
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
        message_filter::silence(node.state());
    }
    Ok(())
}

/// Whether rows are read as they were before the index was made that says that each is a person. A function that is
/// STABLE, a cursor and COPY have the snapshot of a statement that may have waited for long. A transaction that keeps
/// its snapshot has plans that look for no index.
fn is_older_than_its_index(relation: Oid, query: Ref<QueryDesc>) -> bool {
    let since = Policy::of(relation).and_then(|policy| policy.one_row_each);
    since.is_some_and(|since| {
        !session::keeps_a_snapshot() && !session::is_seen(since, query.snapshot())
    })
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
        asked: (
            match epsilon {
                UNBOUNDED => f64::INFINITY,
                epsilon => float_up(epsilon, UNIT),
            },
            float_up(delta, DELTA_UNIT),
        ),
        amount: bill.spent,
    })
}

/// Says that an execution was charged, for as long as its memory lives.
fn remember(execution: Ref<EState>) {
    #[pgrx::pg_guard]
    unsafe extern "C-unwind" fn forget(execution: *mut c_void) {
        CHARGED.with_borrow_mut(|all| all.retain(|known| *known != execution as usize));
    }
    // SAFETY: the memory of an execution that runs.
    unsafe { reset::on_reset(execution.es_query_cxt(), forget, execution.pointer().cast()) };
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

sql_function!(dp_receipt_final, receipt_final);

/// The transition function of `dp_mean.receipt`, which no row reaches.
fn receipt_row(_: Call) -> Option<pg_sys::Datum> {
    Some(pg_sys::Datum::from(true))
}

sql_function!(dp_receipt_row, receipt_row);
