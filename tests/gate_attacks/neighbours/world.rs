//! The tables that are asked about, what each neighbour has more, and the policies.

use super::super::Stage;

/// The tables.
pub const TABLES: &str = include_str!("world.sql");

/// One person more: what is said of them, and their rows.
pub struct Person {
    pub name: &'static str,
    rows: &'static str,
}

/// The persons. Each alone makes a neighbour of the tables.
pub const PERSONS: [Person; 4] = [
    Person {
        name: "with a person who has many rows in many groups",
        rows: "
INSERT INTO patients VALUES (666, 'f', 2020, 'Rome', '2024-05-05', true, 200, 'P666');
INSERT INTO visits
SELECT 10000 + g, 666, 'r' || g % 6, 100, 1000, 50, date '2025-01-01' + g * 3,
    timestamptz '2025-01-01 00:30+00' + g * 3 * interval '1 day' + g * interval '1 hour', 'n' || g % 7, g % 5,
    timestamp '2025-01-01 00:30' + g * 3 * interval '1 day', 100, 1000
FROM generate_series(0, 119) g;
INSERT INTO items SELECT 10000 + g, 10000 + g % 120, 'c' || g % 9, 30, 10 FROM generate_series(0, 299) g;
INSERT INTO events
SELECT 666, timestamp '2025-03-01' + g * interval '2 days', (ARRAY['view', 'cart', 'buy', 'none'])[1 + g % 4], 30
FROM generate_series(0, 99) g",
    },
    Person {
        name: "with a person whose values are the last of their types",
        rows: r"
INSERT INTO patients VALUES
    (2147483647, repeat('x', 9000), -2147483648, NULL, 'infinity', false, 9999.9, NULL);
INSERT INTO visits
SELECT 10000 + g, 2147483647, (ARRAY['r1', '', repeat('r', 9000), 'r2', 'r0'])[1 + g % 5],
    (ARRAY['NaN', 'inf', '-inf', NULL, '1e308', '-1e308', '-0', '5e-324'])[1 + g % 8]::float8,
    (ARRAY[2147483647, -2147483648, 0])[1 + g % 3],
    (ARRAY['NaN', NULL, '99999999.99', '-99999999.99', '0.00'])[1 + g % 5]::numeric,
    (ARRAY['infinity', '-infinity', '5874897-12-31', '4713-01-01 BC', '2025-06-01'])[1 + g % 5]::date,
    (ARRAY['infinity', '-infinity', '294276-12-31 23:59:59+00', '4713-01-02 BC', '2025-06-01'])[1 + g % 5]::timestamptz,
    (ARRAY['n1', '', NULL, E'\\', repeat('n', 9000)])[1 + g % 5], (ARRAY[NULL, 32767, -32768, 1, 2])[1 + g % 5],
    (ARRAY['infinity', '-infinity', '294276-12-31 23:59:59', NULL, '2025-06-01'])[1 + g % 5]::timestamp,
    (ARRAY['NaN', 'inf', NULL, '-3e38', '1e-45'])[1 + g % 5]::real,
    (ARRAY[9223372036854775807, -9223372036854775808, NULL])[1 + g % 3]
FROM generate_series(0, 119) g;
INSERT INTO items
SELECT 10000 + g, 10000 + g % 120, (ARRAY['c1', repeat('c', 9000), '', 'c2'])[1 + g % 4],
    (ARRAY['NaN', '999999.99', '-999999.99', '0'])[1 + g % 4]::numeric, (ARRAY[2147483647, -2147483648, 0])[1 + g % 3]
FROM generate_series(0, 199) g;
INSERT INTO events
SELECT 2147483647,
    (ARRAY['infinity', '-infinity', '294276-12-31 23:59:59', '4713-01-02 BC', '2025-06-01'])[1 + g % 5]::timestamp,
    (ARRAY['view', '', repeat('w', 9000)])[1 + g % 3], (ARRAY['NaN', 'inf', '-inf', NULL, '1e308'])[1 + g % 5]::float8
FROM generate_series(0, 99) g",
    },
    Person {
        name: "with a person about whom little is known",
        rows: "
INSERT INTO patients VALUES (-5, 'm', NULL, 'Oslo', '-infinity', true, NULL, '');
INSERT INTO visits VALUES
    (10000, -5, 'r3', NULL, 0, NULL, '2025-02-28', '2025-02-28', NULL, NULL, NULL, NULL, NULL)",
    },
    Person {
        name: "with a person whose rows are all alike",
        rows: "
INSERT INTO patients VALUES (777, 'm', 1900, 'Lyon', '2024-02-29', false, 0, 'P777');
INSERT INTO visits
SELECT 10000 + g, 777, 'r1', (ARRAY[0, -1e300, 1e300])[1 + g % 3], -50, 0, '2025-03-03', '2025-03-03', 'n1', 1,
    '2025-03-03', -5, -7
FROM generate_series(0, 399) g;
INSERT INTO items SELECT 10000 + g, 10000 + g % 3, 'c1', 0, 0 FROM generate_series(0, 299) g;
INSERT INTO events SELECT 777, '2025-03-03', 'buy', -20 FROM generate_series(0, 299) g",
    },
];

