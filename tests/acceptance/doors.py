"""The five doors of the testing API, each as a way to say one of its verbs to a store: same words in, same words out."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

import anyio.to_thread
from mcp import Client
from strawberry import Schema

from minions_evals_mcp.domain.providers import ProviderAccess
from minions_evals_mcp.engine.ab_test import branches
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestRequest, run_ab_test
from minions_evals_mcp.engine.cases import test_history as history
from minions_evals_mcp.engine.cases import testing
from minions_evals_mcp.engine.cases.baselines import update_expected_output
from minions_evals_mcp.engine.context import Engine, EngineConfig, open_engine
from minions_evals_mcp.errors import EvalsError
from minions_evals_mcp.models.registry import ProviderSettings
from minions_evals_mcp.server.app import build_server
from minions_evals_mcp.server.graphql.context import Context
from minions_evals_mcp.server.graphql.schema import graphql_schema
from minions_evals_mcp.server.options import ServerOptions
from minions_evals_mcp.server.session.opened import ServerSession
from tests.hang import HANG_S
from tests.shared.agent.inside import drained, kept, sent
from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import Server
from tests.shared.server.hosts import Host, part, rows, text_of
from tests.shared.server.testing_api import DOCUMENTS
from tests.workshop import Json, config_in

TARGET = "openai:gpt-4o"
MADE = "made"
"""The id of what a verb makes, at the doors that take one."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A verb that was refused: under which code (None where a door tells none), and in which words."""

    code: str | None
    message: str


Answer = Json | list[Json] | Refused


class Door(Protocol):
    """One way to say a verb: its name in the seed's words, and its arguments under the seed's names."""

    async def say(self, verb: str, asked: Json) -> Answer:
        """What comes back."""
        ...


def config_at(folder: Path, model: Server) -> EngineConfig:
    """A store in that folder, with the model at the fake server; the same set-up as `terminal_at`."""
    folder.mkdir(parents=True, exist_ok=True)
    providers = ProviderSettings(access={"openai": ProviderAccess("key", f"{model.url}/v1")}, attempts=2)
    return replace(config_in(folder), providers=providers, call_timeout_s=HANG_S)


def terminal_at(folder: Path, model: Server) -> Terminal:
    """A terminal on the same store."""
    return Terminal(folder).with_env(OPENAI_API_KEY="key", OPENAI_BASE_URL=f"{model.url}/v1")


def wire(value: Any) -> Json:
    """A value of the engine as JSON."""
    return cast("Json", value.model_dump(mode="json"))


def flat(record: Json) -> Json:
    """A record's fields beside its id."""
    return {"id": record["id"], **cast("Json", record["fields"])}


def given(asked: Json, **names: str) -> dict[str, Any]:
    """The arguments that are there, under other names."""
    return {other: asked[name] for name, other in names.items() if name in asked}


