-- What an agent produced is kept as it was; the scores that another tool gives it later are added behind those that it had.
DROP TRIGGER HR1_copy_is_final;
CREATE TRIGGER HR1_copy_is_final BEFORE UPDATE OF fields, title ON minion
WHEN (NEW.fields IS NOT OLD.fields OR NEW.title IS NOT OLD.title)
 AND (OLD.type IN ('prompt-version', 'proposal-draft')
      OR (OLD.type = 'agent-run' AND json_extract(OLD.fields, '$.status') IN ('success', 'failed')))
 AND NOT (OLD.type = 'agent-run' AND NEW.title IS OLD.title
      AND json_remove(NEW.fields, '$.extra.foreignScores') IS json_remove(OLD.fields, '$.extra.foreignScores')
      AND json_type(NEW.fields, '$.extra.foreignScores') IS 'array'
      AND NOT EXISTS (SELECT 1 FROM json_each(OLD.fields, '$.extra.foreignScores') old
                      WHERE (NEW.fields -> ('$.extra.foreignScores[' || old.key || ']'))
                         IS NOT (OLD.fields -> ('$.extra.foreignScores[' || old.key || ']'))))
BEGIN SELECT RAISE(ABORT, 'HR1: what an agent produced is kept as it was'); END;
