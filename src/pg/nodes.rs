//! The trees that plans are: lists, and the nodes below a node.

use pgrx::pg_sys::{self, List, NodeTag, Plan};

#[cfg(feature = "pg_test")]
pub mod tests;

/// The nodes whose rows `plan` passes on or aggregates; none for a node that is not known.
///
/// # Safety
/// A node of a plan that lives.
pub unsafe fn children(plan: *mut Plan) -> Box<dyn Iterator<Item = *mut Plan>> {
    // SAFETY: the caller guarantees it; the tag says which struct it is.
    unsafe {
        match (*plan).type_ {
            NodeTag::T_Agg
            | NodeTag::T_Gather
            | NodeTag::T_GatherMerge
            | NodeTag::T_Sort
            | NodeTag::T_IncrementalSort
            | NodeTag::T_Material
            | NodeTag::T_Result => {
                Box::new(std::iter::once((*plan).lefttree).filter(|below| !below.is_null()))
            }
            NodeTag::T_Append => Box::new(elements::<Plan>(
                (*plan.cast::<pg_sys::Append>()).appendplans,
            )),
            NodeTag::T_MergeAppend => Box::new(elements::<Plan>(
                (*plan.cast::<pg_sys::MergeAppend>()).mergeplans,
            )),
            NodeTag::T_SubqueryScan => Box::new(std::iter::once(
                (*plan.cast::<pg_sys::SubqueryScan>()).subplan,
            )),
            _ => Box::new(std::iter::empty()),
        }
    }
}

/// The elements of a list of pointers; NULL is the empty list.
///
/// # Safety
/// A list of pointers to `T`, of a plan that lives.
pub unsafe fn elements<T>(list: *mut List) -> impl Iterator<Item = *mut T> + 'static {
    let (cells, length) = match list.is_null() {
        true => (std::ptr::null_mut(), 0),
        // SAFETY: a List holds `length` cells behind `elements`.
        false => unsafe { ((*list).elements, (*list).length) },
    };
    // SAFETY: `i` is below the length, and the list is the plan's, which nobody changes.
    (0..usize::try_from(length).unwrap_or(0))
        .map(move |i| unsafe { (*cells.add(i)).ptr_value.cast() })
}

/// The elements of a list of integers; NULL is the empty list.
///
/// # Safety
/// A list of integers, of a plan that lives.
pub unsafe fn integers(list: *mut List) -> Vec<i32> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: a List holds `length` cells behind `elements`.
    unsafe {
        let length = usize::try_from((*list).length).unwrap_or(0);
        (0..length)
            .map(|i| (*(*list).elements.add(i)).int_value)
            .collect()
    }
}

/// The elements of a list of OIDs; NULL is the empty list.
///
/// # Safety
/// A list of OIDs that lives.
pub unsafe fn oids(list: *mut List) -> Vec<pg_sys::Oid> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: a List holds `length` cells behind `elements`.
    unsafe {
        let length = usize::try_from((*list).length).unwrap_or(0);
        (0..length)
            .map(|i| (*(*list).elements.add(i)).oid_value)
            .collect()
    }
}

/// What an expression is, as far as it is known before any row is read.
pub enum Fixed {
    /// A constant: its type, and its value, `None` for NULL.
    Constant(pg_sys::Oid, Option<pg_sys::Datum>),
    /// A parameter of the query, the same for all of its rows.
    Parameter,
    /// It may be another for each row.
    No,
}

/// Whether an expression is the same for all rows.
///
/// # Safety
/// An expression of a tree that lives.
pub unsafe fn fixed(expression: *mut pg_sys::Node) -> Fixed {
    // SAFETY: the caller guarantees it; the tag says which struct it is.
    unsafe {
        match (*expression).type_ {
            NodeTag::T_Const => {
                let constant = expression.cast::<pg_sys::Const>();
                let value = (!(*constant).constisnull).then_some((*constant).constvalue);
                Fixed::Constant((*constant).consttype, value)
            }
            NodeTag::T_Param
                if (*expression.cast::<pg_sys::Param>()).paramkind
                    == pg_sys::ParamKind::PARAM_EXTERN =>
            {
                Fixed::Parameter
            }
            NodeTag::T_RelabelType => fixed((*expression.cast::<pg_sys::RelabelType>()).arg.cast()),
            _ => Fixed::No,
        }
    }
}
