-- dp_count_estimate.

CREATE TYPE dp_count_estimate_answer AS (
    value bigint, lower bigint, upper bigint,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_count_estimate_answer IS
    'The answer of dp_count_estimate: the private answer, an interval, and what the release cost. '
    'All from one release: the interval follows from the answer and from public numbers.';
COMMENT ON COLUMN dp_count_estimate_answer.value IS 'the private number, as dp_count answers';
COMMENT ON COLUMN dp_count_estimate_answer.lower IS '{answer_lower}';
COMMENT ON COLUMN dp_count_estimate_answer.upper IS 'the upper end of that interval';
COMMENT ON COLUMN dp_count_estimate_answer.unit IS '{answer_unit} (of distinct ids, an id with all of its rows)';
COMMENT ON COLUMN dp_count_estimate_answer.rho IS '{answer_rho}; of a mechanism with a delta but with that probability';
COMMENT ON COLUMN dp_count_estimate_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_count_estimate_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_count_estimate_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_count_estimate_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_count_estimate(eps float8) RETURNS dp_count_estimate_answer SPACE 64 TRANSITION dp_count_estimate_rows;
UP TO eps IS
    'Private number of rows, with an interval around it, from one release: (dp_count_estimate(...)).* is one release '
    'too. The interval holds the number with at least the probability confidence, and no negative numbers. Mechanism '
    'geometric; confidence 0.95. eps-differentially private for {neighbours} eps once. 2^-20 <= eps <= 50; 0 < '
    'confidence < 1; none of eps, mech, confidence may be NULL {except_eps} {or_depend} Sources: Ghosh, Roughgarden, '
    'Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';

AGGREGATE dp_count_estimate(x "any", eps float8, [mech dp_mechanism], [confidence float8])
    RETURNS dp_count_estimate_answer SPACE 64;
UP TO eps IS
    'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: '
    '(dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability '
    'confidence, and no negative numbers. Mechanism geometric; confidence 0.95. eps-differentially private for '
    '{neighbours} eps once. 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL '
    '{except_eps} {or_depend} Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. '
    '2023.';
UP TO mech IS
    'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: '
    '(dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability '
    'confidence, and no negative numbers. Mechanism mech: one of those of dp_count (undercount is (eps, '
    'delta)-differentially private and never above the number, so that its answer lies below the interval or at its '
    'lower end). confidence 0.95. eps-differentially private {budget_says} for {neighbours} eps once. 2^-20 <= eps <= '
    '50; 0 < confidence < 1; none of eps, mech, confidence may be NULL {except_eps} {or_depend} Sources: Ghosh, '
    'Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath et al. 2023.';
UP TO confidence IS
    'Private number of rows where x, of any type, is not NULL, with an interval around it, from one release: '
    '(dp_count_estimate(...)).* is one release too. The interval holds the number with at least the probability '
    'confidence, and no negative numbers. Mechanism mech: one of those of dp_count (undercount is (eps, '
    'delta)-differentially private and never above the number, so that its answer lies below the interval or at its '
    'lower end). The interval misses with a probability of at most 1 - confidence. eps-differentially private '
    '{budget_says} for {neighbours} eps once. 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence '
    'may be NULL {except_eps} {or_depend} Sources: Ghosh, Roughgarden, Sundararajan 2009; Dong, Roth, Su 2022; Kamath '
    'et al. 2023.';
