"""The hard rules against a raw connection: the standard library's SQLite with its default pragmas, and worse ones."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from minions_evals_mcp.domain.values import is_blank
from tests.shared.store.small_store import contents, raw, refusal

RUN = (
    "INSERT INTO test_run (id, test_case_id, benchmark_run_id, trial, outcome, passed, total_score, max_possible_score,"
    " judge_type, ran_at, rest)"
)
JUDGMENT = (
    "INSERT INTO eval_judgment (id, test_run_id, criterion_id, score, min_score, max_score, rationale, judged_by,"
    " judged_by_type, judged_at, confidence) VALUES"
)
BENCHMARK_RUN = (
    "INSERT INTO benchmark_run (id, benchmark_id, prompt_version_ref, purpose, overall_score, passed_count, total_count,"
    " error_count, is_regression, judged_alike, series, ran_at, rest) VALUES"
)
COMPARISON = (
    "INSERT INTO prompt_comparison (id, benchmark_id, prompt_version_a, prompt_version_b, benchmark_run_id_a,"
    " benchmark_run_id_b, score_a, score_b, tie_threshold, winner, verdict, compared_at, rest) VALUES"
)
APPROVAL = (
    "INSERT INTO approval (id, prompt_version_ref, comparison_id, decision, decided_by, decided_by_type, override_reason,"
    " decided_at, rest) VALUES"
)
FAILURE = (
    "INSERT INTO eval_failure (id, test_run_id, benchmark_run_id, failure_type, severity, created_at, rest) VALUES"
)
OUTBOX = "INSERT INTO outbox (id, key, type, addressee, fields, created_at) VALUES"


def refused(path: Path, rule: str, *statements: str) -> None:
    """Fails unless the statements are refused in the rule's name and nothing has changed."""
    before = contents(path)
    for pragmas in ((), ("PRAGMA foreign_keys = ON", "PRAGMA recursive_triggers = ON")):
        said = refusal(path, *pragmas, *statements)
        assert said is not None, f"taken: {statements}"
        assert rule in said, said
        assert contents(path) == before


def copy_of(table: str, where: str, columns: Sequence[str], **changed: str) -> list[str]:
    """Statements that would replace the row of that table by a copy with other values."""
    listed = ", ".join(columns)
    values = ", ".join(changed.get(one, one) for one in columns)
    verbs = ("INSERT OR REPLACE INTO", "REPLACE INTO")
    return [f"{verb} {table} ({listed}) SELECT {values} FROM {table} WHERE {where}" for verb in verbs]


TEST_RUN = (
    "id",
    "test_case_id",
    "trial",
    "outcome",
    "passed",
    "total_score",
    "max_possible_score",
    "judge_type",
    "ran_at",
    "rest",
)
MINION = ("id", "type", "title", "fields", "tags", "status", "digest", "created_at", "updated_at")
UNIT = ("job_id", "position", "trial", "case_id", "outcome", "reason", "output", "packet")
FORGED = """'{"output": "forged"}'"""

