//! What is wrong with an argument, in words for the person who wrote the query.

use std::fmt;

/// An argument that breaks its rule. It never holds the value: an argument may come from a
/// sub-select, and a message must not show a data value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// What kind of rule it is.
    pub kind: Kind,
    /// The name of the argument, as the documentation spells it: `lo`, `hi`, `eps`, `delta`,
    /// `mech`.
    pub argument: &'static str,
    /// What the rule is: reads on from `argument "eps" `.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// What kind of rule an argument breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What values it takes.
    Value,
    /// What this user may ask for.
    Permission,
}

impl ParameterError {
    /// The error for an argument: what the rule is, and what to do.
    pub fn new(
        argument: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            kind: Kind::Value,
            argument,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// The same, for what needs a permission.
    pub fn forbidden(
        argument: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            kind: Kind::Permission,
            ..Self::new(argument, message, hint)
        }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "argument \"{}\" {}", self.argument, self.message)
    }
}

impl std::error::Error for ParameterError {}
