-- dp_mean with five arguments against avg, over the same rows in the same session. Run by scripts/bench with
-- the psql variables rows, runs and means, whether to measure here; prints Markdown. What the other files share is at the end.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned
\pset fieldsep ' | '

CREATE EXTENSION dp_mean;

-- Groups in no order, as a hash table likes them least.
SELECT setseed(0.5) \g /dev/null
CREATE UNLOGGED TABLE rows AS
SELECT random() AS x,
       floor(random() * 1000)::int AS few,
       floor(random() * greatest(:rows / 10, 1))::int AS many
FROM generate_series(1, :rows);
VACUUM (FREEZE, ANALYZE) rows;
SELECT count(*) > 0 AS can_prewarm FROM pg_available_extensions WHERE name = 'pg_prewarm' \gset
\if :can_prewarm
    CREATE EXTENSION pg_prewarm;
    SELECT pg_prewarm('rows') \g /dev/null
\endif

CREATE TABLE cases (id serial, groups text, query text, spills bool, goal_15 float8, goal_18 float8);
INSERT INTO cases (groups, query, spills, goal_15, goal_18) VALUES
    ('1',             'SELECT count(a) FROM (SELECT %s AS a FROM rows) q',               false, 0.97, 1.05),
    ('1,000',         'SELECT count(a) FROM (SELECT %s AS a FROM rows GROUP BY few) q',  false, 1.00, 1.05),
    ('1,000,000',     'SELECT count(a) FROM (SELECT %s AS a FROM rows GROUP BY many) q', false, 1.08, 1.10),
    ('1,000,000 spilling', 'SELECT count(a) FROM (SELECT %s AS a FROM rows GROUP BY many) q', true, 1.10, NULL);
UPDATE cases SET groups = replace(groups, '1,000,000', trim(to_char(:rows / 10, '999,999,999')));

CREATE TABLE aggregates (name text, call text);
INSERT INTO aggregates VALUES ('avg', 'avg(x)'), ('dp_mean', 'dp_mean(x, 0, 1, 1.0, ''hourglass'')');

CREATE TABLE measured (id int, jit bool, workers int, name text, ms float8, bytes_per_group float8, run int);

-- One measurement; and once per case, that the plan is the one that the table will say it is.
CREATE FUNCTION run(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz := clock_timestamp();
    answer bigint;
BEGIN
    EXECUTE query INTO answer;
    RETURN 1000 * extract(epoch FROM clock_timestamp() - began);
END $$;

CREATE FUNCTION check_plan(query text, groups text, spills bool, jit bool, workers int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
    batches int;
    launched int;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    batches := max(v::int) FROM jsonb_path_query(plan, 'strict $.**."HashAgg Batches"') v;
    launched := coalesce(max(v::int), 0) FROM jsonb_path_query(plan, 'strict $.**."Workers Launched"') v;
    IF launched <> workers
       OR (plan @? '$[0].JIT') <> jit
       OR plan @? 'strict $.** ? (@."Node Type" == "Sort")'
       OR (groups <> '1' AND (coalesce(batches, 0) > 1) <> spills) THEN
        RAISE EXCEPTION 'the plan is not the one meant (% groups, jit %, % workers): %',
            groups, jit, workers, jsonb_pretty(plan);
    END IF;
    RETURN (SELECT 1024 * max(v::float8) FROM jsonb_path_query(plan, 'strict $.**."Peak Memory Usage"') v);
END $$;

-- PostgreSQL's own settings but for these: the costs of JIT scaled to the rows, so that it starts as it does at ten
-- million; memory for the groups, or for a third of them; workers and hashing wherever they are asked for.
SELECT set_config('jit_above_cost', (100000 * least(:rows / 1e7, 1))::text, false),
       set_config('jit_inline_above_cost', (500000 * least(:rows / 1e7, 1))::text, false),
       set_config('jit_optimize_above_cost', (500000 * least(:rows / 1e7, 1))::text, false),
       set_config('bench.spilling_work_mem', greatest(64, (65536 * least(:rows / 1e7, 1))::int) || 'kB', false),
       set_config('bench.runs', :'runs', false) \g /dev/null
SET enable_sort = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

\if :means
DO $$
DECLARE
    c record;
    a aggregates;
    run int;
    bytes float8;
BEGIN
    FOR c IN
        SELECT * FROM cases, unnest(ARRAY[false, true]) AS jit, unnest(ARRAY[0, 2]) AS workers
        WHERE NOT jit OR pg_jit_available() ORDER BY jit, workers, id
    LOOP
        PERFORM set_config('jit', c.jit::text, true),
                set_config('max_parallel_workers_per_gather', c.workers::text, true),
                set_config('work_mem',
                           CASE WHEN c.spills THEN current_setting('bench.spilling_work_mem') ELSE '1GB' END, true);
        RAISE NOTICE '% groups, JIT %, % workers', c.groups, CASE WHEN c.jit THEN 'on' ELSE 'off' END, c.workers;
        FOR a IN SELECT * FROM aggregates LOOP
            bytes := check_plan(format(c.query, a.call), c.groups, c.spills, c.jit, c.workers);
            IF c.query LIKE '%many%' AND NOT (c.spills OR c.jit OR c.workers > 0) THEN
                INSERT INTO measured (id, name, bytes_per_group)
                SELECT c.id, a.name, bytes / count(DISTINCT many) FROM rows;
            END IF;
        END LOOP;
        FOR run IN 1 .. current_setting('bench.runs')::int LOOP
            -- In turns, and each first as often as the other.
            FOR a IN SELECT * FROM aggregates ORDER BY CASE WHEN run % 2 = 0 THEN name END, name DESC LOOP
                INSERT INTO measured VALUES (c.id, c.jit, c.workers, a.name, run(format(c.query, a.call)), NULL, run);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

\echo
SELECT format('dp_mean(x, 0, 1, 1.0, ''hourglass'') over avg(x): %s rows, PostgreSQL %s, medians of %s runs that take turns.%s',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs,
              CASE WHEN pg_jit_available() THEN '' ELSE ' This PostgreSQL has no JIT.' END);
\echo
\echo '| groups | JIT | workers | avg ms | dp_mean ms | ratio | median of pairs | of the fastest runs | goal |'
\echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- |'
SELECT format('| %s | %s | %s | %s | %s | **%s** | %s | %s | %s |',
              groups, CASE WHEN jit THEN 'on' ELSE 'off' END, workers, round(avg), round(dp),
              round(dp / avg, 2), round(pairs, 2), round(best, 2),
              coalesce(trim(to_char(CASE WHEN current_setting('server_version_num')::int >= 180000 THEN goal_18
                                    WHEN current_setting('server_version_num')::int < 160000 THEN goal_15 END, '0.99')), ''))
FROM (SELECT m.id, groups, jit, workers, goal_15, goal_18,
             -- Two runs that follow each other share the machine's mood.
             (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY dp.ms / avg.ms)
              FROM measured dp JOIN measured avg USING (id, jit, workers, run)
              WHERE dp.name = 'dp_mean' AND avg.name = 'avg'
                AND (id, jit, workers) = (m.id, m.jit, m.workers))::numeric AS pairs,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE name = 'avg')::numeric AS avg,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE name = 'dp_mean')::numeric AS dp,
             (min(ms) FILTER (WHERE name = 'dp_mean') / min(ms) FILTER (WHERE name = 'avg'))::numeric AS best
      FROM measured m JOIN cases USING (id)
      WHERE ms IS NOT NULL
      GROUP BY m.id, groups, jit, workers, goal_15, goal_18) AS medians
