//! Policies: what the owner of a protected table allows. They are read from the labels, and kept until the table
//! or a label of it changes.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use dp_core::privacy::periods::Periods;
use dp_core::privacy::spending::Limit;
use dp_sealing::token::Digest;
use pgrx::PgRelation;
use pgrx::pg_sys::{self, Datum, Oid, TransactionId};

use crate::gate::expressions::{self, Declared};
use crate::gate::label::{self, ColumnLabel, TableLabel};
use crate::gate::moments;
use crate::gate::rejection::{Checked, Reason};
use crate::ledger::budgets::{self, Name};
use crate::pg::nodes;
use crate::pg::procedure;
use crate::pg::relation;
use crate::pg::tree::text_of;

/// What holds for a protected table.
pub struct Policy {
    pub relation: Oid,
    pub owner: Oid,
    /// The column that names the person, or refers to a row that is about them.
    pub unit: i16,
    /// What it refers to, if it does.
    pub reference: Option<Reference>,
    /// The transaction since which no two rows have the same person; `None` where several may.
    pub one_row_each: Option<TransactionId>,
    pub label: TableLabel,
    /// The column that says in which period a row is, where a person's rows of one period are the privacy unit.
    pub period: Option<Period>,
    columns: BTreeMap<i16, Column>,
    /// Expressions over them that have public bounds.
    pub expressions: Vec<Declared>,
    /// Of all of it: another policy has another one.
    pub digest: [u8; 32],
    /// Those of other tables that are read with it.
    pub others: Vec<Rc<Policy>>,
}

/// The column that says in which period a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    pub column: i16,
    /// Its type: `date`, `timestamp` or `timestamptz`.
    pub kind: Oid,
    pub periods: Periods,
}

/// The types of columns that say it.
pub const PERIOD_KINDS: [Oid; 3] = [
    pg_sys::DATEOID,
    pg_sys::TIMESTAMPOID,
    pg_sys::TIMESTAMPTZOID,
];

/// What a column refers to: a row of another protected table, which names the person, or refers to one itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub relation: Oid,
    /// The column that says which row it is.
    pub key: i16,
    /// The transaction since which no two rows have the same.
    pub since: TransactionId,
    /// Whether that column names the person, so that the value alone says who it is. Where row-level security may hide the
    /// other row, it does not.
    pub names_person: bool,
}

/// A column.
struct Column {
    name: String,
    kind: Oid,
    not_null: bool,
    label: Option<ColumnLabel>,
}

/// What was read, at which number of changes.
type KnownPolicies = (u64, HashMap<Oid, Option<Rc<Policy>>>);

thread_local! {
    static KEPT: RefCell<KnownPolicies> = RefCell::default();
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

/// The most tables that are kept: a session that looks at more of them begins again.
const MOST_KEPT: usize = 1000;

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn changed(_context: Datum, _relation: Oid) {
    CHANGES.set(CHANGES.get().wrapping_add(1));
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn roles_changed(_context: Datum, _cache: i32, _hash: u32) {
    // SAFETY: it marks plans as to be made again. A plan in which a table was lent is not checked again by PostgreSQL
    // where a membership ends, on all its minor versions.
    unsafe { pg_sys::ResetPlanCache() };
}

/// From now on, this process hears of tables and roles that change.
pub fn listen() {
    // SAFETY: callbacks that stay for as long as the process.
    unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(changed), Datum::null());
        for cache in [
            pg_sys::SysCacheIdentifier::AUTHMEMROLEMEM,
            pg_sys::SysCacheIdentifier::AUTHOID,
        ] {
            pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(roles_changed), Datum::null());
        }
    }
}

impl Policy {
    /// The policy of a table that the query has locked; `None` if it is not protected, or its labels are damaged: then
    /// nothing is lent.
    pub fn of(relation: Oid) -> Option<Rc<Self>> {
        let now = CHANGES.get();
        let known = KEPT.with_borrow(|(then, kept)| {
            (*then == now)
                .then(|| kept.get(&relation).cloned())
                .flatten()
        });
        if let Some(known) = known {
            return known;
        }
        let read = Self::read(relation).map(Rc::new);
        KEPT.with_borrow_mut(|(then, kept)| {
            // What changed while it was read may have changed it.
            if *then != now || kept.len() >= MOST_KEPT {
                kept.clear();
                *then = now;
            }
            if CHANGES.get() == now {
                kept.insert(relation, read.clone());
            }
        });
        read
    }

