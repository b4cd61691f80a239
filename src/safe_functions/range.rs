//! Where the value of an expression lies, by interval arithmetic from where its columns lie. Functions are known by
//! their OIDs. A date lies where its number of days does, from 2000-01-01 on; a time anywhere.
//!
//! Given columns within their bounds, no value is outside. Values are clamped to the range afterwards in any case: a
//! mistake here would cost accuracy, and no privacy.

use pgrx::direct_function_call;
use pgrx::pg_sys::{self, Datum, List, MinMaxOp, Node, NodeTag, Oid};

use crate::pg::fmgr::float8;
use crate::pg::nodes::{Fixed, elements, fixed};
use crate::pg::sql_type;
use crate::pg::stack;
use crate::pg::varlena::text_bytes;
use crate::safe_functions::interval::Interval;
use crate::safe_functions::wrap;

/// What is known of the leaves of an expression.
type Known<'a> = (Column<'a>, Call<'a>, Call<'a>);

/// Where a column lies: the number of its table in the query, and its own.
type Column<'a> = &'a dyn Fn(i32, i16) -> Option<(f64, f64)>;

/// Where the answer of an aggregate or a window function lies.
type Call<'a> = &'a dyn Fn(*mut Node) -> Option<(f64, f64)>;

/// The least and the greatest value of an expression; infinite, where nothing bounds it. `declared` are the bounds that
/// an expression itself has, as they are declared or as conditions say.
///
/// # Safety
/// An expression of a tree that lives, with constants folded. The caller is below a guard.
pub unsafe fn range(
    expression: *mut Node,
    column: Column,
    call: Call,
    declared: Call,
) -> (f64, f64) {
    // SAFETY: the caller guarantees it.
    unsafe { of(expression, (column, call, declared)) }.limits()
}

/// What two sources say of one number hold both. Where they contradict each other, the second does if it has two ends.
pub fn both(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let interval = |(lo, hi): (f64, f64)| Interval::new(lo, hi);
    match (one, other) {
        (Some(one), Some(other)) => Some(interval(one).and(interval(other)).limits()),
        _ => one.or(other),
    }
}

/// What is declared of an expression and what follows from its parts hold both. Where they contradict each other, what
/// is declared was said of the expression itself, if it has two ends.
///
/// # Safety
/// As [`range`].
unsafe fn of(expression: *mut Node, known: Known) -> Interval {
    // SAFETY: the caller guarantees it.
    let inferred = unsafe { of_parts(expression, known) };
    match (!expression.is_null())
        .then(|| known.2(expression))
        .flatten()
    {
        Some((lo, hi)) => inferred.and(Interval::new(lo, hi)),
        None => inferred,
    }
}

/// # Safety
/// As [`range`].
unsafe fn of_parts(expression: *mut Node, known: Known) -> Interval {
    if expression.is_null() {
        return Interval::ANYWHERE;
    }
    // SAFETY: the caller guarantees it; each cast follows a look at the tag.
    unsafe {
        stack::check();
        let all = |list| elements::<Node>(list).map(|node| of(node, known));
        match (*expression).type_ {
            NodeTag::T_Const => constant(expression),
            NodeTag::T_Var => {
                let var = expression.cast::<pg_sys::Var>();
                let bounds =
                    ((*var).varlevelsup == 0).then(|| known.0((*var).varno, (*var).varattno));
                let bounds = bounds.flatten();
                bounds.map_or(Interval::ANYWHERE, |(lo, hi)| Interval::new(lo, hi))
            }
            NodeTag::T_Aggref | NodeTag::T_WindowFunc => {
                let bounds = known.1(expression);
                bounds.map_or(Interval::ANYWHERE, |(lo, hi)| Interval::new(lo, hi))
            }
            NodeTag::T_RelabelType => of(
                (*expression.cast::<pg_sys::RelabelType>()).arg.cast(),
                known,
            ),
            NodeTag::T_CaseExpr => {
                let case = expression.cast::<pg_sys::CaseExpr>();
                let results = elements::<pg_sys::CaseWhen>((*case).args)
                    .map(|when| of((*when).result.cast(), known));
                let otherwise = if (*case).defresult.is_null() {
                    Interval::NOWHERE
                } else {
                    of((*case).defresult.cast(), known)
                };
                results.fold(otherwise, Interval::hull)
            }
            NodeTag::T_CoalesceExpr => {
                let coalesce = expression.cast::<pg_sys::CoalesceExpr>();
                all((*coalesce).args).fold(Interval::NOWHERE, Interval::hull)
            }
            NodeTag::T_NullIfExpr => {
                let first = elements::<Node>((*expression.cast::<pg_sys::OpExpr>()).args).next();
                first.map_or(Interval::ANYWHERE, |first| of(first, known))
            }
            NodeTag::T_MinMaxExpr => {
                let choice = expression.cast::<pg_sys::MinMaxExpr>();
                // Each is computed once: with two ways at each level, n levels would have 2^n.
                let all = Vec::from_iter(all((*choice).args));
                let sure = elements::<Node>((*choice).args).zip(&all);
                let sure = sure.filter(|(node, _)| is_never_null(*node));
                let sure = Vec::from_iter(sure.map(|(_, interval)| *interval));
                let kind = (*choice).minmaxtype;
                if !sql_type::is_number(kind) && kind != pg_sys::DATEOID {
                    Interval::ANYWHERE
                } else if (*choice).op == MinMaxOp::IS_GREATEST {
                    Interval::greatest(&all, &sure)
                } else {
                    Interval::least(&all, &sure)
                }
            }
            NodeTag::T_OpExpr => {
                let call = expression.cast::<pg_sys::OpExpr>();
                let function = match (*call).opfuncid {
                    pg_sys::InvalidOid => pg_sys::get_opcode((*call).opno),
                    known => known,
                };
                called(function, &arguments((*call).args), known)
            }
            NodeTag::T_FuncExpr => match wrap::original(expression) {
                Some((function, arguments)) => called(function, &arguments, known),
                None => {
                    let call = expression.cast::<pg_sys::FuncExpr>();
                    called((*call).funcid, &arguments((*call).args), known)
                }
            },
            _ => Interval::ANYWHERE,
        }
    }
}

