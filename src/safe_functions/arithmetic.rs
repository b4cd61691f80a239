//! Arithmetic and casts of numbers and dates that answer NULL (`None`) where PostgreSQL's own raise an error, and
//! the same as those anywhere else. Values are passed in the datum itself, so nothing here touches memory.

use pgrx::pg_sys::Datum;

/// Code of our own for a function of one argument or two; the second of one is not looked at.
pub type Native = fn(Datum, Datum) -> Option<Datum>;

/// A number that a datum holds.
pub trait Number: Copy {
    fn of(datum: Datum) -> Self;
    fn datum(self) -> Datum;
}

macro_rules! numbers {
    ($($number:ty: $of:expr, $datum:expr;)*) => {$(
        impl Number for $number {
            fn of(datum: Datum) -> Self {
                $of(datum.value())
            }
            fn datum(self) -> Datum {
                $datum(self)
            }
        }
    )*};
}

numbers! {
    i16: |word| word as i16, Datum::from;
    i32: |word| word as i32, Datum::from;
    i64: |word| word as i64, Datum::from;
    f32: |word| f32::from_bits(word as u32), |x: f32| Datum::from(x.to_bits() as i32);
    f64: |word| f64::from_bits(word as u64), |x: f64| Datum::from(x.to_bits() as i64);
}

/// An integer, with the operations that may have no answer.
pub trait Integer: Number {
    fn opposite(self) -> Option<Self>;
    fn magnitude(self) -> Option<Self>;
    fn remainder(self, by: Self) -> Option<Self>;
    fn wide(self) -> i64;
    fn narrow(wide: i64) -> Option<Self>;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Integer for $integer {
            fn opposite(self) -> Option<Self> {
                self.checked_neg()
            }
            fn magnitude(self) -> Option<Self> {
                self.checked_abs()
            }
            // The smallest integer modulo -1 is 0, though the quotient does not fit.
            fn remainder(self, by: Self) -> Option<Self> {
                (by != 0).then(|| self.wrapping_rem(by))
            }
            fn wide(self) -> i64 {
                self.into()
            }
            fn narrow(wide: i64) -> Option<Self> {
                wide.try_into().ok()
            }
        }
    )*};
}

integers!(i16 i32 i64);

/// `$operation` of integers of two types, in the wider one.
macro_rules! integer {
    ($a:ty, $b:ty => $wide:ty, $operation:ident) => {
        |a, b| {
            let a = <$wide>::from(<$a as Number>::of(a));
            let answer = a.$operation(<$wide>::from(<$b as Number>::of(b)))?;
            Some(Number::datum(answer))
        }
    };
}

/// `$operation` of floats of two types, in the wider one.
macro_rules! float {
    ($a:ty, $b:ty => $wide:ty, $operation:ident) => {
        |a, b| {
            let a = <$wide>::from(<$a as Number>::of(a));
            let b = <$wide>::from(<$b as Number>::of(b));
            arithmetic::$operation(a, b).map(Number::datum)
        }
    };
}

pub(super) use {float, integer};

pub fn modulo<T: Integer>(a: Datum, b: Datum) -> Option<Datum> {
    T::of(a).remainder(T::of(b)).map(T::datum)
}

pub fn negative<T: Integer>(a: Datum, _: Datum) -> Option<Datum> {
    T::of(a).opposite().map(T::datum)
}

pub fn absolute<T: Integer>(a: Datum, _: Datum) -> Option<Datum> {
    T::of(a).magnitude().map(T::datum)
}

/// An integer as one of another size.
pub fn narrowed<T: Integer, U: Integer>(a: Datum, _: Datum) -> Option<Datum> {
    U::narrow(T::of(a).wide()).map(U::datum)
}

/// A float as an integer: the nearest one, of two the even one.
pub fn rounded<T: Number + Into<f64>, U: Integer>(a: Datum, _: Datum) -> Option<Datum> {
    let x: f64 = T::of(a).into();
    let nearest = x.round_ties_even();
    // 2^63 is a float, the largest 64-bit integer is none. NaN is in no range.
    let limit = 2f64.powi(63);
    let fits = (-limit..limit).contains(&nearest);
    fits.then_some(nearest as i64)
        .and_then(U::narrow)
        .map(U::datum)
}