/// Makes the neighbour that has this person, or takes the person out again.
pub fn set_person(stage: &mut Stage, person: Option<&Person>) {
    // Visits and items go with their patient.
    stage.as_root(
        "DELETE FROM patients WHERE patient NOT BETWEEN 0 AND 199; \
         DELETE FROM events WHERE person NOT BETWEEN 0 AND 149",
    );
    if let Some(person) = person {
        stage.as_root(person.rows);
    }
}

/// How much of a person counts in a table: rows in a group, and groups.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub rows: u32,
    pub groups: u32,
}

/// What holds for all tables, and how many rows and groups of a person count in those with several.
#[derive(Debug)]
pub struct Policy {
    accounting: &'static str,
    visits: Unit,
    items: Unit,
    events: Unit,
    pub min_people: bool,
    /// Whether how much of a person counts, and bounds that nobody declared, are found in the rows.
    pub auto: bool,
}

const fn unit(rows: u32, groups: u32) -> Unit {
    Unit { rows, groups }
}

/// The policies, which take turns.
pub const POLICIES: [Policy; 6] = [
    Policy {
        accounting: "gaussian",
        visits: unit(3, 3),
        items: unit(5, 2),
        events: unit(1, 1),
        min_people: false,
        auto: false,
    },
    Policy {
        accounting: "pure",
        visits: unit(2, 1),
        items: unit(1, 1),
        events: unit(4, 4),
        min_people: false,
        auto: false,
    },
    Policy {
        accounting: "zcdp",
        visits: unit(1, 4),
        items: unit(4, 4),
        events: unit(1, 1),
        min_people: false,
        auto: false,
    },
    Policy {
        accounting: "gaussian",
        visits: unit(3, 3),
        items: unit(4, 2),
        events: unit(4, 4),
        min_people: true,
        auto: false,
    },
    Policy {
        accounting: "gaussian",
        visits: unit(4, 2),
        items: unit(5, 2),
        events: unit(3, 2),
        min_people: false,
        auto: true,
    },
    Policy {
        accounting: "pure",
        visits: unit(1, 1),
        items: unit(2, 3),
        events: unit(1, 1),
        min_people: false,
        auto: false,
    },
];

impl Policy {
    /// Lets it hold from now on.
    pub fn declare(&self, stage: &mut Stage) {
        let budget = self.accounting;
        let (limit, delta) = match budget {
            "pure" => ("0", "NULL"),
            "zcdp" => ("0.5, accounting => 'zcdp'", "1e-6"),
            _ => ("0.5", "1e-6"),
        };
        let mut sql = format!("SELECT dp_set_budget('{budget}', 4000, {limit});");
        for (table, unit) in self.units() {
            let Unit { rows, groups } = unit;
            let person = match table {
                "items" => "via => 'visit'",
                "events" => "'person'",
                _ => "'patient'",
            };
            let min_people = if self.min_people { "8" } else { "NULL" };
            sql += &format!(
                "SELECT dp_protect('{table}', {person}, budget => '{budget}', rows => {rows}, groups => {groups}, \
                 query_eps => 20, query_delta => {delta}, min_people => {min_people}, auto_rows => {auto}, auto_bounds => {auto});",
                auto = self.auto
            );
        }
        stage.as_owner(&sql);
    }

    /// How much of a person counts in each table.
    fn units(&self) -> [(&'static str, Unit); 4] {
        [
            ("patients", unit(1, 1)),
            ("visits", self.visits),
            ("items", self.items),
            ("events", self.events),
        ]
    }

    /// How much of a person counts in a question: as much as in that of its tables where most does. Items have their
    /// person by their visit, so what holds for visits holds for them.
    pub fn unit_of(&self, sql: &str) -> Unit {
        let is_asked = |table: &str| sql.contains(&format!(" {table}"));
        let units = self
            .units()
            .into_iter()
            .filter(|(table, _)| is_asked(table) || *table == "visits" && is_asked("items"));
        units.fold(unit(1, 1), |most, (_, unit)| Unit {
            rows: most.rows.max(unit.rows),
            groups: most.groups.max(unit.groups),
        })
    }
}
