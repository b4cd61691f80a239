-- dp_contribution, dp_contribution_sum: what a person with many rows contributes; and the aggregates that take it where
-- x stands.

CREATE TYPE dp_mean.dp_contribution;
COMMENT ON TYPE dp_mean.dp_contribution IS
    'What a person contributes to a group: 56 bytes with a number of rows, their sum and that of their squares. '
    'Made by dp_contribution and dp_contribution_sum, taken by the aggregates of one column where x stands. '
    'Its text is the same for all; none can be read from a text or a binary form (0A000).';

CREATE FUNCTION dp_mean.dp_contribution_in(input cstring) RETURNS dp_mean.dp_contribution
    AS 'MODULE_PATHNAME', 'dp_contribution_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_contribution_in(cstring) IS
    'refuses: 0A000';

CREATE FUNCTION dp_mean.dp_contribution_out(contribution dp_mean.dp_contribution) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_contribution_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_contribution_out(dp_mean.dp_contribution) IS
    'output of dp_contribution: the same text for all';

CREATE FUNCTION dp_mean.dp_contribution_recv(input internal) RETURNS dp_mean.dp_contribution
    AS 'MODULE_PATHNAME', 'dp_contribution_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_contribution_recv(internal) IS
    'refuses: 0A000';

CREATE FUNCTION dp_mean.dp_contribution_send(contribution dp_mean.dp_contribution) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_contribution_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_contribution_send(dp_mean.dp_contribution) IS
    'binary output of dp_contribution: the same text for all';

-- Of the category of numbers, in which float8 is preferred: so that an untyped NULL or a literal is a float8, as
-- before.
CREATE TYPE dp_mean.dp_contribution (
    INPUT = dp_mean.dp_contribution_in,
    OUTPUT = dp_mean.dp_contribution_out,
    RECEIVE = dp_mean.dp_contribution_recv,
    SEND = dp_mean.dp_contribution_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = plain,
    CATEGORY = 'N'
);
REVOKE USAGE ON TYPE dp_mean.dp_contribution FROM PUBLIC;

CREATE FUNCTION dp_mean.dp_counted(part dp_mean.dp_contribution, k bigint, groups bigint) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_counted' LANGUAGE C IMMUTABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION dp_mean.dp_counted(dp_mean.dp_contribution, bigint, bigint) IS
    'which part of k rows a contribution represents, within a private query of a protected table; 42501 anywhere else';

CREATE FUNCTION dp_mean.dp_centred(part dp_mean.dp_contribution, k bigint, groups bigint) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_centred' LANGUAGE C IMMUTABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION dp_mean.dp_centred(dp_mean.dp_contribution, bigint, bigint) IS
    'the sum of a contribution''s rows over k, each from -1 at lo to 1 at hi, within a private query of a protected '
    'table; 42501 anywhere else';

AGGREGATE dp_contribution(x float8, lo float8, hi float8, [k bigint]) RETURNS dp_mean.dp_contribution SPACE 80 EXACT;
UP TO hi IS
    'What a person with these rows contributes: one row, their mean; NULL without rows. For a sub-select with GROUP '
    'BY person: the aggregates of one column take it where x stands, with the same lo and hi; dp_count and '
    'dp_count_estimate count the rows that it represents, at most the rows= of their mechanism. It is no answer and '
    'not private by itself. NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped, row '
    'by row. lo < hi finite; none of lo, hi may be NULL or depend on the rows: 22023, raised by the call that takes '
    'the contributions, the same with and without rows.';
UP TO k IS
    'What a person with these rows contributes: at most k rows, which stand for all of them. A person with n > k rows '
    'has k rows with their own mean, rounded down to a step of 2^-32 of hi - lo; NULL without rows. For a sub-select '
    'with GROUP BY person: the aggregates of one column take it where x stands, with the same lo and hi, and with '
    'rows=k in the mechanism; dp_count and dp_count_estimate count the rows that it represents, at most the rows= of '
    'their mechanism. It is no answer and not private by itself. NULL and NaN in x are ignored; values outside [lo, '
    'hi], infinities too, are clamped, row by row. lo < hi finite; k from 1 to 1000000; none of lo, hi, k may be NULL '
    'or depend on the rows: 22023, raised by the call that takes the contributions, the same with and without rows.';

