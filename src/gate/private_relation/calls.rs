//! Aggregates within the rows of one person: those of PostgreSQL that raise no error, whatever the rows are, and answer
//! alike in whatever order these come.

use pgrx::pg_sys::{self, Aggref, Datum, Node, Oid, Query, SortGroupClause};

use crate::gate::canonical_keys;
use crate::gate::defence::Defence;
use crate::gate::expression::{self, Checker};
use crate::gate::rejection::{Checked, Reason};
use crate::pg::fmgr::float8;
use crate::pg::tree::{self, List, Ref};

/// OIDs from here on are not PostgreSQL's own.
const FIRST_OF_OTHERS: u32 = 10_000;

/// The largest number that is added up; what is beyond counts as it. Sums and squares of such numbers are no overflow.
const LARGEST: f64 = 1e100;

/// The same, for `real`. A sum overflows at 3.4e38, which takes 3.4e18 rows of this size: no query lasts so long.
const LARGEST_REAL: f64 = 1e20;

/// Sums and the like of `numeric`, and those of `real` and `double precision`, by OID. Numbers of a fixed precision are
/// added up exactly, in any order.
const EXACT: [[u32; 3]; 8] = [
    [2114, 2110, 2111], // sum
    [2103, 2104, 2105], // avg
    [2723, 2721, 2722], // var_pop
    [2646, 2644, 2645], // var_samp
    [2153, 2151, 2152], // variance
    [2729, 2727, 2728], // stddev_pop
    [2717, 2715, 2716], // stddev_samp
    [2159, 2157, 2158], // stddev
];

/// What an aggregate does with its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Counts them.
    Count,
    /// Says whether all, or some, meet a condition.
    Condition,
    /// Answers one of their values.
    OneOf,
    /// Adds numbers up.
    Sum,
    Average,
    Variance,
    Deviation,
    /// Adds up two columns of floats.
    OfTwo,
    /// Answers a value between two of theirs.
    Between,
}

impl What {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "count" | "regr_count" => Self::Count,
            "bool_and" | "bool_or" | "every" => Self::Condition,
            "min" | "max" | "mode" | "percentile_disc" => Self::OneOf,
            "sum" => Self::Sum,
            "avg" => Self::Average,
            "var_pop" | "var_samp" | "variance" => Self::Variance,
            "stddev_pop" | "stddev_samp" | "stddev" => Self::Deviation,
            "corr" | "covar_pop" | "covar_samp" | "regr_avgx" | "regr_avgy" | "regr_intercept"
            | "regr_r2" | "regr_slope" | "regr_sxx" | "regr_sxy" | "regr_syy" => Self::OfTwo,
            "percentile_cont" => Self::Between,
            _ => return None,
        })
    }
}

/// An aggregate of the rows of one person, in its safe form.
pub fn aggregate<'t>(checker: &Checker<'t>, call: Ref<'t, Aggref>) -> Checked<Ref<'t, Node>> {
    if call.agglevelsup() != 0 {
        return Err("an aggregate of an outer query is used inside the query".into());
    }
    let function = call.aggfnoid();
    let what = what(function)?;
    call.set_aggfilter(checker.safe_if(call.aggfilter())?);
    let arguments = call.args().into_iter();
    let arguments = arguments.filter_map(|argument| argument.expr());
    expression::check_collation(call.inputcollid(), tree::list_of(arguments))?;
    check_order(call)?;
    let is_ordered_set = call.aggkind() as u8 != b'n';
    if is_ordered_set {
        check_direct(checker, call)?;
    } else if !call.aggorder().is_empty() {
        return Err(refused(function));
    }
    for argument in call.args() {
        let value = argument.expr().expect("an argument");
        argument.set_expr(Some(checker.safe(value)?));
    }
    if matches!(what, What::OneOf | What::Between) || !call.aggdistinct().is_empty() {
        // It answers one of several values that are equal, by the order in which rows come.
        for argument in call.args() {
            let value = argument.expr().expect("an argument");
            argument.set_expr(Some(in_one_form(checker, value)));
        }
    }
    match what {
        What::Count | What::Condition => {}
        What::OneOf => {
            let first = call.args().into_iter().next();
            let first = first.and_then(|first| first.expr());
            if !first.is_some_and(canonical_keys::can_have_one_form) {
                return Err(refused(function));
            }
            check_comparable(first.map(tree::type_of), function)?;
        }
        What::Sum | What::Average | What::Variance | What::Deviation | What::Between => {
            for argument in call.args() {
                let value = argument.expr().expect("an argument");
                argument.set_expr(Some(bounded(value, function)?));
            }
            if let Some(exact) = exact(function) {
                return exact_aggregate(checker, call, exact);
            }
        }
        What::OfTwo => {
            for argument in call.args() {
                let value = argument.expr().expect("an argument");
                argument.set_expr(Some(bounded(value, function)?));
            }
            order_by_arguments(call);
        }
    }
    Ok(call.node())
}

