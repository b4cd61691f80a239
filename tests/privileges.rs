//! What a role without rights can do: aggregate. Not: see, make, keep or read a state.

use dp_mean_tests::calls::calls;
use dp_mean_tests::{Build, PARALLEL, Role, explain, refused, rows, run, session, value};

/// Every function that takes or returns a state, with its arguments' types.
fn support_functions(client: &mut postgres::Client) -> Vec<(String, String)> {
    // Functions with an argument of type internal cannot be called from SQL at all.
    let sql = "SELECT p.proname::text, \
               oidvectortypes(p.proargtypes) FROM pg_proc p \
               WHERE 'internal'::regtype <> ALL (p.proargtypes) AND p.prokind = 'f' AND (p.prorettype = 'dp_mean.dp_state'::regtype \
                   OR 'dp_mean.dp_state'::regtype = ANY (p.proargtypes)) ORDER BY 1, 2";
    rows(client, sql)
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect()
}

/// Makes the role see the support functions: what then refuses is that nobody may execute them.
fn shown(role: &Role) -> String {
    let name = role.name();
    format!("GRANT CREATE ON SCHEMA public TO {name}; GRANT USAGE ON SCHEMA dp_mean TO {name}")
}

#[test]
fn anybody_can_aggregate() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(
        &mut client,
        &format!(
            "CREATE TABLE t AS SELECT i::float8 AS x, i % 3 AS k FROM generate_series(1, 10000) i; \
             ANALYZE t; GRANT SELECT ON t TO {}",
            role.name()
        ),
    );
    let mut nobody = role.connect();
    for parallel in ["SET max_parallel_workers_per_gather = 0", PARALLEL] {
        run(&mut nobody, parallel);
        let all = calls().filter(|call| !call.is_pathological());
        let all: Vec<_> = all.map(|call| call.sql()).collect();
        let sql = &format!("SELECT {} FROM t", all.join(", "));
        let plan = explain(&mut nobody, sql);
        assert_eq!(
            plan.contains("Partial Aggregate"),
            parallel == PARALLEL,
            "{plan}"
        );
        run(&mut nobody, sql);
        run(
            &mut nobody,
            "SELECT k, dp_mean(x, 0, 10000, 1.0), dp_counts(1, 'laplace', x > 5) FROM t GROUP BY k",
        );
    }
    assert!(!rows(&mut nobody, "SELECT * FROM dp_mechanisms()").is_empty());
    run(
        &mut nobody,
        "SELECT dp_mu(1, 1e-6), dp_delta(1, 1), dp_eps(1e-6, 1), dp_rho_of_mu(1), \
         dp_mu_of_rho(1), dp_rdp_of_mu(1, 2)",
    );
    run(
        &mut nobody,
        "CREATE TEMP TABLE kept (answer dp_vector_answer)",
    );
    run(
        &mut nobody,
        "CREATE TEMP TABLE m AS SELECT 'hourglass'::dp_mechanism AS m",
    );
    run(
        &mut nobody,
        "SELECT DISTINCT m FROM m WHERE m = 'hourglass' ORDER BY m",
    );
}

