"""The yardstick of a case: its rubric, else its assertions, else its expected outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pydantic import JsonValue

from minions_evals_mcp.domain.assertions import Assertion, ScoringCode
from minions_evals_mcp.domain.definitions import SIMILARITY, Json, Rubric, RubricCriterion, TestCase, World
from minions_evals_mcp.domain.digests import digest
from minions_evals_mcp.domain.json_fields import json_fields
from minions_evals_mcp.domain.outcomes import Expected
from minions_evals_mcp.domain.outputs import is_erased
from minions_evals_mcp.domain.records import Record
from minions_evals_mcp.domain.seals import SEALED
from minions_evals_mcp.domain.worlds import Fault
from minions_evals_mcp.errors import NotFoundError, SealedError
from minions_evals_mcp.frozen_types import frozen_type, once
from minions_evals_mcp.scoring.assertions.check_scores import assertion_digest, check_names
from minions_evals_mcp.scoring.assertions.table import asks_outside
from minions_evals_mcp.scoring.max_score import parted
from minions_evals_mcp.scoring.rubric import RubricInUse, in_use
from minions_evals_mcp.scoring.verdicts.expected import is_pattern
from minions_evals_mcp.store import records
from minions_evals_mcp.store.connection import Db


@frozen_type
class ByAssertions:
    """The case's own assertions, with the threshold of their aggregate, and the code that judges in place of it.

    Most look at the output alone: those that may ask anything outside for it are gone through, the others are not.
    """

    assertions: tuple[Assertion, ...]
    threshold: float | None
    scoring: ScoringCode | None = None
    asking: tuple[Assertion, ...] = ()
    """Those that may need something to be fetched: a model's grade, a likeness, a search, code that runs."""

    @once
    def names(self) -> tuple[str, ...]:
        """The name of each check, under which its scores are kept."""
        return check_names(self.assertions)

    @once
    def digests(self) -> tuple[str, ...]:
        """The digest of each check."""
        return tuple(map(assertion_digest, self.assertions))


@frozen_type
class ByExpectation:
    """The expectation, looked for in the output: all of `maxScore` or nothing."""

    expected: Json


@frozen_type
class BySimilarity:
    """The expectation, compared by meaning: equal after trimming, or a cosine of at least 0.8."""

    expected: Json


@frozen_type
class ByNothing:
    """Nothing to judge by: a person accepts the output as the baseline, or writes a rubric."""


Yardstick = RubricInUse | ByAssertions | ByExpectation | BySimilarity | ByNothing


@frozen_type
class Measure:
    """A case with what decides whether an output passes."""

    case: Record[TestCase]
    yardstick: Yardstick
    world: Record[World] | None = None
    """What the agent under test acts on; each trial gets a copy of its own."""

    def case_digest(self) -> str:
        """The digest of all of the case that bears on the verdict."""
        return self._case_digest

    @once
    def _case_digest(self) -> str:
        if self.world is None:
            return case_digest(self.case)
        return digest([case_digest(self.case), self.world.content_digest()])

    @once
    def asked_digest(self) -> str | None:
        """The digest of the case without its own checks, where it has some; its scores check by check compare where it agrees."""
        if (
            not isinstance(self.yardstick, ByAssertions)
            or self.yardstick.threshold is not None
            or self.yardstick.scoring
        ):
            return None  # what decides is no single check
        return digest([self.case.id, json_fields(self.case.fields, exclude=_TELLING | _CHECKS)], finite=True)[:16]

    @once
    def expected(self) -> Expected | None:
        """Returns what outputs of the case are compared with, where that is a text."""
        return expected_of(self.case.fields)

    @once
    def erased_part(self) -> str | None:
        """The part of the case or its rubric whose content was erased, if any: what is left of it can judge nothing."""
        parts = _parts(self.case.fields)
        if isinstance(self.yardstick, RubricInUse):
            parts["rubric"] = [[of.name, of.description, of.scoring_guide] for _, of in self.yardstick.criteria]
        return next((name for name, value in parts.items() if is_erased(value)), None)

    def rubric_digest(self) -> str | None:
        """The digest of rubric and criteria, if there is a rubric."""
        return self.yardstick.digest if isinstance(self.yardstick, RubricInUse) else None


def _parts(case: TestCase) -> dict[str, JsonValue]:
    """What an agent is asked and an output is held against, under the names of the wire."""
    talk = None if case.conversation is None else json_fields(case.conversation)
    return {
        "inputs": case.inputs,
        "expectedOutputs": case.expected_outputs,
        "assertions": [*_looked_for(case.checks)],
        "conversation": talk,
    }


