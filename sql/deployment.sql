-- dp_deployment: what there is to know of a budget, as a record for the public registry of deployments. Names and
-- choices are those of schemas/deployments-schema.yaml of https://github.com/opendp/deployments-registry-data.

-- What of it the public views do not have, for who owns the budget. Nobody finds the views by name, as the schema is
-- shut; dp_deployment reads them with the rights of the role that calls it.
CREATE VIEW dp_mean.deployed_budget WITH (security_barrier) AS
SELECT b.id, b.name, w.accounting, w.failures,
    w.rho_units::float8 / 1125899906842624::float8 AS rho,
    d.months, d.days, d.since,
    coalesce(d.charges <= (SELECT sum(s.charges) FROM (SELECT max(s.charges) AS charges
        FROM dp_mean.period_spent s WHERE s.budget = b.id AND s.role::oid = 0::oid GROUP BY s.first_day) s),
        coalesce(d.charges, 0::bigint) = 0::bigint) AS periods_known,
    (SELECT max(a.before) FROM dp_mean.archived a WHERE a.budget = b.id) AS archived_before
FROM dp_mean.budget_owner b
    LEFT JOIN LATERAL (SELECT p.* FROM dp_mean.budget_limit p WHERE p.budget = b.id AND p.role::oid = 0::oid
        ORDER BY p.number DESC LIMIT 1) w ON true
    LEFT JOIN LATERAL (SELECT max(p.charges) AS charges, max(p.months) AS months, max(p.days) AS days,
        max(p.since) AS since FROM dp_mean.budget_period p WHERE p.budget = b.id) d ON true
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE');
COMMENT ON VIEW dp_mean.deployed_budget IS 'The budgets that the caller of dp_deployment owns, with their last limit.';
COMMENT ON COLUMN dp_mean.deployed_budget.id IS 'The number of the budget.';
COMMENT ON COLUMN dp_mean.deployed_budget.name IS 'Its name.';
COMMENT ON COLUMN dp_mean.deployed_budget.accounting IS 'What is added up beside epsilon: gaussian or zcdp.';
COMMENT ON COLUMN dp_mean.deployed_budget.failures IS 'The share of delta that is for choices of groups.';
COMMENT ON COLUMN dp_mean.deployed_budget.rho IS
    'The most that the sum of rhos may be, or of mu^2 / 2 where the accounting is gaussian.';
COMMENT ON COLUMN dp_mean.deployed_budget.months IS 'How many months a period has; 0 if it has days; NULL: no periods.';
COMMENT ON COLUMN dp_mean.deployed_budget.days IS 'How many days a period has; 0 if it has months.';
COMMENT ON COLUMN dp_mean.deployed_budget.since IS 'The first day of the first period, in UTC.';
COMMENT ON COLUMN dp_mean.deployed_budget.periods_known IS 'Whether no line of a period was lost.';
COMMENT ON COLUMN dp_mean.deployed_budget.archived_before IS
    'From before which time rows of charges were taken out; NULL if none were.';
GRANT SELECT ON dp_mean.deployed_budget TO PUBLIC;

CREATE VIEW dp_mean.deployed_table WITH (security_barrier) AS
SELECT b.name AS budget, c.oid AS id,
    pg_catalog.format('`%I.%I`', n.nspname, c.relname) AS relation,
    s.label::pg_catalog.jsonb AS label,
    (SELECT pg_catalog.jsonb_object_agg(a.attname, o.label::pg_catalog.jsonb) FROM pg_catalog.pg_seclabel o
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = o.objsubid
        WHERE o.provider = 'dp_mean'::text AND o.classoid = 1259::oid AND o.objoid = c.oid AND o.objsubid > 0
    ) AS columns,
    (SELECT pg_catalog.array_agg(w.role::oid ORDER BY w.role::oid) FROM (
        SELECT DISTINCT ON (l.role::oid) l.role, l.allowed FROM dp_mean.allowance l
        WHERE l.relation::oid = c.oid ORDER BY l.role::oid, l.number DESC
    ) w WHERE w.allowed) AS allowed,
    c.relowner AS owner
FROM dp_mean.budget_owner b
    JOIN pg_catalog.pg_seclabel s ON s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objsubid = 0
        AND s.label::pg_catalog.jsonb ->> 'budget'::text = b.name
    JOIN pg_catalog.pg_class c ON c.oid = s.objoid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE pg_catalog.pg_has_role(b.owner::oid, 'USAGE');
