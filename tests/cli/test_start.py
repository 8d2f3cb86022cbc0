"""What a start costs: no command pays for what it does not use."""

from __future__ import annotations

import json
import sys
import time

from tests.cli.terminal import CLI, Terminal

PROVIDERS = {"anthropic", "openai"}
HEAVY = PROVIDERS | {"pydantic", "aiosqlite", "genai_prices", "mcp", "wordllama", "numpy", "jsonschema", "yaml"}
PROBE = """
import json, sys
sys.argv = ["minions-evals", *{arguments!r}]
from minions_evals_mcp.cli.app import main
try:
    main()
except SystemExit as left:
    assert not left.code, left.code
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""


def loaded(at: Terminal, *arguments: str) -> set[str]:
    """The top-level modules in a process that has carried out the command."""
    found = at.carried_out([sys.executable, "-c", PROBE.format(arguments=list(arguments))])
    assert found.code == 0, found
    return {name.partition(".")[0] for name in json.loads(found.err.splitlines()[-1])}


def test_help_imports_nothing_heavy(at: Terminal) -> None:
    assert not loaded(at, "--help") & HEAVY


def test_a_bare_import_of_the_package_is_light(at: Terminal) -> None:
    probe = "import minions_evals_mcp, sys, json; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    found = json.loads(at.carried_out([sys.executable, "-c", probe]).err)
    assert not {name.partition(".")[0] for name in found} & (HEAVY | {"rich", "cyclopts", "anyio"})


def test_no_command_that_judges_by_rule_imports_a_provider(at: Terminal) -> None:
    with_key = at.with_env(ANTHROPIC_API_KEY="k", OPENAI_API_KEY="k")
    assert not loaded(with_key, "demo") & PROVIDERS
    assert not loaded(
        with_key, "run-benchmark", "support/quality", "--judge", "heuristic", "--db", str(demo_store(at))
    ) & (PROVIDERS)
    assert not loaded(with_key, "doctor") & {"anthropic"}


def demo_store(at: Terminal) -> str:
    return str(at.run("demo", "--json").one()["db"])


def test_help_takes_no_more_than_a_few_bare_starts_of_python(at: Terminal) -> None:
    def fastest(command: list[str]) -> float:
        taken: list[float] = []
        for _ in range(4):
            began = time.perf_counter()
            assert at.carried_out(command).code == 0
            taken.append(time.perf_counter() - began)
        return min(taken)

    assert fastest([*CLI, "--help"]) < 20 * fastest([sys.executable, "-c", "pass"])
