//! Many releases at little cost.
//!
//! PostgreSQL computes identical calls once. But different aggregates over the same arguments
//! share one state where they have the same transition function, and each runs its own final
//! function. So copies of an aggregate under other names give as many releases for one scan of
//! the table, all through the functions that the aggregate itself runs. Where the table is small,
//! a scan for each release is as cheap.

use postgres::Client;

use crate::{Build, Database, value};

/// A session that draws many releases.
pub struct Releases {
    client: Client,
}

impl Releases {
    /// Releases for one scan: of the aggregate and its copies. Twice as many take four times as
    /// long to plan; half as many, twice as many scans.
    pub const A_SCAN: usize = 400;

    /// A session in `database`.
    pub fn new(database: &Database) -> Self {
        let mut client = database.connect();
        // One process draws all the noise, in the order of the query.
        let settings = "SET max_parallel_workers_per_gather = 0; SET jit = off";
        client.batch_execute(settings).expect("settings");
        Self { client }
    }

    /// In a database of its own, of the testing build; the same noise at every run.
    pub fn seeded(seed: i64) -> Self {
        let mut releases = Self::new(&Database::new(Build::Testing));
        let seeding = format!("SELECT dp_test_seed({seed})");
        releases.client().batch_execute(&seeding).expect("a seed");
        releases
    }

    /// The session.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// `count` releases of `call`, such as `dp_sum(x, 0, 1, 1.0)`, over the rows of `table`. If it
    /// returns a row, `fields` names the columns, and each release gives as many numbers.
    pub fn draw(&mut self, call: &str, fields: &[&str], table: &str, count: usize) -> Vec<f64> {
        let (name, arguments) = call.split_once('(').expect("a call");
        self.copy(name);
        let mut columns = Vec::with_capacity(Self::A_SCAN);
        for copy in 0..Self::A_SCAN {
            let call = match copy {
                0 => call.to_owned(),
                _ => format!("copy_{copy}_of_{name}({arguments}"),
            };
            if fields.is_empty() {
                columns.push(call);
            } else {
                columns.extend(fields.iter().map(|field| format!("({call}).{field}")));
            }
        }
        // The condition is always true. It makes the sub-select depend on `scan`, so that it runs
        // again for each.
        let sql = format!(
            "SELECT s.answers FROM generate_series(1, {}) scan, LATERAL \
             (SELECT ARRAY[{}]::float8[] AS answers FROM {table} WHERE scan > 0) s",
            count.div_ceil(Self::A_SCAN),
            columns.join(", ")
        );
        let rows = self
            .client
            .query(&sql, &[])
            .unwrap_or_else(|error| panic!("{error:?}: {call}"));
        let mut answers: Vec<f64> = rows
            .iter()
            .flat_map(|row| row.get::<_, Vec<f64>>(0))
            .collect();
        let numbers = count * fields.len().max(1);
        assert!(
            answers.len() >= numbers,
            "{call}: {} numbers came",
            answers.len()
        );
        answers.truncate(numbers);
        answers
    }

    /// `count` releases of `answer`, an expression that gives an array, over the rows of `table`,
    /// one scan for each: the numbers of all, one after the other. With `group` each release is
    /// an array for each group, in their order.
    pub fn draw_arrays(
        &mut self,
        answer: &str,
        table: &str,
        group: Option<&str>,
        count: usize,
    ) -> Vec<f64> {
        let grouping =
            group.map_or_else(String::new, |key| format!("GROUP BY {key} ORDER BY {key}"));
        let sql = format!(
            "SELECT s.answer FROM generate_series(1, {count}) scan, LATERAL \
             (SELECT {answer} AS answer FROM {table} WHERE scan > 0 {grouping}) s"
        );
        let rows = self
            .client
            .query(&sql, &[])
            .unwrap_or_else(|error| panic!("{error:?}: {answer}"));
        rows.iter()
            .flat_map(|row| row.get::<_, Vec<f64>>(0))
            .collect()
    }

    /// Copies every aggregate called `name`, from what the catalog says of it; once in a database.
    fn copy(&mut self, name: &str) {
        let exists =
            format!("SELECT EXISTS (SELECT FROM pg_proc WHERE proname = 'copy_1_of_{name}')");
        if value(&mut self.client, &exists) {
            return;
        }
        let copies: String = value(
            &mut self.client,
            &format!(
                "SELECT string_agg(format('CREATE AGGREGATE copy_%s_of_{name}(%s) (SFUNC = %s, \
                 STYPE = %s, FINALFUNC = %s, COMBINEFUNC = %s, FINALFUNC_MODIFY = SHAREABLE, \
                 PARALLEL = SAFE)', copy, pg_get_function_identity_arguments(p.oid), t.oid::regproc, \
                 aggtranstype::regtype, f.oid::regproc, c.oid::regproc), '; ') \
                 FROM pg_aggregate JOIN pg_proc p ON p.oid = aggfnoid \
                 JOIN pg_proc t ON t.oid = aggtransfn JOIN pg_proc f ON f.oid = aggfinalfn \
                 JOIN pg_proc c ON c.oid = aggcombinefn, generate_series(1, {}) copy \
                 WHERE p.proname = '{name}' AND aggfinalmodify = 's'",
                Self::A_SCAN - 1
            ),
        );
        self.client
            .batch_execute(&copies)
            .expect("copies of the aggregate");
    }
}
