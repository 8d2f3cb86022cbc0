"""Edited code is another version: the task's own, and whatever of the user's own code it reaches."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minions_evals_mcp.evaluation.code_version import source_of, whole_source

APP = """
import functools
import json
from NAME_helpers import PROMPT, clean as cleaned, Reply
import NAME_helpers as helpers

API_KEY = "sk-not-to-be-kept"
WORDS = ["a", "b"]
CALLS = []
TABLE = {}

def register(function):
    TABLE[function.__name__] = function
    return function

def retried(times):
    def wrap(function):
        @functools.wraps(function)
        def inner(*given):
            return [function(*given) for _ in range(times)][-1]
        return inner
    return wrap

@register
def listed(text):
    return text

TIMES = 2

@retried(TIMES)
def decorated(text):
    return text

def closed(prefix):
    def inner(text):
        return prefix + text
    return inner

add = closed("one ")

class Agent:
    def __init__(self, tool): self.tool = tool
    def ask(self, text): return self.tool(cleaned(text))

agent = Agent(tool=helpers.deep)

def unused():
    return 1

def answer(question, times=WORDS):
    CALLS.append(question)
    said = [add(question), decorated(question), agent.ask(question), TABLE["listed"](question), API_KEY]
    return json.dumps(Reply(PROMPT + str(said)).text)
"""
HELPERS = """
import re

PROMPT = "You are kind."
SPACES = re.compile(" +")

def clean(text):
    return SPACES.sub(" ", text)

def deeper(text):
    return text.upper() or deep(text)

def deep(text):
    return [deeper(one) for one in text]

class Base:
    def shown(self): return "shown"

class Reply(Base):
    def __init__(self, text): self.text = text

def unused(text):
    return text
"""
Loaded = Callable[[str, str], Any]


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loaded]:
    """The task of an app and its helpers, in modules of their own at each call."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []
    numbers = itertools.count()

    def load(app: str, helpers: str) -> Any:
        name = f"app_of_{tmp_path.name}_{next(numbers)}"
        names.extend((name, f"{name}_helpers"))
        (tmp_path / f"{name}.py").write_text(app.replace("NAME", name))
        (tmp_path / f"{name}_helpers.py").write_text(helpers)
        importlib.invalidate_caches()
        return importlib.import_module(name).answer

    yield load
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("text.upper()", "text.lower()"),
        ("You are kind.", "You are rude."),
        ('re.compile(" +")', 're.compile(" *")'),
        ('return "shown"', 'return "hidden"'),
        ('["a", "b"]', '["a", "c"]'),
        ("TIMES = 2", "TIMES = 3"),
        ("[-1]", "[0]"),
        ("return prefix + text", "return text + prefix"),
        ('closed("one ")', 'closed("two ")'),
        ("self.tool(cleaned(text))", "self.tool(text)"),
        ("helpers.deep)", "helpers.clean)"),
        ("def listed(text):\n    return text", "def listed(text):\n    return None"),
        ("sk-not-to-be-kept", "sk-another"),
    ],
)
def test_an_edit_of_what_the_task_reaches_is_another_version(loaded: Loaded, before: str, after: str) -> None:
    assert before in APP + HELPERS
    assert _told(loaded(APP, HELPERS)) != _told(loaded(APP.replace(before, after), HELPERS.replace(before, after)))


def test_neither_a_run_nor_what_is_not_reached_makes_another_version(loaded: Loaded) -> None:
    task = loaded(APP, HELPERS)
    before = whole_source(task)
    task("hello")
    assert whole_source(task) == before
    other = loaded(APP.replace("return 1", "return 2"), HELPERS.replace("def unused(text)", "def unused(text, _=0)"))
    assert _told(other) == _told(task)


def test_a_key_that_stands_in_the_code_is_told_by_its_digest_and_nothing_installed_is_told(loaded: Loaded) -> None:
    said = whole_source(loaded(APP, HELPERS))
    assert "sk-not-to-be-kept" not in said
    assert "def dumps" not in said


def test_a_task_that_reaches_nothing_is_its_own_source() -> None:
    assert whole_source(_alone) == source_of(_alone)


def test_a_counter_that_a_closure_changes_makes_no_other_version() -> None:
    task = _counting()
    before = whole_source(task)
    task("hello")
    assert whole_source(task) == before


CELLS = (
    "PROMPT = 'A'\nTABLE = {'a': 1}\ncalls = 0\nAPI_KEY = 'k1'",
    "def helper(q):\n    global calls\n    calls += 1\n    return PROMPT, TABLE, API_KEY",
    "def task(q):\n    return helper(q)",
)


def test_a_constant_that_a_later_cell_of_a_notebook_sets_is_another_version_and_a_counter_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notebook = ModuleType("__main__")
    cells: list[str] = []
    vars(notebook)["In"] = cells
    monkeypatch.setitem(sys.modules, "__main__", notebook)

    def version(*ran: str) -> str:
        for cell in ran:
            cells.append(cell)
            exec(compile(cell, f"<cell {len(cells)}>", "exec"), vars(notebook))  # noqa: S102  as a notebook does
        vars(notebook)["task"]("q")
        return whole_source(vars(notebook)["task"])

    first = version(*CELLS)
    assert version() == first
    assert version("PROMPT = 'B'") != first
    assert version("PROMPT = 'A'") == first
    assert version("TABLE = {'a': 2}") != first


def _told(task: object) -> str:
    """The source, without the name that the test gave the modules."""
    name = str(getattr(task, "__module__", ""))
    return whole_source(task).replace(name, "NAME")


def _alone(question: str) -> str:
    return question.upper()


def _counting() -> Callable[[str], str]:
    calls = 0

    def task(question: str) -> str:
        nonlocal calls
        calls += 1
        return question

    return task
