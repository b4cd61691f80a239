//! Keys that are made of one column of integers, dates or times, where WHERE has constant ends for it, or ends that are
//! known when the query runs: their values are those of the key over all values between the ends, with rows or without.
//! No row has another value. Of times these are few enough where the key is the same for all times of a day, an hour or
//! a minute: one of each is enough.

use pgrx::pg_sys::{self, Node, NodeTag, Oid};

use crate::gate::canonical_keys;
use crate::gate::expression;
use crate::gate::time_granules::{self, Granule};
use crate::pg::constant;
use crate::pg::tree::{self, Ref, Step};

/// The most groups of values that the query says itself.
pub const MOST_GROUPS: usize = 10_000;

/// The most values of a column for which the values of the key are computed when the query is planned.
const MOST_COMPUTED: usize = 400;

/// Parts of days and times, and casts of these, which raise no error of one between the ends.
const PARTS_AND_CASTS: [u32; 9] = [
    pg_sys::F_EXTRACT_TEXT_DATE,
    pg_sys::F_EXTRACT_TEXT_TIMESTAMP,
    pg_sys::F_DATE_PART_TEXT_DATE,
    pg_sys::F_DATE_PART_TEXT_TIMESTAMP,
    pg_sys::F_DATE_TIMESTAMP,
    pg_sys::F_INT4_NUMERIC,
    pg_sys::F_INT8_NUMERIC,
    pg_sys::F_INT4_FLOAT8,
    pg_sys::F_FLOAT8_NUMERIC,
];

/// The families of operators that compare integers with each other, and dates with times.
const INTEGERS: Oid = Oid::from_u32(1976);
const TIMES: Oid = Oid::from_u32(434);

/// Microseconds of a day.
const DAY: i128 = 86_400_000_000;

/// Dates and times without an end.
const ENDLESS: [i64; 4] = [i64::MIN, i64::MAX, i32::MIN as i64, i32::MAX as i64];

/// The values of a key between two ends of its column.
#[derive(Clone)]
pub struct Range<'t> {
    /// The key as it is computed of a row, and the conditions on its column alone; the column is the only one of the
    /// only entry in FROM.
    pub key: Ref<'t, Node>,
    pub conditions: Vec<Ref<'t, Node>>,
    /// The number of its table in FROM, and its own.
    pub column: (i32, i16),
    /// The key as it is written, of that column.
    written: Ref<'t, Node>,
    kind: Oid,
    least: End<'t>,
    greatest: End<'t>,
    /// How far apart two values are, so that one is of each value of the key: 1 but of times.
    step: i128,
    /// A value in the place of NULL.
    pub any: &'static str,
}

/// An end of a column, in its units: days of dates, microseconds of times.
#[derive(Clone, Default)]
struct End<'t> {
    /// The constant that it is.
    constant: Option<i128>,
    computed: Vec<Computed<'t>>,
}

/// An end that is known when the query runs, as `now() - interval '30 days'`.
#[derive(Clone, Copy)]
struct Computed<'t> {
    value: Ref<'t, Node>,
    /// What is added to it: a microsecond more or less, where the value itself is left out.
    more: i128,
    /// What that is now.
    now: i128,
}

impl<'t> End<'t> {
    /// All that it is now: the greatest of them counts from below, and the least from above.
    fn now(&self) -> impl Iterator<Item = i128> {
        let computed = self.computed.iter().map(|end| end.now);
        self.constant.into_iter().chain(computed)
    }

