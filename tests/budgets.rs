//! What a Gaussian mechanism may spend, in each way to say it: the functions that convert budgets,
//! and that equal budgets make equal noise.

use dp_mean_tests::{Build, refused, rows, run, session, value};
use postgres::Client;

/// The functions with good arguments, and the names of their arguments.
const FUNCTIONS: [(&str, &[(&str, &str)]); 8] = [
    ("dp_mu", &[("eps", "1"), ("delta", "1e-6")]),
    ("dp_delta", &[("eps", "1"), ("mu", "0.25")]),
    ("dp_eps", &[("delta", "1e-6"), ("mu", "0.25")]),
    ("dp_rho_of_mu", &[("mu", "0.25")]),
    ("dp_rho_of_eps", &[("eps", "0.25")]),
    ("dp_eps_of_rho", &[("rho", "0.25"), ("delta", "1e-6")]),
    ("dp_mu_of_rho", &[("rho", "0.25")]),
    ("dp_rdp_of_mu", &[("mu", "0.25"), ("alpha", "2")]),
];

/// The call of a function with `text` for one of its arguments.
fn with(name: &str, arguments: &[(&str, &str)], argument: &str, text: &str) -> String {
    let texts: Vec<&str> = arguments
        .iter()
        .map(|&(other, good)| if other == argument { text } else { good })
        .collect();
    format!("{name}({})", texts.join(", "))
}

/// eps, delta, mu.
const REFERENCES: [(f64, f64, f64); 5] = [
    (0.1, 1e-6, 0.027_544_650),
    (1.0, 1e-6, 0.236_704_381),
    (1.0, 1e-5, 0.268_051_123),
    (1.0, 1e-9, 0.181_974_807),
    (4.0, 1e-6, 0.837_858_757),
];

/// A number as an SQL literal that reads back the same.
fn literal(number: f64) -> String {
    format!("'{number:e}'::float8")
}

/// The value of a function of budgets.
fn converted(client: &mut Client, name: &str, arguments: &[f64]) -> f64 {
    let arguments: Vec<String> = arguments.iter().map(|number| literal(*number)).collect();
    value(client, &format!("SELECT {name}({})", arguments.join(", ")))
}

/// How far apart two conversions there and back may be: far above their roundings, far below what
/// anybody would notice of a budget.
const NEAR: f64 = 1e-9;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= NEAR * a.abs().max(b.abs())
}

#[test]
fn mu_is_that_of_the_literature() {
    let (_database, mut client) = session(Build::Release);
    for (eps, delta, expected) in REFERENCES {
        let mu = converted(&mut client, "dp_mu", &[eps, delta]);
        // The reference has nine digits behind the point.
        assert!((mu - expected).abs() < 0.51e-9, "{mu} {expected}");
    }
    // eps tanh(eps / 2), and what (3, 1e-6) holds: 37 answers at 0.1, and no more.
    for (call, expected) in [
        ("dp_rho_of_eps(0.1)", 0.1 * 0.05f64.tanh()),
        ("dp_rho_of_eps(8)", 8.0 * 4f64.tanh()),
        ("dp_eps_of_rho(0.18507, 1e-6)", 3.0),
    ] {
        let answer: f64 = value(&mut client, &format!("SELECT {call}"));
        assert!((answer / expected - 1.0).abs() < 2e-5, "{call} {answer}");
    }
    for (answers, fits) in [(37, true), (38, false)] {
        let sql = format!("SELECT dp_eps_of_rho({answers} * dp_rho_of_eps(0.1), 1e-6) <= 3");
        assert_eq!(value::<bool>(&mut client, &sql), fits, "{answers}");
    }
    let sigma: f64 = value(&mut client, "SELECT 1 / dp_mu(1, 1e-6)");
    assert!((sigma - 4.224_678_889).abs() < 0.51e-9, "{sigma}");
    // Without delta, what is left of eps = 0 is 2 Phi(mu / 2) - 1.
    let delta = converted(&mut client, "dp_delta", &[0.0, 2.0]);
    assert!((delta - 0.682_689_492_137).abs() < 1e-12, "{delta}");
    // Exact ones.
    for (call, expected) in [
        ("dp_rho_of_mu(1)", 0.5),
        ("dp_rho_of_mu(4)", 8.0),
        ("dp_mu_of_rho(0.5)", 1.0),
        ("dp_mu_of_rho(2)", 2.0),
        ("dp_rdp_of_mu(1, 2)", 1.0),
        ("dp_rdp_of_mu(0.5, 64)", 8.0),
    ] {
        let answer: f64 = value(&mut client, &format!("SELECT {call}"));
        assert_eq!(answer, expected, "{call}");
    }
}

