//! A query that is planned and run inside of another one, to its end, and leaves no trace outside of its rows.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::thread;

use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::{
    self, BufferUsage, DestReceiver, EState, MemoryContext, Oid, ParamListInfo, PlanState,
    PlannedStmt, Query, QueryDesc, QueryEnvironment, RTEKind, Snapshot, TargetEntry, TupleDesc,
    Tuplestorestate, WalUsage,
};

use crate::pg::tree::{self, List, Ref, Step};

// Not in pgrx.
unsafe extern "C-unwind" {
    fn SetTuplestoreDestReceiverParams(
        receiver: *mut DestReceiver,
        store: *mut Tuplestorestate,
        memory: MemoryContext,
        detoast: bool,
        columns: TupleDesc,
        failure: *const c_char,
    );
}

/// The text of a query that has none.
const TEXT: &CStr = c"private answer";

thread_local! {
    /// The query that is planned inside, until the planner has seen it.
    static INSIDE: Cell<*mut Query> = const { Cell::new(std::ptr::null_mut()) };
}

/// Whether this is the query that [`plan`] has begun to plan: once.
pub fn is_inside(query: Ref<Query>) -> bool {
    let is = INSIDE.get() == query.pointer();
    if is {
        INSIDE.set(std::ptr::null_mut());
    }
    is
}

/// Plans a query, which changes it.
pub fn plan<'t>(query: Ref<'t, Query>) -> Ref<'t, PlannedStmt> {
    let options = pg_sys::CURSOR_OPT_PARALLEL_OK as i32;
    let parameters: ParamListInfo = std::ptr::null_mut();
    INSIDE.set(query.pointer());
    // SAFETY: a query that was rewritten, whose tables are locked.
    let planned = unsafe {
        let text = TEXT.as_ptr();
        Ref::of(pg_sys::pg_plan_query(
            query.pointer(),
            text,
            options,
            parameters,
        ))
    };
    planned.expect("the planner returns a plan")
}

/// Whether each table of a plan is still what it was planned as: code that the planner runs may make a view of an empty
/// table (before PostgreSQL 16), which the executor reads as a table, and crashes.
pub fn reads_what_it_was_made_for(planned: Ref<PlannedStmt>) -> bool {
    let mut entries = planned.rtable().into_iter();
    entries.all(|entry| {
        // SAFETY: a look-up by number, which answers for any.
        let is_same = || unsafe { pg_sys::get_rel_relkind(entry.relid()) } == entry.relkind();
        entry.rtekind() != RTEKind::RTE_RELATION || is_same()
    })
}

/// Takes the locks on the tables of a query that was kept as a text; PostgreSQL's own ERROR if one is gone. The names of
/// columns of joins are not looked at, which rewriting has done away with.
pub fn lock_tables(query: Ref<Query>) {
    tree::search(query.node(), &mut |node, _| {
        let entries = node.cast::<Query>().map(Ref::<Query>::rtable);
        for entry in entries.into_iter().flatten() {
            if entry.rtekind() == RTEKind::RTE_RELATION {
                // SAFETY: a table is opened by number, and closed with its lock kept.
                unsafe {
                    let table = pg_sys::relation_open(entry.relid(), entry.rellockmode());
                    pg_sys::relation_close(table, pg_sys::NoLock as i32);
                }
            }
        }
        Step::Below
    });
    // Locks that the transaction has already do not make it listen to others. SAFETY: within a transaction.
    unsafe { pg_sys::AcceptInvalidationMessages() };
}

/// Rows that were put aside, each under a name, for a plan that scans them.
pub struct Aside {
    environment: *mut QueryEnvironment,
    stores: Vec<*mut Tuplestorestate>,
}

impl Aside {
    pub fn new() -> Self {
        Self {
            // SAFETY: it makes an empty one, in the current memory.
            environment: unsafe { pg_sys::create_queryEnv() },
            stores: Vec::new(),
        }
    }

    /// A place for the rows of a query with these columns, in the current memory.
    pub fn add(&mut self, name: &CStr, columns: List<TargetEntry>) -> *mut Tuplestorestate {
        // SAFETY: PostgreSQL's own structs, made in the memory in which the others are; zero is a value of each field.
        unsafe {
            let store = pg_sys::tuplestore_begin_heap(false, false, pg_sys::work_mem);
            let size = size_of::<pg_sys::EphemeralNamedRelationData>();
            let relation = pg_sys::palloc0(size).cast::<pg_sys::EphemeralNamedRelationData>();
            (*relation).md.name = pg_sys::pstrdup(name.as_ptr());
            (*relation).md.tupdesc = pg_sys::ExecCleanTypeFromTL(columns.pointer());
            (*relation).md.enrtype = pg_sys::EphemeralNameRelationType::ENR_NAMED_TUPLESTORE;
            (*relation).reldata = store.cast();
            pg_sys::register_ENR(self.environment, relation);
            self.stores.push(store);
            store
        }
    }

