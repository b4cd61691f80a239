-- dp_var_pop_estimate.

CREATE TYPE dp_variance_answer AS (
    value float8, lower float8, upper float8, stddev float8, stddev_lower float8, stddev_upper float8,
    mean float8, mean_lower float8, mean_upper float8,
    population_mean_lower float8, population_mean_upper float8, count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_variance_answer IS
    'The answer of dp_var_pop_estimate: the private variance and its root, each with an interval, the private mean '
    'with one of the rows and one of their population, the noisy number of rows, and what the release cost. '
    'All from one release: the intervals follow from its noisy numbers and from public ones.';
COMMENT ON COLUMN dp_variance_answer.value IS 'the private variance, as dp_var_pop answers';
COMMENT ON COLUMN dp_variance_answer.lower IS '{answer_lower}';
COMMENT ON COLUMN dp_variance_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_variance_answer.stddev IS 'the root of value, as dp_stddev_pop answers';
COMMENT ON COLUMN dp_variance_answer.stddev_lower IS
    'the root of lower: where an interval of the standard deviation begins';
COMMENT ON COLUMN dp_variance_answer.stddev_upper IS 'the root of upper: where it ends';
COMMENT ON COLUMN dp_variance_answer.mean IS 'the private mean, inside [lo, hi]';
COMMENT ON COLUMN dp_variance_answer.mean_lower IS
    'the lower end of an interval that holds the mean of the rows, clamped to [lo, hi], with at least the probability '
    'confidence; NULL with auto';
COMMENT ON COLUMN dp_variance_answer.mean_upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_variance_answer.population_mean_lower IS
    'the lower end of an interval that holds the mean of the population that the rows were drawn from, one by one and '
    'at random, clamped to [lo, hi], with about the probability confidence: noise and chance together; NULL with auto';
COMMENT ON COLUMN dp_variance_answer.population_mean_upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_variance_answer.count IS 'the noisy number of non-NULL rows; it can be negative or a fraction';
COMMENT ON COLUMN dp_variance_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_variance_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_variance_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_variance_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_variance_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_variance_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_variance_estimate_final(state dp_mean.dp_state) RETURNS dp_variance_answer
    AS 'MODULE_PATHNAME', 'dp_variance_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;

AGGREGATE dp_var_pop_estimate(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism], [confidence float8])
    RETURNS dp_variance_answer SPACE 80 TRANSITION dp_variance_estimate FINAL dp_variance_estimate;
UP TO eps IS
    'Private population variance and standard deviation of x clamped to [lo, hi], each with an interval around it, '
    'their mean and their noisy number, all from one release: (dp_var_pop_estimate(...)).* is one release too. '
    '{interval_of_variance} Mechanism laplace, on three sums; confidence 0.95. eps-differentially private for '
    '{neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech, confidence may '
    'be NULL {or_depend} Sources: Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up; for the interval, Fieller '
    '1954.';
UP TO mech IS
    'Private population variance and standard deviation of x clamped to [lo, hi], each with an interval around it, '
    'their mean and their noisy number, all from one release: (dp_var_pop_estimate(...)).* is one release too. '
    '{interval_of_variance} Mechanism mech: laplace, gaussian (with its own budget) or auto, with sample=yes of the '
    'sample variance (of at least two rows), n / (n - 1) times as large; see dp_mechanisms(). With auto, lo and hi '
    'may both be NULL, and the interval is about the bounds that were found. They stand in mechanism, as auto(lo=, '
    'hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: then bounds and answer '
    'are as good as arbitrary. With beyond= the interval is wider, upwards. confidence 0.95. eps-differentially '
    'private {gaussian_says} for {neighbours} the budget once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; 0 < '
    'confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside mu= or '
    'rho=, and with auto lo and hi both may be) {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022; '
    'for the interval, Fieller 1954.';
UP TO confidence IS
    'Private population variance and standard deviation of x clamped to [lo, hi], each with an interval around it, '
    'their mean and their noisy number, all from one release: (dp_var_pop_estimate(...)).* is one release too. '
    '{interval_of_variance} Mechanism mech: laplace, gaussian (with its own budget) or auto, with sample=yes of the '
    'sample variance (of at least two rows), n / (n - 1) times as large; see dp_mechanisms(). With auto, lo and hi '
    'may both be NULL, and the interval is about the bounds that were found. They stand in mechanism, as auto(lo=, '
    'hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: then bounds and answer '
    'are as good as arbitrary. With beyond= the interval is wider, upwards. The interval misses with a probability of '
    'at most 1 - confidence. eps-differentially private {gaussian_says} for {neighbours} the budget once. {clamped} '
    'lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL '
    '(except that eps must be NULL beside mu= or rho=, and with auto lo and hi both may be) {or_depend} Sources: '
    'Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022; for the interval, Fieller 1954.';
