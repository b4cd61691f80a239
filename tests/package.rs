//! What packages say of the extension: META.json, as PGXN's specification has it (https://pgxn.org/spec/), the spec file of
//! RPMs, and the one version that all of them name.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use dp_mean_tests::{Build, session};

use crate::documentation::repository;

/// A file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands behind a word that a line begins with.
fn behind<'a>(text: &'a str, word: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    line.unwrap_or_else(|| panic!("no line begins with {word:?}"))
        .trim_matches([' ', '=', '\'', '"'])
}

/// What META.json must be, each a condition on `m`.
const RULES: [(&str, &str); 18] = [
    (
        "the keys that must be there",
        "m ?& '{name,version,abstract,maintainer,license,provides,meta-spec}'",
    ),
    (
        "no key beside those of the specification",
        "m - '{name,version,abstract,maintainer,license,provides,meta-spec,description,generated_by,no_index,prereqs,\
         release_status,resources,tags}'::text[] = '{}'",
    ),
    ("a name", r"m ->> 'name' ~ '^[^/\\\s[:cntrl:]]{2,}$'"),
    (
        "a semantic version",
        r"m ->> 'version' ~ '^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-[0-9A-Za-z.-]+)?$'",
    ),
    (
        "a one-line abstract",
        r"length(m ->> 'abstract') BETWEEN 1 AND 120 AND m ->> 'abstract' !~ '\n'",
    ),
    ("a maintainer", "length(m ->> 'maintainer') > 0"),
    (
        "a licence of the list",
        "m ->> 'license' IN ('agpl_3', 'apache_2_0', 'artistic_2', 'bsd', 'gpl_2', 'gpl_3', 'lgpl_2_1', 'lgpl_3_0', \
         'mit', 'mozilla_2_0', 'open_source', 'perl_5', 'postgresql', 'restricted', 'unrestricted', 'unknown')",
    ),
    (
        "the version of the specification",
        "m #>> '{meta-spec,version}' = '1.0.0'",
    ),
    (
        "the extension",
        "(SELECT count(*) = 1 AND bool_and(key = m ->> 'name') FROM jsonb_object_keys(m -> 'provides') key)",
    ),
    (
        "its file and version",
        "m #>> '{provides,dp_mean,file}' = 'dp_mean.control' AND m #>> '{provides,dp_mean,version}' = m ->> 'version'",
    ),
    (
        "its abstract",
        "m #>> '{provides,dp_mean,abstract}' = m ->> 'abstract'",
    ),
    (
        "resources, each an object of addresses",
        "(m -> 'resources') - '{homepage,bugtracker,repository}'::text[] = '{}' \
          AND m #>> '{resources,homepage}' ~ '^https?://' AND m #>> '{resources,bugtracker,web}' ~ '^https?://' \
          AND (m #> '{resources,bugtracker}') - '{web,mailto}'::text[] = '{}'",
    ),
    (
        "a repository of a known kind",
        "m #>> '{resources,repository,url}' ~ '^(https?|git)://' AND m #>> '{resources,repository,type}' = 'git' \
         AND (m #> '{resources,repository}') - '{url,web,type}'::text[] = '{}'",
    ),
    (
        "a status",
        "m ->> 'release_status' IN ('stable', 'testing', 'unstable')",
    ),
    (
        "tags",
        "(SELECT count(*) > 0 AND bool_and(length(tag) BETWEEN 1 AND 256) FROM jsonb_array_elements_text(m -> 'tags') tag)",
    ),
    (
        "phases of the prerequisites",
        "(m -> 'prereqs') - '{configure,build,test,runtime,develop}'::text[] = '{}'",
    ),
    (
        "relations of the prerequisites",
        "(SELECT bool_and(relations - '{requires,recommends,suggests,conflicts}'::text[] = '{}') \
         FROM jsonb_each(m -> 'prereqs') phase (name, relations))",
    ),
    (
        "the oldest PostgreSQL",
        "m #>> '{prereqs,runtime,requires,PostgreSQL}' = '15.0.0'",
    ),
];

