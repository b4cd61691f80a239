-- The tables of the ledger: budgets, what was promised of them, and what was spent, which no ROLLBACK takes back.
--
-- src/ledger reads and writes these tables as they lie: columns, their order and their types are its own.

CREATE TABLE dp_mean.budget (
    id bigint PRIMARY KEY,
    name text NOT NULL UNIQUE,
    owner regrole NOT NULL,
    at timestamptz NOT NULL
);
COMMENT ON TABLE dp_mean.budget IS
    'A row for each budget: a class of people, to whom one limit is promised for all tables about them.';
COMMENT ON COLUMN dp_mean.budget.id IS
    'Its number in the other tables: random, so that the rows of two ledgers do not mix.';
COMMENT ON COLUMN dp_mean.budget.name IS 'Whose data it is, as in patients.';
COMMENT ON COLUMN dp_mean.budget.owner IS 'The role that made it.';
COMMENT ON COLUMN dp_mean.budget.at IS 'When it was made.';

CREATE TABLE dp_mean.budget_limit (
    budget bigint NOT NULL,
    role regrole NOT NULL,
    number bigint NOT NULL,
    epsilon float8 NOT NULL,
    delta float8 NOT NULL,
    epsilon_units bigint NOT NULL,
    rho_units bigint NOT NULL,
    delta_units bigint NOT NULL,
    closed boolean NOT NULL,
    at timestamptz NOT NULL,
    by text NOT NULL,
    accounting text NOT NULL,
    failures float8 NOT NULL,
    PRIMARY KEY (budget, role, number)
);
COMMENT ON TABLE dp_mean.budget_limit IS
    'A row for each limit that was ever promised; the one with the largest number holds.';
COMMENT ON COLUMN dp_mean.budget_limit.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.budget_limit.role IS 'The role that it is about; 0 for all together.';
COMMENT ON COLUMN dp_mean.budget_limit.number IS 'Which one it is of this budget and role, from 1.';
COMMENT ON COLUMN dp_mean.budget_limit.epsilon IS 'Epsilon, as it was asked for.';
COMMENT ON COLUMN dp_mean.budget_limit.delta IS 'Delta, as it was asked for.';
COMMENT ON COLUMN dp_mean.budget_limit.epsilon_units IS 'The most that the sum of epsilons may be, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.budget_limit.rho_units IS
    'The most that the sum of rhos may be, or of mu^2 / 2 where the accounting is gaussian, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.budget_limit.delta_units IS
    'The most that the sum of deltas may be, in units of 2^-62: the share of delta that is for failures.';
COMMENT ON COLUMN dp_mean.budget_limit.closed IS 'Whether the budget ends with it.';
COMMENT ON COLUMN dp_mean.budget_limit.at IS 'When it was made.';
COMMENT ON COLUMN dp_mean.budget_limit.by IS
    'The name of the role that made it. Not a regrole: a dump could not be restored where that role is missing.';
COMMENT ON COLUMN dp_mean.budget_limit.accounting IS
    'gaussian or zcdp: what is added up beside epsilon. The same in all limits of a budget.';
COMMENT ON COLUMN dp_mean.budget_limit.failures IS
    'The share of delta that is for failures, from 0 to 1. The same in all limits of a budget.';

CREATE TABLE dp_mean.history (
    budget bigint NOT NULL,
    number bigint NOT NULL,
    owner regrole NOT NULL,
    system bigint NOT NULL,
    timeline bigint NOT NULL,
    database bigint NOT NULL,
    ledger bigint NOT NULL,
    backup bigint NOT NULL,
    epsilon bigint NOT NULL,
    rho bigint NOT NULL,
    delta bigint NOT NULL,
    at timestamptz NOT NULL,
    by text NOT NULL,
    PRIMARY KEY (budget, number)
);
COMMENT ON TABLE dp_mean.history IS
    'A row for each owner that a budget had, and for each server and database that its ledger was kept at; the one '
    'with the largest number holds.';
COMMENT ON COLUMN dp_mean.history.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.history.number IS 'Which one it is of this budget, from 1.';
COMMENT ON COLUMN dp_mean.history.owner IS 'The role that owns the budget.';
COMMENT ON COLUMN dp_mean.history.system IS 'The system identifier of the server, as a signed number.';
COMMENT ON COLUMN dp_mean.history.timeline IS 'The timeline of its WAL.';
COMMENT ON COLUMN dp_mean.history.database IS 'The OID of the database.';
COMMENT ON COLUMN dp_mean.history.ledger IS 'The OID of this table.';
COMMENT ON COLUMN dp_mean.history.backup IS
    'Where the base backup that the server was started from begins in the WAL; 0 if it was not.';
