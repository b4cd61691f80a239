//! What stands around a rewritten block: the query that it was. Its answers are columns of a call now, and all that it
//! does with them is post-processing.

use pgrx::pg_sys::{
    self, Aggref, FieldSelect, GroupingFunc, Node, Oid, Query, RTEKind, RangeTblEntry,
    RangeTblFunction, RangeTblRef, TargetEntry,
};

use crate::gate::block::{Block, GroupKey};
use crate::gate::computed::{call, cast_within, float, integer, rounded};
use crate::gate::defence::Defence;
use crate::gate::moments;
use crate::gate::policy::quoted_name;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::shown::{Answer, Scale};
use crate::pg::settings;
use crate::pg::tree::{self, List, Ref};

/// What the columns of the rewritten block stand for.
struct Columns<'a, 't> {
    query: Ref<'t, Query>,
    keys: &'a [GroupKey<'t>],
    answers: &'a [(Ref<'t, Aggref>, Answer)],
    /// How much noise those have that are rounded.
    scales: &'a [(Answer, Scale)],
    /// The columns themselves: keys, answers, and for each key whether it is missing in a row's grouping set.
    columns: Vec<Ref<'t, Node>>,
    /// How many answers there are.
    count: usize,
    refused: Option<Reason>,
}

/// Puts the call of a rewritten block below the query that it was.
pub fn wrap<'t>(
    block: &Block<'t>,
    keys: &[GroupKey<'t>],
    answers: &[(Ref<'t, Aggref>, Answer)],
    scales: &[(Answer, Scale)],
    rewritten: Ref<'t, Query>,
    call: Ref<'t, Node>,
) -> Checked<()> {
    let query = block.query;
    let targets = shown(rewritten);
    let exprs = targets
        .iter()
        .map(|target| target.expr().expect("a target has an expression"));
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
            tree::var(
                query.memory(),
                1,
                target.resno(),
                kind,
                *modifier,
                collation,
            )
        })
        .collect();
    let count = columns.len().saturating_sub(2 * keys.len());
    let mut columns = Columns {
        query,
        keys,
        answers,
        scales: if settings::rounds() { scales } else { &[] },
        columns,
        count,
        refused: None,
    };
    let targets = query.targetList().node().map(|node| columns.put(node));
    query.set_targetList(List::of_tree(targets));
    let having = query.havingQual().map(|node| columns.put(node));
    if let Some(reason) = columns.refused {
        return Err(reason);
    }
    for target in query.targetList() {
        target.set_resorigtbl(Oid::INVALID);
        target.set_resorigcol(0);
    }
    let name = quoted_name(block.policy.relation);
    let entry = below(&name, rewritten, &modifiers, call);
    query.set_rtable(tree::list_of([entry]));
    let memory = query.memory();
    let reference = memory.make::<RangeTblRef>();
    reference.set_rtindex(1);
    let from = memory.make::<pg_sys::FromExpr>();
    from.set_fromlist(tree::list_of([reference.node()]));
    from.set_quals(having);
    query.set_jointree(Some(from));
    query.set_havingQual(None);
    query.set_groupClause(List::EMPTY);
    query.set_groupingSets(List::EMPTY);
    query.set_groupDistinct(false);
    query.set_hasAggs(false);
    query.set_hasRowSecurity(false);
    query.set_hasSubLinks(outputs(query).any(tree::has_sublinks));
    Ok(())
}

/// Where sub-queries may stand in a query that was wrapped around its block.
pub fn outputs(query: Ref<Query>) -> impl Iterator<Item = Ref<Node>> {
    let from = query.jointree().expect("a query has FROM");
    [
        query.targetList().node(),
        from.quals(),
        query.limitCount(),
        query.limitOffset(),
        query.windowClause().node(),
    ]
    .into_iter()
    .flatten()
}

/// The columns of the rewritten block, without those that it is only ordered by.
fn shown<'t>(rewritten: Ref<'t, Query>) -> Vec<Ref<'t, TargetEntry>> {
    let targets = rewritten.targetList().into_iter();
    targets.filter(|target| !target.resjunk()).collect()
}

