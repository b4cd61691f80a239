//! What tests need and a release build does not have: a chosen seed, noise of the wrong size, and
//! the integers before the noise and after it. Tests declare these functions themselves.

use std::time::Duration;

use dp_core::encoding::cells::CellCounts;
use dp_core::encoding::log_bins::{BinSums, Content, OctaveCounts};
use dp_core::encoding::pairs::PairMoments;
use dp_core::encoding::squares::Squares;
use dp_core::encoding::sums::{Moments, Sums};
use dp_core::privacy::spending::{Accounting, Spent};
use dp_core::recorder::Record;
use pgrx::IntoDatum;
use pgrx::pg_sys::{self, Datum};

use crate::aggregates::SIGNATURES;
use crate::call::{release, testing};
use crate::ledger::budgets::Name;
use crate::ledger::charge::{Payer, Request};
use crate::ledger::{self, flush};
use crate::pg::fmgr::{Call, float8, sql_function};
use crate::pg::nodes::elements;
use crate::pg::settings;
use crate::safe_functions::allowlist::{FUNCTIONS, Rule};
use crate::safe_functions::classify::{Judgement, collation_ok, judge, output_ok};
use crate::safe_functions::range::range;
use crate::safe_functions::wrap::variant;
use crate::state::bins::Bins;
use crate::state::bitmap::BitmapState;
use crate::state::cells::CellState;
use crate::state::log_bins::OctaveState;
use crate::state::scalar::State;
use crate::store;

/// `dp_test_flush_nothing()`: from now on this session's charges return before they are on disk.
fn flush_nothing(_: Call) -> Option<Datum> {
    flush::nothing();
    None
}

/// `dp_test_defence(text, boolean)`: takes a defence away in this session, or puts it back.
fn defence(call: Call) -> Option<Datum> {
    // SAFETY: tests declare the argument as text.
    let name = unsafe { crate::pg::varlena::text_bytes(call.datum(0)?) };
    let stands = call.datum(1)?.value() & 0xff != 0;
    let name = String::from_utf8_lossy(&name);
    let is_known = crate::gate::set_defence(&name, stands)
        || ledger::defence::set(&name, stands)
        || crate::safe_functions::defence::set(&name, stands);
    assert!(is_known, "no such defence");
    None
}

/// `dp_test_seed(bigint)`: from now on this backend's noise is the same at every run.
fn seed(call: Call) -> Option<Datum> {
    release::seed(call.datum(0)?.value() as u64);
    None
}

/// `dp_test_budget_factor(float8)`: 2 halves the noise, which an audit must notice.
fn budget_factor(call: Call) -> Option<Datum> {
    testing::set_factor(float8(call.datum(0)?));
    None
}

/// `dp_test_state(dp_state)`, a final function: the integers before the noise, as `n s`, or as
/// `n s1 s2 ...` of vectors, or as `n s q` of moments, as `n y x yy xy xx` of two columns,
/// or as the number of bits of a bitmap.
fn state(call: Call) -> Option<Datum> {
    let datum = call.datum(0)?;
    // SAFETY: tests declare its argument as dp_state.
    let (scalar, vector) = unsafe { (State::<Sums>::of(datum), Bins::of(datum)) };
    // SAFETY: the same.
    if let Some(state) = unsafe { CellState::of(datum) } {
        return cells(&state.histogram()).into_datum();
    }
    // SAFETY: the same.
    if let Some(state) = unsafe { OctaveState::<Content>::of(datum) } {
        let text = |held: &Content| held.digits.to_string();
        return octaves(&state.counts(), text).into_datum();
    }
    // SAFETY: the same.
    if let Some(state) = unsafe { OctaveState::<Squares>::of(datum) } {
        let text = |held: &Squares| format!("{}:{}", held.digits, held.squares);
        return octaves(&state.counts(), text).into_datum();
    }
    // SAFETY: the same.
    if let Some(state) = unsafe { BitmapState::of(datum) } {
        return state.occupied().bits.to_string().into_datum();
    }
    // SAFETY: the same.
    if let Some(state) = unsafe { State::<Moments>::of(datum) } {
        let moments = state.sums();
        return format!("{} {} {}", moments.n, moments.s, moments.q).into_datum();
    }
    // SAFETY: the same.
    if let Some(state) = unsafe { State::<PairMoments>::of(datum) } {
        let PairMoments {
            n,
            y,
            x,
            yy,
            xy,
            xx,
        } = state.sums();
        return format!("{n} {y} {x} {yy} {xy} {xx}").into_datum();
    }
    let (n, sums) = match (scalar, vector) {
        (Some(state), _) => {
            let Sums { n, s } = state.sums();
            (n, vec![s])
        }
        (_, Some(state)) => (state.totals().n, state.totals().s),
        _ => return None,
    };
    let sums = sums.iter().map(i128::to_string);
    let numbers: Vec<_> = std::iter::once(n.to_string()).chain(sums).collect();
    numbers.join(" ").into_datum()
}

