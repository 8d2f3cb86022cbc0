"""OpenAI's Responses interface: what is sent over a real socket, and how its replies are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Cell
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from minions_evals_mcp.models.faults import AttemptFault
from minions_evals_mcp.models.prices import price_known
from minions_evals_mcp.models.registry import ProviderSettings
from minions_evals_mcp.models.replies import Completion, RefusedReply, Truncated
from minions_evals_mcp.models.responses import read_response
from tests.hang import HANG_S
from tests.shared.targets.application import Asked as Heard
from tests.shared.targets.application import application, reply
from tests.workshop import START, all_of, bench, benchmark, case, config_in, opened, save

pytestmark = pytest.mark.anyio
Json = dict[str, JsonValue]
USAGE: Json = {"input_tokens": 12, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}
FUNCTION: Json = {"name": "weather", "parameters": {"type": "object"}}


def text(said: str, kind: str = "output_text") -> Json:
    part: Json = {"type": kind, "refusal" if kind == "refusal" else "text": said}
    return {"type": "message", "role": "assistant", "content": [part]}


def body(*output: Json, **more: JsonValue) -> Json:
    return {"model": "gpt-5-2025", "status": "completed", "output": [*output], "usage": USAGE, **more}


async def cell(
    folder: Path, answers: Json, config: Json, *, prompt: str = "hi", check: Json | None = None
) -> tuple[Json, Cell]:
    """What the server was sent for that prompt, and the cell that its reply became."""

    async def answering(_: Heard) -> bytes:
        return reply(answers, content_type="application/json")

    async with application(answering) as app:
        access: Json = {"apiBaseUrl": f"{app.url}/v1", "apiKey": "a-key-of-ours"}
        model: Json = {"id": "openai:responses:gpt-5", "config": {**access, **config}}
        asserted: Json = {"assert": [{**check, "provider": model}]} if check else {}
        whole = {
            "prompts": [prompt],
            "providers": ["echo" if check else model],
            "tests": [{"vars": {"x": "1"}, **asserted}],
        }
        (folder / "c.yaml").write_text(json.dumps(whole))
        async with opened(config_in(folder)) as engine:
            with anyio.fail_after(HANG_S):
                matrix = await evaluate(
                    engine, read_config(folder / "c.yaml", now=START), EvalOptions(), environment={}
                )
        (asked,) = app.asked
        assert (asked.path, asked.headers["authorization"]) == ("/v1/responses", "Bearer a-key-of-ours")
        sent = asked.json()
        assert isinstance(sent, dict)
        return sent, matrix.rows[0].cells[0]


async def test_a_prompt_and_its_settings_are_said_as_the_interface_wants_them(tmp_path: Path) -> None:
    config: Json = {
        "max_output_tokens": 70, "instructions": "be brief", "reasoning_effort": "low", "verbosity": "low",
        "tools": [{"type": "function", "function": FUNCTION}, {"type": "web_search"}],
        "response_format": {"type": "json_schema", "name": "event", "schema": {"type": "object"}},
    }  # fmt: skip
    sent, found = await cell(tmp_path, body(text('{"a": 1}')), config)
    form = {"type": "json_schema", "name": "event", "strict": True, "schema": {"type": "object"}}
    assert sent == {
        "model": "gpt-5", "input": "hi", "max_output_tokens": 70, "instructions": "be brief",
        "reasoning": {"effort": "low"}, "text": {"format": form, "verbosity": "low"},
        "tools": [{"type": "function", **FUNCTION}, {"type": "web_search"}],
    }  # fmt: skip
    assert (found.value, found.input_tokens, found.output_tokens) == ({"a": 1}, 12, 5)


async def test_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    sent, found = await cell(tmp_path, body(text("one"), text("two")), {}, prompt=json.dumps(turns))
    assert (sent["input"], found.output) == (turns, "one\ntwo")


async def test_it_judges_too(tmp_path: Path) -> None:
    said = json.dumps({"reason": "it says hi", "pass": True, "score": 0.75})
    sent, found = await cell(tmp_path, body(text(said)), {}, check={"type": "llm-rubric", "value": "it greets"})
    assert (found.passed, found.score) == (True, 0.75)
    asked, form = sent["input"], sent["text"]
    assert isinstance(asked, list)
    assert isinstance(form, dict)
    assert [turn["role"] for turn in asked if isinstance(turn, dict)] == ["system", "user"]
    assert str(form["format"]).startswith("{'type': 'json_schema', 'name': 'answer'")


TOLD: list[tuple[list[Json], str]] = [
    ([{"type": "reasoning", "summary": [{"text": "hm"}]}, text("x")], "Reasoning: hm\nx"),
    ([{"type": "reasoning", "summary": []}, text("x")], "x"),
    ([{"type": "web_search_call", "action": {"type": "search", "query": "q"}}, text("x")], 'Web Search: "q"\nx'),
    ([{"type": "mcp_call", "name": "n", "output": "o"}], "MCP Tool Result (n): o"),
    ([{"type": "mcp_call", "name": "n", "error": "e"}], "MCP Tool Error (n): e"),
    ([{"type": "function_call", "name": "f", "arguments": '{"a":1}'}],
     '{"type":"function_call","name":"f","arguments":"{\\"a\\":1}"}'),
    ([{"type": "of another kind"}, text("x")], "x"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "said"), TOLD)
def test_each_piece_is_told_on_a_line_of_its_own(items: list[Json], said: str) -> None:
    found = read_response(json.dumps(body(*items)).encode())
    assert isinstance(found, Completion)
    assert (found.text, found.model) == (said, "gpt-5-2025")
    assert found.usage is not None
    assert found.usage.cache_read_tokens == 4


def test_a_refusal_a_cut_and_what_failed_are_told_apart() -> None:
    refused = read_response(json.dumps(body(text("no", "refusal"))).encode())
    cut = read_response(
        json.dumps(body(text("a"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})).encode()
    )
    assert isinstance(refused, RefusedReply)
    assert refused.explanation == "no"
    assert isinstance(cut, Truncated)
    for broken in (body(), body(status="failed", error={"message": "out of order"}), {"output": 3}):
        assert isinstance(read_response(json.dumps(broken).encode()), AttemptFault)


def test_its_models_cost_what_they_cost_elsewhere() -> None:
    assert price_known("openai", "responses:gpt-5.1")


async def test_a_run_asks_that_interface_as_target_and_as_judge(tmp_path: Path) -> None:
    async def answering(asked: Heard) -> bytes:
        sent = asked.json()
        assert isinstance(sent, dict)
        judges = isinstance(sent.get("text"), dict)  # the form in which a judge is to answer
        said = '{"reason": "it says so", "pass": true, "score": 1}' if judges else "Paris"
        return reply(body(text(said)), content_type="application/json")

    async with application(answering) as app:
        settings = ProviderSettings(access={"openai": ProviderAccess("key", f"{app.url}/v1")})
        config = replace(config_in(tmp_path), providers=settings, judge_model="openai:responses:gpt-5")
        async with opened(config) as engine:
            asserted: Json = {"assertions": [{"type": "llm-rubric", "value": "names the capital"}]}
            await save(engine, [case("x", **asserted), benchmark("b", "x")])
            with anyio.fail_after(HANG_S):
                await bench(engine, "b", target="openai:responses:gpt-5")
            (run,) = await all_of(engine, TestRun)
            assert (run.fields.passed, run.fields.produced_by) == (True, "openai:responses:gpt-5")
        assert [one.path for one in app.asked] == ["/v1/responses"] * 2
