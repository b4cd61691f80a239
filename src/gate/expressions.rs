//! Expressions over the columns of a table whose bounds an owner has declared. They are never computed: an expression
//! of a query that is equal to one takes its bounds, to which the aggregate clamps.
//!
//! A label has an expression as SQL in which columns are `$1`, `$2`: the numbers that their own labels have, so that it
//! stays the same where a column is renamed. It is read in the session that asks, with PostgreSQL's own functions alone
//! and with the same settings everywhere. What is no longer an expression, since a column is gone or of another type, is
//! left out.

use std::ffi::{CStr, CString};

use pgrx::PgRelation;
use pgrx::pg_sys::{self, Node, NodeTag, Oid, ParamRef, ParseState};

use crate::gate::defence::Defence;
use crate::gate::expression;
use crate::pg::attempt::attempt;
use crate::pg::execution::Settings;
use crate::pg::sql_type;
use crate::pg::tree::{self, Memory, Ref};
use crate::pg::tree_text;

/// An expression over the columns of the first table of a query, and its bounds.
pub struct Declared {
    tree: Vec<u8>,
    pub bounds: (f64, f64),
}

/// A column of the table, as a reference to it has it.
#[derive(Clone, Copy)]
pub struct Column {
    /// By which expressions name it; 0: none does.
    pub name: u32,
    pub number: i16,
    pub kind: Oid,
    pub modifier: i32,
    pub collation: Oid,
}

/// What decides how a text is read or written.
const SETTINGS: [(&CStr, &CStr); 5] = [
    (c"search_path", c"pg_catalog"),
    (c"DateStyle", c"ISO, YMD"),
    (c"IntervalStyle", c"postgres"),
    (c"TimeZone", c"UTC"),
    (c"transform_null_equals", c"off"),
];

impl Declared {
    /// That of a label; `None` if it is no expression of this table now.
    pub fn read(columns: &[Column], sql: &str, bounds: (f64, f64)) -> Option<Self> {
        attempt(|| {
            // SAFETY: the memory of the call that asks for the policy; the tree is kept as a text.
            let memory = unsafe { Memory::of_call() };
            let tree = numbered(memory, columns, sql)?;
            let tree = tree_text::write(tree);
            Some(Self { tree, bounds })
        })
        .flatten()
    }

    /// Whether a label's is one of this table now.
    pub fn holds(columns: &[Column], sql: &str) -> bool {
        Self::read(columns, sql, (0.0, 1.0)).is_some()
    }

    /// The expression, over an entry of a query.
    pub fn tree<'t>(&self, memory: Memory<'t>, index: i32) -> Option<Ref<'t, Node>> {
        let tree = tree_text::read(memory, &self.tree)?;
        tree::each_column(tree, &mut |column| column.set_varno(index));
        Some(tree)
    }
}

/// An expression as an owner writes it: the columns that it names, and what makes the SQL of a label of it, once these
/// have numbers. `None` if it is none.
pub fn columns_of(table: &PgRelation, text: &str) -> Option<Vec<i16>> {
    attempt(|| {
        // SAFETY: the memory of the call of a function, which ends after this.
        let tree = named(unsafe { Memory::of_call() }, table, text)?;
        checked(tree)?;
        let mut columns = Vec::new();
        tree::each_column(tree, &mut |column| columns.push(column.varattno()));
        columns.sort_unstable();
        columns.dedup();
        Some(columns)
    })
    .flatten()
}

/// The SQL of a label; `None` if it would be read as another expression.
pub fn sql_of(table: &PgRelation, columns: &[Column], text: &str) -> Option<String> {
    attempt(|| {
        // SAFETY: the same.
        let memory = unsafe { Memory::of_call() };
        let tree = named(memory, table, text)?;
        let settings = Settings::begin();
        for (name, value) in SETTINGS {
            settings.set(name, value);
        }
        let with_numbers = tree::change(tree, &mut |node| {
            let column = node.cast::<pg_sys::Var>()?;
            let known = columns
                .iter()
                .find(|known| known.number == column.varattno());
            let parameter = memory.make::<pg_sys::Param>();
            parameter.set_paramid(i32::try_from(known?.name).ok()?);
            parameter.set_paramkind(pg_sys::ParamKind::PARAM_EXTERN);
            parameter.set_paramtype(tree::type_of(node));
            parameter.set_paramtypmod(-1);
            Some(parameter.node())
        });
        // SAFETY: an expression without columns; what comes back is a string.
        let sql = unsafe {
            let pointer = with_numbers.pointer();
            tree::text_of(pg_sys::deparse_expression(
                pointer,
                std::ptr::null_mut(),
                false,
                false,
            ))
        };
        drop(settings);
        let again = numbered(memory, columns, &sql)?;
        again.same(checked(tree)?).then_some(sql)
    })
    .flatten()
}

/// The numbers by which the SQL of a label names columns, each with what goes before it; and what is behind the last.
fn parts(sql: &str) -> (Vec<(String, u32)>, String) {
    let (mut found, mut before) = (Vec::new(), String::new());
    let mut pieces = sql.split('$');
    before.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(piece.len());
        let (digits, rest) = piece.split_at(end);
        match digits.parse() {
            Ok(number) => found.push((std::mem::take(&mut before), number)),
            Err(_) => before.push('$'),
        }
        before.push_str(rest);
    }
    (found, before)
}

/// The largest number by which the SQL of a label names a column.
pub fn largest_name(sql: &str) -> u32 {
    let (parts, _) = parts(sql);
    parts.into_iter().map(|(_, name)| name).max().unwrap_or(0)
}

