//! Rows of the ledger's transactional tables: budgets, and the limits that were promised. They are read as they
//! are now, whatever snapshot the caller's transaction has.

use std::ptr::NonNull;
use std::thread;

use pgrx::pg_sys::{self, Datum, Oid};

use crate::ledger::tables::{Shape, Table};
use crate::pg::varlena::text_bytes;

#[cfg(feature = "pg_test")]
pub mod tests;

/// A row that was read: its values, while the scan stands on it.
pub struct Row<'a> {
    values: &'a [Datum],
    /// Whether this transaction made it, which may still end in a ROLLBACK.
    pub uncommitted: bool,
    /// Where it lies.
    place: pg_sys::ItemPointerData,
}

impl Row<'_> {
    pub fn integer(&self, i: usize) -> i64 {
        self.values[i].value() as i64
    }

    pub fn float(&self, i: usize) -> f64 {
        f64::from_bits(self.values[i].value() as u64)
    }

    pub fn boolean(&self, i: usize) -> bool {
        self.values[i].value() & 0xff != 0
    }

    pub fn oid(&self, i: usize) -> Oid {
        Oid::from_u32(self.values[i].value() as u32)
    }

    /// A day, as PostgreSQL numbers them.
    pub fn day(&self, i: usize) -> i32 {
        self.values[i].value() as i32
    }

    /// The text of a column that is declared so.
    pub fn text(&self, i: usize) -> Vec<u8> {
        // SAFETY: `Table::open` has checked the types of the columns, and callers name a text.
        unsafe { text_bytes(self.values[i]) }
    }
}

/// A text, in the memory of the call.
pub struct Text(Datum);

impl Text {
    pub fn new(bytes: &[u8]) -> Self {
        let length = i32::try_from(bytes.len()).expect("a short text");
        // SAFETY: that many bytes are copied.
        let text = unsafe { pg_sys::cstring_to_text_with_len(bytes.as_ptr().cast(), length) };
        Self(Datum::from(text))
    }
}

/// A value of a column.
pub enum Value {
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Role(Oid),
    Relation(Oid),
    /// Microseconds, as PostgreSQL counts them.
    Time(i64),
    /// A day, as PostgreSQL numbers them.
    Day(i32),
    Text(Text),
}

impl Value {
    /// The type of the columns that it is for.
    fn kind(&self) -> Oid {
        match self {
            Self::Integer(_) => pg_sys::INT8OID,
            Self::Float(_) => pg_sys::FLOAT8OID,
            Self::Boolean(_) => pg_sys::BOOLOID,
            Self::Role(_) => pg_sys::REGROLEOID,
            Self::Relation(_) => pg_sys::REGCLASSOID,
            Self::Time(_) => pg_sys::TIMESTAMPTZOID,
            Self::Day(_) => pg_sys::DATEOID,
            Self::Text(_) => pg_sys::TEXTOID,
        }
    }

    fn datum(&self) -> Datum {
        match self {
            Self::Integer(number) | Self::Time(number) => Datum::from(*number),
            Self::Day(number) => Datum::from(*number),
            Self::Float(number) => Datum::from(number.to_bits()),
            Self::Boolean(is) => Datum::from(*is),
            Self::Role(number) | Self::Relation(number) => Datum::from(*number),
            Self::Text(text) => text.0,
        }
    }
}

/// A tuple of these values, in the memory of the call.
pub fn form(table: &Table, shape: &Shape, values: &[Value]) -> NonNull<pg_sys::HeapTupleData> {
    let kinds = values.iter().map(Value::kind);
    assert!(
        kinds.eq(shape.columns()),
        "a value for each column, of its type"
    );
    let mut nulls = vec![false; values.len()];
    let mut values: Vec<Datum> = values.iter().map(Value::datum).collect();
    // SAFETY: as many values and flags as the table has columns, of their types: `Table::open` has compared it
    // with the shape.
    let tuple = unsafe {
        let columns = (*table.relation()).rd_att;
        pg_sys::heap_form_tuple(columns, values.as_mut_ptr(), nulls.as_mut_ptr())
    };
    NonNull::new(tuple).expect("heap_form_tuple returns a tuple")
}

/// Calls `visit` for each row.
pub fn each(table: &Table, shape: &Shape, visit: impl FnMut(&Row)) {
    scan(table, shape, Oid::INVALID, &mut [], visit);
}

