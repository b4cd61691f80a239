//! Interval arithmetic: where a number lies that is computed from others whose range is known. Every
//! bound is rounded outwards. What may also be NaN or infinite lies anywhere.

/// The numbers from `lo` to `hi`. With an end that is infinite, NaN and infinite numbers may be among them too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    /// Nothing is known.
    pub const ANYWHERE: Self = Self {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
    };

    /// Of NULL: no number at all.
    pub const NOWHERE: Self = Self {
        lo: f64::INFINITY,
        hi: f64::NEG_INFINITY,
    };

    /// From `lo` to `hi`; anywhere, if one of them is NaN or they are the wrong way round.
    pub fn new(lo: f64, hi: f64) -> Self {
        if lo <= hi {
            Self { lo, hi }
        } else {
            Self::ANYWHERE
        }
    }

    /// Around a number that may have been rounded to this float.
    pub fn around(x: f64) -> Self {
        Self::new(x, x).outwards()
    }

    /// Exactly this number.
    pub fn exactly(x: f64) -> Self {
        Self::new(x, x)
    }

    /// Both ends, if they are finite.
    pub fn ends(self) -> Option<(f64, f64)> {
        (self.lo.is_finite() && self.hi.is_finite()).then_some((self.lo, self.hi))
    }

    /// Both ends, which may be infinite.
    pub fn limits(self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    /// What lies in both. Where they have no more than an end in common, the other one; or this one, if the other has
    /// no two ends.
    pub fn and(self, other: Self) -> Self {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo < hi {
            Self { lo, hi }
        } else if other.ends().is_some() {
            other
        } else {
            self
        }
    }

    fn is_nowhere(self) -> bool {
        self.lo > self.hi
    }

    fn outwards(self) -> Self {
        Self::new(self.lo.next_down(), self.hi.next_up())
    }

    /// What arithmetic makes of both: `f` of the ends, and nothing is known if one end is infinite.
    fn with(self, other: Self, f: impl FnOnce((f64, f64), (f64, f64)) -> Self) -> Self {
        if self.is_nowhere() || other.is_nowhere() {
            return Self::NOWHERE;
        }
        match (self.ends(), other.ends()) {
            (Some(a), Some(b)) => f(a, b),
            _ => Self::ANYWHERE,
        }
    }

    fn map(self, f: impl FnOnce(f64, f64) -> Self) -> Self {
        self.with(Self::exactly(0.0), |(lo, hi), _| f(lo, hi))
    }

    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| sum(a.0, b.0).hull(sum(a.1, b.1)))
    }

    pub fn minus(self, other: Self) -> Self {
        self.plus(other.opposite())
    }

    pub fn times(self, other: Self) -> Self {
        self.with(other, |a, b| {
            let products = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            Self::all(products.map(|(a, b)| product(a, b)))
        })
    }

    /// The quotient of reals. PostgreSQL rounds those of `numeric` to 16 digits or more.
    pub fn over(self, other: Self) -> Self {
        self.with(other, |a, b| {
            if b.0 <= 0.0 && b.1 >= 0.0 {
                return Self::ANYWHERE;
            }
            let quotients = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            Self::all(quotients.map(|(a, b)| quotient(a, b)))
        })
    }

    /// The quotient of integers, without its fraction: a divisor that is not 0 makes nothing larger.
    pub fn over_integer(self, other: Self) -> Self {
        self.with(other, |a, b| {
            if b.0 > 0.0 || b.1 < 0.0 {
                return self.over(other).truncated();
            }
            let most = a.0.abs().max(a.1.abs());
            Self::new(-most, most)
        })
    }

    /// The remainder: it has the sign of the dividend, and is less than both.
    pub fn modulo(self, other: Self) -> Self {
        self.with(other, |a, b| {
            let most = b.0.abs().max(b.1.abs());
            Self::new(a.0.clamp(-most, 0.0), a.1.clamp(0.0, most))
        })
    }

    pub fn opposite(self) -> Self {
        self.map(|lo, hi| Self::new(-hi, -lo))
    }

    pub fn magnitude(self) -> Self {
        self.map(|lo, hi| {
            let least = if lo <= 0.0 && hi >= 0.0 {
                0.0
            } else {
                lo.abs().min(hi.abs())
            };
            Self::new(least, lo.abs().max(hi.abs()))
        })
    }

    /// To the power of a whole number.
    pub fn power(self, n: u32) -> Self {
        let exponent = f64::from(n);
        let base = if n.is_multiple_of(2) {
            self.magnitude()
        } else {
            self
        };
        base.map(|lo, hi| Self::new(lo.powf(exponent), hi.powf(exponent)).widened(1e-13))
    }

    /// Of the numbers that have one.
    pub fn square_root(self) -> Self {
        self.map(|lo, hi| {
            if hi < 0.0 {
                return Self::NOWHERE;
            }
            Self::new(lo.max(0.0).sqrt(), hi.sqrt()).widened(1e-14)
        })
    }

    /// Rounded to this many places behind the point, in one of the ways that there are.
    pub fn to_places(self, places: i32) -> Self {
        let step = 10f64.powi(-places);
        // What has no digits behind the last place is rounded to itself, and rounding keeps the order.
        let stays = |x: f64| places >= 0 && x.fract() == 0.0;
        self.map(|lo, hi| {
            let lo = if stays(lo) {
                lo
            } else {
                (lo - step).next_down()
            };
            let hi = if stays(hi) { hi } else { (hi + step).next_up() };
            Self::new(lo, hi)
        })
    }

    pub fn rounded(self) -> Self {
        self.each(f64::round_ties_even).hull(self.each(f64::round))
    }

    pub fn floor(self) -> Self {
        self.each(f64::floor)
    }

    pub fn ceiling(self) -> Self {
        self.each(f64::ceil)
    }

    pub fn truncated(self) -> Self {
        self.each(f64::trunc)
    }

    /// Rounded to that many digits.
    pub fn to_digits(self, digits: i32) -> Self {
        let (limit, part) = (10f64.powi(digits), 10f64.powi(1 - digits));
        let stays = |x: f64| x.fract() == 0.0 && x.abs() < limit;
        self.map(|lo, hi| {
            let wide = self.widened(part);
            let lo = if stays(lo) { lo } else { wide.lo };
            Self::new(lo, if stays(hi) { hi } else { wide.hi })
        })
    }

    /// As `float4`.
    pub fn single(self) -> Self {
        self.map(|lo, hi| {
            let (below, above) = (lo as f32, hi as f32);
            let (down, up) = (f64::from(below) > lo, f64::from(above) < hi);
            let below = if down { below.next_down() } else { below };
            let above = if up { above.next_up() } else { above };
            Self::new(f64::from(below).min(lo), f64::from(above).max(hi))
        })
    }

    /// `f` of both ends, of a function that keeps the order.
    fn each(self, f: fn(f64) -> f64) -> Self {
        self.map(|lo, hi| Self::new(f(lo), f(hi)))
    }

    /// What lies in one or the other.
    pub fn hull(self, other: Self) -> Self {
        if self.is_nowhere() {
            return other;
        }
        if other.is_nowhere() {
            return self;
        }
        Self::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// The greatest of several, of whose operands some may be NULL; `sure` are those that are not.
    pub fn greatest(all: &[Self], sure: &[Self]) -> Self {
        let hull = all.iter().fold(Self::NOWHERE, |a, b| a.hull(*b));
        let least = sure
            .iter()
            .fold(f64::NEG_INFINITY, |least, one| least.max(one.lo));
        if hull.is_nowhere() {
            return hull;
        }
        Self::new(hull.lo.max(least), hull.hi)
    }

    /// The least of several, in the same way.
    pub fn least(all: &[Self], sure: &[Self]) -> Self {
        let hull = all.iter().fold(Self::NOWHERE, |a, b| a.hull(*b));
        let most = sure
            .iter()
            .fold(f64::INFINITY, |most, one| most.min(one.hi));
        if hull.is_nowhere() {
            return hull;
        }
        Self::new(hull.lo, hull.hi.min(most))
    }

    fn all(parts: [Self; 4]) -> Self {
        parts.into_iter().fold(Self::NOWHERE, Self::hull)
    }

    /// Wider by a part of its ends.
    fn widened(self, part: f64) -> Self {
        self.map(|lo, hi| Self::new(lo - lo.abs() * part, hi + hi.abs() * part).outwards())
    }
}

