//! How long a function may work for one row: what would take longer than some tens of milliseconds has no answer, so
//! that time does not tell of a row by more than that.

use pgrx::pg_sys::{self, Datum};

/// Texts are not made longer than this, nor are longer ones looked at. A pass over that many bytes takes some
/// milliseconds, and needs a small multiple of it as memory, so that no row makes memory end.
pub const LONGEST: u64 = 256 << 10;

/// The most steps, of some nanoseconds each, of what is slower than a pass over its arguments.
const MOST_STEPS: u64 = 2_000_000;

/// As above, for a regular expression that is only looked for: a byte of the text, and a state.
const MOST_STEPS_OF_MATCH: u64 = 10_000_000;

/// The most digits of a number, before and behind the point, where all are computed with.
const MOST_DIGITS: u64 = 500;

/// The same where the number is looked at as a float.
const MOST_OF_FLOAT: u64 = 300;

/// The most bytes of a format.
pub const LONGEST_FORMAT: u64 = 10_000;

/// The most states of a regular expression.
const MOST_STATES: u64 = 1000;

/// How the work of a function grows with its arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A pass over them, or less.
    Pass,
    /// Each byte of the first one may be compared with each of the second.
    Search,
    /// The same, where the second one is a format that says where a date is in the first.
    Date,
    /// A format, which is the second one, is read and filled in.
    Format,
    /// A regular expression: whether it matches.
    Match,
    /// A regular expression: where it matches.
    Matches,
    /// Arithmetic with all digits of numbers.
    Digits,
    /// `exp(numeric)`.
    Exponential,
    /// `power(numeric, numeric)`.
    Power,
}

/// How the work of a function of the list grows.
pub fn of(function: u32) -> Work {
    match function {
        // position and strpos, LIKE and ILIKE, trim, translate, replace, split_part
        849 | 868 | 1698 | 850 | 851 | 858 | 859 | 1569..=1572 | 1631 | 1632 => Work::Search,
        1633..=1636 | 1660 | 1661 | 875 | 876 | 884 | 878 | 2087 | 2088 => Work::Search,
        // to_number
        1777 => Work::Search,
        // to_timestamp, to_date
        1778 | 1780 => Work::Date,
        // to_char
        1768 | 1770 | 1772..=1776 | 2049 => Work::Format,
        // ~, ~*, regexp_like
        79 | 1238..=1241 | 1252 | 1254 | 1256 | 1656..=1659 | 6263 | 6264 => Work::Match,
        // substring, regexp_replace, _count, _instr, _substr
        2073 | 2284 | 2285 | 6251..=6262 | 6265..=6269 => Work::Matches,
        // *, /, %, sqrt, ln, log, div, width_bucket, gcd, lcm
        1726..=1731 | 1734..=1737 | 1973 | 1980 | 2170 | 5048 | 5049 => Work::Digits,
        1732 | 1733 => Work::Exponential,
        1738 | 1739 | 2169 => Work::Power,
        _ => Work::Pass,
    }
}

/// Whether a search takes few enough steps.
pub fn is_short_search(text: u64, sought: u64) -> bool {
    text.saturating_mul(sought) <= MOST_STEPS
}

/// Whether the digits of a number are few enough for arithmetic with all of them.
///
/// # Safety
/// The datum is a `numeric`.
pub unsafe fn has_few_digits(number: Datum) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { digits(number) }.is_none_or(|(before, behind)| before + behind <= MOST_DIGITS)
}

/// Whether e to the power of this number has few enough digits.
///
/// # Safety
/// The datum is a `numeric`.
pub unsafe fn has_short_exponential(number: Datum) -> bool {
    // SAFETY: the same.
    unsafe { has_few_digits(number) && float(number).is_none_or(is_small) }
}

/// Whether a power has few enough digits.
///
/// # Safety
/// The datums are a `numeric` each.
pub unsafe fn has_short_power(base: Datum, exponent: Datum) -> bool {
    // SAFETY: the same.
    unsafe {
        if !has_few_digits(base) || !has_few_digits(exponent) {
            return false;
        }
        let is_known = |number| digits(number).is_none_or(|(before, _)| before <= MOST_OF_FLOAT);
        match (float(base), float(exponent)) {
            (Some(base), Some(exponent)) => is_small(exponent * base.abs().ln()),
            // NaN and infinite numbers have a power at once; others may be too large to say.
            _ => is_known(base) && is_known(exponent),
        }
    }
}

/// Whether the number with this natural logarithm has few enough digits. Of 0, the logarithm is infinite.
fn is_small(logarithm: f64) -> bool {
    logarithm.is_nan() || logarithm < MOST_DIGITS as f64 * std::f64::consts::LN_10
}

/// The digits of a number before and behind the point; `None` of one that is NaN or infinite.
///
/// # Safety
/// The datum is a `numeric`.
unsafe fn digits(number: Datum) -> Option<(u64, u64)> {
    // SAFETY: a varlena, as the caller says, whose bytes are at least a header of two (numeric.c); the plain copy is
    // only read here.
    let bytes = unsafe {
        let varlena = pg_sys::pg_detoast_datum_packed(number.cast_mut_ptr());
        pgrx::varlena::varlena_to_byte_slice(varlena)
    };
    let word = |i: usize| {
        Some(u16::from_ne_bytes(
            bytes.get(2 * i..2 * i + 2)?.try_into().ok()?,
        ))
    };
    let head = word(0)?;
    // The weight is the place of the first digit; each of these is four decimal digits.
    let (weight, scale) = match head >> 14 {
        3 => return None,
        // The short form, in which the weight has six bits and a sign.
        2 => {
            let weight = i64::from(head & 0x3f) - i64::from(head & 0x40);
            (weight, u64::from((head & 0x1f80) >> 7))
        }
        _ => (i64::from(word(1)? as i16), u64::from(head & 0x3fff)),
    };
    let before = u64::try_from((weight + 1) * 4).unwrap_or(0);
    Some((before, scale))
}

