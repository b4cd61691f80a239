-- dp_corr_estimate: a correlation and a slope with their intervals; of rows, and of contributions.

CREATE TYPE dp_corr_answer AS (
    value float8, lower float8, upper float8, population_lower float8, population_upper float8,
    slope float8, slope_lower float8, slope_upper float8, count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_corr_answer IS
    'The answer of dp_corr_estimate: the private correlation and the slope of the least-squares line, each with an '
    'interval, the noisy number of rows, and what the release cost. All from one release: the intervals follow from '
    'its noisy numbers and from public ones.';
COMMENT ON COLUMN dp_corr_answer.value IS 'the private correlation, as dp_corr answers';
COMMENT ON COLUMN dp_corr_answer.lower IS
    'the lower end of an interval that holds the correlation of the rows, clamped to their bounds, with about the '
    'probability confidence; -1 where a spread is not seen through the noise';
COMMENT ON COLUMN dp_corr_answer.upper IS 'the upper end of that interval; 1 where a spread is not seen';
COMMENT ON COLUMN dp_corr_answer.population_lower IS
    'the lower end of an interval that holds the correlation of the population that the rows were drawn from, one by '
    'one and at random, with about the probability confidence, where the two columns have a normal law together';
COMMENT ON COLUMN dp_corr_answer.population_upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_corr_answer.slope IS 'by how much y rises with x, as the slope of dp_regr';
COMMENT ON COLUMN dp_corr_answer.slope_lower IS
    'the lower end of an interval that holds the slope of the rows, clamped to their bounds, with about the '
    'probability confidence; -Infinity where no spread of x is seen through the noise';
COMMENT ON COLUMN dp_corr_answer.slope_upper IS
    'the upper end of that interval; Infinity where no spread of x is seen';
COMMENT ON COLUMN dp_corr_answer.count IS 'the noisy number of rows with both values; it can be negative or a fraction';
COMMENT ON COLUMN dp_corr_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_corr_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_corr_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_corr_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_corr_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_corr_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_corr_estimate(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism],
    [confidence float8]
) RETURNS dp_corr_answer SPACE 160;
UP TO eps IS
    'Private correlation of y and x, and the slope of their least-squares line, of values clamped to [ylo, yhi] and '
    '[xlo, xhi], each with an interval around it, all from one release: (dp_corr_estimate(...)).* is one release too; '
    'never NULL: without rows it is noise, and its intervals have all that can be. Mechanism laplace, on six sums; '
    'confidence 0.95. eps-differentially private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi '
    'finite; 2^-20 <= eps <= 50; none of them, nor mech, nor confidence, may be NULL {or_depend} Sources: Kulesza, '
    'Suresh, Wang 2024, Algorithm 3, for two columns; for the intervals, Fieller 1954.';
UP TO mech IS
    'Private correlation of y and x, and the slope of their least-squares line, of values clamped to [ylo, yhi] and '
    '[xlo, xhi], each with an interval around it, all from one release: (dp_corr_estimate(...)).* is one release too; '
    'never NULL: without rows it is noise, and its intervals have all that can be. Mechanism mech: laplace or '
    'gaussian (with its own budget); see dp_mechanisms(); confidence 0.95. eps-differentially private '
    '{gaussian_says} for {neighbours} the budget once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= '
    '50; none of them, nor mech, nor confidence, may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang '
    '2024; Dong, Roth, Su 2022; for the intervals, Fieller 1954.';
UP TO confidence IS
    'Private correlation of y and x, and the slope of their least-squares line, of values clamped to [ylo, yhi] and '
    '[xlo, xhi], each with an interval around it, all from one release: (dp_corr_estimate(...)).* is one release too; '
    'never NULL: without rows it is noise, and its intervals have all that can be. Mechanism mech: laplace or '
    'gaussian (with its own budget); see dp_mechanisms(). An interval misses with a probability of about 1 - '
    'confidence. eps-differentially private {gaussian_says} for {neighbours} the budget once. {pair_clamped} ylo < '
    'yhi and xlo < xhi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of them, nor mech, may be NULL '
    '{except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022; for the intervals, Fieller '
    '1954.';

AGGREGATE dp_corr_estimate(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism], [confidence float8]
) RETURNS dp_corr_answer SPACE 160;
UP TO eps IS
    'Private correlation and slope of what persons contribute, with intervals: {pair_counts} {pair} '
    'eps-differentially private for {neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi '
    'finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {or_depend} See dp_corr_estimate of rows, and '
    'dp_mechanisms().';
UP TO mech IS
    'Private correlation and slope of what persons contribute, with intervals, by the mechanism mech: {pair_counts} '
    '{pair} eps-differentially private {gaussian_says} for {neighbour_persons} the budget once. NULL in y or x is '
    'ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {except_eps} '
    '{or_depend} See dp_corr_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private correlation and slope of what persons contribute, with intervals, by the mechanism mech: {pair_counts} '
    '{pair} eps-differentially private {gaussian_says} for {neighbour_persons} the budget once. NULL in y or x is '
    'ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of them, nor mech, may be '
    'NULL {except_eps} {or_depend} See dp_corr_estimate of rows, and dp_mechanisms().';
