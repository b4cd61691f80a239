-- Plain SQL of a role without SELECT, against the same answers by hand: a person in one row; ten rows of a person, of
-- whom each counts for one row; and people in up to ten of a thousand groups. Run by scripts/bench in the session of
-- bench.sql, whose functions it uses; prints Markdown. The plan of an answer is not shown, so none is checked.
CREATE UNLOGGED TABLE gated AS
SELECT i::int AS id, (i % greatest(:rows / 10, 1))::int AS person, random() AS x FROM generate_series(1, :rows) AS i;
ALTER TABLE gated ALTER person SET NOT NULL, ALTER x SET NOT NULL, ADD PRIMARY KEY (id);
CREATE UNLOGGED TABLE gated_people AS SELECT * FROM gated;
ALTER TABLE gated_people ALTER person SET NOT NULL, ALTER x SET NOT NULL;
SELECT least(:rows, 2000000) AS few_rows \gset
CREATE UNLOGGED TABLE gated_groups AS
SELECT person, ((person * 7919 + floor(random() * 10)::bigint * 104729) % 1000)::int AS k, random() AS x
FROM (SELECT floor(random() * (:few_rows / 10))::bigint AS person FROM generate_series(1, :few_rows)) AS rows;
ALTER TABLE gated_groups ALTER person SET NOT NULL, ALTER x SET NOT NULL;
VACUUM (FREEZE, ANALYZE) gated, gated_people, gated_groups;
CREATE ROLE bench_analyst;
SET client_min_messages = warning;
SELECT dp_set_budget('bench', 4096, 1e-3),
       dp_protect('gated', 'id', 'bench', reuse => '0'), dp_protect('gated_people', 'person', 'bench', reuse => '0'),
       dp_protect('gated_groups', 'person', 'bench', groups => 10, reuse => '0'),
       dp_declare('gated', 'x', 0, 1), dp_declare('gated_people', 'x', 0, 1), dp_declare('gated_groups', 'x', 0, 1),
       dp_allow('gated', 'bench_analyst'), dp_allow('gated_people', 'bench_analyst'),
       dp_allow('gated_groups', 'bench_analyst') \g /dev/null
RESET client_min_messages;
SET enable_sort = on;
SET work_mem = '2GB';

\echo
SELECT format('Plain SQL of an analyst: %s rows, PostgreSQL %s, medians of %s runs that take turns.',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs);
\echo
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`dp_mean` of rows', 'SELECT count(a) FROM (SELECT dp_mean(x, 0, 1, 0.1) AS a FROM gated) q', NULL, NULL),
    (1, '`avg` of an analyst', 'SELECT count(a) FROM (SELECT avg(x) AS a FROM gated) q', 1.05, 'bench_analyst');
CALL take_turns('the gate, a row a person', jits => '{f}', checked => false);
SELECT * FROM ratios();

\echo
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`dp_mean` of contributions, ten rows a person',
     'SELECT count(a) FROM (SELECT dp_mean(c, 0, 1, 0.1) AS a FROM
      (SELECT dp_contribution(x, 0, 1) AS c FROM gated_people GROUP BY person) p) q', NULL, NULL),
    (1, '`avg` of an analyst, ten rows a person', 'SELECT count(a) FROM (SELECT avg(x) AS a FROM gated_people) q',
     1.10, 'bench_analyst');
CALL take_turns('the gate, ten rows a person', jits => '{f}', checked => false);
SELECT * FROM ratios();

\echo
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`dp_mean` over `dp_groups`, ten of 1,000 groups',
     'SELECT count(a) FROM (SELECT k, dp_mean(c, 0, 1, 0.1, ''hourglass(groups=10)'') AS a FROM
      (SELECT dp_groups(10, person, k, dp_part(x, 0, 1)) AS kept FROM gated_groups GROUP BY person) AS people,
      dp_unnest(kept) AS g(k int, c dp_contribution) GROUP BY k) q', NULL, NULL),
    (1, '`avg` of an analyst by these keys', 'SELECT count(a) FROM (SELECT k, avg(x) AS a FROM gated_groups GROUP BY k) q',
     1.10, 'bench_analyst'),
    (2, '`avg` of the means of each person and group',
     'SELECT count(a) FROM (SELECT k, avg(x) AS a FROM (SELECT k, avg(x) AS x FROM gated_groups GROUP BY person, k) AS means
      GROUP BY k) q', NULL, NULL),
    (3, '`dp_mean` over `dp_groups`, with the choice of groups by `dp_keep`',
     'SELECT count(a) FROM (SELECT k, dp_mean(c, 0, 1, 0.1, ''hourglass(groups=10)'') AS a FROM
      (SELECT dp_groups(10, person, k, dp_part(x, 0, 1)) AS kept FROM gated_groups GROUP BY person) AS people,
      dp_unnest(kept) AS g(k int, c dp_contribution) GROUP BY k HAVING dp_keep(0.1, 1e-6, ''keep(groups=10)'')) q', NULL, NULL);
CALL take_turns('the gate by 1,000 keys', jits => '{f}', workers => '{0}', checked => false);
SELECT * FROM ratios();
RESET work_mem;
SET enable_sort = off;
DROP TABLE gated, gated_people, gated_groups;
DROP ROLE bench_analyst;
