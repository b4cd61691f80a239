//! The mean without bias of its own, for tables whose number of rows is private.
//!
//! The proof: docs/proofs/mean-smooth.md.

use crate::encoding::grid::{self, Bounds, Grid};
use crate::encoding::sums::Sums;
use crate::mechanism::definition::{
    ADD_REMOVE_REPLACE, Entry, HOLDING_BOUNDS, Info, Mechanism, PURE, Plan,
};
use crate::mechanism::mean::answer::MeanAnswer;
use crate::mechanism::mean::inputs::{Mean, SumsMean};
use crate::mechanism::mean::pair::from_midpoint;
use crate::privacy::cost::Loss;
use crate::privacy::epsilon::Epsilon;
use crate::random::{Bits, Generator, noted};
use crate::sampler::student::RoundedStudent;

pub(crate) const ENTRY: Entry<Mean> = Entry {
    info: Info {
        name: "smooth",
        what: "Kamath et al. 2023, Theorem E.6, with 40% less squared error: Student's t noise on \
               smooth sensitivity. No bias for rows between the bounds; not kept inside them; no \
               count",
        guarantee: PURE,
        loss: Loss::Pure,
        neighbours: ADD_REMOVE_REPLACE,
        parameters: &[],
        example: "smooth",
        source: "Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, A bias-accuracy-privacy \
                 trilemma for statistical estimation: theorem E.6 with less noise, by smooth \
                 sensitivity (Nissim, Raskhodnikova, Smith 2007; Bun, Steinke 2019)",
    },
    plan: Some(Plan {
        text: "smooth",
        needs: HOLDING_BOUNDS,
    }),
    build: |request| {
        let bounds = request.bounds()?;
        Mean::of_sums(Smooth::new(bounds, grid::STEPS, request.row_epsilon()?))
    },
};

/// Answers are multiples of the width times 2^-40: 2^-7 of what the grid rounds a row to.
const PLACES: u32 = 40;

/// `c = 100 / 43`, as a numerator and a denominator: the noise is `c S / epsilon` wide. With
/// `beta = epsilon / 9` the proof asks for `(2 / c)^2 <= (1 + 1/9) (1 - 3/9) = 0.7407`; this is
/// `0.86^2 = 0.7396`.
const SCALE: (u64, u64) = (100, 43);

/// The exact mean plus `c S(n) / epsilon * Z / sqrt(3)`, rounded to a public grid. `Z` has Student's
/// t distribution with three degrees of freedom, of variance 3; `c = 100 / 43`, and `S(n)` is the
/// width of the bounds times `max(exp(-beta (n - 1)), 1 / n)`, with `beta = epsilon / 9`;
/// `S(0) = S(1)`. The mean of no rows is the midpoint of the bounds: the proof needs no more than a
/// public point between them.
///
/// The noise is symmetric around the mean of the (clamped) rows, and nothing is clamped after it is
/// added, so the answer has no bias for a table with rows, whatever they are, but for the rounding:
/// less than 2^-41 of the width, and next to nothing where the noise is wider than that.
///
/// **Why it is private** (pure, epsilon; neighbours by adding, removing or replacing one row), in
/// three steps. The first two are those of theorem E.6 of Kamath et al. (2023). The width is 1 below.
///
/// 1. *The mean moves by at most `S(n)`*, whichever of two neighbours `n` is of. To replace one of
///    `n` rows moves it by at most `1 / n`; to add one to `n >= 1`, by at most `1 / (n + 1)`; to
///    add one to none, by at most 1, as both means are between the bounds. `S(n) >= 1 / n`, and
///    `S(0) >= 1`.
/// 2. *`S` is smooth*: it moves by a factor of at most `e^beta` when `n` moves by 1. It never grows
///    with `n`. If `S(n) = exp(-beta (n - 1))`, then `S(n + 1)` is at least `e^-beta` times that.
///    If `S(n) = 1 / n` is above that, then `g(n) = log n - beta (n - 1)` is negative; as `g` is
///    concave and `g(1) = 0`, it falls from `n` on: `log(n + 1) - log n < beta`.
/// 3. *The noise covers both at once.* Go from one table's mean `f` and `s = log S` to the other's
///    along a straight line, in a time of 1: at a rate of `|s'| <= beta`, and of `|f'|` at most the
///    smaller of the two `S`, which is at most the `S` on the way. With
///    `w = (y - f) / (c S / epsilon)` the logarithm of the answer's density at `y` is
///    `-s - 2 log(1 + w^2)` and a constant. It changes at a rate of
///    `s' (-1 + 4 w^2 / (1 + w^2)) + 4 w / (1 + w^2) * f' epsilon / (c S)`, which for
///    `w = tan(phi / 2)` is `s' (1 - 2 cos phi) + (2 epsilon f' / (c S)) sin phi`: in magnitude at
///    most `beta + sqrt(4 beta^2 + (2 epsilon / c)^2)`, whatever `phi` is. With `beta = epsilon / 9`
///    and `2 / c = 0.86` that is 0.99936 epsilon.
///
/// Theorem E.6 moves first the mean and then `S`, and adds the worst of both: `2 epsilon / c + 4 beta`
/// at most, so it has `c = 3` and `beta = epsilon / 12`. But the mean moves the logarithm most where
/// `w` is 1, and `S` where `w` is infinite: no `y` has both. The squared error here is
/// `(100 / 129)^2 = 0.60` times theirs, and the noise is down to that of `1 / n` from a quarter
/// fewer rows on.
///
/// **What is exact.** The real number `mean + c S(n) / epsilon * Z / sqrt(3)`, for the rational
/// numbers that the mean, epsilon and this `S(n)` are, is rounded to the nearest multiple of the width
/// times 2^-40, which is a public grid: post-processing. The result has just the distribution of that: see
/// [`RoundedStudent`]. `S` is computed in floats; see [`Smooth::sensitivity`] for why it is smooth
/// all the same.
///
/// There is no noisy number of rows to hand out: the answer holds none, and the noise's scale
/// depends on the number of rows, so it is not shown either.
#[derive(Clone, Debug)]
pub struct Smooth {
    bounds: Bounds,
    steps: u64,
    epsilon: Epsilon,
}

