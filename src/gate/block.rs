//! A block: one SELECT with aggregates, GROUP BY or DISTINCT over one protected table. Here it is recognised, and what
//! is not proven private is refused.

use std::rc::Rc;

use pgrx::pg_sys::{
    self, FromExpr, JoinExpr, JoinType, Node, NodeTag, Oid, Query, RTEKind, RangeTblRef,
    SortGroupClause,
};

use crate::gate::access;
use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::expression::{self, Checker};
use crate::gate::policy::{Policy, quoted_name};
use crate::gate::public_keys::{self, Public};
use crate::gate::rejection::{Checked, Reason};
use crate::gate::released;
use crate::ledger::session;
use crate::pg::procedure;
use crate::pg::stack;
use crate::pg::tree::{self, List, Parameters, Ref};

/// The most keys of a block: together they fit into a row.
const MOST_KEYS: usize = 64;

/// Casts of integers that keep all of them apart.
const WIDENING: [u32; 8] = [
    pg_sys::F_INT4_INT2,
    pg_sys::F_INT8_INT2,
    pg_sys::F_INT8_INT4,
    pg_sys::F_FLOAT8_INT2,
    pg_sys::F_FLOAT8_INT4,
    pg_sys::F_NUMERIC_INT2,
    pg_sys::F_NUMERIC_INT4,
    pg_sys::F_NUMERIC_INT8,
];

/// A block, as far as it was checked.
pub struct Block<'t> {
    pub query: Ref<'t, Query>,
    /// The number of the protected table.
    pub index: i32,
    pub policy: Rc<Policy>,
    /// The owner of the view that names the table; invalid: the current role asks.
    pub view_owner: Oid,
    pub checker: Checker<'t>,
    /// Whether other tables are joined, so that a row may be there several times.
    pub joined: bool,
    /// The numbers of the plain tables among them.
    pub inputs: Vec<i32>,
    /// The numbers of the answers among them.
    pub answers: Vec<i32>,
}

/// A key of GROUP BY.
pub struct GroupKey<'t> {
    /// As the query has it.
    pub written: Ref<'t, Node>,
    /// As it is computed for private rows.
    pub computed: Ref<'t, Node>,
    /// That in its one form.
    pub safe: Ref<'t, Node>,
    /// The type modifier of that.
    pub modifier: i32,
    /// Whether it is the column that names the person.
    pub is_unit: bool,
    /// Its number in GROUPING SETS.
    pub reference: u32,
    /// What is public of its values.
    pub public: Option<Public>,
}

/// The conditions that all rows meet which come of a part of FROM.
fn conditions_of(node: Ref<Node>) -> Vec<Ref<Node>> {
    stack::check();
    let (own, below) = if let Some(join) = node.cast::<JoinExpr>() {
        match join.jointype() {
            JoinType::JOIN_INNER => (join.quals(), vec![join.larg(), join.rarg()]),
            JoinType::JOIN_LEFT => (None, vec![join.larg()]),
            JoinType::JOIN_RIGHT => (None, vec![join.rarg()]),
            _ => (None, Vec::new()),
        }
    } else if let Some(from) = node.cast::<FromExpr>() {
        let parts = from.fromlist().into_iter().map(Some);
        (from.quals(), parts.collect())
    } else {
        return Vec::new();
    };
    let below = below.into_iter().flatten().flat_map(conditions_of);
    tree::conjuncts(own).into_iter().chain(below).collect()
}

