-- What the ledger shows, and to whom.
--
-- Views compare and call with the very types that PostgreSQL's operators and functions have: what others have put
-- into a schema of the search path would else fit better.

-- Views call it with the rights of the role that reads them. It looks at its arguments alone.
CREATE FUNCTION dp_mean.dp_budget_sums(
    limit_epsilon float8, limit_delta float8, epsilon_units bigint, rho_units bigint, delta_units bigint,
    epsilon bigint, rho bigint, delta bigint, price float8, accounting text, failures float8, pure boolean,
    OUT total_epsilon float8, OUT total_delta float8, OUT left_epsilon float8, OUT questions_left bigint,
    OUT spent_share float8)
    AS 'MODULE_PATHNAME', 'dp_budget_sums' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_budget_sums(
    float8, float8, bigint, bigint, bigint, bigint, bigint, bigint, float8, text, float8, boolean) IS
    'what a limit and sums in units mean: totals, and what is left';

-- As above.
CREATE FUNCTION dp_mean.dp_budget_lasts(
    epsilon_units bigint, rho_units bigint, delta_units bigint, epsilon bigint, rho bigint, delta bigint,
    recent_epsilon bigint, recent_rho bigint, recent_delta bigint) RETURNS float8
    AS 'MODULE_PATHNAME', 'dp_budget_lasts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_budget_lasts(
    bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint, bigint) IS
    'how many more times what was spent recently can be spent; NULL if nothing was';

-- Roles that own a budget depend on it: DROP ROLE names it.
CREATE VIEW dp_mean.budget_owner AS
SELECT b.id, b.name,
    coalesce(
        (SELECT h.owner FROM dp_mean.history h WHERE h.budget = b.id ORDER BY h.number DESC LIMIT 1), 0::oid::regrole
    ) AS owner
FROM dp_mean.budget b;
COMMENT ON VIEW dp_mean.budget_owner IS 'The owner of each budget; 0 if it was lost.';
COMMENT ON COLUMN dp_mean.budget_owner.id IS 'The number of the budget.';
COMMENT ON COLUMN dp_mean.budget_owner.name IS 'Its name.';
COMMENT ON COLUMN dp_mean.budget_owner.owner IS 'The role that owns it.';

CREATE VIEW dp_budgets WITH (security_barrier) AS
WITH promise AS (
    SELECT DISTINCT ON (p.budget, p.role) p.* FROM dp_mean.budget_limit p ORDER BY p.budget, p.role, p.number DESC
),
spent AS (
    SELECT s.budget, s.role::oid AS role, max(s.epsilon) AS epsilon, max(s.rho) AS rho, max(s.delta) AS delta,
        max(s.charges) AS charges, max(s.refused) AS refused, max(s.reused) AS reused, count(*) = 1::bigint AS known
    FROM dp_mean.spent s GROUP BY s.budget, s.role::oid
),
line AS (
    SELECT coalesce(p.budget, s.budget) AS budget, coalesce(p.role::oid, s.role)::regrole AS role,
        p.epsilon AS limit_epsilon, p.delta AS limit_delta, p.epsilon_units, p.rho_units, p.delta_units,
        p.accounting, p.failures,
        CASE WHEN k.known THEN coalesce(s.epsilon, 0) END AS epsilon,
        CASE WHEN k.known THEN coalesce(s.rho, 0) END AS rho,
        CASE WHEN k.known THEN coalesce(s.delta, 0) END AS delta,
        CASE WHEN k.known THEN coalesce(s.charges, 0) END AS charges,
        coalesce(s.refused, 0) AS refused,
        coalesce(s.reused, 0) AS reused
    FROM promise p FULL JOIN spent s ON (s.budget, s.role) = (p.budget, p.role::oid),
        LATERAL (SELECT coalesce(s.known, p.role::oid <> 0::oid) AS known) k
),
-- What was spent in the last 30 days, by 'budget role', in one value: read only where ends_on is asked for.
recent AS MATERIALIZED (
    SELECT pg_catalog.jsonb_object_agg(
        r.budget::text || ' '::text || r.role::text, pg_catalog.jsonb_build_array(r.epsilon, r.rho, r.delta)) AS sums
    FROM (
        SELECT c.budget, coalesce(c.role::oid, 0::oid) AS role,
            least(sum(c.epsilon), 9223372036854775807::numeric)::bigint AS epsilon,
            least(sum(c.rho), 9223372036854775807::numeric)::bigint AS rho,
            least(sum(c.delta), 9223372036854775807::numeric)::bigint AS delta
        FROM dp_mean.charge c
        WHERE c.at > pg_catalog.now() - '30 days'::interval AND NOT c.refused AND NOT c.reused
        GROUP BY GROUPING SETS ((c.budget), (c.budget, c.role::oid))
    ) r
)
SELECT b.name AS budget,
    CASE WHEN line.role::oid <> 0::oid THEN line.role END AS role,
    b.owner,
    line.limit_epsilon,
    line.limit_delta,
    CASE WHEN line.epsilon < 9223372036854775807
        THEN ceil(line.epsilon::float8 / 1125899906842624::float8 * 1e9::float8) / 1e9::float8 END AS spent_epsilon,
    line.rho::float8 / 1125899906842624::float8 AS spent_rho,
    line.delta::float8 / 4611686018427387904::float8 AS spent_delta,
    line.charges,
    ceil(coalesce(own.total_epsilon, of_role.total_epsilon) * 1e9::float8) / 1e9::float8 AS total_epsilon,
    coalesce(own.total_delta, of_role.total_delta) AS total_delta,
    CASE WHEN whole.closed THEN 0::float8
        WHEN division.budget IS NOT NULL THEN NULL
        WHEN line.charges IS NOT NULL AND together.charges IS NOT NULL
        THEN floor(least(own.left_epsilon, of_all.left_epsilon) * 1e9::float8) / 1e9::float8 END AS left_epsilon,
    CASE WHEN whole.closed THEN 0::bigint
        WHEN division.budget IS NOT NULL THEN NULL
        WHEN line.charges IS NOT NULL AND together.charges IS NOT NULL
        THEN least(own.questions_left, of_all.questions_left) END AS questions_left,
    whole.closed,
    CASE WHEN line.role::oid <> 0::oid THEN line.refused
        ELSE (SELECT coalesce(sum(s.refused), 0::numeric) FROM dp_mean.spent s WHERE s.budget = b.id)::bigint
        END AS refused,
    line.reused,
    whole.accounting,
    ceil(coalesce(own.spent_share, of_role.spent_share) * 1e9::float8) / 1e9::float8 AS spent_share,
    (
        SELECT CASE WHEN p.times * p.days < 36525::float8
            THEN (pg_catalog.now() + pg_catalog.make_interval(secs => p.times * p.days * 86400::float8))::date END
        FROM (
            SELECT least(
                dp_mean.dp_budget_lasts(
                    line.epsilon_units, line.rho_units, line.delta_units, line.epsilon, line.rho, line.delta,
                    (r.own ->> 0)::bigint, (r.own ->> 1)::bigint, (r.own ->> 2)::bigint),
                dp_mean.dp_budget_lasts(
                    whole.epsilon_units, whole.rho_units, whole.delta_units,
                    together.epsilon, together.rho, together.delta,
                    (r.whole ->> 0)::bigint, (r.whole ->> 1)::bigint, (r.whole ->> 2)::bigint)) AS times,
                -- A young budget's pace is that of its life, and of at least a day.
                greatest(least(
                    extract(epoch FROM pg_catalog.now() - made.at)::float8 / 86400::float8, 30::float8),
                    1::float8) AS days
            FROM (
                SELECT (SELECT recent.sums FROM recent) -> (b.id::text || ' '::text || line.role::oid::text) AS own,
                    (SELECT recent.sums FROM recent) -> (b.id::text || ' 0'::text) AS whole
            ) r
        ) p
        WHERE NOT whole.closed AND division.budget IS NULL
    ) AS ends_on
FROM dp_mean.budget_owner b
    JOIN dp_mean.budget made ON made.id = b.id
    JOIN line ON line.budget = b.id
    JOIN promise whole ON whole.budget = b.id AND whole.role::oid = 0::oid
    JOIN line together ON together.budget = b.id AND together.role::oid = 0::oid
    LEFT JOIN (SELECT DISTINCT p.budget FROM dp_mean.budget_period p) division ON division.budget = b.id,
    LATERAL (
        SELECT coalesce(max((s.label::pg_catalog.jsonb ->> 'epsilon'::text)::float8), 0.1::float8) AS eps,
            -- A role whose own limit has no delta gets pure noise.
            coalesce(line.rho_units = 0::bigint, false) AS pure
        FROM pg_catalog.pg_seclabel s
        WHERE s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objsubid = 0
            AND s.label::pg_catalog.jsonb ->> 'budget'::text = b.name
    ) price,
    LATERAL dp_mean.dp_budget_sums(
        line.limit_epsilon, line.limit_delta, line.epsilon_units, line.rho_units, line.delta_units,
        line.epsilon, line.rho, line.delta, price.eps, line.accounting, line.failures, price.pure) own,
    LATERAL dp_mean.dp_budget_sums(
        whole.epsilon, whole.delta, whole.epsilon_units, whole.rho_units, whole.delta_units,
        line.epsilon, line.rho, line.delta, price.eps, whole.accounting, whole.failures, price.pure) of_role,
    LATERAL dp_mean.dp_budget_sums(
        whole.epsilon, whole.delta, whole.epsilon_units, whole.rho_units, whole.delta_units,
        together.epsilon, together.rho, together.delta, price.eps, whole.accounting, whole.failures, price.pure) of_all
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE')
    OR (line.role::oid <> 0::oid AND pg_catalog.pg_has_role(line.role::oid, 'USAGE'));
COMMENT ON VIEW dp_budgets IS
    'What was spent of each budget, in all and by each role, and what is left. One''s own lines, and for the owner of '
    'a budget all of its lines. Of a budget that is cut into periods it is what counts in each of them; what was spent '
    'of one period, and what is left of it, is in dp_budget_periods.';
COMMENT ON COLUMN dp_budgets.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_budgets.role IS 'The role that the line is about; NULL for all together.';
COMMENT ON COLUMN dp_budgets.owner IS 'The role that owns the budget.';
COMMENT ON COLUMN dp_budgets.limit_epsilon IS 'Epsilon of the limit; NULL for a role without one of its own.';
COMMENT ON COLUMN dp_budgets.limit_delta IS 'Delta of the limit.';
COMMENT ON COLUMN dp_budgets.spent_epsilon IS
    'The sum of what was spent, in epsilon, rounded up to nine decimals; NULL once something was spent that no epsilon '
    'bounds, as by Gaussian noise.';
COMMENT ON COLUMN dp_budgets.spent_rho IS 'The same in rho; in mu^2 / 2 where the accounting is gaussian.';
COMMENT ON COLUMN dp_budgets.spent_delta IS 'The sum of the deltas beside them.';
COMMENT ON COLUMN dp_budgets.charges IS
    'How many charges it was; NULL, with all sums, where a restored ledger does not know it: see dp_restore_budget.';
COMMENT ON COLUMN dp_budgets.total_epsilon IS
    'Epsilon of all that was spent, together: the least limit that would have allowed it.';
COMMENT ON COLUMN dp_budgets.total_delta IS 'The delta that goes with total_epsilon.';
COMMENT ON COLUMN dp_budgets.left_epsilon IS
    'The largest epsilon that one charge may still have, with a delta of 0: by this line''s limit and the budget''s. '
    'NULL of a budget that is cut into periods: see dp_budget_periods.';
