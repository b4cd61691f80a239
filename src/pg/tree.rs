//! Query trees, as a hook of the planner sees them: nodes, lists, and walks over them.
//!
//! A [`Ref`] is a node of a tree that PostgreSQL handed to a hook, or that was made in the memory of that
//! call. Such nodes live until the hook returns, and nothing that holds a `Ref` outlives it. One process plans
//! one query at a time, so nobody else reads or writes them meanwhile. That is what makes the safe functions
//! here sound, and why a `Ref` is made of nothing but fields of nodes and what PostgreSQL's own functions return.

use std::any::Any;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_void};
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, List, Node, NodeTag, Oid, PlanState, Query};

/// A node.
pub struct Ref<T>(NonNull<T>);

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<T> {}

impl<T> PartialEq for Ref<T> {
    /// Whether they are the same node.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: a node that lives: see the head of this file.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Ref<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the same; no other reference is held while a field is set.
        unsafe { self.0.as_mut() }
    }
}

/// A struct of one kind of node.
pub trait Kind {
    const TAG: NodeTag;
}

macro_rules! kinds {
    ($($name:ident $tag:ident),* $(,)?) => {
        $(impl Kind for pg_sys::$name {
            const TAG: NodeTag = NodeTag::$tag;
        })*
    };
}

kinds! {
    Agg T_Agg, AggState T_AggState, Aggref T_Aggref, Alias T_Alias, ArrayCoerceExpr T_ArrayCoerceExpr,
    ArrayExpr T_ArrayExpr, BoolExpr T_BoolExpr, BooleanTest T_BooleanTest, CoalesceExpr T_CoalesceExpr, CaseExpr T_CaseExpr, CaseWhen T_CaseWhen, CoerceViaIO T_CoerceViaIO,
    CommonTableExpr T_CommonTableExpr, Const T_Const, CteScan T_CteScan, CteScanState T_CteScanState, FieldSelect T_FieldSelect, FromExpr T_FromExpr,
    FuncExpr T_FuncExpr, GroupingFunc T_GroupingFunc, GroupingSet T_GroupingSet, JoinExpr T_JoinExpr,
    MinMaxExpr T_MinMaxExpr, NullTest T_NullTest, Param T_Param, PlannerGlobal T_PlannerGlobal,
    PlannerInfo T_PlannerInfo, Query T_Query, RangeTblEntry T_RangeTblEntry, RangeTblFunction T_RangeTblFunction,
    RangeTblRef T_RangeTblRef, RelabelType T_RelabelType, ScalarArrayOpExpr T_ScalarArrayOpExpr,
    SQLValueFunction T_SQLValueFunction, SortGroupClause T_SortGroupClause, SubLink T_SubLink, TargetEntry T_TargetEntry, Var T_Var, WindowFunc T_WindowFunc,
}

impl<T> Ref<T> {
    /// The node at a pointer; `None` for NULL. The pointer is a field of a node, or what a function of PostgreSQL
    /// returned.
    pub fn of(pointer: *mut T) -> Option<Self> {
        NonNull::new(pointer).map(Self)
    }

    pub fn pointer(self) -> *mut T {
        self.0.as_ptr()
    }

    pub fn node(self) -> Ref<Node> {
        Ref(self.0.cast())
    }

    pub fn tag(self) -> NodeTag {
        self.node().type_
    }

    /// The same node, if it is of this kind.
    pub fn cast<U: Kind>(self) -> Option<Ref<U>> {
        (self.tag() == U::TAG).then(|| Ref(self.0.cast()))
    }

    /// The same node as an operator with its arguments: of three kinds that share a struct.
    pub fn operator(self) -> Option<Ref<pg_sys::OpExpr>> {
        let is = matches!(
            self.tag(),
            NodeTag::T_OpExpr | NodeTag::T_DistinctExpr | NodeTag::T_NullIfExpr
        );
        is.then(|| Ref(self.0.cast()))
    }

