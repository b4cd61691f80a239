//! What the catalog says of functions and of collations.

use std::ffi::CStr;

use pgrx::pg_sys::{self, Oid};

/// The OIDs below are those of PostgreSQL's own objects, given by hand: nobody can make another with one of them.
const FIRST_UNPINNED: u32 = 10_000;

/// The types of a function's arguments, and of its answer.
pub struct Signature {
    pub arguments: Vec<Oid>,
    pub answer: Oid,
}

/// Whether a function is PostgreSQL's own, with an OID that is the same everywhere.
pub fn is_pinned(function: Oid) -> bool {
    (1..FIRST_UNPINNED).contains(&function.to_u32())
}

/// Whether it may answer otherwise each time, or do something.
pub fn is_volatile(function: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_VOLATILE }
}

/// Whether it is a plain function that the catalog calls leakproof: neither an aggregate, nor a window function, nor
/// one that answers with a set.
pub fn is_leakproof(function: Oid) -> bool {
    // SAFETY: catalog look-ups by oid.
    unsafe {
        pg_sys::get_func_leakproof(function)
            && pg_sys::get_func_prokind(function) as u8 == pg_sys::PROKIND_FUNCTION
            && !pg_sys::get_func_retset(function)
    }
}

/// Its name and the types of its arguments, for a message.
pub fn name(function: Oid) -> String {
    // SAFETY: a catalog look-up by oid, which answers with a C string: the number where there is no function.
    unsafe { CStr::from_ptr(pg_sys::format_procedure(function)) }
        .to_string_lossy()
        .into_owned()
}

/// The types of its arguments and of its answer, as declared.
pub fn signature(function: Oid) -> Signature {
    let (mut types, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: a catalog look-up by oid, which allocates `count` types.
    unsafe {
        let answer = pg_sys::get_func_signature(function, &mut types, &mut count);
        let count = usize::try_from(count).unwrap_or(0);
        let arguments = (0..count).map(|i| *types.add(i)).collect();
        Signature { arguments, answer }
    }
}

/// Whether the role that runs the query may execute it.
pub fn may_execute(function: Oid) -> bool {
    // SAFETY: catalog look-ups by oid.
    unsafe {
        let role = pg_sys::GetUserId();
        let right = pg_sys::AclMode::from(pg_sys::ACL_EXECUTE);
        #[cfg(feature = "pg15")]
        let answer = pg_sys::pg_proc_aclcheck(function, role, right);
        #[cfg(not(feature = "pg15"))]
        let answer = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, right);
        answer == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// The function of this name in the schema `dp_mean`, if it is there. Nobody's right on the schema is asked.
pub fn internal(name: &CStr, arguments: &[Oid]) -> Option<Oid> {
    // SAFETY: a catalog look-up by a name that is a C string.
    let schema = unsafe { pg_sys::get_namespace_oid(c"dp_mean".as_ptr(), true) };
    of_schema(schema, name, arguments)
}

/// The schema that a function is in.
pub fn schema(function: Oid) -> Oid {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::get_func_namespace(function) }
}

/// The function of this name in a schema, if it is there.
pub fn of_schema(schema: Oid, name: &CStr, arguments: &[Oid]) -> Option<Oid> {
    let count = i32::try_from(arguments.len()).ok()?;
    // SAFETY: catalog look-ups by names that are C strings, and by a vector that is made of `count` types.
    let found = unsafe {
        let arguments = pg_sys::buildoidvector(arguments.as_ptr(), count);
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32,
            pg_sys::Anum_pg_proc_oid as i16,
            pg_sys::Datum::from(name.as_ptr()),
            pg_sys::Datum::from(arguments),
            pg_sys::Datum::from(schema),
            pg_sys::Datum::null(),
        )
    };
    (found != pg_sys::InvalidOid).then_some(found)
}

/// Whether values of a type have a collation.
pub fn is_collatable(kind: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::type_is_collatable(kind) }
}

unsafe extern "C-unwind" {
    fn pg_newlocale_from_collation(collation: Oid) -> *mut std::ffi::c_void;
}

/// Looks a collation up: PostgreSQL does so once in a session, where it first compares texts by it, and may then warn
/// of its version.
pub fn look_up_collation(collation: Oid) {
    // SAFETY: a catalog look-up by oid; an ERROR passes the boundary as such.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| pg_newlocale_from_collation(collation));
    }
}

/// What a plan depends on that holds as long as the catalog says as above, for a function.
pub fn dependency(function: Oid) -> *mut pg_sys::PlanInvalItem {
    let cache = pg_sys::SysCacheIdentifier::PROCOID as i32;
    // SAFETY: a hash of a number, and a node in the current memory context.
    unsafe {
        let null = pg_sys::Datum::null();
        let hash =
            pg_sys::GetSysCacheHashValue(cache, pg_sys::Datum::from(function), null, null, null);
        let size = size_of::<pg_sys::PlanInvalItem>();
        let item = pg_sys::palloc0(size).cast::<pg_sys::PlanInvalItem>();
        (*item).type_ = pg_sys::NodeTag::T_PlanInvalItem;
        (*item).cacheId = cache;
        (*item).hashValue = hash;
        item
    }
}

/// Whether a function answers NULL where one of its arguments is NULL.
pub fn is_strict(function: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::func_strict(function) }
}

/// Whether an operator answers NULL where one of its sides is NULL.
pub fn is_strict_operator(operator: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::op_strict(operator) }
}

/// Whether texts of a collation are equal only if their bytes are.
pub fn is_deterministic(collation: Oid) -> bool {
    // SAFETY: a catalog look-up by oid.
    unsafe { pg_sys::get_collation_isdeterministic(collation) }
}
