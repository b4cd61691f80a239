//! What the queries of one block share, and where their rows come from.

use std::cell::RefCell;
use std::rc::Rc;

use pgrx::pg_sys::{CommonTableExpr, Oid, Query};

use crate::gate::access;
use crate::gate::policy::Policy;
use crate::gate::private_relation::columns::Relation;
use crate::gate::rejection::{Checked, Reason};
use crate::ledger::session;
use crate::pg::tree::{self, Parameters, Ref, Step};

/// What checks a sub-query in FROM: the rules for it stand on those for FROM, and these call it.
pub type CheckSubQuery<'t> = fn(Ref<'t, Query>, &Shared<'t>) -> Checked<Relation>;

/// What the queries of one block share.
#[derive(Clone)]
pub struct Shared<'t> {
    pub check_sub_query: CheckSubQuery<'t>,
    pub parameters: Parameters<'t>,
    /// How many queries of the block are around this one.
    pub level: u32,
    /// Public tables and sub-queries that stand below the block, each read whole before the first private row.
    pub lifted: Rc<RefCell<Vec<Ref<'t, CommonTableExpr>>>>,
}

impl<'t> Shared<'t> {
    pub fn of_block(parameters: Parameters<'t>, check_sub_query: CheckSubQuery<'t>) -> Self {
        Self {
            check_sub_query,
            parameters,
            level: 0,
            lifted: Rc::default(),
        }
    }

    /// For a query within this one.
    pub fn below(&self) -> Self {
        Self {
            level: self.level + 1,
            ..self.clone()
        }
    }
}

/// The policy of all protected tables that a query reads and the role may not, wherever they stand in it; and the owner
/// of the view that names them, invalid where the current role asks. `None` if there is no such table.
pub fn origins<'t>(query: Ref<'t, Query>) -> Checked<Option<(Rc<Policy>, Oid)>> {
    let mut policies: Vec<Rc<Policy>> = Vec::new();
    let mut view_owners = Vec::new();
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            for entry in query.rtable() {
                if let Some(policy) = access::denied_policy(query, entry) {
                    let owner = access::view_owner(query, entry);
                    let owner = owner.filter(|owner| *owner != session::role());
                    view_owners.push(owner.unwrap_or(Oid::INVALID));
                    // What it refers to is not read, and asked about as well.
                    let other = policy.refers_to_person().and_then(Policy::of);
                    policies.push(policy);
                    policies.extend(other);
                }
            }
        }
        Step::Below
    });
    let Some((first, others)) = policies.split_first() else {
        return Ok(None);
    };
    // One payer pays for all.
    if view_owners.iter().any(|owner| *owner != view_owners[0]) {
        return Err(Reason::with_hint(
            "it reads protected tables with the rights of several roles",
            "Name the tables, or views of one owner.",
        ));
    }
    Ok(Some((Policy::together(first, others)?, view_owners[0])))
}
