//! Keys that WHERE compares with constants: `=`, IN, `= ANY`, and OR of these. No row has another value, so the constants
//! are the groups, with rows or without.

use pgrx::pg_sys::{self, BoolExprType, Node, NodeTag, Oid};

use crate::gate::canonical_keys;
use crate::pg::constant;
use crate::pg::stack;
use crate::pg::tree::{self, Ref};

/// The most values of a list.
const MOST: usize = 1000;

/// The values that a key can have by the conditions that all rows meet, as texts of its type; `None` where they say none.
/// `computed` is the key as it is computed of a row, which conditions may have, too. `folded` computes constants.
pub fn of<'t>(
    key: Ref<'t, Node>,
    computed: Ref<'t, Node>,
    conditions: &[Ref<'t, Node>],
    folded: &dyn Fn(Ref<'t, Node>) -> Ref<'t, Node>,
) -> Option<Vec<String>> {
    let (kind, _) = tree::base_type(tree::type_of(key), -1);
    // Else a constant may look different from the values that are equal to it.
    let is_plain = canonical_keys::has_one_form(kind, tree::collation_of(key));
    if !is_plain || !constant::is_read_as_written(kind) {
        return None;
    }
    let compared = Compared {
        keys: [key, computed].map(|key| plain(folded(key.copy()))),
        equals: canonical_keys::equality_of(kind),
    };
    let lists = conditions
        .iter()
        .filter_map(|condition| compared.values(folded(condition.copy())));
    let mut values = lists.reduce(|mut values, other| {
        values.retain(|value| other.contains(value));
        values
    })?;
    values.sort();
    values.dedup();
    (1..=MOST).contains(&values.len()).then_some(values)
}

/// What constants are compared with.
struct Compared<'t> {
    keys: [Ref<'t, Node>; 2],
    /// Equality of its type.
    equals: Oid,
}

impl<'t> Compared<'t> {
    /// The values that a condition leaves.
    fn values(&self, condition: Ref<'t, Node>) -> Option<Vec<String>> {
        stack::check();
        if let Some(either) = condition.cast::<pg_sys::BoolExpr>() {
            if either.boolop() != BoolExprType::OR_EXPR {
                return None;
            }
            let arms = either.args().into_iter().map(|arm| self.values(arm));
            return Some(arms.collect::<Option<Vec<_>>>()?.concat());
        }
        if let Some(any) = condition.cast::<pg_sys::ScalarArrayOpExpr>() {
            let [one, list] = any.args().nodes()[..] else {
                return None;
            };
            let is_list =
                any.useOr() && self.is_equal(any.opno(), any.inputcollid()) && self.is_key(one);
            let list = plain(list).cast::<pg_sys::Const>().filter(|_| is_list)?;
            return constant::elements(list).filter(|values| values.len() <= MOST);
        }
        let comparison = condition.operator();
        let comparison = comparison.filter(|_| condition.tag() == NodeTag::T_OpExpr)?;
        let [one, other] = comparison.args().nodes()[..] else {
            return None;
        };
        let value = match (self.is_key(one), self.is_key(other)) {
            (true, false) => other,
            (false, true) => one,
            _ => return None,
        };
        let is_equal = self.is_equal(comparison.opno(), comparison.inputcollid());
        let value = plain(value).cast::<pg_sys::Const>().filter(|_| is_equal)?;
        (!value.constisnull()).then(|| vec![constant::text_of(value)])
    }

    fn is_key(&self, node: Ref<'t, Node>) -> bool {
        self.keys.iter().any(|key| plain(node).same(*key))
    }

    /// Whether an operator holds for values alone that are the same bytes.
    fn is_equal(&self, operator: Oid, collation: Oid) -> bool {
        operator == self.equals && canonical_keys::is_bytewise(collation)
    }
}

/// A value without the marks of another type that has the same bytes.
fn plain(node: Ref<Node>) -> Ref<Node> {
    let mut node = node;
    while let Some(below) = node
        .cast::<pg_sys::RelabelType>()
        .and_then(|same| same.arg())
    {
        node = below;
    }
    node
}
