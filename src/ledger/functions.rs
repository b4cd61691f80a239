//! What SQL calls of the ledger.

use dp_core::error::ParameterError;
use dp_core::privacy::spending::{Accounting, Limit, Spent};
use pgrx::IntoDatum;
use pgrx::pg_sys::{Datum, Oid};

use crate::ledger::budgets::{self, Asked, Name};
use crate::ledger::charge::{self, Payer, Request};
use crate::ledger::errors::{self, Refusal};
use crate::ledger::{archive, changes, check, deployment, restore, session};
use crate::pg::composite::composite;
use crate::pg::fmgr::{Call, float8, sql_function};
use crate::pg::set::Rows;
use crate::pg::varlena::text_bytes;

/// What a function answers, or its ERROR.
fn done(result: Result<(), Refusal>) -> Option<Datum> {
    match result {
        // Of type void, which is not NULL.
        Ok(()) => Some(Datum::null()),
        Err(refusal) => refusal.raise(),
    }
}

/// Argument 0, the name of a budget.
fn name(function: &str, call: Call) -> Result<Name, Refusal> {
    // SAFETY: the SQL declarations make it a text.
    let bytes = call.datum(0).map(|datum| unsafe { text_bytes(datum) });
    Name::new(bytes).map_err(|error| errors::parameter(function, &error))
}

/// Arguments 1 and 2, epsilon and delta.
fn amounts(function: &str, call: Call) -> Result<(f64, f64), Refusal> {
    let number = |i: usize, argument| {
        call.datum(i).map(float8).ok_or_else(|| {
            let hint = "Give epsilon and delta; a delta of 0 is pure differential privacy.";
            let error = ParameterError::new(argument, "must not be NULL", hint);
            errors::parameter(function, &error)
        })
    };
    Ok((number(1, "eps")?, number(2, "delta")?))
}

/// Argument 3, a role that is there; `None` if the function has no such argument.
fn role(function: &str, call: Call) -> Result<Option<Oid>, Refusal> {
    match call.len() {
        ..4 => Ok(None),
        _ => role_at(function, call, 3).map(Some),
    }
}

/// An argument that is a role that is there.
fn role_at(function: &str, call: Call, i: usize) -> Result<Oid, Refusal> {
    let role = call
        .datum(i)
        .map(|datum| Oid::from_u32(datum.value() as u32));
    role.filter(|role| session::name_of(*role).is_some())
        .ok_or_else(|| errors::no_role(function))
}

/// `dp_set_budget(name, eps, delta, role, accounting, failures)`; 0 as the role is all together, and NULL as one of the
/// last two that which the budget has.
fn budget(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_set_budget";
    session::refuse_read_only(c"dp_set_budget()");
    done((|| {
        let name = name(FUNCTION, call)?;
        let (epsilon, delta) = amounts(FUNCTION, call)?;
        let role = match call.datum(3) {
            Some(role) if role.value() as u32 == 0 => None,
            _ => Some(role_at(FUNCTION, call, 3)?),
        };
        let accounting = call.datum(4).map(accounting).transpose();
        let accounting = accounting.map_err(|error| errors::parameter(FUNCTION, &error))?;
        let asked = Asked {
            epsilon,
            delta,
            accounting,
            failures: call.datum(5).map(float8),
        };
        budgets::promise(FUNCTION, &name, &asked, role)
    })())
}

sql_function!(dp_set_budget, budget);

/// The accounting of a name that the SQL declarations make a text.
fn accounting(name: Datum) -> Result<Accounting, ParameterError> {
    // SAFETY: as the declarations say.
    let name = unsafe { text_bytes(name) };
    Accounting::named(&String::from_utf8_lossy(&name))
}

/// `dp_close_budget(name)`
fn budget_close(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_close_budget";
    session::refuse_read_only(c"dp_close_budget()");
    done(name(FUNCTION, call).and_then(|name| budgets::close(FUNCTION, &name)))
}

sql_function!(dp_close_budget, budget_close);

/// `dp_set_budget_owner(name, role)`
fn budget_owner(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_set_budget_owner";
    session::refuse_read_only(c"dp_set_budget_owner()");
    done((|| {
        let name = name(FUNCTION, call)?;
        budgets::give(FUNCTION, &name, role_at(FUNCTION, call, 1)?)
    })())
}

