//! Windows over the rows of one person. Rows that a sort leaves as they come would be in an order that the rows of
//! others take part in, so each sort here ends with all columns that the query uses.

use std::collections::BTreeMap;

use pgrx::pg_sys::{
    self, Node, Oid, Query, SortGroupClause, TargetEntry, Var, WindowClause, WindowFunc,
};

use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::expression::{self, Checker};
use crate::gate::policy;
use crate::gate::private_relation::calls;
use crate::gate::private_relation::columns::Rows;
use crate::gate::private_relation::from::From;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::{self, List, Ref, Step};

/// Options of a frame, as PostgreSQL has them.
mod frame {
    use pgrx::pg_sys;

    pub const RANGE: u32 = pg_sys::FRAMEOPTION_RANGE;
    pub const ROWS: u32 = pg_sys::FRAMEOPTION_ROWS;
    pub const STARTS_AT_FIRST: u32 = pg_sys::FRAMEOPTION_START_UNBOUNDED_PRECEDING;
    /// Without the rows that are alike in ORDER BY.
    pub const LEAVES_OUT_PEERS: u32 =
        pg_sys::FRAMEOPTION_EXCLUDE_GROUP | pg_sys::FRAMEOPTION_EXCLUDE_TIES;
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
    from: &From<'t>,
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
    put_in_order(query, from)
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
    // A number may be too small for a float.
    checker.cast(call.node(), wanted)
}

/// The name of a function of PostgreSQL.
fn name_of(function: Oid) -> Option<String> {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    crate::pg::procedure::is_pinned(function).then_some(name)
}

/// Gives each function that depends on the order of rows a window in which no two rows that differ are alike.
fn put_in_order<'t>(query: Ref<'t, Query>, from: &From<'t>) -> Checked<()> {
    if !Defence::Windows.stands() {
        return Ok(());
    }
    // Those that need an order of their own, with the windows that they have.
    let mut needy: BTreeMap<u32, Vec<Ref<'t, WindowFunc>>> = BTreeMap::new();
    for call in own_calls(query) {
        let window = window_of(query, call).ok_or("a window function has no window")?;
        if needs_order(call, window)? {
            if window.frameOptions() as u32 & frame::LEAVES_OUT_PEERS != 0 {
                return Err(Reason::with_hint(
                    "the frame of a window leaves out rows that ORDER BY does not tell apart",
                    "Leave out EXCLUDE GROUP or EXCLUDE TIES; EXCLUDE CURRENT ROW may stay.",
                ));
            }
            needy.entry(window.winref()).or_default().push(call);
        }
    }
    let mut windows = Vec::new();
    for calls in needy.into_values() {
        let window = window_of(query, calls[0]).ok_or("a window function has no window")?;
        let own = window.copy();
        own.set_copiedOrder(false);
        own.set_orderClause(tree::list_of(in_order(query, own.orderClause().nodes())?));
        windows.push((own, calls));
    }
    // Rows that are alike have numbers by chance, and in another order by another chance: both together are none of the
    // rows alone.
    let sorted = |window: Ref<'t, WindowClause>| {
        let keys = window.partitionClause().into_iter();
        let keys = keys.chain(window.orderClause());
        keys.map(|key| (key.tleSortGroupRef(), key.sortop(), key.nulls_first()))
            .collect::<Vec<_>>()
    };
    let is_one_order = windows
        .windows(2)
        .all(|pair| sorted(pair[0].0) == sorted(pair[1].0));
    if !is_one_order && query.groupClause().is_empty() && Defence::Ties.stands() {
        for value in told_apart_by(query, from)? {
            let clause = tree::clause_for(query, value, "").ok_or_else(unsortable)?;
            for (window, _) in &windows {
                window.set_orderClause(window.orderClause().append(clause.copy()));
            }
        }
    }
    for (window, calls) in windows {
        let last = query.windowClause().into_iter();
        let last = last.map(|window| window.winref()).max();
        let number = last.unwrap_or_default() + 1;
        window.set_winref(number);
        query.set_windowClause(query.windowClause().append(window));
        for call in calls {
            call.set_winref(number);
        }
    }
    // PostgreSQL plans no window without a function.
    Ok(())
}

