-- dp_sum.

CREATE FUNCTION dp_mean.dp_sum_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_sum_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_sum_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_sum_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_sum_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_sum_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_sum(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_sum_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_sum_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_sum(float8, float8, float8, float8) IS
    'Private sum of x clamped to [lo, hi], in the unit of x; never NULL: without rows it is noise. '
    'Its sensitivity is the larger of |lo| and |hi|. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same '
    'with and without rows. '
    'Mechanism staircase: the least variance (Geng, Viswanath 2014).';

CREATE AGGREGATE dp_sum(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_sum_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_sum_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_sum(float8, float8, float8, float8, dp_mechanism) IS
    'Private sum of x clamped to [lo, hi] by the mechanism mech, in the unit of x: staircase, laplace, gaussian (with '
    'its own budget) or auto, which finds the bounds by itself, between lo and hi or, where both are NULL, anywhere; '
    'see dp_mechanisms(). '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and with auto lo and hi both may be) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Geng, Viswanath 2014; Dwork, McSherry, Nissim, Smith 2006.';