/// # Safety
/// A list of expressions of a tree that lives.
unsafe fn arguments(list: *mut List) -> Vec<*mut Node> {
    // SAFETY: the caller guarantees it.
    unsafe { elements(list) }.collect()
}

/// Whether an expression is a constant that is not NULL, or chosen from some, such a constant among them.
///
/// # Safety
/// An expression of a tree that lives.
unsafe fn is_never_null(expression: *mut Node) -> bool {
    // SAFETY: the caller guarantees it; each cast follows a look at the tag.
    unsafe {
        let choices = match (*expression).type_ {
            NodeTag::T_Const => return !(*expression.cast::<pg_sys::Const>()).constisnull,
            NodeTag::T_MinMaxExpr => (*expression.cast::<pg_sys::MinMaxExpr>()).args,
            NodeTag::T_CoalesceExpr => (*expression.cast::<pg_sys::CoalesceExpr>()).args,
            _ => return false,
        };
        elements::<Node>(choices).any(|choice| is_never_null(choice))
    }
}

/// # Safety
/// A constant.
unsafe fn constant(expression: *mut Node) -> Interval {
    // SAFETY: the caller guarantees it.
    let Fixed::Constant(kind, value) = (unsafe { fixed(expression) }) else {
        return Interval::ANYWHERE;
    };
    let Some(value) = value else {
        return Interval::NOWHERE;
    };
    match kind {
        pg_sys::INT2OID => Interval::exactly((value.value() as i16).into()),
        pg_sys::INT4OID => Interval::exactly((value.value() as i32).into()),
        pg_sys::INT8OID => {
            let integer = value.value() as i64;
            let float = integer as f64;
            if float as i128 == i128::from(integer) {
                Interval::exactly(float)
            } else {
                Interval::around(float)
            }
        }
        // The ends of this type are before all dates and behind them.
        pg_sys::DATEOID => match value.value() as i32 {
            i32::MIN | i32::MAX => Interval::ANYWHERE,
            day => Interval::exactly(day.into()),
        },
        pg_sys::FLOAT4OID => Interval::exactly(f32::from_bits(value.value() as u32).into()),
        pg_sys::FLOAT8OID => Interval::exactly(f64::from_bits(value.value() as u64)),
        // SAFETY: a numeric, by its type.
        pg_sys::NUMERICOID => unsafe { numeric(value) },
        _ => Interval::ANYWHERE,
    }
}

