-- The person is the customer; an order is about its customer, and a line about its order.
SELECT dp_set_budget('customers', 0.8, 1e-6);
SELECT dp_protect('customer', 'c_custkey', 'customers'), dp_protect('orders', via => 'o_custkey'),
    dp_protect('lineitem', via => 'l_orderkey');
CREATE ROLE analyst;
SELECT dp_allow('customer', 'analyst'), dp_allow('orders', 'analyst'), dp_allow('lineitem', 'analyst');
GRANT SELECT ON region, nation, supplier, part, partsupp TO analyst;
