"""Whether a tool log shows that a skill was taken up."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.assertions.table import check
from minions_evals_mcp.scoring.checks import Checked, Subject, Unchecked
from minions_evals_mcp.scoring.skill_use import uses_skill


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Skill", {"skill": "pdf"}),
        ("Skill", {"command": "office:pdf"}),
        ("activate_skill", {"name": "PDF"}),
        ("Read", {"file_path": "/w/.claude/skills/pdf/SKILL.md"}),
        ("bash", {"command": "cat .agents/skills/pdf/SKILL.md | head"}),
        ("Read", {"file_path": "C:\\w\\skills\\pdf\\SKILL.md"}),
        ("bash", {"command": "cat 'skills/docx/SKILL.md' \"skills/pdf/SKILL.md\""}),
        ("pdf", {}),
        ("mcp:pdf", {}),
    ],
)
def test_it_is_taken_up(tool: str, arguments: Json) -> None:
    assert uses_skill(
        [ToolCall(tool="Read", arguments={"file_path": "a.txt"}), ToolCall(tool=tool, arguments=arguments)], "pdf"
    )


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Skill", {"skill": "pdf-forms"}),
        ("Skill", {"skill": "docx"}),
        ("Read", {"file_path": "report.pdf"}),
        ("Read", {"file_path": "skills/docx/SKILL.md"}),
        ("Read", {"file_path": "skills/my-pdf-tool/SKILL.md"}),
        ("pdf_reader", {"skill": "pdf"}),
        ("Read", {"file_path": "skills/bulk-pdf/SKILL.md"}),
        ("Read", {"file_path": "skills/pdf/reference.md"}),
        ("bash", {"command": "echo pdf"}),
    ],
)
def test_it_is_not_taken_up(tool: str, arguments: Json) -> None:
    assert not uses_skill([ToolCall(tool=tool, arguments=arguments)], "pdf")


def call(tool: str, **arguments: str) -> ToolCall:
    return ToolCall(tool=tool, arguments={**arguments})


USED = (call("Skill", skill="powers:always"), call("Bash", command="ls"), call("Skill", skill="shop:refunds"))
FAILED = ToolCall(tool="Skill", arguments={"skill": "refunds"}, error="Unknown skill: refunds")


@pytest.mark.parametrize(
    ("value", "calls", "passes"),
    [
        ("refunds", USED, True),
        ("shop:refunds", USED, True),
        (["refunds", "always"], USED, True),
        ("shop", USED, False),
        ({"name": "refunds", "max": 1}, USED, True),
        ({"pattern": "shop:*"}, USED, True),
        ("refunds", (call("Read", file_path="skills/refunds/SKILL.md"),), True),
        ("refunds", (call("Read", file_path="skills/no-refunds/SKILL.md"),), False),
        ("refunds", (FAILED,), False),
        ("refunds", (), False),
    ],
)
def test_the_log_of_tool_calls_says_which_skill_was_used_where_no_provider_does(
    value: JsonValue, calls: tuple[ToolCall, ...], *, passes: bool
) -> None:
    """Other skills and tools come first in real logs, and a plugin's name stands before its skill's."""
    found = check(Assertion(type="skill-used", value=value), Subject("x", tool_calls=calls))
    assert isinstance(found, Checked), found
    assert found.passed == passes


def test_without_a_log_nobody_knows_which_skill_was_used() -> None:
    assert isinstance(check(Assertion(type="not-skill-used", value="refunds"), Subject("x")), Unchecked)