/// # Safety
/// A `numeric`.
unsafe fn numeric(value: Datum) -> Interval {
    let value = Some(value);
    // SAFETY: C functions of PostgreSQL's own, with arguments of the types that they take. They raise nothing: the
    // first one makes an infinite float of what is too large.
    unsafe {
        let datum: Option<Datum> =
            direct_function_call(pg_sys::numeric_float8_no_overflow, &[value]);
        let back = direct_function_call(pg_sys::float8_numeric, &[datum]);
        let same = direct_function_call(pg_sys::numeric_eq, &[value, back]);
        let float = datum.map_or(f64::NAN, float8);
        // Of a float PostgreSQL makes a numeric of 15 digits. A whole number with that many is the same as both.
        if same == Some(true) && float.fract() == 0.0 && float.abs() < 1e15 {
            Interval::exactly(float)
        } else {
            Interval::around(float)
        }
    }
}

/// The whole number that a constant is.
///
/// # Safety
/// An expression of a tree that lives.
unsafe fn whole(expression: *mut Node) -> Option<i32> {
    // SAFETY: the caller guarantees it.
    match unsafe { fixed(expression) } {
        Fixed::Constant(pg_sys::INT4OID, Some(value)) => Some(value.value() as i32),
        _ => None,
    }
}

/// What a function makes of its arguments, by its OID.
///
/// # Safety
/// Expressions of a tree that lives.
unsafe fn called(function: Oid, arguments: &[*mut Node], known: Known) -> Interval {
    let at = |i: usize| match arguments.get(i) {
        // SAFETY: the caller guarantees it.
        Some(node) => unsafe { of(*node, known) },
        None => Interval::ANYWHERE,
    };
    // SAFETY: the same.
    let part = |fields| unsafe { part(arguments, fields) };
    // SAFETY: the same.
    let is_of = |field| unsafe { names(arguments, field) };
    // SAFETY: the same.
    let whole_at = |i: usize| arguments.get(i).and_then(|node| unsafe { whole(*node) });
    match function.to_u32() {
        // Sums: int2pl and its like, float4pl and its like, numeric_add.
        176..=179 | 463 | 837 | 841 | 1274 | 1278 => at(0).plus(at(1)),
        204 | 218 | 281 | 285 => as_float(function, at(0).plus(at(1))),
        1724 => at(0).plus(at(1)),
        // Differences.
        180..=183 | 464 | 838 | 942 | 1275 | 1279 => at(0).minus(at(1)),
        205 | 219 | 282 | 286 => as_float(function, at(0).minus(at(1))),
        1725 => at(0).minus(at(1)),
        // Of dates: date_mi; date_pli and date_mii, whose second argument is a number of days.
        1140 | 1142 => at(0).minus(at(1)),
        1141 => at(0).plus(at(1)),
        // Products.
        141 | 152 | 170 | 171 | 465 | 839 | 943 | 1276 | 1280 => at(0).times(at(1)),
        202 | 216 | 279 | 283 => as_float(function, at(0).times(at(1))),
        1726 => at(0).times(at(1)),
        // Quotients.
        153 | 154 | 172 | 173 | 466 | 840 | 948 | 1277 | 1281 => at(0).over_integer(at(1)),
        203 | 217 | 280 | 284 => as_float(function, at(0).over(at(1))),
        1727 => at(0).over(at(1)),
        // div(numeric, numeric)
        1973 | 1980 => at(0).over(at(1)).truncated(),
        // Remainders.
        155 | 156 | 940 | 941 | 945 | 947 | 1728 | 1729 => at(0).modulo(at(1)),
        // Signs: int4um and its like, and those with a plus.
        206 | 212 | 213 | 220 | 462 | 1771 => at(0).opposite(),
        1910..=1915 => at(0),
        207 | 221 | 1230 | 1251 | 1253 | 1394..=1398 | 1704 | 1705 => at(0).magnitude(),
        // sign
        1706 | 2310 => Interval::new(-1.0, 1.0),
        // Casts to integers round; those of integers change nothing.
        237 | 238 | 317 | 319 | 483 | 653 | 1744 | 1779 | 1783 => at(0).rounded(),
        313 | 314 | 480 | 481 | 482 | 714 | 754 | 235 | 316 => at(0),
        // int4(boolean)
        2558 => Interval::new(0.0, 1.0),
        // numeric(integers), numeric(float4 or float8): of 6 or 15 digits.
        1740 | 1781 | 1782 => at(0),
        1742 => at(0).to_digits(6),
        1743 => at(0).to_digits(15),
        // float8(float4), and float8(numeric): what lies between floats is rounded to one between them. float4(...)
        311 | 1746 => at(0),
        236 | 312 | 318 | 652 | 1745 => at(0).single(),
        // numeric(numeric, typmod): the scale has 11 bits, with a sign.
        1703 => match whole_at(1) {
            Some(modifier) if modifier >= 4 => {
                at(0).to_places((((modifier - 4) & 0x7ff) ^ 1024) - 1024)
            }
            _ => at(0),
        },
        // round(numeric, integer), trunc(numeric, integer)
        1707 | 1709 => match whole_at(1) {
            Some(places) => at(0).to_places(places.clamp(-300, 300)),
            None => Interval::ANYWHERE,
        },
        228 | 1342 => at(0).rounded(),
        229 | 1343 => at(0).truncated(),
        1712 | 2309 => at(0).floor(),
        1711 | 2167 | 2308 | 2320 => at(0).ceiling(),
        230 | 1344 | 1730 | 1731 => at(0).square_root(),
        // power, by a whole number
        232 | 1346 | 1368 | 1738 | 1739 | 2169 => match at(1).ends() {
            Some((n, same)) if n == same && n.fract() == 0.0 && (0.0..=64.0).contains(&n) => {
                at(0).power(n as u32)
            }
            _ => Interval::ANYWHERE,
        },
        // sin, cos, tanh
        1604 | 1605 | 2464 => Interval::new(-1.0, 1.0),
        // width_bucket: 0 below all buckets, and one more than their number above.
        320 | 2170 => match whole_at(3) {
            Some(count) if count > 0 => Interval::new(0.0, f64::from(count) + 1.0),
            _ => Interval::ANYWHERE,
        },
        // extract(epoch FROM date): the seconds since 1970.
        6199 if is_of("epoch") => {
            let seconds = at(1).times(Interval::exactly(86_400.0));
            seconds.plus(Interval::exactly(946_684_800.0))
        }
        // date_part and extract, of a timestamp or a date; of a time; of an interval
        1171 | 2021 | 6199 | 6202 | 6203 => part(&OF_TIMESTAMP),
        1273 | 1385 | 6200 | 6201 => part(&OF_TIME),
        1172 | 6204 => part(&OF_INTERVAL),
        _ => Interval::ANYWHERE,
    }
}

