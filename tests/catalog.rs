//! What the extension puts into the catalogs: the properties of its objects, their comments and
//! privileges, the schema it lives in, its dump; and the type `dp_mechanism`, as stored, sent and
//! ordered.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::process::{Command, Output};

use dp_core::mechanism::definition::Info;
use dp_core::registry::catalog;
use dp_core::request::parameter::{Parameter, ParameterKind};
use dp_mean_tests::calls::{Empty, calls};
use dp_mean_tests::{Build, Database, Role, explain, refused, rows, run, session, value, variable};
use postgres::Client;

/// The functions that convert budgets.
const CONVERSIONS: &[&str] = &[
    "dp_delta(double precision,double precision)",
    "dp_eps(double precision,double precision)",
    "dp_eps_of_rho(double precision,double precision)",
    "dp_mu(double precision,double precision)",
    "dp_mu_of_rho(double precision)",
    "dp_rdp_of_mu(double precision,double precision)",
    "dp_rho_of_eps(double precision)",
    "dp_rho_of_mu(double precision)",
];

/// The functions to plan with.
const PLANS: &[&str] = &[
    "dp_clip_bias(double precision,double precision,double precision)",
    "dp_clip_radius(double precision,double precision,double precision)",
    "dp_difference(double precision,double precision,double precision,double precision,double precision,double precision,double precision)",
    "dp_difference(dp_mean_estimate_answer,dp_mean_estimate_answer,double precision)",
    "dp_difference(dp_quantile_estimate_answer,dp_quantile_estimate_answer,double precision)",
    "dp_difference(dp_variance_answer,dp_variance_answer,double precision)",
    "dp_epsilon_for(double precision,double precision,double precision,double precision,dp_mechanism)",
    "dp_mean_error(double precision,double precision,double precision,double precision,dp_mechanism,double precision)",
    "dp_mean_plan(double precision,double precision,double precision,double precision,double precision,double precision,double precision)",
    "dp_plan(double precision,double precision,double precision,double precision)",
    "dp_trilemma(double precision,double precision,double precision,double precision)",
];

/// The functions that keep budgets, which are granted to who may call them.
const LEDGER: &[&str] = &[
    "dp_set_budget(text,double precision,double precision,regrole,text,double precision)",
    "dp_close_budget(text)",
    "dp_continue_budget(text,double precision,double precision)",
    "dp_set_budget_owner(text,regrole)",
    "dp_restore_budget(text,double precision,double precision)",
    "dp_restore_budget(text,double precision,double precision,regrole)",
    "dp_charge(text,double precision,double precision)",
    "dp_charge(text,double precision,double precision,regrole)",
    "dp_ledger_archive(timestamp with time zone,text)",
    "dp_ledger_check()",
];

/// The functions that protect tables, and what says to the public how.
const GATE: &[&str] = &[
    "dp_allow(regclass,regrole)",
    CHECK,
    "dp_declare(regclass,text,double precision,double precision)",
    "dp_declare(regclass,text,text[])",
    "dp_declare(regclass,text,text,text)",
    "dp_declare(regclass,text,timestamp with time zone,timestamp with time zone)",
    "dp_cost(text,double precision)",
    "dp_beyond(regclass,integer)",
    "dp_disallow(regclass,regrole)",
    "dp_protect(regclass,text,text,integer,integer,double precision,double precision,boolean,interval,integer,text,\
     text,interval,date,boolean)",
    "dp_unprotect(regclass)",
    "dp_create_view(regclass,text)",
    RECORD,
];

/// The record of a budget, in SQL.
const RECORD: &str = "dp_deployment(text,jsonb)";

/// What checks its arguments.
const RECORD_CHECK: &str = "dp_mean.dp_deployment_budget(text,text,boolean)";

/// What reads the labels of a table.
const LOST: &str = "dp_mean.dp_lost_bounds(regclass)";

/// What looks at the catalogs alone, in SQL.
const CHECK: &str = "dp_check(regrole)";

/// What the gate writes into queries.
const WRITTEN: &[&str] = &[ANSWER, "dp_mean.total(oid,\"any\")"];

/// The call that answers in the place of a block: it reads rows, and charges.
const ANSWER: &str = "dp_mean.answer(dp_mean.block,\"any\")";

/// What refuses to change the ledger, by a trigger, and what tells of lines that were loaded.
const TRIGGERS: &[&str] = &["dp_mean.dp_ledger_refuse()", "dp_mean.dp_ledger_tell()"];

/// What tells those who read all statistics what was counted.
const STATS: &str = "dp_mean.dp_stats_lines()";

/// How many of them anybody calls beside the aggregates; the others are in the schema of what works inside.
const PUBLIC: usize = CONVERSIONS.len() + PLANS.len() + LEDGER.len() + GATE.len() + 7;

/// The members of the extension.
const MEMBERS: &str = "SELECT classid, objid, pg_describe_object(classid, objid, objsubid) AS name \
     FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' \
     AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_mean')";

/// Strings of a query's first column.
pub fn strings(client: &mut Client, sql: &str) -> Vec<String> {
    rows(client, sql).iter().map(|row| row.get(0)).collect()
}

/// The members of `pg_proc` with whether they are of the state: they take or give one.
fn functions() -> String {
    format!(
        "SELECT p.*, p.oid::regprocedure::text AS signature, \
         'dp_mean.dp_state'::regtype = ANY (p.proargtypes) OR p.prorettype = 'dp_mean.dp_state'::regtype AS of_state \
         FROM pg_proc p JOIN ({MEMBERS}) m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid"
    )
}

/// A new session as the superuser in any database.
pub fn connect(database: &str) -> Client {
    let url = variable("DP_MEAN_RELEASE_URL");
    let mut config: postgres::Config = url.parse().expect("a connection string");
    config.dbname(database);
    config.connect(postgres::NoTls).expect("a session")
}