    /// A copy, with all below it.
    pub fn copy(self) -> Self {
        pgrx::check_for_interrupts!();
        // SAFETY: a node that lives; what comes back is one of the same kind.
        let copy = unsafe { pg_sys::copyObjectImpl(self.pointer().cast()) };
        Self(NonNull::new(copy.cast()).expect("a copy of a node"))
    }

    /// Whether both trees say the same.
    pub fn same(self, other: Self) -> bool {
        pgrx::check_for_interrupts!();
        // SAFETY: two nodes that live.
        unsafe { pg_sys::equal(self.pointer().cast(), other.pointer().cast()) }
    }
}

/// A new node of this kind, all of it zero.
pub fn make<T: Kind>() -> Ref<T> {
    // SAFETY: a struct that starts with its tag; zero is a value of each of its fields, as for makeNode().
    unsafe {
        let node = pg_sys::palloc0(size_of::<T>()).cast::<T>();
        (*node.cast::<Node>()).type_ = T::TAG;
        Ref(NonNull::new(node).expect("palloc returns memory"))
    }
}

/// The nodes of a list.
pub fn list<T>(list: *mut List) -> Vec<Ref<T>> {
    // SAFETY: a list of nodes of a tree that lives, or NULL; none of its elements is NULL.
    unsafe { crate::pg::nodes::elements::<T>(list) }
        .filter_map(Ref::of)
        .collect()
}

/// A list of these nodes.
pub fn list_of<T>(nodes: impl IntoIterator<Item = Ref<T>>) -> *mut List {
    let mut list = std::ptr::null_mut();
    for node in nodes {
        list = append(list, node);
    }
    list
}

/// The list with a node behind the others.
pub fn append<T>(list: *mut List, node: Ref<T>) -> *mut List {
    // SAFETY: a list of pointers, or NULL.
    unsafe { pg_sys::lappend(list, node.pointer().cast()) }
}

/// A list of both: the first one goes over into it.
pub fn concat(first: *mut List, second: *mut List) -> *mut List {
    // SAFETY: two lists of pointers, or NULL.
    unsafe { pg_sys::list_concat(first, second) }
}

/// A list of OIDs.
pub fn oids(values: &[Oid]) -> *mut List {
    let mut list = std::ptr::null_mut();
    for value in values {
        // SAFETY: a list of OIDs, or NULL.
        list = unsafe { pg_sys::lappend_oid(list, *value) };
    }
    list
}

/// A list of integers.
pub fn integers(values: &[i32]) -> *mut List {
    let mut list = std::ptr::null_mut();
    for value in values {
        // SAFETY: a list of integers, or NULL.
        list = unsafe { pg_sys::lappend_int(list, *value) };
    }
    list
}

/// A list of strings.
pub fn strings<'a>(values: impl IntoIterator<Item = &'a str>) -> *mut List {
    let mut list = std::ptr::null_mut();
    for value in values {
        // SAFETY: a string that was copied into the memory of this call.
        list = unsafe { pg_sys::lappend(list, pg_sys::makeString(string(value)).cast()) };
    }
    list
}

/// A copy of a string, in the memory of the call.
pub fn string(text: &str) -> *mut std::ffi::c_char {
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: it ends with a zero.
    unsafe { pg_sys::pstrdup(text.as_ptr()) }
}

/// The text of a string of a node; empty for NULL.
pub fn text_of(string: *const std::ffi::c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: a field of a node that lives, which ends with a zero.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}

/// The type of an expression.
pub fn type_of(node: Ref<Node>) -> Oid {
    // SAFETY: an expression that lives.
    unsafe { pg_sys::exprType(node.pointer()) }
}

/// The type modifier of an expression.
pub fn modifier_of(node: Ref<Node>) -> i32 {
    // SAFETY: the same.
    unsafe { pg_sys::exprTypmod(node.pointer()) }
}

