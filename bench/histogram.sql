-- dp_histogram against avg over the same rows. Run by scripts/bench in the session of bench.sql, whose functions it uses;
-- prints Markdown.
TRUNCATE contenders, turns;
INSERT INTO contenders
SELECT id, name, format('SELECT count(a) FROM (SELECT %s AS a FROM rows) q', call), goal
FROM (VALUES
    (0, '`avg`',                          'avg(x)', NULL),
    (1, '`dp_histogram`, 10 buckets',     'dp_histogram(x, 0, 1, 10, 1.0)', 1.5),
    (2, '`dp_histogram`, 100 buckets',    'dp_histogram(x, 0, 1, 100, 1.0)', 1.5),
    (3, '`dp_histogram`, 100,000 buckets', 'dp_histogram(x, 0, 1, 100000, 1.0)', NULL)
) AS calls(id, name, call, goal);
CALL take_turns('histograms');

\echo
SELECT format('Histograms, over avg(x): %s rows, PostgreSQL %s, medians of %s runs that take turns.%s',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs,
              CASE WHEN pg_jit_available() THEN '' ELSE ' This PostgreSQL has no JIT.' END);
\echo
SELECT * FROM ratios();