/// The entry of the range table that represents the rewritten block.
fn below<'t>(
    name: &str,
    rewritten: Ref<'t, Query>,
    modifiers: &[i32],
    call: Ref<'t, Node>,
) -> Ref<'t, RangeTblEntry> {
    let memory = rewritten.memory();
    let targets = shown(rewritten);
    let names: Vec<String> = targets.iter().map(|target| target.resname()).collect();
    let names = || memory.strings(names.iter().map(String::as_str));
    let entry = memory.make::<RangeTblEntry>();
    entry.set_eref(Some(tree::alias(name, names())));
    entry.set_inFromCl(true);
    if !Defence::Fence.stands() {
        entry.set_rtekind(RTEKind::RTE_SUBQUERY);
        entry.set_subquery(Some(rewritten));
        return entry;
    }
    let exprs = targets
        .iter()
        .map(|target| target.expr().expect("a target has an expression"));
    let types: Vec<_> = exprs.clone().map(tree::type_of).collect();
    let collations: Vec<_> = exprs.map(tree::collation_of).collect();
    let source = memory.make::<RangeTblFunction>();
    source.set_funcexpr(Some(call));
    source.set_funccolcount(i32::try_from(types.len()).expect("few columns"));
    source.set_funccolnames(names());
    source.set_funccoltypes(memory.oids(&types));
    source.set_funccoltypmods(memory.integers(modifiers));
    source.set_funccolcollations(memory.oids(&collations));
    entry.set_rtekind(RTEKind::RTE_FUNCTION);
    entry.set_functions(tree::list_of([source]));
    entry
}

impl<'t> Columns<'_, 't> {
    /// The tree with columns in the place of keys and aggregates.
    fn put(&mut self, node: Ref<'t, Node>) -> Ref<'t, Node> {
        tree::change(node, &mut |node| self.column(node))
    }

    fn column(&mut self, node: Ref<'t, Node>) -> Option<Ref<'t, Node>> {
        if let Some(i) = self.keys.iter().position(|key| key.written.same(node)) {
            return Some(self.columns[i]);
        }
        if let Some(call) = node.cast::<Aggref>() {
            let found = self.answers.iter().find(|(known, _)| known.same(call));
            let answer = found.map(|(_, answer)| *answer);
            let Some(answer) = answer.and_then(|answer| self.answer(answer, call.aggtype())) else {
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
        if column.varlevelsup() == 0 {
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

    /// An answer, rounded where it is known how, and cast to the type of the aggregate that it answers.
    fn answer(&self, answer: Answer, wanted: Oid) -> Option<Ref<'t, Node>> {
        let found = self.found(answer, wanted);
        let scale = self.scales.iter().find(|(known, _)| *known == answer);
        let found = match scale {
            Some((_, scale)) => {
                let rows = scale.rows.map(|rows| self.found(rows, pg_sys::FLOAT8OID));
                rounded(found, scale, rows, wanted == pg_sys::INT8OID)?
            }
            None => found,
        };
        match (tree::type_of(found), wanted) {
            (kind, wanted) if kind == wanted => Some(found),
            // Noise can be beyond what the type has, where no bounds are public.
            _ => cast_within(found, wanted),
        }
    }

    /// An answer as the call hands it out.
    fn found(&self, answer: Answer, wanted: Oid) -> Ref<'t, Node> {
        let column = |i: usize| self.columns[self.keys.len() + i];
        match answer {
            Answer::Column(i) => column(i),
            Answer::Field(i, number) => field(column(i), number),
            Answer::Product(i) => product(field(column(i), 1), field(column(i), 2)),
            Answer::Public(number) => float(self.query.memory(), number),
            Answer::Moment(moment) => {
                let length = if wanted == pg_sys::DATEOID { 4 } else { 8 };
                let value = moments::value(wanted, moment);
                tree::number(self.query.memory(), wanted, length, value)
            }
        }
    }

    /// A sub-query among the answers: one that could stand alone.
    fn sublink(&mut self, link: Ref<'t, pg_sys::SubLink>) -> Ref<'t, Node> {
        let link = link.copy();
        if link.subselect().is_some_and(tree::names_outer) {
            self.refuse(Reason::with_hint(
                "a sub-query in the select list uses an outer column",
                "Put the query into a WITH or a sub-query in FROM, and the other one around it.",
            ));
        }
        link.set_testexpr(link.testexpr().map(|test| self.put(test)));
        link.node()
    }

    /// `GROUPING(...)`: a bit for each key, 1 where it is not in the row's set.
    fn grouping(&mut self, grouping: Ref<'t, GroupingFunc>) -> Ref<'t, Node> {
        let references = grouping.refs().numbers();
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
        let memory = grouping.memory();
        let two = integer(memory, 2);
        bits.into_iter().fold(integer(memory, 0), |sum, bit| {
            let shifted = call(pg_sys::F_INT4MUL, pg_sys::INT4OID, [sum, two]);
            call(pg_sys::F_INT4PL, pg_sys::INT4OID, [shifted, bit])
        })
    }
}

fn field(row: Ref<Node>, number: i16) -> Ref<Node> {
    let field = row.memory().make::<FieldSelect>();
    field.set_arg(Some(row));
    field.set_fieldnum(number);
    field.set_resulttype(pg_sys::FLOAT8OID);
    field.set_resulttypmod(-1);
    field.node()
}

fn product<'t>(mean: Ref<'t, Node>, count: Ref<'t, Node>) -> Ref<'t, Node> {
    call(pg_sys::F_FLOAT8MUL, pg_sys::FLOAT8OID, [mean, count])
}
