//! Whether a group of `n` rows may be shown: the coin of optimal partition selection, tossed
//! exactly.

use std::cell::OnceCell;

use crate::privacy::delta::Delta;
use crate::privacy::epsilon::Epsilon;
use crate::random::Bits;
use crate::sampler::branch::ratio_64;
use crate::sampler::enclosure::Enclosure;
use crate::sampler::natural::Natural;

/// The coin that shows a group of `n` rows with the largest probabilities `pi(n)` there are with
/// `pi(0) = 0` and
///
/// * `pi(n) <= e^epsilon pi(n-1) + delta`,
/// * `1 - pi(n-1) <= e^epsilon (1 - pi(n)) + delta`
///
/// (Desfontaines, Voss, Gipson, Mandayam 2022, Differentially private partition selection):
/// `pi(n) = min(e^epsilon pi(n-1) + delta, 1 - e^-epsilon (1 - pi(n-1) - delta), 1)`.
///
/// **In closed form.** Let `z = e^epsilon - 1` and `a(n) = delta (e^(n epsilon) - 1) / z`, so
/// that `a(0) = 0` and `a(n) = e^epsilon a(n-1) + delta`. The first of the three is the least
/// where `pi(n-1) (e^epsilon - e^-epsilon) <= (1 - delta) (1 - e^-epsilon)`, that is where
/// `pi(n-1) <= (1 - delta) / (e^epsilon + 1)`. As pi grows, that holds up to some `n1`, the one
/// behind the last `n` with `a(n) <= (1 - delta) / (e^epsilon + 1)`, and never again:
///
/// * for `n <= n1`: `pi(n) = a(n)`;
/// * for `n = n1 + m`: `1 - pi` follows `q -> e^-epsilon (q - delta)`, so that
///   `pi(n) = 1 - e^(-m epsilon) (1 - a(n1) - a(m))`, or 1 from where `a(n1) + a(m) >= 1`.
///
/// With `A = e^(n1 epsilon) - 1` and `M = e^(m epsilon) - 1` the latter is the fraction
/// `(z M + delta (A + M)) / (z (1 + M))`, of positive numbers, which grows with `A` and `M` and
/// falls with `z` where these are held: so intervals around the three give one around `pi`.
///
/// **Exactly.** A uniform number `U` is compared with `pi(n)` digit by digit, as in
/// [`branch`](super::branch): an interval around `pi(n)` decides, and where it leaves `U` open,
/// more digits of `U` and a narrower interval are taken. Where the stretches begin is decided by
/// narrower and narrower intervals, too. That ends: both are about the sign of a polynomial in
/// `e^epsilon`, which is transcendental (Lindemann 1882, epsilon being a fraction above 0), with
/// rational coefficients that are not all 0. (But for one case, `delta = 1/2` with `n1 = m = 1`,
/// which is looked at by itself.)
#[derive(Clone, Debug)]
pub struct Selection {
    epsilon: Epsilon,
    delta: Delta,
    /// `n1`.
    first_stretch: u64,
    /// The least `n` with `pi(n) = 1`.
    certain_from: u64,
    /// For `n` from 1, numbers `(surely, at_most)` with
    /// `surely * 2^-64 <= pi(n) <= (at_most + 1) * 2^-64`: for the small groups, which may be many.
    /// The others have that many rows that a toss by itself costs little beside them.
    table: OnceCell<Vec<(u64, u64)>>,
}

/// For how many numbers of rows the thresholds are kept.
const KEPT: u64 = 1024;

/// Binary digits of what the thresholds are computed from. As `z` is at least 2^-40, 40 of them
/// may be zeros; the thousand multiplications, and the terms of a series before them, cost less
/// than 30. Of the rest 64 count.
const DIGITS: u32 = 192;

/// By how many binary digits the interval around `pi` is narrower than that of the uniform number.
/// At most 50 or so are lost, to zeros and roundings, as above.
const GUARD: u32 = 64;

impl Selection {
    /// Finds where the stretches begin.
    pub fn new(epsilon: Epsilon, delta: Delta) -> Self {
        let first_stretch = first_stretch(epsilon, &delta);
        Self {
            epsilon,
            delta,
            first_stretch,
            certain_from: first_stretch + second_stretch(epsilon, &delta, first_stretch),
            table: OnceCell::new(),
        }
    }

    /// The smallest number of rows that is shown with certainty.
    pub fn certain_from(&self) -> u64 {
        self.certain_from
    }

    /// True with probability `pi(n)`.
    pub fn toss<B: Bits>(&self, n: u64, bits: &mut B) -> bool {
        if n == 0 {
            return false;
        }
        let unseen = 64 - B::WIDTH;
        let word = bits.word();
        if n >= self.certain_from {
            return true;
        }
        // U is in [word, word + 1) * 2^-WIDTH.
        let table = self.table.get_or_init(|| self.thresholds());
        match usize::try_from(n - 1).ok().and_then(|i| table.get(i)) {
            Some((surely, _)) if word < surely >> unseen => true,
            Some((_, at_most)) if word > at_most >> unseen => false,
            _ => self.decide(n, word, bits),
        }
    }

