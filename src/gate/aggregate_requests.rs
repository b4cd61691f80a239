//! What the aggregates of a block ask for.

use dp_core::registry;
use dp_core::request::ranks::MOST;
use dp_core::request::unit::Given;
use pgrx::pg_sys::{self, Aggref, Node, NodeTag, Oid};

use crate::aggregates::SIGNATURES;
use crate::call::signature::Role;
use crate::gate::block::Block;
use crate::gate::floats;
use crate::gate::policy::quoted;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::array::row_of_numbers;
use crate::pg::extension;
use crate::pg::fmgr::float8;
use crate::pg::settings;
use crate::pg::tree::{self, Ref, Step};
use crate::types::mechanism;

/// OIDs from here on are not PostgreSQL's own.
const FIRST_OF_OTHERS: u32 = 10_000;

/// The largest magnitude of a bound.
const LARGEST: f64 = 1e100;

/// What one aggregate asks for.
pub enum What {
    /// Rows.
    Count,
    /// People.
    People,
    Mean,
    Sum,
    Variance,
    Stddev,
    /// The quantile of this rank, from 0 to 1.
    Quantile(f64),
    /// Those of these ranks; NULL is `None`.
    Quantiles(Vec<Option<f64>>),
    /// What is asked of two columns.
    OfTwo(OfTwo),
    /// The lower public bound.
    Least,
    /// The upper public bound.
    Greatest,
    /// What an aggregate of ours answers.
    Own(Own),
}

impl What {
    /// Whether it is a mean or a sum: these may be one release, with a count.
    pub fn is_of_numbers(&self) -> bool {
        matches!(self, Self::Mean | Self::Sum)
    }

    /// Whether it may find its bounds where nothing bounds the numbers.
    fn may_find_bounds(&self) -> bool {
        self.is_of_numbers() || matches!(self, Self::Variance | Self::Stddev)
    }
}

/// What PostgreSQL's aggregates of two columns answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTwo {
    Slope,
    Intercept,
    Correlation,
    R2,
    Covariance,
    MeanOfY,
    MeanOfX,
    Count,
}

impl OfTwo {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "regr_slope" => Self::Slope,
            "regr_intercept" => Self::Intercept,
            "corr" => Self::Correlation,
            "regr_r2" => Self::R2,
            "covar_pop" | "covar_samp" => Self::Covariance,
            "regr_avgy" => Self::MeanOfY,
            "regr_avgx" => Self::MeanOfX,
            "regr_count" => Self::Count,
            _ => return None,
        })
    }

    /// The aggregate that answers this alone, and more accurately than `dp_regr`, if there is one.
    pub fn alone(self) -> Option<&'static str> {
        match self {
            Self::Slope => Some("dp_regr_slope"),
            Self::Intercept => Some("dp_regr_intercept"),
            Self::Correlation => Some("dp_corr"),
            Self::Covariance => Some("dp_covar_pop"),
            Self::R2 | Self::MeanOfY | Self::MeanOfX | Self::Count => None,
        }
    }

    /// Which field of `dp_regr_answer` it is, from 1.
    pub fn field(self) -> i16 {
        match self {
            Self::Slope => 1,
            Self::Intercept => 2,
            Self::Correlation => 3,
            Self::R2 => 4,
            Self::Covariance => 5,
            Self::MeanOfY => 6,
            Self::MeanOfX => 7,
            Self::Count => 10,
        }
    }
}

/// A column of numbers between public bounds.
#[derive(Clone, Copy)]
pub struct Numbers<'t> {
    pub argument: Ref<'t, Node>,
    pub bounds: (f64, f64),
}

/// An aggregate of ours, called by name.
pub struct Own {
    pub name: &'static str,
    /// The public arguments but for the mechanism, in their order.
    pub arguments: Vec<(Role, f64)>,
    /// Which quantiles, of an aggregate that answers several.
    pub quantiles: Option<Vec<Option<f64>>>,
    pub mechanism: Option<String>,
}