/// The window functions of a query. A query within it has its own.
fn own_calls<'t>(query: Ref<'t, Query>) -> Vec<Ref<'t, WindowFunc>> {
    let mut calls = Vec::new();
    for target in query.targetList() {
        tree::search(target.node(), &mut |node, _| {
            if node.cast::<Query>().is_some() && Defence::Levels.stands() {
                return Step::Past;
            }
            calls.extend(node.cast::<WindowFunc>());
            Step::Below
        });
    }
    calls
}

fn window_of<'t>(
    query: Ref<'t, Query>,
    call: Ref<'t, WindowFunc>,
) -> Option<Ref<'t, WindowClause>> {
    let mut windows = query.windowClause().into_iter();
    windows.find(|window| window.winref() == call.winref())
}

/// What no two rows of FROM have all of: the place of the row in each table. A key is none: the snapshot may be older
/// than its index, and of a joined table an analyst may see to that.
fn told_apart_by<'t>(query: Ref<'t, Query>, from: &From<'t>) -> Checked<Vec<Ref<'t, Node>>> {
    let refused = || {
        Reason::with_hint(
            "two windows of a sub-query number rows in different orders, and rows may be alike",
            "Use one order for both, as by a WINDOW clause; or number the rows in one sub-query, and with the other window \
             in a sub-query around it.",
        )
    };
    if from.has_public {
        return Err(refused());
    }
    let mut found = Vec::new();
    for (index, source) in &from.sources {
        match &source.rows {
            Rows::Table(policy) if policy::has_places(policy.relation) => {
                let place = pg_sys::SelfItemPointerAttributeNumber as i16;
                let (kind, none) = (pg_sys::TIDOID, Oid::INVALID);
                found.push(tree::var(query.memory(), *index, place, kind, -1, none));
            }
            // The person is among the columns of each window.
            Rows::Query(_) if source.one_row.stands() => {}
            _ => return Err(refused()),
        }
    }
    Ok(found)
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
    if !query.groupClause().is_empty() || query.hasAggs() {
        // A row is a group, and no two have the same keys.
        for key in query.groupClause() {
            let target = tree::sort_group_target(key, query.targetList());
            let clause = tree::sort_by(target, query.targetList()).ok_or_else(unsortable)?;
            add(&mut clauses, clause);
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
        add(&mut clauses, clause);
    }
    calls::check_clauses(clauses.iter().copied())?;
    Ok(clauses)
}

/// As above, and by the numbers that windows give to rows: rows that are alike else may have different ones.
pub fn in_order_with_numbers<'t>(
    query: Ref<'t, Query>,
    clauses: Vec<Ref<'t, SortGroupClause>>,
) -> Checked<Vec<Ref<'t, SortGroupClause>>> {
    let mut clauses = in_order(query, clauses)?;
    for call in own_calls(query) {
        let is_within = |target: &Ref<'t, TargetEntry>| {
            tree::any(target.node(), |node| {
                node.cast::<WindowFunc>() == Some(call)
            })
        };
        let mut targets = query.targetList().into_iter();
        let target = targets.find(is_within).ok_or_else(unsortable)?;
        let clause = tree::sort_by(target, query.targetList()).ok_or_else(unsortable)?;
        if Defence::Ties.stands() {
            add(&mut clauses, clause);
        }
    }
    calls::check_clauses(clauses.iter().copied())?;
    Ok(clauses)
}

/// The order in which LIMIT takes rows. Of DISTINCT no two rows show the same, and what they do not show is that of the
/// first one that came.
pub fn order_of_limit<'t>(query: Ref<'t, Query>) -> Checked<Vec<Ref<'t, SortGroupClause>>> {
    let mut clauses = query.sortClause().nodes();
    if query.distinctClause().is_empty() || !Defence::Ties.stands() {
        return in_order(query, clauses);
    }
    for target in query.targetList() {
        if target.resjunk() {
            continue;
        }
        let clause = tree::sort_by(target, query.targetList()).ok_or_else(unsortable)?;
        add(&mut clauses, clause);
    }
    calls::check_clauses(clauses.iter().copied())?;
    Ok(clauses)
}

/// Adds a clause to sort by, unless its expression is sorted by already.
pub fn add<'t>(clauses: &mut Vec<Ref<'t, SortGroupClause>>, clause: Ref<'t, SortGroupClause>) {
    let number = clause.tleSortGroupRef();
    if !clauses
        .iter()
        .any(|known| known.tleSortGroupRef() == number)
    {
        clauses.push(clause);
    }
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
