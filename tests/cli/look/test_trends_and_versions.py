"""`trend` and `versions`, as a person reads them."""

from __future__ import annotations

from tests.cli.suites import answer, benchmark, case, suite
from tests.shared.cli.terminal import Terminal


def test_a_trend_and_the_versions_of_a_prompt_are_told(at: Terminal) -> None:
    runs = [answer(f"a{n}", "c", "green" if n == 1 else "red", promptVersionRef=f"v{n}") for n in (1, 2)]
    versions = [
        {"id": f"v{n}", "type": "prompt-version", "fields": {"content": f"Say it {n}.", "versionNumber": n, "promptId": "p"}}
        for n in (1, 2)
    ]  # fmt: skip
    made = suite(*versions, case("c"), *runs, benchmark("b", "c"))  # pyright: ignore[reportArgumentType]  JSON all through
    assert at.run("import", at.file("s.json", made)).code == 0
    for version in ("v1", "v2"):
        assert at.run("run-benchmark", "b", "--prompt-version", version).code == 0
    said = at.run("trend", "b")
    assert said.out.startswith("b: no trend yet (needs 3 runs, has 2), but the newest run ")
    assert said.out.endswith("  dropped, too few cases changed to test\n"), "one case is no evidence of a regression"
    assert "direction" not in at.run("trend", "b", "--json").one()
    assert at.run("trend", "none").code == 2
    assert [line.split() for line in at.run("versions", "p").out.splitlines()] == [
        ["1", "v1", "prompt-version", "v1", "(current)"], ["2", "v2", "prompt-version", "v2", "(latest)"],
    ]  # fmt: skip
    assert "-Say it 1.\n+Say it 2." in at.run("versions", "v1", "v2").out
    assert at.run("versions", "v1", "v1").out == "the two versions have the same text\n"
    assert at.run("versions", "v1", "v2", "--json").one()["to"] == "v2"
    assert at.run("versions", "p", "--json").one()["versions"]
