//! `dp_beyond(relation, most)`: how many rows each number of `rows` in the policy of a table would leave out. It is a
//! query like any other of the role that asks, over a row for each person with the number of their rows.
//!
//! People are counted in bins, of 1, 2, 3 to 4, 5 to 8 rows and so on. A person is in one of them, so that all bins are
//! one release. Of each it has the number of people, and how far above the start of the bin they are, from 0 to 1. All
//! that is answered adds these up: what the noise of it comes to is in docs/protect-a-table.md.

use std::ffi::CString;
use std::rc::Rc;

use dp_core::error::ParameterError;
use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum, FuncExpr, Node, Oid, PlanInvalItem, PlannerInfo, Query};
use pgrx::prelude::*;

use crate::gate::errors::{self, Refusal};
use crate::gate::policy::{Policy, full_name, quoted, quoted_name};
use crate::gate::{access, allowance};
use crate::ledger::session;
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::set::Rows;
use crate::pg::tree::{self, List, Ref};
use crate::pg::{extension, procedure, relation};

const FUNCTION: &str = "dp_beyond";
const GIVE_A_TABLE: &str = "Give a protected table, as in dp_beyond('visits').";

/// The largest number of rows that may be asked about.
const MOST: i32 = 1024;

/// The people with the same number of rows, or nearly: more than those of the bin before.
struct Bin {
    /// The most rows of a person in it; of the last one, whose people have more than is asked about, a number above.
    last: i32,
    /// With how many rows each of them counts at least.
    base: i32,
    /// How many more they may have.
    width: i32,
}

fn bins(most: i32) -> Vec<Bin> {
    let ends = std::iter::successors(Some(1), |end| (*end < most).then_some(end * 2));
    let bins = ends.map(|last| match last {
        1 | 2 => Bin {
            last,
            base: last,
            width: 0,
        },
        _ => Bin {
            last,
            base: last / 2,
            width: last / 2,
        },
    });
    let beyond = Bin {
        last: 2 * most,
        base: most,
        width: 0,
    };
    bins.chain([beyond]).collect()
}

/// The query that a call with these arguments is. Its columns are those of the function.
fn query(relation: Option<Datum>, most: Option<Datum>) -> Result<String, Refusal> {
    let relation = relation.map(|relation| Oid::from_u32(relation.value() as u32));
    let relation = relation.ok_or_else(|| wrong("relation", "must not be NULL", GIVE_A_TABLE))?;
    let most = most.map(|most| most.value() as i32);
    let most = most.filter(|most| (1..=MOST).contains(most) && most & (most - 1) == 0);
    let most = most.ok_or_else(|| {
        let message = "must be a power of 2 from 1 to 1024";
        wrong(
            "most",
            message,
            "Leave it out, which is 64, or give 1, 2, 4, ... or 1024.",
        )
    })?;
    let policy = policy(relation)?;
    let (rows, person) = of_people(&policy)?;
    Ok(sql(&rows, &person, most))
}

/// The policy of a table that the role may read, or ask about: of another it hears nothing.
fn policy(relation: Oid) -> Result<Rc<Policy>, Refusal> {
    let wrong = |message, hint: &str| Err(wrong("relation", message, hint));
    if !relation::lock(relation, pg_sys::AccessShareLock) {
        return wrong("is no table", GIVE_A_TABLE);
    }
    let role = session::role();
    if !access::may_read_some(relation, role) && !allowance::is_allowed(relation, role)? {
        return Err(errors::not_allowed(&quoted_name(relation)));
    }
    let Some(policy) = Policy::of(relation) else {
        return wrong(
            "is not protected",
            "Its owner protects it by dp_protect(table, unit, budget, rows => ...). The view dp_policies lists those that \
             are.",
        );
    };
    if policy.one_row_each.is_some() {
        return wrong(
            "has one row of each person",
            "A unique index says so, so that rows => 1 leaves out none.",
        );
    }
    if policy.period.is_some() {
        return wrong(
            "is protected by period",
            "A person's rows are not counted over several periods. Ask its owner how many rows a person has in one.",
        );
    }
    Ok(policy)
}

/// The rows of a table with what names the person of each, as FROM of a query, and the column that does.
fn of_people(policy: &Policy) -> Result<(String, String), Refusal> {
    let name = |relation: Oid, column: i16| {
        // SAFETY: a lookup in the catalog, of a column that is there.
        let name = unsafe { tree::text_of(pg_sys::get_attname(relation, column, false)) };
        quoted(&name)
    };
    let mut rows = format!("{} t0", full_name(policy.relation));
    let mut seen = vec![policy.relation];
    let mut last = (policy.relation, policy.unit);
    let mut reference = policy.reference.filter(|_| !policy.names_person());
    while let Some(next) = reference {
        relation::lock(next.relation, pg_sys::AccessShareLock);
        let other = Policy::of(next.relation).filter(|_| !seen.contains(&next.relation));
        let other = other.ok_or_else(|| {
            wrong(
                "relation",
                "refers to a table that is not protected",
                "The owner of that table protects it, by dp_protect(table, unit, budget).",
            )
        })?;
        let number = seen.len();
        seen.push(next.relation);
        rows = format!(
            "{rows} JOIN {} t{number} ON t{}.{} OPERATOR(pg_catalog.=) t{number}.{}",
            full_name(next.relation),
            number - 1,
            name(last.0, last.1),
            name(next.relation, next.key)
        );
        last = (other.relation, other.unit);
        reference = other.reference.filter(|_| !other.names_person());
    }
    Ok((
        rows,
        format!("t{}.{}", seen.len() - 1, name(last.0, last.1)),
    ))
}

