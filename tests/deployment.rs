//! `dp_deployment`: a record of a budget as the public registry of deployments has them.

use std::collections::BTreeMap;

use dp_mean_tests::{Build, Role, refused, rows, run, session, value};
use postgres::Client;

/// What a field holds.
enum Holds {
    Object,
    Text,
    Texts,
    Number,
    Day,
    Choice(&'static [&'static str]),
    Tier,
}

use Holds::{Choice, Day, Number, Object, Text, Texts, Tier};

/// The fields of a record: their paths, what they hold, whether every record has them, and their tier, 0 for none.
/// As in `schemas/deployments-schema.yaml` of <https://github.com/opendp/deployments-registry-data>, of 15 July 2026.
const FIELDS: &[(&str, Holds, bool, u8)] = &[
    ("", Object, true, 0),
    ("/url_slug", Text, true, 0),
    (
        "/status",
        Choice(&[
            "Converted",
            "Draft",
            "Pending",
            "Changes Required",
            "Approved",
            "Approved (Update Requested)",
            "Approved (Pending)",
        ]),
        true,
        0,
    ),
    ("/tier", Tier, true, 0),
    ("/deployment", Object, true, 0),
    ("/deployment/basic", Object, true, 0),
    ("/deployment/basic/name", Text, true, 1),
    ("/deployment/basic/data_curators", Texts, true, 1),
    ("/deployment/basic/intended_use", Text, true, 1),
    (
        "/deployment/basic/data_product_type",
        Choice(&[
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ]),
        true,
        1,
    ),
    ("/deployment/basic/data_product_region", Text, true, 1),
    ("/deployment/basic/description", Text, true, 1),
    ("/deployment/basic/publication_date", Day, true, 1),
    (
        "/deployment/basic/data_product_sector",
        Choice(&[
            "Technology",
            "Healthcare",
            "Education",
            "Government",
            "Energy",
            "Finance",
        ]),
        false,
        1,
    ),
    ("/deployment/dp_variant", Object, false, 0),
    (
        "/deployment/dp_variant/variant_name",
        Choice(&[
            "Pure DP",
            "Approximate DP",
            "Zero-concentrated DP",
            "Renyi DP",
            "Custom",
        ]),
        false,
        2,
    ),
    ("/deployment/dp_variant/data_domain", Text, false, 3),
    (
        "/deployment/dp_variant/unprotected_quantities",
        Text,
        false,
        3,
    ),
    ("/deployment/privacy_loss", Object, false, 0),
    ("/deployment/privacy_loss/privacy_unit", Text, false, 2),
    (
        "/deployment/privacy_loss/privacy_unit_details",
        Text,
        false,
        3,
    ),
    (
        "/deployment/privacy_loss/privacy_parameters",
        Object,
        false,
        2,
    ),
    (
        "/deployment/privacy_loss/privacy_parameters/epsilon",
        Number,
        false,
        0,
    ),
    (
        "/deployment/privacy_loss/privacy_parameters/delta",
        Number,
        false,
        0,
    ),
    (
        "/deployment/privacy_loss/privacy_parameters/rho",
        Number,
        false,
        0,
    ),
    (
        "/deployment/privacy_loss/privacy_parameters_details",
        Text,
        false,
        3,
    ),
    ("/deployment/deployment_model", Object, false, 0),
    (
        "/deployment/deployment_model/model_name",
        Choice(&["Local", "Central", "Shuffle", "Federated", "Varies"]),
        false,
        2,
    ),
    (
        "/deployment/deployment_model/model_name_details",
        Text,
        false,
        0,
    ),
    ("/deployment/deployment_model/actors", Text, false, 3),
    (
        "/deployment/deployment_model/release_type",
        Choice(&["One release", "Many releases"]),
        false,
        2,
    ),
    (
        "/deployment/deployment_model/release_type_details",
        Text,
        false,
        0,
    ),
    (
        "/deployment/deployment_model/data_source_type",
        Choice(&["Static", "Dynamic"]),
        false,
        2,
    ),
    (
        "/deployment/deployment_model/data_source_type_details",
        Text,
        false,
        3,
    ),
    (
        "/deployment/deployment_model/access_type",
        Choice(&["Interactive", "Non-interactive"]),
        false,
        2,
    ),
    (
        "/deployment/deployment_model/access_type_details",
        Text,
        false,
        3,
    ),
    ("/deployment/accounting", Object, false, 0),
    ("/deployment/accounting/post_processing", Text, false, 3),
    ("/deployment/accounting/composition", Text, false, 3),
    ("/deployment/implementation", Object, false, 0),
    (
        "/deployment/implementation/preprocessing_and_hyperparameter_tuning",
        Text,
        false,
        3,
    ),
    ("/deployment/implementation/mechanisms", Text, false, 3),
    ("/deployment/implementation/justification", Text, false, 3),
    ("/deployment/administrative", Object, false, 0),
    ("/deployment/administrative/sources", Text, false, 1),
    ("/deployment/administrative/notes", Text, false, 1),
    (
        "/deployment/administrative/registry_authors",
        Texts,
        true,
        0,
    ),
];

