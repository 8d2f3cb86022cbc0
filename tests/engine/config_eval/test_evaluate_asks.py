"""Configs whose tests ask otherwise: other columns, providers, outputs and repeats; parts that Python makes; all as promptfoo does."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions, Evaluation
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import EvalsError, UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from minions_evals_mcp.interop.promptfoo_results import results_json
from minions_evals_mcp.scoring.assertions.table import SCORER_VERSION
from tests.engine.config_eval.asks_config import FILES
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server, serving
from tests.shared.targets.application import Asked as Heard
from tests.shared.targets.application import application, reply
from tests.workshop import START, all_of, config_in, opened

RECORDED = Path(__file__).with_name("promptfoo_asks")  # what promptfoo 0.123.1 answered to `asks_config`, as facts
Json = dict[str, JsonValue]


def read(engine: Engine, text: str, **files: str) -> Evaluation:
    """What the config in that text asks for; `files` stand beside it, under their names with `_py` for `.py`."""
    folder = engine.config.db.parent
    for name, content in {"c.yaml": text, **files}.items():
        (folder / name.replace("_py", ".py")).write_text(content)
    return read_config(folder / "c.yaml", now=START)


async def evaluated(engine: Engine, evaluation: Evaluation, **environment: str) -> Matrix:
    with anyio.fail_after(HANG_S):
        return await evaluate(engine, evaluation, EvalOptions(), environment=environment)


def outputs(found: Matrix) -> list[list[str | None]]:
    """Each row's outputs; None where nothing was requested or nothing came."""
    return [[cell.output for cell in row.cells] for row in found.rows]


def recorded(name: str) -> list[Json]:
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def plain(prompt: JsonValue) -> JsonValue:
    """The prompt; one that is JSON without its layout, which promptfoo's file does not keep."""
    try:
        return json.loads(str(prompt))
    except ValueError:
        return prompt


async def test_every_cell_prompt_and_metric_comes_out_as_the_real_promptfoo_gives_it(engine: Engine) -> None:
    for name, text in FILES.items():
        (engine.config.db.parent / name).write_text(text)
    evaluation = read_config(engine.config.db.parent / "config.yaml", now=START)
    matrix = await evaluated(engine, evaluation)
    file = results_json(matrix, evaluation, at="2026-11-21T09:00:00Z")
    results = file["results"]
    assert isinstance(results, dict)
    found = {(one["testIdx"], one["promptIdx"]): one for one in _listed(results["results"])}
    theirs = recorded("answers.jsonl")
    assert found.keys() == {(one["test"], one["column"]) for one in theirs}, "no result where nothing was requested"
    for one in theirs:
        ours = found[one["test"], one["column"]]
        response, prompt = ours["response"], ours["prompt"]
        assert isinstance(response, dict)
        assert isinstance(prompt, dict)
        assert (response["output"], ours["success"], ours["score"]) == (
            one["output"], one["success"], pytest.approx(one["score"], abs=1e-6),
        )  # fmt: skip
        assert ours["namedScores"] == one["named"]
        assert plain(prompt["raw"]) == plain(one["prompt"])
    for ours, column in zip(_listed(results["prompts"]), recorded("columns.jsonl"), strict=True):
        metrics = ours["metrics"]
        assert isinstance(metrics, dict)
        told = {**metrics, "label": ours["label"], "provider": ours["provider"]}
        assert {key: told[key] for key in column} == {**column, "score": pytest.approx(column["score"])}


def _listed(value: JsonValue) -> list[Json]:
    assert isinstance(value, list)
    return [one for one in value if isinstance(one, dict)]


async def test_a_test_runs_only_in_the_columns_that_it_names_and_counts_only_there(engine: Engine) -> None:
    text = """
prompts: [{label: 'a:x', raw: 'one {{w}}'}, {label: b, raw: 'two {{w}}'}]
providers: [{id: echo, label: first}, {id: echo, label: second}]
tests:
  - {vars: {w: all}, assert: [{type: contains, value: all}]}
  - {vars: {w: p}, providers: [second], assert: [{type: contains, value: p}]}
  - {vars: {w: q}, prompts: [a], providers: ['fir*'], assert: [{type: contains, value: q}]}
  - {vars: {w: none}, prompts: [], assert: [{type: contains, value: never}]}
"""
    matrix = await evaluated(engine, read(engine, text))
    assert outputs(matrix) == [
        ["one all", "two all", "one all", "two all"],
        [None, None, "one p", "two p"],
        ["one q", None, None, None],
        [None] * 4,
    ]
    assert [[cell.asked for cell in row.cells] for row in matrix.rows[1:]] == [
        [False, False, True, True], [True, False, False, False], [False] * 4,
    ]  # fmt: skip
    assert [(one.passed, one.failed, one.open, one.state) for one in matrix.columns] == [
        (2, 0, 0, "completed"), (1, 0, 0, "completed"), (2, 0, 0, "completed"), (2, 0, 0, "completed"),
    ]  # fmt: skip
    assert [row.verdict for row in matrix.rows] == ["passed", "passed", "passed", "not-asked"]
    assert "not part of this test" in matrix.rows[1].cells[0].reason
    units = {str(cell.run_id) for row in matrix.rows for cell in row.cells if cell.asked}
    assert {one.id for one in await all_of(engine, TestRun)} == units


