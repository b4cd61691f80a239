-- dp_mean.total: what a function answers, and NULL where it would raise an error that depends on a value. It takes
-- the place of PostgreSQL's own functions in queries over protected tables.

-- Everybody has EXECUTE: PostgreSQL asks it of the role that runs the rewritten query. Called by hand it refuses, and
-- nobody finds it, as the schema is shut.
CREATE FUNCTION dp_mean.total(function oid, VARIADIC arguments "any") RETURNS "any"
    AS 'MODULE_PATHNAME', 'dp_total' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.total(oid, "any") IS
    'replaces a function in queries over protected tables: the same answer, and NULL instead of an error';

-- PostgreSQL shows of a group the key of one of its rows, so equal keys must look alike.
CREATE FUNCTION dp_mean.key(value "any", trimmed boolean, most integer) RETURNS "any"
    AS 'MODULE_PATHNAME', 'dp_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.key("any", boolean, integer) IS
    'wraps GROUP BY keys in queries over protected tables: one form for equal values, NULL for long ones';
