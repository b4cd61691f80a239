//! `FULL JOIN` of private rows. A column of one side is NULL in all rows that the other side alone has, so neither names
//! the person of a row: `coalesce` of both does. Such a join becomes a sub-query in FROM that shows the columns that the
//! query uses, and each such `coalesce` as a column. Nothing is checked here: what the query says is the same.

use pgrx::pg_sys::{
    self, CoalesceExpr, FromExpr, JoinExpr, JoinType, Node, Query, RTEKind, RangeTblRef, Var,
};

use crate::gate::access;
use crate::gate::private_relation::person::{self, Column};
use crate::gate::rejection::Checked;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// The most such joins of a query: all of it is written again for each.
const MOST_JOINS: usize = 8;

/// The only item in FROM of a query, if it is such a join, and nothing else is done there.
pub fn only_item<'t>(query: Ref<'t, Query>) -> Option<Ref<'t, JoinExpr>> {
    let from = query.jointree().filter(|from| from.quals().is_none())?;
    let [item] = from.fromlist().nodes()[..] else {
        return None;
    };
    let is_plain = !query.hasAggs()
        && !query.hasWindowFuncs()
        && query.groupClause().is_empty()
        && query.distinctClause().is_empty()
        && query.havingQual().is_none();
    let join = item.cast::<JoinExpr>().filter(|_| is_plain)?;
    is_it(query, join).then_some(join)
}

/// The columns that `coalesce` takes the first of that there is, if it is of two.
pub fn coalesced(node: Ref<Node>) -> Option<[Column; 2]> {
    let first = node.cast::<CoalesceExpr>()?;
    let [one, other] = first.args().nodes()[..] else {
        return None;
    };
    let column = |node: Ref<Node>| {
        let column = node
            .cast::<Var>()
            .filter(|column| column.varlevelsup() == 0)?;
        Some((column.varno(), column.varattno()))
    };
    Some([column(one)?, column(other)?])
}

/// `coalesce` of two columns of one type, above the join that is all of FROM.
pub fn coalesce<'t>(
    query: Ref<'t, Query>,
    join: Ref<'t, JoinExpr>,
    columns: [Column; 2],
) -> Checked<Ref<'t, Node>> {
    let columns = columns.map(|(entry, column)| tree::column(query, entry, column));
    let [Some(one), Some(other)] = columns else {
        return Err("a person has no column".into());
    };
    let first = query.memory().make::<CoalesceExpr>();
    first.set_coalescetype(tree::type_of(one));
    first.set_coalescecollid(tree::collation_of(one));
    first.set_location(-1);
    first.set_args(tree::list_of([one, other]));
    after_join(first.node(), join);
    Ok(first.node())
}

/// Puts a sub-query in the place of each such join in FROM, the inner ones first. What a sub-query could not show stays.
pub fn separate(query: Ref<Query>) {
    if next(query).is_none() || query.rtable().into_iter().any(|entry| entry.lateral()) {
        return;
    }
    tree::flatten_groups(query);
    let flat = |node| tree::flatten_joins(query, node);
    let changed = query.jointree().map(|from| flat(from.node()));
    query.set_jointree(changed.and_then(|from| from.cast()));
    query.set_targetList(List::of_tree(query.targetList().node().map(flat)));
    query.set_havingQual(query.havingQual().map(flat));
    for _ in 0..MOST_JOINS {
        let Some(join) = next(query).filter(|_| !has_rows(query)) else {
            return;
        };
        Separated::new(join).put(query);
    }
}

fn is_it<'t>(query: Ref<'t, Query>, join: Ref<'t, JoinExpr>) -> bool {
    let is_private = |side: Ref<'t, Node>| !person::private_entries(query, side).is_empty();
    let mut sides = [join.larg(), join.rarg()].into_iter().flatten();
    join.jointype() == JoinType::JOIN_FULL && join.rtindex() > 0 && sides.all(is_private)
}

/// Such a join in FROM that has none below it.
fn next<'t>(query: Ref<'t, Query>) -> Option<Ref<'t, JoinExpr>> {
    let mut last = None;
    let from = query.jointree()?;
    each_part(from.node(), &mut |node| {
        // What is below a join comes after it.
        last = node.cast().filter(|join| is_it(query, *join)).or(last);
    });
    last
}

