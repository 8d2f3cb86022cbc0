-- Sealed cases: what an optimiser trains against is not what decides. A seal stands until it is ended with a reason.
CREATE TABLE seal (
    seq               INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    benchmark_id      TEXT    NOT NULL,
    open_benchmark_id TEXT,
    share             REAL CHECK (share > 0 AND share < 1),
    seed              INTEGER,
    sealed_by         TEXT    NOT NULL,
    at                INTEGER NOT NULL,
    ended_at          INTEGER,
    ended_by          TEXT,
    reason            TEXT CHECK (length(trim(reason)) > 0),
    CHECK ((ended_at IS NULL) = (reason IS NULL) AND (ended_at IS NULL) = (ended_by IS NULL))
) STRICT;
CREATE UNIQUE INDEX seal_standing ON seal (benchmark_id) WHERE ended_at IS NULL;
CREATE INDEX seal_open ON seal (open_benchmark_id) WHERE open_benchmark_id IS NOT NULL;
CREATE TABLE sealed_case (
    seal_seq       INTEGER NOT NULL,
    case_id        TEXT    NOT NULL,
    content_digest TEXT    NOT NULL,
    inputs_digest  TEXT    NOT NULL,
    rubric_id      TEXT,
    ended_at       INTEGER,
    PRIMARY KEY (seal_seq, case_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX sealed_case_standing ON sealed_case (case_id) WHERE ended_at IS NULL;
CREATE INDEX sealed_case_rubric ON sealed_case (rubric_id) WHERE ended_at IS NULL AND rubric_id IS NOT NULL;
CREATE INDEX sealed_case_inputs ON sealed_case (inputs_digest) WHERE ended_at IS NULL;

-- Jobs in which a sealed case was run: those from before the seal, and the comparisons made under it.
CREATE TABLE sealed_run (
    run_id   TEXT    NOT NULL,
    seal_seq INTEGER NOT NULL,
    PRIMARY KEY (run_id, seal_seq)
) STRICT, WITHOUT ROWID;

-- What was told of a sealed benchmark: the verdicts of its comparisons, and the contents on which each rests.
CREATE TABLE exposure (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    comparison_id TEXT    NOT NULL UNIQUE,
    benchmark_id  TEXT    NOT NULL,
    version_a     TEXT    NOT NULL,
    version_b     TEXT    NOT NULL,
    verdict       TEXT    NOT NULL CHECK (verdict IN ('improved', 'regressed', 'equivalent', 'inconclusive')),
    attempt       INTEGER NOT NULL CHECK (attempt >= 1),
    cases         INTEGER NOT NULL CHECK (cases >= 0),
    at            INTEGER NOT NULL
) STRICT;
CREATE TABLE exposed_case (
    content_digest TEXT NOT NULL,
    comparison_id  TEXT NOT NULL,
    PRIMARY KEY (content_digest, comparison_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER seal_new BEFORE INSERT ON seal
WHEN NEW.ended_at IS NOT NULL OR EXISTS (SELECT 1 FROM seal WHERE seq = NEW.seq)
  OR EXISTS (SELECT 1 FROM seal WHERE benchmark_id = NEW.benchmark_id AND ended_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'SEALED: this benchmark is sealed already'); END;
CREATE TRIGGER seal_fixed BEFORE UPDATE ON seal
WHEN OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR NEW.seq IS NOT OLD.seq OR NEW.at IS NOT OLD.at
  OR NEW.benchmark_id IS NOT OLD.benchmark_id OR NEW.open_benchmark_id IS NOT OLD.open_benchmark_id
  OR NEW.share IS NOT OLD.share OR NEW.seed IS NOT OLD.seed OR NEW.sealed_by IS NOT OLD.sealed_by
BEGIN SELECT RAISE(ABORT, 'SEALED: a seal is ended once, with its reason, and else never changed'); END;
CREATE TRIGGER seal_kept BEFORE DELETE ON seal
BEGIN SELECT RAISE(ABORT, 'SEALED: a seal is ended, never deleted'); END;
CREATE TRIGGER sealed_case_new BEFORE INSERT ON sealed_case
WHEN NEW.ended_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM seal WHERE seq = NEW.seal_seq AND ended_at IS NULL)
  OR EXISTS (SELECT 1 FROM sealed_case WHERE case_id = NEW.case_id AND (seal_seq = NEW.seal_seq OR ended_at IS NULL))
BEGIN SELECT RAISE(ABORT, 'SEALED: this case is sealed already'); END;
CREATE TRIGGER sealed_case_fixed BEFORE UPDATE ON sealed_case
WHEN OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR NEW.seal_seq IS NOT OLD.seal_seq OR NEW.case_id IS NOT OLD.case_id
  OR NEW.content_digest IS NOT OLD.content_digest OR NEW.inputs_digest IS NOT OLD.inputs_digest
  OR NEW.rubric_id IS NOT OLD.rubric_id OR EXISTS (SELECT 1 FROM seal WHERE seq = OLD.seal_seq AND ended_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'SEALED: a case is sealed as long as its seal stands'); END;
CREATE TRIGGER sealed_case_kept BEFORE DELETE ON sealed_case
BEGIN SELECT RAISE(ABORT, 'SEALED: a case is sealed as long as its seal stands'); END;
CREATE TRIGGER sealed_run_new BEFORE INSERT ON sealed_run
WHEN EXISTS (SELECT 1 FROM sealed_run WHERE run_id = NEW.run_id AND seal_seq = NEW.seal_seq)
BEGIN SELECT RAISE(ABORT, 'SEALED: this run is known already'); END;
CREATE TRIGGER sealed_run_fixed BEFORE UPDATE ON sealed_run
BEGIN SELECT RAISE(ABORT, 'SEALED: which runs are sealed never changes'); END;
CREATE TRIGGER sealed_run_kept BEFORE DELETE ON sealed_run
BEGIN SELECT RAISE(ABORT, 'SEALED: which runs are sealed is kept'); END;

-- The k-th answer about the same contents is decided at the error of the k-th, whatever versions it compares.
CREATE TRIGGER HR2_exposure BEFORE INSERT ON exposure
WHEN EXISTS (SELECT 1 FROM exposure WHERE seq = NEW.seq OR comparison_id = NEW.comparison_id)
  OR EXISTS (SELECT 1 FROM prompt_comparison WHERE id = NEW.comparison_id)
  OR NEW.attempt < 1 + (
    SELECT count(DISTINCT e.comparison_id) FROM exposed_case e WHERE e.comparison_id <> NEW.comparison_id
      AND e.content_digest IN (SELECT c.content_digest FROM sealed_case c JOIN seal s ON s.seq = c.seal_seq
                               WHERE s.benchmark_id = NEW.benchmark_id AND s.ended_at IS NULL))
BEGIN SELECT RAISE(ABORT, 'HR2: an answer about sealed cases counts all that was told of the same contents before'); END;
CREATE TRIGGER exposure_fixed BEFORE UPDATE ON exposure
BEGIN SELECT RAISE(ABORT, 'HR2: what was told of sealed cases is never changed'); END;
CREATE TRIGGER exposure_kept BEFORE DELETE ON exposure
BEGIN SELECT RAISE(ABORT, 'HR2: what was told of sealed cases is kept'); END;
CREATE TRIGGER exposed_case_new BEFORE INSERT ON exposed_case
WHEN EXISTS (SELECT 1 FROM exposed_case WHERE content_digest = NEW.content_digest AND comparison_id = NEW.comparison_id)
BEGIN SELECT RAISE(ABORT, 'HR2: written already'); END;
CREATE TRIGGER exposed_case_fixed BEFORE UPDATE ON exposed_case
BEGIN SELECT RAISE(ABORT, 'HR2: what was told of sealed cases is never changed'); END;
CREATE TRIGGER exposed_case_kept BEFORE DELETE ON exposed_case
BEGIN SELECT RAISE(ABORT, 'HR2: what was told of sealed cases is kept'); END;
CREATE TRIGGER HR2_sealed_comparison BEFORE INSERT ON prompt_comparison
WHEN EXISTS (SELECT 1 FROM seal WHERE benchmark_id = NEW.benchmark_id AND ended_at IS NULL)
 AND NOT EXISTS (SELECT 1 FROM exposure WHERE comparison_id = NEW.id AND verdict = NEW.verdict
                 AND attempt = json_extract(NEW.rest, '$.attempt'))
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison on sealed cases is an exposure, and counts as one'); END;

-- What is sealed is fixed: the case, the rubric that judges it, the benchmark with its threshold.
CREATE TRIGGER sealed_record_fixed BEFORE UPDATE ON minion
WHEN (NEW.fields IS NOT OLD.fields OR NEW.title IS NOT OLD.title OR NEW.tags IS NOT OLD.tags
      OR NEW.status IS NOT OLD.status OR NEW.deleted_at IS NOT OLD.deleted_at)
 AND CASE OLD.type
     WHEN 'test-case' THEN EXISTS (SELECT 1 FROM sealed_case WHERE case_id = OLD.id AND ended_at IS NULL)
     WHEN 'rubric' THEN EXISTS (SELECT 1 FROM sealed_case WHERE rubric_id = OLD.id AND ended_at IS NULL)
     WHEN 'rubric-criterion' THEN EXISTS (
         SELECT 1 FROM sealed_case WHERE ended_at IS NULL AND rubric_id IS NOT NULL
          AND rubric_id IN (json_extract(OLD.fields, '$.rubricId'), json_extract(NEW.fields, '$.rubricId')))
     WHEN 'benchmark' THEN EXISTS (SELECT 1 FROM seal WHERE benchmark_id = OLD.id AND ended_at IS NULL)
     END
BEGIN SELECT RAISE(ABORT, 'SEALED: a sealed case, its rubric and its benchmark are not edited'); END;
CREATE TRIGGER sealed_case_named_new BEFORE INSERT ON minion
WHEN NEW.type = 'benchmark' AND EXISTS (
    SELECT 1 FROM json_each(NEW.fields, '$.testCaseIds') n JOIN sealed_case c ON c.case_id = n.value AND c.ended_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'SEALED: a sealed case stands in its own benchmark only'); END;
CREATE TRIGGER sealed_case_named BEFORE UPDATE OF fields ON minion
WHEN NEW.type = 'benchmark' AND NEW.fields IS NOT OLD.fields AND EXISTS (
    SELECT 1 FROM json_each(NEW.fields, '$.testCaseIds') n JOIN sealed_case c ON c.case_id = n.value AND c.ended_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'SEALED: a sealed case stands in its own benchmark only'); END;
CREATE TRIGGER sealed_case_branched BEFORE INSERT ON minion
WHEN NEW.type = 'test-branch'
 AND EXISTS (SELECT 1 FROM sealed_case WHERE case_id = json_extract(NEW.fields, '$.testCaseId') AND ended_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'SEALED: a sealed case is run with its whole benchmark only'); END;
CREATE TRIGGER sealed_case_run BEFORE INSERT ON test_run
WHEN EXISTS (SELECT 1 FROM sealed_case WHERE case_id = NEW.test_case_id AND ended_at IS NULL)
 AND NOT EXISTS (SELECT 1 FROM sealed_run WHERE run_id = NEW.benchmark_run_id)
BEGIN SELECT RAISE(ABORT, 'SEALED: a sealed case is run with its whole benchmark only'); END;

-- A comparison on the open part of a benchmark that is sealed in part is there to learn from: it approves nothing, and is no
-- attempt. (The trigger is that of migration 8 but for its second line.)
DROP TRIGGER HR2_attempt;
CREATE TRIGGER HR2_attempt BEFORE INSERT ON prompt_comparison
WHEN coalesce(json_extract(NEW.rest, '$.openPart'), 0) = 0
 AND coalesce(json_extract(NEW.rest, '$.attempt'), 1) < 1 + (
    SELECT count(DISTINCT min(benchmark_run_id_a, benchmark_run_id_b) || ' ' || max(benchmark_run_id_a, benchmark_run_id_b))
    FROM prompt_comparison WHERE NEW.prompt_version_a IN (prompt_version_a, prompt_version_b)
      AND coalesce(json_extract(rest, '$.openPart'), 0) = 0
      AND NOT (NEW.benchmark_run_id_a IN (benchmark_run_id_a, benchmark_run_id_b)
               AND NEW.benchmark_run_id_b IN (benchmark_run_id_a, benchmark_run_id_b)))
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison counts all attempts to beat the same version'); END;
CREATE TRIGGER HR2_open_part BEFORE INSERT ON approval
WHEN NEW.decision = 'approved' AND EXISTS (
    SELECT 1 FROM prompt_comparison WHERE id = NEW.comparison_id AND json_extract(rest, '$.openPart') = 1)
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison on the open part of a benchmark approves nothing; the sealed part decides'); END;
