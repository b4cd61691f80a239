//! Query trees, as a hook of the planner sees them: nodes, lists, and walks over them.
//!
//! A [`Ref`] is a node of a tree that PostgreSQL handed to a hook, or that was made in the memory of that
//! call. Such nodes live until the hook returns, and nothing that holds a `Ref` outlives it. One process plans
//! one query at a time, so nobody else reads or writes them meanwhile. A `Ref` is made of a pointer by unsafe code only,
//! where the hook begins; all others come from it, as fields of nodes and from PostgreSQL's own functions.

use std::any::Any;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{self, Node, NodeTag, Oid, PlanState, Query};

use crate::pg::stack;

mod fields;
mod make;
mod node;

pub use fields::Permissions;
pub use make::{
    alias, base_type, boolean, call, cast, choice, collation_of, modifier_of, null, number, target,
    type_of, var,
};
use node::string;
pub use node::{List, Memory, Ref, list_of, text_of};

/// The parameters of an execution.
pub type Parameters<'t> = Option<Ref<'t, pg_sys::ParamListInfoData>>;

/// The expression with its constants computed, with the parameters of a planning if there is one.
pub fn fold<'t>(root: Option<Ref<'t, pg_sys::PlannerInfo>>, node: Ref<'t, Node>) -> Ref<'t, Node> {
    let root = root.map_or(std::ptr::null_mut(), Ref::pointer);
    // SAFETY: an expression that lives; a NULL root is allowed, as is one with nothing but parameters.
    let node = unsafe { Ref::of(pg_sys::eval_const_expressions(root, node.pointer())) };
    node.expect("an expression")
}

/// A constant of an expression: its value, `None` for NULL.
pub fn constant(node: Ref<Node>) -> Option<Option<pg_sys::Datum>> {
    let constant = node.cast::<pg_sys::Const>()?;
    Some((!constant.constisnull()).then(|| constant.constvalue()))
}

/// An expression in which everything is computed that is known now: what follows from constants, the parameters of a
/// planning, the current time and role.
pub fn estimate<'t>(root: Ref<'t, pg_sys::PlannerInfo>, node: Ref<'t, Node>) -> Ref<'t, Node> {
    // SAFETY: an expression that lives, and a record of a planning, as `planning` makes it.
    let node = unsafe {
        Ref::of(pg_sys::estimate_expression_value(
            root.pointer(),
            node.pointer(),
        ))
    };
    node.expect("an expression")
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
    #[link_name = "has_subclass"]
    fn server_has_subclass(relation: Oid) -> bool;
    #[link_name = "expand_grouping_sets"]
    fn server_expand_grouping_sets(
        sets: *mut pg_sys::List,
        distinct: bool,
        limit: i32,
    ) -> *mut pg_sys::List;
    fn contain_mutable_functions(node: *mut Node) -> bool;
    fn contain_nonstrict_functions(node: *mut Node) -> bool;
    fn contain_volatile_functions(node: *mut Node) -> bool;
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
    // SAFETY: the context is the vector that `below` or `states` passed, which nobody else uses meanwhile; a node of
    // their tree.
    unsafe { (*context.cast::<Vec<Ref<T>>>()).extend(Ref::of(node)) };
    false
}

