//! The settings of the extension.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, pg_sys};

static ALLOW_PATHOLOGICAL: GucSetting<bool> = GucSetting::<bool>::new(false);

/// Whether mechanisms are allowed that show a row, as it is, with a small probability.
pub fn allow_pathological() -> bool {
    ALLOW_PATHOLOGICAL.get()
}

/// Tells PostgreSQL of the settings.
pub fn define() {
    GucRegistry::define_bool_guc(
        c"dp_mean.allow_pathological",
        c"Allows mechanisms of dp_mean that show a row, as it is, with probability delta.",
        c"They are name_and_shame, hybrid and fallback=raw: devices of proofs, and no protection.",
        &ALLOW_PATHOLOGICAL,
        GucContext::Suset,
        GucFlags::default(),
    );
    // SAFETY: a name that lives for good; the function is there from PostgreSQL 15 on.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"dp_mean".as_ptr()) };
}
