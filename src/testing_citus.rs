//! The four functions of Citus that run an aggregate of ours from within aggregates of its own, after its
//! `aggregate_utils.c`: with a fresh record of our function for every row, on their own context. So what travels
//! between servers can be tried on one. Only in the testing build.

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Aggref, Const, Datum, FunctionCallInfo, NullableDatum, Oid, TargetEntry};

use crate::citus::wrapper::columns;
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::nodes::elements;

/// The attributes of `pg_aggregate` that are needed.
const AGGTRANSFN: i16 = 4;
const AGGFINALFN: i16 = 5;
const AGGCOMBINEFN: i16 = 6;
const AGGTRANSTYPE: i16 = 17;
const AGGINITVAL: i16 = 21;

/// What is kept of a group.
struct Group {
    state: NullableDatum,
    aggregate: Oid,
}

/// # Safety
/// The attribute is an oid.
unsafe fn oid_of(aggregate: Oid, attribute: i16) -> Oid {
    let cache = pg_sys::SysCacheIdentifier::AGGFNOID as i32;
    // SAFETY: a catalog look-up by oid.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(aggregate));
        assert!(!tuple.is_null(), "no aggregate");
        let mut null = false;
        let datum = pg_sys::SysCacheGetAttr(cache, tuple, attribute, &mut null);
        pg_sys::ReleaseSysCache(tuple);
        Oid::from_u32(datum.value() as u32)
    }
}

/// The memory of the aggregate that calls.
fn memory(call: Call) -> pg_sys::MemoryContext {
    let mut memory = std::ptr::null_mut();
    // SAFETY: PostgreSQL's own fcinfo.
    let kind = unsafe { pg_sys::AggCheckCallContext(call.fcinfo(), &mut memory) };
    assert!(kind != 0, "no aggregate is the caller");
    memory
}

/// The first state of a group.
unsafe fn first(call: Call, aggregate: Oid) -> Box<Group> {
    let cache = pg_sys::SysCacheIdentifier::AGGFNOID as i32;
    // SAFETY: catalog look-ups by oid; the text becomes a state by the input function of its type.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(aggregate));
        let mut isnull = false;
        let text = pg_sys::SysCacheGetAttr(cache, tuple, AGGINITVAL, &mut isnull);
        let mut value = Datum::null();
        if !isnull {
            let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
            let state = oid_of(aggregate, AGGTRANSTYPE);
            pg_sys::getTypeInputInfo(state, &mut input, &mut parameter);
            let text = pg_sys::text_to_cstring(text.cast_mut_ptr());
            let before = pg_sys::MemoryContextSwitchTo(memory(call));
            value = pg_sys::OidInputFunctionCall(input, text, parameter, -1);
            pg_sys::MemoryContextSwitchTo(before);
        }
        pg_sys::ReleaseSysCache(tuple);
        let state = NullableDatum { value, isnull };
        Box::new(Group { state, aggregate })
    }
}

/// Calls a function of ours on the caller's own context.
unsafe fn invoke(outer: Call, function: Oid, arguments: &[NullableDatum]) -> NullableDatum {
    let head = size_of::<pg_sys::FunctionCallInfoBaseData>();
    let words = (head + size_of_val(arguments)).div_ceil(8);
    let mut space = vec![0_u64; words];
    // SAFETY: there is room for the arguments behind the struct; the record of the function lives for the call.
    unsafe {
        let mut info = pg_sys::FmgrInfo::default();
        pg_sys::fmgr_info(function, &mut info);
        let inner: FunctionCallInfo = space.as_mut_ptr().cast();
        (*inner).flinfo = &mut info;
        (*inner).context = (*outer.fcinfo()).context;
        (*inner).resultinfo = (*outer.fcinfo()).resultinfo;
        (*inner).fncollation = (*outer.fcinfo()).fncollation;
        (*inner).nargs = arguments.len() as i16;
        let places = (&raw mut (*inner).args).cast::<NullableDatum>();
        for (i, argument) in arguments.iter().enumerate() {
            places.add(i).write(*argument);
        }
        let function = info.fn_addr.expect("a function");
        let value = pg_guard_ffi_boundary(|| function(inner));
        let isnull = (*inner).isnull;
        NullableDatum { value, isnull }
    }
}