/// The type that a domain is made of, with its modifier; of another type itself.
pub fn base_type(kind: Oid, mut modifier: i32) -> (Oid, i32) {
    // SAFETY: a lookup in the catalog.
    let kind = unsafe { pg_sys::getBaseTypeAndTypmod(kind, &raw mut modifier) };
    (kind, modifier)
}

/// The collation of an expression.
pub fn collation_of(node: Ref<Node>) -> Oid {
    // SAFETY: the same.
    unsafe { pg_sys::exprCollation(node.pointer()) }
}

/// A reference to a column.
pub fn var(relation: i32, column: i16, kind: Oid, modifier: i32, collation: Oid) -> Ref<Node> {
    // SAFETY: it makes a node of plain numbers.
    let var = unsafe { pg_sys::makeVar(relation, column, kind, modifier, collation, 0) };
    Ref::of(var).expect("a node").node()
}

/// A NULL of a type.
pub fn null(kind: Oid, modifier: i32, collation: Oid) -> Ref<Node> {
    // SAFETY: it makes a node of plain numbers.
    let null = unsafe { pg_sys::makeNullConst(kind, modifier, collation) };
    Ref::of(null).expect("a node").node()
}

/// A column of a SELECT, from 1.
pub fn target(value: Ref<Node>, number: i16, name: &str) -> Ref<pg_sys::TargetEntry> {
    // SAFETY: it makes a node of an expression, a number and a name.
    let target =
        unsafe { pg_sys::makeTargetEntry(value.pointer().cast(), number, string(name), false) };
    Ref::of(target).expect("a node")
}

/// TRUE or FALSE, or a NULL of type boolean.
pub fn boolean(value: Option<bool>) -> Ref<Node> {
    // SAFETY: it makes a node.
    let node = unsafe { pg_sys::makeBoolConst(value.unwrap_or(false), value.is_none()) };
    Ref::of(node).expect("a node")
}

/// A constant of a type of numbers that is passed by value, of that many bytes.
pub fn number(kind: Oid, length: i32, value: pg_sys::Datum) -> Ref<Node> {
    // SAFETY: it makes a node of a number.
    let constant = unsafe { pg_sys::makeConst(kind, -1, Oid::INVALID, length, value, false, true) };
    Ref::of(constant).expect("a node").node()
}

/// A call of a function, with a collation where its answer has one.
pub fn call(
    function: Oid,
    kind: Oid,
    collation: Oid,
    arguments: impl IntoIterator<Item = Ref<Node>>,
) -> Ref<Node> {
    // SAFETY: it makes a node.
    let call = unsafe {
        pg_sys::makeFuncExpr(
            function,
            kind,
            list_of(arguments),
            collation,
            collation,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        )
    };
    Ref::of(call).expect("a node").node()
}

/// An expression cast to another type, explicitly; `None` if there is no such cast.
pub fn cast(node: Ref<Node>, to: Oid) -> Option<Ref<Node>> {
    // SAFETY: an expression that lives; without a ParseState, errors have no position.
    let node = unsafe {
        pg_sys::coerce_to_target_type(
            std::ptr::null_mut(),
            node.pointer(),
            type_of(node),
            to,
            -1,
            pg_sys::CoercionContext::COERCION_EXPLICIT,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CAST,
            -1,
        )
    };
    Ref::of(node)
}

/// The expression with its constants computed.
pub fn fold(root: *mut pg_sys::PlannerInfo, node: Ref<Node>) -> Ref<Node> {
    // SAFETY: an expression that lives; a NULL root is allowed, as is one with nothing but parameters.
    let node = unsafe { pg_sys::eval_const_expressions(root, node.pointer()) };
    Ref::of(node).expect("an expression")
}

/// A constant of an expression: its value, `None` for NULL.
pub fn constant(node: Ref<Node>) -> Option<Option<pg_sys::Datum>> {
    let constant = node.cast::<pg_sys::Const>()?;
    Some((!constant.constisnull).then_some(constant.constvalue))
}

