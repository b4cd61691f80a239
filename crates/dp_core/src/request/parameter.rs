//! A parameter of a mechanism: its key, and the values it takes.

/// A parameter of a mechanism, as in `hourglass(gamma=0.4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key. Parameters of one key are the same wherever a mechanism of that name has them.
    pub name: &'static str,
    /// What a value looks like.
    pub kind: ParameterKind,
    /// The values it takes, in words.
    pub domain: &'static str,
    /// What it does, and its default.
    pub description: &'static str,
}

/// What the value of a parameter looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A finite decimal number.
    Number,
    /// A whole number below 2^53, not negative.
    Whole,
    /// One of these words.
    Word(&'static [&'static str]),
}
