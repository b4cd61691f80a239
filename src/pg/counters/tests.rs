//! Lines for more databases than there is room for.

use crate::pg::counters::{DatabaseCounts, Event, line_of, read};
use pgrx::pg_test;

#[pg_test]
fn databases_without_room_share_the_last_line() {
    let lines = [const { DatabaseCounts::new() }; 3];
    for database in [7, 8, 7, 9, 10, 8] {
        line_of(&lines, database).count(Event::Release);
    }
    let counted = read(&lines);
    let counted: Vec<_> = counted
        .iter()
        .map(|line| (line.database.map(|number| number.to_u32()), line.events))
        .collect();
    let releases = |n| [0, 0, n, 0, 0, 0, 0, 0];
    let expected = [
        (Some(7), releases(2)),
        (Some(8), releases(2)),
        (None, releases(2)),
    ];
    assert_eq!(counted, expected);
}