    #[cold]
    #[inline(never)]
    fn decide<B: Bits>(&self, n: u64, word: u64, bits: &mut B) -> bool {
        let mut uniform = Natural::new(u128::from(word));
        let mut width = B::WIDTH;
        loop {
            let [(part, whole), (most, of)] = self.enclosed(n, width + GUARD);
            if uniform.plus(&Natural::new(1)).times(&whole) <= part.up(width) {
                return true;
            }
            if uniform.times(&of) >= most.up(width) {
                return false;
            }
            uniform = uniform
                .up(B::WIDTH)
                .plus(&Natural::new(u128::from(bits.word())));
            width += B::WIDTH;
        }
    }

    /// `pi(n)` as a float, right to 15 digits or so.
    pub fn probability(&self, n: u64) -> f64 {
        if n == 0 {
            0.0
        } else if n >= self.certain_from {
            1.0
        } else {
            let [(part, whole), _] = self.enclosed(n, DIGITS);
            let top = |number: &Natural| {
                let cut = number.length().saturating_sub(64);
                (number.down(cut).low_128() as f64, cut as i32)
            };
            let ((part, a), (whole, b)) = (top(&part), top(&whole));
            // In two factors, as the smallest floats are 2^-1074.
            let half = (a - b) / 2;
            part / whole * 2f64.powi(half) * 2f64.powi(a - b - half)
        }
    }

    /// Fractions below and above `pi(n)`, for `n` of the two stretches.
    fn enclosed(&self, n: u64, digits: u32) -> [(Natural, Natural); 2] {
        let power = |n| Enclosure::of_expm1_times(self.epsilon, n, digits).cut(digits);
        if n <= self.first_stretch {
            self.on_first(&power(1), &power(n))
        } else {
            let beyond = power(n - self.first_stretch);
            self.on_second(&power(1), &power(self.first_stretch), &beyond)
        }
    }

    /// `a(n)`, from `z` and `e^(n epsilon) - 1`, below and above.
    fn on_first(&self, z: &Enclosure, power: &Enclosure) -> [(Natural, Natural); 2] {
        let delta = Natural::new(self.delta.numerator());
        let fraction = |z: &Natural, power: &Natural| {
            let part = delta.times(power);
            (part, z.up(self.delta.places()))
        };
        [fraction(&z.high, &power.low), fraction(&z.low, &power.high)]
    }

    /// `(z M + delta (A + M)) / (z (1 + M))`, below and above.
    fn on_second(&self, z: &Enclosure, a: &Enclosure, m: &Enclosure) -> [(Natural, Natural); 2] {
        let delta = Natural::new(self.delta.numerator());
        let (digits, places) = (z.digits, self.delta.places());
        let fraction = |z: &Natural, a: &Natural, m: &Natural| {
            let whole = z.times(&Natural::new(1).up(digits).plus(m)).up(places);
            let part = z.times(m).up(places);
            let part = part.plus(&delta.times(&a.plus(m)).up(digits));
            (part.min(whole.clone()), whole)
        };
        [
            fraction(&z.high, &a.low, &m.low),
            fraction(&z.low, &a.high, &m.high),
        ]
    }

    fn thresholds(&self) -> Vec<(u64, u64)> {
        let z = Enclosure::of_expm1(self.epsilon, DIGITS).cut(DIGITS);
        let a = Enclosure::of_expm1_times(self.epsilon, self.first_stretch, DIGITS).cut(DIGITS);
        let mut power = z.clone();
        let mut thresholds = Vec::new();
        for n in 1..self.certain_from.min(KEPT + 1) {
            let [(part, whole), (most, of)] = if n <= self.first_stretch {
                self.on_first(&z, &power)
            } else {
                self.on_second(&z, &a, &power)
            };
            thresholds.push((ratio_64(&part, &whole, false), ratio_64(&most, &of, true)));
            power = if n == self.first_stretch {
                z.clone()
            } else {
                power.compounded(&z)
            };
        }
        thresholds
    }
}

/// `n1`: one more than the last `n` with `a(n) <= (1 - delta) / (e^epsilon + 1)`.
fn first_stretch(epsilon: Epsilon, delta: &Delta) -> u64 {
    let e = epsilon.value();
    let rest = (-delta.value()).ln_1p();
    let growth = rest + ln_expm1(e) - delta.ln() - e - (-e).exp().ln_1p();
    // A guess, off by a few at most: floats have 52 digits, and this is below 2^51.
    let mut n = (ln_1p_exp(growth) / e) as u64;
    let (one, part) = (Natural::new(1), Natural::new(delta.numerator()));
    let rest = one.up(delta.places()).minus(&part);
    let holds = |n: u64| {
        // delta (e^(n epsilon) - 1) (z + 2) <= (1 - delta) z?
        settled(|digits| {
            let z = Enclosure::of_expm1(epsilon, digits).cut(digits);
            let power = Enclosure::of_expm1_times(epsilon, n, digits).cut(digits);
            let two = one.up(digits + 1);
            let left = |power: &Natural, z: &Natural| part.times(power).times(&z.plus(&two));
            let right = |z: &Natural| rest.times(z).up(digits);
            if left(&power.high, &z.high) <= right(&z.low) {
                Some(true)
            } else if left(&power.low, &z.low) > right(&z.high) {
                Some(false)
            } else {
                None
            }
        })
    };
    while n > 0 && !holds(n) {
        n -= 1;
    }
    while holds(n + 1) {
        n += 1;
    }
    n + 1
}

