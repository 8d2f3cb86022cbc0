"""Configs carried out: the three worked configs, every kind of provider, what is kept and paid for once, what is chosen."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.domain.definitions import Benchmark, TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.domain.values import short_id
from minions_evals_mcp.engine.answers.columns_beside import columns_beside
from minions_evals_mcp.engine.answers.overview import read_overview
from minions_evals_mcp.engine.answers.pages.matrix_page import MatrixFilter, read_matrix_page
from minions_evals_mcp.engine.cases.config_versions import versions_of_config
from minions_evals_mcp.engine.compare.compare_prompt_versions import ComparisonRequest, compare_prompt_versions
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Cell, ConfigTestRow, Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, EvalsError, StoppedError, UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.store.queries.pages.page_lists import has_run
from tests.engine.config_eval.seed_configs import CODE, CONTENT, RESPONSE
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import START, all_of, benchmark, case, config_in, found, opened, outbox, save

WEATHER = '{"output": {"temperature": 20, "humidity": 3, "conditions": "sun"}}'


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """A model on loopback."""
    async with serving() as running:
        yield running


@pytest.fixture
async def judged(tmp_path: Path, server: Server) -> AsyncGenerator[Engine]:
    """An engine whose providers are all the fake server, which judges too."""
    config = config_in(tmp_path, model_url=server.url)
    providers = config.providers.reached("openai", ProviderAccess("key", f"{server.url}/v1"))
    async with opened(replace(config, providers=providers)) as engine:
        yield engine


async def evaluated(
    engine: Engine,
    text: str,
    *,
    given: ConfigOverrides | None = None,
    asked: EvalOptions | None = None,
    **environment: str,
) -> Matrix:
    """The matrix of the config in that text."""
    folder = engine.config.db.parent
    (folder / "c.yaml").write_text(text)
    evaluation = read_config(folder / "c.yaml", now=START, overrides=given or ConfigOverrides())
    with anyio.fail_after(HANG_S):
        return await evaluate(
            engine, evaluation, asked or EvalOptions(), environment={**environment, **evaluation.given_variables}
        )


def cells(row: ConfigTestRow) -> list[tuple[str | None, bool | None]]:
    return [(cell.output, cell.passed) for cell in row.cells]


def only(matrix: Matrix) -> Cell:
    (row,) = matrix.rows
    (cell,) = row.cells
    return cell


async def test_the_code_selection_of_seed_2_runs_as_it_stands(judged: Engine, server: Server) -> None:
    matrix = await evaluated(judged, CODE)
    assert [one.prompt for one in matrix.columns] == [
        "Write a Python function to {{task}}",
        "Write an optimized Python function to {{task}}",
        "Write a documented Python function to {{task}}",
    ]
    (row,) = matrix.rows
    assert [[one.type for one in cell.scores] for cell in row.cells] == [["python", "llm-rubric", "llm-rubric"]] * 3
    (selection,) = row.selections
    assert (selection.selected, selection.scores) == (0, (0.4, 0.4, 0.4))  # (0*3 + 1 + 1) / 5, the first of equals
    assert [cell.selected for cell in row.cells] == [True, False, False]
    assert not any(cell.success for cell in row.cells), "the least bad is selected and stays failed"
    assert not row.holds
    assert (server.target, server.judge) == (3, 6)


async def test_the_content_selection_of_seed_2_runs_as_it_stands(judged: Engine) -> None:
    (row,) = (await evaluated(judged, CONTENT)).rows
    (selection,) = row.selections
    assert selection.selected == 2, "only the prompt with examples is answered with one"
    assert selection.scores == (pytest.approx(2 / 3), pytest.approx(2 / 3), 1.0)
    assert [cell.success for cell in row.cells] == [False, False, True]
    assert row.holds


async def test_the_response_selection_of_seed_2_takes_prompts_and_providers_from_outside(
    judged: Engine,
) -> None:
    code = f"def call_api(prompt, options, context):\n    assert context['vars']['query'] in prompt\n    return {WEATHER}\n"
    (judged.config.db.parent / "weather.py").write_text(code)
    with pytest.raises(BadInputError, match=r"c\.yaml:1: providers: is missing"):
        await evaluated(judged, RESPONSE)
    given = ConfigOverrides(("Tell me the {{query}} as JSON",), ("openai:gpt-5-mini", "python:weather.py"))
    (row,) = (await evaluated(judged, RESPONSE, given=given)).rows
    (selection,) = row.selections
    assert (selection.selected, selection.scores) == (1, (pytest.approx(2 / 6), 1.0))


async def test_select_best_and_max_score_choose_in_one_test_and_a_choice_is_paid_for_once(
    judged: Engine, server: Server
) -> None:
    text = CONTENT + "      - {type: select-best, value: the clearest}\n"
    first = await evaluated(judged, text)
    asked = server.requests
    assert await evaluated(judged, text) == first
    assert (server.requests, server.judge) == (asked, 6 + 1)
    by_score, by_model = first.rows[0].selections
    assert (by_score.type, by_score.selected, by_model.type) == ("max-score", 2, "select-best")
    assert by_model.reasons[by_model.selected or 0]
    chosen = {by_score.selected, by_model.selected}
    assert [cell.selected for cell in first.rows[0].cells] == [chosen == {number} for number in range(3)]


async def test_where_a_test_only_lets_choose_the_chosen_output_passes_and_the_others_do_not(
    judged: Engine,
) -> None:
    text = (
        "prompts: [one, two, three]\nproviders: [echo]\ntests: [{assert: [{type: select-best, value: the clearest}]}]\n"
    )
    (row,) = (await evaluated(judged, text)).rows
    (choice,) = row.selections
    chosen = [number == choice.selected for number in range(3)]
    assert sum(chosen) == 1
    assert [(cell.success, cell.passed, cell.score, cell.outcome) for cell in row.cells] == [
        (one, one, float(one), "scored") for one in chosen
    ]
    assert row.holds


async def test_select_best_without_a_judge_is_refused_before_anything_runs(engine: Engine) -> None:
    text = "prompts: [a, b]\nproviders: [echo]\ntests: [{assert: [{type: select-best, value: best}]}]\n"
    with pytest.raises(UnsupportedError, match="select-best needs a judge model"):
        await evaluated(engine, text)
    assert await all_of(engine, TestRun) == []


@pytest.mark.parametrize(
    ("provider", "check"),
    [
        ("echo", "{type: llm-rubric, value: kind}"),
        ("echo", "{type: llm-rubric, value: kind, provider: openai:x}"),
        ("echo", "{type: select-best, value: best}"),
        ("openai:x", "{type: equals, value: a}"),
        ("'exec:no-such-program'", "{type: equals, value: a}"),
    ],
)
async def test_what_is_refused_leaves_nothing_behind(engine: Engine, provider: str, check: str) -> None:
    text = f"prompts: [a, b]\nproviders: [{provider}]\ntests: [{{assert: [{check}]}}]\n"
    with pytest.raises(EvalsError):
        await evaluated(engine, text)
    assert [await all_of(engine, kind) for kind in (Benchmark, TestCase, PromptVersion)] == [[], [], []]


async def test_an_edited_prompt_stands_beside_its_wording_before_and_the_old_column_is_none_any_more(
    engine: Engine,
) -> None:
    text = "prompts: [FIRST, b]\nproviders: [echo, {id: echo, label: again}]\ntests: [{assert: [{type: equals, value: a}]}]\n"
    first = await evaluated(engine, text.replace("FIRST", "c"))
    second = await evaluated(engine, text.replace("FIRST", "a"))
    assert first.before == ()
    assert [(one.column, one.run_id, one.reworded, one.delta) for one in second.before] == [
        (0, first.columns[0].run_id, True, 1.0)
    ]
    assert await evaluated(engine, text.replace("FIRST", "a")) == second
    page = await read_matrix_page(engine, second.benchmark_id, MatrixFilter(), skip=0, limit=9)
    assert [one.run_id for one in page.columns] == [one.run_id for one in second.columns]
    assert [one.target for one in page.columns] == ["echo", "echo", "again", "again"]
    shown = second.columns[0].run_id or ""
    beside = await engine.store.read(lambda db: columns_beside(db, shown))
    assert [ident for ident, _ in beside] == [short_id(second.columns[1].run_id or "")]


async def test_every_cell_is_a_kept_run_and_the_same_config_twice_is_the_same_records(engine: Engine) -> None:
    text = "prompts: [a, b]\nproviders: [echo]\ntests: [{assert: [{type: equals, value: a}]}]\n"
    first = await evaluated(engine, text)
    assert await evaluated(engine, text) == first
    runs = {one.id: one.fields for one in await all_of(engine, TestRun)}
    assert {cell.run_id for cell in first.rows[0].cells} == set(runs)
    assert [runs[str(cell.run_id)].actual_output for cell in first.rows[0].cells] == [{"output": "a"}, {"output": "b"}]
    another = await evaluated(engine, text, asked=EvalOptions(key="again"))
    assert another.benchmark_id == first.benchmark_id
    assert {one.run_id for one in another.columns}.isdisjoint(one.run_id for one in first.columns)
    assert await outbox(engine) == [], "one column is no regression of another"


async def test_a_column_that_is_added_later_is_the_only_one_that_runs(judged: Engine, server: Server) -> None:
    text = "prompts: [a]\nproviders: [%s]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    first = await evaluated(judged, text % "'openai:one'")
    second = await evaluated(judged, text % "'openai:one', 'openai:two'")
    assert (server.target, second.columns[0]) == (2, first.columns[0])


async def test_an_address_is_asked_with_the_prompt_and_its_answer_is_read_by_an_expression(
    engine: Engine, server: Server
) -> None:
    server.heard = []
    text = f"""
