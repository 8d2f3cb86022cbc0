"""An evaluation as records: its cases as test cases, all of them as a benchmark, the code's version as a prompt version."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from minions_evals_mcp.domain.definitions import Benchmark, Fields, Json, RubricCriterion, TestCase, World
from minions_evals_mcp.domain.definitions import Rubric as RubricFields
from minions_evals_mcp.domain.digests import digest, text_digest
from minions_evals_mcp.domain.neighbours import PromptVersion
from minions_evals_mcp.domain.outputs import value_text
from minions_evals_mcp.domain.records import MADE_BY_PYTHON, Record, record_from_wire
from minions_evals_mcp.domain.relations import Relation
from minions_evals_mcp.engine.answers.prompt_versions import VersionLine, version_chain
from minions_evals_mcp.engine.context import Engine
from minions_evals_mcp.engine.records.save_records import Arrival, save_records
from minions_evals_mcp.errors import BadInputError, NotFoundError
from minions_evals_mcp.evaluation.case import Case, Cases, case_of, cases_in
from minions_evals_mcp.evaluation.checks import Checks, Rubric, criterion_name, criterion_text, weight_of
from minions_evals_mcp.store import records
from minions_evals_mcp.targets.function.task import FunctionTask

PAGE = 500
LONGEST_TITLE = 80
LONGEST_PART = 60
_NAME = re.compile(r"[^A-Za-z0-9._:/@-]+")


def name_of(text: str) -> str:
    """The text as an id's part: what an id may not hold is a hyphen; beyond ASCII a digest tells the name from its like."""
    whole = unicodedata.normalize("NFC", text.strip())
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", whole) if not unicodedata.combining(sign))
    name = _NAME.sub("-", bare).strip("-")[:LONGEST_PART]
    if not name:
        raise BadInputError(f"{text!r} is no name for an evaluation.", remedy="Use letters, digits, . _ : / @ and -.")
    return name if whole.isascii() else f"{name[: LONGEST_PART - 9]}-{text_digest(whole)[:8]}"


async def name_in(engine: Engine, name: str, folder: Path) -> str:
    """The name under which the folder's evaluation is kept in a store that folders share: never that of another folder's."""
    return await engine.store.read(
        lambda db: next(one for one in _names(name, folder) if _is_free(records.find(db, one), folder))
    )


def _names(name: str, folder: Path) -> Iterator[str]:
    yield name
    for count in itertools.count(1):
        yield name_of(f"{folder.name or 'root'}{'' if count == 1 else f'-{count}'}/{name}")


def _is_free(held: Record[Fields] | None, folder: Path) -> bool:
    if held is None or held.created_by != MADE_BY_PYTHON:  # a record that was imported is refused by its name
        return True
    return isinstance(held.fields, Benchmark) and held.fields.description in {"", evaluated_in(folder)}


def evaluated_in(folder: Path) -> str:
    """The description of an evaluation in a store that folders share."""
    return f"Evaluated in {folder}"


