"""The suites that we ship and show hold what they preach: hardly a cheat passes them, and mutants fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minions_evals_mcp.interop.audit.audits import audit
from minions_evals_mcp.shipped import shipped_folder
from tests.workshop import config_in, opened

ROOT = Path(__file__).parents[3]
OWN = [
    *sorted(shipped_folder("fixtures").glob("*.yaml")),
    ROOT / "minions_evals_mcp/cli/starter.yaml",
    ROOT / "examples/own-application/suite.yaml",
    ROOT / "examples/recorded-runs/suite.yaml",
    ROOT / "examples/pytest-project/opening.evals.yaml",
    ROOT / "examples/promptfoo-config/promptfooconfig.yaml",
]
PAGES = [ROOT / "README.md", ROOT / "docs/get-started.md", *sorted((ROOT / "docs/tutorials").glob("*.md"))]
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SUITE = re.compile(r"^(?:records|minions|tests):", re.MULTILINE)
SHOWN = [
    (f"{page.name}:{number}", block)
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text("utf-8")))
    if SUITE.search(block)
]


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.name)
async def test_cheats_pass_at_most_5_percent_of_our_own_cases_and_90_percent_of_mutants_fail(
    tmp_path: Path, file: Path
) -> None:
    async with opened(config_in(tmp_path)) as engine:
        found = (await audit(engine, file, keep=False)).fields
    assert found.case_count > 0
    assert (found.cheat_pass_rate or 0) <= 0.05, [(one.test_case_id, one.cheats_passed) for one in found.cases]
    assert found.mutation_score is None or found.mutation_score >= 0.9
    assert set(found.findings) <= {"no-reference"}


def test_the_pages_show_suites() -> None:
    assert {name.partition(":")[0] for name, _ in SHOWN} >= {"README.md", "platform-owner.md", "prompt-engineer.md"}


@pytest.mark.parametrize("block", [block for _, block in SHOWN], ids=[name for name, _ in SHOWN])
async def test_no_suite_that_a_page_shows_lets_cheats_or_mutants_pass(tmp_path: Path, block: str) -> None:
    file = tmp_path / "evals.yaml"
    file.write_text(block, "utf-8")
    (tmp_path / "model.py").touch()
    async with opened(config_in(tmp_path)) as engine:
        found = (await audit(engine, file, keep=False)).fields
    assert found.case_count > 0
    assert found.cheat_pass_rate == 0, [(one.test_case_id, one.cheats_passed) for one in found.cases]
    assert found.mutation_score in {None, 1.0}
    assert set(found.findings) <= {"no-reference"}
