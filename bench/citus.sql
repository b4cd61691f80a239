-- dp_mean that Citus pushes down, against avg, against aggregates that do nothing, and against rows that are fetched. Run by
-- scripts/bench-citus on a coordinator, with the psql variables rows and runs; prints Markdown.
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;

CREATE TABLE visits (id int, k1000 int, k50000 int, x float8);
SELECT create_distributed_table('visits', 'id', shard_count => 8) \g /dev/null
SELECT setseed(0.5) \g /dev/null
INSERT INTO visits
SELECT i, floor(random() * 1000)::int, floor(random() * 50000)::int, random() FROM generate_series(1, :rows) AS i;
VACUUM ANALYZE visits;

-- What Citus itself costs: aggregates with the arguments of dp_mean, whose state is a text that stays as it is. ghstore_decompress
-- of the module hstore hands back its first argument, and is looked up as functions of ours are. (An alias of a function that is
-- built in, as int8up, would be looked for by its name each time, in a list of three thousand.) Citus makes them on the workers
-- too. The first has a text of one letter, the other one as long as a sealed state of dp_mean.
CREATE FUNCTION empty_trans(text, float8, float8, float8, float8) RETURNS text
    AS '$libdir/hstore', 'ghstore_decompress' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION empty_combine(text, text) RETURNS text AS '$libdir/hstore', 'ghstore_decompress' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE empty(float8, float8, float8, float8) (
    SFUNC = empty_trans, STYPE = text, FINALFUNC = textlen, COMBINEFUNC = empty_combine, PARALLEL = SAFE, INITCOND = '.'
);
SELECT repeat('.', length(part)) AS long FROM (
    SELECT worker_partial_agg('dp_mean(float8, float8, float8, float8)'::regprocedure::oid, ROW(x, 0::float8, 1::float8, 1::float8))::text
    FROM (VALUES (0.5::float8)) AS v (x)
) AS parts (part) \gset
CREATE AGGREGATE empty_long(float8, float8, float8, float8) (
    SFUNC = empty_trans, STYPE = text, FINALFUNC = textlen, COMBINEFUNC = empty_combine, PARALLEL = SAFE, INITCOND = :'long'
);

SET citus.enable_ddl_propagation = off;
CREATE TABLE contenders (id int, name text, query text, goals float8[]);
INSERT INTO contenders VALUES
    (0, 'an empty aggregate of four arguments', 'SELECT {k} empty(x, 0, 1, 1.0) FROM visits {group}', NULL),
    (1, 'the same, as long a text as that of `dp_mean`', 'SELECT {k} empty_long(x, 0, 1, 1.0) FROM visits {group}', NULL),
    (2, '`dp_mean`', 'SELECT {k} dp_mean(x, 0, 1, 1.0) FROM visits {group}', '{1.3,NULL,1.5}'),
    (3, '`avg`', 'SELECT {k} avg(x) FROM visits {group}', NULL),
    (4, '`dp_mean`, rows fetched', 'SELECT {k} dp_mean(x, 0, 1, 1.0) FROM (SELECT * FROM visits OFFSET 0) v {group}', NULL);
CREATE TABLE cases (case_id int, groups text, k text);
INSERT INTO cases VALUES (1, '1', NULL), (2, '1,000', 'k1000'), (3, '50,000', 'k50000');
CREATE TABLE turns (case_id int, id int, ms float8, run int);
CREATE FUNCTION medians() RETURNS SETOF text LANGUAGE sql AS $$
SELECT format('| %s | %s | %s | %s | **%s** | %s | %s |', groups, name, round(median), round(fastest), round(median / base, 2),
              round(pairs, 2), coalesce(goals[case_id]::text, ''))
FROM (SELECT one.case_id, one.id,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY one.ms)::numeric AS median,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY base.ms)::numeric AS base,
             percentile_cont(0.5) WITHIN GROUP (ORDER BY one.ms / base.ms)::numeric AS pairs,
             min(one.ms)::numeric AS fastest
      FROM turns AS one JOIN turns AS base USING (case_id, run)
      WHERE base.id = 0
      GROUP BY one.case_id, one.id) AS medians
     JOIN contenders USING (id) JOIN cases USING (case_id)
