"""The `extensions` of a config: functions of the user's that are called before and after its tests, as promptfoo calls them.

JavaScript runs in one process of node, whose modules keep what they hold; Python is loaded anew for each call, as there.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Timer
from typing import Literal

import anyio.to_thread
from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, from_json, to_json

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.outcomes import TargetErrored
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.domain.values import is_finite
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.sandbox.child_environment import child_environment
from minions_evals_mcp.scoring.reserved_inputs import TEST
from minions_evals_mcp.targets.module_file import HOST, node_command
from minions_evals_mcp.targets.prompted import variables_of
from minions_evals_mcp.targets.python_file import awaited, function_in

Name = Literal["beforeAll", "beforeEach", "afterEach", "afterAll"]
NAMES: tuple[Name, ...] = ("beforeAll", "beforeEach", "afterEach", "afterAll")
TAKEN = (
    "prompts",
    "providerPromptMap",
    "tests",
    "scenarios",
    "defaultTest",
    "nunjucksFilters",
    "derivedMetrics",
    "redteam",
)
"""What of a suite is taken over from what `beforeAll` returns."""
LONGEST_S = 120.0


class HookError(Exception):
    """The reason why a hook gave nothing."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A function in a file; one that bears the name of a hook is called for that alone, any other for all of them."""

    path: Path
    function: str | None
    code: str
    """The digest of the file, of what it imports, and of the data that these name."""

    @property
    def only(self) -> str | None:
        """The hook that it is called for; None: all."""
        return self.function if self.function in NAMES else None


@dataclass(slots=True, eq=False)
class Hooks:
    """The hooks of one config, called one at a time; `close` ends the process that runs JavaScript."""

    listed: tuple[Hook, ...]
    lock: Lock = field(default_factory=Lock)
    host: subprocess.Popen[bytes] | None = None

    def digest(self) -> str:
        """The digest of their code."""
        return digest([[hook.path.name, hook.function, hook.code] for hook in self.listed])[:16]

    def run(self, name: Name, context: Json) -> Json:
        """The context once every hook of that name was called; raises `HookError`. It waits."""
        for hook in self.listed:
            if hook.only in {None, name}:
                try:
                    with self.lock:
                        returned, left = self._called(hook, name, context)
                    context = _taken_over(name, left, returned)
                except HookError as error:
                    raise HookError(f"{name} in {hook.path.name}: {error}") from None
        return context

    async def later(self, name: Name, context: Json) -> Json:
        """The same, in a thread."""
        return await anyio.to_thread.run_sync(self.run, name, context)

    def close(self) -> None:
        """Ends the process; the next hook starts another."""
        with self.lock:
            self._end()

    def _end(self) -> None:
        if self.host is not None:
            self.host.kill()
            self.host.communicate()
            self.host = None

    def _called(self, hook: Hook, name: Name, context: Json) -> tuple[JsonValue, Json]:
        """Returns what the hook returned, and the context as it left it."""
        arguments: list[JsonValue] = [context, {"hookName": name}] if hook.only else [name, context]
        if hook.path.suffix == ".py":
            return self._python(hook, arguments), context
        return self._javascript(hook, arguments, at=arguments.index(context))

    def _python(self, hook: Hook, arguments: list[JsonValue]) -> JsonValue:
        name = hook.function or "get_transform"
        try:
            function = function_in(hook.path, name, called_with="hook_name, context")
            value = awaited(function(*json.loads(json.dumps(arguments))))
            return from_json(to_json(value, inf_nan_mode="constants"), allow_inf_nan=False)
        except BadInputError as error:
            raise HookError(error.message_text) from None
        except PydanticSerializationError:
            raise HookError("it did not return JSON") from None
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's function may raise anything
            raise HookError(f"it raised {type(error).__name__}: {error}") from None

    def _javascript(self, hook: Hook, arguments: list[JsonValue], *, at: int) -> tuple[JsonValue, Json]:
        if self.host is None:
            pipe = subprocess.PIPE
            self.host = subprocess.Popen(node_command(HOST), stdin=pipe, stdout=pipe, env=child_environment())  # noqa: S603  the operator trusts it
        host = self.host
        assert host.stdin is not None
        assert host.stdout is not None
        request = {"file": str(hook.path), "name": hook.function, "arguments": arguments, "at": at}
        limit = Timer(LONGEST_S, host.kill)
        limit.start()
        try:
            host.stdin.write(json.dumps(request).encode() + b"\n")
            host.stdin.flush()
            reply = json.loads(host.stdout.readline())
        except (OSError, ValueError):
            self._end()
            raise HookError(f"its process ended, or gave no answer within {LONGEST_S:g} s") from None
        finally:
            limit.cancel()
        if "error" in reply:
            raise HookError(str(reply["error"]))
        return reply["value"], reply["context"]


