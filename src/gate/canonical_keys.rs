//! Keys of groups in the one form in which they are shown. PostgreSQL shows of a group the key of one of its rows,
//! which private rows choose. So only types are taken whose equal values are the same bytes, or can be made the same.

use pgrx::pg_sys::{self, Datum, Node, Oid, Query, RTEKind};

use crate::gate::defence::Defence;
use crate::gate::expression;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::{self, List, Ref};
use crate::pg::{errors, procedure};
use crate::safe_functions::canonical_key;

/// The support function of a B-tree operator class that says whether equal values are the same bytes.
const EQUAL_IMAGE: i16 = 4;

/// A key as it is shown.
pub struct Formed<'t> {
    pub node: Ref<'t, Node>,
    /// Its type modifier.
    pub modifier: i32,
}

/// Why equal values of a type are the same bytes, or how they become so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Equality {
    /// They are.
    Bytes,
    /// Without zeros or blanks at the end, or with one zero and one NaN.
    Trimmed,
}

/// A key in its one form. `written` is as the query has it, `safe` as it is computed for private rows.
pub fn formed<'t>(
    query: Ref<'t, Query>,
    written: Ref<'t, Node>,
    safe: Ref<'t, Node>,
) -> Checked<Formed<'t>> {
    let (kind, modifier) = tree::base_type(tree::type_of(written), tree::modifier_of(written));
    let as_written = tree::modifier_of(written);
    if !Defence::Form.stands() {
        return Ok(Formed {
            node: safe,
            modifier: as_written,
        });
    }
    let equality = equality(kind, tree::collation_of(safe))?;
    let trim = equality == Equality::Trimmed && !(modifier >= 0 && is_padded(query, written));
    let has_scale = [pg_sys::NUMERICOID, pg_sys::BPCHAROID].contains(&kind);
    Ok(Formed {
        node: put_around(safe, kind, trim),
        // What is trimmed is no longer as its modifier says.
        modifier: if trim && has_scale { -1 } else { as_written },
    })
}

/// A value in the one form that equal ones have, where these may look different.
pub fn one_form<'t>(query: Ref<'t, Query>, value: Ref<'t, Node>) -> Ref<'t, Node> {
    let (_, modifier) = tree::base_type(tree::type_of(value), tree::modifier_of(value));
    match modifier >= 0 && is_padded(query, value) {
        true => value,
        false => trimmed(value),
    }
}

/// The same, whatever form the values of its column have: those of another column may have another.
pub fn trimmed<'t>(value: Ref<'t, Node>) -> Ref<'t, Node> {
    let (kind, _) = tree::base_type(tree::type_of(value), -1);
    let equality = equality(kind, tree::collation_of(value));
    match matches!(equality, Ok(Equality::Trimmed)) && Defence::Form.stands() {
        true => put_around(value, kind, true),
        false => value,
    }
}

/// Puts what rows of a query are grouped by, or made distinct by, into one form wherever the query computes it.
pub fn put_keys_in_one_form(query: Ref<Query>) {
    for clause in query
        .groupClause()
        .into_iter()
        .chain(query.distinctClause())
    {
        let target = tree::sort_group_target(clause, query.targetList());
        let key = target.expr().expect("a target has an expression");
        // Columns are put into it wherever they are.
        if key.cast::<pg_sys::Var>().is_none() {
            replace(query, key, one_form(query, key));
        }
    }
}

/// Puts one expression in the place of another, wherever a query has it.
pub fn replace<'t>(query: Ref<'t, Query>, old: Ref<'t, Node>, new: Ref<'t, Node>) {
    if new == old {
        return;
    }
    let old = old.copy();
    let change = |node: Ref<'t, Node>| {
        tree::change(node, &mut |node| match node.cast::<Query>() {
            Some(_) => Some(node),
            None => node.same(old).then(|| new.copy()),
        })
    };
    query.set_targetList(List::of_tree(query.targetList().node().map(change)));
    query.set_havingQual(query.havingQual().map(change));
}

/// Whether equal values of a type are the same bytes, or can be made so.
pub fn can_have_one_form(node: Ref<Node>) -> bool {
    let (kind, _) = tree::base_type(tree::type_of(node), -1);
    equality(kind, tree::collation_of(node)).is_ok()
}

/// Whether equal values of a type are the same bytes.
pub fn has_one_form(kind: Oid, collation: Oid) -> bool {
    matches!(equality(kind, collation), Ok(Equality::Bytes))
}

/// Some value of a type of numbers or times, as text: what a list of keys has for NULL.
pub fn any_number_or_time(kind: Oid) -> Option<&'static str> {
    match kind {
        pg_sys::INT2OID
        | pg_sys::INT4OID
        | pg_sys::INT8OID
        | pg_sys::NUMERICOID
        | pg_sys::FLOAT8OID => Some("0"),
        pg_sys::DATEOID | pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => Some("2000-01-01"),
        _ => None,
    }
}

/// Some value of any type whose values may be listed.
pub fn any_value(kind: Oid) -> Option<&'static str> {
    any_number_or_time(kind).or(match kind {
        pg_sys::BOOLOID => Some("false"),
        pg_sys::TEXTOID | pg_sys::VARCHAROID => Some(""),
        pg_sys::UUIDOID => Some("00000000-0000-0000-0000-000000000000"),
        _ => None,
    })
}