#[test]
fn each_function_says_what_it_is() {
    let (_database, mut client) = session(Build::Release);
    let sql = format!(
        "SELECT signature, of_state, prokind::text, provolatile::text, proparallel::text, \
         proisstrict, prosecdef, prosupport <> 0, proretset, l.lanname::text, probin \
         FROM ({}) f JOIN pg_language l ON l.oid = f.prolang ORDER BY 1",
        functions()
    );
    let functions = rows(&mut client, &sql);
    let (mut conversions, mut plans, mut ledger) = (Vec::new(), Vec::new(), Vec::new());
    let (mut gate, mut written) = (Vec::new(), Vec::new());
    for row in &functions {
        let name: &str = row.get(0);
        let [kind, volatility, parallel]: [&str; 3] = [row.get(2), row.get(3), row.get(4)];
        let strict: bool = row.get(5);
        let aggregate = kind == "a";
        if CONVERSIONS.contains(&name) {
            conversions.push(name);
        } else if PLANS.contains(&name) {
            plans.push(name);
        } else if LEDGER.contains(&name) {
            ledger.push(name);
        } else if GATE.contains(&name) {
            gate.push(name);
        } else if WRITTEN.contains(&name) {
            written.push(name);
        }
        // They write; what they refuse they say, and a NULL is refused.
        let writes = [LEDGER, GATE, TRIGGERS, &[ANSWER, RECORD_CHECK, LOST]]
            .concat()
            .contains(&name);
        let lists_mechanisms = name == "dp_mechanisms()" || name.starts_with("dp_mean_plan(");
        let counts = name == STATS;
        // Final functions draw noise, but those of contributions. The list of mechanisms may grow with the library.
        let is_total = name == WRITTEN[1];
        let expected = match name {
            _ if lists_mechanisms || is_total || name == "dp_version()" => "s",
            _ if name.starts_with("dp_mean.dp_contribution")
                || name.starts_with("dp_mean.dp_groups") =>
            {
                "i"
            }
            // Not a constant, so that the plan shows its arguments.
            _ if name.starts_with("dp_part") => "s",
            _ if name.contains("_final(") || writes || counts => "v",
            _ => "i",
        };
        assert_eq!(volatility, expected, "{name}");
        // A cast that is computed in a worker would raise its error there.
        let restricted = name == "dp_mean.dp_mechanism_in(cstring)"
            || name.ends_with("(dp_mean.dp_contribution,bigint,bigint)");
        let expected = match (restricted, writes) {
            (true, _) => "r",
            (_, true) => "u",
            _ => "s",
        };
        assert_eq!(parallel, expected, "{name}");
        // What works on states must see the first row's NULL, and the group without rows.
        let on_states = ["_trans(", "_final(", "dp_mean.dp_state_combine("];
        let of_state = on_states.iter().any(|part| name.contains(part));
        // A plan may lack numbers, and bounds beside a scale; what may not be NULL is named.
        let plans = ["dp_mean_plan(", "dp_mean_error(", "dp_epsilon_for("];
        let planned = plans.iter().any(|part| name.starts_with(part));
        let asks = ["dp_cost(", "dp_beyond("];
        let asks = asks.iter().any(|part| name.starts_with(part));
        let part = name.starts_with("dp_part");
        // Takes apart the answers that it is given.
        let of_answers = name.starts_with("dp_difference(dp_");
        let sees_null = aggregate || of_state || planned || writes || part || of_answers;
        assert_eq!(strict, !sees_null, "{name}");
        assert!(!row.get::<_, bool>(6) && !row.get::<_, bool>(7), "{name}");
        let looks = ["dp_plan(", "dp_ledger_archive(", "dp_ledger_check("];
        let looks = looks.iter().any(|part| name.starts_with(part));
        let sets = counts || asks || name == ANSWER || name == CHECK || looks;
        let many = lists_mechanisms || sets || name.starts_with("dp_unnest(");
        assert_eq!(row.get::<_, bool>(8), many, "{name}");
        if aggregate {
            assert_eq!(row.get::<_, &str>(9), "internal", "{name}");
        } else if of_answers || [CHECK, RECORD].contains(&name) {
            assert_eq!(row.get::<_, &str>(9), "sql", "{name}");
        } else {
            assert_eq!(row.get::<_, &str>(9), "c", "{name}");
            assert_eq!(row.get::<_, &str>(10), "$libdir/dp_mean", "{name}");
        }
    }
    let set =
        |names: &[&str]| -> BTreeSet<String> { names.iter().map(|&name| name.into()).collect() };
    for (found, expected) in [
        (conversions, CONVERSIONS),
        (plans, PLANS),
        (ledger, LEDGER),
        (gate, GATE),
        (written, WRITTEN),
    ] {
        assert_eq!(set(&found), set(expected));
    }
}

#[test]
fn each_aggregate_says_what_it_is() {
    let (_database, mut client) = session(Build::Release);
    let sql = format!(
        "SELECT signature, aggkind::text, aggnumdirectargs, aggcombinefn::regprocedure::text, \
         aggserialfn = 0 AND aggdeserialfn = 0 AND aggmtransfn = 0, aggfinalextra, \
         aggfinalmodify::text, aggtranstype::regtype::text, aggtransspace, agginitval = '', \
         t.proname::text, e.proname::text \
         FROM ({}) f JOIN pg_aggregate a ON a.aggfnoid = f.oid \
         JOIN pg_proc t ON t.oid = aggtransfn JOIN pg_proc e ON e.oid = aggfinalfn \
         WHERE signature NOT LIKE 'dp\\_mean.%' ORDER BY 1",
        functions()
    );
    let aggregates = rows(&mut client, &sql);
    // Which they are, and their arguments: see `signatures.rs`.
    assert!(aggregates.len() > 30, "{}", aggregates.len());
    for row in &aggregates {
        let name: &str = row.get(0);
        assert_eq!(row.get::<_, &str>(1), "n", "{name}");
        assert_eq!(row.get::<_, i16>(2), 0, "{name}");
        assert_eq!(
            row.get::<_, &str>(3),
            "dp_mean.dp_state_combine(dp_mean.dp_state,dp_mean.dp_state)",
            "{name}"
        );
        assert!(row.get::<_, bool>(4), "{name}");
        assert!(!row.get::<_, bool>(5), "{name}");
        // Shareable: not read-only, or OVER would draw noise for each row.
        assert_eq!(row.get::<_, &str>(6), "s", "{name}");
        assert_eq!(row.get::<_, &str>(7), "dp_mean.dp_state", "{name}");
        let (aggregate, _) = name.split_once('(').expect("a signature");
        // What the planner takes a group to hold: of vectors, that of 64 positions.
        let space = match aggregate {
            "dp_counts" | "dp_counts_estimate" | "dp_histogram" => 64 + 8 * 64,
            "dp_sums" | "dp_sums_estimate" | "dp_means" => 64 + 16 * 64,
            "dp_bounds" => 64 + 8 * 257,
            "dp_cdf" | "dp_cdf_estimate" => 64 + 8 * 1000,
            "dp_clamped" => 64 + 8 * 3,
            "dp_groups" => 512,
            "dp_quantile" | "dp_median" | "dp_quantiles" | "dp_quantile_estimate" => {
                64 + 8 * 16_384
            }
            "dp_var_pop" | "dp_stddev_pop" | "dp_var_pop_estimate" | "dp_contribution" => 80,
            "dp_count_distinct" | "dp_count_distinct_estimate" => 24 + (1 << 17),
            "dp_covar_pop"
            | "dp_corr"
            | "dp_corr_estimate"
            | "dp_regr"
            | "dp_regr_slope"
            | "dp_regr_intercept"
            | "dp_weighted_mean"
            | "dp_weighted_mean_estimate" => 160,
            // That of five predictors.
            "dp_linear_regression" => 64 + 32 * 6 + 16 * 27,
            _ => 64,
        };
        assert_eq!(row.get::<_, i32>(8), space, "{name}");
        assert!(row.get::<_, bool>(9), "{name}");
        // Of contributions they have functions of their own, but where x is of any type.
        let people = match name.contains("dp_contribution)") || name.contains("dp_contribution,") {
            true => "_people",
            false => "",
        };
        // Named before these aggregates had PostgreSQL's names: the library of today serves the SQL of 0.1.0 too.
        let base = match aggregate {
            "dp_var_pop" => "dp_variance",
            "dp_stddev_pop" => "dp_stddev",
            "dp_var_pop_estimate" => "dp_variance_estimate",
            _ => aggregate,
        };
        let transition = match aggregate {
            "dp_mean_and_count" => &format!("dp_mean{people}_trans"),
            "dp_counts_estimate" => "dp_counts_trans",
            "dp_sums_estimate" => "dp_sums_trans",
            "dp_stddev_pop" => &format!("dp_variance{people}_trans"),
            "dp_regr_intercept" => &format!("dp_regr_slope{people}_trans"),
            "dp_regr" => &format!("dp_corr{people}_trans"),
            "dp_count" | "dp_count_estimate" if !name.contains("any") => {
                &format!("{aggregate}_rows_trans")
            }
            _ => &format!("{base}{people}_trans"),
        };
        assert_eq!(row.get::<_, &str>(10), transition, "{name}");
        assert_eq!(
            row.get::<_, &str>(11),
            format!("{base}{people}_final"),
            "{name}"
        );
    }
}

