//! The aggregates of ours that a block calls by name.

use dp_core::registry;
use dp_core::request::ranks::MOST;
use pgrx::pg_sys::{self, Datum, Node};

use crate::aggregates::SIGNATURES;
use crate::call::signature::Role;
use crate::gate::block::Block;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::{Asked, Numbers, Own, Reads, What};
use crate::gate::requests::numbers::{LARGEST, number};
use crate::pg::array::row_of_numbers;
use crate::pg::fmgr::float8;
use crate::pg::tree::{self, Ref};
use crate::types::mechanism;

const TAKEN: [(&str, Reads); 35] = [
    ("dp_mean", Reads::Numbers),
    ("dp_mean_and_count", Reads::Numbers),
    ("dp_mean_estimate", Reads::Numbers),
    ("dp_sum", Reads::Numbers),
    ("dp_sum_estimate", Reads::Numbers),
    ("dp_count", Reads::Counted),
    ("dp_count_estimate", Reads::Counted),
    ("dp_count_distinct", Reads::People),
    ("dp_count_distinct_estimate", Reads::People),
    ("dp_counts", Reads::Questions),
    ("dp_counts_estimate", Reads::Questions),
    ("dp_sums", Reads::Vectors),
    ("dp_sums_estimate", Reads::Vectors),
    ("dp_means", Reads::Vectors),
    ("dp_var_pop", Reads::Numbers),
    ("dp_stddev_pop", Reads::Numbers),
    ("dp_var_pop_estimate", Reads::Numbers),
    ("dp_histogram", Reads::Numbers),
    ("dp_cdf", Reads::Numbers),
    ("dp_cdf_estimate", Reads::Numbers),
    ("dp_bounds", Reads::NumbersOfRows),
    ("dp_clamped", Reads::NumbersOfRows),
    ("dp_quantile", Reads::Numbers),
    ("dp_quantiles", Reads::Numbers),
    ("dp_quantile_estimate", Reads::Numbers),
    ("dp_median", Reads::Numbers),
    ("dp_covar_pop", Reads::Numbers),
    ("dp_corr", Reads::Numbers),
    ("dp_corr_estimate", Reads::Numbers),
    ("dp_regr", Reads::Numbers),
    ("dp_linear_regression", Reads::Columns),
    ("dp_regr_slope", Reads::Numbers),
    ("dp_regr_intercept", Reads::Numbers),
    ("dp_weighted_mean", Reads::Numbers),
    ("dp_weighted_mean_estimate", Reads::Numbers),
];

/// What an aggregate of ours asks for; `None` if it is none that the gate takes.
pub fn own<'t>(
    block: &Block<'t>,
    mut asked: Asked<'t>,
    name: &str,
    arguments: &[Ref<'t, Node>],
) -> Checked<Option<Asked<'t>>> {
    let Some((name, reads)) = TAKEN.into_iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let roles = SIGNATURES
        .iter()
        .filter(|(known, _)| *known == name)
        .find_map(|(_, signature)| signature.of_call(arguments.len()))
        .ok_or("aggregate arguments do not match its declaration")?;
    let roles: Vec<Role> = roles.map(|parameter| parameter.role).collect();
    // The last one represents all that follow.
    let last = roles.last().copied();
    let roles = roles.into_iter().chain(last.into_iter().cycle());
    let mut own = Own {
        name,
        reads,
        arguments: Vec::new(),
        quantiles: None,
        columns: [const { Vec::new() }; 2],
        mechanism: None,
    };
    let mut x = None;
    let mut without_bounds = false;
    for (role, argument) in roles.zip(arguments) {
        match role {
            Role::X if reads == Reads::Counted => {
                if !block.is_never_null(*argument) {
                    asked.argument = Some(block.checker.safe(*argument)?);
                }
            }
            Role::Id if block.is_unit(*argument) => {}
            Role::Id => {
                return Err(Reason::with_hint(
                    format!("{name} of another column than that of the person cannot be used"),
                    "Of the column that names the person it counts people. Values are counted by count(DISTINCT ...).",
                ));
            }
            Role::Predicates if tree::type_of(*argument) == pg_sys::BOOLOID => {
                asked.several.push(block.checker.safe(*argument)?);
            }
            Role::Predicates => {
                return Err(Reason::with_hint(
                    format!("a question of {name} is not a boolean"),
                    "Ask yes/no questions, as in age > 40; cast a NULL to boolean.",
                ));
            }
            Role::X if matches!(reads, Reads::Vectors | Reads::Columns) => {
                let elements = elements(*argument, name)?.into_iter();
                let numbers = elements.map(|element| number(block, element));
                asked.several = numbers.collect::<Checked<_>>()?;
            }
            Role::X => x = Some(number(block, *argument)?),
            Role::Y => asked.argument = Some(number(block, *argument)?),
            role => {
                let value = tree::constant(block.checker.folded(argument.copy()));
                let value = value.ok_or_else(|| not_constant(name, role))?;
                match (value, role) {
                    (Some(value), _) => own.add(role, value)?,
                    // A mechanism may have a budget of its own.
                    (None, Role::Epsilon) => {}
                    // Or find them.
                    (None, Role::Lo | Role::Hi) => without_bounds = true,
                    (None, _) => return Err(is_null(name, role)),
                }
            }
        }
    }
    own.check(block, &asked, without_bounds)?;
    match own.between(Role::XLo, Role::XHi)? {
        _ if reads == Reads::Columns => asked.bounds = own.between(Role::YLo, Role::YHi)?,
        Some(bounds) => {
            asked.bounds = own.between(Role::YLo, Role::YHi)?;
            asked.x = x.map(|argument| Numbers { argument, bounds });
        }
        None => {
            asked.bounds = own.between(Role::Lo, Role::Hi)?;
            asked.argument = x.or(asked.argument);
        }
    }
    asked.what = What::Own(own);
    Ok(Some(asked))
}