impl<'t> Block<'t> {
    /// Checks the shape of the query, and all of FROM and WHERE.
    pub fn recognise(
        query: Ref<'t, Query>,
        index: i32,
        policy: Rc<Policy>,
        parameters: Parameters<'t>,
    ) -> Checked<Self> {
        let entry = tree::entry(query, index);
        if query.commandType() != pg_sys::CmdType::CMD_SELECT
            || !query.rowMarks().is_empty()
            || !access::is_only_read(query, entry)
        {
            return Err("protected tables can only be read, without row locks".into());
        }
        let is_distinct = !query.hasAggs()
            && query.groupClause().is_empty()
            && !query.distinctClause().is_empty()
            && !query.hasDistinctOn()
            && !query.hasWindowFuncs()
            && !query.hasTargetSRFs();
        if is_distinct {
            query.set_groupClause(query.distinctClause());
            query.set_distinctClause(List::EMPTY);
        }
        if !query.hasAggs() && query.groupClause().is_empty() && query.groupingSets().is_empty() {
            return Err("the query has no aggregate".into());
        }
        let root = tree::planning(query, parameters);
        let checker = Checker {
            query: Some(query),
            root,
        };
        let mut block = Self {
            query,
            index,
            view_owner: access::view_owner(query, entry).unwrap_or(Oid::INVALID),
            policy,
            checker,
            joined: false,
            inputs: Vec::new(),
            answers: Vec::new(),
        };
        let from = query.jointree().expect("a query has FROM");
        if !block.is_below(from.node()) {
            return Err("the table is not in FROM".into());
        }
        for other in query.rtable() {
            if other != entry && access::is_denied(query, other) {
                let name = quoted_name(other.relid());
                return Err(Reason::with_hint(
                    format!("it is joined with {name}, which you may not read"),
                    "A query can read one protected table. Join the results of two queries.",
                ));
            }
        }
        // Before the columns of joins: keys may name these.
        tree::flatten_groups(query);
        let flat = |node: Ref<'t, Node>| tree::flatten_joins(query, node);
        query.set_targetList(List::of_tree(query.targetList().node().map(flat)));
        query.set_havingQual(query.havingQual().map(flat));
        block.check_from(from.node())?;
        Ok(block)
    }

    /// Whether the protected table stands below a part of FROM.
    fn is_below(&self, node: Ref<'t, Node>) -> bool {
        stack::check();
        if let Some(reference) = node.cast::<RangeTblRef>() {
            return reference.rtindex() == self.index;
        }
        if let Some(join) = node.cast::<JoinExpr>() {
            let sides = [join.larg(), join.rarg()];
            return sides.into_iter().flatten().any(|side| self.is_below(side));
        }
        let from = node.cast::<FromExpr>();
        from.is_some_and(|from| {
            let parts = from.fromlist();
            parts.into_iter().any(|part| self.is_below(part))
        })
    }

    /// Checks a part of FROM, and puts its conditions into their safe form.
    fn check_from(&mut self, node: Ref<'t, Node>) -> Checked<()> {
        stack::check();
        if let Some(reference) = node.cast::<RangeTblRef>() {
            return self.check_table(reference.rtindex());
        }
        if let Some(join) = node.cast::<JoinExpr>() {
            let right = join.rarg().expect("a join has two sides");
            let left = join.larg().expect("a join has two sides");
            let is_kept = match join.jointype() {
                JoinType::JOIN_INNER => true,
                JoinType::JOIN_LEFT => !self.is_below(right),
                JoinType::JOIN_RIGHT => !self.is_below(left),
                _ => false,
            };
            if !is_kept {
                return Err("the table is on the nullable side of an outer join".into());
            }
            self.check_from(left)?;
            self.check_from(right)?;
            join.set_quals(self.safe_condition(join.quals())?);
            return Ok(());
        }
        let Some(from) = node.cast::<FromExpr>() else {
            return Err("unsupported item in FROM".into());
        };
        for part in from.fromlist() {
            self.check_from(part)?;
        }
        from.set_quals(self.safe_condition(from.quals())?);
        Ok(())
    }

