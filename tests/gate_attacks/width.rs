//! Rows with more columns than PostgreSQL forms: an error that is raised when there is one.

use super::Stage;

/// Columns of a table that has everybody, the special person too.
const COLUMNS: usize = 100;

fn stage() -> Stage {
    let mut stage = Stage::new();
    let columns = (0..COLUMNS).map(|i| format!("c{i} int NOT NULL DEFAULT 1"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    stage.as_owner(&format!(
        "CREATE TABLE wide (who int NOT NULL, {columns}); INSERT INTO wide SELECT generate_series(1, 700);
         CREATE INDEX ON wide (who); ANALYZE wide;
         SELECT dp_protect('wide', 'who', 'patients', query_delta => 1e-300); SELECT dp_allow('wide', '{{a}}')"
    ));
    stage
}

/// All columns of that many copies of the table, for the special person, if they are among people.
fn joined(tables: usize) -> String {
    let from = (0..tables).map(|i| format!(" JOIN wide w{i} ON w{i}.who = p.person"));
    let all = (0..tables).flat_map(|i| (0..COLUMNS).map(move |j| format!("w{i}.c{j} > 0")));
    format!(
        "SELECT count(*) FILTER (WHERE NOT ({})) FROM people p{} WHERE p.person = 666",
        all.collect::<Vec<_>>().join(" AND "),
        from.collect::<String>()
    )
}

#[test]
fn no_row_has_too_many_columns() {
    let mut stage = stage();
    for before in ["", "SET enable_sort = off", "SET enable_hashagg = off"] {
        let end = stage.assert_tells_nothing(before, &joined(17));
        let (code, message) = end.error.expect("refused");
        assert!(
            code == "42501" && message.contains("more than 1600 columns"),
            "{message}"
        );
        stage.assert_tells_without(&["size"], before, &joined(17));
        // As many as there may be.
        let end = stage.assert_tells_nothing(before, &joined(15));
        assert_eq!(end.error, None);
    }
}

/// Columns of sub-queries, of both sides of a FULL JOIN, and of what is computed.
#[test]
fn columns_are_counted_wherever_they_are() {
    let mut stage = stage();
    let pairs = (0..41).flat_map(|i| (0..41).map(move |j| format!("coalesce(a.c{i}, b.c{j}) > 0")));
    let pairs = pairs.collect::<Vec<_>>().join(" AND ");
    let sums = (0..1601).map(|i| format!("sum(c{}) FILTER (WHERE c1 > {i}) AS s{i}", i % COLUMNS));
    let sums = sums.collect::<Vec<_>>().join(", ");
    for sql in [
        format!(
            "SELECT count(*) FILTER (WHERE NOT ({pairs})) FROM wide a FULL JOIN wide b ON a.who = b.who"
        ),
        format!("SELECT count(s7) FROM (SELECT who, {sums} FROM wide GROUP BY who) s"),
    ] {
        let end = stage.assert_tells_nothing("", &sql);
        let (code, message) = end.error.expect("refused");
        assert!(
            code == "42501" && message.contains("more than 1600 columns"),
            "{message}"
        );
    }
}
