//! Reads the aggregates of a block from its query.

use dp_core::request::ranks::MOST;
use pgrx::pg_sys::{self, Aggref, Node, NodeTag, Oid};

use crate::gate::block::Block;
use crate::gate::conditions::EXACT;
use crate::gate::floats;
use crate::gate::key_tables;
use crate::gate::policy::{PERIOD_KINDS, quoted_name};
use crate::gate::private_relation;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::{Asked, OfTwo, What};
use crate::gate::requests::numbers::{bounded, number};
use crate::gate::requests::own::own;
use crate::pg::array::row_of_numbers;
use crate::pg::extension;
use crate::pg::fmgr::float8;
use crate::pg::procedure;
use crate::pg::settings;
use crate::pg::sql_type;
use crate::pg::tree::{self, Ref, Step};

/// OIDs from here on are not PostgreSQL's own.
const FIRST_OF_OTHERS: u32 = 10_000;
/// The aggregates of a block, each once.
pub fn collect<'t>(block: &Block<'t>) -> Checked<Vec<Asked<'t>>> {
    let mut calls: Vec<Ref<Aggref>> = Vec::new();
    let targets = block.query.targetList();
    let having = block.query.havingQual();
    for node in targets.any_kind().into_iter().chain(having) {
        find(node, &mut calls);
    }
    calls.into_iter().map(|call| asked(block, call)).collect()
}

fn find<'t>(node: Ref<'t, Node>, calls: &mut Vec<Ref<'t, Aggref>>) {
    tree::search(node, &mut |node, _| {
        if let Some(call) = node.cast::<Aggref>() {
            if !calls.iter().any(|known| known.same(call)) {
                calls.push(call);
            }
            return Step::Past;
        }
        match node.tag() {
            // Those of a sub-query are its own.
            NodeTag::T_Query => Step::Past,
            _ => Step::Below,
        }
    });
}

