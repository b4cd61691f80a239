//! Who may read a table of a query: PostgreSQL's own answer, and the place where it is changed.

use std::rc::Rc;

use pgrx::pg_sys::{self, Oid, Query, RTEKind, RangeTblEntry};

use crate::gate::defence::Defence;
use crate::gate::policy::Policy;
use crate::ledger::session;
use crate::pg::tree::{self, List, Memory, Ref, Step};

/// What a query asks of a table.
struct Permissions {
    required: pg_sys::AclMode,
    /// Whose rights count; invalid: those of the current role.
    as_role: Oid,
    /// The columns that are read, inserted and updated, as PostgreSQL counts them.
    selected: *mut pg_sys::Bitmapset,
    inserted: *mut pg_sys::Bitmapset,
    updated: *mut pg_sys::Bitmapset,
}

#[cfg(feature = "pg15")]
fn holder<'t>(
    _: Ref<'t, Query>,
    entry: Ref<'t, RangeTblEntry>,
) -> Option<Ref<'t, tree::Permissions>> {
    Some(entry)
}

#[cfg(not(feature = "pg15"))]
fn holder<'t>(
    query: Ref<'t, Query>,
    entry: Ref<'t, RangeTblEntry>,
) -> Option<Ref<'t, tree::Permissions>> {
    if entry.perminfoindex() == 0 {
        return None;
    }
    // SAFETY: an entry of this query that has such a record.
    unsafe {
        let all = query.rteperminfos().pointer();
        Ref::of(pg_sys::getRTEPermissionInfo(all, entry.pointer()))
    }
}

fn permissions<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> Option<Permissions> {
    let holder = holder(query, entry)?;
    Some(Permissions {
        required: holder.requiredPerms(),
        as_role: holder.checkAsUser(),
        selected: holder.selectedCols(),
        inserted: holder.insertedCols(),
        updated: holder.updatedCols(),
    })
}

/// Whether PostgreSQL refuses the current role, or the owner of the view that names the table.
///
/// PostgreSQL's own function for it also asks the hooks of other extensions, which expect an execution: none has begun
/// where a query is planned. They are asked when it begins, as ever.
pub fn is_denied<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> bool {
    if entry.rtekind() != RTEKind::RTE_RELATION {
        return false;
    }
    let Some(permissions) = permissions(query, entry).filter(|asked| asked.required != 0) else {
        return false;
    };
    if !Defence::Hooks.stands() {
        return is_denied_with_hooks(query, entry);
    }
    let role = match permissions.as_role {
        Oid::INVALID => session::role(),
        role => role,
    };
    let all = pg_sys::AclMaskHow::ACLMASK_ALL;
    // SAFETY: a lookup in the catalog, of a table that the query has locked.
    let has = unsafe { pg_sys::pg_class_aclmask(entry.relid(), role, permissions.required, all) };
    let missing = permissions.required & !has;
    // These can be had of columns too.
    let of_columns = [
        (pg_sys::ACL_SELECT, permissions.selected),
        (pg_sys::ACL_INSERT, permissions.inserted),
        (pg_sys::ACL_UPDATE, permissions.updated),
    ];
    let mut others = missing;
    for (right, columns) in of_columns {
        let right = right as pg_sys::AclMode;
        others &= !right;
        if missing & right != 0 && !has_columns(entry.relid(), role, right, columns) {
            return true;
        }
    }
    others != 0
}

/// Whether a role has a right on each of these columns; of no column on any.
fn has_columns(
    relation: Oid,
    role: Oid,
    right: pg_sys::AclMode,
    columns: *mut pg_sys::Bitmapset,
) -> bool {
    // SAFETY: lookups in the catalog, which answer for any table that is locked; a set of the query, or NULL.
    unsafe {
        let of_all = |how| pg_sys::pg_attribute_aclcheck_all(relation, role, right, how);
        let ok = pg_sys::AclResult::ACLCHECK_OK;
        let mut member = pg_sys::bms_next_member(columns, -1);
        if member < 0 {
            return of_all(pg_sys::AclMaskHow::ACLMASK_ANY) == ok;
        }
        while member >= 0 {
            let result = match i16::try_from(member + pg_sys::FirstLowInvalidHeapAttributeNumber) {
                // The whole row.
                Ok(0) => of_all(pg_sys::AclMaskHow::ACLMASK_ALL),
                Ok(column) => pg_sys::pg_attribute_aclcheck(relation, column, role, right),
                Err(_) => return false,
            };
            if result != ok {
                return false;
            }
            member = pg_sys::bms_next_member(columns, member);
        }
        true
    }
}

