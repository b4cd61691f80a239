//! `dp_declare`: what an owner says of a column or an expression, and what of it has been lost.

use std::ffi::CString;

use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::{FromDatum, IntoDatum, PgRelation};

use super::{
    column_label, column_of, done, owned_table, set_column_label, table_label, text, wrong,
};
use crate::gate::errors::{self, Refusal};
use crate::gate::label::{self, ExpressionLabel};
use crate::gate::policy::{self, PERIOD_KINDS};
use crate::gate::{expressions, moments};
use crate::ledger::session;
use crate::pg::fmgr::{Call, float8, sql_function};
use crate::pg::relation;

/// What is said of a column: the bounds of its numbers, or the first and the last of its days or times.
enum Ends {
    Numbers(f64, f64),
    Moments(i64, i64),
}

/// `dp_declare(relation, column, lo, hi)`; `read` makes an argument what a column of a type has.
fn declare_ends(
    call: Call,
    read: impl Fn(Oid, [Datum; 2]) -> Result<Ends, Refusal>,
) -> Result<(), Refusal> {
    const FUNCTION: &str = "dp_declare";
    let table = owned_table(FUNCTION, call)?;
    let name = text(FUNCTION, call, 1, "column_name")?;
    let column = column_of(FUNCTION, &table, &name);
    let kind = column.as_ref().map_or(pg_sys::FLOAT8OID, |(_, kind)| *kind);
    let ends = match [2, 3].map(|i| call.datum(i)) {
        [Some(lo), Some(hi)] => Some(read(kind, [lo, hi])?),
        [None, None] => None,
        [lo, _] => {
            let argument = if lo.is_none() { "lo" } else { "hi" };
            let hint = "Give both bounds; NULL for both takes them away.";
            return Err(wrong(FUNCTION, argument, "must not be NULL alone", hint));
        }
    };
    let (column, _) = match (column, &ends) {
        (Ok(column), _) => column,
        (Err(_), Some(Ends::Numbers(lo, hi))) => {
            return declare_expression(&table, &name, Some((*lo, *hi)));
        }
        (Err(_), None) => return declare_expression(&table, &name, None),
        (Err(refusal), _) => return Err(refusal),
    };
    let mut label = column_label(table.oid(), column);
    (label.bounds, label.moments) = match ends {
        None => (None, None),
        Some(Ends::Numbers(lo, hi)) => (Some((lo, hi)), None),
        Some(Ends::Moments(lo, hi)) => (None, Some((moments::text(lo), moments::text(hi)))),
    };
    let hint = "Write the lower bound first, as in dp_declare('person', 'age', 0, 100).";
    label
        .check()
        .map_err(|why| errors::unfit(FUNCTION, &why, hint))?;
    set_column_label(table.oid(), column, &label);
    Ok(())
}

/// Sets the bounds of an expression over a protected table's columns, or takes them away.
fn declare_expression(
    table: &PgRelation,
    text: &str,
    bounds: Option<(f64, f64)>,
) -> Result<(), Refusal> {
    const FUNCTION: &str = "dp_declare";
    let relation = table.oid();
    let unknown = || {
        let hint = "Give the name of a column, or an expression of numbers over columns of the table, as in \
                    'weight_after - weight_before', with functions that may be used on rows and always answer the same.";
        let message = "is neither a column of the table nor an expression over its columns";
        wrong(FUNCTION, "column_name", message, hint)
    };
    let named = expressions::columns_of(table, text).ok_or_else(unknown)?;
    let mut label = table_label(relation).ok_or_else(|| {
        let hint = "dp_protect(table, unit, budget) does that, before expressions have bounds.";
        wrong(FUNCTION, "relation", "is not protected", hint)
    })?;
    // Each column that it names has a number, which goes with it through renames and dumps.
    let known = policy::columns_of(table);
    // One of a column that is gone is not given again: expressions with it would be about another column.
    let gone = label.expressions.iter();
    let gone = gone.map(|known| expressions::largest_name(&known.sql));
    let names = known.iter().map(|column| column.name);
    let mut next = names.chain(gone).max().unwrap_or(0);
    let is_new = |column: &expressions::Column| column.name == 0 && named.contains(&column.number);
    for column in known.iter().filter(|column| is_new(column)) {
        next += 1;
        let mut label = column_label(relation, column.number);
        label.number = Some(next);
        set_column_label(relation, column.number, &label);
    }
    let columns = policy::columns_of(table);
    let sql = expressions::sql_of(table, &columns, text).ok_or_else(unknown)?;
    label.expressions.retain(|known| known.sql != sql);
    if let Some(bounds) = bounds {
        label.expressions.push(ExpressionLabel { sql, bounds });
    }
    let hint = "Write the lower bound first, as in dp_declare('person', 'age', 0, 100).";
    label
        .check()
        .map_err(|why| errors::unfit(FUNCTION, &why, hint))?;
    let text = serde_json::to_string(&label).expect("a label is JSON");
    label::set(relation, 0, Some(&text));
    Ok(())
}

/// Two values of a column of days or times.
fn moments_of(kind: Oid, [lo, hi]: [Datum; 2]) -> Result<Ends, Refusal> {
    let moment = |argument, value| {
        let hint = "Give a day of the years 1 to 9999.";
        moments::of_value(kind, value)
            .ok_or_else(|| wrong("dp_declare", argument, "is out of range", hint))
    };
    Ok(Ends::Moments(moment("lo", lo)?, moment("hi", hi)?))
}

