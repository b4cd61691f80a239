//! The signature of an aggregate: its arguments, described once. From the description come where an argument
//! is in a call, its name in errors, the check of its type, what `dp_core` is handed, and whether a mechanism
//! that was made can be used again. A test holds it against the catalog.
//!
//! A new argument is a [`Role`] with its name in [`ROLES`], a [`Parameter`], and what
//! [`Values::arguments`] makes of it.

use dp_core::error::ParameterError;
use dp_core::registry;
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::groups::most_groups;
use dp_core::request::ranks::{self, Ranks};
use dp_core::request::unit::Unit;
use pgrx::pg_sys::{Datum, Oid};

use crate::pg::array::Array;
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::float8;
use crate::pg::{settings, sql_type};
use crate::plan::planned_call::PlannedCall;
use crate::types::mechanism;

/// What an argument is to its aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The value of a row.
    X,
    /// The value of a row in the first of two columns.
    Y,
    /// Whose row it is.
    Id,
    /// A condition on a row; in SQL the last argument, which represents one and more.
    Predicates,
    /// The lower bound.
    Lo,
    /// The upper bound.
    Hi,
    /// The lower bound of `y`, where there are two columns.
    YLo,
    /// The upper bound of `y`.
    YHi,
    /// The lower bound of `x`.
    XLo,
    /// The upper bound of `x`.
    XHi,
    /// The number of buckets.
    Buckets,
    /// The number of points.
    Points,
    /// The quantile.
    Quantile,
    /// Several quantiles.
    Quantiles,
    /// The most rows that a person counts for.
    K,
    /// The most groups that a person is kept in.
    Groups,
    /// The person.
    Person,
    /// Keys of groups, and what a person contributes to a group.
    Parts,
    /// The budget epsilon.
    Epsilon,
    /// The budget delta, of an aggregate that has it beside the mechanism.
    Delta,
    /// The mechanism.
    Mechanism,
    /// The confidence of an interval.
    Confidence,
}

/// The names in SQL.
const ROLES: [(Role, &str); 22] = [
    (Role::X, "x"),
    (Role::Y, "y"),
    (Role::Id, "id"),
    (Role::Predicates, "questions"),
    (Role::Lo, "lo"),
    (Role::Hi, "hi"),
    (Role::YLo, "ylo"),
    (Role::YHi, "yhi"),
    (Role::XLo, "xlo"),
    (Role::XHi, "xhi"),
    (Role::Buckets, "buckets"),
    (Role::Points, "points"),
    (Role::Quantile, "q"),
    (Role::Quantiles, "qs"),
    (Role::K, "k"),
    (Role::Groups, "groups"),
    (Role::Person, "person"),
    (Role::Parts, "parts"),
    (Role::Epsilon, "eps"),
    (Role::Delta, "delta"),
    (Role::Mechanism, "mech"),
    (Role::Confidence, "confidence"),
];

const _: () = {
    let mut i = 0;
    while i < ROLES.len() {
        assert!(ROLES[i].0 as usize == i, "a role without a name");
        i += 1;
    }
};

impl Role {
    /// The name in SQL.
    pub const fn name(self) -> &'static str {
        ROLES[self as usize].1
    }

    /// A number for the argument with this name; 0 if there is none.
    pub fn number_of(name: &str) -> u32 {
        let position = ROLES.iter().position(|(_, of)| *of == name);
        position.map_or(0, |i| i as u32 + 1)
    }

    /// The role with this number, if there is one.
    pub fn numbered(number: u32) -> Option<Self> {
        let i = usize::try_from(number).ok()?.checked_sub(1)?;
        ROLES.get(i).map(|(role, _)| *role)
    }

    /// Whether the argument is the data: it differs from row to row, and all others may not.
    const fn is_data(self) -> bool {
        matches!(
            self,
            Self::X | Self::Y | Self::Id | Self::Predicates | Self::Person | Self::Parts
        )
    }
}

