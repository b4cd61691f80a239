//! Groups whose values are public: a row for each, with anybody in it or nobody.

use pgrx::pg_sys::{self, Node};

use super::{Level, Template, base_type_name};
use crate::gate::public_keys::Public;
use crate::gate::rejection::Checked;
use crate::gate::{key_ranges, key_tables};
use crate::pg::tree::{self, Ref, Step};

impl<'t> Template<'_, 't> {
    /// A group for each combination of public values, with rows or without.
    pub(super) fn write_listed(
        &mut self,
        keys: &[usize],
        unit: usize,
        columns: &str,
    ) -> Checked<String> {
        let all = self.write_lists(keys);
        let all = match self.conditions_on(keys).as_slice() {
            [] => format!("({all}) v"),
            conditions => {
                let conditions = conditions.iter().map(|i| format!("${i}"));
                let conditions = conditions.collect::<Vec<_>>().join(" AND ");
                format!("(SELECT * FROM ({all}) v WHERE {conditions}) v")
            }
        };
        if self.answers.is_empty() {
            return Ok(format!("SELECT {columns} FROM {all}"));
        }
        if self.is_across {
            let released = self.answers.iter().zip(1..);
            let released: Vec<_> = released
                .map(|(call, i)| format!("{call} AS a{i}"))
                .collect();
            let (released, below) = (released.join(", "), self.write_below(&[], unit)?);
            return Ok(format!(
                "WITH released AS MATERIALIZED (SELECT {released} FROM {below}) \
                 SELECT {columns} FROM {all} CROSS JOIN released r"
            ));
        }
        let same = keys.iter().filter_map(|i| {
            let key = &self.keys[i - 1];
            let [one, other] = ["v", "b"].map(|side| format!("{side}.k{i}"));
            Some(
                key.public
                    .as_ref()?
                    .same(&one, &other, &base_type_name(key)),
            )
        });
        let same = same.collect::<Vec<_>>().join(" AND ");
        // By the keys that people are kept in too, where they are: dp_groups is only taken so.
        let kept = keys.iter().filter(|_| self.level == Level::Groups);
        let by = keys
            .iter()
            .map(|i| format!("v.k{i}"))
            .chain(kept.map(|i| format!("b.k{i}")));
        let by = by.collect::<Vec<_>>().join(", ");
        let below = self.write_below(keys, unit)?;
        Ok(format!(
            "SELECT {columns} FROM {all} LEFT JOIN {below} ON {same} GROUP BY {by}"
        ))
    }

    /// All combinations of public values; of keys of one table those that are in one of its rows, and of keys of one
    /// column those of one of its values.
    fn write_lists(&mut self, keys: &[usize]) -> String {
        let (all, is_across) = (self.keys, self.is_across);
        let public = |i: &usize| all[i - 1].public.as_ref();
        let of_table = |i: &usize| public(i).and_then(Public::table);
        let of_column = |i: &usize| public(i).and_then(Public::range);
        let (mut lists, mut named) = (Vec::new(), Vec::new());
        for i in keys {
            let Some(own) = public(i) else {
                continue;
            };
            let mut parameter = |node| self.parameter(node);
            // The first of those that are listed together, where that is this one with the list.
            let (first, list) = if let Some(rows) = of_table(i) {
                let same = keys.iter().filter_map(|j| Some((*j, of_table(j)?)));
                let same: Vec<_> = same
                    .filter(|(_, other)| other.table == rows.table)
                    .collect();
                let list = || key_tables::list(&same, &mut parameter);
                (same[0].0, (same[0].0 == *i).then(list))
            } else if let Some(range) = of_column(i) {
                let same = keys.iter().filter_map(|j| Some((*j, of_column(j)?)));
                let same: Vec<_> = same
                    .filter(|(_, other)| other.column == range.column)
                    .collect();
                let list = || key_ranges::list(&same, &mut parameter);
                (same[0].0, (same[0].0 == *i).then(list))
            } else {
                let kind = base_type_name(&all[i - 1]);
                let list = match is_across {
                    true => own.numbered(*i, &kind),
                    false => own.set(*i, &kind, &mut parameter),
                };
                (*i, Some(list))
            };
            lists.extend(list.map(|list| format!("({list}) v{i}")));
            named.push(format!("v{first}.k{i}"));
        }
        named.extend(is_across.then(|| self.number_of_group(keys)));
        let (named, lists) = (named.join(", "), lists.join(" CROSS JOIN "));
        format!("SELECT {named} FROM {lists}")
    }

    /// The conditions of the analyst on public values alone, as parameters: of values that they exclude there is no
    /// group. The values are columns of the only entry in FROM, in the order of the keys.
    fn conditions_on(&mut self, keys: &[usize]) -> Vec<usize> {
        let all = self.keys;
        let value_of = |node: Ref<'t, Node>| {
            let is_it = |i: &usize| all[i - 1].computed.same(node);
            let place = keys.iter().position(is_it)?;
            let (kind, collation) = (tree::type_of(node), tree::collation_of(node));
            // A list of a domain is one of its base type.
            (kind == tree::base_type(kind, -1).0).then(|| {
                let number = i16::try_from(place + 1).expect("few keys");
                tree::var(node.memory(), 1, number, kind, -1, collation)
            })
        };
        let conditions = self.block.conditions().into_iter().filter(|condition| {
            let (mut names_key, mut names_other) = (false, tree::has_sublinks(*condition));
            tree::search(*condition, &mut |node, _| {
                if value_of(node).is_some() {
                    names_key = true;
                    return Step::Past;
                }
                names_other |= node.cast::<pg_sys::Var>().is_some();
                Step::Below
            });
            names_key && !names_other
        });
        let conditions: Vec<_> = conditions
            .map(|condition| tree::change(condition.copy(), &mut |node| value_of(node)))
            .collect();
        let places = conditions
            .into_iter()
            .map(|condition| self.parameter(condition));
        places.collect()
    }
}
