"""Outputs made by a program of the user's: `command:…`, named by the operator only."""

from __future__ import annotations

import re
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from pydantic import Field, StringConstraints, model_validator

from minions_evals_mcp.domain.conversations import Spoken
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import canonical, digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.frozen_types import frozen_type, once
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.outgoing import MOST_BYTES
from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.sandbox.programs import NotStartedError, running
from minions_evals_mcp.targets.code_files import files_digest, named_in
from minions_evals_mcp.targets.exchange import HostStream, TargetExchange, asking, sent, tells_version, vet_version
from minions_evals_mcp.targets.workspace import Workspaces, contents, with_made

if TYPE_CHECKING:
    from minions_evals_mcp.world.units import UnitInWorld

WORLD_PLACE = re.compile(r"\{\{\s*world\.(?:mcp_config|mcpConfig)\s*\}\}")
READ_OF_STDERR = 16_000
"""So many bytes of what a program says beside its answer are remembered while it runs."""
KEPT_OF_STDERR = 2000
"""So many characters of that are kept: the last ones, once no secret stands in them that a cut could hide."""
SHOWN_OF_STDERR = 600


class CommandSettings(TargetExchange):
    """A program with its arguments, started without a shell; `{{name}}` is filled in `input`, never in `run`."""

    run: Annotated[tuple[Annotated[str, StringConstraints(min_length=1)], ...], Field(min_length=1, strict=False)]

    format: Annotated[HostStream | None, Field(exclude_if=lambda form: form is None)] = None
    """The way in which a coding agent's command line prints its session; it is given the prompt as plain text."""

    @model_validator(mode="after")
    def _reads_one_way(self) -> Self:
        selects = (self.output, self.tool_calls, *self.usage.model_dump(by_alias=False).values())
        if self.format is not None and any(selects):
            raise ValueError(f"format {self.format} reads the whole output. Leave output, toolCalls and usage out")
        return self

    def payload(self, inputs: Json, version: Record[PromptVersion] | None) -> bytes:
        """What the program is given: JSON, or with a format the text of its input, which is the prompt unless said."""
        if self.format is None:
            return canonical(sent(self.input, inputs, version)).encode() + b"\n"
        asked = sent("{{prompt}}" if self.input is None else self.input, inputs, version)
        return (asked if isinstance(asked, str) else canonical(asked)).encode() + b"\n"

    @property
    def name(self) -> str:
        """The target as it stands in `producedBy`."""
        return f"command:{shlex.join(self.run)}"


def command_settings(target: str) -> CommandSettings:
    """The settings that `command:PROGRAM ARGUMENTS…` stands for; raises `BadInputError` for what is no command line."""
    try:
        words = shlex.split(target.removeprefix("command:"))
    except ValueError as error:
        raise BadInputError(
            f"{argument('target')} {target} is not a valid command line: {error}.", remedy="Check its quotes."
        ) from None
    if not words:
        raise BadInputError(
            f"{argument('target')} command: names no program.", remedy="Write it as 'command:PROGRAM ARGUMENTS'."
        )
    return CommandSettings(run=tuple(words))


@frozen_type
class Finished:
    """The ending of a program, and what it wrote."""

    code: int
    out: bytes


async def finished(
    command: Sequence[str],
    input_bytes: bytes,
    *,
    errors: bytearray,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Finished | TargetErrored:
    """Returns how the program ended that was given those bytes; one that writes too much is stopped.

    `environment` is given besides ours. `errors` takes the end of stderr. This may take forever: the caller sets the limit.
    However it ends, the program and all that it started are dead by then.
    """
    out = bytearray()
    try:
        env = None if environment is None else {**child_environment(), **environment}
        async with running(command, cwd=cwd, env=env) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_give, process.stdin, input_bytes)
                tasks.start_soon(_take, process, process.stdout, out)
                tasks.start_soon(_take_end, process.stderr, errors)
                await process.wait()
            if len(out) > MOST_BYTES:
                return TargetErrored(f"wrote more than {MOST_BYTES // 1_000_000} MB")
            assert process.returncode is not None
            return Finished(process.returncode, bytes(out))
    except NotStartedError as error:
        return TargetErrored(f"cannot be started: {error}", fatal=True)


async def _give(stdin: ByteSendStream, input_bytes: bytes) -> None:
    async with stdin:
        try:
            await stdin.send(input_bytes)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # it does not read its input, which is its own affair


async def _take(process: Process, stdout: ByteReceiveStream, out: bytearray) -> None:
    async for part in stdout:
        out += part
        if len(out) > MOST_BYTES:
            with suppress(ProcessLookupError):
                process.terminate()
            return


async def _take_end(stderr: ByteReceiveStream, errors: bytearray) -> None:
    async for part in stderr:
        errors += part
        del errors[:-READ_OF_STDERR]


def beside(errors: bytearray) -> str:
    """Returns what a program said beside its answer."""
    return masked(errors.decode("utf-8", "replace").strip())[-KEPT_OF_STDERR:]