async def test_a_column_that_no_test_asks_for_is_told_without_a_run(engine: Engine) -> None:
    text = "prompts: [a, b]\nproviders: [echo]\ntests: [{prompts: [b], assert: [{type: equals, value: b}]}]\n"
    evaluation = read(engine, text)
    matrix = await evaluated(engine, evaluation)
    unasked, asked = matrix.columns
    assert (unasked.run_id, unasked.run_ids, unasked.pass_rate, asked.passed) == (None, (), None, 1)
    results = results_json(matrix, evaluation, at="")["results"]
    assert isinstance(results, dict)
    assert [one["promptIdx"] for one in _listed(results["results"])] == [1]


async def test_a_config_without_such_wishes_keeps_the_ids_and_keys_that_it_had(engine: Engine) -> None:
    text = """
prompts: ['Say {{w}}', '[{"role": "user", "content": "{{w}}"}]']
providers:
  - echo
  - {id: echo, label: loud, transform: output.toUpperCase()}
  - {id: 'openai:chat:gpt-x', config: {temperature: 0, max_tokens: 7}}
  - {id: 'http://127.0.0.1:1/a', config: {body: {q: '{{prompt}}'}, headers: {k: '{{env.K}}'}}}
  - 'exec:sh -c true'
defaultTest: {options: {transform: output.trim()}}
evaluateOptions: {repeat: 2, timeoutMs: 5000}
tests:
  - {vars: {w: [cat, dog]}, assert: [{type: contains, value: '{{w}}', weight: 2, metric: m}, {type: max-score, value: {method: sum}}]}
  - {vars: {w: cat}, options: {prefix: '<'}, threshold: 0.5, assert: [{type: is-json}]}
"""
    found = read(engine, text)
    assert found.benchmark_id == "eval/f8526fd1523b26a9"
    assert found.case_ids == (
        "eval/test/5438746da581cbf5", "eval/test/ce6d501157cb77aa", "eval/test/ed42cd5d844720fc",
    )  # fmt: skip
    assert [one.version_id for one in found.columns] == [
        "eval/prompt/c1da29e041230fdf", "eval/prompt/d2b7da44e0a7be8a",
    ] * 5  # fmt: skip
    parts = [part for column in found.columns for part in column.parts]
    assert [part.provider.identity() for part in parts][::2] == [
        "0d890b30ecfd54490507846ff594089f", "ee5808d59f0232716313d80956dff42f", "dae48d8be2452291517a61ced68fc87b",
        "21c57dd3510e364ab9411b4a6a98b4db", "d4e0f26c0c8d8ac638543e11ba09aed5",
    ]  # fmt: skip
    assert {(part.benchmark_id, part.case_ids, part.trials) for part in parts} == {
        (found.benchmark_id, found.case_ids, 2)
    }
    small = await evaluated(
        engine, read(engine, "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: equals, value: a}]}]\n")
    )
    column = small.columns[0]
    measured: JsonValue = [
        small.benchmark_id, column.prompt_version_ref, digest([{"kind": "echo"}, []]), 1, SCORER_VERSION,
        str(engine.judge_model()), engine.config.embedder, engine.config.trust_code,
    ]  # fmt: skip
    assert column.key == f"eval/{digest(measured)}"