@dataclass(frozen=True)
class InPython:
    """The engine's own functions."""

    engine: Engine

    async def say(self, verb: str, asked: Json) -> Answer:
        """What the verb's function returns."""
        try:
            return await self._said(verb, dict(asked))
        except EvalsError as error:
            return Refused(error.code, error.message)

    async def _said(self, verb: str, asked: dict[str, Any]) -> Answer:  # noqa: C901, PLR0911, PLR0912  a table of verbs
        engine = self.engine
        match verb:
            case "testCases":
                return [wire(case) for case in await history.test_cases(engine, asked["promptId"])]
            case "testCase":
                return wire(await history.test_case(engine, asked["testCaseId"]))
            case "testCaseExecutions":
                page = await history.test_case_executions(
                    engine, asked["testCaseId"], limit=asked["limit"], offset=asked["offset"]
                )
                return [wire(execution) for execution in page.executions]
            case "testCaseStats":
                return wire(await history.test_case_stats(engine, asked["testCaseId"]))
            case "testBranches":
                return [one.flat() for one in await branches.branches_of_case(engine, asked["testCaseId"])]
            case "testBranchExecutions":
                found = await branches.branch_executions(engine, asked["branchId"], limit=asked["limit"], offset=0)
                return [one.flat() for one in found]
            case "createTestCase":
                names = given(
                    asked, promptId="prompt_id", name="name", input="input", expectedOutput="expected_output",
                    description="description",
                )  # fmt: skip
                return wire(await testing.create_test_case(engine, **names, id=MADE))
            case "updateTestCase":
                ident = asked.pop("testCaseId")
                return wire(await testing.update_test_case(engine, ident, asked))
            case "deleteTestCase":
                return {"deleted": await testing.delete_test_case(engine, asked["testCaseId"])}
            case "runTestCase":
                return wire(
                    await testing.execute_test_case(
                        engine, asked["testCaseId"], prompt_version=asked.get("promptVersion"), target=TARGET
                    )
                )
            case "batchRunTests":
                batch = await testing.batch_run_tests(
                    engine, prompt_id=asked["promptId"], test_case_ids=asked.get("testCaseIds"),
                    prompt_version=asked.get("promptVersion"), target=TARGET,
                )  # fmt: skip
                return wire(batch)
            case "updateExpectedOutput":
                return wire(await update_expected_output(engine, asked["testCaseId"], asked["output"], by="python"))
            case "createTestBranch":
                return flat((await branches.create_branch(engine, asked, branch_id=MADE)).wire())
            case "updateTestBranch":
                ident = asked.pop("branchId")
                return flat((await branches.update_branch(engine, ident, asked)).wire())
            case "deleteTestBranch":
                await branches.delete_branch(engine, asked["branchId"])
                return {"deleted": True}
            case "runABTest":
                return wire(await run_ab_test(engine, AbTestRequest.model_validate(asked)))
            case _:
                raise AssertionError(verb)


NO_VERDICT = 3
"""The exit code where an output has no verdict, or where one could not be made."""


def lacks_verdict(verb: str, said: Answer) -> bool:
    """Whether the answer to a run or a batch holds an output that has no verdict."""
    assert not isinstance(said, Refused)
    match verb:
        case "runTestCase":
            run = cast("dict[str, Any]", said)
            return len(run["testRuns"]) < run["units"] or any(one["passed"] is None for one in run["testRuns"])
        case "batchRunTests":
            batch = cast("dict[str, Any]", said)
            return bool(batch.get("notRun")) or any(one["passed"] is None for one in batch["executions"])
        case _:
            return False


FIELDS_OF = {"createTestCase": "test-case", "createTestBranch": "test-branch"}


