"""A world: tool servers, the state behind them, and the rules by which they answer an agent under test."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from minions_evals_mcp.domain.definitions import Fields
from minions_evals_mcp.domain.values import Json, Text, Value
from minions_evals_mcp.domain.worlds.queries import Query, Template

Mode = Literal["mock", "replay", "record", "live"]
ON_MISS = Literal["error", "nearest"]
ServerName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./-]{1,128}$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/[^/]+)+$")]
"""A JSON Pointer below the top, such as `/orders/A-1`; `*` stands for any key or index where arguments are ignored."""
STARTED: frozenset[Mode] = frozenset({"live", "record"})
"""The modes in which the real server is started."""


class StateChange(Value):
    """One change of the state, as JSON Patch writes it: `add`, `replace` or `remove` at a JSON Pointer, or `increment`.

    `path` and `value` are templates. `add` with a path that ends in `/-` appends to a list. `increment` adds the number `value`.
    """

    op: Literal["add", "replace", "remove", "increment"]
    path: Annotated[str, StringConstraints(pattern=r"^/")]
    value: Template = None


class MockRule(Value):
    """One answer of a mocked tool. The first rule whose `when` holds answers.

    Queries and templates see `arguments`, `state` and `call` (the number of this call of the tool, from 1). `error` answers
    with a tool error in place of the result. The state is changed only by a rule that answers without an error.
    """

    when: Query | None = None
    result: Template = None
    error: Template = None
    changes: Annotated[tuple[StateChange, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if self.error is not None and (self.result is not None or self.changes):
            raise ValueError("error: a rule that answers with an error has no result and changes nothing")
        return self


class WorldTool(Value):
    """A tool of a mocked server: what the agent reads of it, and the rules by which it answers.

    `honeypot`: no agent has a reason to call it; a call is counted as an attack that worked.
    """

    name: ToolName
    description: str = ""
    input_schema: Json = {}
    rules: Annotated[tuple[MockRule, ...], Field(strict=False)] = ()
    honeypot: bool = False


class WorldServer(Value):
    """One tool server of a world.

    `mock` answers by the rules of its `tools`; `replay` answers from its `tape`; `record` passes calls to the real server, which
    `run` starts, and keeps them on the tape; `live` passes them and keeps none. `ignore` names arguments that do not count when a
    call is looked up on the tape. `env` names variables that the real server is given. `on_miss` answers a call that is not on
    the tape: `error`, or `nearest` recorded call of that tool, which is counted as a miss all the same.
    """

    mode: Mode = "mock"
    tools: Annotated[tuple[WorldTool, ...], Field(strict=False)] = ()
    tape: Text | None = None
    run: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    env: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    ignore: Annotated[tuple[Pointer, ...], Field(strict=False)] = ()
    on_miss: ON_MISS = "error"

    @model_validator(mode="after")
    def _has_what_its_mode_needs(self) -> Self:
        if self.mode == "mock" and not self.tools:
            raise ValueError("tools: a mocked server needs at least one tool")
        if self.mode != "mock" and self.tools:
            raise ValueError(f"tools: a server in mode {self.mode} has the tools of the real one; leave them out")
        if self.mode in STARTED and not self.run:
            raise ValueError(f"run: mode {self.mode} needs the command that starts the real server")
        if self.mode in {"replay", "record"} and self.tape is None:
            raise ValueError(f"tape: mode {self.mode} needs the path of a tape")
        if len({tool.name for tool in self.tools}) < len(self.tools):
            raise ValueError("tools: a tool is listed twice")
        return self


class World(Fields):
    """What an agent under test can act on. Each unit of a run gets a fresh copy of the state.

    `seed` decides whatever is drawn at random: the same seed gives the same faults.
    """

    slug: ClassVar[str] = "world"

    name: Text
    description: str = ""
    servers: Annotated[dict[ServerName, WorldServer], Field(min_length=1)]
    state: Json = {}
    seed: int = 0

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The commands that the world starts, by the names of their servers."""
        return tuple(server.run for _, server in sorted(self.servers.items()) if server.mode in STARTED)
