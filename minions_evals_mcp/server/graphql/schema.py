"""Queries and mutations of the testing API, each one engine verb; limits on what a single document may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import strawberry
from graphql import GraphQLError
from strawberry.extensions import MaxTokensLimiter
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from minions_evals_mcp.domain.definitions import TestBranch as BranchFields
from minions_evals_mcp.domain.neighbours import PromptVersion as VersionFields
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.results import TestBranchExecution as ExecutionFields
from minions_evals_mcp.domain.speaker import EDITOR, require_role
from minions_evals_mcp.engine.ab_test import branches
from minions_evals_mcp.engine.ab_test.run_ab_test import AbTestResult
from minions_evals_mcp.engine.cases import test_history as history
from minions_evals_mcp.engine.cases import testing
from minions_evals_mcp.engine.cases.baselines import update_expected_output
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.operations import ab_test, batch_run_tests, run_test_case
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.server.graphql import branch_types as ab
from minions_evals_mcp.server.graphql import case_types as cases
from minions_evals_mcp.server.graphql import inputs
from minions_evals_mcp.server.graphql.context import Info
from minions_evals_mcp.server.graphql.document_limits import MAX_TOKENS, ExpandedLimits

TRIGGERED_BY = "graphql"
MOST_AT_ONCE = 200


async def _engine(info: Info) -> Engine:
    engine, speaker = await info.context.session.engine(), info.context.speaker
    return engine if speaker is None else engine.speaking(speaker)


async def _writable(info: Info) -> Engine:
    """Returns the engine for a mutation; raises `UnsupportedError` where the server only reads, `NotAllowedError` for a person who
    only reads or judges.
    """
    engine = await _engine(info)
    require_role(engine.speaker, EDITOR)
    if engine.config.read_only:
        raise UnsupportedError("the server was started with --read-only.", remedy="Use a server that allows writing.")
    return engine


async def _meant(info: Info, given: str, kind: str) -> tuple[Engine, str]:
    """The engine, and the id that a query means: its beginning will do. A mutation takes an id exactly."""
    engine = await _engine(info)
    return engine, await whole_id(engine, given, kind)


def _page(limit: int | None, offset: int | None) -> tuple[int, int]:
    """The page that is asked for; raises `BadInputError` outside 1–200 and below 0."""
    wanted, skipped = 20 if limit is None else limit, offset or 0
    if not 1 <= wanted <= MOST_AT_ONCE:
        raise BadInputError(f"limit is {wanted}.", remedy=f"Use 1 to {MOST_AT_ONCE}, and offset for the next page.")
    if skipped < 0:
        raise BadInputError(f"offset is {skipped}.", remedy="Use 0 or more.")
    return wanted, skipped


@strawberry.type
class Query:
    """The stored records; nothing is run."""

    @strawberry.field(
        description="The test cases of a prompt, oldest first.",
        graphql_type=list[cases.TestCase],
    )
    async def test_cases(self, info: Info, prompt_id: strawberry.ID) -> list[history.TestCaseSummary]:
        return [cases.of_prompt(case) for case in await history.test_cases(*await _meant(info, prompt_id, "prompt"))]

    @strawberry.field(description="One test case, with its prompt.", graphql_type=cases.TestCase)
    async def test_case(self, info: Info, id: strawberry.ID) -> history.TestCaseSummary:  # noqa: A002  the API's name
        return cases.of_prompt(await history.test_case(*await _meant(info, id, "test-case")))

    @strawberry.field(description="The runs of a test case, newest first.", graphql_type=list[cases.TestCaseExecution])
    async def test_case_executions(
        self, info: Info, test_case_id: strawberry.ID, limit: int | None = None, offset: int | None = None
    ) -> list[history.TestCaseExecution]:
        wanted, skipped = _page(limit, offset)
        page = await history.test_case_executions(
            *await _meant(info, test_case_id, "test-case"), limit=wanted, offset=skipped
        )
        return [*page.executions]

    @strawberry.field(
        description="A test case's figures, newest runs and regressions, and its trend by day.",
        graphql_type=cases.TestCaseStats,
    )
    async def test_case_stats(self, info: Info, test_case_id: strawberry.ID) -> history.TestCaseStats:
        return await history.test_case_stats(*await _meant(info, test_case_id, "test-case"))

    @strawberry.field(
        description="The branches of a test case with their totals.",
        graphql_type=list[ab.TestBranch],
    )
    async def test_branches(self, info: Info, test_case_id: strawberry.ID) -> list[Record[BranchFields]]:
        return await branches.branches_of_case(*await _meant(info, test_case_id, "test-case"))

    @strawberry.field(
        description="The executions of a branch, newest first.", graphql_type=list[ab.TestBranchExecution]
    )
    async def test_branch_executions(
        self, info: Info, branch_id: strawberry.ID, limit: int | None = None, offset: int | None = None
    ) -> list[Record[ExecutionFields]]:
        wanted, skipped = _page(limit, offset)
        return await branches.branch_executions(
            *await _meant(info, branch_id, "test-branch"), limit=wanted, offset=skipped
        )


@strawberry.type
class Mutation:
    """The verbs that write, runs or spends."""

    @strawberry.mutation(description="Creates a test case of a prompt.", graphql_type=cases.TestCase)
    async def create_test_case(self, info: Info, input: inputs.TestCaseInput) -> history.TestCaseSummary:  # noqa: A002
        created = await testing.create_test_case(
            await _writable(info),
            prompt_id=input.prompt_id,
            name=input.name,
            input=input.value(),
            expected_output=input.expected(),
            description=input.description or "",
        )
        return cases.of_prompt(created)

    @strawberry.mutation(
        description="Creates the next version of a prompt, or its first.", graphql_type=cases.PromptVersion
    )
    async def create_prompt_version(
        self,
        info: Info,
        input: inputs.PromptVersionInput,  # noqa: A002  the API's name
    ) -> Record[VersionFields]:
        return await testing.create_prompt_version(
            await _writable(info),
            prompt_id=input.prompt_id,
            content=input.content,
            changelog=input.changelog or "",
            description=input.description,
        )

    @strawberry.mutation(
        description="Changes a test case. A changed expected output is a new baseline. `seen`: its updatedAt when you read it.",
        graphql_type=cases.TestCase,
    )
    async def update_test_case(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002  the API's name
        input: inputs.TestCaseInput,  # noqa: A002  as above
        seen: datetime | None = None,
    ) -> history.TestCaseSummary:
        engine = await _writable(info)
        updated = await testing.update_test_case(engine, id, input.changes(), by=TRIGGERED_BY, seen=seen)
        return cases.of_prompt(updated)

    @strawberry.mutation(description="Hides a test case. Its runs stay.")
    async def delete_test_case(self, info: Info, id: strawberry.ID) -> bool:  # noqa: A002  the API's name
        return await testing.delete_test_case(await _writable(info), id)

    @strawberry.mutation(
        description="Runs a test case against a version of its prompt (default: the latest).",
        graphql_type=cases.TestCaseRun,
    )
    async def run_test_case(self, info: Info, input: inputs.RunTestCaseInput) -> history.TestCaseExecution:  # noqa: A002
        request = input.request(run_test_case.Request, triggered_by=TRIGGERED_BY, recorded=True)
        return await run_test_case.execution(await _writable(info), request, default_target=info.context.session.target)

    @strawberry.mutation(
        description="Runs several test cases. A case that could not run is null, with an error.",
        graphql_type=list[cases.TestCaseRun | None],
    )
    async def batch_run_tests(
        self,
        info: Info,
        input: inputs.BatchRunTestsInput,  # noqa: A002  the API's name
    ) -> list[history.TestCaseExecution | BadInputError]:
        request = input.request(batch_run_tests.Request, triggered_by=TRIGGERED_BY, recorded=True)
        batch = await batch_run_tests.run(await _writable(info), request, default_target=info.context.session.target)
        return _in_order(request.test_case_ids or batch.idents(), batch)

    @strawberry.mutation(
        description="Accepts an output as the new expected output of the test case.", graphql_type=cases.TestCase
    )
    async def update_expected_output(
        self, info: Info, test_case_id: strawberry.ID, output: str
    ) -> history.TestCaseSummary:
        engine = await _writable(info)
        cases.of_prompt(await history.test_case(engine, test_case_id))  # what cannot be answered is not done
        updated = await update_expected_output(engine, test_case_id, output, by=TRIGGERED_BY)
        return cases.of_prompt(updated)

    @strawberry.mutation(description="Creates a branch of a test case (at most five).", graphql_type=ab.TestBranch)
    async def create_test_branch(self, info: Info, input: inputs.TestBranchInput) -> Record[BranchFields]:  # noqa: A002
        return await branches.create_branch(await _writable(info), input.fields())

    @strawberry.mutation(description="Changes a branch.", graphql_type=ab.TestBranch)
    async def update_test_branch(
        self,
        info: Info,
        id: strawberry.ID,  # noqa: A002  the API's name
        input: inputs.TestBranchInput,  # noqa: A002  as above
    ) -> Record[BranchFields]:
        return await branches.update_branch(await _writable(info), id, input.fields())

    @strawberry.mutation(description="Hides a branch. Its executions stay.")
    async def delete_test_branch(self, info: Info, id: strawberry.ID) -> bool:  # noqa: A002  the API's name
        await branches.delete_branch(await _writable(info), id)
        return True

    @strawberry.mutation(
        name="runABTest", description="Runs branches side by side and ranks them.", graphql_type=ab.ABTestResult
    )
    async def run_ab_test(self, info: Info, input: inputs.RunABTestInput) -> AbTestResult:  # noqa: A002
        return await ab_test.run(await _writable(info), input.request(ab_test.Request, triggered_by=TRIGGERED_BY))


def _in_order(idents: Sequence[str], batch: testing.Batch) -> list[history.TestCaseExecution | BadInputError]:
    """The runs in the order asked for; an exception in a place makes it null and stands among the errors."""
    ended: dict[str, history.TestCaseExecution | BadInputError] = {run.test_case_id: run for run in batch.executions}
    ended |= {refused.test_case_id: NotRunError(refused.code, refused.reason) for refused in batch.not_run}
    return [ended[ident] for ident in idents]


class NotRunError(BadInputError):
    """A test case of a batch that has no execution, under the code of what kept it from one."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class QuietSchema(strawberry.Schema):
    """A schema whose errors are told in answers, and a crash by the edge in the server's log; not a second time here."""

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Logs nothing."""


def graphql_schema() -> strawberry.Schema:
    """Builds the schema, with limits on the depth and size of a document."""
    return QuietSchema(
        query=Query,
        mutation=Mutation,
        config=StrawberryConfig(default_resolver=cases.field_of),
        extensions=[
            partial(MaxTokensLimiter, max_token_count=MAX_TOKENS),
            ExpandedLimits,
        ],
    )
