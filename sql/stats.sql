-- dp_stats: what those watch who run a server.

CREATE FUNCTION dp_mean.dp_stats_lines(
        OUT database oid, OUT queries bigint, OUT charges bigint, OUT releases bigint, OUT refused_queries bigint,
        OUT refused_charges bigint, OUT refused_arguments bigint, OUT unavailable bigint, OUT internal_errors bigint,
        OUT since timestamptz) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_stats_lines_wrapper' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
REVOKE ALL ON FUNCTION dp_mean.dp_stats_lines() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION dp_mean.dp_stats_lines() TO pg_read_all_stats;
COMMENT ON FUNCTION dp_mean.dp_stats_lines() IS 'What was counted of each database, for dp_stats.';

CREATE VIEW dp_stats AS
SELECT d.datname AS database, s.queries, s.charges,
    s.charges / greatest(extract(epoch FROM clock_timestamp() - s.since)::float8, 1) AS charges_per_second,
    s.releases, s.refused_queries, s.refused_charges, s.refused_arguments, s.unavailable, s.internal_errors, s.since
FROM dp_mean.dp_stats_lines() s LEFT JOIN pg_catalog.pg_database d ON d.oid = s.database
WHERE d.oid IS NOT NULL OR s.database IS NULL;
REVOKE ALL ON dp_stats FROM PUBLIC;
GRANT SELECT ON dp_stats TO pg_read_all_stats;
COMMENT ON VIEW dp_stats IS
    'What dp_mean did in each database of the server since it started: for superusers and members of '
    'pg_read_all_stats. The number of releases is exact and tells how many groups there were: it is not for analysts. '
    'Databases without an event have no line. dp_mean has to be in shared_preload_libraries (55000).';
COMMENT ON COLUMN dp_stats.database IS
    'The database; NULL for all those together that have no line of their own, from the 1,024th on.';
COMMENT ON COLUMN dp_stats.queries IS 'Queries about protected tables that were charged, and began to run.';
COMMENT ON COLUMN dp_stats.charges IS 'Charges of budgets, by queries and by dp_charge.';
COMMENT ON COLUMN dp_stats.charges_per_second IS 'The same for each second since the server started.';
COMMENT ON COLUMN dp_stats.releases IS 'Answers of aggregates, each with noise of its own: one for each group.';
COMMENT ON COLUMN dp_stats.refused_queries IS
    'Refusals of what is not proven private, or not allowed (42501, 0A000).';
COMMENT ON COLUMN dp_stats.refused_charges IS 'Refusals for want of budget (53400).';
COMMENT ON COLUMN dp_stats.refused_arguments IS
    'Refusals of an argument, or of a name (22023, 42804, 42704).';
COMMENT ON COLUMN dp_stats.unavailable IS
    'What could not be had: a budget that is closed or may lack charges, a lock, a standby, memory, randomness '
    '(55000, 55P03, 25006, 53200, 58000).';
COMMENT ON COLUMN dp_stats.internal_errors IS 'Mistakes of ours, and ledgers that were damaged (XX000, XX001).';
COMMENT ON COLUMN dp_stats.since IS 'When the server began to count.';
