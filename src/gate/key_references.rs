//! Keys that refer to a public table by a foreign key, where the query does not join it: the keys that the table has are
//! the groups. It is read whole, whatever the private rows are, with the rights of the role that asks.

use pgrx::pg_sys::{self, Node, Oid, Var};

use crate::gate::access;
use crate::gate::canonical_keys;
use crate::gate::key_tables::MOST_ROWS;
use crate::gate::policy::{self, Policy};
use crate::gate::private_relation;
use crate::gate::private_relation::from::From;
use crate::ledger::session;
use crate::pg::relation;
use crate::pg::tree::{self, Ref};

/// The keys of a table.
#[derive(Clone)]
pub struct Keys {
    pub relation: Oid,
    /// It and its column, as SQL writes them.
    table: String,
    column: String,
    /// How many there are, about.
    pub count: usize,
    /// A value in the place of NULL.
    pub any: &'static str,
}

impl Keys {
    /// The values in FROM, as the column `k{i}`.
    pub fn set(&self, i: usize) -> String {
        let Self { table, column, .. } = self;
        format!("SELECT r.{column} AS k{i} FROM ONLY {table} r")
    }
}

/// The values of a key, if it is a column of private rows that refers to a table which the role may read.
pub fn of<'t>(from: &From<'t>, written: Ref<'t, Node>) -> Option<Keys> {
    let column = written.cast::<Var>()?;
    let is_own = column.varlevelsup() == 0 && column.varattno() > 0;
    if !is_own || !from.sources.contains_key(&column.varno()) {
        return None;
    }
    let place = (column.varno(), column.varattno());
    let (relation, number) = private_relation::column_of_table(from.query, place)?;
    let (kind, collation) = (tree::type_of(written), tree::collation_of(written));
    let any = canonical_keys::any_value(kind)?;
    if Policy::of(relation).is_none() || !canonical_keys::has_one_form(kind, collation) {
        return None;
    }
    // SAFETY: a table that the query has locked; it is closed where this ends.
    let table = unsafe { pgrx::PgRelation::open(relation) };
    let has_others = policy::has_children(&table);
    let reference = policy::valid_reference(&table, number).filter(|_| !has_others)?;
    let (referred, key) = (reference.relation, reference.key);
    if Policy::of(referred).is_some() || !access::may_read_column(referred, session::role(), key) {
        return None;
    }
    // SAFETY: a table that is locked since its key was looked up; it is closed where this ends.
    let other = unsafe { pgrx::PgRelation::open(referred) };
    // SAFETY: an open relation has its row of pg_class.
    let (is_plain, hides_rows) = unsafe {
        let form = other.rd_rel;
        let is_plain = (*form).relkind == pg_sys::RELKIND_RELATION as std::ffi::c_char;
        (is_plain, (*form).relrowsecurity)
    };
    let is_alike = policy::kind_of(&other, key) == Some((kind, collation));
    let rows = relation::estimated_rows(referred);
    if !is_plain || hides_rows || !is_alike || rows > MOST_ROWS {
        return None;
    }
    // SAFETY: a lookup in the catalog, of a column that is there.
    let column = unsafe { tree::text_of(pg_sys::get_attname(referred, key, false)) };
    Some(Keys {
        relation: referred,
        table: policy::full_name(referred),
        column: policy::quoted(&column),
        count: rows as usize,
        any,
    })
}
