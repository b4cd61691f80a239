-- What several comments say, for {name} in their texts.

PHRASE contribution IS
    'A person with any number of rows is protected, with one contribution in a group: a contribution counts as at '
    'most the rows= of the mechanism, 1 by default, whatever it was made with. Where the plan shows the call of '
    'dp_contribution, other lo or hi, or a k other than rows=, are refused: 22023, the same with and without rows; '
    'where it does not, on other bounds a contribution counts at its mean.';

PHRASE pair IS
    'A person with any number of rows is protected, with one pair of contributions in a group: it counts as at most '
    'the rows= of the mechanism, 1 by default, whatever it was made with. Both must come of the same rows: give both '
    'calls of dp_contribution a FILTER by which neither is NULL. Where the plan shows these calls, other bounds, or a '
    'k other than rows=, are refused: 22023, the same with and without rows; where it does not, on other bounds a '
    'contribution counts at its mean.';

PHRASE pair_counts IS
    'a person counts as min(n, rows) rows with the means of their values in y and in x, n the rows of the one that '
    'has fewer; who has none in one of them counts in neither.';

PHRASE neighbours_or_replaced IS
    'Neighbours differ by adding or removing one row, or by replacing one where the mechanism takes relation=replace '
    'and has it; each GROUP BY group is one release, and disjoint groups together cost the budget once.';

PHRASE neighbours IS
    'neighbours that differ by adding or removing one row; each GROUP BY group is one release, and disjoint groups '
    'together cost';

PHRASE neighbour_persons IS
    'neighbours that differ by adding or removing one person; each GROUP BY group is one release, and disjoint groups '
    'together cost';

PHRASE neighbour_ids IS
    'neighbours that differ by adding or removing all rows of one id, however many rows that are; each GROUP BY group '
    'is one release, and groups that have no id in common together cost';

PHRASE id_type IS
    'NULL in id is ignored. id may be of any type that GROUP BY can hash; of another, such as json: 42883.';

PHRASE clamped IS
    'NULL and NaN in x are ignored; values outside [lo, hi], infinities too, are clamped.';

PHRASE pair_clamped IS
    'A row with NULL or NaN in y or in x is ignored, as PostgreSQL''s own functions ignore NULL; values outside the '
    'bounds, infinities too, are clamped.';

PHRASE auto_found IS
    'With auto, lo and hi may both be NULL, and the interval is about the bounds that were found. They stand in '
    'mechanism, as auto(lo=, hi=, nonzero=), with few=yes where fewer than 40/eps rows are not 0, by a noisy count: '
    'then bounds and answer are as good as arbitrary. With beyond= the interval is wider.';

PHRASE look_at_rows IS
    'Mechanisms that look at single rows (symmetric, symmetric_known_n, auto, hybrid, name_and_shame) are refused.';

PHRASE grids IS
    'With em(grid=log) bins have equal relative width, for loose bounds and long tails; with em(step=1) each multiple '
    'of 1 is a bin, for integers; with em(bins=4096) a group has less memory.';

PHRASE interval_of_mean IS
    'The interval holds the mean of the clamped rows, not that of a population they were drawn from, with at least '
    'the probability confidence, whatever the rows and their number; it lies in [lo, hi], and is all of it where the '
    'noisy number of rows is not positive.';

PHRASE interval_of_variance IS
    'The interval holds the variance of the clamped rows, not that of a population they were drawn from, with at '
    'least the probability confidence, whatever the rows and their number; it is all that rows between lo and hi can '
    'have where the noisy number of rows is not positive.';

PHRASE interval_of_quantile IS
    'The interval holds the quantile of the law that the rows were drawn from, clamped to [lo, hi], with at least the '
    'probability confidence, whatever the law is, and that of the rows themselves more surely; an end is lo or hi '
    'where too little is known.';

PHRASE interval_of_people IS
    'The interval holds the quantile of the law that the persons were drawn from, each as often as they count, '
    'clamped to [lo, hi], with at least the probability confidence, whatever the law is; an end is lo or hi where too '
    'little is known.';

PHRASE band_of_cdf IS
    'The band of the rows is about noise alone, and holds with at least the probability confidence whatever the rows '
    'are; that of the population adds chance (Dvoretzky, Kiefer, Wolfowitz). Where little is known an interval is from '
    '0 to 1.';

PHRASE interval_of_weighted IS
    'The interval holds the weighted mean of the clamped rows, not that of a population they were drawn from, with at '
    'least the probability confidence, whatever the rows and their weights; it lies in [ylo, yhi], and is all of it '
    'where the noisy sum of the weights is not positive.';

PHRASE interval_of_ids IS
    'The interval holds the true number with at least the probability confidence, over the noise and over ids that '
    'fall on one bit by chance; it has no upper end (the largest bigint) where the bitmap is nearly full.';

PHRASE interval_of_sum IS
    'The interval holds the sum of the clamped rows with at least the probability confidence; where lo >= 0 it has no '
    'negative numbers, where hi <= 0 no positive ones.';

PHRASE bitmap IS
    'Mechanism mech: bitmap, with bits= of the bitmap (a power of two; an eighth of it in bytes is what a group keeps '
    'at most) and values= the most distinct ids of a person; see dp_mechanisms().';

PHRASE except_eps IS
    '(except that eps must be NULL beside mu= or rho=)';

PHRASE or_depend IS
    'or depend on the rows: 22023, the same with and without rows.';

PHRASE budget_says IS
    '(with a delta=, mu= or rho=, as that says)';

PHRASE gaussian_says IS
    '(gaussian: as its delta=, mu= or rho= says)';

PHRASE answer_unit IS
    'what the release protects: a person, where contributions or groups of persons came in, else a row; with the most '
    'rows and groups of a person that rows= and groups= of the mechanism allow';

PHRASE answer_rho IS
    'the rho of zero-concentrated differential privacy that the release cost a person, all groups of the query '
    'together';

PHRASE answer_mu IS
    'the mu of Gaussian differential privacy that it cost; NULL of mechanisms that are not Gaussian';

PHRASE answer_epsilon IS
    'the epsilon that the release cost; NULL where the mechanism has mu= or rho= in its place';

PHRASE answer_delta IS
    'the delta that it cost beside that, 0 for pure differential privacy; NULL where epsilon is';

PHRASE answer_lower IS
    'the lower end of an interval that holds what is estimated with at least the probability confidence';
