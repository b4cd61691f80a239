//! Rows that a function in FROM answers with.

use pgrx::pg_sys::{self, Datum, Oid, ReturnSetInfo};

use crate::pg::fmgr::Call;

/// The rows of a call whose columns the query names.
pub struct Rows {
    info: *mut ReturnSetInfo,
    store: *mut pg_sys::Tuplestorestate,
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
        // SAFETY: the descriptor is PostgreSQL's own, and has so many columns.
        unsafe {
            let columns = (*self.info).expectedDesc;
            (0..(*columns).natts).map(move |i| pg_sys::SPI_gettypeid(columns, i + 1))
        }
    }

    /// Adds a row.
    ///
    /// # Safety
    /// As many values as there are columns, of their types.
    pub unsafe fn add(&mut self, values: &mut [Datum], nulls: &mut [bool]) {
        // SAFETY: the caller guarantees it; the store lives as long as the query, and PostgreSQL ends it.
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
            pg_sys::tuplestore_putvalues(
                self.store,
                columns,
                values.as_mut_ptr(),
                nulls.as_mut_ptr(),
            );
        }
    }
}
