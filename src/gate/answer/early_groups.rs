//! A plan that groups the rows of a person before they are joined with a table that has one row of each person. Such a
//! join has as many rows as the person; grouped first, it has one. PostgreSQL joins before it groups, so the query is
//! also planned in this form, and the cheaper plan is taken.
//!
//! Both forms say the same: a group has all rows of a person, and finds one row of the table or none. That no two rows
//! of it have the same person is what its unique index says, on which questions of that table alone stand, too.

#[cfg(feature = "pg_test")]
mod tests;

use pgrx::pg_sys::{
    self, Aggref, CmdType, FromExpr, JoinExpr, JoinType, Node, NodeTag, Query, RTEKind,
    RangeTblEntry, RangeTblRef, SortGroupClause, TargetEntry, Var,
};

use crate::gate::access;
use crate::gate::policy::Policy;
use crate::gate::private_relation::{self, Column};
use crate::ledger::session;
use crate::pg::execution;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref, Step};

/// What the sub-query is called, in plans.
const NAME: &str = "people";

/// The cheaper plan of a private query.
pub fn plan<'t>(query: Ref<'t, Query>, policy: &Policy) -> Ref<'t, pg_sys::PlannedStmt> {
    // A snapshot may be older than the index.
    let early = match session::keeps_a_snapshot() {
        true => None,
        false => regrouped(query, policy),
    };
    let planned = execution::plan(query);
    let Some(early) = early else {
        return planned;
    };
    let early = execution::plan(early);
    let cost = |planned: Ref<'t, pg_sys::PlannedStmt>| {
        let plan = planned.planTree();
        plan.map_or(f64::INFINITY, |plan| plan.total_cost())
    };
    match cost(early) < cost(planned) {
        true => early,
        false => planned,
    }
}

/// A copy of a query in which what can be is grouped before it is joined; `None` if nothing can.
fn regrouped<'t>(query: Ref<'t, Query>, policy: &Policy) -> Option<Ref<'t, Query>> {
    let is_for = |query: Ref<'t, Query>| Early::of(query, policy).is_some();
    tree::any(query.node(), |node| node.cast().is_some_and(is_for)).then(|| {
        let copy = query.copy();
        tree::search(copy.node(), &mut |node, _| {
            if let Some(query) = node.cast::<Query>()
                && let Some(early) = Early::of(query, policy)
            {
                early.put();
            }
            Step::Below
        });
        copy
    })
}

/// A query whose rows can be grouped before they are joined with one of its tables.
struct Early<'t> {
    query: Ref<'t, Query>,
    /// The table that has one row of each person.
    table: i32,
    /// The column of the other rows that names the person.
    person: Ref<'t, Var>,
    /// How rows are grouped by it.
    clause: Ref<'t, SortGroupClause>,
    /// The other items of FROM.
    items: Vec<Ref<'t, Node>>,
    /// The inner joins that there are no more.
    joins: Vec<i32>,
    /// The conditions on these items alone, and all others.
    below: Vec<Ref<'t, Node>>,
    above: Vec<Ref<'t, Node>>,
}

impl<'t> Early<'t> {
    fn of(query: Ref<'t, Query>, policy: &Policy) -> Option<Self> {
        if !is_plain(query) {
            return None;
        }
        tree::flatten_groups(query);
        let from = query.jointree()?;
        let mut parts = Parts::default();
        parts.collect(from.node());
        let tables = parts
            .items
            .iter()
            .filter_map(|item| item.cast::<RangeTblRef>());
        let mut tables = tables.map(|table| table.rtindex());
        tables.find_map(|table| Self::of_table(query, policy, table, &parts))
    }

