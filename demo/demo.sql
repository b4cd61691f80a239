-- The tour that `make demo` gives. Run by psql from the repository's root, in an empty database.
\set QUIET on
\pset footer off
\pset pager off
\pset null '(null)'
\set ON_ERROR_STOP on
\set VERBOSITY terse
SET extra_float_digits = -10;   -- five digits are enough to read

CREATE EXTENSION dp_mean;
CREATE TABLE person_year (
    person int, year int, site int, age float8, female int, education float8, income float8, family_size int,
    coinsurance int, doctor_visits int, hospital_admissions int, medical_spending float8,
    chronic_disease_index float8, mental_health_index float8, general_health_index float8,
    PRIMARY KEY (person, year)
);
\copy person_year FROM 'demo/data/rand_hie.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE person AS SELECT * FROM person_year WHERE year = 1;
ALTER TABLE person ADD PRIMARY KEY (person);
ANALYZE person;

SELECT count(*) AS people FROM person \gset
\echo
\echo 'THE DATA'
\echo
\echo 'RAND Health Insurance Experiment, 1974-1982 (public domain; see demo/data/README.md): families were given'
\echo 'health insurance at random, and their use of doctors was watched. Table "person" is the first year:'
\echo :people 'people, one row each, so what protects a row protects a person.'
\echo
\echo 'Every answer of a dp_ aggregate is differentially private. The true answers beside them'
\echo 'are here to show the error that the noise (and the bounds, where they cut) made; nobody would publish those.'

\echo
\echo
\echo '1. HOW MANY PEOPLE, AND HOW OLD?   (eps 1 each; the bounds 0 and 100 come from what everybody'
\echo '   knows about ages, never from the data)'
\echo
\set ECHO queries
SELECT dp_count(1.0)                             AS private_count,
       count(*)                                  AS true_count,
       dp_mean(age, 0, 100, 1.0)                 AS private_age,
       avg(age)                                  AS true_age,
       dp_mean(age, 0, 100, 1.0) - avg(age)      AS age_error
FROM person;
\set ECHO none
\echo 'The call written twice is one release, with one noise, and costs once:'
\echo
\set ECHO queries
SELECT dp_mean(age, 0, 100, 0.1)                 AS once,
       dp_mean(age, 0, 100, 0.1)                 AS and_again
FROM person;
\set ECHO none
\echo 'Another SELECT is another release, with another noise:'
\echo
\set ECHO queries
SELECT dp_mean(age, 0, 100, 0.1) AS another FROM person;
\set ECHO none

\echo 'How far off can it be? An interval from the same release, and what it cost; and, before anything is spent, the eps'
\echo 'that an error of a tenth of a year takes:'
\echo
\set ECHO queries
SELECT (dp_mean_estimate(age, 0, 100, 0.1)).*, avg(age) AS true FROM person;
SELECT dp_epsilon_for(5638, 0, 100, 0.1) AS eps;
\set ECHO none

\echo
\echo '2. VISITS TO A DOCTOR, BY SITE   (eps 1 buys all six: the groups are disjoint; 52 is a visit a week)'
\echo
\set ECHO queries
SELECT site,
       dp_mean(doctor_visits, 0, 52, 1.0)                              AS private,
       avg(doctor_visits)::float8                                      AS true,
       dp_mean(doctor_visits, 0, 52, 1.0) - avg(doctor_visits)         AS error
FROM person
GROUP BY site ORDER BY site;
\set ECHO none

\echo
\echo '3. DO PEOPLE WHO PAY NOTHING SEE THE DOCTOR MORE OFTEN?   (eps 1 and 1 over disjoint people: 1)'
\echo
\set ECHO queries
SELECT dp_mean(doctor_visits, 0, 52, 1.0) FILTER (WHERE coinsurance = 0)   AS free_private,
       avg(doctor_visits) FILTER (WHERE coinsurance = 0)::float8           AS free_true,
       dp_mean(doctor_visits, 0, 52, 1.0) FILTER (WHERE coinsurance >= 95) AS paying_private,
       avg(doctor_visits) FILTER (WHERE coinsurance >= 95)::float8         AS paying_true
FROM person;
\set ECHO none

