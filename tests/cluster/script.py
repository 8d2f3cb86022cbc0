"""A scheduler whose workers do, and say, what a test has them say, in its order: what dask would bring in an order of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from minions_evals_mcp.cluster.channel import Channel
from minions_evals_mcp.cluster.crew import Crew
from minions_evals_mcp.cluster.orders import Chunk, Message
from minions_evals_mcp.cluster.place import Cluster
from minions_evals_mcp.cluster.wire import packed, unpacked
from minions_evals_mcp.engine.context import Engine

Heard = Callable[[tuple[float, dict[str, Any]]], None]


@dataclass(slots=True, eq=False)
class Given:
    """A chunk that a worker has."""

    worker: str
    chunk: Chunk


@dataclass(slots=True, eq=False)
class Way:
    """What stands in for dask's connection with a worker."""

    script: Script
    worker: str
    said: MemoryObjectSendStream[list[bytes]]
    heard: MemoryObjectReceiveStream[list[bytes]]

    async def read(self) -> list[bytes]:
        """What the worker says."""
        try:
            return await self.heard.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError) as error:
            raise OSError from error

    async def write(self, contents: Sequence[bytes]) -> None:
        """The worker is told something."""
        for message in chain.from_iterable(map(unpacked, contents)):
            if isinstance(message, Chunk):
                self.script.given.append(Given(self.worker, message))

    def abort(self) -> None:
        """It has ended."""
        self.said.close()
        self.heard.close()


class ScriptedCrew(Crew):
    """A crew of workers that do what the script says."""

    async def connected(self, worker: str, name: str) -> Channel:
        """A channel to the script."""
        del name
        script: Script = self.client
        if worker in script.out_of_reach:
            raise OSError("no way there")
        script.ways[worker] = way = Way(script, worker, *anyio.create_memory_object_stream[list[bytes]](math.inf))
        return Channel(cast("Any", way))


@dataclass(slots=True, eq=False)
class Script:
    """What stands in for dask's client: its workers, the chunks that they were given, and those who listen."""

    workers: set[str]
    given: list[Given] = field(default_factory=list[Given])
    ways: dict[str, Way] = field(default_factory=dict[str, Way])
    out_of_reach: set[str] = field(default_factory=set[str])
    topics: dict[str, Heard] = field(default_factory=dict[str, Heard])

    def cluster(self, engine: Engine) -> Cluster:
        """The place where these workers carry out units."""
        return Cluster(ScriptedCrew(self, "script", engine.config, None))

    async def has_given(self, count: int) -> Given:
        """The chunk that was given out last, once so many were."""
        while len(self.given) < count:  # noqa: ASYNC110  the dispatch gives them out
            await anyio.sleep(0.001)
        return self.given[count - 1]

    def lose(self, worker: str) -> None:
        """The scheduler says that a worker is gone."""
        self.workers.discard(worker)
        self.topics["all"]((0.0, {"action": "remove-worker", "worker": worker}))

    def say(self, worker: str, *messages: Message) -> None:
        """A worker says something, if there is a way to it."""
        with suppress(anyio.ClosedResourceError):
            self.ways[worker].said.send_nowait([packed([*messages])])

    # --- as dask's client is asked

    @property
    def scheduler(self) -> Script:
        """The one who knows the workers."""
        return self

    async def ncores(self) -> dict[str, int]:
        """The workers that are there, and how many threads each has."""
        return dict.fromkeys(self.workers, 1)

    async def run(self, function: Callable[..., Any], *asked: Any, workers: Sequence[str] | None, **how: str) -> Any:
        """What those workers answer."""
        del how
        alike = function(*asked) if function.__name__ == "_described" else True
        return dict.fromkeys([*self.workers] if workers is None else workers, alike)

    async def register_plugin(self, plugin: object, name: str) -> None:
        """Each worker has it."""
        del plugin, name

    async def unregister_worker_plugin(self, name: str) -> None:
        """None has it any more."""
        del name

    def subscribe_topic(self, topic: str, heard: Heard) -> None:
        """Someone listens."""
        self.topics[topic] = heard

    def unsubscribe_topic(self, topic: str) -> None:
        """No more."""
        del self.topics[topic]