COMMENT ON COLUMN dp_budgets.questions_left IS
    'How many aggregates can still be paid, at the highest query_eps of the tables that the budget pays for; at 0.1 '
    'if it pays for none. Where the accounting is gaussian and there is a delta, with Gaussian noise. NULL as above.';
COMMENT ON COLUMN dp_budgets.closed IS 'Whether the budget is closed.';
COMMENT ON COLUMN dp_budgets.refused IS 'How many charges were refused for want of budget.';
COMMENT ON COLUMN dp_budgets.reused IS 'How many answers were given again to the same question, for nothing.';
COMMENT ON COLUMN dp_budgets.accounting IS 'What is added up beside epsilon: gaussian or zcdp.';
COMMENT ON COLUMN dp_budgets.spent_share IS
    'Which part of the limit is spent, from 0 to 1, rounded up to nine decimals: of epsilon, or of what is added up '
    'beside it, whichever is less. NULL where that is more than all.';
COMMENT ON COLUMN dp_budgets.ends_on IS
    'The day on which nothing is left at the pace of the last 30 days, or of the budget''s life if that is shorter: by '
    'this line''s limit and the budget''s. NULL if nothing was spent in this time, it is closed or cut into periods, '
    'or the day is more than 100 years away. It reads all of dp_mean.charge, where it is asked for.';
GRANT SELECT ON dp_budgets TO PUBLIC;

CREATE VIEW dp_budget_periods WITH (security_barrier) AS
WITH promise AS (
    SELECT DISTINCT ON (p.budget, p.role) p.* FROM dp_mean.budget_limit p ORDER BY p.budget, p.role, p.number DESC
),
beside AS (
    SELECT s.budget, s.role::oid AS role, max(s.epsilon) AS epsilon, max(s.rho) AS rho, max(s.delta) AS delta
    FROM dp_mean.spent s GROUP BY s.budget, s.role::oid
),
division AS (
    SELECT p.budget, max(p.since) AS since,
        pg_catalog.make_interval(months => max(p.months)::integer, days => max(p.days)::integer) AS every,
        CASE WHEN max(p.months) > 0::bigint THEN
            (12::float8 * (extract(year FROM pg_catalog.timezone('UTC'::text, pg_catalog.now()))
                    - extract(year FROM max(p.since)))::float8
                + (extract(month FROM pg_catalog.timezone('UTC'::text, pg_catalog.now()))
                    - extract(month FROM max(p.since)))::float8) / max(p.months)::float8
            ELSE (pg_catalog.timezone('UTC'::text, pg_catalog.now())::date - max(p.since))::float8
                / nullif(max(p.days), 0::bigint)::float8
        END AS length
    FROM dp_mean.budget_period p GROUP BY p.budget
),
line AS (
    SELECT s.budget, s.role::oid AS role, s.first_day, max(s.epsilon) AS epsilon, max(s.rho) AS rho,
        max(s.delta) AS delta, max(s.charges) AS charges
    FROM dp_mean.period_spent s GROUP BY s.budget, s.role::oid, s.first_day
)
SELECT b.name AS budget,
    CASE WHEN line.role <> 0::oid THEN line.role::regrole END AS role,
    line.first_day,
    (line.first_day::timestamp + d.every)::date - 1 AS last_day,
    own.epsilon AS limit_epsilon,
    own.delta AS limit_delta,
    CASE WHEN sums.epsilon < 9223372036854775807::numeric
        THEN ceil(sums.epsilon::float8 / 1125899906842624::float8 * 1e9::float8) / 1e9::float8 END AS spent_epsilon,
    sums.rho::float8 / 1125899906842624::float8 AS spent_rho,
    sums.delta::float8 / 4611686018427387904::float8 AS spent_delta,
    line.charges,
    ceil(of_line.total_epsilon * 1e9::float8) / 1e9::float8 AS total_epsilon,
    of_line.total_delta,
    CASE WHEN whole.closed THEN 0::float8
        ELSE floor(of_line.left_epsilon * 1e9::float8) / 1e9::float8 END AS left_epsilon,
    CASE WHEN whole.closed THEN 0::bigint ELSE of_line.questions_left END AS questions_left,
    ceil(of_line.spent_share * 1e9::float8) / 1e9::float8 AS spent_share,
    greatest(floor(d.length)::bigint + 1::bigint, 0::bigint) AS periods,
    own.epsilon * greatest(floor(d.length) + 1::float8, 0::float8) AS lifetime_epsilon
