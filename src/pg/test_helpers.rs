//! Helpers of the `#[pg_test]`s: tests of code that works inside a backend only, each beside what it tests.

use std::ffi::CString;
use std::panic::AssertUnwindSafe;
use std::ptr::{NonNull, null_mut};

use pgrx::pg_sys::panic::CaughtError;
use pgrx::pg_sys::{self, AggState, Aggref, Datum, NodeTag, Oid, Plan, PlannedStmt, QueryDesc};
use pgrx::{PgTryBuilder, Spi};

use crate::pg::nodes::{children, elements};

/// Runs `work` as a part of the transaction that is taken back, whatever comes of it: what unwinds is an error here.
pub fn apart<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    // SAFETY: a part of the transaction is begun and taken back, and what it replaces is put back, as languages do
    // it that catch errors. A panic that is none of PostgreSQL's leaves its locks on pages to the end of that part, and
    // the count of those who hold off interrupts to us.
    unsafe {
        let (memory, owner) = (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner);
        let held_off = pg_sys::InterruptHoldoffCount;
        pg_sys::BeginInternalSubTransaction(std::ptr::null());
        pg_sys::MemoryContextSwitchTo(memory);
        let result = PgTryBuilder::new(AssertUnwindSafe(|| Ok(work())))
            .catch_others(|error| Err(words(&error)))
            .execute();
        pg_sys::InterruptHoldoffCount = held_off;
        pg_sys::RollbackAndReleaseCurrentSubTransaction();
        pg_sys::MemoryContextSwitchTo(memory);
        pg_sys::CurrentResourceOwner = owner;
        result
    }
}

/// What an error says.
fn words(error: &CaughtError) -> String {
    match error {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
            report.message().to_owned()
        }
        CaughtError::RustPanic { ereport, .. } => ereport.message().to_owned(),
    }
}

/// That `work` panics or raises an ERROR, and says so.
pub fn fails<R>(work: impl FnOnce() -> R, says: &str) {
    match apart(work) {
        Ok(_) => panic!("no error that says {says:?}"),
        Err(message) => assert!(message.contains(says), "{message:?} does not say {says:?}"),
    }
}

/// Runs statements, each of them visible to what follows.
pub fn sql(statements: &str) {
    Spi::run(statements).unwrap_or_else(|error| panic!("{error:?}: {statements}"));
}

/// The only value that a query answers with, as it lies in its row: of a type that is stored by reference.
pub fn stored(query: &str) -> Datum {
    let text = CString::new(query).expect("no NUL");
    // SAFETY: between connecting and finishing; the value is copied to the caller's memory before its row goes.
    unsafe {
        assert_eq!(pg_sys::SPI_connect(), pg_sys::SPI_OK_CONNECT as i32);
        let done = pg_sys::SPI_execute(text.as_ptr(), false, 2);
        assert_eq!(done, pg_sys::SPI_OK_SELECT as i32, "{query}");
        let count = pg_sys::SPI_processed;
        assert_eq!(count, 1, "{query}");
        let (rows, mut null) = (pg_sys::SPI_tuptable, false);
        let row = *(*rows).vals;
        let value = pg_sys::SPI_getbinval(row, (*rows).tupdesc, 1, &mut null);
        assert!(!null, "{query}");
        let value = pg_sys::SPI_datumTransfer(value, false, -1);
        pg_sys::SPI_finish();
        value
    }
}

/// The plan of a query, with parameters `$1`, ... of these types.
pub fn plan(query: &str, parameters: &[Oid]) -> NonNull<PlannedStmt> {
    let text = CString::new(query).expect("no NUL");
    let count = i32::try_from(parameters.len()).expect("few parameters");
    // SAFETY: PostgreSQL's own steps from a text to a plan; all of it lives as long as the call from SQL.
    let plan = unsafe {
        let text = pg_sys::pstrdup(text.as_ptr());
        let raw = elements::<pg_sys::RawStmt>(pg_sys::pg_parse_query(text)).next();
        let queries = pg_sys::pg_analyze_and_rewrite_fixedparams(
            raw.expect("a statement"),
            text,
            parameters.as_ptr(),
            count,
            null_mut(),
        );
        let first = elements::<pg_sys::Query>(queries).next().expect("a query");
        let options = pg_sys::CURSOR_OPT_PARALLEL_OK as i32;
        pg_sys::pg_plan_query(first, text, options, null_mut())
    };
    NonNull::new(plan).expect("a plan")
}

