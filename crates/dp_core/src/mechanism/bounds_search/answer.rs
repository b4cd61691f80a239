//! What mechanisms that find bounds answer with.

/// What a release by a mechanism that finds its bounds hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoAnswer<A> {
    /// What was asked for.
    pub answer: A,
    /// The ends that the rows were clamped to. Both 0 where no octave was found, and the column has no limits.
    pub bounds: [f64; 2],
    /// The noisy number of rows that are not zero: of those whose bin is not that of zero.
    pub nonzero: i128,
    /// Whether that is so small that the ends, and with them the answer, are as good as arbitrary.
    pub few: bool,
    /// The 64ths of epsilon that the answer was released at.
    pub parts: u64,
}

impl<A> AutoAnswer<A> {
    /// The text of the mechanism with what it found. A function of the answer.
    pub fn told(&self, mechanism: &str) -> String {
        let [lo, hi] = self.bounds;
        let few = if self.few { ", few=yes" } else { "" };
        let found = format!("lo={lo}, hi={hi}, nonzero={}{few}", self.nonzero);
        match mechanism.split_once('(') {
            None => format!("{mechanism}({found})"),
            Some((name, own)) => format!("{name}({found}, {own}"),
        }
    }
}
