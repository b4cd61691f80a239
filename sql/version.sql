-- dp_version: which version answers.

CREATE FUNCTION dp_version() RETURNS text
    AS 'MODULE_PATHNAME', 'dp_version_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_version() IS
    'The version of dp_mean: of the library that this session has loaded, such as 0.2.0; and where this database has '
    'the SQL of another one, that too: 0.3.0, with the SQL of 0.2.0. Then ALTER EXTENSION dp_mean UPDATE is due; '
    'until then the library serves the SQL that is there. A session keeps the library that it began with.';