FROM dp_mean.budget_owner b
    JOIN division d ON d.budget = b.id
    JOIN line ON line.budget = b.id
    JOIN promise whole ON whole.budget = b.id AND whole.role::oid = 0::oid
    LEFT JOIN promise of_role ON of_role.budget = b.id AND of_role.role::oid = line.role
    LEFT JOIN beside ON beside.budget = b.id AND beside.role = line.role,
    LATERAL (
        SELECT coalesce(of_role.epsilon, whole.epsilon) AS epsilon, coalesce(of_role.delta, whole.delta) AS delta,
            coalesce(of_role.epsilon_units, whole.epsilon_units) AS epsilon_units,
            coalesce(of_role.rho_units, whole.rho_units) AS rho_units,
            coalesce(of_role.delta_units, whole.delta_units) AS delta_units
    ) own,
    -- Sums stop at the largest number, as those of charges do.
    LATERAL (
        SELECT least(line.epsilon::numeric + coalesce(beside.epsilon, 0::bigint)::numeric, m.most) AS epsilon,
            least(line.rho::numeric + coalesce(beside.rho, 0::bigint)::numeric, m.most) AS rho,
            least(line.delta::numeric + coalesce(beside.delta, 0::bigint)::numeric, m.most) AS delta
        FROM (SELECT 9223372036854775807::numeric AS most) m
    ) sums,
    LATERAL (
        SELECT coalesce(max((s.label::pg_catalog.jsonb ->> 'epsilon'::text)::float8), 0.1::float8) AS eps
        FROM pg_catalog.pg_seclabel s
        WHERE s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objsubid = 0
            AND s.label::pg_catalog.jsonb ->> 'budget'::text = b.name
    ) price,
    LATERAL dp_mean.dp_budget_sums(
        own.epsilon, own.delta, own.epsilon_units, own.rho_units, own.delta_units,
        sums.epsilon::bigint, sums.rho::bigint, sums.delta::bigint, price.eps, whole.accounting, whole.failures,
        own.rho_units = 0::bigint) of_line
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE')
    OR (line.role <> 0::oid AND pg_catalog.pg_has_role(line.role, 'USAGE'));
COMMENT ON VIEW dp_budget_periods IS
    'What was spent of each period of a budget that is cut into periods, in all and by each role, and what is left: '
    'the limit holds for a person''s rows of one period, the person-period (person-month, where every is 1 month). '
    'A period that nothing was spent of has no line, and the whole limit. One''s own lines, and for the owner of a '
    'budget all of its lines. '
    'Source: docs/proofs/periods.md.';
COMMENT ON COLUMN dp_budget_periods.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_budget_periods.role IS 'The role that the line is about; NULL for all together.';
COMMENT ON COLUMN dp_budget_periods.first_day IS 'The first day of the period, in UTC.';
COMMENT ON COLUMN dp_budget_periods.last_day IS 'Its last day.';
COMMENT ON COLUMN dp_budget_periods.limit_epsilon IS
    'Epsilon of the limit, for a person''s rows of this one period: the role''s own, or that of the budget.';
COMMENT ON COLUMN dp_budget_periods.limit_delta IS 'Delta of the limit.';
COMMENT ON COLUMN dp_budget_periods.spent_epsilon IS
    'The sum of what was spent of the period, and of the budget itself, in epsilon; NULL once something was spent that '
    'no epsilon bounds.';
