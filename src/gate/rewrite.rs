//! A query, block by block: what reads a protected table that the role may not read is rewritten, or refused.

use std::rc::Rc;

use pgrx::pg_sys::{self, Node, Oid, Query, RTEKind, RangeTblEntry};

use crate::gate::answer::call;
use crate::gate::answer::question::Question;
use crate::gate::bill::Bill;
use crate::gate::block::{Block, GroupKey};
use crate::gate::cost::Priced;
use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::normalize::{self, Depends, Room};
use crate::gate::policy::{Policy, quoted_name};
use crate::gate::price::Price;
use crate::gate::public_keys::Public;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::template::{self, graft};
use crate::gate::{
    access, allowance, dependent_columns, outer_query, private_relation, requests, sound_columns,
    width,
};
use crate::ledger::session;
use crate::pg::extension;
use crate::pg::procedure;
use crate::pg::settings;
use crate::pg::stack;
use crate::pg::tree::{self, List, Parameters, Ref, Step};
use crate::safe_functions::wrap;

/// The most grouping sets of a block.
const MOST_SETS: i32 = 64;

/// The most aggregates of a block.
const MOST_AGGREGATES: usize = 1000;

/// The most aggregates of a block in all of its grouping sets; each set has all of them.
const MOST_ANSWERS: usize = 6400;

/// What became of a query.
pub struct Gate<'t> {
    pub parameters: Parameters<'t>,
    pub depends: Depends<'t>,
    /// The blocks that were rewritten.
    pub written: Vec<Text>,
    /// Whether a table with a policy is asked for, by whomever.
    pub touched: bool,
    /// What may be copied into it yet.
    room: Room,
    /// The query that is looked at, with those around it before it; and whether each has no rows, once that is known.
    around: Vec<(Ref<'t, Query>, Option<bool>)>,
}

/// A block that was rewritten.
pub struct Text {
    pub sql: String,
    pub bill: Bill,
    /// The question in its place.
    pub question: Question,
    /// Whether its groups or its bounds may follow from values of parameters.
    pub follows_values: bool,
    /// Whether anything of it is released: public values alone are not.
    pub is_release: bool,
    /// What was charged, in the order of the mechanisms.
    pub priced: Vec<Priced>,
    /// From how many people on a group is shown in half of all cases.
    pub shown_from: Option<f64>,
}

impl<'t> Gate<'t> {
    pub fn new(parameters: Parameters<'t>) -> Self {
        Self {
            parameters,
            depends: Depends::default(),
            written: Vec::new(),
            touched: false,
            room: Room::default(),
            around: Vec::new(),
        }
    }

    /// Whether something that was rewritten must be about one period.
    pub fn is_of_one_period(&self) -> bool {
        let mut bills = self.written.iter().map(|block| &block.bill);
        bills.any(|bill| bill.is_of_one_period)
    }

    /// Whether groups or bounds of something that was rewritten may follow from values of parameters.
    pub fn follows_values(&self) -> bool {
        self.written.iter().any(|block| block.follows_values)
    }

    /// Rewrites a query, and all below it.
    pub fn pass(&mut self, query: Ref<'t, Query>) -> Result<(), Refusal> {
        if query.commandType() == pg_sys::CmdType::CMD_UTILITY {
            return Ok(());
        }
        stack::check();
        self.around.push((query, None));
        let passed = self.pass_within(query);
        self.around.pop();
        passed
    }

