"""The testing API by message: what each of its verbs takes, and what the engine answers; the sender is told in the outbox."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, cast

from pydantic import BaseModel, Field, JsonValue

from minions_evals_mcp.domain.definitions import Fields, Json, TestCase
from minions_evals_mcp.domain.providers import Provider
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.request_fields import BranchId, PromptId, TestCaseId
from minions_evals_mcp.domain.values import Id, Text, Value
from minions_evals_mcp.engine.ab_test import branches
from minions_evals_mcp.engine.cases import test_history as history
from minions_evals_mcp.engine.cases import testing
from minions_evals_mcp.engine.cases.baselines import output_record, update_expected_output
from minions_evals_mcp.messages.derived import DerivedPayload, payload_of
from minions_evals_mcp.operations import ab_test, batch_run_tests
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import with_whole_ids
from minions_evals_mcp.store import records

Limit = Annotated[int, Field(ge=1, le=200)]
Offset = Annotated[int, Field(ge=0)]


class OfPrompt(Value):
    """The test cases of a prompt."""

    prompt_id: PromptId


class OfTestCase(Value):
    """One test case."""

    test_case_id: TestCaseId


class PageOfTestCase(OfTestCase):
    """A page of a test case's runs, newest first."""

    limit: Limit = 20
    offset: Offset = 0


class OfBranch(Value):
    """One branch."""

    branch_id: BranchId


class PageOfBranch(OfBranch):
    """A page of a branch's executions, newest first."""

    limit: Limit = 20
    offset: Offset = 0


class CreateTestCase(Value):
    """A new test case of a prompt; `testCaseId`: else one that is made of the message's id."""

    prompt_id: PromptId
    name: Text
    description: str = ""
    input: JsonValue
    expected_output: JsonValue = None
    test_case_id: Id | None = None


class UpdateTestCase(Value):
    """A test case with those fields changed; what is left out stays."""

    test_case_id: TestCaseId
    prompt_id: Id | None = None
    name: Text | None = None
    description: str | None = None
    input: JsonValue = None
    expected_output: JsonValue = None


class UpdateExpectedOutput(Value):
    """Accept an output as the expected one: the given one, else that of the run, else of the newest run."""

    test_case_id: TestCaseId
    output: JsonValue = None
    test_run_id: Id | None = None


class BranchFields(Value):
    """A branch as it is given; what is not given has its documented default."""

    name: Text | None = None
    description: str | None = None
    provider: Provider | None = None
    model: Text | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    is_control: bool | None = None
    is_active: bool | None = None
    other_params: Json | None = None

    def named_fields(self) -> Json:
        """The fields that the message names."""
        return self.model_dump(mode="json", exclude_unset=True, exclude={"branch_id"})


class CreateTestBranch(BranchFields):
    """A new branch of a test case; `branchId`: else one that is made of the message's id."""

    test_case_id: TestCaseId
    branch_id: Id | None = None


class UpdateTestBranch(BranchFields):
    """A branch with those fields changed; one that is null is taken out."""

    branch_id: BranchId
    test_case_id: Id | None = None


@dataclass(frozen=True, slots=True)
class VerbContext:
    """For whom and under which key a verb is carried out; `ident` is that of what it makes. `target`: the operator's."""

    key: str
    ident: str
    by: str
    target: str | None = None


P = TypeVar("P", bound=Value)


@dataclass(frozen=True, slots=True)
class Verb(Generic[P]):
    """A verb: what it takes, what it is about, what does it, and whether it only reads."""

    payload: type[P]
    topic: Callable[[P], str | None]
    answer: Callable[[Engine, P, VerbContext], Awaitable[Json]]
    reads: bool = False

    async def answered(self, engine: Engine, request: P, asking: VerbContext) -> Json:
        """The answer. A verb that reads takes an id by its beginning; one that writes is refused with it."""
        return await self.answer(engine, await with_whole_ids(engine, request) if self.reads else request, asking)


def _wire(value: BaseModel) -> Json:
    return cast("Json", value.model_dump(mode="json"))


async def _test_cases(engine: Engine, request: OfPrompt, _: VerbContext) -> Json:
    return {"testCases": [_wire(case) for case in await history.test_cases(engine, request.prompt_id)]}


async def _test_case(engine: Engine, request: OfTestCase, _: VerbContext) -> Json:
    return {"testCase": _wire(await history.test_case(engine, request.test_case_id))}


async def _executions(engine: Engine, request: PageOfTestCase, _: VerbContext) -> Json:
    return _wire(
        await history.test_case_executions(engine, request.test_case_id, limit=request.limit, offset=request.offset)
    )


async def _stats(engine: Engine, request: OfTestCase, _: VerbContext) -> Json:
    return _wire(await history.test_case_stats(engine, request.test_case_id))


async def _branches(engine: Engine, request: OfTestCase, _: VerbContext) -> Json:
    return {"branches": _records(await branches.branches_of_case(engine, request.test_case_id))}


async def _branch_executions(engine: Engine, request: PageOfBranch, _: VerbContext) -> Json:
    page = await branches.branch_executions(engine, request.branch_id, limit=request.limit, offset=request.offset)
    return {"executions": _records(page)}


def _records(read: Sequence[Record[Any]]) -> list[JsonValue]:
    return [record.flat() for record in read]


