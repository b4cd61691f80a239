-- A dashboard that slides over 24 months: how many of its charts a budget of epsilon 3 answers, with one limit for all
-- time and with one for each month; and what a charge of 24 months costs beside one of a month. Run by
-- scripts/bench-period, which sets role and charges; prints Markdown.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned
\pset fieldsep ' | '
SET client_min_messages = warning;
CREATE ROLE :role;
-- The last 24 months that are over.
CREATE TABLE months AS
SELECT i AS number, (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => 25 - i))::date AS first_day
FROM generate_series(1, 24) i;
GRANT SELECT ON months TO :role;

CREATE TABLE by_month (patient int NOT NULL, day date NOT NULL, cost float8 NOT NULL, site text NOT NULL);
INSERT INTO by_month SELECT p, first_day + p % 28, 20 + p % 60, 's' || p % 4 FROM generate_series(1, 2000) p, months;
CREATE TABLE for_ever (LIKE by_month);
INSERT INTO for_ever SELECT * FROM by_month;
CREATE TABLE small (LIKE by_month);
INSERT INTO small SELECT * FROM by_month WHERE patient <= 2;
ANALYZE;

-- Sets up a table, with a budget of its own.
CREATE FUNCTION prepare(relation text, eps float8, price float8, is_by_month boolean, asker regrole) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dp_set_budget(relation, eps, 1e-6);
    IF is_by_month THEN
        PERFORM dp_protect(relation::regclass, 'patient', relation, query_eps => price, reuse => '0', period => 'day',
            every => '1 month', since => (SELECT min(first_day) FROM months));
    ELSE
        PERFORM dp_protect(relation::regclass, 'patient', relation, query_eps => price, reuse => '0');
    END IF;
    PERFORM dp_declare(relation::regclass, 'cost', 0, 100);
    PERFORM dp_declare(relation::regclass, 'site', ARRAY['s0', 's1', 's2', 's3']);
    PERFORM dp_allow(relation::regclass, asker);
END $$;
SELECT prepare('by_month', 3, 0.25, true, :'role') \g /dev/null
SELECT prepare('for_ever', 3, 0.25, false, :'role') \g /dev/null
SELECT prepare('small', 4096, 0.0001, true, :'role') \g /dev/null

-- The dashboard of one month: 12 charts, each 0.25.
CREATE TABLE charts (chart text);
INSERT INTO charts
SELECT format('SELECT %s FROM %%I WHERE day >= %%L AND day < %%L %s', what, grouped)
FROM (VALUES ('count(*)', ''), ('avg(cost)', ''), ('count(*)', 'AND cost > 50'), ('site, count(*)', 'GROUP BY site'),
             ('site, avg(cost)', 'GROUP BY site'), ('count(*)', 'AND site = ''s0''')) c(what, grouped),
     generate_series(1, 2);
GRANT SELECT ON charts TO :role;

-- How many charts are answered in each month, until one is refused.
CREATE FUNCTION slide(relation text) RETURNS TABLE (months bigint, answered bigint, last_month date) LANGUAGE plpgsql AS $$
DECLARE
    of_month record;
    chart text;
BEGIN
    months := 0;
    answered := 0;
    FOR of_month IN SELECT m.first_day FROM months m ORDER BY m.first_day LOOP
        FOR chart IN SELECT c.chart FROM charts c LOOP
            EXECUTE format(chart, relation, of_month.first_day, (of_month.first_day + interval '1 month')::date);
            answered := answered + 1;
            last_month := of_month.first_day;
        END LOOP;
        months := months + 1;
    END LOOP;
    RETURN NEXT;
EXCEPTION WHEN configuration_limit_exceeded THEN
    RETURN NEXT;
END $$;

-- Milliseconds of a question about that many months, the median of several.
CREATE FUNCTION charge_ms(of_months int, runs int) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
    times float8[] := '{}';
    question text := format('SELECT count(*) FROM small WHERE day >= %L AND day < %L',
        (SELECT min(m.first_day) FROM months m),
        ((SELECT min(m.first_day) FROM months m) + make_interval(months => of_months))::date);
BEGIN
    FOR i IN 1..runs LOOP
        began := clock_timestamp();
        EXECUTE question;
        times := times || 1000 * extract(epoch FROM clock_timestamp() - began)::float8;
    END LOOP;
    RETURN (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(times) t);
END $$;

SET ROLE :role;
\echo '| 12 charts a month, for 24 months, at epsilon 3 | whole months | charts answered |'
\echo '| --- | --- | --- |'
SELECT '| one limit for all time', months, answered || ' |' FROM slide('for_ever');
SELECT '| one limit for each month', months, answered || ' |' FROM slide('by_month');
\echo
-- The lines are made by the first charge of each.
SELECT charge_ms(24, 3), charge_ms(1, 3) \g /dev/null
CREATE TEMPORARY TABLE measured AS
SELECT of_months, charge_ms(of_months, :charges / 10) AS ms FROM generate_series(1, 10), (VALUES (1), (24)) q(of_months);
\echo '| a question charged to | median, ms | ratio |'
\echo '| --- | --- | --- |'
SELECT '| ' || of_months || CASE of_months WHEN 1 THEN ' month' ELSE ' months' END,
    round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 3),
    round((percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)
        / (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FROM measured WHERE of_months = 1))::numeric, 2) || ' |'
FROM measured GROUP BY of_months ORDER BY of_months;

-- The same beside lines of other months: as many charges as before, of one month.
RESET ROLE;
CREATE TABLE lines_ms (lines bigint, ms float8);
GRANT SELECT, INSERT ON lines_ms TO :role;
CREATE FUNCTION fill(lines int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO dp_mean.period_spent
    SELECT p.budget, 0, 0, 0, 0, p.role, (p.since + make_interval(months => i))::date
    FROM (SELECT DISTINCT s.budget, s.role, d.since FROM dp_mean.period_spent s
          JOIN dp_mean.budget_period d ON d.budget = s.budget JOIN dp_mean.budget b ON b.id = s.budget
          WHERE b.name = 'small') p,
        generate_series(1, 9000) i
    WHERE (p.since + make_interval(months => i))::date NOT IN (SELECT first_day FROM dp_mean.period_spent)
    ORDER BY i LIMIT lines - (SELECT count(*) FROM dp_mean.period_spent)
$$;
CREATE FUNCTION beside(lines bigint) RETURNS void LANGUAGE sql AS $$
    SELECT charge_ms(1, 3);
    INSERT INTO lines_ms SELECT lines, charge_ms(1, 40) FROM generate_series(1, 5)
$$;
SELECT count(*) AS lines FROM dp_mean.period_spent \gset
SET ROLE :role;
SELECT beside(:lines) \g /dev/null
RESET ROLE;
SELECT fill(1000) \g /dev/null
SELECT count(*) AS lines FROM dp_mean.period_spent \gset
SET ROLE :role;
SELECT beside(:lines) \g /dev/null
RESET ROLE;
SELECT fill(10000) \g /dev/null
SELECT count(*) AS lines FROM dp_mean.period_spent \gset
SET ROLE :role;
SELECT beside(:lines) \g /dev/null
\echo
\echo '| lines of periods | a question charged to one month, median, ms |'
\echo '| --- | --- |'
SELECT '| ' || lines, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY ms)::numeric, 3) || ' |'
FROM lines_ms GROUP BY lines ORDER BY lines;
SELECT 1 / (count(*) FILTER (WHERE ratio <= 3))::int AS within_goal FROM (
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE of_months = 24)
        / percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE of_months = 1) AS ratio FROM measured) r \g /dev/null
