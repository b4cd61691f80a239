-- From 0.1.0 to 0.2.0: what changed. What is new, or was made anew, follows: the files of sql/subjects.

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
ALTER FUNCTION @extschema@.dp_mechanism_in(cstring) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_out(dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_recv(internal) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_send(dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_lt(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_le(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_eq(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_ne(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_ge(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_gt(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mechanism_cmp(dp_mechanism, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_state_in(cstring) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_state_out(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_state_combine(dp_mean.dp_state, dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mean_trans(dp_mean.dp_state, float8, float8, float8, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mean_trans(dp_mean.dp_state, float8, float8, float8, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mean_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_mean_and_count_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_sum_trans(dp_mean.dp_state, float8, float8, float8, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_sum_trans(dp_mean.dp_state, float8, float8, float8, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_sum_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_count_rows_trans(dp_mean.dp_state, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_count_trans(dp_mean.dp_state, "any", float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_count_trans(dp_mean.dp_state, "any", float8, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_count_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_variance_trans(dp_mean.dp_state, float8, float8, float8, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_variance_trans(dp_mean.dp_state, float8, float8, float8, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_variance_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_stddev_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_counts_trans(dp_mean.dp_state, float8, dp_mechanism, "any") SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_counts_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_sums_trans(dp_mean.dp_state, float8[], float8, float8, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_sums_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_means_trans(dp_mean.dp_state, float8[], float8, float8, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_means_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_histogram_trans(dp_mean.dp_state, float8, float8, float8, integer, float8)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_histogram_trans(dp_mean.dp_state, float8, float8, float8, integer, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_histogram_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_bounds_trans(dp_mean.dp_state, float8, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_bounds_trans(dp_mean.dp_state, float8, float8, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_bounds_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_clamped_trans(dp_mean.dp_state, float8, float8, float8, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_clamped_trans(dp_mean.dp_state, float8, float8, float8, float8, dp_mechanism)
    SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_clamped_final(dp_mean.dp_state) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_keep_trans(dp_mean.dp_state, float8, float8) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_keep_trans(dp_mean.dp_state, float8, float8, dp_mechanism) SET SCHEMA dp_mean;
ALTER FUNCTION @extschema@.dp_keep_final(dp_mean.dp_state) SET SCHEMA dp_mean;

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
CREATE OR REPLACE FUNCTION dp_mean.dp_mean_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_mean_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mean_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_mean_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mean_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_mean_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_mean_and_count_final(state dp_mean.dp_state) RETURNS dp_mean_answer
    AS 'MODULE_PATHNAME', 'dp_mean_and_count_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_sum_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_sum_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_sum_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_sum_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_sum_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_sum_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_count_rows_trans(state dp_mean.dp_state, eps float8) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_rows_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_count_trans(state dp_mean.dp_state, x "any", eps float8) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_count_trans(state dp_mean.dp_state, x "any", eps float8, mech dp_mechanism)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_count_final(state dp_mean.dp_state) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_count_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_variance_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_variance_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_variance_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_variance_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_stddev_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_stddev_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_counts_trans(
    state dp_mean.dp_state, eps float8, mech dp_mechanism, VARIADIC questions "any"
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_counts_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
CREATE OR REPLACE FUNCTION dp_mean.dp_counts_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_counts_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_sums_trans(
    state dp_mean.dp_state, x float8[], lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_sums_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
CREATE OR REPLACE FUNCTION dp_mean.dp_sums_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_sums_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_means_trans(
    state dp_mean.dp_state, x float8[], lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_means_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
CREATE OR REPLACE FUNCTION dp_mean.dp_means_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_means_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_histogram_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, buckets integer, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_histogram_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_histogram_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, buckets integer, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_histogram_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_histogram_final(state dp_mean.dp_state) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'dp_histogram_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_bounds_trans(state dp_mean.dp_state, x float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_bounds_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_bounds_trans(state dp_mean.dp_state, x float8, eps float8, mech dp_mechanism)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_bounds_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_bounds_final(state dp_mean.dp_state) RETURNS dp_bounds_answer
    AS 'MODULE_PATHNAME', 'dp_bounds_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_clamped_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_clamped_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_clamped_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_clamped_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_clamped_final(state dp_mean.dp_state) RETURNS dp_clamped_answer
    AS 'MODULE_PATHNAME', 'dp_clamped_final' LANGUAGE C VOLATILE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_keep_trans(state dp_mean.dp_state, eps float8, delta float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_keep_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_keep_trans(state dp_mean.dp_state, eps float8, delta float8, mech dp_mechanism)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_keep_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE OR REPLACE FUNCTION dp_mean.dp_keep_final(state dp_mean.dp_state) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_keep_final' LANGUAGE C VOLATILE PARALLEL SAFE;

-- Comments that say more.

COMMENT ON AGGREGATE @extschema@.dp_mean(float8, float8, float8, float8, dp_mechanism) IS
    'Private mean of x clamped to [lo, hi] by the mechanism mech, in the unit of x: hourglass, laplace, staircase, '
    'gaussian (with its own budget), shifted or independent; smooth and clipped(n=), which have no bias for rows '
    'between the bounds; symmetric(delta=, scale=) and symmetric_known_n, which have none for rows of a symmetric '
    'distribution, take NULL for lo and hi, and answer NULL where they find no place for the mean; auto, which finds '
    'the bounds by itself, between lo and hi or, where both are NULL, anywhere; or, if '
    'dp_mean.allow_pathological is on (else 42501), hybrid and name_and_shame, which show rows. '
    'See dp_mechanisms(), and dp_mean_plan for their errors. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row (with an n=, by replacing one); each GROUP BY group is one release, and disjoint groups '
    'together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and lo and hi beside scale=; with auto both may be) or depend on the rows: 22023, the same with and '
    'without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023.';
COMMENT ON AGGREGATE @extschema@.dp_mean_and_count(float8, float8, float8, float8, dp_mechanism) IS
    'Private mean of x clamped to [lo, hi] and the noisy number of rows, from one release of the mechanism mech, one '
    'of those of dp_mean, which says what it promises; see dp_mechanisms(). '
    'The count is NULL with smooth, and n itself with mechanisms that have an n=; the mean is NULL where symmetric '
    'finds no place for it. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row (with an n=, by replacing one); each GROUP BY group is one release, and disjoint groups '
    'together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and lo and hi beside scale=; with auto both may be) or depend on the rows: 22023, the same with and '
    'without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023.';
COMMENT ON AGGREGATE @extschema@.dp_sum(float8, float8, float8, float8, dp_mechanism) IS
    'Private sum of x clamped to [lo, hi] by the mechanism mech, in the unit of x: staircase, laplace, gaussian (with '
    'its own budget) or auto, which finds the bounds by itself, between lo and hi or, where both are NULL, anywhere; '
    'see dp_mechanisms(). '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and with auto lo and hi both may be) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Geng, Viswanath 2014; Dwork, McSherry, Nissim, Smith 2006.';

-- Each group begins with a state of no rows, which has a text: see sql/state.sql.

COMMENT ON FUNCTION dp_mean.dp_state_in(cstring) IS
    'of the empty text, the state of no rows; for the coordinator of Citus, what a worker has sealed; '
    'refuses all else: 0A000';
COMMENT ON FUNCTION dp_mean.dp_state_out(dp_mean.dp_state) IS
    'for a worker of Citus, the state sealed with the key of the servers; refuses all else: 0A000';
CREATE OR REPLACE AGGREGATE @extschema@.dp_mean(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_mean(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_mean_and_count(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_and_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_mean_and_count(
    x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_and_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_sum(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_sum_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_sum_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_sum(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_sum_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_sum_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_count(eps float8) (
    SFUNC = dp_mean.dp_count_rows_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_count(x "any", eps float8) (
    SFUNC = dp_mean.dp_count_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_count(x "any", eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_count_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_keep(eps float8, delta float8) (
    SFUNC = dp_mean.dp_keep_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_keep_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_keep(eps float8, delta float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_keep_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_keep_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
ALTER AGGREGATE @extschema@.dp_variance(float8, float8, float8, float8) RENAME TO dp_var_pop;
ALTER AGGREGATE @extschema@.dp_variance(float8, float8, float8, float8, dp_mechanism) RENAME TO dp_var_pop;
ALTER AGGREGATE @extschema@.dp_stddev(float8, float8, float8, float8) RENAME TO dp_stddev_pop;
ALTER AGGREGATE @extschema@.dp_stddev(float8, float8, float8, float8, dp_mechanism) RENAME TO dp_stddev_pop;

CREATE OR REPLACE AGGREGATE @extschema@.dp_var_pop(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_var_pop(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_stddev_pop(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_stddev_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_stddev_pop(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_stddev_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_counts(eps float8, mech dp_mechanism, VARIADIC questions "any") (
    SFUNC = dp_mean.dp_counts_trans, STYPE = dp_mean.dp_state, SSPACE = 576,
    FINALFUNC = dp_mean.dp_counts_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_sums(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_sums_trans, STYPE = dp_mean.dp_state, SSPACE = 1088,
    FINALFUNC = dp_mean.dp_sums_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_means(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_means_trans, STYPE = dp_mean.dp_state, SSPACE = 1088,
    FINALFUNC = dp_mean.dp_means_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_histogram(x float8, lo float8, hi float8, buckets integer, eps float8) (
    SFUNC = dp_mean.dp_histogram_trans, STYPE = dp_mean.dp_state, SSPACE = 576,
    FINALFUNC = dp_mean.dp_histogram_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_histogram(
    x float8, lo float8, hi float8, buckets integer, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_histogram_trans, STYPE = dp_mean.dp_state, SSPACE = 576,
    FINALFUNC = dp_mean.dp_histogram_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_bounds(x float8, eps float8) (
    SFUNC = dp_mean.dp_bounds_trans, STYPE = dp_mean.dp_state, SSPACE = 2120,
    FINALFUNC = dp_mean.dp_bounds_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_bounds(x float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_bounds_trans, STYPE = dp_mean.dp_state, SSPACE = 2120,
    FINALFUNC = dp_mean.dp_bounds_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_clamped(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_clamped_trans, STYPE = dp_mean.dp_state, SSPACE = 88,
    FINALFUNC = dp_mean.dp_clamped_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
CREATE OR REPLACE AGGREGATE @extschema@.dp_clamped(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_clamped_trans, STYPE = dp_mean.dp_state, SSPACE = 88,
    FINALFUNC = dp_mean.dp_clamped_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE @extschema@.dp_var_pop(float8, float8, float8, float8, dp_mechanism) IS
    'Private population variance of x clamped to [lo, hi], in the square of the unit of x, by the mechanism mech: '
    'laplace, gaussian (with its own budget) or auto, which finds the bounds by itself, between lo and hi or, where '
    'both are NULL, anywhere; with sample=yes of the sample variance, n / (n - 1) times as large; '
    'see dp_mechanisms(); never NULL: without rows it is noise. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and with auto lo and hi both may be) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';
COMMENT ON AGGREGATE @extschema@.dp_stddev_pop(float8, float8, float8, float8, dp_mechanism) IS
    'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_var_pop '
    'releases, by the mechanism mech: laplace, gaussian (with its own budget) or auto, which finds the bounds by '
    'itself, between lo and hi or, where both are NULL, anywhere; with sample=yes of the sample variance, n / (n - 1) '
    'times as large; see dp_mechanisms(); never NULL: without rows it is noise. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and with auto lo and hi both may be) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

-- Said in other words.
COMMENT ON AGGREGATE @extschema@.dp_clamped(float8, float8, float8, float8, dp_mechanism) IS
    'What these bounds would clamp, by the mechanism mech, geometric: as without mech; with rows= and groups= eps is '
    'what a person with that many rows spends. Counts can be negative. eps-differentially private for neighbours that '
    'differ by adding or removing one row, all three counts together; each GROUP BY group is one release, and '
    'disjoint groups together cost eps once. NULL and NaN in x are ignored; infinities are below or above. lo < hi '
    'finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with '
    'and without rows. Sources: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.';
COMMENT ON AGGREGATE @extschema@.dp_histogram(float8, float8, float8, integer, float8) IS
    'Private histogram of x: the number of rows in each of several buckets of equal width between lo and hi, an array '
    'of bigint; never NULL: without rows, and in empty buckets, it is noise. Bucket i (from 1) holds x from edge i, '
    'included, to edge i + 1, not included: dp_histogram_edges(lo, hi, buckets) has the edges. Values below lo go to '
    'the first bucket, hi and values above to the last. eps-differentially private for neighbours that differ by '
    'adding or removing one row, all buckets together; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. Counts can be negative. NULL and NaN in x are ignored. lo < hi finite; buckets from 1 to '
    '100000, none narrower than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, buckets, eps, mech may be '
    'NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric: two-sided geometric '
    'noise on each count (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009).';
COMMENT ON AGGREGATE @extschema@.dp_keep(float8, float8, dp_mechanism) IS
    'Whether a group may be shown by the mechanism mech, keep(rows=, groups=): for people with at most rows= rows in '
    'each of at most groups= groups, 1 to 1000000 each, 1 by default; then (eps, delta)-differentially private for '
    'neighbours that differ by all rows of one person. The query must make sure that no person has more. Otherwise as '
    'dp_keep(eps, delta).';
COMMENT ON AGGREGATE @extschema@.dp_stddev_pop(float8, float8, float8, float8) IS
    'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_var_pop '
    'releases; from 0 to (hi - lo) / 2, never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same '
    'with and without rows. '
    'Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

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