/// Calls `visit` for a part of FROM, and then for those below it.
fn each_part<'t>(node: Ref<'t, Node>, visit: &mut dyn FnMut(Ref<'t, Node>)) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        visit(node);
        if let Some(from) = node.cast::<FromExpr>() {
            open.extend(from.fromlist());
        } else if let Some(join) = node.cast::<JoinExpr>() {
            open.extend([join.larg(), join.rarg()].into_iter().flatten());
        }
    }
}

/// The numbers of all entries of a part of FROM, also of its joins.
fn entries(part: Option<Ref<Node>>) -> Vec<i32> {
    let mut found = Vec::new();
    let part = part.expect("a join has two sides");
    each_part(part, &mut |node| {
        found.extend(node.cast::<RangeTblRef>().map(|table| table.rtindex()));
        found.extend(node.cast::<JoinExpr>().map(|join| join.rtindex()));
    });
    found
}

/// Whether a query uses whole rows, which no sub-query shows as they are, or columns of the system.
fn has_rows(query: Ref<Query>) -> bool {
    let parts = [
        query.targetList().node(),
        query.jointree().map(Ref::node),
        query.havingQual(),
    ];
    let is_row = |column: Ref<Var>| column.varattno() <= 0;
    let mut parts = parts.into_iter().flatten();
    parts.any(|part| tree::any(part, |node| node.cast().is_some_and(is_row)))
}

/// A join on its way into a sub-query.
struct Separated<'t> {
    join: Ref<'t, JoinExpr>,
    /// The entries of FROM that go with it, of either side.
    sides: [Vec<i32>; 2],
    /// What the sub-query shows, as it is said there.
    shown: Vec<Ref<'t, Node>>,
}

impl<'t> Separated<'t> {
    fn new(join: Ref<'t, JoinExpr>) -> Self {
        Self {
            join,
            sides: [join.larg(), join.rarg()].map(entries),
            shown: Vec::new(),
        }
    }

    /// Puts the sub-query in the place of the join, and its columns in the places of those of both sides. In the sub-query
    /// all entries of FROM keep their numbers.
    fn put(mut self, query: Ref<'t, Query>) {
        let changed = query.jointree().map(|from| self.renamed(from.node(), 0));
        query.set_jointree(changed.and_then(|from| from.cast()));
        let targets = query.targetList().node().map(|all| self.renamed(all, 0));
        query.set_targetList(List::of_tree(targets));
        query.set_havingQual(query.havingQual().map(|all| self.renamed(all, 0)));

        let memory = query.memory();
        let below = memory.make::<Query>();
        below.set_commandType(pg_sys::CmdType::CMD_SELECT);
        below.set_canSetTag(true);
        below.set_hasRowSecurity(query.hasRowSecurity());
        below.set_hasSubLinks(query.hasSubLinks());
        let from = memory.make::<FromExpr>();
        from.set_fromlist(tree::list_of([self.join.node()]));
        let on = from.node().pointer();
        // What it names of the queries around is one level further away now. SAFETY: a part of this query alone.
        unsafe { pg_sys::IncrementVarSublevelsUp(on, 1, 1) };
        below.set_jointree(Some(from));

        let names = self.names(query);
        let targets = self.shown.iter().zip(&names).zip(1..);
        let targets = targets.map(|((value, name), number)| {
            after_join(*value, self.join);
            tree::target(*value, number, name)
        });
        below.set_targetList(tree::list_of(targets));
        access::move_entries(query, below, |index| {
            self.has(index) || index == self.join.rtindex()
        });
        let entry = tree::entry(query, self.join.rtindex());
        entry.set_rtekind(RTEKind::RTE_SUBQUERY);
        entry.set_subquery(Some(below));
        entry.set_inFromCl(true);
        let names = memory.strings(names.iter().map(String::as_str));
        entry.set_eref(Some(tree::alias("joined", names)));
    }

    /// Whether an entry of FROM goes with the join.
    fn has(&self, entry: i32) -> bool {
        self.sides.iter().any(|side| side.contains(&entry))
    }

