//! `dp_mean.total(function, arguments...)`: what a function answers, and NULL where it would raise an error.
//!
//! Functions of numbers and dates have code of our own. The others are called, behind a net: an error that a value
//! caused is dropped, and the answer is NULL. No subtransaction is needed for that, as they are PostgreSQL's own, and
//! were read: they change nothing, and hold nothing that an error would have to give back. Every other error goes
//! on: that a statement is cancelled, or that memory has ended.

use pgrx::pg_sys::{self, Datum, FmgrInfo, FunctionCallInfoBaseData, Node, NullableDatum, Oid};
use pgrx::{PgMemoryContexts, PgSqlErrorCode};

use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::nodes::{Fixed, elements, fixed};
use crate::pg::varlena::text_bytes;
use crate::pg::{catch_error, procedure, sql_type};
use crate::safe_functions::allowlist::{self, Growth, Rule};
use crate::safe_functions::arithmetic::{Native, Number};
use crate::safe_functions::classify::{self, Judgement};
use crate::safe_functions::defence::Defence;
use crate::safe_functions::numeric;
use crate::safe_functions::work::{self, LONGEST, Pattern, Work};
use crate::safe_functions::zones;

/// Most arguments that a function of the list has.
const ARGUMENTS: usize = 8;

/// The function that a call represents, looked up once.
#[derive(Clone, Copy)]
struct Function {
    way: Way,
    growth: Growth,
    work: Work,
    /// For each argument whether it is a varlena.
    varlena: [bool; ARGUMENTS],
    record: FmgrInfo,
}

#[derive(Clone, Copy)]
enum Way {
    Native(Native),
    Behind(unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> Datum),
    /// A `numeric` as a float, which is called where that is not easy.
    Float(unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> Datum),
}

/// What PostgreSQL passes to a function: the head, and behind it the arguments.
#[repr(C)]
struct Frame {
    head: FunctionCallInfoBaseData,
    arguments: [NullableDatum; ARGUMENTS],
}

const _: () = assert!(
    size_of::<FunctionCallInfoBaseData>() == std::mem::offset_of!(FunctionCallInfoBaseData, args)
        && std::mem::offset_of!(Frame, arguments) == size_of::<FunctionCallInfoBaseData>(),
    "the arguments lie behind the head"
);

/// The types of the arguments of a function that a call may stand for: one of PostgreSQL's own that is judged partial,
/// or total now that its arguments are known, with arguments and an answer of the types that it was declared with, or of
/// such as have the same bytes.
///
/// # Safety
/// The expressions of a call, of a tree that lives.
pub unsafe fn check(
    function: Oid,
    arguments: *mut pg_sys::List,
    answer: Oid,
) -> Result<Vec<Oid>, String> {
    if !procedure::is_pinned(function) {
        return Err("argument \"function\" is not one of PostgreSQL's own".to_owned());
    }
    // SAFETY: the caller guarantees it.
    match unsafe { classify::judge(function, arguments) } {
        Judgement::Partial | Judgement::Total => {}
        Judgement::Refused(reason) => return Err(reason),
    }
    let declared = procedure::signature(function);
    // SAFETY: the same.
    let given = unsafe { elements::<Node>(arguments) };
    // SAFETY: the same.
    let given: Vec<_> = given
        .map(|argument| unsafe { pg_sys::exprType(argument) })
        .collect();
    let fit = given.len() == declared.arguments.len()
        && given
            .iter()
            .zip(&declared.arguments)
            .all(|(given, declared)| sql_type::has_bytes_of(*given, *declared))
        && sql_type::has_bytes_of(declared.answer, answer);
    match fit {
        true => Ok(declared.arguments),
        false => Err("the types are not those of the function".to_owned()),
    }
}

