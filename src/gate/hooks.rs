//! Where PostgreSQL calls the gate: the planner, COPY, and the ends of transactions.
//!
//! The hooks themselves are not guarded: pgrx would make another ERROR of one that passes, without its CONTEXT. So
//! they own nothing, and what they call of ours is guarded on its own.

use std::cell::Cell;
use std::ffi::{c_char, c_int};

use pgrx::pg_sys::{
    self, DestReceiver, NodeTag, ParamListInfo, PlannedStmt, Query, QueryCompletion,
    QueryEnvironment,
};

use crate::gate::answer::remote;
use crate::gate::defence::Defence;
use crate::gate::errors;
#[cfg(any(feature = "pg15", feature = "pg16"))]
use crate::gate::inputs;
use crate::gate::rewrite::{self, Gate};
use crate::gate::{access, label, message_filter, policy};
use crate::pg::execution::{self, Uncounted};
use crate::pg::fmgr::guarded;
use crate::pg::transaction::{self, Ends};
use crate::pg::tree::{self, List, Ref};

// As PostgreSQL has them: pgrx's own would catch each ERROR.
unsafe extern "C-unwind" {
    fn standard_planner(
        query: *mut Query,
        text: *const c_char,
        options: c_int,
        parameters: ParamListInfo,
    ) -> *mut PlannedStmt;
    fn standard_ProcessUtility(
        statement: *mut PlannedStmt,
        text: *const c_char,
        read_only: bool,
        context: pg_sys::ProcessUtilityContext::Type,
        parameters: ParamListInfo,
        environment: *mut QueryEnvironment,
        receiver: *mut DestReceiver,
        completion: *mut QueryCompletion,
    );
}

thread_local! {
    /// The hooks that were there before.
    static NEXT: Cell<Next> = const {
        Cell::new(Next {
            planner: None,
            utility: None,
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            statistics: None,
        })
    };
}

#[derive(Clone, Copy)]
struct Next {
    planner: pg_sys::planner_hook_type,
    utility: pg_sys::ProcessUtility_hook_type,
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    statistics: pg_sys::get_relation_stats_hook_type,
}

/// From now on, this process has a gate.
pub fn install() {
    // SAFETY: PostgreSQL loads libraries one at a time, before anybody calls the hooks.
    unsafe {
        NEXT.set(Next {
            planner: pg_sys::planner_hook,
            utility: pg_sys::ProcessUtility_hook,
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            statistics: pg_sys::get_relation_stats_hook,
        });
        pg_sys::planner_hook = Some(plan);
        pg_sys::ProcessUtility_hook = Some(utility);
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        {
            pg_sys::get_relation_stats_hook = Some(statistics);
        }
        pg_sys::register_label_provider(label::PROVIDER.as_ptr(), Some(relabel));
    }
    transaction::listen(&ENDS);
    // SAFETY: it looks at the state of this process.
    if unsafe { pg_sys::IsTransactionState() } {
        remote::begin_within();
    }
    policy::listen();
}

/// What was done to a query before it was planned.
#[derive(Clone, Copy)]
#[repr(C)]
struct Passed {
    blocks: bool,
    touched: bool,
    on_role: bool,
    /// Whether it can only be rewritten once its parameters are known.
    waits: bool,
    items: *mut pg_sys::List,
    relations: *mut pg_sys::List,
    /// The level of the settings that hold while it is planned; 0 if there are none.
    settings: i32,
}

impl Passed {
    /// Nothing was done.
    const BY: Self = Self {
        blocks: false,
        touched: false,
        on_role: false,
        waits: false,
        items: std::ptr::null_mut(),
        relations: std::ptr::null_mut(),
        settings: 0,
    };
}

