-- rows: 240
-- groups: 1
SELECT sum(l_quantity) FROM customer, orders, lineitem WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey
