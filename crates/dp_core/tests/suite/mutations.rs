//! The mutations of `tests/mutations` still fit the sources, so that `make mutations` can make each of them.

use std::fs;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The source that a patch changes, and for each hunk the lines that must be there.
fn hunks(patch: &str) -> (&str, Vec<String>) {
    let file = patch.lines().find_map(|line| line.strip_prefix("--- a/"));
    let mut hunks: Vec<String> = Vec::new();
    let body = patch.lines().skip_while(|line| !line.starts_with("@@"));
    for line in body {
        if line.starts_with("@@") {
            hunks.push("\n".to_owned());
        } else if !line.starts_with('+') {
            let hunk = hunks.last_mut().expect("the body begins with a hunk");
            hunk.push_str(line.get(1..).unwrap_or_default());
            hunk.push('\n');
        }
    }
    (file.expect("a source"), hunks)
}

#[test]
fn every_mutation_fits_its_source() {
    let folder = Path::new(ROOT).join("tests/mutations");
    let mut faults = Vec::new();
    for patch in fs::read_dir(folder).expect("the mutations") {
        let path = patch.expect("a mutation").path();
        let patch = fs::read_to_string(&path).expect("a mutation");
        let (file, hunks) = hunks(&patch);
        assert!(!hunks.is_empty(), "{}", path.display());
        let source = fs::read_to_string(Path::new(ROOT).join(file));
        let source = format!("\n{}", source.unwrap_or_default());
        if !hunks.iter().all(|hunk| source.contains(hunk)) {
            faults.push(format!("{}: {file} has changed", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
