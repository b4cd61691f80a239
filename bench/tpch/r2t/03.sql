-- rows: 116
-- groups: 1
SELECT count(*)
FROM customer, orders, lineitem
WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey
  AND o_orderdate < date '1997-01-01' AND l_shipdate > date '1994-01-01'
