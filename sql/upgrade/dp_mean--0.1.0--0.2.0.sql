-- From 0.1.0 to 0.2.0: what changed. The aggregates that changed, what is new and what was made anew follow: the files
-- of sql/subjects.

-- Made anew: the columns of these answers, and the order of the arguments of dp_mean_plan. A view over one of them
-- stops the update.

DROP AGGREGATE @extschema@.dp_mean_estimate(float8, float8, float8, float8);
DROP AGGREGATE @extschema@.dp_mean_estimate(float8, float8, float8, float8, dp_mechanism);
DROP AGGREGATE @extschema@.dp_mean_estimate(float8, float8, float8, float8, dp_mechanism, float8);
DROP FUNCTION @extschema@.dp_mean_estimate_final(dp_state);
DROP FUNCTION @extschema@.dp_mean_estimate_trans(dp_state, float8, float8, float8, float8);
DROP FUNCTION @extschema@.dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism);
DROP FUNCTION @extschema@.dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8);
DROP TYPE @extschema@.dp_mean_estimate_answer;
DROP AGGREGATE @extschema@.dp_sum_estimate(float8, float8, float8, float8);
DROP AGGREGATE @extschema@.dp_sum_estimate(float8, float8, float8, float8, dp_mechanism);
DROP AGGREGATE @extschema@.dp_sum_estimate(float8, float8, float8, float8, dp_mechanism, float8);
DROP FUNCTION @extschema@.dp_sum_estimate_final(dp_state);
DROP FUNCTION @extschema@.dp_sum_estimate_trans(dp_state, float8, float8, float8, float8);
DROP FUNCTION @extschema@.dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism);
DROP FUNCTION @extschema@.dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8);
DROP TYPE @extschema@.dp_sum_estimate_answer;
DROP AGGREGATE @extschema@.dp_count_estimate(float8);
DROP AGGREGATE @extschema@.dp_count_estimate("any", float8);
DROP AGGREGATE @extschema@.dp_count_estimate("any", float8, dp_mechanism);
DROP AGGREGATE @extschema@.dp_count_estimate("any", float8, dp_mechanism, float8);
DROP FUNCTION @extschema@.dp_count_estimate_final(dp_state);
DROP FUNCTION @extschema@.dp_count_estimate_rows_trans(dp_state, float8);
DROP FUNCTION @extschema@.dp_count_estimate_trans(dp_state, "any", float8);
DROP FUNCTION @extschema@.dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism);
DROP FUNCTION @extschema@.dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism, float8);
DROP TYPE @extschema@.dp_count_estimate_answer;
DROP AGGREGATE @extschema@.dp_variance_estimate(float8, float8, float8, float8);
DROP AGGREGATE @extschema@.dp_variance_estimate(float8, float8, float8, float8, dp_mechanism);
DROP FUNCTION @extschema@.dp_variance_estimate_final(dp_state);
DROP TYPE @extschema@.dp_variance_answer;
DROP AGGREGATE @extschema@.dp_counts_estimate(float8, dp_mechanism, VARIADIC "any");
DROP FUNCTION @extschema@.dp_counts_estimate_final(dp_state);
DROP AGGREGATE @extschema@.dp_sums_estimate(float8[], float8, float8, float8, dp_mechanism);
DROP FUNCTION @extschema@.dp_sums_estimate_final(dp_state);
DROP TYPE @extschema@.dp_vector_answer;
DROP FUNCTION @extschema@.dp_mechanisms();
DROP FUNCTION @extschema@.dp_mean_plan(float8, float8, float8, float8, float8, float8, float8);

-- The schema of what nobody calls by name: sql/schema.sql.

CREATE SCHEMA dp_mean;
COMMENT ON SCHEMA dp_mean IS
    'What works inside of the extension dp_mean: the state of its aggregates, and their support functions. '
    'Nobody needs a right on it.';
REVOKE ALL ON SCHEMA dp_mean FROM PUBLIC;

ALTER TYPE @extschema@.dp_state SET SCHEMA dp_mean;
COMMENT ON TYPE dp_mean.dp_state IS
    'The state of an aggregate of dp_mean: exact integers, 64 bytes; of a variance 80; of two columns 160; of vectors, '
    '8 or 16 more for each position; of means that find their bounds, up to 20 KB; of distinct ids, up to a bitmap, '
    'without the ids. '
    'It has no text (0A000) and no binary form: only the aggregates read it. For Citus it has a text, sealed with the '
    'keys that the servers share.';
ALTER TYPE dp_mean.dp_state SET (RECEIVE = NONE, SEND = NONE);
DROP FUNCTION @extschema@.dp_state_recv(internal);
DROP FUNCTION @extschema@.dp_state_send(dp_mean.dp_state);
DO $$
DECLARE
    inner_function regprocedure;
BEGIN
    FOR inner_function IN SELECT p.oid FROM pg_catalog.pg_proc p
        JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.objid = p.oid
            AND d.deptype = 'e'
        JOIN pg_catalog.pg_extension e ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
            AND d.refobjid = e.oid AND e.extname = 'dp_mean'
        WHERE p.proname ~ '^dp_(mechanism|state)_|_(trans|final)$'
    LOOP
        EXECUTE pg_catalog.format('ALTER FUNCTION %s SET SCHEMA dp_mean', inner_function);
    END LOOP;
END
$$;

-- Their arguments have names.

CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_in(input cstring) RETURNS dp_mechanism
    AS 'MODULE_PATHNAME', 'dp_mechanism_in' LANGUAGE C IMMUTABLE STRICT PARALLEL RESTRICTED;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_out(mech dp_mechanism) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_mechanism_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_recv(input internal) RETURNS dp_mechanism
    AS 'MODULE_PATHNAME', 'dp_mechanism_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_send(mech dp_mechanism) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_mechanism_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_lt(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_le(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_eq(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_ne(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_ge(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_gt(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mechanism_cmp(a dp_mechanism, b dp_mechanism) RETURNS integer
    AS 'MODULE_PATHNAME', 'dp_mechanism_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_state_in(input cstring) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_state_out(state dp_mean.dp_state) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_state_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_state_combine(a dp_mean.dp_state, b dp_mean.dp_state) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Each group begins with a state of no rows, which has a text: see sql/state.sql.

COMMENT ON FUNCTION dp_mean.dp_state_in(cstring) IS
    'of the empty text, the state of no rows; for the coordinator of Citus, what a worker has sealed; '
    'refuses all else: 0A000';
COMMENT ON FUNCTION dp_mean.dp_state_out(dp_mean.dp_state) IS
    'for a worker of Citus, the state sealed with the key of the servers; refuses all else: 0A000';

-- PostgreSQL's names.

ALTER AGGREGATE @extschema@.dp_variance(float8, float8, float8, float8) RENAME TO dp_var_pop;
ALTER AGGREGATE @extschema@.dp_variance(float8, float8, float8, float8, dp_mechanism) RENAME TO dp_var_pop;
ALTER AGGREGATE @extschema@.dp_stddev(float8, float8, float8, float8) RENAME TO dp_stddev_pop;
ALTER AGGREGATE @extschema@.dp_stddev(float8, float8, float8, float8, dp_mechanism) RENAME TO dp_stddev_pop;

-- Support functions have no comments any more.
DO $$
DECLARE
    support regprocedure;
BEGIN
    FOR support IN SELECT p.oid FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'dp_mean'::pg_catalog.regnamespace AND p.prokind = 'f'
            AND pg_catalog.obj_description(p.oid, 'pg_proc') LIKE 'support function%'
    LOOP
        EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS NULL', support);
    END LOOP;
END
$$;
