-- dp_counts_estimate, dp_sums_estimate.

CREATE TYPE dp_vector_answer AS (
    value float8[], total float8, sd float8, covariance float8, total_sd float8, total_covariance float8,
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
COMMENT ON COLUMN dp_vector_answer.unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow';
COMMENT ON COLUMN dp_vector_answer.rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together';
COMMENT ON COLUMN dp_vector_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL of mechanisms that are not Gaussian';
COMMENT ON COLUMN dp_vector_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_vector_answer.delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_vector_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_counts_estimate_final(state dp_mean.dp_state) RETURNS dp_vector_answer
    AS 'MODULE_PATHNAME', 'dp_counts_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_counts_estimate(eps float8, mech dp_mechanism, VARIADIC questions "any") (
    SFUNC = dp_mean.dp_counts_trans, STYPE = dp_mean.dp_state, SSPACE = 576,
    FINALFUNC = dp_mean.dp_counts_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_counts_estimate(float8, dp_mechanism, "any") IS
    'The counts of dp_counts with the same arguments, the noisy number of rows that the same release gives at no '
    'further cost, and the standard deviations and covariances of the noise, as a dp_vector_answer: for intervals, '
    'also of differences of two counts (Lebeda 2024, Corollary 3.1). '
    'The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= '
    '(zero-concentrated), with NULL for eps; for laplace it is eps alone. '
    'Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace '
    'and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A question of another type: 42804; none of eps and mech may depend on the rows: 22023, the same with and without '
    'rows.';

CREATE FUNCTION dp_mean.dp_sums_estimate_final(state dp_mean.dp_state) RETURNS dp_vector_answer
    AS 'MODULE_PATHNAME', 'dp_sums_estimate_final_0_2' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_sums_estimate(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_sums_trans, STYPE = dp_mean.dp_state, SSPACE = 1088,
    FINALFUNC = dp_mean.dp_sums_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_sums_estimate(float8[], float8, float8, float8, dp_mechanism) IS
    'The sums of dp_sums with the same arguments, the noisy number of rows that the same release gives at no further '
    'cost, and the standard deviations and covariances of the noise, as a dp_vector_answer. '
    'The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= '
    '(zero-concentrated), with NULL for eps; for laplace it is eps alone. '
    'Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace '
    'and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'lo < hi finite; none of lo, hi, eps, mech may depend on the rows: 22023, the same with and without rows.';
