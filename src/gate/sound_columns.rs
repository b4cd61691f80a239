//! The last look at a private query before it runs: each window is one of its query, and each column is one of its
//! table, with the type that it has there. A column that was moved between queries may say the wrong one. PostgreSQL
//! looks at some columns when the first row is there, which is an error by a row; at those that a sub-query sees of the
//! row around it, never: a number would be read as the place of a text in memory.

#[cfg(feature = "pg_test")]
mod tests;

use pgrx::pg_sys::{
    self, Node, Oid, Query, RTEKind, RangeTblEntry, SetOperationStmt, Var, WindowFunc,
};

use crate::gate::rejection::{Checked, Reason};
use crate::pg::stack;
use crate::pg::tree::{self, Ref, Step};

pub fn check(query: Ref<Query>) -> Checked<()> {
    let mut columns = Columns::default();
    match columns.are_sound(query) {
        true => Ok(()),
        false => Err(Reason::with_hint(
            "a column of the query would be read as one of another table",
            "Join the tables in the place of sub-queries. This is an error of dp_mean: please report the query.",
        )),
    }
}

/// The queries around a part, the nearest one last.
#[derive(Default)]
struct Columns<'t>(Vec<Ref<'t, Query>>);

impl<'t> Columns<'t> {
    fn are_sound(&mut self, query: Ref<'t, Query>) -> bool {
        stack::check();
        self.0.push(query);
        let own = [
            query.targetList().node(),
            query.jointree().map(Ref::node),
            query.havingQual(),
            query.limitCount(),
            query.limitOffset(),
        ];
        // What the columns of a join stand for may be gone with its tables: nothing names these then.
        let entries = query.rtable().into_iter().flat_map(|entry| {
            let below = entry.subquery().map(Ref::node);
            let calls = [entry.functions().node(), entry.securityQuals().node()];
            calls.into_iter().chain([below]).flatten()
        });
        let withs = query.cteList().into_iter().filter_map(Ref::ctequery);
        let parts: Vec<_> = own
            .into_iter()
            .flatten()
            .chain(entries)
            .chain(withs)
            .collect();
        let are_sound = parts.into_iter().all(|part| self.is_sound(part));
        self.0.pop();
        are_sound
    }

    fn is_sound(&mut self, part: Ref<'t, Node>) -> bool {
        !tree::search(part, &mut |node, _| {
            if let Some(query) = node.cast::<Query>() {
                return match self.are_sound(query) {
                    true => Step::Past,
                    false => Step::Stop,
                };
            }
            let is_column = node
                .cast::<Var>()
                .is_none_or(|column| self.is_column(column));
            let is_window = node
                .cast::<WindowFunc>()
                .is_none_or(|call| self.has_window(call));
            match is_column && is_window {
                true => Step::Below,
                false => Step::Stop,
            }
        })
    }

    /// Whether the window of a function is one of its query: by another number PostgreSQL would look past the last one.
    fn has_window(&self, call: Ref<WindowFunc>) -> bool {
        let windows = self.0.last().map(|query| query.windowClause().nodes());
        let windows = windows.unwrap_or_default();
        let mut numbers = windows.iter().map(|window| window.winref());
        call.winref() as usize <= windows.len() && numbers.any(|number| number == call.winref())
    }

    fn is_column(&self, column: Ref<Var>) -> bool {
        let level = column.varlevelsup() as usize;
        let query = self.0.iter().rev().nth(level);
        let place = usize::try_from(column.varno() - 1);
        let entry = query.zip(place.ok()).and_then(|(query, place)| {
            let mut entries = query.rtable().into_iter();
            entries.nth(place)
        });
        let Some(entry) = entry else {
            return false;
        };
        if column.varattno() <= 0 {
            return true;
        }
        let kind = tree::type_of(column.node());
        // The columns of a set operation are its own: PostgreSQL casts to these what its parts have.
        let operation = query.and_then(|query| query.setOperations());
        let operation = operation.and_then(|all| all.cast::<SetOperationStmt>());
        if let Some(operation) = operation.filter(|_| level == 0) {
            let place = usize::try_from(column.varattno() - 1);
            let kinds = operation.colTypes().oids();
            return place.is_ok_and(|place| kinds.get(place) == Some(&kind));
        }
        type_in(entry, column.varattno()).is_none_or(|found| found == kind)
    }
}

/// The type of a column of an entry, invalid if it has none; `None` where the entry does not say, as a function.
fn type_in(entry: Ref<RangeTblEntry>, column: i16) -> Option<Oid> {
    let place = usize::try_from(column).ok()?.checked_sub(1)?;
    match entry.rtekind() {
        // SAFETY: a lookup in the catalog, which answers for any number.
        RTEKind::RTE_RELATION => Some(unsafe { pg_sys::get_atttype(entry.relid(), column) }),
        RTEKind::RTE_SUBQUERY => {
            let mut targets = entry.subquery()?.targetList().into_iter();
            let target = targets.find(|target| target.resno() == column && !target.resjunk());
            let value = target.and_then(|target| target.expr());
            Some(value.map_or(Oid::INVALID, tree::type_of))
        }
        RTEKind::RTE_CTE | RTEKind::RTE_VALUES | RTEKind::RTE_NAMEDTUPLESTORE => {
            let kind = entry.coltypes().oids().get(place).copied();
            Some(kind.unwrap_or(Oid::INVALID))
        }
        RTEKind::RTE_RESULT => Some(Oid::INVALID),
        _ => None,
    }
}