async def test_the_output_that_a_test_brings_is_judged_and_nobody_is_asked(engine: Engine) -> None:
    text = """
prompts: [hi]
providers: [{id: 'openai:gpt-x', transform: 'typeof output === "string" ? output + "!" : output'}]
tests:
  - {vars: {n: 1}, providerOutput: yes, assert: [{type: equals, value: 'yes!'}, {type: cost, threshold: 0}]}
  - {vars: {n: 1}, providerOutput: {a: [1, x]}, options: {transform: output.a}, assert: [{type: is-json}, {type: contains, value: x}]}
"""
    evaluation = read(engine, text)
    matrix = await evaluated(engine, evaluation)  # without a key: no client is ever opened
    assert outputs(matrix) == [["yes!"], ['[1,"x"]']]
    assert [(row.cells[0].passed, row.cells[0].cost_usd, row.cells[0].value) for row in matrix.rows] == [
        (True, 0, None), (True, 0, [1, "x"]),
    ]  # fmt: skip
    assert [row.variables for row in matrix.rows] == [{"n": 1}, {"n": 1}]
    assert {row.cells[0].prompt for row in matrix.rows} == {"hi"}
    assert await evaluated(engine, read(engine, text)) == matrix
    changed = await evaluated(engine, read(engine, text.replace("yes, a", "no, a")))
    assert outputs(changed)[0] == ["no!"], "another output is another test"


async def test_a_tests_own_provider_answers_in_every_column_and_the_columns_transform_stays(engine: Engine) -> None:
    text = """
prompts: [a, b]
providers: [echo, {id: echo, label: loud, transform: output.toUpperCase()}]
defaultTest: {provider: 'python:own.py'}
tests:
  - {assert: [{type: icontains, value: own}]}
  - {provider: {id: echo, transform: 'never this'}, assert: [{type: icontains, value: a}, {type: max-score}]}
"""
    own = "def call_api(prompt, options, context):\n    return {'output': 'own ' + prompt, 'cost': 0.5}\n"
    matrix = await evaluated(engine, read(engine, text, own_py=own))
    assert outputs(matrix) == [["own a", "own b", "OWN A", "OWN B"], ["a", "b", "A", "B"]]
    assert [cell.cost_usd for cell in matrix.rows[0].cells] == [0.5] * 4
    assert [len(one.run_ids) for one in matrix.columns] == [2] * 4
    assert matrix.rows[1].selections[0].selected == 0


async def test_repeats_of_one_test_go_through_all_its_variables_each_time(engine: Engine) -> None:
    text = """
prompts: ['{{w}}']
providers: [echo]
evaluateOptions: {repeat: 2}
tests:
  - {vars: {w: [a, b]}, options: {repeat: 3}, assert: [{type: contains, value: a}]}
  - {vars: {w: c}, assert: [{type: contains, value: c}]}
"""
    matrix = await evaluated(engine, read(engine, text))
    assert [(row.index, row.trial, row.cells[0].output) for row in matrix.rows] == [
        (0, 1, "a"), (1, 1, "b"), (0, 2, "a"), (1, 2, "b"), (0, 3, "a"), (1, 3, "b"), (2, 1, "c"), (2, 2, "c"),
    ]  # fmt: skip


async def test_what_is_changed_for_one_test_runs_that_test_and_no_other_again(engine: Engine) -> None:
    text = """
prompts: [hi]
providers: ['python:count.py']
tests:
  - {vars: {n: 1}, assert: [{type: contains, value: hi}]}
  - {vars: {n: 2}, providerOutput: FIRST, assert: [{type: contains, value: S}]}
"""
    count = "calls = []\ndef call_api(prompt, options, context):\n    calls.append(prompt)\n    return {'output': f'hi {len(calls)}'}\n"
    first = await evaluated(engine, read(engine, text, count_py=count))
    second = await evaluated(engine, read(engine, text.replace("FIRST", "SECOND"), count_py=count))
    assert outputs(first) == [["hi 1"], ["FIRST"]]
    assert outputs(second) == [["hi 1"], ["SECOND"]]
    assert first.rows[0].cells[0].run_id == second.rows[0].cells[0].run_id


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A model on loopback."""
    async with serving() as running:
        yield running


@pytest.fixture
async def asked_model(tmp_path: Path, server: Server) -> AsyncGenerator[Engine]:
    """An engine whose providers are all the fake server."""
    config = config_in(tmp_path, model_url=server.url)
    providers = config.providers.reached("openai", ProviderAccess("key", f"{server.url}/v1"))
    async with opened(replace(config, providers=providers)) as engine:
        yield engine


CHAT = """
prompts: [{label: chat, id: 'file://p.py:chat'}]
providers: [PROVIDER]
tests: [{vars: {w: cat}, assert: [{type: is-json, value: {}}, {type: not-contains, value: "\\0"}]}]
"""
TALK = """
def chat(context):
    return {
        "prompt": [
            {"role": "system", "content": "Be brief"},
            {"role": "user", "content": [{"type": "text", "text": "one {{w}}"}]},
            {"role": "assistant", "content": "yes?"},
            {"role": "user", "content": "two"},
        ],
        "config": CONFIG,
    }
