//! `dp_mechanism`: the name of a mechanism and its parameters, checked where the query is parsed.
//!
//! A value is its own canonical text, `hourglass(gamma=0.4)`, in a varlena: so equality is that
//! of bytes, the order that of bytes (no collation: a collatable argument would keep postgres_fdw
//! from sending a call to the remote server), and new mechanisms need no new format.

use std::cmp::Ordering;

use dp_core::registry;
use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum};

use crate::pg::errors;
use crate::pg::fmgr::{Call, sql_function};

/// The text of a `dp_mechanism`.
///
/// # Safety
/// `datum` is a `dp_mechanism`.
pub unsafe fn text_of(datum: Datum) -> String {
    // SAFETY: a varlena, as the caller says; the plain copy is only read here.
    unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr());
        String::from_utf8_lossy(pgrx::varlena::varlena_to_byte_slice(varlena)).into_owned()
    }
}

/// Checks a text and makes a `dp_mechanism` of it. What is not UTF-8 names no mechanism; a copy in which it
/// is would be as long as its author wants.
fn make(text: &[u8]) -> Option<Datum> {
    match registry::parse(std::str::from_utf8(text).unwrap_or("\u{fffd}")) {
        Ok(choice) => choice.to_string().as_bytes().into_datum(),
        Err(error) => errors::mechanism_text(&error),
    }
}

fn input(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration makes argument 0 a cstring.
    make(unsafe { call.cstr(0) }.to_bytes())
}

fn output(call: Call) -> Option<Datum> {
    let text = argument(call, 0);
    let text = std::ffi::CString::new(text).expect("the input function lets no NUL through");
    // SAFETY: pstrdup copies the string into PostgreSQL's memory.
    Some(Datum::from(unsafe { pg_sys::pstrdup(text.as_ptr()) }))
}

fn receive(call: Call) -> Option<Datum> {
    let datum = call.datum(0).expect("the function is declared STRICT");
    // SAFETY: the SQL declaration makes argument 0 an internal StringInfo with the message.
    unsafe {
        let message = datum.cast_mut_ptr::<pg_sys::StringInfoData>();
        let mut length = 0;
        let rest = (*message).len - (*message).cursor;
        let text = pg_sys::pq_getmsgtext(message, rest, &mut length);
        make(std::ffi::CStr::from_ptr(text).to_bytes())
    }
}

fn send(call: Call) -> Option<Datum> {
    argument(call, 0).into_bytes().into_datum()
}

/// Argument `i`, declared `dp_mechanism` in a STRICT function.
fn argument(call: Call, i: usize) -> String {
    let datum = call.datum(i).expect("the function is declared STRICT");
    // SAFETY: by the SQL declaration.
    unsafe { text_of(datum) }
}

fn order(call: Call) -> Ordering {
    argument(call, 0)
        .as_bytes()
        .cmp(argument(call, 1).as_bytes())
}

fn compare(call: Call) -> Option<Datum> {
    (order(call) as i32).into_datum()
}

sql_function!(dp_mechanism_in, input);
sql_function!(dp_mechanism_out, output);
sql_function!(dp_mechanism_recv, receive);
sql_function!(dp_mechanism_send, send);
sql_function!(dp_mechanism_cmp, compare);

/// The six comparison operators.
macro_rules! comparison {
    ($($name:ident, $body:ident, $test:ident;)*) => {$(
        fn $body(call: Call) -> Option<Datum> {
            order(call).$test().into_datum()
        }
        sql_function!($name, $body);
    )*};
}

comparison! {
    dp_mechanism_lt, less, is_lt;
    dp_mechanism_le, less_or_equal, is_le;
    dp_mechanism_eq, equal, is_eq;
    dp_mechanism_ne, not_equal, is_ne;
    dp_mechanism_ge, greater_or_equal, is_ge;
    dp_mechanism_gt, greater, is_gt;
}
