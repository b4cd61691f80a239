//! Keys of rows that each are of one person, as an order's number in its lines: groups, windows and numbers of them.

use dp_mean_tests::run;

use super::asking::Asking;
use super::{assert_alike, table};

/// People with up to 3 orders, and these with up to 4 lines; the third of the people has none.
fn world() -> Asking {
    Asking::new(
        "CREATE TABLE people (id int PRIMARY KEY, sex boolean NOT NULL);
         INSERT INTO people SELECT i, i % 2 = 0 FROM generate_series(1, 3000) i;
         CREATE TABLE shops (shop int PRIMARY KEY, name text NOT NULL UNIQUE, town text NOT NULL);
         INSERT INTO shops SELECT i, 's' || i, 't' || i % 2 FROM generate_series(1, 4) i;
         CREATE TABLE orders (id int PRIMARY KEY, buyer int NOT NULL REFERENCES people, shop int NOT NULL, code int UNIQUE);
         INSERT INTO orders SELECT 3 * i + k, i, 1 + (i + k) % 4, nullif(3 * i + k, 3 * i) FROM generate_series(1, 3000) i,
             generate_series(0, 2) k WHERE i % 3 > 0 AND k <= i % 3;
         CREATE TABLE lines (id int PRIMARY KEY, of int NOT NULL REFERENCES orders, price float8 NOT NULL, kind text NOT NULL);
         INSERT INTO lines SELECT 4 * o.id + k, o.id, (o.id + k) % 20, 'k' || (o.id + k) % 3 FROM orders o,
             generate_series(0, 3) k WHERE k < o.id % 5;
         ANALYZE;
         SELECT dp_set_budget('all', 4000, 1e-6);
         SELECT dp_protect('people', 'id', 'all', groups => 4, rows => 12, query_eps => 50, reuse => '0'),
                dp_protect('orders', 'buyer', 'all', groups => 4, rows => 12, query_eps => 50, reuse => '0'),
                dp_protect('lines', via => 'of', budget => 'all', groups => 4, rows => 12, query_eps => 50, reuse => '0');
         SELECT dp_declare('lines', 'price', 0, 20), dp_declare('lines', 'kind', ARRAY['k0', 'k1', 'k2']);
         SELECT dp_allow('people', '{analyst}'), dp_allow('orders', '{analyst}'), dp_allow('lines', '{analyst}');
         GRANT SELECT ON shops TO {analyst}",
        7,
    )
}

/// Each as the owner's, but for the noise.
fn assert_answered(world: &mut Asking, questions: &[&str]) {
    for sql in questions {
        let (answer, truth) = (table(&mut world.analyst, sql), table(&mut world.root, sql));
        assert_alike(&answer, &truth, sql);
    }
}

fn assert_refused(world: &mut Asking, questions: &[(&str, &str)]) {
    for (sql, why) in questions {
        let error = world.analyst.batch_execute(sql).expect_err(sql);
        let message = error.as_db_error().expect("of the server").message();
        assert!(message.contains(why), "{sql}: {message}");
    }
}

