//! Why a query is refused. A reason names tables, columns and functions of the query, never a value of a row.

/// Why a query about a protected table has no answer.
pub struct Reason {
    /// What is in the way.
    pub why: String,
    /// What to do instead; absent: ask as the example of the table does.
    pub hint: Option<String>,
}

impl Reason {
    pub fn new(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            hint: None,
        }
    }

    pub fn with_hint(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            hint: Some(hint.into()),
        }
    }
}

impl From<&str> for Reason {
    fn from(why: &str) -> Self {
        Self::new(why)
    }
}

impl From<String> for Reason {
    fn from(why: String) -> Self {
        Self::new(why)
    }
}

pub type Checked<T> = Result<T, Reason>;