impl Function {
    /// The function of this call: the call's first argument, a constant. Who made the call has looked at the
    /// rights: what happens here happens at the first row.
    fn find(call: Call) -> Result<Self, Refusal> {
        let refused = |reason: &str| errors::not_partial(reason);
        // SAFETY: PostgreSQL's own call, whose expression lives as long as its FmgrInfo.
        let expression = unsafe { (*call.flinfo()).fn_expr };
        // SAFETY: the same.
        let (function, arguments, answer) = unsafe { Self::written(expression) }
            .ok_or_else(|| refused("argument \"function\" is not a constant"))?;
        // SAFETY: the same.
        let declared = unsafe { check(function, arguments, answer) };
        let declared = declared.map_err(|reason| refused(&reason))?;
        Ok(Self::new(call, function, &declared))
    }

    /// What is in a call: the function, its arguments, and the type of the answer.
    ///
    /// # Safety
    /// An expression of a plan that lives, or NULL.
    unsafe fn written(expression: *mut Node) -> Option<(Oid, *mut pg_sys::List, Oid)> {
        // SAFETY: the caller guarantees it; the tag says which struct it is.
        unsafe {
            if expression.is_null() || (*expression).type_ != pg_sys::NodeTag::T_FuncExpr {
                return None;
            }
            let call = expression.cast::<pg_sys::FuncExpr>();
            let first = elements::<Node>((*call).args).next()?;
            match fixed(first) {
                Fixed::Constant(pg_sys::OIDOID, Some(function)) if !(*call).funcvariadic => Some((
                    Oid::from(function.value() as u32),
                    pg_sys::list_copy_tail((*call).args, 1),
                    (*call).funcresulttype,
                )),
                _ => None,
            }
        }
    }

    fn new(call: Call, function: Oid, types: &[Oid]) -> Self {
        assert!(types.len() <= ARGUMENTS, "a function of the list has more");
        let mut record = FmgrInfo::default();
        // SAFETY: a function of PostgreSQL's own; what is made for it lives as long as the call's record.
        unsafe { pg_sys::fmgr_info_cxt(function, &mut record, (*call.flinfo()).fn_mcxt) };
        let behind = || Way::Behind(record.fn_addr.expect("a function has an address"));
        let (way, growth) = match allowlist::rule(function.to_u32()) {
            Some(Rule::Native(native)) => (Way::Native(native), Growth::None),
            Some(Rule::Caught(growth) | Rule::Pattern(growth) | Rule::Length(growth)) => {
                (behind(), growth)
            }
            _ => (behind(), Growth::None),
        };
        let way = match way {
            Way::Behind(function) if record.fn_oid.to_u32() == pg_sys::F_FLOAT8_NUMERIC => {
                Way::Float(function)
            }
            way => way,
        };
        let mut varlena = [false; ARGUMENTS];
        for (i, kind) in types.iter().enumerate() {
            varlena[i] = sql_type::is_varlena(*kind);
        }
        Self {
            way,
            growth,
            work: work::of(function.to_u32()),
            varlena,
            record,
        }
    }

