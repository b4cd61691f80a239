//! Texts of mechanisms and the arguments of calls.

use dp_core::error::ParameterError;
use dp_core::mechanism::vector::items::Vector;
use dp_core::random::Bits;
use dp_core::registry::{self, COUNTS, Registry, SUMS, catalog};
use dp_core::request::arguments::{Arguments, MechanismArgument};
use dp_core::request::parameter::ParameterKind;
use dp_core::sampler::uniform::below;

use crate::words::Seeded;

fn refused(text: &str) -> ParameterError {
    let error = registry::parse(text).expect_err(text);
    assert_eq!(error.argument, "mech");
    assert!(!error.hint.is_empty());
    error
}

#[test]
fn good_texts_have_one_canonical_form() {
    for (text, canonical) in [
        ("hourglass", "hourglass"),
        (" hourglass\n", "hourglass"),
        ("hourglass()", "hourglass"),
        ("hourglass ( )", "hourglass"),
        ("hourglass(gamma=0.4)", "hourglass(gamma=0.4)"),
        ("\thourglass ( gamma = 0.40 ) ", "hourglass(gamma=0.4)"),
        ("hourglass(gamma=4e-1)", "hourglass(gamma=0.4)"),
        ("hourglass(gamma=.5)", "hourglass(gamma=0.5)"),
        ("hourglass(gamma=+1)", "hourglass(gamma=1.0)"),
        ("hourglass(gamma=-0)", "hourglass(gamma=-0.0)"),
        ("staircase(gamma=1e-300)", "staircase(gamma=1e-300)"),
        ("geometric", "geometric"),
        // Keys in their order, whatever the order given.
        (
            "correlated(relation=replace,delta=1e-6,d=64,c=2)",
            "correlated(c=2.0, d=64, delta=1e-6, relation=replace)",
        ),
        (
            " correlated ( mu = 1 , d = 64 ) ",
            "correlated(d=64, mu=1.0)",
        ),
        ("ellipse(k=3, d=64, rho=.5)", "ellipse(d=64, k=3, rho=0.5)"),
        ("gaussian(delta=0.000001)", "gaussian(delta=1e-6)"),
        // Whole numbers, in any notation.
        ("laplace(d=1e3)", "laplace(d=1000)"),
        ("laplace(d=+064.0)", "laplace(d=64)"),
        ("laplace(d=0)", "laplace(d=0)"),
        ("laplace(d=-0)", "laplace(d=0)"),
        ("laplace(d=9007199254740991)", "laplace(d=9007199254740991)"),
        // A number that need not be whole.
        ("known_n(n=12345)", "known_n(n=12345.0)"),
        ("known_n(n=2.5e20)", "known_n(n=2.5e20)"),
        // Words.
        (
            "laplace(relation=add_remove)",
            "laplace(relation=add_remove)",
        ),
        ("laplace(relation=\treplace\n)", "laplace(relation=replace)"),
    ] {
        let choice = registry::parse(text).unwrap();
        assert_eq!(choice.text(), canonical);
        assert_eq!(registry::parse(&choice.text()), Ok(choice));
    }
    let choice = registry::parse("hourglass(gamma=0.4)").unwrap();
    assert_eq!(
        (choice.name(), choice.get("gamma"), choice.get("beta")),
        ("hourglass", Some(0.4), None)
    );
    let choice = registry::parse("gaussian(d=64, relation=replace)").unwrap();
    assert_eq!((choice.get("d"), choice.word("d")), (Some(64.0), None));
    let relation = (choice.get("relation"), choice.word("relation"));
    assert_eq!(relation, (None, Some("replace")));
}

