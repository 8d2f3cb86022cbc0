-- The comparisons by which a version beat another, up to the one on which its approval rests, are attempts to beat that one,
-- not it. (The trigger is that of migration 13 but for its last condition.)
DROP TRIGGER HR2_attempt;
CREATE TRIGGER HR2_attempt BEFORE INSERT ON prompt_comparison
WHEN coalesce(json_extract(NEW.rest, '$.openPart'), 0) = 0
 AND coalesce(json_extract(NEW.rest, '$.attempt'), 1) < 1 + (
    SELECT count(DISTINCT min(benchmark_run_id_a, benchmark_run_id_b) || ' ' || max(benchmark_run_id_a, benchmark_run_id_b))
    FROM prompt_comparison c WHERE NEW.prompt_version_a IN (prompt_version_a, prompt_version_b)
      AND coalesce(json_extract(rest, '$.openPart'), 0) = 0
      AND NOT (NEW.benchmark_run_id_a IN (benchmark_run_id_a, benchmark_run_id_b)
               AND NEW.benchmark_run_id_b IN (benchmark_run_id_a, benchmark_run_id_b))
      AND NOT EXISTS (SELECT 1 FROM approval p JOIN prompt_comparison w ON w.id = p.comparison_id
          WHERE p.prompt_version_ref = NEW.prompt_version_a AND p.decision = 'approved' AND c.seq <= w.seq
            AND c.prompt_version_a = w.prompt_version_a AND c.prompt_version_b = w.prompt_version_b))
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison counts all attempts to beat the same version'); END;