prompts: ['Say "{{{{word}}}}" twice']
providers:
  - id: http
    config:
      url: {server.url}/v1/chat/completions
      headers: {{authorization: 'Bearer {{{{env.APP_KEY}}}}'}}
      body: {{model: plain, messages: [{{role: user, content: '{{{{prompt}}}}'}}]}}
      transformResponse: %s
tests: [{{vars: {{word: cat}}, assert: [{{type: icontains, value: cat}}]}}]
"""
    read = await evaluated(engine, text % "json.choices[0].message.content", APP_KEY="s3cret-value")
    called = await evaluated(
        engine, text % "'(json, text) => ({output: text.length > 9, cost: 0.5})'", APP_KEY="s3cret-value"
    )
    failed = await evaluated(engine, text % "json.nothing.there", APP_KEY="s3cret-value")
    assert only(read).output == 'twice "cat" Say'
    assert (only(called).output, only(called).cost_usd) == ("true", 0.5)
    assert (only(failed).outcome, "transformResponse failed" in only(failed).reason) == ("target-error", True)
    assert json.loads(server.heard[0])["messages"][0]["content"] == 'Say "cat" twice'
    assert not any(
        b"s3cret-value" in path.read_bytes() for path in engine.config.db.parent.glob("evals.db*") if path.is_file()
    )


async def test_a_compatible_server_is_named_by_the_config_and_a_prompt_of_two_turns_is_sent_as_such(
    engine: Engine, server: Server
) -> None:
    turns = [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "one {{two}}"}]
    (engine.config.db.parent / "chat.json").write_text(json.dumps(turns))
    text = f"""
