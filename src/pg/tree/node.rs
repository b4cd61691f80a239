//! Nodes and lists of nodes.
//!
//! A [`Ref`] never becomes a reference to a node: fields are read and set one at a time, by value, so two copies of a
//! `Ref` may change the same node. What is read is of the type that the field has in PostgreSQL, and only such values
//! can be set, so every `Ref` and [`List`] that comes out of a node is sound as long as the node is.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use pgrx::pg_sys::{self, Node, NodeTag, Oid};

use crate::pg::nodes;

/// For how long nodes live. Nothing of a shorter life can be put into a node, and nothing in it is taken for longer.
type Life<'t> = PhantomData<fn(&'t ()) -> &'t ()>;

/// A node, or another struct of PostgreSQL's that lives as long as nodes do.
pub struct Ref<'t, T>(NonNull<T>, Life<'t>);

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

impl<T> PartialEq for Ref<'_, T> {
    /// Whether they are the same node.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{:p}", self.0)
    }
}

/// A struct that starts with its tag.
///
/// # Safety
/// Its first field is a `NodeTag`, or a struct that starts with one.
pub unsafe trait Tagged {}

/// A struct of one kind of node.
///
/// # Safety
/// A node has this tag only if it is this struct, and zero is a value of each of its fields.
pub unsafe trait Kind: Tagged {
    const TAG: NodeTag;
}

// SAFETY: PostgreSQL's structs of nodes.
unsafe impl Tagged for Node {}
// SAFETY: the same.
unsafe impl Tagged for pg_sys::OpExpr {}
// SAFETY: the same.
unsafe impl Tagged for pg_sys::Plan {}
// SAFETY: the same.
unsafe impl Tagged for pg_sys::PlanState {}

macro_rules! kinds {
    ($($name:ident $tag:ident),* $(,)?) => {
        $(
            // SAFETY: a struct of PostgreSQL's, and its tag.
            unsafe impl Tagged for pg_sys::$name {}
            // SAFETY: the same.
            unsafe impl Kind for pg_sys::$name {
                const TAG: NodeTag = NodeTag::$tag;
            }
        )*
    };
}

kinds! {
    Agg T_Agg, AggState T_AggState, Aggref T_Aggref, Alias T_Alias, ArrayCoerceExpr T_ArrayCoerceExpr,
    ArrayExpr T_ArrayExpr, BoolExpr T_BoolExpr, BooleanTest T_BooleanTest, CaseExpr T_CaseExpr, CaseWhen T_CaseWhen,
    CoalesceExpr T_CoalesceExpr, CoerceViaIO T_CoerceViaIO, CommonTableExpr T_CommonTableExpr, Const T_Const,
    CopyStmt T_CopyStmt, CteScan T_CteScan, CteScanState T_CteScanState, EState T_EState, FieldSelect T_FieldSelect,
    FromExpr T_FromExpr, FuncExpr T_FuncExpr, GroupingFunc T_GroupingFunc, GroupingSet T_GroupingSet,
    JoinExpr T_JoinExpr, MinMaxExpr T_MinMaxExpr, NullTest T_NullTest, Param T_Param,
    PlanInvalItem T_PlanInvalItem, PlannedStmt T_PlannedStmt, PlannerGlobal T_PlannerGlobal,
    PlannerInfo T_PlannerInfo, Query T_Query, RangeTblEntry T_RangeTblEntry, RangeTblFunction T_RangeTblFunction,
    RangeTblRef T_RangeTblRef, RawStmt T_RawStmt, RelabelType T_RelabelType, RowCompareExpr T_RowCompareExpr,
    ScalarArrayOpExpr T_ScalarArrayOpExpr, SetOperationStmt T_SetOperationStmt, SortGroupClause T_SortGroupClause,
    SQLValueFunction T_SQLValueFunction, String T_String, SubLink T_SubLink, TargetEntry T_TargetEntry, Var T_Var,
    WindowClause T_WindowClause, WindowFunc T_WindowFunc,
}

#[cfg(not(feature = "pg15"))]
kinds! {
    RTEPermissionInfo T_RTEPermissionInfo,
}

