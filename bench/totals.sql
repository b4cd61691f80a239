-- The errors of count(*) and sum through the gate, of 60,000 people with 1 to 21 rows: with limits that an owner guesses,
-- and with auto_rows. By a superuser, in an empty database: psql -X -f bench/totals.sql; a minute. Prints Markdown.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned
\pset fieldsep ' | '
SET client_min_messages = warning;
LOAD 'dp_mean';
CREATE EXTENSION IF NOT EXISTS dp_mean;
CREATE ROLE totals_asker;
CREATE TABLE trips (passenger int NOT NULL, fare float8 NOT NULL);
INSERT INTO trips SELECT p, 5 + (p * 7919 + g * 31) % 40
FROM generate_series(1, 60000) p, generate_series(1, (1 + 20 * power(p * 7919 % 1000 / 1000.0, 3))::int) g;
ANALYZE trips;
-- Pure noise: a price of 0.1 is an epsilon of 0.1.
SELECT dp_set_budget('passengers', 4096, 0), dp_declare('trips', 'fare', 0, 50) \g /dev/null
CREATE TEMP TABLE told (policy text, rows float8, fares float8);
GRANT INSERT ON told TO totals_asker;

CREATE PROCEDURE pg_temp.ask(policy text, runs int) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT dp_protect(''trips'', ''passenger'', ''passengers'', %s)', policy);
    PERFORM dp_allow('trips', 'totals_asker');
    SET LOCAL ROLE totals_asker;
    FOR i IN 1..runs LOOP
        INSERT INTO told SELECT policy, t.n, t.fares FROM (SELECT count(*) AS n, sum(fare) AS fares FROM trips) t;
    END LOOP;
    RESET ROLE;
END $$;
SET dp_mean.reuse = off;
CALL pg_temp.ask('rows => 1', 100);
CALL pg_temp.ask('rows => 4', 100);
CALL pg_temp.ask('rows => 21', 100);
CALL pg_temp.ask('auto_rows => true', 100);

\qecho '| policy | error of count(*) | the largest | error of sum | the largest |'
\qecho '| --- | --- | --- | --- | --- |'
SELECT format('| `%s` | %s%% | %s%% | %s%% | %s%% |', policy,
    round(100 * sqrt(avg(n ^ 2))::numeric, 2), round(100 * max(abs(n))::numeric, 2),
    round(100 * sqrt(avg(f ^ 2))::numeric, 2), round(100 * max(abs(f))::numeric, 2))
FROM (SELECT policy, rows / (SELECT count(*) FROM trips) - 1 AS n, fares / (SELECT sum(fare) FROM trips) - 1 AS f
      FROM told) errors
GROUP BY policy ORDER BY min(policy COLLATE "C") DESC;
DROP OWNED BY totals_asker;
DROP ROLE totals_asker;
