"""No two fields of one answer disagree about one fact, over generated stores; the verdict comes first, and nothing is empty.

The suite has five stores for each of 4 seeds, `python -m tests.server.answers.test_one_word_on_one_fact 60` for each of so many.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from pydantic import JsonValue

from minions_evals_mcp.server.signatures.runs import RunAnswer
from tests.shared.server.hosts import Host, Json, hosted, part, rows
from tests.workshop import answer, benchmark, case, config_in, minion, opened, save

STORES_A_SEED = 5
WANTED: Json = {"expectedOutputs": {"output": "good"}, "passRule": "max_score"}
ALARMS = {"new": "REGRESSION", "not-recovered": "NOT RECOVERED", "fall": "FALL"}
OF_OTHERS = frozenset(
    {"trend", "judge", "failures", "testRuns", "comparison", "corrected", "audit", "causes", "packets"}
)
"""Parts that speak of something else than the run as a whole."""


def facts(value: JsonValue, key: str) -> Iterator[JsonValue]:
    """Every value under that key that speaks of the run as a whole."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            elif name not in OF_OTHERS:
                yield from facts(inner, key)


def agrees(wire: Json, threshold: float) -> None:
    """Fails where the answer of a concluded run says two things of one fact."""
    assert list(wire)[:2] == ["summary", "verdict"]
    verdict, run, summary = part(wire, "verdict"), part(wire, "benchmarkRun"), str(wire["summary"])
    word = str(verdict["regression"])
    said = {kind for kind, alarm in ALARMS.items() if alarm in summary}
    assert said == ({word} if word != "none" else set()), (word, summary)
    assert ("regression" in wire or "fall" in wire) == (word != "none")
    assert len({str(one) for one in facts(wire, "evidence")}) <= 1
    assert list(facts(wire, "passed")) == [verdict["passed"]]
    assert list(facts(wire, "isRegression")) == []
    assert verdict["passed"] == (float(str(run["overallScore"])) >= threshold)
    assert f"({run['passRate']:.3g} %), score {run['overallScore']:.3g}" in summary
    passed, total = run["passedCount"], run["totalCount"]
    assert isinstance(passed, int)
    assert isinstance(total, int)
    assert run["passRate"] == pytest.approx(100 * passed / total, abs=0.005)
    outcomes = part(wire, "outcomes") if "outcomes" in wire else {}
    units, still_open = wire["units"], wire["open"]
    assert isinstance(units, int)
    assert isinstance(still_open, int)
    assert sum(number for number in outcomes.values() if isinstance(number, int)) + still_open == units
    assert f"{wire['subjectId']}: {wire['state']}" in summary


def says_nothing_twice(wire: Json) -> None:
    """Fails on fields that are empty, or repeat another one."""
    assert wire.get("key") != wire["runId"]
    names = wire.get("names", {})
    assert isinstance(names, dict)
    assert [ident for ident, name in names.items() if ident == name] == []
    assert list(noise({name: value for name, value in wire.items() if name not in RunAnswer.EXACT})) == []


def noise(value: JsonValue, at: str = "") -> Iterator[str]:
    """Where an answer has an empty part, or a fraction of more than three digits."""
    match value:
        case dict():
            for name, inner in value.items():
                if inner in (None, "", [], {}):
                    yield f"{at}.{name} is empty"
                yield from noise(inner, f"{at}.{name}")
        case list():
            for number, inner in enumerate(value):
                yield from noise(inner, f"{at}.{number}")
        case float() if value not in (round(value, 2), float(f"{value:.3g}")):
            yield f"{at} is {value}"
        case _:
            return


def whole(lines: JsonValue) -> list[Json]:
    """The failures with what those that name another one leave out."""
    assert isinstance(lines, list)
    said = [line for line in lines if isinstance(line, dict)]
    first = {str(line["testRunId"]): line for line in said}
    return [{**first.get(str(line.get("sameAs", "")), {}), **line} for line in said]


