-- The store: answers that are kept for a while. A dump does not have them.
--
-- src/store reads and writes the table as it lies. Rows are as long as a page, and stay in it as they are.

CREATE TABLE dp_mean.answer (
    page bytea NOT NULL
);
ALTER TABLE dp_mean.answer ALTER COLUMN page SET STORAGE PLAIN;
COMMENT ON TABLE dp_mean.answer IS
    'A row for each page of answers that are kept, so that the same question has the same answer and costs nothing. '
    'They are changed in place, outside of transactions. TRUNCATE makes the store forget all of them.';
COMMENT ON COLUMN dp_mean.answer.page IS 'The answers, in a form of their own.';
