//! The means that can show a row, through SQL: what allows them, and that they are right on average.
//! `record` and `audit` ask how private they are, as of all mechanisms.

use dp_mean_tests::statistics::{mean, mean_square};
use dp_mean_tests::{
    Build, Database, PARALLEL, Role, assert_plan, explain, refused, rows, run, session, value,
};
use postgres::Client;

use crate::accuracy::least_variance;
use crate::arguments::{PLACES, refused_alike, tables};
use crate::unbiased::{SKEWED, assert_moments, skewed};

/// Calls that show a row with some probability, over a column `x`.
const PATHOLOGICAL: [&str; 3] = [
    "dp_mean(x, 0, 100, 1, 'name_and_shame(delta=0.5, n=999)')",
    "dp_mean(x, 0, 100, 1, 'hybrid(delta=0.5, n=999, moment=4, psi=10)')",
    "dp_mean(x, NULL, NULL, 1, 'symmetric_known_n(delta=0.5, n=999, scale=9, fallback=raw)')",
];

/// What the refusal says, and why.
fn assert_forbidden(refusal: &dp_mean_tests::Refusal) {
    assert_eq!(refusal.code, "42501", "{refusal:?}");
    let why = "names a mechanism that shows a row, just as it is, with probability delta";
    let message = format!("dp_mean: argument \"mech\" {why}");
    assert_eq!(refusal.message, message);
    for word in [
        "protects nobody",
        "smooth",
        "symmetric",
        "superuser",
        "allow_pathological",
    ] {
        assert!(refusal.hint.contains(word), "{refusal:?}");
    }
}

#[test]
fn mechanisms_that_show_rows_are_refused_unless_a_superuser_allows_them() {
    let (_database, mut client) = tables();
    for call in PATHOLOGICAL {
        assert_forbidden(&refused_alike(&mut client, call, &PLACES));
        let both = call.replace("dp_mean(", "dp_mean_and_count(");
        assert_forbidden(&refused_alike(&mut client, &both, &PLACES));
    }
    // Without fallback=raw it shows none.
    let harmless = PATHOLOGICAL[2].replace("raw", "none");
    run(&mut client, &format!("SELECT {harmless} FROM full_table"));

    run(&mut client, "SET dp_mean.allow_pathological = on");
    for call in PATHOLOGICAL {
        for place in PLACES {
            run(&mut client, &place.replace("{}", call));
        }
    }
    run(&mut client, "RESET dp_mean.allow_pathological");
    for call in PATHOLOGICAL {
        assert_forbidden(&refused(
            &mut client,
            &format!("SELECT {call} FROM full_table"),
        ));
    }
    // A plan that is kept does not keep the permission.
    let mut transaction = client.transaction().expect("a transaction");
    transaction
        .batch_execute(&format!(
            "SET LOCAL dp_mean.allow_pathological = on; SET LOCAL plan_cache_mode = force_generic_plan;
             PREPARE shown AS SELECT {} FROM full_table; EXECUTE shown",
            PATHOLOGICAL[0]
        ))
        .expect("it is allowed");
    transaction.commit().expect("a commit");
    assert_forbidden(&refused(&mut client, "EXECUTE shown"));
}

