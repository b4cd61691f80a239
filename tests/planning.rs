//! Plans for means through SQL: what clamping may cost, what cannot be had, and how accurate each
//! mechanism will be.

use dp_core::registry::MEAN;
use dp_mean_tests::{Build, refused, rows, run, session, value};
use postgres::Client;

/// How far an answer of six digits or fewer may be from the number it was printed as.
fn assert_near(found: f64, expected: f64, relative: f64, what: &str) {
    assert!(
        (found - expected).abs() <= relative * expected.abs(),
        "{what}: {found}, expected {expected}"
    );
}

#[test]
fn clip_bias_and_radius_are_those_of_the_formulas() {
    let (_database, mut client) = session(Build::Release);
    for (call, expected) in [
        ("dp_clip_bias(2, 1, 5)", 0.05),
        (
            "dp_clip_bias(moment => 4, psi => 30000, c => 100000)",
            27.0 / 256.0 * 810.0,
        ),
        ("dp_clip_radius(2, 1, 0.05)", 5.0),
        ("dp_clip_radius(moment => 2, psi => 10, beta => 0.5)", 50.0),
        ("dp_clip_radius(3, 2, dp_clip_bias(3, 2, 7))", 7.0),
    ] {
        let found: f64 = value(&mut client, &format!("SELECT {call}"));
        assert_near(found, expected, 1e-12, call);
    }
    for call in ["dp_clip_bias(2, NULL, 5)", "dp_clip_radius(2, 1, NULL)"] {
        assert_eq!(
            value::<Option<f64>>(&mut client, &format!("SELECT {call}")),
            None
        );
    }
}

/// The one row of `dp_trilemma`.
fn trilemma(client: &mut Client, arguments: &str) -> ([f64; 3], bool) {
    let sql = format!(
        "SELECT least_rmse, sampling_rmse, privacy_rmse, possible FROM dp_trilemma({arguments})"
    );
    let rows = rows(client, &sql);
    assert_eq!(rows.len(), 1, "{sql}");
    ([0, 1, 2].map(|i| rows[0].get(i)), rows[0].get(3))
}

#[test]
fn the_trilemma_gives_the_least_error_without_bias() {
    let (_database, mut client) = session(Build::Release);
    for (arguments, least, relative) in [
        ("100, 1, 0, 1e-5", 0.831, 1e-3),
        ("10000, 1, 0, 1e-5", 0.0083, 5e-3),
        (
            "n => 10000, eps => 1, delta => 1e-6, beta => 1e-3",
            0.0041,
            5e-3,
        ),
    ] {
        let ([found, sampling, privacy], possible) = trilemma(&mut client, arguments);
        assert_near(found, least, relative, arguments);
        assert_eq!(found, sampling.max(privacy), "{arguments}");
        assert!(possible, "{arguments}");
    }
    let ([_, sampling, privacy], _) = trilemma(&mut client, "10000, 1, 1e-6, 1e-3");
    assert_near(sampling, 0.0041, 5e-3, "sampling");
    assert_near(privacy, 6.5e-5, 0.02, "a bound that says nothing");

    // No privacy without delta and without bias.
    let ([least, sampling, privacy], possible) = trilemma(&mut client, "1e6, 1, 0, 0");
    assert!(!possible && least == f64::INFINITY && privacy == f64::INFINITY);
    assert_near(
        sampling,
        1.0 / (6.0 * 1_000_002f64).sqrt(),
        1e-12,
        "sampling",
    );
    let sql = "SELECT (dp_trilemma(1e6, 1, 0, 1e-9)).possible";
    assert!(value::<bool>(&mut client, sql));
    let sql = "SELECT least_rmse IS NULL AND possible IS NULL FROM dp_trilemma(100, NULL, 0, 0)";
    assert!(value::<bool>(&mut client, sql));
    // For each of many numbers of rows, as a table is planned for.
    let sql = "SELECT count(*) FROM generate_series(1, 20) n, dp_trilemma(n, 1, 0, 1e-3) t \
         WHERE t.least_rmse >= t.sampling_rmse";
    assert_eq!(value::<i64>(&mut client, sql), 20);
}

const NAMES: [&str; 7] = ["n", "lo", "hi", "eps", "delta", "moment", "psi"];
const GOOD: [&str; 7] = ["10000", "-50", "150", "1", "1e-6", "4", "30"];

