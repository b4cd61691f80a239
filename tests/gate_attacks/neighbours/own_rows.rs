//! Sub-queries that put each person's rows together, number them, or take one of them.

use super::super::questions::Dice;
use super::columns::{List, PATIENTS, REGIONS, VISITS};
use super::sources::{Source, source};

/// Rows of each person put together.
pub fn grouped(dice: &mut Dice) -> Source {
    const VISITS_OF: List = List {
        numbers: &[
            ("least(s.c, 20)", "", 20.0),
            ("least(greatest(s.an, -50), 1000)", "", 1000.0),
            ("s.mn", "", 100.0),
            ("least(s.dr, 4)", "", 4.0),
            ("least(greatest(s.s, 0), 500)", "", 500.0),
            ("s.mx", "", 1000.0),
            ("s.bo::int", "", 1.0),
            ("s.s", "", f64::INFINITY),
            ("s.c", "", f64::INFINITY),
            ("least(greatest(s.c, 2), 9)", "", 9.0),
            ("s.c", "s.c <= 10", 10.0),
            ("s.s", "s.s BETWEEN 10 AND 900", 900.0),
            ("s.sd", "s.sd < 30", 30.0),
        ],
        keys: &[
            ("s.rg", ""),
            ("s.bo", ""),
            ("s.c > 3", ""),
            ("date_trunc('month', s.d)", ""),
            ("s.dr", ""),
            ("least(s.c, 5)", ""),
            ("CASE WHEN s.s > 100 THEN 'hi' ELSE 'lo' END", ""),
            ("s.mx / 100", ""),
            ("length(s.sa)", ""),
            ("s.c", "s.c BETWEEN 1 AND 9"),
            ("s.d", "s.d BETWEEN '2025-12-01' AND '2025-12-20'"),
            ("s.dr", "s.dr BETWEEN 1 AND 5"),
        ],
        conditions: &["s.c > 1", "s.mn < 50", "s.bo", "s.d > '2025-06-01'"],
    };
    const OF_VISIT: List = List {
        numbers: &[
            ("least(greatest(s.tot, 0), 100)", "", 100.0),
            ("least(s.c, 4)", "", 4.0),
            ("s.tot", "s.tot BETWEEN 5 AND 60", 60.0),
        ],
        keys: &[("s.rg", ""), ("s.c", ""), ("s.c", "s.c BETWEEN 1 AND 3")],
        conditions: &["s.c > 1", "s.tot < 90"],
    };
    const FIRST: List = List {
        numbers: &[
            ("least(f.c, 5)", "", 5.0),
            (
                "least(greatest(v.day - f.first::date, -100), 100)",
                "",
                100.0,
            ),
        ],
        keys: &[
            ("date_trunc('month', f.first)", ""),
            ("v.day > f.first", ""),
            ("least(f.c, 4)", ""),
            (
                "date_trunc('month', f.first)",
                "f.first >= '2025-03-01' AND f.first < '2025-06-01'",
            ),
            (
                "v.day - f.first::date",
                "v.day - f.first::date BETWEEN 0 AND 20",
            ),
        ],
        conditions: &["f.c > 2"],
    };
    const BY_MONTH: List = List {
        numbers: &[
            ("least(s.c, 5)", "", 5.0),
            ("least(greatest(s.s, -9), 1000)", "", 1000.0),
            ("s.s", "s.s BETWEEN -10 AND 900", 900.0),
        ],
        keys: &[
            ("s.mo", ""),
            ("extract(month FROM s.mo)", ""),
            ("s.c", ""),
            ("s.mo", "s.mo >= '2025-03-01' AND s.mo < '2025-05-01'"),
            ("s.c", "s.c BETWEEN 1 AND 4"),
        ],
        conditions: &["s.c > 1"],
    };
    match dice.roll(6) {
        0..=2 => {
            let condition = dice.one(&["", "", " WHERE x.cost > 20", " WHERE x.kind = 1"]);
            let by = dice.one(&[
                "x.patient",
                "x.patient",
                "x.patient, x.region",
                "x.patient, date_trunc('month', x.day)",
            ]);
            let having = dice.one(&["", "", " HAVING count(*) > 2", " HAVING sum(x.cost) > 100"]);
            source(
                format!(
                    "(SELECT x.patient, count(*) AS c, sum(x.cost) AS s, avg(x.n) AS an, min(x.cost) AS mn, \
                     max(x.day) AS d, min(x.region) AS rg, count(DISTINCT x.region) AS dr, bool_or(x.kind = 1) AS bo, \
                     stddev(x.cost) AS sd, max(x.n) AS mx, min(x.note) AS sa FROM visits x{condition} \
                     GROUP BY {by}{having}) s"
                ),
                "s.patient",
                VISITS_OF.of(""),
            )
        }
        3 => source(
            "(SELECT v.patient, v.id, count(*) AS c, sum(i.price * i.qty) AS tot, min(v.region) AS rg FROM items i \
             JOIN visits v ON v.id = i.visit GROUP BY v.patient, v.id) s",
            "s.patient",
            OF_VISIT.of(""),
        ),
        4 => source(
            "(SELECT person, min(t) AS first, count(*) AS c FROM events GROUP BY person) f \
             JOIN visits v ON v.patient = f.person",
            "v.patient",
            VISITS.of("v").and(FIRST.of("").times(6)),
        ),
        _ => source(
            "(SELECT x.patient, date_trunc('month', x.day) AS mo, count(*) AS c, sum(x.n) AS s FROM visits x \
             WHERE x.day BETWEEN '2025-02-01' AND '2025-05-31' GROUP BY 1, 2) s",
            "s.patient",
            BY_MONTH.of(""),
        ),
    }
}

