"""What a Python program imports."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import BaseModel

import minions_evals_mcp as evals
from minions_evals_mcp.api.runs import RunBenchmarkRequest, RunTestCaseRequest, run_benchmark, run_test_case
from minions_evals_mcp.shipped import shipped_folder
from minions_evals_mcp.store import runs
from tests.hang import HANG_S
from tests.shared.cli.standby import STANDBYS, Asked
from tests.shared.cli.terminal import inherited
from tests.workshop import answer, benchmark, case, save

SEEDS = {
    "run_test", "run_test_suite", "compare_versions", "open_engine", "open_engine_sync", "run_test_case", "run_benchmark",
    "compare_prompt_versions", "approve_prompt_version", "create_test_case", "update_test_case", "delete_test_case",
    "execute_test_case", "run_ab_test", "create_branch", "update_branch", "delete_branch", "batch_run_tests",
    "test_case_stats", "test_case_executions", "update_expected_output",
}  # fmt: skip
"""What the seeds ask for from Python; the list grows and never shrinks."""
MODULES = ("branches", "rows", "runs", "seals", "testing", "versions")
ROOT = Path(__file__).parents[1]


def test_every_public_name_is_there() -> None:
    assert len(evals.__all__) == len(set(evals.__all__)) <= 20
    for name in evals.__all__:
        assert getattr(evals, name).__name__ == name
    for name in SEEDS:
        assert callable(getattr(evals, name)), "an old program finds it where it was"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_of_the_api_gives_its_names_and_the_top_still_does(module: str) -> None:
    names = import_module(f"minions_evals_mcp.api.{module}")
    assert names.__all__ == sorted(names.__all__)
    for name in names.__all__:
        assert getattr(evals, name) is getattr(names, name)


def test_the_page_of_verbs_names_every_verb() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    modules = [import_module(f"minions_evals_mcp.api.{module}") for module in MODULES]
    verbs = {name for module in (evals, *modules) for name in module.__all__ if name.islower()}
    assert {name for name in verbs if f"`{name}`" not in page} == set()


def test_importing_everything_in_a_test_module_brings_nothing_that_pytest_collects(tmp_path: Path) -> None:
    wanted = "".join(f"from minions_evals_mcp.api.{module} import *\n" for module in MODULES)
    (tmp_path / "test_mine.py").write_text(
        f"from minions_evals_mcp import *\n{wanted}\ndef test_own():\n    assert callable(evaluate)\n"
    )
    given = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    _, out, _ = STANDBYS.carried_out(Asked(given, str(tmp_path), inherited(), "pytest"), b"", HANG_S)
    assert b"1 passed" in out, out


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'run_everything'"):
        evals.run_everything  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnusedExpression]  the lookup is the test


def test_a_module_that_is_taken_out_of_the_package_brings_no_other_along() -> None:
    look = "import sys; from minions_evals_mcp import configured; print('minions_evals_mcp.api' in sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG_S
    )
    assert ended.stdout.strip() == "False"


async def test_a_program_can_run_a_case_and_a_benchmark(tmp_path: Path) -> None:
    config = evals.EngineConfig(db=tmp_path / "e.db", skills=shipped_folder("skills"))
    async with evals.open_engine(config) as engine:
        assert isinstance(engine, evals.Engine)
        good = case("c", expectedOutputs={"output": "good"})
        await save(engine, [good, answer("r", "c", "good")], benchmark("b", "c"))
        one = await evals.run_test_case(engine, evals.RunRequest(subject_id="c"))
        many = await evals.run_benchmark(engine, evals.RunRequest(subject_id="b"))
        assert (one.state, many.state) == ("completed", "completed")
        found = await engine.store.read(lambda db: runs.benchmark_run(db, many.id))
    assert found is not None
    assert (found.fields.passed_count, found.fields.total_count) == (1, 1)


async def test_requests_are_in_the_documents_words_and_say_that_python_asks(tmp_path: Path) -> None:
    async with evals.open_engine(str(tmp_path / "e.db")) as engine:
        await save(
            engine, [case("c", expectedOutputs={"output": "good"}), answer("r", "c", "good")], benchmark("b", "c")
        )
        one = await run_test_case(engine, RunTestCaseRequest(test_case_id="c"))
        many = await run_benchmark(engine, RunBenchmarkRequest(benchmark_id="b"))
        assert (one.state, many.state) == ("completed", "completed")
        found = await engine.store.read(lambda db: runs.benchmark_run(db, many.id))
    assert found is not None
    assert found.fields.triggered_by == "python"


@pytest.mark.parametrize("module", MODULES)
def test_the_signature_of_a_request_names_its_fields_before_and_after_its_first_use(module: str) -> None:
    names = import_module(f"minions_evals_mcp.api.{module}")
    requests = [kind for name in names.__all__ if issubclass(kind := _type(getattr(names, name)), BaseModel)]
    for kind in requests:
        for _ in range(2):
            shown = inspect.signature(kind).parameters
            assert shown.keys() == kind.model_fields.keys()
            required = {name for name, one in shown.items() if one.default is one.empty}
            assert required == {name for name, field in kind.model_fields.items() if field.is_required()}
            kind.model_rebuild()


def _type(public: object) -> type:
    return public if isinstance(public, type) else type(public)


async def test_an_engine_opens_on_a_path_with_the_shipped_skills(tmp_path: Path) -> None:
    async with evals.open_engine(str(tmp_path / "e.db")) as engine:
        assert isinstance(engine, evals.Engine)
        assert engine.config.skills == shipped_folder("skills")
        assert engine.config.db == tmp_path / "e.db"


PROGRAM = """
import anyio
from minions_evals_mcp import open_engine_sync

