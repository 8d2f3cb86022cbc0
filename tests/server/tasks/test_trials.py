"""A trial of a candidate version is a run like every other: it has an id, goes on after the wait, and can be stopped and resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import mcp_types as types
from pydantic import JsonValue

from tests.server.tasks.test_tasks import About, Cancel, Handle, State, following, state
from tests.shared.fakes.llm_server import FakeSettings, serving
from tests.shared.server.hosts import hosted, part, read_by_people
from tests.workshop import Json, config_in

ASKED: Json = {"benchmarkId": "b", "version": "p@2", "judge": "llm"}
FOLLOWS: list[JsonValue] = [{"sourceId": "p@2", "targetId": "p@1"}]


def versioned(size: int) -> list[JsonValue]:
    """So many cases that a model judges, with the outputs of two versions of one prompt."""
    found: list[JsonValue] = [
        one for one in read_by_people(size) if isinstance(one, dict) and one["type"] != "agent-run"
    ]
    for version in ("p@1", "p@2"):
        fields: Json = {"content": f"Say {version}.", "versionNumber": int(version[-1]), "promptId": "p"}
        found.append({"id": version, "type": "prompt-version", "fields": fields})
        for number in range(size):
            fields = {
                "agentId": "agent", "promptVersionRef": version, "inputs": {"q": f"c{number}"},
                "outputs": {"output": f"Output {number} of {version}."},
            }  # fmt: skip
            found.append({"id": f"{version}/c{number}", "type": "agent-run", "fields": fields})
    return found


async def test_a_trial_that_outlasts_the_wait_is_a_task_whose_result_is_the_tools_answer(tmp_path: Path) -> None:
    async with serving() as judge, following(tmp_path, judge.url) as client:
        judge.hold()
        await client.call_tool("save_records", {"records": versioned(2), "relations": FOLLOWS})
        handle = await client.session.call_tool("try_version", ASKED, allow_claimed=True)
        assert isinstance(handle, Handle), handle
        assert handle.status == "working"
        judge.release()
        await client.call_tool("get_run", {"runId": handle.task_id, "waitSeconds": 50})
        done = await state(client, handle.task_id)
        assert done.status == "completed"
        assert done.result is not None
        answer = done.result["structuredContent"]
        assert (answer["runId"], answer["kind"], answer["state"]) == (handle.task_id, "trial", "completed")
        assert answer["trial"]["open"]["versionB"] == "p@2"
        again = await client.call_tool("try_version", {**ASKED, "waitSeconds": 50})
        assert isinstance(again, types.CallToolResult)
        assert again.structured_content == answer, "the same settings are the same trial"


async def test_a_cancelled_trial_is_resumed_by_the_call_that_its_answer_names(tmp_path: Path) -> None:
    async with serving(FakeSettings(latency_ms=60_000)) as judge, following(tmp_path, judge.url) as client:
        await client.call_tool("save_records", {"records": versioned(2), "relations": FOLLOWS})
        handle = await client.session.call_tool("try_version", ASKED, allow_claimed=True)
        assert isinstance(handle, Handle), handle
        await client.session.send_request(Cancel(params=About(task_id=handle.task_id)), State)
        assert (await state(client, handle.task_id)).status == "cancelled"
        looked = await client.call_tool("get_run", {"runId": handle.task_id})
        assert isinstance(looked, types.CallToolResult)
        (step,) = cast("dict[str, list[str]]", looked.structured_content)["next"]
        tool, _, arguments = step.removeprefix("resume: ").partition(" ")
        again = await client.session.call_tool(tool, json.loads(arguments), allow_claimed=True)
        assert isinstance(again, Handle), again
        assert (again.task_id, again.status) == (handle.task_id, "working")


async def test_the_next_server_takes_a_trial_up(tmp_path: Path) -> None:
    async with (
        serving(FakeSettings(latency_ms=60_000)) as judge,
        hosted(config_in(tmp_path, model_url=judge.url)) as host,
    ):
        await host.call("save_records", records=versioned(2), relations=FOLLOWS)
        begun = await host.call("try_version", **ASKED)
        assert begun["state"] == "running"
    async with serving() as quick, hosted(config_in(tmp_path, model_url=quick.url)) as host:
        done = await host.call("get_run", runId=begun["runId"], waitSeconds=50)
        assert part(done, "trial")["version"] == "p@2"


async def test_a_key_of_other_settings_is_refused_before_anything_runs(tmp_path: Path) -> None:
    async with serving() as judge, hosted(config_in(tmp_path, model_url=judge.url)) as host:
        await host.call("save_records", records=versioned(2), relations=FOLLOWS)
        await host.call("try_version", **ASKED, idempotencyKey="k", waitSeconds=50)
        refused = await host.refused("try_version", benchmarkId="b", version="p@2", trials=2, idempotencyKey="k")
        assert "the key 'k' belongs to the run" in refused
        assert "idempotencyKey" in refused
