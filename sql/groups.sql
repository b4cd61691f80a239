-- dp_groups, dp_unnest: what a person contributes to at most `groups` groups; dp_part and its like: the columns.

CREATE TABLE dp_mean.salt (
    made timestamptz NOT NULL,
    salt uuid NOT NULL
);
COMMENT ON TABLE dp_mean.salt IS
    'What dp_groups mixes the hashes of persons and keys with, so that a person is kept in the same groups in every '
    'query. The row that was made first counts: in a database that was restored, that of the dump. It is no secret.';
COMMENT ON COLUMN dp_mean.salt.made IS 'When it was made.';
COMMENT ON COLUMN dp_mean.salt.salt IS 'Random bits.';
-- A restored database has this row and that of the dump.
INSERT INTO dp_mean.salt SELECT pg_catalog.clock_timestamp(), pg_catalog.gen_random_uuid();
SELECT pg_catalog.pg_extension_config_dump(
    'dp_mean.salt', 'WHERE made = (SELECT pg_catalog.min(made) FROM dp_mean.salt)'
);

CREATE TYPE dp_mean.dp_groups;
COMMENT ON TYPE dp_mean.dp_groups IS
    'What a person contributes to the groups that dp_groups has kept; dp_unnest makes rows of it. '
    'Its text is the same for all; none can be read from a text or a binary form (0A000).';

CREATE FUNCTION dp_mean.dp_groups_in(input cstring) RETURNS dp_mean.dp_groups
    AS 'MODULE_PATHNAME', 'dp_groups_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_groups_in(cstring) IS
    'refuses: 0A000';

CREATE FUNCTION dp_mean.dp_groups_out(groups dp_mean.dp_groups) RETURNS cstring
    AS 'MODULE_PATHNAME', 'dp_groups_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_groups_out(dp_mean.dp_groups) IS
    'output of dp_groups: the same text for all';

CREATE FUNCTION dp_mean.dp_groups_recv(input internal) RETURNS dp_mean.dp_groups
    AS 'MODULE_PATHNAME', 'dp_groups_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_groups_recv(internal) IS
    'refuses: 0A000';

CREATE FUNCTION dp_mean.dp_groups_send(groups dp_mean.dp_groups) RETURNS bytea
    AS 'MODULE_PATHNAME', 'dp_groups_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dp_mean.dp_groups_send(dp_mean.dp_groups) IS
    'binary output of dp_groups: the same text for all';

CREATE TYPE dp_mean.dp_groups (
    INPUT = dp_mean.dp_groups_in,
    OUTPUT = dp_mean.dp_groups_out,
    RECEIVE = dp_mean.dp_groups_recv,
    SEND = dp_mean.dp_groups_send,
    INTERNALLENGTH = VARIABLE,
    ALIGNMENT = double,
    STORAGE = plain
);
REVOKE USAGE ON TYPE dp_mean.dp_groups FROM PUBLIC;

CREATE DOMAIN dp_mean.dp_part AS bytea;
COMMENT ON DOMAIN dp_mean.dp_part IS
    'A value of a row with the rule by which it becomes part of a contribution: from dp_part, dp_part_sum or '
    'dp_part_rows, for dp_groups.';
REVOKE USAGE ON TYPE dp_mean.dp_part FROM PUBLIC;

-- In the schema of the aggregates, for queries to name: the columns of dp_unnest have types. Nobody can make a table
-- with it.
CREATE DOMAIN dp_contribution AS dp_mean.dp_contribution;
COMMENT ON DOMAIN dp_contribution IS
    'What a person contributes to a group, as a column of dp_unnest.';
REVOKE USAGE ON TYPE dp_contribution FROM PUBLIC;

-- STABLE, though they are functions of their arguments: where all of these are constants the planner would put a
-- constant in the place of the call, and its bounds would not be seen.
CREATE FUNCTION dp_part(x float8, lo float8, hi float8, k bigint DEFAULT 1) RETURNS dp_mean.dp_part
    AS 'MODULE_PATHNAME', 'dp_part' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_part(float8, float8, float8, bigint) IS
    'An argument of dp_groups: a person contributes at most k rows to each group, as by dp_contribution(x, lo, hi, k). '
    'lo < hi finite; k from 1 to 1000000; none of lo, hi, k may be NULL or depend on the rows: 22023, raised by the '
    'call that takes the contributions, the same with and without rows.';

CREATE FUNCTION dp_part_sum(x float8, lo float8, hi float8) RETURNS dp_mean.dp_part
    AS 'MODULE_PATHNAME', 'dp_part_sum' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_part_sum(float8, float8, float8) IS
    'An argument of dp_groups: a person contributes the sum of x to each group, as by dp_contribution_sum(x, lo, hi). '
    'lo < hi finite; none of lo, hi may be NULL or depend on the rows: 22023, raised by the call that takes the '
    'contributions, the same with and without rows.';

CREATE FUNCTION dp_part_rows(k bigint DEFAULT 1) RETURNS dp_mean.dp_part
    AS 'MODULE_PATHNAME', 'dp_part_rows' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION dp_part_rows(bigint) IS
    'An argument of dp_groups: a person contributes at most k rows to each group, for dp_count, whatever is in them. '
    'k from 1 to 1000000, not NULL, and it may not depend on the rows: 22023, raised by the call that takes the '
    'contributions, the same with and without rows.';

AGGREGATE dp_groups(groups bigint, person "any", VARIADIC parts "any") RETURNS dp_mean.dp_groups SPACE 512 EXACT;
UP TO parts IS
    'What a person with these rows contributes to each of their groups, at most groups of them, for a sub-select with '
    'GROUP BY person and nothing else. The other arguments are keys, whose values make the groups as in GROUP BY, '
    'NULL being one too, and calls of dp_part, dp_part_sum or dp_part_rows, each making a contribution to each group; '
    'at most 64 in all. dp_unnest makes rows of what it keeps. Of more groups those stay whose hash is smallest: a '
    'hash of the person, the keys, and a salt of the database, so that they are the same in every query and depend on '
    'no other person. The mechanism of each call over these rows must have groups= at least as large, and the query '
    'GROUP BY all keys. It is no answer and not private by itself. A person who is NULL is ignored; so are groups '
    'whose keys have more than 64 kB. NULL and NaN in x are ignored, but the row still makes its group. groups from 1 '
    'to 1000; neither it nor lo, hi, k of a part may be NULL or depend on the rows; keys of types that can be hashed: '
    'else 22023 or 42804, raised by the call that takes the contributions, the same with and without rows.';

CREATE FUNCTION dp_unnest(groups dp_mean.dp_groups) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_unnest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 5;
COMMENT ON FUNCTION dp_unnest(dp_mean.dp_groups) IS
    'The groups that dp_groups has kept of a person, as rows. For FROM, with a name and a type for each column: the '
    'arguments of dp_groups behind the person, in their order, a key with its own type and a part as dp_contribution. '
    'Where the columns are others, the private call over them is refused, 42804, and where the query is not grouped by '
    'all keys, 22023.';
