//! Windows over the rows of one person. Rows that a sort leaves as they come would be in an order that the rows of
//! others take part in, so each sort here ends with all columns that the query uses.

use std::collections::BTreeMap;

use pgrx::pg_sys::{
    self, Node, Oid, Query, SortGroupClause, TargetEntry, Var, WindowClause, WindowFunc,
};

use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::expression::{self, Checker};
use crate::gate::private_relation::calls;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::{self, List, Ref, Step};

/// Options of a frame, as PostgreSQL has them.
mod frame {
    use pgrx::pg_sys;

    pub const RANGE: u32 = pg_sys::FRAMEOPTION_RANGE;
    pub const ROWS: u32 = pg_sys::FRAMEOPTION_ROWS;
    pub const STARTS_AT_FIRST: u32 = pg_sys::FRAMEOPTION_START_UNBOUNDED_PRECEDING;
    pub const ENDS_AT_LAST: u32 = pg_sys::FRAMEOPTION_END_UNBOUNDED_FOLLOWING;
}

/// What a window function depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depends {
    /// On the sets of rows that are alike in ORDER BY.
    Peers,
    /// On the order of rows.
    Order,
    /// On the rows at an end of the frame.
    Frame,
}

/// Window functions that are no aggregates.
fn depends(name: &str) -> Option<Depends> {
    Some(match name {
        "rank" | "dense_rank" | "percent_rank" | "cume_dist" => Depends::Peers,
        "row_number" | "ntile" | "lag" | "lead" => Depends::Order,
        "first_value" | "last_value" | "nth_value" => Depends::Frame,
        _ => return None,
    })
}

/// The windows of a query: each must be of one person. `is_person` says so of an expression.
pub fn check<'t>(
    query: Ref<'t, Query>,
    checker: &Checker<'t>,
    is_person: &dyn Fn(Ref<'t, Node>) -> bool,
) -> Checked<()> {
    for window in query.windowClause() {
        let mut partition = window.partitionClause().into_iter();
        let is_of_person = partition.any(|clause| {
            let target = tree::sort_group_target(clause, query.targetList());
            let key = target.expr();
            let is_one = |key: &Ref<'t, Node>| {
                canonical_keys::can_have_one_form(*key) || !Defence::Form.stands()
            };
            key.filter(is_one).is_some_and(is_person)
        });
        if !is_of_person && Defence::Windows.stands() {
            return Err(Reason::with_hint(
                "a window is not of the rows of one person",
                "Begin it with the column that names the person, as in OVER (PARTITION BY patient ORDER BY day).",
            ));
        }
        let order = window.orderClause().into_iter();
        calls::check_clauses(window.partitionClause().into_iter().chain(order))?;
        check_frame(window, checker)?;
    }
    put_in_order(query)
}

/// That the ends of a frame raise no error: constants that are not negative, counted in rows or groups.
fn check_frame<'t>(window: Ref<'t, WindowClause>, checker: &Checker<'t>) -> Checked<()> {
    let is_range = window.frameOptions() as u32 & frame::RANGE != 0;
    let check = |offset: Option<Ref<'t, Node>>| {
        let Some(offset) = offset.map(|offset| checker.folded(offset.copy())) else {
            return Ok(None);
        };
        let value = tree::constant(offset).flatten();
        let is_plain = tree::type_of(offset) == pg_sys::INT8OID
            && value.is_some_and(|value| value.value() as i64 >= 0);
        match !is_range && is_plain || !Defence::Windows.stands() {
            true => Ok(Some(offset)),
            false => Err(Reason::with_hint(
                "the frame of a window ends at a distance that may raise an error",
                "Count it in rows, as in ROWS BETWEEN 3 PRECEDING AND CURRENT ROW.",
            )),
        }
    };
    window.set_startOffset(check(window.startOffset())?);
    window.set_endOffset(check(window.endOffset())?);
    Ok(())
}

