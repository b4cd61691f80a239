//! Trees as texts, as PostgreSQL keeps them in views: written, and read again by the same server.

use std::ffi::{CStr, CString};

use pgrx::pg_sys::{self, Node};

use crate::pg::tree::{Memory, Ref};

/// The text of a tree, without the places that it has in the text of a query.
pub fn write(node: Ref<Node>) -> Vec<u8> {
    // SAFETY: a tree that lives; what comes back is a string in the memory of this call.
    let text = unsafe { CStr::from_ptr(pg_sys::nodeToString(node.pointer().cast())) };
    without_places(text.to_bytes())
}

/// The tree of a text that [`write`] made in this server.
pub fn read<'t>(_: Memory<'t>, text: &[u8]) -> Option<Ref<'t, Node>> {
    let text = CString::new(text).ok()?;
    // SAFETY: a text of a tree, which is copied into the memory of this call.
    unsafe { Ref::of(pg_sys::stringToNode(text.as_ptr().cast_mut()).cast()) }
}

/// The fields that say where in its text a query has something.
const PLACES: [&[u8]; 3] = [b" :location ", b" :stmt_location ", b" :stmt_len "];

/// The text with -1 for each place. Strings inside of a tree are written without plain spaces, so that none of them
/// looks like a field.
fn without_places(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.windows(2).position(|two| two == b" :") {
        let (before, field) = rest.split_at(at);
        kept.extend_from_slice(before);
        let length = match PLACES.iter().find(|place| field.starts_with(place)) {
            Some(place) => {
                kept.extend_from_slice(place);
                kept.extend_from_slice(b"-1");
                let number = field[place.len()..].iter();
                let is_digit = |byte: &&u8| **byte == b'-' || byte.is_ascii_digit();
                place.len() + number.take_while(is_digit).count()
            }
            None => {
                kept.extend_from_slice(&field[..2]);
                2
            }
        };
        rest = &field[length..];
    }
    kept.extend_from_slice(rest);
    kept
}
