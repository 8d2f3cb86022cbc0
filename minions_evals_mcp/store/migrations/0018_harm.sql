-- Harm is decided at .05 in every attempt; a gain at the error of its attempt to beat version A: .05 * 6 / (pi^2 k^2) for the k-th.
DROP TRIGGER HR2_attempt_level;
CREATE TRIGGER HR2_attempt_level BEFORE INSERT ON prompt_comparison
WHEN (NEW.verdict = 'regressed' AND json_extract(NEW.rest, '$.pValue') > 0.05)
  OR (NEW.verdict = 'improved' AND json_extract(NEW.rest, '$.pValue')
      > 0.0303963550927014 / (coalesce(json_extract(NEW.rest, '$.attempt'), 1) * coalesce(json_extract(NEW.rest, '$.attempt'), 1)))
BEGIN SELECT RAISE(ABORT, 'HR2: a verdict needs a p-value within the error of its attempt'); END;
