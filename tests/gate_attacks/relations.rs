//! Random private relations: of those that the gate takes, no row of others changes with a person. Rows are those that
//! the owner's own query has; what it would answer is a matter of noise.

use dp_mean_tests::run;
use postgres::{Client, SimpleQueryMessage};

use super::Stage;
use super::questions::Dice;

/// How many there are.
const RELATIONS: usize = 600;

/// Tables that name a person by reference alone: letters of people, and their lines. Numbers of lines are those of
/// letters too.
const BY_REFERENCE: &str = "
CREATE TABLE letters (letter integer PRIMARY KEY, writer integer NOT NULL REFERENCES people ON DELETE CASCADE, tone text);
CREATE TABLE lines (line integer PRIMARY KEY, letter integer NOT NULL REFERENCES letters ON DELETE CASCADE,
    size float8 NOT NULL, page integer NOT NULL);
INSERT INTO letters SELECT g, g % 100 + 1, 't' || g % 3 FROM generate_series(1, 150) g;
INSERT INTO lines SELECT g, g % 150 + 1, g % 100, g % 4 FROM generate_series(1, 300) g;
SELECT dp_protect('letters', via => 'writer', rows => 2, query_delta => 1e-300),
    dp_protect('lines', via => 'letter', rows => 4, query_delta => 1e-300);
SELECT dp_allow('letters', '{a}'), dp_allow('lines', '{a}')";

/// What the special person wrote.
const WRITTEN: &str = "
INSERT INTO letters VALUES (666, 666, 'canary');
INSERT INTO lines SELECT 1000 + g, 666, 4000 + g, g % 4 FROM generate_series(1, 9) g";

/// A relation with the columns p, an integer that names the person, k, a text, x, a float8, and i, an integer.
fn relation(dice: &mut Dice, depth: usize) -> String {
    let kinds = if depth == 0 { 3 } else { 11 };
    match dice.roll(kinds) {
        0..=2 => plain(dice, depth),
        3 | 4 => grouped(dice, depth),
        5 | 6 => windowed(dice, depth),
        7 => distinct(dice, depth),
        8 | 9 => {
            // Of tables alone, so that more of them are answered.
            let (one, other) = (source(dice, 0), source(dice, 0));
            let joined = full_join(dice, &one, &other);
            format!("SELECT a.p, a.k, a.x, a.i FROM {joined} a")
        }
        _ => combined(dice, depth),
    }
}

/// An entry of FROM with these columns.
fn source(dice: &mut Dice, depth: usize) -> String {
    match dice.roll(if depth == 0 { 5 } else { 8 }) {
        3 => match dice.roll(3) {
            0 => referring(dice),
            1 => chain(dice),
            _ => by_letter(dice),
        },
        4 => "(SELECT writer AS p, tone AS k, 1.5 AS x, letter AS i FROM letters)".to_owned(),
        0 | 1 => "(SELECT patient AS p, region AS k, cost AS x, tall AS i FROM visits)".to_owned(),
        2 => "(SELECT person AS p, dept AS k, salary AS x, 1 AS i FROM people)".to_owned(),
        _ => format!("({})", relation(dice, depth - 1)),
    }
}