#[test]
fn roundings_are_on_the_private_side() {
    let (_database, mut client) = session(Build::Release);
    for eps in [1e-6, 0.01, 0.1, 1.0, 4.0, 50.0] {
        for delta in [1e-300, 1e-12, 1e-6, 1e-3, 0.3, 0.999] {
            let mu = converted(&mut client, "dp_mu", &[eps, delta]);
            let spent = converted(&mut client, "dp_delta", &[eps, mu]);
            assert!(
                spent <= delta && near(spent, delta),
                "{eps} {delta} {spent}"
            );
            let spent = converted(&mut client, "dp_eps", &[delta, mu]);
            assert!(
                spent <= eps && near(spent.max(eps / 2.0), spent),
                "{eps} {delta} {spent}"
            );
            let more = converted(&mut client, "dp_delta", &[eps, mu * (1.0 + NEAR)]);
            assert!(more > delta, "{eps} {delta}: a larger mu would do: {more}");
        }
    }
    for mu in [1e-9, 0.1, 0.237, 1.0, 3.3, 1000.0] {
        let delta = converted(&mut client, "dp_delta", &[1.0, mu]);
        if delta < 1.0 {
            let eps = converted(&mut client, "dp_eps", &[delta, mu]);
            assert!(eps <= 1.0, "{mu} {delta} {eps}");
        }
        let eps = converted(&mut client, "dp_eps", &[1e-6, mu]);
        let spent = converted(&mut client, "dp_delta", &[eps, mu]);
        assert!(spent <= 1e-6, "{mu} {eps} {spent}");
        let rho = converted(&mut client, "dp_rho_of_mu", &[mu]);
        // One rounding of mu^2 / 2 - rho, so its sign is exact.
        assert!((mu / 2.0).mul_add(mu, -rho) <= 0.0, "{mu} {rho}");
        let back = converted(&mut client, "dp_mu_of_rho", &[rho]);
        assert!(back >= mu && near(back, mu), "{mu} {back}");
        for alpha in [1.0 + 1e-9, 1.1, 2.0, 7.0, 64.3] {
            let budget = converted(&mut client, "dp_rdp_of_mu", &[mu, alpha]);
            assert!(alpha.mul_add(rho, -budget) <= 0.0, "{mu} {alpha} {budget}");
            assert!(near(budget, alpha * rho), "{mu} {alpha} {budget}");
        }
    }
    for rho in [1e-18, 1e-3, 0.1, 0.3, 1.0, 7.7, 500_000.0] {
        let mu = converted(&mut client, "dp_mu_of_rho", &[rho]);
        assert!((mu / 2.0).mul_add(mu, -rho) <= 0.0, "{rho} {mu}");
        let back = converted(&mut client, "dp_rho_of_mu", &[mu]);
        assert!(back <= rho && near(back, rho), "{rho} {back}");
    }
}

#[test]
fn null_gives_null() {
    let (_database, mut client) = session(Build::Release);
    for (name, arguments) in FUNCTIONS {
        let call = with(name, arguments, "", "");
        let sql = format!("SELECT {call}");
        assert!(value::<f64>(&mut client, &sql) > 0.0, "{sql}");
        for (argument, _) in arguments {
            let call = with(name, arguments, argument, "NULL");
            let sql = format!("SELECT {call}");
            assert_eq!(value::<Option<f64>>(&mut client, &sql), None, "{sql}");
        }
    }
    // Before a bad value is looked at.
    let sql = "SELECT dp_mu(NULL, 2)";
    assert_eq!(value::<Option<f64>>(&mut client, sql), None);
}

/// Values that no argument of these names takes.
const BAD: [(&str, &[&str]); 5] = [
    ("eps", &["-1", "'-5e-324'"]),
    ("delta", &["0", "'-0.0'", "1", "1.5", "-1e-9"]),
    ("mu", &["0", "'-0.0'", "-0.25", "'-5e-324'"]),
    ("rho", &["0", "'-0.0'", "-0.25"]),
    ("alpha", &["1", "0.5", "0", "-2"]),
];

