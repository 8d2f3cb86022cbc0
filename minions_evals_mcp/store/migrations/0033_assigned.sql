-- Who judges a waiting output: assigned until it is taken back, or held for a while by the person to whom it was shown.
CREATE TABLE assignment (
    job_id TEXT    NOT NULL REFERENCES job (id),
    packet TEXT    NOT NULL CHECK (packet <> ''),
    person TEXT    NOT NULL CHECK (length(trim(person)) BETWEEN 1 AND 128),
    until  INTEGER,
    at     INTEGER NOT NULL,
    PRIMARY KEY (job_id, packet)
) STRICT, WITHOUT ROWID;
