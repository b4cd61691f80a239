-- dp_count.

AGGREGATE dp_count(eps float8) RETURNS bigint SPACE 64 TRANSITION dp_count_rows;
UP TO eps IS
    'Private number of rows; never NULL. eps-differentially private for {neighbours} eps once. It can be negative: '
    'greatest(dp_count(...), 0) is as private, but biased. 2^-20 <= eps <= 50; eps and mech may not be NULL '
    '{or_depend} Mechanism geometric, two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';

AGGREGATE dp_count(x "any", eps float8, [mech dp_mechanism]) RETURNS bigint SPACE 64;
UP TO eps IS
    'Private number of rows where x is not NULL (x of any type; a constant counts all rows); never NULL. '
    'eps-differentially private for {neighbours} eps once. It can be negative: greatest(dp_count(...), 0) is as '
    'private, but biased. 2^-20 <= eps <= 50; eps and mech may not be NULL {or_depend} Mechanism geometric, '
    'two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';
UP TO mech IS
    'Private number of rows where x is not NULL by the mechanism mech, geometric, gaussian (with its own budget) or '
    'undercount(delta=), which is never above it; never NULL. eps-differentially private {budget_says} for '
    '{neighbours} the budget once. It can be negative: greatest(dp_count(...), 0) is as private, but biased. 2^-20 <= '
    'eps <= 50; eps and mech may not be NULL (but eps must be, beside mu= or rho=) {or_depend} Mechanism geometric, '
    'two-sided: optimal for counts (Ghosh, Roughgarden, Sundararajan 2009).';
