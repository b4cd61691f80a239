//! Texts of mechanisms and the arguments of calls.

use dp_core::choice::Choice;
use dp_core::error::ParameterError;
use dp_core::mechanism::{self, Arguments, MechanismArgument, catalog};
use dp_core::random::Bits;
use dp_core::sampler::uniform::below;

use crate::words::Seeded;

fn refused(text: &str) -> ParameterError {
    let error = Choice::parse(text).expect_err(text);
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
    ] {
        let choice = Choice::parse(text).unwrap();
        assert_eq!(choice.text(), canonical);
        assert_eq!(Choice::parse(&choice.text()), Ok(choice));
    }
    let choice = Choice::parse("hourglass(gamma=0.4)").unwrap();
    assert_eq!(
        (choice.name(), choice.get("gamma"), choice.get("beta")),
        ("hourglass", Some(0.4), None)
    );
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
    ] {
        refused(text);
    }
    let all = refused("nonsense").hint;
    let key = refused("hourglass(beta=1)").hint;
    assert!(key.contains("gamma"));
    for (_, _, info) in catalog() {
        assert!(all.contains(info.name));
    }
    assert!(refused("laplace(beta=1)").hint.contains("no parameters"));
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
    assert!(Choice::parse(&longest).is_ok());
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
    ];
    let mut words = Seeded::new(5);
    let mut good = 0;
    for _ in 0..100_000 {
        let text: String = (0..below(9, &mut words))
            .map(|_| pieces[below(pieces.len() as u64, &mut words) as usize])
            .collect();
        if let Ok(choice) = Choice::parse(&text) {
            good += 1;
            assert_eq!(Choice::parse(&choice.text()).as_ref(), Ok(&choice));
        }
        let value = f64::from_bits(words.word());
        let text = format!("hourglass(gamma={value:?})");
        match Choice::parse(&text) {
            Ok(choice) => {
                assert_eq!(choice.get("gamma").map(f64::to_bits), Some(value.to_bits()));
                assert_eq!(choice.text(), text);
            }
            Err(_) => assert!(!value.is_finite()),
        }
    }
    assert!(good > 100, "{good}");
}

fn arguments(lo: Option<f64>, hi: Option<f64>, epsilon: Option<f64>, text: &str) -> Arguments<'_> {
    Arguments {
        bounds: Some((lo, hi)),
        epsilon,
        mechanism: MechanismArgument::Given(Some(text)),
    }
}

#[test]
fn arguments_are_checked_in_a_fixed_order() {
    let blamed = |lo, hi, epsilon, text| {
        mechanism::MEAN
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
    let error = mechanism::MEAN.build(&null).err().unwrap();
    assert_eq!(
        (error.argument, error.message.as_str()),
        ("mech", "must not be NULL")
    );
    let unbounded = Arguments {
        bounds: None,
        ..arguments(one, two, one, "laplace")
    };
    assert_eq!(
        mechanism::MEAN.build(&unbounded).err().unwrap().argument,
        "lo"
    );
    assert_eq!(
        mechanism::SUM.build(&unbounded).err().unwrap().argument,
        "lo"
    );
}

#[test]
fn an_aggregate_takes_its_own_mechanisms_only() {
    let (one, two) = (Some(1.0), Some(2.0));
    let error = mechanism::SUM
        .build(&arguments(one, two, one, "hourglass"))
        .err()
        .unwrap();
    assert!(
        error.hint.contains("staircase") && !error.hint.contains("hourglass"),
        "{}",
        error.hint
    );
    assert!(
        mechanism::COUNT
            .build(&arguments(one, two, one, "laplace"))
            .is_err()
    );
    for (aggregate, _, info) in catalog() {
        let arguments = arguments(one, two, one, info.name);
        let built = match aggregate {
            "dp_mean" => mechanism::MEAN.build(&arguments).is_ok(),
            "dp_sum" => mechanism::SUM.build(&arguments).is_ok(),
            "dp_count" => mechanism::COUNT.build(&arguments).is_ok(),
            _ => false,
        };
        assert!(built, "{aggregate} {}", info.name);
    }
}

#[test]
fn the_catalog_is_complete() {
    let rows: Vec<_> = catalog().collect();
    for aggregate in ["dp_mean", "dp_sum", "dp_count"] {
        let of = rows.iter().filter(|row| row.0 == aggregate);
        assert_eq!(
            of.filter(|row| row.1).count(),
            1,
            "one default for {aggregate}"
        );
    }
    assert_eq!(rows.len(), 8);
    for (position, (aggregate, _, info)) in rows.iter().enumerate() {
        let texts = [info.name, info.guarantee, info.neighbours, info.source];
        assert!(texts.iter().all(|text| !text.is_empty()));
        assert!(
            info.parameters
                .iter()
                .all(|p| !p.domain.is_empty() && !p.description.is_empty())
        );
        assert!(info.name.bytes().all(|c| c.is_ascii_lowercase()));
        let twice = rows[..position]
            .iter()
            .any(|row| row.0 == *aggregate && row.2.name == info.name);
        assert!(!twice);
    }
}
