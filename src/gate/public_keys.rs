//! Keys of groups whose values are public, as the owner declares them or as the query says itself: a condition, CASE of
//! constants, parts of dates, bins. Groups of them need no choice, and are there with rows or without.

use std::collections::BTreeMap;

use pgrx::pg_sys::{self, Node};

use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::key_ranges::{self, Range};
use crate::gate::key_references::Keys;
use crate::gate::key_tables::{self, Rows};
use crate::pg::constant::{is_read_as_written, text_of};
use crate::pg::stack;
use crate::pg::tree::{self, Ref};

/// The most values of CASE.
const MOST_OF_CASE: usize = 1000;

/// How many values an enum is taken to have: its type says it when the query runs.
const OF_ENUM: usize = 100;

pub const EQUALS: &str = "OPERATOR(pg_catalog.=)";

/// The values of a key, but NULL.
#[derive(Clone)]
pub enum Values<'t> {
    /// As texts of the key's type.
    Listed(Vec<String>),
    /// Those of its type, an enum.
    Enum,
    /// Those between two ends.
    Range(Range<'t>),
    /// Those over the rows of a joined table.
    Table(Rows<'t>),
    /// Those that a foreign key may have.
    Reference(Keys),
}

/// What is public of a key.
#[derive(Clone)]
pub struct Public<'t> {
    pub values: Values<'t>,
    /// Whether NULL is a value of it, too.
    pub has_null: bool,
    /// Whether the owner has declared them.
    pub is_declared: bool,
}

impl<'t> Public<'t> {
    /// Values that the owner has declared.
    pub fn declared(values: Vec<String>) -> Self {
        Self {
            values: Values::Listed(values),
            has_null: false,
            is_declared: true,
        }
    }

    /// Of listed values those that are among these, which WHERE leaves. Truth values are all listed, and otherwise
    /// written.
    pub fn among(mut self, left: &[String]) -> Self {
        if let Values::Listed(values) = &mut self.values
            && values.iter().any(|value| left.contains(value))
        {
            values.retain(|value| left.contains(value));
        }
        self
    }

    /// Values that WHERE compares the key with; it is not NULL where it is equal to one.
    pub fn compared(values: Vec<String>) -> Self {
        Self {
            values: Values::Listed(values),
            has_null: false,
            is_declared: false,
        }
    }

    /// Values over the rows of a table.
    pub fn of_table(rows: Rows<'t>) -> Self {
        Self {
            values: Values::Table(rows),
            has_null: false,
            is_declared: false,
        }
    }

    /// Values that a foreign key may have; NULL is one of them where the key may be NULL.
    pub fn referred(keys: Keys, has_null: bool) -> Self {
        Self {
            values: Values::Reference(keys),
            has_null,
            is_declared: false,
        }
    }

    /// The table that a foreign key refers to whose values they are.
    pub fn referred_table(&self) -> Option<pg_sys::Oid> {
        match &self.values {
            Values::Reference(keys) => Some(keys.relation),
            _ => None,
        }
    }

