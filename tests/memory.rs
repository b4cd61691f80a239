//! Where memory ends, a statement ends with an ERROR and the server goes on.
//!
//! A limit on the address space of one backend makes memory end, at one place after the other: the limit grows
//! by small steps, from where the session starts to where the query has its answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dp_mean_tests::{Build, Database, refusal, run, session, value};
use postgres::Client;

const TABLE: &str = "
    CREATE TABLE t AS SELECT i % 12 AS k, i::float8 AS x, ARRAY[i % 2 = 0, true] AS bs,
        ARRAY[i, -i]::float8[] AS xs
        FROM generate_series(1, 7000) i; ANALYZE t";

/// Queries whose memory a call or the rows choose, and how many MiB are enough for them.
const QUERIES: [(&str, u64); 11] = [
    (
        "SELECT k, dp_sums(xs, 0, 1, 1.0, 'laplace(d=100000)') FROM t GROUP BY k",
        64,
    ),
    (
        "SELECT dp_sums_estimate(xs, 0, 1, 1.0, 'ellipse(delta=1e-6, k=1, d=20000)') FROM t",
        12,
    ),
    (
        "SELECT dp_means(xs, 0, 1, 1.0, 'correlated(delta=1e-6, d=20000)') FROM t",
        12,
    ),
    (
        "SELECT dp_counts(1.0, 'correlated(delta=1e-6, d=20000)', VARIADIC bs) FROM t",
        12,
    ),
    ("SELECT dp_histogram(x, 0, 7000, 100000, 1.0) FROM t", 20),
    ("SELECT dp_histogram_edges(0, 7000, 100000)", 20),
    (
        "SELECT k, dp_quantiles(x, 0, 7000, '{0.1,0.4,0.9}', 1.0, 'em(bins=65536)') FROM t GROUP BY k",
        40,
    ),
    (
        "SELECT dp_mean(x, NULL, NULL, 1.0, 'symmetric(delta=1e-6, scale=0.01)') FROM t",
        20,
    ),
    (
        "SELECT x, dp_mean_estimate(x, 0, 7000, 0.1) FROM t GROUP BY x",
        20,
    ),
    // Many groups of each person, with long keys; and many persons.
    (
        "SELECT g.x, dp_count(c, 1.0, 'geometric(groups=1000)') FROM (SELECT k, dp_groups(1000, k, x, \
         repeat('long ', 500) || x, dp_part(x, 0, 7000)) AS kept FROM t GROUP BY k) AS people, \
         dp_unnest(kept) AS g(x float8, name text, c dp_contribution) GROUP BY g.x, g.name",
        120,
    ),
    (
        "SELECT g.k, dp_count(c, 1.0, 'geometric(groups=3)') FROM (SELECT x, dp_groups(3, x, k, dp_part(x, 0, 7000)) \
         AS kept FROM t GROUP BY x) AS people, dp_unnest(kept) AS g(k int, c dp_contribution) GROUP BY g.k",
        12,
    ),
];

/// A session with that many bytes more than it has now.
fn limited(database: &Database, more: u64) -> Client {
    let mut client = database.connect();
    // What is looked up first is not what is tested, and the first ERROR of a process loads what raises it.
    run(
        &mut client,
        "SET work_mem = '1GB'; SELECT dp_count(1.0) FROM t",
    );
    assert!(client.simple_query("SELECT dp_count(-1) FROM t").is_err());
    run(&mut client, &format!("SELECT dp_test_memory_left({more})"));
    client
}

#[test]
fn the_end_of_memory_is_an_error() {
    let (database, mut witness) = session(Build::Testing);
    run(&mut witness, TABLE);
    let started = "SELECT pg_postmaster_start_time()::text || pg_backend_pid()";
    let before: String = value(&mut witness, started);
    for (sql, most) in QUERIES {
        let (mut refused, mut answered) = (0, 0);
        // Denser where it is scarce: each step meets another allocation.
        let steps = (0..12).map(|step| step * 24 * 1024);
        let steps = steps.chain((1..=16).map(|step| ((step * most) << 20) / 16));
        for more in steps {
            let mut client = limited(&database, more);
            match client.simple_query(sql) {
                Ok(_) => answered += 1,
                Err(error) => {
                    let refusal = refusal(&error, sql);
                    assert_eq!(refusal.code, "53200", "{more}: {refusal:?}: {sql}");
                    refused += 1;
                }
            }
            // The session goes on.
            let still = client.simple_query("ROLLBACK");
            assert!(still.is_ok(), "{more}: {still:?}: {sql}");
        }
        assert!(refused > 0, "memory never ended: {sql}");
        assert!(answered > 0, "memory was never enough: {sql}");
    }
    assert_eq!(
        value::<String>(&mut witness, started),
        before,
        "the server has restarted"
    );
}

/// Adds the marks of what lies in memory that the sources of a folder have.
fn marks_in(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            marks_in(&path, found);
        } else {
            let source = fs::read_to_string(&path).expect("a source");
            let marks = source.lines().filter(|line| line.contains("const MAGIC"));
            let marks = marks.filter_map(|line| line.split_once(": u32 = ")?.1.strip_suffix(';'));
            found.extend(marks.map(str::to_owned));
        }
    }
}

/// No state is taken for one of another kind.
#[test]
fn states_in_memory_have_marks_of_their_own() {
    let mut marks = Vec::new();
    marks_in(Path::new("../src"), &mut marks);
    let different: BTreeSet<_> = marks.iter().collect();
    // Sums and moments have one, and are told apart by their lengths.
    assert_eq!(marks.len(), different.len() + 1, "{marks:?}");
    assert!(marks.len() >= 15, "{marks:?}");
}