/// The arguments of transition functions that are read for each row. What reads them runs unguarded and looks
/// nothing up; a signature that has them elsewhere does not compile.
pub mod at {
    pub const STATE: usize = 0;
    pub const X: usize = 1;
    pub const LO: usize = 2;
    pub const HI: usize = 3;
    pub const BUCKETS: usize = 4;
    /// Of a mean.
    pub const MECHANISM: usize = 5;
    pub const GROUPS: usize = 1;
    pub const PERSON: usize = 2;
    /// The first one.
    pub const PARTS: usize = 3;
    /// The first one.
    pub const PREDICATES: usize = 3;
    /// Of two columns.
    pub const Y: usize = 1;
    pub const X_OF_TWO: usize = 2;
    /// `ylo`, `yhi`, `xlo`, `xhi`.
    pub const BOUNDS_OF_TWO: [usize; 4] = [3, 4, 5, 6];
}

/// The type of an argument in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlType {
    Float8,
    Float8Array,
    Integer,
    BigInt,
    Mechanism,
    /// What a person contributes, of one column.
    Contribution,
    Any,
    /// Any, as one type of the call.
    AnyElement,
    /// Any, and as many as the caller likes.
    AnyVariadic,
}

impl SqlType {
    /// Whether an argument of type `found` can be read as one of this type. The SQL declarations see to that; an
    /// aggregate that a superuser made of our functions may have a number where a varlena is read.
    fn can_be(self, found: Oid) -> bool {
        match self {
            Self::Float8Array | Self::Mechanism | Self::Contribution => sql_type::is_varlena(found),
            Self::Float8 | Self::Integer | Self::BigInt => true,
            Self::Any | Self::AnyElement | Self::AnyVariadic => true,
        }
    }

    /// Whether [`value`](Self::value) reads it. Other types are those of data.
    const fn has_values(self) -> bool {
        matches!(
            self,
            Self::Float8 | Self::Float8Array | Self::Integer | Self::BigInt | Self::Mechanism
        )
    }

    /// A value, in memory of our own.
    ///
    /// # Safety
    /// `datum` is of this type.
    unsafe fn value(self, datum: Datum) -> Value {
        match self {
            Self::Float8 => Value::Float8(float8(datum).to_bits()),
            // SAFETY: the caller guarantees it; one element too many is as wrong as any number more.
            Self::Float8Array => Value::Numbers(unsafe {
                let numbers = Array::detoasted(datum).numbers(ranks::MOST + 1);
                Numbers(numbers.collect())
            }),
            Self::Integer => Value::Integer(i64::from(datum.value() as i32)),
            Self::BigInt => Value::Integer(datum.value() as i64),
            // SAFETY: the caller guarantees it.
            Self::Mechanism => Value::Text(unsafe { mechanism::text_of(datum) }),
            Self::Contribution | Self::Any | Self::AnyElement | Self::AnyVariadic => {
                unreachable!("a signature with such a public argument does not compile")
            }
        }
    }
}

/// A parameter of an aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub role: Role,
    sql_type: SqlType,
    /// Calls with at least that many arguments have it.
    from: usize,
    /// Which argument of the transition function it is, where the per-row functions read it.
    at: Option<usize>,
}

impl Parameter {
    const fn new(role: Role, sql_type: SqlType) -> Self {
        Self {
            role,
            sql_type,
            from: 0,
            at: None,
        }
    }

    /// The same, where the per-row functions read it as argument `at`.
    const fn read(self, at: usize) -> Self {
        Self {
            at: Some(at),
            ..self
        }
    }

    /// The same, where only calls with at least that many arguments have it. (In SQL these are aggregates of
    /// one name: the arguments of an aggregate have no defaults.)
    pub const fn given_from(self, arguments: usize) -> Self {
        Self {
            from: arguments,
            ..self
        }
    }
}

pub const X: Parameter = Parameter::new(Role::X, SqlType::Float8).read(at::X);
pub const X_ARRAY: Parameter = Parameter::new(Role::X, SqlType::Float8Array).read(at::X);
pub const X_CONTRIBUTION: Parameter = Parameter::new(Role::X, SqlType::Contribution).read(at::X);
pub const X_OF_ANY_TYPE: Parameter = Parameter::new(Role::X, SqlType::Any).read(at::X);
pub const ID: Parameter = Parameter::new(Role::Id, SqlType::AnyElement).read(at::X);
pub const Y: Parameter = Parameter::new(Role::Y, SqlType::Float8).read(at::Y);
pub const X_OF_TWO: Parameter = Parameter::new(Role::X, SqlType::Float8).read(at::X_OF_TWO);
pub const Y_CONTRIBUTION: Parameter = Parameter::new(Role::Y, SqlType::Contribution).read(at::Y);
pub const X_CONTRIBUTION_OF_TWO: Parameter =
    Parameter::new(Role::X, SqlType::Contribution).read(at::X_OF_TWO);
pub const X_ARRAY_OF_TWO: Parameter =
    Parameter::new(Role::X, SqlType::Float8Array).read(at::X_OF_TWO);
pub const YLO: Parameter = of_two(Role::YLo, 0);
pub const YHI: Parameter = of_two(Role::YHi, 1);
pub const XLO: Parameter = of_two(Role::XLo, 2);
pub const XHI: Parameter = of_two(Role::XHi, 3);
pub const PREDICATES: Parameter =
    Parameter::new(Role::Predicates, SqlType::AnyVariadic).read(at::PREDICATES);
pub const XLO_ARRAY: Parameter = of_several(Role::XLo, 2);
pub const XHI_ARRAY: Parameter = of_several(Role::XHi, 3);
pub const LO: Parameter = Parameter::new(Role::Lo, SqlType::Float8).read(at::LO);
pub const HI: Parameter = Parameter::new(Role::Hi, SqlType::Float8).read(at::HI);
pub const BUCKETS: Parameter = Parameter::new(Role::Buckets, SqlType::Integer).read(at::BUCKETS);
pub const POINTS: Parameter = Parameter::new(Role::Points, SqlType::Integer).read(at::BUCKETS);
pub const Q: Parameter = Parameter::new(Role::Quantile, SqlType::Float8);
pub const QS: Parameter = Parameter::new(Role::Quantiles, SqlType::Float8Array);
pub const K: Parameter = Parameter::new(Role::K, SqlType::BigInt);
pub const GROUPS: Parameter = Parameter::new(Role::Groups, SqlType::BigInt).read(at::GROUPS);
pub const PERSON: Parameter = Parameter::new(Role::Person, SqlType::Any).read(at::PERSON);
pub const PARTS: Parameter = Parameter::new(Role::Parts, SqlType::AnyVariadic).read(at::PARTS);
pub const EPS: Parameter = Parameter::new(Role::Epsilon, SqlType::Float8);
pub const DELTA: Parameter = Parameter::new(Role::Delta, SqlType::Float8);
pub const MECH: Parameter = Parameter::new(Role::Mechanism, SqlType::Mechanism);
pub const CONFIDENCE: Parameter = Parameter::new(Role::Confidence, SqlType::Float8);

/// A bound of one of two columns.
const fn of_two(role: Role, bound: usize) -> Parameter {
    Parameter::new(role, SqlType::Float8).read(at::BOUNDS_OF_TWO[bound])
}

/// A bound of each of several columns.
const fn of_several(role: Role, bound: usize) -> Parameter {
    Parameter::new(role, SqlType::Float8Array).read(at::BOUNDS_OF_TWO[bound])
}

