"""Agent Skills' evals.json, in the forms that stand in repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from minions_evals_mcp.errors import InvalidRecordError
from tests.shared.interop.log_parts import EVALS
from tests.shared.interop.makers import kept, read, samples, written


def test_prompts_are_cases_and_what_is_expected_is_judged_by_a_model(tmp_path: Path) -> None:
    log, _ = read(
        written(tmp_path / "evals.json", {"skill_name": "review", "evals": EVALS, "version": 2}), "skill-evals"
    )
    assert (log.task, log.extra) == ("review", {"skill_name": "review", "version": 2})
    cases, runs = kept(tmp_path / "evals.json")
    assert not runs
    assert [case.fields.inputs for case in cases] == [{"input": "Review the diff."}, {"input": "Fix it."}]
    assert [[(one.type, one.value) for one in case.fields.assertions] for case in cases] == [
        [("llm-rubric", "A list of faults."), ("llm-rubric", "Names the file")],
        [("llm-rubric", "The tests pass")],
    ]
    assert cases[0].fields.extra["files"] == ["a.py"]
    assert cases[1].fields.extra["should_trigger"] is False


def test_a_bare_list_goes_by_its_skills_folder(tmp_path: Path) -> None:
    folder = tmp_path / "takeover" / "evals"
    folder.mkdir(parents=True)
    listed = [{"id": "a", "prompt": "Start.", "expect": ["asks first"], "fail": ["starts at once"]}]
    log, _ = read(written(folder / "evals.json", listed), "skill-evals")
    assert log.task == "takeover"
    (case,), _ = kept(folder / "evals.json")
    assert [one.value for one in case.fields.assertions] == ["asks first"]
    assert case.fields.extra["fail"] == ["starts at once"]


def test_an_evaluation_without_a_prompt_and_a_cut_file_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "evals.json", {"evals": [EVALS[0], {"id": 3}]})
    with pytest.raises(InvalidRecordError, match=r"evals.json: evals.2: an evaluation has a prompt"):
        samples(path)
    path.write_text(path.read_text("utf-8")[:-10], "utf-8")
    with pytest.raises(InvalidRecordError, match=r"evals.json: no JSON: it is cut off"):
        samples(path)