/// Lines with the writer of their letter, if the join is that of the reference.
fn referring(dice: &mut Dice) -> String {
    let join = dice.one(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
    let condition = dice.one(&[
        "n.letter = l.letter",
        "l.letter = n.letter AND n.size > 20",
        "n.letter = l.letter AND n.line <> l.letter",
        "n.line = l.letter",
        "n.page = l.letter",
        "n.letter = l.letter OR n.page = 1",
        "n.letter + 0 = l.letter",
        "n.letter >= l.letter AND l.letter = 666",
        "n.letter = l.writer",
    ]);
    let more = dice.one(&[
        "",
        "",
        " JOIN people q ON q.person = l.writer",
        " JOIN lines m ON m.letter = l.letter",
        " JOIN lines m ON m.page = l.letter",
    ]);
    format!(
        "(SELECT l.writer AS p, l.tone AS k, n.size AS x, n.page AS i FROM letters l {join} lines n ON {condition}{more})"
    )
}

/// People with their letters and the lines of these, where each join may have no row.
fn chain(dice: &mut Dice) -> String {
    let joins = ["LEFT JOIN", "LEFT JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN"];
    let (first, second) = (dice.one(&joins), dice.one(&joins));
    let of_letters = dice.one(&[
        "l.writer = q.person",
        "l.writer = q.person",
        "l.writer = q.person AND l.tone <> 't1'",
        "l.letter = q.person",
        "l.writer = q.person OR l.letter = 666",
    ]);
    let of_lines = dice.one(&[
        "n.letter = l.letter",
        "n.letter = l.letter",
        "l.letter = n.letter AND n.size > 20",
        "n.letter = l.writer",
        "n.letter IS NOT DISTINCT FROM l.letter",
        "n.page = l.letter",
        "n.letter = coalesce(l.letter, 666)",
        "n.letter = q.person",
    ]);
    let more = dice.one(&[
        "",
        "",
        " LEFT JOIN letters m ON m.writer = l.writer",
        " LEFT JOIN lines m ON m.letter = n.letter",
        " LEFT JOIN lines m ON m.line = n.line",
        " JOIN letters m ON m.letter = n.letter",
    ]);
    let p = dice.one(&["q.person", "q.person", "l.writer"]);
    format!(
        "(SELECT {p} AS p, l.tone AS k, n.size AS x, n.page AS i FROM people q {first} letters l ON {of_letters} {second} \
         lines n ON {of_lines}{more})"
    )
}

/// Lines of each letter put together, or numbered, by a key that says whose they are, or by one that does not.
fn by_letter(dice: &mut Dice) -> String {
    let from = dice.one(&[
        "letters l JOIN lines n ON n.letter = l.letter",
        "letters l JOIN lines n ON n.letter = l.letter",
        "letters l LEFT JOIN lines n ON n.letter = l.letter AND n.size > 50",
        "lines n LEFT JOIN letters l ON n.letter = l.letter AND l.tone = 't1'",
        "people q LEFT JOIN letters l ON l.writer = q.person LEFT JOIN lines n ON n.letter = l.letter",
        "people q JOIN letters l ON l.writer = q.person RIGHT JOIN lines n ON n.letter = l.letter",
    ]);
    let by = dice.one(&["l.letter", "l.letter", "n.letter", "n.line", "n.page"]);
    match dice.roll(4) {
        0 | 1 => format!(
            "(SELECT l.writer AS p, l.tone AS k, sum(n.size) AS x, count(n.line)::int AS i FROM {from} \
             GROUP BY l.letter{})",
            dice.one(&["", "", ", n.page", ", l.tone"])
        ),
        2 => format!(
            "(SELECT DISTINCT ON ({by}) l.writer AS p, l.tone AS k, n.size AS x, n.page AS i FROM {from} \
             ORDER BY {by}, n.line, l.letter, l.writer)"
        ),
        _ => format!(
            "(SELECT l.writer AS p, l.tone AS k, sum(n.size) OVER (PARTITION BY {by}) AS x, \
             row_number() OVER (PARTITION BY {by} ORDER BY n.line, l.letter, l.writer)::int AS i FROM {from})"
        ),
    }
}

/// A sub-query of a FULL JOIN with these columns, whose p names the person, or is NULL in some rows. A p that were
/// somebody else would be taken for whose a row is.
fn full_join(dice: &mut Dice, one: &str, other: &str) -> String {
    let (p, on) = match dice.roll(3) {
        0 => (dice.one(&["p", "p", "p", "a.p", "b.p"]), "USING (p)"),
        _ => {
            let p = dice.one(&[
                "coalesce(a.p, b.p)",
                "coalesce(a.p, b.p)",
                "coalesce(b.p, a.p)",
                "coalesce(b.p, a.p, 7)",
                "a.p",
                "b.p",
            ]);
            let on = dice.one(&[
                "ON a.p = b.p",
                "ON a.p = b.p",
                "ON b.p = a.p AND a.x > b.i",
                "ON b.p = a.p AND a.k = b.k",
                "ON a.k = b.k",
                "ON a.i = b.p",
                "ON a.p + 0 = b.p",
                "ON a.p = b.p AND b.p > 600",
            ]);
            (p, on)
        }
    };
    let condition = dice.one(&[
        "",
        "",
        " WHERE a.p IS NULL",
        " WHERE b.x > 40 OR b.p IS NULL",
    ]);
    let more = dice.one(&[
        "",
        "",
        "",
        " JOIN people q ON q.person = a.p",
        " JOIN people q ON q.person = coalesce(a.p, b.p)",
        " LEFT JOIN people q ON q.person = coalesce(a.p, b.p)",
    ]);
    let (k, x) = match more {
        "" => ("coalesce(a.k, b.k)", "coalesce(b.x, a.x)"),
        _ => ("q.dept", "coalesce(q.salary, a.x)"),
    };
    format!(
        "(SELECT {p} AS p, {k} AS k, {x} AS x, b.i FROM {one} a FULL JOIN {other} b {on}{more}{condition})"
    )
}

/// FROM, and the entry in it whose p is taken.
fn from(dice: &mut Dice, depth: usize) -> (String, &'static str) {
    let one = source(dice, depth);
    match dice.roll(9) {
        7 | 8 => {
            let other = source(dice, depth);
            (format!("{} a", full_join(dice, &one, &other)), "a")
        }
        0..=2 => (format!("{one} a"), "a"),
        3 => {
            let public = dice.one(&[
                "own",
                "(VALUES (1, 'r1'), (3, 'd2')) AS",
                "(SELECT DISTINCT x, y FROM own) AS",
            ]);
            let join = dice.one(&["JOIN", "LEFT JOIN"]);
            (
                format!("{one} a {join} {public} o (x, y) ON a.i = o.x"),
                "a",
            )
        }
        _ => {
            let other = source(dice, depth);
            let join = dice.one(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN"]);
            let condition = dice.one(&[
                "a.p = b.p",
                "a.p = b.p",
                "b.p = a.p AND a.x > b.i",
                "a.p = b.p AND a.k < b.k",
                "a.k = b.k",
                "a.p < b.p AND b.p > 600",
                "a.i = b.p",
                "a.p = b.p OR b.p = 666",
                "a.p + 0 = b.p",
            ]);
            let kept = match join {
                "RIGHT JOIN" => "b",
                "JOIN" => dice.one(&["a", "b"]),
                _ => dice.one(&["a", "a", "b"]),
            };
            let kept = if kept == "a" { "a" } else { "b" };
            (format!("{one} a {join} {other} b ON {condition}"), kept)
        }
    }
}

fn condition(dice: &mut Dice, depth: usize, of: &str) -> String {
    let other = source(dice, depth.saturating_sub(1));
    match dice.roll(9) {
        0 => format!("{of}.x > 1000"),
        1 => format!("{of}.k < 'r2' OR {of}.i IS NULL"),
        2 => {
            let test = dice.one(&["=", "=", "<=", "<>"]);
            let not = dice.one(&["", "NOT "]);
            format!("{not}EXISTS (SELECT FROM {other} e WHERE e.p {test} {of}.p AND e.x > 40)")
        }
        3 => {
            let (column, not) = (dice.one(&["p", "p", "i"]), dice.one(&["", "NOT "]));
            format!("{of}.{column} {not}IN (SELECT e.p FROM {other} e WHERE e.x > 60)")
        }
        4 => {
            let test = dice.one(&["=", "=", ">="]);
            let value = dice.one(&["max(e.x)", "count(*)", "sum(e.i)"]);
            format!("(SELECT {value} FROM {other} e WHERE e.p {test} {of}.p) > 2")
        }
        5 => format!("{of}.i IN (SELECT x FROM own)"),
        6 => format!("{of}.x > (SELECT min(x) FROM own)"),
        7 => {
            let test = dice.one(&["=", "=", "=", ">="]);
            format!(
                "(SELECT e.salary FROM people e WHERE e.person {test} {of}.p AND e.dept > 'd') > 1040"
            )
        }
        _ => "true".to_owned(),
    }
}

fn plain(dice: &mut Dice, depth: usize) -> String {
    let (from, of) = from(dice, depth);
    let condition = condition(dice, depth, of);
    let x = dice
        .one(&["x", "x * 2", "least(x, 50)", "abs(x - i)"])
        .replace('x', &format!("{of}.x"));
    let x = x.replace(" i", &format!(" {of}.i"));
    format!("SELECT {of}.p, {of}.k, {x} AS x, {of}.i FROM {from} WHERE {condition}")
}

fn grouped(dice: &mut Dice, depth: usize) -> String {
    let (from, of) = from(dice, depth);
    let condition = condition(dice, depth, of);
    let value = dice.one(&[
        "sum",
        "avg",
        "max",
        "min",
        "count",
        "stddev_pop",
        "mode() WITHIN GROUP",
    ]);
    let value = match value {
        "mode() WITHIN GROUP" => format!("{value} (ORDER BY {of}.x)"),
        _ => format!("{value}({of}.x)"),
    };
    let having = dice.one(&["", "", " HAVING count(*) > 1"]);
    let (key, keys) = match dice.roll(5) {
        0..=2 => (format!("min({of}.k)"), format!("{of}.p")),
        3 => (format!("{of}.k"), format!("{of}.k, {of}.p")),
        // A person of each group, and not the person of the group.
        _ => {
            return format!(
                "SELECT max({of}.p) AS p, {of}.k, {value}::float8 AS x, count(*)::int AS i FROM {from} WHERE {condition} \
                 GROUP BY {of}.k{having}"
            );
        }
    };
    format!(
        "SELECT {of}.p, {key} AS k, {value}::float8 AS x, count(*)::int AS i FROM {from} WHERE {condition} \
         GROUP BY {keys}{having}"
    )
}

fn windowed(dice: &mut Dice, depth: usize) -> String {
    let one = source(dice, depth);
    let partition = dice.one(&["a.p", "a.p", "a.p, a.k", "a.k", "a.p > 600"]);
    let window = format!("OVER (PARTITION BY {partition} ORDER BY a.x, a.k, a.i)");
    let value = dice.one(&[
        "row_number()",
        "rank()",
        "lag(a.x)",
        "lead(a.x, 2, 0)",
        "first_value(a.x)",
        "sum(a.i)",
        "max(a.x)",
        "count(*)",
    ]);
    format!("SELECT a.p, a.k, ({value} {window})::float8 AS x, a.i FROM {one} a")
}

fn distinct(dice: &mut Dice, depth: usize) -> String {
    let one = source(dice, depth);
    match dice.roll(3) {
        0 => format!("SELECT DISTINCT a.p, a.k, a.x, a.i FROM {one} a"),
        1 => format!(
            "SELECT DISTINCT ON (a.p) a.p, a.k, a.x, a.i FROM {one} a ORDER BY a.p, a.x, a.k, a.i"
        ),
        _ => format!(
            "SELECT DISTINCT ON (a.k) a.p, a.k, a.x, a.i FROM {one} a ORDER BY a.k, a.p DESC, a.x, a.i"
        ),
    }
}

/// How an arm begins that shows the person.
const SHOWN: &str = "SELECT p, k, x, i FROM (";

fn combined(dice: &mut Dice, depth: usize) -> String {
    let (one, other) = (relation(dice, depth - 1), relation(dice, depth - 1));
    let operator = dice.one(&["UNION ALL", "UNION", "EXCEPT", "INTERSECT"]);
    // The first arm may have the person elsewhere.
    match dice.roll(6) {
        0 => format!(
            "SELECT p, k, x, i FROM ({one}) a {operator} SELECT i, k, x, p FROM ({other}) b"
        ),
        _ => format!("{SHOWN}{one}) a {operator} {SHOWN}{other}) b"),
    }
}

/// A UNION ALL of relations that shows the person in both arms, without them.
fn without_person(relation: &str) -> Option<String> {
    let hidden = relation.strip_prefix(SHOWN)?;
    let (one, other) = hidden.split_once(&format!(") a UNION ALL {SHOWN}"))?;
    // No arm has another UNION ALL in it, which would be cut in two.
    (!one.contains(SHOWN) && !other.contains(SHOWN))
        .then(|| format!("SELECT k, x, i FROM ({one}) a UNION ALL SELECT k, x, i FROM ({other}"))
}

/// The rows of all but the special person, as one number; or that the query fails.
fn rows_of_others(client: &mut Client, relation: &str) -> Option<String> {
    let sql = format!(
        "SELECT md5(string_agg(t, ' ' ORDER BY t COLLATE \"C\")) FROM (SELECT ROW(p, k, round(x::numeric, 3), i)::text AS t \
         FROM ({relation}) s WHERE p <> 666) q"
    );
    let messages = client.simple_query(&sql).ok()?;
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or("none").to_owned()),
        _ => None,
    })
}