async def _create_case(engine: Engine, request: CreateTestCase, asking: VerbContext) -> Json:
    ident = request.test_case_id or asking.ident
    stored = await _stored(engine, ident)
    if stored is not None and (ident == asking.ident or _is_what_was_asked(stored, request)):  # carried out before
        return {"testCase": _wire(await history.test_case(engine, ident))}
    made = await testing.create_test_case(
        engine,
        prompt_id=request.prompt_id,
        name=request.name,
        input=request.input,
        expected_output=request.expected_output,
        description=request.description,
        id=ident,
    )
    return {"testCase": _wire(made)}


def _is_what_was_asked(stored: Record[Fields], request: CreateTestCase) -> bool:
    """Tells whether the record is the very case: the agent was stopped before it could note that it had made it."""
    case = stored.fields
    return isinstance(case, TestCase) and stored.deleted_at is None and (
        (case.prompt_id, case.name, case.description, case.inputs, case.expected_outputs)
        == (request.prompt_id, request.name, request.description, testing.inputs_of(request.input),
            None if request.expected_output is None else output_record(request.expected_output, {}))
    )  # fmt: skip


async def _stored(engine: Engine, ident: str) -> Record[Fields] | None:
    return await engine.store.read(lambda db: records.minion(db, ident))


async def _update_case(engine: Engine, request: UpdateTestCase, asking: VerbContext) -> Json:
    changes = request.model_dump(mode="json", exclude_unset=True, exclude={"test_case_id"})
    return {"testCase": _wire(await testing.update_test_case(engine, request.test_case_id, changes, by=asking.by))}


async def _delete_case(engine: Engine, request: OfTestCase, _: VerbContext) -> Json:
    record = await _stored(engine, request.test_case_id)
    if record is None or not isinstance(record.fields, TestCase) or record.deleted_at is None:
        await testing.delete_test_case(engine, request.test_case_id)
    return {"testCaseId": request.test_case_id, "deleted": True}


async def _run_batch(engine: Engine, asked: DerivedPayload, asking: VerbContext) -> Json:
    request = asked.request(batch_run_tests.Request, by=asking.by, key=asking.key)
    return _wire(await batch_run_tests.run(engine, request, default_target=asking.target))


async def _accept(engine: Engine, request: UpdateExpectedOutput, asking: VerbContext) -> Json:
    case = await update_expected_output(
        engine, request.test_case_id, request.output, test_run_id=request.test_run_id, by=asking.by
    )
    return {"testCase": _wire(case)}


async def _create_branch(engine: Engine, request: CreateTestBranch, asking: VerbContext) -> Json:
    ident = request.branch_id or asking.ident
    return {"branch": (await branches.create_branch(engine, request.named_fields(), branch_id=ident)).flat()}


async def _update_branch(engine: Engine, request: UpdateTestBranch, _: VerbContext) -> Json:
    return {"branch": (await branches.update_branch(engine, request.branch_id, request.named_fields())).flat()}


async def _delete_branch(engine: Engine, request: OfBranch, _: VerbContext) -> Json:
    await branches.delete_branch(engine, request.branch_id)
    return {"branchId": request.branch_id, "deleted": True}


async def _run_ab(engine: Engine, asked: DerivedPayload, asking: VerbContext) -> Json:
    request = asked.request(ab_test.Request, by=asking.by, key=asking.key)
    return _wire(await ab_test.run(engine, request))


def _of_case(request: Any) -> str | None:
    return cast("str | None", request.test_case_id)


def _of_branch(request: Any) -> str | None:
    return cast("str | None", request.branch_id)


def _of_prompt(request: Any) -> str | None:
    return cast("str | None", request.prompt_id)


def _of_ab_test(asked: DerivedPayload) -> str | None:
    return asked.request(ab_test.Request).subject_id


VERBS: dict[str, Verb[Any]] = {
    "get-test-cases": Verb(OfPrompt, _of_prompt, _test_cases, reads=True),
    "get-test-case": Verb(OfTestCase, _of_case, _test_case, reads=True),
    "get-test-case-executions": Verb(PageOfTestCase, _of_case, _executions, reads=True),
    "get-test-case-stats": Verb(OfTestCase, _of_case, _stats, reads=True),
    "get-test-branches": Verb(OfTestCase, _of_case, _branches, reads=True),
    "get-branch-executions": Verb(PageOfBranch, _of_branch, _branch_executions, reads=True),
    "create-test-case": Verb(CreateTestCase, _of_case, _create_case),
    "update-test-case": Verb(UpdateTestCase, _of_case, _update_case),
    "delete-test-case": Verb(OfTestCase, _of_case, _delete_case),
    "batch-run-tests": Verb(payload_of("batch-run-tests"), _of_prompt, _run_batch),
    "update-expected-output": Verb(UpdateExpectedOutput, _of_case, _accept),
    "create-test-branch": Verb(CreateTestBranch, _of_case, _create_branch),
    "update-test-branch": Verb(UpdateTestBranch, _of_branch, _update_branch),
    "delete-test-branch": Verb(OfBranch, _of_branch, _delete_branch),
    "run-ab-test": Verb(payload_of("run-ab-test"), _of_ab_test, _run_ab),
}
"""By the type of the message; `run-test-case` is one of the agent's own, older kinds."""