/// Said of a refusal where parameters have no values.
const WITHOUT_VALUES: &str = "With plan_cache_mode = force_generic_plan parameters have no values here: SET plan_cache_mode = auto.";

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn before_plan(query: *mut Query, parameters: ParamListInfo) -> Passed {
    guarded(|| {
        // SAFETY: what PostgreSQL plans lives until that is done, and so do its parameters.
        let (query, values) = unsafe { (Ref::of(query), Ref::of(parameters)) };
        let query = query.expect("the planner has a query");
        if execution::is_inside(query) {
            return Passed::BY;
        }
        let mut gate = Gate::new(values);
        // SAFETY: a setting of this process.
        let is_generic = unsafe { pg_sys::plan_cache_mode }
            == pg_sys::PlanCacheMode::PLAN_CACHE_MODE_FORCE_GENERIC_PLAN as i32;
        let spare = parameters.is_null()
            && !is_generic
            && has_parameters(query.node())
            && access::is_concerned(query);
        let spare = spare.then(|| query.copy());
        let passed = gate.pass(query);
        // What is a parameter here may be a constant in a plan for its value. That is looked at where there are groups
        // or bounds, too: those that follow from a value would be ones that nobody has declared.
        let waits = match (&passed, &spare) {
            (Err(_), Some(_)) => true,
            (Ok(()), Some(_)) => gate.is_of_one_period() || gate.follows_values(),
            (_, None) => false,
        };
        match (passed, spare) {
            (_, Some(spare)) if waits => {
                query.overwrite(spare);
                gate.written.clear();
            }
            (Err(refusal), _) => {
                message_filter::set_asked(gate.touched);
                let is_without_values = is_generic && parameters.is_null();
                match is_without_values && has_parameters(query.node()) {
                    true => refusal.or(WITHOUT_VALUES).raise(),
                    false => refusal.raise(),
                }
            }
            (Ok(()), _) => {}
        }
        let asked = !gate.written.is_empty();
        if asked {
            message_filter::set_asked(true);
        }
        let items = gate.depends.items.iter();
        let relations: Vec<_> = gate
            .written
            .iter()
            .flat_map(|block| block.bill.relations())
            .chain(gate.depends.relations.iter().copied())
            .collect();
        Passed {
            blocks: asked,
            touched: gate.touched,
            on_role: gate.depends.on_role,
            waits,
            items: items
                .fold(List::EMPTY, |all, items| all.concat(*items))
                .pointer(),
            relations: query.memory().oids(&relations).pointer(),
            settings: match asked && remote::is_beside_distributed(query) {
                true => remote::keep_here(),
                false => 0,
            },
        }
    })
}

/// Whether a query about a protected table has parameters of the client.
fn has_parameters(node: Ref<pg_sys::Node>) -> bool {
    tree::any(node, |node| {
        let parameter = node.cast::<pg_sys::Param>();
        parameter.is_some_and(|parameter| parameter.paramkind() == pg_sys::ParamKind::PARAM_EXTERN)
    })
}