impl<'t, T> Ref<'t, T> {
    /// The node at a pointer; `None` for NULL.
    ///
    /// # Safety
    /// The pointer is a field of a node, what a hook was called with, or what a function of PostgreSQL returned. The node
    /// lives as long as the `Ref`, and the current memory context does: what is made beside it lives as long.
    pub unsafe fn of(pointer: *mut T) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self(pointer, PhantomData))
    }

    pub fn pointer(self) -> *mut T {
        self.0.as_ptr()
    }

    /// Memory that lives as long as the node.
    pub fn memory(self) -> Memory<'t> {
        Memory(PhantomData)
    }

    /// The same, as the struct that it starts with.
    ///
    /// # Safety
    /// It starts with this struct.
    pub(super) unsafe fn prefix<U>(self) -> Ref<'t, U> {
        Ref(self.0.cast(), PhantomData)
    }
}

impl<'t, T: Tagged> Ref<'t, T> {
    pub fn node(self) -> Ref<'t, Node> {
        Ref(self.0.cast(), PhantomData)
    }

    pub fn tag(self) -> NodeTag {
        // SAFETY: a node that lives, and starts with its tag.
        unsafe { (*self.node().pointer()).type_ }
    }

    /// The same node, if it is of this kind.
    pub fn cast<U: Kind>(self) -> Option<Ref<'t, U>> {
        (self.tag() == U::TAG).then(|| Ref(self.0.cast(), PhantomData))
    }

    /// The same node as an operator with its arguments: of three kinds that share a struct.
    pub fn operator(self) -> Option<Ref<'t, pg_sys::OpExpr>> {
        let is = matches!(
            self.tag(),
            NodeTag::T_OpExpr | NodeTag::T_DistinctExpr | NodeTag::T_NullIfExpr
        );
        is.then(|| Ref(self.0.cast(), PhantomData))
    }

    /// The same node, if it is a list of nodes.
    pub fn list(self) -> Option<List<'t, Node>> {
        (self.tag() == NodeTag::T_List)
            .then(|| List(self.0.cast().as_ptr(), PhantomData, PhantomData))
    }

    /// A copy, with all below it.
    pub fn copy(self) -> Self {
        pgrx::check_for_interrupts!();
        // SAFETY: a node that lives; what comes back is one of the same kind.
        let copy = unsafe { pg_sys::copyObjectImpl(self.pointer().cast()) };
        Self(
            NonNull::new(copy.cast()).expect("a copy of a node"),
            PhantomData,
        )
    }

    /// Whether both trees say the same.
    pub fn same(self, other: Self) -> bool {
        pgrx::check_for_interrupts!();
        // SAFETY: two nodes that live.
        unsafe { pg_sys::equal(self.pointer().cast(), other.pointer().cast()) }
    }
}

impl<'t, T: Kind> Ref<'t, T> {
    /// Puts what another node says in the place of what this one says.
    pub fn overwrite(self, other: Self) {
        // SAFETY: two nodes of one kind that live, which may be the same.
        unsafe { std::ptr::copy(other.pointer(), self.pointer(), 1) }
    }
}

/// A list of nodes, or with `T` an `Oid` or `i32` of these. NULL is the empty list.
#[repr(transparent)]
pub struct List<'t, T>(*mut pg_sys::List, Life<'t>, PhantomData<T>);

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<'t, T> List<'t, T> {
    pub const EMPTY: Self = Self(std::ptr::null_mut(), PhantomData, PhantomData);

    /// The list at a pointer.
    ///
    /// # Safety
    /// As for [`Ref::of`]; its elements are of this type.
    pub unsafe fn of(pointer: *mut pg_sys::List) -> Self {
        Self(pointer, PhantomData, PhantomData)
    }

    pub fn pointer(self) -> *mut pg_sys::List {
        self.0
    }

    pub fn is_empty(self) -> bool {
        self.0.is_null()
    }

    /// The list as a node; `None` if it is empty.
    pub fn node(self) -> Option<Ref<'t, Node>> {
        NonNull::new(self.0.cast()).map(|pointer| Ref(pointer, PhantomData))
    }

    /// A list of both: the first one goes over into it.
    pub fn concat(self, other: Self) -> Self {
        // SAFETY: two lists with elements of one type.
        unsafe { Self::of(pg_sys::list_concat(self.0, other.0)) }
    }
}

impl<'t, T: Tagged> List<'t, T> {
    /// The list with a node behind the others.
    pub fn append(self, node: Ref<'t, T>) -> Self {
        // SAFETY: a list of pointers.
        unsafe { Self::of(pg_sys::lappend(self.0, node.pointer().cast())) }
    }

