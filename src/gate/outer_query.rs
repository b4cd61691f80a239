//! What stands around a rewritten block: the query that it was. Its answers are columns of a WITH now, and all that it
//! does with them is post-processing.

use pgrx::pg_sys::{
    self, Aggref, CTEMaterialize, CommonTableExpr, FieldSelect, GroupingFunc, Node, Oid, Query,
    RTEKind, RangeTblEntry, RangeTblRef, TargetEntry,
};

use crate::gate::block::{Block, Key};
use crate::gate::defence::Defence;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::released::OURS;
use crate::gate::template::Answer;
use crate::pg::tree::{self, Ref, Step};

/// What the columns of the rewritten block stand for.
struct Columns<'a> {
    keys: &'a [Key],
    answers: &'a [(Ref<Aggref>, Answer)],
    /// The columns themselves: keys, answers, and for each key whether it is missing in a row's grouping set.
    columns: Vec<Ref<Node>>,
    /// How many answers there are.
    count: usize,
    refused: Option<Reason>,
}

/// Puts a rewritten block below the query that it was.
pub fn wrap(
    block: &Block,
    keys: &[Key],
    answers: &[(Ref<Aggref>, Answer)],
    rewritten: Ref<Query>,
) -> Checked<()> {
    let mut query = block.query;
    let targets = tree::list::<TargetEntry>(rewritten.targetList);
    let exprs = targets.iter().map(|target| {
        Ref::of(target.expr)
            .expect("a target has an expression")
            .node()
    });
    // The template knows no modifiers of types; keys have those that they had, unless they were trimmed.
    let modifiers = exprs.clone().map(tree::modifier_of).skip(keys.len());
    let of_keys = keys.iter().map(|key| key.modifier);
    let modifiers: Vec<i32> = of_keys.chain(modifiers).collect();
    let columns: Vec<_> = targets
        .iter()
        .zip(exprs)
        .zip(&modifiers)
        .map(|((target, expr), modifier)| {
            let (kind, collation) = (tree::type_of(expr), tree::collation_of(expr));
            tree::var(1, target.resno, kind, *modifier, collation)
        })
        .collect();
    let count = columns.len().saturating_sub(2 * keys.len());
    let mut columns = Columns {
        keys,
        answers,
        columns,
        count,
        refused: None,
    };
    query.targetList = columns.put(query.targetList.cast()).cast();
    let having = columns.put(query.havingQual);
    if let Some(reason) = columns.refused {
        return Err(reason);
    }
    for mut target in tree::list::<TargetEntry>(query.targetList) {
        target.resorigtbl = Oid::INVALID;
        target.resorigcol = 0;
    }
    let entry = below(query, rewritten, &modifiers);
    query.rtable = tree::list_of([entry]);
    let mut reference = tree::make::<RangeTblRef>();
    reference.rtindex = 1;
    let mut from = tree::make::<pg_sys::FromExpr>();
    from.fromlist = tree::list_of([reference]);
    from.quals = having;
    query.jointree = from.pointer();
    query.havingQual = std::ptr::null_mut();
    query.groupClause = std::ptr::null_mut();
    query.groupingSets = std::ptr::null_mut();
    query.groupDistinct = false;
    query.hasAggs = false;
    query.hasRowSecurity = false;
    query.hasSubLinks = outputs(query).any(|node| tree::has_sublinks(node.pointer()));
    Ok(())
}

/// Where sub-queries may stand in a query that was wrapped around its block.
pub fn outputs(query: Ref<Query>) -> impl Iterator<Item = Ref<Node>> {
    let from = Ref::of(query.jointree).expect("a query has FROM");
    [
        query.targetList.cast(),
        from.quals,
        query.limitCount,
        query.limitOffset,
        query.windowClause.cast(),
    ]
    .into_iter()
    .filter_map(Ref::of)
}

