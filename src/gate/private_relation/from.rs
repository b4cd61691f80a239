//! FROM and WHERE of a query over private rows: protected tables, private relations below, and what is public. Rows of
//! several people must not meet in one row, so everything private is joined by the person.

mod known;
mod refusals;

use std::collections::BTreeMap;
use std::rc::Rc;

use pgrx::pg_sys::{self, FromExpr, JoinExpr, JoinType, Node, Oid, Query, RTEKind, RangeTblRef};

use crate::gate::conditions::{self, Bounded};
use crate::gate::defence::Defence;
use crate::gate::expression::{Checker, Surroundings};
use crate::gate::inputs::{self, columns, queries};
use crate::gate::policy::{Policy, quoted_name};
use crate::gate::private_relation::columns::{OneRow, Row, Rows, Source};
use crate::gate::private_relation::person::{self, Column};
use crate::gate::private_relation::shared::Shared;
use crate::gate::private_relation::{reference, sure_joins};
use crate::gate::rejection::{Checked, Reason};
use crate::gate::{access, allowance, canonical_keys, released};
use crate::ledger::session;
use crate::pg::planning;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};

/// The rows of FROM.
pub struct From<'t> {
    pub query: Ref<'t, Query>,
    /// The entries with private rows, by their numbers.
    pub sources: BTreeMap<i32, Source>,
    /// The columns that name the person of a row: all say the same. None, where nothing is private.
    pub persons: Vec<Column>,
    /// The numbers of the plain tables that are joined.
    pub inputs: Vec<i32>,
    /// Those that an outer join may have no row of.
    missing: Vec<i32>,
    /// The numbers of public sub-queries and answers that are.
    pub answers: Vec<i32>,
    /// Those of them that are no answers, but rows that anybody may know.
    pub lists: Vec<i32>,
    /// Whether anything public is joined, so that a row may be there several times.
    pub has_public: bool,
    /// Expressions over the columns of its tables with their declared bounds, and those that its conditions have bounds
    /// of.
    declared: Bounded<'t>,
    said: Bounded<'t>,
    shared: Shared<'t>,
}

/// Columns that are equal in all rows of a part of FROM, as its conditions say.
type Equalities = Vec<[Column; 2]>;

/// A private part of FROM.
#[derive(Clone, Default)]
struct Part {
    entries: Vec<i32>,
    /// The columns that name the person of a row; none, if another part has to say who it is.
    persons: Vec<Column>,
    /// Columns that do so where they are not NULL, as an outer join may leave them. What is equal to one is of that
    /// person.
    optional: Vec<Column>,
}

impl Part {
    fn add(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.persons.extend(other.persons);
        self.optional.extend(other.optional);
    }

    /// Takes what an outer join may leave out of a row.
    fn add_optional(&mut self, other: Self) {
        self.entries.extend(other.entries);
        self.optional.extend(other.persons);
        self.optional.extend(other.optional);
    }

    fn names_person(&self, column: Column) -> bool {
        self.persons.contains(&column) || self.optional.contains(&column)
    }
}

impl<'t> From<'t> {
    fn new(query: Ref<'t, Query>, shared: &Shared<'t>) -> Self {
        Self {
            query,
            sources: BTreeMap::new(),
            persons: Vec::new(),
            inputs: Vec::new(),
            missing: Vec::new(),
            answers: Vec::new(),
            lists: Vec::new(),
            has_public: false,
            declared: Bounded::default(),
            said: Bounded::default(),
            shared: shared.clone(),
        }
    }

    /// Looks at all of FROM. Its conditions are not checked yet.
    pub fn of(query: Ref<'t, Query>, shared: &Shared<'t>) -> Checked<Self> {
        sure_joins::turn(query);
        let mut found = Self::new(query, shared);
        let from = query.jointree().expect("a query has FROM");
        let part = found.inner(&[from.node()], Vec::new())?;
        found.persons = part.unwrap_or_default().persons;
        if found.persons.is_empty() && !found.sources.is_empty() {
            return Err(refusals::not_found());
        }
        found.check_rights()?;
        found.read_conditions();
        Ok(found)
    }