#[test]
fn bad_texts_are_refused_with_a_hint() {
    for text in [
        "",
        " ",
        "(",
        ")",
        "()",
        "hour glass",
        "Hourglass",
        "HOURGLASS",
        "hourglas",
        "hourglass(",
        "hourglass)",
        "hourglass(gamma",
        "hourglass(gamma)",
        "hourglass(gamma=)",
        "hourglass(gamma=0.4",
        "hourglass(gamma=0.4))",
        "hourglass(gamma=0.4) x",
        "hourglass(gamma=0.4),",
        "hourglass(gamma=0.4,)",
        "hourglass(,gamma=0.4)",
        "hourglass(gamma=0.4,gamma=0.5)",
        "hourglass(gamma=0.4 0.5)",
        "hourglass(gamma==0.4)",
        "hourglass(=0.4)",
        "hourglass(Gamma=0.4)",
        "hourglass(gamma=inf)",
        "hourglass(gamma=-infinity)",
        "hourglass(gamma=nan)",
        "hourglass(gamma=1e999)",
        "hourglass(gamma=0x1)",
        "hourglass(gamma=0,4)",
        "hourglass(gamma=e)",
        "hourglass((gamma=0.4))",
        "laplace(gamma=0.4)",
        "hourglass\0",
        "höurglass",
        "hourglass\u{a0}(gamma=٠)",
        "laplace(d=1, d=1)",
        "laplace(d=1 relation=replace)",
        "gaussian(k=3)",
        "geometric(d=3)",
        "known_n(relation=replace)",
        "laplace(mu=1)",
    ] {
        refused(text);
    }
    // Not of the kind that the parameter kind: the message names it, and says what it takes.
    for (text, message) in [
        ("laplace(d=)", "the parameter d no whole number"),
        ("laplace(d=2.5)", "the parameter d no whole number"),
        ("laplace(d=-1)", "the parameter d no whole number"),
        ("laplace(d=replace)", "the parameter d no whole number"),
        ("laplace(d=0x10)", "the parameter d no whole number"),
        (
            "laplace(d=9007199254740992)",
            "the parameter d no whole number",
        ),
        ("laplace(d=1e300)", "the parameter d no whole number"),
        ("laplace(d=nan)", "the parameter d no whole number"),
        ("ellipse(k=0.5)", "the parameter k no whole number"),
        ("gaussian(mu=replace)", "the parameter mu no finite number"),
        ("gaussian(rho=1e999)", "the parameter rho no finite number"),
        ("gaussian(delta=)", "the parameter delta no finite number"),
        (
            "laplace(relation=)",
            "the parameter relation no value that it takes (add_remove, replace)",
        ),
        (
            "laplace(relation=Replace)",
            "the parameter relation no value that it takes (add_remove, replace)",
        ),
        (
            "laplace(relation=replaced)",
            "the parameter relation no value that it takes (add_remove, replace)",
        ),
        (
            "laplace(relation=1)",
            "the parameter relation no value that it takes (add_remove, replace)",
        ),
    ] {
        assert!(refused(text).message.ends_with(message), "{text}");
    }
    let all = refused("nonsense").hint;
    let key = refused("hourglass(beta=1)").hint;
    assert!(key.contains("gamma"));
    for (_, _, info) in catalog() {
        assert!(all.contains(info.name));
    }
    assert!(
        refused("shifted(beta=1)")
            .hint
            .ends_with("are: rows, groups.")
    );
}

/// A bad name may be one that another aggregate has, so the hint says whose each is; and it says so to all texts
/// alike, since a text may be of a row.
#[test]
fn unknown_names_are_told_which_aggregate_has_which() {
    let hint = refused("hourglas").hint;
    assert_eq!(hint, refused("keeep").hint);
    let groups: Vec<(Vec<&str>, Vec<&str>)> = hint
        .strip_prefix("The mechanisms are, ")
        .and_then(|rest| rest.strip_suffix('.'))
        .expect("a list")
        .split("; ")
        .map(|group| {
            let (aggregates, names) = group.split_once(": ").expect("names");
            let aggregates = aggregates.strip_prefix("of ").expect("aggregates");
            (
                aggregates.split(" and ").collect(),
                names.split(", ").collect(),
            )
        })
        .collect();
    let mut listed: Vec<(&str, &str)> = Vec::new();
    for (aggregates, names) in &groups {
        for aggregate in aggregates {
            listed.extend(names.iter().map(|name| (*aggregate, *name)));
        }
    }
    let mut known: Vec<(&str, &str)> = catalog().map(|(of, _, info)| (of, info.name)).collect();
    listed.sort_unstable();
    known.sort_unstable();
    assert_eq!(listed, known);
}

