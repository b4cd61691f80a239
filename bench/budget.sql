-- How far a budget goes: an analyst with a dashboard of eight charts, again and again until a chart is refused. Once with
-- pure noise and each aggregate paid for itself, as the gate did it before budgets added up in Gaussian terms; once as it
-- is. Both at the same error: the variance of a count, or of a count of each month where people are in twelve. Run by
-- scripts/bench-budget, which sets role; prints Markdown.
SET client_min_messages = warning;
CREATE ROLE :role;
CREATE TABLE people (id int PRIMARY KEY, region text NOT NULL, city int NOT NULL, pay float8 NOT NULL, age int NOT NULL, flags int NOT NULL);
INSERT INTO people SELECT i, 'r' || i % 5, i % 20, i % 1000, i % 90, i % 256 FROM generate_series(1, 20000) i;
CREATE TABLE visits (person int NOT NULL, month int NOT NULL);
INSERT INTO visits SELECT i, m FROM generate_series(1, 3000) i, generate_series(1, 12) m;
CREATE TABLE charts (dashboard text, chart int, statements text[]);

-- A chart as it is sent, and what was paid for before: each aggregate in a statement of its own.
CREATE FUNCTION flags(first int, last int) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(format('count(*) FILTER (WHERE flags & %s > 0)', 1 << i), ', ') FROM generate_series(first, last) i
$$;
INSERT INTO charts VALUES
    ('as sent', 1, ARRAY['SELECT count(*) FROM people']),
    ('as sent', 2, ARRAY['SELECT region, count(*), avg(pay) FROM people GROUP BY region']),
    ('as sent', 3, ARRAY['SELECT count(*) FILTER (WHERE age < 18), count(*) FILTER (WHERE age >= 18 AND age < 65), '
                         'count(*) FILTER (WHERE age >= 65) FROM people']),
    ('as sent', 4, ARRAY[format('SELECT %s FROM people', flags(0, 7))]),
    ('as sent', 5, ARRAY['SELECT city, count(*) FROM people GROUP BY city']),
    ('as sent', 6, ARRAY['SELECT avg(pay), count(*), sum(pay) FROM people']),
    ('as sent', 7, ARRAY[format('SELECT region, %s FROM people GROUP BY region', flags(0, 3))]),
    ('as sent', 8, ARRAY['SELECT stddev(pay) FROM people']);
INSERT INTO charts
SELECT 'each alone', chart, CASE chart
    WHEN 3 THEN ARRAY['SELECT count(*) FROM people WHERE age < 18', 'SELECT count(*) FROM people WHERE age >= 65',
                      'SELECT count(*) FROM people WHERE age >= 18 AND age < 65']
    WHEN 4 THEN ARRAY(SELECT format('SELECT %s FROM people', flags(i, i)) FROM generate_series(0, 7) i)
    WHEN 7 THEN ARRAY(SELECT format('SELECT region, %s FROM people GROUP BY region', flags(i, i)) FROM generate_series(0, 3) i)
    ELSE statements END
FROM charts WHERE dashboard = 'as sent';
INSERT INTO charts SELECT 'counts ' || dashboard, row_number() OVER (PARTITION BY dashboard ORDER BY chart), statements
FROM charts WHERE chart IN (3, 4, 7);
-- Groups that a table says are not one release.
CREATE TABLE months AS SELECT m AS month FROM generate_series(1, 12) m;
ANALYZE months;
GRANT SELECT ON months TO :role;
INSERT INTO charts VALUES ('months', 1, ARRAY['SELECT month, count(*) FROM visits GROUP BY month']),
    ('months each alone', 1, ARRAY['SELECT m.month, count(*) FROM visits JOIN months m USING (month) GROUP BY m.month']);
GRANT SELECT ON charts TO :role;

-- How many charts of a dashboard are answered, in turns, until one is refused for want of budget.
CREATE FUNCTION answered(which text, price float8) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    done bigint := 0;
    statement text;
    all_charts int := (SELECT count(*) FROM charts WHERE dashboard = which);
BEGIN
    PERFORM set_config('dp_mean.epsilon', price::text, true);
    LOOP
        FOREACH statement IN ARRAY (SELECT statements FROM charts WHERE dashboard = which AND chart = 1 + done % all_charts) LOOP
            EXECUTE statement;
        END LOOP;
        done := done + 1;
    END LOOP;
EXCEPTION WHEN configuration_limit_exceeded THEN
    RETURN done;
END $$;

-- Makes a budget, and protects the tables with it.
CREATE FUNCTION prepare(budget text, eps float8, delta float8, accounting text, asker regrole) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_set_budget(budget, eps, delta, accounting => accounting);
    PERFORM dp_protect('people', 'id', budget, query_eps => 50, reuse => '0'),
        dp_protect('visits', 'person', budget, groups => 12, query_eps => 50, reuse => '0');
    PERFORM dp_declare('people', 'region', ARRAY['r0', 'r1', 'r2', 'r3', 'r4']), dp_declare('people', 'pay', 0, 1000),
        dp_declare('visits', 'month', ARRAY(SELECT generate_series(1, 12)::text)),
        dp_allow('people', asker), dp_allow('visits', asker);
END $$;
CREATE TABLE results (dashboard text, eps float8, delta float8, variance float8, before bigint, now bigint);
GRANT SELECT, INSERT, UPDATE ON results TO :role;
INSERT INTO results
SELECT d, eps, delta, 2 * (groups / price) ^ 2, 0, 0
FROM (VALUES (1, 1e-6), (3, 1e-6), (10, 1e-6)) b(eps, delta), (VALUES ('as sent', 1), ('months', 12)) k(d, groups),
    LATERAL (SELECT eps / 50.0 AS price) p
UNION ALL VALUES ('counts as sent', 1, 0, 2 * (1 / 0.01) ^ 2, 0, 0), ('months', 1, 0, 2 * (12 / 0.01) ^ 2, 0, 0);