/// Whether a comparison holds for values of a type alone that are the same bytes, where equal values are.
pub fn is_equality(kind: Oid, comparison: Ref<pg_sys::OpExpr>) -> bool {
    comparison.opno() == equality_of(kind) && is_bytewise(comparison.inputcollid())
}

/// The operator by which values of a type are equal.
pub fn equality_of(kind: Oid) -> Oid {
    // SAFETY: a lookup in the catalog; the entry stays for good.
    unsafe { (*pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr }
}

/// Whether texts that are equal by a collation are the same bytes; types without one have none.
pub fn is_bytewise(collation: Oid) -> bool {
    collation == Oid::INVALID || procedure::is_deterministic(collation)
}

/// What the catalog says of a type, and what is known of the others.
fn equality(kind: Oid, collation: Oid) -> Checked<Equality> {
    let is_deterministic = || match is_bytewise(collation) {
        true => Ok(()),
        false => Err(Reason::with_hint(
            "cannot group by text with a nondeterministic collation, as equal values may look different",
            "Group by the bytes, as in GROUP BY name COLLATE \"C\".",
        )),
    };
    match kind {
        pg_sys::NUMERICOID | pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => return Ok(Equality::Trimmed),
        pg_sys::BPCHAROID => return is_deterministic().map(|()| Equality::Trimmed),
        // Some servers call it one whose equal values are the same bytes; 1 day and 24 hours are not.
        pg_sys::INTERVALOID => return Err(several_forms(kind)),
        _ => {}
    }
    // SAFETY: lookups in the catalog; the entry stays for good.
    let image = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_BTREE_OPFAMILY as i32);
        let (family, kind) = ((*entry).btree_opf, (*entry).btree_opintype);
        pg_sys::get_opfamily_proc(family, kind, kind, EQUAL_IMAGE)
    };
    match image.to_u32() {
        pg_sys::F_BTEQUALIMAGE => Ok(Equality::Bytes),
        pg_sys::F_BTVARSTREQUALIMAGE => is_deterministic().map(|()| Equality::Bytes),
        _ => Err(several_forms(kind)),
    }
}

/// Why rows are not grouped by values that are equal and look different.
fn several_forms(kind: Oid) -> Reason {
    // SAFETY: lookups in the catalog, which answer for any number.
    let (name, is_array, class) = unsafe {
        let name = tree::text_of(pg_sys::format_type_be(kind));
        let is_array = pg_sys::get_element_type(kind) != Oid::INVALID;
        (name, is_array, pg_sys::get_typtype(kind) as u8)
    };
    let hint = match (kind, class) {
        (pg_sys::INTERVALOID, _) => {
            "Group by its length in seconds, as in GROUP BY extract(epoch FROM x)."
        }
        _ if is_array => "Group by a condition on it, as in GROUP BY 1 = ANY (x).",
        (_, pg_sys::TYPTYPE_RANGE | pg_sys::TYPTYPE_MULTIRANGE) => {
            "Group by its ends, as in GROUP BY lower(x), upper(x)."
        }
        _ => "Group by numbers, dates, texts or booleans that are made of it.",
    };
    Reason::with_hint(
        format!("cannot group by values of type {name}, as equal values may look different"),
        hint,
    )
}

/// Whether all values of a `numeric` with a modifier, or of a `character`, have as many digits behind the point, or as
/// many blanks: those of a column, or of a cast to such a length.
fn is_padded<'t>(query: Ref<'t, Query>, written: Ref<'t, Node>) -> bool {
    if let Some(column) = written.cast::<pg_sys::Var>() {
        return column.varlevelsup() == 0
            && tree::entry(query, column.varno()).rtekind() == RTEKind::RTE_RELATION;
    }
    let casts = [
        pg_sys::F_NUMERIC_NUMERIC_INT4,
        pg_sys::F_BPCHAR_BPCHAR_INT4_BOOL,
    ];
    let call = written.cast::<pg_sys::FuncExpr>();
    call.is_some_and(|call| casts.contains(&call.funcid().to_u32()))
}

/// A call of `dp_mean.key` around a key whose values have more forms than one.
fn put_around(key: Ref<Node>, kind: Oid, trim: bool) -> Ref<Node> {
    if !canonical_key::has_forms(kind) {
        return key;
    }
    let types = [pg_sys::ANYOID, pg_sys::BOOLOID, pg_sys::INT4OID];
    let function = procedure::internal(c"key", &types);
    let function = function.unwrap_or_else(|| errors::no_function("key").raise());
    let most = match Defence::Size.stands() {
        true => canonical_key::MOST_BYTES,
        false => i32::MAX,
    };
    let memory = key.memory();
    let arguments = [
        key,
        tree::boolean(memory, Some(trim)),
        tree::number(memory, pg_sys::INT4OID, 4, Datum::from(most)),
    ];
    tree::call(
        memory,
        function,
        tree::type_of(key),
        tree::collation_of(key),
        arguments,
    )
}

/// Whether groups can be put into the order of values of a type, without a look at anything but the values.
pub fn has_order(kind: Oid) -> bool {
    // SAFETY: a lookup in the catalog; the entry stays for good.
    let less = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_LT_OPR as i32);
        (*entry).lt_opr
    };
    less != Oid::INVALID && expression::is_total_operator(less)
}