    /// An expression that many queries below the one with the join, with the columns of the sub-query in it.
    fn renamed(&mut self, node: Ref<'t, Node>, level: u32) -> Ref<'t, Node> {
        stack::check();
        tree::change(node, &mut |inner| {
            if inner.cast::<Query>().is_some() {
                return (inner != node).then(|| self.renamed(inner, level + 1));
            }
            if inner == self.join.node() {
                let reference = inner.memory().make::<RangeTblRef>();
                reference.set_rtindex(self.join.rtindex());
                return Some(reference.node());
            }
            if let Some(first) = inner.cast::<CoalesceExpr>() {
                return self.renamed_coalesce(first, level);
            }
            let column = inner.cast::<Var>()?;
            let is_it = column.varlevelsup() == level && self.has(column.varno());
            is_it.then(|| self.shown_as(inner, column, level))
        })
    }

    /// `coalesce` of a column of each side first.
    fn renamed_coalesce(
        &mut self,
        first: Ref<'t, CoalesceExpr>,
        level: u32,
    ) -> Option<Ref<'t, Node>> {
        let args = first.args().nodes();
        let (both, others) = args.split_at_checked(2)?;
        let columns: Option<Vec<Ref<'t, Var>>> = both.iter().map(|arg| arg.cast()).collect();
        let columns = columns?;
        let of = |side: &Vec<i32>| {
            let mut columns = columns.iter();
            columns.any(|column| column.varlevelsup() == level && side.contains(&column.varno()))
        };
        if !self.sides.iter().all(of) {
            return None;
        }
        let pair = first.copy();
        pair.set_args(tree::list_of(both.iter().map(|arg| arg.copy())));
        let column = self.shown_as(pair.node(), columns[0], level);
        if others.is_empty() {
            return Some(column);
        }
        let others = others.iter().map(|other| self.renamed(*other, level));
        let args = [column].into_iter().chain(others).collect::<Vec<_>>();
        let all = first.copy();
        all.set_args(tree::list_of(args));
        Some(all.node())
    }

    /// The column of the sub-query that shows an expression that has `column` in it.
    fn shown_as(
        &mut self,
        value: Ref<'t, Node>,
        column: Ref<'t, Var>,
        level: u32,
    ) -> Ref<'t, Node> {
        let own = value.copy();
        tree::any(own, |node| {
            if let Some(column) = node.cast::<Var>() {
                column.set_varlevelsup(0);
                set_nulling(column, None);
            }
            false
        });
        let known = self.shown.iter().position(|known| known.same(own));
        let place = known.unwrap_or_else(|| {
            self.shown.push(own);
            self.shown.len() - 1
        });
        // A query with more is refused when it is written: see `width`.
        let number = i16::try_from(place + 1).unwrap_or(i16::MAX);
        let new = tree::var(
            value.memory(),
            self.join.rtindex(),
            number,
            tree::type_of(value),
            tree::modifier_of(value),
            tree::collation_of(value),
        );
        if let Some(new) = new.cast::<Var>() {
            new.set_varlevelsup(level);
            keep_nulling(new, column, self.join.rtindex());
        }
        new
    }

    /// The names of what is shown.
    fn names(&self, query: Ref<Query>) -> Vec<String> {
        let name = |value: &Ref<'t, Node>| {
            let column = value.cast::<Var>()?;
            tree::column_name(query, column.varno(), column.varattno())
        };
        let names = self.shown.iter().map(name);
        names
            .map(|name| name.unwrap_or_else(|| "coalesce".to_owned()))
            .collect()
    }
}

/// Says of the columns of an expression that it is computed above a join.
fn after_join<'t>(value: Ref<'t, Node>, join: Ref<'t, JoinExpr>) {
    tree::any(value, |node| {
        if let Some(column) = node.cast::<Var>() {
            set_nulling(column, Some(join.rtindex()));
        }
        false
    });
}

/// Says which outer join may make a column NULL.
#[cfg(not(feature = "pg15"))]
fn set_nulling(column: Ref<Var>, join: Option<i32>) {
    // SAFETY: a new set.
    let joins = join.map(|join| unsafe { pg_sys::bms_make_singleton(join) });
    column.set_varnullingrels(joins.unwrap_or(std::ptr::null_mut()));
}

/// Older servers do not say it there.
#[cfg(feature = "pg15")]
fn set_nulling(_: Ref<Var>, _: Option<i32>) {}

/// Says that a column may be NULL by the same outer joins as another, but for one.
#[cfg(not(feature = "pg15"))]
fn keep_nulling(column: Ref<Var>, other: Ref<Var>, join: i32) {
    // SAFETY: the set of a column that lives, or none. It is copied: others may have the same.
    column.set_varnullingrels(unsafe {
        pg_sys::bms_del_member(pg_sys::bms_copy(other.varnullingrels()), join)
    });
}

#[cfg(feature = "pg15")]
fn keep_nulling(_: Ref<Var>, _: Ref<Var>, _: i32) {}
