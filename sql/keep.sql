-- dp_keep: which groups to show.

AGGREGATE dp_keep(eps float8, delta float8, [mech dp_mechanism]) RETURNS boolean SPACE 64;
UP TO delta IS
    'Whether a group may be shown, for HAVING: true with the largest probability that privacy allows for its number '
    'of rows, false without rows; never NULL. '
    '(eps, delta)-differentially private for neighbours that differ by adding or removing one row, and so is the list '
    'of all groups that are kept; the cost of the aggregates beside it is added. '
    'eps and delta: constants, parameters or sub-selects, never NULL, never dependent on rows; eps from 2^-20 to 50, '
    'delta above 0 and below 1. '
    'Errors: 22023, the same with and without rows. '
    'Mechanism: keep, for people with one row in one group. '
    'Source: Desfontaines, Voss, Gipson, Mandayam 2022.';
UP TO mech IS
    'Whether a group may be shown by the mechanism mech, keep(rows=, groups=): for people with at most rows= rows in '
    'each of at most groups= groups, 1 to 1000000 each, 1 by default; then (eps, delta)-differentially private for '
    'neighbours that differ by all rows of one person. The query must make sure that no person has more. Otherwise as '
    'dp_keep(eps, delta).';
