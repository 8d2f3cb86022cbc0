"""Consent to a file that names programs, code, addresses, variables or outside paths: shown, and kept by the digest of all that."""

from __future__ import annotations

import sys
from pathlib import Path

from minions_evals_mcp.cli.run.targeting import read_target_settings, resources_of
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.reached_resources import NamedResources
from minions_evals_mcp.interop.worlds.agreed import has_agreed, keep_agreed
from minions_evals_mcp.project import Project
from minions_evals_mcp.report.plain import harmless, printable
from minions_evals_mcp.targets.command import command_settings

SHOWN = 20
LENGTH = 300


def vet_project(project: Project, *, yes: bool) -> None:
    """Asks for consent to what the project's target runs, calls and reads."""
    vet_consent(project.file, _of_project(project), yes=yes)


def vet_config(path: Path, *, yes: bool) -> None:
    """Asks for consent to what a promptfoo config names, before any of it runs or is read further."""
    from minions_evals_mcp.interop.promptfoo_config.named_resources import named_resources  # noqa: PLC0415  only a config is searched

    vet_consent(path, named_resources(path), yes=yes)


def vet_consent(file: Path, named: NamedResources, *, yes: bool) -> None:
    """Asks a person on a terminal; raises `BadInputError` where nobody agrees. `yes` agrees on the command line."""
    if yes or has_agreed(file, named):
        return
    lines = [
        f"{said} {printable(one, LENGTH)}"
        for said, several in named.listed()
        for one in (*several[:SHOWN], *([f"… and {len(several) - SHOWN} more"] if len(several) > SHOWN else []))
    ]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInputError(
            f"{file} needs your consent: it {'; '.join(lines)}.",
            remedy="Read the file, then add --yes (also in CI).",
        )
    listed = "".join(f"  {line}\n" for line in lines)
    sys.stderr.write(f"{harmless(str(file))}\n{listed}with your permissions. Agree until this list changes? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise BadInputError(
            f"{file} was not run, because it needs your consent.", remedy="Edit the file, or name a --target of yours."
        )
    keep_agreed(file, named)


def _of_project(project: Project) -> NamedResources:
    fields = project.fields
    if fields.target_config is not None:
        path = project.path(fields.target_config)
        named = resources_of(read_target_settings(path), project.folder)
        return (
            named if path.resolve().is_relative_to(project.folder.resolve()) else named.with_paths(str(path.resolve()))
        )
    target = project.code()
    return NamedResources() if target is None else resources_of_target(target, project.folder)


def resources_of_target(target: str, folder: Path) -> NamedResources:
    """What a target by name runs or calls; nothing for a model."""
    kind, _, rest = target.partition(":")
    match kind:
        case "command":
            return resources_of(command_settings(target), folder)
        case "python":
            module = folder / (rest.partition(":")[0].replace(".", "/") + ".py")
            return NamedResources(code=(f"{module.resolve()} ({rest})" if module.is_file() else rest,))
        case "http" | "https":
            return NamedResources(addresses=(target,))
        case _:
            return NamedResources()
