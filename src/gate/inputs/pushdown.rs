//! Conditions on one joined table alone, which hold for what is read of it.

use std::collections::BTreeMap;

use pgrx::pg_sys::{FromExpr, JoinExpr, JoinType, Node, Query, RangeTblRef, Var};

use crate::pg::stack;
use crate::pg::tree::{self, Ref, Step};

/// The conditions on each joined table alone, by the number of the table.
pub type Conditions<'t> = BTreeMap<i32, Vec<Ref<'t, Node>>>;

/// Takes the conditions on one joined table alone out of FROM and WHERE: they hold for what is read of it.
pub fn take<'t>(query: Ref<'t, Query>, tables: &[i32]) -> Conditions<'t> {
    let mut taken: Conditions = tables.iter().map(|i| (*i, Vec::new())).collect();
    if let Some(from) = query.jointree() {
        sift(from.node(), Vec::new(), &mut taken);
    }
    taken
}

/// Passes conditions, and those of FROM and its joins, down to where the only table is that they are about. What comes
/// back is left over.
fn sift<'t>(
    node: Ref<'t, Node>,
    above: Vec<Ref<'t, Node>>,
    taken: &mut Conditions<'t>,
) -> Vec<Ref<'t, Node>> {
    stack::check();
    if let Some(table) = node.cast::<RangeTblRef>() {
        let Some(own) = taken.get_mut(&table.rtindex()) else {
            return above;
        };
        let (found, left) = above
            .into_iter()
            .partition(|condition| is_about(*condition, table.rtindex()));
        own.extend::<Vec<_>>(found);
        return left;
    }
    if let Some(join) = node.cast::<JoinExpr>() {
        let own = tree::conjuncts(join.quals());
        let [Some(left), Some(right)] = [join.larg(), join.rarg()] else {
            return above;
        };
        // Rows of the other side stay whatever a condition in ON says, and rows of this one whatever one above says
        // of what may be missing.
        let (own, above) = match join.jointype() {
            JoinType::JOIN_INNER => sift_both(own, above, &[left, right], taken),
            JoinType::JOIN_LEFT => (sift(right, own, taken), sift(left, above, taken)),
            JoinType::JOIN_RIGHT => (sift(left, own, taken), sift(right, above, taken)),
            _ => (own, above),
        };
        join.set_quals(tree::all_of(own));
        return above;
    }
    let Some(from) = node.cast::<FromExpr>() else {
        return above;
    };
    let parts = from.fromlist().nodes();
    let (own, above) = sift_both(tree::conjuncts(from.quals()), above, &parts, taken);
    from.set_quals(tree::all_of(own));
    above
}

/// Passes two lists of conditions down to the same parts, at once: each part is visited once.
fn sift_both<'t>(
    own: Vec<Ref<'t, Node>>,
    above: Vec<Ref<'t, Node>>,
    parts: &[Ref<'t, Node>],
    taken: &mut Conditions<'t>,
) -> (Vec<Ref<'t, Node>>, Vec<Ref<'t, Node>>) {
    let all = [above, own.clone()].concat();
    let left = parts
        .iter()
        .fold(all, |left, part| sift(*part, left, taken));
    left.into_iter().partition(|one| own.contains(one))
}

/// Whether a condition is about the columns of one table alone, and of no query around it.
fn is_about(condition: Ref<Node>, index: i32) -> bool {
    if tree::has_sublinks(condition) {
        return false;
    }
    let (mut names_it, mut names_other) = (false, false);
    tree::search(condition, &mut |node, _| {
        if let Some(column) = node.cast::<Var>() {
            let is_it = column.varno() == index && column.varlevelsup() == 0;
            names_it |= is_it;
            names_other |= !is_it;
        }
        Step::Below
    });
    names_it && !names_other
}