/// What people say of a deployment, so that nothing but a justification is missing.
const ABOUT: &str = r#"{"data_curators": ["Ministry of Health"], "intended_use": "Planning of clinics.",
    "data_product_region": "Nowhere", "description": "Statistics of visits.", "publication_date": "2026-02-28",
    "data_source_type": "Static", "registry_authors": ["A. Steward"]}"#;

/// A record: the paths of its fields, with the type of each and its text.
struct Record(BTreeMap<String, (String, String)>);

impl Record {
    fn of(client: &mut Client, budget: &str, about: &str) -> Self {
        let sql = format!(
            "WITH RECURSIVE node(path, value) AS (
                 SELECT '', dp_deployment('{budget}', $about${about}$about$)
                 UNION ALL SELECT node.path || '/' || c.key, c.value FROM node,
                     jsonb_each(CASE WHEN jsonb_typeof(node.value) = 'object' THEN node.value ELSE '{{}}' END) c
             ) SELECT path, coalesce(jsonb_typeof(value), 'none'), coalesce(value #>> '{{}}', '') FROM node"
        );
        let nodes = rows(client, &sql);
        let nodes = nodes
            .iter()
            .map(|row| (row.get(0), (row.get(1), row.get(2))));
        Self(nodes.collect())
    }

    /// What the schema has against it: paths.
    fn faults(&self) -> Vec<String> {
        let of = |path: &str| FIELDS.iter().find(|field| field.0 == path);
        let mut faults: Vec<String> = FIELDS
            .iter()
            .filter(|field| field.2 && !self.0.contains_key(field.0))
            .map(|field| field.0.to_owned())
            .collect();
        for (path, (kind, text)) in &self.0 {
            let fits = of(path).is_some_and(|field| match field.1 {
                Object => kind == "object",
                Text => kind == "string" && !text.is_empty(),
                Texts => kind == "array" && text.starts_with("[\""),
                Number => kind == "number",
                Day => kind == "string" && text.len() == 10 && text.as_bytes()[4] == b'-',
                Choice(choices) => kind == "string" && choices.contains(&text.as_str()),
                Tier => kind == "number" && ["1", "2", "3"].contains(&text.as_str()),
            });
            if !fits {
                faults.push(path.clone());
            }
        }
        faults
    }

    /// How many fields of a tier it has, and how many there are.
    fn of_tier(&self, tier: u8) -> (usize, usize) {
        let all: Vec<&str> = FIELDS
            .iter()
            .filter(|field| field.3 == tier)
            .map(|field| field.0)
            .collect();
        let there = all.iter().filter(|path| self.0.contains_key(**path));
        (there.count(), all.len())
    }

    /// The text of the field whose path ends so.
    fn text(&self, key: &str) -> &str {
        let end = format!("/{key}");
        let mut found = self.0.iter().filter(|(path, _)| path.ends_with(&end));
        found.next().map_or("", |(_, (_, text))| text)
    }

    fn has(&self, key: &str, parts: &[&str]) {
        let text = self.text(key);
        for part in parts {
            assert!(text.contains(part), "{key} lacks {part:?}: {text}");
        }
    }
}

