"""The cases of `claude plugin eval`: `evals/CASE/` with `prompt.md`, `case.yaml` or both, and `graders/*.md`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from minions_evals_mcp import bounded_files
from minions_evals_mcp.domain.definitions import Json
from minions_evals_mcp.domain.tagged_values import obj
from minions_evals_mcp.errors import BadInputError, InvalidRecordError
from minions_evals_mcp.interop.parsing import parse_json, parse_yaml
from minions_evals_mcp.skills.front_matter import closing_line

EVALS = "evals"
RESULTS = "results"
PROMPT, CASE, GRADERS = "prompt.md", "case.yaml", "graders"
MANIFESTS = (Path(".claude-plugin") / "plugin.json", Path("plugin.json"))
RUNS = 3
"""So often each case is asked where it does not say so."""
MOST_RUNS = 50
RULES = frozenset({"regex", "tool_used", "tool_order", "file_exists"})
JUDGED = frozenset({"llm", "baseline"})
OF_GRADER = frozenset({"name", "type", "weight", "arm", "scored"})
"""What every grader may say."""
WITH_ONLY = "with-only"
SKILL = "Skill"
SET_UP = ("scaffold_script", "history_file", "add_dirs")
"""What a case's `context` may ask for before the prompt, which is not supported."""
OF_HOST = ("max_turns", "timeout_seconds", "model", "allowed_tools", "disallowed_tools", "append_system_prompt", "env",
           "artifact_publish", "growthbook_overrides")  # fmt: skip
"""What a case may ask of Claude Code, which the program that is started has to be told."""


@dataclass(frozen=True, slots=True)
class PluginGrader:
    """One grader. `config` is what it says beside its name, its weight and its arm; `text` the criteria of one that is judged."""

    name: str
    kind: str
    weight: float = 1.0
    config: Json = field(default_factory=dict[str, JsonValue])
    text: str = ""
    with_only: bool = False

    @property
    def skill_is_wanted(self) -> bool | None:
        """Whether it asks that a skill is used, or that none is; None where it is about anything else."""
        if self.kind != "tool_used" or self.config.get("tool") != SKILL:
            return None
        return self.config.get("max") != 0


@dataclass(frozen=True, slots=True)
class PluginCase:
    """One case: `set_up` names what it asks for and is not supported, `of_host` what the program has to be told."""

    id: str
    folder: Path
    name: str
    prompt: str
    graders: tuple[PluginGrader, ...]
    runs: int = RUNS
    set_up: tuple[str, ...] = ()
    of_host: tuple[str, ...] = ()


def plugin_name(folder: Path) -> str | None:
    """The name in the plugin's manifest; None where the folder is no plugin."""
    manifest = next((folder / path for path in MANIFESTS if (folder / path).is_file()), None)
    if manifest is None:
        return None
    named = obj(_json(parse_json(_text(manifest), str(manifest)))).get("name")
    if not isinstance(named, str) or not named.strip():
        raise InvalidRecordError("a plugin needs a name", field="name", where=str(manifest))
    return named


def is_plugin(folder: Path) -> bool:
    """Whether the folder holds a plugin's manifest."""
    return any((folder / path).is_file() for path in MANIFESTS)


def plugin_cases(folder: Path) -> list[PluginCase]:
    """The cases of the plugin in the order of their folders; raises by name what in them does not fit."""
    evals = folder / EVALS
    found = sorted({path.parent for name in (PROMPT, CASE) for path in evals.rglob(name)})
    kept = [path for path in found if RESULTS not in path.relative_to(evals).parts and path.name != GRADERS]
    for path in (file for case in kept for file in (case / PROMPT, case / CASE, *case.glob(f"{GRADERS}/*.md"))):
        if not path.resolve().is_relative_to(folder.resolve()):
            raise BadInputError(f"{path} leads out of {folder}.", remedy="Put the file itself there.")
    return [_case(path, path.relative_to(evals).as_posix()) for path in kept]


def _case(folder: Path, ident: str) -> PluginCase:
    yaml, (front, body) = _yaml(folder / CASE), _markdown(folder / PROMPT)
    where = str(folder / (CASE if yaml else PROMPT))
    execution = {**obj(yaml.get("execution")), **{key: front[key] for key in front if key in OF_HOST}}
    prompt = body.strip() or execution.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise InvalidRecordError("a case needs a prompt", field="execution.prompt", where=where)
    graders = (*_listed(yaml, where), *_in_files(folder / GRADERS))
    if not graders:
        raise InvalidRecordError("a case needs a grader", field="graders", where=where)
    names = [grader.name for grader in graders]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise InvalidRecordError(f"two graders are named {doubled!r}", field="graders", where=where)
    both = {**yaml, **front}
    return PluginCase(
        id=ident,
        folder=folder,
        name=str(both.get("name") or ident),
        prompt=prompt,
        graders=graders,
        runs=_runs(both.get("runs"), where),
        set_up=(
            *(name for name in SET_UP if obj(both.get("context")).get(name)),
            *(name for name in ("mcp_mocks", "mocks") if both.get(name)),
            *("mock_calls" for grader in graders if grader.config.get("target") == "mock_calls"),
        ),
        of_host=tuple(name for name in OF_HOST if name in execution),
    )