/// Adds the nodes right below a node of an expression, or of a query. PostgreSQL's walker is called for one level at a
/// time, so no ERROR passes more than one guard, however deep a tree is.
fn below<'t>(node: Ref<'t, Node>, found: &mut Vec<Ref<'t, Node>>) {
    match node.tag() {
        // What most of a tree consists of has nothing below it.
        NodeTag::T_Var
        | NodeTag::T_Const
        | NodeTag::T_Param
        | NodeTag::T_CaseTestExpr
        | NodeTag::T_RangeTblRef
        | NodeTag::T_SortGroupClause => {}
        NodeTag::T_List => found.extend(node.list().into_iter().flatten()),
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
pub fn search<'t>(node: Ref<'t, Node>, visit: &mut dyn FnMut(Ref<'t, Node>, u32) -> Step) -> bool {
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
pub fn any<'t>(node: Ref<'t, Node>, mut is: impl FnMut(Ref<'t, Node>) -> bool) -> bool {
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

type Change<'a, 't> = &'a mut dyn FnMut(Ref<'t, Node>) -> Option<Ref<'t, Node>>;

/// A tree that is being changed.
struct Changing<'a, 't> {
    change: Change<'a, 't>,
    /// What has unwound out of `change`: it goes on once PostgreSQL's own functions are left.
    unwound: Option<Box<dyn Any + Send>>,
}

impl<'t> Changing<'_, 't> {
    /// What is in the place of a node; `None` if it stays.
    fn put(&mut self, node: Ref<'t, Node>) -> Option<*mut Node> {
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
    // SAFETY: the context is what `change` passed, which nobody else uses meanwhile; a node that lives, and this
    // callback.
    unsafe {
        let Some(node) = Ref::of(node) else {
            return std::ptr::null_mut();
        };
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
pub fn change<'t>(node: Ref<'t, Node>, change: Change<'_, 't>) -> Ref<'t, Node> {
    let unwound = None;
    let mut changing = Changing { change, unwound };
    let context = (&raw mut changing).cast();
    // SAFETY: a node that lives, and the context of this callback.
    let changed = unsafe {
        Ref::of(pg_guard_ffi_boundary(|| {
            change_node(node.pointer(), context)
        }))
    };
    if let Some(payload) = changing.unwound {
        resume_unwind(payload);
    }
    changed.expect("a mutator returns a node for a node")
}

/// The states of a plan that runs, from these on, each once.
pub fn states<'t>(tops: impl IntoIterator<Item = Ref<'t, PlanState>>) -> Vec<Ref<'t, PlanState>> {
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

/// The query of an SQL text with parameters `$1`, `$2` of these types. The text is ours.
pub fn parse<'t>(_: Memory<'t>, sql: &str, types: &[Oid]) -> Ref<'t, Query> {
    let sql = string(sql);
    let count = i32::try_from(types.len()).expect("fewer parameters than 2^31");
    // SAFETY: one statement, parsed and analysed as PostgreSQL does it, with an array of as many types.
    let query = unsafe {
        let raw = pg_sys::raw_parser(sql, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        let statement = List::<pg_sys::RawStmt>::of(raw).nodes();
        let state = pg_sys::make_parsestate(std::ptr::null_mut());
        (*state).p_sourcetext = sql;
        pg_guard_ffi_boundary(|| setup_parse_fixed_parameters(state, types.as_ptr(), count));
        let query = pg_sys::transformTopLevelStmt(state, statement[0].pointer());
        pg_sys::free_parsestate(state);
        Ref::of(query)
    };
    query.expect("a statement has a query")
}

/// The table of a range table's reference, from 1.
pub fn entry(query: Ref<Query>, index: i32) -> Ref<pg_sys::RangeTblEntry> {
    let i = usize::try_from(index).expect("a reference into the range table") - 1;
    let entry = query.rtable().into_iter().nth(i);
    entry.expect("an entry of the range table")
}

/// Replaces what represents columns of joins by the columns themselves.
pub fn flatten_joins<'t>(query: Ref<'t, Query>, node: Ref<'t, Node>) -> Ref<'t, Node> {
    // SAFETY: an expression of this query.
    let flat = unsafe {
        #[cfg(feature = "pg15")]
        let flat = pg_sys::flatten_join_alias_vars(query.pointer(), node.pointer());
        #[cfg(not(feature = "pg15"))]
        let flat =
            pg_sys::flatten_join_alias_vars(std::ptr::null_mut(), query.pointer(), node.pointer());
        Ref::of(flat)
    };
    flat.expect("a mutator returns a node for a node")
}

/// Makes an inner join of an outer one, in the FROM of a query that is not planned yet.
pub fn make_inner<'t>(query: Ref<'t, Query>, join: Ref<'t, pg_sys::JoinExpr>) {
    join.set_jointype(pg_sys::JoinType::JOIN_INNER);
    if join.rtindex() > 0 {
        entry(query, join.rtindex()).set_jointype(pg_sys::JoinType::JOIN_INNER);
    }
    // It makes no column NULL any more.
    #[cfg(not(feature = "pg15"))]
    search(query.node(), &mut |node, level| {
        if let Some(column) = node.cast::<pg_sys::Var>()
            && column.varlevelsup() + 1 == level
        {
            // SAFETY: the set of a column that lives, or none. It is copied: others may have the same.
            column.set_varnullingrels(unsafe {
                pg_sys::bms_del_member(pg_sys::bms_copy(column.varnullingrels()), join.rtindex())
            });
        }
        Step::Below
    });
}

