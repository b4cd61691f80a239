-- dp_cdf.

AGGREGATE dp_cdf(x float8, lo float8, hi float8, points integer, eps float8, [mech dp_mechanism])
    RETURNS float8[] SPACE 8064;
UP TO eps IS
    'Private distribution function of x: the part of the rows below each of several points at equal distances, the '
    'last of which is hi; an array of float8 that rises from 0 to 1 and is never NULL. Point i (from 1) is lo + i (hi '
    '- lo) / points, edge i + 1 of dp_histogram_edges(lo, hi, points); values outside are clamped, and the last part '
    'is 1. Without rows the parts are noise. eps-differentially private for neighbours that differ by adding or '
    'removing one row, all points together; each GROUP BY group is one release, and disjoint groups together cost eps '
    'once. NULL and NaN in x are ignored. lo < hi finite; points from 1 to 100000, none nearer to the next than '
    'float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech may be NULL {or_depend} Mechanism '
    'tree: noisy counts of a tree, made consistent (Hay, Rastogi, Miklau, Suciu 2010; Qardaji, Yang, Li 2013).';
UP TO mech IS
    'Private distribution function of x: the part of the rows below each of several points at equal distances, the '
    'last of which is hi; an array of float8 that rises from 0 to 1 and is never NULL. By the mechanism mech, tree: '
    'as without mech. Without rows the parts are noise. eps-differentially private for neighbours that differ by '
    'adding or removing one row, all points together; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. NULL and NaN in x are ignored. lo < hi finite; points from 1 to 100000, none nearer to '
    'the next than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech may be NULL '
    '{or_depend} Sources: Hay, Rastogi, Miklau, Suciu 2010; Qardaji, Yang, Li 2013.';

AGGREGATE dp_cdf(x dp_mean.dp_contribution, lo float8, hi float8, points integer, eps float8, [mech dp_mechanism])
    RETURNS float8[] SPACE 8064;
UP TO eps IS
    'Private distribution function of what persons contribute: the part of the rows below each of several points at '
    'equal distances, where a person of n rows counts as min(n, rows) rows with the value of their mean. '
    '{contribution} eps-differentially private for neighbours that differ by adding or removing one person, all '
    'points together; each GROUP BY group is one release, and disjoint groups together cost eps once. NULL in x is '
    'ignored. lo < hi finite; points from 1 to 100000, none nearer to the next than float8 can distinguish; 2^-20 <= '
    'eps <= 50; none of lo, hi, points, eps, mech may be NULL {or_depend} See dp_cdf of rows.';
UP TO mech IS
    'Private distribution function of what persons contribute, by the mechanism mech: the part of the rows below each '
    'of several points at equal distances, where a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. {contribution} eps-differentially private for neighbours that differ by adding or removing one '
    'person, all points together; each GROUP BY group is one release, and disjoint groups together cost eps once. '
    'NULL in x is ignored. lo < hi finite; points from 1 to 100000, none nearer to the next than float8 can '
    'distinguish; 2^-20 <= eps <= 50; none of lo, hi, points, eps, mech may be NULL {or_depend} See dp_cdf of rows, '
    'and dp_mechanisms().';
