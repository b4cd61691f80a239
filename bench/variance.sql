-- Variances against var_pop over the same rows. Run by scripts/bench in the session of bench.sql, whose functions it uses;
-- prints Markdown.
TRUNCATE contenders, turns;
INSERT INTO contenders
SELECT id, name, format('SELECT count(a) FROM (SELECT %s AS a FROM rows) q', call), goal
FROM (VALUES
    (0, '`var_pop`',              'var_pop(x)', NULL),
    (1, '`dp_var_pop`',          'dp_var_pop(x, 0, 1, 1.0, ''laplace'')', 1.15),
    (2, '`dp_var_pop_estimate`', 'dp_var_pop_estimate(x, 0, 1, 1.0, ''laplace'')', NULL),
    (3, '`dp_var_pop`, `auto`',  'dp_var_pop(x, NULL, NULL, 1.0, ''auto'')', 1.5)
) AS calls(id, name, call, goal);
CALL take_turns('variances');

\echo
SELECT format('Variances, over var_pop(x): %s rows, PostgreSQL %s, medians of %s runs that take turns.%s',
              trim(to_char(:rows, '999,999,999')), current_setting('server_version'), :runs,
              CASE WHEN pg_jit_available() THEN '' ELSE ' This PostgreSQL has no JIT.' END);
\echo
SELECT * FROM ratios();
