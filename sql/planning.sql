-- Planning with bias and error: public numbers in, public numbers out.

CREATE FUNCTION dp_clip_bias(moment float8, psi float8, c float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_clip_bias_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_clip_bias(float8, float8, float8) IS
    'The largest bias, in the unit of the column, that clamping rows to bounds at least c from their mean can make, '
    'where E|x - mean|^moment <= psi^moment: kappa psi^moment / c^(moment - 1), with kappa = (moment - 1)^(moment - '
    '1) / moment^moment. '
    'psi and c are in the unit of the column; it looks at no data. '
    'moment > 1, psi > 0, c > 0, finite, and so is the bias: else 22023. '
    'Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Lemma 3.2.';

CREATE FUNCTION dp_clip_radius(moment float8, psi float8, beta float8) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_clip_radius_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_clip_radius(float8, float8, float8) IS
    'How far from the mean the bounds must be so that clamping has a bias of at most beta, where E|x - mean|^moment '
    '<= psi^moment: the c at which dp_clip_bias(moment, psi, c) is beta. '
    'psi, beta and the answer are in the unit of the column; for a mean in [a, b] clamp to [a - c, b + c]. '
    'It looks at no data. '
    'moment > 1, psi > 0, beta > 0, finite, and so is the radius: else 22023. '
    'Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Lemma 3.2.';

CREATE FUNCTION dp_trilemma(
    n float8, eps float8, delta float8, beta float8,
    OUT least_rmse float8, OUT sampling_rmse float8, OUT privacy_rmse float8, OUT possible boolean
) RETURNS record
    AS 'MODULE_PATHNAME', 'dp_trilemma' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_trilemma(float8, float8, float8, float8) IS
    'The least root mean squared error, in standard deviations of the rows, that any mean of n rows can have that is '
    '(eps, delta)-differentially private (neighbours by replacing one row) and has a bias of at most beta standard '
    'deviations, for all distributions of rows with mean in [0, 1] and variance at most 1: one row, with what no '
    'method can beat (sampling_rmse), what bias and privacy together cost (privacy_rmse; 0 where beta > 1/80, of '
    'which the theorem says nothing), the larger of the two, and whether there can be such a method: with delta = 0 '
    'and beta = 0 there is none, and the errors are infinite. '
    'The constants are loose: it says what is impossible, not what is possible. '
    'It looks at no data. '
    'n >= 1, eps > 0, 0 <= delta < 1, beta >= 0, finite: else 22023. '
    'Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023, Theorems 2.4 and 1.5, Proposition A.1.';

CREATE FUNCTION dp_mean_error(
    n float8, lo float8, hi float8, eps float8,
    mech dp_mechanism DEFAULT 'hourglass', confidence float8 DEFAULT 0.95,
    OUT rmse float8, OUT half_width float8
) RETURNS record
    AS 'MODULE_PATHNAME', 'dp_mean_error' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean_error(float8, float8, float8, float8, dp_mechanism, float8) IS
    'What to expect of one dp_mean of n rows, before anything is spent: the root mean squared error of the answer '
    'about the mean of the clamped rows, and half of the width of the interval of dp_mean_estimate (NULL with '
    'mechanisms that have none), both in the unit of the column and at the worst place the mean can have between lo '
    'and hi (where there are no bounds, of the noise alone). '
    'rmse is right to 2% from n * eps = 20 on, and above the truth by an eighth at most at n * eps = 5; it knows that '
    'an answer is kept between the bounds, so it is below the noise_sd of dp_mean_plan where rows are few, and the '
    'one to use for how far off an answer will be; half_width is to leading order in 1/n. '
    'n is a public number of rows to plan with; it looks at no data. '
    'n a whole number from 1 to 2^53 - 1; the others as for dp_mean_estimate: else 22023. '
    'Sources: Kulesza, Suresh, Wang 2024, Theorem 4, for the least error there is; the mechanisms'' own for their '
    'noise.';

CREATE FUNCTION dp_epsilon_for(
    n float8, lo float8, hi float8, rmse float8, mech dp_mechanism DEFAULT 'hourglass'
) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_epsilon_for' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_epsilon_for(float8, float8, float8, float8, dp_mechanism) IS
    'The smallest eps at which one dp_mean of n rows has a root mean squared error of at most rmse, in the unit of '
    'the column: where dp_mean_error(n, lo, hi, eps, mech) is rmse, to a relative 1e-6 above it. '
    'From 2^-20 to 50; 22023 where no eps up to 50 reaches rmse, and where the budget of mech is mu= or rho=. '
    'n is a public number of rows to plan with; it looks at no data. '
    'n a whole number from 1 to 2^53 - 1, rmse > 0 and finite; lo, hi, mech as for dp_mean: else 22023. '
    'Sources: as for dp_mean_error.';
