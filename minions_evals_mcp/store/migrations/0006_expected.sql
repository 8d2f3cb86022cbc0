-- What a case expected, under the digest of the case as it was: the likeness that no verdict of a run rests on is measured
-- when the run is first read, and its case may have changed since.
CREATE TABLE expected (
    case_digest TEXT    NOT NULL PRIMARY KEY,
    outputs     TEXT    NOT NULL CHECK (json_type(outputs) = 'object'),
    patterns    INTEGER NOT NULL CHECK (patterns IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER expected_new BEFORE INSERT ON expected
WHEN EXISTS (SELECT 1 FROM expected WHERE case_digest = NEW.case_digest)
BEGIN SELECT RAISE(ABORT, 'expected: kept already'); END;
CREATE TRIGGER expected_update BEFORE UPDATE ON expected
BEGIN SELECT RAISE(ABORT, 'expected: never changed'); END;
CREATE TRIGGER expected_delete BEFORE DELETE ON expected
BEGIN SELECT RAISE(ABORT, 'expected: never deleted'); END;
