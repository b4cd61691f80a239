//! The groups of a person, whatever a slot has of them.

use dp_core::encoding::contribution::{PersonRows, PersonTotal};
use dp_core::encoding::grid::{Bounds, Grid};
use dp_core::encoding::groups::KeptGroup;
use pgrx::pg_test;

use super::{Column, GroupsState, Rule};
use crate::pg::grouping_keys::Image;
use crate::state::scalar::RowSums;

const COLUMNS: [Column; 2] = [Column::CONTRIBUTION; 2];

fn bounds(lo: f64, hi: f64) -> Bounds {
    Bounds::new(Some(lo), Some(hi)).expect("bounds")
}

/// The rules of both columns: rows, and their total.
fn rules() -> [(Rule, Grid); 2] {
    let [rows, total] = [bounds(0.0, 1.0), bounds(-8.0, 8.0)];
    let rule = |total, k, bounds: &Bounds| Rule {
        total,
        k,
        bounds: [bounds.lo(), bounds.hi()].map(f64::to_bits),
    };
    [
        (rule(false, 2, &rows), Grid::unit(&rows)),
        (rule(true, 1, &total), Grid::signed(&total)),
    ]
}

/// Rows of a person: the group, which is its own rank, the column, and the value.
type Row = (u64, usize, f64);

fn taken(rows: &[Row]) -> GroupsState<'static> {
    rows.iter().fold(
        GroupsState::new(7, 100, &COLUMNS),
        |state, (group, column, x)| {
            let (state, slot) = state.group(*group, |_| None::<Image>, |_| None);
            let (rule, grid) = &rules()[*column];
            let slot = slot.expect("a group that stays");
            state.add(slot, *column, rule, grid, *x).expect("one rule")
        },
    )
}

/// That the state has in each group what these rows come to by themselves.
fn assert_has(state: &GroupsState, rows: &[Row]) {
    let [(rule, unit), (_, signed)] = rules();
    for slot in 0..state.count() {
        let of = |column| {
            rows.iter()
                .filter(move |row| (row.0, row.1) == (state.rank(slot), column))
        };
        let (mut sums, mut total) = (PersonRows::default(), PersonTotal::default());
        of(0).for_each(|row| sums.add(unit.steps_above(row.2)));
        of(1).for_each(|row| total.add(PersonTotal::steps(&signed, row.2)));
        let expected = [
            sums.contribution(rule.k),
            total.contribution(&bounds(-8.0, 8.0)),
        ];
        let found = [0, 1].map(|column| state.contribution(slot, column).map(|found| found.1));
        assert_eq!(found, expected, "{slot} {rows:?}");
    }
}

const VALUES: [[f64; 3]; 2] = [
    [0.0, 0.3, f64::INFINITY],
    [0.0, f64::NEG_INFINITY, f64::MAX],
];

#[pg_test]
fn one_row_or_several_of_a_group_are_added_up_exactly() {
    // Up to two rows of a group and column in each of two parts: both forms meet both, in both orders.
    for counts in 0..81 {
        let count = |i: u32| counts / 3usize.pow(i) % 3;
        let part = |part: u32| {
            let columns = [0, 1].map(|column| {
                let values = VALUES[column].iter().skip(part as usize);
                let rows = values.take(count(2 * part + column as u32));
                rows.map(move |x| (5, column, *x))
            });
            Vec::from_iter(columns.into_iter().flatten())
        };
        let parts = [0, 1].map(part);
        let all = parts.concat();
        assert_has(&taken(&all), &all);
        for [into, from] in [[0, 1], [1, 0]] {
            let merged = taken(&parts[into]).merge(&taken(&parts[from]));
            assert_has(&merged.expect("one rule"), &all);
        }
    }
}

#[pg_test]
fn groups_stay_what_they_are_as_their_number_grows() {
    let rows = |of: u64| {
        (0..100u64).map(move |i| (i * 37 % 100, (i % 2) as usize, (i % of) as f64 / of as f64))
    };
    for second in [None, Some(0), Some(50), Some(99)] {
        let again = second.map(|group| (group, 0, 0.5));
        let all = Vec::from_iter(rows(7).chain(again).chain(again));
        let state = taken(&all);
        assert_eq!(state.count(), 100);
        assert_has(&state, &all);
        let others = Vec::from_iter(rows(3));
        let merged = taken(&others).merge(&state).expect("one rule");
        assert_has(&merged, &[others, all].concat());
    }
}
