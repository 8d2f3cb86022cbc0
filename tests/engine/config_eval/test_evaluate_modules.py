"""JavaScript that makes parts of a config under --trust-code: prompts, tests, variables and providers as modules of node."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from tests.hang import HANG_S
from tests.workshop import START

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
FILES = {
    "prompt.mjs": "import { said } from './words.mjs';\nexport default ({vars, provider}) => `${said} ${vars.q} to ${provider.id}`;\n"
    "export function chat({vars, config}) { return {prompt: [{role: 'user', content: vars.q}], config}; }\n",
    "words.mjs": "export const said = 'ask';\n",
    "tests.js": "module.exports = async (config) => ['x', 'y'].map((q) => ({vars: {q: q + (config?.tail ?? ''), v: 'file://var.cjs'},"
    " assert: [{type: 'contains', value: q}]}));\n",
    "var.cjs": "module.exports = (name, prompt, vars) => ({output: `${name} of ${vars.q}`});\n",
    "provider.mjs": "export default class Provider {\n  constructor(options) { this.config = options.config; }\n  id() { return 'own'; }\n"
    "  async callApi(prompt, context) {\n    if (context.vars.q.startsWith('y')) return {error: 'no y'};\n"
    "    return {output: prompt + this.config.mark + context.vars.v, cost: 0.5, tokenUsage: {prompt: 2, completion: 3}};\n  }\n}\n",
    "check.mjs": "export const floor = 3;\nexport default function (output, context) {\n"
    "  return output.length > floor && !!context.vars.q;\n}\n",
    "c.yaml": "prompts: [file://prompt.mjs, 'file://prompt.mjs:chat']\nproviders: [{id: file://provider.mjs, config: {mark: '!'}}, echo]\n"
    "defaultTest: {assert: [{type: javascript, value: file://check.mjs}]}\ntests: [{path: file://tests.js, config: {tail: '-'}}]\n",
}


def written(folder: Path, **other: str) -> Path:
    for name, text in {**FILES, **other}.items():
        (folder / name).write_text(text)
    return folder / "c.yaml"


async def test_modules_write_prompts_make_tests_and_variables_and_answer(engine: Engine) -> None:
    path = written(engine.config.db.parent)
    evaluation = await anyio.to_thread.run_sync(
        lambda: read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))
    )
    with anyio.fail_after(HANG_S):
        matrix = await evaluate(engine, evaluation, EvalOptions(), environment={})
    first, second = matrix.rows
    assert first.variables == {"q": "x-", "v": "v of x-"}
    assert [cell.output for cell in first.cells] == [
        "ask x- to own!v of x-",
        '[{"role": "user", "content": "x-"}]!v of x-'.replace(
            '[{"role": "user", "content": "x-"}]', first.cells[1].prompt or "?"
        ),
        "ask x- to echo",
        first.cells[3].prompt,
    ]
    assert [cell.passed for cell in first.cells] == [True] * 4
    assert (first.cells[0].cost_usd, first.cells[0].input_tokens, first.cells[0].output_tokens) == (0.5, 2, 3)
    assert [cell.outcome for cell in second.cells[:2]] == ["target-error"] * 2
    assert "no y" in second.cells[0].reason


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tests.js", "module.exports = () => { throw new Error('broken') };", "tests.js: broken"),
        ("tests.js", "export const a = ;", "tests.js: "),
        ("var.cjs", "module.exports = () => 3;", "must give"),
    ],
)
def test_a_module_that_breaks_is_refused_with_the_place_that_names_it(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    path = written(tmp_path, **{name: text})
    with pytest.raises(InvalidRecordError, match=said) as refused:
        read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))
    assert "c.yaml" in refused.value.message or "tests.js" in refused.value.message