/// Bounds of numbers.
fn column_bounds(call: Call) -> Option<Datum> {
    session::refuse_read_only(c"dp_declare()");
    let numbers = |_, [lo, hi]: [Datum; 2]| Ok(Ends::Numbers(float8(lo), float8(hi)));
    done(declare_ends(call, numbers))
}

sql_function!(dp_column_bounds, column_bounds);

/// Texts: days or times, of a column that has some; else numbers.
fn column_texts(call: Call) -> Option<Datum> {
    session::refuse_read_only(c"dp_declare()");
    done(declare_ends(call, |kind, texts| {
        let is_moment = PERIOD_KINDS.contains(&kind);
        let read_as = if is_moment { kind } else { pg_sys::FLOAT8OID };
        let values = texts.map(|value| {
            // SAFETY: the SQL declaration makes it a text.
            let text = unsafe { crate::pg::varlena::text_bytes(value) };
            value_of(read_as, &String::from_utf8_lossy(&text))
        });
        match is_moment {
            true => moments_of(kind, values),
            false => Ok(Ends::Numbers(float8(values[0]), float8(values[1]))),
        }
    }))
}

sql_function!(dp_column_texts, column_texts);

/// Times, of a column of days or times.
fn column_moments(call: Call) -> Option<Datum> {
    session::refuse_read_only(c"dp_declare()");
    done(declare_ends(call, |kind, values| {
        let cast: unsafe fn(pg_sys::FunctionCallInfo) -> Datum = match kind {
            pg_sys::DATEOID => pg_sys::timestamptz_date,
            pg_sys::TIMESTAMPOID => pg_sys::timestamptz_timestamp,
            pg_sys::TIMESTAMPTZOID => return moments_of(kind, values),
            _ => {
                let hint = "Give numbers, as in dp_declare('person', 'age', 0, 100).";
                let message = "is not a column of days or times";
                return Err(wrong("dp_declare", "column_name", message, hint));
            }
        };
        // SAFETY: C functions of PostgreSQL's own, with an argument of the type that they take.
        let values = values.map(|value| unsafe {
            pgrx::direct_function_call::<Datum>(cast, &[Some(value)]).unwrap_or(value)
        });
        moments_of(kind, values)
    }))
}

sql_function!(dp_column_moments, column_moments);

/// `dp_declare(relation, column, allowed_values)`
fn column_values(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_declare";
    session::refuse_read_only(c"dp_declare()");
    done((|| {
        let table = owned_table(FUNCTION, call)?;
        let (column, kind) = column_of(FUNCTION, &table, &text(FUNCTION, call, 1, "column_name")?)?;
        let mut label = column_label(table.oid(), column);
        label.values = match call.datum(2) {
            None => None,
            Some(datum) => {
                // SAFETY: the SQL declaration makes it a text[].
                let values = unsafe { Vec::<Option<String>>::from_datum(datum, false) };
                let values: Option<Vec<String>> = values.unwrap_or_default().into_iter().collect();
                let hint = "Give each value that the column may have, as text.";
                let values = values.ok_or_else(|| {
                    wrong(FUNCTION, "allowed_values", "must not contain NULL", hint)
                })?;
                for value in &values {
                    value_of(kind, value);
                }
                Some(values)
            }
        };
        let hint = "Give the values that there may be, as in dp_declare('person', 'plan', ARRAY['a', 'b']).";
        label
            .check()
            .map_err(|why| errors::unfit(FUNCTION, &why, hint))?;
        set_column_label(table.oid(), column, &label);
        Ok(())
    })())
}

sql_function!(dp_column_values, column_values);

/// Reads a value as one of a column's type; PostgreSQL's own ERROR if it is none.
fn value_of(kind: Oid, value: &str) -> Datum {
    let value = CString::new(value).unwrap_or_default();
    let (mut input, mut element) = (Oid::INVALID, Oid::INVALID);
    // SAFETY: the input function of a type is called with a string and what the catalog says of it.
    unsafe {
        pg_sys::getTypeInputInfo(kind, &raw mut input, &raw mut element);
        pg_sys::OidInputFunctionCall(input, value.as_ptr().cast_mut(), element, -1)
    }
}

/// `dp_mean.dp_lost_bounds(relation)`: the expressions with bounds that are none of a protected table any more, since a
/// column is gone or of another type; NULL, where there is none.
fn lost_bounds(call: Call) -> Option<Datum> {
    let relation = Oid::from_u32(call.datum(0)?.value() as u32);
    if !relation::lock(relation, pg_sys::AccessShareLock) {
        return None;
    }
    // SAFETY: a table that is locked.
    let table = unsafe { PgRelation::open(relation) };
    let columns = policy::columns_of(&table);
    let known = table_label(relation)?.expressions.into_iter();
    let lost = known.filter(|known| !expressions::Declared::holds(&columns, &known.sql));
    let lost = lost.map(|known| expressions::with_names(&table, &columns, &known.sql));
    let lost: Vec<String> = lost.collect();
    match lost.is_empty() {
        true => None,
        false => lost.into_datum(),
    }
}

sql_function!(dp_lost_bounds, lost_bounds);
