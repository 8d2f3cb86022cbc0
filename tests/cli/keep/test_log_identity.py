"""What an imported file is: known by its contents. The same changes nothing, new contents come in, later scores are added."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.log_parts import DEEPEVAL, TAU, TRACE, observation
from tests.shared.interop.makers import Json, inspect_sample, written
from tests.shared.interop.whole_files import RUN, WHOLE

SCORE: Json = {"id": "s", "name": "human", "value": 1, "dataType": "NUMERIC", "traceId": "t1"}
FEEDBACK: Json = {"assessment_name": "later", "feedback": {"value": True}, "source": {"source_type": "CODE"}}


def turned(told: Any, before: str, after: str) -> Any:
    """The document with another text wherever that one stands."""
    if isinstance(told, dict):
        return {key: turned(part, before, after) for key, part in cast("Json", told).items()}
    if isinstance(told, list):
        return [turned(part, before, after) for part in cast("list[Any]", told)]
    return after if told == before else told


OVERWRITTEN: dict[str, tuple[str, Any, Any]] = {
    "deepeval": (".latest_run_full.json", DEEPEVAL, turned(DEEPEVAL, "Hello", "Bye")),
    "tau-bench": ("results.json", [TAU], [{**TAU, "reward": 0.0, "traj": [*TAU["traj"], {"role": "user", "content": "Bye"}]}]),
    "langfuse": ("traces.jsonl", [observation("o1", input="Q", output="A")], [observation("o1", input="Q", output="B")]),
    "mlflow": ("traces.json", [TRACE], turned([TRACE], '"A1"', '"B1"')),
    "langsmith": ("runs.jsonl", [RUN], [{**RUN, "outputs": {"answer": "B"}}]),
}  # fmt: skip
"""Of formats whose logs go by their file's name: a file, what it holds, and what its tool writes over it."""
LATER: dict[str, tuple[str, Any, Any]] = {
    "langfuse": ("t.json", [observation("o1", input="Q", output="A")], [observation("o1", input="Q", output="A"), SCORE]),
    "mlflow": ("t.json", [TRACE], [{**TRACE, "info": {**TRACE["info"], "assessments": [*TRACE["info"]["assessments"], FEEDBACK]}}]),
    "langsmith": ("t.json", [RUN], [{**RUN, "feedback": [{"key": "human", "score": 1}]}]),
}  # fmt: skip


def outputs(at: Terminal) -> list[Json]:
    return cast("list[Json]", at.run("list", "agent-run", "--json").one()["records"])


@pytest.mark.parametrize("name", WHOLE)
def test_the_same_contents_change_nothing_under_whatever_name(at: Terminal, name: str) -> None:
    file, make = WHOLE[name]
    make(at.folder / file)
    first = at.run("import", file, "--json")
    (at.folder / "other").mkdir()
    make(at.folder / "other" / file)
    again, elsewhere = at.many(["import", file, "--json"], ["import", f"other/{file}", "--json"])
    if name == "every-eval-ever-results":
        assert first.code == 2
        return
    assert first.code == 0, first.err
    by_folder = name == "openai-evals-samples"  # whose task is the folder's name
    for ended in (again,) if by_folder else (again, elsewhere):
        assert (ended.one()["new"], ended.one()["changed"]) == (0, 0)


@pytest.mark.parametrize("name", OVERWRITTEN)
def test_new_contents_under_the_same_name_are_new_outputs_of_their_own_version(at: Terminal, name: str) -> None:
    file, before, after = OVERWRITTEN[name]
    written(at.folder / file, before)
    first = at.run("import", file, "--json").one()
    kept = outputs(at)
    written(at.folder / file, after)
    second = at.run("import", file, "--json")
    assert second.code == 0, second.err
    assert second.one()["promptVersionRefs"] != first["promptVersionRefs"]
    assert [one for one in outputs(at) if one["id"] in {old["id"] for old in kept}] == kept
    assert len(outputs(at)) > len(kept)
    assert (at.run("import", file, "--json").one()["new"]) == 0


@pytest.mark.parametrize("name", LATER)
def test_scores_that_came_later_are_added_to_the_output_that_is_there(at: Terminal, name: str) -> None:
    file, before, after = LATER[name]
    written(at.folder / file, before)
    assert at.run("import", file).code == 0
    (kept,) = outputs(at)
    (at.folder / "next").mkdir()
    written(at.folder / "next" / file, after)
    ended = at.run("import", f"next/{file}", "--json")
    assert ended.code == 0, ended.err
    (run,) = outputs(at)
    scores = cast("list[Json]", run["fields"]["extra"]["foreignScores"])
    assert len(scores) == len(kept["fields"].get("extra", {}).get("foreignScores", [])) + 1
    assert run["fields"]["outputs"] == kept["fields"]["outputs"]
    assert at.run("import", f"next/{file}", "--json").one()["changed"] == 0


def test_a_log_that_was_scored_again_adds_its_scores(at: Terminal) -> None:
    """Inspect writes another scorer's scores into the log that it scored."""
    from tests.shared.interop.makers import inspect_json  # noqa: PLC0415  this test alone writes such a log

    sample = inspect_sample(1, 1, "It is Paris")
    inspect_json(at.folder / "a.json", sample)
    at.run("import", "a.json")
    inspect_json(at.folder / "a.json", {**sample, "scores": {**sample["scores"], "own": {"value": "I"}}})
    assert at.run("import", "a.json").code == 0
    (run,) = outputs(at)
    assert [score["name"] for score in run["fields"]["extra"]["foreignScores"]] == ["includes", "own"]