    fn pass_within(&mut self, query: Ref<'t, Query>) -> Result<(), Refusal> {
        if self.around.len() == 1 {
            normalize::inline_functions(query, &mut self.depends, &mut self.room)?;
        }
        let found = self.find(query)?;
        let Some(policy) = found else {
            return self.pass_below(query);
        };
        let denied = self.denied(query)?;
        if let Some(index) = denied.first()
            && self.is_preview(query, tree::entry(query, *index))
        {
            for index in denied {
                let entry = tree::entry(query, index);
                if access::is_only_read(query, entry) {
                    make_empty(entry);
                }
            }
            // An outer join would show the rows of the other table.
            let from = query.jointree().expect("a query has FROM");
            from.set_quals(Some(tree::boolean(query.memory(), Some(false))));
            return self.pass_below(query);
        }
        self.prepare(query)?;
        let relation = policy.relation;
        let rewritten = self.rewrite(query);
        if rewritten.is_err() && !Defence::Refuse.stands() {
            for index in self.denied(query)? {
                access::lend(query, tree::entry(query, index), policy.owner, policy.unit);
            }
            return Ok(());
        }
        rewritten.map_err(|reason| {
            let hint = match reason.hint {
                Some(hint) => hint,
                None => format!(
                    "Ask as in: {}. You can use the result in an outer query.",
                    policy.example()
                ),
            };
            errors::gated(&quoted_name(relation), &reason.why, &hint)
        })?;
        // Sub-queries among its answers stand beside it now.
        let mut below = outer_query::outputs(query).flat_map(tree::queries_at);
        below.try_for_each(|below| self.pass(below))
    }