#[test]
fn a_bad_value_is_named() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE none (v float8); CREATE TABLE one AS SELECT 7.654321::float8 AS secret",
    );
    for (name, arguments) in FUNCTIONS {
        for (argument, good) in arguments {
            let (_, bad) = BAD
                .iter()
                .find(|(known, _)| known == argument)
                .expect("known");
            for text in bad.iter().chain(&["'NaN'", "'Infinity'", "'-Infinity'"]) {
                let call = with(name, arguments, argument, text);
                let refusal = refused(&mut client, &format!("SELECT {call}"));
                assert_eq!(refusal.code, "22023", "{refusal:?}: {call}");
                let start = format!("{name}: argument \"{argument}\" must be ");
                assert!(refusal.message.starts_with(&start), "{refusal:?}: {call}");
                assert!(!refusal.hint.is_empty(), "{refusal:?}: {call}");
                // A constant, so it is refused before there are rows.
                let planned = refused(&mut client, &format!("SELECT {call} FROM none"));
                assert_eq!(planned.message, refusal.message, "{call}");
            }
            // A value is not quoted.
            let text = match *argument {
                "delta" => "secret",
                "alpha" => "secret - 7",
                _ => "-secret",
            };
            let call = with(name, arguments, argument, text);
            let refusal = refused(&mut client, &format!("SELECT {call} FROM one"));
            assert!(
                !format!("{refusal:?}").contains("654"),
                "{refusal:?}: {good}"
            );
        }
    }
    // The first argument that is bad.
    for (call, argument) in [
        ("dp_mu(-1, 2)", "eps"),
        ("dp_delta(-1, -1)", "eps"),
        ("dp_eps(2, -1)", "delta"),
        ("dp_rdp_of_mu(-1, 0)", "mu"),
    ] {
        let refusal = refused(&mut client, &format!("SELECT {call}"));
        let named = format!("argument \"{argument}\"");
        assert!(refusal.message.contains(&named), "{refusal:?}");
    }
}

#[test]
fn values_at_the_ends_of_float8_have_an_answer_or_an_error() {
    let (_database, mut client) = session(Build::Testing);
    let ends = [
        "5e-324",
        "2.3e-308",
        "1e-160",
        "1",
        "1e160",
        "1.7976931348623157e308",
    ];
    for (name, arguments) in FUNCTIONS {
        for first in ends {
            for second in ends {
                let texts = [first, second].map(|end| format!("'{end}'::float8"));
                let call = format!("{name}({})", texts[..arguments.len()].join(", "));
                match client.query_one(&format!("SELECT {call}"), &[]) {
                    Ok(row) => {
                        let answer: f64 = row.get(0);
                        assert!(answer.is_finite() && answer >= 0.0, "{call}: {answer}");
                    }
                    Err(error) => {
                        let code = error.code().map(|code| code.code().to_owned());
                        assert_eq!(code.as_deref(), Some("22023"), "{call}: {error:?}");
                    }
                }
            }
        }
    }
}

/// Calls with a budget, `{}`, beside what else the mechanism takes.
const CALLS: [&str; 12] = [
    "dp_mean(x, 0, 10, {eps}, 'gaussian({})')",
    "dp_mean_and_count(x, 0, 10, {eps}, 'gaussian({})')",
    "dp_sum(x, -3, 10, {eps}, 'gaussian({})')",
    "dp_count(x, {eps}, 'gaussian({})')",
    "dp_counts({eps}, 'gaussian({})', x > 3, x > 7)",
    "dp_counts({eps}, 'correlated({}, relation=replace)', x > 3, x > 7)",
    "dp_counts_estimate({eps}, 'correlated({}, d=3)', VARIADIC ARRAY[x > 3])",
    "dp_counts({eps}, 'known_n({}, n=100)', x > 3, x > 7)",
    "dp_counts({eps}, 'ellipse({}, k=1)', x > 3, x > 7)",
    "dp_sums(ARRAY[x, 1], 0, 10, {eps}, 'correlated({}, d=2)')",
    "dp_sums_estimate(ARRAY[x, 1], 0, 10, {eps}, 'gaussian({}, d=2)')",
    "dp_means(ARRAY[x, 1], 0, 10, {eps}, 'correlated({}, d=2)')",
];

