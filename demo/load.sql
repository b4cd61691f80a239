-- The data of the demo and of the manual: the extension and two tables, person_year and person. Run by psql from the
-- repository's root, in a database that has no such tables: if one is there, nothing is changed.
\set ON_ERROR_STOP on
BEGIN;
CREATE EXTENSION IF NOT EXISTS dp_mean;
CREATE TABLE person_year (
    person int, year int, site int, age float8, female int, education float8, income float8, family_size int,
    coinsurance int, doctor_visits int, hospital_admissions int, medical_spending float8,
    chronic_disease_index float8, mental_health_index float8, general_health_index float8,
    PRIMARY KEY (person, year)
);
\copy person_year FROM 'demo/data/rand_hie.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE person AS SELECT * FROM person_year WHERE year = 1;
ALTER TABLE person ADD PRIMARY KEY (person);
COMMIT;
ANALYZE person_year;
ANALYZE person;