AGGREGATE dp_contribution_sum(x float8, lo float8, hi float8) RETURNS dp_mean.dp_contribution SPACE 64 EXACT;
UP TO hi IS
    'What a person with these rows contributes, where their total counts: one row, the sum of x, clamped to [lo, hi] '
    'when all rows are added up; NULL without rows. For a sub-select with GROUP BY person: the aggregates of one '
    'column take it where x stands, with the same lo and hi; dp_count and dp_count_estimate count the rows that it '
    'represents, at most the rows= of their mechanism. It is no answer and not private by itself. NULL and NaN in x '
    'are ignored; a single row counts as at most 2^30 times the larger bound. lo < hi finite; none of lo, hi may be '
    'NULL or depend on the rows: 22023, raised by the call that takes the contributions, the same with and without '
    'rows.';

AGGREGATE dp_mean(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 64;
UP TO eps IS
    'Private mean of what persons contribute: a person of n rows counts as min(n, rows) rows at their mean. '
    '{contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. lo < hi '
    'finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} See dp_mean of rows, and '
    'dp_mechanisms().';
UP TO mech IS
    'Private mean of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) rows '
    'at their mean. {look_at_rows} {contribution} eps-differentially private {budget_says} for {neighbour_persons} '
    'the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL '
    '{except_eps} {or_depend} See dp_mean of rows, and dp_mechanisms().';

AGGREGATE dp_mean_and_count(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS dp_mean_answer SPACE 64 TRANSITION dp_mean;
UP TO eps IS
    'Private mean and noisy number of rows of what persons contribute: a person of n rows counts as min(n, rows) rows '
    'at their mean. {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. '
    'lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} See dp_mean_and_count of '
    'rows, and dp_mechanisms().';
UP TO mech IS
    'Private mean and noisy number of rows of what persons contribute, by the mechanism mech: a person of n rows '
    'counts as min(n, rows) rows at their mean. {look_at_rows} {contribution} eps-differentially private '
    '{budget_says} for {neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; '
    'none of lo, hi, eps, mech may be NULL {except_eps} {or_depend} See dp_mean_and_count of rows, and '
    'dp_mechanisms().';

AGGREGATE dp_mean_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism], [confidence float8]
) RETURNS dp_mean_estimate_answer SPACE 64;
UP TO eps IS
    'Private mean with an interval of what persons contribute: a person of n rows counts as min(n, rows) rows at '
    'their mean. {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. lo '
    '< hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} See dp_mean_estimate of rows, '
    'and dp_mechanisms().';
UP TO mech IS
    'Private mean with an interval of what persons contribute, by the mechanism mech: a person of n rows counts as '
    'min(n, rows) rows at their mean. {look_at_rows} {contribution} eps-differentially private {budget_says} for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, '
    'eps, mech may be NULL {except_eps} {or_depend} See dp_mean_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private mean with an interval of what persons contribute, by the mechanism mech: a person of n rows counts as '
    'min(n, rows) rows at their mean. {look_at_rows} {contribution} eps-differentially private {budget_says} for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < '
    '1; none of lo, hi, eps, mech, confidence may be NULL {except_eps} {or_depend} See dp_mean_estimate of rows, and '
    'dp_mechanisms().';

AGGREGATE dp_sum(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 64;
UP TO eps IS
    'Private sum of what persons contribute: of dp_contribution, a person of n rows counts as min(n, rows) rows at '
    'their mean; of dp_contribution_sum, as one row with their total. {contribution} eps-differentially private for '
    '{neighbour_persons} eps once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, '
    'mech may be NULL {or_depend} See dp_sum of rows, and dp_mechanisms().';
UP TO mech IS
    'Private sum of what persons contribute, by the mechanism mech: of dp_contribution, a person of n rows counts as '
    'min(n, rows) rows at their mean; of dp_contribution_sum, as one row with their total. auto, which looks at '
    'single rows, is refused. {contribution} eps-differentially private {budget_says} for {neighbour_persons} the '
    'budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL '
    '{except_eps} {or_depend} See dp_sum of rows, and dp_mechanisms().';

AGGREGATE dp_sum_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism], [confidence float8]
) RETURNS dp_sum_estimate_answer SPACE 64;
UP TO eps IS
    'Private sum with an interval of what persons contribute: of dp_contribution, a person of n rows counts as min(n, '
    'rows) rows at their mean; of dp_contribution_sum, as one row with their total. {contribution} eps-differentially '
    'private for {neighbour_persons} eps once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, '
    'hi, eps, mech may be NULL {or_depend} See dp_sum_estimate of rows, and dp_mechanisms().';
