-- dp_sum.

AGGREGATE dp_sum(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism]) RETURNS float8 SPACE 64;
UP TO eps IS
    'Private sum of x clamped to [lo, hi], in the unit of x; never NULL: without rows it is noise. Its sensitivity is '
    'the larger of |lo| and |hi|. eps-differentially private for {neighbours} eps once. {clamped} lo < hi finite; '
    '2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} Mechanism staircase: the least variance '
    '(Geng, Viswanath 2014).';
UP TO mech IS
    'Private sum of x clamped to [lo, hi] by the mechanism mech, in the unit of x: staircase, laplace, gaussian (with '
    'its own budget) or auto, which finds the bounds by itself, between lo and hi or, where both are NULL, anywhere; '
    'see dp_mechanisms(). eps-differentially private {gaussian_says} for {neighbours} the budget once. {clamped} lo < '
    'hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be NULL beside mu= or '
    'rho=, and with auto lo and hi both may be) {or_depend} Sources: Geng, Viswanath 2014; Dwork, McSherry, Nissim, '
    'Smith 2006.';
