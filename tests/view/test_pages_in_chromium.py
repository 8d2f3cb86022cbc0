"""The page as a browser shows it; where there is no Chromium these tests say so and are skipped."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio.to_thread
import pytest

from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.view.rendering import stylesheet
from tests.report.chromium import CHROMIUM, chromium
from tests.report.hostile import hostile_runs
from tests.view.axe import grave, looked_at
from tests.view.process import viewing
from tests.view.visitor import TWO, visitor
from tests.workshop import answer, bench, benchmark, case, config_in, opened, rubric, save

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
PAGES = {
    "overview": "/",
    "runs": "/runs",
    "benchmark": "/benchmark?id=b",
    "run": "/run?id=job2",
    "case": "/case?run=job2&at=3.1",
    "failures": "/failures",
    "outbox": "/outbox",
    "judge": "/judge",
    "stopped": "/nothing",
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store lies."""
    return tmp_path_factory.mktemp("viewed")


@pytest.fixture(scope="module")
async def viewed(folder: Path) -> AsyncGenerator[Engine]:
    """An engine on a store with two hostile runs, and an output that waits for a person."""
    async with opened(config_in(folder)) as engine:
        await hostile_runs(engine)
        await save(
            engine, rubric("p", 2, **TWO), case("w", rubricId="p"), answer("aw", "w", "Waits."), benchmark("q", "w")
        )
        await bench(engine, "q")
        yield engine


async def texts(engine: Engine) -> dict[str, str]:
    """Every page."""
    async with visitor(engine) as client:
        return {name: (await client.get(address)).text for name, address in PAGES.items()}


@pytest.mark.parametrize(("width", "dark"), [(360, False), (1000, True)])
async def test_axe_finds_nothing_serious_and_no_page_is_wider_than_the_screen(
    viewed: Engine, tmp_path: Path, width: int, *, dark: bool
) -> None:
    pages = await texts(viewed)
    found = await anyio.to_thread.run_sync(
        lambda: looked_at(tmp_path, pages, style=stylesheet(), width=width, dark=dark)
    )
    assert sorted(str(one["page"]) for one in found) == sorted(PAGES)
    assert {str(one["page"]): grave(one) for one in found if grave(one)} == {}
    assert {one["page"]: one["wider"] for one in found if one["wider"]} == {}


async def test_the_real_page_runs_its_own_script_only_and_its_policy_refuses_nothing_of_it(
    viewed: Engine, folder: Path, tmp_path: Path
) -> None:
    def shown() -> dict[str, tuple[str, str]]:
        with viewing(folder) as started:
            return {
                name: chromium(tmp_path, "--virtual-time-budget=2500", "--dump-dom", started.at(PAGES[name]))
                for name in ("run", "judge")
            }

    for page, log in (await anyio.to_thread.run_sync(shown)).values():
        assert "<nav" in page
        assert "<title>owned" not in page
        assert 'id="owned"' not in page
        assert [line for line in log.splitlines() if "CONSOLE" in line] == []
