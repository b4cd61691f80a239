-- dp_bounds.

CREATE TYPE dp_bounds_answer AS (lower float8, upper float8);
COMMENT ON TYPE dp_bounds_answer IS
    'The answer of dp_bounds: bounds of a column, each 0 or a power of two; both NULL where too few rows are near '
    'each other.';
COMMENT ON COLUMN dp_bounds_answer.lower IS 'the lower bound, or NULL';
COMMENT ON COLUMN dp_bounds_answer.upper IS 'the upper bound, or NULL';

AGGREGATE dp_bounds(x float8, eps float8, [mech dp_mechanism]) RETURNS dp_bounds_answer SPACE 2120;
UP TO eps IS
    'Private bounds of x that most rows lie between, (lower, upper), for a mean or a histogram with these as '
    'constants: a release of its own, and the costs add up. Rows are counted by powers of two of their magnitude, '
    'from 2^-64 to 2^64 of both signs, smaller ones as zero, larger ones and infinities with the largest; each count '
    'gets noise, those that reach a threshold (26 at eps 1, so that about 26 rows are needed) are kept, and the '
    'answer is the smallest interval that covers them; both NULL where none is kept. Noise alone keeps none but with '
    'a probability of 1e-9. eps-differentially private for {neighbours} eps once. NULL and NaN in x are ignored. '
    '2^-20 <= eps <= 50; eps and mech may not be NULL {or_depend} Mechanism geometric: two-sided geometric noise on '
    'each count (Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020).';
UP TO mech IS
    'Private bounds of x by the mechanism mech, geometric: as without mech, and with geometric(beta=...) noise alone '
    'keeps none of the counts but with that probability: a larger beta has a lower threshold. eps-differentially '
    'private for {neighbours} eps once. NULL and NaN in x are ignored. 2^-20 <= eps <= 50; eps and mech may not be '
    'NULL {or_depend} Source: Wilson, Zhang, Lam, Desfontaines, Simmons-Marengo, Gipson 2020.';