@dataclass(frozen=True)
class AtCommandLine:
    """`minions-evals`, with `--json`."""

    terminal: Terminal

    async def say(self, verb: str, asked: Json) -> Answer:
        """The command's answer."""
        command = [*self._command(verb, dict(asked)), "--json"]
        ended = await anyio.to_thread.run_sync(lambda: self.terminal.run(*command))
        if ended.code in {0, 1} or "error" not in ended.one():
            said = self._read(verb, ended.one())
            assert (ended.code == NO_VERDICT) == lacks_verdict(verb, said), ended
            return said
        error = ended.error()
        return Refused(str(error["code"]), str(error["message"]))

    def _command(self, verb: str, asked: dict[str, Any]) -> Sequence[str]:  # noqa: C901, PLR0911, PLR0912  a table of verbs
        case = asked.get("testCaseId", "")
        version = ["--prompt-version", str(asked["promptVersion"])] if "promptVersion" in asked else []
        match verb:
            case "testCases":
                return ["cases", asked["promptId"]]
            case "testCaseExecutions":
                return ["history", case, "--limit", str(asked["limit"]), "--offset", str(asked["offset"])]
            case "testCase" | "testCaseStats":
                return ["stats", case]
            case "testBranches":
                return ["branches", case]
            case "testBranchExecutions":
                return ["branches", case, "--executions", asked["branchId"], "--limit", str(asked["limit"])]
            case "createTestCase" | "createTestBranch":
                return ["add", FIELDS_OF[verb], *self._fields(asked), "--id", MADE]
            case "updateTestCase":
                return ["set", asked.pop("testCaseId"), *self._fields(asked)]
            case "updateTestBranch":
                return ["set", asked.pop("branchId"), *self._fields(asked)]
            case "deleteTestCase" | "deleteTestBranch":
                return ["delete", case or asked["branchId"]]
            case "runTestCase":
                return ["run-test-case", case, "--target", TARGET, *version]
            case "batchRunTests":
                return [
                    "batch-run-tests",
                    asked["promptId"],
                    *asked.get("testCaseIds", ()),
                    "--target",
                    TARGET,
                    *version,
                ]
            case "updateExpectedOutput":
                return ["accept", case, "--output", asked["output"]]
            case "runABTest":
                idents = [option for ident in asked["branchIds"] for option in ("--branch", ident)]
                return ["ab-test", case, *idents, "--criteria", asked.get("winnerCriteria", "best_quality"), *version]
            case _:
                raise AssertionError(verb)

    @staticmethod
    def _fields(asked: Mapping[str, Any]) -> list[str]:
        return [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in asked.items()]

    @staticmethod
    def _read(verb: str, said: Json) -> Answer:
        match verb:
            case "testCases":
                return rows(said, "testCases")
            case "testCase":
                return part(said, "testCase")
            case "testCaseExecutions":
                return rows(said, "executions")
            case "testBranches":
                return rows(said, "branches")
            case "testBranchExecutions":
                return rows(said, "executions")
            case _:
                return said


