//! PostgreSQL's calling convention: arguments in, one datum out.

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pgrx::pg_sys::{self, Datum, FunctionCallInfo, NodeTag};

use crate::pg::{errors, memory};

const _: () = assert!(
    size_of::<Datum>() == 8,
    "float8 is passed by value on 64-bit machines only"
);

/// A call from PostgreSQL, below a guard.
#[derive(Clone, Copy)]
pub struct Call(FunctionCallInfo);

impl Call {
    /// # Safety
    /// `fcinfo` is the one PostgreSQL called with, and is used only until that call returns.
    pub unsafe fn new(fcinfo: FunctionCallInfo) -> Self {
        Self(fcinfo)
    }

    pub fn fcinfo(&self) -> FunctionCallInfo {
        self.0
    }

    pub fn flinfo(&self) -> *mut pg_sys::FmgrInfo {
        // SAFETY: PostgreSQL always passes a valid fcinfo with its flinfo.
        unsafe { (*self.0).flinfo }
    }

    /// How many arguments the call has.
    pub fn len(&self) -> usize {
        // SAFETY: as above.
        usize::try_from(unsafe { (*self.0).nargs }).unwrap_or(0)
    }

    /// Argument `i`, `None` for NULL.
    pub fn datum(&self, i: usize) -> Option<Datum> {
        assert!(i < self.len(), "the SQL declaration has too few arguments");
        // SAFETY: `i` is below nargs.
        let argument = unsafe { argument(self.0, i) };
        (!argument.isnull).then_some(argument.value)
    }

    /// Argument `i`, a `cstring`, which the SQL declaration makes non-NULL.
    ///
    /// # Safety
    /// The argument is declared `cstring`.
    pub unsafe fn cstr(&self, i: usize) -> &CStr {
        let datum = self.datum(i).expect("a cstring argument is never NULL");
        // SAFETY: PostgreSQL passes a pointer to a NUL-terminated string that lives for the call.
        unsafe { CStr::from_ptr(datum.cast_mut_ptr()) }
    }

    /// The type of argument `i`, as the query has it.
    pub fn argument_type(&self, i: usize) -> pg_sys::Oid {
        let i = i32::try_from(i).expect("few arguments");
        // SAFETY: PostgreSQL's own flinfo; 0 if it does not know.
        unsafe { pg_sys::get_fn_expr_argtype(self.flinfo(), i) }
    }

    /// Whether an aggregate is the caller.
    pub fn in_aggregate(&self) -> bool {
        // SAFETY: the fcinfo is valid.
        unsafe { in_aggregate(self.0) }
    }
}

/// Argument `i` of a call.
///
/// # Safety
/// `fcinfo` is valid and `i` is below its `nargs`.
#[inline(always)]
pub unsafe fn argument(fcinfo: FunctionCallInfo, i: usize) -> pg_sys::NullableDatum {
    // SAFETY: args is an array of nargs elements behind the struct.
    unsafe {
        *(&raw const (*fcinfo).args)
            .cast::<pg_sys::NullableDatum>()
            .add(i)
    }
}

/// Whether an aggregate is the caller: `AggCheckCallContext` without a call.
///
/// # Safety
/// `fcinfo` is valid.
#[inline(always)]
pub unsafe fn in_aggregate(fcinfo: FunctionCallInfo) -> bool {
    // SAFETY: context is NULL or a node, and every node starts with its tag.
    unsafe {
        let context = (*fcinfo).context;
        !context.is_null() && (*context).type_ == NodeTag::T_AggState
    }
}

/// The bits of a `float8` datum.
#[inline(always)]
pub fn float8(datum: Datum) -> f64 {
    f64::from_bits(datum.value() as u64)
}