COMMENT ON VIEW dp_mean.deployed_table IS
    'The protected tables whose questions are paid from a budget that the caller of dp_deployment owns.';
COMMENT ON COLUMN dp_mean.deployed_table.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_mean.deployed_table.id IS 'The OID of the table.';
COMMENT ON COLUMN dp_mean.deployed_table.relation IS 'Its name, with its schema.';
COMMENT ON COLUMN dp_mean.deployed_table.label IS 'Its policy.';
COMMENT ON COLUMN dp_mean.deployed_table.columns IS 'What is declared of its columns.';
COMMENT ON COLUMN dp_mean.deployed_table.allowed IS 'The roles that may ask.';
COMMENT ON COLUMN dp_mean.deployed_table.owner IS 'The role that owns it.';
GRANT SELECT ON dp_mean.deployed_table TO PUBLIC;

-- Open to all, as dp_deployment calls it with the rights of its caller.
CREATE FUNCTION dp_mean.dp_deployment_budget(budget text, about text, protects boolean) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dp_deployment_budget' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_mean.dp_deployment_budget(text, text, boolean) IS
    'the number of a budget that the current role owns, for dp_deployment, whose argument about it checks';

CREATE FUNCTION dp_deployment(budget text, about jsonb DEFAULT '{}'::jsonb) RETURNS jsonb LANGUAGE SQL BEGIN ATOMIC
WITH tab AS (
    SELECT t.*, (SELECT c.key FROM pg_catalog.jsonb_each(t.columns) c
            WHERE (c.value ->> 'unit'::text)::boolean OR (c.value ->> 'via'::text)::boolean LIMIT 1) AS person,
        (SELECT c.key FROM pg_catalog.jsonb_each(t.columns) c
            WHERE (c.value ->> 'via'::text)::boolean LIMIT 1) IS NOT NULL AS via,
        (SELECT c.key FROM pg_catalog.jsonb_each(t.columns) c
            WHERE (c.value ->> 'period'::text)::boolean LIMIT 1) AS period
    FROM dp_mean.deployed_table t WHERE t.budget = dp_deployment.budget
),
found AS (
    SELECT b.*, l.limit_epsilon, l.limit_delta, l.spent_epsilon, l.spent_delta, l.total_epsilon, l.total_delta,
        l.charges, l.spent_share, l.closed, l.refused,
        EXISTS (SELECT FROM tab) AS protects, d.months IS NOT NULL AS by_period,
        CASE WHEN d.months IS NULL THEN 'person'::text
            WHEN d.months = 1::bigint THEN 'person-month'::text
            WHEN d.months = 3::bigint THEN 'person-quarter'::text
            WHEN d.months = 12::bigint THEN 'person-year'::text
            WHEN d.months > 0::bigint THEN pg_catalog.format('person-period of %s months', d.months)
            WHEN d.days = 1::bigint THEN 'person-day'::text
            WHEN d.days = 7::bigint THEN 'person-week'::text
            ELSE pg_catalog.format('person-period of %s days', d.days) END AS unit,
        CASE WHEN d.months = 1::bigint THEN 'month'::text
            WHEN d.months > 0::bigint THEN pg_catalog.format('%s months', d.months)
            WHEN d.days = 1::bigint THEN 'day'::text
            ELSE pg_catalog.format('%s days', d.days) END AS length,
        p.periods, p.lifetime_epsilon, p.total_epsilon AS period_epsilon, p.total_delta AS period_delta,
        p.within AS periods_within
    FROM (SELECT dp_mean.dp_deployment_budget(dp_deployment.budget, dp_deployment.about::text,
            EXISTS (SELECT FROM tab)) AS id) checked
        LEFT JOIN dp_mean.deployed_budget b ON b.id = checked.id
        LEFT JOIN LATERAL (SELECT b.months, b.days) d ON true
        LEFT JOIN dp_budgets l ON l.budget = b.name AND l.role IS NULL
        LEFT JOIN LATERAL (
            SELECT pg_catalog.max(q.periods) AS periods, pg_catalog.max(q.lifetime_epsilon) AS lifetime_epsilon,
                pg_catalog.max(q.total_epsilon) AS total_epsilon, pg_catalog.max(q.total_delta) AS total_delta,
                pg_catalog.bool_and(coalesce(q.spent_share <= 1::float8, false)) AS within
            FROM dp_budget_periods q WHERE q.budget = b.name AND q.role IS NULL) p ON true
),
-- What is promised: the last limit, and what was spent where that is more. NULL: nothing is known to bound it.
promise AS (
    SELECT f.*,
        CASE WHEN f.charges IS NULL OR NOT f.periods_known THEN NULL
            WHEN f.spent_share <= 1::float8 AND coalesce(f.periods_within, true) THEN f.limit_epsilon
            WHEN f.total_epsilon IS NULL OR f.periods_within IS false AND f.period_epsilon IS NULL THEN NULL
            ELSE nullif(greatest(f.limit_epsilon, f.total_epsilon, f.period_epsilon), 'Infinity'::float8)
        END AS epsilon,
        greatest(f.limit_delta, f.total_delta, f.period_delta) AS delta,
        CASE f.accounting WHEN 'zcdp'::text THEN 'rho of zero-concentrated differential privacy'::text
            ELSE 'mu^2 / 2 of Gaussian differential privacy'::text END AS second_sum
    FROM found f
),
-- Roles by their names, as a list.
of_roles AS (
    SELECT (SELECT pg_catalog.string_agg(pg_catalog.format('`%s`', r.rolname), ', '::text ORDER BY r.rolname)
            FROM pg_catalog.pg_roles r WHERE EXISTS (SELECT FROM tab WHERE r.oid = ANY (tab.allowed))) AS asking,
        (SELECT pg_catalog.string_agg(pg_catalog.format('`%s` (%s, %s)', r.rolname, l.limit_epsilon, l.limit_delta),
                ', '::text ORDER BY r.rolname)
            FROM dp_budgets l JOIN pg_catalog.pg_roles r ON r.oid = l.role::oid
            WHERE l.budget = dp_deployment.budget AND l.limit_epsilon IS NOT NULL) AS limited,
        (SELECT pg_catalog.count(*) FROM pg_catalog.pg_roles r WHERE NOT r.rolsuper AND r.rolname::text !~ '^pg_'::text
            AND EXISTS (SELECT FROM tab WHERE NOT pg_catalog.pg_has_role(r.oid, tab.owner, 'USAGE'::text)
                AND pg_catalog.has_any_column_privilege(r.oid, tab.id, 'SELECT'::text))) AS reading
),
of_limits AS (
    SELECT pg_catalog.string_agg(pg_catalog.format('- (%s, %s) from %s on%s', p.epsilon, p.delta,
            pg_catalog.to_char(pg_catalog.timezone('UTC'::text, p.at), 'YYYY-MM-DD'::text),
            CASE WHEN p.closed THEN ': the budget was closed'::text
                WHEN p.epsilon > p.before_epsilon OR p.delta > p.before_delta
                    THEN ': raised, a promise of its own'::text
                WHEN p.epsilon < p.before_epsilon OR p.delta < p.before_delta THEN ': lowered'::text
                ELSE ''::text END), E'\n'::text ORDER BY p.number) AS list
    FROM (SELECT l.*, pg_catalog.lag(l.epsilon) OVER o AS before_epsilon, pg_catalog.lag(l.delta) OVER o AS before_delta
        FROM dp_budget_limits l WHERE l.budget = dp_deployment.budget AND l.role IS NULL
        WINDOW o AS (ORDER BY l.number)) p
),
-- What the ledger says of the answers.
of_ledger AS (
    SELECT (SELECT pg_catalog.string_agg(pg_catalog.format('`%s`: %s', m.aggregate, m.mechanisms), '; '::text
                ORDER BY m.aggregate)
            FROM (SELECT u.part[1] AS aggregate,
                    pg_catalog.string_agg(DISTINCT u.part[2], ', '::text ORDER BY u.part[2]) AS mechanisms
                FROM dp_ledger l, pg_catalog.regexp_matches(
                    l.mechanisms, '(?:^|, )(dp_[a-z_]+|groups): ([a-z_]+)'::text, 'g'::text) u(part)
                WHERE l.budget = dp_deployment.budget AND NOT l.refused
                GROUP BY u.part[1]) m) AS mechanisms,
        (SELECT pg_catalog.count(*) FROM dp_ledger l
            WHERE l.budget = dp_deployment.budget AND NOT l.refused AND NOT l.reused AND l.mechanisms = ''::text
        ) AS by_programs,
        (SELECT pg_catalog.string_agg(DISTINCT pg_catalog.format('`%s`', l.relation), ', '::text)
            FROM dp_ledger l WHERE l.budget = dp_deployment.budget AND NOT l.refused AND l.relation IS NOT NULL
                AND NOT EXISTS (SELECT FROM tab WHERE tab.id = l.relation::oid)) AS once_protected
),
of_tables AS (
    SELECT pg_catalog.string_agg(pg_catalog.concat('- '::text, tab.relation,
            (SELECT '; public bounds: '::text || pg_catalog.string_agg(pg_catalog.format('`%I` from %s to %s', c.key,
                    c.value #>> '{bounds,0}'::text[], c.value #>> '{bounds,1}'::text[]), ', '::text ORDER BY c.key)
                FROM pg_catalog.jsonb_each(tab.columns) c WHERE c.value -> 'bounds'::text IS NOT NULL),
            (SELECT '; public lists of values: '::text || pg_catalog.string_agg(pg_catalog.format('`%I` (%s)', c.key,
                    pg_catalog.jsonb_array_length(c.value -> 'values'::text)), ', '::text ORDER BY c.key)
                FROM pg_catalog.jsonb_each(tab.columns) c WHERE c.value -> 'values'::text IS NOT NULL)),
            E'\n'::text ORDER BY tab.relation) AS domain,
        pg_catalog.string_agg(pg_catalog.concat('- '::text, tab.relation, ': '::text,
            CASE WHEN tab.via THEN 'about the person of the row that '::text ELSE 'the person is '::text END,
            pg_catalog.format('`%I`', tab.person), CASE WHEN tab.via THEN ' refers to'::text END,
            CASE WHEN tab.period IS NOT NULL THEN pg_catalog.format(', the day is `%I`', tab.period) END,
            pg_catalog.format('; rows that count in a group: %s, groups of a query: %s',
                CASE WHEN (tab.label ->> 'auto_rows'::text)::boolean THEN 'found in the release'::text
                    ELSE tab.label ->> 'rows'::text END, tab.label ->> 'groups'::text)),
            E'\n'::text ORDER BY tab.relation) AS units,
        pg_catalog.string_agg(pg_catalog.concat('- '::text, tab.relation, ': an aggregate costs epsilon '::text,
            tab.label ->> 'epsilon'::text, ', unless the question says another'::text,
            CASE WHEN (tab.label ->> 'auto_bounds'::text)::boolean
                THEN '; bounds that nobody declared are found by a paid release'::text END,
            CASE WHEN tab.label ->> 'min_people'::text IS NOT NULL THEN pg_catalog.format(
                '; groups whose released number of people is below %s are not shown',
                tab.label ->> 'min_people'::text) END),
            E'\n'::text ORDER BY tab.relation) AS prices
    FROM tab
),
-- What PostgreSQL itself shows to everybody.
of_server AS (
    SELECT pg_catalog.has_table_privilege('public'::name, 'pg_catalog.pg_stat_all_tables'::text, 'SELECT'::text)
            OR pg_catalog.has_table_privilege('public'::name, 'pg_catalog.pg_stat_database'::text, 'SELECT'::text)
            OR pg_catalog.has_function_privilege('public'::name,
                'pg_catalog.pg_relation_size(regclass,text)'::text, 'EXECUTE'::text) AS counters,
        pg_catalog.has_column_privilege('public'::name, 'pg_catalog.pg_class'::text, 'reltuples'::text,
            'SELECT'::text) AS sizes
),
-- A line for each field of the record, as text, with what the caller adds to it behind.
said AS (
    SELECT o.key, o.place, o.tier, CASE
        WHEN o.adds THEN pg_catalog.to_jsonb(nullif(pg_catalog.concat_ws(E'\n\n'::text, o.text,
            dp_deployment.about ->> o.key), ''::text))
        ELSE coalesce(dp_deployment.about -> o.key, pg_catalog.to_jsonb(o.text)) END AS value
    FROM promise p, of_roles r, of_limits m, of_ledger g, of_tables t, of_server s, LATERAL (VALUES
    ('status'::text, 'top'::text, 1, false, 'Draft'::text),
    ('name', 'basic', 1, false, p.name),
    ('data_curators', 'basic', 1, false, NULL),
    ('intended_use', 'basic', 1, false, NULL),
    ('data_product_type', 'basic', 1, false, CASE WHEN p.protects THEN 'SQL queries' END),
    ('data_product_region', 'basic', 1, false, NULL),
    ('description', 'basic', 1, false, NULL),
    ('publication_date', 'basic', 1, false, NULL),
    ('data_product_sector', 'basic', 0, false, NULL),
    ('variant_name', 'dp_variant', 2, false, CASE WHEN p.delta = 0::float8 THEN 'Pure DP' ELSE 'Approximate DP' END),
    ('data_domain', 'dp_variant', 3, true, pg_catalog.concat_ws(E'\n'::text,
        CASE WHEN p.protects THEN 'Tables of a PostgreSQL database, with any number of rows, and any values that '
            'their columns take.'::text END, t.domain,
        'Protected once, and asked then: '::text || g.once_protected)),
    ('unprotected_quantities', 'dp_variant', 3, true, CASE WHEN p.protects THEN pg_catalog.concat_ws(E'\n'::text,
        '- That the tables exist, their columns, types and keys; declared bounds and lists of values; limits, prices '
        'and who may ask; tables that a question joins and that are not protected.'::text,
        '- Questions, their prices, and whether somebody asked the same before.'::text,
        '- Running time; whether a question ends at a limit of memory, of temporary files or of time.'::text,
        CASE WHEN s.counters THEN '- Counters and sizes of PostgreSQL, such as how many rows a table has: every role '
            'that connects to the database may read them.'::text END,
        CASE WHEN s.sizes THEN '- About how many rows a table has, in pg_class, as of its last ANALYZE.'::text END,
        '- What is true of people in general, and what is released elsewhere about the same people.'::text) END),
    ('privacy_unit', 'privacy_loss', 2, false, CASE WHEN p.protects OR p.by_period THEN p.unit END),
    ('privacy_unit_details', 'privacy_loss', 3, true, CASE WHEN p.protects THEN pg_catalog.concat_ws(E'\n'::text,
        CASE WHEN p.by_period THEN pg_catalog.format('Neighbours differ by adding or removing all rows that one person '
            'has in one period (%s), in all of these tables together. Periods are counted in UTC, from %s on; rows of '
            'no period are in no answer. All rows of a person lose at most the sum over the periods that they are '
            'in.', p.length, p.since)
        ELSE 'Neighbours differ by adding or removing all rows of one person, in all of these tables together. The '
            'number of people is not public.'::text END,
        'A row without a person (NULL) is in no answer.'::text, t.units) END),
    ('privacy_parameters_details', 'privacy_loss', 3, true, pg_catalog.concat_ws(E'\n'::text,
        pg_catalog.format('The limit is of all that is ever answered to all roles together%s. Limits, as (epsilon, '
            'delta), in UTC:', CASE WHEN p.by_period
                THEN pg_catalog.format(', about one %s', p.unit) ELSE ''::text END),
        m.list,
        CASE WHEN p.delta > 0::float8 THEN pg_catalog.format('The share %s of delta is for choices of groups and '
            'other failures; the rest is for the noise.', p.failures) END,
        CASE WHEN p.charges IS NULL OR NOT p.periods_known
                THEN 'What was spent is not known: rows of the ledger were lost.'::text
            WHEN p.epsilon IS NULL THEN 'More was spent than the last limit, and no epsilon bounds it.'::text
            WHEN p.epsilon > p.limit_epsilon OR p.delta > p.limit_delta
                THEN 'More was spent than the last limit: epsilon and delta are of what was spent.'::text END,
        CASE WHEN p.by_period THEN pg_catalog.format('A person who is in all of the %s periods by now may lose epsilon '
                '%s in all.', p.periods, p.lifetime_epsilon)
            ELSE pg_catalog.format('Spent by now: epsilon %s with delta %s. Charges: %s.', p.total_epsilon,
                p.total_delta, p.charges) END)),
    ('model_name', 'deployment_model', 2, false, 'Central'),
    ('model_name_details', 'deployment_model', 0, true, 'The rows are in a PostgreSQL server as they are. It draws the '
        'noise, and hands out answers alone.'),
    ('actors', 'deployment_model', 3, true, CASE WHEN p.protects THEN pg_catalog.concat_ws(E'\n'::text,
        '- Trusted: the owners of the tables and of the budget, superusers, and who runs the server or reads its disk, '
        'backups and logs. They have the rows, and set bounds, unit and limits.'::text,
        pg_catalog.format('- Other roles, but superusers, that may read rows of these tables as they are: %s.',
            r.reading),
        '- Not trusted: the roles that may ask, with any SQL, chosen by earlier answers, in any number of '
        'sessions, all of them together.'::text) END),
    ('release_type', 'deployment_model', 2, false, CASE WHEN p.protects THEN 'Many releases' END),
    ('release_type_details', 'deployment_model', 0, true, pg_catalog.concat_ws(' '::text,
        CASE WHEN p.protects THEN 'Each question is a release of its own; the same question within '
            'the time that the owner sets has the same answer again, for nothing.'::text END,
        CASE WHEN p.by_period THEN pg_catalog.format('Each period (%s) has the whole limit, and a question pays each '
                'period that its rows can be in: the budget is refreshed by new rows, and never for the same rows.',
                p.length)
            ELSE 'The budget never comes back: at its end questions are refused.'::text END,
        CASE WHEN p.closed THEN 'It is closed: nothing more is released.'::text END)),
    ('data_source_type', 'deployment_model', 2, false, CASE WHEN p.by_period THEN 'Dynamic' END),
    ('data_source_type_details', 'deployment_model', 0, true, 'Rows may come and go. Each answer is about the rows of '
        'its time, and all answers count in the same limit.'),
    ('access_type', 'deployment_model', 2, false, CASE WHEN p.protects THEN 'Interactive' END),
    ('access_type_details', 'deployment_model', 3, true, CASE WHEN p.protects THEN pg_catalog.concat_ws(' '::text,
        pg_catalog.format('Roles that may ask, with their members: %s.', coalesce(r.asking, 'none'::text)),
        'They spend from one budget, so they may combine their answers: that they do not collude is not '
        'assumed.'::text,
        'Limits of single roles in it, as (epsilon, delta): '::text || r.limited || '.'::text) END),
    ('post_processing', 'accounting', 3, true, CASE WHEN p.protects THEN 'Whole numbers are rounded after the '
        'noise. Counts below 0 stay as they are. Means and variances are kept between their bounds. Analysts compute '
        'what they like with answers.' END),
    ('composition', 'accounting', 3, true, pg_catalog.concat_ws(' '::text,
        'Adaptive sequential composition of all answers. Each has a price that is charged for good before it is '
        'drawn.'::text,
        CASE WHEN p.delta = 0::float8 THEN 'Epsilons are added up.'::text
            ELSE pg_catalog.format('Epsilons are added up, and beside them %s, up to %s: a release needs room in one '
                'of the sums, and for its own delta in the share for failures. Both lead to the same (epsilon, delta).',
                p.second_sum, p.rho) END,
        CASE WHEN p.protects THEN 'Groups of one question are composed in parallel, as far as a person is in one '
            'of them; a person who may be in several pays for each.'::text END,
        CASE WHEN p.by_period THEN 'Periods are composed in parallel: each pays for the questions about it.'::text
            END)),
    ('preprocessing_and_hyperparameter_tuning', 'implementation', 3, true, CASE WHEN p.protects
        THEN pg_catalog.concat_ws(E'\n'::text,
        'dp_mean uses no statistic of the rows but what is paid from the budget. Bounds, lists of values, prices and '
        'how much of a person counts are constants that the owner has declared. Nothing checks that they were not '
        'looked up in the table.'::text, t.prices) END),
    ('mechanisms', 'implementation', 3, true, pg_catalog.concat_ws(E'\n'::text,
        '- Used by now: '::text || coalesce(g.mechanisms, 'none'::text),
        CASE WHEN g.by_programs > 0::bigint THEN pg_catalog.format('- Charges of programs that name no mechanism: %s. '
            'What they release, and that it is about the same unit, is up to these programs', g.by_programs) END,
        '- The ledger names no mechanism of what was asked before '::text || pg_catalog.to_char(
            pg_catalog.timezone('UTC'::text, p.archived_before), 'YYYY-MM-DD'::text),
        pg_catalog.format('- Implementation: dp_mean %s, an extension of PostgreSQL, here %s', dp_version(),
            pg_catalog.current_setting('server_version'::text)),
        CASE WHEN p.protects THEN pg_catalog.concat_ws(E'\n'::text,
            pg_catalog.concat('- Timing: '::text,
                CASE coalesce(pg_catalog.current_setting('dp_mean.answer_after'::text, true), '0'::text)
                    WHEN '0'::text THEN 'running time is not hidden'::text
                    ELSE pg_catalog.format('new answers come at multiples of %s after rows began to be read, which '
                        'mitigates attacks by time and proves nothing', pg_catalog.current_setting(
                        'dp_mean.answer_after'::text, true)) END,
                '. The work for one value is bounded, and each try is charged'::text),
            '- Floating point: rows are integers on a public grid; sums and noise are integers until the noise is '
            'added, drawn exactly from bits of ChaCha20 that the operating system seeds'::text,
            '- Platform: no value of a row raises an error, or shapes a message or a plan that the role that asks '
            'can see'::text,
            '- Access: a role that asks has no right on the table; the right is lent to one checked plan'::text) END)),
    ('justification', 'implementation', 3, false, NULL),
    ('sources', 'administrative', 0, false, NULL),
    ('notes', 'administrative', 0, false, NULL),
    ('registry_authors', 'administrative', 1, false, NULL)
    ) o(key, place, tier, adds, text)
    UNION ALL
    SELECT 'privacy_parameters'::text, 'privacy_loss'::text, 2,
        pg_catalog.jsonb_build_object('epsilon'::text, p.epsilon) || CASE WHEN p.delta > 0::float8
            THEN pg_catalog.jsonb_build_object('delta'::text, p.delta) ELSE '{}'::jsonb END
    FROM promise p
),
-- Fields that everybody must fill in are there as NULL, so that a check of the record names them; others are left out.
of_place AS (
    SELECT f.place, pg_catalog.jsonb_object_agg(f.key, f.value) FILTER (WHERE f.value IS NOT NULL OR f.tier = 1)
        AS fields
    FROM said f GROUP BY f.place
),
-- The least tier with a field that is missing.
lacking AS (
    SELECT least(pg_catalog.min(f.tier) FILTER (WHERE f.value IS NULL AND f.tier > 0),
        CASE WHEN (SELECT p.epsilon FROM promise p) IS NULL THEN 2 END) AS tier
    FROM said f
),
-- As the registry makes it: of the name, the curators and the year.
slug AS (
    SELECT pg_catalog.replace(pg_catalog.string_agg(pg_catalog.regexp_replace(pg_catalog.lower(w.word), '\W+'::text,
            '_'::text, 'g'::text), '_'::text ORDER BY w.number), '_'::text, '-'::text) AS text,
        pg_catalog.count(w.word) AS words
    FROM (SELECT 1 AS number, f.value #>> '{}'::text[] AS word FROM said f WHERE f.key = 'name'::text
        UNION ALL SELECT 2, (SELECT pg_catalog.string_agg(c.name, '-'::text ORDER BY c.number)
            FROM pg_catalog.jsonb_array_elements_text(f.value) WITH ORDINALITY c(name, number))
            FROM said f WHERE f.key = 'data_curators'::text
        UNION ALL SELECT 3, pg_catalog.split_part(f.value #>> '{}'::text[], '-'::text, 1)
            FROM said f WHERE f.key = 'publication_date'::text) w
)
SELECT pg_catalog.jsonb_build_object('url_slug'::text, CASE WHEN slug.words = 3::bigint THEN slug.text END,
        'tier'::text, CASE WHEN lacking.tier IS NULL THEN 3 ELSE greatest(lacking.tier - 1, 1) END,
        'deployment'::text, (SELECT pg_catalog.jsonb_object_agg(o.place, o.fields) FROM of_place o
            WHERE o.place <> 'top'::text))
    || (SELECT o.fields FROM of_place o WHERE o.place = 'top'::text)
FROM slug, lacking;
END;
COMMENT ON FUNCTION dp_deployment(text, jsonb) IS
    'A record of what a budget protects, how, and how much, for the public registry of deployments: its fields and '
    'choices are those of schemas/deployments-schema.yaml of github.com/opendp/deployments-registry-data. Filled in '
    'from the catalogs: the unit and its neighbours, epsilon and delta, with each limit that was promised, what adds '
    'up, the mechanisms that answered, the tables, the roles that may ask, periods, the version, and what is not '
    'protected. What only people know are the keys of about: data_curators, intended_use, data_product_region, '
    'description, publication_date, registry_authors, which the registry asks of everybody, and are null in the '
    'record until then; data_source_type, justification and others. A text of about is added to what the catalogs say '
    'of the same field. tier is the highest one all of whose fields are there. It spends nothing and looks at no row. '
    'By the owner of the budget. '
    'A key that is unknown or that the catalogs say, or a value that does not fit: 22023; another''s budget is 42501, '
    'one that is not there 42704, one whose charges may be missing 55000.';