    fn of_table(
        query: Ref<'t, Query>,
        policy: &Policy,
        table: i32,
        parts: &Parts<'t>,
    ) -> Option<Self> {
        let unit = unit_of_one_row(tree::entry(query, table), policy)?;
        let person = parts.conditions.iter().find_map(|condition| {
            let [one, other] = private_relation::equality(*condition)?;
            let (_, sides) = private_relation::comparison(*condition)?;
            match (one == (table, unit), other == (table, unit)) {
                (true, false) => sides[1].cast::<Var>(),
                (false, true) => sides[0].cast::<Var>(),
                _ => None,
            }
        })?;
        let clause = Self::clause(query, (table, unit), person)?;
        let names_table =
            |condition: &Ref<'t, Node>| names(*condition, |column| column.varno() == table);
        let (above, below) = parts.conditions.iter().copied().partition(names_table);
        let item_of = |item: &Ref<'t, Node>| {
            let reference = item.cast::<RangeTblRef>();
            reference.is_some_and(|reference| reference.rtindex() == table)
        };
        let items = parts.items.iter().copied().filter(|item| !item_of(item));
        let early = Self {
            query,
            table,
            person,
            clause,
            items: items.collect(),
            joins: parts.joins.clone(),
            below,
            above,
        };
        early.is_right().then_some(early)
    }

    /// How a query groups its rows by the person, as either side names them.
    fn clause(
        query: Ref<'t, Query>,
        unit: Column,
        person: Ref<'t, Var>,
    ) -> Option<Ref<'t, SortGroupClause>> {
        query.groupClause().into_iter().find(|clause| {
            let key = tree::sort_group_target(*clause, query.targetList()).expr();
            key.and_then(|key| key.cast::<Var>()).is_some_and(|key| {
                let is_one = [unit, place(person)].contains(&place(key)) && key.varlevelsup() == 0;
                let kinds = [key, person].map(|column| tree::type_of(column.node()));
                is_one && kinds[0] == kinds[1]
            })
        })
    }

    /// Whether all is of the table, of the person, or of a group of the other rows.
    fn is_right(&self) -> bool {
        let is_known = |node: Ref<'t, Node>| {
            !tree::search(node, &mut |node, _| {
                if let Some(call) = node.cast::<Aggref>() {
                    let names_table = names(call.node(), |column| column.varno() == self.table);
                    return match call.agglevelsup() > 0 || names_table {
                        true => Step::Stop,
                        false => Step::Past,
                    };
                }
                let column = node.cast::<Var>();
                let is_below = column.is_some_and(|column| !self.is_above(column));
                match is_below || node.tag() == NodeTag::T_GroupingFunc {
                    true => Step::Stop,
                    false => Step::Below,
                }
            })
        };
        let targets = self.query.targetList().into_iter();
        let mut all = targets
            .filter_map(|target| target.expr())
            .chain(self.above.iter().copied());
        !self.items.is_empty() && all.all(is_known)
    }

    /// Whether a column is there after the rows are grouped.
    fn is_above(&self, column: Ref<Var>) -> bool {
        column.varlevelsup() > 0 || column.varno() == self.table || self.is_person(column)
    }

    fn is_person(&self, column: Ref<Var>) -> bool {
        column.varlevelsup() == 0 && place(column) == place(self.person)
    }

    /// Puts the groups into a sub-query, as the last entry of FROM.
    fn put(self) {
        let (query, memory) = (self.query, self.query.memory());
        let index = i32::try_from(query.rtable().nodes().len() + 1).expect("few entries");
        let mut shown = vec![self.person.node().copy()];
        let targets = query.targetList().node();
        let targets = targets.map(|targets| self.renamed(targets, index, &mut shown));
        query.set_targetList(List::of_tree(targets));
        let above = self.above.iter();
        let above = above.map(|condition| self.renamed(*condition, index, &mut shown));
        let above: Vec<_> = above.collect();

        let names: Vec<_> = (1..=shown.len()).map(|i| format!("c{i}")).collect();
        let below = self.groups(&shown, &names);
        access::move_entries(query, below, |entry| entry != self.table);
        let entries = below.rtable().into_iter().zip(1..);
        let entries = entries.map(|(entry, index)| match self.joins.contains(&index) {
            true => access::nothing(memory),
            false => entry,
        });
        below.set_rtable(tree::list_of(entries));

        let entry = memory.make::<RangeTblEntry>();
        entry.set_rtekind(RTEKind::RTE_SUBQUERY);
        entry.set_subquery(Some(below));
        entry.set_inFromCl(true);
        let names = memory.strings(names.iter().map(String::as_str));
        entry.set_eref(Some(tree::alias(NAME, names)));
        query.set_rtable(query.rtable().append(entry));
        let items = [self.table, index].map(|index| {
            let reference = memory.make::<RangeTblRef>();
            reference.set_rtindex(index);
            reference.node()
        });
        query.set_jointree(Some(from_of(query, items, above)));
        query.set_groupClause(List::EMPTY);
        query.set_hasAggs(false);
    }

    /// The query of the groups, which shows these expressions, the person first. Its range table is still to come.
    fn groups(&self, shown: &[Ref<'t, Node>], names: &[String]) -> Ref<'t, Query> {
        let below = self.query.memory().make::<Query>();
        below.set_commandType(CmdType::CMD_SELECT);
        below.set_canSetTag(true);
        below.set_hasAggs(true);
        below.set_hasRowSecurity(self.query.hasRowSecurity());
        let targets = shown.iter().zip(names).zip(1..);
        let targets = targets.map(|((value, name), number)| tree::target(*value, number, name));
        let targets: Vec<Ref<TargetEntry>> = targets.collect();
        let clause = self.clause.copy();
        clause.set_tleSortGroupRef(1);
        targets[0].set_ressortgroupref(1);
        below.set_targetList(tree::list_of(targets));
        below.set_groupClause(tree::list_of([clause]));
        let items = self.items.iter().copied();
        below.set_jointree(Some(from_of(self.query, items, self.below.clone())));
        let parts = [below.targetList().node(), below.jointree().map(Ref::node)];
        for part in parts.into_iter().flatten() {
            // What it names of the queries around is one level further away now. SAFETY: a part of this query alone.
            unsafe { pg_sys::IncrementVarSublevelsUp(part.pointer(), 1, 1) };
        }
        below
    }

    /// An expression with the columns of the sub-query, at this place in FROM, in it.
    fn renamed(
        &self,
        node: Ref<'t, Node>,
        index: i32,
        shown: &mut Vec<Ref<'t, Node>>,
    ) -> Ref<'t, Node> {
        tree::change(node, &mut |node| {
            let column = node.cast::<Var>();
            let is_person = column.is_some_and(|column| self.is_person(column));
            let number = match node.cast::<Aggref>() {
                Some(_) => {
                    let known = shown.iter().position(|known| known.same(node));
                    known.unwrap_or_else(|| {
                        shown.push(node.copy());
                        shown.len() - 1
                    })
                }
                None if is_person => 0,
                None => return None,
            };
            let number = i16::try_from(number + 1).unwrap_or(i16::MAX);
            let (kind, modifier) = (tree::type_of(node), tree::modifier_of(node));
            let collation = tree::collation_of(node);
            Some(tree::var(
                node.memory(),
                index,
                number,
                kind,
                modifier,
                collation,
            ))
        })
    }
}

