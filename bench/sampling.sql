-- The errors of means over people with many rows: what people contribute, against k rows of each that are chosen by
-- chance. Run by hand in an empty database, psql -X -f bench/sampling.sql; a few minutes. Prints Markdown.
\set QUIET on
\set ON_ERROR_STOP on
\pset pager off
\pset tuples_only on
\pset format unaligned

CREATE EXTENSION IF NOT EXISTS dp_mean;
SELECT setseed(0.5) \g /dev/null

CREATE TEMP TABLE errors (correlation float8, k int, way text, of_rows float8, of_people float8);

CREATE FUNCTION pg_temp.normal() RETURNS float8 LANGUAGE sql VOLATILE AS
    'SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())';

-- 10,000 people, whose numbers of rows are drawn from Zipf's law with exponent 1.8, up to 500. Values have mean 0.3 and
-- standard deviation 0.15, a part of which is the person's own.
CREATE FUNCTION pg_temp.measure(correlation float8, runs int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    mean_of_rows float8;
    mean_of_people float8;
    k int;
    answer float8;
BEGIN
    DROP TABLE IF EXISTS people;
    CREATE TEMP TABLE people AS
    WITH law AS (
        SELECT n, sum(n ^ -1.8::float8) OVER (ORDER BY n) / sum(n ^ -1.8::float8) OVER () AS up_to
        FROM generate_series(1, 500) AS n
    ), persons AS MATERIALIZED (
        SELECT i AS person, random() AS u, pg_temp.normal() AS own FROM generate_series(1, 10000) AS i
    ), counts AS MATERIALIZED (
        SELECT person, own, (SELECT min(n) FROM law WHERE up_to >= u) AS n FROM persons
    )
    SELECT person, least(greatest(0.3 + 0.15 * (sqrt(correlation) * own + sqrt(1 - correlation) * pg_temp.normal()), 0), 1) AS x
    FROM counts, generate_series(1, n) AS row;
    ANALYZE people;
    SELECT avg(x) INTO mean_of_rows FROM people;
    SELECT avg(x) INTO mean_of_people FROM (SELECT avg(x) AS x FROM people GROUP BY person) AS means;
    FOREACH k IN ARRAY ARRAY[1, 2, 5, 10, 50] LOOP
        FOR run IN 1 .. runs LOOP
            EXECUTE format('SELECT dp_mean(x, 0, 1, 1.0, ''hourglass(rows=%1$s)'') FROM (SELECT x, row_number() OVER '
                '(PARTITION BY person ORDER BY random()) AS nth FROM people) AS numbered WHERE nth <= %1$s', k) INTO answer;
            INSERT INTO errors VALUES (correlation, k, 'sampled', answer - mean_of_rows, answer - mean_of_people);
            EXECUTE format('SELECT dp_mean(c, 0, 1, 1.0, ''hourglass(rows=%1$s)'') FROM (SELECT '
                'dp_contribution(x, 0, 1, %1$s) AS c FROM people GROUP BY person) AS contributed', k) INTO answer;
            INSERT INTO errors VALUES (correlation, k, 'contributed', answer - mean_of_rows, answer - mean_of_people);
        END LOOP;
    END LOOP;
END $$;
SELECT pg_temp.measure(0, 400), pg_temp.measure(0.5, 400) \g /dev/null

\echo '| within a person | `k` | k rows, over rows | contributions, over rows | k rows, over people | contributions, over people |'
\echo '| --- | --- | --- | --- | --- | --- |'
SELECT format('| %s | %s | %s | %s | %s | %s |', CASE correlation WHEN 0 THEN 'independent' ELSE 'correlated 0.5' END, k,
    to_char(sqrt(avg(of_rows ^ 2) FILTER (WHERE way = 'sampled')), 'FM0.000000'),
    to_char(sqrt(avg(of_rows ^ 2) FILTER (WHERE way = 'contributed')), 'FM0.000000'),
    to_char(sqrt(avg(of_people ^ 2) FILTER (WHERE way = 'sampled')), 'FM0.000000'),
    to_char(sqrt(avg(of_people ^ 2) FILTER (WHERE way = 'contributed')), 'FM0.000000'))
FROM errors GROUP BY correlation, k ORDER BY correlation, k;
