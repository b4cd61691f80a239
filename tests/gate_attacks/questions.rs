//! Questions that look random about the tables of the attacks, the same at every run.

/// A question, whose first columns are its keys.
pub struct Question {
    pub sql: String,
    pub keys: usize,
    /// Whether the values of its keys are public.
    pub declared: bool,
    /// Whether its rows come as the block has them.
    pub sorted: bool,
    /// Whether PostgreSQL may refuse it by an internal error: a call that is wrong by itself, whatever the rows are.
    pub internal: bool,
}

impl Question {
    /// Any call, whose rows say nothing of what to expect.
    pub fn plain(sql: String) -> Self {
        Self {
            sql,
            keys: 0,
            declared: false,
            sorted: false,
            internal: true,
        }
    }
}

/// Numbers that look random, the same at every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        // Knuth's constants; the high bits are the better ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    pub fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.roll(of.len())]
    }
}

fn number(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return dice
            .one(&[
                "cost",
                "patient",
                "tall",
                "big",
                "1",
                "0",
                "666",
                "4242.4242",
                "NULL",
                "x",
                "-1e300",
                "v.cost",
            ])
            .to_owned();
    }
    let (a, b) = (number(dice, depth - 1), number(dice, depth - 1));
    match dice.roll(14) {
        0..=4 => format!("({a} {} {b})", dice.one(&["+", "-", "*", "/", "%", "^"])),
        5 => format!(
            "({a})::{}",
            dice.one(&[
                "integer",
                "smallint",
                "bigint",
                "numeric",
                "float4",
                "numeric(5, 2)",
                "text",
                "money"
            ])
        ),
        6 => format!(
            "{}({a})",
            dice.one(&[
                "abs", "sqrt", "ln", "exp", "floor", "round", "sign", "chr", "cbrt", "sin"
            ])
        ),
        7 => format!(
            "CASE WHEN {} THEN {a} ELSE {b} END",
            condition(dice, depth - 1)
        ),
        8 => format!("coalesce({a}, {b})"),
        9 => format!("nullif({a}, {b})"),
        10 => format!(
            "{}({a}, {b})",
            dice.one(&["greatest", "least", "power", "div", "mod", "gcd"])
        ),
        11 => format!("length({})", text(dice, depth - 1)),
        12 => format!(
            "extract({} FROM {})",
            dice.one(&["year", "epoch", "dow", "century"]),
            date(dice, depth - 1)
        ),
        _ => format!("width_bucket({a}, {b}, 100, 10)"),
    }
}

fn text(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return dice
            .one(&[
                "region",
                "note",
                "'x'",
                "'canary'",
                "NULL::text",
                "y",
                "v.region",
            ])
            .to_owned();
    }
    let a = text(dice, depth - 1);
    match dice.roll(9) {
        0 => format!("upper({a})"),
        1 => format!("({a} || {})", text(dice, depth - 1)),
        2 => format!(
            "substr({a}, {}, {})",
            number(dice, depth - 1),
            number(dice, depth - 1)
        ),
        3 => format!("({})::text", number(dice, depth - 1)),
        4 => format!("repeat({a}, 3)"),
        5 => format!("regexp_replace({a}, 'c(.)', '\\1')"),
        6 => format!(
            "to_char({}, {})",
            date(dice, depth - 1),
            dice.one(&["'YYYY-MM'", "'Day'", "note"])
        ),
        7 => format!(
            "({a})::{}",
            dice.one(&["varchar(3)", "char(2)", "short", "name", "integer"])
        ),
        _ => format!("left({a}, {})", number(dice, depth - 1)),
    }
}

fn date(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return dice
            .one(&[
                "day",
                "date '2025-06-01'",
                "now()",
                "day::timestamp",
                "current_date",
            ])
            .to_owned();
    }
    let a = date(dice, depth - 1);
    match dice.roll(4) {
        0 => format!(
            "date_trunc({}, {a})",
            dice.one(&["'month'", "'week'", "'century'", "region"])
        ),
        1 => format!("({a} + interval '1 month')"),
        2 => format!("({a} - interval '1 day' * {})", number(dice, 0)),
        _ => format!("({a})::{}", dice.one(&["date", "timestamp", "timestamptz"])),
    }
}

fn condition(dice: &mut Dice, depth: usize) -> String {
    let below = depth.saturating_sub(1);
    let compare = ["=", "<", ">=", "<>", "IS DISTINCT FROM"];
    match dice.roll(11) {
        0..=3 => format!(
            "{} {} {}",
            number(dice, below),
            dice.one(&compare),
            number(dice, below)
        ),
        4 => format!(
            "{} {} {}",
            text(dice, below),
            dice.one(&compare),
            text(dice, below)
        ),
        5 => format!(
            "{} {} {}",
            date(dice, below),
            dice.one(&compare),
            date(dice, below)
        ),
        6 => format!(
            "{} LIKE {}",
            text(dice, below),
            dice.one(&["'can%'", "'x\\'", "note", "'%_%'"])
        ),
        7 => format!(
            "{} ~ {}",
            text(dice, below),
            dice.one(&["'^c'", "'('", "note"])
        ),
        8 => format!(
            "{} IN (1, 666, {})",
            number(dice, below),
            number(dice, below)
        ),
        9 if depth > 0 => format!(
            "({} AND NOT {})",
            condition(dice, below),
            condition(dice, below)
        ),
        _ => format!("{} IS NOT NULL", number(dice, below)),
    }
}

