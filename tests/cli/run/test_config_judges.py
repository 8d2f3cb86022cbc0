"""`minions-evals eval` with a config's own judges, as processes: each asked in its words, a missing key named, no key told."""

from __future__ import annotations

import json
from typing import cast

import anyio
import pytest
from anyio import to_thread

from tests.hang import HANG_S
from tests.shared.cli.terminal import Json, Terminal
from tests.shared.fakes.llm_server import Server

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
    unset = await to_thread.run_sync(at.run, "eval", "c.yaml", "--yes")
    assert (unset.code, "JUDGE_KEY is not set" in unset.err, server.requests) == (2, True, 0)
    keyed = at.with_env(JUDGE_KEY="sk-of-judge")
    with anyio.fail_after(HANG_S):
        told = await to_thread.run_sync(keyed.run, "eval", "c.yaml", "--yes", "--json", "-o", "r.json")
    assert told.code == 0, told.err
    assert [(cell["passed"], cell["score"]) for cell in judged(told.one())] == [(True, 1.0), (True, 0.5)]
    asked = {body["model"]: body for body in map(json.loads, server.heard)}
    assert asked.keys() == {"own-judge", "test-judge"}
    assert [turn["content"] for turn in asked["own-judge"]["messages"]] == ["By is about cats", "<Tell me about cats>"]
    written = (at.folder / "r.json").read_text()
    assert "2 looked at" in written
    assert b"sk-" not in at.db.read_bytes() + written.encode() + told.out.encode()


CARRIED = """
prompts: ["Tell me about {{topic}}"]
providers: [echo]
defaultTest: {assertScoringFunction: file://score.py:fair}
tests:
  - vars: {topic: cats}
    assert:
      - {type: contains, value: cats, metric: names}
      - type: llm-rubric
        value: is about cats
        threshold: 0.5
        provider: openai:chat:own-judge
        rubricPrompt: "By {{rubric}}: {{output}}"
"""
RUN_IT = ("run-benchmark", "--db", "other.db", "--json", "--target", "command:echo All cats purr.")


async def test_an_export_of_what_a_config_brought_is_taken_into_another_store_and_judged_there_by_the_same(
    at: Terminal, server: Server
) -> None:
    at.file("c.yaml", CARRIED)
    at.file("score.py", SCORE)
    keyed = at.with_env(OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=f"{server.url}/v1")
    with anyio.fail_after(HANG_S):
        made = await to_thread.run_sync(keyed.run, "eval", "c.yaml", "--yes", "--json")
        assert made.code == 0, made.err
        exported = (await to_thread.run_sync(keyed.run, "export")).out
        kept = [line for line in exported.splitlines() if json.loads(line)["type"] in {"test-case", "benchmark"}]
        assert any('"provider"' in line and '"scoring"' in line for line in kept)
        at.file("kept.jsonl", "\n".join(kept))
        (benchmark,) = [one["id"] for one in map(json.loads, kept) if one["type"] == "benchmark"]
        taken = await to_thread.run_sync(keyed.run, "import", "kept.jsonl", "--db", "other.db")
        assert taken.code == 0, taken.err
        server.heard = []
        run = await to_thread.run_sync(keyed.run, *RUN_IT, benchmark)
    assert run.code == 0, run.err
    assert run.one()["outcomes"] == {"scored": 1}
    assert [json.loads(body)["model"] for body in server.heard] == ["own-judge"]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"provider": {"model": "openai:m", "baseUrl": "http://elsewhere"}}, "fields.assertions[0].provider"),
        ({"provider": {"model": "openai:m", "ownKey": True}}, "fields.assertions[0].provider"),
        ({"rubricPrompt": "file:///etc/passwd"}, "fields.assertions[0].rubricPrompt"),
    ],
)
def test_a_file_that_is_imported_brings_no_address_no_key_and_no_file_of_a_judge(
    at: Terminal, said: Json, named: str
) -> None:
    fields: Json = {"name": "x", "assertions": [{"type": "llm-rubric", "value": "kind", **said}]}
    name = at.file("s.json", json.dumps({"minions": [{"id": "x", "type": "test-case", "fields": fields}]}))
    refused = at.run("import", name)
    assert refused.code == 2
    assert "s.json:1" in refused.err
    assert named in refused.err
