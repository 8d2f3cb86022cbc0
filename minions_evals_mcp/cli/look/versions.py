"""The versions of a prompt, and what changed between two of them."""

from __future__ import annotations

import sys
from functools import partial

from minions_evals_mcp.cli.session import DEFAULTS, Common, reply, run, say, session
from minions_evals_mcp.cli.speaking import person_at
from minions_evals_mcp.cli.telling import tell
from minions_evals_mcp.engine.answers.prompt_versions import VersionLine, line_diff, version_chain
from minions_evals_mcp.engine.cases.current_version import name_current
from minions_evals_mcp.engine.meant_ids import meant_id
from minions_evals_mcp.engine.version_chain import find_version
from minions_evals_mcp.report.plain import printable


def versions(id: str, other: str | None = None, /, *, common: Common = DEFAULTS) -> int:  # noqa: A002  the argument's name
    """Show the versions of a prompt and which is current; with two versions, what changed from the first to the second.

    Example: minions-evals versions support/prompt@1 support/prompt@2

    Parameters
    ----------
    id
        A prompt, or one of its versions.
    other
        Another version: the lines that changed are shown.
    """
    return run(partial(_versions, id, other, common))


def use(version: str, /, *, by: str = "", common: Common = DEFAULTS) -> int:
    """Say which version of a prompt is in use, before any was approved: it is the one that others have to beat.

    Only a person says so. Once a version is approved, approvals say which is in use.
    Example: minions-evals prompt use support/prompt@2 --by anna

    Parameters
    ----------
    version
        A prompt version, by id or as PROMPT@NUMBER or PROMPT@latest.
    by
        Who says so.
    """
    return run(partial(_use, version, by, common))


async def _use(name: str, by: str, common: Common) -> int:
    async with session(common) as engine:
        meant = await meant_id(engine, name, "prompt-version")
        version = await engine.store.read(partial(find_version, name=meant))
        speaker = await person_at(engine, by)
        await name_current(engine.speaking(speaker), version.id)
    return reply(
        common,
        {"current": version.id, "namedBy": speaker.name},
        [f"{printable(version.id, 128)} is in use: other versions are compared with it"],
    )


async def _versions(ident: str, other: str | None, common: Common) -> int:
    async with session(common) as engine:
        if other is not None:
            before, after = [await meant_id(engine, one, "prompt-version") for one in (ident, other)]
            lines = await line_diff(engine, before, after)
        else:
            chain = await version_chain(engine, await meant_id(engine, ident, "prompt-version"))
            lines = [_line(one) for one in chain]
            if common.json:
                say({"versions": [one.model_dump(mode="json") for one in chain]})
                return 0
    if common.json:
        say({"from": ident, "to": other, "diff": list(lines)})
        return 0
    write = tell if other is None else sys.stdout.write  # a line of a prompt stands as it is
    for line in lines or ["the two versions say the same"]:
        write(f"{printable(line, 500)}\n")
    return 0


def _line(one: VersionLine) -> str:
    marks = [name for name, holds in (("current", one.current), ("latest", one.latest)) if holds]
    said = f"  {one.changelog}" if one.changelog else ""
    return f"{one.version_number:>3}  {one.id}  {one.title}{said}" + (f"  ({', '.join(marks)})" if marks else "")
