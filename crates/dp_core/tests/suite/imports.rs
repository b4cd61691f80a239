//! No file imports another in a circle, neither in the extension's `src` nor here, and the extension's folders
//! import in one direction. So each file can be read, and be reasoned about, with the files below it alone.
//!
//! An import is a `use`, or a path in the code, that leads to another file. A mere `mod x;` is none: a parent
//! says what there is. Code for tests alone (`#[cfg(test)]`) does not count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the extension, and its folders from the bottom up: each imports from those before it alone.
/// Folders in one line import nothing from one another; what is in no folder may import all.
const EXTENSION: &str = "../../src";
const ORDER: [&[&str]; 8] = [
    &["pg"],
    &["citus"],
    &["plan"],
    &["ledger", "state", "types"],
    &["safe_functions", "store"],
    &["call"],
    &["aggregates", "functions"],
    &["gate"],
];

/// The sources of this crate.
const CORE: &str = "src";

/// Sources, by their paths below the root.
type Sources = BTreeMap<String, String>;
/// For each file the files that it imports from.
type Imports = BTreeMap<String, BTreeSet<String>>;

// Reading -------------------------------------------------------------------------------------------------

fn collect(root: &Path, folder: &Path, sources: &mut Sources) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            collect(root, &path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path.strip_prefix(root).expect("below the root");
            let text = fs::read_to_string(&path).expect("a source");
            sources.insert(name.to_str().expect("a name").replace('\\', "/"), text);
        }
    }
}

fn sources(root: &str) -> Sources {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
    let mut sources = Sources::new();
    collect(&root, &root, &mut sources);
    sources
}

/// The words and marks of a source, without comments and literals. `::` is one mark.
fn tokens(text: &str) -> Vec<String> {
    let text: Vec<char> = text.chars().collect();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let at = |i: usize| text.get(i).copied().unwrap_or('\0');
    let (mut tokens, mut i) = (Vec::new(), 0);
    while i < text.len() {
        let hashes = |from: usize| (from..).take_while(|j| at(*j) == '#').count();
        let raw = (at(i) == 'r' || at(i) == 'b' && at(i + 1) == 'r')
            .then(|| i + 1 + usize::from(at(i) == 'b'))
            .filter(|from| at(from + hashes(*from)) == '"');
        if at(i) == '/' && at(i + 1) == '/' {
            while i < text.len() && at(i) != '\n' {
                i += 1;
            }
        } else if at(i) == '/' && at(i + 1) == '*' {
            let mut depth = 1;
            i += 2;
            while i < text.len() && depth > 0 {
                match (at(i), at(i + 1)) {
                    ('/', '*') => (depth, i) = (depth + 1, i + 2),
                    ('*', '/') => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
            }
        } else if let Some(from) = raw {
            let hashes = hashes(from);
            i = from + hashes + 1;
            while i < text.len()
                && !(at(i) == '"' && (1..=hashes).all(|further| at(i + further) == '#'))
            {
                i += 1;
            }
            i += 1 + hashes;
        } else if at(i) == '"' {
            i += 1;
            while i < text.len() && at(i) != '"' {
                i += 1 + usize::from(at(i) == '\\');
            }
            i += 1;
        } else if at(i) == '\'' {
            // A lifetime is a word behind its mark; a character has an end.
            if at(i + 1) == '\\' {
                i += 3;
                while i < text.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            } else if at(i + 2) == '\'' {
                i += 3;
            } else {
                i += 1;
                while is_word(at(i)) {
                    i += 1;
                }
            }
        } else if is_word(at(i)) {
            let start = i;
            while is_word(at(i)) {
                i += 1;
            }
            tokens.push(text[start..i].iter().collect());
        } else if at(i) == ':' && at(i + 1) == ':' {
            tokens.push("::".to_owned());
            i += 2;
        } else {
            if !at(i).is_whitespace() {
                tokens.push(at(i).to_string());
            }
            i += 1;
        }
    }
    tokens
}

/// Where what begins with a `{` at `from` ends, behind its `}`.
fn behind_block(tokens: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(from) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// The same without what is for tests alone.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut left, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        if tokens[i..].starts_with(&TEST.map(str::to_owned)) {
            let ends = |j: &usize| matches!(tokens[*j].as_str(), ";" | "{");
            i = match (i..tokens.len()).find(ends) {
                Some(j) if tokens[j] == "{" => behind_block(tokens, j),
                Some(j) => j + 1,
                None => tokens.len(),
            };
        } else {
            left.push(tokens[i].clone());
            i += 1;
        }
    }
    left
}

