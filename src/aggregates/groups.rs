//! `dp_groups(groups, person, ...)`: what a person contributes to at most that many groups, which are chosen by a hash;
//! and `dp_unnest`, which makes rows of them.
//!
//! As of contributions, no answer leaves here, and nothing is raised for arguments that break their rules: a person
//! of such a call is in no group, and the call that takes contributions in finds the mistake in the plan.

use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::groups::{Salt, rank};
use dp_core::request::groups::most_groups;
use dp_core::request::unit::MOST_OF_A_PERSON;
use pgrx::PgMemoryContexts;
use pgrx::pg_sys::{Datum, FunctionCallInfo, Oid};

use crate::call::entry::transition_function;
use crate::call::group::state as state_of;
use crate::call::parts::Layout;
use crate::call::signature::at;
use crate::pg::errors::{self, Refusal};
use crate::pg::fmgr::{self, Call, argument, sql_function};
use crate::pg::grouping_keys::KeyType;
use crate::pg::memory;
use crate::pg::salt::salt;
use crate::pg::set::Rows;
use crate::pg::sql_type;
use crate::plan::planned_call::{PlannedCall, SupportFunction};
use crate::state::groups::{Column, GroupsState, Rule};
use crate::state::poisoned::Refused;
use crate::types::contribution::Sealed;
use crate::types::groups::Part;

/// What is kept for a call in a query.
struct Site {
    person: KeyType,
    /// Whether each row is looked at for another person.
    checks_person: bool,
    /// Of each argument behind the person the type of a key.
    keys: Vec<Option<KeyType>>,
    columns: Vec<Column>,
    /// Of each of them how its last value became part of a contribution.
    rules: Vec<Option<(Rule, Grid)>>,
    salt: Salt,
}

impl Site {
    fn new(call: Call) -> Option<Self> {
        let planned = PlannedCall::find(call, SupportFunction::Transition).ok()?;
        let Layout {
            person,
            is_hidden,
            columns,
        } = Layout::of(&planned).ok()?;
        let (columns, keys): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        Some(Self {
            person,
            checks_person: is_hidden,
            keys,
            rules: vec![None; columns.len()],
            columns,
            salt: Salt::of(salt()),
        })
    }