#[test]
fn messages_never_show_the_text() {
    let secret = "s3cret";
    for text in [
        secret.to_string(),
        format!("hourglass({secret}=1)"),
        format!("hourglass(gamma={secret})"),
        format!("hourglass {secret}"),
        format!("hourglass(gamma=0.4){secret}"),
        format!("correlated(d={secret})"),
        format!("correlated(d=64, relation={secret})"),
        format!("correlated({secret}=64)"),
        secret.repeat(1000),
    ] {
        let error = refused(&text);
        assert!(!format!("{error} {error:?}").contains(secret));
    }
}

#[test]
fn long_texts_are_refused_at_once() {
    let million = "hourglass(gamma=0.4)".to_string() + &" ".repeat(1 << 20);
    assert!(refused(&million).message.contains("too long"));
    refused(&"(".repeat(1 << 20));
    let longest = format!("{:<1024}", "hourglass");
    assert!(registry::parse(&longest).is_ok());
    refused(&format!("{longest} "));
}

#[test]
fn no_text_makes_the_parser_panic_and_texts_round_trip() {
    let pieces = [
        "hourglass",
        "staircase",
        "laplace",
        "gamma",
        "(",
        ")",
        "=",
        ",",
        " ",
        "0.4",
        "1e-5",
        "-",
        "e",
        "1e308",
        "inf",
        "\0",
        "é",
        "\u{2003}",
        "9",
        ".",
        "beta",
        "((",
        "\n",
        "laplace(",
        "d=",
        "relation=",
        "replace",
        "add_remove",
    ];
    let mut words = Seeded::new(5);
    let mut good = 0;
    for _ in 0..100_000 {
        let text: String = (0..below(9, &mut words))
            .map(|_| pieces[below(pieces.len() as u64, &mut words) as usize])
            .collect();
        if let Ok(choice) = registry::parse(&text) {
            good += 1;
            assert_eq!(registry::parse(&choice.text()).as_ref(), Ok(&choice));
        }
        let value = f64::from_bits(words.word());
        let text = format!("hourglass(gamma={value:?})");
        match registry::parse(&text) {
            Ok(choice) => {
                assert_eq!(choice.get("gamma").map(f64::to_bits), Some(value.to_bits()));
                assert_eq!(choice.text(), text);
            }
            Err(_) => assert!(!value.is_finite()),
        }
    }
    assert!(good > 100, "{good}");
}

