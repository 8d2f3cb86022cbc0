"""The objections to a message before anybody carries it out: ids under which nothing is kept, and a model that is not set up.

It is taken in all the same: what it names may be brought in before its turn, and the agent may be set up otherwise.
"""

from __future__ import annotations

from functools import partial

from minions_evals_mcp.domain.records import reading_notes
from minions_evals_mcp.domain.values import Value
from minions_evals_mcp.engine.jobs import find_job
from minions_evals_mcp.engine.version_chain import find_ref
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.messages.payloads import KINDS, AgentRunCompleted, Instruction, payload_as
from minions_evals_mcp.messages.send_message import Letter
from minions_evals_mcp.operations.engine import Engine, with_near_ids
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db

NAMES = {
    "benchmark_id": "benchmark", "test_case_id": "test-case", "agent_run_id": "agent-run", "branch_id": "test-branch",
    "test_run_id": "test-run", "comparison_id": "prompt-comparison", "approval_request_id": "approval-request",
}  # fmt: skip
"""Fields of payloads that name a record, with its type."""
VERSIONS = ("prompt_version_a", "prompt_version_b", "prompt_version_ref")
MAKES = {"create-test-case": "test_case_id", "create-test-branch": "branch_id"}
"""Messages that bring a record, with the field that says under which id."""
NO_MODEL = (
    "an instruction needs a model, and none is configured. The agent refuses it unless you start it with a judge model and its"
    " provider's key."
)


async def foreseen(engine: Engine, letter: Letter) -> list[str]:
    """Returns why the message would be refused if its turn were now, in sentences; none where nothing is seen."""
    payload_read = payload_as(KINDS[letter.type].payload, letter.payload, message=f"message {letter.type}")
    if isinstance(payload_read, Instruction):
        return [NO_MODEL] if engine.judge_model() is None else []
    read = (
        [f"{note}." for note in reading_notes(payload_read.agent_run)]
        if isinstance(payload_read, AgentRunCompleted)
        else []
    )
    missing = await engine.store.read(partial(_missing, payload=payload_read, besides=MAKES.get(letter.type, "")))
    near = [await with_near_ids(engine, error) for error in missing]
    return read + [
        f"{error.message_text} The agent refuses it unless that exists when it handles the message." for error in near
    ]


def _missing(db: Db, *, payload: Value, besides: str) -> list[NotFoundError]:
    named = [(name, value) for name, value in payload if isinstance(value, str) and name != besides]
    absent = [
        NotFoundError(NAMES[name], value)
        for name, value in named
        if name in NAMES and _kept_as(db, value) != NAMES[name]
    ]
    absent += [
        NotFoundError("prompt-version", value)
        for name, value in named
        if name in VERSIONS and not _is_version(db, value)
    ]
    return absent + [NotFoundError("run", value) for name, value in named if name == "run_id" and not _ran(db, value)]


def _kept_as(db: Db, ident: str) -> str | None:
    record = records.find(db, ident)
    return None if record is None else record.type


def _is_version(db: Db, name: str) -> bool:
    try:
        find_ref(db, name)
    except NotFoundError:
        return False
    except BadInputError:  # a number alone, or latest: of the prompt that the cases are of
        return True
    return True


def _ran(db: Db, ident: str) -> bool:
    try:
        return find_job(db, ident) is not None or records.find(db, ident) is not None
    except BadInputError:  # the beginning of several: there is one, if more of it is given
        return True