sql_function!(dp_set_budget_owner, budget_owner);

/// `dp_continue_budget(name, eps, delta)`
fn budget_continue(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_continue_budget";
    session::refuse_read_only(c"dp_continue_budget()");
    done((|| {
        let budget = name(FUNCTION, call)?;
        let asked = amounts(FUNCTION, call)?;
        let accounting = budgets::accounting(FUNCTION, &budget)?;
        let amount = Spent::missing(asked.0, asked.1, accounting)
            .map_err(|error| errors::parameter(FUNCTION, &error))?;
        let request = Request {
            function: FUNCTION,
            budget,
            payer: Payer::Elsewhere,
            role: session::role(),
            asked,
            amount,
            charged: None,
        };
        budgets::go_on(FUNCTION, &request.budget, &amount, || {
            charge::charge(&request)
        })
    })())
}

sql_function!(dp_continue_budget, budget_continue);

/// `dp_restore_budget(name, eps, delta [, role])`
fn budget_restore(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_restore_budget";
    session::refuse_read_only(c"dp_restore_budget()");
    done((|| {
        let name = name(FUNCTION, call)?;
        let (epsilon, delta) = amounts(FUNCTION, call)?;
        let accounting = budgets::accounting(FUNCTION, &name)?;
        let said = Spent::missing(epsilon, delta, accounting)
            .map_err(|error| errors::parameter(FUNCTION, &error))?;
        let role = role(FUNCTION, call)?;
        let restore = || restore::restore(FUNCTION, &name, said, role);
        match role {
            Some(_) => restore(),
            // What was spent in all is all that may be missing here.
            None => budgets::go_on(FUNCTION, &name, &Spent::default(), restore),
        }
    })())
}

sql_function!(dp_restore_budget, budget_restore);

/// `dp_charge(budget, epsilon, delta [, role])`
fn charge(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_charge";
    done((|| {
        let budget = name(FUNCTION, call)?;
        let asked = amounts(FUNCTION, call)?;
        let accounting = budgets::accounting(FUNCTION, &budget)?;
        let amount = Spent::of_epsilon(asked.0, asked.1, accounting)
            .map_err(|error| errors::parameter(FUNCTION, &error))?;
        charge::charge(&Request {
            function: FUNCTION,
            budget,
            payer: Payer::Owner,
            role: role(FUNCTION, call)?.unwrap_or_else(session::role),
            asked,
            amount,
            charged: None,
        })
    })())
}

sql_function!(dp_charge, charge);

/// `dp_budget_sums(limit_epsilon, limit_delta, limit_units_epsilon, limit_units_rho, limit_units_delta,
/// epsilon, rho, delta, price, accounting, failures, pure)`: what they mean, and how many charges of the price are
/// left. It looks at nothing else.
fn budget_sums(call: Call) -> Option<Datum> {
    let datum = |i: usize| call.datum(i).expect("the function is declared STRICT");
    let units = |i: usize| datum(i).value() as i64;
    let limit = Limit {
        asked: (float8(datum(0)), float8(datum(1))),
        accounting: accounting(datum(9)).unwrap_or(Accounting::Gaussian),
        failures: float8(datum(10)),
        epsilon: units(2),
        rho: units(3),
        delta: units(4),
    };
    let spent = Spent {
        epsilon: units(5),
        rho: units(6),
        delta: units(7),
    };
    let epsilon = float8(datum(8));
    let price = match datum(11).value() as u8 {
        0 => limit.price(epsilon),
        _ => Spent::of_epsilon(epsilon, 0.0, limit.accounting),
    };
    let total = limit.total(&spent);
    let columns = [
        total.map(|total| total.0).into_datum(),
        total.map(|total| total.1).into_datum(),
        limit.left(&spent).into_datum(),
        price
            .ok()
            .map(|price| limit.how_many(&spent, &price))
            .into_datum(),
        (spent.delta <= limit.delta)
            .then(|| limit.share(&spent))
            .filter(|share| share.is_finite())
            .into_datum(),
    ];
    // SAFETY: the SQL declaration makes it return (float8, float8, float8, bigint, float8).
    Some(unsafe { composite(call, columns) })
}

sql_function!(dp_budget_sums, budget_sums);

