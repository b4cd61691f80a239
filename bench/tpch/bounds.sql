-- What the specification says of the columns, and no look at the rows. A line has 1 to 50 of one part, for 900 to 2,099
-- each; a supplier asks for 1 to 1,000.
SELECT dp_declare('lineitem', 'l_quantity', 0, 50), dp_declare('lineitem', 'l_extendedprice', 0, 104950),
    dp_declare('lineitem', 'l_discount', 0, 0.1), dp_declare('lineitem', 'l_tax', 0, 0.08),
    dp_declare('partsupp', 'ps_supplycost', 0, 1000), dp_declare('customer', 'c_acctbal', -999.99, 9999.99);
SELECT dp_declare('lineitem', 'l_returnflag', ARRAY['A', 'N', 'R']),
    dp_declare('lineitem', 'l_linestatus', ARRAY['F', 'O']),
    dp_declare('lineitem', 'l_shipmode', ARRAY['AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK']),
    dp_declare('orders', 'o_orderpriority', ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']),
    dp_declare('nation', 'n_name', ARRAY['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'CHINA', 'EGYPT', 'ETHIOPIA',
        'FRANCE', 'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU',
        'ROMANIA', 'RUSSIA', 'SAUDI ARABIA', 'UNITED KINGDOM', 'UNITED STATES', 'VIETNAM']);
