-- What a model read in a production trace, without personal data: a reading that was paid for is not asked for again.
-- `request_digest` is of the request without its random mark, so that another trace, model or instruction is another reading.
CREATE TABLE trace_reading (
    trace_id       TEXT    NOT NULL,
    model          TEXT    NOT NULL,
    request_digest TEXT    NOT NULL,
    read_at        INTEGER NOT NULL,
    note           TEXT    NOT NULL CHECK (json_type(note) = 'object'),
    PRIMARY KEY (trace_id, model, request_digest)
) STRICT, WITHOUT ROWID;