    fn read(relation: Oid) -> Option<Self> {
        let label = TableLabel::read(&label::get(relation, 0)?).ok()?;
        // SAFETY: the caller has a lock on it; it is closed where this ends.
        let table = unsafe { PgRelation::open(relation) };
        if !(table.is_table() || table.is_partitioned_table()) {
            return None;
        }
        let mut columns = BTreeMap::new();
        let is_alone = !has_children(&table);
        for attribute in table
            .tuple_desc()
            .iter()
            .filter(|attribute| !attribute.attisdropped)
        {
            let label = label::get(relation, attribute.attnum);
            let label = match label.map(|label| ColumnLabel::read(&label)) {
                None => None,
                Some(Ok(label)) => Some(label),
                Some(Err(_)) => return None,
            };
            let column = Column {
                name: attribute.name().to_owned(),
                kind: attribute.atttypid,
                not_null: attribute.attnotnull && is_alone && is_checked(&table, attribute.attnum),
                label,
            };
            columns.insert(attribute.attnum, column);
        }
        let is =
            |column: &Column, is: fn(&ColumnLabel) -> bool| column.label.as_ref().is_some_and(is);
        let is_unit = |column: &Column| is(column, |label| label.unit || label.via);
        let units: Vec<i16> = columns
            .iter()
            .filter(|(_, column)| is_unit(column))
            .map(|(number, _)| *number)
            .collect();
        let [unit] = units[..] else {
            return None;
        };
        let reference = match is(&columns[&unit], |label| label.via) {
            // Without its foreign key nothing says whose a row is.
            true => Some(reference(&table, unit)?),
            false => None,
        };
        let marked = columns
            .iter()
            .filter(|(_, column)| is(column, |label| label.period));
        let marked: Vec<(i16, Oid)> = marked
            .map(|(number, column)| (*number, column.kind))
            .collect();
        let period = match (&label.period, &marked[..]) {
            (None, []) => None,
            (Some(period), [(column, kind)]) if PERIOD_KINDS.contains(kind) => Some(Period {
                column: *column,
                kind: *kind,
                periods: period.read().ok()?,
            }),
            // Without its column nothing says in which period a row is.
            _ => return None,
        };
        // SAFETY: an open relation has its row of pg_class.
        let owner = unsafe { (*table.rd_rel).relowner };
        let one_row_each = unique_since(&table, unit).filter(|_| reference.is_none());
        let all = columns_of(&table);
        let expressions = label.expressions.iter();
        let expressions = expressions.filter_map(|one| Declared::read(&all, &one.sql, one.bounds));
        let expressions = expressions.collect();
        let digest = digest(
            [relation, owner],
            one_row_each.is_some(),
            reference,
            &label,
            &columns,
        );
        Some(Self {
            relation,
            owner,
            unit,
            reference,
            one_row_each,
            label,
            period,
            expressions,
            columns,
            digest,
            others: Vec::new(),
        })
    }

    /// The policy of tables that are read together: the limits of the strictest, and the most rows and groups.
    pub fn together(first: &Rc<Self>, others: &[Rc<Self>]) -> Checked<Rc<Self>> {
        let mut all: Vec<Rc<Self>> = Vec::new();
        for policy in others {
            let is_known = |known: &Rc<Self>| known.relation == policy.relation;
            if policy.relation == first.relation || all.iter().any(is_known) {
                continue;
            }
            if first.period.is_some() || policy.period.is_some() {
                return Err(not_by_period());
            }
            if (policy.owner, &policy.label.budget) != (first.owner, &first.label.budget) {
                return Err(Reason::with_hint(
                    format!(
                        "{} and {} are not of one owner and one budget",
                        quoted_name(first.relation),
                        quoted_name(policy.relation)
                    ),
                    "Tables about the same people that are asked together are protected with the same budget.",
                ));
            }
            all.push(policy.clone());
        }
        if all.is_empty() {
            return Ok(first.clone());
        }
        let label = all
            .iter()
            .fold(first.label.clone(), |label, other| label.with(&other.label));
        let mut digest = Digest::default();
        digest.add(&first.digest);
        for policy in &all {
            digest.add(&policy.digest);
        }
        Ok(Rc::new(Self {
            relation: first.relation,
            owner: first.owner,
            unit: first.unit,
            reference: first.reference,
            one_row_each: first.one_row_each,
            label,
            period: None,
            columns: BTreeMap::new(),
            expressions: Vec::new(),
            digest: digest.finish(),
            others: all,
        }))
    }