fn sql(rows: &str, person: &str, most: i32) -> String {
    let bins = bins(most);
    // What people of each bin have beyond each number: of all rows first, which are those beyond 0.
    let lines =
        std::iter::once(0).chain(bins.iter().map(|bin| bin.last).filter(|last| *last <= most));
    let weights = lines.flat_map(|line| {
        let above = bins.iter().filter(move |bin| bin.last > line);
        above.map(move |bin| match line == most {
            // How far above they are is not looked at.
            true => format!("({line}, {}, NULL, NULL)", bin.last),
            false => format!("({line}, {}, {}, {})", bin.last, bin.base - line, bin.width),
        })
    });
    let weights = weights.collect::<Vec<_>>().join(", ");
    let case = |value: &dyn Fn(&Bin) -> String| {
        let above = bins.windows(2).rev().map(|pair| {
            let value = value(&pair[1]);
            format!(
                "WHEN p.n OPERATOR(pg_catalog.>) {} THEN {value}",
                pair[0].last
            )
        });
        let above = above.collect::<Vec<_>>().join(" ");
        format!("CASE {above} ELSE {} END", value(&bins[0]))
    };
    let bin = case(&|bin| bin.last.to_string());
    let place = case(&|bin| match bin.width {
        0 => "0::pg_catalog.float8".to_owned(),
        width => format!(
            "(p.n::pg_catalog.float8 OPERATOR(pg_catalog.-) {}::pg_catalog.float8) OPERATOR(pg_catalog.*) \
             {:?}::pg_catalog.float8",
            bin.base,
            1.0 / f64::from(width)
        ),
    });
    let place = format!("GREATEST(LEAST({place}, 1::pg_catalog.float8), 0::pg_catalog.float8)");
    let persons = format!(
        "SELECT pg_catalog.count(*) AS n FROM {rows} WHERE {person} IS NOT NULL GROUP BY {person}"
    );
    let counted = format!(
        "SELECT {bin} AS bin, pg_catalog.count({place}) AS people, pg_catalog.sum({place}) AS places FROM ({persons}) p \
         GROUP BY 1"
    );
    // Of a bin that nobody is in a role that reads the table gets no row.
    let [people, places] =
        ["people", "places"].map(|one| format!("COALESCE(b.{one}::pg_catalog.float8, 0)"));
    let beyond = format!(
        "(w.base::pg_catalog.float8 OPERATOR(pg_catalog.*) {people}) OPERATOR(pg_catalog.+) \
         (w.width::pg_catalog.float8 OPERATOR(pg_catalog.*) {places})"
    );
    format!(
        "SELECT w.rows::pg_catalog.int8 AS rows, pg_catalog.sum({people})::pg_catalog.int8 AS people_beyond, \
         pg_catalog.sum({beyond})::pg_catalog.int8 AS rows_beyond FROM (VALUES {weights}) w(rows, bin, base, width) \
         LEFT JOIN ({counted}) b ON b.bin OPERATOR(pg_catalog.=) w.bin GROUP BY w.rows ORDER BY w.rows"
    )
}

/// The query in the place of a call in FROM.
pub struct Body<'t> {
    pub query: Ref<'t, Query>,
    /// What makes a plan of it stale: a change of the function.
    pub depends: List<'t, PlanInvalItem>,
}

/// The query that a call in FROM is, where its arguments are known when it is planned: so it has a price before, and
/// one plan with what is around it. `None` of any other call.
pub fn body<'t>(
    root: Ref<'t, PlannerInfo>,
    call: Option<Ref<'t, Node>>,
) -> Result<Option<Body<'t>>, Refusal> {
    let Some(call) = call.and_then(|call| call.cast::<FuncExpr>()) else {
        return Ok(None);
    };
    if !is_it(call.funcid()) {
        return Ok(None);
    }
    // With the arguments in their places, also those that are left out.
    let folded = tree::fold(Some(root), call.node().copy());
    let folded = folded
        .cast::<FuncExpr>()
        .expect("a function of rows stays one");
    let arguments = folded.args().into_iter().map(tree::constant);
    let arguments = arguments.collect::<Option<Vec<_>>>().unwrap_or_default();
    let [relation, most] = arguments[..] else {
        return Ok(None);
    };
    let sql = CString::new(query(relation, most)?).expect("names have no 0");
    let queries = tree::analyse(root.memory(), &sql);
    // SAFETY: a node in the memory of this call.
    let item = unsafe { Ref::of(procedure::dependency(call.funcid())) };
    Ok(queries.first().map(|query| Body {
        query: *query,
        depends: tree::list_of(item),
    }))
}

/// `dp_beyond(relation, most)`, where its arguments are not known before it is called: the query that it is goes
/// through the gate as another one of the role that asks.
fn beyond(call: Call) -> Option<Datum> {
    let mut rows = Rows::of(call)?;
    let sql = query(call.datum(0), call.datum(1)).unwrap_or_else(|refusal| refusal.raise());
    Spi::connect_mut(|client| {
        let answers = client.update(&sql, None, &[]);
        for answer in answers.expect("an ERROR of SPI does not return") {
            let number = |i: usize| {
                let number = answer.get::<i64>(i).expect("a column of this type");
                number.into_datum()
            };
            // SAFETY: the SQL declaration makes it return these columns.
            unsafe { rows.add_row([number(1), number(2), number(3)]) };
        }
    });
    None
}

sql_function!(dp_beyond, beyond);

/// Whether a function is `dp_beyond`, and the role may call it.
fn is_it(function: Oid) -> bool {
    if procedure::is_pinned(function) {
        return false;
    }
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    name == FUNCTION && extension::has_function(function) && procedure::may_execute(function)
}

fn wrong(argument: &'static str, message: &str, hint: &str) -> Refusal {
    errors::parameter(FUNCTION, &ParameterError::new(argument, message, hint))
}