/// Whether a query names something of a query around it.
fn names_outer(query: Ref<Node>) -> bool {
    tree::search(query, &mut |node, level| {
        let above = if let Some(column) = node.cast::<pg_sys::Var>() {
            Some(column.varlevelsup)
        } else if let Some(call) = node.cast::<Aggref>() {
            Some(call.agglevelsup)
        } else {
            let grouping = node.cast::<GroupingFunc>();
            grouping.map(|grouping| grouping.agglevelsup)
        };
        match above.is_some_and(|above| above >= level) {
            true => Step::Stop,
            false => Step::Below,
        }
    })
}

/// The entry of the range table that represents the rewritten block.
fn below(mut query: Ref<Query>, rewritten: Ref<Query>, modifiers: &[i32]) -> Ref<RangeTblEntry> {
    let targets = tree::list::<TargetEntry>(rewritten.targetList);
    let exprs: Vec<_> = targets
        .iter()
        .map(|target| {
            Ref::of(target.expr)
                .expect("a target has an expression")
                .node()
        })
        .collect();
    let names: Vec<String> = targets
        .iter()
        .map(|target| tree::text_of(target.resname))
        .collect();
    let names = || tree::strings(names.iter().map(String::as_str));
    let mut entry = tree::make::<RangeTblEntry>();
    // SAFETY: it makes a node of a name and a list of names.
    let alias = unsafe { pg_sys::makeAlias(c"private".as_ptr(), names()) };
    entry.eref = alias;
    entry.inFromCl = true;
    // Newer servers estimate what a WITH holds from the statistics of what is below it, and run operators on them.
    entry.security_barrier = true;
    if !Defence::Fence.stands() {
        entry.security_barrier = false;
        entry.rtekind = RTEKind::RTE_SUBQUERY;
        entry.subquery = rewritten.pointer();
        return entry;
    }
    let others = tree::list::<CommonTableExpr>(query.cteList);
    let is_free = |name: &String| {
        others
            .iter()
            .all(|other| tree::text_of(other.ctename) != *name)
    };
    let name = (1..)
        .map(|i| format!("private {i}"))
        .find(is_free)
        .expect("a name is free");
    let mut with = tree::make::<CommonTableExpr>();
    with.ctename = tree::string(&name);
    with.ctematerialized = CTEMaterialize::CTEMaterializeAlways;
    with.ctequery = rewritten.node().pointer();
    with.location = OURS;
    with.cterefcount = 1;
    with.ctecolnames = names();
    let types: Vec<_> = exprs.iter().map(|expr| tree::type_of(*expr)).collect();
    let collations: Vec<_> = exprs.iter().map(|expr| tree::collation_of(*expr)).collect();
    with.ctecoltypes = tree::oids(&types);
    with.ctecoltypmods = tree::integers(modifiers);
    with.ctecolcollations = tree::oids(&collations);
    entry.rtekind = RTEKind::RTE_CTE;
    entry.ctename = tree::string(&name);
    entry.coltypes = with.ctecoltypes;
    entry.coltypmods = with.ctecoltypmods;
    entry.colcollations = with.ctecolcollations;
    query.cteList = tree::append(query.cteList, with);
    entry
}