    /// How many rows there are in a place.
    pub fn count(&self, store: *mut Tuplestorestate) -> f64 {
        assert!(self.stores.contains(&store), "a store of these");
        // SAFETY: one of these, which live.
        unsafe { pg_sys::tuplestore_tuple_count(store) as f64 }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // After an ERROR they go with the statement.
        if !thread::panicking() {
            for store in &self.stores {
                // SAFETY: it was made here, and no plan that scans it is left.
                unsafe { pg_sys::tuplestore_end(*store) };
            }
        }
    }
}

/// A plan that has started.
pub struct Started<'t>(Ref<'t, QueryDesc>);

impl<'t> Started<'t> {
    /// Starts a plan, which may scan what was put aside; its rows go to `store`, with all of their values in them.
    ///
    /// # Safety
    /// A snapshot that lives, a store and its memory, and what was put aside, which outlive the run.
    pub unsafe fn start(
        plan: Ref<'t, PlannedStmt>,
        aside: Option<&Aside>,
        snapshot: Snapshot,
        store: *mut Tuplestorestate,
        memory: MemoryContext,
    ) -> Self {
        let null = std::ptr::null_mut();
        // SAFETY: the caller guarantees it. After an ERROR, the transaction closes what the plan has opened.
        unsafe {
            let receiver = pg_sys::CreateDestReceiver(pg_sys::CommandDest::DestTuplestore);
            pg_guard_ffi_boundary(|| {
                SetTuplestoreDestReceiverParams(
                    receiver,
                    store,
                    memory,
                    true,
                    std::ptr::null_mut(),
                    std::ptr::null(),
                )
            });
            let description = pg_sys::CreateQueryDesc(
                plan.pointer(),
                TEXT.as_ptr(),
                snapshot,
                null,
                receiver,
                null.cast(),
                aside.map_or(std::ptr::null_mut(), |aside| aside.environment),
                0,
            );
            pg_sys::ExecutorStart(description, 0);
            Self(Ref::of(description).expect("a description of a query"))
        }
    }

    /// The execution, and all nodes of the plan.
    pub fn states(&self) -> Option<(Ref<'t, EState>, Vec<Ref<'t, PlanState>>)> {
        let (execution, top) = (self.0.estate()?, self.0.planstate()?);
        // Not all of them hang on the tree yet: what a WITH RECURSIVE computes is made at its first row.
        let others = execution.es_subplanstates();
        let states = tree::states(std::iter::once(top).chain(others));
        Some((execution, states))
    }

    /// Runs the plan to its end, and ends it.
    pub fn run(self) {
        let forward = pg_sys::ScanDirection::ForwardScanDirection;
        let description = self.0.pointer();
        // SAFETY: a plan that has started and not run.
        unsafe {
            #[cfg(feature = "pg18")]
            pg_sys::ExecutorRun(description, forward, 0);
            #[cfg(not(feature = "pg18"))]
            pg_sys::ExecutorRun(description, forward, 0, true);
            pg_sys::ExecutorFinish(description);
            pg_sys::ExecutorEnd(description);
            pg_sys::FreeQueryDesc(description);
        }
    }
}

/// A snapshot that is the active one for as long as this lives.
pub struct Active(());

impl Active {
    /// # Safety
    /// A snapshot that lives.
    pub unsafe fn push(snapshot: Snapshot) -> Self {
        // SAFETY: the caller guarantees it.
        unsafe { pg_sys::PushActiveSnapshot(snapshot) };
        Self(())
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        // After an ERROR the transaction does it.
        if !thread::panicking() {
            // SAFETY: the one that was pushed.
            unsafe { pg_sys::PopActiveSnapshot() };
        }
    }
}

/// Memory that goes with what is done in it.
pub struct Memory {
    own: MemoryContext,
    before: MemoryContext,
}

impl Memory {
    /// From now on, what is made is made there.
    pub fn enter() -> Self {
        // SAFETY: a child of the current memory, as PostgreSQL makes its own.
        unsafe {
            let own = pg_sys::AllocSetContextCreateInternal(
                pg_sys::CurrentMemoryContext,
                c"private answer".as_ptr(),
                pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
            );
            let before = pg_sys::MemoryContextSwitchTo(own);
            Self { own, before }
        }
    }

