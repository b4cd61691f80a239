//! Counts of one block: one release, or one price where no row is in two of them.

use dp_mean_tests::{refused, run, value};

use super::asking::Asking;
use super::table;

/// A row for each person, with a budget that pays Gaussian noise, and one that pays pure noise.
fn world() -> Asking {
    let mut made =
        "SELECT dp_set_budget('gaussian', 3, 1e-6), dp_set_budget('pure', 3, 0);".to_owned();
    for budget in ["gaussian", "pure"] {
        made += &format!(
            "CREATE TABLE {budget} (id int PRIMARY KEY, k int NOT NULL, t text, x float8, listed int NOT NULL);
             INSERT INTO {budget} SELECT g, g % 10, 't' || g % 3, CASE WHEN g % 4 > 0 THEN g END, g % 2000
                 FROM generate_series(1, 6000) g;
             SELECT dp_protect('{budget}', 'id', '{budget}'),
                 dp_declare('{budget}', 'listed', ARRAY(SELECT generate_series(0, 2009)::text)),
                 dp_declare('{budget}', 'x', 0, 6000), dp_allow('{budget}', '{{analyst}}');"
        );
    }
    Asking::new(&made, 11)
}

/// Counts of `count` conditions. A row may meet several of them.
fn overlapping(count: usize) -> String {
    let counts = (0..count).map(|i| format!("count(*) FILTER (WHERE k > {i})"));
    counts.collect::<Vec<_>>().join(", ")
}

#[test]
fn many_counts_cost_less_than_their_sum() {
    let mut world = world();
    for (count, gaussian, pure) in [
        (1, 1.0, 1.0),
        (2, 1.457, 1.291),
        (8, 3.664, 3.028),
        (9, 4.0, 3.317),
    ] {
        let sql = format!("SELECT {} FROM ", overlapping(count));
        let price = world.price(&format!("{sql} gaussian"));
        assert!((price - 0.1 * gaussian).abs() < 1e-4, "{count}: {price}");
        let price = world.price(&format!("{sql} pure"));
        assert!((price - 0.1 * pure).abs() < 1e-4, "{count}: {price}");
    }
    let sql = format!("SELECT {} FROM pure", overlapping(3));
    let mechanisms = world.mechanisms(&sql);
    assert_eq!(mechanisms, "dp_counts: knorm(d=3, groups=1, rows=1)");
    let sql = "SELECT count(t), count(x), count(*) FILTER (WHERE x > 3) FROM gaussian";
    let mechanisms = world.mechanisms(sql);
    assert!(
        mechanisms.starts_with("dp_counts: correlated(d=3, groups=1, mu="),
        "{mechanisms}"
    );
    // People who are told apart are a release of their own.
    let sql = "SELECT count(t), count(x), count(DISTINCT id) FROM gaussian";
    assert!((world.price(sql) - 0.2457).abs() < 1e-4);
}

/// Conditions on one expression with several values, ranges that do not meet, IS NULL and IS NOT NULL.
#[test]
fn counts_that_no_row_is_in_together_cost_one() {
    let mut world = world();
    for (conditions, units) in [
        ("k = 1; k = 2; k = 3", 1.0),
        ("t = 'a'; t = 'b'", 1.0),
        ("x IS NULL; x IS NOT NULL", 1.0),
        ("k < 3; k >= 3 AND k < 7; k >= 7", 1.0),
        ("k = 1 AND x > 3; k = 2 AND x > 3", 1.0),
        ("k IN (1, 2); k IN (3, 4)", 1.0),
        // Two of them may hold.
        ("k = 1; t = 'a'", 1.457),
        ("k <= 3; k >= 3", 1.457),
        // Two sets of them are cheaper than four in one release.
        ("k = 1; k = 2; t = 'a'; t = 'b'", 2.0),
        ("k = 1; k = 2; k = 3; k = 4; k = 5; k = 6; t = 'a'", 2.0),
    ] {
        let counts = conditions
            .split("; ")
            .map(|condition| format!("count(*) FILTER (WHERE {condition})"));
        let sql = format!("SELECT {} FROM ", counts.collect::<Vec<_>>().join(", "));
        let price = world.price(&format!("{sql} gaussian"));
        assert!((price - 0.1 * units).abs() < 1e-4, "{conditions}: {price}");
        if units == 1.0 {
            let price = world.price(&format!("{sql} pure"));
            assert!((price - 0.1).abs() < 1e-9, "{conditions}: {price}");
        }
    }
}

