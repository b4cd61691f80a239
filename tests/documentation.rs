//! The documentation's SQL runs as it stands, and names every function there is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use dp_mean_tests::statistics::{mean, mean_square};
use dp_mean_tests::{Build, refused, rows, run, session, value};
use postgres::{Client, SimpleQueryMessage};

/// A fenced block of a Markdown file.
struct Block {
    /// What stands behind the opening fence:
    ///
    /// - `sql`: statements that run; `sql error=22023`: one that fails so;
    /// - `text exact`: the answer of the last statement before, as psql prints it;
    /// - `text`: a sample of it, with noise in it. Whatever is in it must be likely: [`implausible`];
    /// - `text refresh=NAME`: the same, where the noise is in a materialized view.
    info: String,
    text: String,
    line: usize,
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the repository")
        .to_owned()
}

/// The Markdown files in a folder and the folders in it.
fn markdown_in(folder: &Path, pages: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            markdown_in(&path, pages);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.push(path);
        }
    }
}

/// The pages beside the code, then the manual.
fn pages() -> Vec<PathBuf> {
    let root = repository();
    let mut pages: Vec<PathBuf> = ["README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY"]
        .iter()
        .map(|name| root.join(format!("{name}.md")))
        .collect();
    markdown_in(&root.join("docs"), &mut pages);
    pages
}

/// A page's place in the repository.
fn place_of(page: &Path) -> String {
    let place = page.strip_prefix(repository()).unwrap_or(page);
    place.to_string_lossy().into_owned()
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

/// The statements of a block, without comments: parts between semicolons that stand neither in quotes nor in a
/// function's `$$` body.
fn statements(sql: &str) -> Vec<String> {
    let (mut statements, mut statement) = (Vec::new(), String::new());
    let mut rest = sql;
    while let Some(character) = rest.chars().next() {
        let closing = ["--", "'", "$$"]
            .into_iter()
            .find(|quote| rest.starts_with(quote));
        let length = match closing {
            Some("--") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            Some(quote) => {
                let end = rest[quote.len()..]
                    .find(quote)
                    .expect("the end of a quotation");
                end + 2 * quote.len()
            }
            None if character == ';' => {
                statements.push(std::mem::take(&mut statement));
                rest = &rest[1..];
                continue;
            }
            None => character.len_utf8(),
        };
        statement.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    statements.push(statement);
    statements
        .iter()
        .map(|statement| statement.trim().to_owned())
        .filter(|statement| !statement.is_empty())
        .collect()
}

/// The statements under a heading of a page.
pub fn statements_under(page: &str, heading: &str) -> Vec<String> {
    let markdown = fs::read_to_string(repository().join(page)).expect(page);
    let (_, rest) = markdown
        .split_once(&format!("\n## {heading}\n"))
        .expect(heading);
    let section = rest.split("\n## ").next().unwrap_or_default();
    let sql = blocks(section)
        .into_iter()
        .filter(|block| block.info == "sql");
    sql.flat_map(|block| statements(&block.text)).collect()
}

/// A table of texts, as a query answers or a page prints it; NULL is an empty text.
#[derive(Debug, PartialEq)]
struct Table {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A statement's answer.
fn answer(client: &mut Client, sql: &str) -> Table {
    let (mut names, mut rows) = (Vec::new(), Vec::new());
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
            SimpleQueryMessage::Row(row) => {
                let cells =
                    (0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned());
                rows.push(cells.collect());
            }
            _ => {}
        }
    }
    Table { names, rows }
}

/// A table as psql prints it.
fn printed(table: &str) -> Table {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
    let mut lines = table.lines();
    let names = cells(lines.next().expect("a header"));
    assert!(lines.next().expect("a rule").starts_with("--"));
    let rows = lines.filter(|line| !line.starts_with('(')).map(cells);
    Table {
        names,
        rows: rows.collect(),
    }
}

/// The tables that demo/load.sql makes, which the pages in docs are about.
fn demo_data(client: &mut Client) {
    let load = fs::read_to_string(repository().join("demo/load.sql")).expect("the demo's tables");
    let from = load.find("CREATE TABLE person_year").expect("its table");
    let (table, rest) = load[from..].split_once(";\n").expect("a statement");
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

/// The set-up of a page that has that of another, as `<!-- set-up: protect-a-table.md -->`: the first SQL there.
fn set_up_of(markdown: &str) -> Option<String> {
    let (_, rest) = markdown.split_once("<!-- set-up: ")?;
    let (other, _) = rest.split_once(" -->")?;
    let page = repository().join("docs").join(other);
    let page = fs::read_to_string(page).expect("the page with the set-up");
    let first = blocks(&page).into_iter().find(|block| block.info == "sql");
    Some(first.expect("SQL").text)
}

/// Runs the SQL of all pages, each in a database of its own. Gives `check` each block of text, with where it stands and
/// the statement that it is the answer of, which was the last to run.
fn run_pages(build: Build, mut check: impl FnMut(&mut Client, &str, &Block, &str, Table)) {
    for page in pages() {
        let Ok(markdown) = fs::read_to_string(&page) else {
            continue;
        };
        let name = place_of(&page);
        let blocks = blocks(&markdown);
        let sql_blocks = blocks
            .iter()
            .filter(|block| block.info.starts_with("sql"))
            .count();
        if name == "README.md" {
            assert!(sql_blocks >= 6, "README.md has {sql_blocks} SQL blocks");
        }
        if sql_blocks == 0 {
            continue;
        }
        let (_database, mut client) = session(build);
        if page.starts_with(repository().join("docs")) {
            demo_data(&mut client);
        } else {
            client
                .batch_execute("DROP EXTENSION dp_mean CASCADE")
                .expect("a reader starts without it");
        }
        if let Some(other) = set_up_of(&markdown) {
            client.batch_execute(&other).expect("the set-up");
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
                        let answered = answer(&mut client, &statement);
                        last = Some((statement, answered));
                    }
                }
                None if block.info.split(' ').next() == Some("text") => {
                    let (statement, answered) =
                        last.take().unwrap_or_else(|| panic!("{place}: of what?"));
                    check(&mut client, &place, block, &statement, answered);
                }
                _ => {}
            }
        }
        drop_roles(&mut client, &markdown);
        drop_roles(&mut client, &set_up_of(&markdown).unwrap_or_default());
    }
}

