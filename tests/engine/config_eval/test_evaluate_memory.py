"""Tests that go on from those before them: outputs stored under names, and conversations, as promptfoo 0.123.1 hands them on."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from tests.hang import HANG_S
from tests.shared.targets.application import Asked as Heard
from tests.shared.targets.application import application, reply
from tests.workshop import START, config_in, opened

pytestmark = pytest.mark.anyio
CHAIN = """
prompts: ['Say: {{message}}']
providers: [{id: 'URL', config: {body: {q: '{{prompt}}'}, transformResponse: json.said}}]
tests:
  - vars: {message: a fruit}
    options: {storeOutputAs: fruit, transform: "output.split(' ')[0]"}
    assert: [{type: equals, value: kiwi}]
  - vars: {message: 'why {{fruit}}?'}
    options: {storeOutputAs: reason}
  - vars: {message: 'against {{fruit}}: {{reason}}'}
    assert:
      - {type: contains, value: kiwi}
      - {type: javascript, value: "context.vars.message === 'against kiwi: ' + context.vars.reason"}
"""
TALK = """
prompts:
  - '[{% for turn in _conversation %}{"role": "user", "content": "{{turn.input}}"},
     {"role": "assistant", "content": "{{turn.output}}"},{% endfor %}{"role": "user", "content": "{{ask}}"}]'
providers: [{id: 'URL', config: {body: {q: '{{prompt}}'}, transformResponse: json.said}}]
tests:
  - {vars: {ask: one}, metadata: {conversationId: a}}
  - {vars: {ask: two}, metadata: {conversationId: b}}
  - {vars: {ask: three}, metadata: {conversationId: a}}
"""
QUESTIONS = ["Say: a fruit", "Say: why kiwi?", "Say: against kiwi: <Say: why kiwi?>"]


async def evaluated(engine: Engine, text: str) -> Matrix:
    path = engine.config.db.parent / "c.yaml"
    path.write_text(text)
    with anyio.fail_after(HANG_S):
        return await evaluate(engine, read_config(path, now=START), EvalOptions(), environment={})


def asked(heard: Heard) -> str:
    found = heard.json()
    assert isinstance(found, dict)
    return str(found["q"])


def turns(heard: Heard) -> list[str]:
    """What was said in the messages that stand as such in the body."""
    found = json.loads(heard.body)["q"]
    return [turn["content"] for turn in found]


async def fruits(heard: Heard) -> bytes:
    question = asked(heard)
    return reply({"said": "kiwi it is" if "a fruit" in question else f"<{question}>"})


async def test_an_output_is_handed_on_under_its_name_and_shown_again_without_a_call(tmp_path: Path) -> None:
    async with application(fruits) as app, opened(config_in(tmp_path)) as engine:
        text = CHAIN.replace("URL", app.url)
        matrix = await evaluated(engine, text)
        assert [asked(one) for one in app.asked] == QUESTIONS
        assert [row.cells[0].prompt for row in matrix.rows] == QUESTIONS
        assert [row.cells[0].passed for row in matrix.rows] == [True, None, True]
        assert await evaluated(engine, text) == matrix
        assert len(app.asked) == 3
        await evaluated(engine, text.replace("a fruit}", "'a fruit, a ripe one'}"))
        assert len(app.asked) == 6, "what was said before bears on what comes after"


async def test_a_chain_that_was_stopped_goes_on_with_what_is_kept(tmp_path: Path) -> None:
    broken = [True]

    async def answering(heard: Heard) -> bytes:
        if broken and "why" in asked(heard):
            return reply({"error": "not now"}, status="400 No")
        return await fruits(heard)

    async with application(answering) as app, opened(config_in(tmp_path)) as engine:
        text = CHAIN.replace("URL", app.url)
        first = await evaluated(engine, text)
        assert first.columns[0].problem
        assert "the output 'reason' of an earlier test is missing" in first.rows[2].cells[0].reason
        broken.clear()
        matrix = await evaluated(engine, text)
        assert [row.cells[0].prompt for row in matrix.rows] == QUESTIONS
        assert [asked(one) for one in app.asked].count("Say: a fruit") == 1


async def test_a_conversation_is_told_its_own_turns_only(tmp_path: Path) -> None:
    async def answering(heard: Heard) -> bytes:
        return reply({"said": f"re {turns(heard)[-1]}"})

    async with application(answering) as app, opened(config_in(tmp_path)) as engine:
        matrix = await evaluated(engine, TALK.replace("URL", app.url))
        told = [turns(one) for one in app.asked]
    assert told == [["one"], ["two"], ["one", "re one", "three"]]
    assert [row.cells[0].output for row in matrix.rows] == ["re one", "re two", "re three"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CHAIN.replace("contains, value: kiwi", "contains, value: '{{fruit}}'"), "the output of another test"),
        (CHAIN + "evaluateOptions: {repeat: 2}\n", "a test that is repeated, where tests depend"),
    ],
)
async def test_what_the_order_does_not_allow_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    async with opened(config_in(tmp_path)) as engine:
        with pytest.raises(UnsupportedError) as refused:
            await evaluated(engine, text.replace("URL", "http://127.0.0.1:9"))
        assert why in refused.value.message
