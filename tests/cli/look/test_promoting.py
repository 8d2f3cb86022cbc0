"""`promote` at the command line, as a tool and on the page."""

from __future__ import annotations

from tests.cli.suites import answer, benchmark, case, suite
from tests.shared.cli.terminal import Terminal


def test_a_failure_becomes_a_case_and_a_draft_waits_for_what_is_right(at: Terminal) -> None:
    name = at.file("s.json", suite(case("c"), answer("a", "c", "red on 21 May"), benchmark("b", "c")))
    right = at.file("right.txt", "It is good on 19 May.\n")
    _, _, draft, made, shown, again, refused = at.many(
        ["import", name], ["run-benchmark", "b", "--key", "k"], ["promote", "k:c", "--why", "the wrong day"],
        ["promote", "k:c", "--corrected", right, "--into", "b", "--json"], ["list", "test-case", "--json"],
        ["run-benchmark", "b", "--fresh", "--json"], ["promote", "k:nobody"],
    )  # fmt: skip
    assert draft.code == 0
    assert ": draft, " in draft.out
    assert "the wrong day" in draft.out
    assert "minions-evals promote k:c --corrected TEXT" in draft.out
    case_id = str(made.one()["testCaseId"])
    assert made.one()["status"] == "active"
    assert made.one()["corrected"] == "It is good on 19 May."
    assert case_id in shown.out
    assert case_id in again.out, "the benchmark runs it from now on"
    assert (refused.code, "k:nobody" in refused.err) == (2, True)
