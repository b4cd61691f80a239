-- dp_clamped: what bounds would clamp.

CREATE TYPE dp_clamped_answer AS (below bigint, inside bigint, above bigint);
COMMENT ON TYPE dp_clamped_answer IS
    'The answer of dp_clamped: noisy numbers of rows below, inside and above the bounds; each can be negative.';
COMMENT ON COLUMN dp_clamped_answer.below IS 'the noisy number of rows below lo; it can be negative';
COMMENT ON COLUMN dp_clamped_answer.inside IS
    'the noisy number of rows from lo to hi, both included; it can be negative';
COMMENT ON COLUMN dp_clamped_answer.above IS 'the noisy number of rows above hi; it can be negative';

AGGREGATE dp_clamped(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS dp_clamped_answer SPACE 88;
UP TO eps IS
    'What these bounds would clamp, to ask before a mean or a sum with them: the noisy numbers of rows below lo, '
    'inside (lo and hi themselves are), and above hi, (below, inside, above), from one release; never NULL: without '
    'rows it is noise. Counts can be negative. eps-differentially private for neighbours that differ by adding or '
    'removing one row, which is in one of the three, so that they cost eps once; each GROUP BY group is one release, '
    'and disjoint groups together cost eps once. It is a release of its own, and the costs add up. NULL and NaN in x '
    'are ignored; infinities are below or above. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be '
    'NULL {or_depend} Mechanism geometric: two-sided geometric noise on each count (Dwork, McSherry, Nissim, Smith '
    '2006; Ghosh, Roughgarden, Sundararajan 2009).';
UP TO mech IS
    'What these bounds would clamp, by the mechanism mech, geometric: as without mech; with rows= and groups= eps is '
    'what a person with that many rows spends. Counts can be negative. eps-differentially private for neighbours that '
    'differ by adding or removing one row, all three counts together; each GROUP BY group is one release, and '
    'disjoint groups together cost eps once. NULL and NaN in x are ignored; infinities are below or above. lo < hi '
    'finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} Sources: Dwork, McSherry, Nissim, '
    'Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.';