HR1 = [
    "UPDATE test_run SET passed = 1",
    "UPDATE OR REPLACE test_run SET passed = 1, total_score = 1 WHERE id = 'run1:3.1'",
    "UPDATE OR IGNORE test_run SET total_score = 1",
    "UPDATE test_run SET rest = json_set(rest, '$.actualOutput', json('{}'))",
    "UPDATE test_run SET id = 'other' WHERE id = 'run1:1.1'",
    "UPDATE test_run SET seq = seq + 100",
    "UPDATE test_run SET rowid = 1000 WHERE rowid = 1",
    "UPDATE test_run SET agent_run_id = 'answer-c2'",
    "DELETE FROM test_run",
    "DELETE FROM test_run WHERE id = 'run1:1.1'",
    *copy_of("test_run", "id = 'run1:1.1'", TEST_RUN, rest=FORGED),
    *copy_of("test_run", "seq = 1", ("seq", *TEST_RUN), id="'other'", rest=FORGED),
    *copy_of("test_run", "seq = 1", ("rowid", *TEST_RUN), id="'other'", rest=FORGED),
    f"{RUN} SELECT id, 'c2', NULL, 1, 'scored', 1, 1, 1, 'llm', 0, {FORGED} FROM test_run WHERE seq = 1"
    " ON CONFLICT (id) DO UPDATE SET rest = excluded.rest",
    "UPDATE test_branch_execution SET rest = '{}'",
    "UPDATE test_branch_execution SET branch_id = 'other'",
    "DELETE FROM test_branch_execution",
    *copy_of("test_branch_execution", "seq = 1", ("id", "branch_id", "status", "created_at", "rest"), rest=FORGED),
    *copy_of(
        "test_branch_execution", "seq = 1", ("seq", "id", "branch_id", "status", "created_at", "rest"), id="'other'"
    ),
    "UPDATE minion SET fields = json_set(fields, '$.outputs', json('{}')) WHERE type = 'agent-run' AND id <> 'answer-open'",
    "UPDATE minion SET title = 'other' WHERE id = 'answer-c1'",
    "UPDATE minion SET fields = json_set(fields, '$.content', 'forged') WHERE type = 'prompt-version'",
    "UPDATE minion SET fields = json_set(fields, '$.scores', json('{}')) WHERE type = 'proposal-draft'",
    "INSERT INTO minion (id, type, title, fields, tags, status, digest, created_at, updated_at)"
    " VALUES ('run1:1.1', 'agent-run', 'hides a test-run', '{}', '[]', 'active', '', 0, 0)",
    "INSERT INTO minion (id, type, title, fields, tags, status, digest, created_at, updated_at)"
    " VALUES ('run1', 'benchmark', 'hides a benchmark-run', '{}', '[]', 'active', '', 0, 0)",
    "INSERT INTO minion (id, type, title, fields, tags, status, digest, created_at, updated_at)"
    " VALUES ('licence:1', 'benchmark', 'hides a licence', '{}', '[]', 'active', '', 0, 0)",
    "INSERT INTO minion (id, type, title, fields, tags, status, digest, created_at, updated_at)"
    " VALUES ('audit:1', 'benchmark', 'hides an audit', '{}', '[]', 'active', '', 0, 0)",
    """UPDATE unit SET output = '{"output": {"output": "forged"}}'""",
    "UPDATE unit SET output = NULL",
    "UPDATE unit SET case_id = 'c2'",
    "UPDATE unit SET position = 7",
    "DELETE FROM unit",
]  # fmt: skip
"""What an attacker may try against an output, each refused in HR1's name."""

AUDIT = ("id", "subject", "digest", "cheat_pass_rate", "mutation_score", "case_count", "audited_at", "rest")
LICENCE = ("id", "criterion_id", "judge_digest", "state", "labels", "computed_at", "rest")
KEPT = [
    *copy_of("minion", "id = 'answer-c1'", MINION, fields="""json_set(fields, '$.outputs', json('{}'))"""),
    *copy_of("minion", "id = 'answer-c1'", ("seq", *MINION), id="'other'"),
    "UPDATE minion SET id = 'other' WHERE id = 'answer-c1'",
    "UPDATE OR REPLACE minion SET id = 'answer-c1' WHERE id = 'answer-c2'",
    "UPDATE OR REPLACE minion SET seq = (SELECT seq FROM minion WHERE id = 'answer-c1') WHERE id = 'answer-c2'",
    "UPDATE minion SET type = 'test-case' WHERE id = 'answer-c1'",
    "DELETE FROM minion",
    "INSERT INTO minion (id, type, title, fields, tags, status, digest, created_at, updated_at)"
    " VALUES ('forged', 'test-run', 'no result stands here', '{}', '[]', 'active', '', 0, 0)",
    *copy_of("unit", "position = 0", UNIT, output=FORGED),
    "UPDATE metric_score SET score = 1",
    "DELETE FROM metric_score",
    "REPLACE INTO metric_score VALUES ('run1:3.1', 'named', 1.0)",
    "UPDATE eval_metric SET score = 1",
    "DELETE FROM eval_metric",
    *copy_of("eval_metric", "seq = 1", ("id", "benchmark_run_id", "dimension", "score", "max_score", "created_at", "rest")),
    *copy_of(
        "eval_metric", "seq = 1", ("id", "benchmark_run_id", "dimension", "score", "max_score", "created_at", "rest"),
        id="'other'",
    ),
    "UPDATE judge_licence SET state = 'qualified'",
    "DELETE FROM judge_licence",
    *copy_of("judge_licence", "seq = 1", LICENCE),
    *copy_of("judge_licence", "seq = 1", ("seq", *LICENCE), id="'other'"),
    "UPDATE audit SET cheat_pass_rate = 0",
    "DELETE FROM audit",
    *copy_of("audit", "seq = 1", AUDIT),
    *copy_of("audit", "seq = 1", ("seq", *AUDIT), id="'other'"),
    "UPDATE probe_verdict SET wrong = 0",
    "DELETE FROM probe_verdict",
    "REPLACE INTO probe_verdict SELECT * FROM probe_verdict",
    "UPDATE event SET type = 'other'",
    "DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)",
    "REPLACE INTO event VALUES (1, 0, 'forged', 'x', 'x', '{}')",
    "INSERT INTO event VALUES (1000000, 0, 'a gap before it', 'x', 'x', '{}')",
    "INSERT INTO event VALUES (-1, 0, 'the number that is not given', 'x', 'x', '{}')",
    "INSERT INTO event VALUES (0, 0, 'forged', 'x', 'x', '{}')",
]  # fmt: skip
"""What else is written once, refused without naming a rule."""

