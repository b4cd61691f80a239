-- dp_variance_estimate.

CREATE TYPE dp_variance_answer AS (
    value float8, stddev float8, mean float8, count float8, rho float8, mu float8, epsilon float8, delta float8,
    mechanism text
);
COMMENT ON TYPE dp_variance_answer IS
    'The answer of dp_variance_estimate: the private variance, its root, the private mean and the noisy number of '
    'rows, from one release, and what it cost.';
COMMENT ON COLUMN dp_variance_answer.value IS 'the private variance, as dp_variance answers';
COMMENT ON COLUMN dp_variance_answer.stddev IS 'its root, as dp_stddev answers';
COMMENT ON COLUMN dp_variance_answer.mean IS 'the private mean, inside [lo, hi]';
COMMENT ON COLUMN dp_variance_answer.count IS 'the noisy number of non-NULL rows; it can be negative or a fraction';
COMMENT ON COLUMN dp_variance_answer.rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together';
COMMENT ON COLUMN dp_variance_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL of mechanisms that are not Gaussian';
COMMENT ON COLUMN dp_variance_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_variance_answer.delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_variance_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_variance_estimate_final(state dp_mean.dp_state) RETURNS dp_variance_answer
    AS 'MODULE_PATHNAME', 'dp_variance_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_variance_estimate_final(dp_mean.dp_state) IS
    'support function of dp_variance_estimate: draws noise and answers';
REVOKE EXECUTE ON FUNCTION dp_mean.dp_variance_estimate_final(dp_mean.dp_state) FROM PUBLIC;

CREATE AGGREGATE dp_variance_estimate(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_variance_estimate(float8, float8, float8, float8) IS
    'Private population variance and standard deviation of x clamped to [lo, hi], their mean and their noisy number, '
    'all from one release, as a dp_variance_answer; each number is as dp_variance, dp_stddev and so on would answer, '
    'at no further cost. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the rows: 22023, the same '
    'with and without rows. '
    'Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';

CREATE AGGREGATE dp_variance_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE dp_variance_estimate(float8, float8, float8, float8, dp_mechanism) IS
    'Private population variance and standard deviation of x clamped to [lo, hi], their mean and their noisy number, '
    'all from one release, by the mechanism mech: laplace or gaussian (with its own budget), with sample=yes of the '
    'sample variance, n / (n - 1) times as large; see dp_mechanisms(). '
    'The answer is a dp_variance_answer; each number is as dp_variance, dp_stddev and so on would answer, at no '
    'further cost. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside '
    'mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';