fn asked<'t>(block: &Block<'t>, call: Ref<'t, Aggref>) -> Checked<Asked<'t>> {
    if call.agglevelsup() != 0 {
        return Err("an aggregate of an outer query is used inside the query".into());
    }
    let name = name_of(call.aggfnoid());
    let is_builtin = call.aggfnoid().to_u32() < FIRST_OF_OTHERS;
    let is_own = !is_builtin && extension::has_function(call.aggfnoid());
    let quantile = percentile(block, call, &name)?;
    if call.aggkind() as u8 != b'n' && quantile.is_none() {
        return Err(refused(call.aggfnoid()));
    }
    if (quantile.is_none() && !call.aggorder().is_empty()) || call.aggvariadic() {
        return Err(format!("{name} with ORDER BY or VARIADIC cannot be used").into());
    }
    let filter = block.checker.safe_if(call.aggfilter())?;
    let filter = filter.map(|filter| flat(block, filter));
    let arguments: Vec<_> = call
        .args()
        .into_iter()
        .map(|entry| entry.expr().expect("an argument"))
        .map(|argument| flat(block, argument))
        .collect();
    let mut asked = Asked {
        call,
        what: What::Count,
        argument: None,
        filter,
        bounds: None,
        x: None,
        several: Vec::new(),
    };
    if !call.aggdistinct().is_empty() {
        let first = arguments.first().copied();
        let (unit, condition) = match first.and_then(only_where) {
            Some((condition, value)) => (Some(value), Some(condition)),
            None => (first, None),
        };
        let is_unit = unit.is_some_and(|unit| block.is_unit(unit));
        if !(is_builtin && name == "count") {
            return Err(Reason::with_hint(
                format!("{name} with DISTINCT cannot be used"),
                instead_of(&name).unwrap_or(
                    "count(DISTINCT ...) counts people, or values. For others GROUP BY the values, in a sub-query: \
                     SELECT sum(x) FROM (SELECT x FROM visits GROUP BY x) s.",
                ),
            ));
        }
        if !is_unit {
            let clause = call.aggdistinct().into_iter().next();
            let (value, clause) = first.zip(clause).ok_or("count has no argument")?;
            asked.argument = Some(block.counted_values(value, clause)?);
            asked.what = What::Values {
                are_keys: private_relation::is_of_one_row(&block.from, value),
            };
            return Ok(asked);
        }
        let condition = block.checker.safe_if(condition)?;
        asked.filter = tree::both(asked.filter, condition);
        asked.what = What::People;
        return Ok(asked);
    }
    if is_own {
        return match own(block, asked, &name, &arguments)? {
            Some(asked) => Ok(asked),
            None => Err(refused(call.aggfnoid())),
        };
    }
    if !is_builtin {
        return Err(refused(call.aggfnoid()));
    }
    if let ("min" | "max", Some(argument)) = (name.as_str(), arguments.first()) {
        if let (Some(number), None) = (constant(block, *argument), call.aggfilter()) {
            asked.what = What::Least;
            asked.bounds = Some((number, number));
            return Ok(asked);
        }
        let ends = block.ends(block.checker.folded(argument.copy()));
        if let Some((first, last)) = ends {
            asked.what = What::Moment(if name == "min" { first } else { last });
            return Ok(asked);
        }
        let has_end = settings::previews_are_empty() && has_numbers(&arguments) && {
            let folded = block.checker.folded(argument.copy());
            block.range(folded, call.aggfilter()).is_some()
        };
        let table = key_tables::table_of(&block.from, *argument);
        if let Some(table) = table.filter(|_| !has_end) {
            return Err(extreme_of_public(block, &name, table));
        }
    }
    asked.what = match name.as_str() {
        "percentile_cont" | "percentile_disc" => {
            quantile.ok_or_else(|| refused(call.aggfnoid()))?
        }
        "count" => What::Count,
        "avg" => What::Mean,
        "sum" => What::Sum,
        "variance" | "var_pop" | "var_samp" => What::Variance,
        "stddev" | "stddev_pop" | "stddev_samp" => What::Stddev,
        "min" | "max" if has_moments(&arguments) => return Err(extreme_moment(&name)),
        "min" | "max" if !has_numbers(&arguments) => return Err(extreme_value(&name)),
        "min" | "max" if !settings::previews_are_empty() => return Err(extreme(&name)),
        "min" => What::Least,
        "max" => What::Greatest,
        _ => match OfTwo::named(&name) {
            Some(of_two) => What::OfTwo(of_two),
            None => return Err(refused(call.aggfnoid())),
        },
    };
    if let (What::OfTwo(_), [y, x]) = (&asked.what, arguments.as_slice()) {
        let y = bounded(block, &name, *y, call.aggfilter())?;
        asked.argument = Some(y.argument);
        asked.bounds = Some(y.bounds);
        asked.x = Some(bounded(block, &name, *x, call.aggfilter())?);
        return Ok(asked);
    }
    if let (What::Count, Some(argument)) = (&asked.what, arguments.first()) {
        let argument = block.checker.folded(argument.copy());
        // Of what is never NULL all rows are counted.
        if !block.is_never_null(argument) {
            // Of a number, as its mean takes it: both may then be one release.
            asked.argument = Some(match number(block, argument) {
                Ok(number) => number,
                Err(_) => block.checker.safe(argument)?,
            });
        }
        return Ok(asked);
    }
    if let Some(argument) = arguments.first() {
        let range = block.range(block.checker.folded(argument.copy()), call.aggfilter());
        let finds_bounds = block.policy.label.auto_bounds && block.has_one_row_each();
        if range.is_none() && finds_bounds && asked.what.may_find_bounds() {
            asked.argument = Some(number(block, *argument)?);
            return Ok(asked);
        }
        let numbers = bounded(block, &name, *argument, call.aggfilter())?;
        asked.argument = Some(numbers.argument);
        asked.bounds = Some(numbers.bounds);
        if matches!(asked.what, What::Least | What::Greatest) {
            // Nothing is computed with these, so a single value need not be a range.
            let argument = block.checker.folded(argument.copy());
            let known = block.without_null_tests(argument);
            asked.bounds = block
                .range(block.checker.folded(known), call.aggfilter())
                .or(asked.bounds);
        }
    }
    Ok(asked)
}

