//! Counts of groups that are all listed, where a person may be in several: one release, with a number for each group, as
//! for conditions of FILTER. A person moves each number by 1 at most, in as many groups as there are. With few groups
//! that takes less noise than a share of the price for each group that a person is kept in.
//!
//! The proof: docs/proofs/unit.md.

use dp_core::registry;

use crate::gate::price::Price;
use crate::gate::public_keys::Public;
use crate::gate::rejection::Checked;
use crate::gate::requests::asked::What;
use crate::gate::shown::Answer;
use crate::gate::template::vector::{Release, op};
use crate::gate::template::{Level, Template, base_type_name, float, own_column};

/// The most numbers of such a release: each is one more part of what a person contributes.
const MOST_NUMBERS: usize = 64;

/// Releases that differ by less are as good.
const ALIKE: f64 = 1e-9;

impl<'t> Template<'_, 't> {
    /// The price of a release of all groups, if the answers are counts of the same number of rows of a person and each
    /// has less noise so.
    pub(super) fn price_across(&mut self, releases: &[Release<'_, 't>]) -> Option<Price> {
        let groups = self.listed_groups.filter(|_| self.level == Level::Groups)?;
        let is_count = |release: &Release<'_, 't>| {
            matches!(release.asked.what, What::Count) && !self.finds_rows(release.asked)
        };
        let is_people = |release: &Release<'_, 't>| matches!(release.asked.what, What::People);
        let are_alike = releases.iter().all(is_count) || releases.iter().all(is_people);
        let length = groups.checked_mul(releases.len())?;
        if !are_alike || self.needs_people || !(2..=MOST_NUMBERS).contains(&length) {
            return None;
        }
        let asked: Vec<_> = releases.iter().map(|release| release.asked).collect();
        let times = match is_people(&releases[0]) {
            true => asked.len() as f64,
            false => self.price_of_counts(&asked),
        };
        let of_many = registry::of_many(length as f64, self.price.is_gaussian());
        let is_less = of_many / times < f64::from(self.groups) - ALIKE;
        self.price.times(times).filter(|_| is_less)
    }

    /// Writes the counts of all groups, and what each group has of them: columns of a part.
    pub(super) fn write_across(
        &mut self,
        releases: &[Release<'_, 't>],
        price: &Price,
    ) -> Checked<Vec<usize>> {
        (self.level, self.groups, self.is_across) = (Level::Person, 1, true);
        let groups = self.conditions_of_groups();
        let rows = match releases.first().map(|release| &release.asked.what) {
            Some(What::People) => 1,
            _ => self.rows,
        };
        let mut parts = Vec::new();
        for release in releases {
            let argument = release
                .asked
                .argument
                .map(|argument| self.parameter(argument));
            let filter = self.filter(release.asked);
            for group in &groups {
                let conditions = filter.iter().chain([group]);
                let conditions: Vec<_> = conditions.map(|one| format!("({one})")).collect();
                let condition = Some(conditions.join(" AND "));
                parts.push(self.counted(argument, condition, rows).0);
            }
        }
        self.write_parts(parts, rows, price)?;
        let scale = self.scale_of_last();
        let column = own_column(self.answers.len());
        let first = self.outputs.len();
        for place in 0..releases.len() {
            let from = place * groups.len();
            let number = format!("({column})[o.n OPERATOR(pg_catalog.+) {from}]");
            self.note_scale(Answer::Column(self.outputs.len()), scale);
            self.outputs.push(op(&number, "*", &float(f64::from(rows))));
        }
        Ok((first..self.outputs.len()).collect())
    }

    /// The condition that a row is in a group, of each: the last key changes first.
    fn conditions_of_groups(&self) -> Vec<String> {
        let mut groups = vec![Vec::new()];
        for i in &self.set {
            let key = &self.keys[i - 1];
            let Some(public) = &key.public else { continue };
            let kind = base_type_name(key);
            let values = (1..=public.count()).map(|n| public.is_value(&format!("${i}"), n, &kind));
            let values: Vec<String> = values.collect();
            let with = |group: &Vec<String>| {
                let group = group.clone();
                let with =
                    |value: &String| [group.as_slice(), std::slice::from_ref(value)].concat();
                values.iter().map(with).collect::<Vec<_>>()
            };
            groups = groups.iter().flat_map(with).collect();
        }
        let groups = groups.into_iter();
        groups.map(|group| group.join(" AND ")).collect()
    }

    /// The number of a group among all, from those of its values, which are columns `n{i}` of `v{i}`.
    pub(super) fn number_of_group(&self, keys: &[usize]) -> String {
        let number = keys.iter().fold(None, |number: Option<String>, i| {
            let public = self.keys[i - 1].public.as_ref();
            let count = public.map_or(1, Public::count);
            let own = format!("v{i}.n{i}");
            Some(match number {
                None => own,
                Some(number) => {
                    let before = op(&op(&number, "-", "1"), "*", &count.to_string());
                    op(&before, "+", &own)
                }
            })
        });
        format!("{} AS n", number.unwrap_or_else(|| "1".to_owned()))
    }
}
