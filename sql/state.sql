-- dp_state: what an aggregate keeps for a group.

CREATE TYPE dp_mean.dp_state;
COMMENT ON TYPE dp_mean.dp_state IS
    'The state of an aggregate of dp_mean: exact integers, 64 bytes; of a variance 80; of two columns 160; of vectors, '
    '8 or 16 more for each position; of means that find their bounds, up to 20 KB; of distinct ids, up to a bitmap, '
    'without the ids. '
    'It has no text (0A000) and no binary form: only the aggregates read it. For Citus it has a text, sealed with the '
    'keys that the servers share.';

CREATE FUNCTION dp_mean.dp_state_in(input cstring) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_state_in(cstring) IS
    'of the empty text, the state of no rows; for the coordinator of Citus, what a worker has sealed; '
    'refuses all else: 0A000';

CREATE FUNCTION dp_mean.dp_state_out(state dp_mean.dp_state) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_state_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_state_out(dp_mean.dp_state) IS
    'for a worker of Citus, the state sealed with the key of the servers; refuses all else: 0A000';

-- Without a binary form, which Citus 14 would carry in the place of the text.
CREATE TYPE dp_mean.dp_state (
    INPUT = dp_mean.dp_state_in,
    OUTPUT = dp_mean.dp_state_out,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = plain
);

CREATE FUNCTION dp_mean.dp_state_combine(a dp_mean.dp_state, b dp_mean.dp_state) RETURNS dp_mean.dp_state
    AS 'MODULE_PATHNAME', 'dp_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;

REVOKE USAGE ON TYPE dp_mean.dp_state FROM PUBLIC;