    /// Brings a query into its shape, and looks for the first protected table in it that the role may only ask about; if
    /// it is a block, also in the private relations of its FROM.
    fn find(&mut self, query: Ref<'t, Query>) -> Result<Option<Rc<Policy>>, Refusal> {
        self.shape(query)?;
        for entry in query.rtable() {
            let is_table = entry.rtekind() == RTEKind::RTE_RELATION;
            self.touched |=
                is_table && access::is_asked(query, entry) && Policy::of(entry.relid()).is_some();
        }
        let denied = self.denied(query)?;
        if let Some(index) = denied.first() {
            return Ok(Policy::of(tree::entry(query, *index).relid()));
        }
        if !normalize::is_block(query) {
            return Ok(None);
        }
        for below in subqueries(query).filter(|below| private_relation::is_relation(*below)) {
            let first = self.first_policy(below)?;
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// The policy of the first table that a private relation reads.
    fn first_policy(&mut self, query: Ref<'t, Query>) -> Result<Option<Rc<Policy>>, Refusal> {
        stack::check();
        if let Some(index) = self.denied(query)?.first() {
            return Ok(Policy::of(tree::entry(query, *index).relid()));
        }
        for below in subqueries(query) {
            let first = self.first_policy(below)?;
            if first.is_some() {
                return Ok(first);
            }
        }
        Ok(None)
    }

    /// What views, tools and WITH put around tables is taken away.
    fn shape(&mut self, query: Ref<'t, Query>) -> Result<(), Refusal> {
        dependent_columns::group_by_them(query);
        normalize::unwrap_withs(query, &mut self.room)?;
        match normalize::flatten(query) {
            true => Ok(()),
            false => Err(errors::gated(
                "in a sub-query",
                "the table is in a UNION ALL",
                "Put the UNION ALL into a WITH of its own, or ask about the table alone.",
            )),
        }
    }

    /// The protected tables of a query that the role may ask about, and not read.
    fn denied(&self, query: Ref<'t, Query>) -> Result<Vec<i32>, Refusal> {
        let mut found = Vec::new();
        for (entry, index) in query.rtable().into_iter().zip(1..) {
            if access::denied_policy(query, entry).is_some() && may_ask(query, entry)? {
                found.push(index);
            }
        }
        Ok(found)
    }

    /// Looks at the queries within one over private rows first: each is a block of its own, or a private relation, which
    /// is prepared in the same way.
    fn prepare(&mut self, query: Ref<'t, Query>) -> Result<(), Refusal> {
        stack::check();
        let subqueries: Vec<_> = subqueries(query).collect();
        // What is put in the place of these is as it should be.
        private_relation::reference::follow_all(query, &self.denied(query)?);
        for below in subqueries {
            match private_relation::is_relation(below) {
                true => {
                    self.prepare_below(below)?;
                    private_relation::rows_of_person::add_person(below);
                }
                false => self.pass(below)?,
            }
        }
        for with in query.cteList() {
            if let Some(below) = with.ctequery().and_then(|query| query.cast()) {
                self.pass(below)?;
            }
        }
        let parts = [
            query.targetList().node(),
            query.jointree().map(Ref::node),
            query.havingQual(),
        ];
        for below in parts.into_iter().flatten().flat_map(tree::queries_at) {
            // An answer that names nothing of the rows around it is one for all of them.
            let is_answer = normalize::is_block(below)
                && !tree::names_outer(below)
                && !private_relation::is_relation(below);
            match is_answer {
                true => self.pass(below)?,
                false => self.prepare_below(below)?,
            }
        }
        private_relation::full_join::separate(query);
        Ok(())
    }

    /// As above, of a query below one that is prepared.
    fn prepare_below(&mut self, query: Ref<'t, Query>) -> Result<(), Refusal> {
        self.around.push((query, None));
        let prepared = self.shape(query).and_then(|()| self.prepare(query));
        self.around.pop();
        prepared
    }

    /// Looks at everything below a query that is no block itself.
    fn pass_below(&mut self, query: Ref<'t, Query>) -> Result<(), Refusal> {
        let mut below = tree::queries_below(query).into_iter();
        below.try_for_each(|below| self.pass(below))
    }

    /// Whether a query that reads plain rows shall have none: with LIMIT 0, or where the session asks for that.
    fn is_preview(&mut self, query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> bool {
        let is_plain = query.commandType() == pg_sys::CmdType::CMD_SELECT
            && !query.hasAggs()
            && query.groupClause().is_empty()
            && query.groupingSets().is_empty()
            && query.distinctClause().is_empty()
            && query.rowMarks().is_empty()
            && access::is_only_read(query, entry);
        is_plain
            && !names_system_column(query.node())
            && (settings::previews_are_empty() && self.is_passed_on() || self.is_unseen())
    }

    /// Whether the rows of the query that is looked at are those that the client gets: nothing is computed of them that
    /// would take their absence for an answer.
    fn is_passed_on(&self) -> bool {
        !Defence::Preview.stands()
            || self
                .around
                .windows(2)
                .all(|pair| passes_rows_on(pair[0].0, pair[1].0))
    }

    /// Whether nobody sees a row of the query that is looked at.
    fn is_unseen(&mut self) -> bool {
        let around = self.around.iter_mut().rev();
        around
            .take_while(|(query, _)| {
                query.commandType() == pg_sys::CmdType::CMD_SELECT && !query.hasModifyingCTE()
            })
            .any(|(query, known)| *known.get_or_insert_with(|| has_no_rows(*query)))
    }

    fn rewrite(&mut self, query: Ref<'t, Query>) -> Checked<()> {
        let block = Block::recognise(query, self.parameters)?;
        let epsilon = self.epsilon(&block.policy)?;
        let price = Price::of(epsilon, block.policy.limits(block.payer())?);
        let keys = block.keys()?;
        let public = keys.iter().filter_map(|key| key.public.as_ref());
        let referred = public.filter_map(Public::referred_table);
        self.depends.relations.extend(referred);
        let asked = requests::collect::collect(&block)?;
        if asked.len() > MOST_AGGREGATES {
            return Err(format!("the query has more than {MOST_AGGREGATES} aggregates").into());
        }
        let sets = sets(query, &keys)?;
        block.check_shown(&keys, &sets)?;
        if sets.len() * asked.len() > MOST_ANSWERS && Defence::Copies.stands() {
            return Err(format!(
                "the query has more than {MOST_ANSWERS} aggregates in all grouping sets together"
            )
            .into());
        }
        let written = template::write(&block, &keys, &asked, &sets, price)?;
        let rewritten = graft::build(&written, &block, &mut self.room)?;
        if Defence::Size.stands() {
            width::check(rewritten)?;
        }
        sound_columns::check(rewritten)?;
        self.look_up(rewritten.node());
        let (rewritten, parameters) = call::numbered(rewritten);
        let question = Question::of(rewritten, &block.policy, &written.bill);
        let call = call::call(query.memory(), &question, &parameters);
        outer_query::wrap(
            &block,
            &keys,
            &written.answers,
            &written.scales,
            rewritten,
            call,
        )?;
        self.written.push(Text {
            sql: written.sql,
            bill: written.bill,
            question,
            follows_values: !keys.is_empty() || asked.iter().any(|one| one.bounds.is_some()),
            is_release: written.is_release,
            priced: written.priced,
            shown_from: written.shown_from,
        });
        Ok(())
    }

    /// Looks up what would be looked up at the first row else: collations, about which PostgreSQL may warn; rights on
    /// the functions that variants replace, by making the plan again where they change.
    fn look_up(&mut self, node: Ref<'t, Node>) {
        tree::search(node, &mut |node, _| {
            // SAFETY: nodes of a tree that lives; what is no expression has no collation.
            let (collation, variant) = unsafe {
                let pointer = node.pointer();
                (pg_sys::exprInputCollation(pointer), wrap::original(pointer))
            };
            if collation != Oid::INVALID && Defence::Lookup.stands() {
                procedure::look_up_collation(collation);
            }
            if let Some((function, _)) = variant {
                // SAFETY: a node in the memory of this call.
                let item = unsafe { Ref::of(procedure::dependency(function)) };
                self.depends.items.push(tree::list_of(item));
            }
            Step::Below
        });
    }

    /// What an aggregate costs in this session.
    fn epsilon(&self, policy: &Policy) -> Checked<f64> {
        let most = policy.label.epsilon;
        match settings::epsilon() {
            None => Ok(most),
            Some(epsilon) if epsilon <= most => Ok(epsilon),
            Some(epsilon) => Err(Reason::with_hint(
                format!("dp_mean.epsilon is {epsilon}, above the {most} that the policy allows"),
                format!("SET dp_mean.epsilon = {most}; or RESET dp_mean.epsilon."),
            )),
        }
    }
}

/// The sub-queries in FROM.
fn subqueries<'t>(query: Ref<'t, Query>) -> impl Iterator<Item = Ref<'t, Query>> {
    let entries = query.rtable().into_iter();
    let entries = entries.filter(|entry| entry.rtekind() == RTEKind::RTE_SUBQUERY);
    entries.filter_map(|entry| entry.subquery())
}

/// Whether a query does nothing with the rows of one in its FROM but to choose some, and columns of them.
fn passes_rows_on<'t>(query: Ref<'t, Query>, below: Ref<'t, Query>) -> bool {
    fn is_inner(node: Ref<Node>) -> bool {
        if let Some(join) = node.cast::<pg_sys::JoinExpr>() {
            let sides = [join.larg(), join.rarg()].into_iter().flatten();
            return join.jointype() == pg_sys::JoinType::JOIN_INNER
                && sides.into_iter().all(is_inner);
        }
        let from = node.cast::<pg_sys::FromExpr>();
        from.is_none_or(|from| from.fromlist().into_iter().all(is_inner))
    }
    let entries = query.rtable().nodes();
    let is_in_from = |entry: &Ref<'t, RangeTblEntry>| entry.subquery() == Some(below);
    query.commandType() == pg_sys::CmdType::CMD_SELECT
        && !query.hasAggs()
        && !query.hasWindowFuncs()
        && !query.hasTargetSRFs()
        && query.groupClause().is_empty()
        && query.groupingSets().is_empty()
        && query.distinctClause().is_empty()
        && query.setOperations().is_none()
        && query.rowMarks().is_empty()
        && entries.iter().any(is_in_from)
        && query.jointree().is_some_and(|from| is_inner(from.node()))
}