/// Replaces what represents the keys of GROUP BY by the keys themselves, as it is before PostgreSQL 18.
pub fn flatten_groups<'t>(query: Ref<'t, Query>) {
    #[cfg(feature = "pg18")]
    if query.hasGroupRTE() {
        let flat = |node: Ref<'t, Node>| {
            // SAFETY: expressions of this query.
            let flat = unsafe {
                let null = std::ptr::null_mut();
                Ref::of(pg_sys::flatten_group_exprs(
                    null,
                    query.pointer(),
                    node.pointer(),
                ))
            };
            flat.expect("a mutator returns a node for a node")
        };
        query.set_targetList(List::of_tree(query.targetList().node().map(flat)));
        query.set_havingQual(query.havingQual().map(flat));
        for entry in query.rtable() {
            if entry.rtekind() == pg_sys::RTEKind::RTE_GROUP {
                // Its place stays, so that no other entry has another number.
                entry.set_rtekind(pg_sys::RTEKind::RTE_RESULT);
                entry.set_groupexprs(List::EMPTY);
            }
        }
        query.set_hasGroupRTE(false);
    }
    #[cfg(not(feature = "pg18"))]
    let _ = query;
}

/// The sets of keys that GROUPING SETS, ROLLUP and CUBE of a query stand for, by the numbers of their keys; `None` if
/// there are more than `most`.
pub fn grouping_sets(query: Ref<Query>, most: i32) -> Option<Vec<Vec<i32>>> {
    // SAFETY: the clause of a query; a list of lists of integers comes back, NULL beyond the limit.
    unsafe {
        let sets = pg_guard_ffi_boundary(|| {
            let sets = query.groupingSets().pointer();
            server_expand_grouping_sets(sets, query.groupDistinct(), most)
        });
        if sets.is_null() {
            return None;
        }
        let sets = crate::pg::nodes::elements::<pg_sys::List>(sets);
        Some(sets.map(|set| crate::pg::nodes::integers(set)).collect())
    }
}

/// The expression of a clause of GROUP BY or DISTINCT.
pub fn sort_group_target<'t>(
    clause: Ref<'t, pg_sys::SortGroupClause>,
    targets: List<'t, pg_sys::TargetEntry>,
) -> Ref<'t, pg_sys::TargetEntry> {
    // SAFETY: a clause, and a list of targets; where none is the clause's, it raises an ERROR.
    let target = unsafe {
        let targets = targets.pointer();
        Ref::of(pg_sys::get_sortgroupclause_tle(clause.pointer(), targets))
    };
    target.expect("a clause has a target")
}

/// A clause that sorts by a target of a query, which gets a number if it has none; `None` if its type has no order.
pub fn sort_by<'t>(
    target: Ref<'t, pg_sys::TargetEntry>,
    targets: List<'t, pg_sys::TargetEntry>,
) -> Option<Ref<'t, pg_sys::SortGroupClause>> {
    let kind = type_of(target.expr()?);
    let wanted = pg_sys::TYPECACHE_LT_OPR | pg_sys::TYPECACHE_EQ_OPR;
    // SAFETY: a lookup in the catalog, whose entry stays for good.
    let (less, equal) = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, wanted as i32);
        ((*entry).lt_opr, (*entry).eq_opr)
    };
    if less == Oid::INVALID || equal == Oid::INVALID {
        return None;
    }
    if target.ressortgroupref() == 0 {
        let numbers = targets.into_iter().map(|target| target.ressortgroupref());
        target.set_ressortgroupref(numbers.max().unwrap_or_default() + 1);
    }
    let number = target.ressortgroupref();
    let clause = target.memory().make::<pg_sys::SortGroupClause>();
    clause.set_tleSortGroupRef(number);
    clause.set_eqop(equal);
    clause.set_sortop(less);
    clause.set_hashable(false);
    Some(clause)
}

/// A clause of GROUP BY, DISTINCT ON or a window for an expression. It is hidden, by that name, if it is added to the
/// targets of the query; `None` if its type has no order.
pub fn clause_for<'t>(
    query: Ref<'t, Query>,
    value: Ref<'t, Node>,
    name: &str,
) -> Option<Ref<'t, pg_sys::SortGroupClause>> {
    let mut targets = query.targetList().into_iter();
    let known = targets.find(|target| target.expr().is_some_and(|expr| expr.same(value)));
    let target = match known {
        Some(target) => target,
        None => {
            let number = query.targetList().nodes().len() + 1;
            let target = target(value.copy(), i16::try_from(number).ok()?, name);
            target.set_resjunk(true);
            query.set_targetList(query.targetList().append(target));
            target
        }
    };
    let clause = sort_by(target, query.targetList())?;
    // SAFETY: a lookup in the catalog.
    let is_hashable = unsafe { pg_sys::op_hashjoinable(clause.eqop(), type_of(value)) };
    clause.set_hashable(is_hashable);
    Some(clause)
}