#[test]
fn only_the_aggregates_may_run_what_works_on_states() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    let sql = format!(
        "SELECT signature, of_state, has_function_privilege('{}', oid, 'EXECUTE'), \
         EXISTS (SELECT FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) \
                 WHERE grantee = 0) \
         FROM ({}) f",
        role.name(),
        functions()
    );
    let mut of_states = 0_i64;
    for row in rows(&mut client, &sql) {
        let name: &str = row.get(0);
        let converts = ["contribution", "groups", "block"]
            .map(|of| ["in", "out", "recv", "send"].map(|part| format!("dp_mean.dp_{of}_{part}(")));
        let of_state = row.get(1)
            || converts
                .as_flattened()
                .iter()
                .any(|start| name.starts_with(start));
        of_states += i64::from(of_state);
        let shut = of_state || [LEDGER, TRIGGERS, &[STATS]].concat().contains(&name);
        assert_eq!(row.get::<_, bool>(2), !shut, "{name}");
        assert_eq!(row.get::<_, bool>(3), !shut, "{name}");
    }
    // All that the aggregates are made of, and what reads and writes states, contributions, groups and blocks.
    let parts = "SELECT count(DISTINCT part) FROM pg_aggregate, \
         unnest(ARRAY[aggtransfn, aggfinalfn, aggcombinefn]::oid[]) part WHERE aggtranstype = 'dp_mean.dp_state'::regtype";
    let parts = value::<i64>(&mut client, parts);
    assert_eq!(of_states, parts + 2 + 2 * 4 + 2);
    for (name, usable) in [
        ("dp_mean.dp_state", false),
        ("dp_mean.dp_contribution", false),
        ("dp_contribution", false),
        ("dp_mean.dp_groups", false),
        ("dp_mean.dp_part", false),
        ("dp_mechanism", true),
        ("dp_mean_answer", true),
        ("dp_vector_answer", true),
        ("dp_bounds_answer", true),
        ("dp_clamped_answer", true),
        ("dp_variance_answer", true),
        ("dp_quantile_estimate_answer", true),
        ("dp_cdf_answer", true),
        ("dp_weighted_mean_answer", true),
        ("dp_difference_answer", true),
        ("dp_regr_answer", true),
    ] {
        let sql = format!(
            "SELECT has_type_privilege('{}', '{name}', 'USAGE')",
            role.name()
        );
        assert_eq!(value::<bool>(&mut client, &sql), usable, "{name}");
    }

    // And a role with no rights runs all that is public.
    run(
        &mut client,
        "REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO PUBLIC",
    );
    let mut nobody = role.connect();
    for call in calls().filter(|call| call.empty == Empty::Noise && !call.is_pathological()) {
        for rest in ["", " GROUP BY x > 0.3", " WHERE false"] {
            let answer = format!("({})::text IS NOT NULL", call.with("1", "1", ""));
            let sql = format!("SELECT {answer} FROM (VALUES (0.5::float8), (0.25)) v(x){rest}");
            for row in rows(&mut nobody, &sql) {
                assert!(row.get::<_, bool>(0), "{sql}");
            }
        }
    }
    for sql in [
        "SELECT count(*) > 0 FROM dp_mechanisms()",
        "SELECT 'laplace'::dp_mechanism <> 'hourglass' AND 'hourglass'::dp_mechanism < 'laplace'",
        "SELECT ('laplace'::text)::dp_mechanism = ('laplace'::varchar)::dp_mechanism",
        "SELECT array_agg(m ORDER BY m) = '{hourglass,laplace}' FROM (VALUES ('laplace'::dp_mechanism), ('hourglass')) v(m)",
        "SELECT dp_mu(1, 1e-6) + dp_delta(1, 1) + dp_eps(1e-6, 1) > 0",
        "SELECT dp_rho_of_mu(1) + dp_mu_of_rho(1) + dp_rdp_of_mu(1, 2) > 0",
        "SELECT dp_clip_bias(2, 1, 5) + dp_clip_radius(2, 1, 0.1) > 0",
        "SELECT possible FROM dp_trilemma(100, 1, 1e-6, 0.01)",
        "SELECT dp_histogram_edges(0, 1, 2) = '{0,0.5,1}'",
        "SELECT dp_version() ~ '^[0-9]+[.][0-9]+[.][0-9]+$'",
        "SELECT count(rmse_bound) > 0 FROM dp_mean_plan(100, 0, 1, 1)",
        "SELECT rmse < half_width FROM dp_mean_error(100, 0, 1, 1)",
        "SELECT dp_epsilon_for(100, 0, 1, 0.01) > 0",
        "SELECT min(noise) > 0 FROM dp_plan(1000, 10, 1)",
    ] {
        assert!(value::<bool>(&mut nobody, sql), "{sql}");
    }
}

#[test]
fn every_argument_has_a_name() {
    let (_database, mut client) = session(Build::Release);
    let sql = format!(
        "SELECT signature FROM ({}) f WHERE pronargs > 0 AND (proargnames IS NULL OR '' = ANY (proargnames))",
        functions()
    );
    assert_eq!(strings(&mut client, &sql), [""; 0]);
    // psql shows them, and functions take them. Aggregates do not: that is PostgreSQL's rule.
    let sql = "SELECT pg_get_function_arguments('dp_mean(float8, float8, float8, float8, dp_mechanism)'::regprocedure)";
    let shown = "x double precision, lo double precision, hi double precision, eps double precision, mech dp_mechanism";
    assert_eq!(value::<String>(&mut client, sql), shown);
    let sql = "SELECT dp_mu(delta => 1e-6, eps => 1) = dp_mu(1, 1e-6)";
    assert!(value::<bool>(&mut client, sql));
    let refusal = refused(
        &mut client,
        "SELECT dp_mean(x => 0.5, lo => 0, hi => 1, eps => 1)",
    );
    let expected = "aggregates cannot use named arguments";
    assert_eq!(
        (refusal.code.as_str(), refusal.message.as_str()),
        ("0A000", expected)
    );
}

