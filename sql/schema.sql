-- The schema of what nobody calls by name. It must not be there yet: what others may have put into it would be found by
-- the names below.

CREATE SCHEMA dp_mean;
COMMENT ON SCHEMA dp_mean IS
    'What works inside of the extension dp_mean: the state of its aggregates, and their support functions. '
    'Nobody needs a right on it.';
REVOKE ALL ON SCHEMA dp_mean FROM PUBLIC;
