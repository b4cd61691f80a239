//! What the aggregates of a block ask for.

use dp_core::noise::OfPairs;
use dp_core::registry;
use dp_core::request::unit::Given;
use pgrx::pg_sys::{Aggref, Node};

use crate::call::signature::Role;
use crate::gate::block::Block;
use crate::gate::rejection::{Checked, Reason};
use crate::pg::tree::Ref;

/// What one aggregate asks for.
pub enum What {
    /// Rows.
    Count,
    /// People.
    People,
    /// Values, each once. No two people have the same, where each is a key of a row.
    Values {
        are_keys: bool,
    },
    Mean,
    Sum,
    Variance,
    Stddev,
    /// The quantile of this rank, from 0 to 1.
    Quantile(f64),
    /// Those of these ranks; NULL is `None`.
    Quantiles(Vec<Option<f64>>),
    /// What is asked of two columns.
    OfTwo(OfTwo),
    /// The lower public bound.
    Least,
    /// The upper public bound.
    Greatest,
    /// A day or time that is public, in microseconds since 2000.
    Moment(i64),
    /// What an aggregate of ours answers.
    Own(Own),
}

impl What {
    /// Whether it is a mean or a sum: these may be one release, with a count.
    pub fn is_of_numbers(&self) -> bool {
        matches!(self, Self::Mean | Self::Sum)
    }

    /// Whether it may find its bounds where nothing bounds the numbers.
    pub fn may_find_bounds(&self) -> bool {
        self.is_of_numbers() || matches!(self, Self::Variance | Self::Stddev)
    }
}

/// What PostgreSQL's aggregates of two columns answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfTwo(OfPairs);

impl OfTwo {
    pub fn named(name: &str) -> Option<Self> {
        Some(Self(match name {
            "regr_slope" => OfPairs::Slope,
            "regr_intercept" => OfPairs::Intercept,
            "corr" => OfPairs::Correlation,
            "regr_r2" => OfPairs::R2,
            "covar_pop" | "covar_samp" => OfPairs::Covariance,
            "regr_avgy" => OfPairs::MeanOfY,
            "regr_avgx" => OfPairs::MeanOfX,
            "regr_count" => OfPairs::Count,
            _ => return None,
        }))
    }

    /// The aggregate that answers this alone, and more accurately than `dp_regr`, if there is one.
    pub fn alone(self) -> Option<&'static str> {
        match self.0 {
            OfPairs::Slope => Some("dp_regr_slope"),
            OfPairs::Intercept => Some("dp_regr_intercept"),
            OfPairs::Correlation => Some("dp_corr"),
            OfPairs::Covariance => Some("dp_covar_pop"),
            OfPairs::R2 | OfPairs::MeanOfY | OfPairs::MeanOfX | OfPairs::Count => None,
        }
    }

    /// Which number of a release of `dp_regr` it is.
    pub fn number(self) -> OfPairs {
        self.0
    }

    /// Which field of `dp_regr_answer` it is, from 1.
    pub fn field(self) -> i16 {
        match self.0 {
            OfPairs::Slope => 1,
            OfPairs::Intercept => 2,
            OfPairs::Correlation => 3,
            OfPairs::R2 => 4,
            OfPairs::Covariance => 5,
            OfPairs::MeanOfY => 6,
            OfPairs::MeanOfX => 7,
            OfPairs::Count => 10,
        }
    }
}

/// A column of numbers between public bounds.
#[derive(Clone, Copy)]
pub struct Numbers<'t> {
    pub argument: Ref<'t, Node>,
    pub bounds: (f64, f64),
}

/// What an aggregate of ours reads of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Whether each is counted.
    Counted,
    /// Which people they are of.
    People,
    /// One number of each, or two.
    Numbers,
    /// One number of each, where a row is a person.
    NumbersOfRows,
    /// Yes or no, several times.
    Questions,
    /// Several numbers of each, where a row is a person.
    Vectors,
    /// The same, and one that they may explain.
    Columns,
}

