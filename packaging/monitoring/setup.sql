-- What postgres_exporter.yml asks, for the role exporter: run it as a superuser in the database. dp_budgets shows a role its own
-- lines; these functions show the exporter the lines of all, and give it no right on any budget.
DO $$ BEGIN CREATE ROLE exporter LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT pg_monitor TO exporter;
GRANT EXECUTE ON FUNCTION dp_ledger_check() TO exporter;

CREATE FUNCTION dp_monitored(
    OUT budget text, OUT role regrole, OUT limit_epsilon float8, OUT spent_share float8, OUT left_epsilon float8,
    OUT questions_left bigint, OUT closed boolean
) RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT budget, role, limit_epsilon, spent_share, left_epsilon, questions_left, closed FROM dp_budgets
$$;
REVOKE EXECUTE ON FUNCTION dp_monitored() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION dp_monitored() TO exporter;

-- For itself, as it reads all rows of charges.
CREATE FUNCTION dp_monitored_ends(OUT budget text, OUT ends_on date)
RETURNS SETOF record LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT budget, ends_on FROM dp_budgets WHERE role IS NULL
$$;
REVOKE EXECUTE ON FUNCTION dp_monitored_ends() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION dp_monitored_ends() TO exporter;
