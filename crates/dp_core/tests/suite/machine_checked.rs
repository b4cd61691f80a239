//! The models of `proofs/` against the code: the vectors that Coq has computed there, computed here.
//!
//! A vector is what comes after a mark in a `.v` file. Coq checks it against the model, in a theorem
//! `vectors_agree`, as `make prove` does; these tests check the same text against the code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dp_core::encoding::contribution::PersonRows;
use dp_core::privacy::epsilon::Epsilon;
use dp_core::privacy::spending::{Accounting, HALF, Limit, Spent, UNBOUNDED};
use dp_core::random::Generator;
use dp_core::sampler::staircase::Staircase;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const MARK: &str = "(* vector *)";

/// What Coq's notation of tuples and lists says.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(i128),
    Truth(bool),
    Tuple(Vec<Value>),
    List(Vec<Value>),
}

impl Value {
    fn number(&self) -> i128 {
        match self {
            Self::Number(number) => *number,
            other => panic!("no number: {other:?}"),
        }
    }

    fn truth(&self) -> bool {
        match self {
            Self::Truth(truth) => *truth,
            other => panic!("no boolean: {other:?}"),
        }
    }

    fn parts(&self) -> &[Self] {
        match self {
            Self::Tuple(parts) | Self::List(parts) => parts,
            other => panic!("no parts: {other:?}"),
        }
    }

    fn numbers(&self) -> Vec<i128> {
        self.parts().iter().map(Self::number).collect()
    }
}

/// Reads a value, and hands back what comes after it.
fn value(text: &str) -> (Value, &str) {
    let text = text.trim_start();
    for (open, separator, close) in [('(', ',', ')'), ('[', ';', ']')] {
        let Some(mut rest) = text.strip_prefix(open) else {
            continue;
        };
        let mut parts = Vec::new();
        loop {
            let (part, after) = value(rest);
            parts.push(part);
            let after = after.trim_start();
            if let Some(after) = after.strip_prefix(close) {
                let found = match open {
                    '(' => Value::Tuple(parts),
                    _ => Value::List(parts),
                };
                return (found, after);
            }
            rest = after
                .strip_prefix(separator)
                .unwrap_or_else(|| panic!("neither {separator} nor {close}: {after}"));
        }
    }
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let found = match word {
        "true" => Value::Truth(true),
        "false" => Value::Truth(false),
        "inf" => Value::Number(UNBOUNDED.into()),
        number => Value::Number(
            number
                .parse()
                .unwrap_or_else(|_| panic!("no value: {text}")),
        ),
    };
    (found, rest)
}

fn read(path: &str) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The vectors of a file, which Coq has to have checked.
fn vectors(file: &str) -> Vec<Value> {
    let text = read(&format!("proofs/{file}"));
    assert!(
        text.contains("\nExample vectors_agree : forallb agrees vectors = true.\n"),
        "{file}: Coq does not check the vectors"
    );
    let found: Vec<_> = text.split(MARK).skip(1).map(|text| value(text).0).collect();
    assert!(found.len() > 3, "{file}: {} vectors", found.len());
    found
}

#[test]
fn contributions_are_those_of_the_model() {
    for vector in vectors("Contribution.v") {
        let [k, steps, rows, expected] = vector.parts() else {
            panic!("not four parts: {vector:?}");
        };
        let mut person = PersonRows::default();
        for t in rows.numbers() {
            person.add(t as u64);
        }
        let given = person
            .contribution_of_steps(k.number() as u32, steps.number() as u64)
            .expect("rows");
        let found = [
            i128::from(given.rows()),
            i128::from(given.sum()),
            given.sum_of_squares() as i128,
        ];
        assert_eq!(expected.numbers(), found, "{vector:?}");
    }
}

fn spent(value: &Value) -> Spent {
    let [epsilon, rho, delta] = value.numbers()[..] else {
        panic!("not three numbers: {value:?}");
    };
    Spent {
        epsilon: epsilon as i64,
        rho: rho as i64,
        delta: delta as i64,
    }
}

#[test]
fn budgets_allow_what_the_model_allows() {
    for vector in vectors("Budget.v") {
        let [limit, asked, verdicts, expected] = vector.parts() else {
            panic!("not four parts: {vector:?}");
        };
        let most = spent(limit);
        let limit = Limit {
            epsilon: most.epsilon,
            rho: most.rho,
            delta: most.delta,
            ..Limit::new(1.0, 1e-6, Accounting::Gaussian, HALF).expect("a limit")
        };
        let mut total = Spent::default();
        let mut found = Vec::new();
        for charge in asked.parts() {
            let next = total.plus(&spent(charge));
            let is_allowed = limit.allows(&next);
            if is_allowed {
                total = next;
            }
            found.push(is_allowed);
        }
        let verdicts: Vec<_> = verdicts.parts().iter().map(Value::truth).collect();
        assert_eq!(verdicts, found, "{vector:?}");
        assert_eq!(spent(expected), total, "{vector:?}");
    }
}

