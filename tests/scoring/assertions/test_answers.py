"""Our answers beside those of the real promptfoo to our own cases, recorded by `tests/bench/promptfoo/record.py`.

0.121.20 and 0.123.1 answer alike, but for `gleu` on an empty output (there the older one stops; recorded is the newer).
`pass` must be the same, and `score` to 1e-6. Where promptfoo is plainly wrong the case stands in `DISAGREEMENTS` with the
reason. A judge's reply is scripted for the two types that a model grades.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue, TypeAdapter

from minions_evals_mcp.domain.assertions import Assertion
from minions_evals_mcp.domain.neighbours import ToolCall
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.sandbox.regex import RegexSandbox
from minions_evals_mcp.scoring.assertions.table import NAMES, check, check_all, needs, vet
from minions_evals_mcp.scoring.checks import Aggregate, Checked, Evidence, Grade, GradeNeed, RegexNeed, Subject
from minions_evals_mcp.scoring.metrics import metric_scores, named_in

Row = dict[str, JsonValue]
Verdict = tuple[bool, float]

HERE = Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "reference" / "promptfoo.md"
LINES = (HERE / "promptfoo_answers.jsonl").read_text(encoding="utf-8").split("\n")
ROWS: list[Row] = [json.loads(line) for line in LINES if line]
WHOLES: list[Row] = [
    json.loads(line) for line in (HERE / "promptfoo_wholes.jsonl").read_text(encoding="utf-8").split("\n") if line
]
CALLS = TypeAdapter(tuple[ToolCall, ...])
FIELDS = ("type", "value", "threshold", "weight")
DISAGREEMENTS: dict[str, tuple[Callable[[Row], bool], str]] = {
    "a key without a value is not an object": (
        lambda row: base(row) == "contains-json" and row["output"] == '{not json} but {"a": 2}',
        "promptfoo reads {not json} as {'not json': null}, an object that fits a schema which asks for little, and so"
        " finds JSON in any prose in braces.",
    ),
    "a refusal is distinguished from an apology": (
        lambda row: base(row) == "is-refusal" and row["output"] in REFUSALS,
        'promptfoo looks for phrases: "I won\'t do that." is none to it, while "I\'m sorry for the delay! The answer is'
        ' 42." and a condolence are.',
    ),
    "not- inverts every check": (
        lambda row: row.get("type") == "not-factuality",
        "promptfoo passes over the not-: not-factuality says the same as factuality.",
    ),
    "a Unicode class is refused": (
        lambda row: base(row) == "regex" and row["value"] == "\\p{L}",
        "promptfoo builds the pattern without the flag u, so that \\p{L} silently looks for the text p{L}; we refuse it"
        " by name when it is read.",
    ),
    "a number is read as text": (
        lambda row: base(row) == "starts-with" and row["value"] == 5,
        "promptfoo stops the test at a number, although contains takes it for its text; so do we here.",
    ),
    "a set of weight 0 cannot fail": (
        lambda row: {"type": "assert-set", "assert": [NO], "weight": 0} in members(row),
        "promptfoo lets an assertion of weight 0 pass, but a set of weight 0 fails the test to which it adds no score.",
    ),
    "a metric of weight 0 is measured": (
        lambda row: any(isinstance(one, dict) and one.get("weight") == 0 and "metric" in one for one in members(row)),
        "promptfoo names 0 for a metric whose assertions weigh 0, though they are there for their metric.",
    ),
    "a code fence may begin within a line": (
        lambda row: base(row) == "contains-sql" and row["output"] == "text ```sql\nSELECT 1\n```",
        "promptfoo looks for fences at the start of a line only, and does not see the statement in one after words.",
    ),
    "an empty set is refused": (
        lambda row: {"type": "assert-set", "assert": []} in members(row),
        "promptfoo passes a set without assertions with score 0, which pulls the aggregate down.",
    ),
    "a blank entry of a list is refused": (
        lambda row: base(row) in LISTED and has_blank(row["value"]),
        "promptfoo finds a blank entry in every output, so that contains-any passes whatever the other entries are.",
    ),
}
"""Where promptfoo is plainly wrong: by what we do instead, which cases are meant, and why."""
OLDER = "an empty output has a GLEU of 0"
"""Where only the older promptfoo differs."""
LISTED = {"contains-all", "contains-any", "icontains-all", "icontains-any"}
REFUSALS = ("I won't do that.", "I'm sorry for the delay! The answer is 42.", "I am sorry to hear about your loss.")
NO: Row = {"type": "contains", "value": "z"}


def base(row: Row) -> str:
    """The type without its negation, "" of a whole test."""
    return str(row.get("type", "")).removeprefix("not-")


def has_blank(value: JsonValue) -> bool:
    """Whether the value is a list with a blank text in it."""
    return isinstance(value, list) and any(isinstance(entry, str) and not entry.strip() for entry in value)


def members(row: Row) -> list[JsonValue]:
    """The assertions of a whole test."""
    return cast("list[JsonValue]", row.get("assert", []))


def is_disputed(row: Row) -> bool:
    """Whether the case is one of those where promptfoo is plainly wrong."""
    return any(concerns(row) for concerns, _ in DISAGREEMENTS.values())


def subject_of(row: Row) -> Subject:
    """The output with what was measured."""
    measured = {key: float(value) for key in ("latency", "cost") if isinstance(value := row.get(key), int | float)}
    reason = row.get("finish_reason")
    return Subject(
        str(row["output"]),
        measured.get("latency"),
        measured.get("cost"),
        tool_calls=CALLS.validate_json(json.dumps(row.get("tool_calls", []))),
        finish_reason=str(reason) if reason else None,
        of_config=base(row) == "finish-reason",  # elsewhere there is no verdict where no reason is known
    )


def read(asked: JsonValue) -> Assertion:
    """The vetted assertion."""
    assertion = Assertion.model_validate_json(json.dumps(asked))
    vet(assertion)
    return assertion


def graded(replies: str) -> Grade:
    """What a judge's reply means."""
    said = json.loads(replies)
    agrees = said.get("category") != "D"
    return Grade(said["pass"], said["score"], "") if "pass" in said else Grade(agrees, float(agrees), "")