    /// Its record, kept with PostgreSQL's of the call.
    fn of(call: Call) -> &'static mut Self {
        let flinfo = call.flinfo();
        // SAFETY: fn_extra is NULL or what was put there here, as nobody else writes to that of our function. It
        // lives as long as the FmgrInfo, and one call at a time has it: functions of the list call nothing of ours.
        unsafe {
            if (*flinfo).fn_extra.is_null() {
                let found = Self::find(call).unwrap_or_else(|refusal| refusal.raise());
                (*flinfo).fn_extra = PgMemoryContexts::For((*flinfo).fn_mcxt)
                    .leak_and_drop_on_delete(found)
                    .cast();
            }
            &mut *(*flinfo).fn_extra.cast::<Self>()
        }
    }

    /// Whether the arguments are short enough, and the answer and the work for it will be.
    fn is_short(&self, call: Call) -> Option<bool> {
        // The bytes of a text, without its length word, and the number that is another argument.
        let bytes = |i: usize| {
            if !self.varlena[i] {
                return Some(u64::from(pg_sys::NAMEDATALEN));
            }
            let datum = call.datum(i + 1)?;
            // SAFETY: the argument is a varlena, by the types that were compared.
            let size = unsafe { pg_sys::toast_raw_datum_size(datum) };
            Some(size.saturating_sub(size_of::<u32>()) as u64)
        };
        let number = |i: usize| Some(u64::try_from(call.datum(i + 1)?.value() as i32).unwrap_or(0));
        let mut given: u64 = 0;
        for i in 0..call.len() - 1 {
            given += if self.varlena[i] { bytes(i)? } else { 0 };
        }
        // A character has up to 4 bytes.
        let made = match self.growth {
            Growth::None => 0,
            // Nothing is repeated as often as it says, too.
            Growth::Repeat => bytes(0)?
                .max(Defence::Work.stands().into())
                .saturating_mul(number(1)?),
            Growth::Pad if bytes(2)? == 0 => 0,
            Growth::Pad | Growth::Blank => number(1)? * 4,
            Growth::Replace => {
                let (text, from, to) = (bytes(0)?, bytes(1)?, bytes(2)?);
                text + (text / from.max(1)).saturating_mul(to)
            }
            // At each place the new text, in which each pair of bytes may stand for what was matched; matches do not
            // overlap.
            Growth::Matches => {
                let (text, to) = (bytes(0)?, bytes(2)?);
                text + (text + 1).saturating_mul(to) + (to / 2).saturating_mul(text)
            }
        };
        if given > LONGEST || made > LONGEST {
            return Some(false);
        }
        Some(!Defence::Work.stands() || self.is_quick(call, bytes)?)
    }

    /// Whether arguments that are short enough make little work.
    fn is_quick(&self, call: Call, bytes: impl Fn(usize) -> Option<u64>) -> Option<bool> {
        // SAFETY: the arguments have the types that the function was declared with: numerics, or texts.
        unsafe {
            Some(match self.work {
                Work::Pass => true,
                Work::Format => bytes(1)? <= work::LONGEST_FORMAT,
                Work::Search => work::is_short_search(bytes(0)?, bytes(1)?),
                Work::Date => {
                    let format = text_bytes(call.datum(2)?);
                    work::is_short_search(bytes(0)?, bytes(1)?) && !zones::names_zone(&format)
                }
                Work::Match | Work::Matches => {
                    let pattern = Pattern::read(&text_bytes(call.datum(2)?));
                    pattern.is_short_match(self.work, bytes(0)?)
                }
                Work::Digits => {
                    for i in (0..call.len() - 1).filter(|i| self.varlena[*i]) {
                        if !work::has_few_digits(call.datum(i + 1)?) {
                            return Some(false);
                        }
                    }
                    true
                }
                Work::Exponential => work::has_short_exponential(call.datum(1)?),
                Work::Power => work::has_short_power(call.datum(1)?, call.datum(2)?),
            })
        }
    }

    /// Calls it behind the net.
    fn called(&mut self, call: Call) -> Option<Datum> {
        let (Way::Behind(function) | Way::Float(function)) = self.way else {
            return None;
        };
        if !self.is_short(call)? {
            return None;
        }
        // SAFETY: PostgreSQL's own fcinfo.
        let collation = unsafe { (*call.fcinfo()).fncollation };
        let mut frame = Frame::new(&raw mut self.record, collation);
        for i in 0..call.len() - 1 {
            frame.add(call.datum(i + 1)?);
        }
        // SAFETY: a C function of the list with a frame as it expects; its arguments have the types that it was
        // declared with.
        unsafe { frame.call(function, is_dropped) }
    }
}

impl Frame {
    fn new(record: *mut FmgrInfo, collation: Oid) -> Self {
        let mut frame = Self {
            head: FunctionCallInfoBaseData::default(),
            arguments: [NullableDatum::default(); ARGUMENTS],
        };
        frame.head.flinfo = record;
        frame.head.fncollation = collation;
        frame
    }

