"""A newcomer's first hour, as real processes: see it work, bring the own suite, find the failures, judge, check."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import JsonValue

from tests.shared.cli.terminal import Json, Terminal

SUITE = """
minions:
  - {id: greet/rubric, type: rubric, fields: {name: Greeting, criteriaIds: [greet/named, greet/warm], passingThreshold: 0.7}}
  - id: greet/named
    type: rubric-criterion
    fields:
      rubricId: greet/rubric
      name: Says the name
      weight: 0.5
      judgeType: heuristic
      scoringGuide: "[{type: contains, value: Ada}]"
  - id: greet/warm
    type: rubric-criterion
    fields: {rubricId: greet/rubric, name: Is warm, weight: 0.5, scoringGuide: 1 is warm and 0 is cold}
  - {id: greet/one, type: test-case, fields: {name: One, inputs: {q: one}, rubricId: greet/rubric}}
  - {id: greet/two, type: test-case, fields: {name: Two, inputs: {q: two}, rubricId: greet/rubric}}
  - {id: greet/sum, type: test-case, fields: {name: Sum, inputs: {q: sum}, expectedOutputs: {output: "4"}}}
  - {id: run/one, type: agent-run, fields: {agentId: greeter, inputs: {q: one}, outputs: {output: Dear Ada}}}
  - {id: run/two, type: agent-run, fields: {agentId: greeter, inputs: {q: two}, outputs: {output: Hey you}}}
  - {id: run/sum, type: agent-run, fields: {agentId: greeter, inputs: {q: sum}, outputs: {output: five}}}
  - {id: greet, type: benchmark, fields: {name: Greeting, testCaseIds: [greet/one, greet/two, greet/sum]}}
"""


def rows(value: object) -> list[Json]:
    assert isinstance(value, list)
    return [one for one in value if isinstance(one, dict)]  # pyright: ignore[reportUnknownVariableType]  JSON


def test_a_newcomer_goes_from_the_demo_to_a_judged_suite_of_their_own(tmp_path: Path) -> None:
    at = Terminal(tmp_path)
    demo = at.run("demo")
    assert demo.code == 0, demo
    assert "regression" in demo.out

    at.file("mine.yaml", SUITE)
    assert at.run("import", "mine.yaml").out == "mine.yaml: 10 new, 0 changed, 0 unchanged\n"

    started = at.run("run-benchmark", "greet", "--key", "first")
    assert started.code == 0, started
    assert "2 outputs wait to be judged" in started.out
    waiting = at.run("runs", "first", "--json").one()
    assert waiting["state"] == "awaiting-judgments"
    assert [one["testCaseId"] for one in rows(waiting["failures"])] == ["greet/sum"]
    packets = rows(waiting["packets"])
    assert [[one["criterionId"] for one in rows(packet["criteria"])] for packet in packets] == [["greet/warm"]] * 2

    at.file("judged.json", {"runId": waiting["runId"], "judgedBy": "me", "packets": [judged(one) for one in packets]})
    done = at.run("submit", "judged.json", "--json").one()
    assert (done["state"], done["outcomes"]) == ("completed", {"scored": 3})
    run = done["benchmarkRun"]
    assert isinstance(run, dict)
    assert (run["passedCount"], run["totalCount"]) == (1, 3)
    assert sorted(str(one["testCaseId"]) for one in rows(done["failures"])) == ["greet/sum", "greet/two"]

    shown = at.run("runs", "first")
    assert "1 of 3 passed" in shown.out
    assert "2 failed: 2 wrong-output" in shown.out
    assert at.run("run-benchmark", "greet", "--min-score", "0.9").code in {0, 3}
    assert at.run("run-benchmark", "greet", "--key", "first", "--min-score", "0.9", "--literal").code == 1

    checked = at.run("db", "check", "--json").one()
    assert checked["ok"] is True
    counted = checked["checked"]
    assert isinstance(counted, dict)
    assert counted["eval-failure"] >= 2  # pyright: ignore[reportOperatorIssue]  a count
    assert at.run("doctor").code == 0


def judged(packet: Json) -> JsonValue:
    warm = "Dear" in json.dumps(packet["output"])
    verdict: Json = {
        "criterionId": "greet/warm",
        "score": float(warm),
        "rationale": "“Dear” is warm." if warm else "“Hey you” is cold.",
    }
    return {"digest": packet["digest"], "judgments": [verdict]}