\echo
\echo '4. A GROUP WITH NOBODY IN IT   (there is no site 7; avg would tell, dp_mean does not)'
\echo
\set ECHO queries
SELECT site,
       dp_count(person, 0.5)               AS private_people,
       count(person)                       AS true_people,
       dp_mean(age, 0, 100, 0.5)           AS private_age,
       avg(age)                            AS true_age
FROM generate_series(5, 7) AS site         -- a public list of groups
LEFT JOIN person USING (site)
GROUP BY site ORDER BY site;

SELECT dp_mean(age, 0, 100, 0.5) FILTER (WHERE age > 90) AS private,
       avg(age)                  FILTER (WHERE age > 90) AS true
FROM person;
\set ECHO none

\echo
\echo '5. SUMS, AND COUNTS OF WHAT IS KNOWN'
\echo
\set ECHO queries
SELECT dp_sum(hospital_admissions, 0, 5, 1.0)    AS private_admissions,
       sum(hospital_admissions)                  AS true_admissions,
       dp_count(general_health_index, 1.0)       AS private_health_known,
       count(general_health_index)               AS true_health_known
FROM person;
\set ECHO none

\echo
\echo '6. CHOOSING BOUNDS   (too tight cuts off the sick, too wide pays in noise; each line costs eps 0.1)'
\echo
\set ECHO queries
SELECT hi                                                          AS "bounds: 0 to",
       private,
       clamped - truth                                             AS error_of_the_bounds,
       private - clamped                                           AS error_of_the_noise
FROM (VALUES (100), (1000), (10000), (100000)) AS bounds(hi),
LATERAL (SELECT dp_mean(medical_spending, 0, hi, 0.1)              AS private,
                avg(least(medical_spending, hi))                   AS clamped,
                avg(medical_spending)                              AS truth
         FROM person) AS answers
ORDER BY hi;
\set ECHO none

\echo
\echo '7. A DOZEN QUESTIONS AT ONCE, BY SITE   (eps 1 and delta 1e-6 buy all 72 counts: one release for each site, with'
\echo '   correlated Gaussian noise; a row is a person''s twelve answers)'
\echo
CREATE TABLE question (id serial PRIMARY KEY, text text);
INSERT INTO question (text) VALUES
    ('is 60 or older'), ('is a woman'), ('went to school for 12 years'), ('has a family of 5 or more'),
    ('pays nothing'), ('pays nearly all'), ('saw no doctor'), ('saw one every month'), ('was in hospital'),
    ('cost over 1,000 dollars'), ('has chronic diseases'), ('is in poor mental health');
CREATE VIEW answers AS
SELECT site, ARRAY[age >= 60, female = 1, education >= 12, family_size >= 5,
                   coinsurance = 0, coinsurance >= 95, doctor_visits = 0, doctor_visits >= 12, hospital_admissions > 0,
                   medical_spending > 1000, chronic_disease_index > 20, mental_health_index < 60] AS answers
FROM person;
\set ECHO queries
SELECT text AS question,
       string_agg(format('%s (%s)', round(private), truth), '  ' ORDER BY site) AS "private count (true count) at site 1 to 6"
FROM (SELECT site, dp_counts(1.0, 'correlated(delta=1e-6, d=12)', VARIADIC answers) AS counts
      FROM answers GROUP BY site) AS released,
LATERAL unnest(counts) WITH ORDINALITY AS each(private, id)
JOIN question USING (id),
LATERAL (SELECT count(*) FILTER (WHERE answers.answers[id]) AS truth
         FROM answers WHERE answers.site = released.site) AS curator
GROUP BY id, text ORDER BY id;
\set ECHO none
\echo 'How uncertain are they? That is public. And the number of people comes free:'
\echo
\set ECHO queries
SELECT site, total AS private_people,
       sd AS sd_of_a_count, sqrt(2 * (sd ^ 2 - covariance)) AS sd_of_a_difference,
       estimates[8] - estimates[7] AS often_less_never,
       1.96 * sqrt(2 * (sd ^ 2 - covariance)) AS give_or_take
FROM (SELECT site, (dp_counts_estimate(1.0, 'correlated(delta=1e-6, d=12)', VARIADIC answers)).*
      FROM answers GROUP BY site) AS released
