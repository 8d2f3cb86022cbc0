"""A program of the user's as the target: real processes."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outcomes import Observed, TargetErrored
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.outgoing import MOST_BYTES
from minions_evals_mcp.targets.command import KEPT_OF_STDERR, CommandSettings, CommandTarget, command_settings
from tests.hang import HANG_S
from tests.sandbox.daemon import daemon, is_gone, linux

Json = dict[str, JsonValue]
AT = datetime(2026, 3, 1, tzinfo=UTC)
INPUTS: Json = {"question": "Why – so?"}
VERSION = Record("p@2", PromptVersion(content="Answer: {{question}}", version_number=2), "v2", AT, AT)
ECHO = "import json, sys; print(json.dumps(json.load(sys.stdin)))"


def python(code: str, **settings: JsonValue) -> CommandSettings:
    """A Python program of that code."""
    return CommandSettings.model_validate({"run": [sys.executable, "-c", code], **settings})


def shell(script: str) -> CommandSettings:
    """A shell that runs that script."""
    return CommandSettings(run=("sh", "-c", script))


async def produced(
    settings: CommandSettings, *, version: Record[PromptVersion] | None = None, timeout_ms: int | None = None,
    deadline_s: float = HANG_S,
) -> Observed | TargetErrored:  # fmt: skip
    with anyio.fail_after(HANG_S):
        return await CommandTarget(settings, deadline_s).produce(INPUTS, version, timeout_ms=timeout_ms)


async def observed(settings: CommandSettings, *, version: Record[PromptVersion] | None = None) -> Observed:
    found = await produced(settings, version=version)
    assert isinstance(found, Observed), found
    return found


async def errored(settings: CommandSettings) -> TargetErrored:
    found = await produced(settings)
    assert isinstance(found, TargetErrored), found
    return found


async def test_the_inputs_stand_on_stdin_and_json_on_stdout_is_the_output() -> None:
    found = await observed(python(ECHO))
    assert found.output == INPUTS
    assert found.produced_by is not None
    assert found.produced_by.startswith("command:")
    assert found.latency_ms is not None
    assert not found.timed_out


async def test_text_on_stdout_is_the_output_as_well_and_stderr_is_kept_beside_it() -> None:
    found = await observed(shell("echo thinking >&2; echo 'It is so.'"))
    assert (found.output, found.stderr) == ({"output": "It is so."}, "thinking")


@pytest.mark.parametrize(("cost", "counted"), [("0.03", 0.03), ('"dear"', None), ("true", None)])
async def test_what_an_answer_says_that_it_cost_counts_without_any_set_up(cost: str, counted: float | None) -> None:
    assert (await observed(shell(f'echo \'{{"output": "A", "costUsd": {cost}}}\''))).cost_usd == counted


@pytest.mark.parametrize("cost", ["-1", "1" + 400 * "0"])
async def test_a_cost_that_can_be_none_is_the_targets_error(cost: str) -> None:
    found = await errored(shell(f'echo \'{{"output": "A", "costUsd": {cost}}}\''))
    assert f"it reported a cost of {cost[:20]}" in found.reason


async def test_template_selectors_and_version_are_those_of_every_application() -> None:
    settings = python(ECHO, input={"ask": "{{prompt}}", "of": "{{promptVersion}}"}, output="ask")
    found = await observed(settings, version=VERSION)
    assert (found.output, found.prompt_version_ref) == ({"output": "Answer: Why – so?"}, "p@2")
    assert (await observed(python(ECHO), version=VERSION)).output["promptVersion"] == "p@2"
    with pytest.raises(BadInputError, match="does not receive the prompt version"):
        CommandTarget(python(ECHO, input="{{question}}"), 1).vet(VERSION)


async def test_a_program_that_fails_is_the_targets_error_with_what_it_said() -> None:
    code = await errored(shell("echo half; echo 'no luck' >&2; exit 3"))
    signal = await errored(shell("kill -9 $$"))
    assert code.reason.endswith("ended with code 3: no luck")
    assert signal.reason.endswith("was killed by signal 9")
    assert not code.fatal


async def cut_off(settings: CommandSettings, pid: Path, *, by_the_case: bool) -> tuple[Observed | TargetErrored, float]:
    """What comes of a program that does not end, and its limit: long enough that it wrote to `pid` first; what it started is dead."""
    for limit_s in (0.5, 5, 50):
        limit_ms, deadline_s = (int(limit_s * 1000), HANG_S) if by_the_case else (None, limit_s)
        found = await produced(settings, timeout_ms=limit_ms, deadline_s=deadline_s)
        if await anyio.Path(pid).exists():
            await is_gone(pid)
            await anyio.Path(pid).unlink()
            return found, limit_s
    raise AssertionError("the program never started")


async def test_beyond_the_limit_a_program_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    settings = shell(f"echo waiting >&2; sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")
    late, _ = await cut_off(settings, pid, by_the_case=True)
    lost, limit_s = await cut_off(settings, pid, by_the_case=False)
    assert isinstance(late, Observed)
    assert isinstance(lost, TargetErrored)
    assert (late.timed_out, late.output, late.stderr) == (True, {}, "waiting")
    assert lost.unanswered
    assert lost.reason.endswith(f"did not answer within {limit_s:g} s: waiting")


@linux
async def test_beyond_the_limit_a_daemon_that_left_its_program_is_killed_as_well(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    late, _ = await cut_off(python(f"{daemon(pid)}\ntime.sleep(600)"), pid, by_the_case=True)
    assert isinstance(late, Observed)
    assert late.timed_out


async def test_a_program_whose_caller_is_cancelled_is_killed_with_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: produced(shell(f"sleep 600 & echo $! > {pid}.new; mv {pid}.new {pid}; wait")))
            while not pid.exists():
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
    await is_gone(pid)


async def test_what_a_program_leaves_behind_is_killed_and_does_not_hold_its_answer_up(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    found = await observed(shell(f"sleep 600 & echo $! > {pid}; echo done"))
    assert found.output == {"output": "done"}
    await is_gone(pid)


async def test_a_program_that_writes_without_end_is_stopped() -> None:
    assert (await errored(shell("cat /dev/zero"))).reason.endswith(f"wrote more than {MOST_BYTES // 1_000_000} MB")


async def test_of_what_a_program_says_on_stderr_the_end_is_kept() -> None:
    found = await observed(python("import sys; sys.stderr.write('a' * 500_000 + 'end'); print('x')"))
    assert (len(found.stderr), found.stderr[-4:]) == (KEPT_OF_STDERR, "aend")


async def test_a_program_that_does_not_read_its_input_is_not_held_up() -> None:
    with anyio.fail_after(HANG_S):
        target = CommandTarget(shell("exec <&-; echo deaf"), HANG_S)
        found = await target.produce({"long": "x" * 1_000_000}, None, timeout_ms=None)
    assert isinstance(found, Observed)
    assert found.output == {"output": "deaf"}


async def test_a_file_that_cannot_be_run_is_a_fatal_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    found = await errored(CommandSettings(run=(str(broken),)))
    assert "cannot be started" in found.reason
    assert found.fatal


@pytest.mark.parametrize("target", ["command:", "command:'open", "command:no-such-program-anywhere x"])
def test_what_names_no_program_is_refused_before_anything_runs(target: str) -> None:
    with pytest.raises(BadInputError, match="target command"):
        CommandTarget(command_settings(target), 1)


def test_the_digest_is_that_of_the_settings() -> None:
    first, same, other = (
        CommandTarget(command_settings(f"command:{sys.executable} {name}"), wait).digest()
        for name, wait in (("a", 1), ("a", 2), ("b", 1))
    )
    assert first == same
    assert first != other
    assert os.sep in command_settings(f"command:{sys.executable} 'a b'").name
