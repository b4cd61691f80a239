-- dp_linear_regression: several predictors from one release.

CREATE TYPE dp_linear_regression_answer AS (
    coefficients float8[], standard_errors float8[], p_values float8[], lower float8[], upper float8[],
    population_lower float8[], population_upper float8[], r2 float8, residual_stddev float8,
    y_mean float8, x_means float8[], y_stddev float8, x_stddevs float8[], count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_linear_regression_answer IS
    'The answer of dp_linear_regression: coefficients with their standard errors and intervals, and what the release '
    'cost. Each array has the intercept first, then a number for each predictor, in the order of x. All from one '
    'release.';
COMMENT ON COLUMN dp_linear_regression_answer.coefficients IS
    'the intercept, then the slopes, nearer to 0 where noise hides them; about 0 for a predictor whose spread is not '
    'seen through the noise';
COMMENT ON COLUMN dp_linear_regression_answer.standard_errors IS
    'of noise and sample together, as least squares have them; Infinity where the coefficient is not seen through the '
    'noise';
COMMENT ON COLUMN dp_linear_regression_answer.p_values IS
    'how likely so large a coefficient is, by noise and sample together, where it is 0 in the population';
COMMENT ON COLUMN dp_linear_regression_answer.lower IS
    'where the intervals of what least squares give for the clamped rows begin; -Infinity of what is not seen';
COMMENT ON COLUMN dp_linear_regression_answer.upper IS 'where they end; Infinity of what is not seen';
COMMENT ON COLUMN dp_linear_regression_answer.population_lower IS
    'where the intervals of the coefficients of the population begin, if residuals are alike everywhere';
COMMENT ON COLUMN dp_linear_regression_answer.population_upper IS 'where they end';
COMMENT ON COLUMN dp_linear_regression_answer.r2 IS
    'the part of the spread of y that the predictors explain, from 0 to 1';
COMMENT ON COLUMN dp_linear_regression_answer.residual_stddev IS
    'the standard deviation of what the predictors do not explain, in the unit of y';
COMMENT ON COLUMN dp_linear_regression_answer.y_mean IS 'the private mean of y, inside [ylo, yhi]';
COMMENT ON COLUMN dp_linear_regression_answer.x_means IS 'the private means of the predictors, inside their bounds';
COMMENT ON COLUMN dp_linear_regression_answer.y_stddev IS 'the private population standard deviation of y';
COMMENT ON COLUMN dp_linear_regression_answer.x_stddevs IS 'those of the predictors';
COMMENT ON COLUMN dp_linear_regression_answer.count IS
    'the noisy number of rows with all values; it can be negative or a fraction';
COMMENT ON COLUMN dp_linear_regression_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_linear_regression_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_linear_regression_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_linear_regression_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_linear_regression_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_linear_regression_answer.mechanism IS 'the mechanism of the release, as its text';

PHRASE columns IS
    'A row with NULL or NaN in y or in one of the predictors, or with fewer of them than xlo has, is ignored; elements '
    'beyond are too; values outside the bounds, infinities too, are clamped.';

PHRASE column_bounds IS
    'xlo and xhi have a number for each predictor, 1 to 16 of them; ylo < yhi and each xlo < xhi finite; 2^-20 <= eps '
    '<= 50;';

AGGREGATE dp_linear_regression(
    y float8, x float8[], ylo float8, yhi float8, xlo float8[], xhi float8[], eps float8,
    [mech dp_mechanism], [confidence float8]
) RETURNS dp_linear_regression_answer SPACE 688 COST 50;
UP TO eps IS
    'Private least-squares regression of y on the predictors in the array x, all from one release: intercept and '
    'slopes with standard errors, p values and intervals of 95%, of the clamped rows and of the population they were '
    'drawn from; r2, the standard deviation of the residuals, the number of rows, and what it cost. Never NULL: '
    'without rows it is noise, and says so by intervals without ends. eps-differentially private for {neighbours} eps '
    'once. {columns} {column_bounds} none of them may be NULL {or_depend} Mechanism knorm (Hardt, Talwar 2010), on '
    'the sums of products that Wang 2018 releases.';
UP TO mech IS
    'Private least-squares regression of y on the predictors in the array x, by the mechanism mech: knorm or gaussian '
    '(with its own budget); see dp_mechanisms(); otherwise as above. eps-differentially private {gaussian_says} for '
    '{neighbours} the budget once. {columns} {column_bounds} none of them, nor mech, may be NULL {except_eps} '
    '{or_depend} Sources: Hardt, Talwar 2010; Dong, Roth, Su 2022; Wang 2018.';
UP TO confidence IS
    'Private least-squares regression of y on the predictors in the array x, with intervals of this confidence, above '
    '0 and below 1; otherwise as above. eps-differentially private {gaussian_says} for {neighbours} the budget once. '
    '{columns} {column_bounds} none of them, nor mech or confidence, may be NULL {except_eps} {or_depend} Sources: '
    'Hardt, Talwar 2010; Dong, Roth, Su 2022; Wang 2018.';
