//! Rows of composite types.

use pgrx::pg_sys::{self, Datum};

use crate::pg::fmgr::Call;

/// A row of the composite type that the function is declared to return.
///
/// # Safety
/// The columns have the types of the declared ones.
pub unsafe fn composite(call: Call, columns: impl IntoIterator<Item = Option<Datum>>) -> Datum {
    let (mut nulls, mut values): (Vec<bool>, Vec<Datum>) = columns
        .into_iter()
        .map(|column| (column.is_none(), column.unwrap_or(Datum::null())))
        .unzip();
    // SAFETY: the descriptor is looked up from the function's declaration; heap_form_tuple reads
    // as many values and nulls as it has columns, which is checked.
    unsafe {
        let mut descriptor = std::ptr::null_mut();
        let class =
            pg_sys::get_call_result_type(call.fcinfo(), std::ptr::null_mut(), &mut descriptor);
        assert!(
            class == pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE
                && usize::try_from((*descriptor).natts) == Ok(values.len()),
            "the SQL declaration returns another type"
        );
        let descriptor = pg_sys::BlessTupleDesc(descriptor);
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
    }
}
