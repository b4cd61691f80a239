-- Many counts at once: dp_counts against as many count(*) FILTER, over the same rows in the same session. Run by
-- scripts/bench in the session of bench.sql, whose functions it uses; prints Markdown.

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

TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '64 `count(*) FILTER`', format('SELECT count(a) FROM (SELECT ARRAY[%s] AS a FROM wide) q', columns('count(*) FILTER (WHERE q%s)')), NULL),
    (1, '`dp_counts`, 64 `boolean` columns', format('SELECT count(a) FROM (SELECT dp_counts(1.0, ''correlated(delta=1e-6)'', %s) AS a FROM wide) q', columns('q%s')), 0.5),
    (2, '`dp_counts`, a `boolean[64]` column', 'SELECT count(a) FROM (SELECT dp_counts(1.0, ''correlated(delta=1e-6, d=64)'', VARIADIC flags) AS a FROM arrays) q', 0.3),
    (3, '`dp_counts`, a `boolean[64]` column, half of it NULL', 'SELECT count(a) FROM (SELECT dp_counts(1.0, ''correlated(delta=1e-6, d=64)'', VARIADIC flags) AS a FROM arrays_with_nulls) q', 0.4);

CALL take_turns('64 questions');

\echo
SELECT format('64 counts of %s rows, PostgreSQL %s, medians of %s runs that take turns.%s',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs,
              CASE WHEN pg_jit_available() THEN '' ELSE ' This PostgreSQL has no JIT.' END);
\echo
SELECT * FROM ratios();

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
