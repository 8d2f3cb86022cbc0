"""One task in one host: a store, a home and a model of its own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from minions_evals_mcp.store.connection import open_raw
from tests.hosts.programs import HostRun, asked
from tests.hosts.scripted_model import Script, ScriptedModel, serving
from tests.hosts.tasks import BAD, SIZE, TASKS
from tests.shared.fakes.llm_server import FakeSettings
from tests.shared.fakes.llm_server import serving as serving_model
from tests.shared.server.hosts import suite, tokens_in

OURS = Path(sys.executable).with_name("minions-evals-mcp")
SLOW_MS = 1500


@dataclass(frozen=True, slots=True)
class HostOutcome:
    """How a task ended: the model's calls, the tokens of the answers that it was handed, and the facts that it was not told."""

    calls: int
    tokens: int
    missing: tuple[str, ...]
    printed: str
    error: str
    ended: bool
    catalogue: int


async def driven(host: str, task: str, folder: Path, server: Path = OURS) -> HostOutcome:
    """The outcome of that task in that host; `server` is the program of another version of ours."""
    wanted = TASKS[task]
    model = ScriptedModel(wanted.script())
    async with serving_model(FakeSettings(latency_ms=SLOW_MS)) as slow:
        variables = {"OPENAI_API_KEY": "sk-slow", "OPENAI_BASE_URL": f"{slow.url}/v1"} if wanted.is_slow else {}
        with serving(model) as address:
            printed = await to_thread.run_sync(asked, host, folder, HostRun(address, server, variables))
    told = "\n".join(model.answers)
    return HostOutcome(
        calls=len(model.calls),
        tokens=sum(map(tokens_in, model.answers)),
        missing=tuple(fact for fact in wanted.facts if not re.search(fact, told)),
        printed=printed,
        error=str(model.error or ""),
        ended=model.ended,
        catalogue=tokens_in("".join(map(_offered, model.offered))),
    )


def _offered(tool: Mapping[str, object]) -> str:
    return json.dumps(tool, separators=(",", ":"), ensure_ascii=False)


async def sessions(host: str, number: int, folder: Path) -> dict[str, int]:
    """The states of the runs after so many headless sessions on one store, each of which ends once it has its answer."""
    for session in range(number):
        model = ScriptedModel(_session(session))
        with serving(model) as address:
            printed = await to_thread.run_sync(asked, host, folder, HostRun(address, OURS, {}))
        assert model.ended, f"{model.error}\n{printed[-2000:]}"
    with closing(open_raw(folder / "evals.db", read_only=True)) as db:
        return {str(state): int(count) for state, count in db.execute("SELECT state, count(*) FROM job GROUP BY state")}


def _session(number: int) -> Script:
    if not number:
        yield "save_records", {"records": suite(SIZE, bad=BAD)}
    answer = yield "run_benchmark", {"benchmarkId": "b", "idempotencyKey": f"session-{number}"}
    assert "18 of 24" in answer, answer