prompts: ['file://chat.json']
providers: [{{id: 'openai:chat:local', config: {{apiBaseUrl: '{server.url}/v1', apiKey: k, temperature: 0.5, max_tokens: 9}}}}]
tests: [{{vars: {{two: three}}, assert: [{{type: equals, value: three one}}]}}]
"""
    assert only(await evaluated(engine, text)).passed is True
    sent = json.loads(server.last_body)
    assert [one["role"] for one in sent["messages"]] == ["system", "user"]
    assert (sent["temperature"], sent["max_tokens"]) == (0.5, 9)


async def test_programs_and_functions_are_asked_as_promptfoo_asks_them(engine: Engine) -> None:
    folder = engine.config.db.parent
    (folder / "program.py").write_text(
        "import json, sys\nprompt, options, context = sys.argv[1:]\n"
        "print(prompt, json.loads(options)['config']['a'], json.loads(context)['vars']['w'])\n"
    )
    (folder / "function.py").write_text(
        "async def answer(prompt, options, context):\n"
        "    if prompt == 'bad':\n        return {'error': 'no way'}\n"
        "    return {'output': prompt + options['config']['a'], 'tokenUsage': {'prompt': 3, 'completion': 4}, 'cost': 0.25}\n"
    )
    text = f"""
prompts: ['{{{{w}}}}']
providers:
  - {{id: 'exec:python3 {folder}/program.py', config: {{a: x}}}}
  - {{id: 'file://function.py:answer', config: {{a: '{{{{env.GREETING}}}}'}}}}
env: {{GREETING: hello}}
tests: [{{vars: {{w: [hi, bad]}}, assert: [{{type: starts-with, value: '{{{{w}}}}'}}]}}]
"""
    first, second = (await evaluated(engine, text)).rows
    assert cells(first) == [("hi x hi", True), ("hihello", True)]
    measured = first.cells[1]
    assert (measured.input_tokens, measured.output_tokens, measured.cost_usd) == (3, 4, 0.25)
    assert cells(second) == [("bad x bad", True), (None, None)]
    assert "no way" in second.cells[1].reason


async def test_an_output_is_transformed_before_it_is_judged_and_kept_as_it_came(engine: Engine) -> None:
    text = """
