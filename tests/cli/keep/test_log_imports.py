"""`import` of other tools' logs: judged here, then compared, followed, explained and audited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from minions_evals_mcp.cli.keep.folder_imports import EACH_UP_TO
from tests.shared.cli.terminal import Ended, Terminal
from tests.shared.interop.makers import INSPECT_HEADER, Json, inspect_archive, inspect_sample, written
from tests.shared.interop.session_shapes import codex_rollout, plan

CASES = 12
BENCHMARK = "log:inspect/capitals"


def log(at: Terminal, name: str, right: int) -> str:
    """A log of Inspect's in which so many of the cases are right, and its version's id here."""
    told = [
        inspect_sample(n, 1, "It is Paris" if n < right else "Rome", "C" if n < right else "I") for n in range(CASES)
    ]
    header = {**INSPECT_HEADER, "eval": {**cast("Json", INSPECT_HEADER["eval"]), "eval_id": name, "model": f"m/{name}"}}
    written(at.folder / f"{name}.json", {**header, "samples": told})
    return f"log:inspect/capitals/{name}"


def counts(ran: Ended) -> tuple[JsonValue, JsonValue]:
    """How many passed, of how many."""
    run = cast("Json", ran.one()["benchmarkRun"])
    return run["passedCount"], run["totalCount"]


def test_imported_logs_are_judged_compared_followed_explained_and_audited(at: Terminal) -> None:
    versions = [log(at, name, right) for name, right in (("one", 2), ("two", 12), ("three", 12))]
    taken, again, *_ = at.many(
        ["import", "one.json", "two.json", "three.json", "--json"], ["import", "one.json", "--json"],
    )  # fmt: skip
    assert [one["foreignScores"] for one in taken.rows()] == [{"includes": CASES}] * 3
    assert [one["samples"] for one in taken.rows()] == [CASES] * 3
    assert (again.one()["new"], again.one()["changed"], again.one()["unchanged"]) == (0, 0, 2 * CASES + 2)
    *runs, compared, trend, audited = at.many(
        *(["run-benchmark", BENCHMARK, "--prompt-version", version, "--json"] for version in versions),
        ["compare", BENCHMARK, "--from", versions[0], "--to", versions[1], "--json"],
        ["trend", BENCHMARK, "--json"],
        ["audit", BENCHMARK, "--json"],
    )
    assert [counts(one) for one in runs] == [(2, 12), (12, 12), (12, 12)]
    assert (compared.one()["winner"], compared.one()["verdict"]) == (versions[1], "improved")
    assert trend.code == 0
    assert audited.code == 0
    assert cast("list[JsonValue]", audited.one()["cases"])
    failed = at.run("classify", str(runs[0].one()["runId"]), "--json")
    assert failed.code == 0, failed.err


def test_a_foreign_score_decides_nothing_here(at: Terminal) -> None:
    """The log says that every wrong answer is right: here they fail."""
    told = [inspect_sample(n, 1, "Rome", "C") for n in range(3)]
    inspect_archive(at.folder / "a.eval", *told)
    shown, ran = at.many(
        ["import", "a.eval"], ["run-benchmark", BENCHMARK, "--prompt-version", "log:inspect/capitals/eval1", "--json"]
    )
    assert "3 imported scores" in shown.out
    assert "gates ignore them until they are judged here" in shown.out
    assert counts(ran) == (0, 3)


def test_every_epoch_is_judged_by_the_command_that_import_prints(at: Terminal) -> None:
    """Of three cases one was tried once, one twice, one three times; the first try alone is right."""
    told = [
        inspect_sample(n, epoch, "It is Paris" if epoch == 1 else "Rome") for n in range(3) for epoch in range(1, n + 2)
    ]
    inspect_archive(at.folder / "a.eval", *told)
    ended = at.run("import", "a.eval")
    (line,) = [line for line in ended.out.splitlines() if "judge it here" in line]
    ran = at.run(*line.partition("minions-evals ")[2].split(), "--json")
    assert counts(ran) == (3, 6)


def test_of_a_log_that_is_damaged_at_its_end_nothing_is_kept(bare: Terminal) -> None:
    log(bare, "one", 3)
    path = Path(bare.folder / "one.json")
    path.write_text(path.read_text("utf-8")[:-30], "utf-8")
    refused = bare.run("import", "one.json", "--db", "new.db")
    assert refused.code == 2
    assert "one.json: no JSON: it is cut off" in refused.err
    assert [file.name for file in bare.folder.iterdir()] == ["one.json"]  # no empty store either


def test_a_format_can_be_named_and_an_unknown_one_is_refused(at: Terminal) -> None:
    log(at, "one", 3)
    named, wrong, suite, rows = at.many(
        ["import", "one.json", "--format", "inspect-json", "--json"],
        ["import", "one.json", "--format", "inspect"],
        ["import", "one.json", "--format", "suite"],
        ["import", "one.json", "--format", "suite", "--as", "test-case"],
    )
    assert named.one()["format"] == "inspect-json"
    assert "there is no format 'inspect'" in wrong.err
    assert "a suite is `records:" in suite.err
    assert "--format is for logs and suites" in rows.err


def test_a_folder_stands_for_the_files_in_it_that_can_be_read(at: Terminal) -> None:
    sessions = at.folder / "sessions" / "2026"
    sessions.mkdir(parents=True)
    written(sessions / "a.jsonl", codex_rollout(plan(1)))
    written(sessions / "b.jsonl", codex_rollout(plan(2)))
    (sessions / "notes.txt").write_text("Hello.")
    (sessions / "outside.jsonl").symlink_to(sessions / "a.jsonl")
    whole = at.run("import", "sessions", "--json")
    *files, total = whole.rows()
    assert whole.code == 0
    assert [(row["format"], row["outputs"]) for row in files] == [("codex", 1), ("codex", 1)]
    assert (total["taken"], total["refused"], total["others"]) == (2, 0, 1)
    figures = {name: sum(cast("int", row[name]) for row in files) for name in ("new", "changed", "unchanged")}
    assert total["formats"] == {"codex": {"taken": 2, "refused": 0, **figures}}
    assert figures["new"] > 0
    assert total["notRead"] == {".txt": 1}
    (sessions / "c.jsonl").write_text('{"type": "session_meta", "payload": {"id": "x"}\n{"type":')
    again = at.run("import", "sessions")
    assert again.code == 1
    assert "refused: sessions/2026/c.jsonl:1" in again.err
    assert "sessions: 2 files imported, 1 refused, 1 of an unsupported format" in again.out
    assert "  codex: 2 files, 0 new, 0 changed, " in again.out
    assert "  refused: 1 codex\n  not read: 1 .txt\n" in again.out
    assert [line for line in again.out.splitlines() if " new, " in line and " 0 new" not in line] == []


def test_many_files_have_one_summary_and_those_with_a_note_their_own_lines(at: Terminal) -> None:
    folder = at.folder / "many"
    folder.mkdir()
    for number in range(EACH_UP_TO + 1):
        case = {"id": f"c{number}", "type": "test-case", "fields": {"name": "n", "inputs": {"q": str(number)}}}
        (folder / f"{number}.jsonl").write_text(json.dumps(case))
    for name in ("a.PNG", "b.png", "LICENSE"):
        (folder / name).write_text("x")
    ended = at.run("import", "many")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        f"many: {EACH_UP_TO + 1} files imported, 0 refused, 3 of an unsupported format",
        f"  suite: {EACH_UP_TO + 1} files, {EACH_UP_TO + 1} new, 0 changed, 0 unchanged",
        "  not read: 2 .png, 1 without an extension",
    ]


def test_a_folder_in_which_nothing_can_be_read_is_refused(at: Terminal) -> None:
    (at.folder / "empty").mkdir()
    (at.folder / "empty" / "notes.txt").write_text("Hello.")
    ended = at.run("import", "empty")
    assert ended.code == 2
    assert "empty holds 1 files, but no suite and no known format." in ended.err
