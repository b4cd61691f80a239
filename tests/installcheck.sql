-- A quick check of an installed dp_mean, by scripts/installcheck: in a database of its own, as a superuser. The psql variables are
-- version, what should be installed, and role, a name that is free. It prints a line for each thing that it has seen.
\set QUIET on
\set ON_ERROR_STOP on
\set VERBOSITY terse
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;
SELECT set_config('check.version', :'version', false), set_config('check.role', :'role', false) \g /dev/null

CREATE EXTENSION dp_mean;
-- Until here the library may have come with the server, or with CREATE EXTENSION.
LOAD 'dp_mean';

DO $$ BEGIN
    IF dp_version() IS DISTINCT FROM current_setting('check.version') THEN
        RAISE EXCEPTION 'dp_version() is %, and % is expected', dp_version(), current_setting('check.version');
    END IF;
END $$;
SELECT 'version ' || dp_version();

CREATE TABLE visits (person int PRIMARY KEY, kind text NOT NULL, days float8 NOT NULL);
INSERT INTO visits SELECT i, (ARRAY['in', 'out'])[1 + i % 2], i % 10 FROM generate_series(1, 10000) i;

-- Noise with a deviation of at most 0.02: farther off than 1 is once in e^50 runs.
DO $$
DECLARE
    answer float8 := (SELECT dp_mean(days, 0, 9, 1.0) FROM visits);
BEGIN
    IF answer IS NULL OR abs(answer - 4.5) > 1 THEN
        RAISE EXCEPTION 'dp_mean answers %, of a mean of 4.5', answer;
    END IF;
    IF (SELECT count(DISTINCT m) FROM (SELECT dp_mean(days, 0, 9, 1.0) AS m FROM visits, generate_series(1, 5) AS run GROUP BY run) s) < 2
    THEN
        RAISE EXCEPTION 'the noise repeats';
    END IF;
END $$;
SELECT 'aggregates answer, with noise';

SELECT dp_set_budget('checked', 1, 1e-6), dp_protect('visits', 'person', 'checked'), dp_declare('visits', 'days', 0, 9),
       dp_declare('visits', 'kind', '{in,out}') \g /dev/null
CREATE ROLE :role;
SELECT dp_allow('visits', :'role') \g /dev/null

DO $$
DECLARE
    answer record;
    groups int := 0;
    state text;
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', current_setting('check.role'));
    FOR answer IN EXECUTE 'SELECT kind, avg(days) AS days, count(*) AS n FROM visits GROUP BY kind' LOOP
        groups := groups + 1;
        IF abs(answer.n - 5000) > 2000 OR abs(answer.days - 4.5) > 3 THEN
            RAISE EXCEPTION 'plain SQL answers % and %', answer.days, answer.n;
        END IF;
    END LOOP;
    IF groups <> 2 THEN
        RAISE EXCEPTION 'plain SQL answers % groups of 2', groups;
    END IF;
    BEGIN
        EXECUTE 'SELECT * FROM visits WHERE person = 7';
    EXCEPTION WHEN insufficient_privilege THEN
        state := SQLSTATE;
    END;
    IF state IS NULL THEN
        RAISE EXCEPTION 'a row of a protected table was read';
    END IF;
END $$;
SELECT 'a protected table answers plain SQL, and no more';

DO $$ BEGIN
    IF (SELECT count(*) FROM dp_ledger WHERE budget = 'checked' AND NOT refused) = 0
       OR (SELECT NOT coalesce(spent_share > 0, false) FROM dp_budgets WHERE budget = 'checked' AND role IS NULL) THEN
        RAISE EXCEPTION 'nothing was charged';
    END IF;
    BEGIN
        PERFORM dp_charge('checked', 2, 0);
        RAISE EXCEPTION 'a charge beyond the limit was not refused';
    EXCEPTION WHEN configuration_limit_exceeded THEN
        NULL;
    END;
END $$;
SELECT 'the budget is charged, and has an end';
