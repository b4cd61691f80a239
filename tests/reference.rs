//! docs/reference.md is what the catalog says: made from it by `make docs`, compared with it here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::{env, fs};

use dp_mean_tests::{Build, rows, session};
use postgres::Client;

use crate::documentation::repository;

/// Members of the extension, by a class of objects.
pub const MEMBERS: &str = "SELECT objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass \
     AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'dp_mean')";

/// The mechanism parameters that all mechanisms take.
const EVERYWHERE: [&str; 2] = ["rows", "groups"];

/// What functions are for: a title, and their names. Sections for mechanisms, types and settings follow.
pub const PURPOSES: &[(&str, &[&str])] = &[
    (
        "Means, sums and counts",
        &[
            "dp_mean",
            "dp_mean_and_count",
            "dp_sum",
            "dp_count",
            "dp_count_distinct",
        ],
    ),
    (
        "People with many rows",
        &[
            "dp_contribution",
            "dp_contribution_sum",
            "dp_groups",
            "dp_part",
            "dp_part_sum",
            "dp_part_rows",
            "dp_unnest",
        ],
    ),
    ("Many at once", &["dp_counts", "dp_sums", "dp_means"]),
    ("Spread", &["dp_var_pop", "dp_stddev_pop"]),
    (
        "Two columns",
        &[
            "dp_covar_pop",
            "dp_corr",
            "dp_regr_slope",
            "dp_regr_intercept",
            "dp_regr",
            "dp_linear_regression",
            "dp_weighted_mean",
        ],
    ),
    (
        "Histograms and bounds",
        &[
            "dp_histogram",
            "dp_histogram_edges",
            "dp_cdf",
            "dp_bounds",
            "dp_clamped",
        ],
    ),
    ("Quantiles", &["dp_quantile", "dp_median", "dp_quantiles"]),
    ("Showing groups", &["dp_keep"]),
    (
        "Intervals and costs",
        &[
            "dp_mean_estimate",
            "dp_sum_estimate",
            "dp_count_estimate",
            "dp_count_distinct_estimate",
            "dp_var_pop_estimate",
            "dp_quantile_estimate",
            "dp_counts_estimate",
            "dp_sums_estimate",
            "dp_corr_estimate",
            "dp_cdf_estimate",
            "dp_weighted_mean_estimate",
            "dp_difference",
        ],
    ),
    (
        "Planning",
        &[
            "dp_plan",
            "dp_mean_plan",
            "dp_mean_error",
            "dp_epsilon_for",
            "dp_clip_bias",
            "dp_clip_radius",
            "dp_trilemma",
        ],
    ),
    (
        "Accounting",
        &[
            "dp_mu",
            "dp_delta",
            "dp_eps",
            "dp_rho_of_mu",
            "dp_rho_of_eps",
            "dp_eps_of_rho",
            "dp_mu_of_rho",
            "dp_rdp_of_mu",
        ],
    ),
    (
        "Protected tables",
        &[
            "dp_protect",
            "dp_declare",
            "dp_allow",
            "dp_disallow",
            "dp_unprotect",
            "dp_create_view",
            "dp_check",
            "dp_cost",
            "dp_beyond",
        ],
    ),
    (
        "Budgets",
        &[
            "dp_set_budget",
            "dp_close_budget",
            "dp_set_budget_owner",
            "dp_continue_budget",
            "dp_charge",
            "dp_restore_budget",
            "dp_ledger_archive",
            "dp_ledger_check",
            "dp_deployment",
        ],
    ),
    (MECHANISMS, &["dp_mechanisms"]),
    ("Version", &["dp_version"]),
];

const MECHANISMS: &str = "Mechanisms";

const HEAD: &str = "\
# Reference

[The manual](README.md) > reference. Every function, aggregate and type that users meet, with what is
promised, what is refused and where it comes from.

This page is made from the comments in the catalog by `make docs`, and a test fails where the two differ. So `\\da dp_*`,
`\\df+ dp_*` and `\\dT+ dp_*` of psql say the same, in the version that you have. Tables to look things up quickly are
in the [quick reference](quick-reference.md); what the promises mean is in [promises](promises.md).

- Functions take arguments by name too (`eps => 1`). Aggregates do not, as PostgreSQL does not allow it: there the order counts,
  and the names say what is what.
