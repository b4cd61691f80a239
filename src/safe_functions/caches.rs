//! What functions leave in caches of the session: time zones, regular expressions, formats. Who asks sees what is there
//! by the time that a call of their own takes, long after the answer. So what is there must not tell which rows came to
//! a function, or with what: what is known of its calls is looked up before the first row, and what pushes each other
//! out is pushed out after the last.

use pgrx::pg_sys::{self, Datum, FuncExpr, Oid, Query};

use crate::pg::nodes::{Fixed, fixed};
use crate::pg::tree::{self, Ref, Step};
use crate::pg::varlena::text_bytes;
use crate::safe_functions::allowlist::{self, Rule};
use crate::safe_functions::defence::Defence;
use crate::safe_functions::null_on_error::Prepared;
use crate::safe_functions::work::{self, LONGEST, Pattern};
use crate::safe_functions::wrap;
use crate::safe_functions::zones::zone_of;

/// `timezone(text, timestamptz)`, `to_char(integer, text)`, `to_char(timestamp, text)`, and `~` of texts.
const TIMEZONE: u32 = 1159;
const TO_CHAR: u32 = 1773;
const TO_CHAR_OF_TIME: u32 = 2049;
const MATCHES: u32 = 1254;

/// How many regular expressions PostgreSQL keeps (`regexp.c`), and how many formats of either kind (`formatting.c`).
const PATTERNS: usize = 32;
const FORMATS: usize = 20;

/// Whether a function keeps formats.
fn keeps_formats(function: u32) -> bool {
    // to_char, to_number, to_timestamp, to_date
    matches!(
        function,
        1768 | 1770 | 1772..=1776 | 2049 | 1777 | 1778 | 1780
    )
}

/// What is known of the calls of a query that fill these caches.
#[derive(Default)]
pub struct Calls {
    /// Functions, their collations and all of their arguments; the first may be any.
    known: Vec<(u32, Oid, Vec<Datum>)>,
    has_patterns: bool,
    has_formats: bool,
}

impl Calls {
    /// Those on private rows; they live as long as the query.
    pub fn of(query: Ref<Query>) -> Self {
        let mut calls = Self::default();
        if Defence::Caches.stands() {
            tree::search(query.node(), &mut |node, _| {
                if let Some(call) = node.cast::<FuncExpr>() {
                    calls.add(call);
                }
                Step::Below
            });
        }
        calls
    }

    fn add(&mut self, call: Ref<FuncExpr>) {
        // SAFETY: an expression of a tree that lives.
        let Some((function, arguments)) = (unsafe { wrap::original(call.node().pointer()) }) else {
            return;
        };
        let function = function.to_u32();
        let value = |argument: &*mut pg_sys::Node| {
            // SAFETY: the same.
            match unsafe { fixed(*argument) } {
                Fixed::Constant(_, value) => value,
                _ => None,
            }
        };
        self.has_formats |= keeps_formats(function);
        if let Some(zone) = zone_of(function).and_then(|i| value(arguments.get(i)?)) {
            let collation = pg_sys::C_COLLATION_OID;
            self.known
                .push((TIMEZONE, collation, vec![zone, Datum::from(0i64)]));
        }
        if let Some(Rule::Pattern(_)) = allowlist::rule(function) {
            self.has_patterns = true;
            let others: Option<Vec<Datum>> = arguments.iter().skip(1).map(value).collect();
            // One that is NULL is never called.
            let Some(others) = others else { return };
            // SAFETY: the second argument of these is a text.
            let pattern = unsafe { text_bytes(others[0]) };
            let is_called = pattern.len() as u64 <= LONGEST
                && Pattern::read(&pattern).fault(work::of(function)).is_none();
            if is_called {
                // A name is of a fixed length, a text has its length in front of it; both are empty here.
                let text = match arguments.first() {
                    // SAFETY: an expression of a tree that lives.
                    Some(text) if unsafe { pg_sys::exprType(*text) } == pg_sys::NAMEOID => {
                        Datum::from(EMPTY_NAME.as_ptr())
                    }
                    _ => text_of(""),
                };
                let all = std::iter::once(text).chain(others).collect();
                self.known.push((function, call.inputcollid(), all));
            }
        }
    }

    /// Makes them before the first row. What rows leave is gone when the answer is dropped, also by an ERROR.
    pub fn make(self) -> Traces {
        let collation = pg_sys::C_COLLATION_OID;
        let mut known = self.known;
        let mut others = Vec::new();
        if self.has_formats {
            // What they look up of the locale.
            known.push((TO_CHAR, collation, vec![Datum::from(0i32), text_of("L")]));
            known.push((
                TO_CHAR_OF_TIME,
                collation,
                vec![Datum::from(0i64), text_of("TMMon")],
            ));
            for i in 0..FORMATS {
                let format = text_of(&format!("\"{i}\""));
                others.push((TO_CHAR, vec![Datum::from(0i32), format]));
                others.push((TO_CHAR_OF_TIME, vec![Datum::from(0i64), format]));
            }
        }
        if self.has_patterns {
            let pattern = |i: usize| (MATCHES, vec![text_of(""), text_of(&i.to_string())]);
            others.extend((0..PATTERNS).map(pattern));
        }
        for (function, collation, arguments) in known {
            // SAFETY: arguments of the types of the function.
            unsafe { Prepared::new(Oid::from_u32(function), collation, arguments).call() };
        }
        let others = others.into_iter().map(|(function, arguments)| {
            // SAFETY: the same.
            unsafe { Prepared::new(Oid::from_u32(function), collation, arguments) }
        });
        Traces(others.collect())
    }
}

/// An empty `name`.
static EMPTY_NAME: [u8; pg_sys::NAMEDATALEN as usize] = [0; pg_sys::NAMEDATALEN as usize];

fn text_of(text: &str) -> Datum {
    // SAFETY: it copies that many bytes.
    unsafe { pg_sys::cstring_to_text_with_len(text.as_ptr().cast(), text.len() as i32).into() }
}

/// What rows may leave in the caches, until it is pushed out by as much as there is room for.
pub struct Traces(Vec<Prepared>);

impl Drop for Traces {
    fn drop(&mut self) {
        // SAFETY: two variables of this process. A cancel would end a call too early; it is looked at later.
        unsafe {
            let held_off = pg_sys::InterruptHoldoffCount;
            let pending = std::ptr::replace(&raw mut pg_sys::InterruptPending, 0);
            for other in &mut self.0 {
                pg_sys::InterruptHoldoffCount = held_off + 1;
                other.call_in_any_case();
            }
            pg_sys::InterruptHoldoffCount = held_off;
            if pending != 0 {
                pg_sys::InterruptPending = pending;
            }
        }
    }
}