    /// The table over whose rows the values are.
    pub fn table(&self) -> Option<&Rows<'t>> {
        match &self.values {
            Values::Table(rows) => Some(rows),
            _ => None,
        }
    }

    /// The ends of the column between which the values are.
    pub fn range(&self) -> Option<&Range<'t>> {
        match &self.values {
            Values::Range(range) => Some(range),
            _ => None,
        }
    }

    /// Values between two ends; NULL is one of them where the key is NULL of one.
    pub fn between(range: Range<'t>) -> Self {
        Self {
            values: Values::Range(range),
            has_null: false,
            is_declared: false,
        }
    }

    /// How many groups it makes.
    pub fn count(&self) -> usize {
        let values = match &self.values {
            Values::Listed(values) => values.len(),
            Values::Enum => OF_ENUM,
            Values::Range(range) => range.count(),
            Values::Table(rows) => rows.count,
            Values::Reference(keys) => keys.count,
        };
        values + usize::from(self.has_null)
    }

    /// How many groups it makes, where the query has all of them: of others it is known when it runs.
    pub fn listed(&self) -> Option<usize> {
        match &self.values {
            Values::Listed(_) => Some(self.count()),
            Values::Enum | Values::Range(_) | Values::Table(_) | Values::Reference(_) => None,
        }
    }

    /// Listed values in FROM as the column `k{i}` of type `kind`, each with the number of its place, from 1, as `n{i}`:
    /// the first one where it is written in several ways.
    pub fn numbered(&self, i: usize, kind: &str) -> String {
        let Values::Listed(values) = &self.values else {
            return String::new();
        };
        let null = match self.has_null {
            true => format!(" UNION ALL SELECT NULL::{kind}, {}", values.len() + 1),
            false => String::new(),
        };
        format!(
            "SELECT u.k AS k{i}, pg_catalog.min(u.n) AS n{i} FROM pg_catalog.unnest({}) WITH ORDINALITY AS u(k, n) \
             GROUP BY u.k{null}",
            array(values, kind)
        )
    }

    /// The condition that a key of type `kind` has the listed value with this number.
    pub fn is_value(&self, key: &str, number: usize, kind: &str) -> String {
        match &self.values {
            Values::Listed(values) if number <= values.len() => {
                let value = array(&values[number - 1..number], kind);
                format!("{key} {EQUALS} ({value})[1]")
            }
            _ => format!("{key} IS NULL"),
        }
    }

    /// The condition that a key of type `kind` has one of the values that the owner has declared: rows may have others,
    /// in groups that are not shown.
    pub fn is_declared_value(&self, key: &str, kind: &str) -> Option<String> {
        match &self.values {
            Values::Listed(values) if self.is_declared => {
                Some(format!("{key} {EQUALS} ANY ({})", array(values, kind)))
            }
            _ => None,
        }
    }

    /// The values in FROM, as the column `k{i}` of type `kind`; `parameter` is the number of an expression in it.
    pub fn set(
        &self,
        i: usize,
        kind: &str,
        parameter: &mut dyn FnMut(Ref<'t, Node>) -> usize,
    ) -> String {
        let null = match self.has_null {
            true => format!(" UNION ALL SELECT NULL::{kind}"),
            false => String::new(),
        };
        let values = match &self.values {
            Values::Range(range) => return key_ranges::list(&[(i, range)], parameter),
            Values::Table(rows) => return key_tables::list(&[(i, rows)], parameter),
            Values::Reference(keys) => return keys.set(i) + &null,
            Values::Listed(values) => format!("pg_catalog.unnest({})", array(values, kind)),
            Values::Enum => {
                format!("pg_catalog.unnest(pg_catalog.enum_range(NULL::{kind}))")
            }
        };
        // The same value may be written in several ways.
        let once = match Defence::Listed.stands() {
            true => "DISTINCT ",
            false => "",
        };
        format!("SELECT {once}{values} AS k{i}{null}")
    }

    /// The condition that two keys of type `kind` are the same.
    pub fn same(&self, one: &str, other: &str, kind: &str) -> String {
        let may_be_null =
            self.has_null || matches!(self.values, Values::Range(_) | Values::Table(_));
        if !may_be_null {
            return format!("{one} {EQUALS} {other}");
        }
        // A condition that rows can be hashed by, with a value in the place of NULL.
        let any = match &self.values {
            Values::Listed(values) => {
                format!("({})[1]", array(&values[..values.len().min(1)], kind))
            }
            Values::Enum => format!("pg_catalog.enum_first(NULL::{kind})"),
            Values::Range(Range { any, .. })
            | Values::Table(Rows { any, .. })
            | Values::Reference(Keys { any, .. }) => {
                format!("'{any}'::{kind}")
            }
        };
        format!(
            "COALESCE({one}, {any}) {EQUALS} COALESCE({other}, {any}) AND ({one} IS NULL) {EQUALS} ({other} IS NULL)"
        )
    }
}

/// How many groups keys make together; those of one table are as many as its rows, and those of one column between two
/// ends as many as the values there.
pub fn count<'a, 't: 'a>(keys: impl Iterator<Item = &'a Public<'t>>) -> usize {
    let mut sources: BTreeMap<(i32, i16), usize> = BTreeMap::new();
    let mut all = 1_usize;
    for key in keys {
        let of_table = key.table().map(|rows| (rows.table, 0));
        match of_table.or_else(|| key.range().map(|range| range.column)) {
            Some(source) => {
                let most = sources.entry(source).or_default();
                *most = key.count().max(*most);
            }
            None => all = all.saturating_mul(key.count().max(1)),
        }
    }
    let of_sources = sources.into_values();
    of_sources.fold(all, |all, count| all.saturating_mul(count.max(1)))
}