def _looked_for(checks: Iterable[Assertion]) -> Iterator[JsonValue]:
    for check in checks:
        yield from (check.value, check.config, check.rubric_prompt, check.transform, check.context_transform)
        yield from _looked_for(check.assertions)


def case_digest(case: Record[TestCase]) -> str:
    """The digest of all of the case that bears on the verdict."""
    return digest([case.id, json_fields(case.fields, exclude=_TELLING)], finite=True)


def expected_of(case: TestCase) -> Expected | None:
    """Returns what outputs of the case are compared with, where that is a text."""
    outputs = case.expected_outputs
    if not outputs:
        return None
    patterns = case.pass_rule != SIMILARITY
    return None if patterns and all(map(is_pattern, outputs.values())) else Expected(outputs, patterns)


_TELLING = frozenset(
    {
        "name",
        "description",
        "tags",
        "status",
        "created_at",
        "created_by",
        "skill_id",
        "accepted_outputs",
        "extra",
        "group",
    }
)

_CHECKS = frozenset({"assertions", "threshold", "scoring"})


def measures(
    db: Db,
    case_ids: Iterable[str],
    known: dict[str, RubricInUse],
    *,
    world: str | None = None,
    faults: tuple[Fault, ...] = (),
) -> list[Measure]:
    """The measures of those cases in order, hidden cases left out; `known` keeps the rubrics met so far.

    `world` is used in place of the worlds that the cases name, `faults` are met there besides those of world and case.
    Raises `NotFoundError` for a case, rubric or world that does not exist, `SealedError` for a case of which only the seal is seen.
    """
    wanted = list(case_ids)
    cases = records.get_all(db, wanted, TestCase)
    worlds = _worlds(db, {world or case.fields.world for case in cases.values()})
    out: list[Measure] = []
    for ident in wanted:
        case = cases.get(ident)
        if case is None:
            raise NotFoundError("test-case", ident)
        if case.status == SEALED:
            raise SealedError(f"test-case {ident} is sealed.")
        named = world or case.fields.world
        acts_on = None if named is None else _with_faults(worlds[named], (*case.fields.faults, *faults))
        out.append(Measure(case, _yardstick(db, case.fields, known), acts_on))
    return out


def _with_faults(world: Record[World], faults: tuple[Fault, ...]) -> Record[World]:
    if not faults:
        return world
    return replace(world, fields=world.fields.model_copy(update={"faults": (*world.fields.faults, *faults)}))


def _worlds(db: Db, named: set[str | None]) -> dict[str, Record[World]]:
    idents = sorted(filter(None, named))
    worlds = records.get_all(db, idents, World) if idents else {}
    for ident in idents:
        if ident not in worlds or worlds[ident].deleted_at is not None:
            raise NotFoundError("world", ident)
    return worlds


def _yardstick(db: Db, case: TestCase, known: dict[str, RubricInUse]) -> Yardstick:
    if case.rubric_id is not None:
        if case.rubric_id not in known:
            known[case.rubric_id] = rubric_in_use(db, case.rubric_id)
        return known[case.rubric_id]
    return _own_yardstick(case)


def own_measure(case: Record[TestCase]) -> Measure:
    """The measure of a case that has no rubric, which needs no store."""
    assert case.fields.rubric_id is None, "a rubric stands in the store"
    return Measure(case, _own_yardstick(case.fields))


def _own_yardstick(case: TestCase) -> Yardstick:
    if checks := case.checks:
        assertions = parted(checks)[0]
        asking = tuple(assertion for assertion in assertions if asks_outside((assertion,)))
        return ByAssertions(assertions, case.threshold, case.scoring, asking)
    if case.expected_outputs:
        return (
            BySimilarity(case.expected_outputs)
            if case.pass_rule == SIMILARITY
            else ByExpectation(case.expected_outputs)
        )
    return ByNothing()


def rubric_in_use(db: Db, rubric_id: str) -> RubricInUse:
    """The rubric with its criteria in order; raises `NotFoundError` naming what is missing."""
    rubric = records.require(db, rubric_id, Rubric)
    criteria = records.get_all(db, rubric.fields.criteria_ids, RubricCriterion)
    for ident in rubric.fields.criteria_ids:
        if ident not in criteria:
            raise NotFoundError("rubric-criterion", ident, remedy=f"The rubric {rubric_id} lists it.")
    return in_use(rubric, [criteria[ident] for ident in rubric.fields.criteria_ids])