/// Drops the roles that a page made and did not drop: all pages share one server.
fn drop_roles(client: &mut Client, markdown: &str) {
    run(client, "RESET ROLE");
    for made in markdown.split("CREATE ROLE ").skip(1) {
        let name = made.split([' ', ';', '\n']).next().unwrap_or_default();
        let sql = format!("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = '{name}')");
        if value::<bool>(client, &sql) {
            dp_mean_tests::drop_roles(client, name).expect("the role can go");
        }
    }
}

#[test]
fn every_block_runs() {
    run_pages(Build::Release, |_, place, block, _, answered| {
        let printed = printed(&block.text);
        if block.info == "text exact" {
            assert_eq!(answered, printed, "{place}");
        } else {
            // Noise differs from run to run; names and number of rows do not.
            assert_eq!(answered.names, printed.names, "{place}");
            assert_eq!(answered.rows.len(), printed.rows.len(), "{place}");
        }
    });
}

/// A cell: its text with a `#` for each number, and the numbers, each with half a unit of its last digit.
fn numbers(cell: &str) -> (String, Vec<(f64, f64)>) {
    let (mut rest, mut skeleton, mut numbers) = (cell, String::new(), Vec::new());
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    while let Some(character) = rest.chars().next() {
        let sign = usize::from(
            character == '-' && !skeleton.ends_with(|c: char| c.is_alphanumeric() || c == '#'),
        );
        let mut end = sign + digits(&rest[sign..]);
        if end == sign {
            skeleton.push(character);
            rest = &rest[character.len_utf8()..];
            continue;
        }
        let mut unit = 0;
        if rest[end..].starts_with('.') {
            let decimals = digits(&rest[end + 1..]);
            unit -= i32::try_from(decimals).expect("a number");
            end += 1 + decimals;
        }
        if rest[end..].starts_with('e') {
            let signed = 1 + usize::from(rest[end + 1..].starts_with(['+', '-']));
            let exponent = &rest[end + 1..end + signed + digits(&rest[end + signed..])];
            unit += exponent.parse::<i32>().expect("an exponent");
            end += 1 + exponent.len();
        }
        let number = rest[..end].parse().expect("a number");
        numbers.push((number, 0.5 * 10f64.powi(unit)));
        skeleton.push('#');
        rest = &rest[end..];
    }
    (skeleton, numbers)
}

