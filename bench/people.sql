-- What it takes to protect people instead of rows: ten rows a person, of which three are kept, their mean, or what they
-- contribute; and contributions against plain means of each person, with workers too. Run by scripts/bench in the session of
-- bench.sql, whose functions it uses; prints Markdown.
CREATE UNLOGGED TABLE people AS
SELECT (i % greatest(:rows / 10, 1))::int AS person, random() AS x FROM generate_series(1, :rows) AS i;
VACUUM (FREEZE, ANALYZE) people;

TRUNCATE contenders, turns;
INSERT INTO contenders
SELECT id, name, format('SELECT count(a) FROM (SELECT %s AS a FROM %s) q', call, source), NULL
FROM (VALUES
    (0, '`avg` of all rows', 'avg(x)', 'people'),
    (1, '`dp_mean` of all rows', 'dp_mean(x, 0, 1, 1.0, ''hourglass(rows=10)'')', 'people'),
    (2, '`avg` of three rows a person', 'avg(x)', 'kept'),
    (3, '`dp_mean` of three rows a person', 'dp_mean(x, 0, 1, 1.0, ''hourglass(rows=3)'')', 'kept'),
    (4, '`avg` of a mean for each person', 'avg(x)', 'means'),
    (5, '`dp_mean` of a mean for each person', 'dp_mean(x, 0, 1, 1.0, ''hourglass'')', 'means'),
    (6, '`dp_mean` of a contribution of each person', 'dp_mean(c, 0, 1, 1.0)', 'given')
) AS calls(id, name, call, source);
CREATE VIEW kept AS
SELECT x FROM (SELECT x, row_number() OVER (PARTITION BY person ORDER BY random()) AS nth FROM people) AS numbered WHERE nth <= 3;
CREATE VIEW means AS SELECT avg(x) AS x FROM people GROUP BY person;
CREATE VIEW given AS SELECT dp_contribution(x, 0, 1) AS c FROM people GROUP BY person;

-- These plans sort, which those of take_turns do not; they are PostgreSQL's own, but without workers.
SET max_parallel_workers_per_gather = 0;
SET enable_sort = on;
SET work_mem = '1GB';
INSERT INTO turns
SELECT id, current_setting('jit')::bool, 0, run(query), again
FROM (SELECT contenders.*, again FROM contenders, generate_series(1, greatest(:runs, 3)) AS again ORDER BY again, id OFFSET 0) AS q;

\echo
SELECT format('%s rows of %s people, PostgreSQL %s, medians of %s runs that take turns.',
              trim(to_char(:rows, '999,999,999')), trim(to_char(:rows / 10, '999,999,999')),
              current_setting('server_version'), greatest(:runs, 3));
\echo
SELECT * FROM ratios();

TRUNCATE turns;
DELETE FROM contenders WHERE id < 4;
UPDATE contenders SET id = id - 4, goal = CASE WHEN id > 4 THEN 1.15 END;
CALL take_turns('contributions', jits => '{f}', checked => false);
\echo
\echo 'Contributions against plain means of each person:'
\echo
SELECT * FROM ratios();
RESET work_mem;
SET enable_sort = off;
DROP TABLE people CASCADE;