/// An aggregate of ours, called by name.
pub struct Own {
    pub name: &'static str,
    pub reads: Reads,
    /// The public arguments but for the mechanism, in their order.
    pub arguments: Vec<(Role, f64)>,
    /// Which quantiles, of an aggregate that answers several.
    pub quantiles: Option<Vec<Option<f64>>>,
    /// The lower and the upper bounds of several columns.
    pub columns: [Vec<Option<f64>>; 2],
    pub mechanism: Option<String>,
}

impl Own {
    /// The value of an argument.
    pub fn value(&self, role: Role) -> Option<f64> {
        let found = self.arguments.iter().find(|(known, _)| *known == role);
        found.map(|(_, value)| *value)
    }

    /// The rows and groups of a person that it asks for by its mechanism.
    pub fn given(&self) -> Checked<Given> {
        let text = self.mechanism.as_deref();
        let given = text.map_or(Ok(Given::default()), registry::given_unit);
        given.map_err(|error| Reason::with_hint(error.to_string(), error.hint.clone()))
    }
}

/// An aggregate of a block, checked.
pub struct Asked<'t> {
    pub call: Ref<'t, Aggref>,
    pub what: What,
    /// What it is about, as it is computed for private rows: a number, or for counts anything that is not NULL.
    pub argument: Option<Ref<'t, Node>>,
    pub filter: Option<Ref<'t, Node>>,
    /// Of an argument that is a number.
    pub bounds: Option<(f64, f64)>,
    /// The second of two columns; the argument is the first.
    pub x: Option<Numbers<'t>>,
    /// The questions or the numbers of one release, where there are several.
    pub several: Vec<Ref<'t, Node>>,
}

impl<'t> Asked<'t> {
    /// Whether it is a number of people, where a row is a person or not.
    pub fn counts_people(&self, is_row: bool) -> bool {
        match &self.what {
            What::People => true,
            What::Own(own) => match own.reads {
                Reads::People => true,
                Reads::Questions => !is_row,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether both are about the same numbers of the same rows.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        same(self.argument, other.argument)
            && same(self.x.map(|x| x.argument), other.x.map(|x| x.argument))
            && self.x.map(|x| x.bounds) == other.x.map(|x| x.bounds)
            && same(self.filter, other.filter)
            && (self.bounds == other.bounds || self.bounds.is_none() || other.bounds.is_none())
    }
}

/// The most groups that a person is kept in: those of the policy, or fewer where an aggregate asks for that. What is
/// more than the policy's is refused, as what the noise is for must be what a person counts for.
pub fn groups<'t>(block: &Block<'t>, asked: &[Asked<'t>]) -> Checked<u32> {
    let mut least: Option<u32> = None;
    for own in asked.iter().filter_map(|asked| match &asked.what {
        What::Own(own) => Some(own),
        _ => None,
    }) {
        let given = own.given()?;
        for (name, given, most) in [
            ("rows", given.rows, block.most_rows),
            ("groups", given.groups, block.most_groups),
        ] {
            if let Some(given) = given.filter(|given| *given > most) {
                return Err(Reason::with_hint(
                    format!(
                        "{} asks for {name}={given}, above the {most} of its policy",
                        own.name
                    ),
                    format!(
                        "Ask for {name}={most} or less, or leave {name}= out. The owner of the table says how many by \
                         dp_protect(..., {name} => {most})."
                    ),
                ));
            }
        }
        match (least, given.groups) {
            (Some(one), Some(other)) if one != other => {
                return Err(Reason::with_hint(
                    format!("two aggregates of the query ask for groups={one} and groups={other}"),
                    "Say the same groups= in all of them, or ask in queries of their own.",
                ));
            }
            (_, groups) => least = least.or(groups),
        }
    }
    Ok(least.unwrap_or(block.most_groups))
}

/// Whether both are absent, or say the same.
pub fn same<'t>(one: Option<Ref<'t, Node>>, other: Option<Ref<'t, Node>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.same(other),
        _ => false,
    }
}
