//! Expressions as the numbers that aggregates are about, between public bounds.

use pgrx::pg_sys::Node;

use crate::gate::block::Block;
use crate::gate::floats;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::Numbers;
use crate::pg::sql_type;
use crate::pg::tree::{self, Ref};

/// The largest magnitude of a bound.
pub const LARGEST: f64 = 1e100;

/// An expression as the numbers that the aggregate `name` is about, with its public bounds.
pub fn bounded<'t>(block: &Block<'t>, name: &str, argument: Ref<'t, Node>) -> Checked<Numbers<'t>> {
    let range = block.range(block.checker.folded(argument.copy()));
    Ok(Numbers {
        argument: number(block, argument)?,
        bounds: checked_bounds(range.ok_or_else(|| no_bounds(name))?)?,
    })
}

/// An expression as the number that an aggregate is about.
pub fn number<'t>(block: &Block<'t>, argument: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
    if !sql_type::is_number(tree::type_of(argument)) {
        return Err("aggregate argument is not numeric".into());
    }
    let float = floats::float(argument).ok_or("aggregate argument is not numeric")?;
    block.checker.safe(float)
}

/// How near each other bounds are as good as one value. What is computed of a number and its range stays far from the
/// least of floats.
const NARROWEST: f64 = 1e-200;

/// A single value as bounds becomes a narrow range around it; none may be too large.
fn checked_bounds((lo, hi): (f64, f64)) -> Checked<(f64, f64)> {
    if !(lo <= hi && lo.abs() <= LARGEST && hi.abs() <= LARGEST) {
        return Err("aggregate argument may exceed 1e100".into());
    }
    let width = if hi - lo < NARROWEST {
        lo.abs().max(1.0) / 1024.0
    } else {
        0.0
    };
    Ok((lo - width, hi + width))
}

fn no_bounds(name: &str) -> Reason {
    Reason::with_hint(
        format!("no public bounds are declared for the argument of {name}"),
        "The owner of the table declares bounds by dp_declare(table, column, lo, hi); or give some, as in \
         dp_mean(x, 0, 100, 0.1).",
    )
}