impl Columns<'_> {
    /// The tree with columns in the place of keys and aggregates.
    fn put(&mut self, node: *mut Node) -> *mut Node {
        let Some(node) = Ref::of(node) else {
            return node;
        };
        tree::change(node, &mut |node| self.column(node)).pointer()
    }

    fn column(&mut self, node: Ref<Node>) -> Option<Ref<Node>> {
        if let Some(i) = self.keys.iter().position(|key| key.written.same(node)) {
            return Some(self.columns[i]);
        }
        if let Some(call) = node.cast::<Aggref>() {
            let found = self.answers.iter().find(|(known, _)| known.same(call));
            let answer = found.map(|(_, answer)| *answer);
            let Some(answer) = answer.and_then(|answer| self.answer(answer, call.aggtype)) else {
                self.refuse("an aggregate has an answer of another type".into());
                return Some(node);
            };
            return Some(answer);
        }
        if let Some(link) = node.cast::<pg_sys::SubLink>() {
            return Some(self.sublink(link));
        }
        if let Some(grouping) = node.cast::<GroupingFunc>() {
            return Some(self.grouping(grouping));
        }
        let column = node.cast::<pg_sys::Var>()?;
        if column.varlevelsup == 0 {
            self.refuse(Reason::with_hint(
                "a column must appear in the GROUP BY clause or be used in an aggregate",
                "Add it to GROUP BY, or take an aggregate of it.",
            ));
        }
        None
    }

    fn refuse(&mut self, reason: Reason) {
        self.refused.get_or_insert(reason);
    }

    /// An answer, cast to the type of the aggregate that it answers.
    fn answer(&self, answer: Answer, wanted: Oid) -> Option<Ref<Node>> {
        let column = |i: usize| self.columns[self.keys.len() + i];
        let found = match answer {
            Answer::Column(i) => column(i),
            Answer::Field(i, number) => field(column(i), number),
            Answer::Product(i) => product(field(column(i), 1), field(column(i), 2)),
            Answer::Public(number) => float(number),
        };
        match tree::type_of(found) == wanted {
            true => Some(found),
            false => tree::cast(found, wanted),
        }
    }

    /// A sub-query among the answers: one that could stand alone.
    fn sublink(&mut self, link: Ref<pg_sys::SubLink>) -> Ref<Node> {
        let mut link = link.copy();
        if Ref::of(link.subselect).is_some_and(names_outer) {
            self.refuse(Reason::with_hint(
                "a sub-query in the select list uses an outer column",
                "Put the query into a WITH or a sub-query in FROM, and the other one around it.",
            ));
        }
        link.testexpr = self.put(link.testexpr);
        link.node()
    }

    /// `GROUPING(...)`: a bit for each key, 1 where it is not in the row's set.
    fn grouping(&mut self, grouping: Ref<GroupingFunc>) -> Ref<Node> {
        // SAFETY: a list of integers of a node that lives.
        let references = unsafe { crate::pg::nodes::integers(grouping.refs) };
        let bits = references.iter().map(|reference| {
            let key = self
                .keys
                .iter()
                .position(|key| key.reference == *reference as u32);
            key.map(|i| self.columns[self.keys.len() + self.count + i])
        });
        let Some(bits) = bits.collect::<Option<Vec<_>>>() else {
            self.refuse("argument of GROUPING is not a grouping key".into());
            return grouping.node();
        };
        let two = integer(2);
        bits.into_iter().fold(integer(0), |sum, bit| {
            let shifted = call(pg_sys::F_INT4MUL, pg_sys::INT4OID, [sum, two]);
            call(pg_sys::F_INT4PL, pg_sys::INT4OID, [shifted, bit])
        })
    }
}

fn integer(value: i32) -> Ref<Node> {
    tree::number(pg_sys::INT4OID, 4, pg_sys::Datum::from(value))
}

fn float(value: f64) -> Ref<Node> {
    tree::number(pg_sys::FLOAT8OID, 8, pg_sys::Datum::from(value.to_bits()))
}

/// A call of one of PostgreSQL's functions.
fn call(function: u32, kind: Oid, arguments: [Ref<Node>; 2]) -> Ref<Node> {
    tree::call(Oid::from_u32(function), kind, Oid::INVALID, arguments)
}

fn field(row: Ref<Node>, number: i16) -> Ref<Node> {
    let mut field = tree::make::<FieldSelect>();
    field.arg = row.pointer().cast();
    field.fieldnum = number;
    field.resulttype = pg_sys::FLOAT8OID;
    field.resulttypmod = -1;
    field.node()
}

fn product(mean: Ref<Node>, count: Ref<Node>) -> Ref<Node> {
    call(pg_sys::F_FLOAT8MUL, pg_sys::FLOAT8OID, [mean, count])
}