#[test]
fn bad_arguments_are_refused() {
    let (_database, mut client) = session(Build::Release);
    let trilemma: &[(&str, &str)] = &[
        ("n", "100"),
        ("eps", "1"),
        ("delta", "1e-6"),
        ("beta", "0.01"),
    ];
    let plan: Vec<_> = NAMES.into_iter().zip(GOOD).collect();
    let not_finite = ["'NaN'", "'Infinity'", "'-Infinity'"];
    for (name, arguments, bad) in [
        (
            "dp_clip_bias",
            &[("moment", "2"), ("psi", "1"), ("c", "5")][..],
            &[
                ("moment", &["1", "0", "-2"][..]),
                ("psi", &["0", "-1"]),
                ("c", &["0", "-1", "1e-320"]),
            ][..],
        ),
        (
            "dp_clip_radius",
            &[("moment", "1.5"), ("psi", "1"), ("beta", "5")],
            &[
                ("moment", &["1", "0", "-2"]),
                ("psi", &["0", "-1"]),
                ("beta", &["0", "-1", "1e-200"]),
            ],
        ),
        (
            "dp_trilemma",
            trilemma,
            &[
                ("n", &["0", "-1", "0.5"]),
                ("eps", &["0", "-1"]),
                ("delta", &["-1e-9", "1", "2"]),
                ("beta", &["-1e-9"]),
            ],
        ),
        (
            "dp_mean_plan",
            &plan[..],
            &[
                ("n", &["NULL", "0", "-1", "2.5", "1e16"]),
                ("eps", &["NULL", "0", "-1", "51"]),
                ("lo", &["NULL"]),
                ("hi", &["NULL", "-50", "-51"]),
                ("delta", &["0", "1", "-1"]),
                ("moment", &["NULL", "1.9", "-4"]),
                ("psi", &["NULL", "0", "-1"]),
            ],
        ),
    ] {
        for (argument, values) in bad {
            for text in values.iter().chain(&not_finite) {
                let named: Vec<String> = arguments
                    .iter()
                    .map(|(other, good)| {
                        let text = if other == argument { text } else { good };
                        format!("{other} => {text}::float8")
                    })
                    .collect();
                let call = format!("{name}({})", named.join(", "));
                let refusal = refused(&mut client, &format!("SELECT * FROM {call}"));
                assert_eq!(refusal.code, "22023", "{refusal:?}: {call}");
                let start = format!("{name}: argument \"{argument}\" ");
                assert!(refusal.message.starts_with(&start), "{refusal:?}: {call}");
                assert!(!refusal.hint.is_empty(), "{refusal:?}: {call}");
            }
        }
    }
    // The first argument that is bad; and a value is not quoted.
    run(
        &mut client,
        "CREATE TABLE one AS SELECT 654::float8 AS secret",
    );
    for (call, argument) in [
        ("dp_mean_plan(0, 0, 0, 0)", "n"),
        ("dp_mean_plan(1, 0, 0, secret)", "eps"),
        ("dp_clip_bias(secret - 654, 0, 0)", "moment"),
        ("dp_trilemma(9, 1, secret, 0)", "delta"),
    ] {
        let refusal = refused(&mut client, &format!("SELECT {call} FROM one"));
        assert!(
            refusal.message.contains(&format!("\"{argument}\"")),
            "{refusal:?}"
        );
        assert!(!format!("{refusal:?}").contains("654"), "{refusal:?}");
    }
}

/// A row of `dp_mean_plan`: text, noise, bias, error, and what it needs.
struct Planned {
    mechanism: String,
    numbers: Option<[f64; 3]>,
    needs: String,
}

fn plan(client: &mut Client, arguments: &str) -> Vec<Planned> {
    let sql = format!(
        "SELECT mechanism, noise_sd, bias_bound, rmse_bound, needs, neighbours, guarantee \
         FROM dp_mean_plan({arguments}) ORDER BY rmse_bound, mechanism"
    );
    let rows = rows(client, &sql);
    let planned = rows.iter().map(|row| {
        let numbers = [1, 2, 3].map(|i| row.get::<_, Option<f64>>(i));
        assert!(
            numbers.iter().all(Option::is_some) || numbers.iter().all(Option::is_none),
            "{row:?}"
        );
        for text in [5, 6] {
            assert!(!row.get::<_, &str>(text).is_empty(), "{row:?}");
        }
        Planned {
            mechanism: row.get(0),
            numbers: numbers[0].map(|_| numbers.map(|number| number.unwrap_or(f64::NAN))),
            needs: row.get(4),
        }
    });
    planned.collect()
}

fn name(mechanism: &str) -> &str {
    mechanism.split('(').next().unwrap_or(mechanism)
}

#[test]
fn each_mechanism_is_planned_for() {
    let (_database, mut client) = session(Build::Release);
    let mut expected: Vec<_> = MEAN
        .entries
        .iter()
        .filter(|entry| entry.plan.is_some())
        .map(|entry| entry.info.name)
        .collect();
    expected.sort_unstable();
    for arguments in [
        "10000, -50, 150, 1",
        "n => 10000, lo => -50, hi => 150, eps => 1, delta => 1e-6",
        "10000, -50, 150, 1, moment => 4, psi => 30",
        "10000, -50, 150, 1, 1e-6, 4, 30",
    ] {
        let plan = plan(&mut client, arguments);
        let mut names: Vec<_> = plan.iter().map(|row| name(&row.mechanism)).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{arguments}");
        for row in &plan {
            let what = format!("{}: {}", row.mechanism, row.needs);
            assert_eq!(
                row.needs.starts_with("not given: "),
                row.mechanism.contains('{'),
                "{what}"
            );
            match row.numbers {
                Some([noise_sd, bias, rmse]) => {
                    assert!(noise_sd > 0.0 && rmse >= noise_sd && bias >= 0.0, "{what}");
                    assert!(rmse.is_finite(), "{what}");
                }
                None => assert!(
                    row.needs.starts_with("not given: ")
                        || row.needs.starts_with("other numbers: "),
                    "{what}"
                ),
            }
        }
        // What has no number comes last, and the best of what is known is not a baseline.
        let known = plan.iter().filter(|row| row.numbers.is_some()).count();
        assert!(plan[..known].iter().all(|row| row.numbers.is_some()));
        let place = |wanted| {
            plan.iter()
                .position(|row| name(&row.mechanism) == wanted)
                .expect(wanted)
        };
        assert!(place("hourglass") < place("laplace"));
        assert!(place("laplace") < place("shifted"));
        assert!(place("shifted") < place("independent"));
        let gaussian = &plan[place("gaussian")];
        if arguments.contains("1e-6") {
            assert_eq!(gaussian.mechanism, "gaussian(delta=1e-6)");
        } else {
            assert!(
                gaussian.needs.starts_with("not given: delta; "),
                "{}",
                gaussian.needs
            );
        }
    }
}

