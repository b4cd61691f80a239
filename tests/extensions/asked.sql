SET SESSION AUTHORIZATION x_other
SELECT * FROM seen
SELECT name FROM seen WHERE region = 'r1'
SELECT count(*) FROM through
SELECT count(*) FROM pg_tables
SELECT * FROM information_schema.columns LIMIT 10
SELECT count(*) FROM visits
SELECT count(*) FROM invoked
SELECT region FROM parts
SELECT count(*) FROM parts
SELECT secret FROM parts
SELECT parts FROM parts
SELECT ctid FROM parts
INSERT INTO parts (region) VALUES ('r1')
INSERT INTO parts VALUES ('r1', 'x')
UPDATE parts SET region = 'r2'
UPDATE parts SET secret = 'r2'
DELETE FROM parts
SELECT * FROM dp_cost('SELECT count(*) FROM visits')
SELECT * FROM dp_budgets
RESET SESSION AUTHORIZATION
SELECT count(*) FROM visits
SELECT * FROM through
CREATE TABLE scratch AS SELECT g AS x FROM generate_series(1, 100) g
CREATE VIEW late AS SELECT * FROM scratch
SELECT count(*) FROM late
ANALYZE
SELECT dp_mean(cost, 0, 100, 1.0) FROM visits
SET SESSION AUTHORIZATION x_analyst
SELECT count(*) FROM visits
SELECT region, count(*), avg(cost), sum(cost) FROM visits GROUP BY region
SELECT name, count(*) FROM visits JOIN regions USING (region) GROUP BY name
SELECT region, count(*) FROM visits GROUP BY ROLLUP (region)
SELECT * FROM aggregated
SELECT count(*) FROM invoked WHERE cost > 10
SELECT count(*) FROM through
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY salary), stddev(salary) FROM people
SELECT (SELECT count(*) FROM visits) + (SELECT count(*) FROM people)
WITH w AS (SELECT * FROM visits) SELECT count(*) FROM w UNION ALL SELECT count(*) FROM w WHERE cost > 50
SELECT * FROM visits
SELECT * FROM visits LIMIT 0
SELECT patient FROM visits WHERE 1 / (cost - 50) > 0
SELECT max(cost) FROM visits
SELECT count(*) FROM visits FOR UPDATE
UPDATE visits SET cost = 0
EXPLAIN SELECT count(*) FROM visits
EXPLAIN ANALYZE SELECT count(*) FROM regions
SELECT * FROM dp_cost('SELECT region, count(*) FROM visits GROUP BY region')
SELECT * FROM dp_cost('SELECT (')
PREPARE asked(integer) AS SELECT count(*) FROM visits WHERE patient > $1
EXECUTE asked(1)
EXECUTE asked(2)
EXECUTE asked(3)
EXECUTE asked(4)
EXECUTE asked(5)
EXECUTE asked(6)
EXECUTE asked(7)
PREPARE seen_by(text) AS SELECT * FROM seen WHERE region = $1
EXECUTE seen_by('r1')
EXECUTE seen_by('r2')
CREATE TABLE kept AS SELECT region, count(*) FROM visits GROUP BY region
INSERT INTO kept SELECT 'all', count(*) FROM visits
COPY (SELECT count(*) FROM visits) TO STDOUT
COPY visits TO STDOUT
BEGIN
DECLARE c CURSOR FOR SELECT region, count(*) FROM visits GROUP BY region
FETCH ALL FROM c
COMMIT
CREATE FUNCTION asks() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM visits); END'
SELECT asks(), asks()
CREATE FUNCTION reads() RETURNS SETOF visits LANGUAGE sql STABLE AS 'SELECT * FROM visits'
SELECT count(*) FROM reads()
DO 'BEGIN PERFORM count(*) FROM visits; PERFORM * FROM visits; EXCEPTION WHEN insufficient_privilege THEN NULL; END'
SELECT dp_sum(x, 0, 10, 1.0) FROM generate_series(1, 10) AS x
SET SESSION AUTHORIZATION x_owner
SELECT * FROM dp_policies
SELECT dp_disallow('visits', 'x_analyst')
SET SESSION AUTHORIZATION x_analyst
SELECT count(*) FROM visits
EXECUTE asked(8)
RESET SESSION AUTHORIZATION
