-- People in up to ten of a thousand groups, who are kept in three: dp_groups against a plain mean for each person and
-- group, and against row_number(). Run by hand in an empty database, psql -X -v rows=2000000 -f bench/groups.sql; prints
-- Markdown, medians of five runs that take turns.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned

CREATE EXTENSION IF NOT EXISTS dp_mean;
SELECT setseed(0.5) \g /dev/null
CREATE UNLOGGED TABLE visits AS
SELECT person, ((person * 7919 + floor(random() * 10)::bigint * 104729) % 1000)::int AS k, random() AS x
FROM (SELECT floor(random() * (:rows / 10))::bigint AS person FROM generate_series(1, :rows)) AS rows;
VACUUM (FREEZE, ANALYZE) visits;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET work_mem = '2GB';

CREATE TEMP TABLE contenders (id int, name text, query text);
INSERT INTO contenders VALUES
    (0, '`avg` of the means of each person and group',
     'SELECT k, avg(x) AS a FROM (SELECT k, avg(x) AS x FROM visits GROUP BY person, k) AS means GROUP BY k'),
    (1, '`dp_mean` over `dp_groups`',
     'SELECT k, dp_mean(c, 0, 1, 1.0, ''hourglass(groups=3)'') AS a FROM (SELECT dp_groups(3, person, k, dp_part(x, 0, 1)) '
     'AS kept FROM visits GROUP BY person) AS people, dp_unnest(kept) AS g(k int, c dp_contribution) GROUP BY k'),
    (2, '`dp_mean` over three groups by `row_number()`',
     'SELECT k, dp_mean(c, 0, 1, 1.0, ''hourglass(groups=3)'') AS a FROM (SELECT k, c, row_number() OVER (PARTITION BY '
     'person ORDER BY hashint8extended(person, k)) AS nth FROM (SELECT person, k, dp_contribution(x, 0, 1) AS c '
     'FROM visits GROUP BY person, k) AS contributed) AS numbered WHERE nth <= 3 GROUP BY k');

CREATE FUNCTION pg_temp.run(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp();
    answers bigint;
BEGIN
    EXECUTE 'SELECT count(a) FROM (' || query || ') AS answers' INTO answers;
    IF answers <> 1000 THEN
        RAISE EXCEPTION '% answers', answers;
    END IF;
    RETURN 1000 * extract(epoch FROM clock_timestamp() - began);
END $$;
CREATE TEMP TABLE turns AS
SELECT id, name, pg_temp.run(query) AS ms, again
FROM (SELECT * FROM contenders, generate_series(1, 5) AS again ORDER BY again, id OFFSET 0) AS calls;

\echo '| query | ms | ratio |'
\echo '| --- | --- | --- |'
SELECT format('| %s | %s | %s |', name, round(ms::numeric), round((ms / first_value(ms) OVER (ORDER BY id))::numeric, 2))
FROM (SELECT id, name, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS ms FROM turns GROUP BY id, name) AS medians
ORDER BY id;
