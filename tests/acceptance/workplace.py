"""A folder with a store, a generated suite and the real command line, pointed at a fake model server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, cast

import anyio
import anyio.to_thread
from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.store.connection import open_raw
from tests.hang import HANG_S
from tests.shared.cli.clerk import UNMEASURED_CLERKS
from tests.shared.cli.standby import UNMEASURED, Asked, Forked
from tests.workshop import place_store

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

    def list(self, name: str) -> list[Json]:
        """The objects in the list of that name."""
        found = self.json()[name]
        assert isinstance(found, list), self
        return cast("list[Json]", found)

    def numbers(self, name: str) -> dict[str, float]:
        """The numbers in the object of that name."""
        found = self.json()[name]
        assert isinstance(found, dict), self
        return cast("dict[str, float]", found)

    def error(self) -> str:
        """The refusal's code with its message and remedy, from `--json`."""
        error = self.json()["error"]
        assert isinstance(error, dict), self
        return f"{error['code']}: {error['message']} {error['remedy']}"


async def until(has_come: Callable[[], bool]) -> None:
    """Returns once the condition holds; looked at every few milliseconds, for another process's work calls nobody here."""
    with anyio.fail_after(HANG_S):
        while not has_come():  # noqa: ASYNC110 - as the docstring says
            await anyio.sleep(0.002)


def is_bad(number: int) -> bool:
    """Whether the judge must find fault with the output of the case of that number."""
    return number % 5 == 0


def case_id(number: int) -> str:
    """The id of the nth case."""
    return f"acceptance/case-{number:04}"


def output_of(number: int) -> str:
    """What the agent said in the nth case; the fake judge finds fault with `state=open`."""
    state = "open" if is_bad(number) else "resolved"
    return f"Request {number:04} state={state}. Somebody looked into it and wrote to the customer."


def expected_score(number: int, criterion_id: str) -> float:
    """What the fake's answer for that case and criterion is."""
    return 0.0 if is_bad(number) else TOP[criterion_id]


def suite(cases: int, *, replies: int = 1) -> Json:
    """So many cases with recorded outputs, a rubric whose two criteria a model judges, and the benchmark over them."""
    records = [
        _record(RUBRIC, "rubric", {"name": "Replies", "criteriaIds": list(TOP), "passingThreshold": 0.6}),
        *(_criterion(ident) for ident in TOP),
        _record(BENCHMARK, "benchmark", {"name": "Replies", "testCaseIds": [case_id(n) for n in range(cases)]}),
    ]
    for number in range(cases):
        asked: Json = {"question": f"What became of request {number:04}?"}
        case: Json = {"name": f"Request {number:04}", "agentId": "helper", "inputs": asked, "rubricId": RUBRIC}
        records.append(_record(case_id(number), "test-case", case))
        for reply in range(replies):
            said: Json = {"output": output_of(number) + " Once more." * reply}
            run: Json = {"agentId": "helper", "inputs": asked, "outputs": said}
            records.append(_record(f"run-{number:04}.{reply}", "agent-run", run))
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

    async def tell(self, *arguments: str, limit_s: float = HANG_S) -> Told:
        """Runs a command to its end, in a process that is as one of its own."""
        asked = Asked([*arguments], str(self.folder), self.environment())
        code, out, err = await anyio.to_thread.run_sync(UNMEASURED_CLERKS.carried_out, asked, b"", limit_s)
        return Told(code, out.decode(), err.decode())

    @contextmanager
    def started(self, *arguments: str, anew: bool = False) -> Generator[Popen[bytes]]:
        """A command under way, forked or started anew, as the leader of its own process group; killed at the end if it still runs."""
        with self._anew(arguments) if anew else self._forked(arguments) as process:
            try:
                yield process
            finally:
                process.kill()

    def _forked(self, arguments: Sequence[str]) -> Popen[bytes]:
        asked = Asked([*arguments], str(self.folder), self.environment())
        return Forked(asked, of=UNMEASURED, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)

    def _anew(self, arguments: Sequence[str]) -> Popen[bytes]:
        return Popen(
            [*CLI, *arguments], env=self.environment(), cwd=self.folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE,
            start_new_session=True,
        )  # fmt: skip

    async def ended(self, process: Popen[bytes], limit_s: float = HANG_S) -> Told:
        """Waits for a started command and what it says."""
        out, err = await anyio.to_thread.run_sync(process.communicate, None, limit_s)
        return Told(process.returncode, out.decode(), err.decode())

    def rows(self, sql: str) -> Sequence[tuple[Any, ...]]:
        """The rows of a query on what is committed."""
        db = open_raw(self.db, read_only=True)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def scores(self) -> dict[tuple[str, str], float]:
        """The score of each judgment by test case and criterion; fails where one pair is judged twice."""
        judged = self.rows(
            "SELECT run.test_case_id, judgment.criterion_id, judgment.score FROM eval_judgment AS judgment"
            " JOIN test_run AS run ON run.id = judgment.test_run_id"
        )
        found = {(case, criterion): score for case, criterion, score in judged}
        assert len(found) == len(judged), "a criterion of a case is judged twice"
        return found

    def assert_scored_once(self, cases: int) -> None:
        """Every case has one test-run and one right judgment for each criterion, in one benchmark-run; nothing more."""
        assert self.scores() == {(case_id(n), one): expected_score(n, one) for n in range(cases) for one in TOP}
        bad = sum(map(is_bad, range(cases)))
        ((runs, failures, benchmark_runs, trends, jobs),) = self.rows(
            "SELECT (SELECT count(*) FROM test_run), (SELECT count(*) FROM eval_failure), (SELECT count(*) FROM benchmark_run),"
            " (SELECT count(*) FROM minion WHERE type = 'eval-trend'), (SELECT count(*) FROM job WHERE state = 'completed')"
        )
        assert (runs, failures, benchmark_runs, trends, jobs) == (cases, bad, 1, 1, 1)
        told = dict(self.rows("SELECT type, count(*) FROM event WHERE type LIKE '%-recorded' GROUP BY type"))
        assert told["test-run-recorded"] == cases
        assert told["benchmark-run-recorded"] == 1
        ((passed, total, errors, score),) = self.rows(
            "SELECT passed_count, total_count, error_count, overall_score FROM benchmark_run"
        )
        assert (passed, total, errors) == (cases - bad, cases, 0)
        assert abs(score - (cases - bad) / cases) < 1e-9

    async def take_in(self, cases: int, *, replies: int = 1) -> None:
        """Imports the generated suite, into a store that is there."""
        place_store(self.folder)
        file = self.folder / "suite.json"
        file.write_text(json.dumps(suite(cases, replies=replies)))
        told = await self.tell("import", str(file))
        assert told.code == 0, told

    def judging(self, *options: str, key: str = "k", model: str = MODEL) -> tuple[str, ...]:
        """The command that has the benchmark judged by the fake model."""
        return ("run-benchmark", BENCHMARK, "--judge", "llm", "--judge-model", model, "--key", key, "--json", *options)
