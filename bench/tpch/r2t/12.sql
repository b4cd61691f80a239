-- rows: 240
-- groups: 1
SELECT count(*) FROM orders, lineitem WHERE o_orderkey = l_orderkey