UP TO mech IS
    'Private sum with an interval of what persons contribute, by the mechanism mech: of dp_contribution, a person of '
    'n rows counts as min(n, rows) rows at their mean; of dp_contribution_sum, as one row with their total. auto, '
    'which looks at single rows, is refused. {contribution} eps-differentially private {budget_says} for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, '
    'eps, mech may be NULL {except_eps} {or_depend} See dp_sum_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private sum with an interval of what persons contribute, by the mechanism mech: of dp_contribution, a person of '
    'n rows counts as min(n, rows) rows at their mean; of dp_contribution_sum, as one row with their total. auto, '
    'which looks at single rows, is refused. {contribution} eps-differentially private {budget_says} for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < '
    '1; none of lo, hi, eps, mech, confidence may be NULL {except_eps} {or_depend} See dp_sum_estimate of rows, and '
    'dp_mechanisms().';

AGGREGATE dp_var_pop(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 80 TRANSITION dp_variance FINAL dp_variance;
UP TO eps IS
    'Private variance of what persons contribute: that of the rows, where a person of n rows has the weight of min(n, '
    'rows). {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. lo < hi '
    'finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} See dp_var_pop of rows, and '
    'dp_mechanisms().';
UP TO mech IS
    'Private variance of what persons contribute, by the mechanism mech: that of the rows, where a person of n rows '
    'has the weight of min(n, rows). auto, which looks at single rows, is refused. {contribution} eps-differentially '
    'private {budget_says} for {neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= '
    'eps <= 50; none of lo, hi, eps, mech may be NULL {except_eps} {or_depend} See dp_var_pop of rows, and '
    'dp_mechanisms().';

AGGREGATE dp_stddev_pop(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 80 TRANSITION dp_variance FINAL dp_stddev;
UP TO eps IS
    'Private standard deviation of what persons contribute: that of the rows, where a person of n rows has the weight '
    'of min(n, rows). {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is '
    'ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} See dp_stddev_pop '
    'of rows, and dp_mechanisms().';
UP TO mech IS
    'Private standard deviation of what persons contribute, by the mechanism mech: that of the rows, where a person '
    'of n rows has the weight of min(n, rows). auto, which looks at single rows, is refused. {contribution} '
    'eps-differentially private {budget_says} for {neighbour_persons} the budget once. NULL in x is ignored. lo < hi '
    'finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {except_eps} {or_depend} See dp_stddev_pop of '
    'rows, and dp_mechanisms().';

AGGREGATE dp_var_pop_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism], [confidence float8]
) RETURNS dp_variance_answer SPACE 80 TRANSITION dp_variance_estimate FINAL dp_variance_estimate;
UP TO eps IS
    'Private variance and standard deviation with intervals, mean and number of rows of what persons contribute: that '
    'of the rows, where a person of n rows has the weight of min(n, rows). {contribution} eps-differentially private '
    'for {neighbour_persons} eps once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, '
    'mech may be NULL {or_depend} See dp_var_pop_estimate of rows, and dp_mechanisms().';
UP TO mech IS
    'Private variance and standard deviation with intervals, mean and number of rows of what persons contribute, by '
    'the mechanism mech: that of the rows, where a person of n rows has the weight of min(n, rows). auto, which looks '
    'at single rows, is refused. {contribution} eps-differentially private {budget_says} for {neighbour_persons} the '
    'budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL '
    '{except_eps} {or_depend} See dp_var_pop_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private variance and standard deviation with intervals, mean and number of rows of what persons contribute, by '
    'the mechanism mech: that of the rows, where a person of n rows has the weight of min(n, rows). auto, which looks '
    'at single rows, is refused. {contribution} eps-differentially private {budget_says} for {neighbour_persons} the '
    'budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, eps, '
    'mech, confidence may be NULL {except_eps} {or_depend} See dp_var_pop_estimate of rows, and dp_mechanisms().';

AGGREGATE dp_histogram(
    x dp_mean.dp_contribution, lo float8, hi float8, buckets integer, eps float8, [mech dp_mechanism]
) RETURNS bigint[] SPACE 576;
UP TO eps IS
    'Private histogram of what persons contribute: a person of n rows counts as min(n, rows) rows in the bucket of '
    'their mean; sums do not say which buckets the rows were in. {contribution} eps-differentially private for '
    '{neighbour_persons} eps once. NULL in x is ignored. lo < hi finite; buckets from 1 to 100000; 2^-20 <= eps <= '
    '50; none of lo, hi, buckets, eps, mech may be NULL {or_depend} See dp_histogram of rows, and dp_mechanisms().';
UP TO mech IS
    'Private histogram of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) '
    'rows in the bucket of their mean; sums do not say which buckets the rows were in. {contribution} '
    'eps-differentially private {budget_says} for {neighbour_persons} the budget once. NULL in x is ignored. lo < hi '
    'finite; buckets from 1 to 100000; 2^-20 <= eps <= 50; none of lo, hi, buckets, eps, mech may be NULL '
    '{except_eps} {or_depend} See dp_histogram of rows, and dp_mechanisms().';
