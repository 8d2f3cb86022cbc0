"""A config's own judges: who is asked and in which words, what is kept and paid, and where they are refused."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import TestCase
from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.domain.results import EvalJudgment, TestRun
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Cell, Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, InvalidRecordError, StoppedError, UnsupportedError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from tests.hang import HANG_S
from tests.shared.fakes.llm_server import Server, serving
from tests.workshop import START, Json, all_of, answer, bench, case, config_in, found, opened, save, try_case

pytestmark = pytest.mark.anyio
HEAD = "prompts: ['Tell {{topic}}']\nproviders: [echo]\n"
OWN = "{type: llm-rubric, value: kind, provider: 'openai:chat:own-judge'}"


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    """Every provider on loopback."""
    async with serving() as running:
        running.heard = []
        yield running


@pytest.fixture
async def engine(tmp_path: Path, server: Server) -> AsyncGenerator[Engine]:
    """An engine whose run's judge is Anthropic's; OpenAI's models are on the same server."""
    config = config_in(tmp_path, model_url=server.url)
    providers = config.providers.reached("openai", ProviderAccess("key", f"{server.url}/v1"))
    async with opened(replace(config, providers=providers)) as running:
        yield running


def one(*assertions: str, topic: str = "cats", more: str = "") -> str:
    """A config with one test that makes those assertions."""
    return f"{HEAD}tests:\n  - vars: {{topic: {topic}}}\n{more}    assert: [{', '.join(assertions)}]\n"


async def run(
    engine: Engine,
    text: str,
    *,
    given: ConfigOverrides | None = None,
    asked: EvalOptions | None = None,
    **variables: str,
) -> Matrix:
    """The matrix of the config in that text."""
    path = engine.config.db.parent / "c.yaml"
    path.write_text(text)
    asking = read_config(path, now=START, overrides=given or ConfigOverrides())
    with anyio.fail_after(HANG_S):
        return await evaluate(
            engine, asking, asked or EvalOptions(), environment={**variables, **asking.given_variables}
        )


def first(matrix: Matrix) -> Cell:
    return matrix.rows[0].cells[0]


def bodies(server: Server) -> list[Json]:
    return [json.loads(body) for body in server.heard or ()]


def models_asked(server: Server) -> list[str]:
    return [str(body["model"]) for body in bodies(server)]


async def judges(engine: Engine) -> list[str]:
    return [one.fields.judged_by for one in await all_of(engine, EvalJudgment)]


async def test_each_assertion_asks_its_own_judge_else_its_tests_else_the_runs(engine: Engine, server: Server) -> None:
    plain = "{type: llm-rubric, value: good}"
    await run(
        engine, one(OWN, plain, more="    options: {provider: 'openai:test-judge'}\n") + "  - {vars: {topic: a}}\n"
    )
    assert sorted(models_asked(server)) == ["own-judge", "test-judge"]
    assert await judges(engine) == ["openai:own-judge, openai:test-judge"]
    await run(engine, one(plain, topic="dogs"))
    assert models_asked(server)[2:] == ["fake-judge"]


async def test_a_model_that_all_tests_name_is_the_runs_judge_and_a_judge_from_outside_comes_before_all(
    engine: Engine, server: Server
) -> None:
    text = one(OWN, "{type: llm-rubric, value: good}", more="    options: {provider: 'openai:test-judge'}\n")
    path = engine.config.db.parent / "c.yaml"
    path.write_text(text)
    assert read_config(path, now=START).judge_model == "openai:test-judge"
    await run(engine, text, given=ConfigOverrides(judge_model="anthropic:fake-judge"))
    assert models_asked(server) == ["fake-judge", "fake-judge"]


async def test_a_grade_of_an_own_judge_is_paid_for_once_and_not_taken_for_anothers(
    engine: Engine, server: Server
) -> None:
    first_time = await run(engine, one(OWN))
    assert await run(engine, one(OWN)) == first_time
    assert len(models_asked(server)) == 1
    await run(engine, one(OWN), asked=EvalOptions(key="again"))
    assert len(models_asked(server)) == 1, "kept under the output, the criterion and the judge"
    for other in ("'openai:chat:other-judge'", "{id: 'openai:chat:own-judge', config: {temperature: 0}}"):
        await run(engine, one(f"{{type: llm-rubric, value: kind, provider: {other}}}"))
    assert models_asked(server)[1:] == ["other-judge", "own-judge"]
    digests = {one.fields.digests.judge for one in await all_of(engine, TestRun)}
    assert len(digests) == 3