#[test]
fn rows_are_grouped_by_a_key_that_says_whose_they_are() {
    let mut world = world();
    assert_answered(
        &mut world,
        &[
            "SELECT count(*) FROM (SELECT of, sum(price) AS n FROM lines GROUP BY of HAVING sum(price) > 20) o",
            "SELECT n, count(*) FROM (SELECT of, count(*) AS n FROM lines GROUP BY of) o WHERE n IN (1, 2, 3, 4) GROUP BY n \
             ORDER BY n",
            "SELECT kind, count(*) FROM (SELECT of, kind FROM lines GROUP BY of, kind) o GROUP BY kind ORDER BY kind",
            "SELECT count(*) FROM (SELECT DISTINCT of FROM lines WHERE price > 5) o",
            "SELECT count(*) FROM (SELECT DISTINCT kind, of FROM lines) o",
            "SELECT count(*), avg(price) FROM (SELECT DISTINCT ON (of) of, price FROM lines ORDER BY of, price DESC, id) o",
            "SELECT count(*) FROM (SELECT price, row_number() OVER (PARTITION BY of ORDER BY id) AS k, \
             max(price) OVER (PARTITION BY of) AS m FROM lines) o WHERE k = 2 AND m > 9",
            "WITH o AS (SELECT of, count(*) AS n FROM lines WHERE price > 2 GROUP BY of) SELECT count(*) FROM o WHERE n > 1",
            // By the key that a reference is to, and with what else that order has.
            "SELECT count(*) FROM (SELECT o.id, count(l.id) AS n FROM orders o LEFT JOIN lines l ON l.of = o.id \
             GROUP BY o.id) o WHERE n = 0",
            "SELECT shop, count(*) FROM (SELECT o.id, o.shop, sum(l.price) AS s FROM orders o JOIN lines l ON l.of = o.id \
             GROUP BY o.id) o WHERE shop IN (1, 2, 3, 4) AND s > 10 GROUP BY shop ORDER BY shop",
            "SELECT count(*) FROM orders o JOIN (SELECT of, sum(price) AS s FROM lines GROUP BY of) l ON l.of = o.id WHERE s > 9",
            // Each order once.
            "SELECT count(DISTINCT of) FROM lines",
            "SELECT count(DISTINCT of) FROM lines WHERE price > 5",
            "SELECT count(DISTINCT o.id), count(DISTINCT o.buyer) FROM orders o JOIN lines l ON l.of = o.id WHERE l.price < 9",
            "SELECT count(DISTINCT id) FROM orders",
        ],
    );
    // Each counts for as many as they may have rows, not groups.
    run(&mut world.analyst, "SET dp_mean.groups = 1");
    assert_answered(&mut world, &["SELECT count(DISTINCT of) FROM lines"]);
    assert_refused(
        &mut world,
        &[
            (
                "SELECT of, count(*) FROM lines GROUP BY of",
                "would show single persons",
            ),
            (
                "SELECT * FROM (SELECT of, count(*) FROM lines GROUP BY of) o",
                "would show single persons",
            ),
            // Orders that are not there are those of many people.
            (
                "SELECT count(*) FROM (SELECT o.id FROM people p LEFT JOIN orders o ON o.buyer = p.id GROUP BY o.id) o",
                "would show single persons",
            ),
            (
                "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY o.id ORDER BY p.id) AS k FROM people p \
                 LEFT JOIN orders o ON o.buyer = p.id) o WHERE k = 1",
                "a window is not of the rows of one person",
            ),
            // So are the NULLs of a key that may be NULL.
            (
                "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY code ORDER BY id) AS k FROM orders) o WHERE k = 1",
                "a window is not of the rows of one person",
            ),
        ],
    );
}

#[test]
fn what_an_outer_join_may_leave_out_is_joined_further() {
    assert_answered(
        &mut world(),
        &[
            "SELECT count(*), count(o.id), count(l.id) FROM people p LEFT JOIN orders o ON o.buyer = p.id \
             LEFT JOIN lines l ON l.of = o.id",
            "SELECT sex, count(l.id) FROM people p LEFT JOIN orders o ON o.buyer = p.id LEFT JOIN lines l ON l.of = o.id \
             GROUP BY sex ORDER BY sex",
            "SELECT count(*) FROM people p LEFT JOIN orders o ON o.buyer = p.id JOIN lines l ON l.of = o.id",
            "SELECT count(*) FROM people p LEFT JOIN (orders o LEFT JOIN lines l ON l.of = o.id) ON o.buyer = p.id",
            "SELECT count(*) FROM (SELECT p.id, count(l.id) AS n FROM people p LEFT JOIN orders o ON o.buyer = p.id \
             LEFT JOIN lines l ON l.of = o.id AND l.price > 5 GROUP BY p.id) s WHERE n < 3",
            "SELECT count(*) FROM people p LEFT JOIN orders o ON o.buyer = p.id LEFT JOIN orders q ON q.buyer = o.buyer",
            "SELECT count(*) FROM lines l RIGHT JOIN orders o ON l.of = o.id RIGHT JOIN people p ON o.buyer = p.id",
        ],
    );
}

#[test]
fn columns_that_hang_on_a_key_need_not_be_in_group_by() {
    let mut world = world();
    assert_answered(
        &mut world,
        &[
            "SELECT s.name, count(*) FROM orders o JOIN shops s ON o.shop = s.shop GROUP BY s.shop ORDER BY s.name",
            "SELECT s.name || '/' || s.town AS n, count(*) FROM orders o JOIN shops s ON o.shop = s.shop GROUP BY s.shop \
             ORDER BY s.town DESC, 1",
            "SELECT s.shop, s.name, count(*) FROM orders o JOIN shops s USING (shop) GROUP BY s.shop HAVING s.town = 't1' \
             ORDER BY 1",
            "SELECT s.name, count(o.id) FROM shops s LEFT JOIN orders o ON o.shop = s.shop GROUP BY s.shop ORDER BY 1",
            "SELECT sex, count(*) FROM (SELECT p.sex, count(*) AS n FROM people p JOIN orders o ON o.buyer = p.id \
             GROUP BY p.id) s WHERE n > 1 GROUP BY sex ORDER BY sex",
        ],
    );
}
