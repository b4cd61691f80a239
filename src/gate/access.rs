//! Who may read a table of a query: PostgreSQL's own answer, and the place where it is changed.

use pgrx::pg_sys::{self, Oid, Query, RTEKind, RangeTblEntry};

use crate::pg::tree::{self, Ref};

/// What a query asks of a table.
struct Permissions {
    required: u64,
    /// Whose rights count; invalid: those of the current role.
    as_role: Oid,
    #[cfg(not(feature = "pg15"))]
    info: Ref<pg_sys::RTEPermissionInfo>,
}

#[cfg(feature = "pg15")]
fn permissions(_: Ref<Query>, entry: Ref<RangeTblEntry>) -> Option<Permissions> {
    Some(Permissions {
        required: u64::from(entry.requiredPerms),
        as_role: entry.checkAsUser,
    })
}

#[cfg(not(feature = "pg15"))]
fn permissions(query: Ref<Query>, entry: Ref<RangeTblEntry>) -> Option<Permissions> {
    if entry.perminfoindex == 0 {
        return None;
    }
    // SAFETY: an entry of this query that has such a record.
    let info = unsafe { pg_sys::getRTEPermissionInfo(query.rteperminfos, entry.pointer()) };
    let info = Ref::of(info)?;
    Some(Permissions {
        required: info.requiredPerms,
        as_role: info.checkAsUser,
        info,
    })
}

/// Whether PostgreSQL refuses the current role, or the owner of the view that names the table.
pub fn is_denied(query: Ref<Query>, entry: Ref<RangeTblEntry>) -> bool {
    if entry.rtekind != RTEKind::RTE_RELATION {
        return false;
    }
    let Some(permissions) = permissions(query, entry) else {
        return false;
    };
    if permissions.required == 0 {
        return false;
    }
    let entries = tree::list_of([entry]);
    // SAFETY: a list with this entry, and on newer servers one with its record.
    unsafe {
        #[cfg(feature = "pg15")]
        return !pg_sys::ExecCheckRTPerms(entries, false);
        #[cfg(not(feature = "pg15"))]
        !pg_sys::ExecCheckPermissions(entries, tree::list_of([permissions.info]), false)
    }
}

/// Whether a role may read a table, or a column of it.
pub fn may_read_some(relation: Oid, role: Oid) -> bool {
    let (read, any) = (
        pg_sys::ACL_SELECT as pg_sys::AclMode,
        pg_sys::AclMaskHow::ACLMASK_ANY,
    );
    // SAFETY: lookups in the catalog, which answer for any table that is locked.
    unsafe {
        pg_sys::pg_class_aclcheck(relation, role, read) == pg_sys::AclResult::ACLCHECK_OK
            || pg_sys::pg_attribute_aclcheck_all(relation, role, read, any)
                == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// Whether it asks for reading it, and for nothing else.
pub fn is_only_read(query: Ref<Query>, entry: Ref<RangeTblEntry>) -> bool {
    permissions(query, entry)
        .is_some_and(|permissions| permissions.required == u64::from(pg_sys::ACL_SELECT))
}

/// Whether it asks for anything.
pub fn is_asked(query: Ref<Query>, entry: Ref<RangeTblEntry>) -> bool {
    permissions(query, entry).is_some_and(|permissions| permissions.required != 0)
}

/// The role whose rights count, if it is another than the current one: the owner of a view.
pub fn view_owner(query: Ref<Query>, entry: Ref<RangeTblEntry>) -> Option<Oid> {
    permissions(query, entry)
        .map(|permissions| permissions.as_role)
        .filter(|role| *role != Oid::INVALID)
}

/// Lends the table: what is read of it in this query is read with the right of its owner. Also says that the column of
/// the person is read.
pub fn lend(query: Ref<Query>, entry: Ref<RangeTblEntry>, owner: Oid, unit: i16) {
    let column = i32::from(unit) - pg_sys::FirstLowInvalidHeapAttributeNumber;
    #[cfg(feature = "pg15")]
    let (_, mut holder) = (query, entry);
    #[cfg(not(feature = "pg15"))]
    let Some(mut holder) = permissions(query, entry).map(|permissions| permissions.info) else {
        return;
    };
    holder.checkAsUser = owner;
    // SAFETY: a set of small numbers, or NULL.
    holder.selectedCols = unsafe { pg_sys::bms_add_member(holder.selectedCols, column) };
}

/// Takes the question for rights away from an entry that no longer stands for a table.
pub fn forget(mut entry: Ref<RangeTblEntry>) {
    #[cfg(feature = "pg15")]
    {
        entry.requiredPerms = 0;
    }
    #[cfg(not(feature = "pg15"))]
    {
        entry.perminfoindex = 0;
    }
}

/// Puts the range table of one query in the place of another's, with what goes with it.
pub fn move_tables(mut from: Ref<Query>, mut to: Ref<Query>) {
    to.rtable = std::mem::replace(&mut from.rtable, std::ptr::null_mut());
    #[cfg(not(feature = "pg15"))]
    {
        to.rteperminfos = std::mem::replace(&mut from.rteperminfos, std::ptr::null_mut());
    }
}

/// The only table of a new query: a copy of an entry of another, with what it asks for.
pub fn copy_table(from: Ref<Query>, entry: Ref<RangeTblEntry>, mut to: Ref<Query>) {
    #[cfg(feature = "pg15")]
    let (_, copy) = (from, entry.copy());
    #[cfg(not(feature = "pg15"))]
    let mut copy = entry.copy();
    #[cfg(not(feature = "pg15"))]
    if let Some(permissions) = permissions(from, entry) {
        copy.perminfoindex = 1;
        to.rteperminfos = tree::list_of([permissions.info.copy()]);
    }
    to.rtable = tree::list_of([copy]);
}
