"""Cases that belong together count as groups, trials of a case as one, and a fall that is certain fails the gate at any size."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal

GROUPS, SIZE = 10, 20


def grouped_suite(*, on_cases: bool, grouped: bool = True) -> JsonValue:
    """Ten documents with twenty questions each: v2 does better on six documents and worse on four, whole documents at a time."""
    names = [(f"d{document}/q{number}", f"d{document}") for document in range(GROUPS) for number in range(SIZE)]
    with_group = {"group": True} if grouped else {}
    records: list[Json] = []
    for ident, document in names:
        group: dict[str, JsonValue] = {"group": document} if with_group else {}
        records.append(case(ident, "green", **(group if on_cases else {})))
        rose = int(document[1:]) < 7
        for version, passes in (("v1", not rose), ("v2", rose)):
            output = "green" if passes or ident.endswith(("q1", "q2")) else "red"
            own: dict[str, JsonValue] = {} if on_cases else group
            records.append(answer(f"{ident}/{version}", ident, output, promptVersionRef=version, **own))
    versions = [record(f"v{n}", "prompt-version", content=f"{n}", versionNumber=n, promptId="p") for n in (1, 2)]
    return suite(*versions, *records, benchmark("b", *(ident for ident, _ in names)))


def run_of(version: str, *more: str) -> list[str]:
    return ["run-benchmark", "b", "--prompt-version", version, *more]


def fields_of(told: Json) -> Json:
    fields = told["benchmarkRun"]
    assert isinstance(fields, dict)
    return fields


def bounds(value: JsonValue) -> tuple[float, float]:
    assert isinstance(value, list)
    low, high = value
    assert isinstance(low, float | int)
    assert isinstance(high, float | int)
    return low, high


@pytest.mark.parametrize("on_cases", [True, False], ids=["of the cases", "of the recorded outputs"])
def test_a_comparison_counts_groups_and_says_how_many_independent_cases_they_are_worth(
    at: Terminal, on_cases: bool
) -> None:
    at.run("import", at.file("s.json", grouped_suite(on_cases=on_cases)))
    told = at.run("compare", "b", "--from", "v1", "--to", "v2", "--json").one()
    assert told["verdict"] == "inconclusive", "seven documents of ten are not more than chance"
    said = at.run("runs", "latest").out
    assert "200 cases in 10 groups count as about" in " ".join(said.split())


def test_the_same_outputs_without_groups_are_decided_as_two_hundred_cases(at: Terminal) -> None:
    at.run("import", at.file("s.json", grouped_suite(on_cases=True, grouped=False)))
    assert at.run("compare", "b", "--from", "v1", "--to", "v2", "--json").one()["verdict"] == "improved"


def test_the_intervals_of_a_run_and_its_regression_test_count_groups(at: Terminal) -> None:
    at.run("import", at.file("s.json", grouped_suite(on_cases=True)))
    first, fell = at.many(run_of("v2", "--json"), run_of("v1", "--json", "--fail-on-regression"))
    fields = fields_of(first.one())
    low, high = bounds(fields["passRateCi"])
    assert fields["groups"] == GROUPS
    assert float(str(fields["effectiveCases"])) < 2 * GROUPS
    assert high - low > 40, "twenty questions on a document are not twenty cases"
    assert bounds(fields["scoreCi"]) == pytest.approx((low / 100, high / 100)), "one figure has one interval"
    assert "only 10 groups" in str(fields["notes"])
    assert fields_of(fell.one())["evidence"] == "within-noise"
    assert fell.code == 0


def test_trials_of_a_case_are_one_group(at: Terminal) -> None:
    names = [f"c{number}" for number in range(20)]
    records = [case(name, "green" if number < 15 else "red") for number, name in enumerate(names)]
    at.run("import", at.file("s.json", suite(*records, benchmark("b", *names))))
    told = at.run("run-benchmark", "b", "--target", "command:echo green", "--trials", "5", "--json").one()
    fields = fields_of(told)
    low, high = bounds(fields["passRateCi"])
    assert (fields["passedCount"], fields["totalCount"]) == (75, 100)
    assert high - low > 35, (
        "a hundred trials of twenty cases, each of which always passes or always fails, are twenty cases"
    )
    assert bounds(fields["scoreCi"]) == pytest.approx((low / 100, high / 100))
    shown = " ".join(at.run("runs", str(told["runId"])).out.split())
    assert (
        "reliability over 20 cases: pass^1 75.0 %, pass^2 75.0 %, pass^3 75.0 %, pass^4 75.0 %, pass^5 75.0 %" in shown
    )


def test_the_interval_of_pass_k_counts_groups(at: Terminal) -> None:
    def shown(**group: str) -> str:
        names = [f"{group.get('group', 'c')}{number}" for number in range(20)]
        grouped = [{"group": f"d{number % 4}"} if group else {} for number in range(20)]
        records = [
            case(one, "green" if n % 4 < 2 else "red", **own)
            for n, (one, own) in enumerate(zip(names, grouped, strict=True))
        ]
        ident = group.get("group", "b")
        at.run("import", at.file("s.json", suite(*records, benchmark(ident, *names))))
        run = at.run("run-benchmark", ident, "--target", "command:echo green", "--trials", "2", "--json").one()
        return " ".join(at.run("runs", str(run["runId"])).out.split())

    alone, together = (re.search(r"95 % for k = 2: ([\d.]+)–([\d.]+) %", shown(**of)) for of in ({}, {"group": "g"}))
    assert alone is not None
    assert together is not None
    assert float(together[2]) - float(together[1]) > 1.3 * (float(alone[2]) - float(alone[1]))


def test_inputs_that_share_a_document_are_pointed_out_where_no_group_is_set(at: Terminal) -> None:
    texts = [f"Document {number}. " + f"{number} lorem ipsum dolor " * 20 for number in range(3)]
    records: list[Json] = []
    for number in range(12):
        inputs: Json = {"document": texts[number % 3], "question": f"q{number}"}
        records.append(record(f"c{number}", "test-case", name="c", inputs=inputs, expectedOutputs={"output": "green"}))
        records.append(record(f"a{number}", "agent-run", agentId="a", inputs=inputs, outputs={"output": "green"}))
    at.run("import", at.file("s.json", suite(*records, benchmark("b", *(f"c{number}" for number in range(12))))))
    notes = str(fields_of(at.run("run-benchmark", "b", "--json").one())["notes"])
    assert "12 cases share 3 documents, and no `group` is set" in notes


def scored_suite(before: Sequence[float], after: Sequence[float]) -> JsonValue:
    """Cases with the score of each version's output: a share of the words that are wanted."""
    names = [f"c{number}" for number in range(len(before))]
    words = [f"w{number}" for number in range(10)]
    wanted: list[JsonValue] = [{"type": "contains", "value": word} for word in words]
    records: list[Json] = []
    for name, *scores in zip(names, before, after, strict=True):
        inputs: Json = {"q": name}
        records.append(record(name, "test-case", name=name, inputs=inputs, assertions=wanted, threshold=0.5))
        for version, score in zip(("v1", "v2"), scores, strict=True):
            output: Json = {"output": ";".join(words[: round(10 * score)]) + ";"}
            records.append(
                record(
                    f"{name}/{version}",
                    "agent-run",
                    agentId="a",
                    inputs=inputs,
                    outputs=output,
                    promptVersionRef=version,
                )
            )
    versions = [record(f"v{n}", "prompt-version", content=f"{n}", versionNumber=n, promptId="p") for n in (1, 2)]
    return suite(*versions, *records, benchmark("b", *names))