    /// The record of the call, made at the first row; `None` of a call with a mistake.
    fn of(call: Call) -> Option<&'static mut Self> {
        let flinfo = call.flinfo();
        // SAFETY: fn_extra is NULL or what this function put there, as it is the only one that does for
        // dp_groups_trans; the record lives as long as the FmgrInfo. No other reference to it exists: nothing that is
        // called for a row calls dp_groups_trans with this FmgrInfo.
        let site = unsafe {
            if (*flinfo).fn_extra.is_null() {
                (*flinfo).fn_extra = PgMemoryContexts::For((*flinfo).fn_mcxt)
                    .leak_and_drop_on_delete(Self::new(call))
                    .cast();
            }
            &mut *(*flinfo).fn_extra.cast::<Option<Self>>()
        };
        site.as_mut()
    }

    /// The rule of a part, and the grid of its values; `None` where it breaks one.
    fn rule(&mut self, column: usize, part: &Part) -> Option<&(Rule, Grid)> {
        let rule = Rule {
            total: part.is_total(),
            k: part.k,
            bounds: [part.lo, part.hi].map(f64::to_bits),
        };
        let known = self.rules.get_mut(column)?;
        if known.as_ref().is_none_or(|(last, _)| *last != rule) {
            let bounds = Bounds::new(Some(part.lo), Some(part.hi)).ok()?;
            let is_number = (1..=MOST_OF_A_PERSON).contains(&rule.k);
            let grid = if rule.total {
                Grid::signed(&bounds)
            } else {
                Grid::unit(&bounds)
            };
            *known = is_number.then_some((rule, grid));
        }
        known.as_ref()
    }

    /// The state of the person with a row more; `None` of a call with a mistake.
    ///
    /// # Safety
    /// `call` is the one that this record belongs to, and the person is not NULL.
    unsafe fn row(&mut self, call: Call) -> Option<Datum> {
        let groups = call.datum(at::GROUPS).map(|datum| datum.value() as i64);
        let groups = most_groups(groups.and_then(|groups| usize::try_from(groups).ok())).ok()?;
        // SAFETY: the plan says that the person is of this type.
        let hash = |person| unsafe { self.person.hash(person, self.salt.person) };
        // SAFETY: the SQL declaration makes argument 0 a dp_state.
        let mut state = match unsafe { state_of(call) } {
            // SAFETY: the same.
            Some(state) => unsafe { GroupsState::of(state) }?,
            None => GroupsState::new(hash(call.datum(at::PERSON)?), groups, &self.columns),
        };
        if !state.has(groups, &self.columns) {
            return None;
        }
        if self.checks_person && hash(call.datum(at::PERSON)?) != state.person() {
            state.close();
            return Some(state.into_datum());
        }
        let keys = &self.keys;
        let datum = |column: usize| call.datum(at::PARTS + column);
        let keyed = keys.iter().enumerate();
        let keyed = keyed.filter_map(|(column, key)| key.map(|key| (column, key)));
        let hash = |(column, key): (usize, KeyType)| {
            // SAFETY: the plan says that the argument is of this type.
            datum(column).map_or(0, |datum| unsafe { key.hash(datum, self.salt.keys) })
        };
        let rank = rank(state.person(), keyed.map(hash));
        // SAFETY: the same; the datum lives for the call.
        let image = |column: usize| unsafe { Some(keys[column]?.image(datum(column)?)) };
        let (mut state, slot) = state.group(rank, image, datum);
        if let Some(slot) = slot {
            for column in 0..self.keys.len() {
                if self.keys[column].is_some() {
                    continue;
                }
                // SAFETY: the plan says that it is a dp_part.
                let Some(part) = datum(column).and_then(|datum| unsafe { Part::read(datum) })
                else {
                    continue;
                };
                let (rule, grid) = self.rule(column, &part)?;
                if !part.x.is_nan() {
                    state = state.add(slot, column, rule, grid, part.x)?;
                }
            }
        }
        // The executor copies it into the aggregate's own memory where it is new.
        Some(state.into_datum())
    }
}

/// The transition function of `(state, groups, person, ...)`: a person who is NULL is ignored.
///
/// # Safety
/// PostgreSQL's own fcinfo, of a function with at least three arguments.
#[inline(always)]
unsafe fn take_row(
    fcinfo: FunctionCallInfo,
    rest: unsafe extern "C-unwind" fn(FunctionCallInfo) -> Datum,
) -> Datum {
    // SAFETY: three arguments, by the declaration.
    unsafe {
        let [state, person] = [argument(fcinfo, at::STATE), argument(fcinfo, at::PERSON)];
        memory::fetch_soon(state.value.cast_mut_ptr());
        if fmgr::in_aggregate(fcinfo) && person.isnull {
            (*fcinfo).isnull = state.isnull;
            return state.value;
        }
        rest(fcinfo)
    }
}

struct OfPerson;

impl OfPerson {
    unsafe fn other_row(&self, call: Call) -> Result<Datum, Refusal> {
        if !call.in_aggregate() {
            errors::not_our_aggregate("dp_groups").raise();
        }
        // SAFETY: the SQL declaration makes it dp_groups's transition function.
        let state = Site::of(call).and_then(|site| unsafe { site.row(call) });
        // The call that takes the contributions in finds the mistake.
        Ok(state.unwrap_or_else(|| Refused::new(0).into_datum()))
    }
}

transition_function!(dp_groups_trans, OfPerson, take_row);

/// The groups of a person are what the state has, be it of a call with a mistake.
fn kept(call: Call) -> Option<Datum> {
    if !call.in_aggregate() {
        errors::not_our_aggregate("dp_groups").raise();
    }
    // SAFETY: the SQL declaration makes argument 0 a dp_state.
    unsafe { state_of(call) }
}