/// The parameters of an aggregate, in the order of its SQL declaration.
#[derive(Clone, Copy, Debug)]
pub struct Signature(&'static [Parameter]);

impl Signature {
    /// # Panics
    /// If the per-row functions would read something else.
    pub const fn new(parameters: &'static [Parameter]) -> Self {
        let mut i = 0;
        while i < parameters.len() {
            let Parameter {
                role, sql_type, at, ..
            } = parameters[i];
            if let Some(read) = at {
                assert!(read == i + 1, "the per-row functions read another argument");
            }
            assert!(
                sql_type.has_values() || role.is_data(),
                "a public argument whose values are not read"
            );
            assert!(
                i + 1 == parameters.len() || !matches!(sql_type, SqlType::AnyVariadic),
                "an argument behind the last one"
            );
            i += 1;
        }
        Self(parameters)
    }

    /// The parameters of a call with that many arguments, from the first argument on; `None` if there is no
    /// such call.
    pub fn of_call(&self, arguments: usize) -> Option<impl Iterator<Item = &'static Parameter>> {
        let given = self.0.iter().filter(move |given| given.from <= arguments);
        let (count, last) = (given.clone().count(), given.clone().next_back());
        let is_variadic = last.is_some_and(|last| last.sql_type == SqlType::AnyVariadic);
        (count == arguments || is_variadic && count < arguments).then_some(given)
    }

    /// The public parameters of a call with that many arguments, each with its argument.
    pub fn public_of_call(
        &self,
        arguments: usize,
    ) -> Option<impl Iterator<Item = (usize, &'static Parameter)>> {
        let all = self.of_call(arguments)?.enumerate();
        Some(all.filter(|(_, parameter)| !parameter.role.is_data()))
    }

    /// Whether a call has arguments as the declarations say.
    pub fn fits(&self, planned: &PlannedCall) -> bool {
        self.of_call(planned.len()).is_some_and(|mut parameters| {
            let mut types = planned.types();
            parameters.all(|parameter| types.next().is_some_and(|of| parameter.sql_type.can_be(of)))
        })
    }

    /// The arguments of a call that [`fits`](Self::fits) which are contributions of persons, each with its bounds.
    /// What takes any type takes them too, and not as plain values.
    pub fn contributions(&self, planned: &PlannedCall) -> Vec<(usize, [Role; 2])> {
        let parameters = self.of_call(planned.len()).into_iter().flatten();
        let all = parameters.zip(planned.types()).enumerate();
        let found = all.filter(|(_, (parameter, of))| match parameter.sql_type {
            SqlType::Contribution => true,
            SqlType::Any => sql_type::is_contribution(*of),
            _ => false,
        });
        let bounds = |role| match role {
            Role::Y => [Role::YLo, Role::YHi],
            _ if self.has(Role::Y) => [Role::XLo, Role::XHi],
            _ => [Role::Lo, Role::Hi],
        };
        found
            .map(|(i, (parameter, _))| (i, bounds(parameter.role)))
            .collect()
    }

    /// The type of the ids of a call that [`fits`](Self::fits), if it has ids.
    pub fn id_type(&self, planned: &PlannedCall) -> Option<Oid> {
        let mut pairs = self.of_call(planned.len())?.zip(planned.types());
        pairs
            .find(|(parameter, _)| parameter.role == Role::Id)
            .map(|(_, of)| of)
    }

    /// Whether the aggregate has such an argument.
    pub fn has(&self, role: Role) -> bool {
        self.0.iter().any(|parameter| parameter.role == role)
    }

    /// How the data come into a call that [`fits`](Self::fits).
    ///
    /// # Errors
    /// A predicate that is not boolean. The types are the same with and without rows.
    pub fn input(&self, planned: &PlannedCall, aggregate: &str) -> Result<Input, Refusal> {
        if !self.has(Role::Predicates) {
            return Ok(Input::Value);
        }
        let mut predicates = planned.types().skip(at::PREDICATES - 1);
        if planned.is_variadic() {
            if !predicates.all(sql_type::is_boolean_array) {
                return Err(errors::not_boolean_array(aggregate));
            }
            return Ok(Input::BooleanArray);
        }
        let mut count = 0;
        for predicate in predicates {
            count += 1;
            if !sql_type::is_boolean(predicate) {
                return Err(errors::not_boolean(aggregate, count));
            }
        }
        Ok(Input::Predicates(count))
    }

    /// What `pg_get_function_arguments` says of each of the declarations.
    #[cfg(feature = "testing")]
    pub fn declarations(&self) -> Vec<String> {
        let calls = (0..=self.0.len()).filter_map(|arguments| self.of_call(arguments));
        let declared = |parameters| Vec::from_iter(Iterator::map(parameters, Parameter::declared));
        calls.map(|call| declared(call).join(", ")).collect()
    }
}