def noisy(seed: int, size: int, passing: float) -> list[float]:
    drawn = random.Random(seed)  # noqa: S311  outputs, no secret
    return [1.0 if drawn.random() < passing else 0.0 for _ in range(size)]


FALLS: dict[str, tuple[list[float], list[float], str]] = {
    "passes by less than ten points": ([1.0] * 380 + [0.0] * 20, [1.0] * 341 + [0.0] * 59, "passes"),
    "scores, no pass among them": ([1.0] * 20, [0.6] * 20, "scores"),
    "scores by a little": ([0.9] * 40, [0.8] * 30 + [0.9] * 10, "scores"),
    "passes of few cases": ([1.0] * 100, [1.0] * 92 + [0.0] * 8, "passes"),
}


@pytest.mark.parametrize("name", FALLS)
def test_a_fall_that_is_more_than_chance_fails_the_gate_whatever_its_size_and_stays(at: Terminal, name: str) -> None:
    before, after, of = FALLS[name]
    at.run("import", at.file("s.json", scored_suite(before, after)))
    gate = "--fail-on-regression"
    ended = at.many(
        run_of("v1", gate), run_of("v2", gate), run_of("v2", gate, "--key", "again"), run_of("v2", gate, "--literal"),
        ["runs", "again", "--json"], ["outbox", "--json"], ["accept", "again", "--by", "ana"], run_of("v2", gate),
    )  # fmt: skip
    assert [one.code for one in ended] == [0, 1, 1, 0, 0, 0, 0, 0], [one.err for one in ended]
    assert "statistically significant" in " ".join(ended[1].err.split())
    told = ended[4].one()
    fall = told["fall"]
    assert isinstance(fall, dict)
    assert fall["of"] == of
    assert fields_of(told)["isRegression"] is False, "the documents' rule stays what it is"
    assert str(ended[5].out).count('"benchmark-fall"') == 1, "told once"


@pytest.mark.parametrize("name", [*FALLS, "regression"])
def test_one_fall_is_told_once_however_long_it_stays(at: Terminal, name: str) -> None:
    before, after, _ = {**FALLS, "regression": ([1.0] * 20, [0.0] * 12 + [1.0] * 8, "passes")}[name]
    at.run("import", at.file("s.json", scored_suite(before, after)))
    ended = at.many(run_of("v1"), *(run_of("v2", "--key", key) for key in "abc"), ["outbox", "--json"])
    told = [
        word for word in ("benchmark-regression", "benchmark-fall") for _ in range(ended[-1].out.count(f'"{word}"'))
    ]
    assert told == ["benchmark-regression" if name == "regression" else "benchmark-fall"]


@pytest.mark.parametrize("seed", range(3))
def test_unchanged_outputs_that_vary_by_chance_pass_the_gate(at: Terminal, seed: int) -> None:
    at.run("import", at.file("s.json", scored_suite(noisy(seed, 60, 0.8), noisy(seed + 100, 60, 0.8))))
    ended = at.many(run_of("v1"), run_of("v2", "--fail-on-regression", "--json"))
    assert ended[1].code == 0
    assert ended[1].one()["fall"] is None
