"""A candidate version is tried at the command line, under the same name and settings as at MCP."""

from __future__ import annotations

from tests.cli.suites import two_versions
from tests.shared.cli.terminal import Terminal


def test_a_candidate_is_tried_against_the_version_in_use_and_its_run_is_shown_again(at: Terminal) -> None:
    records = two_versions(range(2), range(10))
    records["relations"] = [{"sourceId": "v2", "targetId": "v1", "type": "follows"}]
    assert at.run("import", at.file("s.json", records)).code == 0
    tried = at.run("try-version", "b", "v2")
    assert tried.code == 0, tried.err
    verdict, following = tried.out.splitlines()
    assert verdict == "Open cases: improved (+0.800)."
    assert following == "Next: minions-evals approve v2 --by YOU"
    found = at.run("try-version", "b", "v2", "--json").one()
    assert (found["version"], found["against"], found["budget"]) == ("v2", "v1", None)
    newest = at.run("runs", "latest", "--json").one()
    assert (newest["kind"], newest["state"], newest["outcomes"]) == ("trial", "completed", {"scored": 20})
    assert "try-version" not in at.run("runs", "latest").err


def test_a_candidate_that_is_in_use_and_a_part_that_is_not_sealed_are_refused(at: Terminal) -> None:
    assert at.run("import", at.file("s.json", two_versions(range(2), range(10)))).code == 0
    same = at.run("try-version", "b", "v2", "--against", "v2")
    assert (same.code, "there is no other version to compare it with" in same.err) == (2, True), same.err
    unsealed = at.run("try-version", "b", "v2", "--sealed")
    assert (unsealed.code, "minions-evals seal b" in unsealed.err) == (2, True), unsealed.err
    assert at.run("runs", "--json").one() == {"runs": []}
