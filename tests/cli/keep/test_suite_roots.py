"""A suite file names its list `records:`; `minions:`, the older name, is read as well."""

from __future__ import annotations

import pytest

from tests.shared.cli.terminal import Json, Terminal

RECORDS = (
    "[{id: refund, type: test-case, fields: {name: Refund, inputs: {q: Money?}, expectedOutputs: {output: 42 euros},"
    " assertions: [{type: icontains, value: euros}]}}]"
)


@pytest.mark.parametrize("root", ["records", "minions"])
@pytest.mark.parametrize("name", ["suite.yaml", "suite.json"])
def test_either_name_of_the_list_is_imported(at: Terminal, root: str, name: str) -> None:
    record: Json = {"id": "c", "type": "test-case", "fields": {"name": "C", "inputs": {"q": "x"}}}
    path = at.file(name, {root: [record]})
    told = at.run("import", path)
    assert told.code == 0, told
    assert "c" in at.run("list", "test-case").out.split()


@pytest.mark.parametrize("root", ["records", "minions"])
def test_either_name_can_be_audited_and_mended(at: Terminal, root: str) -> None:
    path = at.file("suite.yaml", f"{root}: {RECORDS}\n")
    told = at.run("audit", path, "--fix", str(at.folder / "audit.diff"))
    assert told.code == 0, told
    assert "+" in (at.folder / "audit.diff").read_text("utf-8")


def test_both_names_and_neither_are_refused_by_name(at: Terminal) -> None:
    both = at.run("import", at.file("both.yaml", f"records: {RECORDS}\nminions: {RECORDS}\n"))
    assert (both.code, "use one of them" in both.err) == (2, True), both
    near = at.run("import", at.file("near.yaml", f"recods: {RECORDS}\nrelations: []\n"))
    assert (near.code, "'recods' is not a key of it" in near.err) == (2, True), near


def test_a_refusal_names_the_line_of_the_record(at: Terminal) -> None:
    right = "- {id: a, type: agent-run, fields: {agentId: x, inputs: {q: x}, outputs: {output: y}}}"
    told = at.run(
        "import", at.file("bad.yaml", f"records:\n{right}\n- {{id: b, type: test-case, fields: {{nam: B}}}}\n")
    )
    assert "bad.yaml:3" in told.err, told