type ModulePath = Vec<String>;

/// The paths of a `use` from its first word to its `;`, each with the name that it has afterwards.
fn use_paths(tokens: &[String], i: &mut usize, before: &[String]) -> Vec<(ModulePath, String)> {
    let mut path = before.to_vec();
    loop {
        let token = tokens.get(*i).map_or(";", String::as_str);
        match token {
            "::" => *i += 1,
            "{" => {
                *i += 1;
                let mut paths = Vec::new();
                while tokens
                    .get(*i)
                    .is_some_and(|token| token != "}" && token != ";")
                {
                    paths.extend(use_paths(tokens, i, &path));
                    *i += usize::from(tokens.get(*i).is_some_and(|token| token == ","));
                }
                *i += 1;
                return paths;
            }
            ";" | "," | "}" | "as" => break,
            _ => {
                if token != "*" && (token != "self" || path.is_empty()) {
                    path.push(token.to_owned());
                }
                *i += 1;
            }
        }
    }
    let mut name = path.last().cloned().unwrap_or_default();
    if tokens.get(*i).is_some_and(|token| token == "as") {
        name.clone_from(&tokens[*i + 1]);
        *i += 2;
    }
    vec![(path, name)]
}

/// The module that a file is.
fn module(file: &str) -> ModulePath {
    let name = file.strip_suffix(".rs").expect("a source");
    let name = name.strip_suffix("/mod").unwrap_or(name);
    match name {
        "lib" => Vec::new(),
        _ => name.split('/').map(str::to_owned).collect(),
    }
}

/// The modules that are files.
struct Modules<'a>(BTreeMap<ModulePath, &'a str>);

impl Modules<'_> {
    /// The whole path of what the module `here` calls `path`; `None` for what is not of this crate.
    fn resolve(
        &self,
        here: &[String],
        names: &BTreeMap<String, ModulePath>,
        path: &[String],
    ) -> Option<ModulePath> {
        let (first, mut rest) = path.split_first()?;
        let mut whole = here.to_vec();
        match first.as_str() {
            "crate" => whole.clear(),
            "self" => {}
            "super" => {
                whole.pop();
                while rest.first().is_some_and(|next| next == "super") {
                    whole.pop();
                    rest = &rest[1..];
                }
            }
            _ => {
                whole.push(first.clone());
                if !self.0.contains_key(&whole) {
                    whole.clone_from(names.get(first)?);
                }
            }
        }
        whole.extend_from_slice(rest);
        Some(whole)
    }

    /// The file that defines what a whole path names.
    fn file(&self, path: &[String]) -> Option<&str> {
        let prefixes = (0..=path.len()).rev();
        prefixes
            .filter_map(|n| self.0.get(&path[..n]))
            .next()
            .copied()
    }
}

/// The whole paths that a file names.
fn named_paths(file: &str, text: &str, modules: &Modules) -> Vec<ModulePath> {
    let tokens = without_tests(&tokens(text));
    let token = |i: usize| tokens.get(i).map_or("", String::as_str);
    let is_word = |i: usize| {
        let first = token(i).chars().next();
        first.is_some_and(|c| c.is_alphabetic() || c == '_')
    };
    let (mut here, mut names, mut found) = (module(file), BTreeMap::new(), Vec::new());
    // At what depth of braces the modules within the file began.
    let (mut depth, mut within) = (0, Vec::new());
    let mut i = 0;
    while i < tokens.len() {
        match token(i) {
            "mod" if token(i + 2) == "{" => {
                here.push(token(i + 1).to_owned());
                within.push(depth);
                i += 2;
            }
            "{" => (depth, i) = (depth + 1, i + 1),
            "}" => {
                (depth, i) = (depth - 1, i + 1);
                if within.last() == Some(&depth) {
                    within.pop();
                    here.pop();
                }
            }
            // `use<..>` of a type imports nothing.
            "use" if token(i + 1) != "<" => {
                i += 1;
                for (path, name) in use_paths(&tokens, &mut i, &[]) {
                    let whole = modules.resolve(&here, &names, &path);
                    if let Some(whole) = whole {
                        found.push(whole.clone());
                        names.insert(name, whole);
                    }
                }
            }
            // `pub(in path)` imports nothing.
            "pub" if token(i + 1) == "(" && token(i + 2) == "in" => i += 4,
            _ if is_word(i) && token(i + 1) == "::" && (i == 0 || token(i - 1) != "::") => {
                let mut path = vec![token(i).to_owned()];
                i += 1;
                while token(i) == "::" && is_word(i + 1) {
                    path.push(token(i + 1).to_owned());
                    i += 2;
                }
                found.extend(modules.resolve(&here, &names, &path));
            }
            _ => i += 1,
        }
    }
    found
}

