"""The guide to worlds: what it says to write and to type works as it stands there."""

from __future__ import annotations

import re

import pytest
import yaml

from minions_evals_mcp.domain.definitions import World
from minions_evals_mcp.domain.worlds import FaultKind
from minions_evals_mcp.world.attacking import shipped_attacks
from tests.shared.cli.terminal import ROOT, Terminal
from tests.shared.world.units import unit, world

GUIDE = (ROOT / "docs" / "how-to" / "mock-an-agents-tools.md").read_text("utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
AGENT = (
    "def agent(task, world):\n"
    "    world.call('get_order', id='A1')\n"
    "    return 'Refunded: ' + world.call('refund', id='A1')['number']\n"
)


def test_the_world_of_the_guide_is_run_as_it_says(at: Terminal) -> None:
    at.file("shop.yaml", BLOCKS[0])
    at.file("app.py", AGENT)
    assert at.run("import", "shop.yaml").code == 0
    passed = at.run("run-test-case", "refund-a1", "--target", "python:app:agent", "--json")
    assert passed.code == 0, passed
    shown = at.run("world", "show", str(passed.one()["runId"]))
    assert '2. refund {"id": "A1"} → {"number": "R-1001"} [mock]' in shown.out
    broken = at.run(
        "run-test-case", "refund-a1", "--target", "python:app:agent", "--fault", "tool-error:refund@1", "--json"
    )
    assert broken.code == 1, broken
    shown = at.run("world", "show", str(broken.one()["runId"]), "--state")
    assert "2 calls, 0 missed; faults: 1 gave up" in shown.out
    assert '"status": "paid"' in shown.out


def test_the_servers_of_the_guide_are_read() -> None:
    servers = yaml.safe_load(BLOCKS[2])["servers"]
    assert World.model_validate({"name": "w", "servers": servers}, strict=False).commands()


def test_the_database_and_the_files_of_the_guide_are_acted_on_as_it_says() -> None:
    held = yaml.safe_load(BLOCKS[1])
    with unit(world(held.pop("servers"), **held)) as acted_on:
        assert acted_on.call("get_order", id="A1") == {"id": "A1", "status": "paid"}
        assert acted_on.call("refund", id="A1") == "1 order changed"
        assert acted_on.call("read_file", path="log/refunds.txt") == "A1\n"
        assert acted_on.call("read_file", path="x") == {"there is": ["log/refunds.txt"]}


def test_the_guide_counts_the_attacks_and_names_every_fault() -> None:
    assert (
        f"one of {len(shipped_attacks())} texts" in GUIDE.replace("\n", " ")
        or f"{len(shipped_attacks())} texts" in GUIDE
    )
    assert [kind for kind in FaultKind.__args__ if f"`{kind}`" not in GUIDE] == []  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("written", ["bad", "tool-error@", "nothing:x@1", "slow@0", "slow@2.5", ""])
def test_a_fault_that_does_not_fit_is_refused_with_the_form(at: Terminal, written: str) -> None:
    refused = at.run("run-benchmark", "b", "--target", "python:a:b", "--fault", written)
    assert refused.code == 2, refused
    assert "write it as tool-error:refund@1" in refused.err
