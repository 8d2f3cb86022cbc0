-- What people say of the player of a conversation's user: it did its part (sound), or it spoiled the conversation. The newest word
-- counts. `job_id`, `position` and `trial` are those of the run that had the conversation, whoever judged it since.
CREATE TABLE user_label (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    job_id      TEXT    NOT NULL REFERENCES job (id),
    position    INTEGER NOT NULL CHECK (position >= 0),
    trial       INTEGER NOT NULL CHECK (trial >= 1),
    attempt     INTEGER NOT NULL CHECK (attempt >= 1),
    case_id     TEXT    NOT NULL,
    sound       INTEGER NOT NULL CHECK (sound IN (0, 1)),
    checked     TEXT    NOT NULL,
    checked_by  TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    labelled_by TEXT    NOT NULL CHECK (length(trim(labelled_by)) > 0),
    at          INTEGER NOT NULL
) STRICT;
CREATE INDEX user_label_unit ON user_label (job_id, position, trial, attempt, seq);
CREATE TRIGGER user_label_kept BEFORE DELETE ON user_label
BEGIN SELECT RAISE(ABORT, 'user-label: what a person said is kept'); END;
CREATE TRIGGER user_label_fixed BEFORE UPDATE ON user_label
WHEN NEW.seq IS NOT OLD.seq OR NEW.job_id IS NOT OLD.job_id OR NEW.position IS NOT OLD.position OR NEW.trial IS NOT OLD.trial
  OR NEW.attempt IS NOT OLD.attempt OR NEW.sound IS NOT OLD.sound OR NEW.checked IS NOT OLD.checked OR NEW.checked_by IS NOT OLD.checked_by
  OR NEW.labelled_by IS NOT OLD.labelled_by OR NEW.at IS NOT OLD.at
BEGIN SELECT RAISE(ABORT, 'user-label: what a person said is not changed; a later word counts'); END;
