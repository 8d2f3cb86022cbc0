"""The five skills through the daemon as a real process: what it leaves in the store, line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minions_evals_mcp.domain.failing.failure_types import FAILURE_TYPES
from tests.shared.agent.desk import EVALS, Desk
from tests.shared.agent.story import FALLING, LOG, NEIGHBOURS, RISING, first_messages, second_messages, suite


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """The store after the whole story."""
    desk = Desk(tmp_path_factory.mktemp("story"))
    desk.imported(*suite())
    desk.drained(*first_messages())
    (desk.folder / "neighbours.yaml").write_text(NEIGHBOURS)
    desk.drained(*second_messages(desk), options=("--integrations", str(desk.folder / "neighbours.yaml")))
    return desk


def run_of(desk: Desk, message_id: str) -> str:
    """The run that the message started."""
    return str(desk.result(message_id)["runId"])


def told(desk: Desk, kind: str) -> list[dict[str, object]]:
    """The payloads of the messages of that type to the orchestrator."""
    rows = desk.rows("SELECT fields FROM outbox WHERE type = 'agent-message' AND addressee = 'orchestrator'")
    found = [json.loads(row[0]) for row in rows]
    return [one["payload"] for one in found if one["type"] == kind]


def test_the_case_is_judged_by_its_rubric_and_every_criterion_of_it(desk: Desk) -> None:
    run = desk.fields("test_run", "id = ?", f"{run_of(desk, 'edge')}:1.1")
    assert run["rubricId"] == "r"
    judged = desk.rows(
        "SELECT criterion_id FROM eval_judgment WHERE test_run_id = ? ORDER BY seq", f"{run_of(desk, 'edge')}:1.1"
    )
    assert judged == [("r/word",), ("r/tone",)]


def test_the_output_is_the_linked_agent_runs_word_for_word(desk: Desk) -> None:
    run = desk.fields("test_run", "id = ?", f"{run_of(desk, 'edge')}:1.1")
    assert run["actualOutput"] == {"output": "good"}
    ((agent_run,),) = desk.rows("SELECT agent_run_id FROM test_run WHERE id = ?", f"{run_of(desk, 'edge')}:1.1")
    assert agent_run == "edge-run"


def test_a_human_criterion_becomes_an_approval_request_whose_answer_is_the_judgment(desk: Desk) -> None:
    ((addressee, text),) = desk.rows("SELECT addressee, fields FROM outbox WHERE type = 'approval-request'")
    assert addressee == "people"
    assert json.loads(text)["contextRefId"] == run_of(desk, "taste")
    judged = desk.rows(
        "SELECT score, rationale, judged_by, judged_by_type FROM eval_judgment WHERE criterion_id = 'person/taste'"
    )
    assert judged == [(4.0, "It rhymes well.", "ben", "human")]


def test_every_criterion_has_one_judgment_with_a_rationale(desk: Desk) -> None:
    rows = desk.rows(
        "SELECT r.id, count(DISTINCT j.criterion_id), count(*), min(length(trim(j.rationale))) FROM test_run r"
        " JOIN eval_judgment j ON j.test_run_id = r.id WHERE r.test_case_id NOT IN ('taste', 'proposal') GROUP BY r.id"
    )
    assert len(rows) > 100
    assert {(distinct, number) for _, distinct, number, _ in rows} == {(2, 2)}
    assert min(shortest for *_, shortest in rows) > 0


def test_the_weighted_sum_passes_when_it_just_reaches_the_threshold(desk: Desk) -> None:
    row = desk.rows(
        "SELECT total_score, max_possible_score, passed FROM test_run WHERE id = ?", f"{run_of(desk, 'edge')}:1.1"
    )
    assert row == [(0.75, 1.0, 1)]


def test_a_benchmark_run_holds_every_case_and_its_figures(desk: Desk) -> None:
    ident = run_of(desk, "b-after")
    run = desk.rows("SELECT passed_count, total_count, overall_score FROM benchmark_run WHERE id = ?", ident)
    assert run == [(2, 8, pytest.approx(0.1875))]
    assert desk.rows("SELECT count(*) FROM test_run WHERE benchmark_run_id = ?", ident) == [(8,)]
    assert desk.result("b-after")["passRate"] == 25.0


def test_the_benchmark_knows_its_last_run_and_score(desk: Desk) -> None:
    fields = desk.fields("minion", "id = 'b'")
    assert fields["lastScore"] == pytest.approx(0.1875)
    assert fields["lastRunAt"]


def test_a_regression_is_recorded_asked_about_and_told_at_once(desk: Desk) -> None:
    ident = run_of(desk, "b-after")
    failures = desk.rows("SELECT severity FROM eval_failure WHERE id = ?", f"{ident}:regression")
    assert failures == [("critical",)]
    ((text, at),) = desk.rows("SELECT fields, created_at FROM outbox WHERE key = ?", f"investigate-regression:{ident}")
    assert json.loads(text)["title"] == "Investigate benchmark regression"
    ((ran_at,),) = desk.rows("SELECT ran_at FROM benchmark_run WHERE id = ?", ident)
    assert at == ran_at
    (payload,) = told(desk, "benchmark-regression")
    assert payload["benchmarkRunId"] == ident


def test_every_benchmark_run_is_a_point_of_its_trend(desk: Desk) -> None:
    fields = desk.fields("minion", "id = 'trend:falling'")
    points = json.loads(str(fields["dataPoints"]))
    assert [point["score"] for point in points] == [pytest.approx(0.075 * passes) for passes in FALLING]
    reacted = desk.rows("SELECT state FROM inbox WHERE type = 'benchmark-run-recorded'")
    assert len(reacted) == len(FALLING) + 2 * len(RISING) + 4
    assert set(reacted) == {("done",)}


def test_the_direction_is_read_over_the_last_five_points(desk: Desk) -> None:
    assert desk.result("trend")["direction"] == "degrading"
    assert desk.fields("minion", "id = 'trend:falling'")["window"] == 5
    assert desk.fields("minion", "id = 'trend:rising'")["direction"] == "improving"
    flat = desk.fields("minion", "id = 'trend:flat'")
    assert (flat["direction"], flat["provisional"], flat["volatile"]) == ("stable", False, False)


def test_three_degrading_runs_escalate_once_with_the_whole_series(desk: Desk) -> None:
    (payload,) = told(desk, "trend-degrading")
    assert (payload["consecutiveDegrading"], payload["provisional"]) == (3, False)
    assert str(payload["dataPoints"]).count("score") == 5, (
        "the first three degrading readings are those of the runs 3 to 5"
    )


def test_a_comparison_runs_the_benchmark_once_under_each_version(desk: Desk) -> None:
    ident = str(desk.result("compare")["comparisonId"])
    row = desk.rows("SELECT prompt_version_a, prompt_version_b, score_a, score_b, winner FROM prompt_comparison")
    assert row == [("p@1", "p@2", pytest.approx(0.125), pytest.approx(0.75), "p@2")]
    runs = desk.rows("SELECT prompt_version_ref, total_count FROM benchmark_run WHERE benchmark_id = 'cmp' ORDER BY 1")
    assert runs == [("p@1", 12), ("p@2", 12)]
    assert desk.rows("SELECT id FROM prompt_comparison") == [(ident,)]


def test_the_orchestrator_is_told_comparison_complete_with_a_recommendation(desk: Desk) -> None:
    (payload,) = told(desk, "comparison-complete")
    assert (payload["winner"], payload["recommendation"]) == ("p@2", "ship")


def test_every_failed_run_is_classified_in_full(desk: Desk) -> None:
    failed = desk.rows(
        "SELECT f.failure_type, f.rest FROM test_run r JOIN eval_failure f ON f.id = r.id || ':failure' WHERE r.passed = 0"
    )
    assert failed
    assert desk.rows("SELECT count(*) FROM test_run WHERE passed = 0") == [(len(failed),)]
    assert {kind for kind, _ in failed} <= {*FAILURE_TYPES}
    for _, rest in failed:
        assert json.loads(rest)["affectedCriterionIds"][0] == "r/word"
        assert json.loads(rest)["description"]


def test_the_root_cause_quotes_the_step_of_the_tool_call_log(desk: Desk) -> None:
    failure = desk.fields("eval_failure", "id = ?", f"{run_of(desk, 'lost')}:1.1:failure")
    assert isinstance(LOG, list)
    assert "lookup" in str(failure["rootCause"])
    assert "no such order" in str(failure["rootCause"])


def test_the_agent_is_to_remember_every_cause_once(desk: Desk) -> None:
    items = [json.loads(row[0]) for row in desk.rows("SELECT fields FROM outbox WHERE type = 'memory-item'")]
    failed = {row[0] for row in desk.rows("SELECT id || ':failure' FROM test_run WHERE passed = 0")}
    causes = desk.rows("SELECT DISTINCT json_extract(rest, '$.causeKey') FROM eval_failure WHERE id LIKE '%:failure'")
    assert {one["agentId"] for one in items} == {"writer"}
    assert {one["sourceRefId"] for one in items} < failed
    assert sorted(one["key"] for one in items) == sorted(f"eval-failure/{cause}" for (cause,) in causes)
    assert desk.rows("SELECT DISTINCT addressee FROM outbox WHERE type = 'memory-item'") == [("memory",)]


def test_an_approval_rests_on_the_comparison_that_its_version_wins(desk: Desk) -> None:
    row = desk.rows("SELECT prompt_version_ref, comparison_id, decision, decided_by FROM approval")
    assert row == [("p@2", desk.result("compare")["comparisonId"], "approved", "lead")]


def test_no_failed_run_is_without_its_failure_and_the_store_is_sound(desk: Desk) -> None:
    assert desk.sound()


def test_the_agent_writes_to_its_own_store_only(desk: Desk) -> None:
    assert {path.name.removesuffix("-wal").removesuffix("-shm") for path in desk.folder.iterdir()} <= {
        "evals.db", "evals.db.locks", "suite.json", "neighbours.yaml",
    }  # fmt: skip
    assert desk.rows("SELECT count(*) FROM delivery WHERE state <> 'pending'") == [(0,)]


def test_a_completed_agent_run_is_recorded_as_it_is_and_judged_by_the_cases_that_asked(desk: Desk) -> None:
    result = desk.result("done")
    kept = desk.fields("minion", "id = ?", str(result["agentRunId"]))
    assert kept["outputs"] == {"output": "good and kind"}
    assert isinstance(result["runs"], dict)
    assert list(result["runs"]) == ["edge"]
    (run,) = result["runs"].values()
    assert desk.rows("SELECT total_score FROM test_run WHERE id = ?", f"{run}:1.1") == [(1.0,)]


def test_the_memory_of_quality_holds_versions_failures_and_trends_side_by_side(desk: Desk) -> None:
    ((versions, failures, trends),) = desk.rows(
        "SELECT (SELECT count(DISTINCT prompt_version_ref) FROM benchmark_run), (SELECT count(*) FROM eval_failure),"
        " (SELECT count(*) FROM minion WHERE type = 'eval-trend')"
    )
    assert (versions, trends) == (17, 4)
    assert failures > 30


def test_who_triggered_and_who_judged_are_named(desk: Desk) -> None:
    ((text,),) = desk.rows("SELECT spec FROM job WHERE id = ?", run_of(desk, "edge"))
    assert json.loads(text)["request"]["triggeredBy"] == "anna"
    assert desk.fields("benchmark_run", "id = ?", run_of(desk, "b-before"))["triggeredBy"] == "orchestrator"
    assert desk.rows("SELECT DISTINCT judged_by_type FROM eval_judgment ORDER BY 1") == [("heuristic",), ("human",)]


def test_a_proposals_score_is_the_criterions_and_gates_are_measured(desk: Desk) -> None:
    judged = desk.rows(
        "SELECT score, judged_by_type, rationale FROM eval_judgment WHERE criterion_id = 'draft/relevance'"
    )
    assert judged[0][:2] == (0.9, "heuristic")
    assert "score given by" in judged[0][2]
    (payload,) = told(desk, "benchmark-regression")
    assert "dropped from" in str(payload["summary"])
    shown = desk.ran(EVALS, "show", "writing", "--json")
    assert "minScore" in shown.out


def test_every_message_is_answered_once_and_the_one_that_waited_for_people_once_they_have_judged(desk: Desk) -> None:
    sent = [str(one["id"]) for one in (*first_messages(), *second_messages(desk))]
    rows = desk.rows("SELECT fields FROM outbox WHERE key LIKE 'reply:%'")
    answered = [json.loads(row[0])["payload"]["messageId"] for row in rows]
    assert sorted(answered) == sorted([*sent, "taste"])


def test_the_store_can_be_drained_again_and_nothing_is_done_twice(desk: Desk, tmp_path: Path) -> None:
    copy = Desk(tmp_path)
    for path in desk.folder.glob("evals.db*"):
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    before = copy.rows(
        "SELECT (SELECT count(*) FROM test_run), (SELECT count(*) FROM outbox), (SELECT count(*) FROM event)"
    )
    copy.drained(*first_messages())
    after = copy.rows(
        "SELECT (SELECT count(*) FROM test_run), (SELECT count(*) FROM outbox), (SELECT count(*) FROM event)"
    )
    assert after == before


def replies(desk: Desk, message_id: str) -> list[dict[str, object]]:
    """What its sender was told of the message, oldest first."""
    rows = desk.rows("SELECT fields FROM outbox WHERE key LIKE 'reply:%' ORDER BY seq")
    payloads = [json.loads(row[0])["payload"] for row in rows]
    return [one["result"] for one in payloads if one["messageId"] == message_id]


def test_the_reply_about_a_case_carries_its_verdict_and_the_failure_with_its_cause(desk: Desk) -> None:
    (passed,) = replies(desk, "edge")
    assert (passed["passed"], passed["score"], passed["isRegression"]) == (True, 0.75, False)
    assert "good" in str(passed["reason"])
    (failed,) = replies(desk, "lost")
    assert (failed["passed"], failed["score"], failed["regressionType"]) == (False, 0.0, None)
    assert isinstance(failure := failed["failure"], dict)
    assert failure["failureType"] in FAILURE_TYPES
    assert "no such order" in failure["rootCause"]


def test_the_reply_about_a_completed_agent_run_carries_the_verdict_of_every_case(desk: Desk) -> None:
    (told_of,) = replies(desk, "done")
    assert isinstance(verdicts := told_of["verdicts"], dict)
    assert (verdicts["edge"]["passed"], verdicts["edge"]["score"]) == (True, 1.0)
    assert verdicts["edge"]["runId"] == told_of["runs"]["edge"]  # type: ignore[index]


def test_a_sender_who_waited_for_a_person_is_told_the_verdict_then(desk: Desk) -> None:
    first, last = replies(desk, "taste")
    assert (first["state"], first["passed"]) == ("awaiting-judgments", None)
    assert (last["passed"], last["score"], last["reason"]) == (True, 0.8, "It rhymes well.")


def test_the_reply_about_a_benchmark_counts_and_names_what_its_failures_go_back_to(desk: Desk) -> None:
    reply = desk.result("b-after")
    assert (reply["passedCount"], reply["totalCount"], reply["errorCount"], reply["passed"]) == (2, 8, 0, False)
    assert str(reply["reason"]).startswith("2 of 8 passed; 6 of 6 failed cases: ")
    causes = reply["causes"]
    assert isinstance(causes, list)
    (cause,) = causes
    assert isinstance(cause, dict)
    assert (cause["failureType"], cause["cases"]) == ("wrong-output", 6)
    assert cause["testCaseIds"] == [f"b{number}" for number in range(2, 8)]
    assert desk.result("b-before")["reason"] == "8 of 8 passed"
    assert desk.result("b-before")["causes"] == []


def test_the_reply_about_a_comparison_carries_both_scores_and_the_recommendation(desk: Desk) -> None:
    reply = desk.result("compare")
    assert (reply["versionA"], reply["versionB"], reply["winner"]) == ("p@1", "p@2", "p@2")
    assert (reply["scoreA"], reply["scoreB"]) == (pytest.approx(0.125), pytest.approx(0.75))
    assert (reply["verdict"], reply["recommendation"]) == ("improved", "ship")
    assert str(reply["reason"]).startswith("Ship p@2: ")
