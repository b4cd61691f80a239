//! Which functions may run on private rows: those that are total. A function is total if nothing but its answer
//! depends on its arguments: it raises no error, gives no notice, does nothing else. So it does not matter either
//! which rows it is called for, in which order, and whether at all.

use pgrx::pg_sys::{self, List, Node, Oid};

use crate::pg::nodes::{Fixed, elements, fixed};
use crate::pg::procedure;
use crate::pg::sql_type;
use crate::pg::varlena::text_bytes;
use crate::safe_functions::allowlist::{self, Growth, Rule};
use crate::safe_functions::defence::Defence;
use crate::safe_functions::work::{self, LONGEST, Pattern};
use crate::safe_functions::zones;

/// What may be done with a call of a function on private rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It may be called as it is.
    Total,
    /// It raises an error for some arguments: to be replaced by its [`variant`](super::variant::variant).
    Partial,
    /// It may not be called; the reason, for a message.
    Refused(String),
}

/// A pattern of LIKE with more `%` might make it recurse more deeply than the server allows, on some rows.
const MOST_WILDCARDS: usize = 100;

/// A longer text behind a `%` might be compared with a text at each of its places.
const LONGEST_SOUGHT: usize = 32;

/// Judges a call of a function, or of the function of an operator.
///
/// # Safety
/// `arguments` are the call's expressions, with constants folded, of a tree that lives.
pub unsafe fn judge(function: Oid, arguments: *mut List) -> Judgement {
    if !procedure::is_pinned(function) {
        return refused(function, "is not one of PostgreSQL's own");
    }
    if procedure::is_volatile(function) {
        return refused(function, "is volatile");
    }
    // SAFETY: the caller guarantees it.
    let mut arguments = unsafe { elements::<Node>(arguments) };
    // SAFETY: the same.
    let mut fixed_argument = || arguments.next().map(|argument| unsafe { fixed(argument) });
    match allowlist::rule(function.to_u32()) {
        Some(Rule::Total) => Judgement::Total,
        Some(Rule::Like) => {
            let (_text, pattern) = (fixed_argument(), fixed_argument());
            match pattern {
                // SAFETY: the same.
                Some(pattern) if unsafe { is_good_pattern(&pattern) } => Judgement::Total,
                _ => Judgement::Partial,
            }
        }
        Some(Rule::Length(growth)) => {
            let (_text, length, explicit) = (fixed_argument(), fixed_argument(), fixed_argument());
            match (length, explicit) {
                (
                    Some(Fixed::Constant(_, Some(length))),
                    Some(Fixed::Constant(_, Some(explicit))),
                ) if explicit.value() != 0 && is_declarable(growth, length.value() as i32) => {
                    Judgement::Total
                }
                _ => Judgement::Partial,
            }
        }
        Some(Rule::Native(_) | Rule::Caught(_)) => Judgement::Partial,
        Some(Rule::Pattern(_)) => {
            let _text = fixed_argument();
            while let Some(argument) = fixed_argument() {
                if matches!(argument, Fixed::No) {
                    return refused(function, "needs a pattern that is constant");
                }
            }
            Judgement::Partial
        }
        Some(Rule::Refused(reason)) => refused(function, reason),
        None if procedure::is_leakproof(function) => Judgement::Total,
        None => refused(
            function,
            "is not in the list of functions allowed on private rows",
        ),
    }
}

/// Why a call would tell of its rows by what it leaves in caches of the session, for a message: it names a time zone
/// for each row.
///
/// # Safety
/// As of [`judge`].
pub unsafe fn moving_zone(function: Oid, arguments: *mut List) -> Option<String> {
    let place = zones::zone_of(function.to_u32()).filter(|_| Defence::Caches.stands())?;
    // SAFETY: the caller guarantees it.
    let zone = unsafe { fixed(elements::<Node>(arguments).nth(place)?) };
    let name = procedure::name(function);
    matches!(zone, Fixed::No).then(|| format!("function {name} needs a time zone that is constant"))
}