prompts: [abc]
providers: [{id: echo, transform: output.toUpperCase()}]
defaultTest: {options: {transform: 'output + context.vars.x'}}
tests: [{vars: {x: '!'}, assert: [{type: equals, value: 'ABC!'}]}]
"""
    cell = only(await evaluated(engine, text))
    assert (cell.output, cell.passed) == ("ABC!", True)
    kept = await found(engine, str(cell.run_id), TestRun)
    assert kept.fields.actual_output == {"output": "ABC!", "untransformed": {"output": "abc"}}


async def test_an_assertion_checks_what_its_own_transform_makes(engine: Engine) -> None:
    text = """
prompts: [abc]
providers: [echo]
tests:
  - vars: {x: '!'}
    assert:
      - {type: equals, value: 'ABC!', transform: 'output.toUpperCase() + context.vars.x'}
      - {type: equals, value: abc}
"""
    cell = only(await evaluated(engine, text))
    assert (cell.output, cell.passed) == ("abc", True)


async def test_a_provider_that_is_down_is_told_in_its_cells_and_the_others_go_on(
    judged: Engine, server: Server
) -> None:
    text = "prompts: [hi]\nproviders: ['openai:unknown', echo]\ntests: [{assert: [{type: contains, value: hi}, {type: max-score}]}]\n"
    matrix = await evaluated(judged, text)
    (row,) = matrix.rows
    assert cells(row) == [(None, None), ("hi", True)]
    assert "openai:unknown" in row.cells[0].reason
    assert (bool(matrix.columns[0].problem), matrix.columns[1].passed, matrix.columns[1].errors) == (True, 0, 1)
    assert row.cells[1].verdict == "error", "what chooses came to no choice, so that nothing passed the test"
    assert "requires at least two outputs" in row.selections[0].problem
    assert server.requests == 1, "a model that does not exist is not asked again"


async def test_a_cost_cap_holds_over_all_columns_and_the_rest_is_run_later(judged: Engine, server: Server) -> None:
    text = """
prompts: ['{{n}} a', '{{n}} b']
providers: [{id: 'anthropic:claude-3-haiku-20240307', config: {max_tokens: 10}}]
tests: [{vars: {n: [x, y, z]}, assert: [{type: contains, value: a}]}]
"""
    judged.config = replace(judged.config, judge_model="anthropic:claude-3-haiku-20240307")  # its price is known
    free = await evaluated(judged, text, asked=EvalOptions(key="free"))
    cap = (free.columns[0].cost_usd or 0) * 1.5
    assert cap > 0
    server.reset()
    with pytest.raises(StoppedError, match="cost cap") as stopped:
        await evaluated(judged, text, asked=EvalOptions(key="capped", max_cost_usd=cap))
    assert "same command" in stopped.value.remedy
    assert server.target < 6
    whole = await evaluated(judged, text, asked=EvalOptions(key="capped"))
    assert (server.target, whole.spent_usd) == (6, pytest.approx(free.spent_usd))


async def test_a_cost_cap_holds_for_what_a_function_of_the_config_says_that_it_cost(engine: Engine) -> None:
    count = "    calls.append(1)\n    return {'output': str(len(calls)), 'cost': 0.02}\n"
    count = f"calls = []\ndef call_api(prompt, options, context):\n{count}"
    (engine.config.db.parent / "app.py").write_text(count)
    text = "prompts: ['{{n}}']\nproviders: ['file://app.py']\ntests: [{vars: {n: [a, b, c]}, assert: [{type: word-count, value: 1}]}]\n"
    with pytest.raises(StoppedError, match="cost cap"):
        await evaluated(engine, text, asked=EvalOptions(key="k", max_cost_usd=0.05))
    whole = await evaluated(engine, text, asked=EvalOptions(key="k"))
    assert sorted(row.cells[0].output or "" for row in whole.rows) == ["1", "1", "2"], (
        "the third was asked by a start of its own"
    )
    assert whole.spent_usd == pytest.approx(0.06)


async def test_columns_that_score_alike_have_no_best_on_the_first_page_and_are_no_benchmarks_run(
    engine: Engine,
) -> None:
    await evaluated(engine, "prompts: [a, ab]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n")
    (row,) = (await read_overview(engine, skip=0, limit=5)).rows
    assert row.config is not None
    assert (row.config.columns, row.config.alike) == (2, 1)
    assert not await engine.store.read(has_run)


async def test_the_wordings_of_a_config_become_versions_of_a_prompt_that_are_compared(
    judged: Engine, server: Server
) -> None:
    text = """
