-- dp_counts, dp_sums, dp_means: many numbers from one release.

-- COST: one row may cost what dozens of counts cost, and the planner chooses JIT by what it adds up.
CREATE FUNCTION dp_mean.dp_counts_trans(state dp_mean.dp_state, eps float8, mech dp_mechanism, VARIADIC questions "any")
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_counts_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;

CREATE FUNCTION dp_mean.dp_counts_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_counts_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_counts(eps float8, mech dp_mechanism, VARIADIC questions "any") (
    SFUNC = dp_mean.dp_counts_trans, STYPE = dp_mean.dp_state, SSPACE = 576,
    FINALFUNC = dp_mean.dp_counts_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_counts(float8, dp_mechanism, "any") IS
    'Private numbers of rows that say yes to each of d yes/no questions, from one release: an array of d numbers, '
    'which can be negative. '
    'The questions are up to 97 boolean arguments, or one boolean array, VARIADIC, whose length d the mechanism gives '
    '(d=, up to 100,000). '
    'NULL is no; so are the missing elements of an array that is too short, and elements beyond d are ignored; a row '
    'of NULLs is a row. '
    'The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= '
    '(zero-concentrated), with NULL for eps; for laplace it is eps alone. '
    'Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace '
    'and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'A question of another type: 42804; none of eps and mech may depend on the rows: 22023, the same with and without '
    'rows. '
    'Mechanisms: correlated (the one to start with: variance (sqrt(d) + 1)^2 / (4 mu^2) each; Lebeda 2024, Algorithm '
    '1), gaussian, known_n, laplace, ellipse; see dp_mechanisms().';

CREATE FUNCTION dp_mean.dp_sums_trans(
    state dp_mean.dp_state, x float8[], lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_sums_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;

CREATE FUNCTION dp_mean.dp_sums_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_sums_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_sums(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_sums_trans, STYPE = dp_mean.dp_state, SSPACE = 1088,
    FINALFUNC = dp_mean.dp_sums_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_sums(float8[], float8, float8, float8, dp_mechanism) IS
    'Private sums of the d numbers of each row, clamped to [lo, hi], from one release: an array of d numbers in the '
    'unit of x. '
    'The mechanism gives d (d=, 1 to 100,000). '
    'A NULL array is ignored; a NULL, NaN or missing element counts as 0, clamped to the bounds; elements beyond d '
    'are ignored. '
    'The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= '
    '(zero-concentrated), with NULL for eps; for laplace it is eps alone. '
    'Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace '
    'and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'lo < hi finite; none of lo, hi, eps, mech may depend on the rows: 22023, the same with and without rows. '
    'Mechanisms as those of dp_counts (ellipse only where lo or hi is 0); see dp_mechanisms(). '
    'Source: Lebeda 2024, Algorithm 1, for values.';

CREATE FUNCTION dp_mean.dp_means_trans(
    state dp_mean.dp_state, x float8[], lo float8, hi float8, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_means_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;

CREATE FUNCTION dp_mean.dp_means_final(state dp_mean.dp_state) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_means_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_means(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_means_trans, STYPE = dp_mean.dp_state, SSPACE = 1088,
    FINALFUNC = dp_mean.dp_means_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_means(float8[], float8, float8, float8, dp_mechanism) IS
    'Private means of the d numbers of each row, clamped to [lo, hi], from one release: the noisy sums over the noisy '
    'number of rows, never outside [lo, hi]; an array of d numbers in the unit of x. '
    'Arguments, rows and neighbours as for dp_sums: a NULL array is ignored, a NULL, NaN or missing element counts as '
    '0, clamped to the bounds. '
    'The budget is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= '
    '(zero-concentrated), with NULL for eps. '
    'Each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'Errors as dp_sums: 22023, the same with and without rows. '
    'Mechanisms correlated and known_n: those that have the number of rows; see dp_mechanisms(). '
    'Source: Lebeda 2024, Algorithm 1.';