ORDER BY case_id, id
$$;
SELECT set_config('bench.runs', :'runs', false) \g /dev/null

DO $$
DECLARE
    c record;
    run int;
    began timestamptz;
BEGIN
    -- The first turn, which finds nothing in memory, does not count.
    FOR run IN 0 .. current_setting('bench.runs')::int LOOP
        FOR c IN
            SELECT case_id, contenders.id,
                   replace(replace(query, '{k}', coalesce(k || ',', '')), '{group}', coalesce('GROUP BY ' || k, '')) AS query
            FROM cases, contenders
            ORDER BY case_id, CASE WHEN run % 2 = 0 THEN contenders.id END, contenders.id DESC
        LOOP
            began := clock_timestamp();
            EXECUTE c.query;
            IF run > 0 THEN
                INSERT INTO turns VALUES (c.case_id, c.id, 1000 * extract(epoch FROM clock_timestamp() - began), run);
            END IF;
        END LOOP;
    END LOOP;
END $$;

\echo
SELECT format('dp_mean(x, 0, 1, 1.0) pushed down by Citus %s: %s rows in 8 shards on two workers, PostgreSQL %s, medians of %s runs that '
              'take turns; the text of a part has %s letters.', substring(citus_version() from '[0-9.]+'),
              trim(to_char(:rows, '999,999,999')), split_part(current_setting('server_version'), ' ', 1), :runs, length(:'long'));
\echo
\echo '| groups | query | ms | fastest | over the empty aggregate | median of pairs | goal |'
\echo '| --- | --- | --- | --- | --- | --- | --- |'
SELECT * FROM medians();

-- Plain SQL of a role that may not read the shards, against the query of their owner: people of one row, which the workers
-- add up, and of ten rows, which the coordinator fetches.
SET citus.enable_ddl_propagation = on;
CREATE TABLE gated (id int PRIMARY KEY, k1000 int NOT NULL, x float8 NOT NULL);
CREATE TABLE gated_people (person int NOT NULL, x float8 NOT NULL);
SELECT create_distributed_table('gated', 'id', shard_count => 8),
       create_distributed_table('gated_people', 'person', shard_count => 8) \g /dev/null
INSERT INTO gated SELECT id, k1000, x FROM visits;
INSERT INTO gated_people SELECT id / 10, x FROM visits;
VACUUM ANALYZE gated, gated_people;
CREATE ROLE bench_analyst;
-- One by one: Citus passes a label on with all of the text that it came in.
SELECT dp_set_budget('bench', 4096, 1e-3) \g /dev/null
SELECT dp_protect('gated', 'id', 'bench', query_eps => 0.1, reuse => '0') \g /dev/null
SELECT dp_declare('gated', 'x', 0, 1) \g /dev/null
SELECT dp_allow('gated', 'bench_analyst') \g /dev/null
SELECT dp_protect('gated_people', 'person', 'bench', query_eps => 0.1, reuse => '0') \g /dev/null
SELECT dp_declare('gated_people', 'x', 0, 1) \g /dev/null
SELECT dp_allow('gated_people', 'bench_analyst') \g /dev/null
SET citus.enable_ddl_propagation = off;
TRUNCATE contenders, cases, turns;
ALTER TABLE contenders ADD role name;
INSERT INTO cases VALUES (1, 'one row a person'), (2, 'ten rows a person');
INSERT INTO contenders VALUES
    (0, '`dp_mean` of the owner', NULL, NULL, NULL),
    (1, '`avg` of an analyst', NULL, '{1.3,1.3}', 'bench_analyst');
DO $$
DECLARE
    queries CONSTANT text[] := ARRAY[
        ['SELECT dp_mean(x, 0, 1, 0.1) FROM gated', 'SELECT avg(x) FROM gated'],
        ['SELECT dp_mean(c, 0, 1, 0.1) FROM (SELECT dp_contribution(x, 0, 1) AS c
          FROM (SELECT * FROM gated_people OFFSET 0) AS rows GROUP BY person) p',
         'SELECT avg(x) FROM gated_people']];
    c record;
    run int;
    began timestamptz;
