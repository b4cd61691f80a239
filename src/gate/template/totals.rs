//! Counts of rows and sums of people with several rows that find how much of a person counts: each person is one number,
//! their own total, and the sum of these finds its upper end, in one release.

use dp_core::request::unit::MOST_OF_A_PERSON;

use crate::gate::rejection::Checked;
use crate::gate::requests::asked::{Asked, What};
use crate::gate::template::answers::Terms;
use crate::gate::template::vector::{middle_and_half, op};
use crate::gate::template::{Level, Template, float};

impl<'t> Template<'_, 't> {
    /// Whether what is asked is such a total.
    pub(super) fn finds_rows(&self, asked: &Asked<'t>) -> bool {
        self.block.finds_rows
            && matches!(self.level, Level::Person | Level::Groups)
            && matches!(asked.what, What::Count | What::Sum)
    }

    /// The sum of the totals of people. All rows of a person are in theirs, up to a million.
    pub(super) fn write_total(&mut self, asked: &Asked<'t>) -> Checked<usize> {
        let most = MOST_OF_A_PERSON;
        let groups = self.groups;
        let look = |name: &str, part: &str| format!("dp_mean.{name}({part}, {most}, {groups})");
        let share = match (&asked.what, asked.bounds) {
            (What::Sum, Some(bounds)) => {
                let (part, _) = self.numbers(asked, most)?;
                let (middle, half) = middle_and_half(bounds);
                let [counted, centred] = ["dp_counted", "dp_centred"].map(|name| look(name, &part));
                op(
                    &op(&counted, "*", &float(middle)),
                    "+",
                    &op(&centred, "*", &float(half)),
                )
            }
            _ => {
                let (part, _) = self.rows(asked, most);
                look("dp_counted", &part)
            }
        };
        let total = op(&share, "*", &float(f64::from(most)));
        let terms = Terms::of_total(&self.price);
        let without_bounds = Some((None, None));
        self.write_call("dp_sum", &total, [without_bounds, None], &terms, "")
    }
}