#[test]
fn every_public_object_has_a_comment() {
    let (_database, mut client) = session(Build::Release);
    let sql = format!(
        "SELECT name, obj_description(objid, classid::regclass::name), classid::regclass::text \
         FROM ({MEMBERS}) m WHERE name NOT LIKE '%[]' AND NOT (classid = 'pg_type'::regclass AND objid IN \
         (SELECT reltype FROM pg_class WHERE relkind <> 'c')) AND NOT (classid = 'pg_proc'::regclass AND objid IN \
         (SELECT oid FROM pg_proc WHERE pronamespace = 'dp_mean'::regnamespace)) ORDER BY 1"
    );
    // (Newer servers count the types of arrays and of the rows of tables, which have no comment, among the members.)
    let members = rows(&mut client, &sql);
    let mut catalogs = BTreeSet::new();
    for row in &members {
        let comment: Option<&str> = row.get(1);
        let name: &str = row.get(0);
        assert!(
            comment.is_some_and(|text| text.len() > 5),
            "{name}: {comment:?}"
        );
        catalogs.insert(row.get::<_, String>(2));
    }
    // All the kinds there are.
    let expected = [
        "pg_cast",
        "pg_class",
        "pg_namespace",
        "pg_opclass",
        "pg_operator",
        "pg_opfamily",
        "pg_proc",
        "pg_type",
    ];
    assert_eq!(Vec::from_iter(&catalogs), expected);
    let sql = format!(
        "SELECT objid::regclass || '.' || attname FROM ({MEMBERS}) m JOIN pg_attribute a ON attrelid = objid \
         WHERE classid = 'pg_class'::regclass AND attnum > 0 AND col_description(objid, attnum) IS NULL \
         UNION ALL SELECT tgrelid::regclass || ' ' || tgname FROM pg_trigger t \
         WHERE tgrelid IN (SELECT objid FROM ({MEMBERS}) m) AND obj_description(t.oid, 'pg_trigger') IS NULL"
    );
    assert_eq!(strings(&mut client, &sql), [""; 0]);

    for (name, expected) in [
        ("dp_mean_answer", "mean float8, count float8"),
        ("dp_bounds_answer", "lower float8, upper float8"),
        (
            "dp_mean_estimate_answer",
            "value float8, lower float8, upper float8, count float8, \
             unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_sum_estimate_answer",
            "value float8, lower float8, upper float8, unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_count_estimate_answer",
            "value int8, lower int8, upper int8, unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        ("dp_clamped_answer", "below int8, inside int8, above int8"),
        (
            "dp_weighted_mean_answer",
            "value float8, lower float8, upper float8, weight float8, unit text, rho float8, mu float8, \
             epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_cdf_answer",
            "value _float8, lower _float8, upper _float8, population_lower _float8, population_upper _float8, \
             count float8, unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_quantile_estimate_answer",
            "value float8, lower float8, upper float8, unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_variance_answer",
            "value float8, lower float8, upper float8, stddev float8, stddev_lower float8, stddev_upper float8, \
             mean float8, mean_lower float8, mean_upper float8, population_mean_lower float8, \
             population_mean_upper float8, count float8, unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_regr_answer",
            "slope float8, intercept float8, correlation float8, r2 float8, covariance float8, y_mean float8, \
             x_mean float8, y_stddev float8, x_stddev float8, count float8, \
             unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
        (
            "dp_vector_answer",
            "value _float8, total float8, sd float8, covariance float8, total_sd float8, \
             total_covariance float8, half_width float8, difference_half_width float8, total_half_width float8, \
             unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text",
        ),
    ] {
        let sql = format!(
            "SELECT attname || ' ' || typname, col_description(attrelid, attnum) \
             FROM pg_attribute JOIN pg_type t ON t.oid = atttypid \
             WHERE attrelid = '{name}'::regclass AND attnum > 0 ORDER BY attnum"
        );
        let columns = rows(&mut client, &sql);
        let names: Vec<&str> = columns.iter().map(|row| row.get(0)).collect();
        assert_eq!(names.join(", "), expected);
        for row in &columns {
            assert!(row.get::<_, Option<&str>>(1).is_some(), "{row:?}");
        }
    }
    let sql = "SELECT obj_description(oid, 'pg_extension') FROM pg_extension \
         WHERE extname = 'dp_mean'";
    assert!(value::<Option<String>>(&mut client, sql).is_some());
}

#[test]
fn types_say_what_they_are() {
    let (_database, mut client) = session(Build::Release);
    let sql = "SELECT typname::text, typtype::text, typlen, typbyval, typalign::text, \
         typstorage::text, typcategory::text, typispreferred, typcollation = 0, typnotnull \
         FROM pg_type WHERE typname IN ('dp_state', 'dp_mechanism') ORDER BY 1";
    let types: Vec<_> = rows(&mut client, sql)
        .iter()
        .map(|row| {
            let text = |i| row.get::<_, String>(i);
            let is = |i| row.get::<_, bool>(i);
            let words = [0, 1, 4, 5, 6].map(text).join(" ");
            (words, row.get::<_, i16>(2), [3, 7, 8, 9].map(is))
        })
        .collect();
    let flags = [false, false, true, false];
    let expected = [
        ("dp_mechanism b i x U".to_owned(), -1, flags),
        ("dp_state b d p U".to_owned(), -1, flags),
    ];
    assert_eq!(types, expected);

    let sql = "SELECT castsource::regtype::text || ' ' || casttarget::regtype::text || ' ' || \
         castcontext::text || ' ' || castmethod::text FROM pg_cast \
         WHERE 'dp_mechanism'::regtype IN (castsource, casttarget) \
         OR 'dp_mean.dp_state'::regtype IN (castsource, casttarget) ORDER BY 1";
    let expected = [
        "character varying dp_mechanism i i",
        "text dp_mechanism i i",
    ];
    assert_eq!(strings(&mut client, sql), expected);
    // Without a word in the query.
    let sql = "SELECT dp_mean.dp_mechanism_cmp('laplace'::text, 'laplace'::varchar)";
    assert_eq!(value::<i32>(&mut client, sql), 0);
    let refusal = refused(&mut client, "SELECT 'laplace'::dp_mechanism COLLATE \"C\"");
    assert_eq!(refusal.code, "42804", "{refusal:?}");
}

#[test]
fn the_extension_can_live_in_any_schema() {
    let (_database, mut client) = session(Build::Release);
    let sql = "SELECT superuser, trusted, relocatable FROM pg_available_extension_versions \
         WHERE name = 'dp_mean' AND installed";
    let row = &rows(&mut client, sql)[0];
    assert_eq!((row.get(0), row.get(1), row.get(2)), (true, false, false));

    run(
        &mut client,
        "DROP EXTENSION dp_mean; CREATE SCHEMA one; CREATE SCHEMA two; \
         CREATE EXTENSION dp_mean SCHEMA one; \
         CREATE TABLE t AS SELECT i % 2 AS k, i / 1000.0 AS x FROM generate_series(1, 1000) i; \
         CREATE TABLE m (mech one.dp_mechanism); INSERT INTO m VALUES ('laplace'); \
         CREATE VIEW v AS SELECT one.dp_mean(x, 0, 1, 50, 'hourglass') AS mean, \
             (one.dp_mean_and_count(x, 0, 1, 50)).count, one.dp_sum(x, 0, 1, 50) AS sum, \
             one.dp_count(x, 50, 'geometric') AS n, \
             one.dp_counts(50, 'laplace', k = 0, x > 0.75) AS counts, \
             (one.dp_counts_estimate(50, 'laplace(d=1)', VARIADIC ARRAY[k = 0])).sd AS sd, \
             one.dp_means(ARRAY[x], 0, 1, NULL, 'correlated(mu=1000, d=1)') AS means FROM t",
    );
    let right = |client: &mut Client, from: &str| {
        let sql = format!(
            "SELECT abs(mean - 0.5005) < 1e-6 AND abs(count - 1000) < 1e-3 \
             AND abs(sum - 500.5) < 1e-6 AND n = 1000 AND counts = '{{500,250}}' AND sd < 1e-6 \
             AND abs(means[1] - 0.5005) < 1e-4 FROM {from}"
        );
        assert!(value::<bool>(client, &sql), "{sql}");
    };
    let calls = |schema: &str| {
        format!(
            "(SELECT {schema}.dp_mean(x, 0, 1, 50, 'hourglass') AS mean, \
             ({schema}.dp_mean_and_count(x, 0, 1, 50)).count, {schema}.dp_sum(x, 0, 1, 50) AS sum, \
             {schema}.dp_count(x, 50, 'geometric') AS n, \
             {schema}.dp_counts(50, 'laplace', k = 0, x > 0.75) AS counts, \
             ({schema}.dp_counts_estimate(50, 'laplace(d=1)', VARIADIC ARRAY[k = 0])).sd AS sd, \
             {schema}.dp_means(ARRAY[x], 0, 1, NULL, 'correlated(mu=1000, d=1)') AS means FROM t) s"
        )
    };
    let in_schema = |client: &mut Client, schema: &str| {
        let sql = format!(
            "SELECT count(*) FROM ({MEMBERS}) m \
             JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = objid \
             WHERE pronamespace = '{schema}'::regnamespace"
        );
        value::<i64>(client, &sql)
    };
    right(&mut client, "v");
    right(&mut client, &calls("one"));
    let sql = format!(
        "SELECT count(*) FROM ({MEMBERS}) m \
         JOIN pg_aggregate a ON m.classid = 'pg_proc'::regclass AND a.aggfnoid = objid \
         WHERE a.aggfnoid::text NOT LIKE 'dp\\_mean.%'"
    );
    let public = PUBLIC as i64 + value::<i64>(&mut client, &sql);
    assert_eq!(in_schema(&mut client, "one"), public);
    assert!(in_schema(&mut client, "dp_mean") > public);
    let refusal = refused(&mut client, "SELECT dp_mean(x, 0, 1, 50) FROM t");
    assert_eq!(refusal.code, "42883");
    run(&mut client, "SET search_path = one, public");
    right(&mut client, &calls("one"));
    let sql = "SELECT mech::text FROM m WHERE mech = 'laplace' ORDER BY mech";
    assert_eq!(strings(&mut client, sql), ["laplace"]);

    // It has objects in two schemas, and PostgreSQL moves no such extension.
    let refusal = refused(&mut client, "ALTER EXTENSION dp_mean SET SCHEMA two");
    assert_eq!(refusal.code, "0A000", "{refusal:?}");
    right(&mut client, "v");
}

/// The schema of what works inside is the extension's alone.
#[test]
fn the_schema_of_the_support_functions_is_its_own() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    let sql = format!(
        "SELECT has_schema_privilege('{}', 'dp_mean', 'USAGE') OR has_schema_privilege('{0}', 'dp_mean', 'CREATE')",
        role.name()
    );
    assert!(!value::<bool>(&mut client, &sql));
    assert_eq!(refused(&mut client, "DROP SCHEMA dp_mean").code, "2BP01");
    // One that is there already, who made it, is not taken over.
    run(
        &mut client,
        "DROP EXTENSION dp_mean; CREATE SCHEMA dp_mean; CREATE FUNCTION dp_mean.mine() RETURNS int RETURN 1",
    );
    for create in [
        "CREATE EXTENSION dp_mean",
        "CREATE EXTENSION dp_mean SCHEMA dp_mean",
    ] {
        let refusal = refused(&mut client, create);
        let expected = "schema \"dp_mean\" already exists";
        assert_eq!(
            (refusal.code.as_str(), refusal.message.as_str()),
            ("42P06", expected)
        );
    }
    run(
        &mut client,
        "ALTER SCHEMA dp_mean RENAME TO mine; CREATE EXTENSION dp_mean; DROP EXTENSION dp_mean",
    );
    assert_eq!(value::<i32>(&mut client, "SELECT mine.mine()"), 1);
}

/// Objects that others made before CREATE EXTENSION, with the names that its script uses, are not taken up.
#[test]
fn what_others_made_before_is_not_taken_up() {
    let members = format!(
        "SELECT name FROM ({MEMBERS}) m UNION ALL \
         SELECT pg_describe_object(d.classid, d.objid, d.objsubid) || ' needs ' \
             || pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) \
         FROM ({MEMBERS}) m JOIN pg_depend d ON d.classid = m.classid AND d.objid = m.objid ORDER BY 1"
    );
    let (_database, mut client) = session(Build::Release);
    let clean = strings(&mut client, &members);
    assert!(clean.len() > 500, "{}", clean.len());
    // Each type by which it names one of PostgreSQL's, functions that fit a call better or as well, and operators.
    let traps = "DROP EXTENSION dp_mean; \
         CREATE DOMAIN public.float8 AS text; CREATE DOMAIN public.text AS int; CREATE DOMAIN public.cstring AS int; \
         CREATE DOMAIN public.\"any\" AS int; CREATE DOMAIN public.internal AS int; CREATE DOMAIN public.bytea AS int; \
         CREATE FUNCTION public.scalarltsel(internal, oid, internal, integer) RETURNS pg_catalog.float8 \
             LANGUAGE internal AS 'scalarltsel'; \
         CREATE FUNCTION public.eqsel(internal, oid, internal, integer) RETURNS pg_catalog.float8 \
             LANGUAGE internal AS 'eqsel'; \
         CREATE FUNCTION public.dp_mean_final(pg_catalog.text) RETURNS pg_catalog.float8 RETURN 1; \
         CREATE FUNCTION public.dp_state_combine(anyelement, anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT $1'; \
         CREATE FUNCTION public.dp_mechanism_lt(anyelement, anyelement) RETURNS boolean LANGUAGE sql AS 'SELECT true'; \
         CREATE OPERATOR public.< (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = public.dp_mechanism_lt); \
         CREATE FUNCTION public.pg_has_role(regrole, pg_catalog.text) RETURNS boolean RETURN true; \
         CREATE FUNCTION public.unequal(oid, integer) RETURNS boolean RETURN true; \
         CREATE OPERATOR public.<> (LEFTARG = oid, RIGHTARG = integer, FUNCTION = public.unequal); \
         CREATE EXTENSION dp_mean";
    run(&mut client, traps);
    assert_eq!(strings(&mut client, &members), clean);
    assert!(value::<bool>(
        &mut client,
        "SELECT count(*) > 0 FROM pg_proc WHERE prosrc = 'dp_mean_trans' AND proargtypes[1] = 'pg_catalog.float8'::regtype"
    ));
    let taken = "SELECT count(*) FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid \
         WHERE r.ev_class IN ('dp_budgets'::regclass, 'dp_budget_history'::regclass, 'dp_ledger'::regclass, \
         'dp_policies'::regclass, 'dp_budget_limits'::regclass, 'dp_stats_by_role'::regclass) \
           AND pg_describe_object(d.refclassid, d.refobjid, 0) ~ 'pg_has_role|unequal|operator <>'";
    assert_eq!(value::<i64>(&mut client, taken), 0);
    // What has the very name and arguments is in the way.
    for trap in [
        "CREATE TYPE public.dp_mechanism AS (x int)",
        "CREATE FUNCTION public.dp_mean_plan(float8, float8, float8, float8, float8, float8, float8) \
         RETURNS int RETURN 1",
    ] {
        let (_database, mut client) = session(Build::Release);
        run(&mut client, &format!("DROP EXTENSION dp_mean; {trap}"));
        let refusal = refused(&mut client, "CREATE EXTENSION dp_mean");
        assert!(
            ["42710", "42723"].contains(&refusal.code.as_str()),
            "{refusal:?}"
        );
    }
}

#[test]
fn only_a_superuser_can_create_it() {
    let (database, mut client) = session(Build::Release);
    let role = Role::new(&database);
    run(
        &mut client,
        &format!(
            "DROP EXTENSION dp_mean; GRANT CREATE ON DATABASE {} TO {}; \
             GRANT CREATE ON SCHEMA public TO {1}",
            database.name(),
            role.name()
        ),
    );
    let refusal = refused(&mut role.connect(), "CREATE EXTENSION dp_mean");
    assert_eq!(refusal.code, "42501", "{refusal:?}");
}

#[test]
fn nothing_is_left_after_drop_extension() {
    let (database, _client) = session(Build::Release);
    let name = format!("{}_bare", database.name());
    run(&mut database.connect(), &format!("CREATE DATABASE {name}"));
    let mut client = connect(&name);
    let catalogs = strings(
        &mut client,
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace \
         AND relkind = 'r' AND NOT relisshared AND relname NOT LIKE 'pg_statistic%'",
    );
    let count = |client: &mut Client| {
        let counts: Vec<i64> = catalogs
            .iter()
            .map(|catalog| value(client, &format!("SELECT count(*) FROM {catalog}")))
            .collect();
        Vec::from_iter(catalogs.iter().cloned().zip(counts))
    };
    let before = count(&mut client);
    run(&mut client, "CREATE EXTENSION dp_mean");
    let with = count(&mut client);
    let more = before.iter().zip(&with).filter(|(a, b)| b.1 > a.1);
    assert!(more.count() > 10, "{with:?}");
    run(&mut client, "DROP EXTENSION dp_mean");
    assert_eq!(before, count(&mut client));

    // What uses it keeps it from going, and goes with it if asked to.
    run(
        &mut client,
        "CREATE EXTENSION dp_mean; CREATE TABLE t (m dp_mechanism, x float8); \
         CREATE VIEW v AS SELECT dp_mean(x, 0, 1, 1) FROM t",
    );
    assert_eq!(refused(&mut client, "DROP EXTENSION dp_mean").code, "2BP01");
    run(&mut client, "DROP EXTENSION dp_mean CASCADE; DROP TABLE t");
    assert_eq!(before, count(&mut client));
}

/// Runs one of PostgreSQL's programs on a database.
pub fn program(name: &str, database: &str, arguments: &[&str]) -> Output {
    let url = variable("DP_MEAN_RELEASE_URL").replace("dbname=postgres", "");
    let output = Command::new(format!("{}/{name}", variable("DP_MEAN_BIN")))
        .args(["-d", &format!("{url} dbname={database}")])
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(output.status.success(), "{name}: {output:?}");
    output
}

#[test]
fn dp_mechanisms_lists_what_works() {
    let (_database, mut client) = session(Build::Release);
    let listed: Vec<_> = rows(&mut client, "SELECT * FROM dp_mechanisms()")
        .iter()
        .map(|row| {
            let text = |i| row.get::<_, String>(i);
            (row.get::<_, bool>(2), [0, 1, 3, 4, 5, 6, 7, 8].map(text))
        })
        .collect();
    let known: Vec<_> = catalog()
        .map(|(aggregate, is_default, info)| {
            let parameters: Vec<_> = info
                .all_parameters()
                .map(|parameter| {
                    let (name, domain) = (parameter.name, parameter.domain);
                    format!("{name} ({domain}): {}", parameter.description)
                })
                .collect();
            let parameters = parameters.join("; ");
            let texts = [
                aggregate,
                info.name,
                info.guarantee,
                info.neighbours,
                info.loss.description(),
                &parameters,
                info.example,
                info.source,
            ];
            (is_default, texts.map(str::to_owned))
        })
        .collect();
    assert_eq!(listed, known);

    // The planner's number of rows is about theirs.
    let rows_of = "SELECT prorows::float8 FROM pg_proc WHERE proname = 'dp_mechanisms'";
    let ratio = value::<f64>(&mut client, rows_of) / known.len() as f64;
    assert!((0.5..=2.0).contains(&ratio), "{ratio}");
}

/// A call of each aggregate with a mechanism, and the aggregate under which that one is listed.
const CALLS: &[(&str, &str)] = &[
    ("dp_mean", "dp_mean(x, 0, 1, {eps}, {mech})"),
    ("dp_mean", "dp_mean_and_count(x, 0, 1, {eps}, {mech})"),
    ("dp_sum", "dp_sum(x, 0, 1, {eps}, {mech})"),
    ("dp_count", "dp_count(x, {eps}, {mech})"),
    ("dp_keep", "dp_keep({eps}, 1e-6, {mech})"),
    ("dp_var_pop", "dp_var_pop(x, 0, 1, {eps}, {mech})"),
    ("dp_var_pop", "dp_stddev_pop(x, 0, 1, {eps}, {mech})"),
    ("dp_var_pop", "dp_var_pop_estimate(x, 0, 1, {eps}, {mech})"),
    ("dp_count_distinct", "dp_count_distinct(x, {eps}, {mech})"),
    (
        "dp_count_distinct",
        "dp_count_distinct_estimate(x, {eps}, {mech})",
    ),
    (
        "dp_covar_pop",
        "dp_covar_pop(x, x, 0, 1, 0, 1, {eps}, {mech})",
    ),
    (
        "dp_regr_slope",
        "dp_regr_slope(x, x, 0, 1, 0, 1, {eps}, {mech})",
    ),
    (
        "dp_regr_slope",
        "dp_regr_intercept(x, x, 0, 1, 0, 1, {eps}, {mech})",
    ),
    ("dp_corr", "dp_corr(x, x, 0, 1, 0, 1, {eps}, {mech})"),
    (
        "dp_weighted_mean",
        "dp_weighted_mean(x, x, 0, 1, 0, 1, {eps}, {mech})",
    ),
    (
        "dp_weighted_mean",
        "(dp_weighted_mean_estimate(x, x, 0, 1, 0, 1, {eps}, {mech})).value",
    ),
    ("dp_corr", "(dp_regr(x, x, 0, 1, 0, 1, {eps}, {mech})).r2"),
    (
        "dp_corr",
        "(dp_corr_estimate(x, x, 0, 1, 0, 1, {eps}, {mech})).value",
    ),
    (
        "dp_linear_regression",
        "(dp_linear_regression(x, ARRAY[x], 0, 1, ARRAY[0], ARRAY[1], {eps}, {mech})).r2",
    ),
    (
        "dp_counts",
        "dp_counts({eps}, {mech}, VARIADIC ARRAY[x > 0.3, x > 0.7])",
    ),
    (
        "dp_counts",
        "dp_counts_estimate({eps}, {mech}, VARIADIC ARRAY[x > 0.3])",
    ),
    ("dp_sums", "dp_sums(ARRAY[x], 0, 1, {eps}, {mech})"),
    ("dp_sums", "dp_sums_estimate(ARRAY[x], 0, 1, {eps}, {mech})"),
    ("dp_means", "dp_means(ARRAY[x], 0, 1, {eps}, {mech})"),
    ("dp_histogram", "dp_histogram(x, 0, 1, 4, {eps}, {mech})"),
    ("dp_bounds", "dp_bounds(x, {eps}, {mech})::text"),
    ("dp_clamped", "dp_clamped(x, 0, 1, {eps}, {mech})"),
    ("dp_cdf", "dp_cdf(x, 0, 1, 4, {eps}, {mech})"),
    (
        "dp_cdf",
        "(dp_cdf_estimate(x, 0, 1, 4, {eps}, {mech})).value",
    ),
    ("dp_quantile", "dp_quantile(x, 0, 1, 0.9, {eps}, {mech})"),
    (
        "dp_quantiles",
        "dp_quantile_estimate(x, 0, 1, 0.9, {eps}, {mech})",
    ),
    ("dp_median", "dp_median(x, 0, 1, {eps}, {mech})"),
    (
        "dp_quantiles",
        "dp_quantiles(x, 0, 1, '{0.1, 0.9}', {eps}, {mech})",
    ),
];

/// Whether a mechanism of `info` takes a scale in the place of bounds.
fn takes_scale(info: &Info) -> bool {
    info.parameters.iter().any(|known| known.name == "scale")
}

/// The example of a mechanism with one parameter more, or another value for it: a value that every
/// mechanism takes. Whether eps is NULL with it.
fn example_with(example: &str, parameter: &Parameter) -> (String, bool) {
    let value = match (parameter.name, parameter.kind) {
        ("n", _) => "7",
        ("bits", _) => "4096",
        ("rows" | "groups", _) => "2",
        ("bins", _) => "70",
        ("moment", _) => "3",
        // A mean without bounds is NULL with probability delta / 16.
        ("delta", _) => "1e-9",
        // For the scale of the examples, 10.
        ("bin" | "clip", _) => "70",
        (_, ParameterKind::Number) => "0.5",
        ("k", ParameterKind::Whole) => "2",
        (_, ParameterKind::Whole) => "7",
        (_, ParameterKind::Word(words)) => words[words.len() - 1],
    };
    let (name, inside) = match example.split_once('(') {
        Some((name, inside)) => (name, inside.trim_end_matches(')')),
        None => (example, ""),
    };
    let budgets = ["delta", "mu", "rho"];
    let replaces = |item: &str| {
        let key = item.split('=').next().expect("a key");
        key == parameter.name || (budgets.contains(&key) && budgets.contains(&parameter.name))
    };
    let others = inside.split(", ").filter(|item| !item.is_empty());
    let mut items: Vec<String> = others
        .filter(|item| !replaces(item))
        .map(str::to_owned)
        .collect();
    items.push(format!("{}={value}", parameter.name));
    let own_budget = ["mu", "rho"].contains(&parameter.name);
    (format!("{name}({})", items.join(", ")), own_budget)
}

#[test]
fn every_example_works_and_so_does_every_parameter() {
    let (_database, mut client) = session(Build::Release);
    run(&mut client, "SET dp_mean.allow_pathological = on");
    let names: BTreeSet<&str> = catalog().map(|(_, _, info)| info.name).collect();
    for &(entry, template) in CALLS {
        let mine: Vec<_> = catalog().filter(|(name, ..)| *name == entry).collect();
        assert_eq!(mine.iter().filter(|(_, default, _)| *default).count(), 1);
        let bounded = |eps: &str, mechanism: &str| {
            let call = template.replace("{eps}", eps);
            let call = call.replace("{mech}", &format!("'{mechanism}'"));
            // That many rows that there is a mean without bounds, but with probability 1e-7.
            format!("SELECT {call} IS NULL FROM (SELECT 0.5 AS x FROM generate_series(1, 1000)) v")
        };
        for (_, _, info) in &mine {
            let call = |eps: &str, mechanism: &str| {
                let call = bounded(eps, mechanism);
                if takes_scale(info) {
                    call.replace("x, 0, 1,", "x, NULL, NULL,")
                } else {
                    call
                }
            };
            let works = |client: &mut Client, eps: &str, text: &str| {
                assert!(!value::<bool>(client, &call(eps, text)), "{text}");
            };
            assert!(info.example.starts_with(info.name), "{}", info.example);
            works(&mut client, "1", info.example);
            for parameter in info.all_parameters() {
                let (text, own_budget) = example_with(info.example, parameter);
                if parameter.domain != "none" {
                    let eps = if own_budget { "NULL" } else { "1" };
                    works(&mut client, eps, &text);
                    continue;
                }
                // A parameter that is there to say what cannot be.
                let refusal = refused(&mut client, &call("1", &text));
                assert_eq!(refusal.code, "22023", "{refusal:?}: {text}");
                assert!(refusal.message.ends_with("cannot exist"), "{refusal:?}");
            }
        }
        // Of the same mechanisms as dp_quantiles, and no other.
        let entry = match template.starts_with("dp_quantile_estimate(") {
            true => "dp_quantile_estimate",
            false => entry,
        };
        for name in &names {
            if !mine.iter().any(|(_, _, info)| info.name == *name) {
                let refusal = refused(&mut client, &bounded("1", name));
                assert_eq!(refusal.code, "22023", "{name}");
                let message = format!("is not a mechanism of {entry}");
                assert!(refusal.message.ends_with(&message), "{refusal:?}");
            }
        }
    }
    // As the query that lists them shows them.
    let sql = "SELECT example::dp_mechanism::text FROM dp_mechanisms() WHERE mechanism = 'ellipse'";
    assert_eq!(
        strings(&mut client, sql),
        ["ellipse(d=64, delta=1e-6, k=3)"; 2]
    );
}

#[test]
fn the_default_is_the_one_that_is_listed() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT i / 100.0 AS x FROM generate_series(1, 100) i;
         SET dp_mean.allow_pathological = on",
    );
    // The aggregates of vectors have no default: d or the budget must be given.
    let pairs = ["dp_covar_pop", "dp_regr_slope", "dp_corr"];
    let scalars = [
        "dp_mean",
        "dp_sum",
        "dp_count",
        "dp_count_distinct",
        "dp_var_pop",
    ];
    let scalars = [&scalars[..], &pairs].concat();
    for (aggregate, is_default, info) in catalog().filter(|entry| scalars.contains(&entry.0)) {
        let bounds = match aggregate {
            "dp_count" | "dp_count_distinct" => "",
            _ if takes_scale(info) => "NULL, NULL, ",
            _ if pairs.contains(&aggregate) => "-x, 0, 1, -1, 1, ",
            _ => "0, 1, ",
        };
        // The default has no NULL bounds.
        let of_default = bounds.replace("NULL, NULL", "0, 1");
        let mut answers = [
            (of_default.as_str(), String::new()),
            (bounds, format!(", '{}'", info.example)),
        ]
        .map(|(bounds, mechanism)| {
            run(&mut client, "SELECT dp_test_seed(7)");
            let call = format!("{aggregate}(x, {bounds}0.1{mechanism})");
            (0..8)
                .map(|_| value(&mut client, &format!("SELECT {call}::float8 FROM t")))
                .collect::<Vec<Option<f64>>>()
        });
        let with = std::mem::take(&mut answers[1]);
        assert_eq!(answers[0] == with, is_default, "{aggregate} {}", info.name);
    }
}

