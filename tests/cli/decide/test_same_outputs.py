"""The same outputs are one comparison, harm is found at any attempt, and missing outputs overturn no verdict."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from tests.cli.suites import answer, benchmark, case, record, suite, two_versions
from tests.shared.cli.terminal import Json, Terminal

COMPARE = ["compare", "b", "--from", "v1", "--to", "v2"]


def versions_suite(*passes: Sequence[bool | None]) -> JsonValue:
    """Versions v1, v2, … of one prompt with recorded outputs that pass, fail, or are missing (None)."""
    names = [f"c{number}" for number in range(len(passes[0]))]
    records: list[Json] = [case(name) for name in names]
    for number, outcomes in enumerate(passes, 1):
        version = f"v{number}"
        records.append(record(version, "prompt-version", content=version, versionNumber=number, promptId="p"))
        for name, passed in zip(names, outcomes, strict=True):
            if passed is not None:
                output = "green" if passed else "red"
                records.append(answer(f"{name}/{version}", name, output, promptVersionRef=version))
    return suite(*records, benchmark("b", *names))


@pytest.mark.parametrize("gained", [9, 12], ids=["p = .004", "p = .0005"])
def test_the_same_outputs_compared_again_are_the_same_comparison_at_every_interface(at: Terminal, gained: int) -> None:
    at.run("import", at.file("s.json", two_versions(range(5), range(5 + gained), cases=30)))
    first, again, text = at.many([*COMPARE, "--json"], [*COMPARE, "--json"], COMPARE)
    told = first.one()
    assert told["verdict"] == "improved"
    assert again.one() == told, "the same outputs, the same answer"
    assert text.out.startswith("IMPROVED"), "text and --json agree"
    runs = [str(at.run("run-benchmark", "b", "--prompt-version", f"v{n}", "--json").one()["runId"]) for n in (1, 2)]
    by_runs = at.run("compare", *runs, "--json").one()
    assert by_runs["comparisonId"] == told["comparisonId"], "other runs of the same outputs, too"
    assert at.run("list", "prompt-comparison", "--json").out.count('"outputsDigest"') == 1


def test_a_new_output_is_a_new_comparison(at: Terminal) -> None:
    at.run("import", at.file("s.json", two_versions(range(5), range(14), cases=30)))
    at.run(*COMPARE)
    newer = answer("c29/again", "c29", "green now", promptVersionRef="v2", triggeredAt="2030-01-01T00:00:00Z")
    at.run("import", at.file("t.json", suite(newer)))
    told = at.run(*COMPARE, "--json").one()
    assert told["attempt"] != 1
    assert told["pooled"] == [], "the outputs that both have count once"


@pytest.mark.parametrize("tried", [0, 2, 9])
def test_a_fall_is_decided_at_the_same_level_whatever_was_tried_before(at: Terminal, tried: int) -> None:
    drawn = random.Random(5)  # noqa: S311  outputs, no secret
    current: Sequence[bool | None] = [True] * 44 + [False] * 6
    others = [[drawn.random() < 0.85 for _ in range(50)] for _ in range(tried)]
    fallen: Sequence[bool | None] = [True] * 37 + [False] * 13  # seven fewer: p = .016
    at.run("import", at.file("s.json", versions_suite(current, *others, fallen)))
    for number in range(tried):
        at.run("compare", "b", "--from", "v1", "--to", f"v{number + 2}")
    last = ["compare", "b", "--from", "v1", "--to", f"v{tried + 2}"]
    ended = at.run(*last, "--json", "--fail-on-regression")
    told = ended.one()
    assert (told["verdict"], told["level"], ended.code) == ("regressed", 0.05, 1)
    assert int(str(told["attempt"])) == tried + 1 or tried
    assert "significance level 0.05" in " ".join(at.run("runs", "latest").out.split()), "one answer names one level"


def test_outputs_that_are_missing_are_failures_of_the_version_that_lacks_them(at: Terminal) -> None:
    current: Sequence[bool | None] = [True] * 20 + [False] * 20
    lacking: Sequence[bool | None] = [True] * 20 + [True] * 9 + [None] * 11
    better: Sequence[bool | None] = [True] * 36 + [False] * 4
    at.run("import", at.file("s.json", versions_suite([*current[:10], *current[10:]], lacking, better)))
    told = at.run(*COMPARE, "--json").one()
    assert told["verdict"] == "improved", "what is missing failed before, too: the gain holds without it"
    full: Sequence[bool | None] = [True] * 20 + [False] * 9 + [True] * 11
    at.run("import", at.file("t.json", _renamed(versions_suite(full, lacking), "x")))
    told = at.run("compare", "xb", "--from", "xv1", "--to", "xv2", "--json").one()
    assert told["verdict"] == "inconclusive"
    assert "11 outputs are missing: if missing outputs count as failures, the verdict would be" in str(told["inWords"])


def test_an_equal_version_that_lacks_its_hard_outputs_is_not_equivalent_or_better(at: Terminal) -> None:
    drawn = random.Random(7)  # noqa: S311  as above
    current = [drawn.random() < 0.6 for _ in range(40)]
    lacking = [True if drawn.random() < 0.6 else None for _ in range(40)]
    at.run("import", at.file("s.json", versions_suite(current, lacking)))
    assert at.run(*COMPARE, "--json").one()["verdict"] not in {"improved", "equivalent"}


def _renamed(value: JsonValue, prefix: str) -> JsonValue:
    """The suite with every id under another name, so that it stands beside the first."""
    names = {"id", "testCaseIds", "promptVersionRef", "promptId"}
    if isinstance(value, dict):
        return {
            key: (
                [f"{prefix}{one}" for one in held]
                if key in names and isinstance(held, list)
                else f"{prefix}{held}" if key in names else _renamed(held, prefix)
            )
            for key, held in value.items()
        }  # fmt: skip
    return [_renamed(one, prefix) for one in value] if isinstance(value, list) else value
