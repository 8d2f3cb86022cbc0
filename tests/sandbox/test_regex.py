"""The regex sandbox: answers, limits, deaths."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import anyio
import pytest

from minions_evals_mcp.sandbox import regex_worker
from minions_evals_mcp.sandbox.regex import RegexSandbox, worker_command
from minions_evals_mcp.scoring.checks import RegexNeed, Unmet
from tests.hang import HANG_S

pytestmark = pytest.mark.anyio

CATASTROPHE = RegexNeed(r"^(?=(a+)+$)(?:a+)+\1$|(?!x)(?:a|aa)+!$", "a" * 5_000 + "b")
DOUBLED = RegexNeed(r"(\w)\1", "hello")
SINGLE = RegexNeed(r"(\w)\1", "helo")
READY_THEN = "import sys; print('ready', flush=True); sys.stdin.readline(); "


def worker(code: str) -> tuple[str, ...]:
    """A worker that is not ours: it says that it is ready, reads one request, then does what the code says."""
    return (sys.executable, "-I", "-c", READY_THEN + code)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_back_references_and_look_around_are_found_or_not() -> None:
    async with RegexSandbox() as sandbox:
        password = RegexNeed(r"^(?=.*\d)(?=.*[a-z]).{4,}$", "abc1")
        found = await sandbox.search([DOUBLED, SINGLE, DOUBLED, password])
    assert found == {DOUBLED: True, SINGLE: False, password: True}


async def test_a_catastrophic_pattern_ends_at_the_time_limit_and_the_worker_lives_on() -> None:
    async with RegexSandbox(seconds=0.1) as sandbox:
        with anyio.fail_after(HANG_S):
            found = await sandbox.search([CATASTROPHE, DOUBLED])
    assert found == {CATASTROPHE: Unmet("time limit of 0.1 s"), DOUBLED: True}


async def test_a_search_that_does_not_stop_is_killed_and_the_next_one_gets_a_new_worker() -> None:
    async with RegexSandbox(seconds=60, kill_after_seconds=0.2) as sandbox:
        with anyio.fail_after(HANG_S):
            found = await sandbox.search([CATASTROPHE])
            again = await sandbox.search([CATASTROPHE])
    assert found == again == {CATASTROPHE: Unmet("time limit of 0.2 s")}


async def test_a_bad_pattern_is_unmet_with_its_reason() -> None:
    bad = RegexNeed("(?=a", "a")
    async with RegexSandbox() as sandbox:
        found = (await sandbox.search([bad]))[bad]
    assert isinstance(found, Unmet)
    assert found.reason.startswith("bad pattern: missing )")


@pytest.mark.parametrize("pattern", ["(?=a)(?:foo){e<=2}", "(a)\\1{1<=e<=2}", "\\{2}{e}", "(?=x)y{i,d}"])
async def test_no_pattern_is_searched_approximately(pattern: str) -> None:
    need = RegexNeed(pattern, "far too long to be gone over with errors " * 50)
    async with RegexSandbox() as sandbox:
        found = await sandbox.search([need])
    assert found == {need: Unmet("bad pattern: approximate matching is not supported")}


async def test_escaped_braces_and_counts_are_searched_as_they_stand() -> None:
    need = RegexNeed(r"(?=a)a{2,}\{e<=1\}", "aa{e<=1}")
    async with RegexSandbox() as sandbox:
        assert await sandbox.search([need]) == {need: True}


async def test_lone_surrogates_and_line_ends_reach_the_worker_whole() -> None:
    need = RegexNeed("^\ud800\n(?=é)", "\ud800\né")
    async with RegexSandbox() as sandbox:
        assert await sandbox.search([need]) == {need: True}


@pytest.mark.parametrize(
    "code",
    ["sys.exit(1)", "print('nonsense', flush=True)", "print('[]', flush=True)", "print('x' * 20_000, flush=True)"],
)
async def test_a_worker_that_dies_or_talks_nonsense_costs_the_need_and_not_the_caller(code: str) -> None:
    async with RegexSandbox(command=worker(code)) as sandbox:
        with anyio.fail_after(HANG_S):
            assert await sandbox.search([DOUBLED]) == {DOUBLED: Unmet("the search process died")}


async def test_a_worker_that_was_killed_between_two_needs_is_replaced() -> None:
    code = "print('{\"hit\": true}', flush=True)"
    async with RegexSandbox(command=worker(code)) as sandbox:
        with anyio.fail_after(HANG_S):
            first = await sandbox.search([DOUBLED])
            second = await sandbox.search([DOUBLED])
            third = await sandbox.search([DOUBLED])
    assert (first, third) == ({DOUBLED: True}, {DOUBLED: True})
    assert second == {DOUBLED: Unmet("the search process died")}


@pytest.mark.parametrize(
    "command", [("/no/such/program",), (sys.executable, "-I", "-c", "import sys; sys.stdin.read()")]
)
async def test_a_worker_that_does_not_start_is_no_hang(command: tuple[str, ...]) -> None:
    async with RegexSandbox(command=command, start_seconds=0.1) as sandbox:
        with anyio.fail_after(HANG_S):
            assert await sandbox.search([DOUBLED]) == {DOUBLED: Unmet("the search process died")}


async def test_a_cancelled_search_leaves_no_answer_behind_for_the_next_one() -> None:
    async with RegexSandbox(seconds=30, kill_after_seconds=30) as sandbox:
        assert await sandbox.search([SINGLE]) == {SINGLE: False}
        with anyio.move_on_after(0.1) as scope:
            await sandbox.search([CATASTROPHE])
        assert scope.cancelled_caught
        with anyio.fail_after(HANG_S):
            assert await sandbox.search([DOUBLED]) == {DOUBLED: True}


async def test_concurrent_searches_each_get_their_own_answers() -> None:
    needs = [RegexNeed(r"(\w)\1", "x" * (index % 2 + 1) + str(index)) for index in range(20)]
    found: dict[RegexNeed, bool | Unmet] = {}

    async def search(need: RegexNeed) -> None:
        found.update(await sandbox.search([need]))

    async with RegexSandbox() as sandbox, anyio.create_task_group() as tasks:
        for need in needs:
            tasks.start_soon(search, need)
    assert found == {need: need.text.startswith("xx") or need.text[-2:] == "11" for need in needs}


async def test_no_process_is_started_without_a_need() -> None:
    async with RegexSandbox(command=("/no/such/program",)) as sandbox:
        assert await sandbox.search([]) == {}


def test_the_worker_sees_no_environment_and_runs_from_any_folder() -> None:
    request = json.dumps({"pattern": r"(\w)\1", "text": "hello", "seconds": 1})
    done = subprocess.run(
        worker_command(),
        input=request + "\n",
        capture_output=True,
        text=True,
        env={},
        cwd="/",
        check=True,
        timeout=HANG_S,
    )
    assert done.stdout.splitlines() == ["ready", '{"hit": true}']


def test_the_worker_answers_each_line_until_there_are_no_more() -> None:
    requests = [{"pattern": "(?<=a)b", "text": "ab"}, {"pattern": r"\d", "text": "٣"}, {"pattern": "(", "text": ""}]
    answers = io.StringIO()
    regex_worker.serve(io.StringIO("".join(json.dumps(one | {"seconds": 1}) + "\n" for one in requests)), answers)
    ready, first, second, third = answers.getvalue().splitlines()
    assert (ready, json.loads(first), json.loads(second)) == ("ready", {"hit": True}, {"hit": False})
    assert json.loads(third)["unmet"].startswith("bad pattern")


def test_the_worker_stops_a_search_at_its_limit() -> None:
    request = json.dumps({"pattern": CATASTROPHE.pattern, "text": CATASTROPHE.text, "seconds": 0.05})
    assert json.loads(regex_worker.answer(request)) == {"unmet": "time limit of 0.05 s"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cap a process's memory otherwise or not at all")
def test_the_workers_memory_is_capped() -> None:
    code = f"import resource; from {regex_worker.__name__} import limit_memory; limit_memory(); "
    code += "print(resource.getrlimit(resource.RLIMIT_AS)[0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=HANG_S)
    assert int(done.stdout) == regex_worker.MEMORY_LIMIT
