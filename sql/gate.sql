-- The gate: tables about which roles without SELECT may ask, and get private answers.
--
-- src/gate reads and writes dp_mean.allowance as it lies: columns, their order and their types are its own.

CREATE TABLE dp_mean.allowance (
    relation regclass NOT NULL,
    role regrole NOT NULL,
    number bigint NOT NULL,
    allowed boolean NOT NULL,
    at timestamptz NOT NULL,
    by text NOT NULL,
    PRIMARY KEY (relation, role, number)
);
COMMENT ON TABLE dp_mean.allowance IS
    'A row for each time that a role was allowed to ask about a protected table, or no longer; the one with the '
    'largest number holds.';
COMMENT ON COLUMN dp_mean.allowance.relation IS 'The table.';
COMMENT ON COLUMN dp_mean.allowance.role IS 'The role.';
COMMENT ON COLUMN dp_mean.allowance.number IS 'Which one it is of this table and role, from 1.';
COMMENT ON COLUMN dp_mean.allowance.allowed IS 'Whether it may ask from then on.';
COMMENT ON COLUMN dp_mean.allowance.at IS 'When it was said.';
COMMENT ON COLUMN dp_mean.allowance.by IS
    'The name of the role that said it. Not a regrole: a dump could not be restored where that role is missing.';
-- Not of what is gone: where a dump is restored, other tables and roles may have its number.
SELECT pg_catalog.pg_extension_config_dump(
    'dp_mean.allowance',
    'WHERE relation::pg_catalog.oid IN (SELECT oid FROM pg_catalog.pg_class) '
    'AND role::pg_catalog.oid IN (SELECT oid FROM pg_catalog.pg_roles)'
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dp_mean.allowance
    FOR EACH STATEMENT EXECUTE FUNCTION dp_mean.dp_ledger_refuse();
COMMENT ON TRIGGER append_only ON dp_mean.allowance IS 'An allowance is followed by another, not changed.';

CREATE TYPE dp_mean.block;

CREATE FUNCTION dp_mean.dp_block_in(text cstring) RETURNS dp_mean.block
    AS 'MODULE_PATHNAME', 'dp_block_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION dp_mean.dp_block_out(block dp_mean.block) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_block_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE dp_mean.block (
    INPUT = dp_mean.dp_block_in, OUTPUT = dp_mean.dp_block_out,
    INTERNALLENGTH = VARIABLE, ALIGNMENT = int4, STORAGE = extended
);
COMMENT ON TYPE dp_mean.block IS
    'A question about a protected table, in the plan of a query: made by the gate, and taken back by the session that '
    'made it.';

-- Everybody has EXECUTE: PostgreSQL asks it of the role that runs the query. Nobody finds it by name, as the schema is
-- shut; and it answers no question that the gate has not made.
CREATE FUNCTION dp_mean.answer(block dp_mean.block, VARIADIC parameters "any") RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_answer' LANGUAGE C VOLATILE COST 10000 ROWS 100;
COMMENT ON FUNCTION dp_mean.answer(dp_mean.block, "any") IS
    'The private answer of a question about a protected table: written by the gate in the place of the SELECT that '
    'asks it.';