ORDER BY site;
\set ECHO none
\echo 'The same budget without the correlation, with the usual Gaussian noise, and with Laplace noise (which needs no delta):'
\echo
\set ECHO queries
SELECT mech, (released.estimate).sd AS sd_of_a_count
FROM (VALUES ('correlated(delta=1e-6, d=12)'::dp_mechanism), ('gaussian(delta=1e-6, d=12)'), ('laplace(d=12)')) AS m(mech),
LATERAL (SELECT dp_counts_estimate(1.0, mech, VARIADIC answers) AS estimate FROM answers) AS released;
\set ECHO none
\echo 'Numbers instead of answers: three indices of health, their means from one release (a missing one counts as 0):'
\echo
\set ECHO queries
SELECT dp_means(ARRAY[chronic_disease_index, mental_health_index, general_health_index],
                0, 100, 1.0, 'correlated(delta=1e-6, d=3)')                             AS private,
       ARRAY[avg(coalesce(chronic_disease_index, 0)), avg(coalesce(mental_health_index, 0)),
             avg(coalesce(general_health_index, 0))]                                    AS true
FROM person;
\set ECHO none

\echo
\echo
\echo '8. AN HONEST MEAN   (bounds cut, and what they cut off is a bias; docs/which-mean.md has the whole story. First'
\echo '   what each would do, from public numbers alone: nothing is spent on it)'
\echo
\set ECHO queries
SELECT mechanism, noise_sd, bias_bound, rmse_bound
FROM dp_mean_plan(n => 5638, eps => 1, lo => 0, hi => 25, delta => 1e-6, moment => 4, psi => 4.5)
WHERE rmse_bound < 1 ORDER BY rmse_bound;
\set ECHO none
\echo 'Years of education: the least error; no bias between bounds; and no bounds at all, for a column that is as likely'
\echo 'to be so much above its mean as below:'
\echo
\set ECHO queries
SELECT dp_mean(education, 0, 25, 1.0)                                         AS hourglass,
       dp_mean(education, 0, 25, 1.0, 'smooth')                               AS smooth,
       dp_mean(education, NULL, NULL, 1.0, 'symmetric(delta=1e-6, scale=3)')  AS symmetric,
       avg(education)                                                         AS true
FROM person;
\set ECHO none
\echo 'What no method can have: no bias, no delta, no bounds.'
\echo
\set VERBOSITY default
\set ON_ERROR_STOP off
\set ECHO queries
SELECT dp_mean(education, NULL, NULL, 1.0, 'symmetric(delta=0, scale=3)') FROM person;
\set ECHO none
\set ON_ERROR_STOP on
\set VERBOSITY terse

\echo
\echo
\echo '9. REAL TABLES   (a distribution; bounds that nobody knows; a spread; groups that may not be shown; people with'
\echo '   many rows. The pages in docs/ have more on each)'
\echo
\set ECHO queries
SELECT visits_from, private,
       (SELECT count(*) FROM person WHERE 4 * least(doctor_visits / 4, 4) = visits_from) AS true
FROM (SELECT dp_histogram(doctor_visits, 0, 20, 5, 1.0) AS counts FROM person) AS histogram,
     unnest(dp_histogram_edges(0, 20, 5), counts) AS bars(visits_from, private)
WHERE private IS NOT NULL;
\set ECHO none
\echo 'Bounds for a column of dollars, found at eps 0.5, then its mean between them at another 0.5:'
\echo
\set ECHO queries
SELECT (dp_bounds(medical_spending, 0.5)).* FROM person \gset
SELECT :lower AS lower, :upper AS upper,
       dp_mean(medical_spending, :lower, :upper, 0.5)  AS private,
       avg(medical_spending)                           AS true
FROM person;
SELECT (dp_variance_estimate(age, 0, 100, 1.0)).*, stddev_pop(age) AS true_stddev FROM person;
\set ECHO none
\echo 'Which numbers of visits may be shown? Those of hardly anybody are not:'
\echo
\set ECHO queries
SELECT count(*) AS numbers, count(*) FILTER (WHERE shown) AS shown, max(people) FILTER (WHERE NOT shown) AS most_people_not_shown
FROM (SELECT count(*) AS people, dp_keep(1.0, 1e-6) AS shown FROM person GROUP BY doctor_visits) AS numbers;
\set ECHO none
\echo 'All years of everybody, up to five rows a person: eps is what a person spends, not a row:'
\echo
\set ECHO queries
SELECT dp_mean(doctor_visits, 0, 52, 1.0, 'hourglass(rows=5)') AS private, avg(doctor_visits)::float8 AS true
FROM person_year;
\set ECHO none

