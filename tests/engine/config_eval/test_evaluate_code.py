"""Configs whose transforms, checks and verdicts are code in files: each cell and metric as promptfoo 0.121.20 gave it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from minions_evals_mcp.interop.promptfoo_results import results_json
from tests.hang import HANG_S
from tests.shared.targets.application import Asked as Heard
from tests.shared.targets.application import application, reply
from tests.workshop import START

Json = dict[str, JsonValue]
CONFIG = """
prompts: ['{{x}}']
providers:
  - {id: echo, label: js, transform: file://t.js}
  - {id: echo, label: py, transform: 'file://t.py:shout'}
assertionTemplates: {two: {type: contains, value: two, transform: 'file://t.js:two'}}
tests:
  - vars: {x: one}
    options: {transform: 'file://t.js:twice'}
    assert:
      - {type: javascript, value: file://check.js, metric: 'm-{{x}}', weight: 2, config: {want: 'ONE'}}
      - {type: python, value: file://check.py, config: {n: 3}}
      - {$ref: '#/assertionTemplates/two'}
  - vars: {x: two}
    options: {transform: file://t.py}
    assertScoringFunction: file://score.js
    assert:
      - {type: javascript, value: file://check.js, metric: len, config: {want: TWO}}
      - {type: contains, value: two, metric: says}
"""
FILES = {
    "c.yaml": CONFIG,
    "t.js": "const up = (output, context) => output + context.vars.x;\n"
    "module.exports = Object.assign(up, {twice: (output) => output + output, two: () => 'two'});",
    "t.py": "def shout(output, context):\n    return output.upper() + context['vars']['x']\n\n"
    "def get_transform(output, context):\n    return output.title()\n",
    "check.js": "module.exports = (output, context) => ({pass: true, score: 0.5, reason: 'js',\n"
    "  namedScores: {len: output.length / 100, got: output.includes(context.config.want) ? 1 : 0},\n"
    "  componentResults: [{pass: true, score: 1, reason: 'a'}, {pass: false, score: 0, reason: 'b'}]});",
    "check.py": "def get_assert(output, context):\n    enough = len(output) > context['config']['n']\n"
    "    return {'pass_': enough, 'score': 0.25, 'reason': 'py', 'named_scores': {'len': 0.2}}\n",
    "score.js": "module.exports = () => ({pass: true, score: 0.9, reason: 'mine', namedScores: {says: 0.7, extra: 0.4}});",
}


async def evaluated(engine: Engine, **files: str) -> tuple[Matrix, Json]:
    """The matrix of `c.yaml` among those files, and its results in promptfoo's form."""
    folder = engine.config.db.parent
    for name, content in files.items():
        (folder / name).write_text(content)
    evaluation = read_config(folder / "c.yaml", now=START)
    with anyio.fail_after(HANG_S):
        matrix = await evaluate(engine, evaluation, EvalOptions(), environment={})
    results = results_json(matrix, evaluation, at="2026-11-21T09:00:00Z")["results"]
    assert isinstance(results, dict)
    return matrix, results


async def test_code_in_files_transforms_checks_and_scores_as_in_promptfoo(engine: Engine) -> None:
    matrix, results = await evaluated(engine, **FILES)
    assert [[cell.output for cell in row.cells] for row in matrix.rows] == [
        ["oneoneoneone", "ONEoneONEone"], ["Twotwo", "Twotwo"],
    ]  # fmt: skip
    assert [[cell.score for cell in row.cells] for row in matrix.rows] == [[0.5625, 0.5625], [0.9, 0.9]]
    first, second = (row.cells[1] for row in matrix.rows)
    assert first.metrics == pytest.approx({"m-one": 0.5, "len": (2 * 0.12 + 0.2) / 3, "got": 1})
    assert first.metric_weights == {"m-one": 2, "len": 3, "got": 2}
    assert (second.metrics, second.metric_weights) == ({"says": 0.7, "extra": 0.4}, {"says": 1, "extra": 1})
    assert matrix.columns[1].metric_sums == pytest.approx(
        {"m-one": 1, "len": 0.44, "got": 2, "says": 0.7, "extra": 0.4}
    )
    prompts = results["prompts"]
    assert isinstance(prompts, list)
    assert isinstance(told := prompts[1], dict)
    assert isinstance(figures := told["metrics"], dict)
    assert figures["namedScoresCount"] == {"m-one": 3, "len": 1, "got": 1, "says": 1, "extra": 1}


async def test_what_code_looked_at_stands_behind_its_verdict_in_the_results_and_templates_as_they_were_meant(
    engine: Engine,
) -> None:
    _, results = await evaluated(engine, **FILES)
    cells = results["results"]
    assert isinstance(cells, list)
    cell = cells[0]
    assert isinstance(cell, dict)
    graded = cell["gradingResult"]
    assert isinstance(graded, dict)
    told = graded["componentResults"]
    assert isinstance(told, list)
    parts = [one for one in told if isinstance(one, dict)]
    assert [one["score"] for one in parts] == [0.5, 1, 0, 0.25, 1]
    assert parts[0]["componentResults"] == parts[1:3]
    assert parts[2]["assertion"] == parts[0]["assertion"]
    assert parts[4]["assertion"] == {"type": "contains", "value": "two", "transform": "file://t.js:two"}


async def test_an_answer_from_an_address_is_read_by_a_function_in_a_file(engine: Engine) -> None:
    async def said(_: Heard) -> bytes:
        return reply({"said": ["yes"]})

    async with application(said) as app:
        config = f"""
prompts: [ask]
providers: [{{id: '{app.url}', config: {{body: {{q: '{{{{prompt}}}}'}}, transformResponse: 'file://t.js:said'}}}}]
tests: [{{assert: [{{type: equals, value: 'yes!'}}]}}]
"""
        matrix, _ = await evaluated(
            engine, **{"c.yaml": config, "t.js": "exports.said = (json) => json.said[0] + '!';"}
        )
    assert [(cell.success, cell.output, cell.reason) for cell in matrix.rows[0].cells] == [(True, "yes!", "")]


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ("providers: [{id: echo, transform: file://t.ts}]", "providers.0.transform: TypeScript runs only with trust-code"),
        ("providers: [echo]\ntests: [{options: {transform: file://t.ts}}]", "tests.0.options.transform"),
        ("providers: [{id: 'http://127.0.0.1:1', config: {transformResponse: file://t.py}}]", "transform in a .py file"),
    ],
)  # fmt: skip
def test_code_in_files_that_is_not_carried_out_is_refused_by_name(tmp_path: Path, config: str, named: str) -> None:
    for name in ("t.ts", "t.py"):
        (tmp_path / name).write_text("a = 1\n")
    (tmp_path / "c.yaml").write_text(f"prompts: [p]\n{config}\n")
    with pytest.raises(EvalsError) as refused:
        read_config(tmp_path / "c.yaml", now=START)
    assert named in refused.value.message