/// `dp_budget_lasts(limit_units_epsilon, limit_units_rho, limit_units_delta, epsilon, rho, delta, recent_epsilon,
/// recent_rho, recent_delta)`: how many more times what was spent recently can be spent. It looks at nothing else.
fn budget_lasts(call: Call) -> Option<Datum> {
    let units = |i: usize| call.datum(i).map_or(0, |datum| datum.value() as i64);
    let spent = |first: usize| Spent {
        epsilon: units(first),
        rho: units(first + 1),
        delta: units(first + 2),
    };
    spent(0).lasts(&spent(3), &spent(6)).into_datum()
}

sql_function!(dp_budget_lasts, budget_lasts);

/// `dp_ledger_archive(before, name)`: the rows that it takes out; NULL as the name is all of one's own budgets.
fn ledger_archive(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_ledger_archive";
    session::refuse_read_only(c"dp_ledger_archive()");
    let mut answer = Rows::of(call)?;
    let mut archive = || {
        let before = call.datum(0).map(|datum| datum.value() as i64);
        let before = before.ok_or_else(|| {
            let hint = "Rows from before this time are taken out, as in now() - interval '1 year'.";
            let error = ParameterError::new("before", "must not be NULL", hint);
            errors::parameter(FUNCTION, &error)
        })?;
        let budget = match call.datum(1) {
            // SAFETY: the SQL declaration makes it a text.
            Some(datum) => Name::new(Some(unsafe { text_bytes(datum) }))
                .map(Some)
                .map_err(|error| errors::parameter(FUNCTION, &error))?,
            None => None,
        };
        // SAFETY: the SQL declaration makes it return these columns.
        let each = |row| unsafe { answer.add_row(row) };
        archive::archive(FUNCTION, before, budget.as_ref(), each)
    };
    match archive() {
        Ok(()) => None,
        Err(refusal) => refusal.raise(),
    }
}

sql_function!(dp_ledger_archive, ledger_archive);

/// `dp_ledger_check()`: what is wrong with the ledger.
fn ledger_check(call: Call) -> Option<Datum> {
    let mut rows = Rows::of(call)?;
    let found = check::check().unwrap_or_else(|refusal| refusal.raise());
    for finding in found {
        let values = [
            finding.kind.into_datum(),
            finding.budget.into_datum(),
            finding.role.into_datum(),
            finding.detail.into_datum(),
        ];
        // SAFETY: the SQL declaration makes it return (text, text, regrole, text).
        unsafe { rows.add_row(values) };
    }
    None
}

sql_function!(dp_ledger_check, ledger_check);

/// `dp_mean.dp_deployment_budget(budget, about, protects)`: the number of a budget that the current role owns, if
/// its record may have what `about` says. `protects` is whether the budget pays for a protected table.
fn deployment_budget(call: Call) -> Option<Datum> {
    const FUNCTION: &str = "dp_deployment";
    let find = || {
        let name = name(FUNCTION, call)?;
        let budget = budgets::Budget::owned(FUNCTION, &name)?;
        budgets::check_home(budget.id, FUNCTION, &name)?;
        // SAFETY: the SQL declaration makes it a text.
        let about = call.datum(1).map(|datum| unsafe { text_bytes(datum) });
        let about = about.unwrap_or_else(|| b"null".to_vec());
        let protects = call.datum(2).is_some_and(|datum| datum.value() != 0);
        deployment::check(&String::from_utf8_lossy(&about), protects)
            .map_err(|error| errors::parameter(FUNCTION, &error))?;
        Ok(budget.id)
    };
    match find() {
        Ok(id) => id.into_datum(),
        Err(refusal) => Refusal::raise(refusal),
    }
}

sql_function!(dp_deployment_budget, deployment_budget);

/// A trigger function: the tables of the ledger are not changed by SQL.
fn ledger_refuse(_: Call) -> Option<Datum> {
    errors::ledger_is_shut().raise()
}

sql_function!(dp_ledger_refuse, ledger_refuse);

/// A trigger function: all processes look at the lines again.
fn ledger_tell(_: Call) -> Option<Datum> {
    changes::tell();
    // No row, which is not NULL.
    Some(Datum::null())
}

sql_function!(dp_ledger_tell, ledger_tell);
