-- A log that nobody recorded is null, one without calls is []. Until now both were kept as []: nothing tells them apart,
-- so such logs count as not recorded. The digest is made anew when the record is saved again.
DROP TRIGGER HR1_copy_is_final;
UPDATE minion SET fields = json_set(fields, '$.toolCallsLog', json('null')), digest = ''
WHERE type = 'agent-run' AND fields -> '$.toolCallsLog' = '[]';
CREATE TRIGGER HR1_copy_is_final BEFORE UPDATE OF fields, title ON minion
WHEN (NEW.fields IS NOT OLD.fields OR NEW.title IS NOT OLD.title)
 AND (OLD.type IN ('prompt-version', 'proposal-draft')
      OR (OLD.type = 'agent-run' AND json_extract(OLD.fields, '$.status') IN ('success', 'failed')))
BEGIN SELECT RAISE(ABORT, 'HR1: what an agent produced is kept as it was'); END;

DROP TRIGGER HR1_unit_output;
UPDATE unit SET output = json_remove(json_set(output, '$.toolCalls', json(coalesce(output -> '$.toolCalls', '[]'))), '$.hasLog')
WHERE output ->> '$.hasLog' = 1;
CREATE TRIGGER HR1_unit_output BEFORE UPDATE ON unit
WHEN NEW.job_id IS NOT OLD.job_id OR NEW.position IS NOT OLD.position OR NEW.trial IS NOT OLD.trial
  OR NEW.case_id IS NOT OLD.case_id OR (OLD.output IS NOT NULL AND NEW.output IS NOT OLD.output)
  OR (OLD.test_run_id IS NOT NULL AND NEW.test_run_id IS NOT OLD.test_run_id)
BEGIN SELECT RAISE(ABORT, 'HR1: an output that waits to be judged is kept as it was'); END;
