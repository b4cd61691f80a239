//! What SQL calls of the gate: the owner's face, and the price of a query.

mod declare;

use std::ffi::{CStr, CString};

use dp_core::error::ParameterError;
use dp_core::privacy::periods::{Every, Periods};
use dp_core::privacy::spending::{DELTA_UNIT, Spent, UNIT, float_up};
use pgrx::pg_sys::{self, Datum, Oid};
use pgrx::prelude::*;
use pgrx::{IntoDatum, PgRelation};

use crate::gate::answer::run;
use crate::gate::errors::{self, Refusal};
use crate::gate::label::{self, ColumnLabel, PeriodLabel, TableLabel};
use crate::gate::policy::{self, PERIOD_KINDS, quoted, quoted_name};
use crate::gate::rewrite::Gate;
use crate::gate::{advice, allowance, expression, expressions, message_filter, periods};
use crate::ledger::budgets::{Budget, Name};
use crate::ledger::{charge as ledger, periods as ledger_periods, session};
use crate::pg::fmgr::{Call, float8, sql_function};
use crate::pg::relation;
use crate::pg::set::Rows;
use crate::pg::tree;

/// What a function answers, or its ERROR.
fn done(result: Result<(), Refusal>) -> Option<Datum> {
    match result {
        // Of type void, which is not NULL.
        Ok(()) => Some(Datum::null()),
        Err(refusal) => refusal.raise(),
    }
}

fn wrong(function: &str, argument: &'static str, message: &str, hint: &str) -> Refusal {
    errors::parameter(function, &ParameterError::new(argument, message, hint))
}

/// Argument 0: a table that the current role owns, locked against changes of its definition.
fn owned_table(function: &'static str, call: Call) -> Result<PgRelation, Refusal> {
    let relation = call
        .datum(0)
        .map(|datum| Oid::from_u32(datum.value() as u32));
    let hint = "Give a table that you own, as in dp_protect('visits', 'patient', 'patients').";
    let relation = relation.ok_or_else(|| wrong(function, "relation", "must not be NULL", hint))?;
    // Before the lock, which would stop others meanwhile; and again below it.
    if owner_of(relation).is_some_and(|owner| !session::has_rights_of(owner)) {
        return Err(errors::not_owner(&quoted_name(relation)));
    }
    if !relation::lock(relation, pg_sys::ShareUpdateExclusiveLock) {
        return Err(wrong(function, "relation", "is no table", hint));
    }
    // SAFETY: a table that is locked.
    let table = unsafe { PgRelation::open(relation) };
    if !(table.is_table() || table.is_partitioned_table()) {
        return Err(wrong(
            function,
            "relation",
            "is not a plain or partitioned table",
            hint,
        ));
    }
    // SAFETY: an open relation has its row of pg_class.
    let owner = unsafe { (*table.rd_rel).relowner };
    match session::has_rights_of(owner) {
        true => Ok(table),
        false => Err(errors::not_owner(&quoted_name(relation))),
    }
}

/// The owner of a table; `None` if it is gone.
fn owner_of(relation: Oid) -> Option<Oid> {
    // SAFETY: a row of the catalog, which is read before it is released.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(relation));
        if tuple.is_null() {
            return None;
        }
        let owner = (*pg_sys::GETSTRUCT(tuple).cast::<pg_sys::FormData_pg_class>()).relowner;
        pg_sys::ReleaseSysCache(tuple);
        Some(owner)
    }
}

/// A text argument.
fn text(function: &str, call: Call, i: usize, argument: &'static str) -> Result<String, Refusal> {
    let bytes = call.datum(i).map(|datum| {
        // SAFETY: the SQL declarations make it a name or a text; both were cast to text.
        unsafe { crate::pg::varlena::text_bytes(datum) }
    });
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.ok_or_else(|| wrong(function, argument, "must not be NULL", "Give a name."))
}