sql_function!(dp_groups_final, kept);

/// The types that a query declares for the columns, and these columns, whose rules do not matter: those that were found
/// to fit.
struct Fitting(Vec<(Oid, Column)>);

impl Fitting {
    /// Whether the columns are declared as they can be read. It is looked up once for a query.
    fn fits(
        call: Call,
        declared: impl ExactSizeIterator<Item = Oid> + Clone,
        columns: &[Column],
    ) -> bool {
        if declared.len() != columns.len() {
            return false;
        }
        let flinfo = call.flinfo();
        // SAFETY: fn_extra is NULL or what this function put there, as it is the only one that does for dp_unnest;
        // the record lives as long as the FmgrInfo, and nothing else refers to it.
        let known = unsafe {
            if (*flinfo).fn_extra.is_null() {
                (*flinfo).fn_extra = PgMemoryContexts::For((*flinfo).fn_mcxt)
                    .leak_and_drop_on_delete(Self(Vec::new()))
                    .cast();
            }
            &mut *(*flinfo).fn_extra.cast::<Self>()
        };
        let types = declared.zip(columns);
        let mut known_types = known.0.iter();
        let is_known = known.0.len() == columns.len()
            && types.clone().all(|(declared, column)| {
                let known = known_types.next();
                known.is_some_and(|known| known.0 == declared && known.1.is_like(column))
            });
        let fits = |(declared, column): (Oid, &Column)| match column.key_type() {
            Some(kind) => column.is_of_type(kind) && sql_type::is_coercible(kind, declared),
            None => sql_type::is_contribution(declared),
        };
        if !is_known && !types.clone().all(fits) {
            return false;
        }
        if !is_known {
            known.0 = types
                .map(|(declared, column)| (declared, *column))
                .collect();
        }
        true
    }
}

/// The values of rows that are put together before they are handed on: so few that all they take is a small thing, by
/// what [`memory`] says of these.
const AT_ONCE: usize = 128;

/// `dp_unnest(dp_groups)`: a row for each group. Where the call has a mistake, or the query declares other columns than
/// it has, a row of NULLs: so there is a group for which the private call over these rows says what is wrong.
fn unnest(call: Call) -> Option<Datum> {
    let mut rows = Rows::of(call)?;
    let width = rows.types().len();
    // SAFETY: the SQL declaration makes argument 0 a dp_groups; nothing else reads it while this does.
    let groups = unsafe { GroupsState::of(call.datum(0)?) };
    let fits = |groups: &GroupsState| Fitting::fits(call, rows.types(), groups.columns());
    let Some(groups) = groups.filter(fits) else {
        // SAFETY: NULL for each column.
        unsafe { rows.add(&mut vec![Datum::null(); width], &mut vec![true; width]) };
        return None;
    };
    // What the values of some rows refer to, which stays where it is until they were added.
    let at_once = groups.count().min(AT_ONCE / width.max(1)).max(1);
    let most = at_once * width;
    let mut given = Vec::with_capacity(most);
    let mut values = Vec::with_capacity(most);
    let mut nulls = Vec::with_capacity(most);
    for first in (0..groups.count()).step_by(at_once) {
        given.clear();
        values.clear();
        nulls.clear();
        for slot in first..groups.count().min(first + at_once) {
            for (column, of) in groups.columns().iter().enumerate() {
                let value = if of.key_type().is_some() {
                    groups.key_datum(slot, column)
                } else {
                    let found = groups.contribution(slot, column);
                    found.map(|(bounds, found)| {
                        given.push(Sealed::new(&bounds, &found).in_groups(groups.most()));
                        Datum::from(&raw const given[given.len() - 1])
                    })
                };
                nulls.push(value.is_none());
                values.push(value.unwrap_or(Datum::null()));
            }
        }
        // SAFETY: a value for each column of each row, of its type; `given` never grew beyond its capacity, so what
        // refers to it is whole.
        unsafe { rows.add(&mut values, &mut nulls) };
    }
    None
}

sql_function!(dp_unnest, unnest);
