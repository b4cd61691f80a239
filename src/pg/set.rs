//! Rows that a function in FROM answers with.

use std::ffi::c_int;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Datum, Oid, ReturnSetInfo, TupleDesc, Tuplestorestate};

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

    /// Adds rows, one after the other, all under one guard.
    ///
    /// # Safety
    /// For each row as many values as there are columns, of their types, and as many marks of NULL.
    pub unsafe fn add(&mut self, values: &mut [Datum], nulls: &mut [bool]) {
        // SAFETY: the caller guarantees it; the store lives as long as the query, and PostgreSQL ends it. Below the
        // guard are calls of C alone, and nothing is owned.
        unsafe {
            if self.store.is_null() {
                let random = pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random;
                let random = (*self.info).allowedModes as u32 & random != 0;
                let query = (*(*self.info).econtext).ecxt_per_query_memory;
                let before = pg_sys::MemoryContextSwitchTo(query);
                self.store = pg_sys::tuplestore_begin_heap(random, false, pg_sys::work_mem);
                pg_sys::MemoryContextSwitchTo(before);
                (*self.info).setResult = self.store;
            }
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
