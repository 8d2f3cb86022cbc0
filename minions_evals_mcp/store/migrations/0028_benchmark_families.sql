-- The benchmarks on which one candidate is compared are one family in the error budget: the family is one attempt for each size in
-- 1, 2, 4, 10, 26, … that it reaches. Comparisons on the same benchmark again are families of their own.
-- (The trigger is that of migration 17 but for what it counts.)
DROP TRIGGER HR2_attempt;
CREATE TRIGGER HR2_attempt BEFORE INSERT ON prompt_comparison
WHEN coalesce(json_extract(NEW.rest, '$.openPart'), 0) = 0
 AND coalesce(json_extract(NEW.rest, '$.attempt'), 1) < (
    SELECT sum(1 + (size >= 2) + (size >= 4) + (size >= 10) + (size >= 26) + (size >= 69) + (size >= 186) + (size >= 504)
               + (size >= 1369) + (size >= 3720) + (size >= 10111))
    FROM (SELECT count(*) AS size FROM (
        SELECT other, row_number() OVER (PARTITION BY other, benchmark_id) AS round FROM (
            SELECT iif(prompt_version_a = NEW.prompt_version_a, prompt_version_b, prompt_version_a) AS other, benchmark_id,
                   min(benchmark_run_id_a, benchmark_run_id_b), max(benchmark_run_id_a, benchmark_run_id_b)
            FROM prompt_comparison c WHERE NEW.prompt_version_a IN (prompt_version_a, prompt_version_b)
              AND coalesce(json_extract(rest, '$.openPart'), 0) = 0
              AND NOT EXISTS (SELECT 1 FROM approval p JOIN prompt_comparison w ON w.id = p.comparison_id
                  WHERE p.prompt_version_ref = NEW.prompt_version_a AND p.decision = 'approved' AND c.seq <= w.seq
                    AND c.prompt_version_a = w.prompt_version_a AND c.prompt_version_b = w.prompt_version_b)
            UNION
            SELECT NEW.prompt_version_b, NEW.benchmark_id, min(NEW.benchmark_run_id_a, NEW.benchmark_run_id_b),
                   max(NEW.benchmark_run_id_a, NEW.benchmark_run_id_b)))
      GROUP BY other, round))
BEGIN SELECT RAISE(ABORT, 'HR2: a comparison counts all attempts to beat the same version'); END;
