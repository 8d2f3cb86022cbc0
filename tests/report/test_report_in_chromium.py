"""The HTML report as a browser shows it; where there is no Chromium these tests say so and are skipped."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from minions_evals_mcp.engine.context import Engine
from tests.report.chromium import CHROMIUM, chromium
from tests.report.hostile import PAYLOADS, hostile_runs, written
from tests.workshop import config_in, first, fleet, measured, opened

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="module")
async def hostile(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Engine]:
    """An engine on a store with two hostile runs."""
    async with opened(config_in(tmp_path_factory.mktemp("hostile"))) as engine:
        await hostile_runs(engine)
        yield engine


def shown(folder: Path, text: str, address: str = "") -> tuple[str, str]:
    """The page's elements once its script has run, and what the browser complained about."""
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    page, log = chromium(folder, "--virtual-time-budget=3000", "--dump-dom", file.as_uri() + address)
    return page, "\n".join(line for line in log.splitlines() if "CONSOLE" in line)


@pytest.mark.parametrize("compare", [None, "one"])
async def test_nothing_under_test_is_carried_out_when_every_case_is_open(
    hostile: Engine, tmp_path: Path, compare: str | None
) -> None:
    page, complaints = shown(tmp_path, await written(hostile, ".html", "two", compare=compare), "#open")
    assert page.count('class="inside"') == len(PAYLOADS)
    assert "<title>owned" not in page
    assert 'id="owned"' not in page
    assert not re.search("<(img|a|svg/)|<[^>]* on[a-z]+=", page)
    assert "&lt;script&gt;document.title" in page
    assert complaints == ""


async def test_the_address_filters_searches_and_turns_pages(engine: Engine, tmp_path: Path) -> None:
    await fleet(engine, 120)
    await measured(engine, "v", first(100, 120))
    text = await written(engine, ".html", "b")
    for address, count, cases in (
        ("", "120 of 120 shown", 50),
        ("#page=3", "120 of 120 shown", 20),
        ("#status=failed", "20 of 120 shown", 20),
        ("#status=passed&q=c99", "1 of 120 shown", 1),
        ("#q=nowhere", "0 of 120 shown", 0),
    ):
        page, complaints = shown(tmp_path, text, address)
        assert f">{count}</output>" in page
        assert page.count("<details><summary>") == cases
        assert complaints == ""