#[test]
fn equal_budgets_make_equal_noise() {
    let (_database, mut client) = session(Build::Testing);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT (i % 10)::float8 AS x FROM generate_series(1, 100) i;
         CREATE TABLE none (x float8)",
    );
    let mu: f64 = value(&mut client, "SELECT dp_mu(1, 1e-6)");
    let other: f64 = value(&mut client, "SELECT dp_mu(2, 1e-6)");
    let budget = |eps: &str, text: String| (eps.to_owned(), text);
    // Each line's are equal; no two of different lines are.
    let lines = [
        vec![
            budget("1", "delta=1e-6".to_owned()),
            budget("NULL", format!("mu={mu:e}")),
            budget("(SELECT 1)", "delta=0.000001".to_owned()),
        ],
        vec![
            budget("2", "delta=1e-6".to_owned()),
            budget("NULL", format!("mu={other:e}")),
        ],
        vec![
            budget("NULL", "mu=1".to_owned()),
            budget("NULL", "rho=0.5".to_owned()),
        ],
        vec![
            budget("NULL", "mu=0.25".to_owned()),
            budget("NULL", "rho=0.03125".to_owned()),
        ],
    ];
    for call in CALLS {
        for table in ["t", "none"] {
            let mut answers = Vec::new();
            for line in &lines {
                let same = line.iter().map(|(eps, text)| {
                    let call = call.replace("{eps}", eps).replace("{}", text);
                    let mut sql = format!("SELECT ({call})::text FROM {table}");
                    if call.contains("_estimate") {
                        // Its numbers, and not the words of its budget.
                        sql = format!(
                            "SELECT ((a).value || (a).total || (a).sd)::text FROM (SELECT {call} AS a FROM {table}) s"
                        );
                    }
                    // Sixteen releases: a bounded answer is often at a bound.
                    run(&mut client, "SELECT dp_test_seed(11)");
                    let answers = (0..16).map(|_| value::<String>(&mut client, &sql));
                    answers.collect::<Vec<_>>()
                });
                let same: Vec<_> = same.collect();
                for one in &same[1..] {
                    assert_eq!(*one, same[0], "{call}: {line:?}");
                }
                answers.push(same[0].clone());
            }
            for (i, one) in answers.iter().enumerate() {
                assert!(!answers[..i].contains(one), "{call}: {:?}", lines[i]);
            }
        }
    }
}

#[test]
fn a_budget_may_be_converted_in_the_call() {
    let (_database, mut client) = session(Build::Testing);
    let mut seeded = |eps: &str, mech: &str| {
        run(&mut client, "SELECT dp_test_seed(5)");
        let sql =
            format!("SELECT dp_counts({eps}, {mech}, i > 3, i > 7) FROM generate_series(1, 100) i");
        value::<Vec<f64>>(&mut client, &sql)
    };
    let expected = seeded("1", "'gaussian(delta=1e-6)'");
    for mech in [
        "'gaussian(mu=' || dp_mu(1, 1e-6) || ')'",
        "('gaussian(mu=' || dp_mu(1, (SELECT 1e-6)) || ')')::dp_mechanism",
    ] {
        assert_eq!(seeded("NULL", mech), expected, "{mech}");
    }
    // Half the budget, twice the noise: what is added to 97 and 93.
    let half = seeded("NULL", "'gaussian(mu=' || dp_mu(1, 1e-6) / 2 || ')'");
    for ((one, two), truth) in expected.iter().zip(&half).zip([97.0, 93.0]) {
        // Counts have 2^20 steps; each noise was rounded once.
        let difference = (two - truth) - 2.0 * (one - truth);
        assert!(difference.abs() < 2.0 / f64::from(1 << 20), "{one} {two}");
    }
}

#[test]
fn the_deviation_that_is_told_is_that_of_the_budget() {
    let (_database, mut client) = session(Build::Release);
    for (eps, text, mu) in [
        ("1", "delta=1e-6", "dp_mu(1, 1e-6)"),
        ("0.1", "delta=1e-9", "dp_mu(0.1, 1e-9)"),
        ("NULL", "mu=0.5", "0.5"),
        ("NULL", "rho=0.3", "dp_mu_of_rho(0.3)"),
    ] {
        let sql = format!(
            "SELECT sd, sqrt(3::float8) / {mu} FROM (SELECT (dp_counts_estimate({eps}, \
             'gaussian({text})', i > 3, i > 7, i = 0)).* FROM generate_series(1, 9) i) s"
        );
        let row = &rows(&mut client, &sql)[0];
        let [told, expected] = [0, 1].map(|i| row.get::<_, f64>(i));
        // Never less noise than the budget asks for, and next to no more. eps is rounded down to a
        // multiple of 2^-40.
        assert!(
            told >= expected * (1.0 - 1e-15) && near(told, expected),
            "{told} {expected}"
        );
    }
}