/// Calls `visit` for each row that has these values in the first columns of one of the table's indexes, which are said
/// in their order; without such an index it looks at all rows.
pub fn each_of<const N: usize>(
    table: &Table,
    shape: &Shape,
    values: [(usize, Value); N],
    visit: impl FnMut(&Row),
) {
    let index = table.index_on(values.each_ref().map(|(column, _)| *column));
    let mut keys = values.map(|(column, value)| {
        let (equal, collation) = match value {
            Value::Integer(_) => (pg_sys::F_INT8EQ, Oid::INVALID),
            Value::Role(_) | Value::Relation(_) => (pg_sys::F_OIDEQ, Oid::INVALID),
            Value::Text(_) => (pg_sys::F_TEXTEQ, pg_sys::DEFAULT_COLLATION_OID),
            _ => unreachable!("no index is on columns of this type"),
        };
        let mut key = pg_sys::ScanKeyData::default();
        let number = i16::try_from(column + 1).expect("few columns");
        // SAFETY: an equality of the column's type, and a value that lives as long as the call.
        unsafe {
            pg_sys::ScanKeyEntryInitialize(
                &raw mut key,
                0,
                number,
                pg_sys::BTEqualStrategyNumber as u16,
                Oid::INVALID,
                collation,
                Oid::from_u32(equal),
                value.datum(),
            );
        }
        key
    });
    scan(table, shape, index.unwrap_or_default(), &mut keys, visit);
}

/// Calls `visit` for each row that the keys find.
fn scan(
    table: &Table,
    shape: &Shape,
    index: Oid,
    keys: &mut [pg_sys::ScanKeyData],
    mut visit: impl FnMut(&Row),
) {
    let mut values = vec![Datum::null(); shape.width()];
    let mut nulls = vec![true; shape.width()];
    // SAFETY: an open table with that many columns, none of them NULL; a scan of all of it, or by an index of it that
    // has the columns of the keys first, in PostgreSQL's constant snapshot.
    unsafe {
        let snapshot = &raw mut pg_sys::SnapshotSelfData;
        let scan = pg_sys::systable_beginscan(
            table.relation(),
            index,
            index != Oid::INVALID,
            snapshot,
            i32::try_from(keys.len()).expect("few keys"),
            keys.as_mut_ptr(),
        );
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let columns = (*table.relation()).rd_att;
            pg_sys::heap_deform_tuple(tuple, columns, values.as_mut_ptr(), nulls.as_mut_ptr());
            assert!(!nulls.contains(&true), "a column of the ledger is NULL");
            visit(&Row {
                values: &values,
                uncommitted: is_uncommitted((*tuple).t_data),
                place: (*tuple).t_self,
            });
        }
        if !thread::panicking() {
            pg_sys::systable_endscan(scan);
        }
    }
}

/// Whether this transaction made a tuple, which may still end in a ROLLBACK.
///
/// # Safety
/// A tuple of a page that is pinned.
pub unsafe fn is_uncommitted(header: pg_sys::HeapTupleHeader) -> bool {
    // SAFETY: by the caller's word.
    unsafe {
        let frozen = pg_sys::HEAP_XMIN_FROZEN as u16;
        (*header).t_infomask & frozen != frozen
            && pg_sys::TransactionIdIsCurrentTransactionId((*header).t_choice.t_heap.t_xmin)
    }
}

/// Adds a row, as a part of the transaction.
pub fn insert(table: &Table, shape: &Shape, values: &[Value]) {
    let tuple = form(table, shape, values);
    // SAFETY: a tuple of this open table.
    unsafe {
        pg_sys::CatalogTupleInsert(table.relation(), tuple.as_ptr());
        pg_sys::CommandCounterIncrement();
    }
}

/// Takes out the rows that are not wanted, as a part of the transaction. Nobody else takes out rows, or changes them:
/// the lock is [`Lock::Alone`](super::tables::Lock), or [`Lock::Take`](super::tables::Lock) where rows are only added.
pub fn delete(table: &Table, shape: &Shape, mut unwanted: impl FnMut(&Row) -> bool) {
    let mut places = Vec::new();
    each(table, shape, |row| {
        if unwanted(row) {
            places.push(row.place);
        }
    });
    for mut place in places {
        // SAFETY: a row of this open table that is there, which nobody else can have changed.
        unsafe { pg_sys::simple_heap_delete(table.relation(), &mut place) };
    }
    // SAFETY: within a transaction, as all calls from SQL are.
    unsafe { pg_sys::CommandCounterIncrement() };
}
