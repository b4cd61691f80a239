//! The settings of the extension.

use pgrx::{GucContext, GucFlags, GucRegistry, GucSetting, PostgresGucEnum, pg_sys};

static ALLOW_PATHOLOGICAL: GucSetting<bool> = GucSetting::<bool>::new(false);

/// Whether mechanisms are allowed that show a row, as it is, with a small probability.
pub fn allow_pathological() -> bool {
    ALLOW_PATHOLOGICAL.get()
}

/// What an aggregate of a query about a protected table costs; 0 is what its owner says.
static EPSILON: GucSetting<f64> = GucSetting::<f64>::new(0.0);

/// What a query gets that reads the plain rows of a protected table.
#[derive(Clone, Copy, PostgresGucEnum)]
enum Previews {
    #[name = c"error"]
    Error,
    #[name = c"empty"]
    Empty,
}

static PREVIEWS: GucSetting<Previews> = GucSetting::<Previews>::new(Previews::Error);

/// What an aggregate of a query about a protected table costs, if the session says it.
pub fn epsilon() -> Option<f64> {
    Some(EPSILON.get()).filter(|epsilon| *epsilon > 0.0)
}

/// Whether a query that reads the plain rows of a protected table gets none, in the place of an error.
pub fn previews_are_empty() -> bool {
    matches!(PREVIEWS.get(), Previews::Empty)
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
    GucRegistry::define_float_guc(
        c"dp_mean.epsilon",
        c"What an aggregate of a query about a protected table costs.",
        c"At most what the owner of the table says, which 0 stands for.",
        &EPSILON,
        0.0,
        50.0,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_enum_guc(
        c"dp_mean.previews",
        c"What a query gets that reads the plain rows of a protected table: an error, or no rows.",
        c"Tools that look at a table before they ask about it need empty. LIMIT 0 never is an error.",
        &PREVIEWS,
        GucContext::Userset,
        GucFlags::default(),
    );
    // SAFETY: a name that lives for good; the function is there from PostgreSQL 15 on.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"dp_mean".as_ptr()) };
}
