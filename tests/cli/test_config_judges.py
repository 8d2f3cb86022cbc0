"""`minions-evals eval` with a config's own judges, as processes: each asked in its words, a missing key named, no key told."""

from __future__ import annotations

import json
from typing import cast

import anyio
import pytest
from anyio import to_thread

from tests.cli.terminal import Json, Terminal
from tests.fakes.llm_server import Server

pytestmark = pytest.mark.anyio
CONFIG = """
prompts: ["Tell me about {{topic}}"]
providers: [echo]
defaultTest: {assertScoringFunction: file://score.py:fair}
tests:
  - vars: {topic: cats}
    assert:
      - {type: contains, value: cats, metric: names}
      - type: llm-rubric
        value: is about {{topic}}
        threshold: 0.5
        provider: {id: "openai:chat:own-judge", config: {apiBaseUrl: "URL/v1", apiKeyEnvar: JUDGE_KEY, temperature: 0}}
        rubricPrompt: file://words.json
  - vars: {topic: dogs}
    options: {provider: {id: "openai:test-judge", config: {apiBaseUrl: "URL/v1", apiKey: sk-literal}}}
    assert: [{type: llm-rubric, value: {tone: kind}}]
"""
WORDS = '[{"role": "system", "content": "By {{rubric}}"}, {"role": "user", "content": "<{{output}}>"}]'
SCORE = """
def fair(named, context):
    passed = all(one["pass"] for one in context["componentResults"])
    return {"pass": passed, "score": named.get("names", 0.5), "reason": f"{len(context['componentResults'])} looked at"}
"""


def judged(found: Json) -> list[Json]:
    rows = cast("list[Json]", found["rows"])
    return [cell for row in rows for cell in cast("list[Json]", row["cells"])]


async def test_each_judge_of_a_config_is_asked_in_its_own_words_and_no_key_is_told(
    at: Terminal, server: Server
) -> None:
    server.heard = []
    at.file("c.yaml", CONFIG.replace("URL", server.url))
    at.file("words.json", WORDS)
    at.file("score.py", SCORE)
    unset = await to_thread.run_sync(at.run, "eval", "c.yaml")
    assert (unset.code, "JUDGE_KEY is not set" in unset.err, server.requests) == (2, True, 0)
    keyed = at.with_env(JUDGE_KEY="sk-of-judge")
    with anyio.fail_after(60):
        told = await to_thread.run_sync(keyed.run, "eval", "c.yaml", "--json", "-o", "r.json")
    assert told.code == 0, told.err
    assert [(cell["passed"], cell["score"]) for cell in judged(told.one())] == [(True, 1.0), (True, 0.5)]
    asked = {body["model"]: body for body in map(json.loads, server.heard)}
    assert asked.keys() == {"own-judge", "test-judge"}
    assert [turn["content"] for turn in asked["own-judge"]["messages"]] == ["By is about cats", "<Tell me about cats>"]
    written = (at.folder / "r.json").read_text()
    assert "2 looked at" in written
    assert b"sk-" not in at.db.read_bytes() + written.encode() + told.out.encode()