#[test]
fn meta_json_is_as_pgxn_says() {
    let (_database, mut client) = session(Build::Release);
    let meta = read("META.json");
    for (what, rule) in RULES {
        let sql =
            format!("SELECT coalesce({rule}, false) FROM (SELECT $1::text::jsonb) AS meta (m)");
        let holds: bool = client.query_one(&sql, &[&meta]).expect(what).get(0);
        assert!(holds, "META.json: {what}");
        // The rule is one: nothing holds of an empty object but what forbids.
        if what != "no key beside those of the specification" {
            let holds: bool = client.query_one(&sql, &[&"{}"]).expect(what).get(0);
            assert!(!holds, "{what}: a rule that cannot fail");
        }
    }
    let sql = "SELECT m #>> '{provides,dp_mean,docfile}' FROM (SELECT $1::text::jsonb) AS meta (m)";
    let docfile: String = client.query_one(sql, &[&meta]).expect("a file").get(0);
    assert!(repository().join(&docfile).exists(), "no {docfile}");
}

/// The crates that are linked in, as cargo knows them, by name and version.
fn linked() -> BTreeSet<String> {
    let mut crates = BTreeSet::new();
    for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        let tree = Command::new(env!("CARGO"))
            .current_dir(repository())
            .args(["tree", "--locked", "--offline", "--package", "dp_mean"])
            .args(["--edges", "normal,no-proc-macro", "--target", target])
            .args(["--prefix", "none", "--format", "{p}"])
            .output()
            .expect("cargo tree");
        assert!(tree.status.success(), "{tree:?}");
        for line in String::from_utf8_lossy(&tree.stdout).lines() {
            let line = line.trim_end_matches(" (*)");
            // Those of this repository have a path behind.
            if let Some((name, version)) = line.split_once(" v")
                && !version.contains('(')
            {
                crates.insert(format!("{name} {version}"));
            }
        }
    }
    crates
}

/// The licences of others that go with a package are those of the crates in it: `scripts/licenses` writes them.
#[test]
fn the_licences_are_of_the_crates_that_are_linked_in() {
    let file = read("packaging/third-party-licenses.txt");
    let (of_crates, of_rust) = file
        .split_once("\n# Rust's standard library\n")
        .expect("Rust's own part");
    assert!(of_rust.contains("The Rust Project Developers"));
    let mut named = BTreeSet::new();
    for line in of_crates.lines() {
        // NAME VERSION: LICENCE, ADDRESS
        if let Some((of, licence)) = line.split_once(": ")
            && licence.contains(", https://")
        {
            named.insert(of.to_owned());
        }
    }
    let linked = linked();
    assert!(linked.len() > 40, "{linked:?}");
    assert_eq!(named, linked, "run scripts/licenses");
    // Each has a text below, and a package says them all.
    for of in &named {
        let text = format!("\n{of}, ");
        assert!(of_crates.contains(&text), "no text of {of}");
    }
    let together = behind(&file, "License: ");
    assert_eq!(
        behind(&read("packaging/rpm/dp_mean.spec"), "License:"),
        together
    );
    for (package, takes) in [
        ("scripts/package", "packaging/third-party-licenses.txt"),
        (
            "packaging/rpm/dp_mean.spec",
            "%license LICENSE packaging/third-party-licenses.txt",
        ),
        (
            "packaging/docker/Dockerfile",
            "/dp_mean/packaging/third-party-licenses.txt",
        ),
    ] {
        assert!(read(package).contains(takes), "{package}: no {takes}");
    }
}

