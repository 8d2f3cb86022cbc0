-- How often the agent asked a model why something failed, by day (UTC): its cap holds across its starts.
CREATE TABLE explained_day (
    day   TEXT    NOT NULL PRIMARY KEY CHECK (day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    calls INTEGER NOT NULL CHECK (calls >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER explained_day_forward BEFORE UPDATE ON explained_day
WHEN NEW.day IS NOT OLD.day OR NEW.calls < OLD.calls
BEGIN SELECT RAISE(ABORT, 'explained-day: it only goes up'); END;

-- What failures of a benchmark go back to: when a cause was seen first and last, and whether it was gone between. `gone_run_id` is
-- the run in which it had gone, or the one in which a person called it resolved; a cause that comes back has none again.
CREATE TABLE failure_cause (
    benchmark_id  TEXT    NOT NULL,
    cause_key     TEXT    NOT NULL,
    title         TEXT    NOT NULL,
    first_run_id  TEXT    NOT NULL,
    first_version TEXT    NOT NULL,
    first_at      INTEGER NOT NULL,
    last_run_id   TEXT    NOT NULL,
    last_at       INTEGER NOT NULL,
    gone_run_id   TEXT,
    came_back     INTEGER NOT NULL DEFAULT 0 CHECK (came_back >= 0),
    PRIMARY KEY (benchmark_id, cause_key)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER failure_cause_first BEFORE UPDATE ON failure_cause
WHEN NEW.first_run_id IS NOT OLD.first_run_id OR NEW.first_at IS NOT OLD.first_at OR NEW.came_back < OLD.came_back
BEGIN SELECT RAISE(ABORT, 'failure-cause: its first run is fixed'); END;
CREATE TRIGGER failure_cause_kept BEFORE DELETE ON failure_cause
BEGIN SELECT RAISE(ABORT, 'failure-cause: it is kept'); END;
