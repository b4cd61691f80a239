//! From the SQL of a template to a query: parsed by PostgreSQL, and then given the expressions of the analyst and their
//! FROM.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Node, Oid, Query};

use crate::gate::access;
use crate::gate::block::Block;
use crate::gate::defence::Defence;
use crate::gate::inputs::{self, pushdown};
use crate::gate::normalize::Room;
use crate::gate::policy::Policy;
use crate::gate::private_relation::cast_arms;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::template::Written;
use crate::pg::tree::{self, Ref, Step};
use crate::pg::{extension, procedure};

/// Checks that all that a template calls is ours or PostgreSQL's: a role that may create in the schema of the public
/// aggregates can make one of the same name, of types that fit better.
fn check_names(node: Ref<Node>) -> bool {
    !tree::any(node, |node| !is_name_known(node))
}

fn is_name_known(node: Ref<Node>) -> bool {
    let function = if let Some(call) = node.cast::<pg_sys::Aggref>() {
        Some(call.aggfnoid())
    } else if let Some(call) = node.cast::<pg_sys::WindowFunc>() {
        Some(call.winfnoid())
    } else if let Some(call) = node.cast::<pg_sys::FuncExpr>() {
        Some(call.funcid())
    } else {
        node.operator().map(|call| call.opfuncid())
    };
    let is_known = |function| procedure::is_pinned(function) || extension::has_function(function);
    function.is_none_or(is_known)
}

/// The query of a template, with the expressions and the FROM of a block in it.
pub fn build<'t>(
    written: &Written<'t>,
    block: &Block<'t>,
    room: &mut Room,
) -> Checked<Ref<'t, Query>> {
    let types: Vec<Oid> = written
        .parameters
        .iter()
        .map(|node| tree::type_of(*node))
        .collect();
    let parsed = as_owner(|| tree::parse(block.query.memory(), &written.sql, &types));
    cast_arms(parsed)?;
    if Defence::Names.stands() && !check_names(parsed.node()) {
        return Err(Reason::with_hint(
            "another function in the extension's schema has the name of a dp_mean function",
            "The owner of the schema should drop it, and let nobody create there.",
        ));
    }
    let copied = room.take(copied(parsed, written, block), 1);
    copied.ok_or_else(|| {
        Reason::with_hint(
            "its expressions are too large to be repeated for each grouping set and aggregate",
            "Ask with fewer grouping sets, or for fewer aggregates at a time.",
        )
    })?;
    let mut put_in = BTreeSet::new();
    let spliced = tree::change(parsed.node(), &mut |node| {
        let parameter = written.parameters.get(place(node)?)?.copy();
        put_in.insert(parameter.pointer() as usize);
        Some(parameter)
    });
    let query = spliced.cast::<Query>().expect("a query stays one");
    let own = own_queries(query, &put_in);
    let innermost = innermost(&own);
    let lists = inputs::lists(&own);
    let source = block.query;
    let public = block.from.public_entries();
    let conditions = Defence::Inputs
        .stands()
        .then(|| pushdown::take(source, &public));
    let mut copies: Vec<_> = innermost.iter().skip(1).map(|_| source.copy()).collect();
    for (innermost, _) in &innermost {
        match copies.pop() {
            Some(copy) => graft(copy, *innermost, block),
            None => graft(source, *innermost, block),
        }
    }
    if let Some(conditions) = conditions {
        let from = &block.from;
        let lifted = from.shared().lifted.borrow();
        inputs::read_first(
            query,
            source,
            &innermost,
            &lists,
            conditions,
            &from.answers,
            &lifted,
        );
    }
    Ok(query)
}

/// How many nodes the copies have that are put into the query of a template.
fn copied<'t>(parsed: Ref<'t, Query>, written: &Written<'t>, block: &Block<'t>) -> usize {
    let parameters = written.parameters.iter().map(|node| tree::size(*node));
    let parameters = Vec::from_iter(parameters);
    let mut nodes = 0_usize;
    tree::search(parsed.node(), &mut |node, _| {
        nodes += match place(node) {
            Some(i) => parameters.get(i).copied().unwrap_or(0),
            None => 1,
        };
        Step::Below
    });
    let sources = innermost(&own_queries(parsed, &BTreeSet::new())).len();
    nodes + tree::size(block.query.node()) * sources.saturating_sub(1)
}

/// Which of the parameters of a template a node is, from 0.
fn place(node: Ref<Node>) -> Option<usize> {
    let parameter = node.cast::<pg_sys::Param>()?;
    usize::try_from(parameter.paramid()).ok()?.checked_sub(1)
}

/// The queries of a template itself, each with how many queries are around it. Those in the expressions that were put
/// in, at these addresses, are an analyst's, and may look like any of them.
fn own_queries<'t>(
    template: Ref<'t, Query>,
    put_in: &BTreeSet<usize>,
) -> Vec<(Ref<'t, Query>, u32)> {
    let mut found = Vec::new();
    tree::search(template.node(), &mut |node, level| {
        if put_in.contains(&(node.pointer() as usize)) {
            return Step::Past;
        }
        found.extend(node.cast::<Query>().map(|query| (query, level)));
        Step::Below
    });
    found
}

/// Those of them that have no FROM yet, but a condition: that the rows come in by.
fn innermost<'t>(own: &[(Ref<'t, Query>, u32)]) -> Vec<(Ref<'t, Query>, u32)> {
    let has_no_from = |query: Ref<Query>| {
        let from = query.jointree();
        from.is_some_and(|from| from.fromlist().is_empty() && from.quals().is_some())
    };
    let own = own.iter().copied();
    own.filter(|(query, _)| has_no_from(*query)).collect()
}

/// Gives a query the FROM of the block, and lends the table to it.
fn graft<'t>(source: Ref<'t, Query>, query: Ref<'t, Query>, block: &Block<'t>) {
    tree::flatten_groups(query);
    access::move_tables(source, query);
    let from = source.jointree().expect("a query has FROM");
    let own = query.jointree().expect("a query has FROM");
    own.set_fromlist(from.fromlist());
    own.set_quals(tree::both(from.quals(), own.quals()));
    query.set_hasRowSecurity(source.hasRowSecurity());
    // Those of the block around it stay there.
    query.set_hasSubLinks(tree::has_sublinks(query.node()));
    lend(query, &block.policy);
}

/// Lends the protected tables of a block to the query that reads them, and to those below it.
fn lend(query: Ref<Query>, policy: &Policy) {
    tree::search(query.node(), &mut |node, _| {
        let Some(query) = node.cast::<Query>() else {
            return Step::Below;
        };
        for entry in query.rtable() {
            let found = policy.of_table(entry.relid());
            if let Some(found) = found.filter(|_| access::is_denied(query, entry)) {
                access::lend(query, entry, found.owner, found.unit);
                if let Some(period) = &found.period {
                    access::lend(query, entry, found.owner, period.column);
                }
            }
        }
        Step::Below
    });
}

/// Runs with the rights of the extension's schema, in which the analyst has none. Where it ends by an ERROR, the
/// transaction puts the role back.
fn as_owner<R>(work: impl FnOnce() -> R) -> R {
    let (mut role, mut context) = (Oid::INVALID, 0);
    // SAFETY: it reads two numbers, and sets them back.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&raw mut role, &raw mut context);
        let owner = Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID);
        let during = context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
        pg_sys::SetUserIdAndSecContext(owner, during);
        let result = work();
        pg_sys::SetUserIdAndSecContext(role, context);
        result
    }
}