async def test_what_a_config_sets_reaches_the_judge_and_a_missing_key_is_named_before_anything_runs(
    engine: Engine, server: Server
) -> None:
    setting = f"{{apiKeyEnvar: JUDGE_KEY, apiBaseUrl: '{server.url}/v1', temperature: 0.5, max_tokens: 77}}"
    text = one(f"{{type: llm-rubric, value: kind, provider: {{id: 'openai:own-judge', config: {setting}}}}}")
    matrix = await run(engine, text, JUDGE_KEY="secret")
    assert first(matrix).passed
    (sent,) = bodies(server)
    assert (sent["temperature"], sent.get("max_tokens") or sent.get("max_completion_tokens")) == (0.5, 77)
    assert b"secret" not in engine.config.db.read_bytes()
    with pytest.raises(BadInputError, match=r"its own address or key\. These work only in a config"):
        await bench(engine, matrix.benchmark_id)


async def test_a_judge_without_its_key_is_refused_by_name_before_anything_runs(tmp_path: Path) -> None:
    async with opened(config_in(tmp_path)) as engine:
        embedded = "{type: similar, value: a, provider: 'openai:embedding:e'}"
        for asserted in (OWN, embedded, "{type: select-best, value: a, provider: 'openai:x'}"):
            with pytest.raises(BadInputError, match="no key for openai is set") as refused:
                await run(engine, one(asserted))
            assert "OPENAI_API_KEY" in refused.value.remedy
        assert await all_of(engine, TestRun) == []


async def test_no_model_of_the_runs_is_needed_where_every_assertion_has_its_own(tmp_path: Path, server: Server) -> None:
    config = config_in(tmp_path)
    providers = config.providers.reached("openai", ProviderAccess("key", f"{server.url}/v1"))
    async with opened(replace(config, providers=providers)) as engine:
        assert first(await run(engine, one(OWN))).passed
        with pytest.raises(UnsupportedError, match="a check needs a judge model, and none is configured"):
            await run(engine, one(OWN, "{type: llm-rubric, value: good}"))


async def test_an_own_judge_spends_of_the_same_money(tmp_path: Path, server: Server) -> None:
    priced = "{type: llm-rubric, value: kind, provider: 'openai:gpt-5-mini'}"
    config = config_in(tmp_path)
    providers = config.providers.reached("openai", ProviderAccess("key", f"{server.url}/v1"))
    async with opened(replace(config, providers=providers)) as engine:
        with pytest.raises(StoppedError, match="cost cap"):
            await run(engine, one(priced), asked=EvalOptions(max_cost_usd=1e-9))
        assert models_asked(server) == []
        with pytest.raises(BadInputError, match="the price of openai:own-judge is unknown"):
            await run(engine, one(OWN, topic="dogs"), asked=EvalOptions(max_cost_usd=1))


async def test_similar_is_measured_by_its_own_embedder(engine: Engine, server: Server) -> None:
    text = one(
        "{type: similar, value: Tell me, threshold: 0.1, provider: 'openai:embedding:text-embedding-3-small'}",
        "{type: similar, value: Tell me, threshold: 0.1}",
    )
    scores = first(await run(engine, text)).scores
    asked = models_asked(server)
    assert {*asked} == {"text-embedding-3-small"}
    assert scores[0].score != scores[1].score
    (kept,) = [one.fields.digests.embedder for one in await all_of(engine, TestRun)]
    assert kept == "openai:text-embedding-3-small, wordllama:l2-supercat-256"
    await run(engine, text, given=ConfigOverrides(embedder="wordllama"))
    assert models_asked(server) == asked, "--embedder comes before all"


async def test_the_words_of_a_template_reach_the_judge_with_the_prompt_and_a_new_template_is_a_new_grade(
    engine: Engine, server: Server
) -> None:
    words = "{{completion}}|{{ideal}}|{{input}}|{{topic}} " + "(B)"
    text = one(f"{{type: factuality, value: 'of {{{{topic}}}}', provider: 'openai:m', rubricPrompt: '{words}'}}")
    assert first(await run(engine, text)).passed
    (body,) = bodies(server)
    assert body["messages"] == [{"role": "user", "content": "Tell cats|of cats|Tell cats|cats (B)"}]
    await run(engine, text.replace("|{{topic}}", ""))
    assert len(models_asked(server)) == 2
    again = await run(engine, text.replace("|{{topic}}", ""), asked=EvalOptions(key="again"))
    assert (len(models_asked(server)), first(again).passed) == (2, True)