/// The name of a column of an entry of FROM, as the query has it.
pub fn column_name(query: Ref<Query>, index: i32, number: i16) -> Option<String> {
    let names = entry(query, index).eref()?.colnames();
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    let name = names.into_iter().nth(place)?;
    // SAFETY: a string of a list of names.
    Some(unsafe { text_of((*name.pointer()).sval) })
}

/// A column of an entry of FROM; `None` if it has no such column.
pub fn column<'t>(query: Ref<'t, Query>, index: i32, number: i16) -> Option<Ref<'t, Node>> {
    let entry = entry(query, index);
    let memory = query.memory();
    if let Some(below) = entry.subquery() {
        let mut targets = below.targetList().into_iter();
        let target = targets.find(|target| target.resno() == number)?;
        let value = target.expr()?;
        let (kind, modifier) = (type_of(value), modifier_of(value));
        return Some(var(
            memory,
            index,
            number,
            kind,
            modifier,
            collation_of(value),
        ));
    }
    let (mut kind, mut modifier, mut collation) = (Oid::INVALID, 0, Oid::INVALID);
    // SAFETY: a lookup in the catalog, into three variables.
    unsafe {
        pg_sys::get_atttypetypmodcoll(
            entry.relid(),
            number,
            &raw mut kind,
            &raw mut modifier,
            &raw mut collation,
        );
    }
    Some(var(memory, index, number, kind, modifier, collation))
}

/// The condition that a value is there.
pub fn is_not_null(value: Ref<Node>) -> Ref<Node> {
    let test = value.memory().make::<pg_sys::NullTest>();
    test.set_arg(Some(value));
    test.set_nulltesttype(pg_sys::NullTestType::IS_NOT_NULL);
    test.set_location(-1);
    test.node()
}

/// An expression where a value is not NULL, else NULL.
pub fn if_not_null<'t>(value: Ref<'t, Node>, then: Ref<'t, Node>, kind: Oid) -> Ref<'t, Node> {
    let memory = value.memory();
    let when = memory.make::<pg_sys::CaseWhen>();
    when.set_expr(Some(is_not_null(value)));
    when.set_result(Some(then));
    when.set_location(-1);
    let case = memory.make::<pg_sys::CaseExpr>();
    case.set_casetype(kind);
    case.set_args(list_of([when.node()]));
    case.set_defresult(Some(null(memory, kind, -1, Oid::INVALID)));
    case.set_location(-1);
    case.node()
}

/// The key of GROUP BY that an expression represents, on servers where one does; else the expression.
pub fn ungrouped<'t>(query: Ref<'t, Query>, node: Ref<'t, Node>) -> Ref<'t, Node> {
    #[cfg(feature = "pg18")]
    if let Some(column) = node.cast::<pg_sys::Var>()
        && column.varlevelsup() == 0
    {
        let entry = entry(query, column.varno());
        if entry.rtekind() == pg_sys::RTEKind::RTE_GROUP {
            let place = usize::try_from(column.varattno() - 1).ok();
            let keys = entry.groupexprs().nodes();
            return place
                .and_then(|place| keys.get(place).copied())
                .unwrap_or(node);
        }
    }
    #[cfg(not(feature = "pg18"))]
    let _ = query;
    node
}

/// Whether there is a sub-query in an expression.
pub fn has_sublinks(node: Ref<Node>) -> bool {
    // SAFETY: an expression that lives.
    unsafe { pg_sys::checkExprHasSubLink(node.pointer()) }
}

/// Whether a query names something of a query around it.
pub fn names_outer<T: node::Tagged>(query: Ref<T>) -> bool {
    search(query.node(), &mut |node, level| {
        let above = if let Some(column) = node.cast::<pg_sys::Var>() {
            Some(column.varlevelsup())
        } else if let Some(call) = node.cast::<pg_sys::Aggref>() {
            Some(call.agglevelsup())
        } else {
            let grouping = node.cast::<pg_sys::GroupingFunc>();
            grouping.map(|grouping| grouping.agglevelsup())
        };
        match above.is_some_and(|above| above >= level) {
            true => Step::Stop,
            false => Step::Below,
        }
    })
}

/// Whether an expression may be something else than NULL where all of its columns are NULL.
pub fn is_not_strict(node: Ref<Node>) -> bool {
    let has_column = any(node, |node| node.cast::<pg_sys::Var>().is_some());
    // SAFETY: an expression that lives.
    !has_column || unsafe { pg_guard_ffi_boundary(|| contain_nonstrict_functions(node.pointer())) }
}

