"""The fake model server itself: what the other tests lean on."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from typing import cast

import pytest
from pydantic import JsonValue

from minions_evals_mcp.models.replies import Completion
from minions_evals_mcp.models.request import ModelRequest
from tests.hang import HANG_S
from tests.shared.fakes.llm_answers import Object, answer, judged_output
from tests.shared.fakes.llm_server import FakeSettings
from tests.shared.fakes.llm_wire import dumps
from tests.shared.models.asking import ask_all, client_and_server

VERDICT: Object = {
    "type": "object",
    "properties": {
        "checks": {"type": "array", "items": {"$ref": "#/$defs/check"}, "minItems": 2},
        "quote": {"type": "string"},
        "label": {"type": "string", "enum": ["fail", "pass"]},
        "band": {"anyOf": [{"type": "null"}, {"enum": ["1", "5", "3"]}]},
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "points": {"type": "number"},
        "confidence": {"type": "number"},
        "kind": {"const": "verdict"},
        "nothing": {"type": "null"},
    },
    "$defs": {"check": {"type": "object", "properties": {"met": {"type": "boolean"}}}},
}


def judged(output: str, schema: Object | None = VERDICT, model: str = "judge-10") -> Object:
    prompt = f"The output stands between the marks 0f3a9b77c1.\n<<<0f3a9b77c1\n{output}\n0f3a9b77c1>>>\nJudge it."
    shape: JsonValue = None if schema is None else {"format": {"type": "json_schema", "schema": schema}}
    request: Object = {"model": model, "messages": [{"role": "user", "content": prompt}], "output_config": shape}
    return cast("Object", answer(request, dumps).value)


def test_a_judge_fills_any_schema_with_the_verdict_on_the_output_between_the_marks() -> None:
    good = judged("All is well.\nThe end.")
    assert good["checks"] == [{"met": True}, {"met": True}]
    assert (good["label"], good["band"], good["score"], good["points"]) == ("pass", "5", 5, 10.0)
    assert (good["confidence"], good["kind"], good["nothing"]) == (0.9, "verdict", None)
    assert good["quote"] == "All is well."
    bad = judged("All is BAD.")
    assert (bad["label"], bad["band"], bad["score"], bad["points"], bad["quote"]) == ("fail", "1", 1, 0, "BAD")


def test_a_judge_without_a_schema_says_pass_score_and_reason() -> None:
    assert judged("state=open", None, "judge")["pass"] is False
    assert judged("fine", None, "judge")["score"] == 1


def test_a_prompt_without_marks_is_judged_as_a_whole() -> None:
    assert judged_output("no marks 12345678 here") == "no marks 12345678 here"
    assert judged_output("deadbeef01 inline deadbeef01") == " inline "


async def test_a_broken_score_is_out_of_range_or_no_number() -> None:
    schema: Object = {"type": "object", "properties": {"score": {"type": "integer", "enum": [0, 1]}}}
    broken: set[JsonValue] = set()
    async with client_and_server("openai", FakeSettings(pbadscore=1)) as (client, _):
        for user in ("a", "aa"):
            request = ModelRequest(model="judge", user=user, max_tokens=9, schema=schema)
            reply = await client.complete(request, deadline_s=HANG_S)
            assert isinstance(reply, Completion)
            broken.add(json.loads(reply.text)["score"])
    assert broken == {999, "very high"}


async def test_the_counters_tell_requests_from_repeats() -> None:
    async with client_and_server("anthropic") as (client, server):
        await ask_all(client, 3)
        await ask_all(client, 3)
        stats = server.stats()
    assert (stats["requests"], stats["target"], stats["distinct_bodies"], stats["repeats"]) == (6, 6, 3, 3)
    assert stats["in_flight"] == 0


def got(url: str, body: JsonValue = None) -> Object:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=HANG_S) as response:
        return json.loads(response.read())


def refusal(url: str, body: Object) -> int:
    with pytest.raises(urllib.error.HTTPError) as refused:
        got(url, body)
    refused.value.close()
    return refused.value.code


def test_as_a_process_it_says_its_address_and_takes_new_settings() -> None:
    command = [sys.executable, "-m", "tests.shared.fakes.llm_server", "--port", "0", "--p429", "0.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert cast("Object", got(f"{url}/stats")["settings"])["p429"] == 0.5
            changed = got(f"{url}/config", {"p429": 0, "p500": 1})
            assert cast("Object", changed["settings"])["p500"] == 1
            assert refusal(f"{url}/v1/messages", {"model": "m", "messages": []}) == 500
            assert refusal(f"{url}/config", {"p430": 1}) == 400
            assert refusal(f"{url}/elsewhere", {}) == 404
            assert got(f"{url}/stats")["requests"] == 1
            got(f"{url}/reset", {})
            assert got(f"{url}/stats")["requests"] == 0
        finally:
            process.terminate()
    assert process.returncode == 0
