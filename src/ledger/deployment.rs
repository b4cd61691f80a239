//! What the caller of `dp_deployment` says of a deployment: the keys of `about`, with what each takes. The names and
//! the choices are those of the schema of the public registry:
//! <https://github.com/opendp/deployments-registry-data>, `schemas/deployments-schema.yaml`.

use dp_core::error::ParameterError;
use serde_json::{Map, Value};

/// What a key holds.
enum Kind {
    Text,
    /// One text or more.
    Texts,
    /// A day, as YYYY-MM-DD.
    Day,
    OneOf(&'static [&'static str]),
}

use Kind::{Day, OneOf, Text, Texts};

/// What people say.
const KEYS: &[(&str, Kind)] = &[
    (
        "status",
        OneOf(&[
            "Converted",
            "Draft",
            "Pending",
            "Changes Required",
            "Approved",
            "Approved (Update Requested)",
            "Approved (Pending)",
        ]),
    ),
    ("name", Text),
    ("data_curators", Texts),
    ("intended_use", Text),
    (
        "data_product_type",
        OneOf(&[
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ]),
    ),
    ("data_product_region", Text),
    ("description", Text),
    ("publication_date", Day),
    (
        "data_product_sector",
        OneOf(&[
            "Technology",
            "Healthcare",
            "Education",
            "Government",
            "Energy",
            "Finance",
        ]),
    ),
    ("data_domain", Text),
    ("unprotected_quantities", Text),
    ("privacy_unit", Text),
    ("privacy_unit_details", Text),
    ("privacy_parameters_details", Text),
    ("model_name_details", Text),
    ("actors", Text),
    ("release_type", OneOf(&["One release", "Many releases"])),
    ("release_type_details", Text),
    ("data_source_type", OneOf(&["Static", "Dynamic"])),
    ("data_source_type_details", Text),
    ("access_type", OneOf(&["Interactive", "Non-interactive"])),
    ("access_type_details", Text),
    ("post_processing", Text),
    ("composition", Text),
    ("preprocessing_and_hyperparameter_tuning", Text),
    ("mechanisms", Text),
    ("justification", Text),
    ("sources", Text),
    ("notes", Text),
    ("registry_authors", Texts),
];

/// What only the catalog says.
const OF_CATALOG: &[&str] = &[
    "url_slug",
    "tier",
    "variant_name",
    "privacy_parameters",
    "epsilon",
    "delta",
    "rho",
    "model_name",
];

/// What the catalog says where tables are protected, and people elsewhere.
const OF_TABLES: &[&str] = &["privacy_unit", "release_type", "access_type"];

/// The most characters of a key that a message shows.
const SHOWN: usize = 63;

/// Checks what the caller says; `protects` is whether the budget pays for a protected table.
///
/// # Errors
/// It is no object, or has a key that is unknown, or whose value is not as the schema has it.
pub fn check(about: &str, protects: bool) -> Result<(), ParameterError> {
    let Ok(about) = serde_json::from_str::<Map<String, Value>>(about) else {
        return Err(error("must be a JSON object", &known()));
    };
    for (key, value) in &about {
        check_key(key, value, protects)?;
    }
    Ok(())
}

fn check_key(key: &str, value: &Value, protects: bool) -> Result<(), ParameterError> {
    if OF_CATALOG.contains(&key) || protects && OF_TABLES.contains(&key) {
        let message = format!("must not have the key \"{key}\": the catalog says it");
        return Err(error(&message, "Leave it out."));
    }
    let Some((_, kind)) = KEYS.iter().find(|(known, _)| *known == key) else {
        let shown: String = key.chars().take(SHOWN).collect();
        return Err(error(&format!("has an unknown key \"{shown}\""), &known()));
    };
    let (fits, what) = match kind {
        Text => (is_text(value), "be a text that is not empty".to_owned()),
        Texts => {
            let texts = value.as_array();
            let fits = texts.is_some_and(|texts| !texts.is_empty() && texts.iter().all(is_text));
            (fits, "be an array of texts, at least one".to_owned())
        }
        Day => {
            let fits = value.as_str().is_some_and(is_day);
            (fits, "be a day, as YYYY-MM-DD".to_owned())
        }
        OneOf(choices) => {
            let fits = value.as_str().is_some_and(|text| choices.contains(&text));
            (fits, format!("be one of: {}", choices.join(", ")))
        }
    };
    match fits {
        true => Ok(()),
        false => Err(error(
            &format!("must have another value of the key \"{key}\""),
            &format!("It must {what}."),
        )),
    }
}

fn error(message: &str, hint: &str) -> ParameterError {
    ParameterError::new("about", message, hint)
}

fn known() -> String {
    let keys: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
    format!("Keys are: {}.", keys.join(", "))
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Whether a text is a day of the calendar, as YYYY-MM-DD.
fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_form = bytes.len() == 10
        && bytes.iter().enumerate().all(|(i, byte)| match i {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if !is_form {
        return false;
    }
    let number = |digits: &str| digits.parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(&text[..4]), number(&text[5..7]), number(&text[8..]));
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}
