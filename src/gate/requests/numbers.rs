//! Expressions as the numbers that aggregates are about, between public bounds.

use pgrx::pg_sys::{self, Node};

use crate::gate::block::Block;
use crate::gate::floats;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::requests::asked::Numbers;
use crate::pg::sql_type;
use crate::pg::tree::{self, Ref, Step};

/// The largest magnitude of a bound.
pub const LARGEST: f64 = 1e100;

/// An expression as the numbers that the aggregate `name` is about in the rows that its FILTER takes, with its public
/// bounds.
pub fn bounded<'t>(
    block: &Block<'t>,
    name: &str,
    argument: Ref<'t, Node>,
    filter: Option<Ref<'t, Node>>,
) -> Checked<Numbers<'t>> {
    let range = block.range(block.checker.folded(argument.copy()), filter);
    Ok(Numbers {
        argument: number(block, argument)?,
        bounds: checked_bounds(range.ok_or_else(|| no_bounds(block, name, argument))?)?,
    })
}

/// An expression as the number that an aggregate is about.
pub fn number<'t>(block: &Block<'t>, argument: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
    let kind = tree::type_of(argument);
    if kind == pg_sys::INTERVALOID {
        return Err(Reason::with_hint(
            "aggregate argument is not numeric",
            "Of an interval, take its seconds: avg(extract(epoch FROM x)), with WHERE extract(epoch FROM x) BETWEEN 0 AND \
             86400, or other bounds.",
        ));
    }
    if !sql_type::is_number(kind) {
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

/// Says which columns have none, as a query may have many aggregates.
fn no_bounds<'t>(block: &Block<'t>, name: &str, argument: Ref<'t, Node>) -> Reason {
    let mut columns: Vec<String> = Vec::new();
    tree::search(argument, &mut |node, level| {
        let own = node.cast::<pg_sys::Var>();
        let own = own.filter(|column| level == 0 && column.varlevelsup() == 0);
        if let Some(column) = own {
            let place = (column.varno(), column.varattno());
            // Of others there are none to declare.
            let kind = tree::type_of(column.node());
            let may_have = sql_type::is_number(kind) || kind == pg_sys::DATEOID;
            let is_known = block.from.bounds(place).is_some() || !may_have;
            let column = tree::column_name(block.query, place.0, place.1);
            columns.extend(column.filter(|column| !is_known && !columns.contains(column)));
        }
        Step::Below
    });
    let columns = match &columns[..] {
        [] => String::new(),
        [column] => format!(": column {column} has none"),
        _ => format!(": columns {} have none", columns.join(", ")),
    };
    Reason::with_hint(
        format!("no public bounds are declared for the argument of {name}{columns}"),
        "The owner of the table declares bounds by dp_declare(table, column, lo, hi); or say some, as in WHERE x BETWEEN 0 \
         AND 100, or dp_mean(x, 0, 100, 0.1). What is computed is written there as it stands: WHERE length(x) BETWEEN \
         0 AND 50.",
    )
}
