-- A job may also be a trial of a candidate version: the table is made anew, for SQLite cannot change a CHECK.
CREATE TABLE job_new (
    id         TEXT    NOT NULL PRIMARY KEY,
    key        TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL CHECK (kind IN ('test-case', 'benchmark', 'comparison', 'ab-test', 'trial')),
    subject_id TEXT    NOT NULL,
    spec       TEXT    NOT NULL CHECK (json_type(spec) = 'object'),
    state      TEXT    NOT NULL
        CHECK (state IN ('running', 'awaiting-judgments', 'stopped', 'completed', 'failed', 'cancelled')),
    reason     TEXT    NOT NULL DEFAULT '',
    spent      TEXT    NOT NULL DEFAULT '{}' CHECK (json_type(spent) = 'object'),
    total      INTEGER NOT NULL CHECK (total >= 0),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO job_new SELECT id, key, kind, subject_id, spec, state, reason, spent, total, created_at, updated_at FROM job;
DROP TABLE job;
ALTER TABLE job_new RENAME TO job;
CREATE INDEX job_created ON job (created_at);
CREATE INDEX job_comparison ON job (id) WHERE json_extract(spec, '$.request.purpose') = 'comparison';
