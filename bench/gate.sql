-- Plain SQL of a role without SELECT, against the same answers by hand: a person in one row; and ten rows a person, of
-- whom each counts for one row in one group. Run by scripts/bench in the session of bench.sql, whose functions it uses;
-- prints Markdown.
CREATE UNLOGGED TABLE gated AS
SELECT i::int AS id, (i % greatest(:rows / 10, 1))::int AS person, (random() * 1000)::int AS grp, random() AS x
FROM generate_series(1, :rows) AS i;
ALTER TABLE gated ALTER x SET NOT NULL, ADD PRIMARY KEY (id);
CREATE UNLOGGED TABLE gated_people AS SELECT * FROM gated;
VACUUM (FREEZE, ANALYZE) gated, gated_people;
CREATE ROLE bench_analyst;
-- The clock is read outside, so that who runs the query is all that differs.
SELECT dp_budget('bench', 4096, 1e-3) \g /dev/null
SET client_min_messages = warning;
SELECT dp_protect('gated', 'id', 'bench'), dp_protect('gated_people', 'person', 'bench'),
       dp_column('gated', 'x', 0, 1), dp_column('gated_people', 'x', 0, 1),
       dp_allow('gated', 'bench_analyst'), dp_allow('gated_people', 'bench_analyst') \g /dev/null
RESET client_min_messages;
GRANT SELECT ON contenders TO bench_analyst;

CREATE FUNCTION run_as(who text, query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    ms float8;
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', who);
    ms := run(query);
    RESET ROLE;
    RETURN ms;
END $$;

CREATE FUNCTION gate_turns() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    contender contenders;
    w int;
BEGIN
    FOREACH w IN ARRAY ARRAY[0, 2] LOOP
        PERFORM set_config('max_parallel_workers_per_gather', w::text, true);
        FOR run IN 1 .. greatest(current_setting('bench.runs')::int, 3) LOOP
            FOR contender IN SELECT * FROM contenders ORDER BY CASE WHEN run % 2 = 0 THEN id END, id DESC LOOP
                INSERT INTO turns VALUES (
                    contender.id, false, w,
                    run_as(CASE WHEN contender.name LIKE '%analyst%' THEN 'bench_analyst' ELSE current_user::text END,
                           contender.query),
                    run);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

SET jit = off;
SET enable_sort = on;
SET work_mem = '1GB';
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`dp_mean` by hand, a row a person', 'SELECT count(a) FROM (SELECT dp_mean(x, 0, 1, 0.1) AS a FROM gated) q', NULL),
    (1, '`avg` of an analyst, a row a person', 'SELECT count(a) FROM (SELECT avg(x) AS a FROM gated) q', 1.05);
SELECT gate_turns() \g /dev/null
\echo
SELECT format('The gate: %s rows, PostgreSQL %s, medians of %s runs that take turns.', trim(to_char(:rows, '999,999,999')),
              current_setting('server_version'), greatest(:runs, 3));
\echo
SELECT * FROM ratios();
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`dp_mean` of contributions by hand, ten rows a person',
     'SELECT count(a) FROM (SELECT dp_mean(c, 0, 1, 0.1) AS a FROM
      (SELECT dp_contribution(x, 0, 1) AS c FROM gated_people GROUP BY person) p) q', NULL),
    (1, '`avg` of an analyst, ten rows a person', 'SELECT count(a) FROM (SELECT avg(x) AS a FROM gated_people) q', 1.10);
SELECT gate_turns() \g /dev/null
SELECT * FROM ratios();
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`avg` in two levels by 1,000 keys',
     'SELECT count(a) FROM (SELECT grp, avg(m) AS a FROM
      (SELECT person, grp, avg(x) AS m FROM gated_people GROUP BY 1, 2) p GROUP BY 1) q', NULL),
    (1, '`avg` of an analyst by 1,000 keys', 'SELECT count(a) FROM (SELECT grp, avg(x) AS a FROM gated_people GROUP BY 1) q', 1.50);
SELECT gate_turns() \g /dev/null
SELECT * FROM ratios();
RESET work_mem;
RESET jit;
SET enable_sort = off;
DROP TABLE gated, gated_people;
DROP ROLE bench_analyst;
