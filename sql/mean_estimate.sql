-- dp_mean_estimate.

CREATE TYPE dp_mean_estimate_answer AS (
    value float8, lower float8, upper float8, count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_mean_estimate_answer IS
    'The answer of dp_mean_estimate: the private answer, an interval, and what the release cost. '
    'All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_mean_estimate_answer.value IS 'the private mean, as dp_mean answers';
COMMENT ON COLUMN dp_mean_estimate_answer.lower IS
    'the lower end of an interval that holds what is estimated with at least the probability confidence';
COMMENT ON COLUMN dp_mean_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_mean_estimate_answer.count IS
    'the noisy number of non-NULL rows, from the same release; it can be negative or a fraction';
COMMENT ON COLUMN dp_mean_estimate_answer.unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow';
COMMENT ON COLUMN dp_mean_estimate_answer.rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together; of a mechanism with a delta but with that probability';
COMMENT ON COLUMN dp_mean_estimate_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL of mechanisms that are not Gaussian';
COMMENT ON COLUMN dp_mean_estimate_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_mean_estimate_answer.delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_mean_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_mean_estimate_trans(state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_mean_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_mean_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_mean_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_mean_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism, confidence float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_mean_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_mean_estimate_final(state dp_mean.dp_state) RETURNS dp_mean_estimate_answer
    AS 'MODULE_PATHNAME', 'dp_mean_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_mean_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_mean_estimate(float8, float8, float8, float8) IS
    'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one '
    'release: (dp_mean_estimate(...)).* is one release too. '
    'The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the '
    'noisy number of rows is not positive. '
    'Mechanism hourglass; confidence 0.95. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL '
    '(except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';

CREATE AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_mean_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_mean_estimate(float8, float8, float8, float8, dp_mechanism) IS
    'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one '
    'release: (dp_mean_estimate(...)).* is one release too. '
    'The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the '
    'noisy number of rows is not positive. '
    'Mechanism mech: hourglass, laplace, staircase, gaussian, shifted, independent, clipped (of replaced rows) or '
    'auto; the others have no interval, which is 22023. '
    'With auto, lo and hi may both be NULL, and the interval is about the bounds that were found. They stand in '
    'mechanism, as auto(lo=, hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: '
    'then bounds and answer are as good as arbitrary. With beyond= the interval is wider. '
    'confidence 0.95. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL '
    '(except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';

CREATE AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8, mech dp_mechanism, confidence float8) (
    SFUNC = dp_mean.dp_mean_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_mean_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_mean_estimate(float8, float8, float8, float8, dp_mechanism, float8) IS
    'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one '
    'release: (dp_mean_estimate(...)).* is one release too. '
    'The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the '
    'noisy number of rows is not positive. '
    'Mechanism mech: hourglass, laplace, staircase, gaussian, shifted, independent, clipped (of replaced rows) or '
    'auto; the others have no interval, which is 22023. '
    'With auto, lo and hi may both be NULL, and the interval is about the bounds that were found. They stand in '
    'mechanism, as auto(lo=, hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: '
    'then bounds and answer are as good as arbitrary. With beyond= the interval is wider. '
    'The interval misses with a probability of at most 1 - confidence. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped. '
    'lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL '
    '(except that eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';
