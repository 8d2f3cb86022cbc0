"""After an edit of anything that a target is made of nothing is reused; without one the cache serves. At every door."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from minions_evals_mcp.domain.results import TestRun
from minions_evals_mcp.engine.config_eval.evaluate import evaluate
from minions_evals_mcp.engine.config_eval.evaluation import EvalOptions
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.evaluation.code_version import version_label, whole_source
from minions_evals_mcp.interop.promptfoo_config.config import ConfigOverrides, read_config
from minions_evals_mcp.targets.code_files import files_digest
from minions_evals_mcp.targets.function.task import python_target
from minions_evals_mcp.targets.named_data import STATE
from tests.hang import HANG_S
from tests.workshop import START, all_of, bench, benchmark, benchmark_run, case, save

PYTHON = {
    "near.py": "import json\nfrom pathlib import Path\nimport stale_far\n\ndef said():\n"
    "    words = [*stale_far.said(), (Path(__file__).parent / 'words' / 'near.txt').read_text()]\n"
    "    with open('asked.txt', 'a') as log: log.write('x')\n    return ['near-1', *words]\n",
    "far.py": "import json\nNAME = 'far.json'\n\ndef said():\n    with open(FOLDER + '/' + NAME) as file:\n"
    "        return ['far-1', json.load(file)]\n\nFOLDER = __file__.rpartition('/')[0]\n",
}
MODULES = {
    "near.mjs": "import fs from 'node:fs';\nimport path from 'node:path';\nimport * as far from './stale_far.mjs';\n"
    "const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);\n"
    "export const said = () => ['near-1', ...far.said(), fs.readFileSync(path.join(here, 'words', 'near.txt'), 'utf8')];\n",
    "far.mjs": "import fs from 'node:fs';\n"
    "export const said = () => ['far-1', JSON.parse(fs.readFileSync(new URL('./far.json', import.meta.url), 'utf8'))];\n",
}
DATA = {"words/near.txt": "text-1", "far.json": '"json-1"'}
OF_PYTHON = {**{f"stale_{name}": text for name, text in PYTHON.items()}, **DATA}
OF_MODULES = {**{f"stale_{name}": text for name, text in MODULES.items()}, **DATA}
COMMAND = {"stale_agent.py": "import stale_near\nprint('agent-1', *stale_near.said())\n", **OF_PYTHON}
FUNCTION = {"stale_agent.py": "import stale_near\n\ndef answer(q):\n    return ' '.join(['agent-1', *stale_near.said()])\n",
            **OF_PYTHON}  # fmt: skip
CONFIG = "prompts: ['{{q}}']\nproviders: ['%s']\ntests: [{vars: {q: x}}]\n"
PROVIDER = {
    "stale_agent.py": "import stale_near\n\ndef call_api(prompt, options, context):\n"
    "    return {'output': ' '.join(['agent-1', *stale_near.said()])}\n",
    "c.yaml": CONFIG % "file://stale_agent.py", **OF_PYTHON,
}  # fmt: skip
PROGRAM = {"c.yaml": CONFIG % f"exec:{sys.executable} stale_agent.py", **COMMAND}
SCRIPT = {
    "stale_agent.mjs": "import { said } from './stale_near.mjs';\nexport default class {\n  id() { return 'own'; }\n"
    "  async callApi() { return {output: ['agent-1', ...said()].join(' ')}; }\n}\n",
    "c.yaml": CONFIG % "file://stale_agent.mjs", **OF_MODULES,
}  # fmt: skip
Door = Callable[[Engine, Path], Awaitable[tuple[str, bool]]]
"""Asks with the cache; gives the output, and whether it was there before."""


async def _benchmark(engine: Engine, target: str) -> tuple[str, bool]:
    job = await bench(engine, "b", target=target, cache=True)
    ran = next(one.fields for one in await all_of(engine, TestRun) if one.id.startswith(job.id))
    assert ran.actual_output is not None
    return str(ran.actual_output["output"]), "cached" in (await benchmark_run(engine, job)).notes


async def _command(engine: Engine, _folder: Path) -> tuple[str, bool]:
    return await _benchmark(engine, f"command:{sys.executable} stale_agent.py")


async def _module_command(engine: Engine, _folder: Path) -> tuple[str, bool]:
    return await _benchmark(engine, f"command:{sys.executable} -m stale_agent")


async def _shell(engine: Engine, _folder: Path) -> tuple[str, bool]:
    return await _benchmark(engine, f"command:sh -c '{sys.executable} stale_agent.py 2>/dev/null'")


async def _function(engine: Engine, _folder: Path) -> tuple[str, bool]:
    return await _benchmark(engine, "python:stale_agent:answer")


async def _config(engine: Engine, folder: Path) -> tuple[str, bool]:
    trusted = ConfigOverrides(trust_code=True)
    evaluation = await anyio.to_thread.run_sync(lambda: read_config(folder / "c.yaml", now=START, overrides=trusted))
    with anyio.fail_after(HANG_S):
        matrix = await evaluate(engine, evaluation, EvalOptions(cache=True), environment={})
    cell = matrix.rows[0].cells[0]
    return str(cell.output), cell.cached


DOORS: dict[str, tuple[dict[str, str], Door]] = {
    "command": (COMMAND, _command),
    "command of a module": (COMMAND, _module_command),
    "command in a shell": (COMMAND, _shell),
    "python module": (FUNCTION, _function),
    "promptfoo provider": (PROVIDER, _config),
    "promptfoo program": (PROGRAM, _config),
    "javascript provider": (SCRIPT, _config),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "project"
    (folder / "words").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    for name in [name for name in sys.modules if name.startswith("stale_")]:
        del sys.modules[name]


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("kind", DOORS)
async def test_an_edit_of_anything_that_the_target_is_made_of_is_asked_anew(
    engine: Engine, project: Path, kind: str
) -> None:
    files, ask = DOORS[kind]
    if "javascript" in kind and shutil.which("node") is None:
        pytest.skip("node is not installed")
    _write(project, files)
    await save(engine, case("x", expectedOutputs={"output": "agent"}), benchmark("b", "x"))
    output, cached = await ask(engine, project)
    assert (output.split(), cached) == (["agent-1", "near-1", "far-1", "json-1", "text-1"], False)
    assert await ask(engine, project) == (output, True)
    for name in files:
        if name == "c.yaml":
            continue
        # of another length: Python itself tells kept bytecode by size and whole second
        edited = files[name].replace("-1", "-22")
        (project / name).write_text(edited)
        other, cached = await ask(engine, project)
        assert (other.count("-2"), cached) == (1, False), name
        (project / name).write_text(files[name])
    assert await ask(engine, project) == (output, True), "all as it was before"


def test_the_version_of_an_evaluated_function_tells_an_edit_of_anything_that_it_is_made_of(project: Path) -> None:
    files = {**FUNCTION}
    _write(project, files)

    def label() -> str:
        function = python_target("stale_agent:answer", deadline_s=1, width=1).function
        function("x")
        return version_label(function, whole_source(function))

    before = label()
    assert label() == before
    for name, text in files.items():
        (project / name).write_text(text.replace("-1", "-22"))
        assert label() != before, name
        (project / name).write_text(text)
        assert label() == before, name


READS = {
    "open('data/a.txt')": True,
    "Path('data', 'a.txt').read_text()": True,
    "(HERE / 'data' / 'a.txt').read_bytes()": True,
    "os.path.join(os.path.dirname(__file__), 'data', 'a.txt')": True,
    "[open(f'data/{name}.txt') for name in 'ab']": True,
    "[each.read_text() for each in (HERE / 'data').glob('*.txt')]": True,
    "open('data/' + 'a.txt')": True,
    "os.listdir('data')": True,
    "load('config.yaml')": True,
    "subprocess.run(['sh', 'tool.sh'])": True,
    "open('data/a.txt', 'w')": False,
    "Path('data/a.txt').write_text('x')": False,
    "(HERE / 'data' / 'a.txt').open('a')": False,
    "print('data')": False,
    "open('elsewhere.txt')": False,
}


@pytest.mark.parametrize("read", READS)
def test_data_counts_where_the_code_reads_it_and_not_where_it_writes_it(project: Path, read: str) -> None:
    (project / "data").mkdir()
    (project / "config.yaml").write_text("data: data/a.txt\n")
    (project / "tool.sh").write_text("cat data/a.txt\n")
    (project / "agent.py").write_text(f"from pathlib import Path\nimport os\nHERE = Path(__file__).parent\n{read}\n")
    (project / "data" / "a.txt").write_text("1")

    def digest() -> str:
        return files_digest([project / "agent.py"], project)

    before = digest()
    (project / "data" / "a.txt").write_text("2")
    assert (digest() != before) == READS[read]


def test_what_a_program_keeps_for_itself_is_no_part_of_it(project: Path) -> None:
    names = [f"kept{ending}" for ending in sorted(STATE)]
    (project / "agent.py").write_text("\n".join(f"use({name!r})" for name in names))
    before = files_digest([project / "agent.py"], project)
    _write(project, dict.fromkeys(names, "x"))
    assert files_digest([project / "agent.py"], project) == before
