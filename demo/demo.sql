-- The tour that `make demo` gives, of the tables of demo/load.sql. It leaves a picture, and nothing in the database.
--     psql -d health -v svg=picture.svg -f demo/demo.sql
\set QUIET on
\set ON_ERROR_STOP on
\if :{?svg}
\else
\set svg target/demo.svg
\endif
\pset footer off
\pset pager off
SET extra_float_digits = -11;   -- four digits are enough to read

\echo 'THE QUESTION: do people who pay nothing for the doctor make more visits? In the RAND Health Insurance Experiment'
\echo '(1974 to 1982) families were given, at random, insurance that left them to pay from nothing to all of the bill.'
\echo 'Table person: 5,638 people in their first year, one row each. Columns named true are for comparison only:'
\echo 'never publish them.'
\echo
\echo '1. Two private answers. 0, 52 are public bounds (a visit a week); the last number is epsilon, what the call spends.'
\echo
\set ECHO queries
SELECT dp_count(1.0) AS people, count(*) AS "true",
       dp_mean(doctor_visits, 0, 52, 0.5) AS visits, avg(doctor_visits)::float8 AS "true"
FROM person;
\set ECHO none
\echo '2. The same call twice in one SELECT is one release. A second SELECT is a new release, and spends again.'
\echo
\set ECHO queries
SELECT dp_mean(doctor_visits, 0, 52, 0.05) AS visits, dp_mean(doctor_visits, 0, 52, 0.05) AS and_again FROM person;
SELECT dp_mean(doctor_visits, 0, 52, 0.05) AS another FROM person;
\set ECHO none
\echo '3. A group without people answers with noise, like every group; avg would reveal it. There is no site 7.'
\echo
\set ECHO queries
SELECT site, dp_mean(age, 0, 100, 0.5) AS age, avg(age) AS "true",
       dp_count(person, 0.5) AS people, count(person) AS "true"
FROM generate_series(5, 7) AS site LEFT JOIN person USING (site) GROUP BY site ORDER BY site;
\set ECHO none
\echo '4. Calls that would reveal rows are refused, whatever the rows are: noise for each row, a bound from the rows.'
\echo
\set ECHO queries
\set ON_ERROR_STOP off
SELECT dp_mean(age, 0, 100, 1.0) OVER () FROM person;
SELECT dp_mean(age, 0, family_size, 1.0) FROM person;
\set ON_ERROR_STOP on
\set ECHO none
\echo
\echo '5. The question, with an interval that holds the mean in 95% of releases. All plans together cost epsilon once,'
\echo '   as each person is in one.'
\echo
\set ECHO queries
CREATE TEMPORARY TABLE answer AS
SELECT coinsurance AS pays, (dp_mean_estimate(doctor_visits, 0, 52, 1.0)).*
FROM (VALUES (0), (25), (50), (95), (100)) AS plans(coinsurance) LEFT JOIN person USING (coinsurance) GROUP BY pays;
SELECT pays AS "family pays %", value AS visits, lower, upper, answer.count AS people,
       (SELECT avg(doctor_visits)::float8 FROM person WHERE coinsurance = pays) AS "true"
FROM answer ORDER BY pays;
\set ECHO none
-- How much visits differ between people, for the chance that is in these numbers too.
SELECT dp_stddev(doctor_visits, 0, 52, 0.5) AS sd FROM person \gset
SELECT round(free.value::numeric, 2) AS free, round(paying.value::numeric, 2) AS paying,
       round((free.value - paying.value)::numeric, 2) AS more,
       round(sqrt((free.upper - free.lower) ^ 2 / 4 + (paying.upper - paying.lower) ^ 2 / 4
           + (1.96 * :sd) ^ 2 * (1 / free.count + 1 / paying.count))::numeric, 2) AS give_or_take
FROM answer AS free, answer AS paying WHERE free.pays = 0 AND paying.pays = 95 \gset
SELECT CASE WHEN :more > :give_or_take THEN 'yes, they make more visits.'
            WHEN :more < -:give_or_take THEN 'no, they make fewer visits.'
            ELSE 'these answers do not show it.' END AS verdict \gset
\echo 'CONCLUSION, from the private answers alone:' :verdict
\echo 'Visits a year:' :free 'of people who pay nothing,' :paying 'of people who pay 95%.'
\echo 'The difference is' :more', give or take' :give_or_take
\echo '(95%: noise and chance together, by a private standard deviation of' :sd 'at epsilon 0.5).'
\echo 'Spent of each person: 1 + 0.5, 2 times 0.05, 0.5 + 0.5, 1 + 0.5 = 4.1. With a small budget, ask only the last'
\echo 'question, for 1.5. The manual: docs/README.md. What is promised: docs/promises.md.'
\ir picture.sql
\echo 'A picture of the answers:' :svg
