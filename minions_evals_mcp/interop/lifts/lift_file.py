"""The file of a lift: a skill's folder, a file or folder of the user's, or a YAML file that says what each arm holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_core import to_json

from minions_evals_mcp import bounded_files
from minions_evals_mcp.confined_paths import confined_path
from minions_evals_mcp.domain.request_fields import More
from minions_evals_mcp.domain.values import Text, Value, first_named
from minions_evals_mcp.engine.lift.arms import Arm
from minions_evals_mcp.engine.lift.components import ABLATED, Ablation, groups_in, named
from minions_evals_mcp.engine.lift.run_lift import LiftPlan
from minions_evals_mcp.engine.request import RunSettings
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.lifts.lift_suite import LiftSuite, lift_suite
from minions_evals_mcp.interop.lifts.plugin_cases import CASE, MANIFESTS, PROMPT, is_plugin, plugin_cases, plugin_name
from minions_evals_mcp.interop.lifts.plugin_components import PluginFiles
from minions_evals_mcp.interop.lifts.plugin_suite import plugin_suite
from minions_evals_mcp.interop.parsing import parse_yaml
from minions_evals_mcp.interop.skill_evals import EVALS, SKILL_FILE, read_evals, skill_name
from minions_evals_mcp.next_steps import argument
from minions_evals_mcp.targets.workspace import Laid, laid_at

NO_ID = re.compile(r"[^A-Za-z0-9._@-]+")
"""What stands in the name of a file or folder, and in no id."""
MAX_STEM = 60
SKILLS_AT = ".claude/skills"
PLUGIN_AT = PurePosixPath("plugin")
"""Where in a workspace a plugin is laid."""
MOST_COMPONENTS, NAMED = 200, 5
"""The most components of a plugin that are tried separately, and the most paths that are named."""
YAML = (".yaml", ".yml")
PLACE = "Give a relative path in the workspace, such as AGENTS.md."


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

    def sources(self) -> tuple[str, ...]:
        """The files and folders that it lays, and its cases, by their paths from its folder."""
        return (*(_lay(spec).from_ for spec in (*self.with_, *self.without)), self.cases)


class LiftRequest(RunSettings):
    """Try a skill, an AGENTS.md, a tool or an MCP server on the same cases with and without it."""

    subject: Annotated[
        Text,
        Field(description="What is tried"),
        More(
            "A skill's folder, a plugin's folder (with evals/ as for claude plugin eval), a file or folder to copy into the"
            " workspace, a YAML file that describes both arms, or an evals.json."
        ),
    ]
    with_: Annotated[
        tuple[Text, ...],
        Field(alias="with", strict=False, description="More files for its workspaces"),
        More("Another file or folder for the workspaces with the subject: PATH, or PATH=PLACE. Repeatable."),
    ] = ()
    without: Annotated[
        tuple[Text, ...],
        Field(strict=False, description="Laid into the others"),
        More(
            "A file or folder for the workspaces without the subject, such as the skill's earlier version. Repeatable."
        ),
    ] = ()
    cases: Annotated[
        Text | None,
        Field(description="The cases"),
        More("An evals.json, or the id of a stored benchmark (default: the skill's evals/evals.json)."),
    ] = None
    name: Annotated[
        Text | None,
        Field(description="The name of the lift"),
        More("The name of the lift (default: the skill's name). Its runs are compared under it."),
    ] = None
    skills_at: Annotated[
        Text,
        Field(description="Folder in the workspace for skills"),
        More("Folder in the workspace for skills. Each is copied to a subfolder with its name."),
    ] = SKILLS_AT
    components: Annotated[
        Annotated[int, Field(gt=0)] | None,
        Field(description="Also find which component of a plugin helps or harms, with at most this many more outputs"),
        More(
            "Find which skill, agent, command, hook or MCP server of a plugin helps or harms, with at most this many more"
            " outputs. The plugin is run without each component, or without halves of the components if that takes too many outputs."
        ),
    ] = None


def read_lift_file(path: Path) -> LiftFile:
    """The file; raises `InvalidRecordError` naming what in it does not fit."""
    try:
        document = parse_yaml(bounded_files.read_text(path), str(path))
        return LiftFile.model_validate_json(to_json(document))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.", remedy="Check the path.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRecordError(first["msg"], field=".".join(map(str, first["loc"])), where=str(path)) from None


def lift_plan(request: LiftRequest, *, at: datetime) -> LiftPlan:
    """The plan of the lift; raises by name what is not there or does not fit."""
    path = Path(request.subject)
    if request.components is not None and not (path.is_dir() and is_plugin(path) and request.cases is None):
        raise BadInputError(
            f"{argument('components')} needs the folder of a plugin with its own cases.",
            remedy=f"Name one, or leave {argument('components')} out.",
        )
    if path.is_dir() and (path / SKILL_FILE).is_file():
        return _of_skill(request, path, at)
    if path.is_file() and path.suffix.lower() in YAML:
        return _of_file(request, path, at)
    if path.is_dir() and request.cases is None and (plugin := plugin_name(path)) is not None:
        return _of_plugin(request, path, plugin, at)
    cases = request.cases or (request.subject if path.suffix == ".json" or not path.exists() else None)
    if cases is None:
        raise BadInputError(
            f"{request.subject} says nothing of the cases on which it is tried.",
            remedy=f"Add {argument('cases')}: an evals.json, or a stored benchmark.",
        )
    if not path.exists() and not (request.with_ or request.without):
        raise BadInputError(
            f"{request.subject} is neither a file nor a folder here.",
            remedy=f"Check the path. A stored benchmark needs {argument('with_')}, which says what is tried on it.",
        )
    own = (request.subject,) if path.exists() and cases != request.subject else ()
    name = request.name or _stem(request.subject)
    return _plan(
        name, cases, _laid((*own, *request.with_), Path(), request), _laid(request.without, Path(), request), None, at
    )


def _of_skill(request: LiftRequest, folder: Path, at: datetime) -> LiftPlan:
    skill = skill_name(folder)
    cases = request.cases or str(folder / EVALS)
    if request.cases is None and not Path(cases).is_file():
        raise BadInputError(
            f"{folder} has no {EVALS}.",
            remedy=f"Write one, or name the cases with {argument('cases')}: a file or a benchmark.",
        )
    with_ = _laid((str(folder), *request.with_), Path(), request)
    return _plan(request.name or skill, cases, with_, _laid(request.without, Path(), request), skill, at)


def _of_plugin(request: LiftRequest, folder: Path, plugin: str, at: datetime) -> LiftPlan:
    """A plugin on its own cases: the whole of it without them, against its manifest alone."""
    cases = plugin_cases(folder)
    if not cases:
        raise BadInputError(
            f"{folder} has no case in {EVALS.parent.name}/: a folder with {PROMPT} or {CASE}.",
            remedy=f"Write one, or name the cases with {argument('cases')}: an evals.json, or a stored benchmark.",
        )
    name = request.name or plugin
    suite = plugin_suite(name, cases, at=at)
    whole = laid_at(folder, PLUGIN_AT, but=EVALS.parent.name)
    files = PluginFiles.at(whole, PLUGIN_AT)
    manifest = tuple(
        file
        for file in files.without(files.components)
        if file.place.relative_to(PLUGIN_AT).as_posix() in map(str, MANIFESTS)
    )
    with_ = (*whole, *_laid(request.with_, Path(), request))
    without = (*manifest, *_laid(request.without, Path(), request))
    skills = sorted(path.parent for path in folder.glob(f"skills/*/{SKILL_FILE}"))
    return LiftPlan(
        name=name,
        arms={"with": Arm(name, "with", with_), "without": Arm(name, "without", without)},
        benchmark_id=suite.benchmark_id,
        records=suite.records,
        skill=skill_name(skills[0]) if len(skills) == 1 and suite.should_trigger else None,
        should_trigger=suite.should_trigger,
        notes=(*suite.notes, *_elsewhere(files, request)),
        runs=suite.runs,
        ablation=None
        if request.components is None
        else _ablation(name, files, with_[len(whole) :], request.components),
    )


def _elsewhere(files: PluginFiles, request: LiftRequest) -> list[str]:
    paths = files.elsewhere(PLUGIN_AT) if request.components is not None else []
    return (
        [f"not tried separately, because the manifest names them by path: {first_named(paths, NAMED)}"] if paths else []
    )


def _ablation(name: str, files: PluginFiles, beside: Sequence[Laid], most_outputs: int) -> Ablation:
    """The arms that lay the plugin without a group of its components; raises `BadInputError` for none and for too many."""
    components = files.components
    if not components:
        raise BadInputError(
            "the plugin has no skill, agent, command, hook or MCP server.",
            remedy=f"Leave {argument('components')} out.",
        )
    if len(components) > MOST_COMPONENTS:
        raise BadInputError(
            f"the plugin has {len(components):,} components, and at most {MOST_COMPONENTS} can be tried separately.",
            remedy=f"Leave {argument('components')} out, or try a part of the plugin.",
        )
    arms = {
        group: Arm(name, ABLATED, (*files.without(group), *beside), lacks=named(group))
        for group in groups_in(components)
    }
    return Ablation(components, arms, most_outputs)


def _of_file(request: LiftRequest, path: Path, at: datetime) -> LiftPlan:
    lift_file, folder = read_lift_file(path), path.parent
    cases = request.cases or (
        str(folder / lift_file.cases) if (folder / lift_file.cases).is_file() else lift_file.cases
    )
    with_ = (*_laid(lift_file.with_, folder, request), *_laid(request.with_, Path(), request))
    without = (*_laid(lift_file.without, folder, request), *_laid(request.without, Path(), request))
    skill = lift_file.skill or next(
        (skill_found for layer in lift_file.with_ if (skill_found := _skill_in(layer, folder))), None
    )
    return _plan(request.name or lift_file.name, cases, with_, without, skill, at)


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
        left_out=suite.left_out,
        case_files=case_files,
    )


def _laid(specs: Sequence[str | Lay], base: Path, request: LiftRequest) -> tuple[Laid, ...]:
    """Returns what those files and folders lay; raises `BadInputError` where two lay the same place."""
    laid: dict[PurePosixPath, Laid] = {}
    for spec in specs:
        for file in _laid_by(spec, base, request.skills_at):
            if (other := laid.get(file.place)) is not None and other.sha256 != file.sha256:
                raise BadInputError(
                    f"{other.source} and {file.source} would both be copied to {file.place}.",
                    remedy="Say where one of them goes: PATH=PLACE.",
                )
            laid[file.place] = file
    return tuple(laid.values())


def _laid_by(spec: str | Lay, base: Path, skills_at: str) -> tuple[Laid, ...]:
    lay = _lay(spec)
    source = base / lay.from_
    place = confined_path(lay.to, field="to", remedy=PLACE) if lay.to else PurePosixPath()
    if source.is_dir() and (source / SKILL_FILE).is_file():
        at = (
            place
            if lay.to
            else confined_path(skills_at, field=str(argument("skills_at")), remedy=PLACE) / skill_name(source)
        )
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
    """The name of what is tried, as ids take it: of `.` it is the folder's, which the path does not say."""
    path = Path(subject)
    name = path.resolve().stem if path.exists() else subject.rstrip("/").rpartition("/")[2]
    return NO_ID.sub("-", name).strip("-")[:MAX_STEM] or "lift"