unsafe extern "C-unwind" fn plan(
    query: *mut Query,
    text: *const c_char,
    options: c_int,
    parameters: ParamListInfo,
) -> *mut PlannedStmt {
    // SAFETY: what PostgreSQL was called with is passed on.
    unsafe {
        let passed = before_plan(query, parameters);
        let planned = match NEXT.get().planner {
            Some(next) => next(query, text, options, parameters),
            None => standard_planner(query, text, options, parameters),
        };
        after_plan(planned, passed);
        planned
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn after_plan(planned: *mut PlannedStmt, passed: Passed) {
    // SAFETY: a plan that was made just now, which nobody else has, and lists that were made for it.
    let (planned, items, relations) = unsafe {
        (
            Ref::of(planned),
            List::of(passed.items),
            List::of(passed.relations),
        )
    };
    let planned = planned.expect("the planner returns a plan");
    if passed.settings != 0 {
        execution::end_settings(passed.settings);
    }
    // The role that runs it must be the one it was made for.
    let on_role = passed.blocks || passed.touched || passed.on_role;
    planned.set_dependsOnRole(planned.dependsOnRole() || on_role);
    planned.set_invalItems(planned.invalItems().concat(items));
    planned.set_relationOids(planned.relationOids().concat(relations));
    if passed.waits
        && let Some(top) = planned.planTree()
    {
        // The plan cache then prefers a plan for the values of the parameters.
        top.set_total_cost(1e300);
    }
}

#[allow(clippy::too_many_arguments)]
unsafe extern "C-unwind" fn utility(
    statement: *mut PlannedStmt,
    text: *const c_char,
    read_only: bool,
    context: pg_sys::ProcessUtilityContext::Type,
    parameters: ParamListInfo,
    environment: *mut QueryEnvironment,
    receiver: *mut DestReceiver,
    completion: *mut QueryCompletion,
) {
    // SAFETY: what PostgreSQL was called with is passed on.
    unsafe {
        match (*(*statement).utilityStmt).type_ {
            NodeTag::T_CopyStmt => before_copy((*statement).utilityStmt.cast()),
            NodeTag::T_VariableSetStmt => before_set((*statement).utilityStmt.cast()),
            _ => {}
        }
        match NEXT.get().utility {
            Some(next) => next(
                statement,
                text,
                read_only,
                context,
                parameters,
                environment,
                receiver,
                completion,
            ),
            None => standard_ProcessUtility(
                statement,
                text,
                read_only,
                context,
                parameters,
                environment,
                receiver,
                completion,
            ),
        }
    }
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn before_set(statement: *const pg_sys::VariableSetStmt) {
    use pg_sys::VariableSetKind::{VAR_RESET_ALL, VAR_SET_CURRENT, VAR_SET_DEFAULT, VAR_SET_VALUE};
    guarded(|| {
        // SAFETY: a statement that PostgreSQL is about to run.
        let (kind, is_local) = unsafe { ((*statement).kind, (*statement).is_local) };
        // By code that the planner runs. It asks for no right, and resets what only superusers may set.
        if kind == VAR_RESET_ALL && Uncounted::is_under_way() && Defence::Reset.stands() {
            errors::resets().raise()
        }
        let is_of_session = [VAR_SET_VALUE, VAR_SET_DEFAULT, VAR_SET_CURRENT].contains(&kind);
        if is_of_session && !is_local {
            return;
        }
        if let Err(refusal) = remote::before_set() {
            refusal.raise()
        }
    });
}

#[pgrx::pg_guard]
unsafe extern "C-unwind" fn before_copy(statement: *mut pg_sys::CopyStmt) {
    guarded(|| {
        // SAFETY: a statement that PostgreSQL is about to run.
        let statement = unsafe { Ref::of(statement) }.expect("a statement");
        if statement.is_from() || statement.relation().is_null() {
            return;
        }
        // SAFETY: a name of the statement. COPY takes the same lock, and looks at rights after that, too.
        let relation = unsafe {
            pg_sys::RangeVarGetRelidExtended(
                statement.relation(),
                pg_sys::AccessShareLock as i32,
                pg_sys::RVROption::RVR_MISSING_OK,
                None,
                std::ptr::null_mut(),
            )
        };
        if let Err(refusal) = rewrite::check_copy(relation) {
            refusal.raise()
        }
    });
}

/// What the planner knows of a column of a joined table that is read first. Newer servers look for it themselves.
#[cfg(any(feature = "pg15", feature = "pg16"))]
unsafe extern "C-unwind" fn statistics(
    root: *mut pg_sys::PlannerInfo,
    entry: *mut pg_sys::RangeTblEntry,
    column: pg_sys::AttrNumber,
    found: *mut pg_sys::VariableStatData,
) -> bool {
    // SAFETY: what PostgreSQL was called with is passed on.
    unsafe {
        if own_statistics(entry, column, found) {
            return true;
        }
        match NEXT.get().statistics {
            Some(next) => next(root, entry, column, found),
            None => false,
        }
    }
}

#[cfg(any(feature = "pg15", feature = "pg16"))]
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn own_statistics(
    entry: *mut pg_sys::RangeTblEntry,
    column: pg_sys::AttrNumber,
    found: *mut pg_sys::VariableStatData,
) -> bool {
    // SAFETY: an entry of the query that is planned, and what the planner wants to know of it.
    let (Some(entry), Some(found)) = (unsafe { (Ref::of(entry), Ref::of(found)) }) else {
        return false;
    };
    inputs::statistics(entry, column, found)
}

static ENDS: Ends = Ends {
    ended: || {
        message_filter::rolled_back(0);
        message_filter::set_asked(false);
        remote::end();
    },
    rolled_back: message_filter::rolled_back,
};

/// SECURITY LABEL: plans about the table are made again, and a label that is none is refused.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn relabel(object: *const pg_sys::ObjectAddress, text: *const c_char) {
    guarded(|| {
        // SAFETY: PostgreSQL passes the object that is labelled, and NULL or a string.
        let (object, text) = unsafe { (*object, (!text.is_null()).then(|| tree::text_of(text))) };
        if let Err(refusal) = label::check(object, text.as_deref()) {
            refusal.raise()
        }
    });
}
