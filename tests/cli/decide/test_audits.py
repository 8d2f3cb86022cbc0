"""`audit` at the command line: figures first, exit 1 above a cheat rate, and suggestions as a diff for a person to accept."""

from __future__ import annotations

import re
import shlex
import subprocess
from functools import partial
from typing import Any

import anyio.to_thread
import yaml

from tests.shared.cli.terminal import Terminal
from tests.shared.fakes.llm_server import FakeSettings, Server

WEAK = """\
# a suite with a hole
minions:
  - id: metal
    type: test-case
    fields:
      name: Metal
      inputs: {question: "Which metal is liquid, iron or mercury?"}
      expectedOutputs: {output: mercury}  # echoed, it passes
      tags: [facts]
  - id: legs
    type: test-case
    fields:
      name: Legs
      inputs: {question: "How many legs has an ant?"}
      assertions:
        - {type: equals, value: six}
"""


def test_an_audit_shows_what_passes_and_gates_on_the_cheat_rate(at: Terminal) -> None:
    file = at.file("evals.yaml", WEAK)
    said = at.run("audit", file)
    assert said.code == 0
    assert said.out.splitlines()[0].endswith(
        "cheats pass 1 of 2 cases (50 %); mutation score 100 % (2 of 2 mutants fail)."
    )
    assert said.out.splitlines()[1] == f"Next: minions-evals audit {file} --fix audit.diff"
    assert "metal: passes its own input" in said.out
    assert at.run("audit", file, "--max-cheat-rate", "0.5").code == 0
    assert at.run("audit", file, "--max-cheat-rate", "0.4").code == 1
    found = at.run("audit", file, "--json").one()
    assert found["cheatPassRate"] == 0.5
    assert found["mutationScore"] == 1
    told = found["cases"]
    assert isinstance(told, list)
    cases: dict[str, Any] = {str(one["testCaseId"]): one for one in told if isinstance(one, dict)}
    assert cases["metal"]["cheatsPassed"][0] == "echo"
    assert cases["legs"]["cheatsPassed"] == cases["legs"]["mutantsSurvived"] == []
    assert at.run("list", "audit", "--json").code == 0
    assert at.run("audit", "nowhere").code == 2


def test_the_fix_is_a_diff_that_closes_the_hole_and_changes_nothing_else(at: Terminal) -> None:
    name, diff = at.file("evals.yaml", WEAK), at.folder / "audit.diff"
    file = at.folder / name
    assert at.run("audit", name, "--fix", "audit.diff").code == 0
    assert file.read_text("utf-8") == WEAK
    subprocess.run(["patch", "-p1", "-d", str(at.folder), "-i", str(diff)], check=True, capture_output=True)
    fixed = file.read_text("utf-8")
    assert "# a suite with a hole" in fixed
    assert "# echoed, it passes" in fixed
    metal, legs = (one["fields"] for one in yaml.safe_load(fixed)["minions"])
    assert legs == yaml.safe_load(WEAK)["minions"][1]["fields"]
    assert metal["assertions"][0]["type"] == "icontains"
    assert at.run("audit", name, "--json").one()["cheatPassRate"] == 0


async def test_a_judge_that_fails_is_exit_3_whatever_cheats_pass(at: Terminal, server: Server) -> None:
    at = at.with_env(ANTHROPIC_API_KEY="k", ANTHROPIC_BASE_URL=server.url)
    file = at.file("evals.yaml", WEAK.replace("- {type: equals, value: six}", "- {type: llm-rubric, value: says six}"))
    asked = ("audit", file, "--with-judge", "--judge-model", "anthropic:always-judge")
    judged = await anyio.to_thread.run_sync(partial(at.run, *asked))
    assert judged.code == 0
    assert (await anyio.to_thread.run_sync(partial(at.run, *asked, "--max-cheat-rate", "0"))).code == 1
    server.configure(FakeSettings(p400=1))
    failed = await anyio.to_thread.run_sync(partial(at.run, *asked, "--max-cheat-rate", "0"))
    assert failed.code == 3
    assert "could not be audited with the judge" in failed.out


def test_what_follows_an_audit_of_stored_cases_closes_their_holes(at: Terminal) -> None:
    table = at.file("cases.csv", "question,answer\nCapital of France?,Paris\nCapital of Spain?,Madrid\n")
    maps = ("--map", "inputs.question=question", "--map", "expectedOutputs.output=answer")
    assert at.run("import", table, "--as", "test-case", *maps, "--into", "support/capitals").code == 0
    assert at.run("audit", "support/capitals", "--json").one()["cheatPassRate"] == 1
    assert "--fix audit.yaml" in at.run("audit", "support/capitals", "--fix", "audit.diff").err
    said = at.run("audit", "support/capitals")
    for _ in range(2):  # as printed: the first command writes a suite file, the second saves it
        (command,) = re.findall(r"^Next: minions-evals (.+)$", said.out + said.err, re.MULTILINE)
        said = at.run(*shlex.split(command))
        assert said.code == 0
    assert at.run("audit", "support/capitals", "--json").one()["cheatPassRate"] == 0
    assert "exists already" in at.run("audit", "support/capitals", "--fix", "fixed.yaml").err


def test_a_fix_needs_a_file_and_a_cap_needs_a_judge(at: Terminal) -> None:
    assert at.run("audit", "b", "--fix", "x.diff").code == 2
    assert at.run("audit", at.file("evals.yaml", WEAK), "--dry-run").code == 2


CONFIG = """\
prompts: ["{{question}}"]
providers: [echo]
tests:
  - vars: {question: "Which metal is liquid, iron or mercury?"}
    assert: [{type: levenshtein, value: mercury, threshold: 60}]
  - vars: {question: "How many legs has an ant?"}
    assert: [{type: equals, value: six}]
"""


def test_the_fix_of_a_config_names_what_to_write_by_hand_and_writes_no_diff(at: Terminal) -> None:
    said = at.run("audit", at.file("promptfooconfig.yaml", CONFIG), "--fix", "audit.diff")
    assert said.code == 0
    assert "cheats pass 1 of 2 cases" in said.out
    assert "No diff is written for a config" in said.err
    assert "no suggestion" not in said.err
    assert not (at.folder / "audit.diff").exists()
    (line,) = [line for line in said.err.splitlines() if line.strip().startswith("assert: ")]
    checks = line.partition("assert: ")[2]
    stricter = CONFIG.replace("[{type: levenshtein, value: mercury, threshold: 60}]", checks)
    found = at.run("audit", at.file("promptfooconfig.yaml", stricter), "--fix", "audit.diff")
    assert "cheats pass 0 of 2 cases" in found.out
    assert found.err.strip() == "no suggestion needed: no wrong answer passes"


def test_the_first_line_says_how_many_cases_others_than_rules_judge(at: Terminal) -> None:
    file = at.file(
        "evals.yaml", WEAK.replace("- {type: equals, value: six}", "- {type: llm-rubric, value: is it six?}")
    )
    (first, *_) = at.run("audit", file).out.splitlines()
    assert first.endswith("Of these, 1 of 2 also have checks that are not rules. Only their rules were tried.")
