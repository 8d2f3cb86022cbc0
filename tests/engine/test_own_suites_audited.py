"""The suites that we ship and show hold what they preach: hardly a cheat passes them, and mutants fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.interop.audit.audits import audit
from minions_evals_mcp.shipped import shipped_folder
from tests.workshop import config_in, opened

ROOT = Path(__file__).parents[2]
OWN = [
    *sorted(shipped_folder("fixtures").glob("*.yaml")),
    ROOT / "minions_evals_mcp/cli/starter.yaml",
    ROOT / "examples/own-application/suite.yaml",
    ROOT / "examples/recorded-runs/suite.yaml",
    ROOT / "examples/pytest-project/opening.evals.yaml",
    ROOT / "examples/promptfoo-config/promptfooconfig.yaml",
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
