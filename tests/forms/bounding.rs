//! A person counts in that many groups, for that many rows in each: the answers are those of the bounded rows.

use std::io::Read;
use std::thread;
use std::time::Duration;

use dp_mean_tests::{refusal, rows, run, value};

use super::{EPSILON, World};

/// Persons with far more rows than the policy lets count.
const BUSY: &str = "CREATE TABLE busy (person int NOT NULL, k int NOT NULL, x float8 NOT NULL, y int);
     INSERT INTO busy SELECT i % 500, i / 500 % 8, CASE WHEN i % 500 < 250 THEN 10 ELSE 30 END, nullif(i % 2, 0)
         FROM generate_series(0, 39999) i;
     SELECT dp_protect('busy', 'person', 'all', groups => {groups}, rows => {rows}, query_eps => 20,
         query_delta => 1e-6), dp_declare('busy', 'x', 0, 100), dp_allow('busy', '{analyst}')";

fn busy(groups: u32, rows: u32) -> World {
    let mut world = World::new();
    let sql = BUSY.replace("{groups}", &groups.to_string());
    world.own(&sql.replace("{rows}", &rows.to_string()));
    world
}

/// How far noise goes from `scale` units of one person, less than once in 10^8 times.
fn reach(units: u32) -> f64 {
    20.0 * f64::from(units) / EPSILON + 1.0
}

#[test]
fn a_person_counts_for_so_many_rows() {
    // 500 persons with 80 rows each.
    for limit in [1, 3, 50] {
        let mut world = busy(1, limit);
        let counted: i64 = world.asked("SELECT count(*) FROM busy");
        let expected = f64::from(500 * limit);
        assert!(
            (counted as f64 - expected).abs() <= reach(limit),
            "{limit}: {counted}"
        );
        let sum: f64 = world.asked("SELECT sum(x) FROM busy");
        let gap = (sum - 20.0 * expected).abs();
        assert!(gap <= 100.0 * reach(limit), "{limit}: {sum}");
        let mean: f64 = world.asked("SELECT avg(x) FROM busy");
        assert!((mean - 20.0).abs() < 1.0, "{limit}: {mean}");
        let people: i64 = world.asked("SELECT count(DISTINCT person) FROM busy");
        assert!((people - 500).abs() <= 21, "{limit}: {people}");
    }
}

/// Rows that a filter or a NULL takes out do not count for their person.
#[test]
fn rows_that_do_not_count_take_no_place() {
    let mut world = busy(1, 40);
    for (sql, expected) in [
        // Half of a person's 80 rows, and the other half; of some persons all, of others none.
        ("SELECT count(y) FROM busy", 20_000.0 / 2.0),
        ("SELECT count(*) FILTER (WHERE k < 4) FROM busy", 20_000.0),
        ("SELECT count(*) FROM busy WHERE k < 4", 20_000.0),
        ("SELECT count(*) FROM busy", 20_000.0),
        ("SELECT count(*) FILTER (WHERE k = 1) FROM busy", 5_000.0),
    ] {
        let counted: i64 = world.asked(sql);
        assert!(
            (counted as f64 - expected).abs() <= reach(40),
            "{sql}: {counted}"
        );
    }
}

#[test]
fn a_person_counts_in_so_many_groups() {
    // Each person is in all 8 groups, with 10 rows.
    for groups in [1, 2, 8] {
        let mut world = busy(groups, 2);
        let sql =
            "SELECT k, count(*), avg(x), count(DISTINCT person) FROM busy GROUP BY k ORDER BY k";
        let answer = rows(&mut world.analyst, sql);
        assert_eq!(answer.len(), 8);
        let counts: Vec<i64> = answer.iter().map(|row| row.get(1)).collect();
        let people: Vec<i64> = answer.iter().map(|row| row.get(3)).collect();
        let reach = reach(2 * groups) * 8.0;
        let all = counts.iter().sum::<i64>() as f64;
        assert!(
            (all - f64::from(500 * groups * 2)).abs() <= reach,
            "{groups}: {counts:?}"
        );
        let all = people.iter().sum::<i64>() as f64;
        assert!(
            (all - f64::from(500 * groups)).abs() <= reach,
            "{groups}: {people:?}"
        );
        // Which groups a person counts in is chosen for each of them: all groups have about as many.
        for count in &people {
            let share = 500.0 * f64::from(groups) / 8.0;
            assert!(
                (*count as f64 - share).abs() < 6.0 * share.sqrt() + reach,
                "{people:?}"
            );
        }
        for row in &answer {
            let mean: f64 = row.get(2);
            assert!((mean - 20.0).abs() < 6.0, "{mean}");
        }
        // All keys together are no group: the rows of one are counted.
        let one: i64 = world.asked("SELECT count(*) FROM busy");
        assert!((one - 1000).abs() <= 42, "{one}");
    }
}

