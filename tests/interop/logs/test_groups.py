"""What belongs together in a log or a config is a group: a session, a thread, a conversation, a document."""

from __future__ import annotations

from typing import Any

import pytest

from minions_evals_mcp.interop.logs.records import group_of
from minions_evals_mcp.interop.logs.sample import LogSample
from tests.cli.suites import answer, benchmark, case, record, suite
from tests.shared.cli.terminal import Json, Terminal
from tests.workshop import place_store


@pytest.fixture
def at(tmp_path: Any) -> Terminal:
    place_store(tmp_path)
    return Terminal(tmp_path)


@pytest.mark.parametrize(
    ("sample", "group"),
    [
        (LogSample(1, {"q": "x"}), ""),
        (LogSample(1, {"q": "x"}, group="talk"), "talk"),
        (LogSample(1, {"q": "x", "conversation_id": 7}), "7"),
        (LogSample(1, {"q": "x"}, extra={"document_id": "doc"}), "doc"),
        (LogSample(1, {"q": "x"}, extra={"metadata": {"threadId": "t"}}), "t"),
        (LogSample(1, {"q": "x", "session_id": ""}), ""),
    ],
)
def test_a_sample_belongs_to_what_its_log_names(sample: LogSample, group: str) -> None:
    assert group_of(sample) == group


def trace(number: int, session: str) -> Json:
    return {
        "id": f"t{number}", "timestamp": "2026-03-01T10:00:00Z", "sessionId": session, "name": "chat", "input": f"question {number}",
        "output": f"answer {number}",
    }  # fmt: skip


def groups_in(at: Terminal, kind: str) -> set[str]:
    exported = at.run("export").rows()
    fields = [one["fields"] for one in exported if one["type"] == kind]
    return {str(one.get("group", "")) for one in fields if isinstance(one, dict)}


def test_the_traces_of_one_session_are_one_group(at: Terminal) -> None:
    rows: list[Json] = [trace(number, f"s{number % 2}") for number in range(4)]
    taken = at.run("import", at.file("langfuse.json", [*rows]), "--json")
    assert taken.code == 0, taken.err
    assert groups_in(at, "agent-run") == {"s0", "s1"}


def test_the_tests_of_one_conversation_are_one_group_in_the_matrix(at: Terminal) -> None:
    tests = "".join(
        f"  - {{vars: {{q: w{n}}}, metadata: {{conversationId: c{n % 3}}}, assert: [{{type: contains, value: good}}]}}\n" for n in range(12)
    )  # fmt: skip
    at.file("c.yaml", f"prompts: ['good {{{{q}}}}', 'bad {{{{q}}}}']\nproviders: [echo]\ntests:\n{tests}")
    told = at.run("eval", "c.yaml", "--json").one()
    rows = told["rows"]
    assert isinstance(rows, list)
    assert {str(row["group"]) for row in rows if isinstance(row, dict)} == {"c0", "c1", "c2"}
    shown = at.run("eval", "c.yaml").out
    assert "scores 1.000 higher than" in shown
    assert "not significant" in shown, "three conversations decide nothing"


def test_looks_after_every_case_are_refused_where_cases_share_groups(at: Terminal) -> None:
    versions = [record(f"v{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2)]
    names = [f"c{number}" for number in range(6)]
    answers = [answer(f"{name}/v{n}", name, "green", promptVersionRef=f"v{n}") for name in names for n in (1, 2)]
    grouped = [case(name, group=f"g{at % 2}") for at, name in enumerate(names)]
    at.run("import", at.file("s.json", suite(*versions, *grouped, *answers, benchmark("b", *names))))
    refused = at.run("compare", "b", "--from", "v1", "--to", "v2", "--sequential")
    assert (refused.code, "6 cases share 2 groups" in refused.err) == (2, True)
    assert "--sequential" in refused.err