/// A histogram, as `n full offset cell:count:steps ...`, the cells in order.
fn cells(histogram: &CellCounts) -> String {
    let (n, full, offset) = (histogram.n, histogram.full, histogram.line.offset());
    let cells = histogram.cells.iter();
    let cells = cells.map(|(cell, held)| format!(" {cell}:{}:{}", held.count, held.steps));
    format!("{n} {full} {offset:?}") + &cells.collect::<String>()
}

/// Bins, as `n bin:count:digits ...` or `n bin:count:digits:squares ...`, in order.
fn octaves<S: BinSums>(counts: &OctaveCounts<S>, text: impl Fn(&S) -> String) -> String {
    let bins = counts.occupied();
    let bins = bins.map(|(bin, held)| format!(" {bin}:{}:{}", held.count(), text(held)));
    counts.rows().to_string() + &bins.collect::<String>()
}

/// `dp_test_record(bigint)`: from now on every release has the noise of this seed and is recorded.
fn record(call: Call) -> Option<Datum> {
    release::record(call.datum(0)?.value() as u64, false);
    None
}

/// `dp_test_replay(bigint)`: the same, and each goes on with the noisy integers of the release that
/// was recorded in its place before.
fn replay(call: Call) -> Option<Datum> {
    release::record(call.datum(0)?.value() as u64, true);
    None
}

/// `dp_test_recorded()`: a line for each release, of the words that it drew and its noisy integers:
/// `12 exact:noisy exact,exact:noisy ...`.
fn recorded(_: Call) -> Option<Datum> {
    let line = |record: &Record| {
        let notes = record.notes.iter().map(|note| {
            let exact: Vec<_> = note.exact.iter().map(i128::to_string).collect();
            format!(" {}:{}", exact.join(","), note.noisy)
        });
        format!("{}{}", record.words, notes.collect::<String>())
    };
    let lines: Vec<_> = release::records().iter().map(line).collect();
    lines.join("\n").into_datum()
}

/// The key of the store that tests call by this text.
fn kept_key(call: Call) -> Option<store::Key> {
    // SAFETY: tests declare the argument as text.
    let name = unsafe { crate::pg::varlena::text_bytes(call.datum(0)?) };
    let mut key = [0; 32];
    key[..name.len()].copy_from_slice(&name);
    Some(store::Key(key))
}

/// `dp_test_keep(text, bytea, float8)`: keeps an answer for that many seconds.
fn keep(call: Call) -> Option<Datum> {
    // SAFETY: tests declare the arguments as bytea, which is as a text, and as float8.
    let answer = unsafe { crate::pg::varlena::text_bytes(call.datum(1)?) };
    let lifetime = Duration::from_secs_f64(float8(call.datum(2)?));
    store::keep(&kept_key(call)?, &answer, lifetime);
    None
}

/// `dp_test_find(text)`: the answer that is kept.
fn find(call: Call) -> Option<Datum> {
    store::find(&kept_key(call)?).into_datum()
}

