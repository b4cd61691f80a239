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
COMMENT ON COLUMN dp_regr_answer.unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow';
COMMENT ON COLUMN dp_regr_answer.rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together';
COMMENT ON COLUMN dp_regr_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL of mechanisms that are not Gaussian';
COMMENT ON COLUMN dp_regr_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_regr_answer.delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_regr_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_covar_pop_trans(
    state dp_mean.dp_state, y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_covar_pop_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_covar_pop_trans(
    state dp_mean.dp_state, y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_covar_pop_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_covar_pop_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_covar_pop_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_covar_pop(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8) (
    SFUNC = dp_mean.dp_covar_pop_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_covar_pop_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_covar_pop(float8, float8, float8, float8, float8, float8, float8) IS
    'Private population covariance of y and x, as covar_pop(y, x), clamped to [ylo, yhi] and [xlo, xhi], in the '
    'product of their units; at most a quarter of the product of the widths, never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on the rows: '
    '22023, the same with and without rows. '
    'Mechanism laplace, on four sums (Kulesza, Suresh, Wang 2024, Algorithm 3, for two columns).';

CREATE AGGREGATE dp_covar_pop(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_covar_pop_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_covar_pop_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_covar_pop(float8, float8, float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private population covariance of y and x, as covar_pop(y, x), clamped to [ylo, yhi] and [xlo, xhi], in the '
    'product of their units, by the mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); '
    'at most a quarter of the product of the widths, never NULL: without rows it is noise. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE FUNCTION dp_mean.dp_regr_slope_trans(
    state dp_mean.dp_state, y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_regr_slope_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_slope_trans(
    state dp_mean.dp_state, y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_regr_slope_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_slope_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_regr_slope_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_intercept_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_regr_intercept_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_regr_slope(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8) (
    SFUNC = dp_mean.dp_regr_slope_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_slope_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_slope(float8, float8, float8, float8, float8, float8, float8) IS
    'Private slope of the least-squares line of y on x, as regr_slope(y, x), of values clamped to [ylo, yhi] and '
    '[xlo, xhi]; 0 where no spread of x is seen through the noise, never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on the rows: '
    '22023, the same with and without rows. '
    'Mechanism laplace, on five sums (Kulesza, Suresh, Wang 2024, Algorithm 3, for two columns).';

CREATE AGGREGATE dp_regr_slope(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_regr_slope_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_slope_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_slope(float8, float8, float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private slope of the least-squares line of y on x, as regr_slope(y, x), of values clamped to [ylo, yhi] and '
    '[xlo, xhi], by the mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); 0 where no '
    'spread of x is seen through the noise, never NULL: without rows it is noise. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE AGGREGATE dp_regr_intercept(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8) (
    SFUNC = dp_mean.dp_regr_slope_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_intercept_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_intercept(float8, float8, float8, float8, float8, float8, float8) IS
    'Private intercept of the least-squares line of y on x, as regr_intercept(y, x), of values clamped to [ylo, yhi] '
    'and [xlo, xhi]; the mean of y where no spread of x is seen through the noise, never NULL: without rows it is '
    'noise. Beside dp_regr_slope it is a release of its own; dp_regr has both from one. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on the rows: '
    '22023, the same with and without rows. '
    'Mechanism laplace, on five sums (Kulesza, Suresh, Wang 2024, Algorithm 3, for two columns).';

CREATE AGGREGATE dp_regr_intercept(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_regr_slope_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_intercept_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_intercept(float8, float8, float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private intercept of the least-squares line of y on x, as regr_intercept(y, x), of values clamped to [ylo, yhi] '
    'and [xlo, xhi], by the mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); the mean '
    'of y where no spread of x is seen through the noise, never NULL: without rows it is noise. Beside dp_regr_slope '
    'it is a release of its own; dp_regr has both from one. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE FUNCTION dp_mean.dp_corr_trans(
    state dp_mean.dp_state, y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_corr_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_corr_trans(
    state dp_mean.dp_state, y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8,
    mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_corr_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_corr_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_corr_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_final(state dp_mean.dp_state) RETURNS dp_regr_answer
    AS 'MODULE_PATHNAME', 'dp_regr_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_corr(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8) (
    SFUNC = dp_mean.dp_corr_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_corr_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_corr(float8, float8, float8, float8, float8, float8, float8) IS
    'Private correlation of y and x, as corr(y, x), of values clamped to [ylo, yhi] and [xlo, xhi]; from -1 to 1, 0 '
    'where no spread of a column is seen through the noise, never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on the rows: '
    '22023, the same with and without rows. '
    'Mechanism laplace, on six sums (Kulesza, Suresh, Wang 2024, Algorithm 3, for two columns).';

CREATE AGGREGATE dp_corr(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_corr_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_corr_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_corr(float8, float8, float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private correlation of y and x, as corr(y, x), of values clamped to [ylo, yhi] and [xlo, xhi], by the mechanism '
    'mech: laplace or gaussian (with its own budget); see dp_mechanisms(); from -1 to 1, 0 where no spread of a '
    'column is seen through the noise, never NULL: without rows it is noise. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE AGGREGATE dp_regr(y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8) (
    SFUNC = dp_mean.dp_corr_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr(float8, float8, float8, float8, float8, float8, float8) IS
    'Private least-squares line of y on x, of values clamped to [ylo, yhi] and [xlo, xhi]: slope, intercept, '
    'correlation, its square, covariance, means, standard deviations and number of rows, and what it cost, all from '
    'one release: (dp_regr(...)).* is one release too; never NULL: without rows it is noise. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on the rows: '
    '22023, the same with and without rows. '
    'Mechanism laplace, on six sums (Kulesza, Suresh, Wang 2024, Algorithm 3, for two columns).';

CREATE AGGREGATE dp_regr(
    y float8, x float8, ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_corr_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr(float8, float8, float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private least-squares line of y on x, of values clamped to [ylo, yhi] and [xlo, xhi]: slope, intercept, '
    'correlation, its square, covariance, means, standard deviations and number of rows, and what it cost, by the '
    'mechanism mech: laplace or gaussian (with its own budget); see dp_mechanisms(); all from one release: '
    '(dp_regr(...)).* is one release too; never NULL: without rows it is noise. '
    'eps-differentially private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped. '
    'ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

CREATE FUNCTION dp_mean.dp_covar_pop_people_trans(
    state dp_mean.dp_state, y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_covar_pop_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_covar_pop_people_trans(
    state dp_mean.dp_state, y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_covar_pop_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_covar_pop_people_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_covar_pop_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_covar_pop(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) (
    SFUNC = dp_mean.dp_covar_pop_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_covar_pop_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_covar_pop(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8
) IS
    'Private population covariance of what persons contribute: a person counts as min(n, rows) rows with the means of '
    'their values in y and in x, n the rows of the one that has fewer; who has none in one of them counts in neither. '
    'A person with any number of rows is protected, with one pair of contributions in a group: it counts as at most '
    'the rows= of the mechanism, 1 by default, whatever it was made with. Both must come of the same rows: give both '
    'calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows these calls, other bounds, or a '
    'k other than rows=, are refused: 22023, the same with and without rows; where it does not, on other bounds a '
    'contribution counts at its mean. eps-differentially private for neighbours that differ by adding or removing one '
    'person; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL in y or x is '
    'ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on '
    'the rows: 22023, the same with and without rows. See dp_covar_pop of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_covar_pop(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_covar_pop_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_covar_pop_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_covar_pop(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8, dp_mechanism
) IS
    'Private population covariance of what persons contribute, by the mechanism mech: a person counts as min(n, rows) '
    'rows with the means of their values in y and in x, n the rows of the one that has fewer; who has none in one of '
    'them counts in neither. A person with any number of rows is protected, with one pair of contributions in a '
    'group: it counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Both must come '
    'of the same rows: give both calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows '
    'these calls, other bounds, or a k other than rows=, are refused: 22023, the same with and without rows; where it '
    'does not, on other bounds a contribution counts at its mean. eps-differentially private (gaussian: as its '
    'delta=, mu= or rho= says) for neighbours that differ by adding or removing one person; each GROUP BY group is '
    'one release, and disjoint groups together cost the budget once. NULL in y or x is ignored. ylo < yhi and xlo < '
    'xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be NULL beside mu= or '
    'rho=) or depend on the rows: 22023, the same with and without rows. See dp_covar_pop of rows, and '
    'dp_mechanisms().';

CREATE FUNCTION dp_mean.dp_regr_slope_people_trans(
    state dp_mean.dp_state, y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_regr_slope_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_slope_people_trans(
    state dp_mean.dp_state, y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_regr_slope_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_slope_people_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_regr_slope_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_intercept_people_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_regr_intercept_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_regr_slope(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) (
    SFUNC = dp_mean.dp_regr_slope_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_slope_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_slope(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8
) IS
    'Private slope of the least-squares line of what persons contribute: a person counts as min(n, rows) rows with '
    'the means of their values in y and in x, n the rows of the one that has fewer; who has none in one of them '
    'counts in neither. A person with any number of rows is protected, with one pair of contributions in a group: it '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Both must come of the '
    'same rows: give both calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows these '
    'calls, other bounds, or a k other than rows=, are refused: 22023, the same with and without rows; where it does '
    'not, on other bounds a contribution counts at its mean. eps-differentially private for neighbours that differ by '
    'adding or removing one person; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    'NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be '
    'NULL or depend on the rows: 22023, the same with and without rows. See dp_regr_slope of rows, and '
    'dp_mechanisms().';

CREATE AGGREGATE dp_regr_slope(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_regr_slope_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_slope_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_slope(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8, dp_mechanism
) IS
    'Private slope of the least-squares line of what persons contribute, by the mechanism mech: a person counts as '
    'min(n, rows) rows with the means of their values in y and in x, n the rows of the one that has fewer; who has '
    'none in one of them counts in neither. A person with any number of rows is protected, with one pair of '
    'contributions in a group: it counts as at most the rows= of the mechanism, 1 by default, whatever it was made '
    'with. Both must come of the same rows: give both calls of dp_contribution a FILTER by which neither is NULL. '
    'Where the plan shows these calls, other bounds, or a k other than rows=, are refused: 22023, the same with and '
    'without rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially private '
    '(gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one person; each '
    'GROUP BY group is one release, and disjoint groups together cost the budget once. NULL in y or x is ignored. ylo '
    '< yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. See dp_regr_slope of '
    'rows, and dp_mechanisms().';

CREATE AGGREGATE dp_regr_intercept(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) (
    SFUNC = dp_mean.dp_regr_slope_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_intercept_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_intercept(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8
) IS
    'Private intercept of the least-squares line of what persons contribute: a person counts as min(n, rows) rows '
    'with the means of their values in y and in x, n the rows of the one that has fewer; who has none in one of them '
    'counts in neither. A person with any number of rows is protected, with one pair of contributions in a group: it '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Both must come of the '
    'same rows: give both calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows these '
    'calls, other bounds, or a k other than rows=, are refused: 22023, the same with and without rows; where it does '
    'not, on other bounds a contribution counts at its mean. eps-differentially private for neighbours that differ by '
    'adding or removing one person; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    'NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be '
    'NULL or depend on the rows: 22023, the same with and without rows. See dp_regr_intercept of rows, and '
    'dp_mechanisms().';

CREATE AGGREGATE dp_regr_intercept(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_regr_slope_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_intercept_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr_intercept(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8, dp_mechanism
) IS
    'Private intercept of the least-squares line of what persons contribute, by the mechanism mech: a person counts '
    'as min(n, rows) rows with the means of their values in y and in x, n the rows of the one that has fewer; who has '
    'none in one of them counts in neither. A person with any number of rows is protected, with one pair of '
    'contributions in a group: it counts as at most the rows= of the mechanism, 1 by default, whatever it was made '
    'with. Both must come of the same rows: give both calls of dp_contribution a FILTER by which neither is NULL. '
    'Where the plan shows these calls, other bounds, or a k other than rows=, are refused: 22023, the same with and '
    'without rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially private '
    '(gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one person; each '
    'GROUP BY group is one release, and disjoint groups together cost the budget once. NULL in y or x is ignored. ylo '
    '< yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be '
    'NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. See dp_regr_intercept of '
    'rows, and dp_mechanisms().';

CREATE FUNCTION dp_mean.dp_corr_people_trans(
    state dp_mean.dp_state, y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_corr_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_corr_people_trans(
    state dp_mean.dp_state, y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_corr_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_corr_people_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_corr_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_regr_people_final(state dp_mean.dp_state) RETURNS dp_regr_answer
    AS 'MODULE_PATHNAME', 'dp_regr_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_corr(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) (
    SFUNC = dp_mean.dp_corr_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_corr_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_corr(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8
) IS
    'Private correlation of what persons contribute: a person counts as min(n, rows) rows with the means of their '
    'values in y and in x, n the rows of the one that has fewer; who has none in one of them counts in neither. A '
    'person with any number of rows is protected, with one pair of contributions in a group: it counts as at most the '
    'rows= of the mechanism, 1 by default, whatever it was made with. Both must come of the same rows: give both '
    'calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows these calls, other bounds, or a '
    'k other than rows=, are refused: 22023, the same with and without rows; where it does not, on other bounds a '
    'contribution counts at its mean. eps-differentially private for neighbours that differ by adding or removing one '
    'person; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL in y or x is '
    'ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL or depend on '
    'the rows: 22023, the same with and without rows. See dp_corr of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_corr(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_corr_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_corr_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_corr(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8, dp_mechanism
) IS
    'Private correlation of what persons contribute, by the mechanism mech: a person counts as min(n, rows) rows with '
    'the means of their values in y and in x, n the rows of the one that has fewer; who has none in one of them '
    'counts in neither. A person with any number of rows is protected, with one pair of contributions in a group: it '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Both must come of the '
    'same rows: give both calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows these '
    'calls, other bounds, or a k other than rows=, are refused: 22023, the same with and without rows; where it does '
    'not, on other bounds a contribution counts at its mean. eps-differentially private (gaussian: as its delta=, mu= '
    'or rho= says) for neighbours that differ by adding or removing one person; each GROUP BY group is one release, '
    'and disjoint groups together cost the budget once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; '
    '2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that eps must be NULL beside mu= or rho=) or '
    'depend on the rows: 22023, the same with and without rows. See dp_corr of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_regr(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution, ylo float8, yhi float8, xlo float8, xhi float8, eps float8
) (
    SFUNC = dp_mean.dp_corr_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8
) IS
    'Private least-squares line, and all that goes with it, of what persons contribute: a person counts as min(n, '
    'rows) rows with the means of their values in y and in x, n the rows of the one that has fewer; who has none in '
    'one of them counts in neither. A person with any number of rows is protected, with one pair of contributions in '
    'a group: it counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Both must '
    'come of the same rows: give both calls of dp_contribution a FILTER by which neither is NULL. Where the plan '
    'shows these calls, other bounds, or a k other than rows=, are refused: 22023, the same with and without rows; '
    'where it does not, on other bounds a contribution counts at its mean. eps-differentially private for neighbours '
    'that differ by adding or removing one person; each GROUP BY group is one release, and disjoint groups together '
    'cost eps once. NULL in y or x is ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor '
    'mech, may be NULL or depend on the rows: 22023, the same with and without rows. See dp_regr of rows, and '
    'dp_mechanisms().';

CREATE AGGREGATE dp_regr(
    y dp_mean.dp_contribution, x dp_mean.dp_contribution,
    ylo float8, yhi float8, xlo float8, xhi float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_corr_people_trans, STYPE = dp_mean.dp_state, SSPACE = 160,
    FINALFUNC = dp_mean.dp_regr_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_regr(
    dp_mean.dp_contribution, dp_mean.dp_contribution, float8, float8, float8, float8, float8, dp_mechanism
) IS
    'Private least-squares line, and all that goes with it, of what persons contribute, by the mechanism mech: a '
    'person counts as min(n, rows) rows with the means of their values in y and in x, n the rows of the one that has '
    'fewer; who has none in one of them counts in neither. A person with any number of rows is protected, with one '
    'pair of contributions in a group: it counts as at most the rows= of the mechanism, 1 by default, whatever it was '
    'made with. Both must come of the same rows: give both calls of dp_contribution a FILTER by which neither is '
    'NULL. Where the plan shows these calls, other bounds, or a k other than rows=, are refused: 22023, the same with '
    'and without rows; where it does not, on other bounds a contribution counts at its mean. eps- differentially '
    'private (gaussian: as its delta=, mu= or rho= says) for neighbours that differ by adding or removing one person; '
    'each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL in y or x is '
    'ignored. ylo < yhi and xlo < xhi finite; 2^-20 <= eps <= 50; none of them, nor mech, may be NULL (except that '
    'eps must be NULL beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. See dp_regr '
    'of rows, and dp_mechanisms().';