/// Texts put together by the catalog: any of a mechanism's parameters, in any order.
#[test]
fn every_parameter_is_read_and_written_in_one_form() {
    let mut words = Seeded::new(6);
    let blanks = ["", " ", "\t", "\n  "];
    for round in 0..2000 {
        for (_, _, info) in catalog() {
            let mut left = info.parameters.to_vec();
            let mut given = Vec::new();
            for _ in 0..below(left.len() as u64 + 1, &mut words) {
                let parameter = left.swap_remove(below(left.len() as u64, &mut words) as usize);
                let (written, canonical) = match parameter.kind {
                    ParameterKind::Number => {
                        let number = loop {
                            let number = f64::from_bits(words.word());
                            if number.is_finite() {
                                break number;
                            }
                        };
                        (format!("{number:e}"), format!("{number:?}"))
                    }
                    ParameterKind::Whole => {
                        let number = words.word() >> 11 >> below(53, &mut words);
                        (format!("{number}.0"), number.to_string())
                    }
                    ParameterKind::Word(known) => {
                        let word = known[below(known.len() as u64, &mut words) as usize];
                        (word.to_owned(), word.to_owned())
                    }
                };
                given.push((parameter.name, written, canonical));
            }
            let mut blank = || blanks[below(blanks.len() as u64, &mut words) as usize];
            let items: Vec<String> = given
                .iter()
                .map(|(key, written, _)| {
                    let [a, b, c, d] = [(); 4].map(|()| blank());
                    format!("{a}{key}{b}={c}{written}{d}")
                })
                .collect();
            let text = format!("{}{}({})", info.name, blank(), items.join(","));
            given.sort();
            let items: Vec<String> = given
                .iter()
                .map(|(key, _, canonical)| format!("{key}={canonical}"))
                .collect();
            let canonical = match items.len() {
                0 => info.name.to_owned(),
                _ => format!("{}({})", info.name, items.join(", ")),
            };
            let choice = registry::parse(&text).unwrap_or_else(|e| panic!("{round} {text}: {e}"));
            assert_eq!(choice.text(), canonical);
            assert_eq!(choice.values().len(), given.len());
            assert_eq!(registry::parse(&canonical), Ok(choice));
        }
    }
}

fn arguments(lo: Option<f64>, hi: Option<f64>, epsilon: Option<f64>, text: &str) -> Arguments<'_> {
    Arguments {
        bounds: Some((lo, hi)),
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    }
}

#[test]
fn arguments_are_checked_in_a_fixed_order() {
    let blamed = |lo, hi, epsilon, text| {
        registry::MEAN
            .build(&arguments(lo, hi, epsilon, text))
            .err()
            .map(|error| error.argument)
    };
    let (one, two, nan) = (Some(1.0), Some(2.0), Some(f64::NAN));
    assert_eq!(blamed(nan, nan, nan, "bad"), Some("lo"));
    assert_eq!(blamed(one, nan, nan, "bad"), Some("hi"));
    assert_eq!(blamed(two, one, nan, "bad"), Some("hi"));
    assert_eq!(blamed(one, two, nan, "bad"), Some("eps"));
    assert_eq!(blamed(one, two, None, "bad"), Some("eps"));
    assert_eq!(blamed(one, two, one, "bad"), Some("mech"));
    assert_eq!(blamed(one, two, one, "hourglass(gamma=0)"), Some("mech"));
    assert_eq!(blamed(one, two, one, "hourglass(gamma=1.01)"), Some("mech"));
    assert_eq!(blamed(one, two, one, "hourglass(gamma=-0.4)"), Some("mech"));
    assert_eq!(blamed(one, two, one, "staircase(gamma=2)"), Some("mech"));
    assert_eq!(blamed(one, two, one, "hourglass(gamma=1)"), None);
    assert_eq!(blamed(one, two, one, "hourglass(gamma=5e-324)"), None);
    let null = Arguments {
        mechanism: MechanismArgument::Given(None),
        ..arguments(one, two, one, "")
    };
    let error = registry::MEAN.build(&null).err().unwrap();
    assert_eq!(
        (error.argument, error.message.as_str()),
        ("mech", "must not be NULL")
    );
    let unbounded = Arguments {
        bounds: None,
        ..arguments(one, two, one, "laplace")
    };
    assert_eq!(
        registry::MEAN.build(&unbounded).err().unwrap().argument,
        "lo"
    );
    assert_eq!(
        registry::SUM.build(&unbounded).err().unwrap().argument,
        "lo"
    );
}