/// The least `m >= 1` with `a(n1) + a(m) >= 1`.
fn second_stretch(epsilon: Epsilon, delta: &Delta, first: u64) -> u64 {
    let e = epsilon.value();
    let at_first = (delta.ln() + ln_expm1(first as f64 * e) - ln_expm1(e)).exp();
    let growth = ln_expm1(e) + (-at_first).ln_1p() - delta.ln();
    let mut m = ((ln_1p_exp(growth) / e).ceil() as u64).max(1);
    let part = Natural::new(delta.numerator());
    let certain = |m: u64| {
        if first == 1 && m == 1 {
            // a(1) = delta.
            return part.up(1) >= Natural::new(1).up(delta.places());
        }
        // delta (A + M) >= z?
        settled(|digits| {
            let power = |n| Enclosure::of_expm1_times(epsilon, n, digits).cut(digits);
            let (z, a, m) = (power(1), power(first), power(m));
            if part.times(&a.low.plus(&m.low)) >= z.high.up(delta.places()) {
                Some(true)
            } else if part.times(&a.high.plus(&m.high)) < z.low.up(delta.places()) {
                Some(false)
            } else {
                None
            }
        })
    };
    while m > 1 && certain(m - 1) {
        m -= 1;
    }
    while !certain(m) {
        m += 1;
    }
    m
}

/// What intervals say once they have enough digits.
fn settled(test: impl Fn(u32) -> Option<bool>) -> bool {
    let mut digits = DIGITS;
    loop {
        if let Some(answer) = test(digits) {
            return answer;
        }
        digits *= 2;
    }
}

/// `ln(e^x - 1)`, near enough.
fn ln_expm1(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp_m1().ln() }
}

/// `ln(1 + e^x)`, near enough.
fn ln_1p_exp(x: f64) -> f64 {
    if x > 40.0 { x } else { x.exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Script;

    /// A first word that leaves the coin open does not decide it: what comes after it does.
    #[test]
    fn the_words_after_the_first_decide_what_it_leaves_open() {
        let epsilon = Epsilon::new(Some(1.0)).unwrap();
        let selection = Selection::new(epsilon, Delta::new(Some(1e-3)).unwrap());
        // Of one row the probability is delta, which ends with a word.
        for (n, (surely, at_most)) in (1..).zip(selection.thresholds()).skip(1) {
            let toss = |words: &[u64]| Script::play(words, |bits| selection.toss(n, bits));
            assert_eq!(toss(&[surely - 1]), (true, 1));
            assert_eq!(toss(&[at_most + 1]), (false, 1));
            let ends = (surely..=at_most).map(|word| [0, u64::MAX].map(|next| toss(&[word, next])));
            let ends: Vec<_> = ends.collect();
            let is_open = |end: &&[(bool, usize); 2]| **end == [(true, 2), (false, 2)];
            assert_eq!(ends.iter().filter(is_open).count(), 1, "{n} {ends:?}");
        }
    }

    /// `(epsilon, n, delta)`: the largest double `delta` with `a(n) <= (1 - delta) / (e^epsilon + 1)`, from
    /// Python's decimal at 80 digits. The guess from floats is one too far at some of the next doubles,
    /// and one too near at some of these.
    const LARGEST: [(f64, u64, f64); 12] = [
        (Epsilon::MIN, 3, 0.142_856_967_692_510_94),
        (Epsilon::MIN, 20, 0.024_390_016_972_869_917),
        (0.125, 1, 0.319_167_768_453_859_2),
        (0.125, 30, 0.001_501_045_982_818_086_8),
        (0.5, 5, 0.021_432_556_124_600_17),
        (0.5, 200, 9.111_160_320_871_958e-45),
        (1.0, 2, 0.067_450_805_866_344_82),
        (1.0, 10, 2.098_059_882_457_884_4e-5),
        (1.0, 60, 4.046_533_861_173_996e-27),
        (3.0, 2, 0.002_244_165_838_673_78),
        (3.0, 20, 7.925_940_424_877_232e-27),
        (3.0, 200, 2.399_001_811_418_225e-261),
    ];

    #[test]
    fn the_first_stretch_is_exact_wherever_the_guess_is() {
        for (epsilon, n, largest) in LARGEST {
            let epsilon = Epsilon::new(Some(epsilon)).unwrap();
            let stretch = |delta| first_stretch(epsilon, &Delta::new(Some(delta)).unwrap());
            assert_eq!(stretch(largest), n + 1, "{epsilon:?} {largest}");
            assert_eq!(stretch(largest.next_up()), n, "{epsilon:?} {largest}");
        }
    }
}