#[cfg(feature = "testing")]
impl Parameter {
    fn declared(&self) -> String {
        let (mode, of) = match self.sql_type {
            SqlType::Float8 => ("", "double precision"),
            SqlType::Float8Array => ("", "double precision[]"),
            SqlType::Integer => ("", "integer"),
            SqlType::BigInt => ("", "bigint"),
            SqlType::Contribution => ("", "dp_mean.dp_contribution"),
            SqlType::Mechanism => ("", "dp_mechanism"),
            SqlType::Any => ("", "\"any\""),
            SqlType::AnyElement => ("", "anyelement"),
            SqlType::AnyVariadic => ("VARIADIC ", "\"any\""),
        };
        format!("{mode}{} {of}", self.role.name())
    }
}

/// What `dp_contribution` takes; `dp_contribution_sum` has no `k`.
pub const OF_CONTRIBUTION: Signature = Signature::new(&[X, LO, HI, K.given_from(4)]);

/// What `dp_contribution_sum` takes.
pub const OF_TOTAL: Signature = Signature::new(&[X, LO, HI]);

/// What `dp_part_rows` takes.
pub const OF_ROWS: Signature = Signature::new(&[K]);

/// What `dp_groups` takes.
pub const OF_GROUPS: Signature = Signature::new(&[GROUPS, PERSON, PARTS]);

/// How the data come into a call.
#[derive(Clone, Copy)]
pub enum Input {
    /// As the argument `x`, or not at all.
    Value,
    /// As that many predicates, all boolean.
    Predicates(usize),
    /// As one `boolean[]`.
    BooleanArray,
}

/// The value of a public argument, in memory of our own. Values are equal if their bits are.
#[derive(Clone, PartialEq, Eq)]
enum Value {
    Float8(u64),
    Integer(i64),
    Numbers(Numbers),
    Text(String),
}

/// Numbers, some perhaps NULL.
#[derive(Clone)]
struct Numbers(Vec<Option<f64>>);

impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        let bits = |numbers: &Self| -> Vec<_> {
            numbers
                .0
                .iter()
                .map(|number| number.map(f64::to_bits))
                .collect()
        };
        bits(self) == bits(other)
    }
}

impl Eq for Numbers {}

/// The values of the public arguments of a call, by their roles: `None` for one that the call does not have,
/// `Some(None)` for NULL.
#[derive(Clone, PartialEq, Eq)]
pub struct Values([Option<Option<Value>>; ROLES.len()]);

