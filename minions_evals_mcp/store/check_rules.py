"""The rules that must hold over all rows, each with the SQL that finds the rows for which it does not."""

from __future__ import annotations

from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES

_TYPES = ", ".join(f"'{name}'" for name in FAILURE_TYPES)

RULES: tuple[tuple[str, str], ...] = (
    (
        "HR3: the failed test-run {} has no eval-failure",
        "SELECT r.id FROM test_run r WHERE r.passed = 0 AND NOT EXISTS (SELECT 1 FROM eval_failure f WHERE f.test_run_id = r.id)",
    ),
    (
        "HR3: the eval-failure {} belongs to no test-run",
        "SELECT f.id FROM eval_failure f WHERE NOT EXISTS (SELECT 1 FROM test_run r WHERE r.id = f.test_run_id)",
    ),
    (
        "the eval-failure {} has a type unknown to this version",
        f"SELECT id FROM eval_failure WHERE failure_type NOT IN ({_TYPES})",
    ),
    (
        "the judgment {} belongs to no test-run",
        "SELECT j.id FROM eval_judgment j WHERE NOT EXISTS (SELECT 1 FROM test_run r WHERE r.id = j.test_run_id)",
    ),
    (
        "the test-run {} has no judgment",
        "SELECT r.id FROM test_run r WHERE NOT EXISTS (SELECT 1 FROM eval_judgment j WHERE j.test_run_id = r.id)",
    ),
    (
        "the benchmark-run {} has wrong counts of its test-runs",
        "SELECT b.id FROM benchmark_run b WHERE b.total_count <> (SELECT count(*) FROM test_run WHERE benchmark_run_id = b.id)"
        " OR b.passed_count <> (SELECT count(*) FROM test_run WHERE benchmark_run_id = b.id AND passed = 1)",
    ),
    (
        "HR2: the benchmark-run {} does not have the score of its test-runs",
        "SELECT b.id FROM benchmark_run b WHERE (SELECT abs(min(1.0, max(0.0, total(total_score) / total(max_possible_score)))"
        " - b.overall_score) < 1e-9 FROM test_run WHERE benchmark_run_id = b.id) IS NOT 1",
    ),
    (
        "HR2: the prompt-comparison {} does not match the scores of its benchmark-runs",
        "SELECT c.id FROM prompt_comparison c WHERE NOT EXISTS (SELECT 1 FROM benchmark_run a JOIN benchmark_run b"
        " WHERE a.id = c.benchmark_run_id_a AND b.id = c.benchmark_run_id_b AND a.id <> b.id"
        " AND a.prompt_version_ref = c.prompt_version_a AND b.prompt_version_ref = c.prompt_version_b"
        " AND abs(a.overall_score - c.score_a) < 1e-9 AND abs(b.overall_score - c.score_b) < 1e-9)",
    ),
    (
        "HR5: the regression in {} was not notified",
        "SELECT b.id FROM benchmark_run b WHERE b.is_regression = 1"
        " AND (NOT EXISTS (SELECT 1 FROM outbox WHERE key = 'benchmark-regression:' || b.id)"
        " OR NOT EXISTS (SELECT 1 FROM outbox WHERE key = 'investigate-regression:' || b.id)"
        " OR NOT EXISTS (SELECT 1 FROM eval_failure WHERE benchmark_run_id = b.id))",
    ),
    (
        "HR2: the approval {} has no comparison that its version wins",
        "SELECT a.id FROM approval a WHERE a.decision = 'approved' AND NOT EXISTS (SELECT 1 FROM prompt_comparison c"
        " WHERE c.id = a.comparison_id AND c.winner = a.prompt_version_ref)",
    ),
    (
        "HR2: the approval {} is not supported by its runs",
        "SELECT a.id FROM approval a JOIN prompt_comparison c ON c.id = a.comparison_id WHERE a.decision = 'approved'"
        " AND c.winner = a.prompt_version_ref AND (c.winner <> iif(c.score_b > c.score_a, c.prompt_version_b, c.prompt_version_a)"
        " OR c.score_a = c.score_b OR NOT (c.verdict = 'improved' AND c.winner = c.prompt_version_b"
        " OR c.verdict = 'inconclusive' AND a.decided_by_type = 'human' AND length(trim(a.override_reason)) > 0))",
    ),
    (
        "HR2: the prompt-comparison {} has the verdict improved, but its figures do not support it",
        # over all outputs of each run B may score lower: the interval is of the cases of both
        "SELECT id FROM prompt_comparison WHERE verdict = 'improved' AND coalesce(json_extract(rest, '$.deltaCi[0]'), 0) <= 0"
        " AND (score_b <= score_a OR json_extract(rest, '$.pValue') > 0.1)",
    ),
    (
        "HR2: the prompt-comparison {} had another verdict when it was written",
        "SELECT c.id FROM prompt_comparison c JOIN event e ON e.subject_id = c.id AND e.type = 'prompt-comparison-recorded'"
        " WHERE json_extract(e.detail, '$.verdict') <> c.verdict OR json_extract(e.detail, '$.winner') <> c.winner",
    ),
    (
        "HR1: the test-run {} had another result when it was written",
        "SELECT r.id FROM test_run r JOIN event e ON e.subject_id = r.id AND e.type = 'test-run-recorded'"
        " WHERE json_extract(e.detail, '$.passed') <> r.passed",
    ),
    (
        "HR5: the benchmark-run {} was notified as a regression but is not marked as one",
        "SELECT b.id FROM benchmark_run b WHERE b.is_regression = 0"
        " AND (EXISTS (SELECT 1 FROM outbox WHERE key IN ('benchmark-regression:' || b.id, 'investigate-regression:' || b.id))"
        " OR EXISTS (SELECT 1 FROM eval_failure WHERE id = b.id || ':regression')"
        " OR EXISTS (SELECT 1 FROM event e WHERE e.subject_id = b.id AND e.type = 'benchmark-run-recorded'"
        " AND json_extract(e.detail, '$.isRegression')))",
    ),
    (
        "the eval-failure {} refers to a missing benchmark-run",
        "SELECT f.id FROM eval_failure f WHERE f.id = f.benchmark_run_id || ':regression'"
        " AND NOT EXISTS (SELECT 1 FROM benchmark_run b WHERE b.id = f.benchmark_run_id)",
    ),
    (
        "the completed run {} has no benchmark-run",
        "SELECT j.id FROM job j WHERE j.kind = 'benchmark' AND j.state = 'completed'"
        " AND NOT EXISTS (SELECT 1 FROM benchmark_run b WHERE b.id = j.id)",
    ),
    (
        "the unit {} refers to a missing test-run",
        "SELECT u.job_id || ':' || u.position || '.' || u.trial FROM unit u WHERE u.test_run_id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM test_run r WHERE r.id = u.test_run_id)",
    ),
    (
        "HR4: the judgment {} is outside its range",
        "SELECT id FROM eval_judgment WHERE score NOT BETWEEN min_score AND max_score OR confidence NOT BETWEEN 0 AND 1",
    ),
    (
        "HR5: the outbox row {} has no addressee",
        "SELECT o.id FROM outbox o WHERE NOT EXISTS (SELECT 1 FROM delivery d WHERE d.seq = o.seq AND d.addressee = o.addressee)",
    ),
    (
        "HR5: the outbox row {} was skipped: a later one for the same addressee is settled",
        "SELECT o.id FROM delivery d JOIN outbox o USING (seq) WHERE d.state = 'pending' AND d.attempts = 0 AND d.reason = ''"
        " AND EXISTS (SELECT 1 FROM delivery n WHERE n.addressee = d.addressee AND n.seq > d.seq AND n.state <> 'pending')",
    ),
    (
        "the message {} is both settled and pending",
        "SELECT id FROM inbox WHERE (state = 'pending') <> (settled_at IS NULL)",
    ),
    (
        "the message {} is dead without a reason",
        "SELECT id FROM inbox WHERE state = 'dead' AND length(trim(reason)) = 0",
    ),
    (
        "the message {} is done without a result",
        "SELECT id FROM inbox WHERE state = 'done' AND result IS NULL",
    ),
    (
        "the agent's position is beyond the last event: {}",
        "SELECT position FROM agent_cursor WHERE name = 'events' AND position > (SELECT coalesce(max(seq), 0) FROM event)",
    ),
    (
        "the judgment {} is written twice",
        "SELECT min(id) FROM eval_judgment GROUP BY test_run_id, criterion_id HAVING count(*) > 1",
    ),
)