/// Runs what a function of ours does, below pgrx's guard: whatever unwinds out of it becomes an ERROR that
/// tells nothing of the rows, and memory that has ended an ERROR too.
pub fn guarded<R>(work: impl FnOnce() -> R) -> R {
    memory::sparing(|| {
        // What unwinds ends the statement, and with it all that `work` was changing.
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| errors::caught(payload))
    })
}

/// Calls `body` for a call from PostgreSQL. `None` is NULL.
///
/// # Safety
/// `fcinfo` is PostgreSQL's own, of this call; the caller is below a guard.
pub unsafe fn answer(fcinfo: FunctionCallInfo, body: fn(Call) -> Option<Datum>) -> Datum {
    // SAFETY: the caller guarantees it.
    let answer = guarded(|| body(unsafe { Call::new(fcinfo) }));
    // SAFETY: the same.
    unsafe { (*fcinfo).isnull = answer.is_none() };
    answer.unwrap_or(Datum::null())
}

/// Exports `$body`, a `fn(Call) -> Option<Datum>`, to SQL as the C function `$name`, guarded: a
/// panic or an ERROR becomes an ordinary PostgreSQL error. `None` is NULL.
macro_rules! sql_function {
    ($name:ident, $body:path) => {
        $crate::pg::fmgr::finfo!($name);

        #[unsafe(no_mangle)]
        #[pgrx::pg_guard]
        /// # Safety
        /// PostgreSQL calls it, with the arguments that the SQL declaration names.
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL's own fcinfo, for the length of this call.
            unsafe { $crate::pg::fmgr::answer(fcinfo, $body) }
        }
    };
}

/// Exports the C function `$name` that PostgreSQL calls so often that it runs unguarded: `$plain` for the plain case,
/// and `$rest`, guarded and never inlined, for all else. Both take the `fcinfo`.
macro_rules! unguarded_function {
    ($name:ident, $plain:path, $rest:expr) => {
        $crate::pg::fmgr::finfo!($name);

        #[unsafe(no_mangle)]
        /// # Safety
        /// PostgreSQL calls it, with the arguments that the SQL declaration names.
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            #[cold]
            #[inline(never)]
            #[pgrx::pg_guard]
            unsafe extern "C-unwind" fn guarded_rest(
                fcinfo: pgrx::pg_sys::FunctionCallInfo,
            ) -> pgrx::pg_sys::Datum {
                // SAFETY: PostgreSQL's own fcinfo, for the length of this call.
                unsafe { ($rest)(fcinfo) }
            }
            // SAFETY: the SQL declaration gives it the arguments it needs.
            unsafe { $plain(fcinfo, guarded_rest) }
        }
    };
}

/// Exports `$body` to SQL as the C function `$name`, unguarded, for what is called for each row and has no other case
/// than the plain one. It takes the `fcinfo`, cannot panic, owns nothing, and calls nothing but
/// [`unguarded_place`](crate::pg::memory::unguarded_place).
macro_rules! plain_function {
    ($name:ident, $body:path) => {
        $crate::pg::fmgr::finfo!($name);

        #[unsafe(no_mangle)]
        /// # Safety
        /// PostgreSQL calls it, with the arguments that the SQL declaration names.
        pub unsafe extern "C-unwind" fn $name(
            fcinfo: pgrx::pg_sys::FunctionCallInfo,
        ) -> pgrx::pg_sys::Datum {
            // SAFETY: PostgreSQL's own fcinfo, for the length of this call.
            unsafe { $body(fcinfo) }
        }
    };
}

/// Says of the C function `$name` that it follows version 1 of the calling convention.
macro_rules! finfo {
    ($name:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("pg_finfo_", stringify!($name)))]
            extern "C" fn finfo() -> &'static pgrx::pg_sys::Pg_finfo_record {
                const RECORD: pgrx::pg_sys::Pg_finfo_record =
                    pgrx::pg_sys::Pg_finfo_record { api_version: 1 };
                &RECORD
            }
        };
    };
}

pub(crate) use {finfo, plain_function, sql_function, unguarded_function};
