//! Rows that a function in FROM answers with.

use std::ffi::c_int;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{
    self, Datum, MemoryContext, Oid, ReturnSetInfo, Snapshot, TupleDesc, Tuplestorestate,
};

use crate::pg::fmgr::Call;

// As PostgreSQL has them: each of pgrx's own has a guard.
unsafe extern "C-unwind" {
    /// Raises nothing.
    fn SPI_gettypeid(columns: TupleDesc, number: c_int) -> Oid;
    fn tuplestore_putvalues(
        store: *mut Tuplestorestate,
        columns: TupleDesc,
        values: *mut Datum,
        nulls: *mut bool,
    );
}

/// The rows of a call whose columns the query names.
pub struct Rows {
    info: *mut ReturnSetInfo,
    store: *mut Tuplestorestate,
}

impl Rows {
    /// No rows yet; `None` where the query has no place for them, or does not name their columns. `call` then
    /// answers no rows at all.
    pub fn of(call: Call) -> Option<Self> {
        // SAFETY: resultinfo is NULL or a node; PostgreSQL sets all of it.
        unsafe {
            let info = (*call.fcinfo()).resultinfo.cast::<ReturnSetInfo>();
            if info.is_null() || (*info).type_ != pg_sys::NodeTag::T_ReturnSetInfo {
                return None;
            }
            let materialize = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            if (*info).allowedModes as u32 & materialize == 0 {
                return None;
            }
            (*info).returnMode = materialize;
            let store = std::ptr::null_mut();
            (!(*info).expectedDesc.is_null()).then_some(Self { info, store })
        }
    }

    /// The types of the columns.
    pub fn types(&self) -> impl ExactSizeIterator<Item = Oid> + Clone {
        // SAFETY: the descriptor is PostgreSQL's own, and has that many columns.
        unsafe {
            let columns = (*self.info).expectedDesc;
            (0..(*columns).natts).map(move |i| SPI_gettypeid(columns, i + 1))
        }
    }

    /// The store of the rows, which lives as long as the query.
    pub fn store(&mut self) -> *mut Tuplestorestate {
        if self.store.is_null() {
            // SAFETY: the store lives as long as the query, and PostgreSQL ends it.
            unsafe {
                let random = pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random;
                let random = (*self.info).allowedModes as u32 & random != 0;
                let before = pg_sys::MemoryContextSwitchTo(self.memory());
                self.store = pg_sys::tuplestore_begin_heap(random, false, pg_sys::work_mem);
                pg_sys::MemoryContextSwitchTo(before);
                (*self.info).setResult = self.store;
            }
        }
        self.store
    }

    /// The memory of the query.
    pub fn memory(&self) -> MemoryContext {
        // SAFETY: PostgreSQL sets all of it.
        unsafe { (*(*self.info).econtext).ecxt_per_query_memory }
    }

    /// What the query sees of the tables.
    pub fn snapshot(&self) -> Snapshot {
        // SAFETY: the same; a function is called by an execution, or by itself.
        unsafe {
            let execution = (*(*self.info).econtext).ecxt_estate;
            match execution.is_null() || (*execution).es_snapshot.is_null() {
                true => pg_sys::GetActiveSnapshot(),
                false => (*execution).es_snapshot,
            }
        }
    }

    /// The rows as bytes, for [`put_bytes`](Self::put_bytes); `None` if they are more than `most`.
    pub fn bytes(&mut self, most: usize) -> Option<Vec<u8>> {
        let store = self.store();
        let mut bytes = Vec::new();
        // SAFETY: a store of this query, and a slot for its rows; a minimal tuple begins with its length.
        let fits = unsafe {
            let slot = self.slot();
            pg_sys::tuplestore_rescan(store);
            let mut fits = true;
            while fits && pg_sys::tuplestore_gettupleslot(store, true, false, slot) {
                let mut is_copy = false;
                let row = pg_sys::ExecFetchSlotMinimalTuple(slot, &raw mut is_copy);
                let length = (*row).t_len as usize;
                fits = bytes.len() + length <= most && bytes.try_reserve(length).is_ok();
                if fits {
                    bytes.extend_from_slice(std::slice::from_raw_parts(row.cast::<u8>(), length));
                }
                if is_copy {
                    pg_sys::pfree(row.cast());
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::tuplestore_rescan(store);
            fits
        };
        fits.then_some(bytes)
    }

    /// Adds rows that were made bytes of. Whether they are whole: no row is added that is not.
    pub fn put_bytes(&mut self, bytes: &[u8]) -> bool {
        const LENGTH: usize = size_of::<u32>();
        const HEAD: usize = std::mem::offset_of!(pg_sys::MinimalTupleData, t_bits);
        let mut rows = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = rest
                .first_chunk::<LENGTH>()
                .map(|length| u32::from_ne_bytes(*length));
            let length = length.and_then(|length| usize::try_from(length).ok());
            let Some(length) = length.filter(|length| (HEAD..=rest.len()).contains(length)) else {
                return false;
            };
            let (row, after) = rest.split_at(length);
            rows.push(row);
            rest = after;
        }
        let store = self.store();
        // SAFETY: a slot for the rows of this store; each row is copied to a place that is aligned as rows are.
        unsafe {
            let slot = self.slot();
            for row in rows {
                let place = pg_sys::palloc(row.len()).cast::<u8>();
                place.copy_from_nonoverlapping(row.as_ptr(), row.len());
                pg_sys::ExecStoreMinimalTuple(place.cast(), slot, true);
                pg_sys::tuplestore_puttupleslot(store, slot);
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
        }
        true
    }

    /// A slot for a row of the columns that are expected.
    fn slot(&self) -> *mut pg_sys::TupleTableSlot {
        // SAFETY: the descriptor is PostgreSQL's own, and lives as long as the query.
        unsafe {
            let operations = &raw const pg_sys::TTSOpsMinimalTuple;
            pg_sys::MakeSingleTupleTableSlot((*self.info).expectedDesc, operations)
        }
    }

    /// Adds a row; `None` is NULL.
    ///
    /// # Safety
    /// As many values as there are columns, of their types.
    pub unsafe fn add_row<const N: usize>(&mut self, values: [Option<Datum>; N]) {
        let mut nulls = values.map(|value| value.is_none());
        let mut values = values.map(|value| value.unwrap_or(Datum::null()));
        // SAFETY: the caller guarantees it; there is a mark for each value.
        unsafe { self.add(&mut values, &mut nulls) };
    }

    /// Adds rows, one after the other, all under one guard.
    ///
    /// # Safety
    /// For each row as many values as there are columns, of their types, and as many marks of NULL.
    pub unsafe fn add(&mut self, values: &mut [Datum], nulls: &mut [bool]) {
        // SAFETY: the caller guarantees it; the store lives as long as the query, and PostgreSQL ends it. Below the
        // guard are calls of C alone, and nothing is owned.
        unsafe {
            self.store();
            let columns = (*self.info).expectedDesc;
            let width = (*columns).natts as usize;
            let rows = values
                .len()
                .min(nulls.len())
                .checked_div(width)
                .unwrap_or(0);
            let (store, values, nulls) = (self.store, values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_guard_ffi_boundary(|| {
                let mut row = 0;
                while row < rows {
                    let at = row * width;
                    tuplestore_putvalues(store, columns, values.add(at), nulls.add(at));
                    row += 1;
                }
            });
        }
    }
}
