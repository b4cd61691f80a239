SELECT region, count(*) AS visits, avg(cost) AS cost
FROM {{ source('private', 'visits') }}
WHERE age > 30
GROUP BY region
