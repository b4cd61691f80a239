-- dp_mechanism: the name of a mechanism and its parameters.

CREATE TYPE dp_mechanism;
COMMENT ON TYPE dp_mechanism IS
    'A mechanism and its parameters: name, or name(key=value, ...). '
    'A literal is checked where the query is parsed; an unknown name or key raises 22023 with the known ones in the '
    'HINT. '
    'dp_mechanisms() lists them.';

-- Restricted: a cast that is computed for each row would raise its error in a parallel worker, which would reveal
-- a row.
CREATE FUNCTION dp_mean.dp_mechanism_in(input cstring) RETURNS dp_mechanism
    AS 'MODULE_PATHNAME', 'dp_mechanism_in' LANGUAGE C IMMUTABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION dp_mean.dp_mechanism_in(cstring) IS
    'input of dp_mechanism; 22023 for a text that names no mechanism';

CREATE FUNCTION dp_mean.dp_mechanism_out(mech dp_mechanism) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_mechanism_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_out(dp_mechanism) IS 'output of dp_mechanism: its canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_recv(input internal) RETURNS dp_mechanism
    AS 'MODULE_PATHNAME', 'dp_mechanism_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_recv(internal) IS 'binary input of dp_mechanism: its text';

CREATE FUNCTION dp_mean.dp_mechanism_send(mech dp_mechanism) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_mechanism_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_send(dp_mechanism) IS 'binary output of dp_mechanism: its canonical text';

CREATE TYPE dp_mechanism (
    INPUT = dp_mean.dp_mechanism_in,
    OUTPUT = dp_mean.dp_mechanism_out,
    RECEIVE = dp_mean.dp_mechanism_recv,
    SEND = dp_mean.dp_mechanism_send,
    INTERNALLENGTH = VARIABLE,
    STORAGE = extended
);

-- Drivers send text or varchar parameters; each needs a cast of its own.
CREATE CAST (text AS dp_mechanism) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (text AS dp_mechanism) IS 'for drivers that send the mechanism as a text parameter';

CREATE CAST (varchar AS dp_mechanism) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (varchar AS dp_mechanism) IS 'for drivers that send the mechanism as a varchar parameter';

-- An order (that of the canonical text, byte by byte): without one, PostgreSQL refuses dp_mean(DISTINCT ...).
CREATE FUNCTION dp_mean.dp_mechanism_lt(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_lt(dp_mechanism, dp_mechanism) IS
    'implements operator <: less than, by the canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_le(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_le(dp_mechanism, dp_mechanism) IS
    'implements operator <=: less than or equal, by the canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_eq(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_eq(dp_mechanism, dp_mechanism) IS
    'implements operator =: equal, by the canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_ne(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_ne(dp_mechanism, dp_mechanism) IS
    'implements operator <>: not equal, by the canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_ge(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_ge(dp_mechanism, dp_mechanism) IS
    'implements operator >=: greater than or equal, by the canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_gt(a dp_mechanism, b dp_mechanism) RETURNS boolean
    AS 'MODULE_PATHNAME', 'dp_mechanism_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_gt(dp_mechanism, dp_mechanism) IS
    'implements operator >: greater than, by the canonical text';

CREATE FUNCTION dp_mean.dp_mechanism_cmp(a dp_mechanism, b dp_mechanism) RETURNS integer
    AS 'MODULE_PATHNAME', 'dp_mechanism_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_mechanism_cmp(dp_mechanism, dp_mechanism) IS
    '-1, 0 or 1: the order of the canonical texts, byte by byte';

CREATE OPERATOR < (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mean.dp_mechanism_lt,
    COMMUTATOR = >, NEGATOR = >=, RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (dp_mechanism, dp_mechanism) IS 'less than, by the canonical text';

CREATE OPERATOR <= (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mean.dp_mechanism_le,
    COMMUTATOR = >=, NEGATOR = >, RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (dp_mechanism, dp_mechanism) IS 'less than or equal, by the canonical text';

CREATE OPERATOR = (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mean.dp_mechanism_eq,
    COMMUTATOR = =, NEGATOR = <>, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (dp_mechanism, dp_mechanism) IS 'equal, by the canonical text';

CREATE OPERATOR <> (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mean.dp_mechanism_ne,
    COMMUTATOR = <>, NEGATOR = =, RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (dp_mechanism, dp_mechanism) IS 'not equal, by the canonical text';

CREATE OPERATOR >= (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mean.dp_mechanism_ge,
    COMMUTATOR = <=, NEGATOR = <, RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (dp_mechanism, dp_mechanism) IS 'greater than or equal, by the canonical text';

CREATE OPERATOR > (
    LEFTARG = dp_mechanism, RIGHTARG = dp_mechanism, FUNCTION = dp_mean.dp_mechanism_gt,
    COMMUTATOR = <, NEGATOR = <=, RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (dp_mechanism, dp_mechanism) IS 'greater than, by the canonical text';

CREATE OPERATOR CLASS dp_mechanism_ops DEFAULT FOR TYPE dp_mechanism USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 dp_mean.dp_mechanism_cmp(dp_mechanism, dp_mechanism);
COMMENT ON OPERATOR CLASS dp_mechanism_ops USING btree IS 'the order of the canonical texts; DISTINCT needs it';
COMMENT ON OPERATOR FAMILY dp_mechanism_ops USING btree IS 'the order of the canonical texts; DISTINCT needs it';
