//! Tables by period: the privacy unit is a person's rows of one period, and takes the place of the person everywhere.
//! What puts rows of several periods together is refused.

use pgrx::pg_sys::{self, FuncExpr, Node, Oid, Query, Var};

use dp_core::privacy::periods::{Every, date_of, text_of};

use crate::gate::access;
use crate::gate::defence::Defence;
use crate::gate::policy::{Period, Policy, not_by_period};
use crate::gate::rejection::Checked;
use crate::pg::tree::{self, Ref, Step};
use crate::safe_functions::wrap;

/// That a block about a table by period reads this table alone, once, in its own FROM.
pub fn check_plain<'t>(query: Ref<'t, Query>, policy: &Policy) -> Checked<()> {
    if policy.period.is_none() || !Defence::PeriodAlone.stands() {
        return Ok(());
    }
    let denied = |query: Ref<'t, Query>| {
        let entries = query.rtable().into_iter();
        let denied = entries.filter(|entry| access::denied_policy(query, *entry).is_some());
        denied.count()
    };
    let mut all = 0;
    tree::search(query.node(), &mut |node, _| {
        all += node.cast::<Query>().map_or(0, denied);
        Step::Below
    });
    match all == 1 && denied(query) == 1 {
        true => Ok(()),
        false => Err(not_by_period()),
    }
}

/// The number of the period of a row, as SQL over its column. The rows are those of the periods that are paid, so nothing
/// of it fails.
pub fn number_sql(period: &Period, column: &str) -> String {
    let day = match period.kind {
        pg_sys::DATEOID => column.to_owned(),
        pg_sys::TIMESTAMPOID => format!("({column})::pg_catalog.date"),
        _ => format!("(pg_catalog.timezone('UTC'::pg_catalog.text, {column}))::pg_catalog.date"),
    };
    let periods = &period.periods;
    match periods.every() {
        Every::Days(days) => {
            let since = text_of(periods.since());
            format!(
                "(({day} OPERATOR(pg_catalog.-) '{since}'::pg_catalog.date) OPERATOR(pg_catalog./) {days})"
            )
        }
        Every::Months(months) => {
            let part = |name: &str| {
                format!(
                    "pg_catalog.date_part('{name}'::pg_catalog.text, ({day})::pg_catalog.timestamp)"
                )
            };
            let (year, month, _) = date_of(periods.since());
            format!(
                "pg_catalog.floor((({} OPERATOR(pg_catalog.*) 12::pg_catalog.float8) OPERATOR(pg_catalog.+) {} \
                 OPERATOR(pg_catalog.-) {}::pg_catalog.float8) OPERATOR(pg_catalog./) {months}::pg_catalog.float8)",
                part("year"),
                part("month"),
                12 * year + month + 1,
            )
        }
    }
}

/// A person and a period as one text, as SQL: no two pairs have the same.
pub fn pair_sql(number: &str, person: &str) -> String {
    format!(
        "((({number})::pg_catalog.int8)::pg_catalog.text OPERATOR(pg_catalog.||) ' '::pg_catalog.text \
         OPERATOR(pg_catalog.||) ({person})::pg_catalog.text)"
    )
}

/// Whether equal values of a type have one text, so that a person has one too.
pub fn is_unit_type(kind: Oid) -> bool {
    [
        pg_sys::INT2OID,
        pg_sys::INT4OID,
        pg_sys::INT8OID,
        pg_sys::TEXTOID,
        pg_sys::VARCHAROID,
        pg_sys::UUIDOID,
    ]
    .contains(&kind)
}

/// Whether rows with the same value of a key are of one period: it is the column, or the start of its day, or of its
/// month where periods are months.
pub fn is_of_one<'t>(
    key: Ref<'t, Node>,
    period: &Period,
    is_column: &dyn Fn(Ref<'t, Var>) -> bool,
) -> bool {
    let Some((function, arguments)) = call_of(key) else {
        return key.cast::<Var>().is_some_and(is_column);
    };
    let below = |i: usize| {
        let argument = arguments.get(i).copied();
        argument.is_some_and(|argument| is_of_one(argument, period, is_column))
    };
    let is_local = period.kind == pg_sys::TIMESTAMPTZOID;
    match function {
        // In the zone of the session a timestamptz has other days than its period.
        pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMP | pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ => {
            let is_known = unit_of(arguments[0]).is_some_and(|unit| match period.periods.every() {
                Every::Months(_) => ["day", "month"].contains(&unit.as_str()),
                Every::Days(_) => unit == "day",
            });
            let is_zoned = function == pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ && is_local;
            is_known && !is_zoned && below(1)
        }
        pg_sys::F_TIMESTAMP_DATE | pg_sys::F_TIMESTAMPTZ_DATE | pg_sys::F_DATE_TIMESTAMP => {
            below(0)
        }
        pg_sys::F_TIMEZONE_TEXT_TIMESTAMPTZ => {
            unit_of(arguments[0]).is_some_and(|zone| zone == "utc") && is_local && below(1)
        }
        _ => false,
    }
}

/// A call, also of what is in for one that is not total: the function and its arguments.
pub fn call_of<'t>(node: Ref<'t, Node>) -> Option<(u32, Vec<Ref<'t, Node>>)> {
    // SAFETY: a node of a tree that lives, and its arguments.
    let variant = unsafe { wrap::original(node.pointer()) };
    if let Some((function, arguments)) = variant {
        // SAFETY: as above.
        let arguments = arguments.into_iter().map(|node| unsafe { Ref::of(node) });
        return Some((function.to_u32(), arguments.collect::<Option<_>>()?));
    }
    let call = node.cast::<FuncExpr>()?;
    Some((call.funcid().to_u32(), call.args().nodes()))
}

/// A constant text, in small letters.
pub fn unit_of(node: Ref<Node>) -> Option<String> {
    let value = tree::constant(node).flatten()?;
    if tree::type_of(node) != pg_sys::TEXTOID {
        return None;
    }
    // SAFETY: a constant of type text.
    let bytes = unsafe { crate::pg::varlena::text_bytes(value) };
    Some(String::from_utf8_lossy(&bytes).to_lowercase())
}
