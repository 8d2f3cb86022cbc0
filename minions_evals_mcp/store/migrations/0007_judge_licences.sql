-- What is known of each judge by criterion: computed from people's labels, and written once for each set of labels.
CREATE TABLE judge_licence (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id           TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    criterion_id TEXT    NOT NULL,
    judge_digest TEXT    NOT NULL,
    state        TEXT    NOT NULL CHECK (state IN ('unknown', 'qualified', 'unqualified')),
    labels       INTEGER NOT NULL CHECK (labels >= 0),
    computed_at  INTEGER NOT NULL,
    rest         TEXT    NOT NULL CHECK (json_type(rest) = 'object')
) STRICT;
CREATE INDEX judge_licence_criterion ON judge_licence (criterion_id, seq);

CREATE TRIGGER judge_licence_new BEFORE INSERT ON judge_licence
WHEN EXISTS (SELECT 1 FROM judge_licence WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'judge-licence: written already'); END;
CREATE TRIGGER judge_licence_update BEFORE UPDATE ON judge_licence
BEGIN SELECT RAISE(ABORT, 'judge-licence: never changed'); END;
CREATE TRIGGER judge_licence_delete BEFORE DELETE ON judge_licence
BEGIN SELECT RAISE(ABORT, 'judge-licence: never deleted'); END;
CREATE TRIGGER HR1_licence_id_is_taken BEFORE INSERT ON minion
WHEN EXISTS (SELECT 1 FROM judge_licence WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'HR1: this id belongs to a result, which a record must not hide'); END;

-- What a judge said of outputs that were made to mislead it, or whose verdict is known; no output of an agent among them.
CREATE TABLE probe_verdict (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    judge_digest TEXT    NOT NULL,
    criterion_id TEXT    NOT NULL,
    probe        TEXT    NOT NULL,
    subject      TEXT    NOT NULL,
    wrong        INTEGER NOT NULL CHECK (wrong IN (0, 1)),
    said         TEXT    NOT NULL CHECK (json_type(said) = 'object'),
    judged_at    INTEGER NOT NULL,
    UNIQUE (judge_digest, criterion_id, probe, subject)
) STRICT;
CREATE TRIGGER probe_verdict_new BEFORE INSERT ON probe_verdict
WHEN EXISTS (SELECT 1 FROM probe_verdict WHERE seq = NEW.seq OR (judge_digest = NEW.judge_digest
             AND criterion_id = NEW.criterion_id AND probe = NEW.probe AND subject = NEW.subject))
BEGIN SELECT RAISE(ABORT, 'probe-verdict: kept already'); END;
CREATE TRIGGER probe_verdict_update BEFORE UPDATE ON probe_verdict
BEGIN SELECT RAISE(ABORT, 'probe-verdict: never changed'); END;
CREATE TRIGGER probe_verdict_delete BEFORE DELETE ON probe_verdict
BEGIN SELECT RAISE(ABORT, 'probe-verdict: never deleted'); END;

-- People's labels are few among judgments: a licence finds them by criterion.
CREATE INDEX eval_judgment_people ON eval_judgment (criterion_id) WHERE judged_by_type = 'human';