/// The same, as PostgreSQL asks it where a plan starts: with the hooks of other extensions.
fn is_denied_with_hooks<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> bool {
    let entries = tree::list_of([entry]);
    // SAFETY: a list with this entry, and on newer servers one with its record.
    unsafe {
        #[cfg(feature = "pg15")]
        {
            let _ = query;
            !pg_sys::ExecCheckRTPerms(entries.pointer(), false)
        }
        #[cfg(not(feature = "pg15"))]
        {
            let records = tree::list_of(holder(query, entry));
            !pg_sys::ExecCheckPermissions(entries.pointer(), records.pointer(), false)
        }
    }
}

/// The policy of an entry that is a protected table, and that the role may not read.
pub fn denied_policy<'t>(
    query: Ref<'t, Query>,
    entry: Ref<'t, RangeTblEntry>,
) -> Option<Rc<Policy>> {
    // What holds for a table is kept; rights are looked up.
    let is_table = entry.rtekind() == RTEKind::RTE_RELATION;
    let policy = is_table.then(|| Policy::of(entry.relid())).flatten()?;
    is_denied(query, entry).then_some(policy)
}

/// Whether a query, or one below it, reads a protected table that the role may not read.
pub fn is_concerned(query: Ref<Query>) -> bool {
    tree::any(query.node(), |node| {
        node.cast::<Query>().is_some_and(|query| {
            let mut entries = query.rtable().into_iter();
            entries.any(|entry| denied_policy(query, entry).is_some())
        })
    })
}

/// Raises PostgreSQL's own ERROR where the current role may not read a table of a query, or of one below it.
pub fn check_all(query: Ref<Query>) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            // SAFETY: the range table of a query that lives.
            unsafe {
                #[cfg(feature = "pg15")]
                pg_sys::ExecCheckRTPerms(query.rtable().pointer(), true);
                #[cfg(not(feature = "pg15"))]
                pg_sys::ExecCheckPermissions(
                    query.rtable().pointer(),
                    query.rteperminfos().pointer(),
                    true,
                );
            }
        }
        Step::Below
    });
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

/// Whether a role may read a column of a table.
pub fn may_read_column(relation: Oid, role: Oid, column: i16) -> bool {
    let (read, ok) = (
        pg_sys::ACL_SELECT as pg_sys::AclMode,
        pg_sys::AclResult::ACLCHECK_OK,
    );
    // SAFETY: lookups in the catalog, which answer for any table that is locked.
    unsafe {
        pg_sys::pg_class_aclcheck(relation, role, read) == ok
            || pg_sys::pg_attribute_aclcheck(relation, column, role, read) == ok
    }
}

/// Whether it asks for reading it, and for nothing else.
pub fn is_only_read<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> bool {
    permissions(query, entry)
        .is_some_and(|permissions| permissions.required == pg_sys::ACL_SELECT as pg_sys::AclMode)
}

/// Whether it asks for anything.
pub fn is_asked<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> bool {
    permissions(query, entry).is_some_and(|permissions| permissions.required != 0)
}

/// The role whose rights count, if it is another than the current one: the owner of a view.
pub fn view_owner<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> Option<Oid> {
    permissions(query, entry)
        .map(|permissions| permissions.as_role)
        .filter(|role| *role != Oid::INVALID)
}

/// Lends the table: what is read of it in this query is read with the right of its owner. Also says that the column of
/// the person is read.
pub fn lend<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>, owner: Oid, unit: i16) {
    let column = i32::from(unit) - pg_sys::FirstLowInvalidHeapAttributeNumber;
    let Some(holder) = holder(query, entry) else {
        return;
    };
    holder.set_checkAsUser(owner);
    holder.add_selected(column);
}