/// A call of a window function, in its safe form.
pub fn call<'t>(checker: &Checker<'t>, call: Ref<'t, WindowFunc>) -> Checked<Ref<'t, Node>> {
    let function = call.winfnoid();
    let refused = || calls::refused(function);
    call.set_aggfilter(checker.safe_if(call.aggfilter())?);
    let arguments: Checked<Vec<_>> = call
        .args()
        .into_iter()
        .map(|argument| checker.safe(argument))
        .collect();
    let arguments = arguments?;
    expression::check_collation(call.inputcollid(), tree::list_of(arguments.iter().copied()))?;
    if call.winagg() {
        return aggregate(checker, call, arguments);
    }
    let name = name_of(function).ok_or_else(refused)?;
    depends(&name).ok_or_else(refused)?;
    // How many rows or parts: an error where it is not positive, and nothing else.
    let count = match name.as_str() {
        "ntile" => Some(0),
        "nth_value" => Some(1),
        _ => None,
    };
    if let Some(place) = count {
        let value = arguments
            .get(place)
            .copied()
            .and_then(tree::constant)
            .flatten();
        if value.is_none_or(|value| value.value() as i32 <= 0) && Defence::Windows.stands() {
            return Err(Reason::with_hint(
                format!("the argument of {name} is not a positive constant"),
                "Write a number from 1 on.",
            ));
        }
    }
    call.set_args(tree::list_of(arguments));
    Ok(call.node())
}

/// An aggregate over a window.
fn aggregate<'t>(
    checker: &Checker<'t>,
    call: Ref<'t, WindowFunc>,
    arguments: Vec<Ref<'t, Node>>,
) -> Checked<Ref<'t, Node>> {
    let function = call.winfnoid();
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    let is_known = ["count", "bool_and", "bool_or", "every", "min", "max"].contains(&name.as_str());
    let is_comparable = !["min", "max"].contains(&name.as_str())
        || arguments.iter().all(|argument| {
            expression::is_comparable(tree::type_of(*argument))
                && canonical_keys::can_have_one_form(*argument)
        });
    if is_known && is_comparable && name_of(function).is_some() {
        let arguments = arguments.into_iter();
        let arguments = arguments.map(|value| calls::in_one_form(checker, value));
        call.set_args(arguments.collect::<List<_>>());
        return Ok(call.node());
    }
    let is_sum = [
        "sum",
        "avg",
        "var_pop",
        "var_samp",
        "variance",
        "stddev_pop",
        "stddev_samp",
        "stddev",
    ];
    if !is_sum.contains(&name.as_str()) || name_of(function).is_none() {
        return Err(calls::refused(function));
    }
    let bounded = arguments
        .into_iter()
        .map(|value| calls::bounded(value, function));
    let bounded = bounded.collect::<Checked<Vec<_>>>()?;
    let Some(exact) = calls::exact(function) else {
        call.set_args(tree::list_of(bounded));
        return Ok(call.node());
    };
    let wanted = call.wintype();
    let exacts = bounded
        .into_iter()
        .map(calls::numeric)
        .collect::<Checked<Vec<_>>>()?;
    call.set_args(tree::list_of(exacts));
    call.set_winfnoid(exact);
    call.set_wintype(pg_sys::NUMERICOID);
    tree::cast(call.node(), wanted)
        .ok_or_else(|| "a window function has an answer of another type".into())
}

/// The name of a function of PostgreSQL.
fn name_of(function: Oid) -> Option<String> {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    crate::pg::procedure::is_pinned(function).then_some(name)
}

/// Gives each function that depends on the order of rows a window in which no two rows that differ are alike.
fn put_in_order<'t>(query: Ref<'t, Query>) -> Checked<()> {
    if !Defence::Windows.stands() {
        return Ok(());
    }
    let mut calls = Vec::new();
    for target in query.targetList() {
        tree::search(target.node(), &mut |node, _| {
            calls.extend(node.cast::<WindowFunc>());
            Step::Below
        });
    }
    let mut ordered: BTreeMap<u32, u32> = BTreeMap::new();
    for call in calls {
        let windows = query.windowClause().nodes();
        let window = windows
            .iter()
            .find(|window| window.winref() == call.winref());
        let window = *window.ok_or("a window function has no window")?;
        if !needs_order(call, window)? {
            continue;
        }
        let known = ordered.get(&window.winref()).copied();
        let number = match known {
            Some(number) => number,
            None => {
                let last = windows.iter().map(|window| window.winref()).max();
                let number = last.unwrap_or_default() + 1;
                let own = window.copy();
                own.set_winref(number);
                own.set_copiedOrder(false);
                let order = own.orderClause().nodes();
                own.set_orderClause(tree::list_of(in_order(query, order)?));
                query.set_windowClause(query.windowClause().append(own));
                ordered.insert(window.winref(), number);
                number
            }
        };
        call.set_winref(number);
    }
    // PostgreSQL plans no window without a function.
    Ok(())
}