impl Values {
    /// # Safety
    /// Each datum is of the type that its parameter has; `None` is NULL.
    pub unsafe fn read(
        arguments: impl Iterator<Item = (&'static Parameter, Option<Datum>)>,
    ) -> Self {
        let mut values = Self([const { None }; ROLES.len()]);
        for (parameter, datum) in arguments {
            // SAFETY: the caller guarantees it.
            let value = datum.map(|datum| unsafe { parameter.sql_type.value(datum) });
            values.0[parameter.role as usize] = Some(value);
        }
        values
    }

    fn number(&self, role: Role) -> Option<Option<f64>> {
        self.0[role as usize].as_ref().map(|value| match value {
            Some(Value::Float8(bits)) => Some(f64::from_bits(*bits)),
            _ => None,
        })
    }

    /// The numbers of an array, if it is given and not NULL.
    fn numbers(&self, role: Role) -> Option<&[Option<f64>]> {
        match &self.0[role as usize] {
            Some(Some(Value::Numbers(numbers))) => Some(&numbers.0),
            _ => None,
        }
    }

    /// An integer, if it is given and neither NULL nor negative.
    fn count(&self, role: Role) -> Option<usize> {
        match &self.0[role as usize] {
            Some(Some(Value::Integer(count))) => usize::try_from(*count).ok(),
            _ => None,
        }
    }

    fn text(&self, role: Role) -> Option<Option<&str>> {
        self.0[role as usize].as_ref().map(|value| match value {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The quantiles, if the call has such an argument.
    fn ranks(&self) -> Option<Ranks<'_>> {
        if let Some(q) = self.number(Role::Quantile) {
            return Some(Ranks::One(q));
        }
        self.0[Role::Quantiles as usize]
            .as_ref()
            .map(|value| match value {
                Some(Value::Numbers(numbers)) => Ranks::Many(&numbers.0),
                _ => Ranks::Many(&[]),
            })
    }

    fn mechanism(&self) -> MechanismArgument<'_> {
        match self.text(Role::Mechanism) {
            Some(text) => MechanismArgument::Given(text),
            None => MechanismArgument::Omitted,
        }
    }

    /// What a mechanism is made from.
    pub fn arguments(&self, input: Input) -> Arguments<'_> {
        let bounds = |lo, hi| self.number(lo).zip(self.number(hi));
        let columns = [Role::XLo, Role::XHi].map(|role| self.numbers(role));
        let columns = columns
            .iter()
            .any(Option::is_some)
            .then(|| columns.map(Option::unwrap_or_default));
        Arguments {
            bounds: bounds(Role::Lo, Role::Hi).or(bounds(Role::YLo, Role::YHi)),
            x_bounds: match columns {
                Some(_) => None,
                None => bounds(Role::XLo, Role::XHi),
            },
            columns,
            epsilon: self.number(Role::Epsilon).flatten(),
            delta: self.number(Role::Delta),
            length: match input {
                Input::Predicates(count) => Some(count),
                Input::Value => match &self.0[Role::K as usize] {
                    // NULL is what no number of rows can be.
                    Some(_) => Some(self.count(Role::K).unwrap_or(0)),
                    None => self.count(Role::Buckets).or(self.count(Role::Points)),
                },
                Input::BooleanArray => None,
            },
            mechanism: self.mechanism(),
            ranks: self.ranks(),
            pathological: settings::allow_pathological(),
        }
    }

    /// The privacy unit by which the call's mechanism shares its budget.
    pub fn unit(&self) -> Unit {
        registry::unit_of(self.mechanism())
    }

    /// The most groups that a person is kept in, of a call that keeps some.
    ///
    /// # Errors
    /// A number that none can be.
    pub fn groups(&self) -> Result<u32, ParameterError> {
        most_groups(self.count(Role::Groups))
    }

    /// The name of that of these two bounds in which these differ from `lo` and `hi` of others, where both have some.
    pub fn changed_bound(&self, bounds: [Role; 2], other: &Self) -> Option<&'static str> {
        let differ = |(role, of_other): &(Role, Role)| {
            let (one, two) = (&self.0[*role as usize], &other.0[*of_other as usize]);
            one.is_some() && two.is_some() && one != two
        };
        let mut pairs = bounds.into_iter().zip([Role::Lo, Role::Hi]);
        pairs.find(differ).map(|(role, _)| role.name())
    }

    /// The argument `confidence`, if the call has it.
    pub fn confidence(&self) -> Option<Option<f64>> {
        self.number(Role::Confidence)
    }
}
