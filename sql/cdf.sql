-- dp_cdf.

CREATE FUNCTION dp_mean.dp_cdf_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, points integer, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_cdf_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_cdf_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, points integer, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_cdf_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_cdf_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_cdf_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_cdf(x float8, lo float8, hi float8, points integer, eps float8) (
    SFUNC = dp_mean.dp_cdf_trans, STYPE = dp_mean.dp_state, SSPACE = 8064,
    FINALFUNC = dp_mean.dp_cdf_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_cdf(float8, float8, float8, integer, float8) IS
    'Private distribution function of x: the part of the rows below each of several points at equal distances, the '
    'last of which is hi; an array of float8 that rises from 0 to 1 and is never NULL. Point i (from 1) is lo + i (hi '
    '- lo) / points, edge i + 1 of dp_histogram_edges(lo, hi, points); values outside are clamped, and the last part '
    'is 1. Without rows the parts are noise. eps-differentially private for neighbours that differ by adding or '
    'removing one row, all points together; each GROUP BY group is one release, and disjoint groups together cost eps '
    'once. NULL and NaN in x are ignored. lo < hi finite; points from 1 to 100000, none nearer to the next than '
    'float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech may be NULL or depend on the rows: '
    '22023, the same with and without rows. Mechanism tree: noisy counts of a tree with 16 branches, made consistent '
    '(Hay, Rastogi, Miklau, Suciu 2010; Qardaji, Yang, Li 2013).';

CREATE AGGREGATE dp_cdf(x float8, lo float8, hi float8, points integer, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_cdf_trans, STYPE = dp_mean.dp_state, SSPACE = 8064,
    FINALFUNC = dp_mean.dp_cdf_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_cdf(float8, float8, float8, integer, float8, dp_mechanism) IS
    'Private distribution function of x: the part of the rows below each of several points at equal distances, the '
    'last of which is hi; an array of float8 that rises from 0 to 1 and is never NULL. By the mechanism mech, tree: '
    'as without mech. Without rows the parts are noise. eps-differentially private for neighbours that differ by '
    'adding or removing one row, all points together; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. NULL and NaN in x are ignored. lo < hi finite; points from 1 to 100000, none nearer to '
    'the next than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech may be NULL or '
    'depend on the rows: 22023, the same with and without rows. Sources: Hay, Rastogi, Miklau, Suciu 2010; Qardaji, '
    'Yang, Li 2013.';

CREATE FUNCTION dp_mean.dp_cdf_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, points integer, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_cdf_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_cdf_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, points integer, eps float8,
    mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_cdf_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_cdf_people_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_cdf_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_cdf(x dp_mean.dp_contribution, lo float8, hi float8, points integer, eps float8) (
    SFUNC = dp_mean.dp_cdf_people_trans, STYPE = dp_mean.dp_state, SSPACE = 8064,
    FINALFUNC = dp_mean.dp_cdf_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_cdf(dp_mean.dp_contribution, float8, float8, integer, float8) IS
    'Private distribution function of what persons contribute: the part of the rows below each of several points at '
    'equal distances, where a person of n rows counts as min(n, rows) rows with the value of their mean. A person '
    'with any number of rows is protected, with one contribution in a group: a contribution counts as at most the '
    'rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the call of '
    'dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without rows; '
    'where it does not, on other bounds a contribution counts at its mean. eps-differentially private for neighbours '
    'that differ by adding or removing one person, all points together; each GROUP BY group is one release, and '
    'disjoint groups together cost eps once. NULL in x is ignored. lo < hi finite; points from 1 to 100000, none '
    'nearer to the next than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech may be '
    'NULL or depend on the rows: 22023, the same with and without rows. See dp_cdf of rows.';

CREATE AGGREGATE dp_cdf(
    x dp_mean.dp_contribution, lo float8, hi float8, points integer, eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_cdf_people_trans, STYPE = dp_mean.dp_state, SSPACE = 8064,
    FINALFUNC = dp_mean.dp_cdf_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_cdf(dp_mean.dp_contribution, float8, float8, integer, float8, dp_mechanism) IS
    'Private distribution function of what persons contribute, by the mechanism mech: the part of the rows below each '
    'of several points at equal distances, where a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. A person with any number of rows is protected, with one contribution in a group: a contribution '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the '
    'call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without '
    'rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially private for '
    'neighbours that differ by adding or removing one person, all points together; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. NULL in x is ignored. lo < hi finite; points from 1 to '
    '100000, none nearer to the next than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, '
    'mech may be NULL or depend on the rows: 22023, the same with and without rows. See dp_cdf of rows, and '
    'dp_mechanisms().';
