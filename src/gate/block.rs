//! A block: one SELECT with aggregates, GROUP BY or DISTINCT over private rows. Here it is recognised, and what is not
//! proven private is refused.

use std::rc::Rc;

use pgrx::pg_sys::{self, Node, NodeTag, Oid, Query, SortGroupClause};

use crate::gate::canonical_keys;
use crate::gate::conditions::{self, Bounded};
use crate::gate::defence::Defence;
use crate::gate::dependent_keys;
use crate::gate::expression::{self, Checker};
use crate::gate::kept_side::{self, Matched};
use crate::gate::key_lists;
use crate::gate::key_ranges;
use crate::gate::key_references;
use crate::gate::key_tables;
use crate::gate::periods;
use crate::gate::policy::{Period, Policy};
use crate::gate::private_relation::from::From;
use crate::gate::private_relation::{self, Around, Shared, check_sub_query};
use crate::gate::public_keys::{self, Public};
use crate::gate::rejection::{Checked, Reason};
use crate::ledger::session;
use crate::pg::procedure;
use crate::pg::settings;
use crate::pg::stack;
use crate::pg::tree::{self, List, Parameters, Ref};
use crate::safe_functions::range;

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
    /// The private rows that its FROM has.
    pub from: Rc<From<'t>>,
    /// What holds for all protected tables that these come from.
    pub policy: Rc<Policy>,
    /// The owner of the view that names them; invalid: the current role asks.
    pub view_owner: Oid,
    pub checker: Checker<'t>,
    /// For how many rows, and in how many groups, a person counts at most.
    pub most_rows: u32,
    /// Whether totals find how many rows of a person count.
    pub finds_rows: bool,
    pub most_groups: u32,
    /// What is joined with a public table whose rows are all groups.
    matched: Matched,
}

/// A key of GROUP BY in its three forms.
#[derive(Clone, Copy)]
struct Forms<'t> {
    /// As the query has it.
    written: Ref<'t, Node>,
    /// As it is computed for private rows.
    computed: Ref<'t, Node>,
    /// That in the one form that equal values have.
    shown: Ref<'t, Node>,
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
    /// Whether it is a key of a protected table.
    pub is_of_one_row: bool,
    /// Whether all rows of a person have the same value of it.
    pub is_of_person: bool,
    /// Whether it is made of columns of single rows of a person.
    pub is_of_single_rows: bool,
    /// Its number in GROUPING SETS.
    pub reference: u32,
    /// What is public of its values.
    pub public: Option<Public<'t>>,
}

/// Leaves out keys that are there already, as of `SELECT a AS x, a AS y ... GROUP BY x, y`.
fn name_keys_once(query: Ref<Query>) -> Checked<()> {
    let mut kept: Vec<(Ref<SortGroupClause>, Ref<Node>)> = Vec::new();
    let clauses = query.groupClause().nodes();
    let count = clauses.len();
    for clause in clauses {
        let target = tree::sort_group_target(clause, query.targetList());
        let key = target.expr().expect("a target has an expression");
        if !kept.iter().any(|(_, known)| known.same(key)) {
            kept.push((clause, key));
        }
    }
    if kept.len() == count {
        return Ok(());
    }
    if !query.groupingSets().is_empty() {
        return Err(Reason::with_hint(
            "GROUPING SETS have the same key under two names",
            "Name each key once there, and show it twice in a query around it.",
        ));
    }
    query.set_groupClause(tree::list_of(kept.into_iter().map(|(clause, _)| clause)));
    Ok(())
}

/// What a session asks for, if it is no more than the policy has.
fn at_most(name: &str, asked: Option<u32>, most: u32) -> Checked<u32> {
    match asked {
        Some(asked) if asked > most => Err(Reason::with_hint(
            format!("dp_mean.{name} is {asked}, above the {most} that the policy allows"),
            format!("SET dp_mean.{name} = {most}; or RESET dp_mean.{name}."),
        )),
        Some(asked) => Ok(asked),
        None => Ok(most),
    }
}

