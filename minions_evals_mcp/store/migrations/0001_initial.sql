-- Times are milliseconds since 1970 (UTC). `seq` orders rows and pages through them; it is never reused.
-- Triggers named HRn hold a hard rule (domain/rules.py) against a raw connection too: they do not rely on
-- foreign_keys or recursive_triggers, and refuse an existing id or seq so that INSERT OR REPLACE cannot walk past them.
-- A row whose seq is left to SQLite shows -1 to a BEFORE INSERT trigger: seq > 0 keeps that number free.

-- What people and neighbours wrote: test cases, rubrics, criteria, benchmarks, branches, trends, and copies of agent-runs,
-- prompt-versions, skill-definitions and proposal-drafts.
CREATE TABLE minion (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id         TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    type       TEXT    NOT NULL
        CHECK (type IN ('test-case', 'rubric', 'rubric-criterion', 'benchmark', 'test-branch', 'eval-trend', 'agent-run',
                        'prompt-version', 'skill-definition', 'proposal-draft')),
    title      TEXT    NOT NULL,
    fields     TEXT    NOT NULL CHECK (json_type(fields) = 'object'),
    tags       TEXT    NOT NULL CHECK (json_type(tags) = 'array'),
    status     TEXT    NOT NULL,
    digest     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    created_by TEXT,
    deleted_at INTEGER
) STRICT;
CREATE INDEX minion_type ON minion (type, seq);

CREATE TRIGGER minion_new BEFORE INSERT ON minion
WHEN EXISTS (SELECT 1 FROM minion WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'minion: this id is taken; change the record instead of replacing it'); END;
CREATE TRIGGER HR1_result_id_is_taken BEFORE INSERT ON minion
WHEN EXISTS (SELECT 1 FROM test_run WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM eval_failure WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM eval_judgment WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM benchmark_run WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM eval_metric WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM prompt_comparison WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM approval WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM test_branch_execution WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM outbox WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'HR1: this id belongs to a result, which a record must not hide'); END;
CREATE TRIGGER minion_fixed BEFORE UPDATE ON minion
WHEN NEW.id IS NOT OLD.id OR NEW.seq IS NOT OLD.seq OR NEW.type IS NOT OLD.type
BEGIN SELECT RAISE(ABORT, 'minion: id and type of a record never change'); END;
CREATE TRIGGER minion_kept BEFORE DELETE ON minion
BEGIN SELECT RAISE(ABORT, 'minion: records are hidden (deleted_at), never deleted'); END;
CREATE TRIGGER HR1_copy_is_final BEFORE UPDATE OF fields, title ON minion
WHEN (NEW.fields IS NOT OLD.fields OR NEW.title IS NOT OLD.title)
 AND (OLD.type IN ('prompt-version', 'proposal-draft')
      OR (OLD.type = 'agent-run' AND json_extract(OLD.fields, '$.status') IN ('success', 'failed')))
BEGIN SELECT RAISE(ABORT, 'HR1: what an agent produced is kept as it was'); END;