fn aggregate(dice: &mut Dice) -> String {
    let filter = match dice.roll(4) {
        0 => format!(" FILTER (WHERE {})", condition(dice, 1)),
        _ => String::new(),
    };
    let x = number(dice, 2);
    let call = match dice.roll(10) {
        0 | 1 => "count(*)".to_owned(),
        2 => format!("count({x})"),
        3 => "avg(cost)".to_owned(),
        4 => format!("sum({x})"),
        5 => format!(
            "dp_mean({x}, 0, {}, 0.001)",
            dice.one(&["1", "100", "1e99", "cost", "0"])
        ),
        6 => "count(DISTINCT patient)".to_owned(),
        7 => format!("stddev({x})"),
        8 => by_name(dice, &x),
        _ => format!("dp_sum({x}, -1, 1, 0.001)"),
    };
    call + &filter
}

/// An aggregate of ours that releases something else than a number.
fn by_name(dice: &mut Dice, x: &str) -> String {
    match dice.roll(7) {
        0 => format!("dp_cdf({x}, 0, 100, {}, 0.001)", 1 + dice.roll(9)),
        1 => format!("dp_quantile_estimate({x}, 0, 100, 0.5, 0.001)"),
        2 => format!("dp_clamped({x}, 0, 100, 0.001)"),
        3 => format!("dp_bounds({x}, 0.001)"),
        4 => format!(
            "dp_counts(0.001, 'knorm(d=2, rows=1)', {}, {})",
            condition(dice, 1),
            condition(dice, 1)
        ),
        5 => format!("dp_sums(ARRAY[{x}, cost], 0, 100, 0.001, 'knorm(d=2)')"),
        _ => "dp_count_distinct(patient, 0.001)".to_owned(),
    }
}

/// A question of any kind.
pub fn question(dice: &mut Dice) -> Question {
    let from = dice.one(&[
        "visits v",
        "visits v",
        "visits v JOIN own ON x = patient",
        "visits v LEFT JOIN own ON y = region",
        "own RIGHT JOIN visits v ON true",
        "(SELECT * FROM visits) v",
        "(SELECT *, cost * 2 AS x, region AS y FROM visits WHERE cost > 1) v",
        "visits v CROSS JOIN own",
        "visits v, LATERAL (SELECT patient AS x, region AS y) l",
        "own, visits v",
        "visits v JOIN probe ON k = CASE WHEN patient = 666 THEN 1 ELSE 0 END",
        "visits v LEFT JOIN probe ON k = patient AND cost > 4000",
        "probe RIGHT JOIN visits v ON patient = 666",
    ]);
    let keys: Vec<_> = (0..dice.roll(3))
        .map(|_| match dice.roll(3) {
            0 => number(dice, 1),
            1 => text(dice, 1),
            _ => date(dice, 1),
        })
        .collect();
    let calls: Vec<_> = (0..=dice.roll(3)).map(|_| aggregate(dice)).collect();
    let condition = condition(dice, 2);
    let count = keys.len();
    let roll = dice.roll(4);
    let is_plain = roll > 0;
    let group = match (keys.is_empty(), roll) {
        (true, _) => String::new(),
        (false, 0) => format!(
            " GROUP BY {}({})",
            dice.one(&["ROLLUP", "CUBE"]),
            keys.join(", ")
        ),
        (false, _) => format!(" GROUP BY {}", keys.join(", ")),
    };
    let asked = format!(
        "SELECT {} FROM {from} WHERE {condition}{group}",
        [keys, calls].concat().join(", ")
    );
    let form = dice.roll(8);
    Question {
        sql: match form {
            0 => format!("SELECT * FROM ({asked}) s(a) ORDER BY a LIMIT 3"),
            1 => format!("WITH w AS ({asked}) SELECT * FROM w"),
            2 => format!("SELECT count(*) FROM ({asked}) s"),
            3 => format!("{asked} HAVING count(*) > 10 ORDER BY 1"),
            4 => format!("({asked}) UNION ALL ({asked})"),
            _ => asked,
        },
        keys: if form == 2 { 0 } else { count },
        declared: false,
        sorted: form > 4 && is_plain,
        internal: false,
    }
}

