//! Which sums a regression releases, and in which order.

use crate::encoding::columns::pairs;

/// What a released sum is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The rows themselves.
    Rows,
    /// A column.
    Column(usize),
    /// The square of a column, twice, less the number of rows.
    Square(usize),
    /// The product of two columns, the first before the second.
    Product(usize, usize),
}

/// The sums of that many columns, in the order in which they are released.
pub fn parts(columns: usize) -> impl Iterator<Item = Part> {
    let products = pairs(columns).filter(|[i, j]| i < j);
    let products = products.map(|[i, j]| Part::Product(i, j));
    [Part::Rows]
        .into_iter()
        .chain((0..columns).map(Part::Column))
        .chain((0..columns).map(Part::Square))
        .chain(products)
}

/// How many they are.
pub const fn count(columns: usize) -> usize {
    1 + 2 * columns + columns * (columns - 1) / 2
}
