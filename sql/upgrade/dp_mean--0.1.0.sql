-- dp_mean: differentially private means, sums, counts, variances, histograms and bounds.
--
-- Support functions and the state type are shut to PUBLIC at the end of this file: a state holds
-- the true sum and count. Aggregates run their support functions with their owner's right, so
-- analysts need nothing but the aggregates.

\echo Use "CREATE EXTENSION dp_mean" to load this file. \quit

-- dp_mechanism: the name of a mechanism and its parameters -------------------------------------

CREATE TYPE dp_mechanism;
COMMENT ON TYPE dp_mechanism IS
'A mechanism and its parameters: name, or name(key=value, ...). A literal is checked where the query is parsed; an unknown name or key raises 22023 with the known ones in the HINT. dp_mechanisms() lists them.';

-- Restricted: a cast that is computed for each row would raise its error in a parallel worker, which would reveal a row.
CREATE FUNCTION dp_mechanism_in(cstring) RETURNS dp_mechanism
AS 'MODULE_PATHNAME', 'dp_mechanism_in' LANGUAGE C IMMUTABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION dp_mechanism_in(cstring) IS 'input of dp_mechanism; 22023 for a text that names no mechanism';

CREATE FUNCTION dp_mechanism_out(dp_mechanism) RETURNS cstring
AS 'MODULE_PATHNAME', 'dp_mechanism_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_out(dp_mechanism) IS 'output of dp_mechanism: its canonical text';

CREATE FUNCTION dp_mechanism_recv(internal) RETURNS dp_mechanism
AS 'MODULE_PATHNAME', 'dp_mechanism_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_recv(internal) IS 'binary input of dp_mechanism: its text';

CREATE FUNCTION dp_mechanism_send(dp_mechanism) RETURNS bytea
AS 'MODULE_PATHNAME', 'dp_mechanism_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_send(dp_mechanism) IS 'binary output of dp_mechanism: its canonical text';

CREATE TYPE dp_mechanism (
    INPUT = dp_mechanism_in,
    OUTPUT = dp_mechanism_out,
    RECEIVE = dp_mechanism_recv,
    SEND = dp_mechanism_send,
    INTERNALLENGTH = VARIABLE,
    STORAGE = extended
);

-- Drivers send text or varchar parameters; each needs a cast of its own.
CREATE CAST (text AS dp_mechanism) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (text AS dp_mechanism) IS 'for drivers that send the mechanism as a text parameter';
CREATE CAST (varchar AS dp_mechanism) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (varchar AS dp_mechanism) IS 'for drivers that send the mechanism as a varchar parameter';

-- An order (that of the canonical text, byte by byte): without one, PostgreSQL refuses
-- dp_mean(DISTINCT ...).

CREATE FUNCTION dp_mechanism_lt(dp_mechanism, dp_mechanism) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_mechanism_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_lt(dp_mechanism, dp_mechanism) IS 'implements operator <: less than, by the canonical text';

CREATE FUNCTION dp_mechanism_le(dp_mechanism, dp_mechanism) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_mechanism_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_le(dp_mechanism, dp_mechanism) IS 'implements operator <=: less than or equal, by the canonical text';

CREATE FUNCTION dp_mechanism_eq(dp_mechanism, dp_mechanism) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_mechanism_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_eq(dp_mechanism, dp_mechanism) IS 'implements operator =: equal, by the canonical text';

CREATE FUNCTION dp_mechanism_ne(dp_mechanism, dp_mechanism) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_mechanism_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_ne(dp_mechanism, dp_mechanism) IS 'implements operator <>: not equal, by the canonical text';

CREATE FUNCTION dp_mechanism_ge(dp_mechanism, dp_mechanism) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_mechanism_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_ge(dp_mechanism, dp_mechanism) IS 'implements operator >=: greater than or equal, by the canonical text';

CREATE FUNCTION dp_mechanism_gt(dp_mechanism, dp_mechanism) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_mechanism_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_gt(dp_mechanism, dp_mechanism) IS 'implements operator >: greater than, by the canonical text';

CREATE FUNCTION dp_mechanism_cmp(dp_mechanism, dp_mechanism) RETURNS integer
AS 'MODULE_PATHNAME', 'dp_mechanism_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mechanism_cmp(dp_mechanism, dp_mechanism) IS '-1, 0 or 1: the order of the canonical texts, byte by byte';

