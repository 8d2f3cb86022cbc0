"""What a start costs: no command pays for what it does not use."""

from __future__ import annotations

import importlib
import json
import sys

import anyio
import pytest

from tests.shared.cli.terminal import CLI, Terminal
from tests.shared.fakes.llm_server import Server
from tests.workshop import answer, benchmark, case

PROVIDERS = {"anthropic", "openai"}
HEAVY = PROVIDERS | {"pydantic", "aiosqlite", "genai_prices", "mcp", "wordllama", "numpy", "jsonschema", "yaml"}
PROBE = """
import json, sys
from minions_evals_mcp.cli.app import main
for arguments in {commands!r}:
    sys.argv = ["minions-evals", *arguments]
    try:
        main()
    except SystemExit as left:
        assert not left.code, left.code
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def loaded(at: Terminal, *commands: list[str]) -> set[str]:
    """The top-level modules in a process that has carried out the commands, one after another."""
    found = at.carried_out([sys.executable, "-c", PROBE.format(commands=commands)])
    assert found.code == 0, found
    return {name.partition(".")[0] for name in json.loads(found.err.splitlines()[-1])}


def test_help_imports_nothing_heavy(at: Terminal) -> None:
    assert not loaded(at, ["--help"]) & HEAVY


def test_a_bare_import_of_the_package_is_light(at: Terminal) -> None:
    probe = "import minions_evals_mcp, sys, json; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    found = json.loads(at.carried_out([sys.executable, "-c", probe]).err)
    assert not {name.partition(".")[0] for name in found} & (HEAVY | {"rich", "cyclopts", "anyio"})


def test_no_command_that_judges_by_rule_imports_a_provider(at: Terminal) -> None:
    with_key = at.with_env(ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    store = ["--db", str(at.db)]
    run = ["run-benchmark", "support/quality", "--judge", "heuristic"]
    assert not loaded(with_key, ["demo", *store], [*run, *store]) & PROVIDERS
    assert not loaded(with_key, ["doctor"]) & {"anthropic"}


async def test_a_judge_that_needs_a_key_only_is_asked_without_its_sdk(at: Terminal, server: Server) -> None:
    at = at.with_env(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url)
    (at.folder / "s.jsonl").write_text(
        '{"id": "1", "output": "b", "assert": [{"type": "llm-rubric", "value": "polite"}]}\n'
    )
    commands = (["score", "s.jsonl", "--judge-model", "anthropic:fake-judge"],)
    found = await anyio.to_thread.run_sync(lambda: loaded(at, *commands))
    assert server.requests
    assert not found & PROVIDERS


@pytest.mark.parametrize(
    ("arguments", "waits_for"), [(("--help",), set[str]()), ((), set[str]()), (("db", "--help"), {"cyclopts"})]
)
def test_help_waits_for_nothing_that_it_does_not_need(
    at: Terminal, arguments: tuple[str, ...], waits_for: set[str]
) -> None:
    told = at.carried_out([sys.executable, "-X", "importtime", *CLI[1:], *arguments])
    assert told.code == 0
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in told.err.splitlines()}
    assert {"minions_evals_mcp"} <= imported
    assert imported & {"cyclopts"} == waits_for
    assert not imported & {"pydantic", "aiosqlite", "anyio", "jinja2", "anthropic", "numpy", "mcp"}
    assert "minions_evals_mcp.engine" not in told.err


def test_rows_of_a_file_alone_wait_for_no_reader_of_options_and_no_types_of_records(at: Terminal) -> None:
    row = {"id": "1", "output": "Paris", "assert": [{"type": "contains", "value": "Par"}, {"type": "is-json"}]}
    at.file("rows.jsonl", json.dumps(row))
    for command in (["score", "rows.jsonl"], ["score", "rows.jsonl", "--fail"]):
        told = at.carried_out([sys.executable, "-X", "importtime", *CLI[1:], *command])
        assert json.loads(told.out)["score"] == 0.5
        imported = {line.rpartition("|")[2].strip() for line in told.err.splitlines()}
        assert ("cyclopts" in imported, told.code) == ("--fail" in command, int("--fail" in command))
        assert "minions_evals_mcp.interop.score_rows" in imported
        assert not imported & {"minions_evals_mcp.domain.definitions", "minions_evals_mcp.domain.neighbours"}


def test_no_plugins_of_pydantic_are_looked_for_in_all_that_is_installed(at: Terminal) -> None:
    place = vars(importlib.import_module("pydantic.plugin._loader"))
    assert "get_plugins" in place, (
        "a start gives its own, so that each command is spared 15 ms, and the import of what looks"
    )
    probe = (
        "import importlib.metadata, sys; from minions_evals_mcp.cli.entry import evals; sys.argv[1:] = ['doctor', '--json'];"
        "importlib.metadata.entry_points = lambda **_: sys.exit(77); evals()"
    )
    assert at.carried_out([sys.executable, "-c", probe]).code == 0


UNUSED = ("interop.promptfoo_config.config", "scoring.nunjucks", "scoring.classification", "scoring.failures.log", "engine.config_eval",
          "targets.host_streams", "sessions", "cluster", "interop.log_formats", "world")  # fmt: skip
"""What a recorded case that passes has no use for: other tools' formats, the causes of failures, worlds."""
MOST = 400
"""So many modules of ours judge it at most. 388 on the day this was written, 526 the day before."""


def test_a_recorded_case_that_passes_loads_no_more_than_it_uses(at: Terminal) -> None:
    records = (case("c", expectedOutputs={"output": "good"}), answer("a", "c", "good"), benchmark("b", "c"))
    assert at.run("import", at.file("suite.json", [record.wire() for record in records])).code == 0
    told = at.carried_out(
        [sys.executable, "-X", "importtime", *CLI[1:], "run-benchmark", "b", "--db", str(at.db), "--json"]
    )
    assert told.code == 0, told
    names = (line.rpartition("|")[2].strip() for line in told.err.splitlines() if line.startswith("import time:"))
    ours = {name.removeprefix("minions_evals_mcp.") for name in names if name.startswith("minions_evals_mcp.")}
    assert not {name for name in ours for unused in UNUSED if name == unused or name.startswith(f"{unused}.")}
    assert len(ours) <= MOST
