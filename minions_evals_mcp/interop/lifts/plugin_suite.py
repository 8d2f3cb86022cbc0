"""The cases of `claude plugin eval` as records: each a test case with a rubric whose criteria are its graders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.engine.lift.arms import prompt_of
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.lifts.lift_suite import GUIDE
from minions_evals_mcp.interop.lifts.plugin_cases import RULES, PluginCase, PluginGrader, host_asks, reference_text
from minions_evals_mcp.scoring.assertions.trajectories.plugin_graders import PLUGIN_GRADER

AT_LEAST = "The output is at least as good as this one, which is a reference and no model to copy:"


@dataclass(frozen=True, slots=True)
class PluginSuite:
    """The suite of a plugin. `should_trigger` says of the cases that ask for it whether a skill is to be used.

    `notes` name what the cases ask for and is not supported.
    """

    benchmark_id: str
    records: tuple[Record[Fields], ...]
    should_trigger: dict[str, bool]
    notes: tuple[str, ...]
    runs: int


def plugin_suite(name: str, cases: Sequence[PluginCase], *, at: datetime) -> PluginSuite:
    """The suite of those cases; raises `InvalidRecordError` where none can be run."""
    prefix = prompt_of(name)
    run = [case for case in cases if not case.set_up and any(not grader.with_only for grader in case.graders)]
    if not run:
        raise InvalidRecordError(
            "no case can be run: each asks for a set-up that is not supported, or has no grader that is scored in both arms",
            field="evals",
            record=name,
        )
    case_ids = tuple(f"{prefix}/{case.id}" for case in run)
    benchmark = Benchmark(name=name, test_case_ids=case_ids, dimension="lift")
    ident = f"{prefix}/cases"
    return PluginSuite(
        benchmark_id=ident,
        records=(
            *(record for case in run for record in _records(f"{prefix}/{case.id}", case, at)),
            Record(ident, benchmark, name, at, at),
        ),
        should_trigger={
            f"{prefix}/{case.id}": wanted
            for case in run
            for grader in case.graders
            if (wanted := grader.skill_is_wanted) is not None
        },
        notes=tuple(_notes(cases, run)),
        runs=max(case.runs for case in run),
    )


def _notes(cases: Sequence[PluginCase], run: Sequence[PluginCase]) -> Iterator[str]:
    for case in cases:
        if case.set_up:
            yield f"not run: {case.id} asks for {', '.join(case.set_up)}"
        elif case not in run:
            yield f"not run: {case.id} has no grader that is scored in both arms"
    if asks := host_asks([*run]):
        yield f"set these in your command, as the cases ask for them: {', '.join(asks)}"
    if len({case.runs for case in run}) > 1:
        yield "the cases ask for different numbers of runs: each is run as often as the one that asks for most"
    unscored = [f"{case.id}: {grader.name}" for case in run for grader in case.graders if grader.with_only]
    if unscored:
        yield f"not scored, as the other arm cannot pass: {', '.join(unscored)}"


def _records(ident: str, case: PluginCase, at: datetime) -> Iterator[Record[Fields]]:
    """The test case of that case, with a rubric of the graders that are scored.

    The share of their weights is its score; they add up to 1, so that the mean over the cases is the score of the suite.
    """
    scored = [grader for grader in case.graders if not grader.with_only]
    total = sum(grader.weight for grader in scored)
    shares = [grader.weight / total if total else 1 / len(scored) for grader in scored]
    rubric_id = f"{ident}/rubric"
    for number, (grader, share) in enumerate(zip(scored, shares, strict=True), 1):
        fields = {
            **_criterion(case, grader),
            "rubricId": rubric_id,
            "name": grader.name,
            "weight": share,
        }
        yield _record("rubric-criterion", f"{rubric_id}/{number}", fields, at)
    named: list[JsonValue] = [f"{rubric_id}/{number}" for number in range(1, len(scored) + 1)]
    rubric: Json = {"name": case.name, "criteriaIds": named, "passingThreshold": sum(shares)}
    yield _record("rubric", rubric_id, rubric, at)
    yield _record("test-case", ident, {"name": case.name, "inputs": {"prompt": case.prompt}, "rubricId": rubric_id}, at)


def _criterion(case: PluginCase, grader: PluginGrader) -> Json:
    if grader.kind in RULES:
        rule: Json = {"type": PLUGIN_GRADER, "value": {"type": grader.kind, **grader.config}}
        return {"judgeType": "heuristic", "scoringGuide": canonical([rule])}
    criteria = grader.text
    if grader.kind == "baseline":
        criteria = "\n\n".join(filter(None, (criteria, AT_LEAST, reference_text(case, grader))))
    if not criteria.strip():
        raise InvalidRecordError("is missing", field="criteria", where=f"{case.folder}: {grader.name}")
    return {"judgeType": "llm", "description": criteria, "scoringGuide": GUIDE}


def _record(slug: str, ident: str, fields: Json, at: datetime) -> Record[Fields]:
    return record_from_wire({"id": ident, "type": slug, "fields": fields}, new_id=ident, now=at)
