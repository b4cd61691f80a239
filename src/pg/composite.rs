//! Rows of composite types.

use pgrx::pg_sys::{self, Datum};

use crate::pg::fmgr::Call;

/// A row of the composite type that the function is declared to return.
///
/// # Safety
/// The columns have the types of the declared ones.
pub unsafe fn composite(call: Call, columns: impl IntoIterator<Item = Option<Datum>>) -> Datum {
    // SAFETY: the caller guarantees it.
    unsafe { composite_of(call, |_| columns) }
}

/// As above, for a function that is declared otherwise in another version of the SQL: `columns` gets the number
/// of those that are declared.
///
/// # Safety
/// As for [`composite`].
pub unsafe fn composite_of<C: IntoIterator<Item = Option<Datum>>>(
    call: Call,
    columns: impl FnOnce(usize) -> C,
) -> Datum {
    // SAFETY: the descriptor is looked up from the function's declaration; heap_form_tuple reads
    // as many values and nulls as it has columns, which is checked.
    unsafe {
        let mut descriptor = std::ptr::null_mut();
        let class =
            pg_sys::get_call_result_type(call.fcinfo(), std::ptr::null_mut(), &mut descriptor);
        let declared = match class {
            pg_sys::TypeFuncClass::TYPEFUNC_COMPOSITE => (*descriptor).natts as usize,
            _ => 0,
        };
        let (mut nulls, mut values): (Vec<bool>, Vec<Datum>) = columns(declared)
            .into_iter()
            .map(|column| (column.is_none(), column.unwrap_or(Datum::null())))
            .unzip();
        assert!(
            declared == values.len() && declared > 0,
            "the SQL declaration returns another type"
        );
        let descriptor = pg_sys::BlessTupleDesc(descriptor);
        let tuple = pg_sys::heap_form_tuple(descriptor, values.as_mut_ptr(), nulls.as_mut_ptr());
        pg_sys::HeapTupleHeaderGetDatum((*tuple).t_data)
    }
}