impl Own {
    /// The value of an argument.
    pub fn value(&self, role: Role) -> Option<f64> {
        let found = self.arguments.iter().find(|(known, _)| *known == role);
        found.map(|(_, value)| *value)
    }

    /// The rows and groups of a person that it asks for by its mechanism.
    pub fn given(&self) -> Checked<Given> {
        let text = self.mechanism.as_deref();
        let given = text.map_or(Ok(Given::default()), registry::given_unit);
        given.map_err(|error| Reason::with_hint(error.to_string(), error.hint.clone()))
    }
}

/// An aggregate of a block, checked.
pub struct Asked<'t> {
    pub call: Ref<'t, Aggref>,
    pub what: What,
    /// What it is about, as it is computed for private rows: a number, or for counts anything that is not NULL.
    pub argument: Option<Ref<'t, Node>>,
    pub filter: Option<Ref<'t, Node>>,
    /// Of an argument that is a number.
    pub bounds: Option<(f64, f64)>,
    /// The second of two columns; the argument is the first.
    pub x: Option<Numbers<'t>>,
}

impl<'t> Asked<'t> {
    /// Whether both are about the same numbers of the same rows.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        same(self.argument, other.argument)
            && same(self.x.map(|x| x.argument), other.x.map(|x| x.argument))
            && self.x.map(|x| x.bounds) == other.x.map(|x| x.bounds)
            && same(self.filter, other.filter)
            && (self.bounds == other.bounds || self.bounds.is_none() || other.bounds.is_none())
    }
}

/// The most groups that a person is kept in: those of the policy, or fewer where an aggregate asks for that. What is
/// more than the policy's is refused, as what the noise is for must be what a person counts for.
pub fn groups<'t>(block: &Block<'t>, asked: &[Asked<'t>]) -> Checked<u32> {
    let mut least: Option<u32> = None;
    for own in asked.iter().filter_map(|asked| match &asked.what {
        What::Own(own) => Some(own),
        _ => None,
    }) {
        let given = own.given()?;
        for (name, given, most) in [
            ("rows", given.rows, block.most_rows),
            ("groups", given.groups, block.most_groups),
        ] {
            if let Some(given) = given.filter(|given| *given > most) {
                return Err(Reason::with_hint(
                    format!(
                        "{} asks for {name}={given}, above the {most} of its policy",
                        own.name
                    ),
                    format!(
                        "Ask for {name}={most} or less, or leave {name}= out. The owner of the table says how many by \
                         dp_protect(..., {name} => {most})."
                    ),
                ));
            }
        }
        match (least, given.groups) {
            (Some(one), Some(other)) if one != other => {
                return Err(Reason::with_hint(
                    format!("two aggregates of the query ask for groups={one} and groups={other}"),
                    "Say the same groups= in all of them, or ask in queries of their own.",
                ));
            }
            (_, groups) => least = least.or(groups),
        }
    }
    Ok(least.unwrap_or(block.most_groups))
}