#[test]
fn an_aggregate_takes_its_own_mechanisms_only() {
    let unbounded = |arguments: &Arguments<'static>| Arguments {
        bounds: None,
        ..*arguments
    };
    let of_two = |arguments: &Arguments<'static>| Arguments {
        x_bounds: arguments.bounds,
        ..*arguments
    };
    // The ellipse is for values that count from 0.
    let zero_based = |arguments: &Arguments<'static>| Arguments {
        bounds: Some((Some(0.0), Some(2.0))),
        ..*arguments
    };
    let (one, two) = (Some(1.0), Some(2.0));
    let error = registry::SUM
        .build(&arguments(one, two, one, "hourglass"))
        .err()
        .unwrap();
    assert!(
        error.hint.contains("staircase") && !error.hint.contains("hourglass"),
        "{}",
        error.hint
    );
    assert!(
        registry::COUNT
            .build(&arguments(one, two, one, "laplace"))
            .is_err()
    );
    for (aggregate, _, info) in catalog() {
        let has_scale = info
            .parameters
            .iter()
            .any(|parameter| parameter.name == "scale");
        let (lo, hi) = if has_scale { (None, None) } else { (one, two) };
        let arguments = Arguments {
            ranks: None,
            pathological: true,
            ..arguments(lo, hi, one, info.example)
        };
        let built = match aggregate {
            "dp_mean" => registry::MEAN.build(&arguments).is_ok(),
            "dp_sum" => registry::SUM.build(&arguments).is_ok(),
            "dp_count" => registry::COUNT.build(&arguments).is_ok(),
            "dp_keep" => {
                let delta = Some(Some(1e-6));
                let arguments = Arguments { delta, ..arguments };
                registry::KEEP.build(&arguments).is_ok()
            }
            "dp_counts" => registry::COUNTS.build(&unbounded(&arguments)).is_ok(),
            "dp_sums" => registry::SUMS.build(&zero_based(&arguments)).is_ok(),
            "dp_var_pop" => registry::VARIANCE.build(&arguments).is_ok(),
            "dp_covar_pop" => registry::COVARIANCE.build(&of_two(&arguments)).is_ok(),
            "dp_weighted_mean" => registry::WEIGHTED_MEAN.build(&of_two(&arguments)).is_ok(),
            "dp_regr_slope" => registry::SLOPE.build(&of_two(&arguments)).is_ok(),
            "dp_corr" => registry::CORRELATION.build(&of_two(&arguments)).is_ok(),
            "dp_linear_regression" => {
                let columns = Some([&[Some(0.0)][..], &[Some(1.0)]]);
                let arguments = Arguments {
                    columns,
                    ..arguments
                };
                registry::REGRESSION.build(&arguments).is_ok()
            }
            "dp_count_distinct" => registry::DISTINCT.build(&unbounded(&arguments)).is_ok(),
            "dp_means" => registry::MEANS.build(&arguments).is_ok(),
            "dp_histogram" => registry::HISTOGRAM
                .build(&Arguments {
                    length: Some(10),
                    ..arguments
                })
                .is_ok(),
            "dp_bounds" => registry::BOUNDS.build(&unbounded(&arguments)).is_ok(),
            "dp_clamped" => registry::CLAMPED.build(&arguments).is_ok(),
            "dp_quantile" => registry::QUANTILE.build(&arguments).is_ok(),
            "dp_median" => registry::MEDIAN.build(&arguments).is_ok(),
            "dp_cdf" => registry::CDF
                .build(&Arguments {
                    length: Some(10),
                    ..arguments
                })
                .is_ok(),
            "dp_quantiles" => registry::QUANTILES.build(&arguments).is_ok(),
            _ => false,
        };
        assert!(built, "{aggregate} {}", info.name);
    }
}

/// A call of an aggregate of vectors; `bounds` are for values.
fn vectors(
    registry: &Registry<Vector>,
    bounds: Option<(f64, f64)>,
    epsilon: Option<f64>,
    length: Option<usize>,
    text: &str,
) -> Result<Box<Vector>, ParameterError> {
    registry.build(&Arguments {
        bounds: bounds.map(|(lo, hi)| (Some(lo), Some(hi))),
        epsilon,
        length,
        mechanism: MechanismArgument::Given(Some(text)),
        ..Arguments::default()
    })
}

