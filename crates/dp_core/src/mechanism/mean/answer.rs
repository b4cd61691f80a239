//! What means answer with.

/// What a mean's release hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanAnswer {
    /// The private mean; `None` where the mechanism found no place for it.
    pub mean: Option<f64>,
    /// The noisy number of rows from the same release, at no further cost; `None` where the
    /// mechanism has none to give.
    pub count: Option<f64>,
}