\echo
\echo '10. MECHANISMS SIDE BY SIDE   (root mean square error of 1,000 releases each: a look behind the curtain that only'
\echo '   the owner of the data can take)'
\echo
\set ECHO queries
SELECT mech,
       sqrt(avg((private - truth) ^ 2) FILTER (WHERE eps = 0.1)) AS "error at eps 0.1",
       sqrt(avg((private - truth) ^ 2) FILTER (WHERE eps = 8))   AS "error at eps 8"
FROM (SELECT avg(least(doctor_visits, 52)) AS truth FROM person) AS curator,
     (VALUES ('hourglass'::dp_mechanism), ('staircase'), ('laplace'), ('shifted'), ('independent')) AS m(mech),
     (VALUES (0.1::float8), (8)) AS e(eps),
     generate_series(1, 1000) AS release,
LATERAL (SELECT dp_mean(doctor_visits, 0, 52, eps, mech) AS private
         FROM person WHERE release > 0) AS answers
GROUP BY mech ORDER BY 3;
\set ECHO none
\echo 'hourglass is the default. shifted is what most libraries do: a noisy sum over a noisy count.'

\echo
\echo
\echo '11. AN ANALYST WHO MAY NOT SEE ROWS   (PostgreSQL has no right to aggregate without the right to read, so the'
\echo '   curator publishes: a materialized view is one release, spent once, read as often as one likes)'
\echo
\set ECHO queries
CREATE MATERIALIZED VIEW visits_by_plan AS
SELECT coinsurance, dp_mean(doctor_visits, 0, 52, 1.0) AS visits
FROM (VALUES (0), (25), (50), (95), (100)) AS public_plans(coinsurance)
LEFT JOIN person USING (coinsurance)
GROUP BY coinsurance;
CREATE ROLE analyst;
GRANT SELECT ON visits_by_plan TO analyst;
SET ROLE analyst;
SELECT coinsurance AS "family pays %", visits FROM visits_by_plan ORDER BY coinsurance;
\set ON_ERROR_STOP off
SELECT avg(doctor_visits) FROM person;
RESET ROLE;
\set ECHO none

\echo
\echo
\echo '12. WHAT IS REFUSED'
\echo
\set VERBOSITY default
\set ECHO queries
SELECT dp_mean(age, 0, 100, doctor_visits) FROM person;
SELECT dp_mean(age, 0, 100, 1.0) OVER () FROM person;
SELECT dp_mean(age, 0, 100, 1.0, 'hourglas') FROM person;
\set ECHO none
\set ON_ERROR_STOP on

\echo
\echo '13. WHAT WAS SPENT'
\echo
\echo 'Each call costs its eps, disjoint groups cost it once, and the costs add up. dp_mean keeps no account: the'
\echo 'curator does. Of each person in the table, the answers above spent:'
\echo
SELECT coalesce(part, 'together') AS part, sum(eps) AS eps, sum(delta) AS delta
FROM (VALUES
    ('1. count and mean age, eps 1 each; three more at 0.1', 1 + 1 + 3 * 0.1, 0),
    ('2. visits by site',                                  1, 0),
    ('3. visits by what the family pays',                  1, 0),
    ('4. people and age by site; one filtered mean',       0.5 + 0.5 + 0.5, 0),
    ('5. one sum, one count',                              1 + 1, 0),
    ('6. four bounds at 0.1',                              4 * 0.1, 0),
    ('7. a dozen questions twice, and by three mechanisms; means', 2 + 3 + 1, 2e-6 + 2e-6 + 1e-6),
    ('8. education, by three mechanisms',                   1 + 1 + 1, 1e-6),
    ('9. a histogram, bounds and a mean, a variance, groups, five years', 1 + 1 + 1 + 1 + 1, 1e-6),
    ('11. visits by plan, published',                      1, 0)
) AS spent(part, eps, delta)
GROUP BY ROLLUP (part) ORDER BY split_part(spent.part, '.', 1)::int;
\echo '(and part 10, never to be published: 1000 * 5 * (0.1 + 8) = 40500.)'
\echo
