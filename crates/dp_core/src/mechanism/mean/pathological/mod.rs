//! Means that show a row, as it is, with a small probability: devices of a paper's proofs (Kamath et al. 2023). They
//! meet the letter of (eps, delta)-differential privacy and protect nobody whose row comes up.
//!
//! All that is particular to them is here. Elsewhere a mechanism is pathological or not, and one that is needs a
//! permission, which the registry asks for.

pub mod cells;
pub mod coin;
pub mod device;
pub mod hybrid;
pub mod name_and_shame;
pub mod raw_fallback;
pub mod sampled;

use crate::error::ParameterError;
use crate::request::choice::Choice;

/// Whether a mechanism with these parameters can show a row.
pub(crate) fn is_pathological(choice: &Choice) -> bool {
    let names = [hybrid::ENTRY.info.name, name_and_shame::ENTRY.info.name];
    names.contains(&choice.name()) || raw_fallback::is_asked(choice)
}

/// Why they need a permission.
pub(crate) fn forbidden() -> ParameterError {
    ParameterError::forbidden(
        "mech",
        "names a mechanism that shows a row, just as it is, with probability delta",
        "It meets the letter of (eps, delta)-differential privacy and protects nobody whose row \
         comes up. For an unbiased mean use smooth (rows between bounds) or symmetric (rows of a \
         symmetric distribution). A superuser can allow it: SET dp_mean.allow_pathological = on.",
    )
}