/// The number and the type of a column.
fn column_of(function: &str, table: &PgRelation, name: &str) -> Result<(i16, Oid), Refusal> {
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: lookups in the catalog, of a table that is locked.
    let (number, kind) = unsafe {
        let number = pg_sys::get_attnum(table.oid(), text.as_ptr());
        (number, pg_sys::get_atttype(table.oid(), number))
    };
    match number > 0 {
        true => Ok((number, kind)),
        false => {
            let hint = format!("\\d {} shows the columns.", quoted_name(table.oid()));
            Err(wrong(
                function,
                "column_name",
                "is not a column of the table",
                &hint,
            ))
        }
    }
}

/// The label of a protected table.
fn table_label(relation: Oid) -> Option<TableLabel> {
    TableLabel::read(&label::get(relation, 0)?).ok()
}

/// The label of a column, or an empty one.
fn column_label(relation: Oid, column: i16) -> ColumnLabel {
    let label = label::get(relation, column);
    label
        .and_then(|label| ColumnLabel::read(&label).ok())
        .unwrap_or_default()
}

fn set_column_label(relation: Oid, column: i16, label: &ColumnLabel) {
    let text = serde_json::to_string(label).expect("a label is JSON");
    label::set(
        relation,
        column,
        (!label.is_empty()).then_some(text.as_str()),
    );
}

/// Argument `i`, an interval of time from 0 to a year, in whole seconds: a day has 24 hours, a month 30 days.
fn seconds(function: &str, call: Call, i: usize, argument: &'static str) -> Result<u64, Refusal> {
    let hint = "Give an interval from 0, which switches it off, to 1 year, as in '1 day'.";
    let wrong = |message| wrong(function, argument, message, hint);
    let datum = call.datum(i).ok_or_else(|| wrong("must not be NULL"))?;
    // SAFETY: the SQL declaration makes it an interval.
    let interval = unsafe { *datum.cast_mut_ptr::<pg_sys::Interval>() };
    const DAY: i128 = 24 * 60 * 60 * 1_000_000;
    const MOST: i128 = 365 * DAY;
    // What is infinite has the largest months, and so is far too long.
    let days = i128::from(interval.month) * 30 + i128::from(interval.day);
    let microseconds = days * DAY + i128::from(interval.time);
    match microseconds {
        ..0 => Err(wrong("must not be negative")),
        // Nothing above 0 is rounded to it.
        0..=MOST => Ok((microseconds as u64).div_ceil(1_000_000)),
        _ => Err(wrong("must be at most 1 year")),
    }
}

/// The budget of the protected table that a column refers to by a foreign key.
fn budget_of_reference(
    function: &'static str,
    call: Call,
    table: &PgRelation,
    column: i16,
) -> Result<String, Refusal> {
    let hint = "Give a column with a foreign key to one column of a protected table of yours, as in \
                dp_protect('item', via => 'visit').";
    if call.datum(1).is_some() {
        let hint = "Leave unit out: the table that via refers to says whose the rows are.";
        return Err(wrong(
            function,
            "unit",
            "must not be given beside via",
            hint,
        ));
    }
    let reference = policy::reference(table, column);
    let reference = reference
        .ok_or_else(|| wrong(function, "via", "has no foreign key to one column", hint))?;
    let other = policy::Policy::of(reference.relation);
    let other = other
        .filter(|other| other.relation != table.oid())
        .ok_or_else(|| {
            wrong(
                function,
                "via",
                "refers to a table that is not protected",
                hint,
            )
        })?;
    let budget = other.label.budget.clone();
    match call.datum(2) {
        Some(_) if text(function, call, 2, "budget")? != budget => {
            let hint = "Leave budget out: it is that of the table that via refers to.";
            Err(wrong(
                function,
                "budget",
                "is not that of the table that via refers to",
                hint,
            ))
        }
        _ => Ok(budget),
    }
}

