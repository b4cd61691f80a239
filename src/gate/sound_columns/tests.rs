//! Queries as PostgreSQL makes them, and with a column that says another table, another one, or none.

use std::ffi::CString;

use pgrx::pg_sys::Var;
use pgrx::pg_test;

use super::check;
use crate::pg::execution::Memory;
use crate::pg::test_helpers::sql;
use crate::pg::tree;

const QUERY: &str = "WITH w AS (SELECT b.n FROM numbers b)
    SELECT a.n, a.t, (SELECT max(c.m) FROM numbers c WHERE a.t = 'x' AND EXISTS (SELECT FROM w WHERE w.n = a.n)), s.n, v.t, g
    FROM texts a JOIN LATERAL (SELECT d.n FROM numbers d WHERE d.n = a.n) s ON true,
        (VALUES (1, 'x'), (2, 'y')) v (n, t), generate_series(1, a.n) g,
        (SELECT 1, 'x'::text UNION ALL SELECT 2.5, 'y') u GROUP BY 1, 2, 4, 5, 6 HAVING max(a.n) > s.n LIMIT 5";

/// Whether all columns are sound where `change` was done to each column for which it says so.
fn is_sound(change: impl Fn(&tree::Ref<Var>) -> bool) -> bool {
    let memory = Memory::enter();
    let text = CString::new(QUERY).expect("no NUL");
    let query = tree::analyse(memory.nodes(), &text)[0];
    tree::flatten_groups(query);
    let mut changed = 0;
    tree::any(query.node(), |node| {
        changed += usize::from(node.cast::<Var>().is_some_and(|column| change(&column)));
        false
    });
    let is_sound = check(query).is_ok();
    assert!(is_sound || changed > 0);
    is_sound
}

#[pg_test]
fn a_column_is_one_of_its_table() {
    sql("CREATE TABLE texts (n int, t text); CREATE TABLE numbers (n int, m int)");
    assert!(is_sound(|_| false));
    // Those of a query around it are taken for those of the query itself, and the other way round.
    for (level, other) in [(1, 0), (0, 1), (2, 3), (0, 9)] {
        let set = |column: &tree::Ref<Var>| {
            let is_it = column.varlevelsup() == level && column.varattno() == 2;
            let is_it = is_it || column.varlevelsup() == level && other > 2;
            if is_it {
                column.set_varlevelsup(other);
            }
            is_it
        };
        assert!(!is_sound(set), "{level} {other}");
    }
    let set_entry = |number: i32| {
        move |column: &tree::Ref<Var>| {
            let is_it = column.varlevelsup() == 0 && column.varattno() == 2;
            if is_it {
                column.set_varno(number);
            }
            is_it
        }
    };
    // No entry, one of other types, and one that is out of reach.
    for number in [0, -1, 99] {
        assert!(!is_sound(set_entry(number)), "{number}");
    }
    let set_column = |number: i16| {
        move |column: &tree::Ref<Var>| {
            let is_it = column.varlevelsup() == 0 && column.varattno() == 2;
            if is_it {
                let (kind, collation) = (
                    tree::type_of(column.node()),
                    tree::collation_of(column.node()),
                );
                let other = tree::var(column.memory(), column.varno(), number, kind, -1, collation);
                column.overwrite(other.cast().expect("a column"));
            }
            is_it
        }
    };
    for number in [1, 3, 99] {
        assert!(!is_sound(set_column(number)), "{number}");
    }
}