CREATE FUNCTION dp_protect(
    relation regclass, unit text DEFAULT NULL, budget text DEFAULT NULL, groups integer DEFAULT 1,
    rows integer DEFAULT 1, query_eps float8 DEFAULT 0.1, query_delta float8 DEFAULT NULL,
    auto_bounds boolean DEFAULT false, reuse interval DEFAULT '1 day', min_people integer DEFAULT NULL,
    via text DEFAULT NULL, period text DEFAULT NULL, every interval DEFAULT NULL, since date DEFAULT NULL,
    auto_rows boolean DEFAULT false
) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_protect' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_protect(
    regclass, text, text, integer, integer, float8, float8, boolean, interval, integer, text, text, interval, date,
    boolean
) IS
    'Protects a table: roles that dp_allow names, and that have no SELECT, may ask about it, and get private answers. '
    'unit is the column that names the person; budget the one that their questions are paid from, which tables about '
    'the same people share. groups and rows say in how many groups of a query a person counts at most, and for how '
    'many rows in each. query_eps is what an aggregate costs, and a number of people by which groups are chosen, '
    'unless the query says another; query_delta the delta of a choice of groups, by default a thousandth of the '
    'budget''s. With auto_bounds, avg, '
    'sum, variance and stddev of what has no public bounds find some, where a row is a person. The same question '
    'within reuse has the same answer, and costs nothing; 0 switches it off. With min_people, a group is shown only if '
    'the number of its people, as it is released, is at least that. Instead of unit and budget, via is a column with '
    'a foreign key to another protected table: that one says whose a row is. '
    'With period, a column of type date, timestamp or timestamptz, the privacy unit is a person''s rows of one period, '
    'the person-period (person-month, where every is 1 month): each period of some months or days since a day, '
    'in UTC, has the whole limit of the budget, and a query pays those that its rows can be in. Rows of no period, '
    'before since or of the future, are left out. What all of a person''s rows may lose is the sum over the periods: '
    'see dp_budget_periods. With auto_rows, count and sum of people with several rows find, in the same release, how '
    'much of a person counts, whatever rows is. Again with other arguments changes them. '
    'By the owner of both. Errors: 22023, 42501.';

CREATE FUNCTION dp_unprotect(relation regclass) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_unprotect' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_unprotect(regclass) IS
    'Ends the protection of a table: nobody may ask about it any more who has no SELECT. What was spent stays spent. '
    'By its owner. Errors: 22023, 42501.';

CREATE FUNCTION dp_declare(relation regclass, column_name text, lo float8, hi float8) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_column_bounds' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_declare(regclass, text, float8, float8) IS
    'Declares public bounds of a column of a protected table, for avg, sum and their like: values outside are '
    'clamped. In the place of a column, an expression over columns of the table, as ''a - b'', of functions of '
    'PostgreSQL that may be used on rows and always answer the same: it has these bounds in queries that have the same '
    'expression, and also those that follow from its columns, unless they contradict each other. Of a column of a '
    'public table they hold where that is joined with one. '
    'NULL for both takes them away. They must not be looked up in the table. lo < hi, from -1e100 to 1e100. By its '
    'owner. '
    'Errors: 22023, 42501.';

