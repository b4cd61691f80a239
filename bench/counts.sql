-- Many counts at once: dp_counts against as many count(*) FILTER, over the same rows in the same session. Run by
-- scripts/bench after bench.sql, whose functions it uses, with the psql variables rows and runs; prints Markdown.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned
\pset fieldsep ' | '

-- 64 questions about a row, from the 64 bits of a hash: as columns, as an array, and as an array with NULLs.
CREATE FUNCTION columns(form text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format(form, i), ', ' ORDER BY i) FROM generate_series(0, 63) i
$$;
DO $$
BEGIN
    EXECUTE format('CREATE UNLOGGED TABLE wide AS SELECT %s FROM (SELECT hashint8extended(i, 0) AS h
                    FROM generate_series(1, %s) i OFFSET 0) q',
                   columns('(h >> %1$s) & 1 = 1 AS q%1$s'), (SELECT count(*) FROM rows));
    EXECUTE format('CREATE UNLOGGED TABLE arrays AS SELECT ARRAY[%s] AS flags FROM wide', columns('q%s'));
    EXECUTE format('CREATE UNLOGGED TABLE arrays_with_nulls AS SELECT ARRAY[%s] AS flags FROM wide',
                   columns('CASE WHEN q%s THEN true END'));
END $$;
DROP TABLE rows;
VACUUM (FREEZE, ANALYZE) wide, arrays, arrays_with_nulls;

CREATE TABLE questions (id int, name text, query text, goal float8);
INSERT INTO questions VALUES
    (0, '64 `count(*) FILTER`', format('SELECT count(a) FROM (SELECT ARRAY[%s] AS a FROM wide) q', columns('count(*) FILTER (WHERE q%s)')), NULL),
    (1, '`dp_counts`, 64 `boolean` columns', format('SELECT count(a) FROM (SELECT dp_counts(1.0, ''correlated(delta=1e-6)'', %s) AS a FROM wide) q', columns('q%s')), 0.5),
    (2, '`dp_counts`, a `boolean[64]` column', 'SELECT count(a) FROM (SELECT dp_counts(1.0, ''correlated(delta=1e-6, d=64)'', VARIADIC flags) AS a FROM arrays) q', 0.3),
    (3, '`dp_counts`, a `boolean[64]` column, half of it NULL', 'SELECT count(a) FROM (SELECT dp_counts(1.0, ''correlated(delta=1e-6, d=64)'', VARIADIC flags) AS a FROM arrays_with_nulls) q', 0.4);

CREATE TABLE counted (id int, jit bool, workers int, ms float8, run int);

SELECT set_config('bench.runs', :'runs', false),
       set_config('jit_above_cost', (100000 * least(:rows / 1e7, 1))::text, false),
       set_config('jit_inline_above_cost', (500000 * least(:rows / 1e7, 1))::text, false),
       set_config('jit_optimize_above_cost', (500000 * least(:rows / 1e7, 1))::text, false) \g /dev/null
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;

DO $$
DECLARE
    c record;
    q questions;
    run int;
BEGIN
    FOR c IN
        SELECT * FROM unnest(ARRAY[false, true]) AS jit, unnest(ARRAY[0, 2]) AS workers
        WHERE NOT jit OR pg_jit_available() ORDER BY jit, workers
    LOOP
        PERFORM set_config('jit', c.jit::text, true),
                set_config('max_parallel_workers_per_gather', c.workers::text, true);
        RAISE NOTICE '64 questions, JIT %, % workers', CASE WHEN c.jit THEN 'on' ELSE 'off' END, c.workers;
        FOR q IN SELECT * FROM questions LOOP
            PERFORM check_plan(q.query, '1', false, c.jit, c.workers);
        END LOOP;
        FOR run IN 1 .. current_setting('bench.runs')::int LOOP
            FOR q IN SELECT * FROM questions ORDER BY CASE WHEN run % 2 = 0 THEN id END, id DESC LOOP
                INSERT INTO counted VALUES (q.id, c.jit, c.workers, run(q.query), run);
            END LOOP;
        END LOOP;
    END LOOP;
END $$;

\echo
SELECT format('64 counts of %s rows, PostgreSQL %s, medians of %s runs that take turns.%s',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs,
              CASE WHEN pg_jit_available() THEN '' ELSE ' This PostgreSQL has no JIT.' END);
\echo
\echo '| query | JIT | workers | ms | ratio | median of pairs | of the fastest runs | goal |'
\echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
SELECT format('| %s | %s | %s | %s | **%s** | %s | %s | %s |',
              name, CASE WHEN jit THEN 'on' ELSE 'off' END, workers, round(median), round(median / base, 2),
              round(pairs, 2), round(fastest / fastest_base, 2), coalesce(trim(to_char(goal, '0.9')), ''))
FROM (SELECT one.id, jit, workers,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY one.ms)::numeric AS median,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY base.ms)::numeric AS base,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY one.ms / base.ms)::numeric AS pairs,
             min(one.ms)::numeric AS fastest, min(base.ms)::numeric AS fastest_base
      FROM counted one JOIN counted base USING (jit, workers, run)
      WHERE base.id = 0
      GROUP BY one.id, jit, workers) AS ratios JOIN questions USING (id)
ORDER BY jit, workers, id;

-- What long answers cost: the final function, for there is but one row.
\echo
\echo '| mechanism | d | ms |'
\echo '| --- | --- | --- |'
SELECT format('| `%s` | %s | %s |', name, trim(to_char(d, '999,999')),
              round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 1))
FROM (VALUES (1, 'correlated(delta=1e-6, d=%s)'), (2, 'gaussian(delta=1e-6, d=%s)'),
             (3, 'ellipse(delta=1e-6, k=3, d=%s)'), (4, 'laplace(d=%s)')) AS mechanisms(id, name),
     (VALUES (10000), (100000)) AS lengths(d), generate_series(1, greatest(:runs, 3)) AS again,
LATERAL (SELECT run(format('SELECT cardinality(dp_counts(1.0, %L, VARIADIC NULL::boolean[])) FROM generate_series(%s, %s)',
                           format(name, d), again, again)) AS ms) AS timed
GROUP BY id, name, d ORDER BY d, id;