#[test]
fn no_support_function_can_be_called() {
    let (database, mut client) = session(Build::Release);
    let functions = support_functions(&mut client);
    assert!(functions.len() > 100, "{functions:?}");
    let role = Role::new(&database);
    run(&mut client, &shown(&role));
    let mut nobody = role.connect();
    for (name, arguments) in &functions {
        let may: bool = value(
            &mut nobody,
            &format!("SELECT has_function_privilege('dp_mean.{name}({arguments})', 'EXECUTE')"),
        );
        assert!(!may, "{name}({arguments})");
        if name == "dp_state_out" {
            // STRICT, and there is no state to call them with: PostgreSQL answers NULL by itself.
            continue;
        }
        let nulls: Vec<String> = arguments
            .split(", ")
            .map(|argument| match argument {
                "\"any\"" | "anyelement" => "NULL::text".to_owned(),
                "cstring" => "'x'".to_owned(),
                "dp_mean.dp_state" => "NULL".to_owned(),
                other => format!("NULL::{other}"),
            })
            .collect();
        let call = format!("dp_mean.{name}({})", nulls.join(", "));
        let refusal = refused(&mut nobody, &format!("SELECT {call}"));
        assert_eq!(refusal.code, "42501", "{call}: {refusal:?}");
        for body in [
            format!(
                "CREATE FUNCTION wrap() RETURNS text LANGUAGE sql AS $$ SELECT {call}::text $$"
            ),
            format!(
                "CREATE FUNCTION wrap() RETURNS text LANGUAGE plpgsql AS \
                 $$ BEGIN RETURN {call}::text; END $$"
            ),
        ] {
            // A SQL function may be refused where it is made; else it is where it is called.
            let made = nobody.batch_execute(&body).is_ok();
            if made {
                let refusal = refused(&mut nobody, "SELECT wrap()");
                assert_eq!(refusal.code, "42501", "{body}: {refusal:?}");
                run(&mut nobody, "DROP FUNCTION wrap()");
            }
        }
    }
}

#[test]
fn roles_do_not_see_support_functions() {
    let (database, mut client) = session(Build::Release);
    let functions = support_functions(&mut client);
    let role = Role::new(&database);
    let mut nobody = role.connect();
    for (name, arguments) in functions {
        let sql = format!("SELECT 'dp_mean.{name}({arguments})'::regprocedure");
        let refusal = refused(&mut nobody, &sql);
        assert_eq!(refusal.code, "42501", "{refusal:?}");
        assert_eq!(refusal.message, "permission denied for schema dp_mean");
    }
    for sql in [
        "SELECT dp_mean.dp_mean_final(NULL)",
        "SELECT dp_mean.dp_mechanism_cmp('laplace', 'laplace')",
        "SELECT 'x'::dp_mean.dp_state",
        "CREATE TEMP TABLE kept (s dp_mean.dp_state)",
        "CREATE TABLE dp_mean.kept (x int)",
    ] {
        let refusal = refused(&mut nobody, sql);
        assert_eq!(
            refusal.message, "permission denied for schema dp_mean",
            "{sql}"
        );
    }
}

#[test]
fn no_aggregate_can_be_built_over_them() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(&mut client, &shown(&role));
    let mut nobody = role.connect();
    for aggregate in [
        // Without its final function it would answer with the state.
        "CREATE AGGREGATE mine(float8, float8, float8, float8) (SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans, \
         STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_mean_final)",
        "CREATE AGGREGATE mine(dp_mean.dp_state) (SFUNC = dp_mean.dp_state_combine, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8) (SFUNC = dp_mean.dp_count_rows_trans, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8, dp_mechanism, VARIADIC \"any\") (SFUNC = dp_mean.dp_counts_trans, \
         STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8, dp_mechanism, VARIADIC \"any\") (SFUNC = dp_mean.dp_counts_trans, \
         STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_counts_final, COMBINEFUNC = dp_mean.dp_state_combine)",
        "CREATE AGGREGATE mine(float8[], float8, float8, float8, dp_mechanism) \
         (SFUNC = dp_mean.dp_sums_trans, STYPE = dp_mean.dp_state)",
        "CREATE AGGREGATE mine(float8[], float8, float8, float8, dp_mechanism) \
         (SFUNC = dp_mean.dp_means_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_means_final)",
    ] {
        assert_eq!(refused(&mut nobody, aggregate).code, "42501", "{aggregate}");
    }
    // Each of the functions that give a state, by what the catalog says of it.
    let sql = "SELECT format('CREATE AGGREGATE mine(%s) (SFUNC = %s, STYPE = dp_mean.dp_state)', \
               regexp_replace(pg_get_function_identity_arguments(oid), '^[a-z]+ dp_mean.dp_state, ', ''), oid::regproc) \
               FROM pg_proc WHERE proname LIKE 'dp\\_%\\_trans' OR proname = 'dp_state_combine'";
    let all = rows(&mut client, sql);
    assert!(all.len() > 50, "{}", all.len());
    for row in &all {
        let sql: &str = row.get(0);
        assert_eq!(refused(&mut nobody, sql).code, "42501", "{sql}");
        // It is for want of a right, and not of sense.
        run(&mut client, &format!("BEGIN; {sql}; ROLLBACK"));
    }
}

