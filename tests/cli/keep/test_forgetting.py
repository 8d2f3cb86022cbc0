"""`forget`: what names a person, what a record holds, what is old; and `delete`, which only hides."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import JsonValue

from minions_evals_mcp import Case, Rubric, Score, evaluate
from tests.shared.cli.terminal import Ended, Json, Terminal
from tests.shared.store.file_bytes import bytes_of

WHO = "Ada Zqxcanary"


def task(question: str) -> str:
    return f"{question} is a person, says {WHO}"


def tone(output: str, case: Any) -> dict[str, object]:
    return {f"as {WHO} would": Score(0.4, f"{WHO} would not"), "polite": True}


def test_a_person_is_forgotten_everywhere_and_the_figures_stay(at: Terminal) -> None:
    store = at.folder / "evals.db"
    cases = [
        Case({"question": WHO}, expected=WHO, id="zqxcanary-1", name=f"about {WHO}", tags=("zqxcanary",)),
        Case({"question": "harmless"}, expected="harmless"),
    ]
    checks: list[Any] = ["icontains", tone, Rubric(f"It names {WHO}")]
    result = evaluate(task, cases, checks=checks, name="zqxcanary/suite", store=store, progress=False)
    at.file(
        "runs.json",
        '[{"type": "agent-run", "id": "run/zqxcanary", "title": "of Zqxcanary", "fields": {"agentId": "zqxcanary", "triggeredBy": "x",'
        ' "triggeredAt": "2026-01-01T00:00:00Z", "status": "success", "inputs": {"question": "Where is Ada Zqxcanary"},'
        ' "outputs": {"output": "ADA ZQXCANARY is out"}, "toolCallsLog": [{"tool": "search", "arguments": {"Ada Zqxcanary": "x"}}]}}]',
    )
    assert at.run("import", "runs.json", "--db", "evals.db").code == 0
    hidden = at.run("delete", "run/zqxcanary", "--db", "evals.db")
    assert "is hidden, not erased" in hidden.out
    assert "minions-evals forget --record run/zqxcanary" in hidden.out
    before = bytes_of(store)
    asked = at.run("forget", "--subject", "zqxcanary", "--db", "evals.db")
    assert bytes_of(store) == before
    both, erased = at.many(
        ["forget", "--subject", "zqxcanary", "--record", "x", "--yes", "--db", "evals.db"],
        ["forget", "--subject", "zqxcanary", "--yes", "--db", "evals.db"],
    )
    assert (asked.code, both.code, erased.code) == (2, 2, 0), erased.err
    counted = asked.err.partition("the content of ")[2].partition(". You cannot")[0]
    assert {"2 outputs", "1 agent run", "2 test cases"} <= {*counted.split(", ")}
    assert "To erase it: minions-evals forget --db evals.db --subject zqxcanary --yes" in asked.err
    assert "exactly one of" in both.err
    assert f"Erased: {counted}." in erased.out
    assert b"zqxcanary" not in bytes_of(store).lower()
    runs, doctor = at.many(["runs", "--json", "--db", "evals.db"], ["doctor", "--db", "evals.db"])
    assert result.run_id in runs.out
    assert "0 of 2" in runs.out or '"passedCount":0' in runs.out.replace(" ", "")
    assert "zqxcanary" not in runs.out.lower()
    assert "✓ store" in doctor.out


def test_a_record_loses_its_content_with_all_that_was_made_of_it(at: Terminal) -> None:
    store = at.folder / "evals.db"
    evaluate(task, [Case({"question": WHO}, expected=WHO, id="one")], name="s", store=store, progress=False)
    evaluate(
        task, [Case({"question": "Bo Other"}, expected="Bo Other", id="two")], name="s2", store=store, progress=False
    )
    erased = at.run("forget", "--record", "s/one", "--yes", "--db", "evals.db")
    assert erased.code == 0, erased.err
    held = bytes_of(store)
    assert b"Bo Other is a person" in held
    assert f"{WHO} is a person".encode() not in held
    shown = at.run("show", "s/one", "--db", "evals.db")
    assert "forgotten@" in shown.out


def run_of(ended: Ended) -> Json:
    return cast("Json", ended.one()["benchmarkRun"])


def case(ident: str, looked_for: str) -> Json:
    checks: list[JsonValue] = [{"type": "contains", "value": looked_for}]
    return {"id": ident, "type": "test-case", "fields": {"name": ident, "inputs": {"q": ident}, "assertions": checks}}


def recorded(ident: str, said: str) -> Json:
    of: Json = {"agentId": "a", "triggeredBy": "x", "triggeredAt": "2026-01-01T00:00:00Z", "status": "success"}
    fields: Json = {**of, "inputs": {"q": ident}, "outputs": {"output": said}}
    return {"id": f"of-{ident}", "type": "agent-run", "fields": fields}


def test_what_was_erased_is_judged_no_more(at: Terminal) -> None:
    cases: list[JsonValue] = [case("ours", WHO), case("theirs", "4"), case("sound", "5")]
    runs: list[JsonValue] = [recorded("ours", "4"), recorded("theirs", f"{WHO} says 4"), recorded("sound", "5")]
    whole: Json = {"id": "b", "type": "benchmark", "fields": {"name": "b", "testCaseIds": ["ours", "theirs", "sound"]}}
    at.file("suite.json", json.dumps({"minions": [*cases, whole, *runs]}))
    assert at.run("import", "suite.json").code == 0
    before = at.run("run-benchmark", "b", "--json")
    erased, *again = at.many(
        ["forget", "--subject", WHO, "--yes"],
        ["run-benchmark", "b", "--json"],
        ["rejudge", str(run_of(before)["id"]), "--json"],
    )
    assert erased.code == 0, erased.err
    for run in again:
        assert run.one()["outcomes"] == {"scored": 1, "skipped": 2}, run.out


def test_what_was_erased_is_not_filled_again_by_the_same_file_and_that_is_said(at: Terminal) -> None:
    sums: list[JsonValue] = [case("ours", WHO), case("sound", "5")]
    at.file("suite.json", json.dumps({"minions": [*sums, recorded("ours", "4")]}))
    at.file("edited.json", json.dumps({"minions": [case("ours", "4")]}))
    _, erased, same, changed, again = at.many(
        ["import", "suite.json"],
        ["forget", "--record", "ours", "--yes"],
        ["import", "suite.json"],
        ["import", "edited.json"],
        ["import", "suite.json"],
    )
    assert erased.code == 0, erased.err
    assert same.out.splitlines()[0] == "suite.json: 0 new, 0 changed, 3 unchanged"
    assert "ours was erased and stays so. To use it again, change it in the file" in same.out + same.err
    assert changed.out.splitlines()[0] == "edited.json: 0 new, 1 changed, 0 unchanged"
    assert "erased" not in changed.out + changed.err + again.out + again.err


def test_what_is_not_too_old_for_the_project_is_kept_and_days_are_vetted(at: Terminal) -> None:
    store = at.folder / "evals.db"
    evaluate(task, [Case({"question": WHO}, expected=WHO, id="one")], name="s", store=store, progress=False)
    at.file("minions-evals.toml", "[retention]\nmessages = 3\n")
    none, kept = at.many(
        ["forget", "--retention", "--db", "evals.db"], ["forget", "--retention", "--yes", "--db", "evals.db"]
    )
    assert (none.code, none.out) == (0, "Nothing to erase.\n")
    assert (kept.code, "Nothing to erase." in kept.out) == (0, True), kept.err
    assert f"{WHO} is a person".encode() in bytes_of(store)
    at.file("minions-evals.toml", "[retention]\noutputs = 3\nagent-runs = 0\n")
    refused = at.run("forget", "--retention", "--yes", "--db", "evals.db")
    assert (refused.code, "retention.agent-runs" in refused.err) == (2, True), refused.err
    (at.folder / "minions-evals.toml").unlink()
    missing = at.run("forget", "--retention", "--yes", "--db", "evals.db")
    assert (missing.code, "no [retention]" in missing.err) == (2, True), missing.err