type Walker = unsafe extern "C-unwind" fn(*mut Node, *mut c_void) -> bool;
type Mutator = unsafe extern "C-unwind" fn(*mut Node, *mut c_void) -> *mut Node;
type StateWalker = unsafe extern "C-unwind" fn(*mut PlanState, *mut c_void) -> bool;

// pgrx binds some of these with a callback of another type, and some not at all. Each call passes the FFI boundary
// by `pg_guard_ffi_boundary`.
unsafe extern "C-unwind" {
    #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_walker_impl")]
    fn expression_tree_walker(node: *mut Node, walker: Walker, context: *mut c_void) -> bool;
    #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_mutator_impl")]
    fn expression_tree_mutator(
        node: *mut Node,
        mutator: Mutator,
        context: *mut c_void,
    ) -> *mut Node;
    #[cfg_attr(not(feature = "pg15"), link_name = "query_tree_walker_impl")]
    fn query_tree_walker(
        query: *mut Query,
        walker: Walker,
        context: *mut c_void,
        flags: i32,
    ) -> bool;
    #[cfg_attr(not(feature = "pg15"), link_name = "query_tree_mutator_impl")]
    fn query_tree_mutator(
        query: *mut Query,
        mutator: Mutator,
        context: *mut c_void,
        flags: i32,
    ) -> *mut Query;
    #[cfg_attr(not(feature = "pg15"), link_name = "planstate_tree_walker_impl")]
    fn planstate_tree_walker(
        state: *mut PlanState,
        walker: StateWalker,
        context: *mut c_void,
    ) -> bool;
    #[link_name = "pull_up_subqueries"]
    fn server_pull_up_subqueries(root: *mut pg_sys::PlannerInfo);
    #[link_name = "has_subclass"]
    fn server_has_subclass(relation: Oid) -> bool;
    #[link_name = "expand_grouping_sets"]
    fn server_expand_grouping_sets(sets: *mut List, distinct: bool, limit: i32) -> *mut List;
    fn setup_parse_fixed_parameters(state: *mut pg_sys::ParseState, types: *const Oid, count: i32);
}

/// How a search goes on from a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To what is below it.
    Below,
    /// Past what is below it.
    Past,
    /// It ends.
    Stop,
}

/// Keeps a node of a walk. Not guarded: it raises nothing, and nothing unwinds out of it.
unsafe extern "C-unwind" fn keep_node<T>(node: *mut T, context: *mut c_void) -> bool {
    // SAFETY: the context is the vector that `below` or `states` passed, which nobody else uses meanwhile.
    let found = unsafe { &mut *context.cast::<Vec<Ref<T>>>() };
    found.extend(Ref::of(node));
    false
}

/// Adds the nodes right below a node of an expression, or of a query. PostgreSQL's walker is called for one level at a
/// time, so no ERROR passes more than one guard, however deep a tree is.
fn below(node: Ref<Node>, found: &mut Vec<Ref<Node>>) {
    match node.tag() {
        // What most of a tree consists of has nothing below it.
        NodeTag::T_Var
        | NodeTag::T_Const
        | NodeTag::T_Param
        | NodeTag::T_CaseTestExpr
        | NodeTag::T_RangeTblRef
        | NodeTag::T_SortGroupClause => {}
        NodeTag::T_List => found.extend(list::<Node>(node.pointer().cast())),
        tag => {
            let context = (&raw mut *found).cast();
            // SAFETY: a node that lives, and a callback that takes this context.
            unsafe {
                pg_guard_ffi_boundary(|| match tag {
                    NodeTag::T_Query => {
                        query_tree_walker(node.pointer().cast(), keep_node, context, 0)
                    }
                    _ => expression_tree_walker(node.pointer(), keep_node, context),
                })
            };
        }
    }
}

