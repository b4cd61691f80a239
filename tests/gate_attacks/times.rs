//! How long an answer takes, and `dp_mean.answer_after`, which hands it out at fixed times.
//!
//! Times are noisy. So what is compared differs much, medians are taken, and the fixed time follows from what was
//! measured without it.

use std::thread;
use std::time::{Duration, Instant};

use dp_mean_tests::{explain, refused, run, value};
use postgres::Client;

use super::{Stage, down};

/// How often a time is measured.
const TIMES: usize = 5;

/// How often the condition is there that is slow in a row of the special person.
const COPIES: usize = 30;

/// A fixed time that is far above what a plain question takes.
const LONG: Duration = Duration::from_secs(1);

/// Raises an error in a row of the special person, where functions are not made total.
const FAILS: &str = "SELECT count(*) FROM visits WHERE 1 / (patient - 666) IS NULL";

/// Each function of it works for some milliseconds in a row of the special person, as it may.
fn slow() -> String {
    let text = "repeat('a', CASE WHEN patient = 666 THEN 2000 END)";
    let one = |i| format!("{text} LIKE '%' || repeat('a', 990) || 'b{i}'");
    let all: Vec<_> = (0..COPIES).map(one).collect();
    let all = all.join(" OR ");
    format!("SELECT count(*) FROM visits WHERE ({all}) IS NOT TRUE")
}

/// How long statements take, which end by this error, or by none.
fn timed(stage: &Stage, client: &mut Client, sql: &str, code: Option<&str>) -> Duration {
    let start = Instant::now();
    let end = stage.attack(client, sql);
    let time = start.elapsed();
    let found = end.error.as_ref().map(|(code, _)| code.as_str());
    assert_eq!(found, code, "{end:?}: {sql}");
    time
}

/// The median of how long an answer takes.
fn median(stage: &Stage, client: &mut Client, sql: &str) -> Duration {
    let mut times = [(); TIMES].map(|()| timed(stage, client, sql, None));
    times.sort();
    times[TIMES / 2]
}

/// As above, with the special person in the tables and without.
fn medians(stage: &mut Stage, sql: &str) -> [Duration; 2] {
    let medians = [true, false].map(|person| {
        stage.set_person(person);
        let mut client = stage.analyst();
        median(stage, &mut client, sql)
    });
    stage.set_person(true);
    medians
}

/// From now on, new sessions of the analyst have answers at multiples of this time.
fn answer_after(stage: &mut Stage, time: Duration) {
    let time = time.as_millis();
    stage.as_root(&format!(
        "ALTER ROLE {{a}} SET dp_mean.answer_after = '{time}ms'"
    ));
}

#[test]
fn a_slow_row_is_seen_by_time_and_not_at_fixed_times() {
    let mut stage = Stage::new();
    let [with, without] = medians(&mut stage, &slow());
    assert!(
        with > 4 * without && with - without > Duration::from_millis(100),
        "the attack tells nothing: {with:?} and {without:?}"
    );
    let time = 3 * with;
    answer_after(&mut stage, time);
    let [padded_with, padded_without] = medians(&mut stage, &slow());
    for padded in [padded_with, padded_without] {
        assert!(padded >= time, "{padded:?} is less than {time:?}");
    }
    let apart = padded_with.abs_diff(padded_without);
    assert!(
        apart < (with - without) / 4,
        "{padded_with:?} and {padded_without:?}, where it was {with:?} and {without:?}"
    );
}

/// Where functions are not made total, so that a row raises an error at once.
#[test]
fn an_error_comes_no_earlier_than_an_answer() {
    let mut stage = Stage::new();
    answer_after(&mut stage, LONG);
    let parallel = "SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; \
                    SET max_parallel_workers_per_gather = 2; SET parallel_leader_participation = off;";
    stage.as_owner("ALTER TABLE visits SET (parallel_workers = 2)");
    for settings in ["", parallel] {
        let before = format!("{}{settings}", down("total"));
        for (person, code) in [(true, Some("22012")), (false, None)] {
            stage.set_person(person);
            let mut client = stage.analyst();
            run(&mut client, &before);
            let time = timed(&stage, &mut client, FAILS, code);
            assert!(time >= LONG, "{settings}: {code:?} after {time:?}");
        }
        stage.set_person(true);
        // A language that catches the error learns of it no earlier.
        let mut client = stage.analyst();
        run(&mut client, &before);
        let catch = format!(
            "DO $$ DECLARE start timestamptz := clock_timestamp(); BEGIN PERFORM * FROM ({FAILS}) s; \
             EXCEPTION WHEN division_by_zero THEN \
             PERFORM set_config('own.caught', extract(epoch FROM clock_timestamp() - start)::text, false); END $$"
        );
        run(&mut client, &catch);
        let caught = "SELECT current_setting('own.caught')::float8";
        let caught: f64 = value(&mut client, caught);
        assert!(caught >= LONG.as_secs_f64(), "{settings}: after {caught} s");
    }
}