/// Rows of each person numbered, or beside the one before, or one of them alone.
pub fn windowed(dice: &mut Dice) -> Source {
    const WINDOWS: List = List {
        numbers: &[
            ("w.pn", "", 1000.0),
            ("w.n - w.pn", "", 1050.0),
            ("least(w.rn, 9)", "", 9.0),
            ("least(greatest(w.cs, 0), 300)", "", 300.0),
            ("w.nt", "", 3.0),
            ("least(greatest(w.gap, -400), 400)", "", 400.0),
            ("least(w.tot, 10)", "", 10.0),
            ("w.rn", "w.rn <= 3", 3.0),
            ("w.gap", "w.gap BETWEEN 0 AND 30", 30.0),
            ("w.tot", "w.tot < 9", 9.0),
        ],
        keys: &[
            ("w.fr", ""),
            ("w.rn = 1", ""),
            ("w.nt", ""),
            ("least(w.rn, 4)", ""),
            ("w.gap / 30", ""),
            ("w.tot > 3", ""),
            ("w.rn", "w.rn BETWEEN 1 AND 6"),
            ("w.nt", "w.nt BETWEEN 1 AND 3"),
            ("w.gap", "w.gap BETWEEN 0 AND 20"),
            ("w.rk", "w.rk <= 4 AND w.rk >= 1"),
        ],
        conditions: &[
            "w.rn = 1",
            "w.rn <= 2",
            "w.gap < 60",
            "w.pn IS NOT NULL",
            "w.tot > 2",
        ],
    };
    const NEXT: List = List {
        numbers: &[
            ("least(greatest(w.nx - w.day, 0), 90)", "", 90.0),
            ("least(w.cr, 5)", "", 5.0),
            ("w.nx - w.day", "w.nx - w.day BETWEEN 0 AND 30", 30.0),
            ("w.cr", "w.cr <= 4", 4.0),
        ],
        keys: &[
            ("w.nx IS NULL", ""),
            ("least(w.cr, 3)", ""),
            ("date_trunc('month', w.day)", ""),
            ("w.cr", "w.cr BETWEEN 1 AND 4"),
            ("w.day", "w.day BETWEEN '2025-03-01' AND '2025-03-08'"),
        ],
        conditions: &["w.cr > 1"],
    };
    const LAST: List = List {
        numbers: &[("least(greatest(l.cost, 0), 100)", "", 100.0)],
        keys: &[
            ("l.region", ""),
            ("l.region IS NULL", ""),
            ("date_trunc('month', l.day)", ""),
        ],
        conditions: &["l.cost > 20"],
    };
    match dice.roll(5) {
        0 | 1 => {
            let order = dice.one(&["x.day, x.id", "x.id", "x.at DESC, x.id", "x.day"]);
            let by = dice.one(&["x.patient", "x.patient", "x.patient, x.region"]);
            let frame = dice.one(&[
                "",
                "",
                " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
                " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            ]);
            source(
                format!(
                    "(SELECT x.*, row_number() OVER q AS rn, lag(x.n) OVER q AS pn, x.day - lag(x.day) OVER q AS gap, \
                     sum(x.cost) OVER (PARTITION BY {by} ORDER BY {order}{frame}) AS cs, \
                     first_value(x.region) OVER q AS fr, count(*) OVER (PARTITION BY {by}) AS tot, \
                     ntile(3) OVER q AS nt, rank() OVER q AS rk FROM visits x \
                     WINDOW q AS (PARTITION BY {by} ORDER BY {order})) w"
                ),
                "w.patient",
                VISITS.of("w").and(WINDOWS.of("").times(3)),
            )
        }
        2 => source(
            "(SELECT patient, day, lead(day) OVER (PARTITION BY patient ORDER BY day) AS nx, \
             count(*) OVER (PARTITION BY patient, region) AS cr FROM visits) w",
            "w.patient",
            NEXT.of(""),
        ),
        3 => source(
            "(SELECT DISTINCT ON (patient) * FROM visits ORDER BY patient, day DESC, id) v \
             LEFT JOIN regions r USING (region)",
            "v.patient",
            VISITS.of("v").and(REGIONS.of("r").times(2)),
        ),
        _ => source(
            "patients p LEFT JOIN LATERAL (SELECT x.cost, x.region, x.day FROM visits x WHERE x.patient = p.patient \
             ORDER BY x.day DESC, x.id LIMIT 1) l ON true",
            "p.patient",
            PATIENTS.of("p").and(LAST.of("").times(4)),
        ),
    }
}
