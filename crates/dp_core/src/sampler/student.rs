//! Student's t distribution with three degrees of freedom, scaled, moved and rounded exactly.

use crate::random::Bits;
use crate::sampler::exponential::Lazy;
use crate::sampler::natural::Natural;

/// `Z / sqrt(3)` for a `Z` with Student's t distribution of three degrees of freedom, as the real
/// number that it is: `u / sqrt(1 - u^2)` with a sign, where the digits of `u` are drawn when they
/// are first needed.
///
/// `u` and a fair sign make the first coordinate of a point uniform on the unit disk: two uniform
/// numbers, drawn again until `u^2 + y^2 < 1`. That coordinate has the density
/// `(2 / pi) sqrt(1 - u^2)` on (-1, 1). For `z = sqrt(3) u / sqrt(1 - u^2)`,
/// `1 + z^2 / 3 = 1 / (1 - u^2)` and `dz / du = sqrt(3) (1 - u^2)^(-3/2)`, so that `z` has the
/// density `2 / (pi sqrt(3)) (1 + z^2 / 3)^-2`: Student's, with three degrees of freedom.
///
/// The digits that the rejection needed are kept, and those never drawn are still independent fair
/// bits: it is settled whatever they are.
#[derive(Debug)]
struct Student {
    u: Lazy,
    negative: bool,
}

impl Student {
    #[inline]
    fn draw<B: Bits>(bits: &mut B) -> Self {
        loop {
            let mut u = Lazy::new(bits.word());
            if in_disk(&mut u, Lazy::new(bits.word()), bits) {
                let negative = bits.word() & 1 == 1;
                return Self { u, negative };
            }
        }
    }

    /// Whether the magnitude `u / sqrt(1 - u^2)` is above `part / whole`: whether `u^2` is above
    /// `part^2 / (part^2 + whole^2)`. Decided exactly by as many digits as needed.
    fn exceeds<B: Bits>(&mut self, part: &Natural, whole_squared: &Natural, bits: &mut B) -> bool {
        let part = part.times(part);
        let all = part.plus(whole_squared);
        let mut words = 1;
        loop {
            // u is in [low, low + 1) * 2^-width.
            let width = words * B::WIDTH;
            let (low, bound) = (self.u.digits(words, bits), part.up(2 * width));
            let high = low.plus(&Natural::new(1));
            if low.times(&low).times(&all) >= bound {
                return true;
            }
            if high.times(&high).times(&all) <= bound {
                return false;
            }
            words += 1;
        }
    }

    /// The magnitude, near enough for a first guess.
    fn guess<B: Bits>(&self) -> f64 {
        let last = u64::MAX >> (64 - B::WIDTH);
        let unit = last as f64 + 1.0;
        let (u, rest) = (self.u.first as f64, (last - self.u.first) as f64);
        // With the middle of the interval that the first word leaves: never a division by 0.
        let (u, rest) = ((u + 0.5) / unit, (rest + 0.5) / unit);
        u / (rest * (1.0 + u)).sqrt()
    }
}

/// Whether `u^2 + y^2 < 1`, for `u` and `y` in [0, 1).
#[inline]
fn in_disk<B: Bits>(u: &mut Lazy, mut y: Lazy, bits: &mut B) -> bool {
    // In units of 2^-32, and nearly always enough.
    let cut = |first: u64| first << (64 - B::WIDTH) >> 32;
    let spread = 1 << 32 >> B::WIDTH.min(32);
    let square = |x: u64, y: u64| u128::from(x) * u128::from(x) + u128::from(y) * u128::from(y);
    let (x, z) = (cut(u.first), cut(y.first));
    if square(x, z) >= 1 << 64 {
        return false;
    }
    if square(x + spread, z + spread) <= 1 << 64 {
        return true;
    }
    let mut words = 2;
    loop {
        let (x, z) = (u.digits(words, bits), y.digits(words, bits));
        let square = |more: u128| {
            let more = Natural::new(more);
            let (x, z) = (x.plus(&more), z.plus(&more));
            x.times(&x).plus(&z.times(&z))
        };
        let one = Natural::new(1).up(2 * words * B::WIDTH);
        if square(0) >= one {
            return false;
        }
        if square(1) <= one {
            return true;
        }
        words += 1;
    }
}

/// Draws are kept below this in magnitude.
const MOST: i128 = 1 << 120;

