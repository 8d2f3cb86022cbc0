"""Extension hooks of a config: what they may change, when they are called, and what is said where they fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.config_eval.matrix import Matrix
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.errors import BadInputError, EvalsError
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from tests.hang import HANG_S
from tests.workshop import START

pytestmark = pytest.mark.anyio
CONFIG = "prompts: ['{{ a }} {{ b }}']\nproviders: [echo]\nextensions: ['file://hooks.py:hook']\n"
TESTS = "tests: [{vars: {a: one, b: two}, assert: [{type: contains, value: '{{ b }}', metric: m}]}]\n"
LOGGED = "    with open(__file__ + '.log', 'a') as log:\n        log.write(name + ' ')\n"


def config(engine: Engine, hook: str, *, text: str = CONFIG + TESTS) -> Path:
    """A config whose hook is that body of `hook(name, context)`."""
    folder = engine.config.db.parent
    (folder / "hooks.py").write_text(f"def hook(name, context):\n{LOGGED}    {hook}\n")
    (folder / "c.yaml").write_text(text)
    return folder / "c.yaml"


async def run(engine: Engine, hook: str, *, text: str = CONFIG + TESTS) -> Matrix:
    path = config(engine, hook, text=text)
    evaluation = await anyio.to_thread.run_sync(
        lambda: read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))
    )
    with anyio.fail_after(HANG_S):
        return await evaluate(engine, evaluation, EvalOptions(), environment={})


def called(engine: Engine) -> str:
    return (engine.config.db.parent / "hooks.py.log").read_text()


async def test_hooks_are_called_in_order_and_no_output_that_is_kept_is_asked_for_again(engine: Engine) -> None:
    change = "return {'test': {**context['test'], 'vars': {**context['test']['vars'], 'a': 'A'}}} if name == 'beforeEach' else None"
    first = await run(engine, change)
    assert first.rows[0].cells[0].output == "A two"
    assert first.rows[0].cells[0].recalled == {"a": "A"}
    assert called(engine).split() == ["beforeAll", "beforeEach", "afterEach", "afterAll"]
    assert await run(engine, change) == first
    assert called(engine).split()[4:] == ["beforeAll", "afterEach", "afterAll"]
    again = await run(engine, change.replace("'A'", "'B'"))
    assert again.rows[0].cells[0].output == "B two", "another hook is asked for another output"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("context['test']['assert'] = []", "beforeEach changed assert: of a test, it may change only variables"),
        ("context['test']['vars']['b'] = 1", "beforeEach changed b, which a template of the test uses"),
        (
            "del context['test']['vars']['a']",
            "beforeEach changed a, which a template of the test uses, or removed it",
        ),
        ("raise ValueError('no')", "beforeEach in hooks.py: it raised ValueError: no"),
        ("context = {'vars': 1}", "it must return the context, with test in it"),
        ("context = {'test': object()}", "it did not return JSON"),
    ],
)
async def test_what_before_each_may_not_change_is_the_cells_error(engine: Engine, change: str, reason: str) -> None:
    matrix = await run(engine, f"if name == 'beforeEach':\n        {change}\n        return context")
    cell = matrix.rows[0].cells[0]
    assert (cell.outcome, cell.passed) == ("target-error", None)
    assert reason in cell.reason


async def test_after_each_gives_scores_and_what_is_not_kept_of_it_is_noted(engine: Engine) -> None:
    given = "{'result': {'namedScores': {'m': 0.25, 'new': 2, 'odd': 'x'}, 'metadata': {'k': 1}}}"
    derived = "derivedMetrics: [{name: twice, value: new * 2}]\n"
    matrix = await run(engine, f"return {given} if name == 'afterEach' else None", text=CONFIG + TESTS + derived)
    assert matrix.rows[0].cells[0].metrics == {"m": 0.25, "new": 2.0}
    assert (matrix.columns[0].metric_sums, matrix.columns[0].derived) == ({"m": 0.25, "new": 2.0}, {"twice": 4.0})
    assert any("metadata that an afterEach gives is not saved" in note for note in matrix.notes)
    failed = await run(engine, "if name == 'afterEach':\n        raise OSError('full')")
    assert "extensions: afterEach in hooks.py: it raised OSError: full" in failed.notes
    assert failed.rows[0].cells[0].passed is True


async def test_a_hook_after_all_that_fails_ends_the_evaluation_with_all_kept(engine: Engine) -> None:
    with pytest.raises(
        BadInputError, match=r"afterAll in hooks.py: it raised KeyError: 'gone'. What was judged is kept"
    ):
        await run(engine, "if name == 'afterAll': raise KeyError('gone')")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hookName", "hooks stand in files of JavaScript and Python"),
        ("file://none.js", "there is no file"),
    ],
)
async def test_hooks_that_are_not_run_are_refused_by_name(engine: Engine, text: str, said: str) -> None:
    path = config(engine, "pass", text=CONFIG.replace("file://hooks.py:hook", text) + TESTS)
    with pytest.raises(EvalsError, match=said):
        read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))


async def test_without_trust_no_hook_is_called(engine: Engine) -> None:
    path = config(engine, "pass")
    with pytest.raises(EvalsError, match=r"c.yaml:3: extensions.0: hooks.py: hooks run only with trust-code"):
        read_config(path, now=START)
    assert not (path.parent / "hooks.py.log").exists()
    (path.parent / "hooks.py").unlink()
    left_out = read_config(path, now=START, overrides=ConfigOverrides(allow_unsupported=True)).left_out
    assert [one.split(": ")[1] for one in left_out] == ["extensions.0"], "wherever its file is"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("context['suite']['redteam'] = {'x': 1}", "beforeAll changed redteam, which is not supported"),
        ("context['suite']['tests'] = [{'vars': {'a': 1}, 'assert': [{'type': 'strange'}]}]", "tests.0.assert.0"),
        ("raise ValueError('no')", "beforeAll in hooks.py: it raised ValueError: no"),
    ],
)
async def test_what_before_all_may_not_change_is_refused(engine: Engine, change: str, said: str) -> None:
    path = config(engine, f"if name == 'beforeAll':\n        {change}\n        return context")
    with pytest.raises(EvalsError, match=said):
        read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))


async def test_a_hook_whose_process_ends_is_named(engine: Engine) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    path = config(engine, "pass", text=CONFIG.replace("hooks.py:hook", "hooks.mjs") + TESTS)
    (path.parent / "hooks.mjs").write_text("export default (name) => { if (name === 'beforeAll') process.exit(3); }")
    with pytest.raises(EvalsError, match=r"beforeAll in hooks.mjs: its process ended"):
        read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))
    (path.parent / "hooks.mjs").write_text("export const x = 1;")
    with pytest.raises(EvalsError, match="it exports no function as its default"):
        read_config(path, now=START, overrides=ConfigOverrides(trust_code=True))