- `float8` takes integers, `real` and `numeric` too; `mech` is a literal, a `text` or a `varchar` parameter, without a cast.
- An error is an SQLSTATE: 22023 is `invalid_parameter_value`, 42804 `datatype_mismatch`, 42501 `insufficient_privilege`,
  0A000 `feature_not_supported`, 53400 `configuration_limit_exceeded`, 42704 `undefined_object`,
  55000 `object_not_in_prerequisite_state`.
- `OVER` is refused for all aggregates (0A000); `FILTER`, `DISTINCT`, `GROUP BY` and its kin are as for any other.
";

/// A function or an aggregate of one signature.
struct Function {
    name: String,
    signature: String,
    /// The type it answers with, where that is a composite type of ours.
    answer: Option<String>,
    comment: String,
}

/// A value in the cell of a Markdown table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn functions(client: &mut Client) -> Vec<Function> {
    // Namesakes in the order in which the extension's script makes them: the fewest arguments first.
    let sql = format!(
        "SELECT p.oid, p.proname::text, p.proretset, \
         replace(format_type(p.prorettype, NULL), 'double precision', 'float8'), \
         (SELECT t.typname::text FROM pg_type t WHERE t.oid = p.prorettype AND t.typtype = 'c' \
              AND t.oid IN ({MEMBERS} AND classid = 'pg_type'::regclass)), \
         obj_description(p.oid, 'pg_proc') \
         FROM pg_proc p WHERE p.oid IN ({MEMBERS} AND classid = 'pg_proc'::regclass) \
           AND p.pronamespace <> 'dp_mean'::regnamespace ORDER BY p.oid"
    );
    let mut functions = Vec::new();
    for row in rows(client, &sql) {
        let oid: u32 = row.get(0);
        let name: String = row.get(1);
        let arguments = format!(
            "SELECT a.mode, \
             concat_ws(' ', CASE a.mode WHEN 'v' THEN 'VARIADIC' END, a.name, \
                 replace(format_type(a.type, NULL), 'double precision', 'float8'), \
                 'DEFAULT ' || pg_get_function_arg_default(p.oid, a.nth::int)) \
             FROM pg_proc p, unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), \
                 p.proargmodes::text[], p.proargnames) WITH ORDINALITY AS u(type, mode, name, nth), \
             LATERAL (SELECT u.type, coalesce(u.mode, 'i') AS mode, nullif(u.name, '') AS name, u.nth) a \
             WHERE p.oid = {oid} ORDER BY a.nth"
        );
        let (mut input, mut output) = (Vec::new(), Vec::new());
        for argument in rows(client, &arguments) {
            let text: String = argument.get(1);
            match argument.get::<_, &str>(0) {
                "o" | "t" => output.push(text),
                _ => input.push(text),
            }
        }
        let many = if row.get(2) { "rows of " } else { "" };
        let result = if output.is_empty() {
            row.get::<_, String>(3)
        } else {
            format!("({})", output.join(", "))
        };
        functions.push(Function {
            signature: format!("{name}({}) -> {many}{result}", input.join(", ")),
            name,
            answer: row.get(4),
            comment: row.get::<_, Option<String>>(5).expect("a comment"),
        });
    }
    functions
}

/// The comment's sentences by what they are about: what the function does (the first at least), what it promises, what
/// it refuses, where it comes from. A sentence that is of two kinds stands with the first that fits.
fn parts(comment: &str) -> [String; 4] {
    let mut parts: [Vec<&str>; 4] = Default::default();
    for (number, sentence) in comment.split_inclusive(". ").enumerate() {
        let sentence = sentence.trim();
        let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
        let is_year = |word: &str| word.len() == 4 && word.starts_with("20");
        let mut words = sentence.split(|c: char| !c.is_ascii_alphanumeric());
        let kind = if number == 0 {
            0
        } else if has(&["22023", "42804", "0A000"]) {
            2
        } else if has(&[
            "differentially private",
            "Neighbours differ",
            "budget is in mech",
            "GROUP BY group",
        ]) {
            1
        } else if words.any(is_year) || sentence.starts_with("Source") {
            3
        } else {
            0
        };
        parts[kind].push(sentence);
    }
    parts.map(|sentences| sentences.join(" "))
}

fn write_comment(page: &mut String, comment: &str) {
    let [what, promise, errors, source] = parts(comment);
    writeln!(page, "{what}\n").expect("memory");
    for (title, text) in [
        ("Guarantee", promise),
        ("Errors", errors),
        ("Source", source),
    ] {
        let text = ["Errors: ", "Source: ", "Sources: "]
            .iter()
            .find_map(|label| text.strip_prefix(label))
            .unwrap_or(&text);
        if !text.is_empty() {
            writeln!(page, "- **{title}.** {text}").expect("memory");
        }
    }
    if !page.ends_with("\n\n") {
        page.push('\n');
    }
}

