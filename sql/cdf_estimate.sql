-- dp_cdf_estimate: a distribution function with a band around it; of rows, and of contributions.

CREATE TYPE dp_cdf_answer AS (
    value float8[], lower float8[], upper float8[], population_lower float8[], population_upper float8[], count float8,
    unit text, rho float8, mu float8, epsilon float8, delta float8, mechanism text
);
COMMENT ON TYPE dp_cdf_answer IS
    'The answer of dp_cdf_estimate: a private distribution function with a band around it that holds all of it, the '
    'noisy number of rows, and what the release cost. All from one release: the bands follow from its noisy numbers '
    'and from public ones.';
COMMENT ON COLUMN dp_cdf_answer.value IS 'the part of the rows below each point, as dp_cdf answers';
COMMENT ON COLUMN dp_cdf_answer.lower IS
    'the lower ends of a band that holds the parts of the rows below all points together, each in its own interval, '
    'with at least the probability confidence; the last one is 1';
COMMENT ON COLUMN dp_cdf_answer.upper IS 'the upper ends of that band';
COMMENT ON COLUMN dp_cdf_answer.population_lower IS
    'the lower ends of a band that holds all parts of the population that the rows were drawn from, one by one and at '
    'random, with at least the probability confidence; with several rows of a person, of many persons';
COMMENT ON COLUMN dp_cdf_answer.population_upper IS 'the upper ends of that band';
COMMENT ON COLUMN dp_cdf_answer.count IS 'the noisy number of rows; it can be negative or a fraction';
COMMENT ON COLUMN dp_cdf_answer.unit IS '{answer_unit}';
COMMENT ON COLUMN dp_cdf_answer.rho IS '{answer_rho}';
COMMENT ON COLUMN dp_cdf_answer.mu IS '{answer_mu}';
COMMENT ON COLUMN dp_cdf_answer.epsilon IS '{answer_epsilon}';
COMMENT ON COLUMN dp_cdf_answer.delta IS '{answer_delta}';
COMMENT ON COLUMN dp_cdf_answer.mechanism IS 'the mechanism of the release, as its text';

AGGREGATE dp_cdf_estimate(
    x float8, lo float8, hi float8, points integer, eps float8, [mech dp_mechanism], [confidence float8]
) RETURNS dp_cdf_answer SPACE 8064;
UP TO eps IS
    'Private distribution function of x, as dp_cdf answers with the same arguments, with a band around it that holds '
    'the parts below all points together, all from one release: (dp_cdf_estimate(...)).* is one release too. '
    '{band_of_cdf} Mechanism tree; confidence 0.95. eps-differentially private for {neighbours} eps once. NULL and NaN '
    'in x are ignored; values outside the bounds are clamped. lo < hi finite; points from 1 to 100000; 2^-20 <= eps <= '
    '50; none of lo, hi, points, eps may be NULL {or_depend} Sources: Hay, Rastogi, Miklau, Suciu 2010; for the bands, '
    'Berger, Boos 1994, and Massart 1990.';
UP TO mech IS
    'Private distribution function of x, as dp_cdf answers with the same arguments, with a band around it that holds '
    'the parts below all points together, all from one release: (dp_cdf_estimate(...)).* is one release too. '
    '{band_of_cdf} Mechanism mech: tree; confidence 0.95. eps-differentially private for {neighbours} eps once. NULL '
    'and NaN in x are ignored; values outside the bounds are clamped. lo < hi finite; points from 1 to 100000; 2^-20 '
    '<= eps <= 50; none of lo, hi, points, eps, mech may be NULL {or_depend} Sources: Hay, Rastogi, Miklau, Suciu '
    '2010; for the bands, Berger, Boos 1994, and Massart 1990.';
UP TO confidence IS
    'Private distribution function of x, as dp_cdf answers with the same arguments, with a band around it that holds '
    'the parts below all points together, all from one release: (dp_cdf_estimate(...)).* is one release too. '
    '{band_of_cdf} Mechanism mech: tree. Beyond a confidence of 0.998, or 0.99 of more than 2048 points, the band is '
    'found by a bound and about twice as wide. eps-differentially private for {neighbours} eps once. NULL and NaN in x '
    'are ignored; values outside the bounds are clamped. lo < hi finite; points from 1 to 100000; 2^-20 <= eps <= 50; '
    '0 < confidence < 1; none of lo, hi, points, eps, mech may be NULL {or_depend} Sources: Hay, Rastogi, Miklau, '
    'Suciu 2010; for the bands, Berger, Boos 1994, and Massart 1990.';

AGGREGATE dp_cdf_estimate(
    x dp_mean.dp_contribution, lo float8, hi float8, points integer, eps float8, [mech dp_mechanism],
    [confidence float8]
) RETURNS dp_cdf_answer SPACE 8064;
UP TO eps IS
    'Private distribution function of what persons contribute, with a band around it that holds the parts below all '
    'points together: a person of n rows counts as min(n, rows) rows with the value of their mean. {contribution} '
    '{band_of_cdf} Confidence 0.95. eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. '
    'lo < hi finite; points from 1 to 100000; 2^-20 <= eps <= 50; none of lo, hi, points, eps may be NULL {or_depend} '
    'See dp_cdf_estimate of rows.';
UP TO mech IS
    'Private distribution function of what persons contribute, by the mechanism mech, with a band around it that holds '
    'the parts below all points together: a person of n rows counts as min(n, rows) rows with the value of their mean. '
    '{contribution} {band_of_cdf} Confidence 0.95. eps-differentially private for {neighbour_persons} eps once. NULL '
    'in x is ignored. lo < hi finite; points from 1 to 100000; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech '
    'may be NULL {or_depend} See dp_cdf_estimate of rows, and dp_mechanisms().';
UP TO confidence IS
    'Private distribution function of what persons contribute, by the mechanism mech, with a band around it that holds '
    'the parts below all points together: a person of n rows counts as min(n, rows) rows with the value of their mean. '
    '{contribution} {band_of_cdf} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. '
    'lo < hi finite; points from 1 to 100000; 2^-20 <= eps <= 50; 0 < confidence < 1; none of lo, hi, points, eps, '
    'mech may be NULL {or_depend} See dp_cdf_estimate of rows, and dp_mechanisms().';
