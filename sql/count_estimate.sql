-- dp_count_estimate.

CREATE TYPE dp_count_estimate_answer AS (
    value bigint, lower bigint, upper bigint,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_count_estimate_answer IS
    'The answer of dp_count_estimate: the private answer, an interval, and what the release cost. '
    'All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_count_estimate_answer.value IS 'the private number, as dp_count answers';
COMMENT ON COLUMN dp_count_estimate_answer.lower IS
    'the lower end of an interval that holds what is estimated with at least the probability confidence';
COMMENT ON COLUMN dp_count_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_count_estimate_answer.unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow '
    '(of distinct ids, an id with all of its rows)';
COMMENT ON COLUMN dp_count_estimate_answer.rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together; of a mechanism with a delta but with that probability';
COMMENT ON COLUMN dp_count_estimate_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL of mechanisms that are not Gaussian';
COMMENT ON COLUMN dp_count_estimate_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';
COMMENT ON COLUMN dp_count_estimate_answer.delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_count_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_count_estimate_rows_trans(state dp_mean.dp_state, eps float8) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_estimate_rows_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_estimate_trans(state dp_mean.dp_state, x "any", eps float8) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_estimate_trans(state dp_mean.dp_state, x "any", eps float8, mech dp_mechanism)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_estimate_trans(
    state dp_mean.dp_state, x "any", eps float8, mech dp_mechanism, confidence float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_estimate_final(state dp_mean.dp_state) RETURNS dp_count_estimate_answer
    AS 'MODULE_PATHNAME', 'dp_count_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_count_estimate(eps float8) (
    SFUNC = dp_mean.dp_count_estimate_rows_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_estimate(float8) IS
    'Private number of rows, with an interval around it, from one release: (dp_count_estimate(...)).* is one release '
    'too. '
    'The interval holds the number with at least the probability confidence, and no negative numbers. '
    'Mechanism geometric; confidence 0.95. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    '2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL '
    'beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

CREATE AGGREGATE dp_count_estimate(x "any", eps float8) (
    SFUNC = dp_mean.dp_count_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_estimate("any", float8) IS
    'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: '
    '(dp_count_estimate(...)).* is one release too. '
    'The interval holds the number with at least the probability confidence, and no negative numbers. '
    'Mechanism geometric; confidence 0.95. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    '2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL '
    'beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

CREATE AGGREGATE dp_count_estimate(x "any", eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_count_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_estimate("any", float8, dp_mechanism) IS
    'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: '
    '(dp_count_estimate(...)).* is one release too. '
    'The interval holds the number with at least the probability confidence, and no negative numbers. '
    'Mechanism mech: one of those of dp_count (undercount is (eps, delta)-differentially private and never above the '
    'number, so that its answer lies below the interval or at its lower end). '
    'confidence 0.95. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    '2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL '
    'beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

CREATE AGGREGATE dp_count_estimate(x "any", eps float8, mech dp_mechanism, confidence float8) (
    SFUNC = dp_mean.dp_count_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_estimate("any", float8, dp_mechanism, float8) IS
    'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: '
    '(dp_count_estimate(...)).* is one release too. '
    'The interval holds the number with at least the probability confidence, and no negative numbers. '
    'Mechanism mech: one of those of dp_count (undercount is (eps, delta)-differentially private and never above the '
    'number, so that its answer lies below the interval or at its lower end). '
    'The interval misses with a probability of at most 1 - confidence. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    '2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL (except that eps must be NULL '
    'beside mu= or rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';