fn try_all(count: usize, seed: u64) {
    let mut stage = Stage::new();
    stage.as_owner(BY_REFERENCE);
    stage.as_root(WRITTEN);
    let mut dice = Dice(seed);
    let relations: Vec<String> = (0..count).map(|_| relation(&mut dice, 2)).collect();
    let mut client = stage.analyst();
    let mut taken = Vec::new();
    let mut hidden_persons = 0;
    for relation in &relations {
        let price = |client: &mut Client, relation: &str| {
            let question = format!("SELECT count(*) FROM ({relation}) s");
            let sql = format!("SELECT price, mechanisms FROM dp_cost($q${question}$q$)");
            let messages = client.simple_query(&sql).ok()?;
            messages.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => {
                    Some([0, 1].map(|column| row.get(column).map(str::to_owned)))
                }
                _ => None,
            })
        };
        let shown = price(&mut client, relation);
        // A UNION ALL is the same without the person, as far as it is answered with them.
        if shown.is_some()
            && let Some(hidden) = without_person(relation)
        {
            assert_eq!(price(&mut client, &hidden), shown, "{hidden}");
            hidden_persons += 1;
        }
        taken.push(shown.is_some());
    }
    println!("{hidden_persons} are answered without the person, too");
    assert!(hidden_persons > 0);
    let rows = [true, false].map(|person| {
        stage.set_person(person);
        if person {
            stage.as_root(WRITTEN);
        }
        run(&mut stage.root, "SET work_mem = '64MB'");
        let rows = relations.iter();
        rows.map(|relation| rows_of_others(&mut stage.root, relation))
            .collect::<Vec<_>>()
    });
    let [with, without] = rows;
    let (mut accepted, mut hidden) = (0, 0);
    for (i, relation) in relations.iter().enumerate() {
        let changes = with[i] != without[i];
        if taken[i] {
            accepted += 1;
            assert!(!changes, "a person changes the rows of others: {relation}");
        } else if changes {
            hidden += 1;
        }
    }
    let referring = |i: &usize| relations[*i].contains("lines n");
    let all = (0..count).filter(referring).count();
    let answered = (0..count).filter(referring).filter(|i| taken[*i]).count();
    println!("{answered} of {all} with lines are answered");
    assert!(0 < answered && answered < all, "{answered} of {all}");
    let full = |i: &usize| relations[*i].contains("a FULL JOIN");
    let all = (0..count).filter(full).count();
    let answered = (0..count).filter(full).filter(|i| taken[*i]).count();
    println!("{answered} of {all} with a FULL JOIN are answered");
    assert!(
        count / 50 < answered && answered < all,
        "{answered} of {all}"
    );
    println!(
        "of {count} relations {accepted} are answered, {hidden} refused in which a person changes others"
    );
    assert!(accepted > count / 5, "{accepted}");
    // Those that are refused are not all harmless.
    assert!(hidden > count / 100, "{hidden}");
}