/// The condition and the value of `CASE WHEN condition THEN value END`.
fn only_where(node: Ref<Node>) -> Option<(Ref<Node>, Ref<Node>)> {
    let case = node.cast::<pg_sys::CaseExpr>()?;
    let [when] = case.args().nodes()[..] else {
        return None;
    };
    let other = case.defresult();
    let has_other = other.is_some_and(|other| tree::constant(other) != Some(None));
    let when = when.cast::<pg_sys::CaseWhen>()?;
    let is_plain = case.arg().is_none() && !has_other;
    is_plain.then(|| when.expr().zip(when.result())).flatten()
}

/// What `percentile_cont(q) WITHIN GROUP (ORDER BY x)` or `percentile_disc` asks for, of one constant q or of an array
/// of some; one is counted from below also where the order is descending.
fn percentile<'t>(block: &Block<'t>, call: Ref<'t, Aggref>, name: &str) -> Checked<Option<What>> {
    // percentile_cont and percentile_disc, of one number and of an array.
    const OF_ONE: [u32; 2] = [3974, 3972];
    const OF_MANY: [u32; 2] = [3980, 3978];
    // Of smallint, integer, bigint, real, double precision and numeric.
    const ASCENDING: [u32; 6] = [95, 97, 412, 622, 672, 1754];
    const DESCENDING: [u32; 6] = [520, 521, 413, 623, 674, 1756];
    const HINT: &str = "Give a constant between 0 and 1, as in percentile_cont(0.5), or an array of some in \
     ascending order: \
                        percentile_cont(ARRAY[0.25, 0.5, 0.75]).";
    let function = call.aggfnoid().to_u32();
    let is_many = OF_MANY.contains(&function);
    let order = call.aggorder().nodes();
    let by = order.first().map_or(0, |order| order.sortop().to_u32());
    let falls = DESCENDING.contains(&by);
    if !(is_many || OF_ONE.contains(&function)) || !(falls || ASCENDING.contains(&by)) {
        return Ok(None);
    }
    let unfit = |what: &str| Reason::with_hint(format!("the argument of {name} {what}"), HINT);
    let direct = call.aggdirectargs().into_iter().next();
    let direct = direct.map(|direct| block.checker.folded(direct.copy()));
    let value = direct.and_then(tree::constant);
    let value = value.ok_or_else(|| unfit("is not a constant"))?;
    let value = value.ok_or_else(|| unfit("is NULL"))?;
    if !is_many {
        let q = float8(value);
        return Ok(Some(What::Quantile(if falls { 1.0 - q } else { q })));
    }
    if falls {
        return Err(Reason::with_hint(
            format!("{name} of an array is asked for in descending order"),
            "Order the other way, and take 1 less each number.",
        ));
    }
    // SAFETY: the function takes a float8[], and the constant lives as long as the query.
    let quantiles = unsafe { row_of_numbers(value, MOST + 1) };
    let quantiles = quantiles.ok_or_else(|| unfit("is an array of several dimensions"))?;
    Ok(Some(What::Quantiles(quantiles)))
}

/// The columns of joins in an expression by those that they stand for.
fn flat<'t>(block: &Block<'t>, node: Ref<'t, Node>) -> Ref<'t, Node> {
    tree::flatten_joins(block.query, node)
}

/// The number that an expression is in all rows.
fn constant<'t>(block: &Block<'t>, argument: Ref<'t, Node>) -> Option<f64> {
    let argument = block.checker.folded(argument.copy());
    let known = block.checker.folded(block.without_null_tests(argument));
    if !sql_type::is_number(tree::type_of(known)) {
        return None;
    }
    tree::constant(known)??;
    let float = tree::constant(block.checker.folded(floats::float(known)?))??;
    Some(float8(float)).filter(|number| number.abs() < EXACT)
}

