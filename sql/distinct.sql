-- dp_count_distinct, dp_count_distinct_estimate: the number of distinct ids, from a bitmap.

AGGREGATE dp_count_distinct(id anyelement, eps float8, [mech dp_mechanism]) RETURNS bigint SPACE 131096;
UP TO eps IS
    'Private number of distinct values of id, as count(DISTINCT id), without a sort and in parallel; never NULL: '
    'without rows it is noise, and it may be negative. eps-differentially private for {neighbour_ids} eps once. '
    '{id_type} A group keeps which bits of a bitmap are set, never an id: at most 128 KB, less while ids are few. '
    '2^-20 <= eps <= 50; eps may not be NULL {or_depend} Mechanism bitmap. Source: Whang, Vander-Zanden, Taylor 1990, '
    'linear counting; Ghosh, Roughgarden, Sundararajan 2009.';
UP TO mech IS
    'Private number of distinct values of id, as count(DISTINCT id), without a sort and in parallel; never NULL: '
    'without rows it is noise, and it may be negative. eps-differentially private for {neighbour_ids} eps once. '
    '{id_type} {bitmap} 2^-20 <= eps <= 50; neither eps nor mech may be NULL {or_depend} Source: Whang, '
    'Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan 2009.';

AGGREGATE dp_count_distinct_estimate(id anyelement, eps float8, [mech dp_mechanism], [confidence float8])
    RETURNS dp_count_estimate_answer SPACE 131096;
UP TO eps IS
    'Private number of distinct values of id with an interval, and what it cost, from one release: '
    '(dp_count_distinct_estimate(...)).* is one release too. {interval_of_ids} confidence 0.95. eps-differentially '
    'private for {neighbour_ids} eps once. {id_type} A group keeps which bits of a bitmap are set, never an id: at '
    'most 128 KB, less while ids are few. 2^-20 <= eps <= 50; eps may not be NULL {or_depend} Mechanism bitmap. '
    'Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan 2009.';
UP TO mech IS
    'Private number of distinct values of id with an interval, and what it cost, from one release: '
    '(dp_count_distinct_estimate(...)).* is one release too. {interval_of_ids} confidence 0.95. eps-differentially '
    'private for {neighbour_ids} eps once. {id_type} {bitmap} 2^-20 <= eps <= 50; neither eps nor mech may be NULL '
    '{or_depend} Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, Roughgarden, Sundararajan 2009.';
UP TO confidence IS
    'Private number of distinct values of id with an interval, and what it cost, from one release: '
    '(dp_count_distinct_estimate(...)).* is one release too. {interval_of_ids} eps-differentially private for '
    '{neighbour_ids} eps once. {id_type} {bitmap} 2^-20 <= eps <= 50; 0 < confidence < 1; none of eps, mech, '
    'confidence may be NULL {or_depend} Source: Whang, Vander-Zanden, Taylor 1990, linear counting; Ghosh, '
    'Roughgarden, Sundararajan 2009.';
