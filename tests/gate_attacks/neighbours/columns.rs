//! What is asked about each table: numbers, keys and conditions, where `@` is its name in the query.

/// A number that is added up.
#[derive(Clone)]
pub struct Number {
    pub sql: String,
    /// A condition without which nobody knows its bounds; empty where they are known.
    pub needs: String,
    /// The largest absolute value that counts, by the bounds that are declared and this condition; infinite where nobody
    /// says any.
    pub largest: f64,
}

/// A key of GROUP BY.
#[derive(Clone)]
pub struct Key {
    pub sql: String,
    /// A condition by which its values are few, and may be known; or empty.
    pub needs: String,
}

/// What may be asked about.
#[derive(Clone, Default)]
pub struct Columns {
    pub numbers: Vec<Number>,
    pub keys: Vec<Key>,
    pub conditions: Vec<String>,
}

/// The same, as it stands here: numbers with their conditions and largest absolute values, keys with their conditions,
/// and conditions.
pub struct List {
    pub numbers: &'static [(&'static str, &'static str, f64)],
    pub keys: &'static [(&'static str, &'static str)],
    pub conditions: &'static [&'static str],
}

impl List {
    /// The list of a table that has this name in the query.
    pub fn of(&self, name: &str) -> Columns {
        let fill = |sql: &&str| sql.replace('@', name);
        let numbers = self.numbers.iter();
        let keys = self.keys.iter();
        Columns {
            numbers: numbers
                .map(|(sql, needs, largest)| Number {
                    sql: fill(sql),
                    needs: fill(needs),
                    largest: *largest,
                })
                .collect(),
            keys: keys
                .map(|(sql, needs)| Key {
                    sql: fill(sql),
                    needs: fill(needs),
                })
                .collect(),
            conditions: self.conditions.iter().map(fill).collect(),
        }
    }
}

impl Columns {
    /// These and others.
    pub fn and(mut self, other: Self) -> Self {
        self.numbers.extend(other.numbers);
        self.keys.extend(other.keys);
        self.conditions.extend(other.conditions);
        self
    }

    /// These that many times, so that they are taken as often as those of a long list.
    pub fn times(self, times: usize) -> Self {
        (1..times).fold(self.clone(), |all, _| all.and(self.clone()))
    }
}

