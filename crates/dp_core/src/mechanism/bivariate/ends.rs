//! Intervals of a correlation and of a slope, from the noisy sums of a release: post-processing.
//!
//! All is in units of the widths of the bounds, from the lower ones: `x` and `y` are from 0 to 1. With `a`, `b` and
//! `c` the sums over the rows of `(x - mx)^2`, `(y - my)^2` and `(x - mx) (y - my)`, the correlation is `c / sqrt(a
//! b)` and the slope `c / a`.
//!
//! **Of the rows.** At the true correlation `r`, and `k = sqrt(b / a)`, the number `c - r (k a + b / k) / 2` is 0,
//! and at the true slope `s` so is `c - s a`. Each is a sum over the rows of a quadratic in `x` and `y`, so a linear
//! function of the released sums: what their noisy values give for it is noise alone, and its law is public. An
//! interval has all `r`, or `s`, where that number is no further from 0 than noise is with the probability that is
//! asked for (Fieller 1954, for slopes). Means and `k` are those that the noisy sums give. The numbers do not depend
//! on them to first order, as they are where the first derivatives by the means and by `k` are 0.
//!
//! **Of the population.** The rows are a sample, whose sums differ from those of the population by what is nearly
//! normal. Of `c - r (k a + b / k) / 2` it has a standard deviation of `sqrt(a b / n) (1 - r^2)` where the two
//! columns have a normal law together, as for Fisher's interval. It goes in beside that of the noise, by the root of
//! the sum of the squares. Where a person has several rows there are fewer people than rows, by as many at most.
//!
//! **What is not seen.** Where a spread is not further from 0 than its noise, an interval has all that can be: from
//! -1 to 1, or no ends.

use crate::accuracy::tail::{self, quantile};
use crate::encoding::grid::Grid;
use crate::encoding::pairs::{PairGrid, PairMoments};
use crate::mechanism::bivariate::sums::{Law, OfPairs, PARTS, PairAnswer, PairMechanism, Seen};
use crate::mechanism::definition::Mechanism;
use crate::random::Generator;

/// Intervals that follow from one release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairEnds {
    /// Of the correlation of the rows.
    pub correlation: [f64; 2],
    /// Of that of the population that they were drawn from.
    pub correlation_of_population: [f64; 2],
    /// Of the slope of the rows, in widths of `y` over widths of `x`.
    pub slope: [f64; 2],
}

impl PairEnds {
    /// Of what is not seen.
    const ALL: Self = Self {
        correlation: [-1.0, 1.0],
        correlation_of_population: [-1.0, 1.0],
        slope: [f64::NEG_INFINITY, f64::INFINITY],
    };
}

/// `c` times the first number, plus `a` and `b` times the others.
#[derive(Clone, Copy)]
struct Form {
    c: f64,
    a: f64,
    b: f64,
}

/// The noisy parts of a release, and where their means are.
struct Release<'a> {
    seen: &'a Seen,
    parts: &'a [f64; PARTS],
    means: [f64; 2],
    miss: f64,
}

impl Release<'_> {
    /// How many times each part a form is.
    fn weights(&self, form: Form) -> [f64; PARTS] {
        let [mx, my] = self.means;
        let at = |x: f64, y: f64| {
            form.c * (x - mx) * (y - my) + form.a * (x - mx).powi(2) + form.b * (y - my).powi(2)
        };
        // A square is what the corners say, less `x (1 - x)`.
        [
            at(0.0, 0.0),
            at(1.0, 0.0),
            at(0.0, 1.0),
            at(1.0, 1.0),
            -form.a,
            -form.b,
        ]
    }

    fn value(&self, form: Form) -> f64 {
        let pairs = self.weights(form).into_iter().zip(self.parts);
        pairs.map(|(weight, part)| weight * part).sum()
    }

    /// How far noise moves it, but for the probability of a miss.
    fn reach(&self, form: Form) -> f64 {
        let weights = self.weights(form);
        let of_sum = |i: usize| {
            let pairs = weights.iter().zip(&self.seen.back);
            pairs.map(|(weight, back)| weight * back[i]).sum::<f64>()
        };
        let of_sums: [f64; PARTS] = std::array::from_fn(of_sum);
        match self.seen.law {
            Law::Normal(sd) => {
                let length = of_sums.iter().map(|w| w * w).sum::<f64>().sqrt();
                length * sd * quantile(self.miss, |t| tail::normal(1.0, t))
            }
            Law::Laplace(scale) => {
                let largest = of_sums.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
                if largest == 0.0 {
                    return 0.0;
                }
                let scales = of_sums.map(|w| w / largest);
                largest * scale * quantile(self.miss, |t| tail::laplaces(scales, t))
            }
        }
    }

    /// The ends of what holds from `inside` on, which is in it, up to `to` at most.
    fn end(inside: f64, to: f64, holds: &dyn Fn(f64) -> bool) -> f64 {
        if holds(to) {
            return to;
        }
        let (mut inside, mut outside) = (inside, to);
        for _ in 0..STEPS {
            let middle = inside.midpoint(outside);
            match holds(middle) {
                true => inside = middle,
                false => outside = middle,
            }
        }
        outside
    }
}

