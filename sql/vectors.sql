-- dp_counts, dp_sums, dp_means: many numbers from one release.

-- COST: one row may cost what dozens of counts cost, and the planner chooses JIT by what it adds up.
AGGREGATE dp_counts(eps float8, mech dp_mechanism, VARIADIC questions "any") RETURNS float8[] SPACE 576 COST 50;
UP TO questions IS
    'Private numbers of rows that say yes to each of d yes/no questions, from one release: an array of d numbers, '
    'which can be negative. The questions are up to 97 boolean arguments, or one boolean array, VARIADIC, whose '
    'length d the mechanism gives (d=, up to 100,000). NULL is no; so are the missing elements of an array that is '
    'too short, and elements beyond d are ignored; a row of NULLs is a row. The budget of knorm and laplace is eps; '
    'that of all others is in mech: delta= with eps (approximate differential privacy), or mu= (Gaussian) or rho= '
    '(zero-concentrated), with NULL for eps. {neighbours_or_replaced} A question of another type: 42804; none of eps '
    'and mech may depend on the rows: 22023, the same with and without rows. Mechanisms: knorm (the one to start '
    'with: variance (d + 2) (d + 3) / (6 eps^2) each), correlated ((sqrt(d) + 1)^2 / (4 mu^2) each; Lebeda 2024, '
    'Algorithm 1), gaussian, known_n, laplace, ellipse; see dp_mechanisms().';

AGGREGATE dp_sums(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) RETURNS float8[] SPACE 1088 COST 50;
UP TO mech IS
    'Private sums of the d numbers of each row, clamped to [lo, hi], from one release: an array of d numbers in the '
    'unit of x. The mechanism gives d (d=, 1 to 100,000). A NULL array is ignored; a NULL, NaN or missing element '
    'counts as 0, clamped to the bounds; elements beyond d are ignored. Budget and mechanisms as those of dp_counts '
    '(ellipse only where lo or hi is 0). {neighbours_or_replaced} lo < hi finite; none of lo, hi, eps, mech may depend '
    'on the rows: 22023, the same with and without rows.';

AGGREGATE dp_means(x float8[], lo float8, hi float8, eps float8, mech dp_mechanism) RETURNS float8[] SPACE 1088 COST 50;
UP TO mech IS
    'Private means of the d numbers of each row, clamped to [lo, hi], from one release: the noisy sums over the noisy '
    'number of rows, never outside [lo, hi]; an array of d numbers in the unit of x. '
    'Arguments, rows and neighbours as for dp_sums: a NULL array is ignored, a NULL, NaN or missing element counts as '
    '0, clamped to the bounds. '
    'Budget as that of dp_counts. '
    'Each GROUP BY group is one release, and disjoint groups together cost the budget once. '
    'Errors as dp_sums: 22023, the same with and without rows. '
    'Mechanisms knorm, correlated and known_n: those that have the number of rows; see dp_mechanisms().';
