//! Citus runs an aggregate of ours from within aggregates of its own: on a worker `worker_partial_agg(aggregate, row)`,
//! whose rows are the arguments of the call, and on the coordinator `coord_combine_agg(aggregate, text, NULL)`, whose
//! texts are the states of the workers. They hand on their own context, so that PostgreSQL knows their call alone.
//!
//! Only C code can do that. An SQL function has no context to hand on, and what an own aggregate calls has the call of
//! that aggregate.

use std::ffi::CStr;
use std::rc::Rc;

use pgrx::pg_sys::{self, Aggref, Const, Datum, Expr, MemoryContext, NodeTag, Oid, TargetEntry};

use crate::pg::extension;
use crate::pg::fmgr::Call;
use crate::pg::kept::{self, Kept};
use crate::pg::nodes::elements;

/// The attribute of `pg_aggregate`, whose struct is not among the bindings.
const AGGTRANSFN: i16 = 4;

/// Which of its aggregates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Worker,
    Coordinator,
}

/// A call of an aggregate of Citus, that works for one of this extension.
pub struct Wrapped {
    pub side: Side,
    /// The one of this extension.
    pub aggregate: Oid,
    /// Its name with the types of its arguments, the same on all servers.
    pub name: Vec<u8>,
    /// Where the call of Citus is.
    pub place: CallPlace,
    /// The memory of the query.
    pub memory: MemoryContext,
}

/// The query and the call of Citus in it, by their addresses.
pub type CallPlace = (usize, usize);

thread_local! {
    /// What was looked up in the catalog for the running queries of this process: parts are many.
    static KNOWN: Kept<CallPlace, Rc<Wrapped>> = const { Kept::new(Vec::new()) };
}

/// The aggregate of ours that the aggregate of Citus works for which runs `call`, if one does.
pub fn wrapped(call: Call) -> Option<Rc<Wrapped>> {
    if !call.in_aggregate() {
        return None;
    }
    // SAFETY: an aggregate is the caller, so that its context is an AggState, which has the state of its query, and
    // PostgreSQL knows its call, which lives in the plan.
    unsafe {
        let aggregate = (*call.fcinfo()).context.cast::<pg_sys::AggState>();
        let aggref = called(aggregate);
        let query = (*aggregate).ss.ps.state;
        let place = (query as usize, aggref as usize);
        let found = kept::find(&KNOWN, |of| *of == place, |wrapped| Rc::clone(wrapped));
        if aggref.is_null() || found.is_some() {
            return found;
        }
        let memory = (*query).es_query_cxt;
        let wrapped = Rc::new(wrapped_by(aggref, place, memory)?);
        kept::keep(&KNOWN, memory, place, Rc::clone(&wrapped));
        Some(wrapped)
    }
}

/// The call that an aggregate works for just now: `AggGetAggref`, which would be asked through a guard for each row.
///
/// # Safety
/// It lives.
unsafe fn called(aggregate: *mut pg_sys::AggState) -> *mut Aggref {
    // SAFETY: the caller guarantees it; PostgreSQL has set at most one, within its final function or within another
    // one.
    unsafe {
        let (last, other) = ((*aggregate).curperagg, (*aggregate).curpertrans);
        match (last.as_ref(), other.as_ref()) {
            (Some(last), _) => last.aggref,
            (None, Some(other)) => other.aggref,
            (None, None) => std::ptr::null_mut(),
        }
    }
}

/// Likewise, for a call in the plan.
///
/// # Safety
/// It lives.
unsafe fn wrapped_by(
    aggref: *mut Aggref,
    place: CallPlace,
    memory: MemoryContext,
) -> Option<Wrapped> {
    // SAFETY: catalog look-ups by oid; the name is a C string in PostgreSQL's memory; each cast follows a check of the
    // node's tag, and an oid is passed by value.
    unsafe {
        let of = (*aggref).aggfnoid;
        if pg_sys::get_func_namespace(of).to_u32() != pg_sys::PG_CATALOG_NAMESPACE {
            return None;
        }
        let name = pg_sys::get_func_name(of);
        let side = match name.as_ref().map(|_| CStr::from_ptr(name).to_bytes()) {
            Some(b"worker_partial_agg") => Side::Worker,
            Some(b"coord_combine_agg") => Side::Coordinator,
            _ => return None,
        };
        let first = (*elements::<TargetEntry>((*aggref).args).next()?).expr;
        if (*first).type_ != NodeTag::T_Const {
            return None;
        }
        let Const {
            consttype,
            constvalue,
            constisnull,
            ..
        } = *first.cast::<Const>();
        if constisnull || !matches!(consttype, pg_sys::OIDOID | pg_sys::REGPROCEDUREOID) {
            return None;
        }
        let aggregate = Oid::from_u32(constvalue.value() as u32);
        extension::has_function(aggregate).then(|| Wrapped {
            side,
            aggregate,
            name: name_of(aggregate),
            place,
            memory,
        })
    }
}