/// Each of them is the truth but for noise, which is as large as that of one count, in groups with rows and without.
#[test]
fn each_count_has_the_noise_of_one() {
    let mut world = world();
    let reach = 4.9 * (2.0 / 2010.0f64).sqrt();
    for (budget, variance) in [("gaussian", 75.6), ("pure", 199.8)] {
        let conditions = [
            "k >= 0",
            "x IS NOT NULL",
            "x > 3000",
            "id < 0",
            "k IN (1, 2, 3)",
        ];
        let counts: Vec<_> = (1..)
            .zip(conditions)
            .map(|(i, condition)| format!("count(*) FILTER (WHERE {condition}) AS c{i}"))
            .collect();
        let counts = counts.join(", ");
        let spread = (1..=5).map(|i| format!("avg(c{i} - t{i}), avg((c{i} - t{i})^2)"));
        let truth = (1..)
            .zip(conditions)
            .map(|(i, condition)| format!("count(*) FILTER (WHERE {condition}) AS t{i}"))
            .collect::<Vec<_>>()
            .join(", ");
        // The owner knows the truth, and looks at the answers.
        let name = &world.name;
        run(
            &mut world.root,
            &format!("GRANT CREATE ON SCHEMA public TO {name}"),
        );
        run(
            &mut world.analyst,
            &format!(
                "CREATE TABLE a_{budget} AS SELECT listed, {counts} FROM {budget} GROUP BY listed"
            ),
        );
        let sql = format!(
            "SELECT {} FROM a_{budget} JOIN (SELECT l AS listed, t.* FROM generate_series(0, 2009) l, LATERAL \
             (SELECT {truth} FROM {budget} WHERE listed = l) t) t USING (listed)",
            spread.collect::<Vec<_>>().join(", ")
        );
        let found: Vec<f64> = table(&mut world.root, &sql)[0]
            .iter()
            .map(|cell| {
                cell.as_deref()
                    .expect("a number")
                    .parse()
                    .expect("a number")
            })
            .collect();
        for (i, pair) in found.chunks_exact(2).enumerate() {
            let off = pair[0] / (variance / 2010.0f64).sqrt();
            assert!(off.abs() < 4.9, "{budget} {}: {off}", conditions[i]);
            // Noise that is no normal one has heavier tails: its square varies more.
            assert!(
                (pair[1] / variance - 1.0).abs() < 2.5 * reach,
                "{budget} {}: {}",
                conditions[i],
                pair[1]
            );
        }
    }
}