/// Texts of mechanisms with their canonical form.
const TEXTS: &[(&str, &str)] = &[
    ("hourglass", "hourglass"),
    (" hourglass ( ) ", "hourglass"),
    ("hourglass(gamma=0.5)", "hourglass(gamma=0.5)"),
    ("hourglass ( gamma = 0.50 )", "hourglass(gamma=0.5)"),
    ("hourglass(gamma=1)", "hourglass(gamma=1.0)"),
    ("hourglass(gamma=5e-1)", "hourglass(gamma=0.5)"),
    ("staircase(gamma=0.1)", "staircase(gamma=0.1)"),
    ("staircase", "staircase"),
    ("shifted", "shifted"),
    ("laplace", "laplace"),
    ("independent", "independent"),
    ("geometric", "geometric"),
    (
        "correlated(delta=0.000001, d=64)",
        "correlated(d=64, delta=1e-6)",
    ),
    (
        "correlated( relation = replace , d = 1e2, mu=1 )",
        "correlated(d=100, mu=1.0, relation=replace)",
    ),
    ("ellipse(rho=5e-1, k=3)", "ellipse(k=3, rho=0.5)"),
    ("known_n(n=12345, mu=2)", "known_n(mu=2.0, n=12345.0)"),
    ("gaussian(delta=1e-6)", "gaussian(delta=1e-6)"),
];