/// An argument in the one form that equal values have.
pub fn in_one_form<'t>(checker: &Checker<'t>, value: Ref<'t, Node>) -> Ref<'t, Node> {
    let query = checker
        .query
        .filter(|_| value.cast::<pg_sys::Var>().is_none());
    query.map_or(value, |query| canonical_keys::one_form(query, value))
}

/// What an aggregate of PostgreSQL does; those that raise errors, or make long values, are refused.
fn what(function: Oid) -> Checked<What> {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    let what = What::named(&name).filter(|_| function.to_u32() < FIRST_OF_OTHERS);
    what.ok_or_else(|| refused(function))
}

/// That rows are sorted by total functions, where an aggregate sorts them.
fn check_order(call: Ref<Aggref>) -> Checked<()> {
    let clauses = call.aggorder().into_iter().chain(call.aggdistinct());
    check_clauses(clauses)
}

/// That values are compared by total functions.
pub fn check_clauses<'t>(
    clauses: impl IntoIterator<Item = Ref<'t, SortGroupClause>>,
) -> Checked<()> {
    let is_total =
        |operator: Oid| operator == Oid::INVALID || expression::is_total_operator(operator);
    let mut clauses = clauses.into_iter();
    match clauses.all(|clause| is_total(clause.eqop()) && is_total(clause.sortop())) {
        true => Ok(()),
        false => Err("cannot sort or group by values of this type".into()),
    }
}

/// That rows can be grouped without an error, whatever they are, and that equal keys can be made to look alike.
pub fn check_grouping<'t>(
    query: Ref<'t, Query>,
    clauses: &[Ref<'t, SortGroupClause>],
) -> Checked<()> {
    check_clauses(clauses.iter().copied())?;
    let mut keys = clauses
        .iter()
        .map(|clause| tree::sort_group_target(*clause, query.targetList()));
    match keys.all(|key| key.expr().is_some_and(canonical_keys::can_have_one_form)) {
        true => Ok(()),
        false => Err("cannot group by values of this type".into()),
    }
}

/// The fraction of a percentile, which is an error where it is no number from 0 to 1.
fn check_direct<'t>(checker: &Checker<'t>, call: Ref<'t, Aggref>) -> Checked<()> {
    let direct = call.aggdirectargs().into_iter();
    let direct = direct.map(|argument| checker.folded(argument.copy()));
    let direct: Vec<_> = direct.collect();
    for argument in &direct {
        let value = tree::constant(*argument).flatten();
        let is_fraction = tree::type_of(*argument) == pg_sys::FLOAT8OID
            && value.is_some_and(|value| (0.0..=1.0).contains(&float8(value)));
        if !is_fraction && Defence::Calls.stands() {
            return Err(Reason::with_hint(
                "the argument of a percentile of a person's rows is not a constant from 0 to 1",
                "Write a number, as in percentile_cont(0.5) WITHIN GROUP (ORDER BY cost).",
            ));
        }
    }
    call.set_aggdirectargs(tree::list_of(direct));
    Ok(())
}

fn check_comparable(kind: Option<Oid>, function: Oid) -> Checked<()> {
    match kind.is_some_and(expression::is_comparable) {
        true => Ok(()),
        false => Err(refused(function)),
    }
}

/// A number no larger than what can be added up without an overflow.
pub fn bounded<'t>(value: Ref<'t, Node>, function: Oid) -> Checked<Ref<'t, Node>> {
    let kind = tree::type_of(value);
    let largest = match kind {
        pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => return Ok(value),
        pg_sys::FLOAT4OID => LARGEST_REAL,
        pg_sys::FLOAT8OID | pg_sys::NUMERICOID => LARGEST,
        _ => return Err(refused(function)),
    };
    if !Defence::Calls.stands() {
        return Ok(value);
    }
    let end = |end: f64| {
        let bits = Datum::from(end.to_bits());
        let number = tree::number(value.memory(), pg_sys::FLOAT8OID, 8, bits);
        let number = tree::cast(number, kind).ok_or_else(|| refused(function))?;
        Ok::<_, Reason>(tree::fold(None, number))
    };
    let (lo, hi) = (end(-largest)?, end(largest)?);
    let above = choose(pg_sys::MinMaxOp::IS_GREATEST, kind, [value, lo]);
    // NaN is greater than all numbers.
    Ok(choose(pg_sys::MinMaxOp::IS_LEAST, kind, [above, hi]))
}

