//! No two releases share noise: not in a session, not in two, not in the processes that a server
//! forks, not in parallel workers. And nobody but a test chooses the noise.

use std::collections::{BTreeMap, HashSet};
use std::process::Command;

use dp_mean_tests::releases::Releases;
use dp_mean_tests::statistics::{ALPHA, autocorrelation, normal_deviations};
use dp_mean_tests::{Build, Database, explain, refused, session, value, variable};
use postgres::Client;

/// A sum with so much noise that two releases are equal with a chance below 2^-50: the noise has
/// a density of at most `eps / 2`, on steps of 2^-32, and eps is 2^-20.
const NOISY: &str = "dp_sum(x, 0, 1, 1.0 / 1048576)";

/// A release over no rows, so that equal answers are equal noise.
const RELEASE: &str = "SELECT dp_sum(x, 0, 1, 1.0 / 1048576) FROM (VALUES (1.0)) v(x) WHERE false";

fn release(client: &mut Client) -> u64 {
    value::<f64>(client, RELEASE).to_bits()
}

fn assert_distinct(what: &str, noises: &[u64]) {
    let distinct: HashSet<_> = noises.iter().collect();
    assert_eq!(distinct.len(), noises.len(), "{what} share noise");
}

#[test]
fn sessions_draw_different_noise() {
    let database = Database::new(Build::Release);
    let mut clients: Vec<Client> = (0..4).map(|_| database.connect()).collect();
    let mut noises = Vec::new();
    for _ in 0..8 {
        noises.extend(clients.iter_mut().map(release));
    }
    assert_distinct("sessions", &noises);
}

/// The testing build makes a generator in the postmaster (see `_PG_init` in `src/lib.rs`), and
/// each backend inherits it in the same position. Did `release` not compare the process it was
/// made in with its own, all of these backends would give the same first, second, ... noise.
#[test]
fn backends_do_not_use_a_generator_of_the_postmaster() {
    let database = Database::new(Build::Testing);
    let mut clients: Vec<Client> = (0..4).map(|_| database.connect()).collect();
    let preloaded: String = value(&mut clients[0], "SHOW shared_preload_libraries");
    assert_eq!(preloaded, "dp_mean", "no generator is inherited here");
    let mut noises = Vec::new();
    for _ in 0..4 {
        noises.extend(clients.iter_mut().map(release));
    }
    assert_distinct("backends of one postmaster", &noises);
}

/// Partition-wise, workers run the final functions: each in a process of its own, forked from the
/// postmaster with its generator in it, and beside a leader that has drawn already.
#[test]
fn parallel_workers_draw_noise_of_their_own() {
    const PARTITIONS: usize = 24;
    let (_database, mut client) = session(Build::Testing);
    assert_eq!(
        value::<String>(&mut client, "SHOW shared_preload_libraries"),
        "dp_mean"
    );
    // An aggregate that says which process finished the group, and takes its time, so that one
    // worker does not finish all of them before the next one has started.
    client
        .batch_execute(
            "CREATE FUNCTION ignore(integer, float8) RETURNS integer
             LANGUAGE SQL IMMUTABLE PARALLEL SAFE AS 'SELECT $1';
             CREATE FUNCTION process(integer) RETURNS integer LANGUAGE plpgsql PARALLEL SAFE AS
             'BEGIN PERFORM pg_sleep(0.01); RETURN pg_backend_pid(); END';
             CREATE AGGREGATE finished_by(float8) (
                 SFUNC = ignore, STYPE = integer, INITCOND = '0', FINALFUNC = process,
                 PARALLEL = SAFE
             );
             CREATE TABLE parts (part integer, x float8) PARTITION BY LIST (part);
             SET enable_partitionwise_aggregate = on;
             SET max_parallel_workers_per_gather = 4;
             SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
             SET min_parallel_table_scan_size = 0; SET jit = off;",
        )
        .expect("a partitioned table");
    for part in 0..PARTITIONS {
        let create = format!(
            "CREATE TABLE part_{part} PARTITION OF parts FOR VALUES IN ({part}); \
             INSERT INTO parts SELECT {part}, 1 FROM generate_series(1, 10)"
        );
        client.batch_execute(&create).expect("a partition");
    }
    client.batch_execute("ANALYZE parts").expect("statistics");
    let sql = format!("SELECT part, finished_by(x), {NOISY} FROM parts GROUP BY part");
    let serial = format!("SELECT {NOISY} FROM parts WHERE part = 0");
    for leader in ["off", "on"] {
        let setting = format!("SET parallel_leader_participation = {leader}");
        client.batch_execute(&setting).expect("a setting");
        let plan = explain(&mut client, &sql);
        let aggregate = plan.find("Aggregate");
        let gather = plan
            .find("Gather")
            .unwrap_or_else(|| panic!("no Gather: {plan}"));
        assert!(
            aggregate > Some(gather),
            "workers do not finish groups: {plan}"
        );
        assert!(plan.contains("Parallel Append"), "{plan}");
        assert!(!plan.contains("Partial"), "{plan}");
        let mut shares = BTreeMap::new();
        // Workers are the server's to give; other tests use some.
        for _ in 0..20 {
            let mut noises = vec![value::<f64>(&mut client, &serial).to_bits()];
            shares.clear();
            for row in client.query(&sql, &[]).expect("groups") {
                *shares.entry(row.get::<_, i32>(1)).or_insert(0) += 1;
                noises.push(row.get::<_, f64>(2).to_bits());
            }
            noises.push(value::<f64>(&mut client, &serial).to_bits());
            assert_eq!(noises.len(), PARTITIONS + 2);
            assert_distinct("workers and leader", &noises);
            if shares.len() > 1 {
                break;
            }
        }
        println!("groups that each process finished, leader {leader}: {shares:?}");
        assert!(shares.len() > 1, "one process finished all groups");
    }
}