/// A session with `m`, a table of [`TEXTS`] as mechanisms, each twice.
fn mechanisms() -> (Database, Client) {
    let (database, mut client) = session(Build::Release);
    run(&mut client, "CREATE TABLE m (mech dp_mechanism)");
    let texts: Vec<&str> = TEXTS.iter().map(|(text, _)| *text).collect();
    let insert = "INSERT INTO m SELECT t::dp_mechanism FROM unnest($1::text[] || $1::text[]) t";
    client.execute(insert, &[&texts]).expect("mechanisms");
    run(&mut client, "ANALYZE m");
    (database, client)
}

#[test]
fn the_text_of_a_mechanism_round_trips() {
    let (_database, mut client) = mechanisms();
    for &(text, canonical) in TEXTS {
        for (cast, from) in [
            ("", "literal"),
            ("::text", "text"),
            ("::varchar", "varchar"),
        ] {
            let sql = format!("SELECT ('{text}'{cast})::dp_mechanism::text");
            assert_eq!(value::<String>(&mut client, &sql), canonical, "{from}");
        }
        let sql = format!("SELECT '{canonical}'::dp_mechanism::text");
        assert_eq!(value::<String>(&mut client, &sql), canonical);
        let sql = format!("SELECT '{text}'::dp_mechanism = '{canonical}'::dp_mechanism");
        assert!(value::<bool>(&mut client, &sql), "{text}");
    }
}