HR2 = [
    # benchmark-runs that did not happen so
    f"{BENCHMARK_RUN} ('fake', 'bench', 'p@2', 'manual', 1, 0, 1, 0, 0, '', '', 0, '{{}}')",
    f"{BENCHMARK_RUN} ('fake', 'bench', 'p@2', 'manual', 1, 1, 1, 0, 0, '', '', 0, '{{}}')",
    "UPDATE benchmark_run SET overall_score = 1 WHERE id = 'run1'",
    "UPDATE benchmark_run SET prompt_version_ref = 'p@3' WHERE id = 'run2'",
    "UPDATE benchmark_run SET id = 'other' WHERE id = 'run2'",
    "DELETE FROM benchmark_run",
    f"{RUN} VALUES ('late', 'c1', 'run1', 1, 'scored', 1, 1, 1, 'llm', 0, '{{}}')",
    # comparisons that rest on nothing
    f"{COMPARISON} ('fake', 'bench', 'p@1', 'p@3', 'none-a', 'none-b', 0.1, 0.9, 0.01, 'p@3', 'improved', 0, '{{}}')",
    f"{COMPARISON} ('fake', 'bench', 'p@1', 'p@3', 'run1', 'run3', 0.1, 0.9, 0.01, 'p@3', 'improved', 0, '{{}}')",
    f"{COMPARISON} ('fake', 'bench', 'p@1', 'p@3', 'run1', 'run2', 0.7, 0.9, 0.01, 'p@3', 'improved', 0, '{{}}')",
    f"{COMPARISON} ('fake', 'other', 'p@1', 'p@2', 'run1', 'run2', 0.7, 0.9, 0.01, 'p@2', 'improved', 0, '{{}}')",
    f"{COMPARISON} ('fake', 'bench', 'p@2', 'p@2', 'run2', 'run2', 0.9, 0.9, 0, 'p@2', 'improved', 0, '{{}}')",
    "UPDATE prompt_comparison SET winner = 'p@1', score_a = 1",
    "UPDATE prompt_comparison SET verdict = 'improved'",
    "DELETE FROM prompt_comparison",
    *copy_of(
        "prompt_comparison", "id = 'unclear'",
        ("id", "benchmark_id", "prompt_version_a", "prompt_version_b", "benchmark_run_id_a", "benchmark_run_id_b", "score_a",
         "score_b", "tie_threshold", "winner", "verdict", "compared_at", "rest"),
        benchmark_run_id_a="'none'",
    ),
    # approvals without a comparison that the version wins
    f"{APPROVAL} ('fake', 'p@2', NULL, 'approved', 'ada', 'human', 'because', 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@2', 'none', 'approved', 'ada', 'human', 'because', 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@1', 'better', 'approved', 'ada', 'human', 'because', 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@3', 'better', 'approved', 'ada', 'human', 'because', 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@1', 'unclear', 'approved', 'bot', 'agent', 'because', 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@1', 'unclear', 'approved', 'ada', 'human', NULL, 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@1', 'unclear', 'approved', 'ada', 'human', '', 0, '{{}}')",
    f"{APPROVAL} ('fake', 'p@1', 'unclear', 'approved', 'ada', 'human', '\u200b\u3164 ', 0, '{{}}')",
    "UPDATE approval SET prompt_version_ref = 'p@3'",
    "UPDATE approval SET rest = '{}'",
    "DELETE FROM approval",
    *copy_of(
        "approval", "seq = 1",
        ("id", "prompt_version_ref", "comparison_id", "decision", "decided_by", "decided_by_type", "decided_at", "rest"),
        decided_by="'eve'",
    ),
]  # fmt: skip