COMMENT ON COLUMN dp_mean.history.epsilon IS
    'Epsilon of what was charged as missing, in units of 2^-50; 2^63 - 1 if it has no bound.';
COMMENT ON COLUMN dp_mean.history.rho IS 'The same in rho, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.history.delta IS 'Its delta, in units of 2^-62.';
COMMENT ON COLUMN dp_mean.history.at IS 'When it was said.';
COMMENT ON COLUMN dp_mean.history.by IS
    'The name of the role that said it. Not a regrole: a dump could not be restored where that role is missing.';

CREATE TABLE dp_mean.spent (
    budget bigint NOT NULL,
    epsilon bigint NOT NULL,
    rho bigint NOT NULL,
    delta bigint NOT NULL,
    charges bigint NOT NULL,
    refused bigint NOT NULL,
    noted timestamptz NOT NULL,
    reused bigint NOT NULL,
    reuse_noted timestamptz NOT NULL,
    role regrole NOT NULL
);
COMMENT ON TABLE dp_mean.spent IS
    'A row for each budget, made with it, and for each role that something was spent by. Charges change it in place, '
    'outside of transactions.';
COMMENT ON COLUMN dp_mean.spent.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.spent.epsilon IS
    'The sum of epsilons, in units of 2^-50; 2^63 - 1 once one had no bound.';
COMMENT ON COLUMN dp_mean.spent.rho IS
    'The sum of rhos, or of mu^2 / 2 where the accounting is gaussian, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.spent.delta IS 'The sum of deltas, in units of 2^-62.';
COMMENT ON COLUMN dp_mean.spent.charges IS 'How many charges it has.';
COMMENT ON COLUMN dp_mean.spent.refused IS 'How many charges of the role were refused for want of budget.';
COMMENT ON COLUMN dp_mean.spent.noted IS 'When one of these had a row of dp_mean.charge; -infinity if none had.';
COMMENT ON COLUMN dp_mean.spent.reused IS
    'How many answers were given again, for nothing. A crash may forget some of the last ones.';
COMMENT ON COLUMN dp_mean.spent.reuse_noted IS
    'When one of these had a row of dp_mean.charge; -infinity if none had.';
COMMENT ON COLUMN dp_mean.spent.role IS 'The role that spent it; 0 for all together.';

CREATE TABLE dp_mean.charge (
    at timestamptz NOT NULL,
    budget bigint NOT NULL,
    epsilon bigint NOT NULL,
    rho bigint NOT NULL,
    delta bigint NOT NULL,
    role regrole NOT NULL,
    session_role regrole NOT NULL,
    relation regclass NOT NULL,
    refused boolean NOT NULL,
    reused boolean NOT NULL,
    mechanisms text NOT NULL,
    query text NOT NULL,
    periods bigint NOT NULL,
    first_day date NOT NULL
);
COMMENT ON TABLE dp_mean.charge IS
    'A row for each charge, and for one a minute of those of a budget and role that were refused for want of budget, '
    'and of the answers that were given again.';
COMMENT ON COLUMN dp_mean.charge.at IS 'When it was made.';
COMMENT ON COLUMN dp_mean.charge.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.charge.epsilon IS 'Epsilon, in units of 2^-50; 2^63 - 1 if it has no bound.';
COMMENT ON COLUMN dp_mean.charge.rho IS
    'Rho, or mu^2 / 2 where the accounting is gaussian, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.charge.delta IS 'Delta, in units of 2^-62.';
COMMENT ON COLUMN dp_mean.charge.role IS 'The role that was charged.';
COMMENT ON COLUMN dp_mean.charge.session_role IS 'The role that the session began with.';
COMMENT ON COLUMN dp_mean.charge.relation IS 'The table that was asked; 0 if the charge names none.';
COMMENT ON COLUMN dp_mean.charge.refused IS 'Whether it was refused, and nothing spent.';
COMMENT ON COLUMN dp_mean.charge.reused IS 'Whether an answer was given again, and nothing spent.';
COMMENT ON COLUMN dp_mean.charge.mechanisms IS 'The mechanisms that answered; empty if the charge names none.';
COMMENT ON COLUMN dp_mean.charge.query IS 'The text that the client sent, up to 1000 bytes.';
COMMENT ON COLUMN dp_mean.charge.periods IS
    'How many periods it was charged to, all of it to each; 0 of a budget that has none.';