#[test]
fn mechanisms_have_the_order_of_their_bytes() {
    let (_database, mut client) = mechanisms();
    let texts: BTreeSet<&str> = TEXTS.iter().map(|(_, canonical)| *canonical).collect();
    let sorted: Vec<&str> = texts.into_iter().collect();
    assert_eq!(
        strings(
            &mut client,
            "SELECT DISTINCT mech::text COLLATE \"C\" FROM m ORDER BY 1"
        ),
        sorted
    );
    let repeated = |text: &str| 2 * TEXTS.iter().filter(|(_, t)| *t == text).count();
    let all: Vec<&str> = sorted
        .iter()
        .flat_map(|text| std::iter::repeat_n(*text, repeated(text)))
        .collect();
    assert_eq!(
        strings(&mut client, "SELECT mech::text FROM m ORDER BY mech"),
        all
    );
    let backward: Vec<&str> = all.iter().rev().copied().collect();
    assert_eq!(
        strings(&mut client, "SELECT mech::text FROM m ORDER BY mech DESC"),
        backward
    );

    let distinct = "SELECT s::text FROM (SELECT DISTINCT mech AS s FROM m) d ORDER BY s";
    assert!(explain(&mut client, distinct).contains("Unique"));
    assert_eq!(strings(&mut client, distinct), sorted);
    let grouped = "SELECT mech::text, count(*) FROM m GROUP BY mech ORDER BY mech";
    assert!(explain(&mut client, grouped).contains("GroupAggregate"));
    let groups: Vec<(String, i64)> = rows(&mut client, grouped)
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    let expected: Vec<(String, i64)> = sorted
        .iter()
        .map(|text| ((*text).to_owned(), repeated(text) as i64))
        .collect();
    assert_eq!(groups, expected);

    run(
        &mut client,
        "SET enable_nestloop = off; SET enable_hashjoin = off",
    );
    let joined = "SELECT count(*) FROM m a JOIN m b ON a.mech = b.mech";
    assert!(explain(&mut client, joined).contains("Merge Join"));
    let pairs: i64 = expected.iter().map(|(_, n)| n * n).sum();
    assert_eq!(value::<i64>(&mut client, joined), pairs);

    // Each operator, and the comparison of the index, agree with the bytes.
    for a in &sorted {
        for b in &sorted {
            let sql = format!(
                "SELECT ARRAY[a < b, a <= b, a = b, a <> b, a >= b, a > b], dp_mean.dp_mechanism_cmp(a, b) \
                 FROM (SELECT '{a}'::dp_mechanism AS a, '{b}'::dp_mechanism AS b) s"
            );
            let row = &rows(&mut client, &sql)[0];
            let expected = [a < b, a <= b, a == b, a != b, a >= b, a > b];
            assert_eq!(row.get::<_, Vec<bool>>(0), expected, "{a} {b}");
            assert_eq!(row.get::<_, i32>(1), a.as_bytes().cmp(b.as_bytes()) as i32);
        }
    }
    run(
        &mut client,
        "CREATE INDEX ON m (mech); SET enable_seqscan = off; SET enable_bitmapscan = off",
    );
    for (condition, expected) in [("= 'laplace'", 2), ("< 'hourglass(gamma=0.6)'", 20)] {
        let sql = format!("SELECT count(*) FROM m WHERE mech {condition}");
        let plan = explain(&mut client, &sql);
        assert!(plan.contains("Index Cond: (m.mech "), "{plan}");
        assert_eq!(value::<i64>(&mut client, &sql), expected, "{condition}");
    }
}