#[test]
fn only_a_superuser_can_allow_mechanisms_that_show_rows() {
    // The library is loaded in each session at its first use, and in the other build by the server.
    for build in [Build::Release, Build::Testing] {
        let database = Database::new(build);
        let role = Role::new(&database);
        let mut owner = database.connect();
        run(
            &mut owner,
            &format!(
                "CREATE TABLE full_table AS SELECT (i % 61)::float8 AS x FROM generate_series(1, 999) i;
                 GRANT SELECT ON full_table TO {0}; GRANT CREATE ON SCHEMA public TO {0}",
                role.name()
            ),
        );
        let refuse_all = |client: &mut Client, how: &str| {
            for call in PATHOLOGICAL {
                println!("{how}: {call}");
                assert_forbidden(&refused(client, &format!("SELECT {call} FROM full_table")));
            }
        };
        let set = "SET dp_mean.allow_pathological = on";

        let mut loaded = role.connect();
        run(&mut loaded, "SELECT dp_count(1)");
        assert_eq!(refused(&mut loaded, set).code, "42501");
        let sql = "SELECT set_config('dp_mean.allow_pathological', 'on', false)";
        assert_eq!(refused(&mut loaded, sql).code, "42501");
        refuse_all(&mut loaded, "SET in a session with the library");
        // No other setting by that name, which could be mistaken for it.
        assert_eq!(refused(&mut loaded, "SET dp_mean.allow = on").code, "42602");

        // Before the library is there, PostgreSQL may take the name for one that means nothing.
        let mut fresh = role.connect();
        let taken = fresh.batch_execute(set).is_ok();
        assert_eq!(taken, matches!(build, Build::Release));
        refuse_all(&mut fresh, "SET in a fresh session");
        let shown: String = value(&mut fresh, "SHOW dp_mean.allow_pathological");
        assert_eq!(shown, "off");

        let mut fresh = role.connect();
        let _ = fresh.batch_execute(&format!("BEGIN; {}", set.replace("SET", "SET LOCAL")));
        let _ = fresh.batch_execute("ROLLBACK; BEGIN");
        let _ = fresh.batch_execute(&set.replace("SET", "SET LOCAL"));
        let _ = fresh.batch_execute("SAVEPOINT s");
        let refusal = refused(
            &mut fresh,
            &format!("SELECT {} FROM full_table", PATHOLOGICAL[0]),
        );
        // Where SET LOCAL was refused the transaction is over.
        assert!(
            ["42501", "25P02"].contains(&refusal.code.as_str()),
            "{refusal:?}"
        );
        run(&mut fresh, "ROLLBACK");
        refuse_all(&mut fresh, "SET LOCAL in a fresh session");

        // Settings that come with a function, a role, a connection.
        let mut fresh = role.connect();
        let made = fresh.batch_execute(&format!(
            "CREATE FUNCTION shown() RETURNS float8 LANGUAGE plpgsql \
             SET dp_mean.allow_pathological = on AS $$ DECLARE a float8; BEGIN \
             EXECUTE $q$ SELECT {} FROM full_table $q$ INTO a; RETURN a; END $$",
            PATHOLOGICAL[0]
        ));
        if made.is_ok() {
            for mut client in [role.connect(), loaded] {
                let refusal = refused(&mut client, "SELECT shown()");
                assert_eq!(refusal.code, "42501", "{refusal:?}");
                refuse_all(&mut client, "SET of a function");
            }
            run(&mut fresh, "DROP FUNCTION shown()");
        }
        let mut fresh = role.connect();
        let alter = format!(
            "ALTER ROLE {} SET dp_mean.allow_pathological = on",
            role.name()
        );
        let _ = fresh.batch_execute(&alter);
        refuse_all(&mut role.connect(), "SET of a role");
        if let Ok(mut client) =
            database.connect_with(role.name(), "-c dp_mean.allow_pathological=on")
        {
            refuse_all(&mut client, "an option of the connection");
        }

        // A superuser may, before the library is there or after, and for others.
        for calls in 0..2 {
            let mut owner = database.connect();
            if calls > 0 {
                run(&mut owner, "SELECT dp_count(1)");
            }
            run(&mut owner, set);
            for call in PATHOLOGICAL {
                run(&mut owner, &format!("SELECT {call} FROM full_table"));
            }
        }
        run(&mut owner, &alter);
        run(
            &mut role.connect(),
            &format!("SELECT {} FROM full_table", PATHOLOGICAL[0]),
        );
        run(&mut owner, &format!("ALTER ROLE {} RESET ALL", role.name()));
    }
}

