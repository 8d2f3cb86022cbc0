"""promptfoo's results: a version for each prompt with each provider, a case for each test, each score of a cell."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from minions_evals_mcp.errors import InvalidRecordError
from tests.shared.interop.log_parts import CHECKS, result, results
from tests.shared.interop.makers import Json, extra, foreign, kept, read, samples, written


def test_each_prompt_with_each_provider_is_a_version_and_each_test_a_case(tmp_path: Path) -> None:
    cells = [result(test, prompt, CHECKS[0]) for test in (0, 1) for prompt in (0, 1)]
    path = written(tmp_path / "r.json", results(*cells))
    log, items = read(path, "promptfoo")
    assert (log.id, log.task, len(items)) == ("eval-1", "geo", 4)
    assert log.extra["metadata"] == {"who": "me"}
    variants = {one.produced.variant for one in samples(path) if one.produced is not None}
    assert {one.prompt for one in variants if one is not None} == {"Say {{country}}", "Tell {{country}}"}
    cases, runs = kept(path)
    assert (len({case.id for case in cases}), len({run.id for run in runs})) == (2, 4)
    assert cases[0].fields.inputs == {"country": "France"}
    assert [(one.type, one.value) for one in cases[0].fields.assertions] == [("contains", "France")]
    assert cases[0].fields.threshold == 0.5
    run = runs[0].fields
    assert (run.outputs, run.cost, run.tokens_used, run.stop_reason) == ({"output": "About France"}, 0.01, 7, "stop")
    assert [(one["name"], one["value"]) for one in foreign(runs[0])] == [
        ("score", 0.75), ("tone", 0.5), ("contains", 0.75),
    ]  # fmt: skip
    assert extra(runs[0])["rest"]["oddKey"] == {"x": 1}


def test_a_test_with_a_check_that_means_nothing_here_is_a_draft_that_names_it(tmp_path: Path) -> None:
    judged: Json = {"type": "llm-rubric", "value": "fine", "provider": "openai:gpt-x"}
    path = written(tmp_path / "r.json", results(result(0, 0, *CHECKS), result(1, 0, judged)))
    cases, _ = kept(path)
    assert [case.fields.status for case in cases] == ["draft", "draft"]
    assert [case.fields.extra["unreadChecks"] for case in cases] == [["no-such-check"], ["llm-rubric"]]
    assert cases[0].fields.threshold is None


def test_an_error_of_the_provider_is_a_failed_output(tmp_path: Path) -> None:
    failed = result(0, 0, failureReason=2, error="429 Too Many Requests", response={}, success=False)
    _, (run,) = kept(written(tmp_path / "r.json", results(failed)))
    assert (run.fields.status, run.fields.error_message, run.fields.outputs) == ("failed", "429 Too Many Requests", {})


def test_results_as_lines_are_the_results_of_the_document(tmp_path: Path) -> None:
    """`-o results.jsonl` writes the rows alone: no template of a prompt, no name of the evaluation."""
    rows = [result(test, prompt, CHECKS[0]) for test in (0, 1) for prompt in (0, 1)]
    rows.append(result(0, 0, failureReason=2, error="429", response={}, success=False))
    document, lines = written(tmp_path / "r.json", results(*rows)), written(tmp_path / "r.jsonl", rows)
    log, _ = read(lines, "promptfoo")
    assert (log.id, log.task, log.own_id) == ("r", "r", False)
    (cases, runs), (other_cases, other_runs) = kept(document), kept(lines)
    assert [case.fields for case in other_cases] == [case.fields for case in cases]
    told = [(run.fields.outputs, run.fields.status, foreign(run), run.fields.agent_id) for run in runs]
    assert [(run.fields.outputs, run.fields.status, foreign(run), run.fields.agent_id) for run in other_runs] == told


@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_results_as_yaml_are_the_results_of_the_document(tmp_path: Path, suffix: str) -> None:
    """One value that stands in several places is an alias in YAML, as promptfoo writes it."""
    told = results(*(result(test, prompt, CHECKS[0]) for test in (0, 1) for prompt in (0, 1)))
    text = yaml.safe_dump(told, sort_keys=False)
    assert "*id" in text, "it holds aliases"
    (path := tmp_path / f"r{suffix}").write_text(text)
    whole = written(tmp_path / "r.json", told)
    assert read(path)[0] == read(whole)[0]
    assert [record.fields for records in kept(path) for record in records] == [
        record.fields for records in kept(whole) for record in records
    ]


def test_results_as_yaml_without_a_list_of_results_are_refused(tmp_path: Path) -> None:
    (path := tmp_path / "r.yaml").write_text("results: {version: 3, prompts: [], results: 7}\n")
    with pytest.raises(InvalidRecordError, match=r"results\.results"):
        samples(path)


def test_another_version_and_a_cut_file_are_refused(tmp_path: Path) -> None:
    old = written(tmp_path / "old.json", results(result(0, 0), version=2))
    with pytest.raises(InvalidRecordError, match=r"old.json: results.version: is not version 3"):
        samples(old)
    cut = tmp_path / "cut.json"
    cut.write_text(written(tmp_path / "r.json", results(result(0, 0), result(1, 0))).read_text("utf-8")[:-300], "utf-8")
    with pytest.raises(InvalidRecordError, match=r"cut.json: no JSON: it is cut off"):
        samples(cut)