@dataclass(frozen=True)
class OverMcp:
    """The server's tools."""

    host: Host

    async def say(self, verb: str, asked: Json) -> Answer:
        """The tool's structured answer."""
        tool, arguments = self._call(verb, dict(asked))
        result = await self.host.raw(tool, **arguments)
        if result.is_error:
            code, _, message = text_of(result).partition(": ")
            return Refused(code, message)
        return self._read(verb, cast("Json", result.structured_content))

    def _call(self, verb: str, asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:  # noqa: C901, PLR0911, PLR0912  a table of verbs
        case = asked.get("testCaseId")
        waits = {"waitSeconds": 50}
        version = given(asked, promptVersion="promptVersionRef")
        whole = {"limit": 100, "detail": "full"}
        match verb:
            case "testCases":
                return "get_statistics", {"promptId": asked["promptId"], **whole}
            case "testCase":
                return "get_statistics", {"testCaseId": case, **whole}
            case "testCaseExecutions":
                page = {"limit": asked["limit"], "cursor": str(asked["offset"]), "detail": "full"}
                return "get_statistics", {"testCaseId": case, "executions": True, **page}
            case "testCaseStats" | "testBranches":
                return "get_statistics", {"testCaseId": case, "detail": "full"}
            case "testBranchExecutions":
                return "get_statistics", {"branchId": asked["branchId"], "limit": asked["limit"], "detail": "full"}
            case "createTestCase" | "createTestBranch":
                return "save_records", self._saving(FIELDS_OF[verb], MADE, asked)
            case "updateTestCase":
                return "save_records", {**self._saving("test-case", asked.pop("testCaseId"), asked), "merge": True}
            case "updateTestBranch":
                return "save_records", {**self._saving("test-branch", asked.pop("branchId"), asked), "merge": True}
            case "deleteTestCase" | "deleteTestBranch":
                return "delete_record", {"id": case or asked["branchId"]}
            case "runTestCase":
                return "run_test_case", {"testCaseId": case, **version, **waits}
            case "batchRunTests":
                named = given(asked, promptId="promptId", testCaseIds="testCaseIds")
                return "run_test_case", {**named, **version, **waits}
            case "updateExpectedOutput":
                return "save_records", {
                    **self._saving("test-case", case, {"expectedOutput": asked["output"]}),
                    "merge": True,
                }
            case "runABTest":
                return "run_ab_test", {**asked, **waits}
            case _:
                raise AssertionError(verb)

    @staticmethod
    def _saving(kind: str, ident: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The records of a save: a test case's `input` and `expectedOutput` are its record's `inputs` and `expectedOutputs`."""
        named = dict(fields)
        if "input" in named:
            value = named.pop("input")
            named["inputs"] = value if isinstance(value, dict) else {"input": value}
        if "expectedOutput" in named:
            named["expectedOutputs"] = {"output": named.pop("expectedOutput")}
        return {"records": [{"id": ident, "type": kind, "fields": named}]}

    @staticmethod
    def _read(verb: str, said: Json) -> Answer:
        match verb:
            case "testCases":
                return rows(said, "testCases")
            case "testCase":
                return part(said, "testCase")
            case "testCaseExecutions" | "testBranchExecutions":
                return rows(said, "executions")
            case "testBranches":
                return rows(said, "branches") if "branches" in said else []
            case "runABTest":
                return part(said, "abTest")
            case "runTestCase" if said["state"] == "failed":  # the run was begun; others wait for it and are told so
                return Refused(None, str(said["reason"]))
            case _:
                return said


MESSAGES = {
    "testCases": "get-test-cases",
    "testCase": "get-test-case",
    "testCaseExecutions": "get-test-case-executions",
    "testCaseStats": "get-test-case-stats",
    "testBranches": "get-test-branches",
    "testBranchExecutions": "get-branch-executions",
    "createTestCase": "create-test-case",
    "updateTestCase": "update-test-case",
    "deleteTestCase": "delete-test-case",
    "runTestCase": "run-test-case",
    "batchRunTests": "batch-run-tests",
    "updateExpectedOutput": "update-expected-output",
    "createTestBranch": "create-test-branch",
    "updateTestBranch": "update-test-branch",
    "deleteTestBranch": "delete-test-branch",
    "runABTest": "run-ab-test",
}


@dataclass
class ByMessage:
    """Messages to the agent, which is at work until all of them are done."""

    engine: Engine
    sent: int = 0

    async def say(self, verb: str, asked: Json) -> Answer:
        """The message's result."""
        self.sent += 1
        ident = f"m{self.sent}"
        payload = {
            name: value for name, value in asked.items() if verb != "testBranchExecutions" or name != "testCaseId"
        }
        if verb in {"runTestCase", "batchRunTests"}:
            payload |= {"target": TARGET}
            payload |= {"promptVersionRef": payload.pop("promptVersion")} if "promptVersion" in payload else {}
        if verb in {"createTestCase", "createTestBranch"}:
            payload["testCaseId" if verb == "createTestCase" else "branchId"] = MADE
        try:
            await sent(self.engine, ident, MESSAGES[verb], **payload)
        except EvalsError as error:
            return Refused(error.code, error.message)
        await drained(self.engine)
        message = await kept(self.engine, ident)
        if message.state != "done":
            return Refused(None, message.reason)
        return self._read(verb, cast("Json", message.result))

    @staticmethod
    def _read(verb: str, said: Json) -> Answer:
        match verb:
            case "testCases":
                return rows(said, "testCases")
            case "testCase" | "createTestCase" | "updateTestCase" | "updateExpectedOutput":
                return part(said, "testCase")
            case "testCaseExecutions":
                return rows(said, "executions")
            case "testBranches":
                return rows(said, "branches")
            case "testBranchExecutions":
                return rows(said, "executions")
            case _:
                return said


WHOLE = {
    "testCases": "GetTestCases", "testCase": "GetTestCase", "testCaseExecutions": "GetTestCaseExecutions",
    "testCaseStats": "GetTestCaseStats", "testBranches": "GetTestBranches", "testBranchExecutions": "GetBranchExecutions",
    "createTestCase": "CreateTestCase", "updateTestCase": "UpdateTestCase", "deleteTestCase": "DeleteTestCase",
    "runTestCase": "RunTestCase", "batchRunTests": "BatchRunTests", "updateExpectedOutput": "UpdateExpectedOutput",
    "createTestBranch": "CreateTestBranch", "updateTestBranch": "UpdateTestBranch", "deleteTestBranch": "DeleteTestBranch",
    "runABTest": "RunABTest",
}  # fmt: skip
"""The seed's own document of each verb."""


@dataclass(frozen=True)
class OverGraphQL:
    """The GraphQL schema, asked by the seed's own documents."""

    schema: Schema
    session: ServerSession

    async def say(self, verb: str, asked: Json) -> Answer:
        """The document's data."""
        result = await self.schema.execute(
            DOCUMENTS[WHOLE[verb]],
            variable_values=self._variables(verb, dict(asked)),
            context_value=Context(self.session),
        )
        if result.errors and not (verb == "batchRunTests" and result.data):
            cause = result.errors[0].original_error
            assert isinstance(cause, EvalsError), result.errors
            return Refused(cause.code, cause.message)
        assert result.data is not None
        (only,) = result.data.values()
        if verb == "batchRunTests":
            return {"executions": [run for run in only if run is not None]}
        return cast("Answer", only) if isinstance(only, dict | list) else {"deleted": only}

    @staticmethod
    def _variables(verb: str, asked: dict[str, Any]) -> dict[str, Any]:
        if isinstance(asked.get("promptVersion"), str):
            asked["promptVersionRef"] = asked.pop("promptVersion")
        match verb:
            case "testCase" | "deleteTestCase":
                return {"id": asked["testCaseId"]}
            case "deleteTestBranch":
                return {"id": asked["branchId"]}
            case "updateTestCase" | "updateTestBranch":
                ident = asked.pop("testCaseId" if verb == "updateTestCase" else "branchId")
                return {"id": ident, "input": asked}
            case "createTestCase" | "createTestBranch" | "runTestCase" | "batchRunTests" | "runABTest":
                return {"input": asked}
            case _:
                return asked


Opening = Callable[[Path, Server], Any]


@asynccontextmanager
async def python_door(folder: Path, model: Server) -> AsyncGenerator[Door]:
    """The engine's functions on a store in that folder."""
    async with open_engine(config_at(folder, model)) as engine:
        yield InPython(engine)


@asynccontextmanager
async def command_line_door(folder: Path, model: Server) -> AsyncGenerator[Door]:
    """The command line."""
    yield AtCommandLine(terminal_at(folder, model))


@asynccontextmanager
async def mcp_door(folder: Path, model: Server) -> AsyncGenerator[Door]:
    """A host of an MCP server in memory."""
    config = config_at(folder, model)
    server = build_server(ServerSession(lambda: open_engine(config), target=TARGET), ServerOptions())
    async with Client(server, mode="auto") as client:
        yield OverMcp(Host(client))


@asynccontextmanager
async def message_door(folder: Path, model: Server) -> AsyncGenerator[Door]:
    """The agent's inbox."""
    async with open_engine(config_at(folder, model)) as engine:
        yield ByMessage(engine)


@asynccontextmanager
async def graphql_door(folder: Path, model: Server) -> AsyncGenerator[Door]:
    """The GraphQL schema on a session of its own."""
    config = config_at(folder, model)
    session = ServerSession(lambda: open_engine(config), target=TARGET)
    async with session.open():
        await session.engine()
        yield OverGraphQL(graphql_schema(), session)


DOORS: Mapping[str, Opening] = {
    "Python": python_door,
    "command line": command_line_door,
    "MCP": mcp_door,
    "agent message": message_door,
    "GraphQL": graphql_door,
}