    fn safe_condition(&self, condition: Option<Ref<'t, Node>>) -> Checked<Option<Ref<'t, Node>>> {
        let flat = condition.map(|condition| tree::flatten_joins(self.query, condition));
        self.checker.safe_if(flat)
    }

    fn check_table(&mut self, index: i32) -> Checked<()> {
        let entry = tree::entry(self.query, index);
        if entry.tablesample().is_some() {
            return Err("TABLESAMPLE cannot be used".into());
        }
        if index == self.index {
            let conditions: Checked<Vec<_>> = entry
                .securityQuals()
                .into_iter()
                .map(|condition| self.checker.safe(condition))
                .collect();
            entry.set_securityQuals(tree::list_of(conditions?));
            return match entry.lateral() {
                false => Ok(()),
                true => Err("LATERAL cannot be used".into()),
            };
        }
        // Whether it has rows at all or many for one, a person may then count for more rows.
        self.joined = true;
        match entry.rtekind() {
            RTEKind::RTE_RELATION => {
                let kind = entry.relkind() as u8;
                let has_children = tree::has_subclass(entry.relid());
                let is_plain = kind == pg_sys::RELKIND_RELATION || kind == pg_sys::RELKIND_MATVIEW;
                if !is_plain || has_children || entry.lateral() || !entry.securityQuals().is_empty()
                {
                    return Err(Reason::with_hint(
                        format!(
                            "{} is joined, which is not a plain table",
                            quoted_name(entry.relid())
                        ),
                        "Join plain tables that you may read, or join the result of the query.",
                    ));
                }
                if access::is_asked(self.query, entry) && !access::is_only_read(self.query, entry) {
                    return Err("a joined table is locked".into());
                }
                self.inputs.push(index);
                Ok(())
            }
            RTEKind::RTE_SUBQUERY if !entry.lateral() => {
                let released = entry.subquery().ok_or("an empty sub-query is joined")?;
                released::check_released(released, &self.checker)?;
                self.answers.push(index);
                Ok(())
            }
            _ => Err(Reason::with_hint(
                "a joined item is not a plain table",
                "Join plain tables that you may read, or join the result of the query.",
            )),
        }
    }

    /// The conditions that all rows meet: those of WHERE and of inner joins.
    pub fn conditions(&self) -> Vec<Ref<'t, Node>> {
        let from = self.query.jointree().expect("a query has FROM");
        conditions_of(from.node())
    }

