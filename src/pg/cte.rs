//! A WITH that is read to its end before anybody asks for its first row, and what the planner may know of it.

use std::ffi::{c_int, c_void};

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{
    self, CteScanState, Datum, MemoryContext, TargetEntry, TupleTableSlot, Tuplestorestate,
};

use crate::pg::tree::{self, Ref};

// As PostgreSQL has them: pgrx's own would catch each ERROR, for each row. `read_all` catches it once.
unsafe extern "C-unwind" {
    fn slot_getsomeattrs_int(slot: *mut TupleTableSlot, count: c_int);
    fn tuplestore_puttupleslot(store: *mut Tuplestorestate, slot: *mut TupleTableSlot);
    fn tuplestore_putvalues(
        store: *mut Tuplestorestate,
        columns: pg_sys::TupleDesc,
        values: *mut Datum,
        nulls: *mut bool,
    );
    fn detoast_external_attr(value: *mut pg_sys::varlena) -> *mut pg_sys::varlena;
    fn toast_raw_datum_size(value: Datum) -> usize;
    fn palloc(size: usize) -> *mut c_void;
    fn MemoryContextReset(context: MemoryContext);
}

/// Whether a row has come.
///
/// # Safety
/// What a node of a plan answered with.
unsafe fn has_row(slot: *mut TupleTableSlot) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { !slot.is_null() && u32::from((*slot).tts_flags) & pg_sys::TTS_FLAG_EMPTY == 0 }
}

/// Reads all rows of the WITH that a node scans into its store. Values that are stored outside of their rows are
/// brought in, so that nothing of a table is read later. Whether none has more than `longest` bytes; one that has ends
/// it.
pub fn fill(scan: Ref<CteScanState>, longest: usize) -> bool {
    if scan.eof_cte() || scan.leader() != Some(scan) {
        return true;
    }
    let Some(below) = scan.cteplanstate() else {
        return true;
    };
    let is_varlena = |target: Ref<TargetEntry>| {
        let expr = target.expr().expect("a target has an expression");
        // SAFETY: a lookup in the catalog.
        unsafe { pg_sys::get_typlen(tree::type_of(expr)) == -1 }
    };
    let targets = below.plan().expect("a state has a plan").targetlist();
    let varlena: Vec<bool> = targets.into_iter().map(is_varlena).collect();
    // SAFETY: nodes of a plan that has started, and the store that belongs to them.
    let are_short = unsafe { read_all(scan, below.pointer(), &varlena, longest) };
    scan.set_eof_cte(true);
    are_short
}

/// # Safety
/// The scan of a WITH in a plan that has started and not run, the node of its rows, and which columns have values that
/// may be stored elsewhere.
unsafe fn read_all(
    scan: Ref<CteScanState>,
    below: *mut pg_sys::PlanState,
    varlena: &[bool],
    longest: usize,
) -> bool {
    let scan = scan.pointer();
    let mut are_short = true;
    // SAFETY: the caller guarantees it. What is below may raise an ERROR, so this owns nothing.
    unsafe {
        let before = pg_sys::MemoryContextSwitchTo((*(*scan).ss.ps.state).es_query_cxt);
        let short = (*(*scan).ss.ps.ps_ExprContext).ecxt_per_tuple_memory;
        pg_guard_ffi_boundary(|| {
            let next = (*below).ExecProcNode;
            while let Some(next) = next {
                let slot = next(below);
                if !has_row(slot) {
                    break;
                }
                are_short = put((*scan).cte_table, slot, varlena, short, longest);
                if !are_short {
                    break;
                }
            }
        });
        pg_sys::MemoryContextSwitchTo(before);
    }
    are_short
}

/// Puts a row into a store, unless it has a value of more than `longest` bytes.
///
/// # Safety
/// As for [`read_all`], within its boundary; a row of these columns, and memory for the time that it takes.
unsafe fn put(
    store: *mut Tuplestorestate,
    slot: *mut TupleTableSlot,
    varlena: &[bool],
    short: MemoryContext,
    longest: usize,
) -> bool {
    // SAFETY: the caller guarantees it; a row that was taken apart has a value or NULL for each column.
    unsafe {
        let count = varlena.len() as c_int;
        if c_int::from((*slot).tts_nvalid) < count {
            slot_getsomeattrs_int(slot, count);
        }
        let has_value = |i: usize| varlena[i] && !*(*slot).tts_isnull.add(i);
        let is_long =
            |i: usize| has_value(i) && toast_raw_datum_size(*(*slot).tts_values.add(i)) > longest;
        if (0..varlena.len()).any(is_long) {
            return false;
        }
        let is_outside = |i: usize| {
            has_value(i)
                && pgrx::varlena::varatt_is_1b_e((*(*slot).tts_values.add(i)).cast_mut_ptr())
        };
        if !(0..varlena.len()).any(is_outside) {
            tuplestore_puttupleslot(store, slot);
            return true;
        }
        let before = pg_sys::MemoryContextSwitchTo(short);
        let size = varlena.len() * size_of::<Datum>();
        let values = palloc(size).cast::<Datum>();
        for i in 0..varlena.len() {
            let value = *(*slot).tts_values.add(i);
            *values.add(i) = match is_outside(i) {
                true => detoast_external_attr(value.cast_mut_ptr()).into(),
                false => value,
            };
        }
        pg_sys::MemoryContextSwitchTo(before);
        let columns = (*slot).tts_tupleDescriptor;
        tuplestore_putvalues(store, columns, values, (*slot).tts_isnull);
        MemoryContextReset(short);
    }
    true
}