/// A persons's groups are those of the whole key; of a set of GROUPING SETS, those of the set.
#[test]
fn each_grouping_set_bounds_persons_on_its_own() {
    let mut world = busy(2, 1);
    let sql = "SELECT GROUPING(k), sum(c)::bigint FROM (
         SELECT k, k / 4 AS half, GROUPING(k) AS g, count(*) AS c FROM busy GROUP BY GROUPING SETS ((k), (k / 4), ())
     ) s GROUP BY 1 ORDER BY 1";
    assert!(
        world.analyst.simple_query(sql).is_err(),
        "GROUPING has no meaning there"
    );
    let sql = "SELECT g, sum(c)::bigint FROM (
         SELECT GROUPING(k, k / 4) AS g, count(*) AS c FROM busy GROUP BY GROUPING SETS ((k), (k / 4), ())
     ) s GROUP BY 1 ORDER BY 1";
    let answer = rows(&mut world.analyst, sql);
    let sums: Vec<(i32, i64)> = answer.iter().map(|row| (row.get(0), row.get(1))).collect();
    for ((grouping, sum), (expected_grouping, expected)) in
        sums.iter().zip([(1, 1000), (2, 1000), (3, 500)])
    {
        assert_eq!(*grouping, expected_grouping, "{sums:?}");
        assert!((sum - expected).abs() <= 30, "{sums:?}");
    }
    assert_eq!(sums.len(), 3);
}

/// A join that multiplies a row does not multiply what its person counts for.
#[test]
fn a_join_does_not_multiply_a_person() {
    let mut world = busy(1, 2);
    world.ask("CREATE TABLE many AS SELECT i % 8 AS k, i FROM generate_series(1, 80) i");
    let counted: i64 = world.asked("SELECT count(*) FROM busy JOIN many USING (k)");
    assert!((counted - 1000).abs() <= 42, "{counted}");
    let counted: i64 = world.asked("SELECT count(*) FROM people JOIN many ON true");
    assert!((counted - 20_000).abs() <= 22, "{counted}");
    let truth: i64 = value(&mut world.owner, "SELECT count(*) FROM people");
    assert_eq!(truth, 20_000);
}

/// Values outside of the owner's bounds are clamped, and NULL of a person is nobody.
#[test]
fn values_are_clamped_and_nobody_is_nobody() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE wild (person int, x float8);
         INSERT INTO wild SELECT i, CASE i % 4 WHEN 0 THEN -1e300 WHEN 1 THEN 'infinity' WHEN 2 THEN 'nan' ELSE 25 END
             FROM generate_series(1, 4000) i;
         INSERT INTO wild SELECT NULL, 100 FROM generate_series(1, 5000);
         SELECT dp_protect('wild', 'person', 'all', query_eps => 20), dp_declare('wild', 'x', 0, 100),
             dp_allow('wild', '{analyst}')",
    );
    let counted: i64 = world.asked("SELECT count(*) FROM wild");
    assert!((counted - 4000).abs() <= 22, "{counted}");
    // 0, 100 and 25 of a thousand each; what is no number is not counted.
    let row = &rows(
        &mut world.analyst,
        "SELECT avg(x), sum(x), count(x) FROM wild",
    )[0];
    let (mean, sum): (f64, f64) = (row.get(0), row.get(1));
    assert!((mean - 125.0 / 3.0).abs() < 1.0, "{mean}");
    assert!((sum - 125_000.0).abs() < 3000.0, "{sum}");
}

