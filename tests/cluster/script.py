"""A scheduler whose workers do, and say, what a test has them say, in its order: what dask would bring in an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from minions_evals_mcp.cluster.crew import Crew
from minions_evals_mcp.cluster.orders import Back, Chunk, Message
from minions_evals_mcp.cluster.place import Cluster
from minions_evals_mcp.cluster.plugin import carried_out
from minions_evals_mcp.cluster.wire import packed, unpacked
from minions_evals_mcp.engine.context import Engine

Heard = Callable[[tuple[float, dict[str, Any]]], None]


@dataclass(slots=True, eq=False)
class Given:
    """A chunk that a worker has."""

    worker: str
    chunk: Chunk
    over: anyio.Event = field(default_factory=anyio.Event)
    back: Back | None = None

    def ends(self, back: Back | None) -> None:
        """The worker has done with it; None where the worker was lost."""
        self.back = back
        self.over.set()


@dataclass(slots=True, eq=False)
class Script:
    """What stands in for dask's client: its workers, the chunks that they were given, and those who listen."""

    workers: set[str]
    given: list[Given] = field(default_factory=list[Given])
    topics: dict[str, Heard] = field(default_factory=dict[str, Heard])

    def cluster(self, engine: Engine) -> Cluster:
        """The place where these workers carry out units."""
        return Cluster(Crew(self, "script", engine.config, None))

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
        """The scheduler passes on what a worker says."""
        (heard,) = (heard for topic, heard in self.topics.items() if topic != "all")
        heard((0.0, {"worker": worker, "told": packed([*messages])}))

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
        there = [*self.workers] if workers is None else workers
        if function is not carried_out:
            alike = function(*asked) if function.__name__ == "_described" else True
            return dict.fromkeys(there, alike)
        given = Given(there[0], unpacked(asked[1]))
        self.given.append(given)
        await given.over.wait()
        return {given.worker: None if given.back is None else packed(given.back)}

    def submit(self, function: Callable[..., Any], name: str, **how: Any) -> Script:
        """The task that stands for the coordinator."""
        del function, name, how
        return self

    def release(self) -> None:
        """It is over."""

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
