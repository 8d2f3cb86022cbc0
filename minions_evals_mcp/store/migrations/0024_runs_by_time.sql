-- The newest runs of a benchmark, and those beside one, are read in their order without sorting its whole history.
CREATE INDEX benchmark_run_time ON benchmark_run (benchmark_id, ran_at, seq);
