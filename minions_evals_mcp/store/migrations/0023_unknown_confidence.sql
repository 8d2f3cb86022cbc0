-- A judge that says nothing of its confidence has none that is known. The table is not made anew: the constraint is only taken
-- out of its text, as SQLite's own documentation of ALTER TABLE does it.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '
    confidence     REAL    NOT NULL CHECK (confidence BETWEEN 0 AND 1),', '
    confidence     REAL    CHECK (confidence BETWEEN 0 AND 1),')
WHERE type = 'table' AND name = 'eval_judgment';
PRAGMA writable_schema = RESET;