/// What only a maintainer knows is in one file, and the others say the same: `make project` writes them.
#[test]
fn the_addresses_of_the_project_are_of_one_file() {
    let of_project = read("packaging/project");
    let value = |name: &str| behind(&of_project, &format!("{name}=")).to_owned();
    let (repository, reports, maintainer) =
        (value("REPOSITORY"), value("REPORTS"), value("MAINTAINER"));
    let meta = read("META.json");
    for (page, says) in [
        ("Cargo.toml", format!("\nrepository = \"{repository}\"\n")),
        ("SECURITY.md", format!("\n    {reports}\n")),
        ("packaging/rpm/dp_mean.spec", format!(" {repository}\n")),
        ("packaging/rpm/dp_mean.spec", format!(" {maintainer} - ")),
        ("META.json", format!("\"maintainer\": \"{maintainer}\"")),
        ("META.json", format!("\"web\": \"{repository}/issues\"")),
        ("META.json", format!("\"url\": \"{repository}.git\"")),
    ] {
        assert!(
            read(page).contains(&says),
            "{page}: no {says:?}; run: make project"
        );
    }
    // And no other address of it, as of a repository that was moved.
    assert_eq!(
        meta.matches("://").count(),
        meta.matches(&repository).count() + 1,
        "{meta}"
    );
}

/// What a script builds is what `Cargo.lock` says, and what it leaves is in the folder for temporary files that it is given.
#[test]
fn scripts_build_what_is_locked_and_tests_keep_to_their_folder() {
    let mut builds = 0;
    for entry in fs::read_dir(repository().join("scripts")).expect("the scripts") {
        let path = entry.expect("a script").path();
        if path.extension().is_some_and(|ending| ending != "sh") {
            continue;
        }
        let script = fs::read_to_string(&path).expect("a script");
        for line in script
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
        {
            for verb in ["build", "test", "bench", "clippy", "install", "fetch"] {
                let Some((_, rest)) = line.split_once(&format!("cargo {verb} ")) else {
                    continue;
                };
                builds += 1;
                assert!(rest.contains("--locked"), "{path:?}: {line}");
            }
        }
    }
    assert!(builds > 15, "{builds}");
    let own = ["\"", "tmp"].join("/");
    for entry in fs::read_dir(repository().join("tests")).expect("the tests") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            let test = fs::read_to_string(&path).expect("a test");
            assert!(
                !test.contains(&own),
                "{path:?} has a folder of its own for temporary files"
            );
        }
    }
}

/// What scripts take from PyPI is named with its hashes, which pip asks for: `scripts/pin` writes them.
#[test]
fn what_comes_from_pypi_has_hashes() {
    let mut packages = 0;
    for folder in [
        "scripts",
        "bench",
        "bench/peers",
        "bench/tpch",
        "tests/drivers",
    ] {
        for entry in fs::read_dir(repository().join(folder)).expect("a folder") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|ending| ending != "txt") {
                continue;
            }
            let file = fs::read_to_string(&path).expect("a list");
            for line in file.lines().filter(|line| line.contains("==")) {
                packages += 1;
                assert!(
                    line.contains(" --hash=sha256:"),
                    "scripts/pin {path:?}: {line}"
                );
            }
        }
    }
    assert!(packages > 250, "{packages}");
}

#[test]
fn all_packages_name_one_version() {
    let (_database, mut client) = session(Build::Release);
    let version: String = client
        .query_one("SELECT dp_version()", &[])
        .expect("a version")
        .get(0);
    assert_eq!(behind(&read("Cargo.toml"), "version"), version);
    assert_eq!(behind(&read("dp_mean.control"), "default_version"), version);
    let spec = read("packaging/rpm/dp_mean.spec");
    assert_eq!(behind(&spec, "Version:"), version);
    let sql = "SELECT $1::text::jsonb ->> 'version'";
    let meta: String = client
        .query_one(sql, &[&read("META.json")])
        .expect("a version")
        .get(0);
    assert_eq!(meta, version);
    // Rust and PostgreSQL, where a package names what it is built with.
    let rust = read("Cargo.toml");
    let rust = behind(&rust, "rust-version");
    assert_eq!(behind(&spec, "BuildRequires:  rust >="), rust);
    let image = format!("FROM rust:{rust}-");
    assert!(
        read("packaging/docker/Dockerfile").contains(&image),
        "no {image}"
    );
}
