-- People with ten rows each, in any of a thousand groups, who are kept in ten: dp_groups against a plain mean for each
-- person and group, and against row_number(). Run by scripts/bench in the session of bench.sql, whose functions it uses;
-- prints Markdown.
SELECT setseed(0.5) \g /dev/null
CREATE UNLOGGED TABLE visits AS
SELECT floor(random() * (:rows / 10))::bigint AS person, floor(random() * 1000)::int AS k, random() AS x
FROM generate_series(1, :rows) AS rows;
VACUUM (FREEZE, ANALYZE) visits;

TRUNCATE contenders, turns;
INSERT INTO contenders
SELECT id, name, format('SELECT count(a) FROM (%s GROUP BY k) AS q', query), goal
FROM (VALUES
    (0, '`avg` of the means of each person and group',
     'SELECT k, avg(x) AS a FROM (SELECT k, avg(x) AS x FROM visits GROUP BY person, k) AS means', NULL),
    (1, '`dp_mean` over `dp_groups`',
     'SELECT k, dp_mean(c, 0, 1, 1.0, ''hourglass(groups=10)'') AS a FROM (SELECT dp_groups(10, person, k, dp_part(x, 0, 1)) '
     'AS kept FROM visits GROUP BY person) AS people, dp_unnest(kept) AS g(k int, c dp_contribution)', 1.5),
    (2, '`dp_mean` over ten groups by `row_number()`',
     'SELECT k, dp_mean(c, 0, 1, 1.0, ''hourglass(groups=10)'') AS a FROM (SELECT k, c, row_number() OVER (PARTITION BY '
     'person ORDER BY hashint8extended(person, k)) AS nth FROM (SELECT person, k, dp_contribution(x, 0, 1) AS c '
     'FROM visits GROUP BY person, k) AS contributed) AS numbered WHERE nth <= 10', NULL)
) AS calls(id, name, query, goal);
SET enable_sort = on;
SET work_mem = '2GB';
CALL take_turns('groups of people', jits => '{f}', workers => '{0}', checked => false);
RESET work_mem;
SET enable_sort = off;

\echo
SELECT format('%s rows of %s people, PostgreSQL %s, medians of %s runs that take turns.',
              trim(to_char(:rows, '999,999,999')), trim(to_char(:rows / 10, '999,999,999')),
              current_setting('server_version'), :runs);
\echo
SELECT * FROM ratios();
DROP TABLE visits;
