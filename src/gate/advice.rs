//! What the owner of a table hears when a role may ask about it: that it may do more than ask, or not even that.

use pgrx::Spi;
use pgrx::pg_sys::{self, Oid};

use crate::gate::errors;
use crate::gate::policy::{quoted, quoted_name};
use crate::ledger::session;
use crate::pg::{extension, tree};

/// Says by NOTICE how a role that was allowed to ask reads the rows all the same, and that its sessions do not load the
/// library; both as `dp_check` says.
pub fn advise(relation: Oid, role: Oid) {
    let Some((loads, reads)) = checked(relation, role) else {
        return;
    };
    let name = session::name_of(role).unwrap_or_default();
    let table = quoted_name(relation);
    if let Some(reads) = reads {
        errors::reads_rows(&name, &table, &reads);
    }
    // For those who may not see the settings of the server, their own session decides.
    if !loads.unwrap_or_else(is_preloaded_here) {
        errors::library_not_loaded(&name, &quoted(&name));
    }
}

/// What `dp_check` says of a role and a table: whether the library is loaded, and how the rows are read. `None` where the
/// current role may not call it.
fn checked(relation: Oid, role: Oid) -> Option<(Option<bool>, Option<String>)> {
    let schema = extension::schema()?;
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let schema = unsafe { tree::text_of(pg_sys::get_namespace_name(schema)) };
    let function = format!("{}.dp_check(pg_catalog.regrole)", quoted(&schema));
    Spi::connect(|client| {
        let may =
            "SELECT pg_catalog.has_function_privilege(pg_catalog.to_regprocedure($1), 'EXECUTE')";
        let row = client.select(may, Some(1), &[function.into()]).ok()?;
        if row.first().get_one::<bool>() != Ok(Some(true)) {
            return None;
        }
        let sql = format!(
            "SELECT c.loads_library, c.reads_rows_as FROM {}.dp_check($1::pg_catalog.regrole) c \
             WHERE c.relation OPERATOR(pg_catalog.=) $2::pg_catalog.regclass",
            quoted(&schema)
        );
        let arguments = [role.into(), relation.into()];
        let row = client.select(&sql, Some(1), &arguments).ok()?.first();
        row.get_two::<bool, String>().ok()
    })
}

/// Whether the server, or a session that starts as this one did, loads the library.
fn is_preloaded_here() -> bool {
    // SAFETY: strings of settings, which live while they are read.
    let lists = unsafe {
        [
            tree::text_of(pg_sys::shared_preload_libraries_string),
            tree::text_of(pg_sys::session_preload_libraries_string),
        ]
    };
    let names = lists
        .iter()
        .flat_map(|list| list.split([',', ' ', '"', '/']));
    names.into_iter().any(|name| name == "dp_mean")
}
