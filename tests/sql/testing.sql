-- The functions that only the testing build of the library has.

-- From now on this session's noise is the same at every run.
CREATE FUNCTION dp_test_seed(bigint) RETURNS void
AS '$libdir/dp_mean', 'dp_test_seed' LANGUAGE C STRICT;

-- Noise made for this many times the budget: 2 is noise halved.
CREATE FUNCTION dp_test_budget_factor(float8) RETURNS void
AS '$libdir/dp_mean', 'dp_test_budget_factor' LANGUAGE C STRICT;

-- From now on every release has the noise of this seed and is recorded.
CREATE FUNCTION dp_test_record(bigint) RETURNS void
AS '$libdir/dp_mean', 'dp_test_record' LANGUAGE C STRICT;

-- The same, and each goes on with the noisy integers of the release recorded in its place before.
CREATE FUNCTION dp_test_replay(bigint) RETURNS void
AS '$libdir/dp_mean', 'dp_test_replay' LANGUAGE C STRICT;

-- A line for each release: the words that it drew, and "exact:noisy" of its noisy integers.
CREATE FUNCTION dp_test_recorded() RETURNS text
AS '$libdir/dp_mean', 'dp_test_recorded' LANGUAGE C;

-- From now on this process gets so many bytes of memory more, and no others.
CREATE FUNCTION dp_test_memory_left(bigint) RETURNS void
AS '$libdir/dp_mean', 'dp_test_memory_left' LANGUAGE C STRICT;

-- How often hooks of other extensions were asked for rights since this was asked last.
CREATE FUNCTION dp_test_permission_checks() RETURNS bigint
AS '$libdir/dp_mean', 'dp_test_permission_checks' LANGUAGE C;

-- As if the server's environment asked for backtraces.
CREATE FUNCTION dp_test_backtraces() RETURNS void
AS '$libdir/dp_mean', 'dp_test_backtraces' LANGUAGE C;

-- A line for each declaration of an aggregate that the library knows.
CREATE FUNCTION dp_test_signatures() RETURNS text
AS '$libdir/dp_mean', 'dp_test_signatures' LANGUAGE C;

-- A panic inside the library.
CREATE FUNCTION dp_test_panic() RETURNS void
AS '$libdir/dp_mean', 'dp_test_panic' LANGUAGE C;

-- The integers before the noise, "n s", through the very transition and combine functions of
-- dp_mean and dp_sum.
CREATE FUNCTION dp_test_state(dp_mean.dp_state) RETURNS text
AS '$libdir/dp_mean', 'dp_test_state' LANGUAGE C STRICT;

CREATE AGGREGATE dp_test_mean_state(float8, float8, float8, float8, dp_mechanism) (
    SFUNC = dp_mean.dp_mean_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);

CREATE AGGREGATE dp_test_sum_state(float8, float8, float8, float8, dp_mechanism) (
    SFUNC = dp_mean.dp_sum_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);

-- The same, "n s q" with the sum of squares, through those of dp_var_pop.
CREATE AGGREGATE dp_test_variance_state(float8, float8, float8, float8, dp_mechanism) (
    SFUNC = dp_mean.dp_variance_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);

-- The same of vectors, "n s1 s2 ...", through those of dp_counts and dp_sums.
CREATE AGGREGATE dp_test_counts_state(float8, dp_mechanism, VARIADIC "any") (
    SFUNC = dp_mean.dp_counts_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);

CREATE AGGREGATE dp_test_sums_state(float8[], float8, float8, float8, dp_mechanism) (
    SFUNC = dp_mean.dp_sums_trans, STYPE = dp_mean.dp_state, FINALFUNC = dp_test_state,
    COMBINEFUNC = dp_mean.dp_state_combine, PARALLEL = SAFE
);

-- From now on this session's charges return before they are on disk.
CREATE FUNCTION dp_test_flush_nothing() RETURNS void
AS '$libdir/dp_mean', 'dp_test_flush_nothing' LANGUAGE C;

CREATE FUNCTION dp_test_functions() RETURNS text
AS '$libdir/dp_mean', 'dp_test_functions' LANGUAGE C;

CREATE FUNCTION dp_test_judge("any") RETURNS text
AS '$libdir/dp_mean', 'dp_test_judge' LANGUAGE C;

CREATE FUNCTION dp_test_range("any", float8, float8, float8, float8) RETURNS text
AS '$libdir/dp_mean', 'dp_test_range' LANGUAGE C;

CREATE FUNCTION dp_test_output(oid) RETURNS boolean
AS '$libdir/dp_mean', 'dp_test_output' LANGUAGE C;

-- Takes a defence of the gate or of the ledger away in this session, or puts it back.
CREATE FUNCTION dp_test_defence(text, boolean) RETURNS void
AS '$libdir/dp_mean', 'dp_test_defence' LANGUAGE C STRICT;

-- Keeps an answer for so many seconds; the answer that is kept; asks as the gate does, with a statement in the place of
-- its query: whether it was run.
CREATE FUNCTION dp_test_keep(text, bytea, float8) RETURNS void
AS '$libdir/dp_mean', 'dp_test_keep' LANGUAGE C STRICT PARALLEL RESTRICTED;

CREATE FUNCTION dp_test_find(text) RETURNS bytea
AS '$libdir/dp_mean', 'dp_test_find' LANGUAGE C STRICT PARALLEL RESTRICTED;

CREATE FUNCTION dp_test_ask(text, text) RETURNS boolean
AS '$libdir/dp_mean', 'dp_test_ask' LANGUAGE C STRICT PARALLEL RESTRICTED;

-- Counts an answer that was given again to the current role.
CREATE FUNCTION dp_test_reused(text) RETURNS void
AS '$libdir/dp_mean', 'dp_test_reused' LANGUAGE C STRICT PARALLEL RESTRICTED;

-- Writes bytes over those of a page, from a place in it, as a bad disk does.
CREATE FUNCTION dp_test_write_page(regclass, bigint, integer, bytea) RETURNS void
AS '$libdir/dp_mean', 'dp_test_write_page' LANGUAGE C STRICT;

-- From now on this session's keys are those of another file.
CREATE FUNCTION dp_test_key_file(text) RETURNS void
AS '$libdir/dp_mean', 'dp_test_key_file' LANGUAGE C STRICT;
