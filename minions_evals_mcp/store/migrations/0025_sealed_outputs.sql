-- Recorded outputs that a seal hides. They are chosen when the seal is made, and afterwards by a mark that their writer sets: were
-- they chosen by what they ask, whoever saves a guess and cannot read it back would know that it is right.
CREATE TABLE sealed_output (
    seal_seq  INTEGER NOT NULL,
    record_id TEXT    NOT NULL,
    PRIMARY KEY (seal_seq, record_id)
) STRICT, WITHOUT ROWID;
INSERT INTO sealed_output (seal_seq, record_id)
SELECT DISTINCT c.seal_seq, k.id FROM sealed_case c JOIN agent_run_key k ON k.inputs_digest = c.inputs_digest
WHERE c.ended_at IS NULL;
CREATE TRIGGER sealed_output_fixed BEFORE UPDATE ON sealed_output
BEGIN SELECT RAISE(ABORT, 'SEALED: which outputs are sealed never changes'); END;
CREATE TRIGGER sealed_output_kept BEFORE DELETE ON sealed_output
BEGIN SELECT RAISE(ABORT, 'SEALED: which outputs are sealed is kept'); END;
CREATE INDEX minion_marked_sealed ON minion (id) WHERE type = 'agent-run' AND json_extract(fields, '$.extra.sealed') = 1;