/// Arguments 11 to 13: the column that says in which period a row is, how long a period is, and since when there are
/// some.
fn period_of(
    function: &'static str,
    call: Call,
    table: &PgRelation,
    via: bool,
) -> Result<Option<(i16, Periods)>, Refusal> {
    let wrong = |argument, message: &str, hint: &str| Err(wrong(function, argument, message, hint));
    let hint = "Give all three, as in period => 'day', every => '1 month', since => '2025-01-01'.";
    if call.datum(11).is_none() {
        return match (call.datum(12), call.datum(13)) {
            (None, None) => Ok(None),
            (Some(_), _) => wrong("every", "is given without period", hint),
            (_, Some(_)) => wrong("since", "is given without period", hint),
        };
    }
    if via {
        let hint = "Leave it out: a table by period is asked alone.";
        return wrong("period", "must not be given beside via", hint);
    }
    let (column, kind) = column_of(function, table, &text(function, call, 11, "period")?)?;
    if !PERIOD_KINDS.contains(&kind) {
        let hint = "Use a column of type date, timestamp or timestamptz.";
        return wrong("period", "is of a type that says no day", hint);
    }
    let Some(every) = call.datum(12) else {
        return wrong("every", "must not be NULL beside period", hint);
    };
    let Some(since) = call.datum(13) else {
        return wrong("since", "must not be NULL beside period", hint);
    };
    // SAFETY: the SQL declaration makes it an interval.
    let every = unsafe { *every.cast_mut_ptr::<pg_sys::Interval>() };
    let positive = |number: i32| u32::try_from(number).unwrap_or(0);
    let every = match (every.month, every.day, every.time) {
        (months, 0, 0) if months != 0 => Every::Months(positive(months)),
        (0, days, 0) => Every::Days(positive(days)),
        // Months and days together are no length.
        _ => Every::Days(0),
    };
    let periods = Periods::new(every, i64::from(since.value() as i32));
    let periods = periods.map_err(|error| errors::parameter(function, &error))?;
    Ok(Some((column, periods)))
}

/// `dp_protect(relation, unit, budget, groups, rows, query_eps, query_delta, auto_bounds, reuse, min_people, via, period,
/// every, since, auto_rows)`
fn protect(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_protect";
    session::refuse_read_only(c"dp_protect()");
    done((|| {
        let table = owned_table(FUNCTION, call)?;
        let relation = table.oid();
        let via = call.datum(10).is_some();
        let (place, argument) = if via { (10, "via") } else { (1, "unit") };
        let (unit, kind) = column_of(FUNCTION, &table, &text(FUNCTION, call, place, argument)?)?;
        let budget = match via {
            true => budget_of_reference(FUNCTION, call, &table, unit)?,
            false => text(FUNCTION, call, 2, "budget")?,
        };
        let name = Name::new(Some(budget.clone().into_bytes()))
            .map_err(|error| errors::parameter(FUNCTION, &error))?;
        Budget::owned(FUNCTION, &name)?;
        let whole = |i: usize| call.datum(i).map_or(1, |datum| datum.value() as i32);
        let period = period_of(FUNCTION, call, &table, via)?;
        let label = TableLabel {
            budget,
            groups: u32::try_from(whole(3)).unwrap_or(0),
            rows: u32::try_from(whole(4)).unwrap_or(0),
            epsilon: call.datum(5).map_or(f64::NAN, float8),
            delta: call.datum(6).map(float8),
            auto_bounds: call.datum(7).is_some_and(|datum| datum.value() as u8 != 0),
            auto_rows: call.datum(14).is_some_and(|datum| datum.value() as u8 != 0),
            reuse: seconds(FUNCTION, call, 8, "reuse")?,
            min_people: call
                .datum(9)
                .map(|datum| u32::try_from(datum.value() as i32).unwrap_or(0)),
            expressions: {
                let columns = policy::columns_of(&table);
                let known = table_label(relation).map_or(Vec::new(), |label| label.expressions);
                let known = known.into_iter();
                known
                    .filter(|known| expressions::Declared::holds(&columns, &known.sql))
                    .collect()
            },
            period: period.as_ref().map(|(_, periods)| PeriodLabel::of(periods)),
        };
        let hint = "dp_protect(table, unit, budget) takes the default of all else.";
        label
            .check()
            .map_err(|why| errors::unfit(FUNCTION, &why, hint))?;
        if !expression::is_groupable(kind) {
            return Err(wrong(
                FUNCTION,
                "unit",
                "is of a type that cannot identify a person",
                "Use a column of an integer type, text or uuid.",
            ));
        }
        if period.is_some() && !periods::is_unit_type(kind) {
            return Err(wrong(
                FUNCTION,
                "unit",
                "is of a type that cannot be part of a person-period",
                "Use a column of an integer type, text or uuid.",
            ));
        }
        if !via {
            ledger_periods::divide(FUNCTION, &name, period.as_ref().map(|(_, periods)| periods))?;
        }
        // What was allowed of a table that had this OID before, and was dropped, is not allowed of this one.
        if policy::Policy::of(relation).is_none() {
            allowance::end_all(relation)?;
        }
        for column in table
            .tuple_desc()
            .iter()
            .filter(|column| !column.attisdropped)
        {
            let mut label = column_label(relation, column.attnum);
            let is_unit = column.attnum == unit;
            let is_period = period
                .as_ref()
                .is_some_and(|(period, _)| *period == column.attnum);
            let marks = (is_unit && !via, is_unit && via, is_period);
            if (label.unit, label.via, label.period) != marks {
                (label.unit, label.via, label.period) = marks;
                set_column_label(relation, column.attnum, &label);
            }
        }
        let text = serde_json::to_string(&label).expect("a label is JSON");
        label::set(relation, 0, Some(&text));
        errors::statistics_tell(&quoted_name(relation));
        Ok(())
    })())
}

