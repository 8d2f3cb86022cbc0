"""Small suites for the command line."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import JsonValue

from tests.shared.cli.terminal import Json


def record(ident: str, kind: str, **fields: JsonValue) -> Json:
    """A record as a suite file holds it."""
    return {"id": ident, "type": kind, "fields": fields}


def case(ident: str, want: str = "green", **fields: JsonValue) -> Json:
    """A case that asks with its own id and wants a word."""
    return record(ident, "test-case", name=ident, inputs={"q": ident}, expectedOutputs={"output": want}, **fields)


def answer(ident: str, case_id: str, output: str, **fields: JsonValue) -> Json:
    """A recorded answer to that case."""
    return record(ident, "agent-run", agentId="a", inputs={"q": case_id}, outputs={"output": output}, **fields)


def benchmark(ident: str, *cases: str, **fields: JsonValue) -> Json:
    """A benchmark over those cases."""
    return record(ident, "benchmark", name=ident, testCaseIds=list(cases), **fields)


def suite(*records: Json) -> dict[str, JsonValue]:
    """A suite file of those records."""
    return {"minions": list(records)}


def judged_suite() -> JsonValue:
    """One case with a criterion that nobody but a judge from outside can answer."""
    return suite(
        record("r", "rubric", name="Tone", criteriaIds=["r/kind"], passingThreshold=3),
        record("r/kind", "rubric-criterion", rubricId="r", name="Kind", scoringGuide="5 is kind", maxScore=5),
        record("c", "test-case", name="c", inputs={"q": "c"}, rubricId="r"),
        answer("a", "c", "Dear you"),
        benchmark("b", "c"),
    )


def two_versions(
    before: Collection[int], after: Collection[int], *, cases: int = 10, **fields: JsonValue
) -> dict[str, JsonValue]:
    """The benchmark `b` of cases with recorded answers of v1, which passes those `before`, and v2, which passes those `after`."""
    names = [f"c{number}" for number in range(cases)]
    passing = {"v1": before, "v2": after}
    runs = [
        answer(f"{name}/{version}", name, "green" if number in passing[version] else "red", promptVersionRef=version)
        for number, name in enumerate(names)
        for version in passing
    ]
    versions = [
        record(f"v{n}", "prompt-version", content=f"Say it {n}.", versionNumber=n, promptId="p") for n in (1, 2)
    ]  # fmt: skip
    return suite(*versions, *map(case, names), *runs, benchmark("b", *names, **fields))