COMMENT ON COLUMN dp_mean.charge.first_day IS 'The first day of the first one; 2000-01-01 if there is none.';

CREATE TABLE dp_mean.budget_period (
    budget bigint NOT NULL,
    charges bigint NOT NULL,
    months bigint NOT NULL,
    days bigint NOT NULL,
    at timestamptz NOT NULL,
    since date NOT NULL
);
COMMENT ON TABLE dp_mean.budget_period IS
    'A row for each budget that is cut into periods: a person''s rows of one period are a privacy unit of their own, '
    'the person-period. Charges change it in place, outside of transactions.';
COMMENT ON COLUMN dp_mean.budget_period.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.budget_period.charges IS
    'How many charges all lines of dp_mean.period_spent for all together have: fewer say that lines were lost.';
COMMENT ON COLUMN dp_mean.budget_period.months IS 'How many months a period has; 0 if it has days.';
COMMENT ON COLUMN dp_mean.budget_period.days IS 'How many days a period has; 0 if it has months.';
COMMENT ON COLUMN dp_mean.budget_period.at IS 'When it was cut.';
COMMENT ON COLUMN dp_mean.budget_period.since IS 'The first day of the first period, in UTC.';

CREATE TABLE dp_mean.period_spent (
    budget bigint NOT NULL,
    epsilon bigint NOT NULL,
    rho bigint NOT NULL,
    delta bigint NOT NULL,
    charges bigint NOT NULL,
    role regrole NOT NULL,
    first_day date NOT NULL
);
COMMENT ON TABLE dp_mean.period_spent IS
    'A row for each period that something was spent of, and for each role that spent it. Made at the first charge; '
    'charges change it in place, outside of transactions. What dp_mean.spent has of the budget counts in each period '
    'beside it.';
COMMENT ON COLUMN dp_mean.period_spent.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.period_spent.epsilon IS
    'The sum of epsilons, in units of 2^-50; 2^63 - 1 once one had no bound.';
COMMENT ON COLUMN dp_mean.period_spent.rho IS
    'The sum of rhos, or of mu^2 / 2 where the accounting is gaussian, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.period_spent.delta IS 'The sum of deltas, in units of 2^-62.';
COMMENT ON COLUMN dp_mean.period_spent.charges IS 'How many charges it has.';
COMMENT ON COLUMN dp_mean.period_spent.role IS 'The role that spent it; 0 for all together.';
COMMENT ON COLUMN dp_mean.period_spent.first_day IS 'The first day of the period, in UTC.';

CREATE TABLE dp_mean.archived (
    budget bigint NOT NULL,
    role regrole NOT NULL,
    number bigint NOT NULL,
    epsilon bigint NOT NULL,
    rho bigint NOT NULL,
    delta bigint NOT NULL,
    charges bigint NOT NULL,
    rows bigint NOT NULL,
    before timestamptz NOT NULL,
    at timestamptz NOT NULL,
    by text NOT NULL,
    PRIMARY KEY (budget, role, number)
);
COMMENT ON TABLE dp_mean.archived IS
    'What rows of dp_mean.charge add up to that dp_ledger_archive has taken out: a row for each call, budget and role.';
COMMENT ON COLUMN dp_mean.archived.budget IS 'The budget, by its number.';
COMMENT ON COLUMN dp_mean.archived.role IS 'The role that was charged.';
COMMENT ON COLUMN dp_mean.archived.number IS 'Which one it is of this budget and role, from 1.';
COMMENT ON COLUMN dp_mean.archived.epsilon IS
    'The sum of epsilons, in units of 2^-50; 2^63 - 1 once one had no bound.';
COMMENT ON COLUMN dp_mean.archived.rho IS
    'The sum of rhos, or of mu^2 / 2 where the accounting is gaussian, in units of 2^-50.';
COMMENT ON COLUMN dp_mean.archived.delta IS 'The sum of deltas, in units of 2^-62.';
COMMENT ON COLUMN dp_mean.archived.charges IS 'How many charges they were.';
COMMENT ON COLUMN dp_mean.archived.rows IS
    'How many rows, those that were refused, and answers that were given again, among them.';
