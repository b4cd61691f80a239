-- What the clients find, after tests/forms/world.sql: a role of their own that may ask, views that they list, and a
-- schema for the answers that they keep.
CREATE SCHEMA private;
GRANT USAGE ON SCHEMA private TO analyst;
SELECT dp_create_view('visits', 'private.visits'), dp_create_view('people', 'private.people');
CREATE SCHEMA reports AUTHORIZATION analyst;
ALTER ROLE analyst SET session_preload_libraries = 'dp_mean';
ALTER ROLE analyst SET dp_mean.previews = 'empty';
-- The tests count charges, and ask the same question often.
ALTER ROLE analyst SET dp_mean.reuse = off;
