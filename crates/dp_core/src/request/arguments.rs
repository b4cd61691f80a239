//! The arguments of a call as they stand, before anything is checked.

use crate::request::ranks::Ranks;

/// The mechanism argument of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MechanismArgument<'a> {
    /// The call has no such argument.
    #[default]
    Omitted,
    /// The text of a mechanism, or NULL.
    Given(Option<&'a str>),
}

/// The arguments of a call as they stand; `None` is NULL. The default is a call without arguments, which allows no
/// mechanism that needs a permission.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arguments<'a> {
    /// `None` where the aggregate takes no bounds.
    pub bounds: Option<(Option<f64>, Option<f64>)>,
    /// Those of the column `x` where there are two, and the others are of `y`.
    pub x_bounds: Option<(Option<f64>, Option<f64>)>,
    /// Those of several columns `x`: the lower ones and the upper ones, of no elements where they are NULL.
    pub columns: Option<[&'a [Option<f64>]; 2]>,
    /// Which quantiles; `None` where the aggregate has no such argument.
    pub ranks: Option<Ranks<'a>>,
    /// The argument `eps`.
    pub epsilon: Option<f64>,
    /// The argument `delta`; `None` where the aggregate takes none.
    pub delta: Option<Option<f64>>,
    /// How many numbers the call asks for: yes/no questions, `None` where they come as an array; or
    /// buckets, `None` for NULL.
    pub length: Option<usize>,
    /// The argument `mech`.
    pub mechanism: MechanismArgument<'a>,
    /// Whether mechanisms are allowed that need a permission: they show a row, as it is, with probability delta.
    pub pathological: bool,
}
