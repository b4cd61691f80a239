//! The columns of tables and sub-queries, and those that a query uses.

use std::collections::{BTreeMap, BTreeSet};

use pgrx::pg_sys::{self, Node, Oid, Query, RangeTblEntry, TargetEntry, Var};

use crate::pg::tree::{self, Memory, Ref};

/// A column, as the WITH has it.
pub struct Column {
    pub name: String,
    pub kind: Oid,
    pub modifier: i32,
    pub collation: Oid,
    pub(super) is_used: bool,
}

impl Column {
    /// It, as a column of a SELECT from the first entry; NULL if it is not used.
    pub fn target<'t>(&self, memory: Memory<'t>, number: i16) -> Ref<'t, TargetEntry> {
        let value = match self.is_used {
            true => tree::var(memory, 1, number, self.kind, self.modifier, self.collation),
            false => tree::null(memory, self.kind, self.modifier, self.collation),
        };
        tree::target(value, number, &self.name)
    }
}

/// The columns of a sub-query.
pub fn shown(query: Ref<Query>) -> Vec<Column> {
    let targets = query.targetList().into_iter();
    let shown = targets.filter(|target| !target.resjunk()).map(|target| {
        let value = target.expr().expect("a target has an expression");
        Column {
            name: target.resname(),
            kind: tree::type_of(value),
            modifier: tree::modifier_of(value),
            collation: tree::collation_of(value),
            is_used: true,
        }
    });
    shown.collect()
}

/// The columns of a table that a query uses.
pub fn used(query: Ref<Query>, index: i32) -> BTreeSet<i16> {
    let mut used = BTreeSet::new();
    for part in parts(query) {
        tree::each_column(part, &mut |column| {
            if column.varno() == index {
                used.insert(column.varattno());
            }
        });
    }
    used
}

/// The columns of an entry that a query uses, also by the names that its joins have for them.
pub fn used_flat<'t>(query: Ref<'t, Query>, index: i32) -> BTreeMap<i16, Ref<'t, Var>> {
    let mut found = BTreeMap::new();
    for part in parts(query) {
        tree::each_column(tree::flatten_joins(query, part), &mut |column| {
            if column.varno() == index {
                found.insert(column.varattno(), column);
            }
        });
    }
    found
}

/// Where a query names columns. Not the columns of joins, which have a list of all.
fn parts<'t>(query: Ref<'t, Query>) -> impl Iterator<Item = Ref<'t, Node>> {
    let parts = [
        query.targetList().node(),
        query.jointree().map(Ref::node),
        query.havingQual(),
    ];
    parts.into_iter().flatten()
}

/// The columns of a table, each in its place.
pub fn of_table(entry: Ref<RangeTblEntry>, used: &BTreeSet<i16>) -> Vec<Column> {
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { pgrx::PgRelation::open(entry.relid()) };
    let columns = table.tuple_desc();
    let columns = columns.iter().zip(1..).map(|(column, number)| {
        let (kind, modifier, collation) = match column.attisdropped {
            true => (pg_sys::INT4OID, -1, Oid::INVALID),
            false => (column.atttypid, column.atttypmod, column.attcollation),
        };
        Column {
            name: column.name().to_owned(),
            kind,
            modifier,
            collation,
            is_used: used.contains(&number) && !column.attisdropped,
        }
    });
    columns.collect()
}

/// Leaves out of a sub-query what the query around it does not use.
pub fn forget_unused<'t>(query: Ref<'t, Query>, used: &BTreeMap<i16, Ref<'t, Var>>) {
    // A whole row is all of them.
    if query.setOperations().is_some() || used.keys().any(|column| *column <= 0) {
        return;
    }
    for target in query.targetList() {
        let is_free = target.ressortgroupref() == 0 && !target.resjunk();
        if let Some(value) = target
            .expr()
            .filter(|_| is_free && !used.contains_key(&target.resno()))
        {
            let (kind, modifier) = (tree::type_of(value), tree::modifier_of(value));
            let null = tree::null(query.memory(), kind, modifier, tree::collation_of(value));
            target.set_expr(Some(null));
        }
    }
}

/// Gives a sub-query in FROM a name for each of its columns, where some were added.
pub fn add_column_names<'t>(entry: Ref<'t, RangeTblEntry>, query: Ref<'t, Query>) {
    let Some(names) = entry.eref() else {
        return;
    };
    let known = names.colnames().nodes().len();
    let shown = shown(query);
    if shown.len() > known {
        let added = shown.iter().skip(known).map(|column| column.name.as_str());
        let added = query.memory().strings(added);
        names.set_colnames(names.colnames().concat(added));
    }
}

/// Columns are those that they are, whatever was written: a query that is made into a text has no other tables.
pub fn forget_names(node: Ref<Node>) {
    tree::each_column(node, &mut |column| {
        column.set_varnosyn(u32::try_from(column.varno()).expect("a table of a query"));
        column.set_varattnosyn(column.varattno());
    });
}