/// The uppermost node of a plan.
pub fn top(statement: NonNull<PlannedStmt>) -> *mut Plan {
    // SAFETY: a plan that lives.
    unsafe { (*statement.as_ptr()).planTree }
}

/// All nodes of this kind from `plan` down, the upper ones first.
pub fn all_of(plan: *mut Plan, tag: NodeTag) -> Vec<*mut Plan> {
    if plan.is_null() {
        return Vec::new();
    }
    // SAFETY: a node of a plan that lives; every node of a plan starts with a Plan.
    unsafe {
        let mut below: Vec<_> = children(plan).collect();
        for side in [(*plan).lefttree, (*plan).righttree] {
            if !below.contains(&side) {
                below.push(side);
            }
        }
        let own = ((*plan).type_ == tag).then_some(plan);
        let below = below.into_iter().flat_map(|below| all_of(below, tag));
        own.into_iter().chain(below).collect()
    }
}

/// The only node of this kind.
pub fn only(plan: *mut Plan, tag: NodeTag) -> *mut Plan {
    let found = all_of(plan, tag);
    assert_eq!(found.len(), 1, "nodes of kind {tag:?}");
    found[0]
}

/// The first call of an aggregate in a node's target list.
pub fn call_in(plan: *mut Plan) -> *mut Aggref {
    // SAFETY: a node of a plan that lives; the tag is checked before the cast.
    unsafe {
        let targets = elements::<pg_sys::TargetEntry>((*plan).targetlist);
        let mut calls = targets.map(|entry| (*entry).expr);
        let call = calls.find(|expr| (**expr).type_ == NodeTag::T_Aggref);
        call.expect("a call of an aggregate").cast()
    }
}

/// A query that is ready to run, as EXPLAIN makes it: with the values of its parameters, all of them `float8`.
pub fn ready(query: &str, values: &[f64]) -> NonNull<QueryDesc> {
    let types = vec![pg_sys::FLOAT8OID; values.len()];
    let statement = plan(query, &types);
    // SAFETY: a plan that lives. The list has a place for each parameter behind its head. Nothing runs, so nothing
    // is sent anywhere.
    let query = unsafe {
        let parameters = pg_sys::makeParamList(i32::try_from(values.len()).expect("few"));
        for (i, value) in values.iter().enumerate() {
            let parameter = (*parameters).params.as_mut_ptr().add(i);
            (*parameter).value = Datum::from(value.to_bits());
            (*parameter).isnull = false;
            (*parameter).ptype = pg_sys::FLOAT8OID;
        }
        let query = pg_sys::CreateQueryDesc(
            statement.as_ptr(),
            c"a test".as_ptr(),
            pg_sys::GetActiveSnapshot(),
            null_mut(),
            pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestNone),
            parameters,
            null_mut(),
            0,
        );
        pg_sys::ExecutorStart(query, pg_sys::EXEC_FLAG_EXPLAIN_ONLY as i32);
        query
    };
    NonNull::new(query).expect("a query")
}

/// The uppermost aggregate of a query that is ready, below nodes that pass its rows on.
pub fn aggregate(query: NonNull<QueryDesc>) -> NonNull<AggState> {
    // SAFETY: the states of a query that is ready; the tag is checked before the cast.
    unsafe {
        let mut state = (*query.as_ptr()).planstate;
        while !state.is_null() && (*state).type_ != NodeTag::T_AggState {
            state = match (*state).type_ {
                NodeTag::T_SubqueryScanState => {
                    (*state.cast::<pg_sys::SubqueryScanState>()).subplan
                }
                _ => (*state).lefttree,
            };
        }
        NonNull::new(state.cast()).expect("an aggregate")
    }
}

/// Ends a query that [`ready`] has begun.
pub fn end(query: NonNull<QueryDesc>) {
    // SAFETY: begun, and ended once.
    unsafe {
        pg_sys::ExecutorFinish(query.as_ptr());
        pg_sys::ExecutorEnd(query.as_ptr());
        pg_sys::FreeQueryDesc(query.as_ptr());
    }
}
