//! What FROM says: tables, joins, sub-queries of one person's rows, and what may be asked about them.

use super::super::questions::Dice;
use super::columns::{Columns, EVENTS, ITEMS, Key, List, PATIENTS, REGIONS, VISITS};
use super::own_rows;

/// What FROM says.
pub struct Source {
    pub from: String,
    /// The column that names the person, or none.
    pub person: &'static str,
    pub columns: Columns,
    /// What counts rows, where not all rows are of a person: a public table keeps its rows, and groups have their keys
    /// from there.
    pub counted: Option<&'static str>,
}

/// A source whose rows are all of a person.
pub fn source(from: impl Into<String>, person: &'static str, columns: Columns) -> Source {
    Source {
        from: from.into(),
        person,
        columns,
        counted: None,
    }
}

pub fn any(dice: &mut Dice) -> Source {
    match dice.roll(12) {
        0 | 1 => one_table(dice),
        2 | 3 => joined(dice),
        4 => with_public(dice),
        5 => kept_public(dice),
        6 | 7 => own_rows::grouped(dice),
        8 | 9 => own_rows::windowed(dice),
        10 => combined(dice),
        _ => linked(dice),
    }
}

fn one_table(dice: &mut Dice) -> Source {
    match dice.roll(7) {
        0 => source("patients p", "p.patient", PATIENTS.of("p")),
        1 => source("items i", "", ITEMS.of("i")),
        2 => source("events e", "e.person", EVENTS.of("e")),
        3 => source(
            "(SELECT * FROM visits WHERE cost > 1 AND n BETWEEN 0 AND 600) v",
            "v.patient",
            VISITS.of("v"),
        ),
        _ => {
            let mut columns = VISITS.of("v");
            columns
                .conditions
                .push("EXISTS (SELECT FROM items x WHERE x.visit = v.id)".to_owned());
            source("visits v", "v.patient", columns)
        }
    }
}

/// Tables that are joined by the person.
fn joined(dice: &mut Dice) -> Source {
    let (visits, patients, items, events) = (
        VISITS.of("v"),
        PATIENTS.of("p"),
        ITEMS.of("i"),
        EVENTS.of("e"),
    );
    match dice.roll(7) {
        0 | 1 => source(
            dice.one(&[
                "visits v JOIN patients p USING (patient)",
                "patients p LEFT JOIN visits v ON v.patient = p.patient",
                "visits v LEFT JOIN patients p ON p.patient = v.patient AND p.active",
                "patients p LEFT JOIN visits v USING (patient)",
            ]),
            "p.patient",
            visits.and(patients.times(2)),
        ),
        2 => source(
            "items i JOIN visits v ON v.id = i.visit",
            "v.patient",
            visits.and(items.times(2)),
        ),
        3 => source(
            "items i JOIN visits v ON v.id = i.visit JOIN patients p ON p.patient = v.patient",
            "p.patient",
            visits.and(items).and(patients),
        ),
        4 => source(
            "events e JOIN patients p ON p.patient = e.person",
            "e.person",
            events.and(patients),
        ),
        5 => source(
            "patients p FULL JOIN events e ON e.person = p.patient",
            "coalesce(p.patient, e.person)",
            events.and(patients),
        ),
        _ => source(
            "visits a JOIN visits b ON b.patient = a.patient AND b.day > a.day",
            "a.patient",
            VISITS.of("a").and(VISITS.of("b")),
        ),
    }
}

/// Public tables beside private rows.
fn with_public(dice: &mut Dice) -> Source {
    let (visits, regions) = (VISITS.of("v"), REGIONS.of("r"));
    const PRODUCTS: List = List {
        numbers: &[
            ("v.cost * r.factor", "", 150.0),
            ("v.n * r.factor + 1", "", 1501.0),
        ],
        keys: &[],
        conditions: &[],
    };
    const KINDS: List = List {
        numbers: &[("k.w", "", 7.0), ("k.w * v.cost", "", 700.0)],
        keys: &[("k.name", ""), ("k.w", ""), ("k.w > 0", "")],
        conditions: &[],
    };
    const REGION_GROUPS: List = List {
        numbers: &[("q.m * v.n", "", 1000.0)],
        keys: &[("q.ct", ""), ("q.m", ""), ("q.region", "")],
        conditions: &["q.m = 1"],
    };
    match dice.roll(4) {
        0 | 1 => source(
            dice.one(&[
                "visits v JOIN regions r USING (region)",
                "visits v LEFT JOIN regions r ON r.region = v.region",
                "visits v JOIN regions r ON r.region = v.region AND v.cost > 5",
                "regions r JOIN visits v USING (region)",
            ]),
            "v.patient",
            visits.and(regions.times(3)).and(PRODUCTS.of("").times(9)),
        ),
        2 => source(
            format!(
                "visits v {} kinds k {}",
                dice.one(&["JOIN", "LEFT JOIN"]),
                dice.one(&["USING (kind)", "ON k.kind = v.kind", "ON k.kind <= v.kind"])
            ),
            "v.patient",
            visits.and(KINDS.of("").times(9)),
        ),
        _ => source(
            "visits v JOIN (SELECT region, min(country) AS ct, count(*) AS m FROM regions WHERE factor > 1.05 \
             GROUP BY region) q ON q.region = v.region",
            "v.patient",
            visits.and(REGION_GROUPS.of("").times(9)),
        ),
    }
}

