"""Labels that people gave elsewhere, and the version that a person names, on the command line."""

from __future__ import annotations

import json

from pydantic import JsonValue

from tests.cli.suites import answer, record, suite
from tests.shared.cli.terminal import Json, Terminal

CASES = [f"c{n:02}" for n in range(32)]


def is_good(case: str) -> bool:
    return int(case[1:]) % 2 == 0


def judged(at: Terminal) -> str:
    """A benchmark whose outputs an agent judged, mostly right; the run's id."""
    tone = record("r/tone", "rubric-criterion", rubricId="r", name="Tone", weight=1, description="Is it kind?")
    parts = [
        record("r", "rubric", name="r", passingThreshold=0.5, criteriaIds=["r/tone"]),
        tone,
        *(record(case, "test-case", name=case, inputs={"q": case}, rubricId="r") for case in CASES),
        *(answer(f"a{case}", case, f"Output of {case}.") for case in CASES),
        record("b", "benchmark", name="b", dimension="quality", testCaseIds=[*CASES]),
    ]
    assert at.run("import", at.file("s.json", suite(*parts))).code == 0
    run = at.run("run-benchmark", "b", "--judge", "caller", "--json").one()
    packets = run["packets"]
    while isinstance(packets, list) and packets:
        handed = {"runId": run["runId"], "judgedBy": "provider:model", "packets": [answered(one) for one in packets]}
        assert at.run("submit", at.file("j.json", handed)).code == 0  # pyright: ignore[reportArgumentType]  JSON all through
        packets = at.run("runs", str(run["runId"]), "--json").one()["packets"]
    return str(run["runId"])


def answered(packet: JsonValue) -> Json:
    """The packet with the verdict of its case."""
    assert isinstance(packet, dict)
    score = int(is_good(str(packet["testCaseId"])))
    return {
        "digest": packet["digest"],
        "judgments": [{"criterionId": "r/tone", "score": score, "rationale": "it reads so"}],
    }


def rows(**further: str) -> str:
    """A row for each case with that further cells."""
    head = ",".join(["testCaseId", "score", *further])
    said = [",".join([case, "pass" if is_good(case) else "fail", *further.values()]) for case in CASES]
    return "\n".join([head, *said]) + "\n"


def licence(at: Terminal) -> str:
    found = at.run("agreement", "b", "--json").one()
    return json.dumps(found)


def test_labels_that_a_person_imports_are_peoples_and_license_the_judge(at: Terminal) -> None:
    judged(at)
    anna = at.person("anna")
    taken = anna.run("label", "b", "--from", at.file("labels.csv", rows(judgedBy="Berta")), "--json")
    assert taken.code == 0, taken.err
    assert (taken.one()["labels"], taken.one()["countAsPeoples"]) == (32, True)
    assert '"qualified"' in licence(at)
    assert '"Berta"' in licence(at)
    exported = [json.loads(line) for line in at.run("export", "--type", "eval-judgment").out.splitlines()]
    labels = [one["fields"] for one in exported if one["fields"]["judgedBy"] == "Berta"]
    assert {(one["origin"], one["handedInBy"], one["judgedByType"]) for one in labels} == {
        ("imported", "person:anna", "human")
    }


def test_labels_that_an_agent_imports_are_kept_and_are_nobodys(at: Terminal) -> None:
    judged(at)
    taken = at.run("label", "b", "--from", at.file("labels.csv", rows(judgedBy="anna")))
    assert taken.code == 0, taken.err
    assert "They do not count as human labels, because no identified person imported them" in taken.out
    assert '"qualified"' not in licence(at)
    exported = [json.loads(line) for line in at.run("export", "--type", "eval-judgment").out.splitlines()]
    labels = [one["fields"] for one in exported if one["fields"].get("origin") == "imported"]
    assert {(one["judgedBy"], one["handedInBy"], one["judgedByType"]) for one in labels} == {("anna", "agent", "llm")}


def test_a_label_that_does_not_fit_is_refused_with_its_row_and_nothing_is_kept(at: Terminal) -> None:
    judged(at)
    anna, before = at.person("anna"), len(at.run("runs").out.splitlines())
    for row, said in (
        ("c00,2", "labels.csv:2: c00: score: 2 is outside 0 to 1"),
        ("c00,maybe", "score: maybe is neither a number nor pass or fail"),
        ("c77,pass", "has no such judged output"),
        ("c00,pass\nc00,fail", "labels.csv:3"),
        (",pass", "testCaseId: is missing"),
    ):
        refused = anna.run("label", "b", "--from", at.file("labels.csv", f"testCaseId,score\n{row}\n"))
        assert refused.code == 2
        assert said in refused.err
    assert len(at.run("runs").out.splitlines()) == before


def test_a_person_names_the_version_in_use_and_an_agent_does_not(at: Terminal) -> None:
    versions = [record(f"p@{n}", "prompt-version", content=f"Say {n}.", versionNumber=n, promptId="p") for n in (1, 2)]
    assert at.run("import", at.file("s.json", suite(*versions))).code == 0
    assert "p@1  " in at.run("versions", "p").out
    refused = at.run("prompt", "use", "p@2")
    assert refused.code == 2
    assert "only a person can do this" in refused.err
    named = at.person("anna").run("prompt", "use", "p@latest", "--json")
    assert named.one() == {"current": "p@2", "namedBy": "anna"}
    current = [line for line in at.run("versions", "p").out.splitlines() if "current" in line]
    assert len(current) == 1
    assert "p@2" in current[0]
