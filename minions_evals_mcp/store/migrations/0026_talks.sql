-- A unit whose user spoiled the conversation has no verdict. The table is not made anew: the outcome is only added to the
-- constraint's text, as in 0021.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, '''judge-error'', ''target-error'', ''timed-out''', '''judge-error'', ''target-error'', ''user-error'', ''timed-out''')
WHERE type = 'table' AND name = 'unit';
PRAGMA writable_schema = RESET;
-- The conversations of a run, kept turn by turn, so that one that was cut off goes on where it stopped. `spoiled` is the kind of
-- the first thing that the player of the user did wrong.
CREATE TABLE talk (
    job_id   TEXT    NOT NULL REFERENCES job (id),
    position INTEGER NOT NULL CHECK (position >= 0),
    trial    INTEGER NOT NULL CHECK (trial >= 1),
    attempt  INTEGER NOT NULL CHECK (attempt >= 1),
    case_id  TEXT    NOT NULL,
    player   TEXT    NOT NULL CHECK (player <> ''),
    said     TEXT    NOT NULL CHECK (json_type(said) = 'object'),
    ended    TEXT    NOT NULL DEFAULT '',
    spoiled  TEXT    NOT NULL DEFAULT '' CHECK (spoiled = '' OR ended <> ''),
    PRIMARY KEY (job_id, position, trial, attempt)
) STRICT, WITHOUT ROWID;