def ended(code: int) -> str:
    """How a program ended that did not end well."""
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


@frozen_type
class CommandTarget:
    """A program of the user's, started once for each case."""

    settings: CommandSettings
    deadline_s: float
    workspaces: Workspaces | None = None
    world: UnitInWorld | None = None
    """What the program acts on: it finds the tool servers by a variable, or where `{{world.mcp_config}}` is among its arguments."""

    def __post_init__(self) -> None:
        program = self.settings.run[0]
        if shutil.which(program) is None:
            raise BadInputError(
                f"{argument('target')} command: program {program!r} not found.",
                remedy="Name a program on your PATH, or give its path. For a shell: command:sh -c '…'.",
            )

    def in_world(self, world: UnitInWorld) -> AbstractAsyncContextManager[CommandTarget]:
        """The same program, pointed at that world."""
        return nullcontext(replace(self, world=world))

    def _run(self) -> Sequence[str]:
        """The program with its arguments."""
        if self.world is None:
            return self.settings.run
        path = self.world.mcp_config
        return [WORLD_PLACE.sub(lambda _place: path, part) for part in self.settings.run]

    @once
    def _code(self) -> str:
        """The digest of the files that the command names, and of what these import from the current folder."""
        folder = Path.cwd()
        return "" if self.workspaces is not None else files_digest(named_in(self.settings.run, folder), folder)

    def digest(self) -> str:
        """The digest of the settings and of the program's files in the project."""
        code = self._code
        settings = {"target": "command", **self.settings.model_dump(mode="json")}
        return digest({**settings, "code": code} if code else settings)

    @property
    def takes_version(self) -> bool:
        """Returns whether the program is told of the prompt version: by its input, or by what lies in its workspace."""
        return self.workspaces is not None or tells_version(self.settings.input)

    def vet(self, version: Record[PromptVersion] | None) -> None:
        """Raises `BadInputError` where a version is asked for of which the program would be told nothing."""
        if self.workspaces is not None:
            self.workspaces.vet(None if version is None else version.id)
        else:
            vet_version(self.settings.input, version)

    async def produce(
        self, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """Returns what the program wrote: JSON or text; at the limit it is killed with its children.

        With workspaces it starts in a fresh one of that version, and is told of the version by what lies there alone.
        """
        if self.workspaces is None:
            return await self._answer(self.settings.payload(inputs, version), version, timeout_ms=timeout_ms)
        assert version is not None  # `vet` refused it
        payload = self.settings.payload(inputs, None)
        try:
            with self.workspaces.opened(inputs, version.id) as folder:
                before = contents(folder)
                seen = await self._answer(payload, version, timeout_ms=timeout_ms, cwd=folder)
                return with_made(seen, folder, before) if isinstance(seen, Observed) else seen
        except (OSError, BadInputError) as error:
            return TargetErrored(f"{self.settings.name}: its workspace cannot be prepared or read: {error}", fatal=True)

    async def answer_in(
        self, spoken: Spoken, inputs: Json, version: Record[PromptVersion] | None, *, timeout_ms: int | None
    ) -> Observed | TargetErrored:
        """The answer to what the user said last: `message`, `messages` and `session` join the inputs."""
        return await self.produce({**inputs, **spoken.told()}, version, timeout_ms=timeout_ms)

    async def _answer(
        self,
        payload: bytes,
        version: Record[PromptVersion] | None,
        *,
        timeout_ms: int | None,
        cwd: Path | None = None,
    ) -> Observed | TargetErrored:
        settings = self.settings
        question = asking(
            settings.name, version, timeout_ms=timeout_ms, deadline_s=settings.timeout_seconds or self.deadline_s
        )
        answer: Finished | TargetErrored | None = None
        errors = bytearray()
        started = time.perf_counter()
        with anyio.move_on_after(question.limit_s):
            environment = None if self.world is None else self.world.environment()
            answer = await finished(self._run(), payload, errors=errors, cwd=cwd, environment=environment)
        latency_ms = (time.perf_counter() - started) * 1000
        errors_beside = beside(errors)
        match answer:
            case None:
                seen = question.too_late(latency_ms)
            case Finished() if settings.format is not None:
                from minions_evals_mcp.targets.host_streams import read_stream  # noqa: PLC0415  only a coding agent is read by it

                read = read_stream(settings.format, answer.out)
                if answer.code and (isinstance(read, Observed) or read.unanswered):
                    read = TargetErrored(ended(answer.code))
                seen = question.seen(read, latency_ms=latency_ms)
            case Finished(code=0):
                seen = question.answered(answer.out, settings, latency_ms=latency_ms)
            case Finished():
                seen = TargetErrored(f"{settings.name} {ended(answer.code)}")
            case TargetErrored():
                seen = TargetErrored(f"{settings.name}: {answer.reason}", fatal=answer.fatal)
        if isinstance(seen, Observed):
            return seen.model_copy(update={"stderr": errors_beside})
        return replace(seen, reason=f"{seen.reason}: {errors_beside[-SHOWN_OF_STDERR:]}") if errors_beside else seen