sql_function!(dp_protect, protect);

/// `dp_unprotect(relation)`
fn unprotect(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_unprotect";
    session::refuse_read_only(c"dp_unprotect()");
    done((|| {
        let table = owned_table(FUNCTION, call)?;
        allowance::end_all(table.oid())?;
        for column in table
            .tuple_desc()
            .iter()
            .filter(|column| !column.attisdropped)
        {
            if label::get(table.oid(), column.attnum).is_some() {
                label::set(table.oid(), column.attnum, None);
            }
        }
        label::set(table.oid(), 0, None);
        Ok(())
    })())
}

sql_function!(dp_unprotect, unprotect);

/// `dp_allow(relation, role)`
fn allow(call: Call) -> Option<Datum> {
    session::refuse_read_only(c"dp_allow()");
    done(set_allowed("dp_allow", call, true))
}

sql_function!(dp_allow, allow);

/// `dp_disallow(relation, role)`
fn disallow(call: Call) -> Option<Datum> {
    session::refuse_read_only(c"dp_disallow()");
    done(set_allowed("dp_disallow", call, false))
}

sql_function!(dp_disallow, disallow);

fn set_allowed(function: &'static str, call: Call, allowed: bool) -> Result<(), Refusal> {
    let table = owned_table(function, call)?;
    let role = call
        .datum(1)
        .map(|datum| Oid::from_u32(datum.value() as u32));
    let role = role.filter(|role| session::name_of(*role).is_some());
    let role = role.ok_or_else(|| errors::no_role(function))?;
    if allowed && policy::Policy::of(table.oid()).is_none() {
        let hint = "dp_protect(table, unit, budget) does that.";
        return Err(wrong(function, "relation", "is not protected", hint));
    }
    allowance::set(table.oid(), role, allowed)?;
    if allowed {
        advice::advise(table.oid(), role);
    }
    Ok(())
}

/// `dp_create_view(relation, name)`: a view that everybody finds in the lists of tables, and reads with their own
/// rights.
fn view(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_create_view";
    session::refuse_read_only(c"dp_create_view()");
    done((|| {
        let table = owned_table(FUNCTION, call)?;
        let name = text(FUNCTION, call, 1, "name")?;
        if policy::Policy::of(table.oid()).is_none() {
            let hint = "dp_protect(table, unit, budget) does that.";
            return Err(wrong(FUNCTION, "relation", "is not protected", hint));
        }
        let from = quoted_name(table.oid());
        let (schema, view) = match name.split_once('.') {
            Some((schema, view)) => (format!("{}.", quoted(schema)), quoted(view)),
            None => (String::new(), quoted(&name)),
        };
        let statements = [
            format!(
                "CREATE VIEW {schema}{view} WITH (security_invoker = true) AS SELECT * FROM {from}"
            ),
            format!("GRANT SELECT ON {schema}{view} TO PUBLIC"),
        ];
        for statement in statements {
            Spi::run(&statement).expect("an ERROR of SPI does not return");
        }
        Ok(())
    })())
}