    /// As above, of tables as they are now; `None` if one is no longer protected.
    pub fn of_all(relation: Oid, others: &[Oid]) -> Option<Checked<Rc<Self>>> {
        let first = Self::of(relation)?;
        let others: Option<Vec<_>> = others.iter().map(|other| Self::of(*other)).collect();
        Some(Self::together(&first, &others?))
    }

    /// That of one of the tables.
    pub fn of_table(&self, relation: Oid) -> Option<&Self> {
        if relation == self.relation {
            return Some(self);
        }
        let others = self.others.iter().map(Rc::as_ref);
        others.into_iter().find(|other| other.relation == relation)
    }

    /// The transactions since which no two rows of a table have the same person, or the same key that others refer to,
    /// where that is so.
    pub fn indexes(&self) -> impl Iterator<Item = TransactionId> {
        let all = std::iter::once(self).chain(self.others.iter().map(Rc::as_ref));
        all.flat_map(|policy| {
            let reference = policy.reference.map(|reference| reference.since);
            policy.one_row_each.into_iter().chain(reference)
        })
    }

    /// Whether the table has a column of this number: one may have been dropped.
    pub fn has_column(&self, column: i16) -> bool {
        self.columns.contains_key(&column)
    }

    /// The table that its rows refer to, where that one alone says who they are about.
    pub fn refers_to_person(&self) -> Option<Oid> {
        let reference = self.reference.filter(|reference| reference.names_person);
        reference.map(|reference| reference.relation)
    }

    /// Whether its own column names the person.
    pub fn names_person(&self) -> bool {
        self.reference
            .is_none_or(|reference| reference.names_person)
    }

    /// The public bounds of a column; of one of dates in days since 2000.
    pub fn bounds(&self, column: i16) -> Option<(f64, f64)> {
        let known = self.columns.get(&column)?;
        if known.kind == pg_sys::DATEOID {
            let (first, last) = self.ends(column)?;
            return Some((moments::day(first) as f64, moments::day(last) as f64));
        }
        known.label.as_ref()?.bounds
    }

    /// The first and the last of a column's days or times, where they are public and it has some.
    pub fn ends(&self, column: i16) -> Option<(i64, i64)> {
        let column = self.columns.get(&column)?;
        let is_moment = PERIOD_KINDS.contains(&column.kind);
        column.label.as_ref().filter(|_| is_moment)?.ends()
    }

    /// The public list of a column's values.
    pub fn values(&self, column: i16) -> Option<&[String]> {
        let label = self.columns.get(&column)?.label.as_ref()?;
        label.values.as_deref()
    }

    /// Whether a column is declared NOT NULL.
    pub fn is_not_null(&self, column: i16) -> bool {
        self.columns
            .get(&column)
            .is_some_and(|column| column.not_null)
    }

    /// The limit of the budget that pays, and that of a role in it; `None` if it is closed, or not there.
    pub fn limits(&self, role: Oid) -> Checked<Option<(Limit, Option<Limit>)>> {
        let budget = Name::new(Some(self.label.budget.clone().into_bytes()));
        let budget = budget.map_err(|error| error.to_string())?;
        let limits = budgets::limits(&budget, role);
        Ok(limits.map_err(|refusal| refusal.message().to_owned())?)
    }