HR3 = [
    f"{RUN} VALUES ('bare', 'c1', NULL, 1, 'scored', 0, 0.1, 1, 'llm', 0, '{{}}')",
    f"{RUN} VALUES ('bare', 'c1', NULL, 1, 'timed-out', 0, 0, 1, 'llm', 0, '{{}}')",
    f"{RUN} VALUES ('bare', 'c1', NULL, 1, 'scored', '0', 0.1, 1, 'llm', 0, '{{}}')",
    f"{RUN} VALUES ('bare', 'c1', NULL, 1, 'scored', 0.0, 0.1, 1, 'llm', 0, '{{}}')",
    RUN.replace("INSERT", "INSERT OR REPLACE") + " VALUES ('bare', 'c1', NULL, 1, 'scored', 0, 0.1, 1, 'llm', 0, '{}')",
    RUN.replace("INSERT", "INSERT OR IGNORE") + " VALUES ('bare', 'c1', NULL, 1, 'scored', 0, 0.1, 1, 'llm', 0, '{}')",
    "UPDATE eval_failure SET test_run_id = 'run1:1.1'",
    "UPDATE OR REPLACE eval_failure SET test_run_id = 'none' WHERE id = 'run1:3.1:failure'",
    "UPDATE eval_failure SET id = 'other' WHERE id = 'run1:3.1:failure'",
    "UPDATE OR REPLACE eval_failure SET id = 'run1:3.1:failure' WHERE id = 'run3:1.1:failure'",
    "UPDATE eval_failure SET seq = 77 WHERE id = 'run1:3.1:failure'",
    "UPDATE eval_failure SET benchmark_run_id = NULL WHERE id = 'run3:regression'",
    "DELETE FROM eval_failure",
    "DELETE FROM eval_failure WHERE id = 'run1:3.1:failure'",
    *copy_of(
        "eval_failure", "id = 'run1:3.1:failure'",
        ("id", "test_run_id", "failure_type", "severity", "created_at", "rest"), test_run_id="'run1:1.1'",
    ),
    *copy_of(
        "eval_failure", "id = 'run1:3.1:failure'",
        ("seq", "id", "test_run_id", "failure_type", "severity", "created_at", "rest"), id="'other'",
    ),
]  # fmt: skip

