-- dp_mean_plan: the mechanisms of dp_mean compared, before anything is spent.

CREATE FUNCTION dp_mean_plan(
    n float8, lo float8, hi float8, eps float8,
    delta float8 DEFAULT NULL, moment float8 DEFAULT NULL, psi float8 DEFAULT NULL
) RETURNS TABLE (
    mechanism text, noise_sd float8, bias_bound float8, rmse_bound float8, null_bound float8,
    neighbours text, guarantee text, needs text
)
    AS 'MODULE_PATHNAME', 'dp_mean_plan_0_2_wrapper' LANGUAGE C STABLE PARALLEL SAFE ROWS 13;
COMMENT ON FUNCTION dp_mean_plan(float8, float8, float8, float8, float8, float8, float8) IS
    'How accurate each mechanism of dp_mean will be, to ORDER BY rmse_bound: its text, ready to be the argument mech '
    '(with NULL for lo and hi where it has a scale); the standard deviation of its noise, the largest over where the '
    'mean can lie, a bound on its bias and one on its root mean squared error (rows, noise and bias together, about '
    'the mean of the population), all in the unit of the column and to leading order in 1/n; a bound on the '
    'probability that it answers NULL (symmetric, where no place is found); its neighbours and its guarantee; and '
    'what its bounds ask of the rows. '
    'noise_sd is that of the noise before an answer is kept between the bounds, so it is for comparing mechanisms; '
    'how far off one answer will be is what dp_mean_error says: the same to 1% from n * eps = 1000 on, 6% less at '
    '100, 14% less at 29. '
    'Without moment and psi: that the rows lie between lo and hi. '
    'With both, that E|x - mean|^moment <= psi^moment and that the mean lies in the middle of lo and hi; rows outside '
    'are clamped. '
    'A row that needs a number that was not given (delta, moment and psi) has NULL for numbers, and says so in needs. '
    'n is a public number of rows to plan with; it looks at no data. '
    'n a whole number from 1 to 2^53 - 1; lo, hi and eps as for dp_mean; 0 < delta < 1; moment >= 2, psi > 0, one of '
    'them not without the other: else 22023. '
    'Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Lemma 3.2, Propositions 3.5 to 3.7; the mechanisms'' '
    'own sources for their noise.';
