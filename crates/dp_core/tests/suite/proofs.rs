//! Every mechanism has a page with its proof, the page has its parts, the source names the page, and
//! the tests that a page rests on exist. So do those that pages for reviewers name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dp_core::registry::catalog;

/// Pages for reviewers, which name tests too.
const CROSSWALKS: [&str; 2] = ["nist-800-226.md", "w3c-review.md"];
/// The parts of a mechanism's page, in this order.
const HEADINGS: [&str; 6] = [
    "Query",
    "Sensitivity space",
    "Noise",
    "Why the ratio is bounded",
    "Post-processing",
    "Tests",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The files of a folder and of those in it.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let within = |path: PathBuf| match path.is_dir() {
        true => all_files(&path),
        false => vec![path],
    };
    files(folder).into_iter().flat_map(within).collect()
}

/// The mechanisms' sources, from the root of the repository, by the names of their pages.
fn sources() -> BTreeMap<String, String> {
    let from = repository().join("crates/dp_core/src/mechanism");
    let mut sources = BTreeMap::new();
    for path in all_files(&from) {
        if !read(&path).contains("ENTRY: Entry") {
            continue;
        }
        let inside = path.strip_prefix(&from).unwrap().to_str().unwrap();
        let (aggregate, _) = inside.split_once('/').unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let page = format!("{aggregate}-{}.md", name.replace('_', "-"));
        sources.insert(page, format!("crates/dp_core/src/mechanism/{inside}"));
    }
    sources
}

fn pages() -> BTreeMap<String, String> {
    let paths = files(&repository().join("docs/proofs")).into_iter();
    let named = paths.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    named.map(|(name, path)| (name, read(&path))).collect()
}

/// The headings of the second rank, each with its text.
fn parts(page: &str) -> Vec<(&str, String)> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            parts.push((heading, String::new()));
        } else if let Some((_, text)) = parts.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    parts
}

/// The tests that a text names, as `path/file.rs::function` between backticks.
fn named_tests(text: &str) -> Vec<(&str, &str)> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.filter_map(|span| span.split_once(".rs::")).collect()
}

/// Whether a source has a test of this name.
fn has_test(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let function = format!("fn {name}() {{");
    lines
        .windows(2)
        .any(|pair| pair == ["#[test]", function.as_str()])
}

#[test]
fn every_mechanism_has_a_page_and_names_it() {
    let (sources, pages) = (sources(), pages());
    assert!(sources.len() > 25, "{}", sources.len());
    for (page, source) in &sources {
        let text = pages
            .get(page)
            .unwrap_or_else(|| panic!("docs/proofs/{page} is missing"));
        let headings: Vec<_> = parts(text)
            .into_iter()
            .map(|(heading, _)| heading)
            .collect();
        assert_eq!(headings, HEADINGS, "docs/proofs/{page}");
        for (heading, text) in parts(text) {
            assert!(
                text.trim().len() > 30,
                "docs/proofs/{page}, {heading}: it says nothing"
            );
        }
        assert!(
            text.contains(&format!("(../../{source})")),
            "{page} does not link {source}"
        );
        let code = read(&repository().join(source));
        assert!(
            code.contains(&format!("docs/proofs/{page}.")),
            "{source} does not name {page}"
        );
    }
}

#[test]
fn the_tests_that_pages_name_exist() {
    let (sources, mut known) = (sources(), BTreeMap::new());
    for (page, text) in &pages() {
        for (file, name) in named_tests(text) {
            let code = known
                .entry(file.to_owned())
                .or_insert_with(|| read(&repository().join(format!("{file}.rs"))));
            assert!(
                has_test(code, name),
                "docs/proofs/{page}: {file}.rs has no test {name}"
            );
        }
        if sources.contains_key(page) {
            let (_, tests) = parts(text).pop().unwrap_or_default();
            // Of the distribution or of the samplers, and of the result of the server.
            let named = named_tests(&tests);
            for folder in ["crates/dp_core/", "tests/"] {
                let some = named.iter().any(|(file, _)| file.starts_with(folder));
                assert!(some, "docs/proofs/{page} names no test in {folder}");
            }
        }
    }
}

#[test]
fn the_tests_that_crosswalks_name_exist() {
    for page in CROSSWALKS {
        let text = read(&repository().join("docs").join(page));
        let named = named_tests(&text);
        assert!(named.len() > 10, "docs/{page} names {} tests", named.len());
        for (file, name) in named {
            let code = read(&repository().join(format!("{file}.rs")));
            assert!(
                has_test(&code, name),
                "docs/{page}: {file}.rs has no test {name}"
            );
        }
    }
}

#[test]
fn the_index_lists_what_the_registries_hold() {
    let pages = pages();
    let index = pages.get("README.md").expect("an index");
    let (mut rows, mut used) = (index.lines(), Vec::new());
    for (aggregate, _, info) in catalog() {
        let [name, guarantee, neighbours] = [info.name, info.guarantee, info.neighbours];
        let start = format!("| `{aggregate}` | `{name}` | {guarantee} | {neighbours} | ");
        let row = rows.find(|row| row.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row, or not in this order: {start}"));
        let found = sources().into_iter().find(|(page, source)| {
            row.ends_with(&format!("| [{page}]({page}) | [source](../../{source}) |"))
        });
        let (page, source) = found.unwrap_or_else(|| panic!("no page and source: {row}"));
        // Gaussian mechanisms have their name from one place, and those that find their bounds.
        let code = read(&repository().join(source));
        let named = code.contains(&format!("name: {name:?}"));
        let elsewhere = match name {
            "gaussian" => code.contains("gaussian::info("),
            "auto" => code.contains("release::info("),
            _ => false,
        };
        assert!(named || elsewhere, "{row}");
        used.push(page);
    }
    for page in sources().keys() {
        assert!(used.contains(page), "{page} is in no registry");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let folder = repository().join("docs/proofs");
    for (page, text) in &pages() {
        for link in text.split("](").skip(1) {
            let (target, _) = link.split_once(')').expect("a closed link");
            let file = target.split('#').next().unwrap_or_default();
            let is_there = file.is_empty() || folder.join(file).exists();
            assert!(
                target.starts_with("https://") || is_there,
                "{page}: {target}"
            );
        }
    }
}

/// The checks must be able to fail.
#[test]
fn what_is_missing_is_noticed() {
    let page = "# A\n\n## Query\n\nQ\n\n## Tests\n\n- `crates/x.rs::real`\n- `y.rs::other`: `z`\n";
    let found = parts(page);
    assert_eq!(
        found
            .iter()
            .map(|(heading, _)| *heading)
            .collect::<Vec<_>>(),
        ["Query", "Tests"]
    );
    assert_eq!(
        named_tests(&found[1].1),
        [("crates/x", "real"), ("y", "other")]
    );
    let code = "#[test]\nfn real() {\n}\nfn helper() {\n}\n// #[test]\nfn other() {\n}\n";
    assert!(has_test(code, "real"));
    for name in ["helper", "other", "rea", "gone"] {
        assert!(!has_test(code, name), "{name}");
    }
}