/// Budgets of each kind, each with a table that `role` may ask about, and one that programs charge.
fn deployed(client: &mut Client, role: &str) {
    run(
        client,
        "CREATE TABLE pure (id int, x float8, site text);
         CREATE TABLE concentrated (id int, x float8); CREATE TABLE gauss (id int, x float8);
         CREATE TABLE visit (id int, day date, x float8)",
    );
    for sql in [
        "SELECT dp_set_budget('pure', 1, 0)",
        "SELECT dp_set_budget('pure', 3, 0)",
        "SELECT dp_set_budget('zcdp', 3, 1e-6, accounting => 'zcdp')",
        "SELECT dp_set_budget('gauss', 3, 1e-6)",
        "SELECT dp_set_budget('months', 2, 1e-6)",
        "SELECT dp_set_budget('programs', 1, 0)",
        "SELECT dp_protect('pure', 'id', 'pure', groups => 2, rows => 3)",
        "SELECT dp_declare('pure', 'x', 0, 52), dp_declare('pure', 'site', ARRAY['a', 'b', 'c'])",
        "SELECT dp_protect('concentrated', 'id', 'zcdp')",
        "SELECT dp_declare('concentrated', 'x', 0, 52)",
        "SELECT dp_protect('gauss', 'id', 'gauss', min_people => 20)",
        "SELECT dp_protect('visit', 'id', 'months', period => 'day', every => '1 month', since => '2026-01-01')",
        "SELECT dp_charge('programs', 0.25, 0)",
    ] {
        run(client, sql);
    }
    for table in ["pure", "concentrated", "gauss", "visit"] {
        run(client, &format!("SELECT dp_allow('{table}', '{role}')"));
    }
    run(
        client,
        &format!("SELECT dp_set_budget('pure', 0.5, 0, '{role}')"),
    );
    run(
        client,
        &format!("ALTER ROLE {role} SET session_preload_libraries = 'dp_mean'"),
    );
}

