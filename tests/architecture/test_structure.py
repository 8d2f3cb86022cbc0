"""The shape of the code is no worse than its recorded baseline, and the page that shows a run names modules that exist."""

from __future__ import annotations

import json
import re

import pytest

from tests.architecture import structure
from tests.architecture.structure import KEPT, RATCHET, ROOT

PAGE = ROOT / "docs" / "development" / "life-of-a-run.md"


@pytest.mark.parametrize("name", RATCHET)
def test_a_figure_is_no_worse_than_its_baseline(name: str) -> None:
    kept: dict[str, int] = json.loads(KEPT.read_text("utf-8"))
    assert structure.figures([name])[name] <= kept[name], (
        "python -m tests.architecture.structure shows what is behind the figure"
    )


def test_the_page_on_the_life_of_a_run_names_modules_that_exist() -> None:
    text = PAGE.read_text("utf-8")
    named = re.findall(r"[a-z_]+(?:/[a-z_]+)*/[a-z_]+\.py", text)
    assert len(named) >= 15
    missing = [path for path in named if not ((ROOT / path).is_file() or (ROOT / "minions_evals_mcp" / path).is_file())]
    assert missing == []
    assert len(text.splitlines()) <= 60