/// `centre + scale * Z / sqrt(3)` in units of `2^-places`, rounded to the nearest integer, for a
/// `Z` with Student's t distribution of three degrees of freedom.
///
/// Exact: the integer `k` has the probability that the real number falls in `[k - 1/2, k + 1/2)`,
/// for the rational numbers that the centre and the scale are. `Z` is drawn to as many digits as
/// tell in which of these it falls; that it falls on an end has probability 0. No rounding is
/// anywhere: the distance from the ideal distribution, rounded, is 0 in total variation.
///
/// But integers of 2^120 and more become the largest below. `|Z / sqrt(3)|` is above `x` with
/// probability `(4 / (3 pi)) x^-3` at most: at a scale of 2^62 units, which is the largest that a
/// mechanism here asks for, that happens with a probability below 2^-170.
#[derive(Clone, Debug)]
pub struct RoundedStudent {
    /// The centre and the scale, near enough for a first guess.
    near: (f64, f64),
    /// The centre's denominator.
    parts: Natural,
    /// The centre in half units times that, and whether it is negative.
    centre: (Natural, bool),
    /// The scale's denominator.
    divisor: Natural,
    /// The square of: the scale in half units, times both denominators.
    whole_squared: Natural,
}

impl RoundedStudent {
    /// Centre and scale as a numerator and a denominator. The denominators are 1 or more (0 counts
    /// as 1), and so is the scale's numerator.
    pub fn new(centre: (i128, u128), scale: (u128, u128), places: u32) -> Self {
        let (parts, scale, divisor) = (centre.1.max(1), scale.0.max(1), scale.1.max(1));
        let unit = f64::from(places).exp2();
        let near = (
            centre.0 as f64 / parts as f64 * unit,
            scale as f64 / divisor as f64 * unit,
        );
        let parts = Natural::new(parts);
        let whole = parts.times(&Natural::new(scale)).up(places + 1);
        Self {
            near,
            parts,
            centre: (
                Natural::new(centre.0.unsigned_abs()).up(places + 1),
                centre.0 < 0,
            ),
            divisor: Natural::new(divisor),
            whole_squared: whole.times(&whole),
        }
    }

    /// One draw.
    pub fn draw<B: Bits>(&self, bits: &mut B) -> i128 {
        let mut student = Student::draw(bits);
        let start = self.guess(student.guess::<B>(), student.negative);
        // The draw is at least `low` and below `high`, once they have been found from the guess.
        let (mut low, mut high, mut stride) = (start, start, 1);
        if self.reaches(start, &mut student, bits) {
            loop {
                high = (low + stride).min(MOST);
                if high == MOST || !self.reaches(high, &mut student, bits) {
                    break;
                }
                (low, stride) = (high, 2 * stride);
            }
        } else {
            loop {
                low = (high - stride).max(-MOST);
                if low == -MOST || self.reaches(low, &mut student, bits) {
                    break;
                }
                (high, stride) = (low, 2 * stride);
            }
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.reaches(middle, &mut student, bits) {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }

    /// A first guess: it decides nothing.
    fn guess(&self, magnitude: f64, negative: bool) -> i128 {
        let (centre, noise) = (self.near.0, self.near.1 * magnitude);
        let value = if negative {
            centre - noise
        } else {
            centre + noise
        };
        // The cast saturates.
        (value.round() as i128).clamp(-MOST, MOST - 1)
    }

    /// Whether the number, rounded, is at least `k`: whether it is at least `k - 1/2`.
    fn reaches<B: Bits>(&self, k: i128, student: &mut Student, bits: &mut B) -> bool {
        // How far `k - 1/2` is from the centre, in half units and times the centre's denominator;
        // then over the scale, where `part / whole` is that.
        let edge = 2 * k - 1;
        let times_parts = Natural::new(edge.unsigned_abs()).times(&self.parts);
        let (distance, below) =
            difference((&times_parts, edge < 0), (&self.centre.0, self.centre.1));
        if student.negative != below && !distance.is_zero() {
            // The noise points away from it.
            return below;
        }
        let part = distance.times(&self.divisor);
        student.exceeds(&part, &self.whole_squared, bits) != student.negative
    }
}

/// The magnitude of a difference, and whether it is negative. So are the numbers given.
fn difference(a: (&Natural, bool), b: (&Natural, bool)) -> (Natural, bool) {
    let ((a, a_negative), (b, b_negative)) = (a, b);
    if a_negative != b_negative {
        (a.plus(b), a_negative)
    } else if a >= b {
        (a.minus(b), a_negative)
    } else {
        (b.minus(a), !a_negative)
    }
}
