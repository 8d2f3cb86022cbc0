"""What is tried by a lift: a skill's folder, a file or folder of the user's, or a YAML file that says what each arm holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_core import to_json

from minions_evals_mcp.domain.values import Text, Value
from minions_evals_mcp.engine.lift.arms import Arm
from minions_evals_mcp.engine.lift.run_lift import LiftPlan
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.lift_suite import LiftSuite, lift_suite
from minions_evals_mcp.interop.parsing import parse_yaml
from minions_evals_mcp.interop.skill_evals import EVALS, SKILL_FILE, read_evals, skill_name
from minions_evals_mcp.targets.workspace import Laid, laid_at

SKILLS_AT = ".claude/skills"
YAML = (".yaml", ".yml")


class Lay(Value):
    """A file or a folder, and where in the workspace it is laid; else under its own name, a folder's content at the top."""

    from_: Annotated[Text, Field(alias="from")]
    to: str | None = None


class LiftFile(Value):
    """A lift's YAML file. Paths are from its folder; `cases` is an evals.json, or the id of a benchmark that is kept.

    `skill` names the skill whose use is looked for in tool logs; else that of the skill folder that `with` lays.
    """

    name: Text
    cases: Text
    with_: Annotated[tuple[str | Lay, ...], Field(alias="with", strict=False)] = ()
    without: Annotated[tuple[str | Lay, ...], Field(strict=False)] = ()
    skill: str | None = None
    target: Text | None = None
    target_config: Text | None = None


@dataclass(frozen=True, slots=True)
class LiftAsked:
    """What a lift is asked for: the subject, and what the command line adds to each arm."""

    subject: str
    with_: Sequence[str] = ()
    without: Sequence[str] = ()
    cases: str | None = None
    name: str | None = None
    skills_at: str = SKILLS_AT


def read_lift_file(path: Path) -> LiftFile:
    """The file; raises `InvalidRecordError` naming what in it does not fit."""
    try:
        found = parse_yaml(path.read_text("utf-8-sig"), str(path))
        return LiftFile.model_validate_json(to_json(found))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.", remedy="Check the path.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(first["msg"], field=".".join(map(str, first["loc"])), where=str(path)) from None


def lift_plan(asked: LiftAsked, *, at: datetime) -> LiftPlan:
    """The plan of the lift; raises by name what is not there or does not fit."""
    path = Path(asked.subject)
    if path.is_dir() and (path / SKILL_FILE).is_file():
        return _of_skill(asked, path, at)
    if path.is_file() and path.suffix.lower() in YAML:
        return _of_file(asked, path, at)
    cases = asked.cases or (asked.subject if path.suffix == ".json" or not path.exists() else None)
    if cases is None:
        raise BadInputError(
            f"{asked.subject} says nothing of the cases on which it is tried.",
            remedy="Add --cases: an evals.json, or a benchmark that is kept.",
        )
    if not path.exists() and not (asked.with_ or asked.without):
        raise BadInputError(
            f"{asked.subject} is no file and no folder here.",
            remedy="Check the path; a benchmark that is kept needs --with, which says what is tried on it.",
        )
    own = (asked.subject,) if path.exists() and cases != asked.subject else ()
    name = asked.name or _stem(asked.subject)
    return _plan(name, cases, _laid((*own, *asked.with_), Path(), asked), _laid(asked.without, Path(), asked), None, at)


def _of_skill(asked: LiftAsked, folder: Path, at: datetime) -> LiftPlan:
    skill = skill_name(folder)
    cases = asked.cases or str(folder / EVALS)
    if asked.cases is None and not Path(cases).is_file():
        raise BadInputError(
            f"{folder} has no {EVALS}.", remedy="Write one, or name the cases with --cases: a file or a benchmark."
        )
    with_ = _laid((str(folder), *asked.with_), Path(), asked)
    return _plan(asked.name or skill, cases, with_, _laid(asked.without, Path(), asked), skill, at)


def _of_file(asked: LiftAsked, path: Path, at: datetime) -> LiftPlan:
    told, folder = read_lift_file(path), path.parent
    cases = asked.cases or (str(folder / told.cases) if (folder / told.cases).is_file() else told.cases)
    with_ = (*_laid(told.with_, folder, asked), *_laid(asked.with_, Path(), asked))
    without = (*_laid(told.without, folder, asked), *_laid(asked.without, Path(), asked))
    skill = told.skill or next((found for one in told.with_ if (found := _skill_in(one, folder))), None)
    return _plan(asked.name or told.name, cases, with_, without, skill, at)


def _plan(
    name: str, cases: str, with_: Sequence[Laid], without: Sequence[Laid], skill: str | None, at: datetime
) -> LiftPlan:  # fmt: skip
    path = Path(cases)
    suite = LiftSuite(cases)
    if path.is_file():
        root = path.parent.parent if path.parent.name == EVALS.parent.name else path.parent
        suite = lift_suite(name, read_evals(path), case_files=root, at=at)
        case_files = root
    else:
        case_files = None
    return LiftPlan(
        name=name,
        arms={"with": Arm(name, "with", with_), "without": Arm(name, "without", without)},
        benchmark_id=suite.benchmark_id,
        records=suite.records,
        triggers_id=suite.triggers_id,
        skill=skill,
        should_trigger=suite.should_trigger,
        case_files=case_files,
    )


def _laid(specs: Sequence[str | Lay], base: Path, asked: LiftAsked) -> tuple[Laid, ...]:
    """What those files and folders lay; raises `BadInputError` where two lay the same place."""
    found: dict[PurePosixPath, Laid] = {}
    for spec in specs:
        for one in _laid_by(spec, base, asked.skills_at):
            if (other := found.get(one.place)) is not None and other.sha256 != one.sha256:
                raise BadInputError(
                    f"{other.source} and {one.source} are both laid at {one.place}.",
                    remedy="Say where one of them goes: PATH=PLACE.",
                )
            found[one.place] = one
    return tuple(found.values())


def _laid_by(spec: str | Lay, base: Path, skills_at: str) -> tuple[Laid, ...]:
    lay = _lay(spec)
    source = base / lay.from_
    place = PurePosixPath(lay.to or "")
    if place.is_absolute() or ".." in place.parts:
        raise BadInputError(f"{place} is no place in a workspace.", remedy="Give a path within it, such as AGENTS.md.")
    if source.is_dir() and (source / SKILL_FILE).is_file():
        at = place if lay.to else PurePosixPath(skills_at) / skill_name(source)
        return laid_at(source, at, but=EVALS.parent.name)  # the agent must not read its own evals
    if source.is_file() and not lay.to:
        place = PurePosixPath(source.name)
    return laid_at(source, place)


def _lay(spec: str | Lay) -> Lay:
    if isinstance(spec, Lay):
        return spec
    source, _, place = spec.partition("=")
    return Lay(from_=source, to=place or None)


def _skill_in(spec: str | Lay, base: Path) -> str | None:
    source = base / _lay(spec).from_
    return skill_name(source) if (source / SKILL_FILE).is_file() else None


def _stem(subject: str) -> str:
    path = Path(subject)
    return path.stem if path.exists() else subject.rpartition("/")[2]
