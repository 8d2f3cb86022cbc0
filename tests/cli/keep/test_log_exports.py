"""`export --format`: what came in goes out the same; what was judged here goes into other tools' files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from pyarrow import parquet

from tests.shared.cli.terminal import Terminal
from tests.shared.interop.log_parts import CHECKS, result, results
from tests.shared.interop.makers import Json, foreign, inspect_json, inspect_sample, kept, samples

BENCHMARK, VERSION = "log:inspect/capitals", "log:inspect/capitals/eval1"
FORMATS = ("inspect-json", "promptfoo", "otel-events", "every-eval-ever", "parquet", "junit")
WRONG = 1


def exported(at: Terminal, ident: str, *formats: str) -> None:
    for ended in at.many(*(["export", ident, "--format", form, "-o", f"{form}.json"] for form in formats)):
        assert ended.code == 0, ended.err


def shared(path: Path) -> list[tuple[object, ...]]:
    """What every format of samples has: ids, questions, answers, expectations, scores, figures."""
    _, runs = kept(path)
    by_id = {(str(one.id), one.epoch): one for one in samples(path)}
    return sorted(
        (
            str(one.id),
            one.epoch,
            str(one.inputs),
            one.targets,
            str(one.produced.output),
            str([(score.name, score.value) for score in one.produced.scores]),
            one.produced.input_tokens,
            one.produced.output_tokens,
            one.produced.latency_ms,
            len(foreign(runs[0])),
        )
        for one in by_id.values()
        if one.produced is not None
    )


def test_a_log_that_came_in_goes_out_the_same_in_its_own_format_and_through_another(at: Terminal) -> None:
    told = [
        inspect_sample(n, epoch, "It is Paris" if n else "Rome", "C" if n else "I")
        for n in range(3)
        for epoch in (1, 2)
    ]
    source = inspect_json(at.folder / "a.json", *told)
    assert at.run("import", "a.json").code == 0
    exported(at, VERSION, "inspect-json", "every-eval-ever")
    assert shared(at.folder / "inspect-json.json") == shared(source)
    again = cast("Json", json.loads((at.folder / "inspect-json.json").read_text("utf-8")))
    first: dict[Any, Json] = {(one["id"], one["epoch"]): one for one in again["samples"]}
    for one in told:
        same = (
            "id",
            "epoch",
            "input",
            "target",
            "messages",
            "scores",
            "metadata",
            "started_at",
            "completed_at",
            "total_time",
            "uuid",
        )
        assert {key: first[one["id"], one["epoch"]][key] for key in same} == {key: one[key] for key in same}
    assert again["eval"]["eval_id"] == "eval1"
    lines = at.folder / "every-eval-ever_samples.jsonl"
    assert [one[:5] for one in shared(lines)] == [one[:5] for one in shared(source)]
    values = [json.loads(line)["evaluation"]["score"] for line in lines.read_text("utf-8").splitlines()]
    assert sorted(values) == [0.0] * 2 + [1.0] * 4


def test_results_of_promptfoo_go_out_with_the_same_outputs_and_scores(at: Terminal) -> None:
    (at.folder / "r.json").write_text(json.dumps(results(result(0, 0, CHECKS[0]), result(1, 0, CHECKS[0]))), "utf-8")
    version = str(cast("list[str]", at.run("import", "r.json", "--json").one()["promptVersionRefs"])[0])
    exported(at, version, "promptfoo")
    assert shared(at.folder / "promptfoo.json") == shared(at.folder / "r.json")


def test_a_run_judged_here_is_written_in_every_format_with_its_verdicts(at: Terminal) -> None:
    inspect_json(
        at.folder / "a.json", *(inspect_sample(n, 1, "Rome" if n == WRONG else "Paris", "C") for n in range(3))
    )
    _, ran = at.many(["import", "a.json"], ["run-benchmark", BENCHMARK, "--prompt-version", VERSION, "--json"])
    exported(at, str(ran.one()["runId"]), *FORMATS)
    read = {form: (at.folder / f"{form}.json").read_bytes() for form in FORMATS}
    inspect = json.loads(read["inspect-json"])
    assert {one["id"]: one["scores"]["minions-evals"]["value"] for one in inspect["samples"]} == {
        0: "C",
        WRONG: "I",
        2: "C",
    }
    assert inspect["results"]["scores"][0]["metrics"]["accuracy"]["value"] == 2 / 3
    cells = json.loads(read["promptfoo"])["results"]["results"]
    assert [cell["success"] for cell in cells] == [True, False, True]
    events = json.loads(read["otel-events"])
    ParseDict(events, LogsData())  # the format's own reader takes it
    told = events["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert {one["eventName"] for one in told} == {"gen_ai.evaluation.result"}
    assert len(told) == 6  # our verdict and the log's own, of each
    assert sum(any(one["key"] == "minions.foreign" for one in event["attributes"]) for event in told) == 3
    rows = cast("list[Json]", parquet.read_table(at.folder / "parquet.json").to_pylist())  # pyright: ignore[reportUnknownMemberType]  pyarrow has no types
    assert [(row["id"], row["passed"]) for row in rows] == [("0", True), ("1", False), ("2", True)]
    assert read["junit"].count(b"<failure") == 1
    aggregate = json.loads(read["every-eval-ever"])
    assert {
        one["evaluation_name"]: round(one["score_details"]["score"], 3) for one in aggregate["evaluation_results"]
    } == {
        "minions-evals": 0.667,
        "includes": 1.0,
    }


def test_what_cannot_be_written_is_refused_and_nothing_is_left(at: Terminal) -> None:
    inspect_json(at.folder / "a.json", inspect_sample(1, 1, "Paris"))
    inspect_json(at.folder / "b.json", inspect_sample(1, 1, "Paris", [1]))
    _, _, unscored, unknown, nothing, half = at.many(
        ["import", "a.json"],
        ["import", "b.json", "--db", "b.db"],
        ["export", VERSION, "--format", "every-eval-ever", "-o", "x.json", "--db", "b.db"],
        ["export", "x", "--format", "csv", "-o", "x.csv"],
        ["export", "x", "--format", "promptfoo", "-o", "x.json"],
        ["export", "--format", "junit"],
    )
    assert "has a score that is a number" in unscored.err
    assert "Formats are inspect-json" in unknown.err
    assert nothing.code == 2
    assert "exporting a run needs its id, --format and --out" in half.err
    assert not list(at.folder.glob("*x.*"))