-- How a recorded agent-run is found for a test case.
CREATE TABLE agent_run_key (
    id                 TEXT    NOT NULL PRIMARY KEY REFERENCES minion (id),
    inputs_digest      TEXT    NOT NULL,
    agent_id           TEXT    NOT NULL,
    prompt_version_ref TEXT,
    at                 INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_run_key_inputs ON agent_run_key (inputs_digest, at);

-- Prompt versions, newer to older.
CREATE TABLE relation (
    source_id TEXT NOT NULL,
    target_id TEXT NOT NULL,
    type      TEXT NOT NULL CHECK (type = 'follows'),
    PRIMARY KEY (source_id, type)
) STRICT, WITHOUT ROWID;
CREATE INDEX relation_target ON relation (target_id);

-- One row per output judged. `rest` holds the fields that no query asks for.
CREATE TABLE test_run (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id                 TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    test_case_id       TEXT    NOT NULL,
    benchmark_run_id   TEXT,
    agent_run_id       TEXT,
    prompt_version_ref TEXT,
    trial              INTEGER NOT NULL CHECK (trial >= 1),
    outcome            TEXT    NOT NULL CHECK (outcome IN ('scored', 'timed-out')),
    passed             INTEGER NOT NULL CHECK (passed IN (0, 1)),
    total_score        REAL    NOT NULL,
    max_possible_score REAL    NOT NULL,
    judge_type         TEXT    NOT NULL CHECK (judge_type IN ('llm', 'heuristic', 'human')),
    ran_at             INTEGER NOT NULL,
    rest               TEXT    NOT NULL CHECK (json_type(rest) = 'object'),
    CHECK (outcome = 'scored' OR passed = 0)
) STRICT;
CREATE INDEX test_run_case ON test_run (test_case_id, seq);
CREATE INDEX test_run_benchmark ON test_run (benchmark_run_id, seq) WHERE benchmark_run_id IS NOT NULL;
CREATE INDEX test_run_failed ON test_run (seq) WHERE passed = 0;

CREATE TABLE eval_failure (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id               TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    test_run_id      TEXT    NOT NULL REFERENCES test_run (id) DEFERRABLE INITIALLY DEFERRED,
    benchmark_run_id TEXT,
    failure_type     TEXT    NOT NULL
        CHECK (failure_type IN ('wrong-output', 'hallucination', 'format-error', 'timeout', 'refusal')),
    severity         TEXT    NOT NULL CHECK (severity IN ('critical', 'major', 'minor')),
    created_at       INTEGER NOT NULL,
    resolved_at      INTEGER,
    rest             TEXT    NOT NULL CHECK (json_type(rest) = 'object')
) STRICT;
CREATE INDEX eval_failure_run ON eval_failure (test_run_id);
CREATE INDEX eval_failure_benchmark ON eval_failure (benchmark_run_id) WHERE benchmark_run_id IS NOT NULL;

CREATE TABLE eval_judgment (
    seq            INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id             TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 200),
    test_run_id    TEXT    NOT NULL REFERENCES test_run (id),
    criterion_id   TEXT    NOT NULL,
    score          REAL    NOT NULL,
    min_score      REAL    NOT NULL,
    max_score      REAL    NOT NULL,
    rationale      TEXT    NOT NULL,
    judged_by      TEXT    NOT NULL CHECK (length(trim(judged_by)) > 0),
    judged_by_type TEXT    NOT NULL CHECK (judged_by_type IN ('llm', 'heuristic', 'human')),
    judged_at      INTEGER NOT NULL,
    confidence     REAL    NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    UNIQUE (test_run_id, criterion_id),
    CONSTRAINT HR4_rationale
        -- Ranges (45 is the hyphen) of white space, control, format, private and filler characters: domain/values.py is_blank.
        CHECK (rationale GLOB '*[^' || char(
            1, 45, 32, 127, 45, 160, 173, 847, 1536, 45, 1541, 1564, 1757, 1807, 2192, 45, 2193, 2274,
            4447, 45, 4448, 5760, 6068, 45, 6069, 6155, 45, 6159, 8192, 45, 8207, 8232, 45, 8239, 8287, 45, 8303,
            10240, 12288, 12644, 57344, 45, 63743, 65024, 45, 65039, 65279, 65440, 65520, 45, 65531, 69821, 69837,
            78896, 45, 78911, 113824, 45, 113827, 119155, 45, 119162, 917504, 45, 1114111
        ) || ']*'),
    CONSTRAINT score_in_range CHECK (score BETWEEN min_score AND max_score)
) STRICT;