/// Who is to blame: the argument, and how the message goes on.
fn blamed(built: Result<Box<Vector>, ParameterError>) -> Option<(&'static str, String)> {
    let error = built.err()?;
    assert!(!error.hint.is_empty());
    Some((error.argument, error.message))
}

#[test]
fn one_budget_is_given_and_eps_is_null_beside_mu_and_rho() {
    let (one, bad) = (Some(1.0), Some(f64::NAN));
    let besides = Some(("eps", "must be NULL where the mechanism gives mu or rho"));
    let null = Some(("eps", "must not be NULL"));
    let mech = |message| Some(("mech", message));
    let none = mech("gives none of delta, mu and rho");
    let several = mech("gives more than one of delta, mu and rho");
    let [delta, mu, rho] = [
        mech("gives the parameter delta a value outside its range"),
        mech("gives the parameter mu a value outside its range"),
        mech("gives the parameter rho a value outside its range"),
    ];
    for (epsilon, parameters, expected) in [
        (one, "delta=1e-6", None),
        (None, "mu=1", None),
        (None, "rho=0.5", None),
        (None, "delta=1e-6", null),
        (bad, "delta=1e-6", Some(("eps", "must be a finite number"))),
        (one, "mu=1", besides),
        (one, "rho=1", besides),
        (bad, "mu=1", besides),
        // eps comes before mech, whatever is wrong there.
        (one, "mu=-1", besides),
        (one, "delta=1e-6, mu=1", besides),
        (None, "", null),
        (one, "", none),
        (None, "delta=1e-6, mu=1", several),
        (None, "delta=1e-6, rho=1", several),
        (None, "mu=1, rho=0.5", several),
        (None, "delta=2, mu=1, rho=0.5", several),
        (one, "delta=0", delta),
        (one, "delta=-0.0", delta),
        (one, "delta=-1e-6", delta),
        (one, "delta=1", delta),
        (one, "delta=1.5", delta),
        (one, "delta=5e-324", None),
        (one, "delta=0.9999999999999999", None),
        (None, "mu=1e-9", None),
        (None, "mu=1000", None),
        (None, "mu=0.9999e-9", mu),
        (None, "mu=1000.0001", mu),
        (None, "mu=0", mu),
        (None, "mu=-1", mu),
        (None, "rho=1e-18", None),
        (None, "rho=500000", None),
        (None, "rho=0.9999e-18", rho),
        (None, "rho=500000.1", rho),
        (None, "rho=0", rho),
        (None, "rho=-0.5", rho),
    ] {
        let items = |more: &'static str| -> Vec<&str> {
            let all = parameters.split(", ").chain([more]);
            all.filter(|item| !item.is_empty()).collect()
        };
        for (name, more) in [
            ("correlated", "d=4"),
            ("gaussian", "d=4"),
            ("known_n", "d=4, n=5"),
            ("ellipse", "d=4, k=1"),
        ] {
            let text = format!("{name}({})", items(more).join(", "));
            let found = blamed(vectors(&COUNTS, None, epsilon, None, &text));
            let found = found
                .as_ref()
                .map(|(argument, message)| (*argument, message.as_str()));
            assert_eq!(found, expected, "{text} {epsilon:?}");
        }
        // One number at a time has the same budgets.
        let text = format!("gaussian({parameters})");
        for build in [
            |arguments: &Arguments| registry::MEAN.build(arguments).err(),
            |arguments: &Arguments| registry::SUM.build(arguments).err(),
            |arguments: &Arguments| registry::COUNT.build(arguments).err(),
        ] {
            let error = build(&arguments(Some(0.0), one, epsilon, &text));
            let found = error
                .as_ref()
                .map(|error| (error.argument, error.message.as_str()));
            assert_eq!(found, expected, "{text} {epsilon:?}");
        }
    }
    // Bounds come first. A mechanism of pure differential privacy takes eps alone.
    let upside_down = Some((2.0, 1.0));
    let found = blamed(vectors(
        &SUMS,
        upside_down,
        one,
        None,
        "gaussian(mu=1, d=4)",
    ));
    assert_eq!(found.unwrap().0, "hi");
    assert!(blamed(vectors(&COUNTS, None, one, None, "laplace(d=4)")).is_none());
    let found = blamed(vectors(&COUNTS, None, None, None, "laplace(d=4)"));
    assert_eq!(found.unwrap().0, "eps");
    // A text that cannot be read says nothing about a budget, so eps is looked at as usual.
    let found = blamed(vectors(&COUNTS, None, None, None, "laplace(mu=1, d=4)"));
    assert_eq!(found.unwrap().0, "eps");
}

