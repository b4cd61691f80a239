-- Two columns: dp_covar_pop, dp_corr, dp_regr_slope, dp_regr_intercept, dp_regr; of rows, and of contributions.

CREATE TYPE dp_regr_answer AS (
    slope float8, intercept float8, correlation float8, r2 float8, covariance float8, y_mean float8, x_mean float8,
    y_stddev float8, x_stddev float8, count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_regr_answer IS
    'The answer of dp_regr: the line of y on x, how close the rows are to it, the means and standard deviations of '
    'both columns, the noisy number of rows, and what the release cost. All from one release.';
COMMENT ON COLUMN dp_regr_answer.slope IS
    'by how much y rises with x, as dp_regr_slope answers; 0 where no spread of x is seen through the noise';
COMMENT ON COLUMN dp_regr_answer.intercept IS 'where the line is at x = 0';
COMMENT ON COLUMN dp_regr_answer.correlation IS
    'the private correlation, from -1 to 1; 0 where no spread of a column is seen through the noise';
COMMENT ON COLUMN dp_regr_answer.r2 IS 'its square: the part of the spread of y that the line explains';
COMMENT ON COLUMN dp_regr_answer.covariance IS 'the private population covariance';
COMMENT ON COLUMN dp_regr_answer.y_mean IS 'the private mean of y, inside [ylo, yhi]';
COMMENT ON COLUMN dp_regr_answer.x_mean IS 'the private mean of x, inside [xlo, xhi]';
COMMENT ON COLUMN dp_regr_answer.y_stddev IS 'the private population standard deviation of y';
COMMENT ON COLUMN dp_regr_answer.x_stddev IS 'the private population standard deviation of x';
COMMENT ON COLUMN dp_regr_answer.count IS 'the noisy number of rows with both values; it can be negative or a fraction';
COMMENT ON COLUMN dp_regr_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_regr_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_regr_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_regr_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_regr_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_regr_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_covar_pop(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private population covariance of y and x, as covar_pop(y, x), clamped to [ylo, yhi] and [xlo, xhi], in the '
    'product of their units; at most a quarter of the product of the widths, never NULL: without rows it is noise. '
    'eps-differentially private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= '
    'eps <= 50; none of them, nor mech, may be NULL {or_depend} Mechanism laplace, on four sums (Kulesza, Suresh, '
    'Wang 2024, Algorithm 3, for two columns).';
UP TO mech IS
    'Private population covariance of y and x, as covar_pop(y, x), clamped to [ylo, yhi] and [xlo, xhi], in the '
    'product of their units, by the mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); '
    'at most a quarter of the product of the widths, never NULL: without rows it is noise. eps-differentially private '
    '{gaussian_says} for {neighbours} the budget once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= '
    '50; none of them, nor mech, may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, '
    'Roth, Su 2022.';

AGGREGATE dp_regr_slope(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private slope of the least-squares line of y on x, as regr_slope(y, x), of values clamped to [ylo, yhi] and '
    '[xlo, xhi]; 0 where no spread of x is seen through the noise, never NULL: without rows it is noise. '
    'eps-differentially private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= '
    'eps <= 50; none of them, nor mech, may be NULL {or_depend} Mechanism laplace, on five sums (Kulesza, Suresh, '
    'Wang 2024, Algorithm 3, for two columns).';
UP TO mech IS
    'Private slope of the least-squares line of y on x, as regr_slope(y, x), of values clamped to [ylo, yhi] and '
    '[xlo, xhi], by the mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); 0 where no '
    'spread of x is seen through the noise, never NULL: without rows it is noise. eps-differentially private '
    '{gaussian_says} for {neighbours} the budget once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= '
    '50; none of them, nor mech, may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, '
    'Roth, Su 2022.';

AGGREGATE dp_regr_intercept(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism]
) RETURNS float8 SPACE 160 TRANSITION dp_regr_slope;
UP TO eps IS
    'Private intercept of the least-squares line of y on x, as regr_intercept(y, x), of values clamped to [ylo, yhi] '
    'and [xlo, xhi]; the mean of y where no spread of x is seen through the noise, never NULL: without rows it is '
    'noise. Beside dp_regr_slope it is a release of its own; dp_regr has both from one. eps-differentially private '
    'for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor '
    'mech, may be NULL {or_depend} Mechanism laplace, on five sums (Kulesza, Suresh, Wang 2024, Algorithm 3, for two '
    'columns).';
UP TO mech IS
    'Private intercept of the least-squares line of y on x, as regr_intercept(y, x), of values clamped to [ylo, yhi] '
    'and [xlo, xhi], by the mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); the mean '
    'of y where no spread of x is seen through the noise, never NULL: without rows it is noise. Beside dp_regr_slope '
    'it is a release of its own; dp_regr has both from one. eps-differentially private {gaussian_says} for '
    '{neighbours} the budget once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, '
    'nor mech, may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

AGGREGATE dp_corr(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 160;
UP TO eps IS
    'Private correlation of y and x, as corr(y, x), of values clamped to [ylo, yhi] and [xlo, xhi]; from -1 to 1, 0 '
    'where no spread of a column is seen through the noise, never NULL: without rows it is noise. eps-differentially '
    'private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of '
    'them, nor mech, may be NULL {or_depend} Mechanism laplace, on six sums (Kulesza, Suresh, Wang 2024, Algorithm 3, '
    'for two columns).';
UP TO mech IS
    'Private correlation of y and x, as corr(y, x), of values clamped to [ylo, yhi] and [xlo, xhi], by the mechanism '
    'mech: laplace or gaussian (with its own budget); see dp_mechanisms(); from -1 to 1, 0 where no spread of a '
    'column is seen through the noise, never NULL: without rows it is noise. eps-differentially private '
    '{gaussian_says} for {neighbours} the budget once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= '
    '50; none of them, nor mech, may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, '
    'Roth, Su 2022.';

AGGREGATE dp_regr(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, [mech dp_mechanism])
    RETURNS dp_regr_answer SPACE 160 TRANSITION dp_corr;
UP TO eps IS
    'Private least-squares line of y on x, of values clamped to [ylo, yhi] and [xlo, xhi]: slope, intercept, '
    'correlation, its square, covariance, means, standard deviations and number of rows, and what it cost, all from '
    'one release: (dp_regr(...)).* is one release too; never NULL: without rows it is noise. eps-differentially '
    'private for {neighbours} eps once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of '
    'them, nor mech, may be NULL {or_depend} Mechanism laplace, on six sums (Kulesza, Suresh, Wang 2024, Algorithm 3, '
    'for two columns).';
UP TO mech IS
    'Private least-squares line of y on x, of values clamped to [ylo, yhi] and [xlo, xhi]: slope, intercept, '
    'correlation, its square, covariance, means, standard deviations and number of rows, and what it cost, by the '
    'mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); all from one release: '
    '(dp_regr(...)).* is one release too; never NULL: without rows it is noise. eps-differentially private '
    '{gaussian_says} for {neighbours} the budget once. {pair_clamped} ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= '
    '50; none of them, nor mech, may be NULL {except_eps} {or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, '
    'Roth, Su 2022.';

AGGREGATE dp_covar_pop(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private population covariance of what persons contribute: {pair_counts} {pair} eps-differentially private for '
    '{neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; '
    'none of them, nor mech, may be NULL {or_depend} See dp_covar_pop of rows, and dp_mechanisms().';
UP TO mech IS
    'Private population covariance of what persons contribute, by the mechanism mech: {pair_counts} {pair} '
    'eps-differentially private {gaussian_says} for {neighbour_persons} the budget once. NULL in y or x is ignored. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {except_eps} {or_depend} '
    'See dp_covar_pop of rows, and dp_mechanisms().';

AGGREGATE dp_regr_slope(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private slope of the least-squares line of what persons contribute: {pair_counts} {pair} eps-differentially '
    'private for {neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= '
    'eps <= 50; none of them, nor mech, may be NULL {or_depend} See dp_regr_slope of rows, and dp_mechanisms().';
UP TO mech IS
    'Private slope of the least-squares line of what persons contribute, by the mechanism mech: {pair_counts} {pair} '
    'eps-differentially private {gaussian_says} for {neighbour_persons} the budget once. NULL in y or x is ignored. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {except_eps} {or_depend} '
    'See dp_regr_slope of rows, and dp_mechanisms().';

AGGREGATE dp_regr_intercept(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism]
) RETURNS float8 SPACE 160 TRANSITION dp_regr_slope;
UP TO eps IS
    'Private intercept of the least-squares line of what persons contribute: {pair_counts} {pair} eps-differentially '
    'private for {neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= '
    'eps <= 50; none of them, nor mech, may be NULL {or_depend} See dp_regr_intercept of rows, and dp_mechanisms().';
UP TO mech IS
    'Private intercept of the least-squares line of what persons contribute, by the mechanism mech: {pair_counts} '
    '{pair} eps-differentially private {gaussian_says} for {neighbour_persons} the budget once. NULL in y or x is '
    'ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {except_eps} '
    '{or_depend} See dp_regr_intercept of rows, and dp_mechanisms().';

AGGREGATE dp_corr(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism]
) RETURNS float8 SPACE 160;
UP TO eps IS
    'Private correlation of what persons contribute: {pair_counts} {pair} eps-differentially private for '
    '{neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; '
    'none of them, nor mech, may be NULL {or_depend} See dp_corr of rows, and dp_mechanisms().';
UP TO mech IS
    'Private correlation of what persons contribute, by the mechanism mech: {pair_counts} {pair} eps-differentially '
    'private {gaussian_says} for {neighbour_persons} the budget once. NULL in y or x is ignored. ylo < yhi and xlo < '
    'xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {except_eps} {or_depend} See dp_corr of '
    'rows, and dp_mechanisms().';

AGGREGATE dp_regr(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    [mech dp_mechanism]
) RETURNS dp_regr_answer SPACE 160 TRANSITION dp_corr;
UP TO eps IS
    'Private least-squares line, and all that goes with it, of what persons contribute: {pair_counts} {pair} '
    'eps-differentially private for {neighbour_persons} eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi '
    'finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL {or_depend} See dp_regr of rows, and '
    'dp_mechanisms().';
UP TO mech IS
    'Private least-squares line, and all that goes with it, of what persons contribute, by the mechanism mech: '
    '{pair_counts} {pair} eps- differentially private {gaussian_says} for {neighbour_persons} the budget once. NULL '
    'in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL '
    '{except_eps} {or_depend} See dp_regr of rows, and dp_mechanisms().';
