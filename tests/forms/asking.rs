//! A database of its own, whose tables the superuser owns, and an analyst who asks about them.

use dp_mean_tests::{Build, Database, run, value};
use postgres::Client;

pub struct Asking {
    pub root: Client,
    pub analyst: Client,
    /// The role of the analyst.
    pub name: String,
    pub database: Database,
}

impl Asking {
    /// What these statements make, where `{analyst}` is the role that may log in. Answers are drawn from this seed.
    pub fn new(made: &str, seed: i64) -> Self {
        let database = Database::new(Build::Testing);
        let mut root = database.connect();
        let name = format!("{}_analyst", database.name());
        run(&mut root, &format!("CREATE ROLE {name} LOGIN"));
        run(&mut root, &made.replace("{analyst}", &name));
        let mut analyst = database.connect_as(&name);
        let seeded = format!("SET dp_mean.reuse = off; SELECT dp_test_seed({seed})");
        run(&mut analyst, &seeded);
        Self {
            root,
            analyst,
            name,
            database,
        }
    }

    /// What a query would cost, as a price.
    pub fn price(&mut self, sql: &str) -> f64 {
        self.cost("price", sql)
    }

    /// By which mechanisms it would be answered.
    pub fn mechanisms(&mut self, sql: &str) -> String {
        self.cost("mechanisms", sql)
    }

    /// A column of `dp_cost`.
    pub fn cost<T: for<'a> postgres::types::FromSql<'a>>(&mut self, column: &str, sql: &str) -> T {
        value(
            &mut self.analyst,
            &format!("SELECT {column} FROM dp_cost($${sql}$$)"),
        )
    }

    /// The same, where that many people are in a group.
    pub fn cost_for<T: for<'a> postgres::types::FromSql<'a>>(
        &mut self,
        column: &str,
        sql: &str,
        people: f64,
    ) -> T {
        let sql = format!("SELECT {column} FROM dp_cost($${sql}$$, people => {people})");
        value(&mut self.analyst, &sql)
    }

    /// The array that a query answers.
    pub fn numbers(&mut self, sql: &str) -> Vec<f64> {
        value(&mut self.analyst, sql)
    }

    /// That these are the numbers expected, but for `slack`.
    pub fn assert_close(&mut self, sql: &str, expected: &[f64], slack: f64) {
        let numbers = self.numbers(sql);
        assert_eq!(numbers.len(), expected.len(), "{sql}: {numbers:?}");
        for (number, expected) in numbers.iter().zip(expected) {
            assert!((number - expected).abs() <= slack, "{sql}: {numbers:?}");
        }
    }
}
