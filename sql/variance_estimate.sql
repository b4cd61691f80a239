-- dp_var_pop_estimate.

CREATE TYPE dp_variance_answer AS (
    value float8, lower float8, upper float8, stddev float8, stddev_lower float8, stddev_upper float8,
    mean float8, count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_variance_answer IS
    'The answer of dp_var_pop_estimate: the private variance and its root, each with an interval, the private mean '
    'and the noisy number of rows, and what the release cost. '
    'All from one release: the intervals follow from its noisy numbers and from public ones.';
COMMENT ON COLUMN dp_variance_answer.value IS 'the private variance, as dp_var_pop answers';
COMMENT ON COLUMN dp_variance_answer.lower IS
    'the lower end of an interval that holds what is estimated with at least the probability confidence';
COMMENT ON COLUMN dp_variance_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_variance_answer.stddev IS 'the root of value, as dp_stddev_pop answers';
COMMENT ON COLUMN dp_variance_answer.stddev_lower IS
    'the root of lower: where an interval of the standard deviation begins';
COMMENT ON COLUMN dp_variance_answer.stddev_upper IS 'the root of upper: where it ends';
COMMENT ON COLUMN dp_variance_answer.mean IS 'the private mean, inside [lo, hi]';
COMMENT ON COLUMN dp_variance_answer.count IS 'the noisy number of non-NULL rows; it can be negative or a fraction';
COMMENT ON COLUMN dp_variance_answer.unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow';
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

CREATE FUNCTION dp_mean.dp_variance_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_variance_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_variance_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism, confidence float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_variance_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_variance_estimate_final(state dp_mean.dp_state) RETURNS dp_variance_answer
    AS 'MODULE_PATHNAME', 'dp_variance_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_var_pop_estimate(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_variance_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_var_pop_estimate(float8, float8, float8, float8) IS
    'Private population variance and standard deviation of x clamped to [lo, hi], each with an interval around it, '
    'their mean and their noisy number, all from one release: (dp_var_pop_estimate(...)).* is one release too. '
    'The interval holds the variance of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it is all that rows between lo and hi can have '
    'where the noisy number of rows is not positive. '
    'Mechanism laplace, on three sums; confidence 0.95. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech, confidence may be NULL or depend on the rows: '
    '22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up; for the interval, Fieller 1954.';

CREATE AGGREGATE dp_var_pop_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_variance_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_var_pop_estimate(float8, float8, float8, float8, dp_mechanism) IS
    'Private population variance and standard deviation of x clamped to [lo, hi], each with an interval around it, '
    'their mean and their noisy number, all from one release: (dp_var_pop_estimate(...)).* is one release too. '
    'The interval holds the variance of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it is all that rows between lo and hi can have '
    'where the noisy number of rows is not positive. '
    'Mechanism mech: laplace, gaussian (with its own budget) or auto, with sample=yes of the sample variance (of at '
    'least two rows), n / (n - 1) times as large; see dp_mechanisms(). '
    'With auto, lo and hi may both be NULL, and the interval is about the bounds that were found. They stand in '
    'mechanism, as auto(lo=, hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: '
    'then bounds and answer are as good as arbitrary. With beyond= the interval is wider, upwards. '
    'confidence 0.95. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL '
    '(except that eps must be NULL beside mu= or rho=, and with auto lo and hi both may be) or depend on the rows: '
    '22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022; for the interval, Fieller 1954.';

CREATE AGGREGATE dp_var_pop_estimate(
    x float8, lo float8, hi float8, eps float8, mech dp_mechanism, confidence float8
) (
    SFUNC = dp_mean.dp_variance_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 80,
    FINALFUNC = dp_mean.dp_variance_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_var_pop_estimate(float8, float8, float8, float8, dp_mechanism, float8) IS
    'Private population variance and standard deviation of x clamped to [lo, hi], each with an interval around it, '
    'their mean and their noisy number, all from one release: (dp_var_pop_estimate(...)).* is one release too. '
    'The interval holds the variance of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it is all that rows between lo and hi can have '
    'where the noisy number of rows is not positive. '
    'Mechanism mech: laplace, gaussian (with its own budget) or auto, with sample=yes of the sample variance (of at '
    'least two rows), n / (n - 1) times as large; see dp_mechanisms(). '
    'With auto, lo and hi may both be NULL, and the interval is about the bounds that were found. They stand in '
    'mechanism, as auto(lo=, hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: '
    'then bounds and answer are as good as arbitrary. With beyond= the interval is wider, upwards. '
    'The interval misses with a probability of at most 1 - confidence. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL '
    '(except that eps must be NULL beside mu= or rho=, and with auto lo and hi both may be) or depend on the rows: '
    '22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022; for the interval, Fieller 1954.';
