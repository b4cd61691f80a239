-- Patients with visits, items of these, and events of people who may be patients; the analyst may read what is public.
-- Nothing analyses or cleans the tables while they are asked about.
CREATE TABLE patients (
    patient integer PRIMARY KEY, sex text NOT NULL, born integer, city text, joined date NOT NULL,
    active boolean NOT NULL, weight numeric(5, 1), code text UNIQUE
) WITH (autovacuum_enabled = off);
INSERT INTO patients
SELECT g, CASE WHEN g % 2 = 0 THEN 'f' ELSE 'm' END, nullif(1930 + g % 70, 1950),
    (ARRAY['Rome', 'Oslo', 'Bonn', 'Lyon', NULL])[1 + g % 5], date '2024-01-01' + g % 366, g % 5 > 0,
    50 + (g % 500) / 10.0, 'P' || g
FROM generate_series(0, 199) g;

CREATE TABLE visits (
    id integer PRIMARY KEY, patient integer NOT NULL REFERENCES patients ON DELETE CASCADE, region text NOT NULL,
    cost float8, n integer NOT NULL, paid numeric(10, 2), day date NOT NULL, at timestamptz NOT NULL, note text,
    kind smallint, ts timestamp, r real, big bigint
) WITH (autovacuum_enabled = off);
INSERT INTO visits
SELECT g, g * g % 200, 'r' || g % 5, g * 7919 % 100 + 0.5, g * 13 % 1000,
    CASE WHEN g % 10 > 0 THEN (g * 31 % 5000) / 100.0 END, date '2025-01-01' + g * 7 % 360,
    timestamptz '2025-01-01 00:30+00' + g * 7 % 360 * interval '1 day' + g % 24 * interval '1 hour',
    CASE WHEN g % 3 > 0 THEN 'n' || g % 2 END, g % 3,
    timestamp '2025-01-01 00:30' + g * 5 % 360 * interval '1 day', g % 100, g
FROM generate_series(0, 999) g;
CREATE INDEX ON visits (patient);

CREATE TABLE items (
    item integer PRIMARY KEY, visit integer NOT NULL REFERENCES visits ON DELETE CASCADE, code text NOT NULL,
    price numeric(8, 2) NOT NULL, qty integer NOT NULL
) WITH (autovacuum_enabled = off);
INSERT INTO items SELECT g, g % 1000, 'c' || g % 7, (g * 17 % 3000) / 100.0, 1 + g % 4 FROM generate_series(0, 1499) g;
CREATE INDEX ON items (visit);

CREATE TABLE events (person integer NOT NULL, t timestamp NOT NULL, what text NOT NULL, val float8)
    WITH (autovacuum_enabled = off);
INSERT INTO events
SELECT g * 7 % 150, timestamp '2025-03-01' + g * interval '397 minutes', (ARRAY['view', 'cart', 'buy'])[1 + g % 3],
    g % 50
FROM generate_series(0, 599) g;

CREATE TABLE regions (region text PRIMARY KEY, country text NOT NULL, factor float8 NOT NULL);
INSERT INTO regions SELECT 'r' || g, 'k' || g % 2, 1 + g / 10.0 FROM generate_series(0, 5) g;
CREATE TABLE kinds (kind smallint, name text, w integer);
INSERT INTO kinds VALUES (0, 'zero', 5), (1, 'one', -7), (2, 'two', 3), (2, 'deux', 4);
GRANT SELECT ON regions, kinds TO {a};

SELECT dp_set_budget('first', 4096, 0.5);
SELECT dp_protect('patients', 'patient', 'first'), dp_protect('visits', 'patient', 'first'),
    dp_protect('items', via => 'visit', budget => 'first'), dp_protect('events', 'person', 'first');
SELECT dp_declare('patients', 'born', 1900, 2020), dp_declare('patients', 'weight', 0, 200),
    dp_declare('visits', 'cost', 0, 100), dp_declare('visits', 'n', -50, 1000), dp_declare('visits', 'paid', 0, 50),
    dp_declare('visits', 'day', date '2025-01-01', date '2025-12-31'), dp_declare('items', 'price', 0, 30),
    dp_declare('items', 'qty', 0, 10), dp_declare('events', 'val', -20, 30),
    dp_declare('items', 'code', ARRAY['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
SELECT dp_allow('patients', '{a}'), dp_allow('visits', '{a}'), dp_allow('items', '{a}'), dp_allow('events', '{a}')