#[test]
fn nothing_can_be_made_of_the_state_type() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(&mut client, &shown(&role));
    let mut nobody = role.connect();
    for sql in [
        "CREATE TABLE kept (s dp_mean.dp_state)",
        "CREATE TEMP TABLE kept (s dp_mean.dp_state[])",
        "CREATE TEMP TABLE kept (answer dp_vector_answer, s dp_mean.dp_state)",
        "CREATE TYPE kept AS (s dp_mean.dp_state)",
        "CREATE DOMAIN kept AS dp_mean.dp_state",
        "CREATE FUNCTION f(dp_mean.dp_state) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION f() RETURNS dp_mean.dp_state LANGUAGE sql AS 'SELECT NULL::dp_mean.dp_state'",
        "CREATE CAST (dp_mean.dp_state AS bytea) WITHOUT FUNCTION",
        "CREATE CAST (bytea AS dp_mean.dp_state) WITH INOUT",
    ] {
        let code = refused(&mut nobody, sql).code;
        assert_eq!(code, "42501", "{sql}");
    }
    // The input function runs at parse time, before any privilege is looked at: it refuses itself.
    for (sql, code) in [
        ("SELECT '1'::dp_mean.dp_state", "0A000"),
        ("SELECT '1'::text::dp_mean.dp_state", "42501"),
        ("SELECT '1'::bytea::dp_mean.dp_state", "42846"),
    ] {
        assert_eq!(refused(&mut nobody, sql).code, code, "{sql}");
    }
}