/// How many releases of a sample's statement are compared with it. The standard deviation of that many is known to 8%
/// where noise is Laplace's.
const RELEASES: usize = 200;

/// How many standard deviations a sample may lie from the mean: beyond 4 are one in 286 of Laplace's noise, one in
/// 15,787 of Gaussian noise, at most one in 16 of any distribution.
const DEVIATIONS: f64 = 4.0;

/// What in a printed table is not likely to be an answer like these: a number more than [`DEVIATIONS`] standard
/// deviations from their mean, besides what its last digit hides, so a number without noise that is not the true one; a
/// NULL where they have none; another text.
fn implausible(printed: &Table, releases: &[Table]) -> Vec<String> {
    let mut complaints = Vec::new();
    for (line, row) in printed.rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let here = format!("row {}, {}: {cell:?}", line + 1, printed.names[column]);
            let (skeleton, shown) = numbers(cell);
            let alike: Vec<Vec<(f64, f64)>> = releases
                .iter()
                .map(|release| numbers(&release.rows[line][column]))
                .filter(|(other, _)| *other == skeleton)
                .map(|(_, drawn)| drawn)
                .collect();
            if alike.is_empty() {
                let other = &releases[0].rows[line][column];
                complaints.push(format!("{here} is none like {other:?}"));
            }
            for (position, (number, half_unit)) in shown.iter().enumerate() {
                let drawn: Vec<f64> = alike.iter().map(|numbers| numbers[position].0).collect();
                let centre = mean(&drawn);
                let sd = mean_square(&drawn, centre).sqrt();
                let slack = half_unit + 1e-12 * centre.abs();
                if (number - centre).abs() > DEVIATIONS * sd + slack {
                    complaints.push(format!(
                        "{here}: {number} is not {centre} with a deviation of {sd}"
                    ));
                }
            }
        }
    }
    complaints
}

/// What the pages print of private answers is what such answers look like. The noise is that of a seed.
#[test]
fn sample_answers_are_plausible() {
    let (mut complaints, mut samples) = (Vec::new(), 0);
    run_pages(Build::Testing, |client, place, block, statement, _| {
        if block.info == "text exact" {
            return;
        }
        samples += 1;
        run(client, "SELECT dp_test_seed(20)");
        // No budget of a page is as large as that many releases.
        run(client, "SELECT dp_test_defence('charge', false)");
        let refresh = block.info.strip_prefix("text refresh=").map(|view| {
            let role: String = value(client, "SELECT current_user::text");
            format!("RESET ROLE; REFRESH MATERIALIZED VIEW {view}; SET ROLE {role}")
        });
        let releases: Vec<Table> = (0..RELEASES)
            .map(|_| {
                if let Some(refresh) = &refresh {
                    run(client, refresh);
                }
                answer(client, statement)
            })
            .collect();
        run(client, "SELECT dp_test_defence('charge', true)");
        let unlikely = implausible(&printed(&block.text), &releases);
        complaints.extend(unlikely.into_iter().map(|what| format!("{place}, {what}")));
    });
    assert!(samples >= 15, "{samples} samples");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn implausible_samples_are_noticed() {
    let table = |cells: &[&str]| Table {
        names: ["mean", "true", "counts", "null"]
            .map(str::to_owned)
            .to_vec(),
        rows: vec![cells.iter().map(|cell| (*cell).to_owned()).collect()],
    };
    // A deviation of 1 around 10 and -3, and no noise in 2.878.
    let releases: Vec<Table> = (0..RELEASES)
        .map(|i| {
            if i % 2 == 0 {
                ["9", "{-4,7}"]
            } else {
                ["11.0", "{-2.0,7}"]
            }
        })
        .map(|[mean, counts]| table(&[mean, "2.87751", counts, ""]))
        .collect();
    for (likely, cells) in [
        (true, ["10", "2.878", "{-3,7}", ""]),
        (true, ["13.99", "2.87751", "{-6.9,7}", ""]),
        (false, ["14.2", "2.878", "{-3,7}", ""]),
        (false, ["10", "2.877", "{-3,7}", ""]),
        (false, ["10", "2.878", "{3,7}", ""]),
        (false, ["10", "2.878", "{-3,8}", ""]),
        (false, ["10", "2.878", "{-3,7,7}", ""]),
        (false, ["10", "2.878", "{-3,7}", "0"]),
        (false, ["", "2.878", "{-3,7}", ""]),
    ] {
        let complaints = implausible(&table(&cells), &releases);
        assert_eq!(complaints.is_empty(), likely, "{cells:?}: {complaints:?}");
    }
    assert_eq!(
        numbers("{-1.50,2e-05}-x7"),
        (
            "{#,#}-x#".to_owned(),
            vec![(-1.5, 0.005), (2e-5, 5e-6), (7.0, 0.5)]
        )
    );
}

/// The names of the `dp_` functions that stand between backticks with an opening parenthesis behind.
fn calls(markdown: &str) -> BTreeSet<&str> {
    let code = markdown.split('`').skip(1).step_by(2);
    code.filter_map(|call| call.split_once('('))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("dp_"))
        .collect()
}

