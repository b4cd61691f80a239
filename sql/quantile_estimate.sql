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
COMMENT ON COLUMN dp_quantile_estimate_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_quantile_estimate_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_quantile_estimate_answer.mu IS
    'the mu of Gaussian differential privacy that it cost; NULL, as no mechanism of quantiles is Gaussian';
COMMENT ON COLUMN dp_quantile_estimate_answer.epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has rho= in its place';
COMMENT ON COLUMN dp_quantile_estimate_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_quantile_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_quantile_estimate(
    x float8, lo float8, hi float8, q float8, eps float8, [mech dp_mechanism], [confidence float8]
) RETURNS dp_quantile_estimate_answer SPACE 131136;
UP TO eps IS
    'Private quantile of x, a value with about the part q of the rows below it, with an interval around it, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. {interval_of_quantile} Mechanism em, in 16384 bins of '
    'equal width; confidence 0.95. eps-differentially private for {neighbours} eps once. The quantile itself has 3/16 '
    'of eps, the rest is for the interval. NULL and NaN in x are ignored. lo < hi finite; q from 0.00001 to 0.99999; '
    '2^-20 <= eps <= 50; none of lo, hi, q, eps, mech, confidence may be NULL {or_depend} Sources: McSherry, Talwar '
    '2007; Smith 2011.';
UP TO mech IS
    'Private quantile of x, a value with about the part q of the rows below it, with an interval around it, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. {interval_of_quantile} Mechanism mech: em, with the '
    'parameters that dp_quantile takes; see dp_mechanisms(). confidence 0.95. eps-differentially private (with a '
    'rho=, as that says) for {neighbours} the budget once. The quantile itself has 3/16 of eps, the rest is for the '
    'interval. NULL and NaN in x are ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; none of '
    'lo, hi, q, eps, mech, confidence may be NULL (except that eps must be NULL beside rho=) {or_depend} Sources: '
    'McSherry, Talwar 2007; Smith 2011.';
UP TO confidence IS
    'Private quantile of x, a value with about the part q of the rows below it, with an interval around it, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. {interval_of_quantile} Mechanism mech: em, with the '
    'parameters that dp_quantile takes; see dp_mechanisms(). The interval misses with a probability of at most 1 - '
    'confidence. eps-differentially private (with a rho=, as that says) for {neighbours} the budget once. The '
    'quantile itself has 3/16 of eps, the rest is for the interval. NULL and NaN in x are ignored. lo < hi finite; q '
    'from 0.00001 to 0.99999; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, q, eps, mech, confidence may be '
    'NULL (except that eps must be NULL beside rho=) {or_depend} Sources: McSherry, Talwar 2007; Smith 2011.';

AGGREGATE dp_quantile_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, [mech dp_mechanism], [confidence float8]
) RETURNS dp_quantile_estimate_answer SPACE 131136;
UP TO eps IS
    'Private quantile of what persons contribute, with an interval around it, from one release: '
    '(dp_quantile_estimate(...)).* is one release too. A person of n rows counts as min(n, rows) rows with the value '
    'of their mean. {interval_of_people} confidence 0.95. {contribution} eps-differentially private for '
    '{neighbour_persons} eps once. NULL in x is ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= '
    '50; none of lo, hi, q, eps, mech, confidence may be NULL {or_depend} See dp_quantile_estimate of rows.';
UP TO mech IS
    'Private quantile of what persons contribute, with an interval around it, by the mechanism mech, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. A person of n rows counts as min(n, rows) rows with '
    'the value of their mean. {interval_of_people} confidence 0.95. {contribution} eps-differentially private (with a '
    'rho=, as that says) for {neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; q from '
    '0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech, confidence may be NULL (except that eps '
    'must be NULL beside rho=) {or_depend} See dp_quantile_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private quantile of what persons contribute, with an interval around it, by the mechanism mech, from one '
    'release: (dp_quantile_estimate(...)).* is one release too. A person of n rows counts as min(n, rows) rows with '
    'the value of their mean. {interval_of_people} The interval misses with a probability of at most 1 - confidence. '
    '{contribution} eps-differentially private (with a rho=, as that says) for {neighbour_persons} the budget once. '
    'NULL in x is ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; 0 < confidence < 1; none of '
    'lo, hi, q, eps, mech, confidence may be NULL (except that eps must be NULL beside rho=) {or_depend} See '
    'dp_quantile_estimate of rows, and dp_mechanisms().';
