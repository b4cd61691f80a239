//! The tables of docs/quick-reference.md: its calls are those of the catalog, its mechanisms those of the registries.
//! `make docs` writes them; what stands around them is written by hand.

use std::fmt::Write as _;
use std::{env, fs};

use dp_core::registry::catalog;
use dp_mean_tests::{Build, rows, session};
use postgres::Client;

use crate::documentation::repository;
use crate::reference::{MEMBERS, PURPOSES, cell};

/// A declaration.
struct Declaration {
    arguments: Vec<String>,
    /// How many of the last ones have a default.
    defaults: usize,
    answer: String,
    comment: String,
}

/// The declarations of a name, in the order of the extension's script, without those that differ from another one in
/// types alone.
fn declarations(client: &mut Client, name: &str) -> Vec<Declaration> {
    let sql = format!(
        "SELECT ARRAY(SELECT CASE WHEN mode = 'v' THEN n || ', ...' ELSE n END \
             FROM unnest(proargnames, coalesce(proargmodes::text[], array_fill('i'::text, ARRAY[pronargs]))) \
             WITH ORDINALITY u(n, mode, i) WHERE mode IN ('i', 'v') ORDER BY i), \
         pronargdefaults::int, coalesce( \
             (SELECT '(' || string_agg(n, ', ' ORDER BY i) || ')' \
                 FROM unnest(proargnames, proargmodes::text[]) WITH ORDINALITY u(n, mode, i) \
                 WHERE mode IN ('o', 't')), \
             (SELECT '(' || string_agg(attname, ', ' ORDER BY attnum) || ')' \
                 FROM pg_type t JOIN pg_attribute ON attrelid = typrelid WHERE t.oid = prorettype AND typtype = 'c'), \
             CASE WHEN proretset THEN 'rows of ' ELSE '' END || format_type(prorettype, NULL)), \
         obj_description(oid, 'pg_proc') \
         FROM pg_proc WHERE proname = '{name}' AND pronamespace <> 'dp_mean'::regnamespace AND oid IN \
             ({MEMBERS} AND classid = 'pg_proc'::regclass) ORDER BY oid"
    );
    let mut found: Vec<Declaration> = Vec::new();
    for row in rows(client, &sql) {
        let arguments: Vec<String> = row.get::<_, Option<_>>(0).unwrap_or_default();
        if found.iter().all(|other| other.arguments != arguments) {
            let answer: String = row.get(2);
            found.push(Declaration {
                arguments,
                defaults: row.get::<_, i32>(1) as usize,
                answer: answer.replace("double precision", "float8"),
                comment: row.get(3),
            });
        }
    }
    assert!(!found.is_empty(), "{name}");
    found
}

/// How a function is called: once for all declarations of which each has the arguments of the one before and more.
fn calls(name: &str, declarations: &[Declaration]) -> Vec<String> {
    let goes_on =
        |one: &Declaration, next: &Declaration| next.arguments.starts_with(&one.arguments);
    let chains = declarations.chunk_by(goes_on);
    let call = |chain: &[Declaration]| {
        let (first, last) = (&chain[0], &chain[chain.len() - 1]);
        let needed = first.arguments.len() - first.defaults;
        let mut text = last.arguments[..needed].join(", ");
        let optional = &last.arguments[needed..];
        let at_once = last.defaults > 0 && optional.len() > 1;
        for (i, argument) in optional.iter().enumerate() {
            let separator = match (needed + i, at_once && i > 0) {
                (0, _) => "[",
                (_, true) => ", ",
                (_, false) => " [, ",
            };
            write!(text, "{separator}{argument}").expect("memory");
        }
        let ends = if at_once { 1 } else { optional.len() };
        format!(
            "[`{name}({text}{})`](reference.md#{name})",
            "]".repeat(ends)
        )
    };
    chains.map(call).collect()
}

/// The beginning of a comment: its first sentence, and of a long one what stands before a semicolon or a colon.
fn summary(comment: &str) -> &str {
    const LONG: usize = 160;
    let (sentence, _) = comment.split_once(". ").unwrap_or((comment, ""));
    let ends = ["; ", ": "].map(|mark| sentence.find(mark));
    match ends.into_iter().flatten().min() {
        Some(end) if sentence.len() > LONG => &sentence[..end],
        _ => sentence.trim_end_matches('.'),
    }
}

fn call_table(client: &mut Client) -> String {
    let mut table = "| call | answer | what |\n| --- | --- | --- |\n".to_owned();
    for (_, names) in PURPOSES {
        for name in *names {
            let declarations = declarations(client, name);
            let first = &declarations[0];
            writeln!(
                table,
                "| {} | `{}` | {} |",
                calls(name, &declarations).join(", "),
                first.answer,
                cell(summary(&first.comment))
            )
            .expect("memory");
        }
    }
    table
}

fn mechanism_table() -> String {
    let mut table = "| mechanism | of | what | options |\n| --- | --- | --- | --- |\n".to_owned();
    let all: Vec<_> = catalog().collect();
    let same = |one: usize, other: usize| {
        (all[one].2.name, all[one].2.what) == (all[other].2.name, all[other].2.what)
    };
    for i in 0..all.len() {
        if (0..i).any(|before| same(before, i)) {
            continue;
        }
        let of = (i..all.len()).filter(|other| same(i, *other)).map(|other| {
            let (aggregate, is_default, _) = all[other];
            format!(
                "`{aggregate}`{}",
                if is_default { " (default)" } else { "" }
            )
        });
        let info = all[i].2;
        let options = info
            .parameters
            .iter()
            .filter(|parameter| parameter.domain != "none");
        let options = options.map(|parameter| format!("`{}`", parameter.name));
        writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            info.name,
            Vec::from_iter(of).join(", "),
            cell(info.what),
            Vec::from_iter(options).join(", ")
        )
        .expect("memory");
    }
    table
}

/// The page with this table behind the line `<!-- made: title -->`, in the place of the one that is there.
fn with_table(page: &str, title: &str, table: &str) -> String {
    let start = format!("<!-- made: {title} -->\n\n");
    let (before, rest) = page.split_once(&start).expect(title);
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    format!("{before}{start}{table}\n{after}")
}

/// With `DP_MEAN_UPDATE` set, as `make docs` does, the tables are written instead.
#[test]
fn the_quick_reference_has_every_call_and_mechanism() {
    let (_database, mut client) = session(Build::Release);
    let path = repository().join("docs/quick-reference.md");
    let committed = fs::read_to_string(&path).expect("docs/quick-reference.md");
    let page = with_table(&committed, "calls", &call_table(&mut client));
    let page = with_table(&page, "mechanisms", &mechanism_table());
    if env::var_os("DP_MEAN_UPDATE").is_some() {
        fs::write(&path, page).expect("docs/quick-reference.md");
        return;
    }
    let mut lines = committed.lines().zip(page.lines());
    let differs = lines.find(|(old, new)| old != new);
    assert!(
        committed == page,
        "docs/quick-reference.md is not what the catalog says (make docs writes it): {differs:?}"
    );
}
