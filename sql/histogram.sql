-- dp_histogram, dp_histogram_edges.

AGGREGATE dp_histogram(x float8, lo float8, hi float8, buckets integer, eps float8, [mech dp_mechanism])
    RETURNS bigint[] SPACE 576;
UP TO eps IS
    'Private histogram of x: the number of rows in each of several buckets of equal width between lo and hi, an array '
    'of bigint; never NULL: without rows, and in empty buckets, it is noise. Bucket i (from 1) holds x from edge i, '
    'included, to edge i + 1, not included: dp_histogram_edges(lo, hi, buckets) has the edges. Values below lo go to '
    'the first bucket, hi and values above to the last. eps-differentially private for neighbours that differ by '
    'adding or removing one row, all buckets together; each GROUP BY group is one release, and disjoint groups '
    'together cost eps once. Counts can be negative. NULL and NaN in x are ignored. lo < hi finite; buckets from 1 to '
    '100000, none narrower than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, buckets, eps, mech may be '
    'NULL {or_depend} Mechanism geometric: two-sided geometric noise on each count (Dwork, McSherry, Nissim, Smith '
    '2006; Ghosh, Roughgarden, Sundararajan 2009).';
UP TO mech IS
    'Private histogram of x by the mechanism mech, geometric: as without mech; with geometric(outside=drop), values '
    'below lo and above hi go to no bucket (hi itself goes to the last). eps-differentially private for neighbours '
    'that differ by adding or removing one row, all buckets together; each GROUP BY group is one release, and '
    'disjoint groups together cost eps once. Counts can be negative. NULL and NaN in x are ignored. lo < hi finite; '
    'buckets from 1 to 100000, none narrower than float8 can distinguish; 2^-20 <= eps <= 50; none of lo, hi, '
    'buckets, eps, mech may be NULL {or_depend} Sources: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, '
    'Sundararajan 2009.';

CREATE FUNCTION dp_histogram_edges(lo float8, hi float8, buckets integer) RETURNS float8[]
    AS 'MODULE_PATHNAME', 'dp_histogram_edges_wrapper' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_histogram_edges(float8, float8, integer) IS
    'The edges of the buckets of dp_histogram with the same lo, hi and buckets: one more than buckets, the first is '
    'lo and the last is hi, edge i + 1 is lo + i (hi - lo) / buckets. '
    'It looks at no data; width_bucket(x, edges) is the bucket of x, but 0 for values below lo, and buckets + 1 for '
    'hi and above. '
    'lo < hi finite, buckets from 1 to 100000, none narrower than float8 can distinguish: else 22023.';
