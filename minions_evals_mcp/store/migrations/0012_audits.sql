-- What cheats and mutants showed of a suite's checks: written once for each audit, with the digests of what was audited.
CREATE TABLE audit (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id              TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    subject         TEXT    NOT NULL,
    digest          TEXT    NOT NULL,
    cheat_pass_rate REAL    CHECK (cheat_pass_rate BETWEEN 0 AND 1),
    mutation_score  REAL    CHECK (mutation_score BETWEEN 0 AND 1),
    case_count      INTEGER NOT NULL CHECK (case_count >= 0),
    audited_at      INTEGER NOT NULL,
    rest            TEXT    NOT NULL CHECK (json_type(rest) = 'object')
) STRICT;
CREATE INDEX audit_subject ON audit (subject, seq);

CREATE TRIGGER audit_new BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'audit: written already'); END;
CREATE TRIGGER audit_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit: never changed'); END;
CREATE TRIGGER audit_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit: never deleted'); END;
CREATE TRIGGER HR1_audit_id_is_taken BEFORE INSERT ON minion
WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'HR1: this id belongs to a result, which a record must not hide'); END;

-- A version whose run passed a case that no honest output passes is not approved on it.
CREATE TRIGGER HR2_no_canary_passed BEFORE INSERT ON approval
WHEN NEW.decision = 'approved' AND EXISTS (
    SELECT 1 FROM prompt_comparison c
    JOIN benchmark_run r ON r.id IN (c.benchmark_run_id_a, c.benchmark_run_id_b)
    WHERE c.id = NEW.comparison_id AND json_array_length(r.rest, '$.canariesPassed') > 0)
BEGIN SELECT RAISE(ABORT, 'HR2: a run of this comparison passed a canary, which no honest output passes'); END;