CREATE FUNCTION dp_declare(relation regclass, column_name text, lo text, hi text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_column_texts' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_declare(regclass, text, text, text) IS
    'Declares the first and the last day or time of a column of type date, timestamp or timestamptz of a protected '
    'table as public: min and max of the column are answered by them, whatever the rows are, and cost nothing. They '
    'leave out no row. Of a column of numbers it declares public bounds. NULL for both takes them away. They must not '
    'be looked up in the table. lo <= hi, in the years 1 to 9999. By its owner. '
    'Errors: 22023, 42501, and those of the type of the column.';

CREATE FUNCTION dp_declare(relation regclass, column_name text, lo timestamptz, hi timestamptz) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_column_moments' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_declare(regclass, text, timestamptz, timestamptz) IS
    'Declares the first and the last day or time of a column of a protected table as public, as by their texts. Of a '
    'column without a time zone they are those of the zone of the session. By its owner. Errors: 22023, 42501.';

CREATE FUNCTION dp_declare(relation regclass, column_name text, allowed_values text[]) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_column_values' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_declare(regclass, text, text[]) IS
    'Declares the values of a column of a protected table as public: GROUP BY shows each of them, with rows '
    'or without, '
    'and rows with others are in no group. Of a column of a public table they hold where that is joined with a '
    'protected one. NULL takes them away. They must not be looked up in the table. By '
    'its owner. '
    'Errors: 22023, 42501.';

CREATE FUNCTION dp_allow(relation regclass, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_allow' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_allow(regclass, regrole) IS
    'Allows a role, and its members, to ask about a protected table. By its owner, who hears by NOTICE if the role '
    'reads the rows all the same, or if its sessions do not load the library. Errors: 22023, 42501.';

CREATE FUNCTION dp_disallow(relation regclass, role regrole) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_disallow' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_disallow(regclass, regrole) IS
    'Ends what dp_allow allowed. By the owner of the table. Errors: 22023, 42501.';

CREATE FUNCTION dp_create_view(relation regclass, name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dp_create_view' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION dp_create_view(regclass, text) IS
    'Makes a view of a protected table that tools find in their lists of tables; it may have a schema before it. '
    'Everybody may name it, and reads it with their own rights: who is allowed to ask gets private answers, and is '
    'charged. By the owner of the table. Errors: 22023, 42501, and those of CREATE VIEW.';

CREATE FUNCTION dp_cost(
    query text, people float8 DEFAULT NULL, OUT relation regclass, OUT budget text, OUT epsilon float8, OUT rho float8,
    OUT delta float8,
    OUT fits boolean, OUT free boolean, OUT mechanisms text, OUT rewritten text, OUT price float8, OUT noise float8[],
    OUT shown_from float8, OUT unit text, OUT periods bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_cost' LANGUAGE C VOLATILE ROWS 1;
COMMENT ON FUNCTION dp_cost(text, float8) IS
    'What a query about protected tables would cost: for each SELECT about one, the table, the budget, epsilon (NULL '
    'if none bounds it), rho, delta, whether it could be answered now, whether its answer is kept and costs nothing '
    'now, the mechanisms, the SQL that answers it, in which $1, $2 stand for its own expressions, and the price: the '
    'share that it takes of the budget''s limit, or of the role''s own in it, times the epsilon of that, so that '
    'prices add up. noise has, for each mechanism that answers, and for each answer of those that are drawn together, '
    'half of the width of an interval that holds what the answer hides in 95% of releases, in its unit: of counts and '
    'sums; of the others for the number of people that the call says, with a row each, and NULL without it. Of means '
    'it is that of the worst place between the bounds; of variances, standard deviations, quantiles (of several the '
    'widest), covariances, correlations and regression lines that of rows spread evenly between the bounds, where two '
    'columns have nothing to do with each other. NULL where bounds are found in the rows, of an answer with several '
    'numbers in a row, and of others. Where people have several rows, quantiles, variances and what is asked of two '
    'columns are of their means, as rewritten shows by dp_contribution. shown_from is the number of people '
    'from which on a group is shown in half of all cases. unit is what the budget protects: person, or person-month '
    'and the like, a person''s rows of one period; periods says how many periods pay, each the whole price. It spends '
    'nothing, and reads no row. Errors: 42501 if it has no private answer. Otherwise as the query itself.';

CREATE FUNCTION dp_beyond(
    relation regclass, most integer DEFAULT 64, OUT rows bigint, OUT people_beyond bigint, OUT rows_beyond bigint
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_beyond' LANGUAGE C VOLATILE ROWS 12;
COMMENT ON FUNCTION dp_beyond(regclass, integer) IS
    'How many rows of a protected table each number of rows in its policy leaves out, for who chooses one: a line for '
    'rows => 1, 2, 4 and so on up to most, with the number of people who have more rows than that and the number of '
    'rows that are left out of theirs, both with noise. The first line, with rows 0, has all people and all rows. Of a '
    'person with more than most rows most are counted, so that rows_beyond of the last line is NULL. It is a question '
    'of the role that asks, as if written in SQL: one release at the query_eps of the policy, which is charged and '
    'kept as others are, and dp_cost has its price where the arguments are constants. A role that reads the table gets '
    'the numbers without noise, and is not charged. In a table with min_people, people who share a range of numbers '
    'with fewer are not counted. most is a power of 2 from 1 to 1024. Errors: 22023, 42501, and those of a query.';

CREATE VIEW dp_policies WITH (security_barrier) AS
SELECT c.oid::pg_catalog.regclass AS relation,
    (SELECT a.attname::text FROM pg_catalog.pg_seclabel s
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.objsubid
        WHERE s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objoid = c.oid AND s.objsubid > 0
            AND (s.label::pg_catalog.jsonb ->> 'unit'::text) = 'true'::text) AS unit,
    t.label ->> 'budget'::text AS budget,
    (t.label ->> 'groups'::text)::integer AS groups,
    (t.label ->> 'rows'::text)::integer AS rows,
    (t.label ->> 'epsilon'::text)::float8 AS query_eps,
    (t.label ->> 'delta'::text)::float8 AS query_delta,
    COALESCE((t.label ->> 'auto_bounds'::text)::boolean, false) AS auto_bounds,
    COALESCE((t.label ->> 'auto_rows'::text)::boolean, false) AS auto_rows,
    pg_catalog.justify_hours(pg_catalog.make_interval(
        secs => COALESCE((t.label ->> 'reuse'::text)::float8, 86400::float8))) AS reuse,
    (t.label ->> 'min_people'::text)::integer AS min_people,
    (SELECT a.attname::text FROM pg_catalog.pg_seclabel s
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.objsubid
        WHERE s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objoid = c.oid AND s.objsubid > 0
            AND (s.label::pg_catalog.jsonb ->> 'period'::text) = 'true'::text) AS period,
    pg_catalog.make_interval(
        months => (t.label #>> '{period,months}'::text[])::integer,
        days => (t.label #>> '{period,days}'::text[])::integer) AS every,
    (t.label #>> '{period,since}'::text[])::date AS since,
    (SELECT pg_catalog.jsonb_object_agg(a.attname, s.label::pg_catalog.jsonb) FROM pg_catalog.pg_seclabel s
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.objsubid
        WHERE s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objoid = c.oid AND s.objsubid > 0
    ) AS columns,
    (SELECT pg_catalog.array_agg(w.role ORDER BY w.role::oid) FROM (
        SELECT DISTINCT ON (l.role::oid) l.role, l.allowed FROM dp_mean.allowance l
        WHERE l.relation::oid = c.oid ORDER BY l.role::oid, l.number DESC
    ) w WHERE w.allowed) AS allowed
FROM pg_catalog.pg_class c
JOIN (SELECT s.objoid, s.label::pg_catalog.jsonb AS label FROM pg_catalog.pg_seclabel s
    WHERE s.provider = 'dp_mean'::text AND s.classoid = 1259::oid AND s.objsubid = 0) t ON t.objoid = c.oid
WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE'::text)
    OR EXISTS (SELECT FROM (
        SELECT DISTINCT ON (l.role::oid) l.role, l.allowed FROM dp_mean.allowance l
        WHERE l.relation::oid = c.oid ORDER BY l.role::oid, l.number DESC
    ) w WHERE w.allowed AND pg_catalog.pg_has_role(w.role::oid, 'USAGE'::text));
COMMENT ON VIEW dp_policies IS
    'What is public about protected tables: of those that one may ask about, and for the owner of a table its own.';
COMMENT ON COLUMN dp_policies.relation IS 'The table.';
COMMENT ON COLUMN dp_policies.unit IS 'The column that names the person.';
COMMENT ON COLUMN dp_policies.budget IS 'The budget that questions are paid from.';
COMMENT ON COLUMN dp_policies.groups IS 'The most groups of a query that a person counts in.';
COMMENT ON COLUMN dp_policies.rows IS 'The most rows that a person counts for in a group.';
COMMENT ON COLUMN dp_policies.query_eps IS 'What an aggregate costs, and a choice of groups.';
COMMENT ON COLUMN dp_policies.query_delta IS 'The delta of a choice of groups; NULL: a thousandth of the budget''s.';
COMMENT ON COLUMN dp_policies.auto_bounds IS
    'Whether avg, sum, variance and stddev of what has no public bounds find some.';
COMMENT ON COLUMN dp_policies.auto_rows IS
    'Whether count and sum of people with several rows find how much of a person counts.';
COMMENT ON COLUMN dp_policies.reuse IS
    'How long the same question has the same answer, and costs nothing; 0: each answer is a new one.';
COMMENT ON COLUMN dp_policies.min_people IS
    'The least number of people, as it is released, of a group that is shown; NULL: none.';
COMMENT ON COLUMN dp_policies.period IS
    'The column that says in which period a row is; NULL: the privacy unit is a person with all of their rows.';
COMMENT ON COLUMN dp_policies.every IS 'How long a period is.';
COMMENT ON COLUMN dp_policies.since IS 'The first day of the first one, in UTC.';
COMMENT ON COLUMN dp_policies.columns IS
    'For each column that has them: its public bounds, its public values, whether it names the person.';
COMMENT ON COLUMN dp_policies.allowed IS 'The roles that may ask.';
GRANT SELECT ON dp_policies TO PUBLIC;