/// Has an entry ask with the rights of another role.
pub fn ask_as<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>, role: Oid) {
    if let Some(holder) = holder(query, entry) {
        holder.set_checkAsUser(role);
    }
}

/// Takes the question for rights away from an entry that no longer represents a table.
pub fn forget(entry: Ref<RangeTblEntry>) {
    #[cfg(feature = "pg15")]
    {
        entry.set_requiredPerms(0);
    }
    #[cfg(not(feature = "pg15"))]
    {
        entry.set_perminfoindex(0);
    }
}

/// Puts the range table of one query in the place of another's, with what goes with it.
pub fn move_tables<'t>(from: Ref<'t, Query>, to: Ref<'t, Query>) {
    to.set_rtable(from.rtable());
    from.set_rtable(List::EMPTY);
    #[cfg(not(feature = "pg15"))]
    {
        to.set_rteperminfos(from.rteperminfos());
        from.set_rteperminfos(List::EMPTY);
    }
}

/// Leaves of what a query asks for what its entries do, in their order, and not which columns: it reads those that it
/// names.
pub fn forget_columns(query: Ref<Query>) {
    let holders = query.rtable().into_iter();
    let holders = Vec::from_iter(holders.map(|entry| (entry, holder(query, entry))));
    for holder in holders.iter().filter_map(|(_, holder)| *holder) {
        holder.forget_selected();
    }
    #[cfg(not(feature = "pg15"))]
    {
        query.set_rteperminfos(List::EMPTY);
        for (entry, holder) in holders {
            if let Some(holder) = holder {
                let all = query.rteperminfos().append(holder);
                query.set_rteperminfos(all);
                entry.set_perminfoindex(u32::try_from(all.nodes().len()).expect("few tables"));
            }
        }
    }
}

/// Takes what an entry of one query asks for along to another query, to which it is moved.
pub fn move_table<'t>(from: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>, to: Ref<'t, Query>) {
    #[cfg(feature = "pg15")]
    let _ = (from, entry, to);
    #[cfg(not(feature = "pg15"))]
    if let Some(holder) = holder(from, entry) {
        let all = to.rteperminfos().append(holder);
        to.set_rteperminfos(all);
        entry.set_perminfoindex(u32::try_from(all.nodes().len()).expect("few tables"));
    }
}

/// Moves entries of FROM, by their numbers, to a new query below, where they keep their numbers.
pub fn move_entries<'t>(query: Ref<'t, Query>, below: Ref<'t, Query>, goes: impl Fn(i32) -> bool) {
    let (mut kept, mut moved) = (Vec::new(), Vec::new());
    for (entry, index) in query.rtable().into_iter().zip(1..) {
        let nothing = nothing(query.memory());
        let (stays, moves) = match goes(index) {
            true => (nothing, entry),
            false => (entry, nothing),
        };
        if goes(index) {
            move_table(query, entry, below);
        }
        kept.push(stays);
        moved.push(moves);
    }
    let moved = tree::list_of(moved);
    // What they name of the queries around is one level further away now. SAFETY: entries that are in this list alone.
    unsafe { pg_sys::IncrementVarSublevelsUp_rtable(moved.pointer(), 1, 1) };
    below.set_rtable(moved);
    query.set_rtable(tree::list_of(kept));
}

/// An entry of FROM without columns, which nothing names.
pub fn nothing(memory: Memory) -> Ref<RangeTblEntry> {
    let entry = memory.make::<RangeTblEntry>();
    entry.set_rtekind(RTEKind::RTE_RESULT);
    entry.set_eref(Some(tree::alias("nothing", List::EMPTY)));
    entry
}

/// The only table of a new query: a copy of an entry of another, with what it asks for.
pub fn copy_table<'t>(from: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>, to: Ref<'t, Query>) {
    #[cfg(feature = "pg15")]
    let (_, copy) = (from, entry.copy());
    #[cfg(not(feature = "pg15"))]
    let copy = entry.copy();
    #[cfg(not(feature = "pg15"))]
    if let Some(holder) = holder(from, entry) {
        copy.set_perminfoindex(1);
        to.set_rteperminfos(tree::list_of([holder.copy()]));
    }
    to.set_rtable(tree::list_of([copy]));
}