/// Each level that is drawn is the model's, and each value is drawn.
#[test]
fn stairs_have_the_levels_of_the_model() {
    let mut random = Generator::from_seed(60);
    let epsilon = Epsilon::new(Some(0.25)).expect("an epsilon");
    for vector in vectors("Noise.v") {
        let [steps, core, levels] = vector.parts() else {
            panic!("not three parts: {vector:?}");
        };
        let levels: BTreeMap<i128, i128> = (-12..).zip(levels.numbers()).collect();
        let sampler = Staircase::new(steps.number() as u64, core.number() as u64, epsilon);
        let mut missing = levels.clone();
        for _ in 0..20_000 {
            let stair = sampler.draw(&mut random);
            if let Some(level) = levels.get(&stair.value) {
                assert_eq!(*level, stair.level, "{} of {vector:?}", stair.value);
                missing.remove(&stair.value);
            }
        }
        assert!(missing.is_empty(), "never drawn: {missing:?}");
    }
}

/// The paths with a slash in a text that end with `.rs` or `.v`, each with the name that may follow it.
fn named(text: &str) -> Vec<(String, Option<String>)> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || "/_.:".contains(c)));
    let words = words.map(|word| word.trim_end_matches(['.', ':']));
    let split = words.map(|word| match word.split_once("::") {
        Some((path, name)) => (path.to_owned(), Some(name.to_owned())),
        None => (word.to_owned(), None),
    });
    split
        .filter(|(path, _)| path.contains('/') && (path.ends_with(".rs") || path.ends_with(".v")))
        .collect()
}

/// Each file names the code that it models and the tests that tie it to that code, and these are there.
#[test]
fn every_model_names_its_code_and_its_tests() {
    let index = read("proofs/README.md");
    let folder = fs::read_dir(Path::new(ROOT).join("proofs")).expect("a folder");
    let files = folder.map(|entry| entry.expect("an entry").file_name());
    let files = files.map(|name| name.to_str().expect("a name").to_owned());
    let files: Vec<_> = files.filter(|name| name.ends_with(".v")).collect();
    assert!(files.len() > 4, "{files:?}");
    for link in index.split("](").skip(1) {
        let (target, _) = link.split_once(')').expect("a closed link");
        let is_there = Path::new(ROOT).join("proofs").join(target).exists();
        assert!(target.starts_with("https://") || is_there, "no {target}");
    }
    for file in files {
        let text = read(&format!("proofs/{file}"));
        assert!(
            index.contains(&format!("({file})")),
            "{file} is not in the index"
        );
        let (head, _) = text.split_once("*)").expect("a comment");
        for part in ["Proven. ", "Model of: ", "Tied to the code by: "] {
            assert!(head.contains(part), "{file}: no {part:?}");
        }
        let mut tests = 0;
        for (path, name) in named(head).iter().chain(&named(&index)) {
            let code = read(path);
            if let Some(name) = name {
                assert!(code.contains(&format!("fn {name}(")), "{path}: no {name}");
            }
            tests += usize::from(path.contains("tests/"));
        }
        assert!(tests > 0, "{file} names no test");
    }
}

/// The notation is read as Coq reads it.
#[test]
fn vectors_are_read() {
    let numbers = |list: &[i128]| list.iter().map(|n| Value::Number(*n)).collect();
    let (found, rest) = value(" (1, [-2; 30], (true, inf)); (* next *)");
    let expected = Value::Tuple(vec![
        Value::Number(1),
        Value::List(numbers(&[-2, 30])),
        Value::Tuple(vec![
            Value::Truth(true),
            Value::Number(i128::from(i64::MAX)),
        ]),
    ]);
    assert_eq!(found, expected);
    assert_eq!(rest, "; (* next *)");
    let found = named("(a/b.rs::c_d), x.rs and tests/e.rs. or f/G.v: [h/i.txt]");
    let expected = [
        ("a/b.rs", Some("c_d")),
        ("tests/e.rs", None),
        ("f/G.v", None),
    ];
    let expected = expected.map(|(path, name)| (path.to_owned(), name.map(str::to_owned)));
    assert_eq!(found, expected);
}