/// Calls `visit` for a node of an expression, or a query, and for what is below it as far as `visit` says, in the order
/// of PostgreSQL's walkers; with how many queries are above it, from this node on. Whether `visit` has ended it.
///
/// What is to be done is kept in memory and not on the stack, and may be cancelled.
pub fn search(node: Ref<Node>, visit: &mut dyn FnMut(Ref<Node>, u32) -> Step) -> bool {
    // The nodes to visit, the next one last.
    let mut open = vec![(node, 0)];
    let mut found = Vec::new();
    while let Some((node, level)) = open.pop() {
        pgrx::check_for_interrupts!();
        match visit(node, level) {
            Step::Stop => return true,
            Step::Past => {}
            Step::Below => {
                below(node, &mut found);
                let level = level + u32::from(node.tag() == NodeTag::T_Query);
                open.extend(found.drain(..).rev().map(|node| (node, level)));
            }
        }
    }
    false
}

/// Whether something is true of a node, or of one below it.
pub fn any(node: Ref<Node>, mut is: impl FnMut(Ref<Node>) -> bool) -> bool {
    search(node, &mut |node, _| match is(node) {
        true => Step::Stop,
        false => Step::Below,
    })
}

/// How many nodes there are, from this one on.
pub fn size(node: Ref<Node>) -> usize {
    let mut size = 0;
    search(node, &mut |_, _| {
        size += 1;
        Step::Below
    });
    size
}

/// The queries right below one: in FROM, in WITH, and in its expressions.
pub fn queries_below(query: Ref<Query>) -> Vec<Ref<Query>> {
    queries(query.node(), 1)
}

/// The queries at a node, or right below it.
pub fn queries_at(node: Ref<Node>) -> Vec<Ref<Query>> {
    queries(node, 0)
}

fn queries(node: Ref<Node>, wanted: u32) -> Vec<Ref<Query>> {
    let mut found = Vec::new();
    search(node, &mut |node, level| match node.cast::<Query>() {
        Some(query) if level == wanted => {
            found.push(query);
            Step::Past
        }
        _ => Step::Below,
    });
    found
}

type Change<'a> = &'a mut dyn FnMut(Ref<Node>) -> Option<Ref<Node>>;

/// A tree that is being changed.
struct Changing<'a> {
    change: Change<'a>,
    /// What has unwound out of `change`: it goes on once PostgreSQL's own functions are left.
    unwound: Option<Box<dyn Any + Send>>,
}

impl Changing<'_> {
    /// What is in the place of a node; `None` if it stays.
    fn put(&mut self, node: Ref<Node>) -> Option<*mut Node> {
        if self.unwound.is_some() {
            return Some(node.pointer());
        }
        let change = AssertUnwindSafe(|| {
            pgrx::check_for_interrupts!();
            (self.change)(node)
        });
        match catch_unwind(change) {
            Ok(changed) => changed.map(Ref::pointer),
            Err(payload) => {
                self.unwound = Some(payload);
                Some(node.pointer())
            }
        }
    }
}

/// Changes a node and what is below it. Not guarded, so that an ERROR of a tree that is too deep passes one guard and
/// not one for each level: so it owns nothing, and nothing unwinds out of it.
unsafe extern "C-unwind" fn change_node(node: *mut Node, context: *mut c_void) -> *mut Node {
    let Some(node) = Ref::of(node) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the context is what `change` passed, which nobody else uses meanwhile; a node that lives, and this
    // callback.
    unsafe {
        match (*context.cast::<Changing>()).put(node) {
            Some(changed) => changed,
            None if node.tag() == NodeTag::T_Query => {
                query_tree_mutator(node.pointer().cast(), change_node, context, 0).cast()
            }
            None => expression_tree_mutator(node.pointer(), change_node, context),
        }
    }
}