COMMENT ON COLUMN dp_mean.archived.before IS 'From before which time.';
COMMENT ON COLUMN dp_mean.archived.at IS 'When they were taken out.';
COMMENT ON COLUMN dp_mean.archived.by IS
    'The name of the role that did it. Not a regrole: a dump could not be restored where that role is missing.';

-- A dump has them, so that a restore does not give back what was spent. A role that is gone is a number in it, which
-- may be another role's where the dump is restored: nobody owns its budgets there, and it has no limits.
SELECT pg_catalog.pg_extension_config_dump(
    'dp_mean.budget',
    'WHERE owner::pg_catalog.oid IN (SELECT oid FROM pg_catalog.pg_roles) '
    'UNION ALL SELECT id, name, 0::pg_catalog.oid::pg_catalog.regrole, at FROM dp_mean.budget '
    'WHERE owner::pg_catalog.oid NOT IN (SELECT oid FROM pg_catalog.pg_roles)'
);
SELECT pg_catalog.pg_extension_config_dump(
    'dp_mean.budget_limit',
    'WHERE role::pg_catalog.oid = 0::pg_catalog.oid '
    'OR role::pg_catalog.oid IN (SELECT oid FROM pg_catalog.pg_roles)'
);
-- Not of a budget whose owner is gone: where a dump is restored, another role may have that number.
SELECT pg_catalog.pg_extension_config_dump(
    'dp_mean.history',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = (SELECT h.owner::pg_catalog.oid '
    'FROM dp_mean.history h WHERE h.budget = history.budget ORDER BY h.number DESC LIMIT 1))'
);
SELECT pg_catalog.pg_extension_config_dump('dp_mean.spent', '');
SELECT pg_catalog.pg_extension_config_dump('dp_mean.charge', '');
SELECT pg_catalog.pg_extension_config_dump('dp_mean.budget_period', '');
SELECT pg_catalog.pg_extension_config_dump('dp_mean.period_spent', '');
SELECT pg_catalog.pg_extension_config_dump('dp_mean.archived', '');

CREATE FUNCTION dp_mean.dp_ledger_refuse() RETURNS trigger
    AS 'MODULE_PATHNAME', 'dp_ledger_refuse' LANGUAGE C;
COMMENT ON FUNCTION dp_mean.dp_ledger_refuse() IS
    'refuses, with 42501: what was spent is not changed by UPDATE, DELETE or TRUNCATE';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.budget
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.budget IS 'A budget is closed, not deleted.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.budget_limit
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.budget_limit IS 'A limit is followed by another, not changed.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.history
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.history IS 'A row is followed by another, not changed.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.spent
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.spent IS 'An UPDATE could undo a charge that is made meanwhile.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.charge
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.charge IS 'What happened is not changed.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.budget_period
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.budget_period IS 'How a budget is cut into periods is fixed.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.period_spent
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.period_spent IS 'An UPDATE could undo a charge that is made meanwhile.';

CREATE TRIGGER shut BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.archived
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER shut ON dp_mean.archived IS 'As above.';

CREATE FUNCTION dp_mean.dp_ledger_tell() RETURNS trigger
    AS 'MODULE_PATHNAME', 'dp_ledger_tell' LANGUAGE C;
COMMENT ON FUNCTION dp_mean.dp_ledger_tell() IS
    'tells all sessions that lines of the ledger were loaded: they look at all of them again';

CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON dp_mean.spent
    FOR EACH ROW EXECUTE FUNCTION dp_mean.dp_ledger_tell();
ALTER TABLE dp_mean.spent ENABLE ALWAYS TRIGGER tell;
COMMENT ON TRIGGER tell ON dp_mean.spent IS 'Sessions know where lines are as long as none was loaded.';

CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON dp_mean.budget_period
    FOR EACH ROW EXECUTE FUNCTION dp_mean.dp_ledger_tell();
ALTER TABLE dp_mean.budget_period ENABLE ALWAYS TRIGGER tell;
COMMENT ON TRIGGER tell ON dp_mean.budget_period IS 'Sessions know how budgets are cut as long as no row was loaded.';

CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON dp_mean.period_spent
    FOR EACH ROW EXECUTE FUNCTION dp_mean.dp_ledger_tell();
ALTER TABLE dp_mean.period_spent ENABLE ALWAYS TRIGGER tell;
COMMENT ON TRIGGER tell ON dp_mean.period_spent IS 'As above.';