/// A number as a float, if it is one that has not too many digits.
///
/// # Safety
/// The datum is a `numeric`.
unsafe fn float(number: Datum) -> Option<f64> {
    // SAFETY: a numeric, as the caller says, whose float is no error: it has few digits.
    unsafe {
        let (before, _) = digits(number)?;
        if before > MOST_OF_FLOAT {
            return None;
        }
        pgrx::direct_function_call::<f64>(pg_sys::numeric_float8_no_overflow, &[Some(number)])
    }
}

/// What is known of a regular expression before it is compiled.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern {
    /// How many states it has about, at least.
    states: u64,
    /// Whether a part of it may match any number of characters.
    repeats: bool,
    /// Whether a group that is remembered may match several times.
    remembers: bool,
    /// Whether it refers back to what it matched, or looks ahead or behind.
    looks: bool,
}

impl Pattern {
    pub fn read(pattern: &[u8]) -> Self {
        let mut found = Self {
            states: 0,
            repeats: false,
            remembers: false,
            looks: false,
        };
        // For each group that is open: the states before the last part, those of the last part, whether a group is
        // remembered in all of it, and in the last part.
        let mut groups = vec![(0u64, 0u64, false, false)];
        let mut rest = pattern;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            let is_inner = groups.len() > 1;
            let last = groups.last_mut().expect("the whole is a group");
            let one = |last: &mut (u64, u64, bool, bool)| {
                *last = (last.0.saturating_add(last.1), 1, last.2 || last.3, false);
            };
            let escaped = *first == b'\\';
            match *first {
                b'\\'
                    if rest
                        .first()
                        .is_some_and(|byte| (b'1'..=b'9').contains(byte)) =>
                {
                    found.looks = true;
                }
                // The bound of a basic regular expression is escaped.
                b'{' | b'\\' if !escaped || rest.first() == Some(&b'{') => {
                    let start = usize::from(escaped);
                    let end = rest.iter().position(|byte| *byte == b'}');
                    let bound = &rest[start.min(rest.len())..end.unwrap_or(rest.len()).max(start)];
                    rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
                    let numbers = bound.split(|byte| !byte.is_ascii_digit());
                    let most =
                        numbers.filter_map(|number| std::str::from_utf8(number).ok()?.parse().ok());
                    let most: u64 = most.max().unwrap_or(1).max(1);
                    last.1 = last.1.saturating_mul(most);
                    found.repeats |= bound.contains(&b',');
                    found.remembers |= last.3;
                }
                b'\\' => {
                    rest = rest.get(1..).unwrap_or_default();
                    one(last);
                }
                b'[' => {
                    // A bracket right behind it, or behind a ^, is one of its characters; so are those of [:alpha:].
                    let mut i = usize::from(rest.first() == Some(&b'^'));
                    i += usize::from(rest.get(i) == Some(&b']'));
                    while rest.get(i).is_some_and(|byte| *byte != b']') {
                        let class = rest[i] == b'['
                            && rest.get(i + 1).is_some_and(|byte| b":.=".contains(byte));
                        let end = rest[i..].iter().position(|byte| *byte == b']');
                        i += if class { end.unwrap_or(0) + 1 } else { 1 };
                    }
                    rest = rest.get(i + 1..).unwrap_or_default();
                    one(last);
                }
                b'(' => {
                    let is_special = rest.first() == Some(&b'?');
                    let is_plain = rest.get(1) == Some(&b':');
                    found.looks |=
                        is_special && rest.get(1).is_some_and(|byte| b"=!<".contains(byte));
                    rest = &rest[usize::from(is_special)..];
                    one(last);
                    last.1 = 0;
                    groups.push((0, 0, !(is_special && is_plain), false));
                }
                b')' if is_inner => {
                    let (before, part, remembers, also) = groups.pop().expect("one is open");
                    let last = groups.last_mut().expect("the whole is a group");
                    last.1 = before.saturating_add(part).max(1);
                    last.3 = remembers || also;
                }
                b'*' | b'+' => {
                    last.1 = last.1.saturating_mul(2);
                    found.repeats = true;
                    found.remembers |= last.3;
                }
                _ => one(last),
            }
        }
        for (before, part, ..) in groups {
            found.states = found.states.saturating_add(before).saturating_add(part);
        }
        found
    }

    /// Why its time can grow without bound, whatever the text is.
    pub fn fault(&self, work: Work) -> Option<&'static str> {
        if self.states > MOST_STATES {
            Some("has a pattern that is too large")
        } else if self.looks {
            Some("has a pattern with a back-reference, or that looks ahead or behind")
        } else if self.remembers && work == Work::Matches {
            Some("has a pattern that repeats a group in (), write (?: ) for it")
        } else {
            None
        }
    }

    /// Whether it is matched with a text of that many bytes in few enough steps.
    pub fn is_short_match(&self, work: Work, text: u64) -> bool {
        // Where it may match any number of characters, it may be tried at each place up to the end.
        let steps = match work == Work::Matches && self.repeats {
            true => text.saturating_mul(text) <= MOST_STEPS,
            false => text.saturating_mul(self.states) <= MOST_STEPS_OF_MATCH,
        };
        self.fault(work).is_none() && steps
    }
}