/// What an operation of floats makes: where both are `float4`, the answer is rounded to one.
fn as_float(function: Oid, exact: Interval) -> Interval {
    match function.to_u32() {
        202..=205 => exact.single(),
        _ => exact,
    }
}

/// A field of a date or a time, and its least and its greatest value.
type Field = (&'static str, f64, f64);

const OF_TIMESTAMP: [Field; 11] = [
    ("second", 0.0, 60.0),
    ("minute", 0.0, 59.0),
    ("hour", 0.0, 23.0),
    ("day", 1.0, 31.0),
    ("dow", 0.0, 6.0),
    ("isodow", 1.0, 7.0),
    ("doy", 1.0, 366.0),
    ("week", 1.0, 53.0),
    ("month", 1.0, 12.0),
    ("quarter", 1.0, 4.0),
    ("millisecond", 0.0, 60_000.0),
];

/// 24:00:00 is a time.
const OF_TIME: [Field; 4] = [
    ("second", 0.0, 60.0),
    ("minute", 0.0, 59.0),
    ("hour", 0.0, 24.0),
    ("millisecond", 0.0, 60_000.0),
];

const OF_INTERVAL: [Field; 5] = [
    ("second", -60.0, 60.0),
    ("minute", -59.0, 59.0),
    ("month", -11.0, 11.0),
    ("quarter", -4.0, 4.0),
    ("millisecond", -60_000.0, 60_000.0),
];

/// The range of a part of a date or time, which the first argument names.
///
/// # Safety
/// Expressions of a tree that lives.
unsafe fn part(arguments: &[*mut Node], fields: &[Field]) -> Interval {
    // SAFETY: the caller guarantees it.
    let is_named = |field: &str| unsafe { names(arguments, field) };
    let known = fields.iter().find(|(field, ..)| is_named(field));
    known.map_or(Interval::ANYWHERE, |(_, lo, hi)| Interval::new(*lo, *hi))
}

/// Whether the first argument names this part of a date or time.
///
/// # Safety
/// Expressions of a tree that lives.
unsafe fn names(arguments: &[*mut Node], field: &str) -> bool {
    // SAFETY: the caller guarantees it.
    match arguments.first().map(|name| unsafe { fixed(*name) }) {
        // SAFETY: a text.
        Some(Fixed::Constant(pg_sys::TEXTOID, Some(name))) => unsafe {
            text_bytes(name).eq_ignore_ascii_case(field.as_bytes())
        },
        _ => false,
    }
}