/// Public rows that stay where no private row is.
fn kept_public(dice: &mut Dice) -> Source {
    let (from, keys): (String, &[&str]) = match dice.roll(4) {
        0 => (
            format!(
                "regions r LEFT JOIN visits v ON v.region = r.region{}",
                dice.one(&["", " AND v.cost > 30"])
            ),
            &["r.region", "r.country", "r.factor"],
        ),
        1 => {
            let (series, on) = match dice.roll(6) {
                0 => (
                    "timestamp '2025-01-01', '2025-12-01', '1 month'",
                    "date_trunc('month', v.day) = m",
                ),
                1 => (
                    "timestamp '2025-01-01', '2025-12-01', '1 month'",
                    "v.ts >= m AND v.ts < m + interval '1 month'",
                ),
                2 => ("0, 9", "v.n / 100 = m"),
                3 => ("date '2025-03-01', '2025-03-20', '1 day'", "v.day = m"),
                4 => ("0, 3", "v.kind = m"),
                _ => ("0, 3", "v.kind >= m"),
            };
            (
                format!("generate_series({series}) AS m LEFT JOIN visits v ON {on}"),
                &["m"],
            )
        }
        2 => (
            "(VALUES (0, 'a'), (1, 'b'), (7, 'c'), (1, 'd')) AS l(k, w) LEFT JOIN visits v ON v.kind = l.k".to_owned(),
            &["l.w", "l.k"],
        ),
        _ => (
            "(VALUES ('r1', 1), ('r2', 0), ('zz', 1), ('r1', 2)) AS l(k, w) LEFT JOIN visits v ON v.region = l.k \
             AND v.kind >= l.w"
                .to_owned(),
            &["l.w", "l.k", "l.k || l.w", "l.w > 0"],
        ),
    };
    let mut columns = VISITS.of("v");
    columns.numbers.retain(|number| number.needs.is_empty());
    columns.conditions.clear();
    let keys = keys.iter().map(|sql| Key {
        sql: (*sql).to_owned(),
        needs: String::new(),
    });
    columns.keys = keys.collect();
    Source {
        counted: Some("v.id"),
        ..source(from, "v.patient", columns)
    }
}

/// Rows of several queries, each of one person's rows.
fn combined(dice: &mut Dice) -> Source {
    const UNITED: List = List {
        numbers: &[
            ("least(greatest(u.x, 0), 100)", "", 100.0),
            ("u.x", "u.x BETWEEN 0 AND 100", 100.0),
        ],
        keys: &[
            ("u.k", ""),
            ("u.x > 1", ""),
            ("extract(month FROM u.d)", ""),
            (
                "date_trunc('month', u.d)",
                "u.d BETWEEN '2025-03-01' AND '2025-06-30'",
            ),
            ("u.k", "u.k IN ('r1', 'buy')"),
        ],
        conditions: &["u.x > 0", "u.k <> 'r1'"],
    };
    const DISTINCT: List = List {
        numbers: &[
            ("CASE WHEN d.kind > 0 THEN 2 ELSE 0 END", "", 2.0),
            ("d.kind", "d.kind BETWEEN 0 AND 3", 3.0),
        ],
        keys: &[
            ("d.region", ""),
            ("d.kind", ""),
            ("d.kind = 1", ""),
            ("d.kind", "d.kind BETWEEN 0 AND 2"),
            ("d.region", "d.region IN ('r1', 'r2')"),
        ],
        conditions: &["d.kind = 1", "d.region <> 'r1'"],
    };
    match dice.roll(2) {
        0 => source(
            format!(
                "(SELECT patient, n::float8 AS x, region AS k, day::timestamp AS d FROM visits \
                 UNION ALL SELECT person, 1, what, t FROM events{}) u",
                dice.one(&[
                    "",
                    " UNION ALL SELECT patient, weight::float8, sex, joined FROM patients"
                ])
            ),
            "u.patient",
            UNITED.of(""),
        ),
        _ => {
            let rows = dice.one(&[
                "SELECT DISTINCT patient, region, kind FROM visits",
                "SELECT DISTINCT ON (patient) patient, region, kind FROM visits ORDER BY patient, day, id",
                "SELECT DISTINCT ON (patient, region) patient, region, kind FROM visits \
                 ORDER BY patient, region, cost DESC, id",
                "SELECT patient, region, kind FROM visits UNION SELECT person, what, 1::smallint FROM events",
                "SELECT patient, region, kind FROM visits EXCEPT SELECT patient, 'r1', 1::smallint FROM patients",
                "SELECT DISTINCT patient, date_trunc('month', day)::text AS region, kind FROM visits",
            ]);
            source(format!("({rows}) d"), "d.patient", DISTINCT.of(""))
        }
    }
}

