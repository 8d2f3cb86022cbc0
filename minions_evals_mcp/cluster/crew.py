"""The workers of a cluster as the coordinator sees them: who is there, whether they are set up alike, who comes and goes."""

from __future__ import annotations

import logging
import os
import pickle
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from minions_evals_mcp.cluster.address import LocalWorkers, Where
from minions_evals_mcp.cluster.channel import Channel
from minions_evals_mcp.cluster.orders import EngineSetup
from minions_evals_mcp.cluster.setup import described, setup_of, unlike, worker_config
from minions_evals_mcp.engine.context import EngineConfig
from minions_evals_mcp.errors import BadInputError, EvalsError, InstrumentError, UnsupportedError
from minions_evals_mcp.temporary_folders import temporary_folder

if TYPE_CHECKING:
    from distributed import Worker

LOOK_S = 0.05
QUIET = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Without dask's page; its figures stand at any free port: else the second cluster of a machine warns that 8787 is taken."""
SAFE_PATH = "PYTHONSAFEPATH"
ANSWER_S = 10.0
"""So long a scheduler is waited for."""
WORKER_S = 60.0
"""So long its first worker is waited for, which imports all that it needs."""


@dataclass(slots=True, eq=False)
class Crew:
    """An open connection to a scheduler."""

    client: Any  # dask's client is typed for callers that wait; asked asynchronously, it answers with awaitables
    address: str
    config: EngineConfig
    target: str | None

    async def workers(self) -> set[str]:
        """The addresses of the workers that are there."""
        return set(await self.client.scheduler.ncores())

    async def vet(self) -> None:
        """Raises `BadInputError` naming the first worker that is not set up as this process is, and in what."""
        for worker, differs in (await self._unlike(None)).items():
            if differs:
                raise BadInputError(
                    f"the worker {worker} would not do the same work: {'; '.join(differs)}.",
                    remedy="Install and set it up as this machine is, and start it again.",
                )

    async def is_unlike(self, worker: str) -> bool:
        """Returns whether a worker says that it is set up otherwise, or cannot say it."""
        try:
            return bool((await self._unlike([worker])).get(worker))
        except OSError:
            return False
        except EvalsError:
            return True

    async def has_plugin(self, worker: str, name: str) -> bool:
        """Returns whether a worker has the run's plugin before long."""
        try:
            return bool((await self.client.run(_has_plugin, name, workers=[worker])).get(worker))
        except OSError:
            return False

    async def _unlike(self, workers: list[str] | None) -> dict[str, list[str]]:
        """In what each of those workers differs."""
        here = described(self.config, self.target)
        try:
            there: dict[str, dict[str, str]] = await self.client.run(
                _described, setup_of(self.config), self.target, workers=workers
            )
        except (ImportError, AttributeError, pickle.UnpicklingError) as error:
            raise BadInputError(
                f"a worker of {self.address} cannot load minions-evals: {error}.",
                remedy="Install the same version there: pip install 'minions-evals-mcp[cluster]'",
            ) from error
        return {worker: list(unlike(here, digests)) for worker, digests in there.items()}

    async def connected(self, worker: str, name: str) -> Channel:
        """A channel to a worker's side of the run; raises `OSError` where the worker cannot be reached from here."""
        from distributed.comm import core  # noqa: PLC0415  slow, and an extra

        transport: Any = core
        comm = await transport.connect(worker, **self.client.connection_args)
        await comm.write({"op": name, "reply": False})
        return Channel(comm)


def _described(setup: EngineSetup, target: str | None) -> dict[str, str]:
    """Returns what the worker would work with; one that lacks a setting says so in place of it."""
    try:
        return described(worker_config(setup), target)
    except EvalsError as error:
        return {"the settings": str(error)}


async def _has_plugin(name: str, dask_worker: Worker) -> bool:
    """Returns whether the worker has that plugin before long: it gets it while it starts."""
    with anyio.move_on_after(WORKER_S):
        while name not in dask_worker.plugins:  # noqa: ASYNC110  dask's, which sets no event of ours
            await anyio.sleep(LOOK_S)
    return name in dask_worker.plugins


@asynccontextmanager
async def open_crew(where: Where, config: EngineConfig, target: str | None) -> AsyncGenerator[Crew]:
    """A connection to the cluster, its workers compared with this process.

    Raises `InstrumentError` where no scheduler or worker answers, `BadInputError` as `Crew.vet`.
    """
    async with _opened(where) as client:
        crew = Crew(client, _named(where), config, target)
        await _first_worker(crew)
        await crew.vet()
        yield crew


def _named(where: Where) -> str:
    return f"local:{where.count}" if isinstance(where, LocalWorkers) else where.address


async def _first_worker(crew: Crew) -> None:
    with anyio.move_on_after(WORKER_S):
        while not await crew.workers():  # noqa: ASYNC110  as above
            await anyio.sleep(LOOK_S)
        return
    raise InstrumentError(
        f"no worker answers at {crew.address}.", remedy=f"Start some: dask worker {crew.address} --nthreads 1"
    )


@contextmanager
def _safe_path() -> Generator[None]:
    """Workers and what they start look for modules in the current folder last, if at all: a `re.py` there would run.

    A worker takes over the order of this process's own path.
    """
    around = os.environ  # noqa: TID251  set for children, not read as a setting
    before = around.get(SAFE_PATH)
    around[SAFE_PATH] = "1"
    path, here = [*sys.path], {"", ".", str(Path.cwd())}
    sys.path[:] = [*(folder for folder in path if folder not in here), *(folder for folder in path if folder in here)]
    try:
        yield
    finally:
        sys.path[:] = path
        if before is None:
            del around[SAFE_PATH]
        else:
            around[SAFE_PATH] = before


def _own_certificate(security: Any) -> Any:
    """TLS with a key made for this run and never written down: without it any user of this machine could run code as you."""
    if find_spec("cryptography") is None:
        raise UnsupportedError(
            "--cluster local:N needs the package cryptography, which is not installed.",
            remedy="Install it with: pip install 'minions-evals-mcp[cluster]'",
        )
    return security.temporary()


@asynccontextmanager
async def _opened(where: Where) -> AsyncGenerator[Any]:
    from distributed import Client, LocalCluster, Security  # noqa: PLC0415  slow, and an extra

    if isinstance(where, LocalWorkers):
        with temporary_folder("cluster") as folder, _safe_path():
            local: Any = LocalCluster(
                n_workers=where.count,
                threads_per_worker=1,
                processes=True,
                scheduler_kwargs=QUIET,
                silence_logs=logging.ERROR,  # that a worker takes long to end says nothing of the run
                asynchronous=True,
                local_directory=str(folder),
                security=_own_certificate(Security),
            )
            async with local as cluster, Client(cluster, asynchronous=True) as client:
                yield client
        return
    if where.address.startswith("tls:") and Security().get_connection_args("client").get("ssl_context") is None:
        raise BadInputError(
            f"there is no certificate here to show to {where.address}.",
            remedy="Name yours to dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..__TLS__CLIENT__CERT and ..__TLS__CLIENT__KEY",
        )
    opening: Any = Client(where.address, asynchronous=True, timeout=ANSWER_S)
    try:
        client = await opening
    except OSError as error:
        raise InstrumentError(
            f"no scheduler answers at {where.address}: {error}.", remedy="Start one: dask scheduler --host HOST"
        ) from error
    async with client:
        yield client
