-- dp_counts_estimate, dp_sums_estimate.

CREATE TYPE dp_vector_answer AS (
    value float8[], total float8, sd float8, covariance float8, total_sd float8, total_covariance float8,
    half_width float8, difference_half_width float8, total_half_width float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_vector_answer IS
    'The answer of dp_counts_estimate and dp_sums_estimate: noisy numbers, how uncertain the noise makes them, and '
    'what the release cost. '
    'All but value and total are public: they follow from the arguments.';
COMMENT ON COLUMN dp_vector_answer.value IS 'the noisy counts or sums, one for each position';
COMMENT ON COLUMN dp_vector_answer.total IS
    'the noisy number of rows from the same release, at no further cost; the given one of known_n; NULL where the '
    'mechanism has none';
COMMENT ON COLUMN dp_vector_answer.sd IS 'the standard deviation of the noise in each number of value';
COMMENT ON COLUMN dp_vector_answer.covariance IS
    'the covariance of the noise in two numbers of value: their difference has variance 2 (sd^2 - covariance)';
COMMENT ON COLUMN dp_vector_answer.total_sd IS 'the standard deviation of the noise in the total';
COMMENT ON COLUMN dp_vector_answer.total_covariance IS
    'the covariance of the noise in the total and in one number of value';
COMMENT ON COLUMN dp_vector_answer.half_width IS
    'half of the width of a 95% interval of each number of value: the number without noise lies within value[i] - '
    'half_width and value[i] + half_width, by the law of the noise';
COMMENT ON COLUMN dp_vector_answer.difference_half_width IS
    'the same for the difference of two numbers of value; NULL where there is one alone';
COMMENT ON COLUMN dp_vector_answer.total_half_width IS 'the same for the total; NULL where there is none';
COMMENT ON COLUMN dp_vector_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_vector_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_vector_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_vector_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_vector_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_vector_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_counts_estimate_final(state dp_mean.dp_state) RETURNS dp_vector_answer
    AS 'MODULE_PATHNAME', 'dp_counts_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;

AGGREGATE dp_counts_estimate(eps float8, mech dp_mechanism, VARIADIC questions "any")
    RETURNS dp_vector_answer SPACE 576 TRANSITION dp_counts;
UP TO questions IS
    'The counts of dp_counts with the same arguments, the noisy number of rows that the same release gives at no '
    'further cost, the standard deviations and covariances of the noise (Lebeda 2024, Corollary 3.1), and 95% '
    'intervals of each count, of the difference of two and of the total, as a dp_vector_answer. The budget is in '
    'mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= (zero-concentrated), with '
    'NULL for eps; for knorm and laplace it is eps alone. {neighbours_or_replaced} A question of another type: '
    '42804; none of eps and mech may depend on the rows: 22023, the same with and without rows.';

CREATE FUNCTION dp_mean.dp_sums_estimate_final(state dp_mean.dp_state) RETURNS dp_vector_answer
    AS 'MODULE_PATHNAME', 'dp_sums_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;

AGGREGATE dp_sums_estimate(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism)
    RETURNS dp_vector_answer SPACE 1088 TRANSITION dp_sums;
UP TO mech IS
    'The sums of dp_sums with the same arguments, the noisy number of rows that the same release gives at no further '
    'cost, the standard deviations and covariances of the noise, and 95% intervals of each sum, of the difference of '
    'two and of the total, as a dp_vector_answer. The budget is in mech: delta= with eps (approximate differential '
    'privacy), or mu= (Gaussian) or rho= (zero-concentrated), with NULL for eps; for knorm and laplace it is eps '
    'alone. {neighbours_or_replaced} lo < hi finite; none of lo, hi, eps, mech may depend on the rows: 22023, the same '
    'with and without rows.';
