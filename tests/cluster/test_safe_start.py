"""Workers that a command starts here: no file of the current folder runs in them, and no other user of the machine reaches them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from distributed.comm import core

from minions_evals_mcp.cluster import crew
from minions_evals_mcp.cluster.address import LocalWorkers
from minions_evals_mcp.engine.context import Engine
from tests.cli.suites import answer, benchmark, case, suite
from tests.hang import HANG_S
from tests.shared.cli.terminal import Terminal

CONNECT: Any = core.connect  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  distributed has no types for it
SHADOWING = ("re", "socket", "multiprocessing", "pickle", "random", "dask", "signal")


def test_a_module_of_the_current_folder_takes_no_modules_place(tmp_path: Path) -> None:
    at = Terminal(tmp_path)
    at.file("s.json", suite(case("a"), benchmark("b", "a"), answer("o", "a", "green")))
    assert at.run("import", "s.json").code == 0
    for name in SHADOWING:
        at.file(
            f"{name}.py", f"open({str(at.folder / 'mark')!r}, 'a').write({name!r} + chr(10)); raise SystemExit(9)\n"
        )
    program = str(
        Path(sys.executable).with_name("minions-evals")
    )  # `python -m` imports from its folder, whatever we do
    ended = at.carried_out([program, "run-benchmark", "b", "--cluster", "local:1", "--json"])
    mark = at.folder / "mark"
    assert not mark.exists(), mark.read_text("utf-8")
    assert ended.code == 0, ended.out + ended.err


async def test_no_caller_without_the_runs_certificate_reaches_the_scheduler(engine: Engine) -> None:
    with anyio.fail_after(HANG_S):
        async with crew.open_crew(LocalWorkers(1), engine.config, None) as held:
            address = str(held.client.scheduler.address)
            assert address.startswith("tls://")
            assert all(worker.startswith("tls://") for worker in await held.workers())
            for stranger in (address, address.replace("tls://", "tcp://")):
                with pytest.raises((OSError, TypeError, ValueError)):
                    await CONNECT(stranger, timeout=2)