#[test]
fn rows_have_the_length_that_the_call_says() {
    let outside = "gives the parameter d a value outside its range";
    let missing = "does not say how many numbers a row has";
    let other = "gives a d that is not the number of questions in the call";
    for (questions, d, expected) in [
        (None, Some("1"), Ok(1)),
        (None, Some("64"), Ok(64)),
        (None, Some("1e5"), Ok(100_000)),
        (Some(1), None, Ok(1)),
        (Some(97), None, Ok(97)),
        (Some(3), Some("3"), Ok(3)),
        (None, None, Err(missing)),
        (None, Some("0"), Err(outside)),
        (None, Some("100001"), Err(outside)),
        (None, Some("9007199254740991"), Err(outside)),
        (Some(3), Some("4"), Err(other)),
        (Some(3), Some("0"), Err(other)),
    ] {
        for text in ["correlated(mu=1", "gaussian(mu=1", "known_n(n=5, mu=1"] {
            let d = d.map_or_else(String::new, |d| format!(", d={d}"));
            let built = vectors(&COUNTS, None, None, questions, &format!("{text}{d})"));
            let found = match &built {
                Ok(mechanism) => {
                    let rows = mechanism.rows();
                    assert_eq!(rows.most, rows.length);
                    Ok(rows.length)
                }
                Err(error) => {
                    assert_eq!(error.argument, "mech");
                    assert!(error.hint.contains('d'));
                    Err(error.message.as_str())
                }
            };
            assert_eq!(found, expected, "{text}{d} {questions:?}");
        }
    }
}