async def test_a_judge_that_cannot_be_read_is_an_error_of_its_cell_and_no_failed_output(engine: Engine) -> None:
    text = one(
        "{type: factuality, value: x, provider: 'openai:m', rubricPrompt: 'no verdict'}",
        "{type: contains, value: cats}",
    )
    cell = first(await run(engine, text))
    assert (cell.outcome, cell.passed, cell.score) == ("judge-error", None, None)
    assert "no usable reply" in cell.reason
    assert await all_of(engine, TestRun) == []


async def test_select_best_asks_its_own_model_in_its_own_words_and_pays_once(engine: Engine, server: Server) -> None:
    words = "{% for one in outputs %}{% if one == 'b' %}{{ loop.index0 }}{% endif %}{% endfor %}"
    text = (
        "prompts: [a, b]\nproviders: [echo]\n"
        f'tests: [{{assert: [{{type: select-best, value: x, provider: "openai:m", rubricPrompt: "{words}"}}]}}]\n'
    )
    first_time = await run(engine, text)
    assert first_time.rows[0].selections[0].selected == 1
    assert await run(engine, text) == first_time
    assert models_asked(server) == ["m", "m"], "two outputs are shown in both orders, once"


async def test_a_judge_that_chooses_by_place_prefers_none_and_is_not_paid_to_say_so_again(
    engine: Engine, server: Server
) -> None:
    text = (
        "prompts: [a, b]\nproviders: [echo]\n"
        "tests: [{assert: [{type: select-best, value: x, provider: 'openai:m', rubricPrompt: '1'}]}]\n"
    )
    selection = (await run(engine, text)).rows[0].selections[0]
    assert selection.selected is None
    assert "no preference: asked in both orders it chose the second each time" in str(selection.problem)
    assert (await run(engine, text, asked=EvalOptions(key="again"))).rows[0].selections[0] == selection
    assert models_asked(server) == ["m", "m"]


async def test_a_scoring_function_makes_the_verdict_of_all_assertions(engine: Engine, server: Server) -> None:
    code = (
        "(named, context) => ({pass: context.componentResults[1].pass, score: named.says / 4, reason: "
        "`${context.threshold} ${context.componentResults.map(one => one.assertion.type)} ${context.tokensUsed.total > 0}`})"
    )
    text = one(OWN, "{type: contains, value: cats, metric: says}", "{type: contains, value: none}",
               more=f"    threshold: 0.9\n    assertScoringFunction: '{code}'\n")  # fmt: skip
    cell = first(await run(engine, text))
    assert (cell.passed, cell.score) == (True, 0.25)
    (made,) = [one.fields for one in await all_of(engine, EvalJudgment)]
    assert made.rationale.startswith("0.9 llm-rubric,contains,contains true; failed contains: ")
    assert len(models_asked(server)) == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("true", "must return {pass, score, reason}"),
        ("(n, c) => { throw new Error(`bad`) }", "bad"),
        ("nothing.at", "nothing"),
    ],
)
async def test_a_broken_scoring_function_is_an_error_of_its_cell(engine: Engine, code: str, said: str) -> None:
    cell = first(await run(engine, one("{type: contains, value: cats}", more=f"    assertScoringFunction: '{code}'\n")))
    assert (cell.outcome, cell.passed) == ("judge-error", None)
    assert cell.reason.startswith("assertScoringFunction: ")
    assert said in cell.reason


async def test_outside_a_config_no_case_names_a_judge_or_words_or_scoring_code(engine: Engine) -> None:
    owns: dict[str, JsonValue] = {
        "provider": {"model": "openai:m", "baseUrl": "http://elsewhere"}, "rubricPrompt": "file:///etc/passwd",
    }  # fmt: skip
    for field, own in owns.items():
        rubric: JsonValue = {"type": "llm-rubric", "value": "kind", field: own}
        nested: JsonValue = {"type": "assert-set", "assert": [rubric]}
        for asserted in (rubric, nested):
            with pytest.raises(InvalidRecordError, match=f"{field}: only a config that a person runs"):
                await save(engine, case("c", assertions=[asserted]))
    with pytest.raises(
        InvalidRecordError, match=r"fields\.scoring: code that replaces the assertions is allowed only in a config"
    ):
        await save(engine, case("c", scoring={"language": "python", "code": "1"}))


