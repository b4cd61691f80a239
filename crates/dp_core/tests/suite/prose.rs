//! Pages and comments are easy to read: no words that slow a reader down, no long lines, a short README.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Files and folders that are read: their pages, and the comments of their sources.
const READ: [&str; 12] = [
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "demo",
    "proofs",
    "src",
    "crates/dp_core/src",
    "crates/dp_sealing/src",
    "tools",
];
/// Made from the catalog, by `make docs`.
const GENERATED: &str = "docs/reference.md";
/// Words for which there is a plainer one.
const SLOW: [&str; 10] = [
    "anew",
    "is told",
    "of which",
    "of whom",
    "so many",
    "stands for",
    "stands in",
    "the same of",
    "what comes out",
    "whoever",
];
const WIDTH: usize = 120;

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder");
        entries.for_each(|entry| collect(&entry.expect("an entry").path(), files));
    } else if path
        .extension()
        .is_some_and(|end| end == "md" || end == "rs")
    {
        files.push(path.to_owned());
    }
}

/// Each line of prose with its place: of a page, what is no code and no table; of a source, its comments.
fn prose() -> Vec<(String, String)> {
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    READ.iter()
        .for_each(|read| collect(&Path::new(ROOT).join(read), &mut files));
    for file in files.iter().filter(|file| !file.ends_with(GENERATED)) {
        let (text, mut code) = (fs::read_to_string(file).expect("a text"), false);
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}", file.display(), number + 1);
            let line = if file.extension().is_some_and(|end| end == "rs") {
                line.trim_start().strip_prefix("//").unwrap_or_default()
            } else {
                code ^= line.trim_start().starts_with("```");
                if code || line.starts_with("    ") {
                    ""
                } else {
                    line
                }
            };
            lines.push((place, line.to_owned()));
        }
    }
    lines
}

#[test]
fn no_page_has_marks_of_a_merge() {
    let mut files = Vec::new();
    READ.iter()
        .for_each(|read| collect(&Path::new(ROOT).join(read), &mut files));
    for file in files {
        let text = fs::read_to_string(&file).expect("a text");
        let is_mark = |line: &str| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>");
        assert!(!text.lines().any(is_mark), "{}", file.display());
    }
}

#[test]
fn no_word_slows_a_reader_down() {
    let (lines, mut found) = (prose(), Vec::new());
    // A phrase may go on in the next line of the file.
    for pair in lines.windows(2) {
        let next = pair[1].1.trim_start_matches(['/', '!', ' ']);
        let text = format!("{} {next}", pair[0].1).to_lowercase();
        let words = text.split(|c: char| c.is_whitespace() || ".,:;()".contains(c));
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        let text = format!(" {} ", words.join(" "));
        let slow = SLOW
            .iter()
            .filter(|slow| text.contains(&format!(" {slow} ")));
        found.extend(slow.map(|slow| format!("{}: {slow}", pair[0].0)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn lines_of_prose_are_not_wider_than_a_window() {
    // Tables and pictures are lines of any length.
    let may_be_long = |line: &str| ["|", "![", "<"].iter().any(|start| line.starts_with(start));
    let wide = prose()
        .into_iter()
        .filter(|(_, line)| line.chars().count() > WIDTH && !may_be_long(line));
    let wide: Vec<_> = wide.map(|(place, _)| place).collect();
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn the_readme_is_short() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("README.md");
    let lines = readme.lines().count();
    assert!(lines <= 120, "README.md has {lines} lines");
}
