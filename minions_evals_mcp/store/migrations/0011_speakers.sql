-- The people whom this store knows: by a token that was printed once (its hash is kept), or confirmed at a terminal.
CREATE TABLE person (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    name       TEXT    NOT NULL CHECK (length(trim(name)) BETWEEN 1 AND 128),
    token_hash TEXT UNIQUE CHECK (token_hash IS NULL OR length(token_hash) = 64),
    created_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT;
CREATE UNIQUE INDEX person_name ON person (name) WHERE removed_at IS NULL;
CREATE TRIGGER person_new BEFORE INSERT ON person
WHEN EXISTS (SELECT 1 FROM person WHERE seq = NEW.seq OR (name = NEW.name AND removed_at IS NULL)
             OR token_hash = NEW.token_hash)
BEGIN SELECT RAISE(ABORT, 'person: this name is taken'); END;
CREATE TRIGGER person_fixed BEFORE UPDATE ON person
WHEN NEW.seq IS NOT OLD.seq OR NEW.name IS NOT OLD.name OR OLD.removed_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'person: a name never changes, and who was removed is added anew'); END;
CREATE TRIGGER person_kept BEFORE DELETE ON person
BEGIN SELECT RAISE(ABORT, 'person: people are removed, never deleted'); END;

-- Who handed in a recorded output: the first who did, or the person who did so, too. An output without a row here is older.
CREATE TABLE handed_in (
    record_id TEXT    NOT NULL PRIMARY KEY,
    speaker   TEXT    NOT NULL CHECK (speaker = 'agent' OR speaker GLOB 'person:?*'),
    at        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER handed_in_new BEFORE INSERT ON handed_in
WHEN EXISTS (SELECT 1 FROM handed_in WHERE record_id = NEW.record_id)
BEGIN SELECT RAISE(ABORT, 'handed-in: written already'); END;
CREATE TRIGGER handed_in_fixed BEFORE UPDATE ON handed_in
WHEN NEW.record_id IS NOT OLD.record_id OR OLD.speaker <> 'agent' OR NEW.speaker NOT GLOB 'person:?*'
BEGIN SELECT RAISE(ABORT, 'handed-in: a person may vouch for it, nothing else changes'); END;
CREATE TRIGGER handed_in_kept BEFORE DELETE ON handed_in
BEGIN SELECT RAISE(ABORT, 'handed-in: it is kept'); END;

-- Who handed in a judgment: NULL where the engine asked a model or a rule, or where it is older than this column.
ALTER TABLE eval_judgment ADD COLUMN handed_in_by TEXT CHECK (handed_in_by = 'agent' OR handed_in_by GLOB 'person:?*');
ALTER TABLE eval_judgment ADD COLUMN origin TEXT CHECK (origin IN ('submitted', 'imported'));
CREATE TRIGGER HR4_a_person_said_so BEFORE INSERT ON eval_judgment
WHEN NEW.judged_by_type = 'human' AND NEW.origin IS NOT 'imported' AND NEW.handed_in_by NOT GLOB 'person:?*'
BEGIN SELECT RAISE(ABORT, 'HR4: the judgment of a person is handed in by a person'); END;

-- The version that a person named as the one in use, before any was approved.
CREATE TABLE named_current (
    seq                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    prompt_version_ref TEXT    NOT NULL,
    named_by           TEXT    NOT NULL CHECK (named_by GLOB 'person:?*'),
    at                 INTEGER NOT NULL
) STRICT;
CREATE TRIGGER named_current_new BEFORE INSERT ON named_current
WHEN EXISTS (SELECT 1 FROM named_current WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'named-current: written already'); END;
CREATE TRIGGER named_current_fixed BEFORE UPDATE ON named_current
BEGIN SELECT RAISE(ABORT, 'named-current: never changed, name another'); END;
CREATE TRIGGER named_current_kept BEFORE DELETE ON named_current
BEGIN SELECT RAISE(ABORT, 'named-current: it is kept'); END;

-- An agent approves nothing that agents handed in themselves.
CREATE TRIGGER HR2_evidence_of_others BEFORE INSERT ON approval
WHEN NEW.decision = 'approved' AND NEW.decided_by_type = 'agent' AND EXISTS (
    SELECT 1 FROM prompt_comparison c
    JOIN test_run r ON r.benchmark_run_id IN (c.benchmark_run_id_a, c.benchmark_run_id_b)
    WHERE c.id = NEW.comparison_id AND (
        EXISTS (SELECT 1 FROM eval_judgment j WHERE j.test_run_id = r.id AND j.handed_in_by = 'agent')
        OR (r.benchmark_run_id = c.benchmark_run_id_b AND r.agent_run_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM handed_in h WHERE h.record_id = r.agent_run_id AND h.speaker GLOB 'person:?*'))))
BEGIN SELECT RAISE(ABORT, 'HR2: an agent approves nothing on outputs or judgments that agents handed in'); END;
-- What a version of the same prompt was approved after is current: no other is the one to beat.
CREATE TRIGGER HR2_beats_the_current BEFORE INSERT ON approval
WHEN NEW.decision = 'approved' AND EXISTS (
    SELECT 1 FROM prompt_comparison c
    JOIN minion b ON b.id = c.prompt_version_b
    WHERE c.id = NEW.comparison_id AND c.prompt_version_a <> (
        SELECT p.prompt_version_ref FROM approval p JOIN minion v ON v.id = p.prompt_version_ref
        WHERE p.decision = 'approved' AND json_extract(v.fields, '$.promptId') = json_extract(b.fields, '$.promptId')
        ORDER BY p.seq DESC LIMIT 1))
BEGIN SELECT RAISE(ABORT, 'HR2: the comparison is not with the version that was approved last'); END;

-- A version's predecessor is set once, and before anything was measured of it.
CREATE TRIGGER relation_new BEFORE INSERT ON relation
WHEN EXISTS (SELECT 1 FROM relation WHERE source_id = NEW.source_id AND type = NEW.type)
  OR EXISTS (SELECT 1 FROM test_run WHERE prompt_version_ref = NEW.source_id)
  OR EXISTS (SELECT 1 FROM prompt_comparison WHERE NEW.source_id IN (prompt_version_a, prompt_version_b))
  OR EXISTS (SELECT 1 FROM approval WHERE prompt_version_ref = NEW.source_id)
BEGIN SELECT RAISE(ABORT, 'HR2: what a version follows is set once, before its first run'); END;
CREATE TRIGGER relation_fixed BEFORE UPDATE ON relation
BEGIN SELECT RAISE(ABORT, 'HR2: what a version follows is set once'); END;
CREATE TRIGGER relation_kept BEFORE DELETE ON relation
BEGIN SELECT RAISE(ABORT, 'HR2: what a version follows is kept'); END;

-- Where a message came in: `source` for the agent's own (standard input, the watched folder), which the operator set up.
ALTER TABLE inbox ADD COLUMN door TEXT NOT NULL DEFAULT '';
