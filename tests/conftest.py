"""Shared by all tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from pathlib import Path
from typing import cast

import anyio
import pytest
from execnet import XSpec
from hypothesis import HealthCheck, settings

from minions_evals_mcp.domain import providers
from minions_evals_mcp.engine.context import Engine
from tests.shared.cli.clerk import CLERKS, UNMEASURED_CLERKS
from tests.shared.cli.installed import SESSION, python_of_workers
from tests.shared.cli.standby import STANDBYS, UNMEASURED
from tests.shared.store.small_store import make as small_store_made
from tests.workshop import config_in, opened

gc.set_threshold(100_000, 50, 1000)  # as the command line; else the collector goes through the imports again and again
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: its children would never hear Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
if os.environ.get("PYTHONDONTWRITEBYTECODE") not in (None, "mutants"):  # noqa: TID251  a program that a test starts would compile all it imports
    del os.environ["PYTHONDONTWRITEBYTECODE"]  # noqa: TID251  the same
    sys.dont_write_bytecode = False
os.environ.pop("NODE_EXTRA_CA_CERTS", None)  # noqa: TID251  no test's Node speaks TLS: to read a machine's takes longer than its start


PROVIDERS = cast("dict[str, object]", providers.PROVIDERS)
SHIPPED_PROVIDERS = frozenset(PROVIDERS)
MEMORY, ROOM = Path("/dev/shm"), 4 * 1024**3  # noqa: S108  what pytest makes there is its own, for its user only


def pytest_configure(config: pytest.Config) -> None:
    """Puts the folders of tests into memory where there is room: a store is then not written through to a disk at each commit."""
    is_set = "PYTEST_DEBUG_TEMPROOT" in os.environ or config.getoption("basetemp")  # noqa: TID251  pytest's own variable
    if not is_set and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)  # noqa: TID251  the same


def pytest_collection_finish() -> None:
    """What was collected lives to the end: the collector need not go through it again."""
    gc.freeze()


def pytest_runtest_teardown() -> None:
    """Endpoints that a test's config named are unknown to the next one."""
    for name in PROVIDERS.keys() - SHIPPED_PROVIDERS:
        del PROVIDERS[name]


settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")  # on a machine under load an example takes as long as it takes


def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are cores: some tests wait for processes, leases and limits."""
    return (os.cpu_count() or 1) + 2


def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[XSpec]) -> None:
    """Workers are forked by a process that has imported what they collect; where coverage is measured, each imports by itself."""
    if not config.pluginmanager.hasplugin("_cov"):
        python = python_of_workers(tuple(config.invocation_params.args))
        for spec in specs:
            spec.python = python


def pytest_unconfigure() -> None:
    """What waits for workers ends with them."""
    SESSION.close()


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncGenerator[Engine]:
    """An engine on an empty store, with a stepping clock and counted ids; no model is set up."""
    async with opened(config_in(tmp_path)) as engine:
        yield engine


@pytest.fixture(scope="session")
def _small_store_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("small") / "evals.db"
    anyio.run(small_store_made, path)
    return path


@pytest.fixture
def small_store(_small_store_once: Path, tmp_path: Path) -> Path:
    """A file with one of everything in it, closed: a store that a test may tamper with."""
    return Path(shutil.copy(_small_store_once, tmp_path / "small.db"))


@pytest.fixture(scope="session", autouse=True)
def _standbys_ended() -> Generator[None]:
    yield
    SESSION.close()
    CLERKS.ended()
    UNMEASURED_CLERKS.ended()
    STANDBYS.ended()
    UNMEASURED.ended()