    /// Looks at both sides of a FULL JOIN that is all of FROM. Its conditions are on rows of one side, or on pairs of
    /// rows of one person, so what names the person there does so for them. Of the rows of the join no column does: what
    /// comes with it are the pairs of columns, one of each side, whose `coalesce` does.
    pub fn of_full_join(
        query: Ref<'t, Query>,
        join: Ref<'t, JoinExpr>,
        shared: &Shared<'t>,
    ) -> Checked<(Self, Vec<[Column; 2]>)> {
        let mut found = Self::new(query, shared);
        let mut side = |side: Option<Ref<'t, Node>>| {
            let side = side.expect("a join has two sides");
            found
                .inner(&[side], Vec::new())?
                .ok_or_else(refusals::nullable)
        };
        let (left, right) = (side(join.larg())?, side(join.rarg())?);
        if !found.are_same(&left, &right, &found.equalities(join.quals())) {
            return Err(refusals::not_joined_in_on());
        }
        for source in found.sources.values_mut() {
            source.is_nullable = true;
        }
        found.check_rights()?;
        let kind = |(entry, column): Column| {
            let value = tree::column(query, entry, column)?;
            Some((tree::type_of(value), tree::collation_of(value)))
        };
        let of_left = left.persons.iter().copied();
        let pairs = of_left.flat_map(|one| right.persons.iter().map(move |other| [one, *other]));
        let pairs = pairs.filter(|[one, other]| kind(*one).is_some() && kind(*one) == kind(*other));
        let pairs = Vec::from_iter(pairs);
        match pairs.is_empty() {
            true => Err(Reason::with_hint(
                "FULL JOIN of private rows whose persons are of different types",
                "Use LEFT JOIN from the table that has all people.",
            )),
            false => {
                found.persons = [left.persons, right.persons].concat();
                found.read_conditions();
                Ok((found, pairs))
            }
        }
    }

    /// Takes the bounds that its conditions say, as they are written: in their safe form they are others.
    fn read_conditions(&mut self) {
        let checker = self.checker(None);
        let folded = |one| checker.folded(tree::flatten_joins(self.query, one));
        self.said = Bounded::by(conditions::of_query(self.query), folded);
    }

    /// That the role may ask about all that is read.
    fn check_rights(&self) -> Checked<()> {
        for (entry, index) in self.query.rtable().into_iter().zip(1..) {
            if access::is_denied(self.query, entry) && !self.sources.contains_key(&index) {
                return Err(refusals::not_readable(entry.relid()));
            }
        }
        Ok(())
    }

    /// A part of FROM that is no inner join: a table, or an outer join. `above` are the conditions on its rows.
    fn part(&mut self, node: Ref<'t, Node>, above: &Equalities) -> Checked<Option<Part>> {
        stack::check();
        if let Some(reference) = node.cast::<RangeTblRef>() {
            return self.entry(reference.rtindex());
        }
        let Some(join) = node.cast::<JoinExpr>() else {
            return Err("unsupported item in FROM".into());
        };
        let right = join.rarg().expect("a join has two sides");
        let left = join.larg().expect("a join has two sides");
        let (kept, other) = match join.jointype() {
            JoinType::JOIN_LEFT => (left, right),
            JoinType::JOIN_RIGHT => (right, left),
            JoinType::JOIN_FULL if self.is_private(left) && self.is_private(right) => {
                return Err(Reason::with_hint(
                    "FULL JOIN of private rows beside LATERAL, rows as values, or eight others",
                    "Name the columns, as in: SELECT count(DISTINCT coalesce(a.patient, b.patient)) FROM a FULL JOIN b \
                     ON a.patient = b.patient; put other joins into a sub-query with GROUP BY.",
                ));
            }
            _ => return Err(refusals::nullable()),
        };
        let kept_part = self.inner(&[kept], above.clone())?;
        let before: Vec<i32> = self.sources.keys().copied().collect();
        let (tables_before, lists_before) = (self.inputs.len(), self.lists.len());
        let other_part = self.inner(&[other], Vec::new())?;
        self.missing.extend(&self.inputs[tables_before..]);
        self.missing.extend(&self.lists[lists_before..]);
        for (index, source) in &mut self.sources {
            source.is_nullable |= !before.contains(index);
        }
        match (kept_part, other_part) {
            (Some(mut kept), Some(other)) => {
                match self.are_same(&kept, &other, &self.equalities(join.quals())) {
                    true => {
                        kept.add_optional(other);
                        Ok(Some(kept))
                    }
                    false => Err(refusals::not_joined()),
                }
            }
            (None, Some(_)) => Err(refusals::nullable()),
            (kept, None) => Ok(kept),
        }
    }

    /// The rows of several parts that are joined by conditions which all of them meet.
    fn inner(&mut self, parts: &[Ref<'t, Node>], above: Equalities) -> Checked<Option<Part>> {
        let mut equalities = above;
        let mut leaves = Vec::new();
        let mut open: Vec<_> = parts.iter().rev().copied().collect();
        while let Some(node) = open.pop() {
            if let Some(from) = node.cast::<FromExpr>() {
                equalities.extend(self.equalities(from.quals()));
                open.extend(from.fromlist().nodes().into_iter().rev());
            } else if let Some(join) = node.cast::<JoinExpr>()
                && join.jointype() == JoinType::JOIN_INNER
            {
                equalities.extend(self.equalities(join.quals()));
                open.extend([join.rarg(), join.larg()].into_iter().flatten());
            } else {
                leaves.push(node);
            }
        }
        // The private parts, put together as far as they are of the same person.
        let mut groups: Vec<Part> = Vec::new();
        for leaf in leaves {
            groups.extend(self.part(leaf, &equalities)?);
        }
        while let Some(last) = groups.pop() {
            if groups.is_empty() {
                return Ok(Some(last));
            }
            let joined = groups
                .iter()
                .position(|group| self.are_same(group, &last, &equalities));
            groups[joined.ok_or_else(refusals::not_joined)?].add(last);
        }
        Ok(None)
    }

    /// The columns that a condition says are equal.
    fn equalities(&self, condition: Option<Ref<'t, Node>>) -> Equalities {
        let flat = condition.map(|condition| tree::flatten_joins(self.query, condition));
        let all = tree::conjuncts(flat).into_iter();
        all.filter_map(person::equality).collect()
    }

    /// Whether it follows that both are of the same person: they name the same one, or the same row of a table.
    fn are_same(&self, one: &Part, other: &Part, equalities: &Equalities) -> bool {
        let joins = |a: Column, b: Column| {
            if one.names_person(a) && other.names_person(b) {
                return true;
            }
            let is_between = one.entries.contains(&a.0) && other.entries.contains(&b.0);
            let (row, same) = (self.row(a), self.row(b));
            is_between && row.is_some_and(|row| same == Some(row) && self.is_referred_to(row))
        };
        let mut equalities = equalities.iter();
        !Defence::Persons.stands() || equalities.any(|[a, b]| joins(*a, *b) || joins(*b, *a))
    }

    /// Whether a table in FROM refers to rows by this key, so that no two rows have the same.
    fn is_referred_to(&self, row: Row) -> bool {
        let mut sources = self.sources.values();
        sources.any(|source| source.refers_to(row))
    }

    /// Whether two columns that are equal, one of these rows and one of others, are of the same person.
    pub fn are_of_one_person(&self, own: Column, others: &Self, other: Column) -> bool {
        if self.is_person(own) && others.is_person(other) {
            return true;
        }
        let (row, same) = (self.row(own), others.row(other));
        let is_one = |row| self.is_referred_to(row) || others.is_referred_to(row);
        row.is_some_and(|row| same == Some(row) && is_one(row))
    }

    /// Whether rows with equal values of a column are of one person.
    pub fn says_person(&self, column: Column) -> bool {
        self.is_person(column) || self.row(column).is_some_and(|row| self.is_referred_to(row))
    }

    fn is_private(&self, node: Ref<'t, Node>) -> bool {
        !person::private_entries(self.query, node).is_empty()
    }

    /// A table, a sub-query or something else that FROM names.
    fn entry(&mut self, index: i32) -> Checked<Option<Part>> {
        let entry = tree::entry(self.query, index);
        if entry.tablesample().is_some() {
            return Err("TABLESAMPLE cannot be used".into());
        }
        if access::is_denied(self.query, entry) {
            return self.table(index).map(Some);
        }
        match entry.rtekind() {
            RTEKind::RTE_SUBQUERY if entry.lateral() => Err(refusals::lateral()),
            RTEKind::RTE_SUBQUERY => {
                let below = entry.subquery().ok_or("an empty sub-query is joined")?;
                if person::is_relation(below) {
                    return self.sub_query(index, below).map(Some);
                }
                self.public_query(index, below)?;
                Ok(None)
            }
            RTEKind::RTE_RELATION => {
                self.public_table(index)?;
                Ok(None)
            }
            RTEKind::RTE_FUNCTION | RTEKind::RTE_VALUES if !entry.lateral() => {
                let below = queries::select_all(self.query, index);
                self.public_query(index, below)?;
                entry.set_rtekind(RTEKind::RTE_SUBQUERY);
                entry.set_functions(List::EMPTY);
                entry.set_subquery(Some(below));
                Ok(None)
            }
            _ => Err(refusals::not_public()),
        }
    }

    /// Base: a protected table. The person of a row is the one that its column names.
    fn table(&mut self, index: i32) -> Checked<Part> {
        let entry = tree::entry(self.query, index);
        let asker = access::view_owner(self.query, entry).unwrap_or_else(session::role);
        let asked = |relation: Oid| -> Checked<Option<Rc<Policy>>> {
            let is_allowed = allowance::is_allowed(relation, asker);
            let is_allowed = is_allowed.map_err(|refusal| refusal.message().to_owned())?;
            Ok(Policy::of(relation).filter(|_| is_allowed))
        };
        let policy = asked(entry.relid())?.ok_or_else(|| refusals::not_readable(entry.relid()))?;
        if let Some(other) = policy.refers_to_person() {
            asked(other)?.ok_or_else(|| refusals::not_readable(other))?;
        }
        if !access::is_only_read(self.query, entry) {
            return Err("protected tables can only be read, without row locks".into());
        }
        if entry.lateral() {
            return Err(refusals::lateral());
        }
        let one_row = match policy.one_row_each {
            Some(_) => OneRow::Indexed,
            None => OneRow::No,
        };
        // Where it refers to a row of another table, that one says who it is.
        let person = policy.names_person().then_some((index, policy.unit));
        self.add_expressions(&policy, index);
        let source = Source {
            rows: Rows::Table(policy.clone()),
            one_row,
            is_nullable: false,
        };
        self.sources.insert(index, source);
        Ok(Part {
            entries: vec![index],
            persons: Vec::from_iter(person),
            optional: Vec::new(),
        })
    }

    /// Takes the bounds of expressions over a table's columns, which an entry has in their places.
    fn add_expressions(&mut self, policy: &Policy, index: i32) {
        for known in policy.expressions.iter() {
            if let Some(tree) = known.tree(self.query.memory(), index) {
                self.declared.declare(tree, known.bounds);
            }
        }
    }

    /// A sub-query that is a private relation itself.
    fn sub_query(&mut self, index: i32, below: Ref<'t, Query>) -> Checked<Part> {
        columns::forget_unused(below, &columns::used_flat(self.query, index));
        if let Some(policy) = reference::followed(below) {
            self.add_expressions(&policy, index);
        }
        let relation = (self.shared.check_sub_query)(below, &self.shared.below())?;
        columns::add_column_names(tree::entry(self.query, index), below);
        let source = Source {
            rows: Rows::Query(relation.facts),
            one_row: relation.one_row,
            is_nullable: false,
        };
        self.sources.insert(index, source);
        let persons = relation.persons.iter().map(|person| (index, *person));
        Ok(Part {
            entries: vec![index],
            persons: persons.collect(),
            optional: Vec::new(),
        })
    }

    /// A table that the role may read.
    fn public_table(&mut self, index: i32) -> Checked<()> {
        let entry = tree::entry(self.query, index);
        self.has_public = true;
        if !inputs::is_plain(entry) || entry.lateral() || !entry.securityQuals().is_empty() {
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

    /// A sub-query over public tables, or an answer.
    fn public_query(&mut self, index: i32, below: Ref<'t, Query>) -> Checked<()> {
        self.has_public = true;
        released::check(below, &self.checker(None))?;
        self.answers.push(index);
        if !released::names_answer(below) {
            self.lists.push(index);
        }
        Ok(())
    }

    /// A checker of expressions over these rows.
    pub fn checker(&self, around: Option<Rc<dyn Surroundings<'t> + 't>>) -> Checker<'t> {
        Checker {
            query: Some(self.query),
            root: planning::planning(self.query, self.shared.parameters),
            around,
            is_of_answers: false,
        }
    }

    /// Puts the conditions of FROM and WHERE into their safe form.
    pub fn check_conditions(&self, checker: &Checker<'t>) -> Checked<()> {
        for index in self.sources.keys() {
            let entry = tree::entry(self.query, *index);
            let conditions = entry.securityQuals().into_iter();
            let safe: Checked<Vec<_>> = conditions.map(|one| checker.safe(one)).collect();
            entry.set_securityQuals(tree::list_of(safe?));
        }
        let from = self.query.jointree().expect("a query has FROM");
        self.check_below(from.node(), checker)
    }

    fn check_below(&self, node: Ref<'t, Node>, checker: &Checker<'t>) -> Checked<()> {
        stack::check();
        let safe = |condition: Option<Ref<'t, Node>>| {
            let flat = condition.map(|condition| tree::flatten_joins(self.query, condition));
            checker.safe_if(flat)
        };
        if let Some(join) = node.cast::<JoinExpr>() {
            for side in [join.larg(), join.rarg()].into_iter().flatten() {
                self.check_below(side, checker)?;
            }
            join.set_quals(safe(join.quals())?);
        } else if let Some(from) = node.cast::<FromExpr>() {
            for part in from.fromlist() {
                self.check_below(part, checker)?;
            }
            from.set_quals(safe(from.quals())?);
        }
        Ok(())
    }

    /// Puts keys, and the columns that the query computes with, into one form: of values that are equal and look
    /// different, which one a sort or a group has would depend on all of its rows.
    pub fn put_in_one_form(&self) {
        let query = self.query;
        canonical_keys::put_keys_in_one_form(query);
        let change = |node: Ref<'t, Node>| self.in_one_form(node, 0);
        query.set_targetList(List::of_tree(query.targetList().node().map(change)));
        query.set_havingQual(query.havingQual().map(change));
    }

    /// An expression that many queries below this one, with the columns of this one in one form. Of its own columns each
    /// query sees to that itself.
    fn in_one_form(&self, node: Ref<'t, Node>, level: u32) -> Ref<'t, Node> {
        stack::check();
        tree::change(node, &mut |inner| {
            if inner.cast::<Query>().is_some() {
                return (inner != node).then(|| match Defence::Form.stands() {
                    true => self.in_one_form(inner, level + 1),
                    false => inner,
                });
            }
            let column = inner.cast::<pg_sys::Var>()?;
            let place = (column.varno(), column.varattno());
            // Who a row is about is compared, and not looked at.
            let is_own = column.varlevelsup() == level && place.1 > 0 && !self.is_person(place);
            is_own.then(|| {
                let own = column.copy();
                own.set_varlevelsup(0);
                let formed = canonical_keys::one_form(self.query, own.node());
                // SAFETY: an expression that nobody else has, of a copy.
                unsafe { pg_sys::IncrementVarSublevelsUp(formed.pointer(), level as i32, 0) };
                formed
            })
        })
    }

    /// Whether equal values of a private column are the same bytes.
    pub fn has_one_form(&self, (entry, column): Column) -> bool {
        let Some(value) = tree::column(self.query, entry, column) else {
            return false;
        };
        let (kind, modifier) = tree::base_type(tree::type_of(value), tree::modifier_of(value));
        let source = self.sources.get(&entry);
        canonical_keys::has_one_form(kind, tree::collation_of(value))
            || source.is_some_and(|source| source.has_one_form(column, modifier >= 0))
    }

    /// That equal values of the columns that name the person are the same bytes. Where rows are grouped or compared by
    /// these, one of several would be left, by the rows of others.
    pub fn check_form_of_persons(&self) -> Checked<()> {
        let mut persons = self.persons.iter();
        match persons.all(|person| self.has_one_form(*person)) || !Defence::Form.stands() {
            true => Ok(()),
            false => Err(Reason::with_hint(
                "equal values of the unit column may look different, as the numbers 1 and 1.00",
                "Ask without GROUP BY, DISTINCT, windows, UNION and sub-queries in expressions. The owner of the table \
                 can give that column another type, as integer, text or numeric(20, 0).",
            )),
        }
    }

    /// Has the public tables and sub-queries of FROM read before the first private row, in WITHs of the block.
    pub fn lift_inputs(&self) {
        if !Defence::Inputs.stands() {
            return;
        }
        let mut lifted = self.shared.lifted.borrow_mut();
        inputs::lift(
            self.query,
            &self.inputs,
            &self.answers,
            self.shared.level,
            &mut lifted,
        );
    }
}