/// The name of an aggregate with the types of its arguments.
fn name_of(aggregate: Oid) -> Vec<u8> {
    // SAFETY: a catalog look-up by oid, which answers with a C string in PostgreSQL's memory.
    unsafe { CStr::from_ptr(pg_sys::format_procedure_qualified(aggregate)) }
        .to_bytes()
        .to_vec()
}

/// The types of an aggregate's arguments, as it is declared.
pub fn types_of(aggregate: Oid) -> Vec<Oid> {
    let (mut types, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: a catalog look-up by oid, which gives an array of that many oids in PostgreSQL's memory.
    unsafe {
        pg_sys::get_func_signature(aggregate, &mut types, &mut count);
        let count = usize::try_from(count).unwrap_or(0);
        (0..count).map(|i| *types.add(i)).collect()
    }
}

/// The name of the function that takes in its rows.
pub fn transition_of(aggregate: Oid) -> Option<String> {
    let cache = pg_sys::SysCacheIdentifier::AGGFNOID as i32;
    // SAFETY: a catalog look-up by oid; the row is released before its copy of an oid is used; the name is a C string
    // in PostgreSQL's memory.
    unsafe {
        let tuple = pg_sys::SearchSysCache1(cache, Datum::from(aggregate));
        if tuple.is_null() {
            return None;
        }
        let mut null = false;
        let function = pg_sys::SysCacheGetAttr(cache, tuple, AGGTRANSFN, &mut null);
        pg_sys::ReleaseSysCache(tuple);
        let name = pg_sys::get_func_name(Oid::from_u32(function.value() as u32));
        (!null && !name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// The arguments of our call, of those of `worker_partial_agg`: the second one is a row of them, where there are
/// several, as an expression or folded to a constant.
///
/// # Safety
/// It lives.
pub unsafe fn arguments(row: *mut Expr) -> Option<Vec<*mut Expr>> {
    // SAFETY: the caller guarantees it; each cast follows a check of the node's tag.
    unsafe {
        let is_record = pg_sys::exprType(row.cast()) == pg_sys::RECORDOID;
        match (*row).type_ {
            NodeTag::T_RowExpr => Some(elements((*row.cast::<pg_sys::RowExpr>()).args).collect()),
            NodeTag::T_Const if is_record => fields(row.cast()),
            _ if is_record => None,
            _ => Some(vec![row]),
        }
    }
}

/// The fields of a constant record, as constants.
///
/// # Safety
/// It lives.
unsafe fn fields(record: *mut Const) -> Option<Vec<*mut Expr>> {
    // SAFETY: the caller guarantees it.
    unsafe {
        if (*record).constisnull {
            return None;
        }
        let columns = columns((*record).constvalue).into_iter();
        Some(columns.map(|(kind, value)| constant(kind, value)).collect())
    }
}

/// The columns of a record, with their types.
///
/// # Safety
/// `record` is a record.
pub unsafe fn columns(record: Datum) -> Vec<(Oid, Option<Datum>)> {
    // SAFETY: a record has its type in its head, by which it is taken apart into as many values as that has columns;
    // they lie in it, or in PostgreSQL's memory.
    unsafe {
        let header =
            pg_sys::pg_detoast_datum(record.cast_mut_ptr()).cast::<pg_sys::HeapTupleHeaderData>();
        let pg_sys::DatumTupleFields {
            datum_len_,
            datum_typmod,
            datum_typeid,
        } = (*header).t_choice.t_datum;
        let descriptor = pg_sys::lookup_rowtype_tupdesc_copy(datum_typeid, datum_typmod);
        let count = usize::try_from((*descriptor).natts).unwrap_or(0);
        let mut tuple = pg_sys::HeapTupleData {
            t_len: (datum_len_ as u32) >> 2,
            t_data: header,
            ..Default::default()
        };
        let (mut values, mut nulls) = (vec![Datum::null(); count], vec![false; count]);
        pg_sys::heap_deform_tuple(
            &mut tuple,
            descriptor,
            values.as_mut_ptr(),
            nulls.as_mut_ptr(),
        );
        let column = |i: usize| {
            let kind = pg_sys::SPI_gettypeid(descriptor, i as i32 + 1);
            (kind, (!nulls[i]).then_some(values[i]))
        };
        (0..count).map(column).collect()
    }
}

/// A constant of a type, NULL for `None`.
pub fn constant(kind: Oid, value: Option<Datum>) -> *mut Expr {
    let (mut length, mut by_value) = (0, false);
    // SAFETY: a catalog look-up by oid, and a node in PostgreSQL's memory.
    unsafe {
        pg_sys::get_typlenbyval(kind, &mut length, &mut by_value);
        let datum = value.unwrap_or(Datum::null());
        let (length, is_null) = (i32::from(length), value.is_none());
        let none = pg_sys::InvalidOid;
        pg_sys::makeConst(kind, -1, none, length, datum, is_null, by_value).cast()
    }
}

/// An expression of a type that differs from row to row.
pub fn of_rows(kind: Oid) -> *mut Expr {
    // SAFETY: a node in PostgreSQL's memory.
    unsafe { pg_sys::makeVar(1, 1, kind, -1, pg_sys::InvalidOid, 0).cast() }
}