BEGIN
    FOR run IN 0 .. current_setting('bench.runs')::int LOOP
        FOR c IN
            SELECT case_id, id, role FROM cases, contenders
            ORDER BY case_id, CASE WHEN run % 2 = 0 THEN id END, id DESC
        LOOP
            PERFORM set_config('role', coalesce(c.role, 'none'), true);
            began := clock_timestamp();
            EXECUTE queries[c.case_id][c.id + 1];
            PERFORM set_config('role', 'none', true);
            IF run > 0 THEN
                INSERT INTO turns VALUES (c.case_id, c.id, 1000 * extract(epoch FROM clock_timestamp() - began), run);
            END IF;
        END LOOP;
    END LOOP;
END $$;
\echo
\echo 'Plain SQL of a role that may not read the shards, the charge included.'
\echo
\echo '| rows | query | ms | fastest | over the query of the owner | median of pairs | goal |'
\echo '| --- | --- | --- | --- | --- | --- | --- |'
SELECT * FROM medians();

-- The coordinator alone: it adds up parts that lie in a table of its own, sealed query by query, as each shard has one.
CREATE UNLOGGED TABLE parts (of text, shards int, part_of int, k int, part text);
DO $$
DECLARE
    shape record;
    shard int;
BEGIN
    FOR shape IN SELECT * FROM (VALUES (1000, 1000), (20, 50000)) AS v (shards, groups) LOOP
        FOR shard IN 1 .. shape.shards LOOP
            INSERT INTO parts
            SELECT 'dp_mean', shape.shards, shard, k,
                   worker_partial_agg('dp_mean(float8, float8, float8, float8)'::regprocedure::oid,
                                      ROW(0.5::float8, 0::float8, 1::float8, 1::float8))::text
            FROM generate_series(1, shape.groups) AS k GROUP BY k;
        END LOOP;
        INSERT INTO parts SELECT 'empty', shards, part_of, k, '.' FROM parts WHERE of = 'dp_mean' AND shards = shape.shards;
    END LOOP;
END $$;
VACUUM ANALYZE parts;
SET work_mem = '2GB';
SET enable_sort = off;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE alone (of text, shards int, groups bigint, ms float8, bytes float8, run int);
DO $$
DECLARE
    c record;
    run int;
    plan jsonb;
BEGIN
    FOR run IN 1 .. current_setting('bench.runs')::int LOOP
        FOR c IN
            SELECT of, shards, count(DISTINCT k) AS groups FROM parts GROUP BY of, shards
            ORDER BY shards, CASE WHEN run % 2 = 0 THEN of END, of DESC
        LOOP
            EXECUTE format('EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT k, '
                           'coord_combine_agg(''%s(float8, float8, float8, float8)''::regprocedure::oid, '
                           'part::cstring, NULL::%s) FROM parts WHERE of = %L AND shards = %s GROUP BY k',
                           c.of, CASE c.of WHEN 'empty' THEN 'int' ELSE 'float8' END, c.of, c.shards) INTO plan;
            INSERT INTO alone VALUES (c.of, c.shards, c.groups, (plan #>> '{0,Execution Time}')::float8,
                1024 * (SELECT max(v::float8) FROM jsonb_path_query(plan, 'strict $.**."Peak Memory Usage"') AS v) / c.groups, run);
        END LOOP;
    END LOOP;
END $$;
\echo
\echo 'The coordinator alone: parts from a table of its own, medians of as many runs.'
\echo
\echo '| shards | groups | aggregate | us a part | bytes a group in the hash table | letters a part |'
\echo '| --- | --- | --- | --- | --- | --- |'
SELECT format('| %s | %s | `%s` | **%s** | %s | %s |', trim(to_char(shards, '999,999')), trim(to_char(groups, '999,999')), of,
              round((1000 * percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) / (shards * groups))::numeric, 2), round(max(bytes)),
              (SELECT max(length(part)) FROM parts WHERE parts.of = alone.of))
FROM alone GROUP BY shards, groups, of ORDER BY shards DESC, of DESC;
