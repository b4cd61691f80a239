-- dp_var_pop, dp_stddev_pop.

AGGREGATE dp_var_pop(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 80 TRANSITION dp_variance FINAL dp_variance;
UP TO eps IS
    'Private population variance of x clamped to [lo, hi], in the square of the unit of x; from 0 to (hi - lo)^2 / 4, '
    'never NULL: without rows it is noise. eps-differentially private for {neighbours} eps once. {clamped} lo < hi '
    'finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} Mechanism laplace, on three sums '
    '(Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';
UP TO mech IS
    'Private population variance of x clamped to [lo, hi], in the square of the unit of x, by the mechanism mech: '
    'laplace, gaussian (with its own budget) or auto, which finds the bounds by itself, between lo and hi or, where '
    'both are NULL, anywhere; with sample=yes of the sample variance, n / (n - 1) times as large; see '
    'dp_mechanisms(); never NULL: without rows it is noise. eps-differentially private {gaussian_says} for '
    '{neighbours} the budget once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be '
    'NULL (except that eps must be NULL beside mu= or rho=, and with auto lo and hi both may be) {or_depend} Sources: '
    'Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';

AGGREGATE dp_stddev_pop(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 80 TRANSITION dp_variance FINAL dp_stddev;
UP TO eps IS
    'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_var_pop '
    'releases; from 0 to (hi - lo) / 2, never NULL: without rows it is noise. eps-differentially private for '
    '{neighbours} eps once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL '
    '{or_depend} Mechanism laplace, on three sums (Kulesza, Suresh, Wang 2024, Algorithm 3, one degree up).';
UP TO mech IS
    'Private population standard deviation of x clamped to [lo, hi], in the unit of x: the root of what dp_var_pop '
    'releases, by the mechanism mech: laplace, gaussian (with its own budget) or auto, which finds the bounds by '
    'itself, between lo and hi or, where both are NULL, anywhere; with sample=yes of the sample variance, n / (n - 1) '
    'times as large; see dp_mechanisms(); never NULL: without rows it is noise. eps-differentially private '
    '{gaussian_says} for {neighbours} the budget once. {clamped} lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, '
    'eps, mech may be NULL (except that eps must be NULL beside mu= or rho=, and with auto lo and hi both may be) '
    '{or_depend} Sources: Kulesza, Suresh, Wang 2024; Dong, Roth, Su 2022.';
