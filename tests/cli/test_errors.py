"""What every command has in common: help, one JSON value a line, exit codes, and refusals that say what to do."""

from __future__ import annotations

import json

import pytest

from minions_evals_mcp.cli.commands import DB_COMMANDS, SHOWN
from tests.shared.cli.terminal import Ended, Terminal

BAD: dict[str, tuple[list[str], str]] = {
    "unknown command": (["run-benchmrk", "x"], 'Did you mean "run-benchmark"?'),
    "option before the command": (["--db", "x.db", "runs"], "options come after the command"),
    "unknown option": (["list", "benchmark", "--jsn"], "Did you mean --json?"),
    "missing argument": (["list"], "requires an argument"),
    "superfluous argument": (["db", "check", "extra"], "extra"),
    "no number": (["list", "benchmark", "--limit", "abc"], "--limit"),
    "limit of none": (["list", "benchmark", "--limit", "0"], "--limit"),
    "negative limit": (["outbox", "--limit", "-5"], "--limit"),
    "huge limit": (["list", "benchmark", "--limit", "9" * 30], "--limit"),
    "huge cursor": (["outbox", "--after", "9" * 30], "--after"),
    "negative cursor": (["list", "benchmark", "--after", "-1"], "--after"),
    "no runs": (["runs", "--limit", "0"], "--limit"),
    "no trials": (["run-benchmark", "x", "--trials", "0"], "--trials"),
    "endless trials": (["run-benchmark", "x", "--trials", "9" * 30], "--trials"),
    "NaN as gate": (["run-benchmark", "x", "--min-score", "nan"], "--min-score"),
    "gate in percent": (["run-benchmark", "x", "--min-score", "80"], "--min-score"),
    "NaN as cap": (["run-benchmark", "x", "--max-cost-usd", "nan"], "--max-cost-usd"),
    "no money as cap": (["run-benchmark", "x", "--max-cost-usd", "0"], "--max-cost-usd"),
    "no time as cap": (["run-benchmark", "x", "--max-seconds", "0"], "--max-seconds"),
    "negative cap": (["run-benchmark", "x", "--max-seconds", "-1"], "--max-seconds"),
    "unknown judge": (["run-benchmark", "x", "--judge", "oracle"], "oracle"),
    "blank asker": (["run-benchmark", "x", "--triggered-by", " "], "--triggered-by"),
    "id with a space": (["run-benchmark", "a b"], "ID"),
    "no width": (["run-benchmark", "x", "--concurrency", "0"], "--concurrency"),
    "unknown type": (["list", "nonsense"], "'nonsense'"),
    "unknown type to export": (["export", "--type", "nonsense"], "'nonsense'"),
    "unknown record": (["show", "nobody"], "'nobody'"),
    "unknown record to hide": (["delete", "nobody"], "'nobody'"),
    "unknown case": (["run-test-case", "nobody"], "'nobody'"),
    "unknown benchmark": (["run-benchmark", "nobody"], "'nobody'"),
    "unknown test-run": (["classify", "nobody"], "'nobody'"),
    "unknown run": (["runs", "nobody"], "'nobody'"),
    "id with an escape": (["show", "\x1b[31mred"], "[31mred"),
    "missing suite": (["import", "missing.yaml"], "missing.yaml"),
    "junk as suite": (["import", "junk"], "it is not UTF-8 (invalid start byte at byte 4)"),
    "missing judgments": (["submit", "missing.json"], "missing.json"),
    "folder as judgments": (["submit", "."], "directory"),
    "junk as judgments": (["submit", "junk"], "junk"),
    "judgments of no run": (["submit", "empty.json"], "runId"),
    "missing rows": (["score", "missing.jsonl"], "missing.jsonl"),
    "folder as rows": (["score", "."], "directory"),
}
BROKEN: dict[str, tuple[list[str], str]] = {
    "folder as store": (["list", "benchmark", "--db", "."], "cannot be"),
    "junk as store": (["list", "benchmark", "--db", "junk"], "not a"),
    "store below a file": (["import", "case.yaml", "--db", "junk/evals.db"], "cannot be used"),
    "missing store": (["list", "benchmark", "--db", "no.db"], "no.db"),
    "missing store, read only": (["list", "benchmark", "--db", "no.db", "--read-only"], "no.db"),
    "missing store to copy": (["db", "backup", "copy.db", "--db", "no.db"], "no.db"),
    "missing store to check": (["db", "check", "--db", "no.db"], "no.db"),
}


def with_files(at: Terminal) -> Terminal:
    at.file("junk", b"\x7fELF\xff\xfe\x00\x80" * 700)
    at.file("empty.json", "{}")
    at.file("case.yaml", "minions: [{id: c, type: test-case, fields: {name: c, inputs: {q: c}}}]")
    at.run("import", "case.yaml")
    return at