ORDER BY id, jit, workers;
\echo
SELECT format('Memory of a hash table of %s groups, in bytes a group: avg %s, dp_mean %s.', groups,
              round(max(bytes_per_group) FILTER (WHERE name = 'avg')),
              round(max(bytes_per_group) FILTER (WHERE name = 'dp_mean')))
FROM measured JOIN cases USING (id) WHERE bytes_per_group IS NOT NULL GROUP BY groups;
\endif

-- For the other files: a query, id 0, and others against it, in turns; as a role, where one is named.
CREATE TABLE contenders (id int, name text, query text, goal float8, role name);
CREATE TABLE turns (id int, jit bool, workers int, ms float8, run int);

CREATE FUNCTION run_as(who name, query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    ms float8;
BEGIN
    IF who IS NULL THEN
        RETURN run(query);
    END IF;
    EXECUTE format('SET LOCAL ROLE %I', who);
    ms := run(query);
    RESET ROLE;
    RETURN ms;
END $$;

CREATE PROCEDURE take_turns(what text, jits bool[] DEFAULT '{f,t}', workers int[] DEFAULT '{0,2}', checked bool DEFAULT true)
LANGUAGE plpgsql AS $$
DECLARE
    c record;
    contender contenders;
    run int;
BEGIN
    FOR c IN
        SELECT * FROM unnest(jits) AS jit, unnest(workers) AS workers
        WHERE NOT jit OR pg_jit_available() ORDER BY jit, workers
    LOOP
        PERFORM set_config('jit', c.jit::text, true),
                set_config('max_parallel_workers_per_gather', c.workers::text, true);
        RAISE NOTICE '%, JIT %, % workers', what, CASE WHEN c.jit THEN 'on' ELSE 'off' END, c.workers;
        FOR contender IN SELECT * FROM contenders WHERE checked LOOP
            PERFORM check_plan(contender.query, '1', false, c.jit, c.workers);
        END LOOP;
        FOR run IN 1 .. current_setting('bench.runs')::int LOOP
            FOR contender IN SELECT * FROM contenders ORDER BY CASE WHEN run % 2 = 0 THEN id END, id DESC LOOP
                INSERT INTO turns
                VALUES (contender.id, c.jit, c.workers, run_as(contender.role, contender.query), run);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

CREATE FUNCTION ratios() RETURNS SETOF text LANGUAGE sql AS $$
    VALUES ('| query | JIT | workers | ms | ratio | median of pairs | of the fastest runs | goal |'),
           ('| --- | --- | --- | --- | --- | --- | --- | --- |')
    UNION ALL (
    SELECT format('| %s | %s | %s | %s | **%s** | %s | %s | %s |',
                  name, CASE WHEN jit THEN 'on' ELSE 'off' END, workers, round(median), round(median / base, 2),
                  round(pairs, 2), round(fastest / fastest_base, 2), coalesce(trim(to_char(goal, '0.99')), ''))
    FROM (SELECT one.id, jit, workers,
                 percentile_cont(0.5) WITHIN GROUP (ORDER BY one.ms)::numeric AS median,
                 percentile_cont(0.5) WITHIN GROUP (ORDER BY base.ms)::numeric AS base,
                 percentile_cont(0.5) WITHIN GROUP (ORDER BY one.ms / base.ms)::numeric AS pairs,
                 min(one.ms)::numeric AS fastest, min(base.ms)::numeric AS fastest_base
          FROM turns one JOIN turns base USING (jit, workers, run)
          WHERE base.id = 0
          GROUP BY one.id, jit, workers) AS ratios JOIN contenders USING (id)
    ORDER BY jit, workers, id)
$$;