/// Puts the state that a function has made in the place of the one before.
unsafe fn advance(call: Call, group: &mut Group, new: NullableDatum) {
    let old = group.state;
    let is_same = !old.isnull && !new.isnull && old.value.value() == new.value.value();
    if !is_same {
        // SAFETY: a state is a varlena.
        unsafe {
            let before = pg_sys::MemoryContextSwitchTo(memory(call));
            if !new.isnull {
                let bytes = pg_sys::toast_raw_datum_size(new.value);
                let copy = pg_sys::palloc(bytes).cast::<u8>();
                copy.copy_from_nonoverlapping(new.value.cast_mut_ptr(), bytes);
                group.state.value = Datum::from(copy);
            }
            pg_sys::MemoryContextSwitchTo(before);
            if !old.isnull {
                pg_sys::pfree(old.value.cast_mut_ptr());
            }
        }
    }
    group.state.isnull = new.isnull;
}

/// The group of a call, made at its first row.
unsafe fn group<'a>(call: Call) -> &'a mut Group {
    // SAFETY: argument 0 is NULL or what this function has made; argument 1 is an oid.
    unsafe {
        match call.datum(0) {
            Some(group) => &mut *group.cast_mut_ptr::<Group>(),
            None => {
                let aggregate = call.datum(1).expect("an aggregate");
                Box::leak(first(call, Oid::from_u32(aggregate.value() as u32)))
            }
        }
    }
}

/// The group at the end, which may have had no rows.
unsafe fn last<'a>(call: Call) -> &'a mut Group {
    // SAFETY: the same; without rows the plan has the oid, as a constant.
    unsafe {
        if let Some(group) = call.datum(0) {
            return &mut *group.cast_mut_ptr::<Group>();
        }
        let aggref = pg_sys::AggGetAggref(call.fcinfo()).cast::<Aggref>();
        let argument = elements::<TargetEntry>((*aggref).args).next();
        let constant = (*argument.expect("an argument")).expr.cast::<Const>();
        let aggregate = Oid::from_u32((*constant).constvalue.value() as u32);
        Box::leak(first(call, aggregate))
    }
}

const fn datum(value: Option<Datum>) -> NullableDatum {
    match value {
        Some(value) => NullableDatum {
            value,
            isnull: false,
        },
        None => NullableDatum {
            value: Datum::null(),
            isnull: true,
        },
    }
}

fn worker_row(call: Call) -> Option<Datum> {
    // SAFETY: the SQL declaration is that of Citus.
    unsafe {
        let group = group(call);
        let is_record = pg_sys::get_fn_expr_argtype(call.flinfo(), 2) == pg_sys::RECORDOID;
        let mut arguments = vec![group.state];
        match call.datum(2) {
            Some(row) if is_record => {
                arguments.extend(columns(row).into_iter().map(|(_, value)| datum(value)));
            }
            value => arguments.push(datum(value)),
        }
        let new = invoke(call, oid_of(group.aggregate, AGGTRANSFN), &arguments);
        advance(call, group, new);
        Some(Datum::from(&raw mut *group))
    }
}

fn worker_final(call: Call) -> Option<Datum> {
    // SAFETY: the same.
    unsafe {
        let group = last(call);
        if group.state.isnull {
            return None;
        }
        let (mut output, mut is_varlena) = (Oid::INVALID, false);
        let state = oid_of(group.aggregate, AGGTRANSTYPE);
        pg_sys::getTypeOutputInfo(state, &mut output, &mut is_varlena);
        let text = invoke(call, output, &[group.state]);
        (!text.isnull).then_some(text.value)
    }
}

fn coordinator_row(call: Call) -> Option<Datum> {
    // SAFETY: the same.
    unsafe {
        let group = group(call);
        let (mut input, mut parameter) = (Oid::INVALID, Oid::INVALID);
        let state = oid_of(group.aggregate, AGGTRANSTYPE);
        pg_sys::getTypeInputInfo(state, &mut input, &mut parameter);
        // The input function is strict.
        let part = call.datum(2).map_or(datum(None), |text| {
            let more = [Datum::from(parameter), Datum::from(-1)]
                .map(Some)
                .map(datum);
            invoke(call, input, &[datum(Some(text)), more[0], more[1]])
        });
        let combine = oid_of(group.aggregate, AGGCOMBINEFN);
        let new = invoke(call, combine, &[group.state, part]);
        advance(call, group, new);
        Some(Datum::from(&raw mut *group))
    }
}

fn coordinator_final(call: Call) -> Option<Datum> {
    // SAFETY: the same.
    unsafe {
        let group = last(call);
        let answer = invoke(call, oid_of(group.aggregate, AGGFINALFN), &[group.state]);
        (!answer.isnull).then_some(answer.value)
    }
}

sql_function!(dp_test_worker_row, worker_row);
sql_function!(dp_test_worker_final, worker_final);
sql_function!(dp_test_coordinator_row, coordinator_row);
sql_function!(dp_test_coordinator_final, coordinator_final);