/// Whether a function needs rows in an order of their own; one whose frame ends among rows that are alike is refused.
fn needs_order(call: Ref<WindowFunc>, window: Ref<WindowClause>) -> Checked<bool> {
    let options = window.frameOptions() as u32;
    let is_rows = options & frame::ROWS != 0;
    if call.winagg() {
        return Ok(is_rows);
    }
    let name = name_of(call.winfnoid()).unwrap_or_default();
    let starts = options & frame::STARTS_AT_FIRST != 0;
    let ends = options & frame::ENDS_AT_LAST != 0;
    match depends(&name) {
        Some(Depends::Peers) => Ok(false),
        Some(Depends::Frame) => {
            let is_clear = is_rows || starts && (ends || name == "first_value");
            match is_clear {
                true => Ok(true),
                false => Err(Reason::with_hint(
                    format!(
                        "the frame of {name} ends among rows that ORDER BY does not tell apart"
                    ),
                    "Write ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING, or another frame of ROWS.",
                )),
            }
        }
        _ => Ok(true),
    }
}

/// Clauses to sort by, and behind them all else that the query shows: what is alike then is alike in all that is used.
pub fn in_order<'t>(
    query: Ref<'t, Query>,
    mut clauses: Vec<Ref<'t, SortGroupClause>>,
) -> Checked<Vec<Ref<'t, SortGroupClause>>> {
    let known = |clauses: &[Ref<'t, SortGroupClause>], clause: Ref<SortGroupClause>| {
        let number = clause.tleSortGroupRef();
        clauses
            .iter()
            .any(|known| known.tleSortGroupRef() == number)
    };
    if !query.groupClause().is_empty() || query.hasAggs() {
        // A row is a group, and no two have the same keys.
        for key in query.groupClause() {
            let target = tree::sort_group_target(key, query.targetList());
            let clause = tree::sort_by(target, query.targetList()).ok_or_else(unsortable)?;
            if !known(&clauses, clause) {
                clauses.push(clause);
            }
        }
        return Ok(clauses);
    }
    let mut columns: Vec<Ref<'t, Var>> = Vec::new();
    for target in query.targetList() {
        tree::search(target.node(), &mut |node, level| {
            let column = node
                .cast::<Var>()
                .filter(|column| column.varlevelsup() == level);
            if let Some(column) = column
                && !columns.iter().any(|known| is_same(*known, column))
            {
                columns.push(column);
            }
            Step::Below
        });
    }
    for column in columns {
        let own = column.copy();
        own.set_varlevelsup(0);
        if !canonical_keys::can_have_one_form(own.node()) {
            return Err(unsortable());
        }
        let targets = query.targetList();
        let found = targets
            .into_iter()
            .find(|target| target.expr().is_some_and(|expr| expr.same(own.node())));
        let target = match found {
            Some(target) => target,
            None => add_hidden(query, own.node()),
        };
        let clause = tree::sort_by(target, query.targetList()).ok_or_else(unsortable)?;
        if !known(&clauses, clause) {
            clauses.push(clause);
        }
    }
    calls::check_clauses(clauses.iter().copied())?;
    Ok(clauses)
}

fn is_same(one: Ref<Var>, other: Ref<Var>) -> bool {
    (one.varno(), one.varattno()) == (other.varno(), other.varattno())
}

/// A column that the query sorts by and does not show.
fn add_hidden<'t>(query: Ref<'t, Query>, value: Ref<'t, Node>) -> Ref<'t, TargetEntry> {
    let number = query.targetList().nodes().len() + 1;
    let target = tree::target(value, i16::try_from(number).expect("few columns"), "");
    target.set_resjunk(true);
    query.set_targetList(query.targetList().append(target));
    target
}

fn unsortable() -> Reason {
    Reason::with_hint(
        "rows with a column that cannot be sorted have no order of their own",
        "Leave columns of types such as json out of the sub-query with the window.",
    )
}
