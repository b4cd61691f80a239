//! `dp_mean.key(value, trimmed, most)`: a key of GROUP BY as it may be shown. PostgreSQL shows of a group the key of
//! one of its rows. So equal keys are brought into one form: not compressed, not stored elsewhere, numbers without
//! zeros at the end, texts of `character` without blanks there. And keys are bounded, so that those of a group fit into
//! a row.

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, Node, NodeTag, Oid};

use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::{Call, answer, argument, unguarded_function};
use crate::pg::nodes::elements;
use crate::pg::sql_type;
use crate::pg::varlena::plain_bytes;
use crate::safe_functions::arithmetic::Number;

/// The most bytes of a key that are shown; a longer one is NULL.
pub const MOST_BYTES: i32 = 8192;

/// What is done to values of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyForm {
    /// A `float4`: one zero, and one NaN.
    Single,
    /// As above, for a `float8`.
    Double,
    /// A `numeric`, without the zeros behind its last digit.
    Digits,
    /// A `character`, without the blanks behind it.
    Blanks,
    /// The bytes as they are.
    Bytes,
}

impl KeyForm {
    /// That of the values of a type, or of a domain over it; `None` where they have but one form.
    fn of(kind: Oid, trim: bool) -> Option<Self> {
        // SAFETY: a catalog look-up by oid.
        let kind = unsafe { pg_sys::getBaseType(kind) };
        match kind {
            pg_sys::FLOAT4OID => Some(Self::Single),
            pg_sys::FLOAT8OID => Some(Self::Double),
            pg_sys::NUMERICOID if trim => Some(Self::Digits),
            pg_sys::BPCHAROID if trim => Some(Self::Blanks),
            kind => sql_type::is_varlena(kind).then_some(Self::Bytes),
        }
    }

    /// That of a call, by the types in it.
    fn of_call(call: Call) -> Result<Self, Refusal> {
        let refused = || errors::not_key();
        let trim = call.datum(1).is_some_and(|trim| trim.value() != 0);
        // SAFETY: PostgreSQL's own call, whose expression lives as long as its FmgrInfo; the tag says which struct it
        // is.
        unsafe {
            let expression = (*call.flinfo()).fn_expr;
            if expression.is_null() || (*expression).type_ != NodeTag::T_FuncExpr {
                return Err(refused());
            }
            let expression = expression.cast::<pg_sys::FuncExpr>();
            let value = elements::<Node>((*expression).args).next();
            let kind = pg_sys::exprType(value.ok_or_else(refused)?);
            match kind == (*expression).funcresulttype {
                true => Self::of(kind, trim).ok_or_else(refused),
                false => Err(refused()),
            }
        }
    }

    /// The same, looked up once.
    fn kept(call: Call) -> Self {
        let flinfo = call.flinfo();
        // SAFETY: fn_extra is NULL or what was put there here, as nobody else writes to that of our function. It lives
        // as long as the FmgrInfo.
        unsafe {
            if (*flinfo).fn_extra.is_null() {
                let found = Self::of_call(call).unwrap_or_else(|refusal| refusal.raise());
                let place = pg_sys::MemoryContextAlloc((*flinfo).fn_mcxt, size_of::<Self>());
                place.cast::<Self>().write(found);
                (*flinfo).fn_extra = place;
            }
            *(*flinfo).fn_extra.cast::<Self>()
        }
    }
}

/// The bytes of a varlena, uncompressed; `None` where there are more of them.
///
/// # Safety
/// A non-NULL varlena.
unsafe fn plain(datum: Datum, most: usize) -> Option<Datum> {
    // SAFETY: the caller guarantees it.
    unsafe {
        if let Some(bytes) = plain_bytes(datum) {
            return (bytes.len() <= most).then_some(datum);
        }
        let size = pg_sys::toast_raw_datum_size(datum);
        let is_short = size.saturating_sub(size_of::<u32>()) <= most;
        is_short.then(|| Datum::from(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr())))
    }
}

/// A `character` without the blanks behind it.
///
/// # Safety
/// A non-NULL one.
unsafe fn without_blanks(datum: Datum) -> Option<Datum> {
    // SAFETY: the caller guarantees it; what is detoasted has its bytes beside its length.
    unsafe {
        let datum = Datum::from(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()));
        let bytes = plain_bytes(datum)?;
        let blanks = bytes.iter().rev().take_while(|byte| **byte == b' ').count();
        if blanks == 0 {
            return Some(datum);
        }
        let length = i32::try_from(bytes.len() - blanks).ok()?;
        let text = pg_sys::cstring_to_text_with_len(bytes.as_ptr().cast(), length);
        Some(Datum::from(text))
    }
}

/// One zero, and one NaN: others are equal to them, and look otherwise.
macro_rules! one_form {
    ($float:ty, $datum:expr) => {{
        let x = <$float>::of($datum);
        let x = if x.is_nan() { <$float>::NAN } else { x + 0.0 };
        Some(x.datum())
    }};
}

/// `dp_mean.key("any", boolean, integer)`, STRICT.
fn key(call: Call) -> Option<Datum> {
    let form = KeyForm::kept(call);
    let value = call.datum(0)?;
    let most = usize::try_from(call.datum(2)?.value() as i32).unwrap_or(0);
    // SAFETY: the value is of the type that the form is for.
    unsafe {
        match form {
            KeyForm::Single => one_form!(f32, value),
            KeyForm::Double => one_form!(f64, value),
            KeyForm::Digits => {
                let function = Oid::from_u32(pg_sys::F_TRIM_SCALE);
                plain(
                    pg_sys::OidFunctionCall1Coll(function, Oid::INVALID, value),
                    most,
                )
            }
            KeyForm::Blanks => plain(without_blanks(value)?, most),
            KeyForm::Bytes => plain(value, most),
        }
    }
}

/// Calls the guarded rest.
type Rest = unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum;

/// As above, for most rows: a float, or bytes that lie as they are shown. It cannot panic, and calls nothing.
///
/// # Safety
/// PostgreSQL's own fcinfo of `dp_mean.key`.
#[inline(always)]
unsafe fn key_of_row(fcinfo: FunctionCallInfo, rest: Rest) -> Datum {
    // SAFETY: a strict function of three arguments; what fn_extra points to is written by `KeyForm::kept` alone, and a
    // value is of the type that the form is for.
    unsafe {
        let form = (*(*fcinfo).flinfo).fn_extra.cast::<KeyForm>();
        if form.is_null() {
            return rest(fcinfo);
        }
        let value = argument(fcinfo, 0).value;
        let shown = match *form {
            KeyForm::Single => one_form!(f32, value),
            KeyForm::Double => one_form!(f64, value),
            KeyForm::Bytes => {
                let most = argument(fcinfo, 2).value.value();
                plain_bytes(value)
                    .filter(|bytes| bytes.len() <= most)
                    .map(|_| value)
            }
            KeyForm::Digits | KeyForm::Blanks => None,
        };
        match shown {
            Some(shown) => {
                (*fcinfo).isnull = false;
                shown
            }
            None => rest(fcinfo),
        }
    }
}

unguarded_function!(dp_key, key_of_row, |fcinfo| answer(fcinfo, key));

/// Whether the values of a type have more than one form, so that its keys pass `dp_mean.key`.
pub fn has_forms(kind: Oid) -> bool {
    KeyForm::of(kind, false).is_some()
}
