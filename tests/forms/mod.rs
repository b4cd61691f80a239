//! The gate, form by form: what a role without SELECT may ask in plain SQL, and what it gets, as the owner would.

mod across;
mod answers;
mod asking;
mod beyond;
mod bounding;
mod by_name;
mod conditions;
mod full_joins;
mod gaussian;
mod groups;
mod key_lists;
mod key_ranges;
mod key_references;
mod key_tables;
mod noise;
mod one_value;
mod own_rows;
mod promises;
mod queries;
mod references;
mod refusals;
mod rounding;
mod rows_of_person;
mod settled;
mod shapes;
mod star;
mod statements;
mod tables;
mod together;
mod tools;
mod totals;
mod values;
mod vector;

use dp_mean_tests::{Build, Database, Refusal, refused, run, value};
use postgres::{Client, SimpleQueryMessage};

/// What an aggregate costs, and a choice of groups, in `world.sql`.
const EPSILON: f64 = 20.0;

/// A table of answers, as text.
type Table = Vec<Vec<Option<String>>>;

/// Two protected tables, their owner, and an analyst who may ask about them.
pub struct World {
    pub database: Database,
    pub owner: Client,
    pub analyst: Client,
}

impl World {
    pub fn new() -> Self {
        let database = Database::new(Build::Testing);
        let mut server = database.connect();
        for role in ["owner", "analyst", "other"] {
            let sql = format!("CREATE ROLE {}_{role} LOGIN", database.name());
            run(&mut server, &sql);
        }
        let owner = database.connect_as(&format!("{}_owner", database.name()));
        let analyst = database.connect_as(&format!("{}_analyst", database.name()));
        let mut world = Self {
            database,
            owner,
            analyst,
        };
        let rights = world.with_roles(
            "GRANT EXECUTE ON FUNCTION dp_set_budget \
                 TO {owner};
             GRANT CREATE ON SCHEMA public TO {owner}, {analyst}, {other}",
        );
        run(&mut server, &rights);
        world.own(include_str!("world.sql"));
        run(&mut server, "ANALYZE");
        world
    }

    /// SQL with the names that the roles have on this server, for `{owner}`, `{analyst}` and `{other}`.
    pub fn with_roles(&self, sql: &str) -> String {
        let of_role = |sql: String, role: &str| {
            sql.replace(
                &format!("{{{role}}}"),
                &format!("{}_{role}", self.database.name()),
            )
        };
        ["owner", "analyst", "other"]
            .into_iter()
            .fold(sql.to_owned(), of_role)
    }

    /// Statements of the owner.
    pub fn own(&mut self, sql: &str) {
        let sql = self.with_roles(sql);
        run(&mut self.owner, &sql);
    }

    /// Statements of the analyst.
    pub fn ask(&mut self, sql: &str) {
        let sql = self.with_roles(sql);
        run(&mut self.analyst, &sql);
    }

    /// The single value that the analyst gets.
    pub fn asked<T: for<'a> postgres::types::FromSql<'a>>(&mut self, sql: &str) -> T {
        value(&mut self.analyst, sql)
    }

    /// The epsilon and the number of charges so far.
    pub fn spent(&mut self) -> (f64, i64) {
        let sql = "SELECT spent_epsilon, charges FROM dp_budgets WHERE role IS NULL";
        let row = self.owner.query_one(sql, &[]).expect("a budget");
        (row.get(0), row.get(1))
    }

    /// What a piece of work costs: in releases at the usual price, and the charges.
    pub fn price(&mut self, work: impl FnOnce(&mut Self)) -> (f64, i64) {
        let before = self.spent();
        work(self);
        let after = self.spent();
        let releases = (after.0 - before.0) / EPSILON;
        // Epsilons are rounded down to dyadic ones.
        ((releases * 1e6).round() / 1e6, after.1 - before.1)
    }

    /// That the analyst gets what the owner does but for noise, for that many releases.
    pub fn same(&mut self, sql: &str, releases: u32) {
        self.same_as(sql, sql, releases);
    }

    /// The same, where the owner asks another query.
    pub fn same_as(&mut self, sql: &str, plain: &str, releases: u32) {
        let truth = table(&mut self.owner, plain);
        let mut answer = Vec::new();
        let (paid, charges) = self.price(|world| answer = table(&mut world.analyst, sql));
        assert_alike(&answer, &truth, sql);
        assert_eq!(paid, f64::from(releases), "{sql}");
        // Each block has a charge of its own, of one release or more.
        let charges = u32::try_from(charges).expect("charges");
        let least = u32::from(releases > 0);
        assert!(
            (least..=releases).contains(&charges),
            "{charges} charges: {sql}"
        );
    }

    /// That the analyst's statement is refused for lack of rights, and costs nothing: what PostgreSQL says.
    pub fn refused(&mut self, sql: &str) -> Refusal {
        let before = self.spent();
        let refusal = refused(&mut self.analyst, sql);
        assert_eq!(refusal.code, "42501", "{sql}: {refusal:?}");
        assert_eq!(self.spent(), before, "{sql}");
        refusal
    }
}

/// The rows of a query, as text. The query goes as it is, in the simple protocol.
pub fn table(client: &mut Client, sql: &str) -> Table {
    let messages = client.simple_query(sql);
    let messages = messages.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            let cells = (0..row.len()).map(|i| row.get(i).map(str::to_owned));
            Some(cells.collect())
        }
        _ => None,
    });
    rows.collect()
}

/// That two tables have the same rows, numbers but for noise.
pub fn assert_alike(answer: &Table, truth: &Table, what: &str) {
    assert!(!truth.is_empty(), "the truth has no rows: {what}");
    assert_eq!(answer.len(), truth.len(), "{what}\n{answer:?}\n{truth:?}");
    for (answer, truth) in answer.iter().zip(truth) {
        assert_eq!(answer.len(), truth.len(), "{what}");
        for pair in answer.iter().zip(truth) {
            let is_alike = match pair {
                (Some(one), Some(other)) => is_alike(one, other),
                (one, other) => one == other,
            };
            assert!(is_alike, "{what}\n{answer:?}\n{truth:?}");
        }
    }
}

/// Whether two values are the same, or numbers that noise can lie between. Groups have a thousand rows or more, and the
/// noise of `world.sql` is for 4 rows of a person: a count is further off than 4 with a probability of 2 exp(-20), and one
/// in a hundred of a sum of values to 100 is 20 times its scale, 4 * 100 / 20.
fn is_alike(answer: &str, truth: &str) -> bool {
    match (answer.parse::<f64>(), truth.parse::<f64>()) {
        (Ok(answer), Ok(truth)) => (answer - truth).abs() <= slack(truth),
        _ => answer == truth,
    }
}

fn slack(truth: f64) -> f64 {
    let is_count = truth.fract() == 0.0;
    truth.abs() / 100.0 + if is_count { 4.0 } else { 0.0 }
}
