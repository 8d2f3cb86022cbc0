-- A verdict is decided at the error of its attempt to beat version A: .05 * 6 / (pi^2 k^2) for the k-th. A comparison cannot
-- say that it is an earlier one than those that are kept; of the same two runs it is the same attempt.
CREATE TRIGGER HR2_attempt BEFORE INSERT ON prompt_comparison
WHEN coalesce(json_extract(NEW.rest, '$.attempt'), 1) < 1 + (
    SELECT count(DISTINCT min(benchmark_run_id_a, benchmark_run_id_b) || ' ' || max(benchmark_run_id_a, benchmark_run_id_b))
    FROM prompt_comparison WHERE NEW.prompt_version_a IN (prompt_version_a, prompt_version_b)
      AND NOT (NEW.benchmark_run_id_a IN (benchmark_run_id_a, benchmark_run_id_b)
               AND NEW.benchmark_run_id_b IN (benchmark_run_id_a, benchmark_run_id_b)))
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison counts all attempts to beat the same version'); END;
CREATE TRIGGER HR2_attempt_level BEFORE INSERT ON prompt_comparison
WHEN NEW.verdict IN ('improved', 'regressed') AND json_extract(NEW.rest, '$.pValue')
  > 0.0303963550927014 / (coalesce(json_extract(NEW.rest, '$.attempt'), 1) * coalesce(json_extract(NEW.rest, '$.attempt'), 1))
BEGIN SELECT RAISE(ABORT, 'HR2: a verdict needs a p-value within the error of its attempt'); END;