/// `dp_test_ask(text, text)`: asks as the gate does, with a statement in the place of the answer's query. Whether it was
/// run.
fn ask(call: Call) -> Option<Datum> {
    let key = kept_key(call)?;
    let is_kept = || settings::reuses() && store::find(&key).is_some();
    if is_kept() {
        return false.into_datum();
    }
    let _asking = settings::reuses().then(|| store::lock(&key));
    if is_kept() {
        return false.into_datum();
    }
    // SAFETY: tests declare the argument as text.
    let work = unsafe { crate::pg::varlena::text_bytes(call.datum(1)?) };
    pgrx::Spi::run(&String::from_utf8_lossy(&work)).expect("an ERROR of SPI does not return");
    store::keep(&key, b"an answer", Duration::from_hours(1));
    true.into_datum()
}

/// `dp_test_reused(text)`: counts an answer that was given again, to the current role.
fn reused(call: Call) -> Option<Datum> {
    // SAFETY: tests declare the argument as text.
    let name = unsafe { crate::pg::varlena::text_bytes(call.datum(0)?) };
    ledger::charge::reused(&Request {
        function: "dp_mean",
        budget: Name::new(Some(name)).ok()?,
        payer: Payer::Owner,
        role: ledger::session::role(),
        asked: (1.0, 0.0),
        amount: Spent::of_epsilon(1.0, 0.0, Accounting::Gaussian).ok()?,
        charged: None,
    });
    None
}

/// `dp_test_write_page(regclass, bigint, integer, bytea)`: writes bytes over those of a page, as a bad disk does.
fn write_page(call: Call) -> Option<Datum> {
    let number = |i: usize| Some(call.datum(i)?.value());
    let (table, block, at) = (number(0)? as u32, number(1)? as u32, number(2)?);
    // SAFETY: tests declare the argument as bytea, which is as a text; the page is locked while it is written.
    unsafe {
        let bytes = crate::pg::varlena::text_bytes(call.datum(3)?);
        assert!(at + bytes.len() <= pg_sys::BLCKSZ as usize);
        let lock = pg_sys::AccessShareLock as i32;
        let table = pg_sys::relation_open(pg_sys::Oid::from_u32(table), lock);
        let buffer = pg_sys::ReadBuffer(table, block);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as i32);
        let page = pg_sys::BufferGetPage(buffer).cast::<u8>();
        page.add(at)
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        pg_sys::MarkBufferDirty(buffer);
        pg_sys::UnlockReleaseBuffer(buffer);
        pg_sys::relation_close(table, lock);
    }
    None
}

sql_function!(dp_test_write_page, write_page);
sql_function!(dp_test_reused, reused);
sql_function!(dp_test_keep, keep);
sql_function!(dp_test_find, find);
sql_function!(dp_test_ask, ask);

/// `dp_test_signatures()`: a line for each declaration of an aggregate that the library knows.
fn signatures(_: Call) -> Option<Datum> {
    let lines = SIGNATURES.iter().flat_map(|(name, signature)| {
        let declared = signature.declarations().into_iter();
        declared.map(move |arguments| format!("{name}({arguments})"))
    });
    lines.collect::<Vec<_>>().join("\n").into_datum()
}

/// `dp_test_key_file(text)`: from now on this session's keys are those of another file.
fn key_file(call: Call) -> Option<Datum> {
    // SAFETY: tests declare the argument as text.
    let path = unsafe { crate::pg::varlena::text_bytes(call.datum(0)?) };
    crate::citus::key_file::set_path(String::from_utf8_lossy(&path).into_owned());
    None
}

/// `dp_test_panic()`: a panic of our own, which must end as an ordinary ERROR.
fn panic(_: Call) -> Option<Datum> {
    panic!("a panic that a test asked for")
}