impl<'t> Block<'t> {
    /// Checks the shape of the query, and all of FROM and WHERE.
    pub fn recognise(query: Ref<'t, Query>, parameters: Parameters<'t>) -> Checked<Self> {
        if query.commandType() != pg_sys::CmdType::CMD_SELECT || !query.rowMarks().is_empty() {
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
        // Before the columns of joins: keys may name these.
        tree::flatten_groups(query);
        let flat = |node: Ref<'t, Node>| tree::flatten_joins(query, node);
        query.set_targetList(List::of_tree(query.targetList().node().map(flat)));
        query.set_havingQual(query.havingQual().map(flat));
        name_keys_once(query)?;
        dependent_keys::leave_out(query);
        let origins = private_relation::origins(query)?;
        if let Some((policy, _)) = &origins {
            periods::check_plain(query, policy)?;
        }
        let matched = kept_side::turn(query, &conditions::of_query(query));
        let from = Rc::new(From::of(
            query,
            &Shared::of_block(parameters, check_sub_query),
        )?);
        let checker = from.checker(Some(Around::of_block(&from)));
        from.check_conditions(&checker)?;
        let (policy, view_owner) = origins.ok_or("the table is not in FROM")?;
        let label = &policy.label;
        Ok(Self {
            query,
            from,
            view_owner,
            checker,
            most_rows: at_most("rows", settings::rows(), label.rows)?,
            finds_rows: label.auto_rows && settings::rows().is_none(),
            most_groups: at_most("groups", settings::groups(), label.groups)?,
            matched,
            policy,
        })
    }

    /// The conditions that all rows meet: those of WHERE and of inner joins.
    pub fn conditions(&self) -> Vec<Ref<'t, Node>> {
        conditions::of_query(self.query)
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
        self.put_together(&mut keys);
        let tables: Vec<_> = keys
            .iter()
            .filter_map(|key| key.public.as_ref()?.table())
            .collect();
        if !key_tables::may_all_meet(&self.from, &tables, &self.conditions()) {
            // Which rows of them meet is not in the lists of each.
            for key in &mut keys {
                key.public = key.public.take().filter(|public| public.table().is_none());
            }
        }
        let groups = public_keys::count(keys.iter().filter_map(|key| key.public.as_ref()));
        if groups > key_ranges::MOST_GROUPS {
            for key in &mut keys {
                key.public = key.public.take().filter(|public| public.is_declared);
            }
        }
        let written = keys.iter().map(|key| (key.written, key.public.is_some()));
        self.matched.check(self.query, written)?;
        Ok(keys)
    }