-- Scores of assertions that carry the name of a metric, from which a benchmark-run's eval-metrics are made.
CREATE TABLE metric_score (
    test_run_id TEXT NOT NULL,
    name        TEXT NOT NULL,
    score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    PRIMARY KEY (test_run_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE benchmark_run (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id                 TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    benchmark_id       TEXT    NOT NULL,
    prompt_version_ref TEXT,
    purpose            TEXT    NOT NULL CHECK (purpose IN ('scheduled', 'manual', 'comparison')),
    overall_score      REAL    NOT NULL CHECK (overall_score BETWEEN 0 AND 1),
    passed_count       INTEGER NOT NULL CHECK (passed_count BETWEEN 0 AND total_count),
    total_count        INTEGER NOT NULL CHECK (total_count > 0),
    error_count        INTEGER NOT NULL CHECK (error_count >= 0),
    is_regression      INTEGER NOT NULL CHECK (is_regression IN (0, 1)),
    judged_alike       TEXT    NOT NULL,
    series             TEXT    NOT NULL,
    ran_at             INTEGER NOT NULL,
    rest               TEXT    NOT NULL CHECK (json_type(rest) = 'object')
) STRICT;
CREATE INDEX benchmark_run_benchmark ON benchmark_run (benchmark_id, seq);

CREATE TABLE eval_metric (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id               TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 200),
    benchmark_run_id TEXT    NOT NULL,
    dimension        TEXT    NOT NULL,
    score            REAL    NOT NULL,
    max_score        REAL    NOT NULL,
    created_at       INTEGER NOT NULL,
    rest             TEXT    NOT NULL CHECK (json_type(rest) = 'object'),
    UNIQUE (benchmark_run_id, dimension)
) STRICT;

CREATE TABLE prompt_comparison (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id                 TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    benchmark_id       TEXT    NOT NULL,
    prompt_version_a   TEXT    NOT NULL,
    prompt_version_b   TEXT    NOT NULL,
    benchmark_run_id_a TEXT    NOT NULL,
    benchmark_run_id_b TEXT    NOT NULL,
    score_a            REAL    NOT NULL,
    score_b            REAL    NOT NULL,
    tie_threshold      REAL    NOT NULL CHECK (tie_threshold >= 0),
    winner             TEXT    NOT NULL,
    verdict            TEXT    NOT NULL CHECK (verdict IN ('improved', 'regressed', 'equivalent', 'inconclusive')),
    compared_at        INTEGER NOT NULL,
    rest               TEXT    NOT NULL CHECK (json_type(rest) = 'object'),
    CONSTRAINT winner_follows_score CHECK (winner = CASE
        WHEN abs(score_b - score_a) < tie_threshold THEN 'tie'
        WHEN score_b > score_a THEN prompt_version_b ELSE prompt_version_a END)
) STRICT;

CREATE TABLE approval (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id                 TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    prompt_version_ref TEXT    NOT NULL,
    comparison_id      TEXT,
    decision           TEXT    NOT NULL CHECK (decision IN ('approved', 'refused')),
    decided_by         TEXT    NOT NULL CHECK (length(trim(decided_by)) > 0),
    decided_by_type    TEXT    NOT NULL CHECK (decided_by_type IN ('human', 'agent')),
    override_reason    TEXT,
    decided_at         INTEGER NOT NULL,
    rest               TEXT    NOT NULL CHECK (json_type(rest) = 'object')
) STRICT;

CREATE TABLE test_branch_execution (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id         TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    branch_id  TEXT    NOT NULL,
    status     TEXT    NOT NULL CHECK (status IN ('success', 'error')),
    created_at INTEGER NOT NULL,
    rest       TEXT    NOT NULL CHECK (json_type(rest) = 'object')
) STRICT;
CREATE INDEX test_branch_execution_branch ON test_branch_execution (branch_id, seq);

-- What is meant for a neighbour; delivered at least once under its key.
CREATE TABLE outbox (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id         TEXT    NOT NULL UNIQUE,
    key        TEXT    NOT NULL UNIQUE,
    type       TEXT    NOT NULL CHECK (type IN ('agent-message', 'task', 'approval-request', 'memory-item')),
    addressee  TEXT    NOT NULL,
    fields     TEXT    NOT NULL CHECK (json_type(fields) = 'object'),
    created_at INTEGER NOT NULL
) STRICT;

-- What happened, in the transaction in which it happened. `seq` has no gaps.
CREATE TABLE event (
    seq          INTEGER PRIMARY KEY CHECK (seq > 0),
    at           INTEGER NOT NULL,
    type         TEXT    NOT NULL,
    subject_type TEXT    NOT NULL,
    subject_id   TEXT    NOT NULL,
    detail       TEXT    NOT NULL CHECK (json_type(detail) = 'object')
) STRICT;
CREATE INDEX event_subject ON event (subject_id, seq);

-- Runs as jobs: what was asked, and how far it is.
CREATE TABLE job (
    id         TEXT    NOT NULL PRIMARY KEY,
    key        TEXT    NOT NULL UNIQUE,
    kind       TEXT    NOT NULL CHECK (kind IN ('test-case', 'benchmark')),
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
CREATE INDEX job_created ON job (created_at);

-- One row per case and trial of a job for which there is something to keep.
CREATE TABLE unit (
    job_id      TEXT    NOT NULL REFERENCES job (id),
    position    INTEGER NOT NULL,
    trial       INTEGER NOT NULL,
    case_id     TEXT    NOT NULL,
    outcome     TEXT CHECK (outcome IN ('scored', 'judge-error', 'target-error', 'timed-out', 'skipped',
                                        'awaiting-judgments', 'not-judgeable')),
    reason      TEXT    NOT NULL DEFAULT '',
    output      TEXT CHECK (output IS NULL OR json_type(output) = 'object'),
    packet      TEXT,
    test_run_id TEXT,
    PRIMARY KEY (job_id, position, trial)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_packet ON unit (packet) WHERE packet IS NOT NULL;

-- Every verdict that was paid for, kept before its run is complete; looked up before paying again.
CREATE TABLE verdict (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    job_id           TEXT    NOT NULL,
    position         INTEGER NOT NULL,
    trial            INTEGER NOT NULL,
    criterion_id     TEXT    NOT NULL,
    subject_digest   TEXT    NOT NULL,
    criterion_digest TEXT    NOT NULL,
    judge_digest     TEXT    NOT NULL,
    said             TEXT    NOT NULL CHECK (json_type(said) = 'object'),
    judged_at        INTEGER NOT NULL,
    UNIQUE (job_id, position, trial, criterion_id, subject_digest, criterion_digest, judge_digest)
) STRICT;
CREATE INDEX verdict_lookup ON verdict (subject_digest, criterion_digest, judge_digest, seq);

-- Results are written once.
CREATE TRIGGER test_run_new BEFORE INSERT ON test_run
WHEN EXISTS (SELECT 1 FROM test_run WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'HR1: this test-run is written already'); END;
CREATE TRIGGER HR2_benchmark_run_is_closed BEFORE INSERT ON test_run
WHEN EXISTS (SELECT 1 FROM benchmark_run WHERE id = NEW.benchmark_run_id)
BEGIN SELECT RAISE(ABORT, 'HR2: this benchmark-run is concluded, it takes no more test-runs'); END;
CREATE TRIGGER HR1_test_run_update BEFORE UPDATE ON test_run
BEGIN SELECT RAISE(ABORT, 'HR1: a test-run is never changed'); END;
CREATE TRIGGER HR1_test_run_delete BEFORE DELETE ON test_run
BEGIN SELECT RAISE(ABORT, 'HR1: a test-run is never deleted'); END;
CREATE TRIGGER HR3_failure_first BEFORE INSERT ON test_run
WHEN NEW.passed = 0 AND NOT EXISTS (SELECT 1 FROM eval_failure WHERE test_run_id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'HR3: a failed test-run needs its eval-failure'); END;

CREATE TRIGGER eval_failure_new BEFORE INSERT ON eval_failure
WHEN EXISTS (SELECT 1 FROM eval_failure WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'HR3: this eval-failure is written already'); END;
CREATE TRIGGER HR3_eval_failure_fixed BEFORE UPDATE ON eval_failure
WHEN NEW.id IS NOT OLD.id OR NEW.seq IS NOT OLD.seq OR NEW.test_run_id IS NOT OLD.test_run_id
  OR NEW.benchmark_run_id IS NOT OLD.benchmark_run_id OR NEW.created_at IS NOT OLD.created_at
BEGIN SELECT RAISE(ABORT, 'HR3: an eval-failure keeps the run that it belongs to'); END;
CREATE TRIGGER HR3_eval_failure_delete BEFORE DELETE ON eval_failure
BEGIN SELECT RAISE(ABORT, 'HR3: an eval-failure is never deleted'); END;

CREATE TRIGGER eval_judgment_new BEFORE INSERT ON eval_judgment
WHEN EXISTS (SELECT 1 FROM eval_judgment WHERE id = NEW.id OR seq = NEW.seq
             OR (test_run_id = NEW.test_run_id AND criterion_id = NEW.criterion_id))
BEGIN SELECT RAISE(ABORT, 'eval-judgment: this criterion of this run is judged already'); END;
CREATE TRIGGER eval_judgment_of_a_run BEFORE INSERT ON eval_judgment
WHEN NOT EXISTS (SELECT 1 FROM test_run WHERE id = NEW.test_run_id)
BEGIN SELECT RAISE(ABORT, 'eval-judgment: no such test-run'); END;
CREATE TRIGGER HR4_eval_judgment_update BEFORE UPDATE ON eval_judgment
BEGIN SELECT RAISE(ABORT, 'HR4: a judgment is never changed'); END;
CREATE TRIGGER HR4_eval_judgment_delete BEFORE DELETE ON eval_judgment
BEGIN SELECT RAISE(ABORT, 'HR4: a judgment is never deleted'); END;

CREATE TRIGGER metric_score_new BEFORE INSERT ON metric_score
WHEN EXISTS (SELECT 1 FROM metric_score WHERE test_run_id = NEW.test_run_id AND name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'metric-score: written already'); END;
CREATE TRIGGER metric_score_update BEFORE UPDATE ON metric_score
BEGIN SELECT RAISE(ABORT, 'metric-score: never changed'); END;
CREATE TRIGGER metric_score_delete BEFORE DELETE ON metric_score
BEGIN SELECT RAISE(ABORT, 'metric-score: never deleted'); END;

CREATE TRIGGER benchmark_run_new BEFORE INSERT ON benchmark_run
WHEN EXISTS (SELECT 1 FROM benchmark_run WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'benchmark-run: written already'); END;
CREATE TRIGGER benchmark_run_counts BEFORE INSERT ON benchmark_run
WHEN NEW.total_count <> (SELECT count(*) FROM test_run WHERE benchmark_run_id = NEW.id)
  OR NEW.passed_count <> (SELECT count(*) FROM test_run WHERE benchmark_run_id = NEW.id AND passed = 1)
BEGIN SELECT RAISE(ABORT, 'HR2: a benchmark-run counts its own test-runs, no others'); END;
CREATE TRIGGER HR2_score_of_its_runs BEFORE INSERT ON benchmark_run
WHEN (SELECT abs(min(1.0, max(0.0, total(total_score) / total(max_possible_score))) - NEW.overall_score) < 1e-9
      FROM test_run WHERE benchmark_run_id = NEW.id) IS NOT 1
BEGIN SELECT RAISE(ABORT, 'HR2: a benchmark-run has the score of its own test-runs'); END;
CREATE TRIGGER HR5_regression_is_told BEFORE INSERT ON benchmark_run
WHEN NEW.is_regression = 1
 AND (NOT EXISTS (SELECT 1 FROM outbox WHERE key = 'benchmark-regression:' || NEW.id AND type = 'agent-message')
      OR NOT EXISTS (SELECT 1 FROM outbox WHERE key = 'investigate-regression:' || NEW.id AND type = 'task')
      OR NOT EXISTS (SELECT 1 FROM eval_failure WHERE benchmark_run_id = NEW.id AND severity = 'critical'))
BEGIN SELECT RAISE(ABORT, 'HR5: a regression is told in the transaction that records it'); END;
CREATE TRIGGER benchmark_run_update BEFORE UPDATE ON benchmark_run
BEGIN SELECT RAISE(ABORT, 'HR2: a benchmark-run is never changed'); END;
CREATE TRIGGER benchmark_run_delete BEFORE DELETE ON benchmark_run
BEGIN SELECT RAISE(ABORT, 'HR2: a benchmark-run is never deleted'); END;

CREATE TRIGGER eval_metric_new BEFORE INSERT ON eval_metric
WHEN EXISTS (SELECT 1 FROM eval_metric WHERE id = NEW.id OR seq = NEW.seq
             OR (benchmark_run_id = NEW.benchmark_run_id AND dimension = NEW.dimension))
BEGIN SELECT RAISE(ABORT, 'eval-metric: written already'); END;
CREATE TRIGGER eval_metric_update BEFORE UPDATE ON eval_metric
BEGIN SELECT RAISE(ABORT, 'eval-metric: never changed'); END;
CREATE TRIGGER eval_metric_delete BEFORE DELETE ON eval_metric
BEGIN SELECT RAISE(ABORT, 'eval-metric: never deleted'); END;

CREATE TRIGGER prompt_comparison_new BEFORE INSERT ON prompt_comparison
WHEN EXISTS (SELECT 1 FROM prompt_comparison WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'prompt-comparison: written already'); END;
CREATE TRIGGER HR2_comparison_of_runs BEFORE INSERT ON prompt_comparison
WHEN NEW.benchmark_run_id_a = NEW.benchmark_run_id_b OR NEW.prompt_version_a = NEW.prompt_version_b
  OR NOT EXISTS (SELECT 1 FROM benchmark_run WHERE id = NEW.benchmark_run_id_a AND benchmark_id = NEW.benchmark_id
                 AND prompt_version_ref = NEW.prompt_version_a AND abs(overall_score - NEW.score_a) < 1e-9)
  OR NOT EXISTS (SELECT 1 FROM benchmark_run WHERE id = NEW.benchmark_run_id_b AND benchmark_id = NEW.benchmark_id
                 AND prompt_version_ref = NEW.prompt_version_b AND abs(overall_score - NEW.score_b) < 1e-9)
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison rests on benchmark-runs of ours, of two versions, with their scores'); END;
CREATE TRIGGER prompt_comparison_update BEFORE UPDATE ON prompt_comparison
BEGIN SELECT RAISE(ABORT, 'HR2: a prompt-comparison is never changed'); END;
CREATE TRIGGER prompt_comparison_delete BEFORE DELETE ON prompt_comparison
BEGIN SELECT RAISE(ABORT, 'HR2: a prompt-comparison is never deleted'); END;

CREATE TRIGGER approval_new BEFORE INSERT ON approval
WHEN EXISTS (SELECT 1 FROM approval WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'HR2: this approval is written already'); END;
CREATE TRIGGER HR2_approval BEFORE INSERT ON approval
WHEN NEW.decision = 'approved' AND NOT EXISTS (
    SELECT 1 FROM prompt_comparison c
    JOIN benchmark_run a ON a.id = c.benchmark_run_id_a
    JOIN benchmark_run b ON b.id = c.benchmark_run_id_b
    WHERE c.id = NEW.comparison_id AND c.winner = NEW.prompt_version_ref
      AND CASE NEW.prompt_version_ref WHEN c.prompt_version_b THEN c.score_b > c.score_a ELSE c.score_a > c.score_b END
      AND ((c.verdict = 'improved' AND c.winner = c.prompt_version_b)
           OR (c.verdict = 'inconclusive' AND NEW.decided_by_type = 'human'
               AND NEW.override_reason GLOB '*[^' || char(
                   1, 45, 32, 127, 45, 160, 173, 847, 1536, 45, 1541, 1564, 1757, 1807, 2192, 45, 2193, 2274,
                   4447, 45, 4448, 5760, 6068, 45, 6069, 6155, 45, 6159, 8192, 45, 8207, 8232, 45, 8239,
                   8287, 45, 8303, 10240, 12288, 12644, 57344, 45, 63743, 65024, 45, 65039, 65279, 65440,
                   65520, 45, 65531, 69821, 69837, 78896, 45, 78911, 113824, 45, 113827, 119155, 45, 119162,
                   917504, 45, 1114111
               ) || ']*')))
BEGIN SELECT RAISE(ABORT, 'HR2: no approval without a comparison that the version wins'); END;
CREATE TRIGGER approval_update BEFORE UPDATE ON approval
BEGIN SELECT RAISE(ABORT, 'HR2: an approval is never changed'); END;
CREATE TRIGGER approval_delete BEFORE DELETE ON approval
BEGIN SELECT RAISE(ABORT, 'HR2: an approval is never deleted'); END;

CREATE TRIGGER test_branch_execution_new BEFORE INSERT ON test_branch_execution
WHEN EXISTS (SELECT 1 FROM test_branch_execution WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'HR1: this execution is written already'); END;
CREATE TRIGGER HR1_execution_update BEFORE UPDATE ON test_branch_execution
BEGIN SELECT RAISE(ABORT, 'HR1: an execution is never changed'); END;
CREATE TRIGGER HR1_execution_delete BEFORE DELETE ON test_branch_execution
BEGIN SELECT RAISE(ABORT, 'HR1: an execution is never deleted'); END;

CREATE TRIGGER outbox_new BEFORE INSERT ON outbox
WHEN EXISTS (SELECT 1 FROM outbox WHERE id = NEW.id OR key = NEW.key OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'outbox: this key is queued already'); END;
CREATE TRIGGER HR5_outbox_fixed BEFORE UPDATE ON outbox
BEGIN SELECT RAISE(ABORT, 'HR5: what is queued for a neighbour is never changed'); END;
CREATE TRIGGER HR5_outbox_delete BEFORE DELETE ON outbox
BEGIN SELECT RAISE(ABORT, 'HR5: what is queued for a neighbour is never deleted'); END;

CREATE TRIGGER event_new BEFORE INSERT ON event
WHEN EXISTS (SELECT 1 FROM event WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'event: written already'); END;
CREATE TRIGGER event_without_gap AFTER INSERT ON event
WHEN NEW.seq > 1 AND NOT EXISTS (SELECT 1 FROM event WHERE seq = NEW.seq - 1)
BEGIN SELECT RAISE(ABORT, 'event: numbers have no gaps'); END;
CREATE TRIGGER event_update BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'event: never changed'); END;
CREATE TRIGGER event_delete BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'event: never deleted'); END;

CREATE TRIGGER unit_new BEFORE INSERT ON unit
WHEN EXISTS (SELECT 1 FROM unit WHERE job_id = NEW.job_id AND position = NEW.position AND trial = NEW.trial)
BEGIN SELECT RAISE(ABORT, 'unit: kept already'); END;
CREATE TRIGGER HR1_unit_output BEFORE UPDATE ON unit
WHEN NEW.job_id IS NOT OLD.job_id OR NEW.position IS NOT OLD.position OR NEW.trial IS NOT OLD.trial
  OR NEW.case_id IS NOT OLD.case_id OR (OLD.output IS NOT NULL AND NEW.output IS NOT OLD.output)
  OR (OLD.test_run_id IS NOT NULL AND NEW.test_run_id IS NOT OLD.test_run_id)
BEGIN SELECT RAISE(ABORT, 'HR1: an output that waits to be judged is kept as it was'); END;
CREATE TRIGGER HR1_unit_delete BEFORE DELETE ON unit
BEGIN SELECT RAISE(ABORT, 'HR1: an output that waits to be judged is never deleted'); END;

CREATE TRIGGER verdict_new BEFORE INSERT ON verdict
WHEN EXISTS (SELECT 1 FROM verdict WHERE seq = NEW.seq
             OR (job_id = NEW.job_id AND position = NEW.position AND trial = NEW.trial AND criterion_id = NEW.criterion_id
                 AND subject_digest = NEW.subject_digest AND criterion_digest = NEW.criterion_digest
                 AND judge_digest = NEW.judge_digest))
BEGIN SELECT RAISE(ABORT, 'verdict: kept already'); END;
CREATE TRIGGER verdict_update BEFORE UPDATE ON verdict
BEGIN SELECT RAISE(ABORT, 'HR4: a verdict is never changed'); END;
CREATE TRIGGER verdict_delete BEFORE DELETE ON verdict
BEGIN SELECT RAISE(ABORT, 'HR4: a verdict is never deleted'); END;
