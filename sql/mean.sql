-- dp_mean, dp_mean_and_count.

AGGREGATE dp_mean(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism]) RETURNS float8 SPACE 64;
UP TO eps IS
    'Private mean of x clamped to [lo, hi], in the unit of x; never outside [lo, hi], never NULL: without rows it is '
    'noise. eps-differentially private for {neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; none '
    'of lo, hi, eps, mech may be NULL {or_depend} Mechanism hourglass: min-max optimal (Kulesza, Suresh, Wang 2024, '
    'Algorithm 3 and Theorem 3).';
UP TO mech IS
    'Private mean of x clamped to [lo, hi] by the mechanism mech, in the unit of x: hourglass, laplace, staircase, '
    'gaussian (with its own budget), shifted or independent; smooth and clipped(n=), which have no bias for rows '
    'between the bounds; symmetric(delta=, scale=) and symmetric_known_n, which have none for rows of a symmetric '
    'distribution, take NULL for lo and hi, and answer NULL where they find no place for the mean; auto, which finds '
    'the bounds by itself, between lo and hi or, where both are NULL, anywhere; or, if dp_mean.allow_pathological is '
    'on (else 42501), hybrid and name_and_shame, which show rows. See dp_mechanisms(), and dp_mean_plan for their '
    'errors. eps-differentially private {budget_says} for neighbours that differ by adding or removing one row (with '
    'an n=, by replacing one); each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    '{clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be '
    'NULL beside mu= or rho=, and lo and hi beside scale=; with auto both may be) {or_depend} Sources: Kulesza, '
    'Suresh, Wang 2024; Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023.';

CREATE TYPE dp_mean_answer AS (mean float8, count float8);
COMMENT ON TYPE dp_mean_answer IS
    'The answer of dp_mean_and_count: the private mean, and the noisy number of rows from the same release.';
COMMENT ON COLUMN dp_mean_answer.mean IS 'the private mean, inside [lo, hi]';
COMMENT ON COLUMN dp_mean_answer.count IS 'the noisy number of non-NULL rows; it can be negative or a fraction';

AGGREGATE dp_mean_and_count(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS dp_mean_answer SPACE 64 TRANSITION dp_mean;
UP TO eps IS
    'Private mean of x clamped to [lo, hi], and the noisy number of rows that the same release gives at no further '
    'cost. The variance of that count is about twice that of dp_count at the same small eps, 3.4 times at eps 4. '
    'eps-differentially private for {neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, '
    'hi, eps, mech may be NULL {or_depend} Mechanism hourglass (Kulesza, Suresh, Wang 2024, Algorithm 3).';
UP TO mech IS
    'Private mean of x clamped to [lo, hi] and the noisy number of rows, from one release of the mechanism mech, one '
    'of those of dp_mean, which says what it promises; see dp_mechanisms(). The count is NULL with smooth, and n '
    'itself with mechanisms that have an n=; the mean is NULL where symmetric finds no place for it. '
    'eps-differentially private {budget_says} for neighbours that differ by adding or removing one row (with an n=, '
    'by replacing one); each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    '{clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be '
    'NULL beside mu= or rho=, and lo and hi beside scale=; with auto both may be) {or_depend} Sources: Kulesza, '
    'Suresh, Wang 2024; Kamath, Mouzakis, Regehr, Singhal, Steinke, Ullman 2023.';
