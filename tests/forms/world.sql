-- Visits of 20000 patients, two each, and a row about each of them; the analyst may read neither. Nobody is in more
-- groups, or has more rows in one, than the policies allow: what is answered differs from the truth by noise alone.
CREATE TABLE visits (
    id int PRIMARY KEY,
    patient int NOT NULL,
    region text NOT NULL,
    cost float8 NOT NULL,
    age int NOT NULL,
    paid numeric(10, 2),
    points bigint NOT NULL,
    rate real NOT NULL,
    day date NOT NULL,
    at timestamptz NOT NULL,
    note varchar(20),
    extra jsonb
);
INSERT INTO visits
SELECT i, i % 20000, 'r' || i % 5, i * 7919 % 100 + 0.5, 20 + i % 60,
    CASE WHEN i % 10 > 0 THEN (i * 31 % 5000) / 100.0 END, i * 13 % 1000, i % 8 / 2.0,
    date '2025-01-01' + i % 360, timestamptz '2025-01-01 00:30+00' + i % 360 * interval '1 day' + i % 24 * interval '1 hour',
    CASE WHEN i % 3 > 0 THEN 'n' || i % 2 END, '{"a": 1}'
FROM generate_series(0, 39999) i;

CREATE TABLE people (person int PRIMARY KEY, dept text NOT NULL, salary float8 NOT NULL, born int NOT NULL);
INSERT INTO people SELECT i, 'd' || i % 4, 20000 + i * 7919 % 60000, 1940 + i % 60 FROM generate_series(0, 19999) i;

CREATE TABLE regions (region text PRIMARY KEY, country text NOT NULL, factor float8 NOT NULL);
INSERT INTO regions SELECT 'r' || i, 'c' || i % 2, 1 + i / 10.0 FROM generate_series(0, 4) i;
GRANT SELECT ON regions TO {analyst};

SELECT dp_set_budget('all', 4000, 0.5, accounting => 'zcdp');
SELECT dp_protect('visits', 'patient', 'all', groups => 2, rows => 2, query_eps => 20, query_delta => 1e-6);
SELECT dp_protect('people', 'person', 'all', query_eps => 20, query_delta => 1e-6);
SELECT dp_declare('visits', 'cost', 0, 100), dp_declare('visits', 'age', 0, 100), dp_declare('visits', 'paid', 0, 50),
    dp_declare('visits', 'points', 0, 1000), dp_declare('visits', 'rate', 0, 4);
SELECT dp_declare('people', 'salary', 0, 100000), dp_declare('people', 'born', 1900, 2020),
    dp_declare('people', 'dept', ARRAY['d0', 'd1', 'd2', 'd3', 'd4']);
SELECT dp_allow('visits', '{analyst}'), dp_allow('people', '{analyst}');