/// The SQL of a label as an owner reads it, with the names of columns that are there.
pub fn with_names(table: &PgRelation, columns: &[Column], sql: &str) -> String {
    let named = |name: u32| {
        let mut columns = columns.iter();
        let column = columns.find(|column| column.name > 0 && column.name == name)?;
        // SAFETY: a lookup in the catalog; NULL if it is gone.
        let name = unsafe { pg_sys::get_attname(table.oid(), column.number, true) };
        // SAFETY: a string, or NULL.
        (!name.is_null()).then(|| unsafe { tree::text_of(name) })
    };
    let (parts, end) = parts(sql);
    let parts = parts.into_iter().map(|(before, name)| {
        before + &named(name).unwrap_or_else(|| "(dropped column)".to_owned())
    });
    parts.collect::<String>() + &end
}

/// An expression in which columns have their names.
fn named<'t>(memory: Memory<'t>, table: &PgRelation, text: &str) -> Option<Ref<'t, Node>> {
    analyse(memory, text, &mut |state| {
        let lock = pg_sys::AccessShareLock as i32;
        // SAFETY: a table that is open and locked becomes the first entry of a new query, found by its columns' names.
        unsafe {
            let null = std::ptr::null_mut();
            let entry = pg_sys::addRangeTableEntryForRelation(
                state,
                table.as_ptr(),
                lock,
                null,
                true,
                true,
            );
            pg_sys::addNSItemToQuery(state, entry, false, true, true);
        }
    })
}

/// An expression in which columns have their numbers, as it is compared.
fn numbered<'t>(memory: Memory<'t>, columns: &[Column], sql: &str) -> Option<Ref<'t, Node>> {
    let mut state_of_hook = columns;
    let context = (&raw mut state_of_hook).cast();
    let tree = analyse(memory, sql, &mut |state| {
        // SAFETY: a new record; what it points to lives until the text is read.
        unsafe {
            (*state).p_paramref_hook = Some(column_of);
            (*state).p_ref_hook_state = context;
        }
    })?;
    checked(tree)
}

/// The column that `$1` or its like names.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn column_of(
    state: *mut ParseState,
    reference: *mut ParamRef,
) -> *mut Node {
    // SAFETY: the state that `numbered` has set, and a reference that the parser has read.
    unsafe {
        let columns: &[Column] = *(*state).p_ref_hook_state.cast::<&[Column]>();
        let name = (*reference).number;
        let found = columns
            .iter()
            .find(|column| column.name > 0 && i64::from(column.name) == i64::from(name));
        match found {
            Some(column) => pg_sys::makeVar(
                1,
                column.number,
                column.kind,
                column.modifier,
                column.collation,
                0,
            )
            .cast(),
            None => std::ptr::null_mut(),
        }
    }
}

/// The tree of the text of one expression; `None` if it is something else. What PostgreSQL refuses is an ERROR.
fn analyse<'t>(
    _: Memory<'t>,
    text: &str,
    prepare: &mut dyn FnMut(*mut ParseState),
) -> Option<Ref<'t, Node>> {
    let settings = Settings::begin();
    for (name, value) in SETTINGS {
        settings.set(name, value);
    }
    let sql = CString::new(format!("SELECT {text}")).ok()?;
    // SAFETY: PostgreSQL parses a string, whose copy lives as long as the tree; each cast follows a look at the tag.
    unsafe {
        let sql = pg_sys::pstrdup(sql.as_ptr());
        let raw = pg_sys::raw_parser(sql, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        let statements: Vec<_> = crate::pg::nodes::elements::<pg_sys::RawStmt>(raw).collect();
        let [statement] = statements[..] else {
            return None;
        };
        let select = (*statement).stmt.cast::<pg_sys::SelectStmt>();
        if (*select).type_ != NodeTag::T_SelectStmt {
            return None;
        }
        // It has one target, and nothing else that a SELECT may have.
        let plain = pg_sys::palloc0(size_of::<pg_sys::SelectStmt>()).cast::<pg_sys::SelectStmt>();
        (*plain).type_ = NodeTag::T_SelectStmt;
        (*plain).targetList = (*select).targetList;
        if !pg_sys::equal(plain.cast(), select.cast()) {
            return None;
        }
        let targets: Vec<_> =
            crate::pg::nodes::elements::<pg_sys::ResTarget>((*select).targetList).collect();
        let [target] = targets[..] else {
            return None;
        };
        if !(*target).name.is_null() {
            return None;
        }
        let state = pg_sys::make_parsestate(std::ptr::null_mut());
        prepare(state);
        // As in a constraint, without sub-queries, aggregates and sets.
        let kind = pg_sys::ParseExprKind::EXPR_KIND_CHECK_CONSTRAINT;
        let tree = pg_sys::transformExpr(state, (*target).val, kind);
        pg_sys::assign_expr_collations(state, tree);
        pg_sys::free_parsestate(state);
        drop(settings);
        Ref::of(tree)
    }
}

/// An expression as it is compared, if it is one of numbers that may be used on rows, and always answers the same.
/// Nothing of it is computed before that is known.
fn checked(tree: Ref<Node>) -> Option<Ref<Node>> {
    let has_columns = tree::any(tree, |node| node.tag() == NodeTag::T_Var);
    let is_one = has_columns
        && sql_type::is_number(tree::type_of(tree))
        && (expression::is_total(tree) || !Defence::Declared.stands())
        && !tree::is_mutable(tree);
    is_one.then(|| tree::fold(None, tree.copy()))
}
