-- Spans and log events that an exporter sent and that are no agent-run yet, a row for each trace or session of a request.
CREATE TABLE telemetry (
    row     INTEGER PRIMARY KEY,
    came_at INTEGER NOT NULL,
    parts   TEXT    NOT NULL CHECK (json_type(parts) = 'object')
) STRICT;
