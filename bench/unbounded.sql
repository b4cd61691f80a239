-- The means that promise no bias, and those that find their bounds, against avg over the same rows. Run by scripts/bench in the session of bench.sql, whose
-- functions it uses; prints Markdown.
CREATE UNLOGGED TABLE bell AS
SELECT 50 + 10 * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS x, few, many FROM rows;
VACUUM (FREEZE, ANALYZE) bell;

TRUNCATE contenders, turns;
INSERT INTO contenders
SELECT id, name, format('SELECT count(a) FROM (SELECT %s AS a FROM bell) q', call), goal
FROM (VALUES
    (0, '`avg`',                               'avg(x)', NULL),
    (1, '`symmetric`',                         'dp_mean(x, NULL, NULL, 1.0, ''symmetric(delta=1e-6, scale=10)'')', 2.5),
    (2, '`symmetric`, 1,000 occupied cells',   'dp_mean(x, NULL, NULL, 1.0, ''symmetric(delta=1e-6, scale=0.01)'')', 2.5),
    (3, '`smooth`',                            'dp_mean(x, 0, 100, 1.0, ''smooth'')', NULL),
    (4, '`auto`',                              'dp_mean(x, NULL, NULL, 1.0, ''auto'')', 1.5),
    (5, '`auto`, with limits',                 'dp_mean(x, -1000, 1000, 1.0, ''auto'')', 1.5)
) AS calls(id, name, call, goal);
CALL take_turns('means without bias');

\echo
SELECT format('Means that promise no bias, and those that find their bounds, over avg(x): %s rows, PostgreSQL %s, medians of %s runs that take turns.%s',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs,
              CASE WHEN pg_jit_available() THEN '' ELSE ' This PostgreSQL has no JIT.' END);
\echo
SELECT * FROM ratios();
DROP TABLE bell;