/// Between the floats around it, if `error` says that a float is not the number itself: what is left of it.
fn near(float: f64, error: f64) -> Interval {
    if error == 0.0 {
        Interval::exactly(float)
    } else {
        Interval::around(float)
    }
}

/// The sum, and the float that it is rounded to.
fn sum(a: f64, b: f64) -> Interval {
    // The error of a sum is a float, and these operations find it (Knuth's TwoSum).
    let sum = a + b;
    let second = sum - a;
    let error = (a - (sum - second)) + (b - second);
    near(sum, error)
}

/// The product, and the float that it is rounded to.
fn product(a: f64, b: f64) -> Interval {
    let product = a * b;
    // Below, the error of a product may be no float.
    let exact = a == 0.0 || b == 0.0 || product.abs() > 1e-250;
    let error = a.mul_add(b, -product);
    near(product, if exact { error } else { f64::NAN })
}

/// The quotient, and what it is rounded to, as a float or as a `numeric` with 16 digits or more.
fn quotient(a: f64, b: f64) -> Interval {
    let quotient = a / b;
    // Numbers that a numeric keeps whole: those without a fraction, and those with 10 digits behind the point and 4
    // before.
    let short = (quotient * 1024.0).fract() == 0.0 && quotient.abs() < 1e4;
    let exact = quotient.mul_add(b, -a) == 0.0;
    if exact && (short || quotient.fract() == 0.0) {
        Interval::exactly(quotient)
    } else {
        Interval::exactly(quotient).widened(1e-14)
    }
}

