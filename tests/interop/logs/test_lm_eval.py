"""Samples of lm-evaluation-harness: what was asked and answered, by the kind of request, and whose verdict counts."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from minions_evals_mcp.interop.logs.sample import LogSample, Produced
from tests.shared.interop.makers import Json, kept, read, samples, written
from tests.shared.interop.whole_files import lm_eval_line

FILE = "samples_arc_easy_2026-11-20T10-00-00.123456.jsonl"


def _read(tmp_path: Path, *lines: Json) -> list[LogSample]:
    return samples(written(tmp_path / FILE, [*lines]), "lm-eval")


def _made(sample: LogSample) -> Produced:
    assert sample.produced is not None
    return sample.produced


def _asked(*requests: tuple[str, str]) -> Json:
    return {
        f"gen_args_{place}": {"arg_0": context, "arg_1": ending} for place, (context, ending) in enumerate(requests)
    }


def _choice(arguments: Json, *likelihoods: str) -> Json:
    return lm_eval_line(
        0, arguments=arguments, target="1", metrics=["acc", "acc_norm"], acc=1.0, acc_norm=0.0,
        resps=[[[value, "False"]] for value in likelihoods], filtered_resps=[[value, "False"] for value in likelihoods],
    )  # fmt: skip


CHOICES: list[tuple[str, Json, Json]] = [
    ("endings", _asked(("Sky?", " green"), ("Sky?", " blue")), {"input": "Sky?", "choices": [" green", " blue"]}),
    ("contexts", _asked(("Ann", " ran"), ("blue", " ran")), {"choices": ["Ann ran", "blue ran"]}),
    (
        "mutual information",
        _asked(("Sky?", " green"), ("Sky?", " blue"), ("", " green"), ("", " blue")),
        {"input": "Sky?", "choices": [" green", " blue"]},
    ),
]


@pytest.mark.parametrize(("arguments", "inputs"), [one[1:] for one in CHOICES], ids=[one[0] for one in CHOICES])
def test_of_choices_the_likeliest_is_the_output(tmp_path: Path, arguments: Json, inputs: Json) -> None:
    likelihoods = ["-12.5", "-9.75", "-1.0", "-0.5"][: len(arguments)]
    (sample,) = _read(tmp_path, _choice(arguments, *likelihoods))
    assert sample.inputs == inputs
    assert _made(sample).output == str(cast("list[str]", inputs["choices"])[1]).strip()
    assert sample.expected is None  # the target may be a place or a text: the file does not say
    assert [check["value"] for check in sample.assertions] == [
        {"tool": "lm-eval", "scorer": name} for name in ("acc", "acc_norm")
    ]


def test_filters_are_scores_of_one_output_and_the_same_filter_again_is_another_try(tmp_path: Path) -> None:
    lines = [lm_eval_line(0, name) for name in ("strict-match", "flexible-extract", "strict-match")]
    first, second = _read(tmp_path, *lines)
    assert [score.name for score in _made(first).scores] == ["exact_match,strict-match", "exact_match,flexible-extract"]
    assert (first.epoch, second.epoch, len(_made(second).scores)) == (1, 2, 1)
    assert _made(first).scores[0].about["answer"] == "Paris"
    assert (_made(first).output, first.expected) == ("It is Paris.", {"output": "Paris"})


def test_a_chat_is_its_messages_and_repeats_stay_together(tmp_path: Path) -> None:
    chat = '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]'
    arguments: Json = {"gen_args_0": {"arg_0": [chat], "arg_1": {"max_gen_toks": 9}}}
    (sample,) = _read(tmp_path, lm_eval_line(0, arguments=arguments, resps=[["Rome", "Paris"]]))
    assert [one["content"] for one in cast("list[Json]", sample.inputs["messages"])] == ["Be brief.", "Where?"]
    assert _made(sample).output == ["Rome", "Paris"]


def test_a_likelihood_is_no_answer_and_a_generated_number_is_one(tmp_path: Path) -> None:
    rolling = lm_eval_line(0, arguments={"gen_args_0": {"arg_0": "A text"}}, resps=[["-8.5"]])
    ending = lm_eval_line(1, arguments=_asked(("A", " text")), resps=[[["-8.5", "True"]]])
    said = [_made(one).output for one in _read(tmp_path, rolling, ending, lm_eval_line(2, resps=[["-8.5"]]))]
    assert said == [{"logLikelihood": -8.5}, {"logLikelihood": -8.5, "isGreedy": True}, "-8.5"]


def test_only_metrics_that_are_better_the_higher_are_verdicts(tmp_path: Path) -> None:
    (sample,) = _read(
        tmp_path,
        lm_eval_line(0, metrics=["acc", "pct_stereotype", "f1"], acc=1.0, pct_stereotype=0.0, f1=["Paris", "Paris"]),
    )
    assert [cast("Json", check["value"])["scorer"] for check in sample.assertions] == ["acc"]
    assert len(_made(sample).scores) == 3


def test_older_lines_and_those_of_lmms_eval_are_read(tmp_path: Path) -> None:
    old: Json = {**lm_eval_line(0), "arguments": [["Q?", {"max_gen_toks": 9}]]}
    del old["metrics"], old["filter"]
    lmms: Json = {
        "doc_id": 1,
        "input": "Q?",
        "target": "A",
        "filtered_resps": ["A"],
        "doc_hash": "d",
        "exact_match": 1.0,
    }
    first, second = _read(tmp_path, old, lmms)
    assert (first.inputs, second.inputs, _made(second).output) == ({"input": "Q?"}, {"input": "Q?"}, "A")
    assert [[score.name for score in _made(one).scores] for one in (first, second)] == [["exact_match"]] * 2


def test_task_model_and_time_come_from_where_the_harness_writes_it(tmp_path: Path) -> None:
    (tmp_path / "org__m").mkdir()
    path = written(tmp_path / "org__m" / FILE, [lm_eval_line(0)])
    log, _ = read(path, "lm-eval")
    assert (log.task, log.subject, log.created) == ("arc_easy", "org/m", "2026-11-20T10:00:00.123456")
    (case,), (run,) = kept(path, "lm-eval")
    assert (case.fields.group, run.fields.status) == (None, "success")
