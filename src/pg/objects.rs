//! Types and collations that a query names and that did not come with PostgreSQL. Somebody may drop them after the query
//! was looked at, and PostgreSQL looks at some of them where the first row needs them: an error by a row.

use std::collections::BTreeSet;

use pgrx::pg_sys::{self, Node, NodeTag, Oid, Query, SysCacheIdentifier};

use crate::pg::constant;
use crate::pg::procedure;
use crate::pg::stack;
use crate::pg::tree::{self, Ref, Step};

/// Those of a query, and its constants of such types.
#[derive(Default)]
pub struct Named<'t> {
    types: BTreeSet<u32>,
    collations: BTreeSet<u32>,
    constants: Vec<Ref<'t, pg_sys::Const>>,
}

impl<'t> Named<'t> {
    pub fn by(query: Ref<'t, Query>) -> Self {
        let mut named = Self::default();
        tree::search(query.node(), &mut |node, _| {
            named.add(node);
            Step::Below
        });
        named
    }

    /// Takes locks on them, so that no other session drops one before the end of the transaction, and looks at them.
    /// Whether all are there. An ERROR of PostgreSQL's own, if a constant is no longer a value of its type, or a collation
    /// cannot be used.
    pub fn hold(&self) -> bool {
        let of = |catalog, cache, objects: &BTreeSet<u32>| {
            objects.iter().all(|object| {
                let object = Oid::from_u32(*object);
                // SAFETY: a lock on an object of a catalog, by numbers, and a look-up there; both answer for any numbers.
                unsafe {
                    pg_sys::LockDatabaseObject(catalog, object, 0, pg_sys::AccessShareLock as i32);
                    let null = pg_sys::Datum::null();
                    pg_sys::SearchSysCacheExists(cache as i32, object.into(), null, null, null)
                }
            })
        };
        let are_there = of(
            pg_sys::TypeRelationId,
            SysCacheIdentifier::TYPEOID,
            &self.types,
        ) && of(
            pg_sys::CollationRelationId,
            SysCacheIdentifier::COLLOID,
            &self.collations,
        );
        if are_there {
            for collation in &self.collations {
                procedure::look_up_collation(Oid::from_u32(*collation));
            }
            for constant in &self.constants {
                constant::text_of(*constant);
            }
        }
        are_there
    }

    fn add(&mut self, node: Ref<'t, Node>) {
        stack::check();
        if let Some(set) = node.cast::<pg_sys::SetOperationStmt>() {
            for kind in set.colTypes().oids() {
                self.add_type(kind);
            }
            for collation in set.colCollations().oids() {
                self.add_collation(collation);
            }
        }
        // SAFETY: a node of a tree that lives; what has no input has no collation of it.
        self.add_collation(unsafe { pg_sys::exprInputCollation(node.pointer()) });
        if !is_value(node.tag()) {
            return;
        }
        let kind = tree::type_of(node);
        self.add_collation(tree::collation_of(node));
        let is_of_others = self.add_type(kind);
        let constant = node.cast::<pg_sys::Const>();
        let constant = constant.filter(|constant| is_of_others && !constant.constisnull());
        // The planner may do anything with its own.
        self.constants.extend(constant.map(Ref::copy));
    }

    /// A type, and that of its elements. Whether it did not come with PostgreSQL.
    fn add_type(&mut self, kind: Oid) -> bool {
        if kind == Oid::INVALID || procedure::is_pinned(kind) {
            return false;
        }
        if self.types.insert(kind.to_u32()) {
            // SAFETY: a look-up by number; 0 for what is no array.
            let element = unsafe { pg_sys::get_element_type(kind) };
            self.add_type(element);
        }
        true
    }

    fn add_collation(&mut self, collation: Oid) {
        if collation != Oid::INVALID && !procedure::is_pinned(collation) {
            self.collations.insert(collation.to_u32());
        }
    }
}

/// Whether a node has a type.
fn is_value(tag: NodeTag) -> bool {
    matches!(
        tag,
        NodeTag::T_Var
            | NodeTag::T_Const
            | NodeTag::T_Param
            | NodeTag::T_Aggref
            | NodeTag::T_GroupingFunc
            | NodeTag::T_WindowFunc
            | NodeTag::T_SubscriptingRef
            | NodeTag::T_FuncExpr
            | NodeTag::T_OpExpr
            | NodeTag::T_DistinctExpr
            | NodeTag::T_NullIfExpr
            | NodeTag::T_ScalarArrayOpExpr
            | NodeTag::T_BoolExpr
            | NodeTag::T_SubLink
            | NodeTag::T_FieldSelect
            | NodeTag::T_RelabelType
            | NodeTag::T_CoerceViaIO
            | NodeTag::T_ArrayCoerceExpr
            | NodeTag::T_ConvertRowtypeExpr
            | NodeTag::T_CollateExpr
            | NodeTag::T_CaseExpr
            | NodeTag::T_CaseTestExpr
            | NodeTag::T_ArrayExpr
            | NodeTag::T_RowExpr
            | NodeTag::T_RowCompareExpr
            | NodeTag::T_CoalesceExpr
            | NodeTag::T_MinMaxExpr
            | NodeTag::T_SQLValueFunction
            | NodeTag::T_NullTest
            | NodeTag::T_BooleanTest
            | NodeTag::T_CoerceToDomain
    )
}