/// The greater or the lesser of two values. A NULL stays one.
fn choose<'t>(
    which: pg_sys::MinMaxOp::Type,
    kind: Oid,
    [value, end]: [Ref<'t, Node>; 2],
) -> Ref<'t, Node> {
    // GREATEST and LEAST pass NULLs over.
    tree::if_not_null(value, tree::choice(which, kind, [value, end]), kind)
}

/// The aggregate of `numeric` in the place of one of floats.
pub fn exact(function: Oid) -> Option<Oid> {
    let function = function.to_u32();
    let found = EXACT
        .iter()
        .find(|[_, single, double]| [*single, *double].contains(&function));
    found.map(|[numeric, _, _]| Oid::from_u32(*numeric))
}

/// An aggregate of floats, as one of exact numbers: a sum of floats depends on their order.
fn exact_aggregate<'t>(
    checker: &Checker<'t>,
    call: Ref<'t, Aggref>,
    exact: Oid,
) -> Checked<Ref<'t, Node>> {
    let wanted = call.aggtype();
    let arguments = call.args();
    if !call.aggdistinct().is_empty() {
        // These are sorted, and so in one order.
        return Ok(call.node());
    }
    for argument in arguments {
        let value = argument.expr().expect("an argument");
        argument.set_expr(Some(numeric(value)?));
    }
    call.set_aggfnoid(exact);
    call.set_aggtype(pg_sys::NUMERICOID);
    call.set_aggargtypes(call.memory().oids(&[pg_sys::NUMERICOID]));
    // A number may be too small for a float.
    checker.cast(call.node(), wanted)
}

/// A bounded float as an exact number.
pub fn numeric<'t>(value: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
    let exact = tree::cast(value, pg_sys::NUMERICOID);
    exact.ok_or_else(|| "an aggregate argument is not numeric".into())
}

/// Sorts the rows of an aggregate by its arguments.
fn order_by_arguments(call: Ref<Aggref>) {
    if !call.aggdistinct().is_empty() {
        return;
    }
    let targets = call.args();
    let clauses = targets
        .into_iter()
        .filter_map(|target| tree::sort_by(target, targets));
    call.set_aggorder(clauses.collect::<List<_>>());
}

/// Between which bounds the answer of an aggregate or window function lies, by those of its arguments.
pub fn limits(function: Oid, arguments: &[(f64, f64)]) -> Option<(f64, f64)> {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    if function.to_u32() >= FIRST_OF_OTHERS {
        return None;
    }
    const ANY: f64 = f64::INFINITY;
    let first = arguments.first().copied();
    let width = first
        .map(|(lo, hi)| hi - lo)
        .filter(|width| width.is_finite());
    match name.as_str() {
        "count" | "regr_count" => Some((0.0, ANY)),
        "row_number" | "rank" | "dense_rank" | "ntile" => Some((1.0, ANY)),
        "percent_rank" | "cume_dist" | "regr_r2" => Some((0.0, 1.0)),
        "corr" => Some((-1.0, 1.0)),
        "min" | "max" | "mode" | "avg" | "percentile_cont" | "percentile_disc" | "first_value"
        | "last_value" | "nth_value" => first,
        // Of what is not there, the third argument is the answer.
        "lag" | "lead" => {
            let default = arguments.get(2).copied();
            let default = default.or(first)?;
            let (lo, hi) = first?;
            Some((lo.min(default.0), hi.max(default.1)))
        }
        // Of numbers of one sign none makes a sum smaller than it is.
        "sum" => match first? {
            (lo, _) if lo >= 0.0 => Some((lo, ANY)),
            (_, hi) if hi <= 0.0 => Some((-ANY, hi)),
            _ => None,
        },
        // No deviation is larger than that of two values at the ends.
        "stddev" | "stddev_samp" | "stddev_pop" => Some((0.0, width?)),
        "variance" | "var_samp" | "var_pop" => Some((0.0, width? * width?)),
        _ => None,
    }
}

pub fn refused(function: Oid) -> Reason {
    // SAFETY: a lookup in the catalog, which answers for any number.
    let name = unsafe { tree::text_of(pg_sys::format_procedure(function)) };
    Reason::with_hint(
        format!("function {name} cannot be used on the rows of one person"),
        "Of one person's rows there are count, sum, avg, min, max, bool_and, bool_or, stddev, variance, \
         percentile_cont, percentile_disc, mode, corr and regr_slope.",
    )
}
