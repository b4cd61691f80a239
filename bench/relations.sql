-- What happens within the rows of one person, through the gate: a join of two protected tables, a row for each person, and
-- a window; against what the owner would ask of the same rows. A fifth of ROWS are visits, a fiftieth are patients. Run by
-- scripts/bench in the session of bench.sql, whose functions it uses; prints Markdown.
SELECT greatest(:rows / 5, 10) AS visits, greatest(:rows / 50, 1) AS patients \gset
CREATE UNLOGGED TABLE bench_patients AS
SELECT i::int AS id, random() AS weight, 'd' || i % 10 AS dept FROM generate_series(1, :patients) AS i;
ALTER TABLE bench_patients ALTER id SET NOT NULL, ALTER weight SET NOT NULL, ADD PRIMARY KEY (id);
CREATE UNLOGGED TABLE bench_visits AS
SELECT i::int AS visit, 1 + (i % :patients)::int AS patient, random() AS cost FROM generate_series(1, :visits) AS i;
ALTER TABLE bench_visits ALTER patient SET NOT NULL, ALTER cost SET NOT NULL;
VACUUM (FREEZE, ANALYZE) bench_patients, bench_visits;
CREATE ROLE bench_analyst;
SET client_min_messages = warning;
SELECT dp_set_budget('bench', 4096, 1e-3), dp_protect('bench_patients', 'id', 'bench', reuse => '0'),
       dp_protect('bench_visits', 'patient', 'bench', rows => 10, reuse => '0'),
       dp_declare('bench_patients', 'weight', 0, 1), dp_declare('bench_visits', 'cost', 0, 1),
       dp_allow('bench_patients', 'bench_analyst'), dp_allow('bench_visits', 'bench_analyst') \g /dev/null
RESET client_min_messages;
SET enable_sort = on;
SET work_mem = '2GB';

\echo
SELECT format('A person''s own rows: %s visits of %s patients, medians of %s runs that take turns.',
              trim(to_char(:visits, '999,999,999')), trim(to_char(:patients, '999,999,999')), :runs);
\echo
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`avg` of a join, by the owner',
     'SELECT count(a) FROM (SELECT avg(cost) AS a FROM bench_visits v JOIN bench_patients p ON p.id = v.patient WHERE weight > 0.1) q',
     NULL, NULL),
    (1, 'the same by an analyst',
     'SELECT count(a) FROM (SELECT avg(cost) AS a FROM bench_visits v JOIN bench_patients p ON p.id = v.patient WHERE weight > 0.1) q',
     1.15, 'bench_analyst'),
    (2, '`avg` of a mean of each person in the join, by the owner',
     'SELECT count(a) FROM (SELECT avg(m) AS a FROM (SELECT avg(cost) AS m FROM bench_visits v JOIN bench_patients p
      ON p.id = v.patient WHERE weight > 0.1 GROUP BY p.id) s) q', NULL, NULL);
CALL take_turns('a join by the person', jits => '{f}', checked => false);
SELECT * FROM ratios();

\echo
TRUNCATE contenders, turns;
INSERT INTO contenders VALUES
    (0, '`avg` of a number of each person, by the owner',
     'SELECT count(a) FROM (SELECT avg(most) AS a FROM (SELECT patient, max(cost) AS most FROM bench_visits GROUP BY patient) s) q',
     NULL, NULL),
    (1, 'the same by an analyst',
     'SELECT count(a) FROM (SELECT avg(most) AS a FROM (SELECT patient, max(cost) AS most FROM bench_visits GROUP BY patient) s) q',
     1.15, 'bench_analyst'),
    (2, 'sums of each person, by an analyst: these are exact numbers',
     'SELECT count(a) FROM (SELECT avg(least(most, 10)) AS a FROM (SELECT patient, sum(cost) AS most FROM bench_visits
      GROUP BY patient) s) q', NULL, 'bench_analyst');
CALL take_turns('a row for each person', jits => '{f}', checked => false);
SELECT * FROM ratios();
RESET work_mem;
SET enable_sort = off;
DROP TABLE bench_patients, bench_visits;
DROP ROLE bench_analyst;
