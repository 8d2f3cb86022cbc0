"""Does it help? A skill, a file or a tool, tried on the same cases with and without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import Parameter
from pydantic_core import to_json

from minions_evals_mcp.bounded_files import vet_no_store
from minions_evals_mcp.cli.derived import GivenOptions, takes
from minions_evals_mcp.cli.run.agreeing import resources_of_target, vet_consent
from minions_evals_mcp.cli.run.gates import BROKEN, GATE, unscored
from minions_evals_mcp.cli.run.run_options import RUN_DEFAULTS, RunOptions
from minions_evals_mcp.cli.run.showing import progress_line
from minions_evals_mcp.cli.run.targeting import read_target, read_target_settings, resources_of
from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, say
from minions_evals_mcp.cli.telling import as_typed
from minions_evals_mcp.domain.values import iso
from minions_evals_mcp.engine.request import RunSettings
from minions_evals_mcp.errors import BadInputError
from minions_evals_mcp.interop.lifts.lift_file import PLUGIN_AT, YAML, read_lift_file
from minions_evals_mcp.interop.lifts.plugin_cases import is_plugin
from minions_evals_mcp.interop.reached_resources import NamedResources
from minions_evals_mcp.known_secrets import masked
from minions_evals_mcp.operations.engine import Engine
from minions_evals_mcp.operations.operator import lift as operation
from minions_evals_mcp.targets.coding_agents.host_commands import HOST_COMMANDS, host_command
from minions_evals_mcp.targets.command import CommandSettings, command_settings
from minions_evals_mcp.targets.own import OwnTarget
from minions_evals_mcp.targets.workspace import rooted


@takes("lift", but=RunSettings.model_fields)
async def lift(
    subject: str,
    /,
    *,
    given: GivenOptions,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    fail_on_harm: Annotated[bool, Parameter(negative="")] = False,
    options: RunOptions = RUN_DEFAULTS,
    common: Common = DEFAULTS,
) -> int:
    """Measure whether a skill, an AGENTS.md, a tool or an MCP server helps an agent: the same cases with and without it.

    Your agent (--target 'command:…') starts for each case in a fresh folder, once with the subject and once without.
    It reads {"prompt": …} as JSON and answers with JSON or text. Quality, tokens and time are compared case by case.
    A skill's evals/evals.json works unchanged. With --fail-on-harm, exit 1 if the subject is harmful. Exit 3 if
    outputs could not be judged.
    Example: minions-evals lift skills/csv-analyzer --target 'command:python agent.py' --judge-model anthropic:claude-sonnet-5-5

    Parameters
    ----------
    subject
        A skill's folder, a plugin's folder (with evals/ as for claude plugin eval), a file or folder to copy into the
        workspace, a YAML file that describes both arms, or an evals.json.
    output
        Write the result to a file in the form of a skill's benchmark.json.
    fail_on_harm
        Exit 1 if the subject makes outputs significantly worse, 3 if that is unknown.
    """
    if options.prompt_version is not None:
        raise BadInputError("a lift sets the prompt versions of its arms itself.", remedy="Leave --prompt-version out.")
    _vet_lift(subject, options)
    target = _target(subject, options)
    settings = replace(options, target_config=None).with_settings(target=target.name)
    request = given.request(operation.Request, **settings.values(), subject=subject)
    plan = operation.plan(request)
    own = OwnTarget(target, workspaces=plan.workspaces())
    async with settings.session(common, own_target=own, makes=True) as engine:
        with progress_line(common, engine) as progress:
            result = await operation.run(engine, request, planned=plan, progress=progress)
        if result is None:
            return _waiting(common, gated=fail_on_harm)
        if output is not None:
            await _write(engine, plan.skill, result, output)
        sides = await operation.sides(engine, result)
    _show(result, common)
    if any(map(unscored, sides)) or (result.verdict is None and result.triggers is None):
        return BROKEN
    if not fail_on_harm:
        return 0
    return {"harmful": GATE, "undecided": BROKEN, None: BROKEN}.get(result.verdict, 0)


def _vet_lift(subject: str, options: RunOptions) -> None:
    """Asks for consent to what a lift file runs, calls and lays from outside of its folder."""
    path = Path(subject)
    if not (path.is_file() and path.suffix.lower() in YAML):
        return
    lift_file, folder = read_lift_file(path), path.resolve().parent
    outside = [
        place for place in map(folder.joinpath, lift_file.sources()) if not place.resolve().is_relative_to(folder)
    ]
    named = NamedResources()
    if options.settings.target is not None or options.target_config is not None:
        pass  # the operator names the program
    elif lift_file.target_config is not None:
        config = folder / lift_file.target_config
        named = resources_of(read_target_settings(config), Path.cwd())
        outside += [] if config.resolve().is_relative_to(folder) else [config]
    elif lift_file.target is not None:
        named = resources_of_target(lift_file.target, Path.cwd())
    vet_consent(path, named.with_paths(*(str(place.resolve()) for place in outside)), yes=options.yes)


def _target(subject: str, options: RunOptions) -> CommandSettings:
    """The program that is tried: the one on the command line, the lift file's, or the project's."""
    name, path, config = options.settings.target, Path(subject), options.target_config
    if name is None and config is None and path.is_file() and path.suffix.lower() in YAML:
        lift_file = read_lift_file(path)
        name, config = (
            lift_file.target,
            None if lift_file.target_config is None else path.parent / lift_file.target_config,
        )
    if name is None and config is None:
        name = options.target_name()
    settings = read_target(config).settings if config is not None else None
    if settings is None and name is not None:
        settings = host_command(name, plugin=str(PLUGIN_AT) if path.is_dir() and is_plugin(path) else "")
    if settings is None and name is not None and name.startswith("command:"):
        settings = command_settings(name)
    if not isinstance(settings, CommandSettings):
        raise BadInputError(
            "a lift starts your agent in a temporary workspace, so the target must be a program.",
            remedy=f"Name it with --target 'command:PROGRAM ARGUMENTS' or --target {'|'.join(HOST_COMMANDS)}, or set it up in a"
            " --target-config.",
        )
    return settings.model_copy(update={"run": rooted(settings.run, Path())})


async def _write(engine: Engine, skill: str | None, result: operation.Lifted, path: Path) -> None:
    from minions_evals_mcp.report.lifts import benchmark_json  # noqa: PLC0415  rich is imported where a person looks

    vet_no_store(path)
    units = await operation.units(engine, result)
    at = iso(engine.clock()) if result.comparison is None else result.comparison.compared_at
    wire = benchmark_json(result, units, skill=skill, at=at)
    try:
        await anyio.Path(path).write_text(masked(to_json(wire, indent=2).decode()) + "\n", "utf-8")
    except OSError as error:
        raise BadInputError(f"{path} cannot be written: {error.strerror}.", remedy="Check --output.") from None


def _show(result: operation.Lifted, common: Common) -> None:
    if common.json:
        say(result.model_dump(mode="json"))
        return
    from minions_evals_mcp.report.lifts import show_lift  # noqa: PLC0415  rich is imported where a person looks

    show_lift(result, store=common.db)


def _waiting(common: Common, *, gated: bool) -> int:
    reply(
        common,
        {"state": "awaiting-judgments"},
        [
            as_typed(
                "outputs wait to be judged: minions-evals judge, or name a --judge-model. The same command with its --key resumes the run"
            )
        ],
    )
    return BROKEN if gated else 0
