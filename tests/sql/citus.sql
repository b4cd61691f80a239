-- The aggregates of Citus that run one of ours from within, as its own script declares them, on the stand-ins of the
-- testing build.

CREATE FUNCTION pg_catalog.worker_partial_agg_sfunc(internal, oid, anyelement) RETURNS internal
AS '$libdir/dp_mean', 'dp_test_worker_row' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION pg_catalog.worker_partial_agg_ffunc(internal) RETURNS cstring
AS '$libdir/dp_mean', 'dp_test_worker_final' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION pg_catalog.coord_combine_agg_sfunc(internal, oid, cstring, anyelement) RETURNS internal
AS '$libdir/dp_mean', 'dp_test_coordinator_row' LANGUAGE C PARALLEL SAFE;
CREATE FUNCTION pg_catalog.coord_combine_agg_ffunc(internal, oid, cstring, anyelement) RETURNS anyelement
AS '$libdir/dp_mean', 'dp_test_coordinator_final' LANGUAGE C PARALLEL SAFE;

CREATE AGGREGATE pg_catalog.worker_partial_agg(oid, anyelement) (
    STYPE = internal, SFUNC = pg_catalog.worker_partial_agg_sfunc, FINALFUNC = pg_catalog.worker_partial_agg_ffunc
);
CREATE AGGREGATE pg_catalog.coord_combine_agg(oid, cstring, anyelement) (
    STYPE = internal, SFUNC = pg_catalog.coord_combine_agg_sfunc, FINALFUNC = pg_catalog.coord_combine_agg_ffunc,
    FINALFUNC_EXTRA
);
