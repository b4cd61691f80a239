//! An aggregate: what its SQL declaration says of it.

use dp_core::mechanism::Make;

/// An aggregate, as its SQL declaration has it.
pub struct Aggregate<M: ?Sized + 'static> {
    /// Its SQL name.
    pub name: &'static str,
    /// What makes its mechanisms.
    pub mechanisms: &'static dyn Make<M>,
    /// Where its arguments stand.
    pub shape: Shape,
}

/// Where an aggregate's arguments stand.
#[derive(Clone, Copy)]
pub enum Shape {
    /// `(x, lo, hi, eps [, mech [, confidence]])`; `x` may be an array.
    Bounded,
    /// `(eps)`, `(x, eps [, mech [, confidence]])`
    Counted,
    /// `(eps, delta [, mech])`
    Kept,
    /// `(x, lo, hi, buckets, eps [, mech])`
    Buckets,
    /// `(eps, mech, questions ...)`, or an array of questions as VARIADIC.
    Questions,
}

/// The index of each public argument; `bounds` is that of `lo`, with `hi` behind it.
pub struct Positions {
    pub bounds: Option<usize>,
    pub buckets: Option<usize>,
    pub epsilon: usize,
    pub delta: Option<usize>,
    pub mechanism: Option<usize>,
    pub confidence: Option<usize>,
}

impl Shape {
    /// The positions in a call with `arguments` arguments; `None` if there is no such call.
    pub fn positions(self, arguments: usize) -> Option<Positions> {
        let (bounds, epsilon, delta, mechanism) = match (self, arguments) {
            (Self::Bounded, 4) => (Some(1), 3, None, None),
            (Self::Bounded, 5 | 6) => (Some(1), 3, None, Some(4)),
            (Self::Counted, 1) => (None, 0, None, None),
            (Self::Counted, 2) => (None, 1, None, None),
            (Self::Counted, 3 | 4) => (None, 1, None, Some(2)),
            (Self::Kept, 2) => (None, 0, Some(1), None),
            (Self::Kept, 3) => (None, 0, Some(1), Some(2)),
            (Self::Buckets, 5) => (Some(1), 4, None, None),
            (Self::Buckets, 6) => (Some(1), 4, None, Some(5)),
            (Self::Questions, 3..) => (None, 0, None, Some(1)),
            _ => return None,
        };
        Some(Positions {
            bounds,
            buckets: matches!(self, Self::Buckets).then_some(3),
            epsilon,
            delta,
            mechanism,
            confidence: match (self, arguments) {
                (Self::Bounded, 6) | (Self::Counted, 4) => Some(arguments - 1),
                _ => None,
            },
        })
    }
}