CREATE OPERATOR < (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mechanism_lt,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (dp_mechanism, dp_mechanism) IS 'less than, by the canonical text';

CREATE OPERATOR <= (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mechanism_le,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (dp_mechanism, dp_mechanism) IS 'less than or equal, by the canonical text';

CREATE OPERATOR = (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mechanism_eq,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (dp_mechanism, dp_mechanism) IS 'equal, by the canonical text';

CREATE OPERATOR <> (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mechanism_ne,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (dp_mechanism, dp_mechanism) IS 'not equal, by the canonical text';

CREATE OPERATOR >= (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mechanism_ge,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (dp_mechanism, dp_mechanism) IS 'greater than or equal, by the canonical text';

CREATE OPERATOR > (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mechanism_gt,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (dp_mechanism, dp_mechanism) IS 'greater than, by the canonical text';

CREATE OPERATOR CLASS dp_mechanism_ops DEFAULT FOR TYPE dp_mechanism USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 dp_mechanism_cmp(dp_mechanism, dp_mechanism);
COMMENT ON OPERATOR CLASS dp_mechanism_ops USING btree IS 'the order of the canonical texts; DISTINCT needs it';
COMMENT ON OPERATOR FAMILY dp_mechanism_ops USING btree IS 'the order of the canonical texts; DISTINCT needs it';

CREATE FUNCTION dp_mechanisms(
    OUT aggregate text, OUT mechanism text, OUT is_default boolean, OUT guarantee text,
    OUT neighbours text, OUT parameters text, OUT example text, OUT source text
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'dp_mechanisms_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 36;
COMMENT ON FUNCTION dp_mechanisms() IS
'The mechanisms of each aggregate: which is the default, its guarantee, its neighbours (what two tables may differ by), its parameters, a text that works, and the paper it comes from.';

-- dp_state: what an aggregate keeps for a group ------------------------------------------------

CREATE TYPE dp_state;
COMMENT ON TYPE dp_state IS
'The state of an aggregate of dp_mean: exact integers, 64 bytes; of a variance 80; of vectors, 8 or 16 more for each position. It has no text or binary form (0A000): only the aggregates read it.';

CREATE FUNCTION dp_state_in(cstring) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_state_in(cstring) IS 'refuses: 0A000';

CREATE FUNCTION dp_state_out(dp_state) RETURNS cstring
AS 'MODULE_PATHNAME', 'dp_state_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_state_out(dp_state) IS 'refuses: 0A000';

CREATE FUNCTION dp_state_recv(internal) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_state_recv(internal) IS 'refuses: 0A000';

CREATE FUNCTION dp_state_send(dp_state) RETURNS bytea
AS 'MODULE_PATHNAME', 'dp_state_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_state_send(dp_state) IS 'refuses: 0A000';

CREATE TYPE dp_state (
    INPUT = dp_state_in,
    OUTPUT = dp_state_out,
    RECEIVE = dp_state_recv,
    SEND = dp_state_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = plain
);

CREATE FUNCTION dp_state_combine(dp_state, dp_state) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_state_combine(dp_state, dp_state) IS 'support function of the aggregates: one state for the rows of two';

-- dp_mean --------------------------------------------------------------------------------------

CREATE FUNCTION dp_mean_trans(dp_state, float8, float8, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_mean_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_trans(dp_state, float8, float8, float8, float8) IS 'support function of dp_mean: takes in one row';

CREATE FUNCTION dp_mean_trans(dp_state, float8, float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_mean_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_trans(dp_state, float8, float8, float8, float8, dp_mechanism) IS 'support function of dp_mean: takes in one row';

CREATE FUNCTION dp_mean_final(dp_state) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_mean_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_final(dp_state) IS 'support function of dp_mean: draws noise and answers';

CREATE AGGREGATE dp_mean(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean(float8, float8, float8, float8) IS
'Private mean of x clamped to [lo, hi], in the unit of x; never outside [lo, hi], never NULL: without rows it is noise. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism hourglass: min-max optimal (Kulesza, Suresh, Wang 2024, Algorithm 3 and Theorem 3).';

CREATE AGGREGATE dp_mean(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean(float8, float8, float8, float8, dp_mechanism) IS
'Private mean of x clamped to [lo, hi] by the mechanism mech, in the unit of x: hourglass, laplace, staircase, gaussian (with its own budget), shifted or independent; smooth and clipped(n=), which have no bias for rows between the bounds; symmetric(delta=, scale=) and symmetric_known_n, which have none for rows of a symmetric distribution, take NULL for lo and hi, and answer NULL where they find no place for the mean; or, if dp_mean.allow_pathological is on (else 42501), hybrid and name_and_shame, which show rows. See dp_mechanisms(), and dp_mean_plan for their errors. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row (with an n=, by replacing one); each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or rho=, and lo and hi beside scale=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023.';

CREATE TYPE dp_mean_answer AS (mean float8, count float8);
COMMENT ON TYPE dp_mean_answer IS
'The answer of dp_mean_and_count: the private mean, and the noisy number of rows from the same release.';
COMMENT ON COLUMN dp_mean_answer.mean IS 'the private mean, inside [lo, hi]';
COMMENT ON COLUMN dp_mean_answer.count IS 'the noisy number of non-NULL rows; it can be negative or a fraction';

CREATE FUNCTION dp_mean_and_count_final(dp_state) RETURNS dp_mean_answer
AS 'MODULE_PATHNAME', 'dp_mean_and_count_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_and_count_final(dp_state) IS 'support function of dp_mean_and_count: draws noise and answers';

CREATE AGGREGATE dp_mean_and_count(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_and_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean_and_count(float8, float8, float8, float8) IS
'Private mean of x clamped to [lo, hi], and the noisy number of rows that the same release gives at no further cost. The variance of that count is about twice that of dp_count at the same small eps, 3.4 times at eps 4. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism hourglass (Kulesza, Suresh, Wang 2024, Algorithm 3).';

CREATE AGGREGATE dp_mean_and_count(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_and_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean_and_count(float8, float8, float8, float8, dp_mechanism) IS
'Private mean of x clamped to [lo, hi] and the noisy number of rows, from one release of the mechanism mech, one of those of dp_mean, which says what it promises; see dp_mechanisms(). The count is NULL with smooth, and n itself with mechanisms that have an n=; the mean is NULL where symmetric finds no place for it. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row (with an n=, by replacing one); each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or rho=, and lo and hi beside scale=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023.';

-- dp_sum ---------------------------------------------------------------------------------------

CREATE FUNCTION dp_sum_trans(dp_state, float8, float8, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_sum_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_trans(dp_state, float8, float8, float8, float8) IS 'support function of dp_sum: takes in one row';

CREATE FUNCTION dp_sum_trans(dp_state, float8, float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_sum_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_trans(dp_state, float8, float8, float8, float8, dp_mechanism) IS 'support function of dp_sum: takes in one row';

CREATE FUNCTION dp_sum_final(dp_state) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_sum_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_final(dp_state) IS 'support function of dp_sum: draws noise and answers';

CREATE AGGREGATE dp_sum(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_sum_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_sum_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sum(float8, float8, float8, float8) IS
'Private sum of x clamped to [lo, hi], in the unit of x; never NULL: without rows it is noise. Its sensitivity is the larger of |lo| and |hi|. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism staircase: the least variance (Geng, Viswanath 2014).';

CREATE AGGREGATE dp_sum(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_sum_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_sum_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sum(float8, float8, float8, float8, dp_mechanism) IS
'Private sum of x clamped to [lo, hi] by the mechanism mech, in the unit of x: staircase, laplace or gaussian (with its own budget); see dp_mechanisms(). eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Geng, Viswanath 2014; Dwork, McSherry, Nissim, Smith 2006.';

-- dp_count -------------------------------------------------------------------------------------

CREATE FUNCTION dp_count_rows_trans(dp_state, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_rows_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_rows_trans(dp_state, float8) IS 'support function of dp_count: takes in one row';

CREATE FUNCTION dp_count_trans(dp_state, "any", float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_trans(dp_state, "any", float8) IS 'support function of dp_count: takes in one row';

CREATE FUNCTION dp_count_trans(dp_state, "any", float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_trans(dp_state, "any", float8, dp_mechanism) IS 'support function of dp_count: takes in one row';

CREATE FUNCTION dp_count_final(dp_state) RETURNS bigint
AS 'MODULE_PATHNAME', 'dp_count_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_final(dp_state) IS 'support function of dp_count: draws noise and answers';

CREATE AGGREGATE dp_count(eps float8) (
    SFUNC = dp_count_rows_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count(float8) IS
'Private number of rows; never NULL. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. It can be negative: greatest(dp_count(...), 0) is as private, but biased. 2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

CREATE AGGREGATE dp_count(x "any", eps float8) (
    SFUNC = dp_count_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count("any", float8) IS
'Private number of rows where x is not NULL (x of any type; a constant counts all rows); never NULL. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. It can be negative: greatest(dp_count(...), 0) is as private, but biased. 2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

CREATE AGGREGATE dp_count(x "any", eps float8, mech dp_mechanism) (
    SFUNC = dp_count_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count("any", float8, dp_mechanism) IS
'Private number of rows where x is not NULL by the mechanism mech, geometric, gaussian (with its own budget) or undercount(delta=), which is never above it; never NULL. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. It can be negative: greatest(dp_count(...), 0) is as private, but biased. 2^-20 <= eps <= 50; eps and mech may not be NULL (but eps must be, beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

-- dp_keep --------------------------------------------------------------------------------------

CREATE FUNCTION dp_keep_trans(dp_state, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_keep_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_keep_trans(dp_state, float8, float8) IS 'support function of dp_keep: takes in one row';

CREATE FUNCTION dp_keep_trans(dp_state, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_keep_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_keep_trans(dp_state, float8, float8, dp_mechanism) IS 'support function of dp_keep: takes in one row';

CREATE FUNCTION dp_keep_final(dp_state) RETURNS boolean
AS 'MODULE_PATHNAME', 'dp_keep_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_keep_final(dp_state) IS 'support function of dp_keep: tosses the coin and answers';

CREATE AGGREGATE dp_keep(eps float8, delta float8) (
    SFUNC = dp_keep_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_keep_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_keep(float8, float8) IS
'Whether a group may be shown, for HAVING: true with the largest probability that privacy allows for its number of rows, false without rows; never NULL. (eps, delta)-differentially private for neighbours that differ by adding or removing one row, and so is the list of all groups that are kept; the cost of the aggregates beside it is added. eps and delta: constants, parameters or sub-selects, never NULL, never dependent on rows; eps from 2^-20 to 50, delta above 0 and below 1. Errors: 22023, the same with and without rows. Mechanism: keep, for people with one row in one group. Source: Desfontaines, Voss, Gipson, Mandayam 2022.';

CREATE AGGREGATE dp_keep(eps float8, delta float8, mech dp_mechanism) (
    SFUNC = dp_keep_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_keep_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_keep(float8, float8, dp_mechanism) IS
'Whether a group may be shown by the mechanism mech, keep(rows=, groups=): for people with at most so many rows in each of at most so many groups, 1 to 1000000 each, 1 by default; then (eps, delta)-differentially private for neighbours that differ by all rows of one person. The query must make sure that no person has more. Otherwise as dp_keep(eps, delta).';

-- dp_variance, dp_stddev --------------------------------------------------------------------------

CREATE FUNCTION dp_variance_trans(dp_state, float8, float8, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_variance_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_variance_trans(dp_state, float8, float8, float8, float8) IS 'support function of dp_variance: takes in one row';

CREATE FUNCTION dp_variance_trans(dp_state, float8, float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_variance_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_variance_trans(dp_state, float8, float8, float8, float8, dp_mechanism) IS 'support function of dp_variance: takes in one row';

CREATE FUNCTION dp_variance_final(dp_state) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_variance_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_variance_final(dp_state) IS 'support function of dp_variance: draws noise and answers';

CREATE AGGREGATE dp_variance(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_variance_trans, STYPE = dp_state, SSPACE = 80,
    FINALFUNC = dp_variance_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_variance(float8, float8, float8, float8) IS
'Private population variance of x clamped to [lo, hi], in the square of the unit of x; from 0 to (hi - lo)^2 / 4, never NULL: without rows it is noise. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

CREATE AGGREGATE dp_variance(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_variance_trans, STYPE = dp_state, SSPACE = 80,
    FINALFUNC = dp_variance_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_variance(float8, float8, float8, float8, dp_mechanism) IS
'Private population variance of x clamped to [lo, hi], in the square of the unit of x, by the mechanism mech: laplace or gaussian (with its own budget), with sample=yes of the sample variance, n / (n - 1) times as large; see dp_mechanisms(); never NULL: without rows it is noise. eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE FUNCTION dp_stddev_final(dp_state) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_stddev_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_stddev_final(dp_state) IS 'support function of dp_stddev: draws noise and answers';

CREATE AGGREGATE dp_stddev(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_variance_trans, STYPE = dp_state, SSPACE = 80,
    FINALFUNC = dp_stddev_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_stddev(float8, float8, float8, float8) IS
'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_variance releases; from 0 to (hi - lo) / 2, never NULL: without rows it is noise. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

CREATE AGGREGATE dp_stddev(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_variance_trans, STYPE = dp_state, SSPACE = 80,
    FINALFUNC = dp_stddev_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_stddev(float8, float8, float8, float8, dp_mechanism) IS
'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_variance releases, by the mechanism mech: laplace or gaussian (with its own budget), with sample=yes of the sample variance, n / (n - 1) times as large; see dp_mechanisms(); never NULL: without rows it is noise. eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE TYPE dp_variance_answer AS (variance float8, stddev float8, mean float8, count float8);
COMMENT ON TYPE dp_variance_answer IS
'The answer of dp_variance_estimate: the private variance, its root, the private mean and the noisy number of rows, from one release.';
COMMENT ON COLUMN dp_variance_answer.variance IS 'the private variance, as dp_variance answers';
COMMENT ON COLUMN dp_variance_answer.stddev IS 'its root, as dp_stddev answers';
COMMENT ON COLUMN dp_variance_answer.mean IS 'the private mean, inside [lo, hi]';
COMMENT ON COLUMN dp_variance_answer.count IS 'the noisy number of non-NULL rows; it can be negative or a fraction';

CREATE FUNCTION dp_variance_estimate_final(dp_state) RETURNS dp_variance_answer
AS 'MODULE_PATHNAME', 'dp_variance_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_variance_estimate_final(dp_state) IS 'support function of dp_variance_estimate: draws noise and answers';

CREATE AGGREGATE dp_variance_estimate(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_variance_trans, STYPE = dp_state, SSPACE = 80,
    FINALFUNC = dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_variance_estimate(float8, float8, float8, float8) IS
'Private population variance and standard deviation of x clamped to [lo, hi], their mean and their noisy number, all from one release, as a dp_variance_answer; each number is as dp_variance, dp_stddev and so on would answer, at no further cost. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

CREATE AGGREGATE dp_variance_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_variance_trans, STYPE = dp_state, SSPACE = 80,
    FINALFUNC = dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_variance_estimate(float8, float8, float8, float8, dp_mechanism) IS
'Private population variance and standard deviation of x clamped to [lo, hi], their mean and their noisy number, all from one release, by the mechanism mech: laplace or gaussian (with its own budget), with sample=yes of the sample variance, n / (n - 1) times as large; see dp_mechanisms(). The answer is a dp_variance_answer; each number is as dp_variance, dp_stddev and so on would answer, at no further cost. eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

-- Answers with their intervals ------------------------------------------------------------------

CREATE TYPE dp_mean_estimate_answer AS (
    value float8, lower float8, upper float8, count float8, epsilon float8, delta float8, mechanism dp_mechanism
);
COMMENT ON TYPE dp_mean_estimate_answer IS
'The answer of dp_mean_estimate: the private answer, an interval, and what the release cost. All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_mean_estimate_answer.value IS 'the private mean, as dp_mean answers';
COMMENT ON COLUMN dp_mean_estimate_answer.lower IS 'the lower end of an interval that holds what is estimated with at least the probability confidence';
COMMENT ON COLUMN dp_mean_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_mean_estimate_answer.count IS 'the noisy number of non-NULL rows, from the same release; it can be negative or a fraction';
COMMENT ON COLUMN dp_mean_estimate_answer.epsilon IS 'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_mean_estimate_answer.delta IS 'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_mean_estimate_answer.mechanism IS 'the mechanism of the release';

CREATE FUNCTION dp_mean_estimate_trans(dp_state, float8, float8, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_mean_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_estimate_trans(dp_state, float8, float8, float8, float8) IS 'support function of dp_mean_estimate: takes in one row';

CREATE FUNCTION dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_mean_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism) IS 'support function of dp_mean_estimate: takes in one row';

CREATE FUNCTION dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_mean_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8) IS 'support function of dp_mean_estimate: takes in one row';

CREATE FUNCTION dp_mean_estimate_final(dp_state) RETURNS dp_mean_estimate_answer
AS 'MODULE_PATHNAME', 'dp_mean_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_estimate_final(dp_state) IS 'support function of dp_mean_estimate: draws noise and answers';

CREATE AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean_estimate(float8, float8, float8, float8) IS
'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one release: (dp_mean_estimate(...)).* is one release too. The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the noisy number of rows is not positive. Mechanism hourglass; confidence 0.95. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';

CREATE AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean_estimate(float8, float8, float8, float8, dp_mechanism) IS
'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one release: (dp_mean_estimate(...)).* is one release too. The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the noisy number of rows is not positive. Mechanism mech: hourglass, laplace, staircase, gaussian, shifted, independent or clipped (of replaced rows); the others have no interval, which is 22023. confidence 0.95. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';

CREATE AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism, confidence float8) (
    SFUNC = dp_mean_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_mean_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_mean_estimate(float8, float8, float8, float8, dp_mechanism, float8) IS
'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one release: (dp_mean_estimate(...)).* is one release too. The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the noisy number of rows is not positive. Mechanism mech: hourglass, laplace, staircase, gaussian, shifted, independent or clipped (of replaced rows); the others have no interval, which is 22023. The interval misses with a probability of at most 1 - confidence. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';

CREATE TYPE dp_sum_estimate_answer AS (
    value float8, lower float8, upper float8, epsilon float8, delta float8, mechanism dp_mechanism
);
COMMENT ON TYPE dp_sum_estimate_answer IS
'The answer of dp_sum_estimate: the private answer, an interval, and what the release cost. All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_sum_estimate_answer.value IS 'the private sum, as dp_sum answers';
COMMENT ON COLUMN dp_sum_estimate_answer.lower IS 'the lower end of an interval that holds what is estimated with at least the probability confidence';
COMMENT ON COLUMN dp_sum_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_sum_estimate_answer.epsilon IS 'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_sum_estimate_answer.delta IS 'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_sum_estimate_answer.mechanism IS 'the mechanism of the release';

CREATE FUNCTION dp_sum_estimate_trans(dp_state, float8, float8, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_sum_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_estimate_trans(dp_state, float8, float8, float8, float8) IS 'support function of dp_sum_estimate: takes in one row';

CREATE FUNCTION dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_sum_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism) IS 'support function of dp_sum_estimate: takes in one row';

CREATE FUNCTION dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_sum_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8) IS 'support function of dp_sum_estimate: takes in one row';

CREATE FUNCTION dp_sum_estimate_final(dp_state) RETURNS dp_sum_estimate_answer
AS 'MODULE_PATHNAME', 'dp_sum_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sum_estimate_final(dp_state) IS 'support function of dp_sum_estimate: draws noise and answers';

CREATE AGGREGATE dp_sum_estimate(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_sum_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_sum_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sum_estimate(float8, float8, float8, float8) IS
'Private sum of x clamped to [lo, hi], with an interval around it, from one release: (dp_sum_estimate(...)).* is one release too. The interval holds the sum of the clamped rows with at least the probability confidence; where lo >= 0 it has no negative numbers, where hi <= 0 no positive ones. Mechanism staircase; confidence 0.95. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Geng, Viswanath 2014; Dong, Roth, Su 2022.';

CREATE AGGREGATE dp_sum_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_sum_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_sum_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sum_estimate(float8, float8, float8, float8, dp_mechanism) IS
'Private sum of x clamped to [lo, hi], with an interval around it, from one release: (dp_sum_estimate(...)).* is one release too. The interval holds the sum of the clamped rows with at least the probability confidence; where lo >= 0 it has no negative numbers, where hi <= 0 no positive ones. Mechanism mech: one of those of dp_sum. confidence 0.95. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Geng, Viswanath 2014; Dong, Roth, Su 2022.';

CREATE AGGREGATE dp_sum_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism, confidence float8) (
    SFUNC = dp_sum_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_sum_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sum_estimate(float8, float8, float8, float8, dp_mechanism, float8) IS
'Private sum of x clamped to [lo, hi], with an interval around it, from one release: (dp_sum_estimate(...)).* is one release too. The interval holds the sum of the clamped rows with at least the probability confidence; where lo >= 0 it has no negative numbers, where hi <= 0 no positive ones. Mechanism mech: one of those of dp_sum. The interval misses with a probability of at most 1 - confidence. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Geng, Viswanath 2014; Dong, Roth, Su 2022.';

CREATE TYPE dp_count_estimate_answer AS (
    value bigint, lower bigint, upper bigint, epsilon float8, delta float8, mechanism dp_mechanism
);
COMMENT ON TYPE dp_count_estimate_answer IS
'The answer of dp_count_estimate: the private answer, an interval, and what the release cost. All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_count_estimate_answer.value IS 'the private number, as dp_count answers';
COMMENT ON COLUMN dp_count_estimate_answer.lower IS 'the lower end of an interval that holds what is estimated with at least the probability confidence';
COMMENT ON COLUMN dp_count_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_count_estimate_answer.epsilon IS 'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_count_estimate_answer.delta IS 'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_count_estimate_answer.mechanism IS 'the mechanism of the release';

CREATE FUNCTION dp_count_estimate_rows_trans(dp_state, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_estimate_rows_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_estimate_rows_trans(dp_state, float8) IS 'support function of dp_count_estimate: takes in one row';

CREATE FUNCTION dp_count_estimate_trans(dp_state, "any", float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_estimate_trans(dp_state, "any", float8) IS 'support function of dp_count_estimate: takes in one row';

CREATE FUNCTION dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism) IS 'support function of dp_count_estimate: takes in one row';

CREATE FUNCTION dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_count_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism, float8) IS 'support function of dp_count_estimate: takes in one row';

CREATE FUNCTION dp_count_estimate_final(dp_state) RETURNS dp_count_estimate_answer
AS 'MODULE_PATHNAME', 'dp_count_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_count_estimate_final(dp_state) IS 'support function of dp_count_estimate: draws noise and answers';

CREATE AGGREGATE dp_count_estimate(eps float8) (
    SFUNC = dp_count_estimate_rows_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count_estimate(float8) IS
'Private number of rows, with an interval around it, from one release: (dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability confidence, and no negative numbers. Mechanism geometric; confidence 0.95. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

CREATE AGGREGATE dp_count_estimate(x "any", eps float8) (
    SFUNC = dp_count_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count_estimate("any", float8) IS
'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: (dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability confidence, and no negative numbers. Mechanism geometric; confidence 0.95. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

CREATE AGGREGATE dp_count_estimate(x "any", eps float8, mech dp_mechanism) (
    SFUNC = dp_count_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count_estimate("any", float8, dp_mechanism) IS
'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: (dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability confidence, and no negative numbers. Mechanism mech: one of those of dp_count (undercount is (eps, delta)-differentially private and never above the number, so that its answer lies below the interval or at its lower end). confidence 0.95. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

CREATE AGGREGATE dp_count_estimate(x "any", eps float8, mech dp_mechanism, confidence float8) (
    SFUNC = dp_count_estimate_trans, STYPE = dp_state, SSPACE = 64,
    FINALFUNC = dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_count_estimate("any", float8, dp_mechanism, float8) IS
'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: (dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability confidence, and no negative numbers. Mechanism mech: one of those of dp_count (undercount is (eps, delta)-differentially private and never above the number, so that its answer lies below the interval or at its lower end). The interval misses with a probability of at most 1 - confidence. eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

-- Budgets ---------------------------------------------------------------------------------------

CREATE FUNCTION dp_mu(eps float8, delta float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_mu_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mu(float8, float8) IS
'The largest mu for which mu-Gaussian differential privacy is (eps, delta)-differential privacy, rounded down; noise of a Gaussian mechanism has standard deviation sensitivity / mu. eps >= 0 and finite, 0 < delta < 1: else 22023. Balle, Wang 2018, Theorem 8.';

CREATE FUNCTION dp_delta(eps float8, mu float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_delta_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_delta(float8, float8) IS
'The smallest delta for which mu-Gaussian differential privacy is (eps, delta)-differential privacy, rounded up. eps >= 0 and mu > 0, finite: else 22023. Balle, Wang 2018, Theorem 8.';

CREATE FUNCTION dp_eps(delta float8, mu float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_eps_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_eps(float8, float8) IS
'The smallest eps for which mu-Gaussian differential privacy is (eps, delta)-differential privacy, rounded up. 0 < delta < 1, mu > 0 and finite: else 22023. Balle, Wang 2018, Theorem 8.';

CREATE FUNCTION dp_rho_of_mu(mu float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_rho_of_mu_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_rho_of_mu(float8) IS
'The rho of zero-concentrated differential privacy that a Gaussian mechanism with this mu has: mu^2 / 2, rounded up. mu > 0 and finite: else 22023. Bun, Steinke 2016, Proposition 1.6.';

CREATE FUNCTION dp_mu_of_rho(rho float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_mu_of_rho_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mu_of_rho(float8) IS
'The mu of a Gaussian mechanism with rho-zero-concentrated differential privacy: sqrt(2 rho), rounded down. rho > 0 and finite: else 22023. Bun, Steinke 2016, Proposition 1.6.';

CREATE FUNCTION dp_rdp_of_mu(mu float8, alpha float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_rdp_of_mu_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_rdp_of_mu(float8, float8) IS
'The eps of Renyi differential privacy of order alpha that a Gaussian mechanism with this mu has: alpha mu^2 / 2, rounded up. mu > 0, alpha > 1, finite: else 22023. Mironov 2017, Corollary 3.';

-- Planning with bias: public numbers in, public numbers out -------------------------------------

CREATE FUNCTION dp_clip_bias(moment float8, psi float8, c float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_clip_bias_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_clip_bias(float8, float8, float8) IS
'The largest bias, in the unit of the column, that clamping rows to bounds at least c from their mean can make, where E|x - mean|^moment <= psi^moment: kappa psi^moment / c^(moment - 1), with kappa = (moment - 1)^(moment - 1) / moment^moment. psi and c are in the unit of the column; it looks at no data. moment > 1, psi > 0, c > 0, finite, and so is the bias: else 22023. Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Lemma 3.2.';

CREATE FUNCTION dp_clip_radius(moment float8, psi float8, beta float8) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_clip_radius_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_clip_radius(float8, float8, float8) IS
'How far from the mean the bounds must be so that clamping has a bias of at most beta, where E|x - mean|^moment <= psi^moment: the c at which dp_clip_bias(moment, psi, c) is beta. psi, beta and the answer are in the unit of the column; for a mean in [a, b] clamp to [a - c, b + c]. It looks at no data. moment > 1, psi > 0, beta > 0, finite, and so is the radius: else 22023. Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Lemma 3.2.';

CREATE FUNCTION dp_trilemma(
    n float8, eps float8, delta float8, beta float8,
    OUT least_rmse float8, OUT sampling_rmse float8, OUT privacy_rmse float8, OUT possible boolean
) RETURNS record
AS 'MODULE_PATHNAME', 'dp_trilemma' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_trilemma(float8, float8, float8, float8) IS
'The least root mean squared error, in standard deviations of the rows, that any mean of n rows can have that is (eps, delta)-differentially private (neighbours by replacing one row) and has a bias of at most beta standard deviations, for all distributions of rows with mean in [0, 1] and variance at most 1: one row, with what no method can beat (sampling_rmse), what bias and privacy together cost (privacy_rmse; 0 where beta > 1/80, of which the theorem says nothing), the larger of the two, and whether there can be such a method: with delta = 0 and beta = 0 there is none, and the errors are infinite. The constants are loose: it says what is impossible, not what is possible. It looks at no data. n >= 1, eps > 0, 0 <= delta < 1, beta >= 0, finite: else 22023. Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Theorems 2.4 and 1.5, Proposition A.1.';

CREATE FUNCTION dp_mean_error(
    n float8, lo float8, hi float8, eps float8,
    mech dp_mechanism DEFAULT 'hourglass', confidence float8 DEFAULT 0.95,
    OUT rmse float8, OUT half_width float8
) RETURNS record
AS 'MODULE_PATHNAME', 'dp_mean_error' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_error(float8, float8, float8, float8, dp_mechanism, float8) IS
'What to expect of one dp_mean of n rows, before anything is spent: the root mean squared error of the answer about the mean of the clamped rows, and half of the width of the interval of dp_mean_estimate (NULL with mechanisms that have none), both in the unit of the column and at the worst place the mean can have between lo and hi (where there are no bounds, of the noise alone). rmse is right to 2% from n * eps = 20 on, and above the truth by an eighth at most at n * eps = 5; it knows that an answer is kept between the bounds, so it is below the noise_sd of dp_mean_plan where rows are few, and the one to use for how far off an answer will be; half_width is to leading order in 1/n. n is a public number of rows to plan with; it looks at no data. n a whole number from 1 to 2^53 - 1; the others as for dp_mean_estimate: else 22023. Sources: Kulesza, Suresh, Wang 2024, Theorem 4, for the least error there is; the mechanisms'' own for their noise.';

CREATE FUNCTION dp_epsilon_for(
    n float8, lo float8, hi float8, rmse float8, mech dp_mechanism DEFAULT 'hourglass'
) RETURNS float8
AS 'MODULE_PATHNAME', 'dp_epsilon_for' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_epsilon_for(float8, float8, float8, float8, dp_mechanism) IS
'The smallest eps at which one dp_mean of n rows has a root mean squared error of at most rmse, in the unit of the column: where dp_mean_error(n, lo, hi, eps, mech) is rmse, to a relative 1e-6 above it. From 2^-20 to 50; 22023 where no eps up to 50 reaches rmse, and where the budget of mech is mu= or rho=. n is a public number of rows to plan with; it looks at no data. n a whole number from 1 to 2^53 - 1, rmse > 0 and finite; lo, hi, mech as for dp_mean: else 22023. Sources: as for dp_mean_error.';

CREATE FUNCTION dp_mean_plan(
    n float8, eps float8, lo float8, hi float8,
    delta float8 DEFAULT NULL, moment float8 DEFAULT NULL, psi float8 DEFAULT NULL
) RETURNS TABLE (
    mechanism text, noise_sd float8, bias_bound float8, rmse_bound float8, null_bound float8,
    neighbours text, guarantee text, needs text
)
AS 'MODULE_PATHNAME', 'dp_mean_plan_wrapper' LANGUAGE C STABLE PARALLEL SAFE ROWS 13;
COMMENT ON FUNCTION dp_mean_plan(float8, float8, float8, float8, float8, float8, float8) IS
'How accurate each mechanism of dp_mean will be, to ORDER BY rmse_bound: its text, ready to be the argument mech (with NULL for lo and hi where it has a scale); the standard deviation of its noise, the largest over where the mean can lie, a bound on its bias and one on its root mean squared error (rows, noise and bias together, about the mean of the population), all in the unit of the column and to leading order in 1/n; a bound on the probability that it answers NULL (symmetric, where no place is found); its neighbours and its guarantee; and what its bounds ask of the rows. noise_sd is that of the noise before an answer is kept between the bounds, so it is for comparing mechanisms; how far off one answer will be is what dp_mean_error says: the same to 1% from n * eps = 1000 on, 6% less at 100, 14% less at 29. Without moment and psi: that the rows lie between lo and hi. With both, that E|x - mean|^moment <= psi^moment and that the mean lies in the middle of lo and hi; rows outside are clamped. A row that needs a number that was not given (delta, moment and psi) has NULL for numbers, and says so in needs. n is a public number of rows to plan with; it looks at no data. n a whole number from 1 to 2^53 - 1; eps, lo and hi as for dp_mean; 0 < delta < 1; moment >= 2, psi > 0, one of them not without the other: else 22023. Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Lemma 3.2, Propositions 3.5 to 3.7; the mechanisms'' own sources for their noise.';

-- dp_counts --------------------------------------------------------------------------------------

CREATE TYPE dp_vector_answer AS (
    estimates float8[], total float8,
    sd float8, covariance float8, total_sd float8, total_covariance float8
);
COMMENT ON TYPE dp_vector_answer IS
'The answer of dp_counts_estimate and dp_sums_estimate: noisy numbers, and how uncertain the noise makes them. All but estimates and total are public: they follow from the arguments.';
COMMENT ON COLUMN dp_vector_answer.estimates IS 'the noisy counts or sums, one for each position';
COMMENT ON COLUMN dp_vector_answer.total IS 'the noisy number of rows from the same release, at no further cost; the given one of known_n; NULL where the mechanism has none';
COMMENT ON COLUMN dp_vector_answer.sd IS 'the standard deviation of the noise in each of the estimates';
COMMENT ON COLUMN dp_vector_answer.covariance IS 'the covariance of the noise in two of the estimates: their difference has variance 2 (sd^2 - covariance)';
COMMENT ON COLUMN dp_vector_answer.total_sd IS 'the standard deviation of the noise in the total';
COMMENT ON COLUMN dp_vector_answer.total_covariance IS 'the covariance of the noise in the total and in one of the estimates';

-- COST: one row may cost what dozens of counts cost, and the planner chooses JIT by what it adds up.
CREATE FUNCTION dp_counts_trans(dp_state, float8, dp_mechanism, VARIADIC "any") RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_counts_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION dp_counts_trans(dp_state, float8, dp_mechanism, "any") IS 'support function of dp_counts: takes in one row';

CREATE FUNCTION dp_counts_final(dp_state) RETURNS float8[]
AS 'MODULE_PATHNAME', 'dp_counts_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_counts_final(dp_state) IS 'support function of dp_counts: draws noise and answers';

CREATE AGGREGATE dp_counts(eps float8, mech dp_mechanism, VARIADIC questions "any") (
    SFUNC = dp_counts_trans, STYPE = dp_state, SSPACE = 576,
    FINALFUNC = dp_counts_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_counts(float8, dp_mechanism, "any") IS
'Private numbers of rows that say yes to each of d yes/no questions, from one release: an array of d numbers, which can be negative. The questions are up to 97 boolean arguments, or one boolean array, VARIADIC, whose length d the mechanism gives (d=, up to 100,000). NULL is no; so are the missing elements of an array that is too short, and elements beyond d are ignored; a row of NULLs is a row. The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= (zero-concentrated), with NULL for eps; for laplace it is eps alone. Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. A question of another type: 42804; none of eps and mech may depend on the rows: 22023, the same with and without rows. Mechanisms: correlated (the one to start with: variance (sqrt(d) + 1)^2 / (4 mu^2) each; Lebeda 2024, Algorithm 1), gaussian, known_n, laplace, ellipse; see dp_mechanisms().';

CREATE FUNCTION dp_counts_estimate_final(dp_state) RETURNS dp_vector_answer
AS 'MODULE_PATHNAME', 'dp_counts_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_counts_estimate_final(dp_state) IS 'support function of dp_counts_estimate: draws noise and answers';

CREATE AGGREGATE dp_counts_estimate(eps float8, mech dp_mechanism, VARIADIC questions "any") (
    SFUNC = dp_counts_trans, STYPE = dp_state, SSPACE = 576,
    FINALFUNC = dp_counts_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_counts_estimate(float8, dp_mechanism, "any") IS
'The counts of dp_counts with the same arguments, the noisy number of rows that the same release gives at no further cost, and the standard deviations and covariances of the noise, as a dp_vector_answer: for intervals, also of differences of two counts (Lebeda 2024, Corollary 3.1). The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= (zero-concentrated), with NULL for eps; for laplace it is eps alone. Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. A question of another type: 42804; none of eps and mech may depend on the rows: 22023, the same with and without rows.';

-- dp_sums, dp_means ------------------------------------------------------------------------------

CREATE FUNCTION dp_sums_trans(dp_state, float8[], float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_sums_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION dp_sums_trans(dp_state, float8[], float8, float8, float8, dp_mechanism) IS 'support function of dp_sums: takes in one row';

CREATE FUNCTION dp_sums_final(dp_state) RETURNS float8[]
AS 'MODULE_PATHNAME', 'dp_sums_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sums_final(dp_state) IS 'support function of dp_sums: draws noise and answers';

CREATE AGGREGATE dp_sums(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_sums_trans, STYPE = dp_state, SSPACE = 1088,
    FINALFUNC = dp_sums_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sums(float8[], float8, float8, float8, dp_mechanism) IS
'Private sums of the d numbers of each row, clamped to [lo, hi], from one release: an array of d numbers in the unit of x. The mechanism gives d (d=, 1 to 100,000). A NULL array is ignored; a NULL, NaN or missing element counts as 0, clamped to the bounds; elements beyond d are ignored. The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= (zero-concentrated), with NULL for eps; for laplace it is eps alone. Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. lo < hi finite; none of lo, hi, eps, mech may depend on the rows: 22023, the same with and without rows. Mechanisms as those of dp_counts (ellipse only where lo or hi is 0); see dp_mechanisms(). Source: Lebeda 2024, Algorithm 1, for values.';

CREATE FUNCTION dp_sums_estimate_final(dp_state) RETURNS dp_vector_answer
AS 'MODULE_PATHNAME', 'dp_sums_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_sums_estimate_final(dp_state) IS 'support function of dp_sums_estimate: draws noise and answers';

CREATE AGGREGATE dp_sums_estimate(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_sums_trans, STYPE = dp_state, SSPACE = 1088,
    FINALFUNC = dp_sums_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_sums_estimate(float8[], float8, float8, float8, dp_mechanism) IS
'The sums of dp_sums with the same arguments, the noisy number of rows that the same release gives at no further cost, and the standard deviations and covariances of the noise, as a dp_vector_answer. The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= (zero-concentrated), with NULL for eps; for laplace it is eps alone. Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. lo < hi finite; none of lo, hi, eps, mech may depend on the rows: 22023, the same with and without rows.';

CREATE FUNCTION dp_means_trans(dp_state, float8[], float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_means_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION dp_means_trans(dp_state, float8[], float8, float8, float8, dp_mechanism) IS 'support function of dp_means: takes in one row';

CREATE FUNCTION dp_means_final(dp_state) RETURNS float8[]
AS 'MODULE_PATHNAME', 'dp_means_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_means_final(dp_state) IS 'support function of dp_means: draws noise and answers';

CREATE AGGREGATE dp_means(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_means_trans, STYPE = dp_state, SSPACE = 1088,
    FINALFUNC = dp_means_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_means(float8[], float8, float8, float8, dp_mechanism) IS
'Private means of the d numbers of each row, clamped to [lo, hi], from one release: the noisy sums over the noisy number of rows, never outside [lo, hi]; an array of d numbers in the unit of x. Arguments, rows and neighbours as for dp_sums: a NULL array is ignored, a NULL, NaN or missing element counts as 0, clamped to the bounds. The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= (zero-concentrated), with NULL for eps. Each GROUP BY group is one release, and disjoint groups together cost the budget once. Errors as dp_sums: 22023, the same with and without rows. Mechanisms correlated and known_n: those that have the number of rows; see dp_mechanisms(). Source: Lebeda 2024, Algorithm 1.';

-- dp_histogram -----------------------------------------------------------------------------------

CREATE FUNCTION dp_histogram_trans(dp_state, float8, float8, float8, integer, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_histogram_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_histogram_trans(dp_state, float8, float8, float8, integer, float8) IS 'support function of dp_histogram: takes in one row';

CREATE FUNCTION dp_histogram_trans(dp_state, float8, float8, float8, integer, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_histogram_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_histogram_trans(dp_state, float8, float8, float8, integer, float8, dp_mechanism) IS 'support function of dp_histogram: takes in one row';

CREATE FUNCTION dp_histogram_final(dp_state) RETURNS bigint[]
AS 'MODULE_PATHNAME', 'dp_histogram_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_histogram_final(dp_state) IS 'support function of dp_histogram: draws noise and answers';

CREATE AGGREGATE dp_histogram(x float8, lo float8, hi float8, buckets integer, eps float8) (
    SFUNC = dp_histogram_trans, STYPE = dp_state, SSPACE = 576,
    FINALFUNC = dp_histogram_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_histogram(float8, float8, float8, integer, float8) IS
'Private histogram of x: the number of rows in each of so many buckets of equal width between lo and hi, an array of bigint; never NULL: without rows, and in empty buckets, it is noise. Bucket i (from 1) holds x from edge i, included, to edge i + 1, not included: dp_histogram_edges(lo, hi, buckets) has the edges. Values below lo go to the first bucket, hi and values above to the last. eps-differentially private for neighbours that differ by adding or removing one row, all buckets together; each GROUP BY group is one release, and disjoint groups together cost eps once. Counts can be negative. NULL and NaN in x are ignored. lo < hi finite; buckets from 1 to 100000, none narrower than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, buckets, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric: two-sided geometric noise on each count (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009).';

CREATE AGGREGATE dp_histogram(x float8, lo float8, hi float8, buckets integer, eps float8, mech dp_mechanism) (
    SFUNC = dp_histogram_trans, STYPE = dp_state, SSPACE = 576,
    FINALFUNC = dp_histogram_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_histogram(float8, float8, float8, integer, float8, dp_mechanism) IS
'Private histogram of x by the mechanism mech, geometric: as without mech; with geometric(outside=drop), values below lo and above hi go to no bucket (hi itself goes to the last). eps-differentially private for neighbours that differ by adding or removing one row, all buckets together; each GROUP BY group is one release, and disjoint groups together cost eps once. Counts can be negative. NULL and NaN in x are ignored. lo < hi finite; buckets from 1 to 100000, none narrower than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, buckets, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Sources: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.';

CREATE FUNCTION dp_histogram_edges(lo float8, hi float8, buckets integer) RETURNS float8[]
AS 'MODULE_PATHNAME', 'dp_histogram_edges_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_histogram_edges(float8, float8, integer) IS
'The edges of the buckets of dp_histogram with the same lo, hi and buckets: one more than buckets, the first is lo and the last is hi, edge i + 1 is lo + i (hi - lo) / buckets. It looks at no data; width_bucket(x, edges) is the bucket of x, but 0 for values below lo, and buckets + 1 for hi and above. lo < hi finite, buckets from 1 to 100000, none narrower than float8 can distinguish: else 22023.';

-- dp_bounds --------------------------------------------------------------------------------------

CREATE TYPE dp_bounds_answer AS (lower float8, upper float8);
COMMENT ON TYPE dp_bounds_answer IS
'The answer of dp_bounds: bounds of a column, each 0 or a power of two; both NULL where too few rows are near each other.';
COMMENT ON COLUMN dp_bounds_answer.lower IS 'the lower bound, or NULL';
COMMENT ON COLUMN dp_bounds_answer.upper IS 'the upper bound, or NULL';

CREATE FUNCTION dp_bounds_trans(dp_state, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_bounds_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_bounds_trans(dp_state, float8, float8) IS 'support function of dp_bounds: takes in one row';

CREATE FUNCTION dp_bounds_trans(dp_state, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_bounds_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_bounds_trans(dp_state, float8, float8, dp_mechanism) IS 'support function of dp_bounds: takes in one row';

CREATE FUNCTION dp_bounds_final(dp_state) RETURNS dp_bounds_answer
AS 'MODULE_PATHNAME', 'dp_bounds_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_bounds_final(dp_state) IS 'support function of dp_bounds: draws noise and answers';

CREATE AGGREGATE dp_bounds(x float8, eps float8) (
    SFUNC = dp_bounds_trans, STYPE = dp_state, SSPACE = 2120,
    FINALFUNC = dp_bounds_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_bounds(float8, float8) IS
'Private bounds of x that most rows lie between, (lower, upper), for a mean or a histogram with these as constants: a release of its own, and the costs add up. Rows are counted by powers of two of their magnitude, from 2^-64 to 2^64 of both signs, smaller ones as zero, larger ones and infinities with the largest; each count gets noise, those that reach a threshold (26 at eps 1, so that about 26 rows are needed) are kept, and the answer is the smallest interval that covers them; both NULL where none is kept. Noise alone keeps none but with a probability of 1e-9. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored. 2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric: two-sided geometric noise on each count (Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020).';

CREATE AGGREGATE dp_bounds(x float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_bounds_trans, STYPE = dp_state, SSPACE = 2120,
    FINALFUNC = dp_bounds_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_bounds(float8, float8, dp_mechanism) IS
'Private bounds of x by the mechanism mech, geometric: as without mech, and with geometric(beta=...) noise alone keeps none of the counts but with that probability: a larger beta has a lower threshold. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored. 2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. Source: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020.';

-- dp_clamped -------------------------------------------------------------------------------------

CREATE TYPE dp_clamped_answer AS (below bigint, inside bigint, above bigint);
COMMENT ON TYPE dp_clamped_answer IS
'The answer of dp_clamped: noisy numbers of rows below, inside and above the bounds; each can be negative.';
COMMENT ON COLUMN dp_clamped_answer.below IS 'the noisy number of rows below lo; it can be negative';
COMMENT ON COLUMN dp_clamped_answer.inside IS 'the noisy number of rows from lo to hi, both included; it can be negative';
COMMENT ON COLUMN dp_clamped_answer.above IS 'the noisy number of rows above hi; it can be negative';

CREATE FUNCTION dp_clamped_trans(dp_state, float8, float8, float8, float8) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_clamped_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_clamped_trans(dp_state, float8, float8, float8, float8) IS 'support function of dp_clamped: takes in one row';

CREATE FUNCTION dp_clamped_trans(dp_state, float8, float8, float8, float8, dp_mechanism) RETURNS dp_state
AS 'MODULE_PATHNAME', 'dp_clamped_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_clamped_trans(dp_state, float8, float8, float8, float8, dp_mechanism) IS 'support function of dp_clamped: takes in one row';

CREATE FUNCTION dp_clamped_final(dp_state) RETURNS dp_clamped_answer
AS 'MODULE_PATHNAME', 'dp_clamped_final' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_clamped_final(dp_state) IS 'support function of dp_clamped: draws noise and answers';

CREATE AGGREGATE dp_clamped(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_clamped_trans, STYPE = dp_state, SSPACE = 88,
    FINALFUNC = dp_clamped_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_clamped(float8, float8, float8, float8) IS
'What these bounds would clamp, to ask before a mean or a sum with them: the noisy numbers of rows below lo, inside (lo and hi themselves are), and above hi, (below, inside, above), from one release; never NULL: without rows it is noise. Counts can be negative. eps-differentially private for neighbours that differ by adding or removing one row, which is in one of the three, so that they cost eps once; each GROUP BY group is one release, and disjoint groups together cost eps once. It is a release of its own, and the costs add up. NULL and NaN in x are ignored; infinities are below or above. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric: two-sided geometric noise on each count (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009).';

CREATE AGGREGATE dp_clamped(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_clamped_trans, STYPE = dp_state, SSPACE = 88,
    FINALFUNC = dp_clamped_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_clamped(float8, float8, float8, float8, dp_mechanism) IS
'What these bounds would clamp, by the mechanism mech, geometric: as without mech; with rows= and groups= eps is what a person with so many rows spends. Counts can be negative. eps-differentially private for neighbours that differ by adding or removing one row, all three counts together; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; infinities are below or above. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Sources: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.';

-- What only the aggregates may call --------------------------------------------------------------

REVOKE EXECUTE ON FUNCTION
    dp_state_in(cstring),
    dp_state_out(dp_state),
    dp_state_recv(internal),
    dp_state_send(dp_state),
    dp_state_combine(dp_state, dp_state),
    dp_mean_trans(dp_state, float8, float8, float8, float8),
    dp_mean_trans(dp_state, float8, float8, float8, float8, dp_mechanism),
    dp_mean_final(dp_state),
    dp_mean_and_count_final(dp_state),
    dp_sum_trans(dp_state, float8, float8, float8, float8),
    dp_sum_trans(dp_state, float8, float8, float8, float8, dp_mechanism),
    dp_sum_final(dp_state),
    dp_count_rows_trans(dp_state, float8),
    dp_count_trans(dp_state, "any", float8),
    dp_count_trans(dp_state, "any", float8, dp_mechanism),
    dp_count_final(dp_state),
    dp_keep_trans(dp_state, float8, float8),
    dp_keep_trans(dp_state, float8, float8, dp_mechanism),
    dp_keep_final(dp_state),
    dp_variance_trans(dp_state, float8, float8, float8, float8),
    dp_variance_trans(dp_state, float8, float8, float8, float8, dp_mechanism),
    dp_variance_final(dp_state),
    dp_stddev_final(dp_state),
    dp_variance_estimate_final(dp_state),
    dp_mean_estimate_trans(dp_state, float8, float8, float8, float8),
    dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism),
    dp_mean_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8),
    dp_mean_estimate_final(dp_state),
    dp_sum_estimate_trans(dp_state, float8, float8, float8, float8),
    dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism),
    dp_sum_estimate_trans(dp_state, float8, float8, float8, float8, dp_mechanism, float8),
    dp_sum_estimate_final(dp_state),
    dp_count_estimate_rows_trans(dp_state, float8),
    dp_count_estimate_trans(dp_state, "any", float8),
    dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism),
    dp_count_estimate_trans(dp_state, "any", float8, dp_mechanism, float8),
    dp_count_estimate_final(dp_state),
    dp_counts_trans(dp_state, float8, dp_mechanism, "any"),
    dp_counts_final(dp_state),
    dp_counts_estimate_final(dp_state),
    dp_sums_trans(dp_state, float8[], float8, float8, float8, dp_mechanism),
    dp_sums_final(dp_state),
    dp_sums_estimate_final(dp_state),
    dp_means_trans(dp_state, float8[], float8, float8, float8, dp_mechanism),
    dp_means_final(dp_state),
    dp_histogram_trans(dp_state, float8, float8, float8, integer, float8),
    dp_histogram_trans(dp_state, float8, float8, float8, integer, float8, dp_mechanism),
    dp_histogram_final(dp_state),
    dp_bounds_trans(dp_state, float8, float8),
    dp_bounds_trans(dp_state, float8, float8, dp_mechanism),
    dp_bounds_final(dp_state),
    dp_clamped_trans(dp_state, float8, float8, float8, float8),
    dp_clamped_trans(dp_state, float8, float8, float8, float8, dp_mechanism),
    dp_clamped_final(dp_state)
FROM PUBLIC;
REVOKE USAGE ON TYPE dp_state FROM PUBLIC;
