//! Questions that nobody thought of: random ones, near those that are answered.

use postgres::Client;

use super::Stage;

/// How many questions there are.
const QUESTIONS: usize = 1500;

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
    let call = match dice.roll(9) {
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
        _ => format!("dp_sum({x}, -1, 1, 0.001)"),
    };
    call + &filter
}

fn question(dice: &mut Dice) -> String {
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
    let group = match (keys.is_empty(), dice.roll(4)) {
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
    match dice.roll(8) {
        0 => format!("SELECT * FROM ({asked}) s(a) ORDER BY a LIMIT 3"),
        1 => format!("WITH w AS ({asked}) SELECT * FROM w"),
        2 => format!("SELECT count(*) FROM ({asked}) s"),
        3 => format!("{asked} HAVING count(*) > 10 ORDER BY 1"),
        4 => format!("({asked}) UNION ALL ({asked})"),
        _ => asked,
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
fn plain_question(dice: &mut Dice) -> String {
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
                2 => "count(DISTINCT patient)".to_owned(),
                3 => format!("{}({x})", dice.one(&["var_pop", "stddev", "variance"])),
                4 => format!("dp_mean({x}, 0, {}, 0.001)", 1 + dice.roll(1000)),
                5 => format!("dp_histogram({x}, 0, 100, {}, 0.001)", 1 + dice.roll(9)),
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
    let (keys, group) = match dice.roll(4) {
        0 | 1 => (String::new(), String::new()),
        2 => (format!("{key}, "), format!(" GROUP BY {key}")),
        _ => (format!("{key}, "), format!(" GROUP BY ROLLUP ({key})")),
    };
    let condition = plain_condition(dice);
    let asked = format!(
        "SELECT {keys}{} FROM {from} WHERE {condition}{group}",
        calls.join(", ")
    );
    match dice.roll(6) {
        0 => format!("SELECT * FROM ({asked}) s(a) ORDER BY a LIMIT 3"),
        1 => format!("WITH w AS ({asked}) SELECT * FROM w"),
        2 => format!("{asked} HAVING count(*) > 10"),
        3 => format!("({asked}) UNION ALL ({asked})"),
        _ => asked,
    }
}

/// A database with a budget for many questions, and a session of the analyst for when the person is in the tables, and
/// for when not.
pub fn many() -> (Stage, [Client; 2]) {
    let mut stage = Stage::new();
    // The same delta of a choice of groups as before, and a budget that has it often enough.
    stage.as_owner("SELECT dp_budget('patients', 4096, 0.5)");
    stage.as_owner(
        "SELECT dp_protect('visits', 'patient', 'patients', groups => 1, rows => 2, query_delta => 1e-7), \
         dp_protect('people', 'person', 'patients', query_delta => 1e-7)",
    );
    let mut clients = [true, false].map(|_| stage.analyst());
    for client in &mut clients {
        dp_mean_tests::run(client, "SET dp_mean.epsilon = 0.001");
    }
    (stage, clients)
}

/// Asks questions with the person in the tables and without: all end alike, and cost the same. How many of them were
/// answered, and how many charges there were.
pub fn ask_all(stage: &mut Stage, clients: &mut [Client; 2], asked: &[String]) -> (usize, i64) {
    let mut ends = [Vec::new(), Vec::new()];
    let mut spent = Vec::new();
    for ((ends, client), person) in ends.iter_mut().zip(clients).zip([true, false]) {
        stage.set_person(person);
        let before = stage.spent();
        for sql in asked {
            let end = stage.attack(client, sql);
            let told = format!("{} {:?}", end.shown.to_lowercase(), end.heard);
            assert!(
                sql.contains("'canary'") || !told.contains("canary"),
                "{end:?}: {sql}"
            );
            if let Some((code, message)) = &end.error {
                assert!(
                    !code.starts_with("XX") && !code.starts_with("57"),
                    "{code} {message}: {sql}"
                );
            }
            ends.push((sql, end.error, end.heard));
        }
        let after = stage.spent();
        spent.push((((after.0 - before.0) * 1e6).round(), after.1 - before.1));
    }
    let [with, without] = ends;
    for (with, without) in with.iter().zip(without) {
        assert_eq!(*with, without);
    }
    assert_eq!(spent[0], spent[1]);
    let answered = with.iter().filter(|(_, error, _)| error.is_none()).count();
    (answered, spent[0].1)
}

/// Asks so many questions. Every second one is of a kind that is answered.
fn ask(questions: usize, seed: u64) -> (usize, i64) {
    let (mut stage, mut clients) = many();
    let mut dice = Dice(seed);
    let (mut answered, mut charges) = (0, 0);
    // In parts, as the tables are changed between them.
    for part in (0..questions).step_by(1000) {
        let asked: Vec<_> = (part..questions.min(part + 1000))
            .map(|i| match i % 2 {
                0 => question(&mut dice),
                _ => plain_question(&mut dice),
            })
            .collect();
        let (of_part, charged) = ask_all(&mut stage, &mut clients, &asked);
        answered += of_part;
        charges += charged;
    }
    (answered, charges)
}

#[test]
fn no_random_question_tells_of_the_person() {
    let (answered, charges) = ask(QUESTIONS, 1);
    println!("of {QUESTIONS} questions {answered} were answered, {charges} charged");
    assert!(answered > QUESTIONS / 3, "{answered} were answered");
    assert!(charges > QUESTIONS as i64 / 3, "{charges} were charged");
}

/// `make test-fuzz`.
#[test]
#[ignore = "as many questions as one has time for"]
fn no_random_question_of_many_tells_of_the_person() {
    let number = |name| -> usize { dp_mean_tests::variable(name).parse().expect("a number") };
    let questions = number("DP_MEAN_STATEMENTS");
    let (answered, charges) = ask(questions, number("DP_MEAN_SEED") as u64);
    println!("of {questions} questions {answered} were answered, {charges} charged");
    assert!(answered > questions / 3, "{answered} were answered");
    assert!(charges > questions as i64 / 3, "{charges} were charged");
}
