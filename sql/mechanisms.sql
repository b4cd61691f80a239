-- dp_mechanisms: all mechanisms of all aggregates.

CREATE FUNCTION dp_mechanisms(
    OUT aggregate text, OUT mechanism text, OUT is_default boolean, OUT guarantee text,
    OUT neighbours text, OUT cost text, OUT parameters text, OUT example text, OUT source text
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_mechanisms_0_2_wrapper' LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 50;
COMMENT ON FUNCTION dp_mechanisms() IS
    'The mechanisms of each aggregate: which is the default, its guarantee, its neighbours (what two tables may '
    'differ by; where contributions come in, a row of it is a person), what a release costs a person in all, its '
    'parameters, a text that works, and the paper it comes from.';
