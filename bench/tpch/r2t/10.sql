-- rows: 60
-- groups: 1
SELECT count(*) FROM orders, customer, nation WHERE o_custkey = c_custkey AND c_nationkey = n_nationkey