#[test]
fn a_million_releases_do_not_repeat() {
    const SESSIONS: usize = 4;
    const EACH: usize = 250_000;
    let database = Database::new(Build::Release);
    database
        .connect()
        .batch_execute("CREATE TABLE data AS SELECT 0.5::float8 AS x")
        .expect("data");
    let mut pairs = Vec::with_capacity(SESSIONS * EACH / 2);
    for session in 0..SESSIONS {
        let mut releases = Releases::new(&database);
        let noises = releases.draw(NOISY, &[], "data", EACH);
        pairs.extend(
            noises
                .chunks_exact(2)
                .map(|pair| [pair[0].to_bits(), pair[1].to_bits()]),
        );
        // As many noises as this follow one another as independent ones do: three lags are
        // looked at, one of them that of one aggregate's releases in consecutive scans.
        for lag in [1, 2, Releases::A_SCAN] {
            let deviations = autocorrelation(&noises, lag) * (EACH as f64).sqrt();
            let allowed = normal_deviations(ALPHA / (3 * SESSIONS) as f64);
            println!("session {session}, lag {lag}: {deviations:+.2} standard deviations");
            assert!(deviations.abs() <= allowed, "lag {lag}: {deviations}");
        }
    }
    // Half a million pairs, each equal to another with a chance below 2^-100.
    let count = pairs.len();
    pairs.sort_unstable();
    pairs.dedup();
    assert_eq!(
        pairs.len(),
        count,
        "two pairs of consecutive releases are the same"
    );
}

#[test]
fn the_seed_of_random_is_not_that_of_the_noise() {
    let (_database, mut client) = session(Build::Release);
    let noises = [0, 1].map(|_| {
        client
            .batch_execute("SELECT setseed(0.5)")
            .expect("a seed for random()");
        release(&mut client)
    });
    assert_distinct("releases after the same setseed()", &noises);
}

/// In the testing build a seed is the noise: what the other tests rely on.
#[test]
fn a_test_seed_repeats_the_noise() {
    let (_database, mut client) = session(Build::Testing);
    let mut seeded = |seed| {
        client
            .batch_execute(&format!("SELECT dp_test_seed({seed})"))
            .expect("a seed");
        [release(&mut client), release(&mut client)]
    };
    let (one, again, two) = (seeded(1), seeded(1), seeded(2));
    assert_eq!(one, again);
    assert_distinct("a seed and another", &[one, two].concat());
}

#[test]
fn the_release_build_has_no_test_functions() {
    let declared = include_str!("sql/testing.sql");
    let symbols: Vec<&str> = declared
        .split('\'')
        .filter(|text| text.starts_with("dp_test_"))
        .collect();
    assert!(
        symbols.len() >= 4,
        "the functions of the testing build were not found: {symbols:?}"
    );
    let (_database, mut client) = session(Build::Release);
    for symbol in symbols {
        let refusal = refused(
            &mut client,
            &format!(
                "CREATE FUNCTION {symbol}() RETURNS void AS '$libdir/dp_mean', '{symbol}' LANGUAGE C"
            ),
        );
        assert_eq!(refusal.code, "42883", "{refusal:?}");
        assert!(refusal.message.contains(symbol), "{refusal:?}");
    }
    let library = variable("DP_MEAN_LIBRARY");
    let symbols = Command::new("objdump")
        .args(["--syms", "--dynamic-syms", &library])
        .output();
    let symbols = symbols.expect("objdump of the binutils runs");
    let symbols = String::from_utf8_lossy(&symbols.stdout);
    assert!(symbols.contains("dp_mean_trans"), "no symbols were read");
    let test = symbols.lines().find(|line| line.contains("dp_test"));
    assert_eq!(test, None);
}