    /// Takes the values of several keys of one column from its values between two ends: those of each key alone would be
    /// combined in groups that no row can be in, as the months of two years where one of them has ended.
    fn put_together(&self, keys: &mut [GroupKey<'t>]) {
        let of_key = |key: &GroupKey<'t>| {
            let is_computed = key
                .public
                .as_ref()
                .is_none_or(|public| !public.is_declared && public.table().is_none());
            let forms = Forms {
                written: key.written,
                computed: key.computed,
                shown: key.safe,
            };
            (is_computed && keys.len() > 1 && !key.is_unit).then(|| self.between(forms))?
        };
        let ranges: Vec<_> = keys.iter().map(of_key).collect();
        let columns: Vec<_> = ranges.iter().flatten().map(|range| range.column).collect();
        for (key, range) in keys.iter_mut().zip(ranges) {
            let is_shared = |range: &key_ranges::Range<'t>| {
                columns
                    .iter()
                    .filter(|column| **column == range.column)
                    .count()
                    > 1
            };
            if let Some(range) = range.filter(is_shared) {
                key.public = Some(Public::between(range));
            }
        }
    }

    fn key(&self, clause: Ref<'t, SortGroupClause>) -> Checked<GroupKey<'t>> {
        let target = tree::sort_group_target(clause, self.query.targetList());
        let written = target.expr().expect("a target has an expression");
        let (safe, formed) = self.groupable(written, clause)?;
        Ok(GroupKey {
            written,
            computed: safe,
            safe: formed.node,
            modifier: formed.modifier,
            is_unit: self.is_unit(written),
            is_of_one_row: private_relation::is_of_one_row(&self.from, written),
            is_of_person: private_relation::is_of_person(&self.from, written, &self.conditions()),
            is_of_single_rows: private_relation::is_of_single_rows(&self.from, written),
            reference: clause.tleSortGroupRef(),
            public: self.public(Forms {
                written,
                computed: safe,
                shown: formed.node,
            }),
        })
    }

    /// A value that rows can be grouped by, as it is computed of a row, and in the one form that equal values have.
    fn groupable(
        &self,
        written: Ref<'t, Node>,
        clause: Ref<'t, SortGroupClause>,
    ) -> Checked<(Ref<'t, Node>, canonical_keys::Formed<'t>)> {
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
        Ok((safe, formed))
    }

    /// The values that `count(DISTINCT value)` counts.
    pub fn counted_values(
        &self,
        written: Ref<'t, Node>,
        clause: Ref<'t, SortGroupClause>,
    ) -> Checked<Ref<'t, Node>> {
        self.groupable(written, clause)
            .map(|(_, formed)| formed.node)
    }

    /// What is public of a key.
    fn public(&self, key: Forms<'t>) -> Option<Public<'t>> {
        let column = key.written.cast::<pg_sys::Var>();
        let column = column.filter(|column| column.varlevelsup() == 0);
        let declared =
            column.and_then(|column| self.from.values((column.varno(), column.varattno())));
        match declared {
            Some(values) => Some(Public::declared(values)),
            None => {
                let folded = self.checker.folded(key.written.copy());
                let said = public_keys::of(folded, &|node| self.is_never_null(node));
                // What keys of one table have together; but one key alone has less noise where its few values are known.
                let listed = said.as_ref().and_then(Public::listed);
                let is_alone = self.query.groupClause().nodes().len() == 1
                    && listed.is_some_and(|count| count < self.most_groups as usize);
                let of_table = self.of_table(key).filter(|_| !is_alone);
                if of_table.is_some() {
                    return of_table.map(Public::of_table);
                }
                let left = || {
                    self.between(key)?
                        .constants()
                        .filter(|left| !left.is_empty())
                };
                match said {
                    Some(said) => Some(match left() {
                        Some(left) => said.among(&left),
                        None => said,
                    }),
                    None => self.by_conditions(key),
                }
            }
        }
    }

    /// The values of a key that a joined table has.
    fn of_table(&self, key: Forms<'t>) -> Option<key_tables::Rows<'t>> {
        match self.is_unit(key.written) {
            true => None,
            false => key_tables::of(&self.from, key.written, key.shown, &self.conditions()),
        }
    }

    /// The values of a key between ends that its column has by WHERE.
    fn between(&self, key: Forms<'t>) -> Option<key_ranges::Range<'t>> {
        let (folded, estimated) = (
            |node| self.checker.folded(node),
            |node| tree::estimate(self.checker.root, node),
        );
        key_ranges::of(
            key.written,
            key.shown,
            &self.conditions(),
            &|entry, column| self.from.is_dense((entry, column)),
            &folded,
            &estimated,
        )
    }

    /// The values of a key that WHERE lists, that its foreign key may have, or that are between constant ends of its
    /// column. Groups of one person each are none to be shown.
    fn by_conditions(&self, key: Forms<'t>) -> Option<Public<'t>> {
        let Forms {
            written, computed, ..
        } = key;
        if self.is_unit(written) {
            return None;
        }
        let conditions = self.conditions();
        let folded = |node| self.checker.folded(node);
        let listed =
            || key_lists::of(written, computed, &conditions, &folded).map(Public::compared);
        let between = || self.between(key).map(Public::between);
        let referred = || {
            let keys = key_references::of(&self.from, written)?;
            Some(Public::referred(keys, !self.is_never_null(written)))
        };
        listed().or_else(referred).or_else(between)
    }

    /// Whether an expression is the column that names the person, as it is or cast to a wider type or to text.
    pub fn is_unit(&self, node: Ref<'t, Node>) -> bool {
        if let Some(column) = node.cast::<pg_sys::Var>() {
            let place = (column.varno(), column.varattno());
            return column.varlevelsup() == 0 && self.from.is_person(place);
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
        let is_hidden = |is_single: &dyn Fn(&GroupKey) -> bool| {
            sets.iter().any(|set| {
                let mut keys = keys.iter().zip(set).filter(|(_, in_set)| **in_set);
                keys.clone().any(|(key, _)| is_single(key))
                    && !keys.all(|(key, _)| key.public.is_some())
            })
        };
        if is_hidden(&|key| key.is_of_one_row && !key.is_unit) {
            return Err(Reason::with_hint(
                "GROUP BY a key of single rows would show single persons",
                "In a sub-query, add the column that names the person to its GROUP BY or DISTINCT. Else group by \
                 something that many people share.",
            ));
        }
        match is_hidden(&|key| key.is_unit) {
            false => Ok(()),
            true => Err(Reason::with_hint(
                "GROUP BY the unit column would show single persons",
                "Group by something that many people share; count(DISTINCT ...) of that column counts people; or put the \
                 query into a sub-query in FROM, and take an aggregate of its rows.",
            )),
        }
    }

    /// Whether a row is a person: a snapshot that was there before may be older than the unique index that says so.
    pub fn has_one_row_each(&self) -> bool {
        self.from.one_row().stands()
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
        let [(entry, column), ..] = self.from.persons[..] else {
            return Err("the table is not in FROM".into());
        };
        let unit = tree::column(self.query, entry, column).ok_or("a person has no column")?;
        if !expression::is_groupable(tree::type_of(unit)) {
            return Err("the type of the unit column cannot be grouped by".into());
        }
        let collation = tree::collation_of(unit);
        let unit = self.checker.safe(unit)?;
        expression::check_key(unit)?;
        if collation != Oid::INVALID && !procedure::is_deterministic(collation) {
            return Err("the unit column has a nondeterministic collation".into());
        }
        Ok(unit)
    }

    /// What says in which period a row is, and its column, where a person's rows of one period are the privacy unit.
    pub fn period(&self) -> Checked<Option<(Period, Ref<'t, Node>)>> {
        let (Some(period), Some((entry, _))) = (self.policy.period, self.from.persons.first())
        else {
            return Ok(None);
        };
        let column =
            tree::column(self.query, *entry, period.column).ok_or("a period has no column")?;
        let unit = tree::column(self.query, *entry, self.policy.unit);
        if !unit.is_some_and(|unit| periods::is_unit_type(tree::type_of(unit))) {
            return Err("the unit column of a table by period is no integer, text or uuid".into());
        }
        Ok(Some((period, self.checker.safe(column)?)))
    }

    /// Whether rows with the same value of a key are of one period.
    pub fn is_of_one_period(&self, key: &GroupKey<'t>, period: &Period) -> bool {
        let entries: Vec<i32> = self.from.sources.keys().copied().collect();
        let is_column = |column: Ref<'t, pg_sys::Var>| {
            let is_it = entries.contains(&column.varno()) && column.varattno() == period.column;
            is_it && column.varlevelsup() == 0
        };
        periods::is_of_one(key.written, period, &is_column)
            || periods::is_of_one(key.computed, period, &is_column)
    }

    /// Whether the first column that names the person is NULL in no row, so that PostgreSQL need not look.
    pub fn has_person(&self) -> bool {
        let first = self.from.persons.first();
        first.is_some_and(|first| self.from.is_not_null(*first))
    }

    /// The public range of an expression, in the rows that an aggregate's FILTER takes.
    pub fn range(&self, node: Ref<'t, Node>, filter: Option<Ref<'t, Node>>) -> Option<(f64, f64)> {
        let columns = |entry: i32, column: i16| self.from.bounds((entry, column));
        let filter = filter.map(|filter| tree::flatten_joins(self.query, filter));
        let filter = Bounded::by(tree::conjuncts(filter), |one| self.checker.folded(one));
        let own = |node| range::both(self.from.bounds_of(node), filter.find(node));
        expression::range(node, &columns, &own)
    }

    /// The first and the last day or time of a column, where they are public.
    pub fn ends(&self, node: Ref<'t, Node>) -> Option<(i64, i64)> {
        let column = node.cast::<pg_sys::Var>()?;
        let place = (column.varno(), column.varattno());
        (column.varlevelsup() == 0).then(|| self.from.ends(place))?
    }

    /// An expression in which columns that are never NULL are not asked whether they are.
    pub fn without_null_tests(&self, node: Ref<'t, Node>) -> Ref<'t, Node> {
        tree::change(node, &mut |node| {
            let test = node.cast::<pg_sys::NullTest>()?;
            let is_null = test.nulltesttype() == pg_sys::NullTestType::IS_NULL;
            let is_known = !test.argisrow() && self.is_never_null(test.arg()?);
            is_known.then(|| tree::boolean(node.memory(), Some(!is_null)))
        })
    }

    /// Whether an expression is NULL for no row.
    pub fn is_never_null(&self, node: Ref<'t, Node>) -> bool {
        stack::check();
        if let Some(column) = node.cast::<pg_sys::Var>() {
            let place = (column.varno(), column.varattno());
            return column.varlevelsup() == 0 && self.from.is_not_null(place);
        }
        if let Some(value) = tree::constant(node) {
            return value.is_some();
        }
        if let Some(same) = node.cast::<pg_sys::RelabelType>() {
            return same.arg().is_some_and(|arg| self.is_never_null(arg));
        }
        let link = node.cast::<pg_sys::SubLink>();
        let is_exists =
            link.is_some_and(|link| link.subLinkType() == pg_sys::SubLinkType::EXISTS_SUBLINK);
        if is_exists || [NodeTag::T_NullTest, NodeTag::T_BooleanTest].contains(&node.tag()) {
            return true;
        }
        let arguments = if let Some(all) = node.cast::<pg_sys::BoolExpr>() {
            all.args()
        } else if let Some(comparison) = node.operator() {
            let answers_always =
                expression::is_comparison(comparison) || expression::is_remainder(comparison);
            match node.tag() == NodeTag::T_OpExpr && answers_always {
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
