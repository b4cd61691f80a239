-- dp_count_distinct, dp_count_distinct_estimate: the number of distinct ids, from a bitmap.

CREATE FUNCTION dp_mean.dp_count_distinct_trans(
    state dp_mean.dp_state, id anyelement, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_distinct_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_distinct_trans(
    state dp_mean.dp_state, id anyelement, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_distinct_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_distinct_final(state dp_mean.dp_state) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_count_distinct_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_count_distinct(id anyelement, eps float8) (
    SFUNC = dp_mean.dp_count_distinct_trans, STYPE = dp_mean.dp_state, SSPACE = 131096,
    FINALFUNC = dp_mean.dp_count_distinct_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_distinct(anyelement, float8) IS
    'Private number of distinct values of id, as count(DISTINCT id), without a sort and in parallel; never NULL: '
    'without rows it is noise, and it may be negative. '
    'eps-differentially private for neighbours that differ by adding or removing all rows of one id, however many '
    'rows that are; each GROUP BY group is one release, and groups that have no id in common together cost eps once. '
    'NULL in id is ignored. id may be of any type that GROUP BY can hash; of another, such as json: 42883. '
    'A group keeps which bits of a bitmap are set, never an id: at most 128 KB, less while ids are few. '
    '2^-20 <= eps <= 50; eps may not be NULL or depend on the rows: 22023, the same with and without rows. '
    'Mechanism bitmap. Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan '
    '2009.';

CREATE AGGREGATE dp_count_distinct(id anyelement, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_count_distinct_trans, STYPE = dp_mean.dp_state, SSPACE = 131096,
    FINALFUNC = dp_mean.dp_count_distinct_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_distinct(anyelement, float8, dp_mechanism) IS
    'Private number of distinct values of id, as count(DISTINCT id), without a sort and in parallel; never NULL: '
    'without rows it is noise, and it may be negative. '
    'eps-differentially private for neighbours that differ by adding or removing all rows of one id, however many '
    'rows that are; each GROUP BY group is one release, and groups that have no id in common together cost eps once. '
    'NULL in id is ignored. id may be of any type that GROUP BY can hash; of another, such as json: 42883. '
    'Mechanism mech: bitmap, with bits= of the bitmap (a power of two; an eighth of it in bytes is what a group '
    'keeps at most) and values= the most distinct ids of a person; see dp_mechanisms(). '
    '2^-20 <= eps <= 50; neither eps nor mech may be NULL or depend on the rows: 22023, the same with and without '
    'rows. '
    'Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan 2009.';

CREATE FUNCTION dp_mean.dp_count_distinct_estimate_trans(
    state dp_mean.dp_state, id anyelement, eps float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_distinct_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_distinct_estimate_trans(
    state dp_mean.dp_state, id anyelement, eps float8, mech dp_mechanism
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_distinct_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_distinct_estimate_trans(
    state dp_mean.dp_state, id anyelement, eps float8, mech dp_mechanism, confidence float8
) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_count_distinct_estimate_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_count_distinct_estimate_final(state dp_mean.dp_state) RETURNS dp_count_estimate_answer
    AS 'MODULE_PATHNAME', 'dp_count_distinct_estimate_final' LANGUAGE C VOLATILE PARALLEL SAFE;

CREATE AGGREGATE dp_count_distinct_estimate(id anyelement, eps float8) (
    SFUNC = dp_mean.dp_count_distinct_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 131096,
    FINALFUNC = dp_mean.dp_count_distinct_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_distinct_estimate(anyelement, float8) IS
    'Private number of distinct values of id with an interval, and what it cost, from one release: '
    '(dp_count_distinct_estimate(...)).* is one release too. '
    'The interval holds the true number with at least the probability confidence, over the noise and over ids that '
    'fall on one bit by chance; it has no upper end (the largest bigint) where the bitmap is nearly full. confidence '
    '0.95. '
    'eps-differentially private for neighbours that differ by adding or removing all rows of one id, however many '
    'rows that are; each GROUP BY group is one release, and groups that have no id in common together cost eps once. '
    'NULL in id is ignored. id may be of any type that GROUP BY can hash; of another, such as json: 42883. '
    'A group keeps which bits of a bitmap are set, never an id: at most 128 KB, less while ids are few. '
    '2^-20 <= eps <= 50; eps may not be NULL or depend on the rows: 22023, the same with and without rows. '
    'Mechanism bitmap. Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan '
    '2009.';

CREATE AGGREGATE dp_count_distinct_estimate(id anyelement, eps float8, mech dp_mechanism) (
    SFUNC = dp_mean.dp_count_distinct_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 131096,
    FINALFUNC = dp_mean.dp_count_distinct_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_distinct_estimate(anyelement, float8, dp_mechanism) IS
    'Private number of distinct values of id with an interval, and what it cost, from one release: '
    '(dp_count_distinct_estimate(...)).* is one release too. '
    'The interval holds the true number with at least the probability confidence, over the noise and over ids that '
    'fall on one bit by chance; it has no upper end (the largest bigint) where the bitmap is nearly full. confidence '
    '0.95. '
    'eps-differentially private for neighbours that differ by adding or removing all rows of one id, however many '
    'rows that are; each GROUP BY group is one release, and groups that have no id in common together cost eps once. '
    'NULL in id is ignored. id may be of any type that GROUP BY can hash; of another, such as json: 42883. '
    'Mechanism mech: bitmap, with bits= of the bitmap (a power of two; an eighth of it in bytes is what a group '
    'keeps at most) and values= the most distinct ids of a person; see dp_mechanisms(). '
    '2^-20 <= eps <= 50; neither eps nor mech may be NULL or depend on the rows: 22023, the same with and without '
    'rows. '
    'Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan 2009.';

CREATE AGGREGATE dp_count_distinct_estimate(id anyelement, eps float8, mech dp_mechanism, confidence float8) (
    SFUNC = dp_mean.dp_count_distinct_estimate_trans, STYPE = dp_mean.dp_state, SSPACE = 131096,
    FINALFUNC = dp_mean.dp_count_distinct_estimate_final, FINALFUNC_MODIFY = SHAREABLE,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE, INITCOND = ''
);
COMMENT ON AGGREGATE dp_count_distinct_estimate(anyelement, float8, dp_mechanism, float8) IS
    'Private number of distinct values of id with an interval, and what it cost, from one release: '
    '(dp_count_distinct_estimate(...)).* is one release too. '
    'The interval holds the true number with at least the probability confidence, over the noise and over ids that '
    'fall on one bit by chance; it has no upper end (the largest bigint) where the bitmap is nearly full. '
    'eps-differentially private for neighbours that differ by adding or removing all rows of one id, however many '
    'rows that are; each GROUP BY group is one release, and groups that have no id in common together cost eps once. '
    'NULL in id is ignored. id may be of any type that GROUP BY can hash; of another, such as json: 42883. '
    'Mechanism mech: bitmap, with bits= of the bitmap (a power of two; an eighth of it in bytes is what a group '
    'keeps at most) and values= the most distinct ids of a person; see dp_mechanisms(). '
    '2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, confidence may be NULL or depend on the rows: 22023, '
    'the same with and without rows. '
    'Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan 2009.';
