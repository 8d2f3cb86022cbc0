-- The reading of a benchmark's trend when each run was its newest, and the runs at which a new level was found to begin:
-- kept as they are found, so that a trend is read without computing it anew.
CREATE TABLE trend_reading (
    run_id    TEXT NOT NULL PRIMARY KEY,
    direction TEXT NOT NULL CHECK (direction IN ('improving', 'degrading', 'stable'))
) STRICT, WITHOUT ROWID;
CREATE TABLE level_start (
    run_id       TEXT    NOT NULL PRIMARY KEY,
    benchmark_id TEXT    NOT NULL,
    series       TEXT    NOT NULL,
    found_by     TEXT    NOT NULL,
    found_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX level_start_benchmark ON level_start (benchmark_id, series);

-- Whole runs of a benchmark by time, without reading the rows.
CREATE INDEX benchmark_run_whole
    ON benchmark_run (benchmark_id, ran_at, seq, series, overall_score, passed_count, total_count, is_regression, id)
    WHERE purpose <> 'comparison' AND json_extract(rest, '$.selection') IS NULL;

-- A case's figures without reading its outputs.
CREATE INDEX test_run_history ON test_run (test_case_id, seq, trial, passed, total_score, max_possible_score, ran_at, id);
DROP INDEX test_run_case;
CREATE INDEX test_run_regression ON test_run (test_case_id, seq) WHERE json_extract(rest, '$.isRegression') = 1;
CREATE INDEX job_comparison ON job (id) WHERE json_extract(spec, '$.request.purpose') = 'comparison';
