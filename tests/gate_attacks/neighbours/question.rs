//! Random questions, and how far a person may move their answers.

use super::super::questions::Dice;
use super::columns::Number;
use super::sources::{self, Source};
use super::world::{Policy, Unit};

/// What an answer is of, and so how far one person may move it.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A person counts as `rows` rows at most.
    Rows,
    /// A person is one.
    People,
    /// A person counts as `rows` values at most, none of which is larger than this.
    Sum(f64),
    /// It lies between the bounds of the values, none of which is larger than this.
    Average(f64),
    /// No bound is stated here.
    Other,
}

/// A question, whose first columns are its keys.
pub struct Question {
    pub sql: String,
    /// The settings of the session that asks it.
    pub settings: String,
    pub keys: usize,
    pub kinds: Vec<Kind>,
    /// How much of a person counts in a group, and in how many of each grouping set.
    pub unit: Unit,
    pub sets: usize,
    /// Whether the answers decide which rows are shown.
    pub filtered: bool,
    /// Whether they decide in which order.
    pub sorted: bool,
}

/// An aggregate, and the condition that must hold in WHERE.
struct Asked {
    sql: String,
    kind: Kind,
    needs: String,
}

/// A FILTER, or none.
fn filter(dice: &mut Dice, source: &Source) -> String {
    match some(dice, &source.columns.conditions) {
        Some(condition) if dice.roll(10) < 3 => format!(" FILTER (WHERE {condition})"),
        _ => String::new(),
    }
}

fn some<'a, T>(dice: &mut Dice, of: &'a [T]) -> Option<&'a T> {
    (!of.is_empty()).then(|| &of[dice.roll(of.len())])
}

fn aggregate(dice: &mut Dice, source: &Source) -> Asked {
    let numbers = &source.columns.numbers;
    let Number {
        sql: x,
        needs,
        largest,
    } = numbers[dice.roll(numbers.len())].clone();
    // A condition that bounds the number is in FILTER or in WHERE.
    let (filter, needs) = match (needs.is_empty(), dice.roll(2)) {
        (true, _) => (filter(dice, source), needs),
        (_, 0) => (format!(" FILTER (WHERE {needs})"), String::new()),
        _ => (filter(dice, source), needs),
    };
    let (call, kind) = match dice.roll(20) {
        0..=3 => (
            format!("count({})", source.counted.unwrap_or("*")),
            Kind::Rows,
        ),
        4 | 5 => (format!("count({x})"), Kind::Rows),
        6 | 7 if !source.person.is_empty() => {
            (format!("count(DISTINCT {})", source.person), Kind::People)
        }
        6..=12 => (format!("sum({x})"), Kind::Sum(largest)),
        13 => {
            let condition = some(dice, &source.columns.conditions).map_or("true", String::as_str);
            (
                format!("sum(CASE WHEN {condition} THEN {x} ELSE 0 END)"),
                Kind::Sum(largest),
            )
        }
        14..=16 => (format!("avg({x})"), Kind::Average(largest)),
        17 => {
            let name = dice.one(&["stddev", "variance", "var_pop", "stddev_pop"]);
            (format!("{name}({x})"), Kind::Other)
        }
        18 => {
            let share = dice.one(&["0.5", "0.9", "ARRAY[0.25, 0.75]"]);
            (
                format!("percentile_cont({share}) WITHIN GROUP (ORDER BY {x})"),
                Kind::Other,
            )
        }
        _ => {
            let name = dice.one(&["corr", "regr_slope", "covar_pop", "regr_count", "regr_avgx"]);
            let other = &numbers[dice.roll(numbers.len())];
            (format!("{name}({x}, {})", other.sql), Kind::Other)
        }
    };
    Asked {
        sql: call + &filter,
        kind,
        needs,
    }
}