/// From this slope on, in widths of the bounds, there is no end.
const FAR: f64 = 1e12;

/// Halvings of an interval of correlations: to within 1e-9.
const STEPS: usize = 32;

/// The intervals, each with that probability to miss, of a release with these noisy parts, counted in rows; up to
/// `alike` rows may be of one person.
pub fn ends(seen: &Seen, parts: &[f64; PARTS], miss: f64, alike: f64) -> PairEnds {
    let [p00, p10, p01, p11, ..] = *parts;
    let rows = p00 + p10 + p01 + p11;
    if rows.is_nan() || rows <= 0.0 {
        return PairEnds::ALL;
    }
    let release = Release {
        seen,
        parts,
        means: [(p10 + p11) / rows, (p01 + p11) / rows].map(|mean| mean.clamp(0.0, 1.0)),
        miss,
    };
    let of = |c: f64, a: f64, b: f64| Form { c, a, b };
    let [c, a, b] = [of(1.0, 0.0, 0.0), of(0.0, 1.0, 0.0), of(0.0, 0.0, 1.0)];
    let [of_c, of_a, of_b] = [c, a, b].map(|form| release.value(form));
    let is_seen = |form: Form, value: f64| value > release.reach(form);
    if !is_seen(a, of_a) {
        return PairEnds::ALL;
    }
    let slope_form = |slope: f64| of(1.0, -slope, 0.0);
    let slope_holds = |slope: f64| {
        let form = slope_form(slope);
        release.value(form).abs() <= release.reach(form)
    };
    let slope = of_c / of_a;
    // A spread that is seen bounds them: the form grows faster than its noise.
    let far = |sign: f64| {
        let mut step = slope.abs().max(1e-6);
        while slope_holds(slope + sign * step) {
            if step > FAR {
                return sign * f64::INFINITY;
            }
            step *= 2.0;
        }
        Release::end(slope, slope + sign * step, &slope_holds)
    };
    let slope = [far(-1.0), far(1.0)];
    if !is_seen(b, of_b) {
        return PairEnds {
            slope,
            ..PairEnds::ALL
        };
    }
    let k = (of_b / of_a).sqrt();
    let root = (of_a * of_b).sqrt();
    let normal = quantile(miss, |t| tail::normal(1.0, t));
    let holds = |of_sample: f64| {
        let release = &release;
        move |r: f64| {
            let form = of(1.0, -r * k / 2.0, -r / (2.0 * k));
            let sample = of_sample * root * (alike / rows).sqrt() * (1.0 - r * r);
            release.value(form).abs() <= release.reach(form).hypot(sample)
        }
    };
    let found = (of_c / root).clamp(-1.0, 1.0);
    let between =
        |holds: &dyn Fn(f64) -> bool| [-1.0, 1.0].map(|end| Release::end(found, end, holds));
    PairEnds {
        correlation: between(&holds(0.0)),
        correlation_of_population: between(&holds(normal)),
        slope,
    }
}

/// Any that answers with intervals, too.
pub type PairEstimator = dyn OfPairs<Answer = PairEstimate>;

/// What a release with intervals hands back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairEstimate {
    /// The numbers.
    pub answer: PairAnswer,
    /// Their intervals; those of the slope in the units of the columns.
    pub ends: PairEnds,
}

/// A mechanism with the intervals of its answers.
///
/// **Why it is private**: they are a function of the noisy sums and of public numbers: post-processing.
pub struct WithEnds {
    mechanism: Box<PairMechanism>,
    seen: Seen,
    miss: f64,
    alike: f64,
}

impl WithEnds {
    /// With intervals that miss with that probability, where up to `alike` rows are of one person; `None` of a
    /// mechanism that does not tell both spreads.
    pub fn new(mechanism: Box<PairMechanism>, miss: f64, alike: u32) -> Option<Self> {
        let seen = mechanism.seen()?;
        Some(Self {
            mechanism,
            seen,
            miss,
            alike: f64::from(alike),
        })
    }
}

impl Mechanism<PairMoments> for WithEnds {
    type Answer = PairEstimate;

    fn grid(&self) -> Option<Grid> {
        self.mechanism.grid()
    }

    fn release(&self, moments: &PairMoments, generator: &mut Generator) -> PairEstimate {
        let answer = self.mechanism.release(moments, generator);
        let mut ends = ends(&self.seen, &answer.parts, self.miss, self.alike);
        let [ylo, yhi, xlo, xhi] = self.pair_grid().ends();
        ends.slope = ends.slope.map(|slope| slope * (yhi - ylo) / (xhi - xlo));
        PairEstimate { answer, ends }
    }
}

impl OfPairs for WithEnds {
    fn pair_grid(&self) -> PairGrid {
        self.mechanism.pair_grid()
    }

    fn seen(&self) -> Option<Seen> {
        Some(self.seen)
    }
}
