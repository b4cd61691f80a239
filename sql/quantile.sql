-- dp_quantile, dp_median, dp_quantiles.

CREATE FUNCTION dp_mean.dp_quantile_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, q float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, q float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_quantile_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_quantile(x float8, lo float8, hi float8, q float8, eps float8) (
    SFUNC = dp_mean.dp_quantile_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile(float8, float8, float8, float8, float8) IS
    'Private quantile of x, a value with about the part q of the rows below it (q = 0.5 is the median). The answer '
    'lies between lo and hi and is never NULL: without rows it is a random value between them. Rows are counted in '
    '16384 bins of equal width between lo and hi; values outside are clamped. eps-differentially private for '
    'neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. NULL and NaN in x are ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps '
    '<= 50; none of lo, hi, q, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. '
    'Mechanism em: the exponential mechanism over ranks (McSherry, Talwar 2007; Smith 2011).';

CREATE AGGREGATE dp_quantile(x float8, lo float8, hi float8, q float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_quantile_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile(float8, float8, float8, float8, float8, dp_mechanism) IS
    'Private quantile of x, a value with about the part q of the rows below it (q = 0.5 is the median), by the '
    'mechanism mech, em: as without mech. With em(grid=log) bins have equal relative width, for loose bounds and long '
    'tails; with em(step=1) each multiple of 1 is a bin, for integers; with em(bins=4096) a group has less memory. '
    'The answer lies between lo and hi and is never NULL: without rows it is a random value between them. '
    'eps-differentially private (with a rho=, as that says) for neighbours that differ by adding or removing one row; '
    'each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL and NaN in x are '
    'ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech may be NULL '
    '(except that eps must be NULL beside rho=) or depend on the rows: 22023, the same with and without rows. '
    'Sources: McSherry, Talwar 2007; Smith 2011; Kaplan, Schnapp, Stemmer 2022; Cesar, Rogers 2021.';

CREATE FUNCTION dp_mean.dp_median_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_median_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_median_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_median_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_median_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_median_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_median(x float8, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_median_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_median_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_median(float8, float8, float8, float8) IS
    'Private median of x, a value with about as many rows below it as above. The answer lies between lo and hi and is '
    'never NULL: without rows it is a random value between them. Rows are counted in 16384 bins of equal width '
    'between lo and hi; values outside are clamped. eps-differentially private for neighbours that differ by adding '
    'or removing one row; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL and '
    'NaN in x are ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL or depend on the '
    'rows: 22023, the same with and without rows. Mechanism em: the exponential mechanism over ranks (McSherry, '
    'Talwar 2007; Smith 2011).';

CREATE AGGREGATE dp_median(x float8, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_median_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_median_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_median(float8, float8, float8, float8, dp_mechanism) IS
    'Private median of x, a value with about as many rows below it as above, by the mechanism mech, em: as without '
    'mech. With em(grid=log) bins have equal relative width, for loose bounds and long tails; with em(step=1) each '
    'multiple of 1 is a bin, for integers; with em(bins=4096) a group has less memory. The answer lies between lo and '
    'hi and is never NULL: without rows it is a random value between them. eps-differentially private (with a rho=, '
    'as that says) for neighbours that differ by adding or removing one row; each GROUP BY group is one release, and '
    'disjoint groups together cost the budget once. NULL and NaN in x are ignored. lo < hi finite; 2^-20 <= eps <= '
    '50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside rho=) or depend on the rows: '
    '22023, the same with and without rows. Sources: McSherry, Talwar 2007; Smith 2011; Kaplan, Schnapp, Stemmer '
    '2022; Cesar, Rogers 2021.';

CREATE FUNCTION dp_mean.dp_quantiles_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, qs float8[], eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantiles_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantiles_trans(
    state dp_mean.dp_state, x float8, lo float8, hi float8, qs float8[], eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantiles_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantiles_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_quantiles_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_quantiles(x float8, lo float8, hi float8, qs float8[], eps float8) (
    SFUNC = dp_mean.dp_quantiles_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantiles_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantiles(float8, float8, float8, float8[], float8) IS
    'Private quantiles of x, one for each number of the array qs: values with about these parts of the rows below '
    'them, in ascending order. The answers lie between lo and hi, and the array is never NULL: without rows they are '
    'random values between them. They are found one inside the other, and share eps: many cost little more than a '
    'few. Rows are counted in 16384 bins of equal width between lo and hi; values outside are clamped. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. NULL and NaN in x are ignored. lo < hi finite; qs 1 to 1000 '
    'numbers from 0.00001 to 0.99999, ascending; 2^-20 <= eps <= 50; none of lo, hi, qs, eps, mech may be NULL or '
    'depend on the rows: 22023, the same with and without rows. Mechanism em: the exponential mechanism over ranks, '
    'recursively (Kaplan, Schnapp, Stemmer 2022).';

CREATE AGGREGATE dp_quantiles(x float8, lo float8, hi float8, qs float8[], eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_quantiles_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantiles_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantiles(float8, float8, float8, float8[], float8, dp_mechanism) IS
    'Private quantiles of x, one for each number of the array qs: values with about these parts of the rows below '
    'them, in ascending order, by the mechanism mech, em: as without mech. With em(grid=log) bins have equal relative '
    'width, for loose bounds and long tails; with em(step=1) each multiple of 1 is a bin, for integers; with '
    'em(bins=4096) a group has less memory. The answers lie between lo and hi, and the array is never NULL: without '
    'rows they are random values between them. They are found one inside the other, and share eps: many cost little '
    'more than a few. eps-differentially private (with a rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL '
    'and NaN in x are ignored. lo < hi finite; qs 1 to 1000 numbers from 0.00001 to 0.99999, ascending; 2^-20 <= eps '
    '<= 50; none of lo, hi, qs, eps, mech may be NULL (except that eps must be NULL beside rho=) or depend on the '
    'rows: 22023, the same with and without rows. Sources: McSherry, Talwar 2007; Smith 2011; Kaplan, Schnapp, '
    'Stemmer 2022; Cesar, Rogers 2021.';

CREATE FUNCTION dp_mean.dp_quantile_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantile_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantile_people_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_quantile_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_quantile(x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8) (
    SFUNC = dp_mean.dp_quantile_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile(dp_mean.dp_contribution, float8, float8, float8, float8) IS
    'Private quantile of what persons contribute: a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. A person with any number of rows is protected, with one contribution in a group: a contribution '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the '
    'call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without '
    'rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially private for '
    'neighbours that differ by adding or removing one person; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. NULL in x is ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; '
    'none of lo, hi, q, eps, mech may be NULL or depend on the rows: 22023, the same with and without rows. See '
    'dp_quantile of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_quantile(x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_quantile_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantile_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantile(dp_mean.dp_contribution, float8, float8, float8, float8, dp_mechanism) IS
    'Private quantile of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) '
    'rows with the value of their mean. A person with any number of rows is protected, with one contribution in a '
    'group: a contribution counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. '
    'Where the plan shows the call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, '
    'the same with and without rows; where it does not, on other bounds a contribution counts at its mean. '
    'eps-differentially private (with a rho=, as that says) for neighbours that differ by adding or removing one '
    'person; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL in x is '
    'ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech may be NULL '
    '(except that eps must be NULL beside rho=) or depend on the rows: 22023, the same with and without rows. See '
    'dp_quantile of rows, and dp_mechanisms().';

CREATE FUNCTION dp_mean.dp_median_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_median_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_median_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_median_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_median_people_final(state dp_mean.dp_state) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_median_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_median(x dp_mean.dp_contribution, lo float8, hi float8, eps float8) (
    SFUNC = dp_mean.dp_median_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_median_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_median(dp_mean.dp_contribution, float8, float8, float8) IS
    'Private median of what persons contribute: a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. A person with any number of rows is protected, with one contribution in a group: a contribution '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the '
    'call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without '
    'rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially private for '
    'neighbours that differ by adding or removing one person; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may '
    'be NULL or depend on the rows: 22023, the same with and without rows. See dp_median of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_median(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_median_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_median_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_median(dp_mean.dp_contribution, float8, float8, float8, dp_mechanism) IS
    'Private median of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) rows '
    'with the value of their mean. A person with any number of rows is protected, with one contribution in a group: a '
    'contribution counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Where the '
    'plan shows the call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same '
    'with and without rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially '
    'private (with a rho=, as that says) for neighbours that differ by adding or removing one person; each GROUP BY '
    'group is one release, and disjoint groups together cost the budget once. NULL in x is ignored. lo < hi finite; '
    '2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside rho=) or depend '
    'on the rows: 22023, the same with and without rows. See dp_median of rows, and dp_mechanisms().';

CREATE FUNCTION dp_mean.dp_quantiles_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, qs float8[], eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantiles_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantiles_people_trans(
    state dp_mean.dp_state, x dp_mean.dp_contribution, lo float8, hi float8, qs float8[], eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_quantiles_people_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_quantiles_people_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_quantiles_people_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_quantiles(x dp_mean.dp_contribution, lo float8, hi float8, qs float8[], eps float8) (
    SFUNC = dp_mean.dp_quantiles_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantiles_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantiles(dp_mean.dp_contribution, float8, float8, float8[], float8) IS
    'Private quantiles of what persons contribute: a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. A person with any number of rows is protected, with one contribution in a group: a contribution '
    'counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the '
    'call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without '
    'rows; where it does not, on other bounds a contribution counts at its mean. eps-differentially private for '
    'neighbours that differ by adding or removing one person; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. NULL in x is ignored. lo < hi finite; qs 1 to 1000 numbers from 0.00001 to 0.99999, '
    'ascending; 2^-20 <= eps <= 50; none of lo, hi, qs, eps, mech may be NULL or depend on the rows: 22023, the same '
    'with and without rows. See dp_quantiles of rows, and dp_mechanisms().';

CREATE AGGREGATE dp_quantiles(
    x dp_mean.dp_contribution, lo float8, hi float8, qs float8[], eps float8, mech dp_mechanism
) (
    SFUNC = dp_mean.dp_quantiles_people_trans, STYPE = dp_mean.dp_state, SSPACE = 131136,
    FINALFUNC = dp_mean.dp_quantiles_people_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_quantiles(dp_mean.dp_contribution, float8, float8, float8[], float8, dp_mechanism) IS
    'Private quantiles of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) '
    'rows with the value of their mean. A person with any number of rows is protected, with one contribution in a '
    'group: a contribution counts as at most the rows= of the mechanism, 1 by default, whatever it was made with. '
    'Where the plan shows the call of dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, '
    'the same with and without rows; where it does not, on other bounds a contribution counts at its mean. '
    'eps-differentially private (with a rho=, as that says) for neighbours that differ by adding or removing one '
    'person; each GROUP BY group is one release, and disjoint groups together cost the budget once. NULL in x is '
    'ignored. lo < hi finite; qs 1 to 1000 numbers from 0.00001 to 0.99999, ascending; 2^-20 <= eps <= 50; none of '
    'lo, hi, qs, eps, mech may be NULL (except that eps must be NULL beside rho=) or depend on the rows: 22023, the '
    'same with and without rows. See dp_quantiles of rows, and dp_mechanisms().';
