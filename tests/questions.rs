//! Every rule of the calls on vectors, and of the budgets that a mechanism gives: the same call
//! raises the same error whatever the rows are, in parallel plans too; what the rules allow works
//! in every way that a value can reach a query. What all aggregates share, `arguments` tests.

use std::sync::LazyLock;

use dp_core::registry::catalog;
use dp_mean_tests::{Database, Refusal, explain, refused, rows, run, value};
use postgres::Client;
use postgres::types::{ToSql, Type};

use crate::arguments::{PLACES, refused_alike, tables};

/// The places of all calls, and those where workers share the rows, or find none.
static PLACES_OF_VECTORS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let parallel = [
        "SELECT k, {} FROM big t GROUP BY k",
        "SELECT {} FROM big t WHERE x + k > 1e9",
    ];
    PLACES.into_iter().chain(parallel).collect()
});

/// The tables of `arguments`, and `big`, which alone is large enough for a parallel plan.
fn parallel_tables() -> (Database, Client) {
    let (database, mut client) = tables();
    run(
        &mut client,
        "CREATE TABLE big WITH (parallel_workers = 2) AS SELECT * FROM full_table; ANALYZE big;
         CREATE DOMAIN answer AS boolean; CREATE DOMAIN answers AS boolean[];
         SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0",
    );
    for place in PLACES_OF_VECTORS.iter() {
        let sql = place.replace("{}", "dp_counts(1, 'laplace', x > 30)");
        let plan = explain(&mut client, &sql);
        assert_eq!(plan.contains("Gather"), place.contains("big"), "{plan}");
    }
    (database, client)
}

/// That `call` is refused everywhere, in these words.
fn refused_everywhere(client: &mut Client, call: &str, code: &str, message: &str) -> Refusal {
    let refusal = refused_alike(client, call, &PLACES_OF_VECTORS);
    assert_eq!(refusal.code, code, "{refusal:?}: {call}");
    assert_eq!(refusal.message, message, "{call}");
    refusal
}

/// Calls on rows of four positions, but for eps and mech: the name in messages, and the call.
const CALLS: [(&str, &str); 6] = [
    (
        "dp_counts",
        "dp_counts({eps}, {mech}, x > 30, k = 2, k = 1, x < 3)",
    ),
    ("dp_counts", "dp_counts({eps}, {mech}, VARIADIC bs)"),
    (
        "dp_counts",
        "dp_counts_estimate({eps}, {mech}, VARIADIC bs || bs)",
    ),
    ("dp_sums", "dp_sums(xs, 0, 100, {eps}, {mech})"),
    ("dp_sums", "dp_sums_estimate(xs, 0, 100, {eps}, {mech})"),
    ("dp_means", "dp_means(xs, 0, 100, {eps}, {mech})"),
];

fn call(template: &str, eps: &str, mech: &str) -> String {
    template.replace("{eps}", eps).replace("{mech}", mech)
}

/// That the aggregates refuse this text of a mechanism, in the words `rule`; `dp_means` where it
/// has the mechanism.
fn breaks_rule(client: &mut Client, mech: &str, rule: &str) {
    for (name, template) in CALLS {
        if name == "dp_means" && !(mech.starts_with("correlated") || mech.starts_with("known_n")) {
            continue;
        }
        let message = format!("{name}: argument \"mech\" {rule}");
        let call = call(template, "1", &format!("'{mech}'"));
        refused_everywhere(client, &call, "22023", &message);
    }
}

/// That a text is refused where a literal is parsed, and else wherever it is used.
fn is_no_mechanism(client: &mut Client, mech: &str, message: &str) {
    let message = format!("dp_mechanism: the text {message}");
    for (_, template) in CALLS {
        let text = call(template, "1", &format!("(SELECT '{mech}'::text)"));
        let refusal = refused_everywhere(client, &text, "22023", &message);
        assert_eq!(refusal.position, None);
        let literal = call(template, "1", &format!("'{mech}'"));
        let sql = format!("SELECT {literal} FROM none t");
        let here = sql.find('\'').expect("a literal") + 1;
        for sql in [sql.clone(), sql.replace("none", "big")] {
            let parsed = refused(client, &sql);
            let expected = Refusal {
                position: u32::try_from(here).ok(),
                detail: parsed.detail.clone(),
                ..refusal.clone()
            };
            assert_eq!(parsed, expected, "{sql}");
        }
    }
}

const DELTA: &str = "gives the parameter delta a value outside its range";
const MU: &str = "gives the parameter mu a value outside its range";
const RHO: &str = "gives the parameter rho a value outside its range";
const SEVERAL: &str = "gives more than one of delta, mu and rho";
const NONE: &str = "gives none of delta, mu and rho";
const BESIDES: &str = "must be NULL where the mechanism gives mu or rho";
const NULL: &str = "must not be NULL";

