//! Record and compare, as in `record.rs`, of plain SQL about protected tables: what all rows of a person can do to the
//! integers that noise meets, and to nothing else.
//!
//! Neighbours here differ by a person with up to six rows in several groups, with values at the bounds, beside them,
//! NULL, NaN and infinities. The others are the same, with rows in all groups: delta is spent on those of one person
//! alone.
//!
//! No charge is made here, as thousands of questions would pass every limit.

use dp_core::encoding::grid::{COARSE_STEPS, PAIR_STEPS, STEPS};
use dp_mean_tests::mix::Mix;
use dp_mean_tests::{Build, Database, drop_roles, rows, run, value};
use postgres::Client;

/// Pairs of neighbours.
const PAIRS: usize = 60;
/// The seed of every release.
const SEED: u64 = 2025;
const REGIONS: [&str; 3] = ["east", "north", "west"];
const BOUNDS: (f64, f64) = (-2.0, 5.0);

/// `visits` counts three rows of a person in each of two groups, `stays` finds how many count, a person has one row in
/// `people`.
const TABLES: &str = "
CREATE ROLE {o} LOGIN; CREATE ROLE {a} LOGIN;
GRANT EXECUTE ON FUNCTION dp_set_budget TO {o};
GRANT CREATE ON SCHEMA public TO {o};
SET ROLE {o};
CREATE TABLE visits (
    person integer NOT NULL, pair integer NOT NULL, side integer NOT NULL, region text NOT NULL, kind text NOT NULL,
    x float8, y float8
);
CREATE TABLE stays (LIKE visits);
CREATE TABLE people (LIKE visits, PRIMARY KEY (person));
SELECT dp_set_budget('all', 4096, 1e-3);
SELECT dp_protect('visits', 'person', 'all', groups => 2, rows => 3, query_eps => 1);
SELECT dp_protect('stays', 'person', 'all', query_eps => 50, auto_rows => true);
SELECT dp_protect('people', 'person', 'all', query_eps => 1);
SELECT dp_declare(t, c, -2, 5)
    FROM unnest(ARRAY['visits', 'stays', 'people']::regclass[]) t, unnest(ARRAY['x', 'y']::name[]) c;
SELECT dp_declare(t, 'kind', ARRAY['a', 'b']) FROM unnest(ARRAY['visits', 'stays', 'people']::regclass[]) t;
SELECT dp_allow(t, '{a}') FROM unnest(ARRAY['visits', 'stays', 'people']::regclass[]) t;
RESET ROLE";

/// A question, and what is declared of it.
struct Form {
    /// With `{rows}`.
    sql: &'static str,
    /// How many groups there are.
    groups: usize,
    /// Whether a group can be moved by these integers, by all rows that count of a person.
    has: fn(&[Vec<i128>]) -> bool,
}

/// Groups of a question in which a person counts.
const GROUPS: usize = 2;
const G: i128 = STEPS as i128;
const COARSE: i128 = COARSE_STEPS as i128;
const PAIR: i128 = (PAIR_STEPS * PAIR_STEPS) as i128;

/// Each integer by at most this.
fn each(moved: &[Vec<i128>], most: i128) -> bool {
    moved.iter().flatten().all(|number| number.abs() <= most)
}

/// All integers together by at most this.
fn together(moved: &[Vec<i128>], most: i128) -> bool {
    moved
        .iter()
        .flatten()
        .map(|number| number.abs())
        .sum::<i128>()
        <= most
}

/// As above but the last, which moves by at most that.
fn each_but_last(moved: &[Vec<i128>], most: i128, last: i128) -> bool {
    let (end, others) = moved.split_last().expect("a noisy integer");
    each(others, most) && each(std::slice::from_ref(end), last)
}

/// The squares of all integers by at most this together.
fn squares(moved: &[Vec<i128>], most: i128) -> bool {
    let all = moved.iter().flatten().map(|number| number * number);
    all.sum::<i128>() <= most
}