/// A cancel does not wait for the fixed time: neither for that of an answer, nor for that of an error.
#[test]
fn a_cancel_ends_the_wait() {
    let mut stage = Stage::new();
    answer_after(&mut stage, Duration::from_secs(600));
    for sql in ["SELECT count(*) FROM visits", FAILS] {
        let mut client = stage.analyst();
        let before = down("total");
        run(
            &mut client,
            &format!("{before} SET statement_timeout = '300ms'"),
        );
        let start = Instant::now();
        assert_eq!(refused(&mut client, sql).code, "57014", "{sql}");
        assert!(start.elapsed() < Duration::from_secs(60), "{sql}");
    }
}

#[test]
fn who_asks_does_not_choose_the_time() {
    let mut stage = Stage::new();
    answer_after(&mut stage, LONG);
    let mut client = stage.analyst();
    for sql in [
        "SET dp_mean.answer_after = 0",
        "SET LOCAL dp_mean.answer_after = '1h'",
        "SELECT set_config('dp_mean.answer_after', '0', false)",
        "ALTER ROLE {a} SET dp_mean.answer_after = 0",
        "CREATE FUNCTION f() RETURNS bigint SET dp_mean.answer_after = 0 \
         RETURN (SELECT count(*) FROM visits)",
    ] {
        let sql = stage.fill(sql);
        assert_eq!(refused(&mut client, &sql).code, "42501", "{sql}");
    }
}

/// Between two answers of a statement it can look at the clock. So each has a time of its own.
#[test]
fn each_answer_of_a_statement_has_its_time() {
    let mut stage = Stage::new();
    answer_after(&mut stage, LONG);
    let mut client = stage.analyst();
    let start = Instant::now();
    let both = "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM people)";
    assert_eq!(stage.attack(&mut client, both).error, None);
    let both = start.elapsed();
    assert!(both >= 2 * LONG, "{both:?}");
    // EXPLAIN ANALYZE shows the same times.
    let sql = format!("EXPLAIN (ANALYZE, COSTS OFF) {}", slow());
    let plan = stage.attack(&mut client, &sql).shown;
    let call = plan.lines().find(|line| line.contains("Function Scan"));
    let time = call.and_then(|line| line.split("actual time=").nth(1)?.split("..").next());
    let time: f64 = time.and_then(|time| time.parse().ok()).expect(&plan);
    assert!(time >= LONG.as_secs_f64() * 1000.0, "{plan}");
    // What looks at no row has no time.
    let start = Instant::now();
    explain(&mut client, "SELECT count(*) FROM visits");
    stage.number(
        &mut client,
        "SELECT count(*) FROM dp_cost('SELECT count(*) FROM visits')",
    );
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
}