/// A condition on rows that is total as it is written.
fn plain_condition(dice: &mut Dice) -> String {
    let one = match dice.roll(8) {
        0 => format!("cost {} {}", dice.one(&["<", ">=", "<>"]), dice.roll(5000)),
        1 => format!(
            "patient {} {}",
            dice.one(&["=", "<", ">"]),
            dice.one(&["7", "40", "666"])
        ),
        2 => format!("region LIKE {}", dice.one(&["'r%'", "'can%'", "'%1'"])),
        3 => format!("region IN ('r1', 'canary', 'r{}')", dice.roll(5)),
        4 => format!(
            "day BETWEEN '2025-02-01' AND '2025-0{}-28'",
            2 + dice.roll(8)
        ),
        5 => format!("tall IS {}NULL", dice.one(&["", "NOT "])),
        6 => format!("tall + patient > {}", dice.roll(50)),
        _ => format!("note {} 'n1'", dice.one(&["=", "<>", ">"])),
    };
    match dice.roll(4) {
        0 => format!("({one} OR NOT {})", plain_condition(dice)),
        1 => format!("{one} AND {}", plain_condition(dice)),
        _ => one,
    }
}

/// A question of a kind that is answered.
pub fn plain_question(dice: &mut Dice) -> Question {
    if dice.roll(5) == 0 {
        return declared_question(dice);
    }
    let x = [
        "cost",
        "cost * 2",
        "cost / 2 - 1",
        "cost + 1",
        "abs(cost)",
        "least(cost, 100)",
    ];
    let calls: Vec<_> = (0..=dice.roll(3))
        .map(|_| {
            let x = dice.one(&x);
            let call = match dice.roll(8) {
                0 => "count(*)".to_owned(),
                1 => format!("count({})", dice.one(&["tall", "note", "big"])),
                2 => format!(
                    "count(DISTINCT {})",
                    dice.one(&["patient", "patient", "tall", "note"])
                ),
                3 => format!("{}({x})", dice.one(&["var_pop", "stddev", "variance"])),
                4 => format!("dp_mean({x}, 0, {}, 0.001)", 1 + dice.roll(1000)),
                5 => format!("dp_histogram({x}, 0, 100, {}, 0.001)", 1 + dice.roll(9)),
                6 if dice.roll(2) == 0 => by_name(dice, x),
                _ => format!("{}({x})", dice.one(&["avg", "sum", "count"])),
            };
            match dice.roll(4) {
                0 => format!("{call} FILTER (WHERE {})", plain_condition(dice)),
                _ => call,
            }
        })
        .collect();
    let from = dice.one(&[
        "visits",
        "visits",
        "visits JOIN own ON x = patient",
        "visits LEFT JOIN own ON y = region",
        "(SELECT * FROM visits WHERE cost > 1) v",
        "visits JOIN probe ON k = CASE WHEN patient = 666 THEN 1 END",
        "visits LEFT JOIN probe ON k = patient AND note > 'c'",
    ]);
    let key = dice.one(&[
        "region",
        "note",
        "tall",
        "patient % 5",
        "date_trunc('month', day)",
        "CASE WHEN cost > 50 THEN region ELSE note END",
        "region, tall",
    ]);
    let roll = dice.roll(4);
    let (keys, group) = match roll {
        0 | 1 => (String::new(), String::new()),
        2 => (format!("{key}, "), format!(" GROUP BY {key}")),
        _ => (format!("{key}, "), format!(" GROUP BY ROLLUP ({key})")),
    };
    let condition = plain_condition(dice);
    let asked = format!(
        "SELECT {keys}{} FROM {from} WHERE {condition}{group}",
        calls.join(", ")
    );
    let form = dice.roll(6);
    let count = if key == "region, tall" { 2 } else { 1 };
    Question {
        sql: match form {
            0 => format!("SELECT * FROM ({asked}) s(a) ORDER BY a LIMIT 3"),
            1 => format!("WITH w AS ({asked}) SELECT * FROM w"),
            2 => format!("{asked} HAVING count(*) > 10"),
            3 => format!("({asked}) UNION ALL ({asked})"),
            _ => asked,
        },
        keys: if roll < 2 { 0 } else { count },
        declared: false,
        sorted: form > 3 && roll == 2,
        internal: false,
    }
}

/// A question by a key whose values are public: all of them are shown, whatever rows there are.
fn declared_question(dice: &mut Dice) -> Question {
    let from = dice.one(&[
        "people",
        "people JOIN own ON x = person",
        "people JOIN probe ON k = person",
        "probe RIGHT JOIN people ON salary > 4000",
    ]);
    let condition = match dice.roll(3) {
        0 => format!("person {} 666", dice.one(&["=", "<", "<>"])),
        1 => format!(
            "CASE WHEN dept LIKE 'c%' THEN salary > {} END",
            4000 + dice.roll(400)
        ),
        _ => "salary > 1010".to_owned(),
    };
    let calls = dice.one(&[
        "count(*)",
        "avg(salary), count(*)",
        "sum(salary), stddev(salary)",
    ]);
    let asked = format!("SELECT dept, {calls} FROM {from} WHERE {condition} GROUP BY dept");
    let form = dice.roll(4);
    Question {
        sql: match form {
            0 => format!("WITH w AS ({asked}) SELECT * FROM w"),
            1 => format!("SELECT * FROM ({asked}) s(a) ORDER BY a"),
            2 => format!("({asked}) UNION ALL ({asked})"),
            _ => asked,
        },
        keys: 1,
        declared: true,
        sorted: form == 3,
        internal: false,
    }
}
