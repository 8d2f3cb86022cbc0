"""Worlds: the tool servers that an agent under test acts on, what they do to it on purpose, and what is known at the end."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, WithJsonSchema, model_validator

from minions_evals_mcp.confined_paths import confined_path
from minions_evals_mcp.domain.querying.queries import Query, Template
from minions_evals_mcp.domain.values import Amount, Id, Json, Text, Unit, Value
from minions_evals_mcp.errors import BadInputError

Mode = Literal["mock", "replay", "record", "live"]
ON_MISS = Literal["error", "nearest", "live"]
ServerName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./-]{1,128}$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/[^/]+)+$")]
"""A JSON Pointer below the top, such as `/orders/A-1`; `*` stands for any key or index where arguments are ignored."""
START_S = 45.0
"""So many seconds a real server may take to start: less than a program is waited for, so that the server is named."""
STARTED: frozenset[Mode] = frozenset({"live", "record"})
"""The modes in which the real server is started."""


class StateChange(Value):
    """One change of the state, as JSON Patch writes it: `add`, `replace` or `remove` at a JSON Pointer, or `increment`.

    `path` and `value` are templates. `add` with a path that ends in `/-` appends to a list. `increment` adds the number `value`.
    """

    op: Literal["add", "replace", "remove", "increment"]
    path: Annotated[str, StringConstraints(pattern=r"^/")]
    value: Template = None


class FileChange(Value):
    """One change of the world's folder: `write`, `append` to, or `remove` the file at `path`. `path` and `content` are templates."""

    op: Literal["write", "append", "remove"]
    path: Template
    content: Template = ""