/// Whether both are absent, or say the same.
pub fn same<'t>(one: Option<Ref<'t, Node>>, other: Option<Ref<'t, Node>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.same(other),
        _ => false,
    }
}

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
    };
    if !call.aggdistinct().is_empty() {
        let first = arguments.first().copied();
        let (unit, condition) = match first.and_then(only_where) {
            Some((condition, value)) => (Some(value), Some(condition)),
            None => (first, None),
        };
        let unit = unit.and_then(|unit| unit.cast::<pg_sys::Var>());
        let is_unit = unit.is_some_and(|unit| {
            unit.varlevelsup() == 0 && block.from.is_person((unit.varno(), unit.varattno()))
        });
        if !(is_builtin && name == "count" && is_unit) {
            return Err(Reason::with_hint(
                format!("{name} with DISTINCT cannot be used"),
                "count(DISTINCT ...) of the column that names the person counts people.",
            ));
        }
        let condition = block.checker.safe_if(condition)?;
        asked.filter = tree::both(asked.filter, condition);
        asked.what = What::People;
        return Ok(asked);
    }
    if is_own {
        return own(block, asked, &name, &arguments);
    }
    if !is_builtin {
        return Err(refused(call.aggfnoid()));
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
        "min" | "max" if !settings::previews_are_empty() => return Err(extreme(&name)),
        "min" => What::Least,
        "max" => What::Greatest,
        _ => match OfTwo::named(&name) {
            Some(of_two) => What::OfTwo(of_two),
            None => return Err(refused(call.aggfnoid())),
        },
    };
    if let (What::OfTwo(_), [y, x]) = (&asked.what, arguments.as_slice()) {
        let y = bounded(block, &name, *y)?;
        asked.argument = Some(y.argument);
        asked.bounds = Some(y.bounds);
        asked.x = Some(bounded(block, &name, *x)?);
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
        let range = block.range(block.checker.folded(argument.copy()));
        let finds_bounds = block.policy.label.auto_bounds && block.has_one_row_each();
        if range.is_none() && finds_bounds && asked.what.may_find_bounds() {
            asked.argument = Some(number(block, *argument)?);
            return Ok(asked);
        }
        let numbers = bounded(block, &name, *argument)?;
        asked.argument = Some(numbers.argument);
        asked.bounds = Some(numbers.bounds);
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

/// An expression as the numbers that the aggregate `name` is about, with its public bounds.
fn bounded<'t>(block: &Block<'t>, name: &str, argument: Ref<'t, Node>) -> Checked<Numbers<'t>> {
    let range = block.range(block.checker.folded(argument.copy()));
    Ok(Numbers {
        argument: number(block, argument)?,
        bounds: checked_bounds(range.ok_or_else(|| no_bounds(name))?)?,
    })
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

/// An expression as the number that an aggregate is about.
fn number<'t>(block: &Block<'t>, argument: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
    const NUMBERS: [Oid; 6] = [
        pg_sys::INT2OID,
        pg_sys::INT4OID,
        pg_sys::INT8OID,
        pg_sys::FLOAT4OID,
        pg_sys::FLOAT8OID,
        pg_sys::NUMERICOID,
    ];
    if !NUMBERS.contains(&tree::type_of(argument)) {
        return Err("aggregate argument is not numeric".into());
    }
    let float = floats::float(argument).ok_or("aggregate argument is not numeric")?;
    block.checker.safe(float)
}

/// A single value as bounds becomes a narrow range around it; none may be too large.
fn checked_bounds((lo, hi): (f64, f64)) -> Checked<(f64, f64)> {
    if !(lo <= hi && lo.abs() <= LARGEST && hi.abs() <= LARGEST) {
        return Err("aggregate argument may exceed 1e100".into());
    }
    let width = if lo == hi {
        lo.abs().max(1.0) / 1024.0
    } else {
        0.0
    };
    Ok((lo - width, hi + width))
}

/// An aggregate of ours.
fn own<'t>(
    block: &Block<'t>,
    mut asked: Asked<'t>,
    name: &str,
    arguments: &[Ref<'t, Node>],
) -> Checked<Asked<'t>> {
    const TAKEN: [&str; 19] = [
        "dp_mean",
        "dp_mean_and_count",
        "dp_mean_estimate",
        "dp_sum",
        "dp_sum_estimate",
        "dp_count",
        "dp_count_estimate",
        "dp_var_pop",
        "dp_stddev_pop",
        "dp_var_pop_estimate",
        "dp_histogram",
        "dp_quantile",
        "dp_quantiles",
        "dp_median",
        "dp_covar_pop",
        "dp_corr",
        "dp_regr",
        "dp_regr_slope",
        "dp_regr_intercept",
    ];
    let Some(name) = TAKEN.into_iter().find(|known| *known == name) else {
        return Err(refused(asked.call.aggfnoid()));
    };
    let roles = SIGNATURES
        .iter()
        .filter(|(known, _)| *known == name)
        .find_map(|(_, signature)| signature.of_call(arguments.len()))
        .ok_or("aggregate arguments do not match its declaration")?;
    let mut own = Own {
        name,
        arguments: Vec::new(),
        quantiles: None,
        mechanism: None,
    };
    let mut x = None;
    for (parameter, argument) in roles.zip(arguments) {
        match parameter.role {
            Role::X if name.starts_with("dp_count") => {
                if !block.is_never_null(*argument) {
                    asked.argument = Some(block.checker.safe(*argument)?);
                }
            }
            Role::X => x = Some(number(block, *argument)?),
            Role::Y => asked.argument = Some(number(block, *argument)?),
            role => {
                let value = tree::constant(block.checker.folded(argument.copy()));
                let Some(value) = value else {
                    return Err(Reason::with_hint(
                        format!("argument \"{}\" of {name} is not a constant", role.name()),
                        "Write a number, or give a parameter without plan_cache_mode = force_generic_plan.",
                    ));
                };
                // A mechanism may have a budget of its own.
                if value.is_none() && role == Role::Epsilon {
                    continue;
                }
                let Some(value) = value else {
                    return Err(format!("argument \"{}\" of {name} is NULL", role.name()).into());
                };
                match role {
                    // SAFETY: the signature says that the argument is a dp_mechanism.
                    Role::Mechanism => own.mechanism = Some(unsafe { mechanism::text_of(value) }),
                    Role::Quantiles => {
                        // SAFETY: the signature says that it is a float8[], and the constant lives as long as the
                        // query.
                        let quantiles = unsafe { row_of_numbers(value, MOST + 1) };
                        own.quantiles = Some(quantiles.ok_or_else(|| {
                            Reason::with_hint(
                                format!(
                                    "argument \"{}\" of {name} has several dimensions",
                                    role.name()
                                ),
                                "Write the numbers in one row: ARRAY[0.25, 0.5, 0.75].",
                            )
                        })?);
                    }
                    Role::Buckets => own.arguments.push((role, f64::from(value.value() as i32))),
                    _ => own.arguments.push((role, float8(value))),
                }
            }
        }
    }
    let between = |lo, hi| match (own.value(lo), own.value(hi)) {
        (Some(lo), Some(hi)) if lo < hi && lo.abs() <= LARGEST && hi.abs() <= LARGEST => {
            Ok(Some((lo, hi)))
        }
        (Some(_), Some(_)) => Err(Reason::new(
            "aggregate bounds must be lo < hi, from -1e100 to 1e100".to_owned(),
        )),
        _ => Ok(None),
    };
    match between(Role::XLo, Role::XHi)? {
        Some(bounds) => {
            asked.bounds = between(Role::YLo, Role::YHi)?;
            asked.x = x.map(|argument| Numbers { argument, bounds });
        }
        None => {
            asked.bounds = between(Role::Lo, Role::Hi)?;
            asked.argument = x.or(asked.argument);
        }
    }
    asked.what = What::Own(own);
    Ok(asked)
}

/// The name of a function.
fn name_of(function: Oid) -> String {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    unsafe { tree::text_of(pg_sys::get_func_name(function)) }
}

/// The schema of the public aggregates.
pub fn schema() -> Checked<String> {
    let schema = extension::schema().ok_or("extension dp_mean does not exist")?;
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_namespace_name(schema)) };
    Ok(quoted(&name))
}

fn no_bounds(name: &str) -> Reason {
    Reason::with_hint(
        format!("no public bounds are declared for the argument of {name}"),
        "The owner of the table declares bounds by dp_declare(table, column, lo, hi); or give some, as in \
         dp_mean(x, 0, 100, 0.1).",
    )
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

fn refused(aggregate: Oid) -> Reason {
    // SAFETY: a lookup in the catalog, which answers for any number.
    let name = unsafe { tree::text_of(pg_sys::format_procedure(aggregate)) };
    Reason::with_hint(
        format!("aggregate {name} has no private answer"),
        "Ask for count, sum, avg, stddev, variance, percentile_cont, corr or regr_slope, or one of the aggregates of \
         dp_mean, such as dp_mean_estimate or dp_histogram.",
    )
}