/// How many groups keys make together, where the query has all of their values.
pub fn listed<'a, 't: 'a>(mut keys: impl Iterator<Item = &'a Public<'t>>) -> Option<usize> {
    keys.try_fold(1, |all: usize, key| Some(all.saturating_mul(key.listed()?)))
}

/// An array of a type, the same whatever backslashes are in the session's plain strings.
fn array(values: &[String], kind: &str) -> String {
    let element =
        |value: &String| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let values: Vec<_> = values.iter().map(element).collect();
    let values = values.join(",").replace('\'', "''");
    let values = match values.contains('\\') {
        true => format!("E'{{{}}}'", values.replace('\\', "\\\\")),
        false => format!("'{{{values}}}'"),
    };
    format!("{values}::{kind}[]")
}

/// Whether an expression is NULL for no row.
type NeverNull<'a, 't> = &'a dyn Fn(Ref<'t, Node>) -> bool;

/// What is public of a key that nobody has declared, as the query has it, with its constants computed.
pub fn of<'t>(key: Ref<'t, Node>, is_never_null: NeverNull<'_, 't>) -> Option<Public<'t>> {
    let (kind, _) = tree::base_type(tree::type_of(key), -1);
    let has_null = !is_never_null(key);
    // SAFETY: a lookup in the catalog, which answers for any number.
    let is_enum = unsafe { pg_sys::get_typtype(kind) } as u8 == pg_sys::TYPTYPE_ENUM;
    if is_enum {
        return Some(Public {
            values: Values::Enum,
            has_null,
            is_declared: false,
        });
    }
    let mut found = Found {
        is_plain: canonical_keys::has_one_form(kind, tree::collation_of(key))
            && is_read_as_written(kind),
        ..Found::default()
    };
    // NULL alone is nothing that others could be told from.
    if !found.add(key, is_never_null) || found.values.is_empty() {
        return None;
    }
    found.values.sort();
    found.values.dedup();
    Some(Public {
        values: Values::Listed(found.values),
        has_null: found.has_null,
        is_declared: false,
    })
}

/// The values that an expression can have.
#[derive(Default)]
struct Found {
    values: Vec<String>,
    has_null: bool,
    /// Whether equal values of the key look alike, so that constants are values as they are.
    is_plain: bool,
}

/// Casts between numbers, of whole numbers.
const CASTS: [u32; 7] = [
    pg_sys::F_INT2_NUMERIC,
    pg_sys::F_INT4_NUMERIC,
    pg_sys::F_INT8_NUMERIC,
    pg_sys::F_INT2_FLOAT8,
    pg_sys::F_INT4_FLOAT8,
    pg_sys::F_INT8_FLOAT8,
    pg_sys::F_FLOAT8_NUMERIC,
];

impl Found {
    fn add_numbers(&mut self, numbers: std::ops::RangeInclusive<i32>) {
        self.values.extend(numbers.map(|number| number.to_string()));
    }