"""


@pytest.mark.parametrize("provider", ["openai:chat:gpt-x", "anthropic:messages:claude-x"])
async def test_a_conversation_is_sent_as_it_is_with_what_the_prompt_asks_of_its_model(
    asked_model: Engine, server: Server, provider: str
) -> None:
    text = CHAT.replace("PROVIDER", f"{{id: '{provider}', config: {{temperature: 1, top_p: 0.5}}}}")
    code = TALK.replace("CONFIG", "{'temperature': 0, 'max_tokens': 5}")
    (row,) = (await evaluated(asked_model, read(asked_model, text, p_py=code))).rows
    assert row.cells[0].output is not None, row.cells[0].reason
    sent = json.loads(server.last_body)
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "one cat"}]},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": "two"},
    ]
    system = {"role": "system", "content": "Be brief"}
    assert (sent["temperature"], sent["top_p"]) == (0, 0.5)
    assert sent.get("max_tokens", sent.get("max_completion_tokens")) == 5
    if provider.startswith("anthropic"):
        assert (sent["system"], sent["messages"]) == ("Be brief", turns)
    else:
        assert sent["messages"] == [system, *turns]
    kept = row.cells[0].prompt
    assert kept is not None
    assert json.loads(kept)[1]["content"][0]["text"] == "one cat"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (TALK.replace("CONFIG", "{'toolz': []}"), "the prompt's config toolz is not supported"),
        ("def chat(context):\n    return [{'role': 'user', 'content': [{'type': 'image_url'}]}]\n", "not text"),
        ("def chat(context):\n    return 3\n", "gave int"),
        ("def chat(context):\n    return None\n", "gave NoneType"),
        ("def chat(context):\n    return 1 / 0\n", "raised ZeroDivisionError"),
        ("def chat(context):\n    return '{{ w.normalize() }}'\n", "the method normalize()"),
    ],
)
async def test_a_prompt_that_code_cannot_write_is_a_failed_instrument_with_its_reason(
    asked_model: Engine, server: Server, code: str, why: str
) -> None:
    matrix = await evaluated(asked_model, read(asked_model, CHAT.replace("PROVIDER", "'openai:gpt-x'"), p_py=code))
    (row,) = matrix.rows
    assert (row.cells[0].outcome, row.cells[0].passed) == ("target-error", None)
    assert why in row.cells[0].reason
    assert (matrix.columns[0].errors, server.requests) == (1, 0)


async def test_code_that_changes_writes_other_prompts_under_another_key(engine: Engine) -> None:
    text = "prompts: ['file://p.py:say']\nproviders: [echo]\ntests: [{vars: {w: x}, assert: [{type: contains, value: x}]}]\n"
    code = "def say(context):\n    return 'old ' + context['vars']['w']\n"
    first = await evaluated(engine, read(engine, text, p_py=code))
    same = await evaluated(engine, read(engine, text, p_py=code))
    other = await evaluated(engine, read(engine, text, p_py=code.replace("old", "new")))
    assert (outputs(first), same, outputs(other)) == ([["old x"]], first, [["new x"]])
    assert other.columns[0].prompt_version_ref != first.columns[0].prompt_version_ref


BODIES = """
prompts: ['say "{{w}}"']
providers:
  - {id: 'URL/form', config: {body: 'q={{prompt | urlencode}}&k={{env.KEY}}'}}
  - {id: 'URL/text', config: {method: PUT, headers: {Content-Type: text/plain}, body: "  {{prompt}}\\n"}}
  - {id: 'URL/json', config: {headers: {content-type: application/json}, body: '{"q": "{{prompt}}", "n": {{n}}}'}}
  - {id: 'URL/kept', config: {body: '{"q": "{{prompt}}"}'}}
