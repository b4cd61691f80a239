-- dp_mean: differentially private means, sums and counts.
--
-- Support functions and the state type are shut to PUBLIC at the end of this file: a state holds
-- the true sum and count. Aggregates run their support functions with their owner's right, so
-- analysts need nothing but the aggregates.

\echo Use "CREATE EXTENSION dp_mean" to load this file. \quit

-- dp_mechanism: the name of a mechanism and its parameters -------------------------------------

CREATE TYPE dp_mechanism;
COMMENT ON TYPE dp_mechanism IS
'A mechanism and its parameters: name, or name(key=value, ...). A literal is checked where the query is parsed; an unknown name or key raises 22023 with the known ones in the HINT. dp_mechanisms() lists them.';

CREATE FUNCTION dp_mechanism_in(cstring) RETURNS dp_mechanism
AS 'MODULE_PATHNAME', 'dp_mechanism_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
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
    OUT neighbours text, OUT parameters text, OUT source text
) RETURNS SETOF record
AS 'MODULE_PATHNAME', 'dp_mechanisms_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 8;
COMMENT ON FUNCTION dp_mechanisms() IS
'The mechanisms of each aggregate: which is the default, its guarantee, its neighbours (what two tables may differ by), its parameters, and the paper it comes from.';

-- dp_state: what an aggregate keeps for a group ------------------------------------------------

CREATE TYPE dp_state;
COMMENT ON TYPE dp_state IS
'The state of an aggregate of dp_mean: exact integers, 64 bytes. It has no text or binary form (0A000): only the aggregates read it.';

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
'Private mean of x clamped to [lo, hi] by the mechanism mech, in the unit of x: hourglass, laplace, staircase, shifted or independent; see dp_mechanisms(). eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Source: Kulesza, Suresh, Wang 2024.';

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
'Private mean of x clamped to [lo, hi] and the noisy number of rows, from one release of the mechanism mech; see dp_mechanisms(). eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Source: Kulesza, Suresh, Wang 2024.';

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
'Private sum of x clamped to [lo, hi] by the mechanism mech, in the unit of x: staircase or laplace; see dp_mechanisms(). eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. Sources: Geng, Viswanath 2014; Dwork, McSherry, Nissim, Smith 2006.';

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
'Private number of rows where x is not NULL by the mechanism mech; never NULL. eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. It can be negative: greatest(dp_count(...), 0) is as private, but biased. 2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

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
    dp_count_final(dp_state)
FROM PUBLIC;
REVOKE USAGE ON TYPE dp_state FROM PUBLIC;
