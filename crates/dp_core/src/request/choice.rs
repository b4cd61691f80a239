//! A mechanism as a user names it: `hourglass`, or `hourglass(gamma=0.4)`.

use std::fmt;

use crate::error::ParameterError;
use crate::request::parameter::{Parameter, ParameterKind};

/// The longest text that is looked at, in bytes.
const LONGEST: usize = 1024;

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A finite number.
    Number(f64),
    /// A whole number, below 2^53.
    Whole(u64),
    /// One of the words that the parameter takes.
    Word(&'static str),
}

/// The mechanisms that a text may name.
pub(crate) trait Known {
    /// The name that is written so, if a mechanism has it.
    fn name(&self, text: &str) -> Option<&'static str>;

    /// The parameters that a mechanism of this name takes, in any aggregate. Parameters of one key are the
    /// same in all of them.
    fn parameters(&self, name: &str) -> Vec<Parameter>;

    /// All names, for a hint.
    fn listed(&self) -> String;
}

/// A mechanism's name with parameters, parsed and checked against the registry: the name is one
/// of some aggregate's mechanisms, and each key is one that a mechanism of that name takes.
///
/// Whether the name fits the aggregate of a call, and whether a value lies in its domain, is
/// for [`Registry::build`](crate::registry::Registry::build) to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    name: &'static str,
    /// Sorted by key, each key once.
    values: Vec<(&'static str, Value)>,
}

impl Choice {
    /// Reads `name` or `name(key=value, ...)`: names, keys and words in exact lower case, numbers
    /// finite and decimal, white space allowed around each.
    ///
    /// # Errors
    /// Anything else. The message never holds a piece of the text.
    pub(crate) fn parse(text: &str, known: &dyn Known) -> Result<Self, ParameterError> {
        if text.len() > LONGEST {
            return Err(form("is too long for the name of a mechanism"));
        }
        let text = text.trim();
        let (name, inside) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => match rest.split_once(')') {
                Some((inside, "")) => (name.trim_end(), Some(inside.trim())),
                Some(_) => return Err(form("goes on after its closing parenthesis")),
                None => return Err(form("has no closing parenthesis")),
            },
        };
        let Some(name) = known.name(name) else {
            return Err(ParameterError::new(
                "mech",
                "is not the name of a mechanism",
                known.listed(),
            ));
        };
        let parameters = known.parameters(name);
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        let items = inside.filter(|inside| !inside.is_empty());
        for item in items.into_iter().flat_map(|inside| inside.split(',')) {
            let Some((key, value)) = item.split_once('=') else {
                return Err(form("has a parameter that is not of the form key=value"));
            };
            let key = key.trim();
            let Some(parameter) = parameters.iter().find(|known| known.name == key) else {
                return Err(unknown_key(name, &parameters));
            };
            let key = parameter.name;
            if values.iter().any(|(earlier, _)| *earlier == key) {
                return Err(form(format!("gives the parameter {key} more than once")));
            }
            values.push((key, parameter.read(value.trim())?));
        }
        values.sort_by_key(|(key, _)| *key);
        Ok(Self { name, values })
    }

    /// The mechanism that runs when none is named, with its default parameters.
    pub(crate) fn of_default(name: &'static str) -> Self {
        Self {
            name,
            values: Vec::new(),
        }
    }

    /// The mechanism's name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The number given for a parameter, if any.
    pub fn get(&self, key: &str) -> Option<f64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(number),
            Some(Value::Whole(number)) => Some(number as f64),
            _ => None,
        }
    }

    /// The word given for a parameter, if any.
    pub fn word(&self, key: &str) -> Option<&'static str> {
        match self.value(key) {
            Some(Value::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn value(&self, key: &str) -> Option<Value> {
        let given = self.values.iter().find(|(known, _)| *known == key);
        given.map(|(_, value)| *value)
    }

    /// The same with a value for a parameter, in the place of the one that it has.
    pub(crate) fn with(mut self, key: &'static str, value: Value) -> Self {
        self.values.retain(|(known, _)| *known != key);
        self.values.push((key, value));
        self.values.sort_by_key(|(known, _)| *known);
        self
    }

    /// The parameters given, sorted by key.
    pub fn values(&self) -> &[(&'static str, Value)] {
        &self.values
    }

    /// The canonical text: keys sorted, numbers in the shortest form that reads back the same.
    /// Parsing it gives this choice again.
    pub fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for (position, (key, value)) in self.values.iter().enumerate() {
            let before = if position == 0 { "(" } else { ", " };
            write!(f, "{before}{key}={value}")?;
        }
        if self.values.is_empty() {
            Ok(())
        } else {
            f.write_str(")")
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // `Debug` of a float is its shortest exact form, with an exponent where that is
            // shorter, so no text outgrows the length that `parse` takes.
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl Parameter {
    /// Reads a value of this parameter.
    fn read(&self, text: &str) -> Result<Value, ParameterError> {
        let value = match self.kind {
            ParameterKind::Number => finite_decimal(text).map(Value::Number),
            ParameterKind::Whole => finite_decimal(text).and_then(whole).map(Value::Whole),
            ParameterKind::Word(words) => words
                .iter()
                .find(|word| **word == text)
                .map(|w| Value::Word(w)),
        };
        value.ok_or_else(|| {
            let (name, wanted) = (
                self.name,
                match self.kind {
                    ParameterKind::Number => "finite number".to_owned(),
                    ParameterKind::Whole => "whole number".to_owned(),
                    ParameterKind::Word(words) => {
                        format!("value that it takes ({})", listed(words))
                    }
                },
            );
            form(format!("gives the parameter {name} no {wanted}"))
        })
    }
}

/// A finite number in decimal or exponent notation. (`str::parse` alone would take `inf`,
/// `infinity` and `nan` too.)
fn finite_decimal(text: &str) -> Option<f64> {
    let plain = |c: u8| c.is_ascii_digit() || matches!(c, b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.bytes().all(plain) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// A number without a fraction, not negative, and below 2^53.
fn whole(number: f64) -> Option<u64> {
    let fits = number.fract() == 0.0 && (0.0..(1u64 << 53) as f64).contains(&number);
    fits.then_some(number as u64)
}

/// Words for a list in a hint.
pub(crate) fn listed(items: &[&str]) -> String {
    items.join(", ")
}

/// The error for a key that the mechanism of this name does not take.
pub(crate) fn unknown_key(name: &str, parameters: &[Parameter]) -> ParameterError {
    let keys: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
    ParameterError::new(
        "mech",
        format!("gives a parameter that {name} does not take"),
        format!("The parameters of {name} are: {}.", listed(&keys)),
    )
}

fn form(message: impl Into<String>) -> ParameterError {
    ParameterError::new(
        "mech",
        message,
        "Write a mechanism as name or name(key=value, ...), as in hourglass(gamma=0.4).",
    )
}