    /// The memory itself.
    pub fn context(&self) -> MemoryContext {
        self.own
    }

    /// The same, for the nodes that are made in it.
    pub fn nodes(&self) -> tree::Memory<'_> {
        // SAFETY: it is the current memory as long as this lives.
        unsafe { tree::Memory::of_call() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // After an ERROR it goes with the statement.
        if !thread::panicking() {
            // SAFETY: nothing that was made in it is used from here on.
            unsafe {
                pg_sys::MemoryContextSwitchTo(self.before);
                pg_sys::MemoryContextDelete(self.own);
            }
        }
    }
}

/// The rights of a role, until this goes; an ERROR ends them too.
pub struct AsRole {
    role: Oid,
    context: i32,
}

impl AsRole {
    pub fn become_role(role: Oid) -> Self {
        let mut before = Self {
            role: Oid::INVALID,
            context: 0,
        };
        // SAFETY: it reads two numbers, and sets them.
        unsafe {
            pg_sys::GetUserIdAndSecContext(&raw mut before.role, &raw mut before.context);
            if before.role != role {
                let during = before.context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
                pg_sys::SetUserIdAndSecContext(role, during);
            }
        }
        before
    }

    /// As above, for what is run with more rights than the session's: no code of others may keep them.
    pub fn restricted(role: Oid) -> Self {
        let before = Self::become_role(role);
        let during = before.context
            | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32
            | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        // SAFETY: it sets two numbers.
        unsafe { pg_sys::SetUserIdAndSecContext(role, during) };
        before
    }
}

impl Drop for AsRole {
    fn drop(&mut self) {
        // SAFETY: it sets two numbers.
        unsafe { pg_sys::SetUserIdAndSecContext(self.role, self.context) };
    }
}

thread_local! {
    /// How many answers are under way that nothing counts.
    static UNCOUNTED: Cell<u32> = const { Cell::new(0) };
}

/// What is counted of pages and of the WAL for EXPLAIN and pg_stat_statements: it is as before where this goes.
pub struct Uncounted {
    buffers: BufferUsage,
    wal: WalUsage,
}

impl Uncounted {
    pub fn begin() -> Self {
        UNCOUNTED.set(UNCOUNTED.get() + 1);
        // SAFETY: counters of this process.
        unsafe {
            Self {
                buffers: pg_sys::pgBufferUsage,
                wal: pg_sys::pgWalUsage,
            }
        }
    }

    /// Whether one is under way.
    pub fn is_under_way() -> bool {
        UNCOUNTED.get() > 0
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        UNCOUNTED.set(UNCOUNTED.get() - 1);
        // SAFETY: the same.
        unsafe {
            pg_sys::pgBufferUsage = self.buffers;
            pg_sys::pgWalUsage = self.wal;
        }
    }
}

thread_local! {
    /// How many runs of private queries are under way.
    static RUNNING: Cell<u32> = const { Cell::new(0) };
}

/// A private query is run until this goes: what may work in one alone looks for it.
pub struct Running;

impl Running {
    pub fn begin() -> Self {
        RUNNING.set(RUNNING.get() + 1);
        Self
    }

    /// Whether one is run.
    pub fn is_under_way() -> bool {
        RUNNING.get() > 0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(RUNNING.get() - 1);
    }
}

/// Settings that hold until this goes.
pub struct Settings(i32);

impl Settings {
    pub fn begin() -> Self {
        // SAFETY: a new level of settings; the transaction ends it after an ERROR.
        Self(unsafe { pg_sys::NewGUCNestLevel() })
    }

    /// Sets one, with the right of a superuser.
    pub fn set(&self, name: &CStr, value: &CStr) {
        // SAFETY: two strings, which are copied.
        unsafe {
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_SUSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
        }
    }
}

impl Settings {
    /// They hold until the level that is returned is ended by [`end_settings`], or by an ERROR.
    pub fn leave(self) -> i32 {
        std::mem::ManuallyDrop::new(self).0
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        if !thread::panicking() {
            end_settings(self.0);
        }
    }
}

/// Ends the settings of a level that was begun, and of those within it.
pub fn end_settings(level: i32) {
    assert!(level > 1, "a level within the transaction's");
    // SAFETY: PostgreSQL puts back what was set within the level; there is nothing to put back in one that has ended.
    unsafe { pg_sys::AtEOXact_GUC(true, level) };
}

/// The value of a setting, as SHOW has it; nothing if there is no such setting.
pub fn setting(name: &CStr) -> Vec<u8> {
    // SAFETY: NULL, or a string of PostgreSQL's, which is copied.
    let value = unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes().to_vec())
    };
    value.unwrap_or_default()
}
