-- People with ten rows each, in any of a thousand groups, who are kept in ten: dp_groups against a plain mean for each
-- person and group, and against row_number(), of the rows as they come and of rows in order of the person; with memory for
-- all people, and with as much as PostgreSQL gives by default. Run by scripts/bench in the session of bench.sql, whose
-- functions it uses; prints Markdown.
SELECT setseed(0.5) \g /dev/null
CREATE UNLOGGED TABLE visits AS
SELECT floor(random() * (:rows / 10))::bigint AS person, floor(random() * 1000)::int AS k, random() AS x
FROM generate_series(1, :rows) AS rows;
VACUUM (FREEZE, ANALYZE) visits;

TRUNCATE contenders;
INSERT INTO contenders
SELECT first + nth, name || words,
       format('SELECT count(a) FROM (%s GROUP BY k) AS q', format(query, format(rows, needed))), goal
FROM (VALUES
    (0, 'person, k', '`avg` of the means of each person and group',
     'SELECT k, avg(x) AS a FROM (SELECT k, avg(x) AS x FROM %s GROUP BY person, k) AS means', NULL),
    (1, 'person', '`dp_mean` over `dp_groups`',
     'SELECT k, dp_mean(c, 0, 1, 1.0, ''hourglass(groups=10)'') AS a FROM (SELECT dp_groups(10, person, k, dp_part(x, 0, 1)) '
     'AS kept FROM %s GROUP BY person) AS people, dp_unnest(kept) AS g(k int, c dp_contribution)', 1.5),
    (2, 'person, k', '`dp_mean` over ten groups by `row_number()`',
     'SELECT k, dp_mean(c, 0, 1, 1.0, ''hourglass(groups=10)'') AS a FROM (SELECT k, c, row_number() OVER (PARTITION BY '
     'person ORDER BY hashint8extended(person, k)) AS nth FROM (SELECT person, k, dp_contribution(x, 0, 1) AS c '
     'FROM %s GROUP BY person, k) AS contributed) AS numbered WHERE nth <= 10', NULL)
) AS calls(nth, needed, name, query, goal), (VALUES
    (0, '', 'visits'),
    (3, ', in order', '(SELECT * FROM visits ORDER BY %s) AS visits')
) AS sources(first, words, rows);
SET enable_sort = on;

TRUNCATE turns;
SET work_mem = '2GB';
CALL take_turns('groups of people', jits => '{f}', workers => '{0}', checked => false);
\echo
SELECT format('%s rows of %s people, PostgreSQL %s, medians of %s runs that take turns; 2 GB of work_mem.',
              trim(to_char(:rows, '999,999,999')), trim(to_char(:rows / 10, '999,999,999')),
              current_setting('server_version'), :runs);
\echo
SELECT * FROM ratios();

TRUNCATE turns;
RESET work_mem;
CALL take_turns('groups of people, little memory', jits => '{f}', workers => '{0}', checked => false);
\echo
SELECT format('The same with %s of work_mem.', current_setting('work_mem'));
\echo
SELECT * FROM ratios();
SET enable_sort = off;
DROP TABLE visits;
