//! The answer: kept, or computed once, behind a wall. Messages, counters, settings and rights of the run stay inside.

use std::time::Duration;

use pgrx::pg_sys::{CteScanState, Datum, Query, Snapshot};

use crate::gate::access;
use crate::gate::answer::question::Question;
use crate::gate::answer::remote::Remote;
use crate::gate::answer::{early_groups, identity, paid_periods, settle};
use crate::gate::defence::Defence;
use crate::gate::errors::{self, Refusal};
use crate::gate::policy::{Policy, quoted_name};
use crate::gate::{foreign_code, inputs, length, message_filter};
use crate::ledger::division::Charged;
use crate::ledger::{charge as ledger, session};
use crate::pg::counters::{Event, count};
use crate::pg::execution::{self, Active, AsRole, Memory, Running, Settings, Started, Uncounted};
use crate::pg::fmgr::{Call, sql_function};
use crate::pg::objects;
use crate::pg::padding::padded;
use crate::pg::set::Rows;
use crate::pg::settings;
use crate::pg::tree::{self, Parameters, Ref};
use crate::pg::tree_text;
use crate::pg::varlena::text_bytes;
use crate::safe_functions::caches;
use crate::store::{self, Key};

/// `dp_mean.answer(block, ...)`: the rows of a private query.
fn answer(call: Call) -> Option<Datum> {
    let token = call.datum(0).map(|datum| {
        // SAFETY: the SQL declaration makes it a dp_mean.block, which is a varlena.
        unsafe { text_bytes(datum) }
    });
    let question = token.and_then(|token| Question::open(&token));
    let (Some(question), Some(mut rows)) = (question, Rows::of(call)) else {
        errors::no_question().raise()
    };
    let parameters: Vec<_> = (2..call.len())
        .map(|i| (call.argument_type(i), call.datum(i)))
        .collect();
    let memory = Memory::enter();
    let parameters = settle::parameters(memory.nodes(), &parameters);
    if let Err(refusal) = run(&question, parameters, &mut rows, &memory) {
        refusal.raise()
    }
    None
}

sql_function!(dp_answer, answer);

fn run<'t>(
    question: &Question,
    parameters: Parameters<'t>,
    rows: &mut Rows,
    memory: &'t Memory,
) -> Result<(), Refusal> {
    if session::is_worker() || session::in_parallel() {
        return Err(errors::no_worker());
    }
    if Defence::Isolation.stands() && session::shows_reads() {
        return Err(errors::serializable());
    }
    let _messages = message_filter::Silence::begin();
    let _counters = Uncounted::begin();
    // Another role may fetch from a cursor: the one that asked reads.
    let _role = AsRole::become_role(question.reader);
    let snapshot = rows.snapshot();
    // SAFETY: the snapshot of an execution that runs.
    let _active = unsafe { Active::push(snapshot) };
    let query = read(memory.nodes(), question)?;
    let policy = policy(question)?;
    let mut request = question.bill.request(&policy)?;
    let settled = settle::settle(query, parameters);
    length::check(settled)?;
    request.charged = paid_periods::charged(settled, &policy, question.bill.is_of_one_period)?;
    let kept = Keeping::of(question, &policy, settled, request.charged.as_ref());
    if let Some(charged) = &request.charged {
        paid_periods::limit_rows(settled, &policy, charged);
    }
    // From here on, others who ask the same wait until the answer is kept.
    let _asking = kept.as_ref().and_then(|kept| store::lock(&kept.key));
    if let Some(kept) = &kept
        && let Some(bytes) = store::find(&kept.key)
    {
        if Defence::Rights.stands() {
            access::check_all(settled);
        }
        if rows.put_bytes(&bytes) {
            ledger::reused(&request);
            return Ok(());
        }
    }
    if Defence::Snapshot.stands()
        && question.trusts_indexes
        && is_older_than_an_index(&policy, snapshot)
    {
        return Err(errors::older_than_index(&quoted_name(policy.relation)));
    }
    let is_looked_at = [Defence::Operators, Defence::Total, Defence::Names];
    if is_looked_at.into_iter().all(Defence::stands) && foreign_code::is_in(settled) {
        return Err(errors::foreign_code());
    }
    let named = objects::Named::by(settled);
    let calls = caches::Calls::of(settled);
    let before = identity::settings();
    let settings = Settings::begin();
    if Defence::Counters.stands() {
        // Of tables, indexes and temporary files, until the end of the run. The planner looks into indexes, too.
        settings.set(c"track_counts", c"off");
    }
    // SAFETY: the snapshot of an execution that runs.
    let mut remote = unsafe { Remote::prepare(settled, &policy, snapshot, memory, &settings) }?;
    let planned = match remote {
        None => early_groups::plan(settled, &policy),
        Some(_) => execution::plan(settled),
    };
    if Defence::Compiled.stands() {
        // The asker says from which cost on that is done, and would tell by the time what the planner knows of rows.
        planned.set_jitFlags(0);
    }
    if !execution::reads_what_it_was_made_for(planned) {
        return Err(errors::dropped());
    }
    // Else an answer by other settings would be kept for those who ask by these.
    if identity::settings() != before {
        return Err(errors::set_meanwhile());
    }
    let traces = calls.make();
    let aside = remote.as_ref().map(Remote::aside);
    // SAFETY: a store that lives as long as the query, and memory, and what was put aside, as long as this run.
    let started =
        unsafe { Started::start(planned, aside, snapshot, rows.store(), memory.context()) };
    // Before the charge, so that what cannot be read costs nothing.
    if let Some((execution, states)) = started.states() {
        for scan in states
            .into_iter()
            .filter_map(|state| state.cast::<CteScanState>())
        {
            length::check_input(inputs::fill(execution, scan))?;
        }
    }
    // As late as can be: the planner may run code of those who own joined tables, as of a condition of an index.
    if Defence::Objects.stands() && !named.hold() {
        return Err(errors::dropped());
    }
    if Defence::Charge.stands() && !question.bill.is_free() {
        ledger::charge(&request)?;
    }
    count(Event::Query);
    // From here on rows are read. Before the answer is kept, so that nobody else learns of it earlier.
    padded(settings::answer_after(), || {
        if let Some(remote) = &mut remote {
            remote.read();
        }
        let running = Running::begin();
        started.run();
        drop(traces);
        drop(running);
        drop(remote);
        drop(settings);
    });
    if let Some(kept) = kept
        && let Some(bytes) = rows.bytes(store::MOST_BYTES)
    {
        store::keep(&kept.key, &bytes, kept.lifetime);
    }
    Ok(())
}