pub const VISITS: List = List {
    numbers: &[
        ("@.cost", "", 100.0),
        ("@.n", "", 1000.0),
        ("@.paid", "", 50.0),
        ("@.cost * 2 - 10", "", 190.0),
        ("@.n / 2 + 1", "", 501.0),
        ("abs(@.n)", "", 1000.0),
        ("least(@.cost, 50)", "", 50.0),
        ("-@.n", "", 1000.0),
        ("@.n * @.cost", "", 1e5),
        ("greatest(@.paid, 10)", "", 50.0),
        (
            "CASE WHEN @.region = 'r1' THEN @.cost ELSE 0 END",
            "",
            100.0,
        ),
        ("CASE WHEN @.cost > 50 THEN 1 ELSE 0 END", "", 1.0),
        ("coalesce(@.cost, 7)", "", 100.0),
        ("@.cost / 4", "", 25.0),
        ("round(@.cost)", "", 100.0),
        ("@.n % 7", "", 7.0),
        ("extract(hour FROM @.at)", "", 23.0),
        ("@.day - date '2025-01-01'", "", 364.0),
        ("sqrt(@.cost)", "", 10.0),
        ("@.n::numeric / 3", "", 334.0),
        ("nullif(@.cost, 0)", "", 100.0),
        ("@.cost * @.cost", "", 1e4),
        ("CASE @.kind WHEN 0 THEN 5 WHEN 1 THEN -9 END", "", 9.0),
        ("sign(@.n)", "", 1.0),
        ("(@.cost > 3)::int", "", 1.0),
        ("power(@.cost, 2)", "", 1e4),
        ("floor(@.cost / 10)", "", 10.0),
        ("@.n - @.cost", "", 1000.0),
        ("extract(day FROM @.day)", "", 31.0),
        ("width_bucket(@.cost, 0, 100, 10)", "", 11.0),
        ("@.big", "@.big BETWEEN 5 AND 90", 90.0),
        ("@.r", "@.r >= -3 AND @.r < 70", 70.0),
        ("@.kind", "@.kind IN (0, 1, 2)", 2.0),
        ("@.big * 2 + 1", "@.big BETWEEN -9 AND 90", 181.0),
        ("@.n", "@.n BETWEEN 100 AND 200", 200.0),
        ("@.cost", "@.cost > 90", 100.0),
        ("abs(@.big)", "@.big > -5 AND @.big <= 2", 5.0),
        ("@.big", "@.big = ANY (ARRAY[3, 77])", 77.0),
        ("@.r", "NOT (@.r < 0 OR @.r > 10)", 10.0),
        ("@.big", "@.big BETWEEN SYMMETRIC 90 AND 5", 90.0),
        ("@.n - @.big", "@.big <= 10 AND @.big >= 0", 1000.0),
    ],
    keys: &[
        ("@.region", ""),
        ("@.note", ""),
        ("@.kind", ""),
        ("extract(month FROM @.day)", ""),
        ("extract(isodow FROM @.at)", ""),
        ("@.cost > 50", ""),
        (
            "CASE WHEN @.n < 100 THEN 'low' WHEN @.n < 500 THEN 'mid' ELSE 'high' END",
            "",
        ),
        ("date_trunc('month', @.day)", ""),
        ("coalesce(@.note, '?')", ""),
        ("sign(@.n)", ""),
        ("@.n / 100", ""),
        ("date_part('quarter', @.ts)", ""),
        ("@.region || coalesce(@.note, '')", ""),
        ("width_bucket(@.cost, 0, 100, 4)", ""),
        ("@.at::date", ""),
        ("@.paid IS NULL", ""),
        ("upper(@.region)", ""),
        ("substr(@.note, 1, 1)", ""),
        ("to_char(@.day, 'YYYY-MM')", ""),
        ("nullif(@.region, 'r2')", ""),
        ("floor(@.cost / 25)", ""),
        ("greatest(@.kind, 1)", ""),
        ("@.day", ""),
        ("@.n / 10", "@.n BETWEEN 0 AND 99"),
        (
            "date_trunc('month', @.day)",
            "@.day >= '2025-02-01' AND @.day < '2025-07-01'",
        ),
        ("@.region", "@.region IN ('r1', 'r2', 'r9')"),
        (
            "date_trunc('day', @.ts)",
            "@.ts >= '2025-03-01' AND @.ts < '2025-03-20'",
        ),
        (
            "extract(month FROM @.day)",
            "@.day BETWEEN '2025-02-10' AND '2025-06-10'",
        ),
        ("@.kind", "@.kind BETWEEN 0 AND 3"),
        ("@.note", "@.note = 'n1' OR @.note = 'n0'"),
        ("extract(hour FROM @.at)", "@.at < '2025-05-01'"),
        ("@.day", "@.day BETWEEN '2025-03-01' AND '2025-03-09'"),
        ("@.ts::date", "@.ts BETWEEN '2025-03-01' AND '2025-03-09'"),
        ("@.kind", "@.kind = ANY (ARRAY[0, 1]::smallint[])"),
    ],
    conditions: &[
        "@.cost > 20",
        "@.region <> 'r3'",
        "@.day >= '2025-03-01'",
        "@.note IS NOT NULL",
        "@.kind = 1",
        "@.n BETWEEN 10 AND 800",
        "@.region LIKE 'r%'",
        "@.at < '2025-11-01'",
        "@.cost IS NOT NULL OR @.n > 5",
        "NOT @.cost < 50",
        "@.paid > 10.5",
        "extract(hour FROM @.at) BETWEEN 8 AND 20",
        "@.kind IN (SELECT kind FROM kinds)",
        "@.cost <> 'NaN'",
        "@.region IN (SELECT region FROM regions WHERE factor > 1.1)",
    ],
};