sql_function!(dp_create_view, view);

/// `dp_cost(query, people)`: a row for each block of a query. It spends nothing.
fn dp_cost_rows(call: Call) -> Option<Datum> {
    let mut rows = Rows::of(call)?;
    let people = call.datum(1).map(float8);
    // SAFETY: the SQL declaration makes it a text; the copy lives as long as the call.
    let query = unsafe { CStr::from_ptr(pg_sys::text_to_cstring(call.datum(0)?.cast_mut_ptr())) };
    for row in cost(query, people).unwrap_or_else(|refusal| refusal.raise()) {
        let (
            relation,
            budget,
            epsilon,
            rho,
            delta,
            fits,
            free,
            mechanisms,
            rewritten,
            price,
            noise,
            shown_from,
            unit,
            periods,
        ) = row;
        let values = [
            relation.into_datum(),
            budget.into_datum(),
            epsilon.into_datum(),
            rho.into_datum(),
            delta.into_datum(),
            fits.into_datum(),
            free.into_datum(),
            mechanisms.into_datum(),
            rewritten.into_datum(),
            price.into_datum(),
            noise.into_datum(),
            shown_from.into_datum(),
            unit.into_datum(),
            periods.into_datum(),
        ];
        // SAFETY: the SQL declaration makes it return these columns.
        unsafe { rows.add_row(values) };
    }
    None
}

sql_function!(dp_cost, dp_cost_rows);

type CostRow = (
    Oid,
    String,
    Option<f64>,
    f64,
    f64,
    bool,
    bool,
    String,
    String,
    Option<f64>,
    Vec<Option<f64>>,
    Option<f64>,
    String,
    Option<i64>,
);

fn cost(query: &CStr, people: Option<f64>) -> Result<Vec<CostRow>, Refusal> {
    // SAFETY: the memory of the call of the function, which ends after this.
    let memory = unsafe { tree::Memory::of_call() };
    let mut gate = Gate::new(None);
    message_filter::set_asked(true);
    for query in tree::analyse(memory, query) {
        gate.pass(query)?;
    }
    let mut rows = Vec::new();
    for block in gate.written.into_iter().filter(|block| block.is_release) {
        let bill = &block.bill;
        let policy = run::policy(&block.question)?;
        let mut payment = bill.request(&policy)?;
        let is_kept;
        (is_kept, payment.charged) = run::is_kept(&block.question)?;
        let fits = match ledger::check(&payment) {
            Ok(()) => true,
            Err(refusal) if refusal.is_over_limit() => false,
            Err(refusal) => return Err(refusal),
        };
        let Spent {
            epsilon,
            rho,
            delta,
        } = bill.spent;
        let is_bounded = epsilon < dp_core::privacy::spending::UNBOUNDED;
        rows.push((
            bill.relation,
            payment.budget.text(),
            is_bounded.then(|| float_up(epsilon, UNIT)),
            float_up(rho, UNIT),
            float_up(delta, DELTA_UNIT),
            fits || is_kept,
            is_kept,
            bill.mechanisms.clone(),
            block.sql,
            policy
                .limits(bill.payer)
                .ok()
                .flatten()
                .map(|(all, own)| own.unwrap_or(all).price_of(&bill.spent)),
            block
                .priced
                .iter()
                .map(|priced| priced.half_width(people))
                .collect(),
            block.shown_from,
            match &policy.period {
                Some(period) => period.periods.unit(),
                None => "person".to_owned(),
            },
            payment.charged.map(|charged| charged.count()),
        ));
    }
    Ok(rows)
}