#[test]
fn a_record_is_as_the_registry_has_them() {
    let (database, mut owner) = session(Build::Release);
    let role = Role::new(&database);
    deployed(&mut owner, role.name());
    let mut analyst = role.connect();
    for sql in [
        "SELECT avg(x), count(*) FROM pure",
        "SELECT sum(x) FROM concentrated",
        "SELECT count(*) FROM gauss",
        "SELECT count(*) FROM visit WHERE day = '2026-01-05'",
    ] {
        rows(&mut analyst, sql);
    }
    for budget in ["pure", "zcdp", "gauss", "months"] {
        let mut record = Record::of(&mut owner, budget, ABOUT);
        assert_eq!(record.faults(), Vec::<String>::new(), "{budget}");
        assert_eq!(record.of_tier(2), (7, 7), "{budget}");
        // All but a justification.
        assert_eq!(record.of_tier(3), (11, 12), "{budget}");
        assert_eq!(record.text("tier"), "2", "{budget}");
        let about = ABOUT.replacen('{', r#"{"justification": "By the council.", "#, 1);
        record = Record::of(&mut owner, budget, &about);
        assert_eq!(record.faults(), Vec::<String>::new(), "{budget}");
        assert_eq!(record.text("tier"), "3", "{budget}");
        assert_eq!(
            record.text("url_slug"),
            format!("{budget}-ministry-of-health-2026")
        );
        assert_eq!(record.text("status"), "Draft");
        assert_eq!(record.text("name"), budget);
        let version: String = value(&mut owner, "SELECT dp_version()");
        record.has("mechanisms", &[&version, "Timing", "Floating point"]);
        record.has("access_type_details", &[role.name(), "combine"]);
    }
}

#[test]
fn a_record_says_what_the_catalogs_say() {
    let (database, mut owner) = session(Build::Release);
    let role = Role::new(&database);
    deployed(&mut owner, role.name());
    let mut analyst = role.connect();
    for sql in [
        "SELECT avg(x), count(*) FROM pure",
        "SELECT sum(x) FROM concentrated",
        "SELECT count(*) FROM gauss",
        "SELECT count(*) FROM visit WHERE day = '2026-01-05'",
    ] {
        rows(&mut analyst, sql);
    }
    let record = Record::of(
        &mut owner,
        "pure",
        r#"{"data_domain": "Clinics of the north."}"#,
    );
    assert_eq!(record.text("variant_name"), "Pure DP");
    assert_eq!(record.text("epsilon"), "3");
    assert_eq!(record.text("delta"), "");
    assert_eq!(record.text("privacy_unit"), "person");
    record.has(
        "data_domain",
        &[
            "`public.pure`",
            "`x` from 0",
            "52",
            "`site` (3)",
            "\n\nClinics of the north.",
        ],
    );
    record.has(
        "privacy_unit_details",
        &[
            "all rows of one person",
            "the person is `id`",
            "group: 3, groups of a query: 2",
        ],
    );
    record.has(
        "privacy_parameters_details",
        &["- (1, 0) from", "- (3, 0) from", "raised"],
    );
    record.has(
        "access_type_details",
        &[&format!("`{}` (0.5, 0)", role.name())],
    );
    record.has("mechanisms", &["dp_mean", "`dp_"]);
    record.has(
        "unprotected_quantities",
        &["Counters and sizes", "Running time"],
    );
    run(
        &mut owner,
        "BEGIN; REVOKE SELECT ON pg_stat_all_tables, pg_stat_database FROM PUBLIC;
        REVOKE EXECUTE ON FUNCTION pg_relation_size(regclass, text) FROM PUBLIC",
    );
    let shut = Record::of(&mut owner, "pure", "{}");
    run(&mut owner, "ROLLBACK");
    assert!(!shut.text("unprotected_quantities").contains("Counters"));

    let record = Record::of(&mut owner, "zcdp", "{}");
    assert_eq!(record.text("variant_name"), "Approximate DP");
    assert_eq!(
        (record.text("epsilon"), record.text("delta")),
        ("3", "0.000001")
    );
    record.has("composition", &["zero-concentrated"]);
    let record = Record::of(&mut owner, "gauss", "{}");
    assert_eq!(
        (record.text("epsilon"), record.text("delta")),
        ("3", "0.000001")
    );
    record.has("composition", &["Gaussian"]);
    record.has("mechanisms", &["`dp_count", "gaussian"]);
    record.has("preprocessing_and_hyperparameter_tuning", &["below 20"]);

    let record = Record::of(&mut owner, "months", "{}");
    assert_eq!(record.text("privacy_unit"), "person-month");
    assert_eq!(record.text("data_source_type"), "Dynamic");
    record.has(
        "privacy_unit_details",
        &["(month)", "2026-01-01", "the day is `day`"],
    );
    record.has(
        "release_type_details",
        &["Each period (month) has the whole limit"],
    );
    record.has(
        "privacy_parameters_details",
        &["about one person-month", "periods by now"],
    );

    // Rows that were taken out are not forgotten without a word.
    run(
        &mut owner,
        "SELECT count(*) FROM dp_ledger_archive(now(), 'gauss')",
    );
    let record = Record::of(&mut owner, "gauss", "{}");
    record.has(
        "mechanisms",
        &[
            "Used by now: none",
            "names no mechanism of what was asked before",
        ],
    );
    // Nor is a table that was asked, and is no longer protected.
    run(&mut owner, "SELECT dp_unprotect('gauss')");
    let record = Record::of(&mut owner, "zcdp", "{}");
    assert!(!record.text("data_domain").contains("Protected once"));
    run(&mut owner, "SELECT dp_unprotect('pure')");
    let record = Record::of(&mut owner, "pure", "{}");
    record.has("data_domain", &["Protected once, and asked then: `pure`"]);

    // Programs that charge say who a person is.
    let record = Record::of(&mut owner, "programs", "{}");
    assert_eq!(record.text("privacy_unit"), "");
    record.has("mechanisms", &["name no mechanism: 1"]);
    let record = Record::of(&mut owner, "programs", r#"{"privacy_unit": "household"}"#);
    assert_eq!(record.text("privacy_unit"), "household");
    let about = ABOUT.replacen(
        '{',
        r#"{"privacy_unit": "household", "release_type": "Many releases", "access_type": "Non-interactive",
            "data_product_type": "Summary statistics", "#,
        1,
    );
    let record = Record::of(&mut owner, "programs", &about);
    assert_eq!(record.faults(), Vec::<String>::new());
    assert_eq!(record.of_tier(2), (7, 7));
}

/// What was spent is not made less by a lower limit.
#[test]
fn a_record_promises_no_less_than_was_spent() {
    let (_database, mut owner) = session(Build::Release);
    run(&mut owner, "SELECT dp_set_budget('all', 4, 0)");
    run(&mut owner, "SELECT dp_charge('all', 3.5, 0)");
    run(&mut owner, "SELECT dp_set_budget('all', 1, 0)");
    let record = Record::of(&mut owner, "all", "{}");
    assert_eq!(record.text("epsilon"), "3.5");
    record.has(
        "privacy_parameters_details",
        &["lowered", "More was spent than the last limit"],
    );
    run(&mut owner, "SELECT dp_close_budget('all')");
    let record = Record::of(&mut owner, "all", "{}");
    record.has("release_type_details", &["It is closed"]);
    record.has("privacy_parameters_details", &["the budget was closed"]);
}

/// A check by the schema names what people have to fill in.
#[test]
fn what_is_missing_is_null() {
    let (database, mut owner) = session(Build::Release);
    let role = Role::new(&database);
    deployed(&mut owner, role.name());
    let record = Record::of(&mut owner, "pure", "{}");
    assert_eq!(record.text("tier"), "1");
    let mut faults = record.faults();
    faults.sort();
    let basic = |key: &str| format!("/deployment/basic/{key}");
    assert_eq!(
        faults,
        [
            "/deployment/administrative/registry_authors".to_owned(),
            basic("data_curators"),
            basic("data_product_region"),
            basic("description"),
            basic("intended_use"),
            basic("publication_date"),
            "/url_slug".to_owned(),
        ]
    );
}

#[test]
fn what_people_say_is_checked() {
    let (database, mut owner) = session(Build::Release);
    let role = Role::new(&database);
    deployed(&mut owner, role.name());
    for (about, message, hint) in [
        (
            r#"{"curator": "x"}"#,
            "has an unknown key \"curator\"",
            "data_curators",
        ),
        (
            r#"{"epsilon": 1}"#,
            "\"epsilon\": the catalog says it",
            "Leave it out.",
        ),
        (
            r#"{"privacy_unit": "x"}"#,
            "\"privacy_unit\": the catalog",
            "Leave it out.",
        ),
        (r#"{"description": ""}"#, "key \"description\"", "not empty"),
        (r#"{"description": 1}"#, "key \"description\"", "not empty"),
        (
            r#"{"data_curators": "x"}"#,
            "key \"data_curators\"",
            "array",
        ),
        (r#"{"data_curators": []}"#, "key \"data_curators\"", "array"),
        (
            r#"{"data_curators": ["x", 1]}"#,
            "key \"data_curators\"",
            "array",
        ),
        (
            r#"{"publication_date": "2026-02-29"}"#,
            "key \"publication_date\"",
            "YYYY-MM-DD",
        ),
        (
            r#"{"publication_date": "1/1/2026"}"#,
            "key \"publication_date\"",
            "YYYY-MM-DD",
        ),
        (r#"{"status": "Done"}"#, "key \"status\"", "Draft"),
        (r#"{"notes": null}"#, "key \"notes\"", "text"),
        ("[]", "must be a JSON object", "data_curators"),
        ("null", "must be a JSON object", "data_curators"),
    ] {
        let refusal = refused(
            &mut owner,
            &format!("SELECT dp_deployment('pure', '{about}')"),
        );
        assert_eq!(refusal.code, "22023", "{about}");
        assert!(
            refusal.message.contains("argument \"about\""),
            "{refusal:?}"
        );
        assert!(refusal.message.contains(message), "{about}: {refusal:?}");
        assert!(refusal.hint.contains(hint), "{about}: {refusal:?}");
    }
    for (call, code) in [
        ("dp_deployment('pure', NULL)", "22023"),
        ("dp_deployment(NULL)", "22023"),
        ("dp_deployment('')", "22023"),
        ("dp_deployment('none')", "42704"),
    ] {
        assert_eq!(
            refused(&mut owner, &format!("SELECT {call}")).code,
            code,
            "{call}"
        );
    }
    // A leap day is a day.
    let leap = r#"{"publication_date": "2028-02-29"}"#;
    assert_eq!(
        Record::of(&mut owner, "pure", leap).text("publication_date"),
        "2028-02-29"
    );
}

#[test]
fn a_record_is_for_the_owner_of_the_budget() {
    let (database, mut owner) = session(Build::Release);
    let role = Role::new(&database);
    deployed(&mut owner, role.name());
    let mut analyst = role.connect();
    let refusal = refused(&mut analyst, "SELECT dp_deployment('pure')");
    assert_eq!(refusal.code, "42501");
    assert!(
        refusal.message.contains("must be owner of budget \"pure\""),
        "{refusal:?}"
    );
    for view in ["deployed_budget", "deployed_table"] {
        assert_eq!(
            refused(&mut analyst, &format!("SELECT * FROM dp_mean.{view}")).code,
            "42501"
        );
    }
    // Where the schema is open, the views have the lines of one's own budgets alone.
    run(
        &mut owner,
        &format!("GRANT USAGE ON SCHEMA dp_mean TO {}", role.name()),
    );
    for view in ["deployed_budget", "deployed_table"] {
        let sql = format!("SELECT count(*) FROM dp_mean.{view}");
        assert_eq!(value::<i64>(&mut analyst, &sql), 0, "{view}");
    }
    run(
        &mut owner,
        &format!("REVOKE USAGE ON SCHEMA dp_mean FROM {}", role.name()),
    );
    // The table is another's: its policy is in the record all the same.
    run(
        &mut owner,
        &format!("SELECT dp_set_budget_owner('zcdp', '{}')", role.name()),
    );
    let record = Record::of(&mut analyst, "zcdp", "{}");
    record.has("data_domain", &["`public.concentrated`"]);
    record.has("access_type_details", &[role.name()]);
    run(
        &mut owner,
        "SELECT dp_set_budget_owner('zcdp', current_role::regrole)",
    );
    assert_eq!(
        refused(&mut analyst, "SELECT dp_deployment('zcdp')").code,
        "42501"
    );
}
