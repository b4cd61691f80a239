-- dp_mean_estimate.

CREATE TYPE dp_mean_estimate_answer AS (
    value float8, lower float8, upper float8, count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_mean_estimate_answer IS
    'The answer of dp_mean_estimate: the private answer, an interval, and what the release cost. '
    'All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_mean_estimate_answer.value IS 'the private mean, as dp_mean answers';
COMMENT ON COLUMN dp_mean_estimate_answer.lower IS '{answer_lower}';
COMMENT ON COLUMN dp_mean_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_mean_estimate_answer.count IS
    'the noisy number of non-NULL rows, from the same release; it can be negative or a fraction';
COMMENT ON COLUMN dp_mean_estimate_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_mean_estimate_answer.rho IS '{answer_rho}; of a mechanism with a delta but with that probability';
COMMENT ON COLUMN dp_mean_estimate_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_mean_estimate_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_mean_estimate_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_mean_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_mean_estimate(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism], [confidence float8])
    RETURNS dp_mean_estimate_answer SPACE 64;
UP TO eps IS
    'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one '
    'release: (dp_mean_estimate(...)).* is one release too. {interval_of_mean} Mechanism hourglass; confidence 0.95. '
    'eps-differentially private for {neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; 0 < '
    'confidence < 1; none of lo, hi, eps, mech, confidence may be NULL {except_eps} {or_depend} Sources: Kulesza, '
    'Suresh, Wang 2024; for the interval, Fieller 1954.';
UP TO mech IS
    'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one '
    'release: (dp_mean_estimate(...)).* is one release too. {interval_of_mean} Mechanism mech: hourglass, laplace, '
    'staircase, gaussian, shifted, independent, clipped (of replaced rows) or auto; the others have no interval, '
    'which is 22023. {auto_found} confidence 0.95. eps-differentially private {budget_says} for {neighbours} eps '
    'once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence '
    'may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';
UP TO confidence IS
    'Private mean of x clamped to [lo, hi], with an interval around it and the noisy number of rows, from one '
    'release: (dp_mean_estimate(...)).* is one release too. {interval_of_mean} Mechanism mech: hourglass, laplace, '
    'staircase, gaussian, shifted, independent, clipped (of replaced rows) or auto; the others have no interval, '
    'which is 22023. {auto_found} The interval misses with a probability of at most 1 - confidence. '
    'eps-differentially private {budget_says} for {neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= '
    '50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL {except_eps} {or_depend} Sources: '
    'Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';