/// The same where a row is a person: a unique column may have many NULLs.
#[test]
fn a_row_without_a_person_is_nobody() {
    let mut world = World::new();
    let version: i32 = value(
        &mut world.owner,
        "SELECT current_setting('server_version_num')::int",
    );
    // What is NOT VALID may have NULLs, too; older servers have none.
    let unchecked = match version >= 180_000 {
        true => "ALTER TABLE alone ADD CONSTRAINT later NOT NULL person NOT VALID;",
        false => "",
    };
    for (null, later, people) in [
        ("", "", 4000_i64),
        ("NOT NULL", "", 9000),
        ("", unchecked, 4000),
    ] {
        world.own(&format!(
            "DROP TABLE IF EXISTS alone;
             CREATE TABLE alone (person int {null} UNIQUE, x float8 NOT NULL);
             INSERT INTO alone SELECT CASE WHEN i <= {people} THEN i END, 50 FROM generate_series(1, 9000) i;
             {later}
             SELECT dp_protect('alone', 'person', 'all', query_eps => 20), dp_declare('alone', 'x', 0, 100),
                 dp_allow('alone', '{{analyst}}')"
        ));
        for sql in [
            "SELECT count(*) FROM alone",
            "SELECT count(x) FROM alone",
            "SELECT count(DISTINCT person) FROM alone",
        ] {
            let counted: i64 = world.asked(sql);
            assert!((counted - people).abs() <= 22, "{counted}: {null}: {sql}");
        }
    }
}

/// Newer planners drop what is one value from GROUP BY: groups of one person are still theirs.
#[test]
fn a_question_about_one_person_is_answered_as_any_other() {
    let mut world = World::new();
    for key in [
        "region",
        "region, note",
        "patient / 2",
        "date_trunc('year', day)",
    ] {
        let sql = format!(
            "SELECT count(*) FROM (SELECT {key}, count(*), avg(cost) FROM visits WHERE patient = 1 GROUP BY {key}) s"
        );
        let shown: i64 = world.asked(&sql);
        assert!(shown <= 1, "{sql}");
    }
}

/// 10 persons with 1000 rows each, among them one row counts.
const MANY: &str = "CREATE TABLE many (person int NOT NULL, k int NOT NULL, x float8 NOT NULL);
     INSERT INTO many SELECT i % 10, i, 50 FROM generate_series(0, 9999) i;
     SELECT dp_protect('many', 'person', 'all', query_eps => 20), dp_allow('many', '{analyst}')";

impl World {
    /// That the persons of a table are counted, whatever rows they have.
    #[track_caller]
    fn counts_persons(&mut self, table: &str, persons: i64, what: &str) {
        let counted: i64 = self.asked(&format!("SELECT count(*) FROM {table}"));
        assert!((counted - persons).abs() <= 3, "{counted}: {what}");
    }

    /// Whether the rows of a person are brought together before they are counted.
    fn bounds_rows(&mut self, table: &str) -> bool {
        let sql = format!("SELECT rewritten FROM dp_cost('SELECT count(*) FROM {table}')");
        self.asked::<String>(&sql).contains("dp_contribution")
    }
}

