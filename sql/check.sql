-- dp_check.

-- Open to all, as dp_check calls it with the rights of its caller.
CREATE FUNCTION dp_mean.dp_lost_bounds(relation regclass) RETURNS text[]
    AS 'MODULE_PATHNAME', 'dp_lost_bounds' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION dp_mean.dp_lost_bounds(regclass) IS
    'the expressions with declared bounds that are none of a protected table any more, for dp_check';

CREATE FUNCTION dp_check(role regrole) RETURNS TABLE (
    relation regclass, allowed boolean, loads_library boolean, reads_rows_as text, reads_statistics boolean,
    budget text, spent_share float8, questions_left bigint, lost_bounds text[]
) LANGUAGE SQL BEGIN ATOMIC
SELECT p.relation,
    EXISTS (SELECT FROM unnest(p.allowed) AS may(role)
        WHERE pg_catalog.pg_has_role(r.oid, may.role::oid, 'USAGE'::text)) AS allowed,
    -- Settings of the role in this database, of the role, of the database, of all, and of the server.
    (SELECT CASE WHEN pg_catalog.concat_ws(','::text, of_server.shared, coalesce(of_role.list, of_server.session))
                ~ '(^|[, "/])dp_mean($|[, "])'::text THEN true
            WHEN of_server.shared IS NOT NULL THEN false END
        FROM (SELECT (SELECT pg_catalog.substr(own.setting, pg_catalog.strpos(own.setting, '='::text) + 1)
                FROM pg_catalog.pg_db_role_setting s, unnest(s.setconfig) AS own(setting)
                WHERE s.setdatabase IN (0::oid, d.oid) AND s.setrole IN (0::oid, r.oid)
                    AND pg_catalog.starts_with(own.setting, 'session_preload_libraries='::text)
                ORDER BY s.setrole = 0::oid, s.setdatabase = 0::oid LIMIT 1)) AS of_role(list),
            (SELECT pg_catalog.max(g.reset_val) FILTER (WHERE g.name = 'shared_preload_libraries'::text),
                pg_catalog.max(g.reset_val) FILTER (WHERE g.name = 'session_preload_libraries'::text
                    AND g.source <> ALL (ARRAY['database'::text, 'user'::text, 'database user'::text, 'client'::text]))
                FROM pg_catalog.pg_settings g) AS of_server(shared, session)) AS loads_library,
    CASE WHEN r.rolsuper THEN 'superuser'::text
        WHEN pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE'::text) THEN 'owner'::text
        WHEN pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT'::text) THEN 'SELECT'::text
        WHEN pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT'::text) THEN 'SELECT on columns'::text
        ELSE (SELECT 'SET ROLE '::text || pg_catalog.quote_ident(pg_catalog.min(other.rolname::text))
            FROM pg_catalog.pg_roles other
            WHERE pg_catalog.pg_has_role(r.oid, other.oid, 'MEMBER'::text)
                AND (other.rolsuper OR other.oid = c.relowner
                    OR pg_catalog.has_any_column_privilege(other.oid, c.oid, 'SELECT'::text)))
    END AS reads_rows_as,
    pg_catalog.has_table_privilege(r.oid, 'pg_catalog.pg_stat_database'::text, 'SELECT'::text)
        OR pg_catalog.pg_has_role(r.oid, 'pg_read_all_stats'::name, 'USAGE'::text) AS reads_statistics,
    p.budget,
    (SELECT pg_catalog.max(b.spent_share) FROM dp_budgets b
        WHERE b.budget = p.budget AND (b.role IS NULL OR b.role::oid = r.oid)) AS spent_share,
    (SELECT pg_catalog.min(b.questions_left) FROM dp_budgets b
        WHERE b.budget = p.budget AND (b.role IS NULL OR b.role::oid = r.oid)) AS questions_left,
    dp_mean.dp_lost_bounds(p.relation) AS lost_bounds
FROM dp_policies p
JOIN pg_catalog.pg_class c ON c.oid = p.relation::oid
CROSS JOIN pg_catalog.pg_roles r
JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
WHERE r.oid = dp_check.role::oid
ORDER BY p.relation::text;
END;
COMMENT ON FUNCTION dp_check(regrole) IS
    'What a role may do with each protected table that the caller sees in dp_policies: relation; allowed, whether it '
    'may ask; loads_library, whether its sessions load dp_mean, by session_preload_libraries or '
    'shared_preload_libraries (NULL where the caller may not see the settings of the server); reads_rows_as, how it '
    'reads the rows themselves, and then exactly and for free: superuser, owner, SELECT, SELECT on columns, SET ROLE '
    'other; NULL if it does not; reads_statistics, whether counters of the server are open to it (see the REVOKE '
    'list); budget, spent_share and questions_left of what pays for it; lost_bounds, the expressions whose bounds '
    'dp_declare has, and that are none any more, since a column was dropped or has another type (NULL: none; a new '
    'name changes nothing, and dp_protect again takes them away). It spends nothing and looks at no row. '
    'NULL has no rows; a name that is no role is 42704, and nothing is 22023.';
