-- Trips of 4000 passengers, four each, with tables around them that the analyst may read.
CREATE TABLE airlines (carrier text PRIMARY KEY, name text NOT NULL);
INSERT INTO airlines VALUES ('AA', 'American'), ('UA', 'United'), ('B6', 'Blue'), ('DL', 'Delta');
CREATE TABLE airports (faa text PRIMARY KEY, zone text, name text NOT NULL);
INSERT INTO airports SELECT 'P' || i, (ARRAY['Los Angeles', 'New York', 'Chicago'])[1 + i % 3], 'n' || i
FROM generate_series(0, 29) i;
CREATE TABLE weather (origin text NOT NULL, hour timestamptz NOT NULL, rain float8 NOT NULL, wind float8 NOT NULL);
INSERT INTO weather SELECT 'P' || o, t, extract(doy FROM t)::int % 2, extract(hour FROM t)
FROM generate_series(0, 2) o, generate_series(timestamptz '2013-01-01', '2013-12-31', '6 hours') t;
CREATE TABLE trips (
    trip int PRIMARY KEY, passenger int NOT NULL, carrier text NOT NULL, origin text NOT NULL, dest text NOT NULL,
    flight int NOT NULL, cabin text NOT NULL, channel text NOT NULL, fare float8 NOT NULL, bags int NOT NULL,
    delay float8, refunded boolean NOT NULL, departs timestamptz NOT NULL, day date NOT NULL
);
INSERT INTO trips SELECT i, i % 4000, (ARRAY['AA', 'UA', 'B6', 'DL'])[1 + i % 4], 'P' || i % 3, 'P' || 3 + i % 27,
    i % 300, (ARRAY['economy', 'business', 'first'])[1 + i % 3], (ARRAY['web', 'app'])[1 + i % 2], 50 + i * 37 % 900,
    i % 3, CASE WHEN i % 10 > 0 THEN i % 200 - 20 END, i % 17 = 0,
    timestamptz '2013-01-01' + i % 360 * interval '1 day' + i / 4 % 4 * interval '6 hours', date '2013-01-01' + i % 360
FROM generate_series(0, 15999) i;
CREATE TABLE passengers (passenger int PRIMARY KEY, tier text NOT NULL);
INSERT INTO passengers SELECT i, (ARRAY['gold', 'silver', 'none'])[1 + i % 3] FROM generate_series(0, 3999) i;
GRANT SELECT ON airlines, airports, weather TO {analyst};
SELECT dp_set_budget('passengers', 3000, 1e-6, accounting => 'zcdp');
SELECT dp_protect('trips', 'passenger', 'passengers', groups => 8, rows => 4, query_eps => 20, auto_bounds => true);
SELECT dp_protect('passengers', 'passenger', 'passengers', query_eps => 20);
SELECT dp_declare('trips', 'carrier', ARRAY['AA', 'UA', 'B6', 'DL']),
    dp_declare('trips', 'cabin', ARRAY['economy', 'business', 'first']),
    dp_declare('trips', 'channel', ARRAY['web', 'app']), dp_declare('trips', 'origin', ARRAY['P0', 'P1', 'P2']),
    dp_declare('trips', 'fare', 0, 1000), dp_declare('trips', 'bags', 0, 5), dp_declare('trips', 'delay', -60, 600),
    dp_declare('trips', 'day', '2013-01-01'::date, '2013-12-26'::date),
    dp_declare('passengers', 'tier', ARRAY['gold', 'silver', 'none']);
SELECT dp_allow('trips', '{analyst}'), dp_allow('passengers', '{analyst}');
