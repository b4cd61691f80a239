//! The settings of the extension.

use std::ffi::{CStr, CString};
use std::time::Duration;

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

/// The most rows and groups that a person counts for in a query; 0 is what its owner says.
static ROWS: GucSetting<i32> = GucSetting::<i32>::new(0);
static GROUPS: GucSetting<i32> = GucSetting::<i32>::new(0);

/// For how many rows a person counts in a group, if the session says it.
pub fn rows() -> Option<u32> {
    u32::try_from(ROWS.get()).ok().filter(|rows| *rows > 0)
}

/// In how many groups a person counts, if the session says it.
pub fn groups() -> Option<u32> {
    u32::try_from(GROUPS.get())
        .ok()
        .filter(|groups| *groups > 0)
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

/// The name of the file of keys, in the directory of the database cluster, where no setting says another.
const KEY_FILE: &CStr = c"dp_mean.keys";

static STATE_KEY_FILE: GucSetting<Option<CString>> =
    GucSetting::<Option<CString>>::new(Some(KEY_FILE));

/// The file with the keys under which states travel between servers.
pub fn state_key_file() -> String {
    let path = STATE_KEY_FILE.get().unwrap_or_else(|| KEY_FILE.to_owned());
    path.to_string_lossy().into_owned()
}

static LOG_CHARGES: GucSetting<bool> = GucSetting::<bool>::new(true);

/// Whether the server's log has a line for each charge of a budget.
pub fn log_charges() -> bool {
    LOG_CHARGES.get()
}

static REUSE: GucSetting<bool> = GucSetting::<bool>::new(true);

/// Whether a question gets the answer that it had before, if that is kept.
pub fn reuses() -> bool {
    REUSE.get()
}

static ROUND: GucSetting<bool> = GucSetting::<bool>::new(true);

/// Whether private answers are shown without digits that are noise alone.
pub fn rounds() -> bool {
    ROUND.get()
}

static HINTS_IN_MESSAGES: GucSetting<bool> = GucSetting::<bool>::new(false);

/// Whether errors have their hint in the message, too.
pub fn has_hints_in_messages() -> bool {
    HINTS_IN_MESSAGES.get()
}

/// In milliseconds; 0 is off.
static ANSWER_AFTER: GucSetting<i32> = GucSetting::<i32>::new(0);

/// At which multiples of a time, after its rows began to be read, an answer is handed out; zero: as soon as it is there.
pub fn answer_after() -> Duration {
    Duration::from_millis(u64::try_from(ANSWER_AFTER.get()).unwrap_or(0))
}

#[cfg(feature = "testing")]
static CLOCK_AHEAD: GucSetting<i32> = GucSetting::<i32>::new(0);

/// How far, in microseconds, the clock is ahead by which kept answers expire.
#[cfg(feature = "testing")]
pub fn clock_ahead() -> i64 {
    i64::from(CLOCK_AHEAD.get()) * 1_000_000
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
    GucRegistry::define_int_guc(
        c"dp_mean.rows",
        c"For how many rows a person counts in a group of a query about a protected table.",
        c"At most what the owner of the table says, which 0 stands for. Fewer rows have less noise.",
        &ROWS,
        0,
        1_000_000,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"dp_mean.groups",
        c"In how many groups of a query about a protected table a person counts.",
        c"At most what the owner of the table says, which 0 stands for. Fewer groups have less noise.",
        &GROUPS,
        0,
        1000,
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
    GucRegistry::define_bool_guc(
        c"dp_mean.log_charges",
        c"Tells the server's log of each charge of a budget: the role, how much it was, and how much it is in all.",
        c"After a failover, or the restore of a backup, it says what the ledger has forgotten.",
        &LOG_CHARGES,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"dp_mean.reuse",
        c"Gives a question about a protected table the answer that it had before, while that is kept.",
        c"It costs nothing then. Off, each question is answered afresh, and charged.",
        &REUSE,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"dp_mean.round",
        c"Shows counts, sums and means about a protected table without digits that are noise alone.",
        c"They have two decimal digits beyond the standard deviation of the noise. What is kept and paid for is the same.",
        &ROUND,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"dp_mean.hints_in_messages",
        c"Puts the hint of an error of dp_mean into its message, too.",
        c"For clients that show the message alone, as many BI tools do.",
        &HINTS_IN_MESSAGES,
        GucContext::Userset,
        GucFlags::default(),
    );
    GucRegistry::define_int_guc(
        c"dp_mean.answer_after",
        c"Hands out a new answer about a protected table, or its error, at a multiple of this time.",
        c"So how long it took tells less of the rows. 0 hands it out at once.",
        &ANSWER_AFTER,
        0,
        3_600_000,
        GucContext::Suset,
        GucFlags::UNIT_MS,
    );
    #[cfg(feature = "testing")]
    GucRegistry::define_int_guc(
        c"dp_mean.test_clock_ahead",
        c"How far the clock is ahead by which kept answers expire.",
        c"Only in the build for tests.",
        &CLOCK_AHEAD,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_S,
    );
    GucRegistry::define_string_guc(
        c"dp_mean.state_key_file",
        c"The file with the keys that seal what the servers of a distributed database tell one another.",
        c"The same keys on all servers, in a file of mode 0600; its path is relative to the data directory.",
        &STATE_KEY_FILE,
        GucContext::Sighup,
        GucFlags::SUPERUSER_ONLY,
    );
    // SAFETY: a name that lives for good; the function is there from PostgreSQL 15 on.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"dp_mean".as_ptr()) };
}
