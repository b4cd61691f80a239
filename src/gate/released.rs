//! What was released already, in a query: a call that the gate made. It may be joined with private rows, as anything
//! that is public.

use pgrx::pg_sys::{self, Node, NodeTag, Query, RTEKind, RangeTblEntry};

use crate::gate::access;
use crate::gate::answer::call;
use crate::gate::expression::Checker;
use crate::gate::foreign_code;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::procedure;
use crate::pg::tree::{self, Ref, Step};

/// Checks a sub-query that is read beside private rows, before the first of them: an answer, or one over tables that the
/// role may read.
pub fn check<'t>(query: Ref<'t, Query>, checker: &Checker<'t>) -> Checked<()> {
    if access::is_concerned(query) {
        return Err(Reason::with_hint(
            "a joined sub-query reads a protected table that you may not read",
            "Ask the owner of that table to allow you to ask about it, by dp_allow(table, role).",
        ));
    }
    match names_answer(query) {
        true => check_released(query, checker),
        false => check_public(query),
    }
}

/// Whether a query names an answer, or one below it does.
pub fn names_answer(query: Ref<Query>) -> bool {
    tree::any(query.node(), is_call)
}

/// Whether a query itself does.
fn is_call(node: Ref<Node>) -> bool {
    let entries = node.cast::<Query>().map(|query| query.rtable().nodes());
    entries.unwrap_or_default().into_iter().any(call::is_answer)
}

/// Checks a sub-query over public tables. It may raise an error, or be slow, before the first private row, and no code
/// of others runs in it.
pub fn check_public(query: Ref<Query>) -> Checked<()> {
    check_read_first(query, 0)?;
    match tree::names_outer(query) {
        false => Ok(()),
        true => Err("LATERAL cannot be used".into()),
    }
}

/// As above, of the body of a WITH, which may name others, at most `above` queries above it.
pub fn check_read_first(query: Ref<Query>, above: u32) -> Checked<()> {
    let has_code_of_others = tree::any(query.node(), foreign_code::is_called);
    let is_other = tree::search(query.node(), &mut |node, level| {
        let is_plain = node.cast::<Query>().is_none_or(|query| {
            let mut entries = query.rtable().into_iter();
            query.commandType() == pg_sys::CmdType::CMD_SELECT
                && query.rowMarks().is_empty()
                && entries.all(|entry| is_public_entry(entry, level.saturating_add(above)))
        });
        // The conditions of a domain are its owner's code, and run where a value is read as a text of a type of others.
        let is_code = match node.cast::<pg_sys::CoerceViaIO>() {
            Some(cast) => !is_read_by_postgres(cast.resulttype()),
            None => node.tag() == NodeTag::T_CoerceToDomain,
        };
        match is_plain && !is_code {
            true => Step::Below,
            false => Step::Stop,
        }
    });
    if has_code_of_others || is_other || tree::is_volatile(query.node()) {
        return Err(Reason::with_hint(
            "a joined sub-query has functions or tables that cannot be read before the private rows",
            "Use plain tables and functions of PostgreSQL that are not volatile; or join the result of the query.",
        ));
    }
    Ok(())
}

/// Whether no code but PostgreSQL's reads a text as a value of a type.
fn is_read_by_postgres(kind: pg_sys::Oid) -> bool {
    // SAFETY: a lookup in the catalog, which answers for any number.
    let is_enum = unsafe { pg_sys::get_typtype(kind) } as u8 == pg_sys::TYPTYPE_ENUM;
    is_enum || procedure::is_pinned(kind)
}

/// Whether an entry is read where it is, or in a WITH at most `level` queries above its own.
fn is_public_entry(entry: Ref<RangeTblEntry>, level: u32) -> bool {
    match entry.rtekind() {
        RTEKind::RTE_RELATION => {
            let kind = entry.relkind() as u8;
            [
                pg_sys::RELKIND_RELATION,
                pg_sys::RELKIND_MATVIEW,
                pg_sys::RELKIND_PARTITIONED_TABLE,
                pg_sys::RELKIND_VIEW,
            ]
            .contains(&kind)
        }
        RTEKind::RTE_CTE => entry.ctelevelsup() <= level,
        RTEKind::RTE_TABLEFUNC | RTEKind::RTE_NAMEDTUPLESTORE => false,
        _ => true,
    }
}

/// Checks a sub-query that is joined inside of a block: what was released may be, with harmless expressions around it.
/// They run beside private rows, so they must be total too.
fn check_released<'t>(query: Ref<'t, Query>, checker: &Checker<'t>) -> Checked<()> {
    let entries = query.rtable().nodes();
    let is_released = query.commandType() == pg_sys::CmdType::CMD_SELECT
        && query.setOperations().is_none()
        && !query.hasSubLinks()
        && !query.hasTargetSRFs()
        && !query.hasAggs()
        && query.groupClause().is_empty()
        && !query.hasWindowFuncs()
        && query.rowMarks().is_empty()
        && query.cteList().is_empty()
        && entries.len() == 1
        && call::is_answer(entries[0]);
    if !is_released {
        return Err(Reason::with_hint(
            "a joined sub-query is neither a plain table nor a private answer",
            "Join plain tables that you may read, or join the result of the query.",
        ));
    }
    let checker = Checker {
        query: None,
        root: checker.root,
        around: None,
        is_of_answers: true,
    };
    for target in query.targetList() {
        let expr = target.expr().expect("a target has an expression");
        target.set_expr(Some(checker.safe(expr)?));
    }
    let from = query.jointree().expect("a query has FROM");
    from.set_quals(checker.safe_if(from.quals())?);
    query.set_limitCount(checker.safe_if(query.limitCount())?);
    query.set_limitOffset(checker.safe_if(query.limitOffset())?);
    Ok(())
}
