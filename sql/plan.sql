-- dp_plan: what a budget buys, before anything is spent.

CREATE FUNCTION dp_plan(
    people float8, questions float8, eps float8, delta float8 DEFAULT 0,
    OUT answer text, OUT noise float8, OUT unit text, OUT price float8
) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dp_plan' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 8;
COMMENT ON FUNCTION dp_plan(float8, float8, float8, float8) IS
    'What a budget of (eps, delta) buys if that many questions share it, about a table with a row for each of that '
    'many people: for each kind of answer, half of the width of an interval that holds what it hides in 95% of '
    'releases, with its unit; the number of people from which on a group of undeclared values is shown in half of all '
    'cases; and the price of one question, for query_eps of dp_protect. '
    'By the noise that dp_set_budget(name, eps, delta) pays. Of columns that are spread evenly between their bounds; '
    'a correlation and a slope (by 1000 simulated releases) of two that have nothing to do with each other. '
    'people and questions are public numbers to plan with; it looks at no data. '
    'people >= 1, questions >= 1, eps and delta as for dp_set_budget: else 22023. '
    'Source: docs/proofs/budget.md.';