def loses_nothing(wire: Json, of_one: Json) -> None:
    """Fails where a failure that is like another one does not say all that its own record says."""
    for line in whole(wire.get("failures", [])):
        if line["testRunId"] == of_one["testRunId"]:
            assert line["failureType"] == of_one["failureType"]
            assert line["severity"] == of_one["severity"]
            assert str(line["description"]) == str(of_one["description"])


async def _run(host: Host, **asked: JsonValue) -> Json:
    return await host.call("run_benchmark", benchmarkId="b", waitSeconds=50, **asked)


@pytest.mark.parametrize("seed", range(4))
async def test_the_fields_of_an_answer_agree_over_generated_stores(tmp_path: Path, seed: int) -> None:
    await stores_agree(tmp_path, seed)


async def stores_agree(folder: Path, seed: int) -> None:
    """Five stores of four runs and a comparison, each answer of which agrees with itself and with the lists."""
    chance = random.Random(seed)  # noqa: S311  no secret
    words = set[str]()
    for number in range(STORES_A_SEED):
        size, versions = chance.choice([4, 12, 30]), 4
        threshold = chance.choice([0.3, 0.6, 0.9])
        rates = [chance.choice([0.0, 0.2, 0.5, 0.9, 1.0]) for _ in range(versions)]
        names = [f"c{n}" for n in range(size)]
        async with opened(config := config_in(folder / str(number))) as engine:
            await save(
                engine, [case(one, **WANTED) for one in names], benchmark("b", *names, passingThreshold=threshold)
            )
            for version, rate in enumerate(rates, 1):
                ident = f"p@{version}"
                outputs = ["good" if chance.random() < rate else "bad" for _ in names]
                await save(
                    engine,
                    minion(ident, "prompt-version", content=f"{version}", versionNumber=version, promptId="p"),
                    [
                        answer(f"{ident}/{one}", one, said, promptVersionRef=ident)
                        for one, said in zip(names, outputs, strict=True)
                        if chance.random() > 0.1 * (seed % 2)
                    ],
                )  # fmt: skip
        async with hosted(config) as host:
            for version in range(1, versions + 1):
                done = await _run(host, promptVersionRef=f"p@{version}")
                if "benchmarkRun" not in done:
                    continue
                for wire in (done, await host.call("get_run", runId=str(done["runId"]))):
                    agrees(wire, threshold)
                    says_nothing_twice(wire)
                failures = whole(done.get("failures", []))
                if failures:
                    last = str(failures[-1]["testRunId"])
                    record = await host.call("get_record", id=f"{last}:failure")
                    loses_nothing(done, part(part(record, "record"), "fields"))
                listed = await host.call("list_records", type="run", limit=1)
                line = rows(listed, "records")[0]
                assert line["id"] == done["runId"]
                assert (line["promptVersionRef"], line["passed"]) == (f"p@{version}", part(done, "verdict")["passed"])
                assert line["score"] == pytest.approx(part(done, "benchmarkRun")["overallScore"], abs=0.001)
                assert line["isRegression"] == (part(done, "verdict")["regression"] == "new")
                words.add(str(part(done, "verdict")["regression"]))
            compared = await host.call(
                "compare_prompt_versions", benchmarkId="b", versionA="p@1", versionB="p@4", waitSeconds=50
            )
            assert "comparison" in compared, compared
            made = part(compared, "comparison")
            assert list(noise(made)) == []
            assert f": {made['verdict']};" in str(compared["summary"])
            if made["verdict"] == "improved":
                assert made["winner"] == "p@4"
            if made["verdict"] == "regressed":
                assert made["winner"] == "p@1"
            trend = await host.call("detect_trend", benchmarkId="b")
            assert str(trend.get("direction", "no trend yet")) in str(trend["summary"])
    assert words


if __name__ == "__main__":
    for number in range(wanted := int(sys.argv[1])):
        with TemporaryDirectory() as there:
            anyio.run(stores_agree, Path(there), number)
    sys.stdout.write(f"{wanted * STORES_A_SEED} generated stores, no two fields of an answer disagree\n")