    /// The keys of GROUP BY.
    pub fn keys(&self) -> Checked<Vec<GroupKey<'t>>> {
        let clauses = self.query.groupClause().nodes();
        if clauses.len() > MOST_KEYS && Defence::Size.stands() {
            return Err(Reason::with_hint(
                format!("the query has more than {MOST_KEYS} keys"),
                "Group by fewer columns.",
            ));
        }
        let keys = clauses.into_iter().map(|clause| self.key(clause));
        let mut keys = keys.collect::<Checked<Vec<_>>>()?;
        let groups = keys.iter().filter_map(|key| key.public.as_ref());
        let groups = groups.fold(1, |all: usize, key| all.saturating_mul(key.count()));
        if groups > public_keys::MOST_GROUPS {
            for key in &mut keys {
                key.public = key.public.take().filter(|public| public.is_declared);
            }
        }
        Ok(keys)
    }

    fn key(&self, clause: Ref<'t, SortGroupClause>) -> Checked<GroupKey<'t>> {
        let target = tree::sort_group_target(clause, self.query.targetList());
        let written = target.expr().expect("a target has an expression");
        let safe = self.checker.safe(written)?;
        let kind = tree::type_of(written);
        let formed = canonical_keys::formed(self.query, written, safe)?;
        let has_order = canonical_keys::has_order(kind) || !Defence::Order.stands();
        if !expression::is_total_operator(clause.eqop())
            || !expression::has_hash(kind)
            || !has_order
        {
            return Err("cannot group by values of this type".into());
        }
        expression::check_key(written)?;
        Ok(GroupKey {
            written,
            computed: safe,
            safe: formed.node,
            modifier: formed.modifier,
            is_unit: self.is_unit(written),
            reference: clause.tleSortGroupRef(),
            public: self.public(written),
        })
    }

    /// What is public of a key.
    fn public(&self, key: Ref<'t, Node>) -> Option<Public> {
        let column = key.cast::<pg_sys::Var>();
        let column = column.filter(|column| column.varno() == self.index);
        let declared = column.and_then(|column| self.policy.values(column.varattno()));
        match declared {
            Some(values) => Some(Public::declared(values.to_vec())),
            None => {
                let key = self.checker.folded(key.copy());
                public_keys::of(key, &|node| self.is_never_null(node))
            }
        }
    }

    /// Whether an expression is the column that names the person, as it is or cast to a wider type or to text.
    fn is_unit(&self, node: Ref<'t, Node>) -> bool {
        if let Some(column) = node.cast::<pg_sys::Var>() {
            return column.varno() == self.index && column.varattno() == self.policy.unit;
        }
        let below = if let Some(same) = node.cast::<pg_sys::RelabelType>() {
            same.arg()
        } else if let Some(text) = node.cast::<pg_sys::CoerceViaIO>() {
            text.arg()
        } else if let Some(cast) = node.cast::<pg_sys::FuncExpr>() {
            let widens = WIDENING.contains(&cast.funcid().to_u32());
            cast.args().into_iter().next().filter(|_| widens)
        } else {
            None
        };
        below.is_some_and(|below| self.is_unit(below))
    }

    /// Refuses groups that hold one person each: they would be charged for, and none is ever shown.
    pub fn check_shown(&self, keys: &[GroupKey<'t>], sets: &[Vec<bool>]) -> Checked<()> {
        let is_hidden = |set: &Vec<bool>| {
            let mut keys = keys.iter().zip(set).filter(|(_, in_set)| **in_set);
            keys.clone().any(|(key, _)| key.is_unit) && !keys.all(|(key, _)| key.public.is_some())
        };
        match sets.iter().any(is_hidden) {
            false => Ok(()),
            true => Err(Reason::with_hint(
                "GROUP BY the unit column would show single persons",
                "Group by something that many people share; count(DISTINCT ...) of that column counts people.",
            )),
        }
    }

    /// Whether a row is a person: a snapshot that was there before may be older than the unique index that says so.
    pub fn has_one_row_each(&self) -> bool {
        self.policy.one_row_each.is_some() && !self.joined && !session::keeps_a_snapshot()
    }

    /// The role that is charged: the one that asks, or the owner of the view that names the table.
    pub fn payer(&self) -> Oid {
        match self.view_owner {
            Oid::INVALID => session::role(),
            owner => owner,
        }
    }

    /// The person of a row.
    pub fn unit(&self) -> Checked<Ref<'t, Node>> {
        let (mut kind, mut modifier, mut collation) = (Oid::INVALID, 0, Oid::INVALID);
        let column = self.policy.unit;
        // SAFETY: a lookup in the catalog, into three variables.
        unsafe {
            pg_sys::get_atttypetypmodcoll(
                self.policy.relation,
                column,
                &raw mut kind,
                &raw mut modifier,
                &raw mut collation,
            );
        }
        if !expression::is_groupable(kind) {
            return Err("the type of the unit column cannot be grouped by".into());
        }
        let unit = self.checker.safe(tree::var(
            self.query.memory(),
            self.index,
            column,
            kind,
            modifier,
            collation,
        ))?;
        expression::check_key(unit)?;
        if collation != Oid::INVALID && !procedure::is_deterministic(collation) {
            return Err("the unit column has a nondeterministic collation".into());
        }
        Ok(unit)
    }

    /// The public range of an expression.
    pub fn range(&self, node: Ref<'t, Node>) -> Option<(f64, f64)> {
        let bounds = |relation: i32, column: i16| match relation == self.index {
            true => self.policy.bounds(column),
            false => None,
        };
        expression::range(node, &bounds)
    }

    /// Whether an expression is NULL for no row.
    pub fn is_never_null(&self, node: Ref<'t, Node>) -> bool {
        stack::check();
        if let Some(column) = node.cast::<pg_sys::Var>() {
            return column.varno() == self.index && self.policy.is_not_null(column.varattno());
        }
        if let Some(value) = tree::constant(node) {
            return value.is_some();
        }
        if let Some(same) = node.cast::<pg_sys::RelabelType>() {
            return same.arg().is_some_and(|arg| self.is_never_null(arg));
        }
        if [NodeTag::T_NullTest, NodeTag::T_BooleanTest].contains(&node.tag()) {
            return true;
        }
        let arguments = if let Some(all) = node.cast::<pg_sys::BoolExpr>() {
            all.args()
        } else if let Some(comparison) = node.operator() {
            match node.tag() == NodeTag::T_OpExpr && expression::is_comparison(comparison) {
                true => comparison.args(),
                false => return false,
            }
        } else if let Some(call) = node.cast::<pg_sys::FuncExpr>() {
            // Casts from integers to numbers answer always.
            match expression::is_total_cast(call.funcid()) && call.args().nodes().len() == 1 {
                true => call.args(),
                false => return false,
            }
        } else {
            return false;
        };
        let mut arguments = arguments.into_iter();
        arguments.all(|argument| self.is_never_null(argument))
    }
}
