"""A case of an evaluation, and where cases come from: Python values, files, data frames, generators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from pydantic import JsonValue

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.values import known_names
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.evaluation.checks import Check
from minions_evals_mcp.interop.parsing import parse_yaml
from minions_evals_mcp.interop.table_rows import SUFFIXES, read_rows
from minions_evals_mcp.targets.function.messages import plain_json

EXPECTED = ("expected", "expectedOutput", "expected_output")
CHECKS = ("checks", "assertions", "assert")
OWN = frozenset({"inputs", "id", "name", "tags", "group", "timeout", *EXPECTED, *CHECKS})


@dataclass(frozen=True, slots=True)
class Case:
    """The inputs of the task, and what should come of it.

    `inputs`: a mapping (keyword arguments, or one mapping, as the task takes them), or one value, which is its only
    argument. `checks` come beside those of the evaluation. `id` keeps the case's history where its inputs are edited;
    without one the inputs are its identity. Cases of one conversation or document belong together: `group` names it, and
    intervals and tests count groups. `timeout` is in seconds: a slower answer has failed.
    """

    inputs: object
    expected: object = None
    id: str | None = None
    name: str | None = None
    tags: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    timeout: float | None = None
    group: str | None = None

    def json_inputs(self) -> Json:
        """The inputs as they are kept; raises `BadInputError` for what is no JSON."""
        value = self._json(self.inputs, "inputs")
        return value if isinstance(value, dict) else {"input": value}

    def json_expected(self) -> JsonValue:
        """Returns what is expected, as it is kept; raises as above."""
        return self._json(self.expected, "expected")

    def _json(self, value: object, field_name: str) -> JsonValue:
        try:
            return plain_json(value)
        except ValueError as error:
            raise BadInputError(
                f"the case {self.id or self.name or self.inputs!r}: {field_name}: {error}.",
                remedy="Cases are kept: give texts, numbers, lists and mappings.",
            ) from None


@runtime_checkable
class DataFrame(Protocol):
    """The part of a pandas data frame that is used."""

    columns: Any

    def to_dict(self, orient: str) -> list[dict[str, Any]]: ...


Cases = Iterable["Case | Mapping[str, Any] | tuple[Any, Any]"] | AsyncIterator[Any] | Path | str | DataFrame


@dataclass(slots=True)
class _Row:
    """A mapping that describes a case; what it names of ours is taken out, the rest are inputs."""

    given: dict[str, Any]
    at: str
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])

    def first(self, names: Iterable[str]) -> Any:
        return next((self.given[name] for name in names if self.given.get(name) is not None), None)


def cases_in(cases: Cases) -> Iterator[Case]:
    """The cases one after the other; raises `BadInputError` naming the one that does not fit."""
    if isinstance(cases, str | Path):
        yield from _in_file(Path(cases))
        return
    is_frame = isinstance(cases, DataFrame)
    rows: Iterable[Any] = cases.to_dict("records") if is_frame else cast("Iterable[Any]", cases)
    for number, row in enumerate(rows, 1):
        yield case_of(row, f"case {number}", holes_are_none=is_frame)


def case_of(given_case: object, at: str, *, holes_are_none: bool = False) -> Case:
    """The case that a value is: a `Case`, a mapping, or a pair of inputs and expected output."""
    match given_case:
        case Case():
            return given_case
        case Mapping():
            row = {str(key): value for key, value in cast("Mapping[object, Any]", given_case).items()}
            return _of_row({key: value for key, value in row.items() if not (holes_are_none and value != value)}, at)  # noqa: PLR0124  NaN, which stands for a hole
        case tuple() | list() if len(pair := cast("tuple[Any, ...]", given_case)) == 2:
            return Case(pair[0], pair[1])
        case _:
            raise BadInputError(
                f"{at} is a {type(given_case).__name__}, no case.",
                remedy="Give Case(inputs, expected=…), a mapping, or a pair of both.",
            )


def _of_row(fields: dict[str, Any], at: str) -> Case:
    row = _Row(fields, at)
    inputs = fields["inputs"] if "inputs" in fields else {key: value for key, value in fields.items() if key not in OWN}
    strange = sorted(fields.keys() - OWN) if "inputs" in fields else []
    _vet_keys(strange, sorted(OWN), at)
    if inputs is None or inputs == {}:
        raise BadInputError(f"{at} has no inputs.", remedy="Give `inputs`, or columns beside `expected` and `id`.")
    checks = row.first(CHECKS) or ()
    tags = row.first(("tags",)) or ()
    timeout = row.first(("timeout",))
    return Case(
        inputs,
        row.first(EXPECTED),
        id=None if fields.get("id") in (None, "") else str(fields["id"]),
        name=row.first(("name",)),
        tags=tuple(tags.replace(",", " ").split()) if isinstance(tags, str) else tuple(tags),
        checks=(cast("Check", checks),)
        if isinstance(checks, str | Mapping)
        else tuple(cast("tuple[Check, ...]", checks)),
        timeout=None if timeout in (None, "") else float(timeout),
        group=None if fields.get("group") in (None, "") else str(fields["group"]),
    )


def _vet_keys(strange: list[str], known: list[str], at: str) -> None:
    if strange:
        raise BadInputError(
            f"{at}: unknown key {strange[0]!r}.", remedy=known_names(strange[0], known, "docs/reference/python.md")
        )


def _in_file(path: Path) -> Iterator[Case]:
    try:
        if path.suffix.lower() in SUFFIXES:
            for row in read_rows(path):
                cells = {name: cell for name, cell in row.cells.items() if cell != ""} if row.is_text else row.cells
                yield case_of(cells, row.where)
            return
        text = bounded_files.read_text(path)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{path} is no UTF-8.", remedy="Save it as UTF-8.") from None
    document = parse_yaml(text, str(path))
    listed = cast("dict[str, object]", document).get("cases") if isinstance(document, dict) else document
    if not isinstance(listed, list):
        raise BadInputError(f"{path} holds no list of cases.", remedy="Write a list, or `cases:` with one.")
    whole = cast("Json", document) if isinstance(document, dict) else {}
    for number, entry in enumerate(cast("list[object]", listed), 1):
        at = f"{path}: case {number}"
        yield _of_pydantic(whole, cast("Json", entry), at) if _is_pydantic(whole, entry) else case_of(entry, at)


def _is_pydantic(document: Json, entry: object) -> bool:
    """Whether the entry is a case as pydantic-evals alone writes it."""
    from minions_evals_mcp.interop.log_formats.eval_cases import has_evaluators, is_pydantic_case  # noqa: PLC0415  as below

    case = cast("Json", entry) if isinstance(entry, dict) else {}
    return is_pydantic_case(document, case) and ("metadata" in case or has_evaluators(document, case))


def _of_pydantic(document: Json, entry: Json, at: str) -> Case:
    """The case with its evaluators as checks; raises `BadInputError` for an evaluator that no check is the same as."""
    from minions_evals_mcp.interop.log_formats.eval_cases import PYDANTIC_CASE, pydantic_evaluators  # noqa: PLC0415  most evaluations read no file

    _vet_keys(sorted(entry.keys() - PYDANTIC_CASE), sorted(PYDANTIC_CASE), at)
    read = pydantic_evaluators(document, entry)
    if read.unread:
        raise BadInputError(
            f"{at}: no check is the same as the evaluator {read.unread[0]}.",
            remedy="Write it as a function, give it in checks=, and take it out of the file.",
        )
    name = entry.get("name")
    return Case(
        entry["inputs"],
        entry.get("expected_output"),
        id=None if name is None else str(name),
        name=None if name is None else str(name),
        checks=tuple(cast("list[Check]", read.checks)),
    )