/// Whether an expression, or a query, has a function that may answer differently each time.
pub fn is_volatile(node: Ref<Node>) -> bool {
    // SAFETY: an expression or a query that lives.
    unsafe { pg_guard_ffi_boundary(|| contain_volatile_functions(node.pointer())) }
}

/// Whether an expression depends on more than its values: on settings, the time, the role.
pub fn is_mutable(node: Ref<Node>) -> bool {
    // SAFETY: an expression that lives.
    unsafe { pg_guard_ffi_boundary(|| contain_mutable_functions(node.pointer())) }
}

/// Calls `visit` for each column of a query itself in an expression of it, also from within the sub-queries there.
pub fn each_column<'t>(node: Ref<'t, Node>, visit: &mut dyn FnMut(Ref<'t, pg_sys::Var>)) {
    search(node, &mut |node, level| {
        let column = node.cast::<pg_sys::Var>();
        column
            .filter(|column| column.varlevelsup() == level)
            .into_iter()
            .for_each(&mut *visit);
        Step::Below
    });
}

/// Both conditions; either may be absent.
pub fn both<'t>(
    first: Option<Ref<'t, Node>>,
    second: Option<Ref<'t, Node>>,
) -> Option<Ref<'t, Node>> {
    let [first, second] =
        [first, second].map(|node| node.map_or(std::ptr::null_mut(), Ref::pointer));
    // SAFETY: two conditions, or NULL.
    unsafe { Ref::of(pg_sys::make_and_qual(first, second)) }
}

/// All conditions; `None` if there is none.
pub fn all_of(conditions: Vec<Ref<Node>>) -> Option<Ref<Node>> {
    let conditions = conditions.into_iter().map(Some);
    conditions.fold(None, both)
}

/// The conditions that are joined by AND.
pub fn conjuncts(condition: Option<Ref<Node>>) -> Vec<Ref<Node>> {
    stack::check();
    let Some(condition) = condition else {
        return Vec::new();
    };
    match condition.cast::<pg_sys::BoolExpr>() {
        Some(all) if all.boolop() == pg_sys::BoolExprType::AND_EXPR => {
            let all = all.args();
            all.into_iter()
                .flat_map(|one| conjuncts(Some(one)))
                .collect()
        }
        _ => vec![condition],
    }
}

/// A condition, as PostgreSQL proves what follows from it: computed as far as its constants go, and cut at each AND.
pub type Condition<'t> = List<'t, Node>;

/// The condition that an expression is.
pub fn condition(node: Ref<Node>) -> Condition {
    list_of(conjuncts(Some(fold(None, node.copy()))))
}

/// Whether no row can be in both of two conditions, as PostgreSQL proves it: of one column with two values, or ranges
/// that do not meet.
pub fn excludes(one: Condition, other: Condition) -> bool {
    // SAFETY: lists of expressions in memory that lives; what is computed of them is of constants.
    unsafe { pg_sys::predicate_refuted_by(one.pointer(), other.pointer(), true) }
}

/// Whether other tables inherit from one.
pub fn has_subclass(relation: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    unsafe { pg_guard_ffi_boundary(|| server_has_subclass(relation)) }
}

/// The queries of the statements of an SQL text, with views and row-level security in them, as the planner gets them.
/// Utility statements have none.
pub fn analyse<'t>(_: Memory<'t>, sql: &CStr) -> Vec<Ref<'t, Query>> {
    // SAFETY: PostgreSQL parses, analyses and rewrites a string, whose copy lives as long as the trees.
    let queries: Vec<_> = unsafe {
        let sql = pg_sys::pstrdup(sql.as_ptr());
        let raw = pg_sys::raw_parser(sql, pg_sys::RawParseMode::RAW_PARSE_DEFAULT);
        let statements = List::<pg_sys::RawStmt>::of(raw).into_iter();
        statements
            .flat_map(|statement| {
                List::<Query>::of(pg_sys::pg_analyze_and_rewrite_fixedparams(
                    statement.pointer(),
                    sql,
                    std::ptr::null(),
                    0,
                    std::ptr::null_mut(),
                ))
            })
            .collect()
    };
    let is_utility = |query: &Ref<Query>| query.commandType() == pg_sys::CmdType::CMD_UTILITY;
    queries
        .into_iter()
        .filter(|query| !is_utility(query))
        .collect()
}