/// Budgets that are none: eps, what is in the mechanism, the argument, its rule.
const BUDGETS: [(&str, &str, &str, &str); 32] = [
    ("1", "delta=0", "mech", DELTA),
    ("1", "delta=-0.0", "mech", DELTA),
    ("1", "delta=1", "mech", DELTA),
    ("1", "delta=1.0", "mech", DELTA),
    ("1", "delta=2", "mech", DELTA),
    ("1", "delta=-1", "mech", DELTA),
    ("1", "delta=1e-999", "mech", DELTA),
    ("NULL", "mu=0", "mech", MU),
    ("NULL", "mu=-1", "mech", MU),
    ("NULL", "mu=1e9", "mech", MU),
    ("NULL", "mu=9.99e-10", "mech", MU),
    ("NULL", "mu=1000.0000000000001", "mech", MU),
    ("NULL", "rho=0", "mech", RHO),
    ("NULL", "rho=-1", "mech", RHO),
    ("NULL", "rho=1e9", "mech", RHO),
    ("NULL", "rho=9.99e-19", "mech", RHO),
    ("NULL", "rho=500000.00000000006", "mech", RHO),
    ("1", "", "mech", NONE),
    ("NULL", "delta=1e-6, mu=1", "mech", SEVERAL),
    ("NULL", "delta=1e-6, rho=1", "mech", SEVERAL),
    ("NULL", "mu=1, rho=0.5", "mech", SEVERAL),
    ("NULL", "delta=1e-6, mu=1, rho=0.5", "mech", SEVERAL),
    ("1", "mu=1", "eps", BESIDES),
    ("-1", "mu=1", "eps", BESIDES),
    ("1", "rho=1", "eps", BESIDES),
    ("'NaN'", "rho=1", "eps", BESIDES),
    ("1", "delta=1e-6, mu=1", "eps", BESIDES),
    ("NULL", "delta=1e-6", "eps", NULL),
    ("NULL", "", "eps", NULL),
    ("(SELECT NULL::float8)", "delta=1e-6", "eps", NULL),
    ("'NaN'", "delta=1e-6", "eps", "must be a finite number"),
    (
        "50.01",
        "delta=1e-6",
        "eps",
        "must be at least 2^-20 (about 0.00000095367) and at most 50",
    ),
];

/// The mechanisms that have a budget, each with what it needs besides: the name in messages, the
/// call, the mechanism and its other parameters.
const CARRIERS: [(&str, &str, &str, &str); 9] = [
    ("dp_mean", "dp_mean(x, 0, 1, {eps}, {mech})", "gaussian", ""),
    (
        "dp_mean",
        "dp_mean_and_count(x, 0, 1, {eps}, {mech})",
        "gaussian",
        "",
    ),
    ("dp_sum", "dp_sum(x, 0, 1, {eps}, {mech})", "gaussian", ""),
    ("dp_count", "dp_count(x, {eps}, {mech})", "gaussian", ""),
    (CALLS[0].0, CALLS[0].1, "gaussian", ""),
    (CALLS[1].0, CALLS[1].1, "correlated", "d=2"),
    (CALLS[2].0, CALLS[2].1, "ellipse", "k=1, d=4"),
    (CALLS[3].0, CALLS[3].1, "correlated", "d=2, c=2"),
    (CALLS[5].0, CALLS[5].1, "known_n", "n=100, d=2"),
];

fn joined(name: &str, parts: [&str; 2]) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    format!("{name}({})", parts.join(", "))
}

#[test]
fn a_budget_that_breaks_its_rule_is_named() {
    let (_database, mut client) = parallel_tables();
    for (name, template, mechanism, others) in CARRIERS {
        for (eps, budget, argument, rule) in BUDGETS {
            let mech = joined(mechanism, [budget, others]);
            let call = call(template, eps, &format!("'{mech}'"));
            let message = format!("{name}: argument \"{argument}\" {rule}");
            refused_everywhere(&mut client, &call, "22023", &message);
        }
    }
}

