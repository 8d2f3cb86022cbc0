"""The cases of a lift as records: each eval a test case, those with something to judge a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Json
from minions_evals_mcp.domain.digests import canonical
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import Record, record_from_wire
from minions_evals_mcp.engine.lift.arms import prompt_of
from minions_evals_mcp.errors import InvalidRecordError
from minions_evals_mcp.interop.skill_evals import SkillEval, SkillEvals
from minions_evals_mcp.targets.workspace import FILES, case_file_name, sha256_of

TITLE = 60
GUIDE = "1 where the output and the files that were made show that the statement holds, 0 where they do not."


@dataclass(frozen=True, slots=True)
class LiftSuite:
    """The cases of a lift: the records of its cases, and which of its benchmark's cases should take the skill up.

    `benchmark_id` is that of the cases whose output is judged, `triggers_id` that of cases that only ask whether the skill is
    taken up; None without such cases. `left_out` names the evals that say neither.
    """

    benchmark_id: str | None
    records: tuple[Record[Fields], ...] = ()
    triggers_id: str | None = None
    should_trigger: Mapping[str, bool] = field(default_factory=dict[str, bool])
    left_out: tuple[str, ...] = ()


def lift_suite(name: str, suite: SkillEvals, *, case_files: Path, at: datetime) -> LiftSuite:
    """The suite of those evals; raises `InvalidRecordError` where none asks for anything, or a file is missing.

    A case that does not say whether the skill should be taken up is taken for one that should: it is the skill's own.
    """
    prefix = prompt_of(name)
    judged = [skill_eval for skill_eval in suite.evals if skill_eval.is_judged]
    only_triggers = [
        skill_eval for skill_eval in suite.evals if not skill_eval.is_judged and skill_eval.should_trigger is not None
    ]
    run = (*judged, *only_triggers)
    if not run:
        raise InvalidRecordError(
            "no eval says what its output should be, or whether the skill should be taken up: add expected_output, assertions or"
            " should_trigger",
            field="evals",
            record=name,
        )
    made = [
        *chain.from_iterable(_records(f"{prefix}/{skill_eval.id}", skill_eval, case_files, at) for skill_eval in run)
    ]
    wanted = {f"{prefix}/{skill_eval.id}": skill_eval.should_trigger is not False for skill_eval in run}
    cases = _benchmark(f"{prefix}/cases", name, [f"{prefix}/{skill_eval.id}" for skill_eval in judged], at)
    triggers = _benchmark(
        f"{prefix}/triggers", f"{name}: taken up?", [f"{prefix}/{skill_eval.id}" for skill_eval in only_triggers], at
    )
    benchmarks = [benchmark for benchmark in (cases, triggers) if benchmark is not None]
    return LiftSuite(
        benchmark_id=None if cases is None else cases.id,
        records=(*made, *benchmarks),
        triggers_id=None if triggers is None else triggers.id,
        should_trigger=wanted,
        left_out=tuple(skill_eval.id for skill_eval in suite.evals if skill_eval not in run),
    )


def _benchmark(ident: str, name: str, case_ids: list[str], at: datetime) -> Record[Fields] | None:
    if not case_ids:
        return None
    fields = Benchmark(name=name, test_case_ids=tuple(case_ids), dimension="lift")
    return Record(ident, fields, name, at, at)


def _records(ident: str, skill_eval: SkillEval, case_files: Path, at: datetime) -> Iterator[Record[Fields]]:
    """The test case of an eval, with a rubric whose criteria are its statements: all must hold."""
    inputs: Json = {"prompt": skill_eval.prompt}
    if skill_eval.files:
        inputs[FILES] = {name: sha256_of(case_files / case_file_name(name), case_files) for name in skill_eval.files}
    case: Json = {"name": skill_eval.name or shortened_prompt(skill_eval.prompt), "inputs": inputs}
    if not skill_eval.is_judged:  # it is asked only whether the skill is taken up
        yield _record("test-case", ident, {**case, "assertions": [{"type": "regex", "value": r"\S"}]}, at)
        return
    criteria = [*_criteria(f"{ident}/rubric", skill_eval)]
    for number, fields in enumerate(criteria, 1):
        yield _record("rubric-criterion", f"{ident}/rubric/{number}", fields, at)
    named: list[JsonValue] = [f"{ident}/rubric/{number}" for number in range(1, len(criteria) + 1)]
    rubric: Json = {"name": str(case["name"]), "criteriaIds": named, "passingThreshold": len(criteria)}
    yield _record("rubric", f"{ident}/rubric", rubric, at)
    yield _record("test-case", ident, {**case, "rubricId": f"{ident}/rubric"}, at)


def _criteria(rubric_id: str, skill_eval: SkillEval) -> Iterator[Json]:
    """The checks of an eval: its rules and its statements; without any of them, its expected output in prose."""
    for rule in skill_eval.assertions:
        assert isinstance(rule, dict)
        name = shortened_prompt(f"{rule['type']} {value_text(rule['value'])}")
        guide = canonical([rule])
        yield {"rubricId": rubric_id, "name": name, "judgeType": "heuristic", "scoringGuide": guide}
    for statement in skill_eval.statements or (() if skill_eval.assertions else (skill_eval.expected_output,)):
        yield {"rubricId": rubric_id, "name": shortened_prompt(statement), "judgeType": "llm", "description": statement,
               "scoringGuide": GUIDE}  # fmt: skip


def _record(slug: str, ident: str, fields: Json, at: datetime) -> Record[Fields]:
    return record_from_wire({"id": ident, "type": slug, "fields": fields}, new_id=ident, now=at)


def shortened_prompt(prompt: str) -> str:
    """The beginning of a prompt on one line, as a case's name."""
    line = " ".join(prompt.split())
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"
