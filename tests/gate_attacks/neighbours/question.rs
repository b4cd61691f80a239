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
    /// A person counts in `groups` pairs of a group and a value at most, in all groups of a grouping set together; or in
    /// `rows`, where each value is of one row.
    Values,
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
        8 => (format!("count(DISTINCT {x})"), Kind::Values),
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

/// GROUP BY, and how many grouping sets it has.
fn group_by(dice: &mut Dice, keys: &[String]) -> (String, usize) {
    let listed = keys.join(", ");
    match (keys.len(), dice.roll(12)) {
        (0, _) => (String::new(), 1),
        (count, 0) => (format!(" GROUP BY ROLLUP ({listed})"), count + 1),
        (count, 1) => (format!(" GROUP BY CUBE ({listed})"), 1 << count),
        (count, 2) => {
            let sets = keys.iter().map(|key| format!("({key}), "));
            let sets: String = sets.collect();
            (format!(" GROUP BY GROUPING SETS ({sets}())"), count + 1)
        }
        _ => (format!(" GROUP BY {listed}"), 1),
    }
}

/// A question, and what its answers decide.
struct Form {
    sql: String,
    filtered: bool,
    sorted: bool,
}

/// A question within another one, or with a condition on its answers; or as it is.
fn form(dice: &mut Dice, sql: String, keys: usize, first: &Asked, counted: &str) -> Form {
    let threshold = dice.one(&["3", "20", "200"]);
    let is_number = !matches!(first.kind, Kind::Other);
    let mut form = Form {
        sql,
        filtered: false,
        sorted: false,
    };
    let sql = &form.sql;
    let changed = match dice.roll(14) {
        0 => format!("WITH w AS ({sql}) SELECT * FROM w"),
        1 => format!("SELECT * FROM ({sql}) s"),
        2 if keys > 0 => {
            form.filtered = true;
            format!("{sql} HAVING count({counted}) > {threshold}")
        }
        3 if keys > 0 && is_number => {
            form.filtered = true;
            format!("{sql} HAVING {} > {threshold}", first.sql)
        }
        4 if is_number => {
            form.filtered = true;
            format!("SELECT * FROM ({sql}) s WHERE a0 > {threshold}")
        }
        5 => {
            form.sorted = true;
            // Equal answers are in the order of the keys.
            let places: String = (1..=keys).map(|place| format!(", {place}")).collect();
            format!("SELECT * FROM ({sql}) s ORDER BY a0 DESC{places}")
        }
        _ => return form,
    };
    form.sql = changed;
    form
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

    let (group, sets) = group_by(dice, &keys);
    let mut selected = Vec::new();
    if sets > 1 {
        selected.push(format!("grouping({}) AS g", keys.join(", ")));
    }
    let keys = keys.iter().enumerate();
    selected.extend(keys.map(|(i, key)| format!("{key} AS k{i}")));
    let keys = selected.len();
    let answers = asked.iter().enumerate();
    selected.extend(answers.map(|(i, asked)| format!("{} AS a{i}", asked.sql)));
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE ({})", conditions.join(") AND (")),
    };
    let sql = format!(
        "SELECT {} FROM {}{condition}{group}",
        selected.join(", "),
        source.from
    );
    let Form {
        sql,
        filtered,
        sorted,
    } = form(dice, sql, keys, &asked[0], source.counted.unwrap_or("*"));

    let most = policy.unit_of(&sql);
    // The session may say less than the policy does: 0 is nothing.
    let said = |dice: &mut Dice, most: u32| match dice.roll(5) as u32 {
        less @ (1 | 2) if less <= most => less,
        _ => 0,
    };
    let (rows, groups) = (said(dice, most.rows), said(dice, most.groups));
    let unit = Unit {
        rows: if rows > 0 { rows } else { most.rows },
        groups: if groups > 0 { groups } else { most.groups },
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
