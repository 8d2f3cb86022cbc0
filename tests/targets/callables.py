"""Functions of a user's, as `--target python:tests.targets.callables:NAME` finds them."""

from __future__ import annotations

import threading
from collections.abc import Awaitable

import anyio
from pydantic import JsonValue

from minions_evals_mcp import Output, tool

Json = dict[str, JsonValue]
RELEASED = threading.Event()
A_NUMBER = 5


def echo(inputs: Json) -> str:
    return f"You asked: {inputs['question']}"


async def echo_later(inputs: Json) -> str:
    await anyio.lowlevel.checkpoint()
    return f"Later: {inputs['question']}"


def record(inputs: Json) -> Json:
    return {"answer": "yes", "asked": inputs, "nothing": None}


def raising(inputs: Json) -> str:
    raise KeyError(f"no answer to {len(inputs)} inputs")


async def raising_later(inputs: Json) -> str:
    raise TimeoutError("upstream")


def leaving(inputs: Json) -> str:
    raise SystemExit(3)


async def endless(inputs: Json) -> str:
    await anyio.sleep_forever()
    return ""


def stuck(inputs: Json) -> str:
    """Returns when it is released."""
    RELEASED.wait()
    return "too late"


async def stubborn(inputs: Json) -> str:
    """Answers although it was told to stop."""
    try:
        await anyio.sleep_forever()
    except BaseException:  # noqa: BLE001 - the bad manners that are tested
        return "done all the same"
    return ""


class Caller:
    """A callable object whose call is a coroutine."""

    async def __call__(self, inputs: Json) -> str:
        await anyio.lowlevel.checkpoint()
        return f"Object: {inputs['question']}"


caller = Caller()


def wrapped(inputs: Json) -> Awaitable[str]:
    return echo_later(inputs)


MEETING = 50


class Meeting:
    """Waits until so many calls of it are under way at once, and counts how many there were at the most."""

    def __init__(self) -> None:
        self.most = 0
        self._there = 0
        self._all_there = threading.Barrier(MEETING)
        self._counting = threading.Lock()

    def __call__(self, question: str) -> str:
        with self._counting:
            self._there += 1
            self.most = max(self.most, self._there)
        self._all_there.wait()
        with self._counting:
            self._there -= 1
        return f"Met: {question}"


meeting = Meeting()


def number(inputs: Json) -> int:
    return 4


def nothing(inputs: Json) -> None:
    return None


def a_list(inputs: Json) -> list[str]:
    return ["a"]


def an_object(inputs: Json) -> dict[str, object]:
    return {"at": Caller()}


def not_a_number(inputs: Json) -> dict[str, float]:
    return {"score": float("nan")}


def no_unicode(inputs: Json) -> str:
    return "\ud800"


def by_name(question: str) -> str:
    return f"By name: {question}"


def both(question: str, tone: str) -> str:
    return f"{question}, {tone}"


def asked_all(inputs: Json) -> str:
    return f"All: {inputs['inputs'] if 'inputs' in inputs else inputs['input']}"


def asked_any(*asked: Json) -> str:
    return f"{len(asked)} argument"


@tool
def look_up(n: int) -> str:
    return {2: "two"}[n]


def with_tools(n: int) -> Output:
    return Output(look_up(n), usage={"input_tokens": 3}, cost_usd=0.5)