/// The columns of a composite type: name, type, what it is.
fn columns(client: &mut Client, name: &str) -> Vec<[String; 3]> {
    let sql = "SELECT a.attname::text, replace(format_type(a.atttypid, NULL), 'double precision', 'float8'), \
         col_description(a.attrelid, a.attnum) FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid \
         WHERE t.oid = $1::text::regtype ORDER BY a.attnum";
    let columns = client.query(sql, &[&name]).expect("the columns");
    columns
        .iter()
        .map(|row| [row.get(0), row.get(1), row.get(2)])
        .collect()
}

fn write_columns(page: &mut String, client: &mut Client, name: &str) {
    writeln!(page, "| column | type | what |\n| --- | --- | --- |").expect("memory");
    for [column, kind, what] in columns(client, name) {
        writeln!(page, "| `{column}` | `{kind}` | {} |", cell(&what)).expect("memory");
    }
    page.push('\n');
}

/// The parameters in the catalog's text of them: name, range, what it is.
fn parameters(text: &str) -> Vec<(String, String, String)> {
    let mut parameters: Vec<(String, String, String)> = Vec::new();
    for piece in text.split("; ") {
        let head = piece.split_once(" (").filter(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        });
        match (
            head.and_then(|(name, rest)| Some((name, rest.split_once("): ")?))),
            parameters.last_mut(),
        ) {
            (Some((name, (range, what))), _) => {
                parameters.push((name.to_owned(), range.to_owned(), what.to_owned()));
            }
            (None, Some((_, _, what))) => {
                what.push_str("; ");
                what.push_str(piece);
            }
            (None, None) => assert!(piece.is_empty(), "no parameter: {piece}"),
        }
    }
    parameters
}

struct Mechanism {
    aggregate: String,
    name: String,
    standard: bool,
    guarantee: String,
    neighbours: String,
    parameters: Vec<(String, String, String)>,
    example: String,
    source: String,
}

fn mechanisms(client: &mut Client) -> Vec<Mechanism> {
    let sql = "SELECT aggregate, mechanism, is_default, guarantee, neighbours, parameters, example, source \
         FROM dp_mechanisms()";
    rows(client, sql)
        .iter()
        .map(|row| Mechanism {
            aggregate: row.get(0),
            name: row.get(1),
            standard: row.get(2),
            guarantee: row.get(3),
            neighbours: row.get(4),
            parameters: parameters(row.get(5)),
            example: row.get(6),
            source: row.get(7),
        })
        .collect()
}

fn write_mechanisms(page: &mut String, mechanisms: &[Mechanism]) {
    page.push_str(
        "What `mech` may be, by aggregate: `dp_mechanisms()`. An estimate has the mechanisms of the aggregate that it \
         is one of (`dp_mean_and_count`: those of `dp_mean`; `dp_stddev_pop`: those of `dp_var_pop`; \
         `dp_counts_estimate`: those of `dp_counts`; \
         `dp_regr_intercept`: those of `dp_regr_slope`; `dp_regr`: those of `dp_corr`; `dp_quantile_estimate`: those of `dp_quantiles`).\n\n",
    );
    let mut aggregate = "";
    for mechanism in mechanisms {
        if mechanism.aggregate != aggregate {
            aggregate = &mechanism.aggregate;
            writeln!(
                page,
                "{}### Mechanisms of {aggregate}\n\n| mechanism | guarantee | neighbours | parameters | example | source |\n\
                 | --- | --- | --- | --- | --- | --- |",
                if page.ends_with("\n\n") { "" } else { "\n" }
            )
            .expect("memory");
        }
        let names: Vec<String> = mechanism
            .parameters
            .iter()
            .filter(|(name, _, _)| !EVERYWHERE.contains(&name.as_str()))
            .map(|(name, _, _)| format!("`{name}`"))
            .collect();
        writeln!(
            page,
            "| `{}`{} | {} | {} | {} | `{}` | {} |",
            mechanism.name,
            if mechanism.standard { " (default)" } else { "" },
            cell(&mechanism.guarantee),
            cell(&mechanism.neighbours),
            names.join(", "),
            mechanism.example,
            cell(&mechanism.source)
        )
        .expect("memory");
    }
    page.push_str("\n### Parameters of mechanisms\n\n| parameter | values | what | of |\n| --- | --- | --- | --- |\n");
    let mut all: Vec<&(String, String, String)> = mechanisms
        .iter()
        .flat_map(|mechanism| &mechanism.parameters)
        .collect();
    all.sort();
    all.dedup();
    for parameter in all {
        let (name, range, what) = parameter;
        let has = |mechanism: &&Mechanism| mechanism.parameters.contains(parameter);
        let mut of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for mechanism in mechanisms.iter().filter(has) {
            of.entry(&mechanism.name)
                .or_default()
                .push(&mechanism.aggregate);
        }
        let of: Vec<String> = of
            .iter()
            .map(|(name, aggregates)| {
                let namesakes = mechanisms
                    .iter()
                    .filter(|mechanism| mechanism.name == *name);
                if namesakes.count() == aggregates.len() {
                    format!("`{name}`")
                } else {
                    format!("`{name}` of `{}`", aggregates.join("`, `"))
                }
            })
            .collect();
        let of = if EVERYWHERE.contains(&name.as_str()) {
            "all".to_owned()
        } else {
            of.join(", ")
        };
        writeln!(
            page,
            "| `{name}` | {} | {} | {of} |",
            cell(range),
            cell(what)
        )
        .expect("memory");
    }
    page.push('\n');
}