def ours(row: Row, searched: dict[RegexNeed, bool]) -> Verdict:
    """Our pass and score."""
    assertion, subject = read({key: row[key] for key in FIELDS if key in row}), subject_of(row)
    grades = {need: graded(str(row["replies"])) for need in needs([assertion], subject) if isinstance(need, GradeNeed)}
    found = check(assertion, subject, Evidence(regexes=searched, grades=grades))
    assert isinstance(found, Checked), row
    return found.passed, found.score


def theirs(row: Row) -> tuple[bool, object]:
    """What promptfoo answered; a negated F1 scores there as the F1 does, and here what is left to 1."""
    score = 1 - float(str(row["score"])) if row.get("type") == "not-tool-call-f1" else row["score"]
    return bool(row["pass"]), pytest.approx(score, abs=1e-6)


@pytest.fixture(scope="module")
def searched() -> dict[RegexNeed, bool]:
    """The searches that only a backtracking engine can make, by the real one."""
    wanted: list[RegexNeed] = []
    for row in ROWS:
        if base(row) == "regex" and not is_disputed(row):
            assertion = read({key: row[key] for key in FIELDS if key in row})
            wanted += [need for need in needs([assertion], subject_of(row)) if isinstance(need, RegexNeed)]

    async def search() -> dict[RegexNeed, bool]:
        async with RegexSandbox(seconds=5) as sandbox:
            found = await sandbox.search(wanted)
        return {need: hit for need, hit in found.items() if isinstance(hit, bool)}

    return anyio.run(search)


@pytest.mark.parametrize("kind", sorted({base(row) for row in ROWS}))
def test_we_pass_and_score_as_promptfoo_does(kind: str, searched: dict[RegexNeed, bool]) -> None:
    rows = [row for row in ROWS if base(row) == kind and not is_disputed(row)]
    assert rows
    different = [(row, found) for row in rows if (found := ours(row, searched)) != theirs(row)]
    assert different == []


def test_whole_tests_pass_and_score_and_name_their_metrics_as_in_promptfoo() -> None:
    for row in WHOLES:
        if is_disputed(row):
            continue
        limit = row.get("threshold")
        threshold = float(limit) if isinstance(limit, int | float) else None
        found = check_all([read(one) for one in members(row)], subject_of(row), threshold=threshold)
        assert isinstance(found, Aggregate)
        assert (found.passed, found.score) == theirs(row), row
        assert metric_scores(named_in(found)) == pytest.approx(row.get("named", {}), abs=1e-6), row


def test_answers_are_recorded_for_every_type_that_promptfoo_decides_without_a_machine_of_its_own() -> None:
    kinds = {base(row) for row in ROWS} | {"assert-set"}
    assert kinds <= {*NAMES}, "code and meaning depend on the machine, and some types are ours alone"
    assert len(kinds) >= 33
    both = Counter((base(row), row["pass"]) for row in ROWS if "pass" in row)
    assert all(both[kind, passed] for kind in kinds - {"assert-set"} for passed in (True, False))
    assert len(ROWS) + len(WHOLES) > 6_000


@pytest.mark.parametrize("name", DISAGREEMENTS)
def test_each_disagreement_is_still_one(name: str) -> None:
    concerns, reason = DISAGREEMENTS[name]
    assert reason
    rows = [row for row in (*ROWS, *WHOLES) if concerns(row)]
    different = 0
    for row in rows:
        try:
            if "assert" in row:
                found = check_all([read(one) for one in members(row)], subject_of(row))
                assert isinstance(found, Aggregate)
                named = metric_scores(named_in(found))
                different += (found.passed, found.score) != theirs(row) or named != row.get("named", {})
            else:
                different += "error" in row or ours(row, {}) != theirs(row)
        except InvalidRecordError:
            different += 1
    assert different > 0


@pytest.mark.parametrize("kind", sorted(LISTED))
def test_every_recorded_list_with_a_blank_entry_is_refused_by_the_place_of_the_entry(kind: str) -> None:
    rows = [row for row in ROWS if base(row) == kind and has_blank(row["value"])]
    assert rows
    for row in rows:
        with pytest.raises(InvalidRecordError, match=r"value\.0: the entry is blank") as refused:
            read({key: row[key] for key in FIELDS if key in row})
        assert refused.value.field == "value.0"


def test_the_page_lists_every_disagreement_and_no_other() -> None:
    among_the_recorded, of_configs, _ = PAGE.read_text("utf-8").partition("And in configs:\n")
    assert of_configs
    listed = re.findall(r"^- \*\*(.+?)\*\*: \S", among_the_recorded, re.MULTILINE)
    assert sorted(listed) == sorted([*DISAGREEMENTS, OLDER])


def test_an_empty_output_has_a_gleu_of_nothing_as_in_the_newer_promptfoo() -> None:
    rows = [row for row in ROWS if row.get("type") == "gleu" and row["output"] == ""]
    assert rows
    assert all(ours(row, {}) == (False, 0) and theirs(row) == (False, 0) for row in rows)