async def test_a_case_of_a_config_is_judged_alike_outside_eval_where_its_judge_needs_nothing_of_it(
    engine: Engine, server: Server
) -> None:
    ident = (await run(engine, one(OWN))).rows[0].case_id
    await save(engine, answer("a", ident, "Purr.", inputs={"topic": "cats"}))
    await try_case(engine, ident)
    assert models_asked(server) == ["own-judge", "own-judge"]
    assert await judges(engine) == ["openai:own-judge"] * 2
    with pytest.raises(UnsupportedError, match="a check needs a judge model, and judge heuristic leaves it out"):
        await try_case(engine, ident, judge="heuristic")


async def test_what_else_a_case_of_a_config_says_may_be_edited_anywhere(engine: Engine) -> None:
    ident = (await run(engine, one(OWN))).rows[0].case_id
    kept = await found(engine, ident, TestCase)
    await save(engine, replace(kept, fields=kept.fields.model_copy(update={"tags": ("mine",)})))
    changed = kept.fields.assertions[0].model_copy(update={"value": "rude"})
    with pytest.raises(InvalidRecordError, match="only a config that a person runs"):
        await save(engine, replace(kept, fields=kept.fields.model_copy(update={"assertions": (changed,)})))


async def test_who_judges_its_own_output_is_told_though_another_judged_too(engine: Engine) -> None:
    text = one(OWN, "{type: llm-rubric, value: good, provider: 'openai:other-judge'}").replace(
        "[echo]", "['openai:own-judge']"
    )
    await run(engine, text)
    (made,) = [one.fields for one in await all_of(engine, TestRun)]
    assert made.produced_by == "openai:own-judge"
    assert made.self_judged


async def test_code_that_judges_is_called_once_and_code_that_changed_is_another_judge(engine: Engine) -> None:
    file = engine.config.db.parent / "judge.py"
    text = one("{type: llm-rubric, value: kind, provider: 'file://judge.py'}")
    for score in (0.5, 0.75):
        answer = f'{{"output": {{"pass": True, "score": {score}, "reason": "so"}}, "cost": 0.25}}'
        log = f"    with open('{file}.log', 'a') as log:\n        log.write('x')\n"
        file.write_text(f"def call_api(prompt, options, context):\n{log}    return {answer}\n")
        matrix = await run(engine, text)
        assert await run(engine, text) == matrix, "kept under the output, the criterion and the code"
        assert (first(matrix).score, matrix.spent_usd) == (score, 0.25)
    assert await anyio.Path(f"{file}.log").read_text() == "xx"
    assert await judges(engine) == ["code:file://judge.py"] * 2
    with pytest.raises(BadInputError, match="is code, or has its own address"):
        await bench(engine, matrix.benchmark_id)


@pytest.mark.parametrize(
    ("check", "code", "reason"),
    [
        ("llm-rubric, value: x", "raise ValueError('tired')", "raised ValueError: tired"),
        ("llm-rubric, value: x", "return {'output': 'well'}", "it has no JSON object"),
        ("factuality, value: x", "return {'output': {'category': 'A'}}", "answered factuality with no text"),
        ("g-eval, value: x", "return {'output': '{\"steps\": [1]}'}", "a step in it is not text"),
        ("g-eval, value: x", 'return {\'output\': \'{"steps": ["a"], "score": 11}\'}', "no number from 0 to 10"),
        ("g-eval, value: x", 'return {\'output\': \'{"steps": ["a"], "score": 9}\'}', "it gives no reason"),
        ("select-best, value: x", "return {'output': '7'}", "there is no output 7"),
        ("context-recall, value: x", "return {'output': 'yes'}", "it marks nothing as [Attributed]"),
        ("context-relevance", "return {'output': 'dogs'}", "it quotes nothing of the context"),
        ("context-faithfulness", "return {'output': ' '}", "it states nothing"),
        ("context-faithfulness", "return {'output': 'cats'}", "it has no verdicts"),
        (
            "context-faithfulness",
            "return {'output': 'Final verdict for each statement in order: maybe.'}",
            "not yes or no",
        ),
    ],
)
async def test_code_that_judges_and_fails_is_no_verdict(engine: Engine, check: str, code: str, reason: str) -> None:
    (engine.config.db.parent / "judge.py").write_text(f"def call_api(prompt, options, context):\n    {code}\n")
    config = one(f"{{type: {check}, provider: 'file://judge.py'}}").replace("['Tell", "['Do not', 'Tell")
    config = config.replace("{topic: cats}", "{topic: cats, query: who?, context: Cats purr.}")
    matrix = await run(engine, config)
    assert (first(matrix).score, first(matrix).success) in {(None, False), (1.0, False)}
    assert reason in matrix.model_dump_json()