    /// The nodes.
    pub fn nodes(self) -> Vec<Ref<'t, T>> {
        // SAFETY: a list of nodes that lives.
        unsafe { nodes::elements::<T>(self.0) }
            .filter_map(NonNull::new)
            .map(|pointer| Ref(pointer, PhantomData))
            .collect()
    }

    /// The same list of nodes of whatever kind.
    pub fn any_kind(self) -> List<'t, Node> {
        List(self.0, PhantomData, PhantomData)
    }
}

impl<'t, T: Kind> List<'t, T> {
    /// The list that a tree is, or the empty one if there is none. All of its elements must be of this kind.
    pub fn of_tree(tree: Option<Ref<'t, Node>>) -> Self {
        let Some(tree) = tree else {
            return Self::EMPTY;
        };
        let list = tree.list().expect("a list");
        let all = list.nodes().iter().all(|node| node.tag() == T::TAG);
        assert!(all, "a list of nodes of one kind");
        Self(list.0, PhantomData, PhantomData)
    }
}

impl<'t, T: Tagged> IntoIterator for List<'t, T> {
    type Item = Ref<'t, T>;
    type IntoIter = std::vec::IntoIter<Ref<'t, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.nodes().into_iter()
    }
}

impl<'t, T: Tagged> FromIterator<Ref<'t, T>> for List<'t, T> {
    fn from_iter<I: IntoIterator<Item = Ref<'t, T>>>(nodes: I) -> Self {
        nodes.into_iter().fold(Self::EMPTY, Self::append)
    }
}

impl List<'_, i32> {
    /// The numbers.
    pub fn numbers(self) -> Vec<i32> {
        // SAFETY: a list of integers that lives.
        unsafe { nodes::integers(self.0) }
    }
}

impl List<'_, Oid> {
    /// The numbers.
    pub fn oids(self) -> Vec<Oid> {
        // SAFETY: a list of numbers that lives.
        unsafe { nodes::oids(self.0) }
    }
}

/// A list of these nodes.
pub fn list_of<'t, T: Tagged>(nodes: impl IntoIterator<Item = Ref<'t, T>>) -> List<'t, T> {
    nodes.into_iter().collect()
}

/// The memory of a call, in which nodes are made.
pub struct Memory<'t>(Life<'t>);

impl Clone for Memory<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for Memory<'_> {}

impl<'t> Memory<'t> {
    /// The memory of this call.
    ///
    /// # Safety
    /// Its life is no longer than that of the current memory context.
    pub unsafe fn of_call() -> Self {
        Self(PhantomData)
    }

    /// A new node of this kind, all of it zero.
    pub fn make<T: Kind>(self) -> Ref<'t, T> {
        // SAFETY: a struct that starts with its tag; zero is a value of each of its fields, as for makeNode().
        unsafe {
            let node = pg_sys::palloc0(size_of::<T>()).cast::<T>();
            (*node.cast::<Node>()).type_ = T::TAG;
            Ref(
                NonNull::new(node).expect("palloc returns memory"),
                PhantomData,
            )
        }
    }

    /// A list of OIDs.
    pub fn oids(self, values: &[Oid]) -> List<'t, Oid> {
        let mut list = List::EMPTY;
        for value in values {
            // SAFETY: a list of OIDs.
            list.0 = unsafe { pg_sys::lappend_oid(list.0, *value) };
        }
        list
    }

    /// A list of integers.
    pub fn integers(self, values: &[i32]) -> List<'t, i32> {
        let mut list = List::EMPTY;
        for value in values {
            // SAFETY: a list of integers.
            list.0 = unsafe { pg_sys::lappend_int(list.0, *value) };
        }
        list
    }

    /// A list of strings.
    pub fn strings<'a>(
        self,
        values: impl IntoIterator<Item = &'a str>,
    ) -> List<'t, pg_sys::String> {
        let mut list = List::EMPTY;
        for value in values {
            // SAFETY: a string that was copied into the memory of this call.
            list.0 = unsafe { pg_sys::lappend(list.0, pg_sys::makeString(string(value)).cast()) };
        }
        list
    }
}

/// A copy of a string, in the memory of the call.
pub fn string(text: &str) -> *mut c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: it ends with a zero.
    unsafe { pg_sys::pstrdup(text.as_ptr()) }
}

/// The text of a string; empty for NULL.
///
/// # Safety
/// NULL, or a string that lives and ends with a zero.
pub unsafe fn text_of(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees it.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}
