//! Where functions are given names of time zones. The session keeps all that were ever named, and is faster with these:
//! see [caches](super::caches).

use pgrx::pg_sys;

use crate::safe_functions::defence::Defence;

/// Which argument of a function is the name of a time zone. All that were ever named are kept.
pub fn zone_of(function: u32) -> Option<usize> {
    match function {
        // AT TIME ZONE
        1159 | 2037 | 2069 => Some(0),
        // date_trunc, date_add, date_subtract
        1284 | 6222 | 6273 => Some(2),
        // make_timestamptz
        3463 => Some(6),
        _ => None,
    }
}

/// Whether a format says that a text has a time zone's name in it, and not the hours or minutes of one. PostgreSQL 17
/// is the first that reads names there.
pub fn names_zone(format: &[u8]) -> bool {
    let mut rest = match pg_sys::PG_VERSION_NUM >= 170_000 && Defence::Caches.stands() {
        true => format,
        false => return false,
    };
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let is_named = first.eq_ignore_ascii_case(&b't')
            && rest
                .first()
                .is_some_and(|byte| byte.eq_ignore_ascii_case(&b'z'))
            && !rest.get(1).is_some_and(|byte| b"hHmM".contains(byte));
        if is_named {
            return true;
        }
    }
    false
}
