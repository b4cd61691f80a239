-- dp_var_pop, dp_stddev_pop.

CREATE FUNCTION dp_mean.dp_variance_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_variance_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_variance_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_variance_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_var_pop(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_var_pop(float8, float8, float8, float8) IS
    'Private population variance of x clamped to [lo, hi], in the square of the unit of x; from 0 to (hi - lo)^2 / 4, '
    'never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same '
    'with and without rows. '
    'Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

CREATE AGGREGATE dp_var_pop(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_var_pop(float8, float8, float8, float8, dp_mechanism) IS
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

CREATE FUNCTION dp_mean.dp_stddev_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_stddev_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_stddev_pop(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_stddev_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_stddev_pop(float8, float8, float8, float8) IS
    'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_var_pop '
    'releases; from 0 to (hi - lo) / 2, never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same '
    'with and without rows. '
    'Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

CREATE AGGREGATE dp_stddev_pop(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_stddev_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_stddev_pop(float8, float8, float8, float8, dp_mechanism) IS
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