fn imports(sources: &Sources) -> Imports {
    let modules = sources.keys().map(|file| (module(file), file.as_str()));
    let modules = Modules(modules.collect());
    let imported = |(file, text): (&String, &String)| {
        let paths = named_paths(file, text, &modules);
        let files = paths.iter().filter_map(|path| modules.file(path));
        let others = files.filter(|other| other != file).map(str::to_owned);
        (file.clone(), others.collect())
    };
    sources.iter().map(imported).collect()
}

// Judging -------------------------------------------------------------------------------------------------

/// The shortest way from a file over its imports back to it.
fn circle(imports: &Imports, start: &str) -> Option<Vec<String>> {
    let mut ways = VecDeque::from([vec![start.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in imports.get(way.last()?).into_iter().flatten() {
            let further = || way.iter().cloned().chain([next.clone()]).collect();
            if next == start {
                return Some(further());
            }
            if seen.insert(next) {
                ways.push_back(further());
            }
        }
    }
    None
}

/// For each file that is in a circle its shortest one, none twice, from its first file on.
fn circles(imports: &Imports) -> BTreeSet<String> {
    let found = imports.keys().filter_map(|file| circle(imports, file));
    let from_the_first = |mut way: Vec<String>| {
        way.pop();
        let first = (0..way.len()).min_by_key(|i| way[*i].clone()).unwrap_or(0);
        way.rotate_left(first);
        way.push(way[0].clone());
        way.join(" -> ")
    };
    found.map(from_the_first).collect()
}

fn folder(file: &str) -> Option<&str> {
    file.split_once('/').map(|(folder, _)| folder)
}

/// The imports that go against the order of the folders.
fn against_the_order(imports: &Imports, order: &[&[&str]]) -> Vec<String> {
    let rank = |folder: &str| order.iter().position(|level| level.contains(&folder));
    let mut found = Vec::new();
    for (file, others) in imports {
        for other in others {
            let (Some(from), to) = (folder(file), folder(other)) else {
                continue;
            };
            let downwards = to.is_some_and(|to| from == to || rank(to) < rank(from));
            if !downwards {
                found.push(format!("{file} -> {other}"));
            }
        }
    }
    found
}

#[test]
fn no_file_of_the_extension_imports_itself_through_others() {
    let imports = imports(&sources(EXTENSION));
    let count: usize = imports.values().map(BTreeSet::len).sum();
    assert!(imports.len() > 30 && count > 100, "{imports:?}");
    let circles = Vec::from_iter(circles(&imports));
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n"));
}

#[test]
fn the_folders_of_the_extension_import_in_one_direction() {
    let imports = imports(&sources(EXTENSION));
    let folders: BTreeSet<_> = imports.keys().filter_map(|file| folder(file)).collect();
    let ordered = ORDER.concat().into_iter().collect();
    assert_eq!(folders, ordered, "a folder without a place in the order");
    let found = against_the_order(&imports, &ORDER);
    assert!(found.is_empty(), "against the order:\n{}", found.join("\n"));
}

#[test]
fn no_file_of_the_mathematics_imports_itself_through_others() {
    let imports = imports(&sources(CORE));
    let count: usize = imports.values().map(BTreeSet::len).sum();
    assert!(imports.len() > 50 && count > 100, "{imports:?}");
    let circles = Vec::from_iter(circles(&imports));
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n"));
}

// The checks must be able to fail ---------------------------------------------------------------------------

fn made_up(files: &[(&str, &str)]) -> Imports {
    let files = files.iter();
    imports(
        &files
            .map(|(file, text)| ((*file).into(), (*text).into()))
            .collect(),
    )
}

#[test]
fn a_circle_is_found_and_printed() {
    let imports = made_up(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::{self, Thing};"),
        ("b/mod.rs", "mod inner;\n pub fn f() { crate::c::g() }"),
        (
            "b/inner.rs",
            "fn h() { super::f(); super::super::d::nothing() }",
        ),
        ("c.rs", "use std::fmt; use crate::{b::inner, d};"),
        ("d.rs", ""),
    ]);
    let found = Vec::from_iter(circles(&imports));
    assert_eq!(found, ["b/inner.rs -> b/mod.rs -> c.rs -> b/inner.rs"]);
}

#[test]
fn every_way_to_name_a_file_is_read() {
    let imports_b = [
        "use crate::b::Thing;",
        "use crate::{c::Other, b};",
        "use {crate::c, crate::b::{self as other, Thing}};",
        "pub use super::b::*;",
        "use crate as root; fn f() { root::b::g() }",
        "use crate::b as other;",
        "fn f() { use crate::b; }",
        "fn f() { super::b::g::<u8>() }",
        "impl crate::b::Trait for Thing {}",
        "macro_rules! m { () => { $crate::b::g() } }",
        "mod within { fn f() { super::super::b::g() } } fn f() { super::c::g() }",
        "mod within { } fn f<'a>(x: &'a char) -> bool { *x == '\\'' || *x == '\"' || super::b::g() }",
        "#[cfg(test)] use crate::c; fn f() { let s = \"\\\"\"; crate::b::g(s) }",
        "#[cfg(feature = \"testing\")] use crate::b;",
        "pub(in crate::c) use crate::b;",
    ];
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("b.rs", ""),
        ("c.rs", ""),
    ];
    for text in imports_b {
        let imports = made_up(&[&files[..], &[("a.rs", text)]].concat());
        assert!(imports["a.rs"].contains("b.rs"), "{text}: {imports:?}");
    }
    let imports_nothing = [
        "mod b;",
        "// use crate::b;\n/* crate::b /* */ crate::b::g() */",
        "const S: &str = \"crate::b::g()\"; const R: &str = r#\"\"crate::b::g\"#;",
        "#[cfg(test)] mod tests { use crate::b; fn f() { if true { crate::b::g() } } }",
        "#[cfg(test)] use crate::b;",
        "use std::b; use other::b::Thing; fn f() { b::g(); Self::b() }",
        "pub(in crate::b) fn f() {}",
        "fn f(x: &u8) -> impl Fn() + use<'_> { let b = *x; move || { b; } }",
        "use crate::a::b; use self::b as c; use super::a::b::c;",
        "mod within { use super::b; fn f() { self::b::g() } }",
    ];
    for text in imports_nothing {
        let imports = made_up(&[&files[..], &[("a.rs", text)]].concat());
        assert!(!imports["a.rs"].contains("b.rs"), "{text}: {imports:?}");
    }
    // A parent names its children without a word before, and a file by a module that it imported.
    let imports = made_up(&[
        ("lib.rs", "mod a; mod b; pub use b::inner::Thing;"),
        ("a.rs", "use crate::b; fn f() { b::inner::g() }"),
        ("b/mod.rs", "mod inner; fn f() { inner::g() }"),
        ("b/inner.rs", ""),
    ]);
    for file in ["lib.rs", "a.rs", "b/mod.rs"] {
        assert!(imports[file].contains("b/inner.rs"), "{file}: {imports:?}");
    }
}

#[test]
fn an_import_against_the_order_is_found() {
    let imports = made_up(&[
        (
            "lib.rs",
            "mod low; mod one; mod two; use low::a; use two::a;",
        ),
        ("low/mod.rs", "mod a; mod b;"),
        ("low/a.rs", "use super::b; use crate::one::a;"),
        ("low/b.rs", ""),
        ("one/mod.rs", "mod a;"),
        ("one/a.rs", "use crate::low::a; use crate::two::a;"),
        ("two/mod.rs", "mod a;"),
        ("two/a.rs", "use crate::top;"),
        ("top.rs", ""),
    ]);
    let found = against_the_order(&imports, &[&["low"], &["one", "two"]]);
    assert_eq!(
        found,
        [
            "low/a.rs -> one/a.rs",
            "one/a.rs -> two/a.rs",
            "two/a.rs -> top.rs"
        ]
    );
}
