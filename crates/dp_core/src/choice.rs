//! A mechanism as a user names it: `hourglass`, or `hourglass(gamma=0.4)`.

use std::fmt;

use crate::error::ParameterError;
use crate::mechanism::{Info, catalog};

/// The longest text that is looked at, in bytes.
const LONGEST: usize = 1024;

/// A mechanism's name with parameters, parsed and checked against the registry: the name is one
/// of some aggregate's mechanisms, and each key is one that a mechanism of that name takes.
///
/// Whether the name fits the aggregate of a call, and whether a value lies in its domain, is
/// for [`Registry::build`](crate::mechanism::Registry::build) to say.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    name: &'static str,
    /// Sorted by key, each key once.
    values: Vec<(&'static str, f64)>,
}

impl Choice {
    /// Reads `name` or `name(key=value, ...)`: names and keys in exact lower case, values
    /// finite decimal numbers, white space allowed around each.
    ///
    /// # Errors
    /// Anything else. The message never holds a piece of the text.
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
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
        let Some(name) = catalog()
            .map(|(_, _, info)| info.name)
            .find(|known| *known == name)
        else {
            return Err(ParameterError::new(
                "mech",
                "is not the name of a mechanism",
                format!("The mechanisms are: {}.", listed(names())),
            ));
        };
        let keys = keys_of(name);
        let mut values: Vec<(&'static str, f64)> = Vec::new();
        let items = inside.filter(|inside| !inside.is_empty());
        for item in items.into_iter().flat_map(|inside| inside.split(',')) {
            let Some((key, value)) = item.split_once('=') else {
                return Err(form("has a parameter that is not of the form key=value"));
            };
            let key = key.trim();
            let Some(key) = keys.iter().copied().find(|known| *known == key) else {
                return Err(unknown_key(name, &keys));
            };
            if values.iter().any(|(earlier, _)| *earlier == key) {
                return Err(form(format!("gives the parameter {key} more than once")));
            }
            let Some(value) = finite_decimal(value.trim()) else {
                return Err(form(format!("gives the parameter {key} no finite number")));
            };
            values.push((key, value));
        }
        values.sort_by_key(|(key, _)| *key);
        Ok(Self { name, values })
    }

    /// The mechanism that runs when none is named, with its default parameters.
    pub(crate) fn of_default(info: &Info) -> Self {
        Self {
            name: info.name,
            values: Vec::new(),
        }
    }

    /// The mechanism's name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The value given for a parameter, if any.
    pub fn get(&self, key: &str) -> Option<f64> {
        self.values
            .iter()
            .find(|(known, _)| *known == key)
            .map(|(_, value)| *value)
    }

    /// The parameters given, sorted by key.
    pub fn values(&self) -> &[(&'static str, f64)] {
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
            // `Debug` of a float is its shortest exact form, with an exponent where that is
            // shorter, so no text outgrows the length that `parse` takes.
            write!(f, "{before}{key}={value:?}")?;
        }
        if self.values.is_empty() {
            Ok(())
        } else {
            f.write_str(")")
        }
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

/// The names of all aggregates' mechanisms, each once.
fn names() -> Vec<&'static str> {
    once_each(catalog().map(|(_, _, info)| info.name))
}

/// The keys that a mechanism of this name takes, in any aggregate.
fn keys_of(name: &str) -> Vec<&'static str> {
    let infos = catalog()
        .map(|(_, _, info)| info)
        .filter(|info| info.name == name);
    once_each(infos.flat_map(|info| info.parameters.iter().map(|parameter| parameter.name)))
}

fn once_each(items: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// Words for a list in a hint.
pub(crate) fn listed(items: Vec<&'static str>) -> String {
    items.join(", ")
}

/// The error for a key that the mechanism of this name does not take.
pub(crate) fn unknown_key(name: &str, keys: &[&'static str]) -> ParameterError {
    let hint = if keys.is_empty() {
        format!("The mechanism {name} takes no parameters.")
    } else {
        format!("The parameters of {name} are: {}.", listed(keys.to_vec()))
    };
    ParameterError::new(
        "mech",
        format!("gives a parameter that {name} does not take"),
        hint,
    )
}

fn form(message: impl Into<String>) -> ParameterError {
    ParameterError::new(
        "mech",
        message,
        "Write a mechanism as name or name(key=value, ...), as in hourglass(gamma=0.4).",
    )
}