/// An index that is about other values, about some rows, or about none as yet, says nothing of a person's rows.
#[test]
fn only_an_index_over_all_rows_makes_a_row_a_person() {
    let mut world = World::new();
    world.own(MANY);
    world.own(
        "CREATE TABLE parts (LIKE many) PARTITION BY HASH (person);
         CREATE TABLE part PARTITION OF parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
         INSERT INTO parts SELECT * FROM many;
         SELECT dp_protect('parts', 'person', 'all', query_eps => 20), dp_allow('parts', '{analyst}')",
    );
    for (table, index) in [
        ("many", "INDEX made ON many (person)"),
        ("many", "UNIQUE INDEX made ON many (k)"),
        ("many", "UNIQUE INDEX made ON many (person, k)"),
        ("many", "UNIQUE INDEX made ON many (k, person)"),
        ("many", "UNIQUE INDEX made ON many (k) INCLUDE (person)"),
        ("many", "UNIQUE INDEX made ON many ((person + 10 * k))"),
        ("many", "UNIQUE INDEX made ON many (person) WHERE k < 10"),
        ("many", "UNIQUE INDEX CONCURRENTLY made ON many (person)"),
        ("parts", "UNIQUE INDEX made ON ONLY parts (person)"),
    ] {
        let made = world.owner.simple_query(&format!("CREATE {index}"));
        // One that cannot be made stays, and is not valid.
        assert_eq!(made.is_err(), index.contains("CONCURRENTLY"), "{index}");
        world.counts_persons(table, 10, index);
        world.own("DROP INDEX made");
    }
    // Columns that an index carries do no harm.
    world.own("DELETE FROM many WHERE k >= 10");
    assert!(world.bounds_rows("many"));
    world.own("CREATE UNIQUE INDEX made ON many (person) INCLUDE (x)");
    assert!(!world.bounds_rows("many"));
    world.counts_persons("many", 10, "one row each");
}

/// Until a transaction ends, what is checked at its end may not hold.
#[test]
fn an_index_that_is_checked_later_says_nothing() {
    let mut world = World::new();
    world.own(
        "CREATE TABLE late (person int NOT NULL UNIQUE DEFERRABLE, x float8 NOT NULL);
         INSERT INTO late SELECT i, 50 FROM generate_series(1, 10) i;
         SELECT dp_protect('late', 'person', 'all', query_eps => 20), dp_allow('late', '{analyst}')",
    );
    let mut both = world.database.connect();
    let before = world.with_roles(
        "BEGIN; SET CONSTRAINTS ALL DEFERRED;
         INSERT INTO late SELECT i % 10 + 1, 50 FROM generate_series(1, 10000) i; SET ROLE {analyst}",
    );
    run(&mut both, &before);
    let counted: i64 = value(&mut both, "SELECT count(*) FROM late");
    assert!((counted - 10).abs() <= 3, "{counted}");
    run(&mut both, "ROLLBACK");
}

/// A snapshot that is older than an index sees rows that the index never had.
#[test]
fn an_old_snapshot_has_no_new_index() {
    let unique = "DELETE FROM many WHERE k >= 10; CREATE UNIQUE INDEX made ON many (person)";
    let mut world = World::new();
    world.own(MANY);
    world.ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM regions");
    world.own(unique);
    world.counts_persons("many", 10, "a transaction that keeps its snapshot");
    world.ask("COMMIT");
    assert!(!world.bounds_rows("many"));
}

/// Nor does it say that a person has one value of a column, where other rows of theirs are joined.
#[test]
fn an_old_snapshot_has_several_values_of_a_person() {
    let mut world = World::new();
    world.own(MANY);
    world.own(
        "CREATE TABLE notes (person int NOT NULL); INSERT INTO notes SELECT generate_series(0, 9);
         SELECT dp_protect('notes', 'person', 'all', query_eps => 20), dp_allow('notes', '{analyst}')",
    );
    let by_parity = "SELECT m.k % 2 = 0 AS k, count(*) AS n FROM notes n JOIN many m ON m.person = n.person GROUP BY 1";
    let all = format!("SELECT sum(n)::bigint FROM ({by_parity}) s");
    let cost = format!("SELECT rewritten FROM dp_cost('{by_parity}')");
    world.ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM regions");
    world.own("DELETE FROM many WHERE k >= 10; CREATE UNIQUE INDEX made ON many (person)");
    for (keeps, kept_in_one) in [(true, true), (false, false)] {
        let counted: i64 = world.asked(&all);
        assert!((counted - 10).abs() <= 3, "{counted}: {keeps}");
        assert_eq!(
            world.asked::<String>(&cost).contains("dp_groups("),
            kept_in_one
        );
        if keeps {
            world.ask("COMMIT");
        }
    }
}