HR4 = [
    "UPDATE eval_judgment SET score = 1",
    "UPDATE OR REPLACE eval_judgment SET rationale = '' WHERE seq = 1",
    "UPDATE eval_judgment SET test_run_id = 'run2:1.1' WHERE seq = 1",
    "DELETE FROM eval_judgment",
    "DELETE FROM eval_judgment WHERE seq = 1",
    f"{JUDGMENT} ('blank', 'run1:1.1', 'other', 1, 0, 1, '', 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('blank', 'run1:1.1', 'other', 1, 0, 1, ' \t\n', 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('blank', 'run1:1.1', 'other', 1, 0, 1, '\u200b\u200d\ufeff', 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('blank', 'run1:1.1', 'other', 1, 0, 1, char(0) || 'hidden', 'me', 'human', 0, 1)",
    JUDGMENT.replace("INSERT", "INSERT OR REPLACE") + " ('blank', 'run1:1.1', 'other', 1, 0, 1, ' ', 'me', 'human', 0, 1)",
    "UPDATE verdict SET said = '{}'",
    "DELETE FROM verdict",
]  # fmt: skip
HR4_WITHOUT_NAME = [
    f"{JUDGMENT} ('high', 'run1:1.1', 'other', 1.01, 0, 1, 'said', 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('low', 'run1:1.1', 'other', -0.01, 0, 1, 'said', 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('sure', 'run1:1.1', 'other', 1, 0, 1, 'said', 'me', 'human', 0, 1.1)",
    f"{JUDGMENT} ('nobody', 'run1:1.1', 'other', 1, 0, 1, 'said', ' ', 'human', 0, 1)",
    f"{JUDGMENT} ('null', 'run1:1.1', 'other', 1, 0, 1, NULL, 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('unbound', 'none', 'other', 1, 0, 1, 'said', 'me', 'human', 0, 1)",
    f"{JUDGMENT} ('twice', 'run1:1.1', 'rubric/tone', 1, 0, 1, 'said', 'me', 'human', 0, 1)",
    JUDGMENT.replace("INSERT", "INSERT OR REPLACE")
    + " ('twice', 'run1:1.1', 'rubric/tone', 1, 0, 1, 'said', 'me', 'human', 0, 1)",
    *copy_of(
        "eval_judgment", "seq = 1",
        ("id", "test_run_id", "criterion_id", "score", "min_score", "max_score", "rationale", "judged_by", "judged_by_type",
         "judged_at", "confidence"),
        criterion_id="'other'",
    ),
    *copy_of(
        "eval_judgment", "seq = 1",
        ("seq", "id", "test_run_id", "criterion_id", "score", "min_score", "max_score", "rationale", "judged_by",
         "judged_by_type", "judged_at", "confidence"),
        id="'other'", criterion_id="'other'",
    ),
    *copy_of(
        "verdict", "seq = 1",
        ("job_id", "position", "trial", "criterion_id", "subject_digest", "criterion_digest", "judge_digest", "said",
         "judged_at"),
        said=FORGED,
    ),
]  # fmt: skip

FELL = f"{RUN} VALUES ('fell:1', 'c1', 'fell', 1, 'scored', 0, 0.1, 1, 'llm', 0, '{{}}')"
FELL_FAILURE = f"{FAILURE} ('fell:1:failure', 'fell:1', NULL, 'refusal', 'critical', 0, '{{}}')"
FELL_CRITICAL = f"{FAILURE} ('fell:r', 'fell:1', 'fell', 'refusal', 'critical', 0, '{{}}')"
FELL_MINOR = f"{FAILURE} ('fell:r', 'fell:1', 'fell', 'refusal', 'minor', 0, '{{}}')"
FELL_TASK = f"{OUTBOX} ('fell:task', 'investigate-regression:fell', 'task', 'tasks', '{{}}', 0)"
FELL_MESSAGE = f"{OUTBOX} ('fell:message', 'benchmark-regression:fell', 'agent-message', 'orchestrator', '{{}}', 0)"
FELL_OTHER = f"{OUTBOX} ('fell:message', 'benchmark-regression:other', 'agent-message', 'orchestrator', '{{}}', 0)"
FELL_RUN = f"{BENCHMARK_RUN} ('fell', 'bench', 'p@2', 'manual', 0.1, 0, 1, 0, 1, '', '', 0, '{{}}')"
HR5 = [
    (FELL_FAILURE, FELL, FELL_RUN),
    (FELL_FAILURE, FELL, FELL_CRITICAL, FELL_TASK, FELL_RUN),
    (FELL_FAILURE, FELL, FELL_CRITICAL, FELL_MESSAGE, FELL_RUN),
    (FELL_FAILURE, FELL, FELL_TASK, FELL_MESSAGE, FELL_RUN),
    (FELL_FAILURE, FELL, FELL_MINOR, FELL_TASK, FELL_MESSAGE, FELL_RUN),
    (FELL_FAILURE, FELL, FELL_CRITICAL, FELL_TASK, FELL_OTHER, FELL_RUN),
    ("DELETE FROM outbox",),
    ("DELETE FROM outbox WHERE key LIKE 'benchmark-regression:%'",),
    ("UPDATE outbox SET addressee = 'nobody'",),
    ("UPDATE outbox SET key = 'other' WHERE seq = 1",),
]


@pytest.mark.parametrize("attack", HR1)
def test_a_raw_connection_cannot_change_an_output(small_store: Path, attack: str) -> None:
    refused(small_store, "HR1", attack)