impl Own {
    /// Adds a public argument.
    fn add(&mut self, role: Role, value: Datum) -> Checked<()> {
        match role {
            // SAFETY: the signature says that the argument is a dp_mechanism.
            Role::Mechanism => self.mechanism = Some(unsafe { mechanism::text_of(value) }),
            Role::Quantiles => self.quantiles = Some(self.row(role, value)?),
            Role::XLo if self.reads == Reads::Columns => self.columns[0] = self.row(role, value)?,
            Role::XHi if self.reads == Reads::Columns => self.columns[1] = self.row(role, value)?,
            Role::Buckets | Role::Points => {
                let value = f64::from(value.value() as i32);
                self.arguments.push((role, value));
            }
            _ => self.arguments.push((role, float8(value))),
        }
        Ok(())
    }

    /// The numbers of a public argument that is an array.
    fn row(&self, role: Role, value: Datum) -> Checked<Vec<Option<f64>>> {
        // SAFETY: the signature says that it is a float8[], and the constant lives as long as the query.
        let numbers = unsafe { row_of_numbers(value, MOST + 1) };
        numbers.ok_or_else(|| {
            Reason::with_hint(
                format!(
                    "argument \"{}\" of {} has several dimensions",
                    role.name(),
                    self.name
                ),
                "Write the numbers in one row: ARRAY[0.25, 0.5, 0.75].",
            )
        })
    }

    /// Refuses what has no answer here.
    fn check(&self, block: &Block, asked: &Asked, without_bounds: bool) -> Checked<()> {
        let name = self.name;
        let is_row = block.has_one_row_each();
        let finds_bounds = matches!(self.mechanism.as_deref(), Some(text) if is_auto(text));
        let has_bound = self.value(Role::Lo).or(self.value(Role::Hi)).is_some();
        if without_bounds && (!finds_bounds || has_bound) {
            return Err(is_null(name, Role::Lo));
        }
        if without_bounds && !is_row {
            return Err(Reason::with_hint(
                format!("{name} finds bounds where there is one row for each person"),
                "Give bounds, as in dp_mean(x, 0, 100, 0.1); or ask about a row for each person: FROM (SELECT person, \
                 avg(x) AS x FROM ... GROUP BY person) AS s.",
            ));
        }
        match self.reads {
            Reads::NumbersOfRows if !is_row => Err(Reason::with_hint(
                format!("{name} needs one row for each person"),
                "Ask about a row for each person: FROM (SELECT person, avg(x) AS x FROM ... GROUP BY person) AS s.",
            )),
            Reads::Vectors if !is_row => Err(Reason::with_hint(
                format!("{name} needs one row for each person"),
                "Ask for sum(a), sum(b) or avg(a), avg(b) instead: where that costs less they are one release. Or ask \
                 about a row for each person: FROM (SELECT person, avg(a) AS a, avg(b) AS b FROM ... GROUP BY person) \
                 AS s.",
            )),
            Reads::Columns if !is_row => Err(Reason::with_hint(
                format!("{name} needs one row for each person"),
                "Ask about a row for each person: FROM (SELECT person, avg(y) AS y, avg(a) AS a, avg(b) AS b FROM ... \
                 GROUP BY person) AS s.",
            )),
            Reads::Columns => self.check_columns(asked.several.len()),
            Reads::Questions if !is_row && self.rows_of(block)? > 1 => Err(Reason::with_hint(
                format!("{name} counts people, but the policy counts several rows of a person"),
                format!(
                    "Say rows=1 in the mechanism, as in {name}(0.1, 'knorm(d=2, rows=1)', ...); or ask for count(*) \
                     FILTER (WHERE ...) several times: they are one release."
                ),
            )),
            Reads::People if self.mechanism.is_some() => Err(Reason::with_hint(
                format!("{name} has no choice of mechanisms here"),
                "Leave the mechanism out: people are bounded before they are counted.",
            )),
            Reads::Questions | Reads::Vectors => self.check_length(asked.several.len()),
            _ => Ok(()),
        }
    }

