-- The difference of two estimates.

CREATE TYPE dp_difference_answer AS (
    value float8, lower float8, upper float8, population_lower float8, population_upper float8, p_value float8
);
COMMENT ON TYPE dp_difference_answer IS
    'The answer of dp_difference: what two estimates differ by, with intervals. It costs nothing.';
COMMENT ON COLUMN dp_difference_answer.value IS 'the first value less the second';
COMMENT ON COLUMN dp_difference_answer.lower IS
    'the lower end of an interval of the difference of the rows'' own numbers; NULL where an estimate has none of '
    'these';
COMMENT ON COLUMN dp_difference_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_difference_answer.population_lower IS
    'the lower end of an interval of the difference of the populations that the rows were drawn from: noise and chance '
    'together; NULL where an estimate has none of these';
COMMENT ON COLUMN dp_difference_answer.population_upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_difference_answer.p_value IS
    'how likely a difference as large as this is where the populations do not differ; below 1 - confidence just where '
    'population_lower to population_upper does not hold 0; NULL where these are';

CREATE FUNCTION dp_difference(
    first float8, first_lower float8, first_upper float8, second float8, second_lower float8, second_upper float8,
    confidence float8 DEFAULT 0.95, OUT value float8, OUT lower float8, OUT upper float8, OUT p_value float8
) AS 'MODULE_PATHNAME', 'dp_difference_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_difference(float8, float8, float8, float8, float8, float8, float8) IS
    'What two independent estimates differ by, from the value and the interval of each: the difference, an interval of '
    'the same confidence, and a p value. It looks at no data and costs nothing. confidence is that of both intervals. '
    'NULL where an argument is NULL; 0 < confidence < 1 and finite numbers: else 22023. '
    'Zou, Donner 2008 (Statistics in Medicine 27).';

CREATE FUNCTION dp_difference(first dp_variance_answer, second dp_variance_answer, confidence float8 DEFAULT 0.95)
    RETURNS dp_difference_answer LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN (SELECT ROW(first.mean - second.mean, r.lower, r.upper, p.lower, p.upper, p.p_value)::dp_difference_answer
            FROM dp_difference(first.mean, first.mean_lower, first.mean_upper,
                               second.mean, second.mean_lower, second.mean_upper, confidence) AS r,
                 dp_difference(first.mean, first.population_mean_lower, first.population_mean_upper,
                               second.mean, second.population_mean_lower, second.population_mean_upper,
                               confidence) AS p);
COMMENT ON FUNCTION dp_difference(dp_variance_answer, dp_variance_answer, float8) IS
    'What the means of two groups differ by, from two answers of dp_var_pop_estimate about different rows: intervals '
    'of the rows and of their populations, and a p value. It looks at no data and costs nothing. confidence is that of '
    'both estimates. 0 < confidence < 1: else 22023. Zou, Donner 2008 (Statistics in Medicine 27).';

CREATE FUNCTION dp_difference(
    first dp_mean_estimate_answer, second dp_mean_estimate_answer, confidence float8 DEFAULT 0.95
) RETURNS dp_difference_answer LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN (SELECT ROW(first.value - second.value, r.lower, r.upper, NULL, NULL, NULL)::dp_difference_answer
            FROM dp_difference(first.value, first.lower, first.upper,
                               second.value, second.lower, second.upper, confidence) AS r);
COMMENT ON FUNCTION dp_difference(dp_mean_estimate_answer, dp_mean_estimate_answer, float8) IS
    'What the means of two groups of rows differ by, from two answers of dp_mean_estimate. It says nothing of '
    'populations, as such an estimate has no variance: that is for dp_var_pop_estimate. It looks at no data and costs '
    'nothing. confidence is that of both estimates. 0 < confidence < 1: else 22023. '
    'Zou, Donner 2008 (Statistics in Medicine 27).';

CREATE FUNCTION dp_difference(
    first dp_quantile_estimate_answer, second dp_quantile_estimate_answer, confidence float8 DEFAULT 0.95
) RETURNS dp_difference_answer LANGUAGE SQL IMMUTABLE PARALLEL SAFE
    RETURN (SELECT ROW(first.value - second.value, NULL, NULL, p.lower, p.upper, p.p_value)::dp_difference_answer
            FROM dp_difference(first.value, first.lower, first.upper,
                               second.value, second.lower, second.upper, confidence) AS p);
COMMENT ON FUNCTION dp_difference(dp_quantile_estimate_answer, dp_quantile_estimate_answer, float8) IS
    'What the quantiles of two populations differ by, from two answers of dp_quantile_estimate about different rows, '
    'whose intervals are of the populations. It looks at no data and costs nothing. confidence is that of both '
    'estimates. 0 < confidence < 1: else 22023. Zou, Donner 2008 (Statistics in Medicine 27).';
