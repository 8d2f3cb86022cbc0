"""`minions-evals eval` asks for an output once: counted at a program of the test's own."""

from __future__ import annotations

from pathlib import Path

from tests.shared.cli.terminal import Terminal

COUNTS = """
from pathlib import Path

def call_api(prompt, options, context):
    with Path("calls.txt").open("a") as calls:
        calls.write(prompt + "\\n")
    return {"output": f"heard {prompt}"}
"""
CONFIG = """
prompts: ["Say {{word}}", "Shout {{word}}"]
providers: [file://answers.py]
tests: [%s]
"""


def config(at: Terminal, *words: str, name: str = "c.yaml", more: str = "") -> None:
    at.file(name, CONFIG % ", ".join(f"{{vars: {{word: {word}}}}}" for word in words) + more)


def calls(at: Terminal) -> int:
    file = at.folder / "calls.txt"
    counted = len(file.read_text().splitlines()) if file.exists() else 0
    Path(file).unlink(missing_ok=True)
    return counted


def test_only_new_cells_are_asked_and_the_summary_counts_those_from_the_cache(at: Terminal) -> None:
    at.file("answers.py", COUNTS)
    config(at, "a", "b", "c", "d", "e")
    first = at.run("eval", "c.yaml", "--yes")
    assert (first.code, calls(at)) == (0, 10), first.err
    assert "from cache" not in first.out + first.err
    config(at, "a", "b", "c", "d", "e", "f", "g")
    added = at.run("eval", "c.yaml", "--yes")
    assert (added.code, calls(at)) == (0, 4), added.err
    assert "10 of 14 outputs from cache" in added.out
    again = at.run("eval", "c.yaml", "--yes")
    assert calls(at) == 0
    assert "14 of 14 outputs from cache" in again.out
    fresh = at.run("eval", "c.yaml", "--yes", "--no-cache")
    assert calls(at) == 14
    assert "from cache" not in fresh.out
    at.file("answers.py", COUNTS.replace("heard", "understood"))
    edited = at.run("eval", "c.yaml", "--yes")
    assert calls(at) == 14, "another program, another digest"
    assert "from cache" not in edited.out


def test_each_trial_has_an_output_of_its_own(at: Terminal) -> None:
    at.file("answers.py", COUNTS)
    config(at, "a", "b", more="evaluateOptions: {repeat: 2}\n")
    assert at.run("eval", "c.yaml", "--yes").code == 0
    assert calls(at) == 8
    config(at, "a", "b", more="evaluateOptions: {repeat: 3}\n")
    more = at.run("eval", "c.yaml", "--yes")
    assert calls(at) == 4
    assert "8 of 12 outputs from cache" in more.out