fn forms() -> Vec<Form> {
    let form = |sql, groups, has| Form { sql, groups, has };
    vec![
        form("SELECT count(*) FROM visits WHERE {rows}", 1, |moved| {
            each(moved, 3)
        }),
        // Without the person among its columns, from both parts together.
        form(
            "SELECT count(*) FROM (SELECT x FROM visits WHERE {rows} UNION ALL SELECT y FROM visits WHERE {rows}) u",
            1,
            |moved| each(moved, 3),
        ),
        form(
            "SELECT count(DISTINCT person) FROM visits WHERE {rows}",
            1,
            |moved| each(moved, 1),
        ),
        form(
            "SELECT count(DISTINCT y) FROM visits WHERE {rows}",
            1,
            |moved| each(moved, 3),
        ),
        form("SELECT avg(x) FROM visits WHERE {rows}", 1, |moved| {
            each(moved, 3 * G)
        }),
        form("SELECT sum(x) FROM visits WHERE {rows}", 1, |moved| {
            each(moved, 3 * G)
        }),
        // Drawn together: each is a part of what a person can do to it.
        form(
            "SELECT sum(x), count(*), avg(y) FROM visits WHERE {rows}",
            1,
            |moved| each(moved, G),
        ),
        form(
            "SELECT count(*) FILTER (WHERE x > 0), count(*) FILTER (WHERE y > 0), count(x) FROM visits WHERE {rows}",
            1,
            |moved| each(moved, G),
        ),
        form(
            "SELECT avg(x), sum(y), count(*) FROM people WHERE {rows}",
            1,
            |moved| each(moved, G),
        ),
        // Groups are chosen by the number of their people, which comes last.
        form(
            "SELECT region, count(*) FROM visits WHERE {rows} GROUP BY region",
            3,
            |moved| each_but_last(moved, 3, 1),
        ),
        form(
            "SELECT region, sum(x), avg(y) FROM visits WHERE {rows} GROUP BY region",
            3,
            |moved| each_but_last(moved, G, 1),
        ),
        // Values that are declared.
        form(
            "SELECT kind, sum(x), count(*) FROM visits WHERE {rows} GROUP BY kind",
            2,
            |moved| each(moved, G),
        ),
        form("SELECT variance(x) FROM people WHERE {rows}", 1, |moved| {
            squares(moved, COARSE.pow(4))
        }),
        form("SELECT corr(x, y) FROM people WHERE {rows}", 1, |moved| {
            squares(moved, 243 * PAIR * PAIR)
        }),
        // Weights 4, 3, 4, 2, 2, 4.
        form(
            "SELECT (dp_linear_regression(x, ARRAY[y], -2, 5, ARRAY[-2], ARRAY[5], 1)).r2 FROM people WHERE {rows}",
            1,
            |moved| squares(moved, 65 * PAIR * PAIR),
        ),
        form(
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM visits WHERE {rows}",
            1,
            |moved| {
                moved
                    .iter()
                    .all(|counts| together(std::slice::from_ref(counts), 3))
            },
        ),
        form(
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM people WHERE {rows}",
            1,
            |moved| {
                moved
                    .iter()
                    .all(|counts| together(std::slice::from_ref(counts), 1))
            },
        ),
        // Numbers of people, by which is found how much of one counts; then the total of that.
        form("SELECT count(*) FROM stays WHERE {rows}", 1, |moved| {
            each_but_last(moved, 1, G)
        }),
        form("SELECT sum(x) FROM stays WHERE {rows}", 1, |moved| {
            each_but_last(moved, 1, G)
        }),
        form(
            "SELECT avg(n) FROM (SELECT person, least(count(*), 4) AS n FROM visits WHERE {rows} GROUP BY person) s",
            1,
            |moved| each(moved, G),
        ),
    ]
}

fn any_value(mix: &mut Mix) -> String {
    let (lo, hi) = BOUNDS;
    let value = match mix.below(12) {
        0 => return "NULL".to_owned(),
        1 => f64::NAN,
        2 => f64::INFINITY,
        3 => f64::NEG_INFINITY,
        4 => lo,
        5 => hi,
        6 => lo.next_down(),
        7 => hi.next_up(),
        8 => -0.0,
        9 => 5e-324,
        _ => lo + (hi - lo) * mix.unit(),
    };
    format!("'{value:e}'")
}

/// Rows of a person: those of one side, 0 or 1, or of both, 2.
fn rows_of(mix: &mut Mix, person: usize, pair: usize, side: usize, count: usize) -> Vec<String> {
    let row = |_| {
        let region = REGIONS[mix.below(REGIONS.len())];
        let kind = ["a", "b"][mix.below(2)];
        let [x, y] = [(); 2].map(|()| any_value(mix));
        format!("({person}, {pair}, {side}, '{region}', '{kind}', {x}, {y})")
    };
    (0..count).map(row).collect()
}

fn fill(root: &mut Client) {
    let mut mix = Mix(11);
    for pair in 0..PAIRS {
        let first = pair * 100;
        let mut all = Vec::new();
        let mut alone = Vec::new();
        for (i, region) in REGIONS.iter().enumerate() {
            let person = first + i;
            all.push(format!("({person}, {pair}, 2, '{region}', 'a', 1, 1)"));
            all.extend(rows_of(&mut mix, person, pair, 2, 1));
        }
        for i in 0..4 {
            let count = 1 + mix.below(5);
            all.extend(rows_of(&mut mix, first + 10 + i, pair, 2, count));
            alone.extend(rows_of(&mut mix, first + 10 + i, pair, 2, 1));
        }
        let count = 1 + mix.below(6);
        all.extend(rows_of(&mut mix, first + 50, pair, pair % 2, count));
        alone.extend(rows_of(&mut mix, first + 50, pair, pair % 2, 1));
        let (all, alone) = (all.join(", "), alone.join(", "));
        run(
            root,
            &format!(
                "INSERT INTO visits VALUES {all}; INSERT INTO stays VALUES {all}; INSERT INTO people VALUES {alone}"
            ),
        );
    }
    run(root, "ANALYZE");
}

