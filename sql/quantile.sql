-- dp_quantile, dp_median, dp_quantiles.

AGGREGATE dp_quantile(x float8, lo float8, hi float8, q float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 131136;
UP TO eps IS
    'Private quantile of x, a value with about the part q of the rows below it (q = 0.5 is the median). The answer '
    'lies between lo and hi and is never NULL: without rows it is a random value between them. Rows are counted in '
    '16384 bins of equal width between lo and hi; values outside are clamped. eps-differentially private for '
    '{neighbours} eps once. NULL and NaN in x are ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= '
    '50; none of lo, hi, q, eps, mech may be NULL {or_depend} Mechanism em: the exponential mechanism over ranks '
    '(McSherry, Talwar 2007; Smith 2011).';
UP TO mech IS
    'Private quantile of x, a value with about the part q of the rows below it (q = 0.5 is the median), by the '
    'mechanism mech, em: as without mech. {grids} The answer lies between lo and hi and is never NULL: without rows '
    'it is a random value between them. eps-differentially private (with a rho=, as that says) for {neighbours} the '
    'budget once. NULL and NaN in x are ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; none '
    'of lo, hi, q, eps, mech may be NULL (except that eps must be NULL beside rho=) {or_depend} Sources: McSherry, '
    'Talwar 2007; Smith 2011; Kaplan, Schnapp, Stemmer 2022; Cesar, Rogers 2021.';

AGGREGATE dp_median(x float8, lo float8, hi float8, eps float8, [mech dp_mechanism]) RETURNS float8 SPACE 131136;
UP TO eps IS
    'Private median of x, a value with about as many rows below it as above. The answer lies between lo and hi and is '
    'never NULL: without rows it is a random value between them. Rows are counted in 16384 bins of equal width '
    'between lo and hi; values outside are clamped. eps-differentially private for {neighbours} eps once. NULL and '
    'NaN in x are ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} '
    'Mechanism em: the exponential mechanism over ranks (McSherry, Talwar 2007; Smith 2011).';
UP TO mech IS
    'Private median of x, a value with about as many rows below it as above, by the mechanism mech, em: as without '
    'mech. {grids} The answer lies between lo and hi and is never NULL: without rows it is a random value between '
    'them. eps-differentially private (with a rho=, as that says) for {neighbours} the budget once. NULL and NaN in x '
    'are ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL (except that eps must be '
    'NULL beside rho=) {or_depend} Sources: McSherry, Talwar 2007; Smith 2011; Kaplan, Schnapp, Stemmer 2022; Cesar, '
    'Rogers 2021.';

AGGREGATE dp_quantiles(x float8, lo float8, hi float8, qs float8[], eps float8, [mech dp_mechanism])
    RETURNS float8[] SPACE 131136;
UP TO eps IS
    'Private quantiles of x, one for each number of the array qs: values with about these parts of the rows below '
    'them, in ascending order. The answers lie between lo and hi, and the array is never NULL: without rows they are '
    'random values between them. They are found one inside the other, and share eps: many cost little more than a '
    'few. Rows are counted in 16384 bins of equal width between lo and hi; values outside are clamped. '
    'eps-differentially private for {neighbours} eps once. NULL and NaN in x are ignored. lo < hi finite; qs 1 to '
    '1000 numbers from 0.00001 to 0.99999, ascending; 2^-20 <= eps <= 50; none of lo, hi, qs, eps, mech may be NULL '
    '{or_depend} Mechanism em: the exponential mechanism over ranks, recursively (Kaplan, Schnapp, Stemmer 2022).';
UP TO mech IS
    'Private quantiles of x, one for each number of the array qs: values with about these parts of the rows below '
    'them, in ascending order, by the mechanism mech, em: as without mech. {grids} The answers lie between lo and hi, '
    'and the array is never NULL: without rows they are random values between them. They are found one inside the '
    'other, and share eps: many cost little more than a few. eps-differentially private (with a rho=, as that says) '
    'for {neighbours} the budget once. NULL and NaN in x are ignored. lo < hi finite; qs 1 to 1000 numbers from '
    '0.00001 to 0.99999, ascending; 2^-20 <= eps <= 50; none of lo, hi, qs, eps, mech may be NULL (except that eps '
    'must be NULL beside rho=) {or_depend} Sources: McSherry, Talwar 2007; Smith 2011; Kaplan, Schnapp, Stemmer 2022; '
    'Cesar, Rogers 2021.';

AGGREGATE dp_quantile(x dp_mean.dp_contribution, lo float8, hi float8, q float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 131136;
UP TO eps IS
    'Private quantile of what persons contribute: a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. lo '
    '< hi finite; q from 0.00001 to 0.99999; 2^-20 <= eps <= 50; none of lo, hi, q, eps, mech may be NULL {or_depend} '
    'See dp_quantile of rows, and dp_mechanisms().';
UP TO mech IS
    'Private quantile of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) '
    'rows with the value of their mean. {contribution} eps-differentially private (with a rho=, as that says) for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; q from 0.00001 to 0.99999; 2^-20 <= '
    'eps <= 50; none of lo, hi, q, eps, mech may be NULL (except that eps must be NULL beside rho=) {or_depend} See '
    'dp_quantile of rows, and dp_mechanisms().';

AGGREGATE dp_median(x dp_mean.dp_contribution, lo float8, hi float8, eps float8, [mech dp_mechanism])
    RETURNS float8 SPACE 131136;
UP TO eps IS
    'Private median of what persons contribute: a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. lo '
    '< hi finite; 2^-20 <= eps <= 50; none of lo, hi, eps, mech may be NULL {or_depend} See dp_median of rows, and '
    'dp_mechanisms().';
UP TO mech IS
    'Private median of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) rows '
    'with the value of their mean. {contribution} eps-differentially private (with a rho=, as that says) for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; 2^-20 <= eps <= 50; none of lo, hi, '
    'eps, mech may be NULL (except that eps must be NULL beside rho=) {or_depend} See dp_median of rows, and '
    'dp_mechanisms().';

AGGREGATE dp_quantiles(x dp_mean.dp_contribution, lo float8, hi float8, qs float8[], eps float8, [mech dp_mechanism])
    RETURNS float8[] SPACE 131136;
UP TO eps IS
    'Private quantiles of what persons contribute: a person of n rows counts as min(n, rows) rows with the value of '
    'their mean. {contribution} eps-differentially private for {neighbour_persons} eps once. NULL in x is ignored. lo '
    '< hi finite; qs 1 to 1000 numbers from 0.00001 to 0.99999, ascending; 2^-20 <= eps <= 50; none of lo, hi, qs, '
    'eps, mech may be NULL {or_depend} See dp_quantiles of rows, and dp_mechanisms().';
UP TO mech IS
    'Private quantiles of what persons contribute, by the mechanism mech: a person of n rows counts as min(n, rows) '
    'rows with the value of their mean. {contribution} eps-differentially private (with a rho=, as that says) for '
    '{neighbour_persons} the budget once. NULL in x is ignored. lo < hi finite; qs 1 to 1000 numbers from 0.00001 to '
    '0.99999, ascending; 2^-20 <= eps <= 50; none of lo, hi, qs, eps, mech may be NULL (except that eps must be NULL '
    'beside rho=) {or_depend} See dp_quantiles of rows, and dp_mechanisms().';