COMMENT ON COLUMN dp_budget_periods.spent_rho IS 'The same in rho; in mu^2 / 2 where the accounting is gaussian.';
COMMENT ON COLUMN dp_budget_periods.spent_delta IS 'The sum of the deltas beside them.';
COMMENT ON COLUMN dp_budget_periods.charges IS 'How many charges the period has.';
COMMENT ON COLUMN dp_budget_periods.total_epsilon IS 'Epsilon of all that was spent of the period, together.';
COMMENT ON COLUMN dp_budget_periods.total_delta IS 'The delta that goes with total_epsilon.';
COMMENT ON COLUMN dp_budget_periods.left_epsilon IS
    'The largest epsilon that one charge of the period may still have by this line''s limit, with a delta of 0.';
COMMENT ON COLUMN dp_budget_periods.questions_left IS
    'How many aggregates about the period can still be paid by this line''s limit, as in dp_budgets.';
COMMENT ON COLUMN dp_budget_periods.spent_share IS 'Which part of the limit is spent, from 0 to 1, as in dp_budgets.';
COMMENT ON COLUMN dp_budget_periods.periods IS 'How many periods there are by now, from since to today.';
COMMENT ON COLUMN dp_budget_periods.lifetime_epsilon IS
    'What all rows of a person who is in each of these periods may lose at most: the sum of their limits.';
GRANT SELECT ON dp_budget_periods TO PUBLIC;

CREATE VIEW dp_ledger WITH (security_barrier) AS
SELECT c.at, b.name AS budget, c.role, c.session_role,
    CASE WHEN c.relation::oid <> 0::oid THEN c.relation END AS relation,
    c.refused, c.reused,
    CASE WHEN c.epsilon < 9223372036854775807
        THEN ceil(c.epsilon::float8 / 1125899906842624::float8 * 1e9::float8) / 1e9::float8 END AS epsilon,
    c.rho::float8 / 1125899906842624::float8 AS rho,
    c.delta::float8 / 4611686018427387904::float8 AS delta,
    c.mechanisms, c.query,
    CASE WHEN c.periods > 0::bigint THEN c.periods END AS periods,
    CASE WHEN c.periods > 0::bigint THEN c.first_day END AS first_day
FROM dp_mean.charge c JOIN dp_mean.budget_owner b ON b.id = c.budget
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE') OR pg_catalog.pg_has_role(c.role::oid, 'USAGE');
COMMENT ON VIEW dp_ledger IS
    'The charges: one''s own, and for the owner of a budget all of its charges. Of those that were refused, and of '
    'answers that were given again, one a minute for each budget and role; how many it were is in dp_budgets.';
COMMENT ON COLUMN dp_ledger.at IS 'When it was made.';
COMMENT ON COLUMN dp_ledger.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_ledger.role IS 'The role that was charged.';
COMMENT ON COLUMN dp_ledger.session_role IS 'The role that the session began with.';
COMMENT ON COLUMN dp_ledger.relation IS 'The table that was asked; NULL if the charge names none.';
COMMENT ON COLUMN dp_ledger.refused IS 'Whether it was refused for want of budget, and nothing spent.';
COMMENT ON COLUMN dp_ledger.reused IS 'Whether an answer was given again to the same question, and nothing spent.';
COMMENT ON COLUMN dp_ledger.epsilon IS 'Epsilon; NULL if no epsilon bounds it.';
COMMENT ON COLUMN dp_ledger.rho IS 'Rho; mu^2 / 2 where the accounting of the budget is gaussian.';
COMMENT ON COLUMN dp_ledger.delta IS 'Delta.';
COMMENT ON COLUMN dp_ledger.mechanisms IS 'The mechanisms that answered; empty if the charge names none.';
COMMENT ON COLUMN dp_ledger.query IS 'The text that the client sent, up to 1000 bytes.';
COMMENT ON COLUMN dp_ledger.periods IS
    'How many periods were charged, each with all of it; NULL of a budget that is not cut into periods.';