@pytest.mark.parametrize("attack", KEPT)
def test_what_is_written_once_stays_as_it_was_written(small_store: Path, attack: str) -> None:
    refused(small_store, "", attack)


def test_a_running_agent_run_may_still_complete_and_is_final_then(small_store: Path) -> None:
    done = "UPDATE minion SET fields = json_set(fields, '$.status', 'success') WHERE id = 'answer-open'"
    assert refusal(small_store, done) is None
    refused(small_store, "HR1", "UPDATE minion SET fields = json_set(fields, '$.outputs', 1) WHERE id = 'answer-open'")


@pytest.mark.parametrize("attack", HR2)
def test_a_raw_connection_cannot_fake_an_improvement(small_store: Path, attack: str) -> None:
    refused(small_store, "", attack)


def test_a_benchmark_run_with_wrong_counts_or_another_score_is_refused(small_store: Path) -> None:
    runs = f"{RUN} VALUES ('x:1', 'c1', 'x', 1, 'scored', 1, 0.6, 1, 'llm', 0, '{{}}')"
    for score, passed, total in ((0.6, 1, 2), (0.6, 0, 1), (0.9, 1, 1), (0.5, 1, 1)):
        fake = f"{BENCHMARK_RUN} ('x', 'bench', 'p@2', 'manual', {score}, {passed}, {total}, 0, 0, '', '', 0, '{{}}')"
        refused(small_store, "HR2", runs, fake)
    true = f"{BENCHMARK_RUN} ('x', 'bench', 'p@2', 'manual', 0.6, 1, 1, 0, 0, '', '', 0, '{{}}')"
    assert refusal(small_store, runs, true) is None


def test_a_version_that_lost_cannot_call_itself_improved(small_store: Path) -> None:
    """The verdict is about the second version: "improved" does not approve the first one, whoever won."""
    lying = f"{COMPARISON} ('x', 'bench', 'p@2', 'p@1', 'run2', 'run1', 0.9, 0.7, 0.01, 'p@2', 'improved', 0, '{{}}')"
    approve = f"{APPROVAL} ('x', 'p@2', 'x', 'approved', 'ada', 'human', NULL, 0, '{{}}')"
    refused(small_store, "HR2", lying, approve)


def test_equal_scores_are_no_improvement_even_without_a_margin(small_store: Path) -> None:
    again = f"{RUN} VALUES ('y:1', 'c1', 'y', 1, 'scored', 1, 0.9, 1, 'llm', 0, '{{}}')"
    run = f"{BENCHMARK_RUN} ('y', 'bench', 'p@1', 'manual', 0.9, 1, 1, 0, 0, '', '', 0, '{{}}')"
    level = f"{COMPARISON} ('x', 'bench', 'p@1', 'p@2', 'y', 'run2', 0.9, 0.9, 0, 'p@1', 'inconclusive', 0, '{{}}')"
    approve = f"{APPROVAL} ('x', 'p@1', 'x', 'approved', 'ada', 'human', 'I like it', 0, '{{}}')"
    refused(small_store, "HR2", again, run, level, approve)


SECOND = '{"attempt": 2}'
"""The rest of a comparison that is the second attempt to beat p@1."""


def test_the_winner_is_whom_the_scores_name(small_store: Path) -> None:
    for winner in ("p@1", "tie", "p@3"):
        lying = f"{COMPARISON} ('x', 'bench', 'p@1', 'p@2', 'run1', 'run2', 0.7, 0.9, 0.01, '{winner}', 'improved', 0, '{SECOND}')"
        refused(small_store, "winner_follows_score", lying)


def test_a_comparison_is_the_attempt_that_it_is_and_no_earlier_one(small_store: Path) -> None:
    made = f"{COMPARISON} ('x', 'bench', 'p@1', 'p@2', 'run1', 'run2', 0.7, 0.9, 0.01, 'p@2', 'improved', 0,"
    refused(small_store, "counts all attempts", f"{made} '{{}}')")
    unlikely = SECOND.replace("2", '2, "pValue": 0.008')
    refused(small_store, "within the error of its attempt", f"{made} '{unlikely}')")