tests: [{vars: {w: cat, n: 3}, assert: [{type: contains, value: heard}]}]
"""


async def test_bodies_that_are_no_json_are_sent_as_they_are_filled(engine: Engine) -> None:
    async def heard(asked: Heard) -> bytes:
        return reply(b"heard " + asked.path.encode())

    async with application(heard) as app:
        matrix = await evaluated(engine, read(engine, BODIES.replace("URL", app.url)), KEY="s3cret")
        asked = {one.path: one for one in app.asked}
    assert outputs(matrix) == [["heard /form", "heard /text", "heard /json", "heard /kept"]]
    assert (asked["/form"].method, asked["/form"].body) == ("POST", b"q=say%20%22cat%22&k=s3cret")
    assert asked["/form"].headers["content-type"] == "application/x-www-form-urlencoded"
    assert (asked["/text"].method, asked["/text"].body) == ("PUT", b'say "cat"')
    assert asked["/text"].headers["content-type"] == "text/plain"
    assert asked["/json"].json() == {"q": 'say "cat"', "n": 3}, "values are written as JSON where they must be"
    assert (asked["/kept"].json(), asked["/kept"].headers["content-type"]) == ({"q": 'say "cat"'}, "application/json")


TESTS, CONFIGURED = "tests: ['file://m.py:bad']", "tests: [{path: 'file://m.py:bad', config: {n: 3}}]"
VARIABLE = "tests: [{vars: {w: file://v.py}}]"


@pytest.mark.parametrize(
    ("text", "name", "code", "said"),
    [
        (TESTS, "m_py", "def bad():\n    return 3\n", "must give a list of tests"),
        (TESTS, "m_py", "def bad():\n    return [{'vars': {'a': object()}}]\n", "is no JSON"),
        (
            TESTS,
            "m_py",
            "def bad():\n    raise ValueError('why')\n",
            "c.yaml:3: tests.0: bad in m.py raised ValueError: why",
        ),
        (CONFIGURED, "m_py", "def bad(config):\n    return [{'vars': config['n']}]\n", "m.py:1: 0.vars"),
        (
            VARIABLE,
            "v_py",
            "def get_var(name, prompt, other):\n    return {'error': 'gone'}\n",
            "get_var in v.py: gone",
        ),
        (VARIABLE, "v_py", "def get_var(name, prompt, other):\n    return {}\n", "must give {'output': TEXT}"),
        (VARIABLE, "v_py", "import nothing_there\n", "cannot be loaded"),
    ],
)
async def test_python_that_makes_no_part_of_a_config_is_told_with_its_place(
    engine: Engine, text: str, name: str, code: str, said: str
) -> None:
    with pytest.raises(EvalsError) as refused:
        read(engine, f"prompts: ['{{{{w}}}}']\nproviders: [echo]\n{text}\n", **{name: code})
    assert said in str(refused.value)


async def test_a_variable_that_code_gives_is_the_same_for_every_prompt_or_refused(engine: Engine) -> None:
    text = """
prompts: ['{{w}} 1', '{{w}} 2']
providers: [echo]
tests: [{vars: {w: file://v.py, x: y}, assert: [{type: contains, value: y}]}]
"""
    code = "async def get_var(name, prompt, other):\n    return {'output': name + other['x'] + %s}\n"
    matrix = await evaluated(engine, read(engine, text, v_py=code % "''"))
    assert (outputs(matrix), matrix.rows[0].variables) == ([["wy 1", "wy 2"]], {"w": "wy", "x": "y"})
    with pytest.raises(UnsupportedError, match="another value for each prompt"):
        read(engine, text, v_py=code % "prompt")


@pytest.mark.parametrize("name", ["'file://p.py:chat'", "file://p.py"])
async def test_code_that_writes_no_prompt_in_time_is_given_up(engine: Engine, name: str) -> None:
    code = (
        "import anyio\nasync def chat(context):\n    await anyio.sleep_forever()\nif __name__ == '__main__':\n"
        "    anyio.run(chat, 1)\n"
    )
    head = f"prompts: [{name}]\nproviders: [echo]\nevaluateOptions: {{timeoutMs: 80}}\n"
    text = head + "tests: [{assert: [{type: contains, value: x}]}]\n"
    (row,) = (await evaluated(engine, read(engine, text, p_py=code))).rows
    assert (row.cells[0].outcome, "wrote no prompt within 0.08 s" in row.cells[0].reason) == ("target-error", True)


async def test_a_file_that_is_run_for_a_prompt_says_why_it_failed(engine: Engine) -> None:
    text = "prompts: [file://p.py]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: x}]}]\n"
    (row,) = (await evaluated(engine, read(engine, text, p_py="import sys\nsys.exit('no idea')\n"))).rows
    assert "p.py ended with code 1: no idea" in row.cells[0].reason


async def test_a_provider_under_another_of_its_names_is_the_same_run(engine: Engine) -> None:
    text = "prompts: [hi]\nproviders: ['exec:echo', 'exec: echo']\ntests: [{assert: [{type: contains, value: hi}]}]\n"
    first, second = (await evaluated(engine, read(engine, text))).columns
    assert (first.run_id, first.passed, first.provider_id) == (second.run_id, second.passed, "exec:echo")
    (only,) = (await evaluated(engine, read(engine, text.replace("'exec:echo', ", "")))).columns
    assert only.run_id == first.run_id