    fn add(&mut self, value: Datum) {
        let place = &mut self.arguments[self.head.nargs as usize];
        *place = NullableDatum {
            value,
            isnull: false,
        };
        self.head.nargs += 1;
    }

    /// The answer of a function, and `None` where it is NULL or an error that is dropped.
    ///
    /// # Safety
    /// A function of the list, with arguments of its types: it changes nothing, and holds nothing when it raises an
    /// error.
    unsafe fn call(
        &mut self,
        function: unsafe extern "C-unwind" fn(pg_sys::FunctionCallInfo) -> Datum,
        to_drop: impl FnOnce(i32) -> bool,
    ) -> Option<Datum> {
        let frame = &raw mut *self;
        // SAFETY: the caller guarantees it; the frame lives.
        unsafe {
            let answer = catch_error::drop_errors(|| function(frame.cast()), to_drop);
            answer.filter(|_| !(*frame).head.isnull)
        }
    }
}

/// A call of a function of the list, for what it leaves in [caches](super::caches).
pub struct Prepared {
    record: FmgrInfo,
    collation: Oid,
    arguments: Vec<Datum>,
}

impl Prepared {
    /// # Safety
    /// A function of the list that is no code of our own, and arguments of its types, which live as long as the current
    /// memory does.
    pub unsafe fn new(function: Oid, collation: Oid, arguments: Vec<Datum>) -> Self {
        let mut record = FmgrInfo::default();
        // SAFETY: a function of PostgreSQL's own.
        unsafe { pg_sys::fmgr_info_cxt(function, &mut record, pg_sys::CurrentMemoryContext) };
        Self {
            record,
            collation,
            arguments,
        }
    }

    /// Calls it as a row would.
    pub fn call(&mut self) {
        self.call_but(is_dropped);
    }

    /// The same, and drops each error.
    pub fn call_in_any_case(&mut self) {
        self.call_but(|_| true);
    }

    fn call_but(&mut self, to_drop: impl FnOnce(i32) -> bool) {
        let function = self.record.fn_addr.expect("a function has an address");
        let mut frame = Frame::new(&raw mut self.record, self.collation);
        for argument in &self.arguments {
            frame.add(*argument);
        }
        // SAFETY: as `new` was promised.
        unsafe { frame.call(function, to_drop) };
    }
}

/// Whether an error says something of a value: of class 22 (data exceptions), that something is not supported, that a
/// limit of the program was passed, that a format is wrong, or that a time zone's abbreviation is badly configured. An
/// internal error does so too in a function that looks at nothing but its arguments; `interval(interval, integer)` has
/// one.
fn is_dropped(code: i32) -> bool {
    // Five characters, of 6 bits each, the first one lowest.
    const CLASS: i32 = (1 << 12) - 1;
    const DATA: i32 = PgSqlErrorCode::ERRCODE_DATA_EXCEPTION as i32 & CLASS;
    let others = [
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        PgSqlErrorCode::ERRCODE_STATEMENT_TOO_COMPLEX,
        PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
        PgSqlErrorCode::ERRCODE_CONFIG_FILE_ERROR,
        PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
    ];
    code & CLASS == DATA || others.iter().any(|other| *other as i32 == code)
}

/// `dp_mean.total(oid, VARIADIC "any")`, STRICT.
fn total(call: Call) -> Option<Datum> {
    let function = Function::of(call);
    match function.way {
        Way::Native(native) => {
            let second = (call.len() > 2).then(|| call.datum(2));
            native(call.datum(1)?, second.unwrap_or(Some(Datum::null()))?)
        }
        Way::Float(_) => {
            // SAFETY: the function takes a numeric, and the types were compared.
            let float = unsafe { numeric::float(call.datum(1)?) };
            float.map(f64::datum).or_else(|| function.called(call))
        }
        Way::Behind(_) => function.called(call),
    }
}

sql_function!(dp_total, total);