/// A `float8` as a `float4`.
pub fn single(a: Datum, _: Datum) -> Option<Datum> {
    let x = f64::of(a);
    let near = x as f32;
    let overflow = near.is_infinite() && x.is_finite();
    let underflow = near == 0.0 && x != 0.0;
    (!overflow && !underflow).then(|| near.datum())
}

/// What the operations below ask of both sizes of floats.
pub trait Float: Copy + PartialEq + Default {
    fn is_infinite(self) -> bool;
    fn is_nan(self) -> bool;
}

impl Float for f32 {
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Float for f64 {
    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

fn overflows<T: Float>(answer: T, a: T, b: T) -> bool {
    answer.is_infinite() && !a.is_infinite() && !b.is_infinite()
}

pub fn sum<T: Float + std::ops::Add<Output = T>>(a: T, b: T) -> Option<T> {
    let answer = a + b;
    (!overflows(answer, a, b)).then_some(answer)
}

pub fn difference<T: Float + std::ops::Sub<Output = T>>(a: T, b: T) -> Option<T> {
    let answer = a - b;
    (!overflows(answer, a, b)).then_some(answer)
}

pub fn product<T: Float + std::ops::Mul<Output = T>>(a: T, b: T) -> Option<T> {
    let (answer, zero) = (a * b, T::default());
    let underflows = answer == zero && a != zero && b != zero;
    (!overflows(answer, a, b) && !underflows).then_some(answer)
}

pub fn quotient<T: Float + std::ops::Div<Output = T>>(a: T, b: T) -> Option<T> {
    let (answer, zero) = (a / b, T::default());
    let by_zero = b == zero && !a.is_nan();
    let overflows = answer.is_infinite() && !a.is_infinite();
    let underflows = answer == zero && a != zero && !b.is_infinite();
    (!by_zero && !overflows && !underflows).then_some(answer)
}

pub fn square_root(a: Datum, _: Datum) -> Option<Datum> {
    let x = f64::of(a);
    // Not "at least 0": NaN has an answer, NaN.
    (!matches!(x.partial_cmp(&0.0), Some(std::cmp::Ordering::Less))).then(|| x.sqrt().datum())
}

fn of_positive(a: Datum, function: fn(f64) -> f64) -> Option<Datum> {
    let x = f64::of(a);
    (x.is_nan() || x > 0.0).then(|| function(x).datum())
}

pub fn logarithm(a: Datum, _: Datum) -> Option<Datum> {
    of_positive(a, f64::ln)
}

pub fn logarithm_10(a: Datum, _: Datum) -> Option<Datum> {
    of_positive(a, f64::log10)
}

/// The days of PostgreSQL's dates: from the start of the Julian days on, to before the year 5874898. They are
/// counted from 2000-01-01.
const DAYS: std::ops::Range<i32> = -2_451_545..2_147_483_494 - 2_451_545;

fn is_infinite(date: i32) -> bool {
    date == i32::MIN || date == i32::MAX
}

fn moved(date: Datum, by: impl FnOnce(i32) -> Option<i32>) -> Option<Datum> {
    let date = i32::of(date);
    if is_infinite(date) {
        return Some(date.datum());
    }
    by(date).filter(|day| DAYS.contains(day)).map(i32::datum)
}

pub fn date_plus(date: Datum, days: Datum) -> Option<Datum> {
    moved(date, |date| date.checked_add(i32::of(days)))
}

pub fn date_minus(date: Datum, days: Datum) -> Option<Datum> {
    moved(date, |date| date.checked_sub(i32::of(days)))
}

pub fn days_between(a: Datum, b: Datum) -> Option<Datum> {
    let (a, b) = (i32::of(a), i32::of(b));
    let finite = !is_infinite(a) && !is_infinite(b);
    // Dates span less than 2^31 days.
    finite.then(|| a.checked_sub(b)).flatten().map(i32::datum)
}