@dataclass(slots=True)
class Suite:
    """The cases of an evaluation on their way into the store: a page of them in memory at a time."""

    engine: Engine
    name: str
    checks: Checks
    task: FunctionTask
    description: str = ""
    case_ids: list[str] = field(default_factory=list[str])
    taken: set[str] = field(default_factory=set[str])
    known: dict[str, Case] = field(default_factory=dict[str, Case])
    """The user's own cases by id, where they hold all of them anyway."""

    async def save(self, cases: Cases) -> None:
        """Keeps every case, and the benchmark that holds them; raises `BadInputError` naming the one that does not fit."""
        await self._refuse_other_suite()
        held = isinstance(cases, list | tuple)
        rubric = self.checks.rubric()
        if rubric is not None:
            await save_records(self.engine, [Arrival(record) for record in self._rubric(rubric)])
        async for page in _pages(cases):
            await save_records(self.engine, [Arrival(self._record(case, held=held)) for case in page])
        if not self.case_ids:
            raise BadInputError("there are no cases.", remedy="Give evaluate(task, cases) at least one.")
        fields = Benchmark(name=self.name, description=self.description, test_case_ids=tuple(self.case_ids))
        await save_records(self.engine, [Arrival(self._made(self.name, fields, self.name))])

    async def save_world(self, world: Mapping[str, object] | str) -> str:
        """The id of the world that the task acts on; one that is given by its fields is kept under the evaluation's name."""
        if isinstance(world, str):
            return world
        ident = f"{self.name}/world"
        try:
            fields: JsonValue = from_json(to_json({"name": self.name, **world}))
        except ValueError as error:
            raise BadInputError(f"the world is no JSON: {error}.", remedy="Give plain values.") from None
        wire: JsonValue = {"id": ident, "type": World.slug, "fields": fields}
        record = replace(record_from_wire(wire, new_id=ident, now=self.engine.clock()), created_by=MADE_BY_PYTHON)
        await save_records(self.engine, [Arrival(record)])
        return ident

    async def _refuse_other_suite(self) -> None:
        held = await self.engine.store.read(lambda db: records.find(db, self.name))
        if held is not None and (held.created_by != MADE_BY_PYTHON or not isinstance(held.fields, Benchmark)):
            raise BadInputError(
                f"{self.name!r} is the id of a {held.type} that was imported.",
                remedy="Give the evaluation another name: evaluate(…, name=…).",
            )

    def _made(self, ident: str, fields: Fields, title: str, *, tags: Sequence[str] = ()) -> Record[Fields]:
        now: datetime = self.engine.clock()
        return Record(ident, fields, title, now, now, tuple(tags), created_by=MADE_BY_PYTHON)

    def _record(self, case: Case, *, held: bool) -> Record[Fields]:
        inputs, expected = case.json_inputs(), case.json_expected()
        self.task.plain = self.task.plain or not isinstance(case.inputs, dict)
        ident = self._ident(case, inputs)
        if held and self.checks.functions_given(case):
            self.known[ident] = case
        named = case.id if len(inputs) > 1 else None  # several inputs make no name that is read
        title = case.name or named or _title(inputs)
        where = ident if case.id or title == ident else f"{ident} ({title})"
        self.task.vet(inputs, where)
        alone = self.checks.rubric() is not None and not case.checks
        fields = TestCase(
            name=title,
            inputs=inputs,
            expected_outputs=expected_record(expected),
            rubric_id=f"{self.name}/rubric" if alone else None,
            assertions=() if alone else self.checks.assertions(case.checks, expected, where),
            timeout_ms=None if case.timeout is None else max(1, round(case.timeout * 1000)),
            tags=case.tags,
            group=case.group,
        )
        return self._made(ident, fields, title, tags=case.tags)

    def _ident(self, case: Case, inputs: Json) -> str:
        key = name_of(case.id) if case.id else digest(inputs)[:12]
        ident = f"{self.name}/{key}"
        if ident in self.taken:
            if case.id:
                raise BadInputError(f"two cases have the id {case.id!r}.", remedy="Give each its own.")
            ident = next(other for at in range(2, 10**9) if (other := f"{ident}-{at}") not in self.taken)
        self.taken.add(ident)
        self.case_ids.append(ident)
        return ident

    def _rubric(self, rubric: Rubric) -> Iterable[Record[Fields]]:
        ident = f"{self.name}/rubric"
        parts = {f"{ident}/{number}": criterion for number, criterion in enumerate(rubric.criteria, 1)}
        for number, (part, criterion) in enumerate(parts.items(), 1):
            criterion_fields: Json = (
                {} if isinstance(criterion, str) else {str(key): value for key, value in criterion.items()}
            )
            own = {
                key: criterion_fields[key]
                for key in ("scoringGuide", "minScore", "maxScore", "judgeType")
                if key in criterion_fields
            }
            name = criterion_name(criterion, number)
            wire: Json = {
                "rubricId": ident, "name": name, "description": criterion_text(criterion), "weight": weight_of(criterion), **own,
            }  # fmt: skip
            yield self._made(part, RubricCriterion.model_validate(wire), name)
        highest = sum(weight_of(criterion) * _most(criterion) for criterion in rubric.criteria)
        fields = RubricFields(
            name=rubric.name, criteria_ids=tuple(parts), passing_threshold=rubric.threshold * highest
        )  # fmt: skip
        yield self._made(ident, fields, rubric.name)


def _most(criterion: object) -> float:
    return float(criterion.get("maxScore", 1.0)) if isinstance(criterion, dict) else 1.0  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  a mapping of the user's


async def _pages(source: Cases) -> AsyncIterator[list[Case]]:
    """The cases, some hundred at a time."""
    if not isinstance(source, AsyncIterator):
        cases = cases_in(source)
        while page := list(islice(cases, PAGE)):
            yield page
        return
    page: list[Case] = []
    number = 0
    async for case in source:
        number += 1
        page.append(case_of(case, f"case {number}"))
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


def expected_record(value: JsonValue) -> Json | None:
    """Returns what is expected, as a record holds it; an empty text is no expectation of a record's, as every text contains it."""
    if value is None or value == "":
        return None
    if isinstance(value, dict):
        return None if not value or "" in value.values() else value
    return {"output": value}


def _title(inputs: Json) -> str:
    """Returns what a case is called that has no name: what its inputs say."""
    title = value_text(next(iter(inputs.values()))) if len(inputs) == 1 else value_text(inputs)
    line = " ".join(title.split())
    return (line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…") or "(empty)"


async def save_version(engine: Engine, name: str, label: str, source: str) -> str:
    """The id of the code's version under that label, recorded after those before it; its content is the source."""
    ident = f"{name}@{name_of(label)}"
    known = await engine.store.read(lambda db: records.minion(db, ident))
    if known is not None:
        return ident
    try:
        chain: list[VersionLine] = await version_chain(engine, name)
    except NotFoundError:
        chain = []
    if any(version.id == ident for version in chain):  # another process has just recorded it
        return ident
    number = max((version.version_number for version in chain), default=0) + 1
    fields = PromptVersion(
        content=source or label, version_number=number, prompt_id=name, changelog=f"the code at {label}"
    )
    now = engine.clock()
    record: Record[Fields] = Record(ident, fields, f"{name} {label}", now, now, created_by=MADE_BY_PYTHON)
    before = [version.id for version in chain if version.latest]
    await save_records(engine, [Arrival(record)], [Relation(ident, earlier, "follows") for earlier in before])
    return ident
