"""What code in a config reads of `context`: each key as promptfoo gives it, and no verdict for what is not there."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest
import yaml
from pydantic import JsonValue

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Cell
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.interop.promptfoo_config.config import read_config
from tests.hang import HANG_S
from tests.workshop import START

PROVIDER = """
def call_api(prompt, options, context):
    return {"output": prompt.upper(), "cost": 0.25, "metadata": {"sources": ["a", "b"]}, "raw": {"id": 7},
            "tokenUsage": {"total": 9, "prompt": 5, "completion": 4}, "logProbs": [-0.5, -1.5]}
"""
HEAD: dict[str, JsonValue] = {
    "prompts": ["ask {{q}}"],
    "providers": [{"id": "python:p.py", "label": "mine", "config": {"tone": "dry"}}],
}
TEST: dict[str, JsonValue] = {
    "description": "the first",
    "vars": {"q": "why", "n": 3},
    "metadata": {"team": "a"},
    "threshold": 0.5,
}

READS = {
    "context.prompt.includes('why') && !context.prompt.includes('q')": True,
    "context.prompt === 'ask why'": True,
    "context.vars.n === 3 && context.vars.nobody === undefined": True,
    "context.test.description === 'the first' && context.test.vars.q === 'why'": True,
    "context.test.metadata.team === 'a' && context.test.threshold === 0.5": True,
    "context.test.assert[0].type === 'javascript'": True,
    "context.provider.id() === 'python:p.py' && context.provider.label === 'mine'": True,
    "context.provider.config.tone === 'dry'": True,
    "context.providerResponse.output === output && context.providerResponse.cost === 0.25": True,
    "context.providerResponse.raw.id === 7 && context.providerResponse.tokenUsage.total === 9": True,
    "context.providerResponse.nobody === undefined": True,
    "context.metadata.sources.length": True,
    "Math.exp(context.logProbs[0]) > 0.6": True,
    "context.config.least === 2": True,
    "!context.trace": True,
    "const {vars, prompt} = context; ({...vars}).n === 3 && prompt.length === 7": True,
    "Object.keys(context.vars).length === 2": True,
    "const key = 'pro' + 'mpt'; context[key] === 'ask why'": True,
    "context.vars.nobody?.x ?? true": True,
    "!('nobody' in context.vars)": True,
}
"""JavaScript with what promptfoo says of it."""
UNREAD = (
    "!context.prompts || true",
    "context.nobody?.x ?? 1",
    "'nobody' in context",
    "const {nobody = 1} = context; nobody",
    "const key = 'no' + 'body'; !context[key]",
    "!Object.hasOwn(context, 'nobody')",
)
COPIED = (
    "!{...context}.nobody",
    "const {vars, ...rest} = context; !rest.nobody",
    "!JSON.stringify(context).includes('nobody')",
    "Object.entries(context).every(([name]) => name !== 'nobody')",
    "!Object.assign({}, context).nobody",
    "!{...context.provider}.nobody",
    "for (const name in context) if (name === 'nobody') return false;\nreturn true",
)
"""JavaScript that goes through all of it, and would lose what keeps watch."""
IN_PYTHON = {
    "context['prompt'] == 'ask why' and context['vars']['n'] == 3": True,
    "context['test']['metadata']['team'] == 'a'": True,
    "context['provider']['config']['tone'] == 'dry' and context['provider'].get('label') == 'mine'": True,
    "context['providerResponse']['tokenUsage']['total'] == 9": True,
    "len(context['metadata']['sources']) == 2 and context.get('trace') is None": True,
    "context['logProbs'][0] == -0.5 and context['config']['least'] == 2": True,
    "name = 'pro' + 'mpt'\nreturn context[name] == 'ask why'": True,
    "{**context['vars']} == {'q': 'why', 'n': 3} and context['vars'].get('nobody') is None": True,
    "def held(given):\n    return given.get('trace') is None and given['vars']['n']\nreturn held(context)": True,
}
UNREAD_IN_PYTHON = (
    "context.get('nobody') is None",
    "'nobody' not in context",
    "(lambda: 1)() if context['provider']['id'] else 0",
    "name = 'no' + 'body'\nreturn not context.get(name)",
    "name = 'no' + 'body'\ntry:\n    return context[name]\nexcept KeyError:\n    return True",
    "provider = context['provider']\nreturn not provider.get('nobody')",
    "context.pop('nobody', None) is None",
)
COPIED_IN_PYTHON = (
    "'nobody' not in {**context}",
    "'nobody' not in dict(context)",
    "'nobody' not in json.dumps(context)",
    "all(name != 'nobody' for name in context)",
    "not (context | {}).get('nobody')",
    "'nobody' not in str(context)",
    "import copy\nreturn not copy.copy(context).get('nobody')",
    "len(context) > 3",
)


async def cells(engine: Engine, head: dict[str, JsonValue], checks: list[JsonValue]) -> list[Cell]:
    """The cell of a test for each check."""
    folder = engine.config.db.parent
    (folder / "p.py").write_text(PROVIDER)
    tests: list[JsonValue] = [{**TEST, "assert": [check]} for check in checks]
    (folder / "c.yaml").write_text(yaml.safe_dump({**head, "tests": tests}))
    with anyio.fail_after(HANG_S):
        matrix = await evaluate(engine, read_config(folder / "c.yaml", now=START), EvalOptions(), environment={})
    return [row.cells[0] for row in matrix.rows]


def check(code: str, kind: str = "javascript") -> JsonValue:
    return {"type": kind, "value": code, "config": {"least": 2}}


async def test_javascript_reads_every_key_of_context_as_in_promptfoo(engine: Engine) -> None:
    found = await cells(engine, HEAD, [check(code) for code in READS])
    assert {
        code: (cell.passed, cell.reason if cell.passed is None else "") for code, cell in zip(READS, found, strict=True)
    } == {code: (passes, "") for code, passes in READS.items()}


async def test_python_reads_every_key_of_context_as_in_promptfoo(engine: Engine) -> None:
    found = await cells(engine, HEAD, [check(code, "python") for code in IN_PYTHON])
    assert {code: cell.passed for code, cell in zip(IN_PYTHON, found, strict=True)} == IN_PYTHON


@pytest.mark.parametrize(("kind", "codes"), [("javascript", UNREAD), ("python", UNREAD_IN_PYTHON)])
async def test_reading_what_is_not_there_is_no_verdict_and_names_it(
    engine: Engine, kind: str, codes: tuple[str, ...]
) -> None:
    for cell in await cells(engine, HEAD, [check(code, kind) for code in codes]):
        assert (cell.outcome, cell.passed) == ("judge-error", None)
        assert "which is not there" in cell.reason
        assert "context." in cell.reason


@pytest.mark.parametrize(("kind", "codes"), [("javascript", COPIED), ("python", COPIED_IN_PYTHON)])
async def test_going_through_all_of_what_is_not_wholly_known_is_no_verdict(
    engine: Engine, kind: str, codes: tuple[str, ...]
) -> None:
    for cell in await cells(engine, HEAD, [check(code, kind) for code in codes]):
        assert (cell.outcome, cell.passed) == ("judge-error", None)
        assert "of which not everything is known" in cell.reason


async def test_a_provider_whose_config_may_hold_a_key_tells_code_nothing_of_it(engine: Engine) -> None:
    head: dict[str, JsonValue] = {
        **HEAD,
        "providers": [{"id": "python:p.py", "config": {"apiKey": "sk-1", "tone": "dry"}}],
    }
    read, unread = await cells(
        engine, head, [check("context.provider.id() > ''"), check("context.provider.config.tone")]
    )
    assert read.passed
    assert "context.provider.config, which is not there" in unread.reason


async def test_what_is_told_to_code_is_kept_in_the_test_only_where_code_may_read_it(engine: Engine) -> None:
    folder: Path = engine.config.db.parent
    (folder / "p.py").write_text(PROVIDER)
    asked: list[JsonValue] = [{**TEST, "assert": [check(code)]} for code in ("context.test.threshold", "output.length")]
    (folder / "c.json").write_text(json.dumps({**HEAD, "tests": asked}))
    found = read_config(folder / "c.json", now=START)
    kept = [one.record.wire()["fields"] for one in found.arrivals if one.record.id in found.case_ids]
    assert [bool(isinstance(one, dict) and one.get("written")) for one in kept] == [True, False]


async def test_a_number_that_is_none_fails_with_score_0(engine: Engine) -> None:
    checks = [check("0 / 0"), check("Number('x')"), check("float('nan')", "python")]
    for cell in await cells(engine, HEAD, checks):
        assert (cell.outcome, cell.passed, cell.score) == ("scored", False, 0)
