//! Which questions are the same: those that read the same rows by the same policy, in the same way, for the same price.
//! How things are named in them, where they stand in a text, and what only passes rows on is no difference.

use dp_sealing::token::Digest;
use pgrx::pg_sys::{self, Oid, Query, RangeTblEntry};

use crate::gate::answer::canonical;
use crate::gate::answer::question::Question;
use crate::ledger::division::Charged;
use crate::pg::execution;
use crate::pg::tree::{self, Ref, Step};
use crate::store::Key;

/// Settings that the text of a value or a date may depend on.
const SETTINGS: [&std::ffi::CStr; 12] = [
    c"TimeZone",
    c"DateStyle",
    c"IntervalStyle",
    c"extra_float_digits",
    c"bytea_output",
    c"lc_monetary",
    c"lc_numeric",
    c"lc_time",
    c"xmlbinary",
    c"default_text_search_config",
    c"timezone_abbreviations",
    c"dp_mean.allow_pathological",
];

/// The key of a question whose values are known. All functions that see its rows are PostgreSQL's, and stable: those
/// that look at the current role are computed by now, and those that look at settings do so at these.
pub fn key(question: &Question, settled: Ref<Query>, charged: Option<&Charged>) -> Key {
    // What row-level security shows is what this role sees.
    let is_secured = |entry: &Ref<RangeTblEntry>| !entry.securityQuals().is_empty();
    let reader = match entries(settled).iter().any(is_secured) {
        true => question.reader,
        false => Oid::INVALID,
    };
    let mut digest = Digest::default();
    digest.add(b"dp_mean answer 2");
    digest.add(&pg_sys::PG_VERSION_NUM.to_le_bytes());
    // SAFETY: a number of this process.
    let database = unsafe { pg_sys::MyDatabaseId };
    for number in [database, reader]
        .into_iter()
        .chain(question.bill.relations())
    {
        digest.add(&number.to_u32().to_le_bytes());
    }
    digest.add(&question.policy);
    let spent = &question.bill.spent;
    for amount in [spent.epsilon, spent.rho, spent.delta] {
        digest.add(&amount.to_le_bytes());
    }
    if let Some(charged) = charged {
        for day in [charged.numbers.start, charged.numbers.end] {
            digest.add(&charged.periods.first_day(day).to_le_bytes());
        }
    }
    for value in settings() {
        digest.add(&value);
    }
    digest.add(&canonical::text(settled));
    Key(digest.finish())
}

/// What these settings are now.
pub fn settings() -> [Vec<u8>; SETTINGS.len()] {
    SETTINGS.map(execution::setting)
}

/// All entries of the range tables of a query, and of those below it.
fn entries<'t>(query: Ref<'t, Query>) -> Vec<Ref<'t, RangeTblEntry>> {
    let mut found = Vec::new();
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            found.extend(query.rtable());
        }
        Step::Below
    });
    found
}