#[test]
fn not_even_a_superuser_reads_or_writes_a_state() {
    let (_database, mut client) = session(Build::Release);
    for sql in [
        "SELECT 'x'::dp_mean.dp_state",
        "SELECT dp_mean.dp_state_in('x')",
    ] {
        assert_eq!(refused(&mut client, sql).code, "0A000", "{sql}");
    }
    // An aggregate without a final function answers with its state.
    run(
        &mut client,
        "CREATE AGGREGATE bare(float8, float8, float8, float8) (SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state);
         CREATE AGGREGATE bare(float8, dp_mechanism, VARIADIC \"any\")
             (SFUNC = dp_mean.dp_counts_trans, STYPE = dp_mean.dp_state);
         CREATE AGGREGATE bare(float8[], float8, float8, float8, dp_mechanism)
             (SFUNC = dp_mean.dp_sums_trans, STYPE = dp_mean.dp_state)",
    );
    for call in [
        "bare(i, 0, 10, 1.0)",
        "bare(1, 'laplace', i > 3)",
        "bare(1, 'laplace(d=2)'::dp_mechanism, VARIADIC ARRAY[i > 3])",
        "bare(ARRAY[i], 0, 10, 1, 'laplace(d=3)')",
    ] {
        let call = format!("SELECT {call} FROM generate_series(1, 10) i");
        assert_eq!(refused(&mut client, &call).code, "0A000", "{call}");
        let copy = format!("COPY ({call}) TO STDOUT (FORMAT binary)");
        let error = client.copy_out(&copy).map(|reader| {
            let mut bytes = Vec::new();
            std::io::copy(&mut { reader }, &mut bytes)
        });
        let failed = match error {
            Err(error) => format!("{error:?}"),
            Ok(Err(error)) => format!("{error:?}"),
            Ok(Ok(_)) => panic!("a state was copied out"),
        };
        let message = "no binary output function available for type dp_mean.dp_state";
        assert!(failed.contains(message), "{failed}");
    }
    run(&mut client, "CREATE TABLE kept (s dp_mean.dp_state)");
    assert_eq!(
        refused(&mut client, "INSERT INTO kept VALUES ('x')").code,
        "0A000"
    );
    // The session has come to no harm.
    assert_eq!(value::<i64>(&mut client, "SELECT count(*) FROM kept"), 0);
}

#[test]
fn outside_an_aggregate_a_support_function_is_an_error() {
    let (_database, mut client) = session(Build::Release);
    for sql in [
        "SELECT dp_mean.dp_mean_trans(NULL, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_mean_trans(NULL, NULL, 0, 1, 1, 'hourglass')",
        "SELECT dp_mean.dp_sum_trans(NULL, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_count_rows_trans(NULL, 1)",
        "SELECT dp_mean.dp_count_trans(NULL, 1, 1)",
        "SELECT dp_mean.dp_keep_trans(NULL, 1, 0.5)",
        "SELECT dp_mean.dp_keep_trans(NULL, 1, 0.5, 'keep')",
        "SELECT dp_mean.dp_state_combine(NULL, NULL)",
        "SELECT dp_mean.dp_mean_final(NULL)",
        "SELECT dp_mean.dp_mean_and_count_final(NULL)",
        "SELECT dp_mean.dp_sum_final(NULL)",
        "SELECT dp_mean.dp_count_final(NULL)",
        "SELECT dp_mean.dp_keep_final(NULL)",
        "SELECT dp_mean.dp_counts_trans(NULL, 1, 'laplace', true)",
        "SELECT dp_mean.dp_counts_trans(NULL, NULL, 'laplace(d=1)', VARIADIC ARRAY[true])",
        "SELECT dp_mean.dp_counts_final(NULL)",
        "SELECT dp_mean.dp_counts_estimate_final(NULL)",
        "SELECT dp_mean.dp_sums_trans(NULL, '{1}', 0, 1, 1, 'laplace(d=1)')",
        "SELECT dp_mean.dp_sums_trans(NULL, NULL, 0, 1, 1, 'laplace(d=1)')",
        "SELECT dp_mean.dp_sums_final(NULL)",
        "SELECT dp_mean.dp_sums_estimate_final(NULL)",
        "SELECT dp_mean.dp_means_trans(NULL, '{1}', 0, 1, 1, 'laplace(d=1)')",
        "SELECT dp_mean.dp_means_final(NULL)",
        "SELECT dp_mean.dp_variance_trans(NULL, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_variance_trans(NULL, NULL, 0, 1, 1, 'laplace')",
        "SELECT dp_mean.dp_variance_final(NULL)",
        "SELECT dp_mean.dp_stddev_final(NULL)",
        "SELECT dp_mean.dp_variance_estimate_trans(NULL, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_variance_estimate_trans(NULL, NULL, 0, 1, 1, 'laplace')",
        "SELECT dp_mean.dp_variance_estimate_trans(NULL, 1, 0, 1, 1, 'laplace', 0.9)",
        "SELECT dp_mean.dp_variance_estimate_final(NULL)",
        "SELECT dp_mean.dp_count_distinct_trans(NULL, 1, 1)",
        "SELECT dp_mean.dp_count_distinct_trans(NULL, NULL::text, 1, 'bitmap')",
        "SELECT dp_mean.dp_count_distinct_final(NULL)",
        "SELECT dp_mean.dp_count_distinct_estimate_trans(NULL, 'a'::text, 1)",
        "SELECT dp_mean.dp_count_distinct_estimate_final(NULL)",
        "SELECT dp_mean.dp_covar_pop_trans(NULL, 1, 1, 0, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_covar_pop_trans(NULL, 1, NULL, 0, 1, 0, 1, 1, 'laplace')",
        "SELECT dp_mean.dp_covar_pop_final(NULL)",
        "SELECT dp_mean.dp_regr_slope_trans(NULL, NULL, 1, 0, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_regr_slope_final(NULL)",
        "SELECT dp_mean.dp_regr_intercept_final(NULL)",
        "SELECT dp_mean.dp_corr_trans(NULL, 1, 1, 0, 1, 0, 1, 1, 'laplace')",
        "SELECT dp_mean.dp_corr_final(NULL)",
        "SELECT dp_mean.dp_regr_final(NULL)",
        "SELECT dp_mean.dp_clamped_trans(NULL, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_clamped_trans(NULL, NULL, 0, 1, 1, 'geometric')",
        "SELECT dp_mean.dp_clamped_final(NULL)",
        "SELECT dp_mean.dp_quantile_trans(NULL, 1, 0, 1, 0.5, 1)",
        "SELECT dp_mean.dp_quantile_trans(NULL, NULL, 0, 1, 0.5, 1, 'em')",
        "SELECT dp_mean.dp_quantile_final(NULL)",
        "SELECT dp_mean.dp_median_trans(NULL, 1, 0, 1, 1)",
        "SELECT dp_mean.dp_median_final(NULL)",
        "SELECT dp_mean.dp_quantiles_trans(NULL, 1, 0, 1, '{0.5}', 1)",
        "SELECT dp_mean.dp_quantiles_final(NULL)",
        "SELECT dp_mean.dp_cdf_trans(NULL, 1, 0, 1, 9, 1)",
        "SELECT dp_mean.dp_cdf_trans(NULL, NULL, 0, 1, 9, 1, 'tree')",
        "SELECT dp_mean.dp_cdf_final(NULL)",
        "SELECT dp_mean.dp_quantile_estimate_trans(NULL, 1, 0, 1, 0.5, 1)",
        "SELECT dp_mean.dp_quantile_estimate_trans(NULL, NULL, 0, 1, 0.5, 1, 'em')",
        "SELECT dp_mean.dp_quantile_estimate_trans(NULL, 1, 0, 1, 0.5, 1, 'em', 0.9)",
        "SELECT dp_mean.dp_quantile_estimate_final(NULL)",
    ] {
        assert_eq!(refused(&mut client, sql).code, "0A000", "{sql}");
    }
    // Inside another's aggregate they are told apart: one that calls itself ours but is not.
    run(
        &mut client,
        "CREATE FUNCTION through(s dp_mean.dp_state, x float8) RETURNS dp_mean.dp_state LANGUAGE sql AS \
             'SELECT dp_mean.dp_mean_trans(s, x, 0, 1, 1.0)';
         CREATE AGGREGATE other(float8) (SFUNC = through, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_mean_final);
         CREATE FUNCTION through(s dp_mean.dp_state, x boolean) RETURNS dp_mean.dp_state LANGUAGE sql AS
             $$ SELECT dp_mean.dp_counts_trans(s, 1, 'laplace', x) $$;
         CREATE AGGREGATE other(boolean) (SFUNC = through, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_counts_final);
         CREATE FUNCTION through(s dp_mean.dp_state, x float8[]) RETURNS dp_mean.dp_state LANGUAGE sql AS
             $$ SELECT dp_mean.dp_sums_trans(s, x, 0, 1, 1, 'laplace(d=1)') $$;
         CREATE AGGREGATE other(float8[]) (SFUNC = through, STYPE = dp_mean.dp_state, FINALFUNC = dp_mean.dp_means_final)",
    );
    for x in ["i::float8", "i > 3", "ARRAY[i]::float8[]"] {
        let sql = format!("SELECT other({x}) FROM generate_series(1, 10) i");
        let refusal = refused(&mut client, &sql);
        assert_eq!(refusal.code, "0A000", "{refusal:?}: {sql}");
    }
}
