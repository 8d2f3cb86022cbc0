"""Test cases, branches and benchmarks, made and changed field by field."""

from __future__ import annotations

from typing import Literal

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, session
from minions_evals_mcp.cli.speaking import speaker_at
from minions_evals_mcp.domain.definitions import Benchmark, Fields, Json, TestBranch, TestCase
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.records import Record, record_from_wire, wire_fields
from minions_evals_mcp.domain.tagged_values import json_or_text
from minions_evals_mcp.engine.ab_test.branches import create_branch, update_branch
from minions_evals_mcp.engine.cases.testing import create_prompt_version, create_test_case, update_test_case
from minions_evals_mcp.errors import BadInputError, UnsupportedError
from minions_evals_mcp.operations import save_records
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.ids import whole_id

BY = "command-line"
CASE_FIELDS = ("promptId", "name", "description", "input", "expectedOutput")
BENCHMARK_FIELDS = ("name", "description", "dimension", "passingThreshold", "schedule", "ownerId", "status")
VERSION_FIELDS = ("promptId", "content", "changelog", "description")
TEXTS = frozenset(
    {
        "content",
        "changelog",
        "promptId",
        "name",
        "description",
        "expectedOutput",
        "testCaseId",
        "provider",
        "model",
        "dimension",
        "schedule",
        "ownerId",
    }
)
"""Fields whose value is a text as it stands; of the others it is JSON where it can be."""


async def add(
    type: Literal["test-case", "test-branch", "prompt-version"],  # noqa: A002  the argument's name
    /,
    *fields: str,
    id: str | None = None,  # noqa: A002  the option's name
    common: Common = DEFAULTS,
) -> int:
    """Add a test case, a version of a prompt, or a branch of a test case.

    A test case has promptId, name, description, input and expectedOutput. A branch has testCaseId, name, provider,
    model, isControl, and the parameters to send (temperature, maxTokens, topP, otherParams). A prompt version has
    promptId, content, changelog and description, and gets the next number of its prompt.
    Example: minions-evals add test-case promptId=mood name=Happy 'input={"text": "I am happy"}' expectedOutput=positive

    Parameters
    ----------
    type
        The type of the record.
    fields
        FIELD=VALUE, as often as needed.
    id
        Its id (default: a new one).
    """
    values = named_fields(fields)
    async with session(common, makes=True) as engine:
        engine = engine.speaking(await speaker_at(engine))  # noqa: PLW2901  what is made is theirs
        made = await _MAKERS[type](engine, values, id)
    _tell(made, f"made {type} {made['id']}", common)
    return 0


async def _case_made(engine: Engine, values: Json, ident: str | None) -> Json:
    _vet(values, CASE_FIELDS, "a test case")
    missing = [name for name in ("promptId", "name", "input") if name not in values]
    if missing:
        raise BadInputError(f"{missing[0]} is missing.", remedy=f"Give {missing[0]}=VALUE.")
    made = await create_test_case(
        engine,
        prompt_id=str(values["promptId"]),
        name=str(values["name"]),
        input=values["input"],
        expected_output="" if values.get("expectedOutput", "") is None else values.get("expectedOutput"),
        description=str(values.get("description", "")),
        id=ident,
    )
    return made.model_dump(mode="json")


async def _branch_made(engine: Engine, values: Json, ident: str | None) -> Json:
    case = values.get("testCaseId")
    named = {"testCaseId": await whole_id(engine, case, "test-case")} if isinstance(case, str) else {}
    return (await create_branch(engine, {**values, **named}, branch_id=ident)).wire()


async def _version_made(engine: Engine, values: Json, ident: str | None) -> Json:
    _vet(values, VERSION_FIELDS, "a prompt version")
    missing = [name for name in ("promptId", "content") if not values.get(name)]
    if missing:
        raise BadInputError(f"{missing[0]} is missing.", remedy=f"Give {missing[0]}=VALUE.")
    given = {name: str(values.get(name) or "") for name in ("changelog", "description") if name in values}
    made = await create_prompt_version(
        engine, prompt_id=str(values["promptId"]), content=str(values["content"]), id=ident, **given
    )
    return made.wire()


_MAKERS = {TestCase.slug: _case_made, TestBranch.slug: _branch_made, PromptVersion.slug: _version_made}


async def set_(id: str, /, *fields: str, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Change fields of a test case, a branch or a benchmark. Other fields stay as they are.

    A changed expectedOutput is a new baseline, as with `accept`. FIELD= without a value removes the field. A benchmark
    has name, description, dimension, passingThreshold (0 to 1), schedule (five cron fields, UTC), ownerId and status.
    Example: minions-evals set mood/happy name=Happy expectedOutput=positive
    Example: minions-evals set support passingThreshold=0.9 schedule="0 6 * * *"

    Parameters
    ----------
    id
        The test case, branch or benchmark.
    fields
        FIELD=VALUE, as often as needed.
    """
    values = named_fields(fields)
    async with session(common) as engine:
        engine = engine.speaking(await speaker_at(engine))  # noqa: PLW2901  what is changed is theirs
        ident = await whole_id(engine, id, "test-case", "test-branch", "benchmark")
        changed = await _changed(engine, ident, values)
    kept = ". `minions-eval-agent run` runs it at these times" if values.get("schedule") else ""
    _tell(changed, f"changed {ident}: {', '.join(values)}{kept}", common)
    return 0


async def _changed(engine: Engine, ident: str, values: Json) -> Json:
    record = await save_records.found(engine, ident)
    match record.fields:
        case TestCase():
            _vet(values, CASE_FIELDS, "a test case")
            case = await update_test_case(engine, ident, values, by=engine.speaker.name or BY)
            return case.model_dump(mode="json")
        case TestBranch():
            return (await update_branch(engine, ident, values)).wire()
        case Benchmark():
            _vet(values, BENCHMARK_FIELDS, "a benchmark")
            return await _benchmark_changed(engine, record, values)
        case _:
            raise UnsupportedError(
                f"{ident} is a {record.type}; only test cases, branches and benchmarks can be changed this way.",
                remedy="Import it as a record.",
            )


async def _benchmark_changed(engine: Engine, record: Record[Fields], values: Json) -> Json:
    merged = {**wire_fields(record.fields), **values}
    wire: Json = {**record.wire(), "fields": {name: value for name, value in merged.items() if value is not None}}
    changed = record_from_wire(wire, new_id=record.id, now=engine.clock())
    await save_records.run(engine, [save_records.Arrival(changed)], by=engine.speaker.name or BY)
    return (await save_records.found(engine, record.id)).wire()


def _vet(values: Json, known: tuple[str, ...], what: str) -> None:
    unknown = [name for name in values if name not in known]
    if unknown:
        raise BadInputError(
            f"unknown field of {what}: {unknown[0]}.",
            remedy=f"It takes {', '.join(known)}; import the record for others.",
        )


def named_fields(fields: tuple[str, ...]) -> Json:
    """The fields as they were given; raises `BadInputError` for what is no FIELD=VALUE, or none at all."""
    if not fields:
        raise BadInputError("no field to change.", remedy="Give FIELD=VALUE.")
    values: Json = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals or not name:
            raise BadInputError(f"expected FIELD=VALUE, got {field}.", remedy="--help shows an example.")
        values[name] = None if not value else value if name in TEXTS else json_or_text(value)
    return values


def _tell(answer: Json, line: str, common: Common) -> None:
    reply(common, answer, [line])