pub const PATIENTS: List = List {
    numbers: &[
        ("@.born", "", 2020.0),
        ("@.weight", "", 200.0),
        ("2025 - @.born", "", 125.0),
        ("@.weight / 2", "", 100.0),
        ("CASE WHEN @.active THEN @.weight END", "", 200.0),
        ("@.active::int", "", 1.0),
        ("@.born + @.weight", "", 2220.0),
        ("@.born", "@.born BETWEEN 1940 AND 1960", 1960.0),
        ("@.weight", "@.weight >= 60 AND @.weight < 80", 80.0),
    ],
    keys: &[
        ("@.sex", ""),
        ("@.city", ""),
        ("@.active", ""),
        ("extract(month FROM @.joined)", ""),
        ("@.born / 10", ""),
        ("CASE WHEN @.weight > 70 THEN 'h' ELSE 'l' END", ""),
        ("@.born / 10", "@.born BETWEEN 1940 AND 1979"),
        ("@.city", "@.city IN ('Rome', 'Oslo')"),
        (
            "date_trunc('month', @.joined)",
            "@.joined BETWEEN '2024-02-01' AND '2024-06-30'",
        ),
    ],
    conditions: &[
        "@.active",
        "@.sex = 'f'",
        "@.born > 1950",
        "@.city IS NOT NULL",
        "@.weight <> 60",
        "EXISTS (SELECT FROM visits z WHERE z.patient = @.patient AND z.cost > 90)",
        "@.patient NOT IN (SELECT z.person FROM events z WHERE z.what = 'buy')",
        "(SELECT count(*) FROM visits z WHERE z.patient = @.patient) > 4",
        "@.patient IN (SELECT patient FROM visits)",
    ],
};

pub const ITEMS: List = List {
    numbers: &[
        ("@.price", "", 30.0),
        ("@.qty", "", 10.0),
        ("@.price * @.qty", "", 300.0),
        ("@.qty - 5", "", 5.0),
        ("@.qty", "@.qty BETWEEN 2 AND 3", 3.0),
    ],
    keys: &[
        ("@.code", ""),
        ("@.qty", ""),
        ("@.price > 10", ""),
        ("CASE @.code WHEN 'c1' THEN 1 WHEN 'c2' THEN 2 END", ""),
        ("@.qty", "@.qty BETWEEN 1 AND 4"),
        ("@.code", "@.code IN ('c1', 'c3')"),
    ],
    conditions: &["@.qty > 1", "@.price < 20", "@.code <> 'c2'"],
};

pub const EVENTS: List = List {
    numbers: &[
        ("@.val", "", 30.0),
        ("@.val + 1", "", 31.0),
        ("abs(@.val)", "", 30.0),
        ("-@.val", "", 30.0),
        ("@.val", "@.val BETWEEN -5 AND 10", 10.0),
    ],
    keys: &[
        ("@.what", ""),
        ("extract(isodow FROM @.t)", ""),
        ("date_trunc('month', @.t)", ""),
        ("@.val > 0", ""),
        (
            "date_trunc('week', @.t)",
            "@.t >= '2025-03-03' AND @.t < '2025-06-02'",
        ),
        ("@.what", "@.what IN ('view', 'cart')"),
        (
            "date_trunc('hour', @.t)",
            "@.t >= '2025-06-01' AND @.t < '2025-06-02'",
        ),
    ],
    conditions: &["@.what = 'view'", "@.t < '2025-06-01'", "@.val >= 0"],
};

pub const REGIONS: List = List {
    numbers: &[("@.factor", "", 1.5)],
    keys: &[
        ("@.country", ""),
        ("@.factor", ""),
        ("@.region", ""),
        ("@.country || 'x'", ""),
    ],
    conditions: &["@.factor > 1.1"],
};