/// Of people with several rows, in several groups: a person counts for at most `rows` rows of each count.
#[test]
fn people_with_many_rows_are_counted_together() {
    let mut world = world();
    let name = world.name.clone();
    run(
        &mut world.root,
        &format!(
            "CREATE TABLE visits (person int NOT NULL, listed int NOT NULL, k int NOT NULL, x int);
             INSERT INTO visits SELECT p, (p + g) % 2000, r, CASE WHEN p % 2 = 0 THEN r END
                 FROM generate_series(1, 2000) p, generate_series(0, 1) g, generate_series(1, 4) r;
             SELECT dp_protect('visits', 'person', 'gaussian', groups => 2, rows => 3),
                 dp_declare('visits', 'listed', ARRAY(SELECT generate_series(0, 2009)::text)), dp_allow('visits', '{name}');
             CREATE TABLE many AS TABLE visits;
             SELECT dp_protect('many', 'person', 'pure', groups => 2, rows => 3),
                 dp_declare('many', 'listed', ARRAY(SELECT generate_series(0, 2009)::text)), dp_allow('many', '{name}');
             GRANT CREATE ON SCHEMA public TO {name}"
        ),
    );
    let counts = "count(*) AS a, count(x) AS b, count(*) FILTER (WHERE k = 1) AS c, count(*) FILTER (WHERE k > 9) AS d";
    let sql = format!("SELECT {counts} FROM visits");
    // A person may be in counts of conditions that no row meets together.
    assert!((world.price(&sql) - 0.2).abs() < 1e-4);
    let some =
        "SELECT count(x), count(*) FILTER (WHERE k = 1), count(*) FILTER (WHERE k > 9) FROM visits";
    assert!((world.price(some) - 0.1866).abs() < 1e-4);
    assert!(
        world
            .mechanisms(some)
            .starts_with("dp_sums: correlated(d=3, groups=1, mu=")
    );
    let told = table(&mut world.analyst, &sql);
    let told: Vec<f64> = told[0]
        .iter()
        .map(|cell| {
            cell.as_deref()
                .expect("a number")
                .parse()
                .expect("a number")
        })
        .collect();
    // 2000 people with 8 rows count for 3; half of them have a value; each has 2 rows with k = 1.
    for (told, truth) in told.iter().zip([6000.0, 3000.0, 4000.0, 0.0]) {
        assert!(
            (told - truth).abs() < 5.0 * 3.0 * 75.6f64.sqrt(),
            "{told} {truth}"
        );
    }
    // By groups: 2 people in each of 2000, and nobody in 10. Two groups of three rows: the noise of each count is as alone.
    let reach = 4.9 * (2.0 / 2010.0f64).sqrt();
    for (table_name, variance) in [
        ("visits", 75.6_f64 * 9.0 * 2.0),
        ("many", 199.8 * 9.0 * 4.0),
    ] {
        let sql = format!("SELECT listed, {counts} FROM {table_name} GROUP BY listed");
        run(
            &mut world.analyst,
            &format!("CREATE TABLE t_{table_name} AS {sql}"),
        );
        let noise = format!("SELECT (noise)[1] FROM dp_cost('{sql}')");
        let noise: f64 = value(&mut world.analyst, &noise);
        // 1.96 standard deviations of Gaussian noise, and up to 2.12 of noise in the shape of a cube.
        let deviations = noise / variance.sqrt();
        let law = match table_name {
            "visits" => 1.94..=1.98,
            _ => 1.96..=2.12,
        };
        assert!(law.contains(&deviations), "{table_name}: {noise}");
        let sql = format!(
            "SELECT avg(d), avg(d ^ 2), avg(a) FILTER (WHERE listed < 2000), avg(b) FILTER (WHERE listed < 2000), \
             avg(c) FILTER (WHERE listed < 2000) FROM t_{table_name}"
        );
        let found: Vec<f64> = table(&mut world.root, &sql)[0]
            .iter()
            .map(|cell| {
                cell.as_deref()
                    .expect("a number")
                    .parse()
                    .expect("a number")
            })
            .collect();
        let off = 4.9 * (variance / 2000.0).sqrt();
        for (found, truth) in [found[0], found[2], found[3], found[4]]
            .iter()
            .zip([0.0, 6.0, 3.0, 2.0])
        {
            assert!((found - truth).abs() < off, "{table_name}: {found} {truth}");
        }
        assert!(
            (found[1] / variance - 1.0).abs() < 2.5 * reach,
            "{table_name}: {}",
            found[1]
        );
    }
    // Nobody else looks into contributions: not who may read the table, and not the analyst.
    for call in [
        "SELECT dp_mean.dp_counted(dp_contribution(0.5, 0, 1, 3), 3, 1) FROM generate_series(1, 2)",
        "SELECT dp_mean.dp_counted(dp_contribution(k, 0, 10, 3), 3, 1) FROM visits GROUP BY person",
    ] {
        let refusal = refused(&mut world.root, call);
        assert_eq!(refusal.code, "42501", "{refusal:?}");
    }
    let call = "SELECT sum(dp_mean.dp_counted(c, 3, 1)) FROM (SELECT dp_contribution(k, 0, 10, 3) AS c FROM visits \
                GROUP BY person) p";
    assert_eq!(refused(&mut world.analyst, call).code, "42501");
}

/// A number of all people among them chooses the groups.
#[test]
fn groups_are_chosen_by_one_of_many_counts() {
    let mut world = world();
    let sql =
        "SELECT k, count(*), count(x), count(*) FILTER (WHERE x > 100) FROM gaussian GROUP BY k";
    assert!((world.price(sql) - 0.1667).abs() < 1e-4);
    let mechanisms = world.mechanisms(sql);
    // The noise of each is as that of one count, and so is the threshold.
    assert!(
        mechanisms.ends_with(", groups: above 53.7 people, delta=1.00e-9"),
        "{mechanisms}"
    );
    assert_eq!(table(&mut world.analyst, sql).len(), 10);
    let sql = "SELECT k % 2, k, count(*), count(x) FROM gaussian GROUP BY GROUPING SETS ((1), (k), ()) HAVING count(*) > 0";
    assert_eq!(table(&mut world.analyst, sql).len(), 13);
}
