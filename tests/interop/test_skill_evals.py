"""Agent Skills' evals as they stand in their convention, which has no schema: the shapes that are found in public."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.skill_evals import SkillEvals, read_evals, skill_name


def read(folder: Path, told: JsonValue) -> SkillEvals:
    path = folder / "evals.json"
    path.write_text(json.dumps(told), "utf-8")
    return read_evals(path)


def test_the_shape_of_the_guide_is_read_whole(tmp_path: Path) -> None:
    told: JsonValue = {
        "skill_name": "csv",
        "evals": [
            {"id": 1, "prompt": "Top months?", "expected_output": "Three months.", "files": ["evals/files/a.csv"],
             "assertions": ["Names three months", "Both axes are labelled"]},
            {"id": 2, "prompt": "Hi", "should_trigger": False, "expected_output": "A greeting.", "category": "small talk"},
        ],
    }  # fmt: skip
    found = read(tmp_path, told)
    assert found.skill == "csv"
    first, second = found.evals
    assert (first.id, first.files, first.expected_output) == ("1", ("evals/files/a.csv",), "Three months.")
    assert first.statements == ("Names three months", "Both axes are labelled")
    assert (first.should_trigger, second.should_trigger) == (None, False)
    assert second.extra == {"category": "small talk"}


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("Has a total", "Has a total"),
        ({"text": "Has a total"}, "Has a total"),
        ({"name": "total", "description": "Has a total"}, "Has a total"),
        ({"name": "total", "check": "Has a total"}, "Has a total"),
    ],
)
def test_a_statement_is_read_by_whatever_name_it_says_it(tmp_path: Path, statement: JsonValue, said: str) -> None:
    for key in ("assertions", "expectations", "expect", "must_have"):
        found = read(tmp_path, [{"id": "a", "prompt": "p", key: [statement]}])
        assert found.evals[0].statements == (said,)


def test_what_must_not_be_is_turned_round(tmp_path: Path) -> None:
    found = read(tmp_path, [{"prompt": "p", "must_not_have": ["a macro"], "fail": ["crashes"]}])
    assert [text.rpartition(": ")[2] for text in found.evals[0].statements] == ["a macro", "crashes"]
    assert all("does not do or say" in text for text in found.evals[0].statements)


def test_a_check_by_rule_stays_one(tmp_path: Path) -> None:
    rule: JsonValue = {"type": "icontains", "value": "total"}
    found = read(tmp_path, [{"prompt": "p", "assertions": [rule, "Is polite"]}]).evals[0]
    assert (found.assertions, found.statements) == ((rule,), ("Is polite",))


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"evals": []}, "evals"),
        ({"skill_name": "x"}, "evals"),
        ("text", "evals"),
        ([{"id": 1}], "prompt"),
        ([{"prompt": "  "}], "prompt"),
        ([{"prompt": "p", "id": 1}, {"prompt": "q", "id": "1"}], "duplicate id '1'"),
        ([{"prompt": "p", "files": "a.csv"}], "files"),
        ([{"prompt": "p", "assertions": "has a total"}], "assertions"),
        ([{"prompt": "p", "assertions": [{"weight": 2}]}], "statement"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, told: JsonValue, named: str) -> None:
    with pytest.raises(InvalidRecordError, match=named) as refused:
        read(tmp_path, told)
    assert "evals.json" in str(refused.value)


def test_a_skill_is_known_by_its_front_matter(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: csv-analyzer\ndescription: d\n---\n# CSV\n", "utf-8")
    assert skill_name(tmp_path) == "csv-analyzer"


@pytest.mark.parametrize(
    "text", ["# no front matter\n", "---\nname: x\n", "---\nname: [\n---\n", "---\ndescription: d\n---\n"]
)
def test_a_folder_that_is_no_skill_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "SKILL.md").write_text(text, "utf-8")
    with pytest.raises(BadInputError, match=r"SKILL\.md"):
        skill_name(tmp_path)


@pytest.mark.parametrize("depth", [200, 20_000])
def test_front_matter_that_is_nested_too_deeply_is_refused_by_name(tmp_path: Path, depth: int) -> None:
    """A stranger's skill ended in a RecursionError, and the command in a crash."""
    (tmp_path / "SKILL.md").write_text(f"---\nname: deep\nx: {'[' * depth}{']' * depth}\n---\nhi\n")
    with pytest.raises(InvalidRecordError, match="nest"):
        skill_name(tmp_path)
