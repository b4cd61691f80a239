SELECT region, visits / sum(visits) OVER () AS share
FROM {{ ref('by_region') }}
