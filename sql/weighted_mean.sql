-- dp_weighted_mean, dp_weighted_mean_estimate: a mean of rows with weights; of rows, and of contributions.

CREATE TYPE dp_weighted_mean_answer AS (
    value float8, lower float8, upper float8, weight float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_weighted_mean_answer IS
    'The answer of dp_weighted_mean_estimate: a private mean of rows with weights, with an interval around it, the '
    'noisy sum of the weights, and what the release cost. All from one release.';
COMMENT ON COLUMN dp_weighted_mean_answer.value IS 'the private mean, inside [ylo, yhi], as dp_weighted_mean answers';
COMMENT ON COLUMN dp_weighted_mean_answer.lower IS '{answer_lower}: the weighted mean of the clamped rows';
COMMENT ON COLUMN dp_weighted_mean_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_weighted_mean_answer.weight IS 'the noisy sum of the weights; it can be negative';
COMMENT ON COLUMN dp_weighted_mean_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_weighted_mean_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_weighted_mean_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_weighted_mean_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_weighted_mean_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_weighted_mean_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_weighted_mean(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private mean of y with the weights x, as sum(y * x) / sum(x), clamped to [ylo, yhi] and [xlo, xhi], from one '
    'release; inside [ylo, yhi], never NULL: without rows it is noise. eps-differentially private for {neighbours} eps '
    'once. {pair_clamped} ylo < yhi and xlo < xhi finite, xlo at least 0; 2^-20 <= eps <= 50; none of them may be NULL '
    '{or_depend} Mechanism laplace, on two sums (Kulesza, Suresh, Wang 2024, Algorithm 3, with weights).';
UP TO mech IS
    'Private mean of y with the weights x, as sum(y * x) / sum(x), clamped to [ylo, yhi] and [xlo, xhi], from one '
    'release by the mechanism mech: laplace; inside [ylo, yhi], never NULL: without rows it is noise. '
    'eps-differentially private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi finite, xlo at least '
    '0; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {or_depend} Source: Kulesza, Suresh, Wang 2024.';

AGGREGATE dp_weighted_mean(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private mean of what persons contribute to y, with their weights x: {pair_counts} {pair} eps-differentially '
    'private for {neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite, xlo at least '
    '0; 2^-20 <= eps <= 50; none of them may be NULL {or_depend} See dp_weighted_mean of rows.';
UP TO mech IS
    'Private mean of what persons contribute to y, with their weights x, by the mechanism mech: {pair_counts} {pair} '
    'eps-differentially private for {neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi '
    'finite, xlo at least 0; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {or_depend} See dp_weighted_mean '
    'of rows, and dp_mechanisms().';

AGGREGATE dp_weighted_mean_estimate(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism],
    [confidence float8]
) RETURNS dp_weighted_mean_answer SPACE 160;
UP TO eps IS
    'Private mean of y with the weights x, as dp_weighted_mean answers, with an interval around it and the noisy sum '
    'of the weights, from one release: (dp_weighted_mean_estimate(...)).* is one release too. {interval_of_weighted} '
    'Mechanism laplace; confidence 0.95. eps-differentially private for {neighbours} eps once. {pair_clamped} ylo < '
    'yhi and xlo < xhi finite, xlo at least 0; 2^-20 <= eps <= 50; none of them may be NULL {or_depend} Sources: '
    'Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';
UP TO mech IS
    'Private mean of y with the weights x, as dp_weighted_mean answers, with an interval around it and the noisy sum '
    'of the weights, from one release: (dp_weighted_mean_estimate(...)).* is one release too. {interval_of_weighted} '
    'Mechanism mech: laplace; confidence 0.95. eps-differentially private for {neighbours} eps once. {pair_clamped} '
    'ylo < yhi and xlo < xhi finite, xlo at least 0; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL '
    '{or_depend} Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';
UP TO confidence IS
    'Private mean of y with the weights x, as dp_weighted_mean answers, with an interval around it and the noisy sum '
    'of the weights, from one release: (dp_weighted_mean_estimate(...)).* is one release too. {interval_of_weighted} '
    'Mechanism mech: laplace. eps-differentially private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < '
    'xhi finite, xlo at least 0; 2^-20 <= eps <= 50; 0 < confidence < 1; none of them, nor mech, may be NULL '
    '{or_depend} Sources: Kulesza, Suresh, Wang 2024; for the interval, Fieller 1954.';

AGGREGATE dp_weighted_mean_estimate(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism], [confidence float8]
) RETURNS dp_weighted_mean_answer SPACE 160;
UP TO eps IS
    'Private mean of what persons contribute to y, with their weights x, with an interval: {pair_counts} {pair} '
    '{interval_of_weighted} Confidence 0.95. eps-differentially private for {neighbour_persons} eps once. NULL in y or '
    'x is ignored. ylo < yhi and xlo < xhi finite, xlo at least 0; 2^-20 <= eps <= 50; none of them may be NULL '
    '{or_depend} See dp_weighted_mean_estimate of rows.';
UP TO mech IS
    'Private mean of what persons contribute to y, with their weights x, with an interval, by the mechanism mech: '
    '{pair_counts} {pair} {interval_of_weighted} Confidence 0.95. eps-differentially private for {neighbour_persons} '
    'eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite, xlo at least 0; 2^-20 <= eps <= 50; none of '
    'them, nor mech, may be NULL {or_depend} See dp_weighted_mean_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private mean of what persons contribute to y, with their weights x, with an interval, by the mechanism mech: '
    '{pair_counts} {pair} {interval_of_weighted} eps-differentially private for {neighbour_persons} eps once. NULL in '
    'y or x is ignored. ylo < yhi and xlo < xhi finite, xlo at least 0; 2^-20 <= eps <= 50; 0 < confidence < 1; none '
    'of them, nor mech, may be NULL {or_depend} See dp_weighted_mean_estimate of rows, and dp_mechanisms().';
