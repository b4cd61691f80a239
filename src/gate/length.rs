//! How long constants and values of joined tables may be. What functions make of rows is short; these come as they are,
//! and a row that has several of them could be longer than PostgreSQL forms, or take long to be compared.

use pgrx::pg_sys::{self, Const, Query};

use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::width;
use crate::pg::tree::{self, Ref, Step};
use crate::safe_functions::work::LONGEST;

/// The most bytes of a constant: a list of some hundred thousand numbers is looked through in tens of milliseconds.
const LONGEST_CONSTANT: u64 = 4 * LONGEST;

/// Refuses a private query whose constants are too long, with the values that its parameters have.
pub fn check(query: Ref<Query>) -> Result<(), Refusal> {
    let mut longest = 0;
    tree::search(query.node(), &mut |node, _| {
        if let Some(constant) = node.cast::<Const>() {
            longest = longest.max(length(constant));
        }
        Step::Below
    });
    let is_short = longest <= LONGEST_CONSTANT && width::has_room(query, longest);
    match is_short || !Defence::Length.stands() {
        true => Ok(()),
        false => Err(errors::too_large(
            &format!("a constant or parameter of a private query has {longest} bytes"),
            "Use a shorter one; put a long list into a temporary table, and join that.",
        )),
    }
}

/// Refuses a value of a joined table that is too long.
pub fn check_input(is_short: bool) -> Result<(), Refusal> {
    match is_short || !Defence::Length.stands() {
        true => Ok(()),
        false => Err(errors::too_large(
            &format!(
                "a table that is joined with private rows has a value longer than {LONGEST} bytes"
            ),
            "Leave that column out, or shorten it in a sub-query, as in left(text, 1000).",
        )),
    }
}

fn length(constant: Ref<Const>) -> u64 {
    match constant.constlen() == -1 && !constant.constisnull() {
        // SAFETY: a value of a type that has no fixed length.
        true => unsafe { pg_sys::toast_raw_datum_size(constant.constvalue()) as u64 },
        false => 0,
    }
}