    /// It in SQL; `choose` is `GREATEST` or `LEAST`.
    fn sql(
        &self,
        choose: &str,
        kind: Oid,
        parameter: &mut dyn FnMut(Ref<'t, Node>) -> usize,
    ) -> String {
        let constant = self.constant.map(|end| format!("({end})::pg_catalog.int8"));
        let computed = self.computed.iter();
        let computed = computed.map(|end| {
            let value = units(kind, &format!("${}", parameter(end.value)));
            format!(
                "({value} OPERATOR(pg_catalog.+) ({})::pg_catalog.int8)",
                end.more
            )
        });
        let all = constant.into_iter().chain(computed).collect::<Vec<_>>();
        format!("{choose}({})", all.join(", "))
    }
}

/// A day or time in SQL, in the units of a column.
fn units(kind: Oid, value: &str) -> String {
    /// From 1970 to 2000.
    const MICROSECONDS: i64 = 946_684_800_000_000;
    let name = match kind {
        pg_sys::TIMESTAMPOID => "timestamp",
        pg_sys::TIMESTAMPTZOID => "timestamptz",
        _ => {
            return format!(
                "(({value})::pg_catalog.date OPERATOR(pg_catalog.-) '2000-01-01'::pg_catalog.date)::pg_catalog.int8"
            );
        }
    };
    format!(
        "((pg_catalog.\"extract\"('epoch', ({value})::pg_catalog.{name}) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8 \
         OPERATOR(pg_catalog.-) {MICROSECONDS})"
    )
}

impl<'t> Range<'t> {
    fn ends_now(&self) -> (i128, i128) {
        let (least, greatest) = (self.least.now().max(), self.greatest.now().min());
        (least.unwrap_or(1), greatest.unwrap_or(0))
    }

    /// The most values that there are.
    pub fn count(&self) -> usize {
        let (least, greatest) = self.ends_now();
        let between = (greatest - least).div_euclid(self.step);
        let ends = if self.step == 1 { 1 } else { 2 };
        usize::try_from(between + ends).unwrap_or(0)
    }

    /// The values of the key as texts, where the ends are constants that are near each other.
    pub fn constants(&self) -> Option<Vec<String>> {
        let is_constant = self.least.computed.is_empty() && self.greatest.computed.is_empty();
        let may_raise = tree::any(self.written, |node| match node.cast::<pg_sys::FuncExpr>() {
            Some(call) => !PARTS_AND_CASTS.contains(&call.funcid().to_u32()),
            None => node
                .operator()
                .is_some_and(|one| !expression::is_comparison(one)),
        });
        if !is_constant || may_raise || self.count() > MOST_COMPUTED {
            return None;
        }
        let (least, greatest) = self.ends_now();
        let mut value = least;
        let mut found = Vec::new();
        while value <= greatest {
            let key = tree::change(self.written.copy(), &mut |node| {
                let column = node.cast::<pg_sys::Var>()?;
                let (length, value) = datum(self.kind, value)?;
                Some(tree::number(column.memory(), self.kind, length, value))
            });
            let key = tree::fold(None, key).cast::<pg_sys::Const>()?;
            let text = (!key.constisnull()).then(|| constant::text_of(key));
            if found.last() != text.as_ref() {
                found.extend(text);
            }
            // The last one too, which may be less than a step behind the one before.
            value = match value < greatest {
                true => (value + self.step).min(greatest),
                false => greatest + 1,
            };
        }
        Some(found)
    }