fn write_types(page: &mut String, client: &mut Client) {
    page.push_str("## Types\n\n");
    let sql = format!(
        "SELECT t.typname::text, t.typtype = 'c', obj_description(t.oid, 'pg_type') FROM pg_type t \
         WHERE t.oid IN ({MEMBERS} AND classid = 'pg_type'::regclass) AND t.typcategory <> 'A' \
           AND t.typnamespace <> 'dp_mean'::regnamespace \
           AND t.oid NOT IN (SELECT reltype FROM pg_class WHERE relkind <> 'c') ORDER BY t.oid"
    );
    // (Newer servers count the types of the rows of views among the members.)
    for row in rows(client, &sql) {
        let (name, composite): (&str, bool) = (row.get(0), row.get(1));
        let comment: Option<&str> = row.get(2);
        let comment = comment.unwrap_or_else(|| panic!("{name} has no comment"));
        writeln!(page, "### {name}\n\n{comment}\n").expect("memory");
        if composite {
            write_columns(page, client, name);
        }
        let casts = format!(
            "SELECT format_type(castsource, NULL), CASE castcontext WHEN 'i' THEN 'implicit' ELSE 'explicit' END, \
             obj_description(oid, 'pg_cast') FROM pg_cast WHERE casttarget = '{name}'::regtype ORDER BY oid"
        );
        for cast in rows(client, &casts) {
            let (from, context, what): (&str, &str, &str) = (cast.get(0), cast.get(1), cast.get(2));
            writeln!(page, "- {context} cast from `{from}`: {what}").expect("memory");
        }
        let operators = format!(
            "SELECT oprname::text, obj_description(oid, 'pg_operator') FROM pg_operator \
             WHERE oprleft = '{name}'::regtype ORDER BY oid"
        );
        for operator in rows(client, &operators) {
            let (symbol, what): (&str, &str) = (operator.get(0), operator.get(1));
            writeln!(page, "- `{symbol}`: {what}").expect("memory");
        }
        if !page.ends_with("\n\n") {
            page.push('\n');
        }
    }
}

fn write_views(page: &mut String, client: &mut Client) {
    page.push_str("\n## Views\n\n");
    let sql = format!(
        "SELECT relname::text, obj_description(oid, 'pg_class') FROM pg_class \
         WHERE relkind = 'v' AND relnamespace <> 'dp_mean'::regnamespace \
         AND oid IN ({MEMBERS} AND classid = 'pg_class'::regclass) ORDER BY 1"
    );
    for row in rows(client, &sql) {
        let (name, comment): (String, String) = (row.get(0), row.get(1));
        writeln!(page, "### {name}\n\n{comment}\n").expect("memory");
        write_columns(page, client, &name);
    }
}

fn write_settings(page: &mut String, client: &mut Client) {
    page.push_str("## Settings\n\n| setting | type | default | may be set by | what |\n| --- | --- | --- | --- | --- |\n");
    // The library is there once it was called.
    rows(client, "SELECT 'hourglass'::dp_mechanism::text");
    let sql = "SELECT name, vartype, boot_val, context, concat_ws(' ', short_desc, extra_desc) FROM pg_settings \
         WHERE name LIKE 'dp\\_mean.%' ORDER BY name";
    for row in rows(client, sql) {
        let text = |column| row.get::<_, String>(column);
        writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            text(0),
            text(1),
            text(2),
            text(3),
            cell(&text(4))
        )
        .expect("memory");
    }
}

