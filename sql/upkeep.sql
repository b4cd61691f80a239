-- What keeps a ledger in order over the years: old rows of charges go elsewhere, its sums are compared with its rows,
-- and what roles ask is counted.

CREATE FUNCTION dp_ledger_archive(
    before timestamptz, name text DEFAULT NULL,
    OUT at timestamptz, OUT budget text, OUT role regrole, OUT session_role regrole, OUT relation regclass,
    OUT refused boolean, OUT reused boolean, OUT epsilon float8, OUT rho float8, OUT delta float8,
    OUT mechanisms text, OUT query text, OUT periods bigint, OUT first_day date
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_ledger_archive' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_ledger_archive(timestamptz, text) IS
    'Takes the rows of charges from before a time out of dp_ledger, and returns them, as dp_ledger has them: for '
    'CREATE TABLE ... AS, INSERT or COPY. What was spent stays spent, and what is left stays the same. '
    'Of one budget, or of all that the current role owns; superusers own all. It is a part of the transaction: where '
    'the rows are not kept, they are not taken. Charges go on meanwhile. '
    'before must not be NULL: else 22023; another''s budget, or owning none, is 42501, one that is not there 42704; a '
    'locked ledger is 55P03 after 5 seconds.';
REVOKE EXECUTE ON FUNCTION dp_ledger_archive(timestamptz, text) FROM PUBLIC;

CREATE FUNCTION dp_ledger_check(OUT finding text, OUT budget text, OUT role regrole, OUT detail text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_ledger_check' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_ledger_check() IS
    'Looks at the whole ledger, and returns a row for each thing that is wrong; none if nothing is. finding is one of: '
    'page, a page that is damaged, in which case nothing else is looked at; table, a table that is not as CREATE '
    'EXTENSION made it; index, an index that misses rows; orphan, rows of a budget that is not there; limit, a budget '
    'without one; line, a line that is missing or that no charge has written; twins, several lines of one role; sum, '
    'lines of roles that do not come to that of all together; periods, lines of periods that are not all there once, '
    'that begin no period of the budget, or whose roles have spent more than all together; number, a number that no '
    'call writes, as one below 0, NaN, a limit above 4096, or more spent of a period than any limit allowed; history, '
    'charges that do not come to a line, those that dp_ledger_archive took out among them. It changes nothing, and '
    'charges go on meanwhile. '
    'Superusers may call it, and who is granted EXECUTE. A locked ledger is 55P03 after 5 seconds.';
REVOKE EXECUTE ON FUNCTION dp_ledger_check() FROM PUBLIC;

CREATE VIEW dp_stats_by_role WITH (security_barrier) AS
SELECT b.name AS budget, s.role, max(s.charges) AS answered, max(s.reused) AS reused, max(s.refused) AS refused,
    nullif(max(s.noted), '-infinity'::timestamptz) AS refused_at,
    nullif(max(s.reuse_noted), '-infinity'::timestamptz) AS reused_at
FROM dp_mean.spent s JOIN dp_mean.budget_owner b ON b.id = s.budget
WHERE s.role::oid <> 0::oid
    AND (pg_catalog.pg_has_role(b.owner::oid, 'USAGE') OR pg_catalog.pg_has_role(s.role::oid, 'USAGE')
        OR pg_catalog.pg_has_role('pg_read_all_stats'::name, 'USAGE'))
GROUP BY b.name, s.role;
COMMENT ON VIEW dp_stats_by_role IS
    'How many questions each role has had answered, answered again, and refused for want of budget: one''s own line, '
    'and for the owner of a budget, and members of pg_read_all_stats, all lines. The counts are in the ledger: they '
    'outlive a restart, and a role that is refused a million times has one line, and a row a minute in dp_ledger.';
COMMENT ON COLUMN dp_stats_by_role.budget IS 'The name of the budget.';
COMMENT ON COLUMN dp_stats_by_role.role IS 'The role that asked.';
COMMENT ON COLUMN dp_stats_by_role.answered IS 'How many charges were made: by questions, and by dp_charge.';
COMMENT ON COLUMN dp_stats_by_role.reused IS
    'How many answers were given again to the same question, for nothing. A crash may forget some of the last ones.';
COMMENT ON COLUMN dp_stats_by_role.refused IS 'How many charges were refused for want of budget.';
COMMENT ON COLUMN dp_stats_by_role.refused_at IS
    'When one was refused last, to the minute; NULL if none was.';
COMMENT ON COLUMN dp_stats_by_role.reused_at IS
    'When an answer was given again last, to the minute; NULL if none was.';
GRANT SELECT ON dp_stats_by_role TO PUBLIC;