/// Whether a system column, or a whole row, is in a tree.
fn names_system_column(node: Ref<Node>) -> bool {
    tree::any(node, |node| {
        let column = node.cast::<pg_sys::Var>();
        column.is_some_and(|column| column.varattno() <= 0)
    })
}

/// Whether the role that asks, or the owner of the view that does, is allowed.
fn may_ask<'t>(query: Ref<'t, Query>, entry: Ref<'t, RangeTblEntry>) -> Result<bool, Refusal> {
    if extension::oid().is_none() {
        return Ok(false);
    }
    let asker = access::view_owner(query, entry).unwrap_or_else(session::role);
    allowance::is_allowed(entry.relid(), asker)
}

/// COPY of a table gives its rows: a role that may only ask gets an example that works.
pub fn check_copy(relation: Oid) -> Result<(), Refusal> {
    let role = session::role();
    if relation == Oid::INVALID
        || extension::oid().is_none()
        || access::may_read_some(relation, role)
    {
        return Ok(());
    }
    let Some(policy) = Policy::of(relation) else {
        return Ok(());
    };
    match allowance::is_allowed(relation, role)? {
        false => Ok(()),
        true => Err(errors::gated(
            &quoted_name(relation),
            "COPY would return its rows",
            &format!(
                "COPY ({}) TO STDOUT gives private answers.",
                policy.example()
            ),
        )),
    }
}

