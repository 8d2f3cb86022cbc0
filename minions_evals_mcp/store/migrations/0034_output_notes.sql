-- What people say of single outputs while they read: a thumb up or down with its reason. It changes no verdict; every note is kept.
CREATE TABLE output_note (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    job_id   TEXT    NOT NULL REFERENCES job (id),
    position INTEGER NOT NULL CHECK (position >= 0),
    trial    INTEGER NOT NULL CHECK (trial >= 1),
    case_id  TEXT    NOT NULL,
    good     INTEGER NOT NULL CHECK (good IN (0, 1)),
    reason   TEXT    NOT NULL,
    noted_by TEXT    NOT NULL CHECK (length(trim(noted_by)) > 0),
    at       INTEGER NOT NULL
) STRICT;
CREATE INDEX output_note_unit ON output_note (job_id, position, trial, seq);
CREATE TRIGGER output_note_kept BEFORE DELETE ON output_note
BEGIN SELECT RAISE(ABORT, 'output-note: what a person said is kept'); END;
CREATE TRIGGER output_note_fixed BEFORE UPDATE ON output_note
WHEN NEW.seq IS NOT OLD.seq OR NEW.job_id IS NOT OLD.job_id OR NEW.position IS NOT OLD.position OR NEW.trial IS NOT OLD.trial
  OR NEW.case_id IS NOT OLD.case_id OR NEW.good IS NOT OLD.good OR NEW.noted_by IS NOT OLD.noted_by OR NEW.at IS NOT OLD.at
BEGIN SELECT RAISE(ABORT, 'output-note: what a person said is not changed; say more in another note'); END;