#[test]
fn no_person_changes_the_rows_of_others() {
    try_all(RELATIONS, 31);
}

/// By `make test-fuzz`.
#[test]
#[ignore = "takes minutes"]
fn no_person_changes_the_rows_of_others_in_many() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|value| value.parse().ok())
    };
    let count = number("DP_MEAN_RELATIONS").unwrap_or(10_000);
    try_all(count, number("DP_MEAN_SEED").unwrap_or(1) as u64);
}

/// A row of a FULL JOIN is of the person of the side that it has: neither column alone says who, and ON must have the
/// equality.
#[test]
fn one_side_of_a_full_join_names_nobody() {
    let mut stage = Stage::new();
    let joined = "people p FULL JOIN visits v ON v.patient = p.person";
    for sql in [
        // Who a row is of.
        "SELECT count(*) FROM (SELECT p.person, count(*) AS n FROM {j} GROUP BY p.person) s WHERE n > 9",
        "SELECT count(*) FROM (SELECT v.patient, count(*) AS n FROM {j} GROUP BY v.patient) s WHERE n > 9",
        "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY v.patient) AS n FROM {j}) s WHERE n > 9",
        "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY coalesce(p.person, v.tall)) AS n FROM {j}) s WHERE n > 9",
        "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY coalesce(v.tall, v.patient, p.person)) AS n FROM {j}) s \
         WHERE n > 9",
        "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY coalesce(p.person, 7)) AS n FROM {j}) s WHERE n > 9",
        "SELECT count(*) FROM (SELECT DISTINCT ON (p.person) p.person, v.cost FROM {j}) s WHERE cost > 4000",
        "SELECT count(*) FROM (SELECT p.person FROM {j} UNION SELECT person FROM people) s",
        "SELECT count(*) FROM (SELECT v.patient, v.cost FROM {j} EXCEPT SELECT patient, cost FROM visits) s",
        // The condition.
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.tall = p.person",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.tall = p.person WHERE v.patient = p.person",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.patient = p.person OR v.tall = p.person",
        "SELECT count(*) FROM people p FULL JOIN visits v ON NOT v.patient = p.person",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.patient >= p.person",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.patient = p.person + 1",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.patient::float4 = p.person::float4",
        "SELECT count(*) FROM people p FULL JOIN visits v ON true",
        "SELECT count(*) FROM people p FULL JOIN visits v ON p.person = p.person",
        "SELECT count(*) FROM people p FULL JOIN (SELECT tall AS person FROM visits) v USING (person)",
        // Sides that are of several people themselves, or public.
        "SELECT count(*) FROM (people p JOIN visits w ON w.tall = p.person) FULL JOIN visits v ON v.patient = p.person",
        "SELECT count(*) FROM (people p LEFT JOIN visits w ON w.patient = p.person) FULL JOIN visits v ON v.patient = w.tall",
        "SELECT count(*) FROM (people p LEFT JOIN visits w ON w.patient = p.person) FULL JOIN visits v \
         ON v.patient = coalesce(w.patient, 666)",
        "SELECT count(*) FROM own o FULL JOIN visits v ON v.patient = o.x",
        "SELECT count(*) FROM (own o LEFT JOIN people p ON o.x = p.person) FULL JOIN visits v ON v.patient = p.person",
        "SELECT count(*) FROM own o LEFT JOIN ({j}) ON o.x = v.patient",
        // A third table.
        "SELECT count(*) FROM ({j}) JOIN visits w ON w.patient = p.person",
        "SELECT count(*) FROM ({j}) JOIN visits w ON w.patient = v.patient",
        "SELECT count(*) FROM ({j}) JOIN visits w ON w.patient = coalesce(p.person, v.tall)",
        "SELECT count(*) FROM ({j}) LEFT JOIN visits w ON w.patient = p.person",
        "SELECT count(*) FROM visits w LEFT JOIN ({j}) ON w.patient = v.patient",
        "SELECT count(*) FROM ({j}) FULL JOIN visits w ON w.patient = p.person",
        "SELECT count(*) FROM ({j}) FULL JOIN visits w ON w.tall = coalesce(p.person, v.patient)",
        "SELECT count(*) FROM (people p FULL JOIN visits v ON v.tall = p.person) JOIN visits w \
         ON w.patient = coalesce(p.person, v.patient)",
        // Sub-queries about one side.
        "SELECT count(*) FROM people q WHERE EXISTS (SELECT FROM {j} WHERE v.patient = q.person)",
        "SELECT count(*) FROM people q WHERE q.person NOT IN (SELECT v.patient FROM {j})",
        "SELECT count(*) FROM {j} WHERE NOT EXISTS (SELECT FROM visits w WHERE w.patient = p.person)",
        "SELECT count(*) FROM {j} WHERE (SELECT max(w.cost) FROM visits w WHERE w.patient = v.patient) > 4000",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.patient = p.person AND EXISTS (SELECT FROM visits w \
         WHERE w.patient = v.tall)",
        // What the gate would have to look into.
        "SELECT count(*) FROM {j} WHERE p IS NOT NULL",
        "SELECT count(v) FROM {j}",
        "SELECT count(*) FROM {j} WHERE v.ctid IS NULL",
        "SELECT count(*) FROM {j}, LATERAL (SELECT p.salary AS s) l WHERE s > 4000",
    ] {
        let sql = sql.replace("{j}", joined);
        let end = stage.assert_tells_nothing("", &sql);
        let (code, _) = end.error.unwrap_or_else(|| panic!("not refused: {sql}"));
        assert_eq!(code, "42501", "{sql}");
    }
    // What differs from these in the smallest way.
    for sql in [
        "SELECT count(*) FROM {j}",
        "SELECT count(*) FROM (SELECT count(*) AS n FROM {j} GROUP BY coalesce(v.patient, p.person)) s WHERE n > 9",
        "SELECT count(*) FROM (SELECT count(*) OVER (PARTITION BY coalesce(p.person, v.patient)) AS n FROM {j}) s WHERE n > 9",
        "SELECT count(*) FROM ({j}) JOIN visits w ON w.patient = coalesce(p.person, v.patient)",
        "SELECT count(*) FROM (people p LEFT JOIN visits w ON w.patient = p.person) FULL JOIN visits v ON v.patient = w.patient",
        "SELECT count(*) FROM ({j}) FULL JOIN visits w ON w.patient = coalesce(p.person, v.patient)",
        "SELECT count(*) FROM people q WHERE EXISTS (SELECT FROM {j} WHERE coalesce(p.person, v.patient) = q.person)",
        "SELECT count(*) FROM people p FULL JOIN visits v ON v.patient = p.person AND EXISTS (SELECT FROM visits w \
         WHERE w.patient = v.patient AND w.cost > 4000)",
    ] {
        let sql = sql.replace("{j}", joined);
        let end = stage.assert_tells_nothing("", &sql);
        assert_eq!(end.error, None, "{sql}");
    }
}