/// The functions of one name.
fn write_functions(
    page: &mut String,
    client: &mut Client,
    namesakes: &[&Function],
    mechanisms: &[Mechanism],
) {
    let name = &namesakes[0].name;
    writeln!(page, "### {name}\n").expect("memory");
    for function in namesakes {
        writeln!(page, "```\n{}\n```\n", function.signature).expect("memory");
        write_comment(page, &function.comment);
    }
    if let Some(answer) = namesakes
        .iter()
        .find_map(|function| function.answer.as_deref())
    {
        let columns: Vec<String> = columns(client, answer)
            .iter()
            .map(|[column, ..]| format!("`{column}`"))
            .collect();
        let columns = columns.join(", ");
        writeln!(
            page,
            "Columns of the answer, a [`{answer}`](#{answer}): {columns}.\n"
        )
        .expect("memory");
    }
    if mechanisms
        .iter()
        .any(|mechanism| mechanism.aggregate == *name)
    {
        writeln!(page, "[Mechanisms of `{name}`](#mechanisms-of-{name}).\n").expect("memory");
    }
}

/// The page that this catalog makes.
fn reference(client: &mut Client) -> String {
    let mut functions = functions(client);
    let purpose = |function: &Function| {
        let of = |(_, names): &(&str, &[&str])| {
            let place = names.iter().position(|name| *name == function.name)?;
            Some(place)
        };
        let found: Vec<_> = (0..PURPOSES.len())
            .filter_map(|i| Some((i, of(&PURPOSES[i])?)))
            .collect();
        assert_eq!(found.len(), 1, "PURPOSES: what is {} for?", function.name);
        found[0]
    };
    functions.sort_by_key(purpose);
    let mechanisms = mechanisms(client);
    let mut page = HEAD.to_owned();
    page.push_str("\n| what for | functions |\n| --- | --- |\n");
    let anchor = |title: &str| title.to_lowercase().replace(',', "").replace(' ', "-");
    for &(title, names) in PURPOSES {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("[`{name}`](#{name})"))
            .collect();
        let names = names.join(", ");
        writeln!(page, "| [{title}](#{}) | {names} |", anchor(title)).expect("memory");
    }
    page.push_str("| [Views](#views), [types](#types), [settings](#settings) | |\n\n");
    for (i, &(title, names)) in PURPOSES.iter().enumerate() {
        writeln!(page, "## {title}\n").expect("memory");
        let of: Vec<&Function> = functions
            .iter()
            .filter(|function| purpose(function).0 == i)
            .collect();
        let by_name: Vec<&[&Function]> = of.chunk_by(|one, next| one.name == next.name).collect();
        assert_eq!(by_name.len(), names.len(), "{title}: {names:?}");
        for namesakes in by_name {
            write_functions(&mut page, client, namesakes, &mechanisms);
        }
    }
    write_mechanisms(&mut page, &mechanisms);
    write_views(&mut page, client);
    write_types(&mut page, client);
    write_settings(&mut page, client);
    page
}

/// With `DP_MEAN_UPDATE` set, as `make docs` does, the page is written instead.
#[test]
fn the_reference_is_what_the_catalog_says() {
    let (_database, mut client) = session(Build::Release);
    let page = reference(&mut client);
    for part in page.split("\n### ").skip(1) {
        let name = part.lines().next().expect("a title");
        let signature = part.lines().nth(3).unwrap_or_default();
        if signature.starts_with("dp_") && !signature.contains("()") {
            let refuses = ["22023", "Otherwise as"]
                .iter()
                .any(|word| part.contains(word));
            assert!(refuses, "{name}: which errors?");
        }
    }
    let path = repository().join("docs/reference.md");
    if env::var_os("DP_MEAN_UPDATE").is_some() {
        fs::write(&path, page).expect("docs/reference.md");
        return;
    }
    let committed = fs::read_to_string(&path).expect("docs/reference.md");
    let differs = committed
        .lines()
        .zip(page.lines())
        .find(|(old, new)| old != new);
    assert!(
        committed == page,
        "docs/reference.md is not what the catalog says (make docs writes it): {differs:?}"
    );
}
