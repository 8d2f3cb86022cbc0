"""A folder with a store, a generated suite and the real command line, pointed at a fake model server."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import cast

import anyio
from anyio.abc import Process
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json

ROOT = Path(__file__).resolve().parents[2]
CLI = (sys.executable, "-m", "minions_evals_mcp.cli")
MODEL = "anthropic:claude-haiku-4-5-judge"
BENCHMARK = "acceptance/bench"
RUBRIC = "acceptance/rubric"
TOP = {"acceptance/settled": 1.0, "acceptance/courtesy": 5.0}
"""The criteria of the rubric with their highest scores; the lowest is 0."""
WEIGHTS = {"acceptance/settled": 0.8, "acceptance/courtesy": 0.04}


@dataclass(frozen=True, slots=True)
class Told:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Json:
        """The one JSON value on stdout."""
        found = json.loads(self.out)
        assert isinstance(found, dict), self
        return cast("Json", found)

    def error(self) -> str:
        """The refusal's code with its message and remedy, from `--json`."""
        error = self.json()["error"]
        assert isinstance(error, dict), self
        return f"{error['code']}: {error['message']} {error['remedy']}"


def is_bad(number: int) -> bool:
    """Whether the judge must find fault with the output of the case of that number."""
    return number % 5 == 0


def case_id(number: int) -> str:
    """The id of the nth case."""
    return f"acceptance/case-{number:04}"


def expected_score(number: int, criterion_id: str) -> float:
    """What the fake's answer for that case and criterion is."""
    return 0.0 if is_bad(number) else TOP[criterion_id]


def suite(cases: int, criteria: int = 2) -> Json:
    """So many cases with a recorded output each, a rubric that a model judges, and the benchmark over them."""
    used = list(TOP)[:criteria]
    records = [
        _record(RUBRIC, "rubric", {"name": "Replies", "criteriaIds": list(used), "passingThreshold": 0.6}),
        *(_criterion(ident) for ident in used),
        _record(BENCHMARK, "benchmark", {"name": "Replies", "testCaseIds": [case_id(n) for n in range(cases)]}),
    ]
    for number in range(cases):
        asked: Json = {"question": f"What became of request {number:04}?"}
        state = "open" if is_bad(number) else "resolved"
        said: Json = {"output": f"Request {number:04} state={state}. Somebody looked into it and wrote to the customer."}
        case: Json = {"name": f"Request {number:04}", "agentId": "helper", "inputs": asked, "rubricId": RUBRIC}
        run: Json = {"agentId": "helper", "inputs": asked, "outputs": said}
        records += [_record(case_id(number), "test-case", case), _record(f"run-{number:04}", "agent-run", run)]
    return {"minions": cast("JsonValue", records)}


def _record(ident: str, kind: str, fields: Json) -> Json:
    return {"id": ident, "type": kind, "fields": fields}


def _criterion(ident: str) -> Json:
    name = ident.partition("/")[2]
    fields: Json = {
        "rubricId": RUBRIC, "name": name, "description": f"Is the reply good in {name}?", "weight": WEIGHTS[ident],
        "minScore": 0, "maxScore": TOP[ident], "judgeType": "llm",
    }  # fmt: skip
    return _record(ident, "rubric-criterion", fields)


@dataclass(frozen=True, slots=True)
class Workplace:
    """A folder with a store of its own; `url` is where the judge's API is."""

    folder: Path
    url: str
    more: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def db(self) -> Path:
        """The store's file."""
        return self.folder / "evals.db"

    def environment(self) -> dict[str, str]:
        """All that a command sees: nothing of the test's own environment but where programs are."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "MINIONS_EVALS_DB": str(self.db),
            "ANTHROPIC_API_KEY": "a-key",
            "ANTHROPIC_BASE_URL": self.url,
            **self.more,
        }

    async def tell(self, *arguments: str, limit_s: float = 60) -> Told:
        """Runs a command to its end."""
        with anyio.fail_after(limit_s):
            done = await anyio.run_process(
                [*CLI, *arguments], check=False, env=self.environment(), cwd=self.folder, stdin=DEVNULL
            )
        return Told(done.returncode, done.stdout.decode(), done.stderr.decode())

    @asynccontextmanager
    async def started(self, *arguments: str) -> AsyncGenerator[Process]:
        """A command under way, as the leader of its own process group."""
        async with await anyio.open_process(
            [*CLI, *arguments], env=self.environment(), cwd=self.folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                if process.returncode is None:
                    process.send_signal(signal.SIGKILL)

    async def take_in(self, cases: int, criteria: int = 2) -> None:
        """Imports the generated suite."""
        file = self.folder / "suite.json"
        file.write_text(json.dumps(suite(cases, criteria)))
        told = await self.tell("import", str(file))
        assert told.code == 0, told

    def judging(self, *options: str, key: str = "k") -> tuple[str, ...]:
        """The command that has the benchmark judged by the fake model."""
        return ("run-benchmark", BENCHMARK, "--judge", "llm", "--judge-model", MODEL, "--key", key, "--json", *options)