#[cfg(test)]
mod tests {
    use super::Interval;

    #[test]
    fn what_is_exact_is_not_widened() {
        let x = Interval::new(-1.0, 10.0);
        let two = Interval::exactly(2.0);
        assert_eq!(x.plus(two).ends(), Some((1.0, 12.0)));
        assert_eq!(x.minus(two).ends(), Some((-3.0, 8.0)));
        assert_eq!(x.times(two).ends(), Some((-2.0, 20.0)));
        assert_eq!(x.over(Interval::exactly(-1.0)).ends(), Some((-10.0, 1.0)));
        assert_eq!(x.magnitude().ends(), Some((0.0, 10.0)));
        assert_eq!(x.modulo(two).ends(), Some((-1.0, 2.0)));
        assert_eq!(x.single().ends(), Some((-1.0, 10.0)));
        assert_eq!(x.to_places(2).ends(), Some((-1.0, 10.0)));
    }

    #[test]
    fn what_is_rounded_is_between() {
        let third = Interval::exactly(1.0).over(Interval::exactly(3.0));
        let (lo, hi) = third.ends().expect("a range");
        assert!(lo < 1.0 / 3.0 && 1.0 / 3.0 < hi && hi - lo < 1e-13);
        let sum = Interval::exactly(0.1).plus(Interval::exactly(0.2));
        let (lo, hi) = sum.ends().expect("a range");
        assert!(lo < 0.1 + 0.2 && 0.1 + 0.2 < hi && hi - lo < 1e-15);
    }

    #[test]
    fn what_may_be_infinite_may_be_anything() {
        let open = Interval::greatest(
            &[Interval::ANYWHERE, Interval::exactly(0.0)],
            &[Interval::exactly(0.0)],
        );
        assert_eq!(open.ends(), None);
        assert_eq!(open.opposite(), Interval::ANYWHERE);
        let hundred = Interval::exactly(100.0);
        let clamped = Interval::least(&[open, hundred], &[hundred]);
        assert_eq!(clamped.ends(), Some((0.0, 100.0)));
        // As a numeric it is above all floats.
        let above = Interval::exactly(f64::MAX).plus(hundred);
        assert_eq!(above.ends(), None);
    }
}