#[test]
fn a_plan_has_its_numbers() {
    let (_database, mut client) = session(Build::Release);
    let of = |plan: &[Planned], wanted: &str| {
        let row = plan.iter().find(|row| name(&row.mechanism) == wanted);
        row.and_then(|row| row.numbers).expect("a forecast")
    };
    // Of 10,000 rows between -50 and 150.
    let bounded = plan(&mut client, "10000, -50, 150, 1, 1e-6");
    let moment = plan(&mut client, "10000, -50, 150, 1, 1e-6, 4, 30");
    let clamping: f64 = value(&mut client, "SELECT dp_clip_bias(4, 30, 100)");
    for (wanted, noise) in [
        ("hourglass", 0.02 * 1.918_10f64.sqrt()),
        ("laplace", 0.02 * 2f64.sqrt()),
        ("gaussian", 0.02 / 0.236_704_381),
        ("shifted", 0.04),
        ("independent", 0.06),
    ] {
        let [noise_sd, bias, rmse] = of(&bounded, wanted);
        assert_near(noise_sd, noise, 1e-5, wanted);
        // Answers are kept inside; the rows' own mean is within 200 / 2 / 100.
        assert_eq!(bias, noise_sd / 2.0, "{wanted}");
        assert_near(rmse, noise.hypot(1.0), 1e-6, wanted);
        let [noise_sd, bias, rmse] = of(&moment, wanted);
        assert_near(noise_sd, noise, 1e-5, wanted);
        assert_near(bias, clamping, 1e-12, wanted);
        assert_near(rmse, noise.hypot(0.3).hypot(clamping), 1e-5, wanted);
    }
}

#[test]
fn texts_of_a_plan_run() {
    let (_database, mut client) = session(Build::Release);
    run(
        &mut client,
        "CREATE TABLE t AS SELECT (i % 101)::float8 AS x FROM generate_series(1, 10000) i",
    );
    let scaled: Vec<String> = rows(
        &mut client,
        "SELECT mechanism FROM dp_mechanisms() WHERE aggregate = 'dp_mean' \
         AND parameters LIKE '%scale (%'",
    )
    .iter()
    .map(|row| row.get(0))
    .collect();
    for arguments in [
        "10000, -50, 150, 1, 1e-6",
        "10000, -50, 150, 1, 1e-6, 4, 40",
    ] {
        for row in plan(&mut client, arguments) {
            let Some([noise_sd, _, _]) = row.numbers else {
                continue;
            };
            let bounds = if scaled.iter().any(|scaled| scaled == name(&row.mechanism)) {
                "NULL, NULL"
            } else {
                "-50, 150"
            };
            // As it stands, and in the type's own form.
            let sql = format!("SELECT '{0}'::dp_mechanism::text = '{0}'", row.mechanism);
            assert!(value::<bool>(&mut client, &sql), "{sql}");
            let sql = format!("SELECT dp_mean(x, {bounds}, 1, '{}') FROM t", row.mechanism);
            let answer: Result<Option<f64>, _> = client.query_one(&sql, &[]).map(|row| row.get(0));
            match answer {
                // Within the noise: less than one in a million of Laplace noise is so far out.
                Ok(Some(mean)) => {
                    assert!(
                        (mean - 49.99).abs() < 20.0 * noise_sd + 0.1,
                        "{sql}: {mean}"
                    );
                }
                Ok(None) => {}
                // What can show a row takes a permission.
                Err(error) => {
                    let code = error.code().map(|code| code.code().to_owned());
                    assert_eq!(code.as_deref(), Some("42501"), "{sql}: {error:?}");
                }
            }
        }
    }
    // The best one, without a look at the plan: it knows no rows.
    let best = "(SELECT mechanism FROM dp_mean_plan(10000, 0, 100, 1) \
                WHERE neighbours = 'add or remove one row' ORDER BY rmse_bound LIMIT 1)";
    let sql = format!("SELECT dp_mean(x, 0, 100, 1, {best}) FROM t");
    let mean: f64 = value(&mut client, &sql);
    assert!((mean - 49.99).abs() < 1.0, "{mean}");
}