/// So do a function that has the snapshot of the statement it is in, and COPY, which may both have waited.
#[test]
fn a_snapshot_that_waited_has_no_new_index() {
    const COUNTS: &str = "CREATE FUNCTION counts() RETURNS bigint STABLE LANGUAGE plpgsql
         AS $$ BEGIN RETURN (SELECT count(*) FROM many); END $$";
    let unique = "DELETE FROM many WHERE k >= 10; ALTER TABLE many ADD UNIQUE (person)";
    for (stands, function) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut world = World::new();
        world.own(MANY);
        world.ask(COUNTS);
        // The index is made while the question waits: in the middle, or for the table.
        let mut server = world.database.connect();
        if function {
            run(&mut server, "SELECT pg_advisory_lock(7)");
        } else {
            world.own(&format!("BEGIN; {unique}"));
        }
        let mut analyst = world.database.connect_as(&world.with_roles("{analyst}"));
        let down = format!("SELECT dp_test_defence('snapshot', {stands})");
        run(&mut analyst, &down);
        let asking = thread::spawn(move || match function {
            true => {
                let sql = "SELECT counts() FROM (SELECT pg_advisory_lock_shared(7) OFFSET 0) s";
                analyst
                    .query_one(sql, &[])
                    .map(|row| row.get::<_, i64>(0).to_string())
            }
            false => {
                let copied = analyst.copy_out("COPY (SELECT count(*) FROM many) TO STDOUT");
                copied.and_then(|mut rows| {
                    let mut text = String::new();
                    match rows.read_to_string(&mut text) {
                        Ok(_) => Ok(text),
                        Err(error) => {
                            let error = error.into_inner().expect("an error of the server");
                            Err(*error
                                .downcast::<postgres::Error>()
                                .expect("an error of the server"))
                        }
                    }
                })
            }
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        while value::<i64>(&mut server, waits) == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        if function {
            world.own(unique);
            run(&mut server, "SELECT pg_advisory_unlock(7)");
        } else {
            world.own("COMMIT");
        }
        let answer = asking.join().expect("a session");
        match (stands, answer) {
            (true, Err(error)) => {
                let refusal = refusal(&error, "the question that waited");
                assert_eq!(refusal.code, "40001", "{function}: {refusal:?}");
                assert_eq!(world.spent().1, 0, "{function}");
            }
            (false, Ok(counted)) => {
                let counted: i64 = counted.trim().parse().expect("a number");
                assert!(counted > 9000, "{function}: {counted}");
            }
            (_, answer) => panic!("{stands} {function}: {answer:?}"),
        }
        world.counts_persons("many", 10, "the next question");
    }
}

/// A session may count fewer rows and groups of a person than the owner allows, for less noise.
#[test]
fn a_session_may_ask_for_fewer_rows_and_groups() {
    let mut world = World::new();
    // Each patient has two visits, which may be in two regions.
    world.ask("SET dp_mean.rows = 1; SET dp_mean.groups = 1");
    let few: i64 = world.asked("SELECT count(*) FROM visits");
    assert!((19_900..20_100).contains(&few), "{few}");
    let few: i64 =
        world.asked("SELECT sum(n)::bigint FROM (SELECT count(*) AS n FROM visits GROUP BY day) s");
    assert!((19_000..21_000).contains(&few), "{few}");
    world.ask("RESET dp_mean.rows; RESET dp_mean.groups");
    let all: i64 = world.asked("SELECT count(*) FROM visits");
    assert!((39_900..40_100).contains(&all), "{all}");
    for (name, most) in [("rows", 2), ("groups", 2)] {
        world.ask(&format!("SET dp_mean.{name} = 3"));
        let refusal = world.refused("SELECT count(*) FROM visits");
        let said = format!("dp_mean.{name} is 3, above the {most}");
        assert!(refusal.message.contains(&said), "{refusal:?}");
        assert!(
            refusal
                .hint
                .contains(&format!("SET dp_mean.{name} = {most}")),
            "{refusal:?}"
        );
        world.ask(&format!("RESET dp_mean.{name}"));
    }
}