    /// The limit of the budget that pays.
    pub fn limit(&self) -> Checked<Option<Limit>> {
        Ok(self.limits(Oid::INVALID)?.map(|(limit, _)| limit))
    }

    /// The delta of a choice of groups; `None` if the budget has none.
    pub fn keep_delta(&self) -> Checked<Option<f64>> {
        if self.label.delta.is_some() {
            return Ok(self.label.delta);
        }
        let limit = self.limit()?.filter(|limit| limit.delta > 0);
        Ok(limit.map(|limit| limit.asked.1 / 1000.0))
    }

    /// A query that this table answers.
    pub fn example(&self) -> String {
        let table = quoted_name(self.relation);
        let name = |wanted: &dyn Fn(i16, &Column) -> bool| {
            let mut columns = self
                .columns
                .iter()
                .filter(|(number, _)| **number != self.unit);
            columns
                .find(|(number, column)| wanted(**number, column))
                .map(|(_, column)| quoted(&column.name))
        };
        let label = |column: &Column, is: fn(&ColumnLabel) -> bool| {
            let label = column.label.as_ref();
            label.is_some_and(is)
        };
        let value = name(&|_, column| label(column, |label| label.bounds.is_some()));
        let is_listed = |_: i16, column: &Column| {
            column.kind == pg_sys::BOOLOID || label(column, |label| label.values.is_some())
        };
        // Of other texts those that enough people have are shown, where the budget may choose them.
        let has_delta = matches!(self.keep_delta(), Ok(Some(_)));
        let may_choose = self.period.is_none() && has_delta;
        let is_text = |number: i16, column: &Column| {
            [pg_sys::TEXTOID, pg_sys::VARCHAROID, pg_sys::BPCHAROID].contains(&column.kind)
                && !is_unique(self.relation, number)
                && is_deterministic(self.relation, number)
        };
        let text = || name(&is_text).filter(|_| may_choose);
        let key = name(&is_listed).or_else(text);
        let average = value.map_or(String::new(), |value| format!("avg({value}), "));
        match key {
            Some(key) => format!("SELECT {key}, {average}count(*) FROM {table} GROUP BY {key}"),
            None => format!("SELECT {average}count(*) FROM {table}"),
        }
    }
}

/// The columns of a table, as expressions name them.
pub fn columns_of(table: &PgRelation) -> Vec<expressions::Column> {
    let columns = table.tuple_desc();
    let columns = columns.iter().filter(|column| !column.attisdropped);
    let columns = columns.map(|column| {
        let label = label::get(table.oid(), column.attnum);
        let label = label.and_then(|label| ColumnLabel::read(&label).ok());
        expressions::Column {
            name: label.and_then(|label| label.number).unwrap_or(0),
            number: column.attnum,
            kind: column.atttypid,
            modifier: column.atttypmod,
            collation: column.attcollation,
        }
    });
    columns.collect()
}

/// Why a table by period is asked alone.
pub fn not_by_period() -> Reason {
    Reason::with_hint(
        "a table by period is asked alone: joins with protected tables, sub-queries and windows over a person's rows \
         would put rows of several periods together",
        "Ask about the table itself, joined with public tables; an aggregate of its answers may be in an outer query.",
    )
}

/// The digest of a policy, and of what it counts on.
fn digest(
    [relation, owner]: [Oid; 2],
    one_row_each: bool,
    reference: Option<Reference>,
    label: &TableLabel,
    columns: &BTreeMap<i16, Column>,
) -> [u8; 32] {
    let mut digest = Digest::default();
    for number in [relation, owner] {
        digest.add(&number.to_u32().to_le_bytes());
    }
    digest.add(&[u8::from(one_row_each)]);
    if let Some(reference) = reference {
        digest.add(&reference.relation.to_u32().to_le_bytes());
        digest.add(&reference.key.to_le_bytes());
        digest.add(&[u8::from(reference.names_person)]);
    }
    digest.add(&serde_json::to_vec(label).expect("a label is JSON"));
    for (number, column) in columns {
        digest.add(&number.to_le_bytes());
        digest.add(&column.kind.to_u32().to_le_bytes());
        digest.add(&[u8::from(column.not_null)]);
        digest.add(&serde_json::to_vec(&column.label).expect("a label is JSON"));
    }
    digest.finish()
}