#[test]
fn the_quick_reference_names_every_public_function_and_mechanism() {
    let page = "docs/quick-reference.md";
    let reference = fs::read_to_string(repository().join(page)).expect(page);
    let (_database, mut client) = session(Build::Release);
    let public = "SELECT DISTINCT p.proname::text FROM pg_proc p \
         JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' \
         JOIN pg_extension e ON d.refobjid = e.oid AND e.extname = 'dp_mean' \
         WHERE p.pronamespace <> 'dp_mean'::regnamespace";
    let public: Vec<String> = rows(&mut client, public)
        .iter()
        .map(|row| row.get(0))
        .collect();
    assert!(public.len() >= 5, "{public:?}");
    for name in &public {
        assert!(
            reference.contains(&format!("`{name}(")),
            "{name} is not in {page}"
        );
    }
    for name in calls(&reference) {
        assert!(
            public.iter().any(|public| public == name),
            "there is no {name}"
        );
    }
    for row in rows(
        &mut client,
        "SELECT aggregate, mechanism FROM dp_mechanisms()",
    ) {
        let (aggregate, mechanism): (&str, &str) = (row.get(0), row.get(1));
        // A line `| mechanism | aggregates | ...`.
        let start = format!("| `{mechanism}` | ");
        let mut lines = reference
            .lines()
            .filter_map(|line| line.strip_prefix(&start));
        let named = |rest: &str| {
            let aggregates = rest.split(" | ").next().unwrap_or_default();
            aggregates.contains(&format!("`{aggregate}`"))
        };
        assert!(lines.any(named), "{page}: no {mechanism} of {aggregate}");
    }
}

/// What is not code: the page without its fenced blocks, and without what stands between backticks.
fn prose(markdown: &str) -> String {
    let mut prose = String::new();
    let mut fenced = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    prose
}

/// The targets of links and images, as Markdown or as HTML.
fn targets(markdown: &str) -> Vec<String> {
    let prose = prose(markdown);
    let mut targets = Vec::new();
    for (start, end) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        for part in prose.split(start).skip(1) {
            let target = part.split(end).next().unwrap_or_default();
            let target = target.split_whitespace().next().unwrap_or_default();
            targets.push(target.trim_matches(['<', '>']).to_owned());
        }
    }
    targets
}

/// The anchors that GitHub gives to a page's headings.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in markdown.lines() {
        fenced ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        if fenced || heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let anchor: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let again = seen.entry(anchor.clone()).or_default();
        anchors.insert(match *again {
            0 => anchor,
            times => format!("{anchor}-{times}"),
        });
        *again += 1;
    }
    anchors
}

