"""The commands that commands name are typed, as a person types them: each is taken as it stands.

From a handful of commands on, every command that an output or an error names whole is typed in turn, until no new one is named.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from minions_evals_mcp import Case, evaluate
from minions_evals_mcp.cli.commands import COMMANDS
from tests.cli.suites import judged_suite, record, two_versions
from tests.shared.cli.terminal import Ended, Terminal

MOST = 60
"""So many commands at the most."""
FEWEST = 8
"""So many different commands are named at the least."""
TYPED = re.compile(
    r"`minions-evals ([^`\n]+)`|\(minions-evals ([^`()\n]+)\)"
    r"|^[ A-Za-z-]*: minions-evals ([^`\n;,]+?)(?=[.]?$)|^ *minions-evals ([^`\n;,]+?)(?=[.]?$)",
    re.MULTILINE,
)
OPEN = re.compile(r"\b[A-Z]{2,}|…|\.\.\.")
"""A word that whoever types fills in: `RUN`, `YOUR-NAME`."""
STAYS = frozenset({"view", "live", "watch", "judge", "mcp", "demo", "init", "world serve", "doctor"})
"""Commands that wait for somebody, or that are about the machine and no store."""
BAD_INPUT = 2
WORLD = ("hard rule", "HR", "person", "key", "API_KEY", "model", "token")
"""Words of refusals that are about the world, not the form: no key, no person, a hard rule."""
STARTS = """
run-benchmark b --prompt-version v1 | run-benchmark b --prompt-version v2 --fail-on-regression | run-benchmark b --prompt-version v3
run-benchmark nobody | run-benchmark | run-benchmark bb --judge human | run-benchmark b --target anthropic:m | run-benchmark bb --judge llm
run-test-case c1 | run-test-case c1 --agent-run gone | runs nobody | runs | compare b --from v1 --to v2 | compare b | compare latest latest
approve v2 --by ada | approve v9 --by ada | audit b | trend b | plan b | calibrate b | classify latest | promote latest | label b
agreement b | accept latest | diff latest | show gone | cases p | versions gone | branches c1 | seal | prompt use v1 --by ada
world show latest | conversations latest | delete gone
"""


def named_in(ended: Ended) -> Iterator[str]:
    """The commands that an output or error names whole."""
    for match in TYPED.finditer(f"{ended.out}\n{ended.err}"):
        line = next(filter(None, match.groups()))
        if line.split(" ")[0] not in STAYS and not OPEN.search(line):
            yield line


DECIDING = """
run-benchmark b --prompt-version v1 | plan b | trend b | run-benchmark b --prompt-version v2 | plan b | plan b --effect 0.9 | trend b
what-changed b | compare b | audit b | try-version b v2
run-benchmark b --prompt-version v1 | what-changed b
"""
"""Commands whose answer decides what is done next."""


def test_every_answer_that_decides_something_names_the_command_that_follows(at: Terminal) -> None:
    records = two_versions([0], range(10))
    records["relations"] = [{"sourceId": "v2", "targetId": "v1", "type": "follows"}]
    assert at.run("import", at.file("s.json", records)).code == 0
    for line in filter(None, re.split(r" \| |\n", DECIDING)):
        ended = at.run(*shlex.split(line))
        assert ended.code == 0, (line, ended)
        assert "Next: minions-evals " in ended.out, (line, ended.out)


AGENT = """
def answer(question):
    return {known}
"""
WITH_AN_AGENT = """
run-benchmark t | run-benchmark t --target python:old_agent:answer | trend t | run-benchmark t --target python:new_agent:answer
compare t | trend t | calibrate t | run-test-case t1 | audit t | run-benchmark t | classify latest | plan t
run-benchmark t --target python:old_agent.py:answer
"""
"""A first hour with cases of which no output is recorded: the target of the runs makes them."""


def test_every_command_that_an_output_names_is_taken(at: Terminal) -> None:
    judged = json.loads(json.dumps(judged_suite()).replace('"b"', '"bb"').replace('"c"', '"cc"').replace('"a"', '"aa"'))
    at.file("s.json", two_versions([0], range(1, 10), description="Colours."))
    at.file("j.json", judged)
    at.file(
        "p.json",
        {
            "minions": [
                record("x", "test-case", name="x", promptId="p", inputs={"q": "x"}, expectedOutputs={"output": "y"})
            ]
        },
    )
    for file in ("s.json", "j.json", "p.json"):
        assert at.run("import", file).code == 0
    named, refused = typed_in_turn(at, STARTS)
    assert not refused, "\n".join(refused)
    assert len(named) >= FEWEST, sorted(named)
    assert named <= {*COMMANDS, "prompt", "people", "data", "db", "world", "suite"}


def test_every_command_named_to_somebody_whose_agent_makes_the_outputs_is_taken(at: Terminal) -> None:
    cases = [
        record(f"t{n}", "test-case", name=f"Question {n}", inputs={"question": f"q{n}"}, expectedOutputs={"output": f"a{n}"})
        for n in range(6)
    ]  # fmt: skip
    at.file(
        "t.json", {"records": [*cases, record("t", "benchmark", name="T", testCaseIds=[f"t{n}" for n in range(6)])]}
    )
    for name, known in (
        ("old_agent", "question.replace('q', 'a')"),
        ("new_agent", "'a' + str(min(3, int(question[1:])))"),
    ):
        (at.folder / f"{name}.py").write_text(AGENT.format(known=known), "utf-8")
    assert at.run("import", "t.json").code == 0
    named, refused = typed_in_turn(at, WITH_AN_AGENT)
    assert not refused, "\n".join(refused)
    assert {"run-benchmark", "diff", "audit"} <= named


def test_every_command_named_to_somebody_whose_program_makes_the_outputs_is_taken(at: Terminal) -> None:
    cases = [Case(word, expected=word.upper(), id=f"s{word}") for word in "abc"]
    evaluate(str.upper, cases, checks=["equals"], name="s", store=at.db, progress=False)
    named, refused = typed_in_turn(at, "trend s | audit s | runs | run-benchmark s")
    assert not refused, "\n".join(refused)
    assert "run-benchmark" not in named, "no command has that program make the outputs"


def typed_in_turn(at: Terminal, begun: str) -> tuple[set[str], list[str]]:
    """The commands that those and the ones that they name have named, and which of those were refused."""
    waiting = [line.strip() for row in begun.strip().split("\n") for line in row.split("|")]
    starts, named, refused = len(waiting), set[str](), list[str]()
    for place in range(starts + MOST):
        if place >= len(waiting):
            break
        ended = at.run(*shlex.split(waiting[place]))
        if place >= starts and ended.code == BAD_INPUT and not any(word in ended.err for word in WORLD):
            refused.append(f"{waiting[place]}: {ended.err.strip()}")
        for line in named_in(ended):
            named.add(line.split(" ")[0])
            if line not in waiting[starts:]:
                waiting.append(line)
    return named, refused