/// Whether a constraint NOT NULL of a column holds for the rows that are there: one that is NOT VALID does not.
#[cfg(feature = "pg18")]
fn is_checked(table: &PgRelation, column: i16) -> bool {
    // SAFETY: an open relation, and one of its columns, which are counted from 1.
    unsafe {
        let columns = (*(*table.as_ptr()).rd_att).compact_attrs.as_ptr();
        let column = &*columns.add(column as usize - 1);
        column.attnullability as u8 == pg_sys::ATTNULLABLE_VALID
    }
}

/// Older servers check all rows when they make one.
#[cfg(not(feature = "pg18"))]
fn is_checked(_: &PgRelation, _: i16) -> bool {
    true
}

/// Whether rows of other tables are read with those of a table, for which its constraints need not hold.
pub fn has_children(table: &PgRelation) -> bool {
    // SAFETY: an open relation has its row of pg_class.
    let has_some = unsafe { (*table.rd_rel).relhassubclass };
    has_some && !table.is_partitioned_table()
}

/// Whether no two rows of a table have the same value of a column.
pub fn is_unique(relation: Oid, column: i16) -> bool {
    if !relation::lock(relation, pg_sys::AccessShareLock) {
        return false;
    }
    // SAFETY: a table that is there, as it is locked; it is closed where this ends.
    let table = unsafe { PgRelation::open(relation) };
    unique_since(&table, column).is_some()
}

/// Whether each row of a table has a place of its own there.
pub fn has_places(relation: Oid) -> bool {
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { PgRelation::open(relation) };
    // SAFETY: an open relation has its row of pg_class.
    let kind = unsafe { (*table.rd_rel).relkind };
    kind as u8 == pg_sys::RELKIND_RELATION && !has_children(&table)
}

/// The transaction that made an index by which no value of a column is there twice, in the table and what it inherits
/// to.
fn unique_since(table: &PgRelation, column: i16) -> Option<TransactionId> {
    // SAFETY: an open relation; its indexes are listed, and their rows of the catalog read and released.
    unsafe {
        if has_children(table) {
            return None;
        }
        let indexes = pg_sys::RelationGetIndexList(table.as_ptr());
        nodes::oids(indexes).into_iter().find_map(|index| {
            let cache = pg_sys::SysCacheIdentifier::INDEXRELID as i32;
            let tuple = pg_sys::SearchSysCache1(cache, Datum::from(index));
            if tuple.is_null() {
                return None;
            }
            let form = pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_index>();
            let mut no_predicate = false;
            let attribute = pg_sys::Anum_pg_index_indpred as i16;
            pg_sys::SysCacheGetAttr(cache, tuple, attribute, &mut no_predicate);
            let is = (*form).indisunique
                && (*form).indimmediate
                && (*form).indisvalid
                && no_predicate
                && (*form).indnkeyatts == 1
                && *(*form).indkey.values.as_ptr() == column;
            let (row, frozen) = ((*tuple).t_data, pg_sys::HEAP_XMIN_FROZEN as u16);
            let since = match (*row).t_infomask & frozen == frozen {
                true => TransactionId::FROZEN,
                false => (*row).t_choice.t_heap.t_xmin,
            };
            pg_sys::ReleaseSysCache(tuple);
            is.then_some(since)
        })
    }
}

/// What a foreign key of one column says that a column refers to, where no two rows can have the same key.
pub fn reference(table: &PgRelation, column: i16) -> Option<Reference> {
    reference_by(table, column, |_| true)
}

/// As above, by a foreign key that was checked for all rows: one that is NOT VALID was not for those that were there.
pub fn valid_reference(table: &PgRelation, column: i16) -> Option<Reference> {
    reference_by(table, column, |key| is_validated(key.conoid))
}

