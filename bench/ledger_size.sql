-- Fills a ledger: budgets b1 .. bN like the one that is there, b, each with a line for all together and one for its role.
-- scripts/bench-charges sets n. The rows of charges are made as charges make them, but at once.
SET client_min_messages = warning;
CREATE TEMP TABLE model AS SELECT id FROM dp_mean.budget WHERE name = 'b';
CREATE TEMP TABLE more AS SELECT i, (1000000000 + i)::bigint AS id FROM generate_series(1, :n - 1) i
WHERE NOT EXISTS (SELECT FROM dp_mean.budget WHERE name = 'b' || i);
INSERT INTO dp_mean.budget SELECT m.id, 'b' || i, owner, at FROM dp_mean.budget, more m
WHERE dp_mean.budget.id = (SELECT id FROM model);
INSERT INTO dp_mean.budget_limit
SELECT m.id, role, number, epsilon, delta, epsilon_units, rho_units, delta_units, closed, at, by, accounting, failures
FROM dp_mean.budget_limit l, more m WHERE l.budget = (SELECT id FROM model);
INSERT INTO dp_mean.history
SELECT m.id, number, owner, system, timeline, database, ledger, backup, epsilon, rho, delta, at, by
FROM dp_mean.history h, more m WHERE h.budget = (SELECT id FROM model);
INSERT INTO dp_mean.spent
SELECT m.id, 0, 0, 0, 0, 0, '-infinity', 0, '-infinity', role FROM dp_mean.spent s, more m
WHERE s.budget = (SELECT id FROM model) ORDER BY m.id, role::oid;
VACUUM (ANALYZE) dp_mean.budget, dp_mean.budget_limit, dp_mean.history, dp_mean.spent;
