//! Where answers are in a rewritten block, and how much noise they have: by that they are shown without digits that are
//! noise alone.

/// Where the answer of an aggregate is in the rewritten block: among the answers, from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The column itself.
    Column(usize),
    /// A field of a row, from 1.
    Field(usize, i16),
    /// The product of both.
    Product(usize),
    /// A public number.
    Public(f64),
    /// A public day or time.
    Moment(i64),
}

/// Half of the width of an interval of 95%, in standard deviations of normal noise.
const NORMAL: f64 = 1.959_963_984_540_054;

/// Numbers that PostgreSQL's functions compute with, without an error.
const COMPUTED: std::ops::Range<f64> = 1e-200..1e200;

/// The noise of an answer, and what rounding must not leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The standard deviation of normal noise with the same interval of 95%; of a mean times the number of its rows.
    sd: f64,
    /// Where the noisy number of rows of a mean is.
    pub rows: Option<Answer>,
    /// The bounds that the answer lies between.
    pub bounds: Option<(f64, f64)>,
}

impl Scale {
    /// Of half of the width of an interval of 95%.
    pub fn of_half_width(half_width: Option<f64>) -> Option<Self> {
        let sd = half_width? / NORMAL;
        COMPUTED.contains(&sd).then_some(Self {
            sd,
            rows: None,
            bounds: None,
        })
    }

    /// Of an answer that is computed from several numbers: of no more noise than it has.
    pub fn at_least_half(self) -> Self {
        Self {
            sd: self.sd / 2.0,
            ..self
        }
    }

    /// That of a mean between these bounds, with the noisy number of its rows.
    pub fn over(self, rows: Answer, bounds: Option<(f64, f64)>) -> Self {
        Self {
            rows: Some(rows),
            bounds,
            ..self
        }
    }

    /// The one with less noise.
    pub fn least(self, other: Self) -> Self {
        Self {
            sd: self.sd.min(other.sd),
            ..self
        }
    }

    /// The standard deviation; of a mean times the number of its rows.
    pub fn sd(&self) -> f64 {
        self.sd
    }

    /// How many decimal digits behind the point are shown, two beyond the standard deviation; below 0 before it.
    pub fn digits(&self) -> i32 {
        1 - self.sd.log10().floor() as i32
    }
}