def test_only_a_person_with_a_visible_reason_lets_an_unclear_result_pass(small_store: Path) -> None:
    approve = f"{APPROVAL} ('x', 'p@1', 'unclear', 'approved', 'ada', 'human', 'Legal asks for it.', 0, '{{}}')"
    assert refusal(small_store, approve) is None


@pytest.mark.parametrize("attack", HR3)
def test_a_raw_connection_cannot_part_a_failed_run_from_its_failure(small_store: Path, attack: str) -> None:
    refused(small_store, "HR3", attack)


def test_a_failure_of_another_run_does_not_do(small_store: Path) -> None:
    other = f"{FAILURE} ('bare:failure', 'else', NULL, 'refusal', 'minor', 0, '{{}}')"
    refused(small_store, "HR3", other, HR3[0])


def test_a_timed_out_run_cannot_call_itself_passed(small_store: Path) -> None:
    refused(small_store, "CHECK", f"{RUN} VALUES ('x', 'c1', NULL, 1, 'timed-out', 1, 1, 1, 'llm', 0, '{{}}')")


def test_a_failure_may_be_analysed_anew_and_resolved(small_store: Path) -> None:
    assert refusal(small_store, "UPDATE eval_failure SET severity = 'minor', resolved_at = 1, rest = '{}'") is None


@pytest.mark.parametrize("attack", HR4)
def test_a_raw_connection_cannot_take_the_rationale_away(small_store: Path, attack: str) -> None:
    refused(small_store, "HR4", attack)


@pytest.mark.parametrize("attack", HR4_WITHOUT_NAME)
def test_a_judgment_out_of_range_unsigned_or_repeated_is_refused(small_store: Path, attack: str) -> None:
    refused(small_store, "", attack)


def test_every_character_that_shows_nothing_is_blank_to_the_schema_too(small_store: Path) -> None:
    """Marks (accents on nothing) are the type's to refuse; the schema knows the ones that are never seen at all."""
    shows_nothing = [
        code for code in range(1, 0x110000) if is_blank(chr(code)) and unicodedata.category(chr(code))[0] != "M"
        and not 0xD800 <= code <= 0xDFFF and unicodedata.category(chr(code)) != "Cn"
    ]  # fmt: skip
    with raw(small_store) as db:
        sql = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'eval_judgment'").fetchone()[0]
        start = sql.index("rationale GLOB")
        check = sql[start : sql.index("']*'", start) + len("']*'")]
        rows = db.execute(
            f"SELECT code FROM (SELECT value AS code, char(value) AS rationale FROM json_each(?)) WHERE {check}",
            (str(shows_nothing),),
        ).fetchall()
    assert len(shows_nothing) > 6000
    assert [hex(row[0]) for row in rows] == []


@pytest.mark.parametrize("text", ["x", "é", "好", "नमस्ते", "🙂", "0", "-", "^", "]", "ب", "한"])
def test_a_rationale_of_one_visible_character_in_any_script_is_taken(small_store: Path, text: str) -> None:
    assert (
        refusal(small_store, f"{JUDGMENT} ('new', 'run1:1.1', 'other', 1, 0, 1, '{text}', 'me', 'human', 0, 1)") is None
    )


@pytest.mark.parametrize("attack", HR5)
def test_a_regression_cannot_be_kept_untold_or_untold_later(small_store: Path, attack: tuple[str, ...]) -> None:
    refused(small_store, "HR5", *attack)


def test_a_regression_that_is_told_is_taken(small_store: Path) -> None:
    assert refusal(small_store, FELL_FAILURE, FELL, FELL_CRITICAL, FELL_TASK, FELL_MESSAGE, FELL_RUN) is None


def test_no_row_can_take_the_number_that_stands_for_none_given(small_store: Path) -> None:
    """A row numbered -1 would make every later insert look like a repetition."""
    for table in ("minion", "outbox", "event"):
        with raw(small_store) as db:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] != "seq"]
        values = ", ".join("'other'" if one in {"id", "key"} else one for one in columns)
        listed = ", ".join(columns)
        for number in (-1, 0):
            refused(
                small_store,
                "CHECK",
                f"INSERT INTO {table} (seq, {listed}) SELECT {number}, {values} FROM {table} LIMIT 1",
            )