with open_engine_sync("evals.db") as engine:
    from minions_evals_mcp.engine.records.save_records import Arrival, save_records
    from minions_evals_mcp.domain.records import record_from_wire
    wire = {"id": "r", "type": "agent-run", "fields": {
        "agentId": "agent", "inputs": {"text": "I love it!"}, "outputs": {"output": "positive"}}}
    engine(save_records, [Arrival(record_from_wire(wire, new_id="", now=engine.engine.clock()))])
"""


SETTING = """
import anyio
from minions_evals_mcp import open_engine_sync
from minions_evals_mcp.domain.records import record_from_wire
from minions_evals_mcp.engine.records.save_records import Arrival, save_records

wires = [
    {"id": f"p@{n}", "type": "prompt-version", "fields": {"promptId": "p", "content": f"Say {n}", "versionNumber": n}}
    for n in (1, 2)
]
for n in range(12):
    fields = {"name": f"c{n}", "inputs": {"q": n}, "expectedOutputs": {"output": "good"}}
    wires.append({"id": f"c{n}", "type": "test-case", "fields": fields})
    for version, text in (("p@1", "bad"), ("p@2", "good")):
        said = {"agentId": "a", "inputs": {"q": n}, "outputs": {"output": text}, "promptVersionRef": version}
        wires.append({"id": f"{version}/{n}", "type": "agent-run", "fields": said})
cases = [f"c{n}" for n in range(12)]
wires.append({"id": "b", "type": "benchmark", "fields": {"name": "b", "dimension": "d", "testCaseIds": cases}})
with open_engine_sync("evals.db") as engine:
    engine(save_records, [Arrival(record_from_wire(one, new_id="", now=engine.engine.clock())) for one in wires])
"""

KEYED = re.compile(r"<!-- needs: keys[^\n]*-->\n```python\n.*?```", re.DOTALL)
"""A program that needs keys of providers."""


def test_the_programs_on_the_page_of_verbs_run_as_they_stand(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    flow, listing, _ = re.findall(r"```python\n(.*?)```", re.sub(KEYED, "", page), re.DOTALL)
    program = tmp_path / "program.py"
    program.write_text(f"{PROGRAM}\n{flow}\nanyio.run(check, 'sentiment')\n{listing}", "utf-8")
    asked = Asked([str(program)], str(tmp_path), inherited(), "python")
    code, out, err = STANDBYS.carried_out(asked, b"", HANG_S)
    assert code == 0, err
    assert out.decode().splitlines() == ["Failed tests: 0 Regressions: 0", "Pass rate: 100.0%", "Positive 100.0"]


def test_the_program_that_compares_two_versions_runs_as_it_stands(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    *_, comparing = re.findall(r"```python\n(.*?)```", re.sub(KEYED, "", page), re.DOTALL)
    program = tmp_path / "program.py"
    program.write_text(f"{SETTING}\n{comparing}\nprint(anyio.run(better, 'b', 'p@1', 'p@2'))\n", "utf-8")
    asked = Asked([str(program)], str(tmp_path), inherited(), "python")
    code, out, err = STANDBYS.carried_out(asked, b"", HANG_S)
    assert code == 0, err
    figures, words, better = out.decode().splitlines()
    assert "'passedCount': 12" in figures
    assert words.startswith("Ship p@2: it scores 1.000 higher")
    assert better == "True"