/// `dp_test_permission_checks()`: how often hooks of other extensions were asked for rights since this was asked last.
fn permission_checks(_: Call) -> Option<Datum> {
    use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
    static ASKED: AtomicI64 = AtomicI64::new(0);
    static HOOKED: AtomicBool = AtomicBool::new(false);

    #[cfg(feature = "pg15")]
    unsafe extern "C-unwind" fn hook(_: *mut pg_sys::List, _: bool) -> bool {
        ASKED.fetch_add(1, Ordering::Relaxed);
        true
    }
    #[cfg(not(feature = "pg15"))]
    unsafe extern "C-unwind" fn hook(_: *mut pg_sys::List, _: *mut pg_sys::List, _: bool) -> bool {
        ASKED.fetch_add(1, Ordering::Relaxed);
        true
    }
    if !HOOKED.swap(true, Ordering::Relaxed) {
        // SAFETY: no other hook of this kind is there in a server of the tests, and a backend has one thread.
        unsafe { pg_sys::ExecutorCheckPerms_hook = Some(hook) };
    }
    ASKED.swap(0, Ordering::Relaxed).into_datum()
}

sql_function!(dp_test_permission_checks, permission_checks);

/// `dp_test_memory_left(bigint)`: from now on this process gets that many bytes of memory more, and no others.
fn memory_left(call: Call) -> Option<Datum> {
    unsafe extern "C" {
        fn setrlimit(resource: i32, limit: *const [u64; 2]) -> i32;
    }
    const ADDRESS_SPACE: i32 = 9; // RLIMIT_AS of Linux
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').next()?.parse().ok()?;
    let limit = pages * 4096 + call.datum(0)?.value() as u64;
    // SAFETY: it reads a soft and a hard limit.
    let failed = unsafe { setrlimit(ADDRESS_SPACE, &[limit, limit]) };
    assert!(failed == 0, "no limit could be set");
    None
}

sql_function!(dp_test_flush_nothing, flush_nothing);
sql_function!(dp_test_memory_left, memory_left);

/// `dp_test_backtraces()`: as if the server's environment asked for backtraces.
fn backtraces(_: Call) -> Option<Datum> {
    // SAFETY: a backend has one thread.
    unsafe { std::env::set_var("RUST_BACKTRACE", "1") };
    None
}

sql_function!(dp_test_backtraces, backtraces);
sql_function!(dp_test_defence, defence);
sql_function!(dp_test_seed, seed);
sql_function!(dp_test_budget_factor, budget_factor);
sql_function!(dp_test_state, state);
sql_function!(dp_test_record, record);
sql_function!(dp_test_replay, replay);
sql_function!(dp_test_recorded, recorded);
sql_function!(dp_test_signatures, signatures);
sql_function!(dp_test_key_file, key_file);
sql_function!(dp_test_panic, panic);

/// `dp_test_functions()`: a line for each function of the list: its OID, its name, what is known of it.
fn functions(_: Call) -> Option<Datum> {
    let line = |(oid, name, rule): &(u32, &str, Rule)| {
        let known = match rule {
            Rule::Total => "total",
            Rule::Like => "like",
            Rule::Length(_) => "length",
            Rule::Native(_) => "native",
            Rule::Caught(_) => "caught",
            Rule::Pattern(_) => "pattern",
            Rule::Refused(_) => "refused",
        };
        format!("{oid}|{name}|{known}")
    };
    let lines: Vec<_> = FUNCTIONS.iter().map(line).collect();
    lines.join("\n").into_datum()
}

/// A call of a function or an operator, in a plan.
struct Written {
    function: pg_sys::Oid,
    arguments: *mut pg_sys::List,
    collation: pg_sys::Oid,
    input_collation: pg_sys::Oid,
}

/// The first argument of a call of ours, as it is in the plan.
fn first(call: Call) -> *mut pg_sys::Node {
    // SAFETY: PostgreSQL's own call of a function, in a plan that runs.
    unsafe {
        let expression = (*call.flinfo()).fn_expr.cast::<pg_sys::FuncExpr>();
        let mut arguments = elements((*expression).args);
        arguments.next().expect("an argument")
    }
}

