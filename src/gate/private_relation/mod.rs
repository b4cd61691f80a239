//! Private relations: rows that each are of one person, made of that person's rows and of public tables alone. Taking a
//! person away takes their rows away and changes no other, so whatever is asked of such rows is asked of people, as if
//! they were a table that names them. What is done within the rows of one person is free: joins of several protected
//! tables by the person, aggregates and windows of each person, sub-queries about the same person.
//!
//! Each rule has a function here, and its proof in docs/proofs/private-relations.md.

pub mod calls;
mod columns;
pub mod from;
mod links;
mod person;
pub mod reference;
mod set_operation;
mod sub_query;
mod windows;

pub use columns::OneRow;
pub use links::Around;
pub use person::{has_private, is_relation};

use std::cell::RefCell;
use std::rc::Rc;

use pgrx::pg_sys::{CommonTableExpr, Oid, Query};

use crate::gate::access;
use crate::gate::policy::Policy;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::{self, Parameters, Ref, Step};

/// What the queries of one block share.
#[derive(Clone)]
pub struct Shared<'t> {
    pub parameters: Parameters<'t>,
    /// How many queries of the block are around this one.
    pub level: u32,
    /// Public tables and sub-queries that stand below the block, each read whole before the first private row.
    pub lifted: Rc<RefCell<Vec<Ref<'t, CommonTableExpr>>>>,
}

impl<'t> Shared<'t> {
    pub fn of_block(parameters: Parameters<'t>) -> Self {
        Self {
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
                if access::is_denied(query, entry)
                    && let Some(policy) = Policy::of(entry.relid())
                {
                    policies.push(policy);
                    view_owners.push(access::view_owner(query, entry).unwrap_or(Oid::INVALID));
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