/// Whether a constraint was checked for all rows.
fn is_validated(constraint: Oid) -> bool {
    // SAFETY: lookups in the catalog; a row of it is read and released. 2606 is pg_constraint, in all versions.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::CONSTROID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(constraint));
        if tuple.is_null() {
            return false;
        }
        let attribute = pg_sys::get_attnum(Oid::from_u32(2606), c"convalidated".as_ptr());
        let mut is_null = false;
        let value = pg_sys::SysCacheGetAttr(cache, tuple, attribute, &mut is_null);
        pg_sys::ReleaseSysCache(tuple);
        !is_null && value.value() != 0
    }
}

/// As above, by a foreign key for which `is_it` holds.
fn reference_by(
    table: &PgRelation,
    column: i16,
    is_it: impl Fn(&pg_sys::ForeignKeyCacheInfo) -> bool,
) -> Option<Reference> {
    // SAFETY: an open relation, whose foreign keys are listed.
    let keys = unsafe {
        let keys = pg_sys::RelationGetFKeyList(table.as_ptr());
        nodes::elements::<pg_sys::ForeignKeyCacheInfo>(keys)
    };
    keys.filter_map(|key| {
        // SAFETY: an element of that list.
        let key = unsafe { &*key };
        let is_of_column = key.nkeys == 1 && key.conkey[0] == column;
        (is_of_column && is_it(key)).then_some((key.confrelid, key.confkey[0]))
    })
    .find_map(|(relation, key)| {
        // SAFETY: a table that a foreign key refers to cannot be dropped; the lock is kept until the transaction ends.
        let other = unsafe {
            pg_sys::LockRelationOid(relation, pg_sys::AccessShareLock as i32);
            PgRelation::open(relation)
        };
        let since = unique_since(&other, key)?;
        Some(Reference {
            relation,
            key,
            since,
            names_person: names_person(&other, key, kind_of(table, column)),
        })
    })
}

/// Whether texts of a column that are equal are the same bytes.
fn is_deterministic(relation: Oid, column: i16) -> bool {
    // SAFETY: a table that was locked when its indexes were looked at; it is closed where this ends.
    let table = unsafe { PgRelation::open(relation) };
    let collation = kind_of(&table, column).map(|(_, collation)| collation);
    collation.is_some_and(procedure::is_deterministic)
}

/// The type of a column, and its collation.
pub fn kind_of(table: &PgRelation, column: i16) -> Option<(Oid, Oid)> {
    let columns = table.tuple_desc();
    let mut columns = columns.iter();
    let column = columns.find(|attribute| attribute.attnum == column)?;
    Some((column.atttypid, column.attcollation))
}

/// Whether values of a type that refer to a column of a protected table are names of persons as that table has them.
fn names_person(table: &PgRelation, column: i16, kind: Option<(Oid, Oid)>) -> bool {
    let label = label::get(table.oid(), column).map(|label| ColumnLabel::read(&label));
    let is_unit = matches!(label, Some(Ok(label)) if label.unit);
    // SAFETY: an open relation has its row of pg_class.
    let hides_rows = unsafe { (*table.rd_rel).relrowsecurity };
    is_unit && !hides_rows && kind.is_some() && kind == kind_of(table, column)
}

/// A name as SQL writes it.
pub fn quoted(name: &str) -> String {
    pgrx::spi::quote_identifier(name)
}

/// The name of a table with its schema.
pub fn full_name(relation: Oid) -> String {
    // SAFETY: lookups in the catalog, of a table that is locked.
    let (name, schema) = unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(relation));
        (text_of(pg_sys::get_rel_name(relation)), text_of(schema))
    };
    format!("{}.{}", quoted(&schema), quoted(&name))
}

/// The name of a table with its schema where the search path does not find it.
pub fn quoted_name(relation: Oid) -> String {
    // SAFETY: lookups in the catalog; NULL for a table that is gone.
    let (name, schema) = unsafe {
        let name = text_of(pg_sys::get_rel_name(relation));
        let schema = match pg_sys::RelationIsVisible(relation) {
            true => String::new(),
            false => text_of(pg_sys::get_namespace_name(pg_sys::get_rel_namespace(
                relation,
            ))),
        };
        (quoted(&name), schema)
    };
    match schema.is_empty() {
        true => name,
        false => format!("{}.{name}", quoted(&schema)),
    }
}
