-- The tour that `make demo` gives, of the tables of demo/load.sql: a protected table, and an analyst without rights on it. It
-- leaves a picture, and nothing in the database but lines of the ledger. By a superuser, who owns the tables:
--     psql -d health -v svg=picture.svg -f demo/demo.sql
\set QUIET on
\set ON_ERROR_STOP on
\if :{?svg}
\else
\set svg target/demo.svg
\endif
\if :{?role}
\else
\set role demo_analyst
\endif
\pset footer off
\pset pager off
SET extra_float_digits = -11;   -- four digits are enough to read
SET client_min_messages = warning;
SELECT to_char(clock_timestamp(), 'HH24:MI:SS.US') AS now \gset
\set budget 'participants, ' :now

\echo 'THE QUESTION: do people who pay nothing for the doctor make more visits? In the RAND Health Insurance Experiment'
\echo '(1974 to 1982) families were given, at random, insurance that left them to pay from nothing to all of the bill.'
\echo 'Table person: 5,638 people in their first year, one row each. Who asks may not read it.'
\echo
\echo '1. The owner protects the table, once: a budget for all answers together, the person, public bounds and values.'
\echo
\set ECHO queries
\o /dev/null
SELECT dp_set_budget(:'budget', 2, 1e-6, accounting => 'zcdp'); -- few questions: pure noise is less then
SELECT dp_protect('person', 'person', :'budget', auto_bounds => true);
SELECT dp_declare('person', 'doctor_visits', 0, 52), dp_declare('person', 'age', 0, 100),
       dp_declare('person', 'coinsurance', '{0,25,50,95,100}'), dp_declare('person', 'site', '{5,6,7}');
CREATE ROLE :role;
SELECT dp_allow('person', :'role');
\o
\set ECHO none
\echo
\echo '2. The analyst has no right to the rows, and asks in plain SQL. What is not private is refused, whatever the rows are.'
\echo
\set ECHO queries
\set ON_ERROR_STOP off
SET ROLE :role;
SELECT * FROM person WHERE person = 125024;
SELECT max(doctor_visits) FROM person;
\set ON_ERROR_STOP on
SELECT count(*) AS people, avg(age) AS age FROM person;
\set ECHO none
\echo '3. The same again has the same answer, for nothing. Asked afresh it has other noise, and spends again (true: to compare).'
\echo
\set ECHO queries
SET dp_mean.reuse = off \; SELECT count(*) AS people, avg(age) AS age FROM person \gset
RESET ROLE;
SELECT :people AS people, count(*) AS "true", round(:age, 2) AS age, round(avg(age)::numeric, 2) AS "true" FROM person;
\set ECHO none
\echo '4. A group without people answers with noise, like every group: avg would reveal it. There is no site 7.'
\echo
\set ECHO queries
SET ROLE :role;
SELECT site, count(*) AS people FROM person GROUP BY site ORDER BY site;
\set ECHO none
\echo '5. A median; and a mean of what nobody knows bounds of: it finds some, as the owner allows (auto_bounds).'
\echo
\set ECHO queries
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age) AS "median age", avg(income) AS income FROM person;
\set ECHO none
\echo '6. The question, with an interval that holds the mean in 95% of releases. All plans together cost epsilon once,'
\echo '   as each person is in one.'
\echo
\set ECHO queries
CREATE TEMPORARY TABLE answer AS
SELECT coinsurance AS pays, (dp_mean_estimate(doctor_visits, 0, 52, 1.0)).* FROM person GROUP BY pays;
SELECT dp_stddev_pop(doctor_visits, 0, 52, 0.3) AS sd FROM person \gset
RESET ROLE;
SELECT pays AS "family pays %", value AS visits, lower, upper, answer.count AS people,
       (SELECT avg(doctor_visits)::float8 FROM person WHERE coinsurance = pays) AS "true"
FROM answer ORDER BY pays;
\set ECHO none
\echo '7. The end of the budget: nothing gives it back.'
\echo
\set ECHO queries
\set ON_ERROR_STOP off
SET ROLE :role;
SELECT charges, spent_epsilon, left_epsilon FROM dp_budgets WHERE budget = :'budget';
SELECT count(*) FROM person;
\set ON_ERROR_STOP on
\set ECHO none
RESET ROLE;
\echo
-- How much visits differ between people, sd, is the chance that is in these numbers too.
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
\echo '(95%: noise and chance together, by a private standard deviation of' :sd 'at epsilon 0.3).'
\echo 'Spent of each person: 0.2 twice, 0.1, 0.2, 1, 0.3 = 2. The next table: docs/protect-a-table.md. What is promised, and what'
\echo 'is not: docs/threat-model.md. The manual: docs/README.md.'
\ir picture.sql
\echo 'A picture of the answers:' :svg
\o /dev/null
SELECT dp_unprotect('person');
\o
DROP OWNED BY :role;
DROP ROLE :role;