/// The files in the repository that a page links to, with the anchors in them.
fn links(page: &Path) -> Vec<(PathBuf, Option<String>)> {
    let markdown = fs::read_to_string(page).unwrap_or_else(|error| panic!("{page:?}: {error}"));
    targets(&markdown)
        .iter()
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .map(|target| {
            let (path, anchor) = match target.split_once('#') {
                Some((path, anchor)) => (path, Some(anchor.to_owned())),
                None => (target.as_str(), None),
            };
            let folder = page.parent().expect("a folder");
            let file = if path.is_empty() {
                page.to_owned()
            } else {
                folder.join(path)
            };
            (file.canonicalize().unwrap_or(file), anchor)
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in pages() {
        for (file, anchor) in links(&page) {
            count += 1;
            let from = place_of(&page);
            if !file.exists() {
                broken.push(format!("{from}: no {}", place_of(&file)));
            } else if let Some(anchor) = anchor
                && file.extension().is_some_and(|ending| ending == "md")
            {
                let markdown = fs::read_to_string(&file).expect("a page");
                if !anchors(&markdown).contains(&anchor) {
                    broken.push(format!("{from}: no #{anchor} in {}", place_of(&file)));
                }
            }
        }
    }
    assert!(count > 50, "{count} links");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// README.md leads to the index of the manual, and the index to every page of it.
#[test]
fn every_page_is_two_clicks_away() {
    let root = repository().canonicalize().expect("the repository");
    let mut reached = BTreeSet::from([root.join("README.md")]);
    for _ in 0..2 {
        let further: Vec<PathBuf> = reached
            .iter()
            .filter(|page| page.extension().is_some_and(|ending| ending == "md") && page.exists())
            .flat_map(|page| links(page))
            .map(|(file, _)| file)
            .collect();
        reached.extend(further);
    }
    let far: Vec<String> = pages()
        .iter()
        .map(|page| page.canonicalize().expect("a page"))
        .filter(|page| !reached.contains(page))
        .map(|page| place_of(&page))
        .collect();
    assert!(
        far.is_empty(),
        "more than two clicks from README.md: {far:?}"
    );
}

/// The index answers the four questions that readers come with.
#[test]
fn the_index_answers_the_four_questions() {
    let index = repository().join("docs/README.md");
    let markdown = fs::read_to_string(index).expect("docs/README.md");
    for question in ["How do I start?", "How accurate", "How fast", "How private"] {
        let line = markdown.lines().find(|line| line.contains(question));
        let line = line.unwrap_or_else(|| panic!("docs/README.md does not ask: {question}"));
        assert!(!targets(line).is_empty(), "no link: {line}");
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

/// What the sources raise, as text: strings that go on in the next line are one, and quotes are quotes.
fn raised() -> String {
    fn read(folder: &Path, text: &mut String) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a file").path();
            let kind = path.extension().and_then(|kind| kind.to_str());
            if path.is_dir() {
                read(&path, text);
            } else if kind == Some("rs") || kind == Some("sql") {
                text.push_str(&fs::read_to_string(&path).expect("a source"));
            }
        }
    }
    let mut text = String::new();
    for folder in ["src", "crates/dp_core/src", "sql"] {
        read(&repository().join(folder), &mut text);
    }
    let mut joined = String::new();
    let mut parts = text.split("\\\n");
    joined.push_str(parts.next().unwrap_or_default());
    for part in parts {
        joined.push_str(part.trim_start());
    }
    joined.replace("\\\"", "\"")
}

/// Every message that docs/troubleshooting.md quotes is one that is raised, but for PostgreSQL's own.
#[test]
fn every_message_of_the_troubleshooting_exists() {
    let page = repository().join("docs/troubleshooting.md");
    let page = fs::read_to_string(page).expect("docs/troubleshooting.md");
    let (ours, of_postgresql) = page
        .split_once("## Messages of PostgreSQL")
        .expect("the section of PostgreSQL's own");
    assert!(of_postgresql.contains("| 42P06 |"), "not PostgreSQL's own");
    let source = raised();
    let (mut missing, mut count) = (Vec::new(), 0);
    for line in ours.lines().filter(|line| line.starts_with("| ")) {
        let message = line.split(" | ").nth(1).unwrap_or_default();
        for quoted in message.split('`').skip(1).step_by(2) {
            count += 1;
            // What differs from case to case is `...`, with the quotes or commas around it.
            for piece in quoted.split("...") {
                let piece = piece.trim_matches([' ', '"', ',', ':']);
                if piece.len() > 3 && !source.contains(piece) {
                    missing.push(format!("{quoted}: {piece}"));
                }
            }
        }
    }
    assert!(count > 40, "{count} messages");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
