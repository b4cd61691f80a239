-- dp_quantile_estimate.

CREATE TYPE dp_quantile_estimate_answer AS (
    value float8, lower float8, upper float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_quantile_estimate_answer IS
    'The answer of dp_quantile_estimate: a private quantile with an interval around it, and what the release cost. '
    'All from one release.';
COMMENT ON COLUMN dp_quantile_estimate_answer.value IS 'the private quantile';
COMMENT ON COLUMN dp_quantile_estimate_answer.lower IS
    'the lower end of an interval that holds the quantile of the law that the rows were drawn from with at least the '
    'probability confidence; lo where too little is known';
COMMENT ON COLUMN dp_quantile_estimate_answer.upper IS 'the upper end of that interval; hi where too little is known';
COMMENT ON COLUMN dp_quantile_estimate_answer.unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow';
COMMENT ON COLUMN dp_quantile_estimate_answer.rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together';
COMMENT ON COLUMN dp_quantile_estimate_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL, as no mechanism of quantiles is Gaussian';
COMMENT ON COLUMN dp_quantile_estimate_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has rho= in its place';
COMMENT ON COLUMN dp_quantile_estimate_answer.delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';
COMMENT ON COLUMN dp_quantile_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

CREATE FUNCTION dp_mean.dp_quantile_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, q float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, q float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_estimate_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, q float8, eps float8, mech dp_mechanism, confidence float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_estimate_final(state dp_mean.dp_state) RETURNS dp_quantile_estimate_answer
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_quantile_estimate(x float8, lo float8, hi float8, q float8, eps float8) (
    SFUNC = dp_mean.dp_quantile_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile_estimate(float8, float8, float8, float8, float8) IS
    'Private quantile of x, a value with about the part q of the rows below it, with an interval around it, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. The interval holds the quantile of the law that the '
    'rows were drawn from, clamped to [lo, hi], with at least the probability confidence, whatever the law is, and '
    'that of the rows themselves more surely; an end is lo or hi where too little is known. Mechanism em, in 16384 '
    'bins of equal width; confidence 0.95. eps-differentially private for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. The quantile '
    'itself has 3/16 of eps, the rest is for the interval. NULL and NaN in x are ignored. lo < hi finite; q from '
    '0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech, confidence may be NULL or depend on the '
    'rows: 22023, the same with and without rows. Sources: McSherry, Talwar 2007; Smith 2011.';

CREATE AGGREGATE dp_quantile_estimate(x float8, lo float8, hi float8, q float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_quantile_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile_estimate(float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private quantile of x, a value with about the part q of the rows below it, with an interval around it, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. The interval holds the quantile of the law that the '
    'rows were drawn from, clamped to [lo, hi], with at least the probability confidence, whatever the law is, and '
    'that of the rows themselves more surely; an end is lo or hi where too little is known. Mechanism mech: em, with '
    'the parameters that dp_quantile takes; see dp_mechanisms(). confidence 0.95. eps-differentially private (with a '
    'rho=, as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost the budget once. The quantile itself has 3/16 of eps, the rest is '
    'for the interval. NULL and NaN in x are ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; '
    'none of lo, hi, q, eps, mech, confidence may be NULL (except that eps must be NULL beside rho=) or depend on '
    'the rows: 22023, the same with and without rows. Sources: McSherry, Talwar 2007; Smith 2011.';

CREATE AGGREGATE dp_quantile_estimate(
    x float8, lo float8, hi float8, q float8, eps float8, mech dp_mechanism, confidence float8
) (
    SFUNC = dp_mean.dp_quantile_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile_estimate(float8, float8, float8, float8, float8, dp_mechanism, float8) IS
    'Private quantile of x, a value with about the part q of the rows below it, with an interval around it, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. The interval holds the quantile of the law that the '
    'rows were drawn from, clamped to [lo, hi], with at least the probability confidence, whatever the law is, and '
    'that of the rows themselves more surely; an end is lo or hi where too little is known. Mechanism mech: em, with '
    'the parameters that dp_quantile takes; see dp_mechanisms(). The interval misses with a probability of at most 1 '
    '- confidence. eps-differentially private (with a rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. The '
    'quantile itself has 3/16 of eps, the rest is for the interval. NULL and NaN in x are ignored. lo < hi finite; q '
    'from 0.00001 to 0.99999; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, q, eps, mech, confidence may '
    'be NULL (except that eps must be NULL beside rho=) or depend on the rows: 22023, the same with and without '
    'rows. Sources: McSherry, Talwar 2007; Smith 2011.';

CREATE FUNCTION dp_mean.dp_quantile_estimate_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_estimate_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_estimate_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, mech dp_mechanism,
    confidence float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_estimate_people_final(state dp_mean.dp_state) RETURNS dp_quantile_estimate_answer
    AS 'MODULE_PATHNAME', 'dp_quantile_estimate_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_quantile_estimate(x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8) (
    SFUNC = dp_mean.dp_quantile_estimate_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_estimate_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile_estimate(dp_mean.dp_contribution, float8, float8, float8, float8) IS
    'Private quantile of what persons contribute, with an interval around it, from one release: '
    '(dp_quantile_estimate(...)).* is one release too. A person of n rows counts as min(n, rows) rows with the value '
    'of their mean. The interval holds the quantile of the law that the persons were drawn from, each as often as '
    'they count, clamped to [lo, hi], with at least the probability confidence, whatever the law is; an end is lo or '
    'hi where too little is known. confidence 0.95. A person with any number of rows is protected, with one '
    'contribution in a group: a contribution counts as at most the rows= of the mechanism, 1 by default, whatever it '
    'was made with. Where the plan shows the call of dp_contribution, other lo or hi, or a k other than rows=, are '
    'refused: 22023, the same with and without rows; where it does not, on other bounds a contribution counts at its '
    'mean. eps-differentially private for neighbours that differ by adding or removing one person; each GROUP BY '
    'group is one release, and disjoint groups together cost eps once. NULL in x is ignored. lo < hi finite; q from '
    '0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech, confidence may be NULL or depend on the '
    'rows: 22023, the same with and without rows. See dp_quantile_estimate of rows.';

CREATE AGGREGATE dp_quantile_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_quantile_estimate_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_estimate_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile_estimate(dp_mean.dp_contribution, float8, float8, float8, float8, dp_mechanism) IS
    'Private quantile of what persons contribute, with an interval around it, by the mechanism mech, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. A person of n rows counts as min(n, rows) rows with '
    'the value of their mean. The interval holds the quantile of the law that the persons were drawn from, each as '
    'often as they count, clamped to [lo, hi], with at least the probability confidence, whatever the law is; an end '
    'is lo or hi where too little is known. confidence 0.95. A person with any number of rows is protected, with one '
    'contribution in a group: a contribution counts as at most the rows= of the mechanism, 1 by default, whatever it '
    'was made with. Where the plan shows the call of dp_contribution, other lo or hi, or a k other than rows=, are '
    'refused: 22023, the same with and without rows; where it does not, on other bounds a contribution counts at its '
    'mean. eps-differentially private (with a rho=, as that says) for neighbours that differ by adding or removing '
    'one person; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL in x is '
    'ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech, confidence '
    'may be NULL (except that eps must be NULL beside rho=) or depend on the rows: 22023, the same with and without '
    'rows. See dp_quantile_estimate of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_quantile_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, mech dp_mechanism, confidence float8
) (
    SFUNC = dp_mean.dp_quantile_estimate_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_estimate_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile_estimate(
    dp_mean.dp_contribution, float8, float8, float8, float8, dp_mechanism, float8
) IS
    'Private quantile of what persons contribute, with an interval around it, by the mechanism mech, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. A person of n rows counts as min(n, rows) rows with '
    'the value of their mean. The interval holds the quantile of the law that the persons were drawn from, each as '
    'often as they count, clamped to [lo, hi], with at least the probability confidence, whatever the law is; an end '
    'is lo or hi where too little is known. The interval misses with a probability of at most 1 - confidence. A '
    'person with any number of rows is protected, with one contribution in a group: a contribution counts as at most '
    'the rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the call of '
    'dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without rows; '
    'where it does not, on other bounds a contribution counts at its mean. eps-differentially private (with a rho=, '
    'as that says) for neighbours that differ by adding or removing one person; each GROUP BY group is one release, '
    'and disjoint groups together cost the budget once. NULL in x is ignored. lo < hi finite; q from 0.00001 to '
    '0.99999; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, q, eps, mech, confidence may be NULL (except '
    'that eps must be NULL beside rho=) or depend on the rows: 22023, the same with and without rows. See '
    'dp_quantile_estimate of rows, and dp_mechanisms().';