/// Rows that are shown are right on average, whatever the rows: over the coins, which are tossed for
/// each row of each run.
#[test]
fn means_that_show_rows_are_right_on_average() {
    let mut releases = skewed(74);
    run(releases.client(), "SET dp_mean.allow_pathological = on");
    let n = SKEWED.len() as f64;
    let truth = mean(&SKEWED);
    let squares = mean_square(&SKEWED, 0.0);
    let mut draw = |mechanism: &str| {
        let answer = format!("ARRAY[dp_mean(x, 0, 1, 1, '{mechanism}')]");
        releases.draw_arrays(&answer, "skewed", None, 20_000)
    };
    // (1 - delta) / (delta n) times the mean square of the rows.
    let answers = draw("name_and_shame(delta=0.1, n=8)");
    assert_moments("name_and_shame", &answers, truth, 0.9 / (0.1 * n) * squares);
    // With heads cut at c = psi (n (moment - 2) / (2 moment^2 delta sigma^2))^(1 / moment) beyond the
    // bounds, as above, for the tails, and staircase noise of variance sigma^2 on the heads.
    let least = least_variance(1.0);
    let radius = 0.25 * (5.0 / least).powf(0.25);
    let tails = SKEWED.map(|x| x - x.clamp(-radius, 1.0 + radius));
    let variance =
        0.9 / (0.1 * n) * mean_square(&tails, 0.0) + least * ((1.0 + 2.0 * radius) / n).powi(2);
    let answers = draw("hybrid(delta=0.1, n=8, moment=4, psi=0.25)");
    assert_moments("hybrid", &answers, truth, variance);
}

#[test]
fn means_that_show_rows_work_in_parallel_plans() {
    // The library is not loaded by the server: a worker loads it, and has its leader's settings.
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i % 3 AS k, (i % 100)::float8 AS x FROM generate_series(1, 30000) i;
         CREATE TABLE crowd AS SELECT i % 3 AS k, i % 100 + i / 1e6 AS x
             FROM generate_series(1, 900000) i;
         ANALYZE t; ANALYZE crowd;
         SET dp_mean.allow_pathological = on; SET parallel_leader_participation = off",
    );
    // Off by 6 standard deviations with probability 2e-9. The mean square of the rows is about 3300,
    // so by sqrt(3300 / 10000) of them for delta = 1/2 in a group of the smaller table. Where more
    // cells than are kept hold a row, there is no place, and what the coins chose is the answer.
    for (mechanism, bounds, table, rows_of, place) in [
        (
            "name_and_shame(delta=0.5, n={n})",
            "0, 1",
            "t",
            30_000,
            49.5,
        ),
        (
            "hybrid(delta=0.5, n={n}, moment=4, psi=1)",
            "0, 1",
            "t",
            30_000,
            49.5,
        ),
        (
            "symmetric_known_n(delta=0.5, n={n}, scale=1e-9, fallback=raw)",
            "NULL, NULL",
            "crowd",
            900_000,
            49.95,
        ),
    ] {
        let call = |n: u32| {
            let mechanism = mechanism.replace("{n}", &n.to_string());
            format!("dp_mean(x, {bounds}, 1, '{mechanism}')")
        };
        run(&mut client, PARALLEL);
        let sql = format!("SELECT {} FROM {table}", call(rows_of));
        assert_plan(&explain(&mut client, &sql), &["Partial Aggregate"], &sql);
        let answer: f64 = value(&mut client, &sql);
        assert!((answer - place).abs() < 3.5, "{answer}: {sql}");
        let sql = format!("SELECT k, {} FROM {table} GROUP BY k", call(rows_of / 3));
        run(&mut client, "SET parallel_tuple_cost = 1");
        assert_plan(&explain(&mut client, &sql), &["Partial"], &sql);
        for row in rows(&mut client, &sql) {
            let answer: f64 = row.get(1);
            assert!((answer - place).abs() < 3.5, "{answer}: {sql}");
        }
    }
}
