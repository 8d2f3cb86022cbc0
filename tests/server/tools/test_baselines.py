"""What has nothing to judge by, or no output at all: the answer says what settles it, and the call that it names does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from mcp_types import ElicitResult
from pydantic import JsonValue

from tests.server.session.test_people import KIND, hosted_with
from tests.shared.server.hosts import ERAS, Host, judged, part, read_by_people, rows, suite
from tests.workshop import Json


def _without_expectation(size: int = 1) -> list[JsonValue]:
    """A suite whose first case says nothing of what is right."""
    records = suite(size, bad=0)
    del part(cast("Json", records[0]), "fields")["expectedOutputs"]
    return records


def _called(said: JsonValue) -> Json:
    """The arguments in a line that says what to call."""
    return json.loads(str(said)[str(said).index(" {") :])


async def _waiting(host: Host, records: list[JsonValue], **more: Any) -> Json:
    await host.call("save_records", records=records)
    return await host.call("run_benchmark", benchmarkId="b", waitSeconds=50, idempotencyKey="k", **more)


@pytest.mark.parametrize("judge", ["auto", "caller", "human"])
async def test_the_call_that_a_waiting_output_names_makes_its_baseline_and_judges_it(host: Host, judge: str) -> None:
    left = await _waiting(host, _without_expectation(3), judge=judge)
    assert (left["state"], left["waiting"]) == ("awaiting-judgments", 1)
    (packet,) = rows(left, "packets")
    assert (packet["testCaseId"], packet["waitsFor"]) == ("c0", "a baseline")
    assert "expectedOutputs" in str(left["instructions"])
    (said,) = cast("list[JsonValue]", left["next"])
    wish = _called(said)
    part(rows(wish, "records")[0], "fields")["expectedOutputs"] = packet["output"]
    saved = await host.call("save_records", **wish)
    assert "judged" in str(saved["summary"])
    done = await host.call("get_run", **_called(cast("list[JsonValue]", saved["next"])[0]))
    assert str(done["summary"]).startswith("benchmark b: completed; 3 of 3 passed")


async def test_a_baseline_that_the_output_misses_fails_it_with_its_failure(host: Host) -> None:
    await _waiting(host, _without_expectation(2))
    change: Json = {"id": "c0", "type": "test-case", "fields": {"expectedOutputs": {"output": "better"}}}
    await host.call("save_records", records=[change], merge=True)
    (failure,) = rows(await host.call("get_run", runId="k"), "failures")
    assert failure["testCaseId"] == "c0"


async def test_what_is_no_baseline_leaves_what_waits_to_its_judge(host: Host) -> None:
    await _waiting(host, read_by_people(1), judge="caller")
    change: Json = {"id": "c0", "type": "test-case", "fields": {"description": "Said more clearly."}}
    saved = await host.call("save_records", records=[change], merge=True)
    assert (saved["changed"], "next" in saved) == (1, False)
    assert (await host.call("get_run", runId="k"))["waiting"] == 1


async def test_a_verdict_on_it_is_refused_with_the_call_that_settles_it(host: Host) -> None:
    (packet,) = rows(await _waiting(host, _without_expectation(), judge="caller"), "packets")
    verdict: Json = {"criterionId": "c0", "score": 1, "rationale": "It is good."}
    said = await host.refused(
        "submit_judgments", runId="k", judgedBy="ide", packets=[{"digest": packet["digest"], "judgments": [verdict]}]
    )
    assert 'save_records {"records": [{"id": "c0"' in said


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_asked_for_no_score_where_nothing_says_what_is_right(tmp_path: Path, era: str) -> None:
    person = read_by_people(2)
    del part(cast("Json", person[2]), "fields")["rubricId"]
    async with hosted_with(tmp_path, era, KIND) as (host, shown):
        left = await _waiting(host, person, judge="human")
        assert (left["state"], left["waiting"]) == ("awaiting-judgments", 1)
    (question,) = shown
    assert "c1" in question


@pytest.mark.parametrize("era", ERAS)
async def test_nobody_is_asked_where_no_score_would_settle_it(tmp_path: Path, era: str) -> None:
    async with hosted_with(tmp_path, era, lambda _: ElicitResult(action="cancel")) as (host, shown):
        assert (await _waiting(host, _without_expectation()))["waiting"] == 1
    assert not shown


async def test_a_missing_output_is_told_with_the_call_that_records_it_and_the_key_goes_on(host: Host) -> None:
    case, output, benchmark = suite(1, bad=0)
    left = await _waiting(host, [case, benchmark])
    assert "no target to generate one" in str(left["reason"])
    recording, resuming = cast("list[JsonValue]", left["next"])
    assert rows(_called(recording), "records")[0]["type"] == "agent-run"
    await host.call("save_records", records=[output])
    done = await host.call("run_benchmark", **_called(resuming), waitSeconds=50)
    assert (done["runId"], done["state"]) == (left["runId"], "completed")


async def test_an_answer_without_lists_has_no_cursor(host: Host) -> None:
    await _waiting(host, suite(9, bad=9))
    assert "nextCursor" not in await host.call("get_run", runId="k", fields=["benchmarkRun"])
    assert (await host.call("get_run", runId="k", fields=["failures"]))["nextCursor"] == "5"


async def test_a_packet_whose_case_was_changed_is_refused_with_the_way_out(host: Host) -> None:
    await _waiting(host, read_by_people(1), judge="caller")
    change: Json = {"id": "c0", "type": "test-case", "fields": {"expectedOutputs": {"output": "Else."}}}
    await host.call("save_records", records=[change], merge=True)
    (packet,) = rows(await host.call("get_run", runId="k"), "packets")
    said = await host.refused("submit_judgments", runId="k", judgedBy="ide", packets=[judged(packet)])
    assert "run again under a new key" in said