/// The name of a function.
fn name_of(function: Oid) -> String {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    unsafe { tree::text_of(pg_sys::get_func_name(function)) }
}
fn extreme(name: &str) -> Reason {
    let q = if name == "min" { 0.01 } else { 0.99 };
    Reason::with_hint(
        format!("{name} would be the value of one person"),
        format!(
            "Ask for a quantile near the end, as in dp_quantile(x, lo, hi, {q}, 0.1); or SET dp_mean.previews = \
             'empty', \
             and {name} is the public bound of the column."
        ),
    )
}

/// Of columns of a public table, whose rows anybody may read; and which of them are joined, private rows say.
fn extreme_of_public(block: &Block, name: &str, table: i32) -> Reason {
    let entry = tree::entry(block.query, table);
    let of = match entry.rtekind() {
        pg_sys::RTEKind::RTE_RELATION => quoted_name(entry.relid()),
        _ => "the joined list".to_owned(),
    };
    Reason::with_hint(
        format!("{name} of what {of} has: which of its rows are joined is about people"),
        format!(
            "Put the column into GROUP BY, as in SELECT x, count(*) ... GROUP BY x: a value with rows has a number far \
             from 0. Or ask for {name}(x) of {of} alone, which you may read."
        ),
    )
}

/// Whether an aggregate is of days or times.
fn has_moments(arguments: &[Ref<Node>]) -> bool {
    let first = arguments.first().copied().map(tree::type_of);
    first.is_some_and(|kind| PERIOD_KINDS.contains(&kind))
}

/// Whether an aggregate is of numbers.
fn has_numbers(arguments: &[Ref<Node>]) -> bool {
    let first = arguments.first().copied().map(tree::type_of);
    // SAFETY: a lookup in the catalog, which answers for any number.
    first.is_some_and(|kind| unsafe { pg_sys::TypeCategory(kind) } as u8 == b'N')
}

fn extreme_value(name: &str) -> Reason {
    Reason::with_hint(
        format!("{name} would be the value of one person"),
        "GROUP BY the column, and count the rows of each value: those of enough people are shown.",
    )
}

fn extreme_moment(name: &str) -> Reason {
    Reason::with_hint(
        format!("{name} would be the value of one person"),
        format!(
            "The owner of the table declares the first and the last day of the column by dp_declare(table, column, \
             first, last), and {name}(column) is one of them; or count rows by date_trunc('month', x).",
        ),
    )
}

/// What is asked for in the place of an aggregate of PostgreSQL.
fn instead_of(aggregate: &str) -> Option<&'static str> {
    Some(match aggregate {
        "mode" => {
            "The most common value is the first of the groups: SELECT x FROM visits GROUP BY x ORDER BY count(*) DESC \
             LIMIT 1."
        }
        "bool_and" | "bool_or" | "every" => {
            "It would be decided by one row. avg(CASE WHEN x > 0 THEN 1 ELSE 0 END) is the share of rows that a condition \
             is true for, and count(*) FILTER (WHERE x > 0) their number."
        }
        "array_agg" | "string_agg" | "json_agg" | "jsonb_agg" => {
            "GROUP BY the values, and put those together that are shown: SELECT string_agg(x, ', ') FROM (SELECT x FROM \
             visits GROUP BY x) s."
        }
        _ => return None,
    })
}

fn refused(aggregate: Oid) -> Reason {
    // SAFETY: a lookup in the catalog, which answers for any number.
    let name = unsafe { tree::text_of(pg_sys::format_procedure(aggregate)) };
    let plain = name.split('(').next().unwrap_or_default();
    let instead = instead_of(plain).filter(|_| procedure::is_pinned(aggregate));
    Reason::with_hint(
        format!("aggregate {name} has no private answer"),
        instead.unwrap_or(
            "Ask for count, sum, avg, stddev, variance, percentile_cont, corr or regr_slope, or one of the aggregates of \
         dp_mean, such as dp_mean_estimate or dp_histogram.",
        ),
    )
}