/// Rows with what sub-queries find of the same person.
fn linked(dice: &mut Dice) -> Source {
    const LOOKED_UP: List = List {
        numbers: &[
            (
                "(SELECT l.weight FROM patients l WHERE l.patient = v.patient)",
                "",
                200.0,
            ),
            (
                "(SELECT l.born FROM patients l WHERE l.patient = v.patient)",
                "",
                2020.0,
            ),
        ],
        keys: &[
            (
                "(SELECT l.sex FROM patients l WHERE l.patient = v.patient)",
                "",
            ),
            (
                "(SELECT l.city FROM patients l WHERE l.patient = v.patient)",
                "",
            ),
            (
                "(SELECT l.weight FROM patients l WHERE l.patient = v.patient) > 70",
                "",
            ),
            (
                "(SELECT l.country FROM regions l WHERE l.region = v.region)",
                "",
            ),
            (
                "(SELECT l.factor FROM regions l WHERE l.region = v.region)",
                "",
            ),
        ],
        conditions: &[
            "(SELECT l.active FROM patients l WHERE l.patient = v.patient)",
            "(SELECT l.sex FROM patients l WHERE l.patient = v.patient) = 'f'",
            "(SELECT l.factor FROM regions l WHERE l.region = v.region) > 1.1",
        ],
    };
    const TOTALS: List = List {
        numbers: &[
            ("least(greatest(s.s, 0), 400)", "", 400.0),
            ("least(s.c, 9)", "", 9.0),
            ("s.s", "", f64::INFINITY),
            ("s.c", "s.c < 4", 4.0),
            ("s.s", "s.s BETWEEN 0 AND 300", 300.0),
        ],
        keys: &[
            ("s.sex", ""),
            ("s.city", ""),
            ("s.c > 2", ""),
            ("s.d IS NULL", ""),
            ("extract(month FROM s.d)", ""),
            ("least(s.c, 3)", ""),
            ("s.c", "s.c BETWEEN 0 AND 5"),
        ],
        conditions: &["s.c > 0", "s.s > 20"],
    };
    const BESIDE: List = List {
        numbers: &[("least(l.c, 5)", "", 5.0), ("l.m", "", 30.0)],
        keys: &[("l.c > 2", ""), ("least(l.c, 3)", "")],
        conditions: &["l.c > 1"],
    };
    const OF_VISIT: List = List {
        numbers: &[
            (
                "(SELECT l.n FROM visits l WHERE l.id = i.visit)",
                "",
                1000.0,
            ),
            (
                "(SELECT l.cost FROM visits l WHERE l.id = i.visit)",
                "",
                100.0,
            ),
        ],
        keys: &[
            ("(SELECT l.region FROM visits l WHERE l.id = i.visit)", ""),
            (
                "extract(month FROM (SELECT l.day FROM visits l WHERE l.id = i.visit))",
                "",
            ),
        ],
        conditions: &["(SELECT l.cost FROM visits l WHERE l.id = i.visit) > 30"],
    };
    match dice.roll(4) {
        0 => source(
            "visits v",
            "v.patient",
            VISITS.of("v").and(LOOKED_UP.of("").times(9)),
        ),
        1 => source(
            "(SELECT p.patient, p.sex, p.city, (SELECT sum(z.cost) FROM visits z WHERE z.patient = p.patient) AS s, \
             (SELECT count(*) FROM events z WHERE z.person = p.patient) AS c, \
             (SELECT max(z.day) FROM visits z WHERE z.patient = p.patient AND z.kind = 1) AS d FROM patients p) s",
            "s.patient",
            TOTALS.of(""),
        ),
        2 => source(
            "visits v JOIN LATERAL (SELECT count(*) AS c, max(e.val) AS m FROM events e WHERE e.person = v.patient) l \
             ON true",
            "v.patient",
            VISITS.of("v").and(BESIDE.of("").times(9)),
        ),
        _ => source("items i", "", ITEMS.of("i").and(OF_VISIT.of("").times(3))),
    }
}