    /// The values of the column in FROM; `parameter` is the number of an expression in it.
    pub fn series(&self, parameter: &mut dyn FnMut(Ref<'t, Node>) -> usize) -> String {
        let is_constant = self.least.computed.is_empty() && self.greatest.computed.is_empty();
        let (least, greatest) = self.ends_now();
        // Without a value the ends are 1 and 0, which any type can have.
        let (least, greatest) = match is_constant && least > greatest {
            true => ("1".to_owned(), "0".to_owned()),
            false => (
                self.least.sql("GREATEST", self.kind, parameter),
                self.greatest.sql("LEAST", self.kind, parameter),
            ),
        };
        if time_granules::is_time(self.kind) {
            return time_granules::series(self.kind, &least, &greatest, self.step);
        }
        let series = format!(
            "pg_catalog.generate_series(({least})::pg_catalog.int8, ({greatest})::pg_catalog.int8) AS n"
        );
        let value = match self.kind {
            pg_sys::INT2OID => "n::pg_catalog.int2",
            pg_sys::INT4OID => "n::pg_catalog.int4",
            pg_sys::INT8OID => "n",
            _ => "('2000-01-01'::pg_catalog.date OPERATOR(pg_catalog.+) n::pg_catalog.int4)",
        };
        format!("(SELECT {value} AS x FROM {series}) s")
    }
}

/// The combinations of values of several keys of one column, each with its number, as columns `k{i}`; `parameter` is the
/// number of an expression.
pub fn list<'t>(
    keys: &[(usize, &Range<'t>)],
    parameter: &mut dyn FnMut(Ref<'t, Node>) -> usize,
) -> String {
    // Values that are near enough to each other for all keys.
    let Some((_, finest)) = keys.iter().min_by_key(|(_, range)| range.step) else {
        return String::new();
    };
    let columns = keys
        .iter()
        .map(|(i, range)| format!("${} AS k{i}", parameter(range.key)));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let conditions = finest.conditions.iter();
    let conditions = conditions.map(|one| format!("${}", parameter(*one)));
    let conditions = ["true".to_owned()].into_iter().chain(conditions);
    let conditions = conditions.collect::<Vec<_>>().join(" AND ");
    let series = finest.series(parameter);
    format!("SELECT DISTINCT {columns} FROM {series} WHERE {conditions}")
}

/// A value of a column from its units, with the length of its type.
fn datum(kind: Oid, value: i128) -> Option<(i32, pg_sys::Datum)> {
    Some(match kind {
        pg_sys::INT2OID => (2, i16::try_from(value).ok()?.into()),
        pg_sys::INT4OID | pg_sys::DATEOID => (4, i32::try_from(value).ok()?.into()),
        _ => (8, i64::try_from(value).ok()?.into()),
    })
}

/// The values of a key, as it is written and as it is computed of a row, if the conditions that all rows meet have ends
/// for its column, in which any value `is_dense`. `folded` computes constants, and `estimated` what is known now.
pub fn of<'t>(
    written: Ref<'t, Node>,
    computed: Ref<'t, Node>,
    conditions: &[Ref<'t, Node>],
    is_dense: &dyn Fn(i32, i16) -> bool,
    folded: &dyn Fn(Ref<'t, Node>) -> Ref<'t, Node>,
    estimated: &dyn Fn(Ref<'t, Node>) -> Ref<'t, Node>,
) -> Option<Range<'t>> {
    let kind = tree::type_of(written);
    let written = folded(written.copy());
    let any = match kind == pg_sys::BOOLOID || is_case_of_constants(written) {
        true => canonical_keys::any_value(kind),
        false => canonical_keys::any_number_or_time(kind),
    };
    let any = any?;
    // No parameter of a plan, and nothing that reads a table.
    let is_plain = !tree::any(written, |node| {
        ![
            NodeTag::T_Var,
            NodeTag::T_Const,
            NodeTag::T_FuncExpr,
            NodeTag::T_OpExpr,
            NodeTag::T_NullIfExpr,
            NodeTag::T_BoolExpr,
            NodeTag::T_CaseExpr,
            NodeTag::T_CaseWhen,
            NodeTag::T_CoalesceExpr,
            NodeTag::T_RelabelType,
            NodeTag::T_List,
        ]
        .contains(&node.tag())
    });
    let column = column_of(written).filter(|_| is_plain)?;
    if !is_dense(column.varno(), column.varattno()) {
        return None;
    }
    let kind = tree::type_of(column.node());
    let is_column = |node| is_same(node, column);
    let granule = |node| match time_granules::is_time(kind) {
        true => time_granules::of(node, &is_column),
        false => Some(Granule::Value),
    };
    let granule_of_key = granule(written)?;
    let (mut least, mut greatest) = (End::default(), End::default());
    for condition in conditions {
        let condition = folded(condition.copy());
        let Some(comparison) = Comparison::of(condition, kind, &is_column) else {
            continue;
        };
        if let Some((from, to)) = comparison.constant_ends(kind) {
            least.constant = from.into_iter().chain(least.constant).max();
            greatest.constant = to.into_iter().chain(greatest.constant).min();
        } else if let Some(end) = comparison.computed_end(kind, granule_of_key, estimated) {
            let (is_least, is_greatest) = comparison.sides();
            least.computed.extend(is_least.then_some(end));
            greatest.computed.extend(is_greatest.then_some(end));
        }
    }
    if least.now().next().is_none() || greatest.now().next().is_none() {
        return None;
    }
    let value = |node: Ref<'t, Node>| {
        is_column(node).then(|| tree::var(node.memory(), 1, 1, kind, -1, Oid::INVALID))
    };
    let of_value = |node: Ref<'t, Node>| tree::change(node.copy(), &mut |node| value(node));
    let on_column = conditions.iter().filter(|condition| {
        !tree::has_sublinks(**condition)
            && column_of(**condition).is_some_and(|one| is_column(one.node()))
            // What is not the same for all times that one is taken of says nothing of the others.
            && granule(**condition).is_some_and(|of| of >= granule_of_key)
    });
    let (lowest, highest) = match kind {
        pg_sys::INT2OID => (i128::from(i16::MIN), i128::from(i16::MAX)),
        pg_sys::INT4OID | pg_sys::DATEOID => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    least.constant = least.constant.map(|end| end.max(lowest));
    greatest.constant = greatest.constant.map(|end| end.min(highest));
    let range = Range {
        key: of_value(computed),
        conditions: on_column.map(|condition| of_value(*condition)).collect(),
        column: (column.varno(), column.varattno()),
        written: of_value(written),
        kind,
        least,
        greatest,
        step: granule_of_key.step(kind),
        any,
    };
    (range.count() <= MOST_GROUPS).then_some(range)
}

/// Whether an expression is CASE with constants as its values.
fn is_case_of_constants(node: Ref<Node>) -> bool {
    let Some(case) = node.cast::<pg_sys::CaseExpr>() else {
        return false;
    };
    let mut whens = case.args().into_iter();
    let is_constant = |value: Option<Ref<Node>>| value.and_then(tree::constant).is_some();
    whens.all(|when| {
        let when = when.cast::<pg_sys::CaseWhen>();
        is_constant(when.and_then(|when| when.result()))
    }) && case
        .defresult()
        .is_none_or(|other| is_constant(Some(other)))
}

/// The only column in an expression, if it is of integers, dates or times.
fn column_of<'t>(node: Ref<'t, Node>) -> Option<Ref<'t, pg_sys::Var>> {
    let mut found: Option<Ref<'t, pg_sys::Var>> = None;
    let is_other = tree::search(node, &mut |node, level| {
        let Some(column) = node.cast::<pg_sys::Var>() else {
            return Step::Below;
        };
        let is_other = found.is_some_and(|known| !is_same(node, known));
        found = Some(column);
        match is_other || level > 0 || column.varlevelsup() > 0 {
            true => Step::Stop,
            false => Step::Below,
        }
    });
    let kinds = [
        pg_sys::INT2OID,
        pg_sys::INT4OID,
        pg_sys::INT8OID,
        pg_sys::DATEOID,
        pg_sys::TIMESTAMPOID,
        pg_sys::TIMESTAMPTZOID,
    ];
    found.filter(|column| !is_other && kinds.contains(&tree::type_of(column.node())))
}

/// Whether a node is a column.
fn is_same(node: Ref<Node>, column: Ref<pg_sys::Var>) -> bool {
    let place =
        |column: Ref<pg_sys::Var>| (column.varno(), column.varattno(), column.varlevelsup());
    let node = node.cast::<pg_sys::Var>();
    node.is_some_and(|node| place(node) == place(column))
}

/// A comparison of the column with another value.
struct Comparison<'t> {
    value: Ref<'t, Node>,
    /// That of a B-tree, with the column on the left.
    strategy: u32,
}

impl<'t> Comparison<'t> {
    fn of(
        condition: Ref<'t, Node>,
        kind: Oid,
        is_column: &dyn Fn(Ref<'t, Node>) -> bool,
    ) -> Option<Self> {
        let comparison = condition.operator();
        let comparison = comparison.filter(|_| condition.tag() == NodeTag::T_OpExpr)?;
        let [one, other] = comparison.args().nodes()[..] else {
            return None;
        };
        let (value, is_left) = match (is_column(one), is_column(other)) {
            (true, false) => (other, true),
            (false, true) => (one, false),
            _ => return None,
        };
        let family = match kind {
            pg_sys::DATEOID | pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => TIMES,
            _ => INTEGERS,
        };
        // SAFETY: a lookup in the catalog, which answers for any numbers.
        let strategy =
            unsafe { pg_sys::get_op_opfamily_strategy(comparison.opno(), family) } as u32;
        let is_strategy = (1..=pg_sys::BTMaxStrategyNumber).contains(&strategy);
        is_strategy.then(|| Self {
            value,
            strategy: match is_left {
                true => strategy,
                false => pg_sys::BTMaxStrategyNumber + 1 - strategy,
            },
        })
    }

    /// Whether it leaves out values below, and values above.
    fn sides(&self) -> (bool, bool) {
        let is_any = |strategies: [u32; 3]| strategies.contains(&self.strategy);
        let equal = pg_sys::BTEqualStrategyNumber;
        let greater = [
            pg_sys::BTGreaterStrategyNumber,
            pg_sys::BTGreaterEqualStrategyNumber,
        ];
        let less = [
            pg_sys::BTLessStrategyNumber,
            pg_sys::BTLessEqualStrategyNumber,
        ];
        (
            is_any([equal, greater[0], greater[1]]),
            is_any([equal, less[0], less[1]]),
        )
    }

    /// The least and the greatest value of a column of type `kind` that a constant leaves.
    fn constant_ends(&self, kind: Oid) -> Option<(Option<i128>, Option<i128>)> {
        let constant = self.value;
        let value = tree::constant(constant).flatten()?.value() as i64;
        let value = match (kind, tree::type_of(constant)) {
            (pg_sys::DATEOID | pg_sys::TIMESTAMPOID, pg_sys::DATEOID)
                if !ENDLESS.contains(&i64::from(value as i32)) =>
            {
                i128::from(value as i32) * DAY
            }
            (pg_sys::DATEOID | pg_sys::TIMESTAMPOID, pg_sys::TIMESTAMPOID)
            | (pg_sys::TIMESTAMPTZOID, pg_sys::TIMESTAMPTZOID)
                if !ENDLESS.contains(&value) =>
            {
                i128::from(value)
            }
            (pg_sys::DATEOID | pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID, _) => return None,
            (_, pg_sys::INT2OID) => i128::from(value as i16),
            (_, pg_sys::INT4OID) => i128::from(value as i32),
            (_, pg_sys::INT8OID) => i128::from(value),
            _ => return None,
        };
        let step = if kind == pg_sys::DATEOID { DAY } else { 1 };
        let (below, above) = (value.div_euclid(step), -(-value).div_euclid(step));
        Some(match self.strategy {
            pg_sys::BTLessStrategyNumber => (None, Some(above - 1)),
            pg_sys::BTLessEqualStrategyNumber => (None, Some(below)),
            pg_sys::BTEqualStrategyNumber => (Some(above), Some(below)),
            pg_sys::BTGreaterEqualStrategyNumber => (Some(above), None),
            _ => (Some(below + 1), None),
        })
    }

    /// An end of days or times that is known when the query runs. Of dates the conditions themselves leave out the
    /// day that a time is in, or keep it.
    fn computed_end(
        &self,
        kind: Oid,
        of_key: Granule,
        estimated: &dyn Fn(Ref<'t, Node>) -> Ref<'t, Node>,
    ) -> Option<Computed<'t>> {
        let reads_nothing = !tree::any(self.value, |node| {
            [NodeTag::T_Var, NodeTag::T_Param, NodeTag::T_SubLink].contains(&node.tag())
        });
        let own = tree::type_of(self.value);
        let is_exact = match (kind, own) {
            (pg_sys::DATEOID | pg_sys::TIMESTAMPTZOID, _)
            | (pg_sys::TIMESTAMPOID, pg_sys::DATEOID | pg_sys::TIMESTAMPOID) => true,
            // Where clocks are put back, a time of theirs may be two of the zone: of one day, but of one hour not for
            // certain.
            (pg_sys::TIMESTAMPOID, pg_sys::TIMESTAMPTZOID) => of_key == Granule::Day,
            _ => false,
        };
        if !reads_nothing || !is_exact {
            return None;
        }
        let now = estimated(self.value.copy());
        let value = tree::constant(now).flatten()?.value() as i64;
        let now = match own {
            pg_sys::DATEOID if !ENDLESS.contains(&i64::from(value as i32)) => {
                i128::from(value as i32) * DAY
            }
            pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID if !ENDLESS.contains(&value) => {
                i128::from(value)
            }
            _ => return None,
        };
        let step = if kind == pg_sys::DATEOID { DAY } else { 1 };
        let more = match self.strategy {
            pg_sys::BTLessStrategyNumber if step == 1 => -1,
            pg_sys::BTGreaterStrategyNumber if step == 1 => 1,
            _ => 0,
        };
        Some(Computed {
            value: self.value,
            more,
            now: now.div_euclid(step) + more,
        })
    }
}