/// The sets of keys that rows are grouped by.
fn sets<'t>(query: Ref<'t, Query>, keys: &[GroupKey<'t>]) -> Checked<Vec<Vec<bool>>> {
    if query.groupingSets().is_empty() {
        return Ok(vec![vec![true; keys.len()]]);
    }
    let sets = tree::grouping_sets(query, MOST_SETS);
    let sets = sets.ok_or_else(|| format!("the query has more than {MOST_SETS} grouping sets"))?;
    let has = |set: &Vec<i32>, key: &GroupKey| set.contains(&(key.reference as i32));
    let sets = sets
        .iter()
        .map(|set| keys.iter().map(|key| has(set, key)).collect());
    Ok(sets.collect())
}

/// Whether a query has no rows whatever the tables hold, as tools ask for its columns: with LIMIT 0 or WHERE false.
fn has_no_rows(query: Ref<Query>) -> bool {
    let value = |node: Option<Ref<Node>>| {
        let node = node.map(|node| tree::fold(None, node.copy()));
        node.and_then(tree::constant)
    };
    let condition = query.jointree().and_then(|from| from.quals());
    let is_0 = |value: pg_sys::Datum| value.value() == 0;
    let is_plain =
        !query.hasAggs() && query.groupClause().is_empty() && query.groupingSets().is_empty();
    value(query.limitCount()).flatten().is_some_and(is_0)
        || is_plain && value(condition).is_some_and(|value| value.is_none_or(is_0))
}

/// Puts a query without rows in the place of a table: nothing is read, and nothing is lent.
fn make_empty(entry: Ref<RangeTblEntry>) {
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { pgrx::PgRelation::open(entry.relid()) };
    let memory = entry.memory();
    let columns = table.tuple_desc();
    let targets = columns.iter().zip(1..).map(|(column, number)| {
        let (kind, modifier, collation) = match column.attisdropped {
            true => (pg_sys::INT4OID, -1, Oid::INVALID),
            false => (column.atttypid, column.atttypmod, column.attcollation),
        };
        let null = tree::null(memory, kind, modifier, collation);
        tree::target(null, number, column.name())
    });
    let from = memory.make::<pg_sys::FromExpr>();
    from.set_quals(Some(tree::boolean(memory, Some(false))));
    let empty = memory.make::<Query>();
    empty.set_commandType(pg_sys::CmdType::CMD_SELECT);
    empty.set_canSetTag(true);
    empty.set_targetList(tree::list_of(targets));
    empty.set_jointree(Some(from));
    access::forget(entry);
    entry.set_rtekind(RTEKind::RTE_SUBQUERY);
    entry.set_subquery(Some(empty));
    entry.set_security_barrier(false);
    entry.set_relid(Oid::INVALID);
    entry.set_relkind(0);
    entry.set_inh(false);
    entry.set_rellockmode(0);
    entry.set_tablesample(None);
    entry.set_securityQuals(List::EMPTY);
}
