//! The documentation's SQL runs as it stands, and names every function there is.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use dp_mean_tests::{Build, refused, rows, session};
use postgres::{Client, SimpleQueryMessage};

/// A fenced block of a Markdown file.
struct Block {
    /// What stands behind the opening fence: `sql`, `sql error=22023`, `text`.
    info: String,
    text: String,
    line: usize,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository")
        .to_owned()
}

fn pages() -> Vec<PathBuf> {
    let root = repository();
    let mut pages = vec![root.join("README.md"), root.join("ARCHITECTURE.md")];
    if let Ok(entries) = fs::read_dir(root.join("docs")) {
        let paths = entries.map(|entry| entry.expect("a file in docs").path());
        pages.extend(paths.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    pages
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in markdown.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) => {
                open = Some(Block {
                    info: info.to_owned(),
                    text: String::new(),
                    line: number + 1,
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// The statements of a block: those of the documentation hold no semicolon inside.
fn statements(sql: &str) -> Vec<String> {
    let code: Vec<&str> = sql
        .lines()
        .map(|line| line.split_once("--").map_or(line, |(code, _)| code))
        .collect();
    let parts = code.join("\n");
    parts
        .split(';')
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

/// Column names and number of rows of a statement's answer.
fn shape(client: &mut Client, sql: &str) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    let mut count = 0;
    let messages = client
        .simple_query(sql)
        .unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    for message in messages {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                names = columns
                    .iter()
                    .map(|column| column.name().to_owned())
                    .collect();
            }
            SimpleQueryMessage::Row(_) => count += 1,
            _ => {}
        }
    }
    (names, count)
}

/// The same of a printed table.
fn printed_shape(table: &str) -> (Vec<String>, usize) {
    let mut lines = table.lines();
    let header = lines.next().expect("a header");
    let names = header
        .split('|')
        .map(|name| name.trim().to_owned())
        .collect();
    assert!(lines.next().expect("a rule").starts_with("--"));
    (names, lines.filter(|line| !line.starts_with('(')).count())
}

/// The tables that demo/demo.sql makes, which the pages in docs are about.
fn demo_data(client: &mut Client) {
    let demo = fs::read_to_string(repository().join("demo/demo.sql")).expect("the demo");
    let from = demo.find("CREATE TABLE person_year").expect("its table");
    let (table, rest) = demo[from..].split_once(";\n").expect("a statement");
    client.batch_execute(table).expect("the demo's table");
    let data = fs::read(repository().join("demo/data/rand_hie.csv")).expect("the demo's data");
    let copy = "COPY person_year FROM STDIN WITH (FORMAT csv, HEADER)";
    let mut writer = client.copy_in(copy).expect("COPY");
    writer.write_all(&data).expect("the data");
    writer.finish().expect("the data");
    let person = rest
        .lines()
        .find(|line| line.starts_with("CREATE TABLE person "))
        .expect("the table of people");
    client.batch_execute(person).expect("the table of people");
}

#[test]
fn every_block_runs() {
    for page in pages() {
        let Ok(markdown) = fs::read_to_string(&page) else {
            continue;
        };
        let name = page
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let blocks = blocks(&markdown);
        let sql_blocks = blocks
            .iter()
            .filter(|block| block.info.starts_with("sql"))
            .count();
        if name == "README.md" {
            assert!(sql_blocks >= 8, "README.md has {sql_blocks} SQL blocks");
        }
        if sql_blocks == 0 {
            continue;
        }
        let (_database, mut client) = session(Build::Release);
        if page.starts_with(repository().join("docs")) {
            demo_data(&mut client);
        } else {
            client
                .batch_execute("DROP EXTENSION dp_mean")
                .expect("a reader starts without it");
        }
        let mut last = None;
        for block in &blocks {
            let place = format!("{name}, line {}", block.line);
            match block.info.split_once(" error=") {
                Some(("sql", code)) => {
                    let refusal = refused(&mut client, &block.text);
                    assert_eq!(refusal.code, code, "{place}: {refusal:?}");
                }
                None if block.info == "sql" => {
                    for statement in statements(&block.text) {
                        last = Some(shape(&mut client, &statement));
                    }
                }
                None if block.info == "text" => {
                    let answered = last.take().unwrap_or_else(|| panic!("{place}: of what?"));
                    assert_eq!(answered, printed_shape(&block.text), "{place}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_reference_names_every_public_function_and_mechanism() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("README.md");
    let (_database, mut client) = session(Build::Release);
    let public = "SELECT DISTINCT p.proname::text FROM pg_proc p \
         JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' \
         JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'dp_mean' \
         WHERE p.prorettype <> 'dp_state'::regtype \
           AND 'dp_state'::regtype <> ALL (p.proargtypes) \
           AND p.proname NOT LIKE 'dp\\_mechanism\\_%'";
    let public: Vec<String> = rows(&mut client, public)
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert!(public.len() >= 5, "{public:?}");
    for name in &public {
        assert!(
            readme.contains(&format!("`{name}(")),
            "{name} is not in README.md"
        );
    }
    for call in readme.split('`').skip(1).step_by(2) {
        if let Some((name, _)) = call
            .split_once('(')
            .filter(|(name, _)| name.starts_with("dp_"))
        {
            assert!(
                public.iter().any(|public| public == name),
                "there is no {name}"
            );
        }
    }
    for row in rows(
        &mut client,
        "SELECT aggregate, mechanism FROM dp_mechanisms()",
    ) {
        let (aggregate, mechanism): (&str, &str) = (row.get(0), row.get(1));
        // A line `| mechanism | aggregates | ...`.
        let start = format!("| `{mechanism}` | ");
        let mut lines = readme.lines().filter_map(|line| line.strip_prefix(&start));
        let named = |rest: &str| {
            let aggregates = rest.split(" | ").next().unwrap_or_default();
            aggregates.contains(&format!("`{aggregate}`"))
        };
        assert!(lines.any(named), "README.md: no {mechanism} of {aggregate}");
    }
}

/// What `make audit` and `make mutations` wrote is of the mechanisms and mutations that there are.
#[test]
fn the_page_of_the_audit_is_complete() {
    let page = fs::read_to_string(repository().join("docs/audit.md")).expect("docs/audit.md");
    let lines: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .collect();
    let (_database, mut client) = session(Build::Release);
    let catalog = rows(
        &mut client,
        "SELECT aggregate, mechanism FROM dp_mechanisms()",
    );
    for row in &catalog {
        let (aggregate, mechanism): (&str, &str) = (row.get(0), row.get(1));
        let starts = ["(", "`"].map(|end| format!("`{aggregate}` | `{mechanism}{end}"));
        let audited = |line: &&str| starts.iter().any(|start| line.starts_with(start));
        assert!(lines.iter().any(audited), "no {mechanism} of {aggregate}");
    }
    let patches = fs::read_dir(repository().join("tests/mutations")).expect("the mutations");
    let mut written = lines.iter().filter(|line| line.contains(".rs`: `")).count();
    for patch in patches {
        let path = patch.expect("a mutation").path();
        let text = fs::read_to_string(&path).expect("a mutation");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let what = text.lines().find_map(|line| line.strip_prefix("What: "));
        let start = format!("{name}: {} | ", what.expect("what it is"));
        let line = lines.iter().find(|line| line.starts_with(&start));
        let line = line.unwrap_or_else(|| panic!("no {name}"));
        for catcher in text
            .lines()
            .filter_map(|line| line.strip_prefix("Caught by: "))
        {
            let test = catcher.rsplit("::").next().expect("a test");
            assert!(line.contains(&format!("`{test}`")), "{name}: no {test}");
        }
        written -= 1;
    }
    assert_eq!(written, 0, "mutations that are no more");
}