/// Whether a query groups rows, and does nothing else with them.
fn is_plain(query: Ref<Query>) -> bool {
    query.commandType() == CmdType::CMD_SELECT
        && query.hasAggs()
        && !query.groupClause().is_empty()
        && !query.hasSubLinks()
        && !query.hasWindowFuncs()
        && !query.hasTargetSRFs()
        && query.cteList().is_empty()
        && query.groupingSets().is_empty()
        && query.havingQual().is_none()
        && query.distinctClause().is_empty()
        && query.sortClause().is_empty()
        && query.limitCount().is_none()
        && query.limitOffset().is_none()
        && query.rowMarks().is_empty()
        && query.setOperations().is_none()
        && !query.rtable().into_iter().any(|entry| entry.lateral())
}

/// The column that names the person, of a protected table in which no two rows have the same.
fn unit_of_one_row(entry: Ref<RangeTblEntry>, policy: &Policy) -> Option<i16> {
    if entry.rtekind() != RTEKind::RTE_RELATION || entry.tablesample().is_some() {
        return None;
    }
    let policy = policy.of_table(entry.relid())?;
    (policy.one_row_each.is_some() && policy.names_person()).then_some(policy.unit)
}

/// What FROM and WHERE consist of.
#[derive(Default)]
struct Parts<'t> {
    /// The items of FROM, with those of inner joins.
    items: Vec<Ref<'t, Node>>,
    /// These joins.
    joins: Vec<i32>,
    /// All conditions on the items.
    conditions: Vec<Ref<'t, Node>>,
}

impl<'t> Parts<'t> {
    fn collect(&mut self, node: Ref<'t, Node>) {
        stack::check();
        let join = node.cast::<JoinExpr>();
        let (parts, own) = if let Some(from) = node.cast::<FromExpr>() {
            (from.fromlist().nodes(), from.quals())
        } else if let Some(join) = join.filter(|join| join.jointype() == JoinType::JOIN_INNER) {
            self.joins.push(join.rtindex());
            let parts = [join.larg(), join.rarg()].into_iter().flatten();
            (parts.collect(), join.quals())
        } else {
            return self.items.push(node);
        };
        self.conditions.extend(tree::conjuncts(own));
        for part in parts {
            self.collect(part);
        }
    }
}

/// FROM and WHERE of a query.
fn from_of<'t>(
    query: Ref<'t, Query>,
    items: impl IntoIterator<Item = Ref<'t, Node>>,
    conditions: Vec<Ref<'t, Node>>,
) -> Ref<'t, FromExpr> {
    let from = query.memory().make::<FromExpr>();
    from.set_fromlist(tree::list_of(items));
    from.set_quals(tree::all_of(conditions));
    from
}

fn place(column: Ref<Var>) -> Column {
    (column.varno(), column.varattno())
}

/// Whether an expression names such a column of its query.
fn names<'t>(node: Ref<'t, Node>, is_it: impl Fn(Ref<'t, Var>) -> bool) -> bool {
    tree::any(node, |node| {
        let column = node.cast::<Var>();
        column.is_some_and(|column| column.varlevelsup() == 0 && is_it(column))
    })
}
