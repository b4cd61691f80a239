//! Why a query over private rows has no answer by its FROM.

use pgrx::pg_sys::Oid;

use crate::gate::policy::quoted_name;
use crate::gate::rejection::Reason;

pub fn not_readable(relation: Oid) -> Reason {
    Reason::with_hint(
        format!(
            "it is joined with {}, which you may not read",
            quoted_name(relation)
        ),
        "Ask the owner of that table to allow you to ask about it, by dp_allow(table, role); or join the results of two \
         queries.",
    )
}

pub fn not_joined() -> Reason {
    Reason::with_hint(
        "protected tables are joined by something else than the person, so that a row would be about two people",
        "Add the equality of the columns that name the person to ON or WHERE, as in visits.patient = patients.id. Of a \
         FULL JOIN of a and b the person is coalesce(a.patient, b.patient).",
    )
}

pub fn not_joined_in_on() -> Reason {
    Reason::with_hint(
        "FULL JOIN of private rows by something else than the person, so that a row would be about two people",
        "Add the equality of the columns that name the person to ON, as in FROM a FULL JOIN b ON a.patient = b.patient.",
    )
}

pub fn not_found() -> Reason {
    Reason::with_hint(
        "the table refers to another one that says whose its rows are, and that one is not joined",
        "Ask its owner to allow you to ask about both tables, by dp_allow(table, role).",
    )
}

pub fn nullable() -> Reason {
    "the table is on the nullable side of an outer join".into()
}

pub fn lateral() -> Reason {
    "LATERAL cannot be used".into()
}

pub fn not_public() -> Reason {
    Reason::with_hint(
        "a joined item is not a plain table",
        "Join plain tables that you may read, or join the result of the query.",
    )
}
