"""Whether a tool log shows that a skill was taken up."""

from __future__ import annotations

import pytest

from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.scoring.assertions.trajectories.skill_use import uses_skill


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Skill", {"skill": "pdf"}),
        ("Skill", {"command": "office:pdf"}),
        ("activate_skill", {"name": "PDF"}),
        ("Read", {"file_path": "/w/.claude/skills/pdf/SKILL.md"}),
        ("bash", {"command": "cat .agents/skills/pdf/SKILL.md | head"}),
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
    ],
)
def test_it_is_not_taken_up(tool: str, arguments: Json) -> None:
    assert not uses_skill([ToolCall(tool=tool, arguments=arguments)], "pdf")
