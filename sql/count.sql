-- dp_count.

CREATE FUNCTION dp_mean.dp_count_rows_trans(state dp_mean.dp_state, eps float8) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_rows_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_trans(state dp_mean.dp_state, x "any", eps float8) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_trans(state dp_mean.dp_state, x "any", eps float8, mech dp_mechanism)
    RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_final(state dp_mean.dp_state) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_count_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_count(eps float8) (
    SFUNC = dp_mean.dp_count_rows_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count(float8) IS
    'Private number of rows; never NULL. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'It can be negative: greatest(dp_count(...), 0) is as private, but biased. '
    '2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. '
    'Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

CREATE AGGREGATE dp_count(x "any", eps float8) (
    SFUNC = dp_mean.dp_count_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count("any", float8) IS
    'Private number of rows where x is not NULL (x of any type; a constant counts all rows); never NULL. '
    'eps-differentially private for neighbours that differ by adding or removing one row; each GROUP BY group is one '
    'release, and disjoint groups together cost eps once. '
    'It can be negative: greatest(dp_count(...), 0) is as private, but biased. '
    '2^-20 <= eps <= 50; eps and mech may not be NULL or depend on the rows: 22023, the same with and without rows. '
    'Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

CREATE AGGREGATE dp_count(x "any", eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_count_trans, STYPE = dp_mean.dp_state, SSPACE = 64,
    FINALFUNC = dp_mean.dp_count_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count("any", float8, dp_mechanism) IS
    'Private number of rows where x is not NULL by the mechanism mech, geometric, gaussian (with its own budget) or '
    'undercount(delta=), which is never above it; never NULL. '
    'eps-differentially private (with a delta=, mu= or rho=, as that says) for neighbours that differ by adding or '
    'removing one row; each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'It can be negative: greatest(dp_count(...), 0) is as private, but biased. '
    '2^-20 <= eps <= 50; eps and mech may not be NULL (but eps must be, beside mu= or rho=) or depend on the rows: '
    '22023, the same with and without rows. '
    'Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';