/// A copy of a tree in which `change` has put something else in the place of nodes; where it says `None`, the node
/// stays, and what is below it is changed.
pub fn change(node: Ref<Node>, change: Change) -> Ref<Node> {
    let unwound = None;
    let mut changing = Changing { change, unwound };
    let context = (&raw mut changing).cast();
    // SAFETY: a node that lives, and the context of this callback.
    let changed = unsafe { pg_guard_ffi_boundary(|| change_node(node.pointer(), context)) };
    if let Some(payload) = changing.unwound {
        resume_unwind(payload);
    }
    Ref::of(changed).expect("a mutator returns a node for a node")
}

/// The states of a plan that runs, from these on, each once.
pub fn states(tops: impl IntoIterator<Item = Ref<PlanState>>) -> Vec<Ref<PlanState>> {
    let mut open = Vec::from_iter(tops);
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    while let Some(state) = open.pop() {
        pgrx::check_for_interrupts!();
        if !seen.insert(state.pointer() as usize) {
            continue;
        }
        all.push(state);
        let context = (&raw mut open).cast();
        // SAFETY: a state that lives, and a callback that takes this context.
        unsafe {
            pg_guard_ffi_boundary(|| planstate_tree_walker(state.pointer(), keep_node, context))
        };
    }
    all
}

/// PostgreSQL's own record of a planning, with nothing in it but the query.
pub fn planning(query: Ref<Query>, parameters: pg_sys::ParamListInfo) -> Ref<pg_sys::PlannerInfo> {
    let mut global = make::<pg_sys::PlannerGlobal>();
    global.boundParams = parameters;
    let mut root = make::<pg_sys::PlannerInfo>();
    root.glob = global.pointer();
    root.parse = query.pointer();
    root.query_level = 1;
    root.wt_param_id = -1;
    // SAFETY: the memory of this call.
    root.planner_cxt = unsafe { pg_sys::CurrentMemoryContext };
    root
}

/// Puts simple sub-queries in FROM into the query itself, as the planner does.
pub fn pull_up_subqueries(root: Ref<pg_sys::PlannerInfo>) {
    // SAFETY: a PlannerInfo of a query that nobody has planned yet.
    unsafe { pg_guard_ffi_boundary(|| server_pull_up_subqueries(root.pointer())) }
}

/// The query of an SQL text with parameters `$1`, `$2` of these types. The text is ours.
pub fn parse(sql: &str, types: &[Oid]) -> Ref<Query> {
    let sql = string(sql);
    let count = i32::try_from(types.len()).expect("fewer parameters than 2^31");
    // SAFETY: one statement, parsed and analysed as PostgreSQL does it, with an array of as many types.
    let query = unsafe {
        let raw = pg_sys::raw_parser(sql, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        let statement = list::<pg_sys::RawStmt>(raw);
        let state = pg_sys::make_parsestate(std::ptr::null_mut());
        (*state).p_sourcetext = sql;
        pg_guard_ffi_boundary(|| setup_parse_fixed_parameters(state, types.as_ptr(), count));
        let query = pg_sys::transformTopLevelStmt(state, statement[0].pointer());
        pg_sys::free_parsestate(state);
        query
    };
    Ref::of(query).expect("a statement has a query")
}

/// The table of a range table's reference, from 1.
pub fn entry(query: Ref<Query>, index: i32) -> Ref<pg_sys::RangeTblEntry> {
    let i = usize::try_from(index).expect("a reference into the range table") - 1;
    // SAFETY: the range table of a query that lives.
    let entry = unsafe { crate::pg::nodes::elements(query.rtable) }.nth(i);
    entry
        .and_then(Ref::of)
        .expect("an entry of the range table")
}

/// Replaces what represents columns of joins by the columns themselves.
pub fn flatten_joins(query: Ref<Query>, node: *mut Node) -> *mut Node {
    if node.is_null() {
        return node;
    }
    // SAFETY: an expression of this query.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::flatten_join_alias_vars(query.pointer(), node);
        #[cfg(not(feature = "pg15"))]
        pg_sys::flatten_join_alias_vars(std::ptr::null_mut(), query.pointer(), node)
    }
}