#[test]
fn the_binary_form_of_a_mechanism_round_trips() {
    let (_database, mut client) = mechanisms();
    run(&mut client, "CREATE TABLE back (mech dp_mechanism)");
    let mut bytes = Vec::new();
    let mut reader = client
        .copy_out("COPY m TO STDOUT (FORMAT binary)")
        .expect("COPY runs");
    reader.read_to_end(&mut bytes).expect("COPY sends bytes");
    drop(reader);
    let copy_in = |client: &mut Client, bytes: &[u8]| {
        let mut writer = client.copy_in("COPY back FROM STDIN (FORMAT binary)")?;
        writer.write_all(bytes).expect("the server takes bytes");
        writer.finish()
    };
    let copied = copy_in(&mut client, &bytes).expect("COPY takes its own bytes");
    assert_eq!(copied, 2 * TEXTS.len() as u64);
    let all = |table: &str| format!("SELECT mech::text FROM {table} ORDER BY mech");
    let back = strings(&mut client, &all("back"));
    assert_eq!(back, strings(&mut client, &all("m")));
    let sent = "SELECT bool_and(dp_mean.dp_mechanism_send(mech) = mech::text::bytea) FROM m";
    assert!(value::<bool>(&mut client, sent));

    // Bytes that are the text of no mechanism do not get in.
    let place = bytes.windows(7).position(|window| window == b"laplace");
    let place = place.expect("the name stands in its binary form");
    for (i, byte) in [(0, b'L'), (6, 0), (6, 0xff), (3, b'(')] {
        let mut forged = bytes.clone();
        forged[place + i] = byte;
        let error = copy_in(&mut client, &forged).expect_err("a forged mechanism is refused");
        let code = error.code().expect("an error of the server").code();
        // A byte that no text may hold is PostgreSQL's to refuse.
        let expected = if byte.is_ascii_graphic() {
            "22023"
        } else {
            "22021"
        };
        assert_eq!(code, expected, "{error:?}");
    }
    assert_eq!(strings(&mut client, &all("back")), back);
}