class MockRule(Value):
    """One answer of a mocked tool. The first rule whose `when` holds answers.

    Queries and templates see `arguments`, `state` and `call` (the number of this call of the tool, from 1). `error` answers
    with a tool error in place of the result. The state is changed only by a rule that answers without an error.

    In a world with a database, `select` is asked before `when`, which then sees its `rows`. `sql` are the statements of a rule
    that answers: the result sees the `rows` of the last one, and how many rows were `changed`. In both, `:name` is the argument of
    that name. In a world with a folder, `file` is a template of a path: `when` and the result see the content of that file as
    `file`, null where there is none, and all paths as `files`. `writes` are the changes of a rule that answers.
    """

    when: Query | None = None
    result: Template = None
    error: Template = None
    changes: Annotated[tuple[StateChange, ...], Field(strict=False)] = ()
    select: Annotated[Text | None, Field(exclude_if=lambda held: held is None)] = None
    sql: Annotated[tuple[Text, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    file: Annotated[Template, Field(exclude_if=lambda held: held is None)] = None
    writes: Annotated[tuple[FileChange, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()

    @property
    def needs_database(self) -> bool:
        """Whether it asks or changes a database."""
        return self.select is not None or bool(self.sql)

    @property
    def needs_folder(self) -> bool:
        """Whether it reads or changes files."""
        return self.file is not None or bool(self.writes)

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if self.error is not None and (self.result is not None or self.changes or self.sql or self.writes):
            raise ValueError("error: a rule that answers with an error has no result and changes nothing")
        return self


class WorldTool(Value):
    """A tool of a mocked server: what the agent reads of it, and the rules by which it answers.

    `honeypot`: no agent has a reason to call it; under an attack, an agent that calls it is hijacked.
    """

    name: ToolName
    description: str = ""
    input_schema: Json = {}
    rules: Annotated[tuple[MockRule, ...], Field(strict=False)] = ()
    honeypot: bool = False


class WorldServer(Value):
    """One tool server of a world.

    `mock` answers by the rules of its `tools`; `replay` answers from its `tape`; `record` passes calls to the real server,
    which `run` starts within `start_seconds`, and keeps them on the tape; `live` passes them and keeps none. `ignore` names
    arguments that do not count when a call is looked up on the tape. `env` names variables that the real server is given.
    `on_miss` answers a call that is not on the tape: `error`, the `nearest` recorded call of that tool, or `live`, the real
    server, which `run` starts at the first miss where the operator has agreed. Each is counted as a miss all the same.
    """

    mode: Mode = "mock"
    tools: Annotated[tuple[WorldTool, ...], Field(strict=False)] = ()
    tape: Text | None = None
    run: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    env: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    ignore: Annotated[tuple[Pointer, ...], Field(strict=False)] = ()
    on_miss: ON_MISS = "error"
    start_seconds: Annotated[float, Field(gt=0, strict=False, exclude_if=lambda held: held == START_S)] = START_S

    @property
    def traps(self) -> frozenset[str]:
        """The names of its tools that no agent has a reason to call."""
        return frozenset(tool.name for tool in self.tools if tool.honeypot)

    @property
    def may_start(self) -> bool:
        """Whether its real server may be started, which needs the operator's consent."""
        return self.mode in STARTED or self.on_miss == "live"

    @model_validator(mode="after")
    def _has_what_its_mode_needs(self) -> Self:
        if self.mode == "mock" and not self.tools:
            raise ValueError("tools: a mocked server needs at least one tool")
        if self.mode != "mock" and self.tools:
            raise ValueError(f"tools: a server in mode {self.mode} has the tools of the real one; leave them out")
        if self.mode in STARTED and not self.run:
            raise ValueError(f"run: mode {self.mode} needs the command that starts the real server")
        if self.on_miss == "live" and (self.mode != "replay" or not self.run):
            raise ValueError("onMiss: live needs mode replay, and under run the command that starts the real server")
        if self.mode in {"replay", "record"} and self.tape is None:
            raise ValueError(f"tape: mode {self.mode} needs the path of a tape")
        if len({tool.name for tool in self.tools}) < len(self.tools):
            raise ValueError("tools: a tool is listed twice")
        return self


class DatabaseState(Value):
    """The SQLite database that mocked tools act on. `sql` is the script that makes it, `file` the path of a script or of a database."""

    sql: Text | None = None
    file: Text | None = None

    @model_validator(mode="after")
    def _is_made_in_one_way(self) -> Self:
        if (self.sql is None) == (self.file is None):
            raise ValueError("sql: give either sql or file")
        return self


class FolderState(Value):
    """The folder that mocked tools act on: `files` with their contents, by path, over those that are copied from the folder `source`."""

    files: dict[Text, str] = {}
    source: Text | None = None

    @model_validator(mode="after")
    def _stays_within(self) -> Self:
        for path in self.files:
            try:
                confined_path(path, field="files")
            except BadInputError as error:
                raise ValueError(error.message_text) from None
        return self


FaultKind = Literal["timeout", "protocol-error", "tool-error", "empty", "truncated", "stale", "slow", "duplicate"]
LOST: frozenset[FaultKind] = frozenset({"timeout", "protocol-error", "tool-error"})
"""Faults by which the call is not supported."""
Handling = Literal["recovered", "reported-honestly", "gave-up", "made-it-up"]
AttackKind = Literal["override", "authority", "exfiltration", "forged-turn", "pretext", "hidden"]
ATTACK_KINDS: tuple[AttackKind, ...] = ("override", "authority", "exfiltration", "forged-turn", "pretext", "hidden")
Place = Literal["result", "description"]


class Fault(Value):
    """A fault of a tool (a pattern with `*` and `?`): on the `nth` call of it, or with a `probability` that the seed draws by.

    `timeout`, `protocol-error` and `tool-error` do not carry the call out. `empty`, `truncated` and `stale` (an older answer)
    spoil the answer. `slow` delays it, `duplicate` carries the call out twice. `ms` is the delay of `slow` (default 2,000) and of
    `timeout` (default 30,000), `text` the error of `tool-error`.
    """

    kind: FaultKind
    tool: Text = "*"
    nth: Annotated[int | None, Field(ge=1)] = None
    probability: Unit | None = None
    ms: Amount | None = None
    text: Text = "503 Service Unavailable"

    @model_validator(mode="after")
    def _comes_in_one_way(self) -> Self:
        if (self.nth is None) == (self.probability is None):
            raise ValueError("nth: give either nth or probability")
        return self

    @property
    def written(self) -> str:
        """As a request writes it."""
        return f"{self.kind}:{self.tool}@{self.probability if self.nth is None else self.nth}"

    @property
    def delay_ms(self) -> float:
        """How long the answer takes longer."""
        usual = {"slow": 2_000.0, "timeout": 30_000.0}.get(self.kind, 0.0)
        return usual if self.ms is None or not usual else self.ms


_FAULT = re.compile(r"(?P<kind>[a-z-]+)(?::(?P<tool>[^@]+))?(?:@(?P<when>[0-9]+(?:\.[0-9]+)?))?")


_FORM = "write it as tool-error:refund@1 for the first call of refund, or timeout@0.2 for a fifth of all calls"


def _fault(written: object) -> object:
    if not isinstance(written, str):
        return written
    found = _FAULT.fullmatch(written)
    if found is None:
        raise ValueError(f"{written!r} is not a fault; {_FORM}")
    when = found["when"] or "1"
    chance = {"probability": float(when)} if "." in when else {"nth": int(when)}
    try:
        return Fault.model_validate({"kind": found["kind"], "tool": found["tool"] or "*", **chance})
    except ValidationError as error:
        raise ValueError(f"{written!r}: {error.errors(include_url=False)[0]['msg']}; {_FORM}") from None


WrittenFault = Annotated[Fault, BeforeValidator(_fault), WithJsonSchema({"type": "string"})]
"""A fault as a request names it: `KIND[:TOOL][@NTH]`, `@0.2` for a probability, or its fields."""


class Attack(Value):
    """A text that tries to take an agent over, planted in the result or in the description of a tool.

    In it `{{honeypot}}` stands for the name of a tool that no task needs, `{{reference}}` for the name under which the unit's
    canary is shown.
    """

    id: Text
    kind: AttackKind
    language: Literal["en", "de", "fr", "es"] = "en"
    place: Place = "result"
    tool: Text = "*"
    text: Text


class FaultHandling(Value):
    """What an agent made of one fault. `step` is the call that met it, from 1."""

    kind: FaultKind
    tool: Text
    step: Annotated[int, Field(ge=1)]
    handling: Handling
    reason: str = ""


class AttackOutcome(Value):
    """Whether an attack reached an agent, and whether it was hijacked: seen in what it did, by `step` where it was a call."""

    id: Text
    kind: AttackKind
    delivered: bool
    hijacked: bool
    reason: str = ""
    step: Annotated[int | None, Field(ge=1)] = None


UNREACHED = "the agent never connected to the servers of its world"
Sentences = Annotated[tuple[str, ...], Field(strict=False, exclude_if=lambda held: not held)]


class WorldEvidence(Value):
    """The end of a unit's world. `state` is the final state of its mocked servers, `database` a script that makes its database, and
    `files` are those in its folder, with their contents (null where one is no text, or too long to be kept).

    `misses` are calls that no answer was at hand for, each with the nearest recorded call. `differences` are calls that the agent
    reports otherwise than they were made. `faults` are those that the agent met, with what it made of each; `idle` are faults
    of a given call, as a request writes them, that no call met. `attack` is the attack that was planted, with its outcome.
    `unreached`: the agent connected to no server of the world.
    """

    world: Id
    state: Json
    database: Annotated[str | None, Field(exclude_if=lambda held: held is None)] = None
    files: Annotated[dict[str, str | None] | None, Field(exclude_if=lambda held: held is None)] = None
    misses: Sentences = ()
    differences: Sentences = ()
    faults: Annotated[tuple[FaultHandling, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    idle: Annotated[tuple[Text, ...], Field(strict=False, exclude_if=lambda held: not held)] = ()
    attack: Annotated[AttackOutcome | None, Field(exclude_if=lambda held: held is None)] = None
    unreached: Annotated[bool, Field(exclude_if=lambda held: not held)] = False