/// Nobody learns earlier that an answer is there: it is not kept before, and no kind of wait is shown.
#[test]
fn an_answer_is_kept_when_it_is_handed_out() {
    const ASKED: &str = "SELECT count(*) FROM visits";
    let mut stage = Stage::new();
    stage.as_root("ALTER ROLE {a} SET dp_mean.reuse = on");
    answer_after(&mut stage, LONG);
    let [mut first, mut second, mut onlooker] = [(); 3].map(|()| stage.analyst());
    let session: i32 = value(&mut first, "SELECT pg_backend_pid()");
    let start = Instant::now();
    let (first_answer, second_answer) = thread::scope(|scope| {
        let ask = |client: &mut Client| (value::<i64>(client, ASKED), start.elapsed());
        let first = scope.spawn(move || (ask(&mut first), first));
        let second = scope.spawn(move || {
            thread::sleep(LONG / 4);
            ask(&mut second)
        });
        let is_free = "SELECT free::int::bigint FROM dp_cost('SELECT count(*) FROM visits')";
        while stage.number(&mut onlooker, is_free) == 0 {
            let asked = start.elapsed();
            let waits =
                "SELECT count(wait_event) FROM pg_stat_activity WHERE state = 'active' AND pid = ";
            let waits: i64 = value(&mut stage.root, &format!("{waits}{session}"));
            let is_in_the_middle = asked > LONG / 3 && start.elapsed() < LONG;
            assert!(waits == 0 || !is_in_the_middle, "a wait is shown");
        }
        let kept = start.elapsed();
        assert!(kept >= LONG, "kept after {kept:?}");
        let (first, client) = first.join().expect("an answer");
        onlooker = client;
        (first, second.join().expect("an answer"))
    });
    assert_eq!(first_answer.0, second_answer.0);
    for (_, after) in [first_answer, second_answer] {
        assert!(after >= LONG, "an answer after {after:?}");
    }
    // That it was there already follows from what was asked, not from rows.
    let again = median(&stage, &mut onlooker, ASKED);
    assert!(again < LONG, "{again:?}");
}

/// How many time zones, and regular expressions, a row of the special person comes to, and none.
const NAMES: usize = 12;

/// What a question looks up stays in the session: who asked can see by the time of a call of their own whether a row
/// came to it, once the question is over, be it by an error.
#[test]
fn no_cache_of_the_session_tells_of_a_row() {
    let stage = Stage::new();
    // The median time of the first calls with these names, in microseconds.
    run(
        &mut stage.analyst(),
        "CREATE FUNCTION probe(kind text, names text) RETURNS float8 LANGUAGE plpgsql AS $$
         DECLARE began timestamptz; took float8[]; name text; seen text; BEGIN
             FOREACH name IN ARRAY string_to_array(names, ' ') LOOP
                 began := clock_timestamp();
                 IF kind = 'zone' THEN seen := now() AT TIME ZONE name; ELSE seen := 'canary' ~ name; END IF;
                 took := took || extract(epoch FROM clock_timestamp() - began)::float8 * 1e6;
             END LOOP;
             RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(took) t);
         END $$",
    );
    let slow = slow();
    let (_, slow) = slow.split_once("WHERE").expect("a condition");
    for (kind, name, call) in [
        (
            "zone",
            "X{i}",
            "(timestamptz '2025-01-01' + tall * interval '1 day') AT TIME ZONE '{name}'",
        ),
        ("pattern", "[[:alpha:]]{1,150}x{i}", "region ~ '{name}'"),
    ] {
        let names = |from: usize| {
            let names = (from..from + NAMES).map(|i| name.replace("{i}", &i.to_string()));
            names.collect::<Vec<_>>()
        };
        let [reached, others] = [0, NAMES].map(names);
        let calls = |names: &[String], patient: i32| {
            let calls = names.iter().map(|name| {
                let call = call.replace("{name}", name);
                format!("CASE WHEN patient = {patient} THEN ({call})::text ELSE '' END")
            });
            format!("({})", calls.collect::<Vec<_>>().join(" || "))
        };
        let (by_person, by_none) = (calls(&reached, 666), calls(&others, 999));
        let asked = format!("SELECT count(*) FROM visits WHERE {by_person} || {by_none} <> 'x'");
        let cancelled = format!(
            "SET statement_timeout = 250; SELECT count(*) FROM visits WHERE patient = 666
             AND {by_person} || {by_none} <> 'x' AND ({slow})"
        );
        for (sql, error) in [(asked, None), (cancelled, Some("57014"))] {
            for stands in [true, false] {
                let mut client = stage.analyst();
                let defence = format!("SELECT dp_test_defence('caches', {stands})");
                run(&mut client, &defence);
                timed(&stage, &mut client, &sql, error);
                run(&mut client, "SET statement_timeout = 0");
                let [_, reached, others] = [&reached[..1], &reached[1..], &others].map(|names| {
                    let names = names.join(" ");
                    let sql = format!("SELECT probe('{kind}', '{names}')");
                    value::<f64>(&mut client, &sql)
                });
                // What no row came to is looked up by the probe.
                let tells = 3.0 * reached + 5.0 < others;
                assert_eq!(tells, !stands, "{kind}, {error:?}: {reached} and {others}");
            }
        }
    }
}
