"""The versions of a prompt, and what changed between two of them."""

from __future__ import annotations

import sys
from functools import partial

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, say, session
from minions_evals_mcp.cli.speaking import person_at
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.domain.providers import PROVIDERS
from minions_evals_mcp.engine.answers.prompt_versions import VersionLine, line_diff, version_chain
from minions_evals_mcp.engine.cases.config_versions import versions_of_config
from minions_evals_mcp.engine.cases.current_version import current_version, name_current
from minions_evals_mcp.engine.version_chain import find_version
from minions_evals_mcp.operations.ids import whole_id
from minions_evals_mcp.report.next_command import next_line
from minions_evals_mcp.report.plain import printable


async def versions(id: str, other: str | None = None, /, *, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Show the versions of a prompt and which is current. With two versions, what changed from the first to the second.

    Example: minions-evals versions support/prompt@1 support/prompt@2

    Parameters
    ----------
    id
        A prompt, or one of its versions.
    other
        Another version, to show the changed lines.
    """
    before = after = id
    async with session(common) as engine:
        if other is not None:
            before, after = [await whole_id(engine, ident, "prompt-version") for ident in (id, other)]
            lines = await line_diff(engine, before, after)
        else:
            chain = await version_chain(engine, await whole_id(engine, id, "prompt", "prompt-version"))
            lines = [_line(version) for version in chain]
            if common.json:
                say({"versions": [version.model_dump(mode="json") for version in chain]})
                return 0
    if common.json:
        say({"from": before, "to": after, "diff": list(lines)})
        return 0
    write = tell if other is None else sys.stdout.write  # a line of a prompt stands as it is
    for line in lines or ["the two versions have the same text"]:
        write(f"{printable(line, 500)}\n")
    return 0


async def use(version: str, /, *, by: str = "", common: Common = DEFAULTS) -> int:
    """Set which version of a prompt is in use until one is approved. Other versions have to beat it.

    Only a person can set it. Once a version is approved, approvals decide which one is in use.
    Example: minions-evals prompt use support/prompt@2 --by anna

    Parameters
    ----------
    version
        A prompt version, by id or as PROMPT@NUMBER or PROMPT@latest.
    by
        Who says so.
    """
    async with session(common) as engine:
        meant = await whole_id(engine, version, "prompt-version")
        current = await engine.store.read(partial(find_version, name=meant))
        speaker = await person_at(engine, by)
        await name_current(engine.speaking(speaker), current.id)
    return reply(
        common,
        {"current": current.id, "namedBy": speaker.name},
        [f"{printable(current.id, 128)} is in use: other versions are compared with it"],
    )


async def take(prompt: str, config: str, /, *, common: Common = DEFAULTS) -> int:
    """Turn the prompts of an evaluated config into versions of one prompt, which can then be compared and
    approved.

    The versions have the order of the config. The first is in use until you approve another. A text that the prompt
    already has is not saved again, so you can repeat the command to add new prompts.
    Example: minions-evals prompt take support/reply eval/6b82b9211dd1dc97

    Parameters
    ----------
    prompt
        The id of the new prompt: support/reply makes support/reply@1 and support/reply@2.
    config
        The id that `eval` prints (eval/…), its beginning, or latest.
    """
    async with session(common) as engine:
        wordings = await versions_of_config(engine, prompt, await whole_id(engine, config, "benchmark"))
        current = await engine.store.read(partial(current_version, version=wordings.versions[-1]))
    if common.json:
        say(wordings.model_dump(mode="json"))
        return 0
    for ident in wordings.versions:
        tell(f"{printable(ident, 128)}{'' if ident in wordings.added else ' (already saved)'}\n")
    newest = next((version for version in reversed(wordings.versions) if version != current), None)
    if newest is not None:
        model = next((name for name in wordings.targets if name.partition(":")[0] in PROVIDERS), None)
        command = f"compare {wordings.benchmark_id} --from {current} --to {newest} --target {model or 'PROVIDER:MODEL'}"
        if model is None:
            tell(
                "The config's own code runs under `eval` only. To compare the versions, name a model that answers for both.\n"
            )
        tell(f"{next_line(command, common.db)}\n")
    return 0


def _line(line: VersionLine) -> str:
    marks = [name for name, holds in (("current", line.current), ("latest", line.latest)) if holds]
    if line.approved_by is not None and line.approved_at is not None:
        marks.append(f"approved by {printable(line.approved_by, 128)} on {line.approved_at:%Y-%m-%d}")
    note = f"  {line.changelog}" if line.changelog else ""
    return f"{line.version_number:>3}  {line.id}  {line.title}{note}" + (f"  ({', '.join(marks)})" if marks else "")
