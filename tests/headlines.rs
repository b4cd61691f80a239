//! The figures in the manual's index are those of the tables that they sum up.

use std::fs;

use crate::documentation::repository;

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines of a section's first table, as cells.
fn table(page: &str, heading: &str) -> Vec<Vec<String>> {
    let page = read(page);
    let (_, section) = page
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no {heading}"));
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    lines
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

/// "least to largest" of the bold numbers in these lines.
fn range(lines: &[Vec<String>]) -> String {
    let bold = lines
        .iter()
        .flatten()
        .filter_map(|cell| cell.strip_prefix("**")?.strip_suffix("**"));
    least_to_largest(bold.collect())
}

fn least_to_largest(mut numbers: Vec<&str>) -> String {
    assert!(numbers.len() > 3, "{numbers:?}");
    numbers.sort_by(|a, b| a.parse::<f64>().unwrap().total_cmp(&b.parse().unwrap()));
    format!("{} to {}", numbers[0], numbers[numbers.len() - 1])
}

/// The index's line about a question.
fn answer(question: &str) -> String {
    let index = read("docs/README.md");
    let line = index
        .lines()
        .find(|line| line.starts_with(&format!("| {question} |")));
    line.unwrap_or_else(|| panic!("no line {question}"))
        .to_owned()
}

#[test]
fn the_index_has_the_figures_of_the_tables() {
    let page = "docs/performance.md";
    let fast = answer("how fast is a mean?");
    let on_15 = format!("{} times as long as `avg`", range(&table(page, "Means")));
    assert!(fast.contains(&on_15), "{on_15}: {fast}");
    let on_18 = format!("{} on 18", range(&table(page, "PostgreSQL 18")));
    assert!(fast.contains(&on_18), "{on_18}: {fast}");
    let mut counts = table(page, "Many counts");
    counts.retain(|line| line[0] == "`dp_counts`, 64 `boolean` columns");
    let many = answer("and 64 counts?");
    let counts = format!("in {} of the time of 64 `count(*)", range(&counts));
    assert!(many.contains(&counts), "{counts}: {many}");
}

/// The error of a mean is the exact one, which the measured ones lie around.
#[test]
fn the_index_has_the_exact_error_of_a_mean() {
    let accurate = answer("how accurate is a mean?");
    let page = read("docs/accuracy.md");
    let says = "The exact value for `hourglass` at 0.1 is ";
    let (_, exact) = page.split_once(says).expect("the exact value");
    let exact = exact.split(' ').next().expect("a number");
    assert!(
        accurate.contains(&format!("| {exact} of the lower bound")),
        "{exact}: {accurate}"
    );
    let lines = table("docs/accuracy.md", "Means");
    for (mechanism, before) in [("hourglass", "measured"), ("laplace", "(`laplace`)")] {
        let line = lines
            .iter()
            .find(|line| line[0] == format!("`{mechanism}`"))
            .expect("a line");
        // Of the mean at 0.1.
        let errors = line[1..5].iter().map(String::as_str).collect();
        let measured = format!("{before} {}", least_to_largest(errors));
        assert!(accurate.contains(&measured), "{measured}: {accurate}");
    }
}