def assert_refused(found: Ended, code: int, named: str, name: str) -> None:
    assert found.code == code, (name, found)
    assert found.out == "", (name, found)
    message, _, remedy = found.err.removesuffix("\n").partition("\n")
    assert message.startswith("Error: "), (name, found)
    assert named in message, (name, found)
    assert remedy.startswith("  "), (name, found)
    assert "\x1b" not in found.err, (name, found)


def test_the_first_help_names_every_command_and_where_to_begin(at: Terminal) -> None:
    first, none, db = at.many(["--help"], [], ["db", "--help"])
    assert first.code == none.code == db.code == 0
    assert first.out == none.out
    assert "minions-evals demo" in first.out
    for name in (one for names in SHOWN.values() for one in names):
        assert f" {name} " in first.out
    for name in DB_COMMANDS:
        assert f" {name} " in db.out


@pytest.mark.parametrize(("table", "code"), [(BAD, 2), (BROKEN, 3)], ids=["bad input is 2", "a broken store is 3"])
def test_a_refusal_says_what_and_what_to_do_on_stderr(
    at: Terminal, table: dict[str, tuple[list[str], str]], code: int
) -> None:
    ended = with_files(at).asked(*(command for command, _ in table.values()))
    for (name, (_, named)), found in zip(table.items(), ended, strict=True):
        assert_refused(found, code, named, name)


@pytest.mark.parametrize(("table", "code"), [(BAD, 2), (BROKEN, 3)], ids=["bad input is 2", "a broken store is 3"])
def test_a_refusal_for_programs_is_one_json_value_on_stdout(
    at: Terminal, table: dict[str, tuple[list[str], str]], code: int
) -> None:
    ended = with_files(at).asked(*([*command, "--json"] for command, _ in table.values()))
    for name, found in zip(table, ended, strict=True):
        assert found.code == code, (name, found)
        error = found.error()
        assert error["code"], name
        assert error["message"], name
        assert error["remedy"], name
        assert "Traceback" not in found.err, (name, found.err)


def test_a_failed_command_of_a_real_process_ends_with_the_code_and_no_traceback(bare: Terminal) -> None:
    found = bare.run("show", "nobody")
    assert_refused(found, 3, "there is no store at", "show")
    assert not any(bare.folder.iterdir())


def test_a_store_that_is_not_there_is_made_by_what_writes_alone_and_a_near_name_is_named(at: Terminal) -> None:
    made = with_files(at).run("import", "case.yaml", "--db", "evals-1.db")
    assert made.err == "Created a new store at evals-1.db.\n"
    assert at.run("import", "case.yaml", "--db", "evals-1.db").err == ""
    misspelt = at.run("list", "test-case", "--db", "evals-2.db")
    assert misspelt.err.endswith("  Did you mean --db evals-1.db?\n")
    assert not (at.folder / "evals-2.db").exists()


def test_every_reading_command_answers_one_json_value(shop: Terminal) -> None:
    run = shop.run("runs", "demo-after", "--json").one()["failures"]
    assert isinstance(run, list)
    assert isinstance(run[0], dict)
    failed = str(run[0]["testRunId"])
    commands = (
        ["list", "benchmark"], ["show", "support/quality"], ["runs"], ["runs", "demo-after"], ["outbox"], ["doctor"],
        ["db", "check"], ["db", "path"], ["classify", failed], ["run-test-case", "support/gift-receipt"],
        ["run-benchmark", "support/quality", "--judge", "heuristic", "--prompt-version", "support/prompt@1"],
    )  # fmt: skip
    for command, found in zip(commands, shop.many(*([*one, "--json"] for one in commands)), strict=True):
        assert found.code == 0, (command, found)
        assert isinstance(found.one(), dict), command
        assert found.err == "", (command, found)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("MINIONS_EVALS_DBB", "MINIONS_EVALS_DB?"), ("MINIONS_EVALS_QQQ", "docs/reference/settings.md lists all")],
)
def test_an_unknown_variable_of_ours_is_refused_by_name(at: Terminal, name: str, hint: str) -> None:
    (found,) = at.with_env(**{name: "1"}).many(["list", "benchmark"])
    assert_refused(found, 2, name, name)
    assert hint in found.err


def test_a_locale_without_unicode_loses_nothing(at: Terminal) -> None:
    at = at.with_env(PYTHONIOENCODING="ascii", LC_ALL="C")
    at.file("s.json", {"minions": [{"id": "p", "type": "prompt-version", "title": "naïve ✓", "fields": {
        "content": "x", "versionNumber": 1}}]})  # fmt: skip
    taken, shown = at.run("import", "s.json"), at.run("list", "prompt-version")
    assert (taken.code, shown.code) == (0, 0)
    assert "naïve ✓" in shown.out


def test_read_only_reads_and_changes_nothing(shop: Terminal) -> None:
    read, changed = shop.many(
        ["show", "support/quality", "--json", "--read-only"], ["delete", "support/quality", "--read-only", "--json"]
    )
    assert read.code == 0
    assert changed.code in {2, 3}
    assert json.dumps(changed.error())
    assert shop.run("show", "support/quality", "--json").one().get("deletedAt") is None