/// What a noisy integer depends on of the rows, and the integer with its noise.
type Note = (Vec<i128>, i128);

/// A release: how many words it drew, and its noisy integers, with what they depend on of the rows.
#[derive(Clone, Debug)]
struct Release {
    words: u64,
    notes: Vec<Note>,
}

fn recorded(client: &mut Client) -> Vec<Release> {
    let text: String = value(client, "SELECT dp_test_recorded()");
    let number = |text: &str| text.parse::<i128>().expect("an integer");
    let release = |line: &str| {
        let (words, notes) = line.split_once(' ').unwrap_or((line, ""));
        let note = |note: &str| {
            let (exact, noisy) = note.split_once(':').expect("a note");
            (exact.split(',').map(number).collect(), number(noisy))
        };
        Release {
            words: words.parse().expect("words"),
            notes: notes.split_whitespace().map(note).collect(),
        }
    };
    text.lines().map(release).collect()
}

fn asked(client: &mut Client, sql: &str, playing: bool) -> (Vec<String>, Vec<Release>) {
    let start = if playing { "replay" } else { "record" };
    run(client, &format!("SELECT dp_test_{start}({SEED})"));
    let answers = rows(client, &format!("SELECT s::text FROM ({sql}) s"));
    let answers = answers.iter().map(|row| row.get(0)).collect();
    (answers, recorded(client))
}

#[test]
fn a_person_moves_what_is_declared_and_nothing_else() {
    let database = Database::new(Build::Testing);
    let mut root = database.connect();
    let [owner, analyst] = ["owner", "analyst"].map(|who| format!("{}_{who}", database.name()));
    run(
        &mut root,
        &TABLES.replace("{o}", &owner).replace("{a}", &analyst),
    );
    fill(&mut root);
    let mut client = database.connect_as(&analyst);
    run(
        &mut client,
        "SELECT dp_test_defence('charge', false); SET enable_hashagg = off; SET jit = off",
    );
    for form in forms() {
        let of = |pair: usize, side: usize| {
            let rows = format!("pair = {pair} AND side <> {}", 1 - side);
            form.sql.replace("{rows}", &rows)
        };
        let mut count = 0;
        for pair in 0..PAIRS {
            let (answers, releases) = asked(&mut client, &of(pair, 0), false);
            let (others, other) = asked(&mut client, &of(pair, 1), true);
            let what = format!("{}: pair {pair}: {releases:?} and {other:?}", form.sql);
            // As many words, and the same noise, integer by integer.
            let words = |releases: &[Release]| -> Vec<_> {
                releases
                    .iter()
                    .map(|release| (release.words, release.notes.len()))
                    .collect()
            };
            assert_eq!(words(&releases), words(&other), "{what}");
            let notes =
                |releases: Vec<Release>| releases.into_iter().flat_map(|release| release.notes);
            let pairs: Vec<_> = notes(releases).zip(notes(other)).collect();
            for ((exact, noisy), (other, noisy_other)) in &pairs {
                assert_eq!(exact.len(), other.len(), "{what}");
                // What is chosen by several numbers of rows has no noise to compare.
                let is_same = noisy - exact[0] == noisy_other - other[0];
                assert!(is_same || exact.len() > 1, "other noise: {what}");
            }
            // The second answer goes on with the noisy integers of the first.
            assert_eq!(answers, others, "{what}");
            let difference = |((one, _), (other, _)): &(Note, Note)| -> Vec<i128> {
                one.iter()
                    .zip(other)
                    .map(|(one, other)| other - one)
                    .collect()
            };
            let moved: Vec<_> = pairs.iter().map(difference).collect();
            assert_eq!(moved.len() % form.groups, 0, "{what}");
            let groups = moved.chunks(moved.len() / form.groups);
            let is_moved = |group: &&[Vec<i128>]| !each(group, 0);
            assert!(
                groups.clone().filter(is_moved).count() <= GROUPS,
                "{moved:?}: {what}"
            );
            assert!(groups.clone().all(form.has), "{moved:?}: {what}");
            count += usize::from(!each(&moved, 0));
        }
        println!("{}: {count} of {PAIRS} pairs moved", form.sql);
        assert!(
            count >= PAIRS / 3,
            "{}: too few pairs moved: {count}",
            form.sql
        );
    }
    drop(client);
    drop_roles(&mut root, &format!("{owner}, {analyst}")).expect("the roles can go");
}
