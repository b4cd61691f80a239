-- dp_sum_estimate.

CREATE TYPE dp_sum_estimate_answer AS (
    value float8, lower float8, upper float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_sum_estimate_answer IS
    'The answer of dp_sum_estimate: the private answer, an interval, and what the release cost. '
    'All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_sum_estimate_answer.value IS 'the private sum, as dp_sum answers';
COMMENT ON COLUMN dp_sum_estimate_answer.lower IS '{answer_lower}';
COMMENT ON COLUMN dp_sum_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_sum_estimate_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_sum_estimate_answer.rho IS '{answer_rho}; of a mechanism with a delta but with that probability';
COMMENT ON COLUMN dp_sum_estimate_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_sum_estimate_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_sum_estimate_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_sum_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_sum_estimate(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism], [confidence float8])
    RETURNS dp_sum_estimate_answer SPACE 64;
UP TO eps IS
    'Private sum of x clamped to [lo, hi], with an interval around it, from one release: (dp_sum_estimate(...)).* is '
    'one release too. {interval_of_sum} Mechanism staircase; confidence 0.95. eps-differentially private for '
    '{neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, '
    'mech, confidence may be NULL {except_eps} {or_depend} Sources: Geng, Viswanath 2014; Dong, Roth, Su 2022.';
UP TO mech IS
    'Private sum of x clamped to [lo, hi], with an interval around it, from one release: (dp_sum_estimate(...)).* is '
    'one release too. {interval_of_sum} Mechanism mech: one of those of dp_sum. {auto_found} confidence 0.95. '
    'eps-differentially private {budget_says} for {neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= '
    '50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be NULL (except that eps must be NULL beside '
    'mu= or rho=, and with auto lo and hi both may be) {or_depend} Sources: Geng, Viswanath 2014; Dong, Roth, Su '
    '2022.';
UP TO confidence IS
    'Private sum of x clamped to [lo, hi], with an interval around it, from one release: (dp_sum_estimate(...)).* is '
    'one release too. {interval_of_sum} Mechanism mech: one of those of dp_sum. {auto_found} The interval misses with '
    'a probability of at most 1 - confidence. eps-differentially private {budget_says} for {neighbours} eps once. '
    '{clamped} lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, mech, confidence may be '
    'NULL (except that eps must be NULL beside mu= or rho=, and with auto lo and hi both may be) {or_depend} Sources: '
    'Geng, Viswanath 2014; Dong, Roth, Su 2022.';