COMMENT ON COLUMN dp_ledger.first_day IS 'The first day of the first one.';
GRANT SELECT ON dp_ledger TO PUBLIC;

CREATE VIEW dp_budget_limits WITH (security_barrier) AS
SELECT b.name AS budget,
    CASE WHEN p.role::oid <> 0::oid THEN p.role END AS role,
    p.number, p.epsilon, p.delta, p.closed, p.at, p.by, p.accounting, p.failures
FROM dp_mean.budget_limit p JOIN dp_mean.budget_owner b ON b.id = p.budget
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE')
    OR (p.role::oid <> 0::oid AND pg_catalog.pg_has_role(p.role::oid, 'USAGE'));
COMMENT ON VIEW dp_budget_limits IS
    'The limits that were ever promised, each raise among them: one''s own, and for the owner of a budget all.';
COMMENT ON COLUMN dp_budget_limits.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_budget_limits.role IS 'The role that the limit is for; NULL for all together.';
COMMENT ON COLUMN dp_budget_limits.number IS 'Which one it is of this budget and role, from 1; the last one holds.';
COMMENT ON COLUMN dp_budget_limits.epsilon IS 'Epsilon of the limit.';
COMMENT ON COLUMN dp_budget_limits.delta IS 'Delta of the limit.';
COMMENT ON COLUMN dp_budget_limits.closed IS 'Whether the budget ends with it.';
COMMENT ON COLUMN dp_budget_limits.at IS 'When it was made.';
COMMENT ON COLUMN dp_budget_limits.by IS 'The role that made it, as it was called then.';
COMMENT ON COLUMN dp_budget_limits.accounting IS 'What is added up beside epsilon: gaussian or zcdp.';
COMMENT ON COLUMN dp_budget_limits.failures IS 'The share of delta that is for choices of groups.';
GRANT SELECT ON dp_budget_limits TO PUBLIC;

CREATE VIEW dp_budget_history WITH (security_barrier) AS
SELECT b.name AS budget, h.number, h.owner, h.system, h.timeline, h.database, h.backup,
    CASE WHEN h.epsilon < 9223372036854775807
        THEN ceil(h.epsilon::float8 / 1125899906842624::float8 * 1e9::float8) / 1e9::float8 END AS epsilon,
    h.delta::float8 / 4611686018427387904::float8 AS delta,
    h.at, h.by
FROM dp_mean.history h JOIN dp_mean.budget_owner b ON b.id = h.budget
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE');
COMMENT ON VIEW dp_budget_history IS
    'The owners of a budget, and the servers and databases that its ledger was kept at, for its owner: a line for each '
    'change, by dp_set_budget, dp_set_budget_owner and dp_continue_budget.';
COMMENT ON COLUMN dp_budget_history.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_budget_history.number IS 'Which one it is of this budget, from 1; the last one holds.';
COMMENT ON COLUMN dp_budget_history.owner IS 'The role that owns the budget.';
COMMENT ON COLUMN dp_budget_history.system IS
    'The system identifier of the server, as pg_control_system() has it.';
COMMENT ON COLUMN dp_budget_history.timeline IS 'The timeline of its WAL: the next one after a promotion.';
COMMENT ON COLUMN dp_budget_history.database IS 'The OID of the database.';
COMMENT ON COLUMN dp_budget_history.backup IS
    'Where the base backup that the server was started from begins in the WAL; 0 if it was not.';
COMMENT ON COLUMN dp_budget_history.epsilon IS
    'Epsilon of what was charged as missing by dp_continue_budget; NULL if it has no bound.';
COMMENT ON COLUMN dp_budget_history.delta IS 'Its delta.';
COMMENT ON COLUMN dp_budget_history.at IS 'When it was said.';
COMMENT ON COLUMN dp_budget_history.by IS 'The role that said it, as it was called then.';
GRANT SELECT ON dp_budget_history TO PUBLIC;