prompts: ['{{n}} a', '{{n}} b']
providers: ['anthropic:claude-3-haiku-20240307']
tests: [{vars: {n: [x, y]}, assert: [{type: contains, value: a}]}]
"""
    matrix = await evaluated(judged, text)
    found = await versions_of_config(judged, "p", matrix.benchmark_id)
    assert (found.versions, found.added) == (("p@1", "p@2"), ("p@1", "p@2"))
    again = await versions_of_config(judged, "p", matrix.benchmark_id)
    assert (again.versions, again.added) == (("p@1", "p@2"), ())
    asked = server.target
    request = ComparisonRequest(
        benchmark_id=matrix.benchmark_id, version_a="p@1", version_b="p@2", target=found.targets[0]
    )
    compared = await compare_prompt_versions(judged, request)
    assert compared is not None
    assert (compared.fields.prompt_version_b, compared.fields.sample_size, server.target - asked) == ("p@2", 2, 4)
    grown = await evaluated(judged, text.replace("b']", "b', '{{n}} c']"))
    assert (await versions_of_config(judged, "p", grown.benchmark_id)).added == ("p@3",)
    await save(judged, case("c"), benchmark("b", "c"))
    with pytest.raises(BadInputError, match="b is not an evaluated config"):
        await versions_of_config(judged, "p", "b")


async def test_repeats_are_trials_each_with_its_own_choice(engine: Engine) -> None:
    text = """
prompts: [hi, hill]
providers: [echo]
evaluateOptions: {repeat: 2}
tests: [{assert: [{type: contains, value: hill}, {type: max-score}]}]
"""
    rows = (await evaluated(engine, text)).rows
    assert [(row.trial, row.selections[0].selected) for row in rows] == [(1, 1), (2, 1)]


async def test_a_test_with_nothing_to_judge_by_shows_its_output_and_is_neither_passed_nor_failed(
    engine: Engine,
) -> None:
    cell = only(await evaluated(engine, "prompts: [hi]\nproviders: [echo]\n"))
    assert (cell.output, cell.passed, cell.outcome) == ("hi", None, "awaiting-judgments")


async def test_sets_are_flattened_for_the_choice_and_their_metrics_are_counted(engine: Engine) -> None:
    text = """
prompts: [aa, ab]
providers: [echo]
tests:
  - assert:
      - {type: assert-set, metric: set, assert: [{type: contains, value: a, metric: a}, {type: contains, value: b}]}
      - {type: max-score, value: {weights: {contains: 2}}}
derivedMetrics: [{name: both, value: (set + a) / __count}]
"""
    matrix = await evaluated(engine, text)
    assert matrix.rows[0].selections[0].scores == (0.5, 1.0)
    assert [one.metrics for one in matrix.columns] == [{"set": 0.5, "a": 1.0}, {"set": 1.0, "a": 1.0}]
    assert [one.derived for one in matrix.columns] == [{"both": 1.5}, {"both": 2.0}]


async def test_a_slow_provider_times_out_by_the_configs_limit(engine: Engine) -> None:
    (engine.config.db.parent / "slow.py").write_text(
        "import anyio\nasync def call_api(prompt, options, context):\n    await anyio.sleep_forever()\n"
    )
    text = """
prompts: [hi]
providers: ['python:slow.py']
evaluateOptions: {timeoutMs: 50, delay: 1}
tests: [{assert: [{type: contains, value: hi}]}]
"""
    cell = only(await evaluated(engine, text))
    assert (cell.outcome, cell.passed, cell.output) == ("timed-out", False, None)


async def test_every_cell_comes_out_as_the_real_promptfoo_gives_it(engine: Engine) -> None:
    folder = Path(__file__).with_name(
        "promptfoo_eval"
    )  # config, and what promptfoo 0.123.1 answered with its echo provider
    evaluation = read_config(folder / "config.yaml", now=START)
    matrix = await evaluate(engine, evaluation, EvalOptions(), environment={})
    theirs = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    assert len(theirs) == 40
    for one in theirs:
        cell = matrix.rows[int(one["test"])].cells[int(one["column"])]
        assert (cell.output, cell.success) == (one["output"], one["success"])
        assert (0.0 if cell.selected is False else cell.score) == pytest.approx(one["score"], abs=1e-6)
    assert [one.derived for one in matrix.columns] == [{"d": 1.0}] * 4