#[test]
fn budgets_just_inside_the_limits_work() {
    let (_database, mut client) = parallel_tables();
    for (_, template, mechanism, others) in CARRIERS {
        for (eps, budget) in [
            ("1", "delta=1e-320"),
            ("power(2, -20)", "delta=1e-300"),
            ("50", "delta=0.9999999999999999"),
            ("NULL", "mu=1e-9"),
            ("NULL", "mu=1000"),
            ("NULL", "rho=1e-18"),
            ("NULL", "rho=500000"),
            ("(SELECT NULL::float8)", "rho=0.5"),
        ] {
            let mech = joined(mechanism, [budget, others]);
            let call = call(template, eps, &format!("'{mech}'"));
            for place in PLACES_OF_VECTORS.iter() {
                for row in client
                    .simple_query(&place.replace("{}", &call))
                    .unwrap_or_else(|error| panic!("{error:?}: {call}"))
                {
                    if let postgres::SimpleQueryMessage::Row(row) = row {
                        let answer = row.get(row.len() - 1).expect("an answer");
                        assert!(!answer.contains("NaN"), "{answer}: {call}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_number_that_is_none_is_refused_where_it_is_parsed() {
    let (_database, mut client) = parallel_tables();
    for (mech, message) in [
        (
            "correlated(delta=NaN, d=4)",
            "gives the parameter delta no finite number",
        ),
        (
            "correlated(mu=inf, d=4)",
            "gives the parameter mu no finite number",
        ),
        (
            "known_n(rho=1e999, n=1, d=4)",
            "gives the parameter rho no finite number",
        ),
        (
            "correlated(delta=1e-6, c=NaN, d=4)",
            "gives the parameter c no finite number",
        ),
        (
            "correlated(delta=1e-6, d=1.5)",
            "gives the parameter d no whole number",
        ),
        (
            "correlated(delta=1e-6, d=-1)",
            "gives the parameter d no whole number",
        ),
        (
            "correlated(delta=1e-6, d=1e30)",
            "gives the parameter d no whole number",
        ),
        (
            "laplace(d=9007199254740992)",
            "gives the parameter d no whole number",
        ),
        (
            "ellipse(delta=1e-6, k=0.5, d=4)",
            "gives the parameter k no whole number",
        ),
        (
            "ellipse(delta=1e-6, k=-1, d=4)",
            "gives the parameter k no whole number",
        ),
        (
            "correlated(delta=1e-6, delta=1e-6, d=4)",
            "gives the parameter delta more than once",
        ),
        ("laplace(d=4, d=4)", "gives the parameter d more than once"),
        (
            "correlated(delta=1e-6, relation=nonsense, d=4)",
            "gives the parameter relation no value that it takes (add_remove, replace)",
        ),
        (
            "laplace(relation=1, d=4)",
            "gives the parameter relation no value that it takes (add_remove, replace)",
        ),
        (
            "gaussian(mu=1, relation=, d=4)",
            "gives the parameter relation no value that it takes (add_remove, replace)",
        ),
        (
            "laplace(delta=1e-6, d=4)",
            "gives a parameter that laplace does not take",
        ),
        (
            "ellipse(delta=1e-6, k=1, d=4, relation=replace)",
            "gives a parameter that ellipse does not take",
        ),
        (
            "known_n(delta=1e-6, n=1, d=4, relation=replace)",
            "gives a parameter that known_n does not take",
        ),
        (
            "gaussian(delta=1e-6, c=1, d=4)",
            "gives a parameter that gaussian does not take",
        ),
    ] {
        is_no_mechanism(&mut client, mech, message);
    }
}

#[test]
fn a_parameter_outside_its_range_is_named() {
    let (_database, mut client) = parallel_tables();
    let outside = |name: &str| format!("gives the parameter {name} a value outside its range");
    let missing = |what: &str| format!("does not say how many {what}");
    for (mech, rule) in [
        ("correlated(delta=1e-6, d=4, c=0)", outside("c")),
        ("correlated(delta=1e-6, d=4, c=-1)", outside("c")),
        ("correlated(delta=1e-6, d=4, c=1e-7)", outside("c")),
        ("correlated(delta=1e-6, d=4, c=1e7)", outside("c")),
        ("correlated(delta=1e-6, d=4, c=1048576.1)", outside("c")),
        ("ellipse(delta=1e-6, d=4, k=0)", outside("k")),
        ("ellipse(delta=1e-6, d=4, k=3)", outside("k")),
        ("ellipse(delta=1e-6, d=4, k=4)", outside("k")),
        ("ellipse(delta=1e-6, d=4, k=1e15)", outside("k")),
        (
            "ellipse(delta=1e-6, d=4)",
            missing("numbers of a row may be other than 0"),
        ),
        ("known_n(delta=1e-6, d=4, n=-1)", outside("n")),
        ("known_n(delta=1e-6, d=4, n=1e17)", outside("n")),
        ("known_n(delta=1e-6, d=4, n=9007199254740994)", outside("n")),
        ("known_n(delta=1e-6, d=4)", missing("rows there are")),
    ] {
        breaks_rule(&mut client, mech, &rule);
    }
}

#[test]
fn a_length_that_breaks_its_rule_is_named() {
    let (_database, mut client) = parallel_tables();
    let outside = "gives the parameter d a value outside its range";
    let missing = "does not say how many numbers a row has";
    let disagrees = "gives a d that is not the number of questions in the call";
    for (name, template) in CALLS {
        // Questions in the call are four; an array may be of any length.
        let in_call = template.contains("k = 2");
        for (mech, of_array, of_call) in [
            ("correlated(delta=1e-6)", Some(missing), None),
            ("correlated(mu=1, d=0)", Some(outside), Some(disagrees)),
            ("correlated(mu=1, d=100001)", Some(outside), Some(disagrees)),
            ("correlated(mu=1, d=1e15)", Some(outside), Some(disagrees)),
            ("correlated(mu=1, d=3)", None, Some(disagrees)),
            ("correlated(mu=1, d=5)", None, Some(disagrees)),
            ("correlated(mu=1, d=4)", None, None),
            ("correlated(mu=1, d=4.0)", None, None),
            ("correlated(mu=1, d=4e0)", None, None),
        ] {
            let eps = if mech.contains("mu") { "NULL" } else { "1" };
            let call = call(template, eps, &format!("'{mech}'"));
            match if in_call { of_call } else { of_array } {
                Some(rule) => {
                    let message = format!("{name}: argument \"mech\" {rule}");
                    refused_everywhere(&mut client, &call, "22023", &message);
                }
                None => run(&mut client, &format!("SELECT {call} FROM big")),
            }
        }
    }
    for length in [1, 2, 1600, 100_000] {
        let sql = format!(
            "SELECT array_length(dp_sums(xs, 0, 1, 1, 'laplace(d={length})'), 1) = {length} \
             AND array_length(dp_counts(1, 'laplace(d={length})', VARIADIC bs), 1) = {length} FROM "
        );
        for table in ["big", "none", "nulls"] {
            assert!(value::<bool>(&mut client, &format!("{sql}{table}")));
        }
    }
}

#[test]
fn questions_of_other_types_are_refused() {
    let (_database, mut client) = parallel_tables();
    for name in ["dp_counts", "dp_counts_estimate"] {
        // The position of the predicate that is none.
        for (predicates, position) in [
            ("NULL", 1),
            ("'true'", 1),
            ("x > 30, 'f'", 2),
            ("k", 1),
            ("1", 1),
            ("x > 30, k = 2, m", 3),
            ("bs", 1),
            ("x > 30, bs", 2),
            ("ARRAY[x > 30]", 1),
            ("t", 1),
            ("x > 30, NULL::answers", 2),
            ("(SELECT NULL)", 1),
            ("$$t$$::text", 1),
            ("k, x", 1),
        ] {
            let call = format!("{name}(1, 'correlated(delta=1e-6)', {predicates})");
            let message = format!("dp_counts: predicate {position} is not of type boolean");
            refused_everywhere(&mut client, &call, "42804", &message);
        }
        for array in ["xs::int[]", "ARRAY[m]", "ARRAY[k]", "'{t,f}'::text[]"] {
            let call = format!("{name}(1, 'correlated(delta=1e-6, d=2)', VARIADIC {array})");
            let message = "dp_counts: the VARIADIC argument is not of type boolean[]";
            refused_everywhere(&mut client, &call, "42804", message);
        }
    }
}

#[test]
fn questions_that_postgresql_itself_refuses() {
    let (_database, mut client) = parallel_tables();
    let questions = |count: usize| vec!["x > 30"; count].join(", ");
    // As the server was built: 100 by default. A transition function has three before the questions;
    // older minor releases count two only, and take one question more.
    let sql = "SELECT current_setting('max_function_args')::int - 3";
    let most = usize::try_from(value::<i32>(&mut client, sql)).expect("room for questions");
    for (arguments, code) in [
        ("VARIADIC NULL".to_owned(), "42804"),
        ("VARIADIC '{t,f}'".to_owned(), "42804"),
        ("VARIADIC x > 30".to_owned(), "42804"),
        ("x > 30, VARIADIC bs".to_owned(), "42883"),
        (questions(most + 2), "54023"),
        (questions(20 * most), "54023"),
    ] {
        for name in ["dp_counts", "dp_counts_estimate"] {
            let call = format!("{name}(1, 'correlated(delta=1e-6, d=2)', {arguments})");
            for place in PLACES_OF_VECTORS.iter() {
                let refusal = refused(&mut client, &place.replace("{}", &call));
                assert_eq!(refusal.code, code, "{refusal:?}: {call}");
            }
        }
    }
    let none = refused(&mut client, "SELECT dp_counts(1, 'laplace') FROM none");
    assert_eq!(none.code, "42883", "{none:?}");
    let sql = format!("SELECT dp_counts(50, 'laplace', {}) FROM ", questions(most));
    for table in ["big", "none"] {
        let counts: Vec<f64> = value(&mut client, &format!("{sql}{table}"));
        assert_eq!(counts.len(), most);
    }
}

/// At eps 50 each of the two counts is off with a chance of `2 e^-25`.
const EXACT: &str = "50, 'laplace(d=2)'";

#[test]
fn booleans_of_every_kind_are_questions() {
    let (_database, mut client) = parallel_tables();
    for (questions, truth) in [
        (
            "x > 30, k = 2",
            "ARRAY[count(*) FILTER (WHERE x > 30), count(*) FILTER (WHERE k = 2)]",
        ),
        (
            "VARIADIC bs",
            "ARRAY[count(*) FILTER (WHERE bs[1]), count(*) FILTER (WHERE bs[2])]",
        ),
        (
            "VARIADIC ARRAY[x > 30, true]",
            "ARRAY[count(*) FILTER (WHERE x > 30), count(*)]",
        ),
        (
            "VARIADIC bs::answers",
            "ARRAY[count(*) FILTER (WHERE bs[1]), count(*) FILTER (WHERE bs[2])]",
        ),
        (
            "VARIADIC ARRAY[(x > 30)::answer, (x < 0)::answer]",
            "ARRAY[count(*) FILTER (WHERE x > 30), 0]",
        ),
        (
            "VARIADIC ARRAY[[k = 2], [k <> 2]]",
            "ARRAY[count(*) FILTER (WHERE k = 2), count(*) FILTER (WHERE k <> 2)]",
        ),
        (
            "(k = 2)::answer, NULL::boolean",
            "ARRAY[count(*) FILTER (WHERE k = 2), 0]",
        ),
        (
            "true, EXISTS (SELECT FROM other WHERE other.k = t.k AND t.k > 1)",
            "ARRAY[count(*), count(*) FILTER (WHERE k = 2)]",
        ),
        ("VARIADIC NULL::boolean[]", "ARRAY[0, 0]"),
        ("VARIADIC '{}'::boolean[]", "ARRAY[0, 0]"),
    ] {
        for table in ["full_table", "big", "none", "nulls"] {
            let sql =
                format!("SELECT dp_counts({EXACT}, {questions}), {truth}::float8[] FROM {table} t");
            let row = client
                .query_one(&sql, &[])
                .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
            let [counts, truth] = [0, 1].map(|i| row.get::<_, Vec<f64>>(i));
            assert_eq!(counts, truth, "{sql}");
        }
    }
}

#[test]
fn values_of_every_kind_of_array_are_cast() {
    let (_database, mut client) = parallel_tables();
    // Noise of scale d (hi - lo) / eps = 4 in each sum: 200 is exceeded with a chance of e^-50.
    for kind in ["smallint", "integer", "bigint", "real", "numeric", "float8"] {
        for table in ["big", "none", "nulls"] {
            let sql = format!(
                "SELECT abs(s[1] - a) < 200 AND abs(s[2] - b) < 200 FROM (SELECT \
                 dp_sums(xs::{kind}[], 0, 100, 50, 'laplace(d=2)') AS s, \
                 coalesce(sum(xs[1]), 0) AS a, coalesce(sum(xs[2]), 0) AS b FROM {table}) q"
            );
            assert!(value::<bool>(&mut client, &sql), "{sql}");
        }
    }
    for array in ["bs", "ARRAY[m]", "x", "'{}'::json"] {
        for name in ["dp_sums", "dp_sums_estimate", "dp_means"] {
            let call = format!("{name}({array}, 0, 100, 1, 'correlated(delta=1e-6, d=2)')");
            for place in PLACES_OF_VECTORS.iter() {
                let refusal = refused(&mut client, &place.replace("{}", &call));
                assert_eq!(refusal.code, "42883", "{refusal:?}: {call}");
            }
        }
    }
}

#[test]
fn ellipse_needs_values_of_one_sign() {
    let (_database, mut client) = parallel_tables();
    let rule = "or \"hi\" must be 0 for the mechanism ellipse";
    for name in ["dp_sums", "dp_sums_estimate"] {
        let call = |lo, hi| format!("{name}(xs, {lo}, {hi}, 1, 'ellipse(delta=1e-6, k=1, d=2)')");
        for (lo, hi) in [("-1", "1"), ("1", "2"), ("-2", "-1"), ("'5e-324'", "1")] {
            let message = format!("dp_sums: argument \"lo\" {rule}");
            refused_everywhere(&mut client, &call(lo, hi), "22023", &message);
        }
        for (lo, hi) in [("0", "1"), ("-1", "0"), ("'-0.0'", "1"), ("-1", "'-0.0'")] {
            for table in ["big", "none"] {
                run(
                    &mut client,
                    &format!("SELECT {} FROM {table}", call(lo, hi)),
                );
            }
        }
    }
}

#[test]
fn mechanisms_of_other_aggregates_are_refused() {
    let (_database, mut client) = parallel_tables();
    for (name, call) in [
        ("dp_counts", "dp_counts(1, 'hourglass', x > 30)"),
        (
            "dp_counts",
            "dp_counts_estimate(1, 'geometric', VARIADIC bs)",
        ),
        ("dp_sums", "dp_sums(xs, 0, 1, 1, 'staircase(gamma=0.5)')"),
        (
            "dp_means",
            "dp_means(xs, 0, 1, 1, 'gaussian(delta=1e-6, d=2)')",
        ),
        ("dp_means", "dp_means(xs, 0, 1, 1, 'laplace(d=2)')"),
        (
            "dp_means",
            "dp_means(xs, 0, 1, 1, 'ellipse(delta=1e-6, k=1, d=2)')",
        ),
        ("dp_mean", "dp_mean(x, 0, 1, 1, 'correlated(delta=1e-6)')"),
        ("dp_sum", "dp_sum(x, 0, 1, 1, 'known_n(delta=1e-6, n=3)')"),
        ("dp_var_pop", "dp_stddev_pop(x, 0, 1, 1, 'staircase')"),
        ("dp_count", "dp_count(x, 1, 'ellipse(delta=1e-6, k=1)')"),
    ] {
        let known = catalog().filter(|(aggregate, ..)| *aggregate == name);
        let names: Vec<&str> = known.map(|(_, _, info)| info.name).collect();
        let hint = format!("The mechanisms of {name} are: {}.", names.join(", "));
        let message = format!("{name}: argument \"mech\" is not a mechanism of {name}");
        let refusal = refused_everywhere(&mut client, call, "22023", &message);
        assert_eq!(refusal.hint, hint, "{call}");
    }
}

#[test]
fn parameters_of_the_same_mechanism_elsewhere_are_refused() {
    let (_database, mut client) = parallel_tables();
    for (name, call, mechanism, hint) in [
        (
            "dp_mean",
            "dp_mean(x, 0, 1, 1, 'gaussian(delta=1e-6, d=2)')",
            "gaussian",
            "The parameters of gaussian are: delta, mu, rho, rows, groups.",
        ),
        (
            "dp_count",
            "dp_count(x, 1, 'gaussian(delta=1e-6, relation=replace)')",
            "gaussian",
            "The parameters of gaussian are: delta, mu, rho, rows, groups.",
        ),
        (
            "dp_sum",
            "dp_sum(x, 0, 1, 1, 'laplace(d=1)')",
            "laplace",
            "The parameters of laplace are: rows, groups.",
        ),
    ] {
        let rule = format!("gives a parameter that {mechanism} does not take");
        let message = format!("{name}: argument \"mech\" {rule}");
        let refusal = refused_everywhere(&mut client, call, "22023", &message);
        assert_eq!(refusal.hint, hint, "{call}");
    }
}

#[test]
fn an_eps_or_a_mechanism_from_the_rows_is_refused() {
    let (_database, mut client) = parallel_tables();
    let rule = "must not depend on the rows";
    for (name, template) in CALLS {
        for eps in [
            "a",
            "random()",
            "careless()",
            "(SELECT t.a)",
            "(SELECT max(b) FROM other WHERE other.k = t.k)",
        ] {
            let call = call(template, eps, "'correlated(delta=1e-6, d=4)'");
            let message = format!("{name}: argument \"eps\" {rule}");
            refused_everywhere(&mut client, &call, "22023", &message);
        }
        for mech in [
            "m",
            "t.d",
            "(SELECT t.m)",
            "'correlated(delta=1e-6, d=' || 4 + 0 * (random())::int || ')'",
            "(SELECT 'correlated(delta=1e-6, d=4)' FROM other WHERE other.k = t.k)",
        ] {
            let call = call(template, "1", mech);
            let message = format!("{name}: argument \"mech\" {rule}");
            refused_everywhere(&mut client, &call, "22023", &message);
        }
    }
}

#[test]
fn the_first_of_several_problems_is_the_same() {
    let (_database, mut client) = parallel_tables();
    let rows = "must not depend on the rows";
    for (call, code, message) in [
        // What the plan says, then types, then values: eps, mech.
        (
            "dp_counts(a, m, k)",
            "22023",
            format!("dp_counts: argument \"eps\" {rows}"),
        ),
        (
            "dp_counts(-1, d, k)",
            "22023",
            format!("dp_counts: argument \"mech\" {rows}"),
        ),
        (
            "dp_counts(NULL, NULL, k)",
            "42804",
            "dp_counts: predicate 1 is not of type boolean".to_owned(),
        ),
        (
            "dp_counts_estimate(NULL, NULL, VARIADIC xs)",
            "42804",
            "dp_counts: the VARIADIC argument is not of type boolean[]".to_owned(),
        ),
        (
            "dp_counts(NULL, NULL, x > 30)",
            "22023",
            format!("dp_counts: argument \"eps\" {NULL}"),
        ),
        (
            "dp_counts(1, 'known_n(delta=2, n=-1, d=7)', x > 30)",
            "22023",
            "dp_counts: argument \"mech\" gives a d that is not the number of questions in the call"
                .to_owned(),
        ),
        (
            "dp_sums(xs, 1, 0, NULL, 'ellipse(mu=0)')",
            "22023",
            "dp_sums: argument \"hi\" must be greater than argument \"lo\"".to_owned(),
        ),
    ] {
        refused_everywhere(&mut client, call, code, &message);
    }
}

#[test]
fn no_message_quotes_a_value() {
    let (_database, mut client) = parallel_tables();
    for (eps, mech) in [
        ("51.23456", "correlated(delta=1e-6, d=4)"),
        ("1", "correlated(delta=7.654321, d=4)"),
        ("NULL", "correlated(mu=7654321, d=4)"),
        ("NULL", "known_n(rho=7654321, n=1, d=4)"),
        ("1", "correlated(delta=1e-6, d=7654321)"),
        ("1", "known_n(delta=1e-6, n=-7654321, d=4)"),
        ("1", "correlated(delta=1e-6, c=7654321, d=4)"),
        ("1", "correlated(delta=1e-6, relation=sesame, d=4)"),
        ("1", "correlated(delta=1e-6, sesame=7654321, d=4)"),
        ("1", "known_n(delta=1e-6, n=7654321e999, d=4)"),
    ] {
        for (_, template) in CALLS {
            let call = call(template, eps, &format!("(SELECT '{mech}'::text)"));
            let refusal = refused_alike(&mut client, &call, &PLACES_OF_VECTORS);
            assert_eq!(refusal.code, "22023", "{refusal:?}: {call}");
            let all = format!("{refusal:?}");
            for secret in ["51.23", "654321", "sesame"] {
                assert!(!all.contains(secret), "{all}");
            }
        }
    }
}

#[test]
fn bind_parameters_of_every_kind_work() {
    let (_database, mut client) = parallel_tables();
    let truth = "ARRAY[count(*) FILTER (WHERE x > 30), count(*) FILTER (WHERE k = 2)]";
    for mode in ["auto", "force_generic_plan", "force_custom_plan"] {
        run(&mut client, &format!("SET plan_cache_mode = {mode}"));
        for table in ["full_table", "big", "none", "nulls"] {
            let sql = format!(
                "SELECT dp_counts($1, $2, x > 30, k = 2), {truth}::float8[] FROM {table} t"
            );
            for kind in [Type::TEXT, Type::VARCHAR, Type::UNKNOWN] {
                let types = [Type::FLOAT8, kind];
                let statement = client.prepare_typed(&sql, &types).expect(&sql);
                let names: Vec<&str> = statement.params().iter().map(Type::name).collect();
                // A parameter without a type becomes what the aggregate declares.
                let last = ["text", "varchar", "dp_mechanism"];
                assert!(last.contains(&names[1]), "{names:?}");
                let mechanism: &(dyn ToSql + Sync) = match names[1] {
                    "dp_mechanism" => &Mechanism("laplace(d=2)"),
                    _ => &"laplace(d=2)",
                };
                let eps: &(dyn ToSql + Sync) = &50.0;
                let row = client.query_one(&statement, &[eps, mechanism]).expect(&sql);
                let [counts, truth] = [0, 1].map(|i| row.get::<_, Vec<f64>>(i));
                assert_eq!(counts, truth, "{sql}");
                // The same errors as those of literals, and a NULL where it has a meaning.
                let null: &(dyn ToSql + Sync) = &None::<f64>;
                let budget: &(dyn ToSql + Sync) = match names[1] {
                    "dp_mechanism" => &Mechanism("gaussian(mu=1)"),
                    _ => &"gaussian(mu=1)",
                };
                for (eps, mechanism, message) in [
                    (null, mechanism, "argument \"eps\" must not be NULL"),
                    (
                        eps,
                        budget,
                        "argument \"eps\" must be NULL where the mechanism gives mu or rho",
                    ),
                ] {
                    let error = client.query(&statement, &[eps, mechanism]);
                    let error = error.expect_err(&sql);
                    let error = error.as_db_error().expect("of the server");
                    assert_eq!(error.code().code(), "22023");
                    assert_eq!(error.message(), format!("dp_counts: {message}"));
                    assert!(error.hint().is_some());
                }
                let row = client.query_one(&statement, &[null, budget]).expect(&sql);
                assert_eq!(row.get::<_, Vec<f64>>(0).len(), 2);
            }
        }
    }
}

/// A mechanism in its binary form: its text.
#[derive(Debug)]
struct Mechanism(&'static str);

impl ToSql for Mechanism {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<postgres::types::IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(postgres::types::IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        kind.name() == "dp_mechanism"
    }

    postgres::types::to_sql_checked!();
}

#[test]
fn questions_may_be_parameters_and_sub_selects() {
    let (_database, mut client) = parallel_tables();
    run(
        &mut client,
        "CREATE TABLE settings AS SELECT 50.0 AS eps, 'laplace(d=2)' AS mech, 30.0 AS low;
         SET dp.mech = 'laplace(d=2)'; SET plan_cache_mode = force_generic_plan;
         CREATE FUNCTION of_table(name text, e float8, low float8) RETURNS SETOF float8[]
         LANGUAGE plpgsql AS $$
         DECLARE mech text := 'laplace'; two dp_mechanism := 'laplace(d=2)';
         BEGIN
             FOR i IN 1..7 LOOP
                 IF name = 'big' THEN
                     RETURN QUERY SELECT dp_counts(e, mech, x > low, k = 2) FROM big;
                     RETURN QUERY SELECT dp_counts(e, two, VARIADIC bs) FROM big;
                 ELSE
                     RETURN QUERY SELECT dp_counts(e, mech, x > low, k = 2) FROM none;
                     RETURN QUERY SELECT dp_counts(e, two, VARIADIC bs) FROM none;
                 END IF;
             END LOOP;
         END $$",
    );
    let sql =
        "SELECT ARRAY[count(*) FILTER (WHERE x > 30), count(*) FILTER (WHERE k = 2)]::float8[]";
    for table in ["big", "none"] {
        let truth: Vec<f64> = value(&mut client, &format!("{sql} FROM {table}"));
        for call in [
            "dp_counts((SELECT eps FROM settings), (SELECT mech FROM settings), x > 30, k = 2)",
            "dp_counts(50, current_setting('dp.mech'), x > (SELECT low FROM settings), k = 2)",
            "dp_counts(50, 'laplace(d=' || (SELECT 2) || ')', VARIADIC bs)",
            "(dp_counts_estimate((SELECT 50), (SELECT mech::varchar FROM settings), VARIADIC bs)).value",
        ] {
            let sql = format!("SELECT {call} FROM {table}");
            assert_eq!(value::<Vec<f64>>(&mut client, &sql), truth, "{sql}");
        }
        let sql = format!("SELECT of_table('{table}', 50, 30)");
        let answers = rows(&mut client, &sql);
        assert_eq!(answers.len(), 14);
        for row in answers {
            assert_eq!(row.get::<_, Vec<f64>>(0), truth, "{sql}");
        }
        let refusal = refused(
            &mut client,
            &format!("SELECT of_table('{table}', NULL, 30)"),
        );
        assert_eq!(
            refusal.message,
            format!("dp_counts: argument \"eps\" {NULL}")
        );
    }
    // A question, as a parameter that has no type yet, is a text.
    let statement = "SELECT dp_counts(50, 'laplace', $1, x > 30) FROM big";
    let prepared = client
        .prepare_typed(statement, &[Type::BOOL])
        .expect(statement);
    let row = client.query_one(&prepared, &[&true]).expect(statement);
    assert_eq!(row.get::<_, Vec<f64>>(0)[0], 999.0);
    let statement = "SELECT dp_counts(50, 'laplace', VARIADIC $1) FROM big";
    let statement = statement.replace("laplace", "laplace(d=2)");
    let kinds = [Type::BOOL_ARRAY];
    let prepared = client.prepare_typed(&statement, &kinds).expect("an array");
    let answers = vec![Some(true), None];
    let row = client.query_one(&prepared, &[&answers]).expect("an answer");
    assert_eq!(row.get::<_, Vec<f64>>(0), [999.0, 0.0]);
}

#[test]
fn parameters_have_a_canonical_text() {
    let (_database, mut client) = tables();
    for (text, canonical) in [
        (
            "correlated(d=64, delta=1e-6)",
            "correlated(d=64, delta=1e-6)",
        ),
        (
            "correlated( delta = 0.000001 ,d=6.4e1)",
            "correlated(d=64, delta=1e-6)",
        ),
        ("laplace(relation=replace)", "laplace(relation=replace)"),
        (
            "laplace(relation = add_remove, d=1)",
            "laplace(d=1, relation=add_remove)",
        ),
        ("ellipse(rho=0.50, k=3.0)", "ellipse(k=3, rho=0.5)"),
        ("known_n(n=12345, mu=1)", "known_n(mu=1.0, n=12345.0)"),
        ("gaussian(delta=1e-320)", "gaussian(delta=1e-320)"),
        ("gaussian(rho=500000)", "gaussian(rho=500000.0)"),
        ("correlated(c=1e2)", "correlated(c=100.0)"),
        ("laplace(d=-0)", "laplace(d=0)"),
        ("gaussian()", "gaussian"),
    ] {
        for cast in ["", "::text", "::varchar"] {
            let sql = format!("SELECT ('{text}'{cast})::dp_mechanism::text");
            let read: String = value(&mut client, &sql);
            assert_eq!(read, canonical, "{sql}");
        }
        let sql = format!(
            "SELECT '{canonical}'::dp_mechanism::text = '{canonical}' \
             AND '{canonical}'::dp_mechanism = '{text}'::dp_mechanism"
        );
        assert!(value::<bool>(&mut client, &sql), "{sql}");
    }
}