def _taken_over(name: Name, context: Json, returned: JsonValue) -> Json:
    """The context with what promptfoo takes over of what a hook returned."""
    if not returned or name == "afterAll":
        return context
    if name == "afterEach":
        result = _part(returned, "result", needed=False)
        return {**context, "result": _with_scores(_part(context, "result"), result)} if result else context
    if name == "beforeEach":
        return {"test": _part(returned, "test")}
    suite = _part(returned, "suite")
    rest = {key: value for key, value in _part(context, "suite").items() if key not in TAKEN}
    return {"suite": {**rest, **{key: suite[key] for key in TAKEN if key in suite}}}


def _with_scores(result: Json, named_scores: Json) -> Json:
    """The result with the numbers and the metadata that were returned over its own."""
    scores: Json = {**obj(result.get("namedScores")), **_finite(obj(named_scores.get("namedScores")))}
    metadata: Json = {**obj(result.get("metadata")), **obj(named_scores.get("metadata"))}
    return {**result, "namedScores": scores, "metadata": metadata}


def _finite(scores: Json) -> Json:
    numbers = ((name, value) for name, value in scores.items() if isinstance(value, int | float))
    return {name: value for name, value in numbers if not isinstance(value, bool) and is_finite(value)}


def _part(context: JsonValue, name: str, *, needed: bool = True) -> Json:
    value = context.get(name) if isinstance(context, dict) else None
    if not isinstance(value, dict):
        if needed:
            raise HookError(f"it must return the context, with {name} in it")
        return {}
    return value


@dataclass(frozen=True, slots=True)
class HookedTest:
    """A test as `beforeEach` is told it, and the names that stand in templates which were filled before."""

    told: Json
    filled: frozenset[str]


@dataclass(frozen=True, slots=True)
class BeforeEach:
    """The hooks that are called before each output is asked for; of a test it may change the variables."""

    hooks: Hooks
    tests: Mapping[str, HookedTest]

    async def inputs(self, inputs: Json) -> Json | TargetErrored:
        """The inputs with the variables that the hooks leave."""
        test = self.tests[str(inputs[TEST])]
        before = variables_of(inputs)
        sent_test: Json = {**test.told, "vars": before}
        try:
            left = _part(await self.hooks.later("beforeEach", {"test": sent_test}), "test")
        except HookError as error:
            return TargetErrored(str(error))
        after = left.get("vars")
        changed = sorted(
            name for name in sent_test.keys() | left if name != "vars" and sent_test.get(name) != left.get(name)
        )
        if changed or not isinstance(after, dict):
            return TargetErrored(
                f"beforeEach changed {', '.join(changed) or 'vars'}: of a test, it may change only variables"
            )
        names = {name for name in (*before, *after) if before.get(name) != after.get(name)}
        late = sorted(names & test.filled | before.keys() - after.keys())
        if late:
            return TargetErrored(
                f"beforeEach changed {', '.join(late)}, which a template of the test uses, or removed it"
            )
        return {**inputs, **after}