    /// Adds those of an expression; whether they are known.
    fn add<'t>(&mut self, node: Ref<'t, Node>, is_never_null: NeverNull<'_, 't>) -> bool {
        stack::check();
        if self.values.len() > MOST_OF_CASE {
            return false;
        }
        if let Some(same) = node.cast::<pg_sys::RelabelType>() {
            return same.arg().is_some_and(|arg| self.add(arg, is_never_null));
        }
        if let Some(constant) = node.cast::<pg_sys::Const>() {
            match constant.constisnull() {
                true => self.has_null = true,
                false => self.values.push(text_of(constant)),
            }
            return self.is_plain;
        }
        if let Some(case) = node.cast::<pg_sys::CaseExpr>() {
            let whens = case.args().into_iter().all(|when| {
                let when = when.cast::<pg_sys::CaseWhen>();
                let result = when.and_then(|when| when.result());
                result.is_some_and(|result| self.add(result, is_never_null))
            });
            return whens
                && match case.defresult() {
                    Some(other) => self.add(other, is_never_null),
                    None => {
                        self.has_null = true;
                        true
                    }
                };
        }
        if let Some(first) = node.cast::<pg_sys::CoalesceExpr>() {
            let args = first.args().nodes();
            let is_null_seen = self.has_null;
            let known = args.iter().all(|arg| self.add(*arg, is_never_null));
            let last = args.last();
            self.has_null = is_null_seen || !last.is_some_and(|last| is_never_null(*last));
            return known;
        }
        if tree::type_of(node) == pg_sys::BOOLOID {
            self.values.extend(["false", "true"].map(str::to_owned));
            self.has_null |= !is_never_null(node);
            return true;
        }
        let Some(call) = node.cast::<pg_sys::FuncExpr>() else {
            return false;
        };
        if CASTS.contains(&call.funcid().to_u32()) {
            let arg = call.args().into_iter().next();
            // Numbers that are listed are whole, and written alike in all types. That of a sign may be NaN, which no
            // integer is.
            let is_whole = |arg: &Ref<'t, Node>| {
                let call = arg.cast::<pg_sys::FuncExpr>();
                call.is_some_and(|call| call.funcid().to_u32() != pg_sys::F_SIGN_NUMERIC)
            };
            return arg
                .filter(is_whole)
                .is_some_and(|arg| self.add(arg, is_never_null));
        }
        let is_there = |arg: Ref<'t, Node>| is_never_null(of_date(arg).unwrap_or(arg));
        self.has_null |= !call.args().into_iter().all(is_there);
        self.add_results(call)
    }

    /// Adds the results of a function of PostgreSQL that has few.
    fn add_results(&mut self, call: Ref<pg_sys::FuncExpr>) -> bool {
        let args = call.args().nodes();
        match call.funcid().to_u32() {
            pg_sys::F_SIGN_FLOAT8 => self.add_numbers(-1..=1),
            pg_sys::F_SIGN_NUMERIC => {
                self.add_numbers(-1..=1);
                self.values.push("NaN".to_owned());
            }
            pg_sys::F_EXTRACT_TEXT_DATE
            | pg_sys::F_EXTRACT_TEXT_TIMESTAMP
            | pg_sys::F_EXTRACT_TEXT_TIMESTAMPTZ
            | pg_sys::F_DATE_PART_TEXT_DATE
            | pg_sys::F_DATE_PART_TEXT_TIMESTAMP
            | pg_sys::F_DATE_PART_TEXT_TIMESTAMPTZ => {
                let part = args.first().and_then(|part| part.cast::<pg_sys::Const>());
                let Some(part) = part.filter(|part| !part.constisnull()) else {
                    return false;
                };
                match text_of(part).to_lowercase().as_str() {
                    "month" => self.add_numbers(1..=12),
                    "quarter" => self.add_numbers(1..=4),
                    "week" => self.add_numbers(1..=53),
                    "day" => self.add_numbers(1..=31),
                    "doy" => self.add_numbers(1..=366),
                    "dow" => self.add_numbers(0..=6),
                    "isodow" => self.add_numbers(1..=7),
                    "hour" => self.add_numbers(0..=23),
                    "minute" => self.add_numbers(0..=59),
                    _ => return false,
                }
            }
            pg_sys::F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4
            | pg_sys::F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4 => {
                let count = args
                    .get(3)
                    .and_then(|count| tree::constant(*count))
                    .flatten();
                let count = count.and_then(|count| i32::try_from(count.value() as i64).ok());
                match count {
                    Some(count @ 1..=9998) => self.add_numbers(0..=count + 1),
                    _ => return false,
                }
            }
            _ => return false,
        }
        true
    }
}

/// The date that a time is made of.
fn of_date(node: Ref<Node>) -> Option<Ref<Node>> {
    let call = node.cast::<pg_sys::FuncExpr>()?;
    let casts = [pg_sys::F_TIMESTAMP_DATE, pg_sys::F_TIMESTAMPTZ_DATE];
    casts
        .contains(&call.funcid().to_u32())
        .then(|| call.args().into_iter().next())?
}