/// Why the time of a regular expression can grow without bound with the text, for a message.
///
/// # Safety
/// As of [`judge`].
pub unsafe fn slow_pattern(function: Oid, arguments: *mut List) -> Option<String> {
    let Some(Rule::Pattern(_)) = allowlist::rule(function.to_u32()) else {
        return None;
    };
    if !Defence::Work.stands() {
        return None;
    }
    // SAFETY: the caller guarantees it; the second argument of these functions is a text.
    let fault = unsafe {
        let pattern = elements::<Node>(arguments).nth(1)?;
        let Fixed::Constant(pg_sys::TEXTOID, Some(pattern)) = fixed(pattern) else {
            return None;
        };
        Pattern::read(&text_bytes(pattern)).fault(work::of(function.to_u32()))?
    };
    Some(format!("function {} {fault}", procedure::name(function)))
}

fn refused(function: Oid, reason: &str) -> Judgement {
    Judgement::Refused(format!("function {} {reason}", procedure::name(function)))
}

/// Whether LIKE raises nothing for this pattern, and is quick: its escape character escapes something, it has few
/// wildcards, and no long text behind one.
///
/// # Safety
/// The constant is one of a tree that lives.
unsafe fn is_good_pattern(pattern: &Fixed) -> bool {
    let Fixed::Constant(pg_sys::TEXTOID, Some(pattern)) = *pattern else {
        return false;
    };
    // SAFETY: a text, by its type.
    let pattern = unsafe { text_bytes(pattern) };
    let escapes = pattern.iter().rev().take_while(|byte| **byte == b'\\');
    let wildcards = pattern.iter().filter(|byte| **byte == b'%');
    // A % that is escaped ends none of them.
    let is_escaped = pattern.contains(&b'\\');
    let mut sought = pattern.split(|byte| *byte == b'%' && !is_escaped);
    if !is_escaped {
        sought.next();
    }
    escapes.count() % 2 == 0
        && wildcards.count() <= MOST_WILDCARDS
        && (sought.all(|sought| sought.len() <= LONGEST_SOUGHT) || !Defence::Work.stands())
}

/// Whether a column can have this length of characters: what PostgreSQL keeps of a `varchar(n)` is n + 4, and n is at
/// most 10485760. Below 4 it represents any length. A `char(n)` is filled up to n.
fn is_declarable(growth: Growth, modifier: i32) -> bool {
    let most = match growth {
        Growth::Blank if Defence::Work.stands() => (LONGEST / 4) as i32,
        _ => 10_485_760,
    };
    modifier <= most + 4
}

/// Whether a call may have this input collation: it raises no error when a row is reached. An indeterminate collation
/// always does; LIKE, `strpos` and others do so with a nondeterministic one before PostgreSQL 18.
///
/// # Safety
/// `arguments` are the call's expressions, of a tree that lives.
pub unsafe fn collation_ok(input_collation: Oid, arguments: *mut List) -> Result<(), String> {
    if input_collation != pg_sys::InvalidOid {
        return if procedure::is_deterministic(input_collation) {
            Ok(())
        } else {
            Err("text with a nondeterministic collation cannot be used".into())
        };
    }
    // SAFETY: the caller guarantees it.
    let mut types = unsafe { elements::<Node>(arguments).map(|node| pg_sys::exprType(node)) };
    if types.any(procedure::is_collatable) {
        return Err("could not determine which collation to use for text comparison".into());
    }
    Ok(())
}

/// Whether every value of a type can be made a text (`CoerceViaIO` to `text` or `varchar`) without an error.
pub fn output_ok(kind: Oid) -> bool {
    let others = [
        pg_sys::BOOLOID,
        pg_sys::DATEOID,
        pg_sys::TIMEOID,
        pg_sys::TIMETZOID,
        pg_sys::TIMESTAMPOID,
        pg_sys::TIMESTAMPTZOID,
        pg_sys::INTERVALOID,
        pg_sys::UUIDOID,
        pg_sys::NAMEOID,
    ];
    sql_type::is_number(kind) || others.contains(&kind)
}