/// A call, of an operator or a function; `None` if the expression is something else.
///
/// # Safety
/// An expression of a plan that runs.
unsafe fn written(node: *mut pg_sys::Node) -> Option<Written> {
    // SAFETY: the caller guarantees it; each cast follows a look at the tag.
    unsafe {
        match (*node).type_ {
            pg_sys::NodeTag::T_OpExpr => {
                let call = node.cast::<pg_sys::OpExpr>();
                Some(Written {
                    function: (*call).opfuncid,
                    arguments: (*call).args,
                    collation: (*call).opcollid,
                    input_collation: (*call).inputcollid,
                })
            }
            pg_sys::NodeTag::T_FuncExpr => {
                let call = node.cast::<pg_sys::FuncExpr>();
                Some(Written {
                    function: (*call).funcid,
                    arguments: (*call).args,
                    collation: (*call).funccollid,
                    input_collation: (*call).inputcollid,
                })
            }
            _ => None,
        }
    }
}

/// `dp_test_judge("any")`: what is judged of the call that is the argument: `total`, `partial`, or a reason; or
/// what is wrong with its collation.
fn judged(call: Call) -> Option<Datum> {
    // SAFETY: the argument of a call in a plan that runs.
    let written = unsafe { written(first(call)) }?;
    // SAFETY: the expressions are the plan's.
    let judgement = unsafe {
        collation_ok(written.input_collation, written.arguments)
            .map(|()| judge(written.function, written.arguments))
    };
    match judgement {
        Ok(Judgement::Total) => "total".into_datum(),
        Ok(Judgement::Partial) => "partial".into_datum(),
        Ok(Judgement::Refused(reason)) | Err(reason) => reason.into_datum(),
    }
}

/// `dp_test_output(oid)`: whether values of a type can be made texts without an error.
fn output(call: Call) -> Option<Datum> {
    output_ok(pg_sys::Oid::from(call.datum(0)?.value() as u32)).into_datum()
}

/// `dp_test_range("any", lo, hi, lo, hi, ...)`: the range of the first argument, as `lo hi`, with ranges of the first
/// columns of a table; NULL if none is known. It is the same for the argument's variant.
fn known_range(call: Call) -> Option<Datum> {
    let column = |_, attribute: i16| {
        let i = usize::try_from(attribute).ok()?.checked_sub(1)? * 2 + 1;
        let end = |i: usize| (i < call.len()).then(|| call.datum(i)).flatten();
        Some((float8(end(i)?), float8(end(i + 1)?)))
    };
    let node = first(call);
    // SAFETY: the expressions are the plan's.
    let (known, of_variant) = unsafe {
        let known = range(node, &column, &|_| None, &|_| None);
        let of_variant = written(node).map(|written| {
            let (kind, collations) = (
                pg_sys::exprType(node),
                (written.collation, written.input_collation),
            );
            let (function, arguments) = (written.function, written.arguments);
            let variant = variant(function, arguments, kind, collations.0, collations.1);
            variant.map_or(known, |variant| {
                range(variant, &column, &|_| None, &|_| None)
            })
        });
        (known, of_variant)
    };
    assert!(of_variant.is_none_or(|of_variant| of_variant == known));
    let (lo, hi) = known;
    (lo.is_finite() && hi.is_finite()).then_some(())?;
    format!("{lo:?} {hi:?}").into_datum()
}

sql_function!(dp_test_functions, functions);
sql_function!(dp_test_judge, judged);
sql_function!(dp_test_output, output);
sql_function!(dp_test_range, known_range);

/// With the library in shared_preload_libraries this runs in the postmaster: every backend then
/// inherits a generator, and must not use it.
pub fn loaded() {
    // SAFETY: a global that PostgreSQL sets before it loads libraries.
    if unsafe { pg_sys::process_shared_preload_libraries_in_progress } {
        release::warm_up();
    }
}