pub fn question(dice: &mut Dice, policy: &Policy) -> Question {
    let source = sources::any(dice);
    let mut conditions: Vec<String> = Vec::new();
    if source.counted.is_none() {
        for _ in 0..[0, 0, 1, 1, 2][dice.roll(5)] {
            conditions.extend(some(dice, &source.columns.conditions).cloned());
        }
    }
    let mut keys: Vec<String> = Vec::new();
    let count = match source.counted {
        Some(_) => 1,
        None => [0, 0, 1, 1, 1, 1, 2, 2, 3][dice.roll(9)],
    };
    for _ in 0..count {
        let Some(key) = some(dice, &source.columns.keys) else {
            continue;
        };
        if !keys.contains(&key.sql) {
            keys.push(key.sql.clone());
            conditions.push(key.needs.clone());
        }
    }
    let asked: Vec<Asked> = (0..[1, 1, 1, 1, 2, 2, 3, 4][dice.roll(8)])
        .map(|_| aggregate(dice, &source))
        .collect();
    conditions.extend(asked.iter().map(|asked| asked.needs.clone()));
    conditions.retain(|condition| !condition.is_empty());

    let listed = keys.join(", ");
    let (group, sets) = match (keys.len(), dice.roll(12)) {
        (0, _) => (String::new(), 1),
        (count, 0) => (format!(" GROUP BY ROLLUP ({listed})"), count + 1),
        (count, 1) => (format!(" GROUP BY CUBE ({listed})"), 1 << count),
        (count, 2) => {
            let sets = keys.iter().map(|key| format!("({key}), "));
            (
                format!(" GROUP BY GROUPING SETS ({}())", sets.collect::<String>()),
                count + 1,
            )
        }
        _ => (format!(" GROUP BY {listed}"), 1),
    };
    let mut selected: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| format!("{key} AS k{i}"))
        .collect();
    if sets > 1 {
        selected.insert(0, format!("grouping({listed}) AS g"));
    }
    let keys = selected.len();
    selected.extend(
        asked
            .iter()
            .enumerate()
            .map(|(i, asked)| format!("{} AS a{i}", asked.sql)),
    );
    let mut sql = format!("SELECT {} FROM {}", selected.join(", "), source.from);
    if !conditions.is_empty() {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|condition| format!("({condition})"))
            .collect();
        sql += &format!(" WHERE {}", conditions.join(" AND "));
    }
    sql += &group;
    let threshold = dice.one(&["3", "20", "200"]);
    let is_number = !matches!(asked[0].kind, Kind::Other);
    let (mut filtered, mut sorted) = (false, false);
    match dice.roll(14) {
        0 => sql = format!("WITH w AS ({sql}) SELECT * FROM w"),
        1 => sql = format!("SELECT * FROM ({sql}) s"),
        2 if keys > 0 => {
            sql += &format!(
                " HAVING count({}) > {threshold}",
                source.counted.unwrap_or("*")
            );
            filtered = true;
        }
        3 if keys > 0 && is_number => {
            sql += &format!(" HAVING {} > {threshold}", asked[0].sql);
            filtered = true;
        }
        4 if is_number => {
            sql = format!("SELECT * FROM ({sql}) s WHERE a0 > {threshold}");
            filtered = true;
        }
        5 => {
            let names: String = (0..keys).map(|i| format!(", {}", i + 1)).collect();
            sql = format!("SELECT * FROM ({sql}) s ORDER BY a0 DESC{names}");
            sorted = true;
        }
        _ => {}
    }

    let whole = policy.unit_of(&sql);
    // The session may say less than the policy does.
    let chosen = |dice: &mut Dice, most: u32| match dice.roll(5) {
        number @ (1 | 2) if number as u32 <= most => number as u32,
        _ => 0,
    };
    let (rows, groups) = (chosen(dice, whole.rows), chosen(dice, whole.groups));
    let unit = Unit {
        rows: if rows > 0 { rows } else { whole.rows },
        groups: if groups > 0 { groups } else { whole.groups },
    };
    let epsilon = dice.one(&["2", "0.5", "0.3", "0.3", "0.05", "8"]);
    Question {
        sql,
        settings: format!(
            "SET dp_mean.epsilon = {epsilon}; SET dp_mean.rows = {rows}; SET dp_mean.groups = {groups}"
        ),
        keys,
        kinds: asked.iter().map(|asked| asked.kind).collect(),
        unit,
        sets,
        filtered,
        sorted,
    }
}