/// The private query of a question, with its tables locked.
fn read<'t>(memory: tree::Memory<'t>, question: &Question) -> Result<Ref<'t, Query>, Refusal> {
    let query = tree_text::read(memory, &question.tree);
    let query = query.and_then(|node| node.cast::<Query>());
    let query = query.ok_or_else(errors::no_question)?;
    execution::lock_tables(query);
    Ok(query)
}

/// The policy, if it still is what the question was written for.
pub fn policy(question: &Question) -> Result<std::rc::Rc<Policy>, Refusal> {
    let bill = &question.bill;
    let name = quoted_name(bill.relation);
    let policy = Policy::of_all(bill.relation, &bill.others);
    let policy = policy.ok_or_else(|| errors::not_allowed(&name))?;
    let policy = policy.map_err(|_| errors::policy_changed(&name))?;
    match policy.digest == question.policy || !Defence::Again.stands() {
        true => Ok(policy),
        false => Err(errors::policy_changed(&name)),
    }
}

/// Where the answer of a question is kept, and for how long.
struct Keeping {
    key: Key,
    lifetime: Duration,
}

impl Keeping {
    /// `None` where an answer is not to be kept.
    fn of(
        question: &Question,
        policy: &Policy,
        settled: Ref<Query>,
        charged: Option<&Charged>,
    ) -> Option<Self> {
        let lifetime = Duration::from_secs(policy.label.reuse);
        if lifetime.is_zero() || question.bill.is_free() || !settings::reuses() {
            return None;
        }
        let key = identity::key(question, settled, charged);
        Some(Self { key, lifetime })
    }
}

/// Whether rows are read as they were before an index was made that says that each is a person. A function that is
/// STABLE, a cursor and COPY have the snapshot of a statement that may have waited for long; a plan may be older than a
/// transaction that keeps its snapshot.
fn is_older_than_an_index(policy: &Policy, snapshot: Snapshot) -> bool {
    let is_new = |since| !session::is_seen(since, snapshot);
    policy.indexes().any(is_new)
}

/// Whether the answer of a question without parameters is kept now, so that it costs nothing; and the periods that pay
/// it else.
pub fn is_kept(question: &Question) -> Result<(bool, Option<Charged>), Refusal> {
    let memory = Memory::enter();
    let query = read(memory.nodes(), question)?;
    let policy = policy(question)?;
    let settled = settle::settle(query, None);
    let charged = paid_periods::charged(settled, &policy, question.bill.is_of_one_period)?;
    let kept = Keeping::of(question, &policy, settled, charged.as_ref());
    let is_kept = kept.is_some_and(|kept| store::find(&kept.key).is_some());
    Ok((is_kept, charged))
}