    /// The most rows of a person that count.
    fn rows_of(&self, block: &Block) -> Checked<u32> {
        let given = self.given()?.rows;
        Ok(given.map_or(block.most_rows, |given| given.min(block.most_rows)))
    }

    /// Refuses a mechanism for another number of questions or numbers: what is missing would be noise alone.
    fn check_length(&self, length: usize) -> Checked<()> {
        let text = self.mechanism.as_deref().unwrap_or_default();
        let choice = registry::parse(text)
            .map_err(|error| Reason::with_hint(error.to_string(), error.hint.clone()))?;
        match choice.get("d") {
            Some(given) if given != length as f64 => Err(Reason::with_hint(
                format!(
                    "{} is given {length} values, but its mechanism says d={given}",
                    self.name
                ),
                format!("Write d={length}."),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses bounds of another number of columns, or too large ones.
    fn check_columns(&self, length: usize) -> Checked<()> {
        let is_large = |bound: &Option<f64>| bound.is_some_and(|bound| bound.abs() > LARGEST);
        if self.columns.iter().flatten().any(is_large) {
            return Err(Reason::with_hint(
                format!("bounds of {} must be from -1e100 to 1e100", self.name),
                "Give narrower bounds: what most values lie between.",
            ));
        }
        if self.columns.iter().any(|bounds| bounds.len() != length) {
            return Err(Reason::with_hint(
                format!(
                    "{} is given {length} predictors, but not as many bounds in \"xlo\" and \"xhi\"",
                    self.name
                ),
                "Give a lower and an upper bound for each, as in ARRAY[0, 18], ARRAY[200, 65].",
            ));
        }
        Ok(())
    }

    /// The bounds that two arguments say.
    fn between(&self, lo: Role, hi: Role) -> Checked<Option<(f64, f64)>> {
        match (self.value(lo), self.value(hi)) {
            (Some(lo), Some(hi)) if lo < hi && lo.abs() <= LARGEST && hi.abs() <= LARGEST => {
                Ok(Some((lo, hi)))
            }
            (Some(_), Some(_)) => Err(Reason::with_hint(
                format!(
                    "bounds of {} must be {} < {}, from -1e100 to 1e100",
                    self.name,
                    lo.name(),
                    hi.name()
                ),
                "Write the lower bound first, as in dp_mean(x, 0, 100, 0.1).",
            )),
            _ => Ok(None),
        }
    }
}

/// Whether a mechanism finds bounds itself.
fn is_auto(text: &str) -> bool {
    registry::parse(text).is_ok_and(|choice| choice.name() == "auto")
}

/// The elements of an array that the query writes.
fn elements<'t>(array: Ref<'t, Node>, name: &str) -> Checked<Vec<Ref<'t, Node>>> {
    let array = match array.cast::<pg_sys::ArrayCoerceExpr>() {
        Some(cast) => cast.arg().expect("what is cast"),
        None => array,
    };
    let written = array.cast::<pg_sys::ArrayExpr>();
    let written = written.filter(|written| !written.multidims());
    let written = written.ok_or_else(|| {
        Reason::with_hint(
            format!("argument \"x\" of {name} is no list of numbers"),
            "Write it out, as in ARRAY[a, b, c].",
        )
    })?;
    Ok(written.elements().nodes())
}

fn not_constant(name: &str, role: Role) -> Reason {
    Reason::with_hint(
        format!("argument \"{}\" of {name} is not a constant", role.name()),
        "Write a number, or give a parameter.",
    )
}

fn is_null(name: &str, role: Role) -> Reason {
    let hint = match role {
        Role::Lo | Role::Hi => {
            "Give bounds, as in dp_mean(x, 0, 100, 0.1); or leave both NULL with the mechanism 'auto', of a mean, a \
             sum or a variance, which finds some."
        }
        Role::Mechanism => "Leave it out for the default, or name one: dp_mechanisms() lists them.",
        _ => "Give a constant.",
    };
    Reason::with_hint(
        format!("argument \"{}\" of {name} is NULL", role.name()),
        hint,
    )
}