#[test]
fn parameters_of_vectors_have_their_domains() {
    let outside = |name: &str| format!("gives the parameter {name} a value outside its range");
    let zero_based = [(0.0, 2.0), (-0.0, 2.0), (-3.0, 0.0)];
    for bounds in zero_based.map(Some).into_iter().chain([None]) {
        for (text, expected) in [
            ("correlated(mu=1, d=4, c=9.5367431640625e-7)", None),
            ("correlated(mu=1, d=4, c=1048576)", None),
            ("correlated(mu=1, d=4, c=9.5367431640624e-7)", Some("c")),
            ("correlated(mu=1, d=4, c=1048576.0001)", Some("c")),
            ("correlated(mu=1, d=4, c=0)", Some("c")),
            ("correlated(mu=1, d=4, c=-2)", Some("c")),
            ("known_n(mu=1, d=4, n=0)", None),
            ("known_n(mu=1, d=4, n=1234.5)", None),
            ("known_n(mu=1, d=4, n=9007199254740992)", None),
            ("known_n(mu=1, d=4, n=9007199254740994)", Some("n")),
            ("known_n(mu=1, d=4, n=-1)", Some("n")),
            ("ellipse(mu=1, d=4, k=1)", None),
            ("ellipse(mu=1, d=4, k=2)", None),
            ("ellipse(mu=1, d=5, k=2)", None),
            ("ellipse(mu=1, d=4, k=0)", Some("k")),
            ("ellipse(mu=1, d=4, k=3)", Some("k")),
            ("ellipse(mu=1, d=5, k=3)", Some("k")),
            ("ellipse(mu=1, d=1, k=1)", Some("k")),
            ("correlated(mu=1, d=4, relation=add_remove)", None),
            ("correlated(mu=1, d=4, relation=replace)", None),
            ("gaussian(mu=1, d=4, relation=replace)", None),
        ] {
            let registry = if bounds.is_none() { &COUNTS } else { &SUMS };
            let found = blamed(vectors(registry, bounds, None, None, text));
            let expected = expected.map(|name| ("mech", outside(name)));
            assert_eq!(found, expected, "{text} {bounds:?}");
        }
    }
    for (text, message) in [
        ("known_n(mu=1, d=4)", "does not say how many rows there are"),
        (
            "ellipse(mu=1, d=4)",
            "does not say how many numbers of a row may be other than 0",
        ),
    ] {
        let found = blamed(vectors(&COUNTS, None, None, None, text));
        assert_eq!(found, Some(("mech", message.to_owned())));
    }
    // The ellipse is for values that count from 0.
    for bounds in [(1.0, 2.0), (-2.0, 2.0), (-2.0, -1.0)] {
        let found = blamed(vectors(
            &SUMS,
            Some(bounds),
            None,
            None,
            "ellipse(mu=1, d=4, k=1)",
        ));
        assert_eq!(found.unwrap().0, "lo");
    }
    let cut = vectors(&COUNTS, None, None, None, "ellipse(mu=1, d=64, k=3)").unwrap();
    assert_eq!((cut.rows().length, cut.rows().most), (64, 3));
    // Means need a number of rows.
    for (name, fits) in [
        ("correlated(mu=1, d=4)", true),
        ("known_n(mu=1, d=4, n=5)", true),
        ("gaussian(mu=1, d=4)", false),
        ("ellipse(mu=1, d=4, k=1)", false),
    ] {
        let built = vectors(&registry::MEANS, Some((0.0, 1.0)), None, None, name);
        assert_eq!(built.is_ok(), fits, "{name}");
    }
}

/// What a `relation` does: the same call is noisier for neighbours by replacing.
#[test]
fn replacing_is_noisier() {
    for (epsilon, text) in [
        (None, "correlated(mu=1, d=4"),
        (None, "gaussian(mu=1, d=4"),
        (Some(1.0), "laplace(d=4"),
    ] {
        let sd = |rest: &str| {
            let text = format!("{text}{rest})");
            vectors(&COUNTS, None, epsilon, None, &text)
                .unwrap()
                .spread()
                .sd
        };
        assert_eq!(sd(""), sd(", relation=add_remove"), "{text}");
        assert!(sd(", relation=replace") > sd("") * 1.2, "{text}");
    }
}

#[test]
fn the_catalog_is_complete() {
    let rows: Vec<_> = catalog().collect();
    // Every registry that others may use is in it.
    let source = include_str!("../../src/registry.rs");
    let registries = source.split("\npub static ").skip(1);
    let mut count = 0;
    for registry in registries.filter(|item| item.contains(": Registry<")) {
        let (_, named) = registry.split_once("aggregate: \"").expect("a name");
        let (aggregate, _) = named.split_once('"').expect("its end");
        let of = rows.iter().filter(|row| row.0 == aggregate);
        let defaults = of.filter(|row| row.1).count();
        assert_eq!(defaults, 1, "one default for {aggregate}");
        count += 1;
    }
    assert_eq!(count, rows.iter().filter(|row| row.1).count());
    for (position, (aggregate, _, info)) in rows.iter().enumerate() {
        let texts = [
            info.name,
            info.what,
            info.guarantee,
            info.neighbours,
            info.source,
        ];
        assert!(texts.iter().all(|text| !text.is_empty()));
        assert!(
            info.parameters
                .iter()
                .all(|p| !p.domain.is_empty() && !p.description.is_empty())
        );
        assert!(
            info.name
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c == b'_')
        );
        let twice = rows[..position]
            .iter()
            .any(|row| row.0 == *aggregate && row.2.name == info.name);
        assert!(!twice);
    }
}
