"""`calibrate`, as a person reads it."""

from __future__ import annotations

from tests.cli.suites import answer, benchmark, case, suite
from tests.shared.cli.terminal import Terminal


def test_the_noise_floor_is_told_and_kept(at: Terminal) -> None:
    runs = [answer(f"a{n}/{k}", f"c{n}", "green" if n or k else "red") for n in range(2) for k in range(2)]
    assert (
        at.run("import", at.file("s.json", suite(case("c0"), case("c1"), *runs, benchmark("b", "c0", "c1")))).code == 0
    )
    said = at.run("calibrate", "b", "--repeats", "2")
    assert said.code == 0, said.err
    assert said.out.startswith("b: two runs of one version differ by less than 1.000 in 95 %")
    assert said.out.splitlines()[1] == "Next: minions-evals run-benchmark b --fail-on-regression"
    assert "cases: 1 stable-pass, 0 stable-fail, 1 flaky" in said.out
    assert "flaky: c0 (1 of 2)" in said.out
    assert at.run("calibrate", "b", "--repeats", "2", "--json").one()["labels"] == {
        "stable-pass": 1, "stable-fail": 0, "flaky": 1,
    }  # fmt: skip
    assert at.run("calibrate", "b", "--repeats", "1").code == 2
    assert at.run("calibrate", "none").code == 2


def test_what_cannot_be_asked_for_is_refused_in_the_options_name(at: Terminal) -> None:
    said = at.run("calibrate", "b", "--max-cost-usd", "0")
    assert (said.code, "--max-cost-usd: Input should be greater than 0" in said.err) == (2, True)
    assert "ID: String should match" in at.run("calibrate", "").err