def _runs(runs: JsonValue, where: str) -> int:
    if runs is None:
        return RUNS
    if not isinstance(runs, int) or isinstance(runs, bool) or not 1 <= runs <= MOST_RUNS:
        raise InvalidRecordError(f"must be a whole number from 1 to {MOST_RUNS}", field="runs", where=where)
    return runs


def _listed(yaml: Json, where: str) -> Iterator[PluginGrader]:
    listed = yaml.get("graders")
    if listed is not None and not isinstance(listed, list):
        raise InvalidRecordError("graders stand in a list", field="graders", where=where)
    for number, said in enumerate(listed or ()):
        yield _grader(obj(said), f"grader-{number + 1}", "", f"{where}: graders.{number}")


def _in_files(folder: Path) -> Iterator[PluginGrader]:
    for path in sorted(folder.glob("*.md")):
        front, body = _markdown(path)
        yield _grader(front, path.stem, body.strip(), str(path))


def _grader(said: Json, name: str, body: str, where: str) -> PluginGrader:
    kind = said.get("type")
    if not isinstance(kind, str) or kind not in RULES | JUDGED:
        raise InvalidRecordError(f"must be one of {', '.join(sorted(RULES | JUDGED))}", field="type", where=where)
    grader = PluginGrader(
        name=str(said.get("name") or name),
        kind=kind,
        weight=_weight(said.get("weight"), where),
        config=_config(said, kind, body),
        text=str(said.get("criteria") or body),
    )
    return replace(grader, with_only=_is_with_only(said, grader))


def _config(said: Json, kind: str, body: str) -> Json:
    """What the grader says of its own; a pattern may stand below the front matter."""
    config = {key: value for key, value in said.items() if key not in OF_GRADER | {"criteria"} and value is not None}
    if kind == "regex" and "pattern" not in config and body:
        config["pattern"] = body
    if kind == "regex" and config.get("target") == "file":
        config["target"] = {"path": config.get("path")}
    return {key: value for key, value in config.items() if kind != "regex" or key != "path"}


def _is_with_only(said: Json, grader: PluginGrader) -> bool:
    """Whether it bears on no score: said so, or a call of a skill, which without the plugin cannot be."""
    if said.get("scored") is False or said.get("arm") == WITH_ONLY:
        return True
    return said.get("arm") is None and grader.skill_is_wanted is not None


def _weight(weight: JsonValue, where: str) -> float:
    if weight is None:
        return 1.0
    if not isinstance(weight, (int, float)) or isinstance(weight, bool) or weight < 0:
        raise InvalidRecordError("must be a number from 0", field="weight", where=where)
    return float(weight)


def _yaml(path: Path) -> Json:
    if not path.is_file():
        return {}
    document = obj(_json(parse_yaml(_text(path), str(path))))
    if not document.get("schema_version"):
        raise InvalidRecordError("is missing: 1.1 is read", field="schema_version", where=str(path))
    return document


def _markdown(path: Path) -> tuple[Json, str]:
    """The front matter of the file, and what stands below it; nothing for one that is not there."""
    if not path.is_file():
        return {}, ""
    lines = _text(path).splitlines()
    closed = closing_line(lines)
    if closed is None:
        return {}, "\n".join(lines)
    return obj(_json(parse_yaml("\n".join(lines[1:closed]), str(path)))), "\n".join(lines[closed + 1 :])


def _json(value: object) -> JsonValue:
    parsed: JsonValue = json.loads(json.dumps(value, default=str))
    return parsed


def _text(path: Path) -> str:
    try:
        return bounded_files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}.", remedy="Check the file.") from None


def reference_text(case: PluginCase, grader: PluginGrader) -> str:
    """The reference of a `baseline` grader; raises by name one that is not there or lies outside of the case's folder."""
    named = str(grader.config.get("baseline_file") or "")
    path = (case.folder / named).resolve()
    if not named or not path.is_file() or not path.is_relative_to(case.folder.resolve()):
        raise InvalidRecordError(
            f"there is no file {named!r} in the case's folder",
            field="baseline_file",
            where=f"{case.folder}: {grader.name}",
        )
    return _text(path)


def host_asks(cases: list[PluginCase]) -> tuple[str, ...]:
    """What the cases ask of Claude Code, each once."""
    return tuple(dict.fromkeys(name for case in cases for name in case.of_host))