/// Replaces what represents the keys of GROUP BY by the keys themselves, as it is before PostgreSQL 18.
pub fn flatten_groups(mut query: Ref<Query>) {
    #[cfg(feature = "pg18")]
    if query.hasGroupRTE {
        // SAFETY: expressions of this query.
        unsafe {
            let null = std::ptr::null_mut();
            query.targetList =
                pg_sys::flatten_group_exprs(null, query.pointer(), query.targetList.cast()).cast();
            query.havingQual = pg_sys::flatten_group_exprs(null, query.pointer(), query.havingQual);
        }
        for mut entry in list::<pg_sys::RangeTblEntry>(query.rtable) {
            if entry.rtekind == pg_sys::RTEKind::RTE_GROUP {
                // Its place stays, so that no other entry has another number.
                entry.rtekind = pg_sys::RTEKind::RTE_RESULT;
                entry.groupexprs = std::ptr::null_mut();
            }
        }
        query.hasGroupRTE = false;
    }
    #[cfg(not(feature = "pg18"))]
    let _ = &mut query;
}

/// The sets of keys that GROUPING SETS, ROLLUP and CUBE of a query stand for, by the numbers of their keys; `None` if
/// there are more than `most`.
pub fn grouping_sets(query: Ref<Query>, most: i32) -> Option<Vec<Vec<i32>>> {
    // SAFETY: the clause of a query; a list of lists of integers comes back, NULL beyond the limit.
    unsafe {
        let sets = pg_guard_ffi_boundary(|| {
            server_expand_grouping_sets(query.groupingSets, query.groupDistinct, most)
        });
        if sets.is_null() {
            return None;
        }
        let sets = crate::pg::nodes::elements::<List>(sets);
        Some(sets.map(|set| crate::pg::nodes::integers(set)).collect())
    }
}

/// The expression of a clause of GROUP BY or DISTINCT.
pub fn sort_group_target(
    clause: Ref<pg_sys::SortGroupClause>,
    targets: *mut List,
) -> Ref<pg_sys::TargetEntry> {
    // SAFETY: a clause of the query that has these targets.
    let target = unsafe { pg_sys::get_sortgroupclause_tle(clause.pointer(), targets) };
    Ref::of(target).expect("a clause has a target")
}

/// Whether there is a sub-query in an expression.
pub fn has_sublinks(node: *mut Node) -> bool {
    // SAFETY: an expression, or NULL.
    unsafe { pg_sys::checkExprHasSubLink(node) }
}

/// Both conditions; either may be absent.
pub fn both(first: *mut Node, second: *mut Node) -> *mut Node {
    // SAFETY: two conditions, or NULL.
    unsafe { pg_sys::make_and_qual(first, second) }
}

/// Whether other tables inherit from one.
pub fn has_subclass(relation: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    unsafe { pg_guard_ffi_boundary(|| server_has_subclass(relation)) }
}

/// The queries of the statements of an SQL text, which lives as long as they do, with views and row-level security in
/// them, as the planner gets them. Utility statements have none.
pub fn analyse(sql: *const std::ffi::c_char) -> Vec<Ref<Query>> {
    // SAFETY: PostgreSQL parses, analyses and rewrites a string that lives as long as the trees.
    let queries = unsafe {
        let raw = pg_sys::raw_parser(sql, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        list::<pg_sys::RawStmt>(raw)
            .into_iter()
            .flat_map(|statement| {
                let queries = pg_sys::pg_analyze_and_rewrite_fixedparams(
                    statement.pointer(),
                    sql,
                    std::ptr::null(),
                    0,
                    std::ptr::null_mut(),
                );
                list::<Query>(queries)
            })
    };
    queries
        .filter(|query| query.commandType != pg_sys::CmdType::CMD_UTILITY)
        .collect()
}
