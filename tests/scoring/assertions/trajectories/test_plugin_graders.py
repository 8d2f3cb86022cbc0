"""The rules of `claude plugin eval`: each by hand as documented, and against an independent reading over random runs."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.scoring.assertions.trajectories.plugin_graders import (
    KEYS,
    grader_needs,
    plugin_grader,
    vet_grader,
)
from minions_evals_mcp.scoring.checks import NO_EVIDENCE, Subject, Unmet

Json = dict[str, Any]
CALLS = (
    ToolCall(tool="Read", arguments={"file_path": "a.md"}, result="text of a"),
    ToolCall(tool="Skill", arguments={"skill": "units:map", "n": 1}),
    ToolCall(tool="Bash", arguments={"command": "ls -la"}, result="out.txt"),
    ToolCall(tool="Bash", arguments={"command": "glab mr note 1"}),
)
FILES: Json = {"out.txt": "made 7 [km]\nsecond line", "notes/a.md": "Title", "x.bin": {"bytes": 3}}
ANSWER = "The sum is 7 [km].\nDone, done."


def subject(answer: str = ANSWER, files: Json | None = FILES, calls: tuple[ToolCall, ...] | None = CALLS) -> Subject:
    """An output as a lift keeps it."""
    value: Any = {"answer": answer, "files": files} if files is not None else None
    return Subject(answer if value is None else json.dumps(value), value=value, tool_calls=calls)


def passes(grader: Json, of: Subject) -> bool | Unmet:
    assertion = Assertion.model_validate({"type": "plugin-grader", "value": grader})
    vet_grader(assertion)
    assert grader_needs(assertion, of) == (), "a pattern of these tests needs no other engine"
    result = plugin_grader(assertion, of, NO_EVIDENCE)
    return result if isinstance(result, Unmet) else result.passed


def regex(pattern: str, **more: Any) -> Json:
    return {"type": "regex", "pattern": pattern, **more}


def used(tool: str, **more: Any) -> Json:
    return {"type": "tool_used", "tool": tool, **more}


def order(before: Any, after: Any) -> Json:
    return {"type": "tool_order", "before": before, "after": after}


def exists(path: str, **more: Any) -> Json:
    return {"type": "file_exists", "path": path, **more}


DOCUMENTED: list[tuple[Json, bool]] = [
    (regex(r"\[km\]"), True),
    (regex(r"made 7"), False),  # it stands in a file only
    (regex(r"text of a"), False),
    (regex(r"DONE", flags="i"), True),
    (regex(r"DONE"), False),
    (regex(r"^Done", flags="m"), True),
    (regex(r"^Done"), False),
    (regex(r"km\]\..Done", flags="s"), True),
    (regex(r"km\]\..Done"), False),
    (regex(r"\[mi\]", match="not_contains"), True),
    (regex(r"\[km\]", match="not_contains"), False),
    (regex(r"done", flags="gi", match="count:2"), True),
    (regex(r"done", flags="gi", match="count:1"), False),
    (regex(r"zzz", match="count:0"), True),
    (regex(r"text of a", target="trace"), True),
    (regex(r"glab mr", target="trace"), True),
    (regex(r"The sum", target="trace"), True),
    (regex(r"made 7", target="files"), True),
    (regex(r"The sum", target="files"), False),
    (regex(r"Title", target={"source": "file", "path": "notes/a.md"}), True),
    (regex(r"made", target={"source": "file", "path": "notes/a.md"}), False),
    (regex(r"made", target={"source": "file", "path": "gone.md"}), False),
    (regex(r"\S", target={"source": "file", "path": "gone.md"}, match="not_contains"), True),
    (used("Skill"), True),
    (used("Write"), False),
    (used("Write", min=0, max=0), True),
    (used("Write", max=0), True),
    (used("Bash", max=0), False),
    (used("Bash", min=2), True),
    (used("Bash", min=3), False),
    (used("Bash", max=1), False),
    (used("Bash", min=1, max=2), True),
    (used("Skill", input_match=r'"skill"\s*:\s*"(?:[\w-]+:)?map"'), True),
    (used("Skill", input_match=r'"skill"\s*:\s*"(?:[\w-]+:)?mapper"'), False),
    (used("Skill", input_match=r'"skill":"units:map","n":1'), True),
    (used("Bash", input_match=r"glab", max=0), False),
    (used("Bash", input_match=r"rm -rf", max=0), True),
    (used("skill"), False),
    (order("Read", "Skill"), True),
    (order("Skill", "Read"), False),
    (order("Skill", "Write"), False),
    (order("Write", "Skill"), False),
    (order({"tool": "Read"}, {"tool": "Bash"}), True),
    (order({"tool": "Bash", "input_match": "glab"}, "Skill"), False),
    (order("Skill", {"tool": "Bash", "input_match": "glab"}), True),
    (exists("out.txt"), True),
    (exists("./out.txt"), True),
    (exists("*.txt"), True),
    (exists("**/*.md"), True),
    (exists("**/out.txt"), True),
    (exists("x.bin"), True),
    (exists("none.txt"), False),
    (exists("none.txt", exists=False), True),
    (exists("out.txt", exists=False), False),
]


@pytest.mark.parametrize("grader", [json.dumps(grader) for grader, _ in DOCUMENTED])
def test_each_rule_is_the_documented_one(grader: str) -> None:
    wanted = next(passed for known, passed in DOCUMENTED if json.dumps(known) == grader)
    assert passes(json.loads(grader), subject()) is wanted


@pytest.mark.parametrize("grader", [regex("zzz"), exists("out.txt", exists=False)])
def test_an_output_without_files_is_an_answer_alone(grader: Json) -> None:
    assert passes(grader, subject(files=None)) is (grader["type"] == "file_exists")
    assert passes(regex("sum"), subject(files=None)) is True


@pytest.mark.parametrize("grader", [used("Skill"), order("A", "B"), regex("x", target="trace")])
def test_without_a_log_there_is_no_verdict(grader: Json) -> None:
    found = passes(grader, subject(calls=None))
    assert isinstance(found, Unmet)
    assert found.not_judgeable


def _naive(grader: Json, answer: str, files: dict[str, str], calls: list[tuple[str, str]]) -> bool:
    """The documented meaning in a few lines, without our code."""
    match grader["type"]:
        case "regex":
            texts = [answer] if grader["target"] == "last_message" else [*files.values()]
            hit = any(re.search(grader["pattern"], text) for text in texts)
            return hit is (grader["match"] == "contains")
        case "tool_used":
            fitting = [tool for tool, given in calls if tool == grader["tool"] and grader["input_match"] in given]
            return grader["min"] <= len(fitting) <= grader["max"]
        case "tool_order":
            names = [tool for tool, _ in calls]
            both = grader["before"] in names and grader["after"] in names
            return both and names.index(grader["before"]) < names.index(grader["after"])
        case _:
            return (grader["path"] in files) is grader["exists"]


@pytest.mark.parametrize("seed", range(60))
def test_random_runs_are_graded_as_the_documents_say(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  a test's own draws
    words, tools, names = ["red", "green", "blue"], ["Read", "Write", "Skill"], ["a.txt", "b.md", "c/d.txt"]
    answer = " ".join(draw.choices(words, k=2))
    files = {name: " ".join(draw.choices(words, k=2)) for name in draw.sample(names, draw.randint(0, 2))}
    calls = [(draw.choice(tools), draw.choice(words)) for _ in range(draw.randint(0, 5))]
    logged = tuple(ToolCall(tool=tool, arguments={"x": given}) for tool, given in calls)
    least = draw.randint(0, 2)
    first, second = draw.sample(tools, 2)
    graders: list[Json] = [
        {"type": "regex", "pattern": draw.choice(words), "target": draw.choice(["last_message", "files"]),
         "match": draw.choice(["contains", "not_contains"])},
        {"type": "tool_used", "tool": draw.choice(tools), "input_match": draw.choice(words), "min": least,
         "max": least + draw.randint(0, 2)},
        {"type": "tool_order", "before": first, "after": second},
        {"type": "file_exists", "path": draw.choice(names), "exists": draw.random() < 0.5},
    ]  # fmt: skip
    for grader in graders:
        of = subject(answer, dict(files) or None, logged)
        assert passes(grader, of) is _naive(grader, answer, files, calls), grader


@pytest.mark.parametrize(
    ("grader", "said"),
    [
        ({"type": "llm"}, "value.type: must be one of regex"),
        ({"pattern": "x"}, "value.type"),
        ({"type": "regex"}, "value.pattern: is missing"),
        ({"type": "regex", "pattern": "["}, "pattern"),
        ({"type": "regex", "pattern": "x", "flags": "y"}, "value.flags: the flag 'y'"),
        ({"type": "regex", "pattern": "x", "target": "mock_calls"}, "value.target"),
        ({"type": "regex", "pattern": "x", "match": "count:many"}, "value.match"),
        ({"type": "regex", "pattern": "x", "paht": "a"}, "value.paht: regex has no such key"),
        ({"type": "tool_used"}, "value.tool: is missing"),
        ({"type": "tool_used", "tool": "A", "min": -1}, "value.min"),
        ({"type": "tool_used", "tool": "A", "input_match": "("}, "pattern"),
        ({"type": "tool_order", "before": "A"}, "value.after: is missing"),
        ({"type": "file_exists"}, "value.path: is missing"),
    ],
)
def test_a_grader_that_says_something_else_is_refused_by_name(grader: Json, said: str) -> None:
    with pytest.raises(InvalidRecordError) as refused:
        vet_grader(Assertion.model_validate({"type": "plugin-grader", "value": grader}))
    assert said in str(refused.value)


def test_every_rule_is_tried() -> None:
    assert {grader["type"] for grader, _ in DOCUMENTED} == KEYS.keys()