impl Smooth {
    /// For 1 to 2^32 steps.
    pub fn new(bounds: Bounds, steps: u64, epsilon: Epsilon) -> Self {
        Self {
            bounds,
            steps,
            epsilon,
        }
    }

    /// `S(n)`, as a fraction of the width of the bounds: from 2^-63 to a little above 1.
    ///
    /// Here `beta` is `epsilon / 9` less 2^-20 of itself, which leaves at least 2^-44 between the
    /// two, as epsilon is at least 2^-20. The logarithm of what is computed is off by less than
    /// 2^-46: the exponent is below 64 where the exponential counts, so its own rounding moves it
    /// by less than 2^-47; `exp` is taken to be right to 2^-48 (those in use are to 2^-52); and a
    /// quotient is off by 2^-50. That of two neighbours together is less than what was left.
    pub fn sensitivity(&self, rows: f64) -> f64 {
        const LESS: f64 = 1.0 - 1.0 / (1 << 20) as f64;
        let rows = rows.max(1.0);
        let beta = self.epsilon.value() / 9.0 * LESS;
        // More than its three roundings could have made it smaller than `1 / rows`.
        let local = 1.0 / rows * (1.0 + 1.0 / (1u64 << 50) as f64);
        local.max((-beta * (rows - 1.0)).exp())
    }

    /// The noisy mean, counted from the midpoint in units of the width times 2^-40: this is what
    /// the guarantee is about. Sums that no table has are taken for the nearest that one has.
    pub fn noisy<B: Bits>(&self, sums: &Sums, bits: &mut B) -> i128 {
        let rows = sums.n.max(0);
        let whole = i128::from(rows) * i128::from(self.steps);
        let centred = 2 * sums.s.clamp(0, whole) - whole;
        let (mantissa, down) = dyadic(self.sensitivity(rows as f64));
        // c S / epsilon. The shift is at most 115 - 40, of a number below 43 * 2^46 < 2^52; it is not
        // negative, as S is below 2.
        let numerator = u128::from(SCALE.1) * u128::from(self.epsilon.numerator());
        let shift = down.saturating_sub(self.epsilon.places());
        let scale = (
            u128::from(SCALE.0) * u128::from(mantissa),
            numerator << shift,
        );
        let centre = (centred, 2 * whole.unsigned_abs());
        let noisy = RoundedStudent::new(centre, scale, PLACES).draw(bits);
        let exact = [centred, 2 * whole, scale.0 as i128, scale.1 as i128];
        noted(&exact, noisy, bits)
    }

    /// One release from any source of words.
    pub fn release_from<B: Bits>(&self, sums: &Sums, bits: &mut B) -> MeanAnswer {
        let unit = 1.0 / (1u64 << PLACES) as f64;
        let fraction = self.noisy(sums, bits) as f64 * unit;
        MeanAnswer {
            mean: Some(from_midpoint(&self.bounds, fraction)),
            count: None,
        }
    }
}

/// The integers `(m, k)` of a positive normal float `m / 2^k` below 2.
fn dyadic(value: f64) -> (u64, u32) {
    let bits = value.to_bits();
    let mantissa = 1 << 52 | bits << 12 >> 12;
    (mantissa, 1075u32.saturating_sub((bits >> 52) as u32))
}

impl SumsMean for Smooth {
    fn noise_sd(&self, rows: f64) -> f64 {
        let scale = SCALE.0 as f64 / SCALE.1 as f64;
        scale * self.sensitivity(rows) / self.epsilon.value() * self.bounds.width()
    }

    /// Answers are not kept between the bounds.
    fn answer_bias(&self, _: f64) -> f64 {
        0.0
    }
}

impl Mechanism for Smooth {
    type Answer = MeanAnswer;

    fn grid(&self) -> Option<Grid> {
        Some(Grid::unit(&self.bounds))
    }

    fn release(&self, sums: &Sums, generator: &mut Generator) -> MeanAnswer {
        self.release_from(sums, generator)
    }
}
